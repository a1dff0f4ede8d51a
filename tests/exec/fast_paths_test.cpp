// SPDX-License-Identifier: Apache-2.0
// Kernels with the fast paths of arithmetic and without, and in a program that has set the host's
// floating-point environment.
#include <cfenv>
#include <cstring>

#include "tests/exec/support.hpp"
#include "tests/num/inputs.hpp"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace lockwarp::exec::fast_paths_test {
namespace {

using isa::Type;

// One instruction, of operands in %a, %b and %c and a result in %d.
struct Line {
    const char* text;
    Type operand;
    Type result;
};

constexpr Line lines[] = {
    {"add.rn.f32 %d, %a, %b", Type::f32, Type::f32},
    {"add.rn.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"sub.f32 %d, %a, %b", Type::f32, Type::f32},
    {"sub.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"mul.f32 %d, %a, %b", Type::f32, Type::f32},
    {"mul.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"mul.ftz.sat.f32 %d, %a, %b", Type::f32, Type::f32},
    {"mul.rz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"add.sat.f32 %d, %a, %b", Type::f32, Type::f32},
    {"sub.ftz.sat.f32 %d, %a, %b", Type::f32, Type::f32},
    {"fma.rn.sat.f32 %d, %a, %b, %c", Type::f32, Type::f32},
    {"div.rn.f32 %d, %a, %b", Type::f32, Type::f32},
    {"div.rn.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"div.rp.f32 %d, %a, %b", Type::f32, Type::f32},
    {"fma.rn.f32 %d, %a, %b, %c", Type::f32, Type::f32},
    {"fma.rn.ftz.f32 %d, %a, %b, %c", Type::f32, Type::f32},
    {"rcp.rn.f32 %d, %a", Type::f32, Type::f32},
    {"rcp.rn.ftz.f32 %d, %a", Type::f32, Type::f32},
    {"sqrt.rn.f32 %d, %a", Type::f32, Type::f32},
    {"sqrt.rn.ftz.f32 %d, %a", Type::f32, Type::f32},
    {"sqrt.rn.f64 %d, %a", Type::f64, Type::f64},
    {"sqrt.rz.f64 %d, %a", Type::f64, Type::f64},
    {"cvt.rna.tf32.f32 %d, %a", Type::f32, Type::b32},
    {"min.f32 %d, %a, %b", Type::f32, Type::f32},
    {"min.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"max.f32 %d, %a, %b", Type::f32, Type::f32},
    {"max.ftz.f32 %d, %a, %b", Type::f32, Type::f32},
    {"max.NaN.f32 %d, %a, %b", Type::f32, Type::f32},
    {"min.ftz.NaN.f32 %d, %a, %b", Type::f32, Type::f32},
    {"min.xorsign.abs.f32 %d, %a, %b", Type::f32, Type::f32},
    {"abs.f32 %d, %a", Type::f32, Type::f32},
    {"abs.ftz.f32 %d, %a", Type::f32, Type::f32},
    {"neg.f32 %d, %a", Type::f32, Type::f32},
    {"neg.ftz.f32 %d, %a", Type::f32, Type::f32},
    {"add.f64 %d, %a, %b", Type::f64, Type::f64},
    {"sub.f64 %d, %a, %b", Type::f64, Type::f64},
    {"mul.f64 %d, %a, %b", Type::f64, Type::f64},
    {"mul.rm.f64 %d, %a, %b", Type::f64, Type::f64},
    {"div.rn.f64 %d, %a, %b", Type::f64, Type::f64},
    {"fma.rn.f64 %d, %a, %b, %c", Type::f64, Type::f64},
    {"fma.rz.f64 %d, %a, %b, %c", Type::f64, Type::f64},
    {"add.f16 %d, %a, %b", Type::f16, Type::f16},
    {"add.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"add.rn.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"add.rn.bf16x2 %d, %a, %b", Type::bf16x2, Type::bf16x2},
    {"sub.f16 %d, %a, %b", Type::f16, Type::f16},
    {"sub.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"sub.rn.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"sub.rn.bf16x2 %d, %a, %b", Type::bf16x2, Type::bf16x2},
    {"mul.f16 %d, %a, %b", Type::f16, Type::f16},
    {"mul.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"mul.rn.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"mul.rn.bf16x2 %d, %a, %b", Type::bf16x2, Type::bf16x2},
    {"fma.rn.f16 %d, %a, %b, %c", Type::f16, Type::f16},
    {"fma.rn.f16x2 %d, %a, %b, %c", Type::f16x2, Type::f16x2},
    {"fma.rn.bf16 %d, %a, %b, %c", Type::bf16, Type::bf16},
    {"fma.rn.bf16x2 %d, %a, %b, %c", Type::bf16x2, Type::bf16x2},
    {"min.f16 %d, %a, %b", Type::f16, Type::f16},
    {"min.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"min.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"min.bf16x2 %d, %a, %b", Type::bf16x2, Type::bf16x2},
    {"max.f16 %d, %a, %b", Type::f16, Type::f16},
    {"max.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"max.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"max.bf16x2 %d, %a, %b", Type::bf16x2, Type::bf16x2},
    {"neg.f16 %d, %a", Type::f16, Type::f16},
    {"neg.f16x2 %d, %a", Type::f16x2, Type::f16x2},
    {"neg.bf16 %d, %a", Type::bf16, Type::bf16},
    {"neg.bf16x2 %d, %a", Type::bf16x2, Type::bf16x2},
    {"abs.f16 %d, %a", Type::f16, Type::f16},
    {"abs.f16x2 %d, %a", Type::f16x2, Type::f16x2},
    {"abs.bf16 %d, %a", Type::bf16, Type::bf16},
    {"abs.bf16x2 %d, %a", Type::bf16x2, Type::bf16x2},
    {"max.NaN.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"min.ftz.f16 %d, %a, %b", Type::f16, Type::f16},
    {"max.NaN.xorsign.abs.bf16 %d, %a, %b", Type::bf16, Type::bf16},
    {"neg.ftz.f16x2 %d, %a", Type::f16x2, Type::f16x2},
    {"add.ftz.f16 %d, %a, %b", Type::f16, Type::f16},
    {"mul.sat.f16x2 %d, %a, %b", Type::f16x2, Type::f16x2},
    {"fma.rn.ftz.f16 %d, %a, %b, %c", Type::f16, Type::f16},
    {"fma.rn.relu.f16x2 %d, %a, %b, %c", Type::f16x2, Type::f16x2},
    {"fma.rn.relu.bf16x2 %d, %a, %b, %c", Type::bf16x2, Type::bf16x2},
    {"fma.rn.relu.bf16 %d, %a, %b, %c", Type::bf16, Type::bf16},
    {"add.sat.f16 %d, %a, %b", Type::f16, Type::f16},
    {"fma.rn.sat.f16x2 %d, %a, %b, %c", Type::f16x2, Type::f16x2},
    {"fma.rn.oob.bf16 %d, %a, %b, %c", Type::bf16, Type::bf16},
    {"cvt.rn.f32.s32 %d, %a", Type::s32, Type::f32},
    {"cvt.rn.f32.u32 %d, %a", Type::u32, Type::f32},
    {"cvt.rz.f32.u32 %d, %a", Type::u32, Type::f32},
    {"cvt.rn.f64.s32 %d, %a", Type::s32, Type::f64},
    {"cvt.rn.f64.u32 %d, %a", Type::u32, Type::f64},
    {"cvt.rn.f32.s64 %d, %a", Type::s64, Type::f32},
    {"cvt.rn.f32.u64 %d, %a", Type::u64, Type::f32},
    {"cvt.rn.f64.s64 %d, %a", Type::s64, Type::f64},
    {"cvt.rn.f64.u64 %d, %a", Type::u64, Type::f64},
    {"cvt.rp.f64.u64 %d, %a", Type::u64, Type::f64},
    {"cvt.f64.f32 %d, %a", Type::f32, Type::f64},
    {"cvt.ftz.f64.f32 %d, %a", Type::f32, Type::f64},
    {"cvt.rn.f32.f64 %d, %a", Type::f64, Type::f32},
    {"cvt.rn.ftz.f32.f64 %d, %a", Type::f64, Type::f32},
    {"cvt.rz.f32.f64 %d, %a", Type::f64, Type::f32},
    {"cvt.rzi.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rzi.ftz.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rni.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rzi.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rzi.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rzi.s32.f64 %d, %a", Type::f64, Type::s32},
    {"cvt.rzi.u32.f64 %d, %a", Type::f64, Type::u32},
    {"cvt.rni.ftz.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rmi.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rmi.ftz.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rpi.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rpi.ftz.s32.f32 %d, %a", Type::f32, Type::s32},
    {"cvt.rni.s32.f64 %d, %a", Type::f64, Type::s32},
    {"cvt.rmi.s32.f64 %d, %a", Type::f64, Type::s32},
    {"cvt.rpi.s32.f64 %d, %a", Type::f64, Type::s32},
    {"cvt.rni.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rni.ftz.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rmi.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rmi.ftz.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rpi.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rpi.ftz.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rzi.ftz.u32.f32 %d, %a", Type::f32, Type::u32},
    {"cvt.rni.u32.f64 %d, %a", Type::f64, Type::u32},
    {"cvt.rmi.u32.f64 %d, %a", Type::f64, Type::u32},
    {"cvt.rpi.u32.f64 %d, %a", Type::f64, Type::u32},
    {"cvt.rni.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rni.ftz.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rni.f64.f64 %d, %a", Type::f64, Type::f64},
    {"cvt.rni.sat.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rmi.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rmi.ftz.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rmi.f64.f64 %d, %a", Type::f64, Type::f64},
    {"cvt.rmi.sat.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rpi.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rpi.ftz.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rpi.f64.f64 %d, %a", Type::f64, Type::f64},
    {"cvt.rpi.sat.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rzi.ftz.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rzi.f64.f64 %d, %a", Type::f64, Type::f64},
    {"cvt.rzi.sat.f32.f32 %d, %a", Type::f32, Type::f32},
    {"cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b", Type::f32, Type::e4m3x2},
    {"cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b", Type::f32, Type::e4m3x2},
    {"cvt.rn.satfinite.e4m3x2.f16x2 %d, %a", Type::f16x2, Type::e4m3x2},
    {"cvt.rn.f16x2.e4m3x2 %d, %a", Type::e4m3x2, Type::f16x2},
    {"cvt.rn.relu.f16x2.e4m3x2 %d, %a", Type::e4m3x2, Type::f16x2},
    {"cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b", Type::f32, Type::e5m2x2},
    {"cvt.rn.satfinite.relu.e5m2x2.f32 %d, %a, %b", Type::f32, Type::e5m2x2},
    {"cvt.rn.satfinite.e5m2x2.f16x2 %d, %a", Type::f16x2, Type::e5m2x2},
    {"cvt.rn.f16x2.e5m2x2 %d, %a", Type::e5m2x2, Type::f16x2},
    {"cvt.rn.relu.f16x2.e5m2x2 %d, %a", Type::e5m2x2, Type::f16x2},
    {"cvt.rn.satfinite.f16x2.f32 %d, %a, %b", Type::f32, Type::f16x2},
    {"cvt.f32.f16 %d, %a", Type::f16, Type::f32},
    {"cvt.rn.f16.f32 %d, %a", Type::f32, Type::f16},
    {"cvt.rn.ftz.f16.f32 %d, %a", Type::f32, Type::f16},
    {"cvt.rz.f16.f32 %d, %a", Type::f32, Type::f16},
    {"cvt.rn.relu.f16.f32 %d, %a", Type::f32, Type::f16},
    {"cvt.f32.bf16 %d, %a", Type::bf16, Type::f32},
    {"cvt.rn.bf16.f32 %d, %a", Type::f32, Type::bf16},
    {"cvt.rn.f16x2.f32 %d, %a, %b", Type::f32, Type::f16x2},
    {"cvt.rn.bf16x2.f32 %d, %a, %b", Type::f32, Type::bf16x2},
    {"cvt.rn.relu.f16x2.f32 %d, %a, %b", Type::f32, Type::f16x2},
};

constexpr const char* comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

constexpr unsigned rounds = 64;  // of a warp's operands

std::string bits_type(Type t) { return ".b" + std::to_string(isa::bits(t)); }

// `lanes` of a warp do it with operands from memory.
std::string text_of(const std::string& line, Type operand, Type result) {
    const std::string from = bits_type(operand);
    const std::string to = bits_type(result);
    const std::string size = std::to_string(isa::bits(operand) / 8);
    return ".version 8.6\n.target sm_90\n.address_size 64\n"
           ".entry k(.param .u64 in, .param .u64 out, .param .u32 lanes) {\n"
           ".reg " +
           from + " %a, %b, %c;\n.reg " + to +
           " %d;\n.reg .u32 %r<9>;\n"
           ".reg .u64 %rd<9>;\n.reg .pred %p, %q;\n"
           "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r3, [lanes];\n"
           "mov.u32 %r1, %laneid;\nshr.u32 %r4, %r3, %r1;\nand.b32 %r4, %r4, 1;\n"
           "setp.ne.u32 %q, %r4, 0;\n"
           "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 32, %r1;\n"
           "mul.lo.u32 %r1, %r1, 24;\n"
           "cvt.u64.u32 %rd3, %r1;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\n"
           "ld.global" +
           from + " %a, [%rd1];\nld.global" + from +
           " %b, [%rd1+8];\n"
           "ld.global" +
           from + " %c, [%rd1+16];\nmov" + to +
           " %d, 0;\n"
           "@%q " +
           line + ";\nst.global" + to + " [%rd2], %d;\nret;\n}\n";
}

// Tame ones are none of the special numbers, of which fast paths may be wary.
uint64_t operand_of(Type t, bool tame, num::testing::Random& random) {
    if (!isa::is_float(t)) {
        constexpr uint64_t marks[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
        return !tame && random() % 4 == 0 ? marks[random() % std::size(marks)] : random();
    }
    const std::vector<uint64_t> marks = num::testing::landmarks(t);
    uint64_t v = random() % 2 == 0 ? num::testing::random_operand(t, random)
                                   : random() >> (64 - isa::bits(t));
    if (!tame && random() % 4 == 0) v = marks[random() % marks.size()];
    const uint64_t top = uint64_t{1} << (isa::bits(t) - 2);  // of the exponent
    return tame ? (v & ~top) + (top >> 2) : v;
}

Bytes operands_of(Type t) {
    num::testing::Random random(41);
    Bytes out(size_t{rounds} * 32 * 24);
    const Type element = isa::element_of(t);
    for (size_t i = 0; i < out.size(); i += 8) {
        const bool tame = i / 24 / 32 % 4 != 0;
        uint64_t v = operand_of(element, tame, random);
        if (element != t) v |= operand_of(element, tame, random) << isa::bits(element);
        std::memcpy(out.data() + i, &v, isa::bits(t) / 8);
    }
    return out;
}

Bytes results_of_line(const isa::Program& program, Bytes in, uint32_t lanes, bool plain) {
    Bytes out(in.size());
    warp::Launch l;
    l.grid.x = rounds;
    l.block.x = 32;
    l.threads = 1;
    l.plain_arithmetic = plain;
    l.buffers = {{"in", buffer_address(0), in}, {"out", buffer_address(1), out}};
    append(l.parameters, buffer_address(0));
    append(l.parameters, buffer_address(1));
    append(l.parameters, lanes);
    const warp::Result r = launch(program, l);
    EXPECT_EQ(fault_of(r), "");
    return out;
}

void expect_same(const std::string& line, Type operand, Type result) {
    const isa::Program program = program_of(text_of(line, operand, result), isa::Arch::sm_90);
    const Bytes in = operands_of(operand);
    for (const uint32_t lanes : {~0u, 0x5a5a00ffu}) {
        const Bytes plain = results_of_line(program, in, lanes, true);
        EXPECT_EQ(results_of_line(program, in, lanes, false), plain) << line << ' ' << lanes;
        EXPECT_NE(plain, Bytes(plain.size())) << line;
    }
}

TEST(FastPaths, GiveTheBitsOfTheDefinitions) {
    for (const Line& l : lines) expect_same(l.text, l.operand, l.result);
}

// From each type to each, in registers of every width that they go into.
TEST(FastPaths, CutAndExtendIntegers) {
    constexpr Type registers[] = {Type::b16, Type::b32, Type::b64};
    constexpr Type integers[] = {Type::u8,  Type::s8,  Type::u16, Type::s16,
                                 Type::u32, Type::s32, Type::u64, Type::s64};
    for (const Type from : integers)
        for (const Type to : integers)
            for (const Type source : registers)
                for (const Type result : registers) {
                    if (isa::bits(source) < isa::bits(from) || isa::bits(result) < isa::bits(to))
                        continue;
                    expect_same("cvt" + std::string(isa::row(to).name) +
                                    std::string(isa::row(from).name) + " %d, %a",
                                source, result);
                }
    expect_same("cvt.sat.u8.s32 %d, %a", Type::b32, Type::b16);
}

TEST(FastPaths, CompareAsTheDefinition) {
    struct Compared {
        const char* type;
        Type operand;
        const char* results;  // .f16 and .bf16 have one
    };
    constexpr Compared all[] = {
        {".f32", Type::f32, "%p|%q"},      {".ftz.f32", Type::f32, "%p|%q"},
        {".f64", Type::f64, "%p|%q"},      {".f16", Type::f16, "%p"},
        {".ftz.f16", Type::f16, "%p"},     {".bf16", Type::bf16, "%p"},
        {".f16x2", Type::f16x2, "%p|%q"},  {".ftz.f16x2", Type::f16x2, "%p|%q"},
        {".bf16x2", Type::bf16x2, "%p|%q"}};
    for (const std::string how : comparisons)
        for (const Compared& each : all)
            expect_same("setp." + how + ".and" + each.type + " " + each.results +
                            ", %a, %b, %q;\nselp.b32 %d, 1, 2, %p;\n@%q add.u32 %d, %d, 4",
                        each.operand, Type::u32);
}

// As a program may set it that is compiled with -ffast-math: a launch has its own, and gives back
// the program's.
TEST(FastPaths, DoNotTakeTheProgramsFloatingPointEnvironment) {
    for (const Line& l : lines) {
        const isa::Program program =
            program_of(text_of(l.text, l.operand, l.result), isa::Arch::sm_90);
        const Bytes in = operands_of(l.operand);
        const Bytes expected = results_of_line(program, in, ~0u, false);
        std::fenv_t before;
        std::fegetenv(&before);
        std::fesetround(FE_UPWARD);
#ifdef __SSE__
        const unsigned flush_to_zero_and_denormals_are_zeros = 0x8040;
        _mm_setcsr(_mm_getcsr() | flush_to_zero_and_denormals_are_zeros);
#endif
        const Bytes got = results_of_line(program, in, ~0u, false);
        const int rounding = std::fegetround();
#ifdef __SSE__
        const unsigned left = _mm_getcsr() & flush_to_zero_and_denormals_are_zeros;
#endif
        std::fesetenv(&before);
        EXPECT_EQ(rounding, FE_UPWARD);
#ifdef __SSE__
        EXPECT_EQ(left, flush_to_zero_and_denormals_are_zeros);
#endif
        EXPECT_EQ(got, expected) << l.text;
    }
}

}  // namespace
}  // namespace lockwarp::exec::fast_paths_test
