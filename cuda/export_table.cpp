// SPDX-License-Identifier: Apache-2.0
// cuGetExportTable gives private tables of NVIDIA's driver, which are not reproduced. CUDA's own
// runtime needs them; NVRTC and nvJitLink ask too, and go on without.
#include <dlfcn.h>

#include <atomic>
#include <string>

#include "cuda/errors.hpp"

namespace lockwarp::cuda {

namespace {

// The file of whoever has that address in its code.
std::string asker(const void* address) {
    Dl_info info{};
    if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string path = info.dli_fname;
    return path.substr(path.rfind('/') + 1);
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" Result cuGetExportTable(const void** table, const void*) {
    static std::atomic<bool> said{false};
    const void* const address = __builtin_return_address(0);
    return answer([&] {
        if (table != nullptr) *table = nullptr;
        const std::string who = asker(address);
        const bool goes_on = who.starts_with("libnvrtc") || who.starts_with("libnvJitLink");
        if (!goes_on && !said.exchange(true))
            say("cuGetExportTable is not supported: " + who +
                " asks for private tables of NVIDIA's driver, as CUDA's own runtime does; its "
                "kernels cannot run here");
        return not_supported;
    });
}
