// SPDX-License-Identifier: Apache-2.0
// Libraries: modules that belong to no context, one for each device that needs it.
#include <algorithm>

#include "cuda/family.hpp"
#include "cuda/jit_options.hpp"
#include "cuda/read_file.hpp"
#include "cuda/state.hpp"
#include "emu/ptx/tree.hpp"
#include "engine/handles.hpp"

namespace lockwarp::cuda {

namespace {

Library* load(const void* image, const JitOptions& options) {
    auto library = std::make_shared<Library>();
    library->family = std::make_shared<Family>(read_whole_image(image), false);
    with_log(options, [&](std::string* log) { return library->family->on(current_device(), log); });
    return driver().libraries.add(std::move(library));
}

std::shared_ptr<Module> module_of(const Library* library) {
    return ready().libraries.get(library)->family->on(current_device());
}

lockwarp_variable variable_of(const Library* library, const char* name) {
    require(name != nullptr);
    lockwarp_variable v{};
    v.struct_size = sizeof v;
    const std::shared_ptr<Module> m = module_of(library);
    require(lockwarp_module_variable(m->loaded, name, &v, nullptr) == LOCKWARP_OK, not_found);
    return v;
}

// A variable of __managed__.
bool is_managed(const ptx::Module& module, std::string_view name) {
    return std::ranges::any_of(module.items, [&](const auto& item) {
        const auto* const v = std::get_if<ptx::Variable>(&item);
        return v != nullptr && v->name == name &&
               std::ranges::any_of(v->attributes,
                                   [](const ptx::Modifier& m) { return m.text == ".managed"; });
    });
}

}  // namespace
}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuLibraryLoadData(Library** out, const void* image, const int* keys, void** values,
                         unsigned options, const int*, void**, unsigned) {
    return answer([&] {
        ready();
        require(out != nullptr && image != nullptr);
        *out = load(image, JitOptions(options, keys, values));
    });
}

Result cuLibraryLoadFromFile(Library** out, const char* path, const int* keys, void** values,
                             unsigned options, const int*, void**, unsigned) {
    return answer([&] {
        ready();
        require(out != nullptr && path != nullptr);
        const std::vector<char> bytes = read_file(path);
        require_whole(bytes);
        *out = load(bytes.data(), JitOptions(options, keys, values));
    });
}

Result cuLibraryUnload(Library* library) {
    return answer([&] { ready().libraries.take(library)->family->unload(); });
}

Result cuLibraryGetKernel(Function** out, Library* library, const char* name) {
    return answer([&] {
        require(out != nullptr && name != nullptr);
        *out = function_of(module_of(library), name);
    });
}

Result cuLibraryGetModule(Module** out, Library* library) {
    return answer([&] {
        current();
        require(out != nullptr);
        *out = module_of(library).get();
    });
}

Result cuLibraryGetGlobal(Address* address, size_t* bytes, Library* library, const char* name) {
    return answer([&] {
        const lockwarp_variable v = variable_of(library, name);
        if (address != nullptr) *address = reinterpret_cast<Address>(v.bytes);
        if (bytes != nullptr) *bytes = v.size;
    });
}

Result cuLibraryGetManaged(Address* address, size_t* bytes, Library* library, const char* name) {
    return answer([&] {
        require(name != nullptr);
        require(is_managed(module_of(library)->loaded->tree, name), not_found);
        const lockwarp_variable v = variable_of(library, name);
        if (address != nullptr) *address = reinterpret_cast<Address>(v.bytes);
        if (bytes != nullptr) *bytes = v.size;
    });
}

Result cuLibraryGetKernelCount(unsigned* count, Library* library) {
    return answer([&] {
        require(count != nullptr);
        *count = static_cast<unsigned>(lockwarp_module_kernels(module_of(library)->loaded));
    });
}

Result cuLibraryEnumerateKernels(Function** out, unsigned count, Library* library) {
    return answer([&] {
        require(out != nullptr);
        const std::shared_ptr<Module> m = module_of(library);
        require(count <= lockwarp_module_kernels(m->loaded));
        for (unsigned i = 0; i < count; ++i)
            out[i] = function_of(m, lockwarp_module_kernel_name(m->loaded, i));
    });
}

Result cuKernelGetLibrary(Library** out, Function* kernel) {
    return answer([&] {
        require(out != nullptr);
        const std::shared_ptr<Module> module = ready().functions.get(kernel)->module.lock();
        Library* found = nullptr;
        driver().libraries.erase_if([&](const Library& l) {
            if (l.family->has(module.get())) found = const_cast<Library*>(&l);
            return false;
        });
        require(found != nullptr, invalid_handle);
        *out = found;
    });
}

}  // extern "C"
