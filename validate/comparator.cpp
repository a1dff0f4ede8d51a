#include "validate/comparator.hpp"

#include <cstring>

namespace lockwarp::validate {

namespace {

uint64_t register_bits(const isa::Register& r, const uint8_t* registers, uint32_t lane) {
    if (r.type == isa::Type::pred) {
        uint32_t mask;
        std::memcpy(&mask, registers + r.ref, sizeof mask);
        return mask >> lane & 1;
    }
    const unsigned bytes = isa::bits(r.type) == 64 ? 8 : 4;
    uint64_t value = 0;
    std::memcpy(&value, registers + r.ref + size_t{lane} * bytes, bytes);
    return value;
}

}  // namespace

Comparator::Comparator(const isa::Program& program, const gpu::Traced& traced,
                       gpu::TraceWindow window, uint64_t slack, uint64_t warps,
                       const std::vector<uint8_t>& tracks)
    : program_(program),
      traced_(traced),
      window_(window),
      slack_(slack),
      warps_(warps),
      tracks_(tracks),
      states_(window.ctas) {}

uint64_t Comparator::word_at(uint64_t cta, uint32_t warp, uint32_t lane, uint64_t word) const {
    const uint64_t track = (cta - window_.first_cta) * warps_ + warp;
    const uint64_t at =
        ((track * (window_.words + slack_) + (word - window_.first)) * 32 + lane) * 8;
    uint64_t value;
    std::memcpy(&value, tracks_.data() + at, sizeof value);
    return value;
}

void Comparator::retired(const warp::Retired& e) {
    if (!traced_[e.operation] || e.executed == 0 || e.cta_index < window_.first_cta ||
        e.cta_index - window_.first_cta >= window_.ctas)
        return;
    // One thread at a time runs a CTA: its state needs no lock.
    CtaState& state = states_[e.cta_index - window_.first_cta];
    if (state.next.empty()) {
        state.next.assign(warps_ * 32, 0);
        state.id = e.cta;
    }
    for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1)
        compare_lane(state, e, static_cast<uint32_t>(__builtin_ctz(rest)));
}

void Comparator::compare_lane(CtaState& state, const warp::Retired& e, uint32_t lane) {
    const isa::Operation& o = program_.operations[e.operation];
    uint64_t& next = state.next[size_t{e.warp} * 32 + lane];
    const uint64_t at = next;
    next += 1u + o.written;
    if (state.lost || at < window_.first) return;
    if (at >= window_.first + window_.words) {
        state.unfinished = true;
        return;
    }
    const auto found = [&](DifferenceKind kind, uint32_t reg, uint64_t emulated, uint64_t other) {
        ++state.different;
        if (state.first) return;
        Difference d;
        d.kind = kind;
        d.operation = e.operation;
        d.cta = e.cta;
        d.cta_index = e.cta_index;
        d.warp = e.warp;
        d.step = e.step;
        d.lane = lane;
        d.reg = reg;
        d.emulated = emulated;
        d.other = other;
        d.executed = e.executed;
        for (uint32_t i = 0; i < o.read; ++i) {
            const isa::Register& r = program_.registers[program_.uses[o.first_use + o.written + i]];
            Difference::Input& input = d.inputs.emplace_back();
            input.name = r.name;
            input.type = r.type;
            for (uint32_t l = 0; l < 32; ++l) input.lanes[l] = register_bits(r, e.registers, l);
        }
        state.first = std::move(d);
    };
    const uint64_t number = word_at(e.cta_index, e.warp, lane, at);
    if (number != e.operation + 1) {
        found(DifferenceKind::control_flow, 0, e.operation + 1, number);
        state.lost = true;
        return;
    }
    ++state.records;
    for (uint32_t i = 0; i < o.written; ++i) {
        const isa::Register& r = program_.registers[program_.uses[o.first_use + i]];
        const uint64_t emulated = register_bits(r, e.registers, lane);
        const uint64_t other = word_at(e.cta_index, e.warp, lane, at + 1 + i);
        ++state.values;
        if (emulated != other) found(DifferenceKind::value, i, emulated, other);
    }
}

// A lane of the engine that did more than the emulator's left a record where there should be none.
void Comparator::cta_ended(uint64_t cta_index) {
    if (cta_index < window_.first_cta || cta_index - window_.first_cta >= window_.ctas) return;
    CtaState& state = states_[cta_index - window_.first_cta];
    if (state.next.empty()) state.next.assign(warps_ * 32, 0);
    for (uint32_t i = 0; i < state.next.size() && !state.lost; ++i) {
        const uint64_t at = state.next[i];
        if (at < window_.first || at >= window_.first + window_.words) continue;
        const uint64_t number = word_at(cta_index, i / 32, i % 32, at);
        if (number == 0) continue;
        ++state.different;
        state.lost = true;
        if (state.first) break;
        Difference d;
        d.kind = DifferenceKind::control_flow;
        d.operation = static_cast<uint32_t>(number - 1);
        d.cta = state.id;
        d.cta_index = cta_index;
        d.warp = i / 32;
        d.lane = i % 32;
        d.other = number;
        state.first = std::move(d);
    }
    const std::lock_guard guard(lock_);
    unfinished_ |= state.unfinished;
}

void Comparator::finish(Report& report) const {
    for (const CtaState& s : states_) {
        report.counts.values += s.values;
        report.records += s.records;
        report.counts.different += s.different;
        if (s.first && !report.first) report.first = s.first;
    }
}

}  // namespace lockwarp::validate
