// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/tensor_map.hpp"

#include <algorithm>
#include <cstring>

namespace lockwarp::isa {

namespace {

// Of the second word; a load of im2col has bit 0.
constexpr unsigned rank_bit = 4, type_bit = 7, interleave_bit = 11, swizzle_bit = 13, fill_bit = 15,
                   round_bit = 16, promotion_bit = 17;
constexpr unsigned kind_at = 0x08, stride_at = 0x0c, high_stride_at = 0x1c, dim_at = 0x20,
                   step_at = 0x34, box_at = 0x38, pixels_at = 0x3c, size_at = 0x40,
                   alignment_at = 0x48;

constexpr uint64_t max_address = uint64_t{1} << 57;
constexpr uint64_t max_dim = uint64_t{1} << 32;
constexpr uint64_t max_stride = uint64_t{1} << 40;
constexpr uint64_t max_box_bytes = 228 * 1024;
constexpr uint32_t max_box = 256, max_pixels = 1024, max_step = 8;

// Of a corner of the pixel box, by spatial dimensions.
struct Corner {
    unsigned bits;
    constexpr int32_t limit() const { return int32_t{1} << (bits - 1); }
};
constexpr Corner corner(const TensorMap& m) {
    constexpr std::array<Corner, 3> corners{{{16}, {8}, {5}}};
    return corners[std::clamp(spatial(m), 1u, 3u) - 1];
}
constexpr unsigned upper_bit = 16;  // the lower corner stands below

void put(TensorMapBytes& out, unsigned at, uint32_t word) {
    std::memcpy(out.data() + at, &word, sizeof word);
}

// Bytes of a box as the driver notes them: it rounds elements down where strides leave some out,
// and counts a stride along dimension 0 always.
uint64_t noted_bytes(const TensorMap& m) {
    if (m.im2col) return uint64_t{m.channels} * m.pixels * element_bytes(m);
    uint64_t out = element_bytes(m);
    for (unsigned i = 0; i < m.rank; ++i) out *= m.box[i] / std::max(m.element_stride[i], 1u);
    return out;
}

std::string number(uint64_t n) { return std::to_string(n); }

std::string indexed(std::string_view name, unsigned i, uint64_t value) {
    return std::string(name) + "[" + std::to_string(i) + "] = " + std::to_string(value);
}

std::string indexed(std::string_view name, unsigned i, int32_t value) {
    return std::string(name) + "[" + std::to_string(i) + "] = " + std::to_string(value);
}

unsigned rank_of(const TensorMap& m) { return std::min(m.rank, max_tensor_rank); }

// The first of `n` that broken(i) finds something of.
template <class F>
std::string first(unsigned n, F broken) {
    for (unsigned i = 0; i < n; ++i)
        if (std::string s = broken(i); !s.empty()) return s;
    return {};
}

std::string bad_rank(const TensorMap& m) {
    const std::string is = "tensorRank = " + number(m.rank);
    if (m.rank < 1 || m.rank > max_tensor_rank) return is + " is not 1 to 5";
    if (m.im2col && m.rank < 3) return is + " is not 3 to 5, as im2col asks for";
    return {};
}

std::string bad_interleave(const TensorMap& m) {
    if (m.interleave == TensorInterleave::none || m.rank >= 3) return {};
    return "tensorRank = " + number(m.rank) + " is below 3, and interleave is " +
           std::string(interleave_names[static_cast<size_t>(m.interleave)]);
}

unsigned alignment(const TensorMap& m) {
    return m.interleave == TensorInterleave::bytes_32 ? 32 : 16;
}

std::string multiple(const TensorMap& m) {
    return " is not a multiple of " + number(alignment(m)) +
           (alignment(m) == 32 ? ", as interleave 32B asks for" : "");
}

std::string bad_address(const TensorMap& m) {
    if (m.address % alignment(m) != 0) return "globalAddress = " + number(m.address) + multiple(m);
    if (m.address >= max_address)
        return "globalAddress = " + number(m.address) + " is not below 2^57";
    return {};
}

std::string bad_dim(const TensorMap& m) {
    return first(rank_of(m), [&](unsigned i) -> std::string {
        if (m.dim[i] >= 1 && m.dim[i] <= max_dim) return {};
        return indexed("globalDim", i, m.dim[i]) + " is not 1 to 2^32";
    });
}

std::string bad_stride(const TensorMap& m) {
    return first(rank_of(m) == 0 ? 0 : rank_of(m) - 1, [&](unsigned i) -> std::string {
        if (m.stride[i] % alignment(m) != 0)
            return indexed("globalStrides", i, m.stride[i]) + multiple(m);
        if (m.stride[i] >= max_stride)
            return indexed("globalStrides", i, m.stride[i]) + " is not below 2^40";
        return {};
    });
}

std::string bad_box(const TensorMap& m) {
    if (m.im2col) return {};
    return first(rank_of(m), [&](unsigned i) -> std::string {
        if (m.box[i] >= 1 && m.box[i] <= max_box) return {};
        return indexed("boxDim", i, uint64_t{m.box[i]}) + " is not 1 to 256";
    });
}

std::string bad_step(const TensorMap& m) {
    return first(rank_of(m), [&](unsigned i) -> std::string {
        if (m.element_stride[i] >= 1 && m.element_stride[i] <= max_step) return {};
        return indexed("elementStrides", i, uint64_t{m.element_stride[i]}) + " is not 1 to 8";
    });
}

std::string inner_name(const TensorMap& m) {
    return (m.im2col ? "channelsPerPixel = " : "boxDim[0] = ") + number(inner_elements(m));
}

uint64_t inner_bytes(const TensorMap& m) { return uint64_t{inner_elements(m)} * element_bytes(m); }

std::string inner_text(const TensorMap& m) {
    return inner_name(m) + " of " + number(element_bytes(m)) + " bytes each, " +
           number(inner_bytes(m)) + " bytes,";
}

std::string bad_inner(const TensorMap& m) {
    if (inner_bytes(m) % 16 == 0) return {};
    return inner_text(m) + " is not a multiple of 16 bytes";
}

std::string bad_span(const TensorMap& m) {
    if (m.interleave != TensorInterleave::none || m.swizzle == TensorSwizzle::none) return {};
    const uint64_t span = uint64_t{16} << static_cast<unsigned>(m.swizzle);
    if (inner_bytes(m) <= span) return {};
    return inner_text(m) + " is more than the " + number(span) + " of the swizzle";
}

std::string bad_size(const TensorMap& m) {
    if (noted_bytes(m) <= max_box_bytes) return {};
    return "a box has " + number(noted_bytes(m)) + " bytes, more than " + number(max_box_bytes);
}

std::string bad_fill(const TensorMap& m) {
    if (m.fill == TensorFill::none || row(m.type).is_float) return {};
    return "oobFill = NAN_REQUEST_ZERO_FMA, and tensorDataType = " + std::string(row(m.type).name) +
           " is no floating-point type";
}

std::string bad_corner(const TensorMap& m) {
    if (!m.im2col || m.rank < 3) return {};
    const int32_t limit = corner(m).limit();
    return first(std::min(spatial(m), 3u), [&](unsigned i) -> std::string {
        for (const bool is_lower : {true, false}) {
            const int32_t value = is_lower ? m.lower[i] : m.upper[i];
            if (value >= -limit && value < limit) continue;
            return indexed(is_lower ? "pixelBoxLowerCorner" : "pixelBoxUpperCorner", i, value) +
                   " is not " + std::to_string(-limit) + " to " + std::to_string(limit - 1);
        }
        return {};
    });
}

// The driver computes the size of the pixel box in 32 bits with a sign, and with an interleave
// counts the spatial dimensions from dimension 0.
std::string bad_area(const TensorMap& m) {
    if (!m.im2col || m.rank < 3) return {};
    const unsigned from = m.interleave == TensorInterleave::none ? 1 : 0;
    return first(std::min(spatial(m), 3u), [&](unsigned i) -> std::string {
        const auto size = static_cast<int32_t>(static_cast<uint32_t>(m.dim[from + i]) +
                                               static_cast<uint32_t>(m.upper[i]) -
                                               static_cast<uint32_t>(m.lower[i]));
        if (size > 0) return {};
        return "the pixel box is empty: " + indexed("globalDim", from + i, m.dim[from + i]) + ", " +
               indexed("pixelBoxLowerCorner", i, m.lower[i]) + ", " +
               indexed("pixelBoxUpperCorner", i, m.upper[i]) + " leave " + std::to_string(size) +
               " pixels";
    });
}

std::string bad_column(const TensorMap& m) {
    if (!m.im2col) return {};
    if (m.channels < 1 || m.channels > max_box)
        return "channelsPerPixel = " + number(m.channels) + " is not 1 to 256";
    if (m.pixels < 1 || m.pixels > max_pixels)
        return "pixelsPerColumn = " + number(m.pixels) + " is not 1 to 1024";
    return {};
}

constexpr auto rules = std::to_array<TensorMapRule>({
    {"tensorRank is 1 to 5, of im2col 3 to 5", bad_rank},
    {"with an interleave tensorRank is 3 to 5", bad_interleave},
    {"oobFill NAN_REQUEST_ZERO_FMA needs a floating-point type", bad_fill},
    {"globalAddress is a multiple of 16 (with interleave 32B of 32) below 2^57", bad_address},
    {"globalDim is 1 to 2^32", bad_dim},
    {"globalStrides are multiples of 16 (with interleave 32B of 32) below 2^40", bad_stride},
    {"boxDim is 1 to 256", bad_box},
    {"channelsPerPixel is 1 to 256, pixelsPerColumn 1 to 1024", bad_column},
    {"pixel box corners have 16 bits, 8 in rank 4 and 5 in rank 5", bad_corner},
    {"the pixel box is not empty", bad_area},
    {"elementStrides are 1 to 8", bad_step},
    {"a row of a box is a multiple of 16 bytes", bad_inner},
    {"a row of a swizzled box without interleave is no longer than the swizzle", bad_span},
    {"a box has at most 233,472 bytes", bad_size},
});

constexpr auto common_fields = std::to_array<TensorMapField>({
    {"globalAddress", 0, 64, "bytes"},
    {"im2col", 64, 1, "1: im2col"},
    {"tensorRank", 68, 3, "minus 1"},
    {"tensorDataType", 71, 4, "u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64 bf16"},
    {"interleave", 75, 2, "0 none, 1 16B, 2 32B"},
    {"swizzle", 77, 2, "0 none, 1 32B, 2 64B, 3 128B"},
    {"oobFill", 79, 1, "1: NaN"},
    {"tf32", 80, 1, "1: loads round to tf32"},
    {"l2Promotion", 81, 2, "0 none, 1 64B, 2 128B, 3 256B"},
    {"globalStrides[0]", 96, 32, "bits 35:4"},
    {"globalStrides[1]", 128, 32, "bits 35:4"},
    {"globalStrides[2]", 160, 32, "bits 35:4"},
    {"globalStrides[3]", 192, 32, "bits 35:4"},
    {"globalStrides[0]", 224, 4, "bits 39:36"},
    {"globalStrides[1]", 228, 4, "bits 39:36"},
    {"globalStrides[2]", 232, 4, "bits 39:36"},
    {"globalStrides[3]", 236, 4, "bits 39:36"},
    {"globalDim[0]", 256, 32, "minus 1"},
    {"globalDim[1]", 288, 32, "minus 1"},
    {"globalDim[2]", 320, 32, "minus 1"},
    {"globalDim[3]", 352, 32, "minus 1"},
    {"globalDim[4]", 384, 32, "minus 1"},
    {"elementStrides[0]", 416, 3, "minus 1"},
    {"elementStrides[1]", 419, 3, "minus 1"},
    {"elementStrides[2]", 422, 3, "minus 1"},
    {"elementStrides[3]", 425, 3, "minus 1"},
    {"elementStrides[4]", 428, 3, "minus 1"},
});
constexpr auto tiled_fields = std::to_array<TensorMapField>({
    {"boxDim[0]", 440, 8, "minus 1"},
    {"boxDim[1]", 448, 8, "minus 1"},
    {"boxDim[2]", 456, 8, "minus 1"},
    {"boxDim[3]", 464, 8, "minus 1"},
    {"boxDim[4]", 472, 8, "minus 1"},
    {"box bytes", 512, 32, "of one box, elements rounded down"},
    {"pattern", 576, 32, "16, or bytes of the swizzle's pattern"},
});
constexpr auto im2col_fields = std::to_array<TensorMapField>({
    {"channelsPerPixel", 440, 8, "minus 1"},
    {"pixelBoxLowerCorner, pixelBoxUpperCorner", 448, 32,
     "16 bits each; in rank 4 twice 8, then twice 8; in rank 5 three times 5, from bit 16 three "
     "times 5"},
    {"pixelsPerColumn", 480, 16, "minus 1"},
    {"box bytes", 512, 32, "of one column"},
    {"pattern", 576, 32, "16, or bytes of the swizzle's pattern"},
});

template <size_t n>
constexpr auto joined(const std::array<TensorMapField, n>& own) {
    std::array<TensorMapField, common_fields.size() + n> out{};
    std::ranges::copy(common_fields, out.begin());
    std::ranges::copy(own, out.begin() + common_fields.size());
    return out;
}
constexpr auto all_tiled_fields = joined(tiled_fields);
constexpr auto all_im2col_fields = joined(im2col_fields);

void put_box(const TensorMap& m, TensorMapBytes& out) {
    for (unsigned i = 1; i < m.rank; ++i) out[box_at + i - 1] = static_cast<uint8_t>(m.box[i] - 1);
}

void put_corners(const TensorMap& m, TensorMapBytes& out) {
    const uint32_t mask = (1u << corner(m).bits) - 1;
    uint32_t word = 0;
    for (unsigned i = 0; i < spatial(m); ++i) {
        word |= (static_cast<uint32_t>(m.lower[i]) & mask) << i * corner(m).bits;
        word |= (static_cast<uint32_t>(m.upper[i]) & mask) << (upper_bit + i * corner(m).bits);
    }
    put(out, box_at, word);
    const auto pixels = static_cast<uint16_t>(m.pixels - 1);
    std::memcpy(out.data() + pixels_at, &pixels, sizeof pixels);
}

uint32_t word_at(std::span<const uint8_t, tensor_map_bytes> bytes, unsigned at) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
}

void read_corners(std::span<const uint8_t, tensor_map_bytes> bytes, TensorMap& m) {
    const unsigned bits = corner(m).bits;
    const uint32_t word = word_at(bytes, box_at);
    const auto field = [&](unsigned low) {
        return static_cast<int32_t>(word << (32 - bits - low)) >> (32 - bits);
    };
    for (unsigned i = 0; i < spatial(m); ++i) {
        m.lower[i] = field(i * bits);
        m.upper[i] = field(upper_bit + i * bits);
    }
    m.pixels = (word_at(bytes, pixels_at) & 0xffff) + 1;
}

}  // namespace

