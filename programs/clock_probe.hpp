// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks as PTX: each kernel reads %clock64, runs one kind of instruction and reads it
// again. The same text runs on a GPU and on the emulator.
//
// A kernel has the parameter (.u64 out), the address of `bytes` zero bytes on a 512-byte boundary,
// and runs as one CTA of 32 * warps threads. It measures twice, for the first time fills the
// instruction cache, and leaves in out[warp] the cycles of the last time; results follow, so that
// the assembler keeps everything. All operands are zeros loaded from that memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"

namespace lockwarp::programs {

struct Probe {
    // "mma.m16n8k16.f32.f16.f16.f32 chains1", "ldmatrix.x4 stride128 latency": "chainsN": N chains
    // of dependent instructions side by side, one of each by turns; "latency": one chain;
    // "throughput": independent ones.
    std::string key;
    std::string ptx;
    std::string entry;
    unsigned instructions = 0;    // that a warp runs between the two reads
    std::vector<unsigned> warps;  // of the CTA, one row each
    uint64_t bytes = 0;
    bool cold = false;  // the memory must have left the caches: it is cleared before every run
};

// What the machine can run. only: the beginnings of keys up to a point, a blank or another sign
// that is no letter or digit ("mma", "ld.shared", "mma.m16n8k16"); empty: all.
std::vector<Probe> clock_probes(isa::Arch arch, const std::vector<std::string>& only = {});

bool starts_with_words(const std::string& key, const std::string& beginning);

}  // namespace lockwarp::programs
