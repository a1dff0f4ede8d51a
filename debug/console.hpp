// SPDX-License-Identifier: Apache-2.0
// The debugger's commands, as gdb's users know them: a line in, text out.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    explicit Console(Session& session) : s_(session) {}

    // What the command prints; whole lines, none or many. Never fails: what is wrong is text.
    std::string execute(std::string_view line);
    // "quit" was given.
    bool is_done() const { return done_; }
    // The last command was wrong: a script ends there.
    bool failed() const { return failed_; }
    // Whether the kernel's run ended, or stands, in a trap.
    bool trapped() const { return trapped_; }
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
        disable(std::string_view), ignore(std::string_view), condition(std::string_view);
    void warp(std::string_view), cta(std::string_view), lane(std::string_view);
    void print(std::string_view), examine(std::string_view), shared(std::string_view),
        frag(std::string_view), explain(std::string_view), shape(std::string_view),
        info(std::string_view), backtrace(std::string_view), list(std::string_view),
        disassemble(std::string_view), origin(std::string_view), help(std::string_view),
        echo(std::string_view), source(std::string_view);

  private:
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
    void each_breakpoint(std::string_view numbers, const std::function<void(Breakpoint&)>& change);

    void info_warps(), info_registers(std::string_view), info_locals(), info_breakpoints(),
        info_buffers(), info_line();
    void print_lanes(const std::string& name, const std::vector<Value>& values,
                     const std::vector<bool>& there, char format);
    void print_matrix(const View::Place& place, const std::string& name);

    Session& s_;
    std::string out_;
    unsigned depth_ = 0;  // of files of commands
    bool done_ = false;
    bool failed_ = false;
    bool trapped_ = false;
    std::string last_;  // an empty line repeats it
    uint32_t listed_ = 0;
    std::string shown_source_;
    std::map<std::string, std::vector<uint64_t>> shown_fragments_;
};

}  // namespace lockwarp::debug
