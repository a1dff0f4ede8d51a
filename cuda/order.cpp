// SPDX-License-Identifier: Apache-2.0
#include "cuda/order.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <utility>

#include "cuda/aside.hpp"
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
    bool waits = false;  // as may_wait(work), and such a graph
    bool is_running = false;
};

struct Orders {
    std::optional<uint64_t> seed;
    pid_t owner = ::getpid();
    std::mutex mutex;  // of what follows
    std::condition_variable ended;
    uint64_t random = 0;
    uint64_t last = 0;
    std::map<uint64_t, Item> items;  // that are to be done, by their numbers
    std::atomic<size_t> count{0};    // of items, for who asks without the lock
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

Result run_in(const std::shared_ptr<Context>& context, const Work& work) {
    if (context->error != success || context->destroyed) return success;
    const Under under(context);
    const Doing doing;
    return answer([&] { run(work); });
}

// What goes wrong is the context's error where the call is over that asked for the work.
void keep_error(Context& context, Result result) {
    Result none = success;
    if (result != success) context.error.compare_exchange_strong(none, result);
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

void erase(Orders& o, uint64_t number) {
    o.items.erase(number);
    o.count = o.items.size();
    o.ended.notify_all();
}

void run_ready(Orders& o, std::unique_lock<std::mutex>& lock);

// Does that work; the lock is not held meanwhile. What came out; nullopt: it waits, and goes on
// aside. Behind it comes then, without a seed, what is ready.
std::optional<Result> do_item(Orders& o, std::unique_lock<std::mutex>& lock, uint64_t number) {
    // It stays where it is until it has been done.
    Item& item = o.items.at(number);
    item.is_running = true;
    lock.unlock();
    const auto work = [&item] {
        early_of_next = item.early;
        const Result result = run_in(item.context, item.work);
        early_of_next = 0;
        return result;
    };
    std::optional<Result> result;
    if (item.waits)
        result = std::make_shared<Aside>()->run(work, [&o, &item, number](Result late) {
            keep_error(*item.context, late);
            std::unique_lock own(o.mutex);
            erase(o, number);
            if (!o.seed) run_ready(o, own);
        });
    else
        result = work();
    lock.lock();
    if (result) erase(o, number);
    return result;
}

void run_item(Orders& o, std::unique_lock<std::mutex>& lock, uint64_t number) {
    const std::shared_ptr<Context> context = o.items.at(number).context;
    if (const auto result = do_item(o, lock, number)) keep_error(*context, *result);
}

// One that the seed chooses of those that are ready; the first where there is none. false: none is
// ready.
bool run_one(Orders& o, std::unique_lock<std::mutex>& lock, const std::vector<uint64_t>& of) {
    const std::vector<uint64_t> ready = ready_of(o, of);
    if (ready.empty()) return false;
    run_item(o, lock, ready[o.seed ? next(o) % ready.size() : 0]);
    return true;
}

void run_ready(Orders& o, std::unique_lock<std::mutex>& lock) {
    while (run_one(o, lock, all_of(o))) {
    }
}

void wait_for_others(Orders& o, std::unique_lock<std::mutex>& lock) {
    const Awaiting awaiting;
    o.ended.wait(lock);
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
        if (run_one(o, lock, needed_for(o, wanted[next(o) % wanted.size()]))) continue;
        // What is under way may wait for what is not.
        if (!run_one(o, lock, all_of(o))) wait_for_others(o, lock);
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

// What the program did not wait for is done; what waits for the program has waited in vain. A child
// of fork() has nothing to do, nor the threads for it.
void at_exit() {
    if (orders().owner != ::getpid()) return;
    if (!has_order()) end_waits();
    finish_all();
}

// Until it has been done, here or by the thread that does it.
void finish_one(uint64_t number) {
    Orders& o = orders();
    std::unique_lock lock(o.mutex);
    for (;;) {
        const auto found = o.items.find(number);
        if (found == o.items.end()) return;
        // What it comes after has been done: the launch that began before it came after that too.
        if (found->second.is_running)
            wait_for_others(o, lock);
        else
            run_item(o, lock, number);
    }
}

}  // namespace

bool has_order() { return orders().seed.has_value(); }

bool is_put_off() { return has_order() || orders().count != 0; }

uint64_t put_off(Stream* stream, Work work, uint64_t after, bool waits_itself) {
    const std::shared_ptr<Context> context = current();
    Item item{lane_of(stream, *context), context, {}, std::move(work)};
    item.waits = waits_itself || may_wait(item.work);
    if (running != 0) {  // within work that runs: at once, as part of it
        run(item.work);
        return 0;
    }
    Orders& o = orders();
    static std::once_flag once;
    std::call_once(once, [] { std::atexit(at_exit); });
    std::unique_lock lock(o.mutex);
    if (o.seed) item.early = early(o, item);
    for (const auto& [number, earlier] : o.items)
        if (number != item.early && (number == after || waits(item.lane, earlier.lane)))
            item.after.push_back(number);
    if (!o.seed && item.after.empty() && !item.waits) {
        lock.unlock();
        const Doing doing;
        run(item.work);
        return 0;
    }
    const uint64_t number = ++o.last;
    const bool begins = item.after.empty();
    o.items.emplace(number, std::move(item));
    o.count = o.items.size();
    if (!o.seed) {
        if (!begins) return number;
        const std::optional<Result> result = do_item(o, lock, number);
        if (!result) return number;
        run_ready(o, lock);
        lock.unlock();
        require(*result == success, *result);
        return 0;
    }
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
    const bool waits = may_wait(work);
    if (!is_put_off() && !waits) {
        const Doing doing;
        return run(work);
    }
    check_work(work);
    // A launch itself gives its error, as where it does not go on beside the program.
    const bool is_blocking = waits && driver().blocking && !has_order();
    const bool is_awaited = touches_pageable(work) || is_blocking;
    const uint64_t number = put_off(stream, std::move(work));
    if (is_awaited) finish(number);
    if (is_blocking) current();
}

}  // namespace lockwarp::cuda
