#include "emu/isa/modifiers.hpp"

#include <algorithm>
#include <charconv>

namespace lockwarp::isa {

namespace {

enum class Slot : uint8_t {
    none,
    rounding,
    integral,
    ftz,
    sat,
    satfinite,
    relu,
    nan,
    xorsign,
    uniform,
    to,
    trans,
    left,
    right,
    wrap,
    clamp,
    shiftamt,
    cc,
    aligned,
    arrive,
    warp,
    no_complete,
    expect,
    parity,
    no_increment,
    sparse,
    kind,
    block_scale,
    scales,
    priority,
    part,
    space,
    vec,
    compare,
    combine,
    shuffle,
    vote,
    permute,
    reduce,
    test,
    matrices,
    order,
    matrix,
};

struct ModifierRow {
    std::string_view text;
    Slot slot;
    uint8_t value = 0;
};

template <class E>
constexpr uint8_t u8(E e) {
    return static_cast<uint8_t>(e);
}

// A name that means different things in different instructions (".xor" of setp; ".wrap") has one
// row: the instruction looks at the slot it knows. ".hi" and ".lo" are both a part and a
// comparison.
constexpr auto modifier_rows = std::to_array<ModifierRow>({
    {".rn", Slot::rounding, u8(Rounding::rn)},
    {".rz", Slot::rounding, u8(Rounding::rz)},
    {".rm", Slot::rounding, u8(Rounding::rm)},
    {".rp", Slot::rounding, u8(Rounding::rp)},
    {".rna", Slot::rounding, u8(Rounding::rna)},
    {".rni", Slot::integral, u8(Rounding::rn)},
    {".rzi", Slot::integral, u8(Rounding::rz)},
    {".rmi", Slot::integral, u8(Rounding::rm)},
    {".rpi", Slot::integral, u8(Rounding::rp)},
    {".ftz", Slot::ftz},
    {".sat", Slot::sat},
    {".satfinite", Slot::satfinite},
    {".relu", Slot::relu},
    {".NaN", Slot::nan},
    {".xorsign", Slot::xorsign},
    {".abs", Slot::none},
    {".approx", Slot::none},
    {".full", Slot::none},
    {".uni", Slot::uniform},
    {".to", Slot::to},
    {".trans", Slot::trans},
    {".l", Slot::left},
    {".r", Slot::right},
    {".wrap", Slot::wrap},
    {".clamp", Slot::clamp},
    {".shiftamt", Slot::shiftamt},
    {".cc", Slot::cc},
    {".aligned", Slot::aligned},
    {".arrive", Slot::arrive},
    {".warp", Slot::warp},
    {".noComplete", Slot::no_complete},
    {".expect_tx", Slot::expect},
    {".parity", Slot::parity},
    {".noinc", Slot::no_increment},
    {".sp", Slot::sparse},
    {".sp::ordered_metadata", Slot::sparse},
    {".kind::f8f6f4", Slot::kind, u8(MmaKind::f8f6f4)},
    {".kind::mxf8f6f4", Slot::kind, u8(MmaKind::mxf8f6f4)},
    {".kind::mxf4", Slot::kind, u8(MmaKind::mxf4)},
    {".kind::mxf4nvf4", Slot::kind, u8(MmaKind::mxf4nvf4)},
    {".block_scale", Slot::block_scale},
    {".scale_vec::1X", Slot::scales, 1},
    {".scale_vec::2X", Slot::scales, 2},
    {".scale_vec::4X", Slot::scales, 4},
    {".wide", Slot::part, u8(Part::wide)},
    {".lo", Slot::part, u8(Part::lo)},
    {".hi", Slot::part, u8(Part::hi)},
    {".const", Slot::space, u8(ptx::Space::const_)},
    {".global", Slot::space, u8(ptx::Space::global)},
    {".local", Slot::space, u8(ptx::Space::local)},
    {".param", Slot::space, u8(ptx::Space::param)},
    {".param::entry", Slot::space, u8(ptx::Space::param)},
    {".param::func", Slot::space, u8(ptx::Space::param)},
    {".shared", Slot::space, u8(ptx::Space::shared)},
    {".shared::cta", Slot::space, u8(ptx::Space::shared)},
    // A cluster is one CTA.
    {".shared::cluster", Slot::space, u8(ptx::Space::shared)},
    {".v2", Slot::vec, 2},
    {".v4", Slot::vec, 4},
    {".v8", Slot::vec, 8},
    {".eq", Slot::compare, u8(Compare::eq)},
    {".ne", Slot::compare, u8(Compare::ne)},
    {".lt", Slot::compare, u8(Compare::lt)},
    {".le", Slot::compare, u8(Compare::le)},
    {".gt", Slot::compare, u8(Compare::gt)},
    {".ge", Slot::compare, u8(Compare::ge)},
    {".ls", Slot::compare, u8(Compare::ls)},
    {".hs", Slot::compare, u8(Compare::hs)},
    {".equ", Slot::compare, u8(Compare::equ)},
    {".neu", Slot::compare, u8(Compare::neu)},
    {".ltu", Slot::compare, u8(Compare::ltu)},
    {".leu", Slot::compare, u8(Compare::leu)},
    {".gtu", Slot::compare, u8(Compare::gtu)},
    {".geu", Slot::compare, u8(Compare::geu)},
    {".num", Slot::compare, u8(Compare::num)},
    {".nan", Slot::compare, u8(Compare::nan)},
    {".and", Slot::combine, u8(Combine::and_)},
    {".or", Slot::combine, u8(Combine::or_)},
    {".xor", Slot::combine, u8(Combine::xor_)},
    {".up", Slot::shuffle, u8(Shuffle::up)},
    {".down", Slot::shuffle, u8(Shuffle::down)},
    {".bfly", Slot::shuffle, u8(Shuffle::bfly)},
    {".idx", Slot::shuffle, u8(Shuffle::idx)},
    {".all", Slot::vote, u8(Vote::all)},
    {".any", Slot::vote, u8(Vote::any)},
    {".ballot", Slot::vote, u8(Vote::ballot)},
    {".f4e", Slot::permute, u8(Permute::f4e)},
    {".b4e", Slot::permute, u8(Permute::b4e)},
    {".rc8", Slot::permute, u8(Permute::rc8)},
    {".ecl", Slot::permute, u8(Permute::ecl)},
    {".ecr", Slot::permute, u8(Permute::ecr)},
    {".rc16", Slot::permute, u8(Permute::rc16)},
    {".add", Slot::reduce, u8(Reduce::add)},
    {".min", Slot::reduce, u8(Reduce::min)},
    {".max", Slot::reduce, u8(Reduce::max)},
    {".inc", Slot::reduce, u8(Reduce::inc)},
    {".dec", Slot::reduce, u8(Reduce::dec)},
    {".exch", Slot::reduce, u8(Reduce::exch)},
    {".cas", Slot::reduce, u8(Reduce::cas)},
    {".noftz", Slot::none},
    {".pack", Slot::none},
    {".finite", Slot::test, u8(Test::finite)},
    {".infinite", Slot::test, u8(Test::infinite)},
    {".number", Slot::test, u8(Test::number)},
    {".notanumber", Slot::test, u8(Test::notanumber)},
    {".normal", Slot::test, u8(Test::normal)},
    {".subnormal", Slot::test, u8(Test::subnormal)},
    {".x1", Slot::matrices, 1},
    {".x2", Slot::matrices, 2},
    {".x4", Slot::matrices, 4},
    {".row", Slot::order, u8(Order::row)},
    {".col", Slot::order, u8(Order::col)},
    {".load", Slot::none},
    {".store", Slot::none},
    {".mma", Slot::none},
    {".a", Slot::matrix, 'a'},
    {".b", Slot::matrix, 'b'},
    {".c", Slot::matrix, 'c'},
    {".d", Slot::matrix, 'd'},
    {".sync", Slot::none},
    {".red", Slot::none},
    {".popc", Slot::none},
    {".cta", Slot::none},
    {".cluster", Slot::none},
    {".gpu", Slot::none},
    {".sys", Slot::none},
    {".gl", Slot::none},
    {".weak", Slot::none},
    {".volatile", Slot::none},
    {".relaxed", Slot::none},
    {".acquire", Slot::none},
    {".release", Slot::none},
    {".acq_rel", Slot::none},
    {".sc", Slot::none},
    {".mmio", Slot::none},
    {".ca", Slot::none},
    {".cg", Slot::none},
    {".cs", Slot::none},
    {".lu", Slot::none},
    {".cv", Slot::none},
    {".wb", Slot::none},
    {".wt", Slot::none},
    {".nc", Slot::none},
    {".async", Slot::none},
    {".commit_group", Slot::none},
    {".wait_group", Slot::none},
    {".wait_all", Slot::none},
    {".mbarrier", Slot::none},
    {".init", Slot::none},
    {".inval", Slot::none},
    {".complete_tx", Slot::none},
    {".arrive_drop", Slot::none},
    {".test_wait", Slot::none},
    {".try_wait", Slot::none},
    {".pending_count", Slot::none},
    {".wait", Slot::none},
    {".launch_dependents", Slot::none},
    {".mask", Slot::none},
    {".fractional", Slot::none},
    {".range", Slot::none},
    {".cvt", Slot::none},
    {".tensormap", Slot::none},
    {".proxy", Slot::none},
    {".alias", Slot::none},
    {".tensormap::generic", Slot::none},
    {".async::generic", Slot::none},
    {".mbarrier_init", Slot::none},
    {".sync_restrict::shared::cta", Slot::none},
    {".sync_restrict::shared::cluster", Slot::none},
    {".L1", Slot::none},
    {".L2", Slot::none},
    {".L1::evict_normal", Slot::none},
    {".L1::evict_unchanged", Slot::none},
    {".L1::evict_first", Slot::none},
    {".L1::evict_last", Slot::none},
    {".L1::no_allocate", Slot::none},
    {".L2::cache_hint", Slot::none},
    {".L2::evict_normal", Slot::priority, u8(Priority::normal)},
    {".L2::evict_last", Slot::priority, u8(Priority::last)},
    {".L2::evict_first", Slot::priority, u8(Priority::first)},
    {".L2::evict_unchanged", Slot::priority, u8(Priority::unchanged)},
    {".L2::64B", Slot::none},
    {".L2::128B", Slot::none},
    {".L2::256B", Slot::none},
});

// ".m16n8k16" and ".m8n8" (the matrices that ldmatrix moves).
bool apply_shape(std::string_view text, Modifiers& out) {
    if (!text.starts_with(".m")) return false;
    unsigned size[3] = {0, 0, 0};
    const char* at = text.data() + 1;
    const char* const end = text.data() + text.size();
    constexpr std::string_view letters = "mnk";
    for (size_t i = 0; i < letters.size() && at != end; ++i) {
        if (*at != letters[i]) return false;
        const auto [next, error] = std::from_chars(at + 1, end, size[i]);
        if (error != std::errc() || size[i] == 0 || size[i] > 512) return false;
        at = next;
    }
    if (at != end || size[1] == 0 || size[0] > 64 || size[1] > 255) return false;
    out.m = static_cast<uint8_t>(size[0]);
    out.n = static_cast<uint8_t>(size[1]);
    out.k = static_cast<uint16_t>(size[2]);
    return true;
}

}  // namespace

bool apply_modifier(std::string_view text, Modifiers& out) {
    if (const Type t = type_named(text); t == Type::ue8m0 || t == Type::ue4m3) {
        out.scale = t;
        return true;
    } else if (t != Type::none) {
        if (out.types == out.type.size()) return false;
        out.type[out.types++] = t;
        return true;
    }
    const auto* const found = std::ranges::find(modifier_rows, text, &ModifierRow::text);
    if (found == modifier_rows.end()) return apply_shape(text, out);
    const uint8_t value = found->value;
    switch (found->slot) {
        case Slot::none:
            break;
        case Slot::rounding:
            out.rounding = static_cast<Rounding>(value);
            out.rounding_given = true;
            break;
        case Slot::integral:
            out.rounding = static_cast<Rounding>(value);
            out.rounding_given = true;
            out.integral = true;
            break;
        case Slot::ftz:
            out.ftz = true;
            break;
        case Slot::sat:
            out.sat = true;
            break;
        case Slot::satfinite:
            out.satfinite = true;
            break;
        case Slot::relu:
            out.relu = true;
            break;
        case Slot::nan:
            out.nan = true;
            break;
        case Slot::xorsign:
            out.xorsign = true;
            break;
        case Slot::uniform:
            out.uniform = true;
            out.vote = Vote::uni;
            break;
        case Slot::to:
            out.to = true;
            break;
        case Slot::trans:
            out.trans = true;
            break;
        case Slot::left:
            out.left = true;
            break;
        case Slot::right:
            out.left = false;
            break;
        case Slot::wrap:
            out.wrap = true;
            break;
        case Slot::clamp:
            out.wrap = false;
            break;
        case Slot::shiftamt:
            out.shiftamt = true;
            break;
        case Slot::cc:
            out.cc = true;
            break;
        case Slot::aligned:
            out.aligned = true;
            break;
        case Slot::arrive:
            out.arrive = true;
            break;
        case Slot::warp:
            out.warp = true;
            break;
        case Slot::no_complete:
            out.no_complete = true;
            break;
        case Slot::expect:
            out.expect = true;
            break;
        case Slot::parity:
            out.parity = true;
            break;
        case Slot::no_increment:
            out.no_increment = true;
            break;
        case Slot::sparse:
            out.sparse = true;
            break;
        case Slot::kind:
            out.kind = static_cast<MmaKind>(value);
            break;
        case Slot::block_scale:
            out.block_scale = true;
            break;
        case Slot::scales:
            out.scales = value;
            break;
        case Slot::priority:
            if (out.priorities < out.priority.size())
                out.priority[out.priorities++] = static_cast<Priority>(value);
            break;
        case Slot::part:
            out.part = static_cast<Part>(value);
            if (out.part == Part::lo) out.compare = Compare::lo;
            if (out.part == Part::hi) out.compare = Compare::hi;
            break;
        case Slot::space:
            out.space = static_cast<ptx::Space>(value);
            break;
        case Slot::vec:
            out.vec = value;
            break;
        case Slot::compare:
            out.compare = static_cast<Compare>(value);
            break;
        case Slot::combine:
            out.combine = static_cast<Combine>(value);
            break;
        case Slot::shuffle:
            out.shuffle = static_cast<Shuffle>(value);
            break;
        case Slot::vote:
            out.vote = static_cast<Vote>(value);
            break;
        case Slot::permute:
            out.permute = static_cast<Permute>(value);
            break;
        case Slot::reduce:
            out.reduce = static_cast<Reduce>(value);
            break;
        case Slot::test:
            out.test = static_cast<Test>(value);
            break;
        case Slot::matrices:
            out.matrices = value;
            break;
        case Slot::matrix:
            out.matrix = static_cast<char>(value);
            break;
        case Slot::order:
            if (out.orders < out.order.size()) out.order[out.orders++] = static_cast<Order>(value);
            break;
    }
    return true;
}

MmaQuery query_of(const Modifiers& m) {
    uint8_t scales = m.scales;
    if (m.block_scale && scales == 0)
        scales = m.kind == MmaKind::mxf8f6f4 ? 1 : m.kind == MmaKind::mxf4 ? 2 : 0;
    return {m.m, m.n, m.k, m.type, m.order, m.combine, m.sparse, m.kind, m.scale, scales};
}

}  // namespace lockwarp::isa
