// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <functional>
#include <optional>
#include <span>

#include "emu/isa/elements.hpp"
#include "launch/source_text.hpp"
#include "validate/lockstep.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::validate {

namespace {

using isa::Type;

// "0x40a00003 (5.00000143)": bits, and the value where the type has one to show.
std::string shown(Type type, uint64_t bits) {
    const unsigned digits = type == Type::pred ? 1 : isa::bits(type) / 4;
    std::string out = fmt::format("0x{:0{}x}", bits, digits);
    if (type == Type::f32)
        out += fmt::format(" ({:.9g})", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (type == Type::f64) out += fmt::format(" ({:.17g})", std::bit_cast<double>(bits));
    return out;
}

uint64_t masked(Type type, uint64_t bits) {
    return isa::bits(type) >= 64 ? bits : bits & ((uint64_t{1} << isa::bits(type)) - 1);
}

// The result matrix of an instruction in the registers of its lanes, and its letter: "D" of mma and
// wmma.mma, "A" of what wmma.load loads.
struct ResultMatrix {
    isa::Elements elements;
    char letter = 'D';
};

std::optional<ResultMatrix> result_matrix(isa::Arch arch, const isa::Operation& o) {
    if (o.mma != nullptr)
        return ResultMatrix{
            isa::elements_of(isa::fragment(o.mma->fragment_d), o.mma->d, o.mma->threads)};
    const isa::WmmaFragment* f = o.wmma_fragment;
    if (o.wmma != nullptr) {
        const isa::WmmaVariant& v = *o.wmma;
        f = isa::find_wmma_fragment(arch, v.m, v.n, v.k, isa::WmmaOperand::accumulator, v.d,
                                    v.a_order);
    }
    if (f == nullptr) return std::nullopt;
    const isa::Elements e = isa::elements_of(*f, f->type);
    if (o.wmma != nullptr) return ResultMatrix{e};
    return ResultMatrix{f->operand == isa::WmmaOperand::b ? isa::transposed(e) : e,
                        static_cast<char>(std::toupper(o.mod.matrix))};
}

// Which elements of the result matrix a written register holds: "D[9][2], D[9][3]".
std::string element(isa::Arch arch, const isa::Operation& o, uint32_t reg, uint32_t lane) {
    const std::optional<ResultMatrix> d = result_matrix(arch, o);
    if (!d) return {};
    std::vector<isa::Element> held = isa::in_register(d->elements, lane, reg);
    const bool many = held.size() > 2;  // the first and the last
    if (many) held = {held.front(), held.back()};
    std::string out;
    for (const isa::Element& e : held)
        out += fmt::format("{}{}[{}][{}]",
                           out.empty() ? ""
                           : many      ? " ... "
                                       : ", ",
                           d->letter, e.row, e.column);
    if (d->elements.matrices > 1 && !held.empty())
        out += fmt::format(" of quad-pair {}", held.front().matrix);
    return out;
}

// The register of a slot, as the difference has it; nullptr: it reads none of that name.
const Difference::Input* input_of(const Report& r, const Difference& d, isa::Ref ref) {
    for (const isa::Register& known : r.program.registers) {
        if (known.ref != ref) continue;
        for (const Difference::Input& input : d.inputs)
            if (input.name == known.name) return &input;
    }
    return nullptr;
}

// What an instruction read of one element of a matrix operand. Empty: not known.
std::optional<uint64_t> element_of(const Report& r, const Difference& d, unsigned operand,
                                   const isa::Elements& elements, unsigned matrix, unsigned row,
                                   unsigned column) {
    const isa::Operation& o = r.program.operations[d.operation];
    const std::vector<isa::Element> all = isa::owners(elements, matrix, row, column);
    if (all.empty()) return std::nullopt;
    const isa::Element e = all.front();
    const Difference::Input* const input =
        input_of(r, d, r.program.pool[o.vector[operand].first + e.reg]);
    if (input == nullptr) return std::nullopt;
    const uint64_t ones = elements.bits == 64 ? UINT64_MAX : (uint64_t{1} << elements.bits) - 1;
    return input->lanes[e.lane] >> e.shift & ones;
}

// One row of A or column of B, wrapped: "A row 9: 0x3c00 0x4000 ...".
std::string vector_text(const Report& r, const Difference& d, bool is_a, unsigned matrix,
                        unsigned index) {
    const isa::MmaVariant& v = *r.program.operations[d.operation].mma;
    const Type type = is_a ? v.a : v.b;
    const isa::Elements elements =
        isa::elements_of(isa::fragment(is_a ? v.fragment_a : v.fragment_b), type, v.threads);
    std::string out = fmt::format("    {} {}:", is_a ? "A row" : "B column", index);
    size_t column = out.size();
    for (unsigned k = 0; k < elements.columns; ++k) {
        const auto bits = element_of(r, d, is_a ? 1 : 2, elements, matrix, index, k);
        const std::string text =
            bits ? fmt::format(" 0x{:0{}x}", *bits, (isa::bits(type) + 3) / 4) : " ?";
        if (column + text.size() > 100) {
            out += "\n        ";
            column = 8;
        }
        out += text;
        column += text.size();
    }
    return out + "\n";
}

// The factors of scale of one row of A or column of B.
std::string factors_text(const Report& r, const Difference& d, bool is_a, unsigned index) {
    const isa::Operation& o = r.program.operations[d.operation];
    const isa::MmaVariant& v = *o.mma;
    const auto id = [&](size_t which) -> unsigned {
        const isa::Ref ref = o.scale_refs[which];
        const Difference::Input* const reg = ref == isa::no_ref ? nullptr : input_of(r, d, ref);
        return reg == nullptr ? o.scale_ids[which] : reg->lanes[0] % 4;
    };
    const unsigned byte = id(is_a ? 0 : 2);
    const unsigned thread = id(is_a ? 1 : 3) % (is_a ? 2 : 4);
    const isa::Elements elements = isa::factor_elements(v, !is_a);
    const Difference::Input* const input =
        input_of(r, d, o.r[(v.sparse ? 1u : 0u) + (is_a ? 0u : 1u)]);
    std::string out = fmt::format("    {} {}, {}:", is_a ? "A row" : "B column", index,
                                  v.scales == 1 ? "factor" : "factors");
    for (unsigned i = 0; i < v.scales; ++i) {
        const isa::Element e = isa::owners(elements, 0, index, i).front();
        out += input == nullptr
                   ? " ?"
                   : fmt::format(" 0x{:02x}", input->lanes[e.lane + elements.given * thread] >>
                                                      (e.shift + 8 * byte) % 32 &
                                                  255);
    }
    return out + "\n";
}

// The element of D that differs first in a register.
std::optional<isa::Element> element_that_differs(const isa::Operation& o, const Difference& d) {
    if (o.mma == nullptr) return std::nullopt;
    const isa::Elements elements =
        isa::elements_of(isa::fragment(o.mma->fragment_d), o.mma->d, o.mma->threads);
    const uint64_t bad = d.emulated ^ d.other;
    const unsigned bit = bad == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(bad));
    for (const isa::Element& e : isa::in_register(elements, d.lane, d.reg))
        if (bit < unsigned{e.shift} + elements.bits) return e;
    return std::nullopt;
}

std::string inputs(const Report& r, const Difference& d) {
    const isa::Operation& o = r.program.operations[d.operation];
    std::string out;
    if (const auto w = element_that_differs(o, d); w && !d.inputs.empty()) {
        const isa::MmaVariant& v = *o.mma;
        const auto c =
            element_of(r, d, 3, isa::elements_of(isa::fragment(v.fragment_c), v.c, v.threads),
                       w->matrix, w->row, w->column);
        out = fmt::format("  its inputs: C[{}][{}] {}\n", w->row, w->column,
                          c ? shown(v.c, *c) : "?");
        out += vector_text(r, d, true, w->matrix, w->row);
        out += vector_text(r, d, false, w->matrix, w->column);
        if (v.scales == 0) return out;
        return out + factors_text(r, d, true, w->row) + factors_text(r, d, false, w->column);
    }
    for (const Difference::Input& input : d.inputs)
        out += fmt::format("  reads {} = {} in this lane\n", input.name,
                           shown(input.type, input.lanes[d.lane]));
    return out;
}

std::string place(const Report& r, const Difference& d, const std::string& file) {
    const isa::Operation& o = r.program.operations[d.operation];
    const std::string where = fmt::format("step {}, CTA ({},{},{}), warp {}", d.step, d.cta[0],
                                          d.cta[1], d.cta[2], d.warp);
    const std::string what = fmt::format("{}:{}  {}", file, o.place.line, r.spellings[d.operation]);
    std::string out = what + (what.size() + where.size() > 85 ? "\n  " : "   ") + where;
    std::string source = launch::source_text(ptx::places_of(r.sources, o.place));
    if (source.empty()) return out;
    source.pop_back();  // the caller's line goes on
    return out + "\n" + source;
}

// The branch that a lane took before it went another way.
std::string branch(const Report& r, const Difference& d, const std::string& file) {
    if (d.branch == no_branch) return {};
    const isa::Operation& o = r.program.operations[d.branch];
    std::string predicate;
    for (const isa::Register& known : r.program.registers)
        if (known.ref == o.guard && known.type == Type::pred) predicate = known.name;
    const std::string from = launch::short_place(ptx::places_of(r.sources, o.place));
    return fmt::format("  its last branch: {}:{}  @{}{}, emulated {}{}\n", file, o.place.line,
                       o.guard_negated ? "!" : "", predicate,
                       d.branch_taken ? "taken" : "not taken", from.empty() ? "" : "  " + from);
}

// A store of another warp to what a load reads.
std::string race(const Report& r, const Difference& d, const std::string& file) {
    if (!d.racing) return {};
    const std::array<uint32_t, 3>& cta = d.racing->cta;
    return fmt::format(
        "  {}:{} stores there too, CTA ({},{},{}), warp {}: a race, where nothing orders the\n"
        "  two (lockwarp check)\n",
        file, r.program.operations[d.racing->operation].place.line, cta[0], cta[1], cta[2],
        d.racing->warp);
}

std::string difference(const Report& r, const gpu::Device& device, const std::string& file) {
    const Difference& d = *r.first;
    std::string out;
    switch (d.kind) {
        case DifferenceKind::value: {
            const isa::Operation& o = r.program.operations[d.operation];
            const isa::Register& reg = r.program.registers[r.program.uses[o.first_use + d.reg]];
            const Type type = o.mma != nullptr && isa::bits(o.mma->d) >= 32 ? o.mma->d : reg.type;
            out = fmt::format("DIFFERS  {}\n", place(r, d, file));
            std::string head = fmt::format("  {} lane {}  {}", reg.name, d.lane,
                                           element(r.program.arch, o, d.reg, d.lane));
            while (head.ends_with(' ')) head.pop_back();
            const std::string emulated = fmt::format("emulated {}", shown(type, d.emulated));
            const std::string other = fmt::format("{} {}", device.name, shown(type, d.other));
            const std::string bits = fmt::format("bits {:#x}", d.emulated ^ d.other);
            const std::string one = fmt::format("{}   {}   {}   {}\n", head, emulated, other, bits);
            out += one.size() <= 100
                       ? one
                       : fmt::format("{}\n    {}\n    {}\n    {}\n", head, emulated, other, bits);
            out += inputs(r, d);
            out += race(r, d, file);
            break;
        }
        case DifferenceKind::control_flow: {
            const auto line = [&](uint64_t number) {
                return number == 0 || number > r.program.operations.size()
                           ? std::string("nothing more")
                           : "line " + std::to_string(r.program.operations[number - 1].place.line);
            };
            out = fmt::format("DIFFERS  {}\n  lane {} goes another way: emulated {}, {} {}\n",
                              place(r, d, file), d.lane, line(d.emulated), device.name,
                              line(d.other));
            out += branch(r, d, file);
            break;
        }
        case DifferenceKind::memory:
            out = fmt::format(
                "DIFFERS  {}  memory at the end: buffer {} byte {}: emulated {:#04x}, {} {:#04x}\n",
                file, d.buffer, d.offset, d.emulated, device.name, d.other);
            break;
        case DifferenceKind::order: {
            const isa::Operation& o = r.program.operations[d.operation];
            const Type type = isa::bits(o.mod.type[0]) == 0 ? Type::b64 : o.mod.type[0];
            out = fmt::format(
                "DIFFERS  {}\n  lane {} finds {} in memory, where {} found {}: no order of the "
                "other\n  threads that its run allows puts that there\n",
                place(r, d, file), d.lane, shown(type, masked(type, d.emulated)), device.name,
                shown(type, masked(type, d.other)));
            out += race(r, d, file);
            break;
        }
        case DifferenceKind::fault:
            return fmt::format("DIFFERS  {}\n  {}\n", r.trap ? place(r, d, file) : file, d.what);
    }
    return out;
}

constexpr std::string_view reads_unwritten =
    "it reads shared memory or a register that nothing wrote before";

// What was not compared, by instruction, the most first.
std::string not_compared(const Report& r, const std::string& file) {
    struct Line {
        uint64_t count;
        std::string text;
    };
    std::vector<Line> lines;
    const std::vector<std::string_view> taken = taken_because(r.program);
    for (size_t i = 0; i < r.by_operation.size(); ++i) {
        const Counts& n = r.by_operation[i];
        const isa::Operation& o = r.program.operations[i];
        const auto add = [&](uint64_t count, const char* what, std::string_view why) {
            if (count != 0)
                lines.push_back(
                    {count, fmt::format("  {}:{}  {}: {} {}\n    {}\n", file, o.place.line,
                                        r.spellings[i], grouped(count), what, why)});
        };
        add(n.unwritten, "never written, taken from the GPU", reads_unwritten);
        add(n.taken, "taken", taken[i]);
        add(n.masked, "masked", masked_because(o.op));
    }
    std::ranges::stable_sort(lines, std::greater{}, &Line::count);
    constexpr size_t most = 8;
    std::string out = lines.empty() ? "" : "not compared:\n";
    for (size_t i = 0; i < std::min(most, lines.size()); ++i) out += lines[i].text;
    if (lines.size() > most)
        out += fmt::format("  and {} more instructions\n", lines.size() - most);
    return out;
}

}  // namespace

