// SPDX-License-Identifier: Apache-2.0
#include "launch/entry.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

#include "launch/json.hpp"
#include "launch/nearest.hpp"

namespace lockwarp::launch {

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `part` stands in `text` with no letter or digit directly before or behind it.
bool has_word(std::string_view text, std::string_view part) {
    for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        const size_t end = at + part.size();
        const bool begins = at == 0 || !is_letter(text[at - 1]) || !is_letter(part.front());
        const bool ends = end == text.size() || !is_letter(text[end]) || !is_letter(part.back());
        if (begins && ends) return true;
    }
    return false;
}

std::string list_of(const std::vector<const ptx::Function*>& kernels) {
    constexpr size_t max_listed = 20;
    std::string out;
    for (size_t i = 0; i < std::min(kernels.size(), max_listed); ++i)
        out += (i == 0 ? "" : "; ") + shown(demangled(kernels[i]->name));
    if (kernels.size() > max_listed)
        out += "; and " + std::to_string(kernels.size() - max_listed) + " more";
    return out;
}

}  // namespace

std::string base_name(std::string_view name) {
    std::string plain;
    int depth = 0;
    constexpr std::string_view anonymous = "(anonymous namespace)";
    for (size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (c == '<') ++depth;
        if (c == '(' && depth == 0 && !name.substr(i).starts_with(anonymous)) break;
        if (depth == 0) plain += c;
        if (c == '>' && depth > 0) --depth;
    }
    const size_t before = plain.find_last_of(" :");
    return before == std::string::npos ? plain : plain.substr(before + 1);
}

std::vector<const ptx::Function*> entries(const ptx::Module& module) {
    std::vector<const ptx::Function*> out;
    for (const auto& item : module.items)
        if (const auto* f = std::get_if<ptx::Function>(&item); f && f->is_entry && f->has_body)
            out.push_back(f);
    return out;
}

Result<std::string> find_entry(const ptx::Module& module, const std::string& text) {
    const std::vector<const ptx::Function*> all = entries(module);
    if (all.empty()) return failure("the module has no kernel");
    if (text.empty() && all.size() == 1) return all[0]->name;
    if (text.empty()) return failure("the module has several kernels: name one: " + list_of(all));
    const auto those = [&](const std::function<bool(const std::string&)>& fits) {
        std::vector<const ptx::Function*> out;
        for (const ptx::Function* f : all)
            if (fits(f->name)) out.push_back(f);
        return out;
    };
    std::vector<const ptx::Function*> most;
    for (const auto& found :
         {those([&](const std::string& n) { return n == text; }),
          those([&](const std::string& n) { return base_name(demangled(n)) == text; }),
          those([&](const std::string& n) { return has_word(demangled(n), text); }),
          those([&](const std::string& n) {
              return demangled(n).find(text) != std::string::npos ||
                     n.find(text) != std::string::npos;
          })}) {
        if (found.size() == 1) return found[0]->name;
        if (most.empty()) most = found;
    }
    if (!most.empty()) return failure("'" + shown(text) + "' may be " + list_of(most));
    std::vector<std::string> plain;
    for (const ptx::Function* f : all) plain.push_back(base_name(demangled(f->name)));
    const std::vector<std::string_view> names(plain.begin(), plain.end());
    return failure("the module has no kernel '" + shown(text) + "'; it has " + list_of(all) +
                   suggestion(text, names));
}

}  // namespace lockwarp::launch
