// SPDX-License-Identifier: Apache-2.0
// Which PTX belongs to a kernel's handle: what the program loads is watched. The runtime may also
// load by ways of its own; then the kernel's name is looked for in the fat binaries of all loaded
// objects.
#include "cuda/beside/kernels.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "cuda/beside/forward.hpp"
#include "cuda/beside/linked.hpp"
#include "cuda/image.hpp"
#include "cuda/large_numbers.hpp"
#include "cuda/merge.hpp"
#include "emu/isa/arch.hpp"
#include "emu/isa/opcodes.hpp"
#include "emu/isa/waiting.hpp"
#include "engine/handles.hpp"

namespace lockwarp::beside {

using cuda::Result;
using cuda::success;

namespace {

struct Known {
    std::shared_ptr<Image> image;
    std::string name;
};

struct Tables {
    std::mutex mutex;
    std::map<const void*, std::shared_ptr<Image>> loaded;  // by module or library
    std::map<const void*, Known> kernels;                  // by function or kernel
    std::vector<std::shared_ptr<Image>> images;            // all of them, also of the objects
    bool objects_read = false;
    std::map<std::string, lockwarp_context*> contexts;  // by architecture
};

Tables& tables() {
    static auto* const only = new Tables;
    return *only;
}

std::shared_ptr<Image> add_image(Tables& t, std::span<const char> bytes) {
    auto image = std::make_shared<Image>();
    image->binaries.emplace_back(bytes.begin(), bytes.end());
    t.images.push_back(image);
    return image;
}

void remember(const void* handle, const void* image) {
    const std::optional<std::string> text = linked_text(image);
    const std::span<const char> bytes =
        text ? std::span<const char>(text->c_str(), text->size() + 1) : cuda::image_bytes(image);
    Tables& t = tables();
    const std::lock_guard lock(t.mutex);
    t.loaded.erase(handle);
    if (bytes.data() != nullptr) t.loaded[handle] = add_image(t, bytes);
}

// The driver gives the handles of what is unloaded again.
void forget(const void* handle) {
    Tables& t = tables();
    const std::lock_guard lock(t.mutex);
    const auto found = t.loaded.find(handle);
    if (found == t.loaded.end()) return;
    const std::shared_ptr<Image> image = std::move(found->second);
    t.loaded.erase(found);
    std::erase(t.images, image);
    std::erase_if(t.kernels, [&](const auto& kernel) { return kernel.second.image == image; });
}

void remember_file(const void* handle, const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    bytes.push_back(0);
    remember(handle, bytes.data());
}

void remember_kernel(const void* function, const void* owner, const char* name) {
    Tables& t = tables();
    const std::lock_guard lock(t.mutex);
    const auto found = t.loaded.find(owner);
    t.kernels.erase(function);
    if (found != t.loaded.end()) t.kernels[function] = {found->second, name};
}

lockwarp_context* context_of(Tables& t, const std::string& arch) {
    lockwarp_context*& context = t.contexts[arch];
    if (context == nullptr) {
        lockwarp_context_options options{};
        options.struct_size = sizeof options;
        options.arch = arch.c_str();
        lockwarp_context_create(&options, &context, nullptr);
    }
    return context;
}

void load(Tables& t, Image& image, const std::string& arch) {
    if (image.tried) return;
    image.tried = true;
    lockwarp_context* const context = context_of(t, arch);
    const auto number = static_cast<unsigned>(std::atoi(arch.c_str() + 3));
    std::vector<cuda::Image> each;
    for (const std::vector<char>& bytes : image.binaries)
        each.push_back(cuda::read_image(bytes, number));
    const cuda::Image read = cuda::merge_images(std::move(each));
    image.wrong = read.wrong;
    for (const std::string& text : read.texts) {
        lockwarp_error* error = nullptr;
        if (lockwarp_module_load(context, text.data(), text.size(), nullptr, &image.module,
                                 &error) == LOCKWARP_OK) {
            image.text = text;
            image.numbers = cuda::large_numbers(text);
            image.wrong.clear();
            for (size_t i = 0; i < lockwarp_module_variables(image.module); ++i) {
                const lockwarp_variable v = variable_at(image.module, i);
                const auto* const bytes = static_cast<const uint8_t*>(v.bytes);
                image.initial.emplace_back(bytes, bytes + (bytes != nullptr ? v.size : 0));
            }
            return;
        }
        if (image.wrong.empty() && error != nullptr) image.wrong = lockwarp_error_message(error);
        lockwarp_error_destroy(error);
    }
}

bool has_kernel(const Image& image, const std::string& name) {
    for (size_t i = 0; image.module != nullptr && i < lockwarp_module_kernels(image.module); ++i)
        if (name == lockwarp_module_kernel_name(image.module, i)) return true;
    return false;
}

// The fat binaries of a section .nv_fatbin, one behind the other.
void add_binaries(Tables& t, const char* begin, uint64_t size) {
    for (uint64_t at = 0; at + 16 <= size;) {
        const uint64_t bytes =
            cuda::is_fat_binary(begin + at) ? cuda::fat_binary_bytes(begin + at) : 0;
        if (bytes == 0 || bytes > size - at) {
            at += 8;  // what fills up to the next
            continue;
        }
        add_image(t, {begin + at, bytes});
        at += bytes;
    }
}

// What a linker of machine code made lies in .nv_fatbin too, without PTX: that is in the objects'
// own, which the wrappers of a section .nvFatBinSegment name.
void add_linked(Tables& t, const char* begin, uint64_t size) {
    for (uint64_t at = 0; at + sizeof(cuda::Wrapper) <= size; at += sizeof(cuda::Wrapper)) {
        cuda::Wrapper wrapper{};
        std::memcpy(&wrapper, begin + at, sizeof wrapper);
        if (wrapper.magic != cuda::wrapper_magic) continue;
        auto image = std::make_shared<Image>();
        for (const void* const binary : cuda::linked_binaries(wrapper)) {
            const std::span<const char> bytes = cuda::image_bytes(binary);
            image->binaries.emplace_back(bytes.begin(), bytes.end());
        }
        if (!image->binaries.empty()) t.images.push_back(std::move(image));
    }
}

void read_object(Tables& t, const char* path, ElfW(Addr) base) {
    std::ifstream file(*path != 0 ? path : "/proc/self/exe", std::ios::binary);
    ElfW(Ehdr) header{};
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shnum == 0)
        return;
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    file.seekg(static_cast<std::streamoff>(header.e_shoff));
    file.read(reinterpret_cast<char*>(sections.data()),
              static_cast<std::streamsize>(sections.size() * sizeof sections[0]));
    if (!file || header.e_shstrndx >= sections.size()) return;
    const ElfW(Shdr)& strings = sections[header.e_shstrndx];
    std::string names(strings.sh_size, '\0');
    file.seekg(static_cast<std::streamoff>(strings.sh_offset));
    file.read(names.data(), static_cast<std::streamsize>(names.size()));
    for (const ElfW(Shdr) & s : sections) {
        if (s.sh_name >= names.size() || s.sh_type != SHT_PROGBITS) continue;
        const std::string_view name = names.c_str() + s.sh_name;
        const auto* const begin = reinterpret_cast<const char*>(base + s.sh_addr);
        if (name == ".nv_fatbin") add_binaries(t, begin, s.sh_size);
        if (name == ".nvFatBinSegment") add_linked(t, begin, s.sh_size);
    }
}

void read_objects(Tables& t) {
    if (t.objects_read) return;
    t.objects_read = true;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
            read_object(*static_cast<Tables*>(to), info->dlpi_name, info->dlpi_addr);
            return 0;
        },
        &t);
}

