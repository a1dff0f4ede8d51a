// SPDX-License-Identifier: Apache-2.0
// Programs that have NVRTC make machine code of CUDA C++ get PTX in its place: an architecture
// "sm_80" becomes "compute_80", and what would be machine code is the text. Of programs and
// libraries that are linked with NVRTC, and not of those that open it by themselves.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace lockwarp::start {

namespace {

constexpr int internal_error = 11;  // NVRTC_ERROR_INTERNAL_ERROR

bool is_own(const void* function) {
    Dl_info found{}, own{};
    return ::dladdr(function, &found) != 0 &&
           ::dladdr(reinterpret_cast<void*>(&is_own), &own) != 0 &&
           found.dli_fbase == own.dli_fbase;
}

// The function of the NVRTC that the caller's library is linked with, which RTLD_NEXT does not see
// where that was opened for itself alone (a plugin).
void* function_for(const void* caller, const char* symbol) {
    Dl_info from{};
    if (::dladdr(caller, &from) != 0 && from.dli_fname != nullptr) {
        if (void* const library = ::dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
            void* const found = ::dlsym(library, symbol);
            ::dlclose(library);
            if (found != nullptr && !is_own(found)) return found;
        }
    }
    return ::dlsym(RTLD_NEXT, symbol);
}

template <class F>
F* next(const void* caller, const char* symbol) {
    return reinterpret_cast<F*>(function_for(caller, symbol));
}

// The place of "sm_" in an option that names an architecture; nullptr: it names none. Two options
// may do it together.
const char* machine_in(const char* option, const char* before) {
    constexpr const char* names[] = {"--gpu-architecture", "-arch"};
    for (const char* const name : names) {
        const size_t size = std::strlen(name);
        if (before != nullptr && std::strcmp(before, name) == 0 &&
            std::strncmp(option, "sm_", 3) == 0)
            return option;
        if (std::strncmp(option, name, size) == 0 && std::strncmp(option + size, "=sm_", 4) == 0)
            return option + size + 1;
    }
    return nullptr;
}

// The option with "compute_" for "sm_", allocated; the option itself where there is no memory.
const char* with_virtual(const char* option, const char* machine) {
    constexpr char replacement[] = "compute_";
    const auto head = static_cast<size_t>(machine - option);
    auto* const out = static_cast<char*>(std::malloc(std::strlen(option) + sizeof replacement));
    if (out == nullptr) return option;
    std::memcpy(out, option, head);
    std::strcpy(out + head, replacement);
    std::strcat(out, machine + 3);
    return out;
}

using OfSize = int(void* program, size_t* size);
using OfText = int(void* program, char* text);

bool has_machine_code(const void* caller, void* program) {
    const auto size_of = next<OfSize>(caller, "nvrtcGetCUBINSize");
    size_t size = 0;
    return size_of != nullptr && size_of(program, &size) == 0 && size != 0;
}

}  // namespace
}  // namespace lockwarp::start

using namespace lockwarp::start;

#define LOCKWARP_EXPORTED __attribute__((visibility("default")))

extern "C" {

LOCKWARP_EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    const auto real = next<int(void*, int, const char* const*)>(__builtin_return_address(0),
                                                                "nvrtcCompileProgram");
    if (real == nullptr) return internal_error;
    const size_t n = count > 0 && options != nullptr ? static_cast<size_t>(count) : 0;
    auto** const own = static_cast<const char**>(std::calloc(n + 1, sizeof(char*)));
    if (own == nullptr) return real(program, count, options);
    for (size_t i = 0; i < n; ++i) {
        const char* const machine = machine_in(options[i], i > 0 ? options[i - 1] : nullptr);
        own[i] = machine != nullptr ? with_virtual(options[i], machine) : options[i];
    }
    const int result = real(program, count, own);
    for (size_t i = 0; i < n; ++i)
        if (own[i] != options[i]) std::free(const_cast<char*>(own[i]));
    std::free(own);
    return result;
}

LOCKWARP_EXPORTED int nvrtcGetCUBINSize(void* program, size_t* size) {
    const void* const caller = __builtin_return_address(0);
    const auto real = next<OfSize>(
        caller, has_machine_code(caller, program) ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
    return real != nullptr ? real(program, size) : internal_error;
}

LOCKWARP_EXPORTED int nvrtcGetCUBIN(void* program, char* text) {
    const void* const caller = __builtin_return_address(0);
    const auto real =
        next<OfText>(caller, has_machine_code(caller, program) ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
    return real != nullptr ? real(program, text) : internal_error;
}

}  // extern "C"
