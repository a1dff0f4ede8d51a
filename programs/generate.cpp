// SPDX-License-Identifier: Apache-2.0
#include "programs/generate.hpp"

#include <algorithm>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "launch/random.hpp"
#include "programs/operands.hpp"
#include "programs/program_writer.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using isa::Type;

enum class Holds : uint8_t { operand, fragment, metadata, factors };

// A register that every thread loads from its own part of the input.
struct Load {
    Holds holds;
    Type type;      // of a fragment and of metadata: of the matrix's elements
    unsigned held;  // of a fragment: the bits that hold an element
    OperandClass from;
    uint32_t offset;  // in the thread's part
    unsigned width;
};

struct Writer {
    const GenerateOptions& options;
    launch::Random r;
    std::string body;
    std::vector<Load> loads;
    uint32_t thread_bytes = 0;
    // Registers by width: names that hold values.
    std::vector<std::string> b16, b32, b64, predicates;
    unsigned registers = 0;
    unsigned labels = 0;
    uint16_t version = 0;                    // least .version of what was drawn, major * 10 + minor
    isa::Suffix suffix = isa::Suffix::none;  // and what its .target must end with
    OperandClass from = OperandClass::random;
    std::string guard;

    explicit Writer(const GenerateOptions& o) : options(o), r{o.seed, 0} {}

    void line(const std::string& text) { body += "    " + guard + text + ";\n"; }
    void unguarded(const std::string& text) { body += "    " + text + ";\n"; }

    std::vector<std::string>& pool(unsigned width) {
        return width <= 16 ? b16 : width == 32 ? b32 : b64;
    }

    std::string fresh(unsigned width) {
        const char* const prefix = width == 1    ? "%p"
                                   : width <= 16 ? "%h"
                                   : width == 32 ? "%r"
                                                 : "%q";
        return prefix + std::to_string(++registers);
    }

    // A register written by an instruction; later ones may read it.
    std::string destination(unsigned width) {
        std::string name = fresh(width);
        // Under a guard some lanes keep what was there before, which must be the same everywhere.
        if (!guard.empty()) {
            const std::string zero =
                width == 1 ? "mov.pred " + name + ", 0"
                           : "mov.b" + std::to_string(std::max(width, 16u)) + " " + name + ", 0";
            before += "    " + zero + ";\n";
        }
        written.emplace_back(width, name);
        return name;
    }
    std::string before;
    std::vector<std::pair<unsigned, std::string>> written;

    void publish() {
        for (auto& [width, name] : written) (width == 1 ? predicates : pool(width)).push_back(name);
        written.clear();
    }

    std::string load(Holds holds, Type type, unsigned width, unsigned held = 0) {
        thread_bytes = (thread_bytes + width / 8 - 1) / (width / 8) * (width / 8);
        loads.push_back({holds, type, held, from, thread_bytes, width});
        const std::string name = fresh(width);
        before += "    ld.global.b" + std::to_string(width) + " " + name + ", [%qin+" +
                  std::to_string(thread_bytes) + "];\n";
        thread_bytes += width / 8;
        if (holds == Holds::operand || holds == Holds::fragment) pool(width).push_back(name);
        return name;
    }

    std::string load(Type type) { return load(Holds::operand, type, register_width(type)); }

    std::string source(Holds holds, Type type, unsigned width, unsigned held = 0) {
        const std::vector<std::string>& known = pool(width);
        if (!known.empty() && r.one_in(3)) return known[r.below(known.size())];
        return load(holds, type, width, held);
    }

    std::string source(Type type) { return source(Holds::operand, type, register_width(type)); }

    std::string predicate() {
        if (!predicates.empty() && !r.one_in(4)) return predicates[r.below(predicates.size())];
        const std::string name = fresh(1);
        const std::string value = load(Type::u32);
        before += "    setp.lt.s32 " + name + ", " + value + ", 0;\n";
        predicates.push_back(name);
        return name;
    }

    // The control of shfl: clamp and segments.
    std::string control() {
        constexpr std::array<const char*, 5> controls{"0x1f", "0", "0x181f", "0x1c1f", "0x1c00"};
        return controls[r.below(controls.size())];
    }

