// SPDX-License-Identifier: Apache-2.0
// The C face in tests: handles that destroy themselves, and what calls gave.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockwarp.h"

namespace lockwarp::engine {

struct Destroy {
    void operator()(lockwarp_context* p) const { lockwarp_context_destroy(p); }
    void operator()(lockwarp_module* p) const { lockwarp_module_destroy(p); }
    void operator()(lockwarp_result* p) const { lockwarp_result_destroy(p); }
    void operator()(lockwarp_error* p) const { lockwarp_error_destroy(p); }
    void operator()(lockwarp_stop* p) const { lockwarp_stop_destroy(p); }
};
using Context = std::unique_ptr<lockwarp_context, Destroy>;
using Module = std::unique_ptr<lockwarp_module, Destroy>;
using RunResult = std::unique_ptr<lockwarp_result, Destroy>;
using Error = std::unique_ptr<lockwarp_error, Destroy>;
using Stop = std::unique_ptr<lockwarp_stop, Destroy>;

// What a call that may fail gave.
template <class T>
struct Given {
    lockwarp_status status = LOCKWARP_INTERNAL;
    T value{};
    std::string message;
    std::vector<lockwarp_diagnostic> diagnostics;  // their texts live with `error`
    Error error;
};

template <class T>
void keep_error(Given<T>& given, lockwarp_error* error) {
    given.error.reset(error);
    given.message = lockwarp_error_message(error);
    for (size_t i = 0; i < lockwarp_error_diagnostics(error); ++i) {
        lockwarp_diagnostic d{};
        d.struct_size = sizeof d;
        lockwarp_error_diagnostic(error, i, &d);
        given.diagnostics.push_back(d);
    }
}

inline Context make_context(const char* arch = nullptr) {
    lockwarp_context_options options{};
    options.struct_size = sizeof options;
    options.arch = arch;
    lockwarp_context* out = nullptr;
    lockwarp_context_create(&options, &out, nullptr);
    return Context(out);
}

inline Given<Module> load(const Context& context, std::string_view text,
                          const char* arch = nullptr) {
    lockwarp_module_options options{};
    options.struct_size = sizeof options;
    options.arch = arch;
    options.name = "test.ptx";
    Given<Module> out;
    lockwarp_module* module = nullptr;
    lockwarp_error* error = nullptr;
    out.status =
        lockwarp_module_load(context.get(), text.data(), text.size(), &options, &module, &error);
    out.value.reset(module);
    keep_error(out, error);
    return out;
}

inline Given<const lockwarp_kernel*> kernel_of(const Module& module, const char* name = nullptr) {
    Given<const lockwarp_kernel*> out;
    lockwarp_error* error = nullptr;
    out.status = lockwarp_module_kernel(module.get(), name, &out.value, &error);
    keep_error(out, error);
    return out;
}

// A launch's options with parameters of 8 bytes each.
struct Options : lockwarp_launch_options {
    explicit Options(std::vector<uint64_t> values = {})
        : lockwarp_launch_options{}, parameter_values(std::move(values)) {
        struct_size = sizeof(lockwarp_launch_options);
        block[0] = 32;
        parameters = parameter_values.data();
        parameter_bytes = 8 * parameter_values.size();
    }
    Options(const Options&) = delete;
    std::vector<uint64_t> parameter_values;
};

inline Given<RunResult> run(const lockwarp_kernel* kernel, const lockwarp_launch_options& options) {
    Given<RunResult> out;
    lockwarp_result* result = nullptr;
    lockwarp_error* error = nullptr;
    out.status = lockwarp_launch(kernel, &options, &result, &error);
    out.value.reset(result);
    keep_error(out, error);
    return out;
}

inline lockwarp_trap trap_of(const RunResult& result) {
    lockwarp_trap out{};
    out.struct_size = sizeof out;
    lockwarp_result_trap(result.get(), &out);
    return out;
}

inline uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

inline lockwarp_status add(const Context& context, void* bytes, uint64_t size, const char* name) {
    const lockwarp_range range{bytes, 0, size, name};
    return lockwarp_register(context.get(), &range, nullptr);
}

// "BODY" as the entry "kernel" with the 64-bit parameters p0, p1, ... in %p0, %p1, ...
inline std::string kernel_text(std::string_view body, int parameters = 1,
                               std::string_view variables = "") {
    std::string out = ".version 7.0\n.target sm_80\n.address_size 64\n";
    out.append(variables).append("\n.visible .entry kernel(");
    for (int i = 0; i < parameters; ++i)
        out += (i == 0 ? "" : ", ") + (".param .u64 p" + std::to_string(i));
    out += ")\n{\n.reg .b64 %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .pred %q<4>;\n";
    for (int i = 0; i < parameters; ++i)
        out += "ld.param.u64 %p" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
    return out.append(body).append("\nret;\n}\n");
}

}  // namespace lockwarp::engine
