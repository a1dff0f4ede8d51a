// SPDX-License-Identifier: Apache-2.0
// Where a run is to be held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debug/expression.hpp"
#include "debug/known_findings.hpp"
#include "debug/machine.hpp"

namespace lockwarp::debug {

enum class BreakKind : uint8_t { code, watch, nan, finding };

// Which hits of a breakpoint hold the run, by their count from 1: "5" from there on, "== 5", "> 5",
// ">= 5", "< 5", "<= 5", "% 5".
struct HitRule {
    enum class Kind : uint8_t { from, equal, above, below, at_most, every } kind = Kind::from;
    uint64_t n = 0;  // 0 of `from`: all
    bool holds(uint64_t hits) const;
};
// nullopt: not of that form.
std::optional<HitRule> hit_rule(std::string_view text);

struct Breakpoint {
    unsigned id = 0;
    BreakKind kind = BreakKind::code;
    std::string what;  // as the user gave it
    bool temporary = false;
    bool enabled = true;
    bool internal = false;  // of until and advance: no number shows
    uint64_t ignore = 0;    // hits that it lets pass
    uint64_t hits = 0;
    HitRule rule;
    Expression condition;
    // Not empty: it does not hold the run, it says this, with "{EXPRESSION}" as the value.
    std::string log;
    // code: by launch of the launch file, its operations; and of which warp, where it is of one.
    std::vector<std::vector<uint32_t>> operations;
    std::optional<std::pair<uint64_t, uint32_t>> only_warp;  // CTA, warp
    // watch: what is there in this CTA (of shared and local memory and registers), warp and lane.
    Expression::Target target;
    std::string reg;  // the register's name
    isa::Ref ref = isa::no_ref;
    size_t launch = 0;
    uint64_t cta = 0;
    uint32_t warp = 0, lane = 0;
    // finding: what the checks find.
    std::shared_ptr<const std::vector<KnownFinding>> findings;
    // Commands of the session that follow a hit.
    std::vector<std::string> commands;
};

// A hit, for a message and for what the user looks at.
struct Hit {
    unsigned id = 0;
    uint32_t lane = 0;  // the first for which the condition held
    std::string text;   // watch: what it was and is, nan: what was made, finding: it; else empty
    // watch, nan: the instruction that did it.
    std::optional<uint32_t> operation;
    uint64_t cta = 0;
    uint32_t warp = 0;
};

// What a log point says in the view.
std::string logged(const std::string& text, const View& view);

// What is looked at during one stretch of a run: the values of what is watched as they were.
class Sentinel {
  public:
    Sentinel(const std::vector<Breakpoint>& all, size_t launch, const View& view);
    // None of the breakpoints can be met.
    bool idle() const { return !any_; }
    // The run is at `here`; hits since the last call, and of the code here unless `passing`.
    void look(const Here& here, bool passing, std::vector<Hit>& hits);

  private:
    struct Watched {
        const Breakpoint* b;
        std::vector<uint8_t> bytes;
        bool known = false;
    };
    void look_at_watched(Watched& w, std::vector<Hit>& hits);
    void look_for_nan(const Breakpoint& b, std::vector<Hit>& hits);
    void look_at_code(const Here& here, std::vector<Hit>& hits);
    void look_at_findings(const Here& here, std::vector<Hit>& hits);
    const uint8_t* now(const Breakpoint& b, size_t& bytes) const;

    const std::vector<Breakpoint>& all_;
    View view_;
    bool any_ = false;
    std::vector<uint8_t> at_;  // by operation: whether code breakpoints are there
    std::vector<Watched> watched_;
    std::vector<std::pair<unsigned, const KnownFinding*>>
        findings_;  // with the breakpoint's number
    bool catches_nan_ = false;
    std::vector<uint8_t> had_nan_;  // operands of the last instruction, by lane
    // The last instruction that was about to run.
    const warp::Cta* last_cta_ = nullptr;
    const warp::Warp* last_warp_ = nullptr;
    uint32_t last_pc_ = 0, last_lanes_ = 0;
    uint64_t last_step_ = 0;

    void note(const Here& here);
};

}  // namespace lockwarp::debug
