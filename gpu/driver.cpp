// SPDX-License-Identifier: Apache-2.0
#include "gpu/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "emu/isa/placement.hpp"
#include "emu/ptx/parser.hpp"
#include "gpu/fixed_memory.hpp"
#include "gpu/ptx_version.hpp"

namespace lockwarp::gpu {

namespace {

// The driver API's types and numbers that are used here (CUDA driver API, version 12 and later;
// the entry points named _v2 are those that cuda.h of 64-bit systems means).
using Result = int;
using DeviceId = int;
using Handle = struct Opaque*;
using Address = unsigned long long;

constexpr Result success = 0;
constexpr int attribute_clock_khz = 13;
constexpr int attribute_sms = 16;
constexpr int attribute_sm_threads = 39;
constexpr int attribute_major = 75;
constexpr int attribute_minor = 76;
constexpr int function_dynamic_shared = 8;
constexpr int jit_error_log = 5;
constexpr int jit_error_log_bytes = 6;
constexpr int jit_optimization = 7;
constexpr int limit_stack = 0;
constexpr unsigned stream_default = 0;  // in order with the default stream, on which kernels run
constexpr unsigned launch_attribute_cooperative = 2;
constexpr unsigned launch_attribute_cluster = 4;
constexpr int function_non_portable_cluster = 14;

// Faults that the driver tells apart (CUDA driver API, CUresult).
struct FaultRow {
    Result result;
    Fault fault;
};
constexpr auto fault_rows = std::to_array<FaultRow>({
    {700, Fault::illegal_address},
    {715, Fault::illegal_instruction},
    {716, Fault::misaligned_address},
    {717, Fault::address_space},
});

Fault fault_of(Result r) {
    const auto* const found = std::ranges::find(fault_rows, r, &FaultRow::result);
    return found == fault_rows.end() ? Fault::launch_failed : found->fault;
}

// CUlaunchAttribute and CUlaunchConfig of the driver API.
struct LaunchAttribute {
    unsigned id, unused;
    std::array<int, 16> value;
};
std::vector<LaunchAttribute> attributes_of(const Job& job) {
    std::vector<LaunchAttribute> out;
    if (job.cooperative) out.push_back({launch_attribute_cooperative, {}, {1}});
    if (job.cluster)
        out.push_back({launch_attribute_cluster,
                       {},
                       {static_cast<int>(job.cluster->x), static_cast<int>(job.cluster->y),
                        static_cast<int>(job.cluster->z)}});
    return out;
}

struct LaunchConfig {
    std::array<unsigned, 3> grid, block;
    unsigned dynamic_shared;
    Handle stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

struct Api {
    Result (*init)(unsigned) = nullptr;
    Result (*driver_version)(int*) = nullptr;
    Result (*device_count)(int*) = nullptr;
    Result (*device_get)(DeviceId*, int) = nullptr;
    Result (*device_name)(char*, int, DeviceId) = nullptr;
    Result (*device_attribute)(int*, int, DeviceId) = nullptr;
    Result (*device_memory)(size_t*, DeviceId) = nullptr;
    Result (*context_retain)(Handle*, DeviceId) = nullptr;
    Result (*context_release)(DeviceId) = nullptr;
    Result (*context_set)(Handle) = nullptr;
    Result (*context_synchronize)() = nullptr;
    Result (*context_limit)(int, size_t) = nullptr;
    Result (*module_load)(Handle*, const void*, unsigned, int*, void**) = nullptr;
    Result (*module_unload)(Handle) = nullptr;
    Result (*module_function)(Handle*, Handle, const char*) = nullptr;
    Result (*function_attribute)(Handle, int, int) = nullptr;
    Result (*allocate)(Address*, size_t) = nullptr;
    Result (*release)(Address) = nullptr;
    Result (*to_device)(Address, const void*, size_t) = nullptr;
    Result (*to_host)(void*, Address, size_t) = nullptr;
    Result (*fill)(Address, unsigned char, size_t) = nullptr;
    Result (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     Handle, void**, void**) = nullptr;
    Result (*error_text)(Result, const char**) = nullptr;
    FixedMemoryApi fixed;  // for memory at given addresses only; a driver may lack them
    // For cooperative launches, and with clusters, only.
    Result (*launch_with)(const LaunchConfig*, Handle, void**, void**) = nullptr;
    // cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; `encodes`: both are there.
    bool encodes = false;
    Result (*encode_tiled)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*,
                           const uint32_t*, const uint32_t*, int, int, int, int) = nullptr;
    Result (*encode_im2col)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*,
                            const int*, const int*, unsigned, unsigned, const uint32_t*, int, int,
                            int, int) = nullptr;
    // For large transfers only; a driver may lack them, and then `stages` is false.
    bool stages = false;
    Result (*host_allocate)(void**, size_t, unsigned) = nullptr;
    Result (*host_release)(void*) = nullptr;
    Result (*stream_create)(Handle*, unsigned) = nullptr;
    Result (*stream_destroy)(Handle) = nullptr;
    Result (*stream_synchronize)(Handle) = nullptr;
    Result (*to_device_async)(Address, const void*, size_t, Handle) = nullptr;
    Result (*to_host_async)(void*, Address, size_t, Handle) = nullptr;
};

template <class F>
bool bind(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
}

bool load(Api& api, std::string& why) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        why = "no NVIDIA driver is installed (libcuda.so.1)";
        return false;
    }
    const bool all = bind(library, "cuInit", api.init) &&
                     bind(library, "cuDriverGetVersion", api.driver_version) &&
                     bind(library, "cuDeviceGetCount", api.device_count) &&
                     bind(library, "cuDeviceGet", api.device_get) &&
                     bind(library, "cuDeviceGetName", api.device_name) &&
                     bind(library, "cuDeviceGetAttribute", api.device_attribute) &&
                     bind(library, "cuDeviceTotalMem_v2", api.device_memory) &&
                     bind(library, "cuDevicePrimaryCtxRetain", api.context_retain) &&
                     bind(library, "cuDevicePrimaryCtxRelease_v2", api.context_release) &&
                     bind(library, "cuCtxSetCurrent", api.context_set) &&
                     bind(library, "cuCtxSynchronize", api.context_synchronize) &&
                     bind(library, "cuCtxSetLimit", api.context_limit) &&
                     bind(library, "cuModuleLoadDataEx", api.module_load) &&
                     bind(library, "cuModuleUnload", api.module_unload) &&
                     bind(library, "cuModuleGetFunction", api.module_function) &&
                     bind(library, "cuFuncSetAttribute", api.function_attribute) &&
                     bind(library, "cuMemAlloc_v2", api.allocate) &&
                     bind(library, "cuMemFree_v2", api.release) &&
                     bind(library, "cuMemcpyHtoD_v2", api.to_device) &&
                     bind(library, "cuMemcpyDtoH_v2", api.to_host) &&
                     bind(library, "cuMemsetD8_v2", api.fill) &&
                     bind(library, "cuLaunchKernel", api.launch) &&
                     bind(library, "cuGetErrorString", api.error_text);
    if (!all) {
        why = "the NVIDIA driver is too old";
        return false;
    }
    bind(library, "cuLaunchKernelEx", api.launch_with);
    api.encodes = bind(library, "cuTensorMapEncodeTiled", api.encode_tiled) &&
                  bind(library, "cuTensorMapEncodeIm2col", api.encode_im2col);
    api.stages = bind(library, "cuMemHostAlloc", api.host_allocate) &&
                 bind(library, "cuMemFreeHost", api.host_release) &&
                 bind(library, "cuStreamCreate", api.stream_create) &&
                 bind(library, "cuStreamDestroy_v2", api.stream_destroy) &&
                 bind(library, "cuStreamSynchronize", api.stream_synchronize) &&
                 bind(library, "cuMemcpyHtoDAsync_v2", api.to_device_async) &&
                 bind(library, "cuMemcpyDtoHAsync_v2", api.to_host_async);
    bind(library, "cuMemGetAllocationGranularity", api.fixed.granularity);
    bind(library, "cuMemAddressReserve", api.fixed.reserve);
    bind(library, "cuMemAddressFree", api.fixed.unreserve);
    bind(library, "cuMemCreate", api.fixed.create);
    bind(library, "cuMemRelease", api.fixed.release);
    bind(library, "cuMemMap", api.fixed.map);
    bind(library, "cuMemUnmap", api.fixed.unmap);
    bind(library, "cuMemSetAccess", api.fixed.access);
    if (const Result r = api.init(0); r != success) {
        const char* text = nullptr;
        api.error_text(r, &text);
        why = std::string("the NVIDIA driver does not start: ") + (text ? text : "unknown error");
        return false;
    }
    return true;
}

