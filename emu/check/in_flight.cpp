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
    OfCta(const isa::Program& program, const std::array<uint32_t, 3>& cta)
        : program_(program), cta_(cta) {}
    void copies(const warp::CopyEvent& e) override;
    void barrier_opened(const warp::BarrierOpened& e) override;
    void retired(const warp::Retired& e) override;
    void trapped(const warp::Trap&) override { trapped_ = true; }
    void ended() override;

    Reads reads;
    Collection found;  // of everything but reads

  private:
    // What a cp.async brought to a word of shared memory.
    struct Word {
        uint32_t operation = 0, warp = 0, lane = 0;
        uint64_t issued = 0;  // 0: no copy brought it
        uint64_t done = 0;    // when the thread that copied had waited; 0: it has not
        uint64_t before = 0;  // when what was there before was complete; 0: nothing was
        uint64_t source = 0;  // where it comes from; 0: from nowhere, it is zeros
    };
    // Who last read a word, and who last did in another warp than that.
    struct Reader {
        uint32_t operation = 0, warp = 0, lane = 0;
        uint64_t when = 0;  // 0: nobody
        uint64_t step = 0;
    };
    using Readers = std::array<Reader, 2>;
    struct Copy {
        uint32_t group;         // of the thread
        uint64_t first, count;  // words
        uint64_t issued;
        uint64_t source, source_bytes;  // in global memory
        Site site;
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
    void stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);
    void source_stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);
    void overwrites(const Site& here, const Word& copy, uint64_t address, bool copies);
    Site site_of(const Word& w) const { return {w.operation, cta_, w.warp, 1u << w.lane, 0}; }
    std::string line_of(uint32_t operation) const {
        return "line " + std::to_string(program_.operations[operation].place.line);
    }
    void loaded(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);

    const isa::Program& program_;
    std::array<uint32_t, 3> cta_;
    void read_before(const Site& here, uint64_t word);

    std::vector<Word> words_;
    std::vector<Readers> readers_;  // as words_
    std::vector<OfWarp> warps_;
    uint64_t now_ = 1;
    uint64_t flying_ = 0;  // copies that are not waited for
    bool trapped_ = false;
};

