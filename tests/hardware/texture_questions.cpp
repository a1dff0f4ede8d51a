// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/texture_questions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

namespace lockwarp::hardware {

namespace {

uint32_t bits_of(float f) {
    uint32_t out = 0;
    std::memcpy(&out, &f, sizeof out);
    return out;
}

std::string hex(uint32_t n) {
    char text[16];
    std::snprintf(text, sizeof text, "%x", n);
    return text;
}

class Questions {
  public:
    Questions(Asked& asked, bool all) : asked_(asked), all_(all) {}

    std::string all() {
        weights();
        sums();
        integers<uint8_t>("u8", Kind::unsigned_integer, 255);
        integers<int8_t>("s8", Kind::signed_integer, 127);
        integers<uint16_t>("u16", Kind::unsigned_integer, 65535);
        integers<int16_t>("s16", Kind::signed_integer, 32767);
        halves();
        channels();
        edges();
        many_sums();
        many_integers();
        odd_floats();
        odd_halves();
        borders();
        many_edges();
        many_directions();
        gathers();
        filtered_elements();
        return out_;
    }

  private:
    Asked& asked_;
    bool all_;
    std::string out_;

    // All answers, so many channels of each.
    void print(const std::string& question, const std::vector<Four>& answers,
               unsigned channels = 1) {
        out_ += question + ":";
        for (const Four& a : answers) {
            out_ += ' ';
            for (unsigned c = 0; c < channels; ++c) out_ += (c == 0 ? "" : ",") + hex(a[c]);
        }
        out_ += '\n';
    }

    // A long answer: where it changes, or how often and where first it is not what is expected.
    void print_changes(const std::string& question, const std::vector<Place>& at,
                       const std::vector<Four>& answers) {
        out_ += question + ":";
        for (size_t i = 0; i < at.size(); ++i)
            if (i == 0 || answers[i][0] != answers[i - 1][0])
                out_ += " " + hex(bits_of(at[i].x)) + ">" + hex(answers[i][0]);
        out_ += '\n';
    }

    void print_differences(const std::string& question, const std::vector<float>& expected,
                           const std::vector<Four>& answers) {
        size_t different = 0;
        std::string first;
        for (size_t i = 0; i < expected.size(); ++i) {
            const uint32_t bits = bits_of(expected[i]);
            if (bits == answers[i][0]) continue;
            if (different++ < 16)
                first += " " + hex(static_cast<uint32_t>(i)) + ":" + hex(bits) + "," +
                         hex(answers[i][0]);
        }
        out_ += question + ": " + std::to_string(different) + " of " +
                std::to_string(expected.size()) + " differ" + first + "\n";
    }

    // One digest for each 64 answers, the first of which are told.
    void print_many(const std::string& question, const std::vector<Four>& answers) {
        if (all_) return print(question, answers);
        out_ += question + ":";
        for (size_t i = 0; i < answers.size(); i += 64) {
            uint32_t digest = 2166136261u;
            for (size_t k = i; k < std::min(answers.size(), i + 64); ++k)
                digest = (digest ^ answers[k][0]) * 16777619u;
            out_ += " " + hex(digest);
        }
        out_ += '\n';
    }

    static Elements line_of(const float* values, size_t n) {
        return {{}, static_cast<uint32_t>(n), 0, 0, Arrangement::plain, values};
    }
    static Elements plane_of(const void* values, uint32_t width, uint32_t height,
                             const Format& format = {}) {
        return {format, width, height, 0, Arrangement::plain, values};
    }
    static Elements box_of(const void* values, uint32_t width, uint32_t height, uint32_t depth,
                           const Format& format = {}) {
        return {format, width, height, depth, Arrangement::plain, values};
    }

