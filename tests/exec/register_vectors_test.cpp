// SPDX-License-Identifier: Apache-2.0
// Vectors of registers by their names. PTX manual, "Vectors".
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// PTX manual, "Vectors as Operands": elements are .x, .y, .z, .w or .r, .g, .b, .a.
TEST(RegisterVectors, ElementsHaveTwoNames) {
    EXPECT_EQ(wide_results_of(R"(
.reg .v4 .u32 v;
mov.u32 v.x, 1; mov.u32 v.g, 2; mov.u32 v.z, 3; mov.u32 v.a, 4;
st.global.v4.u32 [%rd3], {v.r, v.y, v.b, v.w};
)")[5],
              (FourWords{1, 2, 3, 4}));
}

// As GCC's code for nvptx has them: a name of a vector in place of its elements.
TEST(RegisterVectors, ArePackedAndUnpackedByMov) {
    EXPECT_EQ(wide_results_of(R"(
.reg .v2 .u32 v;
.reg .v4 .b16 h;
.reg .v2 .f32 f;
.reg .f64 d;
mov.v2.u32 v, {0x55667788, 7};
mov.u32 v.y, 0x11223344;
mov.b64 d, v;
mov.b64 h, d;
mov.b32 %r2, {h.w, h.x};
mov.b64 f, d;
mov.b32 %r3, f.y;
mov.b64 %rd9, f;
cvt.u32.u64 %r4, %rd9;
mov.b32 %r5, {h.y, h.z};
st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
)")[3],
              (FourWords{0x77881122, 0x11223344, 0x55667788, 0x33445566}));
}

// A vector of registers by its name, of every width, does what its elements in braces do.
TEST(RegisterVectors, AreLoadedAndStored) {
    const std::string registers =
        ".shared .align 16 .b8 s[32]; .reg .v2 .u64 d; .reg .v2 .b32 w; .reg .v4 .s16 h;\n"
        ".reg .v2 .f64 e; .reg .v2 .s32 x;\n"
        "mov.u64 d.x, 0x1122334455667788; mov.u64 d.y, 0x99aabbccddeeff00;\n"
        "st.shared.v2.u64 [s], {d.x, d.y}; st.shared.v2.u64 [s+16], {d.y, d.x};\n";
    for (const auto& [named, braced] : {
             std::pair("st.shared.v2.u64 [s+16], d;", "st.shared.v2.u64 [s+16], {d.x, d.y};"),
             std::pair("st.shared.v2.u32 [s+8], d;", "st.shared.v2.u32 [s+8], {d.x, d.y};"),
             std::pair("st.shared.v2.u8 [s+8], d;", "st.shared.v2.u8 [s+8], {d.x, d.y};"),
             std::pair("ld.shared.v2.u64 d, [s+16]; st.shared.v2.u64 [s], {d.x, d.y};",
                       "ld.shared.v2.u64 {d.x, d.y}, [s+16]; st.shared.v2.u64 [s], {d.x, d.y};"),
             std::pair("ld.shared.v2.s8 d, [s+14]; st.shared.v2.u64 [s], {d.x, d.y};",
                       "ld.shared.v2.s8 {d.x, d.y}, [s+14]; st.shared.v2.u64 [s], {d.x, d.y};"),
             std::pair("ld.shared.v2.s32 d, [s+24]; st.shared.v2.u64 [s], {d.x, d.y};",
                       "ld.shared.v2.s32 {d.x, d.y}, [s+24]; st.shared.v2.u64 [s], {d.x, d.y};"),
             std::pair("ld.shared.v2.b32 w, [s+24]; st.shared.v2.b32 [s], w;",
                       "ld.shared.v2.b32 {w.x, w.y}, [s+24]; st.shared.v2.b32 [s], {w.x, w.y};"),
             std::pair("ld.shared.v4.s8 h, [s+20]; st.shared.v4.b16 [s+8], h;",
                       "ld.shared.v4.s8 {h.x, h.y, h.z, h.w}, [s+20]; "
                       "st.shared.v4.b16 [s+8], {h.x, h.y, h.z, h.w};"),
             std::pair("ld.shared.v2.s16 x, [s+20]; st.shared.v2.b32 [s+8], x;",
                       "ld.shared.v2.s16 {x.x, x.y}, [s+20]; st.shared.v2.b32 [s+8], {x.x, x.y};"),
             std::pair("ld.shared.v2.f64 e, [s+16]; st.shared.v2.f64 [s], e;",
                       "ld.shared.v2.f64 {e.x, e.y}, [s+16]; st.shared.v2.f64 [s], {e.x, e.y};"),
         }) {
        for (const char* const at : {"s", "s+16"}) {
            const std::string shown = std::string("ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [") + at +
                                      "];\nst.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};\n";
            const auto answer = wide_results_of(registers + named + "\n" + shown);
            EXPECT_EQ(answer, wide_results_of(registers + braced + "\n" + shown)) << named;
            EXPECT_EQ(answer[0], answer[3]) << named;
        }
    }
}

}  // namespace

}  // namespace lockwarp::exec
