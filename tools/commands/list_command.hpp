// SPDX-License-Identifier: Apache-2.0
// lockwarp list: what is executed, printed from the tables.
#pragma once

#include <string>

namespace lockwarp::tools {

// Every matrix variant with what is known of it on each architecture, the other instructions, and
// those of PTX that are not executed. As text of 100 columns, or as markdown for docs/fidelity.md.
std::string instruction_list(bool markdown);

}  // namespace lockwarp::tools
