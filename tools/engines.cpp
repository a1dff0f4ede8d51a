// SPDX-License-Identifier: Apache-2.0
#include "tools/engines.hpp"

#include <CLI/CLI.hpp>
#include <charconv>

#include "gpu/child.hpp"
#include "gpu/driver.hpp"
#include "tools/progress.hpp"

namespace lockwarp::tools {

namespace {

// More than any machine has; "all" ends at the first number that is not there.
constexpr unsigned max_gpus = 1024;

launch::Result<std::vector<unsigned>> parse_numbers(const std::string& text) {
    std::vector<unsigned> out;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        unsigned number = 0;
        const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, number, 10);
        if (error != std::errc{} || stop != text.data() + end || number >= max_gpus)
            return launch::failure("--gpus " + text + ": expected all, or numbers such as 0,2");
        out.push_back(number);
        at = end + 1;
    }
    return out;
}

}  // namespace

std::unique_ptr<gpu::Engine> open_gpu(const EngineOptions& o, unsigned gpu, std::string& why) {
    gpu::ChildOptions options;
    options.limit_seconds = o.limit_seconds;
    options.compile_seconds = o.compile_seconds;
    options.stop = &interrupt_flag();
    return gpu::open_in_child(
        [gpu, n = o.processes](std::string& reason) { return gpu::open_device(gpu, reason, n); },
        options, why);
}

void add_engine_options(CLI::App& command, EngineOptions& o) {
    command
        .add_option("--gpus,--gpu", o.gpus,
                    "the GPUs of this machine to use: all, or numbers such as 0,2 (default: 0)")
        ->type_name("LIST");
    command
        .add_option("--limit", o.limit_seconds,
                    "stop a kernel on the GPU after so many seconds (default: 60; 0: never)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6));
    command
        .add_option("--compile-limit", o.compile_seconds,
                    "give up compiling a kernel for the GPU after so many seconds (default: 300; "
                    "0: never)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e6));
    command
        .add_option("--optimize", o.optimization,
                    "level of the driver's compiler, 0 to 4 (default: 4)")
        ->type_name("LEVEL")
        ->check(CLI::Range(0u, 4u));
}

std::optional<isa::Arch> arch_of(const gpu::Device& device) {
    for (const isa::ArchRow& a : isa::arch_rows)
        if (a.number == device.number) return a.arch;
    return std::nullopt;
}

launch::Result<Engines> open_gpus(const EngineOptions& o, unsigned each) {
    const bool every = o.gpus == "all";
    std::vector<unsigned> numbers;
    if (!every) {
        launch::Result<std::vector<unsigned>> listed = parse_numbers(o.gpus);
        if (!listed) return launch::failure(listed);
        numbers = std::move(*listed);
    }
    Engines out;
    for (unsigned i = 0; every ? i < max_gpus : i < numbers.size(); ++i)
        for (unsigned k = 0; k < each; ++k) {
            std::string why;
            const unsigned number = every ? i : numbers[i];
            auto engine = open_gpu(o, number, why);
            if (engine == nullptr) {
                if (every && i != 0) return out;
                if (out.all.empty()) {
                    out.no_gpu = why;
                    return out;
                }
                return launch::failure(why);
            }
            const std::optional<isa::Arch> arch = arch_of(engine->device());
            const std::string name =
                engine->device().name + " is sm_" + std::to_string(engine->device().number);
            if (!arch) return launch::failure(name + ", which is not modelled");
            if (!out.all.empty() && *arch != out.arch)
                return launch::failure(name + ", GPU 0 of the list is " +
                                       std::string(isa::row(out.arch).name) +
                                       ": a run is for one architecture");
            out.arch = *arch;
            out.all.push_back(std::move(engine));
            out.numbers.push_back(number);
        }
    return out;
}

}  // namespace lockwarp::tools
