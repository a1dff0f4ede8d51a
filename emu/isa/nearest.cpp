// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/nearest.hpp"

#include <algorithm>

namespace lockwarp::isa {

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> line(b.size() + 1);
    for (size_t k = 0; k <= b.size(); ++k) line[k] = k;
    for (size_t k = 0; k < a.size(); ++k) {
        size_t diagonal = line[0]++;
        for (size_t j = 0; j < b.size(); ++j) {
            const size_t replaced = diagonal + (a[k] != b[j]);
            diagonal = line[j + 1];
            line[j + 1] = std::min({line[j + 1] + 1, line[j] + 1, replaced});
        }
    }
    return line[b.size()];
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
    std::string_view best;
    // Of names as near the one with the same first letter.
    size_t best_score = 2 * (name.size() / 3 + 1) + 2;
    for (const std::string_view c : candidates) {
        const size_t score = 2 * edit_distance(name, c) + (c.substr(0, 1) != name.substr(0, 1));
        if (score < best_score) {
            best = c;
            best_score = score;
        }
    }
    return best;
}

}  // namespace lockwarp::isa
