// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/emulate.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "cuda/beside/forward.hpp"
#include "cuda/device_answers.hpp"
#include "cuda/device_queue.hpp"
#include "cuda/names.hpp"
#include "emu/isa/operation.hpp"
#include "emu/warp/device_answers.hpp"
#include "emu/warp/heap.hpp"
#include "engine/watch.hpp"

namespace lockwarp::beside {

using cuda::success;

namespace {

// Within the program's context, on whichever thread runs the kernel. false: it cannot be.
bool within(void* context, const auto& ask) {
    static const auto push = behind_as<Result(void*)>("cuCtxPushCurrent_v2");
    static const auto pop = behind_as<Result(void**)>("cuCtxPopCurrent_v2");
    if (push(context) != success) return false;
    const bool good = ask();
    pop(&context);
    return good;
}

// The kernel of that name in the module of another, or in its library, as CUDA's runtime has it.
Function* kernel_beside(Function* other, const std::string& name) {
    static const auto module_of = behind_as<Result(Module**, Function*)>("cuFuncGetModule");
    static const auto in_module =
        behind_as<Result(Function**, Module*, const char*)>("cuModuleGetFunction");
    static const auto library_of = behind_as<Result(Library**, Function*)>("cuKernelGetLibrary");
    static const auto in_library =
        behind_as<Result(Function**, Library*, const char*)>("cuLibraryGetKernel");
    static const auto loaded = behind_as<Result(Function**, Function*)>("cuKernelGetFunction");
    Module* module = nullptr;
    Library* library = nullptr;
    Function* function = nullptr;
    if (library_of != nullptr && library_of(&library, other) == success &&
        in_library(&function, library, name.c_str()) == success &&
        loaded(&function, function) == success)
        return function;
    if (module_of(&module, other) == success &&
        in_module(&function, module, name.c_str()) == success)
        return function;
    return nullptr;
}

// CUfunction_attribute.
bool attribute(int& value, int number, Function* function) {
    static const auto get = behind_as<Result(int*, int, Function*)>("cuFuncGetAttribute");
    return function != nullptr && get(&value, number, function) == success;
}

class Answers : public warp::DeviceAnswers {
  public:
    Answers(const Kernel& kernel, Function* function) : kernel_(kernel), function_(function) {
        static const auto current = behind_as<Result(void**)>("cuCtxGetCurrent");
        if (current(&context_) != success) context_ = nullptr;
    }
    bool has_launch(const warp::DeviceLaunch& l) override {
        constexpr uint64_t given = 48 << 10;  // bytes of shared memory, where nothing was set
        constexpr int max_dynamic_shared = 8;
        std::string why;
        const std::optional<Kernel> kernel = kernel_in(kernel_.image, l.kernel, why);
        if (!kernel || l.block.count() > kernel->info.max_threads) return false;
        if (uint64_t{kernel->info.shared_static} + l.dynamic_shared <= given) return true;
        int most = 0;
        return within(context_,
                      [&] {
                          return attribute(most, max_dynamic_shared,
                                           kernel_beside(function_, l.kernel));
                      }) &&
               l.dynamic_shared <= static_cast<uint32_t>(most);
    }
    // Where the text lies is the GPU's own.
    std::string error_text(int, bool) override { return asked(), std::string(); }
    Answer limit(int limit) override {
        static const auto get = behind_as<Result(size_t*, int)>("cuCtxGetLimit");
        size_t value = 0;
        return known(value, [&] { return get(&value, limit) == success; });
    }
    Answer device_attribute(int number, int device) override {
        static const auto own = behind_as<Result(int*)>("cuCtxGetDevice");
        static const auto get = behind_as<Result(int*, int, int)>("cuDeviceGetAttribute");
        int value = 0;
        return known(value, [&] {
            int host = 0;
            return device == 0 && own(&host) == success && get(&value, number, host) == success;
        });
    }
    Answer function_attributes(const std::string& kernel) override {
        cuda::KernelAttributes all{};
        return known(all, [&] {
            Function* const function = kernel_beside(function_, kernel);
            bool good = true;
            all = cuda::kernel_attributes([&](int number) {
                int value = 0;
                good = attribute(value, number, function) && good;
                return value;
            });
            return good;
        });
    }
    Answer resident_ctas(const std::string& kernel, int threads, uint64_t dynamic) override {
        static const auto get = behind_as<Result(int*, Function*, int, size_t)>(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor");
        int ctas = 0;
        return known(ctas, [&] {
            Function* const function = kernel_beside(function_, kernel);
            return function != nullptr && get(&ctas, function, threads, dynamic) == success;
        });
    }

    bool was_asked() const { return asked_; }

  private:
    Answer asked() {
        asked_ = true;
        return {};
    }
    // What the driver says, where it does.
    Answer known(const auto& value, const auto& ask) {
        return within(context_, ask) ? cuda::answered(success, value) : asked();
    }

    std::atomic<bool> asked_{false};
    const Kernel& kernel_;
    Function* function_;
    void* context_ = nullptr;
};

struct Emulator {
    Snapshot& memory;
    Answers& answers;
    std::vector<lockwarp_function_address> functions;
    std::optional<warp::Heap> heap{};  // of malloc, from the first kernel on that asks for memory
    std::vector<warp::DeviceLaunch> launched{};  // by the kernel that has run

