// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix, mma. The lane maps are the layouts of emu/isa/matrix.cpp.
#include <cstring>
#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/fragments.hpp"

namespace lockwarp::exec {

namespace {

using isa::Fragment;

// Elements of the largest fragments: 16x256 of A, 8x256 of B, 16x8 of C (PTX manual, mma shapes).
constexpr size_t most_a = 16 * 256;
constexpr size_t most_b = 8 * 256;
constexpr size_t most_c = 128;
constexpr size_t most_groups = 16 * 16;  // of metadata, in all rows
constexpr size_t most_factors = 16 * 4;  // of scale, in all rows

constexpr unsigned row_bytes = 16;  // of an 8x8 matrix of 16-bit elements
constexpr unsigned matrix_rows = 8;

// Lane and half of a register -> row and column of an 8x8 matrix of 16-bit elements.
struct MovedElement {
    uint8_t row, column;
};

constexpr unsigned moved_index(const Fragment& f, unsigned lane, unsigned half) {
    return f.layout.at(lane, half);
}

std::array<std::array<MovedElement, 2>, 32> moved_elements() {
    const Fragment& f = isa::fragment(isa::moved_matrix);
    std::array<std::array<MovedElement, 2>, 32> out{};
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned index = moved_index(f, lane, half);
            out[lane][half] = {static_cast<uint8_t>(index % f.rows),
                               static_cast<uint8_t>(index / f.rows)};
        }
    return out;
}

// The rows' addresses: lane 8*i + r gives row r of matrix i.
bool locate_rows(Context& c, const Operation& o, bool store, LanePointers& out) {
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], all_lanes, addresses);
    const unsigned rows = matrix_rows * o.mod.matrices;
    uint32_t used = rows == 32 ? all_lanes : (1u << rows) - 1;
    const bool check_all = isa::row(c.program->arch).ldmatrix_checks_all_lanes;
    return locate(c, o, o.mod.space, addresses, check_all && !store ? all_lanes : used, row_bytes,
                  row_bytes, store, out);
}

void ldmatrix(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    LanePointers row;
    if (!locate_rows(c, o, false, row)) return;
    const auto elements = moved_elements();
    for (uint32_t i = 0; i < o.mod.matrices; ++i) {
        auto* d = slot<uint32_t>(c, c.program->pool[o.vector[0].first + i]);
        for (unsigned lane = 0; lane < 32; ++lane) {
            uint32_t value = 0;
            for (unsigned half = 0; half < 2; ++half) {
                MovedElement e = elements[lane][half];
                if (o.mod.trans) std::swap(e.row, e.column);
                uint16_t bits;
                std::memcpy(&bits, row[matrix_rows * i + e.row] + 2 * e.column, sizeof bits);
                value |= uint32_t{bits} << (16 * half);
            }
            d[lane] = value;
        }
    }
}

void stmatrix(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    LanePointers row;
    if (!locate_rows(c, o, true, row)) return;
    const auto elements = moved_elements();
    for (uint32_t i = 0; i < o.mod.matrices; ++i) {
        const auto* a = slot<uint32_t>(c, c.program->pool[o.vector[0].first + i]);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned half = 0; half < 2; ++half) {
                MovedElement e = elements[lane][half];
                if (o.mod.trans) std::swap(e.row, e.column);
                const auto bits = static_cast<uint16_t>(a[lane] >> (16 * half));
                std::memcpy(row[matrix_rows * i + e.row] + 2 * e.column, &bits, sizeof bits);
            }
    }
}

