// SPDX-License-Identifier: Apache-2.0
// Calls from which nobody comes back, beside their plain definition; which places of shared
// variables are known; smaller edges of resolution.
#include <algorithm>
#include <random>

#include "emu/isa/flow.hpp"
#include "emu/isa/nearest.hpp"
#include "emu/isa/placement.hpp"
#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// A function is a list of these, one behind the other; `to` is an item behind, or a function.
struct Item {
    enum class Kind { nothing, call, jump, maybe_jump, trap, exit, maybe_exit, ret, fail } kind;
    size_t to = 0;
};
using Body = std::vector<Item>;

// Whether a way leads from item `at` to the end or a return, where calls of the functions in
// `returning` alone come back.
bool comes_back(const Body& body, size_t at, const std::vector<bool>& returning) {
    if (at == body.size()) return true;
    using enum Item::Kind;
    const Item& item = body[at];
    switch (item.kind) {
        case ret:
            return true;
        case trap:
        case exit:
        case fail:
            return false;
        case jump:
            return comes_back(body, item.to, returning);
        case maybe_jump:
            return comes_back(body, item.to, returning) || comes_back(body, at + 1, returning);
        case call:
            return returning[item.to] && comes_back(body, at + 1, returning);
        case nothing:
        case maybe_exit:
            break;
    }
    return comes_back(body, at + 1, returning);
}

std::string text_of(const Body& body) {
    using enum Item::Kind;
    std::string out;
    for (size_t i = 0; i <= body.size(); ++i) {
        out += "L" + std::to_string(i) + ": ";
        if (i == body.size()) break;
        const std::string to = std::to_string(body[i].to);
        switch (body[i].kind) {
            case nothing:
                out += "mov.u32 %r, 1;\n";
                break;
            case call:
                out += "call f" + to + ";\n";
                break;
            case jump:
                out += "bra L" + to + ";\n";
                break;
            case maybe_jump:
                out += "@%p bra L" + to + ";\n";
                break;
            case trap:
                out += "trap;\n";
                break;
            case exit:
                out += "exit;\n";
                break;
            case maybe_exit:
                out += "@%p exit;\n";
                break;
            case ret:
                out += "ret;\n";
                break;
            case fail:
                out += "call __assertfail, (%d, %d, %r, %d, %d);\n";
                break;
        }
    }
    return out + "ret;\n}\n";
}

TEST(LostCalls, AreThoseOfFunctionsThatNeverReturn) {
    using enum Item::Kind;
    std::mt19937 random(9);
    constexpr size_t n = 7;
    size_t lost = 0, kept = 0;
    for (int round = 0; round < 200; ++round) {
        std::array<Body, n> bodies;
        for (size_t f = 0; f < n; ++f) {
            const size_t length = 1 + random() % 5;
            for (size_t i = 0; i < length; ++i) {
                const auto kind = static_cast<Item::Kind>(random() % 9);
                // Backwards there is no way: the plain definition follows every one.
                const size_t behind = i + 1 + random() % (length - i);
                bodies[f].push_back({kind, kind == call ? 1 + random() % (n - 1) : behind});
            }
        }
        // The entry names all, so that each is there.
        for (size_t f = 1; f < n; ++f) bodies[0].insert(bodies[0].begin(), {call, f});
        for (Item& item : bodies[0])
            if (item.kind == jump || item.kind == maybe_jump) item.to = bodies[0].size();
        std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
        for (size_t f = 1; f < n; ++f) text += ".func f" + std::to_string(f) + "();\n";
        for (size_t f = 0; f < n; ++f)
            text += (f == 0 ? ".entry k() {" : ".func f" + std::to_string(f) + "() {") +
                    std::string(" .reg .pred %p; .reg .b32 %r; .reg .b64 %d;\n") +
                    text_of(bodies[f]);
        // The least set: one function after another is found to return, until none is added.
        std::vector<bool> returning(n, false);
        for (bool grown = true; grown;) {
            grown = false;
            for (size_t f = 1; f < n; ++f)
                if (!returning[f] && comes_back(bodies[f], 0, returning))
                    grown = returning[f] = true;
        }
        const Program p = [&] {
            Resolved r = resolved(text, Arch::sm_90, "k");
            EXPECT_EQ(messages(r.diagnostics), "") << text;
            return std::move(r.program);
        }();
        const std::vector<uint8_t> found = find_lost_calls(p);
        ASSERT_EQ(found.size(), p.calls.size());
        for (size_t i = 0; i < p.calls.size(); ++i) {
            const Call& c = p.calls[i];
            const bool comes =
                c.system == System::none &&
                returning[static_cast<size_t>(p.functions[c.function].name[1] - '0')];
            ASSERT_EQ(found[i] == 0, comes) << text << i;
            ++(comes ? kept : lost);
        }
    }
    EXPECT_GT(lost, 500u);
    EXPECT_GT(kept, 500u);
    // By a pointer, and from what the machine has itself, one comes back.
    const Program p = program_of(
        ".reg .b64 %d<3>; L: .callprototype _ ();\n"
        "call %d1, L; call (%d1), malloc, (%d2); call free, (%d2);");
    EXPECT_EQ(find_lost_calls(p), (std::vector<uint8_t>{0, 0, 0}));
}

