// SPDX-License-Identifier: Apache-2.0
// What a launch gave back.
#include <algorithm>
#include <array>

#include "emu/ptx/printer.hpp"
#include "engine/error.hpp"
#include "engine/observe.hpp"
#include "engine/report.hpp"
#include "engine/structs.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace {

using Three = std::array<uint32_t, 3>;

Three place_in(const warp::Dim3& d, uint64_t index) {
    return {static_cast<uint32_t>(index % d.x), static_cast<uint32_t>(index / d.x % d.y),
            static_cast<uint32_t>(index / d.x / d.y)};
}

Three thread_of(const warp::Dim3& block, uint32_t warp, uint32_t lane) {
    return place_in(block, uint64_t{warp} * 32 + lane);
}

std::string shown(const Three& d) {
    return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " + std::to_string(d[2]) +
           ")";
}

// The number of a kind is the same on both sides.
static_assert(LOCKWARP_TRAP_OUT_OF_BOUNDS == static_cast<int>(warp::TrapKind::out_of_bounds));
static_assert(LOCKWARP_TRAP_MISALIGNED == static_cast<int>(warp::TrapKind::misaligned));
static_assert(LOCKWARP_TRAP_WRONG_SPACE == static_cast<int>(warp::TrapKind::wrong_space));
static_assert(LOCKWARP_TRAP_READ_ONLY == static_cast<int>(warp::TrapKind::read_only));
static_assert(LOCKWARP_TRAP_DIVERGED == static_cast<int>(warp::TrapKind::diverged));
static_assert(LOCKWARP_TRAP_BAD_MASK == static_cast<int>(warp::TrapKind::bad_mask));
static_assert(LOCKWARP_TRAP_DEADLOCK == static_cast<int>(warp::TrapKind::deadlock));
static_assert(LOCKWARP_TRAP_STACK == static_cast<int>(warp::TrapKind::stack));
static_assert(LOCKWARP_TRAP_STEP_LIMIT == static_cast<int>(warp::TrapKind::step_limit));
static_assert(LOCKWARP_TRAP_TRAP == static_cast<int>(warp::TrapKind::trap));
static_assert(LOCKWARP_TRAP_BREAKPOINT == static_cast<int>(warp::TrapKind::breakpoint));
static_assert(LOCKWARP_TRAP_STOPPED == static_cast<int>(warp::TrapKind::stopped));
static_assert(LOCKWARP_TRAP_ILLEGAL == static_cast<int>(warp::TrapKind::illegal));

const ptx::Instruction* instruction_at(const ptx::Block& block, ptx::Place place) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node);
            i != nullptr && i->place.line == place.line && i->place.column == place.column)
            return i;
        if (const auto* inner = std::get_if<ptx::Block>(&s.node))
            if (const ptx::Instruction* found = instruction_at(*inner, place)) return found;
    }
    return nullptr;
}

// As the text has it; the end of a body, which is an instruction too, has none.
std::string instruction_text(const ptx::Module& tree, ptx::Place place) {
    for (const auto& item : tree.items)
        if (const auto* f = std::get_if<ptx::Function>(&item))
            if (const ptx::Instruction* i = instruction_at(f->body, place)) return ptx::print(*i);
    return {};
}

std::string source_line(const ptx::SourcePlace& p) {
    std::string out = p.file + ":" + std::to_string(p.line);
    if (p.column != 0) out += ":" + std::to_string(p.column);
    return p.function.empty() ? out : out + " in " + p.function;
}

std::string hex(uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "0x";
    for (unsigned at = 64; at != 0; at -= 4) out += digits[(value >> (at - 4)) & 15];
    return out;
}

std::string whole_text(const lockwarp_result& r, const lockwarp_kernel& kernel) {
    const warp::Trap& t = *r.of.trap;
    std::string out(warp::trap_name(t.kind));
    if (!t.detail.empty()) out += ": " + t.detail;
    if (t.has_address) out += "\n  address " + hex(t.address);
    out += "\n  at " + kernel.module->name + ":" + std::to_string(t.place.line) + ":" +
           std::to_string(t.place.column) + " in " + kernel.program.entry;
    if (!r.instruction.empty()) out += ": " + r.instruction;
    for (size_t i = 0; i < r.sources.size(); ++i)
        out += (i == 0 ? "\n  from " : "\n  inlined at ") + source_line(r.sources[i]);
    out += "\n  CTA " + shown(t.cta) + ", warp " + std::to_string(t.warp);
    if (t.has_lane)
        out += ", lane " + std::to_string(t.lane) + ", thread " +
               shown(thread_of(r.block, t.warp, t.lane));
    return out;
}

}  // namespace

