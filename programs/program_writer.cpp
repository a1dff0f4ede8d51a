// SPDX-License-Identifier: Apache-2.0
#include "programs/program_writer.hpp"

#include <algorithm>

#include "emu/isa/requirements.hpp"

namespace lockwarp::programs {

using isa::Op;
using isa::Type;

namespace {

// Copies that go on beside the program, and what waits for a cluster.
constexpr auto drawn_copies = std::to_array<Op>(
    {Op::bulk_load, Op::bulk_send, Op::bulk_store, Op::bulk_reduce, Op::bulk_send_reduce,
     Op::bulk_prefetch, Op::tensor_load, Op::tensor_store, Op::tensor_reduce, Op::tensor_prefetch,
     Op::async_store, Op::async_reduce, Op::cluster_arrive});

// Addresses are those of shared memory, said so.
bool is_drawn(const isa::Form& form, std::string_view modifiers) {
    // The operands of a masked copy are another's.
    if (modifiers.find(".cp_mask") != std::string_view::npos) return false;
    const bool is_async = form.op == Op::async_store || form.op == Op::async_reduce;
    return !is_async || modifiers.find(".shared::cluster") != std::string_view::npos;
}

}  // namespace

std::vector<ptx::Modifier> modifiers_of(std::string_view spelling) {
    std::vector<ptx::Modifier> out;
    for (size_t at = spelling.find('.'); at < spelling.size();) {
        const size_t next = std::min(spelling.find('.', at + 1), spelling.size());
        out.push_back({std::string(spelling.substr(at, next - at)), {}});
        at = next;
    }
    return out;
}

isa::Modifiers decoded(const std::string& spelling) {
    isa::Modifiers m;
    for (const ptx::Modifier& one : modifiers_of(spelling)) isa::apply_modifier(one.text, m);
    return m;
}

bool is_wide(const isa::Form& form) {
    return form.op == Op::mov &&
           (form.groups[0].set == "vec" || isa::is_one_of(form.groups[0].alternatives, ".b128"));
}

uint16_t least_target(const isa::Form& form, const std::string& spelling) {
    uint16_t target = form.target;
    for (const isa::Requirement* q : isa::demands(form.opcode, modifiers_of(spelling)))
        target = std::max(target, q->target);
    return target;
}

std::vector<Choice> choices(isa::Arch arch) {
    std::vector<Choice> out;
    for (const isa::Form& f : isa::forms()) {
        if (!isa::has(isa::row(arch), f.target, isa::row(f.op).suffix)) continue;
        const bool wmma = isa::row(f.op).wmma;
        const bool moves = isa::row(f.op).matrix == isa::Matrix::move;
        const bool copies = std::ranges::find(drawn_copies, f.op) != drawn_copies.end();
        if (!moves && !copies && (!isa::on_values(f.op) || is_wide(f))) continue;
        for (const std::string& modifiers : isa::expansions(f)) {
            // The older order of modifiers is the same instruction; addresses are not generic.
            if (moves && ((!wmma && modifiers.find(".m8n8.x") == std::string::npos) ||
                          modifiers.find(".shared") == std::string::npos))
                continue;
            std::string spelling = std::string(f.opcode) + modifiers;
            if (copies && !is_drawn(f, modifiers)) continue;
            if (isa::has(arch, least_target(f, spelling)))
                out.push_back(
                    {&f, nullptr, moves, std::move(spelling), nullptr, nullptr, false, copies});
        }
    }
    for (const isa::MmaVariant& v : isa::mma_variants())
        if (isa::has(arch, v.target))
            out.push_back({nullptr, &v, false, std::string(v.key), nullptr});
    for (const isa::WmmaVariant& v : isa::wmma_variants())
        if (isa::has(arch, v.target))
            out.push_back({nullptr, nullptr, false, std::string(v.key), &v});
    if (isa::has(isa::row(arch), isa::forms_of("wgmma")[0]->target, isa::row(Op::wgmma_mma).suffix))
        for (const isa::WarpgroupVariant& v : isa::warpgroup_variants())
            for (const bool sparse : {false, true})
                if (!sparse || v.types->a != Type::b1)
                    out.push_back({nullptr, nullptr, false,
                                   sparse ? sparse_key(v) : std::string(v.key()), nullptr, &v,
                                   sparse});
    return out;
}

unsigned register_width(Type type) { return std::max(isa::bits(type), 16u); }

FragmentRegisters fragment_registers(isa::FragmentId id, Type element) {
    const isa::Fragment& f = isa::fragment(id);
    return {isa::registers_of(f, element), isa::bits(element) == 64 ? 64u : 32u, element,
            isa::held_bits(f, element)};
}

uint16_t version_of(const isa::MmaVariant& v) { return std::max(v.ptx, v.also_ptx); }

std::string sparse_key(const isa::WarpgroupVariant& v) {
    std::string key(v.key());
    const size_t k = key.find('k');
    const size_t end = key.find('.', k);
    key.replace(k + 1, end - k - 1, std::to_string(2 * v.types->k));
    return key.insert(key.find('.'), ".sp");
}

std::string warpgroup_spelling(const isa::WarpgroupVariant& v, bool sparse, bool satfinite) {
    const std::string key = sparse ? sparse_key(v) : std::string(v.key());
    const size_t shape = key.find(".m64");
    const size_t types = key.find('.', shape + 1);
    return "wgmma.mma_async" + std::string(sparse ? ".sp" : "") + ".sync.aligned" +
           key.substr(shape, types - shape) + (satfinite ? ".satfinite" : "") + key.substr(types);
}

std::string module_version(isa::Arch arch, uint16_t asked) {
    const unsigned version =
        std::max({unsigned{83}, unsigned{isa::row(arch).ptx}, unsigned{asked}});
    return ".version " + std::to_string(version / 10) + "." + std::to_string(version % 10) + "\n";
}

FragmentRegisters wmma_registers(const isa::WmmaFragment& f, Type element) {
    return {isa::registers_of(f.part, element), isa::bits(element) == 64 ? 64u : 32u, element,
            isa::held_bits(f.part, element)};
}

FragmentRegisters wmma_registers(isa::Arch arch, const isa::WmmaVariant& v, char which) {
    const Type type = which == 'd' ? v.d : which == 'c' ? v.c : v.ab;
    const isa::WmmaOperand operand = which == 'a'   ? isa::WmmaOperand::a
                                     : which == 'b' ? isa::WmmaOperand::b
                                                    : isa::WmmaOperand::accumulator;
    const isa::Order order = which == 'b' ? v.b_order : v.a_order;
    return wmma_registers(*isa::find_wmma_fragment(arch, v.m, v.n, v.k, operand, type, order),
                          type);
}

const isa::WmmaFragment* moved_fragment(isa::Arch arch, const isa::Modifiers& m) {
    const isa::WmmaOperand operand = m.matrix == 'a'   ? isa::WmmaOperand::a
                                     : m.matrix == 'b' ? isa::WmmaOperand::b
                                                       : isa::WmmaOperand::accumulator;
    return isa::find_wmma_fragment(arch, m.m, m.n, m.k, operand, m.type[0], m.order[0]);
}

Lines lines_of(const isa::WmmaFragment& f, isa::Order order) {
    const isa::WmmaExtent whole = isa::extent(f);
    if (isa::rows_are_lines(f.operand, order)) return {whole.rows, whole.columns};
    return {whole.columns, whole.rows};
}

std::string wmma_spelling(const isa::WmmaVariant& v, bool satfinite, std::string_view rounding) {
    const auto order = [](isa::Order o) { return o == isa::Order::row ? ".row" : ".col"; };
    std::string text = "wmma.mma";
    if (v.combine == isa::Combine::xor_) text += ".xor.popc";
    if (v.combine == isa::Combine::and_) text += ".and.popc";
    text += std::string(".sync.aligned") + order(v.a_order) + order(v.b_order) + ".m" +
            std::to_string(v.m) + "n" + std::to_string(v.n) + "k" + std::to_string(v.k);
    text += rounding;
    text += isa::row(v.d).name;
    if (v.ab != Type::f16)
        for (int i = 0; i < 2; ++i) text += isa::row(v.ab).name;
    text += isa::row(v.c).name;
    return text + (satfinite ? ".satfinite" : "");
}

std::string target_of(isa::Arch arch, isa::Suffix suffix) {
    return std::string(isa::row(arch).name) + (suffix == isa::Suffix::none ? "" : "a");
}

std::array<unsigned, 2> scale_ids(const isa::MmaVariant& v, bool of_a, uint64_t n) {
    const uint64_t bytes = 4u / v.scales;
    const uint64_t threads = of_a ? 2 : 4;
    return {static_cast<unsigned>(n % bytes * v.scales),
            static_cast<unsigned>(n / bytes % threads)};
}

std::string mma_spelling(const isa::MmaVariant& v, bool satfinite) {
    const auto order = [](isa::Order o) { return o == isa::Order::row ? ".row" : ".col"; };
    std::string text = v.ordered ? "mma.sp::ordered_metadata" : v.sparse ? "mma.sp" : "mma";
    text += ".sync.aligned.m" + std::to_string(v.m) + "n" + std::to_string(v.n) + "k" +
            std::to_string(v.k) + order(v.a_order) + order(v.b_order);
    text += isa::text_of(v.kind);
    if (v.scales != 0) text += ".block_scale" + std::string(isa::scale_vec_text(v.scales));
    if (satfinite) text += ".satfinite";
    for (const Type t : {v.d, v.a, v.b, v.c, v.scale}) text += isa::row(t).name;
    if (v.combine == isa::Combine::xor_) text += ".xor.popc";
    if (v.combine == isa::Combine::and_) text += ".and.popc";
    return text;
}

namespace {

uint64_t take(uint64_t& n, uint64_t count) {
    const uint64_t out = n % count;
    n /= count;
    return out;
}

// Elements of a SIMD operand, from the highest: some of its own, or any of both operands'.
std::string elements(uint64_t& n, unsigned count, bool is_mask) {
    std::string out = count == 2 ? ".h" : ".b";
    const uint64_t mask = 1 + take(n, (uint64_t{1} << count) - 1);
    for (unsigned i = count; i-- > 0;)
        if (!is_mask)
            out += static_cast<char>('0' + take(n, 2 * count));
        else if (mask >> i & 1)
            out += static_cast<char>('0' + i);
    if (out == ".b1024") out.back() = '5';  // NVIDIA's assembler reads a type there
    return out;
}

// Of vmad's a, b and c those that are negated; with .po the product of two is.
constexpr auto negations = std::to_array<std::array<const char*, 3>>(
    {{"", "", ""}, {"-", "-", ""}, {"-", "", ""}, {"", "-", ""}, {"", "", "-"}, {"-", "-", "-"}});
constexpr uint64_t negations_with_plus_one = 2;

}  // namespace

VideoOperands video_operands(const isa::Form& form, const isa::Modifiers& m, uint64_t n) {
    constexpr std::array<const char*, 7> parts{"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    VideoOperands out;
    const unsigned count = isa::row(form.op).elements;
    if (count > 1) {
        for (size_t i = 0; i < 3; ++i)
            if (take(n, 2) == 1) out.select[i] = elements(n, count, i == 0);
        return out;
    }
    for (size_t i = 1; i < 3; ++i) out.select[i] = parts[take(n, parts.size())];
    if (form.slots.back().optional) {
        out.third = take(n, 2) == 1;
        if (out.third) out.select[0] = parts[1 + take(n, parts.size() - 1)];
    } else if (form.op == Op::vmad) {
        const uint64_t count_of_signs = m.plus_one ? negations_with_plus_one : negations.size();
        std::ranges::copy(negations[take(n, count_of_signs)], out.sign.begin());
    }
    return out;
}

std::string braced(const std::vector<std::string>& names) {
    std::string text = "{";
    for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + names[i];
    return text + "}";
}

}  // namespace lockwarp::programs
