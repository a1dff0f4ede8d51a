// SPDX-License-Identifier: Apache-2.0
// Membermasks that name lanes that are not there, and values that shfl takes from lanes that do not
// take part. PTX manual, "shfl.sync": such a value is undefined. It is an error where it matters:
// where it reaches memory, an address, a branch, a matrix product or other lanes' results.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

bool is_exchange(const isa::Operation& o) {
    return isa::row(o.op).step == isa::StepKind::collective;
}

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, uint64_t threads) : program_(program), threads_(threads) {}
    void retired(const warp::Retired& e) override;

    Collection found;

  private:
    // Lanes of a register whose value nobody gave, and the shfl that asked for it.
    struct Undefined {
        uint32_t lanes = 0;
        Site from;
    };
    using OfWarp = std::unordered_map<uint32_t, Undefined>;  // by index into Program::registers

    OfWarp& of_warp(uint32_t warp) {
        if (warps_.size() <= warp) warps_.resize(warp + size_t{1});
        return warps_[warp];
    }
    uint32_t used(uint32_t n, const isa::Operation& o) const {
        return program_.uses[o.first_use + n];
    }
    void look_at_mask(const warp::Retired& e, const isa::Operation& o);
    void shuffle(const warp::Retired& e, const isa::Operation& o);
    void follow(const warp::Retired& e, const isa::Operation& o);
    uint32_t decided_lanes(const warp::Retired& e, const isa::Operation& o, const OfWarp& w) const;
    void set(OfWarp& w, const isa::Operation& o, uint32_t executed, uint32_t undefined,
             const Site& from);
    void report(const warp::Retired& e, const Undefined& u, uint32_t lanes);

    const isa::Program& program_;
    uint64_t threads_;
    std::vector<OfWarp> warps_;
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

void OfCta::set(OfWarp& w, const isa::Operation& o, uint32_t executed, uint32_t undefined,
                const Site& from) {
    for (uint32_t n = 0; n < o.written; ++n) {
        const uint32_t reg = used(n, o);
        const bool in_range =
            o.op == isa::Op::shfl && program_.registers[reg].type == isa::Type::pred;
        const uint32_t lanes = in_range ? 0 : undefined;
        const auto at = w.find(reg);
        if (at == w.end()) {
            if (lanes != 0) w.emplace(reg, Undefined{lanes, from});
            continue;
        }
        at->second.lanes = (at->second.lanes & ~executed) | lanes;
        if (lanes != 0) at->second.from = from;
        if (at->second.lanes == 0) w.erase(at);
    }
}

// The lanes that take their value from one of `from`. PTX manual, "shfl.sync", semantics.
uint32_t moved_lanes(const warp::Retired& e, const isa::Operation& o, uint32_t from) {
    std::array<uint32_t, 32> amount{}, bounds{};
    std::memcpy(amount.data(), e.registers + o.r[3], sizeof amount);
    std::memcpy(bounds.data(), e.registers + o.r[4], sizeof bounds);
    uint32_t moved = 0;
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint32_t n = amount[l] & 31, segment = bounds[l] >> 8 & 31;
        const auto most = static_cast<int32_t>((l & segment) | (bounds[l] & 31 & ~segment));
        auto source = static_cast<int32_t>((l & segment) | (n & ~segment));
        if (o.mod.shuffle == isa::Shuffle::up)
            source = static_cast<int32_t>(l) - static_cast<int32_t>(n);
        if (o.mod.shuffle == isa::Shuffle::down) source = static_cast<int32_t>(l + n);
        if (o.mod.shuffle == isa::Shuffle::bfly) source = static_cast<int32_t>(l ^ n);
        const bool is_up = o.mod.shuffle == isa::Shuffle::up;
        const bool in_range = is_up ? source >= most : source <= most;
        const uint32_t taken = in_range ? static_cast<uint32_t>(source) & 31 : l;
        moved |= (from >> taken & 1) << l;
    }
    return moved;
}

// Its result is undefined where the source is; whether that is in range never is.
void OfCta::shuffle(const warp::Retired& e, const isa::Operation& o) {
    OfWarp& w = of_warp(e.warp);
    uint32_t lanes = e.undefined & e.executed;
    Site from{e.operation, e.cta, e.warp, lanes, e.step};
    // The data is the first register that it reads but for the guard.
    for (uint32_t n = 0; n < o.read; ++n) {
        const uint32_t reg = used(o.written + n, o);
        if (program_.registers[reg].ref != o.r[2]) continue;
        const auto at = w.find(reg);
        if (at == w.end()) continue;
        const uint32_t moved = moved_lanes(e, o, at->second.lanes);
        if (lanes == 0) from = at->second.from;
        lanes |= moved;
    }
    set(w, o, e.executed, lanes, from);
}

