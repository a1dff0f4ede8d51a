// SPDX-License-Identifier: Apache-2.0
#include "why/hypothesis.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::why {

namespace {

constexpr std::array rows{
    Hypothesis{"registers of A", "registers of an mma's A in another order",
               "mma lines, all of a shape and each alone", try_registers_of_a},
    Hypothesis{"registers of B", "registers of an mma's B in another order",
               "mma lines, all of a shape and each alone", try_registers_of_b},
    Hypothesis{"accumulators", "registers of an mma's C and D in another order, both or one",
               "mma lines, all of a shape and each alone", try_accumulators},
    Hypothesis{"packed", "halves or bytes of a register in another order", "A or B of all mma",
               try_packed},
    Hypothesis{".trans", ".trans added or taken away", "ldmatrix, all of an operand and each alone",
               try_trans},
    Hypothesis{"loop", "the bound of a loop with matrix instructions moved by up to 64",
               "the comparisons that end such loops", try_loop_ends},
    Hypothesis{"accumulators at first",
               "zero in place of what the sums begin with, or the sum so "
               "far in place of C",
               "mma lines, and what sets their accumulators", try_accumulator_start},
    Hypothesis{"part of k", "some of k left out of the product", "the product", try_part_of_k},
    Hypothesis{"transposed", "A, B or D taken for its transpose", "the product", try_transposed},
    Hypothesis{"leading dimension", "A, B or D with rows of another length", "the product",
               try_leading_dimensions},
    Hypothesis{"block", "rows, columns or k moved by a power of two, or exchanged in pairs",
               "the product", try_blocks},
    Hypothesis{"CTA", "%ctaid.x for %ctaid.y, and the other way round", "where they are read",
               try_cta_indices},
    Hypothesis{"wmma", ".row for .col, or the stride", "wmma.load, wmma.store, of one matrix",
               try_wmma},
    Hypothesis{"swizzle", "the address XORed with bits of itself, of 32, 64 and 128 bytes",
               "an operand's loads from shared memory, and its stores there", try_swizzles},
    Hypothesis{"swizzle of both", "the same", "loads of both operands, or their stores",
               try_swizzles_of_both},
    Hypothesis{"another swizzle", "one swizzle undone, another done",
               "ldmatrix of an operand, or of both", try_other_swizzles},
    Hypothesis{"rows of ldmatrix", "the lanes' rows and halves as the manual has them",
               "ldmatrix, all of an operand and each alone", try_ldmatrix_rows},
    Hypothesis{"lanes", "another lane's address: quads and lanes of quads exchanged",
               "loads of fragments, stores of the result", try_lanes},
    Hypothesis{"stage", "the next stage of a pipeline, or one further on",
               "an operand's loads from shared memory, and its stores there", try_stages},
    Hypothesis{"rows of ldmatrix in a swizzled tile", "the same, and then the swizzle",
               "ldmatrix of an operand", try_swizzled_rows},
    Hypothesis{"index", "lane/4 for lane%8, another divisor, another remainder",
               "shifts and masks by a constant", try_index},
    Hypothesis{"offset", "the address moved by a power of two",
               "an operand's loads and stores, and the result's stores", try_offsets},
};

}  // namespace

std::span<const Hypothesis> hypotheses() { return rows; }

std::string lines_text(const std::vector<ptx::Place>& places) {
    std::vector<uint32_t> lines;
    for (const ptx::Place p : places) lines.push_back(p.line);
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    if (lines.empty()) return "no line";
    if (lines.size() == 1) return "line " + std::to_string(lines[0]);
    if (lines.size() <= 4) {
        std::string out = "lines ";
        for (size_t i = 0; i < lines.size(); ++i)
            out += (i == 0                  ? ""
                    : i + 1 == lines.size() ? " and "
                                            : ", ") +
                   std::to_string(lines[i]);
        return out;
    }
    return "the " + std::to_string(lines.size()) + " lines from " + std::to_string(lines.front()) +
           " to " + std::to_string(lines.back());
}

}  // namespace lockwarp::why
