// SPDX-License-Identifier: Apache-2.0
// The word that was meant where one is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockwarp::launch {

// The word of the list that differs least from `word`, in letters left out, added, changed or
// swapped with their neighbour; empty where every one differs in more than a third of its letters.
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);

// "; did you mean 'grid'?", or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> words);

}  // namespace lockwarp::launch
