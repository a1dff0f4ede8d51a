// SPDX-License-Identifier: Apache-2.0
// mbarrier, against a model that follows the PTX manual's words: counts of a phase.
#include <array>
#include <cstring>
#include <random>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

Given on_sm_90(uint32_t threads = 32) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = threads;
    return given;
}

std::string module_of(const std::string& body, const std::string& target = "sm_90") {
    std::string text = kernel(".shared .align 8 .b64 bar[4];\n" + body, {}, target);
    return text.replace(text.find(".version 8.0"), 12, ".version 8.6");
}

Words results(const std::string& body, Given given = on_sm_90()) {
    return results_of_text(module_of(body), {}, std::move(given));
}

std::string fault(const std::string& body, Given given = on_sm_90()) {
    given.buffers = {Bytes(256), Bytes(4096)};
    return fault_of(run(program_of(module_of(body), given.arch), std::move(given)).result);
}

// A barrier by the manual: its phase is complete where no arrival and no byte is missing.
struct Model {
    int64_t expected = 0;
    int64_t pending = 0;
    int64_t bytes = 0;
    uint32_t phase = 0;

    void settle() {
        if (pending != 0 || bytes != 0) return;
        ++phase;
        pending = expected;
    }
    void arrive(int64_t n) { pending -= n; }
};

// One thread does what a random sequence says; after each step it notes whether the phase of each
// parity is over, and what the state says is missing.
TEST(Mbarrier, OneThreadFollowsTheModel) {
    constexpr unsigned steps = 200;
    for (const uint32_t seed : {1u, 2u, 3u, 4u, 5u}) {
        std::mt19937 random(seed);
        const auto below = [&](int64_t n) {
            return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
        };
        Model m;
        m.expected = m.pending = 5 + below(20);
        std::string body = "mov.u32 %r10, 0;\nmbarrier.init.shared.b64 [bar+8], " +
                           std::to_string(m.expected) + ";\n";
        uint32_t sum = 0;
        const auto note = [&](const std::string& reg, uint32_t value) {
            body += "mad.lo.u32 %r10, %r10, 31, " + reg + ";\n";
            sum = sum * 31 + value;
        };
        const auto with_count = [&](const std::string& text, int64_t n) {
            body += text + " [bar+8], " + std::to_string(n) + ";\n";
        };
        for (unsigned i = 0; i < steps; ++i) {
            const int64_t pending = m.pending;
            bool state = true;
            const int64_t some = 1 + below(m.pending > 0 ? m.pending : 1);
            switch (below(8)) {
                case 0:
                    if (m.pending == 0) continue;
                    body += "mbarrier.arrive.shared.b64 %rd9, [bar+8];\n";
                    m.arrive(1);
                    break;
                case 1:
                    if (m.pending == 0) continue;
                    with_count("mbarrier.arrive.release.cta.shared::cta.b64 %rd9,", some);
                    m.arrive(some);
                    break;
                case 2:
                    if (m.pending < 2) continue;
                    with_count("mbarrier.arrive.noComplete.shared.b64 %rd9,", 1);
                    m.arrive(1);
                    break;
                case 3:
                    if (m.pending == 0) continue;
                    with_count("mbarrier.arrive.expect_tx.shared.b64 %rd9,", 16);
                    m.bytes += 16;
                    m.arrive(1);
                    break;
                case 4:
                    with_count("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", 100);
                    m.bytes += 100;
                    state = false;
                    break;
                case 5: {
                    const int64_t n = m.bytes > 0 ? m.bytes : 7;
                    with_count("mbarrier.complete_tx.shared::cluster.b64", n);
                    m.bytes -= n;
                    state = false;
                    break;
                }
                case 6:
                    if (m.pending == 0 || m.expected < 3) continue;
                    body += "mbarrier.arrive_drop.shared.b64 %rd9, [bar+8];\n";
                    m.arrive(1);
                    --m.expected;
                    break;
                default:
                    if (m.pending < 2 || m.expected < 4) continue;
                    with_count("mbarrier.arrive_drop.noComplete.shared.b64 %rd9,", 1);
                    m.arrive(1);
                    --m.expected;
                    break;
            }
            m.settle();
            if (state) {
                body += "mbarrier.pending_count.b64 %r11, %rd9;\n";
                note("%r11", static_cast<uint32_t>(pending));
            }
            for (const uint32_t parity : {0u, 1u}) {
                body += "mbarrier.test_wait.parity.shared.b64 %p1, [bar+8], " +
                        std::to_string(parity) + ";\nselp.u32 %r11, 1, 0, %p1;\n";
                note("%r11", (m.phase & 1) != parity);
            }
        }
        body += "st.global.u32 [%rd2], %r10;\n";
        EXPECT_EQ(results(body, on_sm_90(1)), Words{sum}) << seed;
        EXPECT_GT(m.phase, 3u) << "the sequence ends no phases";
    }
}

