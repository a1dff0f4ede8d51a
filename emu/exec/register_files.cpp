// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/register_files.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "emu/warp/state.hpp"

namespace lockwarp::exec {

namespace {

using Range = RegisterLayout::Range;

Range slot(isa::Ref ref, uint8_t width) {
    return {ref, ref + (width == 1 ? 4 : width > 32 ? 256 : 128)};
}

// In order; those that touch are one.
std::vector<Range> joined(std::vector<Range> ranges) {
    std::ranges::sort(ranges, {}, &Range::begin);
    std::vector<Range> out;
    for (const Range& r : ranges)
        if (!out.empty() && r.begin <= out.back().end)
            out.back().end = std::max(out.back().end, r.end);
        else
            out.push_back(r);
    return out;
}

}  // namespace

RegisterLayout register_layout(const isa::Program& program) {
    RegisterLayout out;
    std::vector<isa::Ref> owned;
    for (const isa::Function& f : program.functions) {
        std::vector<Range> own;
        for (const isa::OwnSlot& s : f.own) {
            own.push_back(slot(s.ref, s.width));
            owned.push_back(s.ref);
        }
        out.of_function.push_back(joined(std::move(own)));
    }
    std::ranges::sort(owned);
    std::vector<Range> always{{0, isa::first_free_byte}};
    if (program.carry != isa::no_ref) always.push_back(slot(program.carry, 1));
    for (const isa::Register& r : program.registers)
        if (r.ref != isa::no_ref && !std::ranges::binary_search(owned, r.ref))
            always.push_back(
                slot(r.ref, static_cast<uint8_t>(r.type == isa::Type::pred ? 1 : bits(r.type))));
    out.always = joined(std::move(always));
    return out;
}

RegisterFiles::RegisterFiles(const isa::Program& program, const RegisterLayout& layout,
                             size_t warps, uint32_t rank)
    : layout_(layout),
      bytes_((program.register_bytes + 63) / 64 * size_t{64}),
      storage_(static_cast<uint8_t*>(std::calloc(warps * bytes_ + 64, 1))),
      entered_(warps * layout.of_function.size()) {
    if (storage_ == nullptr) throw std::bad_alloc();
    const auto address = reinterpret_cast<uintptr_t>(storage_.get());
    first_ = storage_.get() + ((64 - address % 64) % 64);
    for (size_t warp = 0; warp < warps; ++warp)
        for (const isa::Constant& k : program.constants) {
            uint8_t* const at = of_warp(warp) + k.ref;
            const uint32_t lanes = k.value != 0 ? warp::all_lanes : 0;
            const uint64_t value =
                k.value | (k.in_shared ? uint64_t{rank} << isa::rank_bit : uint64_t{0});
            if (k.width == 1)
                std::memcpy(at, &lanes, sizeof lanes);
            else
                for (unsigned lane = 0; lane < 32; ++lane)
                    std::memcpy(at + lane * (k.width / 8), &value, k.width / 8);
        }
}

void RegisterFiles::reset(size_t warp) {
    uint8_t* const file = of_warp(warp);
    const auto clear = [&](const std::vector<Range>& ranges) {
        for (const Range& r : ranges) std::memset(file + r.begin, 0, r.end - r.begin);
    };
    clear(layout_.always);
    const size_t functions = layout_.of_function.size();
    for (size_t f = 1; f < functions; ++f)
        if (std::exchange(entered_[warp * functions + f], 0) != 0) clear(layout_.of_function[f]);
}

}  // namespace lockwarp::exec
