// SPDX-License-Identifier: Apache-2.0
// Operands: every type of register and of constant where an instruction has a type, constants at
// the edges of what the assembler takes, and the words for what it does not take.
#include <algorithm>
#include <bit>

#include "emu/isa/nearest.hpp"
#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// The first message about an instruction among instances' registers, with its hint; "" where it is
// taken.
std::string answer(const std::string& instruction, std::string_view target = "sm_90") {
    const Resolved r = resolved(module_with({instruction}, target, "9.0"), Arch::sm_90);
    if (r.diagnostics.empty()) return "";
    const ptx::Diagnostic& d = r.diagnostics[0];
    return d.message + (d.hint.empty() ? "" : " (" + d.hint + ")");
}

constexpr std::array types{Type::b16, Type::u16, Type::s16, Type::b32, Type::u32, Type::s32,
                           Type::f32, Type::b64, Type::u64, Type::s64, Type::f64};
constexpr std::array registers{Type::pred, Type::b16, Type::u16, Type::s16,   Type::f16,
                               Type::b32,  Type::u32, Type::s32, Type::f16x2, Type::f32,
                               Type::b64,  Type::u64, Type::s64, Type::f64};

std::string name(Type t) { return std::string(row(t).name); }
std::string reg(Type t, int n) { return "%" + name(t).substr(1) + "_" + std::to_string(n); }

// PTX manual, "Operand Type Checking Rules": bits agree with everything of their size, integers
// with integers, floats with their own type alone.
bool agree(Type a, Type b) {
    if (a == Type::pred || b == Type::pred) return a == b;
    const Kind x = row(a).kind, y = row(b).kind;
    if (x == Kind::bits || y == Kind::bits) return true;
    return x == Kind::floating || y == Kind::floating ? a == b : true;
}

TEST(Operands, RegistersOfEveryTypeForEveryType) {
    size_t taken = 0, refused = 0;
    for (const Type t : types)
        for (const Type r : registers) {
            const bool fits = bits(r) == bits(t) && agree(r, t);
            // A load and a store take a register that is wider than what they move.
            const bool holds = r != Type::pred && bits(r) >= bits(t) && agree(r, t);
            const std::string own = reg(t, 1), other = reg(r, 2);
            const std::pair<std::string, bool> rows[] = {
                {"selp" + name(t) + " " + other + ", " + own + ", " + own + ", %pred_1;", fits},
                {"selp" + name(t) + " " + own + ", " + other + ", " + own + ", %pred_1;", fits},
                {"selp" + name(t) + " " + own + ", " + own + ", " + other + ", %pred_1;", fits},
                {"mov" + name(t) + " " + own + ", " + other + ";", fits},
                {"mov" + name(t) + " " + other + ", " + own + ";", fits},
                {"ld.global" + name(t) + " " + other + ", [%u64_1];", holds},
                {"st.global" + name(t) + " [%u64_1], " + other + ";", holds},
                {"ld.global.v2" + name(t) + " {" + own + ", " + other + "}, [%u64_1];", holds},
            };
            for (const auto& [text, good] : rows) {
                const std::string opcode = text.substr(0, text.find('.'));
                EXPECT_EQ(answer(text), good
                                            ? ""
                                            : "Arguments mismatch for instruction '" + opcode +
                                                  "' ('" + other + "' is a " + name(r) +
                                                  " register, the instruction has " + name(t) + ")")
                    << text;
                ++(good ? taken : refused);
            }
        }
    EXPECT_GT(taken, 200u);
    EXPECT_GT(refused, 400u);
    for (const Type r : registers) {
        EXPECT_EQ(answer("selp.b32 %b32_1, %b32_2, %b32_3, " + reg(r, 1) + ";").empty(),
                  r == Type::pred);
        for (const std::string opcode : {"cvta.to.global.u64", "mapa.shared::cluster.u32"}) {
            const Type t = opcode.ends_with("64") ? Type::u64 : Type::u32;
            const std::string behind = opcode.starts_with("mapa") ? ", %u32_3;" : ";";
            EXPECT_EQ(answer(opcode + " " + reg(t, 1) + ", " + reg(r, 2) + behind).empty(),
                      bits(r) == bits(t) && agree(r, t))
                << opcode << ' ' << name(r);
        }
    }
}

