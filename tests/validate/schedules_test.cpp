// SPDX-License-Identifier: Apache-2.0
// Launches whose asynchronous instructions are done where they are issued, and where somebody waits
// for them.
#include "validate/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "launch/files.hpp"
#include "launch/state.hpp"
#include "tests/validate/launches.hpp"

namespace lockwarp::validate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> kernels() {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(std::string(LOCKWARP_SOURCE_DIR) + "/gpu/kernels"))
        if (e.path().extension() == ".json") out.push_back(e.path().string());
    std::ranges::sort(out);
    return out;
}

TEST(Schedules, KernelsAreTheSameWithEither) {
    unsigned compared = 0;
    for (const std::string& file : kernels()) {
        const auto steps = launch::load_all({file}, "", {});
        ASSERT_TRUE(steps) << steps.error().sentence;
        const auto state = launch::make_state(steps->front().in.launch);
        ASSERT_TRUE(state) << state.error().sentence;
        const SchedulesResult r = try_schedules(*steps, *state, {});
        EXPECT_FALSE(r.refused) << file << ": " << *r.refused;
        compared += r.compared;
        if (r.difference)
            ADD_FAILURE() << file << ": " << element_text(r.difference->what) << " is "
                          << r.difference->what.was << " early, " << r.difference->what.is
                          << " late";
    }
    EXPECT_GE(compared, 50u);
}

// A copy is read where nobody has waited for it.
const std::string early_reader = R"(mov.u32 %r4, tile;
mad.lo.u32 %r5, %r1, 4, %r4; add.u32 %r6, %r1, 7; st.shared.u32 [%r5], %r6;
cp.async.ca.shared.global [%r5], [%rd2+512], 4;
cp.async.commit_group;
WAIT
ld.shared.u32 %r8, [%r5];
setp.lt.u32 %p1, %r1, 3;
@%p1 st.global.u32 [%rd2], %r8;
cp.async.wait_group 0;)";

std::string with_wait(const std::string& wait) {
    std::string out = early_reader;
    return out.replace(out.find("WAIT"), 4, wait);
}

TEST(TrySchedules, NameTheCopyAndWhoReadsTooEarly) {
    for (const size_t launches : {1u, 2u, 3u}) {
        const Launches l(with_wait(""), std::vector<std::string>(launches, two_warps));
        const SchedulesResult r = try_schedules(l.steps, l.first, {});
        EXPECT_TRUE(r.compared);
        EXPECT_FALSE(r.stopped);
        ASSERT_TRUE(r.difference.has_value()) << launches;
        const ScheduleDifference& d = *r.difference;
        // What one launch leaves the next one, early, mends.
        EXPECT_EQ(d.launch, launches - 1);
        EXPECT_EQ(element_text(d.what), "D[0]");
        EXPECT_EQ(d.what.was, "0x00000000");
        EXPECT_EQ(d.what.is, "0x00000007");
        const isa::Program& program = l.steps[0].program;
        ASSERT_LT(d.operation, program.operations.size());
        EXPECT_EQ(program.operations[d.operation].op, isa::Op::cp_async);
        ASSERT_TRUE(d.reader.has_value());
        EXPECT_EQ(program.operations[d.reader->operation].op, isa::Op::ld);
        EXPECT_EQ(program.operations[d.reader->operation].place.line,
                  program.operations[d.operation].place.line + 3);
        EXPECT_EQ(d.reader->warp, 0u);
        EXPECT_EQ(d.reader->lanes, UINT32_MAX);
        EXPECT_EQ(d.reader->cta, (std::array<uint32_t, 3>{0, 0, 0}));
        EXPECT_EQ(d.reader->step, d.reader->operation);
        // A run that left what the late schedule leaves says all there is to know.
        Left early = l.with(std::vector<std::vector<warp::GiveWay>>(launches));
        EXPECT_TRUE(try_schedules(l.steps, l.first, {}, &early).difference.has_value());
        for (uint32_t i = 0; i < 3; ++i) {
            const uint32_t late = i + 7;
            std::memcpy(early.state.memory.bytes[0].data() + 4 * i, &late, 4);
        }
        EXPECT_FALSE(try_schedules(l.steps, l.first, {}, &early).difference.has_value());
    }
}

