// SPDX-License-Identifier: Apache-2.0
#include "launch/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lockwarp::launch {

namespace {

constexpr size_t max_letters = 64;

// The edits that lead from one word to the other (Damerau and Levenshtein, restricted).
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> one(b.size() + 1);
    std::iota(one.begin(), one.end(), size_t{0});
    std::vector<size_t> two(one.size()), row = one;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] =
                std::min({one[j] + 1, row[j - 1] + 1, one[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (std::min(i, j) > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], two[j - 2] + 1);
        }
        std::swap(two, one);
        std::swap(one, row);
    }
    return one.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
    if (word.size() > max_letters) return {};
    std::string_view best;
    size_t least = SIZE_MAX;
    for (const std::string_view w : words) {
        if (w.size() > max_letters) continue;
        const size_t edits = distance(word, w);
        const size_t allowed = std::max<size_t>(1, std::max(w.size(), word.size()) / 3);
        if (edits > allowed || edits >= least || edits >= w.size()) continue;
        best = w;
        least = edits;
    }
    return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> words) {
    const std::string_view meant = nearest(word, words);
    return meant.empty() ? std::string() : "; did you mean '" + std::string(meant) + "'?";
}

}  // namespace lockwarp::launch