    void weights() {
        const float ends[] = {0, 1};
        const Elements t = line_of(ends, 2);
        Lookup linear;
        linear.linear = true;
        std::vector<Place> at;
        for (int i = -64; i <= 4160; ++i) at.push_back({0.5f + float(i) / 4096});
        print_changes("weights, x by 2^-12", at, asked_.at(t, linear, Shape::line, at));
        at.clear();
        for (int i = -256; i <= 256; ++i) at.push_back({1.0f + float(i) / (1 << 22)});
        print_changes("weights, x about 1 by 2^-22", at, asked_.at(t, linear, Shape::line, at));
        linear.normalized = true;
        at.clear();
        for (int i = 0; i <= 4096; ++i) at.push_back({0.25f + float(i) / 8192});
        print_changes("weights, normalized x by 2^-13", at, asked_.at(t, linear, Shape::line, at));
        std::vector<float> many(1000);
        for (size_t i = 0; i < many.size(); ++i) many[i] = float(i & 1);
        at.clear();
        for (int i = 0; i <= 2048; ++i) at.push_back({0.7003f + float(i) / (1 << 20)});
        print_changes("weights, normalized x of 1000 elements", at,
                      asked_.at(line_of(many.data(), many.size()), linear, Shape::line, at));
    }

    static std::vector<float> numbers(size_t n, uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<float> out(n);
        for (float& f : out) {
            const float mantissa = float(random() >> 8) / float(1 << 23) - 1;
            f = std::ldexp(mantissa, int(random() % 12) - 6);
        }
        return out;
    }

    // Places between elements of a box with sides of 8, by 256ths.
    static std::vector<Place> places(size_t n, std::mt19937& random) {
        std::vector<Place> at;
        for (size_t i = 0; i < n; ++i) {
            const auto place = [&] { return 0.5f + float(random() % (7 * 256)) / 256; };
            const float x = place(), y = place(), z = place();
            at.push_back({x, y, z});
        }
        return at;
    }

    void sums() {
        Lookup linear;
        linear.linear = true;
        const std::vector<float> values = numbers(512, 1);
        std::mt19937 random(2);
        const std::vector<Place> at = places(96, random);
        print("sums of 2", asked_.at(line_of(values.data(), 8), linear, Shape::line, at));
        print("sums of 4", asked_.at(plane_of(values.data(), 8, 8), linear, Shape::plane, at));
        print("sums of 8", asked_.at(box_of(values.data(), 8, 8, 8), linear, Shape::box, at));
        const float odd[] = {INFINITY, 1,     NAN,    1,      -0.0f,  -0.0f,
                             3e38f,    3e38f, 1e-45f, 1e-45f, 1e-39f, 0};
        std::vector<Place> between;
        for (int i = 1; i < 24; ++i) between.push_back({float(i) / 2});
        print("infinity, NaN, zeros, subnormals",
              asked_.at(line_of(odd, 12), linear, Shape::line, between));
        print("the same, nearest", asked_.at(line_of(odd, 12), {}, Shape::line, between));
    }

    template <class T>
    void integers(const std::string& name, Kind kind, float most) {
        constexpr size_t count = size_t{1} << 8 * sizeof(T);
        constexpr size_t row = count < 4096 ? count : 4096;
        std::vector<T> values(count);
        std::vector<float> expected(count);
        std::vector<Place> at(count);
        for (size_t i = 0; i < count; ++i) {
            values[i] = T(i);
            expected[i] = std::max(float(values[i]) / most, -1.0f);
            at[i] = {float(i % row) + 0.5f, float(i / row) + 0.5f};
        }
        const Elements t = plane_of(values.data(), row, count / row, {kind, 8 * sizeof(T), 1});
        Lookup floats;
        floats.floats = true;
        print_differences(name + " as floats", expected, asked_.at(t, floats, Shape::plane, at));
        floats.linear = true;
        print_differences(name + " as floats, filtered at their places", expected,
                          asked_.at(t, floats, Shape::plane, at));
        std::mt19937 random(3);
        at.resize(96);
        for (Place& p : at) p = {0.5f + float(random() % 65280) / 256, 0.5f};
        print(name + " as floats, filtered", asked_.at(t, floats, Shape::plane, at));
    }

