// SPDX-License-Identifier: Apache-2.0
// Metadata of a sparse A that names no two places of a group. PTX manual, "Sparse matrix storage":
// 0b0000, 0b0101, 0b1010 and 0b1111 are undefined behaviour, and of .tf32 all but 0b0100 and
// 0b1110. An H100 takes the element that is named, twice, and of .tf32 the halves that are named
// (sparse.hpp): a product, but not that of any A.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/isa/elements.hpp"
#include "emu/isa/sparse.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;

// Four bits of the metadata, of a row and a group of A.
struct Four {
    unsigned row, group;
    isa::MetadataPlace at;
};

std::vector<Four> fours_of(const isa::Operation& o) {
    std::vector<Four> out;
    const auto selector = static_cast<unsigned>(o.immediate);
    if (o.mma != nullptr) {
        const unsigned first = isa::metadata_lanes(*o.mma) * selector;
        for (const isa::Element e : isa::metadata_elements(*o.mma))
            out.push_back({e.row, e.column, {e.lane + first, e.shift}});
        return out;
    }
    constexpr unsigned rows = 16, bits_of_row = 512;
    const unsigned width = isa::bits(o.warpgroup->types->a);
    const unsigned groups = bits_of_row / isa::unit_bits(width) / isa::group_units;
    for (unsigned row = 0; row < rows; ++row)
        for (unsigned group = 0; group < groups; ++group)
            out.push_back({row, group, isa::warpgroup_metadata(width, row, group, selector)});
    return out;
}

bool is_sparse(const isa::Operation& o) {
    return (o.op == Op::mma && o.mma->sparse) || (o.op == Op::wgmma_mma && o.mod.sparse);
}

isa::Type type_of_a(const isa::Operation& o) {
    return o.mma != nullptr ? o.mma->a : o.warpgroup->types->a;
}

bool is_meaningful(const isa::Operation& o, unsigned four) {
    if (type_of_a(o) == isa::Type::tf32) return four == 0b0100 || four == 0b1110;
    const unsigned first = four & 3, second = four >> 2;
    return o.mma != nullptr && o.mma->ordered ? first < second : first != second;
}

struct OfCta : warp::CtaObserver {
    explicit OfCta(const isa::Program& p) : program(p) {}
    void retired(const warp::Retired& e) override;

    const isa::Program& program;
    Collection found;
};

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program.operations[e.operation];
    if (!is_sparse(o) || e.executed == 0) return;
    const isa::Ref metadata = o.r[o.mma != nullptr ? 0 : 2];
    // Registers are seen behind the instruction: the product may lie in this one.
    for (uint32_t i = 0; i < o.vector[0].count; ++i)
        if (program.pool[o.vector[0].first + i] == metadata) return;
    std::array<uint32_t, 32> words{};
    std::memcpy(words.data(), e.registers + metadata, sizeof words);
    bool zero = false, wrong = false;  // once for each product
    for (const Four& f : fours_of(o)) {
        const unsigned four = words[f.at.lane] >> f.at.shift & 15;
        if (is_meaningful(o, four)) continue;
        // Where rows end in zeros that were never compressed, A has zeros too.
        const std::string_view kind = four == 0 ? "metadata-zero" : "metadata";
        bool& is_told = four == 0 ? zero : wrong;
        if (std::exchange(is_told, true) || found.again(kind, e.operation, std::nullopt)) continue;
        const unsigned first_row = o.mma != nullptr ? 0 : e.warp % 4 * 16;
        Finding out;
        out.kind = kind;
        if (four == 0) out.severity = Severity::note;
        out.here = {e.operation, e.cta, e.warp, 1u << f.at.lane, e.step};
        out.message = "metadata 0b" + std::bitset<4>(four).to_string() + " of row " +
                      std::to_string(first_row + f.row) + " of A, group " +
                      std::to_string(f.group) + " along k, names " +
                      (type_of_a(o) == isa::Type::tf32 ? "no element of two"
                       : four % 4 == four / 4          ? "one place of four twice"
                                                       : "two places in descending order");
        out.hint = type_of_a(o) == isa::Type::tf32
                       ? "0b0100 is the first element of two, 0b1110 the second"
                       : "the lower two bits are the place of the first element, the upper two "
                         "that of the second, behind it";
        found.add(std::move(out));
    }
}

}  // namespace

std::unique_ptr<Check> sparse_metadata(const isa::Program& program, const warp::Launch&) {
    if (std::ranges::none_of(program.operations, is_sparse)) return nullptr;
    return std::make_unique<OfProgram<OfCta>>(program);
}

}  // namespace lockwarp::check
