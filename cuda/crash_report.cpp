// SPDX-License-Identifier: Apache-2.0
// What is said of a failure of the emulator's own, and the launch file that shows it.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/crash.hpp"
#include "cuda/record.hpp"
#include "emu/exec/running.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t most_memory = uint64_t{1} << 30;  // bytes in the files of one launch

std::string hex(uint64_t n) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
    return text;
}

// A new folder where the program runs, or for temporary files; empty: there is none.
std::string new_folder(pid_t process) {
    const std::string name = "lockwarp-crash-" + std::to_string(process);
    const char* const temporary = std::getenv("TMPDIR");
    for (const std::string& path :
         {name, std::string(temporary != nullptr ? temporary : "/tmp") + "/" + name})
        if (::mkdir(path.c_str(), 0777) == 0) return path;
    return {};
}

// Whether this thread runs a CTA of it.
bool is_of(const std::optional<exec::RunningPlace>& p, const UnderWay& launch) {
    return p && p->program == &launch.function.kernel->program;
}

std::string place_text(const std::optional<exec::RunningPlace>& p, const UnderWay& launch) {
    if (!is_of(p, launch)) return {};
    std::string out = ", CTA (" + std::to_string(p->cta[0]) + "," + std::to_string(p->cta[1]) +
                      "," + std::to_string(p->cta[2]) + "), warp " + std::to_string(p->warp) +
                      ", step " + std::to_string(p->step);
    lockwarp_instruction i{};
    i.struct_size = sizeof i;
    if (lockwarp_kernel_instruction(launch.function.kernel, p->operation, &i) == LOCKWARP_OK)
        out += ", at PTX:" + std::to_string(i.line) + ": " + i.text;
    return out;
}

void write_file(const UnderWay& launch, const std::string& folder) {
    bool is_before = launch.record != nullptr, is_whole = true;
    std::string path;
    if (is_before) {
        path = launch.record->finish(false);
    } else {
        Record now(folder, launch.number, launch.function, launch.shape, launch.parameters,
                   most_memory);
        path = now.finish(false);
        is_whole = !now.left_out();
    }
    say(path + " is the launch: `lockwarp run` shows the fault, and it belongs into a report" +
        (is_before ? ""
                   : ". Its memory is as the fault found it; `exec --record DIR` keeps it as it "
                     "was before") +
        (is_whole ? "" : ". What is beyond 1 GiB of memory is zero in it"));
}

void report(const std::string& what, const UnderWay& launch, const std::string& place,
            pid_t process) {
    say("a fault of Lockwarp's own: " + what + ", in launch " + std::to_string(launch.number) +
        " of the process, kernel " + launch.function.name + place);
    static std::string folder;
    if (folder.empty() && launch.record == nullptr) folder = new_folder(process);
    if (folder.empty() && launch.record == nullptr)
        say("no folder for a launch file could be made");
    else
        write_file(launch, folder);
}

}  // namespace

void report_exception(const UnderWay& launch, const std::string& what) {
    report(what, launch, {}, ::getpid());
}

void report_fault(const Fault& fault) {
    const char* const name = ::strsignal(fault.signal);
    std::string what = "signal " + std::to_string(fault.signal) + " (" +
                       (name != nullptr ? name : "?") + ") in libcuda.so.1+" + hex(fault.offset);
    if (fault.signal == SIGSEGV || fault.signal == SIGBUS)
        what += ", address " + hex(fault.address);
    const std::optional<exec::RunningPlace> place = exec::running_place();
    std::vector<const UnderWay*> launches = launches_under_way();
    if (std::ranges::any_of(launches, [&](const UnderWay* l) { return is_of(place, *l); }))
        std::erase_if(launches, [&](const UnderWay* l) { return !is_of(place, *l); });
    if (launches.size() > 1) say("several launches are under way; it is one of these");
    for (const UnderWay* const launch : launches)
        report(what, *launch, place_text(place, *launch), ::getppid());
    ::_exit(0);
}

}  // namespace lockwarp::cuda
