// SPDX-License-Identifier: Apache-2.0
#include "lanes/tensor_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockwarp::lanes {

namespace {

using isa::TensorMap;
using isa::TensorRow;

constexpr uint32_t chunk = 16;
constexpr uint32_t max_drawn = 16;  // rows

std::string hex_of(const isa::TensorMapBytes& bytes) {
    std::string out;
    for (const uint8_t b : bytes) out += fmt::format("{:02x}", b);
    return out;
}

uint64_t field_of(const isa::TensorMapBytes& bytes, const isa::TensorMapField& f) {
    uint64_t value = 0;
    for (unsigned i = 0; i < f.bits; ++i)
        value |= uint64_t{bytes[(f.bit + i) / 8] >> ((f.bit + i) % 8) & 1u} << i;
    return value;
}

Grid fields(const TensorMap& m, const isa::TensorMapBytes& bytes) {
    Grid g;
    g.header = {"byte", "bits", "field", "value", "meaning"};
    for (const isa::TensorMapField& f : isa::tensor_map_fields(m.im2col)) {
        const uint64_t value = field_of(bytes, f);
        g.rows.push_back({fmt::format("0x{:02x}", f.bit / 32 * 4),
                          fmt::format("{}:{}", f.bit % 32 + f.bits - 1, f.bit % 32),
                          std::string(f.name), fmt::format("0x{:x}", value),
                          std::string(f.meaning)});
    }
    return g;
}

std::string sizes(const auto& values, unsigned n) {
    return fmt::format("{}", fmt::join(values.begin(), values.begin() + n, " x "));
}

std::string position(const std::array<int64_t, isa::max_tensor_rank>& at, unsigned rank) {
    return fmt::format("[{}]", fmt::join(at.begin(), at.begin() + rank, ", "));
}

std::string summary(const TensorMap& m) {
    const std::string box =
        m.im2col ? fmt::format("columns of {} pixels x {} channels", m.pixels, m.channels)
                 : "box " + sizes(m.box, m.rank);
    std::string out = fmt::format("{} {}, {}: {} bytes a copy", isa::row(m.type).name,
                                  sizes(m.dim, m.rank), box, isa::copied_bytes(m));
    if (m.swizzle != isa::TensorSwizzle::none)
        out +=
            fmt::format(", swizzle {}", isa::tensor_swizzle_names[static_cast<size_t>(m.swizzle)]);
    if (m.interleave != isa::TensorInterleave::none)
        out += fmt::format(", interleave {}",
                           isa::interleave_names[static_cast<size_t>(m.interleave)]);
    return out;
}

// A chunk of 16 bytes of the box: the row that it belongs to, from which of its bytes on, and where
// it lies.
struct Chunk {
    TensorRow row;
    uint32_t from = 0;
    uint32_t at = 0;
};

std::vector<Chunk> chunks_of(const TensorMapQuestion& q) {
    const TensorMap& m = q.copy.map;
    std::vector<Chunk> out;
    isa::TensorRows rows(q.copy);
    for (uint32_t i = 0; i < isa::tensor_rows(m); ++i) {
        const TensorRow row = rows.next();
        for (uint32_t from = 0; from < isa::row_bytes(m); from += chunk)
            out.push_back(
                {row, from,
                 isa::swizzled(m.swizzle, q.shared + i * isa::row_pitch(m) + from) - q.shared});
    }
    return out;
}

// The byte of a row: its element, or that it lies outside.
std::string element_text(const TensorMap& m, const TensorRow& row, uint32_t byte) {
    std::array<int64_t, isa::max_tensor_rank> at = row.at;
    const bool slices = m.interleave != isa::TensorInterleave::none;
    const unsigned size = isa::element_bytes(m);
    if (!slices) at[0] += byte / size;
    std::string out = "element " + position(at, m.rank);
    if (slices) out += fmt::format(", channel {} of its slice", byte / size);
    if (size > 1) out += fmt::format(", byte {}", byte % size);
    if (byte < row.before || byte >= row.before + row.inside) return out + ": outside the tensor";
    return out +
           fmt::format(", at globalAddress + {}", row.global + (byte - row.before) - m.address);
}

void answer_byte(const TensorMapQuestion& q, const std::vector<Chunk>& chunks, Answer& out) {
    const uint64_t byte = *q.byte;
    const auto found = std::ranges::find_if(
        chunks, [&](const Chunk& c) { return byte >= c.at && byte < c.at + chunk; });
    if (found == chunks.end())
        out.line = fmt::format("byte {} of the box: nothing is copied there", byte);
    else
        out.line = fmt::format("byte {} of the box: {}", byte,
                               element_text(q.copy.map, found->row,
                                            found->from + static_cast<uint32_t>(byte - found->at)));
}

void answer_element(const TensorMapQuestion& q, const std::vector<Chunk>& chunks, Answer& out) {
    const TensorMap& m = q.copy.map;
    const std::vector<int64_t>& wanted = *q.element;
    const bool slices = m.interleave != isa::TensorInterleave::none;
    const uint32_t size = isa::element_bytes(m);
    std::string places;
    for (const Chunk& c : chunks) {
        bool same = true;
        for (unsigned i = slices ? 0 : 1; i < m.rank; ++i) same &= c.row.at[i] == wanted[i];
        const int64_t begin = slices ? 0 : (wanted[0] - c.row.at[0]) * size - c.from;
        if (!same || begin < 0 || begin >= chunk || (slices && c.from != 0)) continue;
        places += (places.empty() ? "" : " and ") + fmt::format("byte {} of the box", c.at + begin);
    }
    out.line = fmt::format("element [{}]: {}", fmt::join(wanted, ", "),
                           places.empty() ? "this copy does not bring it" : places);
}

// Which chunk of which row lies where, 128 bytes a line.
Grid picture(const TensorMapQuestion& q, const std::vector<Chunk>& chunks) {
    const TensorMap& m = q.copy.map;
    Grid g;
    g.title = "Shared memory, 16 bytes a cell: the coordinates of its first element";
    g.header = {"address"};
    for (unsigned i = 0; i < 8; ++i) g.header.push_back(fmt::format("+{}", i * chunk));
    const uint32_t bytes = std::min(isa::box_bytes(m), max_drawn * 128);
    for (uint32_t at = 0; at < bytes; at += 128) {
        std::vector<std::string> row{fmt::format("0x{:x}", q.shared + at)};
        row.resize(9);
        for (const Chunk& c : chunks)
            if (c.at >= at && c.at < at + 128) {
                std::array<int64_t, isa::max_tensor_rank> first = c.row.at;
                if (m.interleave == isa::TensorInterleave::none)
                    first[0] += c.from / isa::element_bytes(m);
                const bool inside =
                    c.from + chunk > c.row.before && c.from < c.row.before + c.row.inside;
                row[1 + (c.at - at) / chunk] = (inside ? "" : "outside ") + position(first, m.rank);
            }
        g.rows.push_back(std::move(row));
    }
    return g;
}

}  // namespace

