// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/fragments.hpp"

namespace lockwarp::exec {

namespace {

template <class T>
void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, unsigned width,
            uint64_t* out) {
    const Ref* refs = c.program->pool.data() + v.first;
    const uint64_t ones = width >= 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    for (size_t i = 0; i < n; ++i)
        out[i] = (uint64_t{slot<T>(c, refs[cells[i].reg])[cells[i].lane]} >> cells[i].shift) & ones;
}

}  // namespace

void gather(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type, uint64_t* out) {
    if (isa::bits(type) == 64)
        gather<uint64_t>(c, v, cells, n, 64, out);
    else
        gather<uint32_t>(c, v, cells, n, isa::bits(type), out);
}

void scatter(Context& c, isa::VectorRef v, const Cell* cells, size_t n, Type type,
             const uint64_t* in) {
    const Ref* refs = c.program->pool.data() + v.first;
    const unsigned width = isa::bits(type);
    for (size_t i = 0; i < n; ++i) {
        const Cell cell = cells[i];
        if (width == 64) {
            slot<uint64_t>(c, refs[cell.reg])[cell.lane] = in[i];
        } else if (width == 32) {
            slot<uint32_t>(c, refs[cell.reg])[cell.lane] = static_cast<uint32_t>(in[i]);
        } else {
            uint32_t& word = slot<uint32_t>(c, refs[cell.reg])[cell.lane];
            const uint32_t ones = (1u << width) - 1;
            word = (word & ~(ones << cell.shift)) | (static_cast<uint32_t>(in[i]) << cell.shift);
        }
    }
}

std::vector<Cell> cells(const isa::Elements& elements) {
    std::vector<Cell> out;
    for (const isa::Element& e : isa::first_owners(elements))
        out.push_back({e.lane, e.reg, e.shift});
    return out;
}

}  // namespace lockwarp::exec
