// SPDX-License-Identifier: Apache-2.0
#include "gpu/child.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "gpu/child_process.hpp"

namespace lockwarp::gpu {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kept_text = 1u << 20;  // memory for text that is kept between runs
constexpr double answer_seconds = 120;    // every request but run(), and opening
constexpr double stop_ms = 100;           // between looks at ChildOptions::stop
constexpr auto at_once = milliseconds(0);
constexpr auto killed_end = milliseconds(30000);  // for the system to clear a killed process away

// True: the child is gone, and `status` says how; it stays where nobody knows.
bool reap(pid_t pid, milliseconds patience, int& status) {
    const auto end = Clock::now() + patience;
    auto pause = std::chrono::microseconds(100);
    for (;;) {
        // It waits for nothing, and so nothing interrupts it.
        if (waitpid(pid, &status, WNOHANG) != 0) return true;
        if (Clock::now() >= end) return false;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(10000));
    }
}

// -1 is neither a signal's nor an exit's.
std::string words_of(int status) {
    if (WIFSIGNALED(status)) {
        const char* const words = sigdescr_np(WTERMSIG(status));
        return words != nullptr ? words : "signal " + std::to_string(WTERMSIG(status));
    }
    if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
    return "nobody knows why";
}

std::string seconds_text(double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g s", seconds);
    return text.data();
}

class ChildEngine : public Engine {
  public:
    ChildEngine(Opener open, const ChildOptions& options)
        : open_(std::move(open)),
          limit_(options.limit_seconds),
          compile_limit_(options.compile_seconds),
          stop_(options.stop) {}
    ChildEngine(const ChildEngine&) = delete;
    ChildEngine& operator=(const ChildEngine&) = delete;
    ~ChildEngine() override { end(orderly_end); }

