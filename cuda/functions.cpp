// SPDX-License-Identifier: Apache-2.0
#include "cuda/functions.hpp"

#include <array>
#include <atomic>
#include <string>

#include "cuda/errors.hpp"

using lockwarp::cuda::Result;

// The entry points, whatever their parameters: programs call them by their own types.
extern "C" {
#define DONE(symbol, name, since, per_thread) Result symbol();
#define LACKING DONE
#include "cuda/functions.inc"
#undef DONE
#undef LACKING
}

namespace lockwarp::cuda {

namespace {

constexpr std::array rows{
#define DONE(symbol, name, since, per_thread) \
    FunctionRow{#symbol, #name, since, PerThread::per_thread, true, symbol},
#define LACKING(symbol, name, since, per_thread) \
    FunctionRow{#symbol, #name, since, PerThread::per_thread, false, symbol},
#include "cuda/functions.inc"
#undef DONE
#undef LACKING
};

Result lacking(std::atomic<bool>& said, std::string_view symbol) {
    if (said.exchange(true)) return not_supported;
    say(std::string(symbol) + " is not supported");
    return not_supported;
}

}  // namespace

std::span<const FunctionRow> function_rows() { return rows; }

const FunctionRow* find_function(std::string_view name, int version, bool& known) {
    const FunctionRow* best = nullptr;
    known = false;
    for (const FunctionRow& r : rows) {
        if (r.name != name) continue;
        known = true;
        if (r.since <= version && (best == nullptr || best->since < r.since)) best = &r;
    }
    return best;
}

}  // namespace lockwarp::cuda

extern "C" {

#define DONE(symbol, name, since, per_thread)
#define LACKING(symbol, name, since, per_thread)       \
    Result symbol() {                                  \
        static std::atomic<bool> said{false};          \
        return lockwarp::cuda::lacking(said, #symbol); \
    }
#include "cuda/functions.inc"
#undef DONE
#undef LACKING

}  // extern "C"
