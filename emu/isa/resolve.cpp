// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/resolve.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "emu/isa/flow.hpp"
#include "emu/isa/placement.hpp"
#include "emu/isa/placer.hpp"
#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

// Bounds on what a module may ask for, so that a hostile one cannot exhaust the machine.
constexpr uint64_t max_global_bytes = uint64_t{1} << 28;
constexpr uint64_t max_const_bytes = uint64_t{1} << 16;
constexpr uint32_t max_register_bytes = uint32_t{1} << 26;

// "_Z5scalePf" names the function "scale"; nested names ("_ZN2ns5scaleE...") their last part.
std::string_view plain_name(std::string_view mangled) {
    if (!mangled.starts_with("_Z")) return mangled;
    std::string_view rest = mangled.substr(2);
    const bool nested = rest.starts_with('N');
    if (nested) rest.remove_prefix(1);
    std::string_view name;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
        size_t length = 0;
        const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
        const auto digits = static_cast<size_t>(end - rest.data());
        if (bad != std::errc() || length > rest.size() - digits) return mangled;
        name = rest.substr(digits, length);
        rest.remove_prefix(digits + length);
        if (!nested) break;
    }
    return name.empty() ? mangled : name;
}

// Of vectors of registers; either name (PTX manual, "Vectors as Operands").
constexpr std::string_view components = "xyzw", colours = "rgba";

void declare(Resolver& r, Placer& placer, const ptx::Variable& v) {
    auto& scope = r.scopes.back();
    const std::string key = v.range != 0 ? range_key(v.name) : v.name;
    if (scope.contains(key)) {
        // An extern variable may be declared again, and defined once.
        if (placer.ahead.erase(&v) != 0)
            placer.fill(v);
        else if (v.linking != ptx::Linking::extern_)
            r.error(v.place, "Duplicate definition of variable '" + v.name + "'");
        return;
    }
    if (v.space != ptx::Space::reg) {
        if (placer.cursor(v.space) == nullptr) {
            r.error(v.place,
                    "Variable '" + v.name + "' stands in a state space that is not executed");
            return;
        }
        if (v.linking == ptx::Linking::extern_) {
            placer.place_extern(v);
        } else {
            placer.place(v);
            placer.fill(v);
        }
        return;
    }
    const Type type = type_named(v.type);
    if (v.vector > components.size()) {
        r.error(v.place, "Vectors of registers have 2 or 4 elements");
        return;
    }
    if (type == Type::none || (type == Type::b128 && v.vector > 1)) {
        r.error(v.place, "Registers of type '" + v.type + "' are not executed");
        return;
    }
    if (type == Type::b128)
        if (const std::string why = unsupported(r, "Type .b128", 70, 83); !why.empty())
            r.error(v.place, why);
    if (v.range != 0) {
        scope[key] = {SymbolKind::reg_range, 0, type, v.range};
    } else if (v.vector > 1) {
        const auto first = static_cast<uint32_t>(r.program.registers.size());
        for (uint32_t i = 0; i < v.vector; ++i) {
            const std::string name = v.name + "." + components[i];
            const Symbol symbol{SymbolKind::reg, r.new_register(name, type), type, 0};
            scope[name] = scope[v.name + "." + colours[i]] = symbol;
        }
        scope[v.name] = {SymbolKind::reg_vector, first, type, v.vector};
    } else {
        scope[v.name] = {SymbolKind::reg, r.new_register(v.name, type), type, 0};
    }
}

// The label of a table of branch targets or of a prototype.
void declare_table(Resolver& r, const ptx::Directive& d) {
    if (d.label.empty()) return;
    if (r.scopes.back().contains(d.label))
        r.error(d.place, "Duplicate definition of label '" + d.label + "'");
    const bool targets = d.name == ".branchtargets";
    r.scopes.back()[d.label] = {targets ? SymbolKind::targets : SymbolKind::prototype,
                                static_cast<uint32_t>(r.tables.size()), Type::none, 0};
    if (targets) r.tables.push_back(&d);
}

size_t count_instructions(const ptx::Block& block) {
    size_t count = 0;
    for (const ptx::Statement& s : block.body) {
        count += std::holds_alternative<ptx::Instruction>(s.node);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node))
            count += count_instructions(*inner);
    }
    return count;
}