std::string grouped(uint64_t n) {
    std::string digits = std::to_string(n);
    for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
    return digits;
}

std::string counts_text(const Counts& n) {
    std::string out = fmt::format(
        "{} register values compared, {} memory bytes; {} and {} different", grouped(n.values),
        grouped(n.memory_bytes), grouped(n.different), grouped(n.memory_different));
    if (n.masked != 0) out += fmt::format("; masked {}", grouped(n.masked));
    if (n.unwritten != 0) out += fmt::format("; never written {}", grouped(n.unwritten));
    if (n.taken != 0) out += fmt::format("; taken {}", grouped(n.taken));
    if (n.places != 0)
        out += fmt::format("; {} instruction{} with addresses left out", grouped(n.places),
                           n.places == 1 ? "" : "s");
    return out;
}

std::string folded_text(const isa::Program& program, const std::vector<warp::Folded>& folded,
                        const std::string& file) {
    if (folded.empty()) return {};
    std::string out = "of constants, with the values that NVIDIA's compiler computes:\n";
    constexpr size_t most = 8;
    for (const warp::Folded& f : std::span(folded).first(std::min(most, folded.size()))) {
        const isa::Operation& o = program.operations[f.operation];
        out += fmt::format("  {}:{}  {}{}{}: {}{}, the instruction's is {}\n", file, f.place.line,
                           isa::row(o.op).name, o.mod.ftz ? ".ftz" : "",
                           isa::row(o.mod.type[0]).name, f.divisor ? "by the reciprocal " : "",
                           shown(o.mod.type[0], f.value), shown(o.mod.type[0], f.instruction));
    }
    if (folded.size() > most)
        out += fmt::format("  and {} more instructions\n", folded.size() - most);
    return out;
}

