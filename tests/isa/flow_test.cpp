// SPDX-License-Identifier: Apache-2.0
// Where the paths of a branch meet again, on small graphs and on large ones.
#include "emu/isa/flow.hpp"

#include <algorithm>
#include <numeric>

#include "tests/cpu_time.hpp"

#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

// Operations of a program written one letter each, with a branch's target behind it: "b5" goes to
// operation 5 where its guard holds, "B5" always; "e" exits, "E" exits where its guard holds; "r"
// returns, "t" traps, "c" calls a function that never comes back; "." does nothing. "i5" goes by an
// index to operation 5 or to the one behind it. A final exit is added.
std::vector<Operation> operations_of(const std::string& text) {
    std::vector<Operation> out;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at++];
        if (c == ' ') continue;
        Operation o;
        o.op = c == 'b' || c == 'B'   ? Op::bra
               : c == 'i'             ? Op::brx
               : c == 'e' || c == 'E' ? Op::exit
               : c == 'r'             ? Op::ret
               : c == 't'             ? Op::trap
               : c == 'c'             ? Op::call
                                      : Op::mov;
        o.guarded = c == 'b' || c == 'E';
        while (at < text.size() && text[at] >= '0' && text[at] <= '9')
            o.target = o.target * 10 + static_cast<uint32_t>(text[at++] - '0');
        if (c == 'i') o.immediate = 2;
        out.push_back(o);
    }
    out.emplace_back();
    return out;
}

constexpr std::array<uint8_t, 1> lost_calls{1};

// The reconvergence points of the branches, in order.
std::vector<uint32_t> meetings(const std::string& text) {
    std::vector<Operation> operations = operations_of(text);
    std::array<uint32_t, 32> places{};
    std::iota(places.begin(), places.end(), 0u);
    find_reconvergence(operations, 0, places, lost_calls);
    // `never` reads as the place behind the last operation.
    const auto size = static_cast<uint32_t>(operations.size());
    std::vector<uint32_t> out;
    for (const Operation& o : operations)
        if (o.op == Op::bra || o.op == Op::brx)
            out.push_back(o.reconverge == never ? size : o.reconverge);
    return out;
}

using Points = std::vector<uint32_t>;

TEST(Flow, IfWithoutElse) { EXPECT_EQ(meetings("b2 . ."), (Points{2})); }

TEST(Flow, IfElse) { EXPECT_EQ(meetings("b3 . B4 . ."), (Points{4, 4})); }

TEST(Flow, NestedIf) { EXPECT_EQ(meetings(". b5 . b4 . ."), (Points{5, 4})); }

// A loop's branch back meets behind the loop.
TEST(Flow, Loop) { EXPECT_EQ(meetings(". . b1 ."), (Points{3})); }

TEST(Flow, LoopWithBreak) { EXPECT_EQ(meetings(". b4 . B1 ."), (Points{4, 1})); }

TEST(Flow, NestedLoops) { EXPECT_EQ(meetings(". . b1 b0 ."), (Points{3, 4})); }

// Lanes that return early are gone: the others meet as if that way did not exist.
TEST(Flow, EarlyExit) {
    EXPECT_EQ(meetings("b2 e . ."), (Points{2}));
    // An if whose inner if returns, by an exit of its own or by going to the last one.
    EXPECT_EQ(meetings("b4 b3 e . . ."), (Points{4, 3}));
    EXPECT_EQ(meetings("b3 b5 . . . e"), (Points{3, 2}));
    // The only way out of a loop is a branch to the exit: within the loop lanes still meet.
    EXPECT_EQ(meetings(". b3 . b6 B0 . e"), (Points{3, 4, 8}));
    // And so where it is a guarded exit, in one way through the loop or in several.
    EXPECT_EQ(meetings(". b3 . E B0 ."), (Points{3, 7}));
    EXPECT_EQ(meetings("E b3 E . B0"), (Points{3, 6}));
    EXPECT_EQ(meetings(". b4 b6 . . B0 e"), (Points{4, 3, 8}));
    EXPECT_EQ(meetings("E b3 . ."), (Points{3}));
    // Two ways back to the loop's begin: lanes that take one do not wait for those of the other
    // before that.
    EXPECT_EQ(meetings(". b5 b0 . B0 e"), (Points{2, 7, 7}));
    // A loop before an exit that is not the last one ends.
    EXPECT_EQ(meetings("b5 b3 b2 . e . e"), (Points{5, 3, 3}));
    EXPECT_EQ(meetings("b3 E . ."), (Points{3}));
}

