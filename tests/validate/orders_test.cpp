// SPDX-License-Identifier: Apache-2.0
// Other orders of warps and CTAs: what differs, by which places, and what is said of it.
#include "validate/orders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/validate/launches.hpp"

namespace lockwarp::validate {
namespace {

using warp::GiveWay;

uint32_t word(const Left& left, size_t i, size_t buffer = 0) {
    uint32_t out = 0;
    std::memcpy(&out, left.state.memory.bytes[buffer].data() + 4 * i, 4);
    return out;
}

TEST(RunInOrder, GivesWayWhereItIsTold) {
    const Launches l(partners, {two_warps});
    const Left usual = l.with({{}});
    EXPECT_EQ(usual.trap, "");
    EXPECT_FALSE(usual.refused.has_value());
    EXPECT_EQ(usual.made, (std::vector<std::vector<GiveWay>>{{}}));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(word(usual, i), i < 32 ? 0 : 100 + (i ^ 32)) << i;
    // Warp 0 before its load: the twelfth instruction of its kernel.
    const std::vector<GiveWay> before_load{{0, 0, 13}};
    const Left other = l.with({before_load});
    EXPECT_EQ(other.made, (std::vector<std::vector<GiveWay>>{before_load}));
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(word(other, i), 100 + (i ^ 32)) << i;
    // And before it has stored.
    const Left neither = l.with({{{0, 0, 12}}});
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(word(neither, i), i < 32 ? 100 + (i ^ 32) : 0) << i;
    // A run changes nothing of what it begins with.
    EXPECT_EQ(l.first.memory.bytes[0], std::vector<uint8_t>(1024));
}

TEST(RunInOrder, StopsAtItsLimits) {
    const Launches l(partners, {two_warps, two_warps});
    const std::atomic<bool> stop{true};
    const Left stopped = l.with({{}, {}}, {0, &stop});
    EXPECT_TRUE(stopped.stopped);
    EXPECT_EQ(try_orders(l.steps, l.first, 4, {0, &stop}).orders, 0u);
    EXPECT_TRUE(try_orders(l.steps, l.first, 4, {0, &stop}).stopped);
    const Left ended = l.with({{}, {}}, {9, nullptr});
    EXPECT_EQ(ended.trap, "step limit reached at line 18");
    EXPECT_FALSE(ended.stopped);
    EXPECT_EQ(word(ended, 40), 0u);
    EXPECT_EQ(l.with({{}, {}}, {16, nullptr}).trap, "");
}

// What traps or is refused ends the file: the launches after it do not run.
TEST(RunInOrder, EndsWhereALaunchDoes) {
    const std::string traps = "st.global.u32 [%rd2], 7; setp.eq.u32 %p1, %r2, 1; @%p1 trap;";
    const std::string one = R"("grid":[1,1,1],"block":[32,1,1])";
    const std::string two = R"("grid":[2,1,1],"block":[32,1,1])";
    const std::string three = R"("grid":[3,1,1],"block":[32,1,1])";
    const Launches l(traps, {one, two, three});
    const Left left = l.with({{}, {}, {}});
    EXPECT_EQ(left.trap.find("trap"), 0u) << left.trap;
    EXPECT_EQ(word(left, 63), 7u);
    EXPECT_EQ(word(left, 64), 0u);
    EXPECT_EQ(left.made.size(), 3u);
    const Launches large(traps, {one, two + R"(,"dynamic_shared":100000000)", three});
    const Left refused = large.with({{}, {}, {}});
    EXPECT_TRUE(refused.refused.has_value());
    EXPECT_EQ(refused.trap, "");
    EXPECT_EQ(word(refused, 31), 7u);
    EXPECT_EQ(word(refused, 32), 0u);
    const OrdersResult r = try_orders(large.steps, large.first, 4, {});
    EXPECT_EQ(r.refused, refused.refused);
    EXPECT_EQ(r.orders, 0u);
    EXPECT_FALSE(r.pair.has_value());
}

TEST(TryOrders, ATrapThatDepends) {
    std::string body = partners;
    const std::string store = "st.global.u32 [%rd2], %r8;";
    body.replace(body.find(store), store.size(),
                 "setp.ne.u32 %p1, %r1, 0; setp.ne.or.u32 %p1, %r8, 0, %p1;\n@!%p1 trap;");
    const Launches l(body, {two_warps});
    const OrdersResult r = try_orders(l.steps, l.first, 8, {});
    ASSERT_TRUE(r.pair.has_value());
    EXPECT_EQ(r.pair->difference.name, "");
    EXPECT_EQ(r.pair->difference.was, l.with({{}}).trap);
    EXPECT_TRUE(r.pair->difference.was.starts_with("trap instruction at line "))
        << r.pair->difference.was;
    EXPECT_EQ(r.pair->difference.is, "");
    EXPECT_EQ(orders_text(l.steps, r)
                  .find("the trap depends on the order of warps and CTAs: " +
                        r.pair->difference.was + " in the usual order, none where\n"),
              0u);
}

TEST(TryOrders, NamesThePlaceAndTheElement) {
    const Launches l(partners, {two_warps});
    const OrdersResult r = try_orders(l.steps, l.first, 8, {});
    EXPECT_EQ(r.orders, 8u);
    EXPECT_FALSE(r.stopped);
    EXPECT_FALSE(r.refused.has_value());
    ASSERT_TRUE(r.pair.has_value());
    EXPECT_GE(r.different, 1u);
    ASSERT_EQ(r.pair->places.size(), 1u);
    ASSERT_EQ(r.pair->places[0].size(), 1u);
    const GiveWay& place = r.pair->places[0][0];
    EXPECT_EQ(place.warp, 0u);
    EXPECT_EQ(r.pair->difference.name, "D");
    EXPECT_EQ(r.pair->difference.index, 0u);
    EXPECT_EQ(r.pair->difference.was, "0x00000000");
    EXPECT_EQ(r.pair->difference.is, "0x00000084");
    const uint32_t line = l.steps[0].program.operations[r.pair->operations[0][0]].place.line;
    const std::string text = "warp 0 of CTA (0,0,0) gives way before line " + std::to_string(line) +
                             " (step " + std::to_string(place.step) + ")";
    EXPECT_EQ(places_text(l.steps, *r.pair), std::vector<std::string>{text});
    EXPECT_EQ(orders_text(l.steps, r),
              "D[0] depends on the order of warps and CTAs: 0x00000000 in the usual order, "
              "0x00000084 where\n  " +
                  text + "\n  " + std::to_string(r.different) +
                  " of 8 orders give another result, the first by --order " +
                  std::to_string(r.pair->seed) + "\n");
    // The seed that it names is the first.
    const Left usual = l.with({{}});
    uint64_t different = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        const Left left = run_in_order(l.steps, l.first, {seed, std::nullopt}, {});
        const bool differs = difference(l.steps, usual, left).has_value();
        EXPECT_TRUE(!differs || different != 0 || seed == r.pair->seed) << seed;
        different += differs;
    }
    EXPECT_EQ(different, r.different);
}

// A variable of the module is a result too, unless others alone are named.
TEST(TryOrders, AVariableThatDepends) {
    std::string body = partners;
    const std::string store = "st.global.u32 [%rd2], %r8;";
    body.replace(body.find(store), store.size(),
                 "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [seen+4], %r8;");
    for (const auto& [outputs, found] :
         {std::pair("", true), std::pair(R"(,"outputs":["seen"])", true),
          std::pair(R"(,"outputs":["E","seen"])", true), std::pair(R"(,"outputs":["D"])", false)}) {
        const Launches l(body, {two_warps + outputs});
        const OrdersResult r = try_orders(l.steps, l.first, 8, {});
        EXPECT_EQ(r.orders, 8u);
        ASSERT_EQ(r.pair.has_value(), found) << outputs;
        if (!r.pair) continue;
        EXPECT_EQ(element_text(r.pair->difference), "seen[1]");
        EXPECT_EQ(r.pair->difference.was, "0x00000000");
        EXPECT_EQ(r.pair->difference.is, "0x00000084");
    }
}

// What is said of a pair is what its places give, of as many CTAs and launches as there are.
TEST(TryOrders, ThePlacesGiveTheDifferenceThatIsNamed) {
    unsigned other_elements = 0;
    for (const unsigned ctas : {1u, 2u, 3u, 4u})
        for (const unsigned launches : {1u, 2u, 3u}) {
            const std::string shape =
                R"("grid":[)" + std::to_string(ctas) + R"(,1,1],"block":[64,1,1])";
            const Launches l(partners, std::vector<std::string>(launches, shape));
            const OrdersResult r = try_orders(l.steps, l.first, 4, {});
            ASSERT_TRUE(r.pair.has_value()) << ctas;
            const Left usual = l.with(std::vector<std::vector<GiveWay>>(launches));
            const Left told = l.with(r.pair->places);
            const auto d = difference(l.steps, usual, told);
            ASSERT_TRUE(d.has_value());
            EXPECT_EQ(d->index, r.pair->difference.index) << ctas << " " << launches;
            EXPECT_EQ(d->was, r.pair->difference.was) << ctas << " " << launches;
            EXPECT_EQ(d->is, r.pair->difference.is) << ctas << " " << launches;
            size_t places = 0;
            for (const auto& of : r.pair->places) places += of.size();
            EXPECT_EQ(places, 1u);
            EXPECT_EQ(places_text(l.steps, *r.pair)[0].find(", launch ") != std::string::npos,
                      launches > 1);
            const auto whole = difference(
                l.steps, usual, run_in_order(l.steps, l.first, {r.pair->seed, std::nullopt}, {}));
            ASSERT_TRUE(whole.has_value());
            other_elements += whole->index != d->index;
        }
    RecordProperty("other_elements", static_cast<int>(other_elements));
}

// What is left is what all of it is needed of, wherever it stands, in few trials.
TEST(FewestPlaces, AreThoseThatAreNeeded) {
    std::mt19937 random(1);
    for (size_t count = 1; count <= 40; ++count)
        for (unsigned round = 0; round < 20; ++round) {
            Numbers needed;
            for (unsigned i = 0; i < 1 + round % 4; ++i) needed.push_back(random() % count);
            std::ranges::sort(needed);
            needed.erase(std::ranges::unique(needed).begin(), needed.end());
            size_t asked = 0, least = 0;
            const Numbers left = fewest(count, [&](const Numbers& n) {
                EXPECT_TRUE(std::ranges::is_sorted(n));
                EXPECT_LT(n.size(), count) << "all of them are known to differ";
                EXPECT_FALSE(n.empty());
                ++asked;
                return std::ranges::includes(n, needed);
            });
            while (size_t{1} << least < count) ++least;
            EXPECT_EQ(left, needed) << count;
            EXPECT_LE(asked, 8 * needed.size() * (least + needed.size())) << count;
        }
    // One number is halved down to, which takes two questions a half.
    size_t asked = 0;
    const auto last = [&](const Numbers& n) { return ++asked, n.back() == 63; };
    EXPECT_EQ(fewest(64, last), Numbers{63});
    EXPECT_EQ(asked, 12u);
    // After each success it begins again with halves.
    const auto asked_for = [&](const Numbers& needed) {
        asked = 0;
        const auto differs = [&](const Numbers& n) {
            return ++asked, std::ranges::includes(n, needed);
        };
        EXPECT_EQ(fewest(64, differs), needed);
        return asked;
    };
    EXPECT_EQ(asked_for({0, 63}), 68u);
    EXPECT_EQ(asked_for({0, 21, 42, 63}), 144u);
    EXPECT_EQ(asked_for({7, 8, 9, 10, 11}), 29u);
    // Where each is needed: two halves, then quarters and what is beside them, up to single ones.
    const auto of_whole = [&](size_t count) {
        asked = 0;
        const auto differs = [&](const Numbers& n) { return ++asked, n.size() == count; };
        EXPECT_EQ(fewest(count, differs).size(), count);
        return asked;
    };
    EXPECT_EQ(of_whole(2), 2u);
    EXPECT_EQ(of_whole(4), 2u + 2 * 4);
    EXPECT_EQ(of_whole(16), 2u + 2 * (4 + 8 + 16));
    EXPECT_EQ(of_whole(1000), 2u + 2 * (max_trials - 2)) << "the trials have an end";
}

TEST(TryOrders, ABarrierMakesThemAllTheSame) {
    std::string met = partners;
    met.insert(met.find("ld.shared"), "bar.sync 0; ");
    const Launches l(met, {two_warps});
    const OrdersResult r = try_orders(l.steps, l.first, 8, {});
    EXPECT_EQ(r.orders, 8u);
    EXPECT_EQ(r.different, 0u);
    EXPECT_FALSE(r.pair.has_value());
    EXPECT_EQ(orders_text(l.steps, r), "");
}

// One CTA adds and another multiplies: the CTA that gives way does so before it begins.
TEST(TryOrders, OfCtas) {
    const Launches l(
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 exit;\nld.relaxed.gpu.global.u32 %r4, [%rd1];\n"
        "mad.lo.u32 %r5, %r4, 3, %r2; add.u32 %r5, %r5, 1;\n"
        "st.relaxed.gpu.global.u32 [%rd1], %r5;",
        {R"("grid":[1,3,1],"block":[32,1,1])", R"("grid":[2,1,1],"block":[32,1,1])"});
    const Left usual = l.with({{}, {}});
    EXPECT_EQ(word(usual, 0), 3u * (3 * 13 + 1) + 2);
    const Left late = l.with({{}, {{0, GiveWay::no_warp, 0}}});
    EXPECT_EQ(word(late, 0), 3u * (3 * 13 + 2) + 1);
    OrderPair pair;
    pair.places = {{{2, GiveWay::no_warp, 0}, {2, 0, 7}}, {{1, 0, 3}}};
    pair.operations = {{UINT32_MAX, 8}, {UINT32_MAX}};
    EXPECT_EQ(
        places_text(l.steps, pair),
        (std::vector<std::string>{"CTA (0,2,0) gives way before it begins, launch 0",
                                  "warp 0 of CTA (0,2,0) gives way before line " +
                                      std::to_string(l.steps[0].program.operations[8].place.line) +
                                      " (step 7), launch 0",
                                  "warp 0 of CTA (1,0,0) gives way at step 3, launch 1"}));
    const Launches deep("", {R"("grid":[2,3,4],"block":[32,1,1])"});
    pair.places = {{{9, 0, 5}, {22, GiveWay::no_warp, 0}}};
    pair.operations = {{UINT32_MAX, UINT32_MAX}};
    EXPECT_EQ(places_text(deep.steps, pair),
              (std::vector<std::string>{"warp 0 of CTA (1,1,1) gives way at step 5",
                                        "CTA (0,2,3) gives way before it begins"}));
}

TEST(OrderDifferences, AreOfElementsAndOutputs) {
    struct Row {
        const char* more;  // of the launch file
        size_t buffer, byte;
        const char* element;
        uint32_t bytes;
        const char* was;
        const char* is;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"", 0, 37, "D[9]", 4, "0x00000000", "0x00004000"},
             {"", 1, 0, "E[0]", 4, "0x00000000", "0x00000040"},
             {"", 1, 63, "E[15]", 4, "0x00000000", "0x40000000"},
             {R"(,"outputs":["E"])", 1, 5, "E[1]", 4, "0x00000000", "0x00004000"},
             {R"(,"outputs":["E"])", 0, 5, nullptr, 0, "", ""},
             {R"(,"expect":[{"buffer":"E","type":"u8","is":{"fill":0}}])", 1, 5, "E[5]", 1, "0x00",
              "0x40"},
             {R"(,"expect":[{"buffer":"E","type":"f16","is":{"fill":0}}])", 1, 5, "E[2]", 2,
              "0x0000", "0x4000"},
             {R"(,"expect":[{"buffer":"E","type":"u64","is":{"fill":0}}])", 1, 12, "E[1]", 8,
              "0x0000000000000000", "0x0000004000000000"},
             {R"(,"expect":[{"buffer":"D","type":"u64","is":{"fill":0}},
                            {"buffer":"E","type":"u8","is":{"fill":0}}])",
              1, 5, "E[5]", 1, "0x00", "0x40"},
         }) {
        const Launches l("", {two_warps + row.more});
        ASSERT_FALSE(l.steps.empty()) << row.more;
        Left was;
        was.state = l.first;
        Left is = was;
        EXPECT_FALSE(difference(l.steps, was, is).has_value());
        is.state.memory.bytes[row.buffer][row.byte] = 0x40;
        const auto d = difference(l.steps, was, is);
        ASSERT_EQ(d.has_value(), row.element != nullptr) << row.more << row.byte;
        if (!d) continue;
        EXPECT_EQ(element_text(*d), row.element);
        EXPECT_EQ(d->bytes, row.bytes) << row.element;
        EXPECT_EQ(d->was, row.was) << row.element;
        EXPECT_EQ(d->is, row.is) << row.element;
        // What ended a run comes before what it left.
        is.trap = "trap at line 3";
        const auto ended = difference(l.steps, was, is);
        ASSERT_TRUE(ended.has_value());
        EXPECT_EQ(element_text(*ended), "the trap");
        EXPECT_EQ(ended->was, "");
        EXPECT_EQ(ended->is, "trap at line 3");
        OrdersResult r{{}, 5, 2, false, OrderPair{7, {{}}, {{}}, *ended}};
        EXPECT_EQ(
            orders_text(l.steps, r),
            "the trap depends on the order of warps and CTAs: none in the usual order, trap at "
            "line 3 where\n  2 of 5 orders give another result, the first by --order 7\n");
    }
}

// Of one whose size is no multiple of a word's the elements are bytes.
TEST(OrderDifferences, AreOfVariables) {
    const Launches l("", {two_warps});
    ASSERT_FALSE(l.steps.empty());
    Left was;
    was.state = l.first;
    Left is = was;
    auto& changed = is.state.changed[l.steps[0].in.path];
    changed["seen"] = std::vector<uint8_t>(16);
    EXPECT_FALSE(difference(l.steps, was, is).has_value());
    changed["seen"][13] = 9;
    auto d = difference(l.steps, was, is);
    ASSERT_TRUE(d.has_value());
    EXPECT_EQ(element_text(*d), "seen[3]");
    EXPECT_EQ(d->is, "0x00000900");
    changed["odd"] = {0, 0, 0, 0, 7};
    d = difference(l.steps, was, is);
    ASSERT_TRUE(d.has_value());
    EXPECT_EQ(element_text(*d), "odd[4]");
    EXPECT_EQ(d->bytes, 1u);
    EXPECT_EQ(d->was, "0x00");
    EXPECT_EQ(d->is, "0x07");
}

}  // namespace
}  // namespace lockwarp::validate
