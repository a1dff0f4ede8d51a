// SPDX-License-Identifier: Apache-2.0
#include "cuda/merge.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"

namespace lockwarp::cuda {

namespace {

using ptx::Linking;

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

// The text with other names; strings and comments as they are.
std::string renamed(const std::string& text, const std::map<std::string, std::string>& names) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        size_t end = i + 1;
        if (text[i] == '"') {
            end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
        } else if (text.compare(i, 2, "//") == 0) {
            end = std::min(text.find('\n', i), text.size());
        } else if (text.compare(i, 2, "/*") == 0) {
            end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
        } else if (is_name_char(text[i])) {
            while (end < text.size() && is_name_char(text[end])) ++end;
            const auto found = names.find(text.substr(i, end - i));
            if (found != names.end()) {
                out += found->second;
                i = end;
                continue;
            }
        }
        out.append(text, i, end - i);
        i = end;
    }
    return out;
}

struct Symbol {
    Linking linking;
    bool defined;
};

template <class Visit>
void each_symbol(const ptx::Module& m, Visit visit) {
    for (const auto& item : m.items) {
        if (const auto* const v = std::get_if<ptx::Variable>(&item))
            visit(v->name, Symbol{v->linking, v->linking != Linking::extern_});
        else if (const auto* const f = std::get_if<ptx::Function>(&item))
            visit(f->name, Symbol{f->linking, f->has_body});
    }
}

// Seen by its own module alone. A declaration may come before a definition.
std::set<std::string> local_names(const ptx::Module& m) {
    std::set<std::string> out, others;
    each_symbol(m, [&](const std::string& name, const Symbol& s) {
        (s.linking == Linking::none ? out : others).insert(name);
    });
    for (const std::string& name : others) out.erase(name);
    return out;
}

bool parse(const std::string& text, ptx::Module& out, std::string& wrong) {
    ptx::Parsed parsed = ptx::parse(text);
    for (const ptx::Diagnostic& d : parsed.diagnostics)
        wrong += (wrong.empty() ? "PTX:" : "\nPTX:") + std::to_string(d.place.line) + ": " +
                 d.message + (d.hint.empty() ? "" : "; " + d.hint);
    out = std::move(parsed.module);
    return wrong.empty();
}

// Modules in which no local name is also another's.
std::vector<ptx::Module> parsed_apart(std::span<const std::string> texts, std::string& wrong) {
    std::vector<ptx::Module> out(texts.size());
    std::set<std::string> taken;
    for (size_t i = 0; i < texts.size(); ++i) {
        if (!parse(texts[i], out[i], wrong)) return {};
        std::map<std::string, std::string> names;
        for (const std::string& name : local_names(out[i]))
            if (taken.contains(name)) names[name] = name + "_of_" + std::to_string(i);
        if (!names.empty() && !parse(renamed(texts[i], names), out[i], wrong)) return {};
        each_symbol(out[i], [&](const std::string& name, const Symbol&) { taken.insert(name); });
    }
    return out;
}

// Numbers of files begin behind those of the modules before; places of inlined calls go.
struct Files {
    uint64_t shift = 0, highest = 0;

    void change(ptx::Directive& d) {
        if (d.operands.empty() || (d.name != ".file" && d.name != ".loc")) return;
        d.operands[0].bits += shift;
        highest = std::max(highest, d.operands[0].bits);
        if (d.name == ".loc") d.operands.resize(std::min<size_t>(d.operands.size(), 3));
    }
    void change(ptx::Block& block) {
        for (ptx::Statement& s : block.body)
            if (auto* const d = std::get_if<ptx::Directive>(&s.node))
                change(*d);
            else if (auto* const b = std::get_if<ptx::Block>(&s.node))
                change(*b);
    }
};

class Linker {
  public:
    void add(ptx::Module& m);
    Merged finish();

  private:
    void add(ptx::Variable& v);
    void add(ptx::Function& f);
    // Which of two of one name stays; an error where both are whole.
    bool replaces(const std::string& name, Linking first, bool first_defined, Linking second,
                  bool second_defined);

    ptx::Module all_;
    std::vector<ptx::Directive> directives_, last_;
    std::vector<ptx::Variable> variables_;
    std::vector<ptx::Function> functions_;
    std::map<std::string, size_t> variable_at_, function_at_;
    Files files_;
    std::string wrong_;
};

bool Linker::replaces(const std::string& name, Linking first, bool first_defined, Linking second,
                      bool second_defined) {
    if (!second_defined) return false;
    if (!first_defined) return true;
    const auto yields = [](Linking l) { return l == Linking::weak || l == Linking::common; };
    if (!yields(first) && !yields(second) && wrong_.empty())
        wrong_ = "'" + name + "' is defined in two modules";
    return yields(first) && !yields(second);
}

