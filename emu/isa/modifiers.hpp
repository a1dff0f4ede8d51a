// SPDX-License-Identifier: Apache-2.0
// What the modifiers of an instruction say, decoded: one value for each thing a modifier can
// choose. Source: the syntax lines of the PTX manual's instruction sections.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "emu/isa/matrix.hpp"
#include "emu/isa/types.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::isa {

enum class Part : uint8_t { none, lo, hi, wide };
// Comparisons of setp and set. lo, ls, hi, hs are the unsigned names; equ ... geu are true for
// unordered operands; num and nan test for NaN.
enum class Compare : uint8_t {
    none,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    lo,
    ls,
    hi,
    hs,
    equ,
    neu,
    ltu,
    leu,
    gtu,
    geu,
    num,
    nan
};
enum class Shuffle : uint8_t { none, up, down, bfly, idx };
enum class Vote : uint8_t { none, all, any, uni, ballot };
// and, or, xor: Combine
enum class Reduce : uint8_t { none, add, min, max, inc, dec, exch, cas };
enum class Test : uint8_t { none, finite, infinite, number, notanumber, normal, subnormal };
// What L2 evicts first; the values as NVIDIA's cache policies hold them.
enum class Priority : uint8_t { unchanged = 0, first = 1, last = 2, normal = 3 };
// What an operation orders (PTX manual, "Memory Consistency Model": operation types). weak: also
// what says nothing of it. A strong operation is any other; volatile_: as relaxed, at .sys.
enum class MemoryOrder : uint8_t { weak, volatile_, relaxed, acquire, release, acq_rel, sc };
// Of which threads (PTX manual, "Scope"), narrowest first. none: it does not say.
enum class MemoryScope : uint8_t { none, cta, cluster, gpu, sys };
// The fields of a tensor map that tensormap.replace names. From elemtype on a constant says the new
// value.
enum class TensormapField : uint8_t {
    none,
    global_address,
    rank,
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave_layout,
    swizzle_mode,
    fill_mode,
};
// What an access outside a surface does (PTX manual, "suld", "sust"): .trap also where it does not
// say.
enum class Outside : uint8_t { trap, clamp, zero };
enum class Permute : uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };

struct Modifiers {
    std::array<Type, 4> type{};  // in the order written
    uint8_t types = 0;
    Rounding rounding = Rounding::rn;
    bool rounding_given = false;
    bool integral = false;  // .rni .rzi .rmi .rpi
    bool ftz = false;
    bool sat = false;
    bool satfinite = false;
    bool relu = false;
    bool nan = false;
    bool xorsign = false;
    bool abs = false;  // of magnitudes, without .xorsign
    bool oob = false;  // fma.oob
    bool uniform = false;
    bool to = false;  // cvta.to
    bool trans = false;
    bool left = false;        // shf.l
    bool wrap = false;        // shf: shift amount modulo 32; .clamp: at most 32
    bool shiftamt = false;    // bfind.shiftamt
    bool plus_one = false;    // vmad.po
    uint8_t shift_right = 0;  // vmad.shr7, .shr15
    bool cc = false;          // writes the carry, CC.CF
    bool aligned = false;
    bool arrive = false;        // bar.arrive
    bool warp = false;          // bar.warp
    bool no_complete = false;   // mbarrier.arrive.noComplete
    bool expect = false;        // mbarrier.arrive.expect_tx
    bool parity = false;        // mbarrier.test_wait.parity
    bool no_increment = false;  // cp.async.mbarrier.arrive.noinc
    bool multicast = false;     // bulk copies: to the CTAs of a mask
    bool byte_mask = false;     // cp.async.bulk.cp_mask: which bytes of each 16 are written
    bool reads = false;         // cp.async.bulk.wait_group.read: until sources are read
    // Tensor copies: 1 to 5; of textures and surfaces: 1 to 3; txq, suq: which one is asked for.
    uint8_t dimensions = 0;
    bool layered = false;  // of textures and surfaces: .a1d, .a2d, .acube
    bool cube = false;     // of textures: .cube, .acube
    Outside outside = Outside::trap;
    bool im2col = false;       // likewise: .im2col, .im2col_no_offs
    bool sums_in_f32 = false;  // multimem.ld_reduce.acc::f32
    TensormapField field = TensormapField::none;
    std::array<Priority, 2> priority{};  // createpolicy: primary, secondary
    uint8_t priorities = 0;
    bool cache_hint = false;                       // a cache policy is the last operand
    MemoryOrder memory_order = MemoryOrder::weak;  // .mmio: relaxed
    MemoryScope scope = MemoryScope::none;
    Part part = Part::none;
    ptx::Space space = ptx::Space::none;  // none: generic
    bool cluster_space = false;           // .shared::cluster: an address of any CTA of the cluster
    uint8_t vec = 1;
    Compare compare = Compare::none;
    Combine combine = Combine::none;
    Shuffle shuffle = Shuffle::none;
    Vote vote = Vote::none;
    Permute permute = Permute::none;
    Reduce reduce = Reduce::none;
    Test test = Test::none;  // testp
    uint8_t matrices = 0;    // .x1 .x2 .x4
    uint8_t m = 0;           // .m16n8k16; k stays 0 in .m8n8
    uint16_t n = 0, k = 0;
    char matrix = 0;  // of wmma.load and wmma.store: a, b, c, d; of tld4 the component: r, g, b, a
    std::array<Order, 2> order{};
    uint8_t orders = 0;
    bool sparse = false;  // mma.sp
    MmaKind kind = MmaKind::none;
    bool block_scale = false;
    uint8_t scales = 0;       // .scale_vec::1X ... 4X
    Type scale = Type::none;  // .ue8m0, .ue4m3: apart from `type`
};

// Puts one modifier (".rn", ".f32", ".m16n8k16"; dot included) into `out`, as its row says
// (modifier_rows.hpp). false: no instruction knows this modifier, or no instruction has as many of
// its kind.
bool apply_modifier(std::string_view text, Modifiers& out);

// What the modifiers of an mma ask for. Factors along k that .scale_vec leaves unsaid are those of
// the .kind; 0 where it must say.
MmaQuery query_of(const Modifiers& m);

}  // namespace lockwarp::isa
