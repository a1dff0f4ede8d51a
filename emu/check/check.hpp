// SPDX-License-Identifier: Apache-2.0
// Checks: listeners that look for what is wrong in a program while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/warp/observer.hpp"

namespace lockwarp::check {

struct Finding {
    std::optional<uint32_t> operation;  // where: index into Program::operations
    std::string what;                   // a clause: "reads what line 18 copies"
    std::string place;                  // CTA, warp, lane and the like; may be empty
    std::string hint;                   // may be empty
};

struct Findings {
    std::string summary;  // "64 reads of shared memory that ...", in one line
    std::vector<Finding> list;
};

// An observer that says what it found. It is good for one launch.
class Check : public warp::Observer {
  public:
    // After the run; an empty list: nothing.
    virtual Findings findings() const = 0;
};

// To add a check: a row, and the function that makes it.
struct CheckRow {
    std::string_view name;   // as users name it
    std::string_view word;   // that its report begins with
    std::string_view finds;  // what it looks for
    bool is_fault;           // a program in which it finds something is wrong
    std::unique_ptr<Check> (*make)(const isa::Program& program, const warp::Launch& launch);
};

std::span<const CheckRow> checks();

// The row of a name, or nullptr.
const CheckRow* check_named(std::string_view name);

// in_flight.cpp: reads of shared memory that a cp.async may still be bringing.
std::unique_ptr<Check> early_reads(const isa::Program& program, const warp::Launch& launch);

// unused_shared.cpp: bytes of shared memory that no thread ever accessed.
std::unique_ptr<Check> unused_shared(const isa::Program& program, const warp::Launch& launch);

// global_races.cpp: accesses of global memory by warps of a CTA that nothing orders.
std::unique_ptr<Check> global_races(const isa::Program& program, const warp::Launch& launch);

}  // namespace lockwarp::check
