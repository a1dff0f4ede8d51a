// SPDX-License-Identifier: Apache-2.0
// Reads of shared memory that a cp.async may still be bringing: right by luck on a GPU, and right
// always here, where a copy is done at once; and copies into what others may still read. PTX
// manual, "Data Movement and Conversion Instructions: Asynchronous copy": what a thread copies may
// be read by it after a wait_group or wait_all of its own that covers the copy, and by other
// threads after a barrier behind that.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;
using warp::CopyStep;

enum class Early : uint8_t {
    flying,          // the thread that copied has not waited for the copy
    unsynchronised,  // it has, but the reader, in another warp, has met no barrier since
    replaced,        // the reader, in another warp, may still read what was there before the copy
};

// The first read of one instruction of what one cp.async brought, and how many there were.
struct EarlyRead {
    Early kind;
    uint32_t reader, copy;  // indices into Program::operations
    std::array<uint32_t, 3> cta;
    uint32_t warp, lanes;
    uint64_t step;
    uint64_t address;  // in shared memory
    uint32_t bytes;
    uint32_t copy_warp, copy_lane;
    uint64_t count = 1;
};

using Reads = std::map<std::tuple<uint32_t, uint32_t, Early>, EarlyRead>;

constexpr uint64_t word_bytes = 4;  // the least that cp.async copies

// What may stand for a barrier: waits for other threads that a program makes by itself. bar and its
// kin are heard of when they open.
bool may_synchronise(const isa::Operation& o) {
    const isa::Sync sync = isa::row(o.op).sync;
    return sync == isa::Sync::phase || sync == isa::Sync::order;
}

class OfCta : public warp::CtaObserver {
  public:
    void copies(const warp::CopyEvent& e) override;
    void barrier_opened(const warp::BarrierOpened& e) override;
    void retired(const warp::Retired& e) override;

    Reads reads;

  private:
    // What a cp.async brought to a word of shared memory.
    struct Word {
        uint32_t operation = 0, warp = 0, lane = 0;
        uint64_t issued = 0;  // 0: no copy brought it
        uint64_t done = 0;    // when the thread that copied had waited; 0: it has not
        uint64_t before = 0;  // when what was there before was complete; 0: nothing was
    };
    struct Copy {
        uint32_t group;         // of the thread
        uint64_t first, count;  // words
        uint64_t issued;
    };
    struct OfWarp {
        std::array<std::vector<Copy>, 32> copies;  // by lane: not waited for, the oldest first
        uint64_t met = 0;                          // when it last met other warps
        uint64_t waited = 0;                       // when it last waited for copies of its own
        bool meets = false;                        // with its next instruction
    };

    OfWarp& of_warp(uint32_t warp) {
        if (warps_.size() <= warp) warps_.resize(warp + size_t{1});
        return warps_[warp];
    }
    void issue(const warp::CopyEvent& e);
    void finish(const warp::CopyEvent& e);
    void stored(uint64_t address, uint32_t bytes);
    void loaded(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);

    std::vector<Word> words_;
    std::vector<OfWarp> warps_;
    uint64_t now_ = 1;
    bool any_ = false;  // a CTA that copies nothing has nothing to look after
};

void OfCta::issue(const warp::CopyEvent& e) {
    any_ = true;
    if (e.accesses.empty()) return;
    const warp::Access& to = e.accesses.back();
    OfWarp& w = of_warp(e.who.warp);
    for (uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t first = to.address[lane] / word_bytes;
        const uint64_t count = to.bytes_of_lane[lane] / word_bytes;
        if (first + count > words_.size()) words_.resize(first + count);
        for (uint64_t word = first; word < first + count; ++word) {
            const Word& old = words_[word];
            const uint64_t before = old.issued != 0 ? old.done : old.before;
            words_[word] = {e.operation, e.who.warp, lane, now_, 0, before};
        }
        w.copies[lane].push_back({e.group[lane], first, count, now_});
    }
}

// Threads have waited for groups of copies, or those arrive at the mbarrier that readers wait for.
void OfCta::finish(const warp::CopyEvent& e) {
    OfWarp& w = of_warp(e.who.warp);
    w.waited = now_;
    for (uint32_t rest = e.who.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        std::erase_if(w.copies[lane], [&](const Copy& c) {
            const bool done = e.uncommitted || c.group < e.group[lane];
            for (uint64_t word = c.first; done && word < c.first + c.count; ++word)
                if (words_[word].issued == c.issued) words_[word].done = now_;
            return done;
        });
    }
}

void OfCta::copies(const warp::CopyEvent& e) {
    ++now_;
    switch (e.step) {
        case CopyStep::issued:
            return issue(e);
        case CopyStep::committed:
            return;
        case CopyStep::awaited:
        case CopyStep::arrives:
            return finish(e);
    }
}

