// SPDX-License-Identifier: Apache-2.0
#include "emu/check/undefined_values.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "emu/isa/elements.hpp"

namespace lockwarp::check {

using isa::Op;

namespace {

constexpr uint32_t lanes_of_warp = 32;
constexpr uint32_t matrix_rows = 8;

struct Values {
    const warp::Retired& e;
    const isa::Operation& o;
    const Registers& registers;
    WarpRegisters& w;
    uint32_t from;  // the origin of the result

    uint32_t reg(unsigned operand) const { return registers.at(o.r[operand]); }
    LanesByByte get(unsigned operand) const { return w.get(reg(operand)); }
    uint32_t bytes(uint32_t r) const { return r == no_register ? 0 : registers.bytes(r); }
    void set(uint32_t r, const LanesByByte& to) const {
        if (r != no_register) w.set(r, bytes(r), to, e.executed, from);
    }
    // Of an operand that the instruction did not write.
    uint64_t value(unsigned operand, uint32_t lane) const {
        const bool wide = bytes(reg(operand)) == 8 || isa::bits(o.mod.type[0]) == 64;
        uint64_t out = 0;
        std::memcpy(&out, e.registers + o.r[operand] + lane * (wide ? 8 : 4), wide ? 8 : 4);
        return out;
    }
    uint32_t word(unsigned operand, uint32_t lane) const {
        uint32_t out = 0;
        std::memcpy(&out, e.registers + o.r[operand] + lane * 4, 4);
        return out;
    }
    bool is_kept(unsigned operand) const { return o.r[operand] != o.r[0]; }
    bool negated(unsigned operand) const { return (o.negated_sources >> operand & 1) != 0; }
};

LanesByByte everywhere(uint32_t lanes) {
    LanesByByte out;
    out.fill(lanes);
    return out;
}

uint32_t any_of(const LanesByByte& b) {
    uint32_t out = 0;
    for (const uint32_t lanes : b) out |= lanes;
    return out;
}

// The rules. Each sets all results.
using Rule = void (*)(const Values&);

// In a lane where an operand is undefined, so is each result.
void any_operand(const Values& v) {
    uint32_t lanes = 0;
    for (const uint32_t r : read(v.e, v.o)) lanes |= v.w.any[r];
    for (const uint32_t r : written(v.e, v.o)) v.set(r, everywhere(lanes));
}

// Lanes get what others have: where any is undefined, all are.
void any_lane(const Values& v) {
    uint32_t lanes = 0;
    for (const uint32_t r : read(v.e, v.o)) lanes |= v.w.any[r];
    const bool any = (lanes & v.e.executed) != 0;
    for (const uint32_t r : written(v.e, v.o)) v.set(r, everywhere(any ? UINT32_MAX : 0));
}

void move(const Values& v) {
    const isa::VectorRef to = v.o.vector[0];
    const isa::VectorRef from = v.o.vector[1];
    const unsigned width = isa::bits(v.o.mod.type[0]) / 8;
    if (to.count != 0 && from.count == 0) {
        const LanesByByte all = v.get(1);
        const unsigned each = width / to.count;
        for (uint32_t i = 0; i < to.count; ++i) {
            LanesByByte part{};
            for (unsigned b = 0; b < each; ++b) part[b] = all[(i * each + b) % 8];
            v.set(v.registers.in_pool(to.first + i), part);
        }
        return;
    }
    if (from.count != 0 && to.count == 0) {
        LanesByByte all{};
        const unsigned each = width / from.count;
        for (uint32_t i = 0; i < from.count; ++i) {
            const LanesByByte part = v.w.get(v.registers.in_pool(from.first + i));
            for (unsigned b = 0; b < each; ++b) all[(i * each + b) % 8] = part[b];
        }
        return v.set(v.reg(0), all);
    }
    if (width > 8 || to.count != 0) return any_operand(v);
    v.set(v.reg(0), v.get(1));
}

// A choice: both sides matter where it is undefined itself.
void select(const Values& v) {
    const LanesByByte a = v.get(1), b = v.get(2);
    const uint32_t unknown = any_of(v.get(3));
    uint32_t chosen = v.word(3, 0);
    if ((v.o.negated_sources >> 3 & 1) != 0) chosen = ~chosen;
    LanesByByte out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = (a[i] & chosen) | (b[i] & ~chosen) | unknown;
    v.set(v.reg(0), out);
}

// and, or: a defined byte of zeros, or of ones, decides. Predicates have one bit.
void bits_of_two(const Values& v) {
    const LanesByByte a = v.get(1), b = v.get(2);
    LanesByByte out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] | b[i];
    const bool is_predicate = v.o.mod.type[0] == isa::Type::pred;
    const uint32_t deciding = v.o.op == Op::and_ ? 0 : 0xff;
    for (const unsigned operand : {1u, 2u}) {
        if (!v.is_kept(operand)) continue;
        const LanesByByte own = v.get(operand);
        if (is_predicate) {
            uint32_t value = v.word(operand, 0);
            if ((v.o.negated_sources >> operand & 1) != 0) value = ~value;
            out[0] &= ~((v.o.op == Op::and_ ? ~value : value) & ~own[0]);
            continue;
        }
        each_lane(any_of(out) & v.e.executed, [&](uint32_t lane) {
            const uint64_t value = v.value(operand, lane);
            for (size_t i = 0; i < out.size(); ++i)
                if ((value >> (8 * i) & 0xff) == deciding && (own[i] >> lane & 1) == 0)
                    out[i] &= ~(1u << lane);
        });
    }
    v.set(v.reg(0), out);
}

// xor, sub of a register with itself is zero.
void difference(const Values& v) {
    if (v.o.op == Op::sub || v.o.op == Op::xor_) {
        if (v.o.operands >= 3 && v.o.r[1] == v.o.r[2]) return v.set(v.reg(0), {});
    }
    if (v.o.op != Op::xor_) return any_operand(v);
    const LanesByByte a = v.get(1), b = v.get(2);
    LanesByByte out;
    for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] | b[i];
    v.set(v.reg(0), out);
}

