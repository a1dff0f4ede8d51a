// SPDX-License-Identifier: Apache-2.0
// The elements within a register in another order.
#include <array>

#include "why/address_edit.hpp"
#include "why/hypothesis.hpp"

namespace lockwarp::why {

namespace {

struct Bytes4 {
    std::string_view selector;  // of prmt
    std::string_view words;
    unsigned bits;  // of an element, at most
};
constexpr std::array orders{
    Bytes4{"0x1032", "the halves", 16},
    Bytes4{"0x2301", "the bytes of each half", 8},
    Bytes4{"0x0123", "the bytes (big end first)", 8},
};

}  // namespace

void try_packed(const Scene& s, std::vector<Candidate>& out) {
    if (!s.mapping) return;
    for (const auto& [operand, letter] : {std::pair{1U, 'A'}, std::pair{2U, 'B'}})
        for (const Bytes4& order : orders) {
            Candidate c;
            for (const Site& site : s.mapping->sites) {
                const ptx::Instruction* const was = s.instruction(site.operation);
                const unsigned bits = operand == 1 ? site.a.bits : site.b.bits;
                if (was == nullptr || was->opcode != "mma" || bits > order.bits ||
                    was->operands.size() <= operand)
                    continue;
                Edit e{was->place, {}};
                ptx::Instruction now = *was;
                unsigned n = 0;
                for (ptx::Operand& reg : now.operands[operand].items) {
                    const std::string name = "%why" + std::to_string(was->place.line) + "_" +
                                             letter + std::to_string(n++);
                    for (ptx::Instruction& i :
                         instructions("prmt.b32 " + name + ", " + reg.text + ", 0, " +
                                      std::string(order.selector) + ";"))
                        e.becomes.push_back(std::move(i));
                    reg.text = name;
                    ptx::Variable v;
                    v.space = ptx::Space::reg;
                    v.type = ".b32";
                    v.name = name;
                    c.patch.registers.push_back(std::move(v));
                }
                if (e.becomes.size() != n) continue;
                e.becomes.push_back(std::move(now));
                c.places.push_back(was->place);
                c.patch.edits.push_back(std::move(e));
            }
            if (c.places.empty()) continue;
            c.words = std::string(order.words) + " of the registers of " + letter + " of " +
                      lines_text(c.places) + " are in the wrong order";
            c.operands_only = true;
            c.cost = 2;
            out.push_back(std::move(c));
        }
}

void try_wmma(const Scene& s, std::vector<Candidate>& out) {
    const auto flip = [](ptx::Modifier& m) { m.text = m.text == ".row" ? ".col" : ".row"; };
    const auto is_order = [](const ptx::Modifier& m) {
        return m.text == ".row" || m.text == ".col";
    };
    // The order of one matrix, at its loads and at the products, or at the stores.
    for (const std::string which : {".a", ".b", ".d"}) {
        Candidate c;
        for (const isa::Operation& o : s.program.operations) {
            const ptx::Instruction* const was = s.text.at(o.place);
            if (was == nullptr || was->opcode != "wmma" || was->modifiers.size() < 2) continue;
            const std::string& what = was->modifiers[0].text;
            const bool moves =
                (what == ".load" || what == ".store") && was->modifiers[1].text == which;
            const bool multiplies = what == ".mma" && which != ".d";
            if (!moves && !multiplies) continue;
            Edit e{was->place, {*was}};
            unsigned seen = 0;
            for (ptx::Modifier& m : e.becomes[0].modifiers) {
                if (!is_order(m)) continue;
                if (moves || seen == (which == ".a" ? 0U : 1U)) flip(m);
                ++seen;
            }
            if (moves) c.places.push_back(was->place);
            c.patch.edits.push_back(std::move(e));
        }
        if (c.places.empty()) continue;
        const char letter = static_cast<char>(which[1] - 'a' + 'A');
        c.words = "wmma takes " + std::string(1, letter) + " at " + lines_text(c.places) +
                  " in the wrong order: .row in place of .col, or the other way round";
        out.push_back(std::move(c));
    }
    // Another leading dimension.
    if (!s.subject.product) return;
    const launch::Product& p = *s.subject.product;
    for (const std::string which : {".a", ".b", ".d"})
        for (const uint64_t stride : {p.m, p.n, p.k}) {
            Candidate c;
            for (const isa::Operation& o : s.program.operations) {
                const ptx::Instruction* const was = s.text.at(o.place);
                if (was == nullptr || was->opcode != "wmma" || was->modifiers.size() < 2 ||
                    was->modifiers[1].text != which || was->operands.size() < 3)
                    continue;
                Edit e{was->place, {*was}};
                ptx::Operand& now = e.becomes[0].operands[2];
                if (now.kind == ptx::OperandKind::integer && now.bits == stride) continue;
                now = {};
                now.kind = ptx::OperandKind::integer;
                now.bits = stride;
                c.places.push_back(was->place);
                c.patch.edits.push_back(std::move(e));
            }
            if (c.places.empty()) continue;
            const char letter = static_cast<char>(which[1] - 'a' + 'A');
            c.words = "the stride of " + std::string(1, letter) + " of wmma at " +
                      lines_text(c.places) + " is wrong: " + std::to_string(stride) + " is right";
            out.push_back(std::move(c));
        }
}

}  // namespace lockwarp::why
