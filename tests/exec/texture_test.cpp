// SPDX-License-Identifier: Apache-2.0
// tex, suld, sust, txq and suq. PTX manual, "Texture Instructions", "Surface Instructions"; CUDA
// C++ programming guide, "Texture Fetching".
#include <bit>
#include <cstring>

#include "emu/exec/sampling.hpp"
#include "emu/isa/texture.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::texture_test {

namespace {

using isa::AddressMode;
using isa::TexelKind;
using isa::Texture;

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

// The object lies where "in" begins, its elements behind it.
constexpr uint64_t elements_at = buffer_address(0) + isa::texture_bytes;

Texture floats(uint32_t width, uint32_t height = 0, uint32_t depth = 0) {
    Texture t;
    t.address = elements_at;
    t.width = width;
    t.height = height;
    t.depth = depth;
    t.pitch = width * 4;
    t.slice = t.pitch * std::max(height, 1u);
    t.kind = TexelKind::floating;
    t.border = {bits(7), bits(8), bits(9), bits(10)};
    return t;
}

Words with_elements(const Texture& t, const Words& elements) {
    const isa::TextureBytes object = isa::encode(t);
    Words out = words_of(Bytes(object.begin(), object.end()));
    out.insert(out.end(), elements.begin(), elements.end());
    return out;
}

Words counting(uint32_t count) {
    Words out;
    for (uint32_t i = 0; i < count; ++i) out.push_back(bits(static_cast<float>(i)));
    return out;
}

isa::Modifiers shape(uint8_t dimensions, bool layered = false, bool cube = false) {
    isa::Modifiers m;
    m.dimensions = dimensions;
    m.layered = layered;
    m.cube = cube;
    return m;
}

// The elements that a lookup along a line takes, by number; -1 for the border.
std::vector<int> taken(const Texture& t, float x) {
    std::vector<int> out;
    const Taps taps = taps_of(t, shape(1), {bits(x)}, false);
    for (uint32_t i = 0; i < taps.count; ++i)
        out.push_back(taps.tap[i].inside ? static_cast<int>((taps.tap[i].address - t.address) / 4)
                                         : -1);
    return out;
}

TEST(TextureObject, IsWhatItWasEncodedFrom) {
    Texture t = floats(640, 480, 3);
    t.mode = {AddressMode::wrap, AddressMode::mirror, AddressMode::border};
    t.linear = t.normalized = true;
    EXPECT_EQ(isa::decode_texture(isa::encode(t)), t);
    t = Texture{};
    t.is_surface = t.buffer = t.elements = true;
    t.kind = TexelKind::signed_integer;
    t.bits = 8;
    t.channels = 4;
    EXPECT_EQ(isa::decode_texture(isa::encode(t)), t);
    t.faces = isa::Faces::cubes;
    EXPECT_EQ(isa::decode_texture(isa::encode(t)), t);
}

TEST(TextureObject, OtherBytesAreNone) {
    const isa::TextureBytes good = isa::encode(floats(4));
    EXPECT_FALSE(isa::decode_texture(isa::TextureBytes{}));
    size_t refused = 0;
    for (size_t i = 0; i < good.size(); ++i) {
        isa::TextureBytes changed = good;
        changed[i] = 0xee;
        const std::optional<Texture> t = isa::decode_texture(changed);
        refused += !t;
        if (t) {
            EXPECT_LE(isa::element_bytes(*t), 16u);
        }
    }
    EXPECT_EQ(refused, 8u + 12u);  // the mark, and all that not every byte is good for
}

TEST(Sampling, BehindTheLastLayerIsTheLast) {
    for (const uint32_t layers : {0u, 1u, 3u})
        for (const uint32_t layer : {0u, 1u, 2u, 7u, ~0u}) {
            const Texture t = floats(4, 0, layers);
            const Taps taps = taps_of(t, shape(1, true), {layer, bits(2)}, false);
            ASSERT_EQ(taps.count, 1u);
            const uint32_t last = layers == 0 ? 0 : layers - 1;
            EXPECT_EQ((taps.tap[0].address - t.address) / 4, 2 + 4 * std::min(layer, last))
                << layer << " of " << layers;
        }
}

TEST(Sampling, NearestElementByAddressMode) {
    Texture t = floats(4);
    for (const AddressMode mode : {AddressMode::clamp, AddressMode::wrap, AddressMode::mirror}) {
        t.mode[0] = mode;  // that of coordinates that are not normalized is .clamp
        EXPECT_EQ(taken(t, 2.99f), std::vector{2});
        EXPECT_EQ(taken(t, -0.01f), std::vector{0});
        EXPECT_EQ(taken(t, 1e30f), std::vector{3});
    }
    t.mode[0] = AddressMode::border;
    EXPECT_EQ(taken(t, -0.01f), std::vector{-1});
    EXPECT_EQ(taken(t, 4), std::vector{-1});
    t.normalized = true;
    EXPECT_EQ(taken(t, 0.75f), std::vector{3});
    t.mode[0] = AddressMode::wrap;
    EXPECT_EQ(taken(t, 1.25f), std::vector{1});
    EXPECT_EQ(taken(t, -0.25f), std::vector{3});
    t.mode[0] = AddressMode::mirror;
    EXPECT_EQ(taken(t, 1.125f), std::vector{3});
    EXPECT_EQ(taken(t, -0.375f), std::vector{1});
    EXPECT_EQ(taken(t, 2.3f), std::vector{1});
}

TEST(Sampling, LinearWeightsAreOf256) {
    Texture t = floats(4);
    t.linear = true;
    for (const float x : {1.5f, 1.75f, 1.998f, 1.9981f, 2.4f}) {
        const Taps taps = taps_of(t, shape(1), {bits(x)}, false);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < taps.count; ++i) sum += taps.tap[i].weight;
        EXPECT_TRUE(taps.filtered);
        EXPECT_EQ(sum, 256u) << x;
    }
    EXPECT_EQ(taken(t, 1.5f), std::vector{1});
    EXPECT_EQ(taken(t, 2.0f), (std::vector{1, 2}));
    EXPECT_EQ(taken(t, 2.499f), std::vector{2});  // its fraction is nearer to the next
    EXPECT_EQ(taken(t, 0), std::vector{0});       // before the middle of the first
    t.mode[0] = AddressMode::border;
    EXPECT_EQ(taken(t, 0), std::vector({-1, 0}));
    const Taps corner = taps_of(floats(4), shape(3), {}, false);
    EXPECT_EQ(corner.count, 1u);
    t = floats(4, 4, 4);
    t.linear = true;
    const Taps all = taps_of(t, shape(3), {bits(1.75f), bits(2), bits(2.25f)}, false);
    EXPECT_EQ(all.count, 8u);
    uint32_t sum = 0;
    for (const Tap& tap : all.tap) sum += tap.weight;
    EXPECT_EQ(sum, 256u);
}

