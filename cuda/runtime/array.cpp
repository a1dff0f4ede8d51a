// SPDX-License-Identifier: Apache-2.0
// Arrays, and copies to and from them.
#include "cuda/array.hpp"

#include "cuda/runtime/array.hpp"
#include "cuda/runtime/copy.hpp"

namespace lockwarp::cuda {

namespace {

Array3DDescription description_of(const Array* array) {
    Array3DDescription d{};
    check(cuArray3DGetDescriptor_v2(&d, const_cast<Array*>(array)));
    return d;
}

Result make(Array** out, const ChannelDescription* format, const Extent& extent, unsigned flags) {
    require(out != nullptr && format != nullptr);
    Array3DDescription d{extent.width, extent.height, extent.depth, 0, 0, flags};
    set_format(*format, d.format, d.channels);
    return cuArray3DCreate_v2(out, &d);
}

struct Rows {
    size_t width, height;  // bytes of a row, and rows
};

// Blocking, or in a stream.
struct Way {
    bool in_stream = false;
    Stream* stream = nullptr;
};

Result copy(const CopyBox& box, const Way& way) {
    Copy3D all = driver_copy(box);
    // Here widths and places are bytes.
    all.width = box.extent.width;
    all.source_x = box.source_at.x;
    all.target_x = box.target_at.x;
    if (all.width == 0 || all.height == 0) return success;
    return way.in_stream ? cuMemcpy3DAsync_v2(&all, way.stream) : cuMemcpy3D_v2(&all);
}

Result to_array(Array* target, size_t x, size_t y, const void* source, size_t pitch, Rows rows,
                CopyKind kind, const Way& way) {
    require(rows.width <= pitch, invalid_pitch);
    CopyBox box{};
    box.source = {const_cast<void*>(source), pitch, rows.width, rows.height};
    box.target_array = target;
    box.target_at = {x, y, 0};
    box.extent = {rows.width, rows.height, 1};
    box.kind = kind;
    return copy(box, way);
}

Result from_array(void* target, size_t pitch, const Array* source, size_t x, size_t y, Rows rows,
                  CopyKind kind, const Way& way) {
    require(rows.width <= pitch, invalid_pitch);
    CopyBox box{};
    box.source_array = const_cast<Array*>(source);
    box.source_at = {x, y, 0};
    box.target = {target, pitch, rows.width, rows.height};
    box.extent = {rows.width, rows.height, 1};
    box.kind = kind;
    return copy(box, way);
}

Result between_arrays(Array* target, size_t to_x, size_t to_y, const Array* source, size_t from_x,
                      size_t from_y, Rows rows) {
    CopyBox box{};
    box.source_array = const_cast<Array*>(source);
    box.source_at = {from_x, from_y, 0};
    box.target_array = target;
    box.target_at = {to_x, to_y, 0};
    box.extent = {rows.width, rows.height, 1};
    box.kind = CopyKind::device_to_device;
    return copy(box, {});
}

// Bytes of an array from a place on, row after row: each piece at its place, and its offset.
template <class Each>
void each_piece(const Array* array, size_t x, size_t y, size_t count, Each each) {
    const size_t row = description_of(array).width * element_bytes_of(array);
    for (size_t done = 0; done < count; x = 0, ++y) {
        require(x < row);
        const size_t piece = std::min(count - done, row - x);
        each(x, y, done, piece);
        done += piece;
    }
}

Result bytes_to_array(Array* target, size_t x, size_t y, const void* source, size_t count,
                      CopyKind kind, const Way& way) {
    const auto* const from = static_cast<const uint8_t*>(source);
    each_piece(target, x, y, count, [&](size_t at, size_t line, size_t offset, size_t piece) {
        check(to_array(target, at, line, from + offset, piece, {piece, 1}, kind, way));
    });
    return success;
}

Result bytes_from_array(void* target, const Array* source, size_t x, size_t y, size_t count,
                        CopyKind kind, const Way& way) {
    auto* const to = static_cast<uint8_t*>(target);
    each_piece(source, x, y, count, [&](size_t at, size_t line, size_t offset, size_t piece) {
        check(from_array(to + offset, piece, source, at, line, {piece, 1}, kind, way));
    });
    return success;
}

}  // namespace

void set_format(const ChannelDescription& c, int& format, unsigned& channels) {
    // cudaChannelFormatKind
    constexpr std::array kinds{isa::TexelKind::signed_integer, isa::TexelKind::unsigned_integer,
                               isa::TexelKind::floating};
    constexpr int none = 3;
    require(c.kind >= 0 && c.kind != none);
    require(static_cast<size_t>(c.kind) < kinds.size(), not_supported);
    channels = 0;
    for (const int bits : c.bits) {
        if (bits == 0) break;
        require(bits == c.bits[0]);
        ++channels;
    }
    for (unsigned i = channels; i < 4; ++i) require(c.bits[i] == 0);
    require(channels == 1 || channels == 2 || channels == 4);
    for (const FormatRow& row : format_rows)
        if (row.kind == kinds[static_cast<size_t>(c.kind)] && row.bits == c.bits[0]) {
            format = row.format;
            return;
        }
    fail(invalid_value);
}

ChannelDescription channels_of(int format, unsigned channels) {
    for (const FormatRow& row : format_rows) {
        if (row.format != format) continue;
        ChannelDescription out{};
        for (unsigned i = 0; i < channels; ++i) out.bits[i] = row.bits;
        out.kind = row.kind == isa::TexelKind::signed_integer     ? 0
                   : row.kind == isa::TexelKind::unsigned_integer ? 1
                                                                  : 2;
        return out;
    }
    fail(invalid_value);
}

size_t element_bytes_of(const Array* array) {
    const Array3DDescription d = description_of(array);
    return size_t{d.channels} * static_cast<size_t>(channels_of(d.format, 1).bits[0]) / 8;
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

ChannelDescription cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return {{x, y, z, w}, kind};
}

Result cudaMallocArray(Array** out, const ChannelDescription* format, size_t width, size_t height,
                       unsigned flags) {
    return call([&] { return make(out, format, {width, height, 0}, flags); });
}

Result cudaMalloc3DArray(Array** out, const ChannelDescription* format, Extent extent,
                         unsigned flags) {
    return call([&] { return make(out, format, extent, flags); });
}

Result cudaFreeArray(Array* array) {
    return call([&] { return array == nullptr ? success : cuArrayDestroy(array); });
}

Result cudaArrayGetInfo(ChannelDescription* format, Extent* extent, unsigned* flags, Array* array) {
    return call([&] {
        const Array3DDescription d = description_of(array);
        if (format != nullptr) *format = channels_of(d.format, d.channels);
        if (extent != nullptr) *extent = {d.width, d.height, d.depth};
        if (flags != nullptr) *flags = d.flags;
    });
}

Result cudaGetChannelDesc(ChannelDescription* format, const Array* array) {
    return call([&] {
        require(format != nullptr);
        const Array3DDescription d = description_of(array);
        *format = channels_of(d.format, d.channels);
    });
}

Result cudaMemcpy2DToArray(Array* target, size_t x, size_t y, const void* source, size_t pitch,
                           size_t width, size_t height, CopyKind kind) {
    return call([&] { return to_array(target, x, y, source, pitch, {width, height}, kind, {}); });
}

Result cudaMemcpy2DToArrayAsync(Array* target, size_t x, size_t y, const void* source, size_t pitch,
                                size_t width, size_t height, CopyKind kind, Stream* stream) {
    return call([&] {
        return to_array(target, x, y, source, pitch, {width, height}, kind, {true, stream});
    });
}

Result cudaMemcpy2DFromArray(void* target, size_t pitch, const Array* source, size_t x, size_t y,
                             size_t width, size_t height, CopyKind kind) {
    return call([&] { return from_array(target, pitch, source, x, y, {width, height}, kind, {}); });
}

Result cudaMemcpy2DFromArrayAsync(void* target, size_t pitch, const Array* source, size_t x,
                                  size_t y, size_t width, size_t height, CopyKind kind,
                                  Stream* stream) {
    return call([&] {
        return from_array(target, pitch, source, x, y, {width, height}, kind, {true, stream});
    });
}

Result cudaMemcpy2DArrayToArray(Array* target, size_t to_x, size_t to_y, const Array* source,
                                size_t from_x, size_t from_y, size_t width, size_t height,
                                CopyKind) {
    return call([&] {
        return between_arrays(target, to_x, to_y, source, from_x, from_y, {width, height});
    });
}

Result cudaMemcpyToArray(Array* target, size_t x, size_t y, const void* source, size_t count,
                         CopyKind kind) {
    return call([&] { return bytes_to_array(target, x, y, source, count, kind, {}); });
}

Result cudaMemcpyToArrayAsync(Array* target, size_t x, size_t y, const void* source, size_t count,
                              CopyKind kind, Stream* stream) {
    return call([&] { return bytes_to_array(target, x, y, source, count, kind, {true, stream}); });
}

Result cudaMemcpyFromArray(void* target, const Array* source, size_t x, size_t y, size_t count,
                           CopyKind kind) {
    return call([&] { return bytes_from_array(target, source, x, y, count, kind, {}); });
}

Result cudaMemcpyFromArrayAsync(void* target, const Array* source, size_t x, size_t y, size_t count,
                                CopyKind kind, Stream* stream) {
    return call([&] {
        return bytes_from_array(target, source, x, y, count, kind, {true, stream});
    });
}

Result cudaMemcpyArrayToArray(Array* target, size_t to_x, size_t to_y, const Array* source,
                              size_t from_x, size_t from_y, size_t count, CopyKind) {
    return call([&] {
        // Rows of both may end at different places: a byte after another's piece is its own.
        const size_t row = description_of(target).width * element_bytes_of(target);
        require(row != 0 && to_x < row);
        const size_t first = to_y * row + to_x;
        each_piece(
            source, from_x, from_y, count, [&](size_t x, size_t y, size_t offset, size_t piece) {
                for (size_t done = 0; done < piece;) {
                    const size_t at = first + offset + done;
                    const size_t part = std::min(piece - done, row - at % row);
                    check(
                        between_arrays(target, at % row, at / row, source, x + done, y, {part, 1}));
                    done += part;
                }
            });
        return success;
    });
}

}  // extern "C"
