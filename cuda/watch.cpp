// SPDX-License-Identifier: Apache-2.0
#include "cuda/watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>

#include "cuda/names.hpp"
#include "cuda/record.hpp"
#include "emu/check/check.hpp"
#include "emu/timing/timing.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::cuda {

namespace {

constexpr uint64_t max_items = 20'000'000;  // instructions of warps that the model of cycles keeps

struct Settings {
    std::vector<const check::CheckRow*> rows;
    const timing::Machine* machine = nullptr;  // nullptr: no times
    std::string folder;                        // of launch files
    int report = -1;                           // a file that lines are added to
    uint64_t crash = 0;                        // the launch that is to fail; 0: none

    bool any() const {
        return !rows.empty() || machine != nullptr || !folder.empty() || crash != 0;
    }
};

const char* set(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

Settings read_settings() {
    Settings s;
    if (const char* const names = set("LOCKWARP_EXEC_CHECK"); *names != 0) {
        check::Chosen chosen = check::choose(names);
        if (!chosen.wrong.empty()) say(chosen.wrong);
        s.rows = std::move(chosen.rows);
    }
    if (*set("LOCKWARP_EXEC_TIME") == '1') {
        s.machine = timing::machine_of(driver().arch);
        if (s.machine == nullptr) say("this architecture has no cycle model: events have no times");
    }
    s.folder = set("LOCKWARP_EXEC_RECORD");
    if (const char* const path = set("LOCKWARP_EXEC_REPORT"); *path != 0)
        s.report = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    s.crash = std::strtoull(set("LOCKWARP_EXEC_CRASH"), nullptr, 10);
    return s;
}

const Settings& settings() {
    static const Settings* const only = new Settings(read_settings());
    return *only;
}

std::atomic<int64_t> nanoseconds{0};

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        char code[8];
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (static_cast<unsigned char>(c) >= 0x20)
            out += c;
        else
            out.append(code, static_cast<size_t>(std::snprintf(code, sizeof code, "\\u%04x", c)));
    }
    return out + "\"";
}

// A whole line at once, for other processes of the program may write too.
void report(std::string line) {
    line += "\n";
    if (settings().report >= 0 && ::write(settings().report, line.data(), line.size()) < 0) return;
}

std::string site_text(const check::Site& s) {
    std::string out = "CTA (" + std::to_string(s.cta[0]) + "," + std::to_string(s.cta[1]) + "," +
                      std::to_string(s.cta[2]) + "), warp " + std::to_string(s.warp);
    if (s.lanes != 0) {
        char lanes[24];
        std::snprintf(lanes, sizeof lanes, ", lanes 0x%08x", s.lanes);
        out += lanes;
    }
    return out;
}

// Fails as a fault in the emulator would: where an instruction has been retired.
class Failing : public warp::Observer {
  public:
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver>) override {}

  private:
    struct OfCta : warp::CtaObserver {
        __attribute__((no_sanitize("undefined", "address"))) void retired(
            const warp::Retired&) override {
            static volatile char* volatile nowhere = nullptr;
            *nowhere = 1;
        }
    };
};

class LaunchWatch : public engine::Watch {
  public:
    explicit LaunchWatch(UnderWay& launch)
        : launch_(launch), function_(launch.function), number_(launch.number) {}
    void before(const lockwarp_kernel& kernel, warp::Launch& launch) override;
    void after(const lockwarp_kernel& kernel, const warp::Launch& launch,
               const warp::Result& result) override;

  private:
    void say_findings(const lockwarp_kernel& kernel, const warp::Result& result);
    void say_finding(const lockwarp_kernel& kernel, const check::Found& found);
    std::string where(const lockwarp_kernel& kernel, const check::Site& site) const;
    void take_time(const warp::Launch& launch);

    UnderWay& launch_;
    const Function& function_;
    uint64_t number_;
    std::unique_ptr<check::Checking> checking_;
    timing::Lowering lowering_;
    std::unique_ptr<timing::Listener> listener_;
    std::unique_ptr<Record> record_;
    std::optional<Failing> failing_;
    uint64_t cycles_ = 0;
    int64_t time_ = 0;  // nanoseconds
};

void say_blocks_left_out() {
    static std::once_flag once;
    std::call_once(once, [] {
        say("launch files have no blocks of malloc that earlier launches left: a kernel that uses "
            "them does not run again from its file");
    });
}

void LaunchWatch::before(const lockwarp_kernel& kernel, warp::Launch& launch) {
    const Settings& s = settings();
    if (!s.folder.empty()) {
        if (launch.heap != nullptr && launch.heap->blocks() != 0) say_blocks_left_out();
        record_ = std::make_unique<Record>(s.folder, number_, function_, launch_.shape,
                                           launch_.parameters);
        launch_.record = record_.get();
    }
    if (number_ == s.crash) launch.observers.push_back(&failing_.emplace());
    if (!s.rows.empty())
        checking_ =
            std::make_unique<check::Checking>(s.rows, kernel.program, launch, &kernel.module->tree);
    // The model has no CTAs that wait for each other.
    if (s.machine == nullptr || launch.cooperative) return;
    lowering_ = timing::lower(kernel.program, *s.machine);
    listener_ = std::make_unique<timing::Listener>(lowering_, s.machine->sms, max_items, false);
    launch.observers.push_back(listener_.get());
}

