// SPDX-License-Identifier: Apache-2.0
// What stands before a pipe, and when the pipe is taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockwarp::timing {

// A queue of accesses before a pipe: the cycles at which the last ones began.
struct Queue {
    std::array<uint64_t, 16> begun{};
    size_t count = 0;
    // The cycle from which one more may be put in, with room for `places`.
    uint64_t free_at(unsigned places) const {
        return count < places ? 0 : begun[(count - places) % begun.size()];
    }
    void put(uint64_t begin) { begun[count++ % begun.size()] = begin; }
};

// When a pipe is taken, in hundredths: what comes later may use what is left free between.
class Calendar {
  public:
    // Takes `length` from `from` on, in pieces if need be; gives the end of the last.
    uint64_t take(uint64_t from, uint64_t length) {
        size_t i = 0;
        while (i < taken_.size() && taken_[i].second <= from) ++i;
        while (true) {
            const uint64_t until = i < taken_.size() ? taken_[i].first : UINT64_MAX;
            if (until > from) {
                const uint64_t piece = std::min(length, until - from);
                insert(i, from, from + piece);
                length -= piece;
                from += piece;
                if (length == 0) return from;
                i = 0;
                while (i < taken_.size() && taken_[i].second <= from) ++i;
                continue;
            }
            from = taken_[i++].second;
        }
    }
    void forget(uint64_t before) {
        size_t n = 0;
        while (n < taken_.size() && taken_[n].second < before) ++n;
        taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(n));
    }

  private:
    void insert(size_t at, uint64_t begin, uint64_t end) {
        const bool joins = at > 0 && taken_[at - 1].second == begin;
        if (joins) {
            taken_[at - 1].second = end;
            if (at < taken_.size() && taken_[at].first == end) {
                taken_[at - 1].second = taken_[at].second;
                taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(at));
            }
            return;
        }
        if (at < taken_.size() && taken_[at].first == end) {
            taken_[at].first = begin;
            return;
        }
        taken_.insert(taken_.begin() + static_cast<std::ptrdiff_t>(at), {begin, end});
    }
    std::vector<std::pair<uint64_t, uint64_t>> taken_;
};

}  // namespace lockwarp::timing
