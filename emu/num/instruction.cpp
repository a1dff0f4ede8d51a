// SPDX-License-Identifier: Apache-2.0
#include "emu/num/instruction.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "emu/isa/sparse.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/lanes.hpp"

namespace lockwarp::num {

namespace {

// The largest matrices: 16x256 of A, 8x256 of B, 16x16 or 32x8 of C (PTX manual, shapes of mma and
// wmma).
constexpr size_t max_a = 16 * 256;
constexpr size_t max_b = 8 * 256;
constexpr size_t max_c = 256;
constexpr size_t max_groups = 16 * 16;

constexpr size_t area(int rows, int columns) {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

// Bits from one element to the next.
constexpr unsigned pitch(isa::Type type, bool bytes) {
    const unsigned width = isa::bits(type);
    return width >= 8 ? width : bytes || width == 6 ? 8 : width;
}

template <class Word>
void load_words(const uint8_t* from, size_t n, uint64_t* out) {
    for (size_t i = 0; i < n; ++i) {
        Word word;
        std::memcpy(&word, from + i * sizeof word, sizeof word);
        out[i] = word;
    }
}

void load(const uint8_t* from, size_t n, isa::Type type, bool bytes, uint64_t* out) {
    const unsigned step = pitch(type, bytes);
    switch (step) {
        case 64:
            return load_words<uint64_t>(from, n, out);
        case 32:
            return load_words<uint32_t>(from, n, out);
        case 16:
            return load_words<uint16_t>(from, n, out);
        default:
            break;
    }
    const uint64_t ones = (uint64_t{1} << isa::bits(type)) - 1;
    for (size_t i = 0; i < n; ++i) out[i] = from[i * step / 8] >> (i * step % 8) & ones;
}

// D has whole bytes.
void store(const uint64_t* from, size_t n, isa::Type type, uint8_t* out) {
    const size_t size = isa::bits(type) / 8;
    for (size_t i = 0; i < n; ++i) std::memcpy(out + i * size, &from[i], size);
}

// B's columns one after another.
void load_columns(const InstructionProduct& p, const InstructionMatrices& on, uint64_t* out) {
    std::array<uint64_t, max_b> rows;
    load(on.b, area(p.k, p.n), p.types.b, on.bytes, rows.data());
    for (int j = 0; j < p.n; ++j)
        for (int k = 0; k < p.k; ++k) *out++ = rows[k * p.n + j];
}

void convert_all(isa::Type from, isa::Type to, uint64_t* values, size_t n) {
    if (from == to) return;
    for (size_t i = 0; i < n; ++i) values[i] = convert(from, to, values[i], Rounding::rn);
}

// `rows` rows of A from `row` on, with the columns that they are multiplied with.
void product(const InstructionProduct& p, const InstructionMatrices& on, int row, int rows,
             const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const MatrixShape shape{rows, p.n, p.stored_k};
    if (p.scales == 0) return matrix_product_fast(*p.row, shape, p.types, a, b, c, d);
    const Scales scales{p.mma->scale, p.scales, on.a_scales + row * p.scales, on.b_scales};
    scaled_product(*p.row, shape, p.types, scales, a, b, c, d);
}

// Each row of A has its own choice of B.
void sparse_product(const InstructionProduct& p, const InstructionMatrices& on, const uint64_t* a,
                    const uint64_t* b, const uint64_t* c, uint64_t* d) {
    const unsigned held = isa::held_bits(isa::fragment(p.mma->fragment_a), p.mma->a);
    std::array<uint64_t, max_groups> places;
    std::array<uint64_t, max_b> columns;
    for (int row = 0; row < p.m; ++row) {
        for (int g = 0; g < p.groups; ++g) places[g] = on.metadata[row * p.groups + g] & 15;
        for (int i = 0; i < p.stored_k; ++i) {
            const isa::Chosen from = isa::chosen(held, places.data(), static_cast<unsigned>(i));
            for (int j = 0; j < p.n; ++j)
                columns[j * p.stored_k + i] = isa::bits_of(
                    from, [&](unsigned k) { return b[j * p.k + static_cast<int>(k)]; });
        }
        product(p, on, row, 1, a + row * p.stored_k, columns.data(), c + row * p.n, d + row * p.n);
    }
}

void multiply_by_values(const InstructionProduct& p, const InstructionMatrices& on) {
    std::array<uint64_t, max_a> a;
    std::array<uint64_t, max_b> b;
    std::array<uint64_t, max_c> c{};
    std::array<uint64_t, max_c> d;
    const auto size_c = area(p.m, p.n);
    load(on.a, area(p.m, p.stored_k), p.types.a, on.bytes, a.data());
    load_columns(p, on, b.data());
    if (on.c != nullptr) load(on.c, size_c, p.c, on.bytes, c.data());
    convert_all(p.c, p.types.c, c.data(), size_c);
    if (p.groups != 0)
        sparse_product(p, on, a.data(), b.data(), c.data(), d.data());
    else
        product(p, on, 0, p.m, a.data(), b.data(), c.data(), d.data());
    convert_all(p.types.d, p.d, d.data(), size_c);
    store(d.data(), size_c, p.d, on.d);
}

// Lines of `along` elements become columns of a tile: to[k][line].
template <class Word>
void turn(const uint8_t* from, int lines, int along, uint32_t* to) {
    for (int k = 0; k < along; ++k, to += tile_rows) {
        for (int line = 0; line < lines; ++line) {
            Word word;
            std::memcpy(&word, from + (line * along + k) * sizeof word, sizeof word);
            to[line] = word;
        }
        for (int line = lines; line < tile_rows; ++line) to[line] = 0;
    }
}

// Lines of `along` elements become lines of a tile: to[line][i].
template <class Word>
void widen(const uint8_t* from, int lines, int along, uint32_t* to) {
    for (int line = 0; line < lines; ++line, to += tile_columns) {
        for (int i = 0; i < along; ++i) {
            Word word;
            std::memcpy(&word, from + (line * along + i) * sizeof word, sizeof word);
            to[i] = word;
        }
        for (int i = along; i < tile_columns; ++i) to[i] = 0;
    }
}

template <class Word>
void turn_back(const uint32_t* from, int lines, int along, uint8_t* to) {
    for (int i = 0; i < along; ++i, from += tile_rows)
        for (int line = 0; line < lines; ++line) {
            const auto word = static_cast<Word>(from[line]);
            std::memcpy(to + (line * along + i) * sizeof word, &word, sizeof word);
        }
}

// work(Word()) with the word of the type's elements.
template <class Work>
void with_word(isa::Type type, Work work) {
    switch (isa::bits(type)) {
        case 8:
            return work(uint8_t{});
        case 16:
            return work(uint16_t{});
        default:
            return work(uint32_t{});
    }
}

// false: not for these numbers; D is as it was.
bool multiply_tile(const InstructionProduct& p, const InstructionMatrices& on) {
    alignas(64) std::array<uint32_t, size_t{tile_k} * tile_rows> a;
    alignas(64) std::array<uint32_t, size_t{tile_k} * tile_columns> b;
    alignas(64) std::array<uint32_t, size_t{tile_columns} * tile_rows> d;
    with_word(p.types.a, [&](auto word) { turn<decltype(word)>(on.a, p.m, p.k, a.data()); });
    with_word(p.types.b, [&](auto word) { widen<decltype(word)>(on.b, p.k, p.n, b.data()); });
    if (on.c == nullptr)
        d.fill(0);
    else
        with_word(p.c, [&](auto word) { turn<decltype(word)>(on.c, p.m, p.n, d.data()); });
    const Tile<uint32_t> tile{p.n, p.k, a.data(), b.data(), d.data()};
    if (!fused_tile(p.row->sum, p.types, tile)) return false;
    with_word(p.d, [&](auto word) { turn_back<decltype(word)>(d.data(), p.m, p.n, on.d); });
    return true;
}

void choose_way(InstructionProduct& p) {
    const auto whole_word = [](isa::Type t) {
        return isa::bits(t) == 8 || isa::bits(t) == 16 || isa::bits(t) == 32;
    };
    p.tiled = p.groups == 0 && p.scales == 0 && p.m <= tile_rows && p.n <= tile_columns &&
              p.c == p.types.c && p.d == p.types.d && whole_word(p.types.a) &&
              whole_word(p.types.b) && whole_word(p.c) && whole_word(p.d) &&
              has_fused_tile(*p.row, p.types);
}

}  // namespace

std::optional<InstructionProduct> product_of(const isa::MmaVariant& v, isa::Arch arch) {
    InstructionProduct p;
    p.row = find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    if (!isa::has(arch, v.target) || p.row == nullptr) return std::nullopt;
    p.m = v.m;
    p.n = v.n;
    p.k = v.k;
    p.stored_k = static_cast<int>(v.stored_k());
    p.types = {v.a, v.b, v.c, v.d, false, v.combine};
    p.c = v.c;
    p.d = v.d;
    p.mma = &v;
    p.groups = v.sparse ? isa::fragment(v.fragment_e).columns : 0;
    p.scales = v.scales;
    choose_way(p);
    return p;
}

std::optional<InstructionProduct> product_of(const isa::WmmaVariant& v, isa::Arch arch) {
    const isa::Type sum = isa::sum_type(v);
    InstructionProduct p;
    p.row = find_dot_row(arch, v.m, v.n, v.k, v.ab, sum);
    if (!isa::has(arch, v.target) || p.row == nullptr) return std::nullopt;
    p.m = v.m;
    p.n = v.n;
    p.k = p.stored_k = v.k;
    p.types = {v.ab, v.ab, isa::wmma_machine(arch).converts_c ? sum : v.c, sum, false, v.combine};
    p.c = v.c;
    p.d = v.d;
    choose_way(p);
    return p;
}

uint64_t bytes_of(isa::Type type, bool bytes, uint64_t count) {
    return (count * pitch(type, bytes) + 7) / 8;
}

void multiply(const InstructionProduct& p, const InstructionMatrices& on) {
    if (!p.tiled || !multiply_tile(p, on)) multiply_by_values(p, on);
}

}  // namespace lockwarp::num
