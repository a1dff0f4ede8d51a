// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, pools, copies, fills, libraries, printing.
#include "driver.hpp"

namespace lockwarp::test::streams_test {
namespace {

using Numbers = std::vector<uint32_t>;
using Work = Cuda;

TEST_F(Work, OfStreamsIsDoneInOrderAndTimed) {
    Handle stream = nullptr, begin = nullptr, end = nullptr;
    ASSERT_EQ(entry<int(Handle*, unsigned)>("cuStreamCreate")(&stream, 1), success);
    const auto create = entry<int(Handle*, unsigned)>("cuEventCreate");
    const auto record = entry<int(Handle, Handle)>("cuEventRecord");
    const auto elapsed = entry<int(float*, Handle, Handle)>("cuEventElapsedTime");
    ASSERT_EQ(create(&begin, 0), success);
    ASSERT_EQ(create(&end, 0), success);
    float milliseconds = -1;
    EXPECT_EQ(elapsed(&milliseconds, begin, end), invalid_handle);  // not recorded
    const Handle f = function(load(scale_ptx), "scale");
    const Address x = allocate(128);
    const auto fill = entry<int(Address, unsigned, size_t, Handle)>("cuMemsetD32Async");
    ASSERT_EQ(record(begin, stream), success);
    ASSERT_EQ(fill(x, 4, 32, stream), success);
    uint32_t a = 3;
    Address x_argument = x;
    void* parameters[] = {&x_argument, &a};
    ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), success);
    Numbers out(32);
    ASSERT_EQ((entry<int(void*, Address, size_t, Handle)>("cuMemcpyDtoHAsync")(out.data(), x, 128,
                                                                               stream)),
              success);
    ASSERT_EQ(record(end, stream), success);
    ASSERT_EQ(entry<int(Handle)>("cuEventSynchronize")(end), success);
    EXPECT_EQ(out, Numbers(32, 13));
    ASSERT_EQ(elapsed(&milliseconds, begin, end), success);
    EXPECT_GT(milliseconds, 0);
    EXPECT_EQ(entry<int(Handle)>("cuStreamSynchronize")(stream), success);
    EXPECT_EQ(entry<int(Handle)>("cuStreamDestroy")(stream), success);
    EXPECT_EQ(entry<int(Handle)>("cuStreamDestroy")(stream), invalid_handle);
    EXPECT_EQ(fill(x, 4, 32, stream), invalid_handle);
    EXPECT_EQ(entry<int(Handle)>("cuEventDestroy")(end), success);
    EXPECT_EQ(record(end, nullptr), invalid_handle);
}

struct KernelNode {
    Handle function;
    unsigned grid[3], block[3], shared;
    void** parameters;
    void** extra;
};

TEST_F(Work, OfGraphsIsDoneByTheirEdgesAndMayChange) {
    const Handle f = function(load(scale_ptx), "scale");
    const Address x = allocate(128), y = allocate(128);
    ASSERT_EQ(cuMemsetD32(x, 1, 32), success);
    ASSERT_EQ(cuMemsetD32(y, 2, 32), success);
    Handle graph = nullptr, node = nullptr, after = nullptr, exec = nullptr;
    ASSERT_EQ(entry<int(Handle*, unsigned)>("cuGraphCreate")(&graph, 0), success);
    Address target = x;
    uint32_t a = 10;
    void* parameters[] = {&target, &a};
    KernelNode kernel_node{f, {1, 1, 1}, {32, 1, 1}, 0, parameters, nullptr};
    using Add = int(Handle*, Handle, const Handle*, size_t, const KernelNode*);
    const auto add = entry<Add>("cuGraphAddKernelNode", 11000);
    ASSERT_EQ(add(&node, graph, nullptr, 0, &kernel_node), success);
    a = 100;
    ASSERT_EQ(add(&after, graph, &node, 1, &kernel_node), success);
    EXPECT_EQ(add(&after, graph, &f, 1, &kernel_node), invalid_value);  // f is no node
    a = 0;  // what a node was given, it keeps
    ASSERT_EQ(
        (entry<int(Handle*, Handle, uint64_t)>("cuGraphInstantiateWithFlags")(&exec, graph, 0)),
        success);
    const auto launch = entry<int(Handle, Handle)>("cuGraphLaunch");
    ASSERT_EQ(launch(exec, nullptr), success);
    EXPECT_EQ(read<uint32_t>(x, 1), Numbers{1101});
    target = y;
    a = 5;
    ASSERT_EQ((entry<int(Handle, Handle, const KernelNode*)>("cuGraphExecKernelNodeSetParams",
                                                             11000)(exec, node, &kernel_node)),
              success);
    ASSERT_EQ(launch(exec, nullptr), success);
    EXPECT_EQ(read<uint32_t>(y, 1), Numbers{11});
    EXPECT_EQ(read<uint32_t>(x, 1), Numbers{110101});
    EXPECT_EQ(entry<int(Handle)>("cuGraphDestroy")(graph), success);
    EXPECT_EQ(launch(exec, nullptr), success);
    EXPECT_EQ(entry<int(Handle)>("cuGraphExecDestroy")(exec), success);
    EXPECT_EQ(launch(exec, nullptr), invalid_handle);
}