void walk(Resolver& r, Placer& placer, const ptx::Block& block) {
    r.scopes.emplace_back();
    for (const ptx::Statement& s : block.body) {
        if (const auto* d = std::get_if<ptx::Directive>(&s.node)) declare_table(r, *d);
        if (const auto* label = std::get_if<ptx::Label>(&s.node)) {
            if (r.scopes.back().contains(label->name))
                r.error(label->place, "Duplicate definition of label '" + label->name + "'");
            r.scopes.back()[label->name] = {
                SymbolKind::label, static_cast<uint32_t>(r.label_operation.size()), Type::none, 0};
            r.label_operation.emplace_back();
            r.label_place.push_back(label->place);
        }
    }
    for (const ptx::Statement& s : block.body) {
        if (const auto* v = std::get_if<ptx::Variable>(&s.node)) {
            declare(r, placer, *v);
        } else if (const auto* label = std::get_if<ptx::Label>(&s.node)) {
            r.label_operation[r.scopes.back()[label->name].index] =
                static_cast<uint32_t>(r.program.operations.size());
        } else if (const auto* i = std::get_if<ptx::Instruction>(&s.node)) {
            r.decode(*i);
        } else if (const auto* inner = std::get_if<ptx::Block>(&s.node)) {
            walk(r, placer, *inner);
        }
    }
    r.scopes.pop_back();
}

void place_parameters(Resolver& r, const ptx::Function& entry) {
    uint64_t next = 0;
    for (const ptx::Variable& v : entry.parameters) {
        const std::optional<Placement> p = placement(v);
        if (!p) {
            r.error(v.place, "Parameter '" + v.name + "' has no usable size or alignment");
            continue;
        }
        if (r.scopes.back().contains(v.name))
            r.error(v.place, "Duplicate definition of variable '" + v.name + "'");
        next = round_up(next, p->alignment);
        if (next + p->bytes > max_parameter_bytes) {
            r.error(v.place, "Formal parameter space overflowed (" +
                                 std::to_string(max_parameter_bytes) + " bytes max)");
            return;
        }
        r.program.parameters.push_back({v.name, type_named(v.type), static_cast<uint32_t>(next),
                                        static_cast<uint32_t>(p->bytes),
                                        static_cast<uint32_t>(p->alignment), !v.dims.empty()});
        r.scopes.back()[v.name] = {
            SymbolKind::variable, static_cast<uint32_t>(r.program.variables.size()), Type::none, 0};
        r.program.variables.push_back({v.name, ptx::Space::param, next, p->bytes, false, true});
        next += p->bytes;
    }
    r.program.parameter_bytes = static_cast<uint32_t>(next);
}

// A result or parameter of the current function, a register or a place in its frame.
Passed declare_formal(Resolver& r, const ptx::Variable& v, bool read_only, uint64_t& frame,
                      uint32_t& alignment) {
    auto& scope = r.scopes.back();
    if (scope.contains(v.name))
        r.error(v.place, "Duplicate definition of variable '" + v.name + "'");
    if (v.space == ptx::Space::reg) {
        const Type type = type_named(v.type);
        if (bits(type) < 8 || bits(type) > 64 || v.vector != 1 || v.range != 0) {
            r.error(v.place, "Parameter '" + v.name + "' has no usable size or alignment");
            return {};
        }
        const uint32_t index = r.new_register(v.name, type);
        scope[v.name] = {SymbolKind::reg, index, type, 0};
        return {r.register_ref(index), 0, bits(type) / 8};
    }
    const std::optional<Placement> p = placement(v);
    if (!p || round_up(frame, p->alignment) + p->bytes > max_parameter_bytes) {
        r.error(v.place, "Parameter '" + v.name + "' has no usable size or alignment");
        return {};
    }
    frame = round_up(frame, p->alignment);
    alignment = std::max(alignment, static_cast<uint32_t>(p->alignment));
    scope[v.name] = {SymbolKind::variable, static_cast<uint32_t>(r.program.variables.size()),
                     Type::none, 0};
    r.program.variables.push_back({v.name, ptx::Space::param, frame, p->bytes, true, read_only});
    frame += p->bytes;
    return {no_ref, static_cast<uint32_t>(frame - p->bytes), static_cast<uint32_t>(p->bytes)};
}

