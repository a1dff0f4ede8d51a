// SPDX-License-Identifier: Apache-2.0
#include "python/core/product.hpp"

#include <algorithm>
#include <cstring>

#include "emu/exec/parallel.hpp"
#include "emu/isa/sparse.hpp"
#include "emu/num/ieee.hpp"
#include "emu/num/lanes.hpp"
#include "python/core/failure.hpp"
#include "python/core/names.hpp"

namespace lockwarp::python {

namespace {

using isa::Type;
using Word = uint32_t;

// Products that a worker takes at a time, and below which there is no second worker.
constexpr uint64_t share = 256;

// Bytes that a caller's array has for an element.
unsigned stored_bytes(Type type) { return std::max(8u, isa::bits(type)) / 8; }

Matrix matrix_of(const lanes::Instruction& i, std::string_view name) {
    const lanes::Operand* const o = lanes::operand_named(i, name);
    if (o == nullptr) throw Failure(i.key + " has no operand " + std::string(name));
    return {o->name, o->type, o->rows, o->columns, stored_bytes(o->type)};
}

uint64_t ones(Type type) {
    return isa::bits(type) == 64 ? UINT64_MAX : (uint64_t{1} << isa::bits(type)) - 1;
}

// Elements of a matrix, row by row, as numbers of up to 64 bits.
template <class T>
void unpack(const uint8_t* from, size_t n, uint64_t mask, uint64_t* to) {
    for (size_t i = 0; i < n; ++i) {
        T value;
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        to[i] = value & mask;
    }
}

void unpack(const Matrix& m, const uint8_t* from, uint64_t* to) {
    const size_t n = size_t{m.rows} * m.columns;
    switch (m.bytes) {
        case 1:
            return unpack<uint8_t>(from, n, ones(m.type), to);
        case 2:
            return unpack<uint16_t>(from, n, ones(m.type), to);
        case 4:
            return unpack<uint32_t>(from, n, ones(m.type), to);
        default:
            return unpack<uint64_t>(from, n, ones(m.type), to);
    }
}

void pack(const Matrix& m, const uint64_t* from, uint8_t* to) {
    const size_t n = size_t{m.rows} * m.columns;
    for (size_t i = 0; i < n; ++i) std::memcpy(to + i * m.bytes, &from[i], m.bytes);
}

// to[column][row] = from[row][column], as words.
template <class T>
void to_columns(const uint8_t* from, unsigned rows, unsigned columns, unsigned to_step, Word* to) {
    for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < columns; ++c) {
            T value;
            std::memcpy(&value, from + (size_t{r} * columns + c) * sizeof value, sizeof value);
            to[c * to_step + r] = value;
        }
}

// to[row][column] = from[row][column], rows `to_step` words apart.
template <class T>
void to_rows(const uint8_t* from, unsigned rows, unsigned columns, unsigned to_step, Word* to) {
    for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < columns; ++c) {
            T value;
            std::memcpy(&value, from + (size_t{r} * columns + c) * sizeof value, sizeof value);
            to[r * to_step + c] = value;
        }
}

template <class T>
void from_columns(const Word* from, unsigned from_step, unsigned rows, unsigned columns,
                  uint8_t* to) {
    for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < columns; ++c) {
            const T value = static_cast<T>(from[c * from_step + r]);
            std::memcpy(to + (size_t{r} * columns + c) * sizeof value, &value, sizeof value);
        }
}

// Calls f with a value of the unsigned type of so many bytes: 1, 2 or 4.
template <class F>
void by_bytes(unsigned bytes, F f) {
    if (bytes == 1)
        f(uint8_t{});
    else if (bytes == 2)
        f(uint16_t{});
    else
        f(uint32_t{});
}

}  // namespace

// What a worker works in.
struct Product::Buffers {
    std::vector<uint64_t> a, b, c, d, e, columns;
    const uint8_t *sfa = nullptr, *sfb = nullptr;
    std::vector<uint8_t> sfb_columns;
    alignas(64) std::array<Word, num::tile_k * num::tile_rows> a_words{};
    alignas(64) std::array<Word, num::tile_k * num::tile_columns> b_words{};
    alignas(64) std::array<Word, num::tile_columns * num::tile_rows> d_words{};
};

