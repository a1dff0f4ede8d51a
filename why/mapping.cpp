// SPDX-License-Identifier: Apache-2.0
#include "why/mapping.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "launch/values.hpp"

namespace lockwarp::why {

namespace {

using isa::Element;
using isa::Type;

// The type whose values an operand's bits are: tf32 lies in the registers as f32 does.
Type held_as(Type t) { return t == Type::tf32 ? Type::f32 : t; }

// Digits that a type can carry: the integers from 1 up to there are exact in it.
uint32_t radix_of(Type t) {
    switch (t) {
        case Type::e5m2:
            return 8;
        case Type::e4m3:
            return 16;
        case Type::s8:
            return 127;
        case Type::u8:
            return 255;
        case Type::bf16:
            return 256;
        case Type::f16:
        case Type::tf32:
            return 2048;
        case Type::f32:
        case Type::f64:
        case Type::s32:
        case Type::u32:
            return uint32_t{1} << 22;
        default:
            return 0;
    }
}

// Numbers as values of a type and back, by table where the type has 16 bits or fewer.
class Coder {
  public:
    Coder(Type type, uint32_t radix) : type_(held_as(type)), radix_(radix) {
        if (isa::bits(type_) > 16) return;
        digit_of_.resize(size_t{1} << isa::bits(type_));
        for (size_t i = 0; i < digit_of_.size(); ++i)
            digit_of_[i] = digit_of_value(launch::value_of(type_, i));
    }
    // The digit from 1, 0 for zero, `unknown` for any other value.
    uint32_t digit(uint64_t bits) const {
        if (!digit_of_.empty()) return digit_of_[bits];
        if (type_ == Type::f32)
            return digit_of_value(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        return digit_of_value(launch::value_of(type_, bits));
    }
    uint64_t bits(uint32_t digit) const {
        if (type_ == Type::f32) return std::bit_cast<uint32_t>(static_cast<float>(digit));
        return launch::bits_of(type_, digit);
    }
    uint32_t radix() const { return radix_; }

  private:
    uint32_t digit_of_value(double value) const {
        if (value == 0) return 0;
        if (!(value >= 1 && value <= radix_)) return unknown;
        const auto whole = static_cast<uint32_t>(value);
        return static_cast<double>(whole) == value ? whole : unknown;
    }
    Type type_;
    uint32_t radix_;
    std::vector<uint32_t> digit_of_;
};

unsigned digits_for(uint64_t numbers, uint32_t radix) {
    unsigned digits = 1;
    for (uint64_t reach = radix; reach < numbers; reach *= radix) ++digits;
    return digits;
}

uint32_t digit(uint64_t number, uint32_t radix, unsigned place) {
    uint64_t rest = number - 1;
    for (unsigned i = 0; i < place; ++i) rest /= radix;
    return static_cast<uint32_t>(rest % radix) + 1;
}

// A number that grows digit by digit; `scale` is the digit's place value.
void add_digit(uint32_t& number, uint32_t digit, uint64_t scale) {
    if (scale == 1) {
        number = digit;
        return;
    }
    if (number == unknown || (digit == 0 && number == zero)) return;
    if (digit == 0 || digit == unknown || number == zero) {
        number = unknown;
        return;
    }
    const uint64_t sum = number + (digit - 1) * scale;
    number = sum >= untouched ? unknown : static_cast<uint32_t>(sum);
}

uint64_t read(const uint8_t* registers, const isa::Program& p, isa::VectorRef v, const Element& e,
              unsigned bits, unsigned register_bits) {
    const uint8_t* const slot = registers + p.pool[v.first + e.reg];
    uint64_t value = 0;
    if (register_bits == 64)
        std::memcpy(&value, slot + size_t{8} * e.lane, 8);
    else
        std::memcpy(&value, slot + size_t{4} * e.lane, 4);
    value >>= e.shift;
    return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

void write(uint8_t* registers, const isa::Program& p, isa::VectorRef v, const Element& e,
           unsigned bits, unsigned register_bits, uint64_t value) {
    uint8_t* const slot = registers + p.pool[v.first + e.reg];
    if (register_bits == 64) {
        std::memcpy(slot + size_t{8} * e.lane, &value, 8);
        return;
    }
    uint32_t word = 0;
    std::memcpy(&word, slot + size_t{4} * e.lane, 4);
    const uint32_t mask = bits >= 32 ? UINT32_MAX : ((uint32_t{1} << bits) - 1) << e.shift;
    word = (word & ~mask) | (static_cast<uint32_t>(value << e.shift) & mask);
    std::memcpy(slot + size_t{4} * e.lane, &word, 4);
}

Site site_of_mma(uint32_t operation, const isa::MmaVariant& v) {
    Site s;
    s.operation = operation;
    s.m = v.m, s.n = v.n, s.k = v.k;
    s.matrices = isa::instances(v.threads);
    s.type_a = v.a, s.type_b = v.b, s.type_c = v.c, s.type_d = v.d;
    s.a = isa::elements_of(isa::fragment(v.fragment_a), v.a, v.threads);
    s.b = isa::elements_of(isa::fragment(v.fragment_b), v.b, v.threads);
    s.c = isa::elements_of(isa::fragment(v.fragment_c), v.c, v.threads);
    s.d = isa::elements_of(isa::fragment(v.fragment_d), v.d, v.threads);
    return s;
}

std::optional<Site> site_of_wmma(uint32_t operation, const isa::WmmaVariant& v, isa::Arch arch) {
    const auto find = [&](isa::WmmaOperand o, Type t, isa::Order order) {
        return isa::find_wmma_fragment(arch, v.m, v.n, v.k, o, t, order);
    };
    const isa::WmmaFragment* const a = find(isa::WmmaOperand::a, v.ab, v.a_order);
    const isa::WmmaFragment* const b = find(isa::WmmaOperand::b, v.ab, v.b_order);
    const isa::WmmaFragment* const c = find(isa::WmmaOperand::accumulator, v.c, isa::Order::row);
    const isa::WmmaFragment* const d = find(isa::WmmaOperand::accumulator, v.d, isa::Order::row);
    if (a == nullptr || b == nullptr || c == nullptr || d == nullptr) return {};
    Site s;
    s.operation = operation;
    s.m = v.m, s.n = v.n, s.k = v.k;
    s.type_a = s.type_b = v.ab, s.type_c = v.c, s.type_d = v.d;
    s.a = isa::elements_of(*a, v.ab);
    s.b = isa::elements_of(*b, v.ab);
    s.c = isa::elements_of(*c, v.c);
    s.d = isa::elements_of(*d, v.d);
    return s;
}

// Hears the matrix instructions of some CTAs, and in runs on zeros gives the accumulators numbers.
class Probe : public warp::Observer, public warp::Oracle {
  public:
    using Key = std::tuple<uint64_t, uint32_t, uint64_t>;

    Probe(Mapping& mapping, const isa::Program& program) : mapping_(mapping), program_(program) {
        site_.assign(program.operations.size(), UINT32_MAX);
        for (uint32_t i = 0; i < mapping.sites.size(); ++i) site_[mapping.sites[i].operation] = i;
    }

    // Reads A and B, or what the accumulators begin with, and this digit of their numbers.
    void begin_run(bool accumulators, uint32_t radix, unsigned place) {
        accumulators_ = accumulators;
        radix_ = radix;
        place_ = place;
        scale_ = 1;
        for (unsigned i = 0; i < place; ++i) scale_ *= radix;
    }
    bool failed() const { return failed_; }
    // All executions have been heard once: puts them in order and numbers their accumulators.
    void number();

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        struct OfCta : warp::CtaObserver {
            explicit OfCta(Probe& of) : probe(of) {}
            void retired(const warp::Retired& e) override {
                if (probe.site_[e.operation] != UINT32_MAX && !probe.accumulators_) probe.hear(e);
            }
            Probe& probe;
        };
        return std::make_unique<OfCta>(*this);
    }
    bool knows(uint32_t operation) const override {
        return accumulators_ && site_[operation] != UINT32_MAX;
    }
    void supply(const warp::Retired& e, uint8_t* registers) override;

  private:
    void hear(const warp::Retired& e);
    Execution* find(const warp::Retired& e);
    void add(std::vector<uint32_t>& numbers, const warp::Retired& e, const uint8_t* registers,
             isa::VectorRef v, const isa::Elements& elements, const std::vector<Element>& where,
             Type type);
    const Coder& coder(Type type) {
        std::optional<Coder>& c = coders_[static_cast<size_t>(type)];
        if (!c || c->radix() != radix_) c.emplace(type, radix_);
        return *c;
    }

    Mapping& mapping_;
    const isa::Program& program_;
    std::vector<uint32_t> site_;  // by operation
    std::map<Key, uint32_t> index_;
    bool numbered_ = false;
    bool accumulators_ = false;
    uint32_t radix_ = 0;
    unsigned place_ = 0;
    uint64_t scale_ = 1;
    bool failed_ = false;
    std::array<std::optional<Coder>, static_cast<size_t>(Type::count_)> coders_;
};

Execution* Probe::find(const warp::Retired& e) {
    const Key key{e.cta_index, e.warp, e.step};
    const auto found = index_.find(key);
    if (found != index_.end()) {
        Execution& x = mapping_.executions[found->second];
        if (mapping_.sites[x.site].operation == e.operation) return &x;
        failed_ = true;
        return nullptr;
    }
    constexpr size_t max_executions = 1 << 17;
    if (numbered_ || mapping_.executions.size() >= max_executions) {
        failed_ = true;
        return nullptr;
    }
    index_.emplace(key, static_cast<uint32_t>(mapping_.executions.size()));
    Execution& x = mapping_.executions.emplace_back();
    x.site = site_[e.operation];
    x.cta = e.cta_index, x.warp = e.warp, x.step = e.step;
    const Site& s = mapping_.sites[x.site];
    x.a.assign(s.where_a.size(), zero);
    x.b.assign(s.where_b.size(), zero);
    x.c.assign(s.where_d.size(), zero);
    return &x;
}

void Probe::add(std::vector<uint32_t>& numbers, const warp::Retired&, const uint8_t* registers,
                isa::VectorRef v, const isa::Elements& elements, const std::vector<Element>& where,
                Type type) {
    const Coder& code = coder(type);
    const unsigned bits = elements.bits, register_bits = elements.register_bits();
    for (size_t i = 0; i < where.size(); ++i)
        add_digit(numbers[i],
                  code.digit(read(registers, program_, v, where[i], bits, register_bits)), scale_);
}

void Probe::hear(const warp::Retired& e) {
    Execution* const x = find(e);
    if (x == nullptr) return;
    const Site& s = mapping_.sites[x->site];
    const isa::Operation& o = program_.operations[e.operation];
    add(x->a, e, e.registers, o.vector[1], s.a, s.where_a, s.type_a);
    add(x->b, e, e.registers, o.vector[2], s.b, s.where_b, s.type_b);
}

void Probe::supply(const warp::Retired& e, uint8_t* registers) {
    Execution* const x = find(e);
    if (x == nullptr) return;
    const Site& s = mapping_.sites[x->site];
    const isa::Operation& o = program_.operations[e.operation];
    // A*B is zero, so that D holds what C held.
    add(x->c, e, registers, o.vector[0], s.d, s.where_d, s.type_d);
    const Coder& code = coder(s.type_d);
    for (size_t i = 0; i < s.where_d.size(); ++i)
        write(registers, program_, o.vector[0], s.where_d[i], s.d.bits, s.d.register_bits(),
              code.bits(digit(x->first + i, radix_, place_)));
}

void Probe::number() {
    std::vector<Execution>& all = mapping_.executions;
    std::ranges::sort(all, {}, [](const Execution& x) { return Key{x.cta, x.warp, x.step}; });
    uint32_t next = 1;
    for (uint32_t i = 0; i < all.size(); ++i) {
        index_[{all[i].cta, all[i].warp, all[i].step}] = i;
        all[i].first = next;
        next += mapping_.sites[all[i].site].accumulators();
    }
    numbered_ = true;
}

void set_digits(std::span<uint8_t> bytes, Type type, uint64_t elements, uint64_t first,
                uint32_t radix, unsigned place) {
    std::vector<uint64_t> bits(radix <= 4096 ? radix + 1 : 0);
    const Coder code(type, radix);
    for (uint32_t d = 1; d < bits.size(); ++d) bits[d] = code.bits(d);
    for (uint64_t i = 0; i < elements; ++i) {
        const uint32_t d = digit(first + i, radix, place);
        launch::set_element(bytes, type, i, bits.empty() ? code.bits(d) : bits[d]);
    }
}

struct Measuring {
    const Subject& subject;
    const isa::Program& program;
    Change change;
    Mapping out;
    size_t a = 0, b = 0;  // buffers
    ProbeData* probe_data = nullptr;

