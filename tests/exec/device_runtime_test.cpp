// SPDX-License-Identifier: Apache-2.0
// Launches by kernels as values: what a thread asked for, and in which order.
#include <cstring>

#include "emu/warp/device_answers.hpp"
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

// Each answer is told apart from the others.
struct Answers : warp::DeviceAnswers {
    bool has_launch(const warp::DeviceLaunch& l) override { return l.block.x != 100; }
    std::string error_text(int error, bool is_name) override {
        return (is_name ? "name " : "text ") + std::to_string(error);
    }
    Answer limit(int limit) override { return word(limit + 1000); }
    Answer device_attribute(int attribute, int device) override {
        if (device != 0) return {101, {}};
        return {0, Bytes{static_cast<uint8_t>(attribute), 1, 2, 3}};
    }
    Answer function_attributes(const std::string& kernel) override {
        Answer out{0, Bytes(40, 9)};
        out.bytes[0] = static_cast<uint8_t>(kernel.size());
        out.bytes[39] = 1;
        return out;
    }
    Answer resident_ctas(const std::string& kernel, int threads, uint64_t dynamic) override {
        Answer out{threads == 0 ? 1u : 0u, Bytes(4)};
        out.bytes[0] = static_cast<uint8_t>(kernel.size() + threads + dynamic);
        return out;
    }
    static Answer word(uint64_t value) {
        Answer out{0, Bytes(8)};
        std::memcpy(out.bytes.data(), &value, 8);
        return out;
    }
};

struct Ran {
    warp::Result result;
    Words errors;
};

Ran run_of(const std::string& text, uint32_t ctas, uint32_t threads, bool is_looked_at = true) {
    const isa::Program program = program_of(text, isa::Arch::sm_90, "parent");
    Answers answers;
    Bytes out(std::max<size_t>(size_t{ctas} * threads * 32, 64), 0xee);
    warp::Launch l;
    l.grid.x = ctas;
    l.block.x = threads;
    if (is_looked_at) l.device = &answers;
    l.buffers = {{"out", buffer_address(1), out}};
    append(l.parameters, buffer_address(1));
    warp::Result result = launch(program, l);
    return {std::move(result), words_of(out)};
}

Words first(const Ran& ran, size_t count) {
    return {ran.errors.begin(), ran.errors.begin() + count};
}

