// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/requirements.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::isa {

namespace {

// As ptxas 13.0 has them.
constexpr auto rows = std::to_array<Requirement>({
    {"mbarrier", ".shared::cluster", "", 90, 80, "Feature '.shared::cluster'"},
    {"", ".shared::cluster", "", 90, 78, "Feature '::cluster'"},
    {"cp", ".shared::cta", ".global", 0, 70, ""},
    {"", ".shared::cta", "", 0, 78, "Feature '::cta'"},
    {"", ".param::entry", "", 0, 83, "Feature '::entry'"},
    {"", ".param::func", "", 0, 83, "Feature '::func'"},
    {"cvta", ".param", "", 0, 77, "Feature 'cvta/isspacep with .param state space'"},
    {"isspacep", ".param", "", 0, 77, "Feature 'cvta/isspacep with .param state space'"},
    {"", ".cluster", "", 90, 78, "Feature '.cluster scope'"},
    {"bar", ".cta", "", 0, 78, "Feature 'bar.cta'"},
    {"barrier", ".cta", "", 0, 78, "Feature 'barrier.cta'"},
    {"barrier", ".release", "", 0, 80, "Modifier '.release' on 'barrier.cluster.arrive'"},
    {"barrier", ".relaxed", "", 0, 80, "Modifier '.relaxed' on 'barrier.cluster.arrive'"},
    {"barrier", ".acquire", "", 0, 80, "Modifier '.acquire' on 'barrier.cluster.wait'"},
    {"mbarrier", ".release", "", 0, 80, "Modifier '.release' on 'mbarrier.arrive'"},
    {"mbarrier", ".acquire", "", 0, 80, "Modifier '.acquire' on 'mbarrier.test_wait'"},
    {"mbarrier", ".relaxed", ".arrive", 90, 86, "Modifier '.relaxed' on 'mbarrier.arrive'"},
    {"mbarrier", ".relaxed", ".arrive_drop", 90, 86,
     "Modifier '.relaxed' on 'mbarrier.arrive_drop'"},
    {"mbarrier", ".relaxed", ".test_wait", 90, 86, "Modifier '.relaxed' on 'mbarrier.test_wait'"},
    {"mbarrier", ".relaxed", ".try_wait", 90, 86, "Modifier '.relaxed' on 'mbarrier.try_wait'"},
    {"", ".L1::evict_normal", "", 0, 74, "Modifier '.evict_normal' on '@'"},
    {"", ".L1::evict_unchanged", "", 0, 74, "Modifier '.evict_unchanged' on '@'"},
    {"", ".L1::evict_first", "", 0, 74, "Modifier '.evict_first' on '@'"},
    {"", ".L1::evict_last", "", 0, 74, "Modifier '.evict_last' on '@'"},
    {"", ".L1::no_allocate", "", 0, 74, "Modifier '.no_allocate' on '@'"},
    {"", ".L2::cache_hint", "", 80, 74, "Modifier '.L2::cache_hint'"},
    {"", ".L2::64B", "", 75, 74, "Feature 'cache prefetching'"},
    {"", ".L2::128B", "", 75, 74, "Feature 'cache prefetching'"},
    {"", ".L2::256B", "", 80, 74, "Feature 'cache prefetching'"},
    {"multimem", ".acc::f32", "", 0, 82, "Modifier '.acc::f32'"},
    {"mma", ".sp::ordered_metadata", "", 80, 85, "Feature '.sp::ordered_metadata'"},
    {"", ".b128", ".sys", 70, 84, "Feature '.b128 with .sys'"},
    {"", ".b128", "", 70, 83, "Feature 'Instruction type .b128 for instruction @'"},
});

}  // namespace

std::span<const Requirement> requirements() { return rows; }

std::vector<const Requirement*> demands(std::string_view opcode,
                                        std::span<const ptx::Modifier> modifiers) {
    const auto has = [&](std::string_view text) {
        return text.empty() ||
               std::ranges::find(modifiers, text, &ptx::Modifier::text) != modifiers.end();
    };
    std::vector<const Requirement*> out;
    for (const Requirement& q : rows) {
        const bool met = !out.empty() && out.back()->modifier == q.modifier;
        if ((q.opcode.empty() || q.opcode == opcode) && !met && has(q.modifier) && has(q.with))
            out.push_back(&q);
    }
    return out;
}

}  // namespace lockwarp::isa
