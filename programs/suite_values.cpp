// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "emu/isa/operation.hpp"
#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using isa::Type;

// D of an mma: two sets take turns, so that a result can be the next one's operand.
std::vector<std::string> results(FragmentRegisters f, unsigned set) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < f.count; ++i)
        names.push_back("%d" + std::to_string(set) + "_" + std::to_string(i));
    return names;
}

std::vector<std::string> rotated(std::vector<std::string> names, unsigned by) {
    std::rotate(names.begin(), names.begin() + by % names.size(), names.end());
    return names;
}

bool counts_bits(Op op) {
    return op == Op::shl || op == Op::shr || op == Op::shf || op == Op::bfe || op == Op::bfi;
}

// The operands of one instruction. `n`: its number, so that instructions of one row differ in what
// may differ. immediate: what stands for I.
std::string operands(SuiteWriter& w, const Spelled& s, unsigned n, unsigned immediate) {
    constexpr std::array roles{Role::a, Role::b, Role::c};
    std::string text;
    unsigned sources = 0;
    unsigned counts_used = 0;
    for (const isa::OperandSlot& slot : s.form->slots) {
        if (slot.optional) continue;
        const Type type = isa::type_of(slot, s.mod);
        const bool counts = counts_bits(s.form->op) && slot.rule == isa::TypeRule::named;
        text += text.empty() ? " " : ", ";
        switch (slot.slot) {
            case isa::Slot::destination:
            case isa::Slot::wide_destination:
            case isa::Slot::packed_destination:
                text += w.result(register_width(type));
                break;
            case isa::Slot::value_pair:
                text += w.result(32) + "|" + w.result(1);
                break;
            case isa::Slot::predicate_written:
                text += w.result(1);
                break;
            case isa::Slot::predicate_or_pair:
                text += w.result(1) + (n % 2 == 0 ? "|" + w.result(1, 1) : "");
                break;
            case isa::Slot::predicate_read:
                text += (n % 3 == 0 ? "!" : "") + w.predicate((n + sources++) % 4);
                break;
            case isa::Slot::constant:
                text += std::to_string(immediate);
                break;
            case isa::Slot::source:
            case isa::Slot::wide_source:
            case isa::Slot::packed_source:
                if (counts)
                    text += w.input(Type::b32, Role::count, counts_used++);
                else if (s.form->op == Op::prmt && sources == 2)
                    text += w.input(Type::b32, Role::word);
                else
                    text += w.input(type, roles[sources++ % 3]);
                break;
            default:  // not of instructions on values
                text += "?";
        }
    }
    return text;
}

void write_wide_mov(SuiteWriter& w, const Spelled& s) {
    const Type type = s.mod.type[0];
    if (type == Type::b128) {
        w.line("mov.b128 %x128_0, {" + w.input(Type::b64, Role::a) + ", " +
               w.input(Type::b64, Role::b) + "}");
        w.line(s.text + " %x128_1, %x128_0");
        w.line(s.text + " {%x64_0, %x64_1}, %x128_1");
        w.line(s.text + " {%x32_0, %x32_1, %x32_2, %x32_3}, %x128_1");
        w.line(s.text + " %x128_2, {%x32_3, %x32_1, %x32_0, %x32_2}");
        w.line(s.text + " {_, %x64_1}, %x128_2");
        return;
    }
    constexpr std::array roles{Role::a, Role::b, Role::c, Role::word};
    std::vector<std::string> to;
    std::vector<std::string> from;
    for (unsigned i = 0; i < s.mod.vec; ++i) {
        to.push_back(w.result(register_width(type), i));
        from.push_back(w.input(type, roles[i]));
    }
    w.line(s.text + " " + braced(to) + ", " + braced(from));
}

// With some of the selectors and signs that there are.
void write_video(SuiteWriter& w, const Spelled& s, unsigned n) {
    constexpr uint64_t step = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    constexpr uint64_t spelled_times = 3;
    for (uint64_t i = 0; i < spelled_times; ++i) {
        const VideoOperands v =
            video_operands(*s.form, s.mod, i == 0 ? 0 : (spelled_times * n + i) * step);
        const auto of = [&](size_t which, Role role) {
            return v.sign[which] + w.input(Type::b32, role) +
                   (which < 2 ? v.select[which + 1] : "");
        };
        w.line(s.text + " " + w.result(32) + v.select[0] + ", " + of(0, Role::a) + ", " +
               of(1, n % 2 == 0 ? Role::b : Role::word) + (v.third ? ", " + of(2, Role::c) : ""));
    }
}

