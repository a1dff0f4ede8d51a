// SPDX-License-Identifier: Apache-2.0
// Files: read whole, written whole or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/result.hpp"
#include "launch/unfinished.hpp"

namespace lockwarp::launch {

// Refuses folders, devices, FIFOs and files above `max` bytes; none of them is waited for.
[[nodiscard]] Result<std::vector<uint8_t>> read_file(const std::string& path, uint64_t max);

// The same as text.
[[nodiscard]] Result<std::string> read_text(const std::string& path, uint64_t max);

// Files that are written together: all of them, or none where one cannot be. A regular file, or one
// that is not there yet, is written beside its place and renamed, so that it is whole or as it was
// before. A symbolic link stays and what it leads to is written. A device, a FIFO, a socket or a
// descriptor of this process (/dev/stdout) is written to as it is; a folder and an empty name are
// errors.
class Outputs {
  public:
    // Writes the bytes where they do not show yet: a full disk is met here. What is written to as
    // it is waits for commit(), with a copy of the bytes.
    [[nodiscard]] Result<void> add(const std::string& path, std::span<const uint8_t> bytes);
    [[nodiscard]] Result<void> add(const std::string& path, std::string_view text);
    // Everything shows, or an error says what could not be and nothing of the regular files does.
    [[nodiscard]] Result<void> commit();

  private:
    struct Staged {
        std::string path;  // without symbolic links
        Temporary temporary;
        bool existed = false;
        bool swapped = false;  // the temporary is what was there before
    };
    struct Direct {
        std::string path;
        std::vector<uint8_t> bytes;
    };
    void take_back();

    std::vector<Staged> staged_;
    std::vector<Direct> direct_;
};

// One file.
[[nodiscard]] Result<void> write_file(const std::string& path, std::span<const uint8_t> bytes);
[[nodiscard]] Result<void> write_text(const std::string& path, std::string_view text);

// Creates the folder and its parents.
[[nodiscard]] Result<void> make_folder(const std::string& path);

}  // namespace lockwarp::launch
