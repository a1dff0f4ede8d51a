// SPDX-License-Identifier: Apache-2.0
#include "validate/treatment.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::validate {

namespace {

using isa::Op;

// What NVIDIA's compiler does with NaN (H200, driver 580: the instruction alone gives the
// emulator's bits, and within some programs others).
constexpr std::string_view two_nans =
    "of several NaN operands of f64 the compiler chooses whose payload the result has";
constexpr std::string_view same_register =
    "of NaN: of f64 operands the compiler chooses one; of one register twice it makes a move";
constexpr std::string_view sign_of_nan =
    "of NaN: under a guard the compiler may keep its payload, and otherwise does not";

constexpr std::string_view to_itself =
    "of NaN: a type to itself is a move, with the compiler's optimization off a conversion";

constexpr auto undefined_rows = std::to_array<TreatmentRow>({
    {Op::shfl, Treatment::masked,
     "reads a lane that does not execute it (PTX manual, shfl.sync: undefined)"},
    {Op::ld, Treatment::masked, "local memory that the thread never wrote"},
    {Op::fns, Treatment::masked, "begins above bit 31 (PTX manual, fns: undefined)"},
    {Op::add, Treatment::any_nan, two_nans},
    {Op::sub, Treatment::any_nan, two_nans},
    {Op::mul, Treatment::any_nan, two_nans},
    {Op::fma, Treatment::any_nan, two_nans},
    {Op::div, Treatment::any_nan, two_nans},
    {Op::min, Treatment::any_nan, same_register},
    {Op::max, Treatment::any_nan, same_register},
    {Op::abs, Treatment::any_nan, sign_of_nan},
    {Op::cvt, Treatment::any_nan, to_itself},
    {Op::neg, Treatment::any_nan, sign_of_nan},
});

// Of opcodes whose results vary the rows say why.
constexpr auto varying = static_cast<size_t>(
    std::ranges::count_if(isa::op_rows, [](const isa::OpRow& r) { return !r.varies.empty(); }));
constexpr auto rows = [] {
    std::array<TreatmentRow, varying + undefined_rows.size()> out{};
    size_t n = 0;
    for (const isa::OpRow& r : isa::op_rows)
        if (!r.varies.empty()) out[n++] = {r.op, Treatment::taken, r.varies};
    std::ranges::copy(undefined_rows, out.begin() + varying);
    return out;
}();

constexpr std::string_view special_register =
    "a special register that depends on time or place (PTX manual, Special Registers)";

// The place of a cooperative launch's workspace: left out as addresses are (places.hpp).
bool is_place(isa::Special s) {
    return s == isa::Special::workspace_low || s == isa::Special::workspace_high;
}

std::string_view why(Op op, Treatment treatment) {
    for (const TreatmentRow& r : rows)
        if (r.op == op && r.treatment == treatment) return r.why;
    return {};
}

}  // namespace

std::span<const TreatmentRow> treatment_rows() { return rows; }

Treatment treatment_of_undefined(Op op) {
    return why(op, Treatment::any_nan).empty() ? Treatment::masked : Treatment::any_nan;
}

bool may_be_undefined(const isa::Operation& o) {
    const std::string_view row = why(o.op, treatment_of_undefined(o.op));
    return !row.empty() && (row != two_nans || o.mod.type[0] == isa::Type::f64);
}

std::string_view masked_because(Op op) { return why(op, treatment_of_undefined(op)); }

std::vector<std::string_view> taken_because(const isa::Program& program) {
    std::vector<isa::Ref> outside;
    for (const isa::SpecialUse& use : program.specials)
        for (const isa::SpecialRow& r : isa::special_rows())
            if (r.special == use.special && r.outside && !is_place(r.special))
                outside.push_back(use.ref);
    std::vector<std::string_view> out;
    for (const isa::Operation& o : program.operations) {
        const auto is_outside = [&](isa::Ref ref) {
            return std::ranges::find(outside, ref) != outside.end();
        };
        // Also between braces.
        const bool reads = std::ranges::any_of(o.r, is_outside) ||
                           std::ranges::any_of(o.vector, [&](const isa::VectorRef& v) {
                               const auto* const first = program.pool.data() + v.first;
                               return std::any_of(first, first + v.count, is_outside);
                           });
        out.push_back(reads ? special_register : isa::row(o.op).varies);
    }
    return out;
}

}  // namespace lockwarp::validate
