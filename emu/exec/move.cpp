// mov, cvta, isspacep, cvt. PTX manual, "Data Movement and Conversion Instructions".
#include "emu/exec/context.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;

template <class T>
void mov(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = a[l]; });
}

// The clocks count the instructions that the warp has retired: a value that only grows. Time is
// the business of emu/timing.
template <class T>
void read_clock(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<Lane<T>>(c.warp->step); });
}

// d = {a, b, ...}: the first element lowest.
template <class T>
void pack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[1];
    const unsigned width = isa::bits(s.op->mod.type[0]) / v.count;
    auto* d = slot<T>(c, s.op->r[0]);
    for_lanes(mask, [&](unsigned l) {
        Lane<T> value = 0;
        for (uint32_t i = 0; i < v.count; ++i)
            value |= Lane<T>{slot<uint32_t>(c, c.program->pool[v.first + i])[l]} << (i * width);
        d[l] = value;
    });
}

// {a, b, ...} = s
template <class T>
void unpack(Context& c, const Step& s, uint32_t mask) {
    const isa::VectorRef v = s.op->vector[0];
    const unsigned width = isa::bits(s.op->mod.type[0]) / v.count;
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto ones = static_cast<uint32_t>((uint64_t{1} << width) - 1);
    for_lanes(mask, [&](unsigned l) {
        const Lane<T> value = a[l];
        for (uint32_t i = 0; i < v.count; ++i)
            slot<uint32_t>(c, c.program->pool[v.first + i])[l] =
                static_cast<uint32_t>(value >> (i * width)) & ones;
    });
}

uint64_t window(ptx::Space space) {
    for (const isa::SpaceWindow& w : isa::space_windows)
        if (w.space == space) return w.base;
    return 0;
}

template <class T>
void cvta(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const uint64_t base = s.op->mod.to ? 0 - window(s.op->mod.space) : window(s.op->mod.space);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<Lane<T>>(a[l] + base); });
}

void isspacep(Context& c, const Step& s, uint32_t mask) {
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    const ptx::Space space = s.op->mod.space;
    uint32_t out = 0;
    for_lanes(mask, [&](unsigned l) {
        bool inside;
        if (space == ptx::Space::global)
            inside = a[l] < isa::shared_window || a[l] >= isa::const_window + isa::window_bytes;
        else
            inside = a[l] - window(space) < isa::window_bytes;
        out |= uint32_t{inside} << l;
    });
    write_predicate(c, s.op->r[0], out, mask);
}

uint64_t read(Context& c, Ref ref, unsigned register_bits, unsigned lane) {
    return register_bits == 64 ? slot<uint64_t>(c, ref)[lane] : slot<uint32_t>(c, ref)[lane];
}

constexpr uint64_t low_bits(uint64_t value, unsigned width) {
    return width >= 64 ? value : value & ((uint64_t{1} << width) - 1);
}

constexpr uint64_t sign_extended(uint64_t value, unsigned width) {
    return width >= 64
               ? value
               : static_cast<uint64_t>(static_cast<int64_t>(value << (64 - width)) >> (64 - width));
}

// A value of type t, `width` bits in the low end, as its register holds it: extended to the
// register's width by its sign, and by zeros within the slot.
void write(Context& c, const Operation& o, Type t, uint64_t value, unsigned lane) {
    if (isa::is_signed(t)) value = sign_extended(value, isa::bits(t));
    value = low_bits(value, o.register_bits);
    if (o.register_bits == 64)
        slot<uint64_t>(c, o.r[0])[lane] = value;
    else
        slot<uint32_t>(c, o.r[0])[lane] = static_cast<uint32_t>(value);
}

uint64_t convert_integer(Type to, Type from, uint64_t value, bool saturate) {
    const unsigned width = isa::bits(to);
    if (!saturate)
        return low_bits(isa::is_signed(from) ? sign_extended(value, isa::bits(from)) : value,
                        width);
    // .sat clamps to the range of the destination (PTX manual, cvt).
    const __int128 v =
        isa::is_signed(from)
            ? static_cast<__int128>(static_cast<int64_t>(sign_extended(value, isa::bits(from))))
            : static_cast<__int128>(value);
    const __int128 one = 1;
    const __int128 low = isa::is_signed(to) ? -(one << (width - 1)) : 0;
    const __int128 high = isa::is_signed(to) ? (one << (width - 1)) - 1 : (one << width) - 1;
    return low_bits(static_cast<uint64_t>(v < low ? low : v > high ? high : v), width);
}

