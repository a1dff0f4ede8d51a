// SPDX-License-Identifier: Apache-2.0
// Clusters of one CTA, cache policies, hints, special registers of them.
#include "tests/exec/support.hpp"

namespace lockwarp::exec::cluster_test {

namespace {

Given on_sm_90(uint32_t threads = 32) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    return given;
}

std::string module_of(const std::string& body) {
    std::string text = kernel(body, {}, "sm_90");
    return text.replace(text.find(".version 8.0"), 12, ".version 8.6");
}

Words results(const std::string& body, Given given = on_sm_90()) {
    return results_of_text(module_of(body), {}, std::move(given));
}

TEST(Cluster, AddressesOfTheOneCtaAreItsOwn) {
    const std::string body = R"(
.shared .align 16 .b8 sm[256];
mov.u32 %r2, sm;
mad.lo.u32 %r2, %r1, 4, %r2;
mapa.shared::cluster.u32 %r3, %r2, 0;
st.shared::cluster.u32 [%r3], %r1;
cvt.u64.u32 %rd9, %r2;
cvta.shared::cluster.u64 %rd9, %rd9;
mapa.u64 %rd9, %rd9, 0;
ld.u32 %r4, [%rd9];
atom.shared::cluster.add.u32 %r5, [%r2], 100;
red.release.cluster.shared::cluster.add.u32 [%r2], 1000;
ld.acquire.cluster.shared::cta.u32 %r6, [%r2];
isspacep.shared::cluster %p1, %rd9;
isspacep.shared::cluster %p2, %rd1;
selp.u32 %r7, 1, 0, %p1;
@%p2 add.u32 %r7, %r7, 2;
getctarank.u64 %r8, %rd9;
getctarank.shared::cluster.u32 %r9, sm;
add.u32 %r6, %r6, %r4;
add.u32 %r6, %r6, %r5;
mad.lo.u32 %r6, %r7, 10000, %r6;
mad.lo.u32 %r6, %r8, 100000, %r6;
mad.lo.u32 %r6, %r9, 100000, %r6;
st.global.u32 [%rd2], %r6;
)";
    Words expected;
    for (uint32_t i = 0; i < 32; ++i) expected.push_back(3 * i + 1100 + 10000);
    EXPECT_EQ(results(body), expected);
}

// As ptxas' code does it: the rank takes the place of bits 24 to 31.
TEST(Cluster, TheRankStandsAboveTheAddress) {
    const Words out = results(R"(
mapa.shared::cluster.u32 %r2, 0x00123456, 3;
getctarank.shared::cluster.u32 %r3, %r2;
mad.lo.u32 %r2, %r3, 0x10000000, %r2;
st.global.u32 [%rd2], %r2;
)");
    EXPECT_EQ(out[0], 0x03123456u + 0x30000000u);
}

TEST(Cluster, ItsBarrierIsOneOfTheCta) {
    const std::string synchronize[] = {
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
        "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n",
        "barrier.cluster.arrive.relaxed;\nfence.acq_rel.cluster;\nbarrier.cluster.wait.acquire;\n"};
    for (const std::string& both : synchronize) {
        const std::string body = R"(
.shared .u32 table[128];
mov.u32 %r2, table;
mad.lo.u32 %r3, %r1, 4, %r2;
st.shared.u32 [%r3], %r1;
)" + both + R"(
add.u32 %r4, %r1, 69;
rem.u32 %r4, %r4, 100;
mad.lo.u32 %r4, %r4, 4, %r2;
ld.shared.u32 %r5, [%r4];
st.global.u32 [%rd2], %r5;
)";
        Words expected;
        for (uint32_t i = 0; i < 100; ++i) expected.push_back((i + 69) % 100);
        EXPECT_EQ(results(body, on_sm_90(100)), expected) << both;
    }
}

