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

namespace lockwarp::cuda {

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

struct Context {
    unsigned flags = 0;
    unsigned version = 3020;
    bool primary = false;
    uint64_t id = 0;
    std::atomic<Result> error{success};  // of a kernel; it stays
    std::atomic<bool> destroyed{false};
    std::mutex mutex;  // of what follows
    std::string printed;
    std::array<size_t, limit_count> limits{};
    int cache_config = 0, shared_config = 0;
};

struct Function {
    std::weak_ptr<Module> module;
    std::string name;
    const lockwarp_kernel* kernel = nullptr;
    lockwarp_kernel_info info{};
    std::vector<lockwarp_parameter> parameters;
    std::atomic<uint32_t> max_dynamic{0};
    std::array<std::atomic<int>, 16> attributes{};  // those that only remember what was set
    std::atomic<uint32_t> registers{0};             // of a thread; 0: not asked for yet
};

struct Module {
    ~Module();
    std::weak_ptr<Context> context;
    lockwarp_module* loaded = nullptr;
    std::mutex mutex;
    std::map<std::string, Function*, std::less<>> functions;
};

struct Library {
    std::vector<char> image;
    std::shared_ptr<Module> module;
};

struct Stream {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
};

struct Event {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    std::mutex mutex;
    std::optional<std::chrono::steady_clock::time_point> recorded;
};

struct Pool {
    uint64_t release_threshold = 0;
    std::array<int, 4> reuse{0, 1, 1, 1};
    std::atomic<uint64_t> used{0}, used_high{0};
};

// The driver: one of a process, made when it is first needed, and never destroyed, for programs
// call it while they end.
struct Driver {
    Driver();

    isa::Arch arch{};
    const Product* product = nullptr;
    bool blocking = false;  // CUDA_LAUNCH_BLOCKING: a launch itself gives its error
    std::string wrong;      // why there is no device
    std::atomic<bool> initialized{false};
    lockwarp_context* engine = nullptr;
    std::atomic<uint64_t> next_id{1};

    std::mutex primary_mutex;
    std::shared_ptr<Context> primary;
    unsigned primary_count = 0;
    unsigned primary_flags = 0;

    Handles<Context> contexts;
    Handles<Module> modules;
    Handles<Function> functions;
    Handles<Library> libraries;
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Link> links;
    Handles<Pool> pools;
    Handles<Graph> graphs;
    Handles<GraphNode> nodes;
    Handles<GraphExec> execs;
    Pool* default_pool = nullptr;
    std::atomic<Pool*> current_pool{nullptr};
};

Driver& driver();
// After cuInit, else a Failure.
Driver& ready();
// The thread's stack of contexts.
std::vector<std::shared_ptr<Context>>& context_stack();
// The thread's current context; a Failure where there is none, it is destroyed, or a kernel of it
// failed.
std::shared_ptr<Context> current();
// The same without looking at kernels' errors, for what ends things.
std::shared_ptr<Context> current_in_error();
std::shared_ptr<Context> new_context(unsigned flags, unsigned version);
// Ends it with all that it has.
void destroy(const std::shared_ptr<Context>& context);
// Prints what kernels printed, and gives the error of one that failed.
void synchronize(Context& context);

// nullptr and the two numbers that stand for default streams are streams too.
void check_stream(const Stream* stream);
void check_device(DeviceId device);

// A module of PTX, a fat binary or, refused, machine code. `log` is given what is wrong.
std::shared_ptr<Module> load_module(const std::shared_ptr<Context>& context, const void* image,
                                    std::string* log);
// The module's function of that name, always the same handle.
Function* function_of(const std::shared_ptr<Module>& module, const char* name);
void unload(const std::shared_ptr<Module>& module);

struct LaunchShape {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared = 0;
    bool cooperative = false;
};
// The bytes of the parameter space, from one of the two ways to give them.
std::vector<uint8_t> parameters_of(const Function& function, void** parameters, void** extra);
// Runs it; what it does wrong stays in the context.
void launch(const Function& function, const LaunchShape& shape,
            const std::vector<uint8_t>& parameters);
// Registers of a thread as the model of cycles estimates them.
uint32_t registers_of(Function& function);

}  // namespace lockwarp::cuda
