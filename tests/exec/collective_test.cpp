// SPDX-License-Identifier: Apache-2.0
// match, redux and elect, by all lanes, by parts of the warp, and from several paths; bar.red.
#include <algorithm>

#include "tests/exec/support.hpp"

namespace lockwarp::exec::collective_test {

namespace {

std::string module_of(std::string_view body, std::string_view target = "sm_90") {
    std::string text = kernel(body, {}, target);
    text.replace(0, text.find('\n'), ".version 9.0");
    return text;
}

// What each thread stores at [%rd2]; it finds word n of `in` for its n in %r2, and the word 32
// behind it in %r3.
Words run_body(const std::string& body, const Words& in, Given given = {},
               std::string_view target = "sm_90") {
    given.arch = *isa::arch_named(target);
    return results_of_text(module_of("mul.wide.u32 %rd10, %r1, 4;\nadd.u64 %rd10, %rd10, %rd1;\n"
                                     "ld.global.u32 %r2, [%rd10];\nld.global.u32 %r3, "
                                     "[%rd10+128];\n" +
                                         body + "\nst.global.u32 [%rd2], %r5;\n",
                                     target),
                           in, std::move(given));
}

// Values that are often equal, sometimes all.
Words values(std::mt19937& random, uint32_t round) {
    Words out;
    for (int i = 0; i < 64; ++i)
        out.push_back(round % 4 == 0   ? 7
                      : round % 4 == 1 ? static_cast<uint32_t>(random() % 2) * 0x80000000u
                                       : static_cast<uint32_t>(random()) >> (random() % 32));
    if (round % 8 == 0) out[random() % 64] ^= 1;
    return out;
}

// Each half of the warp is one group; in whole: the warp is.
uint32_t group_of(uint32_t lane, bool whole) {
    return whole ? 0xffffffff : lane < 16 ? 0xffffu : 0xffff0000u;
}

const std::string halves = "setp.lt.u32 %p9, %r1, 16;\nselp.b32 %r9, 0xffff, 0xffff0000, %p9;\n";
const std::string warp = "mov.u32 %r9, 0xffffffff;\n";

TEST(Match, AnyIsTheLanesOfTheSameValue) {
    std::mt19937 random(1);
    for (uint32_t round = 0; round < 40; ++round)
        for (const bool whole : {true, false}) {
            const Words in = values(random, round);
            const std::string mask = whole ? warp : halves;
            const Words narrow = run_body(mask + "match.any.sync.b32 %r5, %r2, %r9;", in);
            const Words wide = run_body(mask + R"(
mov.b64 %rd5, {%r2, %r3};
match.any.sync.b64 %r5, %rd5, %r9;)",
                                        in);
            const Words in_place = run_body(mask + R"(
match.any.sync.b32 %r2, %r2, %r9;
mov.u32 %r5, %r2;)",
                                            in);
            for (uint32_t lane = 0; lane < 32; ++lane) {
                uint32_t same = 0;
                uint32_t same_wide = 0;
                for (uint32_t other = 0; other < 32; ++other) {
                    if ((group_of(lane, whole) >> other & 1) == 0 || in[other] != in[lane])
                        continue;
                    same |= 1u << other;
                    if (in[32 + other] == in[32 + lane]) same_wide |= 1u << other;
                }
                ASSERT_EQ(narrow[lane], same) << lane;
                ASSERT_EQ(in_place[lane], same) << lane;
                ASSERT_EQ(wide[lane], same_wide) << lane;
            }
        }
}

