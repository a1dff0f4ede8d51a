// SPDX-License-Identifier: Apache-2.0
// The driver's functions as C programs have them, for the runtime, which stands on them. Their
// parameters are those of the public driver API (cuda.h).
#pragma once

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

struct PoolProperties {  // CUmemPoolProps, as far as it is read
    int type, handle_types;
    Location location;
    void* security;
    size_t max_size;  // 0: what there is
};
struct AccessDescription {  // CUmemAccessDesc
    Location location;
    int flags;
};

extern "C" {

Result cuInit(unsigned flags);
Result cuDriverGetVersion(int* version);
Result cuDeviceGet(DeviceId* device, int ordinal);
Result cuDeviceGetCount(int* count);
Result cuDeviceGetName(char* name, int size, DeviceId device);
Result cuDeviceGetUuid_v2(Uuid* uuid, DeviceId device);
Result cuDeviceTotalMem_v2(size_t* bytes, DeviceId device);
Result cuDeviceGetAttribute(int* value, int attribute, DeviceId device);
Result cuDeviceGetPCIBusId(char* text, int size, DeviceId device);
Result cuDeviceGetByPCIBusId(DeviceId* device, const char* text);
Result cuDeviceCanAccessPeer(int* can, DeviceId device, DeviceId peer);
Result cuDeviceGetP2PAttribute(int* value, int attribute, DeviceId device, DeviceId peer);
Result cuDeviceGetDefaultMemPool(Pool** out, DeviceId device);
Result cuDeviceGetMemPool(Pool** out, DeviceId device);
Result cuDeviceSetMemPool(DeviceId device, Pool* pool);
Result cuDevicePrimaryCtxRetain(Context** out, DeviceId device);
Result cuDevicePrimaryCtxReset_v2(DeviceId device);
Result cuDevicePrimaryCtxSetFlags_v2(DeviceId device, unsigned flags);
Result cuDevicePrimaryCtxGetState(DeviceId device, unsigned* flags, int* active);

Result cuCtxSetCurrent(Context* context);
Result cuCtxGetDevice(DeviceId* device);
Result cuCtxSynchronize();
Result cuProfilerStart();
Result cuProfilerStop();
Result cuCtxSetLimit(int limit, size_t value);
Result cuCtxGetLimit(size_t* value, int limit);
Result cuCtxGetCacheConfig(int* config);
Result cuCtxSetCacheConfig(int config);
Result cuCtxGetSharedMemConfig(int* config);
Result cuCtxSetSharedMemConfig(int config);
Result cuCtxGetStreamPriorityRange(int* least, int* greatest);
Result cuCtxResetPersistingL2Cache();

Result cuModuleGetGlobal_v2(Address* address, size_t* bytes, Module* module, const char* name);

Result cuLibraryLoadData(Library** out, const void* image, const int* keys, void** values,
                         unsigned options, const int* library_keys, void** library_values,
                         unsigned library_options);
Result cuLibraryLoadFromFile(Library** out, const char* path, const int* keys, void** values,
                             unsigned options, const int* library_keys, void** library_values,
                             unsigned library_options);
Result cuLibraryUnload(Library* library);
Result cuLibraryGetKernel(Function** out, Library* library, const char* name);
Result cuLibraryGetKernelCount(unsigned* count, Library* library);
Result cuLibraryEnumerateKernels(Function** out, unsigned count, Library* library);
Result cuLibraryGetGlobal(Address* address, size_t* bytes, Library* library, const char* name);
Result cuLibraryGetManaged(Address* address, size_t* bytes, Library* library, const char* name);

Result cuMemGetInfo_v2(size_t* free, size_t* total);
Result cuMemAlloc_v2(Address* out, size_t size);
Result cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height,
                          unsigned element);
