// SPDX-License-Identifier: Apache-2.0
// Modules, their functions and variables.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "cuda/device_functions.hpp"
#include "cuda/image.hpp"
#include "cuda/jit_options.hpp"
#include "cuda/memory.hpp"
#include "cuda/order.hpp"
#include "cuda/read_file.hpp"
#include "cuda/state.hpp"
#include "cuda/watch.hpp"
#include "emu/isa/resolve.hpp"
#include "emu/isa/waiting.hpp"

namespace lockwarp::cuda {

namespace {

Result result_of(lockwarp_status status) {
    switch (status) {
        case LOCKWARP_OK:
            return success;
        case LOCKWARP_OUT_OF_MEMORY:
            return out_of_memory;
        case LOCKWARP_NOT_FOUND:
            return not_found;
        case LOCKWARP_INTERNAL:
            return unknown_error;
        case LOCKWARP_INVALID_ARGUMENT:
        case LOCKWARP_BAD_PTX:
        case LOCKWARP_UNSUPPORTED:
        case LOCKWARP_REFUSED:
        case LOCKWARP_TRAPPED:
        case LOCKWARP_STOPPED:
            break;
    }
    return invalid_ptx;
}

// The status's result, and the error's text into `log`.
Result taken(lockwarp_status status, lockwarp_error* error, std::string& log) {
    if (error != nullptr) log = lockwarp_error_message(error);
    lockwarp_error_destroy(error);
    return result_of(status);
}

// Whether a kernel is good, but for instructions that Lockwarp does not execute: a GPU's driver
// takes its module, and the module's other kernels run here too.
bool is_only_not_executed(lockwarp_status status, const lockwarp_error* error) {
    if (status != LOCKWARP_BAD_PTX || error == nullptr) return false;
    const size_t count = lockwarp_error_diagnostics(error);
    size_t known = 0;
    for (size_t i = 0; i < count; ++i) {
        lockwarp_diagnostic d{};
        d.struct_size = sizeof d;
        lockwarp_error_diagnostic(error, i, &d);
        known += d.not_executed;
    }
    return count != 0 && known == count;
}

// With all kernels, as the driver's compiler takes them all; or each when it is first needed.
Result load_text(const std::string& text, DeviceId device, bool each_when_needed,
                 lockwarp_module** out, std::string& log) {
    lockwarp_error* error = nullptr;
    lockwarp_module* module = nullptr;
    lockwarp_status status = lockwarp_module_load(device_at(device).engine, text.data(),
                                                  text.size(), nullptr, &module, &error);
    const size_t kernels = each_when_needed ? 0 : lockwarp_module_kernels(module);
    for (size_t i = 0; status == LOCKWARP_OK && i < kernels; ++i) {
        const lockwarp_kernel* kernel = nullptr;
        status =
            lockwarp_module_kernel(module, lockwarp_module_kernel_name(module, i), &kernel, &error);
        if (!is_only_not_executed(status, error)) continue;
        lockwarp_error_destroy(error);
        error = nullptr;
        status = LOCKWARP_OK;
    }
    if (status == LOCKWARP_OK)
        *out = module;
    else
        lockwarp_module_destroy(module);
    return taken(status, error, log);
}

lockwarp_variable variable_at(const Module& m, size_t index) {
    lockwarp_variable v{};
    v.struct_size = sizeof v;
    lockwarp_module_variable_at(m.loaded, index, &v);
    return v;
}

Address address_of(const lockwarp_variable& v) { return reinterpret_cast<Address>(v.bytes); }

void add_variables(const std::shared_ptr<Module>& m, const std::shared_ptr<Context>& context) {
    for (size_t i = 0; i < lockwarp_module_variables(m->loaded); ++i) {
        const lockwarp_variable v = variable_at(*m, i);
        if (v.size == 0 || v.bytes == nullptr) continue;
        add_known(address_of(v), v.size, Kind::variable, context, m->device);
    }
}

void remove_variables(const Module& m) {
    for (size_t i = 0; i < lockwarp_module_variables(m.loaded); ++i) {
        const lockwarp_variable v = variable_at(m, i);
        if (v.size == 0 || v.bytes == nullptr) continue;
        answer([&] { release(address_of(v), Kind::variable, Kind::variable); });
    }
}

// What is wrong with it into `log`, or, where there is none, on stderr.
std::shared_ptr<Function> make_function(const std::shared_ptr<Module>& module, const char* name,
                                        std::string* log) {
    const lockwarp_kernel* kernel = nullptr;
    lockwarp_error* error = nullptr;
    // The engine also knows a mangled name by its plain one; the driver does not.
    bool exact = false;
    for (size_t i = 0; i < lockwarp_module_kernels(module->loaded) && !exact; ++i)
        exact = std::strcmp(lockwarp_module_kernel_name(module->loaded, i), name) == 0;
    require(exact, not_found);
    const lockwarp_status status = lockwarp_module_kernel(module->loaded, name, &kernel, &error);
    std::string wrong;
    const Result result = taken(status, error, wrong);
    if (result != success) {
        if (log != nullptr)
            *log = wrong;
        else
            say(wrong);
        fail(result);
    }
    auto f = std::make_shared<Function>();
    f->module = module;
    f->name = name;
    f->kernel = kernel;
    f->may_wait = isa::may_wait_outside(kernel->program);
    f->info.struct_size = sizeof f->info;
    lockwarp_kernel_get_info(kernel, &f->info);
    for (size_t i = 0; i < f->info.parameters; ++i) {
        lockwarp_parameter p{};
        p.struct_size = sizeof p;
        lockwarp_kernel_parameter(kernel, i, &p);
        f->parameters.push_back(p);
    }
    const isa::ArchRow& arch = isa::row(driver().arch);
    f->max_dynamic = arch.shared_default - std::min(arch.shared_default, f->info.shared_static);
    return f;
}

// What is wrong with a text that the user may have nowhere to look at: each "PTX:12:3: ..." with
// what stands on that line behind it.
std::string with_lines(const std::string& said, std::string_view text) {
    constexpr std::string_view begin = "PTX:";
    std::vector<std::string_view> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::string out;
    for (size_t at = 0; at < said.size();) {
        const size_t end = std::min(said.find('\n', at), said.size());
        const std::string_view one = std::string_view(said).substr(at, end - at);
        at = end + 1;
        out += (out.empty() ? "" : "\n") + std::string(one);
        size_t number = 0;
        if (one.starts_with(begin))
            std::from_chars(one.data() + begin.size(), one.data() + one.size(), number);
        if (number == 0 || number > lines.size()) continue;
        std::string_view line = lines[number - 1];
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        out += "\n  " + std::string(line.substr(0, 96));
    }
    return out;
}

}  // namespace

Module::~Module() {
    if (loaded == nullptr) return;
    remove_variables(*this);
    lockwarp_module_destroy(loaded);
}

Image read_whole_image(const void* image) {
    require(image != nullptr);
    const std::span<const char> bytes = image_bytes(image);
    require(bytes.data() != nullptr, invalid_image);
    Image out = read_image(bytes, isa::row(driver().arch).number);
    if (out.texts.size() == 1 && !begins_as_ptx(out.texts[0])) return {{}, no_ptx, invalid_image};
    return out;
}

std::shared_ptr<Module> load_image(const std::shared_ptr<Context>& context, DeviceId device,
                                   const Image& image, bool each_when_needed, std::string* log) {
    std::string wrong = image.wrong;
    Result result = image.result;
    auto module = std::make_shared<Module>();
    module->context = context;
    module->device = device;
    for (const std::string& text : image.texts) {
        std::string said;
        const std::string linked = with_device_functions(text);
        const std::string& whole = linked.empty() ? text : linked;
        const Result r = load_text(whole, device, each_when_needed, &module->loaded, said);
        if (r == success) {
            if (is_watched()) module->text = whole;
            add_variables(module, context);
            driver().modules.add(module);
            return module;
        }
        if (wrong.empty()) {
            wrong = with_lines(said, whole);
            result = r;
        }
    }
    if (log != nullptr)
        *log = wrong;
    else
        say(wrong);
    fail(result);
}

std::shared_ptr<Module> load_module(const std::shared_ptr<Context>& context, const void* image,
                                    std::string* log) {
    return load_image(context, context->device, read_whole_image(image), false, log);
}

Function* function_of(const std::shared_ptr<Module>& module, const char* name, std::string* log) {
    require(name != nullptr);
    const std::lock_guard lock(module->mutex);
    const auto found = module->functions.find(name);
    if (found != module->functions.end()) return found->second;
    Function* const handle = driver().functions.add(make_function(module, name, log));
    module->functions.emplace(name, handle);
    return handle;
}

void unload(const std::shared_ptr<Module>& module) {
    driver().functions.erase_if([&](const Function& f) { return f.module.lock() == module; });
    driver().modules.take(module.get());
}

}  // namespace lockwarp::cuda