void OfCta::report(const warp::Retired& e, const Undefined& u, uint32_t lanes) {
    if (found.again("shfl-source", u.from.operation, e.operation)) return;
    Finding f;
    f.kind = "shfl-source";
    f.here = u.from;
    f.other = Site{e.operation, e.cta, e.warp, lanes, e.step};
    f.message = "takes values from lanes that do not take part, and line " +
                std::to_string(program_.operations[e.operation].place.line) + " uses them";
    f.hint = "the lane that is read executes the same shfl, named in its membermask";
    found.add(std::move(f));
}

bool matters(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.memory != isa::Memory::none || row.matrix != isa::Matrix::none ||
           row.flow == isa::Flow::branch || row.flow == isa::Flow::index ||
           row.flow == isa::Flow::call || row.step == isa::StepKind::collective;
}

// The lanes in which the instruction's result has something of that register: of a choice those
// that choose it.
uint32_t taken_lanes(const warp::Retired& e, const isa::Operation& o, isa::Ref ref) {
    if (o.op != isa::Op::selp || ref == o.r[3]) return UINT32_MAX;
    uint32_t first = 0;
    std::memcpy(&first, e.registers + o.r[3], sizeof first);
    if ((o.negated_sources >> 3 & 1) != 0) first = ~first;
    return (ref == o.r[1] ? first : 0) | (ref == o.r[2] ? ~first : 0);
}

// The lanes in which one operand of an and, an or gives the result whatever the other is.
uint32_t deciding_lanes(const warp::Retired& e, const isa::Operation& o, unsigned operand) {
    const bool is_and = o.op == isa::Op::and_;
    const uint8_t* const slot = e.registers + o.r[operand];
    const isa::Type type = o.mod.type[0];
    if (type == isa::Type::pred) {
        uint32_t value = 0;
        std::memcpy(&value, slot, sizeof value);
        if ((o.negated_sources >> operand & 1) != 0) value = ~value;
        return is_and ? ~value : value;
    }
    const unsigned bits = isa::bits(type);
    const size_t stride = bits == 64 ? 8 : 4;
    const uint64_t decides = is_and ? 0 : UINT64_MAX >> (64 - bits);
    uint32_t out = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint64_t value = 0;
        std::memcpy(&value, slot + lane * stride, stride);
        out |= uint32_t{value == decides} << lane;
    }
    return out;
}

uint32_t OfCta::decided_lanes(const warp::Retired& e, const isa::Operation& o,
                              const OfWarp& w) const {
    if (o.op != isa::Op::and_ && o.op != isa::Op::or_) return 0;
    uint32_t out = 0;
    for (const unsigned operand : {1u, 2u}) {
        if (o.r[operand] == o.r[0]) continue;  // what it was is overwritten
        uint32_t known = deciding_lanes(e, o, operand);
        for (uint32_t n = 0; n < o.read; ++n)
            if (const uint32_t reg = used(o.written + n, o);
                program_.registers[reg].ref == o.r[operand])
                if (const auto at = w.find(reg); at != w.end()) known &= ~at->second.lanes;
        out |= known;
    }
    return out;
}

void OfCta::follow(const warp::Retired& e, const isa::Operation& o) {
    OfWarp& w = warps_[e.warp];
    uint32_t lanes = 0;
    const Undefined* first = nullptr;
    for (uint32_t n = 0; n < o.read; ++n) {
        const uint32_t reg = used(o.written + n, o);
        const auto at = w.find(reg);
        if (at == w.end()) continue;
        // All lanes look at the guard, those that it lets through at the rest.
        const isa::Ref ref = program_.registers[reg].ref;
        const bool is_guard = o.guarded && ref == o.guard;
        const uint32_t here =
            at->second.lanes & (is_guard ? e.active : e.executed & taken_lanes(e, o, ref));
        if (here == 0) continue;
        if (first == nullptr) first = &at->second;
        lanes |= here;
    }
    if (first == nullptr) return set(w, o, e.executed, 0, {});
    const Undefined cause = *first;
    if (matters(o)) {
        report(e, cause, lanes);
        lanes = 0;  // it is said
    }
    set(w, o, e.executed, lanes & e.executed & ~decided_lanes(e, o, w), cause.from);
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    const bool exchanges = is_exchange(o);
    if (exchanges && e.executed != ~0u) look_at_mask(e, o);
    if (exchanges && o.op == isa::Op::shfl) return shuffle(e, o);
    if (e.warp < warps_.size() && !warps_[e.warp].empty()) follow(e, o);
}

class LaneExchange : public Check {
  public:
    LaneExchange(const isa::Program& program, const warp::Launch& launch)
        : program_(program), threads_(launch.block.count()) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_, threads_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    uint64_t threads_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> lane_exchange(const isa::Program& program, const warp::Launch& launch) {
    if (std::ranges::none_of(program.operations, is_exchange)) return nullptr;
    return std::make_unique<LaneExchange>(program, launch);
}

}  // namespace lockwarp::check
