// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include "python/core/bindings.hpp"
#include "python/core/engines.hpp"
#include "python/core/interruptible.hpp"
#include "python/core/outcome.hpp"
#include "python/core/requests.hpp"
#include "tools/report/summary_text.hpp"
#include "validate/lockstep.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

using Named = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

nb::dict bytes_by_name(const Named& all) {
    nb::dict out;
    for (const auto& [name, bytes] : all) out[name.c_str()] = nb::bytes(bytes.data(), bytes.size());
    return out;
}

nb::dict result_dict(const validate::CaseResult& r, const gpu::Device& device) {
    nb::dict out;
    out["name"] = r.name;
    out["verdict"] = std::string(validate::name_of(r.verdict));
    out["text"] = tools::clean(r.text);
    out["file"] = r.file;
    out["line"] = r.line;
    out["instruction"] = r.instruction;
    out["values"] = r.counts.values;
    out["different"] = r.counts.different;
    out["memory_bytes"] = r.counts.memory_bytes;
    out["memory_different"] = r.counts.memory_different;
    out["masked"] = r.counts.masked;
    out["unwritten"] = r.counts.unwritten;
    out["taken"] = r.counts.taken;
    out["device"] = device.name.empty() ? "" : validate::device_text(device);
    out["compiler"] = r.compiler;
    return out;
}

// (None, text, JSON), or (outcome, "", "") of a program that faults.
nb::tuple time(const Kernel& kernel, const RequestArguments& arguments,
               const std::vector<Pointer>& pointers, const std::string& machine, bool all,
               unsigned lines) {
    const Request request = request_of(arguments);
    TimedLaunch done;
    std::string text, json;
    interruptible([&](const std::atomic<bool>& stop) {
        done = time_launch(kernel, request, pointers, machine, all, stop);
        if (done.fault.result.trap) return;
        text = tools::time_text(done.timed, lines);
        json = tools::time_json(done.timed);
    });
    if (!done.fault.result.trap) return nb::make_tuple(nb::none(), text, json);
    return nb::make_tuple(outcome_object(*done.timed.program, kernel.source().places, done.fault),
                          "", "");
}

nb::dict validated(const Kernel& kernel, const RequestArguments& arguments, unsigned gpu) {
    const Request request = request_of(arguments);
    Validated done;
    interruptible(
        [&](const std::atomic<bool>& stop) { done = validate_launch(kernel, request, gpu, stop); });
    nb::dict out = result_dict(done.result, done.device);
    out["text"] = tools::clean(done.text);
    out["identical"] = done.identical;
    return out;
}

// address, type, rows, columns, bytes; (text, JSON)
nb::tuple why(const Kernel& kernel, const RequestArguments& arguments,
              const std::tuple<uint64_t, std::string, uint64_t, uint64_t, nb::bytes>& expected,
              std::optional<double> ulp, std::optional<double> absolute,
              std::optional<double> relative) {
    const Request request = request_of(arguments);
    const auto& [address, type, rows, columns, data] = expected;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(data.c_str());
    const Wanted wanted{address, type,     rows,    columns, {bytes, bytes + data.size()},
                        ulp,     absolute, relative};
    Explained done;
    interruptible(
        [&](const std::atomic<bool>& stop) { done = why_launch(kernel, request, wanted, stop); });
    return nb::make_tuple(done.text, done.json);
}

nb::tuple run(const std::string& path, const std::string& arch, const std::string& checks,
              unsigned threads, uint64_t max_steps, bool late) {
    FileOutcome done;
    interruptible([&](const std::atomic<bool>& stop) {
        done = run_file(path, arch, checks, threads, max_steps == 0 ? UINT64_MAX : max_steps,
                        exec::Schedule{late}, stop);
    });
    nb::list launches, expectations;
    for (const LaunchedStep& step : done.launches)
        launches.append(nb::make_tuple(step.program.entry,
                                       std::string(isa::row(step.program.arch).name),
                                       outcome_object(step.program, step.places, step.outcome)));
    for (const auto& [held, text] : done.expectations)
        expectations.append(nb::make_tuple(held, text));
    return nb::make_tuple(bytes_by_name(done.outputs), bytes_by_name(done.buffers), launches,
                          expectations);
}

nb::dict replay(const std::string& path, unsigned threads) {
    Replayed done;
    interruptible([&](const std::atomic<bool>& stop) { done = replay_file(path, threads, stop); });
    return result_dict(done.result, done.device);
}

}  // namespace

void bind_engines(nb::module_& m) {
    m.def("time", time);
    m.def("validate", validated);
    m.def("why", why, nb::arg("kernel"), nb::arg("request"), nb::arg("expected"),
          nb::arg("ulp").none(), nb::arg("absolute").none(), nb::arg("relative").none());
    m.def("run", run);
    m.def("replay", replay);
}

}  // namespace lockwarp::python
