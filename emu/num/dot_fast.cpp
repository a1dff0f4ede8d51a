// SPDX-License-Identifier: Apache-2.0
// matrix_product_fast: cuts a product into tiles for the vector kernels of lanes.cpp. A tile that
// a kernel does not compute goes to the plain definition.
#include <array>

#include "emu/num/dot.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/lanes.hpp"

namespace lockwarp::num {
namespace {

// Where one tile lies in the matrices of a product.
struct Place {
    int row, column;
    int rows, columns;
};

void plain_tile(const DotRow& row, MatrixShape shape, MatrixTypes types, Place place,
                const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    std::array<uint64_t, tile_rows * tile_columns> values{};
    for (int i = 0; i < place.rows; ++i)
        for (int j = 0; j < place.columns; ++j)
            values[i * place.columns + j] = c[(place.row + i) * shape.n + place.column + j];
    matrix_product(row, {place.rows, place.columns, shape.k}, types, a + place.row * shape.k,
                   b + place.column * shape.k, values.data(), values.data());
    for (int i = 0; i < place.rows; ++i)
        for (int j = 0; j < place.columns; ++j)
            d[(place.row + i) * shape.n + place.column + j] = values[i * place.columns + j];
}

template <class Word, class Kernel>
void tiled_product(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                   const uint64_t* b, const uint64_t* c, uint64_t* d, Kernel kernel) {
    alignas(64) std::array<Word, tile_k * tile_rows> a_words;
    alignas(64) std::array<Word, tile_k * tile_columns> b_words;
    alignas(64) std::array<Word, tile_columns * tile_rows> d_words;
    for (int first_row = 0; first_row < shape.m; first_row += tile_rows) {
        const int rows = std::min(tile_rows, shape.m - first_row);
        // Rows and columns beyond the matrix are zeros, so that they never look special.
        for (int k = 0; k < shape.k; ++k)
            for (int i = 0; i < tile_rows; ++i)
                a_words[k * tile_rows + i] =
                    i < rows ? static_cast<Word>(a[(first_row + i) * shape.k + k]) : Word{0};
        for (int first_column = 0; first_column < shape.n; first_column += tile_columns) {
            const int columns = std::min(tile_columns, shape.n - first_column);
            for (int k = 0; k < shape.k; ++k)
                for (int j = 0; j < tile_columns; ++j)
                    b_words[k * tile_columns + j] =
                        j < columns ? static_cast<Word>(b[(first_column + j) * shape.k + k])
                                    : Word{0};
            for (int j = 0; j < columns; ++j)
                for (int i = 0; i < tile_rows; ++i)
                    d_words[j * tile_rows + i] =
                        i < rows
                            ? static_cast<Word>(c[(first_row + i) * shape.n + first_column + j])
                            : Word{0};
            const Tile<Word> tile{columns, shape.k, a_words.data(), b_words.data(), d_words.data()};
            if (!kernel(tile)) {
                plain_tile(row, shape, types, {first_row, first_column, rows, columns}, a, b, c, d);
                continue;
            }
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < columns; ++j)
                    d[(first_row + i) * shape.n + first_column + j] = d_words[j * tile_rows + i];
        }
    }
}

// The f16 of every fp8 number.
using F16s = std::array<uint16_t, 256>;

F16s f16s_of(isa::Type type) {
    F16s out;
    unsigned bits = 0;
    for (uint16_t& f : out)
        f = static_cast<uint16_t>(convert(type, isa::Type::f16, bits++, Rounding::rn));
    return out;
}

const F16s& f16s(isa::Type type) {
    static const F16s e4m3 = f16s_of(isa::Type::e4m3);
    static const F16s e5m2 = f16s_of(isa::Type::e5m2);
    return type == isa::Type::e4m3 ? e4m3 : e5m2;
}

// Largest product of an instruction with fp8 operands.
constexpr int halves_m = 16;
constexpr int halves_n = 8;
constexpr int halves_k = 32;

void product_in_halves_fast(const DotRow& row, MatrixShape shape, MatrixTypes types,
                            const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t* d) {
    DotRow f16_row = row;
    f16_row.a = isa::Type::f16;
    f16_row.method = Method::fused_blocks;
    const MatrixShape part{shape.m, shape.n, shape.k / 2};
    const MatrixTypes f16_types{isa::Type::f16, isa::Type::f16, types.d, types.d};
    const auto halve = [&](const uint64_t* from, const F16s& values, int lines, int half,
                           uint64_t* to) {
        for (int i = 0; i < lines; ++i)
            for (int k = 2 * half; k < shape.k; k += 4)
                for (int j = k; j < k + 2; ++j) *to++ = values[from[i * shape.k + j]];
    };
    std::array<uint64_t, halves_m * halves_k / 2> x;
    std::array<uint64_t, halves_n * halves_k / 2> y;
    std::array<uint64_t, halves_m * halves_n> sum{};
    for (int half = 0; half < 2; ++half) {
        halve(a, f16s(types.a), shape.m, half, x.data());
        halve(b, f16s(types.b), shape.n, half, y.data());
        matrix_product_fast(f16_row, part, f16_types, x.data(), y.data(), sum.data(), sum.data());
    }
    for (int i = 0; i < shape.m * shape.n; ++i) d[i] = add(types.d, sum[i], c[i], Rounding::rn);
}

}  // namespace

void matrix_product_fast(const DotRow& row, MatrixShape shape, MatrixTypes types, const uint64_t* a,
                         const uint64_t* b, const uint64_t* c, uint64_t* d) {
    if (row.method == Method::f16_halves && shape.m <= halves_m && shape.n <= halves_n &&
        shape.k <= halves_k && shape.k % 4 == 0) {
        product_in_halves_fast(row, shape, types, a, b, c, d);
    } else if (shape.k <= tile_k && has_fused_tile(row, types)) {
        tiled_product<uint32_t>(row, shape, types, a, b, c, d, [&](const Tile<uint32_t>& tile) {
            return fused_tile(row.sum, types, tile);
        });
    } else if (shape.k <= tile_k && row.method == Method::fma_chain_f64 &&
               types.rounding == Rounding::rn) {
        tiled_product<uint64_t>(row, shape, types, a, b, c, d, chain_tile);
    } else {
        matrix_product(row, shape, types, a, b, c, d);
    }
}

}  // namespace lockwarp::num
