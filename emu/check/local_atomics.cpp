// SPDX-License-Identifier: Apache-2.0
// Atomics by a generic address that leads to local memory. PTX manual, "atom" and "red": they are
// on global and shared memory. An H100 (driver 580.159.04) changes the thread's own word where the
// assembler does not see where the address leads, and another thread's, or nobody's, where it does.
#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;

struct OfCta : warp::CtaObserver {
    explicit OfCta(const isa::Program& p) : program(p) {}
    void retired(const warp::Retired& e) override;

    const isa::Program& program;
    Collection found;
};

void OfCta::retired(const warp::Retired& e) {
    const Op op = program.operations[e.operation].op;
    if (op != Op::atom && op != Op::red) return;
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        if (!a.store || a.space != ptx::Space::local || a.lanes == 0) continue;
        if (found.again("local-atomic", e.operation, std::nullopt)) continue;
        const auto lane = static_cast<unsigned>(__builtin_ctz(a.lanes));
        Finding f;
        f.kind = "local-atomic";
        f.here = {e.operation, e.cta, e.warp, a.lanes, e.step};
        f.space = a.space;
        f.address = a.address[lane];
        f.bytes = a.bytes_of_lane[lane];
        f.message = "changes local memory, where atomics are on global and shared memory";
        f.hint =
            "where the assembler sees that the address is local, a GPU changes another word: "
            "the memory is the thread's own, and needs no atomic";
        found.add(std::move(f));
    }
}

}  // namespace

std::unique_ptr<Check> local_atomics(const isa::Program& program, const warp::Launch&) {
    for (const isa::Operation& o : program.operations)
        if ((o.op == Op::atom || o.op == Op::red) && o.mod.space == ptx::Space::none)
            return std::make_unique<OfProgram<OfCta>>(program);
    return nullptr;
}

}  // namespace lockwarp::check
