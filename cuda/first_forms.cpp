// SPDX-License-Identifier: Apache-2.0
// Functions whose later forms have the same parameters and do the same, and which programs take
// that look for a name without a version (Mojo's runtime: cuStreamDestroy).
#include "cuda/link.hpp"
#include "cuda/state.hpp"

using namespace lockwarp::cuda;

extern "C" {

Result cuCtxCreate_v2(Context** out, unsigned flags, DeviceId device);
Result cuCtxDestroy_v2(Context* context);
Result cuCtxPushCurrent_v2(Context* context);
Result cuCtxPopCurrent_v2(Context** out);
Result cuStreamDestroy_v2(Stream* stream);
Result cuEventDestroy_v2(Event* event);
Result cuMemHostRegister_v2(void* bytes, size_t size, unsigned flags);
Result cuLinkCreate_v2(unsigned options, const int* keys, void** values, Link** out);
Result cuLinkAddData_v2(Link* link, int type, void* data, size_t size, const char* name,
                        unsigned options, const int* keys, void** values);
Result cuLinkAddFile_v2(Link* link, int type, const char* path, unsigned options, const int* keys,
                        void** values);

Result cuCtxCreate(Context** out, unsigned flags, DeviceId device) {
    return cuCtxCreate_v2(out, flags, device);
}
Result cuCtxDestroy(Context* context) { return cuCtxDestroy_v2(context); }
Result cuCtxPushCurrent(Context* context) { return cuCtxPushCurrent_v2(context); }
Result cuCtxPopCurrent(Context** out) { return cuCtxPopCurrent_v2(out); }
Result cuStreamDestroy(Stream* stream) { return cuStreamDestroy_v2(stream); }
Result cuEventDestroy(Event* event) { return cuEventDestroy_v2(event); }
Result cuMemHostRegister(void* bytes, size_t size, unsigned flags) {
    return cuMemHostRegister_v2(bytes, size, flags);
}
Result cuLinkCreate(unsigned options, const int* keys, void** values, Link** out) {
    return cuLinkCreate_v2(options, keys, values, out);
}
Result cuLinkAddData(Link* link, int type, void* data, size_t size, const char* name,
                     unsigned options, const int* keys, void** values) {
    return cuLinkAddData_v2(link, type, data, size, name, options, keys, values);
}
Result cuLinkAddFile(Link* link, int type, const char* path, unsigned options, const int* keys,
                     void** values) {
    return cuLinkAddFile_v2(link, type, path, options, keys, values);
}

}  // extern "C"
