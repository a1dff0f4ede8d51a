// SPDX-License-Identifier: Apache-2.0
// Clusters of several CTAs: their shape, each other's shared memory, their barrier, traps and
// deadlocks.
#include <algorithm>
#include <map>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

std::string module_of(const std::string& body, const std::string& directives = {}) {
    std::string text = kernel(body, ".shared .align 16 .b8 own[1024];\n", "sm_90");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    return text.insert(text.find("\n{\n.reg"), " " + directives);
}

Given clustered(warp::Dim3 grid, std::optional<warp::Dim3> cluster, uint32_t threads = 32) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.grid = grid;
    given.block.x = threads;
    given.cluster = cluster;
    return given;
}

// The word that each thread of the grid leaves, CTAs in order of z, y, x.
Outcome run_words(const std::string& body, Given given, const std::string& directives = {}) {
    given.buffers = {Bytes(4), Bytes(given.grid.count() * given.block.count() * 4, 0xee)};
    return run(program_of(module_of(body, directives), isa::Arch::sm_90), std::move(given));
}

Words words(const std::string& body, Given given, const std::string& directives = {}) {
    const Outcome out = run_words(body, std::move(given), directives);
    EXPECT_EQ(fault_of(out.result), "");
    return words_of(out.buffers[1]);
}

std::string fault(const std::string& body, Given given, const std::string& directives = {}) {
    return fault_of(run_words(body, std::move(given), directives).result);
}

// %rd2 of a grid that has more than x.
const std::string linear = R"(
mov.u32 %r50, %ctaid.y;
mov.u32 %r51, %ctaid.z;
mov.u32 %r52, %nctaid.y;
mov.u32 %r53, %nctaid.x;
mad.lo.u32 %r50, %r51, %r52, %r50;
mov.u32 %r51, %ctaid.x;
mad.lo.u32 %r50, %r50, %r53, %r51;
mov.u32 %r51, %ntid.x;
mad.lo.u32 %r50, %r50, %r51, %r1;
mul.wide.u32 %rd2, %r50, 4;
add.u64 %rd2, %rd2, %rd4;
)";
const std::string sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

TEST(ClusterLaunch, ShapesThatTheDriverRefuses) {
    const auto refused = [](warp::Dim3 grid, std::optional<warp::Dim3> cluster,
                            const std::string& directives = {}, bool non_portable = false) {
        Given given = clustered(grid, cluster);
        given.non_portable_cluster = non_portable;
        return fault("", std::move(given), directives);
    };
    using D = warp::Dim3;
    // As an H200's driver does.
    EXPECT_EQ(refused({3}, D{2}), "refused: cluster (2, 1, 1) does not divide the grid (3, 1, 1)");
    EXPECT_EQ(refused({3}, {}, ".reqnctapercluster 2, 1, 1"),
              "refused: cluster (2, 1, 1) does not divide the grid (3, 1, 1)");
    EXPECT_EQ(refused({1, 8}, D{8}),
              "refused: cluster (8, 1, 1) does not divide the grid (1, 8, 1)");
    EXPECT_EQ(refused({4}, D{4}, ".reqnctapercluster 2, 1, 1"),
              "refused: cluster (4, 1, 1): the kernel requires (2, 1, 1) (.reqnctapercluster)");
    EXPECT_EQ(refused({4}, D{1}, ".reqnctapercluster 2"),
              "refused: cluster (1, 1, 1): the kernel requires (2, 1, 1) (.reqnctapercluster)");
    EXPECT_EQ(refused({4}, {}, ".explicitcluster"),
              "refused: the kernel is to be launched with clusters (.explicitcluster): name their "
              "shape");
    EXPECT_EQ(refused({4}, D{4}, ".maxclusterrank 2"),
              "refused: cluster (4, 1, 1): the kernel allows at most 2 CTAs (.maxclusterrank)");
    EXPECT_EQ(
        refused({16}, D{16}),
        "refused: cluster (16, 1, 1) of 16 CTAs: more than 8 are not portable, and the launch "
        "does not allow that");
    EXPECT_EQ(refused({32}, D{32}, {}, true),
              "refused: cluster (32, 1, 1) of 32 CTAs: sm_90 has clusters of at most 16");
    EXPECT_EQ(refused({2}, D{2, 0, 1}),
              "refused: cluster (2, 0, 1): a cluster has 1 CTA or more in each dimension");
    for (const auto& [grid, cluster] :
         {std::pair{D{8}, D{8}}, {D{3}, D{3}}, {D{1, 1, 8}, D{1, 1, 8}}, {D{4}, D{1}}})
        EXPECT_EQ(refused(grid, cluster), "");
    EXPECT_EQ(refused({16}, D{16}, {}, true), "");
    EXPECT_EQ(refused({12}, D{12}, {}, true), "");
    EXPECT_EQ(refused({4}, D{2}, ".reqnctapercluster 2, 1, 1"), "");
    EXPECT_EQ(refused({4}, D{1}, ".explicitcluster"), "");
    EXPECT_EQ(refused({4}, {}, ".maxclusterrank 2"), "");
    Given old = clustered({2}, D{2});
    old.buffers = {Bytes(4), Bytes(256)};
    EXPECT_EQ(fault_of(run(program_of(kernel("ret;"), isa::Arch::sm_80), old).result),
              "refused: cluster (2, 1, 1): sm_80 has no clusters");
}