// Empty where the system does not show it.
std::string kernel_driver_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    return module_version({std::istreambuf_iterator<char>(file), {}});
}

// Large transfers through two pinned buffers, each with a stream of its own: while the GPU fills
// or empties one, the host copies the other. Used with the engine's context current.
class Staging {
  public:
    explicit Staging(const Api& api) : api_(api) {}
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    ~Staging() {
        for (const Buffer& b : buffers_) {
            if (b.stream != nullptr) api_.stream_destroy(b.stream);
            if (b.bytes != nullptr) api_.host_release(b.bytes);
        }
    }

    // Whether a transfer of so many bytes goes this way. The buffers are made for the first.
    bool takes(size_t bytes) {
        if (bytes <= least_bytes) return false;
        if (!ready_) ready_ = make();
        return *ready_;
    }

    Result read(uint8_t* to, Address from, size_t bytes) {
        const auto fetch = [&](size_t at) {
            const Buffer& b = buffer_of(at);
            return api_.to_host_async(b.bytes, from + at, part(at, bytes), b.stream);
        };
        Result r = fetch(0);
        for (size_t at = 0; at < bytes && r == success; at += buffer_bytes) {
            if (at + buffer_bytes < bytes) r = fetch(at + buffer_bytes);
            if (r != success) break;
            const Buffer& b = buffer_of(at);
            r = api_.stream_synchronize(b.stream);
            if (r == success) std::memcpy(to + at, b.bytes, part(at, bytes));
        }
        return finish(r);
    }

