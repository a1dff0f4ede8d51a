// SPDX-License-Identifier: Apache-2.0
// The kernel that lies are told of.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "emu/lockwarp.hpp"
#include "launch/case.hpp"

namespace lockwarp::lies {

// Every width of register, predicates, halves of 128 bits, vectors, fragments; two paths of a warp,
// a loop of as many rounds as each lane has (and few, whatever is told), guards.
inline constexpr const char* widths = R"(
.shared .align 16 .b8 tile[1024];
.reg .b16 %h<4>; .reg .b32 %r<32>; .reg .b64 %d<8>; .reg .b128 %q<2>; .reg .f64 %g<3>;
.reg .pred %p<6>; .reg .b32 %a<6>; .reg .b64 %b<4>;
ld.param.u64 %b1, [out];
mov.u32 %a1, %tid.x;
mov.u32 %a2, %ctaid.x;
mad.lo.u32 %a3, %a2, 64, %a1;
mul.wide.u32 %b2, %a3, 16;
add.u64 %b3, %b1, %b2;
and.b32 %a4, %a1, 31;
shl.b32 %a4, %a4, 4;
mov.u32 %a5, tile;
add.u32 %a4, %a4, %a5;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%b3];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 64, %r1;
mul.wide.u32 %d1, %r3, 0x10000001;
ld.global.u64 %d2, [%b3];
add.u64 %d3, %d1, %d2;
cvt.u16.u32 %h1, %r3;
mad.lo.u16 %h2, %h1, 517, 9;
cvt.rn.f64.u32 %g1, %r3;
fma.rn.f64 %g2, %g1, %g1, %g1;
mov.b128 %q1, {%d2, %d3};
setp.lt.u32 %p1|%p2, %r1, 20;
mov.u32 %r8, 5;
@%p1 add.u32 %r8, %r1, 100;
and.b32 %r9, %r1, 15;
LOOP:
add.u32 %r8, %r8, %r3;
setp.ne.u32 %p3, %r9, 0;
sub.u32 %r9, %r9, 1;
and.b32 %r9, %r9, 15;
@%p3 bra LOOP;
@%p2 bra ELSE;
xor.b32 %r10, %r8, 0x55aa;
bra JOIN;
ELSE:
not.b32 %r10, %r8;
popc.b32 %r11, %r10;
JOIN:
bar.sync 0;
shfl.sync.bfly.b32 %r12|%p4, %r10, 5, 31, 0xffffffff;
vote.sync.ballot.b32 %r13, %p1, 0xffffffff;
and.b32 %r16, %r10, 0x3bff3bff;
st.shared.v4.b32 [%a4], {%r16, %r16, %r16, %r16};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r17, %r18, %r19, %r20}, [%a4];
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r21, %r22, %r23, %r24},
 {%r17, %r18, %r19, %r20}, {%r17, %r18}, {%r4, %r5, %r6, %r7};
fma.rn.f16x2 %r25, %r16, %r16, %r16;
selp.b32 %r26, %r21, %r25, %p4;
st.global.v4.b32 [%b3], {%r26, %r12, %r13, %r10};
ret;)";

inline constexpr uint32_t ctas = 3;
inline constexpr uint32_t threads = 64;

inline launch::Case case_of(const std::string& body) {
    ptx::Parsed parsed = ptx::parse(
        ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" +
        body + "\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    launch::Case c;
    c.module = std::move(parsed.module);
    c.entry = "k";
    c.grid = {ctas, 1, 1};
    c.block = {threads, 1, 1};
    c.parameters.resize(8);
    c.patches = {{0, 0, 0}};
    c.names = {"out"};
    c.bytes = {std::vector<uint8_t>(ctas * threads * 16)};
    for (size_t i = 0; i < c.bytes[0].size(); ++i) c.bytes[0][i] = static_cast<uint8_t>(i * 7 % 56);
    return c;
}

}  // namespace lockwarp::lies
