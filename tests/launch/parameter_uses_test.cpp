// SPDX-License-Identifier: Apache-2.0
// What is read from a kernel's code about its parameters.
#include "launch/parameter_uses.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "launch/entry.hpp"

namespace lockwarp::launch {
namespace {

// A kernel of two parameters: `p`, of 64 bits or as many bytes, and `q`, of 64 bits.
ptx::Function entry_of(const std::string& body, unsigned bytes = 0) {
    const std::string p = bytes == 0 ? ".u64 p" : ".align 64 .b8 p[" + std::to_string(bytes) + "]";
    const ptx::Parsed parsed = ptx::parse(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .u64 v[4];\n"
        ".visible .entry k(.param " +
        p +
        ", .param .u64 q)\n{\n.reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; "
        ".reg .f32 %f<9>; .reg .pred %p<3>; .shared .b64 bar;\n" +
        body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body << parsed.diagnostics[0].message;
    return *entries(parsed.module).at(0);
}

std::string fields_text(const std::string& body, const std::string& parameter = "p") {
    std::string out;
    for (const ReadField& f : read_fields(entry_of(body, 64), parameter))
        out += (out.empty() ? "" : " ") + std::to_string(f.at) +
               std::string(isa::row(f.type).name) +
               (f.count == 1 ? "" : "x" + std::to_string(f.count)) + (f.pointer ? "*" : "");
    return out;
}

TEST(ParameterUses, FieldsThatAreRead) {
    EXPECT_EQ(fields_text(""), "");
    EXPECT_EQ(fields_text("ld.param.u32 %r1, [p];"), "0.u32");
    EXPECT_EQ(fields_text("ld.param.f32 %f1, [p+8]; ld.param.s32 %r1, [p+4];"), "4.s32 8.f32");
    EXPECT_EQ(fields_text("ld.param.b8 %h1, [p]; ld.param.b16 %h2, [p+2]; ld.param.b32 %r1, [p+4]; "
                          "ld.param.b64 %d1, [p+8];"),
              "0.u8 2.u16 4.u32 8.u64");
    EXPECT_EQ(
        fields_text("ld.param.v2.b32 {%r1, %r2}, [p+8]; ld.param.v4.f32 {%f1, %f2, %f3, %f4}, "
                    "[p+16];"),
        "8.u32x2 16.f32x4");
    EXPECT_EQ(fields_text("ld.param.b128 %q1, [p+16]; ld.param.v2.b128 {%q1, %q2}, [p+32];"),
              "16.u64x2 32.u64x4");
    // Of those that begin together the longest, of those that overlap the first.
    EXPECT_EQ(fields_text("ld.param.u32 %r1, [p]; ld.param.u64 %d1, [p]; ld.param.u8 %h1, [p];"),
              "0.u64");
    EXPECT_EQ(fields_text("ld.param.v2.u32 {%r1, %r2}, [p]; ld.param.u32 %r3, [p+4]; "
                          "ld.param.u32 %r4, [p+8];"),
              "0.u32x2 8.u32");
    EXPECT_EQ(fields_text("ld.param.u32 %r1, [p]; ld.param.v4.u16 {%h1, %h2, %h3, %h3}, [p];"),
              "0.u16x4");
    // Up to its last byte, of each type and count.
    for (const auto& [type, to, bytes] :
         std::initializer_list<std::tuple<const char*, const char*, unsigned>>{
             {"u8", "%h1", 1},
             {"u16", "%h1", 2},
             {"u32", "%r1", 4},
             {"u64", "%d1", 8},
             {"v2.u8", "{%h1, %h2}", 2},
             {"v2.u16", "{%h1, %h2}", 4},
             {"v4.u8", "{%h1, %h2, %h3, %h3}", 4},
             {"v2.u32", "{%r1, %r2}", 8},
             {"v2.u64", "{%d1, %d2}", 16},
             {"v4.u32", "{%r1, %r2, %r3, %r4}", 16}}) {
        const auto count_with = [&, type = type, to = to](unsigned at) {
            const std::string body = std::string("ld.param.") + type + " " + to + ", [p+16]; " +
                                     "ld.param.u8 %h3, [p+" + std::to_string(at) + "];";
            return read_fields(entry_of(body, 64), "p").size();
        };
        EXPECT_EQ(count_with(15), 2u) << type;
        EXPECT_EQ(count_with(16 + bytes - 1), 1u) << type;
        EXPECT_EQ(count_with(16 + bytes), 2u) << type;
    }
    EXPECT_EQ(fields_text("ld.param::entry.u32 %r1, [p+8];"), "8.u32");
    // Of another parameter, before its begin, from another space: not.
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [q];"), "");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [q];", "q"), "0.u64");
    EXPECT_EQ(fields_text("ld.global.u64 %d1, [%d2];"), "");
    EXPECT_EQ(fields_text("ld.global.u32 %r1, [p+4];"), "");
    EXPECT_EQ(fields_text("ld.param.u32 %r1, [p+-4];"), "");
    EXPECT_EQ(fields_text("cvta.param.u64 %d1, p; ld.param.u32 %r1, [%d1+4];"), "");
    // Through a register that has its address.
    EXPECT_EQ(fields_text("mov.b64 %d1, p; ld.param.u32 %r1, [%d1+4];"), "4.u32");
    EXPECT_EQ(fields_text("mov.b64 %d1, p; { ld.param.u32 %r1, [%d1+12]; }"), "12.u32");
    EXPECT_EQ(fields_text("mov.b64 %d1, q; ld.param.u32 %r1, [%d1+4];"), "");
    EXPECT_EQ(fields_text("mov.b64 %d1, p+4; ld.param.u32 %r1, [%d1];"), "");
    EXPECT_EQ(fields_text("ld.param %r1, [p];"), "");
}

TEST(ParameterUses, PointersAreWhatAddressesAreMadeOf) {
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p+8]; cvta.to.global.u64 %d2, %d1;"), "8.u64*");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1+4];"), "0.u64*");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; st.global.u32 [%d1], %r1;"), "0.u64*");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; add.u64 %d2, %d1, 8; ld.global.u32 %r1, [%d2];"),
              "0.u64*");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; mov.u64 %d2, %d1; mov.u64 %d3, %d2; "
                          "ld.global.u32 %r1, [%d3];"),
              "0.u64*");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d2];"), "0.u64");
    EXPECT_EQ(
        fields_text("ld.param.u64 %d1, [p]; mul.lo.u64 %d2, %d1, 8; ld.global.u32 %r1, [%d2];"),
        "0.u64");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; st.shared.u64 [bar], %d1;"), "0.u64");
    EXPECT_EQ(fields_text("ld.param.u32 %r1, [p]; ld.global.u32 %r2, [%r1];"), "0.u32");
    EXPECT_EQ(fields_text("ld.param.v2.u64 {%d1, %d2}, [p]; mov.b64 %d3, {%r1, %r2}; "
                          "ld.global.u32 %r1, [%d3]; ld.global.u32 %r1, [%d1];"),
              "0.u64x2");
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; mov.u64 %d3, %d1; ld.global.u32 %r1, [%d2];"),
              "0.u64");
    // What has no source says nothing.
    EXPECT_EQ(fields_text("ld.param.u64 %d1, [p]; cvta.to.global.u64 %d1; mov.u64 %d1; "
                          "prefetch.global.L1 [%d2];"),
              "0.u64");
}

