// SPDX-License-Identifier: Apache-2.0
// Pools: of a device's memory, of the host's and of managed memory.
#include "cuda/pool.hpp"

#include <unistd.h>

#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "cuda/driver.hpp"
#include "cuda/unnamed_file.hpp"

namespace lockwarp::cuda {

namespace {

constexpr int read_write = 3;  // CUmemAccess_flags
constexpr int fabric = 8;      // CU_MEM_HANDLE_TYPE_FABRIC

template <class T>
void put(void* out, T value) {
    std::memcpy(out, &value, sizeof value);
}

// Where such memory may be; numbers that say nothing are 0.
Location place_of(const Location* at, int type) {
    require(at != nullptr && (type == pinned_memory || type == managed_memory));
    switch (at->type) {
        case on_device:
            check_device(at->id);
            return *at;
        case on_host:
            return {on_host, 0};
        case on_numa_node:
            require(at->id == 0);  // there is one
            return *at;
        default:
            require(at->type == nowhere && type == managed_memory);
            return {nowhere, 0};
    }
}

// Of the host's memory only what is asked for is let to devices (cuMemPoolCreate).
DeviceMask first_access(Location at, int type) {
    if (type == managed_memory) return all_devices();
    return at.type == on_device ? bit_of(at.id) : 0;
}

Pool* make_pool(Location at, int type, size_t max_size = 0) {
    return driver().pools.add(std::make_shared<Pool>(at, type, first_access(at, type),
                                                     max_size != 0 ? max_size : UINT64_MAX));
}

// Attributes 5 to 8: reserved and used, each now and at most.
std::atomic<uint64_t>& counter(Pool& p, int attribute) {
    switch (attribute) {
        case 5:
            return p.reserved;
        case 6:
            return p.reserved_high;
        case 7:
            return p.used;
        default:
            return p.used_high;
    }
}

struct Pools {
    Pool* normal = nullptr;
    Pool* current = nullptr;
};

// Of the host's and of managed memory; a device has its own.
struct OtherPools {
    std::mutex mutex;
    std::map<std::tuple<int, int, int>, Pools> of;
    Pools& at(Location location, int type) { return of[{location.type, location.id, type}]; }
};

OtherPools& others() {
    static auto* const only = new OtherPools;
    return *only;
}

bool is_of_device(Location at, int type) { return at.type == on_device && type == pinned_memory; }

Pools pools_of(Location at, int type) {
    if (is_of_device(at, type)) {
        const Device& d = device_at(at.id);
        return {d.default_pool, d.current_pool};
    }
    const std::lock_guard lock(others().mutex);
    Pools& p = others().at(at, type);
    if (p.normal == nullptr) p.normal = p.current = make_pool(at, type);
    return p;
}

void make_current(Pool& pool) {
    if (is_of_device(pool.location, pool.type)) {
        device_at(pool.location.id).current_pool = &pool;
        return;
    }
    pools_of(pool.location, pool.type);
    const std::lock_guard lock(others().mutex);
    others().at(pool.location, pool.type).current = &pool;
}

// It is about to be destroyed; a Failure where it is the one that is always there.
void leave(Pool& pool) {
    const Pools now = pools_of(pool.location, pool.type);
    require(&pool != now.normal);
    if (&pool == now.current) make_current(*now.normal);
}

}  // namespace

Kind kind_of(const Pool& pool) {
    if (pool.type == managed_memory) return Kind::managed;
    return pool.location.type == on_device ? Kind::device : Kind::host;
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuMemPoolCreate(Pool** out, const PoolProperties* properties) {
    return answer([&] {
        ready();
        require(out != nullptr && properties != nullptr);
        require((properties->handle_types & ~(posix_file | fabric)) == 0);
        *out = make_pool(place_of(&properties->location, properties->type), properties->type,
                         properties->max_size);
        driver().pools.get(*out)->handle_types = properties->handle_types;
    });
}

// What was allocated from it stays until it is freed, and so does what counts that.
Result cuMemPoolDestroy(Pool* pool) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        require(!p->is_imported);
        leave(*p);
        {
            const std::lock_guard lock(p->mutex);
            if (p->file >= 0) ::close(std::exchange(p->file, -1));
        }
        static std::mutex mutex;
        static auto* const destroyed = new std::vector<std::shared_ptr<Pool>>;
        const std::lock_guard lock(mutex);
        std::erase_if(*destroyed, [](const auto& d) { return d->used == 0; });
        destroyed->push_back(p);
        driver().pools.take(pool);
    });
}

