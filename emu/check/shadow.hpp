// SPDX-License-Identifier: Apache-2.0
// Who wrote and who read each byte of a memory last.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/check/clocks.hpp"

namespace lockwarp::check {

// Accesses by one instruction of one warp at one time (clocks.hpp).
struct Accessor {
    uint64_t cta = 0;  // its index
    uint32_t time = 0;
    uint32_t operation = 0;
    uint32_t warp = 0;
    uint32_t lanes = 0;  // of all of them
    uint64_t step = 0;   // of the first
    bool strong = false;
    Reach reach = Reach::grid;
    // A cp.async that nobody has waited for. Its time is when that was done.
    bool pending = false;
    uint32_t group = 0;  // of the copies
    // A copy that an mbarrier counts: its own warp must wait for it as any other.
    bool counted = false;

    bool operator==(const Accessor&) const = default;
};

inline constexpr uint8_t many_lanes = 255;

// Four bytes of memory, or one of them. Writers and readers are numbers that Shadow gives; 0: none.
struct Word {
    enum Flag : uint8_t {
        has_value = 1,
        split = 2,  // the bytes differ: `writer` is the number of their four
        wrote_weakly = 4,
        wrote_strongly = 8,
        read_weakly = 16,
        read_strongly = 32,
        over_weak = 64,  // a strong write came over a weaker one: weak_under
    };
    uint32_t writer = 0;
    uint32_t readers = 0;  // since that write
    uint32_t value = 0;    // that was written, where has_value
    uint8_t writer_lane = 0;
    uint8_t reader_lane = 0;  // many_lanes: several
    uint8_t flags = 0;
};
static_assert(sizeof(Word) == 16);

inline constexpr uint64_t word_bytes = 4;

class Shadow {
  public:
    static constexpr uint64_t page_words = 128;
    using Page = std::array<Word, page_words>;

    // max_bytes: that the pages may take.
    explicit Shadow(uint64_t max_bytes) : max_pages_(max_bytes / sizeof(Page)) {}

    // The word that holds the address; nullptr: there is no room for it. Good until the next call
    // of bytes_of.
    Word* at(uint64_t address) {
        const uint64_t word = address / word_bytes;
        const uint64_t number = word / page_words;
        const Recent& recent = recent_[number % recent_.size()];
        Page* const page = recent.number == number ? recent.page : find(number);
        return page == nullptr ? nullptr : &(*page)[word % page_words];
    }
    // The four bytes of the word at an address, apart from now on.
    std::array<Word, 4>& bytes_of(Word& w, uint64_t address);
    const std::array<Word, 4>& bytes_of(const Word& w) const { return split_[w.writer]; }
    // All bytes are about to be written: they need not be apart any more. Of the weak writes that
    // are under them one is kept.
    void join(Word& w, uint64_t address);

    // The weaker write that strong ones came over: who did it, and the lane.
    struct Under {
        uint32_t writer = 0;
        uint8_t lane = 0;
    };
    Under& weak_under(uint64_t address) { return under_[address]; }

    uint32_t add_writer(const Accessor& a);
    Accessor& writer(uint32_t number) { return writers_[number]; }
    const Accessor& writer(uint32_t number) const { return writers_[number]; }

    // A set of readers is a chain of them.
    struct Reader {
        Accessor who;
        uint32_t next = 0;
        uint64_t last_cta = 0;  // the largest index of the chain's CTAs, from here on
    };
    const Reader& reader(uint32_t number) const { return readers_[number]; }
    // A chain of `who` in front of another, made once.
    uint32_t chain(const Accessor& who, uint32_t next);

    bool is_full() const { return is_full_; }
    const auto& pages() const { return pages_; }

  private:
    // Makes it where there is none.
    Page* find(uint64_t number);

    uint64_t max_pages_;
    bool is_full_ = false;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // by address / bytes of a page
    // Pages that were asked for last: lanes of a warp take turns in several.
    struct Recent {
        uint64_t number = UINT64_MAX;
        Page* page = nullptr;
    };
    std::array<Recent, 64> recent_{};
    std::vector<std::array<Word, 4>> split_{1};
    std::vector<uint32_t> free_splits_;
    std::unordered_map<uint64_t, Under> under_;
    std::vector<Accessor> writers_{1};
    std::vector<Reader> readers_{1};
    struct Key {
        uint64_t cta;
        uint32_t time, operation, warp, next;
        bool strong;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& k) const;
    };
    std::unordered_map<Key, uint32_t, Hash> chains_;
};

}  // namespace lockwarp::check