TEST(Match, AllIsTheGroupOrNothing) {
    std::mt19937 random(2);
    size_t agreed = 0;
    size_t differed = 0;
    for (uint32_t round = 0; round < 40; ++round)
        for (const bool whole : {true, false}) {
            const Words in = values(random, round);
            const std::string mask = whole ? warp : halves;
            const Words narrow = run_body(mask + "match.all.sync.b32 %r5, %r2, %r9;", in);
            const Words wide = run_body(mask + R"(
mov.b64 %rd5, {%r2, %r3};
match.all.sync.b64 %r5|%p1, %rd5, %r9;
@%p1 xor.b32 %r5, %r5, 0x5a;)",
                                        in);
            for (uint32_t lane = 0; lane < 32; ++lane) {
                const uint32_t group = group_of(lane, whole);
                bool all = true;
                bool all_wide = true;
                for (uint32_t other = 0; other < 32; ++other) {
                    if ((group >> other & 1) == 0) continue;
                    all = all && in[other] == in[lane];
                    all_wide = all_wide && in[other] == in[lane] && in[32 + other] == in[32 + lane];
                }
                ASSERT_EQ(narrow[lane], all ? group : 0) << lane;
                ASSERT_EQ(wide[lane], all_wide ? group ^ 0x5a : 0) << lane;
                ++(all ? agreed : differed);
            }
        }
    EXPECT_GT(agreed, 0u);
    EXPECT_GT(differed, 0u);
}

TEST(Redux, ReducesEachGroup) {
    struct Row {
        const char* name;
        int64_t (*of)(int64_t, int64_t);
        bool is_signed;
    };
    const Row rows[] = {
        {"add.u32", [](int64_t a, int64_t b) { return a + b; }, false},
        {"add.s32", [](int64_t a, int64_t b) { return a + b; }, true},
        {"min.u32", [](int64_t a, int64_t b) { return std::min(a, b); }, false},
        {"min.s32", [](int64_t a, int64_t b) { return std::min(a, b); }, true},
        {"max.u32", [](int64_t a, int64_t b) { return std::max(a, b); }, false},
        {"max.s32", [](int64_t a, int64_t b) { return std::max(a, b); }, true},
        {"and.b32", [](int64_t a, int64_t b) { return a & b; }, false},
        {"or.b32", [](int64_t a, int64_t b) { return a | b; }, false},
        {"xor.b32", [](int64_t a, int64_t b) { return a ^ b; }, false},
    };
    std::mt19937 random(3);
    for (const Row& row : rows)
        for (uint32_t round = 0; round < 12; ++round)
            for (const bool whole : {true, false}) {
                const Words in = values(random, round);
                const Words out = run_body(std::string(whole ? warp : halves) + "redux.sync." +
                                               row.name + " %r2, %r2, %r9;\nmov.u32 %r5, %r2;",
                                           in);
                for (uint32_t lane = 0; lane < 32; ++lane) {
                    const auto value = [&](uint32_t n) {
                        return row.is_signed ? int64_t{static_cast<int32_t>(in[n])}
                                             : int64_t{in[n]};
                    };
                    int64_t sum = value(lane);
                    for (uint32_t other = 0; other < 32; ++other)
                        if (other != lane && (group_of(lane, whole) >> other & 1) != 0)
                            sum = row.of(sum, value(other));
                    ASSERT_EQ(out[lane], static_cast<uint32_t>(sum)) << row.name << " " << lane;
                }
            }
}

