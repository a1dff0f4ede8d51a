// SPDX-License-Identifier: Apache-2.0
#include "validate/digest.hpp"

#include <cstring>

#include "emu/num/digest.hpp"
#include "emu/num/lanes.hpp"
#include "emu/warp/state.hpp"

namespace lockwarp::validate {

namespace {

struct OfCta : warp::CtaObserver {
    explicit OfCta(const Plan& p) : plan(p), warps(p.warps), values(p.program->operations.size()) {}
    void retired(const warp::Retired& e) override;

    struct OfWarp {
        alignas(64) std::array<uint32_t, 32> first{};
        alignas(64) std::array<uint32_t, 32> second{};
    };
    const Plan& plan;
    std::vector<OfWarp> warps;
    std::vector<uint64_t> values;  // by operation
};

void OfCta::retired(const warp::Retired& e) {
    if (!plan.traced[e.operation] || e.executed == 0) return;
    OfWarp& w = warps[e.warp];
    const isa::Operation& o = plan.program->operations[e.operation];
    values[e.operation] +=
        uint64_t{o.written} * static_cast<unsigned>(__builtin_popcount(e.executed));
    uint32_t word = 0;
    const auto mix = [&](const uint32_t* lanes) {
        const uint32_t salt = num::digest_salt(e.operation + 1, word++);
        if (e.executed == warp::all_lanes) {
            num::digest(lanes, salt, w.first.data(), w.second.data());
            return;
        }
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            const auto l = static_cast<unsigned>(__builtin_ctz(rest));
            num::digest_one(lanes[l], salt, w.first[l], w.second[l]);
        }
    };
    for (uint32_t i = 0; i < o.written; ++i) {
        const isa::Register& r = plan.program->registers[plan.program->uses[o.first_use + i]];
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

}  // namespace

Digests::Digests(const Plan& plan, uint64_t first_cta, uint64_t ctas)
    : plan_(plan),
      first_cta_(first_cta),
      words_(ctas * plan.warps * 32),
      values_(plan.program->operations.size()) {}

std::unique_ptr<warp::CtaObserver> Digests::begin(const warp::CtaPlace&) {
    return std::make_unique<OfCta>(plan_);
}

void Digests::take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) {
    const auto& state = static_cast<const OfCta&>(*listener);
    uint64_t* out = words_.data() + (cta.index - first_cta_) * plan_.warps * 32;
    for (const OfCta::OfWarp& w : state.warps)
        for (uint32_t l = 0; l < 32; ++l) *out++ = uint64_t{w.second[l]} << 32 | w.first[l];
    for (size_t i = 0; i < values_.size(); ++i) values_[i] += state.values[i];
}

}  // namespace lockwarp::validate
