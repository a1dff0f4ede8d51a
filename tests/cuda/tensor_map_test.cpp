// SPDX-License-Identifier: Apache-2.0
// Tensor maps by the driver's functions.
#include <array>

#include "driver.hpp"
#include "emu/isa/tensor_map.hpp"

namespace lockwarp::test {
namespace {

using isa::TensorMap;

constexpr int no_value = 1;  // CUDA_ERROR_INVALID_VALUE

int tiled(isa::TensorMapBytes& out, const TensorMap& m) {
    using Encode = int(void*, int, unsigned, void*, const uint64_t*, const uint64_t*,
                       const uint32_t*, const uint32_t*, int, int, int, int);
    return exported<Encode>("cuTensorMapEncodeTiled")(
        out.data(), isa::row(m.type).driver, m.rank, reinterpret_cast<void*>(m.address),
        m.dim.data(), m.stride.data(), m.box.data(), m.element_stride.data(),
        static_cast<int>(m.interleave), static_cast<int>(m.swizzle), static_cast<int>(m.promotion),
        static_cast<int>(m.fill));
}

TensorMap some_map() {
    TensorMap m{.type = isa::TensorType::bf16, .rank = 3, .address = 0x7000};
    m.dim = {100, 20, 3, 1, 1};
    m.stride = {208, 4160, 0, 0};
    m.box = {64, 16, 1, 1, 1};
    m.swizzle = isa::TensorSwizzle::bytes_128;
    return m;
}

TEST(TensorMapFunctions, Encode) {
    const TensorMap m = some_map();
    isa::TensorMapBytes out{};
    ASSERT_EQ(tiled(out, m), 0);
    EXPECT_EQ(out, isa::encode(m));
    const auto replace = exported<int(void*, void*)>("cuTensorMapReplaceAddress");
    ASSERT_EQ(replace(out.data(), reinterpret_cast<void*>(0x9000)), 0);
    TensorMap moved = m;
    moved.address = 0x9000;
    EXPECT_EQ(out, isa::encode(moved));
    EXPECT_EQ(replace(out.data(), reinterpret_cast<void*>(0x9008)), no_value);
}

TEST(TensorMapFunctions, EncodeIm2col) {
    TensorMap m = some_map();
    m.im2col = true;
    m.lower = {-1, 0, 0};
    m.upper = {2, 0, 0};
    m.channels = 64;
    m.pixels = 30;
    isa::TensorMapBytes out{};
    using Encode = int(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const int*,
                       const int*, unsigned, unsigned, const uint32_t*, int, int, int, int);
    const auto encode = exported<Encode>("cuTensorMapEncodeIm2col");
    ASSERT_EQ(
        encode(out.data(), isa::row(m.type).driver, m.rank, reinterpret_cast<void*>(m.address),
               m.dim.data(), m.stride.data(), m.lower.data(), m.upper.data(), m.channels, m.pixels,
               m.element_stride.data(), 0, 3, 0, 0),
        0);
    EXPECT_EQ(out, isa::encode(m));
}

TEST(TensorMapFunctions, Refuse) {
    TensorMap m = some_map();
    isa::TensorMapBytes out{};
    m.stride[0] = 200;
    EXPECT_EQ(tiled(out, m), no_value);
    m = some_map();
    m.rank = 6;
    EXPECT_EQ(tiled(out, m), no_value);
}

}  // namespace
}  // namespace lockwarp::test
