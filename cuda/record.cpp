// SPDX-License-Identifier: Apache-2.0
#include "cuda/record.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/large_numbers.hpp"
#include "emu/ptx/printer.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

const uint8_t* bytes_at(Address a) { return reinterpret_cast<const uint8_t*>(a); }

}  // namespace

Record::Record(std::string folder, uint64_t number, const Function& f, const LaunchShape& shape,
               const std::vector<uint8_t>& parameters, uint64_t most_bytes)
    : rest_(most_bytes) {
    file_.folder = std::move(folder);
    file_.number = number;
    file_.entry = f.name;
    file_.arch = isa::row(driver().arch).name;
    std::copy_n(shape.grid, 3, file_.grid.begin());
    std::copy_n(shape.block, 3, file_.block.begin());
    if (has_cluster(shape)) file_.cluster = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
    file_.dynamic_shared = shape.dynamic_shared;
    file_.cooperative = shape.cooperative;
    file_.non_portable_cluster = f.attributes[non_portable_cluster] != 0;
    file_.parameters = parameters;
    file_.types = f.parameters;
    const std::shared_ptr<Module> module = f.module.lock();
    if (module == nullptr) return;
    const std::string text = module->text.empty() ? ptx::print(module->loaded->tree) : module->text;
    file_.module = write_bytes(file_.folder, text.data(), text.size(), ".ptx");
    follow(file_.parameters.data(), file_.parameters.size());
    follow_ends();
    for (const Address a : large_numbers(text))
        if (const std::optional<Allocation> known = allocation_at(a)) add(*known);
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
        if (const std::optional<Allocation> a = allocation_at(address)) add(*a);
    }
}

// Of an iterator that goes backward, a kernel may have the end alone.
void Record::follow_ends() {
    for (size_t i = 0; i + 8 <= file_.parameters.size(); i += 4) {
        Address end = 0;
        std::memcpy(&end, file_.parameters.data() + i, sizeof end);
        const std::optional<Allocation> a = allocation_at(end - 1);
        if (a && a->base + a->size == end) add(*a);
    }
}

void Record::add(const Allocation& a) {
    if (a.kind == Kind::variable || buffers_.contains(a.base)) return;
    FileBuffer& b = buffers_[a.base] = {a.base, a.size, "m" + std::to_string(a.id), {}, {}};
    if (a.size > rest_) {
        left_out_ = true;
        return;
    }
    rest_ -= a.size;
    b.file = write_buffer(file_.folder, a.base, bytes_at(a.base), a.size);
    follow(bytes_at(a.base), a.size);
}

std::string Record::finish(bool has_ended) {
    for (auto& [base, b] : buffers_) {
        if (has_ended) b.expected = write_buffer(file_.folder, base, bytes_at(base), b.size);
        file_.buffers.push_back(std::move(b));
    }
    return write_launch_file(file_);
}

}  // namespace lockwarp::cuda