TensorMapBytes encode(const TensorMap& m) {
    TensorMapBytes out{};
    if (m.rank < 1 || m.rank > max_tensor_rank || (m.im2col && m.rank < 3)) return out;
    std::memcpy(out.data(), &m.address, sizeof m.address);
    const TensorTypeRow& type = row(m.type);
    put(out, kind_at,
        uint32_t{m.im2col} | (m.rank - 1) << rank_bit | uint32_t{type.field} << type_bit |
            static_cast<uint32_t>(m.interleave) << interleave_bit |
            static_cast<uint32_t>(m.swizzle) << swizzle_bit |
            static_cast<uint32_t>(m.fill) << fill_bit | uint32_t{type.rounds} << round_bit |
            static_cast<uint32_t>(m.promotion) << promotion_bit);
    uint32_t high = 0;
    uint32_t steps = (inner_elements(m) - 1) << 24;
    for (unsigned i = 0; i < m.rank; ++i) {
        put(out, dim_at + 4 * i, static_cast<uint32_t>(m.dim[i] - 1));
        steps |= ((m.element_stride[i] - 1) & 7) << 3 * i;
        if (i + 1 == m.rank) break;
        put(out, stride_at + 4 * i, static_cast<uint32_t>(m.stride[i] >> 4));
        high |= static_cast<uint32_t>(m.stride[i] >> 36 & 15) << 4 * i;
    }
    put(out, high_stride_at, high);
    put(out, step_at, steps);
    m.im2col ? put_corners(m, out) : put_box(m, out);
    put(out, size_at, static_cast<uint32_t>(noted_bytes(m)));
    put(out, alignment_at,
        m.swizzle == TensorSwizzle::none ? 16 : 128u << static_cast<unsigned>(m.swizzle));
    return out;
}

