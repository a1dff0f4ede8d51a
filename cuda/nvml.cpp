// SPDX-License-Identifier: Apache-2.0
// NVML, which programs ask what GPUs there are: those of the emulated driver. libnvidia-ml.so.1 is
// a name for these functions. Results, also those of wrong arguments, are as an H100's of driver
// 580 were; what only a card has (temperature, power, fans, links) is NVML_ERROR_NOT_SUPPORTED.
#include "cuda/nvml.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

// What NVML says of an architecture beside its product.
struct NvmlRow {
    isa::Arch arch;
    uint8_t architecture;  // nvmlDeviceArchitecture_t
    uint16_t cores;        // of an SM: its f32 units
    uint8_t pcie;          // generation of its link
    bool mig;              // can be divided
};

// CUDA C++ programming guide, "Arithmetic Instructions" (f32 results of an SM in a cycle); MIG user
// guide, "Supported GPUs"; data sheets; an H100 answers 9, 16896 cores of 132 SMs, 5, and that MIG
// is off.
constexpr std::array nvml_rows{
    NvmlRow{isa::Arch::sm_70, 5, 64, 3, false},    NvmlRow{isa::Arch::sm_75, 6, 64, 3, false},
    NvmlRow{isa::Arch::sm_80, 7, 64, 4, true},     NvmlRow{isa::Arch::sm_86, 7, 128, 4, false},
    NvmlRow{isa::Arch::sm_87, 7, 128, 4, false},   NvmlRow{isa::Arch::sm_89, 8, 128, 4, false},
    NvmlRow{isa::Arch::sm_90, 9, 128, 5, true},    NvmlRow{isa::Arch::sm_100, 10, 128, 5, true},
    NvmlRow{isa::Arch::sm_103, 10, 128, 6, true},  NvmlRow{isa::Arch::sm_120, 10, 128, 5, false},
    NvmlRow{isa::Arch::sm_121, 10, 128, 5, false},
};
static_assert(isa::one_row_each(nvml_rows), "each Arch has one NvmlRow");

const NvmlRow& nvml_row() {
    for (const NvmlRow& r : nvml_rows)
        if (r.arch == driver().arch) return r;
    return nvml_rows[0];  // not reached: one_row_each
}

struct NvmlFailure {
    NvmlResult result;
};

void want(bool holds, NvmlResult otherwise = nvml_invalid_argument) {
    if (!holds) throw NvmlFailure{otherwise};
}

// One and another nvmlInit need two nvmlShutdown.
std::atomic<unsigned> begun = 0;

template <class Work>
NvmlResult told(Work work) noexcept {
    try {
        want(begun != 0, nvml_uninitialized);
        work();
        return nvml_success;
    } catch (const NvmlFailure& f) {
        return f.result;
    } catch (...) {
        return nvml_unknown_error;
    }
}

// Handles are addresses that differ; nothing lies there.
char handles[max_devices];

NvmlDevice* handle_of(DeviceId device) { return reinterpret_cast<NvmlDevice*>(handles + device); }

int device_count() { return static_cast<int>(driver().devices.size()); }

DeviceId device_of(const NvmlDevice* handle) {
    for (DeviceId d = 0; d < device_count() && d < max_devices; ++d)
        if (handle_of(d) == handle) return d;
    throw NvmlFailure{nvml_invalid_argument};
}

// A question about one device with an answer at `out`.
template <class T, class Value>
NvmlResult told_of(const NvmlDevice* handle, T* out, Value value) noexcept {
    return told([&] {
        const DeviceId device = device_of(handle);
        want(out != nullptr);
        *out = value(device);
    });
}

void give_text(char* out, unsigned size, std::string_view text) {
    want(out != nullptr);
    want(text.size() < size, nvml_insufficient_size);
    std::memcpy(out, text.data(), text.size());
    out[text.size()] = 0;
}

std::string uuid_text(DeviceId device) {
    Uuid id{};
    want(cuDeviceGetUuid_v2(&id, device) == success, nvml_unknown_error);
    std::string out = "GPU-";
    for (size_t i = 0; i < sizeof id.bytes; ++i) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", id.bytes[i]);
        out += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(hex);
    }
    return out;
}

int attribute(int number, DeviceId device) {  // of CUdevice_attribute
    int value = 0;
    want(cuDeviceGetAttribute(&value, number, device) == success, nvml_unknown_error);
    return value;
}

std::string bus_text(DeviceId device) {
    char text[16];
    want(cuDeviceGetPCIBusId(text, sizeof text, device) == success, nvml_unknown_error);
    return text;
}