    void halves() {
        std::vector<uint16_t> values(65536);
        std::vector<Place> at(65536);
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = uint16_t(i);
            at[i] = {float(i % 4096) + 0.5f, float(i / 4096) + 0.5f};
        }
        const Elements t = plane_of(values.data(), 4096, 16, {Kind::floating, 16, 1});
        const std::vector<Four> every = asked_.at(t, {}, Shape::plane, at);
        uint32_t digest = 2166136261u;
        for (const Four& f : every) digest = (digest ^ f[0]) * 16777619u;
        out_ += "f16: digest " + hex(digest) + ", NaNs";
        for (const size_t i : {0x7c00, 0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xffff, 1, 0x8000})
            out_ += " " + hex(every[i][0]);
        out_ += '\n';
        Lookup linear;
        linear.linear = true;
        at.resize(64);
        for (size_t i = 0; i < 64; ++i) at[i] = {100.5f + float(i * 37) / 256, 3.5f};
        print("f16, filtered", asked_.at(t, linear, Shape::plane, at));
    }

    void channels() {
        const float two[] = {1, 2, 3, 4};
        print("channels of float", asked_.at(line_of(two, 2), {}, Shape::line, {{0.5f}}), 4);
        const Elements pair{{Kind::floating, 32, 2}, 2, 0, 0, Arrangement::plain, two};
        print("channels of float2", asked_.at(pair, {}, Shape::line, {{0.5f}}), 4);
        const Elements bytes{{Kind::unsigned_integer, 8, 1}, 4, 0, 0, Arrangement::plain, two};
        Lookup floats;
        floats.floats = true;
        print("channels of a byte", asked_.at(bytes, {}, Shape::line, {{0.5f}}), 4);
        print("channels of a byte as floats", asked_.at(bytes, floats, Shape::line, {{0.5f}}), 4);
        Lookup border;
        border.set_mode(Mode::border);
        print("border of float", asked_.at(line_of(two, 2), border, Shape::line, {{9}}), 4);
        print("border of a byte", asked_.at(bytes, border, Shape::line, {{9}}), 4);
        const Elements whole{{Kind::signed_integer, 32, 1}, 2, 0, 0, Arrangement::plain, two};
        print("border of int", asked_.at(whole, border, Shape::line, {{9}}), 4);
        border.floats = true;
        print("border of a byte as floats", asked_.at(bytes, border, Shape::line, {{9}}), 4);
    }

    static constexpr std::array<const char*, 4> mode_names{"wrap", "clamp", "mirror", "border"};

