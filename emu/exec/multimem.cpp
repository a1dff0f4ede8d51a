// SPDX-License-Identifier: Apache-2.0
// multimem. PTX manual, "multimem.ld_reduce", "multimem.st", "multimem.red". A launch here has no
// memory that several GPUs share: every address is one GPU's, which the manual leaves undefined. An
// H200 stores and reduces there as st and red do, and finds an illegal address in ld_reduce.
#include <cstring>

#include "emu/exec/access.hpp"
#include "emu/exec/families.hpp"

namespace lockwarp::exec {

namespace {

void store(Context& c, const Step& s, uint32_t mask) {
    const Operation& o = *s.op;
    const uint32_t each = isa::bits(o.mod.type[0]) / 8;
    const isa::VectorRef v = o.vector[0];
    LaneAddresses addresses;
    LanePointers p;
    lane_addresses(c, o.address[0], mask, addresses);
    if (!locate(c, o, ptx::Space::global, addresses, mask, each * v.count, each * v.count, true, p))
        return;
    each_lane(mask, [&](unsigned lane) {
        for (uint32_t i = 0; i < v.count; ++i) {
            const Ref ref = c.program->pool[v.first + i];
            const uint64_t value =
                each == 8 ? slot<uint64_t>(c, ref)[lane] : slot<uint32_t>(c, ref)[lane];
            std::memcpy(p[lane] + size_t{i} * each, &value, each);
        }
    });
}

void load(Context& c, const Step& s, uint32_t mask) {
    LaneAddresses addresses;
    lane_addresses(c, s.op->address[0], mask, addresses);
    const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
    set_trap(c, *s.op, warp::TrapKind::out_of_bounds, "not memory that several GPUs share", lane,
             addresses[lane], ptx::Space::global);
}

}  // namespace

Handler multimem_store_handler(const Operation&) { return store; }
Handler multimem_load_handler(const Operation&) { return load; }

}  // namespace lockwarp::exec
