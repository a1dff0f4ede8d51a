// SPDX-License-Identifier: Apache-2.0
// What compiled programs register before main(): fat binaries, kernels, variables. A fat binary is
// read when the first of its kernels or variables is needed.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <shared_mutex>
#include <unordered_map>

#include "cuda/family.hpp"
#include "cuda/link.hpp"
#include "cuda/names.hpp"
#include "cuda/runtime/state.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

namespace {

struct Binary {
    const Wrapper* wrapper = nullptr;
    std::mutex mutex;  // of what follows
    std::shared_ptr<Family> family;
    Result failed = success;  // its loading
    std::string wrong;        // why
};

}  // namespace

struct Registered {
    Binary* binary;
    std::string name;  // mangled, as the module has it
    std::atomic<Function*> function{nullptr};
};

namespace {

struct Variable {
    Binary* binary;
    std::string name;
    size_t size;
    void** managed = nullptr;  // where the host has its address
};

struct Registry {
    std::shared_mutex mutex;
    std::list<Binary> binaries;
    std::unordered_map<const void*, std::unique_ptr<Registered>> kernels;  // by host function
    std::unordered_map<const void*, Variable> variables;                   // by host variable
    std::unordered_map<const void*, const Registered*> handles;            // kernels, by themselves
};

Registry& registry() {
    static Registry* const only = new Registry;
    return *only;
}

// The program or library that the binary lies in.
std::string file_of(const Binary& b) {
    Dl_info info{};
    const bool found = ::dladdr(b.wrapper, &info) != 0 && info.dli_fname != nullptr;
    return found ? info.dli_fname : "this program";
}

std::vector<const void*> images_of(const Wrapper& w) {
    std::vector<const void*> out = linked_binaries(w);
    if (out.empty()) out.push_back(w.data);
    return out;
}

// The binary's module; `what` needs it, "kernel f()".
std::shared_ptr<Module> module_of(Binary& b, const std::string& what) {
    const std::lock_guard lock(b.mutex);
    if (b.failed == success) {
        try {
            if (b.family == nullptr)
                b.family = std::make_shared<Family>(linked_image(images_of(*b.wrapper)), true);
            return b.family->on(current_device(), &b.wrong);
        } catch (const Failure& f) {
            b.failed = f.result;
        }
        say(what + " of " + file_of(b) + ": " + b.wrong);
    }
    fail(b.failed);
}

Function* load(Registered& r) {
    const std::shared_ptr<Module> module = module_of(*r.binary, "kernel " + brief(r.name));
    std::string log;
    Function* function = nullptr;
    try {
        function = function_of(module, r.name.c_str(), &log);
    } catch (const Failure& f) {
        if (log.find("__cudaCDP2") != std::string::npos) {
            say("kernel " + brief(r.name) + ": " + log +
                ": this function of the device's runtime is not supported");
            fail(not_supported);
        }
        if (!log.empty()) say("kernel " + brief(r.name) + ": " + log);
        fail(f.result == not_found ? invalid_device_function : f.result);
    }
    r.function = function;
    return function;
}

VariablePlace place_of(const Variable& v) {
    const std::shared_ptr<Module> module = module_of(*v.binary, "variable " + brief(v.name));
    VariablePlace out{};
    const Result found =
        cuModuleGetGlobal_v2(&out.address, &out.size, module.get(), v.name.c_str());
    require(found == success, found == not_found ? invalid_symbol : found);
    return out;
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

}  // namespace

Registered* registered_at(const void* host_function) {
    Registry& r = registry();
    const std::shared_lock lock(r.mutex);
    const auto found = r.kernels.find(host_function);
    return found == r.kernels.end() ? nullptr : found->second.get();
}

Function* kernel_of(const void* host_function) {
    require(host_function != nullptr, invalid_device_function);
    Registered* found = registered_at(host_function);
    if (found == nullptr) {
        Registry& r = registry();
        const std::shared_lock lock(r.mutex);
        const auto handle = r.handles.find(host_function);
        if (handle != r.handles.end()) found = const_cast<Registered*>(handle->second);
    }
    if (found == nullptr)  // what cudaGetFuncBySymbol and cudaLibraryGetKernel gave
        return driver()
            .functions.get(static_cast<const Function*>(host_function), invalid_device_function)
            .get();
    if (Function* const loaded = found->function; loaded != nullptr) return loaded;
    return load(*found);
}

const void* host_function_of(const Function* kernel) {
    Registry& r = registry();
    const std::shared_lock lock(r.mutex);
    for (const auto& [host_function, registered] : r.kernels)
        if (registered->function == kernel) return host_function;
    return kernel;
}

VariablePlace variable_of(const void* host_variable) {
    Registry& r = registry();
    Variable found{};
    {
        const std::shared_lock lock(r.mutex);
        auto item = r.variables.find(host_variable);
        // A managed variable's name stands for its memory, where that is known already.
        if (item == r.variables.end())
            item = std::ranges::find_if(r.variables, [&](const auto& v) {
                return v.second.managed != nullptr && *v.second.managed == host_variable;
            });
        require(item != r.variables.end(), invalid_symbol);
        found = item->second;
    }
    return place_of(found);
}

void forget_modules(DeviceId device) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    for (auto& item : r.kernels) item.second->function = nullptr;
    for (Binary& b : r.binaries) {
        const std::lock_guard of_binary(b.mutex);
        if (b.family != nullptr) b.family->unload(device);
    }
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    Binary& b = r.binaries.emplace_back();
    b.wrapper = static_cast<const Wrapper*>(wrapper);
    return reinterpret_cast<void**>(&b);
}

