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

constexpr std::string_view shift_by_cnot =
    "shifts 16 bits by another register than that which cnot.b32 wrote";
constexpr std::string_view truth =
    "converts the truth that set gave as bf16 or f16, where cvt takes it for the other";
constexpr std::string_view same_sign =
    "takes a register that copysign had twice for 0 in the xor or and that follows";
constexpr std::string_view cnot_truth =
    "converts the truth for what cnot gave, where another cnot reads it";
constexpr std::string_view whole_register =
    "looks at 32 bits for cnot.b16 of what set gave, the upper half of which is another value's";
constexpr std::string_view rounds_to_nearest =
    "rounds a cvt to an integer of what neg.ftz.f16 or abs.ftz.f16 gave to the nearest";
constexpr std::string_view by_reciprocal =
    "multiplies by what rcp.approx is of, in place of div.approx by its result";
constexpr std::string_view by_one =
    "takes a quotient by 1 for its dividend, so that a NaN keeps its bits";
constexpr std::string_view shift_by_f32 =
    "shifts 64 bits by a register that an instruction on f32 wrote as if it were a number, not "
    "bits";
constexpr std::string_view set_under_guard =
    "converts what the register held where a guard leaves out set to f16 or bf16";
constexpr std::string_view testp_under_guard = "leaves out the guard of testp";
constexpr std::string_view video_under_guard =
    "leaves out the guard of vadd4 and vsub4 with .u32.u32.u32.add";

