// SPDX-License-Identifier: Apache-2.0
// Barriers beside a model of them made from the manual's words alone (PTX, "bar, barrier"): each
// warp that comes counts as 32 threads, whichever of its lanes are there; a barrier with a count
// opens when as many have come, one without when every warp that has not exited waits there. Random
// programs: warps that wait, arrive or reduce at barriers of their own and of all, by one path or
// two, some lanes exited, some warps gone, and some that do not come.
#include <algorithm>
#include <numeric>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

enum class Role : uint8_t { none, sync, arrive, popc, all, any };

bool waits(Role r) { return r != Role::none && r != Role::arrive; }

struct Phase {
    uint32_t id = 0;
    uint32_t count = 0;       // 0: all that live
    std::vector<Role> roles;  // of each warp
};

struct Scenario {
    uint32_t threads = 0;
    std::vector<Phase> phases;
    std::vector<uint32_t> exits;  // by thread: the phase that it does not come to
    std::vector<uint64_t> gives;  // by phase: the predicates of lanes, turned by the warp
    std::vector<uint32_t> parts;  // by phase: lanes that take another path; 0: none
    uint32_t warps() const { return (threads + 31) / 32; }
    bool lives(uint32_t thread, size_t phase) const {
        return thread < threads && exits[thread] > phase;
    }
    uint32_t live(uint32_t warp, size_t phase) const {
        uint32_t out = 0;
        for (uint32_t l = 0; l < 32; ++l) out |= uint32_t{lives(warp * 32 + l, phase)} << l;
        return out;
    }
    uint32_t given(uint32_t warp, size_t phase) const {
        return static_cast<uint32_t>(gives[phase] >> (warp % 16));
    }
};

// What a thread stores of a phase: the sum of the numbers that the warps which came left before
// they came, and above it what the barrier gave; Words is by phase and thread.
struct Foreseen {
    bool deadlock = false;
    Words stored;
};

constexpr uint32_t untouched = 0xeeeeeeee;
constexpr uint32_t arrived_word = 7;

uint32_t mark(size_t phase, uint32_t warp) {
    return static_cast<uint32_t>(phase * 8 + 1) << (warp % 4);
}

class Model {
  public:
    explicit Model(const Scenario& s)
        : s_(s), next_(s.warps()), state_(s.warps(), State::runs), barriers_(16) {
        out_.stored.assign(s.phases.size() * s.threads, untouched);
    }
    Foreseen foresee() {
        for (bool goes_on = true; goes_on;) {
            goes_on = false;
            for (uint32_t w = 0; w < s_.warps(); ++w)
                if (state_[w] == State::runs) {
                    step(w);
                    goes_on = true;
                }
        }
        out_.deadlock = std::ranges::find(state_, State::waits) != state_.end();
        return out_;
    }

  private:
    enum class State : uint8_t { runs, waits, gone };
    struct Barrier {
        uint32_t came = 0;
        std::vector<uint32_t> waiting;  // warps
    };
    void step(uint32_t w) {
        const size_t phase = next_[w];
        if (phase == s_.phases.size() || s_.live(w, phase) == 0) {
            state_[w] = State::gone;
            for (Barrier& b : barriers_) open_where_all_wait(b);
            return;
        }
        const Phase& p = s_.phases[phase];
        ++next_[w];
        if (p.roles[w] == Role::none) return;
        Barrier& b = barriers_[p.id];
        b.came += 32;
        if (waits(p.roles[w])) {
            b.waiting.push_back(w);
            state_[w] = State::waits;
        } else {
            store(w, phase, arrived_word);
        }
        if (p.count != 0 && b.came == p.count) open(b, phase);
        if (p.count == 0) open_where_all_wait(b);
    }
    void open_where_all_wait(Barrier& b) {
        if (b.waiting.empty()) return;
        const size_t phase = next_[b.waiting[0]] - 1;
        if (s_.phases[phase].count != 0) return;
        const auto live = static_cast<size_t>(
            std::ranges::count_if(state_, [](State s) { return s != State::gone; }));
        if (b.waiting.size() == live) open(b, phase);
    }
    void open(Barrier& b, size_t phase) {
        const Phase& p = s_.phases[phase];
        uint32_t sum = 0;
        uint32_t yes = 0;
        uint32_t all = 0;
        for (uint32_t w = 0; w < s_.warps(); ++w) {
            // Without a count only those wait that live.
            const bool came = p.count != 0 ? p.roles[w] != Role::none
                                           : std::ranges::find(b.waiting, w) != b.waiting.end();
            if (!came) continue;
            sum += mark(phase, w);
            for (uint32_t l = 0; l < 32; ++l)
                if (s_.lives(w * 32 + l, phase)) {
                    ++all;
                    yes += s_.given(w, phase) >> l & 1;
                }
        }
        for (const uint32_t w : b.waiting) {
            const Role role = p.roles[w];
            const uint32_t value = role == Role::popc  ? yes
                                   : role == Role::all ? uint32_t{yes == all}
                                   : role == Role::any ? uint32_t{yes != 0}
                                                       : 0;
            store(w, phase, (value << 20) + sum);
            state_[w] = State::runs;
        }
        b = {};
    }
    void store(uint32_t w, size_t phase, uint32_t word) {
        for (uint32_t l = 0; l < 32; ++l)
            if (s_.lives(w * 32 + l, phase)) out_.stored[phase * s_.threads + w * 32 + l] = word;
    }

