// SPDX-License-Identifier: Apache-2.0
// Managed memory: what is advised, and what is asked about that. Errors and answers are an H200's
// (driver 580.159.04).
#include "cuda/advice.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t page = 4096;
constexpr DeviceId host = -1, nobody = -2;  // CU_DEVICE_CPU, CU_DEVICE_INVALID
constexpr int current_node = 4;             // CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT

// CUmem_advise
enum Advised : int {
    read_mostly = 1,
    not_read_mostly = 2,
    preferred = 3,
    not_preferred = 4,
    accessed_by = 5,
    not_accessed_by = 6
};

// CUmem_range_attribute
enum RangeAttribute : int {
    of_read_mostly = 1,
    of_preferred = 2,
    of_accessed_by = 3,
    of_last_prefetch = 4,
    of_preferred_type = 5,
    of_preferred_id = 6,
    of_last_prefetch_type = 7,
    of_last_prefetch_id = 8
};

bool is_of_host(const Location& l) {
    return l.type == on_host || l.type == on_numa_node || l.type == current_node;
}

bool is_known(const Location& l) {
    const bool is_device =
        l.type == on_device && l.id >= 0 && static_cast<size_t>(l.id) < driver().devices.size();
    return is_device || is_of_host(l);
}

DeviceId as_device(const Location& l) { return is_of_host(l) ? host : l.id; }

// As of a function without a place: a device, or -1 for the host.
Location place_of(DeviceId device) {
    return device == host ? Location{on_host, 0} : Location{on_device, device};
}

struct Pages {
    std::shared_ptr<Advices> advices;
    uint64_t first = 0, behind = 0;
};

// The pages of such bytes, which are managed memory's.
Pages pages_of(Address address, size_t size) {
    require(size != 0);
    const Allocation a = holding(address, size);
    require(a.advices != nullptr);
    return {a.advices, address / page, (address + size - 1) / page + 1};
}

// Changes what each of the pages has.
template <class Change>
void change(const Pages& p, Change change_one) {
    std::map<uint64_t, Advice>& from = p.advices->from_page;
    const std::lock_guard lock(p.advices->mutex);
    for (const uint64_t n : {p.first, p.behind})
        from.emplace(n, std::prev(from.upper_bound(n))->second);
    for (auto at = from.find(p.first); at->first != p.behind; ++at) change_one(at->second);
}

void advise(Advice& a, int what, const Location& at) {
    switch (what) {
        case read_mostly:
        case not_read_mostly:
            a.read_mostly = what == read_mostly;
            break;
        case preferred:
            a.preferred = as_device(at);
            break;
        case not_preferred:
            a.preferred.reset();
            break;
        case accessed_by:
            a.accessed_by.insert(as_device(at));
            break;
        default:
            a.accessed_by.erase(as_device(at));
    }
}

// What all of the pages have, and nothing where they differ.
Advice common_of(const Pages& p) {
    const std::map<uint64_t, Advice>& from = p.advices->from_page;
    const std::lock_guard lock(p.advices->mutex);
    auto at = std::prev(from.upper_bound(p.first));
    Advice all = at->second;
    for (++at; at != from.end() && at->first < p.behind; ++at) {
        const Advice& one = at->second;
        all.read_mostly = all.read_mostly && one.read_mostly;
        if (all.preferred != one.preferred) all.preferred.reset();
        std::erase_if(all.accessed_by, [&](DeviceId d) { return !one.accessed_by.contains(d); });
        const bool is_same = all.prefetched && one.prefetched &&
                             all.prefetched->type == one.prefetched->type &&
                             all.prefetched->id == one.prefetched->id;
        if (!is_same) all.prefetched.reset();
    }
    return all;
}

int value_of(const Advice& a, int attribute) {
    const bool was_prefetched = a.prefetched.has_value();
    const bool is_host = was_prefetched && a.prefetched->type == on_host;
    switch (attribute) {
        case of_read_mostly:
            return a.read_mostly ? 1 : 0;
        case of_preferred:
        case of_preferred_id:
            return a.preferred.value_or(nobody);
        case of_preferred_type:
            return !a.preferred ? nowhere : *a.preferred == host ? on_host : on_device;
        case of_last_prefetch:
            return was_prefetched ? as_device(*a.prefetched) : nobody;
        case of_last_prefetch_type:
            return was_prefetched ? a.prefetched->type : nowhere;
        default:
            return !was_prefetched ? nobody : is_host ? host : a.prefetched->id;
    }
}

void put_attribute(void* out, size_t size, int attribute, const Advice& a) {
    require(out != nullptr && attribute >= of_read_mostly && attribute <= of_last_prefetch_id);
    if (attribute != of_accessed_by) {
        require(size == sizeof(int));
        const int value = value_of(a, attribute);
        std::memcpy(out, &value, sizeof value);
        return;
    }
    // Devices by number, then the host.
    require(size != 0 && size % sizeof(DeviceId) == 0);
    const std::span list(static_cast<DeviceId*>(out), size / sizeof(DeviceId));
    std::ranges::fill(list, nobody);
    std::vector<DeviceId> all(a.accessed_by.begin(), a.accessed_by.end());
    std::ranges::sort(
        all, {}, [](DeviceId d) { return d == host ? std::numeric_limits<DeviceId>::max() : d; });
    std::copy_n(all.begin(), std::min(all.size(), list.size()), list.begin());
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuMemAdvise_v2(Address address, size_t size, int advice, Location location) {
    return answer([&] {
        ready();
        require(advice >= read_mostly && advice <= not_accessed_by);
        if (advice == preferred || advice >= accessed_by) require(is_known(location));
        if (advice >= accessed_by) require(location.type == on_device || location.type == on_host);
        change(pages_of(address, size), [&](Advice& a) { advise(a, advice, location); });
    });
}

Result cuMemAdvise(Address address, size_t size, int advice, DeviceId device) {
    return cuMemAdvise_v2(address, size, advice, place_of(device));
}

Result cuMemPrefetchAsync_v2(Address address, size_t size, Location location, unsigned flags,
                             Stream* stream) {
    return answer([&] {
        current();
        check_stream(stream);
        require(flags == 0);
        require(is_known(location), invalid_device);
        if (location.type == current_node) location = {on_numa_node, 0};
        change(pages_of(address, size), [&](Advice& a) { a.prefetched = location; });
    });
}

Result cuMemPrefetchAsync(Address address, size_t size, DeviceId device, Stream* stream) {
    return cuMemPrefetchAsync_v2(address, size, place_of(device), 0, stream);
}

Result cuMemRangeGetAttribute(void* out, size_t size, int attribute, Address address,
                              size_t bytes) {
    return answer([&] {
        ready();
        put_attribute(out, size, attribute, common_of(pages_of(address, bytes)));
    });
}

Result cuMemRangeGetAttributes(void** out, size_t* sizes, int* attributes, size_t count,
                               Address address, size_t bytes) {
    return answer([&] {
        ready();
        require(out != nullptr && sizes != nullptr && attributes != nullptr && count != 0);
        const Advice a = common_of(pages_of(address, bytes));
        for (size_t i = 0; i < count; ++i) put_attribute(out[i], sizes[i], attributes[i], a);
    });
}

}  // extern "C"
