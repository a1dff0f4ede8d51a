// SPDX-License-Identifier: Apache-2.0
#include "why/address_edit.hpp"

#include <algorithm>

#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"

namespace lockwarp::why {

namespace {

std::string text(uint64_t n) { return std::to_string(n); }

void replace_all(std::string& s, const std::string& from, const std::string& to) {
    for (size_t at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size()))
        s.replace(at, from.size(), to);
}

constexpr std::array words{"%x", "%y", "%t", "%u", "%v", "%lane"};

ptx::Variable declared(const std::string& name, const char* type) {
    ptx::Variable v;
    v.space = ptx::Space::reg;
    v.type = type;
    v.name = name;
    return v;
}

// The width of a base: 64 where it is a wide register.
bool is_wide(const isa::Program& p, const std::string& name) {
    const auto found = std::ranges::find(p.registers, name, &isa::Register::name);
    return found != p.registers.end() && isa::bits(found->type) == 64;
}

}  // namespace

std::vector<ptx::Instruction> instructions(const std::string& code) {
    const ptx::Parsed parsed = ptx::parse(
        ".version 7.8\n.target sm_80\n.address_size 64\n"
        ".entry k() {\n" +
        code + "\n}\n");
    std::vector<ptx::Instruction> out;
    if (!parsed.diagnostics.empty()) return out;
    for (const auto& item : parsed.module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item))
            for (const ptx::Statement& s : f->body.body)
                if (const auto* i = std::get_if<ptx::Instruction>(&s.node)) out.push_back(*i);
    return out;
}

Rewrite swizzled(unsigned bits, unsigned base, unsigned shift) {
    const uint64_t mask = ((uint64_t{1} << bits) - 1) << base;
    return {"shr.u32 %t, %x, " + text(shift) + "; and.b32 %t, %t, " + text(mask) +
            "; xor.b32 %y, %x, %t;"};
}

Rewrite moved_by(int64_t bytes) { return {"add.s32 %y, %x, " + std::to_string(bytes) + ";"}; }

Rewrite of_lane(const std::string& code) {
    return {code + " shfl.sync.idx.b32 %y, %x, %u, 31, -1;"};
}

Rewrite rows_of(const std::string& code, uint64_t pitch) {
    return {"shfl.sync.idx.b32 %y, %x, 0, 31, -1; " + code + " mad.lo.s32 %y, %u, " + text(pitch) +
            ", %y; mad.lo.s32 %y, %v, 16, %y;"};
}

Rewrite swizzled_rows_of(const std::string& code, uint64_t pitch, unsigned bits, unsigned shift) {
    const std::string swizzle = "shr.u32 %t, %y, " + text(shift) + "; and.b32 %t, %t, " +
                                text(((uint64_t{1} << bits) - 1) << 4) + "; xor.b32 %y, %y, %t; ";
    return {"shfl.sync.idx.b32 %y, %x, 0, 31, -1; " + swizzle + code + " mad.lo.s32 %y, %u, " +
            text(pitch) + ", %y; mad.lo.s32 %y, %v, 16, %y; " + swizzle};
}

Rewrite next_stage(uint64_t first, uint64_t bytes, uint64_t stages, uint64_t further) {
    return {"sub.s32 %t, %x, " + text(first) + "; div.u32 %u, %t, " + text(bytes) +
            "; mul.lo.s32 %v, %u, " + text(bytes) + "; sub.s32 %t, %t, %v; add.s32 %u, %u, " +
            text(further) + "; rem.u32 %u, %u, " + text(stages) + "; mad.lo.s32 %t, %u, " +
            text(bytes) + ", %t; add.s32 %y, %t, " + text(first) + ";"};
}

bool rewrite_address(const Scene& s, uint32_t operation, const Rewrite& rewrite, Patch& out) {
    const ptx::Instruction* const was = s.instruction(operation);
    if (was == nullptr) return false;
    ptx::Instruction now = *was;
    const auto address =
        std::ranges::find(now.operands, ptx::OperandKind::address, &ptx::Operand::kind);
    if (address == now.operands.end() || address->items.size() != 1 ||
        address->items[0].kind != ptx::OperandKind::name)
        return false;
    const std::string base = address->items[0].text;
    const bool wide = is_wide(s.program, base);
    const std::string unique = "%why" + text(was->place.line) + "_" + text(was->place.column) + "_";
    const std::string to = std::to_string(address->offset) + "; ";
    const std::string moved = address->offset == 0 ? ""
                              : wide               ? "add.s64 %a, %a, " + to
                                                   : "add.s32 %x, %x, " + to;
    std::string code =
        wide ? "mov.b64 %a, " + base + "; " + moved +
                   "cvt.u32.u64 %x, %a; mov.u32 %lane, %laneid; " + rewrite.code +
                   " sub.s32 %t, %y, %x; cvt.s64.s32 %b, %t; add.s64 %a, %a, %b;"
             : "mov.u32 %x, " + base + "; " + moved + "mov.u32 %lane, %laneid; " + rewrite.code;
    // The special register's name begins as the free one's does.
    replace_all(code, "%laneid", "$ID");
    for (const char* w : words) {
        replace_all(code, std::string(w) + ",", unique + (w + 1) + ",");
        replace_all(code, std::string(w) + ";", unique + (w + 1) + ";");
        out.registers.push_back(declared(unique + (w + 1), ".b32"));
    }
    replace_all(code, "$ID", "%laneid");
    if (wide)
        for (const char* w : {"%a", "%b"}) {
            replace_all(code, std::string(w) + ",", unique + (w + 1) + "w,");
            replace_all(code, std::string(w) + ";", unique + (w + 1) + "w;");
            out.registers.push_back(declared(unique + (w + 1) + "w", ".b64"));
        }
    Edit e{was->place, instructions(code)};
    if (e.becomes.empty()) return false;
    // The lane is needed by few.
    if (rewrite.code.find("%lane") == std::string::npos)
        std::erase_if(e.becomes, [](const ptx::Instruction& i) {
            return i.operands.size() == 2 && i.operands[1].text == "%laneid";
        });
    address->items[0].text = unique + (wide ? "aw" : "y");
    address->offset = 0;
    e.becomes.push_back(std::move(now));
    out.edits.push_back(std::move(e));
    return true;
}

}  // namespace lockwarp::why