// A thread that arrives again at a barrier that has opened, without having waited there, waits for
// the next opening: CTA 0 for what CTA 1 stores before its second arrival.
TEST(ClusterLaunch, AWaitIsForTheLastArrival) {
    const std::string body =
        "mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, own; mapa.shared::cluster.u32 %r4, %r3, 0;\n"
        "setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, 0;\n"
        "st.shared.v2.u32 [own], {%r9, %r9}; st.shared.u32 [own+8], %r9;\n" +
        sync +
        "@!%p1 bra SECOND; barrier.cluster.arrive;\n"
        "A: ld.relaxed.cta.shared.u32 %r5, [own]; setp.eq.u32 %p3, %r5, 0; @%p3 bra A;\n"
        "barrier.cluster.arrive; st.relaxed.cta.shared.u32 [own+4], 1; barrier.cluster.wait;\n"
        "ld.shared.u32 %r9, [own+8]; bra END;\n"
        "SECOND: barrier.cluster.arrive; barrier.cluster.wait;\n"
        "st.relaxed.cluster.shared::cluster.u32 [%r4], 1;\n"
        "B: ld.relaxed.cluster.shared::cluster.u32 %r5, [%r4+4]; setp.eq.u32 %p3, %r5, 0;\n"
        "@%p3 bra B; st.relaxed.cluster.shared::cluster.u32 [%r4+8], 7;\n"
        "barrier.cluster.arrive; barrier.cluster.wait;\n"
        "END: st.global.u32 [%rd2], %r9;\n";
    Words expected(64, 0);
    std::fill_n(expected.begin(), 32, 7);
    EXPECT_EQ(words(body, clustered({2}, warp::Dim3{2})), expected);
}

// As an H200 has them in a grid of 4x2x6 with clusters of 2x2x2.
TEST(ClusterLaunch, SpecialRegisters) {
    const std::string body = linear + R"(
mov.u32 %r2, %clusterid.x;
mov.u32 %r3, %clusterid.y;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %clusterid.z;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %nclusterid.x;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %nclusterid.z;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %cluster_ctaid.x;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %cluster_ctaid.y;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %cluster_ctaid.z;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.u32 %r3, %cluster_nctarank;
mad.lo.u32 %r2, %r2, 10, %r3;
mov.pred %p1, %is_explicit_cluster;
@!%p1 mov.u32 %r2, 7;
mov.u32 %r3, own;
shr.u32 %r4, %r3, 24;
mov.u32 %r5, %cluster_ctarank;
setp.ne.u32 %p2, %r4, %r5;
@%p2 mov.u32 %r2, 8;
and.b32 %r4, %r3, 0xffffff;
setp.ne.u32 %p2, %r4, 0x400;
@%p2 mov.u32 %r2, 9;
st.global.u32 [%rd2], %r2;
)";
    const Words out = words(body, clustered({4, 2, 6}, warp::Dim3{2, 2, 2}, 1));
    ASSERT_EQ(out.size(), 48u);
    for (uint32_t i = 0; i < 48; ++i) {
        const uint32_t x = i % 4, y = i / 4 % 2, z = i / 8;
        const uint32_t digits[] = {x / 2, y / 2, z / 2, 2, 3, x % 2, y % 2, z % 2, 8};
        uint32_t expected = 0;
        for (const uint32_t d : digits) expected = expected * 10 + d;
        EXPECT_EQ(out[i], expected) << i;
    }
}