// One lane's result is enough, be it of 32 bits or of 64, whichever lane it is.
TEST(TrySchedules, NameAReaderOfOneLane) {
    for (const unsigned lane : {0u, 1u, 7u, 30u, 31u, 33u})
        for (const bool wide : {false, true}) {
            std::string body = with_wait("setp.eq.u32 %p2, %r1, " + std::to_string(lane) + ";");
            const auto replace = [&](const std::string& what, const std::string& with) {
                body.replace(body.find(what), what.size(), with);
            };
            replace("ld.shared.u32 %r8, [%r5];", wide ? "@%p2 ld.shared.u32 %r8, [%r5];"
                                                        "@%p2 ld.shared.u64 %rd3, [tile+" +
                                                            std::to_string(lane / 2 * 8) + "];"
                                                      : "@%p2 ld.shared.u32 %r8, [%r5];");
            if (wide) replace("@%p2 ld.shared.u32 %r8, [%r5];", "mov.u32 %r8, 1;");
            replace("setp.lt.u32 %p1, %r1, 3;\n@%p1", "@%p2");
            if (wide) replace("st.global.u32 [%rd2], %r8", "st.global.u32 [%rd2], %rd3");
            const Launches l(body, {two_warps});
            const SchedulesResult r = try_schedules(l.steps, l.first, {});
            ASSERT_TRUE(r.difference.has_value()) << lane;
            ASSERT_TRUE(r.difference->reader.has_value()) << lane;
            const ScheduleDifference::Reader& reader = *r.difference->reader;
            EXPECT_EQ(l.steps[0].program.operations[reader.operation].op, isa::Op::ld) << lane;
            EXPECT_EQ(reader.warp, lane / 32);
            EXPECT_EQ(reader.lanes, uint32_t{1} << lane % 32);
        }
}

// The second launch alone has what is late.
TEST(TrySchedules, NameTheLaunch) {
    const Launches l(
        "setp.eq.u32 %p2, %r3, 0; ld.global.u32 %r9, [%rd1+256];\n"
        "bar.sync 0; @%p2 st.global.u32 [%rd1+256], 1;\n"
        "setp.eq.u32 %p3, %r9, 0; @%p3 exit;\n" +
            with_wait(""),
        {two_warps, two_warps});
    const SchedulesResult r = try_schedules(l.steps, l.first, {});
    ASSERT_TRUE(r.difference.has_value());
    EXPECT_EQ(r.difference->launch, 1u);
    EXPECT_TRUE(r.difference->reader.has_value());
}

// The first launch has one of the copies, the second the other; each is read too early.
TEST(TrySchedules, NameTheOperationOfTheLaunch) {
    const Launches l(
        "setp.eq.u32 %p2, %r3, 0; ld.global.u32 %r9, [%rd1+256]; setp.ne.u32 %p3, %r9, 0;\n"
        "bar.sync 0; @%p2 st.global.u32 [%rd1+256], 1;\n"
        "mov.u32 %r4, tile; mad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], 7;\n"
        "@%p3 cp.async.ca.shared.global [%r5], [%rd2+512], 4;\n"
        "@!%p3 cp.async.ca.shared.global [%r5], [%rd2+512], 4;\n"
        "ld.shared.u32 %r8, [%r5]; selp.b64 %rd3, 768, 0, %p3; add.u64 %rd3, %rd2, %rd3;\n"
        "st.global.u32 [%rd3], %r8; cp.async.wait_all;",
        {two_warps, two_warps});
    const SchedulesResult r = try_schedules(l.steps, l.first, {});
    ASSERT_TRUE(r.difference.has_value());
    EXPECT_EQ(r.difference->launch, 0u);
    EXPECT_EQ(element_text(r.difference->what), "D[0]");
    std::vector<uint32_t> copies;
    const std::vector<isa::Operation>& operations = l.steps[0].program.operations;
    for (uint32_t i = 0; i < operations.size(); ++i)
        if (operations[i].op == isa::Op::cp_async) copies.push_back(i);
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(r.difference->operation, copies[1]);
    EXPECT_TRUE(r.difference->reader.has_value());
}

// One copy after another is tried alone, as far as the 64th; what differs is told all the same.
TEST(TrySchedules, NameTheOperationAmongSoMany) {
    for (const size_t before : {63u, 64u}) {
        std::string body = "setp.eq.u32 %p2, %r1, 100;\n";
        for (size_t i = 0; i < before; ++i)
            body += "@%p2 cp.async.ca.shared.global [tile], [%rd2+512], 4;\n";
        const Launches l(body + with_wait(""), {two_warps});
        const SchedulesResult r = try_schedules(l.steps, l.first, {});
        ASSERT_TRUE(r.difference.has_value()) << before;
        EXPECT_EQ(element_text(r.difference->what), "D[0]");
        const std::vector<isa::Operation>& operations = l.steps[0].program.operations;
        const bool found = r.difference->operation < operations.size() &&
                           operations[r.difference->operation].op == isa::Op::cp_async;
        EXPECT_EQ(found, before == 63) << before;
        EXPECT_EQ(r.difference->reader.has_value(), before == 63) << before;
    }
}