void complement(const Values& v) { v.set(v.reg(0), v.get(1)); }

// shl, shr by a defined amount: undefined bits stay in their bytes, or reach into two.
void shift(const Values& v) {
    const LanesByByte a = v.get(1);
    const uint32_t unknown = any_of(v.get(2));
    const int bytes = static_cast<int>(isa::bits(v.o.mod.type[0]) / 8);
    if (!v.is_kept(2)) return any_operand(v);
    LanesByByte out = everywhere(unknown);
    each_lane(any_of(a) & v.e.executed, [&](uint32_t lane) {
        const auto amount = static_cast<int>(std::min<uint32_t>(v.word(2, lane), 64));
        const int step = amount / 8;
        for (int i = 0; i < bytes; ++i) {
            if ((a[static_cast<size_t>(i)] >> lane & 1) == 0) continue;
            const bool left = v.o.op == Op::shl;
            for (const int extra : {0, amount % 8 != 0 ? 1 : 0}) {
                const int to = left ? i + step + extra : i - step - extra;
                if (to >= 0 && to < bytes) out[static_cast<size_t>(to)] |= 1u << lane;
            }
            // Its sign is copied into all above.
            const bool is_sign = i == bytes - 1 && !left && isa::is_signed(v.o.mod.type[0]);
            for (int to = std::max(bytes - step, 0); is_sign && to < bytes; ++to)
                out[static_cast<size_t>(to)] |= 1u << lane;
        }
    });
    v.set(v.reg(0), out);
}

// Packed numbers: each comes from its own, of one operand or, the upper first, of two.
void convert_packed(const Values& v, unsigned of_operand) {
    const unsigned bits = isa::bits(v.o.mod.type[0]) / 2;
    LanesByByte out{};
    for (const unsigned half : {0u, 1u}) {
        const LanesByByte a = v.get(of_operand == 1 ? 2 - half : 1);
        const unsigned each = isa::bits(v.o.mod.type[1]) / of_operand;
        const unsigned first = of_operand == 1 ? 0 : half * each;
        uint32_t lanes = 0;
        for (unsigned b = first / 8; b * 8 < first + each; ++b) lanes |= a[b];
        for (unsigned b = half * bits / 8; b * 8 < (half + 1) * bits; ++b) out[b] |= lanes;
    }
    v.set(v.reg(0), out);
}