TEST(Cluster, SpecialRegistersOfALaunchWithoutClusters) {
    Given given = on_sm_90();
    given.grid = {3, 1, 1};
    const Words out = results(R"(
mov.u32 %r2, %clusterid.x;
mov.u32 %r3, %nclusterid.x;
mad.lo.u32 %r2, %r3, 10, %r2;
mov.u32 %r3, %cluster_nctaid.x;
mad.lo.u32 %r2, %r3, 100, %r2;
mov.u32 %r3, %cluster_nctarank;
mad.lo.u32 %r2, %r3, 1000, %r2;
mov.u32 %r3, %cluster_ctarank;
mad.lo.u32 %r2, %r3, 10000, %r2;
mov.u32 %r3, %cluster_ctaid.y;
mad.lo.u32 %r2, %r3, 10000, %r2;
mov.u32 %r3, %tid.w;
mad.lo.u32 %r2, %r3, 10000, %r2;
mov.u32 %r3, %reserved_smem_offset_cap;
mad.lo.u32 %r2, %r3, 10000, %r2;
mov.pred %p1, %is_explicit_cluster;
@%p1 mov.u32 %r2, 0;
mov.u64 %rd9, %current_graph_exec;
cvt.u32.u64 %r3, %rd9;
add.u32 %r2, %r2, %r3;
mov.u16 %h1, %ntid.x;
cvt.u32.u16 %r3, %h1;
sub.u32 %r3, %r3, WARP_SZ;
add.u32 %r2, %r2, %r3;
st.global.u32 [%rd2], %r2;
)",
                              given);
    for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], 10241130 + i / 32) << i;
}

// Cooperative groups of more than a warp meet in shared memory that the driver keeps.
TEST(Cluster, ReservedSharedMemoryIsBehindTheProgramsOwn) {
    constexpr std::string_view outside = ".extern .shared .align 4 .b8 own[];";
    const auto kernel_with = [&](uint32_t offset) {
        return kernel(R"(
mov.u32 %r20, %reserved_smem_offset_1;
mov.u32 %r21, own;
mad.lo.u32 %r22, %r1, 4, %r20;
mad.lo.u32 %r23, %r1, 4, %r21;
st.shared.u32 [%r23], 7;
add.u32 %r2, %r1, 100;
st.shared.u32 [%r22+)" + std::to_string(offset) +
                          R"(], %r2;
bar.sync 0;
ld.shared.u32 %r3, [%r23];
xor.b32 %r4, %r1, 65;
mad.lo.u32 %r4, %r4, 4, %r20;
ld.shared.u32 %r5, [%r4];
mad.lo.u32 %r5, %r5, 10, %r3;
and.b32 %r6, %r20, 15;
mad.lo.u32 %r5, %r6, 100000, %r5;
st.global.u32 [%rd2], %r5;
ret;
)",
                      outside);
    };
    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_90}) {
        Given given;
        given.arch = arch;
        given.block = {256, 1, 1};
        given.dynamic_shared = 1028;
        given.buffers = {Bytes(4), Bytes(1024)};
        Words expected;
        for (uint32_t i = 0; i < 256; ++i) expected.push_back((100 + (i ^ 65)) * 10 + 7);
        EXPECT_EQ(words_of(run_well(program_of(kernel_with(0), arch), given).buffers[1]), expected);
        const std::string said = fault_of(run(program_of(kernel_with(116), arch), given).result);
        EXPECT_NE(said.find("lane 31"), std::string::npos) << said;
        EXPECT_NE(said.find("address out of bounds"), std::string::npos) << said;
    }
}

