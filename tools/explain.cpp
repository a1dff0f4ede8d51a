#include "tools/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "emu/num/ieee.hpp"
#include "emu/num/trace.hpp"
#include "tools/files.hpp"
#include "tools/values.hpp"

namespace lockwarp::tools {

namespace {

using isa::Type;
using json = nlohmann::ordered_json;

std::string both(Type t, uint64_t bits) {
    return fmt::format("{} = {}", hex_of(t, bits), text_of(t, bits, -1));
}

// Element bits of one number of the text; nullopt: it is none.
std::optional<uint64_t> bits_of_text(Type type, std::string_view text) {
    const unsigned width = isa::bits(type);
    if (text.starts_with("0x") || text.starts_with("0X")) {
        uint64_t bits = 0;
        const auto [end, problem] =
            std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
        if (problem != std::errc() || end != text.data() + text.size() || text.size() == 2)
            return std::nullopt;
        if (width < 64 && bits >> width != 0) return std::nullopt;
        return bits;
    }
    double value = 0;
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), value);
    const bool range = problem == std::errc::result_out_of_range;
    if ((problem != std::errc() && !range) || end != text.data() + text.size() ||
        begin == text.data() + text.size())
        return std::nullopt;
    return bits_of(type, value);
}

struct Numbers {
    std::vector<uint64_t> bits;
    bool by_lane = false;
};

std::string read_numbers(const char* name, Type type, std::string text, Numbers& out) {
    if (text.starts_with("lanes:")) {
        out.by_lane = true;
        text.erase(0, 6);
    }
    constexpr size_t most = 1 << 20;
    if (text.size() > most) return fmt::format("--{}: more than {} characters", name, most);
    for (size_t at = 0; at < text.size();) {
        const size_t begin = text.find_first_not_of(", \t\n", at);
        if (begin == std::string::npos) break;
        const size_t end = std::min(text.find_first_of(", \t\n", begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        const auto bits = bits_of_text(type, word);
        if (!bits)
            return fmt::format("--{}: '{}' is no {} (a number, or its bits as 0x...)", name,
                               word.substr(0, 60), isa::row(type).name.substr(1));
        out.bits.push_back(*bits);
        at = end;
    }
    return "";
}

// The numbers of JSON: a list of lists, a list, or one.
std::string read_json(const char* name, Type type, const json& j, Numbers& out) {
    if (j.is_array()) {
        for (const json& one : j)
            if (const std::string problem = read_json(name, type, one, out); !problem.empty())
                return problem;
        return "";
    }
    if (!j.is_number() && !j.is_string())
        return fmt::format("\"{}\" holds numbers, bits as \"0x3c00\", or lists of these", name);
    const auto bits = j.is_string() ? bits_of_text(type, j.get<std::string>())
                                    : std::optional(bits_of(type, j.get<double>()));
    if (!bits)
        return fmt::format("\"{}\": {} is no {}", name, j.dump().substr(0, 60),
                           isa::row(type).name.substr(1));
    out.bits.push_back(*bits);
    return "";
}

// The value of element (row, column) where every lane holds the same fragment.
uint64_t lane_value(const lanes::Operand& o, const Numbers& n, unsigned row, unsigned column) {
    return n.bits[lanes::owners(o, row, column)[0].value];
}

uint64_t next_random(uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// A value of a moderate size: integers small, others with exponents some steps apart.
uint64_t random_value(Type type, uint64_t& state) {
    const uint64_t r = next_random(state);
    if (!isa::is_float(type)) return r & ((uint64_t{1} << isa::bits(type)) - 1);
    const double fraction = 1.0 + static_cast<double>(r >> 20 & 0xffff) / 65536.0;
    const int exponent = static_cast<int>(r >> 8 & 7) - 4;
    return bits_of(type,
                   (r & 1) != 0 ? -std::ldexp(fraction, exponent) : std::ldexp(fraction, exponent));
}

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

std::string arch_name(isa::Arch a) { return std::string(isa::row(a).name); }

// What two rows share where they compute alike.
bool alike(const Product& x, const Product& y) {
    const num::FusedSum& p = x.row->sum;
    const num::FusedSum& q = y.row->sum;
    return x.row->method == y.row->method && p.block == q.block && p.fraction == q.fraction &&
           p.zero_exponent == q.zero_exponent && p.kept == q.kept && p.rounding == q.rounding;
}

void explain_block(const Product& p, const DotInputs& in, const num::TracedBlock& b,
                   size_t number_of, size_t blocks, lanes::Answer& out, json& list) {
    lanes::Grid g;
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
                        {"result", hex_of(p.types.d, b.result)}});
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
        const double lost = t.significand == 0 ? 0 : whole - kept;
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
                          product ? text_of(p.types.a, in.a[at], -1) : "",
                          product ? text_of(p.types.b, in.b[at], -1) : "",
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
    const double result = value_of(p.types.d, b.result);
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
                    {"result", hex_of(p.types.d, b.result)}});
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

