// SPDX-License-Identifier: Apache-2.0
// What the code of a kernel does with its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/types.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::launch {

// A field of a parameter that the kernel reads: its offset, its type and how many side by side.
struct ReadField {
    uint64_t at = 0;
    isa::Type type = isa::Type::none;
    uint64_t count = 1;
    bool pointer = false;  // the kernel takes it for an address
};

// The fields of the parameter that the kernel's code reads, by offset; of those that overlap the
// first, of those that begin together the longest. What it reads through addresses that it computes
// is not among them.
std::vector<ReadField> read_fields(const ptx::Function& entry, const std::string& parameter);

// Whether the kernel does nothing with the parameter, a pointer, but store through it: what it
// points to need not have a value before the launch. false where that cannot be seen.
bool is_only_stored_through(const ptx::Function& entry, const std::string& parameter);

// A tensor map (CUtensorMap, 128 bytes) in a parameter, and an instruction that uses it (PTX
// manual, "Tensors" and "cp.async.bulk.tensor").
struct TensorMapUse {
    std::string parameter;
    uint64_t at = 0;          // its byte in the parameter
    std::string instruction;  // "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
    uint32_t dimensions = 0;  // 0: the instruction does not say
    std::string mode;         // ".tile", ".im2col"; of tensor copies without one ".tile"
    ptx::Place place;
};

inline constexpr uint64_t tensor_map_bytes = 128;

// The uses whose address is a parameter's and a constant, in the order of the text.
std::vector<TensorMapUse> tensor_map_uses(const ptx::Function& entry);

}  // namespace lockwarp::launch
