// SPDX-License-Identifier: Apache-2.0
#include "why/survey.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "emu/isa/opcodes.hpp"

namespace lockwarp::why {

namespace {

constexpr size_t max_addresses = 32;

bool moves_memory(const isa::Operation& o) { return isa::row(o.op).memory != isa::Memory::none; }

// Where the values of registers come from, without regard to the order of instructions.
class Flow {
  public:
    explicit Flow(const isa::Program& p) : p_(p), writers_(p.registers.size()) {
        for (uint32_t i = 0; i < p.operations.size(); ++i) {
            const isa::Operation& o = p.operations[i];
            for (uint32_t u = 0; u < o.written; ++u) writers_[p.uses[o.first_use + u]].push_back(i);
        }
        for (uint32_t r = 0; r < p.registers.size(); ++r) by_ref_[p.registers[r].ref] = r;
    }
    // The instructions that read memory and whose values come to one of these slots.
    std::set<uint32_t> loads(const std::vector<isa::Ref>& refs) const {
        std::set<uint32_t> out;
        std::vector<uint32_t> work;
        for (const isa::Ref r : refs)
            if (const auto found = by_ref_.find(r); found != by_ref_.end())
                work.push_back(found->second);
        std::set<uint32_t> seen(work.begin(), work.end());
        while (!work.empty()) {
            const uint32_t reg = work.back();
            work.pop_back();
            for (const uint32_t w : writers_[reg]) {
                const isa::Operation& o = p_.operations[w];
                if (o.mma != nullptr || o.wmma != nullptr) continue;
                if (moves_memory(o)) {
                    out.insert(w);
                    continue;
                }
                for (uint32_t u = 0; u < o.read; ++u) {
                    const uint32_t from = p_.uses[o.first_use + o.written + u];
                    if (seen.insert(from).second) work.push_back(from);
                }
            }
        }
        return out;
    }
    std::vector<isa::Ref> vector(const isa::VectorRef& v) const {
        return {p_.pool.begin() + v.first, p_.pool.begin() + v.first + v.count};
    }

  private:
    const isa::Program& p_;
    std::vector<std::vector<uint32_t>> writers_;
    std::map<isa::Ref, uint32_t> by_ref_;
};

struct Touches : warp::CtaObserver {
    explicit Touches(size_t operations) : of(operations) {}
    void add(const warp::Access& a, uint32_t operation) {
        Touch& t = of[operation];
        t.operation = operation;
        if (t.times++ == 0) {
            t.space = a.space, t.store = a.store, t.lanes = a.lanes;
            t.address = a.address;
        }
        const uint64_t first = a.address[static_cast<unsigned>(std::countr_zero(a.lanes))];
        if (t.first_addresses.size() < max_addresses &&
            std::ranges::find(t.first_addresses, first) == t.first_addresses.end())
            t.first_addresses.push_back(first);
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const uint64_t at = a.address[static_cast<unsigned>(std::countr_zero(rest))];
            t.lowest = std::min(t.lowest, at);
            t.highest = std::max(t.highest, at);
        }
    }
    void retired(const warp::Retired& e) override {
        if (e.access_count == 0) return;
        // cp.async: the source, then the destination.
        const warp::Access& last = e.accesses[e.access_count - 1];
        const warp::Access& first = e.accesses[0];
        if (first.space == ptx::Space::global && last.space == ptx::Space::shared && !first.store &&
            last.store) {
            if (first.lanes != 0)
                sources[e.operation] =
                    first.address[static_cast<unsigned>(std::countr_zero(first.lanes))];
            if (last.lanes != 0) add(last, e.operation);
        } else if (first.lanes != 0) {
            add(first, e.operation);
        }
    }
    std::vector<Touch> of;
    std::map<uint32_t, uint64_t> sources;  // of cp.async
};

struct Listener : warp::Observer {
    explicit Listener(size_t n) : operations(n) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<Touches>(operations);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
        if (!heard) heard.reset(static_cast<Touches*>(cta.release()));
    }
    size_t operations;
    std::unique_ptr<Touches> heard;  // of the first CTA
};

Role role_of_address(const Subject& s, uint64_t address) {
    for (size_t i = 0; i < s.begin.memory.addresses.size(); ++i) {
        const uint64_t at = address - s.begin.memory.addresses[i];
        if (at >= s.begin.memory.bytes[i].size()) continue;
        if (i == s.buffer) return Role::d;
        if (!s.product) return Role::none;
        if (i == s.buffer_named(s.product->a)) return Role::a;
        if (i == s.buffer_named(s.product->b)) return Role::b;
    }
    return Role::none;
}

}  // namespace

std::vector<Touch> survey(const Subject& subject, const isa::Program& program, uint64_t first_cta,
                          uint64_t ctas, uint64_t max_steps) {
    Listener listener(program.operations.size());
    Change change;
    change.program = &program;
    change.observer = &listener;
    change.first_cta = first_cta, change.ctas = ctas;
    change.max_steps = max_steps;
    (void)run(subject, change);
    if (listener.heard == nullptr) return {};
    std::vector<Touch>& of = listener.heard->of;
    const Flow flow(program);
    for (Touch& t : of)
        if (t.times != 0 && t.space == ptx::Space::global)
            t.role = role_of_address(subject, t.lowest);
    for (const auto& [operation, address] : listener.heard->sources)
        of[operation].role = role_of_address(subject, address);
    // What is stored to shared memory, by where it was loaded.
    for (Touch& t : of) {
        if (t.times == 0 || !t.store || t.space != ptx::Space::shared || t.role != Role::none)
            continue;
        for (const uint32_t load :
             flow.loads(flow.vector(program.operations[t.operation].vector[0])))
            if (of[load].times != 0 && of[load].space == ptx::Space::global) t.role = of[load].role;
    }
    // What comes to an operand, from shared memory or straight from global.
    for (const isa::Operation& o : program.operations) {
        if (o.mma == nullptr && o.wmma == nullptr) continue;
        for (const auto& [operand, role] : {std::pair{1, Role::a}, std::pair{2, Role::b}})
            for (const uint32_t load : flow.loads(flow.vector(o.vector[operand]))) {
                Touch& t = of[load];
                t.feeds = true;
                if (t.role == Role::none) t.role = role;
            }
    }
    std::erase_if(of, [](const Touch& t) { return t.times == 0; });
    return std::move(of);
}

}  // namespace lockwarp::why
