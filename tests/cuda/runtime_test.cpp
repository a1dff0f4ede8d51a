// SPDX-License-Identifier: Apache-2.0
// The runtime as a compiled program has it: libcudart.so of both toolkits, a fat binary that is
// registered, a launch. tests/cuda/programs are programs of nvcc.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "cuda/functions_list.hpp"
#include "driver.hpp"

namespace lockwarp::test::runtime_test {
namespace {

void* runtime(int toolkit) {
    static void* const of_12 = dlopen(LOCKWARP_LIBCUDART_12, RTLD_NOW | RTLD_LOCAL);
    static void* const of_13 = dlopen(LOCKWARP_LIBCUDART_13, RTLD_NOW | RTLD_LOCAL);
    void* const out = toolkit == 12 ? of_12 : of_13;
    EXPECT_NE(out, nullptr) << dlerror();
    return out;
}

template <class F>
F* of(int toolkit, const char* symbol) {
    auto* const f = reinterpret_cast<F*>(dlsym(runtime(toolkit), symbol));
    EXPECT_NE(f, nullptr) << symbol;
    return f;
}

// The runtime keeps the primary context; the tests of the driver begin without one.
void give_back() {
    unsigned flags = 0;
    int active = 0;
    const auto state = exported<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
    if (state(0, &flags, &active) == success && active != 0) {
        EXPECT_EQ(exported<int(int)>("cuDevicePrimaryCtxRelease_v2")(0), success);
    }
    // A test that called nothing of the driver has no driver to give back.
    constexpr int not_initialised = 3;
    const int left = cuCtxSetCurrent(nullptr);
    EXPECT_TRUE(left == success || left == not_initialised) << left;
}

class Runtime : public testing::Test {
  protected:
    static void TearDownTestSuite() { give_back(); }
};

TEST_F(Runtime, ExportsTheFunctionsOfEachToolkit) {
    for (const int toolkit : {12, 13}) {
        std::set<std::string> seen;
        size_t done = 0;
        for (const cuda::ListedRuntimeFunction& f : cuda::listed_runtime_functions) {
            const std::string symbol(f.symbol);
            if (!has(f.toolkits, toolkit)) continue;
            EXPECT_TRUE(seen.insert(symbol).second) << symbol;
            done += f.done ? 1 : 0;
            std::vector<std::string> symbols{symbol};
            if (!f.per_thread.empty()) symbols.push_back(symbol + "_" + std::string(f.per_thread));
            const std::string version = "libcudart.so." + std::to_string(toolkit);
            for (const std::string& s : symbols)
                EXPECT_NE(dlvsym(runtime(toolkit), s.c_str(), version.c_str()), nullptr) << s;
        }
        EXPECT_GE(done, 200u);
        EXPECT_GE(seen.size(), 300u);
    }
    EXPECT_EQ(dlsym(runtime(13), "cudaGetDeviceProperties_v2"), nullptr);
    EXPECT_EQ(dlsym(runtime(12), "cudaMemGetDefaultMemPool"), nullptr);
}

// tests/cuda/programs, which are compiled where there is nvcc, call each function between them.
TEST_F(Runtime, HasProgramsThatCallEachFunction) {
    std::string sources;
    size_t programs = 0, called = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/tests/cuda/programs")) {
        const bool is_program = entry.path().extension() == ".cu";
        if (!is_program && entry.path().extension() != ".hpp") continue;
        std::ifstream file(entry.path());
        sources.append(std::istreambuf_iterator<char>(file), {});
        programs += is_program ? 1 : 0;
    }
    const auto expect_call = [&](std::string_view name) {
        EXPECT_NE(sources.find(std::string(name) + "("), std::string::npos) << name;
        ++called;
    };
    for (const cuda::ListedRuntimeFunction& f : cuda::listed_runtime_functions)
        // Compilers write those with underscores.
        if (f.done && !f.symbol.starts_with("__")) expect_call(f.symbol);
    for (const cuda::ListedFunction& f : cuda::listed_functions)
        if (f.done) expect_call(f.name);
    EXPECT_GE(programs, 40u);
    EXPECT_GE(called, 500u);
}

TEST_F(Runtime, SaysOnceWhatItLacks) {
    const auto lacking = of<int(void*)>(13, "cudaGraphicsUnregisterResource");
    testing::internal::CaptureStderr();
    EXPECT_EQ(lacking(nullptr), not_supported);
    EXPECT_EQ(lacking(nullptr), not_supported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "lockwarp: cudaGraphicsUnregisterResource is not supported\n");
    EXPECT_EQ(of<int()>(13, "cudaGetLastError")(), not_supported);
}

TEST_F(Runtime, TellsWhichToolkitItIs) {
    int version = 0;
    EXPECT_EQ(of<int(int*)>(12, "cudaRuntimeGetVersion")(&version), success);
    EXPECT_EQ(version / 1000, 12);
    EXPECT_EQ(of<int(int*)>(13, "cudaRuntimeGetVersion")(&version), success);
    EXPECT_EQ(version / 1000, 13);
}

// Places of the last members of cudaDeviceProp in either toolkit (driver_types.h).
TEST_F(Runtime, FillsTheFormOfPropertiesOfEachToolkit) {
    struct Form {
        int toolkit;
        const char* symbol;
        size_t size, sms, shared_optin;
    };
    for (const Form& f : {Form{12, "cudaGetDeviceProperties_v2", 1032, 388, 696},
                          Form{13, "cudaGetDeviceProperties", 1008, 384, 672}}) {
        std::vector<char> out(f.size + 8, 'x');
        ASSERT_EQ((of<int(void*, int)>(f.toolkit, f.symbol)(out.data(), 0)), success);
        EXPECT_STREQ(out.data(), "NVIDIA A100-SXM4-80GB");
        int sms = 0;
        size_t shared = 0;
        std::memcpy(&sms, out.data() + f.sms, sizeof sms);
        std::memcpy(&shared, out.data() + f.shared_optin, sizeof shared);
        EXPECT_EQ(sms, 108);
        EXPECT_EQ(shared, 166912u);
        EXPECT_EQ(std::string(out.data() + f.size, 8), "xxxxxxxx");
    }
}

// As nvcc lays it out: one part of PTX that is not compressed.
std::string fat_binary(const std::string& text) {
    std::string out(16 + 64, '\0');
    const auto put = [&](size_t at, auto value) {
        std::memcpy(out.data() + at, &value, sizeof value);
    };
    const std::string payload = text + std::string(8 - text.size() % 8, '\0');
    put(0, uint32_t{0xba55ed50});
    put(4, uint16_t{1});
    put(6, uint16_t{16});
    put(8, uint64_t{64 + payload.size()});
    put(16, uint16_t{1});
    put(20, uint32_t{64});
    put(24, uint64_t{payload.size()});
    put(44, uint32_t{75});
    return out + payload;
}

struct Wrapper {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    const void* list = nullptr;
};
struct Dim3 {
    unsigned x, y, z;
};

int host_scale = 0, host_count = 0;  // what stands for the kernel and the variable

class Registered : public testing::TestWithParam<int> {
  protected:
    static void TearDownTestSuite() { give_back(); }
    void SetUp() override {
        binary = fat_binary(scale_ptx);
        wrapper.data = binary.data();
        handle = call<void**(void*)>("__cudaRegisterFatBinary")(&wrapper);
        call<void(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*)>(
            "__cudaRegisterFunction")(handle, &host_scale, nullptr, "scale", -1, nullptr, nullptr,
                                      nullptr, nullptr, nullptr);
        call<void(void**, const void*, char*, const char*, int, size_t, int, int)>(
            "__cudaRegisterVar")(handle, &host_count, nullptr, "count", 0, 4, 0, 0);
        call<void(void**)>("__cudaRegisterFatBinaryEnd")(handle);
    }
    void TearDown() override { call<void(void**)>("__cudaUnregisterFatBinary")(handle); }
    template <class F>
    F* call(const char* symbol) {
        return of<F>(GetParam(), symbol);
    }
    int launch(void* x, uint32_t a) {
        void* parameters[] = {&x, &a};
        return call<int(const void*, Dim3, Dim3, void**, size_t, void*)>("cudaLaunchKernel")(
            &host_scale, {1, 1, 1}, {8, 1, 1}, parameters, 0, nullptr);
    }

