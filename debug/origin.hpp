// SPDX-License-Identifier: Apache-2.0
// Where a value came from: the instructions back to memory.
#pragma once

#include <string>

#include "debug/session.hpp"

namespace lockwarp::debug {

// The chain of what the expression names in the session's focus, as lines of text. The run is made
// once more up to where it stands. An error: it names nothing that was written, or the CTA has run
// too long for its instructions to be kept.
launch::Result<std::string> origin_text(Session& session, const Expression& expression);

}  // namespace lockwarp::debug
