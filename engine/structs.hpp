// SPDX-License-Identifier: Apache-2.0
// Versioned structures of the C face: they begin with struct_size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lockwarp::engine {

// What the caller gave; members that its version does not have are 0. nullptr: all are.
template <class T>
T taken(const T* in) {
    T out{};
    if (in != nullptr) std::memcpy(&out, in, std::min(in->struct_size, sizeof out));
    out.struct_size = sizeof out;
    return out;
}

// Whether the caller's structure has nothing that this version does not know.
template <class T>
bool is_known(const T* in) {
    if (in == nullptr || in->struct_size <= sizeof(T)) return in == nullptr || in->struct_size != 0;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(in);
    return std::all_of(bytes + sizeof(T), bytes + in->struct_size,
                       [](unsigned char b) { return b == 0; });
}

// Members that the caller's version does not have are left out; those that this one does not have
// become 0.
template <class T>
void give(T* out, const T& value) {
    const size_t size = out->struct_size;
    std::memset(out, 0, size);
    std::memcpy(out, &value, std::min(size, sizeof value));
    out->struct_size = size;
}

}  // namespace lockwarp::engine
