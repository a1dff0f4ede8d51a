// SPDX-License-Identifier: Apache-2.0
// libcudart.so.12 and .13, for programs that are linked with -cudart shared: each function is a
// jump into libcuda.so.1, for the toolkit LOCKWARP_TOOLKIT.
#include "cuda/runtime/functions.hpp"

namespace {

struct Slot {
    const char* symbol;
    void** entry;
};

}  // namespace

#define JUMP(symbol)                                                                    \
    extern "C" {                                                                        \
    __attribute__((visibility("hidden"), used)) void* lockwarp_at_##symbol;             \
    }                                                                                   \
    asm(".text\n.globl " #symbol "\n.type " #symbol ", @function\n.balign 16\n" #symbol \
        ":\n"                                                                           \
        "jmp *lockwarp_at_" #symbol "(%rip)\n.size " #symbol ", .-" #symbol);
#define SLOT(symbol) {#symbol, &lockwarp_at_##symbol},

#define WITH_none(what, symbol) what(symbol)
#define WITH_ptds(what, symbol) what(symbol) what(symbol##_ptds)
#define WITH_ptsz(what, symbol) what(symbol) what(symbol##_ptsz)

#if LOCKWARP_TOOLKIT == 12
#define IF_of_12(...) __VA_ARGS__
#define IF_of_13(...)
#else
#define IF_of_12(...)
#define IF_of_13(...) __VA_ARGS__
#endif
#define IF_both(...) __VA_ARGS__

#define DONE(symbol, toolkits, per_thread, implementation) \
    IF_##toolkits(WITH_##per_thread(JUMP, symbol))
#define LACKING(symbol, toolkits, per_thread) IF_##toolkits(WITH_##per_thread(JUMP, symbol))
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING

namespace {

constexpr Slot slots[] = {
#define DONE(symbol, toolkits, per_thread, implementation) \
    IF_##toolkits(WITH_##per_thread(SLOT, symbol))
#define LACKING(symbol, toolkits, per_thread) IF_##toolkits(WITH_##per_thread(SLOT, symbol))
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING
};

__attribute__((constructor)) void fill() {
    for (const Slot& s : slots) *s.entry = lockwarp_runtime_function(s.symbol, LOCKWARP_TOOLKIT);
}

}  // namespace
