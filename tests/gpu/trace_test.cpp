// SPDX-License-Identifier: Apache-2.0
// The text of traced kernels.
#include "gpu/trace.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "emu/isa/resolver.hpp"
#include "emu/ptx/parser.hpp"
#include "gpu/instrument.hpp"

namespace {

using namespace lockwarp;

std::string text_of(const std::string& name) {
    const std::ifstream file(LOCKWARP_SOURCE_DIR "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string traced(const std::string& text, const std::string& entry) {
    const ptx::Module module = gpu::with_explicit_rounding(ptx::parse(text).module);
    const isa::Resolved resolved = isa::resolve(module, isa::Arch::sm_90, entry);
    EXPECT_TRUE(resolved.diagnostics.empty());
    return gpu::trace_kernel(module, resolved.program,
                             gpu::choose_traced(resolved.program, {}, module))
        .ptx;
}

std::string opcode(const ptx::Instruction& i) {
    std::string text = i.opcode;
    for (const ptx::Modifier& m : i.modifiers) text += m.text;
    return text;
}

// NVIDIA's compiler loses the first of two stores to one word of a result where a guarded store
// stands between them (tests/compiler/split_result.ptx).
TEST(Trace, NothingStandsBetweenStoresToAResult) {
    for (const char* name : {"gpu/kernels/calls_O0.sm_80.ptx", "gpu/kernels/calls_G.sm_80.ptx"}) {
        ptx::Module module = ptx::parse(traced(text_of(name), "calls")).module;
        size_t runs = 0;
        for (auto& item : module.items) {
            auto* const f = std::get_if<ptx::Function>(&item);
            if (f == nullptr || !f->has_body || f->results.empty()) continue;
            const std::string result = f->results[0].name;
            const std::string* between = nullptr;  // the last opcode since a store to the result
            bool stored = false;
            std::string last;
            gpu::each_instruction(f->body, [&](ptx::Instruction& i) {
                const bool stores =
                    opcode(i).starts_with("st.param") && i.operands[0].items[0].text == result;
                if (stores && stored) {
                    EXPECT_EQ(between, nullptr) << name << ", " << f->name << ": " << *between;
                }
                if (stores) {
                    stored = true;
                    between = nullptr;
                    ++runs;
                } else if (i.opcode == "ret") {
                    stored = false;
                } else {
                    last = opcode(i);
                    between = &last;
                }
            });
        }
        EXPECT_GT(runs, 8u) << name;
    }
}

TEST(Trace, AStoreToAParameterStaysBeforeItsSourceChanges) {
    const std::string text = traced(
        R"(.version 7.0
.target sm_70
.address_size 64
.func (.param .b32 result) f(.param .b32 x)
{
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    ld.param.b32 %r1, [x];
    st.param.b32 [result], %r1;
    add.u32 %r2, %r1, 1;
    add.u32 %r1, %r1, 1;
    setp.eq.u32 %p1, %r1, 3;
    @%p1 st.param.b32 [result], %r2;
    @%p1 bra L;
    add.u32 %r2, %r1, 1;
L:
    ret;
}
.visible .entry k()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 1;
    {
        .param .b32 x;
        .param .b32 result;
        st.param.b32 [x], %r1;
        call (result), f, (x);
        ld.param.b32 %r1, [result];
    }
    ret;
}
)",
        "k");
    const auto place = [&](const char* what) {
        const size_t at = text.find(what);
        EXPECT_NE(at, std::string::npos) << what;
        return at;
    };
    EXPECT_LT(place("add.u32 %r2, %r1, 1"), place("st.param.b32 [result], %r1"));
    EXPECT_LT(place("st.param.b32 [result], %r1"), place("add.u32 %r1, %r1, 1"));
    EXPECT_LT(place("add.u32 %r1, %r1, 1"), place("@%p1 st.param.b32 [result], %r2"));
    EXPECT_LT(place("@%p1 st.param.b32 [result], %r2"), place("@%p1 bra L"));
}

// NVIDIA's compiler took several times as long for a guarded store to each word.
TEST(Trace, StoresHaveNoGuardAndStraightCodeLooksAtTheWindowOnce) {
    const std::string name = "gpu/kernels/attention.sm_80.ptx";
    const auto count = [](const std::string& text, const std::string& entry,
                          const std::function<bool(const ptx::Instruction&)>& is) {
        const ptx::Module module = ptx::parse(text).module;
        size_t n = 0;
        gpu::each_instruction(gpu::find_function(module, entry)->body,
                              [&](const ptx::Instruction& i) { n += is(i); });
        return n;
    };
    const auto is_store = [](const ptx::Instruction& i) {
        return i.opcode == "st" && !i.operands[0].items.empty() &&
               i.operands[0].items[0].text == "%lw_d";
    };
    const std::string text = traced(text_of(name), "attention");
    const size_t stores = count(text, "attention", is_store);
    EXPECT_GT(stores, 2000u);
    EXPECT_EQ(
        count(text, "attention",
              [&](const ptx::Instruction& i) { return is_store(i) && !i.guard.name.empty(); }),
        0u);
    const size_t looks = count(text, "attention", [](const ptx::Instruction& i) {
        return i.opcode == "selp" && i.operands[0].text == "%lw_d";
    });
    EXPECT_GT(looks, 10u);
    EXPECT_LT(looks, stores / 15);
}

}  // namespace
