// SPDX-License-Identifier: Apache-2.0
#include "validate/compiler.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::validate {

namespace {

using isa::Op;
using isa::Operation;
using isa::Type;

constexpr uint64_t least_s16 = 0x8000;  // -32768
constexpr std::string_view neg_s16 = "takes neg.s16 of -32768 for +32768 in what follows";
constexpr std::string_view abs_s16 = "takes abs.s16 of -32768 for +32768 in what follows";

constexpr auto rows = std::to_array<CompilerRow>({
    {neg_s16, "neg_mul_hi", Op::mul, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::mad, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::div, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::rem, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::sad, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::shr, Type::s16, Op::neg, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::mul, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::mad, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::div, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::rem, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::sad, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::shr, Type::s16, Op::abs, Type::s16, false, least_s16},
    {"gives 0 for shl.b16 by 0 where cnot gave the 0", "cnot_shl", Op::shl, Type::b16, Op::cnot,
     Type::b32, false, 0},
    {"negates an integer for neg.f16 of what cnot gave", "cnot_neg", Op::neg, Type::f16, Op::cnot,
     Type::b16},
    {"leaves out abs.f16x2 after a saturated f32", "sat_abs", Op::abs, Type::f16x2, Op::add,
     Type::f32, true},
    {"leaves out abs.f16x2 after a saturated f32", "sat_abs", Op::abs, Type::f16x2, Op::sub,
     Type::f32, true},
    {"leaves out abs.f16x2 after a saturated f32", "sat_abs", Op::abs, Type::f16x2, Op::mul,
     Type::f32, true},
    {"leaves out abs.f16x2 after a saturated f32", "sat_abs", Op::abs, Type::f16x2, Op::fma,
     Type::f32, true},
});

std::span<const uint32_t> uses(const isa::Program& p, const Operation& o, bool written) {
    return std::span(p.uses).subspan(o.first_use + (written ? 0 : o.written),
                                     written ? o.written : o.read);
}

// Calls f(operation) for each that writes the register, through moves too.
template <class F>
void each_writer(const isa::Program& p, uint32_t reg, unsigned depth, F&& f) {
    constexpr unsigned max_depth = 4;
    for (const Operation& o : p.operations) {
        if (std::ranges::find(uses(p, o, true), reg) == uses(p, o, true).end()) continue;
        f(o);
        if (o.op == Op::mov && depth < max_depth)
            for (const uint32_t source : uses(p, o, false)) each_writer(p, source, depth + 1, f);
    }
}

bool matches(const CompilerRow& row, const Report& report) {
    const Difference& d = *report.first;
    const isa::Program& p = report.program;
    const Operation& o = p.operations[d.operation];
    if (o.op != row.result || o.mod.type[0] != row.result_type) return false;
    const std::span<const uint32_t> reads = uses(p, o, false);
    for (size_t i = 0; i < reads.size(); ++i) {
        const bool has_bits = row.bits == CompilerRow::any_bits ||
                              (i < d.inputs.size() && d.inputs[i].lanes[d.lane] == row.bits);
        bool found = false;
        each_writer(p, reads[i], 0, [&](const Operation& w) {
            found |= w.op == row.source && w.mod.type[0] == row.source_type &&
                     (!row.saturated || w.mod.sat);
        });
        if (has_bits && found) return true;
    }
    return false;
}

}  // namespace

std::span<const CompilerRow> compiler_rows() { return rows; }

const CompilerRow* known_of_compiler(const Report& report) {
    if (!report.first || report.first->kind != DifferenceKind::value) return nullptr;
    const auto* const found =
        std::ranges::find_if(rows, [&](const CompilerRow& row) { return matches(row, report); });
    return found == rows.end() ? nullptr : found;
}

Compared compare(const launch::Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                 Answer* keep) {
    Compared out{run_lockstep(c, arch, engine, options, keep), {}};
    if ((!out.report.first && !out.report.traced_differs) || options.optimization == 0) return out;
    Options plain = options;
    plain.optimization = 0;
    plain.measure = false;
    Report again = run_lockstep(c, arch, engine, plain);
    if (!again.problem.empty() || again.first || again.same_fault) return out;
    out.differed = std::move(out.report);
    out.report = std::move(again);
    return out;
}

std::string compilers_doing(const Report& differed) {
    if (differed.traced_differs) return "the kernel gives other results where it is traced";
    const CompilerRow* const row = known_of_compiler(differed);
    if (row == nullptr) return "none of those that are known";
    return "it " + std::string(row->what) + " (tests/compiler/" + std::string(row->test) + ".ptx)";
}

}  // namespace lockwarp::validate
