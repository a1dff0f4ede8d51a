// SPDX-License-Identifier: Apache-2.0
// mbarriers that are not made, or made too late, whose counts do not come out; and bulk copies of
// what no fence of the async proxy lets them see.
#include "tests/check/said.hpp"

namespace lockwarp::check::mbarriers_test {
namespace {

using namespace brief;

Lines of(const std::string& body, uint32_t block = 32, const Shown& shown = {}) {
    return brief::said("setp.eq.u32 %p1, %r1, 0;\n" + body, {.checks = "sync", .block = block},
                       shown);
}

std::string made(unsigned count) {
    return "@%p1 mbarrier.init.shared.b64 [tile+1024], " + std::to_string(count) + ";\n";
}
const std::string bar = "bar.sync 0;\n";
const std::string arrive = "mbarrier.arrive.shared.b64 %rd20, [tile+1024];\n";
const std::string one = "@%p1 mbarrier.arrive.shared.b64 %rd20, [tile+1024];\n";
const std::string expect = "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [tile+1024], 64;\n";
const std::string expects = "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd20, [tile+1024], 64;\n";
const std::string complete =
    "@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [tile+1024], 64;\n";

TEST(Mbarriers, CountsOfArrivals) {
    struct Row {
        std::string body;
        Lines said;
    };
    for (
        const Row& row : std::initializer_list<Row>{
            {made(32), {}},
            {made(32) + bar + arrive, {}},
            {made(16) + bar + arrive, {}},  // two phases
            {made(33) + bar + arrive,
             {"2 mbarrier-incomplete 4, 1 80000000: makes an mbarrier for "
              "33 arrivals, of which 32 come"}},
            {made(33) + bar + one,
             {"2 mbarrier-incomplete 4, 1 1: makes an mbarrier for 33 "
              "arrivals, of which 1 comes"}},
            {made(31) + bar + arrive,
             {"~2 mbarrier-incomplete 4, 1 80000000: makes an mbarrier for "
              "31 arrivals, and in its last phase 1 comes"}},
            {made(20) + bar + arrive,
             {"~2 mbarrier-incomplete 4, 1 80000000: makes an mbarrier for "
              "20 arrivals, and in its last phase 12 come"}},
            {made(32) + bar + "@%p1 mbarrier.arrive.shared.b64 %rd20, [tile+1024], 32;\n", {}},
            {made(32) + bar + "@%p1 mbarrier.arrive.shared.b64 %rd20, [tile+1024], 31;\n",
             {"2 mbarrier-incomplete 4, 1 1: makes an mbarrier for 32 arrivals, of which 31 come"}},
            {made(33) + bar + "@%p1 mbarrier.arrive_drop.shared.b64 %rd20, [tile+1024];\n" + arrive,
             {}},
            // Of the next phase one arrival less is expected.
            {made(33) + bar + "@%p1 mbarrier.arrive_drop.shared.b64 %rd20, [tile+1024];\n" +
                 arrive + arrive,
             {}},
            {made(2) + bar + one + "@%p1 mbarrier.inval.shared.b64 [tile+1024];\n", {}},
            {made(1) + bar + expects + complete, {}},
            {made(1) + bar + expect + one + complete, {}},
            {made(1) + bar + expect + complete + one, {}},
            {made(1) + bar + expects,
             {"~2 mbarrier-bytes 4, 1 1: makes an mbarrier that is told of 64 bytes, and 0 come: "
              "the phase does not end"}},
            {made(1) + bar + expects + expect + complete,
             {"2 mbarrier-bytes 5, 1 1: makes an mbarrier that is told of 128 bytes, and 64 come: "
              "the phase does not end"}},
            // The second phase has bytes of its own.
            {made(1) + bar + expects + complete + expects + complete, {}},
            {made(1) + bar + expects + complete + expects,
             {"~2 mbarrier-bytes 6, 1 1: makes an mbarrier that is told of 64 bytes, and 0 come: "
              "the phase does not end"}},
            // Copies of the thread's own.
            {made(32) + bar +
                 "cp.async.ca.shared.global [%r6], [%rd4], 4;\n"
                 "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+1024];\n",
             {}},
            {made(33) + bar +
                 "cp.async.ca.shared.global [%r6], [%rd4], 4;\n"
                 "cp.async.mbarrier.arrive.noinc.shared.b64 [tile+1024];\n",
             {"2 mbarrier-incomplete 5, 1 80000000: makes an mbarrier for 33 arrivals, of which 32 "
              "come"}},
            {made(32) + bar +
                 "cp.async.ca.shared.global [%r6], [%rd4], 4;\n"
                 "cp.async.mbarrier.arrive.shared.b64 [tile+1024];\n" +
                 arrive,
             {}},
        })
        EXPECT_EQ(of(row.body, 32, {.lanes = true, .message = true}), row.said) << row.body;
}

TEST(Mbarriers, AreMadeBeforeTheyAreUsed) {
    const std::string second = "setp.eq.u32 %p2, %r3, 1;\n@%p2 " + arrive;
    const std::string looks = "mbarrier.test_wait.parity.shared.b64 %p4, ";
    EXPECT_EQ(of(looks + "[tile+1024], 1;\n"), Lines{"2 mbarrier-not-made"});
    EXPECT_EQ(of(made(32) + looks + "[tile+1024], 1;\n"), Lines{});
    EXPECT_EQ(of(made(32) + looks + "[tile+1032], 1;\n"), Lines{"3 mbarrier-not-made"});
    EXPECT_EQ(of(made(32) + "@%p1 mbarrier.inval.shared.b64 [tile+1024];\n" + looks +
                 "[tile+1024], 1;\n"),
              Lines{"4 mbarrier-not-made"});
    EXPECT_EQ(of(made(32) + arrive), Lines{});
    EXPECT_EQ(of(made(32) + second, 64), Lines{"4 mbarrier-too-early 2"});
    EXPECT_EQ(of(made(32) + bar + second, 64), Lines{});
    // A fence or an atomic may be part of a wait that the program makes itself.
    EXPECT_EQ(of(made(32) + "atom.shared.add.u32 %r10, [%r5], 1;\n" + second, 64), Lines{});
    EXPECT_EQ(of(made(32) + "fence.acq_rel.cta;\n" + second, 64), Lines{});
    // It is said once.
    EXPECT_EQ(of(made(64) + second + "@%p2 " + arrive, 64), Lines{"4 mbarrier-too-early 2"});
}

// Of two lanes' copies into a peer each has an mbarrier of its own: the peer lives to see those
// whose phase it waits for.
TEST(Mbarriers, OfEachLanesCopyIntoAPeer) {
    const std::string sends = R"(mov.u32 %r10, %cluster_ctarank; setp.eq.u32 %p2, %r10, 0;
setp.eq.and.u32 %p1, %r1, 0, !%p2;
@%p1 mbarrier.init.shared.b64 [tile+1024], 1;
@%p1 mbarrier.init.shared.b64 [tile+1032], 1;
fence.mbarrier_init.release.cluster;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile+1024], 16;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile+1032], 16;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
mad.lo.u32 %r11, %r1, 16, %r5; mapa.shared::cluster.u32 %r12, %r11, 1;
mad.lo.u32 %r13, %r1, 8, %r5; add.u32 %r13, %r13, 1024; mapa.shared::cluster.u32 %r13, %r13, 1;
setp.lt.and.u32 %p3, %r1, 2, %p2;
@%p3 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
    [%r12], [%r11], 16, [%r13];
@%p2 bra DONE;
)";
    const auto waits = [](const std::string& at) {
        return "W" + at + ": mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p4, [tile+" + at +
               "], 0;\n@!%p4 bra W" + at + ";\n";
    };
    for (const auto& [waited, gone] :
         std::initializer_list<std::pair<std::string, bool>>{{waits("1024") + waits("1032"), false},
                                                             {waits("1024"), true},
                                                             {waits("1032"), true},
                                                             {"", true}})
        EXPECT_EQ(brief::said(sends + waited + "DONE:",
                              {.checks = "sync", .block = 32, .grid = 2, .cluster = 2}),
                  gone ? Lines{"13 peer-ended"} : Lines{})
            << waited;
}

