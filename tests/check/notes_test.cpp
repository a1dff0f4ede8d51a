// SPDX-License-Identifier: Apache-2.0
// Notes of what is not needed or not waited for: bytes of shared memory that nobody accesses, and
// registers of a wgmma that is under way.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check {
namespace {

constexpr uint32_t notes_body = 9;  // of the body

struct Ran {
    uint32_t threads = 1;
    uint32_t ctas = 1;
    uint32_t dynamic_shared = 0;
    const char* shared = "";
};

// The findings of one kind.
std::vector<Finding> found_of(const std::string& check, const std::string& kind,
                              const std::string& body, const Ran& how) {
    const ptx::Parsed parsed =
        ptx::parse(".version 8.3\n.target sm_90a\n.address_size 64\n" + std::string(how.shared) +
                   "\n.visible .entry k(.param .u64 out)\n{\n"
                   ".reg .b32 %r<30>; .reg .b64 %d<9>; .reg .f32 %f<20>; .reg .pred %p<4>;\n"
                   "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" +
                   body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body << parsed.diagnostics[0].message;
    const isa::Resolved r = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << body << r.diagnostics[0].message;
    std::vector<uint8_t> out(4096);
    warp::Launch launch;
    launch.grid.x = how.ctas;
    launch.block.x = how.threads;
    launch.dynamic_shared = how.dynamic_shared;
    launch.threads = 1;
    launch.buffers = {{"out", 0x10000, out}};
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &launch.buffers[0].address, 8);
    const Chosen chosen = choose(check);
    const Checking checking(chosen.rows, r.program, launch, &parsed.module, {});
    const warp::Result result = exec::launch(r.program, launch);
    EXPECT_FALSE(result.refusal || result.trap) << body;
    std::vector<Finding> all;
    for (const Found& f : checking.found(result))
        if (f.finding.kind == kind) all.push_back(f.finding);
    for (Finding& f : all)
        if (f.here.operation)
            f.here.step = r.program.operations[*f.here.operation].place.line - notes_body;
    return all;
}

std::string unused(const std::string& body, const Ran& how) {
    std::string out;
    for (const Finding& f : found_of("performance", "unused-shared", body, how)) {
        EXPECT_EQ(f.severity, Severity::note);
        EXPECT_EQ(f.space, ptx::Space::shared);
        out += f.message + " from " + std::to_string(f.address - 1024) + ", " +
               std::to_string(f.bytes) + "\n";
    }
    return out;
}

TEST(Notes, OfSharedMemoryThatNobodyAccesses) {
    const auto of = [](const std::string& body, Ran how = {}) {
        how.shared = ".shared .align 16 .b8 tile[200];";
        return unused(body, how);
    };
    const std::string tile = "tile: no thread accesses ";
    EXPECT_EQ(of(""), "") << "what a kernel does not name takes none";
    EXPECT_EQ(of("mov.u32 %r5, tile;"), tile + "200 of 200 bytes, at [0x0, 0xc8) from 0, 200\n");
    EXPECT_EQ(of("st.shared.u32 [tile], %r1;"),
              tile + "196 of 200 bytes, at [0x4, 0xc8) from 4, 196\n");
    EXPECT_EQ(of("ld.shared.u8 %r3, [tile+199];"),
              tile + "199 of 200 bytes, at [0x0, 0xc7) from 0, 199\n");
    EXPECT_EQ(of("ld.shared.u64 %d2, [tile+56];"),
              tile + "192 of 200 bytes, at [0x0, 0x38), [0x40, 0xc8) from 0, 192\n");
    EXPECT_EQ(of("ld.shared.u64 %d2, [tile+64]; st.shared.v4.u32 [tile+48], {%r1, %r1, %r1, %r1};"),
              tile + "176 of 200 bytes, at [0x0, 0x30), [0x48, 0xc8) from 0, 176\n");
    // Four places are listed.
    std::string body;
    for (const int at : {0, 10, 20, 30})
        body += "ld.shared.u8 %r3, [tile+" + std::to_string(at) + "];";
    EXPECT_EQ(of(body), tile +
                            "196 of 200 bytes, at [0x1, 0xa), [0xb, 0x14), [0x15, 0x1e), "
                            "[0x1f, 0xc8) from 1, 196\n");
    body += "ld.shared.u8 %r3, [tile+40];";
    EXPECT_EQ(of(body), tile +
                            "195 of 200 bytes, at [0x1, 0xa), [0xb, 0x14), [0x15, 0x1e), "
                            "[0x1f, 0x28) and 1 more from 1, 195\n");
    // By the lanes of a warp, and by all CTAs together.
    EXPECT_EQ(of("shl.b32 %r4, %r1, 2; mov.u32 %r5, tile; add.u32 %r5, %r5, %r4;"
                 "st.shared.u32 [%r5], %r1;",
                 {.threads = 50}),
              "");
    const std::string by_cta =
        "mad.lo.u32 %r4, %r2, 100, %r1; mov.u32 %r5, tile;"
        "add.u32 %r5, %r5, %r4; st.shared.u8 [%r5], %r1;";
    EXPECT_EQ(of(by_cta, {.threads = 100}),
              tile + "100 of 200 bytes, at [0x64, 0xc8) from 100, 100\n");
    EXPECT_EQ(of(by_cta, {.threads = 100, .ctas = 2}), "");
    // Beside as many bytes that the launch gives.
    EXPECT_EQ(of("st.shared.u32 [tile], %r1;", {.dynamic_shared = 208}),
              tile +
                  "196 of 200 bytes, at [0x4, 0xc8) from 4, 196\n"
                  "dynamic shared memory: no thread accesses 208 of 208 bytes, "
                  "at [0x0, 0xd0) from 208, 208\n");
    // By bulk copies.
    EXPECT_EQ(of("cp.async.bulk.global.shared::cta.bulk_group [%d1], [tile+16], 160;"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
              tile + "40 of 200 bytes, at [0x0, 0x10), [0xb0, 0xc8) from 0, 40\n");
}

// A of 64 rows and B of N lines of 32 bytes, one behind the other: all that a product reads counts.
TEST(Notes, OfWhatProductsRead) {
    for (unsigned n = 8; n <= 128; n += 8) {
        std::string d;
        for (unsigned i = 0; i < n / 2; ++i) d += (i == 0 ? "%a" : ", %a") + std::to_string(i);
        const unsigned read = 2048 + 32 * n;
        const std::string body =
            ".reg .f32 %a<64>; mov.u32 %r3, tile; shr.u32 %r3, %r3, 4; cvt.u64.u32 %d2, %r3;"
            "or.b64 %d2, %d2, 0x1000080000; add.u64 %d3, %d2, 128; wgmma.fence.sync.aligned;"
            "wgmma.mma_async.sync.aligned.m64n" +
            std::to_string(n) + "k16.f32.f16.f16 {" + d +
            "}, %d2, %d3, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned;"
            "wgmma.wait_group.sync.aligned 0;";
        const auto of = [&](const std::string& bytes) {
            const std::string shared = ".shared .align 128 .b8 tile[" + bytes + "];";
            return unused(body, {.threads = 128, .shared = shared.c_str()});
        };
        EXPECT_EQ(of(std::to_string(read)), "") << n;
        std::array<char, 64> places{};
        std::snprintf(places.data(), places.size(), "[0x%x, 0x%x)", read, read + 96);
        EXPECT_EQ(of(std::to_string(read + 96)),
                  "tile: no thread accesses 96 of " + std::to_string(read + 96) + " bytes, at " +
                      places.data() + " from " + std::to_string(read) + ", 96\n")
            << n;
    }
}

TEST(Notes, OfTheVariablesThatHaveSuchBytes) {
    const auto of = [](const std::string& body, const char* shared, uint32_t dynamic = 0) {
        return unused(body, {.dynamic_shared = dynamic, .shared = shared});
    };
    const std::string none = " of 16 bytes, at [0x0, 0x10) from ";
    EXPECT_EQ(of("", ""), "");
    const char* const two = ".shared .align 16 .b8 a[16]; .shared .align 16 .b8 b[16];";
    EXPECT_EQ(of("st.shared.u32 [a], %r1; st.shared.u32 [b], %r1;", two),
              "a: no thread accesses 12 of 16 bytes, at [0x4, 0x10) from 4, 12\n"
              "b: no thread accesses 12 of 16 bytes, at [0x4, 0x10) from 20, 12\n");
    const std::string all_of_a = "st.shared.v4.u32 [a], {%r1, %r1, %r1, %r1};";
    EXPECT_EQ(of(all_of_a + "st.shared.u8 [b+15], %r1;", two),
              "b: no thread accesses 15 of 16 bytes, at [0x0, 0xf) from 16, 15\n");
    EXPECT_EQ(of("ld.shared.u32 %r3, [rest+4];", ".extern .shared .align 16 .b8 rest[];", 16),
              "rest: no thread accesses 12 of 16 bytes, at [0x0, 0x4), [0x8, 0x10) from 0, 12\n");
    EXPECT_EQ(of("", "", 16), "dynamic shared memory: no thread accesses 16" + none + "0, 16\n");
}

std::string products(const std::string& body) {
    std::string out;
    const std::string fill =
        "mov.u32 %r8, tile; mov.u64 %d3, 64; mov.u64 %d4, 64; mov.u32 %r4, 0; mov.u32 %r5, 0;"
        "mov.u32 %r6, 0; mov.u32 %r7, 0; mov.f32 %f1, 0f00000000;"
        "mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1; mov.f32 %f5, "
        "%f1; mov.f32 %f6, %f1; mov.f32 %f7, %f1; mov.f32 %f8, %f1;"
        "wgmma.fence.sync.aligned; setp.eq.u32 %p1, %r1, 999;\n";
    for (const Finding& f :
         found_of("all", "product-not-awaited", fill + body,
                  {.threads = 128, .shared = ".shared .align 128 .b8 tile[4096];"})) {
        EXPECT_EQ(f.severity, Severity::note);
        out +=
            std::to_string(f.here.step) + " x" + std::to_string(f.count) + ": " + f.message + "\n";
    }
    return out;
}

TEST(Notes, OfRegistersOfProductsUnderWay) {
    const auto product = [](const std::string& d, bool a_in_registers = false) {
        return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + d + ", " +
               (a_in_registers ? "{%r4, %r5, %r6, %r7}, %d4, 1, 1, 1, 0;\n"
                               : "%d3, %d4, 1, 1, 1, 0, 0;\n");
    };
    const std::string one = "{%f1, %f2, %f3, %f4}", other = "{%f5, %f6, %f7, %f8}";
    const std::string commit = "wgmma.commit_group.sync.aligned;\n";
    const auto wait = [](int n) {
        return "wgmma.wait_group.sync.aligned " + std::to_string(n) + ";\n";
    };
    const std::string use = "add.f32 %f9, %f4, %f4;\n", use_other = "add.f32 %f9, %f5, %f5;\n";
    const auto said = [](int line, const char* of, int product_line) {
        return std::to_string(line) + " x4: touches registers of " + of + " of the wgmma at line " +
               std::to_string(product_line + static_cast<int>(notes_body)) +
               ", which the warp has not waited for\n";
    };
    EXPECT_EQ(products(product(one) + commit + use + wait(0)), said(3, "D", 1));
    EXPECT_EQ(products(product(one) + use + commit + wait(0)), said(2, "D", 1));
    EXPECT_EQ(products(product(one) + commit + "mov.f32 %f4, 0f3f800000;\n" + wait(0)), "");
    EXPECT_EQ(products(product(one) + commit + "add.f32 %f1, %f9, %f9;\n" + wait(0)),
              said(3, "D", 1));
    EXPECT_EQ(products(product(one) + commit + wait(0) + use), "");
    EXPECT_EQ(products(product(one) + commit + "add.f32 %f9, %f10, %f10;\n" + wait(0)), "");
    EXPECT_EQ(products(product(one) + commit + "@%p1 " + use + wait(0)), "");
    // A in registers.
    const std::string changes_a = "add.u32 %r7, %r7, 1;\n";
    EXPECT_EQ(products(product(one, true) + commit + changes_a + wait(0)), said(3, "A", 1));
    EXPECT_EQ(products(product(one) + commit + changes_a + wait(0)), "");
    // Of two groups the older has been waited for; what is in none has not.
    const std::string both = product(one) + commit + product(other) + commit + wait(1);
    EXPECT_EQ(products(both + use + wait(0)), "");
    EXPECT_EQ(products(both + use_other + wait(0)), said(6, "D", 3));
    EXPECT_EQ(products(product(one) + commit + product(other) + wait(0) + use + use_other + commit +
                       wait(0)),
              said(6, "D", 3));
    EXPECT_EQ(products(product(one) + commit + commit + wait(1) + use + wait(0)), "");
}

}  // namespace
}  // namespace lockwarp::check