TEST(Sampling, ElementsOfEveryFormat) {
    const uint32_t bytes[] = {0xff80007f, 0xc0003c00, 0x80017fff, 0x3f800000};
    const auto* const at = reinterpret_cast<const uint8_t*>(bytes);
    const auto given = [&](TexelKind kind, uint8_t width, uint8_t channels, bool elements,
                           size_t first) {
        Texture t;
        t.kind = kind;
        t.bits = width;
        t.channels = channels;
        t.elements = elements;
        Taps one;
        one.count = 1;
        return filtered(t, one, {at + first});
    };
    using Four = std::array<uint32_t, 4>;
    EXPECT_EQ(given(TexelKind::unsigned_integer, 8, 4, true, 0), (Four{0x7f, 0, 0x80, 0xff}));
    EXPECT_EQ(given(TexelKind::signed_integer, 8, 4, true, 0),
              (Four{0x7f, 0, 0xffffff80, 0xffffffff}));
    EXPECT_EQ(given(TexelKind::unsigned_integer, 8, 4, false, 0),
              (Four{bits(127.0f / 255), 0, bits(128.0f / 255), bits(1)}));
    EXPECT_EQ(given(TexelKind::signed_integer, 8, 4, false, 0),
              (Four{bits(1), 0, bits(-1), bits(-1.0f / 127)}));
    EXPECT_EQ(given(TexelKind::signed_integer, 16, 2, false, 8), (Four{bits(1), bits(-1), 0, 0}));
    EXPECT_EQ(given(TexelKind::floating, 16, 2, true, 4), (Four{bits(1), bits(-2), 0, 0}));
    EXPECT_EQ(given(TexelKind::floating, 32, 1, true, 12), (Four{bits(1), 0, 0, 0}));
    EXPECT_EQ(given(TexelKind::unsigned_integer, 32, 1, false, 12), (Four{0x3f800000, 0, 0, 0}));
}