    void edges() {
        std::vector<float> values(64);
        for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
        std::vector<Place> around;
        for (float x = -17; x <= 17; x += 0.75f) around.push_back({x, 0.5f});
        const std::vector<Place> strange{{NAN},   {INFINITY}, {-INFINITY}, {3e9f},
                                         {-3e9f}, {1e38f},    {-0.0f}};
        for (int mode = 0; mode < 4; ++mode)
            for (const bool normalized : {false, true}) {
                Lookup l;
                l.set_mode(Mode(mode));
                l.normalized = normalized;
                const std::string name = std::string(mode_names[size_t(mode)]) +
                                         (normalized ? ", normalized" : ", not normalized");
                const Elements t = line_of(values.data(), 7);
                std::vector<Place> at = around;
                for (Place& p : at) p.x /= normalized ? 7.0f : 1.0f;
                print(name, asked_.at(t, l, Shape::line, at));
                print(name + ", strange", asked_.at(t, l, Shape::line, strange));
                print(name + ", integers",
                      asked_.at(plane_of(values.data(), 8, 8), l, Shape::plane_element,
                                {{-1, 0}, {0, -2}, {8, 1}, {1, 9}, {3, 3}, {-9, 17}}));
                l.linear = true;
                print(name + ", filtered", asked_.at(t, l, Shape::line, at));
                print(name + ", filtered, strange", asked_.at(t, l, Shape::line, strange));
            }
        // The float on each side of where the next element begins.
        for (const int n : {3, 5, 7, 11, 13}) {
            Lookup l;
            l.normalized = true;
            std::vector<Place> at;
            for (int k = 1; k < n; ++k) {
                const float x = float(k) / float(n);
                for (const float y : {std::nextafter(std::nextafter(x, 0.0f), 0.0f),
                                      std::nextafter(x, 0.0f), x, std::nextafter(x, 1.0f)})
                    at.push_back({y});
            }
            print("nearest of " + std::to_string(n),
                  asked_.at(line_of(values.data(), size_t(n)), l, Shape::line, at));
        }
        const Elements layers{{}, 2, 2, 3, Arrangement::layered, values.data()};
        print("layers", asked_.at(layers, {}, Shape::planes,
                                  {{0, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 0, 3}, {0, 0, 0, -1}}));
        std::vector<float> faces(4 * 4 * 6);
        for (size_t i = 0; i < faces.size(); ++i) faces[i] = float(i);
        const Elements cube{{}, 4, 4, 6, Arrangement::cube, faces.data()};
        std::mt19937 random(5);
        std::vector<Place> directions = directions_of(96, random);
        for (const float a : {-1.0f, 1.0f})
            for (const float b : {-1.0f, 1.0f})
                for (const float c : {-1.0f, 1.0f}) directions.push_back({a, b, c});
        directions.push_back({0, 0, 0});
        Lookup l;
        l.normalized = true;
        print("cube", asked_.at(cube, l, Shape::cube, directions));
        l.linear = true;
        print("cube, filtered", asked_.at(cube, l, Shape::cube, directions));
    }

    // About where the four elements become others, in both directions.
    void gathers() {
        constexpr uint32_t width = 8, height = 4;
        std::vector<float> values(width * height * 4);
        for (size_t i = 0; i < values.size(); ++i) values[i] = float(i + 1);
        std::vector<Place> around;
        for (int i = -3; i <= 11; ++i)
            for (const float part : {0.0f, 0.498046844f, 0.498046875f, 0.5f, 0.501953125f, 0.75f}) {
                around.push_back({float(i) + part, 1.6f});
                around.push_back({2.6f, float(i) / 2 + part});
            }
        const std::vector<Place> strange{{NAN, 1},      {INFINITY, 1},  {1, -INFINITY},
                                         {3e9f, 1e38f}, {-3e9f, -0.0f}, {1e-40f, 1e-40f}};
        const Elements plane = plane_of(values.data(), width, height);
        for (int mode = 0; mode < 4; ++mode)
            for (const bool normalized : {false, true})
                for (const bool linear : {false, true}) {
                    Lookup l;
                    l.set_mode(Mode(mode));
                    l.normalized = normalized;
                    l.linear = linear;
                    const std::string name = std::string("gathered, ") + mode_names[size_t(mode)] +
                                             (normalized ? ", normalized" : ", not normalized") +
                                             (linear ? ", filtered" : "");
                    std::vector<Place> at = around;
                    for (Place& p : at)
                        p = {p.x / (normalized ? width : 1), p.y / (normalized ? height : 1)};
                    print(name, asked_.at(plane, l, Shape::gathered, at), 4);
                    print(name + ", strange", asked_.at(plane, l, Shape::gathered, strange), 4);
                }
        const std::array<std::pair<const char*, Format>, 7> formats{
            {{"float", {}},
             {"float4", {Kind::floating, 32, 4}},
             {"half2", {Kind::floating, 16, 2}},
             {"uchar4", {Kind::unsigned_integer, 8, 4}},
             {"char", {Kind::signed_integer, 8, 1}},
             {"short2", {Kind::signed_integer, 16, 2}},
             {"uint4", {Kind::unsigned_integer, 32, 4}}}};
        every_element_gathered<uint8_t>("uchar", {Kind::unsigned_integer, 8, 1});
        every_element_gathered<uint8_t>("char", {Kind::signed_integer, 8, 1});
        every_element_gathered<uint16_t>("ushort", {Kind::unsigned_integer, 16, 1});
        every_element_gathered<uint16_t>("short", {Kind::signed_integer, 16, 1});
        every_element_gathered<uint16_t>("half", {Kind::floating, 16, 1});
        std::vector<Place> at;
        for (int component = 0; component < 4; ++component)
            for (const float x : {0.2f, 3.0f, 7.9f}) at.push_back({x, 2.0f, 0, component});
        for (const auto& [name, format] : formats)
            for (const bool floats : {false, true}) {
                if (floats && (format.bits == 32 || format.kind == Kind::floating)) continue;
                Lookup l;
                l.set_mode(Mode::border);
                l.floats = floats;
                print(std::string("gathered components of ") + name + (floats ? " as floats" : ""),
                      asked_.at(plane_of(values.data(), width, height, format), l, Shape::gathered,
                                at),
                      4);
            }
    }

