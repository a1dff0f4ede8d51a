// SPDX-License-Identifier: Apache-2.0
// Races between CTAs that nothing can order: what each touched, taken together when it has ended.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/check/race_findings.hpp"

namespace lockwarp::check {

class GridRaces {
  public:
    // max_bytes: that it may take.
    GridRaces(const warp::Dim3& grid, uint64_t max_bytes)
        : grid_(grid), max_pages_(max_bytes / sizeof(Page)) {}

    // What a CTA did in global memory. CTAs come in their order.
    void take(uint64_t cta, const Shadow& shadow);
    bool is_full() const { return is_full_; }

    Races races;

  private:
    // Which bytes of a word CTAs have touched, by bits, and one that wrote and one that read.
    struct Cell {
        uint32_t writer = 0, reader = 0;  // into who_; 0: none
        uint32_t value = 0;               // that was written
        uint8_t wrote_weakly = 0, wrote_strongly = 0, read_weakly = 0, read_strongly = 0;
        uint8_t known = 0;  // bytes of `value` of which all that wrote them are known to agree
    };
    struct Page {
        std::array<Cell, Shadow::page_words> cells;
        bool was_read = false;  // all of it, weakly, and nothing else
    };
    static int wrote(const Cell& c) { return c.wrote_weakly | c.wrote_strongly; }
    static int alike(const Cell& a, const Cell& b);  // bytes of which both know the same value
    static void add_values(Cell& cell, const Cell& own);
    // The same of one word by the CTA at hand, with numbers of its shadow.
    Cell cell_of(const Shadow& shadow, const Word& word) const;
    void take_page(uint64_t number, const Shadow& shadow, const Shadow::Page& own, Page& page);
    void meet(uint64_t address, Cell& cell, const Cell& own, const Shadow& shadow);
    uint32_t writer(const Shadow& shadow, uint32_t number);
    uint32_t reader(const Shadow& shadow, uint32_t number);

    warp::Dim3 grid_;
    uint64_t max_pages_;
    bool is_full_ = false;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    std::vector<Accessor> who_{1};
    std::unordered_map<uint32_t, uint32_t> writers_, readers_;  // of the CTA at hand, into who_
};

}  // namespace lockwarp::check