void Linker::add(ptx::Variable& v) {
    const auto [at, is_new] = variable_at_.emplace(v.name, variables_.size());
    if (is_new) {
        variables_.push_back(std::move(v));
        return;
    }
    ptx::Variable& first = variables_[at->second];
    if (first.space != v.space && wrong_.empty())
        wrong_ = "'" + v.name + "' lies in another state space in another module";
    if (replaces(v.name, first.linking, first.linking != Linking::extern_, v.linking,
                 v.linking != Linking::extern_)) {
        // Its initial value may name what stands behind the first, which stays as its declaration;
        // "x" there and "x[1]" here is one variable.
        first = v;
        first.linking = Linking::extern_;
        first.initializer = {};
        at->second = variables_.size();
        variables_.push_back(std::move(v));
    } else if (first.linking == Linking::extern_) {
        first.alignment = std::max(first.alignment, v.alignment);
    }
}

void Linker::add(ptx::Function& f) {
    files_.change(f.body);
    const auto [at, is_new] = function_at_.emplace(f.name, functions_.size());
    if (is_new) {
        functions_.push_back(std::move(f));
        return;
    }
    ptx::Function& first = functions_[at->second];
    if (replaces(f.name, first.linking, first.has_body, f.linking, f.has_body))
        first = std::move(f);
}

void Linker::add(ptx::Module& m) {
    const auto version = [](const ptx::Module& x) {
        return x.version_major * 100 + x.version_minor;
    };
    if (version(m) > version(all_)) {
        all_.version_major = m.version_major;
        all_.version_minor = m.version_minor;
    }
    // "sm_90" is higher than "sm_80": of two as long the later in the alphabet.
    const auto higher = [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() > b.size() : a > b;
    };
    if (!m.target.empty() && (all_.target.empty() || higher(m.target[0].text, all_.target[0].text)))
        all_.target = {m.target[0]};
    files_.shift = files_.highest;
    for (auto& item : m.items) {
        if (auto* const v = std::get_if<ptx::Variable>(&item)) {
            add(*v);
        } else if (auto* const f = std::get_if<ptx::Function>(&item)) {
            add(*f);
        } else {
            auto& d = std::get<ptx::Directive>(item);
            if (d.name == ".section") continue;
            files_.change(d);
            (d.name == ".alias" ? last_ : directives_).push_back(std::move(d));
        }
    }
}

// Variables, then each function's declaration, then what they do: nothing is used before it is
// declared.
Merged Linker::finish() {
    if (!wrong_.empty()) return {{}, std::move(wrong_)};
    for (const auto& [name, at] : variable_at_)
        if (const ptx::Variable& v = variables_[at];
            v.linking == Linking::extern_ && v.space != ptx::Space::shared)
            return {{}, "Unresolved extern variable '" + name + "'", true};
    for (ptx::Directive& d : directives_) all_.items.emplace_back(std::move(d));
    for (ptx::Variable& v : variables_) all_.items.emplace_back(std::move(v));
    for (const ptx::Function& f : functions_) {
        if (f.is_entry) continue;
        ptx::Function declared = f;
        declared.has_body = false;
        declared.body = {};
        all_.items.emplace_back(std::move(declared));
    }
    for (ptx::Function& f : functions_)
        if (f.has_body) all_.items.emplace_back(std::move(f));
    for (ptx::Directive& d : last_) all_.items.emplace_back(std::move(d));
    return {ptx::print(all_), {}};
}

}  // namespace

Merged merge(std::span<const std::string> texts) {
    std::string wrong;
    std::vector<ptx::Module> modules = parsed_apart(texts, wrong);
    if (!wrong.empty()) return {{}, std::move(wrong)};
    Linker linker;
    for (ptx::Module& m : modules) linker.add(m);
    Merged out = linker.finish();
    if (out.wrong.empty() && texts.size() == 1) out.text = texts[0];
    return out;
}

Image merge_images(std::vector<Image> images) {
    if (images.size() == 1) return std::move(images.front());
    std::vector<std::string> texts;
    Image out;
    for (Image& image : images) {
        if (!image.texts.empty()) {
            texts.push_back(std::move(image.texts.front()));
        } else if (out.wrong.empty()) {
            out.wrong = std::move(image.wrong);
            out.result = image.result;
        }
    }
    if (texts.empty()) return out;
    Merged merged = merge(texts);
    if (!merged.wrong.empty()) return {{}, std::move(merged.wrong), invalid_ptx};
    return {{std::move(merged.text)}, {}, success};
}

}  // namespace lockwarp::cuda