// A launch that asks for clusters of one CTA has clusters, and its barrier.
TEST(ClusterLaunch, OfOneCta) {
    const std::string body = R"(
mov.pred %p1, %is_explicit_cluster;
selp.u32 %r2, 1, 0, %p1;
)" + sync + R"(
st.global.u32 [%rd2], %r2;
)";
    EXPECT_EQ(words(body, clustered({1}, warp::Dim3{1, 1, 1}))[0], 1u);
    EXPECT_EQ(words(body, clustered({1}, {}))[0], 0u);
    EXPECT_EQ(words(body, clustered({2}, {}, 32), ".reqnctapercluster 2")[0], 1u);
}

// Loads, stores and atomics by an address of the cluster's window and by a generic one.
const std::string exchange = R"(
mov.u32 %r10, %cluster_ctarank;
mov.u32 %r11, %cluster_nctarank;
add.u32 %r12, %r10, 1;
rem.u32 %r12, %r12, %r11;
mov.u32 %r13, own;
mad.lo.u32 %r14, %r1, 4, %r13;
mad.lo.u32 %r15, %r10, 1000, %r1;
st.shared.u32 [%r14], %r15;
mov.u32 %r16, 0;
st.shared.u32 [%r14+128], %r16;
)" + sync + R"(
mapa.shared::cluster.u32 %r17, %r14, %r12;
ld.shared::cluster.u32 %r18, [%r17];
cvt.u64.u32 %rd10, %r14;
cvta.shared.u64 %rd10, %rd10;
mapa.u64 %rd11, %rd10, %r12;
ld.u32 %r19, [%rd11];
setp.ne.u32 %p1, %r18, %r19;
@%p1 trap;
isspacep.shared::cta %p2, %rd11;
isspacep.shared::cluster %p3, %rd11;
@%p2 trap;
@!%p3 trap;
getctarank.u64 %r20, %rd11;
setp.ne.u32 %p4, %r20, %r12;
@%p4 trap;
red.shared::cluster.add.u32 [%r17+128], %r18;
atom.add.u32 %r21, [%rd11+128], 1;
)" + sync + R"(
ld.shared.u32 %r22, [%r14+128];
st.global.u32 [%rd2], %r22;
)" + sync;

TEST(ClusterLaunch, PeersTouchEachOthersMemory) {
    for (const uint32_t ctas : {2u, 3u, 8u}) {
        Words first;
        for (const unsigned threads : {1u, 2u}) {
            Given given = clustered({ctas * 5}, warp::Dim3{ctas});
            given.threads = threads;
            const Words out = words(exchange, std::move(given));
            for (uint32_t i = 0; i < out.size(); ++i)
                EXPECT_EQ(out[i], 1000 * (i / 32 % ctas) + i % 32 + 1) << ctas << " " << i;
        }
    }
}

// In whatever order the warps and CTAs have their turns.
TEST(ClusterLaunch, OrdersGiveTheSame) {
    const Words usual = words(exchange, clustered({6}, warp::Dim3{3}));
    for (uint64_t seed = 0; seed < 20; ++seed) {
        warp::TurnOrder order;
        order.seed = seed;
        Given given = clustered({6}, warp::Dim3{3});
        given.order = &order;
        EXPECT_EQ(words(exchange, std::move(given)), usual) << seed;
    }
}

// Threads that exit count as arrived; the barrier may be met again and again.
TEST(ClusterLaunch, BarrierOfThreadsThatLive) {
    const std::string body = R"(
mov.u32 %r10, %cluster_ctarank;
mad.lo.u32 %r11, %r10, 64, %r1;
and.b32 %r12, %r11, 3;
setp.eq.u32 %p1, %r12, 3;
st.global.u32 [%rd2], %r11;
@%p1 exit;
mov.u32 %r13, 0;
LOOP:
barrier.cluster.arrive.relaxed;
barrier.cluster.wait;
add.u32 %r13, %r13, 1;
setp.lt.u32 %p2, %r13, 5;
@%p2 bra LOOP;
mad.lo.u32 %r11, %r13, 1000, %r11;
st.global.u32 [%rd2], %r11;
)";
    const Words out = words(body, clustered({4}, warp::Dim3{4}, 64));
    for (uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i % 4 == 3 ? i : i + 5000) << i;
}

