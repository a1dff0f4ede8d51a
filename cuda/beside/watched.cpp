// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/watched.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "cuda/beside/emulate.hpp"
#include "cuda/beside/forward.hpp"
#include "cuda/beside/snapshot.hpp"
#include "cuda/beside/unfused.hpp"
#include "cuda/errors.hpp"
#include "cuda/launch_file.hpp"
#include "cuda/names.hpp"

namespace lockwarp::cuda {

void say(std::string_view text) noexcept {
    try {
        const std::string line = "lockwarp: " + std::string(text) + "\n";
        if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
    } catch (...) {  // no memory: nothing can be said
    }
}

}  // namespace lockwarp::cuda

namespace lockwarp::beside {

using cuda::say;
using cuda::success;

namespace {

struct Settings {
    bool validates = false;
    std::string folder, kernel;
    uint64_t launch = 0;  // 0: all
    uint64_t limit = uint64_t{1} << 30;
    uint64_t kept = 0;  // bytes of memory in launch files of what differs; 0: no limit
    int report = -1;
};

const char* set(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

Settings read_settings() {
    Settings s;
    s.validates = std::string_view(set("LOCKWARP_BESIDE")) == "validate";
    s.folder = set("LOCKWARP_BESIDE_OUT");
    s.kernel = set("LOCKWARP_BESIDE_KERNEL");
    s.launch = std::strtoull(set("LOCKWARP_BESIDE_LAUNCH"), nullptr, 10);
    if (const char* const limit = set("LOCKWARP_BESIDE_LIMIT"); *limit != 0)
        s.limit = std::strtoull(limit, nullptr, 10);
    s.kept = std::strtoull(set("LOCKWARP_BESIDE_KEPT"), nullptr, 10);
    if (const char* const path = set("LOCKWARP_BESIDE_REPORT"); *path != 0)
        s.report = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return s;
}

const Settings& settings() {
    static const Settings* const only = new Settings(read_settings());
    return *only;
}

void report(const char* verdict) {
    const std::string line = std::string(verdict) + "\n";
    if (settings().report >= 0 && ::write(settings().report, line.data(), line.size()) < 0) return;
}

std::string hex(uint64_t n) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
    return text;
}

Result synchronize() {
    static const auto real = behind_as<Result()>("cuCtxSynchronize");
    return real();
}

// The stream's context is current while the object lives: a kernel runs there, whichever is
// current, and another device's memory is not seen from elsewhere.
class WithinStream {
  public:
    explicit WithinStream(Stream* stream) {
        static const auto of = behind_as<Result(Stream*, void**)>("cuStreamGetCtx");
        static const auto push = behind_as<Result(void*)>("cuCtxPushCurrent_v2");
        void* context = nullptr;
        pushed_ = of != nullptr && push != nullptr && of(stream, &context) == success &&
                  push(context) == success;
    }
    ~WithinStream() {
        static const auto pop = behind_as<Result(void**)>("cuCtxPopCurrent_v2");
        void* context = nullptr;
        if (pushed_) pop(&context);
    }
    WithinStream(const WithinStream&) = delete;
    WithinStream& operator=(const WithinStream&) = delete;

  private:
    bool pushed_ = false;
};

// The bytes of the parameter space; empty where they cannot be had.
std::vector<uint8_t> parameters_of(const Kernel& k, void** parameters, void** extra) {
    std::vector<uint8_t> out(k.info.parameter_bytes);
    if (extra != nullptr) {
        const void* buffer = nullptr;
        size_t size = 0;
        for (; *extra != nullptr; extra += 2) {
            const auto what = reinterpret_cast<uintptr_t>(extra[0]);
            if (what == 1) buffer = extra[1];
            if (what == 2) std::memcpy(&size, extra[1], sizeof size);
        }
        if (buffer != nullptr) std::memcpy(out.data(), buffer, std::min(size, out.size()));
        return out;
    }
    for (size_t i = 0; i < k.parameters.size() && parameters != nullptr; ++i)
        std::memcpy(out.data() + k.parameters[i].offset, parameters[i], k.parameters[i].size);
    return out;
}

// One launch that is looked at.
struct Watched {
    uint64_t number = 0;
    std::string arch;
    Kernel kernel;
    Function* function = nullptr;
    Shape shape;
    std::vector<uint8_t> parameters;
    Snapshot before, after;

