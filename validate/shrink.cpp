// SPDX-License-Identifier: Apache-2.0
#include "validate/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/trace.hpp"
#include "programs/generate.hpp"
#include "programs/program_writer.hpp"

namespace lockwarp::validate {

namespace {

constexpr uint32_t warp_lanes = 32;

// One warp runs one instruction on given registers; each register has one 64-bit word a lane.
struct OneInstruction {
    launch::Case c;
    std::string ptx;
    size_t inputs = 0;
};

// What it reads beside registers is not carried over.
bool isolable(const isa::Operation& o) {
    const isa::OpRow& row = isa::row(o.op);
    return row.memory == isa::Memory::none && !row.reads_carry;
}

// Of mma, a byte-id or thread-id in a register becomes the number that the register holds: it must
// be the same in all lanes.
void name_scale_ids(const isa::Operation& o, const Difference& d, ptx::Instruction& i) {
    const size_t first = o.mma != nullptr && o.mma->sparse ? 7 : 5;
    for (size_t n = 0; n < o.scale_refs.size(); ++n) {
        if (o.scale_refs[n] == isa::no_ref) continue;
        ptx::Operand& id = i.operands[first + n / 2 * 2].items[n % 2];
        for (const Difference::Input& input : d.inputs)
            if (input.name == id.text) {
                id.kind = ptx::OperandKind::integer;
                id.bits = input.lanes[0];
            }
    }
}

OneInstruction one_instruction(const Report& report, const ptx::Instruction& original) {
    const Difference& d = *report.first;
    const isa::Operation& o = report.program.operations[d.operation];
    ptx::Instruction i = original;
    i.guard = {};
    name_scale_ids(o, d, i);
    OneInstruction out;
    std::string registers;
    const auto declare = [&](const isa::Register& r) {
        const std::string text =
            "    .reg " + std::string(isa::row(r.type).name) + " " + r.name + ";\n";
        if (registers.find(text) == std::string::npos) registers += text;
    };
    for (uint32_t k = 0; k < uint32_t{o.written} + o.read; ++k)
        declare(report.program.registers[report.program.uses[o.first_use + k]]);
    std::string loads;
    std::vector<uint8_t> bytes;
    for (const Difference::Input& input : d.inputs) {
        if (!original.guard.name.empty() && input.name == original.guard.name) continue;
        const size_t at = bytes.size();
        bytes.resize(at + warp_lanes * 8);
        std::memcpy(bytes.data() + at, input.lanes.data(), warp_lanes * 8);
        const std::string place = "[%lane_at+" + std::to_string(at) + "]";
        if (input.type == isa::Type::pred)
            loads += "    ld.global.b32 %word, " + place + "; setp.ne.u32 " + input.name +
                     ", %word, 0;\n";
        else
            loads += "    ld.global.b" + std::to_string(isa::bits(input.type)) + " " + input.name +
                     ", " + place + ";\n";
        ++out.inputs;
    }
    const isa::Suffix suffix = o.mma == nullptr ? isa::Suffix::none : o.mma->suffix();
    out.ptx = programs::module_version(report.program.arch,
                                       o.mma == nullptr ? 0 : programs::version_of(*o.mma)) +
              ".target " + programs::target_of(report.program.arch, suffix) +
              "\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n" + registers +
              "    .reg .b32 %word; .reg .b64 %lane_at, %base;\n"
              "    ld.param.u64 %base, [in]; mov.u32 %word, %laneid;\n"
              "    mul.wide.u32 %lane_at, %word, 8; add.u64 %lane_at, %lane_at, %base;\n" +
              loads + "    " + ptx::print(i) + "\n    ret;\n}\n";
    out.c.module = ptx::parse(out.ptx).module;
    out.c.entry = "k";
    out.c.block = {warp_lanes, 1, 1};
    out.c.parameters.resize(8);
    out.c.patches = {{0, 0, 0}};
    out.c.names = {"in"};
    bytes.resize(bytes.size() + 8);
    out.c.bytes = {bytes};
    return out;
}

using Differs = std::function<bool(const launch::Case&)>;

// Lanes to zero, then words, then bits.
void shrink_values(OneInstruction& one, const Differs& differs) {
    std::vector<uint8_t>& bytes = one.c.bytes[0];
    const auto try_word = [&](size_t at, uint64_t value) {
        uint64_t old;
        std::memcpy(&old, bytes.data() + at, 8);
        if (old == value) return;
        std::memcpy(bytes.data() + at, &value, 8);
        if (!differs(one.c)) std::memcpy(bytes.data() + at, &old, 8);
    };
    for (size_t lane = 0; lane < warp_lanes; ++lane) {
        const std::vector<uint8_t> before = bytes;
        for (size_t k = 0; k < one.inputs; ++k)
            std::memset(bytes.data() + (k * warp_lanes + lane) * 8, 0, 8);
        if (bytes != before && !differs(one.c)) bytes = before;
    }
    for (size_t word = 0; word < one.inputs * warp_lanes; ++word) try_word(word * 8, 0);
    for (size_t word = 0; word < one.inputs * warp_lanes; ++word)
        for (unsigned bit = 0; bit < 64; ++bit) {
            uint64_t value;
            std::memcpy(&value, bytes.data() + word * 8, 8);
            if (value >> bit & 1) try_word(word * 8, value & ~(uint64_t{1} << bit));
        }
}

// A CTA of a generated program by itself, with its part of the buffer.
launch::Case one_cta(const launch::Case& c, uint64_t cta) {
    launch::Case out = c;
    const std::vector<uint8_t>& all = c.bytes[0];
    const uint64_t ctas = c.grid.count();
    if (c.cluster || c.bytes.size() != 1 || all.size() < programs::spare_bytes ||
        (all.size() - programs::spare_bytes) % ctas != 0)
        return out;
    const uint64_t part = (all.size() - programs::spare_bytes) / ctas;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(cta * part);
    out.bytes[0].assign(begin, begin + static_cast<std::ptrdiff_t>(part + programs::spare_bytes));
    out.grid = {};
    return out;
}

// A register that nothing writes holds, on a GPU, anything; so does the carry before it is written.
bool reads_unwritten(const isa::Program& p) {
    std::vector<bool> written(p.registers.size(), false);
    for (const isa::Operation& o : p.operations)
        for (uint32_t i = 0; i < o.written; ++i) written[p.uses[o.first_use + i]] = true;
    for (const isa::Operation& o : p.operations)
        for (uint32_t i = o.written; i < uint32_t{o.written} + o.read; ++i)
            if (!written[p.uses[o.first_use + i]]) return true;
    bool carry = false;
    for (const isa::Operation& o : p.operations) {
        if (isa::row(o.op).reads_carry && !carry) return true;
        carry = carry || (o.mod.cc && !o.guarded);
    }
    return false;
}

bool has_label_or_branch(const ptx::Statement& s) {
    const auto* i = std::get_if<ptx::Instruction>(&s.node);
    return i == nullptr || i->opcode == "bra" || i->opcode == "ret";
}

}  // namespace

std::optional<Shrunk> shrink_to_instruction(const Report& report, const ptx::Instruction& original,
                                            const Compare& compare) {
    const Difference& d = *report.first;
    if (d.kind != DifferenceKind::value || !isolable(report.program.operations[d.operation]))
        return std::nullopt;
    OneInstruction one = one_instruction(report, original);
    const auto differs = [&](const launch::Case& c) {
        const Report r = compare(c);
        return r.first.has_value() && r.first->kind == DifferenceKind::value;
    };
    if (!differs(one.c)) return std::nullopt;
    shrink_values(one, differs);
    Report last = compare(one.c);
    return Shrunk{std::move(one.c), std::move(one.ptx), std::move(last)};
}

Shrunk shrink_program(const launch::Case& c, const Report& report, const Compare& compare) {
    Shrunk best{c, ptx::print(c.module), report};
    if (launch::Case alone = one_cta(c, report.first->cta_index);
        alone.grid.count() < c.grid.count())
        if (Report r = compare(alone); r.first && r.first->kind == report.first->kind)
            best = {std::move(alone), best.ptx, std::move(r)};
    constexpr unsigned max_tries = 500;
    unsigned tries = 0;
    const std::string spelling = report.spellings[report.first->operation];
    // Ever smaller runs of statements are left out, from the end: what comes after the difference
    // goes first.
    const auto body_of = [](launch::Case& of) -> std::vector<ptx::Statement>* {
        for (auto& item : of.module.items)
            if (auto* f = std::get_if<ptx::Function>(&item); f && f->name == of.entry)
                return &f->body.body;
        return nullptr;
    };
    if (body_of(best.c) == nullptr) return best;
    for (size_t run = std::max<size_t>(body_of(best.c)->size() / 2, 1);; run /= 2) {
        for (size_t end = body_of(best.c)->size(); end > 0;) {
            const size_t begin = end > run ? end - run : 0;
            launch::Case smaller = best.c;
            std::vector<ptx::Statement>& body = *body_of(smaller);
            const auto first = body.begin() + static_cast<std::ptrdiff_t>(begin);
            const auto last = body.begin() + static_cast<std::ptrdiff_t>(end);
            const auto kept = std::remove_if(
                first, last, [](const ptx::Statement& s) { return !has_label_or_branch(s); });
            if (kept != last && ++tries <= max_tries) {
                body.erase(kept, last);
                Report r = compare(smaller);
                if (r.diagnostics.empty() && r.problem.empty() && r.first &&
                    !reads_unwritten(r.program) && r.first->kind == report.first->kind &&
                    r.spellings[r.first->operation] == spelling) {
                    best = {std::move(smaller), {}, std::move(r)};
                    best.ptx = ptx::print(best.c.module);
                }
            }
            end = std::min(begin, body_of(best.c)->size());
        }
        if (run == 1) break;
    }
    return best;
}

std::string launch_json(const launch::Case& c, const std::string& arch) {
    std::string buffers, names;
    for (size_t i = 0; i < c.bytes.size(); ++i) {
        std::string hex, pointers;
        for (const uint8_t b : c.bytes[i]) hex += fmt::format("{:02x}", b);
        for (const launch::BufferPatch& p : c.buffer_patches)
            if (p.in == i)
                pointers +=
                    fmt::format("{}\"{}\": {{\"buffer\": \"{}\", \"offset\": {}}}",
                                pointers.empty() ? "" : ", ", p.at, c.names[p.buffer], p.offset);
        if (!pointers.empty()) pointers = ", \"pointers\": {" + pointers + "}";
        buffers +=
            fmt::format("{}\"{}\": {{\"bytes\": {}, \"init\": {{\"hex\": \"{}\"}}{}}}",
                        i == 0 ? "" : ",\n    ", c.names[i], c.bytes[i].size(), hex, pointers);
        names += fmt::format("{}{{\"buffer\": \"{}\"}}", i == 0 ? "" : ", ", c.names[i]);
    }
    const std::string cluster =
        c.cluster ? fmt::format(", \"cluster\": [{}, 1, 1]", c.cluster->x) : "";
    return fmt::format(
        "{{\n  \"schema\": \"lockwarp-launch/1\",\n  \"ptx\": \"case.ptx\",\n  \"arch\": \"{}\",\n"
        "  \"grid\": [{}, 1, 1]{}, \"block\": [{}, 1, 1],\n  \"buffers\": {{{}}},\n"
        "  \"args\": [{}],\n  \"outputs\": [\"{}\"]\n}}\n",
        arch, c.grid.x, cluster, c.block.x, buffers, names,
        c.names.size() == 1 ? c.names[0] : c.names[0] + "\", \"" + c.names.back());
}

}  // namespace lockwarp::validate
