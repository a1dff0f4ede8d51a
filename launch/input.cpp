// SPDX-License-Identifier: Apache-2.0
#include "launch/input.hpp"

#include <algorithm>
#include <filesystem>

#include "launch/entry.hpp"
#include "launch/nvcc.hpp"
#include "launch/variables.hpp"

namespace lockwarp::launch {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t max_source_bytes = uint64_t{1} << 28;

std::string arch_names() {
    std::string out;
    for (const isa::ArchRow& a : isa::arch_rows)
        out += (out.empty() ? "" : ", ") + std::string(a.name);
    return out;
}

// The target of the PTX that the launch file names and a CUDA source stands for; empty where there
// is none.
std::string target_of(const std::string& ptx_path) {
    if (!ptx_path.ends_with(".ptx")) return {};
    const Result<std::string> text = read_text(ptx_path, max_source_bytes);
    if (!text) return {};
    const ptx::Parsed parsed = ptx::parse(*text);
    std::vector<ptx::Diagnostic> ignored;
    const std::optional<isa::Arch> arch = isa::target_arch(parsed.module, ignored);
    return arch ? std::string(isa::row(*arch).name) : std::string{};
}

// A text has no control characters but blanks; of a file that is none, every other byte would be an
// error of its own.
bool is_text(std::string_view bytes) {
    constexpr size_t looked_at = 1 << 16;
    bytes = bytes.substr(0, looked_at);
    const auto wrong = std::ranges::count_if(
        bytes, [](char c) { return static_cast<unsigned char>(c) < 32 && (c < '\t' || c > '\r'); });
    constexpr ptrdiff_t tolerated = 8;  // they are shown with their places
    return wrong <= tolerated;
}

// The PTX of one launch, parsed, with its entry by its name in the module and its variables set.
Result<void> read_module(Input& in, const std::string& source, const std::string& arch,
                         const std::vector<std::string>& nvcc) {
    Kernel& kernel = in.launch.launches[in.step];
    const auto field = [&](ptx::Place place, const char* name) {
        return in.launch.at(place) + "field '" + in.launch.field(kernel, name) + "': ";
    };
    fs::path named(kernel.ptx);
    if (named.is_relative()) named = fs::path(in.launch.folder) / named;
    in.path = in.ptx_path = source.empty() ? named.string() : source;
    if (in.ptx_path.ends_with(".cu")) {
        std::string target = arch.empty() ? in.launch.arch : arch;
        if (target.empty()) target = target_of(named.string());
        Result<Compiled> made = compile_cuda(in.ptx_path, target, nvcc);
        if (!made) return failure(made);
        in.source = std::move(made->ptx);
        in.ptx_path = std::move(made->path);
        in.compiled = std::move(made->folder);
    } else if (!nvcc.empty()) {
        return failure(in.ptx_path + ": options for nvcc are given, and this is no .cu");
    } else {
        Result<std::string> ptx = read_text(in.ptx_path, max_source_bytes);
        if (!ptx) {
            const std::string& why = ptx.error().sentence;
            return failure(source.empty() ? field(kernel.ptx_place, "ptx") + why : why);
        }
        in.source = std::move(*ptx);
    }
    if (!is_text(in.source)) return failure(in.path + ": not a text, and so no PTX");
    ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty())
        return tl::unexpected(refused(in, std::move(parsed.diagnostics)));
    in.module = std::move(parsed.module);
    const Result<std::string> entry = find_entry(in.module, kernel.entry);
    if (!entry) return failure(field(kernel.entry_place, "entry") + entry.error().sentence);
    kernel.entry = *entry;
    for (const FunctionField& f : kernel.functions)
        if (!std::ranges::any_of(in.module.items, [&](const auto& item) {
                const auto* const of = std::get_if<ptx::Function>(&item);
                return of != nullptr && !of->is_entry && of->has_body && of->name == f.name;
            }))
            return failure(field(f.place, ("functions." + f.name).c_str()) +
                           "the module has no such function");
    return set_variables(in.launch, kernel, in.module);
}

}  // namespace

