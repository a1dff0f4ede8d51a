// SPDX-License-Identifier: Apache-2.0
// What may run where, in the assembler's words: what ptxas 13.0 said about every matrix variant on
// every target (ptxas_13_0.json), and single cases.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

std::string first_message(const Resolved& r) {
    return r.diagnostics.empty() ? "" : r.diagnostics[0].message;
}

// The first message about an instruction in a module for `target`, resolved for that machine.
std::string refusal(const std::string& instruction, const std::string& target,
                    std::string_view version = "9.0") {
    return first_message(
        resolved(module_with({instruction}, target, version), *arch_named(target)));
}

const MmaVariant* variant_named(const std::string& key) {
    for (const MmaVariant& v : mma_variants())
        if (v.key == key) return &v;
    return nullptr;
}

// "m8n8k16.satfinite.s32.s8.s8.s32" as an instruction; empty for a variant that is not executed.
std::string instruction_of(std::string key) {
    if (key == "movmatrix") return "movmatrix.sync.aligned.m8n8.trans.b16 %b32_1, %b32_2;";
    if (key.starts_with("ldmatrix.x")) {
        const unsigned count = static_cast<unsigned>(key[10] - '0');
        std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count);
        text += key.ends_with(".1") ? ".trans.shared.b16 {%b32_1" : ".shared.b16 {%b32_1";
        for (unsigned i = 2; i <= count; ++i) text += ", %b32_" + std::to_string(i);
        return text + "}, [sh];";
    }
    if (key.starts_with("wmma")) return "";
    // "m8n8k128.xor.s32.b1.b1.s32"
    for (const char* op : {".xor", ".and"})
        if (const size_t at = key.find(op); at != std::string::npos)
            key = key.erase(at, 4) + op + ".popc";
    const size_t satfinite = key.find(".satfinite");
    if (satfinite != std::string::npos) key.erase(satfinite, 10);
    std::string text;
    if (const MmaVariant* v = variant_named("mma." + key)) {
        text = instance(*v);
    } else {
        // A combination that has no row; its spelling alone is refused.
        const bool volta =
            key.find(".row") != std::string::npos || key.find(".col") != std::string::npos;
        if (!volta) key.insert(key.find('.'), ".row.col");
        text = "mma.sync.aligned." + key + " {%b32_1}, {%b32_2}, {%b32_3}, {%b32_4};";
    }
    // The recording has the sparse ones with ordered metadata.
    if (key.starts_with("sp.")) text.replace(text.find(".sp"), 3, ".sp::ordered_metadata");
    if (satfinite != std::string::npos) {
        const size_t at = text.find(".row.col") + 8;
        text.insert(at, ".satfinite");
    }
    return text;
}

// The instructions of "wmma.m16n16k16.row.col.row.satfinite.s32.s8.s32", in the order in which the
// recorded programs have them.
std::vector<std::string> wmma_instructions_of(std::string key) {
    std::string operation;
    for (const char* popc : {".xor.popc", ".and.popc"})
        if (const size_t at = key.find(popc); at != std::string::npos) {
            operation = popc;
            key.erase(at);
        }
    const size_t satfinite = key.find(".satfinite");
    if (satfinite != std::string::npos) key.erase(satfinite, 10);
    std::vector<std::string> part;
    for (const ptx::Modifier& m : modifiers_of(key.substr(4))) part.push_back(m.text);
    // ".m16n16k16" ".row" ".col" ".row" ".s32" ".s8" ".s32"
    const std::string& ab = part[5];
    const std::string types = ab == ".f16" ? part[4] + part[6] : part[4] + ab + ab + part[6];
    const auto text = [](const std::string& modifiers) {
        const std::vector<ptx::Modifier> all = modifiers_of(modifiers);
        for (const Form* f : forms_of("wmma"))
            if (matches(*f, all)) return instance(*f, modifiers);
        return "wmma" + modifiers + ";";
    };
    const std::string sync = ".sync.aligned";
    return {text(".load.a" + sync + part[1] + part[0] + ".global" + ab),
            text(".load.b" + sync + part[2] + part[0] + ".global" + ab),
            text(".load.c" + sync + part[3] + part[0] + ".global" + part[6]),
            text(".mma" + operation + sync + part[1] + part[2] + part[0] + types +
                 (satfinite == std::string::npos ? "" : ".satfinite")),
            text(".store.d" + sync + part[3] + part[0] + ".global" + part[4])};
}

// ptxas 13.0's first message on each target, "" where it accepts, by variant.
std::map<std::string, std::map<std::string, std::string>> recorded_answers() {
    std::ifstream file(LOCKWARP_SOURCE_DIR "/tests/isa/ptxas_13_0.json");
    std::map<std::string, std::map<std::string, std::string>> out;
    for (const nlohmann::json& row : nlohmann::json::parse(file))
        for (const std::string variant : row["variants"]) out[variant] = row["answers"];
    return out;
}

TEST(Legality, OfWmmaAsTheAssemblerSaid) {
    size_t accepted = 0;
    size_t refused = 0;
    for (const auto& [key, answers] : recorded_answers()) {
        if (!key.starts_with("wmma.")) continue;
        const std::vector<std::string> instructions = wmma_instructions_of(key);
        for (const auto& [target, expected] : answers) {
            std::string name = target;
            if (name.ends_with('a')) name.pop_back();
            if (!arch_named(name)) continue;
            EXPECT_EQ(
                first_message(resolved(module_with(instructions, name, "9.0"), *arch_named(name))),
                expected)
                << key << " on " << target;
            ++(expected.empty() ? accepted : refused);
        }
    }
    EXPECT_GT(accepted, 350u);
    EXPECT_GT(refused, 15u);
}

