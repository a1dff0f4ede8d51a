// SPDX-License-Identifier: Apache-2.0
// What is asked about kernels, and how many of their CTAs an SM holds.
#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "cuda/family.hpp"
#include "emu/timing/lowering.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

// CUfunction_attribute
enum FunctionAttribute : int {
    of_max_threads = 0,
    of_shared = 1,
    of_const = 2,
    of_local = 3,
    of_registers = 4,
    of_ptx_version = 5,
    of_binary_version = 6,
    of_cache_mode = 7,
    of_max_dynamic = 8,
    needs_cluster = 10,
    of_cluster_x = 11,
    of_cluster_z = 13,
    attribute_end = 16
};

constexpr uint32_t warp_threads = 32;
constexpr uint32_t guessed_registers = 32;  // where the model of cycles has no such machine
constexpr uint32_t register_unit = 256;     // of a warp (cuda_occupancy: allocation granularity)

constexpr uint32_t up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

uint32_t constant_bytes(const Function& f) {
    const std::shared_ptr<Module> module = f.module.lock();
    return module == nullptr ? 0 : static_cast<uint32_t>(module->loaded->constant_bytes);
}

// What the module's .target names, 75; the code that is run is for the device.
int ptx_version(const Function& f) {
    const std::shared_ptr<Module> module = f.module.lock();
    int number = 0;
    if (module == nullptr || module->loaded->tree.target.empty()) return number;
    for (const char c : module->loaded->tree.target[0].text)
        if (c >= '0' && c <= '9') number = 10 * number + (c - '0');
    return number;
}

int attribute_of(Function& f, int number) {
    const int arch = isa::row(driver().arch).number;
    switch (number) {
        case of_max_threads:
            return static_cast<int>(f.info.max_threads);
        case of_shared:
            return static_cast<int>(f.info.shared_static);
        case of_const:
            return static_cast<int>(constant_bytes(f));
        case of_local:
            return static_cast<int>(f.info.local_bytes);
        case of_registers:
            return static_cast<int>(registers_of(f));
        case of_ptx_version:
            return ptx_version(f);
        case of_binary_version:
            return arch;
        case of_max_dynamic:
            return static_cast<int>(f.max_dynamic);
        case needs_cluster:
            return int{f.kernel->program.needs_cluster ||
                       f.kernel->program.required_cluster[0] != 0};
        default:
            if (number >= of_cluster_x && number <= of_cluster_z &&
                f.kernel->program.required_cluster[0] != 0)
                return static_cast<int>(
                    f.kernel->program.required_cluster[static_cast<size_t>(number - of_cluster_x)]);
            require(number > 0 && number < attribute_end);
            return f.attributes[static_cast<size_t>(number)];
    }
}

void set_attribute(Function& f, int number, int value) {
    const uint32_t most = isa::row(driver().arch).shared_max;
    if (number == of_max_dynamic) {
        require(value >= 0 && static_cast<uint32_t>(value) <= most &&
                f.info.shared_static <= most - static_cast<uint32_t>(value));
        f.max_dynamic = static_cast<uint32_t>(value);
        return;
    }
    require(number > of_max_dynamic && number < attribute_end);
    f.attributes[static_cast<size_t>(number)] = value;
}

// CTAs of an SM at once, 0 where none fits. A kernel's __launch_bounds__ do not count (H100).
uint32_t resident(Function& f, uint32_t threads, size_t dynamic) {
    const Product& p = *driver().product;
    if (threads == 0 || threads > max_cta_threads) return 0;
    const uint32_t warps = up(threads, warp_threads) / warp_threads;
    uint32_t ctas = std::min<uint32_t>(p.ctas, p.threads / warp_threads / warps);
    const uint64_t registers = uint64_t{up(registers_of(f) * warp_threads, register_unit)} * warps;
    if (registers != 0)
        ctas = static_cast<uint32_t>(std::min<uint64_t>(ctas, registers_of_sm / registers));
    if (dynamic > p.shared) return 0;
    const uint64_t shared =
        isa::in_shared_units(p.arch, uint64_t{f.info.shared_static} + dynamic) + p.reserved;
    if (shared != 0) ctas = static_cast<uint32_t>(std::min<uint64_t>(ctas, p.shared / shared));
    return ctas;
}

