// SPDX-License-Identifier: Apache-2.0
// Values that nothing defined, where they matter: stored to global memory, branched on, used as an
// address or for a barrier. What is only moved, packed or computed and then left alone is not said
// anything of. Registers, shared and local memory are undefined at first, byte by byte, and the
// buffers of which the launch says so (PTX manual, "State Spaces": contents are undefined).
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "emu/check/check.hpp"
#include "emu/check/clocks.hpp"
#include "emu/check/of_cluster.hpp"
#include "emu/check/undefined_launch.hpp"
#include "emu/check/undefined_values.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;
using ptx::Space;

enum class Use : uint8_t { stored, branch, address, operand };

struct UseRow {
    Use use;
    std::string_view kind;
    std::string_view does;
};

constexpr std::array uses{
    UseRow{Use::stored, "stored", "stores "},
    UseRow{Use::branch, "branched-on", "is decided by "},
    UseRow{Use::address, "address", "takes an address from "},
    UseRow{Use::operand, "operand", "waits for threads as said by "},
};

std::string hex(uint64_t value) {
    std::string out;
    for (; value != 0 || out.empty(); value /= 16)
        out.insert(out.begin(), "0123456789abcdef"[value % 16]);
    return "0x" + out;
}

class OfCta;
using Peers = std::vector<OfCta*>;  // the CTAs of a cluster, by rank

class OfCta : public warp::CtaObserver {
  public:
    OfCta(UndefinedLaunch& common, std::shared_ptr<Peers> peers)
        : common_(common),
          shared_(common.program.shared_begin, common.shared_bytes),
          peers_(std::move(peers)) {
        peers_->push_back(this);
        warps_.resize(common.warps);
        for (OfWarp& w : warps_) {
            w.registers.begin(common.registers);
            for (uint32_t l = 0; l < 32; ++l) w.local.emplace_back(0, common.program.local_bytes);
        }
    }
    void retired(const warp::Retired& e) override;
    void bulk(const warp::BulkEvent& e) override;

    Collection found;

  private:
    struct OfWarp {
        WarpRegisters registers;
        std::vector<Defined> local;  // by lane, of the entry's own: functions' frames lie behind
        OpenChoices choices;
    };

