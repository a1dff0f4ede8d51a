// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for driver_test.cpp: its memory is the host's, its kernels do nothing, and it
// notes what is asked of it. LOCKWARP_NOTED: 0 has nothing, 1 what every driver has, 2 all.
#include "tests/gpu/driver/noted.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace lockwarp::noted {

Driver driver;
uintptr_t modules = 0;

int note(const std::string& what) {
    driver.notes += what + "\n";
    return 0;
}
std::string number(uintptr_t n) { return std::to_string(n); }

// What the function returns; where it is told to fail it does nothing else.
int error_of(const char* function) {
    if (driver.failing != function || driver.successes-- > 0) return 0;
    return driver.failures-- > 0 ? driver.error : 0;
}
int error_in_context(const char* function) {
    constexpr int no_context = 201;
    if (driver.current == &driver) return error_of(function);
    note(std::string(function) + " without the context");
    return no_context;
}

// What was asked of it happens as late as it may.
struct Stream {
    std::vector<std::function<void()>> later;
};
int copy(void* stream, void* to, const void* from, size_t size) {
    static_cast<Stream*>(stream)->later.emplace_back([=] { std::memcpy(to, from, size); });
    return 0;
}

int noted_in_context(const char* what) {
    const int error = error_in_context(what);
    return error != 0 ? error : note(what);
}

}  // namespace lockwarp::noted

using namespace lockwarp::noted;

#define FAIL_IF_ASKED \
    if (const int error = error_of(__func__)) return error
#define FAIL_IF_ASKED_OR_WITHOUT_CONTEXT \
    if (const int error = error_in_context(__func__)) return error

extern "C" {

Driver* noted_driver() { return &driver; }

#if LOCKWARP_NOTED >= 1
int cuInit(unsigned flags) {
    FAIL_IF_ASKED;
    return flags == 0 ? 0 : 1;
}
int cuDriverGetVersion(int* out) {
    if (!driver.knows) return 1;
    return *out = driver.version, 0;
}
int cuDeviceGetCount(int* out) {
    FAIL_IF_ASKED;
    return *out = 1, 0;
}
int cuDeviceGet(int* out, int) {
    FAIL_IF_ASKED;
    return *out = 0, 0;
}
int cuDeviceGetName(char* out, int size, int) {
    std::strcpy(out, "Noted");
    return note("name in " + std::to_string(size));
}
int cuDeviceGetAttribute(int* out, int attribute, int) {
    if (!driver.knows) return 1;
    *out = attribute == 13   ? 1980000  // kHz
           : attribute == 16 ? driver.sms
           : attribute == 39 ? driver.sm_threads
           : attribute == 75 ? driver.major
           : attribute == 76 ? driver.minor
                             : 0;
    return 0;
}
int cuDeviceTotalMem_v2(size_t* out, int) {
    if (!driver.knows) return 1;
    return *out = driver.memory, 0;
}
int cuDevicePrimaryCtxRetain(void** out, int) {
    FAIL_IF_ASKED;
    return *out = &driver, 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return note("context released"); }
int cuCtxSetCurrent(void* context) {
    FAIL_IF_ASKED;
    driver.current = context;
    return 0;
}
int cuCtxSynchronize() {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return 0;
}
int cuCtxSetLimit(int limit, size_t bytes) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    note("limit " + std::to_string(limit) + ": " + number(bytes));
    return bytes <= driver.largest_stack ? 0 : 1;
}
int cuModuleLoadDataEx(void** out, const void* text, unsigned count, int* options, void** values) {
    const std::string ptx = static_cast<const char*>(text);
    if (const int error = error_in_context(__func__)) {
        // Each option's value: of the log (5) its memory, in which the words stand.
        for (unsigned i = 0; i < count; ++i) {
            note("option " + std::to_string(options[i]) +
                 (options[i] == 5 ? "" : ": " + number(reinterpret_cast<uintptr_t>(values[i]))));
            if (options[i] == 5) std::strcpy(static_cast<char*>(values[i]), "line 1; unknown");
        }
        return error;
    }
    *out = reinterpret_cast<void*>(++modules);
    return note("load " + number(modules) + ": " + ptx.substr(0, ptx.find('\n')));
}
int cuModuleUnload(void* module) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return note("unload " + number(reinterpret_cast<uintptr_t>(module)));
}
int cuModuleGetFunction(void** out, void* module, const char*) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return *out = module, 0;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
    const std::string name = "cuFuncSetAttribute " + std::to_string(attribute);
    if (const int error = error_in_context(name.c_str())) return error;
    return attribute == 8 && value == 0
               ? 0
               : note("attribute " + std::to_string(attribute) + ": " + std::to_string(value));
}
int cuMemAlloc_v2(unsigned long long* out, size_t size) {
    *out = 1;
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    *out = reinterpret_cast<uintptr_t>(std::malloc(size));
    return note("memory " + number(size));
}
int cuMemFree_v2(unsigned long long at) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    std::free(reinterpret_cast<void*>(at));
    return note("free");
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t size) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    std::memcpy(reinterpret_cast<void*>(to), from, size);
    return note("to device " + number(size));
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t size) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    std::memcpy(to, reinterpret_cast<const void*>(from), size);
    return note("to host " + number(size));
}
int cuMemsetD8_v2(unsigned long long at, unsigned char byte, size_t size) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    std::memset(reinterpret_cast<void*>(at), byte, size);
    return note("fill " + number(size));
}
int cuLaunchKernel(void* f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void** parameters, void**) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    for (unsigned i = 0; i < driver.parameters; ++i)
        note("parameter " + number(*static_cast<uint8_t*>(parameters[i])));
    return note("launch of " + number(reinterpret_cast<uintptr_t>(f)));
}
int cuGetErrorString(int error, const char** out) {
    if (!driver.explains) return 1;
    static std::string words;
    words = "error " + std::to_string(error);
    return *out = words.c_str(), 0;
}
#endif

