// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of random programs, and what moves matrices.
#include "programs/generate_writer.hpp"

namespace lockwarp::programs {

std::string Writer::fragment(FragmentRegisters f, bool reads) {
    std::vector<std::string> names;
    // What hardware does with padding that is not zero is not known: not any register.
    const bool padded = isa::bits(f.element) < f.held;
    for (unsigned i = 0; i < f.count; ++i)
        names.push_back(!reads   ? destination(f.width)
                        : padded ? load(Holds::fragment, f.element, f.width, f.held)
                                 : source(Holds::fragment, f.element, f.width, f.held));
    return braced(names);
}

void Writer::mma(const isa::MmaVariant& v) {
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

std::string Writer::drawn_ids(const isa::MmaVariant& v, bool of_a) {
    std::vector<std::string> ids;
    const bool in_registers = r.one_in(3);
    for (const unsigned id : scale_ids(v, of_a, r.below(16))) {
        ids.push_back(in_registers ? fresh(16) : std::to_string(id));
        if (in_registers) before += "    mov.b16 " + ids.back() + ", " + std::to_string(id) + ";\n";
    }
    return braced(ids);
}

void Writer::wmma(const isa::WmmaVariant& v) {
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

void Writer::warpgroup(const isa::WarpgroupVariant& v, bool sparse) {
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
        warpgroup_spelling(v, sparse, t.d == Type::s32 && t.a != Type::b1 && r.one_in(2));
    text += " " + braced(d) + ", " + a + ", " + descriptor(v.n, transposed_b, sparse) + ", ";
    if (sparse)
        text += load(Holds::metadata, t.a, 32) + ", " + std::to_string(width > 8 ? r.below(2) : 0) +
                ", ";
    text += r.one_in(6) ? "0" : "1";
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

std::string Writer::descriptor(unsigned lines, bool transposed, bool sparse) {
    isa::MatrixDescriptor d;
    const unsigned pieces =
        sparse ? 4 : 2;  // of 16 bytes along k, or of eight rows of a transposed one
    d.swizzle = static_cast<isa::Swizzle>(r.below(4));
    // Lines longer than the swizzle's span: the manual has none.
    if (sparse && !transposed && d.swizzle == isa::Swizzle::bytes_32)
        d.swizzle = isa::Swizzle::bytes_64;
    if (d.swizzle != isa::Swizzle::none && r.one_in(6))
        d.base_offset = static_cast<uint8_t>(r.below(8));
    const auto sixteens = [&](unsigned most) {
        return static_cast<uint32_t>(r.below(most / 16 + 1) * 16);
    };
    // How often each offset counts at most, and what the last element is away without them.
    const bool plain = d.swizzle == isa::Swizzle::none;
    const unsigned span = plain ? 16 : isa::swizzle_bytes(d.swizzle);
    const unsigned groups = lines / 8 - 1;
    const unsigned leads = !transposed ? plain * (pieces - 1)
                           : plain     ? pieces - 1
                                       : lines * 2 / span;
    const unsigned strides = transposed && !plain ? pieces - 1 : groups;
    const unsigned rest = 4096 - 8 * span;
    d.leading = sixteens(rest / 2 / std::max(leads, 1u));
    d.stride = sixteens(rest / 2 / std::max(strides, 1u));
    d.start = sixteens(rest - leads * d.leading - strides * d.stride);
    const std::string place = fresh(32), out = fresh(64);
    before += "    mov.u32 " + place + ", sm; bfe.u32 " + place + ", " + place +
              ", 4, 14;\n    cvt.u64.u32 " + out + ", " + place + "; add.u64 " + out + ", " + out +
              ", " + std::to_string(isa::encode_descriptor(d)) + ";\n";
    return out;
}

void Writer::wmma_move(const Choice& choice) {
    const isa::Modifiers m = decoded(choice.spelling);
    const isa::WmmaFragment& f = *moved_fragment(options.arch, m);
    const Lines lines = lines_of(f, m.order[0]);
    const unsigned unit = 256 / f.part.bits;  // elements of 32 bytes
    const unsigned room = 1024 * 8 / f.part.bits;
    const unsigned least = (lines.elements + unit - 1) / unit * unit;
    unsigned stride = lines.elements;
    const bool given = lines.elements % unit != 0 || r.one_in(2);
    if (given && lines.count > 1)
        stride = least + static_cast<unsigned>(
                             r.below((room - lines.count * least) / (lines.count - 1) / unit + 1)) *
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

void Writer::matrix_move(const Choice& choice) {
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

}  // namespace lockwarp::programs