    std::string binary;
    Wrapper wrapper;
    void** handle = nullptr;
};

TEST_P(Registered, KernelsRunAndVariablesCount) {
    void* x = nullptr;
    ASSERT_EQ((call<int(void**, size_t)>("cudaMalloc")(&x, 32)), success);
    std::vector<uint32_t> numbers{0, 1, 2, 3, 4, 5, 6, 7};
    const auto copy = call<int(void*, const void*, size_t, int)>("cudaMemcpy");
    ASSERT_EQ(copy(x, numbers.data(), 32, 1), success);
    ASSERT_EQ(launch(x, 10), success);
    ASSERT_EQ(copy(numbers.data(), x, 32, 2), success);
    EXPECT_EQ(numbers, (std::vector<uint32_t>{1, 11, 21, 31, 41, 51, 61, 71}));
    uint32_t count = 0;
    ASSERT_EQ((call<int(void*, const void*, size_t, size_t, int)>("cudaMemcpyFromSymbol")(
                  &count, &host_count, 4, 0, 2)),
              success);
    EXPECT_EQ(count, 13u);  // 5, and 8 threads
    EXPECT_EQ(call<int(void*)>("cudaFree")(x), success);
}

TEST_P(Registered, MachineCodeAloneIsRefusedByName) {
    std::string machine = binary;
    machine[16] = 2;  // the part's kind
    wrapper.data = machine.data();
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch(nullptr, 1), no_binary_for_gpu);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("kernel scale of "), std::string::npos) << said;
    EXPECT_NE(said.find("-gencode arch=compute_80,code=compute_80"), std::string::npos) << said;
    EXPECT_EQ(call<int()>("cudaGetLastError")(), no_binary_for_gpu);
}

INSTANTIATE_TEST_SUITE_P(Runtime, Registered, testing::Values(12, 13),
                         [](const auto& i) { return "Toolkit" + std::to_string(i.param); });

}  // namespace
}  // namespace lockwarp::test::runtime_test
