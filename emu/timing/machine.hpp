// SPDX-License-Identifier: Apache-2.0
// The machines whose cycles are modelled, and what each instruction costs them, as rows. A row says
// where it comes from.
//
// Units: cycles of the SM's clock; hundredths of them (Centi) where a pipe's rate is a fraction.
// An SM has four sub-cores; each issues one instruction a cycle from the warps that are its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "emu/isa/evidence.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/operation.hpp"

namespace lockwarp::timing {

using isa::Arch;
using isa::Evidence;
using isa::text_of;
using isa::Type;
using Centi = uint32_t;  // a hundredth of a cycle

inline constexpr unsigned sub_cores = 4;

// A GPU. The first of an architecture is the one its name alone stands for.
struct Machine {
    Arch arch;
    std::string_view name;
    uint16_t sms;
    uint16_t mhz;       // boost clock
    uint16_t warps;     // resident on an SM, at most
    uint16_t ctas;      // likewise
    uint32_t shared;    // bytes of an SM that CTAs share
    uint32_t reserved;  // of them for each CTA, by the driver
    uint32_t l1;        // bytes of L1 beside no shared memory
    uint32_t l2_kib;
    uint16_t dram;  // GB/s
    bool geforce;   // half the rate where tensor cores add in f32
};
inline constexpr uint32_t registers_of_sm = 65536;

std::span<const Machine> machines();
// By the name of an architecture or a product ("RTX 2080 Ti", "rtx2080ti"); nullptr for others.
const Machine* machine_named(std::string_view name);
const Machine* machine_of(Arch arch);

// Where a warp instruction is executed. Those up to `branch` are each sub-core's own.
enum class Pipe : uint8_t {
    none,  // takes no instruction: folded into another, or a name for something
    alu,   // integers, logic, comparison, selection, f32 min and max
    fma,   // f32
    imad,  // integer multiply-add; the heavier half of fma
    half,  // f16x2
    fp64,
    sfu,  // special functions, and conversions of 64 bits
    tensor,
    uniform,  // waits, fences and the like
    branch,
    shared,  // shared memory and what goes through its queue: shuffles, matrix moves, atomics there
    global,  // L1 and what lies behind it
    count_
};
std::string_view text_of(Pipe p);

// Which architectures have cycles. One that has not has no Machine either, and no row below.
struct Modelled {
    Arch arch;
    bool timed;
};
inline constexpr std::array modelled{
    Modelled{Arch::sm_70, true},   Modelled{Arch::sm_75, true},   Modelled{Arch::sm_80, true},
    Modelled{Arch::sm_86, true},   Modelled{Arch::sm_87, true},   Modelled{Arch::sm_89, true},
    Modelled{Arch::sm_90, true},   Modelled{Arch::sm_100, false}, Modelled{Arch::sm_103, false},
    Modelled{Arch::sm_120, false}, Modelled{Arch::sm_121, false},
};
static_assert(isa::one_row_each(modelled),
              "each Arch has one row in timing's `modelled`: whether its cycles are");

// What one instruction of the machine costs.
struct Cost {
    uint16_t latency;  // cycles from issue to a dependent instruction's
    Centi interval;    // that it keeps a sub-core's pipe busy
    Evidence how;
};
// The kinds. Each has its costs on each architecture, checked at compile time.
enum class Kind : uint8_t {
    free,
    alu,
    alu64,  // two halves with a carry
    add,    // of integers, to 32 bits
    bit_field,
    multiply,    // 32-bit multiply-add
    multiply64,  // wide, or by parts
    f32,
    f16x2,
    f64,
    mufu,         // one special function
    mufu_scaled,  // with the scaling of subnormal operands about it
    convert,      // of 32 bits and fewer
    convert64,
    count_bits,
    find_bit,
    divide_f32,
    divide_f32_full,
    root_f32,
    divide_f64,
    divide_u32,
    divide_u64,
    special_register,
    clock,
    predicate,  // setp
    vote,
    shuffle,
    shuffle_index,  // shfl.idx
    move_matrix,
    reduce,
    match,
    branch,
    call,
    barrier,
    fence,         // of the CTA
    fence_wide,    // of the cluster, the GPU or the system
    fence_shared,  // of what the asynchronous proxy sees of the CTA's shared memory
    fence_proxy,   // of all that it sees
    warp_barrier,
    wait,       // cp.async.wait, mbarrier tests
    registers,  // setmaxnreg
    constant,   // from constant memory at an address in a register; else it is an operand
    count_
};
constexpr bool is_fence(Kind k) { return k >= Kind::fence && k <= Kind::fence_proxy; }
struct KindRow {
    Kind kind;
    std::string_view name;
    Pipe pipe;
    uint8_t issue;  // instructions of the machine that it becomes
    std::string_view source;
};
std::span<const KindRow> kind_rows();
const KindRow& row(Kind kind);
// As all look-ups by Arch below: of one whose cycles are modelled.
const Cost& cost(Arch arch, Kind kind);

// The product of a matrix instruction.
struct TensorRow {
    Arch arch;
    uint8_t m, n;
    uint16_t k;
    // "half", "tf32", "f64", "s8", "b1.xor", "b1.and", "fp8". Of 4 bits "int4": whatever their
    // signs, or "s4", "s4.u4", "u4.s4", "u4".
    std::string_view elements;
    Type d;
    bool sparse;
    bool geforce;            // of GeForce products only
    std::string_view order;  // "row.col" of m8n8k4, else empty
    uint16_t latency;        // cycles from issue to a dependent accumulation
    Centi interval;          // that it keeps the tensor pipe of a sub-core busy
    uint16_t hold;           // cycles before the warp issues again; 1 where it is one instruction
    Evidence how;
    std::string_view source;
};
std::span<const TensorRow> tensor_rows();
// nullptr where the architecture does not have the variant, or no row (none of sm_100 and above).
const TensorRow* tensor_row(const Machine& machine, const isa::MmaVariant& v);

// What a wmma.mma becomes: products of one shape, some of them in chains.
struct WmmaCost {
    uint16_t latency;
    Centi interval;
    uint16_t products;
    Evidence how;
    std::string_view source;
};
// Matrices of 8x8 that a wmma.load from global memory transposes by movmatrix. From shared memory
// ldmatrix.trans does it.
unsigned wmma_moves(const isa::WmmaFragment& f, isa::Order order);
std::optional<WmmaCost> wmma_cost(const Machine& machine, const isa::WmmaVariant& v);

// Shared memory and what shares its queue.
struct SharedRow {
    Arch arch;
    uint16_t load;     // cycles of latency of a load of one wavefront
    uint16_t matrix;   // of ldmatrix of one wavefront
    uint16_t atomic;   // of an atomic of one wavefront
    Centi wavefront;   // more of latency for each further wavefront
    Centi port_least;  // cycles of a sub-core's port an access takes at least
    Centi port;        // for each of its wavefronts
    Centi port_store;  // for each register of data that a store brings
    Centi pipe;        // of the SM's pipe for each wavefront
    uint8_t queue;     // accesses that a sub-core holds before its warps must wait
    Evidence how;
    std::string_view source;
};
const SharedRow& shared_row(Arch arch);

// Global memory, simply: latencies by where the bytes are found, and rates.
struct GlobalRow {
    Arch arch;
    uint16_t l1, l2, dram;  // cycles of latency
    uint16_t atomic;        // at L2
    Centi line;          // of the SM's L1 pipe, for each line of 128 bytes that an access touches
    Centi port;          // cycles of a sub-core's port for each access
    Centi sector;        // for each sector of 32 bytes that comes from L2
    Centi sector_store;  // and that goes there
    uint16_t l2_loaded;  // cycles more of latency where all SMs are at work
    uint16_t l2_bytes;   // a cycle that L2 gives to all SMs together
    Centi fill;  // of the pipe of shared memory, which is L1 too, for a sector that a load brings
                 // there
    uint8_t queue;  // accesses that a sub-core holds before its warps must wait
    Evidence how;
    std::string_view source;
};
const GlobalRow& global_row(Arch arch);

// What goes on beside the warps: wgmma, bulk copies, mbarriers. Zeros where there is none of them.
struct AsyncRow {
    Arch arch;
    Centi column;     // of a sub-core's tensor pipe for a column of wgmma's D
    Centi read_a;     // at least, where A is in shared memory: for reading A,
    Centi read_b;     // and for each column
    uint16_t group;   // cycles from a group's last product until wgmma.wait_group lets a warp go on
    uint16_t copy;    // of latency of a bulk copy to shared memory beyond that of where it reads
    uint16_t map;     // more of the first copy of an SM by a tensor map that was not prefetched
    uint16_t tensor;  // that a warp takes to issue a tensor copy to global memory
    uint16_t sent;    // and to wait for such copies, were they done before
    uint16_t wait;    // that a warp takes to wait for an mbarrier's phase, were it over before
    uint16_t phase;   // from what ends a phase until who waits for it goes on
    uint16_t remote;  // the same of an arrival by a shared::cluster address
    Evidence how;
    std::string_view source;
};
const AsyncRow& async_row(Arch arch);

// Barriers, branches and the start of a CTA.
struct FlowRow {
    Arch arch;
    Centi barrier_arrive;      // the SM's barrier unit is busy for each warp that arrives
    uint16_t barrier_release;  // cycles from the last arrival until the warps go on
    uint16_t cluster_release;  // the same at the cluster's barrier, of the CTA's own warps
    uint16_t drain;            // from a store to global memory until a fence need not wait for it
    uint16_t drain_shared;     // a proxy fence, for each register that stores to shared memory had
    uint16_t branch;           // cycles until a warp that branched issues again
    uint16_t start;            // from a CTA's end until the one in its place begins
    uint16_t fetch;      // cycles for a line of code (eight instructions) that an SM sees first,
    uint16_t fetch_far;  // and for one that is not behind one that it has
    Evidence how;
    std::string_view source;
};
const FlowRow& flow_row(Arch arch);

}  // namespace lockwarp::timing
