// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuda/advice.hpp"
#include "cuda/unnamed_file.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t alignment = 512;  // of what cuMemAlloc gives
constexpr uint64_t gap = 512;        // between an allocation and what follows it
// Compilers read whole vectors, of which a part may lie behind the last element: no fault on a GPU,
// whose memory ends at pages.
constexpr uint64_t widest_access = 32;
constexpr uint64_t mapped_from = uint64_t{1} << 20;
constexpr uint64_t page = 4096;
// Of more small allocations the others have none of their own: the system has a limit for mappings,
// 65,530.
constexpr size_t most_with_pages = 16384;

constexpr uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
constexpr bool is_ours(Kind k) {
    return k == Kind::device || k == Kind::managed || k == Kind::host;
}
constexpr bool is_on_device(Kind k) { return k == Kind::device || k == Kind::managed; }

// All of them, by address. Of the process, as addresses are.
struct Map {
    std::mutex mutex;
    std::map<Address, Allocation> by_base;
    GraphBytes of_graphs;
    // Of each device, by Kind::device, managed and what is or may be mapped.
    std::array<uint64_t, max_devices> used{};
    std::array<DeviceMask, max_devices> peers{};  // of each those that may touch its memory

    uint64_t& used_of(DeviceId device) { return used[static_cast<size_t>(device)]; }
    DeviceMask& peers_of(DeviceId device) { return peers[static_cast<size_t>(device)]; }
};

Map& map() {
    static Map* const only = new Map;
    return *only;
}

uint64_t pages_of(uint64_t size) { return up(size + gap, page); }

// Zeros, in pages of their own, which take the machine's memory when they are written: large ones
// and what other processes may open; else what malloc has.
void* take_bytes(uint64_t size, bool& has_pages) {
    has_pages = has_pages || size >= mapped_from;
    if (has_pages) {
        void* const bytes = ::mmap(nullptr, pages_of(size), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes != MAP_FAILED) return bytes;
        if (size >= mapped_from) return nullptr;
        has_pages = false;
    }
    void* const bytes = std::aligned_alloc(alignment, up(size, alignment) + gap);
    if (bytes != nullptr) std::memset(bytes, 0, up(size, alignment) + gap);
    return bytes;
}

void give_bytes(void* bytes, uint64_t size, bool has_pages) {
    if (has_pages)
        ::munmap(bytes, pages_of(size));
    else
        std::free(bytes);
}

std::string name_of(Kind kind, uint64_t id) {
    constexpr std::array names{"device memory ",          "managed memory ", "host memory ",
                               "registered host memory ", "variable ",       "mapped memory ",
                               "mapped host memory ",     "opened memory "};
    static_assert(names.size() == static_cast<size_t>(Kind::opened) + 1);
    return names[static_cast<size_t>(kind)] + std::to_string(id);
}

void* pointer(Address a) { return reinterpret_cast<void*>(a); }

// That kernels may touch, to the end of the last vector.
uint64_t accessible(const Allocation& a) { return up(a.base + a.size, widest_access) - a.base; }

lockwarp_context* engine_of(size_t device) { return driver().devices[device]->engine; }

// Kernels of these devices, and of no others, may touch it from now on; a variable its module's own
// kernels may touch besides.
void set_reach(Allocation& a, DeviceMask reach) {
    const std::string name = name_of(a.kind, a.id);
    const lockwarp_range range{pointer(a.base), 0, accessible(a), name.c_str()};
    for (size_t d = 0; d < driver().devices.size(); ++d) {
        const DeviceMask bit = bit_of(static_cast<DeviceId>(d));
        if (((a.reach ^ reach) & bit) == 0) continue;
        if ((reach & bit) == 0)
            lockwarp_unregister(engine_of(d), range.bytes, range.size);
        else if (lockwarp_register(engine_of(d), &range, nullptr) != LOCKWARP_OK)
            fail(out_of_memory);
        a.reach ^= bit;
    }
}

DeviceMask reach_of(Map& m, const Allocation& a) {
    if (a.kind == Kind::variable) return 0;  // of no peer (two H100s, driver 580)
    if (a.pool != nullptr) return a.pool->access;
    if (a.kind != Kind::device) return all_devices();
    return bit_of(a.device) | m.peers_of(a.device);
}

// What a pool has of the machine for so many bytes. The driver rounds a pool's largest size up to
// this (a note in libcu++'s tests of memory pools, CUDA 13).
uint64_t reserved_for(uint64_t bytes) {
    constexpr uint64_t chunk = uint64_t{32} << 20;
    return bytes > UINT64_MAX - chunk ? UINT64_MAX : up(bytes, chunk);
}

void forget(Allocation& a) {
    set_reach(a, 0);
    if (is_ours(a.kind) || a.kind == Kind::opened) give_bytes(pointer(a.base), a.size, a.has_pages);
    if (a.file >= 0) ::close(a.file);
    if (a.pool != nullptr && !a.pool->is_imported) {
        a.pool->used -= a.size;
        trim(*a.pool, a.pool->release_threshold);
    }
}

