// SPDX-License-Identifier: Apache-2.0
// Metadata of a sparse A by which a product is undefined: each four bits, in each lane and place.
#include <set>

#include "tests/check/said.hpp"

namespace lockwarp::check {
namespace {

using namespace brief;

struct SparseProduct {
    std::string of;      // shape and types
    std::string a, b;    // how many registers
    bool halves;         // .tf32
    unsigned given = 2;  // lanes of four that give metadata
};

const std::vector<SparseProduct> sparse_products{
    {"m16n8k32.row.col.f32.f16.f16.f32", "{%r20,%r20,%r20,%r20}", "{%r20,%r20,%r20,%r20}", false},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", "{%r20,%r20}", "{%r20,%r20}", false, 1},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "{%r20,%r20}", "{%r20,%r20}", true, 1},
    {"m16n8k64.row.col.s32.s8.s8.s32", "{%r20,%r20,%r20,%r20}", "{%r20,%r20,%r20,%r20}", false, 4},
};

// Valid metadata in %r10, but for `bits` of one lane in place of those from `shift` on.
std::string sparse_text(const SparseProduct& p, unsigned four, unsigned lane, unsigned shift,
                        unsigned selector = 0) {
    const bool integers = p.of.find("s32.s8") != std::string::npos;
    const std::string c = integers ? "{%r20,%r20,%r20,%r20}" : "{%f20,%f20,%f20,%f20}";
    const std::string d = integers ? "{%r21,%r22,%r23,%r24}" : "{%f21,%f22,%f23,%f24}";
    return "mov.u32 %r20, 0; mov.f32 %f20, 0f00000000; mov.u32 %r10, 0xEEEEEEEE;"
           "setp.eq.u32 %p1, %r2, " +
           std::to_string(lane) + "; mov.u32 %r11, " + std::to_string(four) + ";@%p1 bfi.b32 " +
           "%r10, %r11, %r10, " + std::to_string(shift) + ", 4;\nmma.sp.sync.aligned." + p.of +
           " " + d + ", " + p.a + ", " + p.b + ", " + c + ", %r10, " + std::to_string(selector) +
           ";";
}

const Of of_metadata{.checks = "uninitialised", .block = 32};

TEST(Metadata, OfEveryFourBits) {
    for (const SparseProduct& p : sparse_products)
        for (unsigned four = 0; four < 16; ++four) {
            const bool is_right =
                p.halves ? four == 0b0100 || four == 0b1110 : four % 4 != four / 4;
            const Lines expected =
                is_right ? Lines{} : Lines{(four == 0 ? "~2 metadata-zero, 10" : "2 metadata, 10")};
            EXPECT_EQ(said(sparse_text(p, four, 4, 0), of_metadata, {.lanes = true}), expected)
                << p.of << " " << four;
        }
}

// Every lane that gives some, and every place; no other lane.
TEST(Metadata, OfEveryLaneThatGivesIt) {
    for (const SparseProduct& p : sparse_products)
        for (unsigned selector = 0; selector < 4 / p.given; ++selector)
            for (unsigned lane = 0; lane < 32; ++lane) {
                const bool gives = lane % 4 / p.given == selector;
                for (const unsigned shift : {0u, 12u, 28u})
                    EXPECT_EQ(said(sparse_text(p, 5, lane, shift, selector), of_metadata,
                                   {.lanes = true}),
                              gives ? Lines{"2 metadata, " + hex(uint64_t{1} << lane)} : Lines{})
                        << p.of << " lane " << lane << " selector " << selector;
            }
}

TEST(Metadata, SaysWhereAndWhat) {
    const auto message = [](const SparseProduct& p, unsigned four, unsigned lane, unsigned shift) {
        const Lines all = said(sparse_text(p, four, lane, shift), of_metadata, {.message = true});
        return all.size() == 1 ? all[0] : std::to_string(all.size()) + " findings";
    };
    EXPECT_EQ(message(sparse_products[0], 5, 13, 4),
              "2 metadata: metadata 0b0101 of row 3 of A, group 5 along k, names one place of four "
              "twice");
    EXPECT_EQ(
        message(sparse_products[2], 9, 8, 4),
        "2 metadata: metadata 0b1001 of row 2 of A, group 1 along k, names no element of two");
    EXPECT_EQ(
        message(sparse_products[1], 0, 0, 16),
        "~2 metadata-zero: metadata 0b0000 of row 8 of A, group 0 along k, names one place of four "
        "twice");
}

// Zeros in one row hide nothing of another.
TEST(Metadata, ZerosAreNamedBesideTheRest) {
    std::string text = sparse_text(sparse_products[0], 0, 4, 0);
    text.insert(text.find("\nmma"), "@%p1 mov.u32 %r10, 0xE5E0E5E0;");
    EXPECT_EQ(said(text, of_metadata, {.count = true}), (Lines{"2 metadata", "~2 metadata-zero"}));
}

// What the product leaves in the metadata's own register is not metadata; once a line.
TEST(Metadata, IsReadBeforeTheProductAndNamedOnce) {
    const std::string product =
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r10,%r21,%r22,%r23}, "
        "{%r20,%r20,%r20,%r20}, {%r20,%r20,%r20,%r20}, {%r20,%r20,%r20,%r20}, %r10, 0;";
    EXPECT_EQ(said("mov.u32 %r20, 0; mov.u32 %r10, 0xEEEEEEEE;\n" + product, of_metadata), Lines{});
    const std::string again =
        "mov.u32 %r20, 0; mov.u32 %r30, 0;\nL: mov.f32 %f20, 0f00000000; mov.u32 %r10, 0xE5E5E5E5;"
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r20,%r20}, "
        "{%r20,%r20}, {%f20,%f20,%f20,%f20}, %r10, 1; add.u32 %r30, %r30, 1; "
        "setp.lt.u32 %p1, %r30, 3; @%p1 bra L;";
    EXPECT_EQ(said(again, of_metadata, {.count = true}), Lines{"2 metadata, 3 times"});
}

