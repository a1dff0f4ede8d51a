// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "launch/values.hpp"
#include "python/core/engines.hpp"
#include "python/core/failure.hpp"
#include "tools/report/why_report.hpp"
#include "tools/report/why_subject.hpp"

namespace lockwarp::python {

namespace {

// The launch as a launch file whose buffers are copies of the memory, at the addresses it has here.
launch::LaunchFile file_of(const Kernel& kernel, const Request& request,
                           const std::vector<Range>& ranges) {
    launch::LaunchFile out;
    out.path = kernel.source().in.path;
    for (const Range& r : ranges) {
        launch::BufferField b;
        b.name = r.name;
        b.bytes = r.bytes;
        b.address = r.address;
        out.buffers.push_back(std::move(b));
    }
    launch::Kernel k;
    k.entry = kernel.program().entry;
    k.grid = request.grid;
    k.block = request.block;
    k.dynamic_shared = request.dynamic_shared;
    k.cooperative = request.cooperative;
    k.cluster = request.cluster;
    k.non_portable_cluster = request.non_portable_cluster;
    for (const isa::Parameter& p : kernel.program().parameters) {
        launch::Argument a;
        a.type = "bytes";
        const auto begin = request.parameters.begin() + p.offset;
        a.bytes.assign(begin, begin + p.bytes);
        k.arguments.push_back(std::move(a));
    }
    out.launches.push_back(std::move(k));
    return out;
}

launch::Expectation expectation_of(const Wanted& wanted, const std::vector<Range>& ranges) {
    const auto holds = [&](const Range& r) {
        return wanted.address >= r.address &&
               wanted.address - r.address + wanted.bytes.size() <= r.bytes;
    };
    const auto range = std::ranges::find_if(ranges, holds);
    if (range == ranges.end()) throw Failure("the result is none of the launch's arrays");
    launch::Expectation out;
    out.name = range->name;
    out.offset = wanted.address - range->address;
    out.bytes = wanted.bytes.size();
    out.type = launch::value_type(wanted.type);
    if (out.type == isa::Type::none) throw Failure("why compares no values of " + wanted.type);
    out.init.kind = launch::InitKind::values;
    out.init.type = out.type;
    out.init.hex.assign(wanted.bytes.begin(), wanted.bytes.end());
    out.tolerance = {wanted.ulp, wanted.absolute, wanted.relative};
    return out;
}

}  // namespace

Explained why_launch(const Kernel& kernel, const Request& request, const Wanted& wanted,
                     const std::atomic<bool>& stop) {
    const std::vector<Range> ranges = merged(request.memory);
    std::vector<launch::Loaded> steps(1);
    launch::Loaded& loaded = steps.front();
    loaded.in = kernel.source().in;
    loaded.in.launch = file_of(kernel, request, ranges);
    loaded.arch = kernel.source().arch;
    loaded.program = kernel.program();
    launch::State state;
    for (const Range& r : ranges) {
        const auto* const bytes = reinterpret_cast<const uint8_t*>(r.address);
        state.memory.bytes.emplace_back(bytes, bytes + r.bytes);
        state.memory.addresses.push_back(r.address);
    }
    const launch::Expectation e = expectation_of(wanted, ranges);
    why::Subject subject = taken(tools::why_subject(steps, e, state, wanted.rows, wanted.columns));
    subject.stop = &stop;
    const why::Answer answer = taken(why::ask(subject, {}));
    return {tools::why_text(e.name, subject, answer),
            tools::why_json(e.name, subject, answer).dump()};
}

}  // namespace lockwarp::python