// Lanes that fail are gone too, wherever the block stands in which they do.
TEST(Flow, BlocksThatDoNotReturn) {
    for (const std::string fails : {"t", "c", "e"}) {
        // Two checks on two ways, then all meet; the failure behind the return.
        EXPECT_EQ(meetings("b3 b7 B4 b7 . r . . " + fails), (Points{4, 2, 4, 4})) << fails;
        // Before it, and in a loop.
        EXPECT_EQ(meetings("b3 . " + fails + " . r"), (Points{3})) << fails;
        EXPECT_EQ(meetings(". b4 . " + fails + " . b0 . r"), (Points{4, 6})) << fails;
    }
    // A function that ends threads with nothing but exits: the last is the way that it means.
    EXPECT_EQ(meetings("b3 . . . e"), (Points{3}));
}

// A part of a function that returns, and which ends in an exit: there lanes meet as elsewhere. A
// loop that leads to the exit is not endless.
TEST(Flow, APartThatExitsBesideAReturn) {
    EXPECT_EQ(meetings("b7 b5 . b5 b2 . e . r"), (Points{7, 5, 5, 5}));
    EXPECT_EQ(meetings("b6 b4 . b2 b1 e . r"), (Points{6, 4, 4, 5}));
    EXPECT_EQ(meetings("b4 b3 . e . r"), (Points{4, 3}));
    // Nor are those that fail there waited for.
    EXPECT_EQ(meetings("b6 b4 . . b8 e . r t"), (Points{6, 4, 5}));
}

// Where every way fails, a guarded exit is a way out as well: only behind it lanes may meet.
TEST(Flow, GuardedExitsBeforeFailures) {
    EXPECT_EQ(meetings("b3 . E . t"), (Points{6}));
    EXPECT_EQ(meetings("b3 . . E t"), (Points{3}));
    EXPECT_EQ(meetings("E b3 . . t"), (Points{3}));
    EXPECT_EQ(meetings("b2 E . c"), (Points{5}));
}

TEST(Flow, EndlessLoop) {
    // Its last operation goes by an index to one of two begins: between them as well there is a
    // way out, behind an operation from which it begins again.
    EXPECT_EQ(meetings("b0 i0"), (Points{3, 3}));
    EXPECT_EQ(meetings(". B0"), (Points{3}));
    EXPECT_EQ(meetings("b2 B1 . ."), (Points{2, 5}));
}

// Two entries into one loop.
TEST(Flow, Irreducible) { EXPECT_EQ(meetings("b2 . . b1 ."), (Points{2, 4})); }

TEST(Flow, SwitchWithFallThrough) {
    EXPECT_EQ(meetings("b4 b5 b6 B7 . . . ."), (Points{7, 7, 7, 7}));
}

TEST(Flow, ABranchToTheNextOperation) { EXPECT_EQ(meetings("b1 ."), (Points{1})); }

