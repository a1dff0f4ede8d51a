// SPDX-License-Identifier: Apache-2.0
// How a probe's text is put together. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "programs/clock_probe.hpp"
#include "programs/program_writer.hpp"

namespace lockwarp::programs {

inline constexpr uint64_t probe_results = 4096;      // behind the cycles
inline constexpr uint64_t probe_result_step = 8192;  // of one result of all threads
inline constexpr uint64_t probe_zeros = 0x100000;    // only read
inline constexpr uint64_t probe_scratch = 0x300000;  // zeros for the kernel's own use
inline constexpr uint64_t probe_bytes = 0x400000;

// One probe in the making. Registers of every kernel: %r0 zero, %r1 tid, %r2 lane, %r3 warp, %r4
// the threads; %q0 out, %q3 this thread's first zero, %q4 the scratch memory.
class ProbeWriter {
  public:
    ProbeWriter(std::string key, unsigned instructions, std::vector<unsigned> warps);

    // A register of 16, 32 or 64 bits, or a predicate (1).
    std::string fresh(unsigned width);
    // One that holds zero, which only the run can know.
    std::string zero(unsigned width);
    // `bytes` bytes of shared memory, the first `cleared` of them zero. The register that has its
    // address.
    std::string shared(unsigned bytes, unsigned cleared);

    void module(const std::string& text) { module_ += text; }
    void setup(const std::string& text) { setup_ += text + ";\n"; }
    void line(const std::string& text) { measured_ += text + ";\n"; }
    void after(const std::string& text) { after_ += text + ";\n"; }
    void result(const std::string& name, unsigned width) { results_.push_back({name, width}); }
    void asks(uint16_t version, isa::Suffix suffix);
    // Around the measured part: warps for which the predicate is false leave it out.
    void only_where(const std::string& predicate) { where_ = predicate; }
    // Measures once; see Probe::cold.
    void cold(uint64_t bytes);

    Probe finish(isa::Arch arch) const;

  private:
    struct Result {
        std::string name;
        unsigned width;
    };
    Probe probe_;
    std::string module_, declared_, setup_, measured_, after_, where_;
    std::vector<Result> results_;
    unsigned registers_ = 0, zeros_ = 0, measurements_ = 2;
    uint16_t version_ = 0;
    isa::Suffix suffix_ = isa::Suffix::none;
};

struct ProbeList {
    isa::Arch arch;
    const std::vector<std::string>& only;
    std::vector<Probe> probes;

    bool wants(const std::string& key) const;
    void add(const ProbeWriter& w) { probes.push_back(w.finish(arch)); }
    bool has(uint16_t target) const { return isa::has(arch, target); }
};

void add_matrix_probes(ProbeList& list);
void add_scalar_probes(ProbeList& list);
void add_shared_probes(ProbeList& list);
void add_global_probes(ProbeList& list);
void add_pair_probes(ProbeList& list);
void add_async_probes(ProbeList& list);

}  // namespace lockwarp::programs
