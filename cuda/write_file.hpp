// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace lockwarp::cuda {

inline bool is_zeros(const uint8_t* bytes, size_t size) {
    return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

// Long runs of zeros, of which the pools of programs are mostly made, are left as holes, which take
// no space and are read as zeros.
inline bool write_with_holes(std::FILE* file, const uint8_t* bytes, size_t size) {
    constexpr size_t block = 64 << 10;
    for (size_t at = 0; at < size; at += block) {
        const size_t n = std::min(block, size - at);
        const bool done = is_zeros(bytes + at, n)
                              ? ::fseeko(file, static_cast<off_t>(at + n), SEEK_SET) == 0
                              : std::fwrite(bytes + at, 1, n, file) == n;
        if (!done) return false;
    }
    return std::fflush(file) == 0 && ::ftruncate(::fileno(file), static_cast<off_t>(size)) == 0;
}

// The file is there whole or not at all; what is no plain file, as /dev/stdout, is written to.
// false: it cannot be written.
inline bool write_file(const std::string& path, const void* bytes, size_t size) {
    struct stat about {};
    const bool is_plain = ::lstat(path.c_str(), &about) != 0 || S_ISREG(about.st_mode);
    const std::string part = is_plain ? path + "." + std::to_string(::getpid()) : path;
    std::FILE* const file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return false;
    const auto* const from = static_cast<const uint8_t*>(bytes);
    const bool written =
        is_plain ? write_with_holes(file, from, size) : std::fwrite(bytes, 1, size, file) == size;
    const bool closed = std::fclose(file) == 0;
    if (!is_plain) return written && closed;
    if (written && closed && std::rename(part.c_str(), path.c_str()) == 0) return true;
    std::remove(part.c_str());
    return false;
}

}  // namespace lockwarp::cuda