// Of f32, beside the order of the numbers' bits: -0 is less than +0, a number is taken before a
// NaN, but with .NaN, and .abs looks at magnitudes (PTX manual, redux.sync).
TEST(Redux, OfFloatsIsTheLeastOrTheGreatest) {
    constexpr uint32_t nan = 0x7fffffff;
    const Words some{0,          0x80000000, 1,          0x80000001, 0x7f800000, 0xff800000,
                     0x7f800001, 0xffc00000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff};
    std::mt19937 random(4);
    for (const bool least : {true, false})
        for (const bool magnitudes : {true, false})
            for (const bool nans : {true, false})
                for (uint32_t round = 0; round < 24; ++round) {
                    // Of the first rounds all are NaN, or a single value is; then few, then none.
                    Words in;
                    for (int i = 0; i < 64; ++i)
                        in.push_back(round == 0   ? 0xffc00001 + i
                                     : round < 6  ? some[random() % (round < 3 ? 2 : 6)]
                                     : round < 16 ? some[random() % some.size()]
                                                  : static_cast<uint32_t>(random()));
                    if (round == 1) in[random() % 32] = 0x7f800001;
                    const bool whole = round % 2 == 0;
                    const std::string name = std::string("redux.sync") + (least ? ".min" : ".max") +
                                             (magnitudes ? ".abs" : "") + (nans ? ".NaN" : "") +
                                             ".f32 %r2, %r2, %r9;\nmov.u32 %r5, %r2;";
                    const Words out = run_body((whole ? warp : halves) + name, in, {}, "sm_100f");
                    for (uint32_t lane = 0; lane < 32; ++lane) {
                        bool any_nan = false;
                        Words places;  // of the numbers, in their order
                        for (uint32_t other = 0; other < 32; ++other) {
                            if ((group_of(lane, whole) >> other & 1) == 0) continue;
                            const uint32_t bits = magnitudes ? in[other] & nan : in[other];
                            if ((bits & nan) > 0x7f800000)
                                any_nan = true;
                            else
                                places.push_back(bits >> 31 != 0 ? ~bits : bits | 0x80000000);
                        }
                        std::ranges::sort(places);
                        uint32_t expected = nan;
                        if (!places.empty() && !(nans && any_nan)) {
                            const uint32_t place = least ? places.front() : places.back();
                            expected = place >> 31 != 0 ? place & nan : ~place;
                        }
                        ASSERT_EQ(out[lane], expected) << name << " " << round << " " << lane;
                    }
                }
}

// Lanes that have exited take no part.
TEST(Redux, OfLanesThatRemain) {
    const Words out = run_body(R"(
setp.ge.u32 %p1, %r1, 20;
@%p1 exit;
redux.sync.add.u32 %r5, %r1, 0xffffffff;
match.any.sync.b32 %r6, 1, 0xffffffff;
xor.b32 %r5, %r5, %r6;)",
                               Words(64));
    for (uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(out[lane], lane < 20 ? 190u ^ 0xfffffu : 0xeeeeeeee);
}

TEST(Elect, TheLowestLaneOfItsGroup) {
    const auto elect = [](const std::string& before, const std::string& mask) {
        return run_body(before + "elect.sync %r5|%p1, " + mask + ";\n@%p1 add.u32 %r5, %r5, 100;",
                        Words(64));
    };
    const Words whole = elect("", "0xffffffff");
    const Words parts = elect(halves, "%r9");
    const Words sparse = elect(
        "mov.u32 %r5, 7;\nand.b32 %r8, %r1, 5;\n"
        "setp.ne.u32 %p3, %r8, 4;\n@%p3 bra OVER;\n",
        "0x50505050;\nOVER:\nmov.u32 %r4, 0");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(whole[lane], lane == 0 ? 100u : 0u);
        EXPECT_EQ(parts[lane], lane < 16 ? (lane == 0 ? 100u : 0u) : (lane == 16 ? 116u : 16u));
        EXPECT_EQ(sparse[lane], (lane & 5) == 4 ? (lane == 4 ? 104u : 4u) : 7u);
    }
}

// The paths of a branch come to the instruction one after the other.
TEST(Collective, BringsPathsTogether) {
    const std::string paths = R"(
setp.lt.u32 %p1, %r1, 16;
setp.eq.u32 %p2, %r1, 1000;
mov.u32 %r6, %r1;
@%p1 bra MEET;
add.u32 %r6, %r1, 100;
@%p2 bra DONE;
MEET:
)";
    uint32_t sum = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) sum += lane < 16 ? lane : lane + 100;
    const Words out =
        run_body(paths +
                     "redux.sync.add.u32 %r5, %r6, 0xffffffff;\nelect.sync %r7|%p3, 0xffffffff;\n"
                     "@%p3 add.u32 %r5, %r5, 1;\nDONE:\n",
                 Words(64));
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], sum + (lane == 0 ? 1 : 0));
}