void OfCta::issue(const warp::CopyEvent& e) {
    if (e.accesses.empty()) return;
    const warp::Access& to = e.accesses.back();
    const warp::Access* const from = e.accesses.size() > 1 ? &e.accesses.front() : nullptr;
    OfWarp& w = of_warp(e.who.warp);
    for (uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t first = to.address[lane] / word_bytes;
        const uint64_t count = to.bytes_of_lane[lane] / word_bytes;
        if (first + count > words_.size()) words_.resize(first + count);
        const bool fetches = from != nullptr && (from->lanes >> lane & 1) != 0;
        const uint64_t source = fetches ? from->address[lane] : 0;
        const Site site{e.operation, cta_, e.who.warp, 1u << lane, 0};
        for (uint64_t word = first; word < first + count; ++word) {
            const Word& old = words_[word];
            const uint64_t source_word = fetches ? source + (word - first) * word_bytes : 0;
            if (old.issued != 0 && old.done == 0 && old.source != source_word)
                overwrites(site, old, word * word_bytes, true);
            read_before(site, word);
            const uint64_t before = old.issued != 0 ? old.done : old.before;
            words_[word] = {e.operation, e.who.warp, lane, now_, 0, before, source_word};
        }
        w.copies[lane].push_back({e.group[lane], first, count, now_, source,
                                  fetches ? from->bytes_of_lane[lane] : uint64_t{0}, site});
        ++flying_;
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
            flying_ -= done ? 1 : 0;
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

// A store, or a copy from elsewhere, to where a copy that nobody waited for may still write.
void OfCta::overwrites(const Site& here, const Word& copy, uint64_t address, bool copies) {
    if (found.again("copy-overwritten", here.operation, copy.operation)) return;
    Finding f;
    f.kind = "copy-overwritten";
    f.here = here;
    f.other = site_of(copy);
    f.space = ptx::Space::shared;
    f.address = address;
    f.bytes = word_bytes;
    f.message = (copies ? "copies to where " : "stores to where ") + line_of(copy.operation) +
                " copies, which may still be on its way";
    f.hint = "copied by warp " + std::to_string(copy.warp) + ", lane " + std::to_string(copy.lane) +
             ", which has not waited for it: which of the two comes last is chance";
    found.add(std::move(f));
}

// A copy into what another warp has read since it met the copying one.
void OfCta::read_before(const Site& here, uint64_t word) {
    if (word >= readers_.size()) return;
    const uint64_t met = of_warp(here.warp).met;
    for (const Reader& r : readers_[word]) {
        if (r.when == 0 || r.warp == here.warp || met > r.when) continue;
        EarlyRead read{Early::replaced,
                       r.operation,
                       *here.operation,
                       cta_,
                       r.warp,
                       1u << r.lane,
                       r.step,
                       word * word_bytes,
                       word_bytes,
                       here.warp,
                       static_cast<uint32_t>(__builtin_ctz(here.lanes))};
        const auto [at, is_new] =
            reads.try_emplace({r.operation, *here.operation, Early::replaced}, read);
        if (!is_new) ++at->second.count;
        return;
    }
}

void OfCta::source_stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes) {
    for (const OfWarp& w : warps_)
        for (const std::vector<Copy>& copies : w.copies)
            for (const Copy& c : copies) {
                if (c.source_bytes == 0 || address >= c.source + c.source_bytes ||
                    address + bytes <= c.source ||
                    found.again("copy-source-changed", e.operation, c.site.operation))
                    continue;
                Finding f;
                f.kind = "copy-source-changed";
                f.here = {e.operation, e.cta, e.warp, 1u << lane, e.step};
                f.other = c.site;
                f.space = ptx::Space::global;
                f.address = address;
                f.bytes = bytes;
                f.message = "stores to where " + line_of(*c.site.operation) +
                            " copies from, which may still read it";
                f.hint = "cp.async.wait_group or wait_all comes before its source changes";
                found.add(std::move(f));
            }
}

void OfCta::ended() {
    if (trapped_) return;
    for (const OfWarp& w : warps_)
        for (const std::vector<Copy>& copies : w.copies)
            for (const Copy& c : copies) {
                if (found.again("copy-pending", c.site.operation, std::nullopt)) continue;
                Finding f;
                f.kind = "copy-pending";
                f.severity = Severity::note;
                f.here = c.site;
                f.space = ptx::Space::shared;
                f.address = c.first * word_bytes;
                f.bytes = static_cast<uint32_t>(c.count * word_bytes);
                f.message = "copies what its thread has not waited for when it exits";
                f.hint = "cp.async.wait_all before the end, or no copy of what nobody reads";
                found.add(std::move(f));
            }
}

void OfCta::stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes) {
    const uint64_t end = (address + bytes + word_bytes - 1) / word_bytes;
    if (end > words_.size()) words_.resize(end);
    for (uint64_t w = address / word_bytes; w < end; ++w) {
        if (flying_ != 0 && words_[w].issued != 0 && words_[w].done == 0)
            overwrites({e.operation, e.cta, e.warp, 1u << lane, e.step}, words_[w], w * word_bytes,
                       false);
        words_[w] = {};
        words_[w].before = now_;
    }
}

void OfCta::loaded(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes) {
    const uint64_t end = (address + bytes + word_bytes - 1) / word_bytes;
    if (end > readers_.size()) readers_.resize(end);
    for (uint64_t w = address / word_bytes; w < end; ++w) {
        Readers& r = readers_[w];
        if (r[0].when != 0 && r[0].warp != e.warp) r[1] = r[0];
        r[0] = {e.operation, e.warp, lane, now_, e.step};
    }
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
        const bool global = a.space == ptx::Space::global && a.store && flying_ != 0;
        if (a.space != ptx::Space::shared && !global) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            if (global)
                source_stored(e, lane, a.address[lane], a.bytes_of_lane[lane]);
            else if (a.store)
                stored(e, lane, a.address[lane], a.bytes_of_lane[lane]);
            else
                loaded(e, lane, a.address[lane], a.bytes_of_lane[lane]);
        }
    }
}

class InFlight : public Check {
  public:
    explicit InFlight(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(program_, place.id);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override;
    std::vector<Finding> findings() const override;

  private:
    Finding finding(const EarlyRead& r) const;

    const isa::Program& program_;
    Reads reads_;
    Collection found_;
};

void InFlight::take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) {
    found_.take(static_cast<OfCta&>(*listener).found);
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
    std::vector<Finding> out = found_.list();
    // Of a copy that somebody read too early it is said already.
    std::erase_if(out, [&](const Finding& f) {
        return f.kind == "copy-pending" && std::ranges::any_of(reads_, [&](const auto& each) {
                   return each.second.copy == f.here.operation;
               });
    });
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
