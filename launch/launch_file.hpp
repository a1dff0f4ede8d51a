// SPDX-License-Identifier: Apache-2.0
// The launch file, "lockwarp-launch/1": one JSON file that says what to run. Every engine takes it.
// docs/launch-files.md documents its fields.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/warp/launch.hpp"
#include "launch/case.hpp"
#include "launch/files.hpp"

namespace lockwarp::launch {

enum class InitKind : uint8_t { fill, hex, file, random, sequence };
enum class Distribution : uint8_t { uniform, normal };

// How a buffer begins. random: SplitMix64, see init.cpp.
struct Init {
    InitKind kind = InitKind::fill;
    uint8_t fill = 0;
    std::string hex;                   // decoded bytes
    std::string file;                  // path, relative to the launch file's folder
    isa::Type type = isa::Type::none;  // random, sequence
    Distribution distribution = Distribution::uniform;
    uint64_t seed = 0;
    double low = 0, high = 1;                // random uniform
    double mean = 0, deviation = 1;          // random normal
    double start = 0, step = 1, divide = 1;  // sequence
};

struct BufferField {
    std::string name;
    uint64_t bytes = 0;
    Init init;
};

struct Pointer {
    uint64_t at = 0;  // byte of the argument
    std::string buffer;
    uint64_t offset = 0;
};

// One kernel argument: its bytes, with the addresses of buffers to be patched in.
struct Argument {
    std::string type;  // as written: "buffer", "s32", "bytes"
    std::vector<uint8_t> bytes;
    std::vector<Pointer> pointers;
};

struct LaunchFile {
    std::string path;
    std::string folder;  // that relative paths start from
    std::string ptx;
    std::string entry;
    std::string arch;
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    bool cooperative = false;
    std::vector<BufferField> buffers;
    std::vector<BufferField> variables;  // of the module; bytes 0: as many as it has
    std::vector<Argument> arguments;
    std::vector<std::string> outputs;
    std::vector<std::string> warnings;  // unknown fields, with the nearest known one
};

// An error names the file, the field and what was expected.
[[nodiscard]] Result<LaunchFile> read_launch_file(const std::string& path);

// The same from text; `path` is for messages.
[[nodiscard]] Result<LaunchFile> parse_launch_file(const std::string& text,
                                                   const std::string& path);

// A buffer's or variable's bytes before the run; `fields` is what messages call it by.
[[nodiscard]] Result<std::vector<uint8_t>> initial_bytes(const LaunchFile& file,
                                                         const BufferField& buffer,
                                                         std::string_view fields = "buffers");

// The kernel's parameter space, without the buffers' addresses: those go where the patches say.
struct Parameters {
    std::vector<uint8_t> bytes;
    std::vector<Patch> patches;
};

// Lays out the arguments in the kernel's parameters.
[[nodiscard]] Result<Parameters> lay_out(const LaunchFile& file, const isa::Program& program);

// Every buffer's bytes before the run, in the order of LaunchFile::buffers.
[[nodiscard]] Result<std::vector<std::vector<uint8_t>>> make_buffers(const LaunchFile& file);

// The launch as both engines of validate take it. Moves from `module`.
[[nodiscard]] Result<Case> make_case(const LaunchFile& file, ptx::Module& module,
                                     const isa::Program& program);

// A launch ready to run on the emulator: owns the buffers' bytes.
struct Prepared {
    std::vector<std::vector<uint8_t>> storage;
    warp::Launch launch;
};

// Makes and places the buffers, and lays out the arguments.
[[nodiscard]] Result<Prepared> prepare(const LaunchFile& file, const isa::Program& program);

}  // namespace lockwarp::launch
