// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include "cuda/errors.hpp"
#include "cuda/image.hpp"

namespace lockwarp::cuda {

// All of the file, and eight zeros behind it; a Failure where it cannot be read.
inline std::vector<char> read_file(const char* path) {
    const auto close = [](std::FILE* f) { std::fclose(f); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path, "rb"), close);
    require(file != nullptr, file_not_found);
    std::vector<char> bytes;
    constexpr size_t chunk = 65536;
    for (size_t got = chunk; got == chunk;) {
        const size_t before = bytes.size();
        bytes.resize(before + chunk);
        got = std::fread(bytes.data() + before, 1, chunk, file.get());
        bytes.resize(before + got);
    }
    require(std::ferror(file.get()) == 0, file_not_found);
    bytes.resize(bytes.size() + 8);
    return bytes;
}

// That a fat binary's own header does not promise more than there is.
inline void require_whole(const std::vector<char>& bytes) {
    if (bytes.size() < 24 || !is_fat_binary(bytes.data())) return;
    const uint64_t size = fat_binary_bytes(bytes.data());
    require(size != 0 && size <= bytes.size(), invalid_image);
}

}  // namespace lockwarp::cuda
