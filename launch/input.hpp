// What commands that run a kernel are given: a launch file, and the source it names.
#pragma once

#include <string>
#include <vector>

#include "emu/lockwarp.hpp"
#include "launch/launch_file.hpp"

namespace lockwarp::launch {

struct Input {
    LaunchFile launch;
    std::string ptx_path;
    std::string source;
};

// The launch file and the PTX it names. files: [SOURCE] LAUNCH.json; a source takes the place of
// that in the launch file, and alone stands for the launch file of its name beside it.
Problem read_input(const std::vector<std::string>& files, const std::string& arch, Input& in);

// The architecture to model: `named` (of the command line), else the launch file's, else the
// module's own target. diagnostics: the target is not modelled.
Problem choose_arch(const Input& in, const std::string& named, const ptx::Module& module,
                    isa::Arch& out, std::vector<ptx::Diagnostic>& diagnostics);

}  // namespace lockwarp::launch
