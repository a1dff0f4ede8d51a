// SPDX-License-Identifier: Apache-2.0
// What driver/noted.cpp is like, for the test that loads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockwarp::noted {

struct Driver {
    int version = 12080;
    bool knows = true;  // its device's attributes, memory and version
    int major = 9, minor = 0;
    int sms = 2, sm_threads = 4;
    size_t memory = 16000;
    size_t largest_stack = SIZE_MAX;
    std::string failing;  // the function that fails with `error`: so often, and when it did not
    int error = 1;        // `successes` times before
    int failures = 1 << 30;
    int successes = 0;
    const void* current = nullptr;  // context; its own is the driver's address
    bool explains = true;           // errors
    unsigned parameters = 0;        // of its kernels: the first byte of each is noted
    std::string notes;              // what it was asked
};

}  // namespace lockwarp::noted
