// SPDX-License-Identifier: Apache-2.0
#include "launch/skeleton.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "launch/entry.hpp"

namespace lockwarp::launch {

namespace {

using Ordered = nlohmann::ordered_json;

constexpr uint32_t default_threads = 128;
constexpr uint64_t tensor_map_bytes = 128;

void each_instruction(const ptx::Block& block,
                      const std::function<void(const ptx::Instruction&)>& f) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node)) f(*i);
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) each_instruction(*inner, f);
    }
}

bool has(const ptx::Instruction& i, std::string_view modifier) {
    return std::ranges::find(i.modifiers, modifier, &ptx::Modifier::text) != i.modifiers.end();
}

// The name in "[name+4]"; nullptr: another operand.
const ptx::Operand* base_of(const ptx::Operand& o) {
    const bool named = o.kind == ptx::OperandKind::address && !o.items.empty() &&
                       o.items[0].kind == ptx::OperandKind::name;
    return named ? &o.items[0] : nullptr;
}

// Registers that hold addresses of global memory: what cvta.to.global takes, and what loads and
// stores of global memory go through; and what those were moved from or added to.
std::set<std::string> address_registers(const ptx::Function& entry) {
    std::set<std::string> out;
    size_t before = 0;
    do {
        before = out.size();
        each_instruction(entry.body, [&](const ptx::Instruction& i) {
            if (i.opcode == "cvta" && i.operands.size() > 1) out.insert(i.operands[1].text);
            if (has(i, ".global"))
                for (const ptx::Operand& o : i.operands)
                    if (const ptx::Operand* base = base_of(o)) out.insert(base->text);
            const bool passes = i.opcode == "mov" || i.opcode == "add";
            if (passes && i.operands.size() > 1 && !i.operands[0].text.empty() &&
                out.contains(i.operands[0].text))
                out.insert(i.operands[1].text);
        });
    } while (out.size() != before);
    return out;
}

Ordered argument_of(const ReadField& field, const std::string& buffer) {
    if (field.pointer) return {{"pointer", buffer}};
    const std::string type(isa::row(field.type).name.substr(1));
    if (field.count == 1) return {{type, 0}};
    return {{type, std::vector<int>(field.count, 0)}};
}

// Bits have no sign and no point: u32 is what people write.
isa::Type shown_type(isa::Type t) {
    if (isa::row(t).kind != isa::Kind::bits) return t;
    const unsigned bits = isa::bits(t);
    return bits == 8    ? isa::Type::u8
           : bits == 16 ? isa::Type::u16
           : bits == 32 ? isa::Type::u32
                        : isa::Type::u64;
}

// What is known of one parameter.
struct Parameter {
    const isa::Parameter& placed;
    const ptx::Variable& declared;
    std::string type;  // of the demangled name
    std::vector<ReadField> fields;
};

std::string words(const Parameter& p, size_t i) {
    std::string out = "parameter " + std::to_string(i) + ", " + std::to_string(p.placed.bytes) +
                      " bytes, aligned to " + std::to_string(p.placed.alignment);
    if (!p.type.empty()) out += ": " + p.type;
    return out;
}

struct Maker {
    Ordered buffers = Ordered::object();
    Ordered outputs = Ordered::array();

    std::string add_buffer(const std::string& name, const std::string& type) {
        const bool is_const = type.find("const*") != std::string::npos;
        buffers[name] = {
            {"bytes", 0},
            {"init", {{"fill", 0}}},
            {"comment", "fill in the bytes" + (type.empty() ? std::string() : " of this " + type)}};
        if (!is_const) outputs.push_back(name);
        return name;
    }

    Ordered scalar(const Parameter& p, const std::string& name) {
        const bool is_pointer = p.declared.is_pointer || p.type.ends_with('*') ||
                                (!p.fields.empty() && p.fields[0].pointer);
        if (is_pointer && p.placed.bytes == 8) return {{"buffer", add_buffer(name, p.type)}};
        isa::Type type = p.placed.type;
        if (p.type == "float") type = isa::Type::f32;
        if (p.type == "double") type = isa::Type::f64;
        if (p.type == "int") type = isa::Type::s32;
        if (p.type == "long" || p.type == "long long") type = isa::Type::s64;
        return {{std::string(isa::row(shown_type(type)).name.substr(1)), 0}};
    }

