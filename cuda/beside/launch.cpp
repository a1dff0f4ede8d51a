// SPDX-License-Identifier: Apache-2.0
// Launches, by each of the driver's ways, and cuGetProcAddress, which gives ours.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "cuda/beside/forward.hpp"
#include "cuda/beside/graphs.hpp"
#include "cuda/beside/watched.hpp"

using namespace lockwarp::beside;
using lockwarp::cuda::GraphExec;
using lockwarp::cuda::invalid_value;
using lockwarp::cuda::KernelNode2;
using lockwarp::cuda::LaunchAttribute;
using lockwarp::cuda::LaunchConfig;
using lockwarp::cuda::NodeType;
using lockwarp::cuda::Result;
using lockwarp::cuda::success;

namespace {

using LaunchKernel = Result(Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, Stream*, void**, void**);
using LaunchCooperative = Result(Function*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, Stream*, void**);
using LaunchEx = Result(const LaunchConfig*, Function*, void**, void**);
using LaunchGraph = Result(GraphExec*, Stream*);

constexpr uint32_t cooperative_launch = 2, cluster_dimension = 4;  // CUlaunchAttributeID

Shape shape_of(const LaunchConfig& config) {
    Shape s{};
    std::copy_n(config.grid, 3, s.grid);
    std::copy_n(config.block, 3, s.block);
    s.dynamic_shared = config.dynamic_shared;
    for (uint32_t i = 0; i < config.attribute_count && config.attributes != nullptr; ++i) {
        const LaunchAttribute& a = config.attributes[i];
        if (a.id == cooperative_launch) s.cooperative = a.cooperative != 0;
        if (a.id == cluster_dimension) std::copy_n(a.cluster, 3, s.cluster);
    }
    return s;
}

// No stream is the thread's own to functions with the ending _ptsz.
Stream* stream_of(Stream* stream, std::string_view ending) {
    constexpr uintptr_t per_thread = 2;  // CU_STREAM_PER_THREAD
    return stream == nullptr && ending == "_ptsz" ? reinterpret_cast<Stream*>(per_thread) : stream;
}

Result launch_kernel(LaunchKernel* real, Function* f, const Shape& s, Stream* stream,
                     void** parameters, void** extra) {
    return watched(f, s, stream, parameters, extra, [&](Function* kernel) {
        return real(kernel, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
                    s.dynamic_shared, stream, parameters, extra);
    });
}

Result launch_cooperative(LaunchCooperative* real, Function* f, const Shape& s, Stream* stream,
                          void** parameters) {
    return watched(f, s, stream, parameters, nullptr, [&](Function* kernel) {
        return real(kernel, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
                    s.dynamic_shared, stream, parameters);
    });
}

Result launch_ex(LaunchEx* real, const LaunchConfig* config, Function* f, void** parameters,
                 void** extra, std::string_view ending) {
    if (config == nullptr) return real(config, f, parameters, extra);
    return watched(f, shape_of(*config), stream_of(config->stream, ending), parameters, extra,
                   [&](Function* kernel) { return real(config, kernel, parameters, extra); });
}

// A graph's node, as it was made, in the stream.
Result launch_node(GraphNode* node, Stream* stream) {
    static const auto get =
        behind_as<Result(GraphNode*, KernelNode2*)>("cuGraphKernelNodeGetParams_v2");
    static const auto attribute =
        behind_as<Result(GraphNode*, uint32_t, void*)>("cuGraphKernelNodeGetAttribute");
    static const auto plain = behind_as<LaunchKernel>("cuLaunchKernel");
    static const auto with_attributes = behind_as<LaunchEx>("cuLaunchKernelEx");
    KernelNode2 n{};
    if (const Result r = get(node, &n); r != success) return r;
    std::array<LaunchAttribute, 2> attributes{};
    LaunchConfig config{};
    config.attributes = attributes.data();
    for (const uint32_t id : {cooperative_launch, cluster_dimension}) {
        LaunchAttribute& a = attributes[config.attribute_count];
        a = {};
        a.id = id;
        if (attribute(node, id, a.bytes) == success && a.cluster[0] != 0) ++config.attribute_count;
    }
    std::copy_n(n.first.grid, 3, config.grid);
    std::copy_n(n.first.block, 3, config.block);
    config.dynamic_shared = n.first.dynamic_shared;
    config.stream = stream;
    Function* const f = n.kernel != nullptr ? n.kernel : n.first.function;
    if (config.attribute_count != 0)
        return launch_ex(with_attributes, &config, f, n.first.parameters, n.first.extra, "");
    return launch_kernel(plain, f, shape_of(config), stream, n.first.parameters, n.first.extra);
}

Result launch_graph(LaunchGraph* real, GraphExec* exec, Stream* stream, std::string_view ending) {
    Stream* const named = stream_of(stream, ending);
    if (is_capturing(named)) return real(exec, stream);  // a part of another graph
    const std::optional<std::vector<Step>> steps = steps_of(exec);
    if (!steps) {
        graph_launched();
        return real(exec, stream);
    }
    for (const Step& step : *steps) {
        const Result r =
            step.type == NodeType::kernel ? launch_node(step.node, named) : do_step(step, named);
        if (r != success) return r;
    }
    return success;
}

}  // namespace