// Asked of ptxas 13.0, each alone.
TEST(Legality, OfWmma) {
    const std::string eight = " {%b32_1, %b32_2, %b32_3, %b32_4, %b32_5, %b32_6, %b32_7, %b32_8}";
    const std::string four = " {%b32_1, %b32_2, %b32_3, %b32_4}";
    const std::string f32 = " {%f32_1, %f32_2, %f32_3, %f32_4, %f32_5, %f32_6, %f32_7, %f32_8}";
    const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16";
    const std::string at = ", [%u64_1], 16;";
    const auto product = [&](const std::string& modifiers) {
        return "wmma.mma" + modifiers + f32 + "," + eight + "," + eight + "," + f32 + ";";
    };
    const struct {
        std::string instruction;
        std::string message;
        std::string target = "sm_90";
        std::string version = "9.0";
    } cases[] = {
        {load + eight + ", [%u64_1];", ""},
        {load + eight + ", [%u64_1], %s32_1;", ""},
        {load + eight + ", [%u64_1], -16;", ""},
        {load + eight + ", [%u64_1], 5000000000;", ""},
        {load + eight + ", [%u32_1+32], %b32_9;", ""},
        {load + eight + ", [%u64_1], %u64_2;", "Arguments mismatch for instruction 'wmma.load.a'"},
        {load + eight + ", [%u64_1], %f32_2;", "Arguments mismatch for instruction 'wmma.load.a'"},
        {load + eight + ";", "Arguments mismatch for instruction 'wmma.load.a'"},
        {load + eight + at.substr(0, at.size() - 1) + ", 16;",
         "Arguments mismatch for instruction 'wmma.load.a'"},
        {load + four + at, "Argument vector size mismatch for instruction 'wmma.load.a'"},
        {load + f32 + at, "Arguments mismatch for instruction 'wmma.load.a'"},
        {load + " %b32_1" + at, "Vector expected for argument 0"},
        {load + eight + ", [sh], 16;",
         "State space mismatch between instruction and address in instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16" + eight + ", [co], 16;",
         "State space mismatch between instruction and address in instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16" + eight + ", [pa], 16;",
         "State space mismatch between instruction and address in instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16" + eight + ", [sh], 16;", ""},
        {"wmma.load.a.sync.aligned.row.m16n16k16.shared::cta.f16" + eight + ", [sh], 16;", ""},
        {"wmma.load.a.sync.aligned.row.m16n16k16.shared::cta.f16" + eight + ", [sh], 16;",
         "Feature '::cta' requires PTX ISA .version 7.8 or later", "sm_80", "7.7"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.shared::cluster.f16" + eight + ", [sh], 16;",
         "State space incorrect for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.local.f16" + eight + ", [lo], 16;",
         "State space incorrect for instruction 'wmma.load.a'"},
        // Any order of modifiers but for the name.
        {"wmma.load.a.aligned.f16.m16n16k16.sync.global.row" + eight + at, ""},
        {"wmma.load.sync.a.aligned.row.m16n16k16.global.f16" + eight + at,
         "Unknown modifier '.load'"},
        {"wmma.load.d.sync.aligned.row.m16n16k16.global.f16" + eight + at,
         "Unknown modifier '.load'"},
        {"wmma.foo.sync.aligned.row.col.m16n16k16.f16.f16" + eight + at, "Unknown modifier '.foo'"},
        {"wmma.load.a.sync.row.m16n16k16.global.f16" + eight + at,
         ".aligned modifier required for instruction 'wmma.load.a'"},
        {"wmma.load.a.row.m16n16k16.global.f16" + eight + at,
         ".sync modifier required for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.m16n16k16.global.f16" + eight + at,
         "layout modifier required for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k32.global.f16" + eight + at,
         "Unknown modifier '.m16n16k32'"},
        {"wmma.load.a.sync.aligned.row.m9n8k4.global.f16" + eight + at,
         "Unknown modifier '.m9n8k4'"},
        {"wmma.load.a.sync.aligned.row.m16n8k8.global.f16" + eight + at,
         "Illegal matrix shape '.m16n8k8' for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k8.global.f16" + eight + at,
         "Incorrect instruction type specified for wmma.load.a with shape '.m16n16k8'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f32" + f32 + at,
         "Illegal type for wmma.load.a"},
        {"wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%b32_1}" + at,
         "Illegal alayout '.col' for instruction 'wmma.load.a'"},
        {"wmma.load.b.sync.aligned.row.m8n8k128.global.b1 {%b32_1}" + at,
         "Illegal alayout '.row' for instruction 'wmma.load.b'"},
        {"wmma.load.c.sync.aligned.row.m8n8k4.global.f16" + eight + at,
         "Incorrect instruction type specified for wmma.load.c with shape '.m8n8k4'"},
        {"wmma.load.c.sync.aligned.row.m16n16k8.global.f32" + f32 + at,
         "Modifier '.m16n16k8' requires .target sm_80 or higher", "sm_75"},
        {"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%f64_1}" + at,
         "Feature 'WMMA with fp64 types' requires .target sm_80 or higher", "sm_75"},
        {"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%f64_1}" + at, ""},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.bf16" + four + at,
         "Feature '.bf16' requires .target sm_80 or higher", "sm_75", "6.5"},
        {"wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%f32_1, %f32_2, %f32_3, %f32_4}" + at,
         "Arguments mismatch for instruction 'wmma.load.a'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%s32_1, %u32_2}" + at, ""},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%u64_1]," + f32 + ", %u32_1;", ""},
        {"wmma.store.d.sync.aligned.row.m16n16k16.global.bf16 [%u64_1]," + four + ", 16;",
         "Unexpected instruction types specified for 'wmma.store.d'"},
        {product(".sync.aligned.row.col.m16n16k16.f32.f32"), ""},
        {product(".sync.aligned.row.col.m16n16k16.f32.f32.ftz"),
         "Illegal modifier '.ftz' for instruction 'wmma.mma'"},
        {product(".sync.col.row.m16n16k16.f32.f32.trans"),
         "Illegal modifier '.trans' for instruction 'wmma.mma'"},
        {product(".sync.aligned.row.row.m16n16k8.f32.f32.relu"),
         "Illegal modifier '.relu' for instruction 'wmma.mma'"},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.s4.ftz {%s32_1, %u32_2}" + at,
         "Illegal modifier '.ftz' for instruction 'wmma.load.a'"},
        {product(".f32.f32.m16n16k16.aligned.row.sync.col"), ""},
        {product(".sync.aligned.row.m16n16k16.f32.f32"),
         "'.blayout' modifier required for instruction 'wmma.mma'"},
        {product(".sync.aligned.m16n16k16.f32.f32"),
         "'.alayout.blayout' modifier required for instruction 'wmma.mma'"},
        {product(".sync.aligned.row.col.f32.f32"),
         "Shape modifier required for instruction 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k16.f32"),
         "Unexpected instruction types specified for 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k16.f32.f16.f16.f32"),
         "Unexpected instruction types specified for 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k8.f16.bf16.bf16.f16"),
         "Unexpected instruction types specified for 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k16.f16.tf32.tf32.f16"),
         "Unexpected instruction types specified for 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k16.s32.s8.u8.s32"),
         "Unexpected instruction types specified for 'wmma.mma'"},
        {product(".sync.aligned.row.col.m16n16k16.f32.f32.satfinite"),
         "Instruction ''wmma.mma' with floating point type' with '.satfinite' is not supported "
         "starting from PTX ISA version 6.5"},
        {product(".sync.aligned.row.col.m16n16k16.rz.f32.f32"),
         "Illegal rounding modifier for instruction 'wmma.mma'"},
        {product(".sync.aligned.row.col.m8n8k4.f32.f32"),
         "Incorrect instruction type specified for wmma.mma with shape '.m8n8k4'"},
        {product(".sync.aligned.col.col.m8n8k32.s32.s4.s4.s32"),
         "Illegal alayout '.col' for instruction 'wmma.mma'"},
        {product(".xor.popc.sync.aligned.row.row.m8n8k128.s32.b1.b1.s32"),
         "Illegal blayout '.row' for instruction 'wmma.mma'"},
        {product(".or.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
         "Incorrect operations specified for wmma.mma with shape '.m8n8k128'"},
        {product(".xor.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"),
         "Unexpected number of operations specified for wmma.mma with shape '.m8n8k128'"},
        {product(".and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32.satfinite"),
         "Illegal modifier '.satfinite' for instruction 'wmma.mma'"},
        {"wmma.mma.sync.aligned.row.col.m8n8k128.xor.popc.s32.b1.b1.s32 {%s32_1, %s32_2}, "
         "{%b32_1}, "
         "{%b32_2}, {%s32_1, %s32_2};",
         ""},
        {"wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64 {%f64_1, %f64_2}, {%f64_3}, "
         "{%f64_4}, {%f64_1, %f64_2};",
         ""},
    };
    for (const auto& c : cases)
        EXPECT_EQ(refusal(c.instruction, c.target, c.version), c.message) << c.instruction;
}

