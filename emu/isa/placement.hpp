// SPDX-License-Identifier: Apache-2.0
// Sizes and places of variables. Internal to emu/isa, but for max_parameter_bytes,
// shared_places_known and is_dynamic_shared.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "emu/ptx/tree.hpp"

namespace lockwarp::isa {

constexpr uint64_t round_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

// Of a kernel or a function (ptxas 13.0).
inline constexpr uint64_t max_parameter_bytes = 32764;

struct Placement {
    uint64_t bytes = 0;
    uint64_t alignment = 1;
};

// Size and alignment of a declared variable; nothing where its type has no size.
std::optional<Placement> placement(const ptx::Variable& v);

// .extern and without a size. With one it is a variable as others: the assembler
// ignores an .extern that nothing defines.
bool is_dynamic_shared(const ptx::Variable& v);

// Where the .shared variables of an entry lie, as NVIDIA's assembler puts them. Learnt from ptxas
// 13.0 for sm_75, sm_80 and sm_90 at levels 0, 1 and 3, without a difference in the 300 sets of
// variables of tests/isa/data/shared.tsv (scripts/ask_shared.py): those that the entry names, first
// the module's own and the entry's that are .visible, .weak or .extern (the entry's variables are
// what the entry is), then the others; of each the module's before the entry's, in the order of
// their declarations, each aligned as declared. Dynamic shared memory follows, aligned to 16 bytes
// at least. Of the variables that nothing names, the entry's own take space behind the others, and
// the module's none.
struct SharedLayout {
    std::map<const ptx::Variable*, uint64_t> address;  // of all but dynamic ones
    uint64_t dynamic = 0;                              // where dynamic ones lie
};

// Where the module's .global variables lie, from `base`: those without initial values, then those
// with, which the assembler keeps apart; of each the most aligned first, of these the smallest. So
// ptxas 13.0 has them (symbol tables of cubins, sm_80 and sm_90). Of variables of one size and
// alignment it has an order of its own; here it is that of their declarations.
std::map<const ptx::Variable*, uint64_t> lay_out_global(const ptx::Module& module, uint64_t base);

// functions: those that the entry, the first of them, may come to. base: of the architecture.
SharedLayout lay_out_shared(const ptx::Module& module,
                            const std::vector<const ptx::Function*>& functions, uint64_t base);

// false: functions that the entry calls name shared variables too, whose order was not learnt; then
// they lie here in the order of the functions, and their addresses may differ from a GPU's.
bool shared_places_known(const ptx::Module& module, const std::string& entry);

}  // namespace lockwarp::isa
