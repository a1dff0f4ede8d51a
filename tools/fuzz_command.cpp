#include "tools/fuzz_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>

#include "gpu/driver.hpp"
#include "tools/files.hpp"
#include "tools/report.hpp"
#include "tools/run_command.hpp"
#include "tools/validate_command.hpp"
#include "validate/fuzz.hpp"

namespace lockwarp::tools {

namespace {

int wrong(const Problem& problem) {
    spdlog::error("{}", problem);
    return wrong_input;
}

std::span<const uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Each found case in a folder of its own: a kernel and its launch file.
Problem save(const std::string& folder, const std::vector<validate::Found>& found) {
    for (size_t i = 0; i < found.size(); ++i) {
        const std::filesystem::path place =
            std::filesystem::path(folder) / fmt::format("{:04}", i + 1);
        if (Problem why = make_folder(place.string()); !why.empty()) return why;
        if (Problem why = write_file((place / "case.ptx").string(), bytes_of(found[i].ptx));
            !why.empty())
            return why;
        if (Problem why = write_file((place / "case.json").string(), bytes_of(found[i].json));
            !why.empty())
            return why;
    }
    return {};
}

}  // namespace

int fuzz_command(const FuzzCommand& command) {
    std::string why;
    const std::unique_ptr<gpu::Engine> engine = gpu::open_device(command.gpu, why);
    if (command.list) {
        const std::optional<isa::Arch> arch = engine ? arch_of(engine->device()) : std::nullopt;
        for (const std::string& name :
             validate::generated_instructions(arch.value_or(isa::Arch::sm_90)))
            fmt::print("{}\n", name);
        return done;
    }
    if (engine == nullptr) {
        spdlog::error("fuzz needs a GPU: {}", why);
        return no_gpu;
    }
    const std::optional<isa::Arch> arch = arch_of(engine->device());
    if (!arch)
        return wrong(engine->device().name + " is sm_" + std::to_string(engine->device().number) +
                     ", which is not modelled");
    validate::FuzzOptions options;
    options.generate.seed = command.seed;
    options.generate.only = command.only;
    options.generate.instructions = command.instructions;
    options.generate.ctas = command.ctas;
    options.cases = command.cases;
    options.threads = command.threads;
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    if (command.seconds > 0) options.enough = [&] { return seconds() > command.seconds; };
    const validate::FuzzReport r = validate::fuzz(options, *arch, *engine);
    for (const validate::Found& f : r.found)
        fmt::print("seed {}: {}{}\n{}\n", f.seed, f.instruction,
                   f.isolated ? ", alone" : ", in its program", f.report);
    if (!r.problem.empty()) return wrong(r.problem);
    fmt::print(
        "{}: {} programs from seed {}, {} register values compared, {} different, {:.0f} s\n",
        r.found.empty() ? "identical" : "DIFFERS", validate::grouped(r.cases), command.seed,
        validate::grouped(r.values), validate::grouped(r.different), seconds());
    fmt::print("{}, sm_{}, driver {}\n", engine->device().name, engine->device().number,
               engine->device().driver);
    uint64_t covered = 0;
    for (const auto& [name, values] : r.instructions) covered += values != 0;
    fmt::print("{} spellings of instructions\n", covered);
    if (r.found.empty()) return done;
    if (Problem problem = save(command.out, r.found); !problem.empty()) return wrong(problem);
    fmt::print("cases in {}\n", command.out);
    return differs_or_trapped;
}

}  // namespace lockwarp::tools