    // Starts the child, where there is none.
    launch::Result<void> start() {
        if (pid_ > 0) return {};
        std::array<int, 2> ends{};
        bytes_ = {memfd_create("lockwarp-bytes", MFD_CLOEXEC), 2 * piece_bytes};
        text_ = {memfd_create("lockwarp-text", MFD_CLOEXEC), max_text};
        if (std::min(bytes_.fd, text_.fd) < 0 || !map(bytes_) || !map(text_) ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
            return failed_start(errno);
        socket_ = ends[0];
        pid_ = fork();
        if (pid_ == 0) live(open_, ends[1], bytes_, text_);
        const int error = errno;
        close(ends[1]);
        if (pid_ < 0) return failed_start(error);

        Reply hello;
        if (launch::Result<void> ok = hear(hello, answer_seconds); !ok) return ok;
        if (launch::Result<void> ok = result_of(hello); !ok) {
            end(orderly_end);
            return ok;
        }
        // Its first child's for good: device() gives a reference.
        if (device_.name.empty())
            device_ = {.name = text_at(0, hello.text[0]),
                       .driver = text_at(hello.text[0], hello.text[1]),
                       .number = hello.number,
                       .clock_mhz = hello.clock_mhz,
                       .memory = hello.memory};
        return {};
    }

    const Device& device() const override { return device_; }

    uint64_t allocate(uint64_t bytes) override {
        if (!start()) return 0;
        Reply reply;
        post({.ask = Ask::allocate, .bytes = bytes});
        if (!hear(reply, answer_seconds)) return 0;
        if (reply.address != 0) live_[reply.address] = bytes;
        return reply.address;
    }

    bool allocate_at(uint64_t address, uint64_t bytes) override {
        if (!start()) return false;
        Reply reply;
        post({.ask = Ask::allocate_at, .address = address, .bytes = bytes});
        if (!hear(reply, answer_seconds) || reply.address != address) return false;
        live_[address] = bytes;
        return true;
    }

    void release(uint64_t address) override {
        if (live_.erase(address) == 0) return;
        Reply reply;
        post({.ask = Ask::release, .address = address});
        (void)hear(reply, answer_seconds);  // a child that is gone holds nothing
    }

    // While the child works on one piece, this process copies the other.
    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
        if (launch::Result<void> ok = check(address, bytes.size()); !ok) return ok;
        if (launch::Result<void> ok = grow_bytes(bytes.size()); !ok) return ok;
        for (uint64_t at = 0; at < bytes.size(); at += piece_bytes) {
            const uint64_t n = std::min(piece_bytes, bytes.size() - at);
            std::memcpy(bytes_.base + place(at), bytes.data() + at, n);
            if (at != 0)
                if (launch::Result<void> ok = heard_result(); !ok) return ok;
            post({.ask = Ask::write, .address = address + at, .bytes = n, .at = place(at)});
        }
        if (bytes.empty()) return {};
        return heard_result();
    }

    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        if (launch::Result<void> ok = check(address, bytes); !ok) return ok;
        post({.ask = Ask::clear, .address = address, .bytes = bytes});
        return heard_result();
    }

    launch::Result<std::vector<uint8_t>> encode(const isa::TensorMap& map) override {
        static_assert(std::is_trivially_copyable_v<isa::TensorMap>);
        if (launch::Result<void> ok = start(); !ok) return launch::failure(ok);
        if (launch::Result<void> ok = grow_bytes(sizeof map); !ok) return launch::failure(ok);
        std::memcpy(bytes_.base, &map, sizeof map);
        post({.ask = Ask::encode});
        Reply reply;
        if (launch::Result<void> ok = hear(reply, answer_seconds); !ok) return launch::failure(ok);
        if (launch::Result<void> ok = result_of(reply); !ok) return launch::failure(ok);
        if (reply.address != 0 && reply.address != isa::tensor_map_bytes)
            return launch::failure("the engine's process gives a tensor map of another size");
        return std::vector<uint8_t>(bytes_.base, bytes_.base + reply.address);
    }

    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        if (launch::Result<void> ok = check(address, bytes.size()); !ok) return ok;
        if (launch::Result<void> ok = grow_bytes(bytes.size()); !ok) return ok;
        const auto piece_at = [&](uint64_t at) { return std::min(piece_bytes, bytes.size() - at); };
        const auto ask = [&](uint64_t at) {
            post({.ask = Ask::read,
                  .address = address + at,
                  .bytes = piece_at(at),
                  .at = place(at)});
        };
        if (!bytes.empty()) ask(0);
        for (uint64_t at = 0; at < bytes.size(); at += piece_bytes) {
            if (launch::Result<void> ok = heard_result(); !ok) return ok;
            if (at + piece_bytes < bytes.size()) ask(at + piece_bytes);
            std::memcpy(bytes.data() + at, bytes_.base + place(at), piece_at(at));
        }
        return {};
    }

    Ran compile(const Job& job) override {
        if (launch::Result<void> ok = put_text(job); !ok)
            return {Outcome::refused, ok.error().sentence};
        return ask(job, Ask::compile);
    }

    Ran run(const Job& job) override {
        if (launch::Result<void> ok = put_text(job); !ok)
            return {Outcome::refused, ok.error().sentence};
        const Ran compiled = ask(job, Ask::compile);
        const Ran ran = compiled.outcome == Outcome::done ? ask(job, Ask::run) : compiled;
        // It fails for no file of this kind.
        if (size_of(text_) > kept_text) [[maybe_unused]]
            const int cut = ftruncate(text_.fd, kept_text);
        return ran;
    }

  private:
    static std::array<uint64_t, 3> text_bytes(const Job& job) {
        return {job.ptx.size(), job.entry.size(), job.parameters.size()};
    }

    launch::Result<void> put_text(const Job& job) {
        if (launch::Result<void> ok = start(); !ok) return ok;
        const std::array<uint64_t, 3> text = text_bytes(job);
        if (launch::Result<void> ok =
                grow(text_, std::accumulate(text.begin(), text.end(), uint64_t{}));
            !ok)
            return ok;
        std::ranges::copy(job.ptx, text_.base);
        std::ranges::copy(job.entry, text_.base + text[0]);
        std::ranges::copy(job.parameters, text_.base + text[0] + text[1]);
        return {};
    }

    // compile() or run() of the child, whose text is there.
    Ran ask(const Job& job, Ask what) {
        const bool runs = what == Ask::run;
        post({.ask = what,
              .grid = job.grid,
              .block = job.block,
              .dynamic_shared = job.dynamic_shared,
              .optimization = job.optimization,
              .stack_bytes = job.stack_bytes,
              .fresh = job.fresh,
              .cluster = job.cluster,
              .non_portable_cluster = job.non_portable_cluster,
              .cooperative = job.cooperative,
              .text = text_bytes(job)});
        Reply reply;
        bool late = false;
        const double limit = runs ? limit_ : compile_limit_;
        if (launch::Result<void> ok = hear(reply, limit, &late); !ok) {
            const Outcome outcome = !runs  ? Outcome::uncompiled
                                    : late ? Outcome::hung
                                           : Outcome::faulted;
            if (late)
                return {outcome, stopped() ? "stopped"
                                 : runs    ? "no end after " + seconds_text(limit)
                                           : "not compiled after " + seconds_text(limit)};
            const std::string& why = ok.error().sentence;
            return {outcome, runs ? why : "compiling it: " + why,
                    runs ? Fault::launch_failed : Fault::none};
        }
        const Ran ran{static_cast<Outcome>(reply.outcome), text_at(0, reply.text[0]),
                      static_cast<Fault>(reply.fault)};
        if (ran.outcome == Outcome::faulted || ran.outcome == Outcome::hung) end(at_once);
        return ran;
    }

    bool stopped() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

    static uint64_t place(uint64_t at) { return at / piece_bytes % 2 * piece_bytes; }

    launch::Result<void> grow_bytes(uint64_t bytes) {
        return grow(bytes_, std::min(bytes, 2 * piece_bytes));
    }

    launch::Result<void> failed_start(int error) {
        end(at_once);
        return launch::failure(std::string("no process for the engine: ") + std::strerror(error));
    }

    // An error unless all of it lies in one allocation of the present child.
    launch::Result<void> check(uint64_t address, uint64_t bytes) const {
        auto found = live_.upper_bound(address);
        if (found != live_.begin()) {
            --found;
            const uint64_t offset = address - found->first;
            if (offset <= found->second && bytes <= found->second - offset) return {};
        }
        std::array<char, 32> hex{};
        std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(address));
        return launch::failure(std::to_string(bytes) + " bytes at " + hex.data() +
                               " are not memory that the engine's process has");
    }

    std::string text_at(uint64_t at, uint64_t bytes) const {
        const uint64_t size = size_of(text_);
        if (at > size || bytes > size - at) return {};
        return {reinterpret_cast<const char*>(text_.base) + at, bytes};
    }

    launch::Result<void> result_of(const Reply& reply) const {
        if (reply.failed == 0) return {};
        const std::string why = text_at(0, reply.text[0]);
        return launch::failure(why.empty() ? "the engine's process does not say why" : why);
    }

    // Where it cannot be sent the child is gone, which hear() finds.
    void post(const Request& q) const {
        while (send(socket_, &q, sizeof q, MSG_NOSIGNAL) < 0 && errno == EINTR) {
        }
    }

    // Waits for the child's reply; seconds 0: for ever. Otherwise the child is ended, and the
    // error says what became of it; late: it had not answered in time.
    launch::Result<void> hear(Reply& reply, double seconds, bool* late = nullptr) {
        const auto begin = Clock::now();
        for (;;) {
            double wait_ms = 1e9;  // and then another time
            if (seconds > 0) {
                const double left =
                    seconds - std::chrono::duration<double>(Clock::now() - begin).count();
                // Rounded up, so that the last wait does not become many of nothing.
                wait_ms = std::clamp(left * 1000 + 1, 0.0, wait_ms);
            }
            // A wish to stop is looked for now and then.
            if (stop_ != nullptr) wait_ms = std::min(wait_ms, stop_ms);
            pollfd wait{socket_, POLLIN, 0};
            const int ready = poll(&wait, 1, static_cast<int>(wait_ms));
            if (ready < 0 && errno == EINTR) continue;
            if (ready == 0) {
                const bool out_of_time =
                    seconds > 0 && Clock::now() - begin >= std::chrono::duration<double>(seconds);
                if (!out_of_time && !(late != nullptr && stopped())) continue;
                if (late != nullptr) *late = true;
                end(at_once);
                return launch::failure("the process gave no answer in " + seconds_text(seconds));
            }
            // It is there, and so nothing interrupts it.
            const ssize_t got = recv(socket_, &reply, sizeof reply, 0);
            const bool sound = reply.outcome <= static_cast<uint8_t>(Outcome::uncompiled) &&
                               reply.fault <= static_cast<uint8_t>(Fault::launch_failed);
            if (got == sizeof reply && sound) return {};
            return launch::failure("the process died: " + words_of(end(orderly_end)));
        }
    }

    // A reply that is an error or nothing.
    launch::Result<void> heard_result() {
        Reply reply;
        if (launch::Result<void> ok = hear(reply, answer_seconds); !ok) return ok;
        return result_of(reply);
    }

    // Ends the child, if there is one: it is killed where it has not ended by itself with
    // `patience`. Gives its status, as waitpid does.
    int end(milliseconds patience) {
        int status = -1;
        if (socket_ >= 0) close(socket_);
        if (pid_ > 0 && !reap(pid_, patience, status)) {
            kill(pid_, SIGKILL);
            // A driver that cannot be interrupted may hold it for longer; then it is left.
            reap(pid_, killed_end, status);
        }
        unmap(bytes_);
        unmap(text_);
        live_.clear();
        socket_ = -1;
        pid_ = -1;
        return status;
    }

    const Opener open_;
    const double limit_;
    const double compile_limit_;
    const std::atomic<bool>* const stop_;
    Device device_;
    pid_t pid_ = -1;
    int socket_ = -1;
    Shared bytes_, text_;
    std::map<uint64_t, uint64_t> live_;  // the present child's: address to bytes
};

}  // namespace

std::unique_ptr<Engine> open_in_child(Opener open, const ChildOptions& options, std::string& why) {
    auto engine = std::make_unique<ChildEngine>(std::move(open), options);
    if (launch::Result<void> started = engine->start(); !started) {
        why = started.error().sentence;
        return nullptr;
    }
    return engine;
}

}  // namespace lockwarp::gpu
