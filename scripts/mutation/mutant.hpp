// SPDX-License-Identifier: Apache-2.0
// Comes before every file that scripts/mutate has put faults into: each fault has a number, and at
// most one is there in a run of a test, the one that LOCKWARP_MUTANT names. With
// LOCKWARP_MUTANT_SEEN, a file of a byte for each number, it is noted which of them were reached.
// What the compiler evaluates itself has the fault with a number below 0 alone, which is always
// there.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace lockwarp_mutant {

inline const int active = [] {
    const char* const number = std::getenv("LOCKWARP_MUTANT");
    return number != nullptr ? std::atoi(number) : 0;
}();

inline unsigned char* const seen = []() -> unsigned char* {
    const char* const name = std::getenv("LOCKWARP_MUTANT_SEEN");
    const int file = name != nullptr ? open(name, O_RDWR | O_CLOEXEC) : -1;
    struct stat about {};
    if (file < 0 || fstat(file, &about) != 0) return nullptr;
    const auto bytes = static_cast<size_t>(about.st_size);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return at != MAP_FAILED ? static_cast<unsigned char*>(at) : nullptr;
}();

inline bool reached(int number) {
    if (seen != nullptr) seen[number] = 1;
    return number == active;
}

constexpr bool on(int number) {
    return number < 0 || (!std::is_constant_evaluated() && reached(number));
}

// Of each operator: itself, or the one that the fault puts in its place; where there is none, as of
// text, its right side is left out.
#define LOCKWARP_OPERATOR(name, right, wrong)                                 \
    template <class A, class B>                                               \
    constexpr auto name(int number, const A& a, const B& b) {                 \
        using Result = decltype(a right b);                                   \
        if constexpr (requires { static_cast<Result>(a wrong b); })           \
            return on(number) ? static_cast<Result>(a wrong b) : (a right b); \
        else                                                                  \
            return on(number) ? Result(a) : (a right b);                      \
    }
LOCKWARP_OPERATOR(less, <, <=)
LOCKWARP_OPERATOR(less_equal, <=, <)
LOCKWARP_OPERATOR(greater, >, >=)
LOCKWARP_OPERATOR(greater_equal, >=, >)
LOCKWARP_OPERATOR(equal, ==, !=)
LOCKWARP_OPERATOR(unequal, !=, ==)
LOCKWARP_OPERATOR(plus, +, -)
LOCKWARP_OPERATOR(minus, -, +)
LOCKWARP_OPERATOR(times, *, +)
LOCKWARP_OPERATOR(over, /, *)
LOCKWARP_OPERATOR(remainder, %, /)
LOCKWARP_OPERATOR(bits_and, &, |)
LOCKWARP_OPERATOR(bits_or, |, &)
LOCKWARP_OPERATOR(bits_xor, ^, |)
LOCKWARP_OPERATOR(shift_left, <<, >>)
LOCKWARP_OPERATOR(shift_right, >>, <<)
#undef LOCKWARP_OPERATOR

#define LOCKWARP_ASSIGNMENT(name, right, wrong)         \
    template <class A, class B>                         \
    constexpr void name(int number, A& a, const B& b) { \
        if (!on(number))                                \
            a right b;                                  \
        else if constexpr (requires { a wrong b; })     \
            a wrong b;                                  \
    }
LOCKWARP_ASSIGNMENT(add_to, +=, -=)
LOCKWARP_ASSIGNMENT(take_from, -=, +=)
LOCKWARP_ASSIGNMENT(multiply, *=, +=)
LOCKWARP_ASSIGNMENT(or_into, |=, &=)
LOCKWARP_ASSIGNMENT(and_into, &=, |=)
LOCKWARP_ASSIGNMENT(xor_into, ^=, |=)
LOCKWARP_ASSIGNMENT(shift_up, <<=, >>=)
LOCKWARP_ASSIGNMENT(shift_down, >>=, <<=)
#undef LOCKWARP_ASSIGNMENT

// A number, or the next one.
template <class T>
constexpr T number(int fault, T value) {
    return on(fault) ? static_cast<T>(value + 1) : value;
}

constexpr bool flipped(int number, bool value) { return on(number) != value; }

template <class T>
constexpr auto negative(int number, const T& value) {
    return on(number) ? static_cast<decltype(-value)>(value) : -value;
}

template <class T>
constexpr auto complement(int number, const T& value) {
    return on(number) ? static_cast<decltype(~value)>(value) : ~value;
}

}  // namespace lockwarp_mutant
