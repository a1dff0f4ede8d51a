// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/linked.hpp"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/beside/forward.hpp"
#include "cuda/beside/kernels.hpp"
#include "cuda/image.hpp"
#include "cuda/merge.hpp"

namespace lockwarp::beside {

using cuda::Result;
using cuda::success;

namespace {

// What was added to a link. Where something has no PTX, neither has the whole.
struct Parts {
    std::vector<std::string> texts;
    bool whole = true;
};

struct Linked {
    std::string code, text;
};

struct Links {
    std::mutex mutex;
    std::map<const void*, Parts> open;
    std::vector<Linked> done;
};

Links& links() {
    static auto* const only = new Links;
    return *only;
}

// CUjitInputType
constexpr int ptx_input = 1, fat_binary_input = 2, library_input = 4;

void add(const void* link, int type, std::span<const char> bytes) {
    Links& l = links();
    const std::lock_guard lock(l.mutex);
    Parts& parts = l.open[link];
    if (type == library_input) return;  // functions of the device's runtime are the emulator's own
    cuda::Image image;
    const std::string arch = current_arch();
    if (!arch.empty() && (type == ptx_input || type == fat_binary_input))
        image = cuda::read_image(bytes, static_cast<unsigned>(std::atoi(arch.c_str() + 3)));
    if (image.texts.empty())
        parts.whole = false;
    else
        parts.texts.push_back(std::move(image.texts.front()));
}

void complete(const void* link, const void* code, size_t size) {
    Links& l = links();
    const std::lock_guard lock(l.mutex);
    const auto found = l.open.find(link);
    if (found == l.open.end() || !found->second.whole || found->second.texts.empty()) return;
    cuda::Merged merged = cuda::merge(found->second.texts);
    if (!merged.wrong.empty()) return;
    l.done.push_back({{static_cast<const char*>(code), size}, std::move(merged.text)});
}

}  // namespace

std::optional<std::string> linked_text(const void* image) {
    if (!cuda::is_machine_code(image)) return std::nullopt;
    Links& l = links();
    const std::lock_guard lock(l.mutex);
    // The header says where the tables end, and so how long code is that has the same one.
    for (const Linked& one : l.done)
        if (one.code.size() >= sizeof(Elf64_Ehdr) &&
            std::memcmp(one.code.data(), image, sizeof(Elf64_Ehdr)) == 0 &&
            std::memcmp(one.code.data(), image, one.code.size()) == 0)
            return one.text;
    return std::nullopt;
}

}  // namespace lockwarp::beside

using namespace lockwarp::beside;
using lockwarp::cuda::Result;
using lockwarp::cuda::success;

extern "C" {

#define LOCKWARP_LINKS(ending)                                                                    \
    Result cuLinkAddData##ending(void* link, int type, void* data, size_t size, const char* name, \
                                 unsigned count, int* keys, void** values) {                      \
        static const auto real =                                                                  \
            behind_as<Result(void*, int, void*, size_t, const char*, unsigned, int*, void**)>(    \
                "cuLinkAddData" #ending);                                                         \
        const Result r = real(link, type, data, size, name, count, keys, values);                 \
        if (r == success) add(link, type, {static_cast<const char*>(data), size});                \
        return r;                                                                                 \
    }                                                                                             \
    Result cuLinkAddFile##ending(void* link, int type, const char* path, unsigned count,          \
                                 int* keys, void** values) {                                      \
        static const auto real =                                                                  \
            behind_as<Result(void*, int, const char*, unsigned, int*, void**)>(                   \
                "cuLinkAddFile" #ending);                                                         \
        const Result r = real(link, type, path, count, keys, values);                             \
        if (r != success) return r;                                                               \
        std::ifstream file(path, std::ios::binary);                                               \
        const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});                  \
        add(link, type, bytes);                                                                   \
        return r;                                                                                 \
    }
LOCKWARP_LINKS()
LOCKWARP_LINKS(_v2)
#undef LOCKWARP_LINKS

Result cuLinkComplete(void* link, void** code, size_t* size) {
    static const auto real = behind_as<Result(void*, void**, size_t*)>("cuLinkComplete");
    size_t own_size = 0;
    const Result r = real(link, code, size != nullptr ? size : &own_size);
    if (r == success) complete(link, *code, size != nullptr ? *size : own_size);
    return r;
}

Result cuLinkDestroy(void* link) {
    static const auto real = behind_as<Result(void*)>("cuLinkDestroy");
    {
        Links& l = links();
        const std::lock_guard lock(l.mutex);
        l.open.erase(link);
    }
    return real(link);
}

}  // extern "C"
