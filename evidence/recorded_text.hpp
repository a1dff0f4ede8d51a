// SPDX-License-Identifier: Apache-2.0
// recorded.tsv as it was when the program was built.
#pragma once

#include <string_view>

namespace lockwarp::evidence {

std::string_view recorded_text();

}  // namespace lockwarp::evidence
