// SPDX-License-Identifier: Apache-2.0
// The handlers of signals. What they find goes to a process of its own, a copy of this one in which
// no other thread runs: there memory may be taken and files written, and if a lock was held that
// this needs, only that process stays behind and is ended.
#include "cuda/crash.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstring>

namespace lockwarp::cuda {

namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr size_t max_under_way = 64;  // of those at a time that are looked at
constexpr size_t no_slot = max_under_way;
constexpr int max_wait = 200;  // tenths of a second for the other process

std::array<std::atomic<const UnderWay*>, max_under_way> under_way{};
std::atomic<uint64_t> launches{0};
std::array<struct sigaction, signals.size()> before{};  // by place in `signals`
std::atomic<bool> is_reporting{false}, has_reported{false};

const void* own_base = nullptr;

// What the emulator calls and programs do too: whose call it was the frames below say.
bool is_shared_by_both(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const name = slash != nullptr ? slash + 1 : path;
    constexpr std::array beginnings{"libc.",      "libc-",    "libm.",      "libm-",
                                    "libstdc++",  "libgcc",   "libpthread", "libtbb",
                                    "linux-vdso", "ld-linux", "libasan",    "libubsan"};
    for (const char* const b : beginnings)
        if (std::strncmp(name, b, std::strlen(b)) == 0) return true;
    return false;
}

enum class Whose : uint8_t { unknown, shared, emulator, program };

Whose whose(uintptr_t code) {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(code), &info) == 0 || info.dli_fname == nullptr)
        return Whose::unknown;
    if (info.dli_fbase == own_base) return Whose::emulator;
    return is_shared_by_both(info.dli_fname) ? Whose::shared : Whose::program;
}

struct Frames {
    uintptr_t interrupted;  // the instruction at which the signal came
    bool is_past_handler = false;
    Whose found = Whose::unknown;
    uintptr_t code = 0;  // of the frame that was found
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* user) {
    Frames& f = *static_cast<Frames*>(user);
    const uintptr_t code = _Unwind_GetIP(context);
    f.is_past_handler = f.is_past_handler || code == f.interrupted;
    if (!f.is_past_handler) return _URC_NO_REASON;
    f.found = whose(code);
    f.code = code;
    const bool is_known = f.found == Whose::emulator || f.found == Whose::program;
    return is_known ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uintptr_t interrupted_at(const void* context) {
    const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#else
    return static_cast<uintptr_t>(machine.pc);
#endif
}

// The innermost frame that is not of a library that both use.
Frames frames_of(const void* context) {
    Frames f{interrupted_at(context)};
    _Unwind_Backtrace(look, &f);
    return f;
}

// A copy of this process that tells its parent nothing when it ends: the program may wait for
// children of its own. The C library's fork takes locks that the failed thread may hold.
pid_t copy_process() {
    constexpr long no_signal = 0;
    return static_cast<pid_t>(::syscall(SYS_clone, no_signal, 0, 0, 0, 0));
}

void sleep_a_tenth() {
    const timespec tenth{0, 100'000'000};
    ::nanosleep(&tenth, nullptr);
}

void report_elsewhere(const Fault& fault) {
    const pid_t child = copy_process();
    if (child == 0) {
        for (const int s : signals) ::signal(s, SIG_DFL);
        report_fault(fault);
    }
    for (int i = 0; child > 0 && i < max_wait; ++i) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG | __WALL) != 0) return;
        sleep_a_tenth();
    }
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, __WALL);
}

// Other threads that fail meanwhile wait: the process ends with the first that goes on.
void report_once(const Fault& fault) {
    if (is_reporting.exchange(true)) {
        for (int i = 0; i < max_wait && !has_reported; ++i) sleep_a_tenth();
        return;
    }
    report_elsewhere(fault);
    has_reported = true;
}

size_t place_of(int signal) {
    for (size_t i = 0; i < signals.size(); ++i)
        if (signals[i] == signal) return i;
    return 0;
}

// Where the signal would have gone.
void hand_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& b = before[place_of(signal)];
    if ((b.sa_flags & SA_SIGINFO) != 0) return b.sa_sigaction(signal, info, context);
    if (b.sa_handler == SIG_IGN) return;
    if (b.sa_handler != SIG_DFL) return b.sa_handler(signal);
    ::signal(signal, SIG_DFL);
    // A fault comes again when the instruction does; what somebody sent is sent again.
    if (info->si_code <= 0) ::raise(signal);
}

bool launches_are_under_way() {
    for (const auto& slot : under_way)
        if (slot != nullptr) return true;
    return false;
}

void handle(int signal, siginfo_t* info, void* context) {
    const int kept = errno;
    const Frames f = launches_are_under_way() ? frames_of(context) : Frames{0};
    if (f.found == Whose::emulator)
        report_once({signal, reinterpret_cast<uintptr_t>(info->si_addr),
                     f.code - reinterpret_cast<uintptr_t>(own_base)});
    errno = kept;
    hand_on(signal, info, context);
}

void put_handlers() {
    Dl_info own{};
    if (::dladdr(reinterpret_cast<const void*>(&handle), &own) == 0) return;
    own_base = own.dli_fbase;
    // The unwinder takes memory when it is first used.
    Frames none{0};
    _Unwind_Backtrace(look, &none);
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before[i]);
}

size_t take_slot(const UnderWay* launch) {
    for (size_t i = 0; i < max_under_way; ++i) {
        const UnderWay* none = nullptr;
        if (under_way[i].compare_exchange_strong(none, launch)) return i;
    }
    return no_slot;
}

}  // namespace

UnderWay::UnderWay(const Function& of, const LaunchShape& with, const std::vector<uint8_t>& values)
    : function(of), shape(with), parameters(values), number(++launches), slot_(take_slot(this)) {
    static std::once_flag once;
    std::call_once(once, put_handlers);
}

UnderWay::~UnderWay() {
    if (slot_ != no_slot) under_way[slot_] = nullptr;
}

std::vector<const UnderWay*> launches_under_way() {
    std::vector<const UnderWay*> out;
    for (const auto& slot : under_way)
        if (const UnderWay* const launch = slot; launch != nullptr) out.push_back(launch);
    return out;
}

}  // namespace lockwarp::cuda
