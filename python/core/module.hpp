// SPDX-License-Identifier: Apache-2.0
// Modules and kernels as Python holds them: read once, launched many times, with variables that
// last from launch to launch.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/exec/ready.hpp"
#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/source_map.hpp"
#include "launch/input.hpp"
#include "launch/state.hpp"

namespace lockwarp::python {

// Bytes of the process that a launch may touch; their addresses are the device's.
struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
    std::string name;
};

// A launch as lockwarp.Kernel.launch_raw is given it.
struct Request {
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    std::vector<uint8_t> parameters;
    std::vector<Range> memory;
    unsigned threads = 0;  // 0: all cores
    uint64_t max_steps = UINT64_MAX;
    bool cooperative = false;
    std::optional<warp::Dim3> cluster;
    bool non_portable_cluster = false;
    exec::Schedule schedule;
};

// Throws where checks are asked for of a late schedule.
void check_early(const exec::Schedule& schedule, bool checks);

struct Found {
    const check::CheckRow* check = nullptr;
    std::vector<check::Found> findings;
    std::string report;  // as the program prints it; empty: nothing was found
};

struct Outcome {
    warp::Result result;
    std::string trap_report;                    // empty: no trap
    std::vector<ptx::SourcePlace> trap_places;  // of the trap in its source, innermost first
    std::vector<Found> found;
};

// A module that has been read, and what launches of its kernels leave to those after them.
struct Source {
    launch::Input in;
    isa::Arch arch{};
    ptx::SourceMap places;
    std::mutex lock;      // of what follows
    launch::State state;  // variables that launches have changed
};

class Kernel {
  public:
    Kernel(std::shared_ptr<Source> source, isa::Program program)
        : source_(std::move(source)),
          program_(std::move(program)),
          ready_(exec::make_ready(program_, false, true)) {}
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    const isa::Program& program() const { return program_; }
    const Source& source() const { return *source_; }

    // Runs it. Launches of a module with variables come one after another, others may overlap.
    // Throws Failure where it cannot begin; a trap is part of the outcome.
    Outcome launch(const Request& request, const std::vector<const check::CheckRow*>& checks,
                   const check::Described& described, const std::atomic<bool>& stop) const;

    warp::Launch prepare(const Request& request) const;
    // The module's variables as they are now, as the program's image.
    std::vector<uint8_t> variables() const;

  private:
    void run(warp::Launch& launch, const exec::Schedule& schedule, Outcome& out) const;

    std::shared_ptr<Source> source_;
    isa::Program program_;
    std::shared_ptr<const exec::Ready> ready_;  // of program_
};

class Module {
  public:
    // PTX text; `name` is what messages call it. Of arch "" the module's own target. Throws
    // Failure.
    static std::shared_ptr<Module> of_text(std::string text, const std::string& name,
                                           const std::string& arch);
    // A .ptx or, where nvcc is, a .cu.
    static std::shared_ptr<Module> of_file(const std::string& path, const std::string& arch,
                                           const std::vector<std::string>& nvcc);

    std::vector<std::string> entries() const;
    // By any name that fits one kernel; without one the only kernel. The same object every time.
    std::shared_ptr<Kernel> kernel(const std::string& name);

    const Source& source() const { return *source_; }

  private:
    void read(const std::string& arch);

    std::shared_ptr<Source> source_ = std::make_shared<Source>();
    std::mutex lock_;
    std::map<std::string, std::shared_ptr<Kernel>> kernels_;
};

// Ranges that overlap or touch nothing else, by address: those that overlap become one, which has
// the names of all. Throws Failure for one that wraps around.
std::vector<Range> merged(std::vector<Range> ranges);

}  // namespace lockwarp::python
