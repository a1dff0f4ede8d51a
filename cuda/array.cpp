// SPDX-License-Identifier: Apache-2.0
// Arrays. Mipmapped and sparse ones are not there, nor those of formats for video and compressed
// images.
#include "cuda/array.hpp"

#include "cuda/memory.hpp"
#include "cuda/order.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t most_elements = 1u << 30;  // along a dimension

// CUDA driver API, cuArray3DCreate: which sizes go together.
void check_shape(const Array3DDescription& d) {
    const bool layered = (d.flags & layered_array) != 0, cubes = (d.flags & cubemap_array) != 0;
    for (const size_t n : {d.width, d.height, d.depth}) require(n <= most_elements);
    require(d.width != 0);
    if (cubes) {
        require(d.width == d.height && d.depth != 0 && d.depth % 6 == 0);
        require(layered || d.depth == 6);
    } else if (layered) {
        require(d.depth != 0);
    } else {
        require(d.depth == 0 || d.height != 0);
    }
}

Array* make(const Array3DDescription& d) {
    const std::shared_ptr<Context> context = current();
    constexpr unsigned known = layered_array | surface_array | cubemap_array | gather_array;
    require((d.flags & ~known) == 0, not_supported);
    const auto* const format = std::ranges::find(format_rows, d.format, &FormatRow::format);
    require(format != format_rows.end(), not_supported);
    require(d.channels == 1 || d.channels == 2 || d.channels == 4);
    check_shape(d);
    auto array = std::make_shared<Array>();
    array->context = context;
    array->description = d;
    array->pitch = d.width * d.channels * format->bits / 8;
    array->slice = array->pitch * array->rows();
    require(array->slice <= SIZE_MAX / 2 / array->slices(), out_of_memory);
    array->address = allocate(array->slice * array->slices(), Kind::device, context);
    return driver().arrays.add(std::move(array));
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuArray3DCreate_v2(Array** out, const Array3DDescription* description) {
    return answer([&] {
        require(out != nullptr && description != nullptr);
        *out = make(*description);
    });
}

Result cuArrayCreate_v2(Array** out, const ArrayDescription* d) {
    return answer([&] {
        require(out != nullptr && d != nullptr);
        *out = make({d->width, d->height, 0, d->format, d->channels, 0});
    });
}

Result cuArray3DGetDescriptor_v2(Array3DDescription* out, Array* array) {
    return answer([&] {
        current();
        require(out != nullptr);
        *out = driver().arrays.get(array)->description;
    });
}

Result cuArrayGetDescriptor_v2(ArrayDescription* out, Array* array) {
    return answer([&] {
        current();
        require(out != nullptr);
        const Array3DDescription d = driver().arrays.get(array)->description;
        *out = {d.width, d.height, d.format, d.channels};
    });
}

Result cuArrayDestroy(Array* array) {
    return answer([&] {
        ready();
        const std::shared_ptr<Array> a = driver().arrays.get(array);
        finish_all();
        driver().arrays.take(array);
        release(a->address, Kind::device, Kind::device);
    });
}

}  // extern "C"
