// SPDX-License-Identifier: Apache-2.0
// Blocks of malloc that no free gives back. CUDA C++ programming guide, "Dynamic Global Memory
// Allocation and Operations": they live until a later kernel frees them, so that it is a note.
#include <algorithm>
#include <string>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

struct OfCta : warp::CtaObserver {
    explicit OfCta(const isa::Program& p) : program(p) {}
    void retired(const warp::Retired& e) override {
        const isa::Operation& o = program.operations[e.operation];
        if (isa::row(o.op).flow != isa::Flow::call || o.target >= program.calls.size()) return;
        const isa::System system = program.calls[o.target].system;
        const auto lanes = static_cast<uint64_t>(__builtin_popcount(e.executed));
        if (system == isa::System::free) freed += lanes;
        if (system != isa::System::malloc || lanes == 0) return;
        if (made == 0) first = {e.operation, e.cta, e.warp, e.executed, e.step};
        made += lanes;
    }

    const isa::Program& program;
    Site first;
    uint64_t made = 0, freed = 0;
};

class Heap : public Check {
  public:
    explicit Heap(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        const auto& cta = static_cast<const OfCta&>(*listener);
        if (made_ == 0) first_ = cta.first;
        made_ += cta.made;
        freed_ += cta.freed;
    }
    std::vector<Finding> findings() const override {
        if (made_ <= freed_) return {};
        Finding f;
        f.kind = "leak";
        f.severity = Severity::note;
        f.here = first_;
        f.count = made_ - freed_;
        f.message = std::to_string(made_) + " calls of malloc, " + std::to_string(freed_) +
                    " of free: " + std::to_string(made_ - freed_) + " blocks are left";
        f.hint = "free them, here or in a later kernel";
        return {f};
    }

  private:
    const isa::Program& program_;
    Site first_;
    uint64_t made_ = 0, freed_ = 0;
};

}  // namespace

std::unique_ptr<Check> heap_leaks(const isa::Program& program, const warp::Launch&) {
    const bool any = std::ranges::any_of(
        program.calls, [](const isa::Call& c) { return c.system == isa::System::malloc; });
    return any ? std::make_unique<Heap>(program) : nullptr;
}

}  // namespace lockwarp::check
