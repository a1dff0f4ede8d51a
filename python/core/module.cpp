// SPDX-License-Identifier: Apache-2.0
#include "python/core/module.hpp"

#include <algorithm>
#include <span>

#include "launch/entry.hpp"
#include "launch/nvcc.hpp"
#include "python/core/failure.hpp"
#include "python/core/listeners.hpp"

namespace lockwarp::python {

namespace {

constexpr uint64_t max_source_bytes = uint64_t{1} << 28;

}  // namespace

std::shared_ptr<Module> Module::of_text(std::string text, const std::string& name,
                                        const std::string& arch) {
    auto out = std::make_shared<Module>();
    launch::Input& in = out->source_->in;
    in.path = in.ptx_path = name;
    in.source = std::move(text);
    out->read(arch);
    return out;
}

std::shared_ptr<Module> Module::of_file(const std::string& path, const std::string& arch,
                                        const std::vector<std::string>& nvcc) {
    auto out = std::make_shared<Module>();
    launch::Input& in = out->source_->in;
    in.path = in.ptx_path = path;
    if (path.ends_with(".cu")) {
        launch::Compiled made = taken(launch::compile_cuda(path, arch, nvcc));
        in.source = std::move(made.ptx);
        in.ptx_path = std::move(made.path);
        in.compiled = std::move(made.folder);
    } else {
        if (!nvcc.empty()) throw Failure(path + ": options for nvcc are given, and this is no .cu");
        in.source = taken(launch::read_text(path, max_source_bytes));
    }
    out->read(arch);
    return out;
}

void Module::read(const std::string& arch) {
    launch::Input& in = source_->in;
    ptx::Parsed parsed = ptx::parse(in.source);
    if (!parsed.diagnostics.empty()) fail(launch::refused(in, std::move(parsed.diagnostics)));
    in.module = std::move(parsed.module);
    in.launch.path = in.path;
    in.launch.launches.emplace_back();  // sets no variables
    source_->arch = taken(launch::choose_arch(in, arch));
    source_->places = ptx::source_map(in.module);
}

std::vector<std::string> Module::entries() const {
    std::vector<std::string> out;
    for (const ptx::Function* f : launch::entries(source_->in.module)) out.push_back(f->name);
    return out;
}

std::shared_ptr<Kernel> Module::kernel(const std::string& name) {
    const launch::Input& in = source_->in;
    const launch::Result<std::string> entry = launch::find_entry(in.module, name);
    if (!entry) throw Failure(in.path + ": " + entry.error().sentence);
    const std::lock_guard guard(lock_);
    std::shared_ptr<Kernel>& kept = kernels_[*entry];
    if (kept == nullptr) {
        isa::Resolved resolved = isa::resolve(in.module, source_->arch, *entry);
        if (!resolved.diagnostics.empty())
            fail(launch::refused(in, std::move(resolved.diagnostics)));
        kept = std::make_shared<Kernel>(source_, std::move(resolved.program));
    }
    return kept;
}

std::vector<Range> merged(std::vector<Range> ranges) {
    std::erase_if(ranges, [](const Range& r) { return r.bytes == 0; });
    std::ranges::sort(ranges, {}, &Range::address);
    std::vector<Range> out;
    for (Range& r : ranges) {
        if (r.address + r.bytes < r.address)
            throw Failure("memory '" + r.name + "': its end lies beyond 64 bits");
        if (out.empty() || r.address >= out.back().address + out.back().bytes) {
            out.push_back(std::move(r));
            continue;
        }
        Range& last = out.back();
        last.bytes = std::max(last.bytes, r.address - last.address + r.bytes);
        if (last.name != r.name) last.name += ", " + r.name;
    }
    return out;
}

void check_early(const exec::Schedule& schedule, bool checks) {
    if (schedule.late && checks)
        throw Failure("schedule=\"late\": checks are of the early schedule");
}

warp::Launch Kernel::prepare(const Request& request) const {
    warp::Launch out;
    out.grid = request.grid;
    out.block = request.block;
    out.dynamic_shared = request.dynamic_shared;
    out.cooperative = request.cooperative;
    out.cluster = request.cluster;
    out.non_portable_cluster = request.non_portable_cluster;
    out.parameters = request.parameters;
    out.threads = request.threads;
    out.max_steps = request.max_steps;
    for (Range& r : merged(request.memory))
        out.buffers.push_back(
            {std::move(r.name), r.address, {reinterpret_cast<uint8_t*>(r.address), r.bytes}});
    return out;
}

std::vector<uint8_t> Kernel::variables() const {
    const std::lock_guard guard(source_->lock);
    return launch::variables_before(source_->state, source_->in, program_);
}

void Kernel::run(warp::Launch& launch, const exec::Schedule& schedule, Outcome& out) const {
    if (program_.global_image.empty()) {
        out.result = exec::launch(*ready_, launch, schedule);
        return;
    }
    const std::lock_guard guard(source_->lock);
    std::vector<uint8_t> variables =
        launch::variables_before(source_->state, source_->in, program_);
    launch.variables = &variables;
    out.result = exec::launch(*ready_, launch, schedule);
    if (!out.result.refusal)
        launch::keep_variables(source_->state, source_->in, program_, variables);
}

Outcome Kernel::launch(const Request& request, const std::vector<const check::CheckRow*>& checks,
                       const check::Described& described, const std::atomic<bool>& stop) const {
    check_early(request.schedule, !checks.empty());
    warp::Launch launch = prepare(request);
    launch.stop = &stop;
    const Listeners listeners(checks, program_, launch, &source_->in.module, described);
    Outcome out;
    run(launch, request.schedule, out);
    if (out.result.refusal) throw Failure(program_.entry + ": " + out.result.refusal->what);
    listeners.conclude(source_->in, program_, out);
    return out;
}

}  // namespace lockwarp::python
