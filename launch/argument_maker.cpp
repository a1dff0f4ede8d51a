// SPDX-License-Identifier: Apache-2.0
#include "launch/argument_maker.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

using ptx::DebugKind;
using ptx::DebugType;

constexpr uint64_t address_bytes = 8;
constexpr int max_depth = 8;
constexpr int max_pointers = 3;        // of a pointer to a pointer to a pointer
constexpr uint64_t max_elements = 16;  // of an array that is written one by one
constexpr size_t max_fields = 1000;    // of a kernel

// Numbers that are structs in the source.
struct NamedNumber {
    std::string_view name;
    std::string_view type;
    uint64_t count;
};
constexpr std::array named_numbers{
    NamedNumber{"__half", "f16", 1},         NamedNumber{"__half2", "f16", 2},
    NamedNumber{"__nv_bfloat16", "bf16", 1}, NamedNumber{"__nv_bfloat162", "bf16", 2},
    NamedNumber{"__nv_fp8_e4m3", "e4m3", 1}, NamedNumber{"__nv_fp8_e5m2", "e5m2", 1},
};

Ordered numbers(const std::string& type, uint64_t count) {
    if (count == 1) return {{type, 0}};
    return {{type, std::vector<int>(count, 0)}};
}

std::string zeros(uint64_t bytes) { return std::string(2 * bytes, '0'); }

Ordered tensor_map(const std::vector<TensorMapUse>& uses, uint64_t at, const std::string& name) {
    std::string words = name.empty() ? "" : name + ": ";
    words += "a tensor map: {\"tensorMap\": NAME} of tensorMaps in its place";
    for (const TensorMapUse& u : uses) {
        if (u.at != at) continue;
        words += "; " + u.instruction;
        if (u.dimensions != 0)
            words += " (" + std::to_string(u.dimensions) + " dimensions, " + u.mode.substr(1) + ")";
        words += " at line " + std::to_string(u.place.line);
    }
    return {{"bytes", zeros(tensor_map_bytes)}, {"comment", words}};
}

bool has_map(const std::vector<TensorMapUse>& uses, uint64_t at) {
    return std::ranges::find(uses, at, &TensorMapUse::at) != uses.end();
}

void add_comment(Ordered& field, const std::string& words) {
    if (words.empty()) return;
    const std::string more =
        field.contains("comment") ? "; " + field["comment"].get<std::string>() : "";
    field["comment"] = words + more;
}

}  // namespace

void ArgumentMaker::begin_kernel(const std::string& name) {
    kernel_ = name;
    ++kernel_number_;
    field_count_ = 0;
}

std::string ArgumentMaker::free_name(const std::string& name, uint32_t pointee) {
    const std::string type = pointee == ptx::no_type ? "" : info_.spelled(info_.plain(pointee));
    std::string out = name;
    for (int i = 1;; ++i) {
        const auto found = known_.find(out);
        if (found == known_.end()) break;
        const bool shared =
            found->second.kernel != kernel_number_ && !type.empty() && found->second.type == type;
        if (shared) break;
        out = i == 1 ? kernel_ + "_" + name : kernel_ + "_" + name + std::to_string(i);
    }
    known_[out] = {kernel_number_, type};
    return out;
}

Ordered ArgumentMaker::initial(uint32_t pointee) {
    const Number n = number_of(pointee);
    const isa::Type type = value_type(n.type);
    if (type == isa::Type::none || !info_.is_constant(pointee)) return {{"fill", 0}};
    if (isa::is_float(type)) return {{"random", {{"type", n.type}, {"seed", ++seed_}}}};
    return {{"values", {{n.type, Ordered::array({0})}}}};
}

std::string ArgumentMaker::add_buffer(const std::string& wanted, uint32_t pointee,
                                      const std::string& type, int depth) {
    const std::string name = free_name(wanted, pointee);
    const bool is_const = pointee == ptx::no_type ? type.find("const*") != std::string::npos
                                                  : info_.is_constant(pointee);
    const auto output = std::ranges::find(outputs, Ordered(name));
    if (buffers.contains(name)) {
        // What one kernel writes and a later one only reads is between them.
        if (is_const && output != outputs.end()) outputs.erase(output);
        return name;
    }
    Ordered& buffer = buffers[name];
    const std::string comment =
        "fill in the bytes" + (type.empty() ? std::string() : " of this " + type);
    const uint32_t plain = info_.plain(pointee);
    if (depth < max_pointers && plain != ptx::no_type &&
        info_.types[plain].kind == DebugKind::pointer && points_to_data(plain)) {
        const uint32_t target = info_.types[plain].target;
        buffer = {{"bytes", 0}, {"pointers", Ordered::object()}, {"comment", ""}};
        const std::string inner = add_buffer(name + "0", target, info_.spelled(plain), depth + 1);
        buffers[name]["bytes"] = address_bytes;
        buffers[name]["pointers"]["0"] = inner;
        buffers[name]["comment"] = "an array of pointers, " + type + ": add the others";
        return name;
    }
    buffer = {{"bytes", 0}, {"init", initial(pointee)}, {"comment", comment}};
    if (!is_const) outputs.push_back(name);
    return name;
}