Error refused(const Input& in, std::vector<ptx::Diagnostic> diagnostics) {
    return {{}, std::move(diagnostics), named_ptx(in), in.source};
}

std::string named_ptx(const Input& in) {
    if (in.compiled) in.compiled->keep();
    return in.ptx_path;
}

void keep_if_named(const Input& in, std::string_view text) {
    if (in.compiled && text.find(in.ptx_path) != std::string_view::npos) in.compiled->keep();
}

Result<std::vector<Input>> read_inputs(const std::vector<std::string>& files,
                                       const std::string& arch,
                                       const std::vector<std::string>& nvcc) {
    std::string source;
    std::string launch = files.back();
    if (files.size() == 2) source = files[0];
    if (files.size() == 1 && (launch.ends_with(".cu") || launch.ends_with(".ptx"))) {
        source = launch;
        launch = fs::path(source).replace_extension(".json").string();
        if (!fs::exists(launch))
            return failure(source + ": no launch file; name one after it, or write " + launch +
                           " from what 'lockwarp init " + source + "' prints");
    }
    Result<LaunchFile> file = read_launch_file(launch);
    if (!file) return failure(file);
    std::vector<Input> out;
    for (size_t step = 0; step < file->launches.size(); ++step) {
        Input& in = out.emplace_back();
        in.launch = *file;
        in.step = step;
        if (Result<void> read = read_module(in, source, arch, nvcc); !read) return failure(read);
    }
    return out;
}

Result<Input> read_input(const std::vector<std::string>& files, const std::string& arch,
                         const std::vector<std::string>& nvcc) {
    Result<std::vector<Input>> all = read_inputs(files, arch, nvcc);
    if (!all) return failure(all);
    if (all->size() != 1)
        return failure(files.back() + ": field 'launches': one launch is expected here, not " +
                       std::to_string(all->size()));
    return std::move(all->front());
}

Result<isa::Arch> choose_arch(const Input& in, const std::string& named) {
    const std::string name = named.empty() ? in.launch.arch : named;
    const std::optional<isa::Arch> arch = isa::arch_named(name);
    if (arch) return *arch;
    if (!name.empty())
        return failure(
            (named.empty() ? in.launch.at(in.launch.arch_place) + "field 'arch': '" : "--arch: '") +
            shown(name) + "' is not modelled; one of " + arch_names());
    std::vector<ptx::Diagnostic> diagnostics;
    const std::optional<isa::Arch> target = isa::target_arch(in.module, diagnostics);
    if (!target) return tl::unexpected(refused(in, std::move(diagnostics)));
    return *target;
}

Result<isa::Program> resolve(const Input& in, isa::Arch arch) {
    isa::Resolved resolved = isa::resolve(in.module, arch, in.kernel().entry);
    if (!resolved.diagnostics.empty())
        return tl::unexpected(refused(in, std::move(resolved.diagnostics)));
    return std::move(resolved.program);
}

Result<std::vector<Loaded>> load_all(const std::vector<std::string>& files, const std::string& arch,
                                     const std::vector<std::string>& nvcc) {
    Result<std::vector<Input>> all = read_inputs(files, arch, nvcc);
    if (!all) return failure(all);
    // Left open, the first module says it.
    const Result<isa::Arch> chosen = choose_arch(all->front(), arch);
    if (!chosen) return tl::unexpected(chosen.error());
    std::vector<Loaded> out;
    for (Input& in : *all) {
        Result<isa::Program> program = resolve(in, *chosen);
        if (!program) return failure(program);
        out.push_back({std::move(in), *chosen, std::move(*program)});
    }
    return out;
}

Result<Loaded> load(const std::vector<std::string>& files, const std::string& arch) {
    Result<Input> in = read_input(files, arch);
    if (!in) return failure(in);
    const Result<isa::Arch> chosen = choose_arch(*in, arch);
    if (!chosen) return tl::unexpected(chosen.error());
    Result<isa::Program> program = resolve(*in, *chosen);
    if (!program) return failure(program);
    return Loaded{std::move(*in), *chosen, std::move(*program)};
}

}  // namespace lockwarp::launch
