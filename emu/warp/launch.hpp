// SPDX-License-Identifier: Apache-2.0
// What a launch is given, and what comes back: values without behaviour.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::warp {

class Observer;  // observer.hpp
class Oracle;
class Heap;           // heap.hpp
class DeviceAnswers;  // device_answers.hpp

// Memory the program may touch. The bytes are the caller's and are written in place.
struct Buffer {
    std::string name;
    uint64_t address = 0;  // its global address; buffers must not overlap
    std::span<uint8_t> bytes;
    // Nobody gave the bytes a value before the launch: what a thread reads there it must have
    // written. They are what they are for the run; checks tell.
    bool undefined = false;
};

// By their addresses; none overlap or wrap around the address space.
using Buffers = std::map<uint64_t, Buffer>;

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    constexpr uint64_t count() const { return uint64_t{x} * y * z; }
};

// A warp gives way to the others before it retires its instruction `step`; the CTA, before its
// first, where `warp` is no_warp.
struct GiveWay {
    static constexpr uint32_t no_warp = UINT32_MAX;
    uint64_t cta = 0;  // its index, x fastest
    uint32_t warp = no_warp;
    uint64_t step = 0;
    auto operator<=>(const GiveWay&) const = default;
};

// Another order of warps and CTAs than the usual one, in which each goes on as long as it can: they
// give way at places that the seed chooses, or at those that are listed. All CTAs run on one
// thread, so that the order is the same anywhere.
struct TurnOrder {
    uint64_t seed = 0;
    bool listed = false;          // the places are those of `places`, and the seed is not asked
    std::vector<GiveWay> places;  // ascending
    std::vector<GiveWay>* made = nullptr;  // optional: where they gave way, as they did
};

// Others who may change a launch's memory while it runs: the host, other launches.
class Outside {
  public:
    virtual ~Outside() = default;
    // All lanes wait, some of them for global memory, and nothing in the grid can change that any
    // more. Returns when it is worth another look, or with false: nobody will, it is a deadlock.
    // `progress` is another number than before where lanes went on since. On one of the launch's
    // threads, one at a time.
    virtual bool may_change(uint64_t progress) = 0;
};

// Another address of a function than the emulator's: memory and parameters may hold a GPU's.
struct FunctionAddress {
    uint64_t address = 0;
    uint32_t number = 0;  // isa::Function::number
};

struct Launch {
    Dim3 grid;
    Dim3 block;
    uint32_t dynamic_shared = 0;
    // CTAs of a cluster, by dimension (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION). nullopt: as the
    // kernel has it (.reqnctapercluster), else each CTA is alone. emu/warp/cluster.hpp has the
    // rules.
    std::optional<Dim3> cluster;
    // A cluster may have more CTAs than is portable
    // (CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED).
    bool non_portable_cluster = false;
    // All CTAs are under way at a time and have a workspace for barriers of the grid
    // (cudaLaunchCooperativeKernel; cooperative groups' grid_group asks for it).
    bool cooperative = false;
    std::vector<uint8_t> parameters;  // the kernel's parameter space, Program::parameter_bytes long
    std::vector<Buffer> buffers;
    // Optional: further ones, those of many launches. A launch costs the same however many there
    // are.
    std::shared_ptr<const Buffers> common;
    // Optional: the module's .global variables, as Program::global_image; the run begins with them
    // as they are and leaves them as they become. Another size, and nullptr: those of the program.
    std::vector<uint8_t>* variables = nullptr;
    // Optional: the module's .const variables, in place of Program::const_image.
    std::span<const uint8_t> constants;
    std::vector<FunctionAddress> functions;  // that calls know too
    uint64_t max_steps = UINT64_MAX;         // instructions that one warp may retire
    unsigned threads = 0;                    // 0: all cores; 1: CTAs one after another
    // Instructions after which another warp has its turn, and after a turn of each of its warps
    // another CTA. 0: many. Of programs that depend on an order each value may give another one.
    uint32_t turn = 0;
    const TurnOrder* order = nullptr;  // nullptr: the usual one
    bool plain_arithmetic = false;     // the definitions alone, without their fast paths
    // Functions of constants have the values that NVIDIA's assembler computes for them
    // (emu/num/folded.hpp), as at its optimizer's levels 1 to 4. false: those of their
    // instructions, as at level 0.
    bool fold_constants = true;
    // A load whose result nothing needs is left out where its address is none, as NVIDIA's
    // assembler at those levels leaves it out everywhere (emu/exec/unneeded.hpp). false: a trap.
    bool leave_out_loads = false;
    uint64_t heap_bytes = uint64_t{8} << 20;  // that malloc shares out; CUDA's default
    uint64_t heap_address = 0;                // where they lie; 0: where nothing else does
    // Optional: the caller's, whose blocks outlive the launch; heap_bytes and heap_address are
    // its. nullptr: the launch has one for itself.
    Heap* heap = nullptr;
    uint8_t unwritten_byte = 0;  // each byte of local and shared memory at first
    // A part of the grid: CTAs [first_cta, first_cta + ctas), x fastest; of whole clusters. ctas 0:
    // all that follow.
    uint64_t first_cta = 0;
    uint64_t ctas = 0;
    std::vector<Observer*> observers;  // each hears the whole launch; they change nothing of it
    Oracle* oracle = nullptr;          // asked only in CTAs to which an observer listens
    Outside* outside = nullptr;        // optional
    // Of whoever looks at Result::launches. Without, a kernel that launches others is refused.
    DeviceAnswers* device = nullptr;
    // Optional, shared with the caller's thread: CTAs that have ended; instructions that warps have
    // retired, brought up to date now and then; a wish to stop, looked for between instructions.
    std::atomic<uint64_t>* progress = nullptr;
    std::atomic<uint64_t>* retired = nullptr;
    const std::atomic<bool>* stop = nullptr;
};

