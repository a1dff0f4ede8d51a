// SPDX-License-Identifier: Apache-2.0
#include "debug/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "debug/origin.hpp"
#include "debug/view.hpp"
#include "emu/lockwarp.hpp"
#include "launch/source_text.hpp"
#include "launch/state.hpp"

namespace lockwarp::debug {

namespace {

constexpr uint64_t max_records = 30'000'000;

// One retired instruction.
struct Record {
    uint32_t operation, executed;
    uint64_t hash;  // of what it wrote
};
using OfWarp = std::vector<Record>;
using OfCta = std::vector<OfWarp>;

uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
}

// The registers that an operation writes.
std::vector<const isa::Register*> written_by(const isa::Program& p, uint32_t operation) {
    const isa::Operation& o = p.operations[operation];
    std::vector<const isa::Register*> out;
    for (uint32_t i = 0; i < o.written; ++i) out.push_back(&p.registers[p.uses[o.first_use + i]]);
    return out;
}

uint64_t bits_of(const uint8_t* registers, const isa::Register& r, uint32_t lane) {
    uint64_t bits = 0;
    if (r.type == isa::Type::pred) {
        std::memcpy(&bits, registers + r.ref, 4);
        return bits >> lane & 1;
    }
    const size_t bytes = isa::bits(r.type) >= 64 ? 8 : 4;
    std::memcpy(&bits, registers + r.ref + lane * bytes, bytes);
    return bits;
}

class Recorder : public warp::Observer {
  public:
    explicit Recorder(size_t warps) : warps_(warps) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<Listener>(*this);
    }
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override {
        ctas[cta.index] = std::move(static_cast<Listener&>(*listener).of);
    }
    std::map<uint64_t, OfCta> ctas;
    std::atomic<uint64_t> count{0};

  private:
    struct Listener : warp::CtaObserver {
        explicit Listener(Recorder& r) : recorder(r), of(r.warps_) {}
        void retired(const warp::Retired& e) override {
            if (++mine % 4096 == 0) recorder.count += 4096;
            if (recorder.count > max_records) return;
            uint64_t hash = e.executed;
            const isa::Operation& o = e.program->operations[e.operation];
            for (uint32_t i = 0; i < o.written; ++i) {
                const isa::Register& r = e.program->registers[e.program->uses[o.first_use + i]];
                for (uint32_t lane = 0; lane < 32; ++lane)
                    if ((e.executed >> lane & 1) != 0)
                        hash = mixed(hash, bits_of(e.registers, r, lane));
            }
            of[e.warp].push_back({e.operation, e.executed, hash});
        }
        Recorder& recorder;
        uint64_t mine = 0;
        OfCta of;
    };
    size_t warps_;
};

// The values of one place.
struct Values {
    std::vector<const isa::Register*> registers;
    std::vector<std::array<uint64_t, 32>> bits;
    uint32_t executed = 0;
    uint32_t operation = 0;
};

class Capture : public warp::Observer {
  public:
    Capture(uint64_t cta, uint32_t warp, uint64_t step) : cta_(cta), warp_(warp), step_(step) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return cta.index == cta_ ? std::make_unique<Listener>(*this) : nullptr;
    }
    Values values;

  private:
    struct Listener : warp::CtaObserver {
        explicit Listener(Capture& c) : capture(c) {}
        void retired(const warp::Retired& e) override {
            if (e.warp != capture.warp_ || e.step != capture.step_) return;
            Values& v = capture.values;
            v.operation = e.operation;
            v.executed = e.executed;
            v.registers = written_by(*e.program, e.operation);
            for (const isa::Register* r : v.registers) {
                std::array<uint64_t, 32>& lanes = v.bits.emplace_back();
                for (uint32_t lane = 0; lane < 32; ++lane)
                    lanes[lane] = bits_of(e.registers, *r, lane);
            }
        }
        Capture& capture;
    };
    uint64_t cta_;
    uint32_t warp_;
    uint64_t step_;
};

// One of the two.
struct Side {
    const std::vector<launch::Loaded>& loaded;
    std::string name;
    std::optional<uint64_t> order;
    std::vector<std::unique_ptr<Listing>> listings;
    launch::State state;

