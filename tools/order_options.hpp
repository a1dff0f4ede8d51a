// SPDX-License-Identifier: Apache-2.0
// --order, --orders, --async
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

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

// --async
inline void add_async_option(CLI::App& app, std::string& async) {
    app.add_option("--async", async,
                   "when copies, wgmma and other asynchronous instructions do their work: early, "
                   "where they are issued (the default), or late, where somebody waits for them")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"early", "late"}));
}

}  // namespace lockwarp::tools