TEST_F(Work, InRowsKeepsToTheirPitch) {
    struct Copy2D {
        size_t source_x, source_y;
        unsigned source_type;
        const void* source_host;
        Address source_device;
        void* source_array;
        size_t source_pitch, target_x, target_y;
        unsigned target_type;
        void* target_host;
        Address target_device;
        void* target_array;
        size_t target_pitch, width, height;
    };
    Address x = 0;
    size_t pitch = 0;
    ASSERT_EQ((entry<int(Address*, size_t*, size_t, size_t, unsigned)>("cuMemAllocPitch")(
                  &x, &pitch, 12, 3, 4)),
              success);
    EXPECT_EQ(pitch, 512u);
    const auto fill = entry<int(Address, size_t, unsigned, size_t, size_t)>("cuMemsetD2D32");
    ASSERT_EQ(fill(x, pitch, 9, 3, 3), success);
    EXPECT_EQ(fill(x, pitch, 9, 3, 4), invalid_value);
    const uint32_t middle[] = {1, 2};
    Copy2D copy{};
    copy.source_type = 1;
    copy.source_host = middle;
    copy.source_pitch = 4;
    copy.target_type = 2;
    copy.target_device = x;
    copy.target_pitch = pitch;
    copy.target_x = 4;
    copy.target_y = 1;
    copy.width = 4;
    copy.height = 2;
    const auto copy_2d = entry<int(const Copy2D*)>("cuMemcpy2D");
    ASSERT_EQ(copy_2d(&copy), success);
    EXPECT_EQ(read<uint32_t>(x + pitch, 3), (Numbers{9, 1, 9}));
    EXPECT_EQ(read<uint32_t>(x + 2 * pitch, 3), (Numbers{9, 2, 9}));
    copy.target_y = 2;
    EXPECT_EQ(copy_2d(&copy), invalid_value);
    EXPECT_EQ(copy_2d(nullptr), invalid_value);
}

