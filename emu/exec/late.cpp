// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/late.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "emu/exec/access.hpp"
#include "emu/exec/bulk.hpp"
#include "emu/exec/cluster.hpp"
#include "emu/exec/mbarrier.hpp"

namespace lockwarp::exec {

namespace {

using isa::Op;
using ptx::Space;
using Queue = Late::Queue;

// Completed work is forgotten when there is as much of it, or twice what was not complete.
constexpr size_t least_kept = 256;

uint32_t bytes_of(Type type) {
    if (type == Type::pred) return sizeof(uint32_t);
    return 32 * (isa::bits(type) == 64 ? sizeof(uint64_t) : sizeof(uint32_t));
}

// The operands that the instruction takes with it. wgmma reads A and D where it runs.
std::vector<PutOff::Operand> operands_of(Context& c, const Operation& o) {
    std::vector<PutOff::Operand> out;
    const auto keep = [&](Ref ref, uint32_t bytes) {
        PutOff::Operand& kept = out.emplace_back();
        kept.ref = ref;
        kept.bytes = bytes;
        std::copy_n(c.registers + ref, bytes, kept.values.data());
    };
    if (o.op == Op::wgmma_mma) {
        for (const unsigned n : {0u, 1u})
            if (o.r[n] != isa::no_ref) keep(o.r[n], bytes_of(Type::b64));
        keep(o.r[o.mod.sparse ? 3 : 2], bytes_of(Type::pred));
        return out;
    }
    // No other has results.
    out.reserve(o.read);
    for (const uint32_t use : std::span(c.program->uses).subspan(o.first_use, o.read)) {
        const isa::Register& r = c.program->registers[use];
        keep(r.ref, bytes_of(r.type));
    }
    return out;
}

// Puts the kept operand into its register, and what was there into its place.
void exchange(Context& c, PutOff::Operand& o) {
    std::swap_ranges(o.values.data(), o.values.data() + o.bytes, c.registers + o.ref);
}

}  // namespace

void Late::clear() {
    groups_.clear();
    last_groups_ = nullptr;
    barriers_.clear();
    all_.clear();
    sweep_at_ = least_kept;
}

// A warp asks many times, one instruction after another.
Late::OfWarp* Late::found_groups(Queue queue, const warp::Warp* w) {
    const std::pair key{queue, w};
    if (last_groups_ != nullptr && last_ == key) return last_groups_;
    const auto found = groups_.find(key);
    if (found == groups_.end()) return nullptr;
    last_ = key;
    last_groups_ = &found->second;
    return last_groups_;
}

Late::OfWarp& Late::groups(Queue queue, const warp::Warp* w) {
    if (OfWarp* const known = found_groups(queue, w)) return *known;
    last_ = {queue, w};
    last_groups_ = &groups_[last_];
    return *last_groups_;
}

Late::Work Late::put_off(Context& c, const Step& s, uint32_t lanes) {
    ++c.stores;  // whoever waits looks again
    if (all_.size() >= sweep_at_) {
        std::erase_if(all_, [](const Work& w) { return w->left == 0; });
        sweep_at_ = std::max(least_kept, 2 * all_.size());
    }
    all_.push_back(std::make_shared<PutOff>(
        PutOff{&c, c.warp, static_cast<uint32_t>(&s - c.steps), lanes, operands_of(c, *s.op), {}}));
    return all_.back();
}

void Late::add(Queue queue, const Work& work, uint32_t lanes) {
    groups(queue, work->warp).open.push_back({work, lanes});
}

std::vector<PartOfWork> Late::pending(Queue queue, const warp::Warp* w, uint32_t lanes) {
    std::vector<PartOfWork> out;
    const OfWarp* const found = found_groups(queue, w);
    if (found == nullptr) return out;
    const auto take = [&](const std::vector<PartOfWork>& parts) {
        for (const PartOfWork& p : parts)
            if (const uint32_t left = p.lanes & lanes & p.work->left; left != 0)
                out.push_back({p.work, left});
    };
    for (const Group& group : found->closed) take(group.parts);
    take(found->open);
    return out;
}

void Late::commit(Queue queue, const warp::Warp* w, uint32_t lanes) {
    OfWarp& of = groups(queue, w);
    Group& group = of.closed.emplace_back(Group{lanes, {}});
    for (PartOfWork& p : of.open) {
        if ((p.lanes & lanes) == 0) continue;
        group.parts.push_back({p.work, p.lanes & lanes});
        p.lanes &= ~lanes;
    }
    std::erase_if(of.open, [](const PartOfWork& p) { return p.lanes == 0; });
    each_lane(lanes, [&](unsigned lane) { ++of.groups[lane]; });
}

void Late::wait(Context& c, Queue queue, uint32_t lanes, uint64_t rest) {
    OfWarp* const of = found_groups(queue, c.warp);
    if (of == nullptr) return;
    for (size_t i = 0; i < of->closed.size() && !c.trap;) {
        Group& group = of->closed[i];
        uint32_t due = 0;
        each_lane(group.lanes & lanes, [&](unsigned lane) {
            if (of->groups[lane] <= rest) return;
            --of->groups[lane];
            due |= 1u << lane;
        });
        group.lanes &= ~due;
        std::vector<PartOfWork> parts = group.parts;
        for (PartOfWork& p : parts) p.lanes &= due;
        if (group.lanes == 0)
            of->closed.erase(of->closed.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
        run_all(c, parts);
    }
}

void Late::wait_for_products(Context& c, uint64_t rest) {
    const uint64_t committed = c.wgmma_groups[c.warp->index];
    const uint64_t end = committed - std::min(committed, rest);
    const uint32_t first = c.warp->index / 4 * 4;
    for (uint32_t i = first; i < first + 4 && i < c.cta->warps.size(); ++i) {
        OfWarp* const of = found_groups(Queue::products, &c.cta->warps[i]);
        if (of == nullptr) continue;
        while (of->gone < end && !of->closed.empty() && !c.trap) {
            const Group group = std::move(of->closed.front());
            of->closed.pop_front();
            ++of->gone;
            run_all(c, group.parts);
        }
    }
}

void Late::run_products(Context& c) { run_all(c, pending(Queue::products, c.warp, ~0u)); }

void Late::wait_all(Context& c, Queue queue, uint32_t lanes) {
    commit(queue, c.warp, lanes);
    wait(c, queue, lanes, 0);
}

void Late::add(const uint8_t* barrier, Work work, bool arrives) {
    barriers_[barrier].push_back({std::move(work), arrives});
}

void Late::look(Context& c, const uint8_t* barrier) {
    const auto found = barriers_.find(barrier);
    if (found == barriers_.end()) return;
    std::deque<Coming>& coming = found->second;
    std::erase_if(coming, [](const Coming& one) { return one.work->left == 0; });
    const auto arrivals = static_cast<uint64_t>(std::ranges::count(coming, true, &Coming::arrives));
    const MbarrierCounts before = mbarrier_counts(c, barrier);
    if (before.missing > arrivals) return;
    while (!coming.empty() && !c.trap && mbarrier_counts(c, barrier).phase == before.phase) {
        const Work work = coming.front().work;
        coming.pop_front();
        run(c, *work, work->left);
    }
}

void Late::run_all(Context& c, const std::vector<PartOfWork>& parts) {
    for (const PartOfWork& p : parts)
        if (!c.trap) run(c, *p.work, p.lanes);
}

// `c`: who waits for it. A trap is that one's, so that its CTA ends.
void Late::run(Context& c, PutOff& work, uint32_t lanes) {
    const uint32_t now = lanes & work.left;
    if (now == 0) return;
    work.left &= ~now;
    run_all(c, work.before);
    if (c.trap) return;
    Context& of = *work.of;
    warp::Warp* const warp = std::exchange(of.warp, work.warp);
    uint8_t* const registers = std::exchange(of.registers, work.warp->registers);
    const bool observed = std::exchange(of.observed, false);
    const uint32_t running = of.lanes;
    const uint32_t yields = of.yields;
    for (PutOff::Operand& o : work.operands) exchange(of, o);
    const Step& step = early_[work.operation];
    step.run(of, step, now);
    // One register may be two operands.
    for (auto o = work.operands.rbegin(); o != work.operands.rend(); ++o) exchange(of, *o);
    of.warp = warp;
    of.registers = registers;
    of.observed = observed;
    of.lanes = running;
    of.yields = yields;
    if (&of == &c) return;
    ++c.stores;
    if (of.trap) c.trap = std::exchange(of.trap, std::nullopt);
}

void Late::finish(Context& c) {
    for (size_t i = 0; i < all_.size() && !c.trap; ++i)
        if (all_[i]->of == &c) run(c, *all_[i], all_[i]->left);
    std::erase_if(all_, [](const Work& w) { return w->left == 0; });
}

namespace {

Late& late_of(Context& c) { return *c.cluster->late; }

void run_early(Context& c, const Step& s, uint32_t mask) {
    const Step& early = late_of(c).early(c, s);
    early.run(c, early, mask);
}

// Instructions whose thread waits for them by groups.
template <Queue queue>
void issue_in_group(Context& c, const Step& s, uint32_t mask) {
    Late& late = late_of(c);
    late.add(queue, late.put_off(c, s, mask), mask);
}

template <Queue queue>
void commit(Context& c, const Step&, uint32_t mask) {
    late_of(c).commit(queue, c.warp, mask);
}

template <Queue queue>
void wait(Context& c, const Step& s, uint32_t mask) {
    late_of(c).wait(c, queue, mask, s.op->immediate);
}

void commit_products(Context& c, const Step& s, uint32_t mask) {
    late_of(c).commit(Queue::products, c.warp, mask);
    run_early(c, s, mask);
}

void wait_for_products(Context& c, const Step& s, uint32_t mask) {
    run_early(c, s, mask);
    if (c.yields == 0) late_of(c).wait_for_products(c, s.op->immediate);
}

void wait_all(Context& c, const Step&, uint32_t mask) {
    late_of(c).wait_all(c, Queue::copies, mask);
}

// The mbarriers that a lane's copy tells of its bytes; nullptr: of one there is none.
std::vector<const uint8_t*> barriers_of(Context& c, const Operation& o, unsigned lane) {
    const bool stores =
        o.op == Op::async_store || o.op == Op::async_reduce || o.op == Op::launch_cancel;
    const uint64_t address = lane_address(c, o.address[stores ? 1 : 2], lane);
    const auto place = [&](uint64_t at) -> const uint8_t* {
        Space space = stores ? o.mod.space : Space::shared;
        return look(c, space, at, sizeof(uint64_t), lane);
    };
    if (!o.mod.multicast) return {place(address)};
    std::vector<const uint8_t*> out;
    const uint32_t mask = slot<uint32_t>(c, o.r[o.op == Op::tensor_load ? 0 : 1])[lane];
    each_rank(mask & 0xffff,
              [&](uint32_t rank) { out.push_back(place(in_window_of(rank, address))); });
    return out;
}

// Of an operand at fault the instruction says so where it stands.
void issue_counted(Context& c, const Step& s, uint32_t mask) {
    Late& late = late_of(c);
    each_lane(mask, [&](unsigned lane) {
        const std::vector<const uint8_t*> barriers = barriers_of(c, *s.op, lane);
        if (barriers.empty() || std::ranges::count(barriers, nullptr) != 0)
            return c.trap ? void() : run_early(c, s, 1u << lane);
        const Late::Work work = late.put_off(c, s, 1u << lane);
        for (const uint8_t* const barrier : barriers) late.add(barrier, work, false);
    });
}

// cp.async.mbarrier.arrive: an arrival that comes once the thread's copies so far have. Without
// .noinc the phase waits for one more, from here on.
void issue_arrival(Context& c, const Step& s, uint32_t mask) {
    Late& late = late_of(c);
    LaneAddresses addresses;
    lane_addresses(c, s.op->address[0], mask, addresses);
    each_lane(mask, [&](unsigned lane) {
        Space space = s.op->mod.space;
        uint8_t* const barrier = look(c, space, addresses[lane], sizeof(uint64_t), lane);
        if (barrier == nullptr) return c.trap ? void() : run_early(c, s, 1u << lane);
        const Late::Work work = late.put_off(c, s, 1u << lane);
        work->before = late.pending(Queue::copies, c.warp, 1u << lane);
        if (!s.op->mod.no_increment) expect_arrival(c, barrier);
        late.add(barrier, work, true);
    });
}

void wait_for_phase(Context& c, const Step& s, uint32_t mask) {
    LaneAddresses addresses;
    lane_addresses(c, s.op->address[0], mask, addresses);
    each_lane(mask, [&](unsigned lane) {
        Space space = s.op->mod.space;
        const uint8_t* const barrier = look(c, space, addresses[lane], sizeof(uint64_t), lane);
        if (barrier != nullptr && !c.trap) late_of(c).look(c, barrier);
    });
    if (!c.trap) run_early(c, s, mask);
}

// Whether an instruction names registers of a wgmma's D or A.
bool touches(const isa::Program& program, const Operation& o, const Operation& product) {
    const auto names = [&](Ref ref) {
        for (uint32_t i = 0; i < uint32_t{o.written} + o.read; ++i)
            if (program.registers[program.uses[o.first_use + i]].ref == ref) return true;
        return false;
    };
    for (const isa::VectorRef v : {product.vector[0], product.vector[1]})
        for (uint32_t i = 0; i < v.count; ++i)
            if (names(program.pool[v.first + i])) return true;
    return false;
}

// Registers of products that are under way: NVIDIA's assembler waits before it touches them.
void run_behind_products(Context& c, const Step& s, uint32_t mask) {
    Late& late = late_of(c);
    const std::vector<PartOfWork> pending = late.pending(Queue::products, c.warp, ~0u);
    const bool waits = std::ranges::any_of(pending, [&](const PartOfWork& p) {
        return touches(*c.program, *s.op, c.program->operations[p.work->operation]);
    });
    if (waits) late.run_products(c);
    if (!c.trap) run_early(c, s, mask);
}

struct Row {
    Op op;
    Handler run;
    bool issues = false;
};
constexpr auto rows = std::to_array<Row>({
    {Op::cp_async, issue_in_group<Queue::copies>, true},
    {Op::cp_async_commit, commit<Queue::copies>},
    {Op::cp_async_wait, wait<Queue::copies>},
    {Op::cp_async_wait_all, wait_all},
    {Op::mbarrier_copies, issue_arrival},
    {Op::mbarrier_wait, wait_for_phase},
    {Op::bulk_load, issue_counted, true},
    {Op::bulk_send, issue_counted, true},
    {Op::bulk_send_reduce, issue_counted, true},
    {Op::tensor_load, issue_counted, true},
    {Op::launch_cancel, issue_counted, true},
    {Op::async_store, issue_counted, true},
    {Op::async_reduce, issue_counted, true},
    {Op::bulk_store, issue_in_group<Queue::bulk>, true},
    {Op::bulk_reduce, issue_in_group<Queue::bulk>, true},
    {Op::tensor_store, issue_in_group<Queue::bulk>, true},
    {Op::tensor_reduce, issue_in_group<Queue::bulk>, true},
    {Op::bulk_commit, commit<Queue::bulk>},
    {Op::bulk_wait, wait<Queue::bulk>},
    {Op::wgmma_mma, issue_in_group<Queue::products>, true},
    {Op::wgmma_commit, commit_products},
    {Op::wgmma_wait, wait_for_products},
});

// Whether an operation that issues something is late.
bool is_late(const isa::Program& program, uint32_t only, uint32_t operation) {
    if (only >= program.operations.size() || only == operation) return true;
    const Op op = program.operations[operation].op;
    return op == Op::wgmma_mma && program.operations[only].op == op;
}

}  // namespace

Code make_late(const Code& early, uint32_t operation) {
    const isa::Program& program = *early.program;
    Code code = early;
    std::set<Ref> products;  // registers of D and A
    for (Step& step : code.steps) {
        const Operation& o = *step.op;
        const auto i = static_cast<uint32_t>(&step - code.steps.data());
        const auto row = std::ranges::find(rows, o.op, &Row::op);
        if (row == rows.end() || (row->issues && !is_late(program, operation, i))) continue;
        step.run = row->run;
        if (o.op != Op::wgmma_mma) continue;
        for (const isa::VectorRef v : {o.vector[0], o.vector[1]})
            for (uint32_t n = 0; n < v.count; ++n) products.insert(program.pool[v.first + n]);
    }
    if (products.empty()) return code;
    for (Step& step : code.steps) {
        const Operation& o = *step.op;
        if (o.op == Op::wgmma_mma || !has_handler(step.kind)) continue;
        for (uint32_t n = 0; n < uint32_t{o.written} + o.read; ++n)
            if (products.contains(program.registers[program.uses[o.first_use + n]].ref))
                step.run = run_behind_products;
    }
    return code;
}

}  // namespace lockwarp::exec
