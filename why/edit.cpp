// SPDX-License-Identifier: Apache-2.0
#include "why/edit.hpp"

#include <algorithm>

#include "emu/isa/resolve.hpp"

namespace lockwarp::why {

namespace {

using Key = std::pair<uint32_t, uint32_t>;
Key key(ptx::Place p) { return {p.line, p.column}; }

template <class Visit>
void each_instruction(const ptx::Block& block, const Visit& visit) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node)) visit(*i);
        if (const auto* b = std::get_if<ptx::Block>(&s.node)) each_instruction(*b, visit);
    }
}

void change(ptx::Block& block, const std::map<Key, const Edit*>& edits) {
    std::vector<ptx::Statement> out;
    out.reserve(block.body.size());
    for (ptx::Statement& s : block.body) {
        if (auto* b = std::get_if<ptx::Block>(&s.node)) change(*b, edits);
        const auto* i = std::get_if<ptx::Instruction>(&s.node);
        const auto found = i == nullptr ? edits.end() : edits.find(key(i->place));
        if (found == edits.end()) {
            out.push_back(std::move(s));
            continue;
        }
        for (ptx::Instruction n : found->second->becomes) {
            n.place = i->place;
            out.push_back({std::move(n)});
        }
    }
    block.body = std::move(out);
}

}  // namespace

Text::Text(const ptx::Module& module, std::string entry) : entry_(std::move(entry)) {
    module_.version_major = module.version_major;
    module_.version_minor = module.version_minor;
    module_.version_place = module.version_place;
    module_.target = module.target;
    module_.address_size = module.address_size;
    for (const auto& item : module.items) {
        const auto* f = std::get_if<ptx::Function>(&item);
        const auto* d = std::get_if<ptx::Directive>(&item);
        const bool other_entry = f != nullptr && f->is_entry && f->name != entry_;
        if (other_entry || (d != nullptr && d->name == ".section")) continue;
        module_.items.push_back(item);
    }
    list();
}

void Text::list() {
    for (const auto& item : module_.items)
        if (const auto* f = std::get_if<ptx::Function>(&item))
            each_instruction(f->body, [&](const ptx::Instruction& i) {
                by_place_.insert_or_assign(key(i.place), &i);
            });
}

const ptx::Instruction* Text::at(ptx::Place place) const {
    const auto found = by_place_.find(key(place));
    return found == by_place_.end() ? nullptr : found->second;
}

Text Text::with(const Patch& patch) const {
    std::map<Key, const Edit*> edits;
    for (const Edit& e : patch.edits) edits[key(e.at)] = &e;
    Text out;
    out.module_ = module_;
    out.entry_ = entry_;
    for (auto& item : out.module_.items) {
        auto* f = std::get_if<ptx::Function>(&item);
        if (f == nullptr || !f->has_body) continue;
        change(f->body, edits);
        if (f->name != entry_) continue;
        std::vector<ptx::Statement> declared;
        for (const ptx::Variable& v : patch.registers) declared.push_back({v});
        f->body.body.insert(f->body.body.begin(), declared.begin(), declared.end());
    }
    out.list();
    return out;
}

std::optional<isa::Program> Text::resolve(isa::Arch arch) const {
    isa::Resolved resolved = isa::resolve(module_, arch, entry_);
    if (!resolved.diagnostics.empty()) return {};
    return std::move(resolved.program);
}

}  // namespace lockwarp::why
