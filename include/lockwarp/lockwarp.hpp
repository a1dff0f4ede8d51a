// SPDX-License-Identifier: Apache-2.0
// All of Lockwarp: the emulator and its listeners, launch files, which lane holds which element,
// kernels on a GPU and beside it, and what is known of each instruction. Needs lockwarp::lockwarp.
#pragma once

#include "emu/check/check.hpp"
#include "emu/timing/timing.hpp"
#include "evidence/fidelity.hpp"
#include "gpu/driver.hpp"
#include "lanes/banks.hpp"
#include "lanes/explain.hpp"
#include "lanes/questions.hpp"
#include "launch/input.hpp"
#include "launch/launch_file.hpp"
#include "lockwarp/emu.hpp"
#include "validate/lockstep.hpp"
#include "validate/recording.hpp"
