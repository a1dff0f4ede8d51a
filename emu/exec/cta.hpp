// One CTA from its first instruction to its last: paths of diverged warps, reconvergence, barriers.
#pragma once

#include <memory>
#include <span>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Where some lanes of a path go.
struct Way {
    uint32_t pc;
    uint32_t lanes;
};

// Runs CTAs one after another with the same storage.
class CtaRunner {
  public:
    CtaRunner(const Code& code, const warp::Launch& launch, const warp::GlobalMemory& global,
              Heap* heap, warp::Observer* observer);

    // Where a CTA stands after some time.
    enum class Stands : uint8_t {
        ended,  // also where it trapped
        waits,  // for what only another CTA can do, or it has had its time
    };
    // The next CTA, from its first instruction.
    void begin(uint64_t index);
    // One that spun is asked at once whether it still does; not where it has a whole turn.
    Stands go_on(bool whole_turn);
    bool spun() const { return spun_; }
    uint64_t index() const { return cta_.index; }
    const std::optional<warp::Trap>& trap() const { return context_.trap; }

    const warp::Statistics& statistics() const { return statistics_; }
    std::vector<warp::Printed>& printed() { return context_.printed; }
    uint64_t printed_bytes_lost() const { return context_.printed_bytes_lost; }

  private:
    bool run_warp(warp::Warp& w);
    bool run_path(warp::Warp& w, size_t path, uint64_t limit);
    bool control(warp::Warp& w, size_t path, const Step& s, uint32_t mask);
    bool collective(warp::Warp& w, size_t path, const Step& s, uint32_t mask);
    void join(warp::Warp& w, size_t path);
    void release_lanes_that_are_spun_for();
    bool has_ready_path() const;
    bool only_spins();
    bool spins(warp::Warp& w, size_t path);
    void branch(warp::Warp& w, size_t path, const Operation& o, std::span<const Way> ways);
    bool branch_by_index(warp::Warp& w, size_t path, const Operation& o, uint32_t mask);
    // calls.cpp
    bool call(warp::Warp& w, size_t path, const Operation& o, uint32_t mask);
    bool call_by_pointer(warp::Warp& w, size_t path, const Operation& o, uint32_t mask);
    bool call_functions(warp::Warp& w, size_t path, const Operation& o, std::span<const Way> ways);
    uint32_t enter(warp::Warp& w, const warp::Path& p, const Operation& o, uint32_t function,
                   uint32_t lanes, uint32_t meeting);
    static void leave(warp::Warp& w, uint32_t frame, uint32_t lanes);
    void name_calls(const warp::Warp& w, uint32_t frame);
    void return_lanes(warp::Warp& w, size_t path, uint32_t lanes);
    // cta_barriers.cpp and others
    static void resume(warp::Warp& w, const warp::Reconvergence& m, uint32_t lanes);
    static uint32_t meet(warp::Warp& w, const warp::Reconvergence& meeting);
    void arrive(warp::Warp& w, size_t path);
    void exit_lanes(warp::Warp& w, size_t path, uint32_t lanes);
    void settle(warp::Warp& w, uint32_t meeting);
    bool barrier(warp::Warp& w, size_t path, const Operation& o, uint32_t mask);
    bool reduction(warp::Warp& w, size_t path, const Operation& o, uint32_t mask);
    void open(warp::Path& p, const warp::Barrier& b);
    void release_barriers();
    warp::Retired event(const warp::Warp& w, uint64_t step, uint32_t pc, uint32_t active,
                        uint32_t executed) const;
    bool must_wait(const warp::Retired& e) const;
    void notify(const warp::Warp& w, uint32_t pc, uint32_t active, uint32_t executed);
    warp::Trap deadlock() const;
    bool misses_workspace() const;

    const Code& code_;
    const warp::Launch& launch_;
    warp::Observer* observer_;
    Context context_;
    warp::Cta cta_;
    warp::Statistics statistics_;
    bool spun_ = false;  // when it stood back
    uint32_t file_bytes_;
    std::unique_ptr<uint8_t[]> storage_;  // register files, aligned to 64 bytes from within
    uint8_t* files_ = nullptr;
    std::vector<uint8_t> image_;  // a register file as it begins
};

}  // namespace lockwarp::exec
