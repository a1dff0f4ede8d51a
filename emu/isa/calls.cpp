// SPDX-License-Identifier: Apache-2.0
// Functions: which of them an entry may come to, what a call passes, and which calls may come back
// to their caller. PTX manual, "Abstracting the ABI" and "Control Flow Instructions: call".
#include <algorithm>
#include <bit>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

constexpr auto system_table = std::to_array<SystemRow>({
    {"vprintf", System::vprintf, {8, 8}, 4},
    // message, file, line, function, bytes of a character
    {"__assertfail", System::assertfail, {8, 8, 4, 8, 8}, 0},
    {"malloc", System::malloc, {8}, 8},
    {"free", System::free, {8}, 0},
    // kernel, grid, block, bytes of dynamic shared memory
    {"__cudaCDP2GetParameterBufferV2", System::parameter_buffer, {8, 12, 12, 4}, 8},
    {"cudaGetParameterBufferV2", System::parameter_buffer, {8, 12, 12, 4}, 8},
    // buffer, stream
    {"__cudaCDP2LaunchDeviceV2", System::launch, {8, 8}, 4},
    {"cudaLaunchDeviceV2", System::launch, {8, 8}, 4},
    // alignment, bytes
    {"__cudaCDP2GetParameterBuffer", System::any_parameter_buffer, {8, 8}, 8},
    {"cudaGetParameterBuffer", System::any_parameter_buffer, {8, 8}, 8},
    // kernel, buffer, grid, block, bytes of dynamic shared memory, stream
    {"__cudaCDP2LaunchDevice", System::launch_kernel, {8, 8, 12, 12, 4, 8}, 4},
    {"cudaLaunchDevice", System::launch_kernel, {8, 8, 12, 12, 4, 8}, 4},
    {"__cudaCDP2GetLastError", System::get_error, {}, 4},
    {"__cudaCDP2PeekAtLastError", System::peek_error, {}, 4},
    {"__cudaCDP2StreamCreateWithFlags", System::create_stream, {8, 4}, 4},
    {"__cudaCDP2StreamDestroy", System::destroy_stream, {8}, 4},
    {"__cudaCDP2EventCreateWithFlags", System::create_event, {8, 4}, 4},
    {"__cudaCDP2EventDestroy", System::destroy_event, {8}, 4},
    {"__cudaCDP2EventRecord", System::record_event, {8, 8}, 4},
    {"__cudaCDP2StreamWaitEvent", System::wait_for_event, {8, 8, 4}, 4},
    {"__cudaCDP2GetDevice", System::get_device, {8}, 4},
    {"__cudaCDP2GetDeviceCount", System::count_devices, {8}, 4},
    {"__cudaCDP2RuntimeGetVersion", System::get_version, {8}, 4},
    // to, from, bytes, kind, stream
    {"__cudaCDP2MemcpyAsync", System::copy, {8, 8, 8, 4, 8}, 4},
    // to, its pitch, from, its pitch, width, height, kind, stream
    {"__cudaCDP2Memcpy2DAsync", System::copy_rows, {8, 8, 8, 8, 8, 8, 4, 8}, 4},
    // to, value, bytes, stream
    {"__cudaCDP2MemsetAsync", System::fill, {8, 4, 8, 8}, 4},
    // to, its pitch, value, width, height, stream
    {"__cudaCDP2Memset2DAsync", System::fill_rows, {8, 8, 4, 8, 8, 8}, 4},
    {"__cudaCDP2Malloc", System::allocate, {8, 8}, 4},
    {"__cudaCDP2Free", System::release, {8}, 4},
    {"__cudaCDP2GetErrorName", System::error_name, {4}, 8},
    {"__cudaCDP2GetErrorString", System::error_text, {4}, 8},
    {"__cudaCDP2DeviceGetLimit", System::get_limit, {8, 4}, 4},
    {"__cudaCDP2DeviceGetAttribute", System::device_attribute, {8, 4, 4}, 4},
    {"__cudaCDP2FuncGetAttributes", System::function_attributes, {8, 8}, 4},
    // CTAs, kernel, threads, bytes of dynamic shared memory, flags
    {"__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor", System::resident_ctas, {8, 8, 4, 8}, 4},
    {"__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
     System::resident_ctas,
     {8, 8, 4, 8, 4},
     4},
});

// A program whose default stream is each thread's own names the functions that take one so; within
// a kernel the streams are the same.
constexpr std::string_view of_thread = "_ptsz";

