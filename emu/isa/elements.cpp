// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/elements.hpp"

namespace lockwarp::isa {

Elements metadata_elements(const MmaVariant& v) {
    Elements out = elements_of(fragment(v.fragment_e), Type::u4);
    out.given = static_cast<uint8_t>(metadata_lanes(v));
    return out;
}

Elements factor_elements(const MmaVariant& v, bool of_b) {
    Elements out;
    out.rows = out.layout_rows = of_b ? v.n : v.m;
    out.columns = v.scales;
    out.layout = parse_layout(of_b ? "(8,1):(1,8)" : "((2,8),1):((8,1),16)");
    out.layout.text = {};
    out.layout.value[0].shape = v.scales;
    out.bits = out.held_bits = 8;
    out.given = of_b ? 1 : 2;
    return out;
}

Elements moved_elements(unsigned matrices) {
    Elements out = elements_of(fragment(moved_matrix), Type::b16);
    out.matrices = static_cast<uint8_t>(matrices);
    out.matrix_by_register = true;
    return out;
}

std::vector<Element> owners(const Elements& e, unsigned matrix, unsigned row, unsigned column) {
    std::vector<Element> out;
    for (const Element at : e)
        if (at.matrix == matrix && at.row == row && at.column == column) out.push_back(at);
    return out;
}

std::vector<Element> first_owners(const Elements& e) {
    constexpr uint8_t nobody = 255;
    Element unowned;
    unowned.lane = nobody;
    std::vector<Element> out(size_t{e.matrices} * e.rows * e.columns, unowned);
    for (const Element at : e) {
        Element& first = out[(size_t{at.matrix} * e.rows + at.row) * e.columns + at.column];
        if (first.lane == nobody) first = at;
    }
    return out;
}

std::vector<Element> in_register(const Elements& e, unsigned lane, unsigned reg) {
    std::vector<Element> out;
    for (const Element at : e)
        if (at.lane == lane && at.reg == reg) out.push_back(at);
    return out;
}

}  // namespace lockwarp::isa
