// SPDX-License-Identifier: Apache-2.0
// The order in which an engine's threads came to memory, followed by the emulator.
//
// What an atomic gives, what a load brings that another thread's store may overtake, and all that
// depends on these, a kernel's text does not say: an engine chooses an order, another one in each
// run. Its tracks tell the order of the run that they are of, and the emulator, run beside them,
// takes that one:
//
// A change (atom, red) that would leave memory another waits until memory holds what the engine's
// lane saw there. Of several lanes that saw the same, as of those that found a lock free, the
// tickets beside the values say which was first (gpu/ordered.hpp): each address has the changes
// of all tracks in the order of their second tickets. A change goes on when all before it are
// done; or when those before it that are not done stand at their own, find something else than they
// saw, and drew their second tickets after this one drew its first: then the tickets say nothing.
//
// A load that may be overtaken, and a change that leaves memory as it was (a lock that was taken),
// go on when memory holds, or held since the lane last looked at that place, what the engine's
// lane saw; else they wait. So no store ever waits for a load. What a place held is kept from the
// first time that any lane comes to it in one of these ways.
//
// Calls of malloc take the blocks that the engine's gave, in the order of the tickets drawn after
// them: a block may have been another's before, for a while.
//
// Where nothing in the grid can go on, a change goes on whose value is there, and before which are
// only changes of other warps that the tickets do not put before it, and that have not come. Then
// lanes that wait at a reconvergence point go on, as lanes of the engine may have parted that are
// together here; then any change whose value is there. If there is none, no order that the tracks
// allow gives what the engine saw: an access does what it finds, and that is a difference.
//
// Loads, stores and arithmetic in between are done in each lane's own order, as they come. They are
// compared exactly: a program whose other accesses are ordered by these has one result for each
// order.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emu/warp/observer.hpp"
#include "validate/plan.hpp"

namespace lockwarp::validate {

class Order {
  public:
    // What global memory held before the run; nullptr: zeros.
    using Before = std::function<const uint8_t*(uint64_t address, uint32_t bytes)>;

    // tracks: one window from word 0, of every CTA that runs.
    Order(const Plan& plan, const Tracks& tracks, Before before);

    // An access of a lane that stands at a record of its track.
    struct Asked {
        const warp::Retired& event;
        unsigned lane;
        uint64_t thread;         // its number among the window's lanes
        const uint64_t* record;  // word n of it: record[n * 32]
        uint64_t word;           // of the track, where it begins
        const warp::OrderedAccess& access;
    };
    // Of a load or a change. forced: it is done, and finds something else than the engine's did.
    enum class Answer : uint8_t { waits, now, given, forced };
    Answer ask(const Asked& asked);
    // Whether memory holds what the lane saw; of a load.
    bool finds(const Asked& asked) const;
    // Of a store, which does not wait, and has no record: before it is done.
    void stores(const Asked& asked);
    // An access that goes on now was done.
    void accessed(const Asked& asked);
    // The second ticket in the record of a change: lanes of an instruction are asked in its order.
    static uint64_t ticket(const isa::Operation& o, const uint64_t* record);
    // Any instruction has retired: it may have stored where others look.
    void retired(const warp::Retired& event);
    // The CTA's accesses that were not done never will be.
    void ended(uint64_t cta);
    // The addresses that malloc gave, as a range; nothing: none. Its end is that of the last
    // block's first byte.
    std::optional<std::pair<uint64_t, uint64_t>> blocks() const { return blocks_; }
    // Whether the thread's next block is the next of all, and that it has it now.
    bool is_block_next(uint64_t thread) const {
        return next_taken_ == taken_.size() || taken_[next_taken_].thread == thread;
    }
    void took_block(uint64_t thread);
    // Nothing in the grid goes on; released: nor can lanes at a reconvergence point. false: nothing
    // waits here that may go on.
    bool stuck(bool released);

