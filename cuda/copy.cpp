// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Those of a stream are done when they are asked for.
#include <algorithm>
#include <cstring>

#include "cuda/array.hpp"
#include "cuda/copy.hpp"
#include "cuda/graph.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::cuda {

namespace {

// Bytes of a copy's one side: device memory is looked up, the program's own cannot be.
uint8_t* side(Address address, uint64_t size, bool on_device) {
    if (on_device)
        holding(address, size);
    else
        require(address != 0);
    return reinterpret_cast<uint8_t*>(address);
}

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }

void copy_between(Address target, bool target_on_device, Address source, bool source_on_device,
                  uint64_t size) {
    current();
    if (size == 0) return;
    std::memmove(side(target, size, target_on_device), side(source, size, source_on_device), size);
}

void copy(Address target, bool target_on_device, Address source, bool source_on_device,
          uint64_t size) {
    check_copied(target);
    check_copied(source);
    copy_between(target, target_on_device, source, source_on_device, size);
}

// A blocking copy waits for what came before it.
template <class Do>
Result blocking(Do work) {
    return answer([&] {
        refuse_capture(nullptr);
        finish_stream(nullptr);
        synchronize(*current_in_error());
        work();
    });
}

// `make` gives the work.
template <class Make>
Result in_stream(Stream* stream, Make make) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        submit(stream, make());
    });
}

// The same, which the current device may copy.
Copy3D checked(const Copy3D& c) {
    if (c.target_type == device_memory || c.target_type == unified) check_copied(c.target_device);
    if (c.source_type == device_memory || c.source_type == unified) check_copied(c.source_device);
    return c;
}

// One row.
Copy3D line(Address target, MemoryType target_type, Address source, MemoryType source_type,
            size_t size) {
    Copy3D out{};
    out.source_type = source_type;
    out.source_host = reinterpret_cast<const void*>(source);
    out.source_device = source;
    out.target_type = target_type;
    out.target_host = reinterpret_cast<void*>(target);
    out.target_device = target;
    out.width = size;
    out.height = 1;
    out.depth = 1;
    return out;
}

// One row of an array, in place of that side.
Copy3D from_array(Copy3D c, Array* array, size_t offset) {
    c.source_type = array_memory;
    c.source_array = array;
    c.source_x = offset;
    return c;
}
Copy3D to_array(Copy3D c, Array* array, size_t offset) {
    c.target_type = array_memory;
    c.target_array = array;
    c.target_x = offset;
    return c;
}

struct Side {
    uint8_t* bytes = nullptr;
    uint64_t pitch = 0, slice = 0;  // bytes from a row to the next, and from a slice
};

struct Box {  // of nothing: without bytes
    Side to, from;
};

// A box of a copy in three dimensions.
struct Corner {
    MemoryType type;
    const void* host;
    Address device;
    const Array* array;
    uint64_t pitch, height, x, y, z;
};

Side side_in_array(const Corner& c, uint64_t width, uint64_t height, uint64_t depth) {
    const std::shared_ptr<Array> array = driver().arrays.get(c.array);
    const auto fits = [](uint64_t at, uint64_t count, uint64_t size) {
        return count <= size && at <= size - count;
    };
    require(fits(c.x, width, array->pitch) && fits(c.y, height, array->rows()) &&
            fits(c.z, depth, array->slices()));
    const Address first = array->address + c.z * array->slice + c.y * array->pitch + c.x;
    return {reinterpret_cast<uint8_t*>(first), array->pitch, array->slice};
}

Side side_of(const Corner& c, uint64_t width, uint64_t height, uint64_t depth) {
    if (c.type == array_memory) return side_in_array(c, width, height, depth);
    require(c.type == host_memory || c.type == device_memory || c.type == unified);
    const uint64_t pitch = c.pitch != 0 ? c.pitch : c.x + width;
    const uint64_t slice = pitch * (c.height != 0 ? c.height : c.y + height);
    require(pitch >= width && c.x <= pitch);
    const Address base = c.type == host_memory ? address_of(c.host) : c.device;
    const Address first = base + c.z * slice + c.y * pitch + c.x;
    const uint64_t all = (depth - 1) * slice + (height - 1) * pitch + width;
    return {side(first, all, c.type == device_memory), pitch, slice};
}

// In the heap of malloc in kernels, which an H200 lets the host fill, and not copy.
uint8_t* in_heap(Address target, uint64_t bytes) {
    const std::shared_ptr<Context> context = current();
    const std::lock_guard lock(context->mutex);
    if (context->heap == nullptr) return nullptr;
    const warp::Buffer heap = context->heap->buffer();
    const uint64_t at = target - heap.address;
    const bool inside =
        target >= heap.address && at < heap.bytes.size() && bytes <= heap.bytes.size() - at;
    return inside ? heap.bytes.data() + at : nullptr;
}

