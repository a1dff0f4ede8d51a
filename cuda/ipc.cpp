// SPDX-License-Identifier: Apache-2.0
// cuIpc*, and pools for other processes: device memory and events of theirs. A handle says which
// file of which process holds them; the other process opens it in /proc, so that nothing is left
// behind. Which pointers and events are taken, and the errors of the others: an H200, driver
// 580.159.04.
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
#include "cuda/unnamed_file.hpp"

namespace lockwarp::cuda {

namespace {

constexpr size_t event_bytes = 4096;
constexpr std::array<char, 8> of_memory{"lw-mem1"}, of_event{"lw-evt1"}, of_pool{"lw-ptr1"};
constexpr Result not_permitted{800}, unknown{999};
constexpr const char *pool_file = "lockwarp-pool", *event_file = "lockwarp-event";

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
int opened(const IpcHandle& handle, const char* what_for, Result gone) {
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    require(file >= 0, gone);
    struct stat s {};
    const bool is_it = id_of(file) == FileId{handle.of_device, handle.number} &&
                       is_unnamed_file(file, what_for) && ::fstat(file, &s) == 0 &&
                       static_cast<uint64_t>(s.st_size) >= handle.size;
    if (!is_it) {
        ::close(file);
        fail(gone);
    }
    return file;
}

IpcHandle handle_of(const std::array<char, 8>& what, const Allocation& a) {
    IpcHandle out = handle_of(what, a.file);
    out.size = a.size;
    out.ordinal = a.device;
    return out;
}

// Closes the file.
Address map_opened(int file, const IpcHandle& handle, const std::shared_ptr<Context>& context,
                   Pool* pool) {
    const bool is_there = static_cast<size_t>(handle.ordinal) < driver().devices.size();
    Address out = 0;
    const Result result = answer([&] {
        require(handle.size != 0 && handle.size < UINT64_MAX / 2);
        out = open_shared(file, {handle.of_device, handle.number}, handle.size,
                          is_there ? handle.ordinal : context->device, context, pool);
    });
    ::close(file);
    check(result);
    return out;
}

// Pools of other processes, by the numbers of their files.
struct Imported {
    std::mutex mutex;
    std::map<uint64_t, Pool*> by_number;
};

Imported& imported() {
    static auto* const only = new Imported;
    return *only;
}

// The device of a pool by its file; a Failure where it is none.
DeviceId device_of_pool(int file) {
    DeviceId device = 0;
    require(is_unnamed_file(file, pool_file) &&
                ::pread(file, &device, sizeof device, 0) == sizeof device,
            unknown);
    return static_cast<size_t>(device) < driver().devices.size() ? device : 0;
}

// The file that stands for it; its lock is held.
int file_of(Pool& pool) {
    if (pool.file >= 0) return pool.file;
    const int file = new_unnamed_file(pool_file, sizeof(DeviceId));
    require(file >= 0, out_of_memory);
    const DeviceId device = pool.location.id;
    if (::pwrite(file, &device, sizeof device, 0) != sizeof device) {
        ::close(file);
        fail(out_of_memory);
    }
    return pool.file = file;
}

constexpr unsigned lazy_peer_access = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

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
    const int file = new_unnamed_file(event_file, event_bytes);
    require(file >= 0, out_of_memory);
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
        *out = handle_of(of_memory, share(address, false));
    });
}

Result cuIpcOpenMemHandle_v2(Address* out, IpcHandle handle, unsigned flags) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && flags == lazy_peer_access && handle.what == of_memory);
        require(handle.process != ::getpid(), invalid_context);
        *out = map_opened(opened(handle, memory_file, not_permitted), handle, context, nullptr);
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
        require(handle.process != ::getpid(), invalid_context);
        handle.size = event_bytes;
        auto event = std::make_shared<Event>();
        event->shared = std::make_shared<SharedEvent>(opened(handle, event_file, map_failed));
        event->context = context;
        event->device = context->device;
        event->flags = disable_timing | interprocess;
        event->is_opened = true;
        *out = driver().events.add(std::move(event));
    });
}

Result cuMemPoolExportToShareableHandle(void* out, Pool* pool, int type, unsigned long long flags) {
    return answer([&] {
        const std::shared_ptr<Pool> p = ready().pools.get(pool);
        require(out != nullptr && type == posix_file && flags == 0);
        require((p->handle_types & posix_file) != 0 && !p->is_imported);
        const std::lock_guard lock(p->mutex);
        const int file = ::fcntl(file_of(*p), F_DUPFD_CLOEXEC, 0);
        require(file >= 0, operating_system);
        std::memcpy(out, &file, sizeof file);
    });
}

// Always the same pool for one of another process.
Result cuMemPoolImportFromShareableHandle(Pool** out, void* handle, int type,
                                          unsigned long long flags) {
    return answer([&] {
        ready();
        require(out != nullptr && type == posix_file && flags == 0);
        const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
        const DeviceId device = device_of_pool(file);
        const std::lock_guard lock(imported().mutex);
        Pool*& known = imported().by_number[id_of(file).number];
        if (known == nullptr) {
            auto pool =
                std::make_shared<Pool>(Location{on_device, device}, pinned_memory, bit_of(device));
            pool->is_imported = true;
            known = driver().pools.add(std::move(pool));
        }
        *out = known;
    });
}

Result cuMemPoolExportPointer(IpcHandle* out, Address address) {
    return answer([&] {
        ready();
        require(out != nullptr);
        finish_all();
        const Allocation a = share(address, true);
        *out = handle_of(of_pool, a);
        const std::lock_guard lock(a.pool->mutex);
        out->pool = id_of(file_of(*a.pool)).number;
    });
}

Result cuMemPoolImportPointer(Address* out, Pool* pool, const IpcHandle* given) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        const std::shared_ptr<Pool> p = driver().pools.get(pool);
        require(out != nullptr && given != nullptr && p->is_imported && given->what == of_pool);
        {
            const std::lock_guard lock(imported().mutex);
            const auto known = imported().by_number.find(given->pool);
            require(known != imported().by_number.end() && known->second == pool);
        }
        *out = map_opened(opened(*given, memory_file, invalid_value), *given, context, p.get());
    });
}

}  // extern "C"
