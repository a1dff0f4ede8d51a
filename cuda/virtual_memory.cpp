// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: addresses that are reserved, memory that is made apart from them, and
// the mapping of one to the other. Memory is a file without a name, so that it may be mapped at
// several addresses and given to other processes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "cuda/unnamed_file.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t granularity = uint64_t{2} << 20;
// Names of the files, by which another process knows whose memory it is given.
constexpr const char *device_file = "lockwarp", *host_file = "lockwarp-host";
constexpr uint64_t no_access = 0, read_only = 1, read_write = 3;  // CUmemAccess_flags

struct AllocationProperties {  // CUmemAllocationProp
    int type, handle_types;
    Location location;
    void* windows;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32);

struct Physical {
    Physical(int opened, uint64_t bytes, const AllocationProperties& p)
        : file(opened), size(bytes), properties(p) {}
    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;
    ~Physical() {
        ::close(file);
        if (!is_host()) give_device_bytes(properties.location.id, size);
    }
    bool is_host() const { return properties.location.type != on_device; }
    int file;
    uint64_t size;
    AllocationProperties properties;
    unsigned count = 1;  // of handles
};

struct Mapping {
    std::shared_ptr<Physical> memory;
    uint64_t size, offset;
    std::array<uint64_t, max_devices> access{};  // of each device
    uint64_t host_access = no_access;            // to memory of the host's
    bool is_known = false;                       // set_mapped

    DeviceMask reach() const {
        DeviceMask out = 0;
        for (DeviceId d = 0; d < max_devices; ++d)
            if (access[static_cast<size_t>(d)] != no_access) out |= bit_of(d);
        return out;
    }
};

struct Space {
    std::mutex mutex;
    std::map<Address, uint64_t> reserved;  // and its size
    std::map<Address, Mapping> mapped;
    std::map<const Physical*, std::shared_ptr<Physical>> handles;
};

Space& space() {
    static Space* const only = new Space;
    return *only;
}

bool is_host(const Location& l) { return l.type == on_host || l.type == on_numa_node; }

bool fits(uint64_t n) { return n != 0 && n % granularity == 0; }

// As they are kept: the host is its node 0, whichever number it is given, and there is no other.
// Its memory is for other processes only where the node is named (an H200's driver).
AllocationProperties checked(const AllocationProperties* given) {
    require(given != nullptr && given->type == pinned_memory);
    require((given->handle_types & ~posix_file) == 0, not_supported);
    AllocationProperties p = *given;
    if (p.location.type == on_device) {
        check_device(p.location.id);
        return p;
    }
    require(p.location.type == on_host ? p.handle_types == 0
                                       : p.location.type == on_numa_node && p.location.id == 0);
    p.location = {on_numa_node, 0};
    return p;
}

std::shared_ptr<Physical> physical(Space& s, const Physical* handle) {
    const auto found = s.handles.find(handle);
    require(found != s.handles.end());
    return found->second;
}

const Physical* add_handle(std::shared_ptr<Physical> memory) {
    Space& s = space();
    const std::lock_guard lock(s.mutex);
    const Physical* const handle = memory.get();
    s.handles.emplace(handle, std::move(memory));
    return handle;
}

bool is_reserved(const Space& s, Address address, uint64_t size) {
    auto after = s.reserved.upper_bound(address);
    if (after == s.reserved.begin()) return false;
    const auto& [base, bytes] = *std::prev(after);
    return address - base <= bytes && size <= bytes - (address - base);
}

// The mappings that these bytes consist of; a Failure where they begin or end within one, or one is
// missing.
std::vector<Address> mappings_of(const Space& s, Address address, uint64_t size) {
    std::vector<Address> out;
    const Address end = address + size;
    while (address != end) {
        const auto found = s.mapped.find(address);
        require(found != s.mapped.end() && found->second.size <= end - address);
        out.push_back(address);
        address += found->second.size;
    }
    require(!out.empty());
    return out;
}

void* map_at(Address address, uint64_t size, int protection, int flags, int file, uint64_t offset) {
    return ::mmap(reinterpret_cast<void*>(address), size, protection, flags, file,
                  static_cast<off_t>(offset));
}

// Nothing may touch it.
void make_empty(Address address, uint64_t size) {
    map_at(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0);
}

