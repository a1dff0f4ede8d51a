// SPDX-License-Identifier: Apache-2.0
// createpolicy, mapa, getctarank: values that the assembler makes by integer instructions. PTX
// manual, "Data Movement and Conversion Instructions". What a cache policy is the manual keeps to
// itself; these are the bits that ptxas' code makes, the same for sm_80 and sm_90.
#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/mufu.hpp"

namespace lockwarp::exec {

namespace {

// The upper 12 bits: what to do with the lines inside the share or range, and with the others.
uint32_t head(const isa::Modifiers& m, bool range) {
    const auto first = static_cast<uint32_t>(m.priority[0]) << 5;
    const auto second = static_cast<uint32_t>(m.priority[1]) << 4;
    return 0x100u | uint32_t{range} << 7 | first | second;
}

// d = a share of the lines in sixteenths less one; all of them where it is left out.
void fraction(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    constexpr uint64_t sixteen = 0x417fd70a;  // 15.99
    auto* d = slot<uint64_t>(c, o.r[0]);
    const uint64_t high = head(o.mod, false);
    for_lanes(mask, [&](unsigned l) {
        uint64_t share = 15;
        if (o.operands > 1) {
            const uint64_t scaled =
                num::mul(Type::f32, slot<uint32_t>(c, o.r[1])[l], sixteen, isa::Rounding::rn, {});
            share = num::to_integer(Type::f32, scaled, isa::Rounding::rz, 32, false, false) & 15;
        }
        d[l] = (high | share) << 52;
    });
}

// Blocks of 2^shift bytes: their size, the first one, and how many have the first priority. Of no
// bytes none has any.
uint64_t range_policy(const isa::Modifiers& m, uint64_t address, uint32_t first, uint32_t total) {
    uint32_t shift = 12;
    uint32_t with_range = head({}, true);
    uint64_t begin = 0;
    uint64_t count = 0;
    if (total != 0) {
        const uint64_t size = num::from_integer(Type::f32, total, 32, false, isa::Rounding::rn, {});
        constexpr bool ftz = false;  // it is 1 or more: there is nothing to flush
        const uint64_t log = num::lg2_approx(Type::f32, size, ftz);
        const auto bits = static_cast<int32_t>(
            num::to_integer(Type::f32, log, isa::Rounding::rp, 32, false, false));
        shift = static_cast<uint32_t>(std::max(bits - 7, 12));
        const uint64_t end = address + static_cast<uint32_t>(first - 1 + (1u << shift));
        begin = address >> shift;
        count = std::min<uint64_t>((end >> shift) - begin, 0x7f);
        with_range = head(m, true);
    }
    const uint64_t fields = uint64_t{with_range | ((shift - 12) & 15)} << 15 |
                            (begin & 0x7f) << 8 >> 1 | (count & 0x7f);
    return fields << 37;
}

void range(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], mask, addresses);
    auto* d = slot<uint64_t>(c, o.r[0]);
    const auto* first = slot<uint32_t>(c, o.r[1]);
    const auto* total = slot<uint32_t>(c, o.r[2]);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        d[lane] = range_policy(o.mod, addresses[lane], first[lane], total[lane]);
    }
}

void convert(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint64_t>(c, s.op->r[0]);
    const auto* a = slot<uint64_t>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = a[l]; });
}

// A shared address has the CTA's rank in the cluster in bits 24 to 31.
template <class T>
void mapa(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<T>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    const auto* rank = slot<uint32_t>(c, s.op->r[2]);
    for_lanes(mask, [&](unsigned l) {
        d[l] = (a[l] & ~Lane<T>{0xff000000u}) | Lane<T>{(rank[l] & 0xffu) << 24};
    });
}

template <class T>
void getctarank(Context& c, const Step& s, uint32_t mask) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<T>(c, s.op->r[1]);
    for_lanes(mask, [&](unsigned l) { d[l] = static_cast<uint32_t>(a[l]) >> 24; });
}

}  // namespace

Handler policy_fraction_handler(const Operation&) { return fraction; }
Handler policy_range_handler(const Operation&) { return range; }
Handler policy_convert_handler(const Operation&) { return convert; }

Handler mapa_handler(const Operation& o) {
    return isa::bits(o.mod.type[0]) == 64 ? mapa<uint64_t> : mapa<uint32_t>;
}

Handler getctarank_handler(const Operation& o) {
    return isa::bits(o.mod.type[0]) == 64 ? getctarank<uint64_t> : getctarank<uint32_t>;
}

}  // namespace lockwarp::exec
