// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles that programs have of the driver.
//
// Work of a stream is done when it is asked for: each call returns when it has ended, which is one
// of the orders that CUDA allows. What a kernel did wrong is an error of the calls that follow, as
// with the real driver.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/driver_api.hpp"
#include "cuda/errors.hpp"
#include "cuda/products.hpp"
#include "lockwarp.h"

namespace lockwarp::warp {
class Heap;
}

namespace lockwarp::cuda {

struct Image;
struct Capture;  // cuda/graph.hpp
class Family;    // cuda/family.hpp

// Objects by their handles, which are their addresses: a handle that is none is an error and no
// access to what is not there.
template <class T>
class Handles {
  public:
    T* add(std::shared_ptr<T> object) {
        T* const handle = object.get();
        const std::lock_guard lock(mutex_);
        objects_.emplace(handle, std::move(object));
        return handle;
    }
    std::shared_ptr<T> get(const T* handle, Result otherwise = invalid_handle) {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) fail(otherwise);
        return found->second;
    }
    std::shared_ptr<T> take(const T* handle, Result otherwise = invalid_handle) {
        const std::lock_guard lock(mutex_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) fail(otherwise);
        std::shared_ptr<T> object = std::move(found->second);
        objects_.erase(found);
        return object;
    }
    // As add; nothing where it is there already.
    void add_once(std::shared_ptr<T> object) {
        const std::lock_guard lock(mutex_);
        const T* const handle = object.get();
        objects_.emplace(handle, std::move(object));
    }
    template <class Visit>
    void each(Visit visit) {
        const std::lock_guard lock(mutex_);
        for (const auto& item : objects_) visit(*item.second);
    }
    template <class Which>
    void erase_if(Which which) {
        std::vector<std::shared_ptr<T>> ended;  // outside the lock
        const std::lock_guard lock(mutex_);
        for (auto item = objects_.begin(); item != objects_.end();)
            if (which(*item->second)) {
                ended.push_back(std::move(item->second));
                item = objects_.erase(item);
            } else {
                ++item;
            }
    }

  private:
    std::mutex mutex_;
    std::unordered_map<const T*, std::shared_ptr<T>> objects_;
};

constexpr size_t limit_count = 16;
constexpr int lowest_priority = 0, highest_priority = -5;          // of streams and kernel nodes
constexpr size_t stack_size = 0, malloc_heap = 2, sync_depth = 3;  // CU_LIMIT_STACK_SIZE and so on
// Of a thread's stack, as an H100 with driver 580 answers: 2049 becomes 2064; 256 KiB are given,
// 512 are not.
constexpr size_t stack_unit = 16, most_stack = size_t{512} << 10;
constexpr size_t non_portable_cluster = 14;  // CUfunction_attribute

// Of streams and kernel nodes, by their numbers: CUlaunchAttributeValue.
using AttributeValue = std::array<char, 64>;
using Attributes = std::map<int, AttributeValue>;

// Emulated devices, all of one kind: LOCKWARP_DEVICES says how many.
constexpr int max_devices = 16;
using DeviceMask = uint32_t;  // a bit for each
constexpr DeviceMask bit_of(DeviceId device) { return DeviceMask{1} << device; }

struct Module;

struct Context {
    DeviceId device = 0;
    unsigned flags = 0;
    unsigned version = 3020;
    bool primary = false;
    int attached = 1;  // cuCtxAttach and cuCtxDetach
    uint64_t id = 0;
    std::atomic<Result> error{success};  // of a kernel; it stays
    std::atomic<bool> destroyed{false};
    std::mutex mutex;  // of what follows
    std::string printed;
    std::array<size_t, limit_count> limits{};
    std::shared_ptr<warp::Heap> heap;  // of malloc and free in kernels; as large as its limit
    std::shared_ptr<Module> rows;      // of the kernels that copy and fill for others
    int cache_config = 0, shared_config = 0;
    Attributes stream_attributes;  // of its default streams
};

// What cuLaunchGrid launches with.
struct SetBefore {
    std::array<unsigned, 3> block{1, 1, 1};
    unsigned shared = 0, size = 0;
    std::vector<uint8_t> parameters;
};

