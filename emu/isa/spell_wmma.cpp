// SPDX-License-Identifier: Apache-2.0
// The spellings of the wmma instructions. What is said of a wrong one, and in which order it is
// looked for, is NVIDIA's assembler's (ptxas 13.0).
#include <algorithm>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

using Modifier = ptx::Modifier;

constexpr auto names = std::to_array<std::string_view>(
    {"wmma.load.a", "wmma.load.b", "wmma.load.c", "wmma.store.d", "wmma.mma"});
constexpr auto shapes = std::to_array<std::string_view>(
    {".m16n16k16", ".m32n8k16", ".m8n32k16", ".m16n16k8", ".m8n8k4", ".m8n8k32", ".m8n8k128"});
// What a matrix of A or B, and C or D, may be made of at all.
constexpr auto factors = std::to_array<std::string_view>(
    {".f16", ".bf16", ".tf32", ".f64", ".s8", ".u8", ".s4", ".u4", ".b1"});
constexpr auto whole_factors = std::to_array<std::string_view>({".s8", ".u8", ".s4", ".u4", ".b1"});
constexpr auto accumulators = std::to_array<std::string_view>({".f16", ".f32", ".f64", ".s32"});

bool is_factor(std::string_view type) { return is_one_of(factors, type); }
bool is_accumulator(std::string_view type) { return is_one_of(accumulators, type); }

// Whether products of elements of a type have a shape.
bool has_shape(std::string_view ab, std::string_view shape) {
    if (ab == ".b1") return shape == ".m8n8k128";
    if (ab == ".s4" || ab == ".u4") return shape == ".m8n8k32";
    if (ab == ".f64") return shape == ".m8n8k4";
    if (ab == ".tf32") return shape == ".m16n16k8";
    return is_one_of(set_named("wmmashape"), shape);
}

// What the modifiers alone say; the first of each kind.
struct Parts {
    std::string name;   // "wmma.load.a"
    std::string shape;  // with its dot
    std::vector<std::string> types;
    Modifiers mod;
    bool sync = false, aligned = false, popc = false;
    std::string_view rounding, space;
};

Parts parts_of(const ptx::Instruction& i) {
    Parts p;
    p.name = name_of(i);
    for (const Modifier& m : i.modifiers) {
        Modifiers one;
        apply_modifier(m.text, one);
        apply_modifier(m.text, p.mod);
        if (one.m != 0 && p.shape.empty()) p.shape = m.text;
        if (one.types != 0) p.types.push_back(m.text);
        if (one.rounding_given) p.rounding = m.text;
        if (one.space != ptx::Space::none) p.space = m.text;
        p.sync = p.sync || m.text == ".sync";
        p.aligned = p.aligned || m.text == ".aligned";
        p.popc = p.popc || m.text == ".popc";
    }
    return p;
}

// Of what no wmma has: whether it is named otherwise than as a modifier that is illegal.
bool has_words_of_its_own(std::string_view modifier) {
    Modifiers one;
    apply_modifier(modifier, one);
    return one.m != 0 || one.types != 0 || one.rounding_given || one.satfinite ||
           one.space != ptx::Space::none || one.combine != Combine::none;
}

std::string wrong_layouts(const Parts& p, bool product) {
    const unsigned wanted = product ? 2 : 1;
    if (p.mod.orders == wanted) return {};
    const std::string which = !product            ? "layout"
                              : p.mod.orders == 0 ? "'.alayout.blayout'"
                                                  : "'.blayout'";
    return which + " modifier required for instruction '" + p.name + "'";
}

// The types' own needs of the module.
std::string wrong_target(const Resolver& r, const Parts& p) {
    for (const std::string& t : p.types) {
        std::string why;
        if (t == ".bf16" || t == ".tf32") why = unsupported(r, t, 80, 70);
        if (t == ".f64") why = unsupported(r, "WMMA with fp64 types", 80, 70);
        if (!why.empty()) return why;
    }
    return {};
}

