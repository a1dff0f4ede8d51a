// SPDX-License-Identifier: Apache-2.0
// "shape", "type" and "stride" of a buffer.
#include "launch/reader.hpp"

namespace lockwarp::launch {

namespace {

constexpr size_t max_dimensions = 8;
constexpr uint64_t max_elements = uint64_t{1} << 44;

}  // namespace

uint64_t read_shape(Reader& r, const Json& j, const std::string& field, BufferField& b) {
    if (const Json* v = j.find("type")) b.type = r.type(*v, field + ".type");
    const Json* const shape = j.find("shape");
    const Json* const stride = j.find("stride");
    if (shape == nullptr) {
        if (stride != nullptr) r.fail(*stride, field + ".stride", "stands beside shape");
        return 0;
    }
    if (j.find("type") == nullptr) return r.fail(j, field + ".type", "is missing beside shape"), 0;
    if (!shape->is(JsonKind::list) || shape->items().empty() ||
        shape->items().size() > max_dimensions)
        return r.fail(*shape, field + ".shape",
                      "the sizes of one to 8 dimensions are expected, the outermost first, not " +
                          r.seen(*shape)),
               0;
    uint64_t rows = 1;
    for (const Json& size : shape->items()) {
        b.shape.push_back(r.integer(size, field + ".shape", max_elements));
        if (b.shape.back() == 0) r.fail(size, field + ".shape", "is 0");
    }
    if (r.wrong) return 0;
    for (size_t i = 0; i + 1 < b.shape.size(); ++i)
        rows = rows > max_elements / b.shape[i] ? max_elements : rows * b.shape[i];
    const uint64_t columns = b.shape.back();
    if (stride != nullptr) {
        b.stride = r.integer(*stride, field + ".stride", max_elements);
        if (b.stride < columns)
            r.fail(*stride, field + ".stride",
                   "at least the " + std::to_string(columns) + " elements of a row are expected");
    }
    const uint64_t step = b.stride != 0 ? b.stride : columns;
    const uint64_t before = rows - 1;
    if (before != 0 && step > max_elements / before)
        return r.fail(*shape, field + ".shape", "is larger than 16 TB"), 0;
    return (before * step + columns) * (isa::bits(b.type) / 8);
}

}  // namespace lockwarp::launch
