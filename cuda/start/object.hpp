// SPDX-License-Identifier: Apache-2.0
// What of CUDA's runtime is defined in a loaded program or library, by its file.
#pragma once

#include <link.h>

#include <cstddef>

namespace lockwarp::start {

struct Found {
    const char* symbol;  // a literal
    unsigned char* address;
};

struct Object {
    const char* path;
    bool stripped;  // it has kernels and a runtime whose functions have no names
    int toolkit;    // 12 or 13
    Found* functions;
    size_t count;
    unsigned char* text_begin;  // its executable segments
    unsigned char* text_end;
};

// false: there is nothing to replace, or it is one of Lockwarp's own.
bool read_object(const link_map* map, bool is_program, Object& out);
void free_object(Object& o);

}  // namespace lockwarp::start