TEST(Legality, AsTheAssemblerSaid) {
    size_t accepted = 0;
    size_t refused = 0;
    for (const auto& [key, answers] : recorded_answers()) {
        const std::string instruction = instruction_of(key);
        if (instruction.empty()) continue;
        for (const auto& [target, expected] : answers) {
            if (!arch_named(target)) continue;
            EXPECT_EQ(refusal(instruction, target), expected) << key << " on " << target << '\n'
                                                              << instruction;
            ++(expected.empty() ? accepted : refused);
        }
    }
    EXPECT_GT(accepted, 150u);
    EXPECT_GT(refused, 30u);
}

constexpr std::string_view ldmatrix_text =
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b32_1}, [sh];";

TEST(Legality, Targets) {
    const struct {
        std::string_view instruction;
        std::string_view target;
        std::string_view message;
    } cases[] = {
        {ldmatrix_text, "sm_70", "Feature 'ldmatrix' requires .target sm_75 or higher"},
        {ldmatrix_text, "sm_75", ""},
        {"movmatrix.sync.aligned.m8n8.trans.b16 %b32_1, %b32_2;", "sm_70",
         "Feature 'movmatrix' requires .target sm_75 or higher"},
        {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [sh], {%b32_1};", "sm_80",
         "Feature 'stmatrix' requires .target sm_90 or higher"},
        {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [sh], {%b32_1};", "sm_90", ""},
        {"cp.async.cg.shared.global [sh], [%b64_1], 16;", "sm_75",
         "Feature 'cp.async' requires .target sm_80 or higher"},
        {"cp.async.wait_all;", "sm_75",
         "Feature 'cp.async.wait_all' requires .target sm_80 or higher"},
        {"cvt.rn.bf16.f32 %b16_1, %f32_1;", "sm_75",
         "Feature '.bf16' requires .target sm_80 or higher"},
        {"fma.rn.bf16x2 %b32_1, %b32_2, %b32_3, %b32_4;", "sm_75",
         "Feature '.bf16' requires .target sm_80 or higher"},
        {"fma.rn.bf16x2 %b32_1, %b32_2, %b32_3, %b32_4;", "sm_80", ""},
        {"mul.bf16x2 %b32_1, %b32_2, %b32_3;", "sm_80",
         "Feature 'mul.bf16' requires .target sm_90 or higher"},
        {"max.NaN.f32 %f32_1, %f32_2, %f32_3;", "sm_75",
         "Feature 'max.NaN' requires .target sm_80 or higher"},
        {"cvt.rna.tf32.f32 %b32_1, %f32_1;", "sm_75",
         "Feature '.tf32' requires .target sm_80 or higher"},
        {"cvt.rn.satfinite.e4m3x2.f32 %b16_1, %f32_1, %f32_2;", "sm_86",
         "Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_89 or higher"},
        {"cvt.rn.satfinite.e4m3x2.f32 %b16_1, %f32_1, %f32_2;", "sm_89", ""},
        {"cvt.rn.relu.f16x2.e5m2x2 %b32_1, %b16_1;", "sm_89", ""},
        {"cvt.rn.ftz.bf16.f32 %b16_1, %f32_1;", "sm_80", ""},
        {"cvt.ftz.f32.bf16 %f32_1, %b16_1;", "sm_89",
         "Feature 'cvt with .f32.bf16.ftz' requires .target sm_90 or higher"},
        {"cvt.rn.bf16.u32 %b16_1, %u32_1;", "sm_89",
         "Feature 'cvt with .bf16.u32' requires .target sm_90 or higher"},
        {"cvt.rz.satfinite.relu.f16x2.f32 %b32_1, %f32_1, %f32_2;", "sm_80", ""},
        {"cvt.pack.sat.u16.s32 %u32_1, %s32_1, %s32_2;", "sm_70",
         "Feature 'cvt.pack' requires .target sm_72 or higher"},
        {"cvt.pack.sat.u4.s32.b32 %u32_1, %s32_1, %s32_2, %b32_1;", "sm_75", ""},
        {"set.lt.f16x2.f16x2 %b32_1, %b32_2, %b32_3;", "sm_70", ""},
        {"set.lt.u16.bf16 %u16_1, %b16_1, %b16_2;", "sm_89",
         "Feature 'set.bf16' requires .target sm_90 or higher"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(refusal(std::string(c.instruction), std::string(c.target)), c.message)
            << c.instruction << " on " << c.target;
}

TEST(Legality, MatrixVariantsOnTheirTargets) {
    for (const MmaVariant& v : mma_variants())
        for (const ArchRow& a : arch_rows) {
            if (v.suffix() != Suffix::none) continue;  // below
            const std::string feature = v.feature.find('\'') == std::string_view::npos
                                            ? "Feature '" + std::string(v.feature) + "'"
                                            : std::string(v.feature);
            const std::string expected =
                a.number >= v.target
                    ? ""
                    : feature + " requires .target sm_" + std::to_string(v.target) + " or higher";
            EXPECT_EQ(refusal(instance(v), std::string(a.name)), expected) << v.key << a.name;
        }
    for (const auto& [key, target, feature, least] :
         {std::tuple("mma.m16n8k8.f32.f16.f16.f32", "sm_70", ".m16n8k8", "sm_75"),
          std::tuple("mma.sp.m16n8k16.f16.f16.f16.f16", "sm_75", "Sparse MMA", "sm_80"),
          std::tuple("mma.sp.m16n8k16.f32.bf16.bf16.f32", "sm_75", ".bf16", "sm_80"),
          std::tuple("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", "sm_80",
                     "mma with FP8 floating point type", "sm_89")})
        EXPECT_EQ(
            refusal(instance(*variant_named(key)), target),
            "Feature '" + std::string(feature) + "' requires .target " + least + " or higher");
}

// As ptxas 13.0 answers for each target: the word in front says what the target lacks.
TEST(Legality, KindsOnTheirTargets) {
    const std::string fp8 = "Feature '.kind::f8f6f4'";
    const std::string small = "Instruction 'mma with with FP6/FP4 floating point type'";
    const std::string to_f16 =
        "Instruction 'mma with with F16 accumulator and F8 floating point type'";
    const std::string scale = "Instruction 'mma with block scale'";
    const std::string sparse_scale = "Instruction 'Sparse mma with block scale'";
    const std::string fp8_of_sm100 = "-100";  // sm_100a and sm_100f have it too
    const std::pair<std::string, std::string> rows[] = {
        {"mma.m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32", fp8_of_sm100},
        {"mma.m16n8k32.kind::f8f6f4.f16.e4m3.e5m2.f16", fp8_of_sm100},
        {"mma.m16n8k16.kind::f8f6f4.f32.e4m3.e5m2.f32", fp8_of_sm100},
        {"mma.m16n8k16.kind::f8f6f4.f16.e4m3.e5m2.f16", fp8_of_sm100},
        {"mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e5m2.f32", fp8_of_sm100},
        {"mma.m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32", small},
        {"mma.m16n8k32.kind::f8f6f4.f16.e2m3.e5m2.f16", small},
        {"mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e3m2.f32", small},
        {"mma.sp.m16n8k64.kind::f8f6f4.f16.e4m3.e5m2.f16", to_f16},
        {"mma.sp.m16n8k64.f16.e4m3.e5m2.f16", to_f16},
        {"mma.m16n8k32.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", scale},
        {"mma.sp.m16n8k64.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", scale},
        {"mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", scale},
        {"mma.m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", scale},
        {"mma.sp.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
         sparse_scale},
    };
    for (const auto& [key, words] : rows) {
        const MmaVariant* v = variant_named(key);
        ASSERT_NE(v, nullptr) << key;
        for (const std::string target :
             {"sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_120", "sm_120f", "sm_120a"}) {
            const bool sm_100 = target == "sm_100a" || target == "sm_100f";
            std::string lacks = words == fp8_of_sm100 ? fp8 : words;
            if (words == sparse_scale && target != "sm_120f") lacks = scale;
            const bool has = target == "sm_120a" || (words == fp8_of_sm100 && sm_100) ||
                             (words != sparse_scale && target == "sm_120f");
            EXPECT_EQ(refusal(instance(*v), target),
                      has ? "" : lacks + " not supported on .target '" + target + "'")
                << key;
        }
    }
}

TEST(Legality, VersionsOfKinds) {
    const auto message = [](const char* key, std::string_view target) {
        return refusal(instance(*variant_named(key)), std::string(target), "8.6");
    };
    const auto later = [](const std::string& feature) {
        return "Feature '" + feature + "' requires PTX ISA .version 8.7 or later";
    };
    EXPECT_EQ(message("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e5m2.f32", "sm_100a"), "");
    EXPECT_EQ(message("mma.sp.m16n8k64.kind::f8f6f4.f32.e4m3.e5m2.f32", "sm_100a"), "");
    EXPECT_EQ(message("mma.m16n8k16.kind::f8f6f4.f32.e4m3.e5m2.f32", "sm_100a"),
              later("mma with FP8 floating point type and .m16n8k16 shape"));
    EXPECT_EQ(message("mma.m16n8k32.kind::f8f6f4.f16.e4m3.e5m2.f16", "sm_100a"),
              later("mma with FP8 floating point type and FP16 accumulation"));
    EXPECT_EQ(message("mma.m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32", "sm_100a"),
              later("mma with with FP6/FP4 floating point type"));
    EXPECT_EQ(message("mma.sp.m16n8k64.f16.e4m3.e5m2.f16", "sm_100a"),
              later("mma with with F16 accumulator and F8 floating point type"));
    EXPECT_EQ(message("mma.m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                      "sm_100a"),
              later("mma with block scale"));
}

// A product of a kind on sm_120a with other modifiers or operands, as ptxas 13.0 answers.
TEST(Legality, ModifiersAndOperandsOfKinds) {
    const std::string four = "{%b32_0, %b32_1, %b32_2, %b32_3}";
    const std::string fragments = four + ", " + four + ", {%b32_4, %b32_5}, " + four;
    const auto message = [&](const std::string& modifiers, const std::string& rest = "") {
        return refusal("mma" + modifiers + " " + fragments + rest + ";", "sm_120a");
    };
    const std::string k32 = ".sync.aligned.m16n8k32.row.col";
    const std::string k64 = ".sync.aligned.m16n8k64.row.col";
    const std::string ids = ", {%b32_6}, {0, 0}, %b32_7, {0, 0}";
    const std::string mx = k32 + ".kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0";
    EXPECT_EQ(message(mx, ids), "");
    // Modifiers in any order.
    EXPECT_EQ(message(".sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.e4m3.e2m1.f32"
                      ".ue8m0",
                      ids),
              "");
    EXPECT_EQ(message(k32 + ".f32.kind::mxf8f6f4.e4m3.block_scale.e2m1.f32.ue8m0", ids), "");
    EXPECT_EQ(message(k64 + ".kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", ids), "");
    const std::pair<std::string, std::string> modifiers[] = {
        {k32 + ".f32.e4m3.e2m1.f32", ".kind::f8f6f4 modifier required for instruction 'mma'"},
        {k32 + ".kind::f8f6f4.f16.e4m3.e4m3.f32",
         "Unexpected instruction types specified for 'mma'"},
        {k32 + ".kind::f8f6f4.satfinite.f32.e4m3.e2m1.f32",
         "Unexpected instruction types specified for 'mma'"},
        {k32 + ".kind::f8f6f4.s32.s8.s8.s32",
         "Illegal modifier '.kind::f8f6f4' for instruction 'mma'"},
        {".sync.aligned.m16n8k32.col.col.kind::f8f6f4.f32.e4m3.e2m1.f32",
         "Illegal alayout '.col' for instruction 'mma'"},
        {".sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32",
         "Illegal matrix shape '.m16n8k16' for instruction 'mma'"},
        {k64 + ".kind::f8f6f4.f32.e4m3.e4m3.f32",
         "Incorrect instruction type specified for mma with shape '.m16n8k64'"},
        {k32 + ".kind::mxf8f6f4.f32.e4m3.e2m1.f32",
         ".block_scale modifier required for instruction 'mma'"},
        {k32 + ".kind::f8f6f5.f32.e4m3.e2m1.f32", "Unknown modifier '.kind::f8f6f5'"},
    };
    for (const auto& [text, words] : modifiers) EXPECT_EQ(message(text), words) << text;
    const std::pair<std::string, std::string> scaled[] = {
        {k32 + ".kind::f8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0",
         "Illegal modifier '.kind::f8f6f4' for instruction 'mma'"},
        {k32 + ".kind::mxf8f6f4.block_scale.scale_vec::1X.f16.e4m3.e4m3.f16.ue8m0",
         "Unexpected instruction types specified for 'mma'"},
        {k32 + ".kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue4m3",
         "Incorrect instruction type specified for mma with shape '.m16n8k32'"},
        {k32 + ".kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e4m3.e4m3.f32.ue8m0",
         "Illegal modifier '.scale_vec::2X' for instruction 'mma'"},
        {k64 + ".kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
         ".scale_vec_size modifier required for instruction 'mma'"},
        {k64 + ".kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3",
         "Illegal modifier '.kind::mxf4' for instruction 'mma' with type '.ue4m3'"},
        {k64 + ".kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
         "Modifier '.scale_vec::4X' cannot be combined with modifier '.kind::mxf4'"},
        {k64 + ".kind::mxf4nvf4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0",
         "Illegal modifier '.scale_vec::1X' for instruction 'mma'"},
        {k64 + ".kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3",
         "Illegal modifier '.scale_vec::2X' for instruction 'mma' with type '.ue4m3'"},
        {k64 + ".kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
         "Illegal modifier '.scale_vec::4X' for instruction 'mma' with type '.ue8m0'"},
        {k64 + ".kind::mxf4.block_scale.f32.e2m1.e4m3.f32.ue8m0",
         "Incorrect instruction type specified for mma with shape '.m16n8k64'"},
    };
    for (const auto& [text, words] : scaled) EXPECT_EQ(message(text, ids), words) << text;
    const auto out = [](int argument, const std::string& value, const std::string& range) {
        return "Argument " + std::to_string(argument) + " of instruction 'mma': value '" + value +
               "' out of range, expected to be in range [0.." + range + "]";
    };
    const std::pair<std::string, std::string> operands[] = {
        {"", "Arguments mismatch for instruction 'mma'"},
        {", %b32_6", "Arguments mismatch for instruction 'mma'"},
        {", {%b32_6}, {0, 0}, {%b32_7}", "Arguments mismatch for instruction 'mma'"},
        {", %b16_6, {0, 0}, %b32_7, {0, 0}", "Arguments mismatch for instruction 'mma'"},
        {", 5, {0, 0}, %b32_7, {0, 0}", "Arguments mismatch for instruction 'mma'"},
        {", %b32_6, {%b32_7, 0}, %b32_7, {0, 0}", "Arguments mismatch for instruction 'mma'"},
        {", %b32_6, 0, %b32_7, {0, 0}", "Vector expected for argument 5"},
        {", %b32_6, {0}, %b32_7, {0, 0}", "Argument vector size mismatch for instruction 'mma'"},
        {", %b32_6, {4, 2}, %b32_7, {4, 4}", out(5, "4", "3")},
        {", %b32_6, {0, 2}, %b32_7, {4, 4}", out(5, "2", "1")},
        {", %b32_6, {0, -1}, %b32_7, {0, 0}", out(5, "-1", "1")},
        {", %b32_6, {0, 0}, %b32_7, {70000, 0}", out(7, "70000", "3")},
        {", %b32_6, {3, 1}, %b32_7, {3, 3}", ""},
        {", %b32_6, {0, 0}, %b32_7, {0, 4}", out(7, "4", "3")},
        {", %b32_6, {%b16_1, 0}, %b32_7, {0, %u16_1}", ""},
        {", %b32_6, {%s16_1, 1}, %b32_7, {%b16_1, %b16_2}", ""},
        {", %b32_6, {%b16_1, 2}, %b32_7, {0, 0}", out(5, "2", "1")},
    };
    for (const auto& [text, words] : operands) EXPECT_EQ(message(mx, text), words) << text;
    // Whatever stands there, there is an answer.
    for (const std::string& thing :
         {std::string("0.5"), std::string("[%b64_1]"), std::string("nothing"), std::string("_"),
          std::string("{%b32_6, %b32_7}"), std::string("%pred_1"), std::string("!%pred_1"),
          std::string("{0.5, nothing}"), std::string("{18446744073709551615, 0}"),
          std::string("sh"), std::string("%laneid"), std::string("{%pred_1, 0}"),
          std::string("-%b32_6"), std::string("!%b32_6"), std::string("[%b32_6]")})
        for (const std::string& rest :
             {", " + thing + ", {0, 0}, %b32_7, {0, 0}", ", %b32_6, " + thing + ", %b32_7, {0, 0}",
              ", %b32_6, {0, 0}, %b32_7, " + thing})
            EXPECT_NE(message(mx, rest), "") << rest;
    const std::string nv = k64 + ".kind::mxf4nvf4.block_scale.scale_vec::";
    EXPECT_EQ(message(nv + "2X.f32.e2m1.e2m1.f32.ue8m0", ", %b32_6, {2, 1}, %b32_7, {2, 3}"), "");
    EXPECT_EQ(message(nv + "2X.f32.e2m1.e2m1.f32.ue8m0", ", %b32_6, {1, 1}, %b32_7, {2, 3}"),
              "Argument 5 of instruction 'mma': unexpected value '1', expected to be 0 or 2");
    EXPECT_EQ(message(nv + "4X.f32.e2m1.e2m1.f32.ue4m3", ", %b32_6, {0, 1}, %b32_7, {2, 3}"),
              "Argument 7 of instruction 'mma': unexpected value '2', expected to be 0");
}

TEST(Legality, SparseProductsOfKinds) {
    const auto message = [](const std::string& key, const std::string& from,
                            const std::string& to) {
        std::string text = instance(*variant_named(key));
        const size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.replace(at, from.size(), to);
        return refusal(text, "sm_120a");
    };
    const std::string fp8 = "mma.sp.m16n8k64.f16.e4m3.e5m2.f16";
    const std::string f8f6f4 = "mma.sp.m16n8k64.kind::f8f6f4.f32.e2m1.e5m2.f32";
    const std::string nvf4 =
        "mma.sp.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
    for (const std::string& key : {fp8, f8f6f4, nvf4})
        EXPECT_EQ(message(key, ".sp::ordered_metadata", ".sp"),
                  "Illegal modifier '.sp' for instruction 'mma'");
    EXPECT_EQ(message(f8f6f4, ", 0;", ", 1;"),
              "Argument 5 of instruction 'mma': unexpected value '1', expected to be 0");
    EXPECT_EQ(message(nvf4, ", 0, {", ", 1, {"),
              "Argument 5 of instruction 'Sparse mma': unexpected value '1', expected to be 0");
    EXPECT_EQ(message(nvf4, "{0, 1}", "{1, 1}"),
              "Argument 7 of instruction 'Sparse mma': unexpected value '1', expected to be 0");
    EXPECT_EQ(message(nvf4, "{0, 3}", "{0, 4}"),
              "Argument 9 of instruction 'Sparse mma': value '4' out of range, expected to be in "
              "range [0..3]");
}

TEST(Legality, Versions) {
    const std::string mma = instance(*variant_named("mma.m16n8k16.f32.f16.f16.f32"));
    EXPECT_EQ(refusal(mma, "sm_80", "6.5"),
              "Feature '.m16n8k16' requires PTX ISA .version 7.0 or later");
    EXPECT_EQ(refusal(mma, "sm_80", "7.0"), "");
    EXPECT_EQ(refusal(std::string(ldmatrix_text), "sm_75", "6.4"),
              "Feature 'ldmatrix' requires PTX ISA .version 6.5 or later");
    EXPECT_EQ(refusal(std::string(ldmatrix_text), "sm_75", "6.5"), "");
    EXPECT_EQ(refusal("add.s32 %s32_1, %s32_2, 1;", "sm_70", "6.0"), "");
    // fp8 came with sm_90, and to sm_89 later.
    const std::string fp8 = "cvt.rn.satfinite.e5m2x2.f16x2 %b16_1, %b32_1;";
    EXPECT_EQ(refusal(fp8, "sm_90", "7.8"), "");
    EXPECT_EQ(refusal(fp8, "sm_89", "8.0"),
              "Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_90 or higher");
    EXPECT_EQ(refusal(fp8, "sm_89", "8.1"), "");
    EXPECT_EQ(refusal("cvt.rn.satfinite.f16.f32 %b16_1, %f32_1;", "sm_70", "8.0"),
              "Modifier '.satfinite' on 'cvt.f16.f32' requires PTX ISA .version 8.1 or later");
    EXPECT_EQ(refusal("set.lt.s16.f16 %s16_1, %b16_1, %b16_2;", "sm_70", "6.4"),
              "Feature 'half precision floating point set instruction with integer result' "
              "requires PTX ISA .version 6.5 or later");
}

TEST(Legality, TypesOfMatrixInstructions) {
    const auto message = [](const std::string& modifiers) {
        return refusal("mma.sync.aligned" + modifiers + " {%b32_1}, {%b32_2}, {%b32_3}, {%b32_4};",
                       "sm_90");
    };
    EXPECT_EQ(message(".m8n8k4.row.col.f16.f16.f16.f32"),
              ".dtype must be '.f32' when .ctype is '.f32' for 'mma' instruction with shape "
              "'.m8n8k4'");
    EXPECT_EQ(message(".m16n8k8.row.col.f32.f16.f16.f16"),
              ".dtype must be '.f16' when .ctype is '.f16' for 'mma' instruction with shape "
              "'.m16n8k8'");
    EXPECT_EQ(message(".m16n8k16.col.col.f32.f16.f16.f32"),
              "Illegal alayout '.col' for instruction 'mma'");
    EXPECT_EQ(message(".m16n8k16.row.row.f32.f16.f16.f32"),
              "Illegal blayout '.row' for instruction 'mma'");
    EXPECT_EQ(message(".m16n8k16.row.col.f32.f16.bf16.f32"),
              "Unexpected instruction types specified for 'mma'");
    for (const std::string d : {"s32", "f64", "bf16", "s8"})
        EXPECT_EQ(message(".m16n8k16.row.col." + d + ".f16.f16.f32"),
                  "Unexpected instruction types specified for 'mma'")
            << d;
    EXPECT_EQ(message(".m16n8k16.row.col.satfinite.f32.f16.f16.f32"),
              "Unexpected instruction types specified for 'mma'");
    EXPECT_EQ(message(".m16n8k9.row.col.f32.f16.f16.f32"), "Unknown modifier '.m16n8k9'");
}

// A selector chooses among the lanes of four that can give metadata.
TEST(Legality, SelectorsOfSparseProducts) {
    for (const MmaVariant& v : mma_variants()) {
        // Those that sm_90 does not have: SparseProductsOfKinds.
        if (!v.sparse || v.suffix() != Suffix::none) continue;
        const unsigned selectors = 4 / metadata_lanes(v);
        for (unsigned selector = 0; selector < 6; ++selector) {
            std::string text = instance(v);
            text.replace(text.rfind('0'), 1, std::to_string(selector));
            const std::string most = std::to_string(selectors - 1);
            const std::string given = std::to_string(selector);
            const bool fp8 = v.a == Type::e4m3 || v.a == Type::e5m2;
            EXPECT_EQ(refusal(text, "sm_90"),
                      selector < selectors ? ""
                      : fp8 ? "Argument 5 of instruction 'mma': unexpected value '" + given +
                                  "', expected to be 0"
                            : "Argument 6 of instruction 'Sparse mma': value '" + given +
                                  "' out of range, expected to be in range [0.." + most + "]")
                << text;
        }
    }
}

TEST(Legality, AModuleRunsOnItsTargetAndNewerMachines) {
    const auto message = [](std::string_view target, Arch arch) {
        return first_message(resolved(module_of("ret;", target), arch));
    };
    EXPECT_EQ(message("sm_70", Arch::sm_90), "");
    EXPECT_EQ(message("sm_80", Arch::sm_80), "");
    EXPECT_EQ(message("sm_80", Arch::sm_75), "A module for sm_80 cannot run on sm_75");
    EXPECT_EQ(message("sm_90a", Arch::sm_90), "");
    EXPECT_EQ(message("sm_90a", Arch::sm_80), "A module for sm_90a cannot run on sm_80");
    EXPECT_EQ(message("sm_100a", Arch::sm_90), "A module for sm_100a cannot run on sm_90");
    EXPECT_EQ(message("sm_52, debug", Arch::sm_70), "");
    EXPECT_EQ(message("sm_90f", Arch::sm_90), "A module for sm_90f cannot run on sm_90");
    // PTX manual, ".target": which architectures are of one family.
    constexpr std::array families{std::array{100, 103}, std::array{120, 121}};
    for (const ArchRow& from : arch_rows)
        for (const ArchRow& to : arch_rows) {
            const std::string name(from.name);
            const auto runs = [&](const std::string& suffix) {
                return message(name + suffix, to.arch).empty();
            };
            const bool family = std::ranges::any_of(families, [&](const auto& members) {
                return std::ranges::count(members, from.number) == 1 &&
                       std::ranges::count(members, to.number) == 1;
            });
            EXPECT_EQ(runs(""), from.number <= to.number) << name << " on " << to.name;
            EXPECT_EQ(runs("a"), from.number == to.number) << name << " on " << to.name;
            EXPECT_EQ(runs("f"), family && from.number <= to.number) << name << " on " << to.name;
        }
}

TEST(Legality, TheMachineOfAModule) {
    const auto machine = [](std::string_view target) -> std::string {
        const ptx::Parsed parsed = ptx::parse(module_of("ret;", target));
        std::vector<ptx::Diagnostic> out;
        const std::optional<Arch> arch = target_arch(parsed.module, out);
        EXPECT_EQ(arch.has_value(), out.empty());
        return arch ? std::string(row(*arch).name) : out[0].message;
    };
    const std::string none = "No architecture for the module's .target is modelled";
    EXPECT_EQ(machine("sm_70"), "sm_70");
    EXPECT_EQ(machine("sm_90a"), "sm_90");
    EXPECT_EQ(machine("sm_60"), "sm_70");
    EXPECT_EQ(machine("sm_88"), "sm_89");
    EXPECT_EQ(machine("sm_100a"), "sm_100");
    EXPECT_EQ(machine("sm_110"), "sm_120");
    EXPECT_EQ(machine("sm_110a"), none);
    EXPECT_EQ(machine("sm_110f"), none);
    EXPECT_EQ(machine("sm_130"), none);
    EXPECT_EQ(machine("debug"), none);
}

TEST(Legality, ArchitecturesByName) {
    for (const ArchRow& a : arch_rows) EXPECT_EQ(arch_named(a.name), a.arch);
    EXPECT_EQ(arch_named("sm_90a"), Arch::sm_90);
    EXPECT_EQ(arch_named("sm_120f"), Arch::sm_120);
    for (const std::string_view bad :
         {"", "sm_", "sm_60", "sm_110", "sm_9", "SM_90", "90", "sm_90b"})
        EXPECT_FALSE(arch_named(bad).has_value()) << bad;
}

}  // namespace
}  // namespace lockwarp::isa
