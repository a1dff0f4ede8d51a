// SPDX-License-Identifier: Apache-2.0
// The commands that show where the run stands.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "debug/console.hpp"
#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/demangled.hpp"
#include "launch/files.hpp"
#include "launch/source_text.hpp"

namespace lockwarp::debug {

using warp::PathState;

namespace {

// What a path does, or waits for.
std::string state_text(const warp::Cta& cta, const warp::Warp& w, const warp::Path& p) {
    switch (p.state) {
        case PathState::ready:
            return p.waits_since == UINT64_MAX ? "runs" : "waits for memory to change";
        case PathState::at_barrier: {
            const warp::Barrier& b = cta.barriers[p.barrier % cta.barriers.size()];
            if (p.opened) return "runs";
            uint32_t live = 0;
            for (const warp::Warp& other : cta.warps) live += other.live != 0 ? 32 : 0;
            return fmt::format("waits at barrier {}: {} of {} threads are there", p.barrier,
                               b.arrived, b.expected != 0 ? b.expected : live);
        }
        case PathState::at_collective:
            return fmt::format("waits for {} of the membermask", lanes_text(p.members & ~p.lanes));
        case PathState::at_cluster:
            return "waits at the cluster's barrier";
        case PathState::at_aligned:
            return fmt::format("waits for {} of the warp", lanes_text(w.live & ~p.lanes));
        case PathState::held:
            return "waits for its turn at memory";
    }
    return {};
}

}  // namespace

void Console::info_warps() {
    if (!needs_run()) return;
    if (s_.is_over()) return say("The run is over.");
    constexpr size_t max_ctas = 16;
    size_t shown = 0;
    for (const auto& [index, cta] : s_.ctas()) {
        if (shown++ == max_ctas) {
            say(fmt::format("and {} more CTAs", s_.ctas().size() - max_ctas));
            break;
        }
        say(fmt::format("CTA ({},{},{})", cta->id[0], cta->id[1], cta->id[2]));
        for (const warp::Warp& w : cta->warps) {
            const bool mine = s_.focus().cta == index && s_.focus().warp == w.index;
            const std::string head =
                fmt::format("{} warp {:<2} step {:<7}", mine ? "*" : " ", w.index, w.step);
            if (w.live == 0) {
                say(head + " has exited");
                continue;
            }
            bool first = true;
            for (const warp::Path& p : w.paths) {
                if ((p.lanes & w.live) == 0) continue;
                uint32_t pc = p.pc;
                if (p.state == PathState::at_barrier && pc != 0 && !p.opened) --pc;
                say(fmt::format("{} {}, line {}, {}", first ? head : std::string(head.size(), ' '),
                                lanes_text(p.lanes & w.live), s_.listing().line_of(pc),
                                state_text(*cta, w, p)));
                first = false;
            }
            // Lanes that wait where others are to meet them.
            for (const warp::Reconvergence& m : w.meetings)
                if ((m.arrived & w.live) != 0 && m.at != warp::no_index)
                    say(fmt::format("{} {} wait at line {} for {}", std::string(head.size(), ' '),
                                    lanes_text(m.arrived & w.live), s_.listing().line_of(m.at),
                                    lanes_text(m.expected & ~m.arrived & w.live)));
        }
    }
    if (s_.ctas().empty()) say("No CTA is under way.");
}

void Console::info_registers(std::string_view name) {
    if (!needs_warp()) return;
    const View v = s_.view();
    const isa::Program& p = v.program();
    const isa::Function& f = s_.listing().function_of(v.pc);
    std::vector<uint32_t> used;
    for (uint32_t i = f.first; i < f.end; ++i)
        for (uint32_t u = 0; u < uint32_t{p.operations[i].written} + p.operations[i].read; ++u)
            used.push_back(p.uses[p.operations[i].first_use + u]);
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    size_t shown = 0;
    for (const uint32_t index : used) {
        const isa::Register& r = p.registers[index];
        if (r.half == 2 || (!name.empty() && r.name != name)) continue;
        Value value = v.value_of(r, v.lane);
        value.type = v.used_as(r);
        const bool plain = isa::row(value.type).kind == isa::Kind::bits;
        say(fmt::format(
            "{:<10} {:<6} {}{}", r.name, isa::row(r.type).name, hex_of(value),
            plain ? ""
                  : fmt::format("  {} ({})", text_of(value), isa::row(value.type).name.substr(1))));
        ++shown;
    }
    if (shown == 0)
        wrong(name.empty() ? "The function has no registers."
                           : fmt::format("There is no register {}.", printable(name)));
    else if (name.empty())
        say(fmt::format("of lane {}", v.lane));
}

// Parameters, with what the debug information calls them, and the variables in memory.
void Console::info_locals() {
    if (!needs_warp()) return;
    const View v = s_.view();
    const isa::Program& p = v.program();
    const isa::Function& f = s_.listing().function_of(v.pc);
    const ptx::DebugFunction* const known = s_.listing().types().find_function(f.name);
    for (size_t i = 0; i < p.parameters.size(); ++i) {
        const isa::Parameter& a = p.parameters[i];
        uint64_t bits = 0;
        if (const uint8_t* const at = v.bytes_at(ptx::Space::param, a.offset, a.bytes))
            std::copy_n(at, std::min<uint32_t>(a.bytes, 8), reinterpret_cast<uint8_t*>(&bits));
        std::string line = a.name;
        if (known != nullptr && i < known->parameters.size() && !known->parameters[i].name.empty())
            line = fmt::format("{} ({} {})", a.name,
                               s_.listing().types().spelled(known->parameters[i].type),
                               known->parameters[i].name);
        const std::string target = a.bytes == 8 ? v.name_of(ptx::Space::none, bits) : std::string();
        say(fmt::format("{} = {:#x}{}{}", line, bits, a.bytes > 8 ? "..." : "",
                        target.empty() ? "" : " -> " + target));
    }
    const size_t before = out_.size();
    list_variables(false);
    if (p.parameters.empty() && out_.size() == before) say("There are none.");
}

// Those of the module, .global and .const, or the others.
void Console::list_variables(bool of_module) {
    const isa::Program& p = s_.listing().program();
    for (const isa::Placed& m : p.variables) {
        const bool is_of_module = m.space == ptx::Space::global || m.space == ptx::Space::const_;
        if (m.space == ptx::Space::param || is_of_module != of_module) continue;
        std::string line =
            fmt::format("{}: {} {:#x}, {} bytes", launch::demangled(m.name),
                        m.in_frame ? "local" : ptx::name_of(m.space), m.address, m.bytes);
        if (const ptx::DebugVariable* const d = s_.listing().types().find_variable(m.name))
            line += fmt::format(", {} {}", s_.listing().types().spelled(d->type), d->name);
        say(printable(line));
    }
}

void Console::info_variables() {
    list_variables(true);
    if (out_.empty()) say("The module has none.");
}

void Console::info_buffers() {
    const View v = s_.view();
    for (const warp::Buffer& b : s_.launch().buffers) {
        const View::Place place = *v.place_of(b.name);
        std::string line = fmt::format("{:<10} {:#x}, {} bytes, {}", b.name, b.address,
                                       b.bytes.size(), isa::row(place.shape.type).name.substr(1));
        if (place.shape.rows != 0)
            line += fmt::format(" {} x {}", place.shape.rows, place.shape.columns);
        say(line);
    }
}

// What the checks find in the whole run.
void Console::info_findings(std::string_view names) {
    const auto found = s_.findings(names.empty() ? "all" : names);
    if (!found) return wrong(found.error().sentence + ".");
    for (const KnownFinding& f : **found) {
        const Listing& l = *s_.listings()[f.launch];
        if (f.operation)
            say(fmt::format("{}:{}, {} step {}", l.file(), l.line_of(*f.operation),
                            warp_name(f.cta, f.warp), f.step));
        say(f.text);
    }
    if ((*found)->empty()) say("Nothing is found.");
}

void Console::info_display() {
    for (const Display& d : displays_) say(fmt::format("{}: {}", d.id, d.text));
    if (displays_.empty()) say("Nothing is displayed.");
}

void Console::info_line() {
    if (!needs_warp()) return;
    const View v = s_.view();
    const ptx::Place at = v.program().operations[v.pc].place;
    say(fmt::format("operation {} of {}, {}:{}:{}", v.pc, v.program().operations.size(),
                    s_.listing().file(), at.line, at.column));
    out_ += launch::source_text(s_.listing().places_of(v.pc));
}

void Console::info(std::string_view arguments) {
    const std::string_view word = arguments.substr(0, arguments.find(' '));
    const std::string_view rest = trimmed(arguments.substr(word.size()));
    const auto is = [&](std::string_view name) { return !word.empty() && name.starts_with(word); };
    if (is("warps") || is("threads")) return info_warps();
    if (is("registers")) return info_registers(rest);
    if (is("locals")) return info_locals();
    if (is("breakpoints") || is("watchpoints")) return info_breakpoints();
    if (is("buffers")) return info_buffers();
    if (is("line")) return info_line();
    if (is("findings")) return info_findings(rest);
    if (is("display")) return info_display();
    if (is("variables")) return info_variables();
    wrong(
        "There are info warps, registers, locals, variables, break, buffers, findings, display and "
        "line.");
}

void Console::backtrace(std::string_view) {
    if (!needs_warp()) return;
    const View v = s_.view();
    const auto place = [&](uint32_t operation) {
        const std::string source = s_.listing().short_place(operation);
        return fmt::format("{} at {}:{}{}",
                           launch::demangled(s_.listing().function_of(operation).name),
                           s_.listing().file(), s_.listing().line_of(operation),
                           source.empty() ? "" : ", " + source);
    };
    unsigned n = 0;
    say(fmt::format("#{}  {}", n++, printable(place(v.pc))));
    for (uint32_t f = v.frame; f != warp::no_index; f = v.warp->calls.frames[f].caller)
        say(fmt::format("#{}  {}", n++, printable(place(v.warp->calls.frames[f].call))));
    // What was inlined at the innermost place.
    const std::vector<ptx::SourcePlace> inlined = s_.listing().places_of(v.pc);
    for (size_t i = 1; i < inlined.size(); ++i)
        say(printable(fmt::format("    inlined at {}:{}", launch::shown_file(inlined[i].file),
                                  inlined[i].line)));
}

// "gemm.cu:17", where the file can be read. false: it is no such place.
bool Console::list_source(std::string_view place) {
    constexpr uint32_t around = 5;
    constexpr uint64_t max_bytes = uint64_t{1} << 26;
    const size_t colon = place.rfind(':');
    const std::optional<uint64_t> wanted =
        colon == std::string_view::npos ? std::nullopt : number_of(place.substr(colon + 1));
    if (!wanted || *wanted == 0) return false;
    std::string path;
    for (uint32_t i = 0; i < s_.listing().program().operations.size() && path.empty(); ++i)
        for (const ptx::SourcePlace& p : s_.listing().places_of(i))
            if (is_file(p.file, place.substr(0, colon))) path = p.file;
    const launch::Result<std::string> text = launch::read_text(path, max_bytes);
    if (path.empty() || !text) return false;
    uint64_t line = 1;
    for (size_t at = 0; at < text->size(); ++line) {
        const size_t end = std::min(text->find('\n', at), text->size());
        if (line + around >= *wanted && line < *wanted + around)
            say(printable(fmt::format("{} {:>5}  {}", line == *wanted ? ">" : " ", line,
                                      std::string_view(*text).substr(at, end - at))));
        at = end + 1;
    }
    if (*wanted >= line + around) wrong(fmt::format("{} has lines 1 to {}.", path, line - 1));
    return true;
}

void Console::list(std::string_view arguments) {
    constexpr uint32_t around = 5;
    if (arguments.find(':') != std::string_view::npos) {
        if (!list_source(arguments)) wrong("No such source can be read.");
        return;
    }
    const View v = s_.view();
    const uint32_t here = v.warp != nullptr ? s_.listing().line_of(v.pc) : 0;
    uint32_t first = listed_ != 0 ? listed_ : here > around ? here - around : 1;
    if (!arguments.empty()) {
        const std::optional<uint64_t> n = number_of(arguments);
        if (!n || *n == 0 || *n > s_.listing().lines())
            return wrong(
                fmt::format("{} has lines 1 to {}.", s_.listing().file(), s_.listing().lines()));
        first = static_cast<uint32_t>(*n) > around ? static_cast<uint32_t>(*n) - around : 1;
    } else if (here == 0 && listed_ == 0) {
        first = s_.listing().line_of(0) > around ? s_.listing().line_of(0) - around : 1;
    }
    uint32_t line = first;
    for (; line <= s_.listing().lines() && line < first + 2 * around; ++line)
        say(fmt::format("{} {:>5}  {}", line == here ? ">" : " ", line,
                        s_.listing().line_text(line)));
    listed_ = line > s_.listing().lines() ? 1 : line;
}

void Console::disassemble(std::string_view) {
    if (!needs_warp()) return;
    constexpr uint32_t around = 6;
    const View v = s_.view();
    const isa::Function& f = s_.listing().function_of(v.pc);
    const uint32_t first = v.pc > f.first + around ? v.pc - around : f.first;
    for (uint32_t i = first; i < std::min(f.end, v.pc + around + 1); ++i)
        say(fmt::format("{} {:>5}  line {:>5}  {}", i == v.pc ? ">" : " ", i,
                        s_.listing().line_of(i), s_.listing().text_of(i)));
}

}  // namespace lockwarp::debug
