// SPDX-License-Identifier: Apache-2.0
#include "cuda/state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/array.hpp"
#include "cuda/graph.hpp"
#include "cuda/link.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"

namespace lockwarp::cuda {

namespace {

constexpr isa::Arch usual_arch = isa::Arch::sm_80;
constexpr size_t default_heap = size_t{8} << 20;
constexpr size_t default_printf = size_t{1} << 20;
constexpr size_t default_stack = 1024;

struct LimitDefault {
    size_t limit;
    size_t value;
};
constexpr std::array limit_defaults{LimitDefault{stack_size, default_stack},
                                    LimitDefault{1, default_printf},
                                    LimitDefault{malloc_heap, default_heap},
                                    LimitDefault{sync_depth, 2},
                                    LimitDefault{4, 2048},
                                    LimitDefault{5, 64}};

}  // namespace

void say(std::string_view text) noexcept {
    try {
        const std::string line = "lockwarp: " + std::string(text) + "\n";
        if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
    } catch (...) {  // no memory: nothing can be said
    }
}

Driver::Driver() : arch(usual_arch) {
    if (const char* const name = std::getenv("LOCKWARP_ARCH"); name != nullptr && *name != 0) {
        if (const std::optional<isa::Arch> found = isa::arch_named(name))
            arch = *found;
        else
            wrong = "LOCKWARP_ARCH=" + std::string(name) + " names no architecture";
    }
    if (const char* const set = std::getenv("CUDA_LAUNCH_BLOCKING"))
        blocking = std::strcmp(set, "1") == 0;
    if (const char* const set = std::getenv("LOCKWARP_EXEC_ASYNC"))
        late = std::strcmp(set, "late") == 0;
    product = &product_of(arch);
    long count = 1;
    if (const char* const set = std::getenv("LOCKWARP_DEVICES"); set != nullptr && *set != 0) {
        char* end = nullptr;
        count = std::strtol(set, &end, 10);
        if (*end != 0 || count < 1 || count > max_devices) {
            wrong = "LOCKWARP_DEVICES=" + std::string(set) + " is not 1 to " +
                    std::to_string(max_devices);
            count = 1;
        }
    }
    while (devices.size() < static_cast<size_t>(count)) add_device();
}

void Driver::add_device() {
    auto device = std::make_unique<Device>();
    lockwarp_context_options options{};
    options.struct_size = sizeof options;
    options.arch = isa::row(arch).name.data();  // a literal
    lockwarp_error* error = nullptr;
    if (lockwarp_context_create(&options, &device->engine, &error) != LOCKWARP_OK && wrong.empty())
        wrong = error != nullptr ? lockwarp_error_message(error) : "no memory";
    lockwarp_error_destroy(error);
    const auto id = static_cast<DeviceId>(devices.size());
    device->default_pool =
        pools.add(std::make_shared<Pool>(Location{on_device, id}, pinned_memory, bit_of(id)));
    device->current_pool = device->default_pool;
    devices.push_back(std::move(device));
}

Driver& driver() {
    static Driver* const only = new Driver;
    return *only;
}

Driver& ready() {
    Driver& d = driver();
    require(d.initialized, not_initialized);
    return d;
}

// Destructors of static objects call the driver after those of the thread's own have run.
std::vector<std::shared_ptr<Context>>& context_stack() {
    using Contexts = std::vector<std::shared_ptr<Context>>;
    static thread_local bool ended = false;
    struct Stack {
        Contexts contexts;
        ~Stack() { ended = true; }
    };
    if (ended) {
        static thread_local Contexts* const late = new Contexts;
        return *late;
    }
    static thread_local Stack stack;
    return stack.contexts;
}

std::shared_ptr<Context> current_or_destroyed() {
    ready();
    std::vector<std::shared_ptr<Context>>& stack = context_stack();
    require(!stack.empty() && stack.back() != nullptr, invalid_context);
    return stack.back();
}

std::shared_ptr<Context> current_in_error() {
    std::shared_ptr<Context> context = current_or_destroyed();
    require(!context->destroyed, context_is_destroyed);
    return context;
}

std::shared_ptr<Context> current() {
    std::shared_ptr<Context> context = current_in_error();
    if (const Result error = context->error; error != success) fail(error);
    return context;
}

std::shared_ptr<Context> new_context(DeviceId device, unsigned flags, unsigned version) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->flags = flags;
    context->version = version;
    context->id = driver().next_id++;
    for (const LimitDefault& l : limit_defaults) context->limits[l.limit] = l.value;
    driver().contexts.add(context);
    return context;
}

void destroy(const std::shared_ptr<Context>& context) {
    finish_context(*context);
    Driver& d = driver();
    const auto is_its = [&](const auto& object) { return object.context.lock() == context; };
    d.functions.erase_if([&](const Function& f) {
        const std::shared_ptr<Module> module = f.module.lock();
        return module == nullptr || module->context.lock() == context;
    });
    d.modules.erase_if(is_its);
    d.streams.erase_if(is_its);
    d.events.erase_if(is_its);
    d.arrays.erase_if(is_its);
    forget_objects(*context);
    release_all(*context);
    if (context->primary) end_peer_access(context->device);
    {
        const std::lock_guard lock(context->mutex);
        context->heap = nullptr;
        context->rows = nullptr;
    }
    context->destroyed = true;
    if (context->primary) return;  // its handle stays, for when it is retained again
    d.contexts.erase_if([&](const Context& c) { return &c == context.get(); });
}

void synchronize(Context& context) {
    std::string text;
    {
        const std::lock_guard lock(context.mutex);
        text.swap(context.printed);
    }
    if (!text.empty()) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    if (const Result error = context.error; error != success) fail(error);
}

bool is_default(const Stream* stream) {
    constexpr uintptr_t per_thread = 2;  // CU_STREAM_PER_THREAD; 1 is CU_STREAM_LEGACY
    return reinterpret_cast<uintptr_t>(stream) <= per_thread;
}

namespace {

bool is_some_current() {
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    return !stack.empty() && stack.back() != nullptr;
}

}  // namespace

StandIn::StandIn(const Stream* stream) {
    if (is_some_current() || is_default(stream)) return;
    within_.emplace(ready().streams.get(stream)->context.lock());
}

StandIn::StandIn(const Event* event) {
    if (is_some_current()) return;
    within_.emplace(ready().events.get(event)->context.lock());
}

StandIn::StandIn(const Module& module) {
    if (!is_some_current()) within_.emplace(module.context.lock());
}

void check_stream(const Stream* stream) {
    if (!is_default(stream)) driver().streams.get(stream);
}

std::shared_ptr<Context> context_of(const Stream* stream) {
    if (is_default(stream)) return current_in_error();
    std::shared_ptr<Context> context = driver().streams.get(stream)->context.lock();
    require(context != nullptr, invalid_handle);
    return context;
}

void set_fault(Result fault) {
    driver().contexts.each([fault](Context& c) {
        Result none = success;
        if (!c.destroyed) c.error.compare_exchange_strong(none, fault);
    });
}

Device& device_at(DeviceId device) {
    const Driver& d = ready();
    require(device >= 0 && static_cast<size_t>(device) < d.devices.size(), invalid_device);
    return *d.devices[static_cast<size_t>(device)];
}

void check_device(DeviceId device) { device_at(device); }

}  // namespace lockwarp::cuda
