// SPDX-License-Identifier: Apache-2.0
// Bytes of shared memory that no thread of the launch ever accessed: a CTA that asks for fewer
// leaves more of an SM to others. Bytes that only fill up a row, against bank conflicts, are among
// them.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

struct OfCta : warp::CtaObserver {
    OfCta(uint64_t begin, size_t size) : first(begin), used((size + 63) / 64) {}
    void retired(const warp::Retired& e) override;

    uint64_t first;              // address of the first byte
    std::vector<uint64_t> used;  // by bits
};

void OfCta::retired(const warp::Retired& e) {
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space != ptx::Space::shared) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            const uint64_t at = a.address[lane] - first;
            const uint64_t ones = (uint64_t{1} << a.bytes_of_lane[lane]) - 1;
            const size_t word = at / 64;
            // What the driver keeps for itself lies behind.
            if (word < used.size()) used[word] |= ones << at % 64;
            if (at % 64 + a.bytes_of_lane[lane] > 64 && word + 1 < used.size())
                used[word + 1] |= ones >> (64 - at % 64);
        }
    }
}

struct Region {
    std::string name;
    uint64_t begin, end;  // bytes from Program::shared_begin
};

// The variables, and what a launch adds to them.
std::vector<Region> regions_of(const isa::Program& program, uint64_t dynamic) {
    std::vector<Region> out;
    std::string name = "dynamic shared memory";
    for (const isa::Placed& v : program.variables) {
        if (v.space != ptx::Space::shared || v.in_frame) continue;
        const uint64_t begin = v.address - program.shared_begin;
        if (begin >= program.shared_static)
            name = v.name + " (dynamic)";
        else
            out.push_back({v.name, begin, begin + v.bytes});
    }
    if (dynamic != 0) out.push_back({name, program.shared_static, program.shared_static + dynamic});
    std::ranges::sort(out, {}, &Region::begin);
    return out;
}

std::string range(uint64_t begin, uint64_t end) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "[0x%" PRIx64 ", 0x%" PRIx64 ")", begin, end);
    return text.data();
}

class UnusedShared : public Check {
  public:
    UnusedShared(const isa::Program& program, const warp::Launch& launch)
        : first_(program.shared_begin),
          regions_(regions_of(program, launch.dynamic_shared)),
          used_((program.shared_static + size_t{launch.dynamic_shared} + 63) / 64) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        if (used_.empty()) return nullptr;
        return std::make_unique<OfCta>(first_, used_.size() * 64);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        std::ranges::transform(used_, static_cast<const OfCta&>(*listener).used, used_.begin(),
                               std::bit_or());
    }
    Findings findings() const override;

  private:
    bool is_used(uint64_t byte) const { return (used_[byte / 64] >> byte % 64 & 1) != 0; }
    uint64_t unused(const Region& r, Finding& finding) const;

    uint64_t first_;
    std::vector<Region> regions_;
    std::vector<uint64_t> used_;  // by bits
};

// The bytes of a region that nobody accessed, and where the first of them lie.
uint64_t UnusedShared::unused(const Region& r, Finding& finding) const {
    constexpr unsigned max_ranges = 4;
    uint64_t count = 0;
    unsigned ranges = 0;
    std::string where;
    for (uint64_t begin = r.begin, end = begin; begin < r.end; begin = end) {
        while (end < r.end && is_used(end) == is_used(begin)) ++end;
        if (is_used(begin)) continue;
        count += end - begin;
        if (++ranges <= max_ranges)
            where += (where.empty() ? "" : ", ") + range(begin - r.begin, end - r.begin);
    }
    if (ranges > max_ranges) where += " and " + std::to_string(ranges - max_ranges) + " more";
    finding.what = r.name + ": " + std::to_string(count) + " of " +
                   std::to_string(r.end - r.begin) + " bytes, at " + where;
    return count;
}

Findings UnusedShared::findings() const {
    Findings out;
    uint64_t count = 0, all = 0;
    for (const Region& r : regions_) {
        Finding finding;
        const uint64_t n = unused(r, finding);
        all += r.end - r.begin;
        count += n;
        if (n != 0) out.list.push_back(std::move(finding));
    }
    out.summary = std::to_string(count) + " of " + std::to_string(all) +
                  " bytes of shared memory that no thread accessed";
    return out;
}

}  // namespace

std::unique_ptr<Check> unused_shared(const isa::Program& program, const warp::Launch& launch) {
    return std::make_unique<UnusedShared>(program, launch);
}

}  // namespace lockwarp::check
