// SPDX-License-Identifier: Apache-2.0
// What a launch refuses, that it is deterministic, and what an observer hears of it.
#include <algorithm>
#include <cstdio>
#include <map>

#include "tests/exec/support.hpp"

namespace lockwarp::exec::launch_test {

namespace {

std::string refusal_of(std::string_view text, Given given) {
    if (given.buffers.empty()) given.buffers = {Bytes(4), Bytes(4)};
    return fault_of(run(program_of(text, given.arch), std::move(given)).result);
}

Given shaped(warp::Dim3 grid, warp::Dim3 block) {
    Given given;
    given.grid = grid;
    given.block = block;
    return given;
}

TEST(Launch, RefusesShapesThatNoGpuTakes) {
    const std::string text = kernel("ret;");
    const std::string block_rule = ": a CTA has 1 to 1024 threads, at most 64 in z";
    EXPECT_EQ(refusal_of(text, shaped({}, {1025, 1, 1})),
              "refused: block (1025, 1, 1)" + block_rule);
    EXPECT_EQ(refusal_of(text, shaped({}, {0, 1, 1})), "refused: block (0, 1, 1)" + block_rule);
    EXPECT_EQ(refusal_of(text, shaped({}, {1, 1, 65})), "refused: block (1, 1, 65)" + block_rule);
    EXPECT_EQ(refusal_of(text, shaped({}, {32, 32, 1})), "");
    EXPECT_EQ(refusal_of(text, shaped({}, {32, 32, 2})), "refused: block (32, 32, 2)" + block_rule);
    const std::string grid_rule = ": x is 1 to 2147483647, y and z are 1 to 65535";
    EXPECT_EQ(refusal_of(text, shaped({0, 1, 1}, {32, 1, 1})),
              "refused: grid (0, 1, 1)" + grid_rule);
    EXPECT_EQ(refusal_of(text, shaped({1, 65536, 1}, {32, 1, 1})),
              "refused: grid (1, 65536, 1)" + grid_rule);
    EXPECT_EQ(refusal_of(text, shaped({1, 1, 65536}, {32, 1, 1})),
              "refused: grid (1, 1, 65536)" + grid_rule);
}

TEST(Launch, RefusesMoreSharedMemoryThanThereIs) {
    const std::string text = kernel(".shared .b8 table[1024];\nret;");
    Given given;
    given.dynamic_shared = 166912 - 1024;
    EXPECT_EQ(refusal_of(text, given), "");
    given.dynamic_shared += 1;
    EXPECT_EQ(refusal_of(text, given),
              "refused: 166913 bytes of shared memory (1024 static): sm_80 has 166912");
    given.arch = isa::Arch::sm_90;
    EXPECT_EQ(refusal_of(text, given), "");
}

TEST(Launch, RefusesWrongParameters) {
    Given given;
    given.arguments = {1, 2, 3};
    EXPECT_EQ(refusal_of(kernel("ret;"), given),
              "refused: 19 bytes of parameters: the kernel has 16");
}

TEST(Launch, RefusesBuffersThatOverlap) {
    const isa::Program program = program_of(kernel("ret;"), isa::Arch::sm_80);
    Bytes a(64);
    Bytes b(64);
    warp::Launch l;
    l.parameters.resize(16);
    l.buffers = {{"a", 0x1000, a}, {"b", 0x1040, b}};
    EXPECT_EQ(fault_of(launch(program, l)), "");
    l.buffers[1].address = 0x103f;
    EXPECT_EQ(fault_of(launch(program, l)), "refused: buffers 'a' and 'b' overlap");
    l.buffers[1].address = UINT64_MAX - 62;
    EXPECT_EQ(fault_of(launch(program, l)), "refused: buffer 'b' wraps around the address space");
}

TEST(Launch, HoldsTheKernelToItsDirectives) {
    const auto with = [](const std::string& directive) {
        return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, "
               ".param .u64 out)\n" +
               directive + "\n{\nret;\n}\n";
    };
    EXPECT_EQ(refusal_of(with(".reqntid 64, 2"), shaped({}, {64, 2, 1})), "");
    EXPECT_EQ(refusal_of(with(".reqntid 64, 2"), shaped({}, {128, 1, 1})),
              "refused: block (128, 1, 1): the kernel requires (64, 2, 1) (.reqntid)");
    EXPECT_EQ(refusal_of(with(".maxntid 128"), shaped({}, {64, 2, 1})), "");
    EXPECT_EQ(refusal_of(with(".maxntid 128"), shaped({}, {129, 1, 1})),
              "refused: block (129, 1, 1): the kernel allows at most (128, 1, 1) (.maxntid)");
}

// The tiled product on four CTAs by four; `seen` counts what the observer hears.
Given gemm() {
    Given given;
    given.grid = {4, 4, 1};
    given.block.x = 128;
    given.dynamic_shared = 16384;
    std::mt19937 random(8);
    std::normal_distribution<double> normal;
    Bytes a;
    Bytes b;
    for (int i = 0; i < 250 * 96; ++i) append(a, f16_of(normal(random)));
    for (int i = 0; i < 96 * 256; ++i) append(b, f16_of(normal(random)));
    given.buffers = {a, b, Bytes(250 * 256 * 4)};
    for (const int32_t size : {250, 256, 96}) append(given.arguments, size);
    return given;
}

isa::Program gemm_program() {
    return program_of(read_text(LOCKWARP_SOURCE_DIR "/gpu/kernels/gemm.sm_80.ptx"),
                      isa::Arch::sm_80, "gemm_sm80");
}

void expect_same(const warp::Statistics& a, const warp::Statistics& b) {
    EXPECT_EQ(a.instructions, b.instructions);
    EXPECT_EQ(a.lane_operations, b.lane_operations);
    EXPECT_EQ(a.products, b.products);
    EXPECT_EQ(a.ctas, b.ctas);
    EXPECT_EQ(a.warps, b.warps);
}

TEST(Launch, IsTheSameOnAnyNumberOfThreads) {
    const isa::Program program = gemm_program();
    Given given = gemm();
    const Outcome one = run_well(program, given);
    // Four rows of tiles by four columns, three steps of 32 along K, 64 x 64 x 32 products each.
    EXPECT_EQ(one.result.statistics.products, 16u * 3 * 64 * 64 * 32);
    EXPECT_EQ(one.result.statistics.ctas, 16u);
    EXPECT_EQ(one.result.statistics.warps, 64u);
    EXPECT_GT(one.result.statistics.instructions, 64u);
    EXPECT_EQ(one.buffers[2] == Bytes(250 * 256 * 4), false);
    for (const unsigned threads : {2u, 4u, 0u}) {
        given.threads = threads;
        const Outcome other = run_well(program, given);
        EXPECT_EQ(one.buffers[2] == other.buffers[2], true) << threads;
        expect_same(one.result.statistics, other.result.statistics);
    }
}

TEST(Launch, CountsRetiredInstructionsAndLanes) {
    // The ten instructions of the frame, then a guarded one of 8 lanes, a store, ret: two warps.
    Given given;
    given.block.x = 64;
    given.buffers = {Bytes(4), Bytes(256)};
    const Outcome outcome =
        run_well(program_of(kernel("mov.u32 %r2, %laneid;\nsetp.lt.u32 %p1, %r2, 8;\n"
                                   "@%p1 add.u32 %r2, %r2, 1;\nst.global.u32 [%rd2], %r2;\nret;"),
                            isa::Arch::sm_80),
                 given);
    EXPECT_EQ(outcome.result.statistics.instructions, 2u * 15);
    EXPECT_EQ(outcome.result.statistics.lane_operations, 2u * (14 * 32 + 8));
}

struct Event {
    uint32_t operation;
    uint32_t warp;
    uint64_t step;
    uint32_t active, executed;
    std::vector<warp::Access> accesses;
    uint32_t r2;  // of lane 0, after the instruction
};

// Keeps what it hears, CTA by CTA, and as words what it hears beside instructions.
class Listener : public warp::Observer {
  public:
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return cta.index < first ? nullptr : std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override {
        auto& of_cta = static_cast<OfCta&>(*listener);
        events[cta.index] = std::move(of_cta.events);
        others[cta.index] = std::move(of_cta.others);
        ended[cta.index] += of_cta.ends;
        late += of_cta.late;
        order.push_back(cta.index);
    }