    // Launch `index`, on the state that those before it left. The trap, if it ended in one.
    launch::Result<std::optional<warp::Trap>> run(size_t index, warp::Observer* observer,
                                                  const std::atomic<bool>* stop) {
        const launch::Loaded& l = loaded[index];
        launch::Result<warp::Launch> config =
            launch::make_launch(l.in.launch, l.in.kernel(), l.program, state.memory);
        if (!config) return launch::failure(config);
        std::vector<uint8_t> variables = launch::variables_before(state, l.in, l.program);
        config->variables = &variables;
        config->stop = stop;
        warp::TurnOrder turns;
        if (order) {
            turns.seed = *order;
            config->order = &turns;
        }
        if (observer != nullptr) config->observers.push_back(observer);
        const warp::Result result = exec::launch(l.program, *config);
        if (result.refusal) return launch::failure(name + ": " + result.refusal->what);
        if (result.trap && result.trap->kind == warp::TrapKind::stopped)
            return launch::failure(name + ": interrupted");
        launch::keep_variables(state, l.in, l.program, variables);
        return result.trap;
    }
};

launch::Result<void> prepare(Side& s) {
    launch::Result<launch::State> state = launch::make_state(s.loaded.front().in.launch);
    if (!state) return launch::failure(state);
    s.state = std::move(*state);
    if (!s.listings.empty()) return {};
    for (const launch::Loaded& l : s.loaded) s.listings.push_back(std::make_unique<Listing>(l));
    return {};
}

// Where two records that belong together differ.
struct Found {
    uint64_t cta = 0;
    uint32_t warp = 0;
    uint64_t step_a = 0, step_b = 0;
    bool other_way = false;  // the runs went different ways
};

// Operations that compute with addresses which are others in the other run, since an architecture
// keeps a part of shared memory: constants that differ, and what is made of them in registers.
std::vector<bool> moved_addresses(const isa::Program& a, const isa::Program& b) {
    std::vector<bool> out(a.operations.size(), false);
    if (a.shared_begin == b.shared_begin) return out;
    std::map<isa::Ref, uint64_t> of_a, of_b;
    for (const isa::Constant& c : a.constants) of_a[c.ref] = c.value;
    for (const isa::Constant& c : b.constants) of_b[c.ref] = c.value;
    std::set<isa::Ref> moved;
    const auto begins = [&](const isa::Operation& x, const isa::Operation& y) {
        for (size_t n = 0; n < x.r.size(); ++n) {
            const auto p = of_a.find(x.r[n]);
            const auto q = of_b.find(y.r[n]);
            if (p != of_a.end() && q != of_b.end() && p->second != q->second) return true;
        }
        return false;
    };
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < a.operations.size(); ++i) {
            const isa::Operation& o = a.operations[i];
            // What comes from memory or a product is a value.
            const bool value =
                o.mma != nullptr || o.wmma != nullptr || isa::row(o.op).memory != isa::Memory::none;
            if (out[i] || value) continue;
            bool reads = begins(o, b.operations[i]);
            for (uint32_t u = o.written; u < uint32_t{o.written} + o.read; ++u)
                reads |= moved.contains(a.registers[a.uses[o.first_use + u]].ref);
            if (!reads) continue;
            out[i] = more = true;
            for (uint32_t u = 0; u < o.written; ++u)
                moved.insert(a.registers[a.uses[o.first_use + u]].ref);
        }
    }
    return out;
}

// The same instructions, which may have other operands.
bool are_alike(const Listing& a, const Listing& b) {
    const size_t count = a.program().operations.size();
    if (b.program().operations.size() != count) return false;
    for (uint32_t i = 0; i < count; ++i)
        if (a.opcode_of(i) != b.opcode_of(i)) return false;
    return true;
}

class Comparison {
  public:
    Comparison(const Listing& a, const Listing& b)
        : a_(a),
          b_(b),
          same_(are_alike(a, b)),
          moved_(same_ ? moved_addresses(a.program(), b.program())
                       : std::vector<bool>(a.program().operations.size(), false)) {}
    bool same() const { return same_; }
    // Operations whose results are not compared: addresses.
    size_t left_out() const { return static_cast<size_t>(std::ranges::count(moved_, true)); }

    std::optional<Found> first(const std::map<uint64_t, OfCta>& a,
                               const std::map<uint64_t, OfCta>& b) const {
        for (const auto& [index, cta] : a) {
            const auto other = b.find(index);
            if (other == b.end()) continue;
            std::optional<Found> best;
            for (uint32_t w = 0; w < std::min(cta.size(), other->second.size()); ++w) {
                std::optional<Found> found =
                    same_ ? by_step(cta[w], other->second[w]) : by_key(cta[w], other->second[w]);
                if (!found || (best && best->step_a <= found->step_a)) continue;
                found->cta = index;
                found->warp = w;
                best = found;
            }
            if (best) return best;
        }
        return std::nullopt;
    }

