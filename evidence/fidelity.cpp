// SPDX-License-Identifier: Apache-2.0
#include "evidence/fidelity.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "emu/exec/families.hpp"
#include "emu/isa/evidence.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/resolver.hpp"
#include "emu/num/dot.hpp"
#include "gpu/trace.hpp"
#include "programs/program_writer.hpp"
#include "programs/suite.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::evidence {

namespace {

using isa::Arch;
using isa::Evidence;
using isa::Op;

constexpr std::array<FidelityWord, static_cast<size_t>(Fidelity::count_)> words{{
    {Fidelity::exact, "exact on hardware",
     "every value that this architecture's GPU gave, as recorded, is the emulator's, bit for bit"},
    {Fidelity::measured, "measured",
     "its arithmetic was measured on this architecture's GPU; no recording is kept of it"},
    {Fidelity::replayed, "replayed",
     "equal to published results of this architecture's hardware, which are replayed"},
    {Fidelity::literature, "literature",
     "as a manual or a publication describes it; not compared with this architecture's GPU"},
    {Fidelity::derived, "derived",
     "from what is known of related instructions; neither measured nor published"},
    {Fidelity::inexact, "inexact",
     "results are known to differ from the hardware's, or cannot be known"},
    {Fidelity::not_supported, "not supported", "the architecture has no such instruction"},
    {Fidelity::not_executed, "not executed", "PTX has it, and it is not executed yet"},
}};

static_assert(
    [] {
        for (size_t i = 0; i < words.size(); ++i)
            if (static_cast<size_t>(words[i].fidelity) != i) return false;
        return true;
    }(),
    "words stand in the order of Fidelity");

// What is known of one instruction, from all machines of an architecture together.
struct Known {
    uint64_t values = 0;
    uint64_t different = 0;
    std::string device;
    bool recorded = false;
};

// By instruction, of one architecture.
using Recordings = std::map<std::string_view, Known>;

Recordings recordings_of(isa::Arch arch, std::span<const RecordedRow> rows) {
    Recordings out;
    for (const RecordedRow& r : rows) {
        if (r.arch != isa::row(arch).name) continue;
        Known& k = out[r.instruction];
        k.values += r.values - std::min(r.values, r.different);
        k.different += r.different;
        k.recorded = true;
        const std::string device = std::string(r.device) + ", driver " + std::string(r.driver);
        if (k.device.empty())
            k.device = device;
        else if (k.device != device && !k.device.ends_with(" and others"))
            k.device += " and others";
    }
    return out;
}

Known known(const Recordings& recordings, std::string_view instruction) {
    const auto found = recordings.find(instruction);
    return found == recordings.end() ? Known{} : found->second;
}

std::string differs(const Known& k) {
    return std::to_string(k.different) + " of " + std::to_string(k.values + k.different) +
           " values differ from " + k.device;
}

// What a result is worth that rests on evidence alone.
struct Worth {
    Evidence evidence;
    Fidelity fidelity;
};
constexpr std::array<Worth, isa::evidence_words.size()> worths{{
    {Evidence::measured, Fidelity::measured},
    {Evidence::replayed, Fidelity::replayed},
    {Evidence::assembler, Fidelity::literature},
    {Evidence::literature, Fidelity::literature},
    {Evidence::derived, Fidelity::derived},
    {Evidence::guessed, Fidelity::inexact},
}};
static_assert(
    [] {
        for (size_t i = 0; i < worths.size(); ++i)
            if (static_cast<size_t>(worths[i].evidence) != i) return false;
        return true;
    }(),
    "worths has a row for each Evidence, in its order");

Fidelity fidelity_of(Evidence e) { return worths[static_cast<size_t>(e)].fidelity; }

// What recordings say is worth more than what a row rests on.
void overlay(FidelityRow& out, const Known& k) {
    out.values = k.values;
    if (k.different != 0) {
        out.fidelity = Fidelity::inexact;
        out.source = differs(k);
    } else if (k.values != 0) {
        out.fidelity = Fidelity::exact;
        out.source = k.device;
        out.recorded = 1;
    }
}

FidelityRow mma_row(const isa::MmaVariant& v, isa::Arch arch, const Recordings& recordings) {
    FidelityRow out;
    out.opcode = "mma";
    out.instruction = v.key;
    const bool has = isa::has(arch, v.target);
    const num::DotRow* row =
        has ? num::find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind) : nullptr;
    if (row == nullptr) {
        out.fidelity = Fidelity::not_supported;
        out.source = "requires .target sm_" + std::to_string(v.target) + " or higher";
        if (v.suffix() != isa::Suffix::none)
            out.source = "requires .target sm_" + std::to_string(v.target) +
                         std::string(isa::text_of(v.suffix()));
        if (has) out.source = "no row of the arithmetic";
        return out;
    }
    const num::Known arithmetic = num::known(*row, v);
    out.source = arithmetic.source;
    out.fidelity = fidelity_of(arithmetic.evidence);
    overlay(out, known(recordings, v.key));
    return out;
}