    // Each value of the format, and floats that are none, subnormal or zeros.
    template <class T>
    void every_element_gathered(const std::string& name, const Format& format) {
        constexpr uint32_t count = uint32_t{1} << 8 * sizeof(T), row = count < 4096 ? 16 : 256;
        std::vector<T> values(count);
        std::vector<Place> at(count);
        for (uint32_t i = 0; i < count; ++i) {
            values[i] = T(i);
            at[i] = {float(i % row) + 1, float(i / row) + 1};
        }
        Lookup floats;
        floats.floats = format.kind != Kind::floating;
        print_many("gathered, every " + name,
                   asked_.at(plane_of(values.data(), row, count / row, format), floats,
                             Shape::gathered, at));
        if (format.kind != Kind::floating) return;
        const std::array<uint32_t, 8> odd{0x7f800000, 0xff800000, 0x7f812345, 0xffc12345,
                                          0x80000000, 1,          0x807fffff, 0x7f7fffff};
        print("gathered, odd floats",
              asked_.at(plane_of(odd.data(), 4, 2), {}, Shape::gathered, {{1, 1}, {2, 1}, {3, 1}}),
              4);
    }

    static std::vector<Place> directions_of(size_t n, std::mt19937& random) {
        std::vector<Place> out;
        for (size_t i = 0; i < n; ++i) {
            const auto side = [&] { return float(int(random() % 513) - 256) / 256; };
            const float x = side(), y = side(), z = side();
            out.push_back({x, y, z});
        }
        return out;
    }

    void many_sums() {
        Lookup linear;
        linear.linear = true;
        const std::vector<float> values = numbers(512, 11);
        std::mt19937 random(12);
        const std::vector<Place> at = places(4096, random);
        print_many("many sums of 2", asked_.at(line_of(values.data(), 8), linear, Shape::line, at));
        print_many("many sums of 4",
                   asked_.at(plane_of(values.data(), 8, 8), linear, Shape::plane, at));
        print_many("many sums of 8",
                   asked_.at(box_of(values.data(), 8, 8, 8), linear, Shape::box, at));
        // Exponents far apart.
        std::vector<float> wide(512);
        for (float& f : wide) {
            const int exponent = int(random() % 250) - 125;
            f = std::ldexp(float(random() >> 8) / float(1 << 23) - 1, exponent);
        }
        print_many("many sums of 8, exponents of all sizes",
                   asked_.at(box_of(wide.data(), 8, 8, 8), linear, Shape::box, at));
    }

