// SPDX-License-Identifier: Apache-2.0
#include "why/hypothesis.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::why {

namespace {

constexpr std::array rows{
    Hypothesis{"registers of A", "two or more registers of an mma's A exchanged",
               "mma lines, all of a shape and each alone", try_registers_of_a},
    Hypothesis{"registers of B", "two or more registers of an mma's B exchanged",
               "mma lines, all of a shape and each alone", try_registers_of_b},
    Hypothesis{"accumulators", "registers of an mma's C and D exchanged, both or one of them",
               "mma lines, all of a shape and each alone", try_accumulators},
};

}  // namespace

std::span<const Hypothesis> hypotheses() { return rows; }

std::string lines_text(const std::vector<ptx::Place>& places) {
    std::vector<uint32_t> lines;
    for (const ptx::Place p : places) lines.push_back(p.line);
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    if (lines.empty()) return "no line";
    if (lines.size() == 1) return "line " + std::to_string(lines[0]);
    if (lines.size() <= 4) {
        std::string out = "lines ";
        for (size_t i = 0; i < lines.size(); ++i)
            out += (i == 0                  ? ""
                    : i + 1 == lines.size() ? " and "
                                            : ", ") +
                   std::to_string(lines[i]);
        return out;
    }
    return "the " + std::to_string(lines.size()) + " lines from " + std::to_string(lines.front()) +
           " to " + std::to_string(lines.back());
}

}  // namespace lockwarp::why
