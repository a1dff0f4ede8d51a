// SPDX-License-Identifier: Apache-2.0
#include "emu/check/described.hpp"

namespace lockwarp::check {

uint64_t Shape::rows() const {
    uint64_t out = 1;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) out *= sizes[i];
    return out;
}

std::string Shape::element(uint64_t offset) const {
    const uint64_t at = offset / bytes;
    const uint64_t step = has_rows() ? stride : sizes.back();
    uint64_t row = at / step;
    if (row >= rows()) return {};
    std::string out = "[" + std::to_string(at % step) + "]";
    for (size_t i = sizes.size() - 1; i-- > 0; row /= sizes[i])
        out.insert(0, "[" + std::to_string(row % sizes[i]) + "]");
    if (offset % bytes != 0) out += " byte " + std::to_string(offset % bytes);
    return out;
}

}  // namespace lockwarp::check
