// SPDX-License-Identifier: Apache-2.0
// Copies and fills, and those of registered variables.
#include "cuda/runtime/copy.hpp"

#include "cuda/copy.hpp"
#include "cuda/memory.hpp"

namespace lockwarp::cuda {

namespace {

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }

// Blocking, or in a stream.
struct Way {
    bool in_stream = false;
    Stream* stream = nullptr;
};

Result copy(void* target, const void* source, size_t size, CopyKind kind, const Way& way) {
    if (size == 0) return success;
    Stream* const s = way.stream;
    const Address to = address_of(target), from = address_of(source);
    switch (kind) {
        case CopyKind::host_to_device:
            return way.in_stream ? cuMemcpyHtoDAsync_v2(to, source, size, s)
                                 : cuMemcpyHtoD_v2(to, source, size);
        case CopyKind::device_to_host:
            return way.in_stream ? cuMemcpyDtoHAsync_v2(target, from, size, s)
                                 : cuMemcpyDtoH_v2(target, from, size);
        case CopyKind::device_to_device:
            return way.in_stream ? cuMemcpyDtoDAsync_v2(to, from, size, s)
                                 : cuMemcpyDtoD_v2(to, from, size);
        case CopyKind::host_to_host:
        case CopyKind::unified:
            return way.in_stream ? cuMemcpyAsync(to, from, size, s) : cuMemcpy(to, from, size);
    }
    return invalid_direction;
}

bool source_is_host(CopyKind kind) {
    return kind == CopyKind::host_to_host || kind == CopyKind::host_to_device;
}
bool target_is_host(CopyKind kind) {
    return kind == CopyKind::host_to_host || kind == CopyKind::device_to_host;
}

void check_kind(CopyKind kind) {
    require(kind >= CopyKind::host_to_host && kind <= CopyKind::unified, invalid_direction);
}

void set_source(Copy3D& out, const PitchedPointer& p, CopyKind kind) {
    out.source_type = source_is_host(kind)        ? host_memory
                      : kind == CopyKind::unified ? unified
                                                  : device_memory;
    out.source_host = p.pointer;
    out.source_device = address_of(p.pointer);
    out.source_pitch = p.pitch;
    out.source_height = p.height;
}

void set_target(Copy3D& out, const PitchedPointer& p, CopyKind kind) {
    out.target_type = target_is_host(kind)        ? host_memory
                      : kind == CopyKind::unified ? unified
                                                  : device_memory;
    out.target_host = p.pointer;
    out.target_device = address_of(p.pointer);
    out.target_pitch = p.pitch;
    out.target_height = p.height;
}

Result copy_rows(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                 size_t width, size_t height, CopyKind kind, const Way& way) {
    check_kind(kind);
    if (width == 0 || height == 0) return success;
    require(width <= target_pitch && width <= source_pitch, invalid_pitch);
    Copy3D all{};
    set_source(all, {const_cast<void*>(source), source_pitch, width, height}, kind);
    set_target(all, {target, target_pitch, width, height}, kind);
    all.width = width;
    all.height = height;
    all.depth = 1;
    return way.in_stream ? cuMemcpy3DAsync_v2(&all, way.stream) : cuMemcpy3D_v2(&all);
}

Result to_symbol(const void* variable, const void* source, size_t count, size_t offset,
                 CopyKind kind, const Way& way) {
    return call([&] {
        require_to_symbol(kind);
        return copy(within(variable, count, offset), source, count, kind, way);
    });
}

Result from_symbol(void* target, const void* variable, size_t count, size_t offset, CopyKind kind,
                   const Way& way) {
    return call([&] {
        require_from_symbol(kind);
        return copy(target, within(variable, count, offset), count, kind, way);
    });
}

// A box of bytes is a box of rows where the slices lie one behind another.
Result fill_box(const PitchedPointer& p, int value, const Extent& extent, const Way& way) {
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return success;
    require(extent.width <= p.pitch, invalid_pitch);
    const size_t slice = p.pitch * p.height;
    for (size_t z = 0; z < extent.depth; ++z) {
        const Address at = address_of(p.pointer) + z * slice;
        const auto byte = static_cast<unsigned char>(value);
        check(way.in_stream
                  ? cuMemsetD2D8Async(at, p.pitch, byte, extent.width, extent.height, way.stream)
                  : cuMemsetD2D8_v2(at, p.pitch, byte, extent.width, extent.height));
    }
    return success;
}

CopyBox box_of(const PeerCopyBox& p) {
    return {p.source_array, p.source_at, p.source, p.target_array,
            p.target_at,    p.target,    p.extent, CopyKind::unified};
}

// From a device's memory to a device's: an H200 refuses the host's.
Copy3D peer_copy(const PeerCopyBox* box) {
    require(box != nullptr);
    check_device(box->source_device);
    check_device(box->target_device);
    for (const void* const p : {box->source.pointer, box->target.pointer})
        require(allocation_at(reinterpret_cast<Address>(p)).has_value());
    return driver_copy(box_of(*box));
}

}  // namespace

