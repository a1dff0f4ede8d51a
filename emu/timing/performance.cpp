// SPDX-License-Identifier: Apache-2.0
// Notes of what makes a kernel slow, by instruction: bank conflicts and what removes them,
// uncoalesced accesses, branches that part warps, local memory in loops, shared loads in place of
// ldmatrix. It is in this room for the arithmetic of wavefronts and sectors. Only the first CTAs
// are heard: the others do the same.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/timing/wavefronts.hpp"

namespace lockwarp::check {

namespace {

using ptx::Space;

constexpr uint64_t heard_ctas = 8;
constexpr double conflict_share = 1.5;  // wavefronts by the fewest that would do
constexpr double sector_share = 3;      // sectors by those that would hold the bytes
constexpr double idle_share = 0.1;      // of all lanes' turns, lost behind one branch

struct Use {
    uint64_t times = 0;
    uint64_t taken = 0, least = 0;  // wavefronts, or sectors
    unsigned worst = 0, worst_least = 0;
    Site site;             // of the worst
    warp::Access example;  // likewise
};

struct Branch {
    uint64_t times = 0, parted = 0;
    uint64_t idle = 0;  // lanes' turns behind it
    Site site;
};

struct Tally {
    std::unordered_map<uint32_t, Use> shared, global, local;  // by operation
    std::unordered_map<uint32_t, Branch> branches;
    uint64_t turns = 0;  // of lanes
    uint64_t warps = 0;

    void take(const Tally& more);
};

void add(Use& sum, const Use& more) {
    sum.times += more.times;
    sum.taken += more.taken;
    sum.least += more.least;
    if (more.worst <= sum.worst) return;
    sum.worst = more.worst;
    sum.worst_least = more.worst_least;
    sum.site = more.site;
    sum.example = more.example;
}

void Tally::take(const Tally& more) {
    for (const auto& [operation, use] : more.shared) add(shared[operation], use);
    for (const auto& [operation, use] : more.global) add(global[operation], use);
    for (const auto& [operation, use] : more.local) add(local[operation], use);
    for (const auto& [operation, b] : more.branches) {
        Branch& sum = branches[operation];
        if (sum.parted == 0) sum.site = b.site;
        sum.times += b.times;
        sum.parted += b.parted;
        sum.idle += b.idle;
    }
    turns += more.turns;
    warps += more.warps;
}

// Phases in which a lane takes part: the wavefronts of an access without conflicts.
unsigned least_wavefronts(const warp::Access& a) {
    const unsigned lanes = timing::phase_lanes(a.bytes);
    unsigned out = 0;
    for (unsigned first = 0; first < 32; first += lanes) {
        const uint64_t all = (uint64_t{1} << lanes) - 1;
        out += (a.lanes >> first & all) != 0 ? 1 : 0;
    }
    return out;
}

unsigned least_sectors(const warp::Access& a) {
    unsigned bytes = 0;
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1)
        bytes += a.bytes_of_lane[static_cast<size_t>(__builtin_ctz(rest))];
    return std::max(1u, (bytes + timing::sector_bytes - 1) / timing::sector_bytes);
}

class OfCta : public warp::CtaObserver {
  public:
    explicit OfCta(const isa::Program& program) : program_(program) {}
    void retired(const warp::Retired& e) override;

    Tally tally;

  private:
    void branched(const warp::Retired& e);
    static void used(Use& use, const warp::Retired& e, const warp::Access& a, unsigned taken,
                     unsigned least);

    struct OfWarp {
        uint32_t all = 0;                    // lanes that it began with
        uint32_t parted_at = warp_is_whole;  // the branch
    };
    static constexpr uint32_t warp_is_whole = UINT32_MAX;

