// SPDX-License-Identifier: Apache-2.0
// The commands about breakpoints.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "debug/console.hpp"
#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"

namespace lockwarp::debug {

namespace {

// "41 if lane == 3" as "41" and "lane == 3".
std::pair<std::string_view, std::string_view> with_condition(std::string_view text) {
    if (text.starts_with("if ")) return {{}, trimmed(text.substr(3))};
    const size_t at = text.find(" if ");
    if (at == std::string_view::npos) return {trimmed(text), {}};
    return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 4))};
}

}  // namespace

// The operations that `where` means in each launch; false: `text` says why there is none.
bool Console::find_operations(std::string_view where, Breakpoint& b, std::string& text) {
    b.what = std::string(where);
    const size_t colon = where.rfind(':');
    const std::string_view last = colon == std::string_view::npos ? where : where.substr(colon + 1);
    const std::optional<uint64_t> line = number_of(last);
    if (line && (*line == 0 || *line > UINT32_MAX)) {
        text = "Lines count from 1.";
        return false;
    }
    bool found = false;
    for (const auto& listing : s_.listings()) {
        std::vector<uint32_t> operations;
        uint32_t at = 0;
        std::string name;
        if (where.empty() && listing.get() == &s_.listing() && s_.has_begun() && !s_.is_over()) {
            operations = {s_.view().pc};
            at = listing->line_of(operations[0]);
            name = listing->file();
        } else if (line && colon == std::string_view::npos) {
            operations = listing->at_line(static_cast<uint32_t>(*line), at);
            name = listing->file();
        } else if (line) {
            const std::string_view file = where.substr(0, colon);
            if (is_file(listing->input().ptx_path, file))
                operations = listing->at_line(static_cast<uint32_t>(*line), at);
            else
                operations = listing->at_source(file, static_cast<uint32_t>(*line), at);
            name = std::string(file);
        } else if (!where.empty()) {
            operations = listing->at_function(where);
            if (operations.empty()) operations = listing->of_opcode(where);
        }
        if (!operations.empty() && !found)
            text = at != 0 ? fmt::format("{}:{}", name, at)
                           : fmt::format("{}, line {}{}", where, listing->line_of(operations[0]),
                                         operations.size() == 1
                                             ? ""
                                             : fmt::format(" and {} more", operations.size() - 1));
        if (!operations.empty() && at != 0 && line && at != *line)
            text += fmt::format(" (the next line with instructions after {})", *line);
        found |= !operations.empty();
        b.operations.push_back(std::move(operations));
    }
    if (!found)
        text = where.empty() ? "Nothing runs yet: a place is needed."
               : line        ? fmt::format("No instruction is at {} or after it.", printable(where))
                             : fmt::format("There is no line, function or instruction \"{}\".",
                                           printable(where));
    return found;
}

void Console::add_code(std::string_view arguments, bool temporary) {
    const auto [where, condition] = with_condition(arguments);
    Breakpoint b;
    std::string text;
    if (!find_operations(where, b, text)) return wrong(text);
    if (!condition.empty()) {
        launch::Result<Expression> e = Expression::parse(condition);
        if (!e) return wrong("The condition: " + e.error().sentence + ".");
        b.condition = std::move(*e);
    }
    b.temporary = temporary;
    const Breakpoint& added = s_.add(std::move(b));
    say(fmt::format("{} {} at {}", temporary ? "Temporary breakpoint" : "Breakpoint", added.id,
                    text));
}