std::string device_text(const gpu::Device& d) {
    std::string out = fmt::format("{}, sm_{}", d.name, d.number);
    if (!d.driver.empty()) out += ", driver " + d.driver;
    if (d.clock_mhz != 0) out += fmt::format(", {} MHz", d.clock_mhz);
    return out;
}

std::string text_report(const Report& r, const gpu::Device& device, const std::string& file) {
    std::string out;
    if (r.same_fault) {
        Difference d;
        d.operation = r.trap->operation;
        d.cta = r.trap->cta;
        d.warp = r.trap->warp;
        d.step = r.trap->step;
        return fmt::format("TRAP  {}\n  both fault: the emulator: {}{}{}\n  {}: {}\n{}\n",
                           place(r, d, file), warp::trap_name(r.trap->kind),
                           r.trap->detail.empty() ? "" : ", ", r.trap->detail, device.name, r.fault,
                           device_text(device));
    }
    if (r.first) out = difference(r, device, file);
    out += fmt::format("{}: {}\n", r.first ? "compared" : "identical", counts_text(r.counts));
    if (r.by_digest) out += "registers by a digest of 64 bits a lane\n";
    if (r.varying_bytes != 0)
        out += fmt::format("{} bytes of memory differ between two runs on {}\n",
                           grouped(r.varying_bytes), device.name);
    uint64_t unknown = 0;
    for (const auto& [address, bytes] : r.unknown_memory) unknown += bytes;
    if (unknown != 0)
        out += fmt::format("{} bytes of memory not compared: a register that nothing wrote\n",
                           grouped(unknown));
    out += folded_text(r.program, r.folded, file);
    return out + not_compared(r, file) + device_text(device) + "\n";
}

}  // namespace lockwarp::validate