    Result write(Address to, const uint8_t* from, size_t bytes) {
        Result r = success;
        for (size_t at = 0; at < bytes && r == success; at += buffer_bytes) {
            const Buffer& b = buffer_of(at);
            // What it held before is on the GPU then.
            r = api_.stream_synchronize(b.stream);
            if (r != success) break;
            std::memcpy(b.bytes, from + at, part(at, bytes));
            r = api_.to_device_async(to + at, b.bytes, part(at, bytes), b.stream);
        }
        return finish(r);
    }

  private:
    static constexpr size_t least_bytes = size_t{1} << 20;
    static constexpr size_t buffer_bytes = size_t{8} << 20;

    struct Buffer {
        void* bytes = nullptr;
        Handle stream = nullptr;
    };

    static size_t part(size_t at, size_t bytes) { return std::min(buffer_bytes, bytes - at); }
    const Buffer& buffer_of(size_t at) const { return buffers_[at / buffer_bytes % 2]; }

    bool make() {
        if (!api_.stages) return false;
        return std::ranges::all_of(buffers_, [&](Buffer& b) {
            return api_.host_allocate(&b.bytes, buffer_bytes, 0) == success &&
                   api_.stream_create(&b.stream, stream_default) == success;
        });
    }

    // Nothing is under way when this returns; the first error of all.
    Result finish(Result r) const {
        for (const Buffer& b : buffers_) {
            const Result ended = api_.stream_synchronize(b.stream);
            if (r == success) r = ended;
        }
        return r;
    }

    Api api_;
    std::array<Buffer, 2> buffers_;
    std::optional<bool> ready_;  // the buffers are there; empty: nobody has asked yet
};

// Where an entry's parameters lie in Job::parameters, and how many bytes they are.
struct Parameters {
    std::vector<uint64_t> places;
    uint64_t bytes = 0;
};
Parameters parameters_of(std::string_view text, const std::string& entry) {
    const ptx::Parsed parsed = ptx::parse(text);
    Parameters out;
    for (const auto& item : parsed.module.items) {
        const auto* const function = std::get_if<ptx::Function>(&item);
        if (function == nullptr || function->name != entry) continue;
        for (const ptx::Variable& v : function->parameters) {
            const isa::Placement p = isa::placement(v).value_or(isa::Placement{});
            out.places.push_back(isa::round_up(out.bytes, std::max<uint64_t>(p.alignment, 1)));
            out.bytes = out.places.back() + p.bytes;
        }
    }
    return out;
}

