// SPDX-License-Identifier: Apache-2.0
// The debugger's commands, as gdb's users know them: a line in, text out.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debug/fragment.hpp"
#include "debug/session.hpp"

namespace lockwarp::debug {

class Console;

// A command as a row: --help, help, completion and the documents read them.
struct CommandRow {
    std::string_view name;
    std::string_view alias;  // a short one; may be empty
    std::string_view usage;
    std::string_view about;
    void (Console::*run)(std::string_view arguments);
};

std::span<const CommandRow> command_rows();

class Console {
  public:
    // reload: gives the launches anew, for files that changed; may be empty.
    using Reload = std::function<launch::Result<std::vector<launch::Loaded>>()>;
    explicit Console(Session& session, Reload reload = {});

    // What the command prints; whole lines, none or many. Never fails: what is wrong is text.
    std::string execute(std::string_view line);
    // "quit" was given.
    bool is_done() const { return done_; }
    // The last command was wrong: a script ends there.
    bool failed() const { return failed_; }
    // Whether the kernel's run ended, or stands, in a trap.
    bool trapped() const { return trapped_; }
    // The last command was held by the user.
    bool interrupted() const { return interrupted_; }
    // Lines follow that belong to a breakpoint, up to "end".
    bool collects() const { return collecting_.has_value(); }
    // What the last word of a line may become.
    std::vector<std::string> complete(std::string_view line) const;

    // The commands, each in the file of its kind.
    void run(std::string_view), start(std::string_view), go_on(std::string_view),
        step(std::string_view), next(std::string_view), step_instruction(std::string_view),
        next_instruction(std::string_view), finish(std::string_view), until(std::string_view),
        reverse_step(std::string_view), reverse_next(std::string_view),
        reverse_step_instruction(std::string_view), reverse_next_instruction(std::string_view),
        reverse_finish(std::string_view), reverse_continue(std::string_view),
        kill(std::string_view), quit(std::string_view), go_to(std::string_view);
    void break_(std::string_view), tbreak(std::string_view), watch(std::string_view),
        catch_(std::string_view), delete_(std::string_view), enable(std::string_view),
        disable(std::string_view), ignore(std::string_view), condition(std::string_view),
        commands(std::string_view), dprintf(std::string_view);
    void warp(std::string_view), cta(std::string_view), lane(std::string_view),
        frame(std::string_view), up(std::string_view), down(std::string_view);
    void print(std::string_view), examine(std::string_view), shared(std::string_view),
        frag(std::string_view), explain(std::string_view), shape(std::string_view),
        info(std::string_view), backtrace(std::string_view), list(std::string_view),
        disassemble(std::string_view), origin(std::string_view), help(std::string_view),
        display(std::string_view), undisplay(std::string_view), echo(std::string_view),
        source(std::string_view);

  private:
    void perform(std::string_view line);
    void read_anew();
    void show_displays();
    bool list_source(std::string_view place);
    void look_at_level(uint64_t level);
    void say(const std::string& text);  // a line
    void wrong(const std::string& text);
    bool needs_run();
    bool needs_warp();
    void show(const Stop& stop, bool whole_place);
    void repeat_step(std::string_view count, const std::function<Stop()>& once);
    std::string place_text(bool whole) const;
    std::string warp_name(uint64_t cta, uint32_t warp) const;
    void add_code(std::string_view arguments, bool temporary);
    bool find_operations(std::string_view where, Breakpoint& b, std::string& text);
    void add_findings(std::string_view names);
    void each_breakpoint(std::string_view numbers, const std::function<void(Breakpoint&)>& change);

    void info_warps(), info_registers(std::string_view), info_locals(), info_breakpoints(),
        info_buffers(), info_line(), info_findings(std::string_view), info_display(),
        info_variables(), list_variables(bool of_module);
    void print_lanes(const std::string& name, const std::vector<Value>& values,
                     const std::vector<bool>& there, char format);
    void print_matrix(const View::Place& place, const std::string& name);
    void keep_stop();
    std::vector<uint64_t> at_stop_before(const View& view, const FragmentOperand& o) const;

    Session& s_;
    std::string out_;
    unsigned depth_ = 0;  // of files of commands
    bool done_ = false;
    bool failed_ = false;
    bool trapped_ = false;
    bool interrupted_ = false;
    Reload reload_;
    std::optional<unsigned> collecting_;  // the breakpoint whose commands are being given
    std::deque<std::string> queue_;       // commands of the breakpoints that were hit
    struct Display {
        unsigned id;
        std::string text;  // what print is given
    };
    std::vector<Display> displays_;
    unsigned next_display_ = 1;
    std::string last_;  // an empty line repeats it
    uint32_t listed_ = 0;
    std::string shown_source_;
    // What registers and shared memory held at the last stop and at the one before it, of the warp
    // that was looked at and those of its warpgroup.
    struct Kept {
        size_t launch = 0;
        warp::Cta cta;
        std::vector<std::vector<uint8_t>> registers;
    };
    std::optional<Kept> last_stop_, stop_before_;
};

}  // namespace lockwarp::debug