    // Of the same program: operations whose results differ, with how often.
    std::map<uint32_t, uint64_t> spread(const std::map<uint64_t, OfCta>& a,
                                        const std::map<uint64_t, OfCta>& b) const {
        std::map<uint32_t, uint64_t> out;
        for (const auto& [index, cta] : a) {
            const auto other = b.find(index);
            if (other == b.end()) continue;
            for (size_t w = 0; w < std::min(cta.size(), other->second.size()); ++w)
                for (size_t i = 0; i < std::min(cta[w].size(), other->second[w].size()); ++i) {
                    const Record& x = cta[w][i];
                    const Record& y = other->second[w][i];
                    if (x.operation != y.operation) break;
                    if (x.hash != y.hash && !moved_[x.operation]) ++out[x.operation];
                }
        }
        return out;
    }

  private:
    std::optional<Found> by_step(const OfWarp& a, const OfWarp& b) const {
        const size_t count = std::min(a.size(), b.size());
        for (size_t i = 0; i < count; ++i) {
            if (a[i].operation != b[i].operation) return Found{0, 0, i, i, true};
            if (a[i].hash != b[i].hash && !moved_[a[i].operation]) return Found{0, 0, i, i, false};
        }
        if (a.size() != b.size() && count != 0) return Found{0, 0, count - 1, count - 1, true};
        return std::nullopt;
    }

    static std::string key_of(const Listing& l, uint32_t operation) {
        const std::string place = l.short_place(operation);
        return place.empty() ? l.text_of(operation) : place + " " + l.opcode_of(operation);
    }

    std::optional<Found> by_key(const OfWarp& a, const OfWarp& b) const {
        std::vector<std::string> keys_a, keys_b;
        for (uint32_t i = 0; i < a_.program().operations.size(); ++i)
            keys_a.push_back(key_of(a_, i));
        for (uint32_t i = 0; i < b_.program().operations.size(); ++i)
            keys_b.push_back(key_of(b_, i));
        std::map<std::string, std::vector<size_t>> at;
        for (size_t i = 0; i < b.size(); ++i) at[keys_b[b[i].operation]].push_back(i);
        std::map<std::string, size_t> seen;
        for (size_t i = 0; i < a.size(); ++i) {
            const std::string& key = keys_a[a[i].operation];
            const auto others = at.find(key);
            const size_t n = seen[key]++;
            if (others == at.end() || n >= others->second.size()) continue;
            const size_t j = others->second[n];
            if (a[i].hash != b[j].hash) return Found{0, 0, i, j, false};
        }
        return std::nullopt;
    }

    const Listing& a_;
    const Listing& b_;
    bool same_;
    std::vector<bool> moved_;  // by operation
};

std::string line_of(const Listing& l, uint32_t operation) {
    return fmt::format("{}:{}  {}", l.file(), l.line_of(operation), l.text_of(operation));
}

// The lanes of the first register in which two places differ.
std::string values_text(const Values& a, const Values& b, const View& view,
                        const std::array<std::string, 2>& names) {
    std::string out;
    if (a.executed != b.executed) out += "  executed by other lanes\n";
    for (size_t i = 0; i < std::min(a.registers.size(), b.registers.size()); ++i) {
        const isa::Register& r = *a.registers[i];
        const isa::Type type = view.used_as(r);
        constexpr unsigned max_lanes = 8;
        unsigned shown = 0, different = 0;
        std::string lanes;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if ((a.executed & b.executed & (1u << lane)) == 0) continue;
            const Value x{type, a.bits[i][lane]}, y{type, b.bits[i][lane]};
            if (x.bits == y.bits) continue;
            ++different;
            if (shown++ < max_lanes)
                lanes += fmt::format("    lane {:>2}: {} = {} | {} = {}\n", lane, hex_of(x),
                                     text_of(x), hex_of(y), text_of(y));
        }
        if (different == 0) continue;
        const std::string other = b.registers[i]->name;
        out += fmt::format("  {}{} differs in {} lane{} ({} | {}):\n{}", r.name,
                           other == r.name ? "" : " and " + other, different,
                           different == 1 ? "" : "s", names[0], names[1], lanes);
        if (different > max_lanes) out += fmt::format("    and {} more\n", different - max_lanes);
    }
    return out;
}