void require_bytes(Map& m, DeviceId device, uint64_t size) {
    const uint64_t total = uint64_t{driver().product->memory_mib} << 20;
    require(size <= total && m.used_of(device) <= total - size, out_of_memory);
}

// The one that holds the address; the lock is held.
const Allocation* find(Map& m, Address address) {
    auto after = m.by_base.upper_bound(address);
    if (after == m.by_base.begin()) return nullptr;
    const Allocation& a = std::prev(after)->second;
    return address - a.base < a.size ? &a : nullptr;
}

}  // namespace

void trim(Pool& pool, uint64_t keep) {
    pool.reserved =
        std::min<uint64_t>(pool.reserved, std::max(reserved_for(pool.used), reserved_for(keep)));
}

DeviceMask all_devices() {
    return static_cast<DeviceMask>((uint64_t{1} << driver().devices.size()) - 1);
}

Address allocate(uint64_t size, Kind kind, const std::shared_ptr<Context>& context, unsigned flags,
                 Pool* pool) {
    require(size != 0);
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const DeviceId device =
        pool != nullptr && kind == Kind::device ? pool->location.id : context->device;
    if (is_on_device(kind)) require_bytes(m, device, size);
    require(size <= UINT64_MAX / 2, out_of_memory);
    require(pool == nullptr || !pool->is_imported);
    if (pool != nullptr) require(pool->used + size <= reserved_for(pool->max_bytes), out_of_memory);
    bool has_pages = kind == Kind::device && (pool == nullptr || pool->handle_types != 0) &&
                     m.by_base.size() < most_with_pages;
    void* const bytes = take_bytes(size, has_pages);
    require(bytes != nullptr, out_of_memory);
    Allocation a{reinterpret_cast<Address>(bytes),
                 size,
                 kind,
                 driver().next_id++,
                 flags,
                 context,
                 pool,
                 device};
    a.has_pages = has_pages;
    if (kind == Kind::managed) a.advices = std::make_shared<Advices>();
    try {
        set_reach(a, reach_of(m, a));
    } catch (...) {
        give_bytes(bytes, size, has_pages);
        throw;
    }
    if (is_on_device(kind)) m.used_of(device) += size;
    if (pool != nullptr) {
        pool->used += size;
        pool->used_high = std::max<uint64_t>(pool->used_high, pool->used);
        pool->reserved = std::max<uint64_t>(pool->reserved, reserved_for(pool->used));
        pool->reserved_high = std::max<uint64_t>(pool->reserved_high, pool->reserved);
    }
    m.by_base.insert_or_assign(a.base, a);
    return a.base;
}

void add_known(Address base, uint64_t size, Kind kind, const std::shared_ptr<Context>& context,
               DeviceId device, unsigned flags) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const auto after = m.by_base.lower_bound(base);
    const bool taken =
        find(m, base) != nullptr || (after != m.by_base.end() && after->second.base - base < size);
    require(!taken, host_memory_already_registered);
    Allocation a{base, size, kind, driver().next_id++, flags, context, nullptr, device};
    if (kind == Kind::variable) a.advices = std::make_shared<Advices>();  // it may be __managed__
    set_reach(a, reach_of(m, a));
    m.by_base.insert_or_assign(base, a);
}

void set_mapped(Address base, uint64_t size, Kind kind, DeviceId device, DeviceMask reach) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const auto [item, added] = m.by_base.try_emplace(base);
    if (added) item->second = {base, size, kind, driver().next_id++, 0, {}, nullptr, device};
    set_reach(item->second, reach);
}

bool set_peer_access(DeviceId device, DeviceId peer, bool may) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    DeviceMask& peers = m.peers_of(peer);
    if (((peers & bit_of(device)) != 0) == may) return false;
    peers ^= bit_of(device);
    for (auto& [base, a] : m.by_base)
        if (a.device == peer && !is_mapped(a.kind) && a.kind != Kind::opened)
            set_reach(a, reach_of(m, a));
    return true;
}

void end_peer_access(DeviceId device) {
    for (DeviceId other = 0; other < static_cast<DeviceId>(driver().devices.size()); ++other) {
        set_peer_access(device, other, false);
        set_peer_access(other, device, false);
    }
}

bool may_touch(const Allocation& a, DeviceId device) {
    const DeviceMask own = a.kind == Kind::variable ? bit_of(a.device) : 0;
    return ((a.reach | own) & bit_of(device)) != 0;
}

void check_copied(Address address) {
    if (driver().devices.size() == 1) return;
    const std::optional<Allocation> a = allocation_at(address);
    if (!a || (a->pool == nullptr && a->kind != Kind::mapped)) return;
    require((a->reach & bit_of(current()->device)) != 0);
}

void check_filled(Address address, DeviceId by) {
    if (driver().devices.size() == 1) return;
    const std::optional<Allocation> a = allocation_at(address);
    require(!a || may_touch(*a, by));
}

void set_pool_access(Pool& pool, DeviceMask reach) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    pool.access = reach;
    for (auto& [base, a] : m.by_base)
        if (a.pool == &pool) set_reach(a, reach);
}

