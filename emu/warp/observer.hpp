// SPDX-License-Identifier: Apache-2.0
// What traces, timing and checkers hear of a run.
//
// An Observer stands for one listener to a whole launch (Launch::observers; there may be several).
// For each CTA it makes a CtaObserver, which hears that CTA alone and keeps what it finds as its
// own; when the CTA is over, the Observer takes it back. An observer that counts instructions:
//
//   struct Count : warp::Observer {
//       struct OfCta : warp::CtaObserver {
//           void retired(const warp::Retired&) override { ++instructions; }
//           uint64_t instructions = 0;
//       };
//       std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
//           return std::make_unique<OfCta>();
//       }
//       void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
//           instructions += static_cast<OfCta&>(*cta).instructions;
//       }
//       uint64_t instructions = 0;
//   };
//
// Threads. CTAs run in parallel. begin() is called on the thread that runs the CTA, and calls for
// different CTAs may overlap: it may read what does not change during the launch. A CtaObserver is
// called by one thread at a time, and needs no lock. The CTAs of a cluster are interleaved on one
// thread: their observers may share what is the cluster's. take() is never called twice at a time.
//
// Order. The events of one CTA come in the order of its run, which is the same for any number of
// threads (for a program without data races between CTAs). take() is called in the order of the
// CTAs, x fastest, up to the first that trapped, so that what an observer makes of them is the same
// for any number of threads too; of clusters in their order, and by rank in each, up to all CTAs of
// the first in which one trapped. CTAs that ended out of order are kept until it is their turn.
//
// References and pointers in events are good during the call alone. Nobody can change the run but
// an Oracle. Of a CTA without a listener nothing is prepared, and it runs as if there were none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"
#include "emu/warp/launch.hpp"

namespace lockwarp::warp {

struct CtaPlace {
    std::array<uint32_t, 3> id{};  // %ctaid
    uint64_t index = 0;            // in the grid, x fastest
    uint64_t cluster = 0;          // its cluster, in the grid of clusters, x fastest
    uint32_t rank = 0;             // %cluster_ctarank
    uint32_t cluster_ctas = 1;     // %cluster_nctarank
};

// The memory that one instruction of one warp touched: for each lane of `lanes` the address in its
// state space (generic addresses are resolved) and how many bytes from there on. An address in
// shared memory is as the CTA has it that the memory is of, without its rank.
struct Access {
    ptx::Space space = ptx::Space::none;
    bool store = false;
    uint32_t lanes = 0;                       // by bits; lanes that touched nothing are not in it
    uint32_t bytes = 0;                       // of the lane that touched most; 1 to 32
    std::array<uint64_t, 32> address{};       // of the lanes in `lanes`
    std::array<uint8_t, 32> bytes_of_lane{};  // likewise; of cp.async's source they may differ
    // Lanes that touched the shared memory of another CTA of the cluster, and that CTA's rank.
    uint32_t remote = 0;
    std::array<uint8_t, 32> rank{};