// Every thread arrives and waits, ten times over; between, each reads what its neighbour wrote.
TEST(Mbarrier, PhasesOrderWarps) {
    const std::string arrivals[] = {"mbarrier.arrive.shared.b64 %rd9, [bar];\n",
                                    "mbarrier.arrive.b64 %rd9, [%rd10];\n",
                                    "mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 1;\n"
                                    "mbarrier.arrive.shared.b64 _, [bar];\n"};
    const std::string waits[] = {
        "mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;\n",
        "mbarrier.try_wait.shared.b64 %p1, [bar], %rd9, 1000;\n",
        "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p1, [bar], %r12;\n",
        "mbarrier.test_wait.parity.b64 %p1, [%rd10], %r12;\n"};
    Words expected;
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t sum = 0;
        for (uint32_t round = 0; round < 10; ++round) sum += (i + 37) % 256 + 1000 * round;
        expected.push_back(sum);
    }
    for (const std::string& arrive : arrivals)
        for (const std::string& wait : waits) {
            const bool twice = arrive.find("noComplete") != std::string::npos;
            const auto synchronize = [&](const std::string& label) {
                return arrive + label + ":\n" + wait + "@!%p1 bra " + label +
                       ";\nxor.b32 %r12, %r12, 1;\n";
            };
            const std::string body = R"(
.shared .u32 table[256];
mov.u32 %r9, table;
shl.b32 %r2, %r1, 2;
add.u32 %r2, %r2, %r9;
add.u32 %r3, %r1, 37;
and.b32 %r3, %r3, 255;
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r9;
mov.u64 %rd10, bar;
cvta.shared.u64 %rd10, %rd10;
setp.eq.u32 %p3, %r1, 0;
@%p3 mbarrier.init.shared.b64 [bar], )" +
                                     std::string(twice ? "512" : "256") + R"(;
bar.sync 0;
mov.u32 %r12, 0;
mov.u32 %r4, %r1;
mov.u32 %r5, 0;
mov.u32 %r6, 0;
LOOP:
st.shared.u32 [%r2], %r4;
)" + synchronize("A") + "ld.shared.u32 %r7, [%r3];\nadd.u32 %r6, %r6, %r7;\n" +
                                     synchronize("B") + R"(
add.u32 %r4, %r4, 1000;
add.u32 %r5, %r5, 1;
setp.lt.u32 %p2, %r5, 10;
@%p2 bra LOOP;
st.global.u32 [%rd2], %r6;
)";
            EXPECT_EQ(results(body, on_sm_90(256)), expected) << arrive << wait;
        }
}

// A warp that waits in a loop for one that comes later has its turn end, so that few steps do.
TEST(Mbarrier, AWaitThatFailsLetsTheOthersGoOn) {
    Given given = on_sm_90(64);
    given.max_steps = 2000;
    const Words out = results(R"(
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 32;
bar.sync 0;
mov.u32 %r5, 0;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra PRODUCER;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r5, [bar+16];
bra END;
PRODUCER:
add.u32 %r5, %r5, 1;
setp.lt.u32 %p2, %r5, 500;
@%p2 bra PRODUCER;
st.shared.u32 [bar+16], %r5;
mbarrier.arrive.shared.b64 _, [bar];
END:
st.global.u32 [%rd2], %r5;
)",
                              given);
    EXPECT_EQ(out, Words(64, 500));
}

// Lanes of one warp: those that wait let those through that they wait for.
TEST(Mbarrier, LanesOfAWarpWaitForEachOther) {
    const Words out = results(R"(
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 16;
bar.warp.sync 0xffffffff;
setp.ge.u32 %p1, %r1, 16;
@%p1 bra OTHERS;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r5, [bar+8];
bra END;
OTHERS:
st.shared.u32 [bar+8], 7;
mbarrier.arrive.shared.b64 _, [bar];
mov.u32 %r5, 1;
END:
st.global.u32 [%rd2], %r5;
)");
    Words expected(16, 7);
    expected.resize(32, 1);
    EXPECT_EQ(out, expected);
}

// What another machine gave: it saw the phase end at the third look, and no lane waits longer.
class Third : public warp::Observer, public warp::Oracle {
  public:
    explicit Third(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<Looks>(*this);
    }
    bool knows(uint32_t operation) const override { return is_wait(operation); }
    void supply(const warp::Retired& e, uint8_t* registers) override {
        const uint32_t value = looks_ < 2 ? 0 : warp::all_lanes;
        std::memcpy(registers + program_.operations[e.operation].r[0], &value, sizeof value);
    }
    uint32_t went_on(const warp::Retired& e) const override { return looks_ < 2 ? 0 : e.executed; }
    unsigned looks() const { return looks_; }

