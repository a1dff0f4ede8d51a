// SPDX-License-Identifier: Apache-2.0
// "Tensor Map Object Management": the 128 bytes as an H200's driver encodes them, and its refusals,
// with the rule on stderr.
#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/driver_api.hpp"
#include "cuda/errors.hpp"
#include "emu/isa/tensor_map.hpp"

namespace lockwarp::cuda {

namespace {

using isa::TensorMap;

template <class E, size_t n>
E value_of(int value, const std::array<std::string_view, n>&) {
    require(value >= 0 && static_cast<size_t>(value) < n);
    return static_cast<E>(value);
}

// What both functions are told.
struct Common {
    int type;
    unsigned rank;
    void* address;
    const uint64_t* dim;
    const uint64_t* stride;
    const uint32_t* element_stride;
    int interleave, swizzle, promotion, fill;
};

TensorMap map_of(const Common& c) {
    require(c.dim != nullptr && c.element_stride != nullptr && c.rank >= 1 &&
            c.rank <= isa::max_tensor_rank && (c.stride != nullptr || c.rank == 1));
    const auto* const type = std::ranges::find(isa::tensor_types, c.type,
                                               [](const auto& row) { return int{row.driver}; });
    require(type != isa::tensor_types.end());
    TensorMap m;
    m.type = type->type;
    m.rank = c.rank;
    m.address = reinterpret_cast<uint64_t>(c.address);
    std::copy_n(c.dim, c.rank, m.dim.begin());
    std::copy_n(c.element_stride, c.rank, m.element_stride.begin());
    if (c.rank > 1) std::copy_n(c.stride, c.rank - 1, m.stride.begin());
    m.interleave = value_of<isa::TensorInterleave>(c.interleave, isa::interleave_names);
    m.swizzle = value_of<isa::TensorSwizzle>(c.swizzle, isa::tensor_swizzle_names);
    m.promotion = value_of<isa::TensorPromotion>(c.promotion, isa::promotion_names);
    m.fill = value_of<isa::TensorFill>(c.fill, isa::fill_names);
    return m;
}

void encode_to(void* out, const TensorMap& m) {
    for (const std::string& wrong : isa::refusals(m)) {
        say("a tensor map is refused: " + wrong);
        fail(invalid_value);
    }
    const isa::TensorMapBytes bytes = isa::encode(m);
    std::memcpy(out, bytes.data(), bytes.size());
}

}  // namespace

extern "C" {

Result cuTensorMapEncodeTiled(void* out, int type, unsigned rank, void* address,
                              const uint64_t* dim, const uint64_t* stride, const uint32_t* box,
                              const uint32_t* element_stride, int interleave, int swizzle,
                              int promotion, int fill) {
    return answer([&] {
        require(out != nullptr && box != nullptr);
        TensorMap m = map_of({type, rank, address, dim, stride, element_stride, interleave, swizzle,
                              promotion, fill});
        std::copy_n(box, rank, m.box.begin());
        encode_to(out, m);
    });
}

Result cuTensorMapEncodeIm2col(void* out, int type, unsigned rank, void* address,
                               const uint64_t* dim, const uint64_t* stride, const int* lower,
                               const int* upper, unsigned channels, unsigned pixels,
                               const uint32_t* element_stride, int interleave, int swizzle,
                               int promotion, int fill) {
    return answer([&] {
        require(out != nullptr && lower != nullptr && upper != nullptr && rank >= 3);
        TensorMap m = map_of({type, rank, address, dim, stride, element_stride, interleave, swizzle,
                              promotion, fill});
        m.im2col = true;
        std::copy_n(lower, rank - 2, m.lower.begin());
        std::copy_n(upper, rank - 2, m.upper.begin());
        m.channels = channels;
        m.pixels = pixels;
        encode_to(out, m);
    });
}

Result cuTensorMapReplaceAddress(void* map, void* address) {
    return answer([&] {
        require(map != nullptr);
        isa::TensorMapBytes bytes;
        std::memcpy(bytes.data(), map, bytes.size());
        auto m = isa::decode_tensor_map(bytes);
        require(m.has_value());
        m->address = reinterpret_cast<uint64_t>(address);
        encode_to(map, *m);
    });
}

}  // extern "C"

}  // namespace lockwarp::cuda
