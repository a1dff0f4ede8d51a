// SPDX-License-Identifier: Apache-2.0
// What the runtime has beside the driver: the device's context for each thread that calls, each
// thread's last error, and the kernels and variables that programs registered.
#pragma once

#include <string>
#include <utility>

#include "cuda/driver.hpp"
#include "cuda/errors.hpp"
#include "cuda/runtime/api.hpp"

namespace lockwarp::cuda {

// Begins the driver. A Failure where there is no device, and after a fork of a process that had
// one.
void begin_driver();
// Makes a device's primary context this thread's, where it has none: of the first, or of that which
// it had. A Failure where there is no device, and after a fork of a process that had one.
void begin();
// The device of this thread's context; the first where it has none.
DeviceId this_device();
// Makes the device's primary context; set_device: and that one this thread's.
void init_device(DeviceId device);
void set_device(DeviceId device);
// Keeps an error for cudaGetLastError.
Result remember(Result result) noexcept;

// Runs `work`, which returns nothing or a result, with a context.
template <class Work>
Result call(Work work) noexcept {
    return remember(answer([&] {
        begin();
        return work();
    }));
}

// The same without a context, and none is made: of devices, pools and pointers (an H200, driver
// 580, asked of each function by itself).
template <class Work>
Result ask(Work work) noexcept {
    return remember(answer([&] {
        begin_driver();
        return work();
    }));
}

struct Registered;  // a kernel

// The kernel that a host function stands for, loaded; a Function itself is one too. Failures:
// invalid_device_function, and what its module's loading gave.
Function* kernel_of(const void* host_function);
// The host function of a registered kernel; a kernel of another kind is its own.
const void* host_function_of(const Function* kernel);
// A registered kernel as a handle that outlives its module; nullptr where there is none.
Registered* registered_at(const void* host_function);

struct VariablePlace {
    Address address;
    size_t size;  // in bytes
};
// A Failure invalid_symbol.
VariablePlace variable_of(const void* host_variable);
// After the device was reset: its modules are loaded anew when they are next needed.
void forget_modules(DeviceId device);

// cudaGetErrorName and cudaGetErrorString, which always have a text.
const char* name_of_error(int number);
const char* text_of_error(int number);

}  // namespace lockwarp::cuda
