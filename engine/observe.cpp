// SPDX-License-Identifier: Apache-2.0
// Events, and the instructions they name.
#include "engine/observe.hpp"

#include <algorithm>
#include <array>

#include "emu/ptx/printer.hpp"
#include "engine/error.hpp"
#include "engine/structs.hpp"

using namespace lockwarp;
using namespace lockwarp::engine;

namespace {

lockwarp_accessed shown(const warp::Access& access) {
    return {sizeof(lockwarp_accessed), space_name(access.space),   access.store, access.lanes,
            access.address.data(),     access.bytes_of_lane.data()};
}

lockwarp_written shown(const isa::Register& reg, const uint8_t* registers) {
    const bool is_predicate = reg.type == isa::Type::pred;
    const uint32_t bits = is_predicate ? 1 : isa::bits(reg.type) > 64 ? 64 : isa::bits(reg.type);
    return {sizeof(lockwarp_written),
            reg.name.c_str(),
            isa::row(reg.type).name.data() + 1,
            bits,
            reg.half,
            registers + reg.ref};
}

class CtaListener : public warp::CtaObserver {
  public:
    CtaListener(const lockwarp_kernel& kernel, const lockwarp_observer& to, uint64_t index)
        : kernel_(kernel), to_(to), index_(index) {}

    void retired(const warp::Retired& event) override {
        const isa::Program& p = *event.program;
        const isa::Operation& o = p.operations[event.operation];
        const lockwarp_retired at{sizeof at,       &kernel_,
                                  event.cta_index, {event.cta[0], event.cta[1], event.cta[2]},
                                  event.warp,      event.step,
                                  event.operation, o.place.line,
                                  event.active,    event.executed,
                                  event.undefined, 0};
        if (to_.accessed != nullptr)
            for (uint32_t i = 0; i < event.access_count; ++i) {
                const lockwarp_accessed what = shown(event.accesses[i]);
                to_.accessed(to_.user, &at, &what);
            }
        if (to_.written != nullptr && event.executed != 0)
            for (uint32_t i = 0; i < o.written; ++i) {
                const isa::Register& reg = p.registers[p.uses[o.first_use + i]];
                if (reg.ref == isa::no_ref) continue;
                const lockwarp_written what = shown(reg, event.registers);
                to_.written(to_.user, &at, &what);
            }
        if (to_.retired != nullptr) to_.retired(to_.user, &at);
    }

    void ended() override {
        if (to_.cta_ended != nullptr) to_.cta_ended(to_.user, index_);
    }

  private:
    const lockwarp_kernel& kernel_;
    const lockwarp_observer& to_;
    uint64_t index_;
};

using ByPlace = std::map<std::pair<uint32_t, uint32_t>, const ptx::Instruction*>;

void collect(const ptx::Block& block, ByPlace& out) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* i = std::get_if<ptx::Instruction>(&s.node))
            out[{i->place.line, i->place.column}] = i;
        if (const auto* inner = std::get_if<ptx::Block>(&s.node)) collect(*inner, out);
    }
}

void spell_all(const lockwarp_kernel& kernel) {
    ByPlace instructions;
    for (const auto& item : kernel.module->tree.items)
        if (const auto* f = std::get_if<ptx::Function>(&item)) collect(f->body, instructions);
    const isa::Program& p = kernel.program;
    std::vector<Spelled> out(p.operations.size());
    for (const isa::Function& f : p.functions)
        for (uint32_t i = f.first; i < f.end; ++i) {
            const ptx::Place place = p.operations[i].place;
            out[i].function = f.name;
            const auto found = instructions.find({place.line, place.column});
            if (found != instructions.end()) out[i].text = ptx::print(*found->second);
            const std::vector<ptx::SourcePlace> places =
                ptx::places_of(kernel.module->sources, place);
            if (!places.empty()) out[i].source = places[0];
        }
    kernel.spelled = std::move(out);
}

}  // namespace

namespace lockwarp::engine {

const char* space_name(ptx::Space space) {
    switch (space) {
        case ptx::Space::none:
        case ptx::Space::reg:
        case ptx::Space::sreg:
        case ptx::Space::tex:
            return "";
        case ptx::Space::const_:
            return "const";
        case ptx::Space::global:
            return "global";
        case ptx::Space::local:
            return "local";
        case ptx::Space::param:
            return "param";
        case ptx::Space::shared:
            return "shared";
    }
    return "";
}

std::unique_ptr<warp::CtaObserver> Listener::begin(const warp::CtaPlace& cta) {
    if (to_.cta_began != nullptr) to_.cta_began(to_.user, cta.index);
    return std::make_unique<CtaListener>(kernel_, to_, cta.index);
}

}  // namespace lockwarp::engine

size_t lockwarp_kernel_instructions(const lockwarp_kernel* kernel) {
    return kernel == nullptr ? 0 : kernel->program.operations.size();
}

lockwarp_status lockwarp_kernel_instruction(const lockwarp_kernel* kernel, size_t index,
                                            lockwarp_instruction* out) {
    return guarded(nullptr, [&] {
        if (kernel == nullptr || out == nullptr || out->struct_size == 0)
            return LOCKWARP_INVALID_ARGUMENT;
        if (index >= kernel->program.operations.size()) return LOCKWARP_NOT_FOUND;
        std::call_once(kernel->spelled_once, [&] { spell_all(*kernel); });
        const isa::Operation& o = kernel->program.operations[index];
        const Spelled& s = kernel->spelled[index];
        give(out,
             {sizeof *out, isa::row(o.op).name.data(), s.text.c_str(), s.function.c_str(),
              o.place.line, o.place.column, s.source.file.c_str(), s.source.line, s.source.column});
        return LOCKWARP_OK;
    });
}
