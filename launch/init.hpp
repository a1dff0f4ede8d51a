// SPDX-License-Identifier: Apache-2.0
// How a buffer, a variable or what is expected of one is written down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/types.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::launch {

// undefined: of a buffer that nobody gives a value. It holds bytes of undefined_byte, NaN in every
// floating type, and check `uninitialised` says where they matter.
enum class InitKind : uint8_t { fill, hex, file, files, random, sequence, values, undefined };
inline constexpr uint8_t undefined_byte = 0xff;
enum class Distribution : uint8_t { uniform, normal };

// A file that begins at a byte of the buffer.
struct FilePart {
    ptx::Place place;
    uint64_t at = 0;
    std::string file;
};

// random: SplitMix64, see init.cpp.
struct Init {
    InitKind kind = InitKind::fill;
    ptx::Place place;
    uint8_t fill = 0;
    std::string hex;                   // decoded bytes; of `values` the elements
    std::string file;                  // path, relative to the launch file's folder
    std::vector<FilePart> files;       // by offset; zeros between them
    isa::Type type = isa::Type::none;  // random, sequence
    Distribution distribution = Distribution::uniform;
    uint64_t seed = 0;
    double low = 0, high = 1;                // random uniform
    double mean = 0, deviation = 1;          // random normal
    double start = 0, step = 1, divide = 1;  // sequence
};

}  // namespace lockwarp::launch