// The plain definition on random graphs: the first operation that every path to the end passes,
// leaving out branches straight to an exit unless there is no other way. Before those come in, each
// loop that never ends has ways out behind operations from which it begins again.
Points slow_meetings(const std::vector<Operation>& operations) {
    const size_t n = operations.size();
    // Ways to the end that count: 0: no early ones; 1: those, and out of endless loops; 2: all but
    // guarded exits; 3: all.
    int ways = 0;
    std::vector<bool> leaves(n, false);
    const auto exits = [&](size_t i) {
        return operations[i].op == Op::exit && !operations[i].guarded;
    };
    const auto next = [&](size_t i) {
        std::vector<size_t> out;
        const Operation& o = operations[i];
        if (o.op == Op::bra && (ways > 1 || !o.guarded || !exits(o.target)))
            out.push_back(o.target);
        if (o.op == Op::exit && (ways == 3 || !o.guarded)) out.push_back(n);
        if ((o.op != Op::bra && o.op != Op::exit) || o.guarded) out.push_back(i + 1);
        if (ways == 1 && leaves[i]) out.push_back(n);
        return out;
    };
    // Whether the end can be reached from `from` without passing `without`.
    const auto reaches = [&](size_t from, size_t without) {
        std::vector<bool> seen(n + 1, false);
        std::vector<size_t> stack{from};
        while (!stack.empty()) {
            const size_t i = stack.back();
            stack.pop_back();
            if (i == n) return true;
            if (i == without || seen[i]) continue;
            seen[i] = true;
            for (const size_t s : next(i)) stack.push_back(s);
        }
        return false;
    };
    // Whether `to` can be reached from `from`.
    const auto leads = [&](size_t from, size_t to) {
        std::vector<bool> seen(n + 1, false);
        std::vector<size_t> stack{from};
        while (!stack.empty()) {
            const size_t i = stack.back();
            stack.pop_back();
            if (i == to) return true;
            if (i == n || seen[i]) continue;
            seen[i] = true;
            for (const size_t s : next(i)) stack.push_back(s);
        }
        return false;
    };
    ways = 1;
    for (size_t i = n; i-- > 0;) {
        if (reaches(i, SIZE_MAX)) continue;
        std::vector<size_t> last;
        for (const size_t s : next(i))
            for (size_t p = s; s <= i && leads(s, i) && p < n; ++p) {
                const std::vector<size_t> to = next(p);
                if (std::ranges::find(to, s) != to.end() && leads(s, p)) last.push_back(p);
            }
        for (const size_t p : last) leaves[p] = true;
    }
    Points out;
    for (size_t b = 0; b < n; ++b) {
        if (operations[b].op != Op::bra) continue;
        ways = 0;
        while (ways < 3 && !reaches(b, SIZE_MAX)) ++ways;
        // A post-dominator that no other post-dominator stands before.
        size_t best = n;
        for (size_t c = 0; c < n; ++c) {
            if (c == b || !reaches(b, SIZE_MAX) || reaches(b, c)) continue;
            if (best == n || !reaches(c, best)) {
                if (best == n || reaches(best, c)) best = c;
            }
        }
        out.push_back(static_cast<uint32_t>(best));
    }
    return out;
}

TEST(Flow, RandomGraphsAgainstTheDefinition) {
    uint64_t state = 7;
    const auto random = [&](uint64_t below) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % below;
    };
    size_t meet = 0;
    for (int round = 0; round < 400; ++round) {
        std::string text;
        const uint64_t length = 2 + random(12);
        for (uint64_t i = 0; i < length; ++i) {
            const uint64_t kind = random(8);
            const std::string target = std::to_string(random(length + 1));
            text += kind < 3 ? "b" + target : kind == 3 ? "B" + target : kind == 4 ? "E" : ".";
            text += ' ';
        }
        std::vector<Operation> operations = operations_of(text);
        const Points expected = slow_meetings(operations);
        EXPECT_EQ(meetings(text), expected) << text;
        for (const uint32_t point : expected) meet += point < operations.size();
    }
    EXPECT_GT(meet, 500u);
}

// The blocks of a function that stands behind another: of each its first operation, counted from
// the function's own, and the blocks that may follow, branches' targets first.
std::string blocks_text(const std::string& text) {
    Program program;
    program.operations = operations_of(". e");
    const auto first = static_cast<uint32_t>(program.operations.size());
    for (Operation& o : operations_of(text)) {
        if (o.op == Op::bra) o.target += first;
        program.operations.push_back(o);
    }
    // As brx takes them: the places by its target.
    program.branch_targets.resize(32);
    std::iota(program.branch_targets.begin(), program.branch_targets.end(), first);
    Function f;
    f.first = first;
    f.end = static_cast<uint32_t>(program.operations.size());
    std::string out;
    uint32_t end = first;
    for (const Block& b : blocks_of(program, f)) {
        EXPECT_EQ(b.first, end) << text;
        end = b.end;
        out += (out.empty() ? "" : ", ") + std::to_string(b.first - first) + ":";
        for (const uint32_t next : b.next) out += " " + std::to_string(next);
    }
    EXPECT_EQ(end, f.end) << text;
    return out;
}

