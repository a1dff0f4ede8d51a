// SPDX-License-Identifier: Apache-2.0
// Who stands beside a run, sees its whole state between two instructions and may hold it there:
// what a debugger is made of.
#pragma once

#include <cstdint>

#include "emu/exec/schedule.hpp"
#include "emu/warp/memory.hpp"
#include "emu/warp/observer.hpp"
#include "emu/warp/state.hpp"

namespace lockwarp::exec {

// How the run goes on from where an inspector was asked.
struct Pace {
    uint64_t instructions = 1;  // that the path may retire before it is asked again; at least 1
    bool heard = true;          // the launch's observers hear of them
};

// All calls come from the thread that called inspect(), in the order of the run, which depends on
// nothing but the program and its data. The run waits while a call lasts. What is given stays where
// it is until the CTA has ended, and the memory until the run has.
class Inspector {
  public:
    virtual ~Inspector() = default;
    // The run begins, on all global memory that the program may touch.
    virtual void begins(const warp::GlobalMemory& memory) = 0;
    // A CTA begins.
    virtual void begins(const warp::Cta& cta) = 0;
    // A path of a warp is about to run its next operation, Path::pc. It may come to wait there and
    // be asked again without having retired anything (Warp::step). Where Launch::stop is set by
    // now, the run ends.
    virtual Pace before(const warp::Cta& cta, const warp::Warp& warp, size_t path) = 0;
    // A CTA has ended, also by a trap (nullptr: it has not trapped); its state is still there.
    virtual void ended(const warp::Cta& cta, const warp::Trap* trap) = 0;
};

// As launch(), all CTAs on the calling thread. The result is that of Launch::threads = 1.
warp::Result inspect(const Ready& ready, const warp::Launch& launch, Inspector& inspector,
                     const Schedule& schedule = {});

}  // namespace lockwarp::exec
