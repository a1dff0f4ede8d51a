// SPDX-License-Identifier: Apache-2.0
// cuIpc*: device memory and events for other processes. A handle says which file of which process
// holds them; the other process opens it in /proc, so that nothing is left behind. Which pointers
// and events are taken, and the errors of the others: an H200, driver 580.159.04.
#include "cuda/ipc.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"

namespace lockwarp::cuda {

namespace {

constexpr size_t event_bytes = 4096;
constexpr std::array<char, 8> of_memory{"lw-mem1"}, of_event{"lw-evt1"};
constexpr Result not_permitted{800};

FileId id_of(int file) {
    struct stat s {};
    if (::fstat(file, &s) != 0) return {};
    return {s.st_dev, s.st_ino};
}

IpcHandle handle_of(const std::array<char, 8>& what, int file) {
    IpcHandle out{};
    out.what = what;
    out.process = ::getpid();
    out.file = file;
    const FileId id = id_of(file);
    out.of_device = id.device;
    out.number = id.number;
    return out;
}

// The file that a handle of another process names; `gone` where it is not there any more.
int opened(const IpcHandle& handle, Result gone) {
    require(handle.process != ::getpid(), invalid_context);
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    require(file >= 0, gone);
    struct stat s {};
    const bool is_it = id_of(file) == FileId{handle.of_device, handle.number} &&
                       ::fstat(file, &s) == 0 && S_ISREG(s.st_mode) &&
                       static_cast<uint64_t>(s.st_size) >= handle.size;
    if (!is_it) {
        ::close(file);
        fail(gone);
    }
    return file;
}

constexpr unsigned lazy_peer_access = 1;                  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr unsigned disable_timing = 2, interprocess = 4;  // CU_EVENT_*

}  // namespace

SharedEvent::SharedEvent(int file) : file_(file) {
    void* const page = ::mmap(nullptr, event_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        ::close(file);
        fail(map_failed);
    }
    static_assert(std::atomic<uint32_t>::is_always_lock_free);
    all_ = static_cast<std::atomic<uint32_t>*>(page);  // zeros of a new file are its zero
}

SharedEvent::~SharedEvent() {
    ::munmap(all_, event_bytes);
    ::close(file_);
}

bool SharedEvent::is_awaited() const { return all_->load() > own_.load(); }

void SharedEvent::wait() const {
    while (is_awaited()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::shared_ptr<void> SharedEvent::to_be_recorded(const std::shared_ptr<SharedEvent>& event) {
    ++event->own_;
    ++*event->all_;
    return {nullptr, [event](void*) {
                --*event->all_;
                --event->own_;
            }};
}

std::shared_ptr<SharedEvent> new_shared_event() {
    const int file = ::memfd_create("lockwarp-event", MFD_CLOEXEC);
    require(file >= 0, out_of_memory);
    if (::ftruncate(file, event_bytes) != 0) {
        ::close(file);
        fail(out_of_memory);
    }
    return std::make_shared<SharedEvent>(file);
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuIpcGetMemHandle(IpcHandle* out, Address address) {
    return answer([&] {
        current();
        require(out != nullptr);
        finish_all();
        const Allocation a = share(address);
        *out = handle_of(of_memory, a.file);
        out->size = a.size;
        out->ordinal = a.device;
    });
}

Result cuIpcOpenMemHandle_v2(Address* out, IpcHandle handle, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && flags == lazy_peer_access);
        require(handle.what == of_memory && handle.size != 0 && handle.size < UINT64_MAX / 2);
        const int file = opened(handle, not_permitted);
        const bool is_there = static_cast<size_t>(handle.ordinal) < driver().devices.size();
        const Result result = answer([&] {
            *out = open_shared(file, {handle.of_device, handle.number}, handle.size,
                               is_there ? handle.ordinal : context->device, context);
        });
        ::close(file);
        check(result);
    });
}

Result cuIpcOpenMemHandle(Address* out, IpcHandle handle, unsigned flags) {
    return cuIpcOpenMemHandle_v2(out, handle, flags);
}

Result cuIpcCloseMemHandle(Address base) {
    return answer([&] {
        current();
        finish_all();
        close_shared(base);
    });
}

Result cuIpcGetEventHandle(IpcHandle* out, Event* event) {
    return answer([&] {
        current();
        require(out != nullptr);
        const std::shared_ptr<Event> e = driver().events.get(event);
        require(e->shared != nullptr && !e->is_opened, invalid_handle);
        *out = handle_of(of_event, e->shared->file());
    });
}

Result cuIpcOpenEventHandle(Event** out, IpcHandle handle) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr);
        require(handle.what == of_event, map_failed);
        handle.size = event_bytes;
        auto event = std::make_shared<Event>();
        event->shared = std::make_shared<SharedEvent>(opened(handle, map_failed));
        event->context = context;
        event->device = context->device;
        event->flags = disable_timing | interprocess;
        event->is_opened = true;
        *out = driver().events.add(std::move(event));
    });
}

}  // extern "C"
