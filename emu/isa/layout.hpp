// SPDX-License-Identifier: Apache-2.0
// CuTe layouts: (thread, value) -> element of a fragment, as shapes and strides.
//
// A layout is written as CuTe writes it, "((4,8),(2,2,2)):((32,1),(16,8,128))": the first mode is
// the thread, the second the value (in the order of the fragment's registers, low bits first).
// It gives a linear index, row + column * rows, into A as (m, k), B as (n, k), C and D as (m, n).
// Source of the notation: CUTLASS documentation, "CuTe Layouts".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockwarp::isa {

struct LayoutMode {
    uint16_t shape = 1;
    uint16_t stride = 0;
};

struct Layout {
    std::array<LayoutMode, 4> thread{};
    std::array<LayoutMode, 4> value{};
    std::string_view text;  // empty: of one that was not read from text
    bool valid = false;

    constexpr unsigned threads() const { return size(thread); }
    constexpr unsigned values() const { return size(value); }
    // The linear index of value `v` of thread `t`; t < threads(), v < values().
    constexpr unsigned at(unsigned t, unsigned v) const {
        return offset(thread, t) + offset(value, v);
    }

  private:
    static constexpr unsigned size(const std::array<LayoutMode, 4>& modes) {
        unsigned n = 1;
        for (LayoutMode m : modes) n *= m.shape;
        return n;
    }
    static constexpr unsigned offset(const std::array<LayoutMode, 4>& modes, unsigned index) {
        unsigned sum = 0;
        for (LayoutMode m : modes) {
            sum += index % m.shape * m.stride;
            index /= m.shape;
        }
        return sum;
    }
};

// Reads the notation above; a mode may be a number or a list of at most four. `valid` is false
// where the text is not of that form. Used at compile time for the rows of the tables.
constexpr Layout parse_layout(std::string_view text) {
    Layout out;
    out.text = text;
    size_t at = 0;
    const auto take = [&](char c) {
        if (at < text.size() && text[at] == c) {
            ++at;
            return true;
        }
        return false;
    };
    const auto number = [&](uint16_t& n) {
        const size_t begin = at;
        unsigned value = 0;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9')
            value = value * 10 + static_cast<unsigned>(text[at++] - '0');
        n = static_cast<uint16_t>(value);
        return at > begin && value <= 0xffff;
    };
    const auto modes = [&](std::array<LayoutMode, 4>& list, uint16_t LayoutMode::*field) {
        if (!take('(')) return number(list[0].*field);
        for (LayoutMode& mode : list) {
            if (!number(mode.*field)) return false;
            if (take(')')) return true;
            if (!take(',')) return false;
        }
        return false;
    };
    out.valid = take('(') && modes(out.thread, &LayoutMode::shape) && take(',') &&
                modes(out.value, &LayoutMode::shape) && take(')') && take(':') && take('(') &&
                modes(out.thread, &LayoutMode::stride) && take(',') &&
                modes(out.value, &LayoutMode::stride) && take(')') && at == text.size();
    return out;
}

}  // namespace lockwarp::isa
