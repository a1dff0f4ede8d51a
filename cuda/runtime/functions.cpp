// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/functions.hpp"

#include <array>
#include <atomic>
#include <string>

#include "cuda/runtime/state.hpp"

using lockwarp::cuda::Result;

// The entry points, whatever their parameters: programs call them by their own types.
extern "C" {
#define DONE(symbol, toolkits, per_thread, implementation) void implementation();
#define LACKING(symbol, toolkits, per_thread) Result lockwarp_lacks_##symbol();
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING
}

namespace lockwarp::cuda {

namespace {

RuntimeEntry plain(Result (*lacking)()) { return reinterpret_cast<RuntimeEntry>(lacking); }

const std::array rows{
#define DONE(symbol, toolkits, per_thread, implementation) \
    RuntimeRow{#symbol, Toolkits::toolkits, true, implementation},
#define LACKING(symbol, toolkits, per_thread) \
    RuntimeRow{#symbol, Toolkits::toolkits, false, plain(lockwarp_lacks_##symbol)},
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING
};

Result lacking(std::atomic<bool>& said, std::string_view symbol) {
    if (!said.exchange(true)) say(std::string(symbol) + " is not supported");
    return remember(not_supported);
}

// Where each thread has a default stream of its own: the same functions.
std::string_view without_ending(std::string_view symbol) {
    for (const std::string_view ending : {"_ptds", "_ptsz"})
        if (symbol.ends_with(ending)) return symbol.substr(0, symbol.size() - ending.size());
    return symbol;
}

}  // namespace

std::span<const RuntimeRow> runtime_rows() { return rows; }

}  // namespace lockwarp::cuda

void* lockwarp_runtime_function(const char* symbol, int toolkit) {
    const std::string_view name = lockwarp::cuda::without_ending(symbol);
    for (const lockwarp::cuda::RuntimeRow& r : lockwarp::cuda::runtime_rows())
        if (r.symbol == name && has(r.toolkits, toolkit)) return reinterpret_cast<void*>(r.entry);
    return nullptr;
}

extern "C" {

#define DONE(symbol, toolkits, per_thread, implementation)
#define LACKING(symbol, toolkits, per_thread)          \
    Result lockwarp_lacks_##symbol() {                 \
        static std::atomic<bool> said{false};          \
        return lockwarp::cuda::lacking(said, #symbol); \
    }
#include "cuda/runtime/functions.inc"
#undef DONE
#undef LACKING

}  // extern "C"
