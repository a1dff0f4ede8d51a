// SPDX-License-Identifier: Apache-2.0
// The list of instructions, and what one is.
#include <fmt/format.h>

#include <map>

#include "emu/num/dot.hpp"
#include "lanes/parts.hpp"
#include "lanes/questions.hpp"

namespace lockwarp::lanes {

namespace {

std::string_view method_text(num::Method m) {
    switch (m) {
        case num::Method::fused_blocks:
            return "fused sums";
        case num::Method::fma_routine:
            return "no tensor core: f32 multiply-adds";
        case num::Method::fma_chain_f64:
            return "a chain of f64 fused multiply-adds";
        case num::Method::integer:
            return "an exact integer sum";
        case num::Method::f16_halves:
            return "two products of f16 operands, then C";
        case num::Method::scaled_block:
            return "one fused sum of scaled products";
        case num::Method::scaled_groups:
            return "exact sums of 16 scaled products, then one fused sum";
    }
    return "";
}

std::string_view rounding_text(num::Rounding r) {
    switch (r) {
        case num::Rounding::rn:
            return "to nearest even";
        case num::Rounding::rz:
            return "toward zero";
        case num::Rounding::rm:
            return "down";
        case num::Rounding::rp:
            return "up";
        case num::Rounding::rna:
            return "to nearest, ties away";
    }
    return "";
}

// What an instruction's product is on an architecture; nullptr: it is none, or has none there.
const num::DotRow* product_row(const Instruction& i, const isa::ArchRow& a) {
    if (!isa::has(a, i.target)) return nullptr;
    if (i.mma != nullptr)
        return num::find_dot_row(a.arch, i.mma->m, i.mma->n, i.mma->k, i.mma->a, i.mma->d,
                                 i.mma->kind);
    if (i.wmma != nullptr)
        return num::find_dot_row(a.arch, i.wmma->m, i.wmma->n, i.wmma->k, i.wmma->ab,
                                 isa::sum_type(*i.wmma));
    return nullptr;
}

std::string become(const num::DotRow& row, unsigned k) {
    if (row.method == num::Method::fused_blocks && row.sum.block != 0 && k > row.sum.block)
        return fmt::format("{} sums of {} products, one after another", k / row.sum.block,
                           row.sum.block);
    if (row.method == num::Method::fused_blocks) return fmt::format("one sum of {} products", k);
    return std::string(method_text(row.method));
}

}  // namespace

Answer list(std::optional<isa::Arch> arch) {
    Answer out;
    Grid g;
    g.header = {"from", "instruction, CuTe's name"};
    json all = json::array();
    std::map<Family, size_t> count;
    for (const Instruction& i : all_instructions(arch)) {
        ++count[i.family];
        json counts;
        for (const Operand& o : i.operands) counts[o.name] = o.registers;
        g.rows.push_back(
            {fmt::format("sm_{}", i.target), i.cute.empty() ? i.key : i.key + "  " + i.cute});
        all.push_back(
            {{"name", i.key}, {"cute", i.cute}, {"target", i.target}, {"registers", counts}});
    }
    out.line =
        fmt::format("{} instructions{}: {} mma, {} wmma, {} wgmma, {} moves of matrices",
                    g.rows.size(), arch ? fmt::format(" of {}", isa::row(*arch).name) : "",
                    count[Family::mma], count[Family::wmma], count[Family::wgmma],
                    count[Family::ldmatrix] + count[Family::stmatrix] + count[Family::movmatrix]);
    out.data = {{"instructions", all}};
    out.grids.push_back(std::move(g));
    return out;
}

Answer info(const Instruction& i) {
    Answer out;
    out.svg = [i] { return picture(i, ""); };
    out.data = heading(i);
    out.data["ptx"] = i.ptx;
    if (!i.cute.empty()) out.data["cute"] = i.cute;
    if (i.k != 0) out.data["shape"] = {i.m, i.n, i.k};
    out.data["target"] = i.target;
    switch (i.family) {
        case Family::ldmatrix:
            out.line = fmt::format(
                "{}: loads {} 8x8 matri{} of 16-bit elements{}; lane 8j+r gives the address of row "
                "r of matrix j",
                i.key, i.matrices, i.matrices == 1 ? "x" : "ces",
                i.trans ? ", each transposed" : "");
            break;
        case Family::stmatrix:
            out.line = fmt::format(
                "{}: stores {} 8x8 matri{} of 16-bit elements{}; lane 8j+r gives the address of "
                "row r of matrix j",
                i.key, i.matrices, i.matrices == 1 ? "x" : "ces",
                i.trans ? ", each transposed" : "");
            break;
        case Family::movmatrix:
            out.line = fmt::format(
                "{}: D[r][c] = A[c][r], an 8x8 matrix of 16-bit elements across a warp's registers",
                i.key);
            break;
        default:
            out.line = fmt::format("{}: D[{}x{}] = A[{}x{}] * B[{}x{}] + C", i.key, i.m, i.n, i.m,
                                   i.k, i.k, i.n);
    }
    out.lines.push_back("PTX:  " + i.ptx);
    if (!i.cute.empty()) out.lines.push_back("CuTe: " + i.cute);
    if (i.family == Family::movmatrix)
        out.lines.push_back("PTX ISA 7.8; one instruction (MOVM), no shared memory");
    const bool quad_pairs = i.mma != nullptr && i.mma->threads == isa::Threads::quad_pairs;
    if (quad_pairs) out.lines.emplace_back(quad_pair_note);

    Grid operands;
    operands.title = "Operands, a lane's value i:";
    operands.header = {"", "matrix", "coordinates", "registers"};
    json list = json::array();
    for (const Operand& o : i.operands) {
        operands.rows.push_back({o.name, shape_text(o), std::string(coordinates(i, o)),
                                 fmt::format("{} of {} bits", o.registers, o.register_bits)});
        list.push_back(operand_json(o, false));
        for (const std::string& f : formula_lines(o)) out.notes.push_back(o.name + ": " + f);
    }
    out.grids.push_back(std::move(operands));
    out.data["operands"] = list;

    Grid archs;
    archs.title = "On each architecture:";
    archs.header = {"arch", "becomes", "bits", "known"};
    json becomes = json::object();
    for (const isa::ArchRow& a : isa::arch_rows) {
        const num::DotRow* row = product_row(i, a);
        if (row == nullptr) continue;
        const num::Known known =
            i.mma != nullptr ? num::known(*row, *i.mma) : num::known(*row, static_cast<int>(i.k));
        const bool fused = row->sum.fraction != 0;
        const unsigned products = i.mma != nullptr ? i.mma->stored_k() : i.k;
        const std::string what_is = become(*row, products);
        std::string how = fmt::format("{}: {}", isa::text_of(known.evidence), known.source);
        if (i.wmma != nullptr) {
            const isa::WmmaMachine& m = isa::wmma_machine(a.arch);
            how += fmt::format("; fragments {}: {}", isa::text_of(m.evidence), m.source);
        }
        archs.rows.push_back({std::string(a.name), what_is,
                              fused ? fmt::format("{}/{} {}", row->sum.fraction, row->sum.kept,
                                                  rounding_text(row->sum.rounding))
                                    : "-",
                              how});
        json j{{"becomes", what_is},
               {"evidence", isa::text_of(known.evidence)},
               {"source", known.source}};
        if (fused) {
            j["block"] = row->sum.block;
            j["fraction_bits"] = row->sum.fraction;
            j["kept_bits"] = row->sum.kept;
            j["rounding"] = rounding_text(row->sum.rounding);
            j["zero_exponent"] = row->sum.zero_exponent;
        }
        becomes[std::string(a.name)] = j;
    }
    if (!archs.rows.empty()) {
        out.grids.push_back(std::move(archs));
        out.notes.emplace_back(
            "bits: kept of each term below the largest exponent / of the "
            "result, and how that is rounded");
        out.data["architectures"] = becomes;
    }
    if (i.mma != nullptr && i.mma->sparse) {
        const unsigned given = isa::metadata_lanes(*i.mma);
        out.notes.push_back(
            fmt::format("E: four bits a group of A's row, the places of its first and "
                        "second element{}",
                        given == 4 ? ""
                                   : fmt::format("; for selector 0, selector s is {} "
                                                 "lanes further on for each",
                                                 given)));
    }
    if (i.mma != nullptr && i.mma->scales != 0)
        out.notes.emplace_back(
            "SFA[m][s]: lane = 4*(m%8) + 2*thread-id + m/8, byte = byte-id + s; SFB[s][n]: lane = "
            "4*n + thread-id, byte = byte-id + s. The tables are for byte-id 0 and thread-id 0.");
    if (i.family == Family::wgmma)
        out.notes.emplace_back(
            "B, and A of the _SS form, lie in shared memory by descriptor: "
            "lockwarp descriptor");
    return out;
}

}  // namespace lockwarp::lanes
