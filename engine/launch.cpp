// SPDX-License-Identifier: Apache-2.0
// Launches.
#include <chrono>
#include <exception>
#include <functional>

#include "emu/exec/schedule.hpp"
#include "emu/isa/function_address.hpp"
#include "engine/error.hpp"
#include "engine/handles.hpp"
#include "engine/observe.hpp"
#include "engine/report.hpp"
#include "engine/structs.hpp"
#include "engine/watch.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace {

constexpr uint32_t known_flags = LOCKWARP_COOPERATIVE | LOCKWARP_PLAIN_ARITHMETIC |
                                 LOCKWARP_NO_FOLDING | LOCKWARP_NON_PORTABLE_CLUSTER |
                                 LOCKWARP_ASYNC_LATE | LOCKWARP_LEAVE_OUT_LOADS;
constexpr uint32_t default_poll = 20;  // milliseconds

constexpr uint32_t or_1(uint32_t n) { return n == 0 ? 1 : n; }

warp::Launch launch_of(const lockwarp_launch_options& o, const lockwarp_module& m) {
    if ((o.flags & ~known_flags) != 0)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: flags has bits that are not known");
    if (o.reserved != 0) fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: reserved is not 0");
    if (o.unwritten_byte > 0xff)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: unwritten_byte is above 255");
    if (o.parameter_bytes != 0 && o.parameters == nullptr)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: parameters is NULL");
    if (o.range_count != 0 && o.ranges == nullptr)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: ranges is NULL");
    if (o.function_count != 0 && o.functions == nullptr)
        fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: functions is NULL");
    warp::Launch l;
    l.grid = {or_1(o.grid[0]), or_1(o.grid[1]), or_1(o.grid[2])};
    l.block = {or_1(o.block[0]), or_1(o.block[1]), or_1(o.block[2])};
    l.dynamic_shared = o.dynamic_shared;
    if ((o.cluster[0] | o.cluster[1] | o.cluster[2]) != 0)
        l.cluster = warp::Dim3{or_1(o.cluster[0]), or_1(o.cluster[1]), or_1(o.cluster[2])};
    l.non_portable_cluster = (o.flags & LOCKWARP_NON_PORTABLE_CLUSTER) != 0;
    l.cooperative = (o.flags & LOCKWARP_COOPERATIVE) != 0;
    l.plain_arithmetic = (o.flags & LOCKWARP_PLAIN_ARITHMETIC) != 0;
    l.fold_constants = (o.flags & LOCKWARP_NO_FOLDING) == 0;
    l.leave_out_loads = (o.flags & LOCKWARP_LEAVE_OUT_LOADS) != 0;
    const auto* const bytes = static_cast<const uint8_t*>(o.parameters);
    l.parameters.assign(bytes, bytes + o.parameter_bytes);
    l.constants = {m.constants.get(), m.constant_bytes};
    for (size_t i = 0; i < o.function_count; ++i) {
        const std::optional<uint32_t> number = isa::function_number(o.functions[i].emulators);
        if (!number)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: functions has an address of none");
        l.functions.push_back({o.functions[i].address, *number});
    }
    if (o.max_steps != 0) l.max_steps = o.max_steps;
    l.threads = o.threads;
    l.turn = o.turn;
    if (o.heap_bytes != 0) l.heap_bytes = o.heap_bytes;
    l.unwritten_byte = static_cast<uint8_t>(o.unwritten_byte);
    l.first_cta = o.first_cta;
    l.ctas = o.ctas;
    if (o.stop != nullptr) l.stop = &o.stop->wanted;
    return l;
}

// The kernel for launches with these options; made once.
const exec::Ready& ready_for(const lockwarp_kernel& kernel, const warp::Launch& l) {
    const std::lock_guard lock(kernel.mutex);
    std::shared_ptr<const exec::Ready>& ready =
        kernel.ready[(l.plain_arithmetic ? 1 : 0) + (l.fold_constants ? 2 : 0)];
    if (ready == nullptr)
        ready = exec::make_ready(kernel.program, l.plain_arithmetic, l.fold_constants);
    return *ready;
}