using namespace lockwarp::cuda;

extern "C" {

Result cuModuleLoadDataEx(Module** out, const void* image, unsigned options, const int* keys,
                          void** values) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && image != nullptr);
        *out = load_with_log(context, image, JitOptions(options, keys, values)).get();
    });
}

Result cuModuleLoadData(Module** out, const void* image) {
    return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

Result cuModuleLoadFatBinary(Module** out, const void* image) {
    return answer([&] {
        current();
        require(out != nullptr && image != nullptr);
        check(cuModuleLoadDataEx(out, image, 0, nullptr, nullptr));
    });
}

Result cuModuleLoad(Module** out, const char* path) {
    return answer([&] {
        const std::shared_ptr<Context> context = current();
        require(out != nullptr && path != nullptr);
        const std::vector<char> bytes = read_file(path);
        require_whole(bytes);
        *out = load_module(context, bytes.data(), nullptr).get();
    });
}

Result cuModuleUnload(Module* module) {
    return answer([&] {
        finish_all();
        const std::shared_ptr<Module> m = ready().modules.get(module);
        const std::shared_ptr<Context> context = m->context.lock();
        unload(m);
        if (context != nullptr && context->error != success) fail(context->error);
    });
}

Result cuModuleGetLoadingMode(int* mode) {
    constexpr int eager = 1;
    return answer([&] {
        ready();
        require(mode != nullptr);
        *mode = eager;
    });
}

Result cuModuleGetFunction(Function** out, Module* module, const char* name) {
    return answer([&] {
        const std::shared_ptr<Module> m = ready().modules.get(module);
        const StandIn stand_in(*m);
        current();
        require(out != nullptr && name != nullptr);
        *out = function_of(m, name);
    });
}

Result cuModuleGetFunctionCount(unsigned* count, Module* module) {
    return answer([&] {
        require(count != nullptr);
        const std::shared_ptr<Module> m = ready().modules.get(module);
        *count = static_cast<unsigned>(lockwarp_module_kernels(m->loaded));
    });
}

Result cuModuleEnumerateFunctions(Function** out, unsigned count, Module* module) {
    return answer([&] {
        require(out != nullptr);
        const std::shared_ptr<Module> m = ready().modules.get(module);
        require(count <= lockwarp_module_kernels(m->loaded));
        for (unsigned i = 0; i < count; ++i)
            out[i] = function_of(m, lockwarp_module_kernel_name(m->loaded, i));
    });
}

Result cuModuleGetGlobal_v2(Address* address, size_t* bytes, Module* module, const char* name) {
    return answer([&] {
        const std::shared_ptr<Module> m = ready().modules.get(module);
        const StandIn stand_in(*m);
        current();
        require(name != nullptr && (address != nullptr || bytes != nullptr));
        lockwarp_variable v{};
        v.struct_size = sizeof v;
        require(lockwarp_module_variable(m->loaded, name, &v, nullptr) == LOCKWARP_OK, not_found);
        if (address != nullptr) *address = reinterpret_cast<Address>(v.bytes);
        if (bytes != nullptr) *bytes = v.size;
    });
}

}  // extern "C"
