// SPDX-License-Identifier: Apache-2.0
// Every function of the driver's public interface (cuda/functions.inc) as a jump to the same of
// another library, which LOCKWARP_FORWARD_VARIABLE, an environment variable, names. The jumps are
// weak symbols: what other files of this library define takes their place.
#include "cuda/beside/forward.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define LOCKWARP_TEXT(x) #x
#define LOCKWARP_NUMBER(n) LOCKWARP_TEXT(n)

// A row's symbol, and that for a default stream of each thread's own.
#define NAMES_none(symbol) #symbol,
#define NAMES_ptds(symbol) #symbol, #symbol "_ptds",
#define NAMES_ptsz(symbol) #symbol, #symbol "_ptsz",
namespace {
constexpr std::array names{
#define DONE(symbol, name, since, per_thread) NAMES_##per_thread(symbol)
#define LACKING DONE
#include "cuda/functions.inc"
#undef DONE
#undef LACKING
};
}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void* lockwarp_forward_slots[names.size()];
}

#define JUMP(symbol, n)                                                 \
    asm(".text\n.weak " symbol "\n.type " symbol ", @function\n" symbol \
        ":\n jmp *lockwarp_forward_slots+8*(" n "-1)(%rip)\n");
#define NEXT LOCKWARP_NUMBER(__COUNTER__)
#define JUMPS_none(symbol) JUMP(#symbol, NEXT)
#define JUMPS_ptds(symbol) JUMP(#symbol, NEXT) JUMP(#symbol "_ptds", NEXT)
#define JUMPS_ptsz(symbol) JUMP(#symbol, NEXT) JUMP(#symbol "_ptsz", NEXT)
static_assert(__COUNTER__ == 0);
#define DONE(symbol, name, since, per_thread) JUMPS_##per_thread(symbol)
#define LACKING DONE
#include "cuda/functions.inc"
#undef DONE
#undef LACKING
static_assert(__COUNTER__ == names.size() + 1);

namespace lockwarp::beside {

namespace {

int not_supported() { return 801; }  // CUDA_ERROR_NOT_SUPPORTED

#ifdef __SANITIZE_ADDRESS__
constexpr int own_first = 0;  // the sanitizer refuses it
#else
// Its own calls find its own functions, whatever else has their names.
constexpr int own_first = RTLD_DEEPBIND;
#endif

void* open_driver() {
    const char* const path = std::getenv(LOCKWARP_FORWARD_VARIABLE);
    if (path == nullptr) return nullptr;
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL | own_first);
    if (library == nullptr) std::fprintf(stderr, "lockwarp: %s\n", ::dlerror());
    return library;
}

void* driver() {
    static void* const library = open_driver();
    return library;
}

__attribute__((constructor)) void fill() {
    for (size_t i = 0; i < names.size(); ++i) {
        void* const found = behind(names[i]);
        lockwarp_forward_slots[i] =
            found != nullptr ? found : reinterpret_cast<void*>(&not_supported);
    }
}

}  // namespace

void* behind(const char* symbol) {
    return driver() != nullptr ? ::dlsym(driver(), symbol) : nullptr;
}

}  // namespace lockwarp::beside
