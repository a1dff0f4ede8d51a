// SPDX-License-Identifier: Apache-2.0
// Devices, the driver's functions by name, and what concerns profilers.
#include "cuda/memory.hpp"
#include "cuda/runtime/state.hpp"

namespace lockwarp::cuda {

namespace {

constexpr int version_12 = 12090, version_13 = 13000;  // the newest that is known of each

// cudaDriverEntryPointQueryResult has the numbers of the driver's own.
Result entry_point(const char* name, void** out, int version, unsigned long long flags,
                   int* status) {
    return ask([&] {
        int own = 0;
        const Result result = cuGetProcAddress_v2(name, out, version, flags, &own);
        if (status != nullptr) *status = own;
        return result;
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaGetDeviceCount(int* count) {
    return ask([&] { return cuDeviceGetCount(count); });
}

Result cudaGetDevice(int* device) {
    return ask([&] {
        require(device != nullptr);
        *device = this_device();
    });
}

Result cudaSetDevice(int device) {
    return remember(answer([&] { set_device(device); }));
}

Result cudaInitDevice(int device, unsigned, unsigned) {
    return remember(answer([&] { init_device(device); }));
}

Result cudaSetValidDevices(int* devices, int count) {
    return ask([&] {
        require(count >= 0 && (count == 0 || devices != nullptr));
        DeviceId id = 0;
        for (int i = 0; i < count; ++i) check(cuDeviceGet(&id, devices[i]));
    });
}

Result cudaChooseDevice(int* device, const void* properties) {
    return ask([&] {
        require(device != nullptr && properties != nullptr);
        *device = 0;
    });
}

Result cudaDeviceGetAttribute(int* value, int attribute, int device) {
    return ask([&] { return cuDeviceGetAttribute(value, attribute, device); });
}

Result cudaDeviceGetPCIBusId(char* text, int size, int device) {
    return ask([&] { return cuDeviceGetPCIBusId(text, size, device); });
}

Result cudaDeviceGetByPCIBusId(int* device, const char* text) {
    return ask([&] { return cuDeviceGetByPCIBusId(device, text); });
}

Result cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return ask([&] { return cuDeviceCanAccessPeer(can, device, peer); });
}

Result cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return call([&] {
        require(flags == 0);
        const DeviceId own = this_device();
        DeviceId id = 0;
        check(cuDeviceGet(&id, peer));
        require(id != own, peer_access_unsupported);
        require(set_peer_access(own, id, true), peer_access_already_enabled);
    });
}

Result cudaDeviceDisablePeerAccess(int peer) {
    return call([&] {
        const DeviceId own = this_device();
        DeviceId id = 0;
        check(cuDeviceGet(&id, peer));
        require(set_peer_access(own, id, false), peer_access_not_enabled);
    });
}

Result cudaDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
    return ask([&] { return cuDeviceGetP2PAttribute(value, attribute, device, peer); });
}

Result cudaDeviceSynchronize() {
    return call([] { return cuCtxSynchronize(); });
}

Result cudaDeviceReset() {
    return ask([] {
        cuCtxSynchronize();  // an error that there was ends with the context
        const DeviceId device = this_device();
        forget_modules(device);
        return cuDevicePrimaryCtxReset_v2(device);
    });
}

Result cudaDeviceSetLimit(int limit, size_t value) {
    return call([&] { return cuCtxSetLimit(limit, value); });
}

Result cudaDeviceGetLimit(size_t* value, int limit) {
    return call([&] { return cuCtxGetLimit(value, limit); });
}

Result cudaDeviceSetCacheConfig(int config) {
    return call([&] { return cuCtxSetCacheConfig(config); });
}

Result cudaDeviceGetCacheConfig(int* config) {
    return call([&] { return cuCtxGetCacheConfig(config); });
}

Result cudaDeviceSetSharedMemConfig(int config) {
    return call([&] { return cuCtxSetSharedMemConfig(config); });
}

Result cudaDeviceGetSharedMemConfig(int* config) {
    return call([&] { return cuCtxGetSharedMemConfig(config); });
}

Result cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] { return cuCtxGetStreamPriorityRange(least, greatest); });
}

Result cudaCtxResetPersistingL2Cache() {
    return call([] { return cuCtxResetPersistingL2Cache(); });
}

Result cudaSetDeviceFlags(unsigned flags) {
    return call([&] { return cuDevicePrimaryCtxSetFlags_v2(this_device(), flags); });
}

Result cudaGetDeviceFlags(unsigned* flags) {
    constexpr unsigned map_host = 8;  // always there
    return ask([&] {
        int active = 0;
        require(flags != nullptr);
        check(cuDevicePrimaryCtxGetState(this_device(), flags, &active));
        *flags |= map_host;
    });
}

Result cudaDriverGetVersion(int* version) { return remember(cuDriverGetVersion(version)); }

Result lockwarp_cudaRuntimeGetVersion_12(int* version) {
    if (version == nullptr) return remember(invalid_value);
    *version = version_12;
    return success;
}

Result lockwarp_cudaRuntimeGetVersion_13(int* version) {
    if (version == nullptr) return remember(invalid_value);
    *version = version_13;
    return success;
}

Result lockwarp_cudaGetDriverEntryPoint_12(const char* name, void** out, unsigned long long flags,
                                           int* status) {
    return entry_point(name, out, version_12, flags, status);
}

Result lockwarp_cudaGetDriverEntryPoint_13(const char* name, void** out, unsigned long long flags,
                                           int* status) {
    return entry_point(name, out, version_13, flags, status);
}

Result cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned version,
                                        unsigned long long flags, int* status) {
    return entry_point(name, out, static_cast<int>(version), flags, status);
}

Result cudaProfilerStart() { return success; }
Result cudaProfilerStop() { return success; }

}  // extern "C"