    const isa::Program& program_;
    std::vector<OfWarp> warps_;
};

void OfCta::used(Use& use, const warp::Retired& e, const warp::Access& a, unsigned taken,
                 unsigned least) {
    ++use.times;
    use.taken += taken;
    use.least += least;
    if (taken <= use.worst) return;
    use.worst = taken;
    use.worst_least = least;
    use.site = {e.operation, e.cta, e.warp, a.lanes, e.step};
    use.example = a;
}

void OfCta::branched(const warp::Retired& e) {
    Branch& b = tally.branches[e.operation];
    ++b.times;
    if (e.executed == 0 || e.executed == e.active) return;
    if (b.parted++ == 0) b.site = {e.operation, e.cta, e.warp, e.executed, e.step};
    warps_[e.warp].parted_at = e.operation;
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    if (warps_.size() <= e.warp) warps_.resize(e.warp + size_t{1});
    OfWarp& w = warps_[e.warp];
    if (w.all == 0) {
        w.all = e.active;
        ++tally.warps;
    }
    const auto whole = static_cast<uint64_t>(std::popcount(w.all));
    const auto active = static_cast<uint64_t>(std::popcount(e.active));
    tally.turns += whole;
    if (active == whole)
        w.parted_at = warp_is_whole;
    else if (w.parted_at != warp_is_whole)
        tally.branches[w.parted_at].idle += whole - active;
    if (isa::row(o.op).flow != isa::Flow::next && o.guarded) branched(e);
    // Which bytes of its matrices wgmma reads together is not known.
    if (e.access_count == 0 || o.wmma_fragment != nullptr || o.warpgroup != nullptr) return;
    for (uint32_t i = 0; i < e.access_count; ++i) {
        const warp::Access& a = e.accesses[i];
        if (a.space == Space::shared)
            used(tally.shared[e.operation], e, a, timing::wavefronts(a), least_wavefronts(a));
        else if (a.space == Space::global)
            used(tally.global[e.operation], e, a, timing::lines_of(a).sectors, least_sectors(a));
        else if (a.space == Space::local)
            used(tally.local[e.operation], e, a, 1, 1);
    }
}

// Swizzle<B,M,S>: bits [M+S, M+S+B) are XORed into [M, M+B), of the offset in the variable.
struct Remedy {
    uint64_t row{}, pad{};  // row 0: a swizzle
    unsigned bits{}, base{}, shift{};

    uint64_t operator()(uint64_t offset) const {
        if (row != 0) return offset + offset / row * pad;
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        return offset ^ (offset >> (base + shift) & mask) << base;
    }
    std::string text() const {
        if (row != 0)
            return "rows of " + std::to_string(row) + " bytes padded by " + std::to_string(pad);
        return "Swizzle<" + std::to_string(bits) + "," + std::to_string(base) + "," +
               std::to_string(shift) + "> of the byte offset";
    }
};

unsigned wavefronts_with(const Remedy& r, warp::Access a, uint64_t begin) {
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        uint64_t& at = a.address[static_cast<size_t>(__builtin_ctz(rest))];
        at = r(at - begin);
    }
    return timing::wavefronts(a);
}

// How far apart neighbouring lanes are, mostly.
uint64_t stride_of(const warp::Access& a) {
    std::map<uint64_t, unsigned> seen;
    for (uint32_t rest = a.lanes & a.lanes >> 1; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<size_t>(__builtin_ctz(rest));
        if (a.address[l + 1] > a.address[l]) ++seen[a.address[l + 1] - a.address[l]];
    }
    uint64_t best = 0;
    unsigned count = 0;
    for (const auto& [stride, n] : seen)
        if (n > count) {
            best = stride;
            count = n;
        }
    return best;
}

std::string number(uint64_t n) { return std::to_string(n); }

// A mean, with a digit behind the point where it is not whole.
std::string mean(uint64_t sum, uint64_t count) {
    const uint64_t tenths = (sum * 10 + count / 2) / count;
    return number(tenths / 10) + (tenths % 10 == 0 ? "" : "." + number(tenths % 10));
}

class Performance : public Check {
  public:
    Performance(const isa::Program& program, const warp::Launch& launch)
        : program_(program), objects_(program, launch) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return cta.index < heard_ctas ? std::make_unique<OfCta>(program_) : nullptr;
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        if (listener) tally_.take(static_cast<const OfCta&>(*listener).tally);
    }
    std::vector<Finding> findings() const override;

  private:
    void add_conflicts(std::vector<Finding>& out) const;
    void add_uncoalesced(std::vector<Finding>& out) const;
    void add_branches(std::vector<Finding>& out) const;
    void add_local(std::vector<Finding>& out) const;
    void add_fragments(std::vector<Finding>& out) const;
    std::string remedy(const Use& use) const;
    bool holds(const Remedy& r, const Use& use, const Object& object) const;

    const isa::Program& program_;
    Objects objects_;
    Tally tally_;
};