Uses uses_of(const lockwarp_kernel* kernel) {
    Uses out;
    out.may_wait = isa::may_wait_outside(kernel->program);
    for (const isa::Call& c : kernel->program.calls) {
        out.launches |= isa::needs_device(c.system);
        out.allocates |= c.system == isa::System::malloc || c.system == isa::System::allocate;
    }
    for (size_t i = 0; i < lockwarp_kernel_instructions(kernel); ++i) {
        lockwarp_instruction at{};
        at.struct_size = sizeof at;
        lockwarp_kernel_instruction(kernel, i, &at);
        const std::string_view opcode = at.opcode;
        out.textures |= std::ranges::any_of(
            isa::op_rows, [&](const isa::OpRow& r) { return r.of_objects && r.name == opcode; });
    }
    return out;
}

std::string name_of(Function* handle) {
    const char* name = nullptr;
    const auto of_function = behind_as<Result(const char**, Function*)>("cuFuncGetName");
    if (of_function != nullptr && of_function(&name, handle) == success && name != nullptr)
        return name;
    const auto of_kernel = behind_as<Result(const char**, Function*)>("cuKernelGetName");
    if (of_kernel != nullptr && of_kernel(&name, handle) == success && name != nullptr) return name;
    return {};
}

std::optional<Known> find(Tables& t, Function* handle, const std::string& arch, std::string& why) {
    const std::string name = name_of(handle);
    // Another name: the handle is another kernel's now, loaded by ways of the runtime's own.
    if (const auto found = t.kernels.find(handle);
        found != t.kernels.end() && (name.empty() || found->second.name == name)) {
        load(t, *found->second.image, arch);
        if (has_kernel(*found->second.image, found->second.name)) return found->second;
        why = found->second.image->wrong;
    }
    if (name.empty()) {
        if (why.empty()) why = "the driver does not tell the kernel's name";
        return std::nullopt;
    }
    read_objects(t);
    for (size_t i = t.images.size(); i-- > 0;) {
        load(t, *t.images[i], arch);
        if (has_kernel(*t.images[i], name)) return Known{t.images[i], name};
    }
    if (why.empty()) why = "no PTX of kernel " + name + " was found";
    return std::nullopt;
}