uint64_t convert_one(const isa::Modifiers& m, uint64_t value) {
    const Type to = m.type[0];
    const Type from = m.type[1];
    const num::Flags flags = flags_of(m);
    if (!isa::is_float(to) && !isa::is_float(from)) return convert_integer(to, from, value, m.sat);
    if (!isa::is_float(to))
        return num::to_integer(from, value, m.rounding, isa::bits(to), isa::is_signed(to), m.ftz);
    if (!isa::is_float(from))
        return num::from_integer(to, value, isa::bits(from), isa::is_signed(from), m.rounding,
                                 flags);
    if (m.integral) return num::round_to_integral(to, value, m.rounding, flags);
    return num::convert(from, to, value, m.rounding, flags);
}

void cvt(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const unsigned width = isa::bits(o.mod.type[1]);
    const bool to_itself = o.mod.type[0] == o.mod.type[1] && isa::is_float(o.mod.type[0]);
    for_lanes(mask, [&](unsigned l) {
        const uint64_t value = low_bits(read(c, o.r[1], o.source_bits, l), width);
        if (to_itself && num::compare(o.mod.type[0], value, value) == num::Order::unordered)
            c.undefined |= 1u << l;
        write(c, o, o.mod.type[0], convert_one(o.mod, value), l);
    });
}

// Between integers of up to 64 bits with no clamping: what address arithmetic is full of.
template <class To, class From>
void cvt_extend(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<To>(c, s.op->r[0]);
    const auto* a = slot<From>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<std::make_unsigned_t<To>>(static_cast<To>(static_cast<From>(a[l])));
    });
}

Handler extend_handler(const Operation& o) {
    const Type to = o.mod.type[0];
    const Type from = o.mod.type[1];
    if (o.mod.sat || o.register_bits != isa::bits(to) || o.source_bits != isa::bits(from))
        return nullptr;
    const bool to64 = to == Type::s64 || to == Type::u64;
    const bool to32 = to == Type::s32 || to == Type::u32;
    if (to64 && from == Type::s32) return cvt_extend<int64_t, int32_t>;
    if (to64 && from == Type::u32) return cvt_extend<uint64_t, uint32_t>;
    if (to32 && (from == Type::s64 || from == Type::u64)) return cvt_extend<uint32_t, uint64_t>;
    if (to32 && from == Type::u16) return cvt_extend<uint32_t, uint16_t>;
    return nullptr;
}

// d = {high, low} of the two sources, each converted: cvt.rn.f16x2.f32 d, a, b puts a high.
void cvt_pair(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    isa::Modifiers m = o.mod;
    m.type[0] = o.mod.type[0] == Type::f16x2 ? Type::f16 : Type::bf16;
    auto* d = slot<uint32_t>(c, o.r[0]);
    const auto* high = slot<uint32_t>(c, o.r[1]);
    const auto* low = slot<uint32_t>(c, o.r[2]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = static_cast<uint32_t>(convert_one(m, high[l]) << 16 | convert_one(m, low[l]));
    });
}

}  // namespace

Handler move_handler(const Operation& o) {
    const bool is_wide = isa::bits(o.mod.type[0]) == 64;
    switch (o.op) {
        case Op::mov:
            if (o.mod.type[0] == Type::pred) return nullptr;
            if (o.reads_clock) return is_wide ? read_clock<uint64_t> : read_clock<uint32_t>;
            if (o.vector[0].count != 0) return is_wide ? unpack<uint64_t> : unpack<uint32_t>;
            if (o.vector[1].count != 0) return is_wide ? pack<uint64_t> : pack<uint32_t>;
            return is_wide ? mov<uint64_t> : mov<uint32_t>;
        case Op::cvta:
            return is_wide ? cvta<uint64_t> : cvta<uint32_t>;
        case Op::isspacep:
            return isspacep;
        default:
            return nullptr;
    }
}

Handler convert_handler(const Operation& o) {
    if (o.op != Op::cvt) return nullptr;
    if (isa::row(o.mod.type[0]).lanes == 2) return cvt_pair;
    if (Handler h = extend_handler(o)) return h;
    return cvt;
}

}  // namespace lockwarp::exec
