// SPDX-License-Identifier: Apache-2.0
// A summary as text for a person, and texts from anywhere made fit to print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "validate/summary.hpp"

namespace lockwarp::tools {

// The answer in one line: "identical: 12 cases, ...", "DIFFERS: 1 of 12 cases, ...", "FAILED: ...".
// reports: how many were merged; 0: it is of one run.
std::string answer(const validate::Summary& s, uint64_t reports = 0);

// The whole summary: the answer, devices, counts by instruction, then every result that is not
// identical. At most 100 columns.
std::string summary_text(const validate::Summary& s);

// The exit status of a command whose answer it is.
int status_of(validate::Verdict verdict);

// "NVIDIA H200, sm_90, driver 580.159.04, 1980 MHz", or "..., sm_90" for what has no driver.
std::string device_line(const gpu::Device& d);

// Valid UTF-8 without control characters other than line feed and tab, and without what a
// terminal or XML takes for a command; each byte that is not becomes U+FFFD, a control character
// nothing.
std::string clean(std::string_view text);

// The same in one line: line feeds and tabs become blanks.
std::string clean_line(std::string_view text);

// The first at most `bytes` bytes, cut between characters; cut: with "..." within them.
std::string cut(std::string_view text, size_t bytes);

// "1 case", "12 cases"
std::string counted(uint64_t n, std::string_view noun);

}  // namespace lockwarp::tools
