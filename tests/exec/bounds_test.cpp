// SPDX-License-Identifier: Apache-2.0
// Each access to memory at the edges of what it accesses: before the first byte, at it, up to the
// last byte and past it, by one lane and by all, with the same buffer touched last and another one;
// in every state space, by its own and by generic addresses; in another CTA's shared memory, and by
// tensor maps.
#include "emu/isa/tensor_copy.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// An access of `bytes` at [%rd11] or [%r11], aligned to `alignment`.
struct Access {
    const char* text;
    uint32_t bytes;
    uint32_t alignment;
    const char* first = "";  // done before it where it is in bounds
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
    {"red.global.add.noftz.v8.f16 [AT], {%h0, %h0, %h0, %h0, %h0, %h0, %h0, %h0};", 16, 16},
    {"multimem.st.weak.global.u32 [AT], %r0;", 4, 4},
    {"multimem.st.relaxed.sys.global.v4.f32 [AT], {%f4, %f4, %f4, %f4};", 16, 16},
    {"multimem.red.relaxed.sys.global.add.u64 [AT], %rd1;", 8, 8},
    {"multimem.red.relaxed.sys.global.add.v8.f16 [AT], {%h0, %h0, %h0, %h0, %h0, %h0, %h0, %h0};",
     16, 16},
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
// An mbarrier at the address, and what uses one.
constexpr const char* barrier_first = "mbarrier.init.shared.b64 [AT], 64;\n";
constexpr Access of_barriers[] = {
    {"mbarrier.inval.shared.b64 [AT];", 8, 8, barrier_first},
    {"mbarrier.arrive.shared.b64 %rd20, [AT];", 8, 8, barrier_first},
    {"mbarrier.arrive.shared::cluster.b64 _, [AT];", 8, 8, barrier_first},
    {"mbarrier.arrive.noComplete.shared.b64 %rd20, [AT], 1;", 8, 8, barrier_first},
    {"mbarrier.arrive.expect_tx.shared.b64 %rd20, [AT], 8;", 8, 8, barrier_first},
    {"mbarrier.arrive_drop.shared.b64 %rd20, [AT];", 8, 8, barrier_first},
    {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [AT], 8;", 8, 8, barrier_first},
    {"mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [AT], 8;", 8, 8, barrier_first},
    {"mbarrier.test_wait.shared.b64 %p0, [AT], %rd1;", 8, 8, barrier_first},
    {"mbarrier.test_wait.parity.shared.b64 %p0, [AT], 0;", 8, 8, barrier_first},
    {"mbarrier.try_wait.parity.shared.b64 %p0, [AT], 1;", 8, 8, barrier_first},
    {"cp.async.mbarrier.arrive.shared.b64 [AT];", 8, 8, barrier_first},
    {"cp.async.mbarrier.arrive.noinc.shared.b64 [AT];", 8, 8, barrier_first},
};
// By which a copy to `target` says that it is done.
constexpr Access of_copies_barriers[] = {
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [target], [%rd4], 48, "
     "[AT];",
     8, 8, barrier_first},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [target], "
     "[target+16], 16, [AT];",
     8, 8, barrier_first},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [target], %r0, [AT];", 8, 8,
     barrier_first},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [target], "
     "%rd1, [AT];",
     8, 8, barrier_first},
};
// In the shared memory of another CTA; its own barrier is at [BAR].
constexpr Access of_peers[] = {
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [AT], [%rd4], 48, [bar];",
     48, 16},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [AT], [bar], 16, "
     "[BAR];",
     16, 16},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [AT], %r0, [BAR];", 4, 4},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [AT], {%r0, %r0, %r0, %r0}, "
     "[BAR];",
     16, 16},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [AT], %rd1, "
     "[BAR];",
     8, 8},
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

