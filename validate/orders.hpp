// SPDX-License-Identifier: Apache-2.0
// Whether what launches leave depends on the order in which warps and CTAs run, and the fewest
// places at which they give way to show it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/state.hpp"

namespace lockwarp::validate {

// The orders of the launches of a file, one after another.
struct StepOrders {
    uint64_t seed = 0;
    // In place of the seed: by launch, where warps and CTAs give way. As many as launches.
    std::optional<std::vector<std::vector<warp::GiveWay>>> places;
};

// What they left.
struct Left {
    std::optional<std::string> refused;  // nothing ran
    std::string trap;                    // empty: none
    bool stopped = false;
    launch::State state;
    std::vector<std::vector<warp::GiveWay>> made;  // by launch: where they gave way
};

struct OrderLimits {
    uint64_t max_steps = 0;  // 0: none
    const std::atomic<bool>* stop = nullptr;
};

// Runs the launches on a copy of what they begin with.
Left run_in_order(std::span<const launch::Loaded> steps, const launch::State& first,
                  const StepOrders& orders, const OrderLimits& limits);

// The first element in which two runs differ.
struct OrderDifference {
    std::string name;    // of a buffer or a variable; empty: the trap
    uint64_t index = 0;  // of an element of `bytes` bytes
    uint32_t bytes = 0;
    std::string was, is;  // in hexadecimal; of traps their names
};
// Of the outputs that the file names, else of all buffers and variables.
std::optional<OrderDifference> difference(std::span<const launch::Loaded> steps, const Left& was,
                                          const Left& is);
// "D[37]"; "the trap".
std::string element_text(const OrderDifference& d);

// Two orders with different results that differ in as few places as were found.
struct OrderPair {
    uint64_t seed = 0;
    // The one is the usual order, in the other they give way here besides. By launch.
    std::vector<std::vector<warp::GiveWay>> places;
    // The instruction of each; UINT32_MAX of a CTA.
    std::vector<std::vector<uint32_t>> operations;
    OrderDifference difference;
};

// Of the numbers below `count`, all of which together make it differ, as few as do: parts of the
// list are left out as long as that is so (delta debugging), in at most `max_trials` rounds.
inline constexpr unsigned max_trials = 200;
using Numbers = std::vector<size_t>;
Numbers fewest(size_t count, const std::function<bool(const Numbers&)>& differs);

struct OrdersResult {
    std::optional<std::string> refused;
    uint64_t orders = 0;     // that ran, beside the usual one
    uint64_t different = 0;  // of them
    bool stopped = false;    // by OrderLimits::stop
    std::optional<OrderPair> pair;
};

// The usual order and those of the seeds from 1 to `orders`.
OrdersResult try_orders(std::span<const launch::Loaded> steps, const launch::State& first,
                        uint64_t orders, const OrderLimits& limits);

// What was found, for a person: lines; empty: all orders gave the same.
std::string orders_text(std::span<const launch::Loaded> steps, const OrdersResult& r);
// "warp 1 of CTA (0,0,0) gives way before line 35 (step 12)", one of each place.
std::vector<std::string> places_text(std::span<const launch::Loaded> steps, const OrderPair& pair);

}  // namespace lockwarp::validate