Allocation share(Address address, bool pooled) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const Allocation* const found = find(m, address);
    require(found != nullptr && found->kind == Kind::device && !found->of_graph);
    require(pooled
                ? found->base == address && found->pool != nullptr && found->pool->handle_types != 0
                : found->pool == nullptr);
    Allocation& a = m.by_base.at(found->base);
    if (a.file >= 0) return a;
    require(a.has_pages, out_of_memory);
    const uint64_t size = pages_of(a.size);
    const int file = new_unnamed_file(memory_file, size);
    require(file >= 0, out_of_memory);
    // The same bytes at the same place, in the file.
    const auto* bytes = static_cast<const char*>(pointer(a.base));
    uint64_t done = 0;
    while (done < size) {
        const ssize_t n = ::pwrite(file, bytes + done, size - done, static_cast<off_t>(done));
        if (n <= 0) break;
        done += static_cast<uint64_t>(n);
    }
    if (done < size || ::mmap(pointer(a.base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                              file, 0) == MAP_FAILED) {
        ::close(file);
        fail(out_of_memory);
    }
    a.file = file;
    return a;
}

Address open_shared(int file, const FileId& id, uint64_t size, DeviceId device,
                    const std::shared_ptr<Context>& context, Pool* pool) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    for (auto& [base, a] : m.by_base) {
        if (a.kind != Kind::opened || a.opened != id || a.pool != pool ||
            a.context.lock() != context)
            continue;
        ++a.times;
        return base;
    }
    void* const bytes =
        ::mmap(nullptr, pages_of(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(bytes != MAP_FAILED, map_failed);
    Allocation a{reinterpret_cast<Address>(bytes),
                 size,
                 Kind::opened,
                 driver().next_id++,
                 0,
                 context,
                 pool,
                 device};
    a.has_pages = true;
    a.opened = id;
    a.times = 1;
    try {
        set_reach(a,
                  pool != nullptr ? pool->access.load() : bit_of(device) | bit_of(context->device));
    } catch (...) {
        give_bytes(bytes, size, true);
        throw;
    }
    m.by_base.insert_or_assign(a.base, a);
    return a.base;
}

void close_shared(Address base) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const auto found = m.by_base.find(base);
    require(found != m.by_base.end() && found->second.kind == Kind::opened &&
            found->second.pool == nullptr);
    if (--found->second.times != 0) return;
    forget(found->second);
    m.by_base.erase(found);
}

void take_device_bytes(DeviceId device, uint64_t size) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    require_bytes(m, device, size);
    m.used_of(device) += size;
}

void give_device_bytes(DeviceId device, uint64_t size) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    m.used_of(device) -= size;
}

void release(Address base, Kind kind, Kind or_kind, Result otherwise) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const auto found = m.by_base.find(base);
    require(
        found != m.by_base.end() && (found->second.kind == kind || found->second.kind == or_kind),
        otherwise);
    if (is_on_device(found->second.kind)) m.used_of(found->second.device) -= found->second.size;
    if (found->second.of_graph) m.of_graphs.now -= found->second.size;
    forget(found->second);
    m.by_base.erase(found);
}

void release_for_program(Address base) {
    const std::optional<Allocation> a = allocation_at(base);
    if (a && a->base == base && a->of_graph) return;
    // Of a pool it may be of the host's memory or another process's.
    release(base, a && a->pool != nullptr ? a->kind : Kind::device, Kind::managed);
}

void keep_for_graph(Address base) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    Allocation& a = m.by_base.at(base);
    a.of_graph = true;
    m.of_graphs.now += a.size;
    m.of_graphs.high = std::max(m.of_graphs.high, m.of_graphs.now);
}

GraphBytes graph_bytes(bool reset_high) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    if (reset_high) m.of_graphs.high = m.of_graphs.now;
    return m.of_graphs;
}

void release_all(const Context& context) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    for (auto item = m.by_base.begin(); item != m.by_base.end();) {
        if (item->second.context.lock().get() != &context) {
            ++item;
            continue;
        }
        if (is_on_device(item->second.kind)) m.used_of(item->second.device) -= item->second.size;
        if (item->second.of_graph) m.of_graphs.now -= item->second.size;
        forget(item->second);
        item = m.by_base.erase(item);
    }
}

std::optional<Allocation> allocation_at(Address address) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    const Allocation* const found = find(m, address);
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

Allocation holding(Address address, uint64_t size) {
    const std::optional<Allocation> found = allocation_at(address);
    require(found.has_value());
    uint64_t there = found->size - (address - found->base);
    while (is_mapped(found->kind) && there < size) {
        const std::optional<Allocation> next = allocation_at(address + there);
        require(next && is_mapped(next->kind));
        there += next->size;
    }
    require(size <= there);
    return *found;
}

uint64_t device_bytes_used(DeviceId device) {
    Map& m = map();
    const std::lock_guard lock(m.mutex);
    return m.used_of(device);
}

}  // namespace lockwarp::cuda
