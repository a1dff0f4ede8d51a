// SPDX-License-Identifier: Apache-2.0
// Each access to memory at the edges of what it accesses: before the first byte, at it, up to the
// last byte and past it, by one lane and by all, with the same buffer touched last and another one;
// in every state space, by its own and by generic addresses.
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// An access of `bytes` at [%rd11] or [%r11], aligned to `alignment`.
struct Access {
    const char* text;
    uint32_t bytes;
    uint32_t alignment;
};

// With SPACE in place of the state space.
constexpr Access of_any_space[] = {
    {"ld.SPACE.u8 %r20, [AT];", 1, 1},
    {"ld.SPACE.u16 %h20, [AT];", 2, 2},
    {"ld.SPACE.u32 %r20, [AT];", 4, 4},
    {"ld.SPACE.u64 %rd20, [AT];", 8, 8},
    {"ld.SPACE.v2.u8 {%h20, %h21}, [AT];", 2, 2},
    {"ld.SPACE.v4.u8 {%h20, %h21, %h22, %h23}, [AT];", 4, 4},
    {"ld.SPACE.v4.u16 {%h20, %h21, %h22, %h23}, [AT];", 8, 8},
    {"ld.SPACE.v2.u32 {%r20, %r21}, [AT];", 8, 8},
    {"ld.SPACE.v4.u32 {%r20, %r21, %r22, %r23}, [AT];", 16, 16},
    {"ld.SPACE.v2.u64 {%rd20, %rd21}, [AT];", 16, 16},
    {"ld.SPACE.b128 %q0, [AT];", 16, 16},
    {"st.SPACE.u8 [AT], %r0;", 1, 1},
    {"st.SPACE.u16 [AT], %h0;", 2, 2},
    {"st.SPACE.u32 [AT], %r0;", 4, 4},
    {"st.SPACE.u64 [AT], %rd1;", 8, 8},
    {"st.SPACE.v4.u8 [AT], {%h0, %h0, %h0, %h0};", 4, 4},
    {"st.SPACE.v2.u16 [AT], {%h0, %h0};", 4, 4},
    {"st.SPACE.v2.u32 [AT], {%r0, %r0};", 8, 8},
    {"st.SPACE.v4.u32 [AT], {%r0, %r0, %r0, %r0};", 16, 16},
    {"st.SPACE.v2.u64 [AT], {%rd1, %rd1};", 16, 16},
    {"st.SPACE.b128 [AT], %q0;", 16, 16},
};
// What is only read.
constexpr Access of_constants[] = {
    {"ld.SPACE.u8 %r20, [AT];", 1, 1},
    {"ld.SPACE.u16 %h20, [AT];", 2, 2},
    {"ld.SPACE.u32 %r20, [AT];", 4, 4},
    {"ld.SPACE.u64 %rd20, [AT];", 8, 8},
    {"ld.SPACE.v4.u8 {%h20, %h21, %h22, %h23}, [AT];", 4, 4},
    {"ld.SPACE.v2.u32 {%r20, %r21}, [AT];", 8, 8},
    {"ld.SPACE.v4.u32 {%r20, %r21, %r22, %r23}, [AT];", 16, 16},
    {"ld.SPACE.v2.u64 {%rd20, %rd21}, [AT];", 16, 16},
};
constexpr Access of_global_and_shared[] = {
    {"ld.volatile.SPACE.u32 %r20, [AT];", 4, 4},
    {"atom.SPACE.add.u32 %r20, [AT], 1;", 4, 4},
    {"atom.SPACE.add.u64 %rd20, [AT], 1;", 8, 8},
    {"atom.SPACE.cas.b16 %h20, [AT], 0, 1;", 2, 2},
    {"atom.SPACE.cas.b64 %rd20, [AT], 0, 1;", 8, 8},
    {"atom.SPACE.add.noftz.f16x2 %r20, [AT], %r0;", 4, 4},
    {"red.SPACE.max.s32 [AT], 1;", 4, 4},
    {"red.SPACE.add.f64 [AT], 0d0000000000000000;", 8, 8},
    {"atom.SPACE.exch.b128 %q0, [AT], %q1;", 16, 16},
    {"atom.SPACE.cas.b128 %q0, [AT], %q1, %q1;", 16, 16},
};
constexpr Access of_global[] = {
    {"ld.global.nc.v4.u32 {%r20, %r21, %r22, %r23}, [AT];", 16, 16},
    {"ld.u64 %rd20, [AT];", 8, 8},
    {"st.v2.u32 [AT], {%r0, %r0};", 8, 8},
    {"cp.async.ca.shared.global [tile], [AT], 4;", 4, 4},
    {"cp.async.ca.shared.global [tile], [AT], 8;", 8, 8},
    {"cp.async.cg.shared.global [tile], [AT], 16;", 16, 16},
    {"atom.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [AT], {%f4, %f4, %f4, %f4};", 16, 16},
    {"red.global.add.v2.f32 [AT], {%f4, %f4};", 8, 8},
    {"cp.async.bulk.global.shared::cta.bulk_group [AT], [source], 16;", 16, 16},
    {"cp.async.bulk.global.shared::cta.bulk_group [AT], [source], 48;", 48, 16},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [AT], [source], 48;", 48, 16},
    {"mbarrier.init.shared.b64 [bar], 1;\ncp.async.bulk.shared::cluster.global"
     ".mbarrier::complete_tx::bytes [source], [AT], 48, [bar];",
     48, 16},
};
// All lanes together.
constexpr Access of_global_warps[] = {
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16"
     " {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [AT], 16;",
     512, 32},
    {"wmma.load.b.sync.aligned.row.m16n16k16.global.f16"
     " {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [AT], 24;",
     2 * (15 * 24 + 16), 16},
    {"wmma.store.d.sync.aligned.row.m16n16k16.global.f32"
     " [AT], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;",
     1024, 32},
};
constexpr Access of_shared[] = {
    {"cp.async.ca.shared.global [AT], [%rd4], 4;", 4, 4},
    {"cp.async.ca.shared.global [AT], [%rd4], 8;", 8, 8},
    {"cp.async.cg.shared.global [AT], [%rd4], 16;", 16, 16},
    {"cp.async.ca.shared.global [AT], [%rd4], 16, 4;", 16, 16},
    {"mbarrier.init.shared.b64 [AT], 1;", 8, 8},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd4], [AT], 16;", 16, 16},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd4], [AT], 48;", 48, 16},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd4], [AT], 48;", 48, 16},
};
// Beside a barrier, which lies before.
constexpr Access with_a_barrier[] = {
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [AT], [%rd4], 48, [bar];",
     48, 16},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [AT], %r0, [bar];", 4, 4},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [AT], {%r0, %r0, %r0, %r0}, "
     "[bar];",
     16, 16},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [AT], %rd1, "
     "[bar];",
     8, 8},
};
// All lanes together.
constexpr Access of_warps[] = {
    {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [AT];", 16, 16},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20, %r21, %r22, %r23}, [AT];", 16, 16},
    {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [AT], {%r0};", 16, 16},
    {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [AT], {%r0, %r0, %r0, %r0};", 16, 16},
    {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16"
     " {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [AT], 16;",
     512, 32},
    {"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32"
     " {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [AT], 16;",
     1024, 32},
    {"wmma.store.d.sync.aligned.col.m16n16k16.shared.f16 [AT], {%r0, %r0, %r0, %r0}, 24;",
     2 * (15 * 24 + 16), 16},
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

// Where the accessed bytes are: the first parameter's buffer or a variable of `size` bytes.
struct Region {
    const char* space;     // in place of SPACE
    const char* outside;   // SIZE: its size
    const char* variable;  // in the body
    const char* address;   // its address in AT's register
    const char* at;
    bool in_buffer = false;
    uint32_t before = 0;  // bytes of its memory that lie before it
};
constexpr Region global{"global",
                        ".shared .align 16 .b8 tile[16]; .shared .align 16 .b8 source[48]; "
                        ".shared .align 8 .b64 bar;",
                        "",
                        "add.s64 %rd11, %rd1, OFF;",
                        "%rd11",
                        true};
constexpr Region shared{"shared", ".shared .align 32 .b8 tile[SIZE];", "",
                        "mov.u32 %r11, tile; add.s32 %r11, %r11, OFF;", "%r11"};
constexpr Region behind_a_barrier{
    "shared", ".shared .align 32 .b64 bar; .shared .align 32 .b8 tile[SIZE];",
    "",       "mbarrier.init.shared.b64 [bar], 1; mov.u32 %r11, tile; add.s32 %r11, %r11, OFF;",
    "%r11",   false,
    32};
constexpr Region local{"local", "", ".local .align 16 .b8 tile[SIZE];",
                       "mov.u64 %rd11, tile; add.s64 %rd11, %rd11, OFF;", "%rd11"};
constexpr Region constants{"const", ".const .align 32 .b8 tile[SIZE] = {1};", "",
                           "mov.u64 %rd11, tile; add.s64 %rd11, %rd11, OFF;", "%rd11"};
// By generic addresses: ".GENERIC" is left out.
constexpr Region generic_global{"GENERIC", "", "", "add.s64 %rd11, %rd1, OFF;", "%rd11", true};
constexpr Region generic_shared{
    "GENERIC", ".shared .align 32 .b8 tile[SIZE];", "",
    "mov.u64 %rd11, tile; cvta.shared.u64 %rd11, %rd11; add.s64 %rd11, %rd11, OFF;", "%rd11"};
constexpr Region generic_local{
    "GENERIC", "", ".local .align 16 .b8 tile[SIZE];",
    "mov.u64 %rd11, tile; cvta.local.u64 %rd11, %rd11; add.s64 %rd11, %rd11, OFF;", "%rd11"};
constexpr Region generic_constants{
    "GENERIC", ".const .align 32 .b8 tile[SIZE] = {1};", "",
    "mov.u64 %rd11, tile; cvta.const.u64 %rd11, %rd11; add.s64 %rd11, %rd11, OFF;", "%rd11"};

void expect(const Region& region, const Access& access, uint32_t size, int64_t offset,
            uint32_t threads, const char* touched_last) {
    const std::string body = replaced(
        replaced(".reg .b128 %q<2>;\nmov.b128 %q1, {%rd1, %rd1};\n" + std::string(region.variable) +
                     "\nld.global.u32 %r30, [%rd4];\n" + region.address + "\nld.global.u8 %r30, [" +
                     std::string(touched_last) + "];\n" +
                     replaced(replaced(access.text, "SPACE", region.space), "AT", region.at) +
                     "\nst.global.u32 [%rd4], 1;\n",
                 "OFF", std::to_string(offset)),
        "SIZE", std::to_string(size));
    std::string text =
        kernel(body, replaced(region.outside, "SIZE", std::to_string(size)), "sm_90");
    text = replaced(replaced(text, ".version 8.0", ".version 8.6"), ".GENERIC", "");
    const isa::Program program = program_of(text, isa::Arch::sm_90);
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    given.cluster = warp::Dim3{};
    given.buffers = {Bytes(region.in_buffer ? size : 64), Bytes(64)};
    const Outcome out = run(program, given);
    const std::string what = std::string(access.text) + " in " + region.space + " memory of " +
                             std::to_string(size) + " bytes at " + std::to_string(offset) + " by " +
                             std::to_string(threads) + " threads";
    ASSERT_FALSE(out.result.refusal.has_value()) << what << ": " << out.result.refusal->what;
    const bool aligned = offset % access.alignment == 0;
    const bool inside = offset >= -int64_t{region.before} && offset + access.bytes <= size;
    if (aligned && inside) {
        EXPECT_EQ(fault_of(out.result), "") << what;
        EXPECT_EQ(out.buffers[1][0], 1) << what;
        return;
    }
    ASSERT_TRUE(out.result.trap.has_value()) << what;
    EXPECT_EQ(out.result.trap->kind,
              aligned ? warp::TrapKind::out_of_bounds : warp::TrapKind::misaligned)
        << what << ": " << fault_of(out.result);
}

// Sizes that the access fills, and some that it does not.
void expect_edges(const Region& region, const Access& access,
                  std::initializer_list<uint32_t> thread_counts) {
    const int64_t bytes = access.bytes;
    const int64_t step = access.alignment;
    // The sizes of shared memory and of a thread's local memory are multiples of 32 here: the
    // emulator lays them out in whole units.
    const bool in_units = !region.in_buffer;
    const uint32_t whole = in_units ? (access.bytes + 31) / 32 * 32 : access.bytes;
    std::vector<uint32_t> sizes{whole, whole + 64};
    const bool is_small = access.bytes <= 64;  // of a lane, not of a whole matrix
    for (uint32_t more = 1; more < access.bytes && is_small && !in_units; more *= 2)
        sizes.push_back(access.bytes + 64 + more);
    for (const uint32_t size : sizes)
        for (const uint32_t threads : thread_counts) {
            const int64_t last = size - bytes;
            const int64_t end = size;
            for (const int64_t offset :
                 {-step, int64_t{-1}, int64_t{0}, last / step * step, last / step * step + step,
                  last, last + 1, end - 1, end / step * step, end}) {
                for (const char* touched_last : {"%rd1", "%rd4"})
                    expect(region, access, size, offset, threads, touched_last);
            }
        }
}

TEST(Bounds, Global) {
    for (const Access& a : of_any_space) expect_edges(global, a, {1, 32});
    for (const Access& a : of_global_and_shared) expect_edges(global, a, {1, 32});
    for (const Access& a : of_global) expect_edges(global, a, {1, 32});
    for (const Access& a : of_global_warps) expect_edges(global, a, {32});
}

TEST(Bounds, Shared) {
    for (const Access& a : of_any_space) expect_edges(shared, a, {1, 32});
    for (const Access& a : of_global_and_shared) expect_edges(shared, a, {1, 32});
    for (const Access& a : of_shared) expect_edges(shared, a, {1, 32});
    for (const Access& a : of_warps) expect_edges(shared, a, {32});
    for (const Access& a : with_a_barrier) expect_edges(behind_a_barrier, a, {1});
}

TEST(Bounds, Local) {
    for (const Access& a : of_any_space) expect_edges(local, a, {1, 32});
}

TEST(Bounds, Constants) {
    for (const Access& a : of_constants) expect_edges(constants, a, {1, 32});
}

TEST(Bounds, GenericAddresses) {
    for (const Access& a : of_any_space)
        for (const Region& region : {generic_global, generic_shared, generic_local})
            expect_edges(region, a, {1, 32});
    for (const Access& a : of_global_and_shared)
        for (const Region& region : {generic_global, generic_shared})
            expect_edges(region, a, {1, 32});
    for (const Access& a : of_constants) expect_edges(generic_constants, a, {1, 32});
}

}  // namespace

}  // namespace lockwarp::exec
