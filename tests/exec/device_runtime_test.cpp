// SPDX-License-Identifier: Apache-2.0
// Launches by kernels as values: what a thread asked for, and in which order.
#include "tests/exec/support.hpp"

namespace lockwarp::exec::device_runtime_test {
namespace {

// Each thread of the parent launches child<<<(2, 3, 4), (8, 4, 2), 96>>>(its number, its CTA's).
std::string module_of(const std::string& stream, const std::string& block = "8") {
    return R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,
 .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.visible .entry child(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[6]) { ret; }
.visible .entry other() { ret; }
.visible .entry parent(.param .u64 out)
{
.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd1, %rd1, %rd2;
mov.u64 %rd3, child;
{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
st.param.b64 [f], %rd3;
st.param.b32 [g], 2; st.param.b32 [g+4], 3; st.param.b32 [g+8], 4;
st.param.b32 [b], )" +
           block + R"(; st.param.b32 [b+4], 4; st.param.b32 [b+8], 2;
st.param.b32 [s], 96;
call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
ld.param.b64 %rd4, [r]; }
st.u8 [%rd4], %r1; cvt.u64.u32 %rd5, %r2; st.u64 [%rd4+8], %rd5; st.u8 [%rd4+21], 77;
{ .param .b64 p; .param .b64 s; .param .b32 r;
st.param.b64 [p], %rd4; st.param.b64 [s], )" +
           stream + R"(;
call (r), __cudaCDP2LaunchDeviceV2, (p, s);
ld.param.b32 %r5, [r]; }
st.global.u32 [%rd1], %r5;
ret;
}
)";
}

struct Ran {
    warp::Result result;
    Words errors;
};

Ran run_of(const std::string& text, uint32_t ctas, uint32_t threads, bool may_launch = true) {
    const isa::Program program = program_of(text, isa::Arch::sm_90, "parent");
    Bytes out(size_t{ctas} * threads * 4, 0xee);
    warp::Launch l;
    l.grid.x = ctas;
    l.block.x = threads;
    l.may_launch = may_launch;
    l.buffers = {{"out", buffer_address(1), out}};
    append(l.parameters, buffer_address(1));
    warp::Result result = launch(program, l);
    return {std::move(result), words_of(out)};
}

TEST(DeviceRuntime, LaunchesAreNotedByCta) {
    const Ran ran = run_of(module_of("0"), 3, 40);
    ASSERT_EQ(fault_of(ran.result), "");
    EXPECT_EQ(ran.errors, Words(120, 0));
    ASSERT_EQ(ran.result.launches.size(), 120u);
    for (uint32_t i = 0; i < 120; ++i) {
        const warp::DeviceLaunch& l = ran.result.launches[i];
        EXPECT_EQ(l.cta_index, i / 40);
        EXPECT_EQ(l.warp, i % 40 / 32);
        EXPECT_EQ(l.lane, i % 40 % 32);
        EXPECT_EQ(l.place.line, 21u);
        EXPECT_EQ(l.kernel, "child");
        EXPECT_TRUE(l.grid.x == 2 && l.grid.y == 3 && l.grid.z == 4);
        EXPECT_TRUE(l.block.x == 8 && l.block.y == 4 && l.block.z == 2);
        EXPECT_EQ(l.dynamic_shared, 96u);
        EXPECT_FALSE(l.last);
        ASSERT_EQ(l.parameters.size(), 22u);
        EXPECT_EQ(l.parameters[0], i % 40);
        EXPECT_EQ(l.parameters[8], i / 40);
        EXPECT_EQ(l.parameters[21], 77);
    }
}

TEST(DeviceRuntime, Streams) {
    EXPECT_TRUE(run_of(module_of("3"), 1, 1).result.launches.at(0).last);
    EXPECT_FALSE(run_of(module_of("4"), 1, 1).result.launches.at(0).last);
    const Ran unknown = run_of(module_of("65600"), 1, 1);
    EXPECT_EQ(unknown.errors, Words{1});
    EXPECT_TRUE(unknown.result.launches.empty());
}

TEST(DeviceRuntime, ABlockThatIsTooLargeIsAnError) {
    for (const char* const x : {"129", "0", "4294967295"}) {
        const Ran ran = run_of(module_of("0", x), 1, 2);
        EXPECT_EQ(ran.errors, Words(2, 9)) << x;
        EXPECT_TRUE(ran.result.launches.empty()) << x;
    }
    EXPECT_EQ(run_of(module_of("0", "128"), 1, 1).errors, Words{0});
}

TEST(DeviceRuntime, OnlyWhereSomebodyRunsThem) {
    const Ran ran = run_of(module_of("0"), 1, 1, false);
    ASSERT_TRUE(ran.result.refusal);
    EXPECT_EQ(ran.result.refusal->what,
              "it launches kernels itself (dynamic parallelism), which is not supported here");
}

// In place of a kernel's address, and of a buffer's.
TEST(DeviceRuntime, BadAddressesTrap) {
    const auto with = [](std::string text, const std::string& from, const std::string& to) {
        text.replace(text.find(from), from.size(), to);
        const Ran ran = run_of(text, 1, 1);
        EXPECT_TRUE(ran.result.launches.empty());
        return fault_of(ran.result);
    };
    const std::string text = module_of("0");
    EXPECT_EQ(
        with(text, "[f], %rd3", "[f], 4096"),
        "address out of bounds: a launch: the address is no kernel's at line 21, CTA (0,0,0), "
        "warp 0, lane 0, address 0x1000, step 16");
    EXPECT_EQ(with(text, "[p], %rd4", "[p], %rd1"),
              "address out of bounds: a launch: the address is no buffer that "
              "cudaGetParameterBuffer returned at line 26, CTA (0,0,0), warp 0, lane 0, address "
              "0x20000000, step 24");
}

// A kernel is to be launched, not called.
TEST(DeviceRuntime, AKernelIsNotCalled) {
    std::string text = module_of("0");
    const std::string from = "st.global.u32 [%rd1], %r5;";
    text.replace(text.find(from), from.size(), "call other;");
    const ptx::Parsed parsed = ptx::parse(text);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "parent");
    ASSERT_EQ(resolved.diagnostics.size(), 1u);
    EXPECT_EQ(resolved.diagnostics[0].message, "An entry cannot be called: 'other'");
}

}  // namespace
}  // namespace lockwarp::exec::device_runtime_test
