// SPDX-License-Identifier: Apache-2.0
// Where the elements of wmma's fragments lie, against formulas written a second time: those that
// were published as measured, and the fragments of mma that NVIDIA's assembler makes of them.
#include "emu/isa/wmma.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lockwarp::isa::wmma_test {
namespace {

struct Element {
    unsigned row, column;
    bool operator==(const Element&) const = default;
};

// The element that value `v` of a lane is; of the whole matrix, B by (n, k).
Element element_of(const WmmaFragment& f, unsigned lane, unsigned v) {
    for (unsigned q = 0; q < instances(f.threads); ++q)
        for (unsigned t = 0; t < f.part.layout.threads(); ++t) {
            if (lane_of(f.threads, q, t) != lane) continue;
            const unsigned index = f.part.layout.at(t, v);
            return {index % f.part.rows + f.row_step[0] * (q & 1) + f.row_step[1] * (q >> 1),
                    index / f.part.rows + f.column_step[0] * (q & 1) + f.column_step[1] * (q >> 1)};
        }
    ADD_FAILURE() << "lane " << lane << " holds nothing";
    return {};
}

using Formula = Element (*)(unsigned t, unsigned i);

void expect(Arch arch, unsigned m, unsigned n, unsigned k, WmmaOperand operand, Type type,
            Order order, unsigned values, Formula formula) {
    const WmmaFragment* f = find_wmma_fragment(arch, m, n, k, operand, type, order);
    ASSERT_NE(f, nullptr) << row(arch).name;
    EXPECT_EQ(f->part.layout.values(), values) << f->part.name;
    for (unsigned t = 0; t < 32; ++t)
        for (unsigned i = 0; i < values; ++i)
            ASSERT_EQ(element_of(*f, t, i), formula(t, i))
                << row(arch).name << " " << f->part.name << " lane " << t << " element " << i;
}

constexpr WmmaOperand a = WmmaOperand::a;
constexpr WmmaOperand b = WmmaOperand::b;
constexpr WmmaOperand accumulator = WmmaOperand::accumulator;

// github.com/ahennequ/cuda-tensorcores-register-mapping, measured on GPUs.
TEST(WmmaLayout, TheAccumulatorOf16x16AsPublished) {
    for (const ArchRow& machine : arch_rows) {
        if (machine.number < 75) continue;
        for (const Type type : {Type::f16, Type::f32})
            expect(machine.arch, 16, 16, 16, accumulator, type, Order::row, 8,
                   [](unsigned t, unsigned i) {
                       return Element{((i & 2) << 2) + (t >> 2),
                                      (i & 1) + ((i & 4) << 1) + ((t & 3) << 1)};
                   });
    }
    expect(Arch::sm_70, 16, 16, 16, accumulator, Type::f32, Order::row, 8,
           [](unsigned t, unsigned i) {
               return Element{(i & 2) + (t & 1) + ((t & 4) << 1) + ((t & 16) >> 2),
                              (i & 5) + (t & 10)};
           });
    expect(Arch::sm_70, 16, 16, 16, accumulator, Type::f16, Order::row, 8,
           [](unsigned t, unsigned i) {
               return Element{(t & 3) + ((t & 4) << 1) + ((t & 16) >> 2), (i & 7) + (t & 8)};
           });
}

// From sm_75 on: mma's fragments (PTX manual, "Matrix Fragments for mma.m16n8k16"), tile by tile,
// of 16x16x16 f16 twice.
TEST(WmmaLayout, FactorsAreThoseOfMma) {
    for (const ArchRow& machine : arch_rows) {
        if (machine.number < 75) continue;
        for (const Order order : {Order::row, Order::col}) {
            expect(machine.arch, 16, 16, 16, a, Type::f16, order, 16, [](unsigned t, unsigned i) {
                const unsigned j = i % 8;
                return Element{t / 4 + (j & 2 ? 8 : 0), t % 4 * 2 + (j & 1) + (j & 4 ? 8 : 0)};
            });
            expect(machine.arch, 16, 16, 16, b, Type::f16, order, 16, [](unsigned t, unsigned i) {
                const unsigned j = i % 8;
                return Element{t / 4 + (j & 4 ? 8 : 0), t % 4 * 2 + (j & 1) + (j & 2 ? 8 : 0)};
            });
            expect(machine.arch, 32, 8, 16, a, Type::s8, order, 16, [](unsigned t, unsigned i) {
                return Element{t / 4 + i / 4 * 8, t % 4 * 4 + i % 4};
            });
            expect(machine.arch, 8, 32, 16, b, Type::u8, order, 16, [](unsigned t, unsigned i) {
                return Element{t / 4 + i / 4 * 8, t % 4 * 4 + i % 4};
            });
        }
        expect(machine.arch, 8, 8, 128, a, Type::b1, Order::row, 32, [](unsigned t, unsigned i) {
            return Element{t / 4, t % 4 * 32 + i};
        });
        expect(machine.arch, 8, 8, 32, b, Type::u4, Order::col, 8, [](unsigned t, unsigned i) {
            return Element{t / 4, t % 4 * 8 + i};
        });
    }
}

// Volta: lanes t and t ^ 8 hold the same of A, t and t ^ 4 of B.
TEST(WmmaLayout, VoltaHoldsAAndBTwice) {
    expect(Arch::sm_70, 16, 16, 16, a, Type::f16, Order::row, 16, [](unsigned t, unsigned i) {
        return Element{(t & 3) + ((t & 4) << 1) + ((t & 16) >> 2), i};
    });
    expect(Arch::sm_70, 16, 16, 16, b, Type::f16, Order::col, 16, [](unsigned t, unsigned i) {
        return Element{(t & 3) + (t & 8) + ((t & 16) >> 2), i};
    });
    expect(Arch::sm_70, 16, 16, 16, a, Type::f16, Order::col, 16, [](unsigned t, unsigned i) {
        return Element{i % 4 + ((t & 4) << 1) + ((t & 16) >> 2), (t & 3) + i / 4 * 4};
    });
    expect(Arch::sm_70, 16, 16, 16, b, Type::f16, Order::row, 16, [](unsigned t, unsigned i) {
        return Element{i % 4 + (t & 8) + ((t & 16) >> 2), (t & 3) + i / 4 * 4};
    });
}

// Read from the assembler's code: sm_75 multiplies 8x32 of integers as four 8x8, later machines as
// two 16x8, transposed.
TEST(WmmaLayout, TheS32AccumulatorOf8x32DiffersOnTuring) {
    expect(Arch::sm_75, 8, 32, 16, accumulator, Type::s32, Order::row, 8,
           [](unsigned t, unsigned i) {
               return Element{t / 4, t % 4 * 2 + (i & 1) + i / 2 * 8};
           });
    for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90})
        expect(arch, 8, 32, 16, accumulator, Type::s32, Order::row, 8, [](unsigned t, unsigned i) {
            return Element{t % 4 * 2 + (i & 1), t / 4 + i / 2 * 8};
        });
}

