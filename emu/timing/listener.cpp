// SPDX-License-Identifier: Apache-2.0
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

// The sectors that an item asks L1 or L2 for.
struct Lookup {
    uint32_t warp;
    uint32_t item;   // of its stream, in the order of the run
    uint32_t first;  // of OfCta::sectors
    uint16_t count;
    bool l1_keeps;
};

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const Lowering& lowering, uint64_t cta, uint64_t max_items)
        : lowering_(lowering), max_items_(max_items) {
        streams->cta = cta;
    }

    void barrier_arrived(const warp::BarrierArrived& e) override {
        if (full) return;
        uint32_t& open = open_[e.barrier];
        if (open == none) {
            open = static_cast<uint32_t>(streams->openings.size());
            streams->openings.push_back({static_cast<uint8_t>(e.barrier)});
        }
        if (e.threads != 0) streams->openings[open].all = false;
        arrivals_.push_back({e.who, open});
    }
    void barrier_opened(const warp::BarrierOpened& e) override { open_[e.barrier] = none; }
    void retired(const warp::Retired& e) override;
    void ended() override;

    std::unique_ptr<CtaStreams> streams = std::make_unique<CtaStreams>();
    std::vector<Lookup> lookups;
    std::vector<uint64_t> sectors;
    uint64_t items = 0;
    bool full = false;

  private:
    static constexpr uint32_t none = UINT32_MAX;
    struct Arrival {
        warp::WarpLanes who;
        uint32_t opening;
    };

    void access(const warp::Retired& e, Item& item);
    void look_up(const warp::Access& a, const Operation& o, uint32_t warp);
    void arrive(const warp::Retired& e, Stream& stream, Item& item);

    const Lowering& lowering_;
    uint64_t max_items_;
    std::array<uint32_t, 16> open_ = [] {
        std::array<uint32_t, 16> out;
        out.fill(none);
        return out;
    }();
    std::vector<Arrival> arrivals_;  // at barriers, of instructions that have not retired
};

void OfCta::look_up(const warp::Access& a, const Operation& o, uint32_t warp) {
    std::array<uint64_t, 64> own{};
    const size_t n = sectors_of(a, own);
    const bool l1_keeps = op_timing(o.op).fold == Fold::access &&
                          isa::row(o.op).memory == isa::Memory::load &&
                          o.mod.space != Space::shared && !a.store;
    lookups.push_back({warp, static_cast<uint32_t>(streams->warps[warp].items.size()),
                       static_cast<uint32_t>(sectors.size()), static_cast<uint16_t>(n), l1_keeps});
    sectors.insert(sectors.end(), own.begin(), own.begin() + static_cast<ptrdiff_t>(n));
}

void OfCta::access(const warp::Retired& e, Item& item) {
    const Operation& o = lowering_.program->operations[e.operation];
    if (o.warpgroup != nullptr) return;  // the tensor core reads its operands itself
    bool shared = false, global = false;
    uint64_t wavefronts_sum = 0, lines_sum = 0;
    // An atomic is heard of twice, as a load and as a store.
    const uint32_t count = isa::row(o.op).memory == isa::Memory::update ? 1 : e.access_count;
    const auto accesses = std::span(e.accesses, std::min<uint32_t>(count, 16));
    for (const warp::Access& a : accesses) {
        if (a.lanes == 0) continue;
        if (a.space == Space::shared) {
            shared = true;
            const unsigned bytes = a.bytes * lowering_.operations[e.operation].merged;
            wavefronts_sum +=
                std::max(1u, wavefronts(a.address, a.lanes, bytes, phase_lanes(bytes)));
        } else if (a.space != Space::param && a.space != Space::const_) {
            global = true;
            lines_sum += lines_of(a).lines;
            if (a.space != Space::local) look_up(a, o, e.warp);  // L1 has the stack
        }
    }
    if (shared && o.wmma_fragment != nullptr && isa::bits(o.wmma_fragment->type) == 16)
        wavefronts_sum = matrix_wavefronts(accesses);
    item.wavefronts = narrow(wavefronts_sum);
    item.lines = narrow(lines_sum);
    item.touched = shared && global ? Touched::both
                   : shared         ? Touched::shared
                   : global         ? Touched::global
                                    : Touched::nothing;
}

