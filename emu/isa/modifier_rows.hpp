// SPDX-License-Identifier: Apache-2.0
// What each modifier sets, as rows; which of them an instruction may have its form says.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <variant>

#include "emu/isa/modifiers.hpp"

namespace lockwarp::isa {

// A list in Modifiers that modifiers add to, in the order written.
template <class T, size_t size>
struct ListMember {
    std::array<T, size> Modifiers::*items;
    uint8_t Modifiers::*count;
};
using TypeList = ListMember<Type, 4>;
using PriorityList = ListMember<Priority, 2>;
using OrderList = ListMember<Order, 2>;

// A member of Modifiers that one modifier sets or adds to. monostate: none.
using Member =
    std::variant<std::monostate, bool Modifiers::*, uint8_t Modifiers::*, char Modifiers::*,
                 Rounding Modifiers::*, Part Modifiers::*, ptx::Space Modifiers::*,
                 Compare Modifiers::*, Combine Modifiers::*, Shuffle Modifiers::*,
                 Vote Modifiers::*, Permute Modifiers::*, Reduce Modifiers::*, Test Modifiers::*,
                 MmaKind Modifiers::*, TensormapField Modifiers::*, Type Modifiers::*,
                 MemoryOrder Modifiers::*, MemoryScope Modifiers::*, Outside Modifiers::*, TypeList,
                 PriorityList, OrderList>;

struct Setting {
    Member member;
    uint8_t value = 0;  // of an enumeration its number
};

template <class T>
constexpr Setting set(T Modifiers::*member, std::type_identity_t<T> value) {
    return {member, static_cast<uint8_t>(value)};
}
constexpr Setting on(bool Modifiers::*member) { return {member, 1}; }
template <class T, size_t size>
constexpr Setting append(ListMember<T, size> list, T value) {
    return {list, static_cast<uint8_t>(value)};
}

// A modifier that sets nothing changes nothing that an exact, sequentially consistent execution
// shows (cache operators), or the row of the form says it all.
struct ModifierRow {
    std::string_view text;
    std::array<Setting, 3> settings;

