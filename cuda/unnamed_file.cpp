// SPDX-License-Identifier: Apache-2.0
#include "cuda/unnamed_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace lockwarp::cuda {

int new_unnamed_file(const char* what_for, uint64_t size) {
    const int file = ::memfd_create(what_for, MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) == 0) return file;
    ::close(file);
    return -1;
}

bool is_unnamed_file(int file, const char* what_for) {
    char name[64];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t n = ::readlink(link.c_str(), name, sizeof name);
    return n > 0 && std::string(name, static_cast<size_t>(n)) ==
                        "/memfd:" + std::string(what_for) + " (deleted)";
}

}  // namespace lockwarp::cuda