// Of integers the low bytes stay.
void convert(const Values& v) {
    const isa::Type to = v.o.mod.type[0], from = v.o.mod.type[1];
    const unsigned packed = isa::row(from).lanes;
    if (isa::row(to).lanes == 2 && v.o.written == 1 && v.o.read == (packed == 2 ? 1 : 2))
        return convert_packed(v, packed);
    if (isa::is_float(to) || isa::is_float(from) || v.o.mod.sat || v.o.written != 1)
        return any_operand(v);
    const LanesByByte a = v.get(1);
    const unsigned bytes = std::clamp(isa::bits(from) / 8, 1u, 8u);
    const unsigned kept = std::min(bytes, std::max(isa::bits(to) / 8, 1u));
    const bool is_extended = kept == bytes && isa::is_signed(from);
    LanesByByte out{};
    for (unsigned i = 0; i < out.size(); ++i)
        out[i] = i < kept ? a[i] : is_extended ? a[bytes - 1] : 0;
    v.set(v.reg(0), out);
}

void permute(const Values& v) {
    const LanesByByte a = v.get(1), b = v.get(2);
    const uint32_t unknown = any_of(v.get(3));
    if (v.o.mod.permute != isa::Permute::none || !v.is_kept(3)) return any_operand(v);
    LanesByByte out{};
    each_lane(v.e.executed, [&](uint32_t lane) {
        const uint32_t selector = v.word(3, lane);
        for (size_t i = 0; i < 4; ++i) {
            const uint32_t from = selector >> (4 * i) & 7;
            const uint32_t lanes = from < 4 ? a[from] : b[from - 4];
            out[i] |= (lanes | unknown) & 1u << lane;
        }
    });
    v.set(v.reg(0), out);
}

// Packed numbers are apart from each other.
void halves(const Values& v) {
    const isa::TypeRow& type = isa::row(v.o.mod.type[0]);
    const unsigned bytes = type.bits / 8;
    if (type.lanes != 2 || bytes < 4 || v.o.written != 1) return any_operand(v);
    LanesByByte out{};
    for (const uint32_t r : read(v.e, v.o)) {
        const LanesByByte b = v.w.get(r);
        if (v.registers.bytes(r) != bytes) return any_operand(v);
        for (unsigned half = 0; half < bytes; half += bytes / 2) {
            uint32_t any = 0;
            for (unsigned i = 0; i < bytes / 2; ++i) any |= b[half + i];
            for (unsigned i = 0; i < bytes / 2; ++i) out[half + i] |= any;
        }
    }
    v.set(v.reg(0), out);
}

// The lane that a shuffle takes its value from; the amount and the clamp are as they were.
uint32_t source_of_shuffle(const Values& v, uint32_t l) {
    const uint32_t amount = v.word(3, l) & 31, e = v.word(4, l);
    const uint32_t clamp = e & 31, segment = e >> 8 & 31;
    const uint32_t last = (l & segment) | (clamp & ~segment);
    uint32_t from = l;
    bool good = false;
    switch (v.o.mod.shuffle) {
        case isa::Shuffle::up:
            from = l - amount;
            good = static_cast<int32_t>(from) >= static_cast<int32_t>(last);
            break;
        case isa::Shuffle::down:
            from = l + amount;
            good = from <= last;
            break;
        case isa::Shuffle::bfly:
            from = l ^ amount;
            good = from <= last;
            break;
        case isa::Shuffle::idx:
        case isa::Shuffle::none:
            from = (l & segment) | (amount & ~segment);
            good = from <= last;
            break;
    }
    return good ? from & 31 : l;
}