// A CTA may go on between its arrival and its wait; what others did before theirs it sees.
TEST(ClusterLaunch, ArrivalAndWaitApart) {
    const std::string body = R"(
mov.u32 %r10, %cluster_ctarank;
xor.b32 %r11, %r10, 1;
mov.u32 %r12, own;
mapa.shared::cluster.u32 %r13, %r12, %r11;
mad.lo.u32 %r14, %r1, 4, %r13;
mad.lo.u32 %r15, %r10, 100, %r1;
st.shared::cluster.u32 [%r14], %r15;
barrier.cluster.arrive.release;
mul.lo.u32 %r16, %r1, 3;
barrier.cluster.wait.acquire;
mad.lo.u32 %r17, %r1, 4, %r12;
ld.shared.u32 %r18, [%r17];
add.u32 %r18, %r18, %r16;
st.global.u32 [%rd2], %r18;
)";
    const Words out = words(body, clustered({2}, warp::Dim3{2}));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], (1 - i / 32) * 100 + i % 32 * 4) << i;
}

// A peer arrives at an mbarrier whose phase a CTA waits for.
const std::string remote_arrival = R"(
mov.u32 %r10, %cluster_ctarank;
mov.u32 %r12, own;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r12], 32;
fence.mbarrier_init.release.cluster;
)" + sync + R"(
setp.eq.u32 %p2, %r10, 0;
@%p2 bra WAIT;
mov.u32 %r11, 0;
mapa.shared::cluster.u32 %r13, %r12, %r11;
mad.lo.u32 %r14, %r1, 4, %r13;
st.shared::cluster.u32 [%r14+64], %r1;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];
bra DONE;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r12], 0;
@!%p3 bra WAIT;
DONE:
mad.lo.u32 %r14, %r1, 4, %r12;
mov.u32 %r15, 7;
@%p2 ld.shared.u32 %r15, [%r14+64];
st.global.u32 [%rd2], %r15;
)";

TEST(ClusterLaunch, RemoteArrival) {
    const Words out = words(remote_arrival + sync, clustered({2}, warp::Dim3{2}));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 32 ? i : 7u) << i;
}

TEST(ClusterLaunch, DeadlockNamesEachCta) {
    // One arrival too few.
    std::string body = remote_arrival + sync;
    body.replace(body.find("[%r12], 32"), 10, "[%r12], 33");
    EXPECT_EQ(
        fault(body, clustered({4}, warp::Dim3{2})),
        "deadlock: waits for the mbarrier at 0x400 (.shared; phase 0 has not ended: 1 of 33 "
        "arrivals are missing, and 0 bytes; so far line 36: 32 arrivals), which nothing can "
        "change any more; in the CTA of rank 1 warp 0 at line 47 waits at the cluster's barrier "
        "for 32 of its threads at line 39, CTA (0,0,0), warp 0, step 24");
    // A part of the cluster meets.
    const std::string part =
        R"(
mov.u32 %r10, %cluster_ctarank;
setp.eq.u32 %p2, %r10, 1;
@%p2 bra OTHER;
)" + sync +
        R"(
OTHER:
bar.sync 0;
)" +
        "@%p2 bra OTHER2;\nbra DONE;\nOTHER2:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nDONE:\n"
        "@!%p2 bra DONE;\n";
    const std::string said = fault(part, clustered({2}, warp::Dim3{2}));
    EXPECT_NE(said.find("deadlock: "), std::string::npos) << said;
}

