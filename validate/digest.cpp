#include "validate/digest.hpp"

#include <cstring>

#include "emu/num/digest.hpp"
#include "emu/num/lanes.hpp"
#include "emu/warp/state.hpp"

namespace lockwarp::validate {

Digests::Digests(const Plan& plan, uint64_t first_cta, uint64_t ctas)
    : plan_(plan),
      first_cta_(first_cta),
      states_(ctas),
      words_(ctas * plan.warps * 32),
      values_(plan.program->operations.size()) {}

Digests::~Digests() = default;

void Digests::retired(const warp::Retired& e) {
    if (!plan_.traced[e.operation] || e.executed == 0) return;
    std::unique_ptr<CtaState>& state = states_[e.cta_index - first_cta_];
    if (!state) {
        state = std::make_unique<CtaState>();
        state->warps.resize(plan_.warps);
        state->values.resize(values_.size());
    }
    WarpState& w = state->warps[e.warp];
    const isa::Operation& o = plan_.program->operations[e.operation];
    state->values[e.operation] +=
        uint64_t{o.written} * static_cast<unsigned>(__builtin_popcount(e.executed));
    uint32_t word = 0;
    const auto mix = [&](const uint32_t* values) {
        const uint32_t salt = num::digest_salt(e.operation + 1, word++);
        if (e.executed == warp::all_lanes) {
            num::digest(values, salt, w.first.data(), w.second.data());
            return;
        }
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            const auto l = static_cast<unsigned>(__builtin_ctz(rest));
            num::digest_one(values[l], salt, w.first[l], w.second[l]);
        }
    };
    for (uint32_t i = 0; i < o.written; ++i) {
        const isa::Register& r = plan_.program->registers[plan_.program->uses[o.first_use + i]];
        const uint8_t* const slot = e.registers + r.ref;
        if (r.type != isa::Type::pred && isa::bits(r.type) <= 32) {
            mix(reinterpret_cast<const uint32_t*>(slot));
            continue;
        }
        alignas(64) std::array<uint32_t, 32> low;
        alignas(64) std::array<uint32_t, 32> high;
        if (r.type == isa::Type::pred) {
            uint32_t mask;
            std::memcpy(&mask, slot, sizeof mask);
            for (uint32_t l = 0; l < 32; ++l) low[l] = mask >> l & 1;
            mix(low.data());
            continue;
        }
        const auto* wide = reinterpret_cast<const uint64_t*>(slot);
        for (uint32_t l = 0; l < 32; ++l) {
            low[l] = static_cast<uint32_t>(wide[l]);
            high[l] = static_cast<uint32_t>(wide[l] >> 32);
        }
        mix(low.data());
        mix(high.data());
    }
}

void Digests::cta_ended(uint64_t cta_index) {
    const std::unique_ptr<CtaState> state = std::move(states_[cta_index - first_cta_]);
    if (!state) return;
    uint64_t* out = words_.data() + (cta_index - first_cta_) * plan_.warps * 32;
    for (const WarpState& w : state->warps)
        for (uint32_t l = 0; l < 32; ++l) *out++ = uint64_t{w.second[l]} << 32 | w.first[l];
    const std::lock_guard guard(lock_);
    for (size_t i = 0; i < values_.size(); ++i) values_[i] += state->values[i];
}

}  // namespace lockwarp::validate
