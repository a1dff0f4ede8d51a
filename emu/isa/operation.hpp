// SPDX-License-Identifier: Apache-2.0
// A resolved program: flat decoded operations over register slots. Resolve once, run many times.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/isa/arch.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/modifiers.hpp"
#include "emu/isa/opcodes.hpp"
#include "emu/isa/warpgroup.hpp"
#include "emu/isa/wmma.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::isa {

// A register slot: its byte offset in a warp's register file. A slot of up to 32 bits is 32
// consecutive uint32_t, one a lane (narrower values zero-extended); of 64 bits 32 uint64_t; of 128
// bits a slot of the low halves and behind it one of the high ones; a predicate one uint32_t mask.
// Constants and special registers are slots too, filled before a CTA starts, so that an operand is
// always a slot.
using Ref = uint32_t;
inline constexpr Ref no_ref = UINT32_MAX;

// Register file: scratch slots first (for sinks), then everything else.
inline constexpr Ref scratch_predicate = 0;
inline constexpr Ref scratch_register = 256;
inline constexpr uint32_t half_bytes = 256;  // from a low half's slot to its high one
inline constexpr uint32_t first_free_byte = scratch_register + 2 * half_bytes;

struct Address {
    Ref base = no_ref;  // no_ref: absolute
    bool wide = false;  // the base slot has 64 bits
    // Absolute, of a variable in shared memory: of a CTA of a cluster, plus its rank's window.
    bool in_shared = false;
    int64_t offset = 0;  // added to the base; the whole address where there is none
};

// A vector operand: refs in Program::pool.
struct VectorRef {
    uint32_t first = 0;
    uint32_t count = 0;
};

struct Operation {
    Op op = Op::exit;
    Modifiers mod;
    bool guarded = false;
    bool guard_negated = false;
    Ref guard = no_ref;
    std::array<Ref, 6> r{no_ref, no_ref, no_ref,
                         no_ref, no_ref, no_ref};  // in order, vectors apart
    uint8_t operands = 0;
    bool aligned_barrier = false;      // bar, barrier.aligned: the whole warp arrives together
    bool reads_clock = false;          // from %clock, %clock64, %globaltimer
    uint8_t negated_sources = 0;       // bit n: r[n] is read as !p, or of vmad as -r
    std::array<uint16_t, 3> select{};  // of a video instruction's d, a, b: isa/video.hpp
    // Width of the register written and read where it may exceed the type's (ld, st, cvt).
    uint8_t register_bits = 32;
    uint8_t source_bits = 32;
    std::array<VectorRef, 4> vector{};  // in order: data of ld/st, sides of mov, fragments of mma
    // In order. Of a bulk copy: destination, source (or a tensor map, whose coordinates are
    // vector[0], and of im2col whose offsets are vector[1]) and, where there is one, the mbarrier;
    // the number of bytes and the mask of CTAs are in r. Of tex, suld and sust the object, whose
    // coordinates are vector[1] beside the data in vector[0].
    std::array<Address, 3> address{};
    uint64_t immediate = 0;  // operand I
    // Operands K of mma: the byte-id and thread-id of A's factors, then those of B's. One of
    // scale_refs that is not no_ref is a 16-bit register, the same in all lanes, and stands for it.
    std::array<uint8_t, 4> scale_ids{};
    std::array<Ref, 4> scale_refs{no_ref, no_ref, no_ref, no_ref};
    const MmaVariant* mma = nullptr;
    const WmmaVariant* wmma = nullptr;            // of wmma.mma
    const WmmaFragment* wmma_fragment = nullptr;  // of wmma.load and wmma.store
    // wgmma.mma_async: r has the descriptor of A (no_ref: vector[1] has A itself), that of B, and
    // scale-d; D, in vector[0], is among the registers read too.
    const WarpgroupVariant* warpgroup = nullptr;
    WarpgroupOperands warpgroup_operands{};
    uint32_t target = 0;      // bra: the operation to go to; call: index into Program::calls;
                              // brx: its first one in Program::branch_targets, of `immediate`
    uint32_t reconverge = 0;  // bra, brx: where the paths meet again; never, if they do not
    uint32_t first_use = 0;   // registers it names, in Program::uses: written ones first
    uint16_t written = 0;
    uint16_t read = 0;
    ptx::Place place;
};

// Whether the operation reads or writes the carry.
constexpr bool uses_carry(const Operation& o) { return o.mod.cc || row(o.op).reads_carry; }

// Paths of a branch that do not meet before they end.
inline constexpr uint32_t never = UINT32_MAX;

struct Register {
    std::string name;
    Type type;
    Ref ref;
    // A .b128 register is two of .b64 with its name: 1 the low half, 2 behind it the high one.
    uint8_t half = 0;
};

struct Constant {
    Ref ref;
    uint8_t width;  // 32, 64, 1 for a predicate
    uint64_t value;
    bool in_shared = false;  // an address in shared memory: as Address::in_shared
};