Result cuMemPoolTrimTo(Pool* pool, size_t keep) {
    return answer([&] { trim(*ready().pools.get(pool), keep); });
}

// Attributes 1 to 3: reuse; 4: release threshold; the others: counters.
Result cuMemPoolGetAttribute(Pool* pool, int attribute, void* value) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        require(value != nullptr && attribute >= 1 && attribute <= 8 && !p->is_imported);
        if (attribute <= 3)
            put(value, p->reuse[static_cast<size_t>(attribute)]);
        else if (attribute == 4)
            put(value, p->release_threshold);
        else
            put(value, counter(*p, attribute).load());
    });
}

Result cuMemPoolSetAttribute(Pool* pool, int attribute, void* value) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        require(value != nullptr && attribute >= 1 && attribute <= 8 && !p->is_imported);
        if (attribute <= 3)
            std::memcpy(&p->reuse[static_cast<size_t>(attribute)], value, sizeof(int));
        else if (attribute == 4)
            std::memcpy(&p->release_threshold, value, sizeof p->release_threshold);
        else if (attribute % 2 == 0)  // the only value that may be set is 0: begin anew
            counter(*p, attribute) = counter(*p, attribute - 1).load();
    });
}

Result cuMemPoolSetAccess(Pool* pool, const AccessDescription* list, size_t count) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        require(count == 0 || list != nullptr);
        DeviceMask reach = p->access;
        for (const AccessDescription& d : std::span(list, count)) {
            check_device(d.location.id);
            require(d.flags == 0 || d.flags == read_write);
            require(d.flags != 0 || !p->is_of(d.location.id), invalid_device);
            reach &= ~bit_of(d.location.id);
            if (d.flags != 0) reach |= bit_of(d.location.id);
        }
        set_pool_access(*p, reach);
    });
}

Result cuMemPoolGetAccess(int* flags, Pool* pool, const Location* location) {
    return answer([&] {
        require(flags != nullptr && location != nullptr && location->type == on_device);
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        check_device(location->id);
        *flags = (p->access & bit_of(location->id)) != 0 ? read_write : 0;
    });
}

Result cuDeviceGetDefaultMemPool(Pool** out, DeviceId device) {
    return answer([&] {
        const Device& d = device_at(device);
        require(out != nullptr);
        *out = d.default_pool;
    });
}

Result cuDeviceGetMemPool(Pool** out, DeviceId device) {
    return answer([&] {
        const Device& d = device_at(device);
        require(out != nullptr);
        *out = d.current_pool;
    });
}

Result cuDeviceSetMemPool(DeviceId device, Pool* pool) {
    return answer([&] {
        Device& d = device_at(device);
        const std::shared_ptr<Pool> p = driver().pools.get(pool);
        require(p->is_of(device) && !p->is_imported);
        d.current_pool = p.get();
    });
}

Result cuMemGetDefaultMemPool(Pool** out, const Location* location, int type) {
    return answer([&] {
        ready();
        require(out != nullptr);
        *out = pools_of(place_of(location, type), type).normal;
    });
}

Result cuMemGetMemPool(Pool** out, const Location* location, int type) {
    return answer([&] {
        ready();
        require(out != nullptr);
        *out = pools_of(place_of(location, type), type).current;
    });
}

Result cuMemSetMemPool(const Location* location, int type, Pool* pool) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        const Location at = place_of(location, type);
        require(!p->is_imported && p->type == type && p->location.type == at.type &&
                p->location.id == at.id);
        make_current(*p);
    });
}

}  // extern "C"
