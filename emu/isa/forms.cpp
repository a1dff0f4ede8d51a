// SPDX-License-Identifier: Apache-2.0
// The rows of the instructions as the manual writes them, and what is made of their text when they
// are compiled.
#include "emu/isa/forms.hpp"

#include <algorithm>

#include "emu/isa/form_text.hpp"
#include "emu/isa/warpgroup.hpp"

namespace lockwarp::isa {

namespace {

struct NamedSet {
    std::string_view name;
    std::string_view alternatives;
    size_t count;

    consteval NamedSet(std::string_view set, std::string_view modifiers)
        : name(set), alternatives(modifiers), count(form_text::count_alternatives(modifiers)) {}
};

// ".m64n8k8|.m64n16k8|...|.m64n256k256": the shapes of wgmma that the assembler knows, whatever
// goes with which types.
constexpr auto warpgroup_shapes = [] {
    struct Text {
        std::array<char, 5 * 32 * 13> text{};
        size_t length = 0;
        constexpr void add(std::string_view s) {
            for (const char c : s) text[length++] = c;
        }
        constexpr void add(unsigned number) {
            if (number >= 10) add(number / 10);
            text[length++] = static_cast<char>('0' + number % 10);
        }
    } out;
    for (const unsigned k : {8u, 16u, 32u, 64u, 256u})
        for (unsigned n = 8; n <= max_warpgroup_n; n += 8) {
            if (k == 256 && !warpgroup_n(warpgroup_types.back(), n)) continue;
            out.add(out.length == 0 ? ".m64n" : "|.m64n");
            out.add(n);
            out.add("k");
            out.add(k);
        }
    return out;
}();

constexpr auto named_sets = std::to_array<NamedSet>({
    {"int", ".u16|.u32|.u64|.s16|.s32|.s64"},
    {"bits", ".b16|.b32|.b64"},
    {"any", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64"},
    {"memory", ".b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64|.b128"},
    {"cvtint", ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64"},
    {"rnd", ".rn|.rz|.rm|.rp"},
    {"irnd", ".rni|.rzi|.rmi|.rpi"},
    {"f16", ".f16|.f16x2"},
    {"bf16", ".bf16|.bf16x2"},
    {"video", ".u32|.s32"},
    {"icmp", ".eq|.ne|.lt|.le|.gt|.ge"},
    {"ucmp", ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs"},
    {"fcmp", ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"},
    {"bool", ".and|.or|.xor"},
    {"scope", ".cta|.cluster|.gpu|.sys"},
    {"ldspace",
     ".const|.global|.local|.param|.param::entry|.param::func|.shared|.shared::cta|"
     ".shared::cluster"},
    {"stspace", ".global|.local|.param|.param::func|.shared|.shared::cta|.shared::cluster"},
    {"strongspace", ".global|.shared|.shared::cta|.shared::cluster"},
    {"ldcop", ".ca|.cg|.cs|.lu|.cv"},
    {"nccop", ".ca|.cg|.cs"},
    {"stcop", ".wb|.cg|.cs|.wt"},
    {"l1",
     ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate"},
    {"l2", ".L2::64B|.L2::128B|.L2::256B"},
    {"l2keep", ".L2::evict_last|.L2::evict_normal|.L2::evict_first"},
    {"vec", ".v2|.v4"},
    {"sem", ".relaxed|.acquire|.release|.acq_rel"},
    {"redsem", ".relaxed|.release"},
    {"shared", ".shared|.shared::cta"},
    {"clusterspace", ".shared|.shared::cta|.shared::cluster"},
    {"ctascope", ".cta|.cluster"},
    {"cvtaspace",
     ".const|.global|.local|.param|.param::entry|.shared|.shared::cta|.shared::cluster"},
    {"priority", ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"},
    {"second", ".L2::evict_first|.L2::evict_unchanged"},
    {"dimensions", ".1d|.2d|.3d|.4d|.5d"},
    {"surface", ".1d|.2d|.3d|.a1d|.a2d"},
    {"outside", ".trap|.clamp|.zero"},
    {"im2coldimensions", ".3d|.4d|.5d"},
    {"tensorop", ".add|.min|.max|.inc|.dec|.and|.or|.xor"},
    {"perm", ".f4e|.b4e|.rc8|.ecl|.ecr|.rc16"},
    {"shape",
     ".m8n8k4|.m8n8k16|.m8n8k32|.m8n8k128|.m16n8k4|.m16n8k8|.m16n8k16|.m16n8k32|.m16n8k64|"
     ".m16n8k128|.m16n8k256"},
    {"wmmashape", ".m16n16k16|.m32n8k16|.m8n32k16"},
    {"wmmaspace", ".global|.shared|.shared::cta"},
    {"mmatype",
     ".f16|.bf16|.tf32|.f32|.f64|.s32|.s8|.u8|.s4|.u4|.b1|.e4m3|.e5m2|.e3m2|.e2m3|.e2m1"},
    {"wgmmashape", {warpgroup_shapes.text.data(), warpgroup_shapes.length}},
    {"wgmmatype", ".f16|.bf16|.tf32|.f32|.s32|.s8|.u8|.e4m3|.e5m2|.b1"},
    {"kind", ".kind::f8f6f4|.kind::mxf8f6f4|.kind::mxf4|.kind::mxf4nvf4"},
    {"scalevec", ".scale_vec::1X|.scale_vec::2X|.scale_vec::4X"},
});

constexpr size_t set_index(std::string_view name) {
    for (size_t i = 0; i < named_sets.size(); ++i)
        if (named_sets[i].name == name) return i;
    throw "no set in named_sets has this name";
}

struct OpcodeModifier {
    std::string_view opcode;
    std::string_view modifier;
    friend bool operator==(const OpcodeModifier&, const OpcodeModifier&) = default;
};

// clang-format off
// Modifiers that belong to an opcode's name (asked of the assembler, by moving them back).
constexpr auto name_parts = std::to_array<OpcodeModifier>({
    {"bar", ".cta"}, {"bar", ".red"}, {"bar", ".warp"}, {"bar", ".sync"}, {"bar", ".arrive"},
    {"barrier", ".cta"}, {"barrier", ".cluster"}, {"barrier", ".red"}, {"barrier", ".sync"}, {"barrier", ".arrive"}, {"barrier", ".wait"},
    {"brx", ".idx"},
    {"clusterlaunchcontrol", ".try_cancel"}, {"clusterlaunchcontrol", ".query_cancel"},
    {"cp", ".async"}, {"cp", ".reduce"}, {"cp", ".bulk"}, {"cp", ".prefetch"}, {"cp", ".tensor"}, {"cp", ".commit_group"}, {"cp", ".wait_group"}, {"cp", ".wait_all"},
    {"cvta", ".to"},
    {"div", ".full"},
    {"dp2a", ".lo"}, {"dp2a", ".hi"},
    {"mad", ".lo"}, {"mad", ".hi"}, {"mad", ".wide"},
    {"mad24", ".lo"}, {"mad24", ".hi"},
    {"madc", ".lo"}, {"madc", ".hi"},
    {"mul", ".lo"}, {"mul", ".hi"}, {"mul", ".wide"},
    {"mul24", ".lo"}, {"mul24", ".hi"},
    {"multimem", ".ld_reduce"}, {"multimem", ".st"}, {"multimem", ".red"},
    {"red", ".async"},
    {"setmaxnreg", ".inc"}, {"setmaxnreg", ".dec"},
    {"shf", ".l"}, {"shf", ".r"},
    {"st", ".async"},
    {"suld", ".b"}, {"sust", ".b"}, {"tex", ".level"}, {"txq", ".level"},
    {"tensormap", ".replace"}, {"tensormap", ".cp_fenceproxy"},
    {"wgmma", ".mma_async"}, {"wgmma", ".fence"}, {"wgmma", ".commit_group"}, {"wgmma", ".wait_group"},
    {"wmma", ".load"}, {"wmma", ".store"}, {"wmma", ".mma"}, {"wmma", ".a"}, {"wmma", ".b"}, {"wmma", ".c"}, {"wmma", ".d"},
});
// clang-format on

// A group of a row that is compiled.
struct RowGroup {
    std::string_view alternatives;  // text; empty: of a named set
    size_t count = 0;
    size_t set = 0;  // index into named_sets
    bool optional = false;
    bool of_name = false;
};

// Whether the first of a group's alternatives is part of the opcode's name; then they all are.
constexpr bool is_name_part(std::string_view opcode, std::string_view alternatives) {
    if (alternatives.empty()) return false;
    const std::string_view first = form_text::take_alternative(alternatives);
    for (const OpcodeModifier& part : name_parts)
        if (part.opcode == opcode && part.modifier == first) return true;
    return false;
}

// A row as it is written.
//
// Modifiers: ".a" must stand there, ".a|.b" one of these, "<name>" one of a named set; "{...}" may
// be left out.
//
// Operands, separated by spaces; in braces: may be left out. Of bar, an operand in braces is left
// out before those behind it. A .sync instruction's last operand is its membermask.
//   D  destination         S  source        d, s  the same, but the register may be wider
//   P  predicate written   Q  predicate read
//   PP  "p" or "p|q"       DP  "d" or "d|p"       DE  "d|p"
//   M  what mov reads      V  what mov writes
//   A  address; AS in .shared, AG in .global      H  cache policy
//   AX  texture or surface and coordinates
//   AT  tensor map and coordinates    O  offsets of im2col    U  mask of CTAs
//   I  constant, after ':' the only one allowed   X  '_'
//   F, W, G, K, E  of matrix instructions (forms.hpp, Slot)
//   L  label    T  label of .branchtargets    C  all operands of call
//   N  matrices of ldmatrix, stmatrix    Fd Fa Fb Fc  fragments of mma
//   W  the fragment of wmma.load, wmma.store    Wd Wa Wb Wc  those of wmma.mma
//   G  scale factors    K  {byte-id, thread-id}
// Types: first in the instruction, or after ':' the second (1), twice as wide (w), or one named.
struct FormRow {
    Form form;
    std::array<RowGroup, 16> groups;
    std::array<OperandSlot, 12> slots;
    size_t group_count = 0;
    size_t slot_count = 0;

    consteval FormRow(Op op, std::string_view opcode, std::string_view syntax,
                      std::string_view operands, uint16_t target = 0, uint16_t ptx = 0,
                      std::string_view feature = {}, uint16_t also_ptx = 0,
                      std::string_view also = {})
        : form{op, opcode, syntax, operands, target, ptx, feature, also_ptx, also} {
        bool of_name = true;  // so far
        while (!syntax.empty()) {
            const form_text::Group text = form_text::take_group(syntax);
            RowGroup& group = groups[group_count++];
            group.alternatives = text.alternatives;
            group.count = form_text::count_alternatives(text.alternatives);
            if (group.count == 0) group.set = set_index(text.set);
            group.optional = text.optional;
            of_name = of_name && !group.optional && is_name_part(opcode, text.alternatives);
            group.of_name = of_name;
        }
        while (!operands.empty()) slots[slot_count++] = form_text::take_slot(operands);
    }
};

// clang-format off
constexpr auto form_rows = std::to_array<FormRow>({
    // Data movement and conversion
    {Op::mov, "mov", ".pred", "P Q"},
    {Op::mov, "mov", "<any>", "V M"},
    {Op::mov, "mov", ".b128", "V M"},
    {Op::mov, "mov", "<vec><any>", "V M"},
    // 256 bits of .global; .v4 of 64 bits with no priority in L2 is in the rows below
    {Op::ld, "ld", "{.weak}{.global}{<ldcop>}{<l1>}<l2keep>{.L2::cache_hint}{<l2>}.v4.b64|.u64|.s64|.f64", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", "{.weak}{.global}{<ldcop>}{<l1>}{<l2keep>}{.L2::cache_hint}{<l2>}.v8.b32|.u32|.s32|.f32", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".volatile{.global}<l2keep>{<l2>}.v4.b64|.u64|.s64|.f64", "d A", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".volatile{.global}{<l2keep>}{<l2>}.v8.b32|.u32|.s32|.f32", "d A", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".relaxed|.acquire<scope>{.global}{<l1>}<l2keep>{.L2::cache_hint}{<l2>}.v4.b64|.u64|.s64|.f64", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".relaxed|.acquire<scope>{.global}{<l1>}{<l2keep>}{.L2::cache_hint}{<l2>}.v8.b32|.u32|.s32|.f32", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".global{<nccop>}.nc{<l1>}<l2keep>{.L2::cache_hint}{<l2>}.v4.b64|.u64|.s64|.f64", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", ".global{<nccop>}.nc{<l1>}{<l2keep>}{.L2::cache_hint}{<l2>}.v8.b32|.u32|.s32|.f32", "d A H", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", "{.weak}{.global}{<stcop>}{<l1>}<l2keep>{.L2::cache_hint}.v4.b64|.u64|.s64|.f64", "A s H", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", "{.weak}{.global}{<stcop>}{<l1>}{<l2keep>}{.L2::cache_hint}.v8.b32|.u32|.s32|.f32", "A s H", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", ".volatile{.global}<l2keep>.v4.b64|.u64|.s64|.f64", "A s", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", ".volatile{.global}{<l2keep>}.v8.b32|.u32|.s32|.f32", "A s", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", ".relaxed|.release<scope>{.global}{<l1>}<l2keep>{.L2::cache_hint}.v4.b64|.u64|.s64|.f64", "A s H", 100, 88, "256 bit wide load/store"},
    {Op::st, "st", ".relaxed|.release<scope>{.global}{<l1>}{<l2keep>}{.L2::cache_hint}.v8.b32|.u32|.s32|.f32", "A s H", 100, 88, "256 bit wide load/store"},
    {Op::ld, "ld", "{.weak}{<ldspace>}{<ldcop>}{<l1>}{.L2::cache_hint}{<l2>}{<vec>}<memory>", "d A H"},
    {Op::ld, "ld", ".volatile{<strongspace>}{<l2>}{<vec>}<memory>", "d A"},
    {Op::ld, "ld", ".relaxed|.acquire<scope>{<strongspace>}{<l1>}{.L2::cache_hint}{<l2>}{<vec>}<memory>", "d A H"},
    {Op::ld, "ld", ".mmio.relaxed.sys{.global}<memory>", "d A", 70, 82, ".mmio"},
    {Op::ld, "ld", ".global{<nccop>}.nc{<l1>}{.L2::cache_hint}{<l2>}{<vec>}<memory>", "d A H"},
    {Op::st, "st", "{.weak}{<stspace>}{<stcop>}{<l1>}{.L2::cache_hint}{<vec>}<memory>", "A s H"},
    {Op::st, "st", ".volatile{<strongspace>}{<vec>}<memory>", "A s"},
    {Op::st, "st", ".relaxed|.release<scope>{<strongspace>}{<l1>}{.L2::cache_hint}{<vec>}<memory>", "A s H"},
    {Op::st, "st", ".mmio.relaxed.sys{.global}<memory>", "A s", 70, 82, ".mmio"},
    {Op::ld, "ldu", "{.global}{<vec>}<memory>", "d A"},
    {Op::cvta, "cvta", "<cvtaspace>.u64", "D M"},
    {Op::cvta, "cvta", ".to<cvtaspace>.u64", "D S"},
    {Op::mapa, "mapa", "{.shared::cluster}.u32|.u64", "D M S:.u32", 90, 78, "mapa"},
    {Op::getctarank, "getctarank", "{.shared::cluster}.u32|.u64", "D:.u32 M", 90, 78, "getctarank"},
    {Op::isspacep, "isspacep", "<cvtaspace>", "P S:.u64"},
    {Op::prefetch, "prefetch", "{.global|.local}.L1|.L2", "A"},
    {Op::prefetch, "prefetch", "{.global}.L2::evict_last|.L2::evict_normal", "A", 80, 74, "Modifier 'cache eviction priority' on 'prefetch'"},
    {Op::prefetch, "prefetch", "{.const|.param}.tensormap", "A", 90, 80, "Modifier '.tensormap'"},
    {Op::prefetch, "prefetchu", ".L1", "A"},
    {Op::prefetch, "applypriority", "{.global}.L2::evict_normal", "A I:128", 80, 74, "applypriority"},
    {Op::prefetch, "discard", "{.global}.L2", "A I:128", 80, 74, "discard"},
    {Op::policy_fraction, "createpolicy", ".fractional<priority>{<second>}.b64", "D {S:.f32}", 80, 74, "createpolicy.fractional"},
    {Op::policy_range, "createpolicy", ".range{.global}<priority>{<second>}.b64", "D A S:.u32 S:.u32", 80, 74, "createpolicy.range"},
    {Op::policy_convert, "createpolicy", ".cvt.L2.b64", "D S", 80, 74, "createpolicy.cvt"},
    {Op::cvt, "cvt", "<cvtint><cvtint>", "d s:1"},
    {Op::cvt, "cvt", ".sat.u8.u16|.u32|.u64|.s8|.s16|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.u16.u32|.u64|.s8|.s16|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.u32.u64|.s8|.s16|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.u64.s8|.s16|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.s8.u8|.u16|.u32|.u64|.s16|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.s16.u16|.u32|.u64|.s32|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.s32.u32|.u64|.s64", "d s:1"},
    {Op::cvt, "cvt", ".sat.s64.u64", "d s:1"},
    {Op::cvt, "cvt", "<rnd>{.ftz}{.sat}.f32<cvtint>", "d s:1"},
    {Op::cvt, "cvt", "<rnd>{.sat}.f16|.f64<cvtint>", "d s:1"},
    {Op::cvt, "cvt", "<rnd>.bf16<int>", "D S:1", 90, 78, "cvt with @"},
    {Op::cvt, "cvt", "<irnd>{.ftz}{.sat}<cvtint>.f32", "d s:1"},
    {Op::cvt, "cvt", "<irnd>{.sat}<cvtint>.f16|.f64", "d s:1"},
    {Op::cvt, "cvt", "<irnd><int>.bf16", "D S:1", 90, 78, "cvt with @"},
    {Op::cvt, "cvt", "{<irnd>}{.ftz}{.sat}.f32.f32", "d s:1"},
    {Op::cvt, "cvt", "{<irnd>}{.sat}.f64.f64", "d s:1"},
    {Op::cvt, "cvt", "{<irnd>}{.sat}.f16.f16", "d s:1"},
    {Op::cvt, "cvt", "{<irnd>}.bf16.bf16", "D S:1", 90, 78, "cvt with .bf16.bf16"},
    {Op::cvt, "cvt", "{.ftz}{.sat}.f64.f32", "d s:1"},
    {Op::cvt, "cvt", "<rnd>{.ftz}{.sat}.f32.f64", "d s:1"},
    {Op::cvt, "cvt", "{.ftz}{.sat}.f32.f16", "d s:1"},
    {Op::cvt, "cvt", "{.sat}.f64.f16", "d s:1"},
    {Op::cvt, "cvt", "<rnd>{.ftz}{.sat}.f16.f32", "d s:1"},
    {Op::cvt, "cvt", ".rn|.rz.relu.f16.f32", "d s:1", 80, 70, "Modifier '.relu'"},
    {Op::cvt, "cvt", ".rn|.rz.satfinite.f16.f32", "d s:1", 0, 81, "Modifier '.satfinite' on 'cvt.f16.f32'"},
    {Op::cvt, "cvt", ".rn|.rz.relu.satfinite.f16.f32", "d s:1", 80, 81, "Modifier '.satfinite' on 'cvt.f16.f32'"},
    {Op::cvt, "cvt", "<rnd>{.sat}.f16.f64", "d s:1"},
    {Op::cvt, "cvt", "{<rnd>}.f32.bf16", "D S:1", 80, 71, "cvt with .f32.bf16"},
    {Op::cvt, "cvt", "{<rnd>}.ftz.f32.bf16", "D S:1", 90, 78, "cvt with .f32.bf16.ftz"},
    {Op::cvt, "cvt", "{<rnd>}.f64.bf16", "D S:1", 90, 78, "cvt with .f64.bf16"},
    {Op::cvt, "cvt", "{<rnd>}.f16.bf16", "D S:1", 90, 78, "cvt with .f16.bf16"},
    {Op::cvt, "cvt", "{<rnd>}.bf16.f16", "D S:1", 90, 78, "cvt with .bf16.f16"},
    {Op::cvt, "cvt", "<rnd>.bf16.f64", "D S:1", 90, 78, "cvt with .bf16.f64"},
    {Op::cvt, "cvt", "<rnd>{.ftz}.bf16.f32", "D S:1", 80, 70, ".bf16"},
    {Op::cvt, "cvt", ".rn|.rz.relu.bf16.f32", "D S:1", 80, 70, ".bf16"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.satfinite.bf16.f32", "D S:1", 80, 81, "Modifier '.satfinite' on 'cvt.bf16.f32'"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.f16x2.f32", "D S:1 S:1", 80, 70, "cvt.f16x2.f32"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.satfinite.f16x2.f32", "D S:1 S:1", 80, 81, "Modifier '.satfinite' on 'cvt.f16x2.f32'"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.bf16x2.f32", "D S:1 S:1", 80, 70, "cvt.bf16x2.f32"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.satfinite.bf16x2.f32", "D S:1 S:1", 80, 81, "Modifier '.satfinite' on 'cvt.bf16x2.f32'"},
    {Op::cvt, "cvt", ".rn.satfinite{.relu}.e4m3x2|.e5m2x2.f32", "D S:1 S:1", 89, 78, "cvt with .e4m3x2/.e5m2x2"},
    {Op::cvt, "cvt", ".rn.satfinite{.relu}.e4m3x2|.e5m2x2.f16x2", "D S:1", 89, 78, "cvt with .e4m3x2/.e5m2x2"},
    {Op::cvt, "cvt", ".rn{.relu}.f16x2.e4m3x2|.e5m2x2", "D S:1", 89, 78, "cvt with .e4m3x2/.e5m2x2"},
    {Op::cvt, "cvt", ".rna.tf32.f32", "D S:1", 80, 70, ".tf32"},
    {Op::cvt, "cvt", ".rna.satfinite.tf32.f32", "D S:1", 80, 81, "Modifier '.satfinite' on 'cvt.tf32.f32.rna'"},
    {Op::cvt, "cvt", ".rn|.rz{.relu}.tf32.f32", "D S:1", 90, 78, "cvt with .tf32.f32 and .rn/.rz"},
    {Op::cvt_pack, "cvt", ".pack.sat.u16|.s16.s32", "D:.u32 S:1 S:1", 72, 65, "cvt.pack"},
    {Op::cvt_pack, "cvt", ".pack.sat.u8|.s8.s32.b32", "D:.u32 S:1 S:1 S:.b32", 72, 65, "cvt.pack"},
    {Op::cvt_pack, "cvt", ".pack.sat.u2|.s2|.u4|.s4.s32.b32", "D:.u32 S:1 S:1 S:.b32", 75, 65, "cvt.pack with sub-byte type"},

    // Atomics. A cache policy is for global memory alone (spell.cpp).
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.and|.or|.xor|.exch{.L2::cache_hint}.b32|.b64", "d A s H"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.add{.L2::cache_hint}.u32|.s32|.u64|.f32", "d A s H"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.min|.max{.L2::cache_hint}.u32|.s32|.u64|.s64", "d A s H"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.inc|.dec{.L2::cache_hint}.u32", "d A s H"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.cas.b32|.b64", "d A s s"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.exch{.L2::cache_hint}.b128", "d A s H", 90, 83, "Instruction 'atom.exch.b128'"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.cas.b128", "d A s s", 90, 83, "Instruction 'atom.cas.b128'"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.cas.b16", "d A s s", 70, 63, "atom.cas.b16"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.add{.L2::cache_hint}.f64", "d A s H", 60, 50, "atom.add.f64"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}.f16x2", "d A s H", 60, 62, "atom.add.f16x2"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}.f16", "d A s H", 70, 63, "atom.add.f16"},
    {Op::atom, "atom", "{<sem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}<bf16>", "d A s H", 90, 78, "atom.add.bf16"},
    {Op::atom, "atom", "{<sem>}{<scope>}{.global}.add{.L2::cache_hint}<vec>.f32", "d A s H", 90, 81, "atom instruction with vector types"},
    {Op::atom, "atom", "{<sem>}{<scope>}{.global}.add|.min|.max.noftz{.L2::cache_hint}.v2|.v4|.v8.f16|.bf16", "d A s H", 90, 81, "atom instruction with vector types"},
    {Op::atom, "atom", "{<sem>}{<scope>}{.global}.add|.min|.max.noftz{.L2::cache_hint}<vec>.f16x2|.bf16x2", "d A s H", 90, 81, "atom instruction with vector types"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.and|.or|.xor{.L2::cache_hint}.b32|.b64", "A s H"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.add{.L2::cache_hint}.u32|.s32|.u64|.f32", "A s H"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.min|.max{.L2::cache_hint}.u32|.s32|.u64|.s64", "A s H"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.inc|.dec{.L2::cache_hint}.u32", "A s H"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.add{.L2::cache_hint}.f64", "A s H", 60, 50, "red.add.f64"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}.f16x2", "A s H", 60, 62, "red.add.f16x2"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}.f16", "A s H", 70, 63, "red.add.f16"},
    {Op::red, "red", "{<redsem>}{<scope>}{<strongspace>}.add.noftz{.L2::cache_hint}<bf16>", "A s H", 90, 78, "red.add.bf16"},
    {Op::red, "red", "{<redsem>}{<scope>}{.global}.add{.L2::cache_hint}<vec>.f32", "A s H", 90, 81, "red instruction with vector types"},
    {Op::red, "red", "{<redsem>}{<scope>}{.global}.add|.min|.max.noftz{.L2::cache_hint}.v2|.v4|.v8.f16|.bf16", "A s H", 90, 81, "red instruction with vector types"},
    {Op::red, "red", "{<redsem>}{<scope>}{.global}.add|.min|.max.noftz{.L2::cache_hint}<vec>.f16x2|.bf16x2", "A s H", 90, 81, "red instruction with vector types"},

    // Integer arithmetic
    {Op::add, "add", "<int>", "D S S"},
    {Op::add, "add", ".sat.s32", "D S S"},
    {Op::add, "add", ".u16x2", "D S S", 90, 80, "add.u16x2"},
    {Op::add, "add", ".s16x2", "D S S", 90, 80, "add.s16x2"},
    {Op::add, "add", ".cc.u32|.s32|.u64|.s64", "D S S"},
    {Op::addc, "addc", "{.cc}.u32|.s32|.u64|.s64", "D S S"},
    {Op::sub, "sub", "<int>", "D S S"},
    {Op::sub, "sub", ".sat.s32", "D S S"},
    {Op::sub, "sub", ".cc.u32|.s32|.u64|.s64", "D S S"},
    {Op::subc, "subc", "{.cc}.u32|.s32|.u64|.s64", "D S S"},
    {Op::mul, "mul", ".lo|.hi<int>", "D S S"},
    {Op::mul, "mul", ".wide.u16|.u32|.s16|.s32", "D:w S S"},
    {Op::mad, "mad", ".lo|.hi<int>", "D S S S"},
    {Op::mad, "mad", ".hi.sat.s32", "D S S S"},
    {Op::mad, "mad", ".wide.u16|.u32|.s16|.s32", "D:w S S S:w"},
    {Op::mad, "mad", ".lo|.hi.cc.u32|.s32|.u64|.s64", "D S S S"},
    {Op::madc, "madc", ".lo|.hi{.cc}.u32|.s32|.u64|.s64", "D S S S"},
    {Op::mul24, "mul24", ".lo|.hi.u32|.s32", "D S S"},
    {Op::mad24, "mad24", ".lo|.hi.u32|.s32", "D S S S"},
    {Op::mad24, "mad24", ".hi.sat.s32", "D S S S"},
    {Op::div, "div", "<int>", "D S S"},
    {Op::rem, "rem", "<int>", "D S S"},
    {Op::abs, "abs", ".s16|.s32|.s64", "D S"},
    {Op::neg, "neg", ".s16|.s32|.s64", "D S"},
    {Op::min, "min", "<int>", "D S S"},
    {Op::max, "max", "<int>", "D S S"},
    {Op::min, "min", ".u16x2", "D S S", 90, 80, "min.u16x2"},
    {Op::min, "min", ".s16x2", "D S S", 90, 80, "min.s16x2"},
    {Op::min, "min", ".relu.s16x2|.s32", "D S S", 90, 80, "min.relu"},
    {Op::max, "max", ".u16x2", "D S S", 90, 80, "max.u16x2"},
    {Op::max, "max", ".s16x2", "D S S", 90, 80, "max.s16x2"},
    {Op::max, "max", ".relu.s16x2|.s32", "D S S", 90, 80, "max.relu"},
    {Op::sad, "sad", "<int>", "D S S S"},
    {Op::popc, "popc", ".b32|.b64", "D:.u32 S"},
    {Op::clz, "clz", ".b32|.b64", "D:.u32 S"},
    {Op::bfind, "bfind", "{.shiftamt}.u32|.u64|.s32|.s64", "D:.u32 S"},
    {Op::brev, "brev", ".b32|.b64", "D S"},
    {Op::bfe, "bfe", ".u32|.u64|.s32|.s64", "D S S:.u32 S:.u32"},
    {Op::bfi, "bfi", ".b32|.b64", "D S S S:.u32 S:.u32"},
    {Op::bmsk, "bmsk", ".clamp|.wrap.b32", "D S S:.u32", 70, 76, "bmsk"},
    {Op::szext, "szext", ".clamp|.wrap.u32|.s32", "D S S:.u32", 70, 76, "szext"},
    {Op::fns, "fns", ".b32", "D S S S:.s32", 0, 60, "fns"},
    {Op::dp4a, "dp4a", ".u32|.s32.u32|.s32", "D:.b32 S:.b32 S:.b32 S:.b32"},
    {Op::dp2a, "dp2a", ".lo|.hi.u32|.s32.u32|.s32", "D:.b32 S:.b32 S:.b32 S:.b32"},

    // Logic and shifts
    {Op::and_, "and", ".pred", "P Q Q"},
    {Op::or_, "or", ".pred", "P Q Q"},
    {Op::xor_, "xor", ".pred", "P Q Q"},
    {Op::not_, "not", ".pred", "P Q"},
    {Op::and_, "and", "<bits>", "D S S"},
    {Op::or_, "or", "<bits>", "D S S"},
    {Op::xor_, "xor", "<bits>", "D S S"},
    {Op::not_, "not", "<bits>", "D S"},
    {Op::cnot, "cnot", "<bits>", "D S"},
    {Op::lop3, "lop3", ".b32", "D S S S I"},
    {Op::lop3, "lop3", ".and|.or.b32", "DE S S S I Q", 70, 82, "lop3.<BoolOp>"},
    {Op::shl, "shl", "<bits>", "D S S:.u32"},
    {Op::shr, "shr", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64", "D S S:.u32"},
    {Op::shf, "shf", ".l|.r.wrap|.clamp.b32", "D S S S:.u32"},
    {Op::prmt, "prmt", ".b32{<perm>}", "D S S S"},

    // Floating point
    {Op::add, "add", "{<rnd>}{.ftz}{.sat}.f32", "D S S"},
    {Op::add, "add", "{<rnd>}.f64", "D S S"},
    {Op::add, "add", "{<rnd>}{.ftz}.f32x2", "D S S", 100, 86, "add.f32x2"},
    {Op::add, "add", "{.rn}{.ftz}{.sat}<f16>", "D S S"},
    {Op::add, "add", "{.rn}<bf16>", "D S S", 90, 78, "add.bf16"},
    {Op::sub, "sub", "{<rnd>}{.ftz}{.sat}.f32", "D S S"},
    {Op::sub, "sub", "{<rnd>}.f64", "D S S"},
    {Op::sub, "sub", "{<rnd>}{.ftz}.f32x2", "D S S", 100, 86, "sub.f32x2"},
    {Op::sub, "sub", "{.rn}{.ftz}{.sat}<f16>", "D S S"},
    {Op::sub, "sub", "{.rn}<bf16>", "D S S", 90, 78, "sub.bf16"},
    {Op::mul, "mul", "{<rnd>}{.ftz}{.sat}.f32", "D S S"},
    {Op::mul, "mul", "{<rnd>}.f64", "D S S"},
    {Op::mul, "mul", "{<rnd>}{.ftz}.f32x2", "D S S", 100, 86, "mul.f32x2"},
    {Op::mul, "mul", "{.rn}{.ftz}{.sat}<f16>", "D S S"},
    {Op::mul, "mul", "{.rn}<bf16>", "D S S", 90, 78, "mul.bf16"},
    {Op::fma, "fma", "<rnd>{.ftz}{.sat}.f32", "D S S S"},
    {Op::fma, "fma", "<rnd>.f64", "D S S S"},
    {Op::fma, "fma", "<rnd>{.ftz}.f32x2", "D S S S", 100, 86, "fma.f32x2"},
    {Op::fma, "mad", "<rnd>{.ftz}{.sat}.f32", "D S S S"},
    {Op::fma, "mad", "<rnd>.f64", "D S S S"},
    {Op::fma, "fma", ".rn{.ftz}{.sat}<f16>", "D S S S"},
    {Op::fma, "fma", ".rn{.ftz}.relu<f16>", "D S S S", 80, 70, "fma.relu"},
    {Op::fma, "fma", ".rn{.relu}<bf16>", "D S S S", 80, 70, ".bf16"},
    {Op::fma, "fma", ".rn.oob{.sat}<f16>", "D S S S", 90, 81, "Modifier '.oob'"},
    {Op::fma, "fma", ".rn.oob.relu<f16>", "D S S S", 90, 81, "Modifier '.oob'"},
    {Op::fma, "fma", ".rn.oob{.relu}<bf16>", "D S S S", 90, 81, "Modifier '.oob'"},
    {Op::add_mixed, "add", "{<rnd>}{.sat}.f32.f16|.bf16", "D S:1 S", 100, 86, "add@"},
    {Op::sub_mixed, "sub", "{<rnd>}{.sat}.f32.f16|.bf16", "D S:1 S", 100, 86, "sub@"},
    {Op::fma_mixed, "fma", "<rnd>{.sat}.f32.f16|.bf16", "D S:1 S:1 S", 100, 86, "fma@"},
    {Op::div, "div", "<rnd>{.ftz}.f32", "D S S"},
    {Op::div, "div", "<rnd>.f64", "D S S"},
    {Op::rcp, "rcp", "<rnd>{.ftz}.f32", "D S"},
    {Op::rcp, "rcp", "<rnd>.f64", "D S"},
    {Op::sqrt, "sqrt", "<rnd>{.ftz}.f32", "D S"},
    {Op::sqrt, "sqrt", "<rnd>.f64", "D S"},
    {Op::abs, "abs", "{.ftz}.f32", "D S"},
    {Op::abs, "abs", ".f64", "D S"},
    {Op::abs, "abs", "{.ftz}<f16>", "D S", 0, 65, "abs.f16 or abs.f16x2"},
    {Op::abs, "abs", "<bf16>", "D S", 80, 70, ".bf16"},
    {Op::neg, "neg", "{.ftz}.f32", "D S"},
    {Op::neg, "neg", ".f64", "D S"},
    {Op::neg, "neg", "{.ftz}<f16>", "D S"},
    {Op::neg, "neg", "<bf16>", "D S", 80, 70, ".bf16"},
    {Op::min, "min", "{.ftz}.f32", "D S S"},
    {Op::min, "min", "{.ftz}.NaN.f32", "D S S", 80, 70, "min.NaN"},
    {Op::min, "min", "{.ftz}{.NaN}.xorsign.abs.f32", "D S S", 86, 72, "min.xorsign"},
    {Op::min3, "min", "{.ftz}{.NaN}{.abs}.f32", "D S S S", 100, 88, "min.f32 with 3 input operands"},
    {Op::min, "min", ".f64", "D S S"},
    {Op::min, "min", "{.ftz}{.NaN}<f16>", "D S S", 80, 70, "min.f16 or min.f16x2"},
    {Op::min, "min", "{.NaN}<bf16>", "D S S", 80, 70, ".bf16"},
    {Op::min, "min", "{.ftz}{.NaN}.xorsign.abs<f16>", "D S S", 86, 72, "min.xorsign"},
    {Op::min, "min", "{.NaN}.xorsign.abs<bf16>", "D S S", 86, 72, "min.xorsign"},
    {Op::max, "max", "{.ftz}.f32", "D S S"},
    {Op::max, "max", "{.ftz}.NaN.f32", "D S S", 80, 70, "max.NaN"},
    {Op::max, "max", "{.ftz}{.NaN}.xorsign.abs.f32", "D S S", 86, 72, "max.xorsign"},
    {Op::max3, "max", "{.ftz}{.NaN}{.abs}.f32", "D S S S", 100, 88, "max.f32 with 3 input operands"},
    {Op::max, "max", ".f64", "D S S"},
    {Op::max, "max", "{.ftz}{.NaN}<f16>", "D S S", 80, 70, "max.f16 or max.f16x2"},
    {Op::max, "max", "{.NaN}<bf16>", "D S S", 80, 70, ".bf16"},
    {Op::max, "max", "{.ftz}{.NaN}.xorsign.abs<f16>", "D S S", 86, 72, "max.xorsign"},
    {Op::max, "max", "{.NaN}.xorsign.abs<bf16>", "D S S", 86, 72, "max.xorsign"},
    {Op::copysign, "copysign", ".f32|.f64", "D S S"},

    // Approximate functions
    {Op::ex2, "ex2", ".approx{.ftz}.f32", "D S"},
    {Op::ex2, "ex2", ".approx<f16>", "D S", 75, 70, "ex2.f16/f16x2"},
    {Op::ex2, "ex2", ".approx.ftz.bf16", "D S", 90, 78, "ex2.bf16"},
    {Op::ex2, "ex2", ".approx.ftz.bf16x2", "D S", 90, 78, "ex2.bf16x2"},
    {Op::lg2, "lg2", ".approx{.ftz}.f32", "D S"},
    {Op::rcp_approx, "rcp", ".approx{.ftz}.f32", "D S"},
    {Op::rcp_approx, "rcp", ".approx.ftz.f64", "D S"},
    {Op::rsqrt, "rsqrt", ".approx{.ftz}.f32", "D S"},
    {Op::rsqrt, "rsqrt", ".approx.f64", "D S"},
    {Op::rsqrt, "rsqrt", ".approx.ftz.f64", "D S"},
    {Op::sqrt_approx, "sqrt", ".approx{.ftz}.f32", "D S"},
    {Op::sin, "sin", ".approx{.ftz}.f32", "D S"},
    {Op::cos, "cos", ".approx{.ftz}.f32", "D S"},
    {Op::tanh, "tanh", ".approx.f32|.f16|.f16x2", "D S", 75, 70, "tanh"},
    {Op::tanh, "tanh", ".approx.bf16", "D S", 90, 78, "tanh.bf16"},
    {Op::tanh, "tanh", ".approx.bf16x2", "D S", 90, 78, "tanh.bf16x2"},
    {Op::div_approx, "div", ".approx{.ftz}.f32", "D S S"},
    {Op::div_full, "div", ".full{.ftz}.f32", "D S S"},
    {Op::testp, "testp", ".finite|.infinite|.number|.notanumber|.normal|.subnormal.f32|.f64", "P S"},

    // Comparison and selection
    {Op::setp, "setp", ".eq|.ne<bool><bits>", "PP S S Q"},
    {Op::setp, "setp", "<ucmp><bool>.u16|.u32|.u64", "PP S S Q"},
    {Op::setp, "setp", "<icmp><bool>.s16|.s32|.s64", "PP S S Q"},
    {Op::setp, "setp", "<fcmp><bool>{.ftz}.f32|.f16x2", "PP S S Q"},
    {Op::setp, "setp", "<fcmp><bool>.f64", "PP S S Q"},
    {Op::setp, "setp", "<fcmp><bool>{.ftz}.f16", "P S S Q"},
    {Op::setp, "setp", "<fcmp><bool>.bf16", "P S S Q", 90, 78, "setp.bf16"},
    {Op::setp, "setp", "<fcmp><bool>.bf16x2", "PP S S Q", 90, 78, "setp.bf16x2"},
    {Op::setp, "setp", ".eq|.ne<bits>", "PP S S"},
    {Op::setp, "setp", "<ucmp>.u16|.u32|.u64", "PP S S"},
    {Op::setp, "setp", "<icmp>.s16|.s32|.s64", "PP S S"},
    {Op::setp, "setp", "<fcmp>{.ftz}.f32|.f16x2", "PP S S"},
    {Op::setp, "setp", "<fcmp>.f64", "PP S S"},
    {Op::setp, "setp", "<fcmp>{.ftz}.f16", "P S S"},
    {Op::setp, "setp", "<fcmp>.bf16", "P S S", 90, 78, "setp.bf16"},
    {Op::setp, "setp", "<fcmp>.bf16x2", "PP S S", 90, 78, "setp.bf16x2"},
    {Op::set, "set", ".eq|.ne<bool>.u32|.s32|.f32|.f16<bits>", "D S:1 S:1 Q"},
    {Op::set, "set", "<ucmp><bool>.u32|.s32|.f32|.f16.u16|.u32|.u64", "D S:1 S:1 Q"},
    {Op::set, "set", "<icmp><bool>.u32|.s32|.f32|.f16.s16|.s32|.s64", "D S:1 S:1 Q"},
    {Op::set, "set", "<fcmp><bool>{.ftz}.u32|.s32|.f32|.f16.f32", "D S:1 S:1 Q"},
    {Op::set, "set", "<fcmp><bool>.u32|.s32|.f32|.f16.f64", "D S:1 S:1 Q"},
    {Op::set, "set", "<fcmp><bool>{.ftz}.f16.f16", "D S:1 S:1 Q"},
    {Op::set, "set", "<fcmp><bool>{.ftz}.f16x2.f16x2", "D S:1 S:1 Q"},
    {Op::set, "set", "<fcmp><bool>{.ftz}.u16|.s16|.u32|.s32.f16", "D S:1 S:1 Q", 0, 65, "half precision floating point set instruction with integer result"},
    {Op::set, "set", "<fcmp><bool>{.ftz}.u32|.s32.f16x2", "D S:1 S:1 Q", 0, 65, "half precision floating point set instruction with integer result"},
    {Op::set, "set", ".eq|.ne<bool>.bf16<bits>", "D S:1 S:1 Q", 90, 78, "set.bf16"},
    {Op::set, "set", "<ucmp><bool>.bf16.u16|.u32|.u64", "D S:1 S:1 Q", 90, 78, "set.bf16"},
    {Op::set, "set", "<icmp><bool>.bf16.s16|.s32|.s64", "D S:1 S:1 Q", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp><bool>.bf16.f16|.bf16|.f32|.f64", "D S:1 S:1 Q", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp><bool>.u16|.s16|.u32|.s32.bf16", "D S:1 S:1 Q", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp><bool>.bf16x2|.u32|.s32.bf16x2", "D S:1 S:1 Q", 90, 78, "set.bf16x2"},
    {Op::set, "set", ".eq|.ne.u32|.s32|.f32|.f16<bits>", "D S:1 S:1"},
    {Op::set, "set", "<ucmp>.u32|.s32|.f32|.f16.u16|.u32|.u64", "D S:1 S:1"},
    {Op::set, "set", "<icmp>.u32|.s32|.f32|.f16.s16|.s32|.s64", "D S:1 S:1"},
    {Op::set, "set", "<fcmp>{.ftz}.u32|.s32|.f32|.f16.f32", "D S:1 S:1"},
    {Op::set, "set", "<fcmp>.u32|.s32|.f32|.f16.f64", "D S:1 S:1"},
    {Op::set, "set", "<fcmp>{.ftz}.f16.f16", "D S:1 S:1"},
    {Op::set, "set", "<fcmp>{.ftz}.f16x2.f16x2", "D S:1 S:1"},
    {Op::set, "set", "<fcmp>{.ftz}.u16|.s16|.u32|.s32.f16", "D S:1 S:1", 0, 65, "half precision floating point set instruction with integer result"},
    {Op::set, "set", "<fcmp>{.ftz}.u32|.s32.f16x2", "D S:1 S:1", 0, 65, "half precision floating point set instruction with integer result"},
    {Op::set, "set", ".eq|.ne.bf16<bits>", "D S:1 S:1", 90, 78, "set.bf16"},
    {Op::set, "set", "<ucmp>.bf16.u16|.u32|.u64", "D S:1 S:1", 90, 78, "set.bf16"},
    {Op::set, "set", "<icmp>.bf16.s16|.s32|.s64", "D S:1 S:1", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp>.bf16.f16|.bf16|.f32|.f64", "D S:1 S:1", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp>.u16|.s16|.u32|.s32.bf16", "D S:1 S:1", 90, 78, "set.bf16"},
    {Op::set, "set", "<fcmp>.bf16x2|.u32|.s32.bf16x2", "D S:1 S:1", 90, 78, "set.bf16x2"},
    {Op::selp, "selp", "<any>", "D S S Q"},
    {Op::slct, "slct", "<any>.s32", "D S S S:1"},
    {Op::slct, "slct", "{.ftz}<any>.f32", "D S S S:1"},

    // Video: a byte, a half or a word of each operand; two or four side by side
    {Op::vadd, "vadd", "<video><video><video>{.sat}", "Yd Ya Yb {Yc}"},
    {Op::vadd, "vadd", "<video><video><video>{.sat}.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vsub, "vsub", "<video><video><video>{.sat}", "Yd Ya Yb {Yc}"},
    {Op::vsub, "vsub", "<video><video><video>{.sat}.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vabsdiff, "vabsdiff", "<video><video><video>{.sat}", "Yd Ya Yb {Yc}"},
    {Op::vabsdiff, "vabsdiff", "<video><video><video>{.sat}.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vmin, "vmin", "<video><video><video>{.sat}", "Yd Ya Yb {Yc}"},
    {Op::vmin, "vmin", "<video><video><video>{.sat}.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vmax, "vmax", "<video><video><video>{.sat}", "Yd Ya Yb {Yc}"},
    {Op::vmax, "vmax", "<video><video><video>{.sat}.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vset, "vset", "<video><video><icmp>", "Yd Ya Yb {Yc}"},
    {Op::vset, "vset", "<video><video><icmp>.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vshl, "vshl", "<video><video>.u32{.sat}.clamp|.wrap", "Yd Ya Yb {Yc}"},
    {Op::vshl, "vshl", "<video><video>.u32{.sat}.clamp|.wrap.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vshr, "vshr", "<video><video>.u32{.sat}.clamp|.wrap", "Yd Ya Yb {Yc}"},
    {Op::vshr, "vshr", "<video><video>.u32{.sat}.clamp|.wrap.add|.min|.max", "Yd Ya Yb Yc"},
    {Op::vmad, "vmad", "<video><video><video>{.po}{.sat}{.shr7|.shr15}", "Yd Ya Yb Yc"},
    {Op::vadd2, "vadd2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vadd2, "vadd2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vsub2, "vsub2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vsub2, "vsub2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vavrg2, "vavrg2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vavrg2, "vavrg2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vabsdiff2, "vabsdiff2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vabsdiff2, "vabsdiff2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vmin2, "vmin2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vmin2, "vmin2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vmax2, "vmax2", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vmax2, "vmax2", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vset2, "vset2", "<video><video><icmp>{.add}", "Yd Ya Yb Yc"},
    {Op::vadd4, "vadd4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vadd4, "vadd4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vsub4, "vsub4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vsub4, "vsub4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vavrg4, "vavrg4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vavrg4, "vavrg4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vabsdiff4, "vabsdiff4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vabsdiff4, "vabsdiff4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vmin4, "vmin4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vmin4, "vmin4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vmax4, "vmax4", "<video><video><video>{.sat}", "Yd Ya Yb Yc"},
    {Op::vmax4, "vmax4", "<video><video><video>.add", "Yd Ya Yb Yc"},
    {Op::vset4, "vset4", "<video><video><icmp>{.add}", "Yd Ya Yb Yc"},

    // Control, barriers, the warp
    {Op::bra, "bra", "{.uni}", "L"},
    {Op::brx, "brx", ".idx{.uni}", "S:.u32 T", 0, 60, "brx.idx"},
    {Op::call, "call", "{.uni}", "C"},
    {Op::alloca_, "alloca", ".u32|.u64", "D S {I}", 52, 73, "alloca"},
    {Op::stacksave, "stacksave", ".u32|.u64", "D", 52, 73, "stacksave"},
    {Op::stackrestore, "stackrestore", ".u32|.u64", "S", 52, 73, "stackrestore"},
    {Op::ret, "ret", "{.uni}", ""},
    {Op::exit, "exit", "", ""},
    {Op::trap, "trap", "", ""},
    {Op::brkpt, "brkpt", "", ""},
    {Op::nanosleep, "nanosleep", ".u32", "S", 0, 62, "nanosleep"},
    {Op::hint, "pmevent", "", "I"},
    {Op::hint, "pmevent", ".mask", "I"},
    {Op::hint, "griddepcontrol", ".launch_dependents", "", 90, 78, "Modifier '.launch_dependents'"},
    {Op::hint, "griddepcontrol", ".wait", "", 90, 78, "Modifier '.wait'"},
    {Op::bar, "bar", "{.cta}.sync", "S:.u32 {S:.u32}"},
    {Op::bar, "bar", "{.cta}.arrive", "S:.u32 S:.u32"},
    {Op::bar, "barrier", "{.cta}.sync{.aligned}", "S:.u32 {S:.u32}"},
    {Op::bar, "barrier", "{.cta}.arrive{.aligned}", "S:.u32 S:.u32"},
    {Op::bar_red, "bar", "{.cta}.red.popc.u32", "D S:.u32 {S:.u32} Q"},
    {Op::bar_red, "bar", "{.cta}.red.and|.or.pred", "P S:.u32 {S:.u32} Q"},
    {Op::bar_red, "barrier", "{.cta}.red.popc{.aligned}.u32", "D S:.u32 {S:.u32} Q"},
    {Op::bar_red, "barrier", "{.cta}.red.and|.or{.aligned}.pred", "P S:.u32 {S:.u32} Q"},
    {Op::bar_warp, "bar", ".warp.sync", "S:.u32"},
    {Op::cluster_arrive, "barrier", ".cluster.arrive{.release|.relaxed}{.aligned}", "", 90, 78, "barrier.cluster.arrive"},
    {Op::cluster_wait, "barrier", ".cluster.wait{.acquire}{.aligned}", "", 90, 78, "barrier.cluster.wait"},
    {Op::fence, "membar", ".cta|.gl|.sys", ""},
    {Op::fence, "membar", ".proxy.alias", "", 0, 75, "Modifier '.alias'"},
    {Op::fence, "fence", "{.sc|.acq_rel|.acquire|.release}<scope>", ""},
    {Op::fence, "fence", ".proxy.alias", "", 0, 75, "Modifier '.alias'"},
    {Op::fence, "fence", ".proxy.async{.global|.shared::cta|.shared::cluster}", "", 90, 80, "Modifier '.async'"},
    {Op::fence, "fence", ".proxy.tensormap::generic.release<scope>", "", 90, 83, "fence.proxy with unidirection proxy fence"},
    {Op::fence, "fence", ".proxy.tensormap::generic.acquire<scope>", "A I:128", 90, 83, "fence.proxy with unidirection proxy fence"},
    {Op::fence, "fence", ".proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "", 90, 86, ".sync_restrict"},
    {Op::fence, "fence", ".proxy.async::generic.release.sync_restrict::shared::cta.cluster", "", 90, 86, ".sync_restrict"},
    {Op::fence, "fence", ".acquire.sync_restrict::shared::cluster.cluster", "", 90, 86, ".sync_restrict"},
    {Op::fence, "fence", ".release.sync_restrict::shared::cta.cluster", "", 90, 86, ".sync_restrict"},
    {Op::fence, "fence", ".mbarrier_init.release.cluster", "", 90, 80, ".op_restrict"},
    {Op::activemask, "activemask", ".b32", "D", 0, 62, "activemask"},
    {Op::shfl, "shfl", ".sync.up|.down|.bfly|.idx.b32", "DP S S:.u32 S:.u32 S:.u32"},
    {Op::vote, "vote", ".sync.all|.any|.uni.pred", "P Q S:.u32"},
    {Op::vote, "vote", ".sync.ballot.b32", "D Q S:.u32"},
    {Op::match, "match", ".any.sync.b32|.b64", "D:.b32 S S:.u32", 70, 60, "match"},
    {Op::match, "match", ".all.sync.b32|.b64", "DP:.b32 S S:.u32", 70, 60, "match"},
    {Op::redux, "redux", ".sync.add|.min|.max.u32|.s32", "D S S:.u32", 80, 70, "redux"},
    {Op::redux, "redux", ".sync.and|.or|.xor.b32", "D S S:.u32", 80, 70, "redux"},
    {Op::redux_float, "redux", ".sync.min|.max{.abs}{.NaN}.f32", "D S S:.u32", 100, 86, "redux.f32"},
    {Op::elect, "elect", ".sync", "DE:.b32 S:.u32", 90, 80, "elect"},

    // Asynchronous copies
    {Op::cp_async, "cp", ".async.ca|.cg<shared>.global{.L2::cache_hint}{<l2>}", "AS AG I {S:.u32} H", 80, 70, "cp.async"},
    {Op::cp_async_commit, "cp", ".async.commit_group", "", 80, 70, "cp.async.commit_group"},
    {Op::cp_async_wait, "cp", ".async.wait_group", "I", 80, 70, "cp.async.wait_group"},
    {Op::cp_async_wait_all, "cp", ".async.wait_all", "", 80, 70, "cp.async.wait_all"},
    {Op::mbarrier_copies, "cp", ".async.mbarrier.arrive{.noinc}{<shared>}.b64", "A", 80, 70, "cp.async.mbarrier.arrive"},

    // Bulk copies, of bytes and by tensor maps
    {Op::bulk_load, "cp", ".async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}", "AS AG S:.u32 AS U H", 90, 80, "cp.async.bulk"},
    {Op::bulk_load, "cp", ".async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}", "AS AG S:.u32 AS H", 90, 80, "cp.async.bulk", 86, "cp.async.bulk with destination state space as .shared::cta"},
    {Op::bulk_send, "cp", ".async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", "AS AS S:.u32 AS", 90, 80, "cp.async.bulk"},
    {Op::bulk_store, "cp", ".async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}", "AG AS S:.u32 H", 90, 80, "cp.async.bulk"},
    {Op::bulk_store, "cp", ".async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.cp_mask", "AG AS S:.u32 H S:.u16", 100, 86, ".cp_mask"},
    {Op::bulk_reduce, "cp", ".reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.and|.or|.xor.b32|.b64", "AG AS S:.u32 H", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_reduce, "cp", ".reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.u32|.s32|.u64|.f32|.f64", "AG AS S:.u32 H", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_reduce, "cp", ".reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz.f16|.bf16", "AG AS S:.u32 H", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_reduce, "cp", ".reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.min|.max.u32|.s32|.u64|.s64|.f16|.bf16", "AG AS S:.u32 H", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_reduce, "cp", ".reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.inc|.dec.u32", "AG AS S:.u32 H", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_send_reduce, "cp", ".reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and|.or|.xor.b32", "AS AS S:.u32 AS", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_send_reduce, "cp", ".reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32|.s32|.u64", "AS AS S:.u32 AS", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_send_reduce, "cp", ".reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min|.max.u32|.s32", "AS AS S:.u32 AS", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_send_reduce, "cp", ".reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc|.dec.u32", "AS AS S:.u32 AS", 90, 80, "cp.reduce.async.bulk"},
    {Op::bulk_prefetch, "cp", ".async.bulk.prefetch.L2.global{.L2::cache_hint}", "AG S:.u32 H", 90, 80, "cp.async.bulk.prefetch"},
    {Op::bulk_commit, "cp", ".async.bulk.commit_group", "", 90, 80, "cp.async.bulk.commit_group"},
    {Op::bulk_wait, "cp", ".async.bulk.wait_group", "I", 90, 80, "cp.async.bulk.wait_group"},
    {Op::bulk_wait, "cp", ".async.bulk.wait_group.read", "I", 90, 80, "Modifier '.read'"},
    {Op::tensor_load, "cp", ".async.bulk.tensor<dimensions>.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}", "AS AT AS U H", 90, 80, "cp.async.bulk.tensor"},
    {Op::tensor_load, "cp", ".async.bulk.tensor<im2coldimensions>.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}", "AS AT AS O U H", 90, 80, "cp.async.bulk.tensor"},
    {Op::tensor_load, "cp", ".async.bulk.tensor<dimensions>.shared::cta.global{.tile}.mbarrier::complete_tx::bytes{.L2::cache_hint}", "AS AT AS H", 90, 80, "cp.async.bulk.tensor", 86, "cp.async.bulk.tensor with destination state space as .shared::cta"},
    {Op::tensor_load, "cp", ".async.bulk.tensor<im2coldimensions>.shared::cta.global.im2col.mbarrier::complete_tx::bytes{.L2::cache_hint}", "AS AT AS O H", 90, 80, "cp.async.bulk.tensor", 86, "cp.async.bulk.tensor with destination state space as .shared::cta"},
    {Op::tensor_store, "cp", ".async.bulk.tensor<dimensions>.global.shared::cta{.tile}.bulk_group{.L2::cache_hint}", "AT AS H", 90, 80, "cp.async.bulk.tensor"},
    {Op::tensor_store, "cp", ".async.bulk.tensor<im2coldimensions>.global.shared::cta.im2col_no_offs.bulk_group{.L2::cache_hint}", "AT AS H", 90, 80, "cp.async.bulk.tensor"},
    {Op::tensor_reduce, "cp", ".reduce.async.bulk.tensor<dimensions>.global.shared::cta<tensorop>{.tile}.bulk_group{.L2::cache_hint}", "AT AS H", 90, 80, "cp.reduce.async.bulk.tensor"},
    {Op::tensor_reduce, "cp", ".reduce.async.bulk.tensor<im2coldimensions>.global.shared::cta<tensorop>.im2col_no_offs.bulk_group{.L2::cache_hint}", "AT AS H", 90, 80, "cp.reduce.async.bulk.tensor"},
    {Op::tensor_prefetch, "cp", ".async.bulk.prefetch.tensor<dimensions>.L2.global{.tile}{.L2::cache_hint}", "AT H", 90, 80, "cp.async.bulk.prefetch.tensor"},
    {Op::tensor_prefetch, "cp", ".async.bulk.prefetch.tensor<im2coldimensions>.L2.global.im2col{.L2::cache_hint}", "AT O H", 90, 80, "cp.async.bulk.prefetch.tensor"},
    {Op::tensormap_replace, "tensormap", ".replace.tile.global_address{.global|.shared::cta}.b1024.b64", "A S", 90, 83},
    {Op::tensormap_replace, "tensormap", ".replace.tile.rank{.global|.shared::cta}.b1024.b32", "A S", 90, 83},
    {Op::tensormap_replace, "tensormap", ".replace.tile.box_dim|.global_dim|.element_stride{.global|.shared::cta}.b1024.b32", "A I S", 90, 83},
    {Op::tensormap_replace, "tensormap", ".replace.tile.global_stride{.global|.shared::cta}.b1024.b64", "A I S", 90, 83},
    {Op::tensormap_replace, "tensormap", ".replace.tile.elemtype|.interleave_layout|.swizzle_mode|.fill_mode{.global|.shared::cta}.b1024.b32", "A I", 90, 83},
    {Op::tensormap_copy, "tensormap", ".cp_fenceproxy.global.shared::cta.tensormap::generic.release<scope>.sync.aligned", "AG AS I:128", 90, 83},

    // Stores that an mbarrier counts, memory of several GPUs, registers
    {Op::launch_cancel, "clusterlaunchcontrol", ".try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes.b128", "A A", 100, 86, "clusterlaunchcontrol.try_cancel.async"},
    {Op::launch_canceled, "clusterlaunchcontrol", ".query_cancel.is_canceled.pred.b128", "P S:1", 100, 86, ".is_canceled"},
    {Op::launch_first, "clusterlaunchcontrol", ".query_cancel.get_first_ctaid.v4.b32.b128", "d S:1", 100, 86, ".get_first_ctaid"},
    {Op::launch_first, "clusterlaunchcontrol", ".query_cancel.get_first_ctaid::x.b32.b128", "D S:1", 100, 86, ".get_first_ctaid::x"},
    {Op::launch_first, "clusterlaunchcontrol", ".query_cancel.get_first_ctaid::y.b32.b128", "D S:1", 100, 86, ".get_first_ctaid::y"},
    {Op::launch_first, "clusterlaunchcontrol", ".query_cancel.get_first_ctaid::z.b32.b128", "D S:1", 100, 86, ".get_first_ctaid::z"},
    {Op::async_store, "st", ".async{.weak}{<clusterspace>}.mbarrier::complete_tx::bytes{<vec>}.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64", "A s A", 90, 81, "st.async"},
    {Op::async_reduce, "red", ".async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.and|.or|.xor.b32", "A S A", 90, 81, "red.async"},
    {Op::async_reduce, "red", ".async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.add.u32|.s32|.u64|.s64", "A S A", 90, 81, "red.async"},
    {Op::async_reduce, "red", ".async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.min|.max.u32|.s32", "A S A", 90, 81, "red.async"},
    {Op::async_reduce, "red", ".async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.inc|.dec.u32", "A S A", 90, 81, "red.async"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add.u32|.s32|.u64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.min|.max.u32|.s32|.u64|.s64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.and|.or|.xor.b32|.b64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add|.min|.max.v2|.v4|.v8.f16|.bf16", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add{<vec>}.f32", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add.f64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add|.min|.max{<vec>}.f16x2|.bf16x2", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add.acc::f32.v2|.v4|.v8.f16|.bf16", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce{.weak}{.global}.add.acc::f32{<vec>}.f16x2|.bf16x2", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add.u32|.s32|.u64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.min|.max.u32|.s32|.u64|.s64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.and|.or|.xor.b32|.b64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add|.min|.max.v2|.v4|.v8.f16|.bf16", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add{<vec>}.f32", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add.f64", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add|.min|.max{<vec>}.f16x2|.bf16x2", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add.acc::f32.v2|.v4|.v8.f16|.bf16", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_load, "multimem", ".ld_reduce.relaxed|.acquire<scope>{.global}.add.acc::f32{<vec>}.f16x2|.bf16x2", "d A", 90, 81, "multimem.ld_reduce"},
    {Op::multimem_reduce, "multimem", ".red{.global}.add.u32|.s32|.u64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.min|.max.u32|.s32|.u64|.s64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.and|.or|.xor.b32|.b64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.add|.min|.max.v2|.v4|.v8.f16|.bf16", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.add{<vec>}.f32", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.add.f64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.min|.max<vec>.f16x2|.bf16x2", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red{.global}.add{<vec>}.f16x2|.bf16x2", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.add.u32|.s32|.u64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.min|.max.u32|.s32|.u64|.s64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.and|.or|.xor.b32|.b64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.add|.min|.max.v2|.v4|.v8.f16|.bf16", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.add{<vec>}.f32", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.add.f64", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.min|.max<vec>.f16x2|.bf16x2", "A s", 90, 81, "multimem.red"},
    {Op::multimem_reduce, "multimem", ".red<redsem><scope>{.global}.add{<vec>}.f16x2|.bf16x2", "A s", 90, 81, "multimem.red"},
    {Op::multimem_store, "multimem", ".st{.weak}{.global}.b32|.b64|.u32|.s32|.u64|.s64|.f64", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st{.weak}{.global}{<vec>}.f32", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st{.weak}{.global}.v2|.v4|.v8.f16|.bf16", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st{.weak}{.global}{<vec>}.f16x2|.bf16x2", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st<redsem><scope>{.global}.b32|.b64|.u32|.s32|.u64|.s64|.f64", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st<redsem><scope>{.global}{<vec>}.f32", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st<redsem><scope>{.global}.v2|.v4|.v8.f16|.bf16", "A s", 90, 81, "multimem.st"},
    {Op::multimem_store, "multimem", ".st<redsem><scope>{.global}{<vec>}.f16x2|.bf16x2", "A s", 90, 81, "multimem.st"},
    // Textures and surfaces, by the objects that CUDA makes
    {Op::tex, "tex", ".1d|.2d|.3d|.a1d|.a2d.v4.u32|.s32|.f32.s32|.f32", "d AX"},
    {Op::tex, "tex", ".cube|.acube.v4.u32|.s32|.f32.f32", "d AX"},
    {Op::tex, "tex", ".level.1d|.2d|.3d|.a1d|.a2d.v4.u32|.s32|.f32.s32|.f32", "d AX S:1"},
    {Op::tex, "tex", ".level.cube|.acube.v4.u32|.s32|.f32.f32", "d AX S:1"},
    {Op::tld4, "tld4", ".r|.g|.b|.a.2d.v4.u32|.s32|.f32.f32", "d AX"},
    {Op::suld, "suld", ".b<surface>{.ca|.cg|.cs|.cv}{<vec>}.b8|.b16|.b32<outside>", "d AX"},
    {Op::suld, "suld", ".b<surface>{.ca|.cg|.cs|.cv}{.v2}.b64<outside>", "d AX"},
    {Op::sust, "sust", ".b<surface>{<stcop>}{<vec>}.b8|.b16|.b32<outside>", "AX s"},
    {Op::sust, "sust", ".b<surface>{<stcop>}{.v2}.b64<outside>", "AX s"},
    {Op::texture_query, "txq", ".width|.height|.depth.b32", "D A"},
    {Op::texture_query, "txq", ".level.width|.height|.depth.b32", "D A S:.b32"},
    {Op::surface_query, "suq", ".width|.height|.depth.b32", "D A"},
    {Op::set_max_registers, "setmaxnreg", ".inc|.dec.sync.aligned.u32", "I", 90, 80},

    // Barriers in shared memory
    {Op::mbarrier_init, "mbarrier", ".init{<shared>}.b64", "A S:.u32", 80, 70, "mbarrier.init"},
    {Op::mbarrier_inval, "mbarrier", ".inval{<shared>}.b64", "A", 80, 70, "mbarrier.inval"},
    {Op::mbarrier_expect, "mbarrier", ".expect_tx{<clusterspace>}.b64", "A S:.u32", 90, 80, "mbarrier.expect_tx"},
    {Op::mbarrier_expect, "mbarrier", ".expect_tx.relaxed<ctascope>{<clusterspace>}.b64", "A S:.u32", 90, 80, "mbarrier.expect_tx"},
    {Op::mbarrier_complete, "mbarrier", ".complete_tx{<clusterspace>}.b64", "A S:.u32", 90, 80, "mbarrier.complete_tx"},
    {Op::mbarrier_complete, "mbarrier", ".complete_tx.relaxed<ctascope>{<clusterspace>}.b64", "A S:.u32", 90, 80, "mbarrier.complete_tx"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive{<shared>}.b64", "D A {S:.u32}", 80, 70, "mbarrier.arrive"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.release|.relaxed<ctascope>{<shared>}.b64", "D A {S:.u32}", 80, 80, "mbarrier.arrive"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.shared::cluster.b64", "X A {S:.u32}", 90, 80, ".shared::cluster"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.release|.relaxed<ctascope>.shared::cluster.b64", "X A {S:.u32}", 90, 80, ".shared::cluster"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.noComplete{<shared>}.b64", "D A S:.u32", 80, 70, "mbarrier.arrive"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.noComplete.release.cta{<shared>}.b64", "D A S:.u32", 80, 80, "mbarrier.arrive"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.expect_tx{<shared>}.b64", "D A S:.u32", 90, 80, "mbarrier.arrive.expect_tx"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.expect_tx.release|.relaxed<ctascope>{<shared>}.b64", "D A S:.u32", 90, 80, "mbarrier.arrive.expect_tx"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.expect_tx.shared::cluster.b64", "X A S:.u32", 90, 80, "mbarrier.arrive.expect_tx"},
    {Op::mbarrier_arrive, "mbarrier", ".arrive.expect_tx.release|.relaxed<ctascope>.shared::cluster.b64", "X A S:.u32", 90, 80, "mbarrier.arrive.expect_tx"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop{<shared>}.b64", "D A {S:.u32}", 80, 70, "mbarrier.arrive_drop"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.release|.relaxed<ctascope>{<shared>}.b64", "D A {S:.u32}", 80, 80, "mbarrier.arrive_drop"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.shared::cluster.b64", "X A {S:.u32}", 90, 80, ".shared::cluster"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.release|.relaxed<ctascope>.shared::cluster.b64", "X A {S:.u32}", 90, 80, ".shared::cluster"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.noComplete{<shared>}.b64", "D A S:.u32", 80, 70, "mbarrier.arrive_drop"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.noComplete.release.cta{<shared>}.b64", "D A S:.u32", 80, 80, "mbarrier.arrive_drop"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.expect_tx{<shared>}.b64", "D A S:.u32", 90, 80, "mbarrier.arrive_drop.expect_tx"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.expect_tx.release|.relaxed<ctascope>{<shared>}.b64", "D A S:.u32", 90, 80, "mbarrier.arrive_drop.expect_tx"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.expect_tx.shared::cluster.b64", "X A S:.u32", 90, 80, "mbarrier.arrive_drop.expect_tx"},
    {Op::mbarrier_drop, "mbarrier", ".arrive_drop.expect_tx.release|.relaxed<ctascope>.shared::cluster.b64", "X A S:.u32", 90, 80, "mbarrier.arrive_drop.expect_tx"},
    {Op::mbarrier_wait, "mbarrier", ".test_wait{<shared>}.b64", "P A S:.b64", 80, 70, "mbarrier.test_wait"},
    {Op::mbarrier_wait, "mbarrier", ".test_wait.acquire|.relaxed<ctascope>{<shared>}.b64", "P A S:.b64", 80, 80, "mbarrier.test_wait"},
    {Op::mbarrier_wait, "mbarrier", ".test_wait.parity{<shared>}.b64", "P A S:.u32", 80, 71, "mbarrier.test_wait.parity"},
    {Op::mbarrier_wait, "mbarrier", ".test_wait.parity.acquire|.relaxed<ctascope>{<shared>}.b64", "P A S:.u32", 80, 80, "mbarrier.test_wait.parity"},
    {Op::mbarrier_wait, "mbarrier", ".try_wait{<shared>}.b64", "P A S:.b64 {S:.u32}", 90, 78, "mbarrier.try_wait"},
    {Op::mbarrier_wait, "mbarrier", ".try_wait.acquire|.relaxed<ctascope>{<shared>}.b64", "P A S:.b64 {S:.u32}", 90, 80, "mbarrier.try_wait"},
    {Op::mbarrier_wait, "mbarrier", ".try_wait.parity{<shared>}.b64", "P A S:.u32 {S:.u32}", 90, 78, "mbarrier.try_wait.parity"},
    {Op::mbarrier_wait, "mbarrier", ".try_wait.parity.acquire|.relaxed<ctascope>{<shared>}.b64", "P A S:.u32 {S:.u32}", 90, 80, "mbarrier.try_wait.parity"},
    {Op::mbarrier_pending, "mbarrier", ".pending_count.b64", "D:.u32 S:.b64", 80, 70, "mbarrier.pending_count"},

    // Matrices. The second rows have the order of modifiers that older compilers wrote.
    {Op::ldmatrix, "ldmatrix", ".sync.aligned.m8n8.x1|.x2|.x4{.trans}{<shared>}.b16", "N A", 75, 65, "ldmatrix"},
    {Op::ldmatrix, "ldmatrix", ".sync.aligned.x1|.x2|.x4{.trans}.m8n8{<shared>}.b16", "N A", 75, 65, "ldmatrix"},
    {Op::stmatrix, "stmatrix", ".sync.aligned.m8n8.x1|.x2|.x4{.trans}{<shared>}.b16", "A N", 90, 78, "stmatrix"},
    {Op::stmatrix, "stmatrix", ".sync.aligned.x1|.x2|.x4{.trans}.m8n8{<shared>}.b16", "A N", 90, 78, "stmatrix"},
    {Op::movmatrix, "movmatrix", ".sync.aligned.m8n8.trans.b16", "D:.b32 S:.b32", 75, 78, "movmatrix"},
    {Op::mma, "mma", ".sync.aligned<shape>.row|.col.row|.col{.satfinite}<mmatype><mmatype><mmatype><mmatype>", "Fd Fa Fb Fc"},
    {Op::mma, "mma", ".sync.aligned<shape>.row.col.s32.b1.b1.s32.xor|.and.popc", "Fd Fa Fb Fc"},
    {Op::mma, "mma", ".sp|.sp::ordered_metadata.sync.aligned<shape>.row|.col.row|.col{.satfinite}<mmatype><mmatype><mmatype><mmatype>", "Fd Fa Fb Fc S:.b32 I"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.f16", "W A {S:.u32}", 70, 60, "wmma"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.s8|.u8", "W A {S:.u32}", 72, 63, "WMMA with integer types"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.bf16", "W A {S:.u32}", 80, 70, ".bf16"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row|.col.m16n16k8{<wmmaspace>}.tf32", "W A {S:.u32}", 80, 70, ".tf32"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row|.col.m8n8k4{<wmmaspace>}.f64", "W A {S:.u32}", 80, 70, "WMMA with fp64 types"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row.m8n8k32{<wmmaspace>}.s4|.u4", "W A {S:.u32}", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_load, "wmma", ".load.a.sync.aligned.row.m8n8k128{<wmmaspace>}.b1", "W A {S:.u32}", 75, 63, "WMMA with bit types"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.f16", "W A {S:.u32}", 70, 60, "wmma"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.s8|.u8", "W A {S:.u32}", 72, 63, "WMMA with integer types"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.bf16", "W A {S:.u32}", 80, 70, ".bf16"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.row|.col.m16n16k8{<wmmaspace>}.tf32", "W A {S:.u32}", 80, 70, ".tf32"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.row|.col.m8n8k4{<wmmaspace>}.f64", "W A {S:.u32}", 80, 70, "WMMA with fp64 types"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.col.m8n8k32{<wmmaspace>}.s4|.u4", "W A {S:.u32}", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_load, "wmma", ".load.b.sync.aligned.col.m8n8k128{<wmmaspace>}.b1", "W A {S:.u32}", 75, 63, "WMMA with bit types"},
    {Op::wmma_load, "wmma", ".load.c.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.f16|.f32", "W A {S:.u32}", 70, 60, "wmma"},
    {Op::wmma_load, "wmma", ".load.c.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.s32", "W A {S:.u32}", 72, 63, "WMMA with integer types"},
    {Op::wmma_load, "wmma", ".load.c.sync.aligned.row|.col.m16n16k8{<wmmaspace>}.f32", "W A {S:.u32}", 80, 70, "Modifier '.m16n16k8'"},
    {Op::wmma_load, "wmma", ".load.c.sync.aligned.row|.col.m8n8k4{<wmmaspace>}.f64", "W A {S:.u32}", 80, 70, "WMMA with fp64 types"},
    {Op::wmma_load, "wmma", ".load.c.sync.aligned.row|.col.m8n8k32|.m8n8k128{<wmmaspace>}.s32", "W A {S:.u32}", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_store, "wmma", ".store.d.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.f16|.f32", "A W {S:.u32}", 70, 60, "wmma"},
    {Op::wmma_store, "wmma", ".store.d.sync.aligned.row|.col<wmmashape>{<wmmaspace>}.s32", "A W {S:.u32}", 72, 63, "WMMA with integer types"},
    {Op::wmma_store, "wmma", ".store.d.sync.aligned.row|.col.m16n16k8{<wmmaspace>}.f32", "A W {S:.u32}", 80, 70, "Modifier '.m16n16k8'"},
    {Op::wmma_store, "wmma", ".store.d.sync.aligned.row|.col.m8n8k4{<wmmaspace>}.f64", "A W {S:.u32}", 80, 70, "WMMA with fp64 types"},
    {Op::wmma_store, "wmma", ".store.d.sync.aligned.row|.col.m8n8k32|.m8n8k128{<wmmaspace>}.s32", "A W {S:.u32}", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col<wmmashape>.f16|.f32.f16|.f32", "Wd Wa Wb Wc", 70, 60, "wmma"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col<wmmashape>.s32.s8.s8.s32{.satfinite}", "Wd Wa Wb Wc", 72, 63, "WMMA with integer types"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col<wmmashape>.s32.u8.u8.s32{.satfinite}", "Wd Wa Wb Wc", 72, 63, "WMMA with integer types"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col<wmmashape>.f32.bf16.bf16.f32", "Wd Wa Wb Wc", 80, 70, ".bf16"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col.m16n16k8.f32.tf32.tf32.f32", "Wd Wa Wb Wc", 80, 70, ".tf32"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row|.col.row|.col.m8n8k4{<rnd>}.f64.f64.f64.f64", "Wd Wa Wb Wc", 80, 70, "WMMA with fp64 types"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32{.satfinite}", "Wd Wa Wb Wc", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_mma, "wmma", ".mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32{.satfinite}", "Wd Wa Wb Wc", 75, 63, "WMMA with sub-byte integer types"},
    {Op::wmma_mma, "wmma", ".mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "Wd Wa Wb Wc", 75, 63, "WMMA with bit types"},
    {Op::wmma_mma, "wmma", ".mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "Wd Wa Wb Wc", 80, 71, "Modifier '.and' on 'wmma.mma'"},
    {Op::wgmma_mma, "wgmma", ".mma_async.sync{.aligned}<wgmmashape>{.satfinite}<wgmmatype><wgmmatype><wgmmatype>", "Fd Fa Fb Q {E} {E} {E} {E}", 90, 80},
    {Op::wgmma_mma, "wgmma", ".mma_async.sync{.aligned}<wgmmashape><wgmmatype><wgmmatype><wgmmatype>.and|.or|.xor.popc", "Fd Fa Fb Q", 90, 80},
    {Op::wgmma_mma, "wgmma", ".mma_async.sp.sync{.aligned}<wgmmashape>{.satfinite}<wgmmatype><wgmmatype><wgmmatype>", "Fd Fa Fb S:.b32 I Q {E} {E} {E} {E}", 90, 82},
    {Op::wgmma_fence, "wgmma", ".fence.sync{.aligned}", "", 90, 80},
    {Op::wgmma_commit, "wgmma", ".commit_group.sync{.aligned}", "", 90, 80},
    {Op::wgmma_wait, "wgmma", ".wait_group.sync{.aligned}", "I", 90, 80},
    {Op::mma, "mma", ".sync.aligned<shape>.row|.col.row|.col<kind>{.satfinite}<mmatype><mmatype><mmatype><mmatype>", "Fd Fa Fb Fc"},
    {Op::mma, "mma", ".sp|.sp::ordered_metadata.sync.aligned<shape>.row|.col.row|.col<kind>{.satfinite}<mmatype><mmatype><mmatype><mmatype>", "Fd Fa Fb Fc S:.b32 I"},
    {Op::mma, "mma", ".sync.aligned<shape>.row|.col.row|.col<kind>.block_scale{<scalevec>}{.satfinite}<mmatype><mmatype><mmatype><mmatype>.ue8m0|.ue4m3", "Fd Fa Fb Fc G K G K"},
    {Op::mma, "mma", ".sp|.sp::ordered_metadata.sync.aligned<shape>.row|.col.row|.col<kind>.block_scale{<scalevec>}{.satfinite}<mmatype><mmatype><mmatype><mmatype>.ue8m0|.ue4m3", "Fd Fa Fb Fc S:.b32 I G K G K"},
});
// clang-format on

constexpr auto other_opcodes = std::to_array<std::string_view>({
    "istypep",
    "sured",
    "tcgen05",
});

// clang-format off
// Modifiers of PTX 9.0 that the opcodes above have beside those in their rows.
constexpr auto later_modifiers = std::to_array<OpcodeModifier>({
    {"clusterlaunchcontrol", ".multicast::cluster::all"},
    {"cp", ".cta_group::1"}, {"cp", ".cta_group::2"}, {"cp", ".tile::gather4"}, {"cp", ".tile::scatter4"}, {"cp", ".im2col::w"}, {"cp", ".im2col::w::128"},
    {"cvt", ".scaled"}, {"cvt", ".e4m3x4"}, {"cvt", ".e5m2x4"}, {"cvt", ".e2m1x4"}, {"cvt", ".e2m3x4"}, {"cvt", ".e3m2x4"},
    {"ldmatrix", ".m16n16"}, {"ldmatrix", ".m8n16"}, {"ldmatrix", ".b8"}, {"ldmatrix", ".b8x16"}, {"ldmatrix", ".b4x16_p64"}, {"ldmatrix", ".b6x16_p32"},
    {"mma", ".rn"}, {"mma", ".rz"}, {"mma", ".rm"}, {"mma", ".rp"},
    {"multimem", ".e4m3"}, {"multimem", ".e5m2"}, {"multimem", ".e4m3x2"}, {"multimem", ".e5m2x2"}, {"multimem", ".e4m3x4"}, {"multimem", ".e5m2x4"}, {"multimem", ".acc::f16"},
    {"shfl", ".up"}, {"shfl", ".down"}, {"shfl", ".bfly"}, {"shfl", ".idx"},
    {"st", ".bulk"},
    {"stmatrix", ".m16n8"}, {"stmatrix", ".b8"},
    {"tensormap", ".swizzle_atomicity"},
    {"vote", ".all"}, {"vote", ".any"}, {"vote", ".uni"}, {"vote", ".ballot"},
});
// clang-format on

// Room for what the rows hold.
struct Total {
    size_t groups = 0;
    size_t alternatives = 0;
    size_t slots = 0;
};

constexpr Total total = [] {
    Total out;
    for (const NamedSet& set : named_sets) out.alternatives += set.count;
    for (const FormRow& row : form_rows) {
        out.groups += row.group_count;
        out.slots += row.slot_count;
        for (const RowGroup& group : row.groups) out.alternatives += group.count;
    }
    return out;
}();

// Of the named sets in their order, then of the rows' own groups in theirs.
constexpr auto all_alternatives = [] {
    std::array<std::string_view, total.alternatives> out;
    size_t n = 0;
    const auto add = [&](std::string_view rest) {
        while (!rest.empty()) out[n++] = form_text::take_alternative(rest);
    };
    for (const NamedSet& set : named_sets) add(set.alternatives);
    for (const FormRow& row : form_rows)
        for (const RowGroup& group : row.groups) add(group.alternatives);
    return out;
}();

using Alternatives = std::span<const std::string_view>;

constexpr auto set_alternatives = [] {
    std::array<Alternatives, named_sets.size()> out;
    size_t first = 0;
    for (size_t i = 0; i < out.size(); ++i) {
        out[i] = {&all_alternatives[first], named_sets[i].count};
        first += named_sets[i].count;
    }
    return out;
}();

constexpr auto all_groups = [] {
    std::array<ModifierGroup, total.groups> out;
    size_t n = 0;
    size_t first = 0;
    for (const NamedSet& set : named_sets) first += set.count;
    for (const FormRow& row : form_rows)
        for (size_t i = 0; i < row.group_count; ++i) {
            const RowGroup& group = row.groups[i];
            const bool own = group.count != 0;
            out[n++] = {own ? Alternatives(&all_alternatives[first], group.count)
                            : set_alternatives[group.set],
                        own ? std::string_view{} : named_sets[group.set].name, group.optional,
                        group.of_name};
            first += group.count;
        }
    return out;
}();

constexpr auto all_slots = [] {
    std::array<OperandSlot, total.slots> out;
    size_t n = 0;
    for (const FormRow& row : form_rows)
        for (size_t i = 0; i < row.slot_count; ++i) out[n++] = row.slots[i];
    return out;
}();

constexpr auto all_forms = [] {
    std::array<Form, form_rows.size()> out{};
    size_t group = 0;
    size_t slot = 0;
    for (size_t i = 0; i < out.size(); ++i) {
        const FormRow& row = form_rows[i];
        out[i] = row.form;
        out[i].groups = {all_groups.data() + group, row.group_count};
        out[i].slots = {all_slots.data() + slot, row.slot_count};
        group += row.group_count;
        slot += row.slot_count;
    }
    return out;
}();

// The rows sorted by opcode; those of one in their order.
constexpr auto sorted_forms = [] {
    std::array<const Form*, all_forms.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = &all_forms[i];
    std::ranges::sort(out, [](const Form* a, const Form* b) {
        return a->opcode != b->opcode ? a->opcode < b->opcode : a < b;
    });
    return out;
}();

}  // namespace

std::span<const Form> forms() { return all_forms; }

std::span<const Form* const> forms_of(std::string_view opcode) {
    const auto name = [](const Form* f) { return f->opcode; };
    return {std::ranges::lower_bound(sorted_forms, opcode, {}, name),
            std::ranges::upper_bound(sorted_forms, opcode, {}, name)};
}

std::span<const std::string_view> set_named(std::string_view name) {
    const auto found = std::ranges::find(named_sets, name, &NamedSet::name);
    if (found == named_sets.end()) return {};
    return set_alternatives[static_cast<size_t>(found - named_sets.begin())];
}

std::span<const std::string_view> opcodes_not_executed() { return other_opcodes; }

bool modifier_not_executed(std::string_view opcode, std::string_view modifier) {
    return std::ranges::find(later_modifiers, OpcodeModifier{opcode, modifier}) !=
           later_modifiers.end();
}

}  // namespace lockwarp::isa
