// SPDX-License-Identifier: Apache-2.0
// The special functions beside a GPU's instructions, over all operands of a form: the model
// compiled for the GPU, operand by operand, there; the model compiled for this machine by digests
// of chunks (gpu/special_sweep.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/engine.hpp"
#include "gpu/special_sweep.hpp"

namespace lockwarp::validate {

struct SpecialOptions {
    uint64_t first = 0;           // operand numbers
    uint64_t count = UINT64_MAX;  // as far as the form has them
    unsigned threads = 0;         // of the model on this machine; 0: all cores
    uint32_t optimization = 4;    // of the engines' compiler, 0 to 4
    size_t max_shown = 4;         // differing operands, of each form and engine
    const std::atomic<bool>* stop = nullptr;
    std::atomic<uint64_t>* done = nullptr;  // counts operands that both comparisons are done with
    // The model on this machine; tests put in another.
    const num::MufuTables* tables = &num::mufu_tables;
};

struct SpecialDifference {
    uint64_t number = 0;  // of the operand
    gpu::Operand operand;
    uint64_t instruction = 0;
    uint64_t gpu_model = 0;
    uint64_t host_model = 0;
};

// One form on one engine.
struct SpecialReport {
    gpu::SpecialForm form{};
    std::string name;
    std::string problem;                   // it could not be compared
    uint64_t operands = 0;                 // compared
    uint64_t different_on_gpu = 0;         // by the model there
    uint64_t chunks = 0;                   // compared
    uint64_t different_chunks = 0;         // by the model here
    std::vector<SpecialDifference> shown;  // of the first chunks with any
    double gpu_seconds = 0, host_seconds = 0;

    bool identical() const {
        return problem.empty() && operands != 0 && different_on_gpu == 0 && different_chunks == 0;
    }
};

// One form on all engines, one report each; what the model here gives is computed once. Ends early
// where `stop` says so: then the reports are empty or hold less.
std::vector<SpecialReport> sweep_special(const gpu::SpecialForm& form,
                                         std::span<gpu::Engine* const> engines,
                                         const SpecialOptions& options);

// How many operands a sweep with these options compares.
uint64_t swept_operands(const gpu::SpecialForm& form, const SpecialOptions& options);

// The digest of operands first to end - 1 by the model here, on this thread.
uint64_t special_digest(const gpu::SpecialForm& form, const num::MufuTables& tables, uint64_t first,
                        uint64_t end);

// The kernel whose code has the form's instruction; empty: there is none.
std::string special_entry(const gpu::SpecialForm& form);

// "0x3f800001 (1.00000012)"; of packed values both halves, of quotients' operands both.
std::string special_value(isa::Type type, uint64_t bits);
std::string special_operand(const gpu::SpecialForm& form, const gpu::Operand& x);

}  // namespace lockwarp::validate
