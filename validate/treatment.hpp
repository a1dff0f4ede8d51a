// SPDX-License-Identifier: Apache-2.0
// Which results are not compared, and why. Everything that no row names is compared, bit for bit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "emu/isa/operation.hpp"

namespace lockwarp::validate {

enum class Treatment : uint8_t {
    taken,    // every result is the engine's: it depends on time, place or order
    masked,   // the lanes that the executor reports as undefined (warp::Retired::undefined)
    any_nan,  // in those lanes any NaN will do; one that differs is masked
};

struct TreatmentRow {
    isa::Op op;
    Treatment treatment;
    std::string_view why;  // with the manual's section
};

// Instructions outside the special registers, which say it of themselves (isa::SpecialRow).
std::span<const TreatmentRow> treatment_rows();

// For each operation why its results are taken from the engine; empty: they are compared.
std::vector<std::string_view> taken_because(const isa::Program& program);

// How lanes that are undefined after an operation are treated: masked, or any_nan.
Treatment treatment_of_undefined(isa::Op op);

// Whether lanes may be undefined after the operation.
bool may_be_undefined(const isa::Operation& o);

// Why lanes of an operation are masked.
std::string_view masked_because(isa::Op op);

}  // namespace lockwarp::validate
