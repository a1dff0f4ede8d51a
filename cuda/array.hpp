// SPDX-License-Identifier: Apache-2.0
// CUDA arrays, whose elements lie in rows one behind another, and the objects by which kernels read
// and write them: an object's handle is the address of its bytes (emu/isa/texture.hpp).
#pragma once

#include <algorithm>
#include <array>

#include "cuda/state.hpp"
#include "emu/isa/texture.hpp"

namespace lockwarp::cuda {

// What channels of a format are (CUarray_format).
struct FormatRow {
    int format;
    isa::TexelKind kind;
    uint8_t bits;
    int view;  // CU_RES_VIEW_FORMAT_* of one channel; of two and four the next ones
};
inline constexpr std::array format_rows{
    FormatRow{0x01, isa::TexelKind::unsigned_integer, 8, 0x01},
    FormatRow{0x02, isa::TexelKind::unsigned_integer, 16, 0x07},
    FormatRow{0x03, isa::TexelKind::unsigned_integer, 32, 0x0d},
    FormatRow{0x08, isa::TexelKind::signed_integer, 8, 0x04},
    FormatRow{0x09, isa::TexelKind::signed_integer, 16, 0x0a},
    FormatRow{0x0a, isa::TexelKind::signed_integer, 32, 0x10},
    FormatRow{0x10, isa::TexelKind::floating, 16, 0x13},
    FormatRow{0x20, isa::TexelKind::floating, 32, 0x16},
};

// CUDA_ARRAY3D_*
inline constexpr unsigned layered_array = 1, surface_array = 2, cubemap_array = 4, gather_array = 8;

// CU_TRSF_*
inline constexpr unsigned read_as_integer = 1, normalized_coordinates = 2, srgb = 0x10,
                          no_trilinear_optimization = 0x20, seamless_cubemap = 0x40;

struct Array {
    std::weak_ptr<Context> context;
    Array3DDescription description{};
    Address address = 0;
    uint64_t pitch = 0, slice = 0;  // bytes

    uint64_t rows() const { return std::max<uint64_t>(description.height, 1); }
    uint64_t slices() const { return std::max<uint64_t>(description.depth, 1); }
};

// The objects of a context are no more.
void forget_objects(const Context& context);

// Whether elements that stay integers are to be filtered: a GPU's driver makes such a texture, its
// runtime does not.
bool filters_integers(const ResourceDescription& resource, const TextureDescription& texture);

}  // namespace lockwarp::cuda
