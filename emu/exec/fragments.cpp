// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/fragments.hpp"

#include "emu/num/lanes.hpp"

namespace lockwarp::exec {

namespace {

template <class T>
void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, unsigned width,
            uint64_t* out) {
    const Ref* refs = c.program->pool.data() + v.first;
    const uint64_t ones = width >= 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    for (size_t i = 0; i < n; ++i)
        out[i] = (uint64_t{slot<T>(c, refs[cells[i].reg])[cells[i].lane]} >> cells[i].shift) & ones;
}

using num::tile_columns;
using num::tile_k;
using num::tile_rows;

// One more word takes what has no place.
constexpr size_t nowhere = size_t{tile_k} * tile_rows;
using Words = std::array<uint32_t, nowhere + 1>;

// false: a word's elements are not neighbours in a row, or there are too many.
bool tile_words(const isa::Elements& e, TileWords& out) {
    if (e.matrices != 1 || e.held_bits > 32 || e.rows > tile_rows || e.columns > tile_k)
        return false;
    out.rows = e.rows;
    out.columns = e.columns;
    out.each = 32 / e.held_bits;
    out.held_bits = e.held_bits;
    out.padding_below = e.padding_below;
    if (out.columns % out.each != 0) return false;
    std::array<uint16_t, 32> nobody;
    nobody.fill(nowhere);
    out.place.assign(e.registers(), nobody);
    const std::vector<isa::Element> all = isa::first_owners(e);
    for (const isa::Element& at : all) {
        const unsigned within = at.column % out.each;
        const isa::Element& first = all[size_t{at.row} * e.columns + at.column - within];
        if (at.lane != first.lane || at.reg != first.reg ||
            at.shift != within * e.held_bits + e.padding_below)
            return false;
        out.place[at.reg][at.lane] =
            static_cast<uint16_t>(at.column / out.each * tile_rows + at.row);
    }
    out.whole = e.bits == e.held_bits;
    for (const auto& lanes : out.place)
        for (const uint16_t place : lanes) out.whole &= place != nowhere;
    return true;
}

// What stands above an element in its word stays there: num::fused_tile does not look at it.
void gather_words(Context& c, isa::VectorRef v, const TileWords& t, uint32_t* out) {
    const Ref* refs = c.program->pool.data() + v.first;
    Words words;
    const unsigned lines = t.columns / t.each;
    if (t.rows < tile_rows) std::fill_n(words.begin(), lines * tile_rows, 0u);
    for (size_t reg = 0; reg < t.place.size(); ++reg) {
        const auto* from = slot<uint32_t>(c, refs[reg]);
        const uint16_t* const place = t.place[reg].data();
        for (unsigned lane = 0; lane < 32; ++lane) words[place[lane]] = from[lane];
    }
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned i = 0; i < t.each; ++i, out += tile_rows) {
            const unsigned shift = i * t.held_bits + t.padding_below;
            for (unsigned row = 0; row < tile_rows; ++row)
                out[row] = words[line * tile_rows + row] >> shift;
        }
}

// Of a whole one.
void scatter_words(Context& c, isa::VectorRef v, const TileWords& t, const uint32_t* in) {
    const Ref* refs = c.program->pool.data() + v.first;
    Words words;
    const unsigned lines = t.columns / t.each;
    for (unsigned line = 0; line < lines; ++line)
        for (unsigned i = 0; i < t.each; ++i, in += tile_rows)
            for (unsigned row = 0; row < tile_rows; ++row) {
                uint32_t& word = words[line * tile_rows + row];
                word = i == 0 ? in[row] : word | in[row] << (i * t.held_bits);
            }
    for (size_t reg = 0; reg < t.place.size(); ++reg) {
        auto* to = slot<uint32_t>(c, refs[reg]);
        const uint16_t* const place = t.place[reg].data();
        for (unsigned lane = 0; lane < 32; ++lane) to[lane] = words[place[lane]];
    }
}

}  // namespace

void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type, uint64_t* out) {
    if (isa::bits(type) == 64)
        gather<uint64_t>(c, v, cells, n, 64, out);
    else
        gather<uint32_t>(c, v, cells, n, isa::bits(type), out);
}

void scatter(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type,
             const uint64_t* in) {
    const Ref* refs = c.program->pool.data() + v.first;
    const unsigned width = isa::bits(type);
    for (size_t i = 0; i < n; ++i) {
        const Cell cell = cells[i];
        if (width == 64) {
            slot<uint64_t>(c, refs[cell.reg])[cell.lane] = in[i];
        } else if (width == 32) {
            slot<uint32_t>(c, refs[cell.reg])[cell.lane] = static_cast<uint32_t>(in[i]);
        } else {
            uint32_t& word = slot<uint32_t>(c, refs[cell.reg])[cell.lane];
            const uint32_t ones = (1u << width) - 1;
            word = (word & ~(ones << cell.shift)) | (static_cast<uint32_t>(in[i]) << cell.shift);
        }
    }
}

std::vector<Cell> cells(const isa::Elements& elements) {
    std::vector<Cell> out;
    for (const isa::Element& e : isa::first_owners(elements))
        out.push_back({e.lane, e.reg, e.shift});
    return out;
}

TiledProduct tiled_product(const num::DotRow& row, num::MatrixTypes types, const isa::Elements& a,
                           const isa::Elements& b, const isa::Elements& c, const isa::Elements& d) {
    TiledProduct out;
    out.k = a.columns;
    out.good = num::has_fused_tile(row, types) && b.rows <= tile_columns && tile_words(a, out.a) &&
               tile_words(b, out.b) && tile_words(c, out.c) && tile_words(d, out.d) && out.d.whole;
    return out;
}

bool multiply_tile(Context& c, const Operation& o, const TiledProduct& t, const num::DotRow& row,
                   num::MatrixTypes types) {
    alignas(64) std::array<uint32_t, size_t{tile_k} * tile_rows> a;
    alignas(64) std::array<uint32_t, size_t{tile_k} * tile_columns> b;
    alignas(64) std::array<uint32_t, size_t{tile_columns} * tile_rows> d;
    gather_words(c, o.vector[1], t.a, a.data());
    gather_words(c, o.vector[2], t.b, b.data());
    gather_words(c, o.vector[3], t.c, d.data());
    const num::Tile<uint32_t> tile{static_cast<int>(t.d.columns), t.k, a.data(), b.data(),
                                   d.data()};
    if (!num::fused_tile(row.sum, types, tile)) return false;
    scatter_words(c, o.vector[0], t.d, d.data());
    return true;
}

}  // namespace lockwarp::exec