// The bits that ptxas' code for sm_80 and sm_90 makes.
TEST(CachePolicy, Bits) {
    const auto policy = [](const std::string& text) {
        const auto out = wide_results_of("mov.f32 %f1, 0f3f000000;\nmov.u64 %rd9, 0x12345678;\n" +
                                             text + " \nst.global.u64 [%rd3], %rd8;\n",
                                         {}, on_sm_90(1));
        return out[0][0] | uint64_t{out[0][1]} << 32;
    };
    const std::pair<std::string, uint64_t> fractions[] = {
        {".L2::evict_first.b64 %rd8;", 0x12f0000000000000},
        {".L2::evict_last.b64 %rd8;", 0x14f0000000000000},
        {".L2::evict_last.b64 %rd8, 0.5;", 0x1470000000000000},
        {".L2::evict_normal.L2::evict_first.b64 %rd8, %f1;", 0x1770000000000000},
        {".L2::evict_unchanged.L2::evict_unchanged.b64 %rd8, 1.0;", 0x10f0000000000000},
        {".L2::evict_last.b64 %rd8, 0.01;", 0x1400000000000000}};
    for (const auto& [text, bits] : fractions)
        EXPECT_EQ(policy("createpolicy.fractional" + text), bits) << text;
    EXPECT_EQ(policy("createpolicy.cvt.L2.b64 %rd8, 0x12f0000000000000;"), 0x12f0000000000000u);
    // Blocks of 2^12 bytes: the first is 0x12345, and 0x678 + 4096 bytes reach into two.
    EXPECT_EQ(policy("createpolicy.range.L2::evict_last.b64 %rd8, [%rd9], 4096, 8192;"),
              ((uint64_t{0x1c0} << 8 | 0x45) << 7 | 2) << 37);
    // Of 2^14 bytes, for 2^21; the count ends at 127.
    EXPECT_EQ(policy("createpolicy.range.global.L2::evict_first.L2::evict_unchanged.b64 %rd8, "
                     "[%rd9], 2097152, 2097152;"),
              ((uint64_t{0x1a2} << 8 | (0x12345678 >> 14 & 0x7f)) << 7 | 127) << 37);
    EXPECT_EQ(policy("createpolicy.range.L2::evict_last.b64 %rd8, [%rd9], 0, 0;"),
              uint64_t{0x180} << 52);
}

TEST(Hints, ChangeNothing) {
    Given given = on_sm_90();
    const Words out = results(R"(
st.global.u32 [%rd2], %r1;
and.b64 %rd9, %rd2, -128;
prefetchu.L1 [%rd2];
prefetch.tensormap [%rd9];
applypriority.global.L2::evict_normal [%rd9], 128;
discard.global.L2 [%rd1+128], 128;
pmevent 7;
pmevent.mask 0x101;
griddepcontrol.wait;
griddepcontrol.launch_dependents;
fence.proxy.alias;
membar.proxy.alias;
fence.proxy.async.shared::cta;
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%rd9], 128;
fence.mbarrier_init.release.cluster;
fence.acquire.sync_restrict::shared::cluster.cluster;
ldu.global.u32 %r2, [%rd2];
add.u32 %r2, %r2, 1;
st.global.u32 [%rd2], %r2;
)",
                              given);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + 1);
}

TEST(IgnoreSource, LanesCopyZeros) {
    Words in;
    for (uint32_t i = 0; i < 32; ++i) in.push_back(i + 100);
    Words expected;
    for (uint32_t i = 0; i < 32; ++i) expected.push_back(i % 2 == 0 ? i + 100 : 0);
    for (const bool negated : {false, true}) {
        const std::string body = R"(
.shared .align 16 .b8 tile[512];
mov.u32 %r2, tile;
mad.lo.u32 %r2, %r1, 4, %r2;
mul.wide.u32 %rd9, %r1, 4;
add.u64 %rd9, %rd1, %rd9;
and.b32 %r3, %r1, 1;
setp.ne.u32 %p1, %r3, 0;
not.pred %p2, %p1;
@%p1 mov.u64 %rd9, 8;
cp.async.ca.shared.global [%r2], [%rd9], 4, )" +
                                 std::string(negated ? "!%p2" : "%p1") + R"(;
cp.async.wait_all;
ld.shared.u32 %r4, [%r2];
st.global.u32 [%rd2], %r4;
)";
        EXPECT_EQ(results_of_text(module_of(body), in, on_sm_90()), expected) << negated;
    }
}

}  // namespace

}  // namespace lockwarp::exec::cluster_test
