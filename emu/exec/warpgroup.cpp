// SPDX-License-Identifier: Apache-2.0
// wgmma. Each warp of a warpgroup computes 16 rows of D from its own rows of A and from all of B,
// where the instruction stands, the earliest time that the manual allows. A product is the whole
// warpgroup's: wait_group waits until its other warps have come as far, so that one thread may say
// for all four that tiles have been read. Of the late schedule late.cpp has the order.
#include <algorithm>
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/families.hpp"
#include "emu/exec/warpgroup.hpp"
#include "emu/isa/sparse.hpp"
#include "emu/isa/warpgroup.hpp"
#include "emu/num/lanes.hpp"

namespace lockwarp::exec {

namespace {

constexpr unsigned warp_rows = 16;     // of A and D, of each warp
constexpr unsigned line_bytes = 32;    // k elements of a row of A or a column of B
constexpr unsigned sparse_bytes = 64;  // those of a column of B where A is sparse
constexpr unsigned sparse_bits = 8 * sparse_bytes;
constexpr unsigned chunk_bytes = 16;  // that lie together in shared memory
constexpr unsigned block = 8;         // columns of D whose elements four registers of a lane hold
constexpr unsigned max_k = 256;

// Rows of A or columns of B, each with its k elements one after another.
using LinesOfA = std::array<uint8_t, size_t{warp_rows} * line_bytes>;

struct InShared {
    isa::MatrixDescriptor at;
    bool transposed;  // neighbours in memory are lines
    unsigned first;   // line of the operand that is the first one here
    unsigned lines;
};

// The 16-byte chunks of an operand: two of each line, or with `transposed` one of each k of eight
// lines.
template <unsigned bytes>
unsigned chunks(const InShared& s) {
    return s.lines * bytes / chunk_bytes;
}

template <unsigned bytes>
uint32_t chunk_address(const InShared& s, unsigned chunk) {
    constexpr unsigned k = bytes / 2, each = bytes / chunk_bytes;
    if (s.transposed)
        return isa::element_address(s.at, true, 16, s.first + chunk / k * 8, chunk % k);
    return isa::element_address(s.at, false, 8, s.first + chunk / each, chunk % each * chunk_bytes);
}

template <unsigned bytes>
void put_chunk(const InShared& s, unsigned chunk, const uint8_t* from, uint8_t* lines) {
    constexpr unsigned k = bytes / 2;
    if (!s.transposed) {
        std::memcpy(lines + size_t{chunk} * chunk_bytes, from, chunk_bytes);
        return;
    }
    uint8_t* to = lines + size_t{chunk / k} * 8 * bytes + size_t{chunk % k} * 2;
    for (unsigned i = 0; i < 8; ++i) std::memcpy(to + size_t{i} * bytes, from + size_t{i} * 2, 2);
}

// Lines of `line` bytes each. false: a trap was set.
template <unsigned line>
bool read_lines(Context& c, const Operation& o, const InShared& s, uint8_t* lines) {
    const uint64_t begin = c.program->shared_begin;
    const uint64_t size = c.cta->shared.size();
    const uint8_t* const bytes = c.cta->shared.data();
    for (unsigned chunk = 0; chunk < chunks<line>(s); ++chunk) {
        const uint64_t address = chunk_address<line>(s, chunk);
        const uint64_t offset = address - begin;
        if (address < begin || offset > size || size - offset < chunk_bytes) {
            set_trap(c, o, warp::TrapKind::out_of_bounds,
                     std::to_string(chunk_bytes) + " bytes of the matrix that the descriptor gives",
                     0, address, ptx::Space::shared);
            return false;
        }
        put_chunk<line>(s, chunk, bytes + offset, lines);
    }
    return true;
}

// Listeners hear of chunks [first, end), 32 at a time.
template <unsigned line>
void note_chunks(Context& c, const InShared& s, unsigned first, unsigned end) {
    for (; first < end; first += 32) {
        const unsigned n = std::min(end - first, 32u);
        LaneAddresses addresses{};
        std::array<uint8_t, 32> bytes{};
        for (unsigned i = 0; i < n; ++i) {
            addresses[i] = in_window_of(c.cta->rank, chunk_address<line>(s, first + i));
            bytes[i] = chunk_bytes;
        }
        note_access(c, ptx::Space::shared, addresses, n == 32 ? all_lanes : (1u << n) - 1, bytes,
                    false);
    }
}

// A in registers: register i of lane 4*g + t has the bytes 4*t + 16*(i/2) and on of row g +
// 8*(i%2).
void lines_of_registers(Context& c, const Operation& o, uint8_t* lines) {
    for (unsigned i = 0; i < 4; ++i) {
        const uint32_t* const from = slot<uint32_t>(c, c.program->pool[o.vector[1].first + i]);
        for (unsigned lane = 0; lane < 32; ++lane)
            std::memcpy(lines + (lane / 4 + 8 * (i % 2)) * line_bytes + lane % 4 * 4 + i / 2 * 16,
                        &from[lane], sizeof from[lane]);
    }
}

// Changes the sign of every element.
void negate(Type type, uint8_t* lines, size_t n) {
    const unsigned size = isa::bits(type) / 8;
    for (size_t at = size - 1; at < n; at += size) lines[at] ^= 0x80;
}

// Eight columns of D from or to registers, by column and row. A register holds one element of 32
// bits, or two neighbours in a row of 16 bits.
using Block = std::array<uint32_t, size_t{block} * warp_rows>;

template <class Work>
void each_register(Context& c, const Operation& o, unsigned column, bool halves, Work work) {
    const Ref* const refs = c.program->pool.data() + o.vector[0].first;
    for (unsigned i = 0; i < (halves ? 2u : 4u); ++i) {
        const unsigned below = halves ? i : i / 2;
        uint32_t* const reg = slot<uint32_t>(c, refs[column / block * (halves ? 2 : 4) + i]);
        for (unsigned lane = 0; lane < 32; ++lane)
            work(reg[lane],
                 (2 * (lane % 4) + (halves ? 0 : i % 2)) * warp_rows + lane / 4 + 8 * below);
    }
}

void gather_block(Context& c, const Operation& o, unsigned column, bool halves, uint32_t* d) {
    each_register(c, o, column, halves, [&](uint32_t word, unsigned at) {
        d[at] = halves ? word & 0xffff : word;
        if (halves) d[at + warp_rows] = word >> 16;
    });
}

void scatter_block(Context& c, const Operation& o, unsigned column, bool halves,
                   const uint32_t* d) {
    each_register(c, o, column, halves, [&](uint32_t& word, unsigned at) {
        word = halves ? d[at] | d[at + warp_rows] << 16 : d[at];
    });
}

uint32_t element(const uint8_t* lines, unsigned line, unsigned k, unsigned width,
                 unsigned bytes = line_bytes) {
    const uint8_t* const from = lines + size_t{line} * bytes + size_t{k} * width / 8;
    if (width == 1) return *from >> k % 8 & 1u;
    uint32_t out = 0;
    std::memcpy(&out, from, width / 8);
    return out;
}

// Elements [k][along] of `count` lines from `first` on; zeros behind them.
void turn(const uint8_t* lines, unsigned first, unsigned count, unsigned along, unsigned k,
          unsigned width, uint32_t* to) {
    const auto fill = [&](auto word) {
        for (unsigned i = 0; i < k; ++i)
            for (unsigned line = 0; line < along; ++line) {
                if (line < count)
                    std::memcpy(&word, lines + size_t{first + line} * line_bytes + i * sizeof word,
                                sizeof word);
                to[i * along + line] = line < count ? word : 0u;
            }
    };
    if (width == 8) return fill(uint8_t{});
    if (width == 16) return fill(uint16_t{});
    fill(uint32_t{});
}

// The definition: columns [column, column + 8).
void multiply_plain(const WarpgroupPlan& plan, num::MatrixTypes types, const uint8_t* a,
                    const uint8_t* b, unsigned column, uint32_t* d) {
    const unsigned k = plan.variant->types->k;
    const unsigned width = isa::bits(types.a);
    std::array<uint64_t, size_t{warp_rows} * max_k> x;
    std::array<uint64_t, size_t{block} * max_k> y;
    std::array<uint64_t, size_t{block} * warp_rows> z;
    for (unsigned row = 0; row < warp_rows; ++row)
        for (unsigned i = 0; i < k; ++i) x[row * k + i] = element(a, row, i, width);
    for (unsigned n = 0; n < block; ++n)
        for (unsigned i = 0; i < k; ++i) y[n * k + i] = element(b, column + n, i, width);
    for (unsigned row = 0; row < warp_rows; ++row)
        for (unsigned n = 0; n < block; ++n) z[row * block + n] = d[n * warp_rows + row];
    plan.product(*plan.row, {warp_rows, block, static_cast<int>(k)}, types, x.data(), y.data(),
                 z.data(), z.data());
    for (unsigned row = 0; row < warp_rows; ++row)
        for (unsigned n = 0; n < block; ++n)
            d[n * warp_rows + row] = static_cast<uint32_t>(z[row * block + n]);
}

constexpr unsigned tile = num::tile_columns;
static_assert(num::tile_rows == warp_rows && tile == 2 * block);

void multiply(Context& c, const Step& s, num::MatrixTypes types, bool adds, const uint8_t* a,
              const uint8_t* b) {
    const Operation& o = *s.op;
    const WarpgroupPlan& plan = *s.warpgroup;
    const unsigned k = plan.variant->types->k;
    const unsigned width = isa::bits(types.a);
    const bool halves = types.d == Type::f16;
    alignas(64) std::array<uint32_t, size_t{num::tile_k} * warp_rows> x;
    alignas(64) std::array<uint32_t, size_t{num::tile_k} * tile> y;
    alignas(64) std::array<uint32_t, size_t{tile} * warp_rows> before, d;
    if (plan.tiled) turn(a, 0, warp_rows, warp_rows, k, width, x.data());
    for (unsigned column = 0; column < plan.variant->n; column += tile) {
        const unsigned columns = std::min<unsigned>(plan.variant->n - column, tile);
        before.fill(0);
        for (unsigned i = 0; adds && i < columns; i += block)
            gather_block(c, o, column + i, halves, &before[size_t{i} * warp_rows]);
        d = before;
        bool done = false;
        if (plan.tiled) {
            turn(b, column, columns, tile, k, width, y.data());
            done = num::fused_tile(
                plan.row->sum, types,
                {static_cast<int>(columns), static_cast<int>(k), x.data(), y.data(), d.data()});
        }
        if (!done) d = before;
        for (unsigned i = 0; i < columns; i += block) {
            uint32_t* const at = &d[size_t{i} * warp_rows];
            if (!done) multiply_plain(plan, types, a, b, column + i, at);
            scatter_block(c, o, column + i, halves, at);
        }
    }
}

constexpr unsigned max_groups = 16;

// Each row of A has its own choice of B, whose lines are twice as long.
void multiply_sparse(Context& c, const Step& s, num::MatrixTypes types, bool adds, const uint8_t* a,
                     const uint8_t* b) {
    const Operation& o = *s.op;
    const WarpgroupPlan& plan = *s.warpgroup;
    const unsigned k = plan.variant->types->k;  // that A holds
    const unsigned width = isa::bits(types.a);
    const unsigned groups = sparse_bits / isa::unit_bits(width) / isa::group_units;
    const bool halves = types.d == Type::f16;
    const uint32_t* const metadata = slot<uint32_t>(c, o.r[2]);
    std::array<std::array<uint64_t, max_groups>, warp_rows> places{};
    for (unsigned row = 0; row < warp_rows; ++row)
        for (unsigned group = 0; group < groups; ++group) {
            const isa::MetadataPlace at =
                isa::warpgroup_metadata(width, row, group, static_cast<unsigned>(o.immediate));
            places[row][group] = metadata[at.lane] >> at.shift & 15;
        }
    std::array<uint64_t, max_k> x;
    std::array<uint64_t, size_t{block} * max_k> y;
    std::array<uint64_t, block> z;
    std::array<uint32_t, size_t{block} * warp_rows> d;
    for (unsigned column = 0; column < plan.variant->n; column += block) {
        d.fill(0);
        if (adds) gather_block(c, o, column, halves, d.data());
        for (unsigned row = 0; row < warp_rows; ++row) {
            for (unsigned i = 0; i < k; ++i) {
                x[i] = element(a, row, i, width);
                const isa::Chosen from = isa::chosen(width, places[row].data(), i);
                for (unsigned n = 0; n < block; ++n)
                    y[n * k + i] = isa::bits_of(from, [&](unsigned at) {
                        return element(b, column + n, at, width, sparse_bytes);
                    });
            }
            for (unsigned n = 0; n < block; ++n) z[n] = d[n * warp_rows + row];
            plan.product(*plan.row, {1, block, static_cast<int>(k)}, types, x.data(), y.data(),
                         z.data(), z.data());
            for (unsigned n = 0; n < block; ++n)
                d[n * warp_rows + row] = static_cast<uint32_t>(z[n]);
        }
        scatter_block(c, o, column, halves, d.data());
    }
}

template <bool sparse>
void wgmma(Context& c, const Step& s, uint32_t) {
    constexpr unsigned bytes_of_b = sparse ? sparse_bytes : line_bytes;
    const Operation& o = *s.op;
    const isa::WarpgroupTypes& t = *s.warpgroup->variant->types;
    const bool registers = o.r[0] == isa::no_ref;
    // Descriptors and scale-d are the same in all lanes (PTX manual, wgmma.mma_async).
    const auto descriptor = [&](Ref ref) {
        return isa::decode_descriptor(slot<uint64_t>(c, ref)[0]);
    };
    const unsigned rank = c.warp->index % 4;
    const unsigned n = s.warpgroup->variant->n;
    const InShared b{descriptor(o.r[1]), o.warpgroup_operands.transpose_b, 0, n};
    LinesOfA a_lines;
    std::array<uint8_t, size_t{isa::max_warpgroup_n} * bytes_of_b> b_lines;
    if (registers) {
        lines_of_registers(c, o, a_lines.data());
    } else {
        const InShared a{descriptor(o.r[0]), o.warpgroup_operands.transpose_a, rank * warp_rows,
                         warp_rows};
        if (!read_lines<line_bytes>(c, o, a, a_lines.data())) return;
        if (c.observed) note_chunks<line_bytes>(c, a, 0, chunks<line_bytes>(a));
    }
    if (!read_lines<bytes_of_b>(c, o, b, b_lines.data())) return;
    // Of B listeners hear from each warp a quarter.
    const unsigned quarter = chunks<bytes_of_b>(b) / 4;
    if (c.observed) note_chunks<bytes_of_b>(c, b, quarter * rank, quarter * (rank + 1));
    // Where A is sparse, what was chosen of B is negated, not what is chosen from: of .tf32 halves
    // without a sign may be chosen (H100). A has the sign as well.
    const isa::WarpgroupOperands& operands = o.warpgroup_operands;
    const bool of_a = operands.negate_a != (sparse && operands.negate_b);
    if (of_a) negate(t.a, a_lines.data(), a_lines.size());
    if (!sparse && operands.negate_b) negate(t.b, b_lines.data(), size_t{n} * bytes_of_b);
    const num::MatrixTypes types{t.a,
                                 t.b,
                                 t.d,
                                 t.d,
                                 o.mod.satfinite,
                                 t.a == Type::b1 ? isa::Combine::and_ : isa::Combine::none};
    if constexpr (sparse)
        multiply_sparse(c, s, types, (read_predicate(c, o, 3) & 1) != 0, a_lines.data(),
                        b_lines.data());
    else
        multiply(c, s, types, (read_predicate(c, o, 2) & 1) != 0, a_lines.data(), b_lines.data());
    c.products += uint64_t{warp_rows} * n * t.k;
}

void commit(Context& c, const Step&, uint32_t) {
    ++c.wgmma_groups[c.warp->index];
    ++c.stores;
}

void wait(Context& c, const Step& s, uint32_t mask) {
    if (lags_behind(c, s.op->immediate) != no_warp) c.yields = mask;
}

}  // namespace

uint32_t lags_behind(const Context& c, uint64_t pending) {
    const uint64_t own = c.wgmma_groups[c.warp->index];
    const uint32_t first = c.warp->index / 4 * 4;
    for (uint32_t i = first; i < first + 4 && i < c.cta->warps.size(); ++i)
        if (c.cta->warps[i].live != 0 && c.wgmma_groups[i] + pending < own) return i;
    return no_warp;
}

bool make_plan(const isa::WarpgroupVariant& v, isa::Arch arch, bool plain_arithmetic,
               WarpgroupPlan& plan) {
    const isa::WarpgroupTypes& t = *v.types;
    plan.variant = &v;
    plan.product = plain_arithmetic ? num::matrix_product : num::matrix_product_fast;
    plan.row = num::find_warpgroup_row(arch, t.a, t.d);
    plan.tiled = plan.row != nullptr && !plain_arithmetic && t.k <= num::tile_k &&
                 isa::bits(t.a) >= 8 && num::has_fused_tile(*plan.row, {t.a, t.b, t.d, t.d});
    return plan.row != nullptr;
}

Handler wgmma_handler(const Operation& o) { return o.mod.sparse ? wgmma<true> : wgmma<false>; }
Handler wgmma_commit_handler(const Operation&) { return commit; }
Handler wgmma_wait_handler(const Operation&) { return wait; }

}  // namespace lockwarp::exec
