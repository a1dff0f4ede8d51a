// SPDX-License-Identifier: Apache-2.0
// Whether what launches leave depends on when asynchronous instructions do their work
// (exec::Schedule), which of them it is, and who reads too early.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "validate/orders.hpp"

namespace lockwarp::validate {

// A launch whose result is another one where its asynchronous instructions are late.
struct ScheduleDifference {
    size_t launch = 0;
    OrderDifference what;  // with the early schedule, and the late one
    // The operation that makes the difference alone; UINT32_MAX: none does.
    uint32_t operation = UINT32_MAX;
    // The first load that gets something else where that operation is late.
    struct Reader {
        uint32_t operation = 0;
        std::array<uint32_t, 3> cta{};
        uint32_t warp = 0;
        uint32_t lanes = 0;
        uint64_t step = 0;
    };
    std::optional<Reader> reader;
};

struct SchedulesResult {
    std::optional<std::string> refused;
    bool stopped = false;
    bool compared = false;  // false: no launch has an asynchronous instruction
    std::optional<ScheduleDifference> difference;
};

// Runs the launches with either schedule, on one thread. Sums of floating-point reductions by
// copies may depend on the schedule without a mistake: of these alone nothing is said.
// known: what some run with the early schedule left. Where the late one leaves the same, that is
// the only run here.
SchedulesResult try_schedules(std::span<const launch::Loaded> steps, const launch::State& first,
                              const OrderLimits& limits, const Left* known = nullptr);

// Whether the operation leaves something to do for later.
bool is_asynchronous(isa::Op op);

}  // namespace lockwarp::validate
