// SPDX-License-Identifier: Apache-2.0
// Probes of mma and wmma.mma: chains through C.
#include <algorithm>

#include "programs/clock_probe_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Type;
using Names = std::vector<std::string>;

// What the assembler makes of other instructions: long code, of which it computes but once what
// two have in common. Their A and B therefore change, by an integer add to each register.
enum class Kind : uint8_t { quad_pairs, sparse_fp8, fp8, bits4, xor_popc };
struct Lowered {
    Kind kind;
    uint16_t from, to;  // architectures, `to` not among them
    unsigned instructions;
};
constexpr auto lowered_rows = std::to_array<Lowered>({
    {Kind::quad_pairs, 80, UINT16_MAX, 8},
    {Kind::sparse_fp8, 90, 120, 8},
    {Kind::fp8, 90, 120, 32},
    {Kind::bits4, 90, UINT16_MAX, 8},
    {Kind::xor_popc, 90, UINT16_MAX, 16},
});

bool is_fp8(Type t) { return t == Type::e4m3 || t == Type::e5m2; }

bool is_kind(const isa::MmaVariant& v, Kind kind) {
    switch (kind) {
        case Kind::quad_pairs:
            return v.threads == isa::Threads::quad_pairs;
        case Kind::sparse_fp8:
            return v.sparse && is_kind(v, Kind::fp8);
        case Kind::fp8:
            return is_fp8(v.a) && v.kind == isa::MmaKind::none;
        case Kind::bits4:
            return v.a == Type::s4 || v.a == Type::u4;
        case Kind::xor_popc:
            return v.combine == isa::Combine::xor_;
    }
    return false;
}

// nullptr: it is an instruction of the machine.
const Lowered* lowered(const isa::MmaVariant& v, uint16_t arch) {
    for (const Lowered& row : lowered_rows)
        if (arch >= row.from && arch < row.to && is_kind(v, row.kind)) return &row;
    return nullptr;
}

// As many warps as have this many registers each.
std::vector<unsigned> warps_for(unsigned registers) {
    std::vector<unsigned> out{1, 2, 4, 8};
    if (registers <= 100) out.push_back(16);
    if (registers <= 58) out.push_back(32);
    return out;
}

Names zeros(ProbeWriter& w, FragmentRegisters f) {
    Names names;
    for (unsigned i = 0; i < f.count; ++i) names.push_back(w.zero(f.width));
    return names;
}

unsigned words(FragmentRegisters f) { return f.count * f.width / 32; }

constexpr unsigned fixed_registers = 20;

void add_mma(ProbeList& list, const isa::MmaVariant& v, unsigned chains) {
    const std::string key = std::string(v.key) + " chains" + std::to_string(chains);
    if (!list.wants(key)) return;
    const Lowered* const other = lowered(v, isa::row(list.arch).number);
    if (other != nullptr && chains != 1 && chains != 4) return;
    const FragmentRegisters fa = fragment_registers(v.fragment_a, v.a);
    const FragmentRegisters fb = fragment_registers(v.fragment_b, v.b);
    const FragmentRegisters fd = fragment_registers(v.fragment_d, v.d);
    const unsigned registers = fixed_registers + words(fa) + words(fb) + chains * words(fd);
    const unsigned instructions = other != nullptr ? other->instructions
                                  : fd.width == 64 ? 128
                                                   : 512;
    std::vector<unsigned> warps =
        other != nullptr ? std::vector<unsigned>{1, 4, 8, 16} : warps_for(registers);
    ProbeWriter w(key, instructions, std::move(warps));
    w.asks(version_of(v), v.suffix());
    const Names a = zeros(w, fa);
    const Names b = zeros(w, fb);
    std::vector<Names> d;
    for (unsigned c = 0; c < chains; ++c) d.push_back(zeros(w, fd));
    std::string last;
    if (v.sparse) {
        // Of each four the first two; half as many of .tf32, whose elements are two units each.
        const std::string metadata = w.zero(32);
        w.setup("or.b32 " + metadata + ", " + metadata + ", 0x44444444");
        last += ", " + metadata + ", 0";
    }
    if (v.scales != 0) {
        const std::string scale = w.zero(32);
        for (int i = 0; i < 2; ++i) last += ", " + scale + ", {0, 0}";
    }
    for (unsigned i = 0; i < instructions; ++i) {
        if (other != nullptr)
            for (const Names& names : {a, b})
                for (const std::string& name : names)
                    w.line("add.u32 " + name + ", " + name + ", %r0");
        const std::string sum = braced(d[i % chains]);
        w.line(mma_spelling(v, false) + " " + sum + ", " + braced(a) + ", " + braced(b) + ", " +
               sum + last);
    }
    for (const Names& names : d)
        for (const std::string& name : names) w.result(name, fd.width);
    list.add(w);
}

void add_wmma(ProbeList& list, const isa::WmmaVariant& v, unsigned chains) {
    const std::string key = std::string(v.key) + " chains" + std::to_string(chains);
    if (!list.wants(key)) return;
    const FragmentRegisters fa = wmma_registers(list.arch, v, 'a');
    const FragmentRegisters fb = wmma_registers(list.arch, v, 'b');
    const FragmentRegisters fd = wmma_registers(list.arch, v, 'd');
    const unsigned registers = fixed_registers + words(fa) + words(fb) + chains * words(fd);
    const unsigned instructions = 128;
    ProbeWriter w(key, instructions, warps_for(registers));
    const Names a = zeros(w, fa);
    const Names b = zeros(w, fb);
    std::vector<Names> d;
    for (unsigned c = 0; c < chains; ++c) d.push_back(zeros(w, fd));
    for (unsigned i = 0; i < instructions; ++i) {
        const std::string sum = braced(d[i % chains]);
        w.line(wmma_spelling(v, false) + " " + sum + ", " + braced(a) + ", " + braced(b) + ", " +
               sum);
    }
    for (const Names& names : d)
        for (const std::string& name : names) w.result(name, fd.width);
    list.add(w);
}

}  // namespace

void add_matrix_probes(ProbeList& list) {
    for (const isa::MmaVariant& v : isa::mma_variants())
        if (list.has(v.target) && v.c == v.d)
            for (const unsigned chains : {1u, 2u, 4u, 8u}) add_mma(list, v, chains);
    // Whole-byte types and more; in one order, for the order of A and B costs nothing.
    for (const isa::WmmaVariant& v : isa::wmma_variants())
        if (list.has(v.target) && v.c == v.d && v.a_order == isa::Order::row &&
            v.b_order == isa::Order::col && isa::bits(v.ab) >= 8)
            for (const unsigned chains : {1u, 2u}) add_wmma(list, v, chains);
}

}  // namespace lockwarp::programs
