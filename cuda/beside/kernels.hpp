// SPDX-License-Identifier: Apache-2.0
// The PTX of the kernels that a program launches on a GPU, loaded for the emulator.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/beside/code_addresses.hpp"
#include "cuda/driver_api.hpp"
#include "lockwarp.h"

namespace lockwarp::beside {

using cuda::Function;
using cuda::Library;
using cuda::Module;

// What the instructions of a kernel, and of functions that it may call, do.
struct Uses {
    bool textures = false;  // or surfaces
    bool allocates = false;
    bool may_wait = false;  // isa::may_wait_outside
    bool launches = false;  // kernels, or copies and fills
};

// What a program gave the driver to load; its PTX is compiled for the emulator when it is needed.
struct Image {
    Image() = default;
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    ~Image() { lockwarp_module_destroy(module); }

    // One, or those of objects that were compiled apart and linked (-rdc=true).
    std::vector<std::vector<char>> binaries;
    bool tried = false;
    lockwarp_module* module = nullptr;
    std::string text;                           // the PTX that it was made of
    std::vector<std::vector<uint8_t>> initial;  // what its variables begin with, in their order
    // The numbers in its text that do not fit into 32 bits, each once: addresses may be among them.
    std::vector<uint64_t> numbers;
    bool code_known = false;
    CodeAddresses code;
    std::string wrong;                 // why there is none
    std::map<std::string, Uses> uses;  // by kernel, of those that were asked for
};

struct Kernel {
    std::shared_ptr<Image> image;
    const lockwarp_kernel* kernel = nullptr;
    lockwarp_kernel_info info{};
    std::vector<lockwarp_parameter> parameters;
    std::string name;
    Uses uses;
};

lockwarp_variable variable_at(const lockwarp_module* module, size_t index);

// The kernel behind a handle; nullopt, and why. `arch`: "sm_90", that of the GPU.
std::optional<Kernel> kernel_of(Function* handle, const std::string& arch, std::string& why);
// That of a name in an image that is loaded.
std::optional<Kernel> kernel_in(const std::shared_ptr<Image>& image, const std::string& name,
                                std::string& why);
// "sm_90" of the current context's GPU; empty where the emulator does not know it.
std::string current_arch();

}  // namespace lockwarp::beside
