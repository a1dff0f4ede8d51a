// SPDX-License-Identifier: Apache-2.0
// The driver API: devices, what is asked about them, errors and functions by their names.
// nvcc: -lcuda
#include "driver_check.hpp"

int main() {
    int count = 0, version = 0, value = 0, minor = 0;
    EXPECT_RESULT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    DO(cuInit(0));
    DO(cuDriverGetVersion(&version));
    CHECK(version >= 12000);
    DO(cuDeviceGetCount(&count));
    CHECK(count == 1);
    CUdevice device = -1;
    DO(cuDeviceGet(&device, 0));
    EXPECT_RESULT(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    char name[64], bus[32];
    DO(cuDeviceGetName(name, sizeof name, device));
    CHECK(std::strstr(name, "A100") != nullptr);
    CUuuid uuid{}, none{};
    DO(cuDeviceGetUuid(&uuid, device));
    CHECK(std::memcmp(&uuid, &none, sizeof uuid) != 0);
    size_t bytes = 0;
    DO(cuDeviceTotalMem(&bytes, device));
    CHECK(bytes > size_t{1} << 36);
    DO(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CHECK(value == 108);
    CUdevprop properties{};
    DO(cuDeviceGetProperties(&properties, device));
    CHECK(properties.maxThreadsPerBlock == 1024 && properties.SIMDWidth == 32);
    DO(cuDeviceComputeCapability(&value, &minor, device));
    CHECK(value == 8 && minor == 0);
    DO(cuDeviceGetPCIBusId(bus, sizeof bus, device));
    DO(cuDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 0);
    EXPECT_RESULT(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
    DO(cuDeviceCanAccessPeer(&value, device, device));
    CHECK(value == 0);
    EXPECT_RESULT(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
                  CUDA_ERROR_INVALID_DEVICE);

    const char* text = nullptr;
    DO(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &text));
    CHECK(std::strcmp(text, "CUDA_ERROR_INVALID_PTX") == 0);
    DO(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(std::strcmp(text, "out of memory") == 0);
    EXPECT_RESULT(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
    void* function = nullptr;
    CUdriverProcAddressQueryResult found{};
    DO(cuGetProcAddress("cuDriverGetVersion", &function, 12000, 0, &found));
    CHECK(function != nullptr && found == CU_GET_PROC_ADDRESS_SUCCESS);
    version = 0;
    DO(reinterpret_cast<CUresult (*)(int*)>(function)(&version));
    CHECK(version >= 12000);
    // Private tables are not given.
    const void* table = nullptr;
    CHECK(cuGetExportTable(&table, &none) != CUDA_SUCCESS && table == nullptr);

    CUmemoryPool usual, now;
    DO(cuDeviceGetDefaultMemPool(&usual, device));
    DO(cuDeviceGetMemPool(&now, device));
    CHECK(usual == now);
    DO(cuDeviceSetMemPool(device, usual));
    cuuint64_t graphs = 1;
    DO(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &graphs));
    CHECK(graphs == 0);
    DO(cuDeviceSetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &graphs));
    DO(cuDeviceGraphMemTrim(device));
    return done("driver_devices");
}