// d of a chain of products of the instruction's own k over all of a and b.
uint64_t chained(const Product& p, const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                 uint64_t c) {
    for (size_t from = 0; from < a.size(); from += p.k)
        num::matrix_product(*p.row, {1, 1, static_cast<int>(p.k)}, p.types, a.data() + from,
                            b.data() + from, &c, &c);
    return c;
}

// The sums that a chain is made of, each with its products: two with the same ones are equal.
std::string structure(const Product& p, unsigned k) {
    const num::FusedSum& s = p.row->sum;
    std::string out = fmt::format("{} {} {} {} {} {} ", static_cast<int>(p.row->method), s.fraction,
                                  s.zero_exponent, s.kept, static_cast<int>(s.rounding),
                                  static_cast<int>(p.types.satfinite));
    // Exact sums modulo 2^32 and chains of single products do not depend on where they are cut.
    const bool uncut = p.row->method == num::Method::fma_chain_f64 ||
                       (p.row->method == num::Method::integer && !p.types.satfinite);
    if (uncut) return out;
    for (unsigned from = 0; from < k; from += p.k) {
        if (p.row->method != num::Method::fused_blocks) {
            out += fmt::format("[{}] ", p.k);
            continue;
        }
        for (unsigned at = 0; at < p.k; at += s.block)
            out += fmt::format("{} ", std::min<unsigned>(s.block, p.k - at));
    }
    return out;
}

// A value for a search: often ones whose sums cancel, absorb or tie.
uint64_t searching_value(Type type, uint64_t& state) {
    const uint64_t r = next_random(state);
    if (!isa::is_float(type)) return random_value(type, state);
    switch (r & 3) {
        case 0:
            return random_value(type, state);
        case 1:
            return bits_of(type, (r & 4) != 0 ? 1.0 : -1.0);
        case 2:
            return bits_of(
                type, std::ldexp((r & 4) != 0 ? 1.0 : -1.0, static_cast<int>(r >> 8 & 31) - 15));
        default:
            return 0;
    }
}

}  // namespace

Product product_of(const lanes::Instruction& i, isa::Arch arch, std::string& error) {
    Product p{&i, arch, nullptr, {}, 0};
    const isa::ArchRow& a = isa::row(arch);
    if (i.mma != nullptr) {
        const isa::MmaVariant& v = *i.mma;
        if (v.sparse || v.scales != 0) {
            error = fmt::format("{}: sparse and block-scaled products are not explained", i.key);
            return p;
        }
        p.types = {v.a, v.b, v.c, v.d};
        p.types.combine = v.combine;
        p.k = v.k;
        if (v.target <= a.number) p.row = num::find_dot_row(arch, v.m, v.n, v.k, v.a, v.d, v.kind);
    } else if (i.wmma != nullptr) {
        const isa::WmmaVariant& v = *i.wmma;
        if (v.c != v.d) {
            error = fmt::format("{}: C and D of different types are not explained", i.key);
            return p;
        }
        p.types = {v.ab, v.ab, v.c, v.d};
        p.types.combine = v.combine;
        p.k = v.k;
        if (v.target <= a.number)
            p.row = num::find_dot_row(arch, v.m, v.n, v.k, v.ab, isa::sum_type(v));
    } else {
        error = fmt::format("{} is no product that is executed", i.key);
        return p;
    }
    if (p.row == nullptr) error = fmt::format("{} does not have {}", a.name, i.key);
    return p;
}