TEST(Sampling, AFaceOfACubeForEachDirection) {
    const Texture t = floats(3, 3, 12);
    const auto at = [&](float x, float y, float z) {
        const Taps taps = taps_of(t, shape(2, true, true), {1, bits(x), bits(y), bits(z)}, false);
        const uint64_t element = (taps.tap[0].address - t.address) / 4;
        return std::array<uint64_t, 3>{element / 9, element % 3, element / 3 % 3};
    };
    using Place = std::array<uint64_t, 3>;
    EXPECT_EQ(at(1, 0, 0), (Place{6, 1, 1}));
    EXPECT_EQ(at(-2, 1.5f, -1.5f), (Place{7, 0, 0}));
    EXPECT_EQ(at(0.9f, 1, 0.9f), (Place{8, 2, 2}));
    EXPECT_EQ(at(0.9f, -1, 0.9f), (Place{9, 2, 0}));
    EXPECT_EQ(at(0.9f, 0, 1), (Place{10, 2, 1}));
    EXPECT_EQ(at(0.9f, 0, -1), (Place{11, 0, 1}));
}

// Each thread looks up its own place.
TEST(Tex, GivesWhatEachThreadAsksFor) {
    const Words in = with_elements(floats(8, 4), counting(32));
    const std::string place =
        "and.b32 %r8, %r1, 7;\nshr.u32 %r9, %r1, 3;\n"
        "cvt.rn.f32.u32 %f1, %r8;\ncvt.rn.f32.u32 %f2, %r9;\n";
    const std::string store = "st.global.u32 [%rd2], %r10;\n";
    const Words expected = counting(32);
    for (const char* const tex :
         {"tex.2d.v4.f32.f32 {%r10, %r11, %r12, %r13}, [%rd1, {%f1, %f2}];\n",
          "tex.2d.v4.s32.s32 {%r10, %r11, %r12, %r13}, [%rd1, {%r8, %r9}];\n",
          "tex.level.2d.v4.u32.f32 {%r10, _, _, _}, [%rd1, {%f1, %f2}], %f2;\n",
          "mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r1, 32;\n"
          "@%p1 tex.2d.v4.f32.f32 {%r10, _, _, _}, [%rd1, {%f1, %f2}];\n"})
        EXPECT_EQ(results_of(place + tex + store, in), expected) << tex;
}

