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

constexpr unsigned operation_bits = 22;
constexpr uint64_t word_bytes = 4;  // the least that cp.async copies

// What may stand for a barrier: waits for other threads that a program makes by itself. bar and its
// kin are heard of when they open.
bool may_synchronise(const isa::Operation& o) {
    const isa::Sync sync = isa::row(o.op).sync;
    return sync == isa::Sync::phase || sync == isa::Sync::order ||
           o.mod.memory_order == isa::MemoryOrder::acquire;
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
    // Counts what may order copies and reads. All CTAs of a grid may be under way at a time: what
    // is kept of each word of shared memory is small.
    using Time = uint32_t;
    struct Who {
        uint32_t operation : operation_bits = 0;
        uint32_t warp : 5 = 0;
        uint32_t lane : 5 = 0;
    };
    static Who who(uint32_t operation, uint32_t warp, uint32_t lane) {
        Who out;
        out.operation = operation & ((1u << operation_bits) - 1);
        out.warp = warp & 31;
        out.lane = lane & 31;
        return out;
    }

    // What a cp.async brought to a word of shared memory.
    struct Word {
        Who who;
        Time issued = 0;      // 0: no copy brought it
        Time done = 0;        // when the thread that copied had waited; 0: it has not
        Time before = 0;      // when what was there before was complete; 0: nothing was
        uint32_t source = 0;  // word of memory it comes from; 0: from nowhere, it is zeros
    };
    // Who last read a word, and who last did in another warp than that.
    struct Reader {
        Time when = 0;  // 0: nobody
        Who who;
    };
    using Readers = std::array<Reader, 2>;
    struct Copy {
        uint32_t group;         // of the thread
        uint32_t first, count;  // words
        Time issued;
        uint32_t operation;
        uint32_t source_bytes;
        uint64_t source;  // in global memory
    };
    struct OfWarp {
        std::array<std::vector<Copy>, 32> copies;  // by lane: not waited for, the oldest first
        Time met = 0;                              // when it last met other warps
        Time waited = 0;                           // when it last waited for copies of its own
        bool meets = false;                        // with its next instruction
    };

    OfWarp& of_warp(uint32_t warp) {
        if (warps_.size() <= warp) warps_.resize(warp + size_t{1});
        return warps_[warp];
    }
    // f(copy, who copies), of all that nobody has waited for.
    void each_copy(const auto& f) const {
        for (uint32_t warp = 0; warp < warps_.size(); ++warp)
            for (uint32_t lane = 0; lane < 32; ++lane)
                for (const Copy& c : warps_[warp].copies[lane])
                    f(c, site_of(c.operation, warp, lane));
    }
    void issue(const warp::CopyEvent& e);
    void finish(const warp::CopyEvent& e);
    void stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);
    void source_stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes);
    void look_for_pending();
    void overwrites(const Site& here, const Word& copy, uint64_t address, bool copies);
    Site site_of(uint32_t operation, uint32_t warp, uint32_t lane) const {
        return {operation, cta_, warp, 1u << lane, 0};
    }
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
    Time now_ = 1;
    uint64_t flying_ = 0;  // copies that are not waited for, and where their sources lie
    uint64_t sources_begin_ = UINT64_MAX, sources_end_ = 0;
    bool trapped_ = false;
};

void OfCta::issue(const warp::CopyEvent& e) {
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
            const auto source_word =
                static_cast<uint32_t>(fetches ? source / word_bytes + (word - first) : 0);
            if (old.issued != 0 && old.done == 0 && old.source != source_word)
                overwrites(site, old, word * word_bytes, true);
            read_before(site, word);
            const Time before = old.issued != 0 ? old.done : old.before;
            words_[word] = {who(e.operation, e.who.warp, lane), now_, 0, before, source_word};
        }
        w.copies[lane].push_back({e.group[lane], static_cast<uint32_t>(first),
                                  static_cast<uint32_t>(count), now_, e.operation,
                                  fetches ? from->bytes_of_lane[lane] : 0u, source});
        if (flying_++ == 0) {
            sources_begin_ = UINT64_MAX;
            sources_end_ = 0;
        }
        if (!fetches) continue;
        sources_begin_ = std::min(sources_begin_, source);
        sources_end_ = std::max(sources_end_, source + from->bytes_of_lane[lane]);
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
    if (found.again("copy-overwritten", here.operation, copy.who.operation)) return;
    Finding f;
    f.kind = "copy-overwritten";
    f.here = here;
    f.other = site_of(copy.who.operation, copy.who.warp, copy.who.lane);
    f.space = ptx::Space::shared;
    f.address = address;
    f.bytes = word_bytes;
    f.message = (copies ? "copies to where " : "stores to where ") + line_of(copy.who.operation) +
                " copies, which may still be on its way";
    f.hint = "copied by warp " + std::to_string(copy.who.warp) + ", lane " +
             std::to_string(copy.who.lane) +
             ", which has not waited for it: which of the two comes last is chance";
    found.add(std::move(f));
}

