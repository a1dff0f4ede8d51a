// SPDX-License-Identifier: Apache-2.0
// A kernel that also writes down what it does: after each instruction the registers it wrote.
//
// Every thread has a track of 8-byte words of its own. Word i of lane l of warp w (counted over the
// watched CTAs) lies at ((w*words + i)*32 + l)*8 of the trace buffer. A record is the number of the
// instruction (its index in isa::Program::operations, plus 1), then one word for each register it
// wrote, zero-extended; a predicate is 0 or 1; of accesses whose results depend on an order there
// is more (ordered.hpp). Threads advance alone, so that a diverged warp
// leaves the same tracks in whatever order its paths run. Of records that begin in the window
// [first, first + words) of the track all words are stored; a track has `slack` words more, in
// which are the rest of the last one and what else was written with it, or with the first one of
// the next track.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"
#include "gpu/ordered.hpp"

namespace lockwarp::gpu {

struct TraceWindow {
    uint64_t first = 0;  // word of the track
    uint64_t words = 0;  // of one track
    uint64_t first_cta = 0;
    uint64_t ctas = 0;
};

// The instruction of each of isa::Program::operations; nullptr for those that end a function
// without standing in its text.
std::vector<const ptx::Instruction*> instructions_of(const ptx::Module& module,
                                                     const isa::Program& program);

// Which instructions leave a record: by operation index.
using Traced = std::vector<bool>;

// All instructions that write a register, or those of the named opcodes ("mma", "ldmatrix").
Traced choose_traced(const isa::Program& program, const std::vector<std::string>& opcodes,
                     const ptx::Module& module);

struct TracedKernel {
    std::string ptx;
    uint64_t longest = 0;  // words that are written at once, or not at all
    bool tickets = false;  // it has a counter (ordered.hpp)
};

// Words of a track behind its window.
uint64_t slack_of(const TracedKernel& kernel, const TraceWindow& window);

// Bytes before the trace buffer that are the kernel's too, and zeros at first: the counter, then
// places to write what lies in no window.
uint64_t bytes_before(const TracedKernel& kernel);

// Parameters that the traced kernel has after its own: the trace buffer's address, the window as
// TraceWindow has it, and what lies before the buffer.
std::vector<uint8_t> trace_parameters(const std::vector<uint8_t>& parameters, uint64_t buffer,
                                      const TraceWindow& window, const TracedKernel& kernel);

// Bytes of the trace buffer for `warps` warps of a CTA.
uint64_t trace_bytes(const TraceWindow& window, uint64_t slack, uint64_t warps);

// As an engine compiles it: without debug information (gpu/instrument.hpp), and with every f16, f32
// and f64 add, sub, mul and mad that names no rounding written with .rn: NVIDIA's compiler may
// contract the others into fma (PTX manual, "add": "An add instruction with no rounding modifier
// defaults to round-to-nearest-even and may be optimized aggressively by the code optimizer").
ptx::Module with_explicit_rounding(ptx::Module module);

// A kernel that instead leaves one word a thread: the digest (emu/num/digest.hpp) of all the words
// its records would have, 64-bit ones as two, with the salts of the instructions' numbers and the
// words' places; the second state in the upper half. It takes the same parameters; its window
// begins at word 0 and has 1 word, without slack.
std::string digest_kernel(const ptx::Module& module, const isa::Program& program,
                          const Traced& traced);

// orders: empty, or what of the order of accesses the records say too (ordered.hpp).
TracedKernel trace_kernel(const ptx::Module& module, const isa::Program& program,
                          const Traced& traced, const Orders& orders = {});

}  // namespace lockwarp::gpu