FidelityRow wmma_row(const isa::WmmaVariant& v, isa::Arch arch, const Recordings& recordings) {
    FidelityRow out;
    out.opcode = "wmma";
    out.instruction = v.key;
    const bool has = isa::has(arch, v.target);
    const isa::WmmaMachine& machine = isa::wmma_machine(arch);
    const num::DotRow* row =
        has ? num::find_dot_row(arch, v.m, v.n, v.k, v.ab, isa::sum_type(v)) : nullptr;
    if (row == nullptr) {
        out.fidelity = Fidelity::not_supported;
        out.source = has ? "no row of the arithmetic"
                         : "requires .target sm_" + std::to_string(v.target) + " or higher";
        return out;
    }
    out.fidelity =
        std::max(fidelity_of(num::known(*row, v.k).evidence), fidelity_of(machine.evidence));
    out.source = row->source;
    if (machine.evidence != Evidence::measured)
        out.source += "; fragments: " + std::string(machine.source);
    overlay(out, known(recordings, v.key));
    return out;
}

// Of all shapes with these types.
FidelityRow warpgroup_row(const isa::WarpgroupTypes& t, isa::Arch arch,
                          const Recordings& recordings) {
    FidelityRow out;
    out.opcode = "wgmma";
    out.spellings = 0;
    const num::DotRow* const row = num::find_warpgroup_row(arch, t.a, t.d);
    if (row != nullptr) {
        out.fidelity = fidelity_of(num::known(*row, t.k).evidence);
        out.source = row->source;
    } else {
        out.fidelity = Fidelity::not_supported;
        out.source = "requires .target sm_90a";
    }
    Known all;
    for (const isa::WarpgroupVariant& v : isa::warpgroup_variants()) {
        if (v.types != &t) continue;
        const std::string_view key = v.key();
        if (out.spellings++ == 0) {
            const size_t at = key.find('8');
            out.instruction =
                std::string(key.substr(0, at)) + "N" + std::string(key.substr(at + 1));
        }
        const Known k = known(recordings, key);
        if (row == nullptr || !k.recorded) continue;
        all.device = k.device;
        all.values += k.values;
        all.different += k.different;
        out.recorded += k.different == 0;
        if (k.different != 0) out.source = std::string(key) + ": " + differs(k);
    }
    out.values = all.values;
    if (all.different != 0) {
        out.fidelity = Fidelity::inexact;
    } else if (out.recorded == out.spellings) {
        out.fidelity = Fidelity::exact;
        out.source = all.device;
    }
    return out;
}

bool on_floats(const isa::Form& f) {
    for (const isa::ModifierGroup& group : f.groups) {
        if (group.set == "any" || group.set == "memory") continue;  // their bits are moved
        for (const std::string_view modifier : group.alternatives)
            if (isa::is_float(isa::type_named(modifier))) return true;
    }
    return false;
}

std::string described(const isa::Form& f) {
    // NVIDIA's assembler makes these of others, the same on every architecture.
    if (isa::row(f.op).elements != 0) return "ptxas 13.0's code";
    return on_floats(f) && isa::on_values(f.op) ? "PTX manual; NaNs as an H200's" : "PTX manual";
}

// The approximate functions: an H200's tables, whatever the architecture (emu/num/mufu.hpp).
// Lookups in textures likewise (emu/exec/sampling.hpp).
struct TabulatedRow {
    Op op;
    std::string_view syntax;  // of one form of it; empty: of all others
    Evidence evidence;
    std::string_view source;
};

