// SPDX-License-Identifier: Apache-2.0
// liblockwarp_start.so: preloaded, it puts Lockwarp's functions in the place of CUDA's runtime
// wherever that is linked into a program or a library, or loaded by a path of its own.
//
// The runtime's functions stand in the file's symbol table. Before any of the object's own code
// runs, a jump is written over the beginning of each, to a slot that is filled when it is first
// called: only then is libcuda.so.1 loaded. Nothing but libc is needed here, for this library is
// initialised before all others (-z initfirst).
#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "cuda/start/driver.hpp"
#include "cuda/start/near_memory.hpp"
#include "cuda/start/object.hpp"
#include "cuda/start/said.hpp"

namespace lockwarp::start {

namespace {

// A function that was replaced. They are never given back: a library may be closed while another
// thread is on its way through a slot.
struct Replaced {
    const char* symbol;
    int toolkit;
    void** slot;
};

constexpr size_t max_replaced = 1 << 20;
Replaced* replaced = nullptr;  // an array that grows where it lies
size_t replaced_count = 0;

using FunctionOf = void* (*)(const char* symbol, int toolkit);

void* open_driver() {
    Dl_info own{};
    char path[4096];
    if (::dladdr(reinterpret_cast<const void*>(&replaced), &own) == 0) return nullptr;
    const char* const slash = std::strrchr(own.dli_fname, '/');
    const size_t folder = slash != nullptr ? static_cast<size_t>(slash - own.dli_fname) + 1 : 0;
    constexpr char name[] = "libcuda.so.1";
    if (folder + sizeof name > sizeof path) return nullptr;
    std::memcpy(path, own.dli_fname, folder);
    std::memcpy(path + folder, name, sizeof name);
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) say(::dlerror());
    return library;
}

FunctionOf function_of() {
    void* const library = driver_library();
    if (library == nullptr) return nullptr;
    return reinterpret_cast<FunctionOf>(::dlsym(library, "lockwarp_runtime_function"));
}

int not_supported() { return 801; }  // cudaErrorNotSupported

}  // namespace

void* driver_library() {
    static void* opened = nullptr;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ::pthread_once(&once, [] { opened = open_driver(); });
    return opened;
}

// What a slot leads to, the first time that it is called.
extern "C" __attribute__((visibility("hidden"))) void* lockwarp_resolve(size_t index) {
    const Replaced& r = replaced[index];
    const FunctionOf function = function_of();
    void* entry = function != nullptr ? function(r.symbol, r.toolkit) : nullptr;
    if (entry == nullptr) entry = reinterpret_cast<void*>(&not_supported);
    __atomic_store_n(r.slot, entry, __ATOMIC_RELEASE);
    return entry;
}

// The index of the function is on the stack, then the caller's return address. Arguments stand in
// registers, which are kept.
extern "C" __attribute__((visibility("hidden"))) void lockwarp_first_call();
asm(R"(
    .text
    .globl lockwarp_first_call
    .hidden lockwarp_first_call
    .type lockwarp_first_call, @function
lockwarp_first_call:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $136, %rsp
    .cfi_def_cfa_offset 208
    movdqu %xmm0, 0(%rsp)
    movdqu %xmm1, 16(%rsp)
    movdqu %xmm2, 32(%rsp)
    movdqu %xmm3, 48(%rsp)
    movdqu %xmm4, 64(%rsp)
    movdqu %xmm5, 80(%rsp)
    movdqu %xmm6, 96(%rsp)
    movdqu %xmm7, 112(%rsp)
    mov 192(%rsp), %rdi
    call lockwarp_resolve
    mov %rax, %r11
    movdqu 0(%rsp), %xmm0
    movdqu 16(%rsp), %xmm1
    movdqu 32(%rsp), %xmm2
    movdqu 48(%rsp), %xmm3
    movdqu 64(%rsp), %xmm4
    movdqu 80(%rsp), %xmm5
    movdqu 96(%rsp), %xmm6
    movdqu 112(%rsp), %xmm7
    add $136, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    add $8, %rsp
    .cfi_def_cfa_offset 8
    jmp *%r11
    .cfi_endproc
    .size lockwarp_first_call, .-lockwarp_first_call
)");