TEST(DeviceRuntime, LaunchesAreNotedByCta) {
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

TEST(DeviceRuntime, Streams) {
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

TEST(DeviceRuntime, ABlockThatIsTooLargeIsAnError) {
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
    return R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBuffer(.param .b64 a, .param .b64 n);
.extern .func (.param .b32 r) __cudaCDP2LaunchDevice(.param .b64 f, .param .b64 p,
 .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,
 .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.visible .entry child(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[6]) { ret; }
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
// leaves its buffer; only streams that were created are streams here; a kernel that has no
// parameters needs no buffer; and a buffer has room for every kernel's.
TEST(DeviceRuntime, TheFirstFormOfALaunch) {
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

TEST(DeviceRuntime, BadAddressesOfTheFirstFormTrap) {
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
TEST(DeviceRuntime, KernelsHaveAddresses) {
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
TEST(DeviceRuntime, AKernelIsNotCalled) {
    std::string text = module_of("0");
    const std::string from = "st.global.u32 [%rd1], %r5;";
    text.replace(text.find(from), from.size(), "call other;");
    const ptx::Parsed parsed = ptx::parse(text);
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "parent");
    ASSERT_EQ(resolved.diagnostics.size(), 1u);
    EXPECT_EQ(resolved.diagnostics[0].message, "An entry cannot be called: 'other'");
}

// One thread calls functions of the device's runtime. Of each: its name, the types and values of
// its arguments, its result's type, stored at out + 8 * its number. %out is `out`; what is stored
// where an argument points goes to %in, `out` + 32, %low or %high.
struct Called {
    std::string name;
    std::vector<std::pair<std::string, std::string>> arguments;
    std::string result = "b32";
};

std::string calls_of(const std::vector<Called>& calls) {
    std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    std::string body;
    size_t number = 0;
    for (const Called& c : calls) {
        std::string taken, passed, given;
        for (size_t k = 0; k < c.arguments.size(); ++k) {
            const auto& [type, value] = c.arguments[k];
            const std::string n = "a" + std::to_string(k), comma = k == 0 ? "" : ", ";
            taken += comma + ".param ." + type + " " + n;
            passed += comma + n;
            given += ".param ." + type + " " + n + "; ";
            given += "st.param." + type + " [" + n + "], " + value + ";\n";
        }
        const std::string declared = ".extern .func (.param ." + c.result + " r) " + c.name + "(";
        if (head.find(declared) == head.npos) head += declared + taken + ");\n";
        const std::string is = c.result == "b64" ? "%l" : "%r";
        body += "{ " + given + ".param ." + c.result + " r;\ncall (r), " + c.name + ", (" + passed +
                ");\nld.param." + c.result + " " + is + ", [r];\n}\nst.global." + c.result +
                " [%out+" + std::to_string(8 * number++) + "], " + is + ";\n";
    }
    return head + R"(.visible .entry child(.param .u64 a) { ret; }
.visible .entry parent(.param .u64 out)
{
.reg .b64 %out, %low, %in, %high, %child, %l; .reg .b32 %r;
ld.param.u64 %out, [out];
add.u64 %low, %out, 8; add.u64 %in, %out, 32; add.u64 %high, %out, 40;
)" + (body.find("%child") != body.npos ? "mov.u64 %child, child;\n" : "") +
           body + "ret;\n}\n";
}

using Arguments = std::vector<std::pair<std::string, std::string>>;

Called copy_of(const std::string& to, const std::string& from, const std::string& bytes,
               const std::string& kind = "3", const std::string& stream = "0") {
    return {"__cudaCDP2MemcpyAsync",
            {{"b64", to}, {"b64", from}, {"b64", bytes}, {"b32", kind}, {"b64", stream}}};
}

Called fill_of(const std::string& to, const std::string& value, const std::string& bytes,
               const std::string& stream = "0") {
    return {"__cudaCDP2MemsetAsync_ptsz",
            {{"b64", to}, {"b32", value}, {"b64", bytes}, {"b64", stream}}};
}

TEST(DeviceRuntime, CopiesAndFillsAreNoted) {
    const Ran ran = run_of(calls_of({copy_of("%out", "%in", "7"),
                                     fill_of("%in", "0x1ff", "9", "3"),
                                     {"__cudaCDP2Memcpy2DAsync",
                                      {{"b64", "%out"},
                                       {"b64", "16"},
                                       {"b64", "%in"},
                                       {"b64", "17"},
                                       {"b64", "5"},
                                       {"b64", "3"},
                                       {"b32", "4"},
                                       {"b64", "4"}}},
                                     {"__cudaCDP2Memset2DAsync",
                                      {{"b64", "%out"},
                                       {"b64", "8"},
                                       {"b32", "-2"},
                                       {"b64", "8"},
                                       {"b64", "2"},
                                       {"b64", "0"}}}}),
                           1, 1);
    ASSERT_EQ(fault_of(ran.result), "");
    for (const size_t k : {0, 2, 4, 6}) EXPECT_EQ(ran.errors[k], 0u) << k;
    using warp::DeviceWork;
    struct Expected {
        DeviceWork work;
        warp::DeviceRows rows;
        bool last;
    };
    const uint64_t out = buffer_address(1), in = out + 32;
    const std::vector<Expected> expected{{DeviceWork::copy, {out, 0, in, 0, 7, 1, 0}, false},
                                         {DeviceWork::fill, {in, 0, 0, 0, 9, 1, 0xff}, true},
                                         {DeviceWork::copy, {out, 16, in, 17, 5, 3, 0}, false},
                                         {DeviceWork::fill, {out, 8, 0, 0, 8, 2, 0xfe}, false}};
    ASSERT_EQ(ran.result.launches.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
        const warp::DeviceLaunch& is = ran.result.launches[k];
        const warp::DeviceRows& r = expected[k].rows;
        EXPECT_EQ(is.work, expected[k].work) << k;
        EXPECT_EQ(is.last, expected[k].last) << k;
        EXPECT_EQ((std::array{is.rows.to, is.rows.to_pitch, is.rows.from, is.rows.from_pitch}),
                  (std::array{r.to, r.to_pitch, r.from, r.from_pitch}))
            << k;
        EXPECT_EQ((std::array{is.rows.width, is.rows.height, uint64_t{is.rows.value}}),
                  (std::array{r.width, r.height, uint64_t{r.value}}))
            << k;
    }
}

// As an H200 answers.
TEST(DeviceRuntime, WrongCopies) {
    const std::string shared = std::to_string(isa::shared_window + 8);
    const std::string local = std::to_string(isa::local_window + 8);
    const std::string constant = std::to_string(isa::const_window + 8);
    struct Case {
        Called call;
        uint32_t error;
        size_t launches = 0;
    };
    for (const Case& c : {Case{copy_of("%out", "%in", "8", "1"), 21},
                          {copy_of("%out", "%in", "8", "5"), 21},
                          {copy_of("%out", "%in", "0", "1"), 0},
                          {copy_of("0", "%in", "8"), 1},
                          {copy_of("%out", "0", "8"), 1},
                          {copy_of("0", "0", "0"), 0},
                          {copy_of("%out", shared, "8"), 1},
                          {copy_of(local, "%in", "8"), 1},
                          {copy_of("%out", constant, "8"), 0, 1},
                          {copy_of("%out", std::to_string(isa::param_window), "8"), 0, 1},
                          {copy_of("%out", "%in", "8", "4", "77"), 999},
                          {fill_of("0", "1", "8"), 1},
                          {fill_of("0", "1", "0"), 0},
                          {fill_of(shared, "1", "8"), 1},
                          {fill_of("%out", "1", "8", "77"), 999}}) {
        const Ran ran = run_of(calls_of({c.call}), 1, 1);
        EXPECT_EQ(ran.errors[0], c.error) << calls_of({c.call});
        EXPECT_EQ(ran.result.launches.size(), c.launches) << calls_of({c.call});
    }
    const auto rows = [](const std::string& pitch, const std::string& height) {
        return std::vector<Called>{{"__cudaCDP2Memcpy2DAsync",
                                    {{"b64", "%out"},
                                     {"b64", "8"},
                                     {"b64", "%in"},
                                     {"b64", pitch},
                                     {"b64", "8"},
                                     {"b64", height},
                                     {"b32", "3"},
                                     {"b64", "0"}}},
                                   {"__cudaCDP2Memset2DAsync",
                                    {{"b64", "%out"},
                                     {"b64", pitch},
                                     {"b32", "0"},
                                     {"b64", "8"},
                                     {"b64", height},
                                     {"b64", "0"}}}};
    };
    const auto errors = [&](const std::string& pitch, const std::string& height) {
        const Ran ran = run_of(calls_of(rows(pitch, height)), 1, 1);
        const bool any = ran.errors[0] == 0 && height != "0";
        EXPECT_EQ(ran.result.launches.size(), any ? 2u : 0u);
        return std::pair{ran.errors[0], ran.errors[2]};
    };
    EXPECT_EQ(errors("7", "2"), std::pair(12u, 1u));
    EXPECT_EQ(errors("8", "2"), std::pair(0u, 0u));
    EXPECT_EQ(errors("7", "1"), std::pair(0u, 0u));
    EXPECT_EQ(errors("7", "0"), std::pair(0u, 0u));
    for (Called c : rows("8", "2")) {
        c.arguments.back().second = "77";
        EXPECT_EQ(run_of(calls_of({c}), 1, 1).errors[0], 999u);
        c.arguments.back().second = "3";
        EXPECT_TRUE(run_of(calls_of({c}), 1, 1).result.launches.at(0).last);
    }
}

TEST(DeviceRuntime, WhoeverLooksAtLaunchesAnswers) {
    const auto with = [](const std::string& name, const Arguments& arguments) {
        return run_of(calls_of({{name, arguments}}), 1, 1).errors;
    };
    Words w = with("__cudaCDP2DeviceGetLimit", {{"b64", "%in"}, {"b32", "2"}});
    EXPECT_EQ((std::array{w[0], w[8], w[9]}), (std::array{0u, 1002u, 0u}));
    w = with("__cudaCDP2DeviceGetAttribute", {{"b64", "%in"}, {"b32", "7"}, {"b32", "0"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{0u, 0x03020107u}));
    w = with("__cudaCDP2DeviceGetAttribute", {{"b64", "%in"}, {"b32", "7"}, {"b32", "1"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{101u, 0xeeeeeeeeu}));
    w = with("__cudaCDP2FuncGetAttributes", {{"b64", "%low"}, {"b64", "%child"}});
    EXPECT_EQ((std::array{w[0], w[2], w[11], w[12]}),
              (std::array{0u, 0x09090905u, 0x01090909u, 0xeeeeeeeeu}));
    w = with("__cudaCDP2FuncGetAttributes", {{"b64", "%in"}, {"b64", "0"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{1u, 0xeeeeeeeeu}));
    const std::string occupancy = "__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor";
    w = with(occupancy, {{"b64", "%in"}, {"b64", "%child"}, {"b32", "32"}, {"b64", "100"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{0u, 137u}));
    w = with(occupancy + "WithFlags",
             {{"b64", "%in"}, {"b64", "%child"}, {"b32", "0"}, {"b64", "100"}, {"b32", "1"}});
    EXPECT_EQ((std::array{w[0], w[8]}), (std::array{1u, 105u}));
    const Ran bad = run_of(
        calls_of({{occupancy, {{"b64", "%in"}, {"b64", "64"}, {"b32", "1"}, {"b64", "0"}}}}), 1, 1);
    EXPECT_NE(fault_of(bad.result).find("the address is no kernel's"), std::string::npos);
    EXPECT_NE(fault_of(bad.result).find("address 0x40,"), std::string::npos);
}

// It lies where a kernel may read it, and where it lay before.
TEST(DeviceRuntime, TextsOfErrors) {
    const std::string text = "__cudaCDP2GetErrorString", name = "__cudaCDP2GetErrorName";
    std::string module = calls_of({{text, {{"b32", "9"}}, "b64"},
                                   {text, {{"b32", "9"}}, "b64"},
                                   {name, {{"b32", "9"}}, "b64"},
                                   {text, {{"b32", "10"}}, "b64"}});
    module.replace(module.rfind("ret;"), 4,
                   "ld.global.u64 %in, [%out+16]; ld.u32 %r, [%in]; st.global.u32 [%out+32], %r; "
                   "ld.global.u64 %in, [%out]; ld.v2.u32 {%r, %r2}, [%in]; "
                   "st.global.v2.u32 [%out+40], {%r, %r2}; ret;");
    module.replace(module.find(".reg .b32 %r;"), 13, ".reg .b32 %r, %r2;");
    const Words w = run_of(module, 1, 1).errors;
    const auto address = [&](size_t k) { return w[2 * k] | uint64_t{w[2 * k + 1]} << 32; };
    EXPECT_EQ(address(0), address(1));
    EXPECT_NE(address(0), address(2));
    EXPECT_NE(address(0), address(3));
    EXPECT_NE(address(0), 0u);
    EXPECT_EQ(w[8], 0x656d616eu);   // "name"
    EXPECT_EQ(w[10], 0x74786574u);  // "text"
    EXPECT_EQ(w[11], 0x3920u);      // " 9", and the end
}

TEST(DeviceRuntime, Memory) {
    const Words w =
        run_of(calls_of({{"__cudaCDP2Malloc", {{"b64", "%in"}, {"b64", "64"}}},
                         {"__cudaCDP2Malloc", {{"b64", "%high"}, {"b64", "0"}}},
                         {"__cudaCDP2Malloc", {{"b64", "0"}, {"b64", "64"}}},
                         {"__cudaCDP2Malloc", {{"b64", "%high"}, {"b64", "1099511627776"}}}}),
               1, 1)
            .errors;
    EXPECT_EQ((std::array{w[0], w[2], w[4], w[6]}), (std::array{0u, 1u, 1u, 2u}));
    EXPECT_EQ(w[8] | uint64_t{w[9]} << 32, isa::heap_base);
    EXPECT_EQ(w[10], 0xeeeeeeeeu);
    EXPECT_EQ(run_of(calls_of({{"__cudaCDP2Free", {{"b64", "0"}}}}), 1, 1).errors[0], 0u);
    const Ran bad = run_of(calls_of({{"__cudaCDP2Free", {{"b64", "%out"}}}}), 1, 1);
    EXPECT_NE(fault_of(bad.result).find("malloc did not return"), std::string::npos);
}

Called stream_at(const std::string& at, const std::string& flags = "1") {
    return {"__cudaCDP2StreamCreateWithFlags", {{"b64", at}, {"b32", flags}}};
}
Called event_at(const std::string& at, const std::string& flags = "2") {
    return {"__cudaCDP2EventCreateWithFlags", {{"b64", at}, {"b32", flags}}};
}
Called record_of(const std::string& event, const std::string& stream) {
    return {"__cudaCDP2EventRecord", {{"b64", event}, {"b64", stream}}};
}
Called wait_of(const std::string& stream, const std::string& event) {
    return {"__cudaCDP2StreamWaitEvent", {{"b64", stream}, {"b64", event}, {"b32", "9"}}};
}

// Handles are those of one CTA, from 65537 on.
TEST(DeviceRuntime, StreamsAndEvents) {
    const auto errors = [](const std::vector<Called>& calls) {
        const Words w = run_of(calls_of(calls), 1, 1).errors;
        Words out;
        for (size_t k = 0; k < calls.size(); ++k) out.push_back(w[2 * k]);
        return out;
    };
    const Called stream = stream_at("%in"), event = event_at("%in");
    const Called end_stream{"__cudaCDP2StreamDestroy", {{"b64", "65537"}}};
    const Called end_event{"__cudaCDP2EventDestroy", {{"b64", "65537"}}};
    EXPECT_EQ(errors({stream, end_stream, end_stream}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({event, end_event, end_event}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({stream, end_event}), (Words{0, 1}));
    EXPECT_EQ(errors({event, end_stream}), (Words{0, 1}));
    EXPECT_EQ(
        errors({event, record_of("65537", "0"), record_of("65537", "77"), wait_of("77", "65537")}),
        (Words{0, 0, 1, 1}));
    EXPECT_EQ(errors({event, wait_of("0", "65537"), record_of("65537", "3")}), (Words{0, 0, 1}));
    EXPECT_EQ(errors({stream, event, record_of("65538", "65537"), wait_of("65537", "65538")}),
              (Words{0, 0, 0, 0}));
    EXPECT_EQ(errors({stream, copy_of("%out", "%in", "8", "4", "65537"), end_stream,
                      copy_of("%out", "%in", "8", "4", "65537")}),
              (Words{0, 0, 0, 999}));
    EXPECT_EQ(errors({stream_at("%in", "0"), stream_at("%in", "3"), event_at("%in", "0"),
                      event_at("%in", "3")}),
              (Words{1, 1, 1, 1}));

    const Words w = run_of(calls_of({stream, event_at("%high")}), 1, 1).errors;
    EXPECT_EQ((Words{w[8], w[9], w[10], w[11]}), (Words{65537, 0, 65538, 0}));
    EXPECT_EQ(run_of(calls_of({stream}), 1, 1).errors[10], 0xeeeeeeeeu);
    const Words none = run_of(calls_of({stream_at("%in", "0")}), 1, 1).errors;
    EXPECT_EQ(none[8], 0xeeeeeeeeu);

    for (const Called& c : {record_of("65539", "0"), wait_of("0", "65539")})
        EXPECT_NE(fault_of(run_of(calls_of({event, c}), 1, 1).result)
                      .find("an event that cudaEventCreateWithFlags did not give"),
                  std::string::npos);
}

TEST(DeviceRuntime, Numbers) {
    const Words w = run_of(calls_of({{"__cudaCDP2GetDevice", {{"b64", "%in"}}},
                                     {"__cudaCDP2GetDeviceCount", {{"b64", "%high"}}}}),
                           1, 1)
                        .errors;
    EXPECT_EQ((Words{w[0], w[2], w[8], w[9], w[10], w[11]}),
              (Words{0, 0, 0, 0xeeeeeeee, 1, 0xeeeeeeee}));
    const Words version =
        run_of(calls_of({{"__cudaCDP2RuntimeGetVersion", {{"b64", "%in"}}}}), 1, 1).errors;
    EXPECT_EQ((Words{version[0], version[8]}), (Words{0, 6000}));
    // Of these a launch has no need of anybody that looks at it.
    EXPECT_EQ(run_of(calls_of({{"__cudaCDP2RuntimeGetVersion", {{"b64", "%in"}}}}), 1, 1, false)
                  .errors[8],
              6000u);
}

// Each thread's results lie 32 bytes behind the last one's; %l is its number.
std::string calls_of_threads(const std::vector<Called>& calls) {
    std::string module = calls_of(calls);
    module.replace(module.find("add.u64 %low"), 0,
                   "mov.u32 %r, %tid.x; cvt.u64.u32 %l, %r; mad.lo.u64 %out, %l, 32, %out; ");
    return module;
}

// A thread's last error is its own, and asking for it ends it.
TEST(DeviceRuntime, EachThreadHasItsErrors) {
    const Called last{"__cudaCDP2GetLastError", {}}, peek{"__cudaCDP2PeekAtLastError", {}};
    const Called wrong = copy_of("%in", "%high", "%l", "1");  // but of no bytes
    const auto of = [](const Ran& ran, size_t lane) {
        return Words(ran.errors.begin() + 8 * lane, ran.errors.begin() + 8 * lane + 8);
    };
    const Ran ran = run_of(calls_of_threads({wrong, peek, last, last}), 1, 40);
    const Ran kept = run_of(calls_of_threads({peek, wrong, peek}), 1, 40);
    ASSERT_EQ(fault_of(ran.result) + fault_of(kept.result), "");
    for (size_t lane = 0; lane < 40; ++lane) {
        const uint32_t error = lane == 0 ? 0 : 21;
        const Words w = of(ran, lane), k = of(kept, lane);
        EXPECT_EQ((Words{w[0], w[2], w[4], w[6]}), (Words{error, error, error, 0})) << lane;
        EXPECT_EQ((Words{k[0], k[2], k[4]}), (Words{0, error, error})) << lane;
    }
    const Ran handles = run_of(calls_of_threads({stream_at("%low")}), 1, 40);
    for (uint32_t lane = 0; lane < 40; ++lane) EXPECT_EQ(of(handles, lane)[2], 65537 + lane);
}

// By their addresses: behind all functions, in the module's order, with the bytes of their
// parameters. Those whose address nobody takes are not among them.
TEST(DeviceRuntime, KernelsHaveNumbers) {
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
}  // namespace lockwarp::exec::device_runtime_test