Finding note(std::string_view kind, const Use& use) {
    Finding f;
    f.kind = kind;
    f.severity = Severity::note;
    f.here = use.site;
    const auto lane = static_cast<size_t>(__builtin_ctz(use.example.lanes));
    f.space = use.example.space;
    f.address = use.example.address[lane];
    f.bytes = use.example.bytes;
    f.count = use.times;
    return f;
}

bool is_in(const Object& o, const warp::Access& a) {
    const uint64_t at = a.address[static_cast<size_t>(__builtin_ctz(a.lanes))];
    return at >= o.begin && at < o.end;
}

// It mends this access, and makes none of the variable's worse.
bool Performance::holds(const Remedy& r, const Use& use, const Object& object) const {
    if (wavefronts_with(r, use.example, object.begin) > use.worst_least) return false;
    return std::ranges::all_of(tally_.shared, [&](const auto& each) {
        const Use& other = each.second;
        if (!is_in(object, other.example)) return true;
        return wavefronts_with(r, other.example, object.begin) <= other.worst;
    });
}

std::string Performance::remedy(const Use& use) const {
    const auto lane = static_cast<size_t>(__builtin_ctz(use.example.lanes));
    const Object object = objects_.at(Space::shared, use.example.address[lane]);
    if (object.name.empty()) return "another layout of the data has none";
    std::string out;
    const auto offer = [&](const Remedy& r) {
        if (!holds(r, use, object)) return false;
        out += (out.empty() ? "" : ", or ") + r.text();
        return true;
    };
    // What is accessed together stays together.
    unsigned width = 4;
    for (const auto& [operation, other] : tally_.shared)
        if (is_in(object, other.example)) width = std::max(width, other.example.bytes);
    if (const uint64_t row = stride_of(use.example); row != 0)
        for (const uint64_t pad : {uint64_t{4}, uint64_t{8}, uint64_t{16}})
            if (pad >= width && offer({row, pad})) break;
    const auto base = static_cast<unsigned>(std::countr_zero(std::bit_ceil(width)));
    const auto swizzle = [&] {
        for (unsigned bits = 1; bits <= 5; ++bits)
            for (unsigned shift = bits; base + shift + bits <= 14; ++shift)
                if (offer({0, 0, bits, base, shift})) return;
    };
    swizzle();
    return out.empty() ? "another layout of the data has none"
                       : "without conflicts: " + object.name + " with " + out;
}

void Performance::add_conflicts(std::vector<Finding>& out) const {
    for (const auto& [operation, use] : tally_.shared) {
        if (static_cast<double>(use.taken) < conflict_share * static_cast<double>(use.least))
            continue;
        Finding f = note("bank-conflict", use);
        f.message = "takes " + mean(use.taken, use.times) + " wavefronts of shared memory where " +
                    mean(use.least, use.times) + " would do, up to " + number(use.worst);
        f.hint = remedy(use);
        out.push_back(std::move(f));
    }
}

void Performance::add_uncoalesced(std::vector<Finding>& out) const {
    for (const auto& [operation, use] : tally_.global) {
        if (static_cast<double>(use.taken) < sector_share * static_cast<double>(use.least))
            continue;
        Finding f = note("uncoalesced", use);
        f.message = "moves " + mean(use.taken, use.times) +
                    " sectors of 32 bytes for each warp where " + mean(use.least, use.times) +
                    " hold what its lanes access";
        const uint64_t stride = stride_of(use.example);
        f.hint =
            (stride == 0 ? "" : "neighbouring lanes are " + number(stride) + " bytes apart: ") +
            std::string(
                "let neighbouring lanes access neighbouring bytes, or go through "
                "shared memory");
        out.push_back(std::move(f));
    }
}