TEST(Flow, BlocksAndWhichMayFollowWhich) {
    struct Row {
        const char* text;
        const char* blocks;
    };
    for (const Row& row : {
             Row{"", "0:"}, Row{". .", "0:"}, Row{". b3 . .", "0: 2 1, 2: 2, 3:"},
             Row{". b4 . B5 . .", "0: 2 1, 2: 3, 4: 3, 5:"}, Row{". . b1", "0: 1, 1: 1 2, 3:"},
             Row{"B0", "0: 0, 1:"}, Row{"i3 . . .", "0: 2 3, 1: 2, 3: 3, 4:"},
             Row{"E . t . r", "0: 1, 1:, 3:, 5:"},
             Row{". c .", "0:"},  // it is the caller's to know that nobody comes back
         })
        EXPECT_EQ(blocks_text(row.text), row.blocks) << row.text;
}

double seconds_of(std::vector<Operation>& operations) {
    const double begin = cpu_seconds();
    find_reconvergence(operations);
    return cpu_seconds() - begin;
}

constexpr uint32_t many = 50000;

// A ladder: every rung may leave to one common place, so that meeting points lie far apart.
TEST(Flow, LadderOfBranchesToOnePlace) {
    std::vector<Operation> operations(2 * many + 2);
    for (uint32_t i = 0; i < many; ++i) {
        operations[2 * i].op = Op::bra;
        operations[2 * i].guarded = true;
        operations[2 * i].target = 2 * many;
        operations[2 * i + 1].op = Op::mov;
    }
    operations[2 * many].op = Op::mov;
    EXPECT_LT(seconds_of(operations), 2.0);
    EXPECT_EQ(operations[0].reconverge, 2 * many);
}

TEST(Flow, LadderOfExits) {
    std::vector<Operation> operations(3 * many + 1);
    for (uint32_t i = 0; i < many; ++i) {
        operations[3 * i].op = Op::bra;
        operations[3 * i].guarded = true;
        operations[3 * i].target = 3 * i + 2;
        operations[3 * i + 1].guarded = true;  // exit
        operations[3 * i + 2].op = Op::mov;
    }
    EXPECT_LT(seconds_of(operations), 2.0);
    EXPECT_EQ(operations[0].reconverge, 2u);
}

TEST(Flow, ManyLoopsInEachOther) {
    std::vector<Operation> operations(2 * many + 1);
    for (uint32_t i = 0; i < many; ++i) {
        operations[i].op = Op::mov;
        operations[many + i].op = Op::bra;
        operations[many + i].guarded = true;
        operations[many + i].target = many - 1 - i;
    }
    EXPECT_LT(seconds_of(operations), 2.0);
    EXPECT_EQ(operations[many].reconverge, many + 1);
}

// Branches that cross: each jumps over the next one.
TEST(Flow, CrossingBranches) {
    std::vector<Operation> operations(many + 3);
    for (uint32_t i = 0; i < many; ++i) {
        operations[i].op = Op::bra;
        operations[i].guarded = true;
        operations[i].target = i + 2;
    }
    operations[many].op = operations[many + 1].op = Op::mov;
    EXPECT_LT(seconds_of(operations), 2.0);
    EXPECT_EQ(operations[0].reconverge, many + 1);
}

// Forward and backward at once: an irreducible ladder.
TEST(Flow, IrreducibleLadder) {
    std::vector<Operation> operations(2 * many + 1);
    for (uint32_t i = 0; i < 2 * many; ++i) {
        operations[i].op = Op::bra;
        operations[i].guarded = true;
        operations[i].target = i % 2 == 0 ? std::min(i + 5, 2 * many) : (i < 4 ? 0 : i - 4);
    }
    EXPECT_LT(seconds_of(operations), 2.0);
    EXPECT_EQ(operations[2 * many - 1].reconverge, 2 * many);
}

}  // namespace
}  // namespace lockwarp::isa
