// SPDX-License-Identifier: Apache-2.0
// Buffers as matrices: printed, and compared with the exact product.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "emu/isa/types.hpp"
#include "launch/result.hpp"

namespace lockwarp::tools {

// "--print BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex]"
struct PrintRequest {
    std::string buffer;
    isa::Type type = isa::Type::none;
    uint64_t rows = 0, columns = 0;
    int decimals = -1;  // -1: chosen by the values
    bool hex = false;
};

[[nodiscard]] launch::Result<PrintRequest> parse_print(const std::string& text);

// "--product D=A*B:MxNxK:AB_TYPE:D_TYPE"; A and B row-major, "A'" for A stored K x M, "B'" for B
// stored N x K; D row-major.
struct ProductRequest {
    std::string d, a, b;
    bool a_transposed = false, b_transposed = false;
    uint64_t m = 0, n = 0, k = 0;
    isa::Type type_ab = isa::Type::none, type_d = isa::Type::none;
};

[[nodiscard]] launch::Result<ProductRequest> parse_product(const std::string& text);

using Buffers = std::map<std::string, std::span<const uint8_t>>;

// Whether the buffers are there and hold the matrices.
[[nodiscard]] launch::Result<void> check_print(const PrintRequest& request, const Buffers& buffers);
[[nodiscard]] launch::Result<void> check_product(const ProductRequest& request,
                                                 const Buffers& buffers);

// Rows of elements, appended to `out`; for a request that was checked.
void print_matrix(const PrintRequest& request, const Buffers& buffers, std::string& out);

// The largest deviation of D from the product of A and B as they were before the run, computed in
// double precision (Eigen), with its place, and in units in the last place of D's type.
void product_report(const ProductRequest& request, const Buffers& before, const Buffers& after,
                    std::string& out);

}  // namespace lockwarp::tools