Product::Product(const std::string& name, const std::string& arch, bool satfinite)
    : instruction_(instruction_named(name, arch)), arch_(instruction_.arch) {
    const lanes::Instruction& i = instruction_;
    if (i.mma != nullptr) {
        const isa::MmaVariant& v = *i.mma;
        row_ = num::find_dot_row(arch_, v.m, v.n, v.k, v.a, v.d, v.kind);
        shape_ = {v.m, v.n, static_cast<int>(v.stored_k())};
        types_ = {v.a, v.b, v.c, v.d, satfinite, v.combine};
        c_ = v.c;
        d_ = v.d;
        b_k_ = v.k;
        if (satfinite && !v.satfinite) throw Failure(i.key + " has no .satfinite");
    } else if (i.wmma != nullptr) {
        const isa::WmmaVariant& v = *i.wmma;
        const Type sum = isa::sum_type(v);
        row_ = num::find_dot_row(arch_, v.m, v.n, v.k, v.ab, sum);
        shape_ = {v.m, v.n, v.k};
        const bool converts = v.c != sum && isa::wmma_machine(arch_).converts_c;
        types_ = {v.ab, v.ab, converts ? sum : v.c, sum, satfinite, v.combine};
        c_ = v.c;
        d_ = v.d;
        b_k_ = v.k;
        if (satfinite && !v.satfinite) throw Failure(i.key + " has no .satfinite");
    } else {
        throw Failure(i.key + " is not a product that is executed");
    }
    if (row_ == nullptr)
        throw Failure(std::string(isa::row(arch_).name) + " does not have " + i.key);
    for (const char* operand : {"A", "B", "C"}) matrices_.push_back(matrix_of(i, operand));
    if (i.mma != nullptr && i.mma->sparse) matrices_.push_back(matrix_of(i, "E"));
    if (i.mma != nullptr && i.mma->scales != 0)
        for (const char* operand : {"SFA", "SFB"}) matrices_.push_back(matrix_of(i, operand));
    matrices_.push_back(matrix_of(i, "D"));
    tiled_ = matrices_.size() == 4 && num::has_fused_tile(*row_, types_) && c_ == types_.c &&
             d_ == types_.d && shape_.m <= num::tile_rows && shape_.n <= num::tile_columns &&
             shape_.k <= num::tile_k && row_->method == num::Method::fused_blocks;
}

namespace {

const uint8_t* bytes_at(const Given& g, uint64_t at) {
    return reinterpret_cast<const uint8_t*>(g.address + g.step * at);
}

}  // namespace

// By the vector kernel, straight from the caller's arrays. false: it is not for these numbers.
bool Product::tile(const std::vector<Given>& given, uint64_t at, Buffers& b) const {
    const auto [m, n, k] = shape_;
    by_bytes(matrices_[0].bytes, [&](auto zero) {
        to_columns<decltype(zero)>(bytes_at(given[0], at), m, k, num::tile_rows, b.a_words.data());
    });
    by_bytes(matrices_[1].bytes, [&](auto zero) {
        to_rows<decltype(zero)>(bytes_at(given[1], at), k, n, num::tile_columns, b.b_words.data());
    });
    by_bytes(matrices_[2].bytes, [&](auto zero) {
        to_columns<decltype(zero)>(bytes_at(given[2], at), m, n, num::tile_rows, b.d_words.data());
    });
    const num::Tile<Word> t{n, k, b.a_words.data(), b.b_words.data(), b.d_words.data()};
    if (!num::fused_tile(row_->sum, types_, t)) return false;
    by_bytes(matrices_[3].bytes, [&](auto zero) {
        from_columns<decltype(zero)>(b.d_words.data(), num::tile_rows, m, n,
                                     const_cast<uint8_t*>(bytes_at(given[3], at)));
    });
    return true;
}

