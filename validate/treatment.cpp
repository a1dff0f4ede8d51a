#include "validate/treatment.hpp"

#include <algorithm>
#include <array>

namespace lockwarp::validate {

namespace {

using isa::Op;

constexpr auto rows = std::to_array<TreatmentRow>({
    {Op::activemask, Treatment::taken,
     "which lanes run together is the machine's choice (PTX manual, activemask)"},
    {Op::shfl, Treatment::masked,
     "reads a lane that does not execute it (PTX manual, shfl.sync: undefined)"},
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

std::string_view masked_because(Op op) { return why(op, Treatment::masked); }

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
