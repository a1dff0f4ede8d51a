// SPDX-License-Identifier: Apache-2.0
#include "lanes/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "emu/num/trace.hpp"
#include "lanes/explain_parts.hpp"
#include "launch/values.hpp"

namespace lockwarp::lanes {

using isa::Type;

std::string both(Type t, uint64_t bits) {
    return fmt::format("{} = {}", launch::hex_of(t, bits), launch::text_of(t, bits, -1));
}

std::string arch_name(isa::Arch a) { return std::string(isa::row(a).name); }

namespace {

using json = nlohmann::ordered_json;

double exact(int64_t significand, int exponent) {
    return std::ldexp(static_cast<double>(significand), exponent);
}

// "12", "-0.1", "2^-24" for what has no short decimal.
std::string number(double v) {
    int exponent = 0;
    const double fraction = std::frexp(v, &exponent);
    const std::string text = fmt::format("{}", v);
    if (text.size() <= 12) return text;
    if (std::abs(fraction) == 0.5) return fmt::format("{}2^{}", v < 0 ? "-" : "", exponent - 1);
    return fmt::format("{:.6g}", v);
}

// What two rows share where they compute alike.
bool alike(const Product& x, const Product& y) {
    return x.row->method == y.row->method && x.row->sum == y.row->sum;
}

void explain_block(const Product& p, const DotInputs& in, const num::TracedBlock& b,
                   size_t number_of, size_t blocks, Answer& out, json& list) {
    Grid g;
    const bool halves = p.row->method == num::Method::f16_halves;
    json terms = json::array();
    if (b.special) {
        g.title = fmt::format("Sum {} of {}: an infinity or a NaN among the inputs decides",
                              number_of + 1, blocks);
        g.header = {"result"};
        g.rows = {{both(p.types.d, b.result)}};
        out.grids.push_back(std::move(g));
        list.push_back({{"first", b.first},
                        {"count", b.count},
                        {"special", true},
                        {"result", launch::hex_of(p.types.d, b.result)}});
        return;
    }
    const int unit = b.largest - b.fraction;
    g.title = fmt::format(
        "Sum {} of {}: largest exponent {}, so that terms are cut to multiples of 2^{}:",
        number_of + 1, blocks, b.largest, unit);
    g.header = {"k", "a", "b", "product", "exponent", "kept", "lost"};
    size_t absorbed = 0;
    size_t cut = 0;
    for (const num::TracedTerm& t : b.terms) {
        const double whole = exact(t.significand, t.exponent - t.fraction_bits);
        const double kept = exact(t.units, unit);
        const double lost = whole - kept;
        const bool gone = t.units == 0 && t.significand != 0;
        absorbed += gone;
        cut += lost != 0 && !gone;
        std::string loss = lost == 0 ? "-" : number(lost);
        if (gone) loss += "  ABSORBED";
        const bool product = t.k >= 0;
        const auto at = static_cast<size_t>(std::max(t.k, 0));
        g.rows.push_back({product                     ? std::to_string(t.k)
                          : number_of == 0 && !halves ? "C"
                                                      : "sum",
                          product ? launch::text_of(p.types.a, in.a[at], -1) : "",
                          product ? launch::text_of(p.types.b, in.b[at], -1) : "",
                          t.significand == 0 ? "0" : number(whole), std::to_string(t.exponent),
                          number(kept), loss});
        terms.push_back({{"k", t.k},
                         {"value", t.significand == 0 ? 0.0 : whole},
                         {"exponent", t.exponent},
                         {"kept", kept},
                         {"lost", lost},
                         {"absorbed", gone}});
    }
    const double sum = exact(b.sum, unit);
    const double result = launch::value_of(p.types.d, b.result);
    const double rounding = sum - result;
    g.rows.push_back({"", "", "", "", "", number(sum), "the sum, exact"});
    g.rows.push_back({"", "", "", "", "", both(p.types.d, b.result),
                      std::isfinite(result) && rounding != 0
                          ? fmt::format("rounded, {} lost", number(rounding))
                      : std::isfinite(result) ? "nothing lost in rounding"
                                              : "overflow"});
    out.grids.push_back(std::move(g));
    list.push_back({{"first", b.first},
                    {"count", b.count},
                    {"special", false},
                    {"largest_exponent", b.largest},
                    {"unit_exponent", unit},
                    {"terms", terms},
                    {"sum", sum},
                    {"absorbed", absorbed},
                    {"result", launch::hex_of(p.types.d, b.result)}});
    if (absorbed + cut > 0)
        out.notes.push_back(fmt::format("{}, sum {}: {} absorbed whole, {} cut", arch_name(p.arch),
                                        number_of + 1, absorbed, cut));
}

std::string_view rounding_words(num::Rounding r) {
    return r == num::Rounding::rz ? "toward zero" : "to nearest even";
}

std::string rule_text(const Product& p) {
    const num::FusedSum& s = p.row->sum;
    switch (p.row->method) {
        case num::Method::fused_blocks: {
            const unsigned block = std::min<unsigned>(s.block, p.k);
            return fmt::format(
                "{} of {} products and C; {} bits below the largest exponent; {} bits kept, {}",
                p.k == block ? "one sum" : fmt::format("{} sums in a chain, each", p.k / block),
                block, s.fraction, s.kept, rounding_words(s.rounding));
        }
        case num::Method::f16_halves:
            return "as f16: the products with k%4 of 0 and 1 in one sum, the others in a second "
                   "onto "
                   "it, then C is added";
        case num::Method::fma_routine:
            return "no tensor core: f32 operations, each rounded to nearest even";
        case num::Method::fma_chain_f64:
            return "f64 fused multiply-adds in ascending k";
        case num::Method::integer:
            return "an exact integer sum, modulo 2^32 or clamped";
        default:
            return "";
    }
}

std::string arch_list(const std::vector<isa::Arch>& list) {
    std::string out;
    for (const isa::Arch a : list) out += (out.empty() ? "" : ", ") + arch_name(a);
    return out;
}

}  // namespace

launch::Result<Product> product_of(const Instruction& i, isa::Arch arch) {
    using launch::failure;
    Product p{&i, arch, nullptr, {}, 0};
    const isa::ArchRow& a = isa::row(arch);
    if (i.mma != nullptr) {
        const isa::MmaVariant& v = *i.mma;
        if (v.sparse || v.scales != 0)
            return failure(
                fmt::format("{}: sparse and block-scaled products are not explained", i.key));
        p.types = {v.a, v.b, v.c, v.d};
        p.types.combine = v.combine;
        p.k = v.k;
        if (isa::has(a, v.target)) p.row = num::find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    } else if (i.wmma != nullptr) {
        const isa::WmmaVariant& v = *i.wmma;
        if (v.c != v.d)
            return failure(fmt::format("{}: C and D of different types are not explained", i.key));
        p.types = {v.ab, v.ab, v.c, v.d};
        p.types.combine = v.combine;
        p.k = v.k;
        if (isa::has(a, v.target))
            p.row = num::find_dot_row(arch, v.m, v.n, v.k, v.ab, isa::sum_type(v));
    } else {
        return failure(fmt::format("{} is not a product that is executed", i.key));
    }
    if (p.row == nullptr) return failure(fmt::format("{} does not have {}", a.name, i.key));
    return p;
}

namespace {

// Products that are computed alike, and what one element of them goes through.
struct Explained {
    Product product;
    std::vector<isa::Arch> archs;
    num::Trace trace;
    uint64_t result = 0;
};

// What the sums of each group lose of each product and of C; no group without sums.
Grid side_by_side(const std::vector<Explained>& groups, size_t k) {
    Grid g;
    g.title = "Side by side, what is lost of each term (whole: absorbed):";
    g.header = {"k"};
    for (size_t at = 0; at <= k; ++at) g.rows.push_back({at == k ? "C" : std::to_string(at)});
    for (const Explained& e : groups) {
        if (e.trace.blocks.empty()) continue;
        g.header.push_back(arch_list(e.archs));
        std::vector<std::string> lost(k + 1, "-");
        for (size_t n = 0; n < e.trace.blocks.size(); ++n)
            for (const num::TracedTerm& t : e.trace.blocks[n].terms) {
                if (t.k < 0 && n != 0) continue;
                const num::TracedBlock& b = e.trace.blocks[n];
                const double whole = exact(t.significand, t.exponent - t.fraction_bits);
                const double loss = whole - exact(t.units, b.largest - b.fraction);
                if (t.significand != 0 && loss != 0)
                    lost[t.k < 0 ? k : static_cast<size_t>(t.k)] =
                        t.units == 0 ? fmt::format("whole, {}", number(loss)) : number(loss);
            }
        for (size_t at = 0; at <= k; ++at) g.rows[at].push_back(lost[at]);
    }
    return g;
}

}  // namespace

Answer explain(const std::vector<Product>& products, unsigned row, unsigned column,
               const DotInputs& inputs) {
    Answer out;
    // Architectures that compute alike are explained once.
    std::vector<Explained> groups;
    for (const Product& p : products) {
        const auto same =
            std::ranges::find_if(groups, [&](const Explained& e) { return alike(e.product, p); });
        if (same != groups.end()) {
            same->archs.push_back(p.arch);
            continue;
        }
        Explained& e = groups.emplace_back();
        e.product = p;
        e.archs = {p.arch};
        e.result = num::traced_element(*p.row, p.types, inputs.a, inputs.b, inputs.c, e.trace);
    }
    const std::string element = fmt::format("D[{}][{}]", row, column);
    const Product& first = products[0];
    out.data = {{"instruction", first.instruction->key}, {"row", row}, {"column", column}};
    json sums = json::array();
    const auto sums_of = [](const Explained& e) { return !e.trace.blocks.empty(); };
    if (std::ranges::count_if(groups, sums_of) > 1)
        out.grids.push_back(side_by_side(groups, inputs.a.size()));
    for (const auto& [p, archs, trace, d] : groups) {
        json one{{"archs", json::array()},
                 {"result", launch::hex_of(p.types.d, d)},
                 {"value", launch::text_of(p.types.d, d, -1)},
                 {"rule", rule_text(p)}};
        for (const isa::Arch a : archs) one["archs"].push_back(arch_name(a));
        json blocks = json::array();
        const size_t from = out.grids.size();
        for (size_t n = 0; n < trace.blocks.size(); ++n)
            explain_block(p, inputs, trace.blocks[n], n, trace.blocks.size(), out, blocks);
        if (!trace.steps.empty()) {
            Grid g;
            g.title = "Step by step:";
            g.header = {"k", "a", "b", "step", "z"};
            json steps = json::array();
            for (const num::TracedStep& s : trace.steps) {
                const auto at = static_cast<size_t>(std::max(s.k, 0));
                g.rows.push_back({s.k < 0 ? "" : std::to_string(s.k),
                                  s.k < 0 ? "" : launch::text_of(p.types.a, inputs.a[at], -1),
                                  s.k < 0 ? "" : launch::text_of(p.types.b, inputs.b[at], -1),
                                  std::string(s.what), both(s.type, s.result)});
                steps.push_back(
                    {{"k", s.k}, {"what", s.what}, {"result", launch::hex_of(s.type, s.result)}});
            }
            one["steps"] = steps;
            out.grids.push_back(std::move(g));
        }
        out.grids[from].title = fmt::format("{}: {} on {}\n{}\n{}", element, both(p.types.d, d),
                                            arch_list(archs), rule_text(p), out.grids[from].title);
        one["sums"] = blocks;
        sums.push_back(one);
    }
    const bool same = std::ranges::all_of(
        groups, [&](const Explained& e) { return e.result == groups[0].result; });
    out.data["a"] = json::array();
    for (const uint64_t x : inputs.a) out.data["a"].push_back(launch::hex_of(first.types.a, x));
    out.data["b"] = json::array();
    for (const uint64_t x : inputs.b) out.data["b"].push_back(launch::hex_of(first.types.b, x));
    out.data["c"] = launch::hex_of(first.types.c, inputs.c);
    out.data["results"] = sums;
    if (same) {
        std::vector<isa::Arch> all;
        for (const Product& p : products) all.push_back(p.arch);
        out.line = fmt::format("{} = {} on {}", element, both(first.types.d, groups[0].result),
                               arch_list(all));
        if (out.line.size() > 100)
            out.line = fmt::format("{} = {} on all {}", element,
                                   both(first.types.d, groups[0].result), all.size());
    } else {
        out.line = element + ":";
        for (const Explained& e : groups)
            out.line += fmt::format("{} {} on {}", &e == &groups[0] ? "" : ";",
                                    both(first.types.d, e.result), arch_list(e.archs));
        if (out.line.size() > 100) {
            out.lines.push_back(out.line);
            std::set<uint64_t> distinct;
            for (const Explained& e : groups) distinct.insert(e.result);
            out.line = fmt::format("{} differs: {} results on {} architectures", element,
                                   distinct.size(), products.size());
        }
    }
    out.lines.push_back(
        fmt::format("{}, C = {}", first.instruction->key, both(first.types.c, inputs.c)));
    return out;
}

}  // namespace lockwarp::lanes
