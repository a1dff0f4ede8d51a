// SPDX-License-Identifier: Apache-2.0
// Descriptors of matrices in shared memory (wgmma). PTX manual, "Asynchronous Warpgroup Level
// Matrix Shared Memory Layout", "Matrix Descriptor Format"; checked against results of an H200.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emu/isa/warpgroup.hpp"
#include "lanes/banks.hpp"

namespace lockwarp::lanes {

namespace {

using json = nlohmann::ordered_json;

constexpr uint64_t known_bits =
    0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62;

Answer describe(const Descriptor& d, uint64_t bits) {
    Answer out;
    out.line = fmt::format(
        "0x{:016x}: start 0x{:x}, LBO {}, SBO {}, {}, base offset {}", bits, d.start, d.leading,
        d.stride, d.swizzle == 0 ? "no swizzle" : fmt::format("{}-byte swizzle", d.swizzle),
        d.base_offset);
    Grid g;
    g.header = {"bits", "field", "value", "meaning"};
    const auto row = [&](const char* where, const char* field, std::string value, std::string is) {
        g.rows.push_back({where, field, std::move(value), std::move(is)});
    };
    row("13:0", "start address >> 4", fmt::format("0x{:x}", d.start >> 4),
        fmt::format("0x{:x}, modulo 256 KiB", d.start));
    row("29:16", "leading byte offset >> 4", std::to_string(d.leading >> 4),
        fmt::format("LBO {} bytes", d.leading));
    row("45:32", "stride byte offset >> 4", std::to_string(d.stride >> 4),
        fmt::format("SBO {} bytes", d.stride));
    row("51:49", "base offset", std::to_string(d.base_offset),
        d.base_offset == 0 ? "the pattern begins on a multiple of 8 rows"
                           : "(address >> 7) & 7 of where the pattern begins");
    row("63:62", "swizzle", std::to_string(bits >> 62),
        d.swizzle == 0 ? std::string("none: core matrices of 8 rows x 16 bytes")
                       : fmt::format("{}: address ^= ((address >> 7) & {}) << 4",
                                     text_of(Swizzle{d.swizzle == 128  ? 3
                                                     : d.swizzle == 64 ? 2
                                                                       : 1,
                                                     4, 3}),
                                     d.swizzle / 16 - 1));
    out.grids.push_back(std::move(g));
    Grid where;
    where.title = "Byte address of element (mn, k) of an operand of esz bytes, before the swizzle:";
    where.header = {"order", "address"};
    if (d.swizzle == 0) {
        where.rows = {{"K-major", "start + mn/8*SBO + mn%8*16 + k*esz/16*LBO + k*esz%16"},
                      {"MN-major", "start + mn*esz/16*SBO + mn*esz%16 + k/8*LBO + k%8*16"}};
    } else {
        where.rows = {
            {"K-major",
             fmt::format("start + mn/8*SBO + mn%8*{} + k*esz        (LBO is not read)", d.swizzle)},
            {"MN-major",
             fmt::format("start + mn*esz/{0}*LBO + mn*esz%{0} + k/8*SBO + k%8*{0}", d.swizzle)}};
    }
    out.grids.push_back(std::move(where));
    out.data = {{"descriptor", fmt::format("0x{:016x}", bits)},
                {"start", d.start},
                {"leading_byte_offset", d.leading},
                {"stride_byte_offset", d.stride},
                {"base_offset", d.base_offset},
                {"swizzle", d.swizzle}};
    if ((bits & ~known_bits) != 0)
        out.notes.push_back(
            fmt::format("bits 0x{:x} are reserved; sm_90 does not read them", bits & ~known_bits));
    if (d.swizzle != 0 && d.base_offset == 0 && d.start % (8 * d.swizzle) != 0)
        out.notes.push_back(fmt::format(
            "the start is not a multiple of {} (8 rows of {}): right for a step along k inside the "
            "pattern, else it needs a base offset",
            8 * d.swizzle, d.swizzle));
    return out;
}

}  // namespace

Answer decode_descriptor(uint64_t bits) {
    const isa::MatrixDescriptor d = isa::decode_descriptor(bits);
    return describe({d.start, d.leading, d.stride, d.base_offset, isa::swizzle_bytes(d.swizzle)},
                    bits);
}

Answer encode_descriptor(const Descriptor& d) {
    constexpr uint32_t limit = 1u << 18;
    const auto field = [&](const char* name, uint32_t bytes) -> std::string {
        if (bytes % 16 == 0 && bytes < limit) return "";
        return fmt::format("the {} has to be a multiple of 16 below {}; {} is not", name, limit,
                           bytes);
    };
    for (const std::string& problem :
         {field("start address", d.start), field("leading byte offset", d.leading),
          field("stride byte offset", d.stride)})
        if (!problem.empty()) return wrong(problem);
    if (d.base_offset > 7) return wrong("the base offset is 0 to 7");
    constexpr std::array swizzles{isa::Swizzle::none, isa::Swizzle::bytes_128,
                                  isa::Swizzle::bytes_64, isa::Swizzle::bytes_32};
    const auto* const swizzle = std::ranges::find(swizzles, d.swizzle, isa::swizzle_bytes);
    if (swizzle == swizzles.end()) return wrong("the swizzle is 0, 32, 64 or 128 bytes");
    const uint64_t bits = isa::encode_descriptor(
        {d.start, d.leading, d.stride, static_cast<uint8_t>(d.base_offset), *swizzle});
    return describe(d, bits);
}

}  // namespace lockwarp::lanes
