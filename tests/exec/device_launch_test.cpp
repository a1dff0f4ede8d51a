// SPDX-License-Identifier: Apache-2.0
// Launches by kernels as values: what a thread asked for, in which order, and the addresses of
// kernels.
#include <cstring>

#include "tests/exec/device_support.hpp"

namespace lockwarp::exec::device_launch_test {
namespace {

// The second form of a launch, and a kernel.
const std::string begin_of_module = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,
 .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.visible .entry child(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[6]) { ret; }
)";

// Each thread of the parent launches child<<<(2, 3, 4), (8, 4, 2), 96>>>(its number, its CTA's).
std::string module_of(const std::string& stream, const std::string& block = "8") {
    return begin_of_module + R"(.visible .entry other() { ret; }
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

Words first(const Ran& ran, size_t count) {
    return {ran.errors.begin(), ran.errors.begin() + count};
}

TEST(DeviceLaunch, LaunchesAreNotedByCta) {
    const Ran ran = run_of(module_of("0"), 3, 40);
    ASSERT_EQ(fault_of(ran.result), "");
    EXPECT_EQ(first(ran, 120), Words(120, 0));
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

TEST(DeviceLaunch, Streams) {
    EXPECT_TRUE(run_of(module_of("3"), 1, 1).result.launches.at(0).last);
    EXPECT_FALSE(run_of(module_of("4"), 1, 1).result.launches.at(0).last);
    // cudaStreamLegacy and cudaStreamPerThread, as on an H200.
    for (const char* const stream : {"1", "2"}) {
        const Ran ran = run_of(module_of(stream), 1, 1);
        EXPECT_EQ(ran.errors[0], 0u) << stream;
        ASSERT_EQ(ran.result.launches.size(), 1u) << stream;
        EXPECT_FALSE(ran.result.launches[0].last) << stream;
    }
    for (const char* const stream : {"5", "65600"}) {
        const Ran unknown = run_of(module_of(stream), 1, 1);
        EXPECT_EQ(unknown.errors[0], 1u) << stream;
        EXPECT_TRUE(unknown.result.launches.empty()) << stream;
    }
}

TEST(DeviceLaunch, ABlockThatIsTooLargeIsAnError) {
    for (const char* const x : {"129", "0", "4294967295", "100"}) {
        const Ran ran = run_of(module_of("0", x), 1, 2);
        EXPECT_EQ(first(ran, 2), Words(2, 9)) << x;
        EXPECT_TRUE(ran.result.launches.empty()) << x;
    }
    EXPECT_EQ(run_of(module_of("0", "128"), 1, 1).errors[0], 0u);
    std::string grid = module_of("0");
    grid.replace(grid.find("[g+4], 3"), 8, "[g+4], 65536");
    EXPECT_EQ(run_of(grid, 1, 1).errors[0], 9u);
}

TEST(DeviceLaunch, OnlyWhereSomebodyRunsThem) {
    const Ran ran = run_of(module_of("0"), 1, 1, false);
    ASSERT_TRUE(ran.result.refusal);
    EXPECT_EQ(ran.result.refusal->what,
              "it launches kernels itself (dynamic parallelism), which is not supported here");
}

// In place of a kernel's address, and of a buffer's.
TEST(DeviceLaunch, BadAddressesTrap) {
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
    // The first launch of a buffer has taken it.
    EXPECT_NE(with(text, "st.global.u32 [%rd1], %r5;",
                   "{ .param .b64 p; .param .b64 s; .param .b32 r; st.param.b64 [p], %rd4; "
                   "st.param.b64 [s], 0; call (r), __cudaCDP2LaunchDeviceV2, (p, s); }")
                  .find("the address is no buffer"),
              std::string::npos);
    EXPECT_EQ(with(text, "[p], %rd4", "[p], %rd1"),
              "address out of bounds: a launch: the address is no buffer that "
              "cudaGetParameterBuffer returned at line 26, CTA (0,0,0), warp 0, lane 0, address "
              "0x20000000, step 24");
}

// One thread launches by cudaLaunchDevice, once for each: kernel, buffer, threads of a CTA, stream.
// %b and %c are buffers of the first form that it filled, %v one of the second. Each error lies at
// out + 8 * its number.
std::string first_form(const std::vector<std::array<std::string, 4>>& launches,
                       const std::string& bytes = "22") {
    std::string body;
    for (size_t k = 0; k < launches.size(); ++k) {
        const auto& [kernel, buffer, block, stream] = launches[k];
        body += R"({ .param .b64 f; .param .b64 p; .param .align 4 .b8 g[12];
.param .align 4 .b8 b[12]; .param .b32 s; .param .b64 t; .param .b32 r;
st.param.b64 [f], )" +
                kernel + "; st.param.b64 [p], " + buffer +
                "; st.param.b32 [g], 5; st.param.b32 [g+4], 6; st.param.b32 [g+8], 7;\n"
                "st.param.b32 [b], " +
                block +
                "; st.param.b32 [b+4], 2; st.param.b32 [b+8], 3; st.param.b32 [s], 80;\n"
                "st.param.b64 [t], " +
                stream +
                ";\ncall (r), __cudaCDP2LaunchDevice, (f, p, g, b, s, t);\n"
                "ld.param.b32 %r, [r]; }\nst.global.u32 [%out+" +
                std::to_string(8 * k) + "], %r;\n";
    }
    const std::string begin = R"({ .param .b64 a; .param .b64 n; .param .b64 r;
st.param.b64 [a], 1; st.param.b64 [n], )" +
                              bytes + R"(;
call (r), __cudaCDP2GetParameterBuffer, (a, n); ld.param.b64 )";
    const auto filled = [](const std::string& buffer, const std::string& value) {
        return "st.u8 [" + buffer + "], " + value + "; st.u64 [" + buffer + "+8], %out; st.u8 [" +
               buffer + "+21], %w;\n";
    };
    return begin_of_module +
           R"(.extern .func (.param .b64 r) __cudaCDP2GetParameterBuffer(.param .b64 a, .param .b64 n);
.extern .func (.param .b32 r) __cudaCDP2LaunchDevice(.param .b64 f, .param .b64 p,
 .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);
.visible .entry bare() { ret; }
.visible .entry parent(.param .u64 out)
{
.reg .b64 %out, %b, %c, %v, %child, %bare; .reg .b32 %r, %w, %x;
ld.param.u64 %out, [out]; mov.b64 %child, child; mov.b64 %bare, bare;
mov.b32 %w, 77; mov.b32 %x, 78;
)" + begin +
           "%b, [r]; }\n" + begin + R"(%c, [r]; }
{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
st.param.b64 [f], %child; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1; st.param.b32 [s], 0;
call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s); ld.param.b64 %v, [r]; }
)" + filled("%b", "%w") +
           filled("%c", "%x") + filled("%v", "%w") + body + "ret;\n}\n";
}

