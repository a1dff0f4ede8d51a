// SPDX-License-Identifier: Apache-2.0
// Prints the words of PTX as a libFuzzer dictionary: from the instruction tables, the special
// registers and the types.
#include <cstdio>
#include <set>
#include <string>

#include "emu/isa/arch.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/matrix.hpp"
#include "emu/isa/operation.hpp"

int main() {
    using namespace lockwarp;
    std::set<std::string> words;
    // One by one; an operator's parts, as "::", stay.
    const auto add_modifiers = [&](const std::string& spelled) {
        for (size_t at = 0; at < spelled.size();) {
            const size_t end = std::min(spelled.find('.', at + 1), spelled.size());
            words.insert(spelled.substr(at, end - at));
            at = end;
        }
    };
    for (const isa::Form& form : isa::forms()) {
        words.emplace(form.opcode);
        // Millions of spellings, below by variants.
        if (form.op == isa::Op::mma || form.op == isa::Op::wgmma_mma) continue;
        for (const std::string& spelled : isa::expansions(form)) add_modifiers(spelled);
    }
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        const std::string key(v.key);
        const std::string modifiers = key.substr(key.find('.'));
        words.insert(modifiers);
        add_modifiers(modifiers);
    }
    for (const isa::WarpgroupVariant& v : isa::warpgroup_variants())
        add_modifiers(std::string(v.key().substr(v.key().find('.'))));
    for (const isa::SpecialRow& s : isa::special_rows()) words.emplace(s.name);
    for (const isa::TypeRow& t : isa::type_rows) words.emplace(t.name);
    for (const isa::ArchRow& a : isa::arch_rows) words.insert(".target " + std::string(a.name));
    // What stands around instructions.
    for (const char* word : {".version 9.0",   ".address_size 64",
                             ".visible",       ".entry",
                             ".func",          ".param",
                             ".reg",           ".shared",
                             ".global",        ".const",
                             ".local",         ".align",
                             ".extern",        ".maxntid",
                             ".reqntid",       ".callprototype",
                             ".branchtargets", ".calltargets",
                             "0f3f800000",     "0d3ff0000000000000",
                             "%r<8>;",         "@%p"})
        words.emplace(word);
    words.erase("");
    for (const std::string& word : words) std::printf("\"%s\"\n", word.c_str());
    return 0;
}
