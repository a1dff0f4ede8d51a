// SPDX-License-Identifier: Apache-2.0
// The option arrays of cuModuleLoadDataEx, cuLinkCreate and cuLibraryLoadData. What concerns the
// making of machine code changes nothing here.
#pragma once

#include <algorithm>
#include <cstring>

#include "cuda/state.hpp"

namespace lockwarp::cuda {

class JitOptions {
  public:
    JitOptions() = default;
    JitOptions(unsigned count, const int* keys, void** values)
        : count_(count), keys_(keys), values_(values) {
        require(count == 0 || (keys != nullptr && values != nullptr));
        info_ = buffer(info_log, info_size);
        error_ = buffer(error_log, error_size);
    }

    bool wants_errors() const { return error_.bytes != nullptr && error_.size != 0; }
    // Writes the texts into the caller's buffers, and how long they are into the options.
    void give(const std::string& errors) const {
        write(error_, error_size, errors);
        write(info_, info_size, {});
    }

  private:
    static constexpr int info_log = 3, info_size = 4, error_log = 5, error_size = 6;
    struct Buffer {
        char* bytes = nullptr;
        size_t size = 0;
    };
    void** value(int key) const {
        for (unsigned i = 0; i < count_; ++i)
            if (keys_[i] == key) return values_ + i;
        return nullptr;
    }
    Buffer buffer(int log, int size) const {
        void** const bytes = value(log);
        void** const bytes_size = value(size);
        if (bytes == nullptr || bytes_size == nullptr) return {};
        return {static_cast<char*>(*bytes),
                static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*bytes_size))};
    }
    void write(const Buffer& to, int size_key, const std::string& text) const {
        if (to.bytes == nullptr || to.size == 0) return;
        const size_t n = std::min(text.size(), to.size - 1);
        std::memcpy(to.bytes, text.data(), n);
        to.bytes[n] = 0;
        *value(size_key) = reinterpret_cast<void*>(static_cast<uintptr_t>(n == 0 ? 0 : n + 1));
    }

    unsigned count_ = 0;
    const int* keys_ = nullptr;
    void** values_ = nullptr;
    Buffer info_, error_;
};

// What `load` gives, which writes what is wrong into the log that it is given; nullptr: the caller
// has none, and it is said.
template <class Load>
std::shared_ptr<Module> with_log(const JitOptions& options, Load load) {
    std::string log;
    try {
        std::shared_ptr<Module> module = load(options.wants_errors() ? &log : nullptr);
        options.give({});
        return module;
    } catch (const Failure&) {
        options.give(log);
        throw;
    }
}

// As load_module, with the errors in the caller's log where it has one.
inline std::shared_ptr<Module> load_with_log(const std::shared_ptr<Context>& context,
                                             const void* image, const JitOptions& options) {
    return with_log(options, [&](std::string* log) { return load_module(context, image, log); });
}

}  // namespace lockwarp::cuda