// By the warps of a warpgroup, each with 16 rows.
TEST(Metadata, OfAWarpgroup) {
    const auto text = [](const std::string& types, unsigned four, unsigned thread, unsigned shift) {
        return "mov.u32 %r20, 0; mov.u32 %r10, 0xEEEEEEEE; setp.eq.u32 %p1, %r1, " +
               std::to_string(thread) + "; mov.u32 %r11, " + std::to_string(four) +
               "; @%p1 bfi.b32 %r10, %r11, %r10, " + std::to_string(shift) +
               ", 4; shr.u32 %r11, %r5, 4; cvt.u64.u32 %rd20, %r11; add.u64 %rd20, %rd20, "
               "0x1000080000; setp.ne.u32 %p2, %r20, %r20;"
               "fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;\n"
               "wgmma.mma_async.sp.sync.aligned.m64n8k" +
               types + " {%f1,%f2,%f3,%f4}, %rd20, %rd20, %r10, 0, %p2, 1, 1" +
               (types.find("tf32") == std::string::npos ? ", 0, 0;" : ";") +
               "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
    };
    const Of of{.checks = "uninitialised", .block = 128};
    EXPECT_EQ(said(text("32.f32.f16.f16", 0xE, 36, 0), of), Lines{});
    EXPECT_EQ(said(text("32.f32.f16.f16", 0xA, 36, 16), of, {.message = true}),
              Lines{"2 metadata: metadata 0b1010 of row 25 of A, group 0 along k, names one place "
                    "of four twice"});
    EXPECT_EQ(said(text("16.f32.tf32.tf32", 0x8, 97, 4), of, {.message = true}),
              Lines{"2 metadata: metadata 0b1000 of row 48 of A, group 5 along k, names no element "
                    "of two"});
    EXPECT_EQ(said(text("16.f32.tf32.tf32", 0x8, 98, 4), of), Lines{});
}

}  // namespace
}  // namespace lockwarp::check