TEST(Collective, AMaskWithoutItsOwnLaneIsATrap) {
    for (const std::string text :
         {"match.any.sync.b32 %r5, %r1, 0xffff;", "match.all.sync.b32 %r5|%p1, %r1, 0xffff;",
          "redux.sync.add.u32 %r5, %r1, 0xffff;", "elect.sync %r5|%p1, 0xffff;"}) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.buffers = {Bytes(256), Bytes(4096)};
        const Outcome outcome = run(program_of(module_of(text), given.arch), given);
        EXPECT_NE(fault_of(outcome.result).find("does not name its own lane"), std::string::npos)
            << text;
    }
}

struct Reduced {
    uint32_t popc, all, any;
};

// Every thread's three results; `give` sets %p1, the predicate that the thread gives.
std::vector<Reduced> reduced(const std::string& give, const std::string& barrier, uint32_t threads,
                             const std::string& begin = "") {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    given.buffers = {Bytes(256), Bytes(size_t{threads} * 16, 0xee)};
    const auto one = [&](const std::string& op, const std::string& result) {
        std::string text = barrier;
        text.replace(text.find("OP"), 2, op);
        return text.replace(text.find("D,"), 2, result + ",") + ";\n";
    };
    const std::string body = begin + give + one("popc", "%r5") + one("and", "%p5") +
                             one("or", "%p6") +
                             "selp.u32 %r6, 1, 0, %p5;\nselp.u32 %r7, 1, 0, %p6;\n"
                             "st.global.v4.u32 [%rd3], {%r5, %r6, %r7, %r1};\n";
    std::string text = module_of(body);
    // popc gives a number, the others a predicate.
    for (size_t at = 0; (at = text.find(".TYPE", at)) != std::string::npos;) {
        const std::string_view before = std::string_view(text).substr(at - 20, 20);
        text.replace(at, 5, before.find("popc") != std::string_view::npos ? ".u32" : ".pred");
    }
    const Words out = words_of(run_well(program_of(text, given.arch), std::move(given)).buffers[1]);
    std::vector<Reduced> results;
    for (size_t i = 0; i < threads; ++i)
        results.push_back({out[4 * i], out[4 * i + 1], out[4 * i + 2]});
    return results;
}

TEST(BarRed, EveryThreadHasTheValueOfAll) {
    for (const uint32_t threads : {32u, 96u, 256u, 70u})
        for (const uint32_t below : {0u, 1u, 40u, 70u, 1000u})
            for (const std::string barrier :
                 {"bar.red.OP.TYPE D, 0, %p1", "bar.cta.red.OP.TYPE D, 3, !%p2",
                  "barrier.red.OP.TYPE D, 1, %p1", "barrier.cta.red.OP.aligned.TYPE D, 15, %p1"}) {
                const auto results =
                    reduced("setp.lt.u32 %p1, %r1, " + std::to_string(below) +
                                ";\nsetp.ge.u32 %p2, %r1, " + std::to_string(below) + ";\n",
                            barrier, threads);
                const uint32_t yes = std::min(below, threads);
                for (const Reduced& r : results) {
                    ASSERT_EQ(r.popc, yes) << barrier;
                    ASSERT_EQ(r.all, yes == threads ? 1u : 0u) << barrier;
                    ASSERT_EQ(r.any, yes != 0 ? 1u : 0u) << barrier;
                }
            }
}

// Two warps each at a barrier of their own, again and again.
TEST(BarRed, CountsTheThreadsItNames) {
    const auto results = reduced("and.b32 %r8, %r1, 3;\nsetp.ne.u32 %p1, %r8, 0;\n",
                                 "bar.red.OP.TYPE D, %r9, 64, %p1", 128, "shr.u32 %r9, %r1, 6;\n");
    for (const Reduced& r : results) {
        EXPECT_EQ(r.popc, 48u);
        EXPECT_EQ(r.all, 0u);
        EXPECT_EQ(r.any, 1u);
    }
}

