// SPDX-License-Identifier: Apache-2.0
#include "cuda/beside/unfused.hpp"

#include <map>
#include <mutex>

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

// The kernel of the changed text in the current context; nullptr: there is none. It stays loaded.
Module* changed_module(const Kernel& k) {
    static std::mutex* const mutex = new std::mutex;
    static auto* const loaded = new std::map<std::pair<std::shared_ptr<Image>, void*>, Module*>;
    static const auto load = behind_as<Result(Module**, const void*)>("cuModuleLoadData");
    static const auto current = behind_as<Result(void**)>("cuCtxGetCurrent");
    void* context = nullptr;
    if (load == nullptr || current == nullptr || current(&context) != success) return nullptr;
    const std::lock_guard lock(*mutex);
    const auto [at, is_new] = loaded->try_emplace({k.image, context}, nullptr);
    if (!is_new) return at->second;
    const std::string text = with_rounding(k.image->text);
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

bool run_changed(const Again& a, Module* module, Snapshot& out) {
    Function* const kernel = changed_kernel(a, module);
    return kernel != nullptr && find_variables(module, out) && run(a, kernel, out);
}

bool gives_the_same_again(const Again& a) {
    Snapshot again = a.before;
    return run(a, a.function, again) && again.same(a.after);
}

}  // namespace

std::optional<Snapshot> launch_unfused(const Again& again) {
    const std::string code = code_of(again.kernel.image->text, again.kernel.name);
    if (with_rounding(code).empty()) return std::nullopt;
    for (const std::string_view seen_twice : {"vprintf", "malloc"})
        if (code.find(seen_twice) != std::string::npos) return std::nullopt;
    Module* const module = changed_module(again.kernel);
    if (module == nullptr) return std::nullopt;
    std::optional<Snapshot> out = again.before;
    if (!gives_the_same_again(again) || !run_changed(again, module, *out)) out.reset();
    put_back(again.after);
    return out;
}

}  // namespace lockwarp::beside
