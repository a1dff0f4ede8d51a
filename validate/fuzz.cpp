// SPDX-License-Identifier: Apache-2.0
#include "validate/fuzz.hpp"
#include "validate/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"
#include "validate/compiler.hpp"
#include "validate/shrink.hpp"
#include "validate/side.hpp"

namespace lockwarp::validate {

namespace {

// What all engines' threads share.
struct Shared {
    const FuzzOptions& options;
    isa::Arch arch;
    std::atomic<uint64_t> next{0};
    std::mutex lock;
    std::string problem;  // the lock guards what follows
    uint64_t problem_at = UINT64_MAX;
    Summary summary;
    std::map<uint64_t, CaseResult> differing;  // by program
    std::set<std::string> spellings;           // of instructions that differed

    Shared(const FuzzOptions& o, isa::Arch a) : options(o), arch(a) {}

    programs::GenerateOptions program(uint64_t n) const {
        programs::GenerateOptions g = options.generate;
        g.seed += n;
        g.arch = arch;
        return g;
    }

    Options how() const {
        Options h;
        h.threads = options.threads;
        h.trace_bytes = options.trace_bytes;
        h.optimization = options.optimization;
        return h;
    }

    // The next program's number; false: there is none, or enough was done.
    bool take(uint64_t& n) {
        {
            const std::lock_guard guard(lock);
            if (!problem.empty() || spellings.size() >= options.max_found) return false;
        }
        if (options.enough && options.enough()) return false;
        n = next.fetch_add(1);
        return n < options.cases;
    }