    bool operands(Probe& probe);
    bool accumulators(Probe& probe);
    void read_d(const Bytes& after, uint32_t radix, unsigned place);
};

bool Measuring::operands(Probe& probe) {
    const launch::Product& p = *subject.product;
    uint32_t radix = std::min(radix_of(p.type_a), radix_of(p.type_b));
    for (const Site& s : out.sites)
        radix = std::min({radix, radix_of(s.type_a), radix_of(s.type_b)});
    if (radix == 0) return false;
    const unsigned digits = digits_for(out.elements_a + out.elements_b, radix);
    ProbeData& data = *probe_data;
    for (unsigned place = 0; place < digits; ++place) {
        if (data.digits.size() <= place) {
            Bytes& made = data.digits.emplace_back(subject.begin.memory.bytes);
            set_digits(made[a], p.type_a, out.elements_a, 1, radix, place);
            set_digits(made[b], p.type_b, out.elements_b, 1 + out.elements_a, radix, place);
        }
        change.before = &data.digits[place];
        probe.begin_run(false, radix, place);
        if (!run(subject, change).ended || probe.failed()) return false;
        if (place == 0) probe.number();
    }
    return !out.executions.empty();
}

void Measuring::read_d(const Bytes& after, uint32_t radix, unsigned place) {
    const Coder code(subject.type, radix);
    uint64_t scale = 1;
    for (unsigned i = 0; i < place; ++i) scale *= radix;
    const uint64_t blank = subject.product->c == subject.product->d
                               ? UINT64_MAX
                               : UINT64_MAX >> (64 - isa::bits(subject.type));
    for (uint64_t i = 0; i < out.d.size(); ++i) {
        const uint64_t bits = element(subject, after, i);
        if (out.d[i] == untouched && place > 0) continue;
        if (bits == blank)
            out.d[i] = untouched;
        else
            add_digit(out.d[i], code.digit(bits), scale);
    }
}

bool Measuring::accumulators(Probe& probe) {
    uint32_t radix = radix_of(subject.type);
    for (const Site& s : out.sites)
        radix = std::min({radix, radix_of(s.type_c), radix_of(s.type_d)});
    if (radix == 0) return false;
    Bytes before = subject.begin.memory.bytes;
    for (const std::string& name : {subject.product->a, subject.product->b, subject.product->c})
        if (!name.empty()) std::ranges::fill(before[subject.buffer_named(name)], uint8_t{0});
    // What no store has touched is no number: NaN, or -1.
    if (subject.product->c != subject.product->d)
        std::ranges::fill(before[subject.buffer], uint8_t{0xff});
    const Execution& last = out.executions.back();
    const uint64_t numbers = last.first + out.sites[last.site].accumulators();
    const unsigned digits = digits_for(numbers, radix);
    out.d.assign(subject.elements(), zero);
    for (unsigned place = 0; place < digits; ++place) {
        change.before = &before;
        change.oracle = &probe;
        probe.begin_run(true, radix, place);
        const Outcome outcome = run(subject, change);
        if (!outcome.ended || probe.failed()) return false;
        read_d(outcome.after, radix, place);
    }
    return true;
}

// Whether the elements of D that were stored are accumulators, or zero.
bool mostly_known(const std::vector<uint32_t>& d, uint64_t numbers) {
    uint64_t known = 0, other = 0;
    for (const uint32_t n : d) {
        if (n == untouched) continue;
        const bool good = n == zero || (n != unknown && n < numbers);
        ++(good ? known : other);
    }
    return known > 0 && other * 8 <= known;
}

bool mostly_known(const std::vector<Execution>& all) {
    uint64_t known = 0, other = 0;
    for (const Execution& x : all)
        for (const std::vector<uint32_t>* v : {&x.a, &x.b})
            for (const uint32_t n : *v) ++(n == unknown ? other : known);
    return known > 0 && other * 8 <= known;
}

// The accumulators of another run with the same instructions; false: it has others.
bool take_sums(const Mapping& from, Mapping& to) {
    if (from.executions.size() != to.executions.size()) return false;
    for (size_t i = 0; i < to.executions.size(); ++i) {
        const Execution& x = from.executions[i];
        Execution& y = to.executions[i];
        if (x.cta != y.cta || x.warp != y.warp || x.site != y.site || x.first != y.first)
            return false;
        y.c = x.c;
    }
    to.d = from.d;
    to.has_d = from.has_d;
    return true;
}

}  // namespace

std::vector<Site> sites_of(const isa::Program& program) {
    std::vector<Site> out;
    for (uint32_t i = 0; i < program.operations.size(); ++i) {
        const isa::Operation& o = program.operations[i];
        std::optional<Site> s;
        if (o.mma != nullptr && !o.mma->sparse && o.mma->scales == 0) s = site_of_mma(i, *o.mma);
        if (o.wmma != nullptr) s = site_of_wmma(i, *o.wmma, program.arch);
        if (!s || radix_of(s->type_a) == 0 || radix_of(s->type_d) == 0) continue;
        s->where_a = isa::first_owners(s->a);
        s->where_b = isa::first_owners(s->b);
        s->where_d = isa::first_owners(s->d);
        out.push_back(std::move(*s));
    }
    return out;
}

const Execution& Mapping::of(uint32_t accumulator) const {
    // Most programs have products of one shape.
    const uint32_t each = sites[executions[0].site].accumulators();
    const size_t guess = (accumulator - 1) / each;
    if (guess < executions.size() && accumulator - executions[guess].first < each)
        return executions[guess];
    const auto after = std::ranges::upper_bound(executions, accumulator, {}, &Execution::first);
    return *(after - 1);
}

std::optional<Mapping> measure(const Subject& subject, const isa::Program& program,
                               uint64_t first_cta, uint64_t ctas, uint64_t max_steps,
                               ProbeData& data, const Mapping* sums) {
    if (!subject.product) return {};
    const launch::Product& p = *subject.product;
    Measuring m{subject, program, {}, {}, subject.buffer_named(p.a), subject.buffer_named(p.b),
                &data};
    m.out.sites = sites_of(program);
    if (m.out.sites.empty()) return {};
    m.out.elements_a = p.m * p.k;
    m.out.elements_b = p.k * p.n;
    if (m.out.elements_a + m.out.elements_b >= untouched) return {};
    Probe probe(m.out, program);
    m.change.program = &program;
    m.change.observer = &probe;
    m.change.first_cta = first_cta, m.change.ctas = ctas;
    m.change.max_steps = max_steps;
    if (!m.operands(probe)) return {};
    m.out.has_both = mostly_known(m.out.executions);
    if (!data.places) {
        std::vector<MatrixPlace> places(m.out.elements_a + m.out.elements_b);
        for (uint32_t i = 0; i < places.size(); ++i) places[i] = source_of(m.out, p, i + 1);
        data.places = std::make_shared<const std::vector<MatrixPlace>>(std::move(places));
    }
    m.out.places = data.places;
    if (sums != nullptr && take_sums(*sums, m.out)) return std::move(m.out);
    if (!m.accumulators(probe)) m.out.d.assign(subject.elements(), unknown);
    const Execution& last = m.out.executions.back();
    m.out.has_d = mostly_known(m.out.d, last.first + m.out.sites[last.site].accumulators());
    return std::move(m.out);
}

MatrixPlace source_of(const Mapping& mapping, const launch::Product& p, uint32_t number) {
    if (mapping.places) {
        if (number == zero || number > mapping.places->size()) return {};
        return (*mapping.places)[number - 1];
    }
    MatrixPlace out;
    if (number == zero || number == unknown) return out;
    uint64_t at = number - 1;
    if (at < mapping.elements_a) {
        out.matrix = MatrixPlace::Matrix::a;
        const uint64_t line = p.a_transposed ? p.m : p.k;
        out.row = static_cast<uint32_t>(at / line), out.column = static_cast<uint32_t>(at % line);
        if (p.a_transposed) std::swap(out.row, out.column);
        return out;
    }
    at -= mapping.elements_a;
    if (at >= mapping.elements_b) return out;
    out.matrix = MatrixPlace::Matrix::b;
    const uint64_t line = p.b_transposed ? p.k : p.n;
    out.row = static_cast<uint32_t>(at / line), out.column = static_cast<uint32_t>(at % line);
    if (p.b_transposed) std::swap(out.row, out.column);
    return out;
}

namespace {

// The sum of one element of D.
struct Sum {
    const Mapping& mapping;
    const launch::Product& product;
    uint32_t row, column;
    std::vector<uint8_t> used;  // by k
    uint64_t right = 0, extra = 0;
    uint64_t other_rows = 0, other_columns = 0, other_k = 0, twice = 0;