uint64_t constant_of(const Program& p, Ref ref) {
    for (const Constant& c : p.constants)
        if (c.ref == ref) return c.value;
    ADD_FAILURE() << "no constant at " << ref;
    return 0;
}

// What selp has as its second operand.
uint64_t value_of(Type t, const std::string& literal) {
    const std::string own = reg(t, 1);
    const Resolved r = resolved(
        module_with({"selp" + name(t) + " " + own + ", " + literal + ", " + own + ", %pred_1;"},
                    "sm_90", "9.0"),
        Arch::sm_90);
    EXPECT_EQ(messages(r.diagnostics), "") << name(t) << " " << literal;
    return constant_of(r.program, first_of(r.program, Op::selp).r[1]);
}

TEST(Operands, ConstantsOfEveryTypeForEveryType) {
    for (const Type t : types) {
        const std::string own = reg(t, 1);
        const auto takes = [&](const std::string& literal) {
            return answer("selp" + name(t) + " " + own + ", " + own + ", " + literal + ", %pred_1;")
                .empty();
        };
        const bool is_bits = row(t).kind == Kind::bits;
        const uint64_t all = bits(t) == 64 ? UINT64_MAX : (uint64_t{1} << bits(t)) - 1;
        EXPECT_EQ(takes("5"), !is_float(t)) << name(t);
        EXPECT_EQ(takes("0f40400000"), is_float(t) || (is_bits && bits(t) >= 32)) << name(t);
        EXPECT_EQ(takes("1.5"), is_float(t) || t == Type::b64) << name(t);
        EXPECT_FALSE(takes("%tid.x")) << name(t);
        EXPECT_FALSE(takes("sh")) << name(t);
        EXPECT_FALSE(takes("_")) << name(t);
        EXPECT_FALSE(takes("{" + own + "}")) << name(t);
        EXPECT_FALSE(takes("[" + own + "]")) << name(t);
        EXPECT_FALSE(takes("!%pred_1")) << name(t);
        if (!is_float(t)) {
            EXPECT_EQ(value_of(t, "-1"), all) << name(t);
            EXPECT_EQ(value_of(t, "0x123456789abcdef0"), 0x123456789abcdef0 & all) << name(t);
            EXPECT_EQ(value_of(t, "0"), 0u) << name(t);
        }
    }
    EXPECT_EQ(value_of(Type::f32, "1.5"), 0x3fc00000u);
    EXPECT_EQ(value_of(Type::f32, "0d3ff8000000000000"), 0x3fc00000u);
    EXPECT_EQ(value_of(Type::f32, "0f40400000"), 0x40400000u);
    EXPECT_EQ(value_of(Type::f64, "1.5"), 0x3ff8000000000000u);
    EXPECT_EQ(value_of(Type::f64, "0f3fc00000"), 0x3ff8000000000000u);
    EXPECT_EQ(value_of(Type::b64, "1.5"), 0x3ff8000000000000u);
    EXPECT_EQ(value_of(Type::b32, "0f3fc00000"), 0x3fc00000u);
}