// Runs on another thread; this one asks now and then whether to go on.
warp::Result run_polled(const exec::Ready& ready, warp::Launch& launch,
                        const exec::Schedule& schedule, const lockwarp_launch_options& o,
                        Runners& runners) {
    std::atomic<bool> wanted{false};
    const std::atomic<bool>* const also = launch.stop;
    launch.stop = &wanted;
    warp::Result result;
    std::exception_ptr thrown;
    const std::function<void()> work = [&] {
        try {
            result = exec::launch(ready, launch, schedule);
        } catch (...) {
            thrown = std::current_exception();
        }
    };
    const std::chrono::milliseconds interval(o.poll_milliseconds != 0 ? o.poll_milliseconds
                                                                      : default_poll);
    std::unique_ptr<Runner> runner = runners.take();
    runner->begin(work);
    while (!runner->wait(interval))
        if (!wanted && (o.poll(o.poll_user) != 0 || (also != nullptr && *also))) wanted = true;
    runners.give(std::move(runner));
    if (thrown) std::rethrow_exception(thrown);
    return result;
}

}  // namespace

lockwarp_status engine::launch_watched(const lockwarp_kernel* kernel,
                                       const lockwarp_launch_options* options, const Beside& beside,
                                       lockwarp_result** result, lockwarp_error** error) {
    return guarded(error, [&] {
        if (result != nullptr) *result = nullptr;
        if (kernel == nullptr || options == nullptr || !is_known(options))
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: kernel or options");
        const lockwarp_launch_options o = taken(options);
        const lockwarp_module& m = *kernel->module;
        warp::Launch launch = launch_of(o, m);
        const isa::Program& program = kernel->program;
        if (launch.parameters.size() != program.parameter_bytes)
            fail(LOCKWARP_INVALID_ARGUMENT, std::to_string(launch.parameters.size()) +
                                                " bytes of parameters: " + program.entry + " has " +
                                                std::to_string(program.parameter_bytes));
        std::vector<Range> with_own;
        if (o.range_count == 0) {
            launch.common = m.context->memory.buffers();
        } else {
            with_own = m.context->memory.ranges();
            for (size_t i = 0; i < o.range_count; ++i) with_own.push_back(checked(o.ranges[i]));
            launch.buffers = buffers_of(with_own);
        }
        if (!is_known(o.observer)) fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_launch: observer");
        Listener listener(*kernel, taken(o.observer));
        if (o.observer != nullptr) launch.observers = {&listener};
        launch.heap = beside.heap;
        launch.outside = beside.outside;
        launch.device = beside.device;
        if (beside.watch != nullptr) beside.watch->before(*kernel, launch);
        auto out = std::make_unique<lockwarp_result>();
        out->grid = launch.grid;
        out->block = launch.block;
        const exec::Ready& ready = ready_for(*kernel, launch);
        const exec::Schedule schedule{(o.flags & LOCKWARP_ASYNC_LATE) != 0};
        if (beside.inspector != nullptr)
            out->of = exec::inspect(ready, launch, *beside.inspector, schedule);
        else
            out->of = o.poll != nullptr ? run_polled(ready, launch, schedule, o, m.context->runners)
                                        : exec::launch(ready, launch, schedule);
        if (out->of.refusal) fail(LOCKWARP_REFUSED, program.entry + ": " + out->of.refusal->what);
        if (beside.watch != nullptr) beside.watch->after(*kernel, launch, out->of);
        lockwarp_status status = LOCKWARP_OK;
        if (out->of.trap) {
            report_trap(*out, *kernel, o.range_count == 0 ? m.context->memory.ranges() : with_own);
            status =
                out->of.trap->kind == warp::TrapKind::stopped ? LOCKWARP_STOPPED : LOCKWARP_TRAPPED;
            put_error(error, status, out->text);
        }
        if (result != nullptr) *result = out.release();
        return status;
    });
}

lockwarp_status lockwarp_launch(const lockwarp_kernel* kernel,
                                const lockwarp_launch_options* options, lockwarp_result** result,
                                lockwarp_error** error) {
    return launch_watched(kernel, options, {}, result, error);
}

void lockwarp_result_destroy(lockwarp_result* result) { delete result; }