    void add(uint32_t number_a, uint32_t number_b) {
        if (number_a == zero || number_b == zero) return;
        MatrixPlace a = source_of(mapping, product, number_a);
        MatrixPlace b = source_of(mapping, product, number_b);
        if (a.matrix == MatrixPlace::Matrix::b && b.matrix == MatrixPlace::Matrix::a)
            std::swap(a, b);
        const bool good = a.matrix == MatrixPlace::Matrix::a &&
                          b.matrix == MatrixPlace::Matrix::b && a.row == row &&
                          b.column == column && a.column == b.row && used[a.column] == 0;
        if (!good) {
            if (a.matrix == MatrixPlace::Matrix::a && b.matrix == MatrixPlace::Matrix::b) {
                other_rows += a.row != row ? 1 : 0;
                other_columns += b.column != column ? 1 : 0;
                other_k += a.column != b.row ? 1 : 0;
                twice += a.row == row && b.column == column && a.column == b.row ? 1 : 0;
            }
            ++extra;
            return;
        }
        used[a.column] = 1;
        ++right;
    }
    // The products of an accumulator and of those it began with; what the first began with.
    uint32_t follow(uint32_t number) {
        while (number != zero && number != unknown) {
            const Execution& x = mapping.of(number);
            const Site& s = mapping.sites[x.site];
            const uint32_t at = number - x.first;
            if (at >= s.accumulators()) return unknown;
            const uint32_t matrix = at / (s.m * s.n), r = at / s.n % s.m, c = at % s.n;
            for (unsigned k = 0; k < s.k; ++k)
                add(x.a[(matrix * s.m + r) * s.k + k], x.b[(matrix * s.n + c) * s.k + k]);
            const uint32_t next = x.c[at];
            if (next != zero && next != unknown && next >= x.first) return unknown;
            number = next;
        }
        return number;
    }
};

}  // namespace

Terms compare(const Mapping& mapping, const launch::Product& product, uint64_t step) {
    Terms out;
    for (uint64_t i = 0; i < mapping.d.size(); i += step) {
        if (mapping.d[i] == untouched) continue;
        Sum sum{mapping, product, static_cast<uint32_t>(i / product.n),
                static_cast<uint32_t>(i % product.n), std::vector<uint8_t>(product.k)};
        const uint32_t begun = sum.follow(mapping.d[i]);
        ++out.elements;
        out.wanted += product.k;
        out.right += sum.right;
        out.extra += sum.extra;
        out.other_rows += sum.other_rows;
        out.other_columns += sum.other_columns;
        out.other_k += sum.other_k;
        out.twice += sum.twice;
        out.begun_elsewhere += begun == unknown ? 1 : 0;
        out.elements_right += sum.right == product.k && sum.extra == 0 && begun != unknown ? 1 : 0;
    }
    return out;
}

}  // namespace lockwarp::why