struct Function {
    std::weak_ptr<Module> module;
    std::string name;
    const lockwarp_kernel* kernel = nullptr;
    lockwarp_kernel_info info{};
    std::vector<lockwarp_parameter> parameters;
    bool may_wait = false;  // isa::may_wait_outside
    std::atomic<uint32_t> max_dynamic{0};
    std::array<std::atomic<int>, 16> attributes{};  // those that only remember what was set
    std::atomic<uint32_t> registers{0};             // of a thread; 0: not asked for yet
    SetBefore set_before;
};

struct Module {
    ~Module();
    std::weak_ptr<Context> context;
    DeviceId device = 0;
    std::weak_ptr<Family> family;  // that it is one of (cuda/family.hpp)
    lockwarp_module* loaded = nullptr;
    std::string text;  // its PTX, where launch files are recorded
    std::mutex mutex;
    std::map<std::string, Function*, std::less<>> functions;
};

struct Library {
    std::shared_ptr<Family> family;
};

struct Stream {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
    DeviceId device = 0;
    std::mutex mutex;  // of what follows
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> frontier;  // that its next node comes after
    Attributes attributes;
};

class SharedEvent;
inline constexpr unsigned disable_timing = 2, interprocess = 4;  // CU_EVENT_*

struct Event {
    std::weak_ptr<Context> context;
    DeviceId device = 0;
    unsigned flags = 0;
    std::mutex mutex;                                  // of what follows
    std::optional<std::chrono::nanoseconds> recorded;  // on the clock of events
    uint64_t put_off = 0;                              // work that records it (cuda/order.hpp)
    std::weak_ptr<Capture> capture;                    // that it was recorded in
    std::vector<GraphNode*> captured;
    std::shared_ptr<SharedEvent> shared;  // where other processes may open it (cuda/ipc.hpp)
    bool is_opened = false;               // it is another process's
};

// Where memory may be (CUmemLocationType), and what kind of it (CUmemAllocationType).
enum Place : int { nowhere = 0, on_device = 1, on_host = 2, on_numa_node = 3 };
enum MemoryKind : int { pinned_memory = 1, managed_memory = 2 };

struct Pool {
    Pool(Location at, int of_type, DeviceMask reach, uint64_t at_most = UINT64_MAX)
        : location(at), type(of_type), max_bytes(at_most), access(reach) {}
    bool is_of(DeviceId device) const {
        return type == pinned_memory && location.type == on_device && location.id == device;
    }
    const Location location;
    const int type;
    const uint64_t max_bytes;
    std::atomic<DeviceMask> access;  // devices whose kernels may touch its memory
    uint64_t release_threshold = 0;
    std::array<int, 4> reuse{0, 1, 1, 1};
    int handle_types = 0;      // by which other processes may have it (CUmemAllocationHandleType)
    std::mutex mutex;          // of what follows
    int file = -1;             // that stands for it there
    bool is_imported = false;  // it is another process's
    std::atomic<uint64_t> used{0}, used_high{0};
    std::atomic<uint64_t> reserved{0}, reserved_high{0};
};

// One of the emulated devices.
struct Device {
    lockwarp_context* engine = nullptr;  // its kernels, and what they may touch
    std::mutex mutex;                    // of what follows
    std::shared_ptr<Context> primary;
    unsigned primary_count = 0;
    unsigned primary_flags = 0;
    Pool* default_pool = nullptr;
    std::atomic<Pool*> current_pool{nullptr};
};

// The driver: one of a process, made when it is first needed, and never destroyed, for programs
// call it while they end.
struct Driver {
    Driver();
    void add_device();

    isa::Arch arch{};
    const Product* product = nullptr;
    bool blocking = false;  // CUDA_LAUNCH_BLOCKING: a launch itself gives its error
    bool late = false;      // LOCKWARP_EXEC_ASYNC=late: asynchronous instructions, where waited for
    std::string wrong;      // why there is no device
    std::atomic<bool> initialized{false};
    std::atomic<uint64_t> next_id{1};
    std::vector<std::unique_ptr<Device>> devices;

