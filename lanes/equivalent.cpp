// SPDX-License-Identifier: Apache-2.0
// Whether two instructions give the same bits: by what their sums are made of, or a witness.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lanes/explain.hpp"
#include "lanes/explain_parts.hpp"
#include "launch/values.hpp"

namespace lockwarp::lanes {

namespace {

using isa::Type;
using json = nlohmann::ordered_json;

// d of a chain of products of the instruction's own k over all of a and b.
uint64_t chained(const Product& p, const std::vector<uint64_t>& a, const std::vector<uint64_t>& b,
                 uint64_t c) {
    constexpr int one = 1;  // row, column
    for (size_t from = 0; from < a.size(); from += p.k)
        num::matrix_product(*p.row, {one, one, static_cast<int>(p.k)}, p.types, a.data() + from,
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
            return launch::bits_of(type, (r & 4) != 0 ? 1.0 : -1.0);
        case 2:
            return launch::bits_of(
                type, std::ldexp((r & 4) != 0 ? 1.0 : -1.0, static_cast<int>(r >> 8 & 31) - 15));
        default:
            return 0;
    }
}

}  // namespace

Answer equivalent(const std::vector<std::pair<Product, Product>>& pairs, uint64_t tries) {
    Answer out;
    Grid g;
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
            return wrong(fmt::format("{} and {} have different types", x.instruction->key,
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
                    if (a[at] != 0) try_value(a[at], launch::bits_of(x.types.a, 1));
                    if (b[at] != 0) try_value(b[at], launch::bits_of(x.types.b, 1));
                }
                const uint64_t dx = chained(x, a, b, c);
                const uint64_t dy = chained(y, a, b, c);
                verdict = fmt::format("no: {} and {}", both(x.types.d, dx), both(y.types.d, dy));
                const auto values = [&](Type t, const std::vector<uint64_t>& v) {
                    std::string text;
                    for (const uint64_t bits : v)
                        text += (text.empty() ? "" : ",") + launch::text_of(t, bits, -1);
                    return text;
                };
                std::string note =
                    fmt::format("witness: --a {} --b {} --c {}", values(x.types.a, a),
                                values(x.types.b, b), launch::text_of(x.types.c, c, -1));
                if (std::ranges::find(out.notes, note) == out.notes.end())
                    out.notes.push_back(std::move(note));
                json wa = json::array();
                json wb = json::array();
                for (const uint64_t v : a) wa.push_back(launch::hex_of(x.types.a, v));
                for (const uint64_t v : b) wb.push_back(launch::hex_of(x.types.b, v));
                one["verdict"] = "differ";
                one["witness"] = {{"a", wa},
                                  {"b", wb},
                                  {"c", launch::hex_of(x.types.c, c)},
                                  {"first", launch::hex_of(x.types.d, dx)},
                                  {"second", launch::hex_of(x.types.d, dy)}};
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

}  // namespace lockwarp::lanes
