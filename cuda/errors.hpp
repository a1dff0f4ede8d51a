// SPDX-License-Identifier: Apache-2.0
// Errors of the driver's functions. Inside, a Failure is thrown; answer() makes a result of it.
#pragma once

#include <new>
#include <string_view>

#include "cuda/driver_api.hpp"

namespace lockwarp::cuda {

struct Failure {
    Result result;
};

[[noreturn]] inline void fail(Result result) { throw Failure{result}; }
// Of what is wrong with an argument.
inline void require(bool holds, Result otherwise = invalid_value) {
    if (!holds) fail(otherwise);
}

// Those of the driver that return a result, in a body that throws.
inline void check(Result result) { require(result == success, result); }

// A line on stderr, after "lockwarp: ".
void say(std::string_view text) noexcept;

// Runs `work`, which returns nothing or a result.
template <class Work>
Result answer(Work work) noexcept {
    try {
        if constexpr (requires { Result(work()); })
            return work();
        else
            work();
        return success;
    } catch (const Failure& f) {
        return f.result;
    } catch (const std::bad_alloc&) {
        return out_of_memory;
    } catch (...) {
        say("a fault of Lockwarp's own in a driver function");
        return unknown_error;
    }
}

}  // namespace lockwarp::cuda
