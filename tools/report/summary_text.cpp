// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lanes/answer.hpp"
#include "tools/exit_status.hpp"

namespace lockwarp::tools {

using validate::CaseResult;
using validate::grouped;
using validate::Summary;
using validate::Verdict;

namespace {

constexpr size_t max_lines_of_a_result = 40;

// The character at the front, and its bytes; 0 bytes: no UTF-8.
struct Character {
    uint32_t code = 0;
    size_t bytes = 0;
};

Character character_at(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
    uint32_t code = lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fu);
    }
    constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
    return {code, bytes};
}

// Control characters, marks that turn the direction of a line, and what XML has no place for.
bool is_dropped(uint32_t code) {
    if (code == '\n' || code == '\t') return false;
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code & 0xfffe) == 0xfffe;
}

uint64_t of_verdict(const Summary& s, Verdict v) {
    return static_cast<uint64_t>(std::ranges::count(s.results, v, &CaseResult::verdict));
}

std::string instruction_table(const Summary& s) {
    size_t width = std::string_view("instruction").size(), values = 15, different = 9;
    for (const auto& [spelling, c] : s.instructions) {
        width = std::max(width, spelling.size());
        values = std::max(values, grouped(c.values).size());
        different = std::max(different, grouped(c.different).size());
    }
    width = std::min(width, lanes::line_columns - 4 - values - different);
    std::string out = fmt::format("{:<{}}  {:>{}}  {:>{}}\n", "instruction", width,
                                  "values compared", values, "different", different);
    for (const auto& [spelling, c] : s.instructions)
        out += fmt::format("{:<{}}  {:>{}}  {:>{}}\n", cut(clean_line(spelling), width), width,
                           grouped(c.values), values, grouped(c.different), different);
    return out;
}

// The text behind a bar, so that no line of it begins as a line of ours or as a command of a
// machine that reads the log.
std::string barred(std::string_view text) {
    std::string out;
    size_t lines = 0;
    while (!text.empty()) {
        if (++lines > max_lines_of_a_result) return out + "  | ...\n";
        const size_t end = std::min(text.find('\n'), text.size());
        out += "  | " + cut(clean_line(text.substr(0, end)), lanes::line_columns - 4) + "\n";
        text.remove_prefix(std::min(text.size(), end + 1));
    }
    return out;
}

}  // namespace

int status_of(Verdict verdict) {
    if (verdict == Verdict::identical) return done;
    return verdict == Verdict::differs ? differs_or_trapped : wrong_input;
}

std::string clean(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const Character c = character_at(text);
        if (c.bytes == 0)
            out += "\xef\xbf\xbd";
        else if (!is_dropped(c.code))
            out += text.substr(0, c.bytes);
        text.remove_prefix(std::max<size_t>(c.bytes, 1));
        if (out.ends_with("##[")) out.insert(out.size() - 1, " ");
    }
    return out;
}

std::string clean_line(std::string_view text) {
    std::string out = clean(text);
    for (char& c : out)
        if (c == '\n' || c == '\t') c = ' ';
    return out;
}

std::string cut(std::string_view text, size_t bytes) {
    if (text.size() <= bytes) return std::string(text);
    size_t end = bytes < 3 ? 0 : bytes - 3;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
    return std::string(text.substr(0, end)) + std::string(std::min<size_t>(bytes, 3), '.');
}

std::string counted(uint64_t n, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

std::string device_line(const gpu::Device& d) {
    std::string out = fmt::format("{}, sm_{}", cut(clean_line(d.name), 50), d.number);
    if (!d.driver.empty()) out += ", driver " + cut(clean_line(d.driver), 20);
    if (d.clock_mhz != 0) out += fmt::format(", {} MHz", d.clock_mhz);
    return out;
}

std::string answer(const Summary& s, uint64_t reports) {
    const std::string merged = reports == 0 ? "" : counted(reports, "report") + ", ";
    if (!s.skipped.empty()) return "skipped: " + merged + clean_line(s.skipped);
    const uint64_t differs = of_verdict(s, Verdict::differs);
    const uint64_t failed = of_verdict(s, Verdict::failed);
    switch (validate::verdict(s)) {
        case Verdict::identical:
            return fmt::format("identical: {}{}, {} and {} compared", merged,
                               counted(s.cases, "case"), counted(s.counts.values, "value"),
                               counted(s.counts.memory_bytes, "memory byte"));
        case Verdict::differs:
            return fmt::format("DIFFERS: {}{} of {}; {} of {}, {} of {}", merged, grouped(differs),
                               counted(s.cases, "case"), grouped(s.counts.different),
                               counted(s.counts.values, "value"),
                               grouped(s.counts.memory_different),
                               counted(s.counts.memory_bytes, "byte"));
        case Verdict::failed:
            break;
    }
    if (failed == 0)
        return fmt::format("FAILED: {}{}, nothing was compared", merged, counted(s.cases, "case"));
    return fmt::format("FAILED: {}{} of {} could not be compared, {} differ{}", merged,
                       grouped(failed), counted(s.cases, "case"), grouped(differs),
                       differs == 1 ? "s" : "");
}

std::string summary_text(const Summary& s) {
    std::string out = answer(s) + "\n";
    for (const gpu::Device& d : s.devices) out += device_line(d) + "\n";
    std::string of = cut(clean_line(s.command), 40);
    for (size_t i = 0; i < s.seeds.size() && i < 3; ++i)
        out += fmt::format("seeds {} to {}{}\n", s.seeds[i].first,
                           s.seeds[i].first + (s.seeds[i].count - 1),
                           i == 2 && s.seeds.size() > 3 ? ", and more" : "");
    out += fmt::format("{}, {:.1f} s\n", of, s.seconds);
    if (s.counts.masked != 0 || s.counts.taken != 0)
        out += fmt::format("not compared: {} undefined, {} taken from the GPU\n",
                           grouped(s.counts.masked), grouped(s.counts.taken));
    if (s.counts.unwritten != 0)
        out += fmt::format("not compared: {} of what nothing wrote\n", grouped(s.counts.unwritten));
    if (s.counts.places != 0)
        out += fmt::format("not compared: {} instruction{} whose results are addresses\n",
                           grouped(s.counts.places), s.counts.places == 1 ? "" : "s");
    if (!s.instructions.empty()) out += "\n" + instruction_table(s);
    for (const CaseResult& r : s.results) {
        if (r.verdict == Verdict::identical && r.compiler.empty()) continue;
        const std::string_view word = r.verdict == Verdict::identical
                                          ? "identical at --optimize 0"
                                          : validate::name_of(r.verdict);
        out += fmt::format("\n{}: {}\n{}", word,
                           cut(clean_line(r.name), lanes::line_columns - 2 - word.size()),
                           barred(r.text));
    }
    return out;
}

}  // namespace lockwarp::tools
