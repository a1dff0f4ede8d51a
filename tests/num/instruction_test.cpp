// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices: what they read and write of the arrays that they are given.
#include "emu/num/instruction.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "emu/isa/matrix.hpp"

namespace lockwarp::num {
namespace {

// Bytes that end where no memory is.
class ToTheEnd {
  public:
    explicit ToTheEnd(uint64_t bytes)
        : bytes_(bytes), page_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))) {
        room_ = (bytes + page_ - 1) / page_ * page_;
        void* const at = mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        memory_ = static_cast<uint8_t*>(at);
        EXPECT_EQ(mprotect(memory_ + room_, page_, PROT_NONE), 0);
        std::memset(memory_, 0xa5, room_);
    }
    ~ToTheEnd() { munmap(memory_, room_ + page_); }
    ToTheEnd(const ToTheEnd&) = delete;
    ToTheEnd& operator=(const ToTheEnd&) = delete;
    std::span<uint8_t> bytes() const { return {memory_ + room_ - bytes_, bytes_}; }
    // Whether what stands before them is as it was.
    bool is_whole_before() const {
        return std::all_of(memory_, memory_ + room_ - bytes_, [](uint8_t b) { return b == 0xa5; });
    }

  private:
    uint64_t bytes_, page_, room_ = 0;
    uint8_t* memory_ = nullptr;
};

void multiply_at_ends(std::string_view key, const InstructionProduct& p) {
    std::mt19937 random(11);
    for (const bool bytes : {false, true}) {
        const auto area = [&](isa::Type type, int rows, int columns) {
            return bytes_of(type, bytes, static_cast<uint64_t>(rows * columns));
        };
        const ToTheEnd a(area(p.types.a, p.m, p.stored_k)), b(area(p.types.b, p.k, p.n)),
            c(area(p.c, p.m, p.n)), d(area(p.d, p.m, p.n)),
            metadata(static_cast<uint64_t>(p.m * p.groups)),
            a_scales(static_cast<uint64_t>(p.m * p.scales)),
            b_scales(static_cast<uint64_t>(p.n * p.scales));
        // Of zeros the fast ways make something, of infinities and NaNs they do not.
        for (const bool zeros : {true, false}) {
            for (const ToTheEnd* x : {&a, &b, &c, &a_scales, &b_scales})
                for (uint8_t& byte : x->bytes()) byte = zeros ? 0 : static_cast<uint8_t>(random());
            std::ranges::fill(metadata.bytes(), uint8_t{4});
            multiply(p, {a.bytes().data(), b.bytes().data(), c.bytes().data(), d.bytes().data(),
                         metadata.bytes().data(), a_scales.bytes().data(), b_scales.bytes().data(),
                         bytes});
            for (const ToTheEnd* x : {&a, &b, &c, &d, &metadata, &a_scales, &b_scales})
                EXPECT_TRUE(x->is_whole_before()) << key;
            const bool is_zero = std::ranges::all_of(d.bytes(), [](uint8_t x) { return x == 0; });
            EXPECT_TRUE(!zeros || is_zero) << key;
        }
    }
}

// A fault of one that does not ends the test.
TEST(InstructionProducts, StayWithinTheirArrays) {
    unsigned products = 0, sparse = 0, tiled = 0, scaled = 0;
    for (const isa::Arch arch : {isa::Arch::sm_80, isa::Arch::sm_90, isa::Arch::sm_120}) {
        const auto one = [&](std::string_view key, const std::optional<InstructionProduct>& p) {
            if (!p) return;
            multiply_at_ends(key, *p);
            ++products;
            sparse += p->groups != 0;
            tiled += p->tiled;
            scaled += p->scales != 0;
        };
        for (const isa::MmaVariant& v : isa::mma_variants()) one(v.key, product_of(v, arch));
        for (const isa::WmmaVariant& v : isa::wmma_variants()) one(v.key, product_of(v, arch));
    }
    EXPECT_GT(products, 100u);
    EXPECT_GT(sparse, 20u);
    EXPECT_GT(tiled, 10u);
    EXPECT_GT(scaled, 2u);
}

}  // namespace
}  // namespace lockwarp::num
