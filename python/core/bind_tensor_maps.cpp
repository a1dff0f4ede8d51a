// SPDX-License-Identifier: Apache-2.0
// Tensor maps as the driver encodes them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "emu/isa/tensor_map.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

// Pixels and channels of a column, then the corners and the element strides.
using Im2col = std::tuple<uint32_t, uint32_t, std::vector<int32_t>, std::vector<int32_t>,
                          std::vector<uint32_t>>;

template <class T, class U, size_t n>
void copy_to(std::array<T, n>& out, const std::vector<U>& from, size_t count) {
    if (from.size() != count || count > n)
        throw Failure("a tensor map of rank " + std::to_string(count));
    std::ranges::copy(from, out.begin());
}

// The driver's numbers of type, swizzle and fill; dimension 0 is the innermost.
nb::bytes tensor_map(int type, uint64_t address, const std::vector<uint64_t>& dim,
                     const std::vector<uint64_t>& stride, const std::vector<uint32_t>& box,
                     unsigned swizzle, unsigned fill, const std::optional<Im2col>& im2col) {
    isa::TensorMap m;
    const auto row =
        std::ranges::find(isa::tensor_types, type, [](const auto& r) { return int{r.driver}; });
    if (row == isa::tensor_types.end() || dim.empty() || dim.size() > isa::max_tensor_rank ||
        swizzle >= isa::tensor_swizzle_names.size() || fill >= isa::fill_names.size())
        throw Failure("a tensor map's type, rank, swizzle or fill is none");
    m.type = row->type;
    m.rank = static_cast<uint32_t>(dim.size());
    m.address = address;
    m.swizzle = static_cast<isa::TensorSwizzle>(swizzle);
    m.fill = static_cast<isa::TensorFill>(fill);
    m.promotion = isa::TensorPromotion::bytes_128;
    copy_to(m.dim, dim, m.rank);
    copy_to(m.stride, stride, m.rank - 1);
    if (im2col) {
        const auto& [pixels, channels, lower, upper, element_stride] = *im2col;
        if (m.rank < 3) throw Failure("im2col: a tensor map of rank " + std::to_string(m.rank));
        m.im2col = true;
        m.pixels = pixels;
        m.channels = channels;
        copy_to(m.lower, lower, m.rank - 2);
        copy_to(m.upper, upper, m.rank - 2);
        copy_to(m.element_stride, element_stride, m.rank);
    } else {
        copy_to(m.box, box, m.rank);
    }
    for (const std::string& wrong : isa::refusals(m))
        throw Failure("a tensor map is refused: " + wrong);
    const isa::TensorMapBytes bytes = isa::encode(m);
    return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_tensor_maps(nb::module_& m) {
    m.def("tensor_map", tensor_map, nb::arg("type"), nb::arg("address"), nb::arg("dim"),
          nb::arg("stride"), nb::arg("box"), nb::arg("swizzle"), nb::arg("fill"),
          nb::arg("im2col") = std::optional<Im2col>{});
}

}  // namespace lockwarp::python
