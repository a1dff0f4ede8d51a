// SPDX-License-Identifier: Apache-2.0
// NVML of the stand-in driver: its results are those of an H100 with driver 580.159.04.
#include <unistd.h>

#include <cstring>
#include <set>

#include "cuda/nvml.hpp"
#include "cuda/products.hpp"
#include "driver.hpp"

namespace lockwarp::test {
namespace {

constexpr int uninitialized = 1, invalid_argument = 2, nvml_unsupported = 3, nvml_missing = 6,
              insufficient_size = 7, no_function = 13;

void* management() {
    static void* const opened = dlopen(LOCKWARP_LIBNVML, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) ADD_FAILURE() << dlerror();
    return opened;
}

template <class... Arguments>
int ask(const char* symbol, Arguments... arguments) {
    void* const found = dlsym(management(), symbol);
    if (found == nullptr) return -1;
    return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

class Nvml : public testing::Test {
  protected:
    Nvml() {
        EXPECT_EQ(ask("nvmlInit_v2"), success);
        EXPECT_EQ(ask("nvmlDeviceGetHandleByIndex_v2", 0u, &device), success);
    }
    ~Nvml() override { EXPECT_EQ(ask("nvmlShutdown"), success); }

    unsigned number(const char* symbol) {
        unsigned out = 0xabcd;
        EXPECT_EQ(ask(symbol, device, &out), success) << symbol;
        EXPECT_EQ(ask(symbol, device, static_cast<unsigned*>(nullptr)), invalid_argument);
        EXPECT_EQ(ask(symbol, static_cast<Handle>(nullptr), &out), invalid_argument);
        return out;
    }
    std::string text(const char* symbol) {
        char out[96] = "";
        EXPECT_EQ(ask(symbol, device, out, unsigned{sizeof out}), success) << symbol;
        const auto size = static_cast<unsigned>(std::strlen(out));
        EXPECT_EQ(ask(symbol, device, out, size), insufficient_size);
        EXPECT_EQ(ask(symbol, device, out, size + 1), success);
        EXPECT_EQ(ask(symbol, device, static_cast<char*>(nullptr), 96u), invalid_argument);
        EXPECT_EQ(ask(symbol, static_cast<Handle>(nullptr), out, 96u), invalid_argument);
        return out;
    }

    Handle device = nullptr;
    const cuda::Product& product = cuda::product_of(isa::Arch::sm_80);
};

TEST(NvmlFunctions, AreExportedAndLackWhatOnlyACardHas) {
    std::set<std::string_view> seen;
    size_t done = 0;
    for (const cuda::ListedNvmlFunction& f : cuda::listed_nvml_functions) {
        EXPECT_TRUE(seen.insert(f.symbol).second) << f.symbol;
        done += f.done ? 1 : 0;
        const std::string symbol(f.symbol);
        ASSERT_NE(dlsym(management(), symbol.c_str()), nullptr) << symbol;
        if (!f.done) {
            EXPECT_EQ(ask(symbol.c_str()), nvml_unsupported) << symbol;
        }
    }
    EXPECT_GE(done, 50u);
    EXPECT_GE(seen.size(), 370u);
    EXPECT_EQ(ask("nvmlDeviceGetNothing"), -1);
}

TEST(NvmlFunctions, WantAsManyEndsAsBegins) {
    unsigned count = 77;
    EXPECT_EQ(ask("nvmlDeviceGetCount_v2", &count), uninitialized);
    EXPECT_EQ(ask("nvmlShutdown"), uninitialized);
    for (const char* const begin : {"nvmlInit", "nvmlInit_v2"}) EXPECT_EQ(ask(begin), success);
    EXPECT_EQ(ask("nvmlInitWithFlags", 0u), success);
    for (int left = 3; left != 0; --left) {
        for (const char* const symbol : {"nvmlDeviceGetCount", "nvmlDeviceGetCount_v2"}) {
            count = 77;
            EXPECT_EQ(ask(symbol, &count), success);
            EXPECT_EQ(count, 1u);
        }
        EXPECT_EQ(ask("nvmlShutdown"), success);
    }
    EXPECT_EQ(ask("nvmlDeviceGetCount", &count), uninitialized);
    EXPECT_EQ(ask("nvmlShutdown"), uninitialized);
}

TEST_F(Nvml, FindsADeviceByEachOfItsNames) {
    const std::string uuid = text("nvmlDeviceGetUUID");
    EXPECT_EQ(uuid, "GPU-4c6f636b-7761-7270-0000-000000000050");
    const auto find = [&](const char* symbol, const std::string& name) {
        Handle found = nullptr;
        const int result = ask(symbol, name.c_str(), &found);
        EXPECT_EQ(found, result == success ? device : nullptr) << name;
        EXPECT_EQ(ask(symbol, name.c_str(), static_cast<Handle*>(nullptr)), invalid_argument);
        return result;
    };
    EXPECT_EQ(find("nvmlDeviceGetHandleByUUID", uuid), success);
    EXPECT_EQ(find("nvmlDeviceGetHandleByUUID", "GPU-00000000-0000-0000-0000-000000000000"),
              nvml_missing);
    for (const char* const symbol :
         {"nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetHandleByPciBusId_v2"}) {
        for (const char* const name : {"0000:01:00.0", "00000000:01:00.0", "01:00.0"})
            EXPECT_EQ(find(symbol, name), success) << name;
        for (const char* const name : {"0000:77:00.0", "0001:01:00.0", "0000:01:01.0"})
            EXPECT_EQ(find(symbol, name), nvml_missing) << name;
        EXPECT_EQ(find(symbol, "nonsense"), invalid_argument);
    }
    Handle other = nullptr;
    EXPECT_EQ(ask("nvmlDeviceGetHandleByIndex", 0u, &other), success);
    EXPECT_EQ(other, device);
    EXPECT_EQ(ask("nvmlDeviceGetHandleByIndex_v2", 1u, &other), invalid_argument);
    EXPECT_EQ(ask("nvmlDeviceGetHandleByIndex_v2", 0u, static_cast<Handle*>(nullptr)),
              invalid_argument);
    int same = 0;
    EXPECT_EQ(ask("nvmlDeviceOnSameBoard", device, device, &same), success);
    EXPECT_EQ(same, 1);
    EXPECT_EQ(ask("nvmlDeviceOnSameBoard", device, static_cast<Handle>(nullptr), &same),
              invalid_argument);
    int status = -1;
    EXPECT_EQ(ask("nvmlDeviceGetP2PStatus", device, device, 0, &status), success);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ask("nvmlDeviceGetP2PStatus", device, device, 4, &status), success);
    EXPECT_EQ(status, 5);  // between PCI devices: not supported
    EXPECT_EQ(ask("nvmlDeviceGetP2PStatus", device, static_cast<Handle>(nullptr), 0, &status),
              invalid_argument);
}

TEST_F(Nvml, TellsOfTheProductWhatTheDriverDoes) {
    EXPECT_EQ(text("nvmlDeviceGetName"), product.name);
    int major = 0, minor = 0, version = 0, driver = 0;
    EXPECT_EQ(ask("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), success);
    EXPECT_EQ(major * 10 + minor, 80);
    EXPECT_EQ(ask("nvmlDeviceGetCudaComputeCapability", device, &major, static_cast<int*>(nullptr)),
              invalid_argument);
    EXPECT_EQ(entry<int(int*)>("cuDriverGetVersion")(&driver), success);
    for (const char* const symbol :
         {"nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"}) {
        EXPECT_EQ(ask(symbol, &version), success);
        EXPECT_EQ(version, driver);
        EXPECT_EQ(ask(symbol, static_cast<int*>(nullptr)), invalid_argument);
    }
    char words[80];
    EXPECT_EQ(ask("nvmlSystemGetDriverVersion", words, 80u), success);
    EXPECT_STREQ(words, "580.159.04");
    EXPECT_EQ(ask("nvmlSystemGetNVMLVersion", words, 80u), success);
    EXPECT_STREQ(words, "13.580.159.04");
    EXPECT_EQ(ask("nvmlSystemGetNVMLVersion", words, 13u), insufficient_size);

    cuda::NvmlPciInfo pci{};
    EXPECT_EQ(ask("nvmlDeviceGetPciInfo_v3", device, &pci), success);
    EXPECT_STREQ(pci.bus_id_legacy, "0000:01:00.0");
    EXPECT_STREQ(pci.bus_id, "00000000:01:00.0");
    EXPECT_EQ(pci.domain, 0u);
    EXPECT_EQ(pci.bus, 1u);
    EXPECT_EQ(pci.device, 0u);
    EXPECT_EQ(pci.device_id & 0xffff, 0x10deu);  // NVIDIA
}

TEST_F(Nvml, HasNumbersOfTheProductAndOfAnIdleDevice) {
    const std::pair<const char*, unsigned> expected[] = {
        {"nvmlDeviceGetIndex", 0},
        {"nvmlDeviceGetMinorNumber", 0},
        {"nvmlDeviceGetArchitecture", 7},
        {"nvmlDeviceGetNumGpuCores", 6912},
        {"nvmlDeviceGetMemoryBusWidth", 5120},
        {"nvmlDeviceGetMaxPcieLinkGeneration", 4},
        {"nvmlDeviceGetCurrPcieLinkGeneration", 4},
        {"nvmlDeviceGetMaxPcieLinkWidth", 16},
        {"nvmlDeviceGetCurrPcieLinkWidth", 16},
        {"nvmlDeviceIsMigDeviceHandle", 0},
        {"nvmlDeviceGetMaxMigDeviceCount", 0},
        {"nvmlDeviceGetPersistenceMode", 1},
        {"nvmlDeviceGetComputeMode", 0},
        {"nvmlDeviceGetPerformanceState", 0},
        {"nvmlDeviceGetVirtualizationMode", 0},
    };
    for (const auto& [symbol, value] : expected) EXPECT_EQ(number(symbol), value) << symbol;
    for (const char* const symbol : {"nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo"}) {
        const unsigned clocks[] = {1410, 1410, 1593};
        for (int type = 0; type < 4; ++type) {
            unsigned megahertz = 0;
            EXPECT_EQ(ask(symbol, device, type, &megahertz), type < 3 ? success : nvml_unsupported);
            if (type < 3) {
                EXPECT_EQ(megahertz, clocks[type]) << type;
            }
        }
    }
    unsigned now = 7, pending = 7;
    for (const auto& [symbol, value] :
         {std::pair{"nvmlDeviceGetMigMode", 0u}, {"nvmlDeviceGetEccMode", 1u}}) {
        EXPECT_EQ(ask(symbol, device, &now, &pending), success);
        EXPECT_EQ(now, value);
        EXPECT_EQ(pending, value);
        EXPECT_EQ(ask(symbol, device, &now, static_cast<unsigned*>(nullptr)), invalid_argument);
    }
    cuda::NvmlUtilization use{7, 7};
    EXPECT_EQ(ask("nvmlDeviceGetUtilizationRates", device, &use), success);
    EXPECT_EQ(use.gpu + use.memory, 0u);
    for (const char* const symbol :
         {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
        uint64_t reasons = 7;
        EXPECT_EQ(ask(symbol, device, &reasons), success);
        EXPECT_EQ(reasons, 0u);
    }
    uint64_t errors = 7;
    EXPECT_EQ(ask("nvmlDeviceGetTotalEccErrors", device, 1, 0, &errors), success);
    EXPECT_EQ(errors, 0u);
}

TEST_F(Nvml, CountsTheMemoryThatIsGiven) {
    ASSERT_EQ(cuInit(0), success);
    Handle context = nullptr;
    ASSERT_EQ(cuCtxCreate(&context, 0, 0), success);
    const auto memory = [&] {
        cuda::NvmlMemory one{};
        cuda::NvmlMemory2 two{unsigned{sizeof two} | 2u << 24, 0, 0, 0, 0};
        EXPECT_EQ(ask("nvmlDeviceGetMemoryInfo", device, &one), success);
        EXPECT_EQ(ask("nvmlDeviceGetMemoryInfo_v2", device, &two), success);
        EXPECT_EQ(two.version, unsigned{sizeof two} | 2u << 24);
        EXPECT_EQ(two.total - two.reserved, uint64_t{product.memory_mib} << 20);
        EXPECT_EQ(two.reserved, uint64_t{480} << 20);
        EXPECT_EQ(two.total, two.reserved + two.free + two.used);
        EXPECT_EQ(one.total, two.total);
        EXPECT_EQ(one.free, two.free);
        EXPECT_EQ(one.used, two.used + two.reserved);
        return two.used;
    };
    const uint64_t before = memory();
    constexpr size_t bytes = 16 << 20;
    Address given = 0;
    ASSERT_EQ(cuMemAlloc(&given, bytes), success);
    EXPECT_EQ(memory() - before, bytes);

    unsigned count = 0;
    const char* const compute = "nvmlDeviceGetComputeRunningProcesses_v3";
    cuda::NvmlProcess none{};
    EXPECT_EQ(ask(compute, device, &count, &none), insufficient_size);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(ask(compute, device, &count, static_cast<cuda::NvmlProcess*>(nullptr)),
              invalid_argument);
    for (const char* const symbol : {compute, "nvmlDeviceGetComputeRunningProcesses_v2"}) {
        cuda::NvmlProcess process{};
        count = 5;
        EXPECT_EQ(ask(symbol, device, &count, &process), success);
        EXPECT_EQ(count, 1u);
        EXPECT_EQ(process.pid, static_cast<unsigned>(getpid()));
        EXPECT_EQ(process.memory, before + bytes);
        EXPECT_EQ(process.gpu_instance, ~0u);
        EXPECT_EQ(process.compute_instance, ~0u);
    }
    for (const char* const symbol :
         {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"}) {
        count = 5;
        EXPECT_EQ(ask(symbol, device, &count, &none), success);
        EXPECT_EQ(count, 0u);
    }
    EXPECT_EQ(cuMemFree(given), success);
    EXPECT_EQ(memory(), before);

    cuda::NvmlMemory2 wrong{1, 0, 0, 0, 0};
    EXPECT_EQ(ask("nvmlDeviceGetMemoryInfo_v2", device, &wrong), no_function);
    EXPECT_EQ(ask("nvmlDeviceGetMemoryInfo", device, static_cast<void*>(nullptr)),
              invalid_argument);
    EXPECT_EQ(cuCtxDestroy(context), success);
}

TEST_F(Nvml, HasASentenceForEachResult) {
    const auto words =
        reinterpret_cast<const char* (*)(int)>(dlsym(management(), "nvmlErrorString"));
    const std::pair<int, const char*> expected[] = {
        {0, "Success"},
        {1, "Uninitialized"},
        {2, "Invalid Argument"},
        {3, "Not Supported"},
        {6, "Not Found"},
        {7, "Insufficient Size"},
        {9, "Driver Not Loaded"},
        {13, "Function Not Found"},
        {5, "Unknown Error"},
        {999, "Unknown Error"},
        {-1, "Unknown Error"},
        {29, "Resource not in correct state to perform requested operation"}};
    for (const auto& [result, sentence] : expected) EXPECT_STREQ(words(result), sentence);
}

}  // namespace
}  // namespace lockwarp::test
