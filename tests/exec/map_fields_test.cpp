// SPDX-License-Identifier: Apache-2.0
// tensormap.replace bit by bit: in maps of nothing but zeros and of nothing but ones, one for each
// lane, its field changes and nothing beside it.
#include <algorithm>

#include "emu/isa/tensor_map.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec::map_fields_test {

namespace {

constexpr size_t bytes = isa::tensor_map_bytes;

void put(Bytes& map, size_t bit, size_t bits, uint64_t value) {
    for (size_t i = 0; i < bits; ++i) {
        uint8_t& byte = map[(bit + i) / 8];
        const auto mask = static_cast<uint8_t>(1u << (bit + i) % 8);
        byte = (value >> i & 1) != 0 ? byte | mask : byte & static_cast<uint8_t>(~mask);
    }
}

// Where the list of fields has them, in its order: a stride has two.
std::vector<isa::TensorMapField> fields_named(std::string_view name) {
    std::vector<isa::TensorMapField> out;
    for (const isa::TensorMapField& f : isa::tensor_map_fields(false))
        if (f.name == name) out.push_back(f);
    return out;
}

// The maps of all lanes after an instruction, of maps of bytes `begin`.
std::vector<Bytes> replaced(const std::string& what, uint8_t begin) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.buffers = {Bytes(32 * bytes, begin), Bytes(128)};
    std::string module = kernel(
        "mul.wide.u32 %rd5, %r1, 128; add.u64 %rd5, %rd5, %rd1; add.u32 %r5, %r1, 3;\n"
        "mul.wide.u32 %rd6, %r1, 0x12345678; shl.b64 %rd6, %rd6, 5;\n"
        "tensormap.replace.tile." +
            what + ";\n",
        {}, "sm_90a");
    module.replace(module.find(".version 8.0"), 12, ".version 8.6");
    const Outcome out = run_well(program_of(module, given.arch), std::move(given));
    std::vector<Bytes> maps;
    for (size_t l = 0; l < 32; ++l) {
        const auto at = out.buffers[0].begin() + static_cast<std::ptrdiff_t>(l * bytes);
        maps.emplace_back(at, at + bytes);
    }
    return maps;
}

TEST(TensormapFields, ChangeAloneInEveryLane) {
    size_t compared = 0;
    const auto check = [&](const std::string& what, const auto& change) {
        for (const uint8_t begin : {uint8_t{0}, uint8_t{0xff}}) {
            const std::vector<Bytes> maps = replaced(what, begin);
            for (uint32_t l = 0; l < 32; ++l) {
                Bytes expected(bytes, begin);
                change(expected, l);
                ASSERT_EQ(maps[l], expected) << what << " in lane " << l << " of " << int{begin};
                ++compared;
            }
        }
    };
    // The values of a lane: of 32 bits, and of 64, a multiple of 16.
    const auto narrow = [](uint32_t l) { return uint64_t{l} + 3; };
    const auto wide = [](uint32_t l) { return uint64_t{l} * 0x12345678 << 5; };
    const auto one = [&](const std::string& field, std::string_view name, uint64_t less) {
        const std::vector<isa::TensorMapField> at = fields_named(name);
        ASSERT_EQ(at.size(), 1u) << name;
        check(field,
              [&](Bytes& map, uint32_t l) { put(map, at[0].bit, at[0].bits, narrow(l) - less); });
    };
    check("global_address.global.b1024.b64 [%rd5], %rd6",
          [&](Bytes& map, uint32_t l) { put(map, 0, 64, wide(l)); });
    one("rank.global.b1024.b32 [%rd5], %r5", "tensorRank", 0);
    for (int i = 0; i < 5; ++i) {
        const std::string n = std::to_string(i), in = "[" + n + "]";
        one("box_dim.global.b1024.b32 [%rd5], " + n + ", %r5", "boxDim" + in, 1);
        one("global_dim.global.b1024.b32 [%rd5], " + n + ", %r5", "globalDim" + in, 1);
        one("element_stride.global.b1024.b32 [%rd5], " + n + ", %r5", "elementStrides" + in, 1);
        if (i == 4) continue;
        const auto at = fields_named("globalStrides" + in);
        ASSERT_EQ(at.size(), 2u);
        check("global_stride.global.b1024.b64 [%rd5], " + n + ", %rd6",
              [&](Bytes& map, uint32_t l) {
                  put(map, at[0].bit, at[0].bits, wide(l) >> 4);
                  put(map, at[1].bit, at[1].bits, wide(l) >> 36);
              });
    }
    const auto constant = [&](const std::string& field, std::string_view name, uint64_t value) {
        const isa::TensorMapField at = fields_named(name)[0];
        check(field + ".global.b1024.b32 [%rd5], " + std::to_string(value),
              [&](Bytes& map, uint32_t) { put(map, at.bit, at.bits, value); });
    };
    for (uint64_t v = 0; v < 3; ++v) constant("interleave_layout", "interleave", v);
    for (uint64_t v = 0; v < 2; ++v) constant("fill_mode", "oobFill", v);
    // A swizzle clears a bit beside it, the mark of others that newer machines have.
    for (uint64_t v = 0; v < 4; ++v)
        check("swizzle_mode.global.b1024.b32 [%rd5], " + std::to_string(v),
              [&](Bytes& map, uint32_t) {
                  put(map, 77, 2, v);
                  put(map, 86, 1, 0);
              });
    // What makes f32 tf32 is set, and never cleared.
    for (const isa::TensorTypeRow& type : isa::tensor_types)
        check(
            "elemtype.global.b1024.b32 [%rd5], " + std::to_string(static_cast<unsigned>(type.type)),
            [&](Bytes& map, uint32_t) {
                put(map, 71, 4, type.field);
                if (type.rounds) put(map, 80, 1, 1);
            });
    EXPECT_GT(compared, 2000u);
}

}  // namespace

}  // namespace lockwarp::exec::map_fields_test
