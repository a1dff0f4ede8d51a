// SPDX-License-Identifier: Apache-2.0
#include "cuda/family.hpp"

#include "cuda/order.hpp"

#include <algorithm>

namespace lockwarp::cuda {

std::shared_ptr<Module> Family::on(DeviceId device, std::string* log) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Module>& module = modules_.at(static_cast<size_t>(device));
    if (module == nullptr) {
        module = load_image(nullptr, device, image_, each_when_needed_, log);
        module->family = weak_from_this();
    }
    return module;
}

std::shared_ptr<Module> Family::any() const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(modules_, [](const auto& m) { return m != nullptr; });
    require(found != modules_.end(), invalid_handle);
    return *found;
}

bool Family::has(const Module* module) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(modules_, [&](const auto& m) { return m.get() == module; });
}

void Family::unload(DeviceId device) {
    finish_all();
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Module>& module = modules_.at(static_cast<size_t>(device));
    if (module != nullptr) cuda::unload(module);
    module.reset();
}

void Family::unload() {
    for (DeviceId d = 0; d < max_devices; ++d) unload(d);
}

DeviceId current_device() {
    const std::vector<std::shared_ptr<Context>>& stack = context_stack();
    return stack.empty() || stack.back() == nullptr ? 0 : stack.back()->device;
}

std::shared_ptr<Function> function_here(Function* handle) {
    Driver& d = ready();
    std::shared_ptr<Function> f = d.functions.get(handle);
    if (d.devices.size() == 1) return f;
    const std::shared_ptr<Module> module = f->module.lock();
    const DeviceId device = current_device();
    if (module == nullptr || module->device == device) return f;
    const std::shared_ptr<Family> family = module->family.lock();
    if (family == nullptr) return f;
    return d.functions.get(function_of(family->on(device), f->name.c_str()));
}

}  // namespace lockwarp::cuda
