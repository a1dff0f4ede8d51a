// SPDX-License-Identifier: Apache-2.0
#include "launch/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/isa/types.hpp"
#include "launch/demangled.hpp"

namespace lockwarp::launch {

namespace {

std::vector<ptx::Variable*> settable(ptx::Module& module) {
    std::vector<ptx::Variable*> out;
    for (auto& item : module.items)
        if (auto* v = std::get_if<ptx::Variable>(&item);
            v != nullptr && (v->space == ptx::Space::const_ || v->space == ptx::Space::global) &&
            v->linking != ptx::Linking::extern_)
            out.push_back(v);
    return out;
}

std::string names_of(const std::vector<ptx::Variable*>& variables) {
    constexpr size_t shown = 8;
    std::string out;
    for (size_t i = 0; i < variables.size() && i < shown; ++i)
        out += (i == 0 ? "" : ", ") + variables[i]->name;
    return out + (variables.size() > shown ? ", ..." : "");
}

// Bytes of one element.
unsigned element_bytes(const ptx::Variable& v) {
    return v.vector * isa::bits(isa::type_named(v.type)) / 8;
}

// Elements, in the order of memory; 0: not stated, or more than a launch could have.
uint64_t elements(const ptx::Variable& v) {
    constexpr uint64_t most = uint64_t{1} << 28;
    constexpr size_t max_dims = 8;
    if (v.dims.size() > max_dims) return 0;
    uint64_t count = 1;
    for (const uint64_t d : v.dims) {
        if (d == 0 || count > most / d) return 0;
        count *= d;
    }
    return count;
}

// A variable and the bytes it begins with.
struct Setting {
    ptx::Variable* variable = nullptr;
    std::vector<uint8_t> bytes;
};

Result<Setting> find_setting(const LaunchFile& file, const BufferField& field,
                             ptx::Module& module) {
    const std::string where = file.at(field.place) + "field 'variables." + field.name + "': ";
    const std::vector<ptx::Variable*> all = settable(module);
    std::vector<ptx::Variable*> found;
    for (ptx::Variable* v : all)
        if (names_variable(v->name, field.name)) found.push_back(v);
    for (ptx::Variable* v : all)
        if (v->name == field.name) found = {v};
    if (found.empty())
        return failure(where + (all.empty()
                                    ? "the module has no .const or .global variables"
                                    : "the module has no such variable; it has " + names_of(all)));
    if (found.size() > 1) return failure(where + "may be " + names_of(found));
    const unsigned width = element_bytes(*found[0]);
    const uint64_t count = elements(*found[0]);
    if (width == 0 || count == 0) return failure(where + "a variable of this type cannot be set");
    BufferField whole = field;
    if (whole.bytes == 0) whole.bytes = count * width;
    if (whole.bytes != count * width)
        return failure(where + fmt::format("it has {} bytes, not {}", count * width, whole.bytes));
    Result<std::vector<uint8_t>> bytes = initial_bytes(file, whole, "variables");
    if (!bytes) return failure(bytes);
    return Setting{found[0], std::move(*bytes)};
}

// The variable becomes an array of bytes with these as its first values, and so does what declares
// it.
void set(ptx::Module& module, ptx::Variable& v, const std::vector<uint8_t>& bytes) {
    if (v.alignment == 0) v.alignment = element_bytes(v);
    v.type = ".b8";
    v.vector = 1;
    v.dims = {bytes.size()};
    ptx::Initializer init;
    init.kind = ptx::InitializerKind::bytes;
    init.text.assign(bytes.begin(), bytes.end());
    v.initializer = {std::move(init)};
    for (auto& item : module.items) {
        auto* const declared = std::get_if<ptx::Variable>(&item);
        if (declared == nullptr || declared == &v || declared->name != v.name) continue;
        declared->type = v.type;
        declared->vector = v.vector;
        declared->dims = v.dims;
    }
}

}  // namespace

// "_ZL4taps" and "_ZN2ns4tapsE" are the variable "taps".
bool names_variable(const std::string& mangled, const std::string& name) {
    if (mangled == name) return true;
    const std::string plain = demangled(mangled);
    return plain != mangled && (plain == name || plain.ends_with("::" + name));
}

void set_variable(ptx::Module& module, const std::string& name, const std::vector<uint8_t>& bytes) {
    for (ptx::Variable* v : settable(module))
        if (v->name == name && elements(*v) * element_bytes(*v) == bytes.size())
            set(module, *v, bytes);
}

Result<void> set_variables(const LaunchFile& file, const Kernel& kernel, ptx::Module& module) {
    std::vector<Setting> settings;
    for (const BufferField& field : kernel.variables) {
        Result<Setting> setting = find_setting(file, field, module);
        if (!setting) return failure(setting);
        settings.push_back(std::move(*setting));
    }
    std::ranges::sort(settings, {}, &Setting::variable);
    if (std::ranges::adjacent_find(settings, {}, &Setting::variable) != settings.end())
        return failure(file.at(kernel.variables.front().place) + "field '" +
                       file.field(kernel, "variables") + "': two of them name one variable");
    for (const Setting& s : settings) set(module, *s.variable, s.bytes);
    return {};
}

const isa::Placed* find_variable(const isa::Program& program, const std::string& name) {
    const isa::Placed* found = nullptr;
    for (const isa::Placed& v : program.variables) {
        if (v.space != ptx::Space::global && v.space != ptx::Space::const_) continue;
        if (v.name == name) return &v;
        if (!names_variable(v.name, name)) continue;
        if (found != nullptr) return nullptr;
        found = &v;
    }
    return found;
}

}  // namespace lockwarp::launch