TEST_F(Work, OnHostMemoryNeedsItKnown) {
    void* pinned = nullptr;
    ASSERT_EQ((entry<int(void**, size_t, unsigned)>("cuMemHostAlloc")(&pinned, 64, 2)), success);
    const Handle f = kernel(" mov.u32 %r0, 8;\n st.global.u32 [%p0], %r0;");
    ASSERT_EQ(run(f, reinterpret_cast<Address>(pinned)), success);
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(*static_cast<uint32_t*>(pinned), 8u);
    const auto attribute = entry<int(void*, int, Address)>("cuPointerGetAttribute");
    unsigned type = 0;
    ASSERT_EQ(attribute(&type, 2, reinterpret_cast<Address>(pinned)), success);
    EXPECT_EQ(type, 1u);  // host
    std::vector<uint32_t> own(16);
    const auto own_address = reinterpret_cast<Address>(own.data());
    EXPECT_EQ(attribute(&type, 2, own_address), invalid_value);
    ASSERT_EQ((entry<int(void*, size_t, unsigned)>("cuMemHostRegister")(own.data(), 64, 2)),
              success);
    ASSERT_EQ(run(f, own_address), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(own[0], 8u);
    const auto unregister = entry<int(void*)>("cuMemHostUnregister");
    ASSERT_EQ(unregister(own.data()), success);
    EXPECT_EQ(unregister(own.data()), 713);
    EXPECT_EQ(entry<int(void*)>("cuMemFreeHost")(pinned), success);
    EXPECT_EQ(entry<int(void*)>("cuMemFreeHost")(pinned), invalid_value);
    testing::internal::CaptureStderr();
    ASSERT_EQ(run(f, own_address), success);
    EXPECT_EQ(cuCtxSynchronize(), illegal_address);
    testing::internal::GetCapturedStderr();
}

TEST_F(Work, OnPoolsIsCounted) {
    Handle pool = nullptr;
    ASSERT_EQ((entry<int(Handle*, int)>("cuDeviceGetDefaultMemPool")(&pool, 0)), success);
    const auto used = [&] {
        uint64_t bytes = 99;
        EXPECT_EQ((entry<int(Handle, int, void*)>("cuMemPoolGetAttribute")(pool, 7, &bytes)),
                  success);
        return bytes;
    };
    Address x = 0;
    ASSERT_EQ((entry<int(Address*, size_t, Handle)>("cuMemAllocAsync")(&x, 1000, nullptr)),
              success);
    EXPECT_EQ(used(), 1000u);
    ASSERT_EQ((entry<int(Address, Handle)>("cuMemFreeAsync")(x, nullptr)), success);
    EXPECT_EQ(used(), 0u);
    EXPECT_EQ((entry<int(Address, Handle)>("cuMemFreeAsync")(x, nullptr)), invalid_value);
}

struct PoolPlace {  // CUmemLocation
    int type, id;
};
constexpr int nowhere = 0, on_device = 1, on_host = 2, on_numa_node = 3;
constexpr int pinned = 1, managed = 2;  // CUmemAllocationType

int pool_of(const char* function, Handle* out, PoolPlace at, int type) {
    return entry<int(Handle*, const PoolPlace*, int)>(function)(out, &at, type);
}

// As libcu++'s tests of memory pools have it: what is freed stays reserved up to the threshold,
// until the pool is trimmed, and a pool's largest size is rounded up to 32 MiB.
TEST_F(Work, OnPoolsIsReserved) {
    constexpr int threshold = 4, reserved = 5, reserved_high = 6;
    constexpr uint64_t chunk = 32 << 20;
    struct Properties {  // CUmemPoolProps
        int type = pinned, handle_types = 0;
        PoolPlace at{on_device, 0};
        void* security = nullptr;
        size_t max_size = 1 << 20;
        uint64_t rest[8] = {};
    } properties;
    Handle pool = nullptr;
    ASSERT_EQ((entry<int(Handle*, const Properties*)>("cuMemPoolCreate")(&pool, &properties)),
              success);
    const auto get = entry<int(Handle, int, void*)>("cuMemPoolGetAttribute");
    const auto set = entry<int(Handle, int, void*)>("cuMemPoolSetAttribute");
    const auto trim = entry<int(Handle, size_t)>("cuMemPoolTrimTo");
    const auto put = entry<int(Address*, size_t, Handle, Handle)>("cuMemAllocFromPoolAsync");
    const auto free = entry<int(Address, Handle)>("cuMemFreeAsync");
    const auto value = [&](int attribute) {
        uint64_t out = 99;
        EXPECT_EQ(get(pool, attribute, &out), success);
        return out;
    };
    Address x = 0, y = 0;
    EXPECT_EQ(value(reserved), 0u);
    ASSERT_EQ(put(&x, 8192, pool, nullptr), success);
    EXPECT_EQ(value(reserved), chunk);
    ASSERT_EQ(free(x, nullptr), success);
    EXPECT_EQ(value(reserved), 0u);
    uint64_t all = UINT64_MAX;
    ASSERT_EQ(set(pool, threshold, &all), success);
    ASSERT_EQ(put(&x, 8192, pool, nullptr), success);
    ASSERT_EQ(put(&y, 8192, pool, nullptr), success);
    ASSERT_EQ(free(x, nullptr), success);
    for (const uint64_t keep : {uint64_t{1024}, 24 * chunk, uint64_t{0}}) {
        EXPECT_EQ(trim(pool, keep), success);
        EXPECT_EQ(value(reserved), chunk) << keep;
    }
    ASSERT_EQ(free(y, nullptr), success);
    EXPECT_EQ(value(reserved), chunk);
    EXPECT_EQ(trim(pool, 1), success);
    EXPECT_EQ(value(reserved), chunk);
    EXPECT_EQ(trim(pool, 0), success);
    EXPECT_EQ(value(reserved), 0u);
    EXPECT_EQ(value(reserved_high), chunk);
    uint64_t none = 0;
    ASSERT_EQ(set(pool, reserved_high, &none), success);
    EXPECT_EQ(value(reserved_high), 0u);

    EXPECT_EQ(put(&x, chunk + 1, pool, nullptr), out_of_memory);
    ASSERT_EQ(put(&x, chunk, pool, nullptr), success);
    EXPECT_EQ(put(&y, 1, pool, nullptr), out_of_memory);
    ASSERT_EQ(free(x, nullptr), success);
    EXPECT_EQ(entry<int(Handle)>("cuMemPoolDestroy")(pool), success);
}

TEST_F(Work, OnPoolsOfEachPlace) {
    Handle device = nullptr, same = nullptr;
    ASSERT_EQ((entry<int(Handle*, int)>("cuDeviceGetDefaultMemPool")(&device, 0)), success);
    ASSERT_EQ(pool_of("cuMemGetDefaultMemPool", &same, {on_device, 0}, pinned), success);
    EXPECT_EQ(device, same);
    constexpr int memory_type = 2, is_managed = 8, host_memory = 1, device_memory = 2;
    struct Asked {
        PoolPlace at;
        int type;
        unsigned memory, managed, reach;
    };
    for (const Asked& a : {Asked{{on_device, 0}, pinned, device_memory, 0, 3},
                           Asked{{on_host, 7}, pinned, host_memory, 0, 0},
                           Asked{{on_numa_node, 0}, pinned, host_memory, 0, 0},
                           Asked{{nowhere, 0}, managed, device_memory, 1, 3},
                           Asked{{on_device, 0}, managed, device_memory, 1, 3}}) {
        Handle normal = nullptr, mine = nullptr, now = nullptr;
        ASSERT_EQ(pool_of("cuMemGetDefaultMemPool", &normal, a.at, a.type), success);
        ASSERT_EQ(pool_of("cuMemGetMemPool", &now, a.at, a.type), success);
        EXPECT_EQ(now, normal);
        int flags = 9;
        const PoolPlace first{on_device, 0};
        const auto may = entry<int(int*, Handle, const PoolPlace*)>("cuMemPoolGetAccess");
        ASSERT_EQ(may(&flags, normal, &first), success);
        EXPECT_EQ(flags, int(a.reach));

        struct Properties {  // CUmemPoolProps
            int type, handle_types;
            PoolPlace at;
            uint64_t rest[10];
        } properties{a.type, 0, a.at, {}};
        ASSERT_EQ((entry<int(Handle*, const Properties*)>("cuMemPoolCreate")(&mine, &properties)),
                  success);
        const auto set = entry<int(const PoolPlace*, int, Handle)>("cuMemSetMemPool");
        ASSERT_EQ(set(&a.at, a.type, mine), success);
        EXPECT_EQ(set(&a.at, 3 - a.type, mine), invalid_value);
        ASSERT_EQ(pool_of("cuMemGetMemPool", &now, a.at, a.type), success);
        EXPECT_EQ(now, mine);

        Address x = 0;
        ASSERT_EQ((entry<int(Address*, size_t, Handle, Handle)>("cuMemAllocFromPoolAsync")(
                      &x, 64, mine, nullptr)),
                  success);
        unsigned type = 0, of_managed = 9;
        const auto ask = entry<int(void*, int, Address)>("cuPointerGetAttribute");
        EXPECT_EQ(ask(&type, memory_type, x), success);
        EXPECT_EQ(ask(&of_managed, is_managed, x), success);
        EXPECT_EQ(type, a.memory);
        EXPECT_EQ(of_managed, a.managed);
        // Kernels may touch it where its pool lets their device.
        struct {
            PoolPlace at;
            int flags;
        } access{first, 3};
        EXPECT_EQ((entry<int(Handle, const void*, size_t)>("cuMemPoolSetAccess")(mine, &access, 1)),
                  success);
        Handle module = nullptr, f = nullptr;
        ASSERT_EQ(cuModuleLoadData(&module, scale_ptx.c_str()), success);
        ASSERT_EQ(cuModuleGetFunction(&f, module, "scale"), success);
        ASSERT_EQ(cuMemsetD32(x, 2, 1), success);
        uint32_t by = 4;
        void* parameters[] = {&x, &by};
        EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), success);
        EXPECT_EQ(read<uint32_t>(x, 1), Numbers{9});
        EXPECT_EQ(cuModuleUnload(module), success);
        EXPECT_EQ((entry<int(Address, Handle)>("cuMemFreeAsync")(x, nullptr)), success);
        EXPECT_EQ(ask(&type, memory_type, x), invalid_value);

        const auto destroy = entry<int(Handle)>("cuMemPoolDestroy");
        EXPECT_EQ(destroy(mine), success);
        EXPECT_EQ(destroy(normal), invalid_value);
        ASSERT_EQ(pool_of("cuMemGetMemPool", &now, a.at, a.type), success);
        EXPECT_EQ(now, normal);
    }
    EXPECT_EQ(pool_of("cuMemGetDefaultMemPool", &same, {on_device, 99}, pinned), invalid_device);
    EXPECT_EQ(pool_of("cuMemGetDefaultMemPool", &same, {on_numa_node, 9}, pinned), invalid_value);
    EXPECT_EQ(pool_of("cuMemGetDefaultMemPool", &same, {nowhere, 0}, pinned), invalid_value);
    EXPECT_EQ(pool_of("cuMemGetDefaultMemPool", &same, {on_host, 0}, 0), invalid_value);
}

