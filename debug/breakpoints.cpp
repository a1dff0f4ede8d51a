// SPDX-License-Identifier: Apache-2.0
#include "debug/breakpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "debug/words.hpp"
#include "launch/values.hpp"

namespace lockwarp::debug {

using isa::Type;

namespace {

bool holds_nan(Type type, uint64_t bits) {
    const Type each = isa::element_of(type);
    const unsigned width = isa::bits(each);
    for (unsigned i = 0; i < isa::row(type).lanes; ++i) {
        const uint64_t one =
            width >= 64 ? bits : bits >> (i * width) & ((uint64_t{1} << width) - 1);
        if (std::isnan(launch::value_of(each, one))) return true;
    }
    return false;
}

// How one of an operation's registers counts in a search for NaNs; none: it does not.
struct FloatUse {
    isa::Ref ref;
    Type type;
    bool written;
};

Type packed(Type t) {
    if (t == Type::f16) return Type::f16x2;
    if (t == Type::bf16) return Type::bf16x2;
    return t;
}

std::vector<FloatUse> float_uses(const isa::Program& p, const isa::Operation& o) {
    std::vector<FloatUse> out;
    const auto add_vector = [&](unsigned n, Type t, bool written) {
        t = packed(t);
        if (!isa::is_float(t) || isa::bits(t) < 32) return;
        for (uint32_t i = 0; i < o.vector[n].count; ++i)
            out.push_back({p.pool[o.vector[n].first + i], t, written});
    };
    if (o.mma != nullptr || o.wmma != nullptr) {
        add_vector(0, o.mma != nullptr ? o.mma->d : o.wmma->d, true);
        add_vector(1, o.mma != nullptr ? o.mma->a : o.wmma->ab, false);
        add_vector(2, o.mma != nullptr ? o.mma->b : o.wmma->ab, false);
        add_vector(3, o.mma != nullptr ? o.mma->c : o.wmma->c, false);
        return out;
    }
    const bool moves = o.op == isa::Op::ld || o.op == isa::Op::mov || o.op == isa::Op::st ||
                       o.op == isa::Op::atom || o.op == isa::Op::red;
    const Type result = o.mod.types == 0 ? Type::none : o.mod.type[0];
    if (moves || !isa::is_float(result) || o.written == 0) return out;
    for (uint32_t i = 0; i < uint32_t{o.written} + o.read; ++i) {
        const isa::Register& r = p.registers[p.uses[o.first_use + i]];
        const Type t = i < o.written || o.mod.types < 2 ? result : o.mod.type[1];
        if (r.type != Type::pred && isa::is_float(t) && isa::bits(t) <= isa::bits(r.type))
            out.push_back({r.ref, t, i < o.written});
    }
    return out;
}

}  // namespace

bool HitRule::holds(uint64_t hits) const {
    switch (kind) {
        case Kind::from:
            return hits >= n;
        case Kind::equal:
            return hits == n;
        case Kind::above:
            return hits > n;
        case Kind::below:
            return hits < n;
        case Kind::at_most:
            return hits <= n;
        case Kind::every:
            return hits % n == 0;
    }
    return true;
}

std::optional<HitRule> hit_rule(std::string_view text) {
    using Kind = HitRule::Kind;
    struct Row {
        std::string_view sign;
        Kind kind;
    };
    constexpr std::array rows{Row{">=", Kind::from},  Row{"<=", Kind::at_most},
                              Row{"==", Kind::equal}, Row{"=", Kind::equal},
                              Row{">", Kind::above},  Row{"<", Kind::below},
                              Row{"%", Kind::every},  Row{"", Kind::from}};
    text = trimmed(text);
    const auto row =
        std::ranges::find_if(rows, [&](const Row& r) { return text.starts_with(r.sign); });
    const std::optional<uint64_t> n = number_of(trimmed(text.substr(row->sign.size())));
    if (!n || (row->kind == Kind::every && *n == 0)) return std::nullopt;
    return HitRule{row->kind, *n};
}

std::string logged(const std::string& text, const View& view) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t open = std::min(text.find('{', at), text.size());
        out += text.substr(at, open - at);
        const size_t close = open == text.size() ? std::string::npos : text.find('}', open);
        if (close == std::string::npos) return out + text.substr(open);
        const launch::Result<Expression> e =
            Expression::parse(std::string_view(text).substr(open + 1, close - open - 1));
        const launch::Result<Value> v = e ? e->evaluate(view) : launch::failure(e.error().sentence);
        out += v ? text_of(*v) : "<" + v.error().sentence + ">";
        at = close + 1;
    }
    return out;
}

