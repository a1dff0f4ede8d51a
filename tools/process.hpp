// SPDX-License-Identifier: Apache-2.0
// What the command line asks of its process before anything else, and what it says of failures that
// no command expects.
#pragma once

namespace lockwarp::tools {

// Descriptors 0 to 2 are taken, so that no file that a command opens becomes its stdout; a write to
// a closed pipe is an error and not the end; an exception that nobody catches is a sentence and the
// exit status of wrong input.
void prepare_process();

// The exception that is being handled: says it, and the exit status.
int refuse_current_exception();

// What was printed is out, or a sentence says that it is not and the status is another.
int flushed(int status);

}  // namespace lockwarp::tools
