// SPDX-License-Identifier: Apache-2.0
// Plain C++ that a GPU and the machine of the tests must agree on to the last bit: compiled for
// both, portable.cu is its kernel.
#pragma once

#include <cstdint>

// nvcc leaves virtual functions that are constexpr alone out of the GPU's tables.
#ifdef __CUDACC__
#define PORTABLE_VIRTUAL __host__ __device__
#else
#define PORTABLE_VIRTUAL
#endif

namespace portable {

// Keeps the order and every bit of what it is given.
struct Digest {
    uint64_t value = 0x9e3779b97f4a7c15;
    constexpr void add(uint64_t x) {
        value = (value ^ x) * 0xbf58476d1ce4e5b9;
        value ^= value >> 29;
    }
};

struct Shape {
    PORTABLE_VIRTUAL constexpr virtual int32_t area(int32_t scale) const { return scale; }
    PORTABLE_VIRTUAL constexpr virtual bool round() const { return true; }
};

struct Rectangle : Shape {
    int32_t width, height;
    constexpr Rectangle(int32_t w, int32_t h) : width(w), height(h) {}
    PORTABLE_VIRTUAL constexpr int32_t area(int32_t scale) const override {
        return static_cast<int32_t>(static_cast<uint32_t>(width) * static_cast<uint32_t>(height) +
                                    static_cast<uint32_t>(scale));
    }
    PORTABLE_VIRTUAL constexpr bool round() const override { return false; }
};

// Passed and returned by value, with gaps.
struct Record {
    uint8_t kind;
    int16_t part;
    uint32_t words[3];
    double weight;
};

constexpr Record changed(Record r, uint32_t by) {
    r.kind = static_cast<uint8_t>(r.kind + by);
    r.part = static_cast<int16_t>(r.part * 3 - static_cast<int16_t>(by));
    for (uint32_t& w : r.words) w = w << (by & 31) | w >> ((32 - by) & 31);
    r.weight = r.weight * 0.5 + by;
    return r;
}

constexpr uint32_t ackermann(uint32_t m, uint32_t n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

struct Bits {
    uint32_t low : 5, middle : 17;
    int32_t sign : 6;
    uint64_t wide : 39;
};

constexpr uint64_t of_integers(int64_t a, int64_t b) {
    Digest d;
    const auto ua = static_cast<uint64_t>(a);
    const auto ub = static_cast<uint64_t>(b) | 1;
    const auto i = static_cast<int32_t>(a);
    const int32_t j = static_cast<int32_t>(b) == 0 ? 7 : static_cast<int32_t>(b);
    const auto s = static_cast<int16_t>(a >> 9);
    const auto c = static_cast<int8_t>(b >> 3);
    d.add(ua / ub);
    d.add(ua % ub);
    d.add(static_cast<uint64_t>((a >> 1) / static_cast<int64_t>(ub >> 1 | 1)));
    d.add(static_cast<uint64_t>((a >> 1) % static_cast<int64_t>(ub >> 1 | 1)));
    d.add(static_cast<uint32_t>((i >> 1) / j) + static_cast<uint32_t>((i >> 1) % j));
    d.add(ua / 10 + ua % 1000003);
    d.add(static_cast<uint64_t>(s * c - s / (c == 0 ? 1 : c)));
    d.add(static_cast<uint64_t>(a >> (b & 63)));
    d.add(ua << (a & 63) | ub >> ((64 - ua) & 63));
    const auto product = static_cast<unsigned __int128>(ua) * ub;
    d.add(static_cast<uint64_t>(product >> 64));
    d.add(static_cast<uint64_t>(product / (ub >> 17 | 1)));
    d.add(static_cast<uint64_t>((static_cast<__int128>(a) * b) >> 31));
    d.add(a < b ? 1 : a == b ? 2 : 3);
    d.add(static_cast<uint8_t>(ua * 7) + static_cast<uint16_t>(ub * 13));

    Bits bits{};
    bits.low = ua & 31;
    bits.middle = ua >> 7 & 0x1ffff;
    bits.sign = (ub >> 11 & 1) != 0 ? -17 : 21;
    bits.wide = ub >> 20 & 0x7fffffffff;
    bits.wide = (bits.wide + bits.middle) & 0x7fffffffff;
    d.add(bits.low * 3 + bits.middle + static_cast<uint32_t>(bits.sign));
    d.add(bits.wide);

    const Shape point;
    const Rectangle rectangle(i, j);
    const Shape* shapes[] = {&point, &rectangle, &rectangle, &point};
    d.add(static_cast<uint64_t>(shapes[ua & 3]->area(s)) + (shapes[ub >> 1 & 3]->round() ? 1 : 0));

    const Record r = changed(
        changed({static_cast<uint8_t>(a), s, {1, static_cast<uint32_t>(a), 3}, 0.25}, 9), ub & 31);
    d.add(r.kind + (r.words[0] ^ r.words[1]) + r.words[2]);
    d.add(static_cast<uint64_t>(r.part));
    d.add(static_cast<uint64_t>(r.weight * 65536));
    d.add(ackermann(static_cast<uint32_t>(ua % 3), static_cast<uint32_t>(ub % 4)));

    uint8_t heap[16] = {};
    for (uint32_t k = 0; k < 16; ++k) heap[k] = static_cast<uint8_t>(ua >> (k & 7) * 8 ^ k * ub);
    for (uint32_t top = 15; top > 0; --top)
        for (uint32_t k = 0; k < top; ++k)
            if (heap[k] > heap[k + 1]) {
                const uint8_t swap = heap[k];
                heap[k] = heap[k + 1];
                heap[k + 1] = swap;
            }
    for (const uint8_t h : heap) d.add(h);

    uint64_t x = ub;
    for (uint32_t step = 0; step < 40 && x != 1; ++step) {
        switch (x % 12) {
            case 0:
                x /= 3;
                break;
            case 1:
                x += ua;
                [[fallthrough]];
            case 2:
                x ^= x >> 3;
                break;
            case 3:
                x = x * 5 + 1;
                continue;
            case 4:
                x = ~x;
                break;
            case 5:
                x -= 17;
                break;
            case 6:
                x >>= 1;
                break;
            case 7:
                x = x << 7 | x >> 57;
                break;
            case 8:
                x *= x;
                break;
            default:
                x = x * 3 + 1;
        }
        d.add(step);
    }
    d.add(x);
    return d.value;
}

// No payload of a NaN: machines differ there.
template <class Float, class Word>
constexpr void add_float(Digest& d, Float value) {
    d.add(value != value ? 1 : __builtin_bit_cast(Word, value));
}

constexpr int64_t clamped(double x) {
    return x != x ? 0 : x > 1e18 ? 1 : x < -1e18 ? 2 : static_cast<int64_t>(x);
}

// IEEE arithmetic without contraction, and conversions.
constexpr uint64_t of_floats(double a, double b) {
    Digest d;
    const auto f64 = [&](double v) { add_float<double, uint64_t>(d, v); };
    const auto f32 = [&](float v) { add_float<float, uint32_t>(d, v); };
    const auto x = static_cast<float>(a);
    const auto y = static_cast<float>(b);
    f64(a + b);
    f64(a - b);
    f64(a * b);
    f64(a / b);
    f64(a * b + a);
    f32(x + y);
    f32(x - y);
    f32(x * y);
    f32(x / y);
    f32(x * y - x);
    f32(x);
    f64(y);
    d.add(static_cast<uint64_t>(clamped(a)));
    d.add(static_cast<uint64_t>(clamped(static_cast<double>(x))));
    const int64_t n = clamped(a * 1e15);
    f64(static_cast<double>(n));
    f32(static_cast<float>(n));
    f64(static_cast<double>(static_cast<uint64_t>(n)));
    f32(static_cast<float>(static_cast<uint64_t>(n)));
    f32(static_cast<float>(static_cast<int32_t>(n)));
    f32(static_cast<float>(static_cast<int16_t>(n)));
    f64(static_cast<double>(static_cast<uint8_t>(n)));
    d.add((a < b ? 1 : 0) + (a <= b ? 2 : 0) + (a == b ? 4 : 0) + (x > y ? 8 : 0) +
          (x != y ? 16 : 0) + (!(x >= y) ? 32 : 0));
    double root = a < 0 ? -a : a;
    for (int step = 0; step < 4; ++step) root = (root + b / root) * 0.5;
    f64(root);
    float sum = 0;
    for (int k = 1; k < 9; ++k) sum += x / static_cast<float>(k) - y * static_cast<float>(k & 3);
    f32(sum);
    return d.value;
}

}  // namespace portable
