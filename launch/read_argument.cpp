// SPDX-License-Identifier: Apache-2.0
// "args": scalars, buffers, bytes, and structs by their fields.
#include <algorithm>
#include <cstring>
#include <vector>

#include "launch/nearest.hpp"
#include "launch/reader.hpp"
#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

constexpr uint64_t address_bytes = 8;
constexpr uint64_t max_argument_bytes = uint64_t{1} << 16;
constexpr uint64_t max_alignment = 256;
constexpr uint64_t map_alignment = 64;  // of CUtensorMap; from CUDA 13 on 128

void append(Argument& out, const Argument& field) {
    const uint64_t alignment = std::max<uint64_t>(field.alignment, 1);
    const uint64_t at = (out.bytes.size() + alignment - 1) / alignment * alignment;
    out.bytes.resize(at);
    out.bytes.insert(out.bytes.end(), field.bytes.begin(), field.bytes.end());
    for (Pointer p : field.pointers) {
        p.at += at;
        out.pointers.push_back(std::move(p));
    }
    for (PlacedMap m : field.maps) out.maps.push_back({m.at + at, m.map});
    out.alignment = std::max(out.alignment, alignment);
}

// A field of a struct is as an argument, or {"pad": bytes}.
void read_struct(Reader& r, const Json& j, const std::string& field, Argument& out) {
    if (!r.object(j, field, {"struct", "align"})) return;
    const Json& fields = *j.find("struct");
    const std::string at = field + ".struct";
    if (!fields.is(JsonKind::list)) return r.fail(fields, at, "a list of fields is expected");
    for (size_t i = 0; i < fields.items().size() && !r.wrong; ++i) {
        const Json& item = fields.items()[i];
        const std::string where = at + "[" + std::to_string(i) + "]";
        Argument one;
        if (item.is(JsonKind::object) && item.find("pad") != nullptr) {
            if (!r.object(item, where, {"pad"})) return;
            one.bytes.assign(r.integer(*item.find("pad"), where + ".pad", max_argument_bytes), 0);
        } else {
            read_argument(r, item, where, one);
        }
        append(out, one);
        if (out.bytes.size() > max_argument_bytes)
            r.fail(item, where, "more bytes than the parameters of a kernel have");
    }
    if (const Json* align = j.find("align")) {
        const uint64_t value = r.integer(*align, field + ".align", max_alignment);
        if (value == 0 || (value & (value - 1)) != 0)
            r.fail(*align, field + ".align", "a power of two is expected, not " + r.seen(*align));
        else
            out.alignment = std::max(out.alignment, value);
    }
    // C++: no object has 0 bytes, and the size is a multiple of the alignment.
    const uint64_t size = std::max<uint64_t>(out.bytes.size(), 1);
    out.bytes.resize((size + out.alignment - 1) / out.alignment * out.alignment);
}

// {"s32": 5}, and of a struct {"s32": [5, 6]}, an array.
void read_number(Reader& r, const Json& j, const std::string& field, Argument& out) {
    size_t member = 0;
    while (member < j.keys().size() && j.keys()[member].name == "comment") ++member;
    const std::string key = member < j.keys().size() ? j.keys()[member].name : "";
    const isa::Type type = value_type(key);
    if (type != isa::Type::none && Reader::members(j) != 1)
        return r.fail(j, field, "'" + key + "' has to stand alone");
    if (type == isa::Type::none) {
        std::vector<std::string_view> names = value_types();
        names.insert(names.end(), {"buffer", "pointer", "bytes", "struct", "pad", "tensorMap"});
        return r.fail(j, field,
                      "'" + key + "' is not buffer, bytes, struct, tensorMap or one of " +
                          value_type_names() + suggestion(key, names));
    }
    const Json& value = j.items()[member];
    const std::string at = field + "." + key;
    const uint64_t width = isa::bits(type) / 8;
    out.type = key;
    out.alignment = width;
    const size_t count = value.is(JsonKind::list) ? value.items().size() : 1;
    if (count == 0) return r.fail(value, at, "at least one number is expected");
    for (size_t i = 0; i < count; ++i) {
        const bool list = value.is(JsonKind::list);
        const uint64_t bits = r.scalar(list ? value.items()[i] : value, type,
                                       list ? at + "[" + std::to_string(i) + "]" : at);
        out.bytes.resize(out.bytes.size() + width);
        std::memcpy(out.bytes.data() + i * width, &bits, width);
    }
}

}  // namespace

Pointer read_pointer(Reader& r, const Json& j, const std::string& field, const char* name) {
    Pointer p;
    p.place = r.place(j);
    if (!j.is(JsonKind::object) || j.find(name) == nullptr) {
        p.buffer = r.text(j, field);
        return p;
    }
    if (!r.object(j, field, {name, "offset"})) return p;
    p.buffer = r.text(*j.find(name), field + "." + name);
    if (const Json* offset = j.find("offset"))
        p.offset = r.integer(*offset, field + ".offset", UINT64_MAX);
    return p;
}

void read_pointers(Reader& r, const Json& j, const std::string& field, uint64_t size,
                   std::vector<Pointer>& out) {
    if (!j.is(JsonKind::object))
        return r.fail(j, field, "an object {\"byte offset\": \"buffer\"} is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& key = j.keys()[i].name;
        const Json& value = j.items()[i];
        if (key == "comment") continue;
        const std::string at = field + "." + key;
        Pointer p = read_pointer(r, value, at, "buffer");
        p.at = r.offset_key(value, key, at);
        if (p.at > size || size - p.at < address_bytes)
            r.fail(value, at, "8 bytes there do not fit " + std::to_string(size));
        out.push_back(std::move(p));
    }
}

void read_argument(Reader& r, const Json& j, const std::string& field, Argument& out) {
    out.place = r.place(j);
    if (!j.is(JsonKind::object) || Reader::members(j) == 0)
        return r.fail(j, field,
                      "an object such as {\"buffer\": \"A\"} or {\"s32\": 5} is expected");
    for (const char* name : {"buffer", "pointer"})
        if (j.find(name) != nullptr) {
            out.type = "buffer";
            out.alignment = address_bytes;
            out.bytes.assign(address_bytes, 0);
            out.pointers.push_back(read_pointer(r, j, field, name));
            return;
        }
    if (const Json* map = j.find("tensorMap")) {
        if (!r.object(j, field, {"tensorMap"})) return;
        out.type = "tensorMap";
        out.alignment = map_alignment;
        out.bytes.assign(isa::tensor_map_bytes, 0);
        return place_tensor_map(r, *map, field + ".tensorMap", 0, out.bytes, out.maps,
                                out.pointers);
    }
    if (j.find("struct") != nullptr) {
        out.type = "struct";
        return read_struct(r, j, field, out);
    }
    if (const Json* hex = j.find("bytes")) {
        r.object(j, field, {"bytes", "pointers", "tensorMaps"});
        const std::string bytes = r.hex(*hex, field + ".bytes");
        out.type = "bytes";
        out.bytes.assign(bytes.begin(), bytes.end());
        if (const Json* pointers = j.find("pointers"))
            read_pointers(r, *pointers, field + ".pointers", out.bytes.size(), out.pointers);
        if (const Json* maps = j.find("tensorMaps"))
            read_placed_maps(r, *maps, field + ".tensorMaps", out.bytes.size(), out.bytes, out.maps,
                             out.pointers);
        return;
    }
    read_number(r, j, field, out);
}

}  // namespace lockwarp::launch