void* within(const void* variable, size_t count, size_t offset) {
    const VariablePlace v = variable_of(variable);
    require(offset <= v.size && count <= v.size - offset);
    return reinterpret_cast<void*>(v.address + offset);
}

void require_to_symbol(CopyKind kind) {
    require(kind == CopyKind::host_to_device || kind == CopyKind::device_to_device ||
                kind == CopyKind::unified,
            invalid_direction);
}

void require_from_symbol(CopyKind kind) {
    require(kind == CopyKind::device_to_host || kind == CopyKind::device_to_device ||
                kind == CopyKind::unified,
            invalid_direction);
}

Copy3D driver_copy(const CopyBox& box) {
    check_kind(box.kind);
    Copy3D out{};
    set_source(out, box.source, box.kind);
    set_target(out, box.target, box.kind);
    out.source_x = box.source_at.x;
    out.source_y = box.source_at.y;
    out.source_z = box.source_at.z;
    out.target_x = box.target_at.x;
    out.target_y = box.target_at.y;
    out.target_z = box.target_at.z;
    out.width = box.extent.width;
    out.height = box.extent.height;
    out.depth = box.extent.depth;
    // Where an array takes part, it says what the extent and its own place are counted in.
    for (const Array* const array : {box.source_array, box.target_array})
        if (array != nullptr) out.width = box.extent.width * element_bytes_of(array);
    if (box.source_array != nullptr) {
        out.source_type = array_memory;
        out.source_array = box.source_array;
        out.source_x *= element_bytes_of(box.source_array);
    }
    if (box.target_array != nullptr) {
        out.target_type = array_memory;
        out.target_array = box.target_array;
        out.target_x *= element_bytes_of(box.target_array);
    }
    return out;
}

CopyBox runtime_copy(const Copy3D& c) {
    const bool from_host = c.source_type == host_memory, to_host = c.target_type == host_memory;
    CopyBox out{};
    out.source = {reinterpret_cast<void*>(from_host ? address_of(c.source_host) : c.source_device),
                  c.source_pitch, c.width, c.source_height};
    out.target = {reinterpret_cast<void*>(to_host ? address_of(c.target_host) : c.target_device),
                  c.target_pitch, c.width, c.target_height};
    out.source_at = {c.source_x, c.source_y, c.source_z};
    out.target_at = {c.target_x, c.target_y, c.target_z};
    out.extent = {c.width, c.height, c.depth};
    if (c.source_type == array_memory) {
        out.source = {};
        out.source_array = c.source_array;
        out.source_at.x /= element_bytes_of(c.source_array);
    }
    if (c.target_type == array_memory) {
        out.target = {};
        out.target_array = c.target_array;
        out.target_at.x /= element_bytes_of(c.target_array);
    }
    for (const Array* const array : {out.source_array, out.target_array})
        if (array != nullptr) out.extent.width = c.width / element_bytes_of(array);
    const bool is_unified = c.source_type == unified || c.target_type == unified;
    out.kind = is_unified             ? CopyKind::unified
               : from_host && to_host ? CopyKind::host_to_host
               : from_host            ? CopyKind::host_to_device
               : to_host              ? CopyKind::device_to_host
                                      : CopyKind::device_to_device;
    return out;
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cudaMemcpy(void* target, const void* source, size_t size, CopyKind kind) {
    return call([&] {
        check_kind(kind);
        return copy(target, source, size, kind, {});
    });
}

Result cudaMemcpyAsync(void* target, const void* source, size_t size, CopyKind kind,
                       Stream* stream) {
    return call([&] {
        check_kind(kind);
        return copy(target, source, size, kind, {true, stream});
    });
}

Result lockwarp_cudaMemcpyBatchAsync_12(void* const* targets, void* const* sources,
                                        const size_t* sizes, size_t count,
                                        const CopyAttributes* attributes, const size_t* firsts,
                                        size_t attribute_count, size_t* failed, Stream* stream) {
    return call([&] {
        return cuMemcpyBatchAsync(reinterpret_cast<const Address*>(targets),
                                  reinterpret_cast<const Address*>(sources), sizes, count,
                                  attributes, firsts, attribute_count, failed, stream);
    });
}

Result lockwarp_cudaMemcpyBatchAsync_13(void* const* targets, void* const* sources,
                                        const size_t* sizes, size_t count,
                                        const CopyAttributes* attributes, const size_t* firsts,
                                        size_t attribute_count, Stream* stream) {
    return lockwarp_cudaMemcpyBatchAsync_12(targets, sources, sizes, count, attributes, firsts,
                                            attribute_count, nullptr, stream);
}

Result cudaMemcpyPeer(void* target, int target_device, const void* source, int source_device,
                      size_t size) {
    return call([&] {
        check_device(target_device);
        check_device(source_device);
        return size == 0
                   ? success
                   : cuMemcpyPeer(address_of(target), nullptr, address_of(source), nullptr, size);
    });
}

Result cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                           size_t size, Stream* stream) {
    return call([&] {
        check_device(target_device);
        check_device(source_device);
        return size == 0 ? success
                         : cuMemcpyPeerAsync(address_of(target), nullptr, address_of(source),
                                             nullptr, size, stream);
    });
}

