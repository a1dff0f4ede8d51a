#include "tools/input.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tools/nvcc.hpp"
#include "tools/report.hpp"

namespace lockwarp::tools {

namespace {

constexpr uint64_t most_source_bytes = uint64_t{1} << 28;

std::string arch_names() {
    std::string out;
    for (const isa::ArchRow& a : isa::arch_rows)
        out += (out.empty() ? "" : ", ") + std::string(a.name);
    return out;
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
    in.ptx_path = source;
    if (source.empty()) {
        fs::path path(in.launch.ptx);
        if (path.is_relative()) path = fs::path(in.launch.folder) / path;
        in.ptx_path = path.string();
    }
    if (in.ptx_path.ends_with(".cu")) {
        const std::string target = arch.empty() ? in.launch.arch : arch;
        return compile_cuda(in.ptx_path, target, in.source);
    }
    std::vector<uint8_t> bytes;
    if (Problem why = read_file(in.ptx_path, most_source_bytes, bytes); !why.empty())
        return source.empty() ? in.launch.path + ": field 'ptx': " + why : why;
    in.source.assign(bytes.begin(), bytes.end());
    return {};
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

std::string diagnostics_report(const Input& in, const std::vector<ptx::Diagnostic>& diagnostics) {
    return fmt::format("{}{} error{} in {}\n", caret_report(in.ptx_path, in.source, diagnostics),
                       diagnostics.size(), diagnostics.size() == 1 ? "" : "s", in.ptx_path);
}

}  // namespace lockwarp::tools
