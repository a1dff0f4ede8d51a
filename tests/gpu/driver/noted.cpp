// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for driver_test.cpp: its memory is the host's, its kernels do nothing, and it
// notes what is asked of it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string notes;
uintptr_t modules = 0;

int note(const std::string& what) {
    notes += what + "\n";
    return 0;
}
std::string number(uintptr_t n) { return std::to_string(n); }

}  // namespace

extern "C" {

// What was asked since the last call of this.
const char* noted() {
    static std::string last;
    last = std::move(notes);
    notes.clear();
    return last.c_str();
}

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* out) { return *out = 12080, 0; }
int cuDeviceGetCount(int* out) { return *out = 1, 0; }
int cuDeviceGet(int* out, int) { return *out = 0, 0; }
int cuDeviceGetName(char* out, int size, int) {
    std::strcpy(out, "Noted");
    return note("name in " + std::to_string(size));
}
int cuDeviceGetAttribute(int* out, int attribute, int) {
    *out = attribute == 13   ? 1980000  // kHz
           : attribute == 16 ? 2        // multiprocessors
           : attribute == 39 ? 4        // threads of one
           : attribute == 75 ? 9
                             : 0;
    return 0;
}
// Enough for stacks of 1000 bytes.
int cuDeviceTotalMem_v2(size_t* out, int) { return *out = 16000, 0; }
int cuDevicePrimaryCtxRetain(void** out, int) { return *out = &notes, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuCtxSetLimit(int limit, size_t bytes) {
    return note("limit " + std::to_string(limit) + ": " + number(bytes));
}
int cuModuleLoadDataEx(void** out, const void* text, unsigned, int*, void**) {
    *out = reinterpret_cast<void*>(++modules);
    const std::string ptx = static_cast<const char*>(text);
    return note("load " + number(modules) + ": " + ptx.substr(0, ptx.find('\n')));
}
int cuModuleUnload(void* module) {
    return note("unload " + number(reinterpret_cast<uintptr_t>(module)));
}
int cuModuleGetFunction(void** out, void* module, const char*) { return *out = module, 0; }
int cuFuncSetAttribute(void*, int attribute, int value) {
    return attribute == 8 && value == 0
               ? 0
               : note("attribute " + std::to_string(attribute) + ": " + std::to_string(value));
}
int cuMemAlloc_v2(unsigned long long* out, size_t size) {
    return *out = reinterpret_cast<uintptr_t>(std::malloc(size)), 0;
}
int cuMemFree_v2(unsigned long long at) { return std::free(reinterpret_cast<void*>(at)), 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t size) {
    std::memcpy(reinterpret_cast<void*>(to), from, size);
    return note("to device " + number(size));
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t size) {
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return note("to host " + number(size));
}
int cuMemsetD8_v2(unsigned long long at, unsigned char byte, size_t size) {
    return std::memset(reinterpret_cast<void*>(at), byte, size), 0;
}
int cuLaunchKernel(void* f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) {
    return note("launch of " + number(reinterpret_cast<uintptr_t>(f)));
}
int cuLaunchKernelEx(const void*, void* f, void**, void**) {
    return note("launch with attributes of " + number(reinterpret_cast<uintptr_t>(f)));
}
int cuGetErrorString(int, const char** out) { return *out = "an error", 0; }
int cuMemHostAlloc(void** out, size_t size, unsigned flags) {
    *out = std::malloc(size);
    return note("host memory " + number(size) + ", flags " + std::to_string(flags));
}
int cuMemFreeHost(void* at) { return std::free(at), 0; }
int cuStreamCreate(void** out, unsigned flags) {
    *out = &notes;
    return note("stream, flags " + std::to_string(flags));
}
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t size, void*) {
    return std::memcpy(reinterpret_cast<void*>(to), from, size), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t size, void*) {
    return std::memcpy(to, reinterpret_cast<const void*>(from), size), 0;
}
}