namespace {

constexpr size_t stub_bytes = 16;

void put_jump(unsigned char* at, const void* target) {  // jmp rel32
    const int64_t distance = static_cast<const unsigned char*>(target) - (at + 5);
    const auto near = static_cast<int32_t>(distance);
    at[0] = 0xe9;
    std::memcpy(at + 1, &near, sizeof near);
}

// jmp *slot; push index; jmp common
void put_stub(unsigned char* at, void** slot, uint32_t index, const void* common) {
    const auto to_slot = static_cast<int32_t>(reinterpret_cast<unsigned char*>(slot) - (at + 6));
    at[0] = 0xff;
    at[1] = 0x25;
    std::memcpy(at + 2, &to_slot, sizeof to_slot);
    at[6] = 0x68;
    std::memcpy(at + 7, &index, sizeof index);
    put_jump(at + 11, common);
    *slot = at + 6;
}

// jmp *(what follows)
void put_far_jump(unsigned char* at, const void* target) {
    const unsigned char code[6] = {0xff, 0x25, 0, 0, 0, 0};
    std::memcpy(at, code, sizeof code);
    std::memcpy(at + sizeof code, &target, sizeof target);
}

bool is_near(const void* a, const void* b) {
    const int64_t distance = static_cast<const char*>(a) - static_cast<const char*>(b);
    return distance > -(int64_t{1} << 31) + 65536 && distance < (int64_t{1} << 31) - 65536;
}

// Jumps over all of the object's functions. Its memory: a jump to lockwarp_first_call, a stub for
// each function, and on pages of their own the slots.
bool write_jumps(const Object& o) {
    const size_t code = page_up(stub_bytes * (o.count + 1));
    const size_t size = code + page_up(sizeof(void*) * o.count);
    auto* const memory = static_cast<unsigned char*>(near_memory(o.text_begin, o.text_end, size));
    if (memory == nullptr || replaced_count + o.count > max_replaced) return false;
    auto* const slots = reinterpret_cast<void**>(memory + code);
    if (!is_near(memory, o.text_begin) || !is_near(memory, o.text_end)) return false;
    if (!make_writable(o.text_begin, o.text_end)) return false;
    put_far_jump(memory, reinterpret_cast<const void*>(&lockwarp_first_call));
    for (size_t i = 0; i < o.count; ++i) {
        unsigned char* const stub = memory + stub_bytes * (i + 1);
        put_stub(stub, slots + i, static_cast<uint32_t>(replaced_count), memory);
        replaced[replaced_count++] = {o.functions[i].symbol, o.toolkit, slots + i};
        put_jump(o.functions[i].address, stub);
    }
    make_executable(o.text_begin, o.text_end);
    make_executable(memory, memory + code);
    return true;
}

void take_over(const link_map* map, bool is_program) {
    Object o{};
    if (!read_object(map, is_program, o)) return;
    if (o.stripped) {
        say(o.path,
            ": CUDA's runtime is linked into it and its symbol table was removed (strip): its "
            "kernels cannot run. Keep the table (strip --strip-debug), or link with "
            "-cudart shared");
    } else if (!write_jumps(o)) {
        say(o.path, ": its code cannot be changed: link with -cudart shared");
    }
    free_object(o);
}

constexpr size_t max_objects = 4096;
const void* seen[max_objects];  // their dynamic sections
size_t seen_count = 0;

bool was_seen(const void* dynamic, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (seen[i] == dynamic) return true;
    return false;
}

// All that is loaded and was not yet.
void look() {
    const void* now[max_objects];
    size_t count = 0;
    for (const link_map* m = _r_debug.r_map; m != nullptr && count < max_objects; m = m->l_next) {
        now[count++] = m->l_ld;
        if (!was_seen(m->l_ld, seen_count)) take_over(m, m == _r_debug.r_map);
    }
    std::memcpy(seen, now, count * sizeof *now);
    seen_count = count;
}

// Of the loader, when it has mapped objects and not yet begun to initialise them.
void loader_changed() {
    if (_r_debug.r_state == r_debug::RT_CONSISTENT) look();
}

// The loader calls a function of one instruction for debuggers (r_brk, <link.h>). A jump to ours
// fits into what fills it up to the next function.
void watch_loader() {
    auto* const at = reinterpret_cast<unsigned char*>(_r_debug.r_brk);
    constexpr unsigned char marked[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
    if (at == nullptr) return;
    const size_t ret = std::memcmp(at, marked, sizeof marked) == 0 ? sizeof marked : 0;
    const unsigned char next = at[ret + 1];
    const bool filled = next == 0x66 || next == 0x0f || next == 0x90 || next == 0xcc;
    if (at[ret] != 0xc3 || !filled || reinterpret_cast<uintptr_t>(at) % 16 != 0) return;
    auto* const memory = static_cast<unsigned char*>(near_memory(at, at + 16, stub_bytes));
    if (memory == nullptr || !is_near(memory, at) || !make_writable(at, at + 16)) return;
    put_far_jump(memory, reinterpret_cast<const void*>(&loader_changed));
    make_executable(memory, memory + stub_bytes);
    put_jump(at, memory);
    make_executable(at, at + 16);
}

__attribute__((constructor)) void begin() {
    replaced = static_cast<Replaced*>(reserve(max_replaced * sizeof(Replaced)));
    if (replaced == nullptr) return;
    look();
    watch_loader();
}

}  // namespace
}  // namespace lockwarp::start