Sentinel::Sentinel(const std::vector<Breakpoint>& all, size_t launch, const View& view)
    : all_(all), view_(view), at_(view.program().operations.size(), 0) {
    for (const Breakpoint& b : all_) {
        if (!b.enabled) continue;
        if (b.kind == BreakKind::nan) catches_nan_ = true;
        if (b.kind == BreakKind::watch &&
            (b.launch == launch || b.target.space == ptx::Space::global))
            watched_.push_back({&b, {}, false});
        if (b.kind == BreakKind::code && launch < b.operations.size())
            for (const uint32_t operation : b.operations[launch]) at_[operation] = 1;
        if (b.kind == BreakKind::finding)
            for (const KnownFinding& f : *b.findings)
                if (f.operation && f.launch == launch) findings_.emplace_back(b.id, &f);
    }
    any_ = catches_nan_ || !watched_.empty() || !findings_.empty() ||
           std::ranges::find(at_, 1) != at_.end();
}

const uint8_t* Sentinel::now(const Breakpoint& b, size_t& bytes) const {
    View v = view_;
    const bool global = b.target.space == ptx::Space::global;
    if (!global) {
        // Of a CTA that is not under way nothing changes.
        if (last_cta_ == nullptr || last_cta_->index != b.cta) return nullptr;
        v.cta = last_cta_;
        v.warp = &last_cta_->warps[b.warp];
        v.lane = b.lane;
    }
    bytes = b.target.bytes;
    if (b.target.space != ptx::Space::none)
        return v.bytes_at(b.target.space, b.target.address, b.target.bytes);
    const unsigned width = isa::bits(b.target.type);
    bytes = b.target.type == Type::pred ? 4 : width == 64 ? 256 : 128;
    return v.warp->registers + b.ref;
}

void Sentinel::note(const Here& here) {
    last_cta_ = here.cta;
    last_warp_ = here.warp;
    last_pc_ = here.pc();
    last_step_ = here.warp->step;
    last_lanes_ = here.lanes();
    const isa::Operation& o = view_.program().operations[last_pc_];
    if (o.guarded) {
        uint32_t guard = 0;
        std::memcpy(&guard, here.warp->registers + o.guard, sizeof guard);
        last_lanes_ &= o.guard_negated ? ~guard : guard;
    }
    if (!catches_nan_) return;
    // Of a matrix product an operand of any lane counts.
    had_nan_.assign(32, 0);
    const bool matrix = o.mma != nullptr || o.wmma != nullptr;
    View v = view_;
    v.warp = here.warp;
    for (const FloatUse& use : float_uses(view_.program(), o)) {
        if (use.written) continue;
        for (uint32_t lane = 0; lane < 32; ++lane)
            if ((last_lanes_ >> lane & 1) != 0 &&
                holds_nan(use.type, v.slot_value(use.ref, use.type, lane).bits)) {
                had_nan_[lane] = 1;
                if (matrix) std::ranges::fill(had_nan_, 1);
            }
    }
}

void Sentinel::look_for_nan(const Breakpoint& b, std::vector<Hit>& hits) {
    if (last_warp_->step == last_step_) return;
    const isa::Program& p = view_.program();
    View v = view_;
    v.warp = last_warp_;
    for (const FloatUse& use : float_uses(p, p.operations[last_pc_])) {
        if (!use.written) continue;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if ((last_lanes_ >> lane & 1) == 0 || had_nan_[lane] != 0) continue;
            const Value value = v.slot_value(use.ref, use.type, lane);
            if (!holds_nan(use.type, value.bits)) continue;
            const auto named = std::ranges::find(p.registers, use.ref, &isa::Register::ref);
            hits.push_back({b.id, lane,
                            fmt::format("made a NaN in {} of lane {}: {} = {}",
                                        named == p.registers.end() ? "a register" : named->name,
                                        lane, hex_of(value), text_of(value)),
                            last_pc_, last_cta_->index, last_warp_->index});
            return;
        }
    }
}

