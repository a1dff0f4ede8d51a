// SPDX-License-Identifier: Apache-2.0
// The table of commands, and those that run.
#include "debug/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <functional>

#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/files.hpp"
#include "launch/nearest.hpp"
#include "launch/source_text.hpp"

namespace lockwarp::debug {

namespace {

using C = Console;

// Where a name is an abbreviation of several, the first is meant.
constexpr std::array rows{
    CommandRow{"break", "b",
               "break LINE | FILE:LINE | OPCODE | FUNCTION [if CONDITION] | check [NAME,...]",
               "hold before a line, an instruction or a function, or where a check finds something",
               &C::break_},
    CommandRow{"tbreak", "tb", "tbreak WHERE [if CONDITION]", "the same, once", &C::tbreak},
    CommandRow{"watch", "", "watch EXPRESSION [if CONDITION]",
               "hold when a register of this warp, or memory, has another value", &C::watch},
    CommandRow{"dprintf", "", "dprintf WHERE, TEXT",
               "says the text there, with {EXPRESSION} as its value, and goes on", &C::dprintf},
    CommandRow{"catch", "", "catch nan | check [NAME,...]",
               "hold where an instruction makes a NaN of none, or a check finds something",
               &C::catch_},
    CommandRow{"condition", "", "condition NUMBER [CONDITION]", "a breakpoint's condition",
               &C::condition},
    CommandRow{"delete", "d", "delete [NUMBER...]", "take breakpoints away", &C::delete_},
    CommandRow{"disable", "", "disable [NUMBER...]", "let breakpoints rest", &C::disable},
    CommandRow{"enable", "", "enable [NUMBER...]", "and use them again", &C::enable},
    CommandRow{"ignore", "", "ignore NUMBER COUNT", "hits that a breakpoint lets pass", &C::ignore},
    CommandRow{
        "commands", "", "commands [NUMBER]",
        "what follows a hit: the lines after this one, up to \"end\"; \"silent\" first: the hit "
        "is not shown",
        &C::commands},
    CommandRow{"run", "r", "run", "from the beginning", &C::run},
    CommandRow{"start", "", "start", "from the beginning, held at the first instruction",
               &C::start},
    CommandRow{"continue", "c", "continue [N]", "on to the N-th next hit", &C::go_on},
    CommandRow{"step", "s", "step [N]", "to another line, into calls", &C::step},
    CommandRow{"next", "n", "next [N]", "to another line of this function", &C::next},
    CommandRow{"stepi", "si", "stepi [N]", "one instruction", &C::step_instruction},
    CommandRow{"nexti", "ni", "nexti [N]", "one instruction of this function",
               &C::next_instruction},
    CommandRow{"finish", "fin", "finish", "until this function returns", &C::finish},
    CommandRow{"until", "u", "until [WHERE]", "to a place in this warp; without one out of a loop",
               &C::until},
    CommandRow{"advance", "", "advance WHERE", "to a place in this warp", &C::until},
    CommandRow{"reverse-continue", "rc", "reverse-continue", "back to the hit before this",
               &C::reverse_continue},
    CommandRow{"reverse-step", "rs", "reverse-step [N]", "back to the line before, into calls",
               &C::reverse_step},
    CommandRow{"reverse-next", "rn", "reverse-next [N]", "back to this function's line before",
               &C::reverse_next},
    CommandRow{"reverse-stepi", "rsi", "reverse-stepi [N]", "one instruction back",
               &C::reverse_step_instruction},
    CommandRow{"reverse-nexti", "rni", "reverse-nexti [N]", "one of this function's back",
               &C::reverse_next_instruction},
    CommandRow{"reverse-finish", "", "reverse-finish", "back to this function's call",
               &C::reverse_finish},
    CommandRow{"goto", "", "goto CTA WARP STEP", "to a place of the run, forwards or back",
               &C::go_to},
    CommandRow{"kill", "k", "kill", "end the run", &C::kill},
    CommandRow{"warp", "w", "warp [N]", "look at another warp of the CTA", &C::warp},
    CommandRow{"cta", "", "cta [X,Y,Z | INDEX]", "look at another CTA", &C::cta},
    CommandRow{"lane", "", "lane [N]", "look at another lane", &C::lane},
    CommandRow{"thread", "", "thread [N]", "the same as warp", &C::warp},
    CommandRow{"frame", "", "frame [N]", "look at the N-th call outwards", &C::frame},
    CommandRow{"up", "", "up [N]", "look at the caller", &C::up},
    CommandRow{"down", "", "down [N]", "look at what it called", &C::down},
    CommandRow{"info", "i",
               "info warps | registers [NAME] | locals | variables | break | buffers | findings | "
               "display | line",
               "what there is", &C::info},
    CommandRow{"print", "p", "print[/FORMAT] EXPRESSION",
               "a register in 32 lanes, an expression, an element, a buffer as a matrix",
               &C::print},
    CommandRow{"display", "", "display[/FORMAT] EXPRESSION", "print it at every stop", &C::display},
    CommandRow{"undisplay", "", "undisplay [NUMBER...]", "and no more", &C::undisplay},
    CommandRow{"x", "", "x/COUNT FORMAT SIZE ADDRESS", "memory at an address, as gdb's x",
               &C::examine},
    CommandRow{"shared", "", "shared ADDRESS ROWSxCOLUMNS TYPE [swizzle S] [stride BYTES]",
               "shared memory as a matrix, its swizzle undone", &C::shared},
    CommandRow{
        "frag", "f", "frag A | B | C | D [LINE]",
        "a fragment as the matrix that it is, and that it should be; * changed since the last "
        "stop",
        &C::frag},
    CommandRow{"explain", "", "explain D[ROW][COLUMN]", "the sum of one element, step by step",
               &C::explain},
    CommandRow{"where", "", "where [EXPRESSION]",
               "the instructions that a register or memory has its value from", &C::origin},
    CommandRow{"origin", "", "origin EXPRESSION", "the same", &C::origin},
    CommandRow{"shape", "", "shape BUFFER TYPE [ROWSxCOLUMNS]", "how a buffer is to be read",
               &C::shape},
    CommandRow{"backtrace", "bt", "backtrace", "the calls that the warp is in", &C::backtrace},
    CommandRow{"list", "l", "list [LINE]", "lines of the PTX", &C::list},
    CommandRow{"disassemble", "", "disassemble", "instructions around this one", &C::disassemble},
    CommandRow{"source", "", "source FILE", "the commands of a file", &C::source},
    CommandRow{"echo", "", "echo TEXT", "prints it", &C::echo},
    CommandRow{"help", "h", "help [COMMAND]", "the commands", &C::help},
    CommandRow{"quit", "q", "quit", "end the session", &C::quit},
};

const CommandRow* row_named(std::string_view name) {
    for (const CommandRow& row : rows)
        if (row.name == name || (!row.alias.empty() && row.alias == name)) return &row;
    for (const CommandRow& row : rows)
        if (row.name.starts_with(name)) return &row;
    return nullptr;
}

}  // namespace

std::span<const CommandRow> command_rows() { return rows; }

void Console::say(const std::string& text) { out_ += text + "\n"; }

void Console::wrong(const std::string& text) {
    out_ += text + "\n";
    failed_ = true;
}

Console::Console(Session& session, Reload reload) : s_(session), reload_(std::move(reload)) {
    // While the run goes on, whoever called a command waits for it.
    if (!s_.on_log) s_.on_log = [this](const std::string& text) { say(printable(text)); };
}

std::string Console::execute(std::string_view line) {
    constexpr size_t max_line = 4096;
    constexpr size_t max_lines = 10'000;  // of commands that hits bring with them
    out_.clear();
    failed_ = interrupted_ = false;
    std::string_view rest = trimmed(line);
    if (collecting_) {
        if (rest == "end") {
            collecting_.reset();
            return {};
        }
        const auto b = std::ranges::find(s_.breakpoints(), *collecting_, &Breakpoint::id);
        const bool says_something = !rest.empty() && !rest.starts_with('#');
        if (b != s_.breakpoints().end() && says_something) b->commands.emplace_back(rest);
        return {};
    }
    if (rest.empty()) rest = last_;
    if (rest.empty() || rest.starts_with('#')) return {};
    if (rest.size() > max_line) {
        wrong(fmt::format("A command has at most {} characters.", max_line));
        return out_;
    }
    const std::string whole(rest);
    queue_.clear();
    perform(whole);
    for (size_t n = 0; !queue_.empty() && !done_ && !failed_ && !interrupted_; ++n) {
        if (n == max_lines) {
            wrong(fmt::format("The breakpoints' commands went on for {} lines.", max_lines));
            break;
        }
        const std::string next = std::move(queue_.front());
        queue_.pop_front();
        perform(next);
    }
    last_ = whole;
    return out_;
}

void Console::perform(std::string_view line) {
    std::string_view rest = line;
    size_t end = 0;
    while (end < rest.size() && rest[end] != ' ' && rest[end] != '/' && rest[end] != '\t') ++end;
    const std::string_view name = rest.substr(0, end);
    const CommandRow* const row = row_named(name);
    if (row == nullptr) {
        std::vector<std::string_view> names;
        for (const CommandRow& one : rows) names.push_back(one.name);
        const std::string_view near = launch::nearest(name, names);
        return wrong(fmt::format("There is no command \"{}\"{} Try \"help\".", printable(name),
                                 near.empty() ? "." : fmt::format("; did you mean \"{}\"?", near)));
    }
    (this->*row->run)(trimmed(rest.substr(end)));
    if (s_.has_begun() && !s_.is_over()) trapped_ = s_.trap().has_value();
}

std::vector<std::string> Console::complete(std::string_view line) const {
    std::vector<std::string> out;
    const size_t blank = line.find_last_of(" ([");
    const std::string_view word = blank == std::string_view::npos ? line : line.substr(blank + 1);
    if (blank == std::string_view::npos) {
        for (const CommandRow& row : rows)
            if (row.name.starts_with(word)) out.emplace_back(row.name);
        return out;
    }
    constexpr size_t max_words = 200;
    const auto add = [&](std::string_view name) {
        if (name.starts_with(word) && out.size() < max_words) out.emplace_back(name);
    };
    const CommandRow* const row = row_named(line.substr(0, line.find(' ')));
    if (row != nullptr && (row->name == "break" || row->name == "catch"))
        for (const check::CheckRow& c : check::checks()) add(c.name);
    if (row != nullptr && row->name == "info")
        for (const std::string_view n : {"warps", "registers", "locals", "variables", "break",
                                         "buffers", "findings", "display", "line"})
            add(n);
    for (const warp::Buffer& b : s_.launch().buffers) add(b.name);
    if (word.starts_with('%'))
        for (const isa::Register& r : s_.listing().program().registers) add(r.name);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool Console::needs_run() {
    if (s_.has_begun()) return true;
    wrong("Nothing runs yet. Try \"run\" or \"start\".");
    return false;
}

bool Console::needs_warp() {
    if (!needs_run()) return false;
    if (s_.is_over()) {
        wrong("The run is over. Try \"reverse-continue\", \"reverse-stepi\" or \"run\".");
        return false;
    }
    if (s_.view().warp != nullptr) return true;
    wrong("The CTA that was looked at has ended. Try \"info warps\".");
    return false;
}

std::string Console::warp_name(uint64_t cta, uint32_t warp) const {
    const warp::Dim3& g = s_.launch().grid;
    return fmt::format("CTA ({},{},{}) warp {}", cta % g.x, cta / g.x % g.y, cta / g.x / g.y, warp);
}

// Where the focus stands: whole with its CTA and step, else only the lines.
std::string Console::place_text(bool whole) const {
    const View v = s_.view();
    if (v.warp == nullptr) return {};
    std::string out;
    const bool ended = v.warp->live == 0;
    if (whole) {
        const uint32_t lanes =
            v.warp->paths.empty() ? 0 : v.warp->paths[s_.path_of(*v.cta, *v.warp)].lanes;
        out += fmt::format("{}, step {}, {}, looking at lane {}: {}\n",
                           warp_name(v.cta->index, v.warp->index), v.warp->step,
                           ended ? std::string("exited") : lanes_text(lanes), v.lane,
                           s_.listing().function_of(v.pc).name);
    }
    if (ended) return out;
    const std::vector<ptx::SourcePlace> places = s_.listing().places_of(v.pc);
    const std::string source = launch::source_text(places);
    if (whole || source != shown_source_) out += source;
    out += fmt::format("{}:{}  {}\n", s_.listing().file(), s_.listing().line_of(v.pc),
                       s_.listing().text_of(v.pc));
    return out;
}

void Console::show(const Stop& stop, bool whole) {
    // A hit's commands take the place of what was still to come.
    queue_.clear();
    size_t shown = 0, quiet_ones = 0;
    for (const Hit& h : stop.hits) {
        const auto b = std::ranges::find(s_.breakpoints(), h.id, &Breakpoint::id);
        if (h.id == 0 || b == s_.breakpoints().end()) continue;
        const bool quiet = !b->commands.empty() && b->commands[0] == "silent";
        queue_.insert(queue_.end(), b->commands.begin() + (quiet ? 1 : 0), b->commands.end());
        ++(quiet ? quiet_ones : shown);
    }
    if (quiet_ones != 0 && shown == 0) return keep_stop();
    for (const Hit& h : stop.hits) {
        if (h.id == 0) continue;
        if (h.operation) {
            say(fmt::format("Watchpoint {}, {}", h.id, h.text));
            say(fmt::format("by {}:{}  {}", s_.listing().file(), s_.listing().line_of(*h.operation),
                            s_.listing().text_of(*h.operation)));
        } else {
            say(fmt::format("Breakpoint {}{}", h.id, h.text.empty() ? "" : ": " + h.text));
        }
    }
    switch (stop.reason) {
        case Reason::began:
        case Reason::stepped:
        case Reason::breakpoint:
            break;
        case Reason::trap: {
            trapped_ = true;
            const warp::Trap& t = *s_.trap();
            say(fmt::format(
                "TRAP: {}{}{}", warp::trap_name(t.kind),
                t.has_address ? fmt::format(", {} address {:#x}", ptx::name_of(t.space), t.address)
                              : std::string(),
                t.has_lane ? fmt::format(", lane {}", t.lane) : std::string()));
            if (!t.detail.empty()) say("  " + printable(t.detail));
            break;
        }
        case Reason::ended: {
            trapped_ = false;
            for (const warp::Printed& p : s_.printed()) out_ += printable(p.text, true);
            if (!out_.empty() && out_.back() != '\n') out_ += '\n';
            say("The run is over.");
            return;
        }
        case Reason::interrupted:
            interrupted_ = true;
            say("Interrupted.");
            break;
        case Reason::exited:
            say("The warp has exited.");
            break;
        case Reason::no_history:
            say("This is the beginning of what can be gone back to.");
            break;
        case Reason::refused:
            wrong(stop.text);
            return;
    }
    const bool all = whole || stop.reason != Reason::stepped || !s_.at_here();
    out_ += place_text(all);
    const View v = s_.view();
    if (v.warp == nullptr) return;
    keep_stop();
    shown_source_ = launch::source_text(s_.listing().places_of(v.pc));
    listed_ = 0;
    show_displays();
}

// Files that changed since they were read.
void Console::read_anew() {
    if (!reload_ || !s_.files_changed()) return;
    launch::Result<std::vector<launch::Loaded>> loaded = reload_();
    launch::Result<void> taken;
    if (loaded)
        taken = s_.replace(std::move(*loaded));
    else
        taken = tl::unexpected(loaded.error());
    if (!taken) {
        const launch::Error& e = taken.error();
        return say(fmt::format(
            "The files have changed, and cannot be read: {}. The run is that of before.",
            e.sentence.empty() && !e.diagnostics.empty()
                ? fmt::format("line {}: {}", e.diagnostics[0].place.line, e.diagnostics[0].message)
                : e.sentence));
    }
    say("The files have changed and are read anew.");
    last_stop_.reset();
    stop_before_.reset();
    std::vector<unsigned> lost;
    for (Breakpoint& b : s_.breakpoints()) {
        if (b.kind == BreakKind::finding) {
            const std::string names(trimmed(std::string_view(b.what).substr(5)));
            if (const auto found = s_.findings(names.empty() ? "all" : names)) b.findings = *found;
        }
        if (b.kind != BreakKind::code) continue;
        Breakpoint now;
        std::string text;
        if (find_operations(b.what, now, text))
            b.operations = std::move(now.operations);
        else
            lost.push_back(b.id);
    }
    for (const unsigned id : lost) {
        say(fmt::format("Breakpoint {} has no place any more.", id));
        (void)s_.remove(id);
    }
}

void Console::run(std::string_view) {
    read_anew();
    show(s_.run(), true);
}
void Console::start(std::string_view) {
    read_anew();
    show(s_.start(), true);
}

void Console::kill(std::string_view) {
    if (!needs_run()) return;
    (void)s_.start();
    say("The run is at its beginning again.");
}

void Console::quit(std::string_view) { done_ = true; }

void Console::go_on(std::string_view arguments) {
    const std::optional<uint64_t> count = arguments.empty() ? 1 : number_of(arguments);
    if (!count || *count == 0) return wrong("continue takes how many hits to go on to.");
    if (!s_.has_begun()) return show(s_.run(), true);
    Stop stop = s_.resume();
    for (uint64_t i = 1; i < *count && stop.reason == Reason::breakpoint; ++i) stop = s_.resume();
    show(stop, true);
}

void Console::repeat_step(std::string_view count, const std::function<Stop()>& once) {
    const std::optional<uint64_t> n = count.empty() ? 1 : number_of(count);
    if (!n || *n == 0) return wrong("How many times? A number from 1 on.");
    if (!needs_run()) return;
    const uint64_t depth = s_.is_over() ? 0 : s_.listing().function_of(s_.view().pc).first;
    const bool was_whole = s_.is_over();
    Stop stop = once();
    for (uint64_t i = 1; i < *n && stop.reason == Reason::stepped; ++i) stop = once();
    const bool whole =
        was_whole || s_.is_over() || s_.listing().function_of(s_.view().pc).first != depth;
    show(stop, whole);
}

void Console::step(std::string_view a) {
    repeat_step(a, [&] { return s_.step(Step::line); });
}
void Console::next(std::string_view a) {
    repeat_step(a, [&] { return s_.step(Step::over_line); });
}
void Console::step_instruction(std::string_view a) {
    repeat_step(a, [&] { return s_.step(Step::instruction); });
}
void Console::next_instruction(std::string_view a) {
    repeat_step(a, [&] { return s_.step(Step::over_instruction); });
}
void Console::reverse_step(std::string_view a) {
    repeat_step(a, [&] { return s_.back(Step::line); });
}
void Console::reverse_next(std::string_view a) {
    repeat_step(a, [&] { return s_.back(Step::over_line); });
}
void Console::reverse_step_instruction(std::string_view a) {
    repeat_step(a, [&] { return s_.back(Step::instruction); });
}
void Console::reverse_next_instruction(std::string_view a) {
    repeat_step(a, [&] { return s_.back(Step::over_instruction); });
}

void Console::finish(std::string_view) {
    if (!needs_warp()) return;
    const View v = s_.view();
    if (depth_of(*v.warp, s_.path_of(*v.cta, *v.warp)) == 0)
        return wrong("This is the kernel itself: it was not called. Try \"continue\".");
    show(s_.step(Step::out), true);
}

void Console::reverse_finish(std::string_view) {
    if (!needs_warp()) return;
    const View v = s_.view();
    if (depth_of(*v.warp, s_.path_of(*v.cta, *v.warp)) == 0)
        return wrong("This is the kernel itself: it was not called.");
    show(s_.back(Step::out), true);
}

void Console::reverse_continue(std::string_view) {
    if (needs_run()) show(s_.resume_back(), true);
}

void Console::until(std::string_view arguments) {
    if (!needs_warp()) return;
    if (arguments.empty()) return show(s_.step(Step::past), false);
    Breakpoint b;
    std::string text;
    if (!find_operations(arguments, b, text)) return wrong(text);
    b.internal = b.temporary = true;
    b.only_warp = std::pair(s_.focus().cta, s_.focus().warp);
    s_.add(std::move(b));
    const Stop stop = s_.resume();
    while (s_.remove(0)) {
    }
    show(stop, true);
}

void Console::go_to(std::string_view arguments) {
    const std::vector<std::string_view> words = split(arguments);
    std::array<uint64_t, 3> n{};
    for (size_t i = 0; i < words.size() && i < n.size(); ++i) {
        const std::optional<uint64_t> one = number_of(words[i]);
        if (!one) return wrong("goto takes three numbers: the CTA's index, the warp and the step.");
        n[i] = *one;
    }
    if (words.size() != n.size())
        return wrong("goto takes three numbers: the CTA's index, the warp and the step.");
    show(s_.go_to({s_.launch_index(), n[0], static_cast<uint32_t>(n[1]), n[2], 0}), true);
}

void Console::source(std::string_view path) {
    constexpr uint64_t max_bytes = uint64_t{1} << 20;
    constexpr unsigned max_depth = 8;
    launch::Result<std::string> text = launch::read_text(std::string(path), max_bytes);
    if (!text) return wrong(text.error().sentence);
    if (depth_ == max_depth) return wrong("Files of commands name one another too often.");
    ++depth_;
    std::string all;
    bool good = true;
    for (size_t at = 0; at < text->size() && good && !done_;) {
        const size_t end = std::min(text->find('\n', at), text->size());
        const std::string_view line = trimmed(std::string_view(*text).substr(at, end - at));
        at = end + 1;
        if (line.empty()) continue;
        all += execute(line);
        good = !failed_;
        if (interrupted_) break;
    }
    --depth_;
    out_ = std::move(all);
    failed_ = !good;
}

void Console::echo(std::string_view text) { say(printable(text)); }

void Console::help(std::string_view name) {
    if (!name.empty()) {
        const CommandRow* const row = row_named(name);
        if (row == nullptr) return wrong("There is no such command.");
        return say(fmt::format("{}\n  {}{}", row->usage, row->about,
                               row->alias.empty() ? "" : fmt::format("\n  short: {}", row->alias)));
    }
    for (const CommandRow& row : rows)
        say(fmt::format("{:<18} {:<4} {}", row.name, row.alias, row.about));
}

void Console::warp(std::string_view arguments) {
    if (!needs_run()) return;
    if (!arguments.empty()) {
        Focus f = s_.focus();
        const std::optional<uint64_t> n = number_of(arguments);
        if (!n || *n > UINT32_MAX) return wrong("warp takes a number.");
        f.warp = static_cast<uint32_t>(*n);
        if (!s_.look_at(f)) return wrong(fmt::format("The CTA has no warp {} under way.", *n));
    }
    if (needs_warp()) out_ += place_text(true);
}

void Console::cta(std::string_view arguments) {
    if (!needs_run()) return;
    if (!arguments.empty()) {
        const std::optional<uint64_t> index = cta_index(arguments, s_.launch().grid);
        if (!index) return wrong("cta takes X,Y,Z within the grid, or the CTA's index.");
        Focus f{*index, 0, s_.focus().lane};
        if (!s_.look_at(f))
            return wrong("That CTA is not under way: it has ended, or comes later.");
    }
    if (needs_warp()) out_ += place_text(true);
}

void Console::look_at_level(uint64_t level) {
    const View v = s_.view_of({s_.focus().cta, s_.focus().warp, s_.focus().lane, 0});
    uint64_t depth = 0;
    for (uint32_t f = v.frame; f != warp::no_index; f = v.warp->calls.frames[f].caller) ++depth;
    if (level > depth)
        return wrong(depth == 0 ? "The kernel has called nothing."
                                : fmt::format("The frames are 0 to {}.", depth));
    Focus f = s_.focus();
    f.level = static_cast<uint32_t>(level);
    (void)s_.look_at(f);
    say(fmt::format("#{}", level));
    out_ += place_text(true);
}

void Console::frame(std::string_view arguments) {
    if (!needs_warp()) return;
    const std::optional<uint64_t> n = arguments.empty() ? s_.focus().level : number_of(arguments);
    if (!n) return wrong("frame takes a number.");
    look_at_level(*n);
}

void Console::up(std::string_view arguments) {
    if (!needs_warp()) return;
    const std::optional<uint64_t> n = arguments.empty() ? 1 : number_of(arguments);
    if (!n || *n > 1'000'000) return wrong("up takes a number.");
    look_at_level(s_.focus().level + *n);
}

void Console::down(std::string_view arguments) {
    if (!needs_warp()) return;
    const std::optional<uint64_t> n = arguments.empty() ? 1 : number_of(arguments);
    if (!n || *n > s_.focus().level) return wrong("This is the innermost.");
    look_at_level(s_.focus().level - *n);
}

void Console::lane(std::string_view arguments) {
    if (!needs_warp()) return;
    if (!arguments.empty()) {
        Focus f = s_.focus();
        const std::optional<uint64_t> n = number_of(arguments);
        if (!n || *n > 31) return wrong("lane takes 0 to 31.");
        f.lane = static_cast<uint32_t>(*n);
        (void)s_.look_at(f);
    }
    const View v = s_.view();
    say(fmt::format("lane {}: thread ({},{},{})", v.lane, v.special("tid.x").value_or(0),
                    v.special("tid.y").value_or(0), v.special("tid.z").value_or(0)));
}

}  // namespace lockwarp::debug