// A stream that is none of the default ones, or an event, says which context it is.
TEST_F(Work, OfAStreamNeedsNoCurrentContext) {
    Handle stream = nullptr, event = nullptr, pool = nullptr, own = nullptr;
    ASSERT_EQ((exported<int(Handle*, unsigned)>("cuStreamCreate")(&stream, 0)), success);
    ASSERT_EQ((exported<int(Handle*, unsigned)>("cuEventCreate")(&event, 0)), success);
    ASSERT_EQ((exported<int(Handle*, int)>("cuDeviceGetDefaultMemPool")(&pool, 0)), success);
    ASSERT_EQ((exported<int(Handle*)>("cuCtxPopCurrent_v2")(&own)), success);

    const auto of_stream = [&](const char* name) { return exported<int(Handle)>(name)(stream); };
    const auto of_event = [&](const char* name) { return exported<int(Handle)>(name)(event); };
    const auto put = exported<int(Address*, size_t, Handle, Handle)>("cuMemAllocFromPoolAsync");
    const auto record = exported<int(Handle, Handle)>("cuEventRecord");
    Address x = 0, y = 0;
    EXPECT_EQ(put(&x, 64, pool, stream), success);
    EXPECT_EQ((exported<int(Address*, size_t, Handle)>("cuMemAllocAsync")(&y, 64, stream)),
              success);
    EXPECT_EQ(
        (exported<int(Address, unsigned, size_t, Handle)>("cuMemsetD32Async")(x, 5, 16, stream)),
        success);
    EXPECT_EQ((exported<int(Address, Handle)>("cuMemFreeAsync")(x, stream)), success);
    EXPECT_EQ((exported<int(Address, Handle)>("cuMemFreeAsync")(y, stream)), success);
    bool called = false;
    const auto call = [](void* flag) { *static_cast<bool*>(flag) = true; };
    EXPECT_EQ(
        (exported<int(Handle, void (*)(void*), void*)>("cuLaunchHostFunc")(stream, call, &called)),
        success);
    using Callback = void (*)(Handle, int, void*);
    const auto call_back = exported<int(Handle, Callback, void*, unsigned)>("cuStreamAddCallback");
    EXPECT_EQ(call_back(
                  stream, [](Handle, int, void*) {}, nullptr, 0),
              success);
    EXPECT_EQ(record(event, stream), success);
    EXPECT_EQ((exported<int(Handle, Handle, unsigned)>("cuStreamWaitEvent")(stream, event, 0)),
              success);
    EXPECT_EQ(of_stream("cuStreamSynchronize"), success);
    EXPECT_TRUE(called);
    EXPECT_EQ(of_stream("cuStreamQuery"), success);
    EXPECT_EQ(of_event("cuEventSynchronize"), success);
    EXPECT_EQ(of_event("cuEventQuery"), success);
    int device = 9, priority = 9;
    unsigned flags = 9;
    unsigned long long id = 0;
    Handle of = nullptr;
    EXPECT_EQ((exported<int(Handle, int*)>("cuStreamGetDevice")(stream, &device)), success);
    EXPECT_EQ((exported<int(Handle, int*)>("cuStreamGetPriority")(stream, &priority)), success);
    EXPECT_EQ((exported<int(Handle, unsigned*)>("cuStreamGetFlags")(stream, &flags)), success);
    EXPECT_EQ((exported<int(Handle, unsigned long long*)>("cuStreamGetId")(stream, &id)), success);
    EXPECT_EQ((exported<int(Handle, Handle*)>("cuStreamGetCtx")(stream, &of)), success);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(of, own);
    // None of the default ones, and what is no stream.
    EXPECT_EQ(put(&x, 64, pool, nullptr), invalid_context);
    EXPECT_EQ(record(event, nullptr), invalid_context);
    EXPECT_EQ(put(&x, 64, pool, event), invalid_handle);
    Handle current = this;
    EXPECT_EQ((exported<int(Handle*)>("cuCtxGetCurrent")(&current)), success);
    EXPECT_EQ(current, nullptr);

    ASSERT_EQ((exported<int(Handle)>("cuCtxPushCurrent_v2")(context)), success);
    EXPECT_EQ(of_event("cuEventDestroy_v2"), success);
    EXPECT_EQ(of_stream("cuStreamDestroy_v2"), success);
}