// The elements of the outputs that differ.
std::string outputs_text(const Side& a, const Side& b, bool& differs) {
    const launch::LaunchFile& fa = a.loaded.front().in.launch;
    const launch::LaunchFile& fb = b.loaded.front().in.launch;
    const Shapes shapes = shapes_of(fa);
    std::string out;
    for (const launch::Output& output : fa.outputs) {
        const launch::BufferField* const x = fa.find_buffer(output.name);
        const launch::BufferField* const y = fb.find_buffer(output.name);
        if (x == nullptr || y == nullptr) continue;
        const auto& bytes_a = a.state.memory.bytes[static_cast<size_t>(x - fa.buffers.data())];
        const auto& bytes_b = b.state.memory.bytes[static_cast<size_t>(y - fb.buffers.data())];
        const auto known = shapes.find(output.name);
        const Shape shape = known == shapes.end() ? Shape{isa::Type::b32, 0, 0} : known->second;
        const size_t width = std::max(1u, isa::bits(shape.type) / 8);
        const size_t count = std::min(bytes_a.size(), bytes_b.size()) / width;
        constexpr size_t max_shown = 4;
        size_t different = 0;
        std::string first;
        for (size_t i = 0; i < count; ++i) {
            if (std::memcmp(&bytes_a[i * width], &bytes_b[i * width], width) == 0) continue;
            if (different++ >= max_shown) continue;
            Value va{shape.type, 0}, vb{shape.type, 0};
            std::memcpy(&va.bits, &bytes_a[i * width], width);
            std::memcpy(&vb.bits, &bytes_b[i * width], width);
            first += fmt::format(
                "    {}{}: {} | {}\n", output.name,
                shape.rows == 0 ? fmt::format("[{}]", i)
                                : fmt::format("[{}][{}]", i / shape.columns, i % shape.columns),
                text_of(va), text_of(vb));
        }
        out += fmt::format("  {}: {} of {} elements differ{}\n{}", output.name, different, count,
                           different == 0 ? "" : ":", first);
        if (different > max_shown) out += fmt::format("    and {} more\n", different - max_shown);
        differs |= different != 0 || bytes_a.size() != bytes_b.size();
    }
    return out;
}

// Where the value of that register comes from, in one of the runs; empty: it cannot be said.
std::string origin_of(const Side& s, size_t launch, const Found& found, uint64_t step,
                      const std::string& reg, uint32_t lane) {
    auto session = Session::make(s.loaded, nullptr, s.order);
    const launch::Result<Expression> e = Expression::parse(reg);
    if (!session || !e) return {};
    Session& run = **session;
    const Focus focus{found.cta, found.warp, lane};
    if (run.go_to({launch, found.cta, found.warp, step, 0}).reason != Reason::stepped ||
        !run.look_at(focus))
        return {};
    (void)run.step(Step::instruction);
    if (run.is_over() || !run.look_at(focus)) return {};
    const launch::Result<std::string> text = origin_text(run, *e);
    return text ? *text : std::string();
}

// The first register and lane that differ; nullptr: none does.
const isa::Register* first_register(const Values& a, const Values& b, uint32_t& lane) {
    for (size_t i = 0; i < std::min(a.registers.size(), b.registers.size()); ++i)
        for (lane = 0; lane < 32; ++lane)
            if ((a.executed & b.executed & (1u << lane)) != 0 && a.bits[i][lane] != b.bits[i][lane])
                return a.registers[i];
    return nullptr;
}

// Both chains, one below the other; of two that are alike one.
std::string origins_text(const Side& a, const Side& b, size_t launch, const Found& found,
                         const Values& of_a, const Values& of_b) {
    uint32_t lane = 0;
    const isa::Register* const reg = first_register(of_a, of_b, lane);
    if (reg == nullptr || found.other_way) return {};
    const auto i = std::ranges::find(of_a.registers, reg) - of_a.registers.begin();
    const std::string from_a = origin_of(a, launch, found, found.step_a, reg->name, lane);
    const std::string from_b = origin_of(b, launch, found, found.step_b,
                                         of_b.registers[static_cast<size_t>(i)]->name, lane);
    if (from_a.empty() || from_b.empty()) return {};
    const std::string head = fmt::format("Where {} of lane {} comes from", reg->name, lane);
    if (from_a == from_b) return fmt::format("{}:\n{}", head, from_a);
    return fmt::format("{}, {}:\n{}{}, {}:\n{}", head, a.name, from_a, head, b.name, from_b);
}

std::string spread_text(const Listing& l, const std::map<uint32_t, uint64_t>& spread) {
    constexpr size_t max_shown = 12;
    std::string out = fmt::format("It spreads to {} instruction{} of the program:\n", spread.size(),
                                  spread.size() == 1 ? "" : "s");
    size_t shown = 0;
    for (const auto& [operation, count] : spread) {
        if (shown++ == max_shown) break;
        out += fmt::format("  {:>7} times  {}\n", count, line_of(l, operation));
    }
    if (spread.size() > max_shown) out += fmt::format("  and {} more\n", spread.size() - max_shown);
    return out;
}

}  // namespace