// Vectors that pack and unpack, constants, special registers.
void write_other_moves(SuiteWriter& w) {
    const auto h = [&](Role r) { return w.input(Type::b16, r); };
    const auto i = [&](Role r) { return w.input(Type::b32, r); };
    w.line("mov.b32 " + w.result(32) + ", {" + h(Role::a) + ", " + h(Role::b) + "}");
    w.line("mov.b64 " + w.result(64) + ", {" + i(Role::a) + ", " + i(Role::b) + "}");
    w.line("mov.b64 " + w.result(64) + ", {" + h(Role::a) + ", " + h(Role::b) + ", " + h(Role::c) +
           ", " + h(Role::a) + "}");
    w.line("mov.b32 {" + w.result(16) + ", " + w.result(16, 1) + "}, " + i(Role::a));
    w.line("mov.b64 {" + w.result(32) + ", " + w.result(32, 1) + "}, " +
           w.input(Type::b64, Role::a));
    w.line("mov.b64 {" + w.result(16) + ", " + w.result(16, 1) + ", " + w.result(16, 2) + ", " +
           w.result(16, 3) + "}, " + w.input(Type::b64, Role::a));
    w.line("mov.pred " + w.result(1) + ", 1");
    w.line("mov.pred " + w.result(1) + ", 0");
    w.line("mov.u16 " + w.result(16) + ", 65535");
    w.line("mov.s32 " + w.result(32) + ", -7");
    w.line("mov.u64 " + w.result(64) + ", 0x123456789abcdef0");
    w.line("mov.f32 " + w.result(32) + ", 0f3fc00000");
    w.line("mov.f64 " + w.result(64) + ", 0dbff8000000000000");
    for (const isa::SpecialRow& r : isa::special_rows()) {
        if (r.outside || r.special == isa::Special::dynamic_smem_size) continue;
        const unsigned width = isa::bits(r.type);
        if (!isa::has(w.arch(), r.target)) continue;
        if (r.type == Type::pred) {
            w.line("mov.pred " + w.result(1) + ", " + std::string(r.name));
            continue;
        }
        w.line("mov.u" + std::to_string(width) + " " + w.result(width) + ", " +
               std::string(r.name));
    }
}

}  // namespace

void write_values(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    constexpr auto truth_tables = std::to_array<unsigned>(
        {0x00, 0x1b, 0x35, 0x3c, 0x42, 0x66, 0x69, 0x80, 0x96, 0xac, 0xca, 0xe2, 0xe8, 0xfe, 0xff});
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        if (is_wide(*s.form)) {
            write_wide_mov(w, s);
        } else if (isa::row(s.form->op).elements != 0) {
            write_video(w, s, n);
        } else if (s.form->op == Op::lop3) {
            for (const unsigned table : truth_tables) w.line(s.text + operands(w, s, n, table));
        } else {
            // A carry is written before it is read, and shows in what is read of it.
            if (isa::row(s.form->op).reads_carry)
                w.line("add.cc.u32 " + w.result(32, 1) + ", " + w.input(Type::b32, Role::a) + ", " +
                       w.input(Type::b32, Role::b));
            w.line(s.text + operands(w, s, n, 0));
            if (s.mod.cc) w.line("addc.u32 " + w.result(32, 1) + ", 0, 0");
        }
        ++n;
    }
    if (spellings[0].form->op == Op::mov) write_other_moves(w);
}

void write_mma(SuiteWriter& w, const isa::MmaVariant& v) {
    const FragmentRegisters fa = fragment_registers(v.fragment_a, v.a);
    const FragmentRegisters fb = fragment_registers(v.fragment_b, v.b);
    const FragmentRegisters fc = fragment_registers(v.fragment_c, v.c);
    const FragmentRegisters fd = fragment_registers(v.fragment_d, v.d);
    w.target(v.suffix());
    const auto inputs = [&](FragmentRegisters f, unsigned base) {
        std::vector<std::string> names;
        for (unsigned i = 0; i < f.count; ++i)
            names.push_back(w.input(f.element, Role::fragment, base + i, f.held));
        return names;
    };
    const std::vector<std::string> a = inputs(fa, 0);
    const std::vector<std::string> b = inputs(fb, 100);
    const std::vector<std::string> c = inputs(fc, 200);
    const unsigned width = fd.width;
    for (unsigned set = 0; set < 2; ++set)
        w.declare(".reg .b" + std::to_string(width) + " %d" + std::to_string(set) + "_<" +
                  std::to_string(fd.count) + ">");
    using Names = std::vector<std::string>;
    const auto product = [&](const std::string& text, const Names& d, const Names& x,
                             const Names& y, const Names& z, unsigned n) {
        std::string line =
            text + " " + braced(d) + ", " + braced(x) + ", " + braced(y) + ", " + braced(z);
        if (v.sparse) {
            // All selectors take their turn.
            const unsigned selectors = 4 / isa::metadata_lanes(v);
            line += ", " + w.input(v.a, Role::metadata, n) + ", " + std::to_string(n % selectors);
        }
        for (const bool of_a : {true, false}) {
            if (v.scales == 0) continue;
            // As constants and in registers by turns.
            std::vector<std::string> ids;
            unsigned reg = of_a ? 2 : 4;
            for (const unsigned id : scale_ids(v, of_a, n * 5)) {
                ids.push_back(std::to_string(id));
                if (n % 2 == 0) continue;
                const std::string name = w.result(16, reg++);
                w.line("mov.b16 " + name + ", " + ids.back());
                ids.back() = name;
            }
            line += ", " + w.input(v.scale, Role::factors, n * 2 + of_a) + ", " + braced(ids);
        }
        w.line(line);
    };
    // Each execution has other pairs of A and B; every second one goes on from the last result
    // where D can be C. Few of the variants that differ only in where elements lie.
    const unsigned executions = v.threads == isa::Threads::quad_pairs ? 2 : width == 64 ? 3 : 4;
    for (unsigned e = 0; e < executions; ++e) {
        const bool chained = e % 2 == 1 && v.c == v.d;
        const std::vector<std::string> d = results(fd, e % 2);
        product(mma_spelling(v, false), d, rotated(a, e), rotated(b, e / 2),
                chained ? results(fd, 0) : c, e);
    }
    const std::string plus = v.satfinite ? mma_spelling(v, true) : "";
    if (!plus.empty()) {
        product(plus, results(fd, 0), a, b, c, 0);
        product(plus, results(fd, 1), rotated(a, 1), b, v.c == v.d ? results(fd, 0) : c, 1);
    }
    for (unsigned i = 0; i < fd.count && i < 2; ++i)
        w.line("st.global.b" + std::to_string(width) + " [%qout+" + std::to_string(i * width / 8) +
               "], " + results(fd, 1)[i]);
}

