// SPDX-License-Identifier: Apache-2.0
#include "cuda/stream_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "cuda/aside.hpp"
#include "cuda/memory.hpp"

namespace lockwarp::cuda {

namespace {

// CUstreamBatchMemOpType
enum MemoryType : int {
    wait_32 = 1,
    write_32 = 2,
    flush_remote_writes = 3,
    wait_64 = 4,
    write_64 = 5,
    barrier = 6
};
// CUstreamWaitValue_flags
constexpr unsigned greater_or_equal = 0, equal = 1, any_bit = 2, any_bit_clear = 3;
constexpr unsigned flush = 1u << 30;
constexpr unsigned most_operations = 256;

bool is_wait(const MemoryOperation& o) { return o.type == wait_32 || o.type == wait_64; }
bool is_wide(const MemoryOperation& o) { return o.type == wait_64 || o.type == write_64; }

void check_operation(const MemoryOperation& o) {
    if (o.type == barrier) return;
    require(o.type != flush_remote_writes, not_supported);
    require(o.type >= wait_32 && o.type <= write_64);
    // An H200 refuses flushes, and writes without a barrier.
    require(!is_wait(o) || (o.flags & flush) == 0, not_supported);
    require(o.flags <= (is_wait(o) ? any_bit_clear : 0));
    const uint64_t size = is_wide(o) ? 8 : 4;
    require(o.address % size == 0);
    require(holding(o.address, size).kind != Kind::managed);
}

template <class T>
std::atomic_ref<T> word(const MemoryOperation& o) {
    return std::atomic_ref<T>(*reinterpret_cast<T*>(o.address));
}

// Of greater_or_equal the difference goes round (CUDA driver API, CUstreamWaitValue_flags).
template <class T>
bool is_met(const MemoryOperation& o) {
    const T now = word<T>(o).load(std::memory_order_acquire), value = static_cast<T>(o.value);
    switch (o.flags) {
        case greater_or_equal:
            return static_cast<std::make_signed_t<T>>(now - value) >= 0;
        case equal:
            return now == value;
        case any_bit:
            return (now & value) != 0;
        default:
            return static_cast<T>(~(now | value)) != 0;
    }
}

void wait(const MemoryOperation& o) {
    Aside* const aside = Aside::of_thread();
    while (!(is_wide(o) ? is_met<uint64_t>(o) : is_met<uint32_t>(o))) {
        if (aside != nullptr && aside->may_change(UINT64_MAX)) continue;
        std::array<char, 96> text{};
        std::snprintf(text.data(), text.size(),
                      "a stream waits for memory at 0x%llx, which nothing can change any more",
                      static_cast<unsigned long long>(o.address));
        say(text.data());
        return set_fault(launch_timeout);
    }
}

void submit_one(Stream* stream, MemoryOperation o) {
    const StandIn stand_in(stream);
    current();
    check_stream(stream);
    submit(stream, memory_work({nullptr, 1, &o, 0}));
}

}  // namespace

MemoryWork memory_work(const BatchMemoryNode& node) {
    require(node.operations != nullptr && node.count <= most_operations);
    require(node.flags == 0);
    MemoryWork out{{node.operations, node.operations + node.count}};
    std::ranges::for_each(out.operations, check_operation);
    return out;
}

bool waits(const MemoryWork& work) { return std::ranges::any_of(work.operations, is_wait); }

void run_memory(const MemoryWork& work) {
    for (const MemoryOperation& o : work.operations) {
        if (is_wait(o))
            wait(o);
        else if (o.type == write_32)
            word<uint32_t>(o).store(static_cast<uint32_t>(o.value), std::memory_order_release);
        else if (o.type == write_64)
            word<uint64_t>(o).store(o.value, std::memory_order_release);
    }
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuStreamWaitValue32_v2(Stream* stream, Address address, uint32_t value, unsigned flags) {
    return answer([&] { submit_one(stream, {wait_32, 0, address, value, flags, 0, 0, 0}); });
}

Result cuStreamWaitValue64_v2(Stream* stream, Address address, uint64_t value, unsigned flags) {
    return answer([&] { submit_one(stream, {wait_64, 0, address, value, flags, 0, 0, 0}); });
}

Result cuStreamWriteValue32_v2(Stream* stream, Address address, uint32_t value, unsigned flags) {
    return answer([&] { submit_one(stream, {write_32, 0, address, value, flags, 0, 0, 0}); });
}

Result cuStreamWriteValue64_v2(Stream* stream, Address address, uint64_t value, unsigned flags) {
    return answer([&] { submit_one(stream, {write_64, 0, address, value, flags, 0, 0, 0}); });
}

Result cuStreamBatchMemOp_v2(Stream* stream, unsigned count, MemoryOperation* operations,
                             unsigned flags) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        check_stream(stream);
        if (count != 0) submit(stream, memory_work({nullptr, count, operations, flags}));
    });
}

// The first forms were those of drivers that a parameter of the kernel module allowed them.
Result cuStreamWaitValue32(Stream* stream, Address address, uint32_t value, unsigned flags) {
    return cuStreamWaitValue32_v2(stream, address, value, flags);
}

Result cuStreamWaitValue64(Stream* stream, Address address, uint64_t value, unsigned flags) {
    return cuStreamWaitValue64_v2(stream, address, value, flags);
}

Result cuStreamWriteValue32(Stream* stream, Address address, uint32_t value, unsigned flags) {
    return cuStreamWriteValue32_v2(stream, address, value, flags);
}

Result cuStreamWriteValue64(Stream* stream, Address address, uint64_t value, unsigned flags) {
    return cuStreamWriteValue64_v2(stream, address, value, flags);
}

Result cuStreamBatchMemOp(Stream* stream, unsigned count, MemoryOperation* operations,
                          unsigned flags) {
    return cuStreamBatchMemOp_v2(stream, count, operations, flags);
}

}  // extern "C"