constexpr std::string_view every_operand = "H200, driver 580: all operands";
constexpr std::string_view with_f64 = "H200, driver 580: all f32, f64 high words";
constexpr std::string_view pairs = "H200, driver 580: 2^36 pairs";

constexpr auto tabulated_rows = std::to_array<TabulatedRow>({
    {Op::ex2, "", Evidence::measured, every_operand},
    {Op::lg2, "", Evidence::measured, every_operand},
    // The unit's seed and a sequence of ptxas 13.0, which was not measured as a whole.
    {Op::rsqrt, ".approx.f64", Evidence::literature, "ptxas 13.0's code on an H200's tables"},
    {Op::rsqrt, "", Evidence::measured, with_f64},
    {Op::sin, "", Evidence::measured, every_operand},
    {Op::cos, "", Evidence::measured, every_operand},
    {Op::tanh, "", Evidence::measured, every_operand},
    {Op::rcp_approx, "", Evidence::measured, with_f64},
    {Op::sqrt_approx, "", Evidence::measured, every_operand},
    {Op::div_approx, "", Evidence::measured, pairs},
    {Op::div_full, "", Evidence::measured, pairs},
    {Op::tex, "", Evidence::measured, "H200, driver 580: 239 questions (scripts/ask_textures.cu)"},
});

// What these tables are worth on an architecture.
struct TablesRow {
    Arch arch;
    Evidence evidence;
    std::string_view source;  // empty: that of the function
};

constexpr std::string_view elsewhere = "as on an H200";

constexpr auto tables_rows = std::to_array<TablesRow>({
    {Arch::sm_70, Evidence::guessed, elsewhere},
    {Arch::sm_75, Evidence::guessed, elsewhere},
    {Arch::sm_80, Evidence::guessed, elsewhere},
    {Arch::sm_86, Evidence::guessed, elsewhere},
    {Arch::sm_87, Evidence::guessed, elsewhere},
    {Arch::sm_89, Evidence::guessed, elsewhere},
    {Arch::sm_90, Evidence::measured, ""},
    {Arch::sm_100, Evidence::guessed, elsewhere},
    {Arch::sm_103, Evidence::guessed, elsewhere},
    {Arch::sm_120, Evidence::guessed, elsewhere},
    {Arch::sm_121, Evidence::guessed, elsewhere},
});
static_assert(isa::one_row_each(tables_rows),
              "each Arch has one row in tables_rows: what an H200's tables of the approximate "
              "functions are worth there");

// What is known of a row of the forms without recordings.
void without_recordings(const isa::Form& f, isa::Arch arch, FidelityRow& out) {
    out.source = described(f);
    if (f.op == Op::wmma_load || f.op == Op::wmma_store) {
        out.fidelity = fidelity_of(isa::wmma_machine(arch).evidence);
        out.source = isa::wmma_machine(arch).source;
        return;
    }
    const auto* const found = std::ranges::find_if(tabulated_rows, [&](const TabulatedRow& r) {
        return r.op == f.op && (r.syntax.empty() || r.syntax == f.syntax);
    });
    if (found == tabulated_rows.end()) return;
    const TablesRow& there = *std::ranges::find(tables_rows, arch, &TablesRow::arch);
    out.fidelity = fidelity_of(std::max(found->evidence, there.evidence));
    out.source = there.source.empty() ? found->source : there.source;
}

// Why no recording can say that a row is exact. Empty: one can.
std::string_view unknowable(Op op) {
    for (const validate::TreatmentRow& r : validate::treatment_rows())
        if (r.op == op && r.treatment == validate::Treatment::taken) return r.why;
    return {};
}

