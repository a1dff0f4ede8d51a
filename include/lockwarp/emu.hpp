// SPDX-License-Identifier: Apache-2.0
// The emulator: load PTX, resolve it for an architecture, launch it, observe it. Needs
// lockwarp::emu and nothing else.
#pragma once

#include "emu/lockwarp.hpp"
#include "lockwarp/version.hpp"