enum class TrapKind : uint8_t {
    out_of_bounds,  // no buffer or variable holds the bytes at the address
    misaligned,     // the address is not a multiple of the access's size
    wrong_space,    // an address outside the state space that the instruction works on
    read_only,      // a store to const or param
    diverged,       // an .aligned instruction met by a part of its warp
    bad_mask,       // a membermask without the executing lane, or a bad barrier operand
    deadlock,       // no warp of the CTA can go on, nor of its cluster
    stack,          // calls too deep, or too much local memory
    step_limit,     // Launch::max_steps
    trap,           // the trap instruction
    breakpoint,     // the brkpt instruction
    stopped,        // Launch::stop: where the lowest CTA under way stood
    illegal,        // an instruction that the machine refuses with these operands
};

// The manual-like name of a trap: "misaligned address".
std::string_view trap_name(TrapKind kind);

// A program's own fault, with its place. lane and address are meaningful where has_lane and
// has_address say so.
struct Trap {
    TrapKind kind = TrapKind::trap;
    std::string detail;  // a sentence without the place
    uint32_t operation = 0;
    ptx::Place place;
    std::array<uint32_t, 3> cta{};
    uint64_t cta_index = 0;
    uint32_t warp = 0;
    uint64_t step = 0;            // instructions this warp retired before
    std::vector<uint32_t> calls;  // operations of the calls it is in, innermost first; 64 at most
    // Further operations that `detail` names by their lines: where other warps wait or stand.
    std::vector<uint32_t> others;
    bool has_lane = false;
    uint32_t lane = 0;
    bool has_address = false;
    uint64_t address = 0;
    ptx::Space space = ptx::Space::none;
};

// What a thread printed by vprintf, or said before a failed assertion.
struct Printed {
    uint64_t cta_index = 0;
    uint32_t warp = 0;
    uint32_t lane = 0;
    std::string text;
};

enum class DeviceWork : uint8_t { kernel, copy, fill };

// Rows of bytes that a thread wants copied or filled. `value` has the 8 bits that count.
struct DeviceRows {
    uint64_t to = 0, to_pitch = 0;
    uint64_t from = 0, from_pitch = 0;
    uint64_t width = 0, height = 1;
    uint8_t value = 0;
};

// A grid that a thread launched, or a copy or a fill that it asked for (CUDA C++ programming guide,
// "CUDA Dynamic Parallelism"). It has not run: whoever ran the launch runs these, after it, in
// their order; those that are `last` (of cudaStreamTailLaunch) behind all others and what these
// launch.
struct DeviceLaunch {
    uint64_t cta_index = 0;  // of the thread
    uint32_t warp = 0;
    uint32_t lane = 0;
    ptx::Place place;  // of the call
    DeviceWork work = DeviceWork::kernel;
    DeviceRows rows;  // not of a kernel
    std::string kernel;
    Dim3 grid;
    Dim3 block;
    uint32_t dynamic_shared = 0;
    std::vector<uint8_t> parameters;
    bool last = false;
};

// Printed text that one launch keeps, as CUDA's buffer by default.
inline constexpr uint64_t max_printed_bytes = uint64_t{1} << 20;

// An instruction of the program that had another value than its own, because NVIDIA's assembler
// computed it (Launch::fold_constants).
struct Folded {
    uint32_t operation = 0;
    ptx::Place place;
    bool divisor = false;  // the constant is a divisor, and the values are those of its reciprocal
    uint64_t value = 0;    // bits of the result's type
    uint64_t instruction = 0;  // what the instruction gives
};

struct Statistics {
    uint64_t instructions = 0;     // retired, by warps
    uint64_t lane_operations = 0;  // retired, by lanes
    uint64_t products = 0;         // multiply-adds of matrix instructions
    uint64_t ctas = 0;             // that have ended; not those that Launch::stop ended
    uint64_t warps = 0;            // theirs
};

// A launch that cannot begin: what of it is wrong, in a sentence. Not a trap: nothing ran.
struct Refusal {
    std::string what;
};

struct Result {
    std::optional<Refusal> refusal;
    // Of the CTA with the lowest index that trapped; of clusters: of the lowest one with such a
    // CTA.
    std::optional<Trap> trap;
    // By CTA, those of a CTA in the order of its run. CTAs after one that trapped are left out, but
    // not those after one that was stopped.
    std::vector<Printed> printed;
    uint64_t printed_bytes_lost = 0;  // beyond max_printed_bytes
    // By CTA, those of a CTA in the order of its run. None of a launch that trapped.
    std::vector<DeviceLaunch> launches;
    Statistics statistics;
    std::vector<Folded> folded;  // in the order of the program, run or not
};

}  // namespace lockwarp::warp
