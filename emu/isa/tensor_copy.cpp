// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/tensor_copy.hpp"

#include <algorithm>

namespace lockwarp::isa {

namespace {

bool interleaved(const TensorMap& m) { return m.interleave != TensorInterleave::none; }

// With an interleave the dimensions are width, height, depth, slices of channels and batch, and
// what lies at one position is a slice's 16 or 32 bytes. A copy moves one slice.
uint32_t slice_bytes(const TensorMap& m) { return 8u << static_cast<unsigned>(m.interleave); }

// The innermost dimension that rows are counted along, and with im2col the first spatial one.
unsigned first_walked(const TensorMap& m) { return interleaved(m) ? 0 : 1; }

bool is_walked(const TensorMap& m, unsigned i) {
    return i >= first_walked(m) && !(interleaved(m) && i == m.rank - 2);
}

// Elements that a box takes along a dimension.
uint32_t taken(const TensorMap& m, unsigned i) {
    if (!is_walked(m, i)) return 1;
    return (m.box[i] + m.element_stride[i] - 1) / m.element_stride[i];
}

// Bytes from one position of a dimension to the next.
uint64_t step_bytes(const TensorMap& m, unsigned i) {
    if (i > 0) return m.stride[i - 1];
    return interleaved(m) ? slice_bytes(m) : element_bytes(m);
}

// The pixels that an im2col walk goes over along a spatial dimension: from lower to last.
int64_t last_pixel(const TensorMap& m, unsigned i) {
    return static_cast<int64_t>(m.dim[first_walked(m) + i]) - 1 + m.upper[i];
}

// An im2col offset: of rank 3 16 bits, of rank 4 the low 8 bits of each. Of rank 5 ptxas adds them
// up, shifted by 5 and 10, and the machine takes 5 bits each from the sum.
uint32_t offset_of(const TensorCopy& c, unsigned i) {
    switch (spatial(c.map)) {
        case 1:
            return c.offset[0];
        case 2:
            return c.offset[i] & 0xffu;
        default:
            return (c.offset[0] + (c.offset[1] << 5) + (c.offset[2] << 10)) >> 5 * i & 31u;
    }
}

std::string coordinate(unsigned i, int64_t value) {
    return "coordinate " + std::to_string(i) + " = " + std::to_string(value);
}

}  // namespace

uint32_t tensor_rows(const TensorMap& m) {
    if (m.im2col) return m.pixels;
    uint32_t out = 1;
    for (unsigned i = 0; i < m.rank; ++i) out *= taken(m, i);
    return out;
}

uint32_t row_bytes(const TensorMap& m) {
    return interleaved(m) ? slice_bytes(m) : inner_elements(m) * element_bytes(m);
}

uint32_t row_pitch(const TensorMap& m) {
    if (interleaved(m) || m.swizzle == TensorSwizzle::none) return row_bytes(m);
    return 16u << static_cast<unsigned>(m.swizzle);
}

uint32_t box_bytes(const TensorMap& m) {
    // The chunks of the last row may stand anywhere in its span.
    return tensor_rows(m) * row_pitch(m);
}

uint32_t stored_bytes(const TensorRow& row) { return (row.inside + 15) / 16 * 16; }

uint32_t copied_bytes(const TensorMap& m) { return tensor_rows(m) * row_bytes(m); }

TensorRows::TensorRows(const TensorCopy& copy) : copy_(copy) {
    std::ranges::copy(copy.at, position_.begin());
}

TensorRow TensorRows::row_at(const std::array<int64_t, max_tensor_rank>& at) const {
    const TensorMap& m = copy_.map;
    const uint32_t bytes = row_bytes(m);
    bool inside = true;
    uint64_t global = m.address;
    for (unsigned i = first_walked(m); i < m.rank; ++i) {
        inside &= at[i] >= 0 && at[i] < static_cast<int64_t>(m.dim[i]);
        global += static_cast<uint64_t>(at[i]) * step_bytes(m, i);
    }
    if (!inside) return {0, 0, 0, bytes, at};
    if (interleaved(m)) return {global, 0, bytes, 0, at};
    const int64_t size = element_bytes(m);
    const int64_t n = inner_elements(m);
    const int64_t begin = std::clamp<int64_t>(-at[0], 0, n);
    const int64_t end = std::clamp<int64_t>(static_cast<int64_t>(m.dim[0]) - at[0], begin, n);
    if (begin == end) return {0, 0, 0, bytes, at};
    return {global + static_cast<uint64_t>((at[0] + begin) * size),
            static_cast<uint32_t>(begin * size), static_cast<uint32_t>((end - begin) * size),
            static_cast<uint32_t>((n - end) * size), at};
}

// The next row of a box: the innermost dimension first.
void TensorRows::step_box() {
    const TensorMap& m = copy_.map;
    for (unsigned i = first_walked(m); i < m.rank; ++i) {
        position_[i] += m.element_stride[i];
        if (++done_[i] < taken(m, i)) return;
        done_[i] = 0;
        position_[i] = copy_.at[i];
    }
}

// The next pixel of a column: the walk goes over base pixels, between the corners of the pixel box;
// behind the last it goes on with the next image.
void TensorRows::step_pixel() {
    const TensorMap& m = copy_.map;
    for (unsigned i = 0; i < spatial(m); ++i) {
        int64_t& at = position_[first_walked(m) + i];
        at += m.element_stride[first_walked(m) + i];
        if (at <= last_pixel(m, i)) return;
        at = m.lower[i];
    }
    position_[m.rank - 1] += m.element_stride[m.rank - 1];
}

TensorRow TensorRows::next() {
    const TensorMap& m = copy_.map;
    std::array<int64_t, max_tensor_rank> at = position_;
    if (m.im2col) {
        for (unsigned i = 0; copy_.has_offsets && i < spatial(m); ++i)
            at[first_walked(m) + i] += offset_of(copy_, i);
        step_pixel();
    } else {
        step_box();
    }
    return row_at(at);
}

std::string illegal(const TensorCopy& copy, TensorDirection direction) {
    const TensorMap& m = copy.map;
    if (!interleaved(m) && int64_t{copy.at[0]} * element_bytes(m) % 16 != 0)
        return coordinate(0, copy.at[0]) + " of " + std::to_string(element_bytes(m)) +
               " bytes each is not a multiple of 16 bytes";
    if (direction == TensorDirection::store)
        for (unsigned i = 0; i < m.rank; ++i)
            if (copy.at[i] < 0)
                return coordinate(i, copy.at[i]) + " is negative, and it is a store";
    if (!m.im2col) return {};
    for (unsigned i = 0; i < spatial(m); ++i) {
        if (direction == TensorDirection::store && (m.lower[i] < 0 || m.upper[i] > 0)) {
            const bool is_lower = m.lower[i] < 0;
            return std::string(is_lower ? "pixelBoxLowerCorner[" : "pixelBoxUpperCorner[") +
                   std::to_string(i) + "] = " + std::to_string(is_lower ? m.lower[i] : m.upper[i]) +
                   " is outside the tensor, and it is a store";
        }
        const unsigned d = first_walked(m) + i;
        if (copy.at[d] < m.lower[i] || copy.at[d] > last_pixel(m, i))
            return coordinate(d, copy.at[d]) + " is outside the pixel box, " +
                   std::to_string(m.lower[i]) + " to " + std::to_string(last_pixel(m, i));
    }
    return {};
}

}  // namespace lockwarp::isa