Answer ask_tensor_map(const TensorMapQuestion& q) {
    const TensorMap& m = q.copy.map;
    if (q.shared % isa::tensor_alignment != 0)
        return wrong("a box in shared memory begins at a multiple of 128");
    if (q.element && q.element->size() != m.rank)
        return wrong(fmt::format("an element of this map has {} coordinates", m.rank));
    Answer out;
    const std::vector<std::string> wrongs = isa::refusals(m);
    const isa::TensorMapBytes bytes = isa::encode(m);
    out.data = {{"bytes", hex_of(bytes)}, {"errors", wrongs}};
    for (const std::string& w : wrongs) out.notes.push_back("the driver refuses it: " + w);
    const std::string illegal = isa::illegal(q.copy, isa::TensorDirection::load);
    if (wrongs.empty() && !illegal.empty()) out.notes.push_back("illegal as a load: " + illegal);
    out.line = summary(m);
    out.lines = {hex_of(bytes)};
    if (!wrongs.empty()) {
        out.grids.push_back(fields(m, bytes));
        return out;
    }
    const std::vector<Chunk> chunks = chunks_of(q);
    if (q.byte) answer_byte(q, chunks, out);
    if (q.element) answer_element(q, chunks, out);
    if (!q.byte && !q.element) out.grids.push_back(fields(m, bytes));
    out.grids.push_back(picture(q, chunks));
    return out;
}

}  // namespace lockwarp::lanes
