// SPDX-License-Identifier: Apache-2.0
// setmaxnreg: registers that the warps of a CTA ask for, against those that the launch gave it. PTX
// manual, "setmaxnreg": .inc waits until the CTA's pool has as many.
#include "emu/check/registers.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace lockwarp::check {

namespace {

// Of a multiprocessor, and of a thread (CUDA C++ programming guide, "Technical Specifications").
constexpr uint64_t all_registers = 65536;
constexpr uint64_t max_registers = 256;
constexpr uint64_t unit = 8;  // in which a thread has them

// Registers that each thread begins with; where the module does not say, at most.
uint64_t registers_at_launch(const isa::Program& program, uint64_t threads) {
    if (program.max_registers != 0) return (program.max_registers + unit - 1) / unit * unit;
    const uint64_t ctas = std::max(program.least_ctas, 1u);
    return std::min(max_registers, all_registers / (threads * ctas) / unit * unit);
}

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, uint64_t warps)
        : program_(program),
          at_launch_(registers_at_launch(program, 32 * warps)),
          held_(warps, at_launch_) {}
    void retired(const warp::Retired& e) override {
        const isa::Operation& o = program_.operations[e.operation];
        if (o.op != isa::Op::set_max_registers || e.warp >= held_.size()) return;
        if (o.immediate > held_[e.warp]) asked_ = Site{e.operation, e.cta, e.warp, 0, e.step};
        held_[e.warp] = o.immediate;
    }
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override {
        uint64_t sum = 0;
        for (const uint64_t held : held_) sum += 32 * held;
        const uint64_t pool = 32 * at_launch_ * held_.size();
        if (trapped_ || !asked_ || sum <= pool) return;
        Finding f;
        f.kind = "register-pool";
        f.here = *asked_;
        f.message = "asks for " +
                    std::to_string(program_.operations[*asked_->operation].immediate) +
                    " registers a thread, and would wait for ever: the CTA's warps then have " +
                    std::to_string(sum) + ", of " + std::to_string(pool) + " at the launch";
        f.hint = "let other warps go down further (setmaxnreg.dec), or ask for less";
        found.add(std::move(f));
    }

    Collection found;

  private:
    const isa::Program& program_;
    uint64_t at_launch_;
    std::vector<uint64_t> held_;  // by warp, of each thread
    std::optional<Site> asked_;   // who asked for more last
    bool trapped_ = false;
};

class Registers : public Check {
  public:
    Registers(const isa::Program& program, const warp::Launch& launch)
        : program_(program), warps_((launch.block.count() + 31) / 32) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_, warps_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    uint64_t warps_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> register_pool(const isa::Program& program, const warp::Launch& launch) {
    for (const isa::Operation& o : program.operations)
        if (o.op == isa::Op::set_max_registers) return std::make_unique<Registers>(program, launch);
    return nullptr;
}

}  // namespace lockwarp::check
