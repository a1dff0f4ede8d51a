// SPDX-License-Identifier: Apache-2.0
// What the commands time, validate, run and replay do, for Python.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/core/module.hpp"
#include "tools/report/time_report.hpp"
#include "validate/summary.hpp"

namespace lockwarp::python {

// A byte of the parameters that holds the address of a byte of the request's memory.
using Pointer = std::pair<uint32_t, uint64_t>;

// The model's cycles of a launch on a machine ("sm_90", "H200"; "": of the module's architecture).
// It runs on a copy of the memory, and the module's variables stay as they are. pointers: where the
// parameters have addresses, if nothing else has any: then the memory lies where a GPU's driver
// would place it, and not where this process has it, which costs more sectors. Throws Failure;
// where the program faults, `fault` has the outcome and the rest is empty.
struct TimedLaunch {
    tools::Timed timed;
    Outcome fault;
};
TimedLaunch time_launch(const Kernel& kernel, const Request& request,
                        const std::vector<Pointer>& pointers, const std::string& machine, bool all,
                        const std::atomic<bool>& stop);

struct Validated {
    bool identical = false;
    std::string text;  // as lockwarp validate prints it
    gpu::Device device;
    validate::CaseResult result;
};
// The launch beside GPU number `gpu`, on copies of the memory. Every aligned word of 8 bytes that
// is an address in the memory is one there too: in the parameters, structs among them, and in the
// memory itself. Throws NoGpu where there is no GPU.
Validated validate_launch(const Kernel& kernel, const Request& request, unsigned gpu,
                          const std::atomic<bool>& stop);

// What an array of the launch should hold after it.
struct Wanted {
    uint64_t address = 0;
    std::string type;  // of an element, as launch files name it: "f16"
    uint64_t rows = 1, columns = 1;
    std::vector<uint8_t> bytes;                     // row by row
    std::optional<double> ulp, absolute, relative;  // none: these bits
};
struct Explained {
    std::string text;  // as lockwarp why prints it
    std::string json;
};
// Why it holds something else. The launch runs on copies of the memory. Throws Failure.
Explained why_launch(const Kernel& kernel, const Request& request, const Wanted& wanted,
                     const std::atomic<bool>& stop);

struct LaunchedStep {
    isa::Program program;
    ptx::SourceMap places;
    Outcome outcome;
};

// A launch file's run: its launches one after another.
struct FileOutcome {
    std::vector<std::pair<std::string, std::vector<uint8_t>>> outputs;  // buffers and variables
    std::vector<std::pair<std::string, std::vector<uint8_t>>> buffers;  // all, by name
    std::vector<LaunchedStep> launches;                                 // the last may have trapped
    std::vector<std::pair<bool, std::string>> expectations;             // held, text
};
FileOutcome run_file(const std::string& path, const std::string& arch, const std::string& checks,
                     unsigned threads, uint64_t max_steps, const exec::Schedule& schedule,
                     const std::atomic<bool>& stop);

struct Replayed {
    validate::CaseResult result;
    gpu::Device device;
};
// One recording beside the emulator. One that cannot be read or compared: Verdict::failed.
Replayed replay_file(const std::string& path, unsigned threads, const std::atomic<bool>& stop);

}  // namespace lockwarp::python
