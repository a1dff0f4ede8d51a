#include "launch/input.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "launch/nvcc.hpp"
#include "launch/variables.hpp"

namespace lockwarp::launch {

namespace {

constexpr uint64_t most_source_bytes = uint64_t{1} << 28;

std::string arch_names() {
    std::string out;
    for (const isa::ArchRow& a : isa::arch_rows)
        out += (out.empty() ? "" : ", ") + std::string(a.name);
    return out;
}

// The target of the PTX that the launch file names and a CUDA source stands for; empty where there
// is none.
std::string target_of(const std::string& ptx_path) {
    std::vector<uint8_t> bytes;
    if (!ptx_path.ends_with(".ptx") || !read_file(ptx_path, most_source_bytes, bytes).empty())
        return {};
    const ptx::Parsed parsed = ptx::parse(std::string(bytes.begin(), bytes.end()));
    std::vector<ptx::Diagnostic> ignored;
    const std::optional<isa::Arch> arch = isa::target_arch(parsed.module, ignored);
    return arch ? std::string(isa::row(*arch).name) : std::string{};
}

}  // namespace

Problem read_input(const std::vector<std::string>& files, const std::string& arch, Input& in) {
    namespace fs = std::filesystem;
    std::string source;
    std::string launch = files.back();
    if (files.size() == 2) source = files[0];
    if (files.size() == 1 && (launch.ends_with(".cu") || launch.ends_with(".ptx"))) {
        source = launch;
        launch = fs::path(source).replace_extension(".json").string();
        if (!fs::exists(launch))
            return source + ": no launch file; name one after it, or write " + launch;
    }
    if (Problem why = read_launch_file(launch, in.launch); !why.empty()) return why;
    fs::path named(in.launch.ptx);
    if (named.is_relative()) named = fs::path(in.launch.folder) / named;
    in.ptx_path = source.empty() ? named.string() : source;
    if (in.ptx_path.ends_with(".cu")) {
        std::string target = arch.empty() ? in.launch.arch : arch;
        if (target.empty()) target = target_of(named.string());
        if (Problem why = compile_cuda(in.ptx_path, target, in.source); !why.empty()) return why;
        return set_variables(in.launch, in.source);
    }
    std::vector<uint8_t> bytes;
    if (Problem why = read_file(in.ptx_path, most_source_bytes, bytes); !why.empty())
        return source.empty() ? in.launch.path + ": field 'ptx': " + why : why;
    in.source.assign(bytes.begin(), bytes.end());
    return set_variables(in.launch, in.source);
}

Problem choose_arch(const Input& in, const std::string& named, const ptx::Module& module,
                    isa::Arch& out, std::vector<ptx::Diagnostic>& diagnostics) {
    const std::string name = named.empty() ? in.launch.arch : named;
    std::optional<isa::Arch> arch = isa::arch_named(name);
    if (!name.empty() && !arch)
        return (named.empty() ? in.launch.path + ": field 'arch': '" : "--arch: '") + name +
               "' is not modelled; one of " + arch_names();
    if (!arch) arch = isa::target_arch(module, diagnostics);
    if (arch) out = *arch;
    return {};
}

}  // namespace lockwarp::launch
