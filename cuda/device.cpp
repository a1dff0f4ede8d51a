// SPDX-License-Identifier: Apache-2.0
// The devices, whose architecture LOCKWARP_ARCH names, with the values of a real product.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/memory.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

constexpr int driver_version = 13000;
constexpr int max_grid_x = 0x7fffffff, max_grid_yz = 65535;

int major(const isa::ArchRow& a) { return a.number / 10; }
int minor(const isa::ArchRow& a) { return a.number % 10; }

using Value = int (*)(const Product&, const isa::ArchRow&);

struct AttributeRow {
    int first, last;  // numbers of CUdevice_attribute
    Value value;
};

template <int n>
int constant(const Product&, const isa::ArchRow&) {
    return n;
}

// Such an architecture has the tensor memory accelerator too.
int has_clusters(const Product&, const isa::ArchRow& a) { return a.cluster_max != 0; }

// CUDA programming guide, "Memory Synchronization Domains": one before Hopper.
int memory_domains(const Product&, const isa::ArchRow& a) { return a.cluster_max != 0 ? 4 : 1; }

// The largest window of addresses, as an H200 has it.
int window_of_l2(const Product& p, const isa::ArchRow&) {
    return p.persisting_kib != 0 ? 128 << 20 : 0;
}

// Numbers that stand in no row are 0: what the device does not have.
constexpr std::array attribute_rows{
    AttributeRow{1, 1, constant<max_cta_threads>},  // threads of a CTA
    AttributeRow{2, 3, constant<1024>},             // in x and y
    AttributeRow{4, 4, constant<64>},               // in z
    AttributeRow{5, 5, constant<max_grid_x>},       // CTAs of a grid in x
    AttributeRow{6, 7, constant<max_grid_yz>},
    AttributeRow{8, 8, [](const Product&, const isa::ArchRow& a) { return int(a.shared_default); }},
    AttributeRow{9, 9, constant<65536>},              // constant memory
    AttributeRow{10, 10, constant<32>},               // threads of a warp
    AttributeRow{11, 11, constant<0x7fffffff>},       // pitch
    AttributeRow{12, 12, constant<registers_of_sm>},  // of a CTA
    AttributeRow{13, 13, [](const Product& p, const isa::ArchRow&) { return int(p.clock_khz); }},
    AttributeRow{14, 14, constant<512>},  // alignment of textures
    AttributeRow{15, 15, constant<1>},    // copies overlap kernels
    AttributeRow{16, 16, [](const Product& p, const isa::ArchRow&) { return int(p.sms); }},
    AttributeRow{18, 18, [](const Product& p, const isa::ArchRow&) { return int(p.integrated); }},
    AttributeRow{19, 19, constant<1>},  // maps host memory
    // Textures and surfaces (CUDA programming guide, "Technical Specifications"; an H200's
    // answers)
    AttributeRow{21, 22, constant<131072>},  // one dimension; two: width
    AttributeRow{23, 23, constant<65536>},   // height
    AttributeRow{24, 26, constant<16384>},
    AttributeRow{27, 28, constant<32768>},  // layered: width, height, layers
    AttributeRow{29, 29, constant<2048>},
    AttributeRow{30, 30, constant<512>},  // alignment of surfaces
    AttributeRow{31, 31, constant<1>},    // concurrent kernels
    AttributeRow{32, 32, [](const Product& p, const isa::ArchRow&) { return int(p.ecc); }},
    AttributeRow{36, 36, [](const Product& p, const isa::ArchRow&) { return int(p.memory_khz); }},
    AttributeRow{37, 37, [](const Product& p, const isa::ArchRow&) { return int(p.bus_bits); }},
    AttributeRow{38, 38,
                 [](const Product& p, const isa::ArchRow&) { return int(p.l2_kib) * 1024; }},
    AttributeRow{39, 39, [](const Product& p, const isa::ArchRow&) { return int(p.threads); }},
    AttributeRow{40, 40, [](const Product& p, const isa::ArchRow&) { return int(p.copy_engines); }},
    AttributeRow{41, 41, constant<1>},      // unified addressing
    AttributeRow{42, 42, constant<32768>},  // textures layered in one dimension: width, layers
    AttributeRow{43, 43, constant<2048>},
    AttributeRow{44, 44, constant<1>},  // gathers; of such arrays width and height
    AttributeRow{45, 46, constant<32768>},
    AttributeRow{47, 48, constant<8192>},  // of three dimensions, otherwise: width, height, depth
    AttributeRow{49, 49, constant<32768>},
    AttributeRow{51, 51, constant<32>},     // pitch alignment of textures
    AttributeRow{52, 53, constant<32768>},  // cubes, layers of cubes: width; layers
    AttributeRow{54, 54, constant<2046>},
    AttributeRow{55, 55, constant<32768>},   // surfaces, as textures above
    AttributeRow{56, 56, constant<131072>},  // two: width
    AttributeRow{57, 57, constant<65536>},   // height
    AttributeRow{58, 60, constant<16384>},   // three dimensions
    AttributeRow{61, 61, constant<32768>},   // layered in one: width
    AttributeRow{62, 62, constant<2048>},    // layers
    AttributeRow{63, 64, constant<32768>},   // layered in two: width, height
    AttributeRow{65, 65, constant<2048>},    // layers
    AttributeRow{66, 67, constant<32768>},   // cubes, layers of cubes: width
    AttributeRow{68, 68, constant<2046>},
    AttributeRow{69, 69, constant<(1 << 28)>},  // textures of linear memory: one dimension, two
    AttributeRow{70, 70, constant<131072>},     // two dimensions: width
    AttributeRow{71, 71, constant<65000>},      // height
    AttributeRow{72, 72, constant<2097120>},
    AttributeRow{75, 75, [](const Product&, const isa::ArchRow& a) { return major(a); }},
    AttributeRow{76, 76, [](const Product&, const isa::ArchRow& a) { return minor(a); }},
    AttributeRow{78, 80, constant<1>},  // priorities, L1 of global and local
    AttributeRow{81, 81, [](const Product& p, const isa::ArchRow&) { return int(p.shared); }},
    AttributeRow{82, 82, constant<registers_of_sm>},  // of an SM
    AttributeRow{83, 83, constant<1>},                // managed memory
    AttributeRow{87, 87, constant<2>},                // f32's rate over f64's
    AttributeRow{89, 91, constant<1>},  // managed access, preemption, registered host memory
    AttributeRow{95, 95, constant<1>},  // cooperative launches
    AttributeRow{97, 97, [](const Product&, const isa::ArchRow& a) { return int(a.shared_max); }},
    AttributeRow{99, 99, constant<1>},    // cuMemHostRegister
    AttributeRow{102, 103, constant<1>},  // cuMemMap and its like, memory as files
    AttributeRow{106, 106, [](const Product& p, const isa::ArchRow&) { return int(p.ctas); }},
    AttributeRow{
        108, 108,
        [](const Product& p, const isa::ArchRow&) { return int(p.persisting_kib) * 1024; }},
    AttributeRow{109, 109, window_of_l2},
    AttributeRow{111, 111, [](const Product& p, const isa::ArchRow&) { return int(p.reserved); }},
    AttributeRow{113, 113, constant<1>},     // read-only host registration
    AttributeRow{115, 115, constant<1>},     // memory pools
    AttributeRow{119, 119, constant<1>},     // handles of pools: files
    AttributeRow{120, 120, has_clusters},    // launches with clusters
    AttributeRow{122, 123, constant<1>},     // stream memory operations of 64 bits, and of NOR
    AttributeRow{125, 125, constant<1>},     // events of other processes
    AttributeRow{126, 126, memory_domains},  // domains of memory
    AttributeRow{127, 127, has_clusters},    // tensor maps
    AttributeRow{131, 131, constant<-1>},    // no NUMA node of its own
    AttributeRow{141, 141, constant<1>},     // cuMemCreate of a NUMA node's memory
    AttributeRow{142, 142, constant<1>},     // pools of it
    AttributeRow{144, 144, constant<1>},     // pools of the host's memory
    AttributeRow{145, 145, constant<1>},     // cuMemCreate of the host's memory
};

