// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps, and what changes tensor maps (tensor.cpp).
#pragma once

#include "emu/exec/context.hpp"
#include "emu/isa/tensor_map.hpp"

namespace lockwarp::exec {

// Whether the copy engine reduces elements of a type so.
bool reduces(isa::TensorType type, const isa::Modifiers& m);

Handler tensor_load_handler(const Operation& o);
Handler tensor_store_handler(const Operation& o);
Handler tensor_reduce_handler(const Operation& o);
Handler tensormap_replace_handler(const Operation& o);
Handler tensormap_copy_handler(const Operation& o);

}  // namespace lockwarp::exec