TEST(SharedPlaces, AreKnownWhereTheEntryAloneNamesThem) {
    const auto known = [](const std::string& text, const std::string& entry = "k") {
        const ptx::Parsed parsed =
            ptx::parse(".version 9.0\n.target sm_90\n.address_size 64\n" + text);
        EXPECT_EQ(messages(parsed.diagnostics), "") << text;
        return shared_places_known(parsed.module, entry);
    };
    const std::string shared = ".shared .b32 s; .global .b32 g;\n";
    const std::string uses = "{ .reg .u32 r; mov.u32 r, s; ret; }\n";
    const std::string plain = "{ .reg .u32 r; .reg .u64 d; mov.u64 d, g; ret; }\n";
    EXPECT_TRUE(known(shared + ".entry k() " + uses));
    EXPECT_TRUE(known(shared + ".func f() " + plain + ".entry k() { call f; ret; }"));
    EXPECT_FALSE(known(shared + ".func f() " + uses + ".entry k() { call f; ret; }"));
    // By way of another, and one that nobody calls.
    EXPECT_FALSE(known(shared + ".func f() " + uses +
                       ".func h() { call f; ret; } .entry k() { call h; ret; }"));
    EXPECT_TRUE(known(shared + ".func f() " + uses + ".entry k() { ret; }"));
    // Its own, whether or not it is named.
    EXPECT_FALSE(known(".func f() { .shared .b32 own; ret; } .entry k() { call f; ret; }"));
    EXPECT_FALSE(known(".func f() { { .shared .b32 own; } ret; } .entry k() { call f; ret; }"));
    // Another entry that does.
    EXPECT_TRUE(
        known(shared + ".func f() " + uses + ".entry j() { call f; ret; } .entry k() { ret; }"));
    EXPECT_FALSE(known(
        shared + ".func f() " + uses + ".entry j() { call f; ret; } .entry k() { ret; }", "j"));
}

TEST(ScaleFactors, HaveTheirBytesAndThreads) {
    const auto ids = [](const std::string& a, const std::string& b) {
        const std::string four = "{%b32_0, %b32_1, %b32_2, %b32_3}";
        const Resolved r = resolved(
            module_with({"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3."
                         "e2m1.f32.ue8m0 " +
                         four + ", " + four + ", {%b32_4, %b32_5}, " + four + ", %b32_6, " + a +
                         ", %b32_7, " + b + ";"},
                        "sm_120a", "9.0"),
            Arch::sm_120);
        EXPECT_EQ(messages(r.diagnostics), "");
        return first_of(r.program, Op::mma).scale_ids;
    };
    EXPECT_EQ(ids("{0, 0}", "{0, 0}"), (std::array<uint8_t, 4>{0, 0, 0, 0}));
    EXPECT_EQ(ids("{3, 1}", "{2, 3}"), (std::array<uint8_t, 4>{3, 1, 2, 3}));
    EXPECT_EQ(ids("{1, 0}", "{0, 2}"), (std::array<uint8_t, 4>{1, 0, 0, 2}));
}