class CudaEngine : public Engine {
  public:
    CudaEngine(Api api, DeviceId id, Handle context, unsigned processes)
        : api_(api),
          id_(id),
          context_(context),
          staging_(std::make_unique<Staging>(api)),
          fixed_(std::make_unique<FixedMemory>(api.fixed, id)) {
        std::array<char, 128> name{};
        api_.device_name(name.data(), name.size() - 1, id);
        device_.name = name.data();
        // 0: the driver does not know it.
        const auto attribute = [&](int which) {
            int value = 0;
            api_.device_attribute(&value, which, id);
            return value;
        };
        int version = 0;
        size_t memory = 0;
        api_.device_memory(&memory, id);
        api_.driver_version(&version);
        device_.number =
            static_cast<uint32_t>(attribute(attribute_major) * 10 + attribute(attribute_minor));
        device_.clock_mhz = static_cast<uint32_t>(attribute(attribute_clock_khz) / 1000);
        device_.memory = memory;
        newest_ptx_ = newest_ptx(version);
        const uint64_t all_threads = uint64_t(std::max(attribute(attribute_sms), 1)) *
                                     uint64_t(std::max(attribute(attribute_sm_threads), 1));
        max_stack_bytes_ = memory / 2 / std::max(processes, 1u) / all_threads;
        const std::string driver = kernel_driver_version();
        device_.driver = !driver.empty() ? driver
                                         : "CUDA " + std::to_string(version / 1000) + "." +
                                               std::to_string(version % 1000 / 10);
    }
    CudaEngine(const CudaEngine&) = delete;
    CudaEngine& operator=(const CudaEngine&) = delete;
    ~CudaEngine() override {
        api_.context_set(context_);
        staging_.reset();
        fixed_.reset();
        for (const auto& [text, module] : modules_) api_.module_unload(module.handle);
        api_.context_release(id_);
    }

    const Device& device() const override { return device_; }

    uint64_t allocate(uint64_t bytes) override {
        Address address = 0;
        api_.context_set(context_);
        return api_.allocate(&address, std::max<uint64_t>(bytes, 1)) == success ? address : 0;
    }

    bool allocate_at(uint64_t address, uint64_t bytes) override {
        api_.context_set(context_);
        return fixed_->allocate(address, bytes);
    }

    void release(uint64_t address) override {
        api_.context_set(context_);
        if (fixed_->release(address)) return;
        api_.release(address);
    }

