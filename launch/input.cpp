// SPDX-License-Identifier: Apache-2.0
#include "launch/input.hpp"

#include <algorithm>
#include <filesystem>

#include "launch/nvcc.hpp"
#include "launch/variables.hpp"

namespace lockwarp::launch {

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

}  // namespace

Error refused(const Input& in, std::vector<ptx::Diagnostic> diagnostics) {
    return {{}, std::move(diagnostics), in.ptx_path, in.source};
}

Result<Input> read_input(const std::vector<std::string>& files, const std::string& arch) {
    namespace fs = std::filesystem;
    Input in;
    std::string source;
    std::string launch = files.back();
    if (files.size() == 2) source = files[0];
    if (files.size() == 1 && (launch.ends_with(".cu") || launch.ends_with(".ptx"))) {
        source = launch;
        launch = fs::path(source).replace_extension(".json").string();
        if (!fs::exists(launch))
            return failure(source + ": no launch file; name one after it, or write " + launch);
    }
    Result<LaunchFile> read = read_launch_file(launch);
    if (!read) return failure(read);
    in.launch = std::move(*read);
    fs::path named(in.launch.ptx);
    if (named.is_relative()) named = fs::path(in.launch.folder) / named;
    in.ptx_path = source.empty() ? named.string() : source;
    if (in.ptx_path.ends_with(".cu")) {
        std::string target = arch.empty() ? in.launch.arch : arch;
        if (target.empty()) target = target_of(named.string());
        Result<std::string> ptx = compile_cuda(in.ptx_path, target);
        if (!ptx) return failure(ptx);
        in.source = std::move(*ptx);
    } else {
        Result<std::string> ptx = read_text(in.ptx_path, max_source_bytes);
        if (!ptx) {
            const std::string& why = ptx.error().sentence;
            return failure(source.empty() ? in.launch.path + ": field 'ptx': " + why : why);
        }
        in.source = std::move(*ptx);
    }
    if (!is_text(in.source)) return failure(in.ptx_path + ": not a text, and so no PTX");
    ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty())
        return tl::unexpected(refused(in, std::move(parsed.diagnostics)));
    in.module = std::move(parsed.module);
    if (Result<void> set = set_variables(in.launch, in.module); !set) return failure(set);
    return in;
}

Result<isa::Arch> choose_arch(const Input& in, const std::string& named) {
    const std::string name = named.empty() ? in.launch.arch : named;
    const std::optional<isa::Arch> arch = isa::arch_named(name);
    if (arch) return *arch;
    if (!name.empty())
        return failure((named.empty() ? in.launch.path + ": field 'arch': '" : "--arch: '") + name +
                       "' is not modelled; one of " + arch_names());
    std::vector<ptx::Diagnostic> diagnostics;
    const std::optional<isa::Arch> target = isa::target_arch(in.module, diagnostics);
    if (!target) return tl::unexpected(refused(in, std::move(diagnostics)));
    return *target;
}

Result<isa::Program> resolve(const Input& in, isa::Arch arch) {
    isa::Resolved resolved = isa::resolve(in.module, arch, in.launch.entry);
    if (!resolved.diagnostics.empty())
        return tl::unexpected(refused(in, std::move(resolved.diagnostics)));
    return std::move(resolved.program);
}

Result<Loaded> load(const std::vector<std::string>& files, const std::string& arch) {
    Result<Input> in = read_input(files, arch);
    if (!in) return failure(in);
    Result<isa::Arch> chosen = choose_arch(*in, arch);
    if (!chosen) return failure(chosen);
    Result<isa::Program> program = resolve(*in, *chosen);
    if (!program) return failure(program);
    return Loaded{std::move(*in), *chosen, std::move(*program)};
}

}  // namespace lockwarp::launch
