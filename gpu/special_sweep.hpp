// SPDX-License-Identifier: Apache-2.0
// The special functions swept beside a GPU's own instructions: which forms there are, the operands
// of each in the order in which both sides take them, and how results are digested. One text for
// both sides: the host's compiler reads it, and nvcc for gpu/kernels/special_check.cu.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emu/isa/types.hpp"
#include "emu/num/mufu_model.hpp"

namespace lockwarp::gpu {

struct SpecialForm {
    num::Special function;
    isa::Type type;
    bool ftz;
    uint16_t target;  // least .target; the PTX for this one has the form's kernel
};

inline constexpr auto special_forms = [] {
    using enum num::Special;
    using enum isa::Type;
    return std::to_array<SpecialForm>({
        {ex2, f32, false, 70},       {ex2, f32, true, 70},       {lg2, f32, false, 70},
        {lg2, f32, true, 70},        {rcp, f32, false, 70},      {rcp, f32, true, 70},
        {rsqrt, f32, false, 70},     {rsqrt, f32, true, 70},     {sqrt, f32, false, 70},
        {sqrt, f32, true, 70},       {sin, f32, false, 70},      {sin, f32, true, 70},
        {cos, f32, false, 70},       {cos, f32, true, 70},       {tanh, f32, false, 75},
        {ex2, f16, false, 75},       {ex2, f16x2, false, 75},    {ex2, bf16, true, 90},
        {ex2, bf16x2, true, 90},     {tanh, f16, false, 75},     {tanh, f16x2, false, 75},
        {tanh, bf16, false, 90},     {tanh, bf16x2, false, 90},  {rcp, f64, true, 70},
        {rsqrt, f64, true, 70},      {rsqrt, f64, false, 70},    {div_approx, f32, false, 70},
        {div_approx, f32, true, 70}, {div_full, f32, false, 70}, {div_full, f32, true, 70},
    });
}();

constexpr bool is_quotient(const SpecialForm& f) {
    return f.function == num::Special::div_approx || f.function == num::Special::div_full;
}

// "ex2.approx.ftz.f32"
struct Spelling {
    std::array<char, 32> text{};
    size_t size = 0;

    constexpr std::string_view view() const { return {text.data(), size}; }
};

constexpr Spelling spelling(const SpecialForm& f) {
    constexpr std::array<std::string_view, 10> opcodes{"ex2", "lg2", "rcp",  "rsqrt", "sqrt",
                                                       "sin", "cos", "tanh", "div",   "div"};
    Spelling s;
    for (const std::string_view part :
         {opcodes[static_cast<size_t>(f.function)],
          std::string_view(f.function == num::Special::div_full ? ".full" : ".approx"),
          std::string_view(f.ftz ? ".ftz" : ""), isa::row(f.type).name})
        for (const char c : part) s.text[s.size++] = c;
    return s;
}

// A well mixed number of another one (SplitMix64's last step).
constexpr uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// The random number of a counter.
constexpr uint64_t random_of(uint64_t n) { return mixed((n + 1) * 0x9e3779b97f4a7c15); }

// How much of what it can be given a form is given.
enum class Operands : uint8_t {
    all,
    upper_words,  // every upper word of an f64, with lower words that the instruction does not read
    sample,       // structured ones, then random ones
};

constexpr Operands operands_of(const SpecialForm& f) {
    if (is_quotient(f)) return Operands::sample;
    if (f.type != isa::Type::f64) return Operands::all;
    return f.ftz ? Operands::upper_words : Operands::sample;
}

inline constexpr uint64_t structured_operands = uint64_t{1} << 22;

constexpr uint64_t operand_count(const SpecialForm& f) {
    if (f.type == isa::Type::f16 || f.type == isa::Type::bf16) return uint64_t{1} << 16;
    const uint64_t words = uint64_t{1} << 32;
    return operands_of(f) == Operands::sample ? structured_operands + words : words;
}

struct Operand {
    uint64_t a = 0;
    uint64_t b = 0;  // of quotients
};

// None, the last place alone, all ones, random.
constexpr uint64_t structured_bits(uint64_t choice, uint64_t all_ones, uint64_t random) {
    return choice % 4 == 0   ? 0
           : choice % 4 == 1 ? 1
           : choice % 4 == 2 ? all_ones
                             : random & all_ones;
}

// Number n of a form, below operand_count. Structured: every sign and exponent, of quotients on
// both sides, with such fractions.
constexpr Operand operand(const SpecialForm& f, uint64_t n) {
    const Operands which = operands_of(f);
    if (which == Operands::all) return {n, 0};
    const uint64_t r = random_of(n);
    if (which == Operands::upper_words)
        return {n << 32 | structured_bits(r >> 32, 0xffffffff, r), 0};
    const bool pair = is_quotient(f);
    if (n >= structured_operands) return pair ? Operand{r >> 32, r & 0xffffffff} : Operand{r, 0};
    if (!pair) {
        const uint64_t fraction = (uint64_t{1} << 52) - 1;
        return {(n & 0xfff) << 52 | structured_bits(n >> 12, fraction, r), 0};
    }
    return {(n & 0x1ff) << 23 | structured_bits(n >> 18, 0x7fffff, r),
            (n >> 9 & 0x1ff) << 23 | structured_bits(n >> 20, 0x7fffff, r >> 32)};
}

// The digest of a chunk is the sum of these over its operands, in any order.
constexpr uint64_t digest_of(uint64_t n, uint64_t result) {
    return mixed(n * 0x9e3779b97f4a7c15 ^ result);
}

inline constexpr uint64_t chunk_operands = uint64_t{1} << 20;
inline constexpr uint32_t check_threads = 256;

// What the kernel leaves of one chunk, the work of one block.
struct CheckedChunk {
    uint64_t digest;     // of the instruction's results
    uint64_t different;  // operands for which the model on the GPU gives another result
};

// What it leaves of one operand, where that is wanted.
struct CheckedOperand {
    uint64_t instruction;
    uint64_t model;
};

}  // namespace lockwarp::gpu
