// SPDX-License-Identifier: Apache-2.0
// A debugging session: a launch file's run, held where it is wished, forwards and backwards. The
// command line and the Debug Adapter Protocol are faces of it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debug/breakpoints.hpp"
#include "debug/expected.hpp"
#include "debug/listing.hpp"
#include "debug/machine.hpp"
#include "launch/state.hpp"

namespace lockwarp::debug {

enum class Reason : uint8_t {
    began,        // at the run's first instruction
    stepped,      // what was asked for is done
    breakpoint,   // Stop::hits
    trap,         // Session::trap()
    ended,        // all launches
    interrupted,  // by the user
    exited,       // the warp that was followed has
    no_history,   // backwards: this is the beginning
    refused,      // a launch cannot begin: Stop::text
};

struct Stop {
    Reason reason = Reason::began;
    std::vector<Hit> hits;
    std::string text;
};

enum class Step : uint8_t {
    instruction,       // into calls
    line,              // into calls
    over_instruction,  // of this function
    over_line,
    out,   // of this function
    past,  // to an instruction behind this one: out of a loop
};

// What the user looks at.
struct Focus {
    uint64_t cta = 0;
    uint32_t warp = 0;
    uint32_t lane = 0;
    uint32_t level = 0;  // of its calls, from the innermost outwards
};

class Session {
  public:
    // Owns the launches; nothing runs yet. wish: set from anywhere to hold the run.
    // order: of warps and CTAs, where it is to be another than the usual one.
    static launch::Result<std::unique_ptr<Session>> make(
        std::vector<launch::Loaded> launches, std::atomic<bool>* wish,
        std::optional<uint64_t> order = std::nullopt);

    // Whether a file has changed since it was read.
    bool files_changed() const;
    // The launches anew; what is wrong with them leaves the session as it is. Breakpoints stay, and
    // their operations are those of before.
    launch::Result<void> replace(std::vector<launch::Loaded> launches);

    // The run from its beginning: to its first instruction, or on.
    Stop start();
    Stop run();
    // From where it stands.
    Stop resume();
    Stop step(Step how);
    Stop back(Step how);
    Stop resume_back();
    // To a place of the run, if it comes there.
    Stop go_to(const Time& time);

    bool has_begun() const { return machine_ != nullptr; }
    bool is_over() const { return over_; }
    // Where the run stands; none: nothing runs.
    std::optional<Time> now() const;
    const std::optional<warp::Trap>& trap() const { return machine_->trap(); }
    // What the kernels printed, of launches that have ended.
    std::vector<warp::Printed> printed() const;

    // What is looked at. The view's warp is nullptr where it has not begun, or has ended.
    View view() const;
    View view_of(const Focus& focus) const;
    const Focus& focus() const { return focus_; }
    // false: there is no such warp, or its CTA is not under way.
    bool look_at(const Focus& focus);
    // Whether the focus is on the path that is about to run, and which path the view is of.
    bool at_here() const;
    size_t path_of(const warp::Cta& cta, const warp::Warp& warp) const;
    const std::map<uint64_t, const warp::Cta*>& ctas() const { return machine_->ctas(); }

    size_t launch_index() const { return launch_; }
    const std::vector<std::unique_ptr<Listing>>& listings() const { return listings_; }
    const Listing& listing() const { return *listings_[launch_]; }
    const warp::Launch& launch() const { return *config_; }
    Shapes& shapes() { return shapes_; }
    const launch::LaunchFile& file() const { return loaded_.front().in.launch; }
    const std::vector<launch::Loaded>& loaded() const { return loaded_; }
    // Where it is known of which product the result is: what operands should be. By default it is
    // not.
    void expect(SubjectOf subject) { subject_ = std::move(subject); }
    // nullptr: nothing was given to know it from.
    Expected* expected();
    // What these checks find in a run to the end; it is made once for the same names.
    launch::Result<std::shared_ptr<const std::vector<KnownFinding>>> findings(
        std::string_view names);

    // Breakpoints. The session gives their numbers.
    std::vector<Breakpoint>& breakpoints() { return breakpoints_; }
    Breakpoint& add(Breakpoint b);
    bool remove(unsigned id);

    // What log points say; called on the run's thread, while resume() or the like lasts.
    std::function<void(const std::string& text)> on_log;

    // Another run of the same launch up to where this one stands, with listeners from its
    // beginning; for questions about the past. false: it did not come there.
    // whole: from the launch's first CTA.
    bool repeat(Goal& goal, bool whole = false);

  private:
    struct Snapshot;
    struct Entry;
    class Forward;
    class Scan;
    class Reach;
    class Record;

    Session() = default;
    launch::Result<void> begin_launch(size_t index, const Snapshot* from);
    Stop forward(std::optional<Step> how);
    Stop stopped(Reason reason);
    std::optional<Stop> end_launch();
    void keep_snapshot(uint64_t cta, uint64_t instructions);
    const Snapshot* snapshot_before(const Time& t) const;
    bool return_to(const std::optional<Time>& t);
    void look_here(uint32_t lane);
    bool record(uint64_t window);
    std::optional<Stop> back_at_once(Step how);
    std::optional<size_t> entry_for(Step how, uint32_t pc, uint32_t depth) const;

    std::vector<launch::Loaded> loaded_;
    std::map<std::string, std::filesystem::file_time_type> read_at_;  // by file
    std::vector<std::shared_ptr<const exec::Ready>> ready_;
    std::vector<std::unique_ptr<Listing>> listings_;
    std::vector<Snapshot> snapshots_;  // in the order of the run
    launch::State state_;
    std::vector<uint8_t> variables_;
    std::optional<warp::Launch> config_;
    std::unique_ptr<Machine> machine_;
    std::atomic<bool>* wish_ = nullptr;
    std::optional<warp::TurnOrder> order_;
    SubjectOf subject_;
    std::unique_ptr<Expected> expected_;
    std::map<std::string, std::shared_ptr<const std::vector<KnownFinding>>, std::less<>> findings_;
    size_t launch_ = 0;
    bool over_ = false;
    std::optional<Time> now_;
    Focus focus_;
    Shapes shapes_;
    std::vector<Breakpoint> breakpoints_;
    unsigned next_id_ = 1;
    std::vector<std::vector<warp::Printed>> printed_;  // by launch
    // What the focus's warp ran last, before the run came to where it stands.
    std::vector<Entry> history_;
    bool history_whole_ = false;  // from its first instruction
    Focus history_of_;
    std::optional<Time> history_end_;  // where the run stands behind it; none: it is not known

  public:
    ~Session();
};

// Calls that a path is in.
uint32_t depth_of(const warp::Warp& warp, size_t path);

}  // namespace lockwarp::debug