FidelityRow scalar_row(const isa::Form& f, isa::Arch arch, const Recordings& recordings) {
    FidelityRow out;
    out.opcode = f.opcode;
    out.instruction = std::string(f.opcode) + std::string(f.syntax);
    if (!exec::is_executed(f.op)) {
        out.fidelity = Fidelity::not_executed;
        return out;
    }
    const isa::Suffix suffix = isa::row(f.op).suffix;
    if (!isa::has(isa::row(arch), f.target, suffix)) {
        out.fidelity = Fidelity::not_supported;
        out.source = "requires .target sm_" + std::to_string(f.target) +
                     (suffix == isa::Suffix::none ? std::string(" or higher")
                                                  : std::string(isa::text_of(suffix)));
        return out;
    }
    out.spellings = 0;
    without_recordings(f, arch, out);
    Known all;
    std::vector<std::string> spellings = isa::expansions(f);
    std::ranges::sort(spellings);
    spellings.erase(std::unique(spellings.begin(), spellings.end()), spellings.end());
    for (const std::string& modifiers : spellings) {
        const std::string text = std::string(f.opcode) + modifiers;
        if (const programs::Unsuited* u = programs::unsuited_because(text);
            u != nullptr && u->refused)
            continue;
        ++out.spellings;
        const Known k = known(recordings, text);
        if (k.recorded) all.device = k.device;
        all.values += k.values;
        if (k.different != 0 && all.different == 0) out.source = text + ": " + differs(k);
        all.different += k.different;
        out.recorded += k.recorded && k.different == 0;
    }
    out.values = all.values;
    if (const std::string_view why = unknowable(f.op); !why.empty()) {
        out.fidelity = Fidelity::inexact;
        out.source = why;
    } else if (all.different != 0) {
        out.fidelity = Fidelity::inexact;
    } else if (out.recorded == out.spellings && out.recorded != 0) {
        out.fidelity = Fidelity::exact;
        out.source = all.device;
    }
    return out;
}

}  // namespace

std::span<const FidelityWord> fidelity_words() { return words; }

std::string_view word_of(Fidelity f) { return words[static_cast<size_t>(f)].word; }

std::string recorded_name(const std::string& spelling) {
    if (spelling.starts_with("wmma.mma.")) {
        const isa::Modifiers m = programs::decoded(spelling);
        const bool four = m.types == 4;
        const isa::WmmaVariant* v =
            isa::find_wmma(m.m, m.n, m.k, m.type[0], four ? m.type[1] : isa::Type::f16,
                           four ? m.type[3] : m.type[1], m.order[0], m.order[1], m.combine);
        return v == nullptr ? spelling : std::string(v->key);
    }
    if (spelling.starts_with("wgmma.mma_async.")) {
        const isa::Modifiers m = programs::decoded(spelling);
        const isa::WarpgroupVariant* v =
            isa::find_warpgroup(m.type[0], m.type[1], m.type[2], m.n, m.k);
        return v == nullptr ? spelling : std::string(v->key());
    }
    if (!spelling.starts_with("mma.")) return spelling;
    const isa::MmaVariant* v = isa::find_mma(isa::query_of(programs::decoded(spelling)));
    return v == nullptr ? spelling : std::string(v->key);
}

std::vector<FidelityRow> fidelity(isa::Arch arch, std::span<const RecordedRow> recorded) {
    const Recordings recordings = recordings_of(arch, recorded);
    std::vector<FidelityRow> out;
    for (const isa::MmaVariant& v : isa::mma_variants())
        out.push_back(mma_row(v, arch, recordings));
    for (const isa::WmmaVariant& v : isa::wmma_variants())
        out.push_back(wmma_row(v, arch, recordings));
    for (const isa::WarpgroupTypes& t : isa::warpgroup_types)
        out.push_back(warpgroup_row(t, arch, recordings));
    for (const isa::Form& f : isa::forms())
        if (isa::row(f.op).matrix != isa::Matrix::product &&
            isa::row(f.op).matrix != isa::Matrix::warpgroup)
            out.push_back(scalar_row(f, arch, recordings));
    for (const std::string_view opcode : isa::opcodes_not_executed()) {
        FidelityRow row;
        row.opcode = row.instruction = opcode;
        row.fidelity = Fidelity::not_executed;
        out.push_back(row);
    }
    return out;
}

