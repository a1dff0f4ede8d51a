// SPDX-License-Identifier: Apache-2.0
#include "cuda/order.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <utility>

#include "cuda/copy.hpp"
#include "cuda/memory.hpp"
#include "cuda/watch.hpp"

namespace lockwarp::cuda {

namespace {

// Which stream: of default streams the context, and for those of threads the thread.
struct Lane {
    const Context* context;
    uint64_t stream;  // Stream::id; of a default stream, legacy or a thread's number
    bool waits_for_legacy;
    auto operator<=>(const Lane&) const = default;
};
constexpr uint64_t legacy = 0;

struct Item {
    Lane lane;
    std::shared_ptr<Context> context;
    std::vector<uint64_t> after;
    Work work;
    uint64_t early = 0;  // work that it may begin before; 0: none
    bool is_running = false;
};

struct Orders {
    std::optional<uint64_t> seed;
    std::mutex mutex;  // of what follows
    std::condition_variable ended;
    uint64_t random = 0;
    uint64_t last = 0;
    std::map<uint64_t, Item> items;  // that are to be done, by their numbers
};

// Work that runs may ask for more, and must not wait for itself.
thread_local unsigned running = 0;
// Item::early of what begins on this thread.
thread_local uint64_t early_of_next = 0;

Orders& orders() {
    static Orders* const only = [] {
        auto* const made = new Orders;
        if (const char* const seed = std::getenv("LOCKWARP_EXEC_ORDER"))
            if (*seed != 0) made->seed = std::strtoull(seed, nullptr, 0);
        made->random = made->seed.value_or(0);
        return made;
    }();
    return *only;
}

// SplitMix64.
uint64_t next(Orders& o) {
    uint64_t z = o.random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Lane lane_of(Stream* stream, const Context& context) {
    constexpr uintptr_t per_thread = 2;
    static std::atomic<uint64_t> threads{0};
    thread_local const uint64_t thread = ++threads;
    const auto number = reinterpret_cast<uintptr_t>(stream);
    // Streams have ids of their own, and those of threads are odd ones beside them.
    if (number == per_thread) return {&context, 2 * thread + 1, true};
    if (number < per_thread) return {&context, legacy, false};
    const std::shared_ptr<Stream> s = driver().streams.get(stream);
    const std::shared_ptr<Context> own = s->context.lock();
    return {own.get(), 2 * s->id, (s->flags & 1) == 0};
}

bool is_legacy(const Lane& lane) { return lane.stream == legacy; }

// Whether `later`, asked for after `earlier`, must wait for it.
bool waits(const Lane& later, const Lane& earlier) {
    if (later == earlier) return true;
    if (later.context != earlier.context) return false;
    return (is_legacy(later) && earlier.waits_for_legacy) ||
           (is_legacy(earlier) && later.waits_for_legacy);
}

// What a wait for the one stream waits for of the other.
bool belongs(const Lane& to, const Lane& lane) {
    return lane == to || (is_legacy(to) && lane.context == to.context && lane.waits_for_legacy);
}

bool is_ready(const Orders& o, const Item& item) {
    return !item.is_running &&
           std::ranges::none_of(item.after, [&](uint64_t n) { return o.items.contains(n); });
}

// What must be done before `number` has been, and that itself.
std::vector<uint64_t> needed_for(const Orders& o, uint64_t number) {
    std::vector<uint64_t> out{number};
    for (size_t i = 0; i < out.size(); ++i) {
        const auto found = o.items.find(out[i]);
        if (found == o.items.end()) continue;
        for (const uint64_t n : found->second.after)
            if (o.items.contains(n) && std::ranges::find(out, n) == out.end()) out.push_back(n);
    }
    return out;
}

std::vector<uint64_t> ready_of(const Orders& o, std::vector<uint64_t> numbers) {
    std::erase_if(numbers, [&](uint64_t n) {
        const auto found = o.items.find(n);
        return found == o.items.end() || !is_ready(o, found->second);
    });
    return numbers;
}

std::vector<uint64_t> all_of(const Orders& o) {
    std::vector<uint64_t> out;
    for (const auto& [number, item] : o.items) out.push_back(number);
    return out;
}

// Work runs in that context while the object lives.
class Under {
  public:
    explicit Under(const std::shared_ptr<Context>& context) : within_(context) { ++running; }
    ~Under() { --running; }
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;

  private:
    Within within_;
};

// What goes wrong is the context's error, for the call is over that asked for the work.
void run_in(const std::shared_ptr<Context>& context, const Work& work) {
    if (context->error != success || context->destroyed) return;
    const Under under(context);
    const Result result = answer([&] { run(work); });
    Result none = success;
    if (result != success) context->error.compare_exchange_strong(none, result);
}

// What is wrong with work that is put off comes to light when it is asked for.
void check_work(const Work& work) {
    if (const auto* const k = std::get_if<KernelWork>(&work)) check_shape(*k->function, k->shape);
    if (const auto* const c = std::get_if<Copy3D>(&work)) check_copy(*c);
    if (const auto* const n = std::get_if<MemsetNode>(&work)) check_fill(*n);
}

bool is_pageable(MemoryType type, const void* host, Address unified_address) {
    if (type == device_memory) return false;
    const Address a = type == host_memory ? reinterpret_cast<Address>(host) : unified_address;
    return !allocation_at(a).has_value();
}

// Copies of memory that the driver does not know are over when the call is, as with the real one.
bool touches_pageable(const Work& work) {
    const auto* const c = std::get_if<Copy3D>(&work);
    return c != nullptr && (is_pageable(c->source_type, c->source_host, c->source_device) ||
                            is_pageable(c->target_type, c->target_host, c->target_device));
}

// Does that work; the lock is not held meanwhile.
void run_item(Orders& o, std::unique_lock<std::mutex>& lock, uint64_t number) {
    Item& item = o.items.at(number);
    item.is_running = true;
    lock.unlock();
    early_of_next = item.early;
    run_in(item.context, item.work);
    early_of_next = 0;
    lock.lock();
    o.items.erase(number);
    o.ended.notify_all();
}

// One that the seed chooses of those that are ready. false: there is none.
bool run_one(Orders& o, std::unique_lock<std::mutex>& lock, const std::vector<uint64_t>& of) {
    const std::vector<uint64_t> ready = ready_of(o, of);
    if (ready.empty()) return false;
    run_item(o, lock, ready[next(o) % ready.size()]);
    return true;
}

// As long as one of these is to be done. Others may be done first, where the seed says so.
template <class Remaining>
void run_until(Remaining remaining) {
    if (running != 0) return;
    Orders& o = orders();
    std::unique_lock lock(o.mutex);
    for (;;) {
        const std::vector<uint64_t> wanted = remaining(o);
        if (wanted.empty()) return;
        if (next(o) % 4 == 0 && run_one(o, lock, all_of(o))) continue;
        if (!run_one(o, lock, needed_for(o, wanted[next(o) % wanted.size()]))) o.ended.wait(lock);
    }
}

template <class Is>
void finish_where(Is is) {
    run_until([is](const Orders& o) {
        std::vector<uint64_t> out;
        for (const auto& [number, item] : o.items)
            if (is(item)) out.push_back(number);
        return out;
    });
}

// The launch that this, asked for now, may begin before; 0: none.
uint64_t early(const Orders& o, const Item& item) {
    const auto* const own = std::get_if<KernelWork>(&item.work);
    // A launch file says what a launch made of the memory that it began with, alone.
    if (own == nullptr || !own->shape.programmatic || is_recorded()) return 0;
    const auto last =
        std::ranges::find_if(o.items.rbegin(), o.items.rend(),
                             [&](const auto& other) { return other.second.lane == item.lane; });
    return last != o.items.rend() && std::holds_alternative<KernelWork>(last->second.work)
               ? last->first
               : 0;
}

// Until it has been done, here or by the thread that does it.
void finish_one(uint64_t number) {
    Orders& o = orders();
    std::unique_lock lock(o.mutex);
    for (;;) {
        const auto found = o.items.find(number);
        if (found == o.items.end()) return;
        // What it comes after has been done: the launch that began before it came after that too.
        if (!found->second.is_running) return run_item(o, lock, number);
        o.ended.wait(lock);
    }
}

}  // namespace

bool is_put_off() { return orders().seed.has_value(); }

uint64_t put_off(Stream* stream, Work work, uint64_t after) {
    const std::shared_ptr<Context> context = current();
    Item item{lane_of(stream, *context), context, {}, std::move(work)};
    if (running != 0) {  // within work that runs: at once, as part of it
        run(item.work);
        return 0;
    }
    Orders& o = orders();
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(finish_all); });
    std::unique_lock lock(o.mutex);
    item.early = early(o, item);
    for (const auto& [number, earlier] : o.items)
        if (number != item.early && (number == after || waits(item.lane, earlier.lane)))
            item.after.push_back(number);
    const uint64_t number = ++o.last;
    o.items.emplace(number, std::move(item));
    // By the seed some work is done at once, much or none of it.
    const uint64_t eager = *o.seed % 4;
    if (next(o) % 4 < eager) run_one(o, lock, all_of(o));
    return number;
}