// As an H200 answers: the shape is the call's, whichever form began the buffer; a launch that fails
// leaves its buffer; neither of the two streams that are no CTA's is one here; a kernel that has no
// parameters needs no buffer; and a buffer has room for every kernel's.
TEST(DeviceLaunch, TheFirstFormOfALaunch) {
    for (const char* const bytes : {"22", "0", "-1"}) {
        const Ran ran = run_of(first_form({{"%child", "%b", "171", "0"},
                                           {"%child", "%b", "8", "3"},
                                           {"%child", "%b", "8", "4"},
                                           {"%child", "%b", "8", "99"},
                                           {"%child", "%b", "9", "0"},
                                           {"%child", "%c", "10", "0"},
                                           {"%child", "%v", "11", "1"},
                                           {"%bare", "0", "12", "2"}},
                                          bytes),
                               1, 1);
        ASSERT_EQ(fault_of(ran.result), "");
        const std::array<uint32_t, 8> errors{9, 1, 1, 1, 0, 0, 0, 0};
        for (size_t k = 0; k < errors.size(); ++k) EXPECT_EQ(ran.errors[2 * k], errors[k]) << k;
        ASSERT_EQ(ran.result.launches.size(), 4u);
        for (uint32_t k = 0; k < 4; ++k) {
            const warp::DeviceLaunch& l = ran.result.launches[k];
            EXPECT_EQ(l.kernel, k == 3 ? "bare" : "child");
            EXPECT_TRUE(l.grid.x == 5 && l.grid.y == 6 && l.grid.z == 7);
            EXPECT_TRUE(l.block.x == 9 + k && l.block.y == 2 && l.block.z == 3);
            EXPECT_EQ(l.dynamic_shared, 80u);
            EXPECT_FALSE(l.last);
            ASSERT_EQ(l.parameters.size(), k == 3 ? 0u : 22u);
            if (k == 3) continue;
            EXPECT_EQ(l.parameters[0], k == 1 ? 78 : 77);
            uint64_t out = 0;
            std::memcpy(&out, &l.parameters[8], 8);
            EXPECT_EQ(out, buffer_address(1));
            EXPECT_EQ(l.parameters[21], 77);
        }
    }
}