namespace {

// What a program has of one instruction.
struct Use {
    size_t operation;  // its first
    uint32_t count = 0;
    std::string recorded;  // its name in recordings
};

// By the name in notes.
std::map<std::string, Use> uses_of(const isa::Program& program,
                                   std::span<const ptx::Instruction* const> instructions) {
    std::map<std::string, Use> out;
    for (size_t i = 0; i < instructions.size(); ++i) {
        if (instructions[i] == nullptr) continue;
        const isa::Operation& o = program.operations[i];
        const std::string name = o.mma != nullptr    ? std::string(o.mma->key)
                                 : o.wmma != nullptr ? std::string(o.wmma->key)
                                 : o.warpgroup != nullptr && !o.mod.sparse
                                     ? std::string(o.warpgroup->key())
                                     : isa::spelled(*instructions[i]);
        Use& use = out.try_emplace(name, Use{i, 0, {}}).first->second;
        if (use.count++ != 0) continue;
        use.recorded = name;
        if (o.mma != nullptr || o.wmma != nullptr || o.warpgroup != nullptr) continue;
        ptx::Instruction ordered = *instructions[i];
        const isa::FoundForm found = isa::find_form(ordered);
        if (found.form != nullptr) ordered.modifiers = found.modifiers;
        use.recorded = isa::spelled(ordered);
    }
    return out;
}

FidelityRow row_of(const isa::Operation& o, const ptx::Instruction& instruction, isa::Arch arch,
                   const std::string& recorded, const Recordings& recordings) {
    if (o.mma != nullptr) return mma_row(*o.mma, arch, recordings);
    if (o.wmma != nullptr) return wmma_row(*o.wmma, arch, recordings);
    if (o.warpgroup != nullptr && !o.mod.sparse)
        return warpgroup_row(*o.warpgroup->types, arch, recordings);
    FidelityRow out;
    if (o.warpgroup != nullptr) {
        out.fidelity = fidelity_of(Evidence::derived);
        out.source = "as the dense product of the elements that A holds";
        return out;
    }
    const isa::FoundForm found = isa::find_form(instruction);
    if (found.form != nullptr) without_recordings(*found.form, arch, out);
    const Known k = known(recordings, recorded);
    if (const std::string_view why = unknowable(o.op); !why.empty()) {
        out.fidelity = Fidelity::inexact;
        out.source = why;
    } else if (k.different != 0) {
        out.fidelity = Fidelity::inexact;
        out.source = differs(k);
    } else if (k.recorded) {
        out.fidelity = Fidelity::exact;
    }
    return out;
}

std::vector<FidelityNote> notes_of(const isa::Program& program,
                                   std::span<const ptx::Instruction* const> instructions,
                                   const std::map<std::string, Use>& uses,
                                   std::span<const RecordedRow> recorded) {
    const Recordings recordings = recordings_of(program.arch, recorded);
    std::vector<FidelityNote> out;
    for (const auto& [name, use] : uses) {
        const isa::Operation& o = program.operations[use.operation];
        const FidelityRow row =
            row_of(o, *instructions[use.operation], program.arch, use.recorded, recordings);
        if (row.fidelity > Fidelity::measured)
            out.push_back({name, use.count,
                           o.mma != nullptr || o.wmma != nullptr || o.wmma_fragment != nullptr ||
                               o.warpgroup != nullptr,
                           row.fidelity, row.source});
    }
    const auto rank = [](const FidelityNote& n) {
        return std::tuple(n.fidelity < Fidelity::inexact, !n.matrix, -static_cast<int>(n.fidelity));
    };
    std::ranges::stable_sort(out, {}, rank);
    return out;
}

}  // namespace

std::vector<FidelityNote> less_than_exact(const isa::Program& program, const ptx::Module& module,
                                          std::span<const RecordedRow> recorded) {
    const std::vector<const ptx::Instruction*> instructions = gpu::instructions_of(module, program);
    return notes_of(program, instructions, uses_of(program, instructions), recorded);
}

std::vector<FidelityNote> less_than_exact(const isa::Program& program, const ptx::Module& module) {
    const std::vector<const ptx::Instruction*> instructions = gpu::instructions_of(module, program);
    const std::map<std::string, Use> uses = uses_of(program, instructions);
    std::vector<RecordedRow> recorded;
    for (const auto& [name, use] : uses)
        for (const RecordedRow& r : recorded_rows_of(use.recorded)) recorded.push_back(r);
    return notes_of(program, instructions, uses, recorded);
}

}  // namespace lockwarp::evidence