    // An access that no order explains: the first 8 bytes of what memory holds, and of what the
    // engine's lane saw.
    struct Unexplained {
        warp::Retired event{};
        unsigned lane = 0;
        uint64_t word = 0;
        uint64_t emulated = 0;
        uint64_t other = 0;
    };
    Unexplained unexplained(const Asked& asked) const { return of(look(asked)); }
    // The one to name of those that wait. false: none waits.
    bool first_waiting(Unexplained& out) const;
    // Whether nothing else than what memory holds could be there, by the tickets, where the first
    // access was forced.
    bool certain() const { return certain_; }

  private:
    static constexpr size_t max_bytes = 32;
    static constexpr uint64_t no_thread = UINT64_MAX;
    using Bytes = std::array<uint8_t, max_bytes>;

    // A change of the tracks.
    struct Change {
        uint64_t key = 0;                // of its address
        uint32_t before = 0, after = 0;  // tickets
        uint64_t thread = 0;
        uint32_t queue = 0;
        bool done = false;
        bool waits = false;    // its lane stands there
        bool relaxed = false;  // may go on before others
    };
    // The changes of one address: up to `end`, the first that is not done, and the highest second
    // ticket of those that are.
    struct Queue {
        size_t head = 0, end = 0;
        uint32_t last_done = 0;
    };
    // A lane that waits.
    struct Waiting {
        warp::Retired event{};
        unsigned lane = 0;
        size_t change = 0;
        const uint8_t* memory = nullptr;
        uint32_t bytes = 0;
        uint64_t word = 0;
        Bytes found{};          // in memory when it was asked last
        Bytes seen{}, known{};  // known: 255 where the track says what was seen
        bool changes = false;   // memory
        bool forced = false;
        bool matches() const;
    };
    // The version of a place that a thread saw, and up to where it found nothing that matches.
    struct Looked {
        uint32_t version = 0, searched = 0;
    };
    // A place that lanes look at: what it held, one version after another.
    struct Place {
        uint64_t address = 0;
        uint32_t bytes = 0;
        const uint8_t* memory = nullptr;
        std::vector<uint8_t> held;
        std::unordered_map<uint64_t, Looked> looked;  // by thread
        void note();
    };

    // A block of the tracks that malloc gave.
    struct Taken {
        uint32_t ticket = 0;
        uint64_t thread = 0;
        bool done = false;
    };

    void read_tracks(const Tracks& tracks);
    void note_block(uint64_t address);
    void pass_taken();
    void sort_changes();
    Waiting look(const Asked& asked) const;
    bool in_history(Place& place, const Asked& asked, const Waiting& w);
    Place& place_of(const Asked& asked, uint32_t bytes);
    void refresh(uint64_t in, uint64_t address, uint64_t bytes);
    bool is_next(size_t change) const;
    bool may_be_next(size_t change) const;
    template <class MayGo>
    size_t earliest_waiting(MayGo&& may_go) const;
    void finish(size_t change);
    uint64_t suspect() const;
    bool is_certain(const Waiting& w) const;
    static Unexplained of(const Waiting& w);
    static uint64_t bucket(ptx::Space space, uint64_t cta, uint64_t address);

    const Plan& plan_;
    uint64_t first_cta_;
    Before before_;
    std::vector<Change> changes_;        // by address, then by their second tickets
    std::vector<size_t> first_change_;   // by thread: into numbers_
    std::vector<size_t> numbers_;        // of the threads' changes, in turn: into changes_
    std::vector<uint32_t> next_change_;  // by thread
    std::vector<Queue> queues_;
    std::unordered_map<uint64_t, Waiting> waiting_;                       // by thread
    std::unordered_map<uint64_t, std::vector<Place>> places_;             // by 32 bytes of memory
    std::unordered_map<uint64_t, std::vector<uint64_t>> shared_buckets_;  // by CTA: its places
    std::optional<std::pair<uint64_t, uint64_t>> blocks_;
    std::vector<Taken> taken_;        // by their tickets
    size_t next_taken_ = 0;           // the first that is not done
    std::vector<bool> seen_buckets_;  // by hash: some place may be there
    bool has_ended_ = false;          // a CTA, since nothing went on
    bool forced_any_ = false;
    bool certain_ = false;
};

}  // namespace lockwarp::validate