    bool has_non_portable_cluster() const {
        return uint64_t{shape.cluster[0]} * shape.cluster[1] * shape.cluster[2] > 8;
    }
    std::string name() const {
        return "launch " + std::to_string(number) + ", " + cuda::brief(kernel.name);
    }
};

void write_file(const Watched& w) {
    const Settings& s = settings();
    cuda::LaunchFile f;
    f.folder = s.folder;
    f.number = w.number;
    f.entry = w.kernel.name;
    f.module = cuda::write_bytes(s.folder, w.kernel.image->text.data(), w.kernel.image->text.size(),
                                 ".ptx");
    f.arch = w.arch;
    std::copy_n(w.shape.grid, 3, f.grid.begin());
    std::copy_n(w.shape.block, 3, f.block.begin());
    const uint32_t* const c = w.shape.cluster;
    if ((c[0] | c[1] | c[2]) != 0) f.cluster = {c[0], c[1], c[2]};
    f.non_portable_cluster = w.has_non_portable_cluster();
    f.dynamic_shared = w.shape.dynamic_shared;
    f.cooperative = w.shape.cooperative;
    f.parameters = w.parameters;
    f.types = w.kernel.parameters;
    // Functions have the emulator's addresses; the tables of them are the module's own, wherever
    // the launch file runs.
    const CodeAddresses& code = w.kernel.image->code;
    Snapshot before = w.before, after = w.after;
    before.to_emulator(code);
    after.to_emulator(code);
    code.to_emulator(0, f.parameters);
    for (size_t i = 0; i < before.variables.size(); ++i) {
        const Variable& v = before.variables[i];
        const bool is_table =
            v.bytes != w.before.variables[i].bytes && v.bytes == w.kernel.image->initial[v.index];
        if (is_table) continue;
        f.variables.emplace_back(
            v.of.name, cuda::write_bytes(s.folder, v.bytes.data(), v.bytes.size(), ".bin"));
    }
    for (const lockwarp_function_address& a : code.small())
        if (const char* const name = lockwarp_kernel_function_at(w.kernel.kernel, a.emulators))
            f.functions.emplace_back(name, a.address);
    size_t count = 0;
    for (const auto& [base, r] : before.ranges) {
        const std::vector<uint8_t>& now = after.ranges.at(base).bytes;
        f.buffers.push_back({base, r.size, "m" + std::to_string(++count),
                             cuda::write_buffer(s.folder, base, r.bytes.data(), r.size),
                             cuda::write_buffer(s.folder, base, now.data(), r.size)});
    }
    cuda::write_launch_file(f);
}

// Bytes of one place that differ, and the first word of them.
struct Difference {
    std::string place;
    uint64_t count = 0, offset = 0;
    uint64_t gpu = 0, emulator = 0;  // up to 4 bytes
};

void compare(const std::string& place, const uint8_t* gpu, const uint8_t* emulator, uint64_t size,
             std::vector<Difference>& out) {
    if (std::memcmp(gpu, emulator, size) == 0) return;
    Difference d;
    d.place = place;
    for (uint64_t i = 0; i < size; ++i) {
        if (gpu[i] == emulator[i]) continue;
        if (d.count++ != 0) continue;
        d.offset = i / 4 * 4;
        const uint64_t bytes = std::min<uint64_t>(4, size - d.offset);
        std::memcpy(&d.gpu, gpu + d.offset, bytes);
        std::memcpy(&d.emulator, emulator + d.offset, bytes);
    }
    out.push_back(std::move(d));
}

std::vector<Difference> differences(const Snapshot& gpu, const Snapshot& emulator) {
    std::vector<Difference> out;
    for (const auto& [base, r] : gpu.ranges)
        compare("memory at " + hex(base), r.bytes.data(), emulator.ranges.at(base).bytes.data(),
                r.size, out);
    for (size_t i = 0; i < gpu.variables.size(); ++i)
        compare("variable " + std::string(gpu.variables[i].of.name), gpu.variables[i].bytes.data(),
                emulator.variables[i].bytes.data(), gpu.variables[i].bytes.size(), out);
    return out;
}

uint64_t compared_bytes(const Snapshot& s) {
    uint64_t out = s.bytes;
    for (const Variable& v : s.variables) out += v.bytes.size();
    return out;
}

// Whether what differs is no more than that the GPU's compiler fused some mul with an add.
bool differs_by_fusing(const Watched& w, const Snapshot& own,
                       const std::function<Result(Function*)>& launch) {
    const std::optional<Snapshot> unfused =
        launch_unfused({w.kernel, w.function, w.shape.dynamic_shared, w.has_non_portable_cluster(),
                        w.before, w.after, launch});
    return unfused && differences(*unfused, own).empty();
}

void not_compared(const std::string& name, const std::string& why) {
    say(name + ": not " + (settings().validates ? "compared: " : "captured: ") + why);
    report("not compared");
}

// As a launch file, where what differs is kept and there is room.
void keep(const Watched& w) {
    static std::atomic<uint64_t> kept{0};
    const Settings& s = settings();
    if (s.folder.empty() || w.kernel.uses.launches) return;  // a launch file's kernels launch none
    const uint64_t bytes = 2 * compared_bytes(w.after);      // before and after it
    if (s.kept != 0 && kept.fetch_add(bytes) + bytes > s.kept) {
        kept -= bytes;
        return;
    }
    write_file(w);
}

// Whether a launch so far may have left blocks of malloc's in the GPU's heap.
std::atomic<bool>& any_allocates() {
    static std::atomic<bool> any{false};
    return any;
}

void validate(const Watched& w, const std::function<Result(Function*)>& launch) {
    Snapshot own = w.before;
    const Emulated ran = emulate(w.kernel, w.function, w.shape, w.parameters, own);
    if (ran.allocates) any_allocates() = true;
    if (ran.is_beyond) return not_compared(w.name(), ran.why);
    if (!ran.why.empty()) {
        say(w.name() + ": DIFFERS: the GPU came to its end, the emulator did not: " + ran.why);
        report("differs");
        keep(w);
        return;
    }
    own.take_addresses(w.after, w.kernel.image->code);
    const std::vector<Difference> found = differences(w.after, own);
    const std::string bytes = std::to_string(compared_bytes(w.after)) + " bytes";
    if (found.empty()) {
        const bool compared = compared_bytes(w.after) != 0;
        say(w.name() +
            (compared ? ": identical, " + bytes : ": not compared: it reaches no memory"));
        return report(compared ? "identical" : "not compared");
    }
    if (ran.allocates)
        return not_compared(w.name(), "it calls malloc, whose blocks lie elsewhere on the GPU");
    const Difference& d = found.front();
    uint64_t count = 0;
    for (const Difference& each : found) count += each.count;
    if (differs_by_fusing(w, own, launch)) {
        say(w.name() + ": identical where mul and add are not fused, " + bytes + "; " +
            std::to_string(count) + " differ as the GPU's compiler fused some");
        return report("fused");
    }
    say(w.name() + ": DIFFERS: " + std::to_string(count) + " of " + bytes + "; first " + d.place +
        " + " + hex(d.offset) + ": GPU " + hex(d.gpu) + ", emulator " + hex(d.emulator) +
        (w.kernel.uses.launches ? "; with what it launches, no order can be told" : ""));
    report("differs");
    keep(w);
}

// Launches of kernels that may wait for what the program does after them: it must be let go on, and
// while they run nobody waits for the context, nor is memory as it was.
class UnderWay {
  public:
    // What was launched last in the stream.
    void note(Stream* stream) {
        static const auto create = behind_as<Result(void**, unsigned)>("cuEventCreate");
        static const auto record = behind_as<Result(void*, Stream*)>("cuEventRecord");
        constexpr unsigned without_times = 2;
        constexpr std::chrono::seconds most{2};
        void* event = nullptr;
        if (create(&event, without_times) != success) return;
        record(event, stream);
        launches_.push_back({event, std::chrono::steady_clock::now() + most});
    }
    // Whether one of them runs after two seconds, which it is given.
    bool any() {
        static const auto query = behind_as<Result(void*)>("cuEventQuery");
        static const auto destroy = behind_as<Result(void*)>("cuEventDestroy_v2");
        constexpr Result not_ready{600};
        while (!launches_.empty()) {
            const Launch& first = launches_.front();
            if (query(first.end) != not_ready) {
                destroy(first.end);
                launches_.pop_front();
            } else if (std::chrono::steady_clock::now() > first.patience) {
                return true;
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        }
        return false;
    }

  private:
    struct Launch {
        void* end = nullptr;  // an event
        std::chrono::steady_clock::time_point patience;
    };
    std::deque<Launch> launches_;
};

// The kernel; false: `why` it is not known.
bool find_kernel(Watched& w, std::string& why) {
    w.arch = current_arch();
    if (w.arch.empty()) return why = "the emulator has no such GPU", false;
    std::optional<Kernel> kernel = kernel_of(w.function, w.arch, why);
    if (kernel) w.kernel = std::move(*kernel);
    return kernel.has_value();
}

// The kernel and what it reaches, before it runs; false: it is not looked at.
bool prepare(Watched& w, Function* function, void** parameters, void** extra) {
    const Settings& s = settings();
    std::string why;
    if (!find_kernel(w, why)) return not_compared("launch " + std::to_string(w.number), why), false;
    if (!s.kernel.empty() && cuda::plain(w.kernel.name).find(s.kernel) == std::string::npos)
        return false;
    if (w.kernel.uses.textures)
        return not_compared(w.name(), "it uses textures or surfaces, which are the GPU's own"),
               false;
    if (w.kernel.uses.launches && !s.validates)
        return not_compared(w.name(), "it launches kernels, which a launch file does not have"),
               false;
    const bool may_find_blocks =
        any_allocates().exchange(any_allocates() || w.kernel.uses.allocates);
    w.parameters = parameters_of(w.kernel, parameters, extra);
    if (synchronize() != success) return false;  // the program hears of it
    std::optional<Snapshot> before = take(w.kernel, function, w.parameters, s.limit, why);
    if (!before) return not_compared(w.name(), why), false;
    if (may_find_blocks && before->may_lead_to_blocks)
        return not_compared(w.name(), "it may reach what malloc gave, in the GPU's own heap"),
               false;
    w.before = std::move(*before);
    return true;
}

}  // namespace

bool is_capturing(Stream* stream) {
    static const auto real = behind_as<Result(Stream*, int*)>("cuStreamIsCapturing");
    int status = 0;
    return real != nullptr && (real(stream, &status) != success || status != 0);
}

Result watched(Function* function, const Shape& shape, Stream* stream, void** parameters,
               void** extra, const std::function<Result(Function*)>& launch) {
    static std::atomic<uint64_t> launches{0};
    static std::mutex* const one_at_a_time = new std::mutex;
    const Settings& s = settings();
    Watched w;
    if (is_capturing(stream)) return launch(function);  // its graph's launches are looked at
    w.number = ++launches;
    w.shape = shape;
    w.function = function;
    const bool is_chosen = s.launch == 0 || s.launch == w.number;
    const std::lock_guard lock(*one_at_a_time);
    const WithinStream within(stream);
    static auto* const under_way = new UnderWay;
    const auto launch_alone = [&] {
        const Result r = launch(function);
        if (r == success && w.kernel.uses.may_wait) under_way->note(stream);
        return r;
    };
    if (!is_chosen || under_way->any()) {
        if (is_chosen)
            not_compared("launch " + std::to_string(w.number), "one that waits is under way");
        std::string why;
        find_kernel(w, why);  // which may wait too
        return launch_alone();
    }
    if (!prepare(w, function, parameters, extra)) return launch_alone();
    const Result r = launch_alone();
    if (r != success) return r;
    if (under_way->any()) {
        not_compared(w.name(), "it seems to wait for what the program does next");
        return r;
    }
    if (const Result ended = synchronize(); ended != success) {
        not_compared(w.name(), "the GPU's run ended with error " + std::to_string(ended));
        return r;
    }
    w.after = w.before;
    if (!take_again(w.after)) {
        not_compared(w.name(), "its memory cannot be read");
        return r;
    }
    if (s.validates) {
        validate(w, launch);
    } else {
        write_file(w);
        report("captured");
    }
    return r;
}

void graph_launched() {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    not_compared("a graph", "it has nodes that are not launched alone");
}

}  // namespace lockwarp::beside