TEST(ClusterLaunch, APeersMemoryEndsWithIt) {
    const std::string gone = R"(
mov.u32 %r10, %cluster_ctarank;
setp.eq.u32 %p2, %r10, 1;
@%p2 exit;
mov.u32 %r12, own;
mov.u32 %r11, 1;
mapa.shared::cluster.u32 %r13, %r12, %r11;
LOOP:
ld.shared::cluster.u32 %r14, [%r13];
bra LOOP;
)";
    EXPECT_EQ(
        fault(gone, clustered({2}, warp::Dim3{2})),
        "address out of bounds: the CTA of rank 1 has ended, and its shared memory with it at "
        "line 29, CTA (0,0,0), warp 0, lane 0, address 0x1000400, step 20002");
    const std::string beyond = R"(
mov.u32 %r12, own;
mov.u32 %r11, 5;
mapa.shared::cluster.u32 %r13, %r12, %r11;
ld.shared::cluster.u32 %r14, [%r13];
)";
    EXPECT_NE(fault(beyond, clustered({2}, warp::Dim3{2}))
                  .find("address out of bounds: there is no CTA of rank 5: the cluster has 2"),
              std::string::npos);
    const std::string own_only = R"(
mov.u32 %r12, own;
mov.u32 %r10, %cluster_ctarank;
xor.b32 %r11, %r10, 1;
mapa.shared::cluster.u32 %r13, %r12, %r11;
ld.shared.u32 %r14, [%r13];
)" + sync;
    EXPECT_NE(fault(own_only, clustered({2}, warp::Dim3{2}))
                  .find("an address of the CTA of rank 1 where one of the CTA's own shared memory "
                        "is expected (.shared::cta)"),
              std::string::npos);
    const std::string of_64_bits = "mov.u64 %rd10, 0x101000400;\nld.shared.u32 %r14, [%rd10];\n";
    EXPECT_NE(fault(of_64_bits + sync, clustered({2}, warp::Dim3{2}))
                  .find("address out of bounds: 4 bytes; .shared memory of this launch is"),
              std::string::npos);
    const std::string past = R"(
mov.u32 %r12, own;
mov.u32 %r10, %cluster_ctarank;
xor.b32 %r11, %r10, 1;
mapa.shared::cluster.u32 %r13, %r12, %r11;
ld.shared::cluster.u32 %r14, [%r13+4096];
)" + sync;
    EXPECT_NE(fault(past, clustered({2}, warp::Dim3{2}))
                  .find(".shared memory of the CTA of rank 1 is [0x1000400, 0x1000800)"),
              std::string::npos);
}

// The last deed of a CTA may be one to a peer that has nothing left to do.
TEST(ClusterLaunch, APeersMemoryIsThereForOnesLastDeed) {
    const std::string body = R"(
mov.u32 %r10, %cluster_ctarank;
mov.u32 %r12, own;
mov.u32 %r11, 0;
mapa.shared::cluster.u32 %r13, %r12, %r11;
setp.eq.u32 %p2, %r10, 0;
@%p2 exit;
st.shared::cluster.u32 [%r13], %r10;
ld.shared::cluster.u32 %r14, [%r13];
st.global.u32 [%rd2], %r14;
)";
    EXPECT_EQ(fault(body, clustered({2}, warp::Dim3{2})), "");
}

TEST(ClusterLaunch, WrongUsesOfTheBarrier) {
    EXPECT_NE(
        fault("barrier.cluster.arrive;\nbarrier.cluster.arrive;\n", clustered({2}, warp::Dim3{2}))
            .find("illegal operand: 32 threads of the warp had arrived at the cluster's "
                  "barrier before, and not waited since"),
        std::string::npos);
    EXPECT_NE(fault("barrier.cluster.wait;\n", clustered({2}, warp::Dim3{2}))
                  .find("deadlock: 32 threads of the warp wait at"),
              std::string::npos);
    EXPECT_NE(fault("setp.gt.u32 %p1, %r1, 3;\n@%p1 barrier.cluster.arrive.aligned;\n" + sync,
                    clustered({2}, warp::Dim3{2}))
                  .find("aligned instruction in a diverged warp: 28 of the warp's 32 threads"),
              std::string::npos);
}

