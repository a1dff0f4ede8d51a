// SPDX-License-Identifier: Apache-2.0
// Files: read whole, written whole or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/result.hpp"

namespace lockwarp::launch {

// Refuses folders, devices and files above `max` bytes.
[[nodiscard]] Result<std::vector<uint8_t>> read_file(const std::string& path, uint64_t max);

// The same as text.
[[nodiscard]] Result<std::string> read_text(const std::string& path, uint64_t max);

// Writes beside `path` and renames, so that the file is there whole or as it was before.
[[nodiscard]] Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes);

// The same of a text.
[[nodiscard]] Result<void> write_text(const std::string& path, std::string_view text);

// Creates the folder and its parents.
[[nodiscard]] Result<void> make_folder(const std::string& path);

}  // namespace lockwarp::launch
