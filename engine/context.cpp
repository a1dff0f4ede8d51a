// SPDX-License-Identifier: Apache-2.0
// Contexts, architectures, memory, stops.
#include <new>

#include "emu/isa/nearest.hpp"
#include "engine/error.hpp"
#include "engine/handles.hpp"
#include "engine/structs.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace lockwarp::engine {

isa::Arch arch_of(const char* name) {
    const std::string_view wanted = name;
    if (const std::optional<isa::Arch> found = isa::arch_named(wanted)) return *found;
    std::vector<std::string_view> names;
    std::string list;
    for (const isa::ArchRow& row : isa::arch_rows) {
        names.push_back(row.name);
        list.append(list.empty() ? "" : ", ").append(row.name);
    }
    fail(LOCKWARP_NOT_FOUND, "no architecture '" + std::string(wanted) + "'; there are " + list);
}

}  // namespace lockwarp::engine

size_t lockwarp_arch_count(void) { return isa::arch_rows.size(); }

lockwarp_status lockwarp_arch_at(size_t index, lockwarp_arch* out) {
    if (out == nullptr || out->struct_size == 0) return LOCKWARP_INVALID_ARGUMENT;
    if (index >= isa::arch_rows.size()) return LOCKWARP_NOT_FOUND;
    const isa::ArchRow& row = isa::arch_rows[index];  // its texts are literals
    give(out, {sizeof *out, row.name.data(), row.product.data(), row.number, row.shared_default,
               row.shared_max, 0});
    return LOCKWARP_OK;
}

lockwarp_status lockwarp_context_create(const lockwarp_context_options* options,
                                        lockwarp_context** out, lockwarp_error** error) {
    return guarded(error, [&] {
        if (out == nullptr || !is_known(options))
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_context_create: out or options");
        *out = nullptr;
        const lockwarp_context_options given = taken(options);
        auto state = std::make_shared<ContextState>();
        if (given.arch != nullptr) state->arch = arch_of(given.arch);
        *out = new lockwarp_context{std::move(state)};
    });
}

void lockwarp_context_destroy(lockwarp_context* context) { delete context; }

lockwarp_status lockwarp_register(lockwarp_context* context, const lockwarp_range* range,
                                  lockwarp_error** error) {
    return guarded(error, [&] {
        if (context == nullptr || range == nullptr)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_register: no context or range");
        context->state->memory.add(checked(*range));
    });
}

lockwarp_status lockwarp_unregister(lockwarp_context* context, const void* bytes, uint64_t size) {
    return guarded(nullptr, [&] {
        if (context == nullptr) return LOCKWARP_INVALID_ARGUMENT;
        return context->state->memory.remove(bytes, size) ? LOCKWARP_OK : LOCKWARP_NOT_FOUND;
    });
}

lockwarp_status lockwarp_allocate(lockwarp_context* context, uint64_t size, const char* name,
                                  void** out, lockwarp_error** error) {
    return guarded(error, [&] {
        if (context == nullptr || out == nullptr)
            fail(LOCKWARP_INVALID_ARGUMENT, "lockwarp_allocate: no context or out");
        *out = nullptr;
        *out = context->state->memory.allocate(size, name != nullptr ? name : "");
    });
}

lockwarp_status lockwarp_free(lockwarp_context* context, void* bytes) {
    return guarded(nullptr, [&] {
        if (context == nullptr) return LOCKWARP_INVALID_ARGUMENT;
        return context->state->memory.free(bytes) ? LOCKWARP_OK : LOCKWARP_NOT_FOUND;
    });
}

lockwarp_status lockwarp_stop_create(lockwarp_stop** out) {
    if (out == nullptr) return LOCKWARP_INVALID_ARGUMENT;
    *out = new (std::nothrow) lockwarp_stop;
    return *out != nullptr ? LOCKWARP_OK : LOCKWARP_OUT_OF_MEMORY;
}

void lockwarp_stop_request(lockwarp_stop* stop) {
    static_assert(std::atomic<bool>::is_always_lock_free, "for signal handlers");
    if (stop != nullptr) stop->wanted = true;
}

void lockwarp_stop_reset(lockwarp_stop* stop) {
    if (stop != nullptr) stop->wanted = false;
}

void lockwarp_stop_destroy(lockwarp_stop* stop) { delete stop; }
