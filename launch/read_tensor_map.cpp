// SPDX-License-Identifier: Apache-2.0
// "tensorMaps": the arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, by the
// driver's names.
#include <algorithm>
#include <cmath>
#include <span>

#include "launch/nearest.hpp"
#include "launch/reader.hpp"

namespace lockwarp::launch {

namespace {

using isa::TensorMap;

// One of the names; of what they stand for the index.
template <class E, class Names>
void read_name(Reader& r, const Json& j, const std::string& within, const char* name,
               const Names& names, E& out) {
    const Json* const value = j.find(name);
    if (value == nullptr) return;
    const std::string field = within + "." + name;
    const std::string text = r.text(*value, field);
    const auto found = std::ranges::find(names, text);
    if (found != names.end()) {
        out = static_cast<E>(found - names.begin());
        return;
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    std::string list;
    for (const std::string_view n : known) list += (list.empty() ? "" : ", ") + std::string(n);
    r.fail(*value, field, "one of " + list + " is expected, not " + r.seen(*value));
}

int64_t read_integer(Reader& r, const Json& j, const std::string& field, bool is_signed) {
    if (!is_signed) return static_cast<int64_t>(r.integer(j, field, uint64_t{1} << 62));
    const double value = r.number(j, field);
    if (value != std::floor(value) || std::abs(value) > INT32_MAX)
        r.fail(j, field, "a whole number is expected, not " + r.seen(j));
    return static_cast<int64_t>(value);
}

// A list of `count` numbers.
template <class T, size_t n>
void read_list(Reader& r, const Json& j, const std::string& within, const char* name, size_t count,
               std::array<T, n>& out) {
    const Json* const list = j.find(name);
    const std::string field = within + "." + name;
    if (list == nullptr) return r.fail(j, field, "is missing");
    if (!list->is(JsonKind::list) || list->items().size() != count)
        return r.fail(*list, field,
                      "a list of " + std::to_string(count) + " numbers is expected, as tensorRank" +
                          " says, not " + r.seen(*list));
    for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<T>(read_integer(
            r, list->items()[i], field + "[" + std::to_string(i) + "]", std::is_signed_v<T>));
}

void read_number(Reader& r, const Json& j, const std::string& within, const char* name,
                 uint32_t& out) {
    const Json* const value = j.find(name);
    if (value == nullptr) return r.fail(j, within + "." + name, "is missing");
    out = static_cast<uint32_t>(r.integer(*value, within + "." + name, UINT32_MAX));
}

std::vector<std::string_view> type_names() {
    std::vector<std::string_view> out;
    for (const isa::TensorTypeRow& row : isa::tensor_types) out.push_back(row.name);
    return out;
}

void read_extents(Reader& r, const Json& j, const std::string& field, TensorMap& m) {
    const size_t rank = m.rank;
    read_list(r, j, field, "globalDim", rank, m.dim);
    if (rank > 1 || j.find("globalStrides") != nullptr)
        read_list(r, j, field, "globalStrides", rank - 1, m.stride);
    if (j.find("elementStrides") != nullptr)
        read_list(r, j, field, "elementStrides", rank, m.element_stride);
    if (!m.im2col) return read_list(r, j, field, "boxDim", rank, m.box);
    read_list(r, j, field, "pixelBoxLowerCorner", rank - 2, m.lower);
    read_list(r, j, field, "pixelBoxUpperCorner", rank - 2, m.upper);
    read_number(r, j, field, "channelsPerPixel", m.channels);
    read_number(r, j, field, "pixelsPerColumn", m.pixels);
}

// What the driver would refuse. Buffers lie on multiples of 256.
void check(Reader& r, const Json& j, const std::string& field, const TensorMapField& out) {
    TensorMap m = out.map;
    m.address = out.offset;
    const std::vector<std::string> wrong = isa::refusals(m);
    if (wrong.empty()) return;
    const std::string name = wrong[0].substr(0, wrong[0].find_first_of("[ "));
    const Json* const place = j.find(name);
    std::string words = wrong[0];
    for (size_t i = 1; i < wrong.size(); ++i) words += "; " + wrong[i];
    r.fail(place != nullptr ? *place : j, field, words);
}

void read_map(Reader& r, const Json& j, const std::string& field, TensorMapField& out) {
    if (!r.object(
            j, field,
            {"tensorDataType", "tensorRank", "globalAddress", "globalDim", "globalStrides",
             "boxDim", "elementStrides", "interleave", "swizzle", "l2Promotion", "oobFill",
             "pixelBoxLowerCorner", "pixelBoxUpperCorner", "channelsPerPixel", "pixelsPerColumn"}))
        return;
    TensorMap& m = out.map;
    m.im2col = j.find("pixelsPerColumn") != nullptr || j.find("channelsPerPixel") != nullptr ||
               j.find("pixelBoxLowerCorner") != nullptr;
    if (const Json* box = j.find("boxDim"); box != nullptr && m.im2col)
        return r.fail(*box, field + ".boxDim", "an im2col map has none");
    for (const char* name : {"tensorDataType", "globalAddress", "tensorRank"})
        if (j.find(name) == nullptr) return r.fail(j, field + "." + name, "is missing");
    read_name(r, j, field, "tensorDataType", type_names(), m.type);
    const Pointer p = read_pointer(r, *j.find("globalAddress"), field + ".globalAddress", "buffer");
    out.buffer = p.buffer;
    out.offset = p.offset;
    read_number(r, j, field, "tensorRank", m.rank);
    if (r.wrong) return;
    const uint32_t least = m.im2col ? 3 : 1;
    if (m.rank < least || m.rank > isa::max_tensor_rank)
        return r.fail(*j.find("tensorRank"), field + ".tensorRank",
                      std::to_string(least) + " to 5 is expected, not " + std::to_string(m.rank));
    read_extents(r, j, field, m);
    read_name(r, j, field, "interleave", isa::interleave_names, m.interleave);
    read_name(r, j, field, "swizzle", isa::tensor_swizzle_names, m.swizzle);
    read_name(r, j, field, "l2Promotion", isa::promotion_names, m.promotion);
    read_name(r, j, field, "oobFill", isa::fill_names, m.fill);
    check(r, j, field, out);
}

}  // namespace

void read_tensor_maps(Reader& r, const Json& j) {
    if (!j.is(JsonKind::object))
        return r.fail(j, "tensorMaps", "an object of tensor maps by name is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const Json& value = j.items()[i];
        if (j.keys()[i].name == "comment" && value.is(JsonKind::text)) continue;
        TensorMapField& map = r.tensor_maps.emplace_back();
        map.place = r.place(value);
        map.name = j.keys()[i].name;
        read_map(r, value, "tensorMaps." + map.name, map);
    }
}

void place_tensor_map(Reader& r, const Json& j, const std::string& field, uint64_t at,
                      std::span<uint8_t> bytes, std::vector<PlacedMap>& maps,
                      std::vector<Pointer>& pointers) {
    const std::string name = r.text(j, field);
    const auto found = std::ranges::find(r.tensor_maps, name, &TensorMapField::name);
    if (found == r.tensor_maps.end()) {
        std::vector<std::string_view> names;
        for (const TensorMapField& m : r.tensor_maps) names.push_back(m.name);
        return r.fail(j, field,
                      "there is no tensor map '" + shown(name) + "'" + suggestion(name, names));
    }
    maps.push_back({at, static_cast<size_t>(found - r.tensor_maps.begin())});
    pointers.push_back({r.place(j), at, found->buffer, found->offset});
    if (!bytes.empty())
        std::ranges::copy(isa::encode(found->map), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

void read_placed_maps(Reader& r, const Json& j, const std::string& field, uint64_t size,
                      std::span<uint8_t> bytes, std::vector<PlacedMap>& maps,
                      std::vector<Pointer>& pointers) {
    if (!j.is(JsonKind::object))
        return r.fail(j, field, "an object {\"byte offset\": \"tensor map\"} is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& key = j.keys()[i].name;
        const Json& value = j.items()[i];
        if (key == "comment") continue;
        const std::string where = field + "." + key;
        const uint64_t at = r.offset_key(value, key, where);
        if (at > size || size - at < isa::tensor_map_bytes)
            return r.fail(value, where, "128 bytes there do not fit " + std::to_string(size));
        place_tensor_map(r, value, where, at, bytes, maps, pointers);
    }
}

}  // namespace lockwarp::launch