constexpr int last_attribute = 147;

// Of each device another.
constexpr int pci_bus = 33, board_group = 85;

int bus_of(DeviceId device) { return 1 + device; }

std::string bus_text(DeviceId device) {
    char text[24];
    std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(bus_of(device)));
    return text;
}

struct PciPlace {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    bool operator==(const PciPlace&) const = default;
};

// domain:bus:device[.function] or bus:device.function, hexadecimal numbers with as many digits as
// one likes, as an H200's driver reads it; anything else is an invalid value.
PciPlace pci_place(const char* text) {
    const auto is_whole = [&](int end) { return end > 0 && text[end] == 0; };
    int end = 0;
    PciPlace p;
    std::sscanf(text, "%x:%x:%x%n", &p.domain, &p.bus, &p.device, &end);
    if (is_whole(end)) return p;
    end = 0;
    std::sscanf(text, "%x:%x:%x.%x%n", &p.domain, &p.bus, &p.device, &p.function, &end);
    if (is_whole(end)) return p;
    end = 0;
    p = {};
    std::sscanf(text, "%x:%x.%x%n", &p.bus, &p.device, &p.function, &end);
    require(is_whole(end));
    return p;
}

}  // namespace

int attribute_of_device(int number) {
    for (const AttributeRow& r : attribute_rows)
        if (number >= r.first && number <= r.last)
            return r.value(*driver().product, isa::row(driver().arch));
    return 0;
}

