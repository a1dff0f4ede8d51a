// SPDX-License-Identifier: Apache-2.0
// Textures, held against what a GPU answered: tests/hardware/sm_90/textures.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <sstream>

#include "emu/exec/sampling.hpp"
#include "tests/hardware/recordings.hpp"
#include "tests/hardware/texture_questions.hpp"

namespace lockwarp::exec {

namespace {

using hardware::Four;
using hardware::Place;
using hardware::Shape;

class OfEmulator : public hardware::Asked {
  public:
    std::vector<Four> at(const hardware::Elements& of, const hardware::Lookup& how, Shape shape,
                         const std::vector<Place>& places) override {
        isa::Texture t;
        t.width = of.width;
        t.height = of.height;
        t.depth = of.depth;
        t.kind = static_cast<isa::TexelKind>(of.format.kind);
        t.bits = static_cast<uint8_t>(of.format.bits);
        t.channels = static_cast<uint8_t>(of.format.channels);
        t.pitch = uint64_t{of.width} * isa::element_bytes(t);
        t.slice = t.pitch * std::max(of.height, 1u);
        t.address = reinterpret_cast<uintptr_t>(of.bytes);
        for (size_t i = 0; i < 3; ++i) t.mode[i] = static_cast<isa::AddressMode>(how.mode[i]);
        t.linear = how.linear;
        t.normalized = how.normalized;
        t.elements = !how.floats;
        const bool gathers = shape == Shape::gathered;
        for (size_t i = 0; i < 4; ++i) t.border[i] = std::bit_cast<uint32_t>(how.border[i]);
        isa::Modifiers m;
        m.dimensions = shape == Shape::box                               ? 3
                       : shape == Shape::line || shape == Shape::element ? 1
                                                                         : 2;
        m.layered = shape == Shape::planes;
        m.cube = shape == Shape::cube;
        const bool integers = shape == Shape::element || shape == Shape::plane_element;
        std::vector<Four> out;
        for (const Place& p : places) {
            std::array<uint32_t, 4> at{};
            size_t next = 0;
            if (m.layered) at[next++] = static_cast<uint32_t>(p.layer);
            for (const float x : {p.x, p.y, p.z})
                at[next++] = integers ? static_cast<uint32_t>(static_cast<int>(x))
                                      : std::bit_cast<uint32_t>(x);
            const Taps taps = gathers ? gathered_of(t, at) : taps_of(t, m, at, integers);
            std::array<const uint8_t*, 8> bytes{};
            for (uint32_t n = 0; n < taps.count; ++n)
                if (taps.tap[n].inside)
                    bytes[n] = reinterpret_cast<const uint8_t*>(taps.tap[n].address);
            out.push_back(gathers ? gathered(t, taps, bytes, "rgba"[p.layer])
                                  : filtered(t, taps, bytes));
        }
        return out;
    }
};

std::map<std::string, std::string> lines_of(const std::string& text) {
    std::map<std::string, std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        const size_t end = line.find(": ");
        out[line.substr(0, end)] = end == std::string::npos ? "" : line.substr(end + 2);
    }
    return out;
}

TEST(TextureAnswers, AreAnH200s) {
    OfEmulator emulator;
    const auto ours = lines_of(hardware::answers(emulator));
    const auto said = lines_of(hardware::read_text("textures.txt"));
    EXPECT_EQ(ours.size(), 335u);
    for (const auto& [question, answer] : ours) {
        const auto its = said.find(question);
        ASSERT_NE(its, said.end()) << question;
        EXPECT_EQ(answer, its->second) << question;
    }
}

}  // namespace

}  // namespace lockwarp::exec
