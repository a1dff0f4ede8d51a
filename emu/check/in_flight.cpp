#include "emu/check/in_flight.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace lockwarp::check {

namespace {

using isa::Op;

constexpr uint64_t word_bytes = 4;  // the least that cp.async copies

// What orders the reads of a warp behind other warps' waits: barriers, and what may stand for one.
bool synchronises(const isa::Operation& o) {
    switch (o.op) {
        case Op::bar:
        case Op::bar_red:
        case Op::mbarrier_wait:
        case Op::atom:
        case Op::fence:
            return true;
        default:
            return false;
    }
}

}  // namespace

struct InFlight::Cta {
    // What a cp.async brought to a word of shared memory.
    struct Word {
        uint32_t operation = 0, warp = 0, lane = 0;
        uint64_t issued = 0;  // 0: no copy brought it
        uint64_t done = 0;    // when the thread that copied had waited; 0: it has not
    };
    struct Copy {
        uint64_t first, count;  // words
        uint64_t issued;
    };
    struct Thread {
        std::vector<Copy> open;                // of no group yet
        std::deque<std::vector<Copy>> groups;  // not waited for, the oldest first
    };
    std::vector<Word> words;
    std::map<uint32_t, std::array<Thread, 32>> threads;
    // When a warp last went on behind a barrier: an instruction of a barrier is heard of when the
    // warp arrives, and the one after it when the others have come.
    struct Met {
        bool arrived = false;
        uint64_t since = 0;
    };
    std::map<uint32_t, Met> met;
    uint64_t now = 1;

    void finish(std::vector<Copy>& list) {
        for (const Copy& c : list)
            for (uint64_t w = c.first; w < c.first + c.count; ++w)
                if (words[w].issued == c.issued) words[w].done = now;
        list.clear();
    }

    void copy(const warp::Retired& e) {
        if (e.access_count == 0) return;
        const warp::Access& to = e.accesses[e.access_count - 1];
        if (!to.store || to.space != ptx::Space::shared) return;
        for (uint32_t rest = to.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            const uint64_t first = to.address[lane] / word_bytes;
            const uint64_t count = to.bytes / word_bytes;
            if (first + count > words.size()) words.resize(first + count);
            for (uint64_t w = first; w < first + count; ++w)
                words[w] = {e.operation, e.warp, lane, now, 0};
            threads[e.warp][lane].open.push_back({first, count, now});
        }
    }

    void stored(uint64_t address, uint32_t bytes) {
        const uint64_t end = (address + bytes + word_bytes - 1) / word_bytes;
        for (uint64_t w = address / word_bytes; w < std::min<uint64_t>(end, words.size()); ++w)
            words[w] = {};
    }

    void commit(const warp::Retired& e) {
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            Thread& t = threads[e.warp][static_cast<unsigned>(__builtin_ctz(rest))];
            t.groups.push_back(std::move(t.open));
            t.open.clear();
        }
    }

    // All groups but the youngest `left`; with `open` the copies of no group as well.
    void wait(const warp::Retired& e, uint64_t left, bool open) {
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            Thread& t = threads[e.warp][static_cast<unsigned>(__builtin_ctz(rest))];
            for (; t.groups.size() > left; t.groups.pop_front()) finish(t.groups.front());
            if (open) finish(t.open);
        }
    }
};

InFlight::InFlight() = default;
InFlight::~InFlight() = default;

void InFlight::retired(const warp::Retired& e) {
    const isa::Operation& o = e.program->operations[e.operation];
    Cta* cta = nullptr;
    {
        const std::lock_guard lock(guard);
        std::unique_ptr<Cta>& at = running[e.cta_index];
        // A CTA that copies nothing has nothing to look after.
        if (at == nullptr && o.op != Op::cp_async) {
            running.erase(e.cta_index);
            return;
        }
        if (at == nullptr) at = std::make_unique<Cta>();
        cta = at.get();
    }
    ++cta->now;
    Cta::Met& met = cta->met[e.warp];
    if (met.arrived) met.since = cta->now;
    met.arrived = synchronises(o);
    switch (o.op) {
        case Op::cp_async:
            cta->copy(e);
            return;
        case Op::cp_async_commit:
            cta->commit(e);
            return;
        case Op::cp_async_wait:
            cta->wait(e, o.immediate, false);
            return;
        case Op::cp_async_wait_all:
        case Op::mbarrier_copies:  // the copies arrive at the barrier that readers wait for
            cta->wait(e, 0, true);
            return;
        default:
            break;
    }
    for (uint32_t n = 0; n < e.access_count; ++n) {
        const warp::Access& a = e.accesses[n];
        if (a.space != ptx::Space::shared) continue;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            if (a.store) {
                cta->stored(a.address[lane], a.bytes);
                continue;
            }
            const uint64_t end = (a.address[lane] + a.bytes + word_bytes - 1) / word_bytes;
            for (uint64_t w = a.address[lane] / word_bytes;
                 w < std::min<uint64_t>(end, cta->words.size()); ++w) {
                const Cta::Word& copy = cta->words[w];
                if (copy.issued == 0) continue;
                const bool late = copy.done != 0 && (copy.warp == e.warp || met.since > copy.done);
                if (late) continue;
                const Early kind = copy.done == 0 ? Early::flying : Early::unsynchronised;
                const EarlyRead read{kind,           e.operation, copy.operation, e.cta,
                                     e.cta_index,    e.warp,      lane,           e.step,
                                     w * word_bytes, copy.warp,   copy.lane};
                const std::lock_guard lock(guard);
                const auto [at, is_new] =
                    reads.try_emplace({e.operation, copy.operation, kind}, read);
                if (is_new) break;
                const uint64_t count = at->second.count + 1;
                if (read.cta_index < at->second.cta_index) at->second = read;
                at->second.count = count;
                break;
            }
        }
    }
}

void InFlight::cta_ended(uint64_t cta_index) {
    const std::lock_guard lock(guard);
    running.erase(cta_index);
}

std::vector<EarlyRead> InFlight::found() const {
    std::vector<EarlyRead> out;
    for (const auto& [key, read] : reads) out.push_back(read);
    return out;
}

}  // namespace lockwarp::check
