// SPDX-License-Identifier: Apache-2.0
// From a launch file to what an engine takes: parameters, buffers and their addresses.
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "launch/launch_file.hpp"

namespace lockwarp::launch {

namespace {

// Buffers lie in the order of their names, far enough apart that a small overrun hits none.
constexpr uint64_t first_address = uint64_t{0x70} << 32;
constexpr uint64_t gap = uint64_t{1} << 20;

size_t index_of(const LaunchFile& file, const std::string& buffer) {
    return static_cast<size_t>(file.find_buffer(buffer) - file.buffers.data());
}

// The first buffer with a fixed address that [from, from + bytes) and a gap behind it meet.
const BufferField* meets(const LaunchFile& file, uint64_t from, uint64_t bytes) {
    for (const BufferField& b : file.buffers)
        if (b.address != 0 && from < b.address + b.bytes + gap && b.address < from + bytes + gap)
            return &b;
    return nullptr;
}

std::vector<uint64_t> choose_addresses(const LaunchFile& file) {
    std::vector<uint64_t> out;
    uint64_t next = first_address;
    for (const BufferField& b : file.buffers) {
        if (b.address != 0) {
            out.push_back(b.address);
            continue;
        }
        while (const BufferField* other = meets(file, next, b.bytes))
            next = (other->address + other->bytes + 2 * gap - 1) / gap * gap;
        out.push_back(next);
        next = (next + b.bytes + 2 * gap - 1) / gap * gap;
    }
    return out;
}

Result<void> check_fixed(const LaunchFile& file) {
    for (const BufferField& a : file.buffers)
        for (const BufferField& b : file.buffers)
            if (&a < &b && a.address != 0 && b.address != 0 && a.address < b.address + b.bytes &&
                b.address < a.address + a.bytes)
                return failure(file.at(b.place) + "field 'buffers." + b.name +
                               ".address': it overlaps buffer '" + a.name + "'");
    return {};
}

// "3 given, the kernel k has 4; missing: 'n' (.u32, 4 bytes)".
std::string wrong_count(const Kernel& kernel, const isa::Program& program) {
    std::string out = std::to_string(kernel.arguments.size()) + " given, the kernel " +
                      program.entry + " has " + std::to_string(program.parameters.size());
    for (size_t i = kernel.arguments.size(); i < program.parameters.size(); ++i) {
        const isa::Parameter& p = program.parameters[i];
        out += (i == kernel.arguments.size() ? "; missing: " : ", ") + p.name + " (" +
               std::to_string(p.bytes) + " bytes)";
    }
    return out;
}

// Those that the program may call.
std::vector<warp::FunctionAddress> addresses_of(const Kernel& kernel, const isa::Program& program) {
    std::vector<warp::FunctionAddress> out;
    for (const FunctionField& f : kernel.functions)
        if (const auto found = std::ranges::find(program.functions, f.name, &isa::Function::name);
            found != program.functions.end())
            out.push_back({f.address, found->number});
    return out;
}

}  // namespace

Result<Parameters> lay_out(const LaunchFile& file, const Kernel& kernel,
                           const isa::Program& program) {
    if (kernel.arguments.size() != program.parameters.size())
        return failure(file.at(kernel.place) + "field '" + file.field(kernel, "args") +
                       "': " + wrong_count(kernel, program));
    Parameters out;
    out.bytes.assign(program.parameter_bytes, 0);
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
        const Argument& a = kernel.arguments[i];
        const isa::Parameter& p = program.parameters[i];
        const std::string field = file.field(kernel, "args[" + std::to_string(i) + "]");
        if (a.bytes.size() != p.bytes)
            return failure(file.at(a.place) + "field '" + field + "': " + a.type + " has " +
                           std::to_string(a.bytes.size()) + " bytes, parameter '" + p.name + "' (" +
                           std::string(isa::row(p.type).name) + ") has " + std::to_string(p.bytes));
        std::ranges::copy(a.bytes, out.bytes.begin() + p.offset);
        for (const Pointer& pointer : a.pointers)
            out.patches.push_back({static_cast<uint32_t>(p.offset + pointer.at),
                                   index_of(file, pointer.buffer), pointer.offset});
    }
    return out;
}

