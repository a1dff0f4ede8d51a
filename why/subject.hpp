// SPDX-License-Identifier: Apache-2.0
// A launch file whose result is not what it expects, made ready to be run again and again: with
// another program, with other data, a part of the grid alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emu/lockwarp.hpp"
#include "launch/expect.hpp"
#include "launch/input.hpp"
#include "launch/state.hpp"

namespace lockwarp::why {

// Every buffer's bytes, in the order of LaunchFile::buffers.
using Bytes = std::vector<std::vector<uint8_t>>;

// What is expected of an element: these bits, or a number within `slack` of `value`.
struct Wanted {
    uint64_t bits = 0;
    double value = 0;
    double slack = 0;
    bool by_bits = true;  // the bits alone
};

bool is_right(isa::Type type, uint64_t bits, const Wanted& wanted);

// What is expected of every element of the matrix where the buffers begin with these bytes. Without
// a product only the launch file's own bytes have an answer.
using WantedOf = std::function<launch::Result<std::vector<Wanted>>(const Bytes& before)>;

// The matrix that is not as expected.
struct Subject {
    const std::vector<launch::Loaded>* steps = nullptr;  // at least one
    launch::State begin;                                 // before the first step
    size_t step = 0;                                     // that multiplies: where programs change
    size_t buffer = 0;                                   // of the matrix
    uint64_t offset = 0;                                 // its first byte there
    isa::Type type = isa::Type::none;
    uint64_t rows = 1, columns = 1;  // row-major
    // D = A*B + C. Where the launch file gives the matrix alone it may be found from it.
    std::optional<launch::Product> product;
    bool product_is_found = false;
    WantedOf wanted;
    const std::atomic<bool>* stop = nullptr;

    const launch::Loaded& loaded() const { return (*steps)[step]; }
    const launch::LaunchFile& file() const { return steps->front().in.launch; }
    uint64_t elements() const { return rows * columns; }
    // The index of a buffer of the product; SIZE_MAX: there is none of that name.
    size_t buffer_named(const std::string& name) const;
};

// How a run differs from the plain one.
struct Change {
    const isa::Program* program = nullptr;  // of Subject::step; nullptr: its own
    const Bytes* before = nullptr;          // nullptr: the launch file's
    warp::Observer* observer = nullptr;     // of Subject::step
    warp::Oracle* oracle = nullptr;
    uint64_t first_cta = 0, ctas = 0;  // of Subject::step; 0: all
    uint64_t max_steps = UINT64_MAX;
};

struct Outcome {
    bool ended = false;  // no trap, no refusal
    Bytes after;
    uint64_t instructions = 0;
};

Outcome run(const Subject& subject, const Change& change);

// The matrix's element in the bytes of the buffers.
uint64_t element(const Subject& subject, const Bytes& bytes, uint64_t index);

// How many elements are right.
uint64_t count_right(const Subject& subject, const Bytes& after, const std::vector<Wanted>& wanted);

}  // namespace lockwarp::why