    launch::Result<void> write(uint64_t address, std::span<const uint8_t> bytes) override {
        api_.context_set(context_);
        if (bytes.empty()) return {};
        return done(staging_->takes(bytes.size())
                        ? staging_->write(address, bytes.data(), bytes.size())
                        : api_.to_device(address, bytes.data(), bytes.size()));
    }

    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        api_.context_set(context_);
        if (bytes == 0) return {};
        return done(api_.fill(address, 0, bytes));
    }

    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        api_.context_set(context_);
        if (bytes.empty()) return {};
        return done(staging_->takes(bytes.size())
                        ? staging_->read(bytes.data(), address, bytes.size())
                        : api_.to_host(bytes.data(), address, bytes.size()));
    }

    launch::Result<std::vector<uint8_t>> encode(const isa::TensorMap& m) override {
        if (!api_.encodes) return launch::failure("the NVIDIA driver is too old for tensor maps");
        api_.context_set(context_);
        alignas(64) isa::TensorMapBytes out{};
        const int type = isa::row(m.type).driver;
        void* const address = reinterpret_cast<void*>(m.address);
        const int interleave = static_cast<int>(m.interleave),
                  swizzle = static_cast<int>(m.swizzle), promotion = static_cast<int>(m.promotion),
                  fill = static_cast<int>(m.fill);
        const Result r =
            m.im2col ? api_.encode_im2col(out.data(), type, m.rank, address, m.dim.data(),
                                          m.stride.data(), m.lower.data(), m.upper.data(),
                                          m.channels, m.pixels, m.element_stride.data(), interleave,
                                          swizzle, promotion, fill)
                     : api_.encode_tiled(out.data(), type, m.rank, address, m.dim.data(),
                                         m.stride.data(), m.box.data(), m.element_stride.data(),
                                         interleave, swizzle, promotion, fill);
        if (r != success) return launch::failure(text(r));
        return std::vector<uint8_t>(out.begin(), out.end());
    }

    Ran compile(const Job& job) override {
        api_.context_set(context_);
        if (job.fresh) forget(job);
        Module* module = nullptr;
        Ran r = module_of(job, module);
        untouched_ = module;
        return r;
    }

    Ran run(const Job& job) override {
        api_.context_set(context_);
        ask_for_stack(job.stack_bytes);
        Module* module = nullptr;
        if (Ran r = module_of(job, module); r.outcome != Outcome::done) return r;
        // Another run may have changed its variables.
        if (job.fresh && module != untouched_) {
            forget(job);
            if (Ran r = module_of(job, module); r.outcome != Outcome::done) return r;
        }
        untouched_ = nullptr;
        Handle function = nullptr;
        if (const Result r =
                api_.module_function(&function, module->handle, std::string(job.entry).c_str());
            r != success)
            return {Outcome::refused, text(r)};
        if (const Result r = api_.function_attribute(function, function_dynamic_shared,
                                                     static_cast<int>(job.dynamic_shared));
            r != success)
            return {Outcome::refused, "dynamic shared memory: " + text(r)};
        std::vector<uint8_t> parameters = job.parameters;
        std::vector<void*> pointers = pointers_of(job, *module, parameters);
        if (job.non_portable_cluster)
            if (const Result r =
                    api_.function_attribute(function, function_non_portable_cluster, 1);
                r != success)
                return {Outcome::refused, "clusters that are not portable: " + text(r)};
        std::vector<LaunchAttribute> attributes = attributes_of(job);
        if (!attributes.empty() && api_.launch_with == nullptr)
            return {Outcome::refused,
                    "the NVIDIA driver is too old for a cooperative launch or "
                    "one with clusters"};
        const LaunchConfig config{{job.grid.x, job.grid.y, job.grid.z},
                                  {job.block.x, job.block.y, job.block.z},
                                  job.dynamic_shared,
                                  nullptr,
                                  attributes.data(),
                                  static_cast<unsigned>(attributes.size())};
        const Result launched =
            attributes.empty() ? api_.launch(function, job.grid.x, job.grid.y, job.grid.z,
                                             job.block.x, job.block.y, job.block.z,
                                             job.dynamic_shared, nullptr, pointers.data(), nullptr)
                               : api_.launch_with(&config, function, pointers.data(), nullptr);
        if (launched != success) return {Outcome::refused, text(launched)};
        if (const Result r = api_.context_synchronize(); r != success)
            return {Outcome::faulted, text(r), fault_of(r)};
        return {};
    }

  private:
    struct Module {
        Handle handle = nullptr;
        std::map<std::string, Parameters> parameters;  // by entry, of those that ran
    };

    // As much of the stack as the machine has memory for: it is set aside for every thread that can
    // run at a time. The driver takes any number of bytes and rounds it (CUDA driver API,
    // cuCtxSetLimit).
    void ask_for_stack(uint32_t bytes) {
        constexpr uint64_t least = 2048;
        if (bytes <= stack_bytes_) return;
        stack_bytes_ = bytes;
        uint64_t asked = std::max(least, std::min<uint64_t>(bytes, max_stack_bytes_));
        while (api_.context_limit(limit_stack, asked) != success && asked > least)
            asked = std::max(least, asked / 2);
    }

    // The job's module is loaded anew.
    void forget(const Job& job) {
        const auto found = modules_.find({std::string(job.ptx), job.optimization});
        if (found == modules_.end()) return;
        api_.module_unload(found->second.handle);
        modules_.erase(found);
    }

    launch::Result<void> done(Result r) const {
        if (r == success) return {};
        return launch::failure(text(r));
    }

    std::string text(Result r) const {
        if (r == success) return {};
        const char* words = nullptr;
        api_.error_text(r, &words);
        return words != nullptr ? words : "driver error " + std::to_string(r);
    }

    // The compiled module of the job's PTX, nullptr where there is none; kept, for a kernel is
    // often launched again.
    Ran module_of(const Job& job, Module*& module) {
        std::string ptx(job.ptx);
        std::pair key{ptx, job.optimization};
        if (const auto found = modules_.find(key); found != modules_.end()) {
            module = &found->second;
            return {};
        }
        std::array<char, 8192> log{};
        std::array<int, 3> options{jit_error_log, jit_error_log_bytes, jit_optimization};
        std::array<void*, 3> values{log.data(), reinterpret_cast<void*>(log.size() - 1),
                                    reinterpret_cast<void*>(uintptr_t{job.optimization})};
        const std::string read = with_version_at_most(ptx, newest_ptx_);
        Handle handle = nullptr;
        const Result r =
            api_.module_load(&handle, read.c_str(), options.size(), options.data(), values.data());
        if (r != success) {
            std::string why = text(r) + "\n" + log.data();
            if (read != ptx)
                why += "\nits .version is newer than this driver's " +
                       std::to_string(newest_ptx_ / 10) + "." + std::to_string(newest_ptx_ % 10) +
                       ", and was lowered to that";
            return {Outcome::refused, why};
        }
        constexpr size_t max_modules = 64;
        if (modules_.size() >= max_modules) {
            for (const auto& [text, old] : modules_) api_.module_unload(old.handle);
            modules_.clear();
        }
        module = &modules_[std::move(key)];
        module->handle = handle;
        return {};
    }

    // The job's parameters one by one: the assembler aligns them by their addresses in constant
    // memory, which begin at no multiple of 64, so that it may place them otherwise than one after
    // another.
    static std::vector<void*> pointers_of(const Job& job, Module& module,
                                          std::vector<uint8_t>& bytes) {
        const std::string entry(job.entry);
        auto found = module.parameters.find(entry);
        if (found == module.parameters.end())
            found = module.parameters.emplace(entry, parameters_of(job.ptx, entry)).first;
        const Parameters& known = found->second;
        bytes.resize(std::max<size_t>(bytes.size(), known.bytes));
        std::vector<void*> out;
        for (const uint64_t at : known.places) out.push_back(bytes.data() + at);
        return out;
    }

    Api api_;
    DeviceId id_;
    Handle context_;
    Device device_;
    std::unique_ptr<Staging> staging_;
    std::unique_ptr<FixedMemory> fixed_;
    uint32_t newest_ptx_ = 0;       // as newest_ptx()
    Module* untouched_ = nullptr;   // that compile() loaded last, where nothing ran since
    uint64_t max_stack_bytes_ = 0;  // of a thread, so that all threads' are this process's share
    uint32_t stack_bytes_ = 1024;   // that were wished for; a context begins with so many
    std::map<std::pair<std::string, uint32_t>, Module> modules_;  // by text and optimization
};

}  // namespace

std::string module_version(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;)
        if (word.size() >= 5 && word.find('.') != std::string::npos &&
            word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return {};
}

std::unique_ptr<Engine> open_device(unsigned index, std::string& why, unsigned processes) {
    Api api;
    if (!load(api, why)) return nullptr;
    int found = 0;
    api.device_count(&found);
    const auto count = static_cast<unsigned>(found);
    if (index >= count) {
        why = count == 0 ? "there is no NVIDIA GPU"
                         : "GPU " + std::to_string(index) + ": there are " + std::to_string(count);
        return nullptr;
    }
    DeviceId id = 0;
    Handle context = nullptr;
    if (api.device_get(&id, static_cast<int>(index)) != success ||
        api.context_retain(&context, id) != success || api.context_set(context) != success) {
        why = "GPU " + std::to_string(index) + " cannot be used";
        return nullptr;
    }
    return std::make_unique<CudaEngine>(api, id, context, processes);
}

}  // namespace lockwarp::gpu