// As an H100 keeps for itself, beside what a program is told.
constexpr uint64_t reserved_bytes = uint64_t{480} << 20;

NvmlMemory2 memory_of(DeviceId device) {
    const uint64_t all = uint64_t{driver().product->memory_mib} << 20;
    const uint64_t used = device_bytes_used(device);
    return {0, all + reserved_bytes, reserved_bytes, all - used, used};
}

constexpr unsigned version_of(size_t size, unsigned form) {
    return static_cast<unsigned>(size) | form << 24;
}

// nvmlClockType_t
constexpr int clock_graphics = 0, clock_sm = 1, clock_memory = 2;

NvmlResult clock_of(const NvmlDevice* handle, int type, unsigned* megahertz) {
    return told_of(handle, megahertz, [&](DeviceId) {
        want(type == clock_graphics || type == clock_sm || type == clock_memory,
             nvml_not_supported);
        return (type == clock_memory ? driver().product->memory_khz : driver().product->clock_khz) /
               1000;
    });
}

// Of a list that the caller has room for: how many there are, and room for all or none.
NvmlResult processes(const NvmlDevice* handle, unsigned* count, NvmlProcess* out, bool compute) {
    return told([&] {
        const DeviceId device = device_of(handle);
        want(count != nullptr);
        const unsigned room = *count, there = compute ? 1 : 0;
        *count = there;
        want(room >= there, nvml_insufficient_size);
        if (there == 0) return;
        want(out != nullptr);
        *out = {static_cast<unsigned>(::getpid()), device_bytes_used(device), ~0u, ~0u};
    });
}

constexpr char driver_text[] = "580.159.04";

constexpr std::pair<int, const char*> error_texts[] = {
    {0, "Success"},
    {1, "Uninitialized"},
    {2, "Invalid Argument"},
    {3, "Not Supported"},
    {4, "Insufficient Permissions"},
    {6, "Not Found"},
    {7, "Insufficient Size"},
    {8, "Insufficient External Power"},
    {9, "Driver Not Loaded"},
    {10, "Timeout"},
    {11, "Interrupt Request Issue"},
    {12, "NVML Shared Library Not Found"},
    {13, "Function Not Found"},
    {14, "Corrupted infoROM"},
    {15, "GPU is lost"},
    {16, "GPU requires reset"},
    {17, "GPU access blocked by the operating system"},
    {18, "Driver/library version mismatch"},
    {19, "In use by another client"},
    {20, "Insufficient Memory"},
    {21, "No data"},
    {22, "vGPU ECC not supported"},
    {23, "Insufficient Resources"},
    {24, "Invalid Frequency"},
    {25, "Argument version mismatch"},
    {26, "Requested functionality has been deprecated"},
    {27, "System is not in ready state"},
    {28, "No supported GPUs were found"},
    {29, "Resource not in correct state to perform requested operation"},
};

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

NvmlResult nvmlInit_v2() {
    if (cuInit(0) != success) return nvml_driver_not_loaded;
    ++begun;
    return nvml_success;
}

NvmlResult nvmlInit() { return nvmlInit_v2(); }
NvmlResult nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

NvmlResult nvmlShutdown() {
    unsigned now = begun;
    while (now != 0 && !begun.compare_exchange_weak(now, now - 1)) {
    }
    return now != 0 ? nvml_success : nvml_uninitialized;
}

const char* nvmlErrorString(int result) {
    for (const auto& [number, text] : error_texts)
        if (number == result) return text;
    return "Unknown Error";
}

NvmlResult nvmlSystemGetDriverVersion(char* text, unsigned size) {
    return told([&] { give_text(text, size, driver_text); });
}

NvmlResult nvmlSystemGetNVMLVersion(char* text, unsigned size) {
    return told([&] { give_text(text, size, std::string("13.") + driver_text); });
}

NvmlResult nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return told([&] { want(cuDriverGetVersion(version) == success); });
}

NvmlResult nvmlSystemGetCudaDriverVersion(int* version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

NvmlResult nvmlDeviceGetCount_v2(unsigned* count) {
    return told([&] {
        want(count != nullptr);
        *count = static_cast<unsigned>(device_count());
    });
}

NvmlResult nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NvmlResult nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice** out) {
    return told([&] {
        want(out != nullptr && index < static_cast<unsigned>(device_count()) &&
             index < max_devices);
        *out = handle_of(static_cast<DeviceId>(index));
    });
}