    Ordered structure(const Parameter& p, const std::string& name) {
        if (p.placed.bytes == tensor_map_bytes && p.placed.alignment >= 64 && p.fields.empty())
            return {{"bytes", std::string(2 * tensor_map_bytes, '0')},
                    {"comment", "a tensor map: give the 128 bytes of the CUtensorMap"}};
        Ordered fields = Ordered::array();
        uint64_t next = 0;
        const auto pad = [&](uint64_t to) {
            if (to > next) fields.push_back({{"pad", to - next}});
            next = to;
        };
        uint64_t alignment = 1;
        for (const ReadField& f : p.fields) {
            const uint64_t width = isa::bits(f.type) / 8;
            pad(f.at);
            const std::string buffer = name + "_" + std::to_string(f.at);
            if (f.pointer) add_buffer(buffer, "");
            Ordered field = argument_of(f, buffer);
            field["comment"] = "byte " + std::to_string(f.at);
            fields.push_back(std::move(field));
            next = f.at + width * f.count;
            alignment = std::max(alignment, width);
        }
        // Of one byte: an empty struct.
        if (!p.fields.empty() || p.placed.bytes > 1) pad(p.placed.bytes);
        Ordered out{{"struct", std::move(fields)}};
        // A field that has no alignment of its own leaves the size to the parameter.
        if (p.placed.bytes % alignment != 0)
            return {{"bytes", std::string(2 * p.placed.bytes, '0')}};
        return out;
    }
};

std::string shared_words(const ptx::Module& module, const isa::Program& program) {
    const bool dynamic = std::ranges::any_of(module.items, [](const auto& item) {
        const auto* v = std::get_if<ptx::Variable>(&item);
        return v && v->space == ptx::Space::shared && v->linking == ptx::Linking::extern_;
    });
    std::string out = std::to_string(program.shared_static) + " bytes of static shared memory";
    if (dynamic) out += "; it has dynamic shared memory: fill in dynamic_shared";
    return out;
}

std::string block_words(const isa::Program& p) {
    const auto text = [](const std::array<uint32_t, 3>& d) {
        return std::to_string(d[0]) + " x " + std::to_string(d[1]) + " x " + std::to_string(d[2]);
    };
    if (p.required_block[0] != 0) return "the block must be " + text(p.required_block);
    if (p.maximum_block[0] != 0)
        return "the block has at most the threads of " + text(p.maximum_block);
    return "the kernel states no size of its block: fill it in";
}

const ptx::Function* function_of(const ptx::Module& module, const std::string& name) {
    for (const ptx::Function* f : entries(module))
        if (f->name == name) return f;
    return nullptr;
}

// Names of arguments are made of the parameters' own where those are short.
std::string short_name(const std::string& parameter, size_t i) {
    return parameter.size() <= 12 && parameter.find('$') == std::string::npos
               ? parameter
               : "p" + std::to_string(i);
}

}  // namespace

std::vector<std::string> parameter_types(const std::string& name) {
    std::vector<std::string> out;
    constexpr std::string_view anonymous = "(anonymous namespace)";
    size_t begin = std::string::npos;
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        if (std::string_view(name).substr(i).starts_with(anonymous)) {
            i += anonymous.size() - 1;
            continue;
        }
        const char c = name[i];
        const bool last = c == ')' && depth == 1 && begin != std::string::npos;
        if (begin != std::string::npos && ((c == ',' && depth == 1) || last)) {
            std::string type = name.substr(begin, i - begin);
            type.erase(0, type.find_first_not_of(' '));
            if (!type.empty()) out.push_back(type);
            begin = i + 1;
            if (last) return out;
        }
        if (c == '(' && depth == 0) begin = i + 1;
        if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
        if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
    }
    return {};
}

std::vector<ReadField> read_fields(const ptx::Function& entry, const std::string& parameter) {
    std::vector<ReadField> out;
    const std::set<std::string> addresses = address_registers(entry);
    // Registers that hold the parameter's own address.
    std::set<std::string> names{parameter};
    each_instruction(entry.body, [&](const ptx::Instruction& i) {
        if (i.opcode == "mov" && i.operands.size() == 2 && i.operands[1].text == parameter &&
            i.operands[1].offset == 0)
            names.insert(i.operands[0].text);
    });
    each_instruction(entry.body, [&](const ptx::Instruction& i) {
        if (i.opcode != "ld" || !has(i, ".param") || i.operands.size() != 2) return;
        const ptx::Operand& from = i.operands[1];
        const ptx::Operand* const base = base_of(from);
        if (base == nullptr || !names.contains(base->text) || from.offset < 0) return;
        ReadField f;
        f.at = static_cast<uint64_t>(from.offset);
        for (const ptx::Modifier& m : i.modifiers) {
            if (m.text == ".v2") f.count = 2;
            if (m.text == ".v4") f.count = 4;
            if (m.text != ".param" && isa::type_named(m.text) != isa::Type::none)
                f.type = shown_type(isa::type_named(m.text));
        }
        if (f.type == isa::Type::none || isa::bits(f.type) > 64) return;
        f.pointer =
            isa::bits(f.type) == 64 && f.count == 1 && addresses.contains(i.operands[0].text);
        out.push_back(f);
    });
    // Of those that begin together the longest.
    std::ranges::stable_sort(out, {}, [](const ReadField& f) {
        return std::pair(f.at, ~(isa::bits(f.type) * f.count));
    });
    uint64_t end = 0;
    std::erase_if(out, [&](const ReadField& f) {
        if (f.at < end) return true;
        end = f.at + isa::bits(f.type) / 8 * f.count;
        return false;
    });
    return out;
}

