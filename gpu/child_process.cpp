// SPDX-License-Identifier: Apache-2.0
#include "gpu/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace lockwarp::gpu {

using std::chrono::milliseconds;

uint64_t size_of(const Shared& s) {
    struct stat status {};
    fstat(s.fd, &status);
    return static_cast<uint64_t>(status.st_size);
}

// Of no other child, and of no core file.
bool map(Shared& s) {
    void* const at =
        mmap(nullptr, s.most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s.fd, 0);
    if (at == MAP_FAILED) return false;
    madvise(at, s.most, MADV_DONTFORK);
    madvise(at, s.most, MADV_DONTDUMP);
    s.base = static_cast<uint8_t*>(at);
    return true;
}

// Touching a byte past the file's end would be a fatal signal, and so would touching one for which
// there is no memory: posix_fallocate answers for both.
launch::Result<void> grow(const Shared& s, uint64_t bytes) {
    if (bytes > s.most) return launch::failure(std::to_string(bytes) + " bytes are too many");
    // In steps, for a signal undoes the one that it interrupts.
    constexpr uint64_t step = 1u << 20;
    for (uint64_t size = size_of(s); size < bytes;) {
        const uint64_t n = std::min(step, bytes - size);
        const int error = posix_fallocate(s.fd, static_cast<off_t>(size), static_cast<off_t>(n));
        if (error == 0)
            size += n;
        else if (error != EINTR)
            return launch::failure("no " + std::to_string(bytes) +
                                   " bytes to share with the engine's process");
    }
    return {};
}

void unmap(Shared& s) {
    if (s.base != nullptr) munmap(s.base, s.most);
    if (s.fd >= 0) close(s.fd);
    s.base = nullptr;
    s.fd = -1;
}

namespace {

constexpr int child_socket = 3;
constexpr int child_bytes = 4;
constexpr int child_text = 5;

// The socket and the two shared files become 3, 4 and 5; everything else of the parent's is
// closed, its ends of other children's sockets above all: held open here, they would keep those
// children from seeing the parent's end.
bool keep_only(int socket, int bytes, int text) {
    std::array<int, 3> kept{socket, bytes, text};
    for (int& fd : kept) {
        fd = fcntl(fd, F_DUPFD, 16);
        if (fd < 0) return false;
    }
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) return false;
    for (size_t i = 0; i < kept.size(); ++i)
        if (dup3(kept[i], child_socket + static_cast<int>(i), O_CLOEXEC) < 0) return false;
    closefrom(child_text + 1);
    return true;
}