    std::string operand_text(const isa::OperandSlot& slot, Type type) {
        const unsigned width = register_width(type);
        switch (slot.slot) {
            case isa::Slot::destination:
            case isa::Slot::wide_destination:
            case isa::Slot::packed_destination:
                return destination(width);
            case isa::Slot::source:
            case isa::Slot::wide_source:
            case isa::Slot::packed_source:
                return source(type);
            case isa::Slot::predicate_written:
                return destination(1);
            case isa::Slot::value_pair: {
                const std::string first = destination(width);
                return first + "|" + destination(1);
            }
            case isa::Slot::predicate_or_pair:
            case isa::Slot::value_or_pair: {
                const bool value = slot.slot == isa::Slot::value_or_pair;
                const std::string first = destination(value ? width : 1);
                return r.one_in(2) ? first : first + "|" + destination(1);
            }
            case isa::Slot::predicate_read:
                return (r.one_in(3) ? "!" : "") + predicate();
            case isa::Slot::constant:
                return std::to_string(r.below(256));
            default:  // not of instructions on values
                return "?";
        }
    }

    void scalar(const Choice& choice) {
        const isa::Form& f = *choice.form;
        const isa::Modifiers m = decoded(choice.spelling);
        if (isa::row(f.op).reads_carry) {
            const std::string a = source(Type::u32);
            const std::string b = source(Type::u32);
            before += "    add.cc.u32 " + fresh(32) + ", " + a + ", " + b + ";\n";
        }
        std::string text = choice.spelling;
        if (isa::row(f.op).elements != 0) {
            const VideoOperands v = video_operands(f, m, r.below(uint64_t{1} << 32));
            const std::string a = v.sign[0] + source(Type::u32) + v.select[1];
            const std::string b = v.sign[1] + source(Type::u32) + v.select[2];
            const std::string c = v.third ? ", " + v.sign[2] + source(Type::u32) : "";
            return emit(text + " " + destination(32) + v.select[0] + ", " + a + ", " + b + c);
        }
        for (size_t index = 0; index < f.slots.size(); ++index) {
            const isa::OperandSlot& slot = f.slots[index];
            if (slot.optional) continue;
            const bool mask = needs_the_warp(f.op) && index + 1 == f.slots.size() &&
                              slot.slot == isa::Slot::source && slot.named == Type::u32;
            text += index == 0 ? " " : ", ";
            text += f.op == Op::shfl && index == 2   ? std::to_string(r.below(32))
                    : f.op == Op::shfl && index == 3 ? control()
                    : mask                           ? "0xffffffff"
                    : index == 2 && converts_amount(choice)
                        ? load(Type::u32)
                        : operand_text(slot, isa::type_of(slot, m));
        }
        emit(text);
    }

    void emit(const std::string& text) {
        body += before;
        before.clear();
        line(text);
        publish();
    }

    std::string fragment(FragmentRegisters f, bool reads) {
        std::vector<std::string> names;
        // What hardware does with padding that is not zero is not known: not any register.
        const bool padded = isa::bits(f.element) < f.held;
        for (unsigned i = 0; i < f.count; ++i)
            names.push_back(!reads   ? destination(f.width)
                            : padded ? load(Holds::fragment, f.element, f.width, f.held)
                                     : source(Holds::fragment, f.element, f.width, f.held));
        return braced(names);
    }

    void mma(const isa::MmaVariant& v) {
        const std::string text = mma_spelling(v, v.satfinite && r.one_in(2));
        version = std::max(version, version_of(v));
        suffix = std::max(suffix, v.suffix());
        const std::string d = fragment(fragment_registers(v.fragment_d, v.d), false);
        const std::string a = fragment(fragment_registers(v.fragment_a, v.a), true);
        const std::string b = fragment(fragment_registers(v.fragment_b, v.b), true);
        const std::string c = fragment(fragment_registers(v.fragment_c, v.c), true);
        std::string line = text + " " + d + ", " + a + ", " + b + ", " + c;
        if (v.sparse)
            line += ", " + load(Holds::metadata, v.a, 32) + ", " +
                    std::to_string(r.below(4 / isa::metadata_lanes(v)));
        for (const bool of_a : {true, false})
            if (v.scales != 0)
                line += ", " + load(Holds::factors, v.scale, 32) + ", " + drawn_ids(v, of_a);
        emit(line);
    }