TEST(ParameterUses, WhatIsOnlyStoredThrough) {
    const std::string p = "ld.param.u64 %d1, [p]; ";
    for (const auto& [body, only] : std::initializer_list<std::pair<std::string, bool>>{
             {"", false},
             {p, false},
             {p + "st.global.u32 [%d1], %r1;", true},
             {"ld.param::entry.u64 %d1, [p]; st.global.u32 [%d1], %r1;", true},
             {p + "cvta.to.global.u64 %d2, %d1; st.global.u32 [%d2+4], %r1;", true},
             {p + "add.u64 %d2, %d1, %d3; { st.global.u32 [%d2], %r1; }", true},
             {p + "add.u64 %d2, %d3, %d1; st.global.v2.u32 [%d2], {%r1, %r2};", true},
             {"st.global.u32 [%d2], %r1; " + p + "mov.u64 %d2, %d1;", true},
             {p + "st.global.u32 [%d1], %r1; ld.global.u32 %r1, [%d1];", false},
             {p + "ld.global.u32 %r1, [%d1];", false},
             {p + "wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%d1], {%d2, %d3}, %r1;", true},
             {p + "wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%d4], {%d1, %d3}, %r1;", false},
             {p + "wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {%d2, %d3}, [%d1], %r1;", false},
             {p + "st.global.u64 [%d2], %d1;", false},
             {p + "st.global.u64 [%d1], %d1;", false},
             {p + "st.global.v2.u64 [%d1], {%d2, %d1};", false},
             {p + "st.global.u32 [%d1], %r1; atom.global.add.u32 %r1, [%d1], 1;", false},
             {p + "st.global.u32 [%d1], %r1; red.global.add.u32 [%d1], 1;", false},
             {p + "st.global.u32 [%d1], %r1; mov.u64 %d4, p;", false},
             {"ld.global.u64 %d1, [p]; st.global.u32 [%d1], %r1;", false},
             {"ld.param.u64 %d1, [p]; ld.u64 %d2, [p]; st.global.u32 [%d1], %r1;", false},
             {"ld.param.u64 %d1, [q]; st.global.u32 [%d1], %r1;", false},
             {p + "st.global.u32 [%d1], %r1; ld.global.u32 %r2, [%d1];", false},
             {p + "st.global.u32 [%d1], %r1; mov.u64 %d1, %d3;", true},
             {p + "st.global.u32 [%d1], %r1; add.u64 %d2, %d3, %d4; ld.global.u32 %r2, [%d2];",
              true},
             {p + "st.global.u32 [%d1], %r1; call f, (%d1);", false},
             {p + "st.global.u32 [%d1], %r1; call (%d2), f, (%d1);", false},
             {p + "st.global.u32 [%d1], %r1; call f, (%d2);", true},
             {"ld.param.v2.u64 {%d1, %d2}, [p]; st.global.u32 [%d2], %r1;", true},
             {"ld.param.v2.u64 {%d1, %d2}, [p]; st.global.u32 [%d1], %r1; "
              "ld.global.u32 %r1, [%d2];",
              false},
             {p + "ld.param.u64 %d2, [q]; st.global.u32 [%d1], %r1; ld.global.u32 %r2, [%d2];",
              true},
         })
        EXPECT_EQ(is_only_stored_through(entry_of(body), "p"), only) << body;
}