ArgumentMaker::Number ArgumentMaker::number_of(uint32_t type) const {
    const uint32_t plain = info_.plain(type);
    if (plain == ptx::no_type) return {};
    const DebugType& t = info_.types[plain];
    const auto whole = [&](char sign) {
        const bool fits = t.bytes == 1 || t.bytes == 2 || t.bytes == 4 || t.bytes == 8;
        return fits ? Number{sign + std::to_string(8 * t.bytes), 1, t.bytes} : Number{};
    };
    switch (t.kind) {
        case DebugKind::boolean:
        case DebugKind::unsigned_:
            return whole('u');
        case DebugKind::signed_:
        case DebugKind::enumeration:
            return whole('s');
        case DebugKind::floating:
            return t.bytes == 1 ? Number{} : whole('f');
        case DebugKind::structure:
            for (const NamedNumber& n : named_numbers)
                if (t.name == n.name && 8 * t.bytes == n.count * isa::bits(value_type(n.type)))
                    return {std::string(n.type), n.count, t.bytes / n.count};
            break;
        case DebugKind::unknown:
        case DebugKind::pointer:
        case DebugKind::union_:
        case DebugKind::array:
        case DebugKind::alias:
        case DebugKind::constant:
            break;
    }
    return {};
}

// Not to code.
bool ArgumentMaker::points_to_data(uint32_t type) const {
    const uint32_t target = info_.plain(info_.types[type].target);
    if (target == ptx::no_type) return true;
    const DebugType& t = info_.types[target];
    return t.kind != DebugKind::unknown || !t.name.empty();
}

void ArgumentMaker::place(Fields& out, uint64_t at, uint64_t bytes, uint64_t alignment,
                          Ordered field) {
    if (at < out.next) {
        out.fits = false;
        return;
    }
    // Of a packed struct.
    if (at % alignment != 0) {
        const std::string words = field.contains("comment") ? field["comment"] : "";
        field = {{"bytes", zeros(bytes)}, {"comment", words}};
        alignment = 1;
    }
    if ((out.next + alignment - 1) / alignment * alignment != at)
        out.list.push_back({{"pad", at - out.next}});
    out.list.push_back(std::move(field));
    out.next = at + bytes;
    out.alignment = std::max(out.alignment, alignment);
}

// One field or argument that is no array.
Ordered ArgumentMaker::value(const KnownParameter& p, uint32_t type, uint64_t at,
                             const std::string& name, int depth, uint64_t& alignment) {
    const uint32_t plain = info_.plain(type);
    const uint64_t bytes = info_.size_of(type);
    alignment = 1;
    if (bytes == tensor_map_bytes &&
        (has_map(p.maps, at) || info_.spelled(plain).starts_with("CUtensorMap")))
        return tensor_map(p.maps, at, "");
    if (const Number n = number_of(type); !n.type.empty()) {
        alignment = n.width;
        return numbers(n.type, n.count);
    }
    if (plain != ptx::no_type && ++field_count_ <= max_fields && depth <= max_depth) {
        const DebugType& t = info_.types[plain];
        if (t.kind == DebugKind::pointer) {
            alignment = address_bytes;
            if (!points_to_data(plain)) return numbers("u64", 1);
            return {{"pointer", add_buffer(name, t.target, info_.spelled(plain))}};
        }
        if (t.kind == DebugKind::structure)
            return structure(p, plain, at, name, depth + 1, alignment);
        if (t.kind == DebugKind::union_ && !t.members.empty()) {
            const auto largest = std::ranges::max_element(
                t.members, {}, [&](const auto& m) { return info_.size_of(m.type); });
            if (info_.size_of(largest->type) == t.bytes &&
                info_.types[info_.plain(largest->type)].kind != DebugKind::array) {
                Ordered out = value(p, largest->type, at, name, depth + 1, alignment);
                add_comment(out, "a union, as its " + largest->name);
                return out;
            }
        }
    }
    return {{"bytes", zeros(bytes)}, {"comment", info_.spelled(type)}};
}