const SystemRow* row_of(std::string_view name) {
    if (name.starts_with("__cudaCDP2") && name.ends_with(of_thread))
        name.remove_suffix(of_thread.size());
    const auto* const row = std::ranges::find(system_table, name, &SystemRow::name);
    return row != system_table.end() ? row : nullptr;
}

// Every name that an instruction's operands or an initial value hold.
void names_of(const ptx::Operand& p, std::vector<std::string_view>& out) {
    if (p.kind == ptx::OperandKind::name) out.push_back(p.text);
    for (const ptx::Operand& inner : p.items) names_of(inner, out);
}

void names_of(const ptx::Initializer& init, std::vector<std::string_view>& out) {
    if (init.kind == ptx::InitializerKind::address) out.push_back(init.text);
    for (const ptx::Initializer& inner : init.items) names_of(inner, out);
}

void names_of(const ptx::Block& block, std::vector<std::string_view>& out) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node))
            for (const ptx::Operand& p : i->operands) names_of(p, out);
        if (const auto* d = std::get_if<ptx::Directive>(&s.node); d && d->name == ".calltargets")
            for (const ptx::Operand& p : d->operands) names_of(p, out);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) names_of(*inner, out);
    }
}

// Those whose address instructions take: all but what a call says that it calls.
void names_taken(const ptx::Block& block, std::vector<std::string_view>& out) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node); i && i->opcode != "call")
            for (const ptx::Operand& p : i->operands) names_of(p, out);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) names_taken(*inner, out);
    }
}

bool calls_by_prototype(const ptx::Block& block) {
    return std::ranges::any_of(block.body, [](const ptx::Statement& s) {
        const auto* const d = std::get_if<ptx::Directive>(&s.node);
        const auto* const inner = std::get_if<ptx::Block>(&s.node);
        return (d && d->name == ".callprototype") || (inner && calls_by_prototype(*inner));
    });
}

// Decodes one call.
struct CallDecoder {
    Resolver& r;
    const ptx::Instruction& i;
    std::vector<uint32_t>& read;
    Call call;
    bool failed = false;

    void error(ptx::Place place, std::string message, std::string hint = {}) {
        if (!failed) r.error(place, std::move(message), std::move(hint));
        failed = true;
    }

    // A value that the caller gives or takes. `bytes`: of the formal parameter, 0 where it is not
    // known.
    Passed passed(const ptx::Operand& p, uint32_t bytes, bool result) {
        const bool literal = p.kind == ptx::OperandKind::integer ||
                             p.kind == ptx::OperandKind::f32 || p.kind == ptx::OperandKind::f64;
        if (literal && !result) {
            const uint32_t width = bytes == 0 ? (p.kind == ptx::OperandKind::f64 ? 8 : 4) : bytes;
            uint64_t value = p.bits;
            if (p.kind == ptx::OperandKind::f64 && width == 4)
                value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
            if (width > 8) error(p.place, "Argument size mismatch for instruction 'call'");
            if (width < 4) value &= (uint64_t{1} << 8 * width) - 1;
            return {r.constant(width == 8 ? 64 : 32, value), 0, width};
        }
        const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
        if (symbol.kind == SymbolKind::reg && bits(symbol.type) >= 8) {
            if (!result) read.push_back(symbol.index);
            return {r.register_ref(symbol.index), 0, bits(symbol.type) / 8};
        }
        if (symbol.kind == SymbolKind::variable) {
            const Placed& v = r.program.variables[symbol.index];
            if (v.space == ptx::Space::param && v.in_frame && !(result && v.read_only))
                return {no_ref, static_cast<uint32_t>(v.address), static_cast<uint32_t>(v.bytes)};
        }
        if (symbol.kind == SymbolKind::none && p.kind == ptx::OperandKind::name)
            error(p.place, "Unknown symbol '" + p.text + "'");
        else
            error(p.place, "Arguments mismatch for instruction 'call'",
                  "a register, a constant or a .param variable of this function is expected");
        return {};
    }

    // As the assembler has it, a function of the system gives what the module declares.
    bool declared_without_result(const std::string& name) const {
        return std::ranges::any_of(r.module.items, [&](const auto& item) {
            const auto* const f = std::get_if<ptx::Function>(&item);
            return f != nullptr && f->name == name && f->results.empty();
        });
    }

