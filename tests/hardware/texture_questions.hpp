// SPDX-License-Identifier: Apache-2.0
// What CUDA's documents leave open about textures, as questions: how filters round, what lies at
// edges and outside, what channels that are not there hold, what is gathered.
// scripts/ask_textures.cu asks a GPU, the tests ask the emulator, and hold it against
// sm_90/textures.txt, which an H200 answered.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::hardware {

struct Place {
    float x = 0, y = 0, z = 0;
    int layer = 0;
};

// The bits of a lookup's four results.
using Four = std::array<uint32_t, 4>;

// tex.1d, .2d, .3d, .a2d, .cube with .f32 coordinates; .1d and .2d with .s32; tld4.2d, of the
// component of the layer's number.
enum class Shape { line, plane, box, planes, cube, element, plane_element, gathered };

enum class Kind { unsigned_integer, signed_integer, floating };
struct Format {
    Kind kind = Kind::floating;
    unsigned bits = 32, channels = 1;
};

enum class Arrangement { plain, layered, cube };
struct Elements {
    Format format;
    uint32_t width = 1, height = 0, depth = 0;
    Arrangement arrangement = Arrangement::plain;
    const void* bytes = nullptr;
};

enum class Mode { wrap, clamp, mirror, border };  // as CUDA numbers them
struct Lookup {
    std::array<Mode, 3> mode{Mode::clamp, Mode::clamp, Mode::clamp};
    bool linear = false, normalized = false, floats = false;
    std::array<float, 4> border{0.25f, 0.5f, 0.75f, 1.5f};

    void set_mode(Mode m) { mode = {m, m, m}; }
};

class Asked {
  public:
    virtual ~Asked() = default;
    virtual std::vector<Four> at(const Elements& of, const Lookup& how, Shape shape,
                                 const std::vector<Place>& places) = 0;
};

// A line for each question. all: every answer, where otherwise many are told by a digest.
std::string answers(Asked& asked, bool all = false);

}  // namespace lockwarp::hardware
