// SPDX-License-Identifier: Apache-2.0
// Launches.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "cuda/aside.hpp"
#include "cuda/device_launch.hpp"
#include "cuda/device_queue.hpp"
#include "cuda/family.hpp"
#include "cuda/graph.hpp"
#include "cuda/order.hpp"
#include "cuda/watch.hpp"
#include "emu/exec/grid_limits.hpp"
#include "emu/warp/cluster.hpp"
#include "emu/warp/heap.hpp"
#include "engine/ahead.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

// What the driver says of a kernel that did wrong (CUDA driver API, CUresult).
struct TrapRow {
    lockwarp_trap_kind kind;
    Result result;
};
constexpr std::array trap_rows{
    TrapRow{LOCKWARP_TRAP_OUT_OF_BOUNDS, illegal_address},
    TrapRow{LOCKWARP_TRAP_MISALIGNED, misaligned_address},
    TrapRow{LOCKWARP_TRAP_WRONG_SPACE, invalid_address_space},
    TrapRow{LOCKWARP_TRAP_READ_ONLY, illegal_address},
    TrapRow{LOCKWARP_TRAP_DIVERGED, illegal_instruction},
    TrapRow{LOCKWARP_TRAP_BAD_MASK, illegal_instruction},
    TrapRow{LOCKWARP_TRAP_DEADLOCK, launch_timeout},
    TrapRow{LOCKWARP_TRAP_STACK, hardware_stack_error},
    TrapRow{LOCKWARP_TRAP_STEP_LIMIT, launch_timeout},
    TrapRow{LOCKWARP_TRAP_TRAP, launch_failed},
    TrapRow{LOCKWARP_TRAP_BREAKPOINT, launch_failed},
    TrapRow{LOCKWARP_TRAP_STOPPED, launch_failed},
    TrapRow{LOCKWARP_TRAP_ILLEGAL, illegal_instruction},
};
static_assert(
    [] {
        for (size_t i = 0; i < trap_rows.size(); ++i)
            if (static_cast<size_t>(trap_rows[i].kind) != i) return false;
        return trap_rows.size() == LOCKWARP_TRAP_ILLEGAL + 1;
    }(),
    "trap_rows has a row for each kind of trap, in its order");

// An assertion ends in a trap, and the driver tells it apart: the engine's text begins so.
Result result_of(const lockwarp_trap& trap) {
    if (std::strstr(trap.detail, "ssertion `") != nullptr) return assertion_failed;
    return trap_rows[static_cast<size_t>(trap.kind)].result;
}

void print(Context& context, const lockwarp_result* result) {
    const size_t count = lockwarp_result_printed_count(result);
    if (count == 0) return;
    const std::lock_guard lock(context.mutex);
    for (size_t i = 0; i < count; ++i) {
        lockwarp_printed p{};
        p.struct_size = sizeof p;
        lockwarp_result_printed(result, i, &p);
        context.printed.append(p.text, p.size);
    }
}

// Made for the first kernel that asks for memory or gives it back; a later one may use what that
// one left. nullptr: there is none, or it is too large, which the launch says.
std::shared_ptr<warp::Heap> take_heap(Context& context, const isa::Program& program,
                                      lockwarp_launch_options& options) {
    const bool asks = std::ranges::any_of(
        program.calls, [](const isa::Call& c) { return isa::uses_heap(c.system); });
    const std::lock_guard lock(context.mutex);
    options.heap_bytes = context.limits[malloc_heap];
    if (asks && context.heap == nullptr && options.heap_bytes <= warp::Heap::max_bytes)
        context.heap = std::make_shared<warp::Heap>(isa::heap_base, options.heap_bytes);
    return context.heap;
}

// Which the host may write while a kernel runs. Buffers are named in cuda/memory.cpp.
bool names_memory_of_host(std::string_view text) {
    return text.find("'host memory ") != text.npos || text.find("'managed memory ") != text.npos ||
           text.find("'registered host memory ") != text.npos;
}

using Launched = std::vector<warp::DeviceLaunch>;

