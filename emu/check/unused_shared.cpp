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
    void bulk(const warp::BulkEvent& e) override;

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
            // It is aligned to what it has, and lies in one word. What the driver keeps for itself
            // lies behind.
            if (at / 64 < used.size()) used[at / 64] |= ones << at % 64;
        }
    }
}

void OfCta::bulk(const warp::BulkEvent& e) {
    for (const warp::BulkRange& r : e.ranges)
        for (uint64_t at = r.address - first, end = at + r.bytes;
             r.space == ptx::Space::shared && at < end && at / 64 < used.size(); ++at)
            used[at / 64] |= uint64_t{1} << at % 64;
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
          objects_(Objects(program, launch).of(ptx::Space::shared)),
          used_((program.shared_static + size_t{launch.dynamic_shared} + 63) / 64) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(first_, used_.size() * 64);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        std::ranges::transform(used_, static_cast<const OfCta&>(*listener).used, used_.begin(),
                               std::bit_or());
    }
    std::vector<Finding> findings() const override;

  private:
    bool is_used(uint64_t address) const {
        const uint64_t byte = address - first_;
        return byte / 64 < used_.size() && (used_[byte / 64] >> byte % 64 & 1) != 0;
    }

    uint64_t first_;
    std::vector<Object> objects_;
    std::vector<uint64_t> used_;  // by bits
};

// The bytes of each object that nobody accessed, and where the first of them lie.
std::vector<Finding> UnusedShared::findings() const {
    constexpr unsigned max_ranges = 4;
    std::vector<Finding> out;
    for (const Object& o : objects_) {
        uint64_t count = 0, first = 0;
        unsigned ranges = 0;
        std::string where;
        for (uint64_t begin = o.begin, end = begin; begin < o.end; begin = end) {
            while (end < o.end && is_used(end) == is_used(begin)) ++end;
            if (is_used(begin)) continue;
            if (count == 0) first = begin;
            count += end - begin;
            if (++ranges <= max_ranges)
                where += (where.empty() ? "" : ", ") + range(begin - o.begin, end - o.begin);
        }
        if (count == 0) continue;
        if (ranges > max_ranges) where += " and " + std::to_string(ranges - max_ranges) + " more";
        Finding f;
        f.kind = "unused-shared";
        f.severity = Severity::note;
        f.space = ptx::Space::shared;
        f.address = first;
        f.bytes = static_cast<uint32_t>(count);
        f.message = o.name + ": no thread accesses " + std::to_string(count) + " of " +
                    std::to_string(o.end - o.begin) + " bytes, at " + where;
        out.push_back(std::move(f));
    }
    return out;
}

}  // namespace

std::unique_ptr<Check> unused_shared(const isa::Program& program, const warp::Launch& launch) {
    if (program.shared_static + launch.dynamic_shared == 0) return nullptr;
    return std::make_unique<UnusedShared>(program, launch);
}

}  // namespace lockwarp::check
