// SPDX-License-Identifier: Apache-2.0
#include "engine/ahead.hpp"

#include <cstring>
#include <utility>

namespace lockwarp::engine {

namespace {

using isa::Op;

// What comes before a wait is short; a loop is a look for something.
constexpr uint64_t patience = 4096;
constexpr exec::Pace freely{uint64_t{1} << 62, true};

bool may_write_global(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    const ptx::Space space = o.mod.space;
    const bool is_global = space == ptx::Space::global || space == ptx::Space::none;
    switch (row.memory) {
        case isa::Memory::none:
        case isa::Memory::load:
        case isa::Memory::barrier:
            return false;
        case isa::Memory::store:
        case isa::Memory::update:
            return !row.shared_only && is_global;
        case isa::Memory::copy:
            return o.op != Op::bulk_load && o.op != Op::tensor_load && !row.shared_only;
    }
    return true;
}

bool waits(const lockwarp_kernel& kernel, size_t operation) {
    lockwarp_instruction i{};
    i.struct_size = sizeof i;
    return lockwarp_kernel_instruction(&kernel, operation, &i) == LOCKWARP_OK &&
           std::strstr(i.text, "griddepcontrol.wait") != nullptr;
}

}  // namespace

Ahead::Ahead(const lockwarp_kernel& kernel, std::function<void()> finish)
    : finish_(std::move(finish)) {
    const std::vector<isa::Operation>& operations = kernel.program.operations;
    for (size_t i = 0; i < operations.size(); ++i)
        ends_.push_back(may_write_global(operations[i]) ||
                        (operations[i].op == Op::hint && waits(kernel, i)));
}

exec::Pace Ahead::before(const warp::Cta&, const warp::Warp& warp, size_t path) {
    if (!finish_) return freely;
    if (!ends_[warp.paths[path].pc] && ++instructions_ < patience) return {};
    std::exchange(finish_, nullptr)();
    return freely;
}

}  // namespace lockwarp::engine