TEST(DeviceLaunch, BadAddressesOfTheFirstFormTrap) {
    const auto said = [](const std::vector<std::array<std::string, 4>>& launches) {
        const Ran ran = run_of(first_form(launches), 1, 1);
        return fault_of(ran.result);
    };
    const std::string buffer = "the address is no buffer that cudaGetParameterBuffer returned";
    EXPECT_NE(said({{"%out", "%b", "1", "0"}}).find("the address is no kernel's"),
              std::string::npos);
    EXPECT_NE(said({{"%child", "0", "1", "0"}}).find(buffer), std::string::npos);
    EXPECT_NE(said({{"%bare", "%out", "1", "0"}}).find(buffer), std::string::npos);
    // The launch that went well took it.
    EXPECT_NE(said({{"%child", "%b", "1", "0"}, {"%child", "%b", "1", "0"}}).find(buffer),
              std::string::npos);
    EXPECT_EQ(said({{"%child", "%b", "1", "0"}, {"%bare", "%c", "1", "0"}}), "");
    // The second form of a launch needs a buffer that names its kernel.
    std::string mixed = first_form({});
    mixed.replace(mixed.rfind("ret;"), 4,
                  "{ .param .b64 p; .param .b64 s; .param .b32 r; st.param.b64 [p], %b; "
                  "st.param.b64 [s], 0; call (r), __cudaCDP2LaunchDeviceV2, (p, s); } ret;");
    EXPECT_NE(fault_of(run_of(mixed, 1, 1).result).find(buffer), std::string::npos);
}

// Of the entry itself too, in a module that launches none, and as an initial value.
TEST(DeviceLaunch, KernelsHaveAddresses) {
    const Ran ran = run_of(R"(.version 8.0
.target sm_90
.address_size 64
.visible .func f() { ret; }
.global .b64 table[2] = {parent, other};
.visible .entry other(.param .u64 out) { ret; }
.visible .entry parent(.param .u64 out)
{
.reg .b64 %out, %a, %b, %c;
ld.param.u64 %out, [out];
mov.b64 %a, other; mov.b64 %b, parent; ld.global.b64 %c, [table+8];
st.global.b64 [%out], %a; st.global.b64 [%out+8], %b; st.global.b64 [%out+16], %c;
ret;
}
)",
                           1, 1, false);
    ASSERT_EQ(fault_of(ran.result), "");
    const auto address = [&](size_t k) {
        return ran.errors[2 * k] | uint64_t{ran.errors[2 * k + 1]} << 32;
    };
    // Behind all functions, in the module's order.
    EXPECT_EQ(address(0), isa::code_window + 2 * isa::code_stride);
    EXPECT_EQ(address(1), isa::code_window + 3 * isa::code_stride);
    EXPECT_EQ(address(2), address(0));
}

// A kernel is to be launched, not called.
TEST(DeviceLaunch, AKernelIsNotCalled) {
    std::string text = module_of("0");
    const std::string from = "st.global.u32 [%rd1], %r5;";
    text.replace(text.find(from), from.size(), "call other;");
    const ptx::Parsed parsed = ptx::parse(text);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "parent");
    ASSERT_EQ(resolved.diagnostics.size(), 1u);
    EXPECT_EQ(resolved.diagnostics[0].message, "An entry cannot be called: 'other'");
}

// By their addresses: behind all functions, in the module's order, with the bytes of their
// parameters. Those whose address nobody takes are not among them.
TEST(DeviceLaunch, KernelsHaveNumbers) {
    const isa::Program program = program_of(R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.func f() { ret; }
.visible .entry none() { ret; }
.visible .entry one(.param .u8 a) { ret; }
.visible .entry unused(.param .u64 a) { ret; }
.visible .entry parent(.param .u32 a, .param .u64 b)
{
.reg .b64 %rd<4>;
mov.u64 %rd1, parent; mov.u64 %rd2, one; mov.u64 %rd3, none;
call f;
ret;
}
)",
                                            isa::Arch::sm_90, "parent");
    ASSERT_EQ(program.launched.size(), 3u);
    const auto is = [&](size_t k, const char* name, uint32_t number, uint32_t bytes) {
        const isa::LaunchedKernel& l = program.launched[k];
        EXPECT_EQ(l.name, name);
        EXPECT_EQ(l.number, number) << name;
        EXPECT_EQ(l.parameter_bytes, bytes) << name;
    };
    is(0, "parent", 5, 16);
    is(1, "one", 3, 1);
    is(2, "none", 2, 0);
}

}  // namespace
}  // namespace lockwarp::exec::device_launch_test
