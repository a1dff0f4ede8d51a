// SPDX-License-Identifier: Apache-2.0
// Paths of a warp: where its lanes part, where they wait for each other, and where they go on
// together. The state is the warp's own: Warp::paths, meetings and live.
#pragma once

#include <span>

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

// Where some lanes of a path go.
struct Way {
    uint32_t pc;
    uint32_t lanes;
};

// Parts a path by where its lanes go. They meet again at operation `at`; isa::never: nowhere.
// `ways` are not empty and hold the path's lanes, each once.
void part(warp::Warp& w, size_t path, uint32_t at, std::span<const Way> ways);

// Adds a meeting; gives its place in Warp::meetings.
uint32_t add_meeting(warp::Warp& w, const warp::Reconvergence& meeting);

// A path of Context::warp has come to its meeting: its lanes wait there for the others.
void arrive(Context& c, size_t path);

// Lets the lanes of a meeting go on once all of them have arrived or exited.
void settle(Context& c, warp::Warp& w, uint32_t meeting);

// Lets the lanes that have arrived at one meeting go on without the others. false: none have.
bool release_arrived(Context& c, warp::Warp& w);
bool can_release(const warp::Warp& w);

// A path of Context::warp comes with `mask`, not the whole warp's, to an instruction that the warp
// executes together. It waits for others that may come yet and is one path with them when they are
// there: where a branch parts the warp, its ways may come together before its meeting by other
// branches that go the same way. false: it need not, or none of them goes on. One that went on
// without others (Path::apart) waits in any case.
bool awaits_warp(Context& c, size_t path, uint32_t mask);

// Of a warp with no path that goes on: has one that stands at such an instruction, and for which
// none comes, execute it. false: there is none.
bool ask_aligned(warp::Warp& w);

// Takes lanes out of a path, which ends when it has none left.
void remove_lanes(warp::Warp& w, size_t path, uint32_t lanes);

// The youngest path that is ready of those that these lanes are in; the number of paths where there
// is none.
size_t youngest_of(const warp::Warp& w, uint32_t lanes);

// Makes one path of this one and those that stand at the same operation on the way to the same
// meeting.
void join(warp::Warp& w, size_t path);

}  // namespace lockwarp::exec