// A constant among elements, as ptxas 13.0 encodes it: st converts to its type, others take the
// literal's own bits.
TEST(Operands, ConstantsAmongElements) {
    const std::string c = ", {%f32_1, %f32_2, %f32_3, ", tail = "};";
    const std::string mma =
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f32_4, _, %f32_5, _}, {%b32_1, "
        "%b32_2, %b32_3, %b32_4}, {%b32_5, %b32_6}";
    const std::string half =
        "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%b32_1, %b32_2, %b32_3, %b32_4}, "
        "{%b32_1, %b32_2, %b32_3, %b32_4, %b32_1, %b32_2, %b32_3, %b32_4}, {%b32_1, %b32_2, "
        "%b32_3, %b32_4, %b32_1, %b32_2, %b32_3, %b32_4}, {%b32_1, %b32_2, %b32_3, ";
    const struct {
        std::string before, literal;
        Op op;
        size_t vector, element;
        uint64_t value;
    } rows[] = {
        {mma + c, "0.", Op::mma, 3, 3, 0},
        {mma + c, "0f3f9abcde", Op::mma, 3, 3, 0x3f9abcde},
        {mma + c, "0d3ff8123456789abc", Op::mma, 3, 3, 0x56789abc},
        {half, "0f3f9abcde", Op::wmma_mma, 3, 3, 0x3f9abcde},
        {half, "0d3ff8123456789abc", Op::wmma_mma, 3, 3, 0x56789abc},
        {"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%u32_1], {%b32_1, ", "0d3ff8123456789abc",
         Op::stmatrix, 0, 1, 0x56789abc},
        {"st.global.v2.b32 [%u64_1], {%b32_1, ", "0d3ff8123456789abc", Op::st, 0, 1, 0x56789abc},
        {"st.global.v2.u32 [%u64_1], {%u32_1, ", "0f3f9abcde", Op::st, 0, 1, 0x3f9abcde},
        {"st.global.v2.b64 [%u64_1], {%b64_1, ", "1.5", Op::st, 0, 1, 0x3ff8000000000000},
        {"st.global.v2.f32 [%u64_1], {%f32_1, ", "0d3ff8000000000000", Op::st, 0, 1, 0x3fc00000},
        {"red.global.add.v2.f32 [%u64_1], {%f32_1, ", "0d3ff8123456789abc", Op::red, 0, 1,
         0x56789abc},
        {"mov.b64 %b64_1, {%b32_1, ", "0d3ff8123456789abc", Op::mov, 1, 1, 0x56789abc},
    };
    for (const auto& [before, literal, op, vector, element, value] : rows) {
        SCOPED_TRACE(before + literal);
        const Resolved r =
            resolved(module_with({before + literal + tail}, "sm_90", "9.0"), Arch::sm_90);
        EXPECT_EQ(messages(r.diagnostics), "");
        if (!r.diagnostics.empty()) continue;
        const Operation& o = first_of(r.program, op);
        EXPECT_EQ(constant_of(r.program, r.program.pool[o.vector[vector].first + element]), value);
    }
    // Alone it is no vector's.
    EXPECT_FALSE(answer("st.global.b32 [%u64_1], 1.5;").empty());
    EXPECT_FALSE(answer("mov.b32 %b32_1, 1.5;").empty());
    EXPECT_FALSE(answer("st.global.v2.s32 [%u64_1], {%s32_1, 1.5};").empty());
}

