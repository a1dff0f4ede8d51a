// SPDX-License-Identifier: Apache-2.0
// What commands that run a kernel are given: a launch file, and the kernel it names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/lockwarp.hpp"
#include "launch/launch_file.hpp"
#include "launch/result.hpp"
#include "launch/unfinished.hpp"

namespace lockwarp::launch {

// One launch of a launch file, and its module, parsed once.
struct Input {
    LaunchFile launch;
    size_t step = 0;       // of LaunchFile::launches
    std::string path;      // of the .ptx or .cu
    std::string ptx_path;  // of a .cu the temporary file that nvcc made (named_ptx)
    std::string source;    // the PTX as it was read or compiled: diagnostics and traps quote it
    ptx::Module module;    // of the source, with the launch's variables in it
    std::shared_ptr<Temporary> compiled;  // the folder of a temporary ptx_path

    const Kernel& kernel() const { return launch.launches[step]; }
    bool has_variables() const {
        return step < launch.launches.size() && !kernel().variables.empty();
    }
};

// ptx_path, for a message that names it: what is temporary stays.
std::string named_ptx(const Input& in);
// The same where the text names it.
void keep_if_named(const Input& in, std::string_view text);

// The launch file and the PTX that its launches name, one after another. files: [SOURCE]
// LAUNCH.json; a source takes the place of that in the launch file, and alone stands for the launch
// file of its name beside it. arch: what a .cu is compiled for; may be empty. nvcc: options for it.
[[nodiscard]] Result<std::vector<Input>> read_inputs(const std::vector<std::string>& files,
                                                     const std::string& arch,
                                                     const std::vector<std::string>& nvcc = {});

// The same of a launch file that must have one launch.
[[nodiscard]] Result<Input> read_input(const std::vector<std::string>& files,
                                       const std::string& arch,
                                       const std::vector<std::string>& nvcc = {});

// The architecture to model: `named` (of the command line), else the launch file's, else the
// module's own target.
[[nodiscard]] Result<isa::Arch> choose_arch(const Input& in, const std::string& named);

// What is wrong with an input's PTX.
Error refused(const Input& in, std::vector<ptx::Diagnostic> diagnostics);

// The launch file's kernel, resolved for an architecture.
[[nodiscard]] Result<isa::Program> resolve(const Input& in, isa::Arch arch);

// All of that: an input whose kernel is ready to run.
struct Loaded {
    Input in;
    isa::Arch arch;
    isa::Program program;
};
[[nodiscard]] Result<Loaded> load(const std::vector<std::string>& files, const std::string& arch);

// The same of each launch of a launch file, all for one architecture; at least one.
[[nodiscard]] Result<std::vector<Loaded>> load_all(const std::vector<std::string>& files,
                                                   const std::string& arch,
                                                   const std::vector<std::string>& nvcc = {});

}  // namespace lockwarp::launch
