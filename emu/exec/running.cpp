// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/running.hpp"

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

namespace {

thread_local const Context* of_thread = nullptr;

}  // namespace

Running::Running(const Context& c) : before_(of_thread) { of_thread = &c; }

Running::~Running() { of_thread = before_; }

std::optional<RunningPlace> running_place() {
    const Context* const c = of_thread;
    if (c == nullptr || c->warp == nullptr || c->warp->paths.empty()) return std::nullopt;
    return RunningPlace{c->program, c->cta->id, c->warp->index, c->warp->step,
                        c->warp->paths.back().pc};
}

}  // namespace lockwarp::exec