// Every element has a place; accumulators have one for each, so that what is stored is one value.
TEST(WmmaLayout, EveryElementHasAPlaceAndAccumulatorsOne) {
    for (const WmmaFragment& f : wmma_fragments()) {
        std::multiset<unsigned> places;
        const WmmaExtent whole = extent(f);
        for (unsigned t = 0; t < 32; ++t)
            for (unsigned i = 0; i < f.part.layout.values(); ++i) {
                const Element e = element_of(f, t, i);
                places.insert(e.row * whole.columns + e.column);
            }
        const size_t copies = places.size() / (size_t{whole.rows} * whole.columns);
        for (unsigned e = 0; e < whole.rows * whole.columns; ++e)
            ASSERT_EQ(places.count(e), copies) << f.part.name << " " << e;
        if (f.operand == accumulator) {
            EXPECT_EQ(copies, 1u) << f.part.name;
        }
        EXPECT_EQ(registers_of(f.part, f.type),
                  f.part.layout.values() * f.part.bits / (f.part.bits == 64 ? 64 : 32));
    }
}

TEST(WmmaLayout, AFragmentIsFoundOnItsMachinesAlone) {
    for (const ArchRow& machine : arch_rows)
        for (const WmmaFragment& f : wmma_fragments())
            for (const Order order : {Order::row, Order::col}) {
                const WmmaFragment* const found =
                    find_wmma_fragment(machine.arch, f.m, f.n, f.k, f.operand, f.type, order);
                const bool of_order =
                    f.orders == Orders::any || (f.orders == Orders::row) == (order == Order::row);
                if (f.from <= machine.number && machine.number < f.to && of_order) {
                    EXPECT_EQ(found, &f) << machine.name << " " << f.part.name;
                } else {
                    EXPECT_NE(found, &f) << machine.name << " " << f.part.name;
                }
            }
}

