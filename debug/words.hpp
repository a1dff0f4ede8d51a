// SPDX-License-Identifier: Apache-2.0
// Words of commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/warp/launch.hpp"

namespace lockwarp::debug {

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text);
// Decimal or 0x; the whole text.
std::optional<uint64_t> number_of(std::string_view text);
// "16x8".
bool sizes_of(std::string_view text, uint64_t& rows, uint64_t& columns);
// "1,0,0", "(1,0)" or an index; none: not in the grid.
std::optional<uint64_t> cta_index(std::string_view text, const warp::Dim3& grid);
// What is no printable character shows as '.'; with `lines` line breaks stay.
std::string printable(std::string_view text, bool lines = false);
// "lanes 0-3, 8", "all lanes".
std::string lanes_text(uint32_t lanes);

}  // namespace lockwarp::debug