// What its threads launched; nullopt: it has failed.
std::optional<Launched> run(UnderWay& launch, Context& context, warp::DeviceAnswers& answers,
                            lockwarp_launch_options& options) {
    const std::shared_ptr<warp::Heap> heap =
        take_heap(context, launch.function.kernel->program, options);
    lockwarp_result* result = nullptr;
    lockwarp_error* error = nullptr;
    const std::unique_ptr<engine::Watch> watch = watch_launch(launch);
    std::optional<engine::Ahead> ahead;
    if (std::function<void()> finish = take_what_is_before())
        ahead.emplace(*launch.function.kernel, std::move(finish));
    if (Aside::of_thread() != nullptr) options.stop = &Aside::stop();
    const engine::Beside beside{watch.get(), heap.get(), ahead ? &*ahead : nullptr,
                                Aside::of_thread(), &answers};
    const lockwarp_status status =
        engine::launch_watched(launch.function.kernel, &options, beside, &result, &error);
    print(context, result);
    Launched launched;
    if (status == LOCKWARP_OK) launched = std::move(result->of.launches);
    std::string text = error != nullptr ? lockwarp_error_message(error) : "";
    Result failed = success;
    if (status == LOCKWARP_TRAPPED) {
        lockwarp_trap trap{};
        trap.struct_size = sizeof trap;
        lockwarp_result_trap(result, &trap);
        failed = result_of(trap);
        text = trap.text;
        if (trap.kind == LOCKWARP_TRAP_DEADLOCK && !has_order() && names_memory_of_host(text))
            text +=
                "\n  where the host writes there after the launch, `lockwarp exec --order 0` "
                "begins "
                "it when the host waits for it";
    }
    lockwarp_result_destroy(result);
    lockwarp_error_destroy(error);
    if (status == LOCKWARP_OK || status == LOCKWARP_STOPPED) return launched;  // the program ends
    if (status == LOCKWARP_INTERNAL)
        report_exception(launch, text);
    else
        say(text);
    if (status == LOCKWARP_OUT_OF_MEMORY) fail(out_of_memory);
    if (failed == success) fail(status == LOCKWARP_INTERNAL ? unknown_error : invalid_value);
    set_fault(failed);
    if (driver().blocking) fail(failed);
    return std::nullopt;
}

}  // namespace

void check_shape(const Function& f, const LaunchShape& s) {
    const warp::Dim3 grid{s.grid[0], s.grid[1], s.grid[2]};
    const warp::Dim3 block{s.block[0], s.block[1], s.block[2]};
    require(exec::is_grid(grid) && exec::is_block(block));
    require(block.count() <= f.info.max_threads);
    require(s.dynamic_shared <= f.max_dynamic);
    std::optional<warp::Dim3> cluster;
    if (has_cluster(s)) cluster = warp::Dim3{s.cluster[0], s.cluster[1], s.cluster[2]};
    const std::string why = warp::cluster_refusal(f.kernel->program, grid, cluster,
                                                  f.attributes[non_portable_cluster] != 0);
    if (why.empty()) return;
    say(why);
    fail(invalid_cluster_size);
}

std::vector<uint8_t> parameters_of(const Function& f, void** parameters, void** extra) {
    std::vector<uint8_t> bytes(f.info.parameter_bytes);
    require(parameters == nullptr || extra == nullptr);
    if (extra != nullptr) {
        const void* buffer = nullptr;
        size_t size = 0;
        // Pairs of a number and a pointer: 1 the bytes, 2 where their count is; 0 ends them.
        for (; *extra != nullptr; extra += 2) {
            const auto what = reinterpret_cast<uintptr_t>(extra[0]);
            require(what == 1 || what == 2);
            if (what == 1)
                buffer = extra[1];
            else if (extra[1] != nullptr)
                size = *static_cast<const size_t*>(extra[1]);
        }
        // As few as one likes, as NCCL gives what it uses of 4,096; on an H200 too.
        require(bytes.empty() || (buffer != nullptr && size != 0));
        require(size <= bytes.size(), launch_out_of_resources);
        if (size != 0) std::memcpy(bytes.data(), buffer, size);
        return bytes;
    }
    require(f.parameters.empty() || parameters != nullptr);
    for (size_t i = 0; i < f.parameters.size(); ++i) {
        const lockwarp_parameter& p = f.parameters[i];
        require(parameters[i] != nullptr);
        std::memcpy(bytes.data() + p.offset, parameters[i], p.size);
    }
    return bytes;
}

