// SPDX-License-Identifier: Apache-2.0
// The matrix product of one instruction on arrays as Python has them, many at a time: what lw.mma
// computes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/num/instruction.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::python {

// A matrix as the caller has it: row by row, each element in the low bits of `bytes` bytes.
struct Matrix {
    std::string name;  // "A", "B", "C", "D"; "E": metadata; "SFA", "SFB": factors
    isa::Type type{};
    unsigned rows = 0, columns = 0;
    unsigned bytes = 0;
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
    // A, B, C and what else it takes, in the order of `given` below; then D.
    const std::vector<Matrix>& matrices() const { return matrices_; }

    // `count` products on `threads` cores (0: all); where `stop` becomes true, some are not done.
    void run(const std::vector<Given>& given, uint64_t count, unsigned threads,
             const std::atomic<bool>& stop) const;

  private:
    void one(const std::vector<Given>& given, uint64_t at, std::vector<uint8_t>& factors) const;

    lanes::Instruction instruction_;
    num::InstructionProduct product_;
    std::vector<Matrix> matrices_;
};

}  // namespace lockwarp::python