// `names`: of checks, with commas; empty: errors of any check.
void Console::add_findings(std::string_view names) {
    const auto found = s_.findings(names.empty() ? "all" : names);
    if (!found) return wrong(found.error().sentence + ".");
    auto meant = std::make_shared<std::vector<KnownFinding>>();
    size_t placeless = 0;
    for (const KnownFinding& f : **found) {
        if (names.empty() && !f.is_error) continue;
        placeless += f.operation ? 0 : 1;
        meant->push_back(f);
    }
    Breakpoint b;
    b.kind = BreakKind::finding;
    b.what = names.empty() ? "check" : fmt::format("check {}", names);
    b.findings = std::move(meant);
    const Breakpoint& added = s_.add(std::move(b));
    const size_t count = added.findings->size();
    say(fmt::format(
        "Catchpoint {}: {} {}{}{}", added.id, count == 0 ? "no" : std::to_string(count),
        names.empty() ? "error" : "finding", count == 1 ? "" : "s",
        placeless == 0 ? std::string() : fmt::format(", {} of no instruction", placeless)));
    for (const KnownFinding& f : *added.findings)
        if (!f.operation) say(f.text);
}

void Console::break_(std::string_view arguments) {
    const std::string_view word = arguments.substr(0, arguments.find(' '));
    if (word == "check") return add_findings(trimmed(arguments.substr(word.size())));
    add_code(arguments, false);
}
void Console::tbreak(std::string_view arguments) { add_code(arguments, true); }

void Console::watch(std::string_view arguments) {
    const auto [what, condition] = with_condition(arguments);
    launch::Result<Expression> e = Expression::parse(what);
    if (!e) return wrong(e.error().sentence + ".");
    const View v = s_.view();
    launch::Result<Expression::Target> t = e->target(v);
    if (!t) return wrong(t.error().sentence + ".");
    if (t->space != ptx::Space::global && !needs_warp()) return;
    Breakpoint b;
    b.kind = BreakKind::watch;
    b.what = std::string(what);
    b.target = *t;
    b.launch = s_.launch_index();
    b.cta = s_.focus().cta;
    b.warp = s_.focus().warp;
    b.lane = s_.focus().lane;
    std::string where = b.what;
    if (t->space == ptx::Space::none) {
        if (isa::bits(t->reg->type) > 64) return wrong("A register of 128 bits cannot be watched.");
        b.ref = t->reg->ref;
        // The whole register of each lane, in the type that it is used in.
        b.target.type = v.used_as(*t->reg);
        b.target.reg = nullptr;
        where += " in " + warp_name(b.cta, b.warp);
    } else if (t->bytes > 8) {
        return wrong("At most 8 bytes are watched: name an element.");
    } else if (v.bytes_at(t->space, t->address, t->bytes) == nullptr && v.memory != nullptr) {
        return wrong(
            fmt::format("There is no {} memory at {:#x}.", ptx::name_of(t->space), t->address));
    } else {
        where += fmt::format(" ({} {:#x})", ptx::name_of(t->space), t->address);
    }
    if (!condition.empty()) {
        launch::Result<Expression> c = Expression::parse(condition);
        if (!c) return wrong("The condition: " + c.error().sentence + ".");
        b.condition = std::move(*c);
    }
    const Breakpoint& added = s_.add(std::move(b));
    say(fmt::format("Watchpoint {}: {}", added.id, where));
}

void Console::catch_(std::string_view what) {
    if (what == "trap") return say("A run is always held where it traps.");
    if (what == "check" || what.starts_with("check ")) return add_findings(trimmed(what.substr(5)));
    if (what != "nan")
        return wrong("There are \"catch nan\", \"catch check [NAME]\" and \"catch trap\".");
    Breakpoint b;
    b.kind = BreakKind::nan;
    b.what = "nan";
    say(fmt::format("Catchpoint {}: instructions that make a NaN", s_.add(std::move(b)).id));
}

// dprintf WHERE, TEXT
void Console::dprintf(std::string_view arguments) {
    const size_t comma = arguments.find(',');
    std::string_view said =
        comma == std::string_view::npos ? std::string_view() : trimmed(arguments.substr(comma + 1));
    if (said.size() > 1 && said.starts_with('"') && said.ends_with('"'))
        said = said.substr(1, said.size() - 2);
    if (said.empty()) return wrong("dprintf WHERE, TEXT");
    Breakpoint b;
    std::string text;
    if (!find_operations(trimmed(arguments.substr(0, comma)), b, text)) return wrong(text);
    b.log = std::string(said);
    say(fmt::format("Dprintf {} at {}", s_.add(std::move(b)).id, text));
}