enum class Special : uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    clock,
    clock_hi,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi,
    total_smem_size,
    dynamic_smem_size,
    aggr_smem_size,
    zero,
    zero64,
    reserved,        // bytes of shared memory that the driver may keep
    reserved_begin,  // of those that CUDA's cooperative groups work in
    workspace_low,   // of the address of a cooperative launch's workspace
    workspace_high,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,  // a predicate
    machine,              // 32 bits that the driver or the machine sets
    machine64,
};

struct SpecialRow {
    std::string_view name;
    Type type;
    Special special;
    // The value depends on when and where the thread runs, or on the machine beside its
    // architecture: a run of the emulator cannot have the same.
    bool outside = false;
    uint16_t target = 0;  // least .target
    uint16_t ptx = 0;     // least .version
};

std::span<const SpecialRow> special_rows();

// nullptr: there is no such special register.
const SpecialRow* special_named(std::string_view name);

constexpr bool is_clock(Special s) { return s >= Special::clock && s <= Special::globaltimer_hi; }

struct SpecialUse {
    Ref ref;
    Special special;
    Type type;
};

struct Parameter {
    std::string name;
    Type type;
    uint32_t offset;
    uint32_t bytes;
    uint32_t alignment;
    bool is_array;
};

// A variable of the module that lives in memory.
struct Placed {
    std::string name;
    ptx::Space space;
    uint64_t address;  // in its space
    uint64_t bytes;
    // It lives in local memory, in the frame of its function; `address` counts from there. .local
    // variables do, and the .param ones that calls pass (PTX manual, "Parameter State Space").
    bool in_frame = false;
    bool read_only = false;  // a parameter that its function is given
};

// Where a value stands that a call passes: in a register or constant, or in the frame of the
// function that passes or takes it.
struct Passed {
    Ref ref = no_ref;  // no_ref: in the frame
    uint32_t offset = 0;
    uint32_t bytes = 0;  // of the value; a register's may be fewer than its slot's
};

// A slot that holds an address in a function's frame: `offset` plus where the frame begins.
struct FrameSlot {
    Ref ref;
    uint8_t width;  // 32 or 64
    uint64_t offset;
};

// A slot that a function's own registers take.
struct OwnSlot {
    Ref ref;
    uint8_t width;  // 1: a predicate
};

// .func and .entry: operations [first, end), the last of which ends it.
struct Function {
    std::string name;
    uint32_t number = 0;  // of a .func with a body: which of the module's, from 1
    uint32_t first = 0;
    uint32_t end = 0;
    uint32_t frame_bytes = 0;
    uint32_t frame_alignment = 16;  // at least; that of what lies there, which code may count on
    std::vector<Passed> results, parameters;  // as the function itself sees them; not of an entry
    std::vector<FrameSlot> frame_slots;       // of an entry they are constants instead
    std::vector<OwnSlot> own;                 // registers, and frame_slots
    ptx::Place place;
};

// Functions without a body that the machine itself has (CUDA C++ programming guide, "Formatted
// Output", "Assertion", "Dynamic Global Memory Allocation and Operations", "CUDA Dynamic
// Parallelism").
enum class System : uint8_t {
    none,
    vprintf,
    assertfail,
    malloc,
    free,
    // Of the device's runtime.
    get_error,
    peek_error,
    get_device,
    count_devices,
    get_version,
    // And what is refused where nobody runs what a kernel launches (warp::Launch::device).
    parameter_buffer,  // of a kernel that is to be launched
    launch,
    any_parameter_buffer,  // of whichever kernel
    launch_kernel,
    copy,
    copy_rows,
    fill,
    fill_rows,
    create_stream,
    destroy_stream,
    create_event,
    destroy_event,
    record_event,
    wait_for_event,
    allocate,
    release,
    error_name,
    error_text,
    get_limit,
    device_attribute,
    function_attributes,
    resident_ctas,
};

constexpr bool is_device_runtime(System s) { return s >= System::get_error; }
constexpr bool needs_device(System s) { return s >= System::parameter_buffer; }
constexpr bool uses_heap(System s) {
    return s == System::malloc || s == System::free || s == System::allocate ||
           s == System::release;
}

struct SystemRow {
    std::string_view name;
    System system;
    std::array<uint8_t, 8> parameter_bytes;  // 0: no more
    uint8_t result_bytes;
};

std::span<const SystemRow> system_rows();

// A kernel whose address the program takes, to launch it.
struct LaunchedKernel {
    std::string name;
    uint32_t number = 0;  // as Function::number, behind all functions: in the module's order
    uint32_t parameter_bytes = 0;
};

struct Call {
    System system = System::none;
    uint32_t function = UINT32_MAX;          // into Program::functions; else by `pointer`
    Ref pointer = no_ref;                    // a 64-bit slot
    std::vector<Passed> results, arguments;  // as the caller sees them
    // The called function may come back to the calling one: its registers must be kept.
    bool recursive = false;
};