// Lanes of one warp come by different paths.
TEST(BarRed, FromSeveralPaths) {
    Given given;
    given.block.x = 64;
    const Words out = run_body(R"(
and.b32 %r8, %r1, 1;
setp.ne.u32 %p1, %r8, 0;
setp.lt.u32 %p2, %r1, 10;
@%p1 bra ODD;
barrier.red.popc.u32 %r5, 2, 64, %p2;
add.u32 %r5, %r5, 1000;
bra MEET;
ODD:
barrier.red.popc.u32 %r5, 2, 64, !%p2;
MEET:
add.u32 %r5, %r5, 1;)",
                               Words(128), given);
    // 5 even threads below 10, 27 odd ones above.
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], 32u + (t % 2 == 0 ? 1001 : 1));
}

TEST(BarRed, InALoop) {
    Given given;
    given.block.x = 96;
    const Words out = run_body(R"(
mov.u32 %r5, 0;
mov.u32 %r6, 0;
LOOP:
setp.lt.u32 %p1, %r1, %r6;
bar.red.popc.u32 %r7, 0, %p1;
add.u32 %r5, %r5, %r7;
add.u32 %r6, %r6, 1;
bar.red.and.pred %p2, 1, %p1;
@!%p2 bra LOOP;)",
                               Words(128), given);
    // 0 + 1 + ... + 96.
    for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], 96u * 97 / 2);
}

// The result may be where the membermask was. Half of the warp is at the vote before the other
// half, which may leave without it, so that they do not meet on the way.
TEST(Vote, TheMaskIsReplacedByTheResult) {
    const Words out = run_body(R"(
mov.u32 %r5, 0xffffffff;
setp.lt.u32 %p1, %r1, 16;
setp.gt.u32 %p2, %r1, 1000;
and.b32 %r6, %r1, 1;
setp.eq.u32 %p3, %r6, 1;
@%p1 bra FIRST;
VOTE:
vote.sync.ballot.b32 %r5, %p3, %r5;
bra END;
FIRST:
@%p2 bra END;
bra VOTE;
END:
)",
                               Words(64));
    EXPECT_EQ(out, Words(32, 0xaaaaaaaa));
}

TEST(BarRed, ThreadsThatHaveExitedAreNotWaitedFor) {
    Given given;
    given.block.x = 96;
    const Words out = run_body(R"(
setp.ge.u32 %p1, %r1, 64;
@%p1 exit;
setp.ge.u32 %p1, %r1, 5;
bar.red.popc.u32 %r5, 0, %p1;)",
                               Words(128), given);
    for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], t < 64 ? 59u : 0xeeeeeeee);
}

// The value is there when an observer sees the instruction retire.
TEST(BarRed, RetiresWithItsValue) {
    struct Seen {
        void retired(const warp::Retired& event) {
            const isa::Operation& o = event.program->operations[event.operation];
            if (o.op != isa::Op::bar_red) return;
            ++count;
            const auto* d = reinterpret_cast<const uint32_t*>(event.registers + o.r[0]);
            for (uint32_t lane = 0; lane < 32; ++lane) right += d[lane] == 64;
            executed += event.executed == 0xffffffff;
        }
        size_t count = 0, right = 0, executed = 0;
    };
    Alone<Seen> observer;
    const Seen& seen = observer.listener;
    Given given;
    given.block.x = 64;
    given.observers = {&observer};
    run_body("setp.ge.u32 %p1, %r1, 0;\nbar.red.popc.u32 %r5, 0, %p1;", Words(128), given);
    EXPECT_EQ(seen.count, 2u);
    EXPECT_EQ(seen.executed, 2u);
    EXPECT_EQ(seen.right, 64u);
}

}  // namespace

}  // namespace lockwarp::exec::collective_test
