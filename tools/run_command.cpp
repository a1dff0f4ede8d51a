#include "tools/run_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "emu/lockwarp.hpp"
#include "tools/input.hpp"
#include "tools/matrices.hpp"
#include "tools/report.hpp"

namespace lockwarp::tools {

namespace {

std::atomic<bool> interrupt{false};

void on_interrupt(int) { interrupt.store(true, std::memory_order_relaxed); }

int wrong(const Problem& problem) {
    spdlog::error("{}", problem);
    return wrong_input;
}

// A bar on a terminal for runs of more than two seconds.
class Progress {
  public:
    Progress(const std::atomic<uint64_t>& ended, uint64_t ctas) {
        if (::isatty(STDERR_FILENO) == 0) return;
        thread_ = std::jthread([&ended, ctas](const std::stop_token& stop) {
            using Clock = std::chrono::steady_clock;
            const Clock::time_point begin = Clock::now();
            bool drawn = false;
            while (!stop.stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
                if (seconds < 2 || stop.stop_requested()) continue;
                const uint64_t n = ended.load(std::memory_order_relaxed);
                const auto filled = static_cast<size_t>(n * 40 / ctas);
                fmt::print(stderr, "\r[{:<40}] {} of {} CTAs, {:.0f} s ", std::string(filled, '#'),
                           validate::grouped(n), validate::grouped(ctas), seconds);
                std::fflush(stderr);
                drawn = true;
            }
            if (drawn) fmt::print(stderr, "\r{:78}\r", "");
        });
    }

  private:
    std::jthread thread_;
};

Buffers views(const std::vector<BufferField>& fields,
              const std::vector<std::vector<uint8_t>>& storage) {
    Buffers out;
    for (size_t i = 0; i < fields.size(); ++i) out[fields[i].name] = storage[i];
    return out;
}

Problem write_outputs(const LaunchFile& file, const Prepared& prepared, const std::string& folder) {
    if (Problem why = make_folder(folder); !why.empty()) return why;
    for (const std::string& name : file.outputs)
        for (size_t i = 0; i < file.buffers.size(); ++i)
            if (file.buffers[i].name == name) {
                const std::string path = (std::filesystem::path(folder) / (name + ".bin")).string();
                if (Problem why = write_file(path, prepared.storage[i]); !why.empty()) return why;
            }
    return {};
}

std::string statistics(const warp::Statistics& s, double seconds) {
    return fmt::format(
        "instructions     {:>18}   retired by warps\n"
        "lane operations  {:>18}   {:.3g} a second\n"
        "products         {:>18}   multiply-adds of matrix instructions, {:.3g} a second\n"
        "CTAs, warps      {:>18}   {} warps\n"
        "seconds          {:>18.3f}\n",
        validate::grouped(s.instructions), validate::grouped(s.lane_operations),
        static_cast<double>(s.lane_operations) / seconds, validate::grouped(s.products),
        static_cast<double>(s.products) / seconds, validate::grouped(s.ctas),
        validate::grouped(s.warps), seconds);
}

}  // namespace

int run_command(const RunOptions& options) {
    std::vector<PrintRequest> prints(options.print.size());
    std::vector<ProductRequest> products(options.product.size());
    for (size_t i = 0; i < prints.size(); ++i)
        if (Problem why = parse_print(options.print[i], prints[i]); !why.empty()) return wrong(why);
    for (size_t i = 0; i < products.size(); ++i)
        if (Problem why = parse_product(options.product[i], products[i]); !why.empty())
            return wrong(why);

    Input in;
    if (Problem why = read_input(options.files, options.arch, in); !why.empty()) return wrong(why);
    for (const std::string& w : in.launch.warnings) spdlog::warn("{}", w);
    const auto refuse = [&](const std::vector<ptx::Diagnostic>& diagnostics) {
        fmt::print(stderr, "{}", diagnostics_report(in, diagnostics));
        return wrong_input;
    };
    const ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty()) return refuse(parsed.diagnostics);
    isa::Arch arch{};
    std::vector<ptx::Diagnostic> diagnostics;
    if (Problem why = choose_arch(in, options.arch, parsed.module, arch, diagnostics); !why.empty())
        return wrong(why);
    if (!diagnostics.empty()) return refuse(diagnostics);
    const isa::Resolved resolved = isa::resolve(parsed.module, arch, in.launch.entry);
    if (!resolved.diagnostics.empty()) return refuse(resolved.diagnostics);

    Prepared prepared;
    if (Problem why = prepare(in.launch, resolved.program, prepared); !why.empty())
        return wrong(why);
    // Whatever can be wrong with a request is said before the run, not after it.
    std::vector<std::vector<uint8_t>> inputs;
    if (!products.empty()) inputs = prepared.storage;
    {
        const Buffers now = views(in.launch.buffers, prepared.storage);
        for (const PrintRequest& p : prints)
            if (Problem why = check_print(p, now); !why.empty()) return wrong(why);
        for (const ProductRequest& p : products)
            if (Problem why = check_product(p, now); !why.empty()) return wrong(why);
    }
    if (!options.out.empty())
        if (Problem why = make_folder(options.out); !why.empty()) return wrong(why);

    std::atomic<uint64_t> ended{0};
    prepared.launch.progress = &ended;
    prepared.launch.stop = &interrupt;
    prepared.launch.threads = options.threads;
    if (options.max_steps != 0) prepared.launch.max_steps = options.max_steps;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);

    const auto begin = std::chrono::steady_clock::now();
    warp::Result result;
    {
        const Progress progress(ended, in.launch.grid.count());
        result = exec::launch(resolved.program, prepared.launch);
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (result.refusal) return wrong(in.launch.path + ": " + result.refusal->what);
    if (result.trap && result.trap->kind == warp::TrapKind::stopped) {
        spdlog::error("stopped; no output was written");
        return interrupted;
    }
    if (result.trap) {
        fmt::print("{}", trap_report(in.ptx_path, in.source, resolved.program, *result.trap));
        if (options.stats) fmt::print("{}", statistics(result.statistics, seconds));
        return differs_or_trapped;
    }

    fmt::print("done: {} on {}, {} CTA{}, {} instructions\n", resolved.program.entry,
               isa::row(arch).name, validate::grouped(result.statistics.ctas),
               result.statistics.ctas == 1 ? "" : "s",
               validate::grouped(result.statistics.instructions));
    const Buffers after = views(in.launch.buffers, prepared.storage);
    std::string text;
    for (const PrintRequest& p : prints) print_matrix(p, after, text);
    for (const ProductRequest& p : products)
        product_report(p, views(in.launch.buffers, inputs), after, text);
    if (options.stats) text += statistics(result.statistics, seconds);
    fmt::print("{}", text);
    if (!options.out.empty())
        if (Problem why = write_outputs(in.launch, prepared, options.out); !why.empty())
            return wrong(why);
    if (std::fflush(stdout) != 0) return wrong("the output could not be written");
    return done;
}

}  // namespace lockwarp::tools
