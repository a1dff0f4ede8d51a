// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU at addresses that were asked for (CUDA driver API, "Virtual Memory Management").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace lockwarp::gpu {

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of the driver API.
struct MemoryLocation {
    int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
    int id = 0;
};
struct MemoryProperties {
    int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
    int handle_types = 0;
    MemoryLocation location;
    void* unused = nullptr;
    unsigned char compression = 0, direct = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
};
struct MemoryAccess {
    MemoryLocation location;
    int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

// The driver's functions; all are there, or none is used. 0 is success.
struct FixedMemoryApi {
    int (*granularity)(size_t*, const MemoryProperties*, int) = nullptr;
    int (*reserve)(unsigned long long*, size_t, size_t, unsigned long long,
                   unsigned long long) = nullptr;
    int (*unreserve)(unsigned long long, size_t) = nullptr;
    int (*create)(unsigned long long*, size_t, const MemoryProperties*,
                  unsigned long long) = nullptr;
    int (*release)(unsigned long long) = nullptr;
    int (*map)(unsigned long long, size_t, size_t, unsigned long long,
               unsigned long long) = nullptr;
    int (*unmap)(unsigned long long, size_t) = nullptr;
    int (*access)(unsigned long long, size_t, const MemoryAccess*, size_t) = nullptr;

    bool complete() const {
        return granularity && reserve && unreserve && create && release && map && unmap && access;
    }
};

// The driver maps whole pages, of 2 MB as a rule. Buffers may share one. It takes a hint for large
// parts of the address space only (an H200: of 32 MB and more, driver 580): of those a part is
// mapped.
class FixedMemory {
  public:
    FixedMemory(const FixedMemoryApi& api, int device);
    FixedMemory(const FixedMemory&) = delete;
    FixedMemory& operator=(const FixedMemory&) = delete;
    ~FixedMemory();  // with the context current

    // Whether there is memory at [address, address + bytes) now. The driver need not give an
    // address that it was asked for.
    bool allocate(uint64_t address, uint64_t bytes);
    // False: the address is not one of allocate().
    bool release(uint64_t address);

  private:
    struct Run {
        uint64_t bytes = 0;
        unsigned long long memory = 0;
        unsigned users = 0;
    };
    using Ranges = std::map<uint64_t, uint64_t>;  // address to bytes
    bool reserve(uint64_t begin, uint64_t end);
    bool map(uint64_t begin, uint64_t end);
    bool fill(uint64_t begin, uint64_t end);
    void leave(uint64_t begin, uint64_t end);

    FixedMemoryApi api_;
    MemoryProperties properties_;
    uint64_t page_ = 0;  // 0: the driver cannot
    // Addresses that the driver gave; they do not overlap. They stay: what it has back it takes for
    // memory of its own, and the next launch file wants the same addresses, as a rule.
    Ranges reserved_;
    std::map<uint64_t, Run> runs_;  // what is mapped, by address, each in one of reserved_
    Ranges given_;
};

}  // namespace lockwarp::gpu
