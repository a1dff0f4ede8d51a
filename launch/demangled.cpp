// SPDX-License-Identifier: Apache-2.0
#include "launch/demangled.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace lockwarp::launch {

std::string demangled(const std::string& name) {
    if (!name.starts_with("_Z")) return name;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::string(text.get()) : name;
}

}  // namespace lockwarp::launch
