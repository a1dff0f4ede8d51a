// SPDX-License-Identifier: Apache-2.0
#include "debug/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "debug/fragment.hpp"

namespace lockwarp::debug {

namespace {

constexpr size_t max_events = 4'000'000;
constexpr size_t max_touches = 8'000'000;  // lanes' accesses
constexpr size_t max_lines = 40;
constexpr unsigned max_depth = 12;

// What a lane touched.
struct Touch {
    uint64_t address;
    ptx::Space space;
    bool store;
    uint8_t lane, bytes, access;  // access: which of the instruction's
};

struct Event {
    uint32_t warp, operation, executed;
    uint64_t step;
    size_t first_touch, touches;
};

// Everything that one CTA retires.
class Log : public Goal {
  public:
    explicit Log(uint64_t cta) : cta_(cta) {}
    std::optional<exec::Pace> before(const Here& here, bool) override {
        return exec::Pace{UINT64_MAX, here.cta->index == cta_ && !full_};
    }
    void retired(const warp::Retired& e) override {
        if (e.cta_index != cta_) return;
        if (events.size() >= max_events || touches.size() >= max_touches) {
            full_ = true;
            return;
        }
        events.push_back({e.warp, e.operation, e.executed, e.step, touches.size(), 0});
        for (uint32_t k = 0; k < e.access_count; ++k)
            for (uint8_t lane = 0; lane < 32; ++lane)
                if ((e.accesses[k].lanes >> lane & 1) != 0)
                    touches.push_back({e.accesses[k].address[lane], e.accesses[k].space,
                                       e.accesses[k].store, lane, e.accesses[k].bytes_of_lane[lane],
                                       static_cast<uint8_t>(k)});
        events.back().touches = touches.size() - events.back().first_touch;
    }
    bool full() const { return full_; }
    std::vector<Event> events;
    std::vector<Touch> touches;

  private:
    uint64_t cta_;
    bool full_ = false;
};

class Chain {
  public:
    Chain(const Log& log, const View& view) : log_(log), view_(view), p_(view.program()) {}

    void of_register(isa::Ref ref, uint32_t warp, uint32_t lane, size_t before, unsigned depth);
    void of_memory(ptx::Space space, uint64_t address, uint32_t lane, uint32_t warp, size_t before,
                   unsigned depth);
    std::string text;

