// SPDX-License-Identifier: Apache-2.0
#include "cuda/names.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace lockwarp::cuda {

namespace {

constexpr size_t longest = 64;

// Where the parameters of a function begin: a parenthesis within no template argument, other than
// that of "(anonymous namespace)".
size_t parameters_of(std::string_view name) {
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth == 0 && !name.substr(i).starts_with("(anonymous")) return i;
    }
    return name.size();
}

}  // namespace

std::string plain(const std::string& mangled) {
    int status = 0;
    char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string out = text != nullptr ? text : mangled;
    std::free(text);
    return out;
}

std::string brief(const std::string& mangled) {
    std::string out = plain(mangled);
    if (out.size() <= longest) return out;
    if (out.starts_with("void ")) out.erase(0, 5);
    out.erase(parameters_of(out));
    return out.size() <= longest ? out : out.substr(0, longest - 3) + "...";
}

}  // namespace lockwarp::cuda