// Who reads is found by any byte of any lane that the copy alone would have changed.
TEST(TrySchedules, NameWhoReadsByEachByteOfEachLane) {
    for (uint32_t lane = 0; lane < 64; lane += 3)
        for (const bool wide : {false, true}) {
            const uint32_t byte = lane % (wide ? 8 : 4);
            const std::string width = wide ? "64" : "32";
            const Launches l(
                "mov.u32 %r4, tile; mad.lo.u32 %r5, %r1, 8, %r4; mul.wide.u32 %rd3, %r1, 8;\n"
                "add.u64 %rd3, %rd1, %rd3; mov.u64 %rd4, 0; setp.ne.u32 %p1, %r1, " +
                    std::to_string(lane) + ";\nselp.b64 %rd4, 0, " +
                    std::to_string(uint64_t{0x81} << 8 * byte) +
                    ", %p1;\nst.shared.u64 [%r5], %rd4;\n"
                    "cp.async.ca.shared.global [%r5], [%rd3+512], 8;\n"
                    "ld.shared.u" +
                    width + " " + (wide ? "%rd5" : "%r8") +
                    ", [%r5];\n"
                    "st.global.u" +
                    width + " [%rd3], " + (wide ? "%rd5" : "%r8") + ";\ncp.async.wait_all;",
                {two_warps});
            const SchedulesResult r = try_schedules(l.steps, l.first, {});
            ASSERT_TRUE(r.difference.has_value()) << lane;
            EXPECT_EQ(r.difference->what.index, lane * 2 + byte / 4) << lane;
            ASSERT_TRUE(r.difference->reader.has_value()) << lane << ", " << width << " bits";
            EXPECT_EQ(r.difference->reader->warp, lane / 32);
            const isa::Program& program = l.steps[0].program;
            EXPECT_EQ(program.operations[r.difference->reader->operation].op, isa::Op::ld);
        }
}

// A late copy's old content may be no address.
TEST(TrySchedules, NameTheTrap) {
    std::string body = early_reader;
    body.replace(body.find("WAIT"), 4, "");
    const std::string store = "@%p1 st.global.u32 [%rd2], %r8;";
    body.replace(
        body.find(store), store.size(),
        "mul.wide.u32 %rd3, %r8, 4096; add.u64 %rd3, %rd3, %rd1;\nst.global.u32 [%rd3], 0;");
    const Launches l(body, {two_warps});
    const SchedulesResult r = try_schedules(l.steps, l.first, {});
    ASSERT_TRUE(r.difference.has_value());
    EXPECT_EQ(element_text(r.difference->what), "the trap");
    EXPECT_EQ(r.difference->what.was, "");
    const uint32_t store_at = [&] {
        for (const isa::Operation& o : l.steps[0].program.operations)
            if (o.op == isa::Op::st && o.mod.space == ptx::Space::global) return o.place.line;
        return 0u;
    }();
    EXPECT_EQ(r.difference->what.is, std::string(warp::trap_name(warp::TrapKind::out_of_bounds)) +
                                         " at line " + std::to_string(store_at));
    EXPECT_EQ(l.steps[0].program.operations[r.difference->operation].op, isa::Op::cp_async);
}

TEST(TrySchedules, AreTheSameForWhoWaits) {
    const Launches good(with_wait("cp.async.wait_group 0;"), {two_warps});
    const SchedulesResult r = try_schedules(good.steps, good.first, {});
    EXPECT_TRUE(r.compared);
    EXPECT_FALSE(r.difference.has_value());
    const Launches none(partners, {two_warps});
    EXPECT_FALSE(try_schedules(none.steps, none.first, {}).compared);
    const std::atomic<bool> stop{true};
    const SchedulesResult stopped = try_schedules(good.steps, good.first, {0, &stop});
    EXPECT_TRUE(stopped.stopped);
    EXPECT_FALSE(stopped.difference.has_value());
    // A limit of steps ends both alike.
    EXPECT_FALSE(try_schedules(good.steps, good.first, {9, nullptr}).difference.has_value());
}

}  // namespace
}  // namespace lockwarp::validate