// An array, element by element where it is short; of a long one those that the code reads.
void ArgumentMaker::add_array(Fields& out, const KnownParameter& p, uint32_t type, uint64_t member,
                              uint64_t at, const std::string& name, int depth) {
    const uint64_t bytes = info_.size_of(type);
    uint32_t element = info_.plain(type);
    while (element != ptx::no_type && info_.types[element].kind == DebugKind::array)
        element = info_.plain(info_.types[element].target);
    const uint64_t width = info_.size_of(element);
    if (bytes == 0 || width == 0) return;
    const uint64_t count = bytes / width;
    const Number n = number_of(element);
    if (!n.type.empty() && n.count * count <= max_elements) {
        Ordered field = numbers(n.type, n.count * count);
        if (n.count * count == 1) field[n.type] = Ordered::array({0});
        add_comment(field, name);
        return place(out, member, bytes, n.width, std::move(field));
    }
    const auto is_read = [&](uint64_t i) {
        return std::ranges::any_of(p.fields, [&](const ReadField& f) {
            return f.at >= at + i * width && f.at < at + (i + 1) * width;
        });
    };
    for (uint64_t i = 0; i < count && out.fits;) {
        uint64_t end = i;
        while (count > max_elements && end < count && !is_read(end)) ++end;
        const std::string first = name + "[" + std::to_string(i) + "]";
        if (end > i) {
            const std::string last = name + "[" + std::to_string(end - 1) + "]";
            Ordered pad{{"pad", (end - i) * width}};
            pad["comment"] =
                (end - i == 1 ? first : first + " to " + last) + ": " + info_.spelled(element);
            place(out, member + i * width, (end - i) * width, 1, std::move(pad));
            i = end;
            continue;
        }
        uint64_t alignment = 1;
        Ordered field =
            value(p, element, at + i * width, name + std::to_string(i), depth, alignment);
        add_comment(field, first);
        place(out, member + i * width, width, alignment, std::move(field));
        ++i;
    }
}

// Bit fields from `first` on, as the bytes up to the next member; returns the last of them.
size_t ArgumentMaker::add_bit_fields(Fields& out, const DebugType& t, size_t first) {
    const uint64_t at = t.members[first].at;
    size_t last = first;
    std::string names = t.members[first].name;
    while (last + 1 < t.members.size() && t.members[last + 1].is_bit_field)
        names += ", " + t.members[++last].name;
    const uint64_t unit = t.members[last].at + info_.size_of(t.members[last].type);
    const uint64_t end = last + 1 < t.members.size() ? t.members[last + 1].at : t.bytes;
    const uint64_t bytes = std::min(unit, end) - at;
    if (std::min(unit, end) <= at || bytes > max_elements) {
        out.fits = false;
        return last;
    }
    const bool is_number = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    Ordered field = is_number && at % bytes == 0 ? numbers("u" + std::to_string(8 * bytes), 1)
                                                 : numbers("u8", bytes);
    add_comment(field, "bit fields " + names);
    place(out, at, bytes, is_number && at % bytes == 0 ? bytes : 1, std::move(field));
    return last;
}

// at: of the member in the parameter. end: the bytes of the struct.
void ArgumentMaker::add_member(Fields& out, const KnownParameter& p, const ptx::DebugMember& m,
                               uint64_t at, uint64_t end, const std::string& name, int depth) {
    const uint32_t plain = info_.plain(m.type);
    const uint64_t bytes = info_.size_of(m.type);
    if (plain == ptx::no_type || m.at > end || bytes > end - m.at) {
        out.fits = false;
        return;
    }
    const DebugType& t = info_.types[plain];
    // An empty base takes no room.
    if (m.is_base && t.members.empty() && bytes <= 1) return;
    if (t.kind == DebugKind::array) return add_array(out, p, m.type, m.at, at, name, depth);
    uint64_t alignment = 0;  // value() writes it
    Ordered field = value(p, m.type, at, name, depth, alignment);
    const bool is_struct = t.kind == DebugKind::structure && !t.name.empty();
    add_comment(field, m.is_base ? "base " + t.name : is_struct ? m.name + ": " + t.name : m.name);
    place(out, m.at, bytes, alignment, std::move(field));
}