using SharedOfBlock = size_t (*)(int threads);

// The block with the most resident threads, the largest of those.
void best_block(Function& f, SharedOfBlock shared_of, size_t dynamic, int limit, int& grid,
                int& block) {
    uint32_t most = f.info.max_threads;
    if (limit > 0) most = std::min(most, static_cast<uint32_t>(limit));
    uint32_t best = 0;
    grid = block = 0;
    for (uint32_t threads = up(most, warp_threads); threads != 0; threads -= warp_threads) {
        const uint32_t n = std::min(threads, most);
        const size_t shared = shared_of != nullptr ? shared_of(static_cast<int>(n)) : dynamic;
        const uint32_t ctas = resident(f, n, shared);
        if (ctas * n <= best) continue;
        best = ctas * n;
        block = static_cast<int>(n);
        grid = static_cast<int>(ctas * driver().product->sms);
    }
}

// CTAs of a cluster; a Failure where the device has none.
uint32_t max_cluster(const Function& f) {
    constexpr uint32_t portable = 8;
    const uint32_t most = isa::row(driver().arch).cluster_max;
    require(most != 0, not_supported);
    return f.attributes[14] != 0 ? most : std::min(portable, most);
}

// Clusters that are resident at once; 0 where there are none. How the SMs are divided into
// clusters' places (GPCs) is not known for each product: it is a bound.
uint32_t resident_clusters(Function& f, const LaunchConfig& config) {
    constexpr uint32_t cluster = 4;  // CUlaunchAttributeID
    require(config.attribute_count == 0 || config.attributes != nullptr);
    uint64_t ctas = 1;
    bool has_clusters = false;
    for (const uint32_t n : f.kernel->program.required_cluster) {
        ctas *= std::max(n, 1u);
        has_clusters = has_clusters || n != 0;
    }
    for (const LaunchAttribute& a : std::span(config.attributes, config.attribute_count))
        if (a.id == cluster) {
            ctas = uint64_t{a.cluster[0]} * a.cluster[1] * a.cluster[2];
            has_clusters = true;
        }
    require(ctas != 0 && ctas <= max_cluster(f), invalid_cluster_size);
    const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
    require(threads != 0 && threads <= max_cta_threads);
    const uint32_t each = resident(f, static_cast<uint32_t>(threads), config.dynamic_shared);
    return has_clusters ? static_cast<uint32_t>(driver().product->sms * each / ctas) : 0;
}

std::shared_ptr<Function> get(Function* handle) { return function_here(handle); }

// Functions of one name have one text for it, as an H200's driver has: cuda-api-wrappers compares
// the addresses of two modules'.
const char* one_text(const std::string& name) {
    static std::mutex mutex;
    static auto* const texts = new std::set<std::string>;
    const std::lock_guard lock(mutex);
    return texts->insert(name).first->c_str();
}

}  // namespace