bool is_pending(uint64_t number) {
    Orders& o = orders();
    const std::lock_guard lock(o.mutex);
    return o.items.contains(number);
}

void finish(uint64_t number) {
    run_until([number](const Orders& o) {
        return o.items.contains(number) ? std::vector{number} : std::vector<uint64_t>{};
    });
}

void finish_stream(Stream* stream) {
    if (!is_put_off()) return;
    const Lane lane = lane_of(stream, *current_in_error());
    finish_where([lane](const Item& item) { return belongs(lane, item.lane); });
}

bool stream_is_pending(Stream* stream) {
    const Lane lane = lane_of(stream, *current_in_error());
    Orders& o = orders();
    const std::lock_guard lock(o.mutex);
    return std::ranges::any_of(o.items,
                               [&](const auto& item) { return belongs(lane, item.second.lane); });
}

void finish_context(const Context& context) {
    if (!is_put_off()) return;
    const Context* const which = &context;
    finish_where([which](const Item& item) { return item.context.get() == which; });
}

void finish_all() {
    if (!is_put_off()) return;
    finish_where([](const Item&) { return true; });
}

void look() {
    Orders& o = orders();
    std::unique_lock lock(o.mutex);
    if (running == 0) run_one(o, lock, all_of(o));
}

std::function<void()> take_what_is_before() {
    const uint64_t number = std::exchange(early_of_next, 0);
    if (number == 0) return {};
    return [number] { finish_one(number); };
}

void perform(Stream* stream, Work work) {
    if (!is_put_off()) return run(work);
    check_work(work);
    const bool is_awaited = touches_pageable(work);
    const uint64_t number = put_off(stream, std::move(work));
    if (is_awaited) finish(number);
}

}  // namespace lockwarp::cuda
