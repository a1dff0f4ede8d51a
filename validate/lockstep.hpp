// SPDX-License-Identifier: Apache-2.0
// The emulator and another engine side by side: the same kernel on both, every register that every
// lane wrote compared after every instruction, and all memory at the end. Bits, no tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/source_map.hpp"
#include "emu/ptx/tree.hpp"
#include "emu/warp/launch.hpp"
#include "gpu/engine.hpp"
#include "gpu/trace.hpp"
#include "launch/case.hpp"

namespace lockwarp::validate {

// How registers are compared. digests: one of 64 bits a lane (emu/num/digest.hpp), and words only
// in a CTA whose digests differ; always words where values are taken from the engine, single warps
// are watched, or an Answer with tracks is kept. by_size: words where the tracks fit in
// trace_bytes.
enum class Registers : uint8_t { by_size, words, digests };

struct Options {
    std::vector<std::string> only;  // opcodes; empty: every instruction
    // Lines of the PTX text, first and last of each range; empty: every line.
    std::vector<std::pair<uint32_t, uint32_t>> lines;
    bool final_only = false;  // memory at the end, no registers
    Registers registers = Registers::by_size;
    // The CTAs (x fastest) and the warps of each whose registers are compared.
    uint64_t first_cta = 0;
    uint64_t ctas = UINT64_MAX;
    uint32_t warps = UINT32_MAX;               // bit n: warp n
    uint64_t trace_bytes = uint64_t{1} << 30;  // memory for tracks on either side
    uint32_t optimization = 4;                 // of the engine's compiler, 0 to 4
    bool measure = false;                      // runs the emulator alone too, for Report::seconds
    bool drop_tracks = false;                  // an Answer that is kept has none
    uint64_t max_steps = UINT64_MAX;
    unsigned threads = 0;
    const std::atomic<bool>* stop = nullptr;
};

enum class DifferenceKind : uint8_t {
    value,         // a register's bits
    control_flow,  // the engine's lane went another way
    memory,        // a byte at the end
    fault,         // one side ended with a fault, or both with different ones
    order,         // what the engine's lane saw is in memory in no order of the other threads
};

inline constexpr uint32_t no_branch = UINT32_MAX;

// A store of another warp to what a load reads.
struct RacingStore {
    uint32_t operation = 0;
    std::array<uint32_t, 3> cta{};
    uint32_t warp = 0;
};

// The first difference: of all those of the lowest CTA the first in its run.
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
    // The lane's last conditional branch before it (an operation, or no_branch).
    uint32_t branch = no_branch;
    bool branch_taken = false;
    uint64_t word = 0;    // of the lane's track, where its record begins
    uint64_t moment = 0;  // instructions that the CTA's warps had retired before
    // order: by the tickets (gpu/ordered.hpp) nothing else could be in memory.
    bool certain = false;
    // value: the registers it read, in every lane, before the instruction.
    struct Input {
        std::string name;
        isa::Type type = isa::Type::none;
        std::array<uint64_t, 32> lanes{};
    };
    std::vector<Input> inputs;
    std::optional<RacingStore> racing;  // value: of a load
    uint32_t executed = 0;              // lanes that ran it
};

struct Counts {
    uint64_t values = 0;  // registers compared, lane by lane
    uint64_t different = 0;
    uint64_t masked = 0;     // not compared: the manual leaves them undefined
    uint64_t unwritten = 0;  // not compared, taken from the engine: of what nothing wrote
    uint64_t taken = 0;      // not compared, taken from the engine: inexact, or of order or place
    uint64_t places = 0;     // operations not compared at all: addresses (validate/places.hpp)
    uint64_t memory_bytes = 0;
    uint64_t memory_different = 0;
    uint64_t faults = 0;  // ends by a fault that both sides share

    Counts& operator+=(const Counts& more) {
        values += more.values;
        different += more.different;
        masked += more.masked;
        unwritten += more.unwritten;
        taken += more.taken;
        places += more.places;
        memory_bytes += more.memory_bytes;
        memory_different += more.memory_different;
        faults += more.faults;
        return *this;
    }
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
    uint32_t optimization = 4;                  // of the engine's compiler, 0 to 4
    std::vector<std::vector<uint8_t>> outputs;  // the buffers afterwards; empty: not kept
    gpu::Traced traced;                         // by operation; empty: no registers
    gpu::Orders orders;                         // by operation; empty: the records have no order
    std::vector<Tracks> tracks;
};

// Seconds that the parts of a comparison took.
struct Seconds {
    double start = 0;    // the plain kernel on the engine, its compilation included
    double traced = 0;   // all that follows: the engine's tracks, the emulator beside them, memory
    double compile = 0;  // of these the traced kernel's first run
    double alone = 0;    // the emulator alone, where it was measured
};

struct Report {
    std::string problem;   // the case could not be run at all
    bool nothing = false;  // for it has no instruction that is to be compared
    std::vector<ptx::Diagnostic> diagnostics;
    isa::Program program;
    std::vector<std::string> spellings;  // of each operation, as the source has it
    ptx::SourceMap sources;              // of the module's line information
    Counts counts;
    std::vector<Counts> by_operation;
    uint64_t records = 0;
    uint64_t windows = 0;
    std::optional<Difference> first;
    // Of the first difference's CTA, or of all where there is an order, where it is one of
    // registers; and the window that it was found in.
    std::optional<Tracks> tracks;
    gpu::TraceWindow window;
    std::optional<warp::Trap> trap;  // the emulator's
    bool same_fault = false;         // both sides faulted, and alike: no difference
    std::string fault;               // the engine's words for its fault
    Seconds seconds;
    bool by_digest = false;  // the values were compared by digests
    // What it leaves may depend on the order of its threads, and both sides took the engine's.
    bool ordered = false;
    bool traced_differs =
        false;  // the problem: the traced kernel gives other results than the plain
    uint64_t varying_bytes = 0;  // memory that differs between two runs of the engine
    // Global memory to which registers were stored that nothing wrote: address and bytes. It is not
    // compared.
    std::vector<std::pair<uint64_t, uint64_t>> unknown_memory;
    warp::Statistics statistics;
    std::vector<warp::Folded> folded;  // as warp::Result
};

// Runs the case on the emulator (as the engine's architecture) and on the engine. keep: what the
// engine gave, for a recording.
Report run_lockstep(const launch::Case& c, isa::Arch arch, gpu::Engine& engine,
                    const Options& options, Answer* keep = nullptr);

// Compares the emulator with what an engine gave once, at the optimization that it had. The answer
// is not trusted: one that does not belong to the case is a problem of the report.
Report replay(const launch::Case& c, isa::Arch arch, const Answer& answer, const Options& options);

// 1234567 -> "1,234,567"
std::string grouped(uint64_t n);

// "820,224 register values compared, ...", without a full stop.
std::string counts_text(const Counts& counts);

// A line for each of the first instructions that had the value of NVIDIA's assembler, and how many
// more there are; empty: there is none.
std::string folded_text(const isa::Program& program, const std::vector<warp::Folded>& folded,
                        const std::string& file);

// "NVIDIA H200, sm_90, driver 580.159.04, 1980 MHz"
std::string device_text(const gpu::Device& device);

// "identical: ..." or the first difference, for a person; `file` is the PTX's name.
std::string text_report(const Report& report, const gpu::Device& device, const std::string& file);

}  // namespace lockwarp::validate
