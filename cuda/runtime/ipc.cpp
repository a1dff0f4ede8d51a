// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes.
#include "cuda/driver.hpp"
#include "cuda/runtime/state.hpp"

using namespace lockwarp::cuda;

extern "C" {

Result cudaIpcGetMemHandle(IpcHandle* out, void* memory) {
    return call([&] { return cuIpcGetMemHandle(out, reinterpret_cast<Address>(memory)); });
}

Result cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
    return call(
        [&] { return cuIpcOpenMemHandle_v2(reinterpret_cast<Address*>(out), handle, flags); });
}

Result cudaIpcCloseMemHandle(void* memory) {
    return call([&] { return cuIpcCloseMemHandle(reinterpret_cast<Address>(memory)); });
}

Result cudaIpcGetEventHandle(IpcHandle* out, Event* event) {
    return call([&] { return cuIpcGetEventHandle(out, event); });
}

Result cudaIpcOpenEventHandle(Event** out, IpcHandle handle) {
    return call([&] { return cuIpcOpenEventHandle(out, handle); });
}

Result cudaMemPoolExportToShareableHandle(void* out, Pool* pool, int type, unsigned flags) {
    return call([&] { return cuMemPoolExportToShareableHandle(out, pool, type, flags); });
}

Result cudaMemPoolImportFromShareableHandle(Pool** out, void* handle, int type, unsigned flags) {
    return call([&] { return cuMemPoolImportFromShareableHandle(out, handle, type, flags); });
}

Result cudaMemPoolExportPointer(IpcHandle* out, void* memory) {
    return call([&] { return cuMemPoolExportPointer(out, reinterpret_cast<Address>(memory)); });
}

Result cudaMemPoolImportPointer(void** out, Pool* pool, const IpcHandle* given) {
    return call(
        [&] { return cuMemPoolImportPointer(reinterpret_cast<Address*>(out), pool, given); });
}

}  // extern "C"
