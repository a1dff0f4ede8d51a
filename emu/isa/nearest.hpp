// SPDX-License-Identifier: Apache-2.0
// Which of some names a misspelt one may mean.
#pragma once

#include <string_view>
#include <vector>

namespace lockwarp::isa {

// Characters to insert, remove or replace until a is b.
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `candidates`, none of them empty, or empty where none is near.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace lockwarp::isa
