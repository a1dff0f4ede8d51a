// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "why/scene.hpp"

namespace lockwarp::why {

namespace {

// By number of an element as it lies in the buffer: the number of the element that the model says
// is there; zero: none.
std::vector<uint32_t> renumbered(uint64_t rows, uint64_t columns, uint64_t first, const Place& is,
                                 const Place& right) {
    std::vector<uint32_t> out(rows * columns, zero);
    for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c) {
            const int64_t at = is(static_cast<int64_t>(r), static_cast<int64_t>(c));
            if (at >= 0 && static_cast<uint64_t>(at) < out.size())
                out[static_cast<size_t>(at)] = static_cast<uint32_t>(
                    first +
                    static_cast<uint64_t>(right(static_cast<int64_t>(r), static_cast<int64_t>(c))));
        }
    return out;
}

}  // namespace

Mapping as_modelled(const Mapping& mapping, const launch::Product& p, const Model& model) {
    Mapping out = mapping;
    std::vector<uint32_t> of_a, of_b;
    if (model.a) of_a = renumbered(p.m, p.k, 1, model.a, right_place_a(p));
    if (model.b) of_b = renumbered(p.k, p.n, 1 + mapping.elements_a, model.b, right_place_b(p));
    const auto change = [&](uint32_t& n) {
        if (n == zero || n >= untouched) return;
        const uint64_t at = n - 1;
        if (at < mapping.elements_a) {
            if (!of_a.empty()) n = of_a[at];
        } else if (!of_b.empty() && at - mapping.elements_a < of_b.size()) {
            n = of_b[at - mapping.elements_a];
        }
    };
    if (model.a || model.b)
        for (Execution& x : out.executions) {
            for (uint32_t& n : x.a) change(n);
            for (uint32_t& n : x.b) change(n);
        }
    if (!model.d) return out;
    for (uint64_t i = 0; i < out.d.size(); ++i) {
        const int64_t at = model.d(static_cast<int64_t>(i / p.n), static_cast<int64_t>(i % p.n));
        out.d[i] = at >= 0 && static_cast<uint64_t>(at) < mapping.d.size()
                       ? mapping.d[static_cast<size_t>(at)]
                       : untouched;
    }
    return out;
}

}  // namespace lockwarp::why