  private:
    struct Looks : warp::CtaObserver {
        explicit Looks(Third& t) : third(t) {}
        void retired(const warp::Retired& e) override {
            third.looks_ += third.is_wait(e.operation);
        }
        Third& third;
    };
    bool is_wait(uint32_t operation) const {
        return program_.operations[operation].op == isa::Op::mbarrier_wait;
    }
    const isa::Program& program_;
    unsigned looks_ = 0;
};

TEST(Mbarrier, AWaitThatAnotherMachineEndedWaitsHereToo) {
    const std::string body = R"(
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 1;
bar.sync 0;
mov.u32 %r5, 0;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra PRODUCER;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r5, [bar+8];
bra END;
PRODUCER:
add.u32 %r5, %r5, 1;
setp.lt.u32 %p2, %r5, 30000;
@%p2 bra PRODUCER;
st.shared.u32 [bar+8], %r5;
setp.eq.u32 %p1, %r1, 32;
@%p1 mbarrier.arrive.shared.b64 _, [bar];
END:
st.global.u32 [%rd2], %r5;
)";
    const isa::Program program = program_of(module_of(body), isa::Arch::sm_90);
    for (const bool comes : {true, false}) {
        // Without a producer it never comes: a deadlock, and no endless wait.
        const uint32_t threads = comes ? 64 : 32;
        Third third(program);
        Bytes in(64);
        Bytes out(256);
        warp::Launch l;
        l.block.x = threads;
        const std::array<uint64_t, 2> addresses{buffer_address(0), buffer_address(1)};
        l.parameters.resize(sizeof addresses);
        std::memcpy(l.parameters.data(), addresses.data(), sizeof addresses);
        l.buffers = {{"A", buffer_address(0), in}, {"B", buffer_address(1), out}};
        l.threads = 1;
        l.oracle = &third;
        l.observers = {&third};
        const std::string fault = fault_of(launch(program, l));
        if (comes) {
            EXPECT_EQ(fault, "");
            EXPECT_EQ(words_of(out), Words(64, 30000));
            EXPECT_EQ(third.looks(), 3u);
        } else {
            EXPECT_EQ(fault.substr(0, fault.find(" at line")),
                      "deadlock: waits for the end of a phase that the engine saw");
        }
    }
}

TEST(Mbarrier, CopiesArrive) {
    // One arrival of each lane for its copies, and, without .noinc, one that was not counted
    // before.
    for (const bool increments : {false, true}) {
        const std::string arrive = increments
                                       ? "cp.async.mbarrier.arrive.shared.b64 [bar];\n"
                                         "mbarrier.arrive.shared.b64 %rd9, [bar];\n"
                                       : "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n";
        const std::string body = R"(
.shared .align 16 .b8 tile[512];
mov.u32 %r2, tile;
mad.lo.u32 %r2, %r1, 4, %r2;
mul.wide.u32 %rd9, %r1, 4;
add.u64 %rd9, %rd1, %rd9;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 32;
bar.warp.sync 0xffffffff;
cp.async.ca.shared.global [%r2], [%rd9], 4;
)" + arrive + R"(
WAIT:
mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
xor.b32 %r2, %r2, 4;
ld.shared.u32 %r5, [%r2];
st.global.u32 [%rd2], %r5;
)";
        Words in;
        for (uint32_t i = 0; i < 32; ++i) in.push_back(i * 77 + 5);
        Words expected;
        for (uint32_t i = 0; i < 32; ++i) expected.push_back(in[i ^ 1]);
        EXPECT_EQ(results_of_text(module_of(body), in, on_sm_90()), expected) << increments;
    }
}

// What ptxas makes of mbarrier.init and .pending_count for sm_90, and that a state from another
// run is understood.
TEST(Mbarrier, StatesAreAsTheAssemblersCodeHasThem) {
    const auto out = wide_results_of(R"(
.shared .align 8 .b64 bar[4];
mbarrier.init.shared.b64 [bar], 5;
ld.shared.v2.b32 {%r2, %r3}, [bar];
mbarrier.pending_count.b64 %r4, 0x7fffe80000000000;
mbarrier.test_wait.shared.b64 %p1, [bar], 0x8000000000000000;
selp.u32 %r5, 1, 0, %p1;
st.global.v4.b32 [%rd3], {%r2, %r3, %r4, %r5};
)",
                                     {}, on_sm_90(1));
    EXPECT_EQ(out[0], (FourWords{(0x100000 - 5) << 1, (0x100000u - 5) << 11, 3, 1}));
}

