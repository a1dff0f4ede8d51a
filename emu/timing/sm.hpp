// SPDX-License-Identifier: Apache-2.0
// One SM: its sub-cores issue the streams of its warps, cycle by cycle.
#pragma once

#include <array>
#include <deque>
#include <unordered_set>
#include <vector>

#include "emu/timing/queues.hpp"
#include "emu/timing/timing.hpp"

namespace lockwarp::timing {

inline constexpr uint64_t never = UINT64_MAX;
inline constexpr size_t pipes = static_cast<size_t>(Pipe::count_);

struct WarpState {
    const Stream* stream = nullptr;
    size_t at = 0;
    size_t arrivals = 0;  // of Stream::arrivals, so many are behind it
    uint32_t cta = 0;     // slot in Sm::running
    uint32_t of_cta = 0;  // its number among the CTA's warps
    uint32_t number = 0;  // of the SM, in order
    uint64_t next = 0;    // cycle from which it may issue
    Stall next_reason = Stall::wait;
    uint64_t last = 0;   // cycle of its last issue
    uint64_t ready = 0;  // cycle from which the head may issue, as far as this warp goes
    Stall reason = Stall::wait;
    uint64_t refused = 0;  // the pipe was busy until here when the head was looked at
    Stall refused_reason = Stall::math_pipe_throttle;
    bool waiting = false;  // at a barrier
    // Cycle from which a value can be read: registers as blocks leave them, then what each
    // operation wrote last.
    std::vector<uint64_t> values;
    std::vector<Stall> value_reasons;
    std::deque<uint64_t> groups;            // cp.async: when each committed one is there
    uint64_t copies = 0;                    // when those not yet committed are
    std::deque<uint64_t> product_groups{};  // wgmma: when each committed one is done
    uint64_t products = 0;                  // when those not yet committed are
    std::deque<uint64_t> sent_groups{};     // bulk copies to global memory, likewise
    uint64_t sent = 0;
    uint64_t stored = 0;            // until its stores to global memory are where others see them
    uint64_t registers_stored = 0;  // to shared memory, since its last fence of a proxy
    uint64_t multiplied = 0;        // until its last product is done
    uint64_t first_clock = never, last_clock = 0, clock_before = never;
};

struct OpeningState {
    unsigned arrived = 0;
    uint64_t at = 0;  // of a phase: the last arrival
    std::vector<uint32_t> waiting;
};

struct Running {
    const CtaStreams* cta = nullptr;
    uint64_t begin = 0;
    uint32_t alive = 0;  // warps of the CTA, by bits
    size_t number = 0;
    std::vector<OpeningState> openings{};                       // as CtaStreams::openings
    std::array<uint64_t, cluster_barrier + 1> busy_barriers{};  // until, in hundredths
};

struct SubCore {
    std::vector<uint32_t> warps;         // resident ones, oldest first
    std::array<uint64_t, pipes> busy{};  // until, in hundredths
    Queue shared, global, special;
    uint64_t global_port = 0;
    uint64_t special_busy = 0;  // until, in hundredths
    uint64_t port = 0;          // of shared memory, until, in hundredths
    uint32_t greedy = UINT32_MAX;
    uint64_t wake = 0;
};

struct Sm {
    const Lowering& l;
    const Options& options;
    const SharedRow& shared;
    const GlobalRow& global;
    const FlowRow& flow;
    const AsyncRow& async;
    Report& report;

    std::array<SubCore, sub_cores> cores{};
    std::vector<WarpState> warps{};  // of each slot in `running` as many as a CTA has at most
    size_t warps_of_cta = 0;
    std::vector<Running> running{};
    std::vector<const CtaStreams*> queue{};
    size_t next_cta = 0;
    Calendar shared_pipe{};
    uint64_t lines_pipe = 0, sectors_pipe = 0, sending_pipe = 0;  // until, in hundredths
    std::unordered_set<uint64_t> maps{};                          // tensor maps that the SM has
    bool alone = false;                                           // a cluster of one CTA
    uint64_t now = 0;
    uint32_t started_warps = 0;
    std::array<uint64_t, pipes> used{};  // hundredths
    std::vector<uint32_t> line_of{};     // of code, by operation
    std::vector<uint64_t> fetched{};     // from when an SM has it
    Centi sector = 0;                    // GlobalRow's, or more where all SMs share L2
    uint64_t l2_latency = 0;             // likewise
    std::vector<std::array<uint64_t, pipes>> over_time{};
    uint64_t bucket = 256;  // cycles

    const isa::Operation& operation(const Item& item) const;

    void use(Pipe pipe, uint64_t centi);

    // What costs no instruction passes its operands' time on.
    void pass(WarpState& w, const Item& item);

    size_t value_read(uint32_t use) const;

    void write(WarpState& w, uint32_t index, uint64_t at, Stall reason);

    // Cycles until a line of code is there that the SM sees first. What comes next is fetched with
    // what it has.
    uint64_t fetching(uint32_t line) const;

    // Looks at the warp's next instruction: from which cycle its own operands allow it.
    void look(uint32_t index);

    void finish(uint32_t index);

    void note_clock(const WarpState& w, const Running& r);
    uint64_t first_clock = never, last_clock = 0;

    void start_next(uint32_t slot, uint64_t at);

    // Lets those go on that wait for an opening of a barrier, if those have come that came in the
    // run, and, where it waits for all warps, the others have ended.
    void release(Running& r, uint32_t opening);

    // The earliest cycle at which the pipe takes the warp's head; `reason` says what it waits for.
    uint64_t pipe_free(const SubCore& core, const Item& item, Stall& reason) const;

    // Shared memory serves `count` wavefronts; gives when the last one is through.
    uint64_t serve_shared(SubCore& core, unsigned count, unsigned data, bool store);

    // A sub-core's accesses go to the SM in their order: one to global memory stands behind those
    // to shared memory before it.
    uint64_t serve_global(SubCore& core, const Item& item, bool atomic, bool store);

    void issue(uint32_t core_index, uint32_t index);

    // Until what a fence waits for is done.
    uint64_t drained(const WarpState& w, Kind fence) const;

    // Cycles that a copy takes longer because its tensor map is not there.
    uint64_t unmapped(const WarpState& w, const Item& item) const;

    // A bulk copy to shared memory: when its bytes are there.
    uint64_t bring(const WarpState& w, const Item& item);

    // And one from there: when it is done.
    uint64_t send(const WarpState& w, const Item& item);

    // The cycles since the warp's last issue, by why they passed.
    void account(WarpState& w, OperationReport& entry);

    void note(const WarpState& w, const Item& item, uint64_t done);

    // Wavefronts of an access without conflicts, where all lanes want different words.
    static unsigned least(const isa::Operation& o, const Item& item);

    // Of two warps that may issue: first one that a pipe had to refuse, and of these the one that
    // has waited longer since it issued; else the one that issued last, then the youngest.
    static bool before(const SubCore& core, const WarpState& a, uint32_t a_index,
                       const WarpState& b, uint32_t b_index);

    // One sub-core at one cycle; gives when it may issue next.
    uint64_t step(uint32_t core_index);

    void run();
};

}  // namespace lockwarp::timing
