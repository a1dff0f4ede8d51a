// SPDX-License-Identifier: Apache-2.0
#include "emu/check/check.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::check {

namespace {

constexpr std::array rows{
    CheckRow{"early-reads", "EARLY", "reads of shared memory that a cp.async may still be bringing",
             true, early_reads},
    CheckRow{"unused-shared", "UNUSED", "bytes of shared memory that no thread accesses", false,
             unused_shared},
    CheckRow{
        "global-races", "RACE",
        "accesses of global memory by several warps or CTAs that nothing orders, one of them a "
        "store",
        true, global_races},
};

constexpr bool names_differ() {
    for (size_t i = 0; i < rows.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            if (rows[i].name == rows[k].name || rows[i].word == rows[k].word) return false;
    return true;
}
static_assert(names_differ());

}  // namespace

std::span<const CheckRow> checks() { return rows; }

const CheckRow* check_named(std::string_view name) {
    const auto row = std::ranges::find(rows, name, &CheckRow::name);
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace lockwarp::check
