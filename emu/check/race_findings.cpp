// SPDX-License-Identifier: Apache-2.0
#include "emu/check/race_findings.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace lockwarp::check {

namespace {

struct HazardRow {
    Hazard hazard;
    std::string_view kind;
    std::string_view does;  // before "line N"
    std::string_view did;   // behind it
};

constexpr std::array hazards{
    HazardRow{Hazard::read_after_write, "read-after-write", "reads what ", " stores"},
    HazardRow{Hazard::write_after_read, "write-after-read", "stores to where ", " reads"},
    HazardRow{Hazard::write_after_write, "write-after-write", "stores to where ", " stores"},
    HazardRow{Hazard::one_store, "lanes-disagree", "", ""},
};

struct WhyRow {
    Unordered why;
    Severity severity;
    std::string_view says;  // behind "line N stores"
    std::string_view hint;
};

constexpr std::array whys{
    WhyRow{Unordered::warps, Severity::error, ", in another warp, with no barrier between",
           "bar.sync (__syncthreads) comes between"},
    WhyRow{
        Unordered::ctas, Severity::error, ", in another CTA, and nothing orders them",
        "a release at .gpu scope behind the first and an acquire before the second order them, or "
        "two launches"},
    WhyRow{Unordered::paths, Severity::error,
           ", in another lane of the warp, on another way through the code",
           "bar.warp.sync (__syncwarp), where the ways meet, comes between"},
    WhyRow{Unordered::lanes, Severity::note,
           ", in another lane of the warp: lanes need not run together",
           "bar.warp.sync (__syncwarp) comes between"},
    WhyRow{Unordered::convention, Severity::note,
           ": a flag is between them, but no release and acquire of both threads' scope",
           "a fence (__threadfence) before the flag is set and one behind the loop that waits, or "
           "st.release and ld.acquire"},
    WhyRow{Unordered::exited, Severity::note,
           ": that warp exits, and does not come to the barrier between them",
           "a barrier orders the threads that come to it: they exit behind it"},
    WhyRow{Unordered::other_lanes, Severity::note,
           ": the release and the acquire between them are other lanes'",
           "bar.warp.sync (__syncwarp) comes between each of the two and its warp's release or "
           "acquire"},
    WhyRow{Unordered::guess, Severity::note, ": a guess that atom.cas looks at again",
           "ld.relaxed, or a volatile load, does not race with it"},
    WhyRow{Unordered::same_value, Severity::note, " the same value, with nothing between", ""},
    WhyRow{Unordered::one_store, Severity::error, "",
           "which lane's value stays is undefined: let one lane store, or use an atomic operation"},
    WhyRow{Unordered::in_flight, Severity::error, ", which its thread has not waited for",
           "cp.async.bulk.wait_group.read comes between"},
};

constexpr bool in_order() {
    for (size_t i = 0; i < hazards.size(); ++i)
        if (hazards[i].hazard != static_cast<Hazard>(i)) return false;
    for (size_t i = 0; i < whys.size(); ++i)
        if (whys[i].why != static_cast<Unordered>(i)) return false;
    return true;
}
static_assert(in_order());

const HazardRow& row(Hazard h) { return hazards[static_cast<size_t>(h)]; }
const WhyRow& row(Unordered w) { return whys[static_cast<size_t>(w)]; }

Finding finding(const Race& r, const isa::Program& program, ptx::Space space,
                const warp::Dim3& grid) {
    const HazardRow& hazard = row(r.hazard);
    const WhyRow& why = row(r.why);
    Finding out;
    out.kind = hazard.kind;
    out.severity = why.severity;
    out.here = r.here;
    out.space = space;
    out.address = r.address;
    out.bytes = r.bytes;
    out.count = r.count;
    out.hint = why.hint;
    if (r.hazard == Hazard::one_store) {
        out.message = "lanes store different values to one place";
        return out;
    }
    out.other = r.other;
    out.other->cta = cta_id(r.other_cta, grid);
    const uint32_t line = program.operations[*r.other.operation].place.line;
    out.message = std::string(hazard.does) + "line " + std::to_string(line) +
                  std::string(hazard.did) + std::string(why.says);
    return out;
}

}  // namespace

std::array<uint32_t, 3> cta_id(uint64_t index, const warp::Dim3& grid) {
    return {static_cast<uint32_t>(index % grid.x), static_cast<uint32_t>(index / grid.x % grid.y),
            static_cast<uint32_t>(index / grid.x / grid.y)};
}

Severity severity_of(Unordered why) { return row(why).severity; }

bool Races::again(Hazard hazard, Unordered why, uint32_t here, uint32_t other) {
    const auto at = races_.find({here, other, hazard, why});
    if (at == races_.end()) return false;
    ++at->second.count;
    return true;
}

void Races::add(const Race& race) {
    const Key key{*race.here.operation, *race.other.operation, race.hazard, race.why};
    const auto [at, is_new] = races_.try_emplace(key, race);
    if (!is_new) at->second.count += race.count;
}

void Races::take(const Races& later) {
    for (const auto& [key, race] : later.races_) add(race);
}

std::vector<Finding> Races::findings(const isa::Program& program, ptx::Space space,
                                     const warp::Dim3& grid) const {
    // Of two instructions that race, each may have come first: one finding, of the load.
    using Pair = std::tuple<uint32_t, uint32_t, bool>;
    std::map<Pair, Race> pairs;
    for (const auto& [key, race] : races_) {
        const bool is_load = race.hazard == Hazard::read_after_write;
        const uint32_t here = *race.here.operation;
        const uint32_t other = *race.other.operation;
        const Pair pair{std::min(here, other), std::max(here, other),
                        race.hazard == Hazard::one_store};
        const auto [at, is_new] = pairs.try_emplace(pair, race);
        if (is_new) continue;
        Race& kept = at->second;
        const uint64_t count = kept.count + race.count;
        const bool is_worse = severity_of(race.why) < severity_of(kept.why);
        const bool is_as_bad = severity_of(race.why) == severity_of(kept.why);
        if (is_worse || (is_as_bad && is_load && kept.hazard != Hazard::read_after_write))
            kept = race;
        kept.count = count;
    }
    std::vector<Finding> out;
    for (const auto& [pair, race] : pairs) out.push_back(finding(race, program, space, grid));
    return out;
}

}  // namespace lockwarp::check