    const Scenario& s_;
    std::vector<size_t> next_;
    std::vector<State> state_;
    std::vector<Barrier> barriers_;
    Foreseen out_;
};

std::string barrier_text(const Phase& p, Role role, bool parts) {
    const std::string id = std::to_string(p.id);
    const std::string count = p.count == 0 ? "" : ", " + std::to_string(p.count);
    const std::string bar = parts ? "barrier" : "bar";
    switch (role) {
        case Role::sync:
            return bar + ".sync " + id + count + ";\n";
        case Role::arrive:
            return bar + ".arrive " + id + count + ";\n";
        case Role::popc:
            return bar + ".red.popc.u32 %r21, " + id + count + ", %p2;\n";
        case Role::all:
        case Role::any:
            return bar + ".red." + (role == Role::all ? "and" : "or") + ".pred %p3, " + id + count +
                   ", %p2;\nselp.u32 %r21, 1, 0, %p3;\n";
        case Role::none:
            break;
    }
    return "";
}

// What one warp does; %r22: its lane, %r23: the table's address.
std::string text_of(const Scenario& s, uint32_t w) {
    const auto n = [](uint64_t value) { return std::to_string(value); };
    const auto bit_of_lane = [&](uint32_t mask, const char* predicate) {
        return "mov.u32 %r20, " + n(mask) +
               ";\nshr.u32 %r20, %r20, %r22;\nand.b32 %r20, %r20, 1;\n" + "setp.ne.u32 " +
               predicate + ", %r20, 0;\n";
    };
    std::string out = "W" + n(w) + ":\n";
    uint32_t before = s.live(w, 0);
    for (size_t phase = 0; phase < s.phases.size(); ++phase) {
        const uint32_t live = s.live(w, phase);
        if (live == 0) return out + "exit;\n";
        if (live != before) out += bit_of_lane(before & ~live, "%p1") + "@%p1 exit;\n";
        before = live;
        const Phase& p = s.phases[phase];
        const Role role = p.roles[w];
        if (role == Role::none) continue;
        out += "st.shared.u32 [%r23+" + n(4 * (phase * 8 + w)) + "], " + n(mark(phase, w)) + ";\n" +
               bit_of_lane(s.given(w, phase), "%p2") + "mov.u32 %r21, 0;\n";
        const uint32_t part = s.parts[phase] & live;
        // Both ways count their own threads: whole warps alone come by two.
        if (live == ~0u && part != 0 && part != live) {
            const std::string label = "P" + n(phase) + "_" + n(w);
            out += bit_of_lane(part, "%p4") + "@%p4 bra " + label + ";\n" +
                   barrier_text(p, role, true) + "bra J" + label + ";\n" + label + ":\n" +
                   barrier_text(p, role, true) + "J" + label + ":\n";
        } else {
            out += barrier_text(p, role, false);
        }
        if (role == Role::arrive) {
            out += "mov.u32 %r24, " + n(arrived_word) + ";\n";
        } else {
            out += "shl.b32 %r24, %r21, 20;\n";
            for (uint32_t other = 0; other < s.warps(); ++other)
                if (p.roles[other] != Role::none && s.live(other, phase) != 0)
                    out += "ld.shared.u32 %r25, [%r23+" + n(4 * (phase * 8 + other)) +
                           "];\nadd.u32 %r24, %r24, %r25;\n";
        }
        out += "st.global.u32 [%rd2+" + n(4 * phase * s.threads) + "], %r24;\n";
    }
    return out + "exit;\n";
}

std::string text_of(const Scenario& s) {
    std::string body = "and.b32 %r22, %r1, 31;\nmov.u32 %r23, table;\nshr.u32 %r26, %r1, 5;\n";
    for (uint32_t w = 1; w < s.warps(); ++w)
        body += "setp.eq.u32 %p5, %r26, " + std::to_string(w) + ";\n@%p5 bra W" +
                std::to_string(w) + ";\n";
    for (uint32_t w = 0; w < s.warps(); ++w) body += text_of(s, w);
    return kernel(body, ".shared .u32 table[" + std::to_string(s.phases.size() * 8) + "];");
}

