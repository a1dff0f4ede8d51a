// SPDX-License-Identifier: Apache-2.0
#include "debug/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/exec/call_stack.hpp"
#include "launch/values.hpp"
#include "launch/variables.hpp"

namespace lockwarp::debug {

using isa::Type;

isa::Type type_named(std::string_view name) {
    const Type t = isa::type_named("." + std::string(name));
    return isa::bits(t) > 64 ? Type::none : t;
}

std::string text_of(const Value& v) {
    if (v.type == Type::pred) return v.bits != 0 ? "true" : "false";
    const isa::TypeRow& row = isa::row(v.type);
    const Type each = isa::element_of(v.type);
    const unsigned width = isa::bits(each);
    if (row.lanes == 1) return launch::text_of(v.type, v.bits, -1);
    std::string out = "{";
    for (unsigned i = 0; i < row.lanes; ++i)
        out += (i == 0 ? "" : ", ") +
               launch::text_of(each, v.bits >> (i * width) & ((uint64_t{1} << width) - 1), -1);
    return out + "}";
}

std::string hex_of(const Value& v) {
    const unsigned digits = std::max(1u, (isa::bits(v.type) + 3) / 4);
    return fmt::format("0x{:0{}x}", v.bits, digits);
}

Shapes shapes_of(const launch::LaunchFile& file) {
    Shapes out;
    for (const launch::BufferField& b : file.buffers)
        if (b.init.type != Type::none) out[b.name] = {b.init.type, 0, 0};
    for (const launch::Expectation& e : file.expectations) {
        if (!e.product) {
            out[e.name] = {e.type, 0, 0};
            continue;
        }
        const launch::Product& p = *e.product;
        out[p.d] = {p.type_d, p.m, p.n};
        out[p.a] = {p.type_a, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k};
        out[p.b] = {p.type_b, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n};
        if (!p.c.empty()) out[p.c] = {p.type_c, p.m, p.n};
    }
    return out;
}

namespace {

// How far the nearest operation from `pc` is that names the register; UINT32_MAX: none does.
uint32_t distance(const isa::Program& p, const isa::Register& r, uint32_t pc) {
    const auto index = static_cast<uint32_t>(&r - p.registers.data());
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < p.operations.size(); ++i) {
        const isa::Operation& o = p.operations[i];
        const auto begin = p.uses.begin() + o.first_use;
        if (std::find(begin, begin + o.written + o.read, index) == begin + o.written + o.read)
            continue;
        best = std::min(best, i > pc ? i - pc : pc - i);
    }
    return best;
}

// The type in which an operation takes the slot; none: it says nothing.
Type type_in(const isa::Program& p, const isa::Operation& o, isa::Ref ref) {
    const auto in_vector = [&](unsigned n) {
        const isa::VectorRef v = o.vector[n];
        const auto begin = p.pool.begin() + v.first;
        return std::find(begin, begin + v.count, ref) != begin + v.count;
    };
    std::array<Type, 4> types{};
    if (o.mma != nullptr)
        types = {o.mma->d, o.mma->a, o.mma->b, o.mma->c};
    else if (o.wmma != nullptr)
        types = {o.wmma->d, o.wmma->ab, o.wmma->ab, o.wmma->c};
    else if (o.wmma_fragment != nullptr)
        types = {o.wmma_fragment->type};
    for (unsigned n = 0; n < 4; ++n) {
        if (types[n] == Type::none || !in_vector(n)) continue;
        if (types[n] == Type::f16) return Type::f16x2;
        if (types[n] == Type::bf16) return Type::bf16x2;
        return isa::bits(types[n]) >= 32 ? types[n] : Type::none;
    }
    if (o.mma != nullptr || o.wmma != nullptr || o.wmma_fragment != nullptr) return Type::none;
    const bool named = std::ranges::find(o.r, ref) != o.r.end();
    const Type t = o.mod.type[0];
    return named && o.mod.types == 1 && t != Type::none && isa::row(t).kind != isa::Kind::bits &&
                   t != Type::pred
               ? t
               : Type::none;
}

}  // namespace

const isa::Register* View::find(std::string_view name) const {
    const isa::Register* best = nullptr;
    uint32_t nearest = 0;
    for (const isa::Register& r : program().registers) {
        if (r.name != name || r.half == 2) continue;
        const uint32_t far = best == nullptr ? 0 : distance(program(), r, pc);
        if (best != nullptr && nearest == 0) nearest = distance(program(), *best, pc);
        if (best == nullptr || far < nearest) {
            if (best != nullptr) nearest = far;
            best = &r;
        }
    }
    return best;
}

Value View::slot_value(isa::Ref ref, Type type, uint32_t of_lane) const {
    const uint8_t* const at = warp->registers + ref;
    if (type == Type::pred) {
        uint32_t mask = 0;
        std::memcpy(&mask, at, sizeof mask);
        return {type, mask >> of_lane & 1};
    }
    uint64_t bits = 0;
    const size_t bytes = isa::bits(type) == 64 ? 8 : 4;
    std::memcpy(&bits, at + of_lane * bytes, bytes);
    const unsigned width = isa::bits(type);
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    return {type, bits};
}

Value View::value_of(const isa::Register& r, uint32_t of_lane) const {
    const Type type = isa::bits(r.type) > 64 ? Type::b64 : r.type;
    return slot_value(r.ref, type, of_lane);
}

