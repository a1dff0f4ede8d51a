// SPDX-License-Identifier: Apache-2.0
// How the extension module fails: an exception here, lockwarp.Error in Python, with the sentence
// that the program prints.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "launch/result.hpp"
#include "tools/report/failure.hpp"

namespace lockwarp::python {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Where there is no GPU: lockwarp.NoGpu.
struct NoGpu : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail(const launch::Error& error) {
    std::string text = tools::text_of(error);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw Failure(text);
}

template <class T>
T taken(launch::Result<T> result) {
    if (!result) fail(result.error());
    return std::move(*result);
}
inline void taken(launch::Result<void> result) {
    if (!result) fail(result.error());
}

}  // namespace lockwarp::python