// Where a box of elements of `size` bytes begins; nullptr where it is empty.
uint8_t* filled_rows(Address target, uint64_t pitch, uint64_t size, uint64_t width,
                     uint64_t height) {
    current();
    if (width == 0 || height == 0) return nullptr;
    require(target % size == 0 && (height == 1 || pitch >= width * size));
    require(width <= UINT64_MAX / size && (height == 1 || pitch % size == 0));
    const uint64_t bytes = (height - 1) * pitch + width * size;
    if (uint8_t* const there = in_heap(target, bytes); there != nullptr) return there;
    return side(target, bytes, true);
}

template <class T>
void fill_rows(Address target, uint64_t pitch, T value, uint64_t width, uint64_t height) {
    uint8_t* const bytes = filled_rows(target, pitch, sizeof(T), width, height);
    if (bytes == nullptr) return;
    for (uint64_t y = 0; y < height; ++y)
        std::fill_n(reinterpret_cast<T*>(bytes + y * pitch), width, value);
}

template <class T>
Result fill_in_stream(Address target, uint64_t pitch, T value, size_t width, size_t height,
                      Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        const Within within(context_of(stream));
        if (width != 0 && height != 0) check_filled(target, current()->device);
        submit(stream, MemsetNode{target, pitch, value, sizeof(T), width, height});
    });
}

template <class T>
Result fill(Address target, T value, size_t count) {
    return fill_in_stream(target, 0, value, count, 1, nullptr);
}

Box box_of(const Copy3D& c) {
    current();
    if (c.width == 0 || c.height == 0 || c.depth == 0) return {};
    const Side to = side_of({c.target_type, c.target_host, c.target_device, c.target_array,
                             c.target_pitch, c.target_height, c.target_x, c.target_y, c.target_z},
                            c.width, c.height, c.depth);
    const Side from = side_of({c.source_type, c.source_host, c.source_device, c.source_array,
                               c.source_pitch, c.source_height, c.source_x, c.source_y, c.source_z},
                              c.width, c.height, c.depth);
    return {to, from};
}

// Copies of one call, which need not be done in their order. Attributes are those of the copies
// from a number on. `failed`: the copy that was not taken, SIZE_MAX where it was none of them.
void copy_batch(const Address* targets, const Address* sources, const size_t* sizes, size_t count,
                const CopyAttributes* attributes, const size_t* firsts, size_t attribute_count,
                size_t& failed, Stream* stream) {
    enum SourceOrder : int { in_stream_order = 1, during_call = 2, any_time = 3 };
    failed = SIZE_MAX;
    current();
    check_stream(stream);
    require(targets != nullptr && sources != nullptr && sizes != nullptr && count != 0);
    require(attributes != nullptr && firsts != nullptr && firsts[0] == 0);
    require(attribute_count != 0 && attribute_count <= count &&
            firsts[attribute_count - 1] < count);
    bool is_awaited = false;
    for (size_t i = 0; i < attribute_count; ++i) {
        require(i == 0 || firsts[i] > firsts[i - 1]);
        require(attributes[i].order >= in_stream_order && attributes[i].order <= any_time);
        is_awaited |= attributes[i].order == during_call;
    }
    for (failed = 0; failed < count; ++failed) {
        const size_t i = failed;
        submit(stream, checked(line(targets[i], unified, sources[i], unified, sizes[i])));
    }
    failed = SIZE_MAX;
    if (is_awaited) finish_stream(stream);
}

}  // namespace

void check_copy(const Copy3D& c) { box_of(c); }

void check_fill(const MemsetNode& n) {
    require(n.element_size == 1 || n.element_size == 2 || n.element_size == 4);
    filled_rows(n.target, n.pitch, n.element_size, n.width, n.height);
}

void copy_3d(const Copy3D& c) {
    const auto [to, from] = box_of(c);
    if (to.bytes == nullptr) return;
    for (uint64_t z = 0; z < c.depth; ++z)
        for (uint64_t y = 0; y < c.height; ++y)
            std::memmove(to.bytes + z * to.slice + y * to.pitch,
                         from.bytes + z * from.slice + y * from.pitch, c.width);
}