namespace {

int attribute_of(int number, DeviceId device) {
    if (number == pci_bus) return bus_of(device);
    return number == board_group ? device : attribute_of_device(number);
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuInit(unsigned flags) {
    return answer([&] {
        require(flags == 0);
        Driver& d = driver();
        if (!d.wrong.empty()) {
            say(d.wrong);
            fail(no_device);
        }
        d.initialized = true;
    });
}

Result cuDriverGetVersion(int* version) {
    return answer([&] {
        require(version != nullptr);
        *version = driver_version;
    });
}

Result cuDeviceGet(DeviceId* device, int ordinal) {
    return answer([&] {
        require(device != nullptr);
        check_device(ordinal);
        *device = ordinal;
    });
}

Result cuDeviceGetCount(int* count) {
    return answer([&] {
        ready();
        require(count != nullptr);
        *count = static_cast<int>(driver().devices.size());
    });
}

Result cuDeviceGetName(char* name, int size, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(name != nullptr && size > 0);
        std::snprintf(name, static_cast<size_t>(size), "%s", driver().product->name);
    });
}

Result cuDeviceGetUuid(Uuid* uuid, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(uuid != nullptr);
        *uuid = {};
        std::memcpy(uuid->bytes, "Lockwarp", 8);
        uuid->bytes[14] = static_cast<unsigned char>(device);
        uuid->bytes[15] = static_cast<unsigned char>(lockwarp::isa::row(driver().arch).number);
    });
}

Result cuDeviceGetUuid_v2(Uuid* uuid, DeviceId device) { return cuDeviceGetUuid(uuid, device); }

Result cuDeviceTotalMem_v2(size_t* bytes, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(bytes != nullptr);
        *bytes = size_t{driver().product->memory_mib} << 20;
    });
}

Result cuDeviceGetAttribute(int* value, int attribute, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(value != nullptr && attribute >= 1 && attribute <= last_attribute);
        *value = attribute_of(attribute, device);
    });
}

Result cuDeviceGetProperties(Properties* out, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(out != nullptr);
        const auto a = attribute_of_device;
        *out = {
            a(1), {a(2), a(3), a(4)}, {a(5), a(6), a(7)}, a(8), a(9), a(10), a(11), a(12), a(13),
            a(14)};
    });
}

Result cuDeviceComputeCapability(int* out_major, int* out_minor, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(out_major != nullptr && out_minor != nullptr);
        *out_major = attribute_of_device(75);
        *out_minor = attribute_of_device(76);
    });
}

Result cuDeviceGetPCIBusId(char* text, int size, DeviceId device) {
    return answer([&] {
        check_device(device);
        require(text != nullptr && size > 0);
        std::snprintf(text, static_cast<size_t>(size), "%s", bus_text(device).c_str());
    });
}

Result cuDeviceGetByPCIBusId(DeviceId* device, const char* text) {
    return answer([&] {
        ready();
        require(device != nullptr && text != nullptr);
        const PciPlace place = pci_place(text);
        DeviceId found = 0;
        while (!(place == PciPlace{.bus = static_cast<unsigned>(bus_of(found))}))
            check_device(++found);
        *device = found;
    });
}

Result cuDeviceCanAccessPeer(int* can, DeviceId device, DeviceId peer) {
    return answer([&] {
        require(can != nullptr);
        check_device(device);
        check_device(peer);
        *can = device != peer ? 1 : 0;
    });
}

// As two H100s of one host answer.
Result cuDeviceGetP2PAttribute(int* value, int attribute, DeviceId device, DeviceId peer) {
    return answer([&] {
        constexpr int rank = 1, access = 2, atomics = 3, arrays = 4, few_atomics = 5;
        require(value != nullptr && attribute >= rank && attribute <= few_atomics);
        check_device(device);
        check_device(peer);
        require(device != peer, invalid_device);
        *value = attribute == access || attribute == atomics || attribute == arrays ? 1 : 0;
    });
}

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
    return answer([&] {
        const DeviceId device = current()->device;
        const size_t all = size_t{driver().product->memory_mib} << 20;
        if (total != nullptr) *total = all;
        if (free != nullptr) *free = all - device_bytes_used(device);
    });
}

}  // extern "C"
