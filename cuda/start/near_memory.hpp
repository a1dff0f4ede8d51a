// SPDX-License-Identifier: Apache-2.0
// Memory for jumps, which reach 2 GB, and the rights of pages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace lockwarp::start {

constexpr size_t page_bytes = 4096;

constexpr size_t page_up(size_t n) { return (n + page_bytes - 1) / page_bytes * page_bytes; }

// Pages that take memory when they are written; nullptr where there is none.
inline void* reserve(size_t size) {
    void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

// `size` bytes near the code from `begin` to `end`: behind it, else before it. nullptr: nothing is
// free there.
inline void* near_memory(const void* begin, const void* end, size_t size) {
    constexpr uintptr_t step = uintptr_t{1} << 20, farthest = uintptr_t{1} << 30;
    size = page_up(size);
    const uintptr_t above = page_up(reinterpret_cast<uintptr_t>(end));
    const uintptr_t below = reinterpret_cast<uintptr_t>(begin) / page_bytes * page_bytes;
    const auto take = [&](uintptr_t at) -> void* {
        void* const wanted = reinterpret_cast<void*>(at);
        void* const got = ::mmap(wanted, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted) return got;
        if (got != MAP_FAILED) ::munmap(got, size);  // of a kernel that does not know the flag
        return nullptr;
    };
    for (uintptr_t away = 0; away < farthest; away += step) {
        if (void* const got = take(above + away); got != nullptr) return got;
        if (below > away + size + step)
            if (void* const got = take(below - away - page_up(size)); got != nullptr) return got;
    }
    return nullptr;
}

inline bool set_rights(void* begin, const void* end, int rights) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(begin) / page_bytes * page_bytes;
    const uintptr_t to = page_up(reinterpret_cast<uintptr_t>(end));
    return ::mprotect(reinterpret_cast<void*>(from), to - from, rights) == 0;
}

inline bool make_writable(void* begin, const void* end) {
    return set_rights(begin, end, PROT_READ | PROT_WRITE | PROT_EXEC);
}

inline bool make_executable(void* begin, const void* end) {
    return set_rights(begin, end, PROT_READ | PROT_EXEC);
}

}  // namespace lockwarp::start