Copy3D box_of(const Copy2D& c) {
    Copy3D all{};
    all.source_x = c.source_x;
    all.source_y = c.source_y;
    all.source_type = c.source_type;
    all.source_host = c.source_host;
    all.source_device = c.source_device;
    all.source_array = c.source_array;
    all.source_pitch = c.source_pitch;
    all.target_x = c.target_x;
    all.target_y = c.target_y;
    all.target_type = c.target_type;
    all.target_host = c.target_host;
    all.target_device = c.target_device;
    all.target_array = c.target_array;
    all.target_pitch = c.target_pitch;
    all.width = c.width;
    all.height = c.height;
    all.depth = 1;
    return all;
}

void fill_node(const MemsetNode& n) {
    switch (n.element_size) {
        case 1:
            return fill_rows(n.target, n.pitch, static_cast<uint8_t>(n.value), n.width, n.height);
        case 2:
            return fill_rows(n.target, n.pitch, static_cast<uint16_t>(n.value), n.width, n.height);
        case 4:
            return fill_rows(n.target, n.pitch, n.value, n.width, n.height);
        default:
            fail(invalid_value);
    }
}

Result copy_between_devices(const Copy3D& c) {
    return blocking([&] { copy_3d(c); });
}

Result copy_between_devices(const Copy3D& c, Stream* stream) {
    return in_stream(stream, [&] { return c; });
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuMemcpy(Address target, Address source, size_t size) {
    return blocking([&] { copy(target, false, source, false, size); });
}
Result cuMemcpyHtoD_v2(Address target, const void* source, size_t size) {
    return blocking([&] { copy(target, true, address_of(source), false, size); });
}
Result cuMemcpyDtoH_v2(void* target, Address source, size_t size) {
    return blocking([&] { copy(address_of(target), false, source, true, size); });
}
Result cuMemcpyDtoD_v2(Address target, Address source, size_t size) {
    return blocking([&] { copy(target, true, source, true, size); });
}
Result cuMemcpyPeer(Address target, Context*, Address source, Context*, size_t size) {
    return blocking([&] { copy_between(target, true, source, true, size); });
}
Result cuMemcpyAsync(Address target, Address source, size_t size, Stream* stream) {
    return in_stream(stream, [&] { return checked(line(target, unified, source, unified, size)); });
}
Result cuMemcpyBatchAsync(const Address* targets, const Address* sources, const size_t* sizes,
                          size_t count, const CopyAttributes* attributes, const size_t* firsts,
                          size_t attribute_count, size_t* failed, Stream* stream) {
    size_t unasked = 0;
    return answer([&] {
        copy_batch(targets, sources, sizes, count, attributes, firsts, attribute_count,
                   failed != nullptr ? *failed : unasked, stream);
    });
}
Result cuMemcpyBatchAsync_v2(const Address* targets, const Address* sources, const size_t* sizes,
                             size_t count, const CopyAttributes* attributes, const size_t* firsts,
                             size_t attribute_count, Stream* stream) {
    return cuMemcpyBatchAsync(targets, sources, sizes, count, attributes, firsts, attribute_count,
                              nullptr, stream);
}
Result cuMemcpyHtoDAsync_v2(Address target, const void* source, size_t size, Stream* stream) {
    return in_stream(stream, [&] {
        return checked(line(target, device_memory, address_of(source), host_memory, size));
    });
}
Result cuMemcpyDtoHAsync_v2(void* target, Address source, size_t size, Stream* stream) {
    return in_stream(stream, [&] {
        return checked(line(address_of(target), host_memory, source, device_memory, size));
    });
}
Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, Stream* stream) {
    return in_stream(
        stream, [&] { return checked(line(target, device_memory, source, device_memory, size)); });
}
Result cuMemcpyPeerAsync(Address target, Context*, Address source, Context*, size_t size,
                         Stream* stream) {
    return in_stream(stream,
                     [&] { return line(target, device_memory, source, device_memory, size); });
}

