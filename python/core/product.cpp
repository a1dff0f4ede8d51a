// SPDX-License-Identifier: Apache-2.0
#include "python/core/product.hpp"

#include <algorithm>
#include <optional>

#include "emu/exec/parallel.hpp"
#include "python/core/failure.hpp"
#include "python/core/names.hpp"

namespace lockwarp::python {

namespace {

// Products that a worker takes at a time, and below which there is no second worker.
constexpr uint64_t share = 256;

Matrix matrix_of(const lanes::Instruction& i, std::string_view name) {
    const lanes::Operand* const o = lanes::operand_named(i, name);
    if (o == nullptr) throw Failure(i.key + " has no operand " + std::string(name));
    return {o->name, o->type, o->rows, o->columns, std::max(8u, isa::bits(o->type)) / 8};
}

const uint8_t* bytes_at(const Given& g, uint64_t at) {
    return reinterpret_cast<const uint8_t*>(g.address + g.step * at);
}

}  // namespace

Product::Product(const std::string& name, const std::string& arch, bool satfinite)
    : instruction_(instruction_named(name, arch)) {
    const lanes::Instruction& i = instruction_;
    if (i.mma == nullptr && i.wmma == nullptr)
        throw Failure(i.key + " is not a product that is executed");
    const std::optional<num::InstructionProduct> found =
        i.mma != nullptr ? num::product_of(*i.mma, i.arch) : num::product_of(*i.wmma, i.arch);
    if (!found) throw Failure(std::string(isa::row(i.arch).name) + " does not have " + i.key);
    product_ = *found;
    if (satfinite && !(i.mma != nullptr ? i.mma->satfinite : i.wmma->satfinite))
        throw Failure(i.key + " has no .satfinite");
    product_.types.satfinite = satfinite;
    for (const char* operand : {"A", "B", "C"}) matrices_.push_back(matrix_of(i, operand));
    if (product_.groups != 0) matrices_.push_back(matrix_of(i, "E"));
    if (product_.scales != 0)
        for (const char* operand : {"SFA", "SFB"}) matrices_.push_back(matrix_of(i, operand));
    matrices_.push_back(matrix_of(i, "D"));
}

void Product::one(const std::vector<Given>& given, uint64_t at,
                  std::vector<uint8_t>& factors) const {
    num::InstructionMatrices on;
    on.bytes = true;
    on.a = bytes_at(given[0], at);
    on.b = bytes_at(given[1], at);
    on.c = bytes_at(given[2], at);
    on.d = const_cast<uint8_t*>(bytes_at(given.back(), at));
    size_t next = 3;
    if (product_.groups != 0) on.metadata = bytes_at(given[next++], at);
    if (product_.scales != 0) {
        on.a_scales = bytes_at(given[next], at);
        const uint8_t* const b = bytes_at(given[next + 1], at);
        const Matrix& m = matrices_[next + 1];  // (factor, column): here those of a column together
        factors.resize(size_t{m.rows} * m.columns);
        for (unsigned r = 0; r < m.rows; ++r)
            for (unsigned c = 0; c < m.columns; ++c) factors[c * m.rows + r] = b[r * m.columns + c];
        on.b_scales = factors.data();
    }
    num::multiply(product_, on);
}

void Product::run(const std::vector<Given>& given, uint64_t count, unsigned threads,
                  const std::atomic<bool>& stop) const {
    const uint64_t shares = (count + share - 1) / share;
    const auto workers =
        static_cast<unsigned>(std::min<uint64_t>(shares, exec::worker_count(threads)));
    std::atomic<uint64_t> next{0};
    exec::for_each_worker(workers, [&](unsigned) {
        std::vector<uint8_t> factors;
        for (uint64_t i = next++; i < shares && !stop; i = next++)
            for (uint64_t at = i * share; at < std::min(count, (i + 1) * share); ++at)
                one(given, at, factors);
    });
}

}  // namespace lockwarp::python
