// SPDX-License-Identifier: Apache-2.0
// Results in tests: the sentence of a failure, "" where there is none.
#pragma once

#include <string>
#include <utility>

#include "launch/result.hpp"

namespace lockwarp {

template <class T>
std::string sentence_of(const launch::Result<T>& result) {
    return result ? std::string() : result.error().sentence;
}

// The value to `out`.
template <class T>
std::string take(launch::Result<T> result, T& out) {
    if (!result) return result.error().sentence;
    out = std::move(*result);
    return {};
}

}  // namespace lockwarp