void OfCta::barrier_opened(const warp::BarrierOpened& e) {
    ++now_;
    for (const warp::WarpLanes& r : e.released) of_warp(r.warp).met = now_;
}

void OfCta::stored(uint64_t address, uint32_t bytes) {
    const uint64_t end = (address + bytes + word_bytes - 1) / word_bytes;
    if (end > words_.size()) words_.resize(end);
    for (uint64_t w = address / word_bytes; w < end; ++w) {
        words_[w] = {};
        words_[w].before = now_;
    }
}

void OfCta::loaded(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes) {
    const uint64_t end = (address + bytes + word_bytes - 1) / word_bytes;
    for (uint64_t w = address / word_bytes; w < std::min<uint64_t>(end, words_.size()); ++w) {
        const Word& copy = words_[w];
        if (copy.issued == 0) continue;
        const uint64_t met = of_warp(e.warp).met;
        const uint64_t waited = of_warp(e.warp).waited;
        if (copy.done != 0 && (copy.warp == e.warp || met > copy.done)) continue;
        // What was there before was its to read, and it has waited for nothing new since.
        const bool replaced = copy.warp != e.warp && copy.before != 0 && met > copy.before &&
                              met < copy.issued && waited < met;
        const Early kind = replaced         ? Early::replaced
                           : copy.done == 0 ? Early::flying
                                            : Early::unsynchronised;
        const EarlyRead read{kind,   e.operation, copy.operation, e.cta,
                             e.warp, 1u << lane,  e.step,         w * word_bytes,
                             bytes,  copy.warp,   copy.lane};
        const auto [at, is_new] = reads.try_emplace({e.operation, copy.operation, kind}, read);
        if (is_new) return;
        EarlyRead& first = at->second;
        ++first.count;
        if (first.warp == e.warp && first.step == e.step) first.lanes |= 1u << lane;
        return;
    }
}

void OfCta::retired(const warp::Retired& e) {
    ++now_;
    const isa::Operation& o = e.program->operations[e.operation];
    OfWarp& w = of_warp(e.warp);
    if (w.meets) w.met = now_;
    w.meets = may_synchronise(o);
    if (isa::row(o.op).memory == isa::Memory::copy) return;
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space != ptx::Space::shared) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            if (a.store)
                stored(a.address[lane], a.bytes_of_lane[lane]);
            else if (any_)
                loaded(e, lane, a.address[lane], a.bytes_of_lane[lane]);
        }
    }
}

class InFlight : public Check {
  public:
    explicit InFlight(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override;
    std::vector<Finding> findings() const override;

  private:
    Finding finding(const EarlyRead& r) const;

    const isa::Program& program_;
    Reads reads_;
};

void InFlight::take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) {
    for (const auto& [key, read] : static_cast<OfCta&>(*listener).reads) {
        const auto [at, is_new] = reads_.try_emplace(key, read);
        if (!is_new) at->second.count += read.count;
    }
}

Finding InFlight::finding(const EarlyRead& r) const {
    Finding out;
    out.here = {r.reader, r.cta, r.warp, r.lanes, r.step};
    out.other = Site{r.copy, r.cta, r.copy_warp, 1u << r.copy_lane, 0};
    out.space = ptx::Space::shared;
    out.address = r.address;
    out.bytes = r.bytes;
    out.count = r.count;
    const std::string line = "line " + std::to_string(program_.operations[r.copy].place.line);
    out.message = r.kind == Early::replaced ? "reads where " + line + " copies to"
                                            : "reads what " + line + " copies";
    const std::string copier =
        "warp " + std::to_string(r.copy_warp) + ", lane " + std::to_string(r.copy_lane);
    switch (r.kind) {
        case Early::flying:
            out.kind = "copy-not-awaited";
            out.hint = "copied by " + copier +
                       ", which has not waited for it: cp.async.wait_group or wait_all comes first";
            break;
        case Early::unsynchronised:
            out.kind = "copy-no-barrier";
            out.hint = "copied and waited for by " + copier +
                       "; this warp has met no barrier since: bar.sync comes first";
            break;
        case Early::replaced:
            out.kind = "copy-too-early";
            out.hint = "copied by " + copier +
                       " into what this warp may still read: a barrier that both meet comes before "
                       "the copy (bar.sync)";
            break;
    }
    return out;
}

std::vector<Finding> InFlight::findings() const {
    std::vector<Finding> out;
    for (const auto& [key, read] : reads_) out.push_back(finding(read));
    return out;
}

}  // namespace

std::unique_ptr<Check> copies_in_flight(const isa::Program& program, const warp::Launch&) {
    if (std::ranges::find(program.operations, Op::cp_async, &isa::Operation::op) ==
        program.operations.end())
        return nullptr;
    return std::make_unique<InFlight>(program);
}

}  // namespace lockwarp::check
