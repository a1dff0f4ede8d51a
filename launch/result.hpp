// SPDX-License-Identifier: Apache-2.0
// One way to fail: a value, or what is wrong and where.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::launch {

// Either a sentence for the user, without a full stop, or what is wrong with a PTX text.
struct Error {
    std::string sentence;                      // empty where there are diagnostics
    std::vector<ptx::Diagnostic> diagnostics;  // in `source`, each with its place
    std::string path, source;                  // the PTX that the diagnostics are of
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> failure(std::string sentence) {
    return tl::unexpected(Error{std::move(sentence), {}, {}, {}});
}

// The failure of one result as that of another.
template <class T>
[[nodiscard]] tl::unexpected<Error> failure(Result<T>& failed) {
    return tl::unexpected(std::move(failed.error()));
}

}  // namespace lockwarp::launch