void write_warp(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    const std::string full = "0xffffffff";
    const std::string value = w.input(Type::b32, Role::word);
    const std::string from = w.input(Type::b32, Role::count);
    // The lower half of the warp alone, with its own mask.
    const auto in_half = [&](const std::string& text, unsigned n) {
        const std::string after = "after" + std::to_string(n);
        w.line("setp.ge.u32 %u3, %rlane, 16");
        w.line("@%u3 bra " + after);
        w.line(text);
        w.label(after);
        w.line("bar.warp.sync " + full);
    };
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        switch (s.form->op) {
            case Op::shfl:
                for (const char* const clamp :
                     {"0x1f", "0", "0x181f", "0x1c1f", "0x1c00", "0x1007"})
                    for (const std::string& by :
                         {std::string("0"), std::string("1"), std::string("5"), std::string("16"),
                          std::string("31"), from})
                        w.line(s.text + " " + w.result(32) + (n++ % 3 == 0 ? "" : "|%x1_0") + ", " +
                               value + ", " + by + ", " + clamp + ", " + full);
                in_half(s.text + " " + w.result(32) + "|%x1_0, " + value + ", 1, 0x100f, 0xffff",
                        n++);
                break;
            case Op::vote: {
                const bool ballot = s.mod.vote == isa::Vote::ballot;
                const std::string to = (ballot ? w.result(32) : w.result(1)) + ", ";
                for (unsigned p = 0; p < 3; ++p)
                    for (const char* const sign : {"", "!"})
                        w.line(s.text + " " + to + sign + w.predicate(p) + ", " + full);
                w.line("setp.lt.u32 %x1_2, %rlane, 32");
                for (const char* const p : {"%x1_2", "!%x1_2"})
                    w.line(s.text + " " + to + p + ", " + full);
                in_half(s.text + " " + to + w.predicate(0) + ", 0xffff", n++);
                break;
            }
            case Op::match:
            case Op::redux:
            case Op::redux_float: {
                const bool wide = isa::bits(s.mod.type[0]) == 64;
                const bool real = isa::is_float(s.mod.type[0]);
                const Type type = wide ? Type::b64 : real ? Type::f32 : Type::b32;
                const std::string both = s.mod.vote == isa::Vote::all ? "|%x1_0" : "";
                const std::string to = s.text + " " + w.result(32) + both + ", ";
                const std::string few = wide ? "%q1" : "%t1";
                w.line("and.b32 %t1, " + value + ", 3");
                w.line("cvt.u64.u32 %q1, %t1");
                const std::vector<std::string> values{w.input(type, Role::a),
                                                      w.input(type, Role::word), few,
                                                      real ? "0f40e00000" : "7"};
                for (const std::string& a : values) w.line(to + a + ", " + full);
                in_half(to + few + ", 0xffff", n++);
                break;
            }
            case Op::elect:
                w.line(s.text + " " + w.result(32) + "|%x1_0, " + full);
                in_half(s.text + " " + w.result(32) + "|%x1_0, 0xffff", n++);
                break;
            case Op::movmatrix:
                for (const Role role : {Role::a, Role::b, Role::c, Role::word})
                    w.line(s.text + " " + w.result(32) + ", " + w.input(Type::b32, role));
                w.line(s.text + " " + w.result(32) + ", " + w.result(32));
                break;
            default:  // activemask
                w.line(s.text + " " + w.result(32));
                break;
        }
    }
}

}  // namespace lockwarp::programs
