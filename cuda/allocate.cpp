// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc and its like, and what is asked about pointers.
#include <algorithm>
#include <cstring>

#include "cuda/driver.hpp"
#include "cuda/graph.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "cuda/pool.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t pitch_alignment = 512;
constexpr int read_write = 3;  // CUmemAccess_flags

template <class T>
T* pointer(Address a) {
    return reinterpret_cast<T*>(a);
}

// What ends an allocation needs no current context: the address says whose it is. A kernel of that
// context that failed is the call's error, and so is a current context that is destroyed.
void ready_for(Address address) {
    ready();
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    const bool destroyed = !stack.empty() && stack.back() != nullptr && stack.back()->destroyed;
    require(!destroyed, context_is_destroyed);
    const std::optional<Allocation> a = allocation_at(address);
    const std::shared_ptr<Context> context = a ? a->context.lock() : nullptr;
    if (context != nullptr && context->error != success) fail(context->error);
}

// CUpointer_attribute
enum PointerAttribute : int {
    of_context = 1,
    of_memory_type = 2,
    of_device_pointer = 3,
    of_host_pointer = 4,
    of_sync_memops = 6,
    of_buffer_id = 7,
    of_is_managed = 8,
    of_device_ordinal = 9,
    of_legacy_ipc = 10,
    of_range_start = 11,
    of_range_size = 12,
    of_mapped = 13,
    of_handle_types = 14,
    of_rdma = 15,
    of_access_flags = 16,
    of_pool = 17
};

bool is_host(const Allocation& a) {
    return a.kind == Kind::host || a.kind == Kind::registered || a.kind == Kind::mapped_host;
}

template <class T>
void put(void* out, T value) {
    std::memcpy(out, &value, sizeof value);
}

// `a` is nullptr for a pointer that is not the driver's.
Result put_attribute(void* out, int attribute, Address address, const Allocation* a) {
    const bool known = a != nullptr;
    switch (attribute) {
        case of_context:
            put(out, known && a->pool == nullptr ? a->context.lock().get() : nullptr);
            return success;
        case of_memory_type:
            put(out, !known ? 0u : is_host(*a) ? unsigned(host_memory) : unsigned(device_memory));
            return known ? success : invalid_value;
        case of_device_pointer:
            put(out, known ? address : 0);
            return known ? success : invalid_value;
        case of_host_pointer:
            put(out, known && (is_host(*a) || a->kind == Kind::managed) ? address : 0);
            return known && a->kind != Kind::device ? success : invalid_value;
        case of_legacy_ipc:
            put(out, known && a->kind == Kind::device && a->pool == nullptr ? 1 : 0);
            return success;
        case of_sync_memops:
        case of_rdma:
            put(out, 0);
            return success;
        case of_buffer_id:
            put(out, known ? static_cast<unsigned long long>(a->id) : 0ull);
            return known ? success : invalid_value;
        case of_is_managed:
            put(out, known && a->kind == Kind::managed ? 1 : 0);
            return success;
        case of_device_ordinal:
            put(out, known ? a->device : -2);
            return known ? success : invalid_value;
        case of_range_start:
            put(out, known ? a->base : 0);
            return success;
        case of_range_size:
            put(out, known ? size_t{a->size} : size_t{0});
            return success;
        case of_mapped:
            put(out, known ? 1 : 0);
            return success;
        case of_handle_types: {
            const bool is_for_others = known && a->pool != nullptr && a->kind != Kind::opened;
            put(out, is_for_others ? static_cast<unsigned long long>(a->pool->handle_types) : 0ull);
            return success;
        }
        case of_access_flags:
            put(out, known ? unsigned(read_write) : 0u);
            return success;
        case of_pool:
            put(out, known ? a->pool : nullptr);
            return success;
        default:  // of a later version
            return not_supported;
    }
}

// A graph that is being captured has its memory from now on, at the same address for each launch.
Address allocate_in(Stream* stream, size_t size, const std::shared_ptr<Context>& context,
                    Pool* pool) {
    const std::shared_ptr<Graph> graph = graph_of_capture(stream);
    if (graph == nullptr) return allocate(size, kind_of(*pool), context, 0, pool);
    const Address address = allocate_for(*graph, size, context);
    submit(stream, AllocateWork{address, size, context});
    return address;
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuMemAlloc_v2(Address* out, size_t size) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr);
        *out = allocate(size, Kind::device, context);
    });
}

Result cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height,
                          unsigned element) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && pitch != nullptr && width != 0 && height != 0);
        require(element == 4 || element == 8 || element == 16);
        require(width <= SIZE_MAX / 2 / height - pitch_alignment, out_of_memory);
        *pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
        *out = allocate(*pitch * height, Kind::device, context);
    });
}

