// SPDX-License-Identifier: Apache-2.0
// LOCKWARP_EXEC_ORDER=SEED: a stream's work is not done when it is asked for, but later, in an
// order that CUDA allows and the seed chooses: what a program does not wait for may not have
// happened, and streams that nothing orders overtake each other. A launch with programmatic stream
// serialization may begin before the launch that its stream was asked for before it
// (engine/ahead.hpp). It is done on the threads that call, so that an order is the same each time.
#pragma once

#include <functional>

#include "cuda/graph.hpp"

namespace lockwarp::cuda {

// Whether a seed was given.
bool has_order();
// Whether work is or may be put off: a seed was given, or a kernel waits for what the program does
// next (cuda/aside.hpp), and with it what its stream was asked for behind it.
bool is_put_off();

// Work for that stream of the current context, to be done later, and after that of the number
// `after`, where it is still to be done. Its number; 0: it has been done. Without a seed only what
// comes after other work is done later. waits: as may_wait(work), for what does not say so itself.
uint64_t put_off(Stream* stream, Work work, uint64_t after = 0, bool waits = false);
// Whether that work is still to be done; 0 is none.
bool is_pending(uint64_t number);
// Does what must be done before that work has been, and perhaps more.
void finish(uint64_t number);
// All that the stream was asked for; nullptr and the default streams' numbers are streams too.
void finish_stream(Stream* stream);
bool stream_is_pending(Stream* stream);
// All of a context; of all contexts.
void finish_context(const Context& context);
void finish_all();
// Somebody asks whether work is done: some of it is, so that whoever asks again and again comes to
// an end.
void look();
// As run(), now or later.
void perform(Stream* stream, Work work);
// Of the launch that begins on this thread: has what it was begun before end, though its stream was
// asked for that first. Empty: there is nothing.
std::function<void()> take_what_is_before();

}  // namespace lockwarp::cuda