    constexpr ModifierRow(std::string_view name, Setting a = {}, Setting b = {}, Setting c = {})
        : text(name), settings{a, b, c} {}
};

namespace modifier_table {

using M = Modifiers;

inline constexpr TypeList types{&M::type, &M::types};
inline constexpr PriorityList priorities{&M::priority, &M::priorities};
inline constexpr OrderList orders{&M::order, &M::orders};
inline constexpr Setting given = on(&M::rounding_given);

// Types stand in types.hpp and are added to Modifiers::type, but for those of scale factors.
//
// A name that means different things in different instructions (".xor" of setp; ".wrap") has one
// row: the instruction looks at the member it knows. ".hi" and ".lo" are both a part and a
// comparison.
inline constexpr auto modifier_rows = std::to_array<ModifierRow>({
    {".ue8m0", set(&M::scale, Type::ue8m0)},
    {".ue4m3", set(&M::scale, Type::ue4m3)},
    {".rn", set(&M::rounding, Rounding::rn), given},
    {".rz", set(&M::rounding, Rounding::rz), given},
    {".rm", set(&M::rounding, Rounding::rm), given},
    {".rp", set(&M::rounding, Rounding::rp), given},
    {".rna", set(&M::rounding, Rounding::rna), given},
    {".rni", set(&M::rounding, Rounding::rn), given, on(&M::integral)},
    {".rzi", set(&M::rounding, Rounding::rz), given, on(&M::integral)},
    {".rmi", set(&M::rounding, Rounding::rm), given, on(&M::integral)},
    {".rpi", set(&M::rounding, Rounding::rp), given, on(&M::integral)},
    {".ftz", on(&M::ftz)},
    {".sat", on(&M::sat)},
    {".satfinite", on(&M::satfinite)},
    {".relu", on(&M::relu)},
    {".NaN", on(&M::nan)},
    {".xorsign", on(&M::xorsign)},
    {".abs", on(&M::abs)},
    {".oob", on(&M::oob)},
    {".approx"},
    {".full"},
    {".uni", on(&M::uniform), set(&M::vote, Vote::uni)},
    {".to", on(&M::to)},
    {".trans", on(&M::trans)},
    {".l", on(&M::left)},
    {".r", set(&M::left, false), set(&M::matrix, 'r')},
    {".wrap", on(&M::wrap)},
    {".clamp", set(&M::wrap, false), set(&M::outside, Outside::clamp)},
    {".trap", set(&M::outside, Outside::trap)},
    {".zero", set(&M::outside, Outside::zero)},
    {".shiftamt", on(&M::shiftamt)},
    {".po", on(&M::plus_one)},
    {".shr7", set(&M::shift_right, 7)},
    {".shr15", set(&M::shift_right, 15)},
    {".cc", on(&M::cc)},
    {".aligned", on(&M::aligned)},
    {".arrive", on(&M::arrive)},
    {".warp", on(&M::warp)},
    {".noComplete", on(&M::no_complete)},
    {".expect_tx", on(&M::expect)},
    {".parity", on(&M::parity)},
    {".noinc", on(&M::no_increment)},
    {".sp", on(&M::sparse)},
    {".sp::ordered_metadata", on(&M::sparse)},
    {".kind::f8f6f4", set(&M::kind, MmaKind::f8f6f4)},
    {".kind::mxf8f6f4", set(&M::kind, MmaKind::mxf8f6f4)},
    {".kind::mxf4", set(&M::kind, MmaKind::mxf4)},
    {".kind::mxf4nvf4", set(&M::kind, MmaKind::mxf4nvf4)},
    {".block_scale", on(&M::block_scale)},
    {".scale_vec::1X", set(&M::scales, 1)},
    {".scale_vec::2X", set(&M::scales, 2)},
    {".scale_vec::4X", set(&M::scales, 4)},
    {".wide", set(&M::part, Part::wide)},
    {".lo", set(&M::part, Part::lo), set(&M::compare, Compare::lo)},
    {".hi", set(&M::part, Part::hi), set(&M::compare, Compare::hi)},
    {".const", set(&M::space, ptx::Space::const_)},
    {".global", set(&M::space, ptx::Space::global)},
    {".local", set(&M::space, ptx::Space::local)},
    {".param", set(&M::space, ptx::Space::param)},
    {".param::entry", set(&M::space, ptx::Space::param)},
    {".param::func", set(&M::space, ptx::Space::param)},
    {".shared", set(&M::space, ptx::Space::shared)},
    {".shared::cta", set(&M::space, ptx::Space::shared)},
    {".shared::cluster", set(&M::space, ptx::Space::shared), on(&M::cluster_space)},
    {".v2", set(&M::vec, 2)},
    {".v4", set(&M::vec, 4)},
    {".v8", set(&M::vec, 8)},
    {".eq", set(&M::compare, Compare::eq)},
    {".ne", set(&M::compare, Compare::ne)},
    {".lt", set(&M::compare, Compare::lt)},
    {".le", set(&M::compare, Compare::le)},
    {".gt", set(&M::compare, Compare::gt)},
    {".ge", set(&M::compare, Compare::ge)},
    {".ls", set(&M::compare, Compare::ls)},
    {".hs", set(&M::compare, Compare::hs)},
    {".equ", set(&M::compare, Compare::equ)},
    {".neu", set(&M::compare, Compare::neu)},
    {".ltu", set(&M::compare, Compare::ltu)},
    {".leu", set(&M::compare, Compare::leu)},
    {".gtu", set(&M::compare, Compare::gtu)},
    {".geu", set(&M::compare, Compare::geu)},
    {".num", set(&M::compare, Compare::num)},
    {".nan", set(&M::compare, Compare::nan)},
    {".and", set(&M::combine, Combine::and_)},
    {".or", set(&M::combine, Combine::or_)},
    {".xor", set(&M::combine, Combine::xor_)},
    {".up", set(&M::shuffle, Shuffle::up)},
    {".down", set(&M::shuffle, Shuffle::down)},
    {".bfly", set(&M::shuffle, Shuffle::bfly)},
    {".idx", set(&M::shuffle, Shuffle::idx)},
    {".all", set(&M::vote, Vote::all)},
    {".any", set(&M::vote, Vote::any)},
    {".ballot", set(&M::vote, Vote::ballot)},
    {".f4e", set(&M::permute, Permute::f4e)},
    {".b4e", set(&M::permute, Permute::b4e)},
    {".rc8", set(&M::permute, Permute::rc8)},
    {".ecl", set(&M::permute, Permute::ecl)},
    {".ecr", set(&M::permute, Permute::ecr)},
    {".rc16", set(&M::permute, Permute::rc16)},
    {".add", set(&M::reduce, Reduce::add)},
    {".min", set(&M::reduce, Reduce::min)},
    {".max", set(&M::reduce, Reduce::max)},
    {".inc", set(&M::reduce, Reduce::inc)},
    {".dec", set(&M::reduce, Reduce::dec)},
    {".exch", set(&M::reduce, Reduce::exch)},
    {".cas", set(&M::reduce, Reduce::cas)},
    {".noftz"},
    {".pack"},
    {".finite", set(&M::test, Test::finite)},
    {".infinite", set(&M::test, Test::infinite)},
    {".number", set(&M::test, Test::number)},
    {".notanumber", set(&M::test, Test::notanumber)},
    {".normal", set(&M::test, Test::normal)},
    {".subnormal", set(&M::test, Test::subnormal)},
    {".x1", set(&M::matrices, 1)},
    {".x2", set(&M::matrices, 2)},
    {".x4", set(&M::matrices, 4)},
    {".row", append(orders, Order::row)},
    {".col", append(orders, Order::col)},
    {".load"},
    {".store"},
    {".mma"},
    {".mma_async"},
    {".fence"},
    {".a", set(&M::matrix, 'a')},
    {".b", set(&M::matrix, 'b')},
    {".g", set(&M::matrix, 'g')},
    {".c", set(&M::matrix, 'c')},
    {".d", set(&M::matrix, 'd')},
    {".sync"},
    {".red"},
    {".popc"},
    {".cta", set(&M::scope, MemoryScope::cta)},
    {".cluster", set(&M::scope, MemoryScope::cluster)},
    {".gpu", set(&M::scope, MemoryScope::gpu)},
    {".sys", set(&M::scope, MemoryScope::sys)},
    {".gl", set(&M::scope, MemoryScope::gpu)},
    {".weak"},
    {".volatile", set(&M::memory_order, MemoryOrder::volatile_)},
    {".relaxed", set(&M::memory_order, MemoryOrder::relaxed)},
    {".acquire", set(&M::memory_order, MemoryOrder::acquire)},
    {".release", set(&M::memory_order, MemoryOrder::release)},
    {".acq_rel", set(&M::memory_order, MemoryOrder::acq_rel)},
    {".sc", set(&M::memory_order, MemoryOrder::sc)},
    {".mmio", set(&M::memory_order, MemoryOrder::relaxed)},
    {".ca"},
    {".cg"},
    {".cs"},
    {".lu"},
    {".cv"},
    {".wb"},
    {".wt"},
    {".nc"},
    {".async"},
    {".commit_group"},
    {".wait_group"},
    {".wait_all"},
    {".bulk"},
    {".tensor"},
    {".prefetch"},
    {".reduce"},
    {".read", on(&M::reads)},
    {".bulk_group"},
    {".mbarrier::complete_tx::bytes"},
    {".try_cancel"},
    {".query_cancel"},
    {".is_canceled"},
    {".get_first_ctaid"},
    {".get_first_ctaid::x"},
    {".get_first_ctaid::y"},
    {".get_first_ctaid::z"},
    {".cp_mask", on(&M::byte_mask)},
    {".multicast::cluster", on(&M::multicast)},
    {".1d", set(&M::dimensions, 1)},
    {".2d", set(&M::dimensions, 2)},
    {".3d", set(&M::dimensions, 3)},
    {".4d", set(&M::dimensions, 4)},
    {".5d", set(&M::dimensions, 5)},
    {".a1d", set(&M::dimensions, 1), on(&M::layered)},
    {".a2d", set(&M::dimensions, 2), on(&M::layered)},
    {".cube", set(&M::dimensions, 2), on(&M::cube)},
    {".acube", set(&M::dimensions, 2), on(&M::cube), on(&M::layered)},
    {".width", set(&M::dimensions, 1)},
    {".height", set(&M::dimensions, 2)},
    {".depth", set(&M::dimensions, 3)},
    {".level"},
    {".tile"},
    {".im2col", on(&M::im2col)},
    {".im2col_no_offs", on(&M::im2col)},
    {".replace"},
    {".cp_fenceproxy"},
    {".b1024"},
    {".global_address", set(&M::field, TensormapField::global_address)},
    {".rank", set(&M::field, TensormapField::rank)},
    {".box_dim", set(&M::field, TensormapField::box_dim)},
    {".global_dim", set(&M::field, TensormapField::global_dim)},
    {".global_stride", set(&M::field, TensormapField::global_stride)},
    {".element_stride", set(&M::field, TensormapField::element_stride)},
    {".elemtype", set(&M::field, TensormapField::elemtype)},
    {".interleave_layout", set(&M::field, TensormapField::interleave_layout)},
    {".swizzle_mode", set(&M::field, TensormapField::swizzle_mode)},
    {".fill_mode", set(&M::field, TensormapField::fill_mode)},
    {".ld_reduce"},
    {".st"},
    {".acc::f32", on(&M::sums_in_f32)},
    {".mbarrier"},
    {".init"},
    {".inval"},
    {".complete_tx"},
    {".arrive_drop"},
    {".test_wait"},
    {".try_wait"},
    {".pending_count"},
    {".wait"},
    {".launch_dependents"},
    {".mask"},
    {".fractional"},
    {".range"},
    {".cvt"},
    {".tensormap"},
    {".proxy"},
    {".alias"},
    {".tensormap::generic"},
    {".async::generic"},
    {".mbarrier_init"},
    {".sync_restrict::shared::cta"},
    {".sync_restrict::shared::cluster"},
    {".L1"},
    {".L2"},
    {".L1::evict_normal"},
    {".L1::evict_unchanged"},
    {".L1::evict_first"},
    {".L1::evict_last"},
    {".L1::no_allocate"},
    {".L2::cache_hint", on(&M::cache_hint)},
    {".L2::evict_normal", append(priorities, Priority::normal)},
    {".L2::evict_last", append(priorities, Priority::last)},
    {".L2::evict_first", append(priorities, Priority::first)},
    {".L2::evict_unchanged", append(priorities, Priority::unchanged)},
    {".L2::64B"},
    {".L2::128B"},
    {".L2::256B"},
});

// Whether rows have each value from `first` to `last` of a member of this type, the only one of it.
template <class Of, class E>
constexpr bool sets_every(E first, E last) {
    uint32_t missing = 0;
    for (auto v = static_cast<unsigned>(first); v <= static_cast<unsigned>(last); ++v)
        missing |= 1u << v;
    for (const ModifierRow& row : modifier_rows)
        for (const Setting& s : row.settings)
            if (std::holds_alternative<Of>(s.member)) missing &= ~(1u << s.value);
    return missing == 0;
}

static_assert(sets_every<Rounding M::*>(Rounding::rn, Rounding::rna));
static_assert(sets_every<Part M::*>(Part::lo, Part::wide));
static_assert(sets_every<Compare M::*>(Compare::eq, Compare::nan));
static_assert(sets_every<Combine M::*>(Combine::and_, Combine::xor_));
static_assert(sets_every<Shuffle M::*>(Shuffle::up, Shuffle::idx));
static_assert(sets_every<Vote M::*>(Vote::all, Vote::ballot));
static_assert(sets_every<Permute M::*>(Permute::f4e, Permute::rc16));
static_assert(sets_every<Reduce M::*>(Reduce::add, Reduce::cas));
static_assert(sets_every<Test M::*>(Test::finite, Test::subnormal));
static_assert(sets_every<MmaKind M::*>(MmaKind::f8f6f4, MmaKind::mxf4nvf4));
static_assert(sets_every<TensormapField M::*>(TensormapField::global_address,
                                              TensormapField::fill_mode));
static_assert(sets_every<ptx::Space M::*>(ptx::Space::const_, ptx::Space::shared));
static_assert(sets_every<Outside M::*>(Outside::trap, Outside::zero));
static_assert(sets_every<PriorityList>(Priority::unchanged, Priority::normal));
static_assert(sets_every<OrderList>(Order::row, Order::col));

// The rows in the order of their text.
inline constexpr auto sorted_modifiers = [] {
    std::array<const ModifierRow*, modifier_rows.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) out[i] = &modifier_rows[i];
    std::ranges::sort(out, {}, &ModifierRow::text);
    return out;
}();

static_assert(std::ranges::adjacent_find(sorted_modifiers, {}, &ModifierRow::text) ==
                  sorted_modifiers.end(),
              "a modifier has one row");
static_assert(
    [] {
        for (const ModifierRow& row : modifier_rows)
            if (type_named(row.text) != Type::none &&
                !std::holds_alternative<Type M::*>(row.settings[0].member))
                return false;
        return true;
    }(),
    "a type other than of scale factors has no row");

}  // namespace modifier_table

