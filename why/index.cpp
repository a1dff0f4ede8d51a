// SPDX-License-Identifier: Apache-2.0
// The arithmetic that makes rows and columns of lanes: another constant, or a quotient in place of
// a remainder.
#include <array>

#include "why/address_edit.hpp"
#include "why/hypothesis.hpp"

namespace lockwarp::why {

void try_index(const Scene& s, std::vector<Candidate>& out) {
    constexpr size_t max_lines = 40;
    struct Part {
        bool quotient;
        uint64_t by;  // of a remainder the mask
    };
    static constexpr std::array parts{
        Part{true, 1},  Part{true, 2},  Part{true, 3},  Part{true, 4},   Part{true, 5},
        Part{false, 1}, Part{false, 3}, Part{false, 7}, Part{false, 15}, Part{false, 31},
    };
    const auto text = [](const Part& p) {
        return p.quotient ? "x/" + std::to_string(uint64_t{1} << p.by)
                          : "x%" + std::to_string(p.by + 1);
    };
    size_t lines = 0;
    for (const isa::Operation& o : s.program.operations) {
        if (o.op != isa::Op::shr && o.op != isa::Op::and_) continue;
        const ptx::Instruction* const was = s.text.at(o.place);
        if (was == nullptr || was->operands.size() != 3 ||
            was->operands[2].kind != ptx::OperandKind::integer ||
            was->operands[1].kind != ptx::OperandKind::name)
            continue;
        const Part is{o.op == isa::Op::shr, was->operands[2].bits};
        if (is.by == 0 || is.by > (is.quotient ? 5 : 31) || isa::bits(o.mod.type[0]) != 32)
            continue;
        if (!is.quotient && (is.by & (is.by + 1)) != 0) continue;
        if (++lines > max_lines) return;
        for (const Part& other : parts) {
            if (other.quotient == is.quotient && other.by == is.by) continue;
            Candidate c;
            Edit e{was->place, instructions((other.quotient ? "shr.u32 " : "and.b32 ") +
                                            was->operands[0].text + ", " + was->operands[1].text +
                                            ", " + std::to_string(other.by) + ";")};
            if (e.becomes.empty()) continue;
            e.becomes[0].guard = was->guard;
            c.patch.edits.push_back(std::move(e));
            c.places = {was->place};
            c.words = "the index at line " + std::to_string(was->place.line) + " is " + text(is) +
                      " where " + text(other) + " is right";
            c.cost = 8;  // what is said of fragments, rows and quads comes first
            out.push_back(std::move(c));
        }
    }
}

// %ctaid.x for %ctaid.y and the other way round: all of them, or one.
void try_cta_indices(const Scene& s, std::vector<Candidate>& out) {
    Candidate all;
    for (const isa::Operation& o : s.program.operations) {
        const ptx::Instruction* const was = s.text.at(o.place);
        if (o.op != isa::Op::mov || was == nullptr || was->operands.size() != 2) continue;
        const std::string& from = was->operands[1].text;
        const bool is_x = from == "%ctaid.x";
        if (!is_x && from != "%ctaid.y") continue;
        Edit e{was->place, instructions("mov.u32 " + was->operands[0].text +
                                        (is_x ? ", %ctaid.y;" : ", %ctaid.x;"))};
        if (e.becomes.empty()) continue;
        Candidate one;
        one.words = "line " + std::to_string(was->place.line) + " takes " + from + " where " +
                    (is_x ? "%ctaid.y" : "%ctaid.x") + " is right";
        one.places = {was->place};
        all.places.push_back(was->place);
        one.patch.edits.push_back(e);
        all.patch.edits.push_back(std::move(e));
        out.push_back(std::move(one));
    }
    if (all.patch.edits.size() < 2) return;
    // Two side by side, as the address of one operand takes them.
    for (size_t i = 0; i + 1 < all.places.size() && all.places.size() > 2; ++i) {
        const auto from = [&](size_t n) { return s.text.at(all.places[n])->operands[1].text; };
        if (from(i) == from(i + 1)) continue;
        Candidate two;
        two.places = {all.places[i], all.places[i + 1]};
        two.patch.edits = {all.patch.edits[i], all.patch.edits[i + 1]};
        two.words = "%ctaid.x and %ctaid.y are exchanged at " + lines_text(two.places);
        out.push_back(std::move(two));
    }
    all.words = "%ctaid.x and %ctaid.y are exchanged at " + lines_text(all.places);
    out.push_back(std::move(all));
}

}  // namespace lockwarp::why
