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

constexpr auto rows = std::to_array<TreatmentRow>({
    {Op::activemask, Treatment::taken,
     "which lanes run together is the machine's choice (PTX manual, activemask)"},
    {Op::atom, Treatment::taken,
     "what an atomic returns depends on the order of the threads (PTX manual, atom)"},
    {Op::mbarrier_arrive, Treatment::taken,
     "a state is the machine's own (PTX manual, mbarrier: opaque), and threads come in any order"},
    {Op::mbarrier_drop, Treatment::taken,
     "a state is the machine's own (PTX manual, mbarrier: opaque), and threads come in any order"},
    {Op::mbarrier_wait, Treatment::taken,
     "whether a phase is over depends on when it is asked (PTX manual, mbarrier.test_wait)"},
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

constexpr std::string_view special_register =
    "a special register that depends on time or place (PTX manual, Special Registers)";

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

std::string_view masked_because(Op op) { return why(op, treatment_of_undefined(op)); }

std::vector<std::string_view> taken_because(const isa::Program& program) {
    std::vector<isa::Ref> outside;
    for (const isa::SpecialUse& use : program.specials)
        for (const isa::SpecialRow& r : isa::special_rows())
            if (r.special == use.special && r.outside) outside.push_back(use.ref);
    std::vector<std::string_view> out;
    for (const isa::Operation& o : program.operations) {
        const bool reads = std::ranges::any_of(o.r, [&](isa::Ref ref) {
            return ref != isa::no_ref && std::ranges::find(outside, ref) != outside.end();
        });
        out.push_back(reads ? special_register : why(o.op, Treatment::taken));
    }
    return out;
}

}  // namespace lockwarp::validate
