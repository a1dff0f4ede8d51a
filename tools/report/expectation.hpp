// SPDX-License-Identifier: Apache-2.0
// What a launch file expects, held against what the run left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/launch_file.hpp"
#include "tools/report/matrices.hpp"

namespace lockwarp::tools {

// One expectation and what was found. Every element is compared; the worst of those that are wrong
// is kept.
struct Checked {
    std::string what;  // "C", "D = A*B'"
    uint64_t values = 0;
    uint64_t different = 0;
    std::string name;     // of the buffer or variable
    std::string element;  // the worst: "D[3][5]", "C[17]"
    uint64_t at = 0;      // its first byte there
    std::string worst;    // "1.5 (0x3e00) is there, 1.25 is expected, 0.25 away, 256 ulp"
};

// Compares a buffer or variable as the run left it. Errors: what is expected cannot be made, or
// does not fit.
[[nodiscard]] launch::Result<Checked> check_expectation(const launch::LaunchFile& file,
                                                        const launch::Expectation& e,
                                                        const Buffers& before,
                                                        const Buffers& after);

// Whether what is expected can be made and fits, before the run.
[[nodiscard]] launch::Result<void> check_fit(const launch::LaunchFile& file,
                                             const launch::Expectation& e, const Buffers& buffers);

// The bytes that are expected of a buffer or variable of `whole` bytes, from the expectation's
// offset on; not of a product.
[[nodiscard]] launch::Result<std::vector<uint8_t>> expected_bytes(const launch::LaunchFile& file,
                                                                  const launch::Expectation& e,
                                                                  uint64_t whole);

// The answer in a line, and for the worst element a second one; each ends with a line break.
std::string checked_text(const Checked& c);

}  // namespace lockwarp::tools