    uint32_t own() const { return lanes & ~remote; }
};

// One retired instruction. A place in a run is (CTA, warp, step).
//
// Most have no access or one, and where generic addresses lie in several spaces one for each space.
// cp.async has two: the global source, in the lanes that read it (with src-size or ignore-src some
// read fewer bytes, or none), then the shared destination, which is written whole; atom: loads,
// then stores; wmma.load and wmma.store up to 16, in the order of the registers.
struct Retired {
    const isa::Program* program;
    uint32_t operation;  // index into Program::operations
    std::array<uint32_t, 3> cta;
    uint64_t cta_index;        // x fastest
    uint32_t warp;             // of the CTA
    uint64_t step;             // instructions this warp retired before this one
    uint32_t active;           // lanes that reached it, by bits
    uint32_t executed;         // lanes whose guard was true: part of `active`
    const uint8_t* registers;  // the warp's register file after the instruction; slots by isa::Ref
    const Access* accesses;
    uint32_t access_count;  // 0 to 16
    // Lanes of `executed` whose results another machine may have otherwise: the manual leaves them
    // undefined, or it is a NaN whose payload NVIDIA's compiler does not always keep.
    uint32_t undefined;
    uint32_t undefined_results;  // bit n: of these lanes result n, in Operation's order
};

struct WarpLanes {
    uint32_t warp = 0;   // of the CTA
    uint32_t lanes = 0;  // by bits, not 0
};

// Lanes have come to a barrier of the CTA: bar, barrier and their .red and .arrive.
struct BarrierArrived {
    uint32_t operation;  // index into Program::operations
    uint32_t barrier;    // 0 to 15
    WarpLanes who;
    uint32_t threads;  // that the barrier counts, a multiple of 32; 0: all that have not exited
    bool waits;        // false: .arrive
    // Lanes of the warp that were alive when these came to an aligned barrier, did not come to it,
    // and have exited since.
    uint32_t left_by = 0;
};

// A barrier opened: its threads have all arrived, by the arrival before this event or because the
// last that were waited for exited.
struct BarrierOpened {
    uint32_t barrier;                     // 0 to 15
    std::span<const WarpLanes> released;  // lanes that waited and go on now; by warp, then by path
};

// Lanes have come to the cluster's barrier: barrier.cluster.arrive. They go on; they have waited
// for the others where barrier.cluster.wait retires.
struct ClusterArrived {
    uint32_t operation;  // index into Program::operations
    WarpLanes who;
    bool releases;  // false: .relaxed
};

// The cluster's barrier opened: its threads have all arrived or exited. All its CTAs hear of it.
struct ClusterOpened {
    uint64_t phase;  // how often it had opened before
};

// Where cp.async copies stand. Copies of a thread belong to the group that its next commit_group
// closes; groups are numbered from 0, by thread, in the order of their commits.
enum class CopyStep : uint8_t {
    issued,     // cp.async
    committed,  // cp.async.commit_group
    awaited,    // cp.async.wait_group, wait_all: the thread may read what it copied
    arrives,    // cp.async.mbarrier.arrive: its copies so far arrive at the mbarrier once they are
                // there, whoever waits for that may read them
};

struct CopyEvent {
    CopyStep step;
    uint32_t operation;  // index into Program::operations
    WarpLanes who;
    // Of each lane of `who`. issued: the group that the copy will be in; committed: the group that
    // was closed; awaited, arrives: all groups below this one are meant.
    std::array<uint32_t, 32> group;
    bool uncommitted;  // awaited, arrives: also copies that are in no group yet
    // issued: the source and the destination, as in Retired; arrives: the mbarrier.
    std::span<const Access> accesses;
};

// Bytes side by side that a bulk copy of a lane reads or writes. A tensor copy has as many as its
// box has rows, a multicast copy some in each CTA.
struct BulkRange {
    uint32_t lane;
    ptx::Space space;  // global or shared
    bool store;
    uint32_t cta;      // of the cluster whose shared memory it is: %cluster_ctarank
    uint64_t address;  // in the space, within that CTA
    uint64_t bytes;
};

// Bytes that a lane's bulk copy, st.async or red.async brings to an mbarrier.
struct BulkArrival {
    uint32_t lane;
    uint32_t cta;      // of the cluster
    uint64_t address;  // of the mbarrier in that CTA's shared memory
    uint64_t bytes;
};

// Where bulk copies stand (cp.async.bulk and its kin, by bytes or by tensor maps; st.async and
// red.async). Those that no mbarrier counts are in the group that their thread's next
// cp.async.bulk.commit_group closes; groups are numbered from 0, by thread, in that order.
struct BulkEvent {
    CopyStep step;       // but not `arrives`
    uint32_t operation;  // index into Program::operations
    WarpLanes who;
    // Of each lane of `who`. issued: the group that the copy will be in, if no mbarrier counts it;
    // committed: the group that was closed; awaited: all groups below this one are meant.
    std::array<uint32_t, 32> group;
    bool sources_only;  // awaited: their sources have been read, their results are not there yet
    std::span<const BulkRange> ranges;      // issued: by lane, what is read before what is written
    std::span<const BulkArrival> arrivals;  // issued
};

// A lane called malloc, and got a block, or free, and gave one back.
struct HeapEvent {
    uint32_t operation;  // the call
    uint32_t warp;       // of the CTA
    uint32_t lane;
    bool frees;
    uint64_t address;  // of the block
    uint64_t bytes;    // malloc: that were asked for
};

// Lanes of a warp that had parted go on together.
struct Reconverged {
    uint32_t operation;  // that they go on with
    WarpLanes who;
};

// Hears one CTA. The events of an instruction come before its retired(). bar and its kin arrive,
// perhaps open the barrier, and retire when they arrive; bar.red and barrier.cluster.wait retire
// when the barrier has opened.
class CtaObserver {
  public:
    virtual ~CtaObserver() = default;
    virtual void retired(const Retired&) {}
    virtual void barrier_arrived(const BarrierArrived&) {}
    virtual void barrier_opened(const BarrierOpened&) {}
    virtual void cluster_arrived(const ClusterArrived& event) { (void)event; }
    virtual void cluster_opened(const ClusterOpened& event) { (void)event; }
    virtual void copies(const CopyEvent&) {}
    virtual void bulk(const BulkEvent&) {}
    virtual void heap(const HeapEvent&) {}
    virtual void reconverged(const Reconverged&) {}
    // The instruction that trapped does not retire; nothing but ended() follows.
    virtual void trapped(const Trap&) {}
    // After the CTA's last event, on the thread that ran it: the place for work that can be done
    // at the same time as other CTAs'.
    virtual void ended() {}
};

class Observer {
  public:
    virtual ~Observer() = default;
    // Whether CTAs must run on one thread, so that the events of all of them come in the order of
    // the run.
    virtual bool wants_one_thread() const { return false; }
    // A CTA begins. nullptr: nothing of it is to be heard.
    virtual std::unique_ptr<CtaObserver> begin(const CtaPlace& cta) = 0;
    // What begin() gave, after the CTA's end.
    virtual void take(const CtaPlace& cta, std::unique_ptr<CtaObserver> listener) {
        (void)cta;
        (void)listener;
    }
};

// Accesses to memory by the lanes of one instruction, before they are done: ld, st, atom or red.
class OrderedAccess {
  public:
    virtual ~OrderedAccess() = default;
    // What the lane would leave in memory if it held `before`: elements * element_bytes bytes each.
    virtual void after(unsigned lane, const uint8_t* before, uint8_t* out) const = 0;