extern "C" {

#define LOCKWARP_LAUNCHES(ending)                                                                  \
    Result cuLaunchKernel##ending(Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
                                  unsigned by, unsigned bz, unsigned shared, Stream* stream,       \
                                  void** parameters, void** extra) {                               \
        static const auto real = behind_as<LaunchKernel>("cuLaunchKernel" #ending);                \
        return launch_kernel(real, f, {{gx, gy, gz}, {bx, by, bz}, shared, false, {}},             \
                             stream_of(stream, #ending), parameters, extra);                       \
    }                                                                                              \
    Result cuLaunchCooperativeKernel##ending(Function* f, unsigned gx, unsigned gy, unsigned gz,   \
                                             unsigned bx, unsigned by, unsigned bz,                \
                                             unsigned shared, Stream* stream, void** parameters) { \
        static const auto real =                                                                   \
            behind_as<LaunchCooperative>("cuLaunchCooperativeKernel" #ending);                     \
        return launch_cooperative(real, f, {{gx, gy, gz}, {bx, by, bz}, shared, true, {}},         \
                                  stream_of(stream, #ending), parameters);                         \
    }                                                                                              \
    Result cuLaunchKernelEx##ending(const LaunchConfig* config, Function* f, void** parameters,    \
                                    void** extra) {                                                \
        static const auto real = behind_as<LaunchEx>("cuLaunchKernelEx" #ending);                  \
        return launch_ex(real, config, f, parameters, extra, #ending);                             \
    }                                                                                              \
    Result cuGraphLaunch##ending(GraphExec* exec, Stream* stream) {                                \
        static const auto real = behind_as<LaunchGraph>("cuGraphLaunch" #ending);                  \
        return launch_graph(real, exec, stream, #ending);                                          \
    }
LOCKWARP_LAUNCHES()
LOCKWARP_LAUNCHES(_ptsz)
#undef LOCKWARP_LAUNCHES

// Of kernels.cpp, by their addresses.
Result cuModuleLoadData(Module** out, const void* image);
Result cuModuleLoadDataEx(Module** out, const void* image, unsigned count, int* keys,
                          void** values);
Result cuModuleLoadFatBinary(Module** out, const void* image);
Result cuModuleLoad(Module** out, const char* path);
Result cuModuleGetFunction(Function** out, Module* module, const char* name);
Result cuLibraryLoadData(Library** out, const void* image, int* keys, void** values, unsigned count,
                         int* library_keys, void** library_values, unsigned library_count);
Result cuLibraryLoadFromFile(Library** out, const char* path, int* keys, void** values,
                             unsigned count, int* library_keys, void** library_values,
                             unsigned library_count);
Result cuLibraryGetKernel(Function** out, Library* library, const char* name);
Result cuKernelGetFunction(Function** out, Function* kernel);
Result cuModuleUnload(Module* module);
Result cuLibraryUnload(Library* library);
// Of graphs.cpp, by their addresses alone.
Result cuGraphInstantiate(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                          size_t log_size);
Result cuGraphInstantiate_v2(GraphExec** out, Graph* graph, GraphNode** wrong, char* log,
                             size_t log_size);
Result cuGraphInstantiateWithFlags(GraphExec** out, Graph* graph, unsigned long long flags);
Result cuGraphInstantiateWithParams(GraphExec** out, Graph* graph, void* parameters);
Result cuGraphInstantiateWithParams_ptsz(GraphExec** out, Graph* graph, void* parameters);
Result cuGraphExecDestroy(GraphExec* exec);
Result cuGraphExecUpdate(GraphExec* exec, Graph* graph, GraphNode** wrong, int* result);
Result cuGraphExecUpdate_v2(GraphExec* exec, Graph* graph, void* result);
Result cuGraphNodeSetEnabled(GraphExec* exec, GraphNode* node, unsigned enabled);
Result cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node,
                                      const lockwarp::cuda::KernelNode* p);
Result cuGraphExecKernelNodeSetParams_v2(GraphExec* exec, GraphNode* node, const KernelNode2* p);
Result cuGraphExecMemcpyNodeSetParams(GraphExec* exec, GraphNode* node,
                                      const lockwarp::cuda::Copy3D* p,
                                      lockwarp::cuda::Context* context);
Result cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node,
                                      const lockwarp::cuda::MemsetNode* p,
                                      lockwarp::cuda::Context* context);
Result cuGraphExecHostNodeSetParams(GraphExec* exec, GraphNode* node,
                                    const lockwarp::cuda::HostNode* p);
Result cuGraphExecNodeSetParams(GraphExec* exec, GraphNode* node,
                                lockwarp::cuda::NodeParameters* p);
Result cuGraphExecEventRecordNodeSetEvent(GraphExec* exec, GraphNode* node,
                                          lockwarp::cuda::Event* event);
Result cuGraphExecEventWaitNodeSetEvent(GraphExec* exec, GraphNode* node,
                                        lockwarp::cuda::Event* event);
Result cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* child);
Result cuGetProcAddress(const char* name, void** out, int version, uint64_t flags);
Result cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags, int* status);
// Of linked.cpp; both forms of the first two do the same.
Result cuLinkAddData_v2(void* link, int type, void* data, size_t size, const char* name,
                        unsigned count, int* keys, void** values);
Result cuLinkAddFile_v2(void* link, int type, const char* path, unsigned count, int* keys,
                        void** values);
Result cuLinkComplete(void* link, void** code, size_t* size);
Result cuLinkDestroy(void* link);

}  // extern "C"

namespace {

struct Ours {
    std::string_view name;
    void* plain;
    void* per_thread;
};

template <class F>
void* address(F* f) {
    return reinterpret_cast<void*>(f);
}

// In place of what the driver gives; nullptr: nothing. `version` is that of the form.
void* ours(std::string_view name, int version, uint64_t flags) {
    static const std::array all{
        Ours{"cuLaunchKernel", address(cuLaunchKernel), address(cuLaunchKernel_ptsz)},
        Ours{"cuLaunchCooperativeKernel", address(cuLaunchCooperativeKernel),
             address(cuLaunchCooperativeKernel_ptsz)},
        Ours{"cuLaunchKernelEx", address(cuLaunchKernelEx), address(cuLaunchKernelEx_ptsz)},
        Ours{"cuGraphLaunch", address(cuGraphLaunch), address(cuGraphLaunch_ptsz)},
        Ours{"cuGraphInstantiateWithFlags", address(cuGraphInstantiateWithFlags), nullptr},
        Ours{"cuGraphInstantiateWithParams", address(cuGraphInstantiateWithParams),
             address(cuGraphInstantiateWithParams_ptsz)},
        Ours{"cuGraphExecDestroy", address(cuGraphExecDestroy), nullptr},
        Ours{"cuGraphNodeSetEnabled", address(cuGraphNodeSetEnabled), nullptr},
        Ours{"cuGraphExecMemcpyNodeSetParams", address(cuGraphExecMemcpyNodeSetParams), nullptr},
        Ours{"cuGraphExecMemsetNodeSetParams", address(cuGraphExecMemsetNodeSetParams), nullptr},
        Ours{"cuGraphExecHostNodeSetParams", address(cuGraphExecHostNodeSetParams), nullptr},
        Ours{"cuGraphExecNodeSetParams", address(cuGraphExecNodeSetParams), nullptr},
        Ours{"cuGraphExecEventRecordNodeSetEvent", address(cuGraphExecEventRecordNodeSetEvent),
             nullptr},
        Ours{"cuGraphExecEventWaitNodeSetEvent", address(cuGraphExecEventWaitNodeSetEvent),
             nullptr},
        Ours{"cuGraphExecChildGraphNodeSetParams", address(cuGraphExecChildGraphNodeSetParams),
             nullptr},
        Ours{"cuModuleLoadData", address(cuModuleLoadData), nullptr},
        Ours{"cuModuleLoadDataEx", address(cuModuleLoadDataEx), nullptr},
        Ours{"cuModuleLoadFatBinary", address(cuModuleLoadFatBinary), nullptr},
        Ours{"cuModuleLoad", address(cuModuleLoad), nullptr},
        Ours{"cuModuleGetFunction", address(cuModuleGetFunction), nullptr},
        Ours{"cuLibraryLoadData", address(cuLibraryLoadData), nullptr},
        Ours{"cuLibraryLoadFromFile", address(cuLibraryLoadFromFile), nullptr},
        Ours{"cuLibraryGetKernel", address(cuLibraryGetKernel), nullptr},
        Ours{"cuKernelGetFunction", address(cuKernelGetFunction), nullptr},
        Ours{"cuModuleUnload", address(cuModuleUnload), nullptr},
        Ours{"cuLibraryUnload", address(cuLibraryUnload), nullptr},
        Ours{"cuLinkAddData", address(cuLinkAddData_v2), nullptr},
        Ours{"cuLinkAddFile", address(cuLinkAddFile_v2), nullptr},
        Ours{"cuLinkComplete", address(cuLinkComplete), nullptr},
        Ours{"cuLinkDestroy", address(cuLinkDestroy), nullptr},
    };
    constexpr uint64_t each_thread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    constexpr int second_form = 12000;
    const auto by_version = [&](auto* first, auto* second) {
        return version < second_form ? address(first) : address(second);
    };
    if (name == "cuGetProcAddress") return by_version(cuGetProcAddress, cuGetProcAddress_v2);
    if (name == "cuGraphInstantiate")
        return version < 11000 ? address(cuGraphInstantiate) : address(cuGraphInstantiate_v2);
    if (name == "cuGraphExecUpdate") return by_version(cuGraphExecUpdate, cuGraphExecUpdate_v2);
    if (name == "cuGraphExecKernelNodeSetParams")
        return by_version(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2);
    const auto found = std::ranges::find(all, name, &Ours::name);
    if (found == all.end()) return nullptr;
    return (flags & each_thread) != 0 && found->per_thread != nullptr ? found->per_thread
                                                                      : found->plain;
}

}  // namespace

extern "C" {

Result cuGetProcAddress(const char* name, void** out, int version, uint64_t flags) {
    static const auto real =
        behind_as<Result(const char*, void**, int, uint64_t)>("cuGetProcAddress");
    const Result r = real(name, out, version, flags);
    if (r == success && out != nullptr && *out != nullptr)
        if (void* const own = ours(name, version, flags)) *out = own;
    return r;
}

Result cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags, int* status) {
    static const auto real =
        behind_as<Result(const char*, void**, int, uint64_t, int*)>("cuGetProcAddress_v2");
    const Result r = real(name, out, version, flags, status);
    if (r == success && out != nullptr && *out != nullptr)
        if (void* const own = ours(name, version, flags)) *out = own;
    return r;
}

}  // extern "C"