struct Stores {
    void retired(const warp::Retired& e) {
        for (uint32_t i = 0; i < e.access_count; ++i)
            if (e.accesses[i].space == ptx::Space::shared)
                text += e.accesses[i].store ? "store " : "load ";
    }
    std::string text;
};

// What changes the barrier stores it.
TEST(Mbarrier, ObserversHearOfStoresAndLoads) {
    Alone<Stores> stores;
    Given given = on_sm_90(1);
    given.observers = {&stores};
    given.buffers = {Bytes(16), Bytes(16)};
    run_well(program_of(module_of(R"(
mbarrier.init.shared.b64 [bar], 1;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 8;
mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 8;
mbarrier.arrive.shared.b64 %rd5, [bar];
mbarrier.test_wait.shared.b64 %p1, [bar], %rd5;
mbarrier.inval.shared.b64 [bar];
)"),
                        given.arch),
             given);
    EXPECT_EQ(stores.listener.text, "store store store store load store ");
}

TEST(Mbarrier, WrongUsesTrapWithTheirPlace) {
    const std::string init = "mbarrier.init.shared.b64 [bar], 2;\n";
    const std::string space = "address in the wrong state space: an mbarrier is in .shared memory";
    const auto begins = [](const std::string& text, const std::string& expected) {
        EXPECT_EQ(text.substr(0, expected.size()), expected);
    };
    begins(fault("mbarrier.init.b64 [%rd1], 2;\n"), space + " at line 21");
    begins(fault("mov.u32 %r2, 0;\nmbarrier.init.shared.b64 [bar], %r2;\n"),
           "illegal operand: an mbarrier of 0 arrivals: it has 1 to 1048575 at line 22");
    EXPECT_EQ(fault("mbarrier.init.shared.b64 [bar], 1048575;\n", on_sm_90(1)), "");
    begins(fault("mbarrier.init.shared.b64 [bar], 1048576;\n"),
           "illegal operand: an mbarrier of 1048576 arrivals: it has 1 to 1048575 at line 21");
    begins(fault("mbarrier.init.shared.b64 [bar+4], 2;\n"),
           "misaligned address: must be a multiple of 8 at line 21");
    begins(fault("mbarrier.init.shared.b64 [bar+128], 2;\n"), "address out of bounds");
    begins(fault(init + "mbarrier.arrive.shared.b64 %rd9, [bar], 3;\n"),
           "illegal operand: 3 arrivals at a barrier that misses 2 at line 22");
    begins(fault(init + "mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 2;\n"),
           "illegal operand: 2 arrivals at a barrier that misses 2: .noComplete would end its "
           "phase at line 22");
    begins(fault(init + "mbarrier.expect_tx.shared.b64 [bar], 1048576;\n"),
           "illegal operand: 1048576 bytes to come at an mbarrier: at most 1048575 either way "
           "at line 22");
    EXPECT_EQ(fault(init + "mbarrier.expect_tx.shared.b64 [bar], 1048575;\n", on_sm_90(1)), "");
    EXPECT_EQ(fault(init + "mbarrier.complete_tx.shared.b64 [bar], 1048575;\n", on_sm_90(1)), "");
    begins(fault(init + "mbarrier.complete_tx.shared.b64 [bar], 1048576;\n"),
           "illegal operand: -1048576 bytes to come at an mbarrier: at most 1048575 either way "
           "at line 22");
    EXPECT_EQ(
        fault(init + "mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 1048575;\n", on_sm_90(1)),
        "");
    begins(fault(init + "mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 1048576;\n"),
           "illegal operand: 1048576 bytes to come at an mbarrier: at most 1048575");
    begins(fault("mbarrier.test_wait.b64 %p1, [%rd1], %rd9;\n"), space);
}

// On older machines counts are wider; what a program sees is the same.
TEST(Mbarrier, IsTheSameOnSm80) {
    Given given;
    given.arch = isa::Arch::sm_80;
    const std::string body = R"(
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 33;
bar.warp.sync 0xffffffff;
mbarrier.arrive.shared.b64 %rd9, [bar];
mbarrier.pending_count.b64 %r2, %rd9;
mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;
selp.u32 %r3, 1000, 0, %p1;
add.u32 %r2, %r2, %r3;
st.global.u32 [%rd2], %r2;
)";
    // Every lane sees one arrival fewer; the phase lacks one.
    Words expected;
    for (uint32_t i = 0; i < 32; ++i) expected.push_back(33 - i);
    EXPECT_EQ(results_of_text(module_of(body, "sm_80"), {}, given), expected);
}

}  // namespace

}  // namespace lockwarp::exec
