// SPDX-License-Identifier: Apache-2.0
// A launch as a launch file, beside files of its module and memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver_api.hpp"
#include "lockwarp.h"

namespace lockwarp::cuda {

struct FileBuffer {
    Address base = 0;
    uint64_t size = 0;
    std::string name;
    std::string file;      // what it held before; empty: zeros
    std::string expected;  // and after; empty: nothing is expected
};

struct LaunchFile {
    std::string folder;  // it is there
    uint64_t number = 0;
    std::string entry, module, arch;  // module: a file
    std::array<uint32_t, 3> grid{}, block{};
    std::optional<std::array<uint32_t, 3>> cluster;
    uint32_t dynamic_shared = 0;
    bool cooperative = false, non_portable_cluster = false;
    std::vector<uint8_t> parameters;
    std::vector<lockwarp_parameter> types;
    std::vector<std::pair<std::string, std::string>> variables;  // name, file
    std::vector<FileBuffer> buffers;                             // by their addresses
    std::vector<std::pair<std::string, Address>> functions;      // name, where it lies too
};

// 0x and its digits.
std::string hex_number(uint64_t n);
// A file named by what is in it, so that the same bytes are written once. Its name.
std::string write_bytes(const std::string& folder, const void* bytes, size_t size,
                        const char* ending);
// The same for memory at that address: launch files have buffers at multiples of 256.
std::string write_buffer(const std::string& folder, Address base, const void* bytes, size_t size);
// folder/NUMBER.ENTRY.json; its path.
std::string write_launch_file(const LaunchFile& file);

}  // namespace lockwarp::cuda
