// SPDX-License-Identifier: Apache-2.0
#include "launch/skeleton.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "emu/isa/placement.hpp"
#include "launch/argument_maker.hpp"
#include "launch/entry.hpp"

namespace lockwarp::launch {

namespace {

constexpr uint32_t default_threads = 128;
constexpr std::array<uint32_t, 3> not_stated{};  // no .reqntid, no .maxntid

std::string bytes_text(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

std::string words(const KnownParameter& p, const std::string& source_name) {
    std::string out = "parameter " + std::to_string(p.index) +
                      (source_name.empty() ? "" : " '" + source_name + "'") + ", " +
                      bytes_text(p.placed.bytes) + ", aligned to " +
                      std::to_string(p.placed.alignment);
    if (!p.type.empty()) out += ": " + p.type;
    return out;
}

std::string shared_words(const ptx::Module& module, const isa::Program& program) {
    const bool dynamic = std::ranges::any_of(module.items, [](const auto& item) {
        const auto* v = std::get_if<ptx::Variable>(&item);
        return v && isa::is_dynamic_shared(*v);
    });
    std::string out = std::to_string(program.shared_static) + " bytes of static shared memory";
    if (dynamic) out += "; it has dynamic shared memory: fill in dynamic_shared";
    return out;
}

std::string block_words(const isa::Program& p) {
    const auto text = [](const std::array<uint32_t, 3>& d) {
        return std::to_string(d[0]) + " x " + std::to_string(d[1]) + " x " + std::to_string(d[2]);
    };
    if (p.required_block != not_stated) return "the block must be " + text(p.required_block);
    if (p.maximum_block != not_stated)
        return "the block has at most the threads of " + text(p.maximum_block);
    return "the kernel states no size of its block: fill it in";
}

const ptx::Function* function_of(const ptx::Module& module, const std::string& name) {
    for (const ptx::Function* f : entries(module))
        if (f->name == name) return f;
    return nullptr;
}

// Names of arguments are those of the source, or made of the parameters' own where those are short.
std::string short_name(const std::string& source, const std::string& parameter, size_t i) {
    if (!source.empty()) return source;
    return parameter.size() <= 12 && parameter.find('$') == std::string::npos
               ? parameter
               : "p" + std::to_string(i);
}

// What the source says of the kernel's parameters; nullptr: nothing, or not of these.
const ptx::DebugFunction* described(const ptx::DebugInfo& info, const isa::Program& program) {
    const ptx::DebugFunction* const out = info.find_function(program.entry);
    return out != nullptr && out->parameters.size() == program.parameters.size() ? out : nullptr;
}

Ordered arguments_of(ArgumentMaker& maker, const ptx::Function& entry, const isa::Program& program,
                     const ptx::DebugInfo& info) {
    std::vector<std::string> types = parameter_types(demangled(program.entry));
    if (types.size() != program.parameters.size()) types.assign(program.parameters.size(), "");
    const ptx::DebugFunction* const source = described(info, program);
    const std::vector<TensorMapUse> maps = tensor_map_uses(entry);
    Ordered out = Ordered::array();
    for (size_t i = 0; i < program.parameters.size(); ++i) {
        const isa::Parameter& placed = program.parameters[i];
        const std::string name = source == nullptr ? "" : source->parameters[i].name;
        KnownParameter p{placed,
                         entry.parameters[i],
                         i,
                         short_name(name, placed.name, i),
                         types[i],
                         ptx::no_type,
                         read_fields(entry, placed.name),
                         {},
                         is_only_stored_through(entry, placed.name)};
        std::ranges::copy_if(maps, std::back_inserter(p.maps),
                             [&](const TensorMapUse& u) { return u.parameter == placed.name; });
        if (source != nullptr && info.size_of(source->parameters[i].type) == placed.bytes) {
            p.debug_type = source->parameters[i].type;
            p.type = info.spelled(info.plain(p.debug_type));
        }
        Ordered one = maker.argument(p);
        const std::string more = one.contains("comment") ? one["comment"].get<std::string>() : "";
        one["comment"] = words(p, name) + (more.empty() || more == p.type ? "" : "; " + more);
        out.push_back(std::move(one));
    }
    return out;
}

// "__shared__ tile, 4096 bytes: float[32][32]" and what else is to be known of a kernel.
Ordered notes_of(const ptx::Module& module, const isa::Program& program,
                 const ptx::DebugInfo& info) {
    Ordered out = Ordered::array(
        {demangled(program.entry), block_words(program), shared_words(module, program)});
    for (const isa::Placed& v : program.variables) {
        const bool is_shared = v.space == ptx::Space::shared;
        const bool is_const = v.space == ptx::Space::const_;
        if (v.bytes == 0 || (v.space != ptx::Space::global && !is_const && !is_shared)) continue;
        const ptx::DebugVariable* const source = info.find_variable(v.name);
        std::string text = is_shared ? "__shared__ " : is_const ? "__constant__ " : "__device__ ";
        text += demangled(v.name) + ", " + bytes_text(v.bytes);
        if (source != nullptr && source->type != ptx::no_type)
            text += ": " + info.spelled(source->type);
        if (!is_shared) text += ": it may be set in \"variables\"";
        out.push_back(std::move(text));
    }
    return out;
}

Ordered launch_of(ArgumentMaker& maker, const ptx::Module& module, const isa::Program& program,
                  const ptx::DebugInfo& info) {
    maker.begin_kernel(base_name(demangled(program.entry)));
    const auto& block =
        program.required_block != not_stated ? program.required_block : program.maximum_block;
    Ordered out;
    out["entry"] = program.entry;
    out["comment"] = notes_of(module, program, info);
    out["grid"] = {1, 1, 1};
    out["block"] = block != not_stated ? Ordered(block) : Ordered({default_threads, 1, 1});
    out["dynamic_shared"] = 0;
    out["args"] = arguments_of(maker, *function_of(module, program.entry), program, info);
    return out;
}

// On one line, with a space behind each comma and colon that is not in a text.
std::string on_one_line(const Ordered& j) {
    const std::string line = j.dump(-1, ' ', true, Ordered::error_handler_t::replace);
    std::string out;
    bool in_text = false;
    for (size_t i = 0; i < line.size(); ++i) {
        out += line[i];
        if (line[i] == '\\') {  // stands in a text, before another character
            out += line[++i];
        } else if (line[i] == '"') {
            in_text = !in_text;
        } else if (!in_text && (line[i] == ',' || line[i] == ':')) {
            out += ' ';
        }
    }
    return out;
}

// JSON as people write it: what fits stands on one line. The whole never does.
// key: the columns that stand before it on its line, behind the margin.
void print(const Ordered& j, size_t indent, size_t key, std::string& out) {
    constexpr size_t columns = 100;
    const std::string line = on_one_line(j);
    if (!j.is_structured() || indent + key + line.size() < columns) {
        out += line;
        return;
    }
    const std::string margin(indent + 2, ' ');
    out += j.is_object() ? "{" : "[";
    bool first = true;
    for (const auto& [member, value] : j.items()) {
        out += (first ? "\n" : ",\n") + margin;
        first = false;
        const std::string name = j.is_object() ? on_one_line(member) + ": " : "";
        out += name;
        print(value, indent + 2, name.size(), out);
    }
    out += "\n" + std::string(indent, ' ') + (j.is_object() ? "}" : "]");
}

}  // namespace

std::vector<std::string> parameter_types(const std::string& name) {
    std::vector<std::string> out;
    constexpr std::string_view anonymous = "(anonymous namespace)";
    size_t begin = std::string::npos;
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        const bool last = c == ')' && depth == 1;
        if (begin != std::string::npos && ((c == ',' && depth == 1) || last)) {
            std::string type = name.substr(begin, i - begin);
            type.erase(0, type.find_first_not_of(' '));
            if (!type.empty()) out.push_back(type);
            begin = i + 1;
            if (last) return out;
        }
        if (c == '(' && depth == 0 && !std::string_view(name).substr(i).starts_with(anonymous))
            begin = i + 1;
        if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
        if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
    }
    return {};
}

std::string skeleton(const ptx::Module& module, std::span<const isa::Program> programs,
                     const std::string& ptx_path, const ptx::DebugInfo& info) {
    ArgumentMaker maker(info);
    Ordered launches = Ordered::array();
    for (const isa::Program& program : programs)
        launches.push_back(launch_of(maker, module, program, info));
    Ordered out;
    out["schema"] = "lockwarp-launch/1";
    out["ptx"] = ptx_path;
    if (launches.size() == 1) {
        Ordered args = std::move(launches[0]["args"]);
        launches[0].erase("args");
        out.update(launches[0]);
        out["buffers"] = std::move(maker.buffers);
        out["args"] = std::move(args);
    } else {
        out["buffers"] = std::move(maker.buffers);
        out["launches"] = std::move(launches);
    }
    out["outputs"] = std::move(maker.outputs);
    std::string text;
    print(out, 0, 0, text);
    return text + "\n";
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
    if (program.required_block != not_stated && block != program.required_block)
        out.push_back("the block is not what the kernel requires: " + block_words(program));
    if (file.outputs.empty() && file.expectations.empty())
        out.push_back("no outputs are named and nothing is expected");
    return out;
}

}  // namespace lockwarp::launch
