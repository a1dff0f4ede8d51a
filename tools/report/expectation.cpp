// SPDX-License-Identifier: Apache-2.0
#include "tools/report/expectation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>

#include "launch/values.hpp"
#include "tools/report/products.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::tools {

namespace {

std::string value_text(isa::Type type, uint64_t bits) {
    const std::string hex = launch::hex_of(type, bits);
    const std::string text = launch::text_of(type, bits, -1);
    return text == hex ? hex : text + " (" + hex + ")";
}

std::string worst_text(const launch::Expectation& e, const Beside& b) {
    std::string out = value_text(e.type, b.bits) + " is there, ";
    out += e.product ? fmt::format("{:.10g} is exact", b.exact)
                     : value_text(e.type, b.expected) + " is expected";
    if (isa::row(e.type).kind == isa::Kind::bits) return out;
    if (std::isnan(b.deviation)) return out;
    out += fmt::format(", {:.6g} away", b.deviation);
    if (isa::is_float(e.type)) out += fmt::format(", {:.6g} ulp", b.ulp);
    return out;
}

// Counts the elements, and keeps the worst of those that are wrong.
struct Comparison {
    const launch::Expectation& e;
    Checked& out;
    std::optional<Beside> worst;

    void operator()(const Beside& b) {
        ++out.values;
        if (is_right(b, e.type, e.tolerance, e.product.has_value())) return;
        ++out.different;
        if (!worst || b.magnitude() > worst->magnitude()) worst = b;
    }
};

std::string field_of(const launch::LaunchFile& file, const launch::Expectation& e) {
    // It may be a copy.
    for (size_t i = 0; i < file.expectations.size(); ++i)
        if (file.expectations[i].place.line == e.place.line &&
            file.expectations[i].place.column == e.place.column)
            return file.at(e.place) + "field 'expect[" + std::to_string(i) + "]'";
    return file.at(e.place) + "field 'expect'";
}

}  // namespace

launch::Result<std::vector<uint8_t>> expected_bytes(const launch::LaunchFile& file,
                                                    const launch::Expectation& e, uint64_t whole) {
    const std::string field = field_of(file, e);
    const uint64_t width = isa::bits(e.type) / 8;
    if (e.offset > whole || e.bytes > whole - e.offset)
        return launch::failure(
            fmt::format("{}: {} bytes from byte {} on do not fit '{}' of {} bytes", field, e.bytes,
                        e.offset, e.name, whole));
    launch::BufferField part;
    part.place = e.place;
    part.name = "is";
    part.init = e.init;
    part.bytes = e.bytes != 0 ? e.bytes : whole - e.offset;
    if (part.bytes == 0 || part.bytes % width != 0)
        return launch::failure(fmt::format("{}: {} bytes of '{}' are not values of type {}", field,
                                           part.bytes, e.name, isa::row(e.type).name.substr(1)));
    return launch::initial_bytes(file, part, "expect");
}

launch::Result<Checked> check_expectation(const launch::LaunchFile& file,
                                          const launch::Expectation& e, const Buffers& before,
                                          const Buffers& after) {
    Checked out;
    out.what = e.product ? formula(*e.product) : e.name;
    out.name = e.name;
    const uint64_t width = isa::bits(e.type) / 8;
    Comparison compare{e, out, {}};
    if (e.product) {
        each_of_product(*e.product, before, after, std::ref(compare));
    } else {
        const std::span<const uint8_t> whole = after.at(e.name);
        const launch::Result<std::vector<uint8_t>> wanted = expected_bytes(file, e, whole.size());
        if (!wanted) return tl::unexpected(wanted.error());
        const std::span<const uint8_t> part = whole.subspan(e.offset, wanted->size());
        for (uint64_t i = 0; i < wanted->size() / width; ++i)
            compare(beside(e.type, i, launch::element(part, e.type, i),
                           launch::element(*wanted, e.type, i)));
    }
    if (!compare.worst) return out;
    const Beside& worst = *compare.worst;
    out.at = e.offset + worst.index * width;
    out.element = e.product ? fmt::format("{}[{}][{}]", e.name, worst.index / e.product->n,
                                          worst.index % e.product->n)
                            : fmt::format("{}[{}]", e.name, worst.index + e.offset / width);
    out.worst = worst_text(e, worst);
    return out;
}

launch::Result<void> check_fit(const launch::LaunchFile& file, const launch::Expectation& e,
                               const Buffers& buffers) {
    if (e.product) return check_product(field_of(file, e), *e.product, buffers);
    const auto found = buffers.find(e.name);
    if (found == buffers.end())
        return launch::failure(field_of(file, e) + ": there is no buffer or variable '" + e.name +
                               "'");
    const auto wanted = expected_bytes(file, e, found->second.size());
    if (!wanted) return tl::unexpected(wanted.error());
    return {};
}

std::string checked_text(const Checked& c) {
    if (c.different == 0)
        return fmt::format("{}: {} value{} as expected\n", c.what, validate::grouped(c.values),
                           c.values == 1 ? "" : "s");
    return fmt::format("DIFFERS  {}: {} of {} values are not as expected\n  worst {}: {}\n", c.what,
                       validate::grouped(c.different), validate::grouped(c.values), c.element,
                       c.worst);
}

}  // namespace lockwarp::tools