std::optional<TensorMap> decode_tensor_map(std::span<const uint8_t, tensor_map_bytes> bytes) {
    TensorMap m;
    std::memcpy(&m.address, bytes.data(), sizeof m.address);
    const uint32_t kind = word_at(bytes, kind_at);
    const auto field = [&](unsigned bit, unsigned bits) {
        return kind >> bit & ((1u << bits) - 1);
    };
    const bool rounds = field(round_bit, 1) != 0;
    const auto type = std::ranges::find_if(tensor_types, [&](const TensorTypeRow& r) {
        return r.field == field(type_bit, 4) && r.rounds == rounds;
    });
    m.im2col = field(0, 1) != 0;
    m.rank = field(rank_bit, 3) + 1;
    if (type == tensor_types.end() || m.rank > max_tensor_rank || (m.im2col && m.rank < 3) ||
        field(interleave_bit, 2) >= interleave_names.size())
        return std::nullopt;
    m.type = type->type;
    m.interleave = static_cast<TensorInterleave>(field(interleave_bit, 2));
    m.swizzle = static_cast<TensorSwizzle>(field(swizzle_bit, 2));
    m.fill = static_cast<TensorFill>(field(fill_bit, 1));
    m.promotion = static_cast<TensorPromotion>(field(promotion_bit, 2));
    const uint32_t steps = word_at(bytes, step_at);
    for (unsigned i = 0; i < m.rank; ++i) {
        m.dim[i] = uint64_t{word_at(bytes, dim_at + 4 * i)} + 1;
        m.element_stride[i] = (steps >> 3 * i & 7) + 1;
        if (i + 1 < m.rank)
            m.stride[i] = (uint64_t{word_at(bytes, stride_at + 4 * i)} |
                           uint64_t{word_at(bytes, high_stride_at) >> 4 * i & 15} << 32)
                          << 4;
        if (!m.im2col) m.box[i] = i == 0 ? (steps >> 24) + 1 : bytes[box_at + i - 1] + 1u;
    }
    if (m.im2col) {
        m.channels = (steps >> 24) + 1;
        read_corners(bytes, m);
    }
    return m;
}

std::span<const TensorMapRule> tensor_map_rules() { return rules; }

std::vector<std::string> refusals(const TensorMap& m) {
    std::vector<std::string> out;
    for (const TensorMapRule& rule : rules)
        if (std::string broken = rule.broken(m); !broken.empty()) out.push_back(std::move(broken));
    return out;
}

std::span<const TensorMapField> tensor_map_fields(bool im2col) {
    if (im2col) return all_im2col_fields;
    return all_tiled_fields;
}

}  // namespace lockwarp::isa
