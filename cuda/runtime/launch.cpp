// SPDX-License-Identifier: Apache-2.0
// Launches, and what is asked about kernels.
#include <array>

#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

namespace {

struct Configuration {
    Dim3 grid, block;
    size_t dynamic_shared;
    Stream* stream;
};

// Of <<<...>>> whose kernels are not launched yet: a call's arguments may launch others. It has no
// destructor, for those of static objects launch kernels too.
struct Configurations {
    static constexpr size_t capacity = 32;
    std::array<Configuration, capacity> all;
    size_t count;
};
thread_local Configurations configurations;

// What a program launches; what was never registered is taken for a handle.
Function* launched(const void* kernel) {
    require(kernel != nullptr, invalid_device_function);
    Function* out = nullptr;
    const Result found = answer([&] { out = kernel_of(kernel); });
    require(found != invalid_device_function || registered_at(kernel) != nullptr, invalid_handle);
    check(found);
    return out;
}

Result launch(const void* kernel, const Dim3& grid, const Dim3& block, void** parameters,
              size_t dynamic_shared, Stream* stream, bool cooperative) {
    return call([&] {
        require(dynamic_shared <= UINT32_MAX);
        Function* const f = launched(kernel);
        const auto shared = static_cast<unsigned>(dynamic_shared);
        return cooperative ? cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y,
                                                       block.z, shared, stream, parameters)
                           : cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                            shared, stream, parameters, nullptr);
    });
}

LaunchConfig driver_config(const RuntimeLaunchConfig* c) {
    require(c != nullptr && c->dynamic_shared <= UINT32_MAX);
    return {{c->grid.x, c->grid.y, c->grid.z},
            {c->block.x, c->block.y, c->block.z},
            static_cast<uint32_t>(c->dynamic_shared),
            c->stream,
            c->attributes,
            c->attribute_count};
}

int attribute_of(Function* f, int number) {
    int value = 0;
    check(cuFuncGetAttribute(&value, number, f));
    return value;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t dynamic_shared, Stream* stream) {
    if (configurations.count == Configurations::capacity) return 1;
    configurations.all[configurations.count++] = {grid, block, dynamic_shared, stream};
    return 0;
}

Result __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* dynamic_shared, void* stream) {
    if (configurations.count == 0) return remember(missing_configuration);
    const Configuration& last = configurations.all[--configurations.count];
    *grid = last.grid;
    *block = last.block;
    *dynamic_shared = last.dynamic_shared;
    *static_cast<Stream**>(stream) = last.stream;
    return success;
}

// The handle is kept by the program for all launches of that kernel.
Result __cudaGetKernel(void** kernel, const void* host_function) {
    *kernel = registered_at(host_function);
    return *kernel != nullptr ? success : remember(invalid_device_function);
}

Result cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** parameters,
                        size_t dynamic_shared, Stream* stream) {
    return launch(kernel, grid, block, parameters, dynamic_shared, stream, false);
}

Result cudaLaunchCooperativeKernel(const void* kernel, Dim3 grid, Dim3 block, void** parameters,
                                   size_t dynamic_shared, Stream* stream) {
    return launch(kernel, grid, block, parameters, dynamic_shared, stream, true);
}

Result cudaLaunchKernelExC(const RuntimeLaunchConfig* config, const void* kernel,
                           void** parameters) {
    return call([&] {
        const LaunchConfig c = driver_config(config);
        return cuLaunchKernelEx(&c, kernel_of(kernel), parameters, nullptr);
    });
}

Result cudaLaunchHostFunc(Stream* stream, HostFunction function, void* user) {
    return call([&] { return cuLaunchHostFunc(stream, function, user); });
}

Result cudaGetFuncBySymbol(Function** out, const void* symbol) {
    return call([&] {
        require(out != nullptr);
        *out = kernel_of(symbol);
    });
}

Result cudaGetKernel(Function** out, const void* symbol) {
    return cudaGetFuncBySymbol(out, symbol);
}

Result cudaFuncGetAttributes(FunctionAttributes* out, const void* kernel) {
    return call([&] {
        require(out != nullptr);
        Function* const f = kernel_of(kernel);
        FunctionAttributes a{};
        const auto size = [&](int number) { return static_cast<size_t>(attribute_of(f, number)); };
        a.max_threads = attribute_of(f, 0);
        a.shared = size(1);
        a.constant = size(2);
        a.local = size(3);
        a.registers = attribute_of(f, 4);
        a.ptx_version = attribute_of(f, 5);
        a.binary_version = attribute_of(f, 6);
        a.cache_mode = attribute_of(f, 7);
        a.max_dynamic = attribute_of(f, 8);
        a.carveout = attribute_of(f, 9);
        for (int i = 0; i < 6; ++i) a.cluster[i] = attribute_of(f, 10 + i);
        *out = a;
    });
}

Result cudaFuncSetAttribute(const void* kernel, int attribute, int value) {
    return call([&] { return cuFuncSetAttribute(kernel_of(kernel), attribute, value); });
}

Result cudaFuncSetCacheConfig(const void* kernel, int config) {
    return call([&] { return cuFuncSetCacheConfig(kernel_of(kernel), config); });
}

Result cudaFuncSetSharedMemConfig(const void* kernel, int config) {
    return call([&] { return cuFuncSetSharedMemConfig(kernel_of(kernel), config); });
}

Result cudaFuncGetName(const char** name, const void* kernel) {
    return call([&] { return cuFuncGetName(name, kernel_of(kernel)); });
}

Result cudaFuncGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* size) {
    return call([&] { return cuFuncGetParamInfo(kernel_of(kernel), index, offset, size); });
}

Result cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* ctas, const void* kernel,
                                                              int threads, size_t dynamic,
                                                              unsigned flags) {
    return call([&] {
        return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ctas, kernel_of(kernel),
                                                                    threads, dynamic, flags);
    });
}

Result cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, const void* kernel, int threads,
                                                     size_t dynamic) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ctas, kernel, threads, dynamic,
                                                                  0);
}

Result cudaOccupancyMaxPotentialClusterSize(int* ctas, const void* kernel,
                                            const RuntimeLaunchConfig* config) {
    return call([&] {
        const LaunchConfig c = driver_config(config);
        return cuOccupancyMaxPotentialClusterSize(ctas, kernel_of(kernel), &c);
    });
}

Result cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                      const RuntimeLaunchConfig* config) {
    return call([&] {
        const LaunchConfig c = driver_config(config);
        return cuOccupancyMaxActiveClusters(clusters, kernel_of(kernel), &c);
    });
}

Result cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int ctas,
                                                 int threads) {
    return call([&] {
        return cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel_of(kernel), ctas, threads);
    });
}

Result cudaKernelSetAttributeForDevice(const void* kernel, int attribute, int value, int) {
    return cudaFuncSetAttribute(kernel, attribute, value);
}

}  // extern "C"