    // The memory of a lane's address; nullptr: all of it is defined.
    Defined* memory(OfWarp& w, const warp::Access& a, uint32_t lane);
    void look_at_uses(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void look_at_addresses(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    bool any_memory(const warp::Retired& e);
    void define_results(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void load(const warp::Retired& e, const isa::Operation& o, OfWarp& w, const warp::Access& a);
    void load_matrix(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                     const warp::Access& a);
    void load_parts(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void store_parts(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void store(const warp::Retired& e, const isa::Operation& o, OfWarp& w, const warp::Access& a);
    void store_bytes(const warp::Retired& e, OfWarp& w, const warp::Access& a, uint32_t lane,
                     uint32_t undefined, uint32_t origin);
    void store_defined(const warp::Retired& e, OfWarp& w);
    void store_matrix(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                      const warp::Access& a);
    void update(const warp::Retired& e, const isa::Operation& o, OfWarp& w);
    void copy(const warp::Retired& e, OfWarp& w);
    uint32_t origin_in(Defined& m, const warp::Retired& e, const warp::Access& a, uint32_t lane,
                       uint32_t undefined);
    uint32_t origin_of(const WarpRegisters& w, const warp::Retired& e, uint32_t reg);
    void say(const warp::Retired& e, Use use, uint32_t lanes, uint32_t origin);
    std::string name_of(const Origin& o) const;

    UndefinedLaunch& common_;
    Defined shared_;
    std::shared_ptr<Peers> peers_;
    std::vector<OfWarp> warps_;
    Origins origins_;
};

Defined* OfCta::memory(OfWarp& w, const warp::Access& a, uint32_t lane) {
    if (a.space == Space::shared) return (a.remote >> lane & 1) != 0 ? nullptr : &shared_;
    if (a.space == Space::global)
        return common_.global.empty() ? nullptr : common_.buffer(a.address[lane]);
    return a.space == Space::local ? &w.local[lane] : nullptr;
}

std::string OfCta::name_of(const Origin& o) const {
    switch (o.kind) {
        case Origin::of_register:
            return "register " + common_.program.registers[o.reg].name;
        case Origin::of_shared:
            return "shared memory at " + hex(o.address);
        case Origin::of_local:
            return "local memory at " + hex(o.address);
        case Origin::of_global:
            return "global memory at " + hex(o.address);
        case Origin::of_lane:
            return "another lane";
    }
    return {};
}

void OfCta::say(const warp::Retired& e, Use use, uint32_t lanes, uint32_t number) {
    const Origin& from = origins_.at(number);
    const isa::Program& p = common_.program;
    // Of what is stored the place is that where it was computed with, or chose; the store is the
    // other.
    const bool works = use == Use::stored && from.worked != no_operation;
    const bool chooses = works && p.operations[from.worked].op == Op::bra;
    const UseRow& row = uses[static_cast<size_t>(chooses ? Use::branch : use)];
    const bool computed = works && from.worked != e.operation;  // an atomic operation does both
    const uint32_t here = computed ? from.worked : e.operation;
    std::optional<uint32_t> other;
    if (computed)
        other = e.operation;
    else if (from.read != no_operation && from.read != e.operation)
        other = from.read;
    if (found.again(row.kind, here, other)) return;
    Finding f;
    f.kind = row.kind;
    // A strong store tells another thread something, which may leave it alone.
    const isa::Operation& o = p.operations[e.operation];
    if (use == Use::stored && o.op == Op::st && is_strong(o)) f.severity = Severity::note;
    f.here = {here, e.cta, e.warp, lanes, computed ? 0 : e.step};
    if (other) f.other = Site{*other, e.cta, e.warp, lanes, computed ? e.step : 0};
    f.message = (works && !chooses ? "computes with " : std::string(row.does)) + name_of(from) +
                ", which nothing has written";
    if (computed)
        f.message += "; line " + std::to_string(p.operations[e.operation].place.line) +
                     " stores what comes of it";
    if (from.kind != Origin::of_register) {
        f.space = from.kind == Origin::of_shared  ? Space::shared
                  : from.kind == Origin::of_local ? Space::local
                                                  : Space::global;
        f.address = from.address;
        f.bytes = 1;
    }
    f.hint = from.kind == Origin::of_register ? "give it a value on every way that leads here"
                                              : "store there first, all that is read";
    found.add(std::move(f));
}

uint32_t OfCta::origin_of(const WarpRegisters& w, const warp::Retired& e, uint32_t reg) {
    return w.origin[reg] != 0
               ? w.origin[reg]
               : origins_.add({Origin::of_register, reg, 0, e.operation, no_operation});
}

uint32_t OfCta::origin_in(Defined& m, const warp::Retired& e, const warp::Access& a, uint32_t lane,
                          uint32_t undefined) {
    const uint64_t at = a.address[lane] + static_cast<unsigned>(__builtin_ctz(undefined));
    if (const uint32_t known = m.origin(at); known != 0) return known;
    const Origin::Kind kind = a.space == Space::shared  ? Origin::of_shared
                              : a.space == Space::local ? Origin::of_local
                                                        : Origin::of_global;
    return origins_.add({kind, no_register, at, e.operation, no_operation});
}

void OfCta::look_at_addresses(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    for (const isa::Address& a : o.address) {
        const uint32_t reg = a.base == isa::no_ref ? no_register : common_.registers.at(a.base);
        if (reg == no_register) continue;
        const uint32_t lanes = w.registers.any[reg] & e.executed;
        if (lanes != 0) say(e, Use::address, lanes, origin_of(w.registers, e, reg));
    }
}

void OfCta::look_at_uses(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    const isa::OpRow& row = isa::row(o.op);
    const bool has_effect = row.flow != isa::Flow::next || row.memory != isa::Memory::none ||
                            row.sync != isa::Sync::none;
    if (!has_effect) return;
    if (o.guarded)
        if (const uint32_t reg = common_.registers.at(o.guard); reg != no_register) {
            const uint32_t lanes = w.registers.any[reg] & e.active;
            const Choice* const choice = lanes != 0 ? common_.choices.of(e.operation) : nullptr;
            if (choice != nullptr)
                w.choices.begin(*choice, lanes,
                                origins_.worked(origin_of(w.registers, e, reg), e.operation));
            else if (lanes != 0)
                say(e, Use::branch, lanes, origin_of(w.registers, e, reg));
        }
    look_at_addresses(e, o, w);
    if (row.flow == isa::Flow::next && row.sync != isa::Sync::warp) return;
    // Barriers, indirect branches; what a call passes is only moved.
    if (o.op == Op::call) return;
    for (const uint32_t reg : read(e, o)) {
        const uint32_t lanes = w.registers.any[reg] & e.executed;
        if (o.guarded && reg == common_.registers.at(o.guard)) continue;
        if (lanes != 0) say(e, Use::operand, lanes, origin_of(w.registers, e, reg));
    }
}

// Of ld: each result has the bytes of an element.
void OfCta::load(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                 const warp::Access& a) {
    const isa::VectorRef v = o.vector[0];
    const uint32_t each = a.bytes / std::max(v.count, 1u);
    const bool is_signed = isa::is_signed(o.mod.type[0]);
    std::array<uint32_t, 32> undefined{};
    uint32_t origin = 0;
    each_lane(a.lanes, [&](uint32_t lane) {
        Defined* const m = memory(w, a, lane);
        if (m == nullptr) return;
        undefined[lane] = m->get(a.address[lane], a.bytes_of_lane[lane]);
        if (undefined[lane] != 0 && origin == 0)
            origin = origin_in(*m, e, a, lane, undefined[lane]);
    });
    for (uint32_t i = 0; i < v.count; ++i) {
        const uint32_t reg = common_.registers.in_pool(v.first + i);
        if (reg == no_register) continue;
        LanesByByte out{};
        each_lane(origin != 0 ? a.lanes : 0, [&](uint32_t lane) {
            const uint64_t bytes = uint64_t{undefined[lane]} >> (i * each);
            for (uint32_t b = 0; b < 8; ++b) {
                const bool is_there = b < each;
                const uint64_t bit =
                    is_there ? bytes >> b & 1 : (is_signed ? bytes >> (each - 1) & 1 : 0);
                out[b] |= static_cast<uint32_t>(bit) << lane;
            }
        });
        if (origin == 0) {
            w.registers.define(reg, a.lanes);
            continue;
        }
        w.registers.set(reg, common_.registers.bytes(reg), out, a.lanes, origin);
        if (a.space == Space::global || !follows_sums(each) || each != common_.registers.bytes(reg))
            continue;
        each_lane(w.registers.any[reg] & a.lanes, [&](uint32_t lane) {
            if (Defined* const m = memory(w, a, lane); m != nullptr)
                w.registers.differences.set(
                    reg, lane,
                    m->differences.get(a.address[lane] + i * each, each, origins_.made_up));
        });
    }
}

void OfCta::load_matrix(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                        const warp::Access& a) {
    RowBytes rows{};
    uint32_t origin = 0;
    each_lane(a.own(), [&](uint32_t lane) {
        rows[lane] = shared_.get(a.address[lane], a.bytes_of_lane[lane]);
        if (rows[lane] != 0 && origin == 0) origin = origin_in(shared_, e, a, lane, rows[lane]);
    });
    for (uint32_t i = 0; i < o.vector[0].count; ++i) {
        const uint32_t reg = common_.registers.in_pool(o.vector[0].first + i);
        if (reg == no_register) continue;
        if (origin == 0)
            w.registers.define(reg, e.executed);
        else
            w.registers.set(reg, common_.registers.bytes(reg),
                            lanes_of_matrix(rows, i, o.mod.trans), e.executed, origin);
    }
}

// Registers that each access of wmma.load and wmma.store has, in order, of four bytes or more of
// it; 0: they are not told apart, as where registers have the same elements.
uint32_t registers_of_each(const warp::Retired& e, const isa::Operation& o) {
    if (e.access_count == 0 || o.vector[0].count % e.access_count != 0) return 0;
    const uint32_t each = o.vector[0].count / e.access_count;
    return each == 1 || e.accesses[0].bytes / each >= 4 ? each : 0;
}

void OfCta::load_parts(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    const uint32_t each = registers_of_each(e, o);
    uint32_t all = 0, origin = 0;
    std::array<std::array<uint32_t, 32>, 16> undefined{};  // bytes, by access and lane
    for (uint32_t n = 0; n < e.access_count; ++n) {
        const warp::Access& a = e.accesses[n];
        each_lane(a.lanes, [&](uint32_t lane) {
            Defined* const m = memory(w, a, lane);
            if (m == nullptr) return;
            undefined[n][lane] = m->get(a.address[lane], a.bytes_of_lane[lane]);
            if (undefined[n][lane] == 0) return;
            all |= 1u << lane;
            if (origin == 0) origin = origin_in(*m, e, a, lane, undefined[n][lane]);
        });
    }
    for (uint32_t i = 0; i < o.vector[0].count; ++i) {
        const uint32_t reg = common_.registers.in_pool(o.vector[0].first + i);
        if (reg == no_register) continue;
        uint32_t lanes = each == 0 ? all : 0;
        if (each != 0) {
            const uint32_t bytes = e.accesses[0].bytes / each;
            const uint32_t own = ((1u << bytes) - 1) << (i % each * bytes);
            each_lane(all, [&](uint32_t lane) {
                lanes |= uint32_t{(undefined[i / each][lane] & own) != 0} << lane;
            });
        }
        LanesByByte out;
        out.fill(lanes);
        w.registers.set(reg, common_.registers.bytes(reg), out, e.executed, origin);
    }
}

void OfCta::store_parts(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    const uint32_t each = registers_of_each(e, o);
    for (uint32_t n = 0; n < e.access_count; ++n) {
        const warp::Access& a = e.accesses[n];
        std::array<uint32_t, 32> undefined{};  // bytes, by lane
        uint32_t origin = 0;
        for (uint32_t i = 0; i < each; ++i) {
            const uint32_t reg = common_.registers.in_pool(o.vector[0].first + n * each + i);
            const uint32_t lanes = reg == no_register ? 0 : w.registers.any[reg] & a.lanes;
            if (lanes != 0 && origin == 0) origin = origin_of(w.registers, e, reg);
            const uint32_t bytes = a.bytes / each, own = ((1u << bytes) - 1) << (i * bytes);
            each_lane(lanes, [&](uint32_t lane) { undefined[lane] |= own; });
        }
        each_lane(a.lanes,
                  [&](uint32_t lane) { store_bytes(e, w, a, lane, undefined[lane], origin); });
    }
}

// What was computed with undefined values is one thing in global memory, and is said once; what was
// moved there may be left alone where its buffer was undefined before.
void OfCta::store_bytes(const warp::Retired& e, OfWarp& w, const warp::Access& a, uint32_t lane,
                        uint32_t undefined, uint32_t origin) {
    if (a.space == Space::shared && (a.remote >> lane & 1) != 0) {
        // Where an undefined value came from the peer could not say.
        if (a.rank[lane] < peers_->size())
            (*peers_)[a.rank[lane]]->shared_.set(a.address[lane], a.bytes_of_lane[lane], 0);
        return;
    }
    Defined* const m = memory(w, a, lane);
    if (undefined != 0 && a.space == Space::global &&
        (m == nullptr || origins_.at(origin).worked != no_operation)) {
        say(e, Use::stored, 1u << lane, origin);
        undefined = 0;
    }
    if (m == nullptr) return;
    m->set(a.address[lane], a.bytes_of_lane[lane], undefined);
    if (undefined != 0) m->set_origin(a.address[lane], a.bytes_of_lane[lane], origin);
}

void OfCta::store(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                  const warp::Access& a) {
    const isa::VectorRef v = o.vector[0];
    const uint32_t each = a.bytes / std::max(v.count, 1u);
    uint32_t any = 0, origin = 0;
    for (uint32_t i = 0; i < v.count; ++i) {
        const uint32_t reg = common_.registers.in_pool(v.first + i);
        if (reg == no_register || (w.registers.any[reg] & e.executed) == 0) continue;
        any |= w.registers.any[reg] & e.executed;
        if (origin == 0) origin = origin_of(w.registers, e, reg);
    }
    each_lane(a.lanes, [&](uint32_t lane) {
        uint32_t undefined = 0;
        for (uint32_t i = 0; i < v.count && (any >> lane & 1) != 0; ++i) {
            const uint32_t reg = common_.registers.in_pool(v.first + i);
            if (reg == no_register) continue;
            for (uint32_t b = 0; b < std::min(each, 8u); ++b)
                undefined |= (w.registers.undefined[reg][b] >> lane & 1) << (i * each + b);
        }
        store_bytes(e, w, a, lane, undefined, origin);
        if (undefined == 0 || a.space == Space::global || !follows_sums(each)) return;
        Defined* const m = memory(w, a, lane);
        for (uint32_t i = 0; i < v.count && m != nullptr; ++i) {
            const uint32_t reg = common_.registers.in_pool(v.first + i);
            if (reg == no_register || (w.registers.any[reg] >> lane & 1) == 0) continue;
            if (each == common_.registers.bytes(reg))
                m->differences.set(a.address[lane] + i * each, each,
                                   w.registers.differences.get(reg, lane, origins_.made_up));
        }
    });
}

void OfCta::store_matrix(const warp::Retired& e, const isa::Operation& o, OfWarp& w,
                         const warp::Access& a) {
    RowBytes rows{};
    uint32_t origin = 0;
    for (uint32_t i = 0; i < o.vector[0].count; ++i) {
        const uint32_t reg = common_.registers.in_pool(o.vector[0].first + i);
        if (reg == no_register || w.registers.any[reg] == 0) continue;
        if (origin == 0) origin = origin_of(w.registers, e, reg);
        add_rows(w.registers.undefined[reg], i, o.mod.trans, rows);
    }
    each_lane(a.lanes, [&](uint32_t lane) { store_bytes(e, w, a, lane, rows[lane], origin); });
}

void OfCta::store_defined(const warp::Retired& e, OfWarp& w) {
    for (const warp::Access& a : std::span(e.accesses, e.access_count))
        each_lane(a.lanes, [&](uint32_t lane) { store_bytes(e, w, a, lane, 0, 0); });
}

// What an update makes of undefined bytes is undefined, but where it replaces them.
void OfCta::update(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    uint32_t any = 0, origin = 0;
    for (const uint32_t reg : read(e, o)) {
        if (o.address[0].base != isa::no_ref && reg == common_.registers.at(o.address[0].base))
            continue;
        if (o.guarded && reg == common_.registers.at(o.guard)) continue;
        any |= w.registers.any[reg] & e.executed;
        if (any != 0 && origin == 0) origin = origin_of(w.registers, e, reg);
    }
    LanesByByte out{};
    const auto change = [&](const warp::Access& a, uint32_t lane) {
        Defined* const m = memory(w, a, lane);
        const uint32_t before = m == nullptr ? 0 : m->get(a.address[lane], a.bytes_of_lane[lane]);
        if (before != 0 && origin == 0) origin = origin_in(*m, e, a, lane, before);
        for (uint32_t& b : out) b |= uint32_t{before != 0} << lane;
        const bool is_given = (any >> lane & 1) != 0;
        const bool is_kept = before != 0 && o.mod.reduce != isa::Reduce::exch;
        if (is_kept) origin = origins_.worked(origin, e.operation);
        store_bytes(e, w, a, lane, is_given || is_kept ? UINT32_MAX : 0, origin);
    };
    for (const warp::Access& a : std::span(e.accesses, e.access_count))
        if (a.store) each_lane(a.lanes, [&](uint32_t lane) { change(a, lane); });
    for (const uint32_t reg : written(e, o))
        w.registers.set(reg, common_.registers.bytes(reg), out, e.executed, origin);
}

void OfCta::copy(const warp::Retired& e, OfWarp& w) {
    if (e.access_count == 0) return;
    const warp::Access& to = e.accesses[e.access_count - 1];
    const warp::Access* const from = e.access_count > 1 ? &e.accesses[0] : nullptr;
    each_lane(to.lanes, [&](uint32_t lane) {
        Defined* m = nullptr;
        uint32_t undefined = 0, origin = 0;
        if (from != nullptr && (from->lanes >> lane & 1) != 0) m = memory(w, *from, lane);
        if (m != nullptr) undefined = m->get(from->address[lane], from->bytes_of_lane[lane]);
        if (undefined != 0) origin = origin_in(*m, e, *from, lane, undefined);
        store_bytes(e, w, to, lane, undefined, origin);
    });
}

// A bulk copy moves what is undefined with the rest; what a reduction makes of it is left alone.
void OfCta::bulk(const warp::BulkEvent& e) {
    constexpr uint32_t granule = 16;
    const auto memory_of = [&](const warp::BulkRange& r) -> Defined* {
        if (r.space == Space::shared)
            return r.cta < peers_->size() ? &(*peers_)[r.cta]->shared_ : nullptr;
        return common_.global.empty() ? nullptr : common_.buffer(r.address);
    };
    const isa::Operation& o = common_.program.operations[e.operation];
    const bool reduces = o.mod.reduce != isa::Reduce::none || o.mod.combine != isa::Combine::none;
    const warp::BulkRange* from = nullptr;
    for (const warp::BulkRange& r : e.ranges) {
        if (!r.store) from = &r;
        Defined* const to = memory_of(r);
        if (!r.store || to == nullptr || reduces) continue;
        const bool copied = from != nullptr && from->lane == r.lane && from->bytes == r.bytes;
        const Defined* const source = copied ? memory_of(*from) : nullptr;
        for (uint64_t at = 0; at < r.bytes; at += granule) {
            const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(granule, r.bytes - at));
            to->set(r.address + at, bytes,
                    source != nullptr ? source->get(from->address + at, bytes) : 0);
        }
    }
}

bool OfCta::any_memory(const warp::Retired& e) {
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space == Space::shared && (a.remote != 0 || shared_.any())) return true;
        if (a.space == Space::global && !common_.global.empty()) return true;
        if (a.space == Space::local && common_.program.local_bytes != 0) return true;
    }
    return false;
}

// What a function gives back in the entry's local memory is written by no instruction.
void OfCta::define_results(const warp::Retired& e, const isa::Operation& o, OfWarp& w) {
    if (e.operation >= common_.entry_end) return;
    for (const isa::Passed& p : e.program->calls[o.target].results)
        if (p.ref == isa::no_ref)
            each_lane(e.executed, [&](uint32_t lane) {
                for (uint32_t at = 0; at < p.bytes; at += 16)
                    w.local[lane].set(p.offset + at, std::min(16u, p.bytes - at), 0);
            });
}

// Operand scale-d of wgmma.mma_async.
bool adds_to_d(const warp::Retired& e, const isa::Operation& o) {
    uint32_t lanes = 0;
    std::memcpy(&lanes, e.registers + o.r[2], sizeof lanes);
    return ((lanes ^ (o.negated_sources >> 2 & 1)) & 1) != 0;
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = e.program->operations[e.operation];
    OfWarp& w = warps_[e.warp];
    w.choices.meet(e.operation, e.active, common_.registers, w.registers);
    if (o.op == Op::call) define_results(e, o, w);
    // Without scale-d wgmma does not read what D held.
    const bool is_warpgroup = o.warpgroup != nullptr;
    if (is_warpgroup && !adds_to_d(e, o))
        for (const uint32_t r : written(e, o)) w.registers.define(r, e.executed);
    uint32_t any = 0;
    for (const uint32_t r : read(e, o)) any |= w.registers.any[r];
    const bool has_memory = e.access_count != 0 && any_memory(e);
    if ((any & e.active) == 0 && !has_memory) {
        for (const uint32_t r : written(e, o)) w.registers.define(r, e.executed);
        return;
    }
    if ((any & e.active) != 0) look_at_uses(e, o, w);
    if (e.executed == 0) return;
    const isa::OpRow& row = isa::row(o.op);
    const warp::Access* const a = e.access_count != 0 ? &e.accesses[0] : nullptr;
    const bool is_8x8 = isa::bits(o.mod.type[0]) == 16;
    // Generic addresses of several state spaces are several accesses.
    const auto each_access = [&](auto what) {
        for (const warp::Access& one : std::span(e.accesses, e.access_count))
            (this->*what)(e, o, w, one);
    };
    switch (row.memory) {
        case isa::Memory::none:
            if (o.op == Op::call) store_defined(e, w);  // what the device's runtime gives
            if (o.op == Op::call || row.flow != isa::Flow::next) break;
            return pass_on(e, common_.registers, w.registers, origins_);
        case isa::Memory::load:
            if (is_warpgroup) return pass_on(e, common_.registers, w.registers, origins_);
            if (a == nullptr || row.sampled) break;  // what a texture gives is a value
            if (row.wmma) return load_parts(e, o, w);
            if (row.matrix == isa::Matrix::none) return each_access(&OfCta::load);
            if (is_8x8) return load_matrix(e, o, w, *a);
            break;
        case isa::Memory::store:
            if (a == nullptr) return;
            if (row.matrix == isa::Matrix::none) return each_access(&OfCta::store);
            if (row.wmma) return store_parts(e, o, w);
            if (is_8x8) return store_matrix(e, o, w, *a);
            return store_defined(e, w);
        case isa::Memory::update:
            return update(e, o, w);
        case isa::Memory::barrier:
            if (a != nullptr)
                each_lane(a->lanes, [&](uint32_t lane) { store_bytes(e, w, *a, lane, 0, 0); });
            break;
        case isa::Memory::copy:
            return copy(e, w);
    }
    for (const uint32_t r : written(e, o)) w.registers.define(r, e.executed);
}

class Uninitialised : public Check {
  public:
    Uninitialised(const isa::Program& program, const warp::Launch& launch,
                  const std::vector<Range>& undefined)
        : common_(program, launch, undefined) {}
    // What CTAs write into an undefined buffer is known to all.
    bool wants_one_thread() const override { return !common_.global.empty(); }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(common_, peers_.of(place));
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }
    void describe(Described& out) const override {
        out.undefined.clear();
        for (const Defined& d : common_.global)
            for (const Range& r : d.undefined()) out.undefined.push_back(r);
    }

  private:
    OfCluster<Peers> peers_;
    UndefinedLaunch common_;
    Collection found_;
};

// What such a launch leaves undefined is not known: nothing is said of it.
class NotFollowed : public Check {
  public:
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override { return nullptr; }
    std::vector<Finding> findings() const override { return {}; }
    void describe(Described& out) const override { out.undefined.clear(); }
};

}  // namespace

std::unique_ptr<Check> uninitialised(const isa::Program& program, const warp::Launch& launch,
                                     const Described& described) {
    // Calls that keep a function's registers and give them back are not followed.
    if (std::ranges::any_of(program.calls, &isa::Call::recursive))
        return described.undefined.empty() ? nullptr : std::make_unique<NotFollowed>();
    return std::make_unique<Uninitialised>(program, launch, described.undefined);
}

}  // namespace lockwarp::check