Result cuMemcpyHtoA_v2(Array* target, size_t offset, const void* source, size_t size) {
    return blocking([&] {
        copy_3d(
            to_array(line(0, host_memory, address_of(source), host_memory, size), target, offset));
    });
}
Result cuMemcpyAtoH_v2(void* target, Array* source, size_t offset, size_t size) {
    return blocking([&] {
        copy_3d(from_array(line(address_of(target), host_memory, 0, host_memory, size), source,
                           offset));
    });
}
Result cuMemcpyDtoA_v2(Array* target, size_t offset, Address source, size_t size) {
    return blocking([&] {
        copy_3d(to_array(line(0, host_memory, source, device_memory, size), target, offset));
    });
}
Result cuMemcpyAtoD_v2(Address target, Array* source, size_t offset, size_t size) {
    return blocking([&] {
        copy_3d(from_array(line(target, device_memory, 0, host_memory, size), source, offset));
    });
}
Result cuMemcpyAtoA_v2(Array* target, size_t target_offset, Array* source, size_t source_offset,
                       size_t size) {
    return blocking([&] {
        const Copy3D row = line(0, host_memory, 0, host_memory, size);
        copy_3d(to_array(from_array(row, source, source_offset), target, target_offset));
    });
}
Result cuMemcpyHtoAAsync_v2(Array* target, size_t offset, const void* source, size_t size,
                            Stream* stream) {
    return in_stream(stream, [&] {
        return to_array(line(0, host_memory, address_of(source), host_memory, size), target,
                        offset);
    });
}
Result cuMemcpyAtoHAsync_v2(void* target, Array* source, size_t offset, size_t size,
                            Stream* stream) {
    return in_stream(stream, [&] {
        return from_array(line(address_of(target), host_memory, 0, host_memory, size), source,
                          offset);
    });
}

Result cuMemcpy2D_v2(const Copy2D* c) {
    return blocking([&] {
        require(c != nullptr);
        copy_3d(checked(box_of(*c)));
    });
}
Result cuMemcpy2DUnaligned_v2(const Copy2D* c) { return cuMemcpy2D_v2(c); }
Result cuMemcpy2DAsync_v2(const Copy2D* c, Stream* stream) {
    return in_stream(stream, [&] {
        require(c != nullptr);
        return checked(box_of(*c));
    });
}
Result cuMemcpy3D_v2(const Copy3D* c) {
    return blocking([&] {
        require(c != nullptr);
        copy_3d(checked(*c));
    });
}
Result cuMemcpy3DAsync_v2(const Copy3D* c, Stream* stream) {
    return in_stream(stream, [&] {
        require(c != nullptr);
        return checked(*c);
    });
}
// CUDA_MEMCPY3D_PEER has the contexts where CUDA_MEMCPY3D has nothing.
Result cuMemcpy3DPeer(const Copy3D* c) {
    return c != nullptr ? copy_between_devices(*c) : invalid_value;
}
Result cuMemcpy3DPeerAsync(const Copy3D* c, Stream* stream) {
    return c != nullptr ? copy_between_devices(*c, stream) : invalid_value;
}

Result cuMemsetD8_v2(Address target, unsigned char value, size_t count) {
    return fill<uint8_t>(target, value, count);
}
Result cuMemsetD16_v2(Address target, unsigned short value, size_t count) {
    return fill<uint16_t>(target, value, count);
}
Result cuMemsetD32_v2(Address target, unsigned value, size_t count) {
    return fill<uint32_t>(target, value, count);
}
Result cuMemsetD8Async(Address target, unsigned char value, size_t count, Stream* stream) {
    return fill_in_stream<uint8_t>(target, 0, value, count, 1, stream);
}
Result cuMemsetD16Async(Address target, unsigned short value, size_t count, Stream* stream) {
    return fill_in_stream<uint16_t>(target, 0, value, count, 1, stream);
}
Result cuMemsetD32Async(Address target, unsigned value, size_t count, Stream* stream) {
    return fill_in_stream<uint32_t>(target, 0, value, count, 1, stream);
}
Result cuMemsetD2D8_v2(Address target, size_t pitch, unsigned char value, size_t width,
                       size_t height) {
    return fill_in_stream<uint8_t>(target, pitch, value, width, height, nullptr);
}
Result cuMemsetD2D16_v2(Address target, size_t pitch, unsigned short value, size_t width,
                        size_t height) {
    return fill_in_stream<uint16_t>(target, pitch, value, width, height, nullptr);
}
Result cuMemsetD2D32_v2(Address target, size_t pitch, unsigned value, size_t width, size_t height) {
    return fill_in_stream<uint32_t>(target, pitch, value, width, height, nullptr);
}
Result cuMemsetD2D8Async(Address target, size_t pitch, unsigned char value, size_t width,
                         size_t height, Stream* stream) {
    return fill_in_stream<uint8_t>(target, pitch, value, width, height, stream);
}
Result cuMemsetD2D16Async(Address target, size_t pitch, unsigned short value, size_t width,
                          size_t height, Stream* stream) {
    return fill_in_stream<uint16_t>(target, pitch, value, width, height, stream);
}
Result cuMemsetD2D32Async(Address target, size_t pitch, unsigned value, size_t width, size_t height,
                          Stream* stream) {
    return fill_in_stream<uint32_t>(target, pitch, value, width, height, stream);
}

}  // extern "C"
