// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace lockwarp::cuda {

// The file is there whole or not at all; what is no plain file, as /dev/stdout, is written to.
// false: it cannot be written.
inline bool write_file(const std::string& path, const void* bytes, size_t size) {
    struct stat about {};
    const bool is_plain = ::lstat(path.c_str(), &about) != 0 || S_ISREG(about.st_mode);
    const std::string part = is_plain ? path + "." + std::to_string(::getpid()) : path;
    std::FILE* const file = std::fopen(part.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(bytes, 1, size, file) == size;
    const bool closed = std::fclose(file) == 0;
    if (!is_plain) return written && closed;
    if (written && closed && std::rename(part.c_str(), path.c_str()) == 0) return true;
    std::remove(part.c_str());
    return false;
}

}  // namespace lockwarp::cuda
