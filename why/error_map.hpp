// SPDX-License-Identifier: Apache-2.0
// Which elements of a matrix are wrong, and how.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "why/subject.hpp"

namespace lockwarp::why {

// How an element is wrong.
enum class Wrong : uint8_t { no, value, other, is_zero, unwritten, nan };
struct WrongRow {
    Wrong wrong;
    char letter;  // on the map
    std::string_view words;
};
std::span<const WrongRow> wrong_rows();

struct ErrorMap {
    uint64_t rows = 0, columns = 0;
    std::vector<Wrong> of;                 // by element
    std::vector<uint32_t> has_value_of;    // by element that is `other`: whose expected value
    std::vector<uint64_t> counts;          // by Wrong
    std::vector<std::string> permutation;  // "row r has the values of row r^1"
    uint64_t wrong() const;
};

// written: by element whether a store of the run has touched it; empty: not known.
ErrorMap error_map(const Subject& subject, const Bytes& after, const std::vector<Wanted>& wanted,
                   const std::vector<bool>& written);

}  // namespace lockwarp::why