// The first cluster in which a CTA trapped is the one that counts, for any number of threads.
TEST(ClusterLaunch, FirstTrap) {
    const std::string body = R"(
mov.u32 %r10, %clusterid.x;
mov.u32 %r11, %cluster_ctarank;
st.global.u32 [%rd2], 1;
mul.lo.u32 %r12, %r10, 2;
add.u32 %r12, %r12, %r11;
setp.eq.u32 %p1, %r12, 5;
@%p1 trap;
setp.eq.u32 %p1, %r12, 8;
@%p1 trap;
)" + sync;
    for (const unsigned threads : {1u, 2u, 4u}) {
        Given given = clustered({16}, warp::Dim3{2});
        given.threads = threads;
        const Outcome out = run_words(body, std::move(given));
        ASSERT_TRUE(out.result.trap.has_value());
        EXPECT_EQ(out.result.trap->cta_index, 5u);
    }
}

// Clusters wait for each other: more of them than run at a time, in whatever order.
TEST(ClusterLaunch, ClustersWaitForOneAnother) {
    const std::string body = R"(
mov.u32 %r10, %clusterid.x;
mov.u32 %r11, %cluster_ctarank;
mul.wide.u32 %rd10, %r10, 4;
add.u64 %rd11, %rd1, %rd10;
setp.eq.u32 %p1, %r10, 0;
@%p1 bra GO;
AGAIN:
ld.volatile.global.u32 %r12, [%rd11-4];
setp.ne.u32 %p2, %r12, 2;
@%p2 bra AGAIN;
GO:
)" + sync + R"(
setp.ne.u32 %p3, %r1, 0;
@!%p3 red.global.add.u32 [%rd11], 1;
st.global.u32 [%rd2], %r11;
)";
    for (const unsigned threads : {1u, 3u}) {
        Given given = clustered({64}, warp::Dim3{2});
        given.threads = threads;
        given.buffers = {Bytes(128), Bytes(64 * 32 * 4)};
        const Outcome out =
            run_well(program_of(module_of(body), isa::Arch::sm_90), std::move(given));
        EXPECT_EQ(words_of(out.buffers[0]), Words(32, 2)) << threads;
    }
}

// What observers hear of a cluster.
struct Heard : warp::Observer {
    struct OfCta : warp::CtaObserver {
        OfCta(Heard& h, const warp::CtaPlace& p) : heard(h), place(p) {}
        void retired(const warp::Retired& e) override {
            for (uint32_t n = 0; n < e.access_count; ++n) {
                const warp::Access& a = e.accesses[n];
                if (a.space != ptx::Space::shared) continue;
                heard.remote += static_cast<unsigned>(__builtin_popcount(a.remote));
                heard.own += static_cast<unsigned>(__builtin_popcount(a.own()));
                for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
                    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
                    EXPECT_GE(a.address[lane], 0x400u);
                    EXPECT_LT(a.address[lane], 0x800u);
                    const bool remote = (a.remote >> lane & 1) != 0;
                    EXPECT_EQ(a.rank[lane] != place.rank, remote);
                }
            }
        }
        void cluster_arrived(const warp::ClusterArrived& e) override {
            arrived += static_cast<unsigned>(__builtin_popcount(e.who.lanes));
            EXPECT_TRUE(e.releases);
        }
        void cluster_opened(const warp::ClusterOpened& e) override { EXPECT_EQ(e.phase, opened++); }
        Heard& heard;
        warp::CtaPlace place;
        unsigned arrived = 0, opened = 0;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& p) override {
        return std::make_unique<OfCta>(*this, p);
    }
    void take(const warp::CtaPlace& p, std::unique_ptr<warp::CtaObserver> cta) override {
        const auto& c = static_cast<OfCta&>(*cta);
        EXPECT_EQ(c.arrived, 96u);
        EXPECT_EQ(c.opened, 3u);
        taken.push_back(p.index);
        EXPECT_EQ(p.cluster_ctas, 4u);
    }
    std::vector<uint64_t> taken;
    unsigned remote = 0, own = 0;
};

TEST(ClusterLaunch, WhatObserversHear) {
    Heard heard;
    Given given = clustered({2, 4}, warp::Dim3{2, 2});
    given.observers = {&heard};
    words(linear + exchange, std::move(given));
    // In the order of the clusters, and by rank.
    EXPECT_EQ(heard.taken, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    // Four CTAs each: two loads, a red, and an atom's load and store.
    EXPECT_EQ(heard.remote, 8u * 32 * 5);
    EXPECT_EQ(heard.own, 8u * 32 * 3);
}

}  // namespace

}  // namespace lockwarp::exec