  private:
    bool line(unsigned depth, const std::string& what);
    std::string name_of(isa::Ref ref) const;
    bool writes(const isa::Operation& o, isa::Ref ref) const;
    std::string event_text(const Event& e, uint32_t lane) const;
    void follow(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    void follow_product(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    bool follow_loads(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    const Touch* touch_of(const Event& e, uint32_t lane, bool store, unsigned access) const;

    const Log& log_;
    const View& view_;
    const isa::Program& p_;
    size_t lines_ = 0;
    std::set<std::tuple<size_t, isa::Ref, uint32_t>> seen_;
};

bool Chain::line(unsigned depth, const std::string& what) {
    if (lines_ == max_lines) text += "...\n";
    if (++lines_ > max_lines) return false;
    text += std::string(2 * size_t{depth}, ' ') + what + "\n";
    return true;
}

std::string Chain::name_of(isa::Ref ref) const {
    const auto found = std::ranges::find(p_.registers, ref, &isa::Register::ref);
    return found == p_.registers.end() ? std::string("a constant") : found->name;
}

bool Chain::writes(const isa::Operation& o, isa::Ref ref) const {
    for (uint32_t i = 0; i < o.written; ++i) {
        const isa::Register& r = p_.registers[p_.uses[o.first_use + i]];
        if (r.ref == ref) return true;
    }
    return false;
}

std::string Chain::event_text(const Event& e, uint32_t lane) const {
    const std::string source = view_.listing->short_place(e.operation);
    return fmt::format("warp {} lane {} step {}, line {}{}: {}", e.warp, lane, e.step,
                       view_.listing->line_of(e.operation), source.empty() ? "" : ", " + source,
                       view_.listing->text_of(e.operation));
}

const Touch* Chain::touch_of(const Event& e, uint32_t lane, bool store, unsigned access) const {
    for (size_t i = 0; i < e.touches; ++i) {
        const Touch& t = log_.touches[e.first_touch + i];
        if (t.lane == lane && t.store == store && t.access == access) return &t;
    }
    return nullptr;
}

void Chain::of_register(isa::Ref ref, uint32_t warp, uint32_t lane, size_t before, unsigned depth) {
    if (depth > max_depth) return;
    for (size_t i = before; i-- > 0;) {
        const Event& e = log_.events[i];
        if (e.warp != warp || (e.executed >> lane & 1) == 0) continue;
        if (!writes(p_.operations[e.operation], ref)) continue;
        if (!seen_.emplace(i, ref, lane).second) {
            (void)line(depth,
                       fmt::format("{} of lane {}: step {}, as above", name_of(ref), lane, e.step));
            return;
        }
        if (!line(depth, fmt::format("{}: {}", name_of(ref), event_text(e, lane)))) return;
        return follow(i, ref, lane, depth + 1);
    }
    (void)line(depth, fmt::format("{} of lane {}: never written before", name_of(ref), lane));
}

void Chain::of_memory(ptx::Space space, uint64_t address, uint32_t lane, uint32_t warp,
                      size_t before, unsigned depth) {
    if (depth > max_depth) return;
    const std::string name = view_.name_of(space, address);
    const std::string where = fmt::format("{}[{:#x}]{}", space_name(space), address,
                                          name.empty() ? "" : " <" + name + ">");
    for (size_t i = before; i-- > 0;) {
        const Event& e = log_.events[i];
        for (size_t t = 0; t < e.touches; ++t) {
            const Touch& touch = log_.touches[e.first_touch + t];
            if (!touch.store || touch.space != space || address - touch.address >= touch.bytes)
                continue;
            if (space == ptx::Space::local && (e.warp != warp || touch.lane != lane)) continue;
            if (!line(depth, fmt::format("{}: {}", where, event_text(e, touch.lane)))) return;
            const isa::Operation& o = p_.operations[e.operation];
            const uint64_t byte = address - touch.address;
            if (o.op == isa::Op::st && o.vector[0].count != 0) {
                const uint64_t width = std::max(1u, isa::bits(o.mod.type[0]) / 8);
                const uint64_t n = std::min<uint64_t>(byte / width, o.vector[0].count - 1);
                return of_register(p_.pool[o.vector[0].first + n], e.warp, touch.lane, i,
                                   depth + 1);
            }
            // cp.async: from its source.
            if (const Touch* const from = touch_of(e, touch.lane, false, 0);
                from != nullptr && o.op == isa::Op::cp_async)
                return of_memory(from->space, from->address + byte, touch.lane, e.warp, i,
                                 depth + 1);
            // What else stores: each register that it reads.
            return follow(i, isa::no_ref, touch.lane, depth + 1);
        }
    }
    const bool given =
        space == ptx::Space::global || space == ptx::Space::const_ || space == ptx::Space::param;
    (void)line(depth, where + (given ? ": as the launch began with it, or from another CTA"
                                     : ": never written before"));
}

// The memory that a register was loaded from. false: it was not.
bool Chain::follow_loads(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    if (o.op == isa::Op::ldmatrix) {
        const std::optional<Fragments> f = fragments_at(*view_.listing, e.operation);
        if (!f || f->operands.empty()) return false;
        const FragmentOperand& d = f->operands[0];
        for (const lanes::Held& h : d.layout.held) {
            if (h.lane != lane || d.registers[h.reg] != ref) continue;
            const Touch* const row = touch_of(e, h.part * 8u + h.row, false, 0);
            if (row == nullptr) return false;
            of_memory(row->space, row->address + h.column * 2u, row->lane, e.warp, event, depth);
            return true;
        }
        return false;
    }
    const bool loads = o.op == isa::Op::ld || o.wmma_fragment != nullptr;
    if (!loads || o.vector[0].count == 0) return false;
    const auto begin = p_.pool.begin() + o.vector[0].first;
    const auto n = static_cast<unsigned>(std::find(begin, begin + o.vector[0].count, ref) - begin);
    const unsigned width = std::max(1u, isa::bits(o.mod.type[0]) / 8);
    const bool apart = o.wmma_fragment != nullptr && touch_of(e, lane, false, 1) != nullptr;
    const Touch* const from = touch_of(e, lane, false, apart ? n : 0);
    if (from == nullptr) {
        // Parameters are read without an access.
        return false;
    }
    of_memory(from->space, from->address + (apart ? 0 : n * width), lane, e.warp, event, depth);
    return true;
}

// Of a product: the element of each operand that comes first in the sum.
void Chain::follow_product(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const std::optional<Fragments> f = fragments_at(*view_.listing, e.operation);
    const FragmentOperand* const d = f ? f->find("D") : nullptr;
    if (d == nullptr) return;
    const auto held = std::ranges::find_if(d->layout.held, [&](const lanes::Held& h) {
        return h.lane == lane && d->registers[h.reg] == ref;
    });
    if (held == d->layout.held.end()) return;
    if (!line(depth, fmt::format("= row {} of A, column {} of B, C[{}][{}]; of A and B the first:",
                                 held->row, held->column, held->row, held->column)))
        return;
    const auto element = [&](std::string_view name, unsigned row, unsigned column) {
        const FragmentOperand* const o = f->find(name);
        if (o == nullptr) return;
        const auto h = std::ranges::find_if(o->layout.held, [&](const lanes::Held& one) {
            return one.row == row && one.column == column && one.part == held->part;
        });
        if (h == o->layout.held.end()) return;
        if (line(depth, fmt::format("{}[{}][{}], lane {}", name, row, column, h->lane)))
            of_register(o->registers[h->reg], e.warp, h->lane, event, depth + 1);
    };
    element("A", held->row, 0);
    element("B", 0, held->column);
    element("C", held->row, held->column);
}

void Chain::follow(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    if (o.mma != nullptr || o.wmma != nullptr) return follow_product(event, ref, lane, depth);
    if (ref != isa::no_ref && follow_loads(event, ref, lane, depth)) return;
    if (o.op == isa::Op::shfl) {
        (void)line(depth, "from another lane's register, by shfl");
        return;
    }
    std::set<isa::Ref> followed;
    for (uint32_t i = o.written; i < uint32_t{o.written} + o.read; ++i) {
        const isa::Register& r = p_.registers[p_.uses[o.first_use + i]];
        if (r.type == isa::Type::pred || !followed.insert(r.ref).second) continue;
        of_register(r.ref, e.warp, lane, event, depth);
    }
}

}  // namespace

launch::Result<std::string> origin_text(Session& session, const Expression& expression) {
    const View before = session.view();
    launch::Result<Expression::Target> target = expression.target(before);
    if (!target) return launch::failure(target);
    const isa::Ref ref = target->reg == nullptr ? isa::no_ref : target->reg->ref;
    Log log(session.focus().cta);
    if (!session.repeat(log)) return launch::failure("the run did not come here again");
    if (log.full())
        return launch::failure(
            fmt::format("the CTA has run more than {} instructions", max_events));
    const View view = session.view();
    if (view.warp == nullptr) return launch::failure("the CTA has ended");
    Chain chain(log, view);
    if (target->space == ptx::Space::none)
        chain.of_register(ref, view.warp->index, view.lane, log.events.size(), 0);
    else
        chain.of_memory(target->space, target->address, view.lane, view.warp->index,
                        log.events.size(), 0);
    return chain.text;
}

}  // namespace lockwarp::debug