Result cudaMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                    size_t width, size_t height, CopyKind kind) {
    return call([&] {
        return copy_rows(target, target_pitch, source, source_pitch, width, height, kind, {});
    });
}

Result cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, CopyKind kind, Stream* stream) {
    return call([&] {
        return copy_rows(target, target_pitch, source, source_pitch, width, height, kind,
                         {true, stream});
    });
}

Result cudaMemcpy3D(const CopyBox* box) {
    return call([&] {
        require(box != nullptr);
        const Copy3D all = driver_copy(*box);
        return cuMemcpy3D_v2(&all);
    });
}

Result cudaMemcpy3DAsync(const CopyBox* box, Stream* stream) {
    return call([&] {
        require(box != nullptr);
        const Copy3D all = driver_copy(*box);
        return cuMemcpy3DAsync_v2(&all, stream);
    });
}

Result cudaMemcpy3DPeer(const PeerCopyBox* box) {
    return call([&] { return copy_between_devices(peer_copy(box)); });
}

Result cudaMemcpy3DPeerAsync(const PeerCopyBox* box, Stream* stream) {
    return call([&] { return copy_between_devices(peer_copy(box), stream); });
}

Result cudaMemcpyToSymbol(const void* variable, const void* source, size_t count, size_t offset,
                          CopyKind kind) {
    return to_symbol(variable, source, count, offset, kind, {});
}

Result cudaMemcpyToSymbolAsync(const void* variable, const void* source, size_t count,
                               size_t offset, CopyKind kind, Stream* stream) {
    return to_symbol(variable, source, count, offset, kind, {true, stream});
}

Result cudaMemcpyFromSymbol(void* target, const void* variable, size_t count, size_t offset,
                            CopyKind kind) {
    return from_symbol(target, variable, count, offset, kind, {});
}

Result cudaMemcpyFromSymbolAsync(void* target, const void* variable, size_t count, size_t offset,
                                 CopyKind kind, Stream* stream) {
    return from_symbol(target, variable, count, offset, kind, {true, stream});
}

Result cudaGetSymbolAddress(void** out, const void* variable) {
    return call([&] {
        require(out != nullptr);
        *out = reinterpret_cast<void*>(variable_of(variable).address);
    });
}

Result cudaGetSymbolSize(size_t* size, const void* variable) {
    return call([&] {
        require(size != nullptr);
        *size = variable_of(variable).size;
    });
}

Result cudaMemset(void* target, int value, size_t count) {
    return call([&] {
        return cuMemsetD8_v2(address_of(target), static_cast<unsigned char>(value), count);
    });
}

Result cudaMemsetAsync(void* target, int value, size_t count, Stream* stream) {
    return call([&] {
        return cuMemsetD8Async(address_of(target), static_cast<unsigned char>(value), count,
                               stream);
    });
}

Result cudaMemset2D(void* target, size_t pitch, int value, size_t width, size_t height) {
    return call([&] {
        return fill_box({target, pitch, width, height}, value, {width, height, 1}, {});
    });
}

Result cudaMemset2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                         Stream* stream) {
    return call([&] {
        return fill_box({target, pitch, width, height}, value, {width, height, 1}, {true, stream});
    });
}

Result cudaMemset3D(PitchedPointer target, int value, Extent extent) {
    return call([&] { return fill_box(target, value, extent, {}); });
}

Result cudaMemset3DAsync(PitchedPointer target, int value, Extent extent, Stream* stream) {
    return call([&] { return fill_box(target, value, extent, {true, stream}); });
}

}  // extern "C"