std::string read_inputs(const lanes::Instruction& i, unsigned row, unsigned column,
                        const InputTexts& texts, DotInputs& out) {
    const lanes::Operand& a = *lanes::operand_named(i, "A");
    const lanes::Operand& b = *lanes::operand_named(i, "B");
    const lanes::Operand& c = *lanes::operand_named(i, "C");
    if (row >= i.m || column >= i.n)
        return fmt::format("D of {} is {} x {}: rows 0 to {}, columns 0 to {}", i.key, i.m, i.n,
                           i.m - 1, i.n - 1);
    Numbers na;
    Numbers nb;
    Numbers nc;
    for (const auto& [name, type, text, numbers] :
         {std::tuple("a", a.type, &texts.a, &na), std::tuple("b", b.type, &texts.b, &nb),
          std::tuple("c", c.type, &texts.c, &nc)})
        if (const std::string problem = read_numbers(name, type, *text, *numbers); !problem.empty())
            return problem;
    if (!texts.file.empty()) {
        constexpr uint64_t most = 16 << 20;
        std::vector<uint8_t> bytes;
        if (const Problem problem = read_file(texts.file, most, bytes); !problem.empty())
            return problem;
        const json j = json::parse(bytes, nullptr, false);
        if (!j.is_object())
            return fmt::format("{}: it should be {{\"A\": [...], \"B\": [...], \"C\": [...]}}",
                               texts.file);
        for (const auto& [key, type, numbers] :
             {std::tuple("A", a.type, &na), std::tuple("B", b.type, &nb),
              std::tuple("C", c.type, &nc)})
            if (j.contains(key) && numbers->bits.empty())
                if (const std::string problem = read_json(key, type, j[key], *numbers);
                    !problem.empty())
                    return fmt::format("{}: {}", texts.file, problem);
    }
    uint64_t state = texts.seed;
    const auto take = [&](const char* name, const lanes::Operand& o, const Numbers& n,
                          unsigned count, auto&& place,
                          std::vector<uint64_t>& bits) -> std::string {
        const size_t given = n.bits.size();
        const size_t all = size_t{o.rows} * o.columns;
        if (given == 0) {
            for (unsigned k = 0; k < count; ++k) bits.push_back(random_value(o.type, state));
            return "";
        }
        if (n.by_lane && given != o.values)
            return fmt::format(
                "--{} lanes: takes the {} values of a lane's fragment; {} were given", name,
                o.values, given);
        if (!n.by_lane && given != count && given != all)
            return fmt::format(
                "--{} takes {} value{}, all {} of {} row by row, or lanes: and the {} "
                "of each lane's fragment; {} were given",
                name, count, count == 1 ? "" : "s", all, o.name, o.values, given);
        for (unsigned k = 0; k < count; ++k) {
            const auto [r, col] = place(k);
            bits.push_back(n.by_lane        ? lane_value(o, n, r, col)
                           : given == count ? n.bits[k]
                                            : n.bits[r * o.columns + col]);
        }
        return "";
    };
    std::vector<uint64_t> one;
    const auto at_a = [&](unsigned k) { return std::pair(row, k); };
    const auto at_b = [&](unsigned k) { return std::pair(k, column); };
    const auto at_c = [&](unsigned) { return std::pair(row, column); };
    if (std::string problem = take("a", a, na, i.k, at_a, out.a); !problem.empty()) return problem;
    if (std::string problem = take("b", b, nb, i.k, at_b, out.b); !problem.empty()) return problem;
    if (std::string problem = take("c", c, nc, 1, at_c, one); !problem.empty()) return problem;
    out.c = one[0];
    return "";
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
lanes::Grid side_by_side(const std::vector<Explained>& groups, size_t k) {
    lanes::Grid g;
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

lanes::Answer explain(const std::vector<Product>& products, unsigned row, unsigned column,
                      const DotInputs& inputs) {
    lanes::Answer out;
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
                 {"result", hex_of(p.types.d, d)},
                 {"value", text_of(p.types.d, d, -1)},
                 {"rule", rule_text(p)}};
        for (const isa::Arch a : archs) one["archs"].push_back(arch_name(a));
        json blocks = json::array();
        const size_t from = out.grids.size();
        for (size_t n = 0; n < trace.blocks.size(); ++n)
            explain_block(p, inputs, trace.blocks[n], n, trace.blocks.size(), out, blocks);
        if (!trace.steps.empty()) {
            lanes::Grid g;
            g.title = "Step by step:";
            g.header = {"k", "a", "b", "step", "z"};
            json steps = json::array();
            for (const num::TracedStep& s : trace.steps) {
                const auto at = static_cast<size_t>(std::max(s.k, 0));
                g.rows.push_back({s.k < 0 ? "" : std::to_string(s.k),
                                  s.k < 0 ? "" : text_of(p.types.a, inputs.a[at], -1),
                                  s.k < 0 ? "" : text_of(p.types.b, inputs.b[at], -1),
                                  std::string(s.what), both(s.type, s.result)});
                steps.push_back(
                    {{"k", s.k}, {"what", s.what}, {"result", hex_of(s.type, s.result)}});
            }
            one["steps"] = steps;
            out.grids.push_back(std::move(g));
        }
        if (from < out.grids.size())
            out.grids[from].title =
                fmt::format("{}: {} on {}\n{}\n{}", element, both(p.types.d, d), arch_list(archs),
                            rule_text(p), out.grids[from].title);
        one["sums"] = blocks;
        sums.push_back(one);
    }
    const bool same = std::ranges::all_of(
        groups, [&](const Explained& e) { return e.result == groups[0].result; });
    out.data["a"] = json::array();
    for (const uint64_t x : inputs.a) out.data["a"].push_back(hex_of(first.types.a, x));
    out.data["b"] = json::array();
    for (const uint64_t x : inputs.b) out.data["b"].push_back(hex_of(first.types.b, x));
    out.data["c"] = hex_of(first.types.c, inputs.c);
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

lanes::Answer equivalent(const std::vector<std::pair<Product, Product>>& pairs, uint64_t tries) {
    lanes::Answer out;
    lanes::Grid g;
    g.header = {"on", "same bits?"};
    json list = json::array();
    size_t same = 0;
    size_t differ = 0;
    for (const auto& pair : pairs) {
        const Product& x = pair.first;
        const Product& y = pair.second;
        const unsigned k = std::lcm(x.k, y.k);
        const auto name = [&](const Product& p) {
            return fmt::format("{}{} on {}", k == p.k ? "" : fmt::format("{} x ", k / p.k),
                               p.instruction->key, arch_name(p.arch));
        };
        if (x.types.a != y.types.a || x.types.b != y.types.b || x.types.c != y.types.c ||
            x.types.d != y.types.d)
            return lanes::wrong(fmt::format("{} and {} have different types", x.instruction->key,
                                            y.instruction->key));
        json one{{"first", name(x)}, {"second", name(y)}};
        std::string verdict;
        if (structure(x, k) == structure(y, k)) {
            ++same;
            verdict = "yes: both are the same sums, in the same order";
            one["verdict"] = "same";
        } else {
            uint64_t state = 1;
            std::vector<uint64_t> a(k);
            std::vector<uint64_t> b(k);
            uint64_t c = 0;
            bool found = false;
            for (uint64_t n = 0; n < tries && !found; ++n) {
                for (uint64_t& v : a) v = searching_value(x.types.a, state);
                for (uint64_t& v : b) v = searching_value(x.types.b, state);
                c = searching_value(x.types.c, state);
                found = chained(x, a, b, c) != chained(y, a, b, c);
            }
            if (!found) {
                verdict = fmt::format("no witness among {} inputs, and no proof", tries);
                one["verdict"] = "unknown";
            } else {
                ++differ;
                // The fewest inputs that are not zero, and of these ones.
                const auto still = [&] { return chained(x, a, b, c) != chained(y, a, b, c); };
                const auto try_value = [&](uint64_t& v, uint64_t simpler) {
                    const uint64_t before = std::exchange(v, simpler);
                    if (before != simpler && !still()) v = before;
                };
                for (size_t at = 0; at < k; ++at) {
                    try_value(a[at], 0);
                    try_value(b[at], 0);
                }
                try_value(c, 0);
                for (size_t at = 0; at < k; ++at) {
                    if (a[at] != 0) try_value(a[at], bits_of(x.types.a, 1));
                    if (b[at] != 0) try_value(b[at], bits_of(x.types.b, 1));
                }
                const uint64_t dx = chained(x, a, b, c);
                const uint64_t dy = chained(y, a, b, c);
                verdict = fmt::format("no: {} and {}", both(x.types.d, dx), both(y.types.d, dy));
                const auto values = [&](Type t, const std::vector<uint64_t>& v) {
                    std::string text;
                    for (const uint64_t bits : v)
                        text += (text.empty() ? "" : ",") + text_of(t, bits, -1);
                    return text;
                };
                std::string note =
                    fmt::format("witness: --a {} --b {} --c {}", values(x.types.a, a),
                                values(x.types.b, b), text_of(x.types.c, c, -1));
                if (std::ranges::find(out.notes, note) == out.notes.end())
                    out.notes.push_back(std::move(note));
                json wa = json::array();
                json wb = json::array();
                for (const uint64_t v : a) wa.push_back(hex_of(x.types.a, v));
                for (const uint64_t v : b) wb.push_back(hex_of(x.types.b, v));
                one["verdict"] = "differ";
                one["witness"] = {{"a", wa},
                                  {"b", wb},
                                  {"c", hex_of(x.types.c, c)},
                                  {"first", hex_of(x.types.d, dx)},
                                  {"second", hex_of(x.types.d, dy)}};
            }
        }
        g.rows.push_back(
            {x.arch == y.arch ? arch_name(x.arch) : arch_name(x.arch) + " / " + arch_name(y.arch),
             verdict});
        if (out.lines.empty())
            for (const Product& p : {x, y})
                out.lines.push_back(fmt::format(
                    "{}{}", k == p.k ? "" : fmt::format("{} x ", k / p.k), p.instruction->key));
        list.push_back(one);
    }
    if (pairs.size() == 1)
        out.line = fmt::format("{}: {}", g.rows[0][0], g.rows[0][1]);
    else
        out.line = fmt::format("the same bits: {} of {}; different: {}; not known: {}", same,
                               pairs.size(), differ, pairs.size() - same - differ);
    out.data = {{"pairs", list}};
    out.grids.push_back(std::move(g));
    return out;
}

}  // namespace lockwarp::tools
