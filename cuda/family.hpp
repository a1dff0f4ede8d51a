// SPDX-License-Identifier: Apache-2.0
// Modules of one image that belong to no context: one for each device, loaded where it is first
// needed. A kernel of one of them stands for that of each device.
#pragma once

#include "cuda/image.hpp"
#include "cuda/state.hpp"

namespace lockwarp::cuda {

class Family : public std::enable_shared_from_this<Family> {
  public:
    // each_when_needed: as in load_image.
    Family(Image image, bool each_when_needed)
        : image_(std::move(image)), each_when_needed_(each_when_needed) {}
    // The device's module. A Failure where it cannot be loaded; what is wrong is in `log`, or said.
    std::shared_ptr<Module> on(DeviceId device, std::string* log = nullptr);
    // That of a device that has one.
    std::shared_ptr<Module> any() const;
    bool has(const Module* module) const;
    // Ends that of one device, or all; they are loaded anew when they are needed.
    void unload(DeviceId device);
    void unload();

  private:
    const Image image_;
    const bool each_when_needed_;
    mutable std::mutex mutex_;  // of what follows
    std::array<std::shared_ptr<Module>, max_devices> modules_;
};

// That of the thread's current context; 0 where it has none.
DeviceId current_device();
// What stands for the function on the current device.
std::shared_ptr<Function> function_here(Function* handle);

}  // namespace lockwarp::cuda
