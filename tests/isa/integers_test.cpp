// SPDX-License-Identifier: Apache-2.0
// Carries, reductions and the integer instructions of newer machines: what is refused, in the
// words of ptxas 13.0, and what the decoded program says.
#include "tests/isa/instances.hpp"
#include "tests/isa/support.hpp"

namespace lockwarp::isa {
namespace {

std::string refusal(const std::string& instruction, const std::string& target,
                    std::string_view version) {
    const Resolved r = resolved(module_with({instruction}, target, version), *arch_named(target));
    return r.diagnostics.empty() ? "" : r.diagnostics[0].message;
}

TEST(Integers, AsTheAssemblerSaid) {
    const struct {
        std::string instruction;
        const char* target;
        const char* version;
        std::string_view message;
    } cases[] = {
        {"add.u16x2 %b32_1, %b32_2, %b32_3;", "sm_89", "9.0",
         "Feature 'add.u16x2' requires .target sm_90 or higher"},
        {"add.u16x2 %b32_1, %b32_2, %b32_3;", "sm_90", "7.8",
         "Feature 'add.u16x2' requires PTX ISA .version 8.0 or later"},
        {"add.u16x2 %b32_1, %b32_2, %b32_3;", "sm_90", "8.0", ""},
        {"min.s16x2 %b32_1, %b32_2, %b32_3;", "sm_90", "7.8",
         "Feature 'min.s16x2' requires PTX ISA .version 8.0 or later"},
        {"min.relu.s16x2 %b32_1, %b32_2, %b32_3;", "sm_89", "8.0",
         "Feature 'min.relu' requires .target sm_90 or higher"},
        {"max.relu.s32 %s32_1, %s32_2, %s32_3;", "sm_89", "9.0",
         "Feature 'max.relu' requires .target sm_90 or higher"},
        {"bmsk.wrap.b32 %b32_1, %b32_2, %b32_3;", "sm_70", "7.5",
         "Feature 'bmsk' requires PTX ISA .version 7.6 or later"},
        {"bmsk.wrap.b32 %b32_1, %b32_2, %b32_3;", "sm_70", "7.6", ""},
        {"szext.clamp.s32 %s32_1, %s32_2, %u32_3;", "sm_70", "7.5",
         "Feature 'szext' requires PTX ISA .version 7.6 or later"},
        {"lop3.or.b32 %b32_1|%pred_1, %b32_2, %b32_3, %b32_4, 5, %pred_2;", "sm_70", "8.1",
         "Feature 'lop3.<BoolOp>' requires PTX ISA .version 8.2 or later"},
        {"lop3.or.b32 %b32_1|%pred_1, %b32_2, %b32_3, %b32_4, 5, %pred_2;", "sm_70", "8.2", ""},
        {"lop3.or.b32 %b32_1, %b32_2, %b32_3, %b32_4, 5, %pred_2;", "sm_90", "9.0",
         "Predicate output expected for instruction 'lop3'"},
        {"lop3.or.b32 %b32_1|_, %b32_2, %b32_3, %b32_4, 5, %pred_2;", "sm_90", "9.0",
         "Predicate output expected for instruction 'lop3'"},
        {"lop3.or.b32 %b32_1|%pred_1, %b32_2, %b32_3, %b32_4, 5;", "sm_90", "9.0",
         "Arguments mismatch for instruction 'lop3'"},
        {"redux.sync.add.u32 %u32_1, %u32_2, %u32_3;", "sm_75", "9.0",
         "Feature 'redux' requires .target sm_80 or higher"},
        {"redux.sync.add.u32 %u32_1, %u32_2, %u32_3;", "sm_80", "7.0", ""},
        {"elect.sync _|%pred_1, %b32_2;", "sm_89", "9.0",
         "Feature 'elect' requires .target sm_90 or higher"},
        {"elect.sync _|%pred_1, 0xffffffff;", "sm_90", "8.0", ""},
        {"elect.sync %b32_1, %b32_2;", "sm_90", "9.0",
         "Predicate output expected for instruction 'elect'"},
        {"elect.sync %b32_1|_, %b32_2;", "sm_90", "9.0",
         "Predicate output expected for instruction 'elect'"},
        {"match.all.sync.b64 _|%pred_1, %b64_2, %b32_3;", "sm_70", "6.0", ""},
        {"match.all.sync.b64 %b32_1|_, %b64_2, %b32_3;", "sm_70", "6.0", ""},
        {"match.all.sync.b64 %b32_1, %b64_2, %b32_3;", "sm_70", "6.0", ""},
        {"bar.red.popc.u32 _, 0, %pred_1;", "sm_90", "9.0",
         "Result discard mode is not allowed for instruction 'bar.red'"},
        {"bar.red.popc.u32 %u32_1, 0, 64, !%pred_1;", "sm_90", "9.0", ""},
        {"bar.red.popc.u32 %u32_1, 0;", "sm_90", "9.0", "Arguments mismatch for instruction 'bar'"},
        {"bar.red.popc.u32 %u32_1, 0, 64, %pred_1, 5;", "sm_90", "9.0",
         "Arguments mismatch for instruction 'bar'"},
        {"mad24.hi.sat.s32 %s32_1, %s32_2, %s32_3, %s32_4;", "sm_70", "6.0", ""},
        {"testp.subnormal.f64 %pred_1, %f64_1;", "sm_70", "6.0", ""},
        {"madc.hi.cc.s64 %s64_1, %s64_2, %s64_3, %s64_4;", "sm_70", "6.0", ""},
    };
    for (const auto& c : cases)
        EXPECT_EQ(refusal(c.instruction, c.target, c.version), c.message)
            << c.instruction << " " << c.target << " " << c.version;
}

TEST(Integers, TheCarryIsASlotWhereItIsUsed) {
    const std::string declared = ".reg .b32 %r<4>;\n";
    EXPECT_EQ(program_of(declared + "add.u32 %r1, %r2, %r3;\n").carry, no_ref);
    const Program p = program_of(declared + "add.cc.u32 %r1, %r2, %r3;\naddc.u32 %r1, %r2, %r3;\n");
    ASSERT_NE(p.carry, no_ref);
    EXPECT_LE(p.carry + 4, p.register_bytes);
    for (const Register& r : p.registers) EXPECT_NE(r.ref, p.carry) << r.name;
    EXPECT_NE(program_of(declared + "subc.u32 %r1, %r2, %r3;\n").carry, no_ref);
}

}  // namespace
}  // namespace lockwarp::isa
