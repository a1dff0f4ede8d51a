#include "emu/timing/listener.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "emu/timing/wavefronts.hpp"

namespace lockwarp::timing {

namespace {

using isa::Operation;
using ptx::Space;

uint16_t narrow(uint64_t v) { return static_cast<uint16_t>(std::min<uint64_t>(v, 0xffff)); }

uint32_t lane_value(const warp::Retired& e, isa::Ref ref) {
    const auto lane = static_cast<size_t>(__builtin_ctz(e.executed));
    return reinterpret_cast<const uint32_t*>(e.registers + ref)[lane];
}

}  // namespace

Listener::Listener(const Lowering& lowering, uint64_t stride, uint64_t most_items, bool cold)
    : lowering_(lowering), stride_(stride), most_items_(most_items), cold_(cold) {}

void Listener::access(const warp::Retired& event, Item& item) {
    const Operation& o = lowering_.program->operations[event.operation];
    const bool l1_keeps = op_timing(o.op).fold == Fold::access &&
                          isa::row(o.op).memory == isa::Memory::load &&
                          o.mod.space != Space::shared;
    bool shared = false, global = false;
    uint64_t wavefronts_sum = 0, lines_sum = 0, sectors_sum = 0;
    // An atomic is heard of twice, as a load and as a store.
    const uint32_t count = isa::row(o.op).memory == isa::Memory::update
                               ? std::min(event.access_count, 1u)
                               : event.access_count;
    for (uint32_t i = 0; i < std::min<uint32_t>(count, 16); ++i) {
        const warp::Access& a = event.accesses[i];
        if (a.lanes == 0) continue;
        if (a.space == Space::shared) {
            shared = true;
            const unsigned merged = lowering_.operations[event.operation].merged;
            warp::Access whole = a;
            whole.bytes *= merged;
            wavefronts_sum += wavefronts(merged == 1 ? a : whole);
        } else if (a.space != Space::param && a.space != Space::const_) {
            global = true;
            const Lines lines = lines_of(a);
            lines_sum += lines.lines;
            if (a.space == Space::local) continue;  // L1 has the stack
            std::array<uint64_t, 64> sectors{};
            const size_t n = sectors_of(a, sectors);
            for (const uint64_t s : std::span(sectors).first(n)) {
                const uint64_t line = s / line_sectors;
                const bool hit = l1_keeps && !a.store && l1_.contains(s);
                if (!hit) ++sectors_sum;
                if (l1_keeps && !a.store) {
                    if (l1_.size() * sector_bytes >= lowering_.machine->l1) l1_.clear();
                    l1_.insert(s);
                }
                if (cold_ && l2_.insert(line).second) item.dram = true;
            }
        }
    }
    if (shared && o.wmma_fragment != nullptr && isa::bits(o.wmma_fragment->type) == 16)
        wavefronts_sum = matrix_wavefronts(
            std::span(event.accesses, std::min<uint32_t>(event.access_count, 16)));
    item.wavefronts = narrow(wavefronts_sum);
    item.lines = narrow(lines_sum);
    item.sectors = narrow(sectors_sum);
    item.touched = shared && global ? Touched::both
                   : shared         ? Touched::shared
                   : global         ? Touched::global
                                    : Touched::nothing;
}

// Puts the last `pending` items in the schedule's order, if they are a whole block.
void Listener::finish_block(Stream& stream) const {
    const size_t n = std::exchange(stream.pending, size_t{0});
    if (n < 3) return;
    const auto begin = stream.items.end() - static_cast<ptrdiff_t>(n);
    const Block& block = lowering_.blocks[lowering_.block_of[begin->operation]];
    if (block.last - block.first + 1 != n || begin->operation != block.first) return;
    std::vector<Item> in_order(begin, stream.items.end());
    for (size_t i = 0; i < n; ++i)
        *(begin + static_cast<ptrdiff_t>(i)) = in_order[block.order[i] - block.first];
}

void Listener::retired(const warp::Retired& event) {
    if (event.cta_index % stride_ != 0) return;
    Item item;
    item.operation = event.operation;
    const Lowered& m = lowering_.operations[event.operation];
    const Operation& o = lowering_.program->operations[event.operation];
    const std::lock_guard lock(mutex_);
    if (full_) return;
    auto& cta = ctas_[event.cta_index];
    if (!cta) {
        cta = std::make_unique<CtaStreams>();
        cta->cta = event.cta_index;
    }
    if (cta->warps.size() <= event.warp) cta->warps.resize(event.warp + size_t{1});
    if (event.executed != 0) {
        if (event.access_count != 0) access(event, item);
        if (m.action == Action::barrier || m.action == Action::barrier_arrive) {
            const bool numbered = o.operands > 0 && o.r[0] != isa::no_ref && !o.mod.warp;
            item.wavefronts = numbered ? narrow(lane_value(event, o.r[0]) & 15) : 0;
            const bool counted = o.operands > 1 && isa::row(o.op).step == isa::StepKind::control &&
                                 o.r[1] != isa::no_ref;
            item.lines = counted ? narrow((lane_value(event, o.r[1]) + 31) / 32) : 0;
        }
    }
    Stream& stream = cta->warps[event.warp];
    const bool follows =
        stream.pending != 0 && stream.items.back().operation + 1 == event.operation &&
        lowering_.block_of[stream.items.back().operation] == lowering_.block_of[event.operation];
    if (!follows) finish_block(stream);
    stream.items.push_back(item);
    ++stream.pending;
    if (lowering_.blocks[lowering_.block_of[event.operation]].last == event.operation)
        finish_block(stream);
    if (++items_ >= most_items_) full_ = true;
}

void Listener::cta_ended(uint64_t cta_index) {
    const std::lock_guard lock(mutex_);
    if (const auto found = ctas_.find(cta_index); found != ctas_.end()) {
        for (Stream& s : found->second->warps) finish_block(s);
        found->second->ended = true;
    }
}

std::vector<const CtaStreams*> Listener::ctas() const {
    const std::lock_guard lock(mutex_);
    std::vector<const CtaStreams*> out;
    for (const auto& [index, cta] : ctas_) out.push_back(cta.get());
    return out;
}

}  // namespace lockwarp::timing
