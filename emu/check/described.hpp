// SPDX-License-Identifier: Apache-2.0
// What is known of a launch's buffers beside their bytes: which nobody gave a value, and what their
// elements are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockwarp::check {

// Bytes of global memory that nothing has given a value.
struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
};

// An array in global memory, row-major.
struct Shape {
    uint64_t address = 0;         // of its first element
    uint32_t bytes = 1;           // of an element
    std::vector<uint64_t> sizes;  // the outermost dimension first, at least one; none is 0
    uint64_t stride = 0;          // elements from one row to the next, at least sizes.back()

    uint64_t rows() const;  // all of them, whatever their plane
    bool has_rows() const { return sizes.size() > 1; }
    uint64_t row_bytes() const { return sizes.back() * bytes; }
    uint64_t stride_bytes() const { return stride * bytes; }
    // "[3][64]" of a byte behind its first element; in the padding of a row the column is past its
    // end. With " byte 1" for a byte that begins no element. Empty: behind its last row.
    std::string element(uint64_t offset) const;
};

struct Described {
    std::vector<Range> undefined;
    std::vector<Shape> shapes;  // one at most of each buffer
};

}  // namespace lockwarp::check