// What a function is called with, so that calls can be resolved before its body is; returns the
// names that its body sees.
Scope declare_function(Resolver& r, const ptx::Function& f) {
    r.function = r.program.functions.size();
    Function out;
    out.name = f.name;
    out.number = r.numbers[r.function];
    out.place = f.place;
    r.scopes.emplace_back();
    uint64_t frame = 0;
    if (f.is_entry) {
        place_parameters(r, f);
    } else {
        for (const ptx::Variable& v : f.results)
            out.results.push_back(declare_formal(r, v, false, frame, out.frame_alignment));
        for (const ptx::Variable& v : f.parameters)
            out.parameters.push_back(declare_formal(r, v, true, frame, out.frame_alignment));
    }
    out.frame_bytes = static_cast<uint32_t>(frame);
    r.program.functions.push_back(std::move(out));
    Scope scope = std::move(r.scopes.back());
    r.scopes.pop_back();
    return scope;
}

void resolve_body(Resolver& r, Placer& placer, const ptx::Function& f, size_t index, Scope scope) {
    r.function = index;
    r.frame_constants.clear();
    r.program.functions[index].first = static_cast<uint32_t>(r.program.operations.size());
    // The module's own .local variables stand before the entry's.
    if (index != 0) placer.local.next = r.program.functions[index].frame_bytes;
    placer.frame_alignment = r.program.functions[index].frame_alignment;
    r.scopes.push_back(std::move(scope));
    walk(r, placer, f.body);
    r.scopes.pop_back();
    Operation last;
    last.op = f.is_entry ? Op::exit : Op::ret;
    last.place = f.body.end;
    r.program.operations.push_back(last);
    Function& done = r.program.functions[index];
    done.end = static_cast<uint32_t>(r.program.operations.size());
    done.frame_bytes = static_cast<uint32_t>(round_up(placer.local.next, 16));
    done.frame_alignment = static_cast<uint32_t>(placer.frame_alignment);
}

// The slots of each function's own registers, for the calls that must keep them.
void list_own_slots(Resolver& r) {
    for (size_t i = 0; i < r.program.registers.size(); ++i) {
        const Register& reg = r.program.registers[i];
        if (reg.ref == no_ref || r.register_owner[i] == 0) continue;
        const auto width = static_cast<uint8_t>(reg.type == Type::pred ? 1 : bits(reg.type));
        r.program.functions[r.register_owner[i]].own.push_back({reg.ref, width});
    }
    for (Function& f : r.program.functions)
        for (const FrameSlot& s : f.frame_slots) f.own.push_back({s.ref, s.width});
}

void read_performance_directives(Resolver& r, const ptx::Function& entry) {
    for (const ptx::Directive& d : entry.directives) {
        std::array<uint32_t, 3>* dims = nullptr;
        if (d.name == ".maxntid") dims = &r.program.maximum_block;
        if (d.name == ".reqntid") dims = &r.program.required_block;
        if (d.name == ".reqnctapercluster") dims = &r.program.required_cluster;
        if (d.name == ".explicitcluster") r.program.needs_cluster = true;
        if (d.name == ".blocksareclusters") r.program.grid_of_clusters = true;
        if (!d.operands.empty()) {
            const auto value = static_cast<uint32_t>(d.operands[0].bits);
            if (d.name == ".minnctapersm") r.program.least_ctas = value;
            if (d.name == ".maxnreg") r.program.max_registers = value;
            if (d.name == ".maxclusterrank") r.program.max_cluster_rank = value;
        }
        if (dims == nullptr) continue;
        *dims = {1, 1, 1};
        for (size_t i = 0; i < d.operands.size() && i < 3; ++i)
            (*dims)[i] = static_cast<uint32_t>(d.operands[i].bits);
    }
}

const ptx::Function* choose_entry(Resolver& r, std::string_view name) {
    std::vector<const ptx::Function*> all;
    std::vector<const ptx::Function*> plain;
    for (const auto& item : r.module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item); f && f->is_entry && f->has_body) {
            if (f->name == name) return f;
            all.push_back(f);
            if (plain_name(f->name) == name) plain.push_back(f);
        }
    if (name.empty() && all.size() == 1) return all[0];
    if (plain.size() == 1) return plain[0];
    std::string list;
    for (const ptx::Function* f : all) list += (list.empty() ? "" : ", ") + f->name;
    if (all.empty())
        r.error(r.module.version_place, "The module has no entry");
    else if (name.empty())
        r.error(all[0]->place, "The module has several entries: name one", "entries: " + list);
    else if (plain.empty())
        r.error(all[0]->place, "The module has no entry '" + std::string(name) + "'",
                "entries: " + list);
    else
        r.error(all[0]->place, "The entry name '" + std::string(name) + "' is ambiguous",
                "entries: " + list);
    return nullptr;
}

