// SPDX-License-Identifier: Apache-2.0
#include "engine/error.hpp"

#include <array>
#include <exception>
#include <new>

#include "engine/structs.hpp"
#include "lockwarp/version.hpp"

namespace lockwarp::engine {

namespace {

// Where there is no memory for an error there is this one.
const lockwarp_error out_of_memory{LOCKWARP_OUT_OF_MEMORY, "out of memory", {}};

std::string text_of(const std::string& name, const std::vector<ptx::Diagnostic>& diagnostics) {
    std::string out;
    for (const ptx::Diagnostic& d : diagnostics) {
        if (!out.empty()) out += '\n';
        out += name;
        if (d.place.line != 0)
            out += ":" + std::to_string(d.place.line) + ":" + std::to_string(d.place.column);
        out += ": " + d.message;
        if (!d.hint.empty()) out += " (" + d.hint + ")";
    }
    return out;
}

}  // namespace

void fail(lockwarp_status status, std::string message) {
    throw Failure{status, std::move(message)};
}

void fail(const std::string& name, std::vector<ptx::Diagnostic> diagnostics) {
    std::string text = text_of(name, diagnostics);
    throw Failure{LOCKWARP_BAD_PTX, std::move(text), std::move(diagnostics)};
}

lockwarp_status handled(lockwarp_error** error) noexcept {
    try {
        try {
            throw;
        } catch (Failure& f) {
            if (error != nullptr)
                *error =
                    new lockwarp_error{f.status, std::move(f.message), std::move(f.diagnostics)};
            return f.status;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& e) {
            put_error(error, LOCKWARP_INTERNAL, e.what());
        } catch (...) {
            put_error(error, LOCKWARP_INTERNAL, "an exception without a text");
        }
        return LOCKWARP_INTERNAL;
    } catch (...) {
        if (error != nullptr) *error = const_cast<lockwarp_error*>(&out_of_memory);
        return LOCKWARP_OUT_OF_MEMORY;
    }
}

void put_error(lockwarp_error** error, lockwarp_status status,
               const std::string& message) noexcept {
    if (error == nullptr) return;
    try {
        *error = new lockwarp_error{status, message, {}};
    } catch (...) {
        *error = const_cast<lockwarp_error*>(&out_of_memory);
    }
}

}  // namespace lockwarp::engine

using namespace lockwarp::engine;

uint32_t lockwarp_abi(void) { return LOCKWARP_ABI; }
const char* lockwarp_version(void) { return lockwarp::version.data(); }

const char* lockwarp_status_name(lockwarp_status status) {
    constexpr std::array names{
        "LOCKWARP_OK",       "LOCKWARP_INVALID_ARGUMENT", "LOCKWARP_OUT_OF_MEMORY",
        "LOCKWARP_BAD_PTX",  "LOCKWARP_NOT_FOUND",        "LOCKWARP_UNSUPPORTED",
        "LOCKWARP_REFUSED",  "LOCKWARP_TRAPPED",          "LOCKWARP_STOPPED",
        "LOCKWARP_INTERNAL",
    };
    static_assert(names.size() == LOCKWARP_INTERNAL + 1);
    const auto at = static_cast<unsigned>(status);
    return at < names.size() ? names[at] : "?";
}

lockwarp_status lockwarp_error_status(const lockwarp_error* error) {
    return error == nullptr ? LOCKWARP_OK : error->status;
}

const char* lockwarp_error_message(const lockwarp_error* error) {
    return error == nullptr ? "" : error->message.c_str();
}

size_t lockwarp_error_diagnostics(const lockwarp_error* error) {
    return error == nullptr ? 0 : error->diagnostics.size();
}

lockwarp_status lockwarp_error_diagnostic(const lockwarp_error* error, size_t index,
                                          lockwarp_diagnostic* out) {
    if (out == nullptr || out->struct_size == 0) return LOCKWARP_INVALID_ARGUMENT;
    if (index >= lockwarp_error_diagnostics(error)) return LOCKWARP_NOT_FOUND;
    const lockwarp::ptx::Diagnostic& d = error->diagnostics[index];
    give(out, {sizeof *out, d.place.line, d.place.column, d.place.length, d.not_executed,
               d.message.c_str(), d.hint.c_str()});
    return LOCKWARP_OK;
}

void lockwarp_error_destroy(lockwarp_error* error) {
    if (error != &out_of_memory) delete error;
}
