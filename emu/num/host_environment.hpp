// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace lockwarp::num {

// The host's floating-point environment as a program starts with it, which the fast paths want, on
// this thread as long as this lives. The caller's may be another one: -ffast-math makes zeros of
// subnormals in the whole program.
class HostEnvironment {
  public:
    HostEnvironment() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~HostEnvironment() { std::fesetenv(&before_); }
    HostEnvironment(const HostEnvironment&) = delete;
    HostEnvironment& operator=(const HostEnvironment&) = delete;

  private:
    std::fenv_t before_{};
};

}  // namespace lockwarp::num
