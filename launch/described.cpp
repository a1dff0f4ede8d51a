// SPDX-License-Identifier: Apache-2.0
#include "launch/described.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace lockwarp::launch {

namespace {

struct Elements {
    isa::Type type = isa::Type::none;
    std::vector<uint64_t> sizes;
    uint64_t stride = 0;  // 0: rows lie one after another
    uint64_t offset = 0;  // of the first, in bytes
};

std::optional<Elements> of_product(const Product& p, const std::string& name) {
    const auto matrix = [](isa::Type type, bool transposed, uint64_t rows, uint64_t columns) {
        if (transposed) std::swap(rows, columns);
        return Elements{type, {rows, columns}, 0, 0};
    };
    if (name == p.d) return matrix(p.type_d, false, p.m, p.n);
    if (name == p.a) return matrix(p.type_a, p.a_transposed, p.m, p.k);
    if (name == p.b) return matrix(p.type_b, p.b_transposed, p.k, p.n);
    if (name == p.c) return matrix(p.type_c, false, p.m, p.n);
    return std::nullopt;
}

std::optional<Elements> elements_of(const LaunchFile& file, const BufferField& b) {
    if (!b.shape.empty()) return Elements{b.type, b.shape, b.stride, 0};
    for (const Expectation& e : file.expectations)
        if (e.product)
            if (std::optional<Elements> found = of_product(*e.product, b.name)) return found;
    const auto said = std::ranges::find_if(file.expectations, [&](const Expectation& e) {
        return e.name == b.name && e.type != isa::Type::b8;
    });
    const bool is_said = said != file.expectations.end();
    const isa::Type type = b.type != isa::Type::none ? b.type : is_said ? said->type : b.init.type;
    if (type == isa::Type::none) return std::nullopt;
    const uint64_t offset = b.type == isa::Type::none && is_said ? said->offset : 0;
    const uint64_t count = (b.bytes - std::min(b.bytes, offset)) / (isa::bits(type) / 8);
    if (count == 0) return std::nullopt;
    return Elements{type, {count}, 0, offset};
}

}  // namespace

check::Described described(const LaunchFile& file, const Memory& memory) {
    check::Described out;
    for (size_t i = 0; i < file.buffers.size(); ++i) {
        const BufferField& b = file.buffers[i];
        if (b.init.kind == InitKind::undefined)
            out.undefined.push_back({memory.addresses[i], b.bytes});
        if (std::optional<Elements> e = elements_of(file, b)) {
            check::Shape s;
            s.address = memory.addresses[i] + e->offset;
            s.bytes = isa::bits(e->type) / 8;
            s.stride = e->stride != 0 ? e->stride : e->sizes.back();
            s.sizes = std::move(e->sizes);
            out.shapes.push_back(std::move(s));
        }
    }
    return out;
}

}  // namespace lockwarp::launch
