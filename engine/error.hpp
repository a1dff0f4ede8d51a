// SPDX-License-Identifier: Apache-2.0
// Errors of the C face. Inside, a Failure is thrown; guarded() makes a status of it, and of any
// other exception.
#pragma once

#include <string>
#include <vector>

#include "emu/ptx/tree.hpp"
#include "lockwarp.h"

struct lockwarp_error {
    lockwarp_status status = LOCKWARP_INTERNAL;
    std::string message;
    std::vector<lockwarp::ptx::Diagnostic> diagnostics;
};

namespace lockwarp::engine {

struct Failure {
    lockwarp_status status;
    std::string message;
    std::vector<ptx::Diagnostic> diagnostics = {};
};

[[noreturn]] void fail(lockwarp_status status, std::string message);

// `name` is that of the text.
[[noreturn]] void fail(const std::string& name, std::vector<ptx::Diagnostic> diagnostics);

// Of the exception that is being handled. error may be nullptr.
lockwarp_status handled(lockwarp_error** error) noexcept;

// An error that is not a Failure: `status` is the call's all the same.
void put_error(lockwarp_error** error, lockwarp_status status, const std::string& message) noexcept;

// Runs `work`, which returns nothing or a status.
template <class Work>
lockwarp_status guarded(lockwarp_error** error, Work work) noexcept {
    if (error != nullptr) *error = nullptr;
    try {
        if constexpr (requires { lockwarp_status(work()); })
            return work();
        else
            work();
        return LOCKWARP_OK;
    } catch (...) {
        return handled(error);
    }
}

}  // namespace lockwarp::engine
