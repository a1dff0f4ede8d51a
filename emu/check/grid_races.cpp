// SPDX-License-Identifier: Apache-2.0
#include "emu/check/grid_races.hpp"

namespace lockwarp::check {

namespace {

constexpr uint8_t all_bytes = 15;
constexpr unsigned reads = Word::read_weakly | Word::read_strongly;

}  // namespace

GridRaces::Cell GridRaces::cell_of(const Shadow& shadow, const Word& word) const {
    Cell out;
    const auto add = [&](const Word& w, uint8_t bytes) {
        if ((w.flags & Word::wrote_weakly) != 0) out.wrote_weakly |= bytes;
        if ((w.flags & Word::wrote_strongly) != 0) out.wrote_strongly |= bytes;
        if ((w.flags & Word::read_weakly) != 0) out.read_weakly |= bytes;
        if ((w.flags & Word::read_strongly) != 0) out.read_strongly |= bytes;
        if (w.writer != 0) out.writer = w.writer;
        if (w.readers != 0) out.reader = w.readers;
    };
    if ((word.flags & Word::split) == 0) {
        add(word, all_bytes);
        out.value = word.value;
        out.known = (word.flags & Word::has_value) != 0 ? all_bytes : 0;
        return out;
    }
    const std::array<Word, 4>& each = shadow.bytes_of(word);
    for (uint32_t i = 0; i < word_bytes; ++i) {
        Word byte = each[i];
        byte.flags &= ~Word::split;
        add(byte, static_cast<uint8_t>(1u << i));
        out.value |= (byte.value & 0xff) << (8 * i);
        if ((byte.flags & Word::has_value) != 0) out.known |= static_cast<uint8_t>(1u << i);
    }
    return out;
}

uint32_t GridRaces::writer(const Shadow& shadow, uint32_t number) {
    if (number == 0) return 0;
    const auto [at, is_new] = writers_.try_emplace(number, static_cast<uint32_t>(who_.size()));
    if (is_new) who_.push_back(shadow.writer(number));
    return at->second;
}

uint32_t GridRaces::reader(const Shadow& shadow, uint32_t number) {
    if (number == 0) return 0;
    const auto [at, is_new] = readers_.try_emplace(number, static_cast<uint32_t>(who_.size()));
    if (is_new) who_.push_back(shadow.reader(number).who);
    return at->second;
}

int GridRaces::alike(const Cell& a, const Cell& b) {
    int out = a.known & b.known;
    for (uint32_t i = 0; i < word_bytes; ++i)
        if (((a.value ^ b.value) >> (8 * i) & 0xff) != 0) out &= ~(1 << i);
    return out;
}

// What the CTA at hand stored, to bytes that others had stored to and to others.
void GridRaces::add_values(Cell& cell, const Cell& own) {
    const int anew = wrote(own) & ~wrote(cell);
    const int again = wrote(own) & wrote(cell);
    cell.known = static_cast<uint8_t>((cell.known & ~(anew | again)) | (own.known & anew) |
                                      (alike(cell, own) & again));
    for (uint32_t i = 0; i < word_bytes; ++i) {
        if ((anew >> i & 1) == 0) continue;
        const uint32_t bits = 0xffu << (8 * i);
        cell.value = (cell.value & ~bits) | (own.value & bits);
    }
}

void GridRaces::meet(uint64_t address, Cell& cell, const Cell& own, const Shadow& shadow) {
    const auto both = [&](Hazard hazard, int bytes, uint32_t here, uint32_t other, bool same) {
        if (bytes == 0 || here == 0 || other == 0) return;
        const Accessor& a = who_[here];
        const Accessor& b = who_[other];
        const Unordered why = same ? Unordered::same_value : Unordered::ctas;
        if (races.again(hazard, why, a.operation, b.operation)) return;
        Race r;
        r.hazard = hazard;
        r.why = why;
        r.here = {a.operation, cta_id(a.cta, grid_), a.warp, a.lanes, a.step};
        r.other = {b.operation, cta_id(b.cta, grid_), b.warp, b.lanes, b.step};
        r.other_cta = b.cta;
        r.address = address + static_cast<unsigned>(__builtin_ctz(static_cast<unsigned>(bytes)));
        r.bytes = static_cast<uint32_t>(__builtin_popcount(static_cast<unsigned>(bytes)));
        races.add(r);
    };
    const int stores = (own.wrote_weakly & wrote(cell)) | (wrote(own) & cell.wrote_weakly);
    const int over_loads = (own.wrote_weakly & (cell.read_weakly | cell.read_strongly)) |
                           (own.wrote_strongly & cell.read_weakly);
    const int loads = (own.read_weakly & wrote(cell)) | (own.read_strongly & cell.wrote_weakly);
    if ((stores | over_loads | loads) != 0) {
        const uint32_t mine = writer(shadow, own.writer);
        const bool same = (stores & ~alike(own, cell)) == 0;
        both(Hazard::write_after_write, stores, mine, cell.writer, same);
        both(Hazard::write_after_read, over_loads, mine, cell.reader, false);
        both(Hazard::read_after_write, loads, reader(shadow, own.reader), cell.writer, false);
    }
}

void GridRaces::take_page(uint64_t number, const Shadow& shadow, const Shadow::Page& own_page,
                          Page& page) {
    // As a rule CTAs read what no CTA writes.
    bool some_else = false, all_read = true;
    for (const Word& word : own_page) {
        some_else |= (word.flags & ~unsigned{Word::read_weakly}) != 0;
        all_read &= word.flags != 0;
    }
    if (page.was_read && !some_else) return;
    bool was_written = false;
    for (uint64_t i = 0; i < Shadow::page_words; ++i) {
        const Word& word = own_page[i];
        if (word.flags == 0) continue;
        Cell& cell = page.cells[i];
        if ((word.flags & ~reads) == 0 && !wrote(cell)) {
            if (cell.reader == 0) cell.reader = reader(shadow, word.readers);
            if ((word.flags & Word::read_weakly) != 0) cell.read_weakly = all_bytes;
            if ((word.flags & Word::read_strongly) != 0) cell.read_strongly = all_bytes;
            continue;
        }
        was_written |= wrote(cell) != 0;
        const Cell own = cell_of(shadow, word);
        meet((number * Shadow::page_words + i) * word_bytes, cell, own, shadow);
        if (own.writer != 0) {
            if (cell.writer == 0) cell.writer = writer(shadow, own.writer);
            add_values(cell, own);
        }
        if (cell.reader == 0) cell.reader = reader(shadow, own.reader);
        cell.wrote_weakly |= own.wrote_weakly;
        cell.wrote_strongly |= own.wrote_strongly;
        cell.read_weakly |= own.read_weakly;
        cell.read_strongly |= own.read_strongly;
    }
    page.was_read = all_read && !some_else && !was_written;
}

void GridRaces::take(uint64_t, const Shadow& shadow) {
    writers_.clear();
    readers_.clear();
    for (const auto& [number, page] : shadow.pages()) {
        auto at = pages_.find(number);
        if (at == pages_.end()) {
            if (pages_.size() == max_pages_) {
                is_full_ = true;
                continue;
            }
            at = pages_.emplace(number, std::make_unique<Page>()).first;
        }
        take_page(number, shadow, *page, *at->second);
    }
}

}  // namespace lockwarp::check
