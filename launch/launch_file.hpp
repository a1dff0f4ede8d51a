// SPDX-License-Identifier: Apache-2.0
// The launch file, "lockwarp-launch/1": one JSON file that says what to run. Every engine takes it.
// docs/launch-files.md documents its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/isa/tensor_map.hpp"
#include "emu/warp/launch.hpp"
#include "launch/case.hpp"
#include "launch/expect.hpp"
#include "launch/files.hpp"
#include "launch/init.hpp"
#include "launch/json.hpp"

namespace lockwarp::launch {

// A buffer's address that stands in an argument or in another buffer.
struct Pointer {
    ptx::Place place;
    uint64_t at = 0;  // byte of the argument or the buffer
    std::string buffer;
    uint64_t offset = 0;
};

// A tensor map of the file. Its address is that of the buffer.
struct TensorMapField {
    ptx::Place place;
    std::string name;
    isa::TensorMap map;
    std::string buffer;
    uint64_t offset = 0;
};

// The 128 bytes of a tensor map that stand in an argument or in a buffer.
struct PlacedMap {
    uint64_t at;
    size_t map;  // of LaunchFile::tensor_maps
};

// A buffer, or a variable of a module.
struct BufferField {
    ptx::Place place;
    std::string name;
    uint64_t bytes = 0;    // of a variable 0: as many as it has
    uint64_t address = 0;  // 0: the engine chooses
    Init init;
    std::vector<Pointer> pointers;  // of tensor maps too
    std::vector<PlacedMap> maps;
    isa::Type type = isa::Type::none;  // of its elements; none: not stated
    std::vector<uint64_t> shape;       // the outermost dimension first; empty: not stated
    uint64_t stride = 0;               // elements from row to row; 0: as many as a row has
    bool inherited = false;            // a variable that an earlier launch of the module set
};

// One kernel argument: its bytes, with the addresses of buffers to be patched in.
struct Argument {
    ptx::Place place;
    std::string type;  // as written: "buffer", "s32", "bytes", "struct"
    uint64_t alignment = 1;
    std::vector<uint8_t> bytes;
    std::vector<Pointer> pointers;  // of tensor maps too
    std::vector<PlacedMap> maps;    // whose bytes, but for the address, `bytes` has
};

// Where a function of the module lies for calls by its address, beside where the emulator has it.
struct FunctionField {
    ptx::Place place;
    std::string name;
    uint64_t address = 0;
};

// One launch of a kernel.
struct Kernel {
    ptx::Place place;
    ptx::Place ptx_place, entry_place;
    std::string ptx;
    std::string entry;
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    std::optional<warp::Dim3> cluster;  // as in warp::Launch, and so the next two
    bool non_portable_cluster = false;
    bool cooperative = false;
    std::vector<BufferField> variables;  // of its module, set before it
    std::vector<FunctionField> functions;
    std::vector<Argument> arguments;
};

struct Output {
    ptx::Place place;
    std::string name;  // of a buffer, else of a variable
};

struct LaunchFile {
    std::string path;
    std::string folder;  // that relative paths start from
    std::string arch;
    ptx::Place arch_place;
    std::vector<TensorMapField> tensor_maps;
    std::vector<BufferField> buffers;  // by name
    std::vector<Kernel> launches;      // one after another on the same buffers; at least one
    std::vector<Output> outputs;
    std::vector<Expectation> expectations;

    const BufferField* find_buffer(std::string_view name) const;
    // A launch's field as messages name it: "launches[1].entry", or "entry" of a single one.
    std::string field(const Kernel& kernel, std::string_view name) const;
    // "path:line:column: " of a place in it.
    std::string at(ptx::Place place) const { return launch::at(path, place); }
};

// An error names the file, the line, the column, the field and what was expected.
[[nodiscard]] Result<LaunchFile> read_launch_file(const std::string& path);

// The same from text; `path` is for messages.
[[nodiscard]] Result<LaunchFile> parse_launch_file(const std::string& text,
                                                   const std::string& path);

// A buffer's or variable's bytes before the run, without addresses of buffers; `fields` is what
// messages call it by.
[[nodiscard]] Result<std::vector<uint8_t>> initial_bytes(const LaunchFile& file,
                                                         const BufferField& buffer,
                                                         std::string_view fields = "buffers");

// The kernel's parameter space, without the buffers' addresses: those go where the patches say.
struct Parameters {
    std::vector<uint8_t> bytes;
    std::vector<Patch> patches;
};

// Lays out the arguments in the kernel's parameters.
[[nodiscard]] Result<Parameters> lay_out(const LaunchFile& file, const Kernel& kernel,
                                         const isa::Program& program);

// Every buffer's bytes before the run, in the order of LaunchFile::buffers, without addresses.
[[nodiscard]] Result<std::vector<std::vector<uint8_t>>> make_buffers(const LaunchFile& file);

// The addresses in the buffers: those of LaunchFile::buffers.
std::vector<BufferPatch> buffer_patches(const LaunchFile& file);

// The launch as both engines of validate take it. Moves from `module`. bytes: what the buffers hold
// before it.
[[nodiscard]] Result<Case> make_case(const LaunchFile& file, const Kernel& kernel,
                                     ptx::Module& module, const isa::Program& program,
                                     std::vector<std::vector<uint8_t>> bytes);

// The same of a file's first launch, on what its buffers begin with.
[[nodiscard]] Result<Case> make_case(const LaunchFile& file, ptx::Module& module,
                                     const isa::Program& program);

// The buffers of a launch file, placed for the emulator.
struct Memory {
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<uint64_t> addresses;
};

// Makes and places the buffers.
[[nodiscard]] Result<Memory> place_buffers(const LaunchFile& file);

// One launch on memory, which must outlive it.
[[nodiscard]] Result<warp::Launch> make_launch(const LaunchFile& file, const Kernel& kernel,
                                               const isa::Program& program, Memory& memory);

// A launch ready to run on the emulator: owns the buffers' bytes.
struct Prepared {
    std::vector<std::vector<uint8_t>> storage;
    warp::Launch launch;
};

// Makes and places the buffers, and lays out the arguments of the first kernel.
[[nodiscard]] Result<Prepared> prepare(const LaunchFile& file, const isa::Program& program);

}  // namespace lockwarp::launch
