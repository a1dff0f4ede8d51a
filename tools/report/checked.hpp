// SPDX-License-Identifier: Apache-2.0
// What lockwarp check found in launch files, as values: every format is made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/ptx/source_map.hpp"
#include "launch/input.hpp"
#include "tools/report/changed_line.hpp"

namespace lockwarp::tools {

// A side of a finding, with its lines.
struct CheckedSite {
    std::string ptx;  // file
    uint32_t ptx_line = 0;
    uint32_t ptx_column = 0;
    std::vector<ptx::SourcePlace> source;  // the innermost first; empty: not known
    check::Site site;
};

struct CheckedFinding {
    std::string check, kind;
    check::Severity severity = check::Severity::error;
    std::optional<CheckedSite> here;  // nothing: of no instruction
    std::optional<CheckedSite> other;
    std::string ptx;    // the module's file
    std::string space;  // of the address; empty: there is none
    uint64_t address = 0;
    uint32_t bytes = 0;
    std::string object;   // buffer or variable; empty: none
    uint64_t offset = 0;  // in it
    std::string element;  // "C[3][64]"; empty: not known
    uint64_t count = 1;
    std::string message, hint;
    std::vector<ChangedLine> changes;  // of a wrong result: what would make it right
    std::string text;                  // for a person, whole lines
    bool suppressed = false;
};

// One launch file.
struct CheckedFile {
    std::string name;
    std::vector<CheckedFinding> findings;  // the gravest first
    std::string refused;                   // why it could not be run; whole lines; empty: it was
    std::string stopped;                   // why it did not come to its end; empty: it did
    double seconds = 0;
};

struct CheckReport {
    std::vector<CheckedFile> files;
    std::vector<std::string> unused_suppressions;  // "FILE:LINE: ...", a line each
};

struct CheckCounts {
    size_t errors = 0, notes = 0, suppressed = 0;
};
CheckCounts counts_of(const CheckedFile& file);
CheckCounts counts_of(const CheckReport& report);

CheckedFinding checked_finding(const launch::Input& in, const isa::Program& program,
                               const ptx::SourceMap& sources, const check::Found& found);

// Whether it is a note, and how far below the gravest: the smaller come first.
std::pair<bool, size_t> gravity_of(const CheckedFinding& f);

// The first line of the gravest error; where there is none, the counts.
std::string check_answer(const CheckReport& report);
// "gemm.json: 2 errors, 1 note"; of several "12 launch files: ...".
std::string check_counts(const CheckReport& report);

struct CheckFormat {
    std::string_view name;
    std::string (*write)(const CheckReport& report);
};
std::span<const CheckFormat> check_formats();

std::string check_text(const CheckReport& report);
std::string check_json(const CheckReport& report);   // "lockwarp-check/1"
std::string check_sarif(const CheckReport& report);  // SARIF 2.1.0 (OASIS standard)
std::string check_junit(const CheckReport& report);  // a case for each launch file
// Workflow commands of GitHub Actions, an annotation each, after the answer.
std::string check_github(const CheckReport& report);

}  // namespace lockwarp::tools