    void many_integers() {
        std::mt19937 random(13);
        std::vector<uint8_t> bytes(1024);
        for (uint8_t& b : bytes) b = uint8_t(random());
        const std::vector<Place> at = places(4096, random);
        Lookup linear;
        linear.linear = linear.floats = true;
        const struct {
            const char* name;
            Format format;
        } rows[] = {{"u8", {Kind::unsigned_integer, 8, 1}},
                    {"s8", {Kind::signed_integer, 8, 1}},
                    {"u16", {Kind::unsigned_integer, 16, 1}},
                    {"s16", {Kind::signed_integer, 16, 1}},
                    {"f16", {Kind::floating, 16, 1}}};
        for (const auto& row : rows) {
            linear.floats = row.format.kind != Kind::floating;
            if (row.format.kind == Kind::signed_integer) bytes[0] = 0, bytes[1] = 0x80;
            // Of f16 none that is infinite or no number.
            if (row.format.kind == Kind::floating)
                for (size_t i = 1; i < bytes.size(); i += 2) bytes[i] &= 0xbb;
            print_many(
                std::string("many ") + row.name + " of 4",
                asked_.at(plane_of(bytes.data(), 8, 8, row.format), linear, Shape::plane, at));
            print_many(
                std::string("many ") + row.name + " of 8",
                asked_.at(box_of(bytes.data(), 8, 8, 8, row.format), linear, Shape::box, at));
        }
    }

    // Every pair of odd numbers, at four places from the first to the second.
    template <class T>
    void pairs(const std::string& name, const std::vector<T>& odd, const Format& format) {
        std::vector<T> values;
        std::vector<Place> at;
        for (const T a : odd)
            for (const T b : odd) {
                for (const float part : {0.0f, 0.25f, 0.5f, 0.75f})
                    at.push_back({float(values.size()) + 0.5f + part});
                values.push_back(a);
                values.push_back(b);
            }
        Lookup linear;
        linear.linear = true;
        const Elements t{
            format, static_cast<uint32_t>(values.size()), 0, 0, Arrangement::plain, values.data()};
        print(name, asked_.at(t, linear, Shape::line, at));
    }

    void odd_floats() {
        pairs<uint32_t>("odd pairs of f32",
                        {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                         0xffc12345, 1, 0x80000001, 0x807fffff, 0x00800000, 0x80800001, 0x7f7fffff},
                        {});
    }

    void odd_halves() {
        pairs<uint16_t>("odd pairs of f16",
                        {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfd23, 1, 0x8001,
                         0x83ff, 0x0400, 0x8401, 0x7bff, 0xfbff},
                        {Kind::floating, 16, 1});
    }