    // As constants or in registers.
    std::string drawn_ids(const isa::MmaVariant& v, bool of_a) {
        std::vector<std::string> ids;
        const bool in_registers = r.one_in(3);
        for (const unsigned id : scale_ids(v, of_a, r.below(16))) {
            ids.push_back(in_registers ? fresh(16) : std::to_string(id));
            if (in_registers)
                before += "    mov.b16 " + ids.back() + ", " + std::to_string(id) + ";\n";
        }
        return braced(ids);
    }

    void wmma(const isa::WmmaVariant& v) {
        constexpr std::array<const char*, 4> roundings{".rn", ".rz", ".rm", ".rp"};
        const bool rounds = v.ab == Type::f64 && r.one_in(2);
        const std::string text =
            wmma_spelling(v, v.satfinite && r.one_in(2), rounds ? roundings[r.below(4)] : "");
        const auto part = [&](char which) {
            return fragment(wmma_registers(options.arch, v, which), which != 'd');
        };
        const std::string d = part('d');
        const std::string a = part('a');
        const std::string b = part('b');
        const std::string c = part('c');
        emit(text + " " + d + ", " + a + ", " + b + ", " + c);
    }

    // Four warps' product: each thread writes its 32 bytes of the warpgroup's four kilobytes, where
    // descriptors put A and B anywhere, lines over each other too.
    void warpgroup(const isa::WarpgroupVariant& v) {
        const isa::WarpgroupTypes& t = *v.types;
        const unsigned width = isa::bits(t.a);
        version = std::max<uint16_t>(version, 84);
        suffix = std::max(suffix, isa::row(Op::wgmma_mma).suffix);
        std::vector<std::string> d;
        const size_t known = b32.size();
        for (unsigned i = 0; i < isa::registers_of_d(v); ++i)
            d.push_back(load(Holds::fragment, t.d, 32, isa::bits(t.d)));
        // Of D few are read again: a thread has 255 registers.
        b32.resize(known + 2);
        for (unsigned i = 0; i < 8; ++i) {
            const std::string word = load(Holds::fragment, i % 2 == 0 ? t.a : t.b, 32, width);
            before += "    st.shared.b32 [%rw+" + std::to_string(4 * i) + "], " + word + ";\n";
        }
        const bool halves = width == 16;
        const bool in_registers = r.one_in(3);
        const bool transposed_a = halves && !in_registers && r.one_in(2);
        const bool transposed_b = halves && r.one_in(2);
        const std::string a =
            in_registers ? fragment({4, 32, t.a, width}, true) : descriptor(64, transposed_a);
        std::string text =
            warpgroup_spelling(v, t.d == Type::s32 && t.a != Type::b1 && r.one_in(2));
        text += " " + braced(d) + ", " + a + ", " + descriptor(v.n, transposed_b) + ", " +
                (r.one_in(6) ? "0" : "1");
        const auto flag = [&](bool yes, const char* set, const char* clear) {
            text += yes ? set : clear;
        };
        if (isa::is_float(t.a)) {
            flag(r.one_in(3), ", -1", ", 1");
            flag(r.one_in(3), ", -1", ", 1");
        }
        if (halves && !in_registers) flag(transposed_a, ", 1", ", 0");
        if (halves) flag(transposed_b, ", 1", ", 0");
        before += "    fence.proxy.async;\n    bar.sync 0;\n    wgmma.fence.sync.aligned;\n";
        emit(text);
        unguarded("wgmma.commit_group.sync.aligned");
        unguarded("wgmma.wait_group.sync.aligned 0");
        unguarded("bar.sync 0");
    }