constexpr auto rows = std::to_array<CompilerRow>({
    {neg_s16, "neg_mul_hi", Op::mul, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::mad, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::div, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::rem, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::sad, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::shr, Type::s16, Op::neg, Type::s16, false, least_s16},
    {neg_s16, "neg_mul_hi", Op::setp, Type::s16, Op::neg, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::mul, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::mad, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::div, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::rem, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::sad, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::shr, Type::s16, Op::abs, Type::s16, false, least_s16},
    {abs_s16, "abs_rem", Op::setp, Type::s16, Op::abs, Type::s16, false, least_s16},
    {shift_by_cnot, "cnot_shl", Op::shl, Type::b16, Op::cnot, Type::b32},
    {shift_by_cnot, "cnot_shl", Op::shr, Type::b16, Op::cnot, Type::b32},
    {shift_by_cnot, "cnot_shl", Op::shr, Type::u16, Op::cnot, Type::b32},
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
    {.what = truth,
     .test = "set_cvt",
     .result = Op::cvt,
     .source = Op::set,
     .source_type = Type::bf16,
     .result_from = Type::f16},
    {.what = truth,
     .test = "set_cvt",
     .result = Op::cvt,
     .source = Op::set,
     .source_type = Type::f16,
     .result_from = Type::bf16},
    {.what = same_sign,
     .test = "copysign_same",
     .result = Op::xor_,
     .source = Op::copysign,
     .source_type = Type::f32},
    {.what = same_sign,
     .test = "copysign_same",
     .result = Op::xor_,
     .source = Op::copysign,
     .source_type = Type::f64},
    {.what = same_sign,
     .test = "copysign_same",
     .result = Op::and_,
     .source = Op::copysign,
     .source_type = Type::f32},
    {.what = same_sign,
     .test = "copysign_same",
     .result = Op::and_,
     .source = Op::copysign,
     .source_type = Type::f64},
    {.what = cnot_truth,
     .test = "cnot_cvt",
     .result = Op::cvt,
     .source = Op::cnot,
     .source_type = Type::b16,
     .result_from = Type::f16},
    {.what = cnot_truth,
     .test = "cnot_cvt",
     .result = Op::cvt,
     .source = Op::cnot,
     .source_type = Type::b16,
     .result_from = Type::bf16},
    {.what = whole_register,
     .test = "cnot_set",
     .result = Op::cnot,
     .result_type = Type::b16,
     .source = Op::set,
     .source_type = Type::bf16},
    {.what = whole_register,
     .test = "cnot_set",
     .result = Op::cnot,
     .result_type = Type::b16,
     .source = Op::set,
     .source_type = Type::f16},
    {.what = by_reciprocal,
     .test = "div_rcp",
     .result = Op::div_approx,
     .source = Op::rcp_approx,
     .source_type = Type::f32},
    {.what = "takes rcp.approx of what rcp.approx gave for the operand of the first",
     .test = "rcp_rcp",
     .result = Op::rcp_approx,
     .source = Op::rcp_approx,
     .source_type = Type::f32},
    {.what = by_one, .test = "div_one", .result = Op::div_approx, .by_one = true},
    {.what = by_one, .test = "div_one", .result = Op::div_full, .by_one = true},
    {.what = rounds_to_nearest,
     .test = "neg_cvt",
     .result = Op::cvt,
     .source = Op::neg,
     .source_type = Type::f16,
     .result_from = Type::f16,
     .flushed = true},
    {.what = rounds_to_nearest,
     .test = "neg_cvt",
     .result = Op::cvt,
     .source = Op::neg,
     .source_type = Type::f16,
     .result_from = Type::bf16,
     .flushed = true},
    {.what = rounds_to_nearest,
     .test = "neg_cvt",
     .result = Op::cvt,
     .source = Op::abs,
     .source_type = Type::f16,
     .result_from = Type::f16,
     .flushed = true},
    {.what = rounds_to_nearest,
     .test = "neg_cvt",
     .result = Op::cvt,
     .source = Op::abs,
     .source_type = Type::f16,
     .result_from = Type::bf16,
     .flushed = true},
    {.what = "leaves out .ftz of setp.and.f32 in the branch by its predicate",
     .test = "setp_branch",
     .source = Op::setp,
     .source_type = Type::f32,
     .flushed = true,
     .branch_by = isa::Combine::and_},
    {.what = shift_by_f32,
     .test = "shift_f32",
     .result = Op::shl,
     .result_type = Type::b64,
     .source_type = Type::f32,
     .at_every_level = true},
    {.what = shift_by_f32,
     .test = "shift_f32",
     .result = Op::shr,
     .result_type = Type::b64,
     .source_type = Type::f32,
     .at_every_level = true},
    {.what = shift_by_f32,
     .test = "shift_f32",
     .result = Op::shr,
     .result_type = Type::u64,
     .source_type = Type::f32,
     .at_every_level = true},
    {.what = shift_by_f32,
     .test = "shift_f32",
     .result = Op::shr,
     .result_type = Type::s64,
     .source_type = Type::f32,
     .at_every_level = true},
    {.what = set_under_guard,
     .test = "guarded_set",
     .source = Op::set,
     .source_type = Type::bf16,
     .guarded = true,
     .at_every_level = true},
    {.what = set_under_guard,
     .test = "guarded_set_f16",
     .source = Op::set,
     .source_type = Type::f16,
     .guarded = true,
     .at_every_level = true},
    {.what = video_under_guard,
     .test = "guarded_vadd4",
     .source = Op::vadd4,
     .source_type = Type::u32,
     .guarded = true,
     .at_every_level = true},
    {.what = video_under_guard,
     .test = "guarded_vadd4",
     .source = Op::vsub4,
     .source_type = Type::u32,
     .guarded = true,
     .at_every_level = true},
    {.what = testp_under_guard,
     .test = "guarded_testp",
     .source = Op::testp,
     .source_type = Type::f32,
     .guarded = true,
     .at_every_level = true},
    {.what = testp_under_guard,
     .test = "guarded_testp",
     .source = Op::testp,
     .source_type = Type::f64,
     .guarded = true,
     .at_every_level = true},
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

bool is_result(const CompilerRow& row, const Operation& o) {
    const auto is = [](Type asked, Type type) { return asked == Type::none || asked == type; };
    return !row.result || (o.op == *row.result && is(row.result_type, o.mod.type[0]) &&
                           is(row.result_from, o.mod.type[1]));
}

bool is_written_so(const CompilerRow& row, const isa::Program& p, uint32_t reg) {
    bool found = false;
    each_writer(p, reg, 0, [&](const Operation& w) {
        found |= (!row.source || w.op == *row.source) && w.mod.type[0] == row.source_type &&
                 (!row.saturated || w.mod.sat) && (!row.guarded || w.guarded) &&
                 (!row.flushed || w.mod.ftz) && (!row.branches() || w.mod.combine == row.branch_by);
    });
    return found;
}

bool divides_by_one(const isa::Program& p, const Operation& o) {
    return std::ranges::any_of(p.constants, [&](const isa::Constant& c) {
        return c.ref == o.r[2] && c.value == 0x3f800000;
    });
}

bool branches_by(const CompilerRow& row, const Report& report) {
    const Difference& d = *report.first;
    if (d.kind != DifferenceKind::control_flow || d.branch == no_branch) return false;
    const isa::Program& p = report.program;
    const isa::Ref guard = p.operations[d.branch].guard;
    for (uint32_t reg = 0; reg < p.registers.size(); ++reg)
        if (p.registers[reg].type == Type::pred && p.registers[reg].ref == guard)
            return is_written_so(row, p, reg);
    return false;
}

bool matches(const CompilerRow& row, const Report& report) {
    if (row.branches()) return branches_by(row, report);
    const Difference& d = *report.first;
    if (d.kind != DifferenceKind::value) return false;
    const isa::Program& p = report.program;
    const Operation& o = p.operations[d.operation];
    if (!is_result(row, o)) return false;
    if (row.by_one) return divides_by_one(p, o);
    const std::span<const uint32_t> reads = uses(p, o, false);
    for (size_t i = 0; i < reads.size(); ++i) {
        const bool has_bits = row.bits == CompilerRow::any_bits ||
                              (i < d.inputs.size() && d.inputs[i].lanes[d.lane] == row.bits);
        if (has_bits && is_written_so(row, p, reads[i])) return true;
    }
    return false;
}

bool copies_with_policy(const isa::Program& p) {
    return std::ranges::any_of(
        p.operations, [](const Operation& o) { return o.op == Op::cp_async && o.mod.cache_hint; });
}

bool shifts_by_cnot(const isa::Program& p) {
    return std::ranges::any_of(rows, [&](const CompilerRow& row) {
        return row.what == shift_by_cnot &&
               std::ranges::any_of(p.operations, [&](const Operation& o) {
                   return is_result(row, o) &&
                          std::ranges::any_of(uses(p, o, false), [&](uint32_t reg) {
                              return is_written_so(row, p, reg);
                          });
               });
    });
}

// A function that writes its result, which lies in its frame, in parts, with a store to elsewhere
// under a guard between them.
bool splits_result(const isa::Program& p) {
    return std::ranges::any_of(p.functions, [&](const isa::Function& f) {
        unsigned stores = 0;  // of them: a part, one under a guard, a part
        for (uint32_t i = f.first; i < f.end && !f.results.empty(); ++i) {
            const Operation& o = p.operations[i];
            if (o.op != Op::st) continue;
            const bool in_frame = o.mod.space == ptx::Space::local;
            const bool part = in_frame && isa::bits(o.mod.type[0]) < 32;
            if (stores == 1 ? !in_frame && o.guarded : part) ++stores;
        }
        return stores >= 3;
    });
}

using Shows = CompilerProgramRow::Shows;

constexpr auto program_rows = std::to_array<CompilerProgramRow>({
    {"encodes other registers than it computed for cp.async with a cache policy, which is an "
     "illegal instruction",
     "cache_hint_base", Shows::fault, copies_with_policy},
    {shift_by_cnot, "cnot_shl", Shows::traced, shifts_by_cnot},
    {"loses the first part of a result that is stored in parts, with a store under a guard between "
     "them",
     "split_result", Shows::traced, splits_result, true},
});

// nullptr: none.
const CompilerProgramRow* known_of_program(const Report& r) {
    const bool illegal = r.first && r.first->kind == DifferenceKind::fault &&
                         r.fault.find("illegal instruction") != std::string::npos;
    const auto* const found = std::ranges::find_if(program_rows, [&](const auto& row) {
        const bool shown = row.shows == Shows::fault ? illegal : r.traced_differs;
        return shown && row.has(r.program);
    });
    return found == program_rows.end() ? nullptr : found;
}

struct Named {
    std::string_view what, test;
    bool at_every_level;
};

std::optional<Named> named(const Report& r) {
    if (const CompilerRow* row = known_of_compiler(r))
        return Named{row->what, row->test, row->at_every_level};
    if (const CompilerProgramRow* row = known_of_program(r))
        return Named{row->what, row->test, row->at_every_level};
    return {};
}

std::string sentence(const Named& n) {
    return "it " + std::string(n.what) + " (tests/compiler/" + std::string(n.test) + ".ptx)";
}

// What is so at every level is not to be compared any further.
void refuse_known(Report& r) {
    const std::optional<Named> known = named(r);
    if (!known || !known->at_every_level) return;
    r.problem = "NVIDIA's compiler changes the program at every level: " + sentence(*known);
}

}  // namespace

std::span<const CompilerRow> compiler_rows() { return rows; }

std::span<const CompilerProgramRow> compiler_program_rows() { return program_rows; }

const CompilerRow* known_of_compiler(const Report& report) {
    if (!report.first) return nullptr;
    const auto* const found =
        std::ranges::find_if(rows, [&](const CompilerRow& row) { return matches(row, report); });
    return found == rows.end() ? nullptr : found;
}

Compared compare(const launch::Case& c, isa::Arch arch, gpu::Engine& engine, const Options& options,
                 Answer* keep) {
    Compared out{run_lockstep(c, arch, engine, options, keep), {}};
    if (!out.report.first && !out.report.traced_differs) return out;
    refuse_known(out.report);
    if (!out.report.problem.empty() && !out.report.traced_differs) return out;
    if (options.optimization == 0) return out;
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
    if (const std::optional<Named> known = named(differed)) return sentence(*known);
    return differed.traced_differs ? "the kernel gives other results where it is traced"
                                   : "none of those that are known";
}

}  // namespace lockwarp::validate
