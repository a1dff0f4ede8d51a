// SPDX-License-Identifier: Apache-2.0
// Tensor maps (CUtensorMap): what the tensor copies of cp.async.bulk.tensor are told about a tensor
// in global memory and about the box of it that one copy moves.
//
// Source: CUDA driver API, "Tensor Map Object Management", for the fields and their rules; PTX
// manual, "Tensors". The 128 bytes and the rules as an H200's driver (13.0) applies them: of 29,072
// calls of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, accepted and refused, none differs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockwarp::isa {

inline constexpr unsigned tensor_map_bytes = 128;
inline constexpr unsigned max_tensor_rank = 5;

// In the order of PTX (tensormap.replace.tile.elemtype).
enum class TensorType : uint8_t {
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f32_ftz,
    f64,
    bf16,
    tf32,
    tf32_ftz
};

struct TensorTypeRow {
    TensorType type;
    std::string_view name;  // CU_TENSOR_MAP_DATA_TYPE_...
    uint8_t driver;         // CUtensorMapDataType
    uint8_t bytes;
    bool is_float;
    uint8_t field;  // bits 10:7 of the second word
    bool rounds;    // bit 16 of it: a load rounds to tf32
};

inline constexpr auto tensor_types = std::to_array<TensorTypeRow>({
    {TensorType::u8, "UINT8", 0, 1, false, 0, false},
    {TensorType::u16, "UINT16", 1, 2, false, 1, false},
    {TensorType::u32, "UINT32", 2, 4, false, 2, false},
    {TensorType::s32, "INT32", 3, 4, false, 3, false},
    {TensorType::u64, "UINT64", 4, 8, false, 4, false},
    {TensorType::s64, "INT64", 5, 8, false, 5, false},
    {TensorType::f16, "FLOAT16", 6, 2, true, 6, false},
    {TensorType::f32, "FLOAT32", 7, 4, true, 7, false},
    {TensorType::f32_ftz, "FLOAT32_FTZ", 10, 4, true, 8, false},
    {TensorType::f64, "FLOAT64", 8, 8, true, 9, false},
    {TensorType::bf16, "BFLOAT16", 9, 2, true, 10, false},
    {TensorType::tf32, "TFLOAT32", 11, 4, true, 7, true},
    {TensorType::tf32_ftz, "TFLOAT32_FTZ", 12, 4, true, 8, true},
});
static_assert([] {
    for (size_t i = 0; i < tensor_types.size(); ++i)
        if (tensor_types[i].type != static_cast<TensorType>(i)) return false;
    return true;
}());

constexpr const TensorTypeRow& row(TensorType t) { return tensor_types[static_cast<size_t>(t)]; }

// The other enumerations have the driver's values, and PTX's. Names as the driver's, without what
// all of one begin with.
enum class TensorInterleave : uint8_t { none, bytes_16, bytes_32 };
enum class TensorSwizzle : uint8_t { none, bytes_32, bytes_64, bytes_128 };
enum class TensorPromotion : uint8_t { none, bytes_64, bytes_128, bytes_256 };
enum class TensorFill : uint8_t { none, nan };

inline constexpr std::array<std::string_view, 3> interleave_names{"NONE", "16B", "32B"};
inline constexpr std::array<std::string_view, 4> tensor_swizzle_names{"NONE", "32B", "64B", "128B"};
inline constexpr std::array<std::string_view, 4> promotion_names{"NONE", "L2_64B", "L2_128B",
                                                                 "L2_256B"};
inline constexpr std::array<std::string_view, 2> fill_names{"NONE", "NAN_REQUEST_ZERO_FMA"};

// Dimension 0 is the innermost, whose elements are neighbours in memory.
struct TensorMap {
    TensorType type = TensorType::u8;
    uint32_t rank = 1;
    uint64_t address = 0;
    std::array<uint64_t, max_tensor_rank> dim{1, 1, 1, 1, 1};             // elements
    std::array<uint64_t, max_tensor_rank - 1> stride{};                   // bytes
    std::array<uint32_t, max_tensor_rank> element_stride{1, 1, 1, 1, 1};  // 1 to 8
    std::array<uint32_t, max_tensor_rank> box{1, 1, 1, 1, 1};             // elements; not im2col
    bool im2col = false;                                                  // ranks 3 to 5
    std::array<int32_t, max_tensor_rank - 2> lower{}, upper{};            // pixel box corners
    uint32_t channels = 1, pixels = 1;                                    // of a column
    TensorInterleave interleave = TensorInterleave::none;
    TensorSwizzle swizzle = TensorSwizzle::none;
    TensorPromotion promotion = TensorPromotion::none;
    TensorFill fill = TensorFill::none;

    bool operator==(const TensorMap&) const = default;
};

constexpr unsigned element_bytes(const TensorMap& m) { return row(m.type).bytes; }

// Elements along dimension 0 that one copy moves.
constexpr uint32_t inner_elements(const TensorMap& m) { return m.im2col ? m.channels : m.box[0]; }

// Spatial dimensions of im2col: width, then height, then depth.
constexpr unsigned spatial(const TensorMap& m) { return m.rank - 2; }

using TensorMapBytes = std::array<uint8_t, tensor_map_bytes>;

// As the driver encodes it. The map must be one that it accepts; of others fields are cut short.
TensorMapBytes encode(const TensorMap& m);

// Any 128 bytes, also those that tensormap.replace has made and the driver would not. nullopt: the
// rank, the type or the interleave is none.
std::optional<TensorMap> decode_tensor_map(std::span<const uint8_t, tensor_map_bytes> bytes);

// A rule of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col.
struct TensorMapRule {
    std::string_view words;  // the rule
    // What of the map breaks it: "globalStrides[1] = 24 is not a multiple of 16"; empty: nothing.
    std::string (*broken)(const TensorMap&);
};

std::span<const TensorMapRule> tensor_map_rules();

// What each rule that the map breaks has to say; none: the driver accepts it.
std::vector<std::string> refusals(const TensorMap& m);

// Where a field lies in the 128 bytes, for those that print or draw them.
struct TensorMapField {
    std::string_view name;
    uint16_t bit;  // of the 1,024
    uint16_t bits;
    std::string_view meaning;
};
std::span<const TensorMapField> tensor_map_fields(bool im2col);

}  // namespace lockwarp::isa
