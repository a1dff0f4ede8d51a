// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: functions by name and version, from the table.
#include "cuda/errors.hpp"
#include "cuda/functions.hpp"

namespace lockwarp::cuda {

namespace {

// CUdriverProcAddressQueryResult
constexpr int is_found = 0, not_there = 1, needs_later_version = 2;

// Flags ask for the forms of a thread's own default stream, which are the same functions.
Result look_up(const char* name, void** out, int version, uint64_t flags, int& status) {
    constexpr uint64_t max_flags = 3;
    return answer([&] {
        require(name != nullptr && out != nullptr && flags < max_flags);
        bool known = false;
        const FunctionRow* const row = find_function(name, version, known);
        *out = row != nullptr ? reinterpret_cast<void*>(row->entry) : nullptr;
        status = row != nullptr ? is_found : known ? needs_later_version : not_there;
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuGetProcAddress(const char* name, void** out, int version, uint64_t flags) {
    int status = is_found;
    const Result result = look_up(name, out, version, flags, status);
    return result != success || status == is_found ? result : not_found;
}

Result cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags, int* status) {
    int own = is_found;
    const Result result = look_up(name, out, version, flags, own);
    if (status != nullptr && result == success) *status = own;
    return result != success || own == is_found || status != nullptr ? result : not_found;
}

}  // extern "C"