TEST(Tex, OfLinearMemoryIsZeroOutside) {
    Texture t = floats(5);
    t.buffer = true;
    const Words out = results_of(
        "sub.s32 %r8, %r1, 2;\n"
        "tex.1d.v4.f32.s32 {%r10, _, _, _}, [%rd1, {%r8}];\nst.global.u32 [%rd2], %r10;\n",
        with_elements(t, Words{bits(1), bits(2), bits(3), bits(4), bits(5), bits(6)}));
    for (uint32_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(out[i], i < 2 || i > 6 ? 0 : bits(static_cast<float>(i - 1))) << i;
}

TEST(Tex, LayersAreClamped) {
    const Words in = with_elements(floats(4, 2, 3), counting(24));
    const Words out = results_of(
        "mov.f32 %f1, 0f40000000;\nmov.f32 %f2, 0f3F800000;\n"
        "tex.a2d.v4.f32.f32 {%r10, _, _, _}, [%rd1, {%r1, %f1, %f2, %f2}];\n"
        "st.global.u32 [%rd2], %r10;\n",
        in);
    for (uint32_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(out[i], bits(static_cast<float>(6 + 8 * std::min(i, 2u)))) << i;
}

TEST(Tex, OfWhatIsNoObjectTraps) {
    const std::string tex = "tex.1d.v4.f32.f32 {%r10, _, _, _}, [%rd8, {%f1}];\n";
    Given none;
    EXPECT_NE(fault_of_body("mov.u64 %rd8, 16;\n" + tex, none).find("no texture object"),
              std::string::npos);
    EXPECT_NE(fault_of_body("mov.u64 %rd8, %rd4;\n" + tex, none).find("no texture object"),
              std::string::npos);
}

Texture surface(uint32_t width, uint32_t height, uint32_t depth = 0) {
    Texture t = floats(width, height, depth);
    t.is_surface = true;
    return t;
}

TEST(Suld, ReadsBytesAtTheirPlace) {
    const Words in = with_elements(surface(4, 2), {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
                                                   0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c});
    const auto read = [&](const std::string& load) {
        return results_of("mov.u32 %r8, 6;\nmov.u32 %r9, 1;\nmov.u32 %r7, 8;\nmov.u32 %r6, -4;\n" +
                              load + "st.global.u32 [%rd2], %r10;\n",
                          in)[5];
    };
    EXPECT_EQ(read("suld.b.2d.b8.trap %r10, [%rd1, {%r8, %r9}];\n"), 0x16u);
    EXPECT_EQ(read("suld.b.2d.b16.trap {%r10}, [%rd1, {%r8, %r9}];\n"), 0x1716u);
    EXPECT_EQ(read("suld.b.2d.v2.b32.trap {%r11, %r10}, [%rd1, {%r7, %r9}];\n"), 0x1f1e1d1cu);
    EXPECT_EQ(read("suld.b.2d.b64.trap %rd9, [%rd1, {%r7, %r9}];\nshr.u64 %rd9, %rd9, 32;\n"
                   "cvt.u32.u64 %r10, %rd9;\n"),
              0x1f1e1d1cu);
    EXPECT_EQ(read("suld.b.2d.b32.zero %r10, [%rd1, {%r6, %r9}];\n"), 0u);
    EXPECT_EQ(read("suld.b.2d.b32.clamp %r10, [%rd1, {%r6, %r7}];\n"), 0x13121110u);
}

TEST(Sust, WritesInsideAndNowhereElse) {
    const auto after = [&](const std::string& store) {
        const Words in = with_elements(surface(2, 2), {1, 2, 3, 4});
        const Words out = results_of(
            "mov.u32 %r8, 8;\nmov.u32 %r9, 1;\nmov.u32 %r7, 4;\nmov.u32 %r6, 99;\n"
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra done;\n" +
                store +
                "done: bar.warp.sync -1;\nand.b32 %r5, %r1, 3;\nmul.wide.u32 %rd9, %r5, 4;\n"
                "add.u64 %rd9, %rd9, %rd1;\nld.global.u32 %r10, [%rd9+128];\n"
                "st.global.u32 [%rd2], %r10;\n",
            in);
        return Words(out.begin(), out.begin() + 4);
    };
    EXPECT_EQ(after("sust.b.2d.b32.trap [%rd1, {%r7, %r9}], %r6;\n"), (Words{1, 2, 3, 99}));
    EXPECT_EQ(after("sust.b.2d.b8.trap [%rd1, {%r9, %r9}], {%r6};\n"),
              (Words{1, 2, 3 + (99 << 8), 4}));
    EXPECT_EQ(after("sust.b.2d.b32.zero [%rd1, {%r8, %r9}], %r6;\n"), (Words{1, 2, 3, 4}));
    EXPECT_EQ(after("sust.b.2d.b32.clamp [%rd1, {%r8, %r8}], %r6;\n"), (Words{1, 2, 3, 99}));
}

TEST(Sust, OutsideOrMisalignedTraps) {
    const Words object = with_elements(surface(2, 2), {1, 2, 3, 4});
    const auto trap = [&](const std::string& body) {
        Given g;
        g.buffers = {bytes_of(object), Bytes(4 * 32)};
        return fault_of(run(program_of(kernel(body), isa::Arch::sm_80), g).result);
    };
    const std::string set = "mov.u32 %r8, 8;\nmov.u32 %r9, 1;\nmov.u32 %r7, 0;\n";
    EXPECT_NE(trap(set + "sust.b.2d.b32.trap [%rd1, {%r8, %r9}], %r6;\n").find("lie outside"),
              std::string::npos);
    EXPECT_NE(trap(set + "sust.b.2d.b32.trap [%rd1, {%r7, %r8}], %r6;\n").find("lie outside"),
              std::string::npos);
    EXPECT_NE(trap(set + "sust.b.2d.b32.zero [%rd1, {%r9, %r9}], %r6;\n").find("misaligned"),
              std::string::npos);
    EXPECT_EQ(trap(set + "sust.b.2d.b32.trap [%rd1, {%r7, %r9}], %r6;\n"), "");
    // Of lanes 0 to 2 the last lies outside: none stores anything.
    Given g;
    g.buffers = {bytes_of(object), Bytes(4 * 32)};
    const Outcome o = run(program_of(kernel("shl.b32 %r8, %r1, 2;\nmov.u32 %r9, 1;\n"
                                            "setp.lt.u32 %p1, %r1, 3;\n"
                                            "@%p1 sust.b.2d.b32.trap [%rd1, {%r8, %r9}], %r9;\n"),
                                     isa::Arch::sm_80),
                          g);
    EXPECT_NE(fault_of(o.result).find("lie outside"), std::string::npos);
    EXPECT_EQ(words_of(o.buffers[0]), object);
}

// An H200 (driver 580.159.04, 2026-11-27), by objects of CUDA's runtime.
TEST(Query, OfObjects) {
    struct Row {
        uint32_t width, height, depth;
        isa::Faces faces;
        bool buffer;
        Words texture, surface;
    };
    constexpr isa::Faces none = isa::Faces::none;
    for (const Row& r : {Row{17, 0, 0, none, false, {17, 1, 0}, {17, 0, 0}},
                         Row{17, 9, 0, none, false, {17, 9, 0}, {17, 9, 0}},
                         Row{17, 9, 5, none, false, {17, 9, 5}, {17, 9, 5}},
                         Row{17, 0, 6, none, false, {17, 6, 0}, {17, 6, 0}},  // layers
                         Row{17, 9, 6, none, false, {17, 9, 6}, {17, 9, 6}},  // layers
                         Row{12, 12, 6, isa::Faces::cube, false, {12, 12, 0}, {12, 12, 6}},
                         Row{12, 12, 12, isa::Faces::cubes, false, {12, 12, 2}, {12, 12, 12}},
                         Row{12, 12, 6, isa::Faces::cubes, false, {12, 12, 1}, {12, 12, 6}},
                         Row{77, 0, 0, none, true, {77, 0, 0}, {}}}) {
        for (const bool surface : {false, true}) {
            const Words& expected = surface ? r.surface : r.texture;
            if (expected.empty()) continue;
            Texture t = floats(r.width, r.height, r.depth);
            t.faces = r.faces;
            t.buffer = r.buffer;
            t.is_surface = surface;
            // Either asks of either.
            for (const std::string q : {"txq", "suq"}) {
                const auto out = wide_results_of(
                    q + ".width.b32 %r4, [%rd1];\n" + q + ".height.b32 %r5, [%rd1];\n" + q +
                        ".depth.b32 %r6, [%rd1];\n"
                        "st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r1};",
                    with_elements(t, {}));
                for (const uint32_t lane : {0u, 17u, 31u})
                    EXPECT_EQ(Words(out[lane].begin(), out[lane].end()),
                              Words({expected[0], expected[1], expected[2], lane}))
                        << q << " " << r.width << " " << r.height << " " << r.depth;
            }
        }
    }
}

TEST(Query, OfALevel) {
    Texture t = floats(16, 8, 4);
    const Words out = results_of(R"(
and.b32 %r2, %r1, 1;
txq.level.depth.b32 %r3, [%rd1], %r2;
st.global.u32 [%rd2], %r3;
)",
                                 with_elements(t, {}));
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane % 2 == 0 ? 4u : 0u);
}

TEST(Query, OfLanesThatAreThere) {
    const Words out = results_of(R"(
mov.u32 %r3, 5;
setp.lt.u32 %p1, %r1, 3;
@%p1 txq.width.b32 %r3, [%rd1];
st.global.u32 [%rd2], %r3;
)",
                                 with_elements(floats(16), {}));
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 3 ? 16u : 5u);
}

TEST(Query, OfWhatIsNone) {
    Given given;
    given.buffers = {bytes_of(with_elements(floats(4), {})), Bytes(4096)};
    const std::string none = "address out of bounds: no texture or surface object has this handle";
    for (const char* query : {"txq.width.b32 %r2, [%rd4];", "suq.width.b32 %r2, [%rd4];"})
        EXPECT_TRUE(fault_of_body(query, given).starts_with(none)) << query;
    EXPECT_TRUE(fault_of_body("suld.b.1d.b32.trap %r2, [%rd1, {%r3}];", given)
                    .starts_with("address out of bounds: no surface object has this handle"));
}

}  // namespace

}  // namespace lockwarp::exec::texture_test