Result cuMemAllocManaged(Address* out, size_t size, unsigned flags) {
    constexpr unsigned global = 1, host = 2;
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && (flags == global || flags == host));
        *out = allocate(size, Kind::managed, context, flags);
    });
}

Result cuMemFree_v2(Address address) {
    return answer([&] {
        ready_for(address);
        finish_all();
        if (address != 0) release_for_program(address);
    });
}

Result cuMemHostAlloc(void** out, size_t size, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && flags < 8);
        *out = pointer<void>(allocate(size, Kind::host, context, flags));
    });
}

Result cuMemAllocHost_v2(void** out, size_t size) { return cuMemHostAlloc(out, size, 0); }

Result cuMemFreeHost(void* bytes) {
    return answer([&] {
        ready_for(reinterpret_cast<Address>(bytes));
        finish_all();
        if (bytes != nullptr) release(reinterpret_cast<Address>(bytes), Kind::host, Kind::host);
    });
}

Result cuMemHostRegister_v2(void* bytes, size_t size, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(bytes != nullptr && size != 0 && flags < 16);
        add_known(reinterpret_cast<Address>(bytes), size, Kind::registered, context,
                  context->device, flags);
    });
}

Result cuMemHostUnregister(void* bytes) {
    return answer([&] {
        ready_for(reinterpret_cast<Address>(bytes));
        require(bytes != nullptr);
        finish_all();
        release(reinterpret_cast<Address>(bytes), Kind::registered, Kind::registered,
                host_memory_not_registered);
    });
}

Result cuMemHostGetDevicePointer_v2(Address* out, void* bytes, unsigned flags) {
    return answer([&] {
        current();
        require(out != nullptr && flags == 0);
        const Allocation a = holding(reinterpret_cast<Address>(bytes), 0);
        require(a.kind != Kind::device);
        *out = reinterpret_cast<Address>(bytes);
    });
}

Result cuMemHostGetFlags(unsigned* flags, void* bytes) {
    return answer([&] {
        current();
        require(flags != nullptr);
        const Allocation a = holding(reinterpret_cast<Address>(bytes), 0);
        require(a.kind == Kind::host);
        *flags = a.flags;
    });
}

Result cuMemGetAddressRange_v2(Address* base, size_t* size, Address address) {
    return answer([&] {
        const DeviceId device = current()->device;
        const std::optional<Allocation> a = allocation_at(address);
        require(a.has_value() && may_touch(*a, device), not_found);
        if (base != nullptr) *base = a->base;
        if (size != nullptr) *size = a->size;
    });
}

Result cuPointerGetAttribute(void* out, int attribute, Address address) {
    return answer([&] {
        ready();
        require(out != nullptr);
        const std::optional<Allocation> a = allocation_at(address);
        require(a.has_value());
        return put_attribute(out, attribute, address, &*a);
    });
}

// Here a pointer that is not the driver's is no error: its values are 0.
Result cuPointerGetAttributes(unsigned count, const int* attributes, void** out, Address address) {
    return answer([&] {
        ready();
        require(count == 0 || (attributes != nullptr && out != nullptr));
        const std::optional<Allocation> a = allocation_at(address);
        for (unsigned i = 0; i < count; ++i)
            if (put_attribute(out[i], attributes[i], address, a ? &*a : nullptr) == not_supported)
                fail(invalid_value);
    });
}

Result cuPointerSetAttribute(const void* value, int attribute, Address address) {
    return answer([&] {
        ready();
        require(value != nullptr && attribute == of_sync_memops);
        holding(address, 0);
    });
}

Result cuMemAllocAsync(Address* out, size_t size, Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        require(out != nullptr);
        const std::shared_ptr<Context> context = context_of(stream);
        *out = allocate_in(stream, size, context, device_at(context->device).current_pool);
    });
}

Result cuMemAllocFromPoolAsync(Address* out, size_t size, Pool* pool, Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        const std::shared_ptr<Context> context = current();
        require(out != nullptr);
        check_stream(stream);
        *out = allocate_in(stream, size, context, ready().pools.get(pool).get());
    });
}

Result cuMemFreeAsync(Address address, Stream* stream) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        if (graph_of_capture(stream) != nullptr) return submit(stream, FreeWork{address});
        if (!is_put_off()) return release_for_program(address);
        const std::optional<Allocation> a = allocation_at(address);
        require(a.has_value());
        using Freed = std::pair<Address, uint64_t>;
        auto freed = std::make_unique<Freed>(address, a->id);
        put_off(stream, HostNode{[](void* own) {
                                     const std::unique_ptr<Freed> f(static_cast<Freed*>(own));
                                     // Its graph may have ended, and the memory with it.
                                     const std::optional<Allocation> now = allocation_at(f->first);
                                     if (now && now->id == f->second) release_for_program(f->first);
                                 },
                                 freed.release()});
    });
}

}  // extern "C"