    void borders() {
        const std::vector<uint32_t> zeros(64);
        const struct {
            const char* name;
            Format format;
        } rows[] = {
            {"u8", {Kind::unsigned_integer, 8, 1}},   {"s8", {Kind::signed_integer, 8, 1}},
            {"u16", {Kind::unsigned_integer, 16, 1}}, {"s16", {Kind::signed_integer, 16, 1}},
            {"f16", {Kind::floating, 16, 1}},         {"f32", {Kind::floating, 32, 1}},
            {"s32", {Kind::signed_integer, 32, 1}},
        };
        const uint32_t nan = 0xffc12345, word = 0x12345678, minus = 0xffffff80;
        std::vector<float> colours{-2,     -1,      -0.75f,         -0.5f,          -0.0f,
                                   0,      1e-6f,   0.5f / 255,     1.5f / 255,     1.5f / 65535,
                                   0.125f, 0.25f,   0.498f,         0.5f / 127,     -1.5f / 127,
                                   1,      1.0625f, 1.00048828125f, 1.00146484375f, 1e10f,
                                   -1e10f, 1e-40f,  INFINITY};
        for (const uint32_t bits : {nan, word, minus}) {
            float f = 0;
            std::memcpy(&f, &bits, sizeof f);
            colours.push_back(f);
        }
        for (const auto& row : rows)
            for (const bool floats : {false, true})
                for (const bool linear : {false, true}) {
                    const bool is_float = row.format.kind == Kind::floating;
                    if (floats && (is_float || row.format.bits == 32)) continue;
                    if (linear && !is_float && !floats) continue;
                    std::vector<Four> out;
                    for (const float colour : colours) {
                        Lookup l;
                        l.set_mode(Mode::border);
                        l.floats = floats;
                        l.linear = linear;
                        l.border = {colour, colour, colour, colour};
                        out.push_back(asked_.at(plane_of(zeros.data(), 4, 4, row.format), l,
                                                Shape::plane, {{-3, 1}})[0]);
                    }
                    print(std::string("border of ") + row.name + (floats ? " as floats" : "") +
                              (linear ? ", filtered" : ""),
                          out);
                }
        // Where a border becomes the next number.
        for (size_t i = 0; i < 4; ++i)
            for (const double k : {0.5, 1.5, 2.5, 63.5, 64.5, 99.5, 126.5, 128.5, 385.5, 1000.5,
                                   32000.5, 40000.5, 65533.5}) {
                const bool is_signed = rows[i].format.kind == Kind::signed_integer;
                const double most = double((1u << (rows[i].format.bits - is_signed)) - 1);
                if (k > most) continue;
                std::vector<Place> at;
                std::vector<Four> out;
                float colour = float(k / most);
                for (int n = 0; n < 12; ++n) colour = std::nextafter(colour, 0.0f);
                for (int n = 0; n < 24; ++n, colour = std::nextafter(colour, 2.0f)) {
                    Lookup l;
                    l.set_mode(Mode::border);
                    l.floats = true;
                    l.border = {colour, colour, colour, colour};
                    at.push_back({colour});
                    out.push_back(asked_.at(plane_of(zeros.data(), 4, 4, rows[i].format), l,
                                            Shape::plane, {{-3, 1}})[0]);
                }
                print_changes(std::string("border of ") + rows[i].name + " about " +
                                  std::to_string(int(k)) + " and a half",
                              at, out);
            }
        // A line with one mode along it and another across.
        const std::vector<float> values = numbers(8, 14);
        for (const Mode across : {Mode::wrap, Mode::clamp, Mode::border})
            for (const Mode along : {Mode::clamp, Mode::border}) {
                Lookup l;
                l.mode = {along, across, Mode::clamp};
                l.linear = true;
                print(std::string("a line with ") + mode_names[size_t(along)] + " along, " +
                          mode_names[size_t(across)] + " across",
                      asked_.at(line_of(values.data(), 8), l, Shape::line,
                                {{-1}, {0}, {0.25f}, {3.3f}, {7.75f}, {8}}));
            }
    }

    void many_edges() {
        const std::vector<float> values = numbers(1024, 15);
        std::mt19937 random(16);
        for (const auto& size : {std::array<uint32_t, 3>{7, 5, 3}, {16, 8, 4}, {1, 31, 2}})
            for (int mode = 0; mode < 4; ++mode)
                for (const bool normalized : {false, true})
                    for (const bool linear : {false, true}) {
                        Lookup l;
                        l.mode = {Mode(mode), Mode((mode + 1) % 4), Mode((mode + 2) % 4)};
                        l.normalized = normalized;
                        l.linear = linear;
                        std::vector<Place> at;
                        for (int i = 0; i < 1024; ++i) {
                            const auto place = [&](uint32_t n) {
                                const float part =
                                    float(random() >> 8) / float(1 << 24) * 6.0f - 2.5f;
                                return normalized ? part : part * float(n);
                            };
                            const float x = place(size[0]), y = place(size[1]), z = place(size[2]);
                            at.push_back({x, y, z});
                        }
                        std::string name = "many places in " + std::to_string(size[0]) + "x" +
                                           std::to_string(size[1]) + "x" + std::to_string(size[2]);
                        for (const Mode m : l.mode)
                            name += std::string(" ") + mode_names[size_t(m)];
                        name += normalized ? ", normalized" : "";
                        name += linear ? ", filtered" : "";
                        print_many(name, asked_.at(box_of(values.data(), size[0], size[1], size[2]),
                                                   l, Shape::box, at));
                    }
        // Sizes up to the largest.
        std::vector<float> wide(65536);
        for (size_t i = 0; i < wide.size(); ++i) wide[i] = float(i % 1009);
        for (const uint32_t n : {1u, 2u, 1000u, 1025u, 1999u, 2049u, 3001u, 4096u, 4097u, 5003u,
                                 8193u, 12001u, 16383u, 65535u})
            for (const bool linear : {false, true}) {
                Lookup l;
                l.normalized = true;
                l.linear = linear;
                l.set_mode(Mode::wrap);
                std::vector<Place> at;
                for (int i = 0; i < 2048; ++i)
                    at.push_back(
                        {float(random() >> 8) / float(1 << 24) * (i % 2 == 0 ? 1.0f : 64.0f)});
                print_many("many places in " + std::to_string(n) + (linear ? ", filtered" : ""),
                           asked_.at(plane_of(wide.data(), n, 1), l, Shape::plane, at));
            }
    }

