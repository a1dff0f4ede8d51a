// SPDX-License-Identifier: Apache-2.0
#include "tools/report/why_subject.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch/values.hpp"
#include "tools/report/expectation.hpp"
#include "tools/report/products.hpp"

namespace lockwarp::tools {

namespace {

Buffers views(const launch::LaunchFile& file, const why::Bytes& bytes) {
    Buffers out;
    for (size_t i = 0; i < file.buffers.size(); ++i) out[file.buffers[i].name] = bytes[i];
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
        out.wanted = [&file, e](const why::Bytes& before) {
            return launch::Result<std::vector<why::Wanted>>(
                wanted_of_product(e, views(file, before)));
        };
        return out;
    }
    const launch::Result<std::vector<uint8_t>> bytes = expected_bytes(file, e, whole);
    if (!bytes) return tl::unexpected(bytes.error());
    const uint64_t count = bytes->size() / (isa::bits(e.type) / 8);
    out.offset = e.offset;
    out.rows = rows != 0 && rows * columns == count ? rows : 1;
    out.columns = count / out.rows;
    out.wanted = [&file, e, whole](const why::Bytes&) { return wanted_of_bytes(file, e, whole); };
    return out;
}

}  // namespace lockwarp::tools
