// SPDX-License-Identifier: Apache-2.0
// What a folder of recordings and fuzz reports holds of each instruction, as the table
// evidence/recorded.tsv.
#pragma once

#include <string>

#include "launch/result.hpp"

namespace lockwarp::tools {

// Every .lwr below the folder is compared with the emulator again; .json files that are reports of
// fuzz, validate or replay are added. Others are ignored.
struct RecordedTable {
    std::string text;
    size_t rows = 0;  // 0 where the folder has none of these files
};
[[nodiscard]] launch::Result<RecordedTable> recorded_table(const std::string& folder);

}  // namespace lockwarp::tools
