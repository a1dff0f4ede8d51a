// SPDX-License-Identifier: Apache-2.0
// What stands for a GPU in tests of `capture` and of `validate -- ./program`: a libcuda.so.1 over
// Lockwarp's own, which changes one bit of what a launch wrote, where FAKE_GPU_LAUNCH has its
// number, or, with FAKE_GPU_FUSES, where its module has a mul.f32, as a compiler that fuses it
// does. The kernel's first parameter is an address, and addresses are the host's. With
// FAKE_GPU_CODE its functions lie so many bytes behind where the emulator has them (a kernel "pass"
// is given one as its second parameter), with
// FAKE_GPU_HANDLE all functions have one handle, which is that of the one asked for last. With
// FAKE_GPU_LEVEL it compiles at that level of its optimizer alone, with FAKE_GPU_BEGIN all memory
// begins at that address.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "cuda/beside/forward.hpp"

namespace {

// Modules with a mul.f32, and their kernels.
std::set<const void*>& fused() {
    static std::set<const void*> all;
    return all;
}

std::string& linked() {
    static std::string code;
    return code;
}

char handle;  // of all functions
void* named_by_it = nullptr;

void* function_of(void* f) { return f == &handle ? named_by_it : f; }

}  // namespace

extern "C" {

int cuFuncGetName(const char** name, void* f) {
    static const auto real = lockwarp::beside::behind_as<int(const char**, void*)>("cuFuncGetName");
    return real(name, function_of(f));
}

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t size) {
    static const auto real =
        lockwarp::beside::behind_as<int(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2");
    const int r = real(to, from, size);
    const char* const moved = std::getenv("FAKE_GPU_CODE");
    for (size_t i = 0; r == 0 && moved != nullptr && i + 8 <= size; i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, static_cast<uint8_t*>(to) + i, sizeof word);
        if (word >> 40 != 0x7c) continue;
        word += std::strtoull(moved, nullptr, 0);
        std::memcpy(static_cast<uint8_t*>(to) + i, &word, sizeof word);
    }
    return r;
}

int cuMemGetAddressRange_v2(uint64_t* base, size_t* size, uint64_t address) {
    static const auto real =
        lockwarp::beside::behind_as<int(uint64_t*, size_t*, uint64_t)>("cuMemGetAddressRange_v2");
    const int r = real(base, size, address);
    const char* const begin = std::getenv("FAKE_GPU_BEGIN");
    if (r == 0 && begin != nullptr) *base = std::strtoull(begin, nullptr, 0);
    return r;
}

// What a GPU's driver links is machine code: here its header, and behind it the text.
int cuLinkComplete(void* link, void** code, size_t* size) {
    static const auto real =
        lockwarp::beside::behind_as<int(void*, void**, size_t*)>("cuLinkComplete");
    void* text = nullptr;
    const int r = real(link, &text, nullptr);
    if (r != 0) return r;
    linked() = std::string("\177ELF") + std::string(60, '\0') + static_cast<const char*>(text);
    *code = linked().data();
    if (size != nullptr) *size = linked().size() + 1;
    return r;
}

int cuModuleLoadData(void** out, const void* image) {
    static const auto real =
        lockwarp::beside::behind_as<int(void**, const void*)>("cuModuleLoadData");
    if (std::memcmp(image, "\177ELF", 4) == 0) image = static_cast<const char*>(image) + 64;
    const int r = real(out, image);
    if (r == 0 && std::strstr(static_cast<const char*>(image), " mul.f32") != nullptr)
        fused().insert(*out);
    return r;
}

int cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* keys, void** values) {
    using Load = int(void**, const void*, unsigned, int*, void**);
    static const auto real = lockwarp::beside::behind_as<Load>("cuModuleLoadDataEx");
    constexpr int level = 7;          // CU_JIT_OPTIMIZATION_LEVEL
    constexpr int invalid_ptx = 218;  // CUDA_ERROR_INVALID_PTX
    const char* const wanted = std::getenv("FAKE_GPU_LEVEL");
    for (unsigned i = 0; wanted != nullptr && i < count; ++i)
        if (keys[i] == level &&
            reinterpret_cast<uintptr_t>(values[i]) != std::strtoul(wanted, nullptr, 10))
            return invalid_ptx;
    return real(out, image, count, keys, values);
}

int cuModuleGetFunction(void** out, void* module, const char* name) {
    static const auto real =
        lockwarp::beside::behind_as<int(void**, void*, const char*)>("cuModuleGetFunction");
    const int r = real(out, module, name);
    if (r == 0 && fused().contains(module)) fused().insert(*out);
    if (r == 0 && std::getenv("FAKE_GPU_HANDLE") != nullptr) {
        named_by_it = *out;
        *out = &handle;
    }
    return r;
}

int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
    using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**);
    static const auto real = lockwarp::beside::behind_as<Launch>("cuLaunchKernel");
    static int launches = 0;
    f = function_of(f);
    const char* name = nullptr;
    const char* const moved = std::getenv("FAKE_GPU_CODE");
    uint64_t own = 0;
    void* given[2];
    if (moved != nullptr && cuFuncGetName(&name, f) == 0 && std::strcmp(name, "pass") == 0) {
        own = *static_cast<uint64_t*>(parameters[1]) - std::strtoull(moved, nullptr, 0);
        given[0] = parameters[0];
        given[1] = &own;
        parameters = given;
    }
    const int r = real(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    const char* const wrong = std::getenv("FAKE_GPU_LAUNCH");
    const bool is_wrong = wrong != nullptr && ++launches == std::atoi(wrong);
    const bool is_fused = std::getenv("FAKE_GPU_FUSES") != nullptr && fused().contains(f);
    if ((is_wrong || is_fused) && parameters != nullptr)
        **static_cast<uint8_t**>(parameters[0]) ^= 4;
    return r;
}

}  // extern "C"