TEST(WmmaLayout, EveryVariantHasItsFragmentsOnItsMachines) {
    for (const ArchRow& machine : arch_rows) {
        EXPECT_EQ(wmma_machine(machine.arch).arch, machine.arch);
        for (const WmmaVariant& v : wmma_variants()) {
            if (!has(machine, v.target)) continue;
            const auto has = [&](WmmaOperand o, Type type, Order order) {
                return find_wmma_fragment(machine.arch, v.m, v.n, v.k, o, type, order) != nullptr;
            };
            EXPECT_TRUE(has(a, v.ab, v.a_order) && has(b, v.ab, v.b_order) &&
                        has(accumulator, v.c, Order::row) && has(accumulator, v.d, Order::col))
                << machine.name << " " << v.key;
        }
    }
}

// By all that a row says: one that differs in anything is another row, or none.
TEST(WmmaVariants, AreFoundByEachOfTheirProperties) {
    std::set<std::string_view> keys;
    for (const WmmaVariant& v : wmma_variants()) {
        const auto find = [](const WmmaVariant& x) {
            return find_wmma(x.m, x.n, x.k, x.d, x.ab, x.c, x.a_order, x.b_order, x.combine);
        };
        EXPECT_EQ(find(v), &v) << v.key;
        EXPECT_TRUE(keys.insert(v.key).second) << v.key;
        const auto changed = [&](auto WmmaVariant::*field, auto value) {
            WmmaVariant x = v;
            x.*field = value;
            if (x.*field == v.*field) return;
            const WmmaVariant* const found = find(x);
            if (found == nullptr) return;
            EXPECT_NE(found, &v) << v.key;
            EXPECT_TRUE(found->m == x.m && found->n == x.n && found->k == x.k) << v.key;
            EXPECT_TRUE(found->d == x.d && found->ab == x.ab && found->c == x.c) << v.key;
            EXPECT_TRUE(found->a_order == x.a_order && found->b_order == x.b_order) << v.key;
            EXPECT_EQ(found->combine, x.combine) << v.key;
        };
        for (const WmmaVariant& other : wmma_variants()) {
            changed(&WmmaVariant::m, other.m);
            changed(&WmmaVariant::n, other.n);
            changed(&WmmaVariant::k, other.k);
            changed(&WmmaVariant::d, other.d);
            changed(&WmmaVariant::ab, other.ab);
            changed(&WmmaVariant::c, other.c);
            changed(&WmmaVariant::a_order, other.a_order);
            changed(&WmmaVariant::b_order, other.b_order);
            changed(&WmmaVariant::combine, other.combine);
        }
    }
    // Shapes that the rows' own numbers make, and no row has.
    EXPECT_EQ(find_wmma(8, 16, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::col,
                        Combine::none),
              nullptr);
}

}  // namespace
}  // namespace lockwarp::isa::wmma_test