void shuffle(const Values& v) {
    if (!v.is_kept(3) || !v.is_kept(4)) return any_lane(v);
    const LanesByByte a = v.get(2);
    uint32_t unknown = any_of(v.get(3)) | any_of(v.get(4));
    LanesByByte out = everywhere(unknown);
    each_lane(v.e.executed, [&](uint32_t l) {
        const uint32_t lane = source_of_shuffle(v, l);
        for (size_t i = 0; i < out.size(); ++i) out[i] |= (a[i] >> lane & 1) << l;
    });
    v.set(v.reg(0), out);
    v.set(v.reg(1), everywhere(unknown));
}

// Which elements of an operand of a product are undefined, by rows or columns.
template <class F>
void each_undefined(const Values& v, isa::VectorRef operand, const isa::Elements& elements, F f) {
    for (const isa::Element at : elements) {
        const LanesByByte bytes = v.w.get(v.registers.in_pool(operand.first + at.reg));
        const unsigned last = (at.shift + elements.bits - 1) / 8;
        bool any = false;
        for (unsigned b = at.shift / 8; b <= last; ++b) any |= (bytes[b] >> at.lane & 1) != 0;
        if (any) f(at);
    }
}

void product(const Values& v) {
    const isa::MmaVariant* const m = v.o.mma;
    if (m == nullptr || m->sparse || m->scales != 0 || m->threads != isa::Threads::warp)
        return any_lane(v);
    const auto of = [&](isa::FragmentId id, isa::Type type) {
        return isa::elements_of(isa::fragment(id), type, m->threads);
    };
    std::bitset<256> rows, columns;
    std::bitset<65536> sums;
    // A is (m, k), B is (n, k).
    each_undefined(v, v.o.vector[1], of(m->fragment_a, m->a), [&](auto at) { rows.set(at.row); });
    each_undefined(v, v.o.vector[2], of(m->fragment_b, m->b),
                   [&](auto at) { columns.set(at.row); });
    each_undefined(v, v.o.vector[3], of(m->fragment_c, m->c),
                   [&](auto at) { sums.set(at.row * 256u + at.column); });
    std::array<LanesByByte, 32> out{};
    const isa::Elements d = of(m->fragment_d, m->d);
    for (const isa::Element at : d) {
        if (!rows[at.row] && !columns[at.column] && !sums[at.row * 256u + at.column]) continue;
        for (unsigned b = at.shift / 8; b <= (at.shift + d.bits - 1u) / 8; ++b)
            out[at.reg][b] |= 1u << at.lane;
    }
    for (uint32_t i = 0; i < v.o.vector[0].count; ++i)
        v.set(v.registers.in_pool(v.o.vector[0].first + i), out[i]);
}

struct RuleRow {
    Op op;
    Rule rule;
    bool moves = false;  // it does not work with what it passes on
};

constexpr std::array rules{
    RuleRow{Op::mov, move, true},
    RuleRow{Op::cvta, any_operand, true},
    RuleRow{Op::selp, select, true},
    RuleRow{Op::prmt, permute, true},
    RuleRow{Op::shfl, shuffle, true},
    RuleRow{Op::shl, shift, true},
    RuleRow{Op::shr, shift, true},
    RuleRow{Op::bfi, any_operand, true},
    RuleRow{Op::bfe, any_operand, true},
    RuleRow{Op::shf, any_operand, true},
    RuleRow{Op::cvt, convert, true},
    RuleRow{Op::movmatrix, any_lane, true},
    RuleRow{Op::and_, bits_of_two, true},
    RuleRow{Op::or_, bits_of_two, true},
    RuleRow{Op::lop3, any_operand, true},
    RuleRow{Op::xor_, difference},
    RuleRow{Op::sub, difference},
    RuleRow{Op::not_, complement},
    RuleRow{Op::add, halves},
    RuleRow{Op::mul, halves},
    RuleRow{Op::fma, halves},
    RuleRow{Op::min, halves},
    RuleRow{Op::max, halves},
    RuleRow{Op::neg, halves},
    RuleRow{Op::abs, halves},
    RuleRow{Op::mma, product},
    RuleRow{Op::wmma_mma, any_lane},
    RuleRow{Op::wgmma_mma, any_lane},
    RuleRow{Op::vote, any_lane},
    RuleRow{Op::match, any_lane},
    RuleRow{Op::redux, any_lane},
    RuleRow{Op::redux_float, any_lane},
};

