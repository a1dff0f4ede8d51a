// SPDX-License-Identifier: Apache-2.0
// What `lockwarp exec` looks at in each launch: checks, cycles, launch files. What it finds is on
// stderr, and a line each in a file for the command that started the program.
#pragma once

#include <memory>
#include <string>

#include "cuda/crash.hpp"
#include "cuda/state.hpp"
#include "engine/watch.hpp"

namespace lockwarp::cuda {

// Whether anything was asked for, by the environment: LOCKWARP_EXEC_CHECK (names of checks),
// LOCKWARP_EXEC_TIME (1), LOCKWARP_EXEC_RECORD (a folder), LOCKWARP_EXEC_REPORT (a file),
// LOCKWARP_EXEC_CRASH (for tests: the number of a launch in which the emulator fails).
bool is_watched();
// Whether launch files are written.
bool is_recorded();
// For a launch; nullptr where nothing was asked for.
std::unique_ptr<engine::Watch> watch_launch(UnderWay& launch);

// Time of the device, by the model of cycles; it goes on with each launch.
bool has_device_time();
std::chrono::nanoseconds device_time();

}  // namespace lockwarp::cuda
