// SPDX-License-Identifier: Apache-2.0
// Files: read whole, written whole or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockwarp::launch {

// What is wrong, as a sentence for the user; empty: nothing is.
using Problem = std::string;

// Refuses folders, devices and files above `most` bytes.
Problem read_file(const std::string& path, uint64_t most, std::vector<uint8_t>& out);

// Writes beside `path` and renames, so that the file is there whole or as it was before.
Problem write_file(const std::string& path, std::span<const uint8_t> bytes);

// Creates the folder and its parents.
Problem make_folder(const std::string& path);

}  // namespace lockwarp::launch