std::optional<Kernel> loaded(const std::shared_ptr<Image>& image, const std::string& name,
                             std::string& why) {
    Kernel k;
    k.image = image;
    k.name = name;
    lockwarp_error* error = nullptr;
    if (lockwarp_module_kernel(k.image->module, k.name.c_str(), &k.kernel, &error) != LOCKWARP_OK) {
        why = error != nullptr ? lockwarp_error_message(error) : "no memory";
        lockwarp_error_destroy(error);
        return std::nullopt;
    }
    const auto [uses, is_new] = k.image->uses.try_emplace(k.name);
    if (is_new) uses->second = uses_of(k.kernel);
    k.uses = uses->second;
    k.info.struct_size = sizeof k.info;
    lockwarp_kernel_get_info(k.kernel, &k.info);
    for (size_t i = 0; i < k.info.parameters; ++i) {
        lockwarp_parameter p{};
        p.struct_size = sizeof p;
        lockwarp_kernel_parameter(k.kernel, i, &p);
        k.parameters.push_back(p);
    }
    return k;
}

}  // namespace

lockwarp_variable variable_at(const lockwarp_module* module, size_t i) {
    lockwarp_variable v{};
    v.struct_size = sizeof v;
    lockwarp_module_variable_at(module, i, &v);
    return v;
}

std::optional<Kernel> kernel_of(Function* handle, const std::string& arch, std::string& why) {
    Tables& t = tables();
    const std::lock_guard lock(t.mutex);
    std::optional<Known> known = find(t, handle, arch, why);
    if (!known) return std::nullopt;
    t.kernels[handle] = *known;
    return loaded(known->image, known->name, why);
}

std::optional<Kernel> kernel_in(const std::shared_ptr<Image>& image, const std::string& name,
                                std::string& why) {
    const std::lock_guard lock(tables().mutex);
    return loaded(image, name, why);
}