// The number of "sm_80", "sm_90a", "compute_80"; 0 where the module has no such target.
uint16_t target_number(const ptx::Module& module) {
    for (const ptx::Modifier& t : module.target) {
        const size_t underscore = t.text.find('_');
        if (!t.text.starts_with("sm_") && !t.text.starts_with("compute_")) continue;
        uint16_t number = 0;
        std::from_chars(t.text.data() + underscore + 1, t.text.data() + t.text.size(), number);
        return number;
    }
    return 0;
}

Suffix target_suffix(const ptx::Module& module) {
    for (const ptx::Modifier& t : module.target)
        if (t.text.starts_with("sm_")) return suffix_of(t.text);
    return Suffix::none;
}

// A module for an older target runs on any newer machine; one for sm_90a only on that machine, one
// for sm_120f on those of its family.
void check_target(Resolver& r, Arch arch) {
    const ptx::Place place = r.module.target.empty() ? ptx::Place{} : r.module.target[0].place;
    const std::string name = r.module.target.empty() ? std::string{} : r.module.target[0].text;
    if (r.program.target == 0)
        r.error(place, "The module has no .target sm_XX");
    else if (!has(row(arch), r.program.target, r.program.suffix))
        r.error(place, "A module for " + name + " cannot run on " + std::string(row(arch).name),
                r.program.suffix == Suffix::none ? "it runs on that architecture and newer ones"
                : r.program.suffix == Suffix::a
                    ? "it runs on that architecture only"
                    : "it runs on that architecture and newer ones of its family");
}

Placer placer_for(Resolver& r, SpaceCursor shared, uint64_t global_base,
                  const SharedLayout& layout) {
    return {r,
            shared,
            {0, max_local_bytes},
            {global_base, global_base + max_global_bytes},
            {0, max_const_bytes},
            global_base,
            layout,
            lay_out_global(r.module, global_base)};
}

bool is_numbered(const ptx::Function* f) { return f != nullptr && f->has_body && !f->is_entry; }

// Bytes of an entry's parameters, as place_parameters() places them.
uint32_t parameter_bytes_of(const ptx::Function& entry) {
    uint64_t next = 0;
    for (const ptx::Variable& v : entry.parameters) {
        const std::optional<Placement> p = placement(v);
        if (p && next <= max_parameter_bytes) next = round_up(next, p->alignment) + p->bytes;
    }
    return static_cast<uint32_t>(std::min<uint64_t>(next, max_parameter_bytes));
}

// What may be launched, the entry itself too.
void declare_kernels(Resolver& r, uint32_t first) {
    r.first_kernel = first;
    for (const auto& item : r.module.items) {
        const auto* const f = std::get_if<ptx::Function>(&item);
        if (f == nullptr || !f->is_entry || !f->has_body) continue;
        const auto index = static_cast<uint32_t>(r.kernels.size());
        r.kernels.push_back(f);
        r.scopes.back()[f->name] = {SymbolKind::kernel, index, Type::none, 0};
    }
}

// The names that all bodies see: the functions, which become the program's in this order, and the
// module's variables.
void declare_module(Resolver& r, Placer& placer,
                    const std::vector<const ptx::Function*>& functions) {
    std::unordered_map<const ptx::Function*, uint32_t> numbers;
    for (const auto& item : r.module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item); is_numbered(f))
            numbers.emplace(f, static_cast<uint32_t>(numbers.size() + 1));
    r.program.function_numbered.resize(numbers.size() + 1);
    r.scopes.emplace_back();
    for (size_t i = 0; i < functions.size(); ++i) {
        const auto found = numbers.find(functions[i]);
        const auto index = static_cast<uint32_t>(i);
        r.numbers.push_back(found == numbers.end() ? 0 : found->second);
        if (found != numbers.end()) r.program.function_numbered[found->second] = index;
        r.scopes.back()[functions[i]->name] = {SymbolKind::function, index, Type::none, 0};
    }
    declare_kernels(r, static_cast<uint32_t>(numbers.size()) + 1);
    for (const auto& item : r.module.items)
        if (const ptx::Directive* const d = alias_in(item)) {
            const Symbol target = r.find(d->operands[1].text);
            if (target.kind == SymbolKind::function)
                r.scopes.back().emplace(d->operands[0].text, target);
        }
    for (const auto& item : r.module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item);
            v != nullptr && v->linking != ptx::Linking::extern_)
            placer.definitions.emplace(v->name, v);
    for (const auto& item : r.module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item)) declare(r, placer, *v);
}