    std::map<uint64_t, std::vector<Event>> events;
    std::map<uint64_t, std::string> others;
    std::map<uint64_t, int> ended;
    std::vector<uint64_t> order;
    int late = 0;        // events after their CTA's end
    uint64_t first = 0;  // CTA that it listens to

  private:
    struct OfCta : warp::CtaObserver {
        void retired(const warp::Retired& event) override;
        void ended() override { ++ends; }
        void barrier_arrived(const warp::BarrierArrived& e) override {
            note("arrived", e.who,
                 " at " + std::to_string(e.barrier) + " of " + std::to_string(e.threads) +
                     (e.waits ? "" : ", goes on"));
        }
        void barrier_opened(const warp::BarrierOpened& e) override {
            for (const warp::WarpLanes& r : e.released)
                note("opened", r, " " + std::to_string(e.barrier));
        }
        void copies(const warp::CopyEvent& e) override {
            constexpr std::array names{"issued", "committed", "awaited", "arrives"};
            note(names[static_cast<size_t>(e.step)], e.who,
                 " " + std::to_string(e.group[1]) + (e.uncommitted ? " and open" : ""));
        }
        void reconverged(const warp::Reconverged& e) override {
            note("met", e.who, " before " + std::to_string(e.operation));
        }
        void trapped(const warp::Trap& trap) override {
            others += "trapped: " + std::string(warp::trap_name(trap.kind)) + "; ";
        }
        void note(const char* what, const warp::WarpLanes& who, const std::string& more) {
            std::array<char, 64> text;
            std::snprintf(text.data(), text.size(), "%s w%u %x", what, who.warp, who.lanes);
            others += text.data() + more + "; ";
            late += ends;
        }