// An instruction of a barrier retires: at which opening its lanes had arrived.
void OfCta::arrive(const warp::Retired& e, Stream& stream, Item& item) {
    const auto of_it = [&](const Arrival& a) {
        return a.who.warp == e.warp && (a.who.lanes & e.executed) != 0;
    };
    const auto at = std::ranges::find_if(arrivals_, of_it);
    if (at == arrivals_.end()) return;
    item.arrives = true;
    stream.arrivals.push_back(at->opening);
    Opening& opening = streams->openings[at->opening];
    ++opening.arrivals;
    opening.warps |= 1u << e.warp;
    arrivals_.erase(at);
}

void OfCta::retired(const warp::Retired& e) {
    if (full) return;
    if (streams->warps.size() <= e.warp) streams->warps.resize(e.warp + size_t{1});
    Stream& stream = streams->warps[e.warp];
    Item item;
    item.operation = e.operation;
    if (e.executed != 0 && e.access_count != 0) access(e, item);
    if (!arrivals_.empty()) arrive(e, stream, item);
    stream.items.push_back(item);
    full = ++items >= max_items_;
}

void OfCta::ended() { streams->ended = !full; }

// Puts the items of each block that was run as a whole in the schedule's order.
void schedule_blocks(const Lowering& lowering, std::vector<Item>& items) {
    std::vector<Item> in_order;
    for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
        const uint32_t number = lowering.block_of[items[begin].operation];
        const Block& block = lowering.blocks[number];
        end = begin + 1;
        while (end < items.size() && items[end - 1].operation != block.last &&
               items[end].operation == items[end - 1].operation + 1 &&
               lowering.block_of[items[end].operation] == number)
            ++end;
        const size_t n = end - begin;
        if (n < 3 || items[begin].operation != block.first || block.last - block.first + 1 != n)
            continue;
        in_order.assign(items.begin() + static_cast<ptrdiff_t>(begin),
                        items.begin() + static_cast<ptrdiff_t>(end));
        for (size_t i = 0; i < n; ++i) items[begin + i] = in_order[block.order[i] - block.first];
    }
}

}  // namespace

Listener::Listener(const Lowering& lowering, uint64_t stride, uint64_t max_items, bool cold)
    : lowering_(lowering), stride_(stride), max_items_(max_items), cold_(cold) {}

std::unique_ptr<warp::CtaObserver> Listener::begin(const warp::CtaPlace& cta) {
    if (cta.index % stride_ != 0 || full_) return nullptr;
    return std::make_unique<OfCta>(lowering_, cta.index, max_items_);
}

void Listener::take(const warp::CtaPlace& place, std::unique_ptr<warp::CtaObserver> listener) {
    if (full_) return;
    auto& cta = static_cast<OfCta&>(*listener);
    for (const Lookup& l : cta.lookups) {
        uint64_t missed = 0;
        Item& item = cta.streams->warps[l.warp].items[l.item];
        for (const uint64_t s : std::span(cta.sectors).subspan(l.first, l.count)) {
            if (!l.l1_keeps || !l1_.contains(s)) ++missed;
            if (l.l1_keeps) {
                if (l1_.size() * sector_bytes >= lowering_.machine->l1) l1_.clear();
                l1_.insert(s);
            }
            if (cold_ && l2_.insert(s / line_sectors).second) item.dram = true;
        }
        item.sectors = narrow(item.sectors + missed);
    }
    for (Stream& s : cta.streams->warps) schedule_blocks(lowering_, s.items);
    items_ += cta.items;
    full_ = cta.full || items_ >= max_items_;
    ctas_[place.index] = std::move(cta.streams);
}

std::vector<const CtaStreams*> Listener::ctas() const {
    std::vector<const CtaStreams*> out;
    for (const auto& [index, cta] : ctas_) out.push_back(cta.get());
    return out;
}

}  // namespace lockwarp::timing