void finish_labels(Resolver& r) {
    for (const auto& [operation, label] : r.branches)
        r.program.operations[operation].target = r.label_operation[label];
    for (const uint32_t label : r.branch_labels)
        r.program.branch_targets.push_back(r.label_operation[label]);
}

}  // namespace

uint64_t Resolver::kernel_address(uint32_t index) {
    const uint32_t number = first_kernel + index;
    const auto has = [&](const LaunchedKernel& k) { return k.number == number; };
    if (std::ranges::none_of(program.launched, has))
        program.launched.push_back(
            {kernels[index]->name, number, parameter_bytes_of(*kernels[index])});
    return code_window + code_stride * number;
}

std::vector<std::string> entries(const ptx::Module& module) {
    std::vector<std::string> out;
    for (const auto& item : module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item); f && f->is_entry && f->has_body)
            out.push_back(f->name);
    return out;
}

std::optional<Arch> target_arch(const ptx::Module& module, std::vector<ptx::Diagnostic>& out) {
    const uint16_t number = target_number(module);
    // A target between two rows (sm_60) runs on the next newer machine that is modelled.
    const Suffix suffix = target_suffix(module);
    for (const ArchRow& a : arch_rows)
        if (number != 0 && has(a, number, suffix)) return a.arch;
    const ptx::Place place = module.target.empty() ? module.version_place : module.target[0].place;
    out.push_back(
        {place, "No architecture for the module's .target is modelled", "name one with --arch"});
    return std::nullopt;
}

ModuleVariables place_variables(const ptx::Module& module, uint64_t global_base) {
    Resolver r(module);
    const SharedLayout layout;
    Placer placer = placer_for(r, {0, 0}, global_base, layout);
    std::vector<const ptx::Function*> functions;
    functions.reserve(module.items.size());
    for (const auto& item : module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item); is_numbered(f))
            functions.push_back(f);
    declare_module(r, placer, functions);
    return {std::move(r.program.variables), std::move(r.program.global_image),
            std::move(r.program.const_image), std::move(r.diagnostics)};
}

Resolved resolve(const ptx::Module& module, Arch arch, std::string_view entry_name,
                 uint64_t global_base) {
    Resolver r(module);
    r.program.arch = arch;
    r.program.target = target_number(module);
    r.program.suffix = target_suffix(module);
    r.version = static_cast<uint16_t>(module.version_major * 10 + module.version_minor);
    check_target(r, arch);
    const ptx::Function* entry = choose_entry(r, entry_name);
    if (entry == nullptr) return {std::move(r.program), std::move(r.diagnostics)};
    r.program.entry = entry->name;
    const uint64_t shared_base = row(arch).shared_base;
    const std::vector<const ptx::Function*> functions = reachable_functions(module, *entry);
    size_t instructions = 0;
    for (const ptx::Function* f : functions) instructions += count_instructions(f->body);
    r.program.operations.reserve(instructions + functions.size());  // and an end each
    const SharedLayout layout = lay_out_shared(module, functions, shared_base);
    Placer placer =
        placer_for(r, {shared_base, shared_base + row(arch).shared_max}, global_base, layout);
    declare_module(r, placer, functions);
    read_performance_directives(r, *entry);
    std::vector<Scope> scopes;
    for (const ptx::Function* f : functions) scopes.push_back(declare_function(r, *f));
    for (size_t i = 0; i < functions.size(); ++i)
        resolve_body(r, placer, *functions[i], i, std::move(scopes[i]));
    finish_labels(r);
    list_own_slots(r);
    find_recursion(r.program);
    r.program.shared_begin = static_cast<uint32_t>(shared_base);
    r.program.shared_static = static_cast<uint32_t>(layout.dynamic - shared_base);
    r.program.local_bytes = r.program.functions[0].frame_bytes;
    if (r.program.register_bytes > max_register_bytes)
        r.error(entry->place, "The kernel has too many registers");
    if (r.diagnostics.empty()) {
        const std::vector<uint8_t> lost_calls = find_lost_calls(r.program);
        for (const Function& f : r.program.functions)
            find_reconvergence(std::span(r.program.operations).subspan(f.first, f.end - f.first),
                               f.first, r.program.branch_targets, lost_calls);
    }
    std::ranges::stable_sort(r.diagnostics, [](const ptx::Diagnostic& a, const ptx::Diagnostic& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    return {std::move(r.program), std::move(r.diagnostics)};
}

}  // namespace lockwarp::isa