    // A register with the descriptor of an operand of `lines` lines somewhere in the four
    // kilobytes.
    std::string descriptor(unsigned lines, bool transposed) {
        isa::MatrixDescriptor d;
        d.swizzle = static_cast<isa::Swizzle>(r.below(4));
        if (d.swizzle != isa::Swizzle::none && r.one_in(6))
            d.base_offset = static_cast<uint8_t>(r.below(8));
        const auto sixteens = [&](unsigned most) {
            return static_cast<uint32_t>(r.below(most / 16 + 1) * 16);
        };
        // How often each offset counts at most, and what the last element is away without them.
        const bool plain = d.swizzle == isa::Swizzle::none;
        const unsigned span = plain ? 16 : isa::swizzle_bytes(d.swizzle);
        const unsigned groups = lines / 8 - 1;
        const unsigned leads = !transposed ? plain : plain ? 1 : lines * 2 / span;
        const unsigned strides = transposed && !plain ? 1 : groups;
        const unsigned rest = 4096 - 8 * span;
        d.leading = sixteens(rest / 2 / std::max(leads, 1u));
        d.stride = sixteens(rest / 2 / std::max(strides, 1u));
        d.start = sixteens(rest - leads * d.leading - strides * d.stride);
        const std::string place = fresh(32), out = fresh(64);
        before += "    mov.u32 " + place + ", sm; shr.u32 " + place + ", " + place +
                  ", 4;\n    cvt.u64.u32 " + out + ", " + place + "; add.u64 " + out + ", " + out +
                  ", " + std::to_string(isa::encode_descriptor(d)) + ";\n";
        return out;
    }

    // A matrix anywhere in the warp's own kilobyte of shared memory, its lines as far apart as that
    // allows.
    void wmma_move(const Choice& choice) {
        const isa::Modifiers m = decoded(choice.spelling);
        const isa::WmmaFragment& f = *moved_fragment(options.arch, m);
        const Lines lines = lines_of(f, m.order[0]);
        const unsigned unit = 256 / f.part.bits;  // elements of 32 bytes
        const unsigned room = 1024 * 8 / f.part.bits;
        const unsigned least = (lines.elements + unit - 1) / unit * unit;
        unsigned stride = lines.elements;
        const bool given = lines.elements % unit != 0 || r.one_in(2);
        if (given && lines.count > 1)
            stride = least + static_cast<unsigned>(r.below(
                                 (room - lines.count * least) / (lines.count - 1) / unit + 1)) *
                                 unit;
        if (lines.count * least > room) stride = lines.elements;
        const unsigned used = stride * (lines.count - 1) + lines.elements;
        const auto offset = static_cast<unsigned>(r.below((room - used) / unit + 1)) * 32;
        const std::string at = "[%rsm+" + std::to_string(offset) + "]";
        const std::string last =
            stride == lines.elements && r.one_in(2) ? "" : ", " + std::to_string(stride);
        const bool loads_matrix = choice.form->op == Op::wmma_load;
        const std::string registers_text = fragment(wmma_registers(f, m.type[0]), !loads_matrix);
        emit(choice.spelling + " " +
             (loads_matrix ? registers_text + ", " + at : at + ", " + registers_text) + last);
        unguarded("bar.warp.sync 0xffffffff");
    }

    // Rows at any 16-byte step of the warp's own kilobyte of shared memory.
    void matrix_move(const Choice& choice) {
        const isa::Modifiers m = decoded(choice.spelling);
        const std::string row = fresh(32);
        const std::string any = source(Type::u32);
        before += "    and.b32 " + row + ", " + any + ", 1008;\n    add.u32 " + row + ", " + row +
                  ", %rsm;\n";
        const bool loads_matrix = choice.form->op == Op::ldmatrix;
        // Where rows of a store overlap, the order of the lanes would show: each gets its own.
        if (!loads_matrix) before += "    mad.lo.u32 " + row + ", %rlane, 16, %rsm;\n";
        const std::string registers_text = fragment({m.matrices, 32, Type::b32, 32}, !loads_matrix);
        emit(loads_matrix ? choice.spelling + " " + registers_text + ", [" + row + "]"
                          : choice.spelling + " [" + row + "], " + registers_text);
        unguarded("bar.warp.sync 0xffffffff");
    }

    // Families first, so that one with many spellings does not crowd out the others.
    const Choice& draw(const std::vector<std::vector<Choice>>& families) {
        const std::vector<Choice>& family = families[r.below(families.size())];
        return family[r.below(family.size())];
    }