#if LOCKWARP_NOTED >= 2
// CUlaunchAttribute and CUlaunchConfig.
struct Attribute {
    int id, unused, value[16];
};
struct Config {
    unsigned grid[3], block[3], dynamic_shared;
    void* stream;
    const Attribute* attributes;
    unsigned count;
};
int cuLaunchKernelEx(const Config* config, void* f, void**, void**) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    for (unsigned i = 0; i < config->count; ++i) {
        const Attribute& a = config->attributes[i];
        note("attribute " + std::to_string(a.id) + ": " + std::to_string(a.value[0]) + " " +
             std::to_string(a.value[1]) + " " + std::to_string(a.value[2]));
    }
    return note("launch with attributes of " + number(reinterpret_cast<uintptr_t>(f)));
}
int cuTensorMapEncodeTiled(void* out, int, unsigned, void*, const uint64_t*, const uint64_t*,
                           const uint32_t*, const uint32_t*, int, int, int, int) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return std::memset(out, 't', 128), 0;
}
int cuTensorMapEncodeIm2col(void* out, int, unsigned, void*, const uint64_t*, const uint64_t*,
                            const int*, const int*, unsigned, unsigned, const uint32_t*, int, int,
                            int, int) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return std::memset(out, 'i', 128), 0;
}
int cuMemHostAlloc(void** out, size_t size, unsigned flags) {
    note("host memory " + number(size) + ", flags " + std::to_string(flags));
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return *out = std::malloc(size), 0;
}
int cuMemFreeHost(void* at) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    std::free(at);
    return note("host memory freed");
}
int cuStreamCreate(void** out, unsigned flags) {
    note("stream, flags " + std::to_string(flags));
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    return *out = new Stream, 0;
}
int cuStreamDestroy_v2(void* stream) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    delete static_cast<Stream*>(stream);
    return note("stream destroyed");
}
int cuStreamSynchronize(void* stream) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    for (const auto& copy : std::exchange(static_cast<Stream*>(stream)->later, {})) copy();
    return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t size, void* stream) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    note("to device " + number(size) + " later");
    return copy(stream, reinterpret_cast<void*>(to), from, size);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t size, void* stream) {
    FAIL_IF_ASKED_OR_WITHOUT_CONTEXT;
    note("to host " + number(size) + " later");
    return copy(stream, to, reinterpret_cast<const void*>(from), size);
}
int cuMemGetAllocationGranularity(size_t* out, const void*, int) {
    return *out = size_t{2} << 20, 0;
}
int cuMemAddressReserve(unsigned long long* out, size_t, size_t, unsigned long long at,
                        unsigned long long) {
    return *out = at, noted_in_context("reserve");
}
int cuMemAddressFree(unsigned long long, size_t) { return noted_in_context("unreserve"); }
int cuMemCreate(unsigned long long* out, size_t, const void*, unsigned long long) {
    return *out = 1, noted_in_context("create");
}
int cuMemRelease(unsigned long long) { return noted_in_context("release"); }
int cuMemMap(unsigned long long, size_t, size_t, unsigned long long, unsigned long long) {
    return noted_in_context("map");
}
int cuMemUnmap(unsigned long long, size_t) { return noted_in_context("unmap"); }
int cuMemSetAccess(unsigned long long, size_t, const void*, size_t) {
    return noted_in_context("access");
}
#endif
}
