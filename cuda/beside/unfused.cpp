// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/unfused.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include "cuda/beside/forward.hpp"
#include "cuda/beside/rounding.hpp"

namespace lockwarp::beside {

using cuda::success;

namespace {

bool copy_in(Address to, const std::vector<uint8_t>& bytes, uint64_t size) {
    static const auto copy = behind_as<Result(Address, const void*, size_t)>("cuMemcpyHtoD_v2");
    return copy != nullptr && copy(to, bytes.data(), size) == success;
}

bool put_back(const Snapshot& s) {
    bool good = true;
    for (const auto& [base, r] : s.ranges) good = copy_in(base, r.bytes, r.size) && good;
    return good;
}

enum class Change { silent, unfused, silent_and_unfused };

std::string changed(const std::string& text, Change change) {
    if (change == Change::unfused) return with_rounding(text);
    const std::string silent = without_printing(text);
    return change == Change::silent ? silent : with_rounding(silent);
}

// The module of the changed text in the current context; nullptr: there is none. It stays loaded.
Module* changed_module(const Kernel& k, Change change) {
    static std::mutex* const mutex = new std::mutex;
    static auto* const loaded =
        new std::map<std::tuple<std::shared_ptr<Image>, void*, Change>, Module*>;
    static const auto load = behind_as<Result(Module**, const void*)>("cuModuleLoadData");
    static const auto current = behind_as<Result(void**)>("cuCtxGetCurrent");
    void* context = nullptr;
    if (load == nullptr || current == nullptr || current(&context) != success) return nullptr;
    const std::lock_guard lock(*mutex);
    const auto [at, is_new] = loaded->try_emplace({k.image, context, change}, nullptr);
    if (!is_new) return at->second;
    const std::string text = changed(k.image->text, change);
    if (text.empty() || load(&at->second, text.c_str()) != success) at->second = nullptr;
    return at->second;
}

Function* changed_kernel(const Again& a, Module* module) {
    static const auto get =
        behind_as<Result(Function**, Module*, const char*)>("cuModuleGetFunction");
    static const auto set = behind_as<Result(Function*, int, int)>("cuFuncSetAttribute");
    constexpr int max_dynamic_shared = 8, non_portable_cluster = 14;  // CUfunction_attribute
    Function* out = nullptr;
    if (get == nullptr || set == nullptr || get(&out, module, a.kernel.name.c_str()) != success ||
        set(out, max_dynamic_shared, static_cast<int>(a.dynamic_shared)) != success ||
        (a.non_portable_cluster && set(out, non_portable_cluster, 1) != success))
        return nullptr;
    return out;
}

// Its variables: other memory than those of the program's module.
bool find_variables(Module* module, Snapshot& s) {
    static const auto get =
        behind_as<Result(Address*, size_t*, Module*, const char*)>("cuModuleGetGlobal_v2");
    for (Variable& v : s.variables) {
        size_t size = 0;
        if (get == nullptr || get(&v.address, &size, module, v.of.name) != success ||
            size != v.bytes.size() || !copy_in(v.address, v.bytes, size))
            return false;
    }
    return true;
}

bool run(const Again& a, Function* kernel, Snapshot& memory) {
    static const auto synchronize = behind_as<Result()>("cuCtxSynchronize");
    return put_back(memory) && a.launch(kernel) == success && synchronize() == success &&
           take_again(memory);
}

bool run_changed(const Again& a, Change change, Snapshot& out) {
    Module* const module = changed_module(a.kernel, change);
    if (module == nullptr) return false;
    Function* const kernel = changed_kernel(a, module);
    return kernel != nullptr && find_variables(module, out) && run(a, kernel, out);
}

bool gives_the_same_again(const Again& a, bool prints) {
    Snapshot again = a.before;
    return (prints ? run_changed(a, Change::silent, again) : run(a, a.function, again)) &&
           again.same(a.after);
}

}  // namespace

std::optional<Snapshot> launch_unfused(const Again& again) {
    const std::string code = code_of(again.kernel.image->text, again.kernel.name);
    // A block that is allocated once more would be seen.
    if (with_rounding(code).empty() || code.find("malloc") != std::string::npos)
        return std::nullopt;
    const bool prints = !without_printing(code).empty();
    std::optional<Snapshot> out = again.before;
    if (!gives_the_same_again(again, prints) ||
        !run_changed(again, prints ? Change::silent_and_unfused : Change::unfused, *out))
        out.reset();
    put_back(again.after);
    return out;
}

}  // namespace lockwarp::beside