    void list(const ptx::Operand* given, const std::vector<uint32_t>* formal, bool result) {
        const size_t count = given == nullptr ? 0 : given->items.size();
        if (formal != nullptr && formal->size() != count) {
            error(
                given == nullptr ? i.place : given->place,
                result ? "Return value count mismatch for instruction 'call'"
                       : "Argument count mismatch for instruction 'call'",
                std::to_string(formal->size()) + " expected, " + std::to_string(count) + " given");
            return;
        }
        for (size_t k = 0; k < count && !failed; ++k) {
            const ptx::Operand& p = given->items[k];
            const uint32_t bytes = formal == nullptr ? 0 : (*formal)[k];
            Passed value{scratch_register, 0, bytes};
            if (p.kind != ptx::OperandKind::sink) value = passed(p, bytes, result);
            if (bytes != 0 && value.bytes != bytes)
                error(p.place, "Argument size mismatch for instruction 'call'",
                      std::to_string(bytes) + " bytes expected, " + std::to_string(value.bytes) +
                          " given");
            (result ? call.results : call.arguments).push_back(value);
        }
    }

    void through_register(const Symbol& pointer, const ptx::Operand* table) {
        if (table == nullptr || r.find(table->text).kind != SymbolKind::prototype)
            error(table == nullptr ? i.place : table->place,
                  "An indirect call needs a .calltargets or .callprototype label");
        read.push_back(pointer.index);
        call.pointer = r.register_ref(pointer.index);
    }

    void all() {
        std::vector<const ptx::Operand*> lists;
        const ptx::Operand* target = nullptr;
        const ptx::Operand* table = nullptr;
        bool results_first = false;
        for (const ptx::Operand& p : i.operands) {
            if (p.kind == ptx::OperandKind::list) {
                results_first |= target == nullptr;
                lists.push_back(&p);
            } else if (target == nullptr) {
                target = &p;
            } else {
                table = &p;
            }
        }
        const ptx::Operand* results = results_first ? lists[0] : nullptr;
        const size_t next = results_first ? 1 : 0;
        const ptx::Operand* arguments = lists.size() > next ? lists[next] : nullptr;
        if (target == nullptr || target->kind != ptx::OperandKind::name ||
            lists.size() > next + 1) {
            error(i.place, "Arguments mismatch for instruction 'call'",
                  "(results), function, (arguments), prototype");
            return;
        }
        const Symbol symbol = r.find(target->text);
        if (symbol.kind == SymbolKind::reg && bits(symbol.type) == 64) {
            through_register(symbol, table);
            list(results, nullptr, true);
            list(arguments, nullptr, false);
            return;
        }
        std::vector<uint32_t> taken;
        std::vector<uint32_t> returned;
        if (symbol.kind == SymbolKind::function) {
            const Function& f = r.program.functions[symbol.index];
            if (symbol.index == 0) {
                error(target->place, "An entry cannot be called: '" + target->text + "'");
                return;
            }
            call.function = symbol.index;
            for (const Passed& p : f.parameters) taken.push_back(p.bytes);
            for (const Passed& p : f.results) returned.push_back(p.bytes);
        } else if (symbol.kind == SymbolKind::kernel) {
            error(target->place, "An entry cannot be called: '" + target->text + "'");
            return;
        } else if (const auto* const row = row_of(target->text); row != nullptr) {
            call.system = row->system;
            for (const uint8_t bytes : row->parameter_bytes)
                if (bytes != 0) taken.push_back(bytes);
            if (row->result_bytes != 0 && !declared_without_result(target->text))
                returned.push_back(row->result_bytes);
        } else {
            error(target->place, symbol.kind == SymbolKind::none
                                     ? "Unresolved extern function '" + target->text + "'"
                                     : "Arguments mismatch for instruction 'call'");
            return;
        }
        list(results, &returned, true);
        list(arguments, &taken, false);
    }
};