TEST(Operands, ConstantsThatTheAssemblerLooksAt) {
    const auto value = [](int argument, const std::string& of, const std::string& what) {
        return "Argument " + std::to_string(argument) + " of instruction '" + of + "': " + what;
    };
    const auto range = [&](int argument, const std::string& of, const std::string& given,
                           const std::string& most) {
        return value(
            argument, of,
            "value '" + given + "' out of range, expected to be in range [0.." + most + "]");
    };
    const std::string fraction = "createpolicy.fractional.L2::evict_last.b64 %b64_1, ";
    const std::string policy = "createpolicy.range.L2::evict_last.b64 %b64_1, [%u64_1], ";
    const auto share = [&](const std::string& given) {
        return value(
            2, "createpolicy.fractional",
            "value '" + given + "' out of range, expected to be in range (0.000000 .. 1.000000]");
    };
    const std::string warps =
        "Number of threads participating in barrier must be in multiple of warp size";
    const auto barrier = [](const std::string& n) {
        return "Barrier number '" + n + "' out of range, expected to be in range [0..15]";
    };
    const std::string copy = "cp.async.ca.shared.global [sh], [%u64_1], ";
    const std::string whole = "cp.async.cg.shared.global [sh], [%u64_1], ";
    const std::string bulk = "cp.async.bulk.global.shared::cta.bulk_group [%u64_1], [sh], ";
    const std::string reduce =
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%u64_1], [sh], ";
    const std::string prefetch = "cp.async.bulk.prefetch.L2.global [%u64_1], ";
    const std::string sized = "unexpected value '";
    const std::pair<std::string, std::string> rows[] = {
        {fraction + "0.5;", ""},
        {fraction + "1.0;", ""},
        {fraction + "0f3f800000;", ""},
        {fraction + "0f00000001;", ""},
        {fraction + "%f32_1;", ""},
        {fraction + "0.0;", share("0.000000")},
        {fraction + "1.5;", share("1.500000")},
        {fraction + "0f40000000;", share("2.000000")},
        {policy + "64, 64;", ""},
        {policy + "0, 0;", ""},
        {policy + "63, 64;", ""},
        {policy + "65, 64;",
         value(3, "createpolicy.range",
               "value '65' must be less than or equal to the value '64' of argument 4")},
        {policy + "65, %b32_1;", ""},
        {policy + "%b32_1, 64;", ""},
        {"barrier.sync 15;", ""},
        {"barrier.sync 16;", barrier("16")},
        {"barrier.sync 15, 32;", ""},
        {"barrier.sync 0, 31;", warps},
        {"barrier.sync 0, 33;", warps},
        {"barrier.sync 0, 0;", ""},
        {"barrier.arrive 1, 64;", ""},
        {"barrier.arrive 1, 0;",
         "Instruction 'barrier.arrive' requires a non-zero thread count argument"},
        {"bar.red.popc.u32 %u32_1, 15, %pred_1;", ""},
        {"bar.red.popc.u32 %u32_1, 16, %pred_1;", barrier("16")},
        {"bar.red.popc.u32 %u32_1, 0, 32, %pred_1;", ""},
        {"bar.red.popc.u32 %u32_1, 0, 33, %pred_1;", warps},
        {"bar.red.popc.u32 %u32_1, 0, 0, %pred_1;", ""},
        {"mbarrier.test_wait.parity.shared.b64 %pred_1, [sh], 0;", ""},
        {"mbarrier.test_wait.parity.shared.b64 %pred_1, [sh], 1;", ""},
        {"mbarrier.test_wait.parity.shared.b64 %pred_1, [sh], 2;",
         value(2, "mbarrier", "unexpected value '2', expected to be 0 or 1")},
        {"mbarrier.test_wait.shared.b64 %pred_1, [sh], 2;", ""},
        {copy + "4;", ""},
        {copy + "8;", ""},
        {copy + "16;", ""},
        {copy + "0;", value(2, "cp", sized + "0', expected to be 4 or 8 or 16")},
        {copy + "12;", value(2, "cp", sized + "12', expected to be 4 or 8 or 16")},
        {copy + "32;", value(2, "cp", sized + "32', expected to be 4 or 8 or 16")},
        {copy + "8, 8;", ""},
        {copy + "8, 0;", ""},
        {copy + "8, 9;", range(3, "cp.async", "9", "8")},
        {whole + "16, 16;", ""},
        {whole + "16, 17;", range(3, "cp.async", "17", "16")},
        {whole + "4;", value(2, "cp", sized + "4', expected to be 16")},
        {bulk + "0;", ""},
        {bulk + "1048560;", ""},
        {bulk + "1048576;", range(2, "cp.async.bulk", "1048576", "1048560")},
        {bulk + "8;", value(2, "cp.async.bulk", sized + "8', expected to be multiple of 16")},
        {bulk + "%u32_1;", ""},
        {reduce + "1048560;", ""},
        {reduce + "24;",
         value(2, "cp.reduce.async.bulk", sized + "24', expected to be multiple of 16")},
        {prefetch + "1048560;", ""},
        {prefetch + "1048576;", range(1, "cp.async.bulk.prefetch", "1048576", "1048560")},
        {prefetch + "1;",
         value(1, "cp.async.bulk.prefetch", sized + "1', expected to be multiple of 16")},
        {"pmevent 15;", ""},
        {"pmevent 16;", range(0, "pmevent", "16", "15")},
        {"pmevent.mask 65535;", ""},
        {"pmevent.mask 65536;", range(0, "pmevent", "65536", "65535")},
        {"alloca.u64 %u64_1, %u64_2, 1;", ""},
        {"alloca.u64 %u64_1, %u64_2, 8388608;", ""},
        {"alloca.u64 %u64_1, %u64_2, 16777216;", "Alignment value too large, exceeds 2^23"},
        {"alloca.u64 %u64_1, %u64_2, 24;", "Alignment must be a power of two"},
        {"alloca.u64 %u64_1, %u64_2, 0;", "Alignment must be a power of two"},
    };
    for (const auto& [text, words] : rows) EXPECT_EQ(answer(text), words) << text;
}

