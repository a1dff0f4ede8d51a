// SPDX-License-Identifier: Apache-2.0
// Programs that have nvJitLink make machine code of PTX find the functions of libcuda.so.1 in its
// place: those that are linked with it, and those that look for its functions in the process before
// they open it. nvJitLink.h has names with the toolkit's version for all but nvJitLinkVersion.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "cuda/start/driver.hpp"

namespace {

template <class... Arguments>
int call(const char* symbol, Arguments... arguments) {
    using Function = int(Arguments...);
    void* const driver = lockwarp::start::driver_library();
    void* const found = driver != nullptr ? ::dlsym(driver, symbol) : nullptr;
    constexpr int internal_error = 6;  // NVJITLINK_ERROR_INTERNAL
    return found != nullptr ? reinterpret_cast<Function*>(found)(arguments...) : internal_error;
}

}  // namespace

#define LOCKWARP_EXPORTED __attribute__((visibility("default")))
#define ALIAS(name, version) \
    extern "C" LOCKWARP_EXPORTED decltype(name) __##name##_##version __attribute__((alias(#name)))
#define FUNCTION(name, parameters, ...)                \
    extern "C" LOCKWARP_EXPORTED int name parameters { \
        return call(#name __VA_OPT__(, ) __VA_ARGS__); \
    }                                                  \
    ALIAS(name, 12_0);                                 \
    ALIAS(name, 12_1);                                 \
    ALIAS(name, 12_2);                                 \
    ALIAS(name, 12_3);                                 \
    ALIAS(name, 12_4);                                 \
    ALIAS(name, 12_5);                                 \
    ALIAS(name, 12_6);                                 \
    ALIAS(name, 12_7);                                 \
    ALIAS(name, 12_8);                                 \
    ALIAS(name, 12_9);                                 \
    ALIAS(name, 13_0);                                 \
    ALIAS(name, 13_1);                                 \
    ALIAS(name, 13_2);                                 \
    ALIAS(name, 13_3);                                 \
    ALIAS(name, 13_4);                                 \
    ALIAS(name, 13_5);

FUNCTION(nvJitLinkCreate, (void** link, uint32_t count, const char* const* options), link, count,
         options)
FUNCTION(nvJitLinkDestroy, (void** link), link)
FUNCTION(nvJitLinkAddData, (void* link, int type, const void* data, size_t size, const char* name),
         link, type, data, size, name)
FUNCTION(nvJitLinkAddFile, (void* link, int type, const char* path), link, type, path)
FUNCTION(nvJitLinkComplete, (void* link), link)
FUNCTION(nvJitLinkGetLinkedCubinSize, (void* link, size_t* size), link, size)
FUNCTION(nvJitLinkGetLinkedCubin, (void* link, void* cubin), link, cubin)
FUNCTION(nvJitLinkGetLinkedPtxSize, (void* link, size_t* size), link, size)
FUNCTION(nvJitLinkGetLinkedPtx, (void* link, char* ptx), link, ptx)
FUNCTION(nvJitLinkGetLinkedLTOIRSize, (void* link, size_t* size), link, size)
FUNCTION(nvJitLinkGetLinkedLTOIR, (void* link, void* lto_ir), link, lto_ir)
FUNCTION(nvJitLinkGetErrorLogSize, (void* link, size_t* size), link, size)
FUNCTION(nvJitLinkGetErrorLog, (void* link, char* log), link, log)
FUNCTION(nvJitLinkGetInfoLogSize, (void* link, size_t* size), link, size)
FUNCTION(nvJitLinkGetInfoLog, (void* link, char* log), link, log)

extern "C" LOCKWARP_EXPORTED int nvJitLinkVersion(unsigned* major, unsigned* minor) {
    return call("nvJitLinkVersion", major, minor);
}