// The names without a version, which some programs look for: they do what the later forms do.
TEST_F(Work, ByTheFirstFormsOfFunctions) {
    Handle made = nullptr, popped = nullptr, stream = nullptr, event = nullptr, link = nullptr;
    ASSERT_EQ((exported<int(Handle*, unsigned, int)>("cuCtxCreate")(&made, 0, 0)), success);
    ASSERT_EQ((entry<int(Handle*, unsigned)>("cuStreamCreate")(&stream, 0)), success);
    ASSERT_EQ((entry<int(Handle*, unsigned)>("cuEventCreate")(&event, 0)), success);
    for (const auto& [name, handle] :
         {std::pair("cuStreamDestroy", stream), std::pair("cuEventDestroy", event)}) {
        EXPECT_EQ(exported<int(Handle)>(name)(handle), success) << name;
        EXPECT_EQ(exported<int(Handle)>(name)(handle), invalid_handle) << name;
    }
    std::vector<char> bytes(4096);
    EXPECT_EQ((exported<int(void*, size_t, unsigned)>("cuMemHostRegister")(bytes.data(),
                                                                           bytes.size(), 0)),
              success);
    EXPECT_EQ(entry<int(void*)>("cuMemHostUnregister")(bytes.data()), success);
    ASSERT_EQ((exported<int(unsigned, const int*, void**, Handle*)>("cuLinkCreate")(
                  0, nullptr, nullptr, &link)),
              success);
    using Add = int(Handle, int, const void*, size_t, const char*, unsigned, const int*, void**);
    EXPECT_EQ(exported<Add>("cuLinkAddData")(link, 1, scale_ptx.c_str(), scale_ptx.size() + 1, "",
                                             0, nullptr, nullptr),
              success);
    using AddFile = int(Handle, int, const char*, unsigned, const int*, void**);
    EXPECT_NE(exported<AddFile>("cuLinkAddFile")(link, 1, "/nowhere", 0, nullptr, nullptr),
              success);
    void* image = nullptr;
    EXPECT_EQ((entry<int(Handle, void**, size_t*)>("cuLinkComplete")(link, &image, nullptr)),
              success);
    EXPECT_NE(image, nullptr);
    EXPECT_EQ(entry<int(Handle)>("cuLinkDestroy")(link), success);
    EXPECT_EQ(exported<int(Handle*)>("cuCtxPopCurrent")(&popped), success);
    EXPECT_EQ(popped, made);
    EXPECT_EQ(exported<int(Handle)>("cuCtxPushCurrent")(made), success);
    // It ends when it is detached as often as it was attached and made.
    Handle attached = nullptr;
    const auto attach = exported<int(Handle*, unsigned)>("cuCtxAttach");
    const auto detach = exported<int(Handle)>("cuCtxDetach");
    EXPECT_EQ(attach(&attached, 1), invalid_value);
    EXPECT_EQ(attach(nullptr, 0), invalid_value);
    ASSERT_EQ(attach(&attached, 0), success);
    EXPECT_EQ(attached, made);
    EXPECT_EQ(detach(made), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(detach(made), success);
    EXPECT_EQ(detach(made), invalid_context);
    ASSERT_EQ((exported<int(Handle*, unsigned, int)>("cuCtxCreate")(&made, 0, 0)), success);
    EXPECT_EQ(exported<int(Handle)>("cuCtxDestroy")(made), success);
    EXPECT_EQ(exported<int(Handle)>("cuCtxDestroy")(made), invalid_context);
}

TEST_F(Work, OfCopiesInABatch) {
    struct Attributes {  // CUmemcpyAttributes
        int order;
        PoolPlace source, target;
        unsigned flags;
    };
    constexpr int in_stream_order = 1, during_call = 2;
    const Address x = allocate(16);
    const uint32_t a[2] = {1, 2}, b = 3;
    uint32_t back = 0;
    const Address to[3] = {x, x + 8, reinterpret_cast<Address>(&back)};
    const Address from[3] = {reinterpret_cast<Address>(a), reinterpret_cast<Address>(&b), x + 12};
    const size_t sizes[3] = {8, 4, 4}, firsts[2] = {0, 1};
    const Attributes attributes[2] = {{during_call, {}, {}, 0}, {in_stream_order, {}, {}, 1}};
    ASSERT_EQ(cuMemsetD32(x, 7, 4), success);
    using Batch = int(const Address*, const Address*, const size_t*, size_t, const Attributes*,
                      const size_t*, size_t, Handle);
    const auto batch = exported<Batch>("cuMemcpyBatchAsync_v2");
    ASSERT_EQ(batch(to, from, sizes, 3, attributes, firsts, 2, nullptr), success);
    EXPECT_EQ(read<uint32_t>(x, 4), (Numbers{1, 2, 3, 7}));
    EXPECT_EQ(back, 7u);

    // The first form says which copy is the wrong one.
    using Batch12 = int(const Address*, const Address*, const size_t*, size_t, const Attributes*,
                        const size_t*, size_t, size_t*, Handle);
    const auto batch_12 = exported<Batch12>("cuMemcpyBatchAsync");
    const Address wrong[3] = {x, 0, x};
    size_t failed = 9;
    EXPECT_EQ(batch_12(wrong, from, sizes, 3, attributes, firsts, 2, &failed, nullptr),
              invalid_value);
    EXPECT_EQ(failed, 1u);
    EXPECT_EQ(batch_12(to, from, sizes, 3, attributes, firsts, 2, &failed, nullptr), success);
    EXPECT_EQ(failed, SIZE_MAX);

    const Attributes none[1] = {};
    const size_t late[2] = {1, 2}, twice[2] = {0, 0}, behind[2] = {0, 3};
    EXPECT_EQ(batch(to, from, sizes, 3, none, firsts, 1, nullptr), invalid_value);
    EXPECT_EQ(batch(to, from, sizes, 3, attributes, late, 2, nullptr), invalid_value);
    EXPECT_EQ(batch(to, from, sizes, 3, attributes, twice, 2, nullptr), invalid_value);
    EXPECT_EQ(batch(to, from, sizes, 3, attributes, behind, 2, nullptr), invalid_value);
    EXPECT_EQ(batch(to, from, sizes, 1, attributes, firsts, 2, nullptr), invalid_value);
    EXPECT_EQ(batch(to, from, sizes, 0, attributes, firsts, 1, nullptr), invalid_value);
}

TEST_F(Work, OfLibrariesAndLinksIsThatOfModules) {
    Handle lib = nullptr, f = nullptr, link = nullptr, module = nullptr;
    using Load = int(Handle*, const void*, int*, void**, unsigned, int*, void**, unsigned);
    ASSERT_EQ(entry<Load>("cuLibraryLoadData")(&lib, scale_ptx.c_str(), nullptr, nullptr, 0,
                                               nullptr, nullptr, 0),
              success);
    ASSERT_EQ((entry<int(Handle*, Handle, const char*)>("cuLibraryGetKernel")(&f, lib, "scale")),
              success);
    const Address x = allocate(4);
    ASSERT_EQ(cuMemsetD32(x, 2, 1), success);
    uint32_t a = 4;
    Address x_argument = x;
    void* parameters[] = {&x_argument, &a};
    ASSERT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), success);
    EXPECT_EQ(read<uint32_t>(x, 1), Numbers{9});
    EXPECT_EQ(entry<int(Handle)>("cuLibraryUnload")(lib), success);
    EXPECT_EQ(entry<int(Handle)>("cuLibraryUnload")(lib), invalid_handle);

    using Create = int(unsigned, int*, void**, Handle*);
    using Add = int(Handle, int, const void*, size_t, const char*, unsigned, int*, void**);
    ASSERT_EQ(entry<Create>("cuLinkCreate")(0, nullptr, nullptr, &link), success);
    ASSERT_EQ(entry<Add>("cuLinkAddData")(link, 1, scale_ptx.c_str(), scale_ptx.size() + 1, "s", 0,
                                          nullptr, nullptr),
              success);
    void* image = nullptr;
    size_t size = 0;
    ASSERT_EQ((entry<int(Handle, void**, size_t*)>("cuLinkComplete")(link, &image, &size)),
              success);
    ASSERT_EQ(cuModuleLoadData(&module, image), success);
    EXPECT_EQ(entry<int(Handle)>("cuLinkDestroy")(link), success);
    EXPECT_EQ(cuModuleUnload(module), success);
}