Result cuMemAllocManaged(Address* out, size_t size, unsigned flags);
Result cuMemFree_v2(Address address);
Result cuMemHostAlloc(void** out, size_t size, unsigned flags);
Result cuMemFreeHost(void* bytes);
Result cuMemHostRegister_v2(void* bytes, size_t size, unsigned flags);
Result cuMemHostUnregister(void* bytes);
Result cuMemHostGetDevicePointer_v2(Address* out, void* bytes, unsigned flags);
Result cuMemHostGetFlags(unsigned* flags, void* bytes);
Result cuMemcpyBatchAsync(const Address* targets, const Address* sources, const size_t* sizes,
                          size_t count, const CopyAttributes* attributes, const size_t* firsts,
                          size_t attribute_count, size_t* failed, Stream* stream);
Result cuIpcGetMemHandle(IpcHandle* out, Address address);
Result cuIpcOpenMemHandle_v2(Address* out, IpcHandle handle, unsigned flags);
Result cuIpcCloseMemHandle(Address base);
Result cuMemPoolExportToShareableHandle(void* out, Pool* pool, int type, unsigned long long flags);
Result cuMemPoolImportFromShareableHandle(Pool** out, void* handle, int type,
                                          unsigned long long flags);
Result cuMemPoolExportPointer(IpcHandle* out, Address address);
Result cuMemPoolImportPointer(Address* out, Pool* pool, const IpcHandle* given);
Result cuIpcGetEventHandle(IpcHandle* out, Event* event);
Result cuIpcOpenEventHandle(Event** out, IpcHandle handle);
Result cuMemAllocAsync(Address* out, size_t size, Stream* stream);
Result cuMemAllocFromPoolAsync(Address* out, size_t size, Pool* pool, Stream* stream);
Result cuMemFreeAsync(Address address, Stream* stream);
Result cuMemPoolCreate(Pool** out, const PoolProperties* properties);
Result cuMemPoolDestroy(Pool* pool);
Result cuMemPoolTrimTo(Pool* pool, size_t keep);
Result cuMemPoolGetAttribute(Pool* pool, int attribute, void* value);
Result cuMemPoolSetAttribute(Pool* pool, int attribute, void* value);
Result cuMemPoolGetAccess(int* flags, Pool* pool, const Location* location);
Result cuMemGetDefaultMemPool(Pool** out, const Location* location, int type);
Result cuMemGetMemPool(Pool** out, const Location* location, int type);
Result cuMemSetMemPool(const Location* location, int type, Pool* pool);
Result cuMemPoolSetAccess(Pool* pool, const AccessDescription* list, size_t count);
Result cuMemAdvise(Address address, size_t size, int advice, DeviceId device);
Result cuMemPrefetchAsync(Address address, size_t size, DeviceId device, Stream* stream);
Result cuMemAdvise_v2(Address address, size_t size, int advice, Location location);
Result cuMemRangeGetAttribute(void* out, size_t size, int attribute, Address address, size_t bytes);
Result cuMemRangeGetAttributes(void** out, size_t* sizes, int* attributes, size_t count,
                               Address address, size_t bytes);
Result cuMemPrefetchAsync_v2(Address address, size_t size, Location location, unsigned flags,
                             Stream* stream);
Result cuPointerGetAttributes(unsigned count, const int* attributes, void** out, Address address);

Result cuMemcpy(Address target, Address source, size_t size);
Result cuMemcpyHtoD_v2(Address target, const void* source, size_t size);
Result cuMemcpyDtoH_v2(void* target, Address source, size_t size);
Result cuMemcpyPeer(Address target, Context* target_context, Address source,
                    Context* source_context, size_t size);
Result cuMemcpyPeerAsync(Address target, Context* target_context, Address source,
                         Context* source_context, size_t size, Stream* stream);
Result cuMemcpyDtoD_v2(Address target, Address source, size_t size);
Result cuMemcpyAsync(Address target, Address source, size_t size, Stream* stream);
Result cuMemcpyHtoDAsync_v2(Address target, const void* source, size_t size, Stream* stream);
Result cuMemcpyDtoHAsync_v2(void* target, Address source, size_t size, Stream* stream);
Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, Stream* stream);
Result cuArray3DCreate_v2(Array** out, const Array3DDescription* description);
Result cuArray3DGetDescriptor_v2(Array3DDescription* out, Array* array);
Result cuArrayDestroy(Array* array);
Result cuTexObjectCreate(uint64_t* out, const ResourceDescription* resource,
                         const TextureDescription* texture, const void* view);