namespace lockwarp::engine {

void report_trap(lockwarp_result& r, const lockwarp_kernel& kernel,
                 const std::vector<Range>& ranges) {
    const warp::Trap& t = *r.of.trap;
    r.instruction = instruction_text(kernel.module->tree, t.place);
    r.sources = ptx::places_of(kernel.module->sources, t.place);
    r.detail = t.detail;
    r.text = whole_text(r, kernel);
    lockwarp_trap out{};
    out.struct_size = sizeof out;
    out.kind = static_cast<lockwarp_trap_kind>(t.kind);
    out.line = t.place.line;
    out.column = t.place.column;
    out.sources = static_cast<uint32_t>(r.sources.size());
    out.name = warp::trap_name(t.kind).data();  // a literal
    out.cta_index = t.cta_index;
    std::ranges::copy(t.cta, out.cta);
    out.warp = t.warp;
    out.lane = -1;
    if (t.has_lane) {
        out.lane = static_cast<int32_t>(t.lane);
        std::ranges::copy(thread_of(r.block, t.warp, t.lane), out.thread);
    }
    out.step = t.step;
    out.has_address = t.has_address;
    out.address = t.address;
    out.space = t.has_address ? space_name(t.space) : "";
    const Range* const range =
        t.has_address && t.space == ptx::Space::global ? nearest_range(ranges, t.address) : nullptr;
    if (range != nullptr) {
        r.range = range->name;
        out.range_offset = static_cast<int64_t>(t.address - range->address);
        out.range_size = range->size;
    }
    out.detail = r.detail.c_str();
    out.text = r.text.c_str();
    out.instruction = r.instruction.c_str();
    out.range = r.range.c_str();
    r.trap = out;
}

}  // namespace lockwarp::engine

lockwarp_status lockwarp_result_trap(const lockwarp_result* result, lockwarp_trap* out) {
    if (result == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (!result->trap) return LOCKWARP_NOT_FOUND;
    give(out, *result->trap);
    return LOCKWARP_OK;
}

lockwarp_status lockwarp_result_source(const lockwarp_result* result, size_t index,
                                       lockwarp_source* out) {
    if (result == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (index >= result->sources.size()) return LOCKWARP_NOT_FOUND;
    const ptx::SourcePlace& p = result->sources[index];
    give(out, {sizeof *out, p.file.c_str(), p.function.c_str(), p.line, p.column});
    return LOCKWARP_OK;
}

lockwarp_status lockwarp_result_statistics(const lockwarp_result* result,
                                           lockwarp_statistics* out) {
    if (result == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    const warp::Statistics& s = result->of.statistics;
    give(out, {sizeof *out, s.instructions, s.lane_operations, s.products, s.ctas, s.warps,
               result->of.printed_bytes_lost});
    return LOCKWARP_OK;
}

size_t lockwarp_result_printed_count(const lockwarp_result* result) {
    return result == nullptr ? 0 : result->of.printed.size();
}

lockwarp_status lockwarp_result_printed(const lockwarp_result* result, size_t index,
                                        lockwarp_printed* out) {
    if (result == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (index >= result->of.printed.size()) return LOCKWARP_NOT_FOUND;
    const warp::Printed& p = result->of.printed[index];
    lockwarp_printed shown{};
    shown.struct_size = sizeof shown;
    shown.text = p.text.c_str();
    shown.size = p.text.size();
    shown.cta_index = p.cta_index;
    std::ranges::copy(place_in(result->grid, p.cta_index), shown.cta);
    std::ranges::copy(thread_of(result->block, p.warp, p.lane), shown.thread);
    shown.warp = p.warp;
    shown.lane = p.lane;
    give(out, shown);
    return LOCKWARP_OK;
}

size_t lockwarp_result_folded_count(const lockwarp_result* result) {
    return result == nullptr ? 0 : result->of.folded.size();
}

lockwarp_status lockwarp_result_folded(const lockwarp_result* result, size_t index,
                                       lockwarp_folded* out) {
    if (result == nullptr || out == nullptr || out->struct_size == 0)
        return LOCKWARP_INVALID_ARGUMENT;
    if (index >= result->of.folded.size()) return LOCKWARP_NOT_FOUND;
    const warp::Folded& f = result->of.folded[index];
    give(out, {sizeof *out, f.place.line, f.place.column, f.value, f.instruction, f.divisor, 0});
    return LOCKWARP_OK;
}
