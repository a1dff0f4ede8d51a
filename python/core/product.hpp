// SPDX-License-Identifier: Apache-2.0
// The matrix product of one instruction on whole matrices, many at a time: what lw.mma computes.
// No lanes and no registers: the arithmetic alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/num/dot.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::python {

// A matrix as the caller has it: row by row, each element in the low bits of `bytes` bytes.
struct Matrix {
    std::string name;  // "A", "B", "C", "D"; "E": metadata; "SFA", "SFB": factors
    isa::Type type{};
    unsigned rows = 0, columns = 0;
    unsigned bytes = 0;
    size_t size() const { return size_t{rows} * columns * bytes; }
};

// Where the first matrix is, and how many bytes further the next one; 0: the same for all products.
struct Given {
    uint64_t address = 0;
    uint64_t step = 0;
};

class Product {
  public:
    // Throws Failure where there is no such instruction, or no arithmetic of it.
    Product(const std::string& name, const std::string& arch, bool satfinite);

    const lanes::Instruction& instruction() const { return instruction_; }
    isa::Arch arch() const { return arch_; }
    // A, B, C and what else it takes, in the order of `given` below; then D.
    const std::vector<Matrix>& matrices() const { return matrices_; }

    // `count` products on `threads` cores (0: all); where `stop` becomes true, some are not done.
    void run(const std::vector<Given>& given, uint64_t count, unsigned threads,
             const std::atomic<bool>& stop) const;

  private:
    struct Buffers;
    void one(const std::vector<Given>& given, uint64_t at, Buffers& b) const;
    bool tile(const std::vector<Given>& given, uint64_t at, Buffers& b) const;
    void sparse(Buffers& b) const;
    void dense(unsigned row, unsigned rows, const uint64_t* columns, Buffers& b) const;

    lanes::Instruction instruction_;
    isa::Arch arch_{};
    const num::DotRow* row_ = nullptr;
    num::MatrixShape shape_{};  // k: elements of A that are stored
    unsigned b_k_ = 0;          // elements of B's columns
    num::MatrixTypes types_{};
    isa::Type c_ = isa::Type::none, d_ = isa::Type::none;  // as they are given and taken
    std::vector<Matrix> matrices_;
    bool tiled_ = false;
};

}  // namespace lockwarp::python
