// SPDX-License-Identifier: Apache-2.0
// Files without a name: memory that processes share.
#pragma once

#include <cstdint>

namespace lockwarp::cuda {

constexpr int posix_file = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR: how one is handed on

// A new one of zeros; -1 where there can be none. What it is for says what /proc shows of it.
int new_unnamed_file(const char* what_for, uint64_t size);
// Whether that is what another process made it for.
bool is_unnamed_file(int file, const char* what_for);

}  // namespace lockwarp::cuda
