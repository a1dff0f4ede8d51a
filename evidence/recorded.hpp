// SPDX-License-Identifier: Apache-2.0
// What recordings and fuzz reports of GPUs hold of each instruction: recorded.tsv, which is part of
// the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/result.hpp"

namespace lockwarp::evidence {

// Of one instruction, from one machine.
struct RecordedRow {
    std::string_view instruction;  // a spelling, or the key of an mma or wmma.mma variant
    std::string_view arch;         // "sm_90"
    std::string_view device;       // "NVIDIA H200"
    std::string_view driver;
    uint64_t
        values;  // results compared; 0: it has none, and what was read afterwards was identical
    uint64_t different;  // of them
};

// The first line of a table; a line for each row follows, its fields separated by tabs, sorted by
// the first four.
inline constexpr std::string_view recorded_header =
    "instruction\tarchitecture\tGPU\tdriver\tvalues\tdifferent";

// The table of rows that stand in this order.
std::string write_recorded(std::span<const RecordedRow> rows);

// Rows hold parts of `text`. An error, "line 7: ...", where a line is not a row, is out of order or
// of an architecture that is not modelled.
[[nodiscard]] launch::Result<std::vector<RecordedRow>> read_recorded(std::string_view text);

// Those of recorded.tsv, which `lockwarp fidelity --from tests/golden` makes.
std::span<const RecordedRow> recorded_rows();

// Those of one instruction: reads no other row.
std::vector<RecordedRow> recorded_rows_of(std::string_view instruction);

}  // namespace lockwarp::evidence
