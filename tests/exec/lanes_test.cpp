// SPDX-License-Identifier: Apache-2.0
// Lane by lane: whose value a shuffle takes, and of which lanes the result is undefined; bytes of
// textures and of tensors that are rounded on their way.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/isa/tensor_map.hpp"
#include "emu/isa/texture.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

struct Undefined {
    void retired(const warp::Retired& e) {
        if (e.program->operations[e.operation].op == isa::Op::shfl) lanes = e.undefined;
    }
    uint32_t lanes = 0;
};

struct Shuffled {
    Words values, in_range;
    uint32_t undefined = 0;
};

// shfl.sync.MODE of 100 + lane among the lanes of `mask` alone; the others keep 7.
Shuffled shuffled(const std::string& mode, uint32_t amount, uint32_t clamp, uint32_t mask) {
    const std::string body =
        "mov.u32 %r2, 1; shl.b32 %r2, %r2, %r1; and.b32 %r2, %r2, " + std::to_string(mask) +
        "; setp.ne.u32 %p1, %r2, 0; add.u32 %r3, %r1, 100; mov.u32 %r4, 7; setp.ne.u32 %p2, 0, 0;\n"
        "@%p1 shfl.sync." +
        mode + ".b32 %r4|%p2, %r3, " + std::to_string(amount) + ", " + std::to_string(clamp) +
        ", " + std::to_string(mask) +
        ";\nselp.u32 %r5, 1, 0, %p2; st.global.v4.u32 [%rd3], {%r4, %r5, %r1, %r1};\n";
    Alone<Undefined> undefined;
    Given given;
    given.observers = {&undefined};
    Shuffled out;
    for (const FourWords& words : wide_results_of(body, {}, given)) {
        out.values.push_back(words[0]);
        out.in_range.push_back(words[1]);
    }
    out.undefined = undefined.listener.lanes;
    return out;
}

// PTX manual, "shfl.sync": the source lane by mode, segment and clamp.
TEST(Shuffle, EveryLaneTakesFromItsSource) {
    for (const uint32_t mask : {0xffffffffu, 0x0000ffffu, 0xfffffffeu, 0x7fffffffu, 0x80000001u})
        for (const uint32_t segment : {0u, 16u, 24u, 28u, 30u, 31u})
            for (const uint32_t amount : {0u, 1u, 2u, 15u, 16u, 17u, 31u})
                for (const std::string mode : {"up", "down", "bfly", "idx"}) {
                    const uint32_t clamp = mode == "up" ? 0 : 31;
                    const Shuffled s = shuffled(mode, amount, segment << 8 | clamp, mask);
                    ASSERT_EQ(s.values.size(), 32u);
                    uint32_t undefined = 0;
                    for (uint32_t l = 0; l < 32; ++l) {
                        if ((mask >> l & 1) == 0) {
                            ASSERT_EQ(s.values[l], 7u);
                            continue;
                        }
                        const auto first = static_cast<int>(l & segment);
                        const auto last = static_cast<int>((l & segment) | (31 & ~segment));
                        const auto lane = static_cast<int>(l), by = static_cast<int>(amount);
                        const int from = mode == "up"     ? lane - by
                                         : mode == "down" ? lane + by
                                         : mode == "bfly"
                                             ? lane ^ by
                                             : first | (by & static_cast<int>(~segment));
                        const bool good = mode == "up" ? from >= first : from <= last;
                        const auto source = static_cast<uint32_t>(good ? from : lane);
                        const bool gives = (mask >> source & 1) != 0;
                        if (!gives) undefined |= 1u << l;
                        if (gives) {
                            ASSERT_EQ(s.values[l], 100 + source)
                                << mode << " " << amount << " " << segment << " lane " << l;
                        }
                        ASSERT_EQ(s.in_range[l], good) << mode << " " << amount << " lane " << l;
                    }
                    ASSERT_EQ(s.undefined, undefined) << mode << " " << amount << " " << mask;
                }
}

