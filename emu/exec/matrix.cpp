// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix, mma. The lane maps are the layouts of emu/isa/matrix.cpp.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/fragments.hpp"
#include "emu/isa/sparse.hpp"

namespace lockwarp::exec {

namespace {

// Elements of the largest fragments: 16x256 of A, 8x256 of B, 16x8 of C (PTX manual, mma shapes).
constexpr size_t max_a = 16 * 256;
constexpr size_t max_b = 8 * 256;
constexpr size_t max_c = 128;
constexpr size_t max_groups = 16 * 16;  // of metadata, in all rows
constexpr size_t max_factors = 16 * 4;  // of scale, in all rows

constexpr unsigned row_bytes = 16;  // of an 8x8 matrix of 16-bit elements
constexpr unsigned matrix_rows = 8;

// An 8x8 matrix as memory has it.
using Moved = std::array<uint16_t, matrix_rows * row_bytes / 2>;

void to_lanes(const MovedPlan& plan, const Moved& matrix, uint32_t* d) {
    if (plan.in_order) {
        std::memcpy(d, matrix.data(), sizeof matrix);
        return;
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        d[lane] = matrix[plan.low[lane]] | uint32_t{matrix[plan.high[lane]]} << 16;
}

void from_lanes(const MovedPlan& plan, const uint32_t* a, Moved& matrix) {
    if (plan.in_order) {
        std::memcpy(matrix.data(), a, sizeof matrix);
        return;
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        matrix[plan.low[lane]] = static_cast<uint16_t>(a[lane]);
        matrix[plan.high[lane]] = static_cast<uint16_t>(a[lane] >> 16);
    }
}

// The rows' addresses: lane 8*i + r gives row r of matrix i.
bool locate_rows(Context& c, const Operation& o, bool store, LanePointers& out) {
    LaneAddresses addresses;
    lane_addresses(c, o.address[0], all_lanes, addresses);
    const unsigned count = matrix_rows * o.mod.matrices;
    uint32_t used = count == 32 ? all_lanes : (1u << count) - 1;
    const bool check_all = isa::row(c.program->arch).ldmatrix_checks_all_lanes;
    return locate(c, o, o.mod.space, addresses, check_all && !store ? all_lanes : used, row_bytes,
                  row_bytes, store, out);
}

void ldmatrix(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    LanePointers row;
    if (!locate_rows(c, o, false, row)) return;
    for (uint32_t i = 0; i < o.mod.matrices; ++i) {
        Moved matrix;
        for (unsigned r = 0; r < matrix_rows; ++r)
            std::memcpy(&matrix[r * row_bytes / 2], row[matrix_rows * i + r], row_bytes);
        to_lanes(s.moved[o.mod.trans], matrix,
                 slot<uint32_t>(c, c.program->pool[o.vector[0].first + i]));
    }
}

// Of rows at one address the last is stored.
void stmatrix(Context& c, const Step& s, uint32_t) {
    const Operation& o = *s.op;
    LanePointers row;
    if (!locate_rows(c, o, true, row)) return;
    for (uint32_t i = 0; i < o.mod.matrices; ++i) {
        Moved matrix;
        from_lanes(s.moved[o.mod.trans], slot<uint32_t>(c, c.program->pool[o.vector[0].first + i]),
                   matrix);
        for (unsigned r = 0; r < matrix_rows; ++r)
            std::memcpy(row[matrix_rows * i + r], &matrix[r * row_bytes / 2], row_bytes);
    }
}

void movmatrix(Context& c, const Step& s, uint32_t) {
    Moved matrix;
    from_lanes(s.moved[0], slot<uint32_t>(c, s.op->r[1]), matrix);
    to_lanes(s.moved[1], matrix, slot<uint32_t>(c, s.op->r[0]));
}

// The factors of all rows of A and all columns of B.
struct Factors {
    std::array<uint8_t, max_factors> a, b;
};

// Byte-id or thread-id `which` of an instruction: a multiple of `step` below `bound`, a power of
// two. Of a register, which has to be the same in all lanes and such a number, the first lane's low
// bits are taken.
unsigned scale_id(Context& c, const Operation& o, size_t which, unsigned bound, unsigned step) {
    if (o.scale_refs[which] == isa::no_ref) return o.scale_ids[which];
    return slot<uint16_t>(c, o.scale_refs[which])[0] % bound / step * step;
}

void gather_factors(Context& c, const Step& s, Factors& out) {
    const Operation& o = *s.op;
    const MmaPlan& plan = *s.plan;
    const isa::MmaVariant& v = *plan.variant;
    const std::array bytes{scale_id(c, o, 0, 4, v.scales), scale_id(c, o, 2, 4, v.scales)};
    const unsigned thread_a = scale_id(c, o, 1, 2, 1);
    const unsigned thread_b = scale_id(c, o, 3, 4, 1);
    const unsigned first = v.sparse ? 1 : 0;  // metadata comes before
    const auto take = [&](size_t of_b, const std::vector<Cell>& cells, unsigned lanes_on,
                          uint8_t* to) {
        const uint32_t* const words = slot<uint32_t>(c, o.r[first + of_b]);
        for (const Cell cell : cells)
            *to++ =
                static_cast<uint8_t>(words[cell.lane + lanes_on] >> (cell.shift + 8 * bytes[of_b]));
    };
    take(0, plan.factors_a, 2 * thread_a, out.a.data());
    take(1, plan.factors_b, thread_b, out.b.data());
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
    std::array<uint64_t, max_groups> places;
    for (size_t i = 0; i < plan.e.size(); ++i) {
        const Cell cell = plan.e[i];
        places[i] = slot<uint32_t>(c, s.op->r[0])[cell.lane + first_lane] >> cell.shift & 15;
    }
    std::array<uint64_t, max_b> columns;
    for (unsigned row = 0; row < v.m; ++row) {
        for (unsigned i = 0; i < v.stored_k(); ++i) {
            const isa::Chosen from = isa::chosen(width, places.data() + row * groups, i);
            for (unsigned n = 0; n < v.n; ++n)
                columns[n * v.stored_k() + i] =
                    isa::bits_of(from, [&](unsigned k) { return b[n * v.k + k]; });
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
    if (plan.tile.good && multiply_tile(c, o, plan.tile, *plan.row, types)) {
        c.products += size_a * v.n;
        return;
    }
    std::array<uint64_t, max_a> a;
    std::array<uint64_t, max_b> b;
    std::array<uint64_t, max_c> e;
    std::array<std::array<uint64_t, max_c>, 4> d;
    Factors factors;
    if (v.scales != 0) gather_factors(c, s, factors);
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

bool make_plan(const isa::MmaVariant& v, isa::Arch arch, bool plain_arithmetic, MmaPlan& plan) {
    plan.variant = &v;
    plan.product = plain_arithmetic ? num::matrix_product : num::matrix_product_fast;
    plan.row = num::find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    const auto of = [&](isa::FragmentId id, Type type) {
        return isa::elements_of(isa::fragment(id), type, v.threads);
    };
    const isa::Elements a = of(v.fragment_a, v.a);
    const isa::Elements b = of(v.fragment_b, v.b);
    const isa::Elements c = of(v.fragment_c, v.c);
    const isa::Elements d = of(v.fragment_d, v.d);
    plan.a = cells(a);
    plan.b = cells(b);
    plan.c = cells(c);
    plan.d = cells(d);
    if (plan.row != nullptr && !v.sparse && v.scales == 0 && !plain_arithmetic)
        plan.tile = tiled_product(*plan.row, {v.a, v.b, v.c, v.d}, a, b, c, d);
    if (v.sparse) plan.e = cells(isa::metadata_elements(v));
    if (v.scales != 0) {
        plan.factors_a = cells(isa::factor_elements(v, false));
        plan.factors_b = cells(isa::factor_elements(v, true));
    }
    return plan.row != nullptr;
}

std::vector<MovedPlan> moved_plans() {
    const isa::Elements plain = isa::moved_elements(1);
    std::vector<MovedPlan> out;
    for (const isa::Elements& elements : {plain, isa::transposed(plain)}) {
        MovedPlan& plan = out.emplace_back();
        for (const isa::Element e : elements)
            (e.shift == 0 ? plan.low : plan.high)[e.lane] =
                static_cast<uint8_t>(e.row * matrix_rows + e.column);
        plan.in_order = true;
        for (unsigned lane = 0; lane < 32; ++lane)
            plan.in_order &= plan.low[lane] == 2 * lane && plan.high[lane] == 2 * lane + 1;
    }
    return out;
}

Handler ldmatrix_handler(const Operation&) { return ldmatrix; }
Handler stmatrix_handler(const Operation&) { return stmatrix; }
Handler movmatrix_handler(const Operation&) { return movmatrix; }
Handler mma_handler(const Operation&) { return mma; }

}  // namespace lockwarp::exec