Scenario scenario(std::mt19937& random) {
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    Scenario s;
    s.threads = std::array{1u, 31u, 32u, 33u, 64u, 70u, 96u, 128u, 161u, 256u}[below(10)];
    const uint32_t warps = s.warps();
    constexpr uint32_t phases = 12;
    s.exits.assign(s.threads, phases);
    for (uint32_t w = 0; w < warps; ++w) {
        const uint32_t how = below(4);
        const uint32_t when = 1 + below(phases - 1);
        const auto part = static_cast<uint32_t>(random());
        for (uint32_t t = w * 32; t < std::min(s.threads, w * 32 + 32); ++t)
            if (how == 0 || (how == 1 && (part >> t % 32 & 1) != 0)) s.exits[t] = when;
    }
    std::vector<uint32_t> ids(15);
    std::iota(ids.begin(), ids.end(), 1);
    std::ranges::shuffle(ids, random);
    constexpr std::array reductions{Role::popc, Role::all, Role::any};
    for (uint32_t p = 0; p < phases; ++p) {
        Phase phase;
        phase.roles.assign(warps, Role::none);
        const bool of_all = p % 4 == 3;
        phase.id = of_all ? 0 : ids[p];
        const bool reduced = below(2) == 0;
        const Role role = reduced ? reductions[below(3)] : Role::sync;
        for (uint32_t w = 0; w < warps; ++w) {
            if (s.live(w, p) == 0) continue;
            if (of_all || below(3) != 0)
                phase.roles[w] = !of_all && !reduced && below(3) == 0 ? Role::arrive : role;
            if (!of_all && phase.roles[w] != Role::none) phase.count += 32;
        }
        s.phases.push_back(phase);
        // All predicates, or none, now and then.
        s.gives.push_back(below(3) == 0   ? ~uint64_t{0}
                          : below(3) == 0 ? 0
                                          : random() * uint64_t{random()});
        s.parts.push_back(below(2) == 0 ? static_cast<uint32_t>(random()) : 0);
    }
    return s;
}

Outcome outcome_of(const Scenario& s) {
    Given given;
    given.block.x = s.threads;
    given.buffers = {Bytes(4), Bytes(s.phases.size() * s.threads * 4, 0xee)};
    return run(program_of(text_of(s), given.arch), given);
}

TEST(BarrierModel, RandomProgramsGoAsTheManualSays) {
    std::mt19937 random(21);
    std::array<uint32_t, 6> roles{};
    for (uint32_t round = 0; round < 250; ++round) {
        const Scenario s = scenario(random);
        const Foreseen foreseen = Model(s).foresee();
        ASSERT_FALSE(foreseen.deadlock) << round;
        const Outcome out = outcome_of(s);
        ASSERT_EQ(fault_of(out.result), "") << round << "\n" << text_of(s);
        ASSERT_EQ(words_of(out.buffers[1]), foreseen.stored) << round << "\n" << text_of(s);
        for (const Phase& p : s.phases)
            for (const Role role : p.roles) ++roles[static_cast<size_t>(role)];
    }
    for (const uint32_t count : roles) EXPECT_GT(count, 300u);
}

// One warp does not come to one of its barriers.
TEST(BarrierModel, AWarpThatDoesNotComeIsWaitedFor) {
    std::mt19937 random(22);
    uint32_t deadlocks = 0;
    uint32_t ends = 0;
    for (uint32_t round = 0; round < 150; ++round) {
        Scenario s = scenario(random);
        Phase& phase = s.phases[random() % s.phases.size()];
        Role& role = phase.roles[random() % s.warps()];
        if (role == Role::none) continue;
        role = Role::none;
        const Foreseen foreseen = Model(s).foresee();
        const Outcome out = outcome_of(s);
        if (foreseen.deadlock) {
            ++deadlocks;
            ASSERT_TRUE(out.result.trap.has_value()) << round << "\n" << text_of(s);
            ASSERT_EQ(out.result.trap->kind, warp::TrapKind::deadlock) << fault_of(out.result);
        } else {
            ++ends;
            ASSERT_EQ(fault_of(out.result), "") << round << "\n" << text_of(s);
            ASSERT_EQ(words_of(out.buffers[1]), foreseen.stored) << round << "\n" << text_of(s);
        }
    }
    EXPECT_GT(deadlocks, 30u);
    EXPECT_GT(ends, 10u);
}

}  // namespace

}  // namespace lockwarp::exec
