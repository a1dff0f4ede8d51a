// SPDX-License-Identifier: Apache-2.0
// What a Resolver keeps: diagnostics, symbols, registers and constants.
#include "emu/isa/resolver.hpp"

#include <algorithm>
#include <charconv>

namespace lockwarp::isa {

void Resolver::error(ptx::Place place, std::string message, std::string hint) {
    diagnostics.push_back({place, std::move(message), std::move(hint)});
}

Symbol Resolver::find(std::string_view name) {
    for (size_t level = scopes.size(); level-- > 0;) {
        if (scopes[level].empty()) continue;
        const auto found = scopes[level].find(name);
        if (found != scopes[level].end()) return found->second;
        // "%r12" of "%r<16>": a register comes into being where it is first named.
        const size_t digits = name.find_last_not_of("0123456789") + 1;
        if (digits == name.size() || digits == 0) continue;
        const auto range = scopes[level].find(range_key(name.substr(0, digits)));
        if (range == scopes[level].end()) continue;
        const std::string_view number = name.substr(digits);
        uint32_t index = 0;
        const auto [end, bad] =
            std::from_chars(number.data(), number.data() + number.size(), index);
        if (bad != std::errc() || index >= range->second.count ||
            (number.size() > 1 && number[0] == '0'))
            continue;
        const Type type = range->second.type;
        std::string key(name);
        const Symbol symbol{SymbolKind::reg, new_register(key, type), type, 0};
        scopes[level][std::move(key)] = symbol;
        return symbol;
    }
    return {};
}

Ref Resolver::allocate(unsigned width) {
    const uint32_t bytes = width == 1 ? 4 : width == 128 ? 2 * half_bytes : width == 64 ? 256 : 128;
    const uint32_t alignment = width == 1 ? 4 : 64;
    program.register_bytes = (program.register_bytes + alignment - 1) / alignment * alignment;
    const Ref ref = program.register_bytes;
    program.register_bytes += bytes;
    return ref;
}

uint32_t Resolver::new_register(std::string name, Type type) {
    const auto index = static_cast<uint32_t>(program.registers.size());
    const bool halves = type == Type::b128;
    if (halves) type = Type::b64;
    program.registers.push_back({name, type, no_ref, static_cast<uint8_t>(halves)});
    register_owner.push_back(function);
    if (halves) {
        program.registers.push_back({std::move(name), type, no_ref, 2});
        register_owner.push_back(function);
    }
    return index;
}

Ref Resolver::register_ref(uint32_t index) {
    Register& reg = program.registers[index];
    if (reg.ref == no_ref && reg.half == 1) {
        reg.ref = allocate(128);
        program.registers[index + 1].ref = reg.ref + half_bytes;
    } else if (reg.ref == no_ref) {
        reg.ref = allocate(reg.type == Type::pred ? 1 : bits(reg.type));
    }
    return reg.ref;
}

Ref Resolver::constant(unsigned width, uint64_t value, bool in_shared) {
    if (width == 32) value &= 0xffffffffu;
    const auto [at, is_new] =
        constants.try_emplace({static_cast<uint8_t>(width), value, in_shared}, no_ref);
    if (is_new) {
        at->second = allocate(width);
        const unsigned each = width == 128 ? 64 : width;
        program.constants.push_back({at->second, static_cast<uint8_t>(each), value, in_shared});
        if (width == 128) program.constants.push_back({at->second + half_bytes, 64, 0});
    }
    return at->second;
}

Ref Resolver::frame_constant(unsigned width, uint64_t offset) {
    if (function == 0) return constant(width, offset);
    const auto [at, is_new] =
        frame_constants.try_emplace({static_cast<uint8_t>(width), offset}, no_ref);
    if (is_new) {
        at->second = allocate(width);
        program.functions[function].frame_slots.push_back(
            {at->second, static_cast<uint8_t>(width), offset});
    }
    return at->second;
}

Ref Resolver::special(const SpecialRow& which) {
    const auto [at, is_new] = specials.try_emplace(which.special, no_ref);
    if (is_new) {
        at->second = allocate(bits(which.type));
        program.specials.push_back({at->second, which.special, which.type});
    }
    return at->second;
}

}  // namespace lockwarp::isa