Type View::used_as(const isa::Register& r) const {
    const Type own = isa::bits(r.type) > 64 ? Type::b64 : r.type;
    if (isa::row(own).kind != isa::Kind::bits) return own;
    const auto& all = program().operations;
    Type best = Type::none;
    uint32_t nearest = UINT32_MAX;
    for (uint32_t i = 0; i < all.size(); ++i) {
        // What has run comes before what is to run.
        const uint32_t far = i >= pc ? 2 * (i - pc) + 1 : 2 * (pc - i);
        if (far >= nearest) continue;
        const Type t = type_in(program(), all[i], r.ref);
        if (t == Type::none || isa::bits(t) != isa::bits(own)) continue;
        best = t;
        nearest = far;
    }
    return best == Type::none ? own : best;
}

std::optional<uint64_t> View::special(std::string_view name) const {
    if (name.starts_with('%')) name.remove_prefix(1);
    if (cta == nullptr || warp == nullptr) return std::nullopt;
    if (name == "lane" || name == "laneid") return lane;
    if (name == "warp" || name == "warpid") return warp->index;
    if (name == "cta") return cta->index;
    if (name == "step") return warp->step;
    if (name == "line") return listing->line_of(pc);
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || dot + 2 != name.size()) return std::nullopt;
    const char letter = name[dot + 1];
    if (letter < 'x' || letter > 'z') return std::nullopt;
    const auto axis = static_cast<size_t>(letter - 'x');
    const std::string_view base = name.substr(0, dot);
    const std::array block{launch->block.x, launch->block.y, launch->block.z};
    const std::array grid{launch->grid.x, launch->grid.y, launch->grid.z};
    const uint32_t thread = warp->index * 32 + lane;
    const std::array tid{thread % block[0], thread / block[0] % block[1],
                         thread / block[0] / block[1]};
    if (base == "tid") return tid[axis];
    if (base == "ctaid" || base == "cta") return cta->id[axis];
    if (base == "ntid") return block[axis];
    if (base == "nctaid") return grid[axis];
    return std::nullopt;
}

std::pair<ptx::Space, uint64_t> View::resolved(uint64_t generic) {
    for (const isa::SpaceWindow& w : isa::space_windows)
        if (generic >= w.base && generic - w.base < w.bytes) return {w.space, generic - w.base};
    return {ptx::Space::global, generic};
}

const uint8_t* View::bytes_at(ptx::Space space, uint64_t address, uint64_t bytes) const {
    if (space == ptx::Space::none) std::tie(space, address) = resolved(address);
    const auto within = [&](const uint8_t* begin, uint64_t size, uint64_t first) -> const uint8_t* {
        if (address < first || address - first > size || size - (address - first) < bytes)
            return nullptr;
        return begin + (address - first);
    };
    switch (space) {
        case ptx::Space::global: {
            const warp::Buffer* const b =
                memory == nullptr ? nullptr : memory->find(address, bytes);
            return b == nullptr ? nullptr : b->bytes.data() + (address - b->address);
        }
        case ptx::Space::shared:
            return cta == nullptr
                       ? nullptr
                       : within(cta->shared.data(), cta->shared.size(), program().shared_begin);
        case ptx::Space::local:
            return warp == nullptr ? nullptr
                                   : within(warp->local.data() + size_t{lane} * warp->local_stride,
                                            warp->top[lane], 0);
        case ptx::Space::param:
            return within(launch->parameters.data(), launch->parameters.size(), 0);
        case ptx::Space::const_:
            return within(program().const_image.data(), program().const_image.size(), 0);
        case ptx::Space::none:
        case ptx::Space::reg:
        case ptx::Space::sreg:
        case ptx::Space::tex:
            return nullptr;
    }
    return nullptr;
}

std::optional<View::Place> View::place_of(std::string_view name) const {
    const auto shape = [&](Type usual) {
        const auto known = shapes == nullptr ? Shapes::const_iterator{} : shapes->find(name);
        return shapes != nullptr && known != shapes->end() ? known->second : Shape{usual, 0, 0};
    };
    for (const warp::Buffer* b : warp::buffers_of(*launch))
        if (b->name == name)
            return Place{ptx::Space::global, b->address, b->bytes.size(), shape(Type::b8)};
    for (const isa::Placed& v : program().variables) {
        if (v.name != name && !launch::names_variable(v.name, std::string(name))) continue;
        uint64_t address = v.address;
        if (v.in_frame && warp != nullptr) address += exec::frame_base(*warp, frame, lane);
        return Place{v.in_frame ? ptx::Space::local : v.space, address, v.bytes, shape(Type::b8)};
    }
    for (const isa::Parameter& p : program().parameters)
        if (p.name == name)
            return Place{
                ptx::Space::param, p.offset, p.bytes, {p.is_array ? Type::b8 : p.type, 0, 0}};
    return std::nullopt;
}

std::string View::name_of(ptx::Space space, uint64_t address) const {
    if (space == ptx::Space::none) std::tie(space, address) = resolved(address);
    const auto element = [&](const std::string& name, uint64_t at) {
        const auto known = shapes == nullptr ? Shapes::const_iterator{} : shapes->find(name);
        if (shapes != nullptr && known != shapes->end()) {
            const Shape& s = known->second;
            const uint64_t width = isa::bits(s.type) / 8;
            if (width != 0 && at % width == 0)
                return s.rows != 0 ? fmt::format("{}[{}][{}]", name, at / width / s.columns,
                                                 at / width % s.columns)
                                   : fmt::format("{}[{}]", name, at / width);
        }
        return at == 0 ? name : fmt::format("{} + {:#x}", name, at);
    };
    if (space == ptx::Space::global)
        for (const warp::Buffer* b : warp::buffers_of(*launch))
            if (address >= b->address && address - b->address < b->bytes.size())
                return element(b->name, address - b->address);
    for (const isa::Placed& v : program().variables)
        if (!v.in_frame && v.space == space && address >= v.address &&
            address - v.address < v.bytes)
            return element(v.name, address - v.address);
    return {};
}

}  // namespace lockwarp::debug