void Console::commands(std::string_view arguments) {
    if (s_.breakpoints().empty()) return wrong("There are no breakpoints.");
    const std::optional<uint64_t> n = arguments.empty()
                                          ? std::optional<uint64_t>(s_.breakpoints().back().id)
                                          : number_of(arguments);
    const auto b = std::ranges::find_if(
        s_.breakpoints(), [&](const Breakpoint& one) { return n && one.id == *n && one.id != 0; });
    if (b == s_.breakpoints().end())
        return wrong(fmt::format("There is no breakpoint {}.", printable(arguments)));
    b->commands.clear();
    collecting_ = b->id;
}

void Console::each_breakpoint(std::string_view numbers,
                              const std::function<void(Breakpoint&)>& change) {
    if (numbers.empty())
        for (Breakpoint& b : s_.breakpoints()) change(b);
    for (const std::string_view word : split(numbers)) {
        const std::optional<uint64_t> n = number_of(word);
        const auto b = std::ranges::find_if(s_.breakpoints(), [&](const Breakpoint& one) {
            return n && one.id == *n && one.id != 0;
        });
        if (b == s_.breakpoints().end())
            return wrong(fmt::format("There is no breakpoint {}.", printable(word)));
        change(*b);
    }
}

void Console::delete_(std::string_view numbers) {
    std::vector<unsigned> ids;
    each_breakpoint(numbers, [&](Breakpoint& b) { ids.push_back(b.id); });
    for (const unsigned id : ids) (void)s_.remove(id);
}

void Console::enable(std::string_view numbers) {
    each_breakpoint(numbers, [](Breakpoint& b) { b.enabled = true; });
}

void Console::disable(std::string_view numbers) {
    each_breakpoint(numbers, [](Breakpoint& b) { b.enabled = false; });
}

void Console::ignore(std::string_view arguments) {
    const std::vector<std::string_view> words = split(arguments);
    const std::optional<uint64_t> count =
        words.size() == 2 ? number_of(words[1]) : std::optional<uint64_t>();
    if (!count) return wrong("ignore takes a breakpoint's number and how many hits it lets pass.");
    each_breakpoint(words[0], [&](Breakpoint& b) {
        b.ignore = *count;
        say(fmt::format("Breakpoint {} lets {} hits pass.", b.id, *count));
    });
}

void Console::condition(std::string_view arguments) {
    const std::string_view number = arguments.substr(0, arguments.find(' '));
    if (number.empty()) return wrong("condition takes a breakpoint's number.");
    const std::string_view text = trimmed(arguments.substr(number.size()));
    Expression e;
    if (!text.empty()) {
        launch::Result<Expression> parsed = Expression::parse(text);
        if (!parsed) return wrong(parsed.error().sentence + ".");
        e = std::move(*parsed);
    }
    each_breakpoint(number, [&](Breakpoint& b) { b.condition = e; });
}

void Console::info_breakpoints() {
    bool any = false;
    for (const Breakpoint& b : s_.breakpoints()) {
        if (b.internal) continue;
        any = true;
        const char* const kind = !b.log.empty()               ? "dprintf"
                                 : b.kind == BreakKind::code  ? b.temporary ? "tbreak" : "break"
                                 : b.kind == BreakKind::watch ? "watch"
                                                              : "catch";
        std::string line =
            fmt::format("{:<3} {:<7} {:<9} {}", b.id, kind, b.enabled ? "" : "disabled", b.what);
        if (!b.condition.empty()) line += " if " + b.condition.text();
        if (b.hits != 0) line += fmt::format(", hit {} time{}", b.hits, b.hits == 1 ? "" : "s");
        if (b.ignore != 0) line += fmt::format(", lets {} pass", b.ignore);
        say(line);
        for (const std::string& command : b.commands) say("            " + command);
    }
    if (!any) say("There are no breakpoints.");
}

}  // namespace lockwarp::debug
