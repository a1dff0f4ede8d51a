// SPDX-License-Identifier: Apache-2.0
// Membermasks that name lanes that are not there, and values that shfl takes from lanes that do not
// take part. PTX manual, "shfl.sync": such a value is undefined. It is an error where it matters:
// where it reaches memory, an address, a branch, a matrix product or other lanes' results.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/check/undefined_values.hpp"

namespace lockwarp::check {

namespace {

bool is_exchange(const isa::Operation& o) {
    return isa::row(o.op).step == isa::StepKind::collective;
}

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, const Registers& registers, uint64_t threads)
        : program_(program), registers_(registers), threads_(threads) {}
    void retired(const warp::Retired& e) override;

    Collection found;

  private:
    // From its first undefined value on.
    struct OfWarp {
        WarpRegisters registers;
        std::unordered_map<uint32_t, Site>
            shuffles;  // by operation, the last that took such values
    };

    void look_at_mask(const warp::Retired& e, const isa::Operation& o);
    void take_from_absent(const warp::Retired& e, const isa::Operation& o);
    void follow(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void report(const warp::Retired& e, const Site& from, uint32_t lanes);

    const isa::Program& program_;
    const Registers& registers_;
    uint64_t threads_;
    std::vector<std::unique_ptr<OfWarp>> warps_;
    Origins origins_;
};

void OfCta::look_at_mask(const warp::Retired& e, const isa::Operation& o) {
    if (e.executed == 0) return;
    uint32_t members = 0;
    const auto lane = static_cast<size_t>(__builtin_ctz(e.executed));
    std::memcpy(&members, e.registers + o.r[o.operands - 1u] + 4 * lane, sizeof members);
    const uint32_t missing = members & ~e.executed;
    if (missing == 0 || found.again("mask-absent", e.operation, std::nullopt)) return;
    const uint64_t first = uint64_t{e.warp} * 32;
    const uint64_t there = std::min<uint64_t>(threads_ - first, 32);
    const auto exist = static_cast<uint32_t>((uint64_t{1} << there) - 1);
    Finding f;
    f.kind = "mask-absent";
    f.severity = Severity::note;
    f.here = {e.operation, e.cta, e.warp, e.executed, e.step};
    f.message = "its membermask names " + std::to_string(__builtin_popcount(missing)) +
                ((missing & exist) == 0 ? " lanes that the block does not have"
                                        : " lanes that have exited");
    f.hint = "name the lanes that take part";
    found.add(std::move(f));
}

void OfCta::report(const warp::Retired& e, const Site& from, uint32_t lanes) {
    if (found.again("shfl-source", from.operation, e.operation)) return;
    Finding f;
    f.kind = "shfl-source";
    f.here = from;
    f.other = Site{e.operation, e.cta, e.warp, lanes, e.step};
    f.message = "takes values from lanes that do not take part, and line " +
                std::to_string(program_.operations[e.operation].place.line) + " uses them";
    f.hint = "the lane that is read executes the same shfl, named in its membermask";
    found.add(std::move(f));
}

// Its result is undefined where the source is; whether that is in range never is.
void OfCta::take_from_absent(const warp::Retired& e, const isa::Operation& o) {
    const uint32_t lanes = e.undefined & e.executed;
    const uint32_t reg = registers_.at(o.r[0]);
    if (lanes == 0 || reg == no_register) return;
    if (warps_.size() <= e.warp) warps_.resize(e.warp + size_t{1});
    std::unique_ptr<OfWarp>& w = warps_[e.warp];
    if (w == nullptr) {
        w = std::make_unique<OfWarp>();
        w->registers.begin(registers_, true);
    }
    w->shuffles[e.operation] = {e.operation, e.cta, e.warp, lanes, e.step};
    LanesByByte everywhere;
    everywhere.fill(UINT32_MAX);
    const Origin origin{Origin::of_lane, no_register, 0, e.operation, no_operation};
    w->registers.set(reg, registers_.bytes(reg), everywhere, lanes, origins_.add(origin));
}

bool matters(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.memory != isa::Memory::none || row.matrix != isa::Matrix::none ||
           row.flow == isa::Flow::branch || row.flow == isa::Flow::index ||
           row.flow == isa::Flow::call ||
           (row.step == isa::StepKind::collective && o.op != isa::Op::shfl);
}

void OfCta::follow(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    // All lanes look at the guard, those that it lets through at the rest.
    const uint32_t guard = o.guarded ? registers_.at(o.guard) : no_register;
    const uint32_t of_guard = guard == no_register ? 0 : w.registers.any[guard] & e.active;
    uint32_t lanes = of_guard;
    uint32_t first = of_guard == 0 ? no_register : guard;
    for (const uint32_t reg : read(e, o)) {
        const uint32_t here = reg == guard ? 0 : w.registers.any[reg] & e.executed;
        if (here != 0 && first == no_register) first = reg;
        lanes |= here;
    }
    const bool is_said = lanes != 0 && matters(o);
    const uint32_t origin = lanes == 0 ? 0 : w.registers.origin[first];
    if (is_said) report(e, w.shuffles[origins_.at(origin).read], lanes);
    if (lanes == 0 || is_said) {
        for (const uint32_t reg : written(e, o)) w.registers.define(reg, e.executed);
        return;
    }
    pass_on(e, registers_, w.registers, origins_);
    if ((of_guard & e.executed) == 0) return;
    LanesByByte everywhere;
    everywhere.fill(UINT32_MAX);
    for (const uint32_t reg : written(e, o))
        w.registers.set(reg, registers_.bytes(reg), everywhere, of_guard & e.executed, origin);
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    const bool exchanges = is_exchange(o);
    if (exchanges && e.executed != ~0u) look_at_mask(e, o);
    if (e.warp < warps_.size() && warps_[e.warp] != nullptr) follow(e, o, *warps_[e.warp]);
    if (o.op == isa::Op::shfl) take_from_absent(e, o);
}

class LaneExchange : public Check {
  public:
    LaneExchange(const isa::Program& program, const warp::Launch& launch)
        : program_(program), registers_(program), threads_(launch.block.count()) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_, registers_, threads_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    Registers registers_;
    uint64_t threads_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> lane_exchange(const isa::Program& program, const warp::Launch& launch) {
    if (std::ranges::none_of(program.operations, is_exchange)) return nullptr;
    return std::make_unique<LaneExchange>(program, launch);
}

}  // namespace lockwarp::check
