// SPDX-License-Identifier: Apache-2.0
// Lockwarp's library: run PTX bit for bit as an NVIDIA GPU would.
//
//   auto parsed = lockwarp::ptx::parse(text);
//   auto resolved = lockwarp::isa::resolve(parsed.module, lockwarp::isa::Arch::sm_80, "kernel");
//   lockwarp::warp::Launch launch;  // to be filled: grid, block, parameters, buffers, observers
//   auto result = lockwarp::exec::launch(resolved.program, launch);
//
// Bytes in, results out: nothing here throws, prints, or keeps state between calls. What is wrong
// with a module is a list of diagnostics, a program's own fault is a trap, each with its place.
#pragma once

#include "emu/exec/grid.hpp"
#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"
#include "emu/warp/launch.hpp"
#include "emu/warp/observer.hpp"