// A copy into what another warp has read since it met the copying one.
void OfCta::read_before(const Site& here, uint64_t word) {
    if (word >= readers_.size()) return;
    const Time met = of_warp(here.warp).met;
    for (const Reader& r : readers_[word]) {
        if (r.when == 0 || r.who.warp == here.warp || met > r.when) continue;
        const auto lane = static_cast<uint32_t>(__builtin_ctz(here.lanes));
        const EarlyRead read{Early::replaced,
                             r.who.operation,
                             *here.operation,
                             cta_,
                             r.who.warp,
                             1u << r.who.lane,
                             0,
                             word * word_bytes,
                             word_bytes,
                             here.warp,
                             lane};
        const auto [at, is_new] =
            reads.try_emplace({r.who.operation, *here.operation, Early::replaced}, read);
        if (!is_new) ++at->second.count;
        return;
    }
}

void OfCta::source_stored(const warp::Retired& e, uint32_t lane, uint64_t address, uint32_t bytes) {
    if (address >= sources_end_ || address + bytes <= sources_begin_) return;
    each_copy([&](const Copy& c, const Site& site) {
        if (address >= c.source + c.source_bytes || address + bytes <= c.source ||
            found.again("copy-source-changed", e.operation, c.operation))
            return;
        Finding f;
        f.kind = "copy-source-changed";
        f.here = {e.operation, e.cta, e.warp, 1u << lane, e.step};
        f.other = site;
        f.space = ptx::Space::global;
        f.address = address;
        f.bytes = bytes;
        f.message =
            "stores to where " + line_of(c.operation) + " copies from, which may still read it";
        f.hint = "cp.async.wait_group or wait_all comes before its source changes";
        found.add(std::move(f));
    });
}

void OfCta::look_for_pending() {
    each_copy([&](const Copy& c, const Site& site) {
        if (found.again("copy-pending", c.operation, std::nullopt)) return;
        Finding f;
        f.kind = "copy-pending";
        f.severity = Severity::note;
        f.here = site;
        f.space = ptx::Space::shared;
        f.address = c.first * word_bytes;
        f.bytes = static_cast<uint32_t>(c.count * word_bytes);
        f.message = "copies what its thread has not waited for when it exits";
        f.hint = "cp.async.wait_all before the end, or no copy of what nobody reads";
        found.add(std::move(f));
    });
}

void OfCta::ended() {
    if (!trapped_) look_for_pending();
    // It may be kept for long, until it is its turn to be taken.
    words_ = std::vector<Word>();
    readers_ = std::vector<Readers>();
    warps_ = std::vector<OfWarp>();
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
    const Reader reader{now_, who(e.operation, e.warp, lane)};
    for (Readers& r :
         std::span(readers_).subspan(address / word_bytes, end - address / word_bytes)) {
        if (r[0].when != 0 && r[0].who.warp != reader.who.warp) r[1] = r[0];
        r[0] = reader;
    }
    const Time met = of_warp(e.warp).met;
    const Time waited = of_warp(e.warp).waited;
    for (uint64_t w = address / word_bytes; w < std::min<uint64_t>(end, words_.size()); ++w) {
        const Word& copy = words_[w];
        if (copy.issued == 0) continue;
        if (copy.done != 0 && (copy.who.warp == e.warp || met > copy.done)) continue;
        // What was there before was its to read, and it has waited for nothing new since.
        const bool replaced = copy.who.warp != e.warp && copy.before != 0 && met > copy.before &&
                              met < copy.issued && waited < met;
        const Early kind = replaced         ? Early::replaced
                           : copy.done == 0 ? Early::flying
                                            : Early::unsynchronised;
        const EarlyRead read{kind,         e.operation, copy.who.operation, e.cta, e.warp,
                             1u << lane,   e.step,      w * word_bytes,     bytes, copy.who.warp,
                             copy.who.lane};
        const auto [at, is_new] = reads.try_emplace({e.operation, copy.who.operation, kind}, read);
        if (is_new) return;
        EarlyRead& first = at->second;
        ++first.count;
        if (first.warp == e.warp && first.step == e.step) first.lanes |= 1u << lane;
        return;
    }
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = e.program->operations[e.operation];
    if (e.access_count != 0 || may_synchronise(o)) ++now_;
    OfWarp& w = of_warp(e.warp);
    if (w.meets) w.met = now_;
    w.meets = may_synchronise(o);
    if (isa::row(o.op).memory == isa::Memory::copy) return;
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        const bool global = a.space == ptx::Space::global && a.store && flying_ != 0;
        if (a.space != ptx::Space::shared && !global) continue;
        // Copies write to the shared memory of their own CTA.
        for (uint32_t rest = a.own(); rest != 0; rest &= rest - 1) {
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
    const std::string copier =
        "warp " + std::to_string(r.copy_warp) + ", lane " + std::to_string(r.copy_lane);
    switch (r.kind) {
        case Early::flying:
            out.kind = "copy-not-awaited";
            out.message = "reads what " + line + " copies, which its thread has not waited for";
            out.hint = "copied by " + copier +
                       ", which has not waited for it: cp.async.wait_group or wait_all comes first";
            break;
        case Early::unsynchronised:
            out.kind = "copy-no-barrier";
            out.message =
                "reads what " + line + " copies, with no barrier since its thread waited for it";
            out.hint = "copied and waited for by " + copier +
                       "; this warp has met no barrier since: bar.sync comes first";
            break;
        case Early::replaced:
            out.kind = "copy-too-early";
            out.message = "reads where " + line + " copies to, with no barrier before the copy";
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
            program.operations.end() ||
        program.operations.size() >> operation_bits != 0)
        return nullptr;
    return std::make_unique<InFlight>(program);
}

}  // namespace lockwarp::check