    // NVIDIA's compiler (ptxas 13.0, its code read; driver 580, an H200) runs testp whatever its
    // guard says, and vadd4 and vsub4 of u32 with .add, the only ones of 484 video instructions; a
    // set to f16 or bf16 changes the old value where the guard is false (tests/compiler).
    static bool loses_guard(const Choice& choice) {
        return choice.form->op == Op::testp ||
               choice.spelling.starts_with("vadd4.u32.u32.u32.add") ||
               choice.spelling.starts_with("vsub4.u32.u32.u32.add") ||
               (choice.form->op == Op::set &&
                (choice.spelling.find("f16.") != std::string::npos ||
                 choice.spelling.find("f16x2.") != std::string::npos));
    }

    // It converts the amount of a 64-bit shift where an instruction on f32 wrote it (ptxas 13.0,
    // its code read; an H200).
    static bool converts_amount(const Choice& choice) {
        return (choice.form->op == Op::shl || choice.form->op == Op::shr) &&
               choice.spelling.ends_with("64");
    }

    void one(const Choice& choice) {
        from = static_cast<OperandClass>(r.below(static_cast<uint64_t>(OperandClass::count_)));
        if (choice.mma != nullptr) return mma(*choice.mma);
        if (choice.wmma != nullptr) return wmma(*choice.wmma);
        if (choice.warpgroup != nullptr) return warpgroup(*choice.warpgroup);
        if (choice.form->op == Op::wmma_load || choice.form->op == Op::wmma_store)
            return wmma_move(choice);
        if (choice.matrix_move) return matrix_move(choice);
        const bool warp = needs_the_warp(choice.form->op);
        if (!warp && r.one_in(6) && !loses_guard(choice)) {
            const std::string p = predicate();
            body += before;
            before.clear();
            guard = (r.one_in(2) ? "@" : "@!") + p + " ";
        }
        scalar(choice);
        guard.clear();
    }

    // A part of the warp runs some instructions more than the other.
    void branch(const std::vector<std::vector<Choice>>& families) {
        std::vector<Choice> plain;
        for (int i = 0; i < 40 && plain.size() < 3; ++i) {
            const Choice& c = draw(families);
            if (c.form != nullptr && !c.matrix_move && !needs_the_warp(c.form->op))
                plain.push_back(c);
        }
        const std::string p = predicate();
        body += before;
        before.clear();
        const std::string label = "L" + std::to_string(++labels);
        unguarded("@" + p + " bra " + label);
        // Registers of the branch are loaded, written and read in it alone.
        const std::vector<std::string> k16 = b16;
        const std::vector<std::string> k32 = b32;
        const std::vector<std::string> k64 = b64;
        const std::vector<std::string> kp = predicates;
        for (const Choice& c : plain) scalar(c);
        b16 = k16;
        b32 = k32;
        b64 = k64;
        predicates = kp;
        body += label + ":\n";
    }

    std::string module() const {
        std::string out = module_version(options.arch, version) + ".target " +
                          target_of(options.arch, suffix) +
                          "\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n";
        const std::string n = "<" + std::to_string(registers + 1) + ">";
        out += "    .reg .b16 %h" + n + "; .reg .b32 %r" + n + "; .reg .b64 %q" + n +
               "; .reg .pred %p" + n + ";\n";
        out += "    .reg .b32 %rsm, %rlane, %rw; .reg .b64 %qin, %qt;\n";
        out += "    .shared .align 1024 .b8 sm[" + std::to_string(1024 * options.warps) + "];\n";
        out +=
            "    ld.param.u64 %qin, [in]; mov.u32 %rw, %ctaid.x; mov.u32 %rlane, %ntid.x;\n"
            "    mul.lo.u32 %rw, %rw, %rlane; mov.u32 %rlane, %tid.x; add.u32 %rw, %rw, %rlane;\n";
        out += "    mul.wide.u32 %qt, %rw, " + std::to_string(stride()) +
               "; add.u64 %qin, %qin, %qt;\n";
        out +=
            "    shr.u32 %rw, %rlane, 5; mov.u32 %rsm, sm; mad.lo.u32 %rsm, %rw, 1024, %rsm;\n"
            "    mov.u32 %rlane, %laneid;\n";
        // The warp's kilobyte: 32 bytes a lane, values that differ.
        out += "    mad.lo.u32 %rw, %rlane, 32, %rsm;\n";
        for (int i = 0; i < 8; ++i)
            out += "    mad.lo.u32 %r0, %rw, " +
                   std::to_string(2654435761u + static_cast<uint32_t>(i) * 40503u) +
                   ", %rlane; st.shared.b32 [%rw+" + std::to_string(4 * i) + "], %r0;\n";
        out += "    bar.warp.sync 0xffffffff;\n";
        return out + body + "    ret;\n}\n";
    }