Ordered ArgumentMaker::structure(const KnownParameter& p, uint32_t type, uint64_t at,
                                 const std::string& name, int depth, uint64_t& alignment) {
    const DebugType& t = info_.types[type];
    Fields fields;
    for (size_t i = 0; i < t.members.size(); ++i) {
        const ptx::DebugMember& m = t.members[i];
        if (m.is_bit_field) {
            i = add_bit_fields(fields, t, i);
            continue;
        }
        const std::string member = m.name.empty() || m.is_base ? name : m.name;
        add_member(fields, p, m, at + m.at, t.bytes, member, depth);
    }
    const bool is_empty = t.members.empty() && t.bytes == 1;
    if (fields.next < t.bytes && !is_empty &&
        (fields.next + fields.alignment - 1) / fields.alignment * fields.alignment != t.bytes)
        fields.list.push_back({{"pad", t.bytes - fields.next}});
    if (!fields.fits || fields.next > t.bytes || t.bytes % fields.alignment != 0)
        return {{"bytes", zeros(t.bytes)}};
    alignment = fields.alignment;
    return {{"struct", std::move(fields.list)}};
}

Ordered ArgumentMaker::scalar(const KnownParameter& p) {
    const bool is_pointer = p.declared.is_pointer || p.type.ends_with('*') ||
                            (!p.fields.empty() && p.fields[0].pointer);
    if (is_pointer && p.placed.bytes == address_bytes)
        return {{"buffer", add_buffer(p.name, ptx::no_type, p.type)}};
    isa::Type type = p.placed.type;
    if (p.type == "float") type = isa::Type::f32;
    if (p.type == "double") type = isa::Type::f64;
    if (p.type == "int") type = isa::Type::s32;
    if (p.type == "long" || p.type == "long long") type = isa::Type::s64;
    if (isa::row(type).kind == isa::Kind::bits) return {{"u" + std::to_string(isa::bits(type)), 0}};
    return {{std::string(isa::row(type).name.substr(1)), 0}};
}

// Without debug information: by the fields that the code reads.
Ordered ArgumentMaker::read_structure(const KnownParameter& p) {
    const uint64_t bytes = p.placed.bytes;
    const bool looks_like_map = bytes == tensor_map_bytes && p.placed.alignment >= 64;
    if (bytes == tensor_map_bytes && (has_map(p.maps, 0) || (looks_like_map && p.fields.empty())))
        return tensor_map(p.maps, 0, "");
    Fields out;
    std::vector<uint64_t> maps;
    for (const TensorMapUse& u : p.maps)
        if (u.at + tensor_map_bytes <= bytes) maps.push_back(u.at);
    std::ranges::sort(maps);
    maps.erase(std::unique(maps.begin(), maps.end()), maps.end());
    const auto add_maps = [&](uint64_t end) {
        while (!maps.empty() && maps.front() < end) {
            if (maps.front() >= out.next)
                place(out, maps.front(), tensor_map_bytes, 1,
                      tensor_map(p.maps, maps.front(), "byte " + std::to_string(maps.front())));
            maps.erase(maps.begin());
        }
    };
    for (const ReadField& f : p.fields) {
        add_maps(f.at);
        if (f.at < out.next) continue;  // read of a tensor map
        const uint64_t width = isa::bits(f.type) / 8;
        const std::string name = p.name + "_" + std::to_string(f.at);
        Ordered field = f.pointer ? Ordered{{"pointer", add_buffer(name, ptx::no_type, "")}}
                                  : numbers(std::string(isa::row(f.type).name.substr(1)), f.count);
        add_comment(field, "byte " + std::to_string(f.at));
        place(out, f.at, width * f.count, width, std::move(field));
    }
    add_maps(bytes);
    // Of one byte: an empty struct.
    if ((!out.list.empty() || bytes > 1) && out.next < bytes)
        out.list.push_back({{"pad", bytes - out.next}});
    // A field that has no alignment of its own leaves the size to the parameter.
    if (!out.fits || bytes % out.alignment != 0) return {{"bytes", zeros(bytes)}};
    return {{"struct", std::move(out.list)}};
}

Ordered ArgumentMaker::argument(const KnownParameter& p) {
    const size_t known = buffers.size();
    uint64_t alignment = 1;
    Ordered out = p.debug_type != ptx::no_type ? value(p, p.debug_type, 0, p.name, 0, alignment)
                  : p.placed.is_array          ? read_structure(p)
                                               : scalar(p);
    // As an argument a pointer is said to be a buffer.
    if (out.contains("pointer")) {
        Ordered buffer{{"buffer", out["pointer"]}};
        if (out.contains("comment")) buffer["comment"] = out["comment"];
        out = std::move(buffer);
    }
    if (p.only_stored && out.contains("buffer") && buffers.size() == known + 1) {
        Ordered& buffer = buffers[out["buffer"].get<std::string>()];
        if (buffer.contains("init")) buffer["init"] = "undefined";
    }
    return out;
}

}  // namespace lockwarp::launch
