// SPDX-License-Identifier: Apache-2.0
#include "why/model.hpp"

#include <cmath>

#include "launch/values.hpp"

namespace lockwarp::why {

namespace {

std::vector<double> values_of(const std::vector<uint8_t>& bytes, isa::Type type) {
    const uint64_t count = bytes.size() / (isa::bits(type) / 8);
    std::vector<double> out(count);
    for (uint64_t i = 0; i < count; ++i)
        out[i] = launch::value_of(type, launch::element(bytes, type, i));
    return out;
}

double at(const std::vector<double>& values, int64_t index) {
    return index >= 0 && static_cast<uint64_t>(index) < values.size()
               ? values[static_cast<size_t>(index)]
               : 0;
}

}  // namespace

Place right_place_a(const launch::Product& p) {
    const auto line = static_cast<int64_t>(p.a_transposed ? p.m : p.k);
    if (p.a_transposed) return [line](int64_t m, int64_t k) { return k * line + m; };
    return [line](int64_t m, int64_t k) { return m * line + k; };
}
Place right_place_b(const launch::Product& p) {
    const auto line = static_cast<int64_t>(p.b_transposed ? p.k : p.n);
    if (p.b_transposed) return [line](int64_t k, int64_t n) { return n * line + k; };
    return [line](int64_t k, int64_t n) { return k * line + n; };
}
Place right_place_d(const launch::Product& p) {
    const auto line = static_cast<int64_t>(p.n);
    return [line](int64_t m, int64_t n) { return m * line + n; };
}

Agreement agreement(const Subject& s, const Model& model, const Bytes& before, const Bytes& after,
                    const std::vector<Wanted>& wanted, const std::vector<bool>& which,
                    uint64_t step) {
    const launch::Product& p = *s.product;
    const Place a = model.a ? model.a : right_place_a(p);
    const Place b = model.b ? model.b : right_place_b(p);
    const Place d = model.d ? model.d : right_place_d(p);
    const std::vector<double> of_a = values_of(before[s.buffer_named(p.a)], p.type_a);
    const std::vector<double> of_b = values_of(before[s.buffer_named(p.b)], p.type_b);
    std::vector<double> of_c;
    if (!p.c.empty()) of_c = values_of(before[s.buffer_named(p.c)], p.type_c);
    const uint64_t elements = after[s.buffer].size() / (isa::bits(s.type) / 8);
    Agreement out;
    uint64_t count = 0;
    for (uint64_t i = 0; i < wanted.size(); ++i) {
        if (!which[i] || count++ % step != 0) continue;
        const auto row = static_cast<int64_t>(i / p.n), column = static_cast<int64_t>(i % p.n);
        ++out.of;
        const int64_t stored = d(row, column);
        if (stored < 0 || static_cast<uint64_t>(stored) >= elements) continue;
        double sum = at(of_c, static_cast<int64_t>(i));
        for (int64_t k = 0; k < static_cast<int64_t>(p.k); ++k)
            if (model.uses_k.empty() || model.uses_k[static_cast<size_t>(k)] != 0)
                sum += at(of_a, a(row, k)) * at(of_b, b(k, column));
        const uint64_t bits =
            launch::element(after[s.buffer], s.type, static_cast<uint64_t>(stored));
        Wanted w = wanted[i];
        w.value = sum, w.bits = launch::bits_of(s.type, sum);
        out.agree += is_right(s.type, bits, w) ? 1 : 0;
    }
    return out;
}

}  // namespace lockwarp::why