std::string skeleton(const ptx::Module& module, const isa::Program& program,
                     const std::string& ptx_path) {
    const ptx::Function& entry = *function_of(module, program.entry);
    const std::string name = demangled(program.entry);
    std::vector<std::string> types = parameter_types(name);
    if (types.size() != program.parameters.size()) types.assign(program.parameters.size(), "");
    Maker maker;
    Ordered args = Ordered::array();
    for (size_t i = 0; i < program.parameters.size(); ++i) {
        const isa::Parameter& placed = program.parameters[i];
        const Parameter p{placed, entry.parameters[i], types[i], read_fields(entry, placed.name)};
        const std::string argument = short_name(placed.name, i);
        Ordered one = placed.is_array ? maker.structure(p, argument) : maker.scalar(p, argument);
        const std::string more = one.contains("comment") ? one["comment"].get<std::string>() : "";
        one["comment"] = words(p, i) + (more.empty() ? "" : "; " + more);
        args.push_back(std::move(one));
    }
    Ordered out;
    out["schema"] = "lockwarp-launch/1";
    out["ptx"] = ptx_path;
    out["entry"] = name == program.entry ? name : program.entry;
    Ordered notes = Ordered::array({name, block_words(program), shared_words(module, program)});
    for (const isa::Placed& v : program.variables) {
        const bool is_const = v.space == ptx::Space::const_;
        if (v.bytes == 0 || (v.space != ptx::Space::global && !is_const)) continue;
        notes.push_back(std::string(is_const ? "__constant__ " : "__device__ ") +
                        demangled(v.name) + ", " + std::to_string(v.bytes) +
                        " bytes: it may be set in \"variables\"");
    }
    out["comment"] = std::move(notes);
    const auto& block =
        program.required_block[0] != 0 ? program.required_block : program.maximum_block;
    out["grid"] = {1, 1, 1};
    out["block"] = block[0] != 0 ? Ordered(block) : Ordered({default_threads, 1, 1});
    out["dynamic_shared"] = 0;
    out["buffers"] = std::move(maker.buffers);
    out["args"] = std::move(args);
    out["outputs"] = std::move(maker.outputs);
    return out.dump(2, ' ', true, Ordered::error_handler_t::replace) + "\n";
}

std::vector<std::string> missing_in(const Input& in, const isa::Program& program) {
    std::vector<std::string> out;
    const LaunchFile& file = in.launch;
    const Kernel& kernel = in.kernel();
    if (const Result<Parameters> laid = lay_out(file, kernel, program); !laid)
        out.push_back(laid.error().sentence);
    for (size_t i = kernel.arguments.size(); i < program.parameters.size(); ++i)
        out.push_back("argument " + std::to_string(i) + ": parameter '" +
                      program.parameters[i].name + "' of " +
                      std::to_string(program.parameters[i].bytes) + " bytes has none");
    for (const BufferField& b : file.buffers)
        if (b.bytes == 0) out.push_back(file.at(b.place) + "buffer '" + b.name + "' has 0 bytes");
    if (kernel.dynamic_shared == 0 &&
        shared_words(in.module, program).find("dynamic") != std::string::npos)
        out.push_back("the module has dynamic shared memory, dynamic_shared is 0");
    const uint64_t limit =
        uint64_t{program.maximum_block[0]} * program.maximum_block[1] * program.maximum_block[2];
    if (limit != 0 && kernel.block.count() > limit)
        out.push_back("the block has " + std::to_string(kernel.block.count()) + " threads, " +
                      block_words(program));
    const std::array<uint32_t, 3> block{kernel.block.x, kernel.block.y, kernel.block.z};
    if (program.required_block[0] != 0 && block != program.required_block)
        out.push_back("the block is not what the kernel requires: " + block_words(program));
    if (file.outputs.empty() && file.expectations.empty())
        out.push_back("no outputs are named and nothing is expected");
    return out;
}

}  // namespace lockwarp::launch
