// SPDX-License-Identifier: Apache-2.0
// The driver API: tensor maps, and a copy by one.
// nvcc: -lcuda -arch=sm_90
// exec: --arch sm_90
#include "driver_check.hpp"

constexpr unsigned rows = 8, columns = 32;

// A box of the matrix, as the map has it, into memory of the program.
__global__ void copy_box(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ alignas(128) float box[rows * columns];
    __shared__ alignas(8) unsigned long long barrier;
    const auto shared = [](void* p) { return unsigned(__cvta_generic_to_shared(p)); };
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(&barrier)));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared(&barrier)),
                     "r"(unsigned(sizeof box)));
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared(box)),
            "l"(&map), "r"(0), "r"(4), "r"(shared(&barrier))
            : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (done == 0)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; "
            "}"
            : "=r"(done)
            : "r"(shared(&barrier))
            : "memory");
    for (unsigned i = threadIdx.x; i < rows * columns; i += blockDim.x) out[i] = box[i];
}

int main() {
    int has_maps = 0, domains = 0;
    OK(cudaFree(nullptr));
    CHECK(cuDeviceGetAttribute(&has_maps, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0) ==
          CUDA_SUCCESS);
    CHECK(cuDeviceGetAttribute(&domains, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 0) ==
          CUDA_SUCCESS);
    CHECK(has_maps == 1 && domains == 4);
    float *matrix = nullptr, *other = nullptr, *out = nullptr;
    constexpr unsigned height = 16;
    OK(cudaMallocManaged(&matrix, sizeof(float) * height * columns));
    OK(cudaMallocManaged(&other, sizeof(float) * height * columns));
    OK(cudaMallocManaged(&out, sizeof(float) * rows * columns));
    for (unsigned i = 0; i < height * columns; ++i) {
        matrix[i] = float(i);
        other[i] = -float(i);
    }
    CUtensorMap map{};
    const cuuint64_t dim[] = {columns, height}, stride[] = {columns * sizeof(float)};
    const cuuint32_t box[] = {columns, rows}, step[] = {1, 1};
    const auto encode = [&](cuuint32_t rank) {
        return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, matrix, dim,
                                      stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    };
    EXPECT_RESULT(encode(6), CUDA_ERROR_INVALID_VALUE);
    DO(encode(2));
    copy_box<<<1, 128>>>(map, out);
    OK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < rows * columns; ++i) CHECK(out[i] == float(i + 4 * columns));
    DO(cuTensorMapReplaceAddress(&map, other));
    copy_box<<<1, 128>>>(map, out);
    OK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < rows * columns; ++i) CHECK(out[i] == -float(i + 4 * columns));

    const cuuint64_t image[] = {64, 8, 8, 2}, image_stride[] = {256, 2048, 16384};
    const int lower[] = {-1, -1}, upper[] = {-1, -1};
    const cuuint32_t steps[] = {1, 1, 1, 1};
    DO(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, matrix, image,
                               image_stride, lower, upper, 32, 16, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return done("driver_tensor_maps");
}
