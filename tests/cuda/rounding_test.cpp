// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/rounding.hpp"

#include <gtest/gtest.h>

#include "cuda/names.hpp"

namespace lockwarp {
namespace {

using beside::code_of;
using beside::with_rounding;
using beside::without_printing;
using cuda::brief;
using cuda::plain;

TEST(Rounding, IsWrittenWhereACompilerMayFuse) {
    EXPECT_EQ(with_rounding("{ mul.f32 %f0, %f1, %f2;\n\t@%p add.ftz.sat.f32 %f3, %f0, 0f0; }"),
              "{ mul.rn.f32 %f0, %f1, %f2;\n\t@%p add.rn.ftz.sat.f32 %f3, %f0, 0f0; }");
    for (const char* const word :
         {"sub.f64", "mul.f16", "add.f16x2", "mul.bf16", "sub.bf16x2", "mul.ftz.f32"}) {
        const std::string text = " " + std::string(word) + " a, b, c;";
        EXPECT_EQ(with_rounding(text),
                  " " + std::string(word).substr(0, 3) + ".rn" + text.substr(4));
    }
    // A rounding stands there, no floating point, another instruction, a name.
    for (const char* const text :
         {" mul.rn.f32 a, b, c;", " add.rz.ftz.f32 a, b, c;", " sub.rm.f64 a, b, c;",
          " add.s32 a, b, c;", " mul.wide.u32 a, b, c;", " fma.rn.f32 a, b, c, d;",
          " atom.global.add.f32 a, [b], c;", " red.add.f32 [a], b;", " ld.f32 add.f32, [a];", ""})
        EXPECT_EQ(with_rounding(text), "") << text;
}

TEST(Rounding, CodeIsTheKernelsAndOfAllFunctions) {
    constexpr const char* text =
        ".extern .func f(.param .b64 x);\n.func g()\n{\n { one; }\n ret;\n}\n"
        ".visible .entry first(.param .u64 p)\n.maxntid 32\n{\n two;\n}\n"
        ".entry second()\n{\n three;\n}\n";
    const std::string code = code_of(text, "second");
    EXPECT_NE(code.find("one;"), std::string::npos) << code;
    EXPECT_EQ(code.find("two;"), std::string::npos) << code;
    EXPECT_NE(code.find("three;"), std::string::npos) << code;
    EXPECT_EQ(code.find(".func f"), std::string::npos) << code;  // vprintf stands in many modules
    EXPECT_NE(code_of(text, "first").find("two;"), std::string::npos);
    EXPECT_EQ(code_of(".entry cut() { one; ", "cut"), ".entry cut() { one; ");
}

TEST(Rounding, PrintingIsLeftOut) {
    const std::string text =
        ".extern .func other;\n.extern .func (.param .b32 r) vprintf\n(\n.param .b64 a,\n"
        ".param .b64 b\n)\n;\n.func f()\n{\n call.uni (r), vprintf, (a, b);\n}\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        "{ call (r), vprintf, (a, b); mov.b64 %vprintf, my_vprintf; mov.b64 a, vprintf2; }";
    const std::string silent = without_printing(text);
    EXPECT_TRUE(
        silent.starts_with(".extern .func other;\n.func (.param .b32 lockwarp_r) "
                           "lockwarp_silent_vprintf("))
        << silent;
    EXPECT_TRUE(silent.ends_with(
        "}\n\n.func f()\n{\n call.uni (r), lockwarp_silent_vprintf, (a, b);\n}\n\n"
        "{ call (r), lockwarp_silent_vprintf, (a, b); mov.b64 %vprintf, my_vprintf; "
        "mov.b64 a, vprintf2; }"))
        << silent;
    EXPECT_EQ(without_printing("call (r), vprintf"), "call (r), lockwarp_silent_vprintf");
    EXPECT_EQ(without_printing("vprintf;"), "lockwarp_silent_vprintf;");
    EXPECT_EQ(without_printing(".extern .func vprintf"), ".extern .func lockwarp_silent_vprintf");
    EXPECT_EQ(without_printing("vprintfs; my_vprintf;"), "");
}

TEST(Names, LongOnesAreCut) {
    EXPECT_EQ(plain("_Z5scalePfi"), "scale(float*, int)");
    EXPECT_EQ(brief("_Z5scalePfi"), "scale(float*, int)");
    EXPECT_EQ(brief("twice"), "twice");
    const std::string letters(70, 'x');
    EXPECT_EQ(brief(letters), letters.substr(0, 61) + "...");
    // void scale<float, double, ...>(float*, ...): without its result and parameters.
    const std::string many = "_Z5scaleIfdEvT_PS0_PKS0_S1_S3_S1_S3_S1_S3_S1_S3_T0_";
    EXPECT_GT(plain(many).size(), 64u);
    EXPECT_EQ(brief(many), "scale<float, double>");
    EXPECT_LE(brief(many).size(), 64u);
}

}  // namespace
}  // namespace lockwarp