    uint32_t stride() const { return (thread_bytes + 15) / 16 * 16; }
};

uint64_t value_of(const Load& l, launch::Random& r) {
    switch (l.holds) {
        case Holds::fragment:
            return fragment_register(l.type, l.held, l.from, r);
        case Holds::metadata:
            return metadata_register(l.type, r);
        case Holds::factors:
            return scale_register(l.type, l.from, r);
        case Holds::operand:
            break;
    }
    return register_operand(l.type, l.from, r);
}

// Each thread's operands, thread by thread.
std::vector<uint8_t> input_bytes(const Writer& w, uint64_t threads, uint64_t seed) {
    std::vector<uint8_t> out(threads * w.stride() + spare_bytes);
    launch::Random r{launch::splitmix64(seed, 1), 0};
    for (uint64_t t = 0; t < threads; ++t)
        for (const Load& l : w.loads) {
            const uint64_t value = value_of(l, r);
            std::memcpy(out.data() + t * w.stride() + l.offset, &value, l.width / 8);
        }
    return out;
}

}  // namespace

std::vector<std::string> generated_instructions(isa::Arch arch) {
    std::vector<std::string> out;
    for (const Choice& c : choices(arch)) out.push_back(c.spelling);
    return out;
}

launch::Result<Generated> generate(const GenerateOptions& options) {
    std::vector<Choice> all = choices(options.arch);
    // Large accumulators leave no registers for what else a program has.
    const unsigned most = options.warps % 4 != 0 ? 0 : options.only.empty() ? 32 : 128;
    std::erase_if(all, [&](const Choice& c) {
        return c.warpgroup != nullptr && isa::registers_of_d(*c.warpgroup) > most;
    });
    if (!options.only.empty())
        std::erase_if(all, [&](const Choice& c) {
            const std::string& key = c.spelling;
            return std::ranges::none_of(options.only, [&](const std::string& name) {
                return key == name || key.starts_with(name + ".");
            });
        });
    if (all.empty()) return launch::failure("nothing of that name can be generated");
    std::vector<std::vector<Choice>> families(static_cast<size_t>(Op::count_));
    for (const Choice& c : all)
        families[static_cast<size_t>(c.mma != nullptr         ? Op::mma
                                     : c.wmma != nullptr      ? Op::wmma_mma
                                     : c.warpgroup != nullptr ? Op::wgmma_mma
                                                              : c.form->op)]
            .push_back(c);
    std::erase_if(families, [](const auto& f) { return f.empty(); });
    std::vector<std::vector<Choice>> matrices;
    std::ranges::copy_if(families, std::back_inserter(matrices), [](const auto& f) {
        return f[0].mma != nullptr || f[0].wmma != nullptr || f[0].warpgroup != nullptr ||
               f[0].matrix_move;
    });
    Generated out;
    Writer w(options);
    for (unsigned i = 0; i < options.instructions; ++i) {
        if (w.r.one_in(12) && matrices.size() < families.size())
            w.branch(families);
        else
            w.one(w.draw(!matrices.empty() && w.r.one_in(3) ? matrices : families));
    }
    out.ptx = w.module();
    ptx::Parsed parsed = ptx::parse(out.ptx);
    out.c.module = std::move(parsed.module);
    out.c.entry = "k";
    out.c.grid = {options.ctas, 1, 1};
    out.c.block = {options.warps * 32, 1, 1};
    out.c.parameters.resize(8);
    out.c.patches = {{0, 0, 0}};
    out.c.names = {"in"};
    out.c.bytes = {input_bytes(w, uint64_t{options.ctas} * options.warps * 32, options.seed)};
    return out;
}

}  // namespace lockwarp::programs
