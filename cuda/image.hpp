// SPDX-License-Identifier: Apache-2.0
// What a module is loaded from: PTX, or a fat binary with PTX in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

struct Image {
    // The texts to try, the best first: of a fat binary those for architectures up to `number`,
    // the highest first, and of one number its own (sm_90a) before its family's and any's.
    std::vector<std::string> texts;
    std::string wrong;  // why there is none, a sentence
    Result result = success;
};

// Begins as machine code (ELF) or as a fat binary does.
bool is_machine_code(const void* image);
bool is_fat_binary(const void* image);
// Whether a text's first word, behind comments, is .version: what the driver takes for PTX. Another
// is no image at all (an H100 with driver 580).
bool begins_as_ptx(std::string_view text);
inline constexpr char no_ptx[] = "neither PTX nor a fat binary: .version is not its first word";
// The bytes of a fat binary by its own header; of others 0.
uint64_t fat_binary_bytes(const void* image);

// The structure that a compiler puts before a fat binary, in section .nvFatBinSegment
// (fatbinary_section.h).
struct Wrapper {
    uint32_t magic, version;
    const void* data;
    // In the second version: the fat binaries of objects that were compiled apart (-rdc=true) and
    // linked, which ends with nullptr; `data` is what they were linked to.
    const void* const* linked;
};
inline constexpr uint32_t wrapper_magic = 0x466243b1;
// The fat binaries that it says were linked; none: it is of one that was compiled whole.
std::vector<const void*> linked_binaries(const Wrapper& w);

// What a caller points to: a fat binary, with the structure that a compiler puts before it, machine
// code (of which it gives four bytes), or a text that ends with a zero. nullptr: it is none of
// them.
std::span<const char> image_bytes(const void* image);

// What a caller points to, whose size it says itself, for the device's architecture. A Failure
// where it is nothing.
Image read_whole_image(const void* image);
// Of an architecture by its number, 80. `bytes` may be cut off, and what it says of sizes wrong.
Image read_image(std::span<const char> bytes, unsigned number);

// A block of the LZ4 block format; empty where it is none that becomes `size` bytes.
std::string lz4_block(std::span<const char> in, uint64_t size);

}  // namespace lockwarp::cuda
