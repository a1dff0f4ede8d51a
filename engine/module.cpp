// SPDX-License-Identifier: Apache-2.0
// Modules, their variables and kernels.
#include <algorithm>
#include <cstring>

#include "emu/isa/function_address.hpp"
#include "emu/isa/placement.hpp"
#include "emu/ptx/parser.hpp"
#include "engine/error.hpp"
#include "engine/handles.hpp"
#include "engine/observe.hpp"
#include "engine/structs.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace {

uint64_t address_of(const uint8_t* bytes) { return reinterpret_cast<uint64_t>(bytes); }

// Places the variables twice: how many bytes they are, and then where those are.
void place(lockwarp_module& m) {
    isa::ModuleVariables at = isa::place_variables(m.tree);
    if (!at.diagnostics.empty()) fail(m.name, std::move(at.diagnostics));
    m.global_bytes = at.global_image.size();
    if (m.global_bytes != 0) {
        m.globals = block_of(m.global_bytes);
        at = isa::place_variables(m.tree, address_of(m.globals.get()));
        if (!at.diagnostics.empty()) fail(m.name, std::move(at.diagnostics));
        std::memcpy(m.globals.get(), at.global_image.data(), m.global_bytes);
        m.context->memory.add({address_of(m.globals.get()), m.global_bytes, m.globals.get(),
                               "variables of " + m.name});
    }
    // Where a host asks for their addresses, kernels of other launches may write them.
    m.constant_bytes = at.const_image.size();
    if (m.constant_bytes != 0) {
        m.constants = block_of(m.constant_bytes);
        std::memcpy(m.constants.get(), at.const_image.data(), m.constant_bytes);
        m.context->memory.add({address_of(m.constants.get()), m.constant_bytes, m.constants.get(),
                               "constants of " + m.name});
    }
    std::ranges::copy_if(at.variables, std::back_inserter(m.variables), [](const isa::Placed& v) {
        return v.space == ptx::Space::global || v.space == ptx::Space::const_;
    });
}

// What lockwarp_module_destroy does, also of one that was not finished.
struct Unloaded {
    void operator()(lockwarp_module* m) const {
        if (m->globals != nullptr) m->context->memory.remove(m->globals.get(), m->global_bytes);
        if (m->constants != nullptr)
            m->context->memory.remove(m->constants.get(), m->constant_bytes);
        delete m;
    }
};

isa::Arch chosen_arch(const lockwarp_module& m, const char* name) {
    if (name != nullptr) return arch_of(name);
    if (m.context->arch) return *m.context->arch;
    std::vector<ptx::Diagnostic> wrong;
    const std::optional<isa::Arch> arch = isa::target_arch(m.tree, wrong);
    if (!arch) fail(m.name, std::move(wrong));
    return *arch;
}

lockwarp_variable shown(const lockwarp_module& m, const isa::Placed& v) {
    const bool in_global = v.space == ptx::Space::global;
    const uint64_t offset = in_global ? v.address - address_of(m.globals.get()) : v.address;
    const uint8_t* const bytes = (in_global ? m.globals.get() : m.constants.get()) + offset;
    return {sizeof(lockwarp_variable),
            v.name.c_str(),
            in_global ? "global" : "const",
            in_global ? v.address : isa::const_window + v.address,
            v.bytes,
            const_cast<uint8_t*>(bytes)};
}

const ptx::Function* function_named(const ptx::Module& tree, const std::string& name) {
    for (const auto& item : tree.items)
        if (const auto* f = std::get_if<ptx::Function>(&item);
            f != nullptr && f->is_entry && f->has_body && f->name == name)
            return f;
    return nullptr;
}

// A missing name is told apart from a body that is wrong: both are diagnostics of isa::resolve.
void refuse(const lockwarp_module& m, isa::Resolved& resolved) {
    if (resolved.diagnostics.empty()) return;
    if (resolved.program.entry.empty() && resolved.diagnostics.size() == 1) {
        const ptx::Diagnostic& d = resolved.diagnostics[0];
        fail(LOCKWARP_NOT_FOUND, m.name + ": " + d.message + (d.hint.empty() ? "" : "; " + d.hint));
    }
    fail(m.name, std::move(resolved.diagnostics));
}

std::unique_ptr<lockwarp_kernel> make_kernel(lockwarp_module& m, std::string_view name) {
    const uint64_t base =
        m.globals != nullptr ? address_of(m.globals.get()) : isa::module_global_base;
    isa::Resolved resolved = isa::resolve(m.tree, m.arch, name, base);
    refuse(m, resolved);
    auto kernel = std::make_unique<lockwarp_kernel>();
    kernel->module = &m;
    kernel->program = std::move(resolved.program);
    kernel->program.global_image.clear();
    kernel->program.const_image.clear();
    const ptx::Function* const f = function_named(m.tree, kernel->program.entry);
    for (const ptx::Variable& v : f->parameters) kernel->declared.push_back(&v);
    for (const isa::Parameter& p : kernel->program.parameters)
        kernel->parameter_types.emplace_back(isa::row(p.type).name.substr(1));
    return kernel;
}

}  // namespace