// Its place in sorted_modifiers; their number: it is a type, a shape, or unknown. (A place, since
// under the undefined-behaviour sanitizer GCC takes no pointer for different from null when it
// compiles: GCC bug 71962.)
constexpr size_t find_modifier(std::string_view text) {
    const auto& rows = modifier_table::sorted_modifiers;
    const auto* const found = std::ranges::lower_bound(rows, text, {}, &ModifierRow::text);
    return found == rows.end() || (*found)->text != text
               ? rows.size()
               : static_cast<size_t>(found - rows.begin());
}

struct ModifierShape {
    uint8_t m;
    uint16_t n, k;
};

// ".m16n8k16" and ".m8n8" (the matrices that ldmatrix moves).
constexpr std::optional<ModifierShape> shape_named(std::string_view text) {
    constexpr std::string_view letters = "mnk";
    constexpr std::array<unsigned, 3> most{64, 256, 512};
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
    std::array<unsigned, 3> size{};
    for (size_t i = 0; i < letters.size() && !text.empty(); ++i) {
        if (text[0] != letters[i]) return std::nullopt;
        text.remove_prefix(1);
        for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1)) {
            size[i] = size[i] * 10 + static_cast<unsigned>(text[0] - '0');
            if (size[i] > most[i]) return std::nullopt;
        }
        if (size[i] == 0) return std::nullopt;
    }
    if (!text.empty() || size[1] == 0) return std::nullopt;
    return ModifierShape{static_cast<uint8_t>(size[0]), static_cast<uint16_t>(size[1]),
                         static_cast<uint16_t>(size[2])};
}

// Whether some instruction knows the modifier.
constexpr bool is_modifier(std::string_view text) {
    return find_modifier(text) != modifier_table::sorted_modifiers.size() ||
           type_named(text) != Type::none || shape_named(text);
}

}  // namespace lockwarp::isa