// Stacks of the parent's threads are the next ones that glibc gives to threads here, and where one
// was binding a symbol at the fork its mark stays: dlopen would wait for it to end. glibc lets all
// of them go when a stack comes back that is larger than what it keeps of them, 40 MiB.
// (Where there is no room for such a stack, they stay.)
void forget_stacks() {
    pthread_attr_t attributes;
    pthread_t thread{};
    if (pthread_attr_init(&attributes) != 0) return;
    if (pthread_attr_setstacksize(&attributes, size_t{64} << 20) == 0 &&
        pthread_create(
            &thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr) == 0)
        pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

// Ends this process when the parent is gone, in whatever the engine is then. (A signal at the
// parent's death, PR_SET_PDEATHSIG, would come when the thread that forked ends.)
void end_with_parent(const std::atomic<bool>& leaving) {
    pollfd wait{child_socket, POLLRDHUP, 0};
    while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
    std::this_thread::sleep_for(milliseconds(200));
    if (leaving) std::this_thread::sleep_for(orderly_end);
    kill(getpid(), SIGKILL);
}

class Server {
  public:
    explicit Server(const Opener& open)
        : bytes_{child_bytes, 2 * piece_bytes}, text_{child_text, max_text} {
        if (!map(bytes_) || !map(text_)) _exit(126);
        std::string why;
        engine_ = open(why);
        Reply hello;
        if (engine_ != nullptr) {
            const Device& device = engine_->device();
            hello.number = device.number;
            hello.clock_mhz = device.clock_mhz;
            hello.memory = device.memory;
            put(hello, device.name, device.driver);
        } else {
            hello.failed = true;
            put(hello, why);
        }
        send(child_socket, &hello, sizeof hello, MSG_NOSIGNAL);
    }

    // Until the parent closes its end.
    void serve() {
        Request q;
        while (engine_ != nullptr) {
            const ssize_t got = recv(child_socket, &q, sizeof q, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got != sizeof q) return;
            const Reply reply = answer(q);
            send(child_socket, &reply, sizeof reply, MSG_NOSIGNAL);
        }
    }

  private:
    void put(Reply& reply, const std::string& first, const std::string& second = {}) {
        if (!grow(text_, first.size() + second.size())) return;
        std::ranges::copy(first, text_.base);
        std::ranges::copy(second, text_.base + first.size());
        reply.text = {first.size(), second.size()};
    }

    void put_failure(Reply& reply, const launch::Result<void>& result) {
        reply.failed = !result;
        put(reply, result ? std::string() : result.error().sentence);
    }

    Reply answer(const Request& q) {
        Reply reply;
        switch (q.ask) {
            case Ask::allocate:
                reply.address = engine_->allocate(q.bytes);
                break;
            case Ask::allocate_at:
                if (engine_->allocate_at(q.address, q.bytes)) reply.address = q.address;
                break;
            case Ask::release:
                engine_->release(q.address);
                break;
            case Ask::write:
                put_failure(reply, engine_->write(q.address, {bytes_.base + q.at, q.bytes}));
                break;
            case Ask::clear:
                put_failure(reply, engine_->clear(q.address, q.bytes));
                break;
            case Ask::read:
                put_failure(reply, engine_->read(q.address, {bytes_.base + q.at, q.bytes}));
                break;
            case Ask::encode: {
                // The map lies in the shared bytes, and what it becomes too.
                isa::TensorMap map;
                std::memcpy(&map, bytes_.base, sizeof map);
                const launch::Result<std::vector<uint8_t>> encoded = engine_->encode(map);
                if (encoded) {
                    reply.address = encoded->size();
                    std::ranges::copy(*encoded, bytes_.base);
                } else {
                    put_failure(reply, launch::failure(encoded.error().sentence));
                }
                break;
            }
            case Ask::compile:
            case Ask::run: {
                const char* const text = reinterpret_cast<const char*>(text_.base);
                const uint8_t* const parameters = text_.base + q.text[0] + q.text[1];
                const Job job{.ptx = {text, q.text[0]},
                              .entry = {text + q.text[0], q.text[1]},
                              .grid = q.grid,
                              .block = q.block,
                              .dynamic_shared = q.dynamic_shared,
                              .parameters = {parameters, parameters + q.text[2]},
                              .optimization = q.optimization,
                              .stack_bytes = q.stack_bytes,
                              .fresh = q.fresh,
                              .cluster = q.cluster,
                              .non_portable_cluster = q.non_portable_cluster,
                              .cooperative = q.cooperative};
                const Ran ran = q.ask == Ask::run ? engine_->run(job) : engine_->compile(job);
                reply.outcome = static_cast<uint8_t>(ran.outcome);
                reply.fault = static_cast<uint8_t>(ran.fault);
                put(reply, ran.what);
                break;
            }
        }
        return reply;
    }

    Shared bytes_, text_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace

// It leaves through _exit, so that nothing of the parent's runs here; for
// the same reason no exception may pass: it would unwind into the parent's callers.
void live(const Opener& open, int socket, const Shared& bytes, const Shared& text) noexcept {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    if (!keep_only(socket, bytes.fd, text.fd)) _exit(126);
    static std::atomic<bool> leaving = false;
    leaving = false;
    // Signals that the engine expects are for its own thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    forget_stacks();
    std::thread(end_with_parent, std::cref(leaving)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    {
        Server server(open);
        server.serve();
        leaving = true;
    }
    _exit(0);
}

}  // namespace lockwarp::gpu