lockwarp_status lockwarp_module_load(lockwarp_context* context, const char* text, size_t size,
                                     const lockwarp_module_options* options, lockwarp_module** out,
                                     lockwarp_error** error) {
    return guarded(error, [&] {
        if (context == nullptr || text == nullptr || out == nullptr || !is_known(options))
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_module_load: context, text, out or options");
        *out = nullptr;
        const lockwarp_module_options given = taken(options);
        std::unique_ptr<lockwarp_module, Unloaded> m(new lockwarp_module);
        m->context = context->state;
        m->name = given.name != nullptr ? given.name : "PTX";
        ptx::Parsed parsed = ptx::parse({text, size});
        if (!parsed.diagnostics.empty()) fail(m->name, std::move(parsed.diagnostics));
        m->tree = std::move(parsed.module);
        m->arch = chosen_arch(*m, given.arch);
        m->sources = ptx::source_map(m->tree);
        m->kernel_names = isa::entries(m->tree);
        place(*m);
        *out = m.release();
    });
}

void lockwarp_module_destroy(lockwarp_module* module) {
    if (module != nullptr) Unloaded()(module);
}

const char* lockwarp_module_arch(const lockwarp_module* module) {
    return module == nullptr ? "" : isa::row(module->arch).name.data();
}

size_t lockwarp_module_kernels(const lockwarp_module* module) {
    return module == nullptr ? 0 : module->kernel_names.size();
}

const char* lockwarp_module_kernel_name(const lockwarp_module* module, size_t index) {
    return index < lockwarp_module_kernels(module) ? module->kernel_names[index].c_str() : nullptr;
}

lockwarp_status lockwarp_module_kernel(lockwarp_module* module, const char* name,
                                       const lockwarp_kernel** out, lockwarp_error** error) {
    return guarded(error, [&] {
        if (module == nullptr || out == nullptr)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_module_kernel: no module or out");
        *out = nullptr;
        const std::string_view wanted = name != nullptr ? name : "";
        const std::lock_guard lock(module->mutex);
        auto found = module->kernels.find(wanted);
        if (found == module->kernels.end()) {
            std::unique_ptr<lockwarp_kernel> kernel = make_kernel(*module, wanted);
            const std::string own = kernel->program.entry;
            // A plain name may lead to a kernel that is there already: it stays the same handle.
            found = module->kernels.try_emplace(own, std::move(kernel)).first;
        }
        *out = found->second.get();
    });
}

size_t lockwarp_module_variables(const lockwarp_module* module) {
    return module == nullptr ? 0 : module->variables.size();
}

lockwarp_status lockwarp_module_variable_at(const lockwarp_module* module, size_t index,
                                            lockwarp_variable* out) {
    if (module == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (index >= module->variables.size()) return LOCKWARP_NOT_FOUND;
    give(out, shown(*module, module->variables[index]));
    return LOCKWARP_OK;
}

lockwarp_status lockwarp_module_variable(const lockwarp_module* module, const char* name,
                                         lockwarp_variable* out, lockwarp_error** error) {
    return guarded(error, [&] {
        if (module == nullptr || name == nullptr || out == nullptr || out->struct_size == 0)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_module_variable: no module, name or out");
        const auto found = std::ranges::find(module->variables, name, &isa::Placed::name);
        if (found == module->variables.end()) {
            std::string list;
            for (const isa::Placed& v : module->variables)
                list += (list.empty() ? "; it has " : ", ") + v.name;
            fail(LOCKWARP_NOT_FOUND, module->name + " has no variable '" + name + "'" + list);
        }
        give(out, shown(*module, *found));
    });
}

lockwarp_status lockwarp_kernel_get_info(const lockwarp_kernel* kernel, lockwarp_kernel_info* out) {
    if (kernel == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    constexpr uint32_t most = 1024;
    const isa::Program& p = kernel->program;
    const auto count = [](const std::array<uint32_t, 3>& d) {
        return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{d[0]} * d[1] * d[2], most));
    };
    lockwarp_kernel_info info{};
    info.struct_size = sizeof info;
    info.name = p.entry.c_str();
    info.arch = isa::row(p.arch).name.data();
    info.parameters = static_cast<uint32_t>(p.parameters.size());
    info.parameter_bytes = p.parameter_bytes;
    info.shared_static = p.shared_static;
    info.local_bytes = p.local_bytes;
    std::ranges::copy(p.required_block, info.required_block);
    info.max_threads = p.required_block[0] != 0  ? count(p.required_block)
                       : p.maximum_block[0] != 0 ? count(p.maximum_block)
                                                 : most;
    info.least_ctas = p.least_ctas;
    info.max_registers = p.max_registers;
    give(out, info);
    return LOCKWARP_OK;
}

const char* lockwarp_kernel_function_at(const lockwarp_kernel* kernel, uint64_t address) {
    if (kernel == nullptr) return nullptr;
    const std::optional<uint32_t> number = isa::function_number(address);
    const uint32_t index = number ? isa::function_index(kernel->program, *number) : 0;
    return index == 0 ? nullptr : kernel->program.functions[index].name.c_str();
}

lockwarp_status lockwarp_kernel_parameter(const lockwarp_kernel* kernel, size_t index,
                                          lockwarp_parameter* out) {
    if (kernel == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (index >= kernel->program.parameters.size()) return LOCKWARP_NOT_FOUND;
    const isa::Parameter& p = kernel->program.parameters[index];
    const ptx::Variable& v = *kernel->declared[index];
    give(out,
         {sizeof *out, p.name.c_str(), kernel->parameter_types[index].c_str(), p.offset, p.bytes,
          p.alignment, p.is_array, v.is_pointer, v.pointer_alignment, space_name(v.pointer_space)});
    return LOCKWARP_OK;
}