void Sentinel::look_at_watched(Watched& w, std::vector<Hit>& hits) {
    size_t bytes = 0;
    const Breakpoint& b = *w.b;
    const uint8_t* const at = now(b, bytes);
    if (at == nullptr) return;
    if (!w.known) {
        w.bytes.assign(at, at + bytes);
        w.known = true;
        return;
    }
    if (std::memcmp(at, w.bytes.data(), bytes) == 0) return;
    const std::vector<uint8_t> before = std::move(w.bytes);
    w.bytes.assign(at, at + bytes);
    // A register in the type in which the instruction that wrote it takes it.
    isa::Type type = b.target.type;
    const auto named = std::ranges::find(view_.program().registers, b.ref, &isa::Register::ref);
    if (b.target.space == ptx::Space::none && named != view_.program().registers.end()) {
        View at_last = view_;
        at_last.pc = last_pc_;
        type = at_last.used_as(*named);
    }
    const auto value = [&](const uint8_t* from, uint32_t lane) {
        Value v{type, 0};
        if (b.target.space != ptx::Space::none) {
            std::memcpy(&v.bits, from, std::min<size_t>(bytes, 8));
        } else if (b.target.type == Type::pred) {
            std::memcpy(&v.bits, from, 4);
            v.bits = v.bits >> lane & 1;
        } else {
            const size_t each = bytes / 32;
            std::memcpy(&v.bits, from + lane * each, each);
            const unsigned width = isa::bits(v.type);
            if (width < 64) v.bits &= (uint64_t{1} << width) - 1;
        }
        return v;
    };
    uint32_t lane = b.target.space == ptx::Space::none ? 0 : b.lane;
    uint32_t changed = 1;
    if (b.target.space == ptx::Space::none) {
        changed = 0;
        for (uint32_t l = 0; l < 32; ++l) {
            if (value(before.data(), l).bits == value(at, l).bits) continue;
            if (!b.condition.empty()) {
                View v = view_;
                v.cta = last_cta_;
                v.warp = last_warp_;
                v.lane = l;
                v.pc = last_pc_;
                const launch::Result<Value> held = b.condition.evaluate(v);
                if (!held || !is_true(*held)) continue;
            }
            if (changed++ == 0) lane = l;
        }
        if (changed == 0) return;
    }
    const Value was = value(before.data(), lane);
    const Value is = value(at, lane);
    std::string text = fmt::format(
        "{}{}: was {} = {}, is {} = {}", b.what,
        b.target.space == ptx::Space::none ? fmt::format(" of lane {}", lane) : std::string(),
        hex_of(was), text_of(was), hex_of(is), text_of(is));
    if (changed > 1) text += fmt::format("; and in {} other lanes", changed - 1);
    hits.push_back({b.id, lane, text, last_pc_, last_cta_->index, last_warp_->index});
}

void Sentinel::look_at_code(const Here& here, std::vector<Hit>& hits) {
    const uint32_t pc = here.pc();
    for (const Breakpoint& b : all_) {
        if (!b.enabled || b.kind != BreakKind::code) continue;
        const bool here_too = std::ranges::any_of(b.operations, [&](const auto& list) {
            return &list == &b.operations[std::min(view_.listing->input().step,
                                                   b.operations.size() - 1)] &&
                   std::ranges::find(list, pc) != list.end();
        });
        if (!here_too) continue;
        if (b.only_warp && *b.only_warp != std::pair(here.cta->index, here.warp->index)) continue;
        View v = view_;
        v.cta = here.cta;
        v.warp = here.warp;
        v.pc = pc;
        v.frame = here.warp->paths[here.path].frame;
        for (uint32_t rest = here.lanes(); rest != 0; rest &= rest - 1) {
            v.lane = static_cast<uint32_t>(std::countr_zero(rest));
            if (!b.condition.empty()) {
                const launch::Result<Value> held = b.condition.evaluate(v);
                // One that cannot be evaluated holds the run, as a debugger's user expects.
                if (held && !is_true(*held)) continue;
                hits.push_back({b.id,
                                v.lane,
                                held ? std::string() : held.error().sentence,
                                {},
                                here.cta->index,
                                here.warp->index});
                break;
            }
            hits.push_back({b.id, v.lane, {}, {}, here.cta->index, here.warp->index});
            break;
        }
    }
}

// Of a path that came to wait at the instruction it is found once.
void Sentinel::look_at_findings(const Here& here, std::vector<Hit>& hits) {
    if (here.attempt != 0) return;
    for (const auto& [id, f] : findings_)
        if (f->step == here.warp->step && f->warp == here.warp->index &&
            f->cta == here.cta->index && *f->operation == here.pc())
            hits.push_back({id, f->lane, f->text, {}, f->cta, f->warp});
}

void Sentinel::look(const Here& here, bool passing, std::vector<Hit>& hits) {
    if (!any_) return;
    view_.memory = here.memory;
    if (last_cta_ != nullptr) {
        for (Watched& w : watched_) look_at_watched(w, hits);
        if (catches_nan_)
            for (const Breakpoint& b : all_)
                if (b.kind == BreakKind::nan && b.enabled) look_for_nan(b, hits);
    }
    const bool first = last_cta_ == nullptr;
    note(here);
    if (first)
        for (Watched& w : watched_) look_at_watched(w, hits);
    if (passing) return;
    if (!findings_.empty()) look_at_findings(here, hits);
    if (at_[here.pc()] != 0) look_at_code(here, hits);
}

}  // namespace lockwarp::debug