    void fail(uint64_t n, std::string why) {
        const std::lock_guard guard(lock);
        if (n >= problem_at) return;
        problem_at = n;
        problem = std::move(why);
    }
};

std::string first_problem(uint64_t seed, const Report& r) {
    return fmt::format("seed {}: {}", seed,
                       r.problem.empty() ? r.diagnostics[0].message + ", line " +
                                               std::to_string(r.diagnostics[0].place.line)
                                         : r.problem);
}

void run_programs(Shared& shared, gpu::Engine& engine) {
    for (uint64_t n = 0; shared.take(n);) {
        const programs::GenerateOptions g = shared.program(n);
        const launch::Result<programs::Generated> program = programs::generate(g);
        if (!program) return shared.fail(n, program.error().sentence);
        const Compared compared = compare(program->c, shared.arch, engine, shared.how());
        const Report& r = compared.report;
        if (!r.diagnostics.empty() || !r.problem.empty())
            return shared.fail(n, first_problem(g.seed, r));
        CaseResult result;
        result.name = fmt::format("seed {}", g.seed);
        result.counts = r.counts;
        if (r.first || r.same_fault) {
            result.verdict = Verdict::differs;
            result.text = text_report(r, engine.device(), "case.ptx");
            result.instruction = r.same_fault ? "" : r.spellings[r.first->operation];
        }
        if (compared.differed) {
            result.compiler = compilers_doing(*compared.differed);
            result.text = compared.differed->problem.empty()
                              ? text_report(*compared.differed, engine.device(), "case.ptx")
                              : compared.differed->problem + "\n";
        }
        const std::lock_guard guard(shared.lock);
        add(shared.summary, result, compared.differed.has_value());
        add_instructions(shared.summary, r);
        if (result.verdict == Verdict::differs) {
            shared.spellings.insert(result.instruction);
            shared.differing[n] = std::move(result);
        }
        if (shared.options.progress) shared.options.progress(shared.summary.cases);
    }
}

// Whether the emulator comes to an end of the case soon. A part of a program may not, which would
// cost an engine its whole limit: the instruction that counts a loop may be gone.
bool ends_soon(const launch::Case& c, isa::Arch arch, unsigned threads) {
    constexpr uint64_t max_steps = 1'000'000;
    const isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
    if (!resolved.diagnostics.empty()) return true;  // which the comparison will say
    Memory bytes = c.bytes;
    warp::Launch l;
    l.grid = c.grid;
    l.block = c.block;
    l.dynamic_shared = c.dynamic_shared;
    l.cluster = c.cluster;
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < bytes.size(); ++i) {
        addresses.push_back((i + 1) << 36);
        l.buffers.push_back({c.names[i], addresses[i], bytes[i]});
    }
    launch::patch_buffers(c.buffer_patches, addresses, bytes);
    l.parameters = patched(c, addresses);
    l.max_steps = max_steps;
    l.threads = threads;
    const warp::Result r = exec::launch(resolved.program, l);
    return !r.trap || r.trap->kind != warp::TrapKind::step_limit;
}

// The difference of one program as it is.
Found whole(const Shared& shared, uint64_t n, const CaseResult& result) {
    const programs::GenerateOptions g = shared.program(n);
    const programs::Generated program = programs::generate(g).value();  // it was run before
    Found f;
    f.seed = g.seed;
    f.instruction = result.instruction;
    f.ptx = program.ptx;
    f.json = launch_json(program.c, std::string(isa::row(shared.arch).name));
    f.report = result.text;
    return f;
}

// The difference of one program as a case of its own.
Found shrink(Shared& shared, uint64_t n, gpu::Engine& engine) {
    const programs::GenerateOptions g = shared.program(n);
    const programs::Generated program = programs::generate(g).value();  // it was run before
    const std::string target{isa::row(shared.arch).name};
    const Compare compare = [&](const launch::Case& c) {
        Report none;
        none.problem = "not run";
        if (shared.options.stopped && shared.options.stopped()) return none;
        if (!ends_soon(c, shared.arch, shared.options.threads)) return none;
        return run_lockstep(c, shared.arch, engine, shared.how());
    };
    Found f;
    f.seed = g.seed;
    f.ptx = program.ptx;
    const Report r = compare(program.c);
    if (!r.first) {
        f.report = shared.options.stopped && shared.options.stopped()
                       ? "stopped before it was made small\n"
                       : "the second run of the program did not differ\n";
        f.json = launch_json(program.c, target);
        return f;
    }
    f.instruction = r.spellings[r.first->operation];
    const std::vector<const ptx::Instruction*> all =
        gpu::instructions_of(program.c.module, r.program);
    std::optional<Shrunk> one;
    if (all[r.first->operation] != nullptr)
        one = shrink_to_instruction(r, *all[r.first->operation], compare);
    f.isolated = one.has_value();
    if (!one) one = shrink_program(program.c, r, compare);
    f.ptx = one->ptx;
    f.json = launch_json(one->c, target);
    f.report = text_report(one->report, engine.device(), "case.ptx");
    return f;
}

}  // namespace

FuzzReport fuzz(const FuzzOptions& options, isa::Arch arch, std::span<gpu::Engine* const> engines) {
    FuzzReport out;
    Shared shared(options, arch);
    shared.summary.command = "fuzz";
    {
        std::vector<std::jthread> threads;
        for (gpu::Engine* engine : engines)
            threads.emplace_back([&shared, engine] { run_programs(shared, *engine); });
    }
    out.problem = shared.problem;
    // Programs are taken in order, and each that was taken was ended.
    if (out.problem.empty() && shared.summary.cases != 0)
        shared.summary.seeds = {{options.generate.seed, shared.summary.cases}};
    out.summary = std::move(shared.summary);
    for (const gpu::Engine* engine : engines) {
        const auto same = [&](const gpu::Device& d) { return d == engine->device(); };
        if (std::ranges::none_of(out.summary.devices, same))
            out.summary.devices.push_back(engine->device());
    }
    for (const auto& [n, result] : shared.differing) {
        if (!out.problem.empty()) break;
        if (out.found.size() < options.max_found &&
            std::ranges::find(out.found, result.instruction, &Found::instruction) ==
                out.found.end())
            out.found.push_back(out.found.size() < options.max_shrunk
                                    ? shrink(shared, n, *engines[0])
                                    : whole(shared, n, result));
    }
    if (out.problem.empty() && out.summary.counts.values == 0) out.problem = "nothing was compared";
    return out;
}

}  // namespace lockwarp::validate