void movmatrix(Context& c, const Step& s, uint32_t) {
    auto* d = slot<uint32_t>(c, s.op->r[0]);
    const auto* a = slot<uint32_t>(c, s.op->r[1]);
    const auto elements = moved_elements();
    std::array<std::array<uint32_t, 8>, 8> matrix{};
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned half = 0; half < 2; ++half)
            matrix[elements[lane][half].row][elements[lane][half].column] =
                (a[lane] >> (16 * half)) & 0xffff;
    for (unsigned lane = 0; lane < 32; ++lane) {
        uint32_t value = 0;
        for (unsigned half = 0; half < 2; ++half)
            value |= matrix[elements[lane][half].column][elements[lane][half].row] << (16 * half);
        d[lane] = value;
    }
}

// The element of B's column, along k, that the stored element `at` of A's row goes with. `places`
// is the row's metadata, four bits for each group; `width` the bits that hold an element.
unsigned chosen(unsigned width, const uint64_t* places, unsigned at) {
    const unsigned unit_width = isa::unit_bits(width);
    const unsigned unit = at * width / unit_width;  // among those that are stored
    const unsigned group = unit / 2;
    const unsigned place = places[group] >> (unit % 2 * 2) & 3;
    const unsigned first = (group * isa::group_units + place) * unit_width / width;
    return first + (width < unit_width ? at % (unit_width / width) : 0);
}

// The factors of all rows of A and all columns of B.
struct Factors {
    std::array<uint8_t, most_factors> a, b;
};

// Byte-id or thread-id `which` of an instruction: a multiple of `step` below `bound`, a power of
// two. Of a register, which has to be the same in all lanes and such a number, the first lane's low
// bits are taken.
unsigned scale_id(Context& c, const Operation& o, size_t which, unsigned bound, unsigned step) {
    if (o.scale_refs[which] == isa::no_ref) return o.scale_ids[which];
    return slot<uint16_t>(c, o.scale_refs[which])[0] % bound / step * step;
}

void gather_factors(Context& c, const Operation& o, Factors& out) {
    const isa::MmaVariant& v = *o.mma;
    const std::array bytes{scale_id(c, o, 0, 4, v.scales), scale_id(c, o, 2, 4, v.scales)};
    const unsigned thread_a = scale_id(c, o, 1, 2, 1);
    const unsigned thread_b = scale_id(c, o, 3, 4, 1);
    const unsigned first = v.sparse ? 1 : 0;  // metadata comes before
    const auto take = [&](unsigned of_b, unsigned lane, uint8_t* to) {
        const uint32_t word = slot<uint32_t>(c, o.r[first + of_b])[lane];
        for (unsigned i = 0; i < v.scales; ++i)
            to[i] = static_cast<uint8_t>(word >> 8 * (bytes[of_b] + i));
    };
    for (unsigned row = 0; row < v.m; ++row)
        take(0, isa::scale_lane_a(row, thread_a), &out.a[row * v.scales]);
    for (unsigned column = 0; column < v.n; ++column)
        take(1, isa::scale_lane_b(column, thread_b), &out.b[column * v.scales]);
}

// The rows of A from `row` on, as the variant multiplies them.
void product(const MmaPlan& plan, const Factors& factors, num::MatrixShape shape,
             num::MatrixTypes types, unsigned row, const uint64_t* a, const uint64_t* b,
             const uint64_t* e, uint64_t* d) {
    const isa::MmaVariant& v = *plan.variant;
    if (v.scales == 0) {
        plan.product(*plan.row, shape, types, a, b, e, d);
        return;
    }
    const num::Scales scales{v.scale, v.scales, &factors.a[row * v.scales], factors.b.data()};
    num::scaled_product(*plan.row, shape, types, scales, a, b, e, d);
}

