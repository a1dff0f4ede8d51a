// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "launch/values.hpp"
#include "why/error_map.hpp"

namespace lockwarp::why {

namespace {

constexpr std::array<WrongRow, 6> rows{{
    {Wrong::no, '.', "right"},
    {Wrong::value, 'x', "wrong value"},
    {Wrong::other, 'o', "the value that another element should have"},
    {Wrong::is_zero, '0', "zero"},
    {Wrong::unwritten, '-', "never written"},
    {Wrong::nan, 'N', "NaN"},
}};

// How a line or an element may have taken another's place.
struct Shuffle {
    std::string_view words;
    uint64_t (*of)(uint64_t i);
};
constexpr std::array<Shuffle, 8> shuffles{{
    {"^1", [](uint64_t i) { return i ^ 1; }},
    {"^2", [](uint64_t i) { return i ^ 2; }},
    {"^4", [](uint64_t i) { return i ^ 4; }},
    {"^8", [](uint64_t i) { return i ^ 8; }},
    {"^16", [](uint64_t i) { return i ^ 16; }},
    {"+8", [](uint64_t i) { return i + 8; }},
    {"-8", [](uint64_t i) { return i - 8; }},
    {"+16", [](uint64_t i) { return i + 16; }},
}};

// Whether most wrong elements have the value of the element (f(row), g(column)).
template <class Place>
bool holds(const ErrorMap& m, const Place& place) {
    uint64_t all = 0, held = 0;
    for (uint64_t i = 0; i < m.of.size(); ++i) {
        if (m.of[i] == Wrong::no) continue;
        ++all;
        const uint64_t from = place(i / m.columns, i % m.columns);
        held += m.of[i] == Wrong::other && m.has_value_of[i] == from ? 1 : 0;
    }
    return held * 10 >= all * 9;
}

void find_permutation(ErrorMap& m) {
    if (m.counts[static_cast<size_t>(Wrong::other)] == 0) return;
    const auto index = [&](uint64_t r, uint64_t c) { return r * m.columns + c; };
    if (holds(m, [&](uint64_t r, uint64_t c) { return index(c, r); }))
        m.permutation.emplace_back("element (r, c) has the value of (c, r)");
    for (const Shuffle& s : shuffles) {
        if (holds(m, [&](uint64_t r, uint64_t c) { return index(s.of(r), c); }))
            m.permutation.push_back("row r has the values of row r" + std::string(s.words));
        if (holds(m, [&](uint64_t r, uint64_t c) { return index(r, s.of(c)); }))
            m.permutation.push_back("column c has the values of column c" + std::string(s.words));
    }
}

// The elements by what is expected of them; of two that are alike neither is named.
std::map<double, uint32_t> by_value(const std::vector<Wanted>& wanted) {
    std::map<double, uint32_t> out;
    for (uint32_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].value == 0 || std::isnan(wanted[i].value)) continue;
        const auto [at, fresh] = out.emplace(wanted[i].value, i);
        if (!fresh) at->second = UINT32_MAX;
    }
    return out;
}

// The one element whose expectation this value meets; UINT32_MAX: none, or several.
uint32_t whose(const std::map<double, uint32_t>& values, const std::vector<Wanted>& wanted,
               isa::Type type, uint64_t bits, uint32_t itself) {
    const double value = launch::value_of(type, bits);
    const auto above = values.lower_bound(value);
    uint32_t found = UINT32_MAX;
    const auto look = [&](auto at) {
        if (at == values.end() || at->second == UINT32_MAX || at->second == itself) return;
        if (is_right(type, bits, wanted[at->second]))
            found = found == UINT32_MAX ? at->second : UINT32_MAX - 1;
    };
    look(above);
    if (above != values.begin()) look(std::prev(above));
    return found == UINT32_MAX - 1 ? UINT32_MAX : found;
}

}  // namespace

std::span<const WrongRow> wrong_rows() { return rows; }

uint64_t ErrorMap::wrong() const {
    uint64_t sum = 0;
    for (size_t i = 1; i < counts.size(); ++i) sum += counts[i];
    return sum;
}

ErrorMap error_map(const Subject& subject, const Bytes& after, const std::vector<Wanted>& wanted,
                   const std::vector<bool>& written) {
    ErrorMap out;
    out.rows = subject.rows, out.columns = subject.columns;
    out.of.assign(wanted.size(), Wrong::no);
    out.has_value_of.assign(wanted.size(), UINT32_MAX);
    out.counts.assign(rows.size(), 0);
    const std::map<double, uint32_t> values = by_value(wanted);
    for (uint32_t i = 0; i < wanted.size(); ++i) {
        const uint64_t bits = element(subject, after, i);
        if (!is_right(subject.type, bits, wanted[i])) {
            const double value = launch::value_of(subject.type, bits);
            const uint32_t other = whose(values, wanted, subject.type, bits, i);
            if (!written.empty() && !written[i])
                out.of[i] = Wrong::unwritten;
            else if (std::isnan(value))
                out.of[i] = Wrong::nan;
            else if (value == 0)
                out.of[i] = Wrong::is_zero;
            else if (other != UINT32_MAX)
                out.of[i] = Wrong::other, out.has_value_of[i] = other;
            else
                out.of[i] = Wrong::value;
        }
        ++out.counts[static_cast<size_t>(out.of[i])];
    }
    find_permutation(out);
    return out;
}

}  // namespace lockwarp::why