std::string wrong_types_of_move(const Parts& p) {
    const bool product = p.mod.matrix == 'a' || p.mod.matrix == 'b';
    const std::string unexpected = "Unexpected instruction types specified for '" + p.name + "'";
    if (p.types.size() != 1) return unexpected;
    const std::string& type = p.types[0];
    if (product && (type == ".f32" || type == ".s32"))
        return type == ".f32" ? "Illegal type for " + p.name : unexpected;
    if (product ? !is_factor(type) : !is_accumulator(type)) return unexpected;
    const bool small = type == ".s4" || type == ".u4" || type == ".b1";
    const Order right = p.mod.matrix == 'a' ? Order::row : Order::col;
    const bool shape_fits = (type == ".b1") == (p.shape == ".m8n8k128") &&
                            (type == ".s4" || type == ".u4") == (p.shape == ".m8n8k32");
    if (product && small && shape_fits && p.mod.order[0] != right)
        return std::string("Illegal alayout '") + (right == Order::row ? ".col" : ".row") +
               "' for instruction '" + p.name + "'";
    return "Incorrect instruction type specified for " + p.name + " with shape '" + p.shape + "'";
}

std::string wrong_types_of_product(const Parts& p) {
    const std::string with_shape = " specified for wmma.mma with shape '" + p.shape + "'";
    const std::string unexpected = "Unexpected instruction types specified for '" + p.name + "'";
    const bool four = p.types.size() == 4;
    if (p.types.size() != 2 && !four) return unexpected;
    if (four && (p.types[1] != p.types[2] || p.types[1] == ".f16")) return unexpected;
    const std::string ab = four ? p.types[1] : ".f16";
    const std::string sum = ab == ".f64"                     ? ".f64"
                            : ab == ".bf16" || ab == ".tf32" ? ".f32"
                            : is_one_of(whole_factors, ab)   ? ".s32"
                                                             : "";
    const auto is_sum = [&](const std::string& t) {
        return sum.empty() ? t == ".f16" || t == ".f32" : t == sum;
    };
    if (!is_factor(ab) || !is_sum(p.types.front()) || !is_sum(p.types.back())) return unexpected;
    if (!has_shape(ab, p.shape)) return "Incorrect instruction type" + with_shape;
    if (ab == ".b1") {
        if (p.mod.combine == Combine::none || !p.popc)
            return "Unexpected number of operations" + with_shape;
        if (p.mod.combine == Combine::or_) return "Incorrect operations" + with_shape;
        if (p.mod.satfinite)
            return "Illegal modifier '.satfinite' for instruction '" + p.name + "'";
    } else if (p.mod.combine != Combine::none || p.popc) {
        return unexpected;
    }
    if (p.mod.satfinite && (ab == ".f64" || sum != ".s32"))
        return ab == ".f64" ? unexpected
                            : "Instruction ''wmma.mma' with floating point type' with "
                              "'.satfinite' is not supported starting from PTX ISA version 6.5";
    // Left are layouts that the types do not have, and what has no words of its own.
    if (p.mod.order[0] == Order::col)
        return "Illegal alayout '.col' for instruction '" + p.name + "'";
    if (p.mod.order[1] == Order::row)
        return "Illegal blayout '.row' for instruction '" + p.name + "'";
    return unexpected;
}

std::string wrong(const Resolver& r, const Parts& p) {
    const bool product = p.name == "wmma.mma";
    const std::string required = " modifier required for instruction '" + p.name + "'";
    if (!p.sync) return ".sync" + required;
    if (!p.aligned) return ".aligned" + required;
    if (std::string why = wrong_layouts(p, product); !why.empty()) return why;
    if (p.shape.empty()) return "Shape" + required;
    if (!p.space.empty() && (product || !is_one_of(set_named("wmmaspace"), p.space)))
        return "State space incorrect for instruction '" + p.name + "'";
    if (!p.rounding.empty() && (p.types.empty() || p.types[0] != ".f64" || p.rounding == ".rna"))
        return "Illegal rounding modifier for instruction '" + p.name + "'";
    if (std::string why = wrong_target(r, p); !why.empty()) return why;
    if (!is_one_of(shapes, p.shape))
        return "Illegal matrix shape '" + p.shape + "' for instruction '" + p.name + "'";
    return product ? wrong_types_of_product(p) : wrong_types_of_move(p);
}

}  // namespace