uint32_t registers_of(Function& f) {
    if (const uint32_t known = f.registers; known != 0) return known;
    const timing::Machine* const machine = timing::machine_of(driver().arch);
    uint32_t n = guessed_registers;
    if (machine != nullptr) n = timing::lower(f.kernel->program, *machine).registers;
    n = std::clamp<uint32_t>(n, 1, 255);
    f.registers = n;
    return n;
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuFuncGetAttribute(int* value, int attribute, Function* function) {
    return answer([&] {
        require(value != nullptr);
        *value = attribute_of(*get(function), attribute);
    });
}

Result cuFuncSetAttribute(Function* function, int attribute, int value) {
    return answer([&] { set_attribute(*get(function), attribute, value); });
}

Result cuFuncSetCacheConfig(Function* function, int) {
    return answer([&] { get(function); });
}

Result cuFuncSetSharedMemConfig(Function* function, int) {
    return answer([&] { get(function); });
}

Result cuFuncGetModule(Module** out, Function* function) {
    return answer([&] {
        require(out != nullptr);
        *out = get(function)->module.lock().get();
    });
}

Result cuFuncGetName(const char** name, Function* function) {
    return answer([&] {
        require(name != nullptr);
        *name = one_text(get(function)->name);
    });
}

Result cuFuncGetParamInfo(Function* function, size_t index, size_t* offset, size_t* size) {
    return answer([&] {
        const std::shared_ptr<Function> f = get(function);
        require(index < f->parameters.size() && offset != nullptr);
        *offset = f->parameters[index].offset;
        if (size != nullptr) *size = f->parameters[index].size;
    });
}

Result cuFuncIsLoaded(int* state, Function* function) {
    return answer([&] {
        get(function);
        require(state != nullptr);
        *state = 1;
    });
}

Result cuFuncLoad(Function* function) {
    return answer([&] { get(function); });
}

Result cuKernelGetFunction(Function** out, Function* kernel) {
    return answer([&] {
        current();
        require(out != nullptr);
        *out = get(kernel).get();
    });
}

Result cuKernelGetAttribute(int* value, int attribute, Function* kernel, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(value != nullptr);
        *value = attribute_of(*get(kernel), attribute);
    });
}

Result cuKernelSetAttribute(int attribute, int value, Function* kernel, DeviceId device) {
    return answer([&] {
        check_device(device);
        set_attribute(*get(kernel), attribute, value);
    });
}

Result cuKernelSetCacheConfig(Function* kernel, int, DeviceId device) {
    return answer([&] {
        check_device(device);
        get(kernel);
    });
}

Result cuKernelGetName(const char** name, Function* kernel) { return cuFuncGetName(name, kernel); }

Result cuKernelGetParamInfo(Function* kernel, size_t index, size_t* offset, size_t* size) {
    return cuFuncGetParamInfo(kernel, index, offset, size);
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* ctas, Function* function,
                                                            int threads, size_t dynamic,
                                                            unsigned flags) {
    return answer([&] {
        current();
        require(ctas != nullptr && threads > 0 && flags <= 1);
        *ctas = static_cast<int>(resident(*get(function), static_cast<uint32_t>(threads), dynamic));
    });
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, Function* function, int threads,
                                                   size_t dynamic) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ctas, function, threads, dynamic,
                                                                0);
}

Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Function* function,
                                                 SharedOfBlock shared, size_t dynamic, int limit,
                                                 unsigned flags) {
    return answer([&] {
        current();
        require(grid != nullptr && block != nullptr && flags <= 1 && limit >= 0);
        best_block(*get(function), shared, dynamic, limit, *grid, *block);
    });
}

Result cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function* function,
                                        SharedOfBlock shared, size_t dynamic, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared, dynamic, limit,
                                                     0);
}

Result cuOccupancyMaxPotentialClusterSize(int* ctas, Function* function,
                                          const LaunchConfig* config) {
    return answer([&] {
        current();
        require(ctas != nullptr && config != nullptr);
        const std::shared_ptr<Function> f = get(function);
        resident_clusters(*f, *config);  // an H200: a cluster that the device has not is an error
        *ctas = static_cast<int>(max_cluster(*f));
    });
}

Result cuOccupancyMaxActiveClusters(int* clusters, Function* function, const LaunchConfig* config) {
    return answer([&] {
        current();
        require(clusters != nullptr && config != nullptr);
        *clusters = static_cast<int>(resident_clusters(*get(function), *config));
    });
}

Result cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, Function* function, int ctas,
                                               int threads) {
    return answer([&] {
        current();
        require(bytes != nullptr && ctas > 0 && threads > 0);
        const std::shared_ptr<Function> f = get(function);
        const Product& p = *driver().product;
        const uint32_t unit = lockwarp::isa::row(p.arch).shared_unit;
        const uint32_t each = p.shared / static_cast<uint32_t>(ctas) / unit * unit;
        const uint32_t taken = p.reserved + f->info.shared_static;
        *bytes = each > taken ? std::min<uint32_t>(each - taken, f->max_dynamic) : 0;
    });
}

}  // extern "C"
