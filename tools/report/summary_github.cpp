// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary_github.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch/source_text.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using validate::CaseResult;
using validate::grouped;
using validate::Summary;
using validate::Verdict;

namespace {

constexpr size_t max_annotations = 10;
constexpr size_t max_results = 20;
constexpr size_t max_devices = 32;
constexpr size_t max_text = 8000;  // bytes of one result's text
constexpr size_t max_name = 300;

// Text in one line of Markdown that is nothing but text: no link, no markup, no end of a cell.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : cut(clean_line(text), max_name)) {
        const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                             (c >= 'A' && c <= 'Z') || c == ' ' || static_cast<uint8_t>(c) >= 0x80;
        if (!is_word) out += '\\';
        out += c;
    }
    return out;
}

// A code block whose fence is longer than any run of backticks within.
std::string code_block(std::string_view text) {
    const std::string body = cut(clean(text), max_text);
    size_t longest = 2;
    for (size_t i = 0, run = 0; i < body.size(); ++i) {
        run = body[i] == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    return fence + "text\n" + body + (body.ends_with('\n') ? "" : "\n") + fence + "\n";
}

std::string line_of(std::string_view what, uint64_t compared, uint64_t different) {
    return fmt::format("| {} | {} | {} |\n", what, grouped(compared), grouped(different));
}

std::vector<const CaseResult*> not_identical(const Summary& s) {
    std::vector<const CaseResult*> out;
    for (const CaseResult& r : s.results)
        if (r.verdict != Verdict::identical) out.push_back(&r);
    return out;
}

}  // namespace

namespace {

std::string escaped(std::string_view text, bool is_property) {
    std::string out;
    for (const char c : clean(text)) {  // of which no carriage return is left
        if (c == '%' || c == '\n' || (is_property && (c == ':' || c == ',')))
            out += fmt::format("%{:02X}", c);
        else
            out += c;
    }
    return out;
}

}  // namespace

std::string github_message(std::string_view text) { return escaped(cut(text, max_text), false); }

std::string github_property(std::string_view text) { return escaped(cut(text, max_name), true); }

std::string github_annotations(const Summary& s) {
    const std::vector<const CaseResult*> all = not_identical(s);
    if (!s.skipped.empty())
        return "::notice title=" + github_property("lockwarp " + s.command) +
               "::" + github_message(answer(s)) + "\n";
    if (all.empty() && validate::verdict(s) != Verdict::identical)
        return "::error title=" + github_property("lockwarp " + s.command) +
               "::" + github_message(answer(s)) + "\n";
    std::string out;
    const size_t shown = all.size() > max_annotations ? max_annotations - 1 : all.size();
    for (size_t i = 0; i < shown; ++i) {
        const CaseResult& r = *all[i];
        // The source's line rather than the PTX's: it is what a reviewer has before them.
        const bool has_source = !r.source.empty() && !r.source[0].file.empty();
        const std::string file = has_source ? launch::shown_file(r.source[0].file) : r.file;
        const uint32_t line = has_source ? r.source[0].line : r.line;
        std::string place;
        if (!file.empty()) place = "file=" + github_property(file) + ",";
        if (!file.empty() && line != 0) place += fmt::format("line={},", line);
        std::string title = fmt::format("{}: {}", r.name, validate::name_of(r.verdict));
        if (!r.instruction.empty()) title += ": " + r.instruction;
        out += fmt::format("::error {}title={}::{}\n", place, github_property(title),
                           github_message(r.text.empty() ? title : r.text));
    }
    if (shown < all.size())
        out +=
            fmt::format("::error title={}::{} more: {}\n", github_property("lockwarp " + s.command),
                        all.size() - shown, github_message(answer(s)));
    return out;
}

std::string github_markdown(const Summary& s) {
    std::string out = fmt::format("### lockwarp {}\n\n{}\n\n", plain(s.command), plain(answer(s)));
    out += "| | compared | different |\n|---|---:|---:|\n";
    const std::vector<const CaseResult*> all = not_identical(s);
    const auto of = [&](Verdict v) {
        return static_cast<uint64_t>(
            std::ranges::count(all, v, [](const CaseResult* r) { return r->verdict; }));
    };
    const uint64_t compared = validate::compared(s.counts) ? s.cases - of(Verdict::failed) : 0;
    out += line_of(s.command == "fuzz" ? "programs" : "cases", compared, of(Verdict::differs));
    const bool has_registers = s.command != "run";
    out +=
        line_of(has_registers ? "register values" : "values", s.counts.values, s.counts.different);
    if (has_registers)
        out += line_of("memory bytes", s.counts.memory_bytes, s.counts.memory_different);
    out += "\n";
    for (size_t i = 0; i < s.devices.size() && i < max_devices; ++i)
        out += "- " + plain(device_line(s.devices[i])) + "\n";
    for (size_t i = 0; i < all.size() && i < max_results; ++i)
        out += fmt::format("\n{}: {}\n\n{}", validate::name_of(all[i]->verdict),
                           plain(all[i]->name), code_block(all[i]->text));
    if (all.size() > max_results)
        out += fmt::format("\n{} more are not shown.\n", all.size() - max_results);
    return out + "\n";
}

}  // namespace lockwarp::tools