    uint32_t elements = 1;  // side by side; with element_bytes at most 32 bytes
    uint32_t element_bytes = 0;
    std::array<ptx::Space, 32> space{};       // of each lane: global or shared
    std::array<uint64_t, 32> address{};       // in that space, as Access has it
    std::array<uint64_t, 32> cta{};           // shared: the index of the CTA that it is of
    std::array<const uint8_t*, 32> memory{};  // what is there now
};

// Whether a lane does its access.
enum class Turn : uint8_t {
    waits,  // not now: it is asked again when memory may have changed
    now,
    given,  // it changes nothing in memory: supply() gives its results
};

// What a call of malloc gave a lane on another machine.
struct GivenBlock {
    bool waits = false;               // others come first
    std::optional<uint64_t> address;  // nothing: any block will do
};

// Gives what a run cannot know by itself: values that depend on time, place or order, and those
// that the manual leaves undefined. Asked only in CTAs with a listener, before the listeners hear
// of the instruction, on the thread that runs the CTA.
class Oracle {
  public:
    virtual ~Oracle() = default;
    // Whether it is to be asked after this operation. Where lanes are undefined it always is.
    virtual bool knows(uint32_t operation) const = 0;
    // May change, in the lanes that executed it, the registers that the instruction wrote.
    virtual void supply(const Retired& event, uint8_t* registers) = 0;
    // Of an operation it knows, which tests whether something has come (mbarrier.test_wait): the
    // lanes for which it had. A lane that finds that it has not waits here until it has.
    virtual uint32_t went_on(const Retired& event) const {
        (void)event;
        return 0;
    }

    // Whether the lanes of this ld, st, atom or red, or call of malloc, wait for their turns. Where
    // an oracle orders any operation, all CTAs run on one thread, and supply() is called after each
    // of these.
    virtual bool orders(uint32_t operation) const {
        (void)operation;
        return false;
    }
    // Whether all lanes of `event.executed` that have `memory` may do this load at once; if not,
    // each is asked.
    virtual bool together(const Retired& event, const OrderedAccess& access) {
        (void)event;
        (void)access;
        return false;
    }
    // Puts the lanes in the order in which they are asked.
    virtual void arrange(const Retired& event, std::span<uint8_t> lanes) {
        (void)event;
        (void)lanes;
    }
    // Lanes whose turn it is do their access at once; the others of their warp may go on without
    // them only where nothing else in the grid can. The event: before the instruction.
    virtual Turn turn(const Retired& event, unsigned lane, const OrderedAccess& access) {
        (void)event;
        (void)lane;
        (void)access;
        return Turn::now;
    }
    // The lane, whose turn was now, has done its access.
    virtual void accessed(const Retired& event, unsigned lane, const OrderedAccess& access) {
        (void)event;
        (void)lane;
        (void)access;
    }
    // Of a call of malloc that it orders. The lane waits until the block there is free.
    virtual GivenBlock block(const Retired& event, unsigned lane) {
        (void)event;
        (void)lane;
        return {};
    }
    // The lane has that block.
    virtual void took_block(const Retired& event, unsigned lane) {
        (void)event;
        (void)lane;
    }
    // Nothing in the grid can go on. true: ask the lanes that wait again. released: nor are there
    // lanes at a reconvergence point that could go on without others, which come first if not.
    virtual bool stuck(bool released) {
        (void)released;
        return false;
    }
};

}  // namespace lockwarp::warp
