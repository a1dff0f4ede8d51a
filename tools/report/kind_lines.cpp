// SPDX-License-Identifier: Apache-2.0
#include "tools/report/kind_lines.hpp"

#include <algorithm>

namespace lockwarp::tools {

namespace {

// A name cut at the types of A and B.
struct Parts {
    std::string before, a, b, after;
};

// `before` is empty where a name has no .kind.
Parts parts_of(const std::string& name) {
    const size_t kind = name.find(".kind::");
    if (kind == std::string::npos) return {};
    size_t at = std::string::npos;  // behind D's type
    for (const std::string_view d : {".f32.", ".f16."})
        if (const size_t found = name.find(d, kind); found != std::string::npos)
            at = std::min(at, found + d.size());
    if (at == std::string::npos) return {};
    const size_t first = name.find('.', at);
    const size_t second = first == std::string::npos ? first : name.find('.', first + 1);
    if (second == std::string::npos) return {};
    return {name.substr(0, at), name.substr(at, first - at),
            name.substr(first + 1, second - first - 1), name.substr(second)};
}

struct Group {
    Parts parts;
    std::string words;
    std::vector<std::string> a, b;  // the types, each once
    size_t pairs = 0;
};

void add(std::vector<std::string>& types, const std::string& type) {
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
}

std::string joined_types(const std::vector<std::string>& types) {
    std::string text;
    for (const std::string& t : types) text += (text.empty() ? "" : "/") + t;
    return text;
}

constexpr size_t max_named = 2;  // types in a name

}  // namespace

std::vector<VariantLine> joined(const std::vector<VariantLine>& lines) {
    std::vector<Group> groups;
    for (const VariantLine& l : lines) {
        const Parts p = parts_of(l.name);
        const auto same = std::ranges::find_if(groups, [&](const Group& g) {
            return !p.before.empty() && g.parts.before == p.before && g.parts.after == p.after &&
                   g.words == l.words;
        });
        const bool is_new = same == groups.end();
        Group& g = is_new ? groups.emplace_back() : *same;
        if (is_new) {
            g.parts = p;
            g.words = l.words;
            if (p.before.empty()) g.parts.before = l.name;
        }
        add(g.a, p.a);
        add(g.b, p.b);
        ++g.pairs;
    }
    std::vector<VariantLine> out;
    for (const Group& g : groups) {
        std::string types;
        if (g.pairs == 1)
            types = g.parts.a + (g.parts.a.empty() ? "" : ".") + g.parts.b;
        else if (g.pairs == g.a.size() * g.b.size() && g.a.size() <= max_named &&
                 g.b.size() <= max_named)
            types = joined_types(g.a) + "." + joined_types(g.b);
        else
            types = "A.B";
        out.push_back({g.parts.before + types + g.parts.after, g.words});
    }
    return out;
}

}  // namespace lockwarp::tools