// Rows [row, row + rows), each beside the same columns of B.
void Product::dense(unsigned row, unsigned rows, const uint64_t* columns, Buffers& b) const {
    const num::MatrixShape shape{static_cast<int>(rows), shape_.n, shape_.k};
    const uint64_t* const a = b.a.data() + size_t{row} * shape_.k;
    const size_t at = size_t{row} * shape_.n;
    const isa::MmaVariant* const v = instruction_.mma;
    if (v == nullptr || v->scales == 0) {
        num::matrix_product_fast(*row_, shape, types_, a, columns, b.c.data() + at,
                                 b.d.data() + at);
        return;
    }
    const num::Scales scales{v->scale, v->scales, b.sfa + size_t{row} * v->scales,
                             b.sfb_columns.data()};
    num::scaled_product(*row_, shape, types_, scales, a, columns, b.c.data() + at, b.d.data() + at);
}

// Each row of A has its own choice of B.
void Product::sparse(Buffers& b) const {
    const isa::MmaVariant& v = *instruction_.mma;
    const unsigned groups = isa::fragment(v.fragment_e).columns;
    const unsigned width = isa::held_bits(isa::fragment(v.fragment_a), v.a);
    const auto stored = static_cast<unsigned>(shape_.k);
    b.columns.resize(size_t{v.n} * stored);
    for (unsigned row = 0; row < v.m; ++row) {
        for (unsigned i = 0; i < stored; ++i) {
            const unsigned from = isa::chosen_k(width, b.e.data() + row * groups, i);
            for (unsigned n = 0; n < v.n; ++n) b.columns[n * stored + i] = b.b[n * b_k_ + from];
        }
        dense(row, 1, b.columns.data(), b);
    }
}

void Product::one(const std::vector<Given>& given, uint64_t at, Buffers& b) const {
    if (tiled_ && tile(given, at, b)) return;
    const auto take = [&](size_t which, std::vector<uint64_t>& to) {
        const Matrix& m = matrices_[which];
        to.resize(size_t{m.rows} * m.columns);
        unpack(m, bytes_at(given[which], at), to.data());
    };
    take(0, b.a);
    take(1, b.columns);
    b.b.resize(b.columns.size());
    const auto n = static_cast<unsigned>(shape_.n);
    for (unsigned i = 0; i < b_k_; ++i)
        for (unsigned j = 0; j < n; ++j) b.b[j * b_k_ + i] = b.columns[i * n + j];
    take(2, b.c);
    if (types_.c != c_)
        for (uint64_t& c : b.c) c = num::convert(c_, types_.c, c, isa::Rounding::rn);
    b.d.resize(b.c.size());
    const bool is_sparse = instruction_.mma != nullptr && instruction_.mma->sparse;
    size_t next = 3;
    if (is_sparse) take(next++, b.e);
    if (next + 1 < matrices_.size()) {
        b.sfa = bytes_at(given[next], at);
        b.sfb = bytes_at(given[next + 1], at);
        // Of B's columns the factors of one stand side by side.
        const Matrix& m = matrices_[next + 1];
        b.sfb_columns.resize(size_t{m.rows} * m.columns);
        for (unsigned r = 0; r < m.rows; ++r)
            for (unsigned c = 0; c < m.columns; ++c)
                b.sfb_columns[c * m.rows + r] = b.sfb[r * m.columns + c];
    }
    if (is_sparse)
        sparse(b);
    else
        dense(0, static_cast<unsigned>(shape_.m), b.b.data(), b);
    if (types_.d != d_)
        for (uint64_t& d : b.d) d = num::convert(types_.d, d_, d, isa::Rounding::rn);
    pack(matrices_.back(), b.d.data(), const_cast<uint8_t*>(bytes_at(given.back(), at)));
}

void Product::run(const std::vector<Given>& given, uint64_t count, unsigned threads,
                  const std::atomic<bool>& stop) const {
    const uint64_t shares = (count + share - 1) / share;
    const auto workers =
        static_cast<unsigned>(std::min<uint64_t>(shares, exec::worker_count(threads)));
    std::atomic<uint64_t> next{0};
    exec::for_each_worker(workers, [&](unsigned) {
        const auto buffers = std::make_unique<Buffers>();
        for (uint64_t i = next++; i < shares && !stop; i = next++)
            for (uint64_t at = i * share; at < std::min(count, (i + 1) * share); ++at)
                one(given, at, *buffers);
    });
}

}  // namespace lockwarp::python