NvmlResult nvmlDeviceGetHandleByIndex(unsigned index, NvmlDevice** out) {
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

NvmlResult nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice** out) {
    return told([&] {
        want(uuid != nullptr && out != nullptr);
        DeviceId found = 0;
        while (found < device_count() && uuid_text(found) != uuid) ++found;
        want(found < device_count(), nvml_not_found);
        *out = handle_of(found);
    });
}

// "0000:01:00.0", with a domain of four or eight digits or none.
NvmlResult nvmlDeviceGetHandleByPciBusId_v2(const char* text, NvmlDevice** out) {
    return told([&] {
        want(text != nullptr && out != nullptr);
        unsigned domain = 0, bus = 0, device = 0, function = 0;
        if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
            domain = 0;
            want(std::sscanf(text, "%x:%x.%x", &bus, &device, &function) == 3);
        }
        char plain[40];
        std::snprintf(plain, sizeof plain, "%04x:%02x:%02x.%x", domain, bus, device, function);
        DeviceId found = 0;
        while (found < device_count() && bus_text(found) != plain) ++found;
        want(found < device_count(), nvml_not_found);
        *out = handle_of(found);
    });
}

NvmlResult nvmlDeviceGetHandleByPciBusId(const char* text, NvmlDevice** out) {
    return nvmlDeviceGetHandleByPciBusId_v2(text, out);
}

NvmlResult nvmlDeviceGetName(NvmlDevice* handle, char* text, unsigned size) {
    return told([&] {
        device_of(handle);
        give_text(text, size, driver().product->name);
    });
}

NvmlResult nvmlDeviceGetUUID(NvmlDevice* handle, char* text, unsigned size) {
    return told([&] { give_text(text, size, uuid_text(device_of(handle))); });
}

NvmlResult nvmlDeviceGetPciInfo_v3(NvmlDevice* handle, NvmlPciInfo* out) {
    return told_of(handle, out, [](DeviceId device) {
        constexpr unsigned vendor = 0x10de;
        const auto number = [&](int of) { return static_cast<unsigned>(attribute(of, device)); };
        NvmlPciInfo info{{}, number(50), number(33), number(34), vendor, vendor, {}};
        const std::string text = bus_text(device);
        std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%s", text.c_str());
        std::snprintf(info.bus_id, sizeof info.bus_id, "0000%s", text.c_str());
        return info;
    });
}

NvmlResult nvmlDeviceGetMemoryInfo(NvmlDevice* handle, NvmlMemory* out) {
    return told_of(handle, out, [](DeviceId device) {
        const NvmlMemory2 m = memory_of(device);
        return NvmlMemory{m.total, m.free, m.used + m.reserved};
    });
}

NvmlResult nvmlDeviceGetMemoryInfo_v2(NvmlDevice* handle, NvmlMemory2* out) {
    return told([&] {
        const DeviceId device = device_of(handle);
        want(out != nullptr);
        const unsigned version = out->version;
        want(version == version_of(sizeof *out, 2), nvml_function_not_found);
        *out = memory_of(device);
        out->version = version;
    });
}

NvmlResult nvmlDeviceGetCudaComputeCapability(NvmlDevice* handle, int* major, int* minor) {
    return told([&] {
        const DeviceId device = device_of(handle);
        want(major != nullptr && minor != nullptr);
        *major = attribute(75, device);
        *minor = attribute(76, device);
    });
}

NvmlResult nvmlDeviceGetIndex(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId device) { return static_cast<unsigned>(device); });
}

NvmlResult nvmlDeviceGetMinorNumber(NvmlDevice* handle, unsigned* out) {
    return nvmlDeviceGetIndex(handle, out);
}

NvmlResult nvmlDeviceGetArchitecture(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId) { return unsigned{nvml_row().architecture}; });
}

NvmlResult nvmlDeviceGetNumGpuCores(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out,
                   [](DeviceId) { return unsigned{nvml_row().cores} * driver().product->sms; });
}

NvmlResult nvmlDeviceGetMemoryBusWidth(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId) { return unsigned{driver().product->bus_bits}; });
}

NvmlResult nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId) { return unsigned{nvml_row().pcie}; });
}

NvmlResult nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice* handle, unsigned* out) {
    return nvmlDeviceGetMaxPcieLinkGeneration(handle, out);
}

NvmlResult nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId) { return 16u; });
}

NvmlResult nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice* handle, unsigned* out) {
    return nvmlDeviceGetMaxPcieLinkWidth(handle, out);
}

