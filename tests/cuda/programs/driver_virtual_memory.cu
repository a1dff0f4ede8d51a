// SPDX-License-Identifier: Apache-2.0
// The driver API: addresses that are reserved, memory that is mapped there and at other addresses.
// nvcc: -lcuda
#include "driver_check.hpp"

// The host's memory: it and kernels count in it.
void of_the_host(const World& world, size_t unit) {
    CUmemAllocationProp properties{}, got{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle memory = 0, imported = 0;
    CUdeviceptr x = 0;
    DO(cuMemAddressReserve(&x, unit, 0, 0, 0));
    DO(cuMemCreate(&memory, unit, &properties, 0));
    DO(cuMemMap(x, unit, 0, memory, 0));
    const CUmemAccessDesc access[] = {
        {{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    DO(cuMemSetAccess(x, unit, access, 2));
    auto* const words = reinterpret_cast<volatile unsigned*>(x);
    for (int i = 0; i < threads; ++i) words[i] = 30;
    world.launch_add(1, nullptr, x);
    DO(cuCtxSynchronize());
    CHECK(words[0] == 31 && words[threads - 1] == 31);
    CHECK(world.value(x) == 31);
    int file = -1;
    DO(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    DO(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t(file)),
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    DO(cuMemGetAllocationPropertiesFromHandle(&got, imported));
    CHECK(got.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA);
    DO(cuMemRelease(imported));
    DO(cuMemUnmap(x, unit));
    DO(cuMemRelease(memory));
    DO(cuMemAddressFree(x, unit));
}

int main() {
    const World world;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    size_t unit = 0;
    DO(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(unit == size_t{2} << 20);
    CUdeviceptr first = 0, second = 0;
    DO(cuMemAddressReserve(&first, 2 * unit, 0, 0, 0));
    DO(cuMemAddressReserve(&second, unit, 0, 0, 0));
    CUmemGenericAllocationHandle memory = 0, again = 0, imported = 0;
    DO(cuMemCreate(&memory, unit, &properties, 0));
    DO(cuMemMap(first, unit, 0, memory, 0));
    DO(cuMemMap(second, unit, 0, memory, 0));
    CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DO(cuMemSetAccess(first, unit, &access, 1));
    DO(cuMemSetAccess(second, unit, &access, 1));
    unsigned long long flags = 0;
    DO(cuMemGetAccess(&flags, &properties.location, first));
    CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DO(cuMemsetD32(first, 8, threads));
    world.launch_add(1, nullptr, second);
    CHECK(world.value(first) == 9);
    CUmemAllocationProp got{};
    DO(cuMemGetAllocationPropertiesFromHandle(&got, memory));
    CHECK(got.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    DO(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(first)));
    CHECK(again == memory);
    DO(cuMemRelease(again));
    int file = -1;
    DO(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    DO(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t(file)),
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    DO(cuMemMap(first + unit, unit, 0, imported, 0));
    DO(cuMemSetAccess(first + unit, unit, &access, 1));
    CHECK(world.value(first + unit) == 9);
    DO(cuMemUnmap(first, 2 * unit));
    DO(cuMemUnmap(second, unit));
    DO(cuMemRelease(imported));
    DO(cuMemRelease(memory));
    DO(cuMemAddressFree(first, 2 * unit));
    DO(cuMemAddressFree(second, unit));
    EXPECT_RESULT(cuMemAddressFree(second, unit), CUDA_ERROR_INVALID_VALUE);
    of_the_host(world, unit);
    return done("driver_virtual_memory");
}
