// Listens to the emulator and compares with the tracks that a traced kernel left.
#pragma once

#include <mutex>
#include <vector>

#include "emu/warp/observer.hpp"
#include "gpu/trace.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::validate {

class Comparator : public warp::Observer {
  public:
    Comparator(const isa::Program& program, const gpu::Traced& traced, gpu::TraceWindow window,
               uint64_t slack, uint64_t warps, const std::vector<uint8_t>& tracks);

    void retired(const warp::Retired& event) override;
    void cta_ended(uint64_t cta_index) override;

    // Some track goes on past the window.
    bool unfinished() const { return unfinished_; }
    // Adds what was found to the report.
    void finish(Report& report) const;

  private:
    struct CtaState {
        std::vector<uint64_t> next;  // word of the track, by warp * 32 + lane
        uint64_t values = 0;
        uint64_t records = 0;
        uint64_t different = 0;
        bool unfinished = false;
        bool lost = false;  // control flow differed: nothing after it can be compared
        std::array<uint32_t, 3> id{};
        std::optional<Difference> first;
    };

    const uint8_t* track(uint64_t cta, uint32_t warp, uint32_t lane, uint64_t word) const;
    uint64_t word_at(uint64_t cta, uint32_t warp, uint32_t lane, uint64_t word) const;
    void compare_lane(CtaState& state, const warp::Retired& e, uint32_t lane);

    const isa::Program& program_;
    const gpu::Traced& traced_;
    gpu::TraceWindow window_;
    uint64_t slack_;
    uint64_t warps_;
    const std::vector<uint8_t>& tracks_;
    std::vector<CtaState> states_;
    bool unfinished_ = false;
    mutable std::mutex lock_;
};

}  // namespace lockwarp::validate