    Handles<Context> contexts;
    Handles<Module> modules;
    Handles<Function> functions;
    Handles<Library> libraries;
    Handles<Array> arrays;
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Link> links;
    Handles<Pool> pools;
    Handles<Graph> graphs;
    Handles<GraphNode> nodes;
    Handles<GraphExec> execs;
};

Driver& driver();
// A device's attribute by its number, CUdevice_attribute.
int attribute_of_device(int number);
// After cuInit, else a Failure.
Driver& ready();
// The thread's stack of contexts.
std::vector<std::shared_ptr<Context>>& context_stack();
// The thread's current context; a Failure where there is none, it is destroyed, or a kernel of it
// failed.
std::shared_ptr<Context> current();
// The same without looking at kernels' errors, for what ends things.
std::shared_ptr<Context> current_in_error();
// The same of a destroyed one too, for what is known of it.
std::shared_ptr<Context> current_or_destroyed();
std::shared_ptr<Context> new_context(DeviceId device, unsigned flags, unsigned version);
// A Failure where there is no such device.
Device& device_at(DeviceId device);
// Ends it with all that it has.
void destroy(const std::shared_ptr<Context>& context);
// Prints what kernels printed, and gives the error of one that failed.
void synchronize(Context& context);

// nullptr and the two numbers that stand for default streams are streams too.
bool is_default(const Stream* stream);
void check_stream(const Stream* stream);
// The stream's, which is the current one for the default streams.
std::shared_ptr<Context> context_of(const Stream* stream);
// The context is current while the object lives.
class Within {
  public:
    explicit Within(std::shared_ptr<Context> context) {
        context_stack().push_back(std::move(context));
    }
    ~Within() { context_stack().pop_back(); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
};
// Where no context is current, that of the stream, event or module which a call names is, while
// this lives, as on an H200: libcu++'s tests call these functions with none (C2H_CCCLRT_TEST).
class StandIn {
  public:
    explicit StandIn(const Stream* stream);
    explicit StandIn(const Event* event);
    explicit StandIn(const Module& module);

  private:
    std::optional<Within> within_;
};
// A kernel's fault is the error of every context, of other devices too (two H100s, driver 580).
void set_fault(Result fault);
void check_device(DeviceId device);
// In a stream, which may be one that captures.
void record_event(Event& event, Stream* stream);
void record_now(Event& event);
void wait_for_event(Stream* stream, Event& event);
// A Failure where it was recorded in a capture.
void check_not_captured(Event& event);

// A module of PTX, a fat binary or, refused, machine code. `log` is given what is wrong.
std::shared_ptr<Module> load_module(const std::shared_ptr<Context>& context, const void* image,
                                    std::string* log);
// Of texts that were read already; `each_when_needed`: what is wrong with a kernel comes to light
// when it is first asked for. The context may be nullptr.
std::shared_ptr<Module> load_image(const std::shared_ptr<Context>& context, DeviceId device,
                                   const Image& image, bool each_when_needed, std::string* log);
// The module's function of that name, always the same handle. `log`: as above.
Function* function_of(const std::shared_ptr<Module>& module, const char* name,
                      std::string* log = nullptr);
void unload(const std::shared_ptr<Module>& module);

struct LaunchShape {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared = 0;
    bool cooperative = false;
    uint32_t cluster[3] = {};  // all 0: none is asked for
    // It may begin before the launch that its stream was asked for before it has ended.
    bool programmatic = false;
};
inline bool has_cluster(const LaunchShape& s) {
    return (s.cluster[0] | s.cluster[1] | s.cluster[2]) != 0;
}
// A Failure where the device has no such launch.
void check_shape(const Function& function, const LaunchShape& shape);
// The bytes of the parameter space, from one of the two ways to give them.
std::vector<uint8_t> parameters_of(const Function& function, void** parameters, void** extra);
// Runs it; what it does wrong stays in the context.
void launch(const Function& function, const LaunchShape& shape,
            const std::vector<uint8_t>& parameters);
// Registers of a thread as the model of cycles estimates them.
uint32_t registers_of(Function& function);

}  // namespace lockwarp::cuda
