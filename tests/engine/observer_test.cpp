// SPDX-License-Identifier: Apache-2.0
// What a C observer hears, and the instructions it is told of.
#include <gtest/gtest.h>

#include <array>

#include "tests/engine/support.hpp"

namespace lockwarp::engine {
namespace {

struct Heard {
    std::vector<std::string> lines;
    int began = 0;
    int ended = 0;
    uint64_t instructions = 0;
};

std::string text_of(const lockwarp_retired* at) {
    lockwarp_instruction i{};
    i.struct_size = sizeof i;
    EXPECT_EQ(lockwarp_kernel_instruction(at->kernel, at->instruction, &i), LOCKWARP_OK);
    EXPECT_EQ(i.line, at->line);
    return i.text;
}

lockwarp_observer observer_of(Heard& heard) {
    lockwarp_observer o{};
    o.struct_size = sizeof o;
    o.user = &heard;
    o.retired = [](void* user, const lockwarp_retired* at) {
        auto* h = static_cast<Heard*>(user);
        EXPECT_EQ(at->step, h->lines.empty() ? 0 : h->instructions);
        ++h->instructions;
        h->lines.push_back("retired " + text_of(at));
    };
    o.written = [](void* user, const lockwarp_retired* at, const lockwarp_written* what) {
        const auto* words = static_cast<const uint32_t*>(what->values);
        const auto* wide = static_cast<const uint64_t*>(what->values);
        const uint64_t last = what->bits == 64 ? wide[31] : what->bits == 1 ? words[0] : words[31];
        static_cast<Heard*>(user)->lines.push_back("written " + std::string(what->name) + " " +
                                                   what->type + " " + std::to_string(last));
        EXPECT_EQ(at->executed, 0xffffffffu);
    };
    o.accessed = [](void* user, const lockwarp_retired* at, const lockwarp_accessed* what) {
        auto* h = static_cast<Heard*>(user);
        h->lines.push_back(std::string(what->store != 0 ? "store " : "load ") + what->space + " " +
                           std::to_string(what->bytes[31]) + " " +
                           std::to_string(what->address[31] - what->address[0]));
        EXPECT_EQ(what->lanes, at->executed);
    };
    o.cta_began = [](void* user, uint64_t) { ++static_cast<Heard*>(user)->began; };
    o.cta_ended = [](void* user, uint64_t) { ++static_cast<Heard*>(user)->ended; };
    return o;
}

TEST(Observer, HearsInstructionsRegistersAndMemory) {
    const Context context = make_context();
    const auto module = load(context, kernel_text(R"(mov.u32 %r0, %tid.x;
setp.lt.u32 %q0, %r0, 4;
mul.wide.u32 %rd0, %r0, 4;
add.u64 %rd1, %p0, %rd0;
st.global.u32 [%rd1], %r0;)"));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    std::array<uint32_t, 32> out{};
    ASSERT_EQ(add(context, out.data(), sizeof out, "out"), LOCKWARP_OK);
    Heard heard;
    const lockwarp_observer observer = observer_of(heard);
    Options o({address_of(out.data())});
    o.observer = &observer;
    const auto given = run(kernel.value, o);
    ASSERT_EQ(given.status, LOCKWARP_OK) << given.message;
    const std::string base = std::to_string(address_of(out.data()));
    const std::string last = std::to_string(address_of(out.data() + 31));
    const std::vector<std::string> expected{"load param 8 0",
                                            "written %p0 b64 " + base,
                                            "retired ld.param.u64 %p0, [p0];",
                                            "written %r0 b32 31",
                                            "retired mov.u32 %r0, %tid.x;",
                                            "written %q0 pred 15",
                                            "retired setp.lt.u32 %q0, %r0, 4;",
                                            "written %rd0 b64 124",
                                            "retired mul.wide.u32 %rd0, %r0, 4;",
                                            "written %rd1 b64 " + last,
                                            "retired add.u64 %rd1, %p0, %rd0;",
                                            "store global 4 124",
                                            "retired st.global.u32 [%rd1], %r0;",
                                            "retired ret;"};
    EXPECT_EQ(heard.lines, expected);
    EXPECT_EQ(heard.began, 1);
    EXPECT_EQ(heard.ended, 1);
    EXPECT_EQ(out[31], 31u);
    // The end of the body is one more.
    EXPECT_EQ(lockwarp_kernel_instructions(kernel.value), heard.instructions + 1);
}

TEST(Observer, HearsEachCtaByItself) {
    const Context context = make_context();
    const auto module = load(context, kernel_text("", 0));
    Heard heard;
    lockwarp_observer observer = observer_of(heard);
    observer.retired = nullptr;
    Options o;
    o.grid[0] = 5;
    o.threads = 1;
    o.observer = &observer;
    ASSERT_EQ(run(kernel_of(module.value).value, o).status, LOCKWARP_OK);
    EXPECT_EQ(heard.began, 5);
    EXPECT_EQ(heard.ended, 5);
    EXPECT_TRUE(heard.lines.empty());
}

TEST(Instructions, NameTheirPlaceInTheSource) {
    const Context context = make_context();
    const auto module =
        load(context, kernel_text(".loc 1 42 7\nmov.u32 %r0, 1;", 0, ".file 1 \"gemm.cu\""));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    lockwarp_instruction i{};
    i.struct_size = sizeof i;
    ASSERT_EQ(lockwarp_kernel_instruction(kernel.value, 0, &i), LOCKWARP_OK);
    EXPECT_STREQ(i.text, "mov.u32 %r0, 1;");
    EXPECT_STREQ(i.opcode, "mov");
    EXPECT_STREQ(i.function, "kernel");
    EXPECT_STREQ(i.file, "gemm.cu");
    EXPECT_EQ(i.source_line, 42u);
    EXPECT_EQ(i.source_column, 7u);
    EXPECT_EQ(lockwarp_kernel_instruction(kernel.value, 100, &i), LOCKWARP_NOT_FOUND);
}

// A trap in a function that was inlined twice over, and text of threads that print.
TEST(Results, HaveTheSourceOfATrap) {
    const Context context = make_context();
    const auto module =
        load(context, kernel_text(".loc 1 10 3\nmov.u32 %r0, 1;\n"
                                  ".loc 2 5 9, function_name $L__info0, inlined_at 1 10 3\ntrap;",
                                  0, ".file 1 \"main.cu\"\n.file 2 \"inner.cuh\""));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto given = run(kernel_of(module.value).value, Options());
    ASSERT_EQ(given.status, LOCKWARP_TRAPPED);
    const lockwarp_trap t = trap_of(given.value);
    EXPECT_EQ(t.kind, LOCKWARP_TRAP_TRAP);
    EXPECT_STREQ(t.instruction, "trap;");
    lockwarp_source s{};
    s.struct_size = sizeof s;
    ASSERT_EQ(lockwarp_result_source(given.value.get(), 0, &s), LOCKWARP_OK);
    EXPECT_STREQ(s.file, "inner.cuh");
    EXPECT_EQ(s.line, 5u);
    EXPECT_EQ(lockwarp_result_source(given.value.get(), t.sources, &s), LOCKWARP_NOT_FOUND);
    EXPECT_NE(given.message.find("from inner.cuh:5:9"), std::string::npos) << given.message;
}

const std::string print_text = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);
.global .align 1 .b8 format[4] = {37, 117, 10, 0};
.entry kernel()
{
    .local .align 8 .b8 args[8];
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .pred %q;
    mov.u32 %r0, %tid.x;
    setp.ne.u32 %q, %r0, 33;
    @%q ret;
    mov.u64 %rd0, args;
    cvta.local.u64 %rd1, %rd0;
    st.local.u32 [%rd0], %r0;
    mov.u64 %rd2, format;
    { .param .b64 p0; .param .b64 p1; .param .b32 d;
    st.param.b64 [p0], %rd2;
    st.param.b64 [p1], %rd1;
    call.uni (d), vprintf, (p0, p1);
    ld.param.b32 %r1, [d]; }
    ret;
}
)";

TEST(Results, HaveWhatThreadsPrinted) {
    const Context context = make_context();
    const auto module = load(context, print_text);
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    ASSERT_EQ(kernel.status, LOCKWARP_OK) << kernel.message;
    Options o;
    o.block[0] = 64;
    o.grid[1] = 2;
    const auto given = run(kernel.value, o);
    ASSERT_EQ(given.status, LOCKWARP_OK) << given.message;
    ASSERT_EQ(lockwarp_result_printed_count(given.value.get()), 2u);
    lockwarp_printed p{};
    p.struct_size = sizeof p;
    ASSERT_EQ(lockwarp_result_printed(given.value.get(), 1, &p), LOCKWARP_OK);
    EXPECT_STREQ(p.text, "33\n");
    EXPECT_EQ(p.size, 3u);
    EXPECT_EQ(p.cta_index, 1u);
    EXPECT_EQ(p.cta[1], 1u);
    EXPECT_EQ(p.thread[0], 33u);
    EXPECT_EQ(p.warp, 1u);
    EXPECT_EQ(p.lane, 1u);
    EXPECT_EQ(lockwarp_result_printed(given.value.get(), 2, &p), LOCKWARP_NOT_FOUND);
}

TEST(Results, HaveWhatTheAssemblerFolded) {
    const Context context = make_context("sm_90");
    const auto module = load(
        context,
        kernel_text(".reg .f32 %f<2>;\nmov.f32 %f0, 0f3DCCCCCD;\nsin.approx.f32 %f1, %f0;", 0));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    Options o;
    const auto folded = run(kernel.value, o);
    o.flags = LOCKWARP_NO_FOLDING;
    const auto plain = run(kernel.value, o);
    EXPECT_EQ(lockwarp_result_folded_count(plain.value.get()), 0u);
    ASSERT_EQ(lockwarp_result_folded_count(folded.value.get()), 1u);
    lockwarp_folded f{};
    f.struct_size = sizeof f;
    ASSERT_EQ(lockwarp_result_folded(folded.value.get(), 0, &f), LOCKWARP_OK);
    EXPECT_NE(f.value, f.instruction);
    EXPECT_NE(f.line, 0u);
    EXPECT_EQ(lockwarp_result_folded(folded.value.get(), 1, &f), LOCKWARP_NOT_FOUND);
}

// A caller of another version: a structure that is shorter or longer than the library's.
TEST(Structures, OfOtherVersionsAreTakenAndGiven) {
    const Context context = make_context();
    const auto module = load(context, kernel_text("", 0));
    const lockwarp_kernel* const kernel = kernel_of(module.value).value;
    struct Longer {
        lockwarp_kernel_info known;
        uint64_t later;
    } longer{};
    longer.known.struct_size = sizeof longer;
    longer.later = 99;
    EXPECT_EQ(lockwarp_kernel_get_info(kernel, &longer.known), LOCKWARP_OK);
    EXPECT_EQ(longer.later, 0u);
    EXPECT_EQ(longer.known.struct_size, sizeof longer);
    lockwarp_kernel_info shorter{};
    shorter.struct_size = offsetof(lockwarp_kernel_info, arch);
    EXPECT_EQ(lockwarp_kernel_get_info(kernel, &shorter), LOCKWARP_OK);
    EXPECT_STREQ(shorter.name, "kernel");
    EXPECT_EQ(shorter.arch, nullptr);
    lockwarp_kernel_info none{};
    EXPECT_EQ(lockwarp_kernel_get_info(kernel, &none), LOCKWARP_INVALID_ARGUMENT);
    struct LongerLaunch {
        lockwarp_launch_options known;
        uint64_t later;
    } launch{};
    launch.known.struct_size = sizeof launch;
    EXPECT_EQ(lockwarp_launch(kernel, &launch.known, nullptr, nullptr), LOCKWARP_OK);
    launch.later = 1;
    EXPECT_EQ(lockwarp_launch(kernel, &launch.known, nullptr, nullptr), LOCKWARP_INVALID_ARGUMENT);
    launch.known.struct_size = offsetof(lockwarp_launch_options, grid);
    EXPECT_EQ(lockwarp_launch(kernel, &launch.known, nullptr, nullptr), LOCKWARP_OK);
}

}  // namespace
}  // namespace lockwarp::engine