// A load by a map of TFLOAT32 rounds to nearest even with 10 bits of fraction; TFLOAT32_FTZ and the
// others as their names say.
TEST(TensorValues, OfTf32AreRounded) {
    const std::pair<uint32_t, uint32_t> rows[] = {
        {0x00000000, 0x00000000}, {0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000},
        {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000}, {0x3f802000, 0x3f802000},
        {0x3f802fff, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3f803001, 0x3f804000},
        {0x3fffffff, 0x40000000}, {0x3fffefff, 0x3fffe000}, {0x7f7fffff, 0x7f800000},
        {0xbf801000, 0xbf800000}, {0xbf803000, 0xbf804000}, {0xff7ff000, 0xff800000},
        {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0x7f800001, 0x7fffe000},
        {0x7fc00000, 0x7fffe000}, {0xffc12345, 0x7fffe000}, {0x00001000, 0x00000000},
        {0x00003000, 0x00004000}, {0x80000fff, 0x80000000}, {0x007fffff, 0x00800000},
    };
    isa::TensorMap m;
    m.type = isa::TensorType::tf32;
    m.rank = 1;
    m.address = buffer_address(0);
    m.dim[0] = std::size(rows);
    m.box[0] = 24;
    ASSERT_EQ(std::size(rows), 24u);
    ASSERT_TRUE(isa::refusals(m).empty());
    Given given;
    given.arch = isa::Arch::sm_90;
    given.buffers = {Bytes(512), Bytes(128)};
    for (size_t i = 0; i < std::size(rows); ++i)
        std::memcpy(given.buffers[0].data() + 4 * i, &rows[i].first, 4);
    const isa::TensorMapBytes map = isa::encode(m);
    std::ranges::copy(map, given.buffers[0].begin() + 256);
    std::string text = kernel(
        "mov.u32 %r2, tile; mov.u32 %r3, 0; add.u64 %rd5, %rd1, 256; setp.ne.u32 %p1, %r1, 0;\n"
        "@%p1 bra issued; mbarrier.init.shared.b64 [bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 96; fence.proxy.async;\n"
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], "
        "[%rd5, {%r3}], [bar];\n"
        "issued: bar.sync 0; wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
        "@!%p2 bra wait; shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n"
        "st.global.u32 [%rd2], %r5;\n",
        ".shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;", "sm_90");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    const Outcome out = run_well(program_of(text, given.arch), given);
    const Words words = words_of(out.buffers[1]);
    for (size_t i = 0; i < std::size(rows); ++i)
        EXPECT_EQ(words[i], rows[i].second) << std::hex << rows[i].first;
}

// Each element that a lookup takes lies in a buffer to its last byte, or it is a trap.
TEST(TextureBytes, LieInTheirBuffer) {
    for (const uint8_t channels : {uint8_t{1}, uint8_t{2}, uint8_t{4}})
        for (const uint8_t bits : {uint8_t{8}, uint8_t{16}, uint8_t{32}}) {
            const uint32_t each = channels * bits / 8u;
            isa::Texture t;
            t.address = buffer_address(0) + 128;
            t.width = 8;
            t.height = 1;
            t.pitch = 8 * each;
            t.slice = t.pitch;
            t.bits = bits;
            t.channels = channels;
            t.kind = isa::TexelKind::unsigned_integer;
            t.elements = true;
            const isa::TextureBytes object = isa::encode(t);
            for (const uint32_t missing : {0u, 1u}) {
                Given given;
                given.buffers = {Bytes(128 + 8 * each - missing), Bytes(4096)};
                std::ranges::copy(object, given.buffers[0].begin());
                const std::string fault = fault_of(
                    run(program_of(kernel("and.b32 %r2, %r1, 7; tex.1d.v4.u32.s32 {%r4, %r5, %r6, "
                                          "%r7}, [%rd1, {%r2}];\n"),
                                   given.arch),
                        given)
                        .result);
                if (missing == 0) {
                    EXPECT_EQ(fault, "") << each;
                } else {
                    EXPECT_TRUE(fault.starts_with("address out of bounds: " + std::to_string(each) +
                                                  " bytes"))
                        << fault;
                    EXPECT_NE(fault.find(", lane 7,"), std::string::npos) << fault;
                }
            }
        }
}

}  // namespace

}  // namespace lockwarp::exec
