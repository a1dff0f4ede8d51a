// SPDX-License-Identifier: Apache-2.0
#include "debug/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "debug/fragment.hpp"
#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"

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

// What an instruction took, beside what its operation says: registers hold it no more later on.
struct Taken {
    std::array<uint8_t, 32> lanes{};        // shfl: by lane whose register
    std::array<uint64_t, 2> descriptors{};  // wgmma: of A and of B
};

// The lane whose register shfl gives to `lane`; 32: its operands were overwritten. PTX manual,
// "shfl.sync".
uint8_t shuffled_from(const isa::Operation& o, const uint8_t* registers, uint32_t lane) {
    if (o.r[0] == o.r[3] || o.r[0] == o.r[4]) return 32;
    const auto value = [&](unsigned n) {
        uint32_t bits = 0;
        std::memcpy(&bits, registers + o.r[n] + size_t{4} * lane, 4);
        return bits;
    };
    const uint32_t amount = value(3) & 31, clamp = value(4) & 31, segment = value(4) >> 8 & 31;
    const uint32_t end = (lane & segment) | (clamp & ~segment);
    uint32_t from = lane;
    bool good = false;
    switch (o.mod.shuffle) {
        case isa::Shuffle::up:
            from = lane - amount;
            good = static_cast<int32_t>(from) >= static_cast<int32_t>(end);
            break;
        case isa::Shuffle::down:
            from = lane + amount;
            good = from <= end;
            break;
        case isa::Shuffle::bfly:
            from = lane ^ amount;
            good = from <= end;
            break;
        default:
            from = (lane & segment) | (amount & ~segment);
            good = from <= end;
    }
    return static_cast<uint8_t>(good ? from & 31 : lane);
}

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
        const isa::Operation& o = e.program->operations[e.operation];
        if (o.op == isa::Op::shfl) {
            Taken& t = taken[events.size()];
            for (uint32_t lane = 0; lane < 32; ++lane)
                t.lanes[lane] = shuffled_from(o, e.registers, lane);
        }
        if (o.warpgroup != nullptr) {
            Taken& t = taken[events.size()];
            for (unsigned n = 0; n < 2; ++n)
                if (o.r[n] != isa::no_ref)
                    std::memcpy(&t.descriptors[n], e.registers + o.r[n], sizeof(uint64_t));
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
    std::unordered_map<size_t, Taken> taken;  // by event

  private:
    uint64_t cta_;
    bool full_ = false;
};

// The last stores of other CTAs to some addresses of global memory.
class StoresOfOthers : public Goal {
  public:
    StoresOfOthers(uint64_t cta, const std::set<uint64_t>& addresses)
        : cta_(cta), addresses_(addresses) {}
    std::optional<exec::Pace> before(const Here& here, bool) override {
        return exec::Pace{UINT64_MAX, here.cta->index != cta_};
    }
    void retired(const warp::Retired& e) override {
        for (uint32_t k = 0; k < e.access_count; ++k) {
            const warp::Access& a = e.accesses[k];
            if (!a.store || a.space != ptx::Space::global) continue;
            for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
                const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
                const uint64_t end = a.address[lane] + a.bytes_of_lane[lane];
                for (auto at = addresses_.lower_bound(a.address[lane]);
                     at != addresses_.end() && *at < end; ++at)
                    last[*at] = {e.cta_index, e.warp, lane, e.operation, e.step};
            }
        }
    }
    struct Store {
        uint64_t cta;
        uint32_t warp, lane, operation;
        uint64_t step;
    };
    std::map<uint64_t, Store> last;

  private:
    uint64_t cta_;
    const std::set<uint64_t>& addresses_;
};

class Chain {
  public:
    Chain(const Log& log, const View& view, const std::map<uint64_t, StoresOfOthers::Store>& others)
        : log_(log), view_(view), others_(others), p_(view.program()) {}

    void of_register(isa::Ref ref, uint32_t warp, uint32_t lane, size_t before, unsigned depth);
    void of_memory(ptx::Space space, uint64_t address, uint32_t lane, uint32_t warp, size_t before,
                   unsigned depth);
    std::string text;
    std::set<uint64_t> given;  // addresses of global memory that the CTA did not store to