TEST(Operands, VectorsOfCoordinatesByName) {
    const auto error = [](const std::string& vector, const std::string& geometry) {
        return errors_of(".reg .b64 %d; .reg .f32 %f<4>; .reg " + vector + " c;\ntex." + geometry +
                         ".v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d, c];");
    };
    const std::string mismatch = "7:46: Arguments mismatch for instruction 'tex'\n";
    EXPECT_EQ(error(".v2 .f32", "2d"), "");
    EXPECT_EQ(error(".v2 .b32", "2d"), "");
    EXPECT_EQ(error(".v4 .f32", "3d"), "");
    EXPECT_EQ(error(".v4 .f32", "2d"), mismatch);
    EXPECT_EQ(error(".v2 .f32", "3d"), mismatch);
    EXPECT_EQ(error(".v2 .f64", "2d"), mismatch);
    EXPECT_EQ(error(".v2 .b16", "2d"), mismatch);
    EXPECT_EQ(errors_of(".reg .v2 .b128 q;"), "6:16: Registers of type '.b128' are not executed\n");
    EXPECT_EQ(errors_of(".reg .v2 .b32 v;\ncall f, (v);", ".func f(.reg .b32 a) { ret; }"),
              "7:10: Arguments mismatch for instruction 'call' (a register, a constant or a .param "
              "variable of this function is expected)\n");
}

TEST(Versions, FromWhichOneFeatureIsThere) {
    const auto answer = [](const std::string& instruction, std::string_view target,
                           std::string_view version) {
        const Resolved r = resolved(module_with({instruction}, target, version), Arch::sm_90);
        return r.diagnostics.empty() ? "" : r.diagnostics[0].message;
    };
    // Shuffles and votes of whole warps went with 6.4.
    for (const std::string& old : {std::string("shfl.idx.b32 %b32_1, %b32_2, 0, 31;"),
                                   std::string("vote.ballot.b32 %b32_1, %pred_1;")}) {
        const std::string words = "Instruction '" + old.substr(0, 4) +
                                  "' without '.sync' is not supported on .target sm_70 and "
                                  "higher from PTX ISA version 6.4";
        EXPECT_EQ(answer(old, "sm_70", "6.4"), words);
        EXPECT_NE(answer(old, "sm_70", "6.3"), words);
    }
    const std::string four = "{%b32_1, %b32_2, %b32_3, %b32_4}, [%u64_1], 16;";
    const std::pair<std::string, std::string> wmma[] = {
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 " + four, ".bf16"},
        {"wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 " + four, ".tf32"},
        {"wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%f64_1}, [%u64_1], 16;",
         "WMMA with fp64 types"},
    };
    for (const auto& [load, feature] : wmma) {
        EXPECT_EQ(answer(load, "sm_80", "7.0"), "") << load;
        EXPECT_EQ(answer(load, "sm_80", "6.5"),
                  "Feature '" + feature + "' requires PTX ISA .version 7.0 or later");
        EXPECT_EQ(answer(load, "sm_75", "7.0"),
                  "Feature '" + feature + "' requires .target sm_80 or higher");
    }
}

// What an instruction that is wrong otherwise lacks of the module comes first.
TEST(Versions, OfTypesBeforeWhatElseIsWrong) {
    const auto answer = [](const std::string& instruction, std::string_view target,
                           std::string_view version) {
        const Resolved r = resolved(module_with({instruction}, target, version), Arch::sm_90);
        return r.diagnostics.empty() ? "" : r.diagnostics[0].message;
    };
    for (const auto& [type, feature] : {std::pair<std::string, std::string>{".bf16", ".bf16"},
                                        {".tf32", ".tf32"},
                                        {".f64", "WMMA with fp64 types"}}) {
        const std::string load =
            "wmma.load.a.sync.aligned.row.m8n8k32.global" + type + " {%b32_1}, [%u64_1], 16;";
        const std::string words = "Feature '" + feature + "' requires ";
        EXPECT_EQ(answer(load, "sm_80", "6.5"), words + "PTX ISA .version 7.0 or later");
        EXPECT_EQ(answer(load, "sm_75", "7.0"), words + ".target sm_80 or higher");
        EXPECT_EQ(answer(load, "sm_80", "7.0"),
                  "Incorrect instruction type specified for "
                  "wmma.load.a with shape '.m8n8k32'");
    }
}

TEST(Nearest, ThreeOfSixLettersMayBeOthersTheFirstToo) {
    EXPECT_EQ(nearest("abcdef", {"xbcxyf"}), "xbcxyf");
    EXPECT_EQ(nearest("abcdefgh", {"xbcxyfgh"}), "xbcxyfgh");
    EXPECT_EQ(nearest("abcdefgh", {"xbcxyzgh"}), "");
}

}  // namespace
}  // namespace lockwarp::isa
