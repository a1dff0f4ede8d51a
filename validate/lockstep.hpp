// The emulator and another engine side by side: the same kernel on both, every register that every
// lane wrote compared after every instruction, and all memory at the end. Bits, no tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"
#include "emu/warp/launch.hpp"
#include "gpu/engine.hpp"
#include "gpu/trace.hpp"

namespace lockwarp::validate {

// A buffer's address in the kernel's parameters, known once an engine has placed the buffer.
struct Patch {
    uint32_t at = 0;  // byte of the parameters
    size_t buffer = 0;
    uint64_t offset = 0;
};

// What both engines run. Buffers begin with `bytes`; their addresses are the engine's.
struct Case {
    ptx::Module module;
    std::string entry;
    warp::Dim3 grid, block;
    uint32_t dynamic_shared = 0;
    std::vector<uint8_t> parameters;
    std::vector<Patch> patches;
    std::vector<std::string> names;
    std::vector<std::vector<uint8_t>> bytes;
};

struct Options {
    std::vector<std::string> only;             // opcodes; empty: every instruction
    bool final_only = false;                   // memory at the end, no registers
    uint64_t trace_bytes = uint64_t{1} << 30;  // memory for tracks on either side
    uint64_t max_steps = UINT64_MAX;
    unsigned threads = 0;
    const std::atomic<bool>* stop = nullptr;
};

enum class DifferenceKind : uint8_t {
    value,         // a register's bits
    control_flow,  // the engine's lane went another way
    memory,        // a byte at the end
    fault,         // one side ended with a fault, or both with different ones
};

// The first difference: of all the one with the lowest CTA, then warp and step.
struct Difference {
    DifferenceKind kind = DifferenceKind::value;
    uint32_t operation = 0;
    std::array<uint32_t, 3> cta{};
    uint64_t cta_index = 0;
    uint32_t warp = 0;
    uint64_t step = 0;
    uint32_t lane = 0;
    uint32_t reg = 0;  // value: which written register, from 0
    uint64_t emulated = 0;
    uint64_t other = 0;   // value: the engine's bits; control_flow: its operation + 1, or 0
    std::string buffer;   // memory
    uint64_t offset = 0;  // memory: of the first differing byte
    std::string what;     // fault: a sentence
    // value: the registers it read, in every lane, after the instruction (a register that it also
    // wrote shows the result).
    struct Input {
        std::string name;
        isa::Type type = isa::Type::none;
        std::array<uint64_t, 32> lanes{};
    };
    std::vector<Input> inputs;
    uint32_t executed = 0;  // lanes that ran it
};

struct Counts {
    uint64_t values = 0;  // registers compared, lane by lane
    uint64_t different = 0;
    uint64_t masked = 0;  // not compared: the manual leaves them undefined
    uint64_t taken = 0;   // not compared, taken from the engine: inexact, or of order or place
    uint64_t memory_bytes = 0;
    uint64_t memory_different = 0;
};

// A part of the tracks that a traced kernel left; gpu/trace.hpp has their layout.
struct Tracks {
    gpu::TraceWindow window;
    uint64_t slack = 0;
    std::vector<uint8_t> words;
};

// What an engine gave for a case: all that is needed to compare it again without the engine.
struct Answer {
    gpu::Device device;
    std::vector<uint64_t> addresses;  // of the case's buffers
    gpu::Ran ran;
    std::vector<std::vector<uint8_t>> outputs;  // the buffers afterwards; empty: not kept
    gpu::Traced traced;                         // by operation; empty: no registers
    std::vector<Tracks> tracks;
};

struct Report {
    std::string problem;  // the case could not be run at all
    std::vector<ptx::Diagnostic> diagnostics;
    isa::Program program;
    Counts counts;
    std::vector<Counts> by_operation;
    uint64_t records = 0;
    uint64_t windows = 0;
    std::optional<Difference> first;
    std::optional<warp::Trap> trap;  // the emulator's
    warp::Statistics statistics;
};

// Runs the case on the emulator (as the engine's architecture) and on the engine. keep: what the
// engine gave, for a recording.
Report run_lockstep(const Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                    Answer* keep = nullptr);

// Compares the emulator with what an engine gave once. The answer is not trusted: one that does
// not belong to the case is a problem of the report.
Report replay(const Case& c, isa::Arch arch, const Answer& answer, const Options& options);

// 1234567 -> "1,234,567"
std::string grouped(uint64_t n);

// "identical: ..." or the first difference, for a person; `file` is the PTX's name.
std::string text_report(const Report& report, const gpu::Device& device, const std::string& file);

}  // namespace lockwarp::validate