std::string current_arch() {
    int device = 0, major = 0, minor = 0;
    const auto of_context = behind_as<Result(int*)>("cuCtxGetDevice");
    const auto attribute = behind_as<Result(int*, int, int)>("cuDeviceGetAttribute");
    if (of_context == nullptr || attribute == nullptr || of_context(&device) != success ||
        attribute(&major, 75, device) != success || attribute(&minor, 76, device) != success)
        return {};
    std::string name = "sm_" + std::to_string(10 * major + minor);
    return isa::arch_named(name) ? name : std::string();
}

}  // namespace lockwarp::beside

using namespace lockwarp::beside;
using lockwarp::cuda::Result;
using lockwarp::cuda::success;

// What loads modules and finds kernels in them: done by the driver, and remembered.
extern "C" {

Result cuModuleLoadData(Module** out, const void* image) {
    static const auto real = behind_as<Result(Module**, const void*)>("cuModuleLoadData");
    const Result r = real(out, image);
    if (r == success) remember(*out, image);
    return r;
}

Result cuModuleLoadDataEx(Module** out, const void* image, unsigned count, int* keys,
                          void** values) {
    static const auto real =
        behind_as<Result(Module**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx");
    const Result r = real(out, image, count, keys, values);
    if (r == success) remember(*out, image);
    return r;
}

Result cuModuleLoadFatBinary(Module** out, const void* image) {
    static const auto real = behind_as<Result(Module**, const void*)>("cuModuleLoadFatBinary");
    const Result r = real(out, image);
    if (r == success) remember(*out, image);
    return r;
}

Result cuModuleLoad(Module** out, const char* path) {
    static const auto real = behind_as<Result(Module**, const char*)>("cuModuleLoad");
    const Result r = real(out, path);
    if (r == success) remember_file(*out, path);
    return r;
}

Result cuModuleGetFunction(Function** out, Module* module, const char* name) {
    static const auto real =
        behind_as<Result(Function**, Module*, const char*)>("cuModuleGetFunction");
    const Result r = real(out, module, name);
    if (r == success) remember_kernel(*out, module, name);
    return r;
}

Result cuLibraryLoadData(Library** out, const void* image, int* keys, void** values, unsigned count,
                         int* library_keys, void** library_values, unsigned library_count) {
    static const auto real =
        behind_as<Result(Library**, const void*, int*, void**, unsigned, int*, void**, unsigned)>(
            "cuLibraryLoadData");
    const Result r =
        real(out, image, keys, values, count, library_keys, library_values, library_count);
    if (r == success) remember(*out, image);
    return r;
}

Result cuLibraryLoadFromFile(Library** out, const char* path, int* keys, void** values,
                             unsigned count, int* library_keys, void** library_values,
                             unsigned library_count) {
    static const auto real =
        behind_as<Result(Library**, const char*, int*, void**, unsigned, int*, void**, unsigned)>(
            "cuLibraryLoadFromFile");
    const Result r =
        real(out, path, keys, values, count, library_keys, library_values, library_count);
    if (r == success) remember_file(*out, path);
    return r;
}

Result cuLibraryGetKernel(Function** out, Library* library, const char* name) {
    static const auto real =
        behind_as<Result(Function**, Library*, const char*)>("cuLibraryGetKernel");
    const Result r = real(out, library, name);
    if (r == success) remember_kernel(*out, library, name);
    return r;
}

Result cuKernelGetFunction(Function** out, Function* kernel) {
    static const auto real = behind_as<Result(Function**, Function*)>("cuKernelGetFunction");
    const Result r = real(out, kernel);
    if (r != success) return r;
    Tables& t = tables();
    const std::lock_guard lock(t.mutex);
    const auto found = t.kernels.find(kernel);
    const std::optional<Known> known =
        found != t.kernels.end() ? std::optional(found->second) : std::nullopt;
    t.kernels.erase(*out);
    if (known) t.kernels[*out] = *known;
    return r;
}

Result cuModuleUnload(Module* module) {
    static const auto real = behind_as<Result(Module*)>("cuModuleUnload");
    forget(module);
    return real(module);
}

Result cuLibraryUnload(Library* library) {
    static const auto real = behind_as<Result(Library*)>("cuLibraryUnload");
    forget(library);
    return real(library);
}

}  // extern "C"
