// SPDX-License-Identifier: Apache-2.0
// The qualifier .kind of mma: what the assembler (ptxas 13.0) says where a target or a combination
// of modifiers does not have it.
#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

std::string on_this_target(const Resolver& r, std::string_view words) {
    return std::string(words) + " not supported on .target 'sm_" +
           std::to_string(r.program.target) + std::string(text_of(r.program.suffix)) + "'";
}

bool is_fp6_or_fp4(Type t) { return t == Type::e3m2 || t == Type::e2m3 || t == Type::e2m1; }

std::string illegal(std::string_view modifier, Type scale = Type::none) {
    std::string text = "Illegal modifier '" + std::string(modifier) + "' for instruction 'mma'";
    if (scale != Type::none) text += " with type '" + std::string(row(scale).name) + "'";
    return text;
}

std::string required(std::string_view modifier) {
    return std::string(modifier) + " modifier required for instruction 'mma'";
}

// Of a kind with scale factors: what is wrong with these, whatever the other types.
std::string scales_refusal(const MmaQuery& q) {
    if (q.kind == MmaKind::mxf8f6f4) return q.scales == 1 ? "" : illegal(scale_vec_text(q.scales));
    if (q.scales == 0) return required(".scale_vec_size");
    if (q.kind == MmaKind::mxf4 && q.scales != 2)
        return "Modifier '" + std::string(scale_vec_text(q.scales)) +
               "' cannot be combined with modifier '.kind::mxf4'";
    if (q.scales == 1) return illegal(scale_vec_text(q.scales));
    if ((q.scales == 4) == (q.scale == Type::ue4m3)) return {};
    return illegal(q.kind == MmaKind::mxf4 ? text_of(q.kind) : scale_vec_text(q.scales), q.scale);
}

}  // namespace

std::string specific_unsupported(const Resolver& r, const MmaVariant& v) {
    for (const Specific& s : v.specific)
        if (!s.words.empty() && (r.program.target < v.target || r.program.suffix < s.suffix))
            return on_this_target(r, s.words);
    return {};
}

std::string kind_refusal(const Resolver& r, const MmaQuery& q, bool block_scale,
                         std::string_view shape) {
    const bool small = is_fp6_or_fp4(q.types[1]) || is_fp6_or_fp4(q.types[2]);
    const bool family = r.program.target >= 120 && r.program.suffix != Suffix::none;
    if (q.kind == MmaKind::none)
        return !small ? ""
               : family
                   ? required(".kind::f8f6f4")
                   : on_this_target(r, "Instruction 'mma with with FP6/FP4 floating point type'");
    const bool scaled = q.kind != MmaKind::f8f6f4;
    if (!family && block_scale) return on_this_target(r, "Instruction 'mma with block scale'");
    if (!family && small)
        return on_this_target(r, "Instruction 'mma with with FP6/FP4 floating point type'");
    if (!family && (scaled || r.program.suffix == Suffix::none || r.program.target < 100))
        return on_this_target(r, "Feature '" + std::string(text_of(q.kind)) + "'");
    if (scaled && !block_scale) return required(".block_scale");
    if (!scaled && (block_scale || !is_float(q.types[1]) || !is_float(q.types[2])))
        return illegal(text_of(q.kind));
    if (q.orders[0] == Order::col) return "Illegal alayout '.col' for instruction 'mma'";
    if (q.orders[1] == Order::row) return "Illegal blayout '.row' for instruction 'mma'";
    if (q.types[0] != q.types[3] || (scaled && q.types[0] != Type::f32))
        return "Unexpected instruction types specified for 'mma'";
    if (small && q.k == 16) return "Illegal matrix shape '.m16n8k16' for instruction 'mma'";
    if (scaled)
        if (std::string words = scales_refusal(q); !words.empty()) return words;
    return "Incorrect instruction type specified for " +
           std::string(q.sparse ? "Sparse mma" : "mma") + " with shape '" + std::string(shape) +
           "'";
}

}  // namespace lockwarp::isa