    Emulated run(const Kernel& kernel, const Shape& shape, const std::vector<uint8_t>& parameters);
    Emulated run(const Kernel& first, warp::DeviceLaunch launch);
    std::string copy_or_fill(const warp::DeviceLaunch& launch);
    uint8_t* bytes_at(Address address, uint64_t size);
};

Emulated Emulator::run(const Kernel& kernel, const Shape& shape,
                       const std::vector<uint8_t>& parameters) {
    if (kernel.uses.allocates && !heap) heap.emplace(isa::heap_base, warp::Launch{}.heap_bytes);
    lockwarp_launch_options o{};
    o.struct_size = sizeof o;
    std::copy_n(shape.grid, 3, o.grid);
    std::copy_n(shape.block, 3, o.block);
    std::copy_n(shape.cluster, 3, o.cluster);
    o.dynamic_shared = shape.dynamic_shared;
    o.flags = LOCKWARP_NON_PORTABLE_CLUSTER | LOCKWARP_LEAVE_OUT_LOADS;
    if (shape.cooperative) o.flags |= LOCKWARP_COOPERATIVE;
    o.parameters = parameters.data();
    o.parameter_bytes = parameters.size();
    std::vector<lockwarp_range> ranges;
    for (auto& [base, r] : memory.ranges)
        ranges.push_back({r.bytes.data(), base, r.bytes.size(), "memory of the GPU"});
    o.ranges = ranges.data();
    o.range_count = ranges.size();
    o.functions = functions.data();
    o.function_count = functions.size();
    engine::Beside beside;
    if (heap) {
        beside.heap = &*heap;
        o.heap_bytes = heap->bytes();
    }
    beside.device = &answers;
    lockwarp_result* result = nullptr;
    lockwarp_error* error = nullptr;
    Emulated out;
    if (engine::launch_watched(kernel.kernel, &o, beside, &result, &error) == LOCKWARP_OK)
        launched = std::move(result->of.launches);
    else
        out.why = error != nullptr ? lockwarp_error_message(error) : "no memory";
    lockwarp_result_destroy(result);
    lockwarp_error_destroy(error);
    return out;
}

// Where the launch has bytes, one behind the other; nullptr: it does not.
uint8_t* Emulator::bytes_at(Address address, uint64_t size) {
    const auto within = [&](Address base, uint64_t bytes) {
        return address >= base && address - base <= bytes && size <= bytes - (address - base);
    };
    if (const auto next = memory.ranges.upper_bound(address); next != memory.ranges.begin()) {
        auto& [base, r] = *std::prev(next);
        if (within(base, r.size)) return r.bytes.data() + (address - base);
    }
    for (const Variable& v : memory.variables)
        if (within(v.of.address, v.of.size))
            return static_cast<uint8_t*>(v.of.bytes) + (address - v.of.address);
    return nullptr;
}

std::string Emulator::copy_or_fill(const warp::DeviceLaunch& l) {
    const warp::DeviceRows& r = l.rows;
    const bool is_copy = l.work == warp::DeviceWork::copy;
    for (uint64_t y = 0; y < r.height; ++y) {
        uint8_t* const to = bytes_at(r.to + y * r.to_pitch, r.width);
        const uint8_t* const from = is_copy ? bytes_at(r.from + y * r.from_pitch, r.width) : to;
        if (to == nullptr || from == nullptr)
            return "a copy or a fill by a kernel is out of bounds";
        if (is_copy)
            std::memmove(to, from, r.width);
        else
            std::memset(to, 0, r.width);  // whatever its value: see cuda/device_launch.cpp
    }
    return {};
}

Emulated Emulator::run(const Kernel& first, warp::DeviceLaunch l) {
    launched.clear();
    if (l.work != warp::DeviceWork::kernel) return {copy_or_fill(l), false, false};
    std::string why;
    const std::optional<Kernel> kernel = kernel_in(first.image, l.kernel, why);
    if (!kernel) return {why, false, false};
    if (kernel->uses.textures)
        return {cuda::brief(l.kernel) + " uses textures or surfaces, which are the GPU's own", true,
                false};
    Shape shape{};
    shape.dynamic_shared = l.dynamic_shared;
    const std::array grid{l.grid.x, l.grid.y, l.grid.z};
    const std::array block{l.block.x, l.block.y, l.block.z};
    std::copy_n(grid.begin(), 3, shape.grid);
    std::copy_n(block.begin(), 3, shape.block);
    return run(*kernel, shape, l.parameters);
}

}  // namespace

Emulated emulate(const Kernel& kernel, Function* function, const Shape& shape,
                 const std::vector<uint8_t>& parameters, Snapshot& memory) {
    const CodeAddresses& code = kernel.image->code;
    std::vector<uint8_t> own = parameters;
    code.to_emulator(0, own);
    memory.to_emulator(code);
    for (const Variable& v : memory.variables)
        std::memcpy(v.of.bytes, v.bytes.data(), v.bytes.size());
    Answers answers(kernel, function);
    Emulator emulator{memory, answers, code.small()};
    Emulated out = emulator.run(kernel, shape, own);
    for (cuda::DeviceQueue queue; out.why.empty();) {
        queue.add(std::move(emulator.launched));
        std::optional<warp::DeviceLaunch> next = queue.next();
        if (!next) break;
        out = emulator.run(kernel, std::move(*next));
    }
    if (answers.was_asked())
        out = {"it asks the device's runtime for what the GPU alone knows", true, false};
    out.allocates = emulator.heap.has_value();
    for (Variable& v : memory.variables) std::memcpy(v.bytes.data(), v.of.bytes, v.bytes.size());
    memory.to_gpu(code);
    return out;
}

}  // namespace lockwarp::beside
