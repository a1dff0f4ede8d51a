// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps, and what changes tensor maps (tensor.cpp).
#pragma once

#include "emu/exec/context.hpp"

namespace lockwarp::exec {

Handler tensor_load_handler(const Operation& o);
Handler tensor_store_handler(const Operation& o);
Handler tensor_reduce_handler(const Operation& o);
Handler tensormap_replace_handler(const Operation& o);
Handler tensormap_copy_handler(const Operation& o);

}  // namespace lockwarp::exec
