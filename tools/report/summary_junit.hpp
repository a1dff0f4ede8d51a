// SPDX-License-Identifier: Apache-2.0
// A summary as JUnit XML, which CI systems read as a list of tests.
#pragma once

#include <string>

#include "validate/summary.hpp"

namespace lockwarp::tools {

// One testsuite of the command, a testcase for each result; a difference is a failure, what could
// not be run or compared an error. Identical programs of fuzz, which have no results, are one
// testcase together. A summary whose verdict is not identical never has a suite that passes.
std::string summary_junit(const validate::Summary& s);

}  // namespace lockwarp::tools
