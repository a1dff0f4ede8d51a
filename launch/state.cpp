// SPDX-License-Identifier: Apache-2.0
#include "launch/state.hpp"

#include <algorithm>

#include "emu/lockwarp.hpp"
#include "launch/variables.hpp"

namespace lockwarp::launch {

namespace {

bool is_global(const isa::Placed& v) { return v.space == ptx::Space::global && v.bytes != 0; }

std::vector<uint8_t> part_of(const std::vector<uint8_t>& image, const isa::Placed& v,
                             uint64_t base) {
    const auto begin = image.begin() + static_cast<std::ptrdiff_t>(v.address - base);
    return {begin, begin + static_cast<std::ptrdiff_t>(v.bytes)};
}

// Whether the launch sets the variable itself.
bool is_set(const Input& in, const isa::Program& program, const isa::Placed& v) {
    return std::ranges::any_of(in.kernel().variables, [&](const BufferField& field) {
        return !field.inherited && find_variable(program, field.name) == &v;
    });
}

// The program's image with what launches have left; of the variables that the launch sets itself
// only with `set_too`.
std::vector<uint8_t> image_of(const State& state, const Input& in, const isa::Program& program,
                              bool set_too) {
    std::vector<uint8_t> image = program.global_image;
    const auto module = state.changed.find(in.path);
    if (module == state.changed.end()) return image;
    for (const isa::Placed& v : program.variables) {
        const auto found = module->second.find(v.name);
        std::span<const uint8_t> kept;
        if (found != module->second.end()) kept = found->second;
        if (!is_global(v) || kept.size() != v.bytes || (!set_too && is_set(in, program, v)))
            continue;
        std::ranges::copy(
            kept, image.begin() + static_cast<std::ptrdiff_t>(v.address - isa::module_global_base));
    }
    return image;
}

}  // namespace

Result<State> make_state(const LaunchFile& file) {
    Result<Memory> memory = place_buffers(file);
    if (!memory) return failure(memory);
    return State{std::move(*memory), {}};
}

std::vector<uint8_t> variables_before(const State& state, const Input& in,
                                      const isa::Program& program) {
    return image_of(state, in, program, false);
}

void keep_variables(State& state, const Input& in, const isa::Program& program,
                    const std::vector<uint8_t>& image) {
    if (image.size() != program.global_image.size()) return;
    auto& kept = state.changed[in.path];
    for (const isa::Placed& v : program.variables) {
        if (!is_global(v)) continue;
        std::vector<uint8_t> bytes = part_of(image, v, isa::module_global_base);
        if (kept.contains(v.name) ||
            bytes != part_of(program.global_image, v, isa::module_global_base))
            kept[v.name] = std::move(bytes);
    }
}

void carry_variables(const State& state, const Input& in, ptx::Module& module) {
    const auto kept = state.changed.find(in.path);
    if (kept == state.changed.end()) return;
    for (const auto& [name, bytes] : kept->second) {
        const bool set =
            std::ranges::any_of(in.kernel().variables, [&, &key = name](const BufferField& field) {
                return !field.inherited && names_variable(key, field.name);
            });
        if (!set) set_variable(module, name, bytes);
    }
}

Result<void> advance(State& state, const Input& in, const isa::Program& program,
                     const std::atomic<bool>* stop) {
    Result<warp::Launch> launch = make_launch(in.launch, in.kernel(), program, state.memory);
    if (!launch) return failure(launch);
    std::vector<uint8_t> variables = variables_before(state, in, program);
    launch->variables = &variables;
    launch->stop = stop;
    const warp::Result result = exec::launch(program, *launch);
    if (result.refusal) return failure(in.launch.path + ": " + result.refusal->what);
    if (result.trap)
        return failure(in.launch.path + ": " + program.entry + ": " +
                       std::string(warp::trap_name(result.trap->kind)));
    keep_variables(state, in, program, variables);
    return {};
}

std::vector<uint8_t> variable_bytes(const State& state, const Input& in,
                                    const isa::Program& program, const std::string& name) {
    const isa::Placed* const v = find_variable(program, name);
    if (v == nullptr) return {};
    if (v->space == ptx::Space::const_) return part_of(program.const_image, *v, 0);
    return part_of(image_of(state, in, program, true), *v, isa::module_global_base);
}

}  // namespace lockwarp::launch
