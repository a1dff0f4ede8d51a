// SPDX-License-Identifier: Apache-2.0
// Buffers held against numbers that are expected of them, and against exact products.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launch/expect.hpp"
#include "launch/result.hpp"
#include "tools/report/matrices.hpp"

namespace lockwarp::tools {

// An element and what is expected of it.
struct Beside {
    uint64_t index = 0;
    uint64_t bits = 0;      // as it is
    uint64_t expected = 0;  // the bits; of a product rounded to nearest
    double exact = 0;       // the number that is expected
    double deviation = 0;   // NaN where only one of both is a number, or they are other infinities
    double ulp = 0;         // the deviation in units in the last place at the expected number
    double bound = 0;       // of the deviation where no tolerance is stated, of a product
    double magnitude() const;  // to find the worst by: NaN is worst
};

// The distance between neighbouring values of the type at a magnitude; of integers 1.
double ulp_at(isa::Type type, double value);

// How far an element may be from the number that is expected of it.
double allowed(const Beside& b, isa::Type type, const launch::Tolerance& t, bool product);

// Whether an element is right. A product without a tolerance has `bound`.
bool is_right(const Beside& b, isa::Type type, const launch::Tolerance& t, bool product);

// All elements of a product, in order. The buffers must hold it: check_product. Without a stated
// tolerance the deviation may be one unit in the last place and 4 * sqrt(K) roundings to D's type
// (to tf32 where a factor has 32 bits) of the sum of the products' magnitudes; of integers 0.
void each_of_product(const launch::Product& p, const Buffers& before, const Buffers& after,
                     const std::function<void(const Beside&)>& f);

// An element beside the bits that are expected of it.
Beside beside(isa::Type type, uint64_t index, uint64_t bits, uint64_t expected);

// "D = A*B' + C".
std::string formula(const launch::Product& p);

// "--product D=A*B:MxNxK:AB_TYPE:D_TYPE[:TOLERANCE]"; A and B row-major, "A'" for A stored K x M,
// "B'" for B stored N x K; D row-major. TOLERANCE: ulp=N, absolute=X or relative=X.
[[nodiscard]] launch::Result<launch::Expectation> parse_product(const std::string& text);

// Whether the buffers are there and hold the matrices. `option`: what messages begin with.
[[nodiscard]] launch::Result<void> check_product(const std::string& option,
                                                 const launch::Product& p, const Buffers& buffers);

// The largest deviation of D from the product of A and B as they were before the run, computed in
// double precision (Eigen), with its place, and in units in the last place of D's type. false: it
// is beyond the tolerance.
bool product_report(const launch::Expectation& request, const Buffers& before, const Buffers& after,
                    std::string& out);

}  // namespace lockwarp::tools
