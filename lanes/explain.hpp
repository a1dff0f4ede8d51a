// SPDX-License-Identifier: Apache-2.0
// One output element's sum, step by step, on one architecture or several; whether two instructions
// give the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/num/dot.hpp"
#include "lanes/answer.hpp"
#include "lanes/instruction.hpp"
#include "launch/result.hpp"

namespace lockwarp::lanes {

// An instruction's product on one architecture.
struct Product {
    const Instruction* instruction;
    isa::Arch arch;
    const num::DotRow* row;
    num::MatrixTypes types;
    unsigned k;
};
// An error where it has none that can be explained.
[[nodiscard]] launch::Result<Product> product_of(const Instruction& i, isa::Arch arch);

// Row `row` of A, column `column` of B and C's element, as bits.
struct DotInputs {
    std::vector<uint64_t> a, b;
    uint64_t c = 0;
};

// What the user gave: numbers or bits (0x...), separated by commas or blanks. Of A and B k of them,
// a whole matrix row by row, or after "lanes:" those of every lane's fragment; of C one likewise.
// All empty: random ones.
struct InputTexts {
    std::string a = {}, b = {}, c = {};
    std::string file = {};  // JSON: {"A": [[...]], "B": [[...]], "C": [[...]]}; or lists
    uint64_t seed = 1;
};
[[nodiscard]] launch::Result<DotInputs> read_inputs(const Instruction& i, unsigned row,
                                                    unsigned column, const InputTexts& texts);

Answer explain(const std::vector<Product>& products, unsigned row, unsigned column,
               const DotInputs& inputs);

// Whether x and y give the same bits for every input, where the one with the smaller k is repeated;
// else a witness. One answer for each pair.
Answer equivalent(const std::vector<std::pair<Product, Product>>& pairs, uint64_t tries);

}  // namespace lockwarp::lanes
