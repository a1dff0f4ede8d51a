// SPDX-License-Identifier: Apache-2.0
// Names become slots, variables get their places, initialisers their bytes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/cpu_time.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa::resolve_test {
namespace {

uint64_t bytes_at(const std::vector<uint8_t>& image, size_t at, size_t count) {
    uint64_t value = 0;
    if (at + count > image.size()) {
        ADD_FAILURE() << at << " + " << count << " is past " << image.size();
        return 0;
    }
    std::memcpy(&value, image.data() + at, count);
    return value;
}

const Placed& variable(const Program& p, std::string_view name) {
    static const Placed none{};
    for (const Placed& v : p.variables)
        if (v.name == name) return v;
    ADD_FAILURE() << "no variable " << name;
    return none;
}

uint64_t constant_of(const Program& p, Ref ref) {
    for (const Constant& c : p.constants)
        if (c.ref == ref) return c.value;
    ADD_FAILURE() << "no constant at " << ref;
    return 0;
}

double seconds_of(const std::string& text, Resolved& out) {
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_EQ(messages(parsed.diagnostics), "");
    const double begin = cpu_seconds();
    out = resolve(parsed.module, Arch::sm_90, "");
    return cpu_seconds() - begin;
}

TEST(Resolve, RegistersOfARangeExistWhereTheyAreNamed) {
    const Program p = program_of(".reg .b32 %r<1048576>;\nadd.s32 %r7, %r1048575, %r0;");
    ASSERT_EQ(p.registers.size(), 3u);
    EXPECT_EQ(p.registers[0].name, "%r7");
    EXPECT_EQ(p.registers[1].name, "%r1048575");
    EXPECT_LT(p.register_bytes, 4096u);
    EXPECT_EQ(errors_of(".reg .b32 %r<4>;\nadd.s32 %r3, %r0, %r4;"),
              "7:19: Unknown symbol '%r4'\n");
    EXPECT_EQ(errors_of(".reg .b32 %r<4>;\nadd.s32 %r3, %r0, %r99999999999;"),
              "7:19: Unknown symbol '%r99999999999'\n");
}

// As Triton writes it; ptxas accepts it.
TEST(Resolve, ARegisterMayHaveTheNameOfARange) {
    const Program p = program_of(
        ".reg .b32 sign, sign<2>;\nadd.s32 sign, sign0, sign1;\n"
        "{ .reg .b64 sign<1>; mov.u64 sign0, 5; }");
    ASSERT_EQ(p.registers.size(), 4u);
    EXPECT_EQ(p.registers[0].name, "sign");
    EXPECT_EQ(p.registers[1].name, "sign0");
    EXPECT_EQ(p.registers[2].name, "sign1");
    EXPECT_EQ(p.registers[3].type, Type::b64);
    EXPECT_EQ(errors_of(".reg .b32 a<2>, b;\nadd.s32 a0, a, b;"), "7:13: Unknown symbol 'a'\n");
}

TEST(Resolve, SlotsDoNotOverlap) {
    const Program p = program_of(
        ".reg .pred %p<3>; .reg .b64 %d<3>; .reg .b16 %h<3>; .reg .b32 %r<3>;\n"
        "setp.eq.b32 %p1, %r1, %r2;\nadd.s64 %d1, %d2, 5;\nadd.s16 %h1, %h2, 5;\n"
        "@%p1 add.s32 %r1, %r2, 5;\nmov.u32 %r0, %tid.x;");
    std::vector<std::pair<Ref, uint32_t>> slots;
    for (const Register& r : p.registers)
        slots.emplace_back(r.ref, r.type == Type::pred ? 4 : bits(r.type) == 64 ? 256 : 128);
    for (const Constant& c : p.constants) slots.emplace_back(c.ref, c.width == 64 ? 256 : 128);
    for (const SpecialUse& s : p.specials) slots.emplace_back(s.ref, 128);
    std::ranges::sort(slots);
    EXPECT_GE(slots.front().first, first_free_byte);
    for (size_t i = 1; i < slots.size(); ++i)
        EXPECT_GE(slots[i].first, slots[i - 1].first + slots[i - 1].second);
    EXPECT_LE(slots.back().first + slots.back().second, p.register_bytes);
}

TEST(Resolve, AnInnerScopeHidesAnOuterName) {
    const Program p = program_of(
        ".reg .b32 a, b;\nmov.b32 a, 1;\n{ .reg .b32 a;\nmov.b32 a, 2;\nmov.b32 b, 3; }\n"
        "mov.b32 a, 4;");
    ASSERT_GE(p.operations.size(), 4u);
    EXPECT_EQ(p.operations[0].r[0], p.operations[3].r[0]);
    EXPECT_NE(p.operations[0].r[0], p.operations[1].r[0]);
    EXPECT_NE(p.operations[2].r[0], p.operations[1].r[0]);
    EXPECT_EQ(errors_of("{ .reg .b32 c; }\nmov.b32 c, 1;"), "7:9: Unknown symbol 'c'\n");
}

TEST(Resolve, LabelsOfNestedScopes) {
    const Program p = program_of(
        "top: bra down;\n{ bra top;\nbra in;\nin: bra out;\n}\nout: ret;\n{ in: bra in; }\ndown: "
        "ret;");
    const auto& o = p.operations;
    ASSERT_EQ(o.size(), 8u);
    EXPECT_EQ(o[0].target, 6u);
    EXPECT_EQ(o[1].target, 0u);
    EXPECT_EQ(o[2].target, 3u);
    EXPECT_EQ(o[3].target, 4u);
    EXPECT_EQ(o[5].target, 5u);
    EXPECT_EQ(errors_of("bra in;\n{ in: ret; }"), "6:5: Unknown symbol 'in'\n");
}

TEST(Resolve, ALabelAtTheEndIsTheFinalExit) {
    const Program p = program_of("bra end;\nend:");
    ASSERT_EQ(p.operations.size(), 2u);
    EXPECT_EQ(p.operations[0].target, 1u);
    EXPECT_EQ(p.operations[1].op, Op::exit);
}

TEST(Resolve, VectorRegisters) {
    const Program p = program_of(
        ".reg .v4 .f32 v; .reg .b64 a; .reg .f32 f;\nld.global.v4.f32 v, [a];\nadd.f32 f, v.x, "
        "v.w;");
    const VectorRef v = p.operations[0].vector[0];
    ASSERT_EQ(v.count, 4u);
    EXPECT_EQ(p.operations[1].r[1], p.pool[v.first]);
    EXPECT_EQ(p.operations[1].r[2], p.pool[v.first + 3]);
}

TEST(Resolve, AVariableGivesItsStateSpaceToAnAddress) {
    for (const auto& [name, space] :
         {std::pair{"global", ptx::Space::global}, std::pair{"shared", ptx::Space::shared},
          std::pair{"const", ptx::Space::const_}}) {
        const std::string v = "." + std::string(name) + " .align 4 .b32 v;";
        EXPECT_EQ(errors_of(".reg .b32 r;\nld.u32 r, [v];", v), "") << name;
        const Program p = program_of(".reg .b32 r;\nld.u32 r, [v];", v);
        EXPECT_EQ(p.operations[0].mod.space, space) << name;
    }
}

TEST(Resolve, VectorRegistersHaveAsManyAsAreAsked) {
    const auto load = [](const std::string& declared, const std::string& vector) {
        return errors_of(".reg ." + declared + " v; .reg .b64 a;\nld.global" + vector + " v, [a];");
    };
    EXPECT_EQ(load("v2 .b32", ".v2.b32"), "");
    EXPECT_EQ(load("v4 .b32", ".v4.b32"), "");
    EXPECT_NE(load("v2 .b32", ".v4.b32"), "");
    EXPECT_NE(load("v4 .b32", ".v2.b32"), "");
    EXPECT_NE(load("v2 .b16", ".v2.b32"), "");
    EXPECT_NE(load("v2 .f32", ".v2.f64"), "");
}

// A register of 32 bits takes 128 bytes and one of 64 bits 256, each at a multiple of 64; a
// predicate takes 4.
TEST(Resolve, RegistersLieCloseTogether) {
    const auto bytes = [](const std::string& body) { return program_of(body).register_bytes; };
    const std::string three = ".reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p<4>;";
    const uint32_t words = bytes(three + "add.u32 %r0, %r1, %r2;");
    const uint32_t one = bytes(three + "add.u32 %r0, %r0, %r0;");
    EXPECT_EQ(words - one, 2u * 128);
    EXPECT_EQ(bytes(three + "add.u64 %d0, %d1, %d2;") - bytes(three + "add.u64 %d0, %d0, %d0;"),
              2u * 256);
    EXPECT_EQ(bytes(three + "and.pred %p0, %p1, %p2;") - bytes(three + "and.pred %p0, %p0, %p0;"),
              2u * 4);
    EXPECT_EQ(bytes(three + "and.pred %p0, %p0, %p0; add.u32 %r0, %r1, %r2;"),
              64 + bytes(three + "add.u32 %r0, %r1, %r2;"));
}

TEST(Resolve, Parameters) {
    const Resolved r = resolved(
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u8 a, .param .f64 b, "
        ".param .align 16 .b8 c[20], .param .u16 d, .param .v2 .f32 e) {\n.reg .f64 %d<2>; .reg "
        ".b16 %h<2>;\nld.param.f64 %d1, [b];\nld.param.u16 %h1, [d+0];\nld.param.u8 %h1, "
        "[c+19];\n}",
        Arch::sm_90);
    ASSERT_EQ(messages(r.diagnostics), "");
    const auto& p = r.program.parameters;
    ASSERT_EQ(p.size(), 5u);
    const std::array<std::array<uint32_t, 3>, 5> expected{
        {{0, 1, 1}, {8, 8, 8}, {16, 20, 16}, {36, 2, 2}, {40, 8, 8}}};
    for (size_t i = 0; i < p.size(); ++i) {
        EXPECT_EQ(p[i].offset, expected[i][0]) << p[i].name;
        EXPECT_EQ(p[i].bytes, expected[i][1]) << p[i].name;
        EXPECT_EQ(p[i].alignment, expected[i][2]) << p[i].name;
        EXPECT_EQ(p[i].is_array, i == 2) << p[i].name;
    }
    EXPECT_EQ(r.program.parameter_bytes, 48u);
    EXPECT_EQ(r.program.operations[0].address[0].offset, 8);
    EXPECT_EQ(r.program.operations[1].address[0].offset, 36);
    EXPECT_EQ(r.program.operations[2].address[0].offset, 35);
}

TEST(Resolve, SharedVariablesAndDynamicSharedMemory) {
    const Program p = program_of(
        ".shared .b8 a[3]; .shared .b64 b; .shared .align 128 .b8 c[4];\n.reg .u32 r;\nmov.u32 r, "
        "dyn;\n{ .shared .b8 late[5]; mov.u32 r, late; mov.u32 r, c; mov.u32 r, b; mov.u32 r, a; }",
        ".extern .shared .align 32 .b8 dyn[];");
    const uint64_t base = row(Arch::sm_90).shared_base;
    EXPECT_EQ(p.shared_begin, base);
    EXPECT_EQ(variable(p, "a").address, base);
    EXPECT_EQ(variable(p, "b").address, base + 8);
    EXPECT_EQ(variable(p, "c").address, base + 128);
    EXPECT_EQ(variable(p, "late").address, base + 132);
    EXPECT_EQ(variable(p, "dyn").address, base + 160);
    EXPECT_EQ(p.shared_static, 160u);
    EXPECT_EQ(constant_of(p, first_of(p, Op::mov).r[1]), base + 160);
}

// ptxas 13.0 for sm_80 ignores an .extern that nothing defines, and says so.
TEST(Resolve, ExternSharedVariablesWithASizeLieAmongTheOthers) {
    const Program p = program_of(
        ".reg .u32 r;\nmov.u32 r, own; mov.u32 r, sized; mov.u32 r, first; mov.u32 r, last; "
        "mov.u32 r, dyn;",
        ".shared .align 4 .b8 own[36]; .visible .shared .align 4 .b8 first[20]; "
        ".extern .shared .align 8 .b8 sized[260]; .extern .shared .align 8 .b8 sized[260]; "
        ".visible .shared .align 4 .b8 last[12]; .extern .shared .align 16 .b8 dyn[];");
    const uint64_t base = row(Arch::sm_90).shared_base;
    EXPECT_EQ(variable(p, "first").address, base);
    EXPECT_EQ(variable(p, "sized").address, base + 24);
    EXPECT_EQ(variable(p, "sized").bytes, 260u);
    EXPECT_EQ(variable(p, "last").address, base + 284);
    EXPECT_EQ(variable(p, "own").address, base + 296);
    EXPECT_EQ(variable(p, "dyn").address, base + 336);
    EXPECT_EQ(p.shared_static, 336u);
}

TEST(Resolve, LocalVariables) {
    const Program p =
        program_of(".local .b8 a[3]; .local .align 16 .b8 b[4]; .reg .u64 r;\nmov.u64 r, b+2;");
    EXPECT_EQ(variable(p, "b").address, 16u);
    EXPECT_EQ(p.local_bytes, 32u);
    EXPECT_EQ(constant_of(p, p.operations[0].r[1]), 18u);
}

// The address in its own space: cvta makes the generic one of it where it runs.
TEST(Resolve, AddressesOfVariablesForCvta) {
    const Program p = program_of(
        ".shared .b32 s; .local .b32 l; .reg .u64 r<4>;\ncvta.shared.u64 r0, s;\ncvta.local.u64 "
        "r1, l;\ncvta.const.u64 r2, c;\ncvta.global.u64 r3, g;",
        ".const .b32 c; .global .b32 g;");
    EXPECT_EQ(constant_of(p, p.operations[0].r[1]), row(Arch::sm_90).shared_base);
    EXPECT_EQ(constant_of(p, p.operations[1].r[1]), 0u);
    EXPECT_EQ(constant_of(p, p.operations[2].r[1]), 0u);
    EXPECT_EQ(constant_of(p, p.operations[3].r[1]), module_global_base);
}

TEST(Resolve, Initialisers) {
    const Program p = program_of(
        "ret;",
        ".const .b32 c[2] = {7, 8}; .global .b8 a[3] = {1, 255, -1}; .global .f32 f[4] = {1.5, "
        "0f40000000, 3}; .global .f64 d = 0.1; .global .u16 m[2][2] = {{1, 2}, {3, 4}}; .global "
        ".s64 n = -2; .global .b64 pa = f+4; .global .b64 pc = generic(c); .global .b64 plain = "
        "c; .global .f64 e[2] = {5, -3};");
    const auto at = [&](std::string_view name) {
        return static_cast<size_t>(variable(p, name).address - module_global_base);
    };
    const auto& g = p.global_image;
    EXPECT_EQ(bytes_at(g, at("a"), 3), 0xffff01u);
    EXPECT_EQ(bytes_at(g, at("f"), 4), std::bit_cast<uint32_t>(1.5f));
    EXPECT_EQ(bytes_at(g, at("f") + 4, 4), std::bit_cast<uint32_t>(2.0f));
    EXPECT_EQ(bytes_at(g, at("f") + 8, 4), std::bit_cast<uint32_t>(3.0f));
    EXPECT_EQ(bytes_at(g, at("f") + 12, 4), 0u);
    EXPECT_EQ(bytes_at(g, at("d"), 8), std::bit_cast<uint64_t>(0.1));
    EXPECT_EQ(bytes_at(g, at("e"), 8), std::bit_cast<uint64_t>(5.0));
    EXPECT_EQ(bytes_at(g, at("e") + 8, 8), std::bit_cast<uint64_t>(-3.0));
    EXPECT_EQ(bytes_at(g, at("m"), 8), 0x0004000300020001u);
    EXPECT_EQ(bytes_at(g, at("n"), 8), static_cast<uint64_t>(-2));
    EXPECT_EQ(bytes_at(g, at("pa"), 8), variable(p, "f").address + 4);
    EXPECT_EQ(bytes_at(g, at("pc"), 8), const_window + variable(p, "c").address);
    EXPECT_EQ(bytes_at(g, at("plain"), 8), variable(p, "c").address);
    EXPECT_EQ(bytes_at(p.const_image, 0, 8), 0x0000000800000007u);
}

// As ptxas 13.0 puts them, for sm_80 and sm_90 alike: without initial values and with, apart.
TEST(Resolve, GlobalVariablesLieWherePtxasPutsThem) {
    const Program p = program_of(
        "ret;",
        ".global .align 4 .b8 a[4]; .global .align 4 .b8 b[1024]; .global .align 8 .b8 c[8]; "
        ".global .align 4 .b8 d[12]; .global .align 1 .b8 f[3]; .global .align 4 .b8 m[8] = {1}; "
        ".global .align 4 .b8 e[256]; .global .align 1 .b8 q[5] = {1}; .global .align 2 .b8 g[6]; "
        ".global .align 8 .b8 p[16] = {1}; .global .align 64 .b8 h[36]; .global .align 1 .b8 "
        "i[36]; "
        ".global .align 8 .b8 r[256] = {1};");
    const auto from = [&](std::string_view first, std::string_view name) {
        return variable(p, name).address - variable(p, first).address;
    };
    const std::vector<std::pair<std::string, uint64_t>> plain{
        {"h", 0},     {"c", 0x28},  {"a", 0x30},  {"d", 0x34}, {"e", 0x40},
        {"b", 0x140}, {"g", 0x540}, {"f", 0x546}, {"i", 0x549}};
    for (const auto& [name, at] : plain) EXPECT_EQ(from("h", name), at) << name;
    const std::vector<std::pair<std::string, uint64_t>> with_values{
        {"p", 0}, {"r", 0x10}, {"m", 0x110}, {"q", 0x118}};
    for (const auto& [name, at] : with_values) EXPECT_EQ(from("p", name), at) << name;
    EXPECT_EQ(variable(p, "h").address % 64, 0u);
    EXPECT_EQ(p.global_image[variable(p, "q").address - module_global_base], 1);
}

TEST(Resolve, EntriesByNameAndMangledName) {
    const std::string text =
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry _Z5scalePfi() {}\n.entry "
        "_ZN2ns4copyEv() {}\n.entry plain() {}\n.entry declared();\n";
    for (const auto& [name, full] : {std::pair{"scale", "_Z5scalePfi"},
                                     {"copy", "_ZN2ns4copyEv"},
                                     {"plain", "plain"},
                                     {"_Z5scalePfi", "_Z5scalePfi"}}) {
        const Resolved r = resolved(text, Arch::sm_90, name);
        EXPECT_EQ(messages(r.diagnostics), "");
        EXPECT_EQ(r.program.entry, full);
    }
    EXPECT_FALSE(resolved(text, Arch::sm_90, "scal").diagnostics.empty());
    EXPECT_FALSE(resolved(text, Arch::sm_90, "declared").diagnostics.empty());
    EXPECT_EQ(entries(ptx::parse(text).module),
              (std::vector<std::string>{"_Z5scalePfi", "_ZN2ns4copyEv", "plain"}));
    // Lengths that lie in a mangled name must not be believed.
    for (const char* bad : {"_Z", "_Z9a", "_Z99999999999999999999999a", "_ZN", "_ZN3", "_Z0"}) {
        const Resolved r = resolved(
            ".version 9.0\n.target sm_90\n.address_size 64\n.entry " + std::string(bad) + "() {}\n",
            Arch::sm_90, bad);
        EXPECT_EQ(messages(r.diagnostics), "") << bad;
    }
}

TEST(Resolve, BlockSizesThatTheKernelAsksFor) {
    const Resolved r = resolved(
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k() .maxntid 128, 2 .reqntid 64 {}",
        Arch::sm_90);
    EXPECT_EQ(r.program.maximum_block, (std::array<uint32_t, 3>{128, 2, 1}));
    EXPECT_EQ(r.program.required_block, (std::array<uint32_t, 3>{64, 1, 1}));
}

TEST(Resolve, WrittenRegistersStandBeforeReadOnes) {
    const Program p = program_of(".reg .b32 a, b, c;\nadd.s32 a, b, c;");
    const Operation& o = p.operations[0];
    ASSERT_EQ(o.written, 1);
    ASSERT_EQ(o.read, 2);
    EXPECT_EQ(p.registers[p.uses[o.first_use]].name, "a");
    EXPECT_EQ(p.registers[p.uses[o.first_use + 1]].name, "b");
    EXPECT_EQ(p.registers[p.uses[o.first_use + 2]].name, "c");
}

TEST(Resolve, CachePoliciesAreCheckedAndHaveNoSlot) {
    constexpr std::string_view begin = ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n";
    const std::string copy = std::string(begin) + "cp.async.cg.shared.global.L2::cache_hint ";
    const auto count = [](const Program& p) { return first_of(p, Op::cp_async).vector[0].count; };
    EXPECT_EQ(count(program_of(copy + "[%r1], [%rd1], 16, %rd2;")), 0u);
    EXPECT_EQ(errors_of(copy + "[%r1], [%rd1], 16, %r4, %rd2;"), "");
    EXPECT_NE(errors_of(copy + "[%r1], [%rd1], 16;"), "");
    EXPECT_NE(errors_of(std::string(begin) + "ld.global.b32 %r1, [%rd1], %rd2;"), "");
    EXPECT_NE(errors_of(std::string(begin) + "ld.global.L2::cache_hint.b32 %r1, [%rd1];"), "");
    EXPECT_EQ(errors_of(std::string(begin) + "ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;"),
              "");
    EXPECT_EQ(errors_of(std::string(begin) + "ld.global.L2::cache_hint.b32 %r1, [%rd1], %r2;"),
              "7:43: Arguments mismatch for instruction 'ld' ('%r2' is a .b32 register, the "
              "instruction has .b64)\n");
}

TEST(Resolve, ManyInstructionsInOneBlock) {
    std::string body = ".reg .b32 %r<16>;\n";
    for (int i = 0; i < 100000; ++i) body += "add.s32 %r1, %r2, 5;\n";
    Resolved r;
    EXPECT_LT(seconds_of(module_of(body), r), 2.0);
    EXPECT_EQ(r.program.operations.size(), 100001u);
}

TEST(Resolve, ManyRegisters) {
    std::string body = ".reg .b32 %r<300000>;\n";
    for (int i = 0; i < 300000; ++i)
        body += "mov.b32 %r" + std::to_string(i) + ", %r" + std::to_string(i) + ";\n";
    Resolved r;
    EXPECT_LT(seconds_of(module_of(body), r), 4.0);
    EXPECT_EQ(messages(r.diagnostics), "");
    // Two million would need more than a machine has.
    std::string more;
    for (int i = 0; i < 600000; ++i) more += "mov.b64 %d" + std::to_string(i) + ", 0;\n";
    EXPECT_LT(seconds_of(module_of(".reg .b64 %d<600000>;\n" + more), r), 8.0);
    EXPECT_EQ(messages(r.diagnostics), "5:8: The kernel has too many registers\n");
}

TEST(Resolve, DeeplyNestedScopes) {
    std::string body;
    for (int i = 0; i < 150; ++i) body += "{ .reg .b32 a" + std::to_string(i) + ";\n";
    for (int i = 0; i < 2000; ++i) body += "mov.b32 a0, a149;\n";
    for (int i = 0; i < 150; ++i) body += "}\n";
    Resolved r;
    EXPECT_LT(seconds_of(module_of(body), r), 4.0);
    EXPECT_EQ(messages(r.diagnostics), "");
}

}  // namespace
}  // namespace lockwarp::isa::resolve_test