// Where the accessed bytes are: the first parameter's buffer or a variable of `size` bytes.
struct Region {
    const char* space;     // in place of SPACE
    const char* outside;   // SIZE: its size
    const char* variable;  // in the body
    const char* address;   // its address in AT's register
    const char* at;
    bool in_buffer = false;
    uint32_t before = 0;         // bytes of its memory that lie before it
    uint32_t ctas = 1;           // of its cluster
    const char* parameter = "";  // behind the others
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
constexpr Region parameters{"param",
                            "",
                            "",
                            "mov.u64 %rd11, tile; add.s64 %rd11, %rd11, OFF;",
                            "%rd11",
                            false,
                            16,
                            1,
                            ", .param .align 32 .b8 tile[SIZE]"};
constexpr Region behind_a_target{
    "shared", ".shared .align 32 .b8 target[64]; .shared .align 32 .b8 tile[SIZE];",
    "",       "mov.u32 %r11, tile; add.s32 %r11, %r11, OFF;",
    "%r11",   false,
    64};
// The other CTA's of a cluster of two, which stays until its peer has done its own.
constexpr const char* of_the_peer =
    "mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r12, %cluster_ctarank; xor.b32 %r12, %r12, 1;\n"
    "mov.u32 %r11, tile; mapa.shared::cluster.u32 %r11, %r11, %r12; add.s32 %r11, %r11, OFF;\n"
    "mov.u32 %r13, bar; mapa.shared::cluster.u32 %r13, %r13, %r12;\n"
    "cvt.u64.u32 %rd11, %r11; cvta.shared::cluster.u64 %rd11, %rd11;\n"
    "barrier.cluster.arrive;\nbarrier.cluster.wait;";
constexpr const char* two_in_shared =
    ".shared .align 32 .b64 bar; .shared .align 32 .b8 tile[SIZE];";
constexpr Region peers{"shared::cluster", two_in_shared, "", of_the_peer, "%r11", false, 32, 2};
constexpr Region generic_peers{"GENERIC", two_in_shared, "", of_the_peer, "%rd11", false, 32, 2};
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
    const bool aligned = offset % access.alignment == 0;
    const bool inside = offset >= -int64_t{region.before} && offset + access.bytes <= size;
    const std::string does = std::string(aligned && inside ? access.first : "") + access.text;
    const bool of_cluster = region.ctas > 1;
    const std::string body = replaced(
        replaced(".reg .b128 %q<2>;\nmov.b128 %q1, {%rd1, %rd1};\n" + std::string(region.variable) +
                     "\nld.global.u32 %r30, [%rd4];\n" + region.address + "\nld.global.u8 %r30, [" +
                     std::string(touched_last) + "];\n" +
                     replaced(replaced(replaced(does, "SPACE", region.space), "AT", region.at),
                              "BAR", "%r13") +
                     "\nst.global.u32 [%rd4], 1;\n" +
                     (of_cluster ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : ""),
                 "OFF", std::to_string(offset)),
        "SIZE", std::to_string(size));
    std::string text =
        kernel(body, replaced(region.outside, "SIZE", std::to_string(size)), "sm_90");
    text = replaced(replaced(text, ".version 8.0", ".version 8.6"), ".GENERIC", "");
    text = replaced(text, ".param .u64 out",
                    ".param .u64 out" + replaced(region.parameter, "SIZE", std::to_string(size)));
    const isa::Program program = program_of(text, isa::Arch::sm_90);
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    given.grid.x = region.ctas;
    given.cluster = warp::Dim3{region.ctas, 1, 1};
    given.buffers = {Bytes(region.in_buffer ? size : 64), Bytes(64)};
    if (*region.parameter != '\0') given.arguments = Bytes(16 + size);
    const Outcome out = run(program, given);
    const std::string what = std::string(access.text) + " in " + region.space + " memory of " +
                             std::to_string(size) + " bytes at " + std::to_string(offset) + " by " +
                             std::to_string(threads) + " threads";
    ASSERT_FALSE(out.result.refusal.has_value()) << what << ": " << out.result.refusal->what;
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

bool is_shared_memory(const Region& region) {
    return std::string_view(region.outside).starts_with(".shared") && !region.in_buffer;
}

// Sizes that the access fills, and some that it does not.
void expect_edges(const Region& region, const Access& access,
                  std::initializer_list<uint32_t> thread_counts) {
    const int64_t bytes = access.bytes;
    const int64_t step = access.alignment;
    // Shared memory ends with a unit of 128 bytes (isa::ArchRow::shared_unit), and a thread's local
    // memory with one of 32: so do the variables here.
    const bool in_units = !region.in_buffer;
    const uint32_t unit = is_shared_memory(region) ? 128 : 32;
    const uint32_t whole =
        in_units ? (region.before + access.bytes + unit - 1) / unit * unit - region.before
                 : access.bytes;
    std::vector<uint32_t> sizes{whole, whole + (in_units ? unit : 64)};
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
    for (const Access& a : of_barriers) expect_edges(shared, a, {1, 32});
    for (const Access& a : of_copies_barriers) expect_edges(behind_a_target, a, {1});
}

// Up to the end of the last unit nothing is out of bounds, as on an H100 (driver 580.159.04,
// 2026-11-27: 0 to 49,152 bytes, static, dynamic and both, ld, st, atom, vectors, generic).
TEST(Bounds, SharedEndsWithAUnit) {
    struct Case {
        isa::Arch arch;
        const char* target;
        uint32_t own, end;
    };
    for (const Case& c : {Case{isa::Arch::sm_90, "sm_90", 4, 128},
                          {isa::Arch::sm_90, "sm_90", 124, 128},
                          {isa::Arch::sm_90, "sm_90", 128, 128},
                          {isa::Arch::sm_90, "sm_90", 132, 256},
                          {isa::Arch::sm_90, "sm_90", 3000, 3072},
                          {isa::Arch::sm_80, "sm_80", 132, 256},
                          {isa::Arch::sm_75, "sm_75", 4, 256},
                          {isa::Arch::sm_70, "sm_70", 260, 512}})
        for (const bool is_dynamic : {false, true})
            for (const uint32_t at : {c.own, c.end - 4, c.end}) {
                const std::string text = kernel(
                    "mov.u32 %r11, tile;\nadd.u32 %r11, %r11, " + std::to_string(at) +
                        ";\nst.shared.u32 [%r11], 5;\nld.shared.u32 %r12, [%r11];\n"
                        "st.global.u32 [%rd4], %r12;",
                    is_dynamic ? ".extern .shared .align 16 .b8 tile[];"
                               : ".shared .align 16 .b8 tile[" + std::to_string(c.own) + "];",
                    c.target);
                Given given;
                given.arch = c.arch;
                given.block.x = 1;
                given.dynamic_shared = is_dynamic ? c.own : 0;
                given.buffers = {Bytes(4), Bytes(4)};
                const Outcome out = run(program_of(text, c.arch), given);
                const std::string what = std::string(c.target) + ", " + std::to_string(c.own) +
                                         " bytes, at " + std::to_string(at);
                if (at < c.end) {
                    EXPECT_EQ(fault_of(out.result), "") << what;
                    EXPECT_EQ(out.buffers[1][0], 5) << what;
                } else {
                    EXPECT_TRUE(fault_of(out.result).starts_with("address out of bounds: 4 bytes"))
                        << what;
                }
            }
}

TEST(Bounds, SharedOfAPeer) {
    for (const Access& a : of_any_space) expect_edges(peers, a, {1, 32});
    for (const Access& a : of_global_and_shared) expect_edges(peers, a, {1, 32});
    for (const Access& a : of_peers) expect_edges(peers, a, {1});
    for (const Access& a : of_any_space) expect_edges(generic_peers, a, {32});
}

TEST(Bounds, Parameters) {
    for (const Access& a : of_constants) expect_edges(parameters, a, {1, 32});
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

// An address behind a thread's local memory, where the CTA's shared memory, or that of a CTA of its
// cluster, has bytes.
TEST(Bounds, LocalIsNoSharedMemory) {
    for (const uint32_t ctas : {1u, 2u})
        for (const std::string access :
             {"ld.u32 %r20, [%rd11];", "st.u32 [%rd11], %r0;", "ld.local.u32 %r20, [%rd10];"}) {
            const std::string body =
                ".local .b32 mine; mov.u64 %rd10, mine; cvta.local.u64 %rd11, %rd10;\n"
                "add.u64 %rd10, %rd10, 4096; add.u64 %rd11, %rd11, 4096; mov.u32 %r11, tile;\n"
                "mov.u32 %r12, %ctaid.x; setp.eq.u32 %p1, %r12, " +
                std::to_string(ctas - 1) + ";\n@%p1 " + access + "\nret;";
            Given given;
            given.arch = isa::Arch::sm_90;
            given.grid.x = ctas;
            given.cluster = warp::Dim3{ctas, 1, 1};
            given.buffers = {Bytes(4), Bytes(4096)};
            const isa::Program program =
                program_of(kernel(body, ".shared .align 32 .b8 tile[8192];", "sm_90"), given.arch);
            EXPECT_TRUE(fault_of(run(program, given).result).starts_with("address out of bounds"))
                << access << ' ' << ctas;
        }
}

// A tensor of 8 rows of 64 bytes, all of which one copy moves, or as many as there are.
isa::TensorMap map_at(uint64_t address) {
    isa::TensorMap m;
    m.type = isa::TensorType::u32;
    m.rank = 2;
    m.address = address;
    m.dim = {16, 8, 1, 1, 1};
    m.stride = {64, 0, 0, 0};
    m.box = {16, 8, 1, 1, 1};
    return m;
}

constexpr const char* tensor_copies[] = {
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [box], "
    "[%rd5, {%r3, %r4}], [bar];",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd5, {%r3, %r4}], [box];",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd5, {%r3, %r4}], "
    "[box];",
};

// The map says `tensor`; the bytes that it means lie from `offset` of a buffer of `size`.
std::string tensor_fault(const char* copy, int32_t x, int32_t y, int64_t offset, uint32_t size) {
    std::string text =
        kernel("mov.u64 %rd5, %rd4; mov.u32 %r3, " + std::to_string(x) + "; mov.u32 %r4, " +
                   std::to_string(y) + ";\nmbarrier.init.shared.b64 [bar], 1;\n" + copy + "\n",
               ".shared .align 128 .b8 box[512]; .shared .align 8 .b64 bar;", "sm_90");
    text = replaced(text, ".version 8.0", ".version 8.6");
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 1;
    given.cluster = warp::Dim3{};
    const isa::TensorMapBytes map =
        isa::encode(map_at(buffer_address(0) + static_cast<uint64_t>(offset)));
    given.buffers = {Bytes(size), Bytes(map.begin(), map.end())};
    return fault_of(run(program_of(text, isa::Arch::sm_90), std::move(given)).result);
}

// What a tensor map says of global memory need not be there.
TEST(Bounds, TensorsInGlobalMemory) {
    const std::string out = "address out of bounds: ";
    for (const char* copy : tensor_copies) {
        const auto expect = [&](bool good, int32_t x, int32_t y, int64_t offset, uint32_t size) {
            const std::string fault = tensor_fault(copy, x, y, offset, size);
            const bool as_said = good ? fault.empty() : fault.starts_with(out);
            EXPECT_TRUE(as_said) << copy << " at (" << x << ", " << y << "), " << offset << " of "
                                 << size << ": " << fault;
        };
        expect(true, 0, 0, 0, 512);
        expect(true, 0, 0, 16, 528);
        for (const uint32_t short_by : {1u, 4u, 15u, 16u, 64u})
            expect(false, 0, 0, 0, 512 - short_by);
        expect(false, 0, 0, -16, 512);
        expect(false, 0, 0, 16, 527);
        // Of rows behind the tensor's there are no bytes.
        expect(true, 0, 5, -320, 192);
        expect(false, 0, 5, -336, 192);
        expect(false, 0, 5, -320, 191);
        expect(true, 0, 8, -512, 16);
        // Of columns behind, likewise.
        expect(true, 12, 0, -48, 512 - 48);
        expect(false, 12, 0, -64, 512 - 48);
        expect(false, 12, 0, -48, 512 - 49);
        expect(true, 16, 0, 0, 16);
    }
    // Before the tensor, which a load alone may name.
    EXPECT_EQ(tensor_fault(tensor_copies[0], -12, -6, 0, 80), "");
    EXPECT_TRUE(tensor_fault(tensor_copies[0], -12, -6, 0, 79).starts_with(out));
    EXPECT_TRUE(tensor_fault(tensor_copies[0], -12, -6, -16, 80).starts_with(out));
}

// Whatever stores, by a generic address into constants.
TEST(Bounds, ConstantsAreNotWritten) {
    for (const char* const store :
         {"st.u8 [%rd5], %h1;", "st.u32 [%rd5], %r1;", "st.v4.u32 [%rd5], {%r1, %r1, %r1, %r1};",
          "st.v2.u64 [%rd5], {%rd1, %rd1};", "st.volatile.u32 [%rd5], %r1;",
          "atom.add.u32 %r2, [%rd5], 1;", "atom.cas.b64 %rd6, [%rd5], 0, 1;",
          "red.max.s32 [%rd5], 1;",
          "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd5], "
          "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16;",
          "wmma.store.d.sync.aligned.col.m16n16k16.f16 [%rd5], {%r2, %r3, %r4, %r5};",
          "wmma.store.d.sync.aligned.row.m8n8k4.f64 [%rd5], {%fd0, %fd1};"}) {
        const std::string text =
            kernel("mov.u64 %rd5, table;\ncvta.const.u64 %rd5, %rd5;\n" + std::string(store),
                   ".const .align 128 .b8 table[1024] = {1};");
        Given given;
        given.buffers = {Bytes(4), Bytes(4)};
        EXPECT_TRUE(fault_of(run(program_of(text, given.arch), given).result)
                        .starts_with("store to read-only memory: .const memory cannot be written"))
            << store;
    }
}

// The 128 bytes of a map are all there, in whichever space it lies.
TEST(Bounds, TensorMaps) {
    const auto fault = [](const std::string& outside, const std::string& address) {
        const std::string text = kernel(
            address + "\nmov.u32 %r3, 0; mov.u32 %r4, 16;\nmbarrier.init.shared.b64 [bar], 1;\n" +
                tensor_copies[0] + "\n",
            ".shared .align 128 .b8 box[512]; .shared .align 8 .b64 bar; " + outside, "sm_90");
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 1;
        given.cluster = warp::Dim3{};
        given.buffers = {Bytes(192), Bytes(64)};
        return fault_of(
            run(program_of(replaced(text, ".version 8.0", ".version 8.6"), isa::Arch::sm_90),
                std::move(given))
                .result);
    };
    const std::string short_of = "address out of bounds: 128 bytes of a tensor map";
    const std::string constant = ".const .align 128 .b8 maps[192] = {1};";
    const std::string of_constant = "mov.u64 %rd5, maps; cvta.const.u64 %rd5, %rd5;";
    const std::string of_local =
        ".local .align 128 .b8 maps[192]; mov.u64 %rd5, maps; cvta.local.u64 %rd5, %rd5;";
    for (const uint64_t offset : {64u, 128u, 192u, 256u, 4096u}) {
        const std::string more = " add.u64 %rd5, %rd5, " + std::to_string(offset) + ";";
        for (const std::string& found :
             {fault("", "mov.u64 %rd5, %rd1;" + more), fault(constant, of_constant + more),
              fault("", of_local + more)})
            EXPECT_EQ(found.starts_with(short_of), offset != 64) << offset << ": " << found;
    }
}

// vprintf's text and arguments end where memory does.
TEST(Bounds, WhatPrintfReads) {
    const auto fault = [](const std::string& format, uint32_t arguments) {
        const std::string outside =
            ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); "
            ".const .align 8 .b8 pack[32] = {1}; .global .b8 text[5] = {" +
            format + "};";
        const std::string body =
            "mov.u64 %rd7, text; cvta.global.u64 %rd7, %rd7;\n"
            "mov.u64 %rd6, pack; cvta.const.u64 %rd6, %rd6; add.u64 %rd6, %rd6, " +
            std::to_string(arguments) +
            ";\n{ .param .b64 f; .param .b64 a; .param .b32 b;\n"
            "st.param.b64 [f], %rd7; st.param.b64 [a], %rd6;\n"
            "call.uni (b), vprintf, (f, a); }\n";
        Given given;
        given.block.x = 1;
        given.buffers = {Bytes(4), Bytes(4)};
        return fault_of(run(program_of(kernel(body, outside), given.arch), given).result);
    };
    const std::string d = "37, 100, 10, 0";     // "%d\n"
    const std::string lld = "37, 108, 100, 0";  // "%ld"
    const std::string endless = "37, 100, 10, 10, 10";
    const std::string out = "address out of bounds";
    for (const uint32_t at : {0u, 4u, 24u, 28u}) EXPECT_EQ(fault(d, at), "") << at;
    for (const uint32_t at : {0u, 8u, 24u}) EXPECT_EQ(fault(lld, at), "") << at;
    for (const uint32_t at : {29u, 32u}) EXPECT_TRUE(fault(d, at).starts_with(out)) << at;
    for (const uint32_t at : {28u, 32u}) EXPECT_TRUE(fault(lld, at).starts_with(out)) << at;
    EXPECT_TRUE(fault(endless, 0).starts_with(out));
    // Of two arguments that are not there the first is named.
    EXPECT_EQ(fault("37, 100, 37, 100, 0", 32), fault(d, 32));
}

}  // namespace

}  // namespace lockwarp::exec
