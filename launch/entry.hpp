// SPDX-License-Identifier: Apache-2.0
// Kernels by the names that people write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/tree.hpp"
#include "launch/demangled.hpp"
#include "launch/result.hpp"

namespace lockwarp::launch {

// "scale" of "void ns::scale<float>(float*)".
std::string base_name(std::string_view demangled);

// The module's kernels that have a body.
std::vector<const ptx::Function*> entries(const ptx::Module& module);

// The name in the module of the kernel that `text` means: its own name, its function's, or any part
// of its demangled name that no other kernel has. Empty text: the only kernel. An error lists the
// candidates.
[[nodiscard]] Result<std::string> find_entry(const ptx::Module& module, const std::string& text);

}  // namespace lockwarp::launch
