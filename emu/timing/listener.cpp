// SPDX-License-Identifier: Apache-2.0
#include "emu/timing/listener.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "emu/isa/wmma.hpp"
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
    OfCta(const Lowering& lowering, const warp::CtaPlace& place, uint64_t max_items)
        : lowering_(lowering), max_items_(max_items), rank_(place.rank) {
        streams->cta = place.index;
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
    // Those who wait for it in this CTA wait for one another: when the cluster's other CTAs come is
    // not modelled.
    void cluster_opened(const warp::ClusterOpened&) override {
        if (full) return;
        cluster_opening_ = static_cast<uint32_t>(streams->openings.size());
        streams->openings.push_back({cluster_barrier, false});
    }
    // Comes before the instruction retires. What peers bring is taken to come with what this CTA
    // brings itself.
    void bulk(const warp::BulkEvent& e) override {
        if (e.step != warp::CopyStep::issued) return;
        for (const warp::BulkArrival& a : e.arrivals) {
            if (a.cta != rank_) continue;
            brought_to_ = a.address;
            brings_ = true;
        }
        for (const warp::BulkRange& r : e.ranges)
            if (r.space == Space::global && r.bytes != 0)
                bulk_sectors_ +=
                    (r.address + r.bytes - 1) / sector_bytes - r.address / sector_bytes + 1;
    }
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
    void note_map(const warp::Retired& e, Item& item);
    void look_up(std::span<const uint64_t> own, const Operation& o, uint32_t warp);
    void arrive(const warp::Retired& e, Stream& stream, Item& item);
    void arrive_at(uint64_t mbarrier, Stream& stream, Item& item);
    bool wait(const warp::Retired& e, Stream& stream, Item& item);
    bool phases(const warp::Retired& e, Stream& stream, Item& item);

    // An mbarrier. Between two waits that find an end of a phase all arrivals are taken for those
    // of one phase, as they are where nobody comes to a phase before the last has been waited for.
    struct Phases {
        uint32_t filling = none, last = none;  // openings
        bool parity = false;                   // of the one that is filling
    };

    const Lowering& lowering_;
    uint64_t max_items_;
    uint32_t rank_;
    std::unordered_map<uint64_t, Phases> mbarriers_;  // of this CTA, by address
    // Of the bulk copy that is about to retire: whether it brings this CTA something, and to which
    // mbarrier; sectors of global memory.
    bool brings_ = false;
    uint64_t brought_to_ = 0, bulk_sectors_ = 0;
    std::array<uint32_t, 16> open_ = [] {
        std::array<uint32_t, 16> out;
        out.fill(none);
        return out;
    }();
    uint32_t cluster_opening_ = none;  // the last of the cluster's barrier
    std::vector<Arrival> arrivals_;    // at barriers, of instructions that have not retired
};

void OfCta::look_up(std::span<const uint64_t> own, const Operation& o, uint32_t warp) {
    lookups.push_back({warp, static_cast<uint32_t>(streams->warps[warp].items.size()),
                       static_cast<uint32_t>(sectors.size()), static_cast<uint16_t>(own.size()),
                       o.op == isa::Op::ld});
    sectors.insert(sectors.end(), own.begin(), own.end());
}

void OfCta::access(const warp::Retired& e, Item& item) {
    const Operation& o = lowering_.program->operations[e.operation];
    if (o.warpgroup != nullptr) return;  // the tensor core reads its operands itself
    bool shared = false, global = false;
    uint64_t wavefronts_sum = 0, lines_sum = 0;
    // An atomic is heard of twice, as a load and as a store.
    const bool is_update = isa::row(o.op).memory == isa::Memory::update;
    const auto accesses = std::span(e.accesses, e.access_count);
    for (const warp::Access& a : accesses) {
        if (a.lanes == 0 || (is_update && !a.store)) continue;
        if (a.space == Space::shared) {
            shared = true;
            const unsigned bytes = a.bytes * lowering_.operations[e.operation].merged;
            wavefronts_sum +=
                std::max(1u, wavefronts(a.address, a.lanes, bytes, phase_lanes(bytes)));
        } else if (a.space != Space::param && a.space != Space::const_) {
            global = true;
            std::array<uint64_t, 64> room;
            const std::span<const uint64_t> own(room.data(), sectors_of(a, room));
            lines_sum += lines_among(own);
            if (a.space != Space::local) look_up(own, o, e.warp);  // L1 has the stack
        }
    }
    if (shared && o.wmma_fragment != nullptr && isa::bits(o.wmma_fragment->type) == 16) {
        const isa::WmmaExtent whole = isa::extent(*o.wmma_fragment);
        const bool by_row = isa::rows_are_lines(o.wmma_fragment->operand, o.mod.order[0]);
        wavefronts_sum = matrix_wavefronts(accesses, (by_row ? whole.columns : whole.rows) / 8);
    }
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
    uint32_t number = none;
    if (at != arrivals_.end()) {
        number = at->opening;
        arrivals_.erase(at);
    } else if (lowering_.program->operations[e.operation].op == isa::Op::cluster_wait) {
        number = cluster_opening_;
    }
    if (number == none) return;
    item.arrives = true;
    stream.arrivals.push_back(number);
    Opening& opening = streams->openings[number];
    ++opening.arrivals;
    opening.warps |= 1u << e.warp;
}