namespace {

std::optional<Launched> launch_one(const Function& f, const std::shared_ptr<Context>& context,
                                   const LaunchShape& shape,
                                   const std::vector<uint8_t>& parameters) {
    const auto answers = device_answers(f.module.lock(), context);
    lockwarp_launch_options options{};
    options.struct_size = sizeof options;
    std::copy_n(shape.grid, 3, options.grid);
    std::copy_n(shape.block, 3, options.block);
    options.dynamic_shared = shape.dynamic_shared;
    options.flags = LOCKWARP_LEAVE_OUT_LOADS;
    if (shape.cooperative) options.flags |= LOCKWARP_COOPERATIVE;
    if (driver().late) options.flags |= LOCKWARP_ASYNC_LATE;
    if (f.attributes[non_portable_cluster] != 0) options.flags |= LOCKWARP_NON_PORTABLE_CLUSTER;
    std::copy_n(shape.cluster, 3, options.cluster);
    options.parameters = parameters.data();
    options.parameter_bytes = parameters.size();
    UnderWay under_way(f, shape, parameters);
    return run(under_way, *context, *answers, options);
}

}  // namespace

void launch(const Function& f, const LaunchShape& shape, const std::vector<uint8_t>& parameters) {
    const std::shared_ptr<Context> context = current();
    const std::shared_ptr<Module> module = f.module.lock();
    require(module != nullptr, invalid_handle);
    check_shape(f, shape);
    std::optional<Launched> launched = launch_one(f, context, shape, parameters);
    for (DeviceQueue queue; launched;) {
        queue.add(std::move(*launched));
        std::optional<warp::DeviceLaunch> next = queue.next();
        if (!next) return;
        const DeviceGrid grid = device_grid(module, context, std::move(*next));
        launched = launch_one(*grid.function, context, grid.shape, grid.parameters);
    }
}

namespace {

Result launch_from(Function* handle, const LaunchShape& shape, Stream* stream, void** parameters,
                   void** extra, const std::vector<Event*>& events = {}) {
    return answer([&] {
        const StandIn stand_in(stream);
        current();
        // A kernel runs where its stream is, whichever device is the current one.
        const Within within(context_of(stream));
        const std::shared_ptr<Context> context = current();
        for (Event* const e : events)
            require(driver().events.get(e)->device == context->device, invalid_handle);
        const std::shared_ptr<Function> f = function_here(handle);
        const std::shared_ptr<Module> module = f->module.lock();
        require(module != nullptr && module->device == context->device, invalid_handle);
        submit(stream, KernelWork{f, shape, parameters_of(*f, parameters, extra)});
        // When all CTAs have begun or said so; their end is such a time.
        for (Event* const e : events) record_event(*driver().events.get(e), stream);
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuLaunchKernel(Function* f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      Stream* stream, void** parameters, void** extra) {
    return launch_from(f,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, false, {}},
                       stream, parameters, extra);
}

Result cuLaunchCooperativeKernel(Function* f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared, Stream* stream, void** parameters) {
    return launch_from(f, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, true, {}},
                       stream, parameters, nullptr);
}

Result cuLaunchKernelEx(const LaunchConfig* config, Function* f, void** parameters, void** extra) {
    constexpr uint32_t cooperative = 2, cluster = 4, programmatic = 6;  // CUlaunchAttributeID
    constexpr uint32_t programmatic_event = 7, completion_event = 12;
    if (config == nullptr || (config->attribute_count != 0 && config->attributes == nullptr))
        return invalid_value;
    LaunchShape shape{};
    std::vector<Event*> events;
    std::copy_n(config->grid, 3, shape.grid);
    std::copy_n(config->block, 3, shape.block);
    shape.dynamic_shared = config->dynamic_shared;
    for (uint32_t i = 0; i < config->attribute_count; ++i) {
        const LaunchAttribute& a = config->attributes[i];
        if (a.id == cooperative) shape.cooperative = a.cooperative != 0;
        if (a.id == cluster) std::copy_n(a.cluster, 3, shape.cluster);
        if (a.id == programmatic) shape.programmatic = a.programmatic != 0;
        if (a.id == programmatic_event || a.id == completion_event) events.push_back(a.event);
    }
    return launch_from(f, shape, config->stream, parameters, extra, events);
}

}  // extern "C"
