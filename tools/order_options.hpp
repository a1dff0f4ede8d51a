// SPDX-License-Identifier: Apache-2.0
// --order, --orders
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

namespace lockwarp::tools {

inline void add_order_options(CLI::App& app, std::optional<uint64_t>& order, uint64_t& orders) {
    app.add_option("--order", order,
                   "another order of warps and CTAs, which the seed chooses; the same for any "
                   "number of threads")
        ->type_name("SEED");
    app.add_option("--orders", orders,
                   "run in N other orders too and say whether a result depends on it; exit status "
                   "1 where one does")
        ->type_name("N")
        ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}));
}

}  // namespace lockwarp::tools