// 0 threads are all of them: as if no count were there, whatever stands behind it.
TEST(Operands, ABarrierOfNoThreadsIsOfAll) {
    // How many operands, each by its register's name or its value, and which are negated.
    const auto operands = [](const std::string& text) {
        const Resolved r = resolved(module_with({text}, "sm_90", "9.0"), Arch::sm_90);
        EXPECT_EQ(messages(r.diagnostics), "") << text;
        const Operation& o = r.program.operations[0];
        std::string out = std::to_string(o.operands) + ":";
        for (size_t i = 0; i < 4 && o.r[i] != no_ref; ++i) {
            const auto named = std::ranges::find(r.program.registers, o.r[i], &Register::ref);
            out += " " + (named != r.program.registers.end()
                              ? named->name
                              : std::to_string(constant_of(r.program, o.r[i])));
        }
        return out + "; " + std::to_string(o.negated_sources);
    };
    EXPECT_EQ(operands("barrier.sync 3;"), "1: 3; 0");
    EXPECT_EQ(operands("barrier.sync 3, 0;"), "1: 3; 0");
    EXPECT_EQ(operands("barrier.sync 3, 32;"), "2: 3 32; 0");
    const std::string reduced = "barrier.red.popc.u32 %u32_1, 3, ";
    EXPECT_EQ(operands(reduced + "%pred_1;"), "3: %u32_1 3 %pred_1; 0");
    EXPECT_EQ(operands(reduced + "0, %pred_1;"), "3: %u32_1 3 %pred_1; 0");
    EXPECT_EQ(operands(reduced + "!%pred_1;"), "3: %u32_1 3 %pred_1; 4");
    EXPECT_EQ(operands(reduced + "0, !%pred_1;"), "3: %u32_1 3 %pred_1; 4");
    EXPECT_EQ(operands(reduced + "32, !%pred_1;"), "4: %u32_1 3 32 %pred_1; 8");
}

