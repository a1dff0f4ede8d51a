// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/wmma_support.hpp"

#include <cstring>

namespace lockwarp::exec {

namespace {

using isa::Order;
using isa::Type;
using isa::WmmaVariant;

std::string order_text(Order o) { return o == Order::row ? ".row" : ".col"; }

std::string shape_text(const WmmaVariant& v) {
    return ".m" + std::to_string(v.m) + "n" + std::to_string(v.n) + "k" + std::to_string(v.k);
}

std::string registers(const WmmaVariant& v, isa::Arch arch, char which) {
    const Type type = matrix_of(v, which).type;
    const auto operand = which == 'a'   ? isa::WmmaOperand::a
                         : which == 'b' ? isa::WmmaOperand::b
                                        : isa::WmmaOperand::accumulator;
    const isa::WmmaFragment* f = isa::find_wmma_fragment(arch, v.m, v.n, v.k, operand, type,
                                                         which == 'b' ? v.b_order : v.a_order);
    const unsigned first = 10 * static_cast<unsigned>(which - 'a' + 1);
    std::string text = "{";
    for (unsigned i = 0; i < isa::registers_of(f->part, type); ++i)
        text += (i == 0 ? "" : ", ") + std::string(type == Type::f64 ? "%rd" : "%r") +
                std::to_string(first + i);
    return text + "}";
}

}  // namespace

WmmaMatrix matrix_of(const WmmaVariant& v, char which) {
    return {which == 'd'   ? v.d
            : which == 'c' ? v.c
                           : v.ab,
            which == 'b' ? v.k : v.m, which == 'a' ? v.k : v.n};
}

Storage storage_of(const WmmaMatrix& matrix, Order order, unsigned more) {
    const unsigned line = order == Order::row ? matrix.columns : matrix.rows;
    const unsigned unit = 256 / isa::bits(matrix.type);
    return {matrix.type, order,
            more == 0 ? line : (line + unit - 1) / unit * unit + (more - 1) * unit};
}

void put(Bytes& bytes, size_t at, const Storage& s, unsigned row, unsigned column, uint64_t value) {
    const unsigned width = isa::bits(s.type);
    const size_t bit = s.bit(row, column);
    uint8_t* const to = &bytes[at + bit / 8];
    if (width >= 8) {
        std::memcpy(to, &value, width / 8);
        return;
    }
    const auto mask = static_cast<uint8_t>(((1u << width) - 1) << bit % 8);
    *to = static_cast<uint8_t>((*to & ~mask) | (value << bit % 8 & mask));
}

uint64_t get(const Bytes& bytes, size_t at, const Storage& s, unsigned row, unsigned column) {
    const unsigned width = isa::bits(s.type);
    const size_t bit = s.bit(row, column);
    const uint8_t* const from = &bytes[at + bit / 8];
    if (width < 8) return *from >> bit % 8 & ((1u << width) - 1);
    uint64_t value = 0;
    std::memcpy(&value, from, width / 8);
    return value;
}

std::string target_of(const WmmaVariant& v) { return "sm_" + std::to_string(v.target); }

std::string move_text(const WmmaVariant& v, isa::Arch arch, char which, Order order,
                      std::string_view space, const std::string& at, const std::string& stride) {
    const bool load = which != 'd';
    const std::string spelled = std::string(load ? "wmma.load." : "wmma.store.") + which +
                                ".sync.aligned" + order_text(order) + shape_text(v) +
                                std::string(space) +
                                std::string(isa::row(matrix_of(v, which).type).name) + " ";
    const std::string regs = registers(v, arch, which);
    return spelled + (load ? regs + ", [" + at + "]" : "[" + at + "], " + regs) +
           (stride.empty() ? "" : ", " + stride) + ";\n";
}

std::string mma_text(const WmmaVariant& v, isa::Arch arch, std::string_view after,
                     std::string_view rounding) {
    std::string text = "wmma.mma";
    if (v.combine == isa::Combine::xor_) text += ".xor.popc";
    if (v.combine == isa::Combine::and_) text += ".and.popc";
    text += ".sync.aligned" + order_text(v.a_order) + order_text(v.b_order) + shape_text(v) +
            std::string(rounding) + std::string(isa::row(v.d).name);
    if (v.ab != Type::f16)
        text += std::string(isa::row(v.ab).name) + std::string(isa::row(v.ab).name);
    text += std::string(isa::row(v.c).name) + std::string(after) + " ";
    return text + registers(v, arch, 'd') + ", " + registers(v, arch, 'a') + ", " +
           registers(v, arch, 'b') + ", " + registers(v, arch, 'c') + ";\n";
}

}  // namespace lockwarp::exec
