// SPDX-License-Identifier: Apache-2.0
#include "cuda/record.hpp"

#include <cstring>

#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

const uint8_t* bytes_at(Address a) { return reinterpret_cast<const uint8_t*>(a); }

}  // namespace

Record::Record(std::string folder, uint64_t number, const Function& f, const warp::Launch& l) {
    file_.folder = std::move(folder);
    file_.number = number;
    file_.entry = f.name;
    file_.arch = isa::row(driver().arch).name;
    file_.grid = {l.grid.x, l.grid.y, l.grid.z};
    file_.block = {l.block.x, l.block.y, l.block.z};
    if (l.cluster) file_.cluster = {l.cluster->x, l.cluster->y, l.cluster->z};
    file_.dynamic_shared = l.dynamic_shared;
    file_.cooperative = l.cooperative;
    file_.non_portable_cluster = l.non_portable_cluster;
    file_.parameters = l.parameters;
    file_.types = f.parameters;
    const std::shared_ptr<Module> module = f.module.lock();
    if (module == nullptr) return;
    file_.module = write_bytes(file_.folder, module->text.data(), module->text.size(), ".ptx");
    follow(file_.parameters.data(), file_.parameters.size());
    for (size_t i = 0; i < lockwarp_module_variables(module->loaded); ++i) {
        lockwarp_variable v{};
        v.struct_size = sizeof v;
        lockwarp_module_variable_at(module->loaded, i, &v);
        if (v.size == 0 || v.bytes == nullptr) continue;
        file_.variables.emplace_back(v.name, write_bytes(file_.folder, v.bytes, v.size, ".bin"));
        follow(static_cast<const uint8_t*>(v.bytes), v.size);
    }
}

// Whatever may be an address of memory that is known leads to it.
void Record::follow(const uint8_t* bytes, size_t size) {
    for (size_t i = 0; i + 8 <= size; i += 4) {
        Address address = 0;
        std::memcpy(&address, bytes + i, sizeof address);
        const std::optional<Allocation> a = allocation_at(address);
        if (!a || a->kind == Kind::variable || buffers_.contains(a->base)) continue;
        buffers_[a->base] = {a->base,
                             a->size,
                             "m" + std::to_string(a->id),
                             write_buffer(file_.folder, a->base, bytes_at(a->base), a->size),
                             {}};
        follow(bytes_at(a->base), a->size);
    }
}

// Of a launch that trapped nothing is expected.
void Record::finish(const warp::Result& result) {
    for (auto& [base, b] : buffers_) {
        if (!result.trap && !result.refusal)
            b.expected = write_buffer(file_.folder, base, bytes_at(base), b.size);
        file_.buffers.push_back(std::move(b));
    }
    write_launch_file(file_);
}

}  // namespace lockwarp::cuda
