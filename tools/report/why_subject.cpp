// SPDX-License-Identifier: Apache-2.0
#include "tools/report/why_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "launch/values.hpp"
#include "tools/report/expectation.hpp"
#include "tools/report/products.hpp"

namespace lockwarp::tools {

namespace {

std::vector<std::string> names_of(const launch::LaunchFile& file) {
    std::vector<std::string> out;
    for (const launch::BufferField& b : file.buffers) out.push_back(b.name);
    return out;
}

Buffers views(const std::vector<std::string>& names, const why::Bytes& bytes) {
    Buffers out;
    for (size_t i = 0; i < names.size(); ++i) out[names[i]] = bytes[i];
    return out;
}

// What a product's elements should be.
std::vector<why::Wanted> wanted_of_product(const launch::Expectation& e, const Buffers& before) {
    std::vector<why::Wanted> out;
    each_of_product(*e.product, before, before, [&](const Beside& b) {
        out.push_back(
            {b.expected, b.exact, allowed(b, e.product->type_d, e.tolerance, true), false});
    });
    return out;
}

launch::Result<std::vector<why::Wanted>> wanted_of_bytes(const launch::LaunchFile& file,
                                                         const launch::Expectation& e,
                                                         uint64_t whole) {
    const launch::Result<std::vector<uint8_t>> bytes = expected_bytes(file, e, whole);
    if (!bytes) return tl::unexpected(bytes.error());
    std::vector<why::Wanted> out;
    const bool exact = e.tolerance.exact();
    for (uint64_t i = 0; i < bytes->size() / (isa::bits(e.type) / 8); ++i) {
        const uint64_t bits = launch::element(*bytes, e.type, i);
        const Beside b = beside(e.type, i, bits, bits);
        out.push_back({bits, b.exact, allowed(b, e.type, e.tolerance, false), exact});
    }
    return out;
}

// The launch that multiplies: the last that has matrix instructions; without one the last.
size_t multiplies(const std::vector<launch::Loaded>& steps) {
    for (size_t i = steps.size(); i-- > 0;)
        if (std::ranges::any_of(steps[i].program.operations, [](const isa::Operation& o) {
                return o.mma != nullptr || o.wmma != nullptr;
            }))
            return i;
    return steps.size() - 1;
}

// The types of A and B of a program's matrix instructions, as memory has them.
std::optional<std::pair<isa::Type, isa::Type>> operand_types(const isa::Program& program) {
    const auto stored = [](isa::Type t) { return t == isa::Type::tf32 ? isa::Type::f32 : t; };
    for (const isa::Operation& o : program.operations) {
        if (o.mma != nullptr) return std::pair{stored(o.mma->a), stored(o.mma->b)};
        if (o.wmma != nullptr) return std::pair{stored(o.wmma->ab), stored(o.wmma->ab)};
    }
    return {};
}

// Whether the bytes that are expected are about this product: the tolerance is that of products,
// and that of D's type if it is coarser.
bool is_product(const launch::Product& p, const Buffers& buffers,
                const std::vector<why::Wanted>& wanted) {
    uint64_t good = 0;
    each_of_product(p, buffers, buffers, [&](const Beside& b) {
        const double unit = 4 * ulp_at(p.type_d, b.exact);
        if (std::fabs(wanted[b.index].value - b.exact) <= std::max(b.bound, unit)) ++good;
    });
    return good == wanted.size();
}

// The product that the expected bytes are, if they are one of two buffers: their sizes leave one
// shape.
std::optional<launch::Product> find_product(const why::Subject& s, const Buffers& buffers,
                                            const std::vector<why::Wanted>& wanted) {
    const auto types = operand_types(s.loaded().program);
    if (!types || s.offset != 0 || wanted.size() > (uint64_t{1} << 20)) return {};
    const uint64_t d = wanted.size();
    for (const auto& [name_a, bytes_a] : buffers)
        for (const auto& [name_b, bytes_b] : buffers) {
            if (&name_a == &name_b || name_a == s.file().buffers[s.buffer].name ||
                name_b == s.file().buffers[s.buffer].name)
                continue;
            const uint64_t a = bytes_a.size() / (isa::bits(types->first) / 8);
            const uint64_t b = bytes_b.size() / (isa::bits(types->second) / 8);
            if (a == 0 || b == 0) continue;
            const auto m = static_cast<uint64_t>(std::llround(std::sqrt(
                static_cast<double>(a) * static_cast<double>(d) / static_cast<double>(b))));
            if (m == 0 || a % m != 0 || d % m != 0 || b != a / m * (d / m)) continue;
            for (const bool a_transposed : {false, true})
                for (const bool b_transposed : {false, true}) {
                    launch::Product p;
                    p.d = s.file().buffers[s.buffer].name, p.a = name_a, p.b = name_b;
                    p.a_transposed = a_transposed, p.b_transposed = b_transposed;
                    p.m = m, p.n = d / m, p.k = a / m;
                    p.type_a = types->first, p.type_b = types->second;
                    p.type_c = p.type_d = s.type;
                    if (is_product(p, buffers, wanted)) return p;
                }
        }
    return {};
}

}  // namespace

launch::Result<why::Subject> why_subject(const std::vector<launch::Loaded>& steps,
                                         const launch::Expectation& e, const launch::State& state,
                                         uint64_t rows, uint64_t columns) {
    why::Subject out;
    out.steps = &steps;
    out.begin = state;
    out.step = multiplies(steps);
    out.type = e.type;
    const launch::LaunchFile& file = out.file();
    out.buffer = out.buffer_named(e.name);
    if (out.buffer == SIZE_MAX)
        return launch::failure(fmt::format("'{}': why takes what is expected of a buffer", e.name));
    const uint64_t whole = state.memory.bytes[out.buffer].size();
    if (e.product) {
        out.product = e.product;
        out.rows = e.product->m, out.columns = e.product->n;
        out.wanted = [names = names_of(file), e](const why::Bytes& before) {
            return launch::Result<std::vector<why::Wanted>>(
                wanted_of_product(e, views(names, before)));
        };
        return out;
    }
    const launch::Result<std::vector<uint8_t>> bytes = expected_bytes(file, e, whole);
    if (!bytes) return tl::unexpected(bytes.error());
    const uint64_t count = bytes->size() / (isa::bits(e.type) / 8);
    out.offset = e.offset;
    const launch::BufferField& field = file.buffers[out.buffer];
    const bool has_rows = field.shape.size() == 2 && e.offset == 0 &&
                          (field.stride == 0 || field.stride == field.shape[1]);
    if (rows == 0 && has_rows) rows = field.shape[0], columns = field.shape[1];
    out.rows = rows != 0 && rows * columns == count ? rows : 1;
    out.columns = count / out.rows;
    const launch::Result<std::vector<why::Wanted>> wanted = wanted_of_bytes(file, e, whole);
    if (!wanted) return tl::unexpected(wanted.error());
    out.wanted = [known = *wanted](const why::Bytes&) {
        return launch::Result<std::vector<why::Wanted>>(known);
    };
    const Buffers buffers = views(names_of(file), state.memory.bytes);
    out.product = find_product(out, buffers, *wanted);
    if (!out.product) return out;
    out.product_is_found = true;
    out.rows = out.product->m, out.columns = out.product->n;
    launch::Expectation as_product = e;
    as_product.product = out.product;
    as_product.tolerance = {};
    out.wanted = [names = names_of(file), known = *wanted, as_product,
                  first = state.memory.bytes](const why::Bytes& before) {
        if (before == first) return launch::Result<std::vector<why::Wanted>>(known);
        return launch::Result<std::vector<why::Wanted>>(
            wanted_of_product(as_product, views(names, before)));
    };
    return out;
}

launch::Result<std::vector<launch::Expectation>> why_expectations(
    const std::vector<std::string>& products, const launch::LaunchFile& file,
    const launch::State& state) {
    std::vector<launch::Expectation> out;
    const Buffers buffers = views(names_of(file), state.memory.bytes);
    for (const std::string& text : products) {
        launch::Result<launch::Expectation> e = parse_product(text);
        if (!e) return launch::failure(e);
        if (launch::Result<void> held = check_product("--product", *e->product, buffers); !held)
            return launch::failure(held);
        out.push_back(std::move(*e));
    }
    if (!out.empty()) return out;
    for (const launch::Expectation& e : file.expectations) {
        if (file.find_buffer(e.name) == nullptr) continue;
        if (launch::Result<void> held = check_fit(file, e, buffers); !held)
            return launch::failure(held);
        out.push_back(e);
    }
    if (out.empty())
        return launch::failure(file.path +
                               ": it says of no buffer what is expected (field 'expect'); or name "
                               "a product, --product D=A*B:MxNxK:AB_TYPE:D_TYPE");
    return out;
}

debug::SubjectOf subject_of(std::vector<std::string> products) {
    return [products = std::move(products)](
               const std::vector<launch::Loaded>& launches) -> launch::Result<why::Subject> {
        const launch::LaunchFile& file = launches.front().in.launch;
        const launch::Result<launch::State> state = launch::make_state(file);
        if (!state) return tl::unexpected(state.error());
        const auto list = why_expectations(products, file, *state);
        if (!list) return tl::unexpected(list.error());
        for (const launch::Expectation& e : *list) {
            launch::Result<why::Subject> one = why_subject(launches, e, *state);
            if (one && one->product) return one;
        }
        return why_subject(launches, list->front(), *state);
    };
}

}  // namespace lockwarp::tools
