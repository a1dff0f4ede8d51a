// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "why/scene.hpp"

namespace lockwarp::why {

namespace {

// How often k goes on, or stays, from one instruction of a warp to the next of the same shape.
struct Ascent {
    uint64_t steps = 0, falls = 0;
    int64_t last = -1;
    void add(int64_t k) {
        if (last >= 0 && k >= 0) {
            ++steps;
            falls += k < last ? 1 : 0;
        }
        last = k;
    }
    double share() const {
        return steps == 0 ? 1 : 1 - static_cast<double>(falls) / static_cast<double>(steps);
    }
};

// How many places lie as far from where they would be as the first of them.
struct Steady {
    uint64_t all = 0, steady = 0;
    std::optional<std::pair<int64_t, int64_t>> first;
    void begin() { first.reset(); }
    void add(int64_t row, int64_t column) {
        ++all;
        if (!first) first = {row, column};
        steady += (first->first == row ? 1 : 0) + (first->second == column ? 1 : 0);
    }
    double share() const {
        return all == 0 ? 0 : static_cast<double>(steady) / static_cast<double>(2 * all);
    }
};

void add_operand(const Mapping& m, const launch::Product& p, const std::vector<uint32_t>& numbers,
                 unsigned rows, unsigned columns, Steady& a, Steady& b, Ascent& ka, Ascent& kb) {
    a.begin(), b.begin();
    bool first = true;
    for (uint32_t i = 0; i < numbers.size(); ++i) {
        const MatrixPlace s = source_of(m, p, numbers[i]);
        if (s.matrix == MatrixPlace::Matrix::none) continue;
        // B by (n, k), and where the instruction's A is B of the product, that by (k, n).
        const bool of_b = s.matrix == MatrixPlace::Matrix::b;
        const int64_t row = of_b ? s.column : s.row, k = of_b ? s.row : s.column;
        if (first) (of_b ? kb : ka).add(k);
        first = false;
        (of_b ? b : a).add(row - i / columns % rows, k - i % columns);
    }
}

}  // namespace

Natural natural_share(const Mapping& mapping, const launch::Product& product) {
    Steady a, b, stores;
    Ascent ka, kb;
    const Execution* before = nullptr;
    for (const Execution& x : mapping.executions) {
        const Site& s = mapping.sites[x.site];
        if (before != nullptr && (before->warp != x.warp || before->cta != x.cta))
            ka.last = kb.last = -1;
        before = &x;
        add_operand(mapping, product, x.a, s.m, s.k, a, b, ka, kb);
        add_operand(mapping, product, x.b, s.n, s.k, a, b, ka, kb);
    }
    std::vector<std::pair<uint32_t, uint32_t>> stored;  // accumulator, element of D
    for (uint32_t i = 0; i < mapping.d.size(); ++i)
        if (mapping.d[i] != zero && mapping.d[i] < untouched) stored.emplace_back(mapping.d[i], i);
    std::ranges::sort(stored);
    const Execution* last = nullptr;
    for (const auto& [number, i] : stored) {
        const Execution& x = mapping.of(number);
        const Site& s = mapping.sites[x.site];
        if (&x != last) stores.begin();
        last = &x;
        const uint32_t at = number - x.first;
        stores.add(int64_t{static_cast<uint32_t>(i / product.n)} - at / s.n % s.m,
                   int64_t{static_cast<uint32_t>(i % product.n)} - at % s.n);
    }
    return {a.share(), b.share(), stores.share(), ka.share(), kb.share()};
}

}  // namespace lockwarp::why