std::string maps_text(const std::string& body) {
    std::string out;
    for (const TensorMapUse& u : tensor_map_uses(entry_of(body, 512)))
        out += (out.empty() ? "" : "; ") + u.parameter + "+" + std::to_string(u.at) + " " +
               u.instruction + " " + std::to_string(u.dimensions) + u.mode;
    return out;
}

TEST(ParameterUses, TensorMaps) {
    const std::string name = "cp.async.bulk.tensor";
    const auto load = [&](const std::string& map, unsigned n, const std::string& mode = "") {
        std::string at;
        for (unsigned i = 1; i <= n; ++i) at += (i == 1 ? "%r" : ", %r") + std::to_string(i);
        const std::string offsets = mode == ".im2col" ? ", {%h1}" : "";
        return name + "." + std::to_string(n) + "d.shared::cluster.global" + mode +
               ".mbarrier::complete_tx::bytes [%r8], [" + map + ", {" + at + "}], [bar]" + offsets +
               "; ";
    };
    const auto use = [&](const std::string& place, unsigned n, const std::string& mode) {
        return place + " " + name + "." + std::to_string(n) + "d.shared::cluster.global" +
               (mode == "." ? "" : mode) + ".mbarrier::complete_tx::bytes " + std::to_string(n) +
               (mode == "." ? ".tile" : mode);
    };
    EXPECT_EQ(maps_text(""), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, p; " + load("%d1", 2)), use("p+0", 2, "."));
    for (const unsigned n : {1u, 2u, 3u, 4u, 5u})
        EXPECT_EQ(maps_text("mov.b64 %d1, p; " + load("%d1", n, ".tile")), use("p+0", n, ".tile"));
    EXPECT_EQ(maps_text("mov.b64 %d1, p; " + load("%d1", 3, ".im2col")), use("p+0", 3, ".im2col"));
    EXPECT_EQ(maps_text("mov.b64 %d1, p; cvta.param.u64 %d2, %d1; add.u64 %d3, %d2, 128; " +
                        load("%d3", 2)),
              use("p+128", 2, "."));
    EXPECT_EQ(maps_text("mov.b64 %d1, p+256; { " + load("%d1", 2) + "} " + load("%d1", 1)),
              use("p+256", 2, ".") + "; " + use("p+256", 1, "."));
    EXPECT_EQ(maps_text("prefetch.param.tensormap [p+128]; prefetch.tensormap [%d1]; "
                        "mov.b64 %d1, p+256; prefetch.tensormap [%d1+-64];"),
              "p+128 prefetch.param.tensormap 0; p+256 prefetch.tensormap 0; "
              "p+192 prefetch.tensormap 0");
    // What is added in a register is not known, and what another instruction makes neither.
    EXPECT_EQ(maps_text("mov.b64 %d1, p; add.u64 %d3, %d1, %d2; " + load("%d3", 2)), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, p; sub.u64 %d3, %d1, 128; " + load("%d3", 2)), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, p; shl.b64 %d3, %d1, 1; " + load("%d3", 2)), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, v; " + load("%d1", 2)), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, p; mov.b64 %d1, p+128; " + load("%d1", 2)), "");
    EXPECT_EQ(maps_text("mov.b64 %d1, p; mov.b64 %d1, p; " + load("%d1", 2)), use("p+0", 2, "."));
    EXPECT_EQ(maps_text("mov.b64 %d1, p; ld.global.u32 %r1, [%d1];"), "");
}

}  // namespace
}  // namespace lockwarp::launch