NvmlResult nvmlDeviceGetClockInfo(NvmlDevice* handle, int type, unsigned* megahertz) {
    return clock_of(handle, type, megahertz);
}

NvmlResult nvmlDeviceGetMaxClockInfo(NvmlDevice* handle, int type, unsigned* megahertz) {
    return clock_of(handle, type, megahertz);
}

NvmlResult nvmlDeviceGetUtilizationRates(NvmlDevice* handle, NvmlUtilization* out) {
    return told_of(handle, out, [](DeviceId) { return NvmlUtilization{}; });
}

NvmlResult nvmlDeviceGetMigMode(NvmlDevice* handle, unsigned* now, unsigned* pending) {
    return told([&] {
        device_of(handle);
        want(now != nullptr && pending != nullptr);
        want(nvml_row().mig, nvml_not_supported);
        *now = *pending = 0;
    });
}

NvmlResult nvmlDeviceIsMigDeviceHandle(NvmlDevice* handle, unsigned* out) {
    return told_of(handle, out, [](DeviceId) { return 0u; });
}

NvmlResult nvmlDeviceGetMaxMigDeviceCount(NvmlDevice* handle, unsigned* out) {
    return nvmlDeviceIsMigDeviceHandle(handle, out);
}

NvmlResult nvmlDeviceGetEccMode(NvmlDevice* handle, int* now, int* pending) {
    return told([&] {
        device_of(handle);
        want(now != nullptr && pending != nullptr);
        want(driver().product->ecc, nvml_not_supported);
        *now = *pending = 1;
    });
}

NvmlResult nvmlDeviceGetTotalEccErrors(NvmlDevice* handle, int, int, uint64_t* out) {
    return told_of(handle, out, [](DeviceId) {
        want(driver().product->ecc, nvml_not_supported);
        return uint64_t{0};
    });
}

NvmlResult nvmlDeviceGetPersistenceMode(NvmlDevice* handle, int* out) {
    return told_of(handle, out, [](DeviceId) { return 1; });
}

NvmlResult nvmlDeviceGetComputeMode(NvmlDevice* handle, int* out) {
    return told_of(handle, out, [](DeviceId) { return 0; });
}

NvmlResult nvmlDeviceGetPerformanceState(NvmlDevice* handle, int* out) {
    return told_of(handle, out, [](DeviceId) { return 0; });
}

NvmlResult nvmlDeviceGetVirtualizationMode(NvmlDevice* handle, int* out) {
    return told_of(handle, out, [](DeviceId) { return 0; });
}

NvmlResult nvmlDeviceGetCurrentClocksEventReasons(NvmlDevice* handle, uint64_t* out) {
    return told_of(handle, out, [](DeviceId) { return uint64_t{0}; });
}

NvmlResult nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice* handle, uint64_t* out) {
    return nvmlDeviceGetCurrentClocksEventReasons(handle, out);
}

NvmlResult nvmlDeviceOnSameBoard(NvmlDevice* a, NvmlDevice* b, int* out) {
    return told_of(a, out, [&](DeviceId device) { return device == device_of(b) ? 1 : 0; });
}

// As two H200s answer of each other and of themselves, whatever is asked for.
NvmlResult nvmlDeviceGetP2PStatus(NvmlDevice* a, NvmlDevice* b, int what, int* out) {
    constexpr int by_pci = 4;               // nvmlGpuP2PCapsIndex_t
    constexpr int ok = 0, not_capable = 5;  // nvmlGpuP2PStatus_t
    return told_of(a, out, [&](DeviceId) {
        device_of(b);
        return what == by_pci ? not_capable : ok;
    });
}

NvmlResult nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice* handle, unsigned* count,
                                                   NvmlProcess* out) {
    return processes(handle, count, out, true);
}

NvmlResult nvmlDeviceGetComputeRunningProcesses_v2(NvmlDevice* handle, unsigned* count,
                                                   NvmlProcess* out) {
    return processes(handle, count, out, true);
}

NvmlResult nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlDevice* handle, unsigned* count,
                                                    NvmlProcess* out) {
    return processes(handle, count, out, false);
}

NvmlResult nvmlDeviceGetGraphicsRunningProcesses_v2(NvmlDevice* handle, unsigned* count,
                                                    NvmlProcess* out) {
    return processes(handle, count, out, false);
}

#define DONE(symbol)
#define LACKING(symbol) \
    NvmlResult symbol() { return nvml_not_supported; }
#include "cuda/nvml_functions.inc"
#undef DONE
#undef LACKING

}  // extern "C"