Result cuTexObjectDestroy(uint64_t handle);
Result cuTexObjectGetResourceDesc(ResourceDescription* out, uint64_t handle);
Result cuTexObjectGetTextureDesc(TextureDescription* out, uint64_t handle);
Result cuSurfObjectCreate(uint64_t* out, const ResourceDescription* resource);
Result cuSurfObjectDestroy(uint64_t handle);
Result cuSurfObjectGetResourceDesc(ResourceDescription* out, uint64_t handle);
Result cuMemcpy3D_v2(const Copy3D* copy);
Result cuMemcpy3DAsync_v2(const Copy3D* copy, Stream* stream);
Result cuMemcpy3DPeer(const Copy3D* copy);
Result cuMemcpy3DPeerAsync(const Copy3D* copy, Stream* stream);
Result cuMemsetD8_v2(Address target, unsigned char value, size_t count);
Result cuMemsetD8Async(Address target, unsigned char value, size_t count, Stream* stream);
Result cuMemsetD2D8_v2(Address target, size_t pitch, unsigned char value, size_t width,
                       size_t height);
Result cuMemsetD2D8Async(Address target, size_t pitch, unsigned char value, size_t width,
                         size_t height, Stream* stream);

Result cuFuncGetAttribute(int* value, int attribute, Function* function);
Result cuFuncSetAttribute(Function* function, int attribute, int value);
Result cuFuncSetCacheConfig(Function* function, int config);
Result cuFuncSetSharedMemConfig(Function* function, int config);
Result cuFuncGetName(const char** name, Function* function);
Result cuFuncGetParamInfo(Function* function, size_t index, size_t* offset, size_t* size);
Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* ctas, Function* function,
                                                            int threads, size_t dynamic,
                                                            unsigned flags);
Result cuOccupancyMaxPotentialClusterSize(int* ctas, Function* function,
                                          const LaunchConfig* config);
Result cuOccupancyMaxActiveClusters(int* clusters, Function* function, const LaunchConfig* config);
Result cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, Function* function, int ctas,
                                               int threads);
Result cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      Stream* stream, void** parameters, void** extra);
Result cuLaunchCooperativeKernel(Function* function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, Stream* stream,
                                 void** parameters);
Result cuLaunchKernelEx(const LaunchConfig* config, Function* function, void** parameters,
                        void** extra);
Result cuLaunchHostFunc(Stream* stream, HostFunction function, void* user);

Result cuStreamCreateWithPriority(Stream** out, unsigned flags, int priority);
Result cuStreamDestroy_v2(Stream* stream);
Result cuStreamGetPriority(Stream* stream, int* priority);
Result cuStreamGetFlags(Stream* stream, unsigned* flags);
Result cuStreamGetId(Stream* stream, unsigned long long* id);
Result cuStreamGetDevice(Stream* stream, DeviceId* device);
Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned flags);
Result cuStreamQuery(Stream* stream);
Result cuStreamSynchronize(Stream* stream);
Result cuStreamAddCallback(Stream* stream, StreamCallback callback, void* user, unsigned flags);
Result cuStreamIsCapturing(Stream* stream, int* status);
Result cuStreamAttachMemAsync(Stream* stream, Address address, size_t size, unsigned flags);
Result cuEventCreate(Event** out, unsigned flags);
Result cuEventRecordWithFlags(Event* event, Stream* stream, unsigned flags);
Result cuEventQuery(Event* event);
Result cuEventSynchronize(Event* event);
Result cuEventDestroy_v2(Event* event);
Result cuEventElapsedTime(float* milliseconds, Event* from, Event* to);

Result cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags, int* status);

}  // extern "C"

}  // namespace lockwarp::cuda