// The mapping is what its access says.
void apply_access(Address address, Mapping& m) {
    const Kind kind = m.memory->is_host() ? Kind::mapped_host : Kind::mapped;
    const bool is_touched = m.reach() != 0 || m.host_access != no_access;
    if (is_touched)
        set_mapped(address, m.size, kind, m.memory->properties.location.id, m.reach());
    else if (m.is_known)
        release(address, kind, kind);
    m.is_known = is_touched;
    // The program's own threads copy through the same addresses.
    const int protection = is_touched ? PROT_READ | PROT_WRITE : PROT_NONE;
    ::mprotect(reinterpret_cast<void*>(address), m.size, protection);
}

void set_access(Address address, Mapping& m, DeviceId device, uint64_t access) {
    m.access[static_cast<size_t>(device)] = access;
    apply_access(address, m);
}

void set_host_access(Address address, Mapping& m, uint64_t access) {
    m.host_access = access;
    apply_access(address, m);
}

void remove_access(Address address, Mapping& m) {
    m.access.fill(no_access);
    m.host_access = no_access;
    apply_access(address, m);
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuMemGetAllocationGranularity(size_t* out, const AllocationProperties* p, int) {
    return answer([&] {
        ready();
        require(out != nullptr && p != nullptr);
        *out = granularity;  // of whatever is asked for, as an H200 answers
    });
}

Result cuMemAddressReserve(Address* out, size_t size, size_t alignment, Address wanted,
                           unsigned long long flags) {
    return answer([&] {
        ready();
        require(out != nullptr && size != 0 && size % granularity == 0 && flags == 0);
        require((alignment & (alignment - 1)) == 0);
        const uint64_t step = std::max<uint64_t>(alignment, granularity);
        require(size <= UINT64_MAX / 4 && step <= UINT64_MAX / 4, out_of_memory);
        void* const taken = map_at(wanted, size + step, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        require(taken != MAP_FAILED, out_of_memory);
        const auto begin = reinterpret_cast<Address>(taken);
        const Address base = (begin + step - 1) / step * step;
        if (base != begin) ::munmap(taken, base - begin);
        if (const uint64_t rest = begin + step - base; rest != 0)
            ::munmap(reinterpret_cast<void*>(base + size), rest);
        const std::lock_guard lock(space().mutex);
        space().reserved.emplace(base, size);
        *out = base;
    });
}

Result cuMemAddressFree(Address address, size_t size) {
    return answer([&] {
        ready();
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        const auto found = s.reserved.find(address);
        require(found != s.reserved.end() && found->second == size);
        const auto mapped = s.mapped.lower_bound(address);
        require(mapped == s.mapped.end() || mapped->first - address >= size);
        ::munmap(reinterpret_cast<void*>(address), size);
        s.reserved.erase(found);
    });
}

Result cuMemCreate(const Physical** out, size_t size, const AllocationProperties* p,
                   unsigned long long flags) {
    return answer([&] {
        ready();
        require(out != nullptr && fits(size) && flags == 0);
        const AllocationProperties kept = checked(p);
        const bool is_on_device = kept.location.type == on_device;
        if (is_on_device) take_device_bytes(kept.location.id, size);
        const int file = new_unnamed_file(is_on_device ? device_file : host_file, size);
        if (file < 0) {
            if (is_on_device) give_device_bytes(kept.location.id, size);
            fail(out_of_memory);
        }
        *out = add_handle(std::make_shared<Physical>(file, size, kept));
    });
}

// The memory lasts while it is mapped.
Result cuMemRelease(const Physical* handle) {
    return answer([&] {
        ready();
        std::shared_ptr<Physical> last;
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        last = physical(s, handle);
        if (--last->count == 0) s.handles.erase(handle);
    });
}

Result cuMemMap(Address address, size_t size, size_t offset, const Physical* handle,
                unsigned long long flags) {
    return answer([&] {
        ready();
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        std::shared_ptr<Physical> memory = physical(s, handle);
        require(flags == 0 && offset == 0 && fits(size) && address % granularity == 0);
        require(size <= memory->size && is_reserved(s, address, size));
        const auto after = s.mapped.lower_bound(address);
        require(after == s.mapped.end() || after->first - address >= size);
        if (after != s.mapped.begin()) {
            const auto& [base, before] = *std::prev(after);
            require(address - base >= before.size);
        }
        require(map_at(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, offset) !=
                    MAP_FAILED,
                out_of_memory);
        s.mapped.emplace(address, Mapping{std::move(memory), size, offset});
    });
}

Result cuMemUnmap(Address address, size_t size) {
    return answer([&] {
        ready();
        finish_all();
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        for (const Address a : mappings_of(s, address, size)) {
            const auto found = s.mapped.find(a);
            remove_access(a, found->second);
            make_empty(a, found->second.size);
            s.mapped.erase(found);
        }
    });
}

Result cuMemSetAccess(Address address, size_t size, const AccessDescription* list, size_t count) {
    return answer([&] {
        ready();
        require(list != nullptr && count != 0);
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        const std::vector<Address> mappings = mappings_of(s, address, size);
        for (const AccessDescription& d : std::span(list, count)) {
            const auto access = static_cast<uint64_t>(d.flags);
            require(access == no_access || access == read_only || access == read_write);
            if (is_host(d.location)) {
                for (const Address a : mappings) {
                    Mapping& m = s.mapped.at(a);
                    // A device's memory is not the host's to touch (an H200).
                    require(m.memory->is_host() || access == no_access, not_supported);
                    if (m.memory->is_host()) set_host_access(a, m, access);
                }
                continue;
            }
            const bool is_one = d.location.type == on_device && d.location.id >= 0 &&
                                static_cast<size_t>(d.location.id) < driver().devices.size();
            require(is_one);
            for (const Address a : mappings) set_access(a, s.mapped.at(a), d.location.id, access);
        }
    });
}

Result cuMemGetAccess(unsigned long long* flags, const Location* location, Address address) {
    return answer([&] {
        ready();
        require(flags != nullptr && location != nullptr);
        if (!is_host(*location)) {
            check_device(location->type == on_device ? location->id : -1);
        }
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        const auto after = s.mapped.upper_bound(address);
        require(after != s.mapped.begin());
        const auto& [base, m] = *std::prev(after);
        require(address - base < m.size);
        *flags = is_host(*location) ? m.host_access : m.access[static_cast<size_t>(location->id)];
    });
}

Result cuMemGetAllocationPropertiesFromHandle(AllocationProperties* out, const Physical* handle) {
    return answer([&] {
        ready();
        require(out != nullptr);
        const std::lock_guard lock(space().mutex);
        *out = physical(space(), handle)->properties;
    });
}

Result cuMemRetainAllocationHandle(const Physical** out, void* address) {
    return answer([&] {
        ready();
        require(out != nullptr);
        Space& s = space();
        const std::lock_guard lock(s.mutex);
        const auto at = reinterpret_cast<Address>(address);
        const auto after = s.mapped.upper_bound(at);
        require(after != s.mapped.begin());
        const auto& [base, m] = *std::prev(after);
        require(at - base < m.size);
        const auto [found, added] = s.handles.emplace(m.memory.get(), m.memory);
        m.memory->count = added ? 1 : m.memory->count + 1;
        *out = found->first;
    });
}

Result cuMemExportToShareableHandle(void* out, const Physical* handle, int type,
                                    unsigned long long flags) {
    return answer([&] {
        ready();
        require(out != nullptr && flags == 0);
        const std::lock_guard lock(space().mutex);
        const std::shared_ptr<Physical> memory = physical(space(), handle);
        require(type == posix_file && memory->properties.handle_types == posix_file);
        const int file = ::dup(memory->file);
        require(file >= 0, operating_system);
        std::memcpy(out, &file, sizeof file);
    });
}

Result cuMemImportFromShareableHandle(const Physical** out, void* file_number, int type) {
    return answer([&] {
        ready();
        require(out != nullptr && type == posix_file);
        const int file = ::dup(static_cast<int>(reinterpret_cast<intptr_t>(file_number)));
        const off_t size = file < 0 ? -1 : ::lseek(file, 0, SEEK_END);
        if (size <= 0 || !fits(static_cast<uint64_t>(size))) {
            if (file >= 0) ::close(file);
            fail(invalid_value);
        }
        AllocationProperties p{};
        p.type = pinned_memory;  // and it is not exported again (an H200)
        p.location.type = is_unnamed_file(file, host_file) ? on_numa_node : on_device;
        if (!is_host(p.location)) take_device_bytes(p.location.id, static_cast<uint64_t>(size));
        *out = add_handle(std::make_shared<Physical>(file, static_cast<uint64_t>(size), p));
    });
}

}  // extern "C"