void __cudaRegisterFatBinaryEnd(void**) {}

// At a program's end, and where a library is closed.
void __cudaUnregisterFatBinary(void** handle) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    const Binary* const b = binary_of(handle);
    std::erase_if(r.handles, [&](const auto& item) { return item.second->binary == b; });
    std::erase_if(r.kernels, [&](const auto& item) { return item.second->binary == b; });
    std::erase_if(r.variables, [&](const auto& item) { return item.second.binary == b; });
    const auto found = std::ranges::find_if(r.binaries, [&](const Binary& x) { return &x == b; });
    if (found == r.binaries.end()) return;
    if (found->family != nullptr) answer([&] { found->family->unload(); });
    r.binaries.erase(found);
}

void __cudaRegisterFunction(void** handle, const void* host_function, char*, const char* name, int,
                            void*, void*, void*, void*, int*) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    auto entry = std::make_unique<Registered>();
    entry->binary = binary_of(handle);
    entry->name = name;
    r.handles.emplace(entry.get(), entry.get());
    r.kernels.insert_or_assign(host_function, std::move(entry));
}

void __cudaRegisterVar(void** handle, const void* host_variable, char*, const char* name, int,
                       size_t size, int, int) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    r.variables.insert_or_assign(host_variable, Variable{binary_of(handle), name, size, nullptr});
}

void __cudaRegisterHostVar(void**, const char*, const void*, size_t) {}

// The host has a pointer to the variable, to be filled when its module is loaded.
void __cudaRegisterManagedVar(void** handle, void** place, char*, const char* name, int,
                              size_t size, int, int) {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    r.variables.insert_or_assign(place, Variable{binary_of(handle), name, size, place});
}

// The host is about to touch a managed variable of that binary.
char __cudaInitModule(void** handle) {
    std::vector<Variable> managed;
    {
        Registry& r = registry();
        const std::shared_lock lock(r.mutex);
        for (const auto& item : r.variables)
            if (item.second.binary == binary_of(handle) && item.second.managed != nullptr)
                managed.push_back(item.second);
    }
    const Result done = call([&] {
        for (const Variable& v : managed) *v.managed = reinterpret_cast<void*>(place_of(v).address);
    });
    return done == success ? 1 : 0;
}

void __cudaRegisterUnifiedTable(void**, void*) {}

}  // extern "C"
