// SPDX-License-Identifier: Apache-2.0
// Which bytes of memory are undefined behind instructions that store, copy and load them, also as
// matrices: those that nothing defined, moved to where they are stored.
#include <array>

#include "tests/check/said.hpp"

namespace lockwarp::check::undefined_memory_test {
namespace {

using namespace brief;

constexpr uint64_t out_at = 0x10000, in_at = 0x40000;

// What f makes of a run of that body under `uninitialised`, parts of `in` being undefined before
// it.
template <class F>
auto of_a_run(const std::string& body, const std::string& outside, std::vector<Range> before, F f) {
    const ptx::Parsed parsed = ptx::parse(kernel_of(body, outside));
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
    std::vector<uint8_t> out(256), in(256);
    warp::Launch launch;
    launch.threads = 1;
    launch.buffers = {{"out", out_at, out}, {"in", in_at, in}};
    launch.parameters.resize(resolved.program.parameter_bytes);
    for (size_t i = 0; i < 2; ++i)
        std::memcpy(launch.parameters.data() + 8 * i, &launch.buffers[i].address, 8);
    const Chosen chosen = choose("uninitialised");
    const Checking checking(chosen.rows, resolved.program, launch, &parsed.module,
                            {std::move(before), {}});
    const warp::Result result = exec::launch(resolved.program, launch);
    EXPECT_FALSE(result.refusal || result.trap) << body;
    return f(checking, result);
}

struct Memory {
    std::vector<Range> in{};  // of `in` what is undefined, by offset
    bool fills = true;        // the array with values, before the body
    std::string outside{};
    uint32_t cluster = 1;
    bool copies = true;  // the array to `out`, behind the body
};

std::string ranges_of(const std::vector<Range>& undefined, uint64_t begin, uint64_t bytes) {
    std::string out;
    for (const Range& r : undefined) {
        const uint64_t first = std::max(r.address, begin);
        const uint64_t end = std::min(r.address + r.bytes, begin + bytes);
        if (first >= end) continue;
        out += (out.empty() ? "" : " ") + std::to_string(first - begin);
        if (end - first > 1) out += "-" + std::to_string(end - 1 - begin);
    }
    return out;
}

// Of the array's first KiB the bytes that one warp, or each CTA's, leaves undefined, as the launch
// tells the next one: `out` has what was copied there.
std::string undefined_after(const std::string& body, const Memory& m = {}) {
    const std::string fill =
        "mad.lo.u32 %r50, %r2, 16, %r5; mov.u32 %r51, 0;"
        "st.shared.v4.u32 [%r50], {%r51, %r51, %r51, %r51};"
        "st.shared.v4.u32 [%r50+512], {%r51, %r51, %r51, %r51}; bar.warp.sync -1;";
    const std::string copy =
        "mov.u32 %r52, %r2; mov.u32 %r55, %ctaid.x; mul.wide.u32 %rd32, %r55, 1024;"
        "add.u64 %rd32, %rd32, %rd1;\n"
        "COPY: add.u32 %r53, %r5, %r52; ld.shared.u8 %r54, [%r53]; cvt.u64.u32 %rd30, %r52;"
        "add.u64 %rd31, %rd32, %rd30; st.global.u8 [%rd31], %r54; add.u32 %r52, %r52, 32;"
        "setp.lt.u32 %p9, %r52, 1024; @%p9 bra COPY;\n";
    const ptx::Parsed parsed = ptx::parse(kernel_of(
        (m.fills ? fill : "") + "\n" + body + "\nbar.warp.sync -1;" + (m.copies ? copy : ""),
        m.outside));
    for (const auto& d : parsed.diagnostics) ADD_FAILURE() << d.message << "\n" << body;
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    for (const auto& d : resolved.diagnostics) ADD_FAILURE() << d.message << "\n" << body;
    std::vector<uint8_t> out(1 << 16), in(1 << 16);
    warp::Launch launch;
    launch.block.x = 32;
    launch.grid.x = m.cluster;
    if (m.cluster > 1) launch.cluster = warp::Dim3{m.cluster, 1, 1};
    launch.max_steps = 100000;
    launch.threads = 1;
    launch.buffers = {{"out", out_at, out}, {"in", in_at, in}};
    launch.buffers[0].undefined = true;
    launch.parameters.resize(resolved.program.parameter_bytes);
    for (size_t i = 0; i < 2; ++i)
        std::memcpy(launch.parameters.data() + 8 * i, &launch.buffers[i].address, 8);
    Described described;
    for (const Range& r : m.in) described.undefined.push_back({in_at + r.address, r.bytes});
    const Chosen chosen = choose("uninitialised");
    const Checking checking(chosen.rows, resolved.program, launch, &parsed.module, described);
    const warp::Result result = exec::launch(resolved.program, launch);
    EXPECT_FALSE(result.refusal || result.trap)
        << (result.trap ? result.trap->detail : result.refusal->what) << body;
    for (const Found& f : checking.found(result)) ADD_FAILURE() << f.finding.message << body;
    return ranges_of(checking.described().undefined, out_at, m.cluster * 1024u);
}

// A byte of the array becomes undefined.
std::string forget(unsigned at) {
    return "setp.eq.u32 %p1, %r2, 5; @%p1 st.shared.u8 [%r5+" + std::to_string(at) +
           "], %h3; bar.warp.sync -1; ";
}

// %r10 (%f1, %rd10) is undefined in lane 5, and %r11 (%f2, %rd11) is not.
const std::string given =
    "setp.ne.u32 %p1, %r2, 5; mov.u32 %r11, 0; mov.f32 %f2, 0f00000000; mov.u64 %rd11, 0;"
    "@%p1 mov.u32 %r10, 0; @%p1 mov.f32 %f1, 0f00000000; @%p1 mov.u64 %rd10, 0;";
const std::string row = "mad.lo.u32 %r20, %r2, 16, %r5;";  // of 16 bytes: the lane's

TEST(UndefinedMemory, IsWhatNothingStored) {
    EXPECT_EQ(undefined_after("", {.fills = false}), "0-1023");
    EXPECT_EQ(undefined_after(""), "");
    EXPECT_EQ(undefined_after(forget(84)), "84");
    EXPECT_EQ(undefined_after("st.shared.u8 [%r5+2], 0;", {.fills = false}), "0-1 3-1023");
    EXPECT_EQ(undefined_after("st.shared.v4.u32 [%r5+16], {%r1, %r1, %r1, %r1};", {.fills = false}),
              "0-15 32-1023");
    EXPECT_EQ(undefined_after(given + "@!%p1 st.shared.v4.u32 [%r5+16], {%r1, %r11, %r10, %r1};"),
              "24-27");
    // In `out` itself.
    const Memory out{.copies = false};
    EXPECT_EQ(undefined_after("", out), "0-1023");
    EXPECT_EQ(undefined_after(given + "@!%p1 st.global.u8 [%rd1+2], 0;", out), "0-1 3-1023");
    EXPECT_EQ(
        undefined_after(given + "@!%p1 st.global.v4.u32 [%rd1+64], {%r1, %r1, %r10, %r1};", out),
        "0-63 72-75 80-1023");
    EXPECT_EQ(undefined_after(given + "@!%p1 atom.global.exch.b32 %r12, [%rd1+64], 3;", out),
              "0-63 68-1023");
    // Several state spaces at a time, by generic addresses.
    const std::string generic =
        ".local .align 4 .b8 v[16]; mov.u64 %rd20, v; cvta.local.u64 %rd20, %rd20;"
        "cvt.u64.u32 %rd21, %r6; cvta.shared.u64 %rd21, %rd21; setp.eq.u32 %p1, %r2, 3;"
        "selp.b64 %rd22, %rd20, %rd21, %p1;";
    EXPECT_EQ(undefined_after(generic + "ld.u32 %r12, [%rd22]; st.shared.u32 [%r6+512], %r12;"),
              "524-527");
    EXPECT_EQ(undefined_after(generic + "st.u32 [%rd22], 7; ld.local.u32 %r12, [v];"
                                        "st.shared.u32 [%r6+512], %r12;"),
              "512-523 528-639");
    EXPECT_EQ(undefined_after(generic + "st.u32 [%rd22], %r30;"), "0-11 16-127");
}

TEST(UndefinedMemory, OfEachLane) {
    const std::string v = ".local .align 4 .b8 v[16]; setp.eq.u32 %p1, %r2, 3;";
    const std::string back = "ld.local.u32 %r12, [v]; st.shared.u32 [%r6], %r12;";
    EXPECT_EQ(undefined_after(v + back), "0-127");
    EXPECT_EQ(undefined_after(v + "@!%p1 st.local.u32 [v], 7;" + back), "12-15");
    EXPECT_EQ(undefined_after(v + "@%p1 st.local.u32 [v], 7;" + back), "0-11 16-127");
    EXPECT_EQ(undefined_after(v + "st.local.u8 [v+1], 7; @%p1 ld.local.u32 %r12, [v];"
                                  "@%p1 st.shared.u32 [%r6], %r12;"),
              "12 14-15");
    EXPECT_EQ(undefined_after(v + "@%p1 st.local.u32 [v], 7; @%p1 st.local.u16 [v+2], %h3;"
                                  "@%p1 ld.local.u32 %r12, [v]; @%p1 st.shared.u32 [%r6], %r12;"),
              "14-15");
}

// What cancels is not undefined (emu/check/differences.hpp); of global memory, where another thread
// may store between two loads, that is not known.
TEST(UndefinedMemory, OfDifferences) {
    // What is said of a difference of %r10 and %r11 that is stored to `out`, the first word of `in`
    // being undefined.
    const auto of = [](const std::string& body) {
        return of_a_run(body + "sub.u32 %r12, %r10, %r11;\nst.global.u32 [%rd1], %r12;", "",
                        {{in_at, 4}}, [](const Checking& checking, const warp::Result& result) {
                            Lines out;
                            for (const Found& f : checking.found(result))
                                out.emplace_back(f.finding.kind);
                            return out;
                        });
    };
    EXPECT_EQ(of("ld.global.u32 %r10, [%rd2]; mov.u32 %r11, %r10;"), Lines{});
    EXPECT_EQ(of("ld.global.u32 %r10, [%rd2]; st.shared.u32 [%r5], %r10;"
                 "ld.shared.u32 %r11, [%r5];"),
              Lines{});
    EXPECT_EQ(of("ld.global.u32 %r10, [%rd2]; mov.u32 %r11, 0;"), Lines{"stored"});
    EXPECT_EQ(of("ld.global.u32 %r10, [%rd2]; ld.global.u32 %r11, [%rd2];"), Lines{"stored"});
}

// Of a function's result all has a value, and of what lies beside it nothing.
TEST(UndefinedMemory, OfAFunctionsResult) {
    const std::string f =
        ".func (.param .align 4 .b8 r[20]) f(.param .u32 a) { .reg .b32 %x<3>;"
        "ld.param.u32 %x0, [a]; st.param.b32 [r], %x0; st.param.b32 [r+4], %x0;"
        "st.param.b32 [r+8], %x0; st.param.b32 [r+12], %x0; st.param.b32 [r+16], %x0; ret; }";
    std::string body =
        "{ .param .b32 p; .param .align 4 .b8 a[20]; .param .align 4 .b8 q[20];"
        ".param .align 4 .b8 b[20]; setp.eq.u32 %p1, %r2, 3; st.param.b32 [p], %r1;"
        "call (q), f, (p);";
    for (const char* array : {"a", "q", "b"})
        for (int i = 0; i < 5; ++i) {
            const std::string at = std::string(array) + "+" + std::to_string(4 * i);
            body += "ld.param.b32 %r12, [" + at + "]; @%p1 st.shared.u32 [%r5+" +
                    std::to_string((*array == 'a'   ? 0
                                    : *array == 'q' ? 64
                                                    : 128) +
                                   4 * i) +
                    "], %r12;";
        }
    EXPECT_EQ(undefined_after(body + "}", {.outside = f}), "0-19 128-147");
}

// Matrices of eight rows of 16 bytes. Lane l has two elements of row l / 4, from column l % 4 * 2
// on (PTX manual, "ldmatrix"); transposed, of that column.
TEST(UndefinedMemory, OfMatrices) {
    const auto store = [](const std::string& how, const std::string& registers) {
        return given + row + "stmatrix.sync.aligned.m8n8." + how + ".shared.b16 [%r20], {" +
               registers + "};";
    };
    EXPECT_EQ(undefined_after(store("x1", "%r10")), "20-23");
    EXPECT_EQ(undefined_after(store("x1", "%r11")), "");
    EXPECT_EQ(undefined_after(store("x2", "%r11, %r10")), "148-151");
    EXPECT_EQ(undefined_after(store("x4", "%r11, %r11, %r11, %r10")), "404-407");
    EXPECT_EQ(undefined_after(store("x4", "%r10, %r11, %r10, %r11")), "20-23 276-279");
    EXPECT_EQ(undefined_after(store("x1.trans", "%r10")), "34-35 50-51");
    EXPECT_EQ(undefined_after(store("x2.trans", "%r11, %r10")), "162-163 178-179");
    // A half of it, and a byte.
    const std::string upper = "mov.u16 %h1, 0; @!%p1 mov.b32 %r10, {%h1, %h3};";
    std::string halves = store("x1.trans", "%r10");
    halves.insert(given.size(), upper);
    EXPECT_EQ(undefined_after(halves), "50-51");
    const std::string lower = "mov.u16 %h1, 0; @!%p1 mov.b32 %r10, {%h3, %h1};";
    halves.replace(given.size(), upper.size(), lower);
    EXPECT_EQ(undefined_after(halves), "34-35");
    EXPECT_EQ(
        undefined_after(given + "st.shared.u32 [%r6], %r1;" + forget(1) +
                        "ld.shared.u32 %r10, [%r5];" + row +
                        "bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x1.shared.b16 "
                        "[%r20+512], {%r10};"),
        "1 513 517 521 525 529 533 537 541 545 549 553 557 561 565 569 573 577 581 585 589 593 "
        "597 601 605 609 613 617 621 625 629 633 637");

    const auto load = [](unsigned at, const std::string& how, const std::string& registers) {
        return forget(at) + row + "ldmatrix.sync.aligned.m8n8." + how + ".shared.b16 {" +
               registers +
               "}, [%r20]; bar.warp.sync -1; st.shared.v4.u32 [%r20+512], {%r10, %r11, %r12, "
               "%r13};";
    };
    // Row 5, column 2, and in row 13 the second byte of column 2.
    const std::string clear = "mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;";
    EXPECT_EQ(undefined_after(clear + load(84, "x1", "%r10")), "84 848");
    EXPECT_EQ(undefined_after(clear + load(84, "x1.trans", "%r10")), "84 674");
    EXPECT_EQ(undefined_after(clear + load(213, "x1", "%r10")), "213");
    EXPECT_EQ(undefined_after(load(213, "x4", "%r10, %r11, %r12, %r13")), "213 853");
    EXPECT_EQ(undefined_after(load(213, "x4.trans", "%r10, %r11, %r12, %r13")), "213 679");
    EXPECT_EQ(undefined_after(load(485, "x4", "%r10, %r11, %r12, %r13")), "485 925");
    EXPECT_EQ(undefined_after(clear + load(0, "x2", "%r13, %r12")), "0 524");
    EXPECT_EQ(undefined_after(load(600, "x4", "%r10, %r11, %r12, %r13")), "");  // stored over it
    // What they had before is gone.
    EXPECT_EQ(undefined_after(row + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r20];"
                                    "st.shared.u32 [%r6], %r10;"),
              "");
}

// wmma: the fragments are those of mma (PTX manual, "Matrix Fragments for mma.m16n8k16" and
// others).
TEST(UndefinedMemory, OfMatricesOfWmma) {
    const auto store = [](const std::string& how, const std::string& registers,
                          const std::string& stride) {
        return given + "wmma.store.d.sync.aligned." + how + " [%r5], {" + registers + "}, " +
               stride + ";";
    };
    const auto eight = [](const std::string& of, size_t which) {
        std::string out;
        for (size_t i = 0; i < 8; ++i) out += (i == 0 ? "" : ", ") + of + (i == which ? "1" : "2");
        return out;
    };
    // Lane 5 has rows 1 and 9, and from columns 2 and 10 on two each.
    const std::array<unsigned, 8> rows{1, 1, 9, 9, 1, 1, 9, 9}, columns{2, 3, 2, 3, 10, 11, 10, 11};
    for (size_t i = 0; i < 8; ++i)
        for (const bool by_rows : {true, false}) {
            const unsigned at =
                4 * (by_rows ? 16 * rows[i] + columns[i] : 16 * columns[i] + rows[i]);
            EXPECT_EQ(undefined_after(
                          store(by_rows ? "row.m16n16k16.shared.f32" : "col.m16n16k16.shared.f32",
                                eight("%f", i), "16")),
                      std::to_string(at) + "-" + std::to_string(at + 3))
                << i << by_rows;
        }
    EXPECT_EQ(undefined_after(store("row.m16n16k16.shared.f32", eight("%f", 8), "16")), "");
    EXPECT_EQ(undefined_after(store("row.m16n16k16.shared.f16", "%r11, %r10, %r11, %r11", "16")),
              "292-295");
    EXPECT_EQ(undefined_after(store("row.m8n8k4.shared.f64", "%rd10, %rd11", "8")), "80-87");
    EXPECT_EQ(undefined_after(store("row.m8n8k4.shared.f64", "%rd11, %rd10", "8")), "88-95");
    EXPECT_EQ(undefined_after(store("col.m8n8k128.shared.s32", "%r11, %r10", "8")), "100-103");

    const auto load = [](unsigned at, const std::string& how, const std::string& registers,
                         const std::string& back) {
        return forget(at) + "wmma.load." + how + ".shared." +
               registers.substr(0, registers.find(' ')) + " {" +
               registers.substr(registers.find(' ') + 1) + "}, [%r5], " +
               back.substr(0, back.find(' ')) + "; bar.warp.sync -1;" + row +
               back.substr(back.find(' ') + 1);
    };
    const std::string f32 = "f32 %f11, %f12, %f13, %f14, %f15, %f16, %f17, %f18";
    const std::string low = "16 st.shared.v4.f32 [%r20+512], {%f11, %f12, %f13, %f14};";
    const std::string high = "16 st.shared.v4.f32 [%r20+512], {%f15, %f16, %f17, %f18};";
    // Row 1, column 5 is lane 6's second; row 7, column 12 is lane 30's fifth.
    EXPECT_EQ(undefined_after(load(84, "c.sync.aligned.row.m16n16k16", f32, low)), "84 612-615");
    EXPECT_EQ(undefined_after(load(84, "c.sync.aligned.row.m16n16k16", f32, high)), "84");
    EXPECT_EQ(undefined_after(load(499, "c.sync.aligned.row.m16n16k16", f32, low)), "499");
    EXPECT_EQ(undefined_after(load(499, "c.sync.aligned.row.m16n16k16", f32, high)), "499 992-995");
    const std::string f64 = "f64 %rd10, %rd11";
    const std::string pair = "8 st.shared.v2.u64 [%r20+512], {%rd10, %rd11};";
    EXPECT_EQ(undefined_after(load(87, "c.sync.aligned.row.m8n8k4", f64, pair)), "87 592-599");
    EXPECT_EQ(undefined_after(load(88, "c.sync.aligned.row.m8n8k4", f64, pair)), "88 600-607");
    const std::string tf32 = "tf32 %r10, %r11, %r12, %r13";
    const std::string four = "8 st.shared.v4.u32 [%r20+512], {%r10, %r11, %r12, %r13};";
    EXPECT_EQ(undefined_after(load(84, "a.sync.aligned.row.m16n16k8", tf32, four)), "84 664-667");
    const std::string u8 = "u8 %r10, %r11";
    const std::string two = "16 st.shared.v2.u32 [%r20+512], {%r10, %r11};";
    EXPECT_EQ(undefined_after(load(87, "b.sync.aligned.col.m16n16k16", u8, two)), "87 848-851");
    EXPECT_EQ(undefined_after(load(215, "b.sync.aligned.col.m16n16k16", u8, two)), "215 852-855");
    // Of registers that share elements, and of elements one by one, a lane has all or none.
    const std::string f16 = "f16 %r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17";
    EXPECT_EQ(undefined_after(load(84, "a.sync.aligned.row.m16n16k16", f16,
                                   "16 st.shared.v4.u32 [%r20+512], {%r10, %r11, %r16, %r17};")),
              "84 656-671");
    EXPECT_EQ(undefined_after(load(600, "a.sync.aligned.row.m16n16k16", f16,
                                   "16 st.shared.v4.u32 [%r20+512], {%r10, %r11, %r16, %r17};")),
              "");
    EXPECT_EQ(undefined_after(load(87, "b.sync.aligned.row.m16n16k16", u8, two)), "87 976-983");
    // From a buffer of which a part is undefined, and to one that is.
    EXPECT_EQ(
        undefined_after("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f11, %f12, %f13, "
                        "%f14, %f15, %f16, %f17, %f18}, [%rd2], 16;" +
                            row + low.substr(3),
                        {.in = {{84, 4}}}),
        "612-615");
    EXPECT_EQ(
        undefined_after(given + "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {" +
                            eight("%f", 1) + "}, 16;",
                        {.copies = false}),
        "76-79");
}

// Bytes 64 to 103 of `in` are undefined.
TEST(UndefinedMemory, OfCopies) {
    const Memory some{.in = {{64, 40}}};
    const std::string wait = "cp.async.wait_all;";
    const std::string rows = row + "mul.wide.u32 %rd10, %r2, 16; add.u64 %rd10, %rd10, %rd2;";
    EXPECT_EQ(undefined_after("ld.global.u32 %r12, [%rd4]; st.shared.u32 [%r6], %r12;", some),
              "64-103");
    EXPECT_EQ(undefined_after("cp.async.ca.shared.global [%r6], [%rd4], 4;" + wait, some),
              "64-103");
    // What is not read is filled with zeros.
    EXPECT_EQ(
        undefined_after(rows + "cp.async.ca.shared.global [%r20], [%rd10], 16, 8;" + wait, some),
        "64-71 80-87 96-103");
    EXPECT_EQ(undefined_after(rows + "cp.async.ca.shared.global [%r20], [%rd10], 16, 0;" + wait,
                              {.in = {{64, 40}}, .fills = false}),
              "512-1023");
    EXPECT_EQ(undefined_after(rows +
                                  "and.b32 %r21, %r2, 1; shl.b32 %r21, %r21, 4;"
                                  "cp.async.ca.shared.global [%r20], [%rd10], 16, %r21;" +
                                  wait,
                              some),
              "80-95");
    const std::string first = "setp.eq.u32 %p2, %r2, 0;";
    const auto bulk = [&](unsigned to, unsigned from, unsigned bytes) {
        const std::string n = std::to_string(bytes);
        return first +
               "@%p2 mbarrier.init.shared.b64 [tile+3072], 1; bar.warp.sync -1;"
               "@%p2 mbarrier.arrive.expect_tx.shared.b64 %rd20, [tile+3072], " +
               n +
               ";"
               "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5+" +
               std::to_string(to) + "], [%rd2+" + std::to_string(from) + "], " + n +
               ", [tile+3072]; W: mbarrier.try_wait.parity.shared.b64 %p4, [tile+3072], 0;"
               "@!%p4 bra W;";
    };
    EXPECT_EQ(undefined_after(bulk(16, 32, 96), some), "48-87");
    EXPECT_EQ(undefined_after(bulk(16, 32, 48), some), "48-63");
    EXPECT_EQ(undefined_after(bulk(16, 32, 48), {.in = {{64, 40}}, .fills = false}),
              "0-15 48-1023");
    // And back: of two copies by one thread each its own.
    const auto back = [&](const std::string& op, unsigned to, unsigned from, unsigned bytes) {
        return first + "@%p2 " + op + " [%rd1+" + std::to_string(to) + "], [%r5+" +
               std::to_string(from) + "], " + std::to_string(bytes) +
               "; @%p2 cp.async.bulk.commit_group; @%p2 cp.async.bulk.wait_group 0;";
    };
    const Memory out{.copies = false};
    const std::string plain = "cp.async.bulk.global.shared::cta.bulk_group";
    EXPECT_EQ(undefined_after(forget(84) + back(plain, 32, 64, 96), out), "0-31 52 128-1023");
    EXPECT_EQ(undefined_after(forget(86) + back(plain, 32, 64, 16) + back(plain, 64, 80, 16), out),
              "0-31 48-63 70 80-1023");
    // What a reduction makes is left alone.
    const std::string adds = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
    EXPECT_EQ(undefined_after(forget(84) + back(adds, 32, 64, 96), out), "0-1023");
    EXPECT_EQ(undefined_after(back(plain, 32, 64, 96) + forget(84) + back(adds, 32, 64, 96), out),
              "0-31 128-1023");
}

// The window of another CTA of the cluster.
TEST(UndefinedMemory, OfPeers) {
    const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
    const std::string peer =
        "mov.u32 %r10, %ctaid.x; xor.b32 %r11, %r10, 1; setp.eq.u32 %p1, %r10, 0;"
        "mapa.shared::cluster.u32 %r12, %r6, %r11; mapa.shared::cluster.u32 %r13, %r5, %r11;";
    EXPECT_EQ(undefined_after(peer + "st.shared::cluster.u32 [%r12+128], 1;" + meet,
                              {.fills = false, .cluster = 2}),
              "0-127 256-1151 1280-2047");
    EXPECT_EQ(undefined_after(peer + "@%p1 st.shared::cluster.u32 [%r12+128], 1;" + meet,
                              {.fills = false, .cluster = 2}),
              "0-1151 1280-2047");
    // An update too, and what it gives has a value.
    EXPECT_EQ(undefined_after(peer + "@%p1 atom.shared::cluster.add.u32 %r14, [%r12+128], 1;" +
                                  meet + "@%p1 st.shared.u32 [%r6], %r14;",
                              {.fills = false, .cluster = 2}),
              "128-1151 1280-2047");
    // A bulk copy from CTA 0 to CTA 1.
    EXPECT_EQ(
        undefined_after(
            peer +
                "setp.eq.u32 %p2, %r2, 0; @%p1 st.shared.u8 [%r6+1], %h3; add.u32 %r14, %r13, "
                "3072; @%p2 mbarrier.init.shared.b64 [tile+3072], 1;" +
                meet +
                "@!%p1 bra B; @%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
                "complete_tx::bytes [%r13+256], [%r5], 16, [%r14]; bra C;"
                "B: @%p2 mbarrier.arrive.expect_tx.shared.b64 %rd20, [tile+3072], 16;"
                "W: mbarrier.try_wait.parity.shared.b64 %p4, [tile+3072], 0; @!%p4 bra W; C:" +
                "@%p1 st.shared.u32 [%r6], 1;" + meet,
            {.cluster = 2}),
        "1281 1285 1289 1293");
}

// Parts of buffers that the launch before left undefined, and what is told to the next one.
TEST(UndefinedMemory, IsToldFromLaunchToLaunch) {
    const auto told = [](const std::string& body, const std::vector<Range>& before,
                         const std::string& outside = "") {
        return of_a_run(body, outside, before, [](const Checking& checking, const warp::Result&) {
            std::string text;
            for (const Range& r : checking.described().undefined)
                text += (text.empty() ? "" : " ") + std::to_string(r.address - in_at) + "+" +
                        std::to_string(r.bytes);
            return text;
        });
    };
    EXPECT_EQ(told("", {}), "");
    EXPECT_EQ(told("", {{in_at + 16, 8}}), "16+8");
    EXPECT_EQ(told("st.global.u32 [%rd2+20], 1;", {{in_at + 16, 8}}), "16+4");
    EXPECT_EQ(told("st.global.u64 [%rd2+16], 1;", {{in_at + 16, 8}}), "");
    EXPECT_EQ(told("", {{in_at + 16, 8}, {in_at + 32, 1}}), "16+8 32+1");
    // At the ends of the buffer, and past them.
    EXPECT_EQ(told("", {{in_at, 8}, {in_at + 248, 8}}), "0+8 248+8");
    EXPECT_EQ(told("", {{in_at - 8, 8}}), "");
    EXPECT_EQ(told("", {{in_at + 256, 8}}), "");
    EXPECT_EQ(told("", {{in_at - 8, 12}, {in_at + 252, 8}}), "0+4 252+4");
    EXPECT_EQ(told("", {{in_at + 16, 0}}), "");
    // Where functions call themselves nothing is followed.
    const std::string f =
        ".func f(.param .u32 a) { .reg .b32 %x<3>; .reg .pred %q; ld.param.u32 %x0, [a];"
        "setp.eq.u32 %q, %x0, 0; @%q ret; { .param .b32 p; st.param.b32 [p], 0; call f, (p); }"
        "ret; }";
    const std::string calls = "{ .param .b32 p; st.param.b32 [p], 1; call f, (p); }";
    EXPECT_EQ(told(calls, {{in_at + 16, 8}}, f), "");
    EXPECT_EQ(told(calls, {}, f), "");
}

// Where a value comes from, in words.
TEST(UndefinedMemory, IsNamed) {
    const auto of = [](const std::string& body) {
        return said(body, {.checks = "uninitialised", .block = 32}, {.message = true});
    };
    const std::string v = ".local .align 4 .b8 v[16];";
    EXPECT_EQ(of("st.global.u32 [%rd3], %r30;"),
              Lines{"1 stored: stores register %r30, which nothing has written"});
    EXPECT_EQ(of("ld.shared.u32 %r10, [%r5+20];\nst.global.u32 [%rd3], %r10;"),
              Lines{"2 stored 1: stores shared memory at 0x414, which nothing has written"});
    EXPECT_EQ(of(v + "ld.local.u32 %r10, [v];\nst.global.u32 [%rd3], %r10;"),
              Lines{"2 stored 1: stores local memory at 0x0, which nothing has written"});
    EXPECT_EQ(of(v + "ld.local.u32 %r10, [v+8];\nadd.u32 %r10, %r10, 1;\n"
                     "st.global.u32 [%rd3], %r10;"),
              Lines{"2 stored 3: computes with local memory at 0x8, which nothing has written; "
                    "line 4 stores what comes of it"});
    // Through memory, by whichever instruction: the register that had none.
    const std::string row_of_16 = "mad.lo.u32 %r20, %r2, 16, %r5; mov.f32 %f2, 0f00000000;\n";
    for (const std::string store :
         {"st.shared.u32 [%r20], %r30;", "st.shared.v2.u32 [%r20], {%r30, %r31};",
          "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r20], {%r30};",
          "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r20], {%r30, %r31};",
          "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r5], {%r30, %r31, %r31, %r31}, "
          "16;"})
        EXPECT_EQ(of(row_of_16 + store +
                     "\nld.shared.u32 %r10, [%r5];\n"
                     "st.global.u32 [%rd3], %r10;"),
                  Lines{"4 stored 2: stores register %r30, which nothing has written"})
            << store;
    EXPECT_EQ(of(row_of_16 + "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r5], {%f30, "
                             "%f31, %f2, %f2, %f2, %f2, %f2, %f2}, 16;\nld.shared.u32 %r10, "
                             "[%r5+4];\nst.global.u32 [%rd3], %r10;"),
              Lines{"4 stored 2: stores register %f30, which nothing has written"});
    EXPECT_EQ(of(row_of_16 + "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f2, "
                             "%f31, %f2, %f2, %f2, %f2, %f2, %f2}, 16;"),
              Lines{"2 stored: stores register %f31, which nothing has written"});
    // A strong store may leave what it stores to its reader, not where it stores.
    for (const std::string store : {"st.global", "st.relaxed.gpu.global"})
        EXPECT_EQ(
            of("mul.wide.u32 %rd10, %r30, 0;\nadd.u64 %rd10, %rd3, %rd10;\n" + store +
               ".u32 [%rd10], 1;"),
            Lines{"3 address 1: takes an address from register %r30, which nothing has written"})
            << store;
    EXPECT_EQ(of("st.relaxed.gpu.global.u32 [%rd3], %r30;"),
              Lines{"~1 stored: stores register %r30, which nothing has written"});
    EXPECT_EQ(of("setp.eq.u32 %p1, %r30, 0;\n@%p1 st.global.u32 [%rd3], 1;"),
              Lines{"2 branched-on 1: is decided by register %r30, which nothing has written"});
    EXPECT_EQ(
        of("bar.sync %r30, 32;"),
        Lines{"1 operand: waits for threads as said by register %r30, which nothing has written"});
    EXPECT_EQ(of("sub.u32 %r10, %r30, 1;\nbar.warp.sync %r10;"),
              Lines{"2 operand 1: waits for threads as said by register %r30, which nothing has "
                    "written"});
}

// CTAs tell one another by their undefined buffers, and so run one after another where there are
// some.
TEST(UndefinedMemory, OfALaunchIsOneThreads) {
    const ptx::Parsed parsed = ptx::parse(kernel_of("st.global.u32 [%rd3], %r2;", ""));
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    std::vector<uint8_t> out(256);
    warp::Launch launch;
    launch.buffers = {{"out", out_at, out}};
    EXPECT_FALSE(uninitialised(resolved.program, launch, {})->wants_one_thread());
    EXPECT_TRUE(uninitialised(resolved.program, launch, {{{out_at, 1}}, {}})->wants_one_thread());
    launch.buffers[0].undefined = true;
    EXPECT_TRUE(uninitialised(resolved.program, launch, {})->wants_one_thread());
}

}  // namespace
}  // namespace lockwarp::check::undefined_memory_test
