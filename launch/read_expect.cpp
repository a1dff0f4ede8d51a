// SPDX-License-Identifier: Apache-2.0
// "expect": what buffers and variables hold after the run.
#include <algorithm>
#include <array>
#include <utility>

#include "launch/reader.hpp"
#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

std::string trimmed(std::string_view s) {
    const size_t begin = s.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    return std::string(s.substr(begin, s.find_last_not_of(' ') - begin + 1));
}

// A name, and whether "'" follows it.
bool take_transposed(std::string& name) {
    const bool transposed = name.ends_with('\'');
    if (transposed) name.pop_back();
    return transposed;
}

// "D = A*B'", "D = A*B + C".
bool parse_formula(std::string_view text, Product& p) {
    const size_t equals = text.find('=');
    const size_t star = text.find('*');
    if (equals == std::string_view::npos || star == std::string_view::npos || star < equals)
        return false;
    const size_t plus = std::min(text.find('+', star), text.size());
    p.d = trimmed(text.substr(0, equals));
    p.a = trimmed(text.substr(equals + 1, star - equals - 1));
    p.b = trimmed(text.substr(star + 1, plus - star - 1));
    if (plus != text.size()) {
        p.c = trimmed(text.substr(plus + 1));
        if (p.c.empty()) return false;
    }
    p.a_transposed = take_transposed(p.a);
    p.b_transposed = take_transposed(p.b);
    return !p.d.empty() && !p.a.empty() && !p.b.empty();
}

void read_types(Reader& r, const Json& j, const std::string& field, Product& p) {
    if (!r.object(j, field, {"A", "B", "C", "D"})) return;
    const std::array<std::pair<const char*, isa::Type*>, 4> types{
        {{"A", &p.type_a}, {"B", &p.type_b}, {"C", &p.type_c}, {"D", &p.type_d}}};
    for (const auto& [name, type] : types)
        if (const Json* v = j.find(name)) *type = r.type(*v, field + "." + name);
    if (p.type_b == isa::Type::none) p.type_b = p.type_a;
    if (p.type_c == isa::Type::none) p.type_c = p.type_d;
    if (p.type_a == isa::Type::none) r.fail(j, field + ".A", "is missing");
    if (p.type_d == isa::Type::none) r.fail(j, field + ".D", "is missing");
}

void read_product(Reader& r, const Json& j, const std::string& field, Expectation& e) {
    constexpr uint64_t max_size = uint64_t{1} << 32;
    const Json& formula = *j.find("product");
    Product p;
    if (!parse_formula(r.text(formula, field + ".product"), p))
        return r.fail(formula, field + ".product",
                      "\"D = A*B\" is expected (A' for A stored K x M, B' for B stored N x K), or "
                      "\"D = A*B + C\", not " +
                          r.seen(formula));
    const Json* const shape = j.find("shape");
    const Json* const types = j.find("types");
    if (shape == nullptr) return r.fail(j, field + ".shape", "is missing");
    if (types == nullptr) return r.fail(j, field + ".types", "is missing");
    if (!shape->is(JsonKind::list) || shape->items().size() != 3)
        return r.fail(*shape, field + ".shape", "[M, N, K] is expected, not " + r.seen(*shape));
    const std::array<uint64_t*, 3> sizes{&p.m, &p.n, &p.k};
    for (size_t i = 0; i < 3; ++i) {
        *sizes[i] = r.integer(shape->items()[i], field + ".shape", max_size);
        if (*sizes[i] == 0) r.fail(shape->items()[i], field + ".shape", "is 0");
    }
    read_types(r, *types, field + ".types", p);
    e.name = p.d;
    e.type = p.type_d;
    e.product = std::move(p);
}

void read_tolerance(Reader& r, const Json& j, const std::string& field, Tolerance& t) {
    const std::array<std::pair<const char*, std::optional<double>*>, 3> bounds{
        {{"ulp", &t.ulp}, {"absolute", &t.absolute}, {"relative", &t.relative}}};
    for (const auto& [name, bound] : bounds)
        if (const Json* v = j.find(name)) {
            *bound = r.number(*v, field + "." + name);
            if (!(**bound >= 0))
                r.fail(*v, field + "." + name, "a number that is not negative is expected");
        }
    if (const Json* v = j.find("exact")) {
        if (!r.truth(*v, field + ".exact")) r.fail(*v, field + ".exact", "true is expected");
        if (!t.exact()) r.fail(*v, field + ".exact", "stands alone");
    }
}

void read_bytes(Reader& r, const Json& j, const std::string& field, Expectation& e) {
    const Json* const name = j.find("buffer") != nullptr ? j.find("buffer") : j.find("variable");
    if (name == nullptr) return r.fail(j, field + ".buffer", "is missing");
    e.name = r.text(*name, field + ".buffer");
    if (const Json* v = j.find("offset")) e.offset = r.bytes(*v, field + ".offset");
    if (const Json* v = j.find("bytes")) e.bytes = r.bytes(*v, field + ".bytes");
    if (const Json* v = j.find("type")) e.type = r.type(*v, field + ".type");
    const Json* const is = j.find("is");
    if (is == nullptr) return r.fail(j, field + ".is", "is missing");
    read_init(r, *is, field + ".is", e.init);
    if (r.wrong) return;
    if (j.find("type") == nullptr && e.init.type != isa::Type::none) e.type = e.init.type;
    const uint64_t width = isa::bits(e.type) / 8;
    if (e.bytes % width != 0)
        r.fail(*j.find("bytes"), field + ".bytes",
               "a multiple of " + std::to_string(width) + " is expected");
}

void read_one(Reader& r, const Json& j, const std::string& field, const LaunchFile& file,
              Expectation& e) {
    e.place = r.place(j);
    if (!r.object(j, field,
                  {"buffer", "variable", "offset", "bytes", "type", "is", "product", "shape",
                   "types", "exact", "ulp", "absolute", "relative"}))
        return;
    if (j.find("product") != nullptr) {
        r.object(j, field, {"product", "shape", "types", "exact", "ulp", "absolute", "relative"});
        read_product(r, j, field, e);
        if (!r.wrong)
            for (const std::string& factor : {e.product->a, e.product->b, e.product->c})
                if (!factor.empty() && file.find_buffer(factor) == nullptr)
                    r.fail(j, field + ".product", "there is no buffer '" + factor + "'");
    } else {
        r.object(j, field,
                 {"buffer", "variable", "offset", "bytes", "type", "is", "exact", "ulp", "absolute",
                  "relative"});
        read_bytes(r, j, field, e);
    }
    read_tolerance(r, j, field, e.tolerance);
}

}  // namespace

void read_expectations(Reader& r, const Json& j, LaunchFile& out) {
    if (!j.is(JsonKind::list)) return r.fail(j, "expect", "a list is expected, not " + r.seen(j));
    for (size_t i = 0; i < j.items().size(); ++i)
        read_one(r, j.items()[i], "expect[" + std::to_string(i) + "]", out,
                 out.expectations.emplace_back());
}

}  // namespace lockwarp::launch