launch::Result<Difference> difference(const Run& run_a, const Run& run_b,
                                      const std::atomic<bool>* stop) {
    const std::vector<launch::Loaded>& a = run_a.launches;
    const std::vector<launch::Loaded>& b = run_b.launches;
    const std::array<std::string, 2> names{run_a.name, run_b.name};
    if (a.size() != b.size())
        return launch::failure(fmt::format("{} has {} launches and {} has {}", names[0], a.size(),
                                           names[1], b.size()));
    Side sa{a, names[0], run_a.order, {}, {}}, sb{b, names[1], run_b.order, {}, {}};
    for (Side* s : {&sa, &sb})
        if (launch::Result<void> made = prepare(*s); !made) return launch::failure(made);
    Difference out;
    std::optional<Found> found;
    size_t launch = 0;
    std::string spread;
    size_t left_out = 0;
    uint64_t compared = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const auto warps = [&](const launch::Loaded& l) {
            return static_cast<size_t>((l.in.kernel().block.count() + 31) / 32);
        };
        Recorder ra(warps(a[i])), rb(warps(b[i]));
        const auto trap_a = sa.run(i, &ra, stop);
        if (!trap_a) return tl::unexpected(trap_a.error());
        const auto trap_b = sb.run(i, &rb, stop);
        if (!trap_b) return tl::unexpected(trap_b.error());
        if (ra.count > max_records || rb.count > max_records)
            return launch::failure(
                fmt::format("a launch of more than {} instructions is not compared", max_records));
        for (const auto& [index, cta] : ra.ctas)
            for (const OfWarp& w : cta) compared += w.size();
        if (found) continue;
        const Comparison comparison(*sa.listings[i], *sb.listings[i]);
        left_out += comparison.left_out();
        found = comparison.first(ra.ctas, rb.ctas);
        if (!found) continue;
        launch = i;
        if (comparison.same())
            spread = spread_text(*sa.listings[i], comparison.spread(ra.ctas, rb.ctas));
    }
    if (compared == 0) return launch::failure("nothing was compared: no instruction ran");
    const std::string outputs = outputs_text(sa, sb, out.differs);
    const std::string note = left_out == 0
                                 ? std::string()
                                 : fmt::format(
                                       "Left out: {} instructions that compute addresses of shared "
                                       "memory, which begins elsewhere.\n",
                                       left_out);
    if (!found) {
        out.text =
            fmt::format("{}: {} and {}, {} instructions\n",
                        out.differs ? "The outputs differ, and no register does" : "identical",
                        names[0], names[1], compared);
        if (out.differs) out.text += outputs;
        out.text += note;
        return out;
    }
    out.differs = true;
    // Once more, for the values there.
    Capture ca(found->cta, found->warp, found->step_a), cb(found->cta, found->warp, found->step_b);
    for (Side* s : {&sa, &sb}) {
        Side again{s->loaded, s->name, s->order, {}, {}};
        if (launch::Result<void> made = prepare(again); !made) return launch::failure(made);
        for (size_t i = 0; i <= launch; ++i) {
            warp::Observer* const who =
                i != launch ? nullptr : static_cast<warp::Observer*>(s == &sa ? &ca : &cb);
            if (const auto ran = again.run(i, who, stop); !ran) return tl::unexpected(ran.error());
        }
    }
    const Listing& la = *sa.listings[launch];
    const Listing& lb = *sb.listings[launch];
    View view;
    view.listing = &la;
    view.pc = ca.values.operation;
    const warp::Dim3& grid = a[launch].in.kernel().grid;
    out.text = fmt::format(
        "{}: CTA ({},{},{}) warp {}, step {}{}\n",
        found->other_way ? "The runs go different ways" : "The first register that differs",
        found->cta % grid.x, found->cta / grid.x % grid.y, found->cta / grid.x / grid.y,
        found->warp, found->step_a,
        found->step_a == found->step_b ? "" : fmt::format(" and {}", found->step_b));
    out.text += line_of(la, ca.values.operation) + "\n";
    if (line_of(lb, cb.values.operation) != line_of(la, ca.values.operation))
        out.text += line_of(lb, cb.values.operation) + "\n";
    out.text += launch::source_text(la.places_of(ca.values.operation));
    out.text += values_text(ca.values, cb.values, view, names);
    out.text += origins_text(sa, sb, launch, *found, ca.values, cb.values);
    out.text += spread;
    out.text += "The outputs:\n" + outputs + note;
    return out;
}

}  // namespace lockwarp::debug