  private:
    bool line(unsigned depth, const std::string& what);
    std::string name_of(isa::Ref ref) const;
    bool writes(const isa::Operation& o, isa::Ref ref) const;
    std::string event_text(const Event& e, uint32_t lane) const;
    void follow(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    void follow_product(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    void follow_warpgroup(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    bool follow_loads(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    bool follow_exchange(size_t event, isa::Ref ref, uint32_t lane, unsigned depth);
    void follow_store(size_t event, const Touch& touch, uint64_t address, unsigned depth);
    void begin_text(ptx::Space space, uint64_t address, const std::string& where, unsigned depth);
    const Touch* touch_of(const Event& e, uint32_t lane, bool store, unsigned access) const;

    const Log& log_;
    const View& view_;
    const std::map<uint64_t, StoresOfOthers::Store>& others_;
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
    const std::string where = fmt::format("{}[{:#x}]{}", ptx::name_of(space), address,
                                          name.empty() ? "" : " <" + name + ">");
    for (size_t i = before; i-- > 0;) {
        const Event& e = log_.events[i];
        for (size_t t = 0; t < e.touches; ++t) {
            const Touch& touch = log_.touches[e.first_touch + t];
            if (!touch.store || touch.space != space || address - touch.address >= touch.bytes)
                continue;
            if (space == ptx::Space::local && (e.warp != warp || touch.lane != lane)) continue;
            if (!line(depth, fmt::format("{}: {}", where, event_text(e, touch.lane)))) return;
            return follow_store(i, touch, address, depth + 1);
        }
    }
    begin_text(space, address, where, depth);
}

// Memory that nothing in the CTA stored before.
void Chain::begin_text(ptx::Space space, uint64_t address, const std::string& where,
                       unsigned depth) {
    if (space == ptx::Space::global) given.insert(address);
    const auto other = others_.find(address);
    if (space == ptx::Space::global && other != others_.end()) {
        const StoresOfOthers::Store& s = other->second;
        const warp::Dim3& grid = view_.launch->grid;
        (void)line(depth,
                   fmt::format("{}: CTA ({},{},{}) warp {} lane {} step {}, line {}: {}", where,
                               s.cta % grid.x, s.cta / grid.x % grid.y, s.cta / grid.x / grid.y,
                               s.warp, s.lane, s.step, view_.listing->line_of(s.operation),
                               view_.listing->text_of(s.operation)));
        return;
    }
    const char* const what =
        space == ptx::Space::global || space == ptx::Space::const_ || space == ptx::Space::param
            ? ": as the launch began with it"
            : ": never written before";
    (void)line(depth, where + what);
}

// What the instruction stored at the address.
void Chain::follow_store(size_t event, const Touch& touch, uint64_t address, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    const uint64_t byte = address - touch.address;
    const uint32_t first = o.vector[0].first, count = o.vector[0].count;
    if (o.op == isa::Op::st && count != 0) {
        const uint64_t width = std::max(1u, isa::bits(o.mod.type[0]) / 8);
        const uint64_t n = std::min<uint64_t>(byte / width, count - 1);
        return of_register(p_.pool[first + n], e.warp, touch.lane, event, depth);
    }
    // cp.async: from its source.
    if (const Touch* const from = touch_of(e, touch.lane, false, 0);
        from != nullptr && o.op == isa::Op::cp_async)
        return of_memory(from->space, from->address + byte, touch.lane, e.warp, event, depth);
    // stmatrix: the lane gave a row's address, others its elements.
    if (o.op == isa::Op::stmatrix) {
        const std::optional<Fragments> f = fragments_at(*view_.listing, e.operation);
        for (const lanes::Held& h : f && f->operation == e.operation ? f->operands[0].layout.held
                                                                     : std::vector<lanes::Held>())
            if (h.part * 8u + h.row == touch.lane && h.column == byte / 2)
                return of_register(f->operands[0].registers[h.reg], e.warp, h.lane, event, depth);
        return;
    }
    if (o.wmma_fragment != nullptr && touch.access < count)
        return of_register(p_.pool[first + touch.access], e.warp, touch.lane, event, depth);
    // atom and red: what was there, and the operands of the lane.
    const bool atomic = o.op == isa::Op::atom || o.op == isa::Op::red;
    if (atomic) {
        uint32_t lanes = 0;
        for (size_t i = 0; i < e.touches; ++i) {
            const Touch& t = log_.touches[e.first_touch + i];
            if (t.store && t.address == touch.address) lanes |= 1u << t.lane;
        }
        if (std::popcount(lanes) > 1)
            (void)line(depth, fmt::format("there with {} of the warp; of these lane {}:",
                                          lanes_text(lanes), touch.lane));
    }
    follow(event, isa::no_ref, touch.lane, depth);
    if (atomic) of_memory(touch.space, address, touch.lane, e.warp, event, depth);
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
    if (o.op == isa::Op::atom) {  // what was there before
        const Touch* const from = touch_of(e, lane, false, 0);
        if (from == nullptr) return false;
        of_memory(from->space, from->address, lane, e.warp, event, depth);
        return true;
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

// The same of wgmma, whose B, and mostly A, lie in shared memory.
void Chain::follow_warpgroup(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    const std::optional<Fragments> f = fragments_at(*view_.listing, e.operation);
    const FragmentOperand* const d = f ? f->find("D") : nullptr;
    const auto known = log_.taken.find(event);
    if (d == nullptr || known == log_.taken.end()) return;
    const uint32_t thread = e.warp % 4 * 32 + lane;
    const auto held = std::ranges::find_if(d->layout.held, [&](const lanes::Held& h) {
        return h.lane == thread && d->registers[h.reg] == ref;
    });
    if (held == d->layout.held.end()) return;
    if (!line(depth, fmt::format("= row {} of A, column {} of B, C[{}][{}]; of A and B the first:",
                                 held->row, held->column, held->row, held->column)))
        return;
    for (const bool is_a : {true, false}) {
        const FragmentOperand* const x = f->find(is_a ? "A" : "B");
        const std::string name =
            is_a ? fmt::format("A[{}][0]", held->row) : fmt::format("B[0][{}]", held->column);
        if (x->descriptor != isa::no_ref) {
            const uint32_t address = isa::element_address(
                isa::decode_descriptor(known->second.descriptors[is_a ? 0 : 1]), x->transposed,
                isa::bits(x->layout.type), is_a ? held->row : held->column, 0);
            if (line(depth, name + ", in shared memory"))
                of_memory(ptx::Space::shared, address, lane, e.warp, event, depth + 1);
            continue;
        }
        for (const lanes::Held& h : x->layout.held)
            if (h.row == held->row && h.column == 0 && h.lane / 32u == e.warp % 4 &&
                line(depth, fmt::format("{}, lane {}", name, h.lane % 32)))
                of_register(x->registers[h.reg], e.warp, h.lane % 32, event, depth + 1);
    }
    (void)o;
    if (line(depth, fmt::format("C[{}][{}]", held->row, held->column)))
        of_register(ref, e.warp, lane, event, depth + 1);
}

// Registers of other lanes. false: it is another instruction.
bool Chain::follow_exchange(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    if (o.op == isa::Op::shfl && ref == o.r[0]) {
        const auto known = log_.taken.find(event);
        const uint32_t from = known == log_.taken.end() ? 32u : known->second.lanes[lane];
        if (from >= 32) {
            (void)line(depth, "from another lane; which is not known, shfl overwrote its operand");
            return true;
        }
        if ((e.executed >> from & 1) == 0)
            (void)line(depth, fmt::format("from lane {}, which does not take part", from));
        of_register(o.r[2], e.warp, from, event, depth);
        return true;
    }
    if (o.op == isa::Op::movmatrix) {
        const std::optional<Fragments> f = fragments_at(*view_.listing, e.operation);
        const FragmentOperand* const d = f ? f->find("D") : nullptr;
        const FragmentOperand* const a = f ? f->find("A") : nullptr;
        if (d == nullptr || a == nullptr) return false;
        for (const lanes::Held& to : d->layout.held) {
            if (to.lane != lane) continue;
            for (const lanes::Held& h : a->layout.held)
                if (h.row == to.column && h.column == to.row) {
                    of_register(a->registers[h.reg], e.warp, h.lane, event, depth);
                    return true;
                }
        }
    }
    if (o.op == isa::Op::redux || o.op == isa::Op::redux_float)
        (void)line(depth, fmt::format("of the registers of {}; here that of lane {}:",
                                      lanes_text(e.executed), lane));
    return false;
}

void Chain::follow(size_t event, isa::Ref ref, uint32_t lane, unsigned depth) {
    const Event& e = log_.events[event];
    const isa::Operation& o = p_.operations[e.operation];
    if (o.mma != nullptr || o.wmma != nullptr) return follow_product(event, ref, lane, depth);
    if (o.warpgroup != nullptr) return follow_warpgroup(event, ref, lane, depth);
    if (ref != isa::no_ref && follow_loads(event, ref, lane, depth)) return;
    if (ref != isa::no_ref && follow_exchange(event, ref, lane, depth)) return;
    std::set<isa::Ref> followed;
    for (uint32_t i = o.written; i < uint32_t{o.written} + o.read; ++i) {
        const isa::Register& r = p_.registers[p_.uses[o.first_use + i]];
        // Of what was stored the value is asked for, not where it went.
        const bool is_address =
            ref == isa::no_ref && (r.ref == o.address[0].base || r.ref == o.address[1].base);
        if (r.type == isa::Type::pred || is_address || !followed.insert(r.ref).second) continue;
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
    std::map<uint64_t, StoresOfOthers::Store> others;
    const auto chain_of = [&](const View& at) {
        Chain chain(log, at, others);
        if (target->space == ptx::Space::none)
            chain.of_register(ref, at.warp->index, at.lane, log.events.size(), 0);
        else
            chain.of_memory(target->space, target->address, at.lane, at.warp->index,
                            log.events.size(), 0);
        return std::pair(chain.text, chain.given);
    };
    auto [text, given] = chain_of(view);
    // Global memory that came from outside the CTA may be another's work.
    if (given.empty() || view.launch->grid.count() == 1) return text;
    StoresOfOthers stores(view.cta->index, given);
    if (!session.repeat(stores, true)) return launch::failure("the run did not come here again");
    others = std::move(stores.last);
    return chain_of(session.view()).first;
}

}  // namespace lockwarp::debug