Result<std::vector<std::vector<uint8_t>>> make_buffers(const LaunchFile& file) {
    uint64_t total = 0;
    for (const BufferField& b : file.buffers) total += b.bytes;
    struct sysinfo machine {};
    ::sysinfo(&machine);
    if (total > uint64_t{machine.totalram} * machine.mem_unit)
        return failure(file.path + ": the buffers have " + std::to_string(total) +
                       " bytes, more than this machine");
    std::vector<std::vector<uint8_t>> out;
    for (const BufferField& b : file.buffers) {
        Result<std::vector<uint8_t>> bytes = initial_bytes(file, b);
        if (!bytes) return failure(bytes);
        for (const PlacedMap& m : b.maps)
            std::ranges::copy(isa::encode(file.tensor_maps[m.map].map),
                              bytes->begin() + static_cast<std::ptrdiff_t>(m.at));
        out.push_back(std::move(*bytes));
    }
    return out;
}

std::vector<BufferPatch> buffer_patches(const LaunchFile& file) {
    std::vector<BufferPatch> out;
    for (size_t i = 0; i < file.buffers.size(); ++i)
        for (const Pointer& p : file.buffers[i].pointers)
            out.push_back({i, p.at, index_of(file, p.buffer), p.offset});
    return out;
}

Result<Case> make_case(const LaunchFile& file, const Kernel& kernel, ptx::Module& module,
                       const isa::Program& program, std::vector<std::vector<uint8_t>> bytes) {
    Result<Parameters> parameters = lay_out(file, kernel, program);
    if (!parameters) return failure(parameters);
    if (Result<void> good = check_fixed(file); !good) return failure(good);
    Case out;
    out.bytes = std::move(bytes);
    out.buffer_patches = buffer_patches(file);
    for (const TensorMapField& m : file.tensor_maps)
        out.maps.push_back({m.name, m.map, index_of(file, m.buffer), m.offset});
    for (const BufferField& b : file.buffers) {
        out.names.push_back(b.name);
        out.fixed.push_back(b.address);
    }
    out.module = std::move(module);
    out.entry = program.entry;
    out.grid = kernel.grid;
    out.block = kernel.block;
    out.dynamic_shared = kernel.dynamic_shared;
    out.cluster = kernel.cluster;
    out.non_portable_cluster = kernel.non_portable_cluster;
    out.cooperative = kernel.cooperative;
    out.functions = addresses_of(kernel, program);
    out.parameters = std::move(parameters->bytes);
    out.patches = std::move(parameters->patches);
    return out;
}

Result<Case> make_case(const LaunchFile& file, ptx::Module& module, const isa::Program& program) {
    Result<std::vector<std::vector<uint8_t>>> buffers = make_buffers(file);
    if (!buffers) return failure(buffers);
    return make_case(file, file.launches.front(), module, program, std::move(*buffers));
}

Result<Memory> place_buffers(const LaunchFile& file) {
    if (Result<void> good = check_fixed(file); !good) return failure(good);
    Result<std::vector<std::vector<uint8_t>>> buffers = make_buffers(file);
    if (!buffers) return failure(buffers);
    Memory out{std::move(*buffers), choose_addresses(file)};
    patch_buffers(buffer_patches(file), out.addresses, out.bytes);
    return out;
}

Result<warp::Launch> make_launch(const LaunchFile& file, const Kernel& kernel,
                                 const isa::Program& program, Memory& memory) {
    Result<Parameters> parameters = lay_out(file, kernel, program);
    if (!parameters) return failure(parameters);
    warp::Launch out;
    for (size_t i = 0; i < file.buffers.size(); ++i)
        out.buffers.push_back({file.buffers[i].name, memory.addresses[i], memory.bytes[i]});
    for (const Patch& p : parameters->patches) {
        const uint64_t value = memory.addresses[p.buffer] + p.offset;
        std::memcpy(parameters->bytes.data() + p.at, &value, sizeof value);
    }
    out.parameters = std::move(parameters->bytes);
    out.grid = kernel.grid;
    out.block = kernel.block;
    out.dynamic_shared = kernel.dynamic_shared;
    out.cluster = kernel.cluster;
    out.non_portable_cluster = kernel.non_portable_cluster;
    out.cooperative = kernel.cooperative;
    out.functions = addresses_of(kernel, program);
    return out;
}

Result<Prepared> prepare(const LaunchFile& file, const isa::Program& program) {
    Result<Memory> memory = place_buffers(file);
    if (!memory) return failure(memory);
    Result<warp::Launch> made = make_launch(file, file.launches.front(), program, *memory);
    if (!made) return failure(made);
    // A vector keeps its bytes where they are when it moves.
    return Prepared{std::move(memory->bytes), std::move(*made)};
}

}  // namespace lockwarp::launch