// "kernel.cu:12", or the line of the PTX.
std::string LaunchWatch::where(const lockwarp_kernel& kernel, const check::Site& site) const {
    if (!site.operation) return {};
    lockwarp_instruction i{};
    i.struct_size = sizeof i;
    if (lockwarp_kernel_instruction(&kernel, *site.operation, &i) != LOCKWARP_OK) return {};
    const std::string ptx = "PTX:" + std::to_string(i.line) + ": " + i.text;
    if (i.source_line == 0) return ptx;
    return std::string(i.file) + ":" + std::to_string(i.source_line) + " (" + ptx + ")";
}

void LaunchWatch::say_finding(const lockwarp_kernel& kernel, const check::Found& found) {
    // Of a kernel that is launched again and again each is said once.
    using Key = std::tuple<const void*, std::string_view, uint32_t, uint32_t>;
    static std::mutex mutex;
    static std::set<Key>* const said = new std::set<Key>;
    const check::Finding& f = found.finding;
    const Key key{&kernel, f.kind, f.here.operation.value_or(UINT32_MAX),
                  f.other ? f.other->operation.value_or(UINT32_MAX) : UINT32_MAX};
    {
        const std::lock_guard lock(mutex);
        if (!said->insert(key).second) return;
    }
    const bool is_error = f.severity == check::Severity::error;
    std::string text = brief(function_.name) + ", launch " + std::to_string(number_) + ": " +
                       (is_error ? "error: " : "note: ") + f.message + " [" +
                       std::string(found.check->name) + "/" + std::string(f.kind) + "]";
    if (const std::string here = where(kernel, f.here); !here.empty())
        text += "\n  at " + here + "\n  " + site_text(f.here);
    if (f.count > 1) text += ", " + std::to_string(f.count) + " times";
    if (f.other)
        if (const std::string there = where(kernel, *f.other); !there.empty())
            text += "\n  and " + there + "\n  " + site_text(*f.other);
    if (!f.hint.empty()) text += "\n  " + f.hint;
    if (is_error) say(text);
    report("{\"finding\": true, \"kernel\": " + quoted(plain(function_.name)) +
           ", \"check\": " + quoted(found.check->name) + ", \"kind\": " + quoted(f.kind) +
           ", \"error\": " + (is_error ? "true" : "false") + ", \"message\": " + quoted(f.message) +
           ", \"text\": " + quoted(text) + "}");
}

void LaunchWatch::say_findings(const lockwarp_kernel& kernel, const warp::Result& result) {
    if (checking_ == nullptr) return;
    for (const check::Found& f : checking_->found(result)) say_finding(kernel, f);
}

void LaunchWatch::take_time(const warp::Launch& launch) {
    if (listener_ == nullptr) return;
    cycles_ = timing::simulate(lowering_, launch, *listener_, {}).sm_cycles;
    time_ = static_cast<int64_t>(cycles_ * 1000 / settings().machine->mhz);
    nanoseconds += time_;
}

void LaunchWatch::after(const lockwarp_kernel& kernel, const warp::Launch& launch,
                        const warp::Result& result) {
    if (result.refusal) return;
    say_findings(kernel, result);
    take_time(launch);
    if (record_ != nullptr) record_->finish(!result.trap);
    std::string line = "{\"launch\": " + std::to_string(number_) +
                       ", \"kernel\": " + quoted(plain(function_.name)) +
                       ", \"cycles\": " + std::to_string(cycles_) +
                       ", \"nanoseconds\": " + std::to_string(time_);
    if (result.trap) line += ", \"trap\": " + quoted(result.trap->detail);
    if (checking_ != nullptr && launch.heap != nullptr)
        line += ", \"heap\": \"" + std::to_string(::getpid()) + "." +
                std::to_string(current_in_error()->id) +
                "\", \"blocks\": " + std::to_string(launch.heap->blocks());
    report(line + "}");
}

}  // namespace

bool is_watched() { return settings().any() || settings().report >= 0; }

bool is_recorded() { return !settings().folder.empty(); }

std::unique_ptr<engine::Watch> watch_launch(UnderWay& launch) {
    return is_watched() ? std::make_unique<LaunchWatch>(launch) : nullptr;
}

bool has_device_time() { return settings().machine != nullptr; }

std::chrono::nanoseconds device_time() { return std::chrono::nanoseconds(nanoseconds.load()); }

}  // namespace lockwarp::cuda
