// SPDX-License-Identifier: Apache-2.0
#include "cuda/aside.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <set>
#include <thread>
#include <utility>

#include "cuda/stream_memory.hpp"

namespace lockwarp::cuda {

namespace {

using namespace std::chrono_literals;

// Between two looks at whether what is waited for has come.
constexpr auto shortest_pause = 20us, longest_pause = 1000us;
// After which whoever began such work goes on though it does not wait.
constexpr auto longest_attended = 50ms;

// Threads for such work: they stay, for to wake one costs less than to make one. A child of fork()
// does not have its parent's.
class Threads {
  public:
    void begin(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        if (owner_ != ::getpid()) idle_ = 0;
        owner_ = ::getpid();
        work_.push_back(std::move(work));
        if (idle_ < work_.size()) {
            ++idle_;
            std::thread([this] { serve(); }).detach();
        }
        begun_.notify_one();
    }

  private:
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            begun_.wait(lock, [this] { return !work_.empty(); });
            const std::function<void()> work = std::move(work_.front());
            work_.pop_front();
            --idle_;
            lock.unlock();
            work();
            lock.lock();
            ++idle_;
        }
    }

    std::mutex mutex_;
    std::condition_variable begun_;
    std::deque<std::function<void()>> work_;
    size_t idle_ = 0;
    pid_t owner_ = ::getpid();
};

struct State {
    Threads threads;
    std::chrono::duration<double> patience{5};
    std::atomic<unsigned> awaiting{0};
    lockwarp_stop ends;
    std::mutex mutex;  // of what follows
    std::set<const Doing*> doing;
};

State& state() {
    static State* const only = [] {
        auto* const made = new State;
        if (const char* const seconds = std::getenv("LOCKWARP_EXEC_PATIENCE"))
            if (*seconds != 0) made->patience = std::chrono::duration<double>(std::atof(seconds));
        return made;
    }();
    return *only;
}

thread_local Aside* of_this_thread = nullptr;

// Whether somebody may still do what others wait for: a look at memory is over sooner.
bool is_anybody_busy() {
    State& s = state();
    const auto least =
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(s.patience / 2);
    const std::lock_guard lock(s.mutex);
    return std::ranges::any_of(s.doing, [&](const Doing* d) { return d->is_busy(least); });
}

}  // namespace

Doing::Doing() {
    goes_on();
    State& s = state();
    {
        const std::lock_guard lock(s.mutex);
        s.doing.insert(this);
    }
    if (of_this_thread != nullptr) of_this_thread->doing_ = this;
}

Doing::~Doing() {
    if (of_this_thread != nullptr) of_this_thread->doing_ = nullptr;
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.doing.erase(this);
}

void Doing::waits() { since_ = Since::max(); }

void Doing::goes_on() { since_ = std::chrono::steady_clock::now().time_since_epoch(); }

bool Doing::is_busy(std::chrono::steady_clock::duration least) const {
    const Since since = since_;
    return since != Since::max() &&
           std::chrono::steady_clock::now().time_since_epoch() - since > least;
}

bool may_wait(const Work& work) {
    if (const auto* const k = std::get_if<KernelWork>(&work)) return k->function->may_wait;
    if (const auto* const m = std::get_if<MemoryWork>(&work)) return waits(*m);
    const auto any = [](Graph& graph) {
        const std::lock_guard lock(graph.mutex);
        return std::ranges::any_of(graph.nodes, [](const auto& n) { return may_wait(n->work); });
    };
    if (const auto* const c = std::get_if<ChildWork>(&work)) return any(*c->graph);
    if (const auto* const c = std::get_if<ConditionalWork>(&work))
        return std::ranges::any_of(c->bodies, [&](const auto& body) { return any(*body); });
    return false;
}

bool may_wait(GraphExec& exec) {
    const std::lock_guard lock(exec.mutex);
    return std::ranges::any_of(exec.steps, [](const auto& s) { return may_wait(s.work); });
}

Aside* Aside::of_thread() { return of_this_thread; }

lockwarp_stop& Aside::stop() { return state().ends; }

std::optional<Result> Aside::run(std::function<Result()> work, std::function<void(Result)> end) {
    state().threads.begin(
        [self = shared_from_this(), work = std::move(work), end = std::move(end)] {
            of_this_thread = self.get();
            const Result result = work();
            of_this_thread = nullptr;
            {
                const std::lock_guard lock(self->mutex_);
                if (!self->is_left_) {
                    self->result_ = result;
                    self->changed_.notify_all();
                    return;
                }
            }
            end(result);
        });
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return is_left_ || result_; };
    if (!changed_.wait_for(lock, longest_attended, is_over)) is_left_ = true;
    return result_;
}

bool Aside::may_change(uint64_t progress) {
    std::unique_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (progress_ != progress) {
        progress_ = progress;
        since_ = now;
        pause_ = shortest_pause;
    }
    is_left_ = true;
    changed_.notify_all();
    if (doing_ != nullptr) doing_->waits();
    if (state().awaiting == 0 || is_anybody_busy()) since_ = now;
    if (state().ends.wanted || now - since_ > state().patience) return false;
    const auto pause = std::exchange(pause_, std::min(2 * pause_, longest_pause));
    lock.unlock();
    std::this_thread::sleep_for(pause);
    if (doing_ != nullptr) doing_->goes_on();
    return true;
}

Awaiting::Awaiting() { ++state().awaiting; }
Awaiting::~Awaiting() { --state().awaiting; }

void end_waits() { state().ends.wanted = true; }

}  // namespace lockwarp::cuda
