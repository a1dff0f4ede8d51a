// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, tensormap.replace, tensormap.cp_fenceproxy.
// PTX manual, "Data Movement and Conversion Instructions: Tensor copy", "tensormap.replace". Copies
// are done when they are issued. What the manual leaves open is as an H200 does it
// (emu/isa/tensor_copy.hpp).
#include "emu/exec/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/exec/bulk.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/isa/tensor_copy.hpp"
#include "emu/num/ieee.hpp"

namespace lockwarp::exec {

namespace {

using isa::TensorCopy;
using isa::TensorDirection;
using isa::TensorFill;
using isa::TensorMap;
using isa::TensorRow;
using isa::TensorSwizzle;
using isa::TensorType;
using ptx::Space;
using warp::TrapKind;

constexpr uint32_t chunk = 16;  // bytes that a swizzle leaves together
constexpr uint32_t map_alignment = 64;
constexpr uint32_t max_row_bytes = 256 * 8;
// Each 16 bits of what NAN_REQUEST_ZERO_FMA fills with.
constexpr uint16_t fill_nan = num::out_of_bounds;

bool refuse(Context& c, const Operation& o, unsigned lane, uint64_t map, std::string why) {
    set_trap(c, o, TrapKind::illegal, std::move(why), lane, map, Space::none);
    return false;
}

// A lane's copy: its tensor map at the generic address of operand `n`, its coordinates and offsets.
// false: a trap was set.
bool take_copy(Context& c, const Operation& o, unsigned lane, unsigned n, TensorDirection direction,
               TensorCopy& copy) {
    const uint64_t address = lane_address(c, o.address[n], lane);
    if (address % map_alignment != 0) {
        set_trap(c, o, TrapKind::misaligned,
                 "a tensor map must be at a multiple of " + std::to_string(map_alignment), lane,
                 address, Space::none);
        return false;
    }
    const uint8_t* const bytes = locate_bytes(c, address, isa::tensor_map_bytes, lane);
    if (bytes == nullptr) {
        set_trap(c, o, TrapKind::out_of_bounds, "128 bytes of a tensor map", lane, address,
                 Space::none);
        return false;
    }
    const auto map = isa::decode_tensor_map(
        std::span<const uint8_t, isa::tensor_map_bytes>(bytes, isa::tensor_map_bytes));
    if (!map) return refuse(c, o, lane, address, "the 128 bytes there are no tensor map");
    if (map->address % 16 != 0) {
        set_trap(c, o, TrapKind::misaligned, "a tensor must begin at a multiple of 16", lane,
                 map->address, Space::global);
        return false;
    }
    // The machine holds maps to the driver's rules, which tensormap.replace may have broken.
    if (std::vector<std::string> wrong = isa::refusals(*map); !wrong.empty())
        return refuse(c, o, lane, address, std::move(wrong.front()));
    if (map->rank != o.mod.dimensions)
        return refuse(c, o, lane, address,
                      "a tensor map of " + std::to_string(map->rank) +
                          " dimensions, and the instruction has " +
                          std::to_string(o.mod.dimensions));
    if (map->im2col != o.mod.im2col)
        return refuse(c, o, lane, address,
                      map->im2col ? "an im2col tensor map, and the instruction has .tile"
                                  : "a tiled tensor map, and the instruction has .im2col");
    copy.map = *map;
    for (unsigned i = 0; i < o.vector[0].count; ++i)
        copy.at[i] =
            static_cast<int32_t>(slot<uint32_t>(c, c.program->pool[o.vector[0].first + i])[lane]);
    copy.has_offsets = o.vector[1].count != 0;
    for (unsigned i = 0; i < o.vector[1].count; ++i)
        copy.offset[i] =
            static_cast<uint16_t>(slot<uint32_t>(c, c.program->pool[o.vector[1].first + i])[lane]);
    std::string why = isa::illegal(copy, direction);
    return why.empty() || refuse(c, o, lane, address, std::move(why));
}

// A value as a load by a map of TFLOAT32 gives it: rounded to nearest even with 10 bits of
// fraction.
uint32_t rounded_to_tf32(uint32_t bits) {
    constexpr uint32_t infinity = 0x7f800000, dropped = 0x1fff, half = 0x1000, nan = 0x7fffe000;
    if ((bits & infinity) == infinity) return (bits & ~(infinity | 1u << 31)) != 0 ? nan : bits;
    const uint32_t rest = bits & dropped;
    const bool up = rest > half || (rest == half && (bits & (dropped + 1)) != 0);
    return (bits & ~dropped) + (up ? dropped + 1 : 0);
}

void fill(TensorFill kind, uint8_t* to, uint32_t bytes) {
    if (kind == TensorFill::none) {
        std::memset(to, 0, bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; ++at) to[at] = static_cast<uint8_t>(fill_nan >> 8 * (at % 2));
}

void round_elements(uint8_t* to, uint32_t bytes) {
    for (uint32_t at = 0; at < bytes; at += 4) {
        uint32_t word = 0;
        std::memcpy(&word, to + at, sizeof word);
        word = rounded_to_tf32(word);
        std::memcpy(to + at, &word, sizeof word);
    }
}

// Between a row of `bytes` bytes and its chunks in shared memory, whose first byte would be at
// `address` without the swizzle; `base` is where address `begin` lies. work(row offset, shared).
template <class Work>
void each_chunk(TensorSwizzle swizzle, uint32_t address, uint32_t begin, uint8_t* base,
                uint32_t bytes, Work work) {
    if (swizzle == TensorSwizzle::none) {
        work(0, base + (address - begin), bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; at += chunk)
        work(at, base + (isa::swizzled(swizzle, address + at) - begin), chunk);
}

// One lane's box in shared memory.
struct Box {
    uint32_t address = 0;
    uint8_t* bytes = nullptr;
};

bool find_box(Context& c, const Operation& o, unsigned lane, uint64_t address, const TensorMap& m,
              bool store, Box& box) {
    box.address = static_cast<uint32_t>(address);
    box.bytes = bulk_bytes(c, o, lane, Space::shared, address, isa::box_bytes(m),
                           isa::tensor_alignment, store);
    return box.bytes != nullptr;
}

// What lies in global memory of a row goes to `line`, with its fills. false: a trap was set.
bool read_row(Context& c, const Operation& o, unsigned lane, const TensorMap& m,
              const TensorRow& row, uint8_t* line) {
    fill(m.fill, line, row.before);
    fill(m.fill, line + row.before + row.inside, row.after);
    if (row.inside == 0) return true;
    const uint8_t* const from =
        bulk_bytes(c, o, lane, Space::global, row.global, row.inside, 1, false);
    if (from == nullptr) return false;
    std::memcpy(line + row.before, from, row.inside);
    if (isa::row(m.type).rounds) round_elements(line + row.before, row.inside);
    return true;
}

// The shared addresses that a load writes its box to and tells of it.
struct Target {
    uint64_t box = 0;
    uint64_t barrier = 0;
};

// One, or with .multicast::cluster one in each CTA of the mask. false: a trap was set.
bool find_targets(Context& c, const Operation& o, unsigned lane, std::vector<Target>& out) {
    const Target here{lane_address(c, o.address[0], lane), lane_address(c, o.address[2], lane)};
    if (!o.mod.multicast) {
        out.push_back(here);
        return true;
    }
    uint32_t ranks = 0;
    if (!multicast_ranks(c, o, slot<uint32_t>(c, o.r[0])[lane], lane, ranks)) return false;
    each_rank(ranks, [&](uint32_t rank) {
        out.push_back({in_window_of(rank, here.box), in_window_of(rank, here.barrier)});
    });
    return true;
}

bool load_one(Context& c, const Operation& o, unsigned lane) {
    TensorCopy copy;
    const TensorMap& m = copy.map;
    std::vector<Target> targets;
    if (!take_copy(c, o, lane, 1, TensorDirection::load, copy) ||
        !find_targets(c, o, lane, targets))
        return false;
    const uint32_t rows = isa::tensor_rows(m), bytes = isa::row_bytes(m);
    // Listeners hear of what is read before what is written.
    std::vector<uint8_t> box_rows(size_t{rows} * bytes);
    isa::TensorRows walk(copy);
    for (uint32_t i = 0; i < rows; ++i)
        if (!read_row(c, o, lane, m, walk.next(), box_rows.data() + size_t{i} * bytes))
            return false;
    for (const Target& t : targets) {
        Box box;
        if (!find_box(c, o, lane, t.box, m, true, box)) return false;
        for (uint32_t i = 0; i < rows; ++i)
            each_chunk(m.swizzle, box.address + i * isa::row_pitch(m), box.address, box.bytes,
                       bytes, [&](uint32_t at, uint8_t* to, uint32_t n) {
                           std::memcpy(to, box_rows.data() + size_t{i} * bytes + at, n);
                       });
    }
    return std::ranges::all_of(targets, [&](const Target& t) {
        return bulk_arrives(c, o, lane, Space::shared, t.barrier, isa::copied_bytes(m));
    });
}

// Where a row's bytes go: `bytes` of them, where there is memory for those behind its elements too;
// else fewer.
uint8_t* find_stored(Context& c, const Operation& o, unsigned lane, const TensorRow& row,
                     uint32_t& bytes) {
    Space space = Space::global;
    uint64_t address = row.global;
    if (bytes != row.inside && look(c, space, address, bytes, lane) == nullptr) bytes = row.inside;
    return bulk_bytes(c, o, lane, Space::global, row.global, bytes, 1, true);
}

// Each row of the box, from shared memory to where it goes: work(to, from, bytes).
template <class Work>
bool each_stored_row(Context& c, const Operation& o, unsigned lane, const TensorCopy& copy,
                     Work work) {
    const TensorMap& m = copy.map;
    Box box;
    if (!find_box(c, o, lane, lane_address(c, o.address[1], lane), m, false, box)) return false;
    const uint32_t pitch = isa::row_pitch(m);
    isa::TensorRows rows(copy);
    alignas(64) std::array<uint8_t, max_row_bytes> line;
    for (uint32_t i = 0; i < isa::tensor_rows(m); ++i) {
        const TensorRow row = rows.next();
        if (row.inside == 0) continue;
        // The rest of its last 16 bytes is changed too.
        uint32_t bytes = isa::stored_bytes(row);
        uint8_t* const to = find_stored(c, o, lane, row, bytes);
        if (to == nullptr) return false;
        each_chunk(m.swizzle, box.address + i * pitch, box.address, box.bytes, isa::row_bytes(m),
                   [&](uint32_t at, const uint8_t* from, uint32_t n) {
                       std::memcpy(line.data() + at, from, n);
                   });
        work(to, line.data() + row.before, bytes);
    }
    return true;
}

bool store_one(Context& c, const Operation& o, unsigned lane) {
    TensorCopy copy;
    return take_copy(c, o, lane, 0, TensorDirection::store, copy) &&
           each_stored_row(c, o, lane, copy, [](uint8_t* to, const uint8_t* from, uint32_t n) {
               std::memcpy(to, from, n);
           });
}

// What the copy engine reduces (measured on an H200: anything else is an illegal instruction).
// Subnormal f32 numbers are flushed by the .ftz types alone.
struct ReducedType {
    TensorType type;
    Type as;
    bool adds, compares, counts, combines;  // add; min, max; inc, dec; and, or, xor
    bool flushes = false;
};
constexpr auto reduced_types = std::to_array<ReducedType>({
    {TensorType::u8, Type::u8, false, false, false, false},
    {TensorType::u16, Type::u16, false, false, false, false},
    {TensorType::u32, Type::u32, true, true, true, true},
    {TensorType::s32, Type::s32, true, true, false, true},
    {TensorType::u64, Type::u64, true, true, false, true},
    {TensorType::s64, Type::s64, false, true, false, false},
    {TensorType::f16, Type::f16, true, true, false, false},
    {TensorType::f32, Type::f32, true, false, false, false},
    {TensorType::f32_ftz, Type::f32, true, false, false, false, true},
    {TensorType::f64, Type::f64, true, false, false, false},
    {TensorType::bf16, Type::bf16, true, true, false, false},
    {TensorType::tf32, Type::f32, true, false, false, false},
    {TensorType::tf32_ftz, Type::f32, true, false, false, false, true},
});
static_assert([] {
    for (size_t i = 0; i < reduced_types.size(); ++i)
        if (reduced_types[i].type != static_cast<TensorType>(i)) return false;
    return reduced_types.size() == isa::tensor_types.size();
}());

bool reduce_one(Context& c, const Operation& o, unsigned lane) {
    TensorCopy copy;
    if (!take_copy(c, o, lane, 0, TensorDirection::store, copy)) return false;
    const ReducedType& t = reduced_types[static_cast<size_t>(copy.map.type)];
    if (!reduces(copy.map.type, o.mod))
        return refuse(c, o, lane, lane_address(c, o.address[0], lane),
                      "there is no such reduction of " + std::string(isa::row(copy.map.type).name));
    isa::Modifiers m = o.mod;
    m.type[0] = t.as;
    const bool flushes = t.as == Type::f32 && t.flushes;
    return each_stored_row(c, o, lane, copy, [&](uint8_t* to, const uint8_t* from, uint32_t n) {
        reduce_bytes(m, flushes, to, from, n);
    });
}

template <bool (*one)(Context&, const Operation&, unsigned)>
void each(Context& c, const Step& s, uint32_t mask) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        if (!one(c, *s.op, static_cast<unsigned>(__builtin_ctz(rest)))) return;
}

// Bits of one 32-bit word of a tensor map that a field takes, as ptxas' code for
// tensormap.replace has them.
struct Part {
    uint32_t at;  // byte of the map
    uint32_t mask;
    uint32_t value;
};

// How a field's number becomes bits; a second part only where its mask is not 0.
std::array<Part, 2> parts_of(isa::TensormapField field, unsigned i, uint64_t value) {
    const auto word = static_cast<uint32_t>(value);
    const auto within = [](uint32_t at, unsigned bit, unsigned bits, uint32_t v) {
        const uint32_t mask = ((1u << bits) - 1) << bit;
        return std::array<Part, 2>{Part{at, mask, v << bit & mask}, {}};
    };
    switch (field) {
        case isa::TensormapField::none:
            break;
        case isa::TensormapField::global_address:
            return {Part{0, UINT32_MAX, word}, {4, UINT32_MAX, static_cast<uint32_t>(value >> 32)}};
        case isa::TensormapField::rank:
            return within(8, 4, 3, word);
        case isa::TensormapField::box_dim:
            return i == 0 ? within(0x34, 24, 8, word - 1) : within(0x38, 8 * (i - 1), 8, word - 1);
        case isa::TensormapField::global_dim:
            return {Part{0x20 + 4 * i, UINT32_MAX, word - 1}, {}};
        case isa::TensormapField::global_stride: {
            std::array<Part, 2> out = within(0x1c, 4 * i, 4, static_cast<uint32_t>(value >> 36));
            out[1] = out[0];
            out[0] = {0x0c + 4 * i, UINT32_MAX, static_cast<uint32_t>(value >> 4)};
            return out;
        }
        case isa::TensormapField::element_stride:
            return within(0x34, 3 * i, 3, word - 1);
        case isa::TensormapField::elemtype: {
            // The bit that makes f32 tf32 is set, and never cleared.
            const isa::TensorTypeRow& row =
                isa::tensor_types[std::min<size_t>(word, isa::tensor_types.size() - 1)];
            std::array<Part, 2> out = within(8, 7, 4, row.field);
            if (row.rounds) out[1] = {8, 1u << 16, 1u << 16};
            return out;
        }
        case isa::TensormapField::interleave_layout:
            return within(8, 11, 2, word);
        case isa::TensormapField::swizzle_mode: {
            std::array<Part, 2> out = within(8, 13, 2, word);
            out[1] = {8, 1u << 22, 0};
            return out;
        }
        case isa::TensormapField::fill_mode:
            return within(8, 15, 1, word);
    }
    return {};
}

// Replaces the bits of a part in each lane's map.
bool replace_part(Context& c, const Operation& o, uint32_t mask, const LaneAddresses& maps,
                  const std::array<Part, 32>& parts) {
    LaneAddresses addresses = maps;
    LanePointers p;
    for (unsigned lane = 0; lane < 32; ++lane) addresses[lane] += parts[lane].at;
    for (const bool store : {false, true})
        if (!locate(c, o, o.mod.space, addresses, mask, 4, 4, store, p)) return false;
    each_lane(mask, [&](unsigned lane) {
        uint32_t word = 0;
        std::memcpy(&word, p[lane], sizeof word);
        word = (word & ~parts[lane].mask) | parts[lane].value;
        std::memcpy(p[lane], &word, sizeof word);
    });
    return true;
}

// With a constant for the value there is no register; the number of a dimension is a constant too.
void replace_field(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses maps{};
    lane_addresses(c, o.address[0], mask, maps);
    std::array<std::array<Part, 32>, 2> parts{};
    const bool constant = o.mod.field >= isa::TensormapField::elemtype;
    const bool wide = o.mod.field == isa::TensormapField::global_address ||
                      o.mod.field == isa::TensormapField::global_stride;
    each_lane(mask, [&](unsigned lane) {
        const uint64_t value = constant ? o.immediate
                               : wide   ? slot<uint64_t>(c, o.r[0])[lane]
                                        : slot<uint32_t>(c, o.r[0])[lane];
        const auto both =
            parts_of(o.mod.field, constant ? 0 : static_cast<unsigned>(o.immediate), value);
        for (unsigned i = 0; i < 2; ++i) parts[i][lane] = both[i];
    });
    // All lanes have the same field.
    const auto first = static_cast<unsigned>(__builtin_ctz(mask));
    if (!replace_part(c, o, mask, maps, parts[0])) return;
    if (parts[1][first].mask != 0) replace_part(c, o, mask, maps, parts[1]);
}

// Each lane moves four bytes, as ptxas' code does: lane l of the 128 bytes at its own addresses.
void copy_map(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    LaneAddresses to{}, from{};
    LanePointers target, source;
    lane_addresses(c, o.address[0], mask, to);
    lane_addresses(c, o.address[1], mask, from);
    for (unsigned lane = 0; lane < 32; ++lane) {
        to[lane] += 4u * lane;
        from[lane] += 4u * lane;
    }
    if (!locate(c, o, Space::shared, from, mask, 4, 4, false, source) ||
        !locate(c, o, Space::global, to, mask, 4, 4, true, target))
        return;
    each_lane(mask, [&](unsigned lane) { std::memcpy(target[lane], source[lane], 4); });
}

}  // namespace

bool reduces(TensorType type, const isa::Modifiers& m) {
    const ReducedType& t = reduced_types[static_cast<size_t>(type)];
    if (m.combine != isa::Combine::none) return t.combines;
    switch (m.reduce) {
        case isa::Reduce::add:
            return t.adds;
        case isa::Reduce::min:
        case isa::Reduce::max:
            return t.compares;
        case isa::Reduce::inc:
        case isa::Reduce::dec:
            return t.counts;
        case isa::Reduce::none:
        case isa::Reduce::exch:
        case isa::Reduce::cas:
            break;
    }
    return false;
}

Handler tensor_load_handler(const Operation&) { return each<load_one>; }
Handler tensor_store_handler(const Operation&) { return each<store_one>; }
Handler tensor_reduce_handler(const Operation&) { return each<reduce_one>; }
Handler tensormap_replace_handler(const Operation&) { return replace_field; }
Handler tensormap_copy_handler(const Operation&) { return copy_map; }

}  // namespace lockwarp::exec
