// SPDX-License-Identifier: Apache-2.0
// Lines of a table about mma variants. Those with a .kind are many, and few say different things.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockwarp::tools {

struct VariantLine {
    std::string name;   // a variant's key
    std::string words;  // what the table says of it
};

// One line for the variants of a .kind that differ in the types of A and B alone and of which the
// same is said: "mma.m16n8k16.kind::f8f6f4.f32.e4m3/e5m2.e4m3/e5m2.f32". Where these types are not
// each of some with each of some, the name has "A.B", which other_pairs explains.
std::vector<VariantLine> joined(const std::vector<VariantLine>& lines);

inline constexpr std::string_view other_pairs =
    "A.B: each pair of e4m3, e5m2, e3m2, e2m3 and e2m1 that has no line above";

}  // namespace lockwarp::tools
