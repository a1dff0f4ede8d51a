// SPDX-License-Identifier: Apache-2.0
// Where an instruction comes from, for reports.
#pragma once

#include <string>
#include <vector>

#include "emu/ptx/source_map.hpp"

namespace lockwarp::launch {

// A file as line information has it, relative to the folder one stands in where it lies below it.
// What is no printable character shows as '.'.
std::string shown_file(const std::string& file);

// The innermost that is no header of the toolkit's (of cuda::barrier, wmma, intrinsics), which a
// program's author has not written; the innermost where all are, nullptr where nothing is known.
const ptx::SourcePlace* own_place(const std::vector<ptx::SourcePlace>& places);

// "gemm.cu:42", that of own_place(); empty where nothing is known.
std::string short_place(const std::vector<ptx::SourcePlace>& places);

// A line for each place, with the line of the source where its file can be read; each ends with a
// line break, none is longer than `columns`:
//     gemm.cu:42:7 in mma_tile(float*)
//       c[i] += a * b;
//     inlined at gemm.cu:80:5
std::string source_text(const std::vector<ptx::SourcePlace>& places, size_t columns = 100);

}  // namespace lockwarp::launch