void Performance::add_branches(std::vector<Finding>& out) const {
    for (const auto& [operation, b] : tally_.branches) {
        if (static_cast<double>(b.idle) < idle_share * static_cast<double>(tally_.turns)) continue;
        if (b.parted == 0) continue;
        Finding f;
        f.kind = "divergent-branch";
        f.severity = Severity::note;
        f.here = b.site;
        f.count = b.parted;
        f.message = "parts the lanes of warps, " + number(b.parted) + " of " + number(b.times) +
                    " times; " + number(b.idle * 100 / tally_.turns) +
                    "% of all lanes' turns are idle behind it";
        f.hint = "let whole warps go one way: by the warp's number rather than the lane's";
        out.push_back(std::move(f));
    }
}

// One note for the kernel: where there is no optimizer, every variable lies in local memory.
void Performance::add_local(std::vector<Finding>& out) const {
    const Use* most = nullptr;
    uint64_t times = 0, places = 0;
    for (const auto& [operation, use] : tally_.local) {
        if (use.times < 2 * tally_.warps) continue;
        times += use.times;
        ++places;
        const bool first = most == nullptr || use.times > most->times ||
                           (use.times == most->times && operation < *most->site.operation);
        if (first) most = &use;
    }
    if (most == nullptr) return;
    Finding f = note("local-in-loop", *most);
    f.message = "accesses local memory " + mean(most->times, tally_.warps) + " times a warp; " +
                number(places) + " instructions together " + mean(times, tally_.warps) + " times";
    f.hint =
        "an array that is indexed by a variable, or registers that did not suffice: unroll "
        "the loop, or keep less alive";
    out.push_back(std::move(f));
}

// Registers of a fragment that loads of shared memory fill one by one: ldmatrix brings up to four.
void Performance::add_fragments(std::vector<Finding>& out) const {
    std::unordered_map<isa::Ref, uint32_t> loads;  // register -> operation
    for (const isa::Operation& o : program_.operations) {
        const auto i = static_cast<uint32_t>(&o - program_.operations.data());
        const isa::OpRow& row = isa::row(o.op);
        if (row.memory != isa::Memory::load || row.matrix != isa::Matrix::none) continue;
        if (!tally_.shared.contains(i)) continue;
        for (const isa::VectorRef& v : o.vector)
            for (uint32_t n = 0; n < v.count; ++n) loads[program_.pool[v.first + n]] = i;
    }
    for (const isa::Operation& o : program_.operations) {
        if (o.mma == nullptr || isa::bits(o.mma->a) == 64) continue;
        for (size_t n = 1; n <= 2; ++n) {
            const isa::VectorRef& v = o.vector[n];
            std::vector<uint32_t> from;
            for (uint32_t k = 0; k < v.count; ++k)
                if (const auto at = loads.find(program_.pool[v.first + k]); at != loads.end())
                    from.push_back(at->second);
            std::ranges::sort(from);
            from.erase(std::unique(from.begin(), from.end()), from.end());
            if (from.size() < 2) continue;
            Finding f = note("scalar-fragment", tally_.shared.at(from[0]));
            f.other = Site{static_cast<uint32_t>(&o - program_.operations.data()), {}, 0, 0, 0};
            f.message = number(from.size()) + " loads of shared memory fill the fragment " +
                        (n == 1 ? "A" : "B") + " of line " + number(o.place.line);
            f.hint = "ldmatrix.x" + number(std::bit_floor(std::min<size_t>(v.count, 4))) +
                     " brings it with one instruction";
            out.push_back(std::move(f));
        }
    }
}

std::vector<Finding> Performance::findings() const {
    std::vector<Finding> all;
    add_conflicts(all);
    add_uncoalesced(all);
    add_branches(all);
    add_local(all);
    add_fragments(all);
    Collection out;
    for (Finding& f : all) out.add(std::move(f));
    return out.list();
}

}  // namespace

std::unique_ptr<Check> slow_accesses(const isa::Program& program, const warp::Launch& launch) {
    return std::make_unique<Performance>(program, launch);
}

}  // namespace lockwarp::check