TEST(Operands, WordsForWhatIsNoneOfTheInstructions) {
    const std::string tex =
        "Arguments mismatch for instruction 'tex' (an object in a register, "
        "and coordinates: [%rd1, {%f1, %f2}])";
    const std::string four = "{%f32_1, %f32_2, %f32_3, %f32_4}";
    const auto textured = [&](const std::string& form, const std::string& rest) {
        return "tex" + form + ".v4.f32.f32 " + four + ", " + rest + ";";
    };
    const auto geometry = [](const std::string& expected, const std::string& given) {
        return "Operand vector size doesn't match geometry for instruction 'tex' (" + expected +
               " coordinates are expected, " + given + " given)";
    };
    const std::string map =
        "Arguments mismatch for instruction 'cp.async.bulk.prefetch.tensor' (a "
        "tensor map and its coordinates: [map, {c0, c1}])";
    const std::string prefetch = "cp.async.bulk.prefetch.tensor.2d.L2.global.tile ";
    const std::pair<std::string, std::string> rows[] = {
        {textured(".1d", "[%u64_1, {%f32_5}]"), ""},
        {textured(".1d", "[%u64_1, %f32_5]"), ""},
        {textured(".2d", "[%u64_1, {%f32_5, %f32_6}]"), ""},
        {textured(".3d", "[%u64_1, {%f32_5, %f32_6, %f32_7, %f32_7}]"), ""},
        {textured(".a1d", "[%u64_1, {%u32_1, %f32_5}]"), ""},
        {textured(".a2d", "[%u64_1, {%u32_1, %f32_5, %f32_6, %f32_6}]"), ""},
        {textured(".1d", "[%u64_1, {%f32_5, %f32_6}]"), geometry("1", "2")},
        {textured(".2d", "[%u64_1, {%f32_5}]"), geometry("2", "1")},
        {textured(".3d", "[%u64_1, {%f32_5, %f32_6, %f32_7}]"), geometry("4", "3")},
        {textured(".a1d", "[%u64_1, {%u32_1}]"), geometry("2", "1")},
        {textured(".a2d", "[%u64_1, {%u32_1, %f32_5, %f32_6}]"), geometry("4", "3")},
        {textured(".2d", "[%u64_1, %f32_5]"),
         "Arguments mismatch for instruction 'tex' (2 coordinates are expected)"},
        {textured(".1d", "[%u64_1]"), tex},
        {textured(".1d", "[%u64_1+4, {%f32_5}]"), tex},
        {textured(".1d", "[5, {%f32_5}]"), tex},
        {textured(".1d", "%u64_1"), tex},
        {prefetch + "[%u64_1, {%s32_1, %s32_2}];", ""},
        {prefetch + "[%u64_1];", map},
        {prefetch + "[%u64_1+64, {%s32_1, %s32_2}];", map},
        {prefetch + "[5, {%s32_1, %s32_2}];", map},
        {prefetch + "%u64_1;", map},
        {"mov.b32 %b32_1, {%b16_1, %b16_2};", ""},
        {"mov.b32 %b32_1, {%b16_1};",
         "Arguments mismatch for instruction 'mov' (a vector packs the value of a .b32, .b64 or "
         ".b128 mov)"},
        {"mov.b64 %b64_1, {%b16_1, %b16_2, %b16_3, %b16_4, %b16_1, %b16_2, %b16_3, %b16_4};",
         "Illegal vector size: 8"},
        {"mov.b64 {%b16_1, %b16_2, %b16_3, %b16_4, %b16_1}, %b64_1;", "Illegal vector size: 5"},
        {"mov.b128 %b128_1, {%b32_1, %b32_2, %b32_3, %b32_4};", ""},
        {"mov.b64 %b64_1, {%b64_2};",
         "Arguments mismatch for instruction 'mov' (a vector packs the value of a .b32, .b64 or "
         ".b128 mov)"},
        {"mov.b32 %b32_1, {%b32_2};",
         "Arguments mismatch for instruction 'mov' (a vector packs the value of a .b32, .b64 or "
         ".b128 mov)"},
        {"mov.b64 {%b32_1, %b32_2, %b32_3}, %b64_1;", "Illegal vector size: 3"},
        {"mov.b128 {%b16_1, %b16_2, %b16_3, %b16_4, %b16_1, %b16_2, %b16_3, %b16_4}, %b128_1;",
         "Illegal vector size: 8"},
        {"mov.u32 %u32_1, {%b16_1, %b16_2};",
         "Arguments mismatch for instruction 'mov' (a vector packs the value of a .b32, .b64 or "
         ".b128 mov)"},
        {"mov.b16 %b16_1, {%b16_1, %b16_2, %b16_3, %b16_4};",
         "Arguments mismatch for instruction 'mov' (a vector packs the value of a .b32, .b64 or "
         ".b128 mov)"},
        {"mov.v4.u32 {%u32_1, %u32_2, %u32_3, %u32_4}, %tid;", ""},
        {"mov.v2.u32 {%u32_1, %u32_2}, %tid;",
         "Arguments mismatch for instruction 'mov' (a special register's vector has 4 elements)"},
        {"ld.global.b32 %b32_1, [%u64_1, %u64_2];", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.b32 %b32_1, %u64_1;", "Arguments mismatch for instruction 'ld'"},
        {"ld.global.b32 %b32_1, [%b16_1];",
         "Illegal to use symbol '%b16_1' of type .b16 as address operand. Use integer or bit "
         "only."},
        {"ld.global.b32 %b32_1, [%f64_1];",
         "Illegal to use symbol '%f64_1' of type .f64 as address operand. Use integer or bit "
         "only."},
        {"ld.global.b32 %b32_1, [%u32_1];", ""},
        {"ld.global.b32 %b32_1, [after];", "Arguments mismatch for instruction 'ld'"},
        {"bra %u32_1;", "Unknown symbol '%u32_1'"},
        {"mov.u32 %u32_1, sh;", ""},
        {"mov.u64 %u64_1, sh;", ""},
        {"mov.u16 %u16_1, sh;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u64 %u64_1, after;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u16 %u16_1, %tid.x;", ""},
        {"mov.b16 %b16_1, %tid.x;", ""},
        {"mov.u64 %u64_1, %tid.x;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u32 %u32_1, %clock64;", "Arguments mismatch for instruction 'mov'"},
        {"mov.u64 %u64_1, %clock64;", ""},
        {"cvt.u64.u32 %u64_1, %tid.x;", ""},
        {"mov.b64 %b64_1, {%b32_1, %clock};", ""},
        {"mov.b64 %b64_1, {%b32_1, %clock64};", "Arguments mismatch for instruction 'mov'"},
        {"mov.b32 %b32_1, {%b16_1, %tid.x};", "Arguments mismatch for instruction 'mov'"},
        {"st.shared.v2.u32 [sh], {%u32_1, %clock};", ""},
        {"st.shared.v4.f32 [sh], {%f32_1, %f32_1, %tid.x, %f32_1};", ""},
        {"st.shared.v2.u32 [sh], {%u32_1, %clock64};", "Arguments mismatch for instruction 'st'"},
        {"st.shared.v2.u64 [sh], {%u64_1, %tid.x};", "Arguments mismatch for instruction 'st'"},
        {"st.shared.u32 [sh], %clock;",
         "Special register argument not allowed for instruction 'st'"},
        {"mov.pred %pred_1, %tid.x;", "Arguments mismatch for instruction 'mov'"},
        {"mov.pred %pred_1, !%pred_2;", ""},
        {"mov.pred %pred_1, 1;", ""},
        {"mov.pred %pred_1, sh;", "Arguments mismatch for instruction 'mov'"},
        {"add.u32 %u32_1, %u32_2+4, 5;", "Arguments mismatch for instruction 'add'"},
        {"add.u32 %u32_1, after, 5;", "Arguments mismatch for instruction 'add'"},
    };
    for (const auto& [text, words] : rows) EXPECT_EQ(answer(text), words) << text;
}

// The plain definition: the fewest letters to put in, to leave out or to replace.
size_t slow_distance(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return a.size() + b.size();
    const size_t same = slow_distance(a.substr(1), b.substr(1)) + (a[0] != b[0]);
    return std::min({same, slow_distance(a.substr(1), b) + 1, slow_distance(a, b.substr(1)) + 1});
}

TEST(Nearest, IsTheOneOfTheFewestChanges) {
    const std::vector<std::string_view> words{"",      "a",     "b",     "ab",   "ba",   "abc",
                                              "cab",   "acb",   "aabb",  "bbaa", "abab", "xyz",
                                              "abcde", "edcba", "abxde", "bcdef"};
    for (const std::string_view a : words)
        for (const std::string_view b : words) EXPECT_EQ(edit_distance(a, b), slow_distance(a, b));
    // A third of the letters may be others, and one more.
    EXPECT_EQ(nearest("abcdef", {"abcxyz"}), "abcxyz");
    EXPECT_EQ(nearest("abcdef", {"abwxyz"}), "");
    EXPECT_EQ(nearest("ab", {"ax"}), "ax");
    EXPECT_EQ(nearest("ab", {"xb"}), "xb");
    EXPECT_EQ(nearest("ab", {"xy"}), "");
    // Of two as near the one with the same first letter, else the first.
    EXPECT_EQ(nearest("ab", {"xb", "ax"}), "ax");
    EXPECT_EQ(nearest("ab", {"ax", "xb"}), "ax");
    EXPECT_EQ(nearest("ab", {"ax", "ay"}), "ax");
    EXPECT_EQ(nearest("ab", {"axy", "ax"}), "ax");
}

}  // namespace
}  // namespace lockwarp::isa