// Each row of A has its own choice of B.
void sparse_product(Context& c, const Step& s, const Factors& factors, num::MatrixTypes types,
                    const uint64_t* a, const uint64_t* b, const uint64_t* e, uint64_t* d) {
    const MmaPlan& plan = *s.plan;
    const isa::MmaVariant& v = *plan.variant;
    const unsigned groups = isa::fragment(v.fragment_e).columns;
    const unsigned width = isa::held_bits(isa::fragment(v.fragment_a), v.a);
    const unsigned first_lane = isa::metadata_lanes(v) * static_cast<unsigned>(s.op->immediate);
    std::array<uint64_t, most_groups> places;
    for (size_t i = 0; i < plan.e.size(); ++i) {
        const Cell cell = plan.e[i];
        places[i] = slot<uint32_t>(c, s.op->r[0])[cell.lane + first_lane] >> cell.shift & 15;
    }
    std::array<uint64_t, most_b> columns;
    for (unsigned row = 0; row < v.m; ++row) {
        for (unsigned i = 0; i < v.stored_k(); ++i) {
            const unsigned from = chosen(width, places.data() + row * groups, i);
            for (unsigned n = 0; n < v.n; ++n) columns[n * v.stored_k() + i] = b[n * v.k + from];
        }
        product(plan, factors, {1, v.n, static_cast<int>(v.stored_k())}, types, row,
                a + row * v.stored_k(), columns.data(), e + row * v.n, d + row * v.n);
    }
}

void mma(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    const MmaPlan& plan = *s.plan;
    const isa::MmaVariant& v = *plan.variant;
    const num::MatrixShape shape{v.m, v.n, v.k};
    const num::MatrixTypes types{v.a, v.b, v.c, v.d, o.mod.satfinite, v.combine};
    const size_t size_a = size_t{v.m} * v.stored_k();
    const size_t size_b = size_t{v.n} * v.k;
    const size_t size_c = size_t{v.m} * v.n;
    const unsigned products = isa::instances(v.threads);
    std::array<uint64_t, most_a> a;
    std::array<uint64_t, most_b> b;
    std::array<uint64_t, most_c> e;
    std::array<std::array<uint64_t, most_c>, 4> d;
    Factors factors;
    if (v.scales != 0) gather_factors(c, o, factors);
    // D may be in the registers of A, B or C: everything is read before anything is written.
    for (unsigned q = 0; q < products; ++q) {
        gather(c, o.vector[1], plan.a.data() + q * size_a, size_a, v.a, a.data());
        gather(c, o.vector[2], plan.b.data() + q * size_b, size_b, v.b, b.data());
        gather(c, o.vector[3], plan.c.data() + q * size_c, size_c, v.c, e.data());
        if (v.sparse)
            sparse_product(c, s, factors, types, a.data(), b.data(), e.data(), d[q].data());
        else
            product(plan, factors, shape, types, 0, a.data(), b.data(), e.data(), d[q].data());
    }
    for (unsigned q = 0; q < products; ++q)
        scatter(c, o.vector[0], plan.d.data() + q * size_c, size_c, v.d, d[q].data());
    c.products += products * size_a * v.n;
}

}  // namespace

bool make_plan(const isa::MmaVariant& v, isa::Arch arch, MmaPlan& plan) {
    plan.variant = &v;
    plan.row = num::find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    plan.a = cells(isa::fragment(v.fragment_a), v.threads, v.a);
    plan.b = cells(isa::fragment(v.fragment_b), v.threads, v.b);
    plan.c = cells(isa::fragment(v.fragment_c), v.threads, v.c);
    plan.d = cells(isa::fragment(v.fragment_d), v.threads, v.d);
    if (v.sparse) {
        plan.e = cells(isa::fragment(v.fragment_e), isa::Threads::warp, Type::u4);
        // Of each four lanes only the first ones give metadata.
        const unsigned given = isa::metadata_lanes(v);
        for (Cell& cell : plan.e)
            cell.lane = static_cast<uint8_t>(cell.lane / given * 4 + cell.lane % given);
    }
    return plan.row != nullptr;
}

Handler ldmatrix_handler(const Operation&) { return ldmatrix; }
Handler stmatrix_handler(const Operation&) { return stmatrix; }
Handler movmatrix_handler(const Operation&) { return movmatrix; }
Handler mma_handler(const Operation&) { return mma; }

}  // namespace lockwarp::exec