// Tarjan: "Depth-First Search and Linear Graph Algorithms", without recursion.
std::vector<uint32_t> components_of(const std::vector<std::vector<uint32_t>>& edges) {
    const auto count = static_cast<uint32_t>(edges.size());
    constexpr uint32_t none = UINT32_MAX;
    std::vector<uint32_t> number(count, none);
    std::vector<uint32_t> low(count, none);
    std::vector<uint32_t> component(count, none);
    std::vector<uint32_t> stack;
    std::vector<std::pair<uint32_t, size_t>> way;  // node, edges done
    uint32_t next = 0;
    for (uint32_t root = 0; root < count; ++root) {
        if (number[root] != none) continue;
        way.emplace_back(root, 0);
        while (!way.empty()) {
            auto& [node, done] = way.back();
            if (done == 0) {
                number[node] = low[node] = next++;
                stack.push_back(node);
            }
            if (done < edges[node].size()) {
                const uint32_t to = edges[node][done++];
                if (number[to] == none)
                    way.emplace_back(to, 0);
                else if (component[to] == none)
                    low[node] = std::min(low[node], number[to]);
                continue;
            }
            const uint32_t ended = node;
            if (low[ended] == number[ended])
                for (uint32_t member = none; member != ended; stack.pop_back()) {
                    member = stack.back();
                    component[member] = ended;
                }
            way.pop_back();
            if (!way.empty()) low[way.back().first] = std::min(low[way.back().first], low[ended]);
        }
    }
    return component;
}

}  // namespace

std::span<const SystemRow> system_rows() { return system_table; }

std::vector<std::string_view> names_in(const ptx::Block& body) {
    std::vector<std::string_view> out;
    names_of(body, out);
    return out;
}

const ptx::Directive* alias_in(const ModuleItem& item) {
    const auto* const d = std::get_if<ptx::Directive>(&item);
    return d != nullptr && d->name == ".alias" ? d : nullptr;
}

std::vector<const ptx::Function*> reachable_functions(const ptx::Module& module,
                                                      const ptx::Function& entry) {
    std::unordered_map<std::string_view, const ptx::Function*> bodies;
    std::unordered_map<std::string_view, std::string_view> aliases;
    std::vector<std::string_view> names;
    for (const auto& item : module.items) {
        if (const auto* d = alias_in(item))
            aliases.emplace(d->operands[0].text, d->operands[1].text);
        if (const auto* f = std::get_if<ptx::Function>(&item); f && f->has_body && !f->is_entry)
            bodies.emplace(f->name, f);
        if (const auto* v = std::get_if<ptx::Variable>(&item))
            for (const ptx::Initializer& init : v->initializer) names_of(init, names);
    }
    std::vector<const ptx::Function*> out{&entry};
    bool by_prototype = false;
    for (size_t at = 0; at < out.size(); ++at) {
        names_of(out[at]->body, names);
        // Another entry may have left the address in memory, and the host may pass it on.
        if (!by_prototype && calls_by_prototype(out[at]->body)) {
            by_prototype = true;
            for (const auto& item : module.items)
                if (const auto* f = std::get_if<ptx::Function>(&item)) names_taken(f->body, names);
        }
        for (const std::string_view name : names) {
            const auto alias = aliases.find(name);
            const auto found = bodies.find(alias == aliases.end() ? name : alias->second);
            if (found == bodies.end()) continue;
            out.push_back(found->second);
            bodies.erase(found);
        }
        names.clear();
    }
    return out;
}

void decode_call(Resolver& r, const ptx::Instruction& i, Operation& o,
                 std::vector<uint32_t>& read) {
    CallDecoder decoder{r, i, read, {}};
    decoder.all();
    o.target = static_cast<uint32_t>(r.program.calls.size());
    r.program.calls.push_back(std::move(decoder.call));
}

void find_recursion(Program& program) {
    // One node more: "by pointer", which leads to every function but the entry.
    const auto by_pointer = static_cast<uint32_t>(program.functions.size());
    std::vector<std::vector<uint32_t>> edges(program.functions.size() + 1);
    for (uint32_t f = 0; f < by_pointer; ++f) {
        if (f != 0) edges[by_pointer].push_back(f);
        for (uint32_t at = program.functions[f].first; at < program.functions[f].end; ++at) {
            const Operation& o = program.operations[at];
            if (row(o.op).flow != Flow::call) continue;
            const Call& c = program.calls[o.target];
            if (c.pointer != no_ref) edges[f].push_back(by_pointer);
            if (c.function < by_pointer) edges[f].push_back(c.function);
        }
    }
    const std::vector<uint32_t> component = components_of(edges);
    for (uint32_t f = 0; f < by_pointer; ++f)
        for (uint32_t at = program.functions[f].first; at < program.functions[f].end; ++at) {
            const Operation& o = program.operations[at];
            if (row(o.op).flow != Flow::call) continue;
            Call& c = program.calls[o.target];
            const uint32_t to = c.pointer != no_ref ? by_pointer : c.function;
            c.recursive = to <= by_pointer && component[to] == component[f];
        }
}

}  // namespace lockwarp::isa