void OfCta::arrive_at(uint64_t mbarrier, Stream& stream, Item& item) {
    uint32_t& filling = mbarriers_[mbarrier].filling;
    if (filling == none) {
        filling = static_cast<uint32_t>(streams->openings.size());
        streams->openings.push_back({phase_barrier, false});
    }
    ++streams->openings[filling].arrivals;
    item.arrives = true;
    stream.arrivals.push_back(filling);
}

// false: the phase had not ended, and the program will ask again.
bool OfCta::wait(const warp::Retired& e, Stream& stream, Item& item) {
    const Operation& o = lowering_.program->operations[e.operation];
    uint32_t over = 0;
    std::memcpy(&over, e.registers + o.r[0], sizeof over);
    if ((over & e.executed) == 0) return false;
    const auto lane = static_cast<unsigned>(__builtin_ctz(over & e.executed));
    const unsigned size = o.mod.parity ? 4 : 8;
    uint64_t given = 0;
    std::memcpy(&given, e.registers + o.r[1] + size * lane, size);
    const bool parity = o.mod.parity ? (given & 1) != 0 : given >> 63 != 0;
    Phases& p = mbarriers_[e.accesses[0].address[lane]];
    if (parity == p.parity) {
        p.last = std::exchange(p.filling, none);
        p.parity = !p.parity;
    }
    if (p.last == none) return true;
    item.arrives = true;
    stream.arrivals.push_back(p.last);
    return true;
}

// Which tensor map a copy or a prefetch goes by.
void OfCta::note_map(const warp::Retired& e, Item& item) {
    const Operation& o = lowering_.program->operations[e.operation];
    const bool of_load = o.op == isa::Op::tensor_load;
    if (!of_load && o.op != isa::Op::tensor_store && o.op != isa::Op::tensor_reduce &&
        o.op != isa::Op::tensor_prefetch && o.op != isa::Op::prefetch)
        return;
    if (e.executed == 0) return;
    const isa::Address& at = o.address[of_load ? 1 : 0];
    auto address = static_cast<uint64_t>(at.offset);
    if (at.base != isa::no_ref) {
        uint64_t base = 0;
        std::memcpy(
            &base,
            e.registers + at.base + sizeof base * static_cast<unsigned>(__builtin_ctz(e.executed)),
            sizeof base);
        address += base;
    }
    auto& maps = streams->maps;
    const auto known = std::ranges::find(maps, address);
    item.map = narrow(static_cast<uint64_t>(known - maps.begin()) + 1);
    if (known == maps.end()) maps.push_back(address);
}

// What the instruction is to mbarriers. false: the item is to be left out.
bool OfCta::phases(const warp::Retired& e, Stream& stream, Item& item) {
    const Operation& o = lowering_.program->operations[e.operation];
    if (bulk_sectors_ != 0) item.sectors = narrow(std::exchange(bulk_sectors_, 0));
    if (std::exchange(brings_, false)) {
        arrive_at(brought_to_, stream, item);
        return true;
    }
    if (e.access_count == 0 || e.executed == 0) return true;
    if (o.op == isa::Op::mbarrier_wait) return wait(e, stream, item);
    if (o.op != isa::Op::mbarrier_arrive && o.op != isa::Op::mbarrier_drop) return true;
    const warp::Access& a = e.accesses[0];
    const auto lane = static_cast<unsigned>(__builtin_ctz(a.lanes));
    if (a.rank[lane] != rank_) return true;
    arrive_at(a.address[lane], stream, item);
    item.remote = o.mod.cluster_space;
    return true;
}

void OfCta::retired(const warp::Retired& e) {
    if (full) return;
    if (streams->warps.size() <= e.warp) streams->warps.resize(e.warp + size_t{1});
    Stream& stream = streams->warps[e.warp];
    Item item;
    item.operation = e.operation;
    if (e.executed != 0 && e.access_count != 0) access(e, item);
    if (!arrivals_.empty() || cluster_opening_ != none) arrive(e, stream, item);
    note_map(e, item);
    if (!phases(e, stream, item)) return;
    stream.items.push_back(item);
    full = ++items >= max_items_;
}

void OfCta::ended() { streams->ended = !full; }

// Puts the items of each block that was run as a whole in the schedule's order.
void schedule_blocks(const Lowering& lowering, std::vector<Item>& items) {
    std::vector<Item> in_order;
    for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
        const Block& block = lowering.blocks[lowering.block_of[items[begin].operation]];
        end = begin + 1;
        while (end < items.size() && items[end - 1].operation != block.last &&
               items[end].operation == items[end - 1].operation + 1)
            ++end;
        const size_t n = end - begin;
        if (block.last - block.first + 1 != n) continue;
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
    return std::make_unique<OfCta>(lowering_, cta, max_items_);
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
