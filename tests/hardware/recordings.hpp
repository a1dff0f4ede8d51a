// SPDX-License-Identifier: Apache-2.0
// Programs and what an H200 answered: the files of tests/hardware/sm_90 (README.md there).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::hardware {

// A kernel k(.param .u64 in, .param .u64 out). CTA i reads `in_words` words at in + 4*i*in_words
// and writes `out_words` words at out + 4*i*out_words.
struct Recording {
    size_t cases = 0;
    size_t in_words = 0;
    size_t out_words = 0;
    uint32_t threads = 0;  // of a CTA
    std::string ptx;
    std::vector<uint32_t> in;   // of all cases, one behind the other
    std::vector<uint32_t> out;  // likewise: the H200's
};

// The recordings of a folder ("mma", "wmma", "move", "alu") as "mma/m16n8k8.f32.f16.f16.f32",
// sorted.
std::vector<std::string> names(const std::string& folder);

// Throws std::runtime_error where there is none, or it is damaged.
Recording read(const std::string& name);

// The same of a file of another form: its text.
std::string read_text(const std::string& name);

}  // namespace lockwarp::hardware