const RuleRow* rule_of(Op op) {
    const auto at = std::ranges::find(rules, op, &RuleRow::op);
    return at == rules.end() ? nullptr : &*at;
}

// What the results of moves and sums of integers differ by, worked out before the rule is applied.
class Sums {
  public:
    Sums(const Values& v, MadeUp& made_up) : v_(v), made_up_(made_up) {
        if (!(this->*made(v.o.op))()) results_ = 0;
    }
    // After the rule: in lanes in which nothing is left of what was undefined the sum is defined.
    void apply() const {
        const bool adds = v_.o.op == Op::add || v_.o.op == Op::sub;
        for (uint32_t i = 0; i < results_; ++i) {
            const uint32_t reg = reg_[i], bytes = v_.bytes(reg);
            if (!follows_sums(bytes)) continue;
            each_lane(v_.w.any[reg] & v_.e.executed, [&](uint32_t lane) {
                const uint64_t d = bytes == 4 ? of_[i][lane] & UINT32_MAX : of_[i][lane];
                if (adds && d == 0)
                    v_.w.define(reg, 1u << lane);
                else
                    v_.w.differences.set(reg, lane, d);
            });
        }
    }

  private:
    using Make = bool (Sums::*)();
    static Make made(Op op) {
        struct Row {
            Op op;
            Make make;
        };
        static constexpr std::array rows{
            Row{Op::mov, &Sums::moved},     Row{Op::add, &Sums::added},
            Row{Op::sub, &Sums::added},     Row{Op::neg, &Sums::negated},
            Row{Op::shfl, &Sums::shuffled}, Row{Op::selp, &Sums::selected},
        };
        const auto at = std::ranges::find(rows, op, &Row::op);
        return at == rows.end() ? &Sums::nothing : at->make;
    }
    bool nothing() { return false; }
    bool is_integer() const {
        const isa::TypeRow& type = isa::row(v_.o.mod.type[0]);
        return type.lanes == 1 && !isa::is_float(v_.o.mod.type[0]) && !v_.o.mod.sat &&
               follows_sums(type.bits / 8) && v_.o.written == 1;
    }
    uint64_t of(uint32_t reg, uint32_t lane) const {
        if (reg == no_register || (v_.w.any[reg] >> lane & 1) == 0) return 0;
        return v_.w.differences.get(reg, lane, made_up_);
    }
    template <class F>
    bool one(F f) {
        results_ = 1;
        reg_[0] = v_.reg(0);
        if (reg_[0] == no_register) return false;
        each_lane(v_.e.executed, [&](uint32_t lane) { of_[0][lane] = f(lane); });
        return true;
    }
    bool moved() {
        const isa::VectorRef to = v_.o.vector[0], from = v_.o.vector[1];
        if (to.count == 0 && from.count == 0)
            return is_integer() && one([&](uint32_t lane) { return of(v_.reg(1), lane); });
        if (isa::bits(v_.o.mod.type[0]) != 64) return false;
        if (to.count == 2 && from.count == 0) return unpacked(to);
        return from.count == 2 && to.count == 0 && packed(from);
    }
    // The halves of x + difference, less those of x.
    bool unpacked(isa::VectorRef to) {
        results_ = 2;
        for (uint32_t i = 0; i < 2; ++i) reg_[i] = v_.registers.in_pool(to.first + i);
        each_lane(v_.e.executed, [&](uint32_t lane) {
            const uint64_t x = v_.value(1, lane), other = x + of(v_.reg(1), lane);
            of_[0][lane] = (other & UINT32_MAX) - (x & UINT32_MAX);
            of_[1][lane] = (other >> 32) - (x >> 32);
        });
        return reg_[0] != no_register && reg_[1] != no_register;
    }
    bool packed(isa::VectorRef from) {
        return one([&](uint32_t lane) {
            const uint64_t x = v_.value(0, lane);
            const uint64_t low = x + of(v_.registers.in_pool(from.first), lane);
            const uint64_t high = (x >> 32) + of(v_.registers.in_pool(from.first + 1), lane);
            return ((low & UINT32_MAX) | high << 32) - x;
        });
    }
    bool added() {
        if (!is_integer()) return false;
        const bool subtracts = v_.o.op == Op::sub;
        return one([&](uint32_t lane) {
            const uint64_t b = of(v_.reg(2), lane);
            return of(v_.reg(1), lane) + (subtracts ? uint64_t{0} - b : b);
        });
    }
    bool negated() {
        return is_integer() &&
               one([&](uint32_t lane) { return uint64_t{0} - of(v_.reg(1), lane); });
    }
    bool shuffled() {
        const bool known =
            v_.is_kept(3) && v_.is_kept(4) && any_of(v_.get(3)) == 0 && any_of(v_.get(4)) == 0;
        return known &&
               one([&](uint32_t lane) { return of(v_.reg(2), source_of_shuffle(v_, lane)); });
    }
    bool selected() {
        if (!is_integer() || v_.negated(3) || any_of(v_.get(3)) != 0) return false;
        const uint32_t chosen = v_.word(3, 0);
        return one(
            [&](uint32_t lane) { return of(v_.reg((chosen >> lane & 1) != 0 ? 1 : 2), lane); });
    }

