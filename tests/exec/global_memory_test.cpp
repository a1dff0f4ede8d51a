// SPDX-License-Identifier: Apache-2.0
// Buffers of one launch beside those of many.
#include "emu/warp/memory.hpp"

#include <cstring>

#include "tests/exec/support.hpp"

namespace lockwarp::exec::global_memory_test {
namespace {

uint8_t bytes[256];

warp::Buffer buffer(std::string name, uint64_t address, size_t size) {
    return {std::move(name), address, {bytes + address % 128, size}};
}

std::shared_ptr<const warp::Buffers> common(std::vector<warp::Buffer> buffers) {
    auto out = std::make_shared<warp::Buffers>();
    for (warp::Buffer& b : buffers) out->emplace(b.address, b);
    return out;
}

TEST(GlobalMemory, FindsBuffersOfBothKinds) {
    const warp::GlobalMemory memory({buffer("c", 0x3000, 16), buffer("a", 0x1000, 16)},
                                    common({buffer("b", 0x2000, 16), buffer("d", 0x4000, 16)}));
    const auto name = [&](uint64_t address, uint64_t size) {
        const warp::Buffer* const b = memory.find(address, size);
        return b == nullptr ? "" : b->name;
    };
    for (const uint64_t at : {0x1000, 0x2000, 0x3000, 0x4000}) {
        const std::string is{static_cast<char>('a' + at / 0x1000 - 1)};
        EXPECT_EQ(name(at, 16), is);
        EXPECT_EQ(name(at + 15, 1), is);
        EXPECT_EQ(name(at, 17), "");
        EXPECT_EQ(name(at + 9, 8), "");
        EXPECT_EQ(name(at - 1, 1), "");
        EXPECT_EQ(name(at + 16, 1), "");
    }
    EXPECT_EQ(memory.overlap(), "");
}

TEST(GlobalMemory, DescribesAnAddressByTheNearestBufferOfEitherKind) {
    const warp::GlobalMemory one({buffer("a", 0x1000, 16)}, common({buffer("b", 0x2000, 16)}));
    const warp::GlobalMemory other({buffer("b", 0x2000, 16)}, common({buffer("a", 0x1000, 16)}));
    const warp::GlobalMemory alone({buffer("b", 0x2000, 16), buffer("a", 0x1000, 16)}, nullptr);
    for (const warp::GlobalMemory* const memory : {&one, &other, &alone}) {
        EXPECT_EQ(memory->describe(0x0ff8, 4), "8 bytes before buffer 'a'");
        EXPECT_EQ(memory->describe(0x100e, 4),
                  "4 bytes at offset 14 reach past the end of buffer 'a' (16 bytes)");
        EXPECT_EQ(memory->describe(0x1020, 4), "16 bytes past the end of buffer 'a' (16 bytes)");
        EXPECT_EQ(memory->describe(0x1ff8, 4), "8 bytes before buffer 'b'");
        EXPECT_EQ(memory->describe(0x2010, 4), "0 bytes past the end of buffer 'b' (16 bytes)");
    }
    EXPECT_EQ(warp::GlobalMemory({}, common({})).describe(0x1000, 4), "no buffer is near");
}

TEST(GlobalMemory, SaysWhichBuffersOverlap) {
    const std::vector<warp::Buffer> there{buffer("a", 0x1000, 16), buffer("b", 0x1020, 16)};
    const auto said = [&](uint64_t address, size_t size) {
        return warp::GlobalMemory({buffer("own", address, size)}, common(there)).overlap();
    };
    EXPECT_EQ(said(0x0ff0, 16), "");
    EXPECT_EQ(said(0x1010, 16), "");
    EXPECT_EQ(said(0x1030, 16), "");
    EXPECT_EQ(said(0x0ff1, 16), "buffers 'own' and 'a' overlap");
    EXPECT_EQ(said(0x1000, 1), "buffers 'a' and 'own' overlap");
    EXPECT_EQ(said(0x100f, 1), "buffers 'a' and 'own' overlap");
    EXPECT_EQ(said(0x1011, 16), "buffers 'own' and 'b' overlap");
    EXPECT_EQ(said(0x102f, 4), "buffers 'b' and 'own' overlap");
    EXPECT_EQ(warp::GlobalMemory({there[0], buffer("c", 0x1008, 16)}, nullptr).overlap(),
              "buffers 'a' and 'c' overlap");
    EXPECT_EQ(warp::GlobalMemory({buffer("w", ~uint64_t{0}, 2)}, common({})).overlap(),
              "buffer 'w' wraps around the address space");
}

TEST(GlobalMemory, OfALaunchIsThatOfBothKinds) {
    const isa::Program program = program_of(
        kernel("ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd4], %r1;\nret;"), isa::Arch::sm_90);
    for (const bool in_common : {false, true}) {
        Words in{7, 0, 0, 0}, out(4, 0);
        const auto of = [](std::string name, uint64_t address, Words& words) {
            return warp::Buffer{std::move(name),
                                address,
                                {reinterpret_cast<uint8_t*>(words.data()), 4 * words.size()}};
        };
        warp::Launch l;
        l.threads = 1;
        l.buffers = {of("in", buffer_address(0), in)};
        auto rest = std::make_shared<warp::Buffers>();
        rest->emplace(buffer_address(1), of("out", buffer_address(1), out));
        if (in_common) l.common = rest;
        const uint64_t addresses[] = {buffer_address(0), buffer_address(1)};
        l.parameters.resize(sizeof addresses);
        std::memcpy(l.parameters.data(), addresses, sizeof addresses);
        const warp::Result r = launch(program, l);
        ASSERT_FALSE(r.refusal);
        EXPECT_EQ(r.trap.has_value(), !in_common);
        EXPECT_EQ(out[0], in_common ? 7u : 0u);
        const std::vector<const warp::Buffer*> all = warp::buffers_of(l);
        ASSERT_EQ(all.size(), in_common ? 2u : 1u);
        EXPECT_EQ(all[0]->name, "in");
        EXPECT_EQ(all.back()->name, in_common ? "out" : "in");
        if (!in_common) continue;
        l.buffers.push_back(of("more", buffer_address(1) + 8, out));
        const warp::Result refused = launch(program, l);
        ASSERT_TRUE(refused.refusal);
        EXPECT_EQ(refused.refusal->what, "buffers 'out' and 'more' overlap");
    }
}

}  // namespace
}  // namespace lockwarp::exec::global_memory_test
