// SPDX-License-Identifier: Apache-2.0
// Memory that the driver gives, or was told of: an address is the byte's own in this process.
#pragma once

#include <optional>

#include "cuda/state.hpp"

namespace lockwarp::cuda {

enum class Kind : uint8_t {
    device,
    managed,
    host,
    registered,
    variable,
    mapped,
    mapped_host,
    opened
};
constexpr bool is_mapped(Kind k) { return k == Kind::mapped || k == Kind::mapped_host; }

struct Advices;  // cuda/advice.hpp

// What holds the bytes that other processes may open (cuda/unnamed_file.hpp).
inline constexpr const char* memory_file = "lockwarp-ipc";
// One of them.
struct FileId {
    uint64_t device = 0, number = 0;
    bool operator==(const FileId&) const = default;
};

struct Allocation {
    Address base = 0;
    uint64_t size = 0;
    Kind kind = Kind::device;
    uint64_t id = 0;
    unsigned flags = 0;
    std::weak_ptr<Context> context;
    Pool* pool = nullptr;
    DeviceId device = 0;
    DeviceMask reach = 0;    // devices whose kernels may touch it
    bool of_graph = false;   // it stays when the program frees it, for the graph's next launch
    bool has_pages = false;  // no other memory lies in its pages
    int file = -1;           // that holds its bytes, once another process may open it
    FileId opened{};         // of Kind::opened: that of the other process
    unsigned times = 0;      // that it was opened
    std::shared_ptr<Advices> advices{};  // of managed memory and variables
};

DeviceMask all_devices();
// A Failure out_of_memory where the device has not as much, or the machine.
Address allocate(uint64_t size, Kind kind, const std::shared_ptr<Context>& context,
                 unsigned flags = 0, Pool* pool = nullptr);
// Memory of the program's own, or a module's variable.
void add_known(Address base, uint64_t size, Kind kind, const std::shared_ptr<Context>& context,
               DeviceId device, unsigned flags = 0);
// What cuMemMap put there, of that device or the host's, and kernels of these may use; several that
// follow each other hold bytes together. `release` ends it.
void set_mapped(Address base, uint64_t size, Kind kind, DeviceId device, DeviceMask reach);
// Kernels of a device may touch another's memory, or no longer. false: that was so before.
bool set_peer_access(DeviceId device, DeviceId peer, bool may);
bool may_touch(const Allocation& a, DeviceId device);
// As when the device is reset.
void end_peer_access(DeviceId device);
// Which memory of other devices two H100s (driver 580) take for copies and fills; a Failure where
// they take none. A copy: any, but of pools and mapped memory what the current device may touch.
void check_copied(Address address);
// A fill: what the device may touch that does it, which is its stream's.
void check_filled(Address address, DeviceId by);
void set_pool_access(Pool& pool, DeviceMask reach);
// The allocation that holds the address, whose bytes lie in a file from now on. A Failure where
// that is not one of cuMemAlloc's or, `pooled`, does not begin there in a pool that is for others.
Allocation share(Address address, bool pooled);
// Maps a file of another process, of so many bytes that are the allocation's; where the context has
// it already, that. `close_shared` ends it as often as it was opened; in a pool it is freed.
Address open_shared(int file, const FileId& id, uint64_t size, DeviceId device,
                    const std::shared_ptr<Context>& context, Pool* pool = nullptr);
void close_shared(Address base);
// Gives back what is reserved beyond what is used, down to so many bytes.
void trim(Pool& pool, uint64_t keep);
// Of the device's memory, for what is not mapped yet; a Failure out_of_memory.
void take_device_bytes(DeviceId device, uint64_t size);
void give_device_bytes(DeviceId device, uint64_t size);
// Ends an allocation that begins there and is of one of two kinds; a Failure `otherwise`.
void release(Address base, Kind kind, Kind or_kind, Result otherwise = invalid_value);
// As a program frees device or managed memory.
void release_for_program(Address base);
// The memory of a graph's allocation node.
void keep_for_graph(Address base);
// All memory of graphs now, and the most that it was since `reset_high`.
struct GraphBytes {
    uint64_t now = 0, high = 0;
};
GraphBytes graph_bytes(bool reset_high = false);
void release_all(const Context& context);
std::optional<Allocation> allocation_at(Address address);
// What holds all of these bytes; a Failure where nothing does.
Allocation holding(Address address, uint64_t size);
uint64_t device_bytes_used(DeviceId device);

}  // namespace lockwarp::cuda