    const Values& v_;
    MadeUp& made_up_;
    uint32_t results_ = 0;
    std::array<uint32_t, 2> reg_{};
    std::array<std::array<uint64_t, lanes_of_warp>, 2> of_;
};

// Where an element of 16 bits of an 8x8 matrix lies.
template <class F>
void each_element(bool transposed, F f) {
    for (unsigned row = 0; row < matrix_rows; ++row)
        for (unsigned column = 0; column < matrix_rows; ++column) {
            const unsigned r = transposed ? column : row;
            const unsigned c = transposed ? row : column;
            f(row, column, r * 4 + c / 2, c % 2);
        }
}

}  // namespace

bool only_moves(Op op) {
    const RuleRow* const row = rule_of(op);
    return row != nullptr && row->moves;
}

void pass_on(const warp::Retired& e, const Registers& registers, WarpRegisters& w,
             Origins& origins) {
    const isa::Operation& o = e.program->operations[e.operation];
    uint32_t from = 0;
    for (const uint32_t r : read(e, o)) {
        if ((w.any[r] & e.executed) == 0) continue;
        from = w.origin[r] != 0
                   ? w.origin[r]
                   : origins.add({Origin::of_register, r, 0, e.operation, no_operation});
        break;
    }
    if (!only_moves(o.op)) from = origins.worked(from, e.operation);
    const RuleRow* const row = rule_of(o.op);
    const Values v{e, o, registers, w, from};
    const Sums sums(v, origins.made_up);
    (row != nullptr ? row->rule : any_operand)(v);
    sums.apply();
}

LanesByByte lanes_of_matrix(const RowBytes& rows, unsigned matrix, bool transposed) {
    LanesByByte out{};
    each_element(transposed, [&](unsigned row, unsigned column, unsigned lane, unsigned half) {
        const uint32_t bytes = rows[matrix * matrix_rows + row] >> (2 * column) & 3;
        for (unsigned b = 0; b < 2; ++b) out[2 * half + b] |= (bytes >> b & 1) << lane;
    });
    return out;
}

void add_rows(const LanesByByte& fragment, unsigned matrix, bool transposed, RowBytes& rows) {
    each_element(transposed, [&](unsigned row, unsigned column, unsigned lane, unsigned half) {
        for (unsigned b = 0; b < 2; ++b)
            rows[matrix * matrix_rows + row] |= (fragment[2 * half + b] >> lane & 1)
                                                << (2 * column + b);
    });
}

}  // namespace lockwarp::check
