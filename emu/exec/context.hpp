// SPDX-License-Identifier: Apache-2.0
// What the behaviour of an instruction sees, and the small helpers all families share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <vector>

#include "emu/exec/register_files.hpp"
#include "emu/isa/operation.hpp"
#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "emu/warp/state.hpp"

namespace lockwarp::exec {

using isa::Operation;
using isa::Ref;
using isa::StepKind;
using isa::Type;
using warp::all_lanes;

struct Cluster;       // cluster.hpp
class Inspector;      // inspector.hpp
class Listeners;      // listeners.hpp
class Watch;          // watch.hpp
class UnneededLoads;  // unneeded.hpp
struct Context;
struct Step;

// Runs one operation for the lanes of `mask` (never empty). A fault goes to Context::trap.
using Handler = void (*)(Context&, const Step&, uint32_t mask);

// Where an element of a fragment lies: bits [shift, shift + width) of a register of a lane.
struct Cell {
    uint8_t lane;
    uint8_t reg;
    uint8_t shift;
};

// An operand of a product by words, in the order of num::Tile, [column][row]: of each register and
// lane the place of its word, column / each * num::tile_rows + row, whose elements are neighbours
// in a row.
struct TileWords {
    unsigned rows = 0, columns = 0;
    unsigned each = 1;  // elements of a word
    unsigned held_bits = 0, padding_below = 0;
    bool whole = false;  // each word has a place, and nothing beside its elements
    std::vector<std::array<uint16_t, 32>> place;
};

// The operands of a product that num::fused_tile computes; `good`: there is such a product.
struct TiledProduct {
    bool good = false;
    int k = 0;
    TileWords a, b, c, d;
};

// An mma variant made ready: its elements' places, by instance of the product.
struct MmaPlan {
    const isa::MmaVariant* variant = nullptr;
    const num::DotRow* row = nullptr;
    decltype(&num::matrix_product) product = nullptr;  // the definition, or the fast path
    std::vector<Cell> a, b, c, d;  // instance by instance; A by (m,k), B by (n,k), C, D by (m,n)
    std::vector<Cell> e;           // metadata of a sparse A, by (m, group), for selector 0
    std::vector<Cell> factors_a, factors_b;  // of scale, by (m, factor) and (n, factor), for ids 0
    TiledProduct tile;
};

// Where the 8x8 elements of 16 bits that ldmatrix, stmatrix and movmatrix move lie in a register
// of each lane: the places, row * 8 + column, of its low and its high half.
struct MovedPlan {
    std::array<uint8_t, 32> low, high;
    bool in_order = false;  // lane l has the places 2*l and 2*l + 1
};

struct WmmaPlan;  // wmma.hpp

// A wgmma variant made ready.
struct WarpgroupPlan {
    const isa::WarpgroupVariant* variant = nullptr;
    const num::DotRow* row = nullptr;
    decltype(&num::matrix_product) product = nullptr;  // the definition, or the fast path
    bool tiled = false;                                // num::fused_tile may compute it
};

// Whether a handler runs the step; the others are the scheduler's own.
constexpr bool has_handler(StepKind kind) {
    return kind != StepKind::control && kind != StepKind::reduction;
}

struct Step {
    Handler run = nullptr;
    const Operation* op = nullptr;
    const MmaPlan* plan = nullptr;
    const WmmaPlan* wmma = nullptr;
    const WarpgroupPlan* warpgroup = nullptr;
    const MovedPlan* moved = nullptr;  // two: as memory has the matrix, and transposed
    StepKind kind = StepKind::plain;
    isa::Flow flow = isa::Flow::next;
    uint32_t folded = 0;  // which of Context::folded
};

// Blocks of memory that the machine itself shares out.
struct Heaps {
    warp::Heap* blocks = nullptr;   // malloc's
    warp::Heap* buffers = nullptr;  // for the parameters of launches
};

// What a CTA's threads know of launches of their own.
struct DeviceRuntime {
    std::map<uint64_t, warp::DeviceLaunch> begun;  // by the address of their parameters
    std::map<uint64_t, uint64_t> errors;           // cudaError_t, by thread
    std::set<uint64_t> streams, events;            // handles
    // Of errors, by number and whether it is the name: where the text lies, for the whole launch.
    std::map<std::pair<int, bool>, uint64_t> texts;
    uint64_t handles = 0;                      // so far
    std::vector<warp::DeviceLaunch> launched;  // of all CTAs so far
};

struct Context {
    const isa::Program* program = nullptr;
    const Step* steps = nullptr;       // by operation
    const uint64_t* folded = nullptr;  // values that the assembler computed (fold.hpp)
    const warp::Launch* launch = nullptr;
    const UnneededLoads* left_out = nullptr;  // nullptr: no load is (Launch::leave_out_loads)
    const warp::GlobalMemory* global = nullptr;
    warp::Heap* heap = nullptr;
    warp::Heap* buffers = nullptr;  // Heaps::buffers
    warp::Cta* cta = nullptr;
    Cluster* cluster = nullptr;
    uint64_t shared_begin = 0;  // Program::shared_begin in the window of the CTA's rank
    warp::Warp* warp = nullptr;
    uint8_t* registers = nullptr;
    RegisterFiles* files = nullptr;
    uint32_t lanes = 0;                    // that reached the instruction
    const warp::Buffer* recent = nullptr;  // the buffer the last access fell into
    std::optional<warp::Trap> trap;
    Listeners* listeners = nullptr;  // nullptr: nobody listens to the CTA
    Inspector* inspector = nullptr;
    Listeners* heard_by = nullptr;  // with an inspector: `listeners` where it lets them hear
    bool observed = false;          // whether accesses are to be noted
    std::array<warp::Access, 16> accesses;
    uint32_t access_count = 0;
    std::vector<warp::BulkRange> ranges;      // of a bulk copy; only where `observed`
    std::vector<warp::BulkArrival> arrivals;  // likewise
    uint32_t undefined = 0;                   // lanes whose result is undefined; for observers
    uint32_t undefined_results = 1;           // which, by bits
    warp::Statistics statistics;              // but for products
    uint64_t products = 0;
    uint64_t stores = 0;       // instructions that changed a barrier, or memory that others see
    Watch* watch = nullptr;    // hears of what is written to local memory
    uint32_t yields = 0;       // lanes that found nothing to go on with: other paths come first
    bool others_wait = false;  // for memory to change, other warps or CTAs: gives_way_to_them()
    bool gave_way = false;     // to them, in this turn of the CTA
    std::vector<uint64_t> wgmma_groups;  // by warp: those that it has committed
    std::vector<warp::Printed> printed;
    uint64_t printed_bytes = 0;
    uint64_t printed_bytes_lost = 0;
    DeviceRuntime device;
};

// The lanes of a slot. 8- and 16-bit values stand zero-extended in 32 bits.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
Lane<T>* slot(Context& c, Ref ref) {
    return reinterpret_cast<Lane<T>*>(c.registers + ref);
}

inline uint32_t& predicate(Context& c, Ref ref) {
    return *reinterpret_cast<uint32_t*>(c.registers + ref);
}

// A predicate operand of position n, negated where the operand is.
inline uint32_t read_predicate(Context& c, const Operation& o, unsigned n) {
    const uint32_t p = predicate(c, o.r[n]);
    return (o.negated_sources >> n) & 1 ? ~p : p;
}

inline void write_predicate(Context& c, Ref ref, uint32_t value, uint32_t mask) {
    uint32_t& p = predicate(c, ref);
    p = (p & ~mask) | (value & mask);
}

// The modifiers that change a floating-point result, as emu/num takes them.
inline num::Flags flags_of(const isa::Modifiers& m) {
    num::Flags f;
    f.ftz = m.ftz;
    f.sat = m.sat;
    f.relu = m.relu;
    f.nan = m.nan;
    f.xorsign = m.xorsign;
    f.abs = m.abs && !m.xorsign;
    f.oob = m.oob;
    f.satfinite = m.satfinite;
    return f;
}

// f(lane) for every lane of the mask. The full mask takes a loop that the compiler is told to
// vectorise, as if no lane read what another wrote: f writes nothing but its own lane's elements of
// arrays. What adds up over the lanes belongs into lanes_where or each_lane.
template <class F>
inline void for_lanes(uint32_t mask, F f) {
    if (mask == all_lanes) {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < 32; ++lane) f(lane);
        return;
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// The same, lane after lane: f may carry something from one to the next.
template <class F>
inline void each_lane(uint32_t mask, F f) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// The lanes of the mask for which f(lane) is true.
template <class F>
inline uint32_t lanes_where(uint32_t mask, F f) {
    uint32_t out = 0;
    if (mask == all_lanes)
        for (unsigned lane = 0; lane < 32; ++lane) out |= uint32_t{f(lane)} << lane;
    else
        each_lane(mask, [&](unsigned lane) { out |= uint32_t{f(lane)} << lane; });
    return out;
}

// Records a fault at the operation that runs; only the first counts (trap.cpp).
void set_trap(Context& c, const Operation& o, warp::TrapKind kind, std::string detail);
void set_trap(Context& c, const Operation& o, warp::TrapKind kind, std::string detail,
              unsigned lane, uint64_t address, ptx::Space space);

// Grows the local memory of the warp's lanes to at least `bytes` each.
void reserve_local(warp::Warp& w, uint32_t bytes);

// Makes [begin, begin + bytes) of a lane's local memory as it is before anything is written.
void clear_local(warp::Warp& w, unsigned lane, uint32_t begin, uint32_t bytes);

// Notes that a lane wrote these bytes of its local memory.
inline void mark_local(warp::Warp& w, unsigned lane, uint64_t begin, uint64_t bytes) {
    if (!w.tracks_local) return;
    uint8_t* const at = w.local_written.data() + size_t{lane} * w.local_stride + begin;
    for (uint64_t i = 0; i < bytes; ++i) at[i] = 1;
}

// A program made ready to run.
struct Code {
    const isa::Program* program = nullptr;
    std::vector<Step> steps;
    std::vector<uint64_t> folded;  // Step::folded
    std::vector<MmaPlan> plans;
    std::vector<std::shared_ptr<const WmmaPlan>> wmma_plans;
    std::vector<WarpgroupPlan> warpgroup_plans;
    std::vector<MovedPlan> moved;
    RegisterLayout registers;
    std::shared_ptr<const UnneededLoads> unneeded;
};

// A sentence for each operation without behaviour on this architecture; empty: the code may run.
// plain_arithmetic: as in warp::Launch. code: an empty one.
std::vector<std::string> bind(const isa::Program& program, bool plain_arithmetic, Code& code);

// Fills `plan`; false where the architecture has no arithmetic for the variant.
bool make_plan(const isa::MmaVariant& variant, isa::Arch arch, bool plain_arithmetic,
               MmaPlan& plan);
bool make_plan(const isa::WarpgroupVariant& variant, isa::Arch arch, bool plain_arithmetic,
               WarpgroupPlan& plan);

// What Step::moved points to.
std::vector<MovedPlan> moved_plans();

}  // namespace lockwarp::exec
