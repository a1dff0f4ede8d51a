// SPDX-License-Identifier: Apache-2.0
#include "python/core/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "python/core/failure.hpp"

namespace lockwarp::python {

namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        if (comma != at) out.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return out;
}

}  // namespace

std::optional<isa::Arch> arch_of(const std::string& name) {
    if (name.empty()) return std::nullopt;
    if (const auto found = isa::arch_named(name)) return found;
    std::string text = fmt::format("no architecture '{}'; there are", name.substr(0, 60));
    for (const isa::ArchRow& a : isa::arch_rows) text += fmt::format(" {}", a.name);
    throw Failure(text);
}

std::vector<isa::Arch> archs_of(const std::string& names, uint16_t target, isa::Arch usual) {
    std::vector<isa::Arch> out;
    if (names.empty()) return {usual};
    if (names == "all") {
        for (const isa::ArchRow& a : isa::arch_rows)
            if (isa::has(a, target)) out.push_back(a.arch);
        return out;
    }
    for (const std::string& name : words_of(names)) out.push_back(*arch_of(name));
    if (out.empty()) throw Failure("which architecture?");
    return out;
}

lanes::Instruction instruction_named(const std::string& name, const std::string& arch) {
    const size_t at = name.rfind('@');
    const std::string own = at == std::string::npos ? arch : name.substr(at + 1);
    lanes::Found found = lanes::find(name.substr(0, at), arch_of(own));
    if (!found.instruction) throw Failure(found.error);
    return std::move(*found.instruction);
}

std::vector<const check::CheckRow*> checks_named(const std::string& names) {
    check::Chosen chosen = check::choose(names);
    if (!chosen.wrong.empty()) throw Failure(chosen.wrong);
    return std::move(chosen.rows);
}

std::string_view name_of(warp::TrapKind kind) {
    switch (kind) {
        case warp::TrapKind::out_of_bounds:
            return "out_of_bounds";
        case warp::TrapKind::misaligned:
            return "misaligned";
        case warp::TrapKind::wrong_space:
            return "wrong_space";
        case warp::TrapKind::read_only:
            return "read_only";
        case warp::TrapKind::diverged:
            return "diverged";
        case warp::TrapKind::bad_mask:
            return "bad_mask";
        case warp::TrapKind::deadlock:
            return "deadlock";
        case warp::TrapKind::stack:
            return "stack";
        case warp::TrapKind::step_limit:
            return "step_limit";
        case warp::TrapKind::trap:
            return "trap";
        case warp::TrapKind::breakpoint:
            return "breakpoint";
        case warp::TrapKind::stopped:
            return "stopped";
        case warp::TrapKind::illegal:
            return "illegal";
    }
    return "";
}

}  // namespace lockwarp::python
