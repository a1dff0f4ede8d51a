// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

#include "gpu/child.hpp"
#include "gpu/driver.hpp"
#include "launch/files.hpp"
#include "launch/variables.hpp"
#include "python/core/engines.hpp"
#include "python/core/failure.hpp"
#include "tools/report/summary_text.hpp"
#include "validate/compiler.hpp"
#include "validate/recording.hpp"

namespace lockwarp::python {

namespace {

// What an address of this process points to, or one past whose end it is; nullopt: none of these.
struct Target {
    size_t range;
    uint64_t offset;
};
std::optional<Target> target_of(const std::vector<Range>& ranges, uint64_t address) {
    const auto after = std::ranges::upper_bound(ranges, address, {}, &Range::address);
    if (after == ranges.begin()) return std::nullopt;
    const Range& r = *std::prev(after);
    if (address - r.address > r.bytes) return std::nullopt;
    return Target{static_cast<size_t>(std::prev(after) - ranges.begin()), address - r.address};
}

// Calls found(byte, target) for each word of 8 bytes, aligned, that is a pointer into the ranges:
// in structs among the parameters, in buffers. No other word has such a value but by design: a
// range is some bytes of 2^64.
template <typename Found>
void find_pointers(std::span<const uint8_t> bytes, uint64_t address,
                   const std::vector<Range>& ranges, const Found& found) {
    if (ranges.empty()) return;
    const uint64_t lowest = ranges.front().address;
    const uint64_t highest = ranges.back().address + ranges.back().bytes;
    for (uint64_t at = -address % 8; at + 8 <= bytes.size(); at += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if (word < lowest || word > highest) continue;
        if (const auto target = target_of(ranges, word)) found(at, *target);
    }
}

// The launch with memory of its own, wherever an engine places it.
launch::Case case_of(const Kernel& kernel, const Request& request) {
    launch::Case out;
    out.module = kernel.source().in.module;
    out.entry = kernel.program().entry;
    out.grid = request.grid;
    out.block = request.block;
    out.dynamic_shared = request.dynamic_shared;
    out.cooperative = request.cooperative;
    out.cluster = request.cluster;
    out.non_portable_cluster = request.non_portable_cluster;
    out.parameters = request.parameters;
    const std::vector<Range> ranges = merged(request.memory);
    for (const Range& r : ranges) {
        const auto* const bytes = reinterpret_cast<const uint8_t*>(r.address);
        out.names.push_back(r.name);
        out.bytes.emplace_back(bytes, bytes + r.bytes);
        out.fixed.push_back(0);
    }
    find_pointers(out.parameters, 0, ranges, [&](uint64_t at, const Target& to) {
        out.patches.push_back({static_cast<uint32_t>(at), to.range, to.offset});
    });
    for (size_t i = 0; i < ranges.size(); ++i)
        find_pointers(out.bytes[i], ranges[i].address, ranges, [&](uint64_t at, const Target& to) {
            out.buffer_patches.push_back({i, at, to.range, to.offset});
        });
    // The module's variables are as the launches so far have left them.
    const std::vector<uint8_t> image = kernel.variables();
    for (const isa::Placed& v : kernel.program().variables)
        if (v.space == ptx::Space::global && v.bytes != 0 &&
            image != kernel.program().global_image) {
            const auto begin =
                image.begin() + static_cast<std::ptrdiff_t>(v.address - isa::module_global_base);
            launch::set_variable(out.module, v.name,
                                 {begin, begin + static_cast<std::ptrdiff_t>(v.bytes)});
        }
    return out;
}

}  // namespace

Validated validate_launch(const Kernel& kernel, const Request& request, unsigned gpu,
                          const std::atomic<bool>& stop) {
    const launch::Case c = case_of(kernel, request);
    gpu::ChildOptions options;
    options.stop = &stop;
    std::string why;
    const std::unique_ptr<gpu::Engine> engine = gpu::open_in_child(
        [gpu](std::string& reason) { return gpu::open_device(gpu, reason, 1); }, options, why);
    if (engine == nullptr) throw NoGpu("validate needs a GPU: " + why);
    Validated out;
    out.device = engine->device();
    const auto* const arch =
        std::ranges::find(isa::arch_rows, out.device.number, &isa::ArchRow::number);
    if (arch == isa::arch_rows.end())
        throw Failure(tools::device_line(out.device) + ": this architecture is not modelled");
    validate::Options how;
    how.threads = request.threads;
    how.max_steps = request.max_steps;
    how.stop = &stop;
    how.drop_tracks = true;
    const validate::Compared compared = validate::compare(c, arch->arch, *engine, how);
    const validate::Report& report = compared.report;
    if (!report.diagnostics.empty()) fail(launch::refused(kernel.source().in, report.diagnostics));
    if (!report.problem.empty()) throw Failure(kernel.program().entry + ": " + report.problem);
    const std::string& path = kernel.source().in.ptx_path;
    out.result = validate::result_of(kernel.program().entry, report, path);
    out.text = validate::text_report(report, out.device, path);
    if (compared.differed) {
        out.result.compiler = validate::compilers_doing(*compared.differed);
        out.text =
            "identical at --optimize 0; the compiler's: " + out.result.compiler + "\n" + out.text;
    }
    out.identical = !report.first && !report.same_fault;
    return out;
}

Replayed replay_file(const std::string& path, unsigned threads, const std::atomic<bool>& stop) {
    Replayed out;
    out.result.name = path;
    out.result.verdict = validate::Verdict::failed;
    const launch::Result<std::vector<uint8_t>> bytes =
        launch::read_file(path, validate::max_recorded);
    if (!bytes) {
        out.result.text = bytes.error().sentence;
        return out;
    }
    const launch::Result<validate::Recording> read = validate::read_recording(*bytes);
    if (!read) {
        out.result.text = path + ": " + read.error().sentence;
        return out;
    }
    validate::Options how;
    how.threads = threads;
    how.stop = &stop;
    out.device = read->answer.device;
    const validate::Report report =
        validate::replay(read->c, *isa::arch_named(read->arch), read->answer, how);
    out.result = validate::result_of(path, report, read->name);
    // The recorded fault is what the emulator was to give.
    if (report.same_fault) out.result.verdict = validate::Verdict::identical;
    out.result.text = out.result.verdict == validate::Verdict::failed
                          ? path + ": " + report.problem
                          : validate::text_report(report, read->answer.device, read->name);
    return out;
}

}  // namespace lockwarp::python