// The address of the function of that number, as a function pointer holds it, in every program of
// the module: code_window + code_stride * number.
inline constexpr uint64_t code_window = uint64_t{0x7c} << 40;
inline constexpr uint64_t code_stride = 16;

// Bytes of local memory that a thread may have at most (CUDA C++ programming guide, "Technical
// Specifications": 512 KB).
inline constexpr uint64_t max_local_bytes = uint64_t{1} << 19;

// Windows of the generic address space. Global memory is everything else.
inline constexpr uint64_t window_bytes = uint64_t{1} << 24;
// Of shared memory one for each CTA of a cluster, by rank: bits 24 to 31 of an address in it, the
// CTA's own too, are the rank (as ptxas' code for mov, mapa and getctarank has it).
inline constexpr unsigned rank_bit = 24;
inline constexpr uint64_t cluster_window_bytes = uint64_t{1} << 32;
constexpr uint32_t rank_of(uint64_t address) {
    return static_cast<uint32_t>(address >> rank_bit & 0xff);
}
constexpr uint64_t within_cta(uint64_t address) { return address & (window_bytes - 1); }
inline constexpr uint64_t shared_window = uint64_t{0x7e} << 40;
inline constexpr uint64_t local_window = shared_window + (uint64_t{1} << 32);
inline constexpr uint64_t param_window = shared_window + (uint64_t{2} << 32);
inline constexpr uint64_t const_window = shared_window + (uint64_t{3} << 32);
inline constexpr uint64_t windows_bytes = const_window + window_bytes - shared_window;
struct SpaceWindow {
    ptx::Space space;
    uint64_t base;  // the generic address of the space's address 0
    uint64_t bytes = window_bytes;
};

inline constexpr std::array<SpaceWindow, 4> space_windows{{
    {ptx::Space::shared, shared_window, cluster_window_bytes},
    {ptx::Space::local, local_window},
    {ptx::Space::param, param_window},
    {ptx::Space::const_, const_window},
}};

// Where the heap of malloc begins.
inline constexpr uint64_t heap_base = uint64_t{0x7b} << 40;

// Where the parameters of kernels lie that a thread is about to launch.
inline constexpr uint64_t launch_buffers = heap_base + (uint64_t{1} << 32);
inline constexpr uint64_t launch_buffer_bytes = uint64_t{64} << 20;

// Where a module's .global variables begin.
inline constexpr uint64_t module_global_base = uint64_t{0x7d} << 40;

// Where the workspace of a cooperative launch lies: its size, then a word that is the grid's
// barrier (CUDA's header cooperative_groups/details/driver_abi.h). %envreg1 is the address's high
// half, %envreg2 the low one; both are 0 in any other launch.
inline constexpr uint64_t grid_workspace = uint64_t{0x7c} << 40;
inline constexpr uint32_t grid_workspace_bytes = 256;

struct Program {
    Arch arch = Arch::sm_80;
    uint16_t target = 0;  // of the module's .target
    Suffix suffix = Suffix::none;
    std::string entry;
    std::vector<Operation> operations;  // the entry's, then those of the functions it may call
    std::vector<Function> functions;    // the entry first
    std::vector<uint32_t> function_numbered;  // by Function::number; 0: not in this program
    std::vector<Call> calls;
    std::vector<LaunchedKernel> launched;
    std::vector<uint32_t> branch_targets;  // operations that brx may go to
    std::vector<Ref> pool;
    std::vector<uint32_t> uses;  // into registers
    std::vector<Register> registers;
    std::vector<Constant> constants;
    std::vector<SpecialUse> specials;
    uint32_t register_bytes = first_free_byte;
    Ref carry = no_ref;  // CC.CF, a predicate, which no register names; no_ref: nothing uses it
    std::vector<Parameter> parameters;
    uint32_t parameter_bytes = 0;
    std::vector<Placed> variables;
    uint32_t shared_begin = 0;   // arch's base
    uint32_t shared_static = 0;  // bytes from shared_begin; dynamic ones follow
    uint32_t local_bytes = 0;    // of the entry's frame, for each thread
    std::vector<uint8_t> global_image;
    std::vector<uint8_t> const_image;
    std::array<uint32_t, 3> required_block{};    // .reqntid; 0: none
    std::array<uint32_t, 3> maximum_block{};     // .maxntid; 0: none
    uint32_t least_ctas = 0;                     // .minnctapersm; 0: none
    uint32_t max_registers = 0;                  // .maxnreg; 0: none
    std::array<uint32_t, 3> required_cluster{};  // .reqnctapercluster; 0: none
    uint32_t max_cluster_rank = 0;               // .maxclusterrank; 0: none
    bool needs_cluster = false;                  // .explicitcluster
    bool grid_of_clusters = false;               // .blocksareclusters
};

}  // namespace lockwarp::isa