        std::vector<Event> events;
        std::string others;
        int ends = 0, late = 0;
    };
};

void Listener::OfCta::retired(const warp::Retired& event) {
    Event e{};
    e.operation = event.operation;
    e.warp = event.warp;
    e.step = event.step;
    e.active = event.active;
    e.executed = event.executed;
    e.accesses.assign(event.accesses, event.accesses + event.access_count);
    for (const isa::Register& r : event.program->registers)
        if (r.name == "%r2" && r.ref != isa::no_ref)
            e.r2 = *reinterpret_cast<const uint32_t*>(event.registers + r.ref);
    events.push_back(std::move(e));
    late += ends;
}

TEST(Observer, HearsEveryInstructionWithItsMasksAndAccesses) {
    Listener listener;
    Given given;
    given.block.x = 48;
    given.observers = {&listener};
    given.buffers = {Bytes(4096), Bytes(256)};
    const isa::Program program = program_of(kernel(R"(
.shared .align 16 .b8 s[1024];
mov.u32 %r2, 7;
setp.lt.u32 %p1, %r1, 3;
@%p1 add.u32 %r2, %r2, 1;
@%p1 ld.global.v2.u32 {%r3, %r4}, [%rd1+8];
shl.b32 %r5, %r1, 4;
cp.async.cg.shared.global [%r5], [%rd1+32], 16;
st.global.u32 [%rd2], %r2;
ret;
)"),
                                            isa::Arch::sm_80);
    const Outcome outcome = run_well(program, given);
    EXPECT_EQ(words_of(outcome.buffers[1])[2], 8u);
    EXPECT_EQ(words_of(outcome.buffers[1])[3], 7u);
    ASSERT_EQ(listener.ended, (std::map<uint64_t, int>{{0, 1}}));
    EXPECT_EQ(listener.late, 0);
    std::vector<Event> first;
    std::vector<Event> second;
    for (const Event& e : listener.events[0]) (e.warp == 0 ? first : second).push_back(e);
    ASSERT_EQ(first.size(), 18u);
    ASSERT_EQ(second.size(), 18u);
    for (uint32_t i = 0; i < 18; ++i) {
        EXPECT_EQ(first[i].operation, i);
        EXPECT_EQ(first[i].step, i);
        EXPECT_EQ(first[i].active, 0xffffffffu);
        EXPECT_EQ(second[i].step, i);
        EXPECT_EQ(second[i].active, 0xffffu);
    }
    EXPECT_EQ(first[12].executed, 7u);
    EXPECT_EQ(second[12].executed, 0u);
    EXPECT_EQ(first[11].r2, 7u);
    EXPECT_EQ(first[12].r2, 8u);
    EXPECT_EQ(second[12].r2, 7u);
    EXPECT_TRUE(first[12].accesses.empty());

    const auto& load = first[13].accesses;
    ASSERT_EQ(load.size(), 1u);
    EXPECT_EQ(load[0].space, ptx::Space::global);
    EXPECT_FALSE(load[0].store);
    EXPECT_EQ(load[0].bytes, 8u);
    EXPECT_EQ(load[0].lanes, 7u);
    EXPECT_EQ(load[0].address[2], buffer_address(0) + 8);
    EXPECT_TRUE(second[13].accesses.empty());

    const auto& copy = second[15].accesses;
    ASSERT_EQ(copy.size(), 2u);
    EXPECT_EQ(copy[0].space, ptx::Space::global);
    EXPECT_FALSE(copy[0].store);
    EXPECT_EQ(copy[0].address[5], buffer_address(0) + 32);
    EXPECT_EQ(copy[1].space, ptx::Space::shared);
    EXPECT_TRUE(copy[1].store);
    EXPECT_EQ(copy[1].bytes, 16u);
    EXPECT_EQ(copy[1].lanes, 0xffffu);
    EXPECT_EQ(copy[1].address[5], (32u + 5) * 16);

    const auto& stored = first[16].accesses;
    ASSERT_EQ(stored.size(), 1u);
    EXPECT_TRUE(stored[0].store);
    EXPECT_EQ(stored[0].bytes, 4u);
    EXPECT_EQ(stored[0].address[31], buffer_address(1) + 4 * 31);
}

TEST(Observer, HearsGenericAccessesInTheirStateSpace) {
    Listener listener;
    Given given;
    given.observers = {&listener};
    given.buffers = {Bytes(4), Bytes(128)};
    run_well(program_of(kernel(".shared .u32 before;\n.shared .u32 s;\nmov.u64 %rd9, before;\n"
                               "mov.u64 %rd9, s;\n"
                               "cvta.shared.u64 %rd9, %rd9;\nld.u32 %r2, [%rd9];"),
                        isa::Arch::sm_80),
             given);
    const auto& access = listener.events[0][13].accesses;
    ASSERT_EQ(access.size(), 1u);
    EXPECT_EQ(access[0].space, ptx::Space::shared);
    EXPECT_EQ(access[0].address[0], 4u);
}

TEST(Observer, HearsACollectiveOnceForAllItsLanes) {
    Listener listener;
    Given given;
    given.observers = {&listener};
    given.buffers = {Bytes(4), Bytes(128)};
    run_well(program_of(kernel(R"(setp.lt.u32 %p1, %r1, 16;
setp.eq.u32 %p2, %r1, 1000;
@%p1 bra MEET;
@%p2 bra DONE;
MEET:
shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffffffff;
activemask.b32 %r2;
DONE:
ret;)"),
                        isa::Arch::sm_80),
             given);
    size_t collectives = 0;
    for (const Event& e : listener.events[0]) {
        if (e.operation < 14) continue;
        EXPECT_EQ(e.executed, 0xffffffffu) << e.operation;
        collectives += e.operation == 14;
    }
    EXPECT_EQ(collectives, 1u);
}

TEST(Observer, ChangesNothing) {
    const isa::Program program = gemm_program();
    Given given = gemm();
    const Outcome alone = run_well(program, given);
    Listener listener;
    given.observers = {&listener};
    given.threads = 2;
    const Outcome observed = run_well(program, given);
    EXPECT_EQ(alone.buffers[2] == observed.buffers[2], true);
    expect_same(alone.result.statistics, observed.result.statistics);
    uint64_t heard = 0;
    for (const auto& [cta, events] : listener.events) {
        heard += events.size();
        std::array<uint64_t, 4> step{};
        for (const Event& e : events) EXPECT_EQ(e.step, step[e.warp]++);
    }
    EXPECT_EQ(heard, alone.result.statistics.instructions);
    EXPECT_EQ(listener.ended.size(), 16u);
    for (const auto& [cta, times] : listener.ended) EXPECT_EQ(times, 1) << cta;
}

TEST(Observer, HearsTheEndOfACtaThatTrapped) {
    Listener listener;
    Given given;
    given.observers = {&listener};
    EXPECT_NE(fault_of_body("trap;", given), "");
    EXPECT_EQ(listener.ended, (std::map<uint64_t, int>{{0, 1}}));
    EXPECT_EQ(listener.events[0].size(), 10u);
    EXPECT_EQ(listener.others[0], "trapped: trap instruction; ");
}

TEST(Observer, HearsWhoComesToABarrierAndForWhomItOpens) {
    Listener listener;
    Given given;
    given.block.x = 96;
    given.observers = {&listener};
    given.buffers = {Bytes(4), Bytes(384)};
    run_well(program_of(kernel(R"(setp.lt.u32 %p1, %r1, 32;
@%p1 bar.arrive 3, 64;
@%p1 exit;
setp.lt.u32 %p1, %r1, 64;
@%p1 bar.sync 3, 64;
bar.sync 0;
ret;)"),
                        given.arch),
             given);
    EXPECT_EQ(listener.others[0],
              "arrived w0 ffffffff at 3 of 64, goes on; "
              "arrived w1 ffffffff at 3 of 64; opened w1 ffffffff 3; "
              "arrived w1 ffffffff at 0 of 0; "
              "arrived w2 ffffffff at 0 of 0; opened w1 ffffffff 0; opened w2 ffffffff 0; ");
}

// bar.red arrives, and retires once it has opened; a barrier also opens when the last that it
// waited for exits.
TEST(Observer, HearsABarrierWithAValueAndOneThatAnExitOpens) {
    Listener listener;
    Given given;
    given.block.x = 64;
    given.observers = {&listener};
    given.buffers = {Bytes(4), Bytes(256)};
    run_well(program_of(kernel(R"(setp.lt.u32 %p1, %r1, 32;
bar.red.popc.u32 %r2, 1, %p1;
@%p1 exit;
bar.sync 0;
ret;)"),
                        given.arch),
             given);
    EXPECT_EQ(listener.others[0],
              "arrived w0 ffffffff at 1 of 0; arrived w1 ffffffff at 1 of 0; "
              "opened w0 ffffffff 1; opened w1 ffffffff 1; "
              "arrived w1 ffffffff at 0 of 0; opened w1 ffffffff 0; ");
    // Of each warp: the ten before the body, setp, bar.red, exit; and of the second bar.sync, ret.
    EXPECT_EQ(listener.events[0].size(), 2u * 13 + 2);
    for (const Event& e : listener.events[0]) {
        if (e.operation >= 11) {
            EXPECT_EQ(e.r2, 32u);
        }
    }
}

TEST(Observer, HearsCopiesByGroupAndEachLanesOwnBytes) {
    Listener listener;
    Given given;
    given.block.x = 4;
    given.observers = {&listener};
    given.buffers = {Bytes(4096), Bytes(256)};
    run_well(program_of(kernel(R"(
.shared .align 16 .b8 s[1024];
.shared .align 8 .b64 bar;
mbarrier.init.shared.b64 [bar], 9;
mul.lo.u32 %r3, %r1, 5;
mov.u32 %r5, s;
mad.lo.u32 %r5, %r1, 16, %r5;
cp.async.cg.shared.global [%r5], [%rd1+32], 16, %r3;
cp.async.commit_group;
cp.async.ca.shared.global [%r5], [%rd1], 8;
cp.async.wait_group 1;
cp.async.commit_group;
cp.async.wait_group 1;
cp.async.ca.shared.global [%r5], [%rd1], 4;
cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
cp.async.wait_all;
ret;)"),
                        given.arch),
             given);
    EXPECT_EQ(listener.others[0],
              "issued w0 f 0; committed w0 f 0; issued w0 f 1; awaited w0 f 0; committed w0 f 1; "
              "awaited w0 f 1; issued w0 f 2; arrives w0 f 2 and open; awaited w0 f 2 and open; ");
    const std::vector<Event>& events = listener.events[0];
    const auto copy =
        std::ranges::find_if(events, [](const Event& e) { return e.accesses.size() == 2; });
    ASSERT_NE(copy, events.end());
    // Lane 0 reads nothing, the last no more than there is to copy.
    const warp::Access& from = copy->accesses[0];
    const warp::Access& to = copy->accesses[1];
    EXPECT_EQ(from.lanes, 0xeu);
    EXPECT_EQ(from.bytes, 15u);
    EXPECT_EQ(std::vector(from.bytes_of_lane.begin() + 1, from.bytes_of_lane.begin() + 4),
              (std::vector<uint8_t>{5, 10, 15}));
    EXPECT_EQ(to.lanes, 0xfu);
    for (unsigned lane = 0; lane < 4; ++lane) EXPECT_EQ(to.bytes_of_lane[lane], 16);
}

TEST(Observer, HearsWhereLanesMeet) {
    Listener listener;
    Given given;
    given.observers = {&listener};
    given.buffers = {Bytes(4), Bytes(128)};
    run_well(program_of(kernel(R"(setp.lt.u32 %p1, %r1, 16;
@%p1 bra MEET;
add.u32 %r3, %r3, 1;
MEET:
add.u32 %r4, %r4, 1;
ret;)"),
                        given.arch),
             given);
    EXPECT_EQ(listener.others[0], "met w0 ffffffff before 13; ");
}

// Whatever the threads: CTAs are handed over in their order, and only where somebody listens.
TEST(Observer, SeveralHearTheSameAndAreGivenTheCtasInOrder) {
    const isa::Program program = gemm_program();
    for (const unsigned threads : {1u, 2u}) {
        Given given = gemm();
        Listener all, late;
        late.first = 12;
        given.observers = {&all, &late};
        given.threads = threads;
        run_well(program, given);
        ASSERT_EQ(all.order.size(), 16u);
        EXPECT_TRUE(std::ranges::is_sorted(all.order));
        EXPECT_EQ(late.order, (std::vector<uint64_t>{12, 13, 14, 15}));
        EXPECT_EQ(all.events[13].size(), late.events[13].size());
    }
}

// None behind the first CTA that trapped is handed over, though others may have run.
TEST(Observer, IsGivenTheCtasUpToTheFirstThatTrapped) {
    for (const unsigned threads : {1u, 2u}) {
        Listener listener;
        Given given;
        given.grid.x = 40;
        given.threads = threads;
        given.observers = {&listener};
        EXPECT_NE(
            fault_of_body("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 7;\n@%p1 trap;", given),
            "");
        EXPECT_EQ(listener.order, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
}

}  // namespace

}  // namespace lockwarp::exec::launch_test
