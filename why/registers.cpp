// SPDX-License-Identifier: Apache-2.0
// Registers of a matrix instruction's operands in another order. What a permutation would change is
// worked out on the measured mapping; only those that make more products right become candidates.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "why/hypothesis.hpp"

namespace lockwarp::why {

namespace {

using Order = std::vector<uint8_t>;  // new place -> old place

// The matrix instructions that are changed together.
struct Group {
    std::vector<uint32_t> sites;
};

// All of one shape; then those of one place in the source; then those whose products are wrong.
std::vector<Group> groups(const Scene& s) {
    std::map<std::tuple<unsigned, unsigned, unsigned, unsigned>, Group> by_shape;
    const std::vector<Site>& sites = s.mapping->sites;
    std::vector<Group> out;
    for (uint32_t i = 0; i < sites.size(); ++i) {
        if (s.program.operations[sites[i].operation].mma == nullptr) continue;
        by_shape[{sites[i].m, sites[i].n, sites[i].k, sites[i].a.bits}].sites.push_back(i);
    }
    for (auto& [shape, group] : by_shape) out.push_back(group);
    constexpr size_t max_single = 16;
    for (auto& [shape, group] : by_shape)
        if (group.sites.size() > 1 && group.sites.size() <= max_single)
            for (const uint32_t i : group.sites) out.push_back({{i}});
    return out;
}

// By lane, register and bit: the element.
using Index = std::map<std::tuple<uint8_t, uint8_t, uint8_t>, uint32_t>;
Index index_of(const std::vector<isa::Element>& where) {
    Index out;
    for (uint32_t i = 0; i < where.size(); ++i)
        out[{where[i].lane, where[i].reg, where[i].shift}] = i;
    return out;
}

// By element: the one that takes its place.
std::vector<uint32_t> moved(const std::vector<isa::Element>& where, const Order& order) {
    const Index index = index_of(where);
    std::vector<uint32_t> out(where.size());
    for (uint32_t i = 0; i < where.size(); ++i)
        out[i] = index.at({where[i].lane, order[where[i].reg], where[i].shift});
    return out;
}

std::vector<uint32_t> permuted(const std::vector<uint32_t>& numbers,
                               const std::vector<uint32_t>& by) {
    std::vector<uint32_t> out(numbers.size());
    for (size_t i = 0; i < by.size(); ++i) out[i] = numbers[by[i]];
    return out;
}

enum class Operand : uint8_t { a, b, c, d, both };

Mapping with_order(const Mapping& mapping, const std::set<uint32_t>& sites, Operand operand,
                   const Order& order) {
    Mapping out = mapping;
    const Site& first = mapping.sites[*sites.begin()];
    const auto& where = operand == Operand::a   ? first.where_a
                        : operand == Operand::b ? first.where_b
                                                : first.where_d;
    const std::vector<uint32_t> by = moved(where, order);
    if (operand == Operand::d || operand == Operand::both) {
        std::vector<uint32_t> back(by.size());
        for (uint32_t i = 0; i < by.size(); ++i) back[by[i]] = i;
        const auto renumber = [&](uint32_t& n) {
            if (n == zero || n >= untouched) return;
            const Execution& x = mapping.of(n);
            if (sites.contains(x.site)) n = x.first + back[n - x.first];
        };
        for (uint32_t& n : out.d) renumber(n);
        for (Execution& x : out.executions)
            for (uint32_t& n : x.c) renumber(n);
    }
    for (Execution& x : out.executions) {
        if (!sites.contains(x.site)) continue;
        if (operand == Operand::a) x.a = permuted(x.a, by);
        if (operand == Operand::b) x.b = permuted(x.b, by);
        if (operand == Operand::c || operand == Operand::both) x.c = permuted(x.c, by);
    }
    return out;
}

// All orders of so many registers, without the one that they have; of more than four those that
// exchange two.
std::vector<Order> orders(size_t registers) {
    Order order(registers);
    std::iota(order.begin(), order.end(), uint8_t{0});
    const Order same = order;
    std::vector<Order> out;
    if (registers <= 4) {
        while (std::ranges::next_permutation(order).found) out.push_back(order);
        return out;
    }
    for (size_t i = 0; i < registers; ++i)
        for (size_t j = i + 1; j < registers; ++j) {
            out.push_back(same);
            std::swap(out.back()[i], out.back()[j]);
        }
    return out;
}

size_t moved_registers(const Order& order) {
    size_t out = 0;
    for (size_t i = 0; i < order.size(); ++i) out += order[i] != i ? 1 : 0;
    return out;
}

// "b0 and b1 ... are swapped"; "a0 and a2, a1 and a3"; "a0 a1 a2 a3 ... are in the order a1 a2 a3
// a0".
std::string words_of(char letter, const Order& order, const std::string& place) {
    std::vector<std::string> pairs;
    bool swaps = true;
    for (size_t i = 0; i < order.size(); ++i) {
        swaps = swaps && order[order[i]] == i;
        if (order[i] > i)
            pairs.push_back(std::string(1, letter) + std::to_string(i) + " and " + letter +
                            std::to_string(order[i]));
    }
    if (swaps) {
        std::string out = "the registers ";
        for (size_t i = 0; i < pairs.size(); ++i) out += (i == 0 ? "" : ", ") + pairs[i];
        return out + " of " + place + " are swapped";
    }
    std::string out = "the registers of " + place + " are in the wrong order: ";
    for (size_t i = 0; i < order.size(); ++i)
        out += (i == 0 ? "" : ", ") + std::string(1, letter) + std::to_string(i) + " is where " +
               letter + std::to_string(std::ranges::find(order, i) - order.begin()) + " belongs";
    return out;
}

void reorder(ptx::Operand& vector, const Order& order) {
    if (vector.kind != ptx::OperandKind::vector || vector.items.size() != order.size()) return;
    const std::vector<ptx::Operand> was = vector.items;
    for (size_t i = 0; i < order.size(); ++i) vector.items[i] = was[order[i]];
}

// Whether the registers of a vector ascend by number, as a compiler and most people name them.
int ascending(const ptx::Operand& vector) {
    int falls = 0;
    std::string last;
    for (const ptx::Operand& o : vector.items) {
        if (!last.empty() &&
            (o.text.size() < last.size() || (o.text.size() == last.size() && o.text < last)))
            ++falls;
        last = o.text;
    }
    return -falls;
}

void try_orders(const Scene& s, Operand operand, std::vector<Candidate>& out) {
    if (!s.mapping || !s.mapping->has_both || !s.mapping->has_d) return;
    for (const Group& g : groups(s)) {
        const Site& first = s.mapping->sites[g.sites.front()];
        const size_t registers = operand == Operand::a   ? first.a.registers()
                                 : operand == Operand::b ? first.b.registers()
                                                         : first.d.registers();
        if ((operand == Operand::c || operand == Operand::d || operand == Operand::both) &&
            first.c.registers() != first.d.registers())
            continue;
        const std::set<uint32_t> sites(g.sites.begin(), g.sites.end());
        for (const Order& order : orders(registers)) {
            if ((operand == Operand::c || operand == Operand::d) && moved_registers(order) > 2)
                continue;
            const Mapping mended = with_order(*s.mapping, sites, operand, order);
            const double share = compare(mended, *s.subject.product, s.step).share();
            const Natural natural = natural_share(mended, *s.subject.product);
            const double promise = share - s.share + natural.sum() - s.natural.sum();
            const bool better = share >= s.share + 0.02;
            if (!better && promise < 0.1) continue;
            Candidate c;
            c.promise = promise;
            c.predicted = better ? share + 0.01 * natural.mean() : -1;
            for (const uint32_t i : g.sites) {
                const ptx::Instruction* const was = s.instruction(s.mapping->sites[i].operation);
                if (was == nullptr) continue;
                Edit e{was->place, {*was}};
                ptx::Instruction& now = e.becomes.front();
                if (now.operands.size() < 4) continue;
                const size_t at = operand == Operand::a ? 1 : operand == Operand::b ? 2 : 0;
                if (operand == Operand::a) reorder(now.operands[1], order);
                if (operand == Operand::b) reorder(now.operands[2], order);
                if (operand == Operand::c || operand == Operand::both)
                    reorder(now.operands[3], order);
                if (operand == Operand::d || operand == Operand::both)
                    reorder(now.operands[0], order);
                if (c.places.empty())
                    c.predicted +=
                        1e-5 * (ascending(now.operands[at]) - ascending(was->operands[at]));
                c.places.push_back(was->place);
                c.patch.edits.push_back(std::move(e));
            }
            if (c.places.empty()) continue;
            const char letter = operand == Operand::a   ? 'a'
                                : operand == Operand::b ? 'b'
                                : operand == Operand::d ? 'd'
                                                        : 'c';
            c.cost = static_cast<unsigned>(moved_registers(order));
            c.words = words_of(letter, order, lines_text(c.places));
            if (operand == Operand::both) c.words += ", there or where they are stored";
            out.push_back(std::move(c));
        }
    }
}

}  // namespace

void try_registers_of_a(const Scene& s, std::vector<Candidate>& out) {
    try_orders(s, Operand::a, out);
}
void try_registers_of_b(const Scene& s, std::vector<Candidate>& out) {
    try_orders(s, Operand::b, out);
}
void try_accumulators(const Scene& s, std::vector<Candidate>& out) {
    try_orders(s, Operand::both, out);
    try_orders(s, Operand::c, out);
    try_orders(s, Operand::d, out);
}

}  // namespace lockwarp::why