std::string name_of(const ptx::Instruction& i) {
    // What a name goes on with, as often as it stands there.
    struct Longer {
        std::string_view opcode;
        std::string_view parts;
    };
    constexpr auto rows = std::to_array<Longer>({
        {"cp", ".async.reduce.bulk.prefetch.tensor.commit_group.wait_group.wait_all."},
        {"fence", ".proxy."},
        {"multimem", ".ld_reduce.st.red."},
        {"red", ".async."},
        {"setmaxnreg", ".inc.dec."},
        {"st", ".async."},
        {"tensormap", ".replace.cp_fenceproxy."},
        {"wgmma", ".mma_async.fence.commit_group.wait_group."},
        {"wmma", ".load.store.mma.a.b.c.d."},
    });
    const auto* const found = std::ranges::find(rows, i.opcode, &Longer::opcode);
    std::string name = i.opcode;
    if (found == rows.end()) return name;
    for (const Modifier& m : i.modifiers) {
        if (found->parts.find(m.text + ".") == std::string_view::npos) break;
        name += m.text;
    }
    return name;
}

void choose_wmma(const Resolver& r, Spelling& s) {
    const Modifiers& m = s.mod;
    const std::string name(row(r.program.arch).name);
    if (row(s.form->op).matrix == Matrix::product) {
        const bool four = m.types == 4;
        s.wmma = find_wmma(m.m, m.n, m.k, m.type[0], four ? m.type[1] : Type::f16,
                           four ? m.type[3] : m.type[1], m.order[0], m.order[1], m.combine);
        if (s.wmma == nullptr)
            s.error = "Unexpected instruction types specified for 'wmma.mma'";
        else if (find_wmma_fragment(r.program.arch, m.m, m.n, m.k, WmmaOperand::a, s.wmma->ab,
                                    s.wmma->a_order) == nullptr)
            s.error = "wmma is not modelled for " + name;
        return;
    }
    const WmmaOperand operand = m.matrix == 'a'   ? WmmaOperand::a
                                : m.matrix == 'b' ? WmmaOperand::b
                                                  : WmmaOperand::accumulator;
    s.wmma_fragment =
        find_wmma_fragment(r.program.arch, m.m, m.n, m.k, operand, m.type[0], m.order[0]);
    if (s.wmma_fragment == nullptr) s.error = "wmma is not modelled for " + name;
}

void wrong_wmma(const Resolver& r, const ptx::Instruction& i,
                std::span<const std::string_view> known, Spelling& s) {
    const auto unknown = [&](size_t at) {
        s.error = "Unknown modifier '" + i.modifiers[at].text + "'";
        s.wrong_modifier = static_cast<int>(at);
    };
    const std::string name = name_of(i);
    if (!is_one_of(names, name)) {
        if (i.modifiers.empty())
            s.error = "Not a name of any known instruction: 'wmma'";
        else
            unknown(0);
        return;
    }
    for (size_t at = name == "wmma.mma" ? 1 : 2; at < i.modifiers.size(); ++at) {
        Modifiers one;
        const std::string& text = i.modifiers[at].text;
        const bool shape = text.size() > 2 && text.starts_with(".m") && text[2] <= '9';
        if (!apply_modifier(text, one) || one.matrix != 0 ||
            (shape && !is_one_of(shapes, text) && !is_one_of(set_named("shape"), text)))
            return unknown(at);
    }
    for (size_t at = 0; at < i.modifiers.size(); ++at) {
        const std::string& text = i.modifiers[at].text;
        if (std::ranges::find(known, text) != known.end() || has_words_of_its_own(text)) continue;
        s.error = "Illegal modifier '" + text + "' for instruction '" + name + "'";
        s.wrong_modifier = static_cast<int>(at);
        return;
    }
    s.error = wrong(r, parts_of(i));
}

}  // namespace lockwarp::isa
