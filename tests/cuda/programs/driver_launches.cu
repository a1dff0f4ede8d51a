// SPDX-License-Identifier: Apache-2.0
// The driver API: launches of each kind, attributes of functions, and how many CTAs fit.
// nvcc: -lcuda
// exec: --arch sm_90
#include "driver_check.hpp"

size_t shared_of(int block) { return static_cast<size_t>(block) * 4; }

// As CUDA 2 had it: each launch has what was set in the function before. cuParamSetf puts a word
// too.
void as_set_before(const World& world) {
    CUdeviceptr x = world.x;
    const int before = world.value();
    DO(cuFuncSetBlockShape(world.add, threads, 1, 1));
    DO(cuFuncSetSharedSize(world.add, 64));
    DO(cuParamSetv(world.add, 0, &x, sizeof x));
    DO(cuParamSeti(world.add, 8, 7));
    DO(cuParamSetSize(world.add, 12));
    DO(cuLaunch(world.add));
    DO(cuLaunchGrid(world.add, 1, 1));
    DO(cuParamSetf(world.add, 8, 0.F));
    DO(cuLaunchGridAsync(world.add, 1, 1, nullptr));
    DO(cuCtxSynchronize());
    CHECK(world.value() == before + 14);
    DO(cuParamSetSize(world.add, 16));
    EXPECT_RESULT(cuLaunch(world.add), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    DO(cuParamSetSize(world.add, 8));
    DO(cuLaunch(world.add));
    EXPECT_RESULT(cuLaunchGrid(world.add, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuFuncSetBlockShape(world.add, 4096, 1, 1), CUDA_ERROR_INVALID_VALUE);
    DO(cuCtxSynchronize());
}

int main() {
    const World world;
    CUdeviceptr x = world.x;
    int a = 5;
    void* parameters[] = {&x, &a};
    DO(cuLaunchKernel(world.add, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
    struct {
        CUdeviceptr x;
        int a;
    } bytes{x, 10};
    size_t size = sizeof bytes;  // with what fills up the structure: too many
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    EXPECT_RESULT(cuLaunchKernel(world.add, 1, 1, 1, threads, 1, 1, 0, nullptr, nullptr, extra),
                  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    size = offsetof(decltype(bytes), a) + sizeof bytes.a;
    DO(cuLaunchKernel(world.add, 1, 1, 1, threads, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(world.value() == 15);
    DO(cuLaunchCooperativeKernel(world.add, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters));
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = threads;
    config.blockDimY = config.blockDimZ = 1;
    DO(cuLaunchKernelEx(&config, world.add, parameters, nullptr));
    CHECK(world.value() == 25);
    EXPECT_RESULT(
        cuLaunchKernel(world.add, 0, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr),
        CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuLaunchKernel(world.add, 1, 1, 1, 1024, 2, 1, 0, nullptr, parameters, nullptr),
                  CUDA_ERROR_INVALID_VALUE);

    int value = 0, grid = 0, block = 0;
    DO(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, world.add));
    CHECK(value == 1024);
    DO(cuFuncSetAttribute(world.add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    DO(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, world.add));
    CHECK(value == 100000);
    DO(cuLaunchKernel(world.add, 1, 1, 1, threads, 1, 1, 100000, nullptr, parameters, nullptr));
    CHECK(world.value() == 30);
    DO(cuFuncSetCacheConfig(world.add, CU_FUNC_CACHE_PREFER_EQUAL));
    DO(cuFuncSetSharedMemConfig(world.add, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    size_t offset = 0;
    DO(cuFuncGetParamInfo(world.add, 1, &offset, &size));
    CHECK(offset == 8 && size == 4);
    EXPECT_RESULT(cuFuncGetParamInfo(world.add, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);

    DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, world.twice, 256, 0));
    CHECK(value == 8);
    DO(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, world.twice, 1024, 0,
                                                            CU_OCCUPANCY_DEFAULT));
    CHECK(value == 2);
    DO(cuOccupancyMaxPotentialBlockSize(&grid, &block, world.twice, nullptr, 0, 0));
    CHECK(grid > 0 && block % 32 == 0 && block > 0);
    DO(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, world.twice, shared_of, 0, 256,
                                                 CU_OCCUPANCY_DEFAULT));
    CHECK(block <= 256);
    DO(cuOccupancyAvailableDynamicSMemPerBlock(&size, world.twice, 2, 128));
    CHECK(size > 0);
    DO(cuOccupancyMaxPotentialClusterSize(&value, world.twice, &config));
    CHECK(value == 8);
    DO(cuOccupancyMaxActiveClusters(&value, world.twice, &config));
    CHECK(value == 0);  // it has none
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {1, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    DO(cuOccupancyMaxActiveClusters(&value, world.twice, &config));
    CHECK(value > 0);
    as_set_before(world);
    return done("driver_launches");
}
