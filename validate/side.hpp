// SPDX-License-Identifier: Apache-2.0
// The emulator's side of a comparison: runs it, and compares with what an engine gave.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "emu/warp/observer.hpp"
#include "validate/comparator.hpp"

namespace lockwarp::validate {

using Memory = std::vector<std::vector<uint8_t>>;  // the bytes of a case's buffers

constexpr uint64_t word_bytes = 8 * 32;  // of one word of all lanes of a warp

// A case's parameters with the addresses of its buffers.
std::vector<uint8_t> patched(const launch::Case& c, const std::vector<uint64_t>& addresses);

// A case on the emulator. What is found goes to the report.
struct Side {
    const launch::Case& c;
    const Options& options;
    Report& report;
    std::string engine;  // its name
    std::vector<uint64_t> addresses;
    Plan plan;

    // orders: of the accesses that leave a record even where `traced` leaves them out.
    void make_plan(gpu::Traced traced, gpu::Orders orders);
    // Some results are taken from the engine, or an order: the tracks must be of one run.
    bool is_of_one_run() const {
        return !plan.orders.empty() || std::ranges::find(plan.taken, true) != plan.taken.end();
    }

    // All are always false, so that a caller can return them: a problem; and where the emulator
    // alone trapped, a difference.
    bool fail(std::string why) const;
    // Tracks of so many bytes are the least that can be compared.
    bool fail_for_memory(uint64_t bytes) const;
    bool trapped_alone() const;

    warp::Launch launch(Memory& bytes, uint64_t first_cta, uint64_t ctas) const;
    // One emulated range of CTAs. false: it did not run to its end.
    bool emulate(Memory& bytes, uint64_t first_cta, uint64_t ctas, warp::Observer* observer,
                 Comparator* comparator = nullptr) const;
    uint64_t ordered_steps(const Comparator& comparator) const;
    // The heap lies where the engine's did.
    void place_heap(warp::Launch& l, const Comparator& comparator) const;
    void fault_difference(std::string what) const;
    // The engine did not run to its end: does the emulator end in the same way?
    void compare_fault(const gpu::Ran& ran) const;
    // The same where a traced run did not, or was not possible at all.
    bool compare_end_of(const std::string& problem, const gpu::Ran& ran) const;
    // What the report says is unknown becomes as the engine has it.
    void compare_memory(Memory& emulated, const Memory& outputs) const;
    // What the instruction that differs read: its CTA, or where there is an order all of the
    // window, once more, up to the step before it.
    void explain(const Tracks& tracks, Supplied supplied, Memory bytes) const;
    // What the buffers and the module's variables hold in `bytes`.
    Order::Before before(const Memory& bytes) const;
    // The emulator beside one window of tracks. `bytes`: memory before the window's CTAs, and
    // afterwards after them.
    bool compare_tracks(const Tracks& tracks, Supplied& supplied, Memory& bytes, bool& more) const;
};

// How long tracks will be: as those of the first watched CTA, in most kernels.
uint64_t track_words(const Side& side, const Memory& before);

}  // namespace lockwarp::validate