// A thread that has met the others at a barrier of its CTA lets go what they did in a peer too.
TEST(Mbarriers, OfOneThreadForItsCtaLetAPeerEnd) {
    const auto body = [](const std::string& meet) {
        return R"(setp.eq.u32 %p1, %r1, 0;
mov.u32 %r10, %cluster_ctarank; setp.eq.u32 %p2, %r10, 0;
@%p1 mbarrier.init.shared.b64 [tile+1024], 1;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
@!%p2 bra WAIT;
mapa.shared::cluster.u32 %r12, %r6, 1;
st.shared::cluster.u32 [%r12], %r1;
)" + meet + R"(
add.u32 %r13, %r5, 1024; mapa.shared::cluster.u32 %r13, %r13, 1;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];
bra DONE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p4, [tile+1024], 0;
@!%p4 bra WAIT;
DONE:)";
    };
    const Of pair{.checks = "sync", .block = 64, .grid = 2, .cluster = 2};
    EXPECT_EQ(brief::said(body("bar.sync 0;"), pair), Lines{});
    EXPECT_EQ(brief::said(body(""), pair), Lines{"9 peer-ended"});
}

// A copy of words 16 to 23 of the array.
TEST(Mbarriers, BulkCopiesOfWhatThreadsStored) {
    const std::string copy =
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5+64], 32;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
    struct At {
        const char* access;
        uint64_t word;  // 0: none
    };
    for (const At& at : std::initializer_list<At>{{"u32 [%r5+60]", 0},
                                                  {"u32 [%r5+64]", 64},
                                                  {"u32 [%r5+92]", 92},
                                                  {"u32 [%r5+96]", 0},
                                                  {"u8 [%r5+63]", 0},
                                                  {"u8 [%r5+67]", 64},
                                                  {"u8 [%r5+95]", 92},
                                                  {"u64 [%r5+56]", 0},
                                                  {"u64 [%r5+64]", 64},
                                                  {"u64 [%r5+88]", 88},
                                                  {"u64 [%r5+96]", 0}}) {
        const std::string text = at.access;
        const std::string store = "mov.u32 %r10, 1; mov.u64 %rd10, 1;\n@%p1 st.shared." + text +
                                  ", " + (text.starts_with("u64") ? "%rd10" : "%r10") + ";\n";
        EXPECT_EQ(
            of(store + copy, 32, {.lanes = true, .at = true}),
            at.word == 0 ? Lines{} : Lines{"4 proxy-fence 3, 1 0, 4 at " + std::to_string(at.word)})
            << text;
        EXPECT_EQ(of(store + "fence.proxy.async;\n" + copy), Lines{}) << text;
        EXPECT_EQ(of(store + "fence.proxy.async.shared::cta;\n" + copy), Lines{}) << text;
    }
    const std::string store = "@%p1 st.shared.u32 [%r5+64], 1;\n";
    EXPECT_EQ(of("fence.proxy.async;\n" + store + copy), Lines{"4 proxy-fence 3"});
    EXPECT_EQ(of(store + "fence.acq_rel.cta;\n" + copy), Lines{"4 proxy-fence 2"});
    EXPECT_EQ(of(store + "setp.eq.u32 %p2, %r1, 99;\n@%p2 fence.proxy.async;\n" + copy),
              Lines{"5 proxy-fence 2"});
    EXPECT_EQ(of("@%p1 red.shared.add.u32 [%r5+64], 1;\n" + copy), Lines{"3 proxy-fence 2"});
    EXPECT_EQ(of("@%p1 ld.shared.u32 %r10, [%r5+64];\n" + copy), Lines{});
    EXPECT_EQ(of("@%p1 st.global.u32 [%rd1+64], 1;\n" + copy), Lines{});
    // Whichever lane stored, and in dynamic memory as well.
    EXPECT_EQ(of("setp.eq.u32 %p2, %r2, 17;\n@%p2 st.shared.u32 [%r6], 1;\n" + copy, 32),
              Lines{"4 proxy-fence 3"});
    EXPECT_EQ(of("st.shared.u32 [%r6], 1;\n" + copy, 32, {.at = true}),
              Lines{"3 proxy-fence 2, 4 at 64"});
    const std::string of_dynamic =
        "mov.u32 %r10, d;\n@%p1 st.shared.u32 [%r10+128], 1;\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r10+112], 32;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
    EXPECT_EQ(said("setp.eq.u32 %p1, %r1, 0;" + of_dynamic,
                   {.checks = "sync",
                    .block = 32,
                    .outside = ".extern .shared .align 16 .b8 d[];",
                    .dynamic_shared = 256}),
              Lines{"3 proxy-fence 2"});
    EXPECT_EQ(
        of(store + "fence.proxy.async;\n" + copy + "@%p1 st.shared.u32 [%r5+68], 1;\n" + copy),
        Lines{"7 proxy-fence 6"});
}

}  // namespace
}  // namespace lockwarp::check::mbarriers_test