    // Elements that stay integers, weighted: a driver makes such a texture, a runtime does not.
    void filtered_elements() {
        struct Row {
            const char* how;
            Shape shape;
            uint32_t height, depth;
        };
        constexpr Row shapes[] = {{", in a line", Shape::line, 0, 0},
                                  {", in a plane", Shape::plane, 8, 0},
                                  {", in a box", Shape::box, 8, 8},
                                  {", gathered", Shape::gathered, 8, 0}};
        std::mt19937 random(23);
        std::vector<uint32_t> values(512);
        for (uint32_t& v : values) {
            v = static_cast<uint32_t>(random());
            if (random() % 4 == 0) v = (v & 0x80) != 0 ? 0x80008080 : 0x7fff7f7f;
            if (random() % 8 == 0) v = 0x80000000 - (v & 1);
        }
        for (const auto& [kind, name] :
             {std::pair{Kind::unsigned_integer, "u"}, std::pair{Kind::signed_integer, "s"}})
            for (const unsigned bits : {8u, 16u, 32u}) {
                const Format format{kind, bits, 1};
                for (const Mode mode : {Mode::clamp, Mode::border}) {
                    Lookup l;
                    l.linear = true;
                    l.set_mode(mode);
                    l.border[0] = mode == Mode::border && bits == 16 ? -1.75f : 1.25f;
                    std::vector<Place> at;
                    for (int i = 0; i < 1024; ++i)
                        at.push_back({float(random() % 2560) / 256 - 1,
                                      float(random() % 2560) / 256 - 1,
                                      float(random() % 2560) / 256 - 1});
                    const std::string what = std::string("filtered ") + name +
                                             std::to_string(bits) +
                                             (mode == Mode::border ? ", with a border" : "");
                    for (const auto& [how, shape, height, depth] : shapes)
                        print_many(what + how, asked_.at({format, 8, height, depth,
                                                          Arrangement::plain, values.data()},
                                                         l, shape, at));
                }
            }
    }

    void many_directions() {
        std::mt19937 random(17);
        for (const uint32_t side : {4u, 7u, 64u}) {
            std::vector<float> faces(size_t{side} * side * 6);
            for (size_t i = 0; i < faces.size(); ++i) faces[i] = float(i % 4093);
            const Elements cube{{}, side, side, 6, Arrangement::cube, faces.data()};
            std::vector<Place> directions = directions_of(2048, random);
            for (Place& p : directions)
                if (random() % 2 == 0) p.x *= 1.0f / 3, p.y *= 1.0f / 3, p.z *= 1.0f / 3;
            Lookup l;
            l.normalized = true;
            print_many("many directions, of " + std::to_string(side),
                       asked_.at(cube, l, Shape::cube, directions));
            l.linear = true;
            print_many("many directions, of " + std::to_string(side) + ", filtered",
                       asked_.at(cube, l, Shape::cube, directions));
        }
    }
};

}  // namespace

std::string answers(Asked& asked, bool all) { return Questions(asked, all).all(); }

}  // namespace lockwarp::hardware