// What a kernel prints is on stdout when the program waits for it.
TEST_F(Work, PrintsWhenItIsWaitedFor) {
    const std::string ptx = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry k(.param .u64 x)
{
 .reg .b64 %p<2>; .reg .b32 %r<2>;
 mov.u64 %p0, text; cvta.global.u64 %p0, %p0;
 mov.u64 %p1, 0;
 {
 .param .b64 p0; st.param.b64 [p0], %p0;
 .param .b64 p1; st.param.b64 [p1], %p1;
 .param .b32 r;
 call.uni (r), vprintf, (p0, p1);
 }
 ret;
}
)";
    const Handle f = function(load(ptx), "k");
    testing::internal::CaptureStdout();
    ASSERT_EQ(run(f, 0, 2), success);
    std::fflush(stdout);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    testing::internal::CaptureStdout();
    ASSERT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "hi\nhi\n");
}

TEST_F(Work, OfThePrimaryContextIsShared) {
    Handle one = nullptr, other = nullptr;
    const auto retain = entry<int(Handle*, int)>("cuDevicePrimaryCtxRetain");
    const auto give_back = entry<int(int)>("cuDevicePrimaryCtxRelease");
    ASSERT_EQ(retain(&one, 0), success);
    ASSERT_EQ(retain(&other, 0), success);
    EXPECT_EQ(one, other);
    ASSERT_EQ(entry<int(Handle)>("cuCtxPushCurrent")(one), success);
    const Address x = allocate(64);
    Handle popped = nullptr;
    ASSERT_EQ(entry<int(Handle*)>("cuCtxPopCurrent")(&popped), success);
    EXPECT_EQ(popped, one);
    ASSERT_EQ(give_back(0), success);
    ASSERT_EQ(cuCtxSetCurrent(one), success);
    EXPECT_EQ(cuMemFree(x), success);
    const Address y = allocate(64);
    ASSERT_EQ(give_back(0), success);
    Address z = 0;
    // The context is destroyed, as an H100 says of every call but those that ask what it is.
    EXPECT_EQ(cuMemAlloc(&z, 64), 709);
    EXPECT_EQ(cuMemFree(y), 709);
    EXPECT_EQ(give_back(0), invalid_context);
    ASSERT_EQ(retain(&other, 0), success);
    EXPECT_EQ(one, other);
    EXPECT_EQ(cuMemAlloc(&z, 64), success);
    // After a reset too, until somebody retains it; who had retained it before counts still.
    ASSERT_EQ(entry<int(int)>("cuDevicePrimaryCtxReset")(0), success);
    EXPECT_EQ(cuMemFree(z), 709);
    EXPECT_EQ(cuMemAlloc(&z, 64), 709);
    ASSERT_EQ(retain(&other, 0), success);
    EXPECT_EQ(one, other);
    EXPECT_EQ(cuMemAlloc(&z, 64), success);
    ASSERT_EQ(give_back(0), success);
    EXPECT_EQ(cuMemFree(z), success);
    ASSERT_EQ(give_back(0), success);
    EXPECT_EQ(cuMemAlloc(&z, 64), 709);
    EXPECT_EQ(give_back(0), invalid_context);
    ASSERT_EQ(cuCtxSetCurrent(context), success);
    // What ends memory needs no current context.
    const Address last = allocate(64);
    ASSERT_EQ(cuCtxSetCurrent(nullptr), success);
    EXPECT_EQ(cuMemFree(last), success);
    ASSERT_EQ(cuCtxSetCurrent(context), success);
}

}  // namespace
}  // namespace lockwarp::test::streams_test
