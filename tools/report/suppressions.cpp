// SPDX-License-Identifier: Apache-2.0
#include "tools/report/suppressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

namespace {

// Whether a path is the other, or ends in it at a '/'.
bool ends_in(std::string_view path, std::string_view end) {
    if (!path.ends_with(end)) return false;
    return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

bool at_line(const Suppression& s, std::string_view file, uint32_t line) {
    return ends_in(file, s.file) && (s.line == 0 || s.line == line);
}

bool is_at(const Suppression& s, const CheckedSite& site) {
    return at_line(s, site.ptx, site.ptx_line) ||
           std::ranges::any_of(
               site.source, [&](const ptx::SourcePlace& p) { return at_line(s, p.file, p.line); });
}

bool covers(const Suppression& s, const CheckedFinding& f) {
    if (s.check != f.check || (!s.kind.empty() && s.kind != f.kind)) return false;
    if (s.file.empty()) return true;
    if (!f.here) return s.line == 0 && ends_in(f.ptx, s.file);
    return is_at(s, *f.here) || (f.other && is_at(s, *f.other));
}

// What is wrong with the check and kind that it names; empty: nothing.
std::string wrong_name(const Suppression& s) {
    const check::CheckRow* const row = check::check_named(s.check);
    std::string known;
    if (row == nullptr) {
        for (const check::CheckRow& r : check::checks())
            known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
        return fmt::format("there is no check \"{}\"; there are {}", s.check, known);
    }
    if (s.kind.empty()) return {};
    for (const check::KindRow& k : row->kinds) {
        if (k.kind == s.kind) return {};
        known += fmt::format("{}{}", known.empty() ? "" : ", ", k.kind);
    }
    return fmt::format("{} finds no \"{}\"; it finds {}", s.check, s.kind, known);
}

}  // namespace

launch::Result<std::vector<Suppression>> parse_suppressions(const std::string& text,
                                                            const std::string& path) {
    std::vector<Suppression> out;
    std::istringstream lines(text);
    uint32_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string name, place, more;
        if (!(words >> name)) continue;
        words >> place;
        Suppression s;
        s.at = fmt::format("{}:{}", path, number);
        s.text = place.empty() ? name : name + " " + place;
        if (words >> more)
            return launch::failure(fmt::format(
                "{}: CHECK[/KIND] [FILE[:LINE]] is expected, and nothing behind it", s.at));
        const size_t slash = name.find('/');
        s.check = name.substr(0, slash);
        if (slash != std::string::npos) s.kind = name.substr(slash + 1);
        if (const std::string wrong = wrong_name(s); !wrong.empty())
            return launch::failure(fmt::format("{}: {}", s.at, clean_line(wrong)));
        const size_t colon = place.rfind(':');
        s.file = place.substr(0, colon);
        if (colon != std::string::npos) {
            const char* const end = place.data() + place.size();
            // What is no number, or too large a one, leaves the line at 0.
            const auto read = std::from_chars(place.data() + colon + 1, end, s.line);
            if (read.ptr != end || s.line == 0 || s.file.empty())
                return launch::failure(
                    fmt::format("{}: \"{}\" is no FILE:LINE", s.at, clean_line(place)));
        }
        out.push_back(std::move(s));
    }
    return out;
}

void suppress(CheckReport& report, std::vector<Suppression>& all) {
    for (CheckedFile& file : report.files)
        for (CheckedFinding& f : file.findings)
            for (Suppression& s : all)
                if (covers(s, f)) f.suppressed = s.used = true;
    for (const Suppression& s : all)
        if (!s.used)
            report.unused_suppressions.push_back(
                fmt::format("{}: nothing was suppressed by \"{}\"", s.at, s.text));
}

}  // namespace lockwarp::tools
