// SPDX-License-Identifier: Apache-2.0
// The parts that checks keep what they know in, each beside a plain model of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "emu/check/clocks.hpp"
#include "emu/check/definedness.hpp"
#include "emu/check/finding.hpp"
#include "emu/check/objects.hpp"
#include "emu/check/shadow.hpp"
#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"

namespace lockwarp::check {
namespace {

using ptx::Space;

TEST(CheckParts, BytesOfMemoryThatAreDefined) {
    std::mt19937_64 random(7);
    const auto below = [&](uint64_t n) { return random() % n; };
    constexpr uint64_t begin = 1000, size = 50;
    for (int round = 0; round < 40; ++round) {
        const bool defined = round % 2 == 0;
        Defined d(begin, size, defined);
        std::vector<bool> undefined(size, !defined);
        std::map<uint64_t, uint32_t> origins;  // by word
        for (int step = 0; step < 200; ++step) {
            const uint64_t at = begin - 8 + below(size + 16);
            const auto bytes = static_cast<uint32_t>(1 + below(8));
            const uint32_t bits = below(3) == 0 ? 0 : static_cast<uint32_t>(below(256));
            const auto each = [&](uint32_t n, auto f) {
                for (uint32_t i = 0; i < n; ++i)
                    if (at + i >= begin && at + i < begin + size) f(at + i - begin, i);
            };
            switch (below(4)) {
                case 0:
                    d.forget(at, bytes);
                    each(bytes, [&](uint64_t i, uint32_t) { undefined[i] = true; });
                    break;
                case 1:
                    d.set_origin(at, bytes, bits);
                    for (uint64_t b = at; b < at + bytes; ++b) origins[b / 4] = bits;
                    break;
                default:
                    d.set(at, bytes, bits);
                    each(bytes, [&](uint64_t i, uint32_t n) { undefined[i] = bits >> n & 1; });
            }
            EXPECT_EQ(d.any(), std::ranges::count(undefined, true) != 0);
            uint32_t got = 0;
            each(32, [&](uint64_t i, uint32_t n) { got |= uint32_t{undefined[i]} << n; });
            ASSERT_EQ(d.get(at, 32), got);
            ASSERT_EQ(d.get(at, 4), got & 15);
            EXPECT_EQ(d.origin(at), origins.contains(at / 4) ? origins[at / 4] : 0);
            std::vector<bool> ranges(size, false);
            uint64_t last = 0;
            for (const Range& r : d.undefined()) {
                ASSERT_GE(r.address, begin);
                ASSERT_LE(r.address + r.bytes, begin + size);
                EXPECT_GT(r.bytes, 0u);
                EXPECT_GT(r.address, last);  // as long as they can be, in order
                last = r.address + r.bytes;
                for (uint64_t i = r.address; i < last; ++i) ranges[i - begin] = true;
            }
            ASSERT_EQ(ranges, undefined);
        }
        for (const uint64_t at : {begin - 1, begin, begin + size - 1, begin + size})
            EXPECT_EQ(d.has(at), at >= begin && at < begin + size);
    }
}

TEST(CheckParts, DifferencesInMemory) {
    std::mt19937_64 random(9);
    const auto below = [&](uint64_t n) { return random() % n; };
    for (int round = 0; round < 30; ++round) {
        MemoryDifferences d;
        MadeUp made_up;
        std::map<uint64_t, std::pair<uint32_t, uint64_t>> known;  // by address: bytes, difference
        std::set<uint64_t> seen;
        for (int step = 0; step < 300; ++step) {
            const uint64_t at = below(40);
            const uint32_t bytes = below(2) == 0 ? 4 : 8;
            switch (below(3)) {
                case 0: {
                    const uint64_t value = below(5);
                    d.set(at, bytes, value);
                    known[at] = {bytes, value};
                    break;
                }
                case 1: {
                    const auto n = static_cast<uint32_t>(1 + below(9));
                    d.forget(at, n);
                    std::erase_if(known, [&](const auto& w) {
                        return w.first < at + n && at < w.first + w.second.first;
                    });
                    break;
                }
                default: {
                    const uint64_t got = d.get(at, bytes, made_up);
                    const auto found = known.find(at);
                    if (found != known.end() && found->second.first == bytes) {
                        ASSERT_EQ(got, found->second.second);
                    } else {
                        // Made up, and another one each time.
                        EXPECT_NE(got, 0u);
                        EXPECT_TRUE(seen.insert(got).second);
                        known[at] = {bytes, got};
                    }
                }
            }
        }
    }
}

// splitmix64 of seed 0, as it is published.
TEST(CheckParts, NumbersThatAreMadeUp) {
    MadeUp made_up;
    EXPECT_EQ(made_up.next(), 0xe220a8397b1dcdafu);
    EXPECT_EQ(made_up.next(), 0x6e789e6aa1b965f4u);
    EXPECT_EQ(made_up.next(), 0x06c45d188009454fu);
}

TEST(CheckParts, DifferencesInRegisters) {
    MadeUp made_up;
    RegisterDifferences d;
    d.forget(1, 7);
    const uint64_t first = d.get(3, 0, made_up), other_lane = d.get(3, 31, made_up),
                   other = d.get(4, 0, made_up);
    EXPECT_NE(first, other_lane);
    EXPECT_NE(first, other);
    EXPECT_EQ(d.get(3, 0, made_up), first);
    EXPECT_EQ(d.get(3, 31, made_up), other_lane);
    d.set(3, 5, 17);
    EXPECT_EQ(d.get(3, 5, made_up), 17u);
    d.forget(3, 1u << 31);
    EXPECT_EQ(d.get(3, 0, made_up), first);
    EXPECT_EQ(d.get(3, 5, made_up), 17u);
    EXPECT_NE(d.get(3, 31, made_up), other_lane);
    EXPECT_EQ(d.get(4, 0, made_up), other);
    d.set(3, 31, 0);
    EXPECT_EQ(d.get(3, 31, made_up), 0u);
}

isa::Program program_of(const std::string& variables, const std::string& body) {
    const ptx::Parsed parsed =
        ptx::parse(".version 8.3\n.target sm_90\n.address_size 64\n" + variables +
                   ".visible .entry k(.param .u64 out)\n{\n" + body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
    return std::move(resolved.program);
}

TEST(CheckParts, RegistersOfAWarp) {
    const isa::Program program = program_of(
        "",
        ".reg .pred %p; .reg .b16 %h; .reg .b32 %r; .reg .b64 %d; .reg .b128 %q; .reg .f32 %f;\n"
        "setp.eq.u32 %p, 1, 2;\nmov.b16 %h, 1;\nmov.u32 %r, 2;\nmov.u64 %d, 3;\n"
        "mov.b128 %q, {%d, %d};\nadd.f32 %f, %f, %f;\n");
    const Registers all(program);
    ASSERT_EQ(all.size(), program.registers.size());
    const std::map<std::string, uint32_t> bytes{{"%p", 1}, {"%h", 2}, {"%r", 4},
                                                {"%d", 8}, {"%q", 8}, {"%f", 4}};
    WarpRegisters w;
    w.begin(all);
    for (uint32_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all.bytes(i), bytes.at(program.registers[i].name));
        EXPECT_EQ(all.at(program.registers[i].ref), i);
        EXPECT_EQ(w.any[i], UINT32_MAX);
        EXPECT_EQ(w.origin[i], 0u);
        for (uint32_t b = 0; b < 8; ++b) EXPECT_EQ(w.get(i)[b], b < all.bytes(i) ? UINT32_MAX : 0);
    }
    EXPECT_EQ(all.at(isa::scratch_register), no_register);
    EXPECT_EQ(all.at(isa::no_ref), no_register);
    for (size_t i = 0; i < program.pool.size(); ++i)
        EXPECT_EQ(all.in_pool(static_cast<uint32_t>(i)), all.at(program.pool[i]));
    EXPECT_EQ(w.get(no_register), LanesByByte{});
    w.define(no_register, UINT32_MAX);
    w.set(no_register, 4, {}, UINT32_MAX, 3);
    // Against a model of each byte of each lane, of one register of four bytes.
    uint32_t reg = 0;
    while (program.registers[reg].name != "%r") ++reg;
    std::mt19937 random(3);
    LanesByByte model{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    uint32_t origin = 0;
    for (uint32_t step = 1; step < 300; ++step) {
        const auto lanes = static_cast<uint32_t>(random() & random());
        if (step % 3 == 0) {
            w.define(reg, lanes);
            for (uint32_t& b : model) b &= ~lanes;
        } else {
            LanesByByte to{};
            for (uint32_t b = 0; b < 4; ++b) to[b] = static_cast<uint32_t>(random() & random());
            const auto n = 1 + static_cast<uint32_t>(random() % 4);
            // Of a narrow write the bytes above it were defined before.
            if (n < 4) {
                w.define(reg, UINT32_MAX);
                model = {};
            }
            w.set(reg, n, to, lanes, step);
            bool any = false;
            for (uint32_t b = 0; b < n; ++b) {
                model[b] = (model[b] & ~lanes) | (to[b] & lanes);
                any = any || (to[b] & lanes) != 0;
            }
            if (any) origin = step;
        }
        ASSERT_EQ(w.get(reg), model) << step;
        ASSERT_EQ(w.any[reg], model[0] | model[1] | model[2] | model[3]) << step;
        ASSERT_EQ(w.origin[reg], origin) << step;
    }
}

TEST(CheckParts, WhereUndefinedValuesComeFrom) {
    Origins o;
    const uint32_t first = o.add({Origin::of_register, 3, 0, no_operation, no_operation});
    EXPECT_EQ(first, 1u);
    EXPECT_EQ(o.add({Origin::of_register, 3, 99, 7, no_operation}), first);
    const uint32_t second = o.add({Origin::of_register, 4, 0, no_operation, no_operation});
    EXPECT_EQ(second, 2u);
    // Of memory one for each load.
    const uint32_t loaded = o.add({Origin::of_shared, no_register, 64, 5, no_operation});
    EXPECT_EQ(o.add({Origin::of_shared, no_register, 68, 5, no_operation}), loaded);
    EXPECT_NE(o.add({Origin::of_shared, no_register, 64, 6, no_operation}), loaded);
    EXPECT_NE(o.add({Origin::of_local, no_register, 64, 5, no_operation}), loaded);
    EXPECT_EQ(o.at(loaded).address, 64u);
    // The first that computed with it stays.
    const uint32_t worked = o.worked(first, 11);
    EXPECT_NE(worked, first);
    EXPECT_EQ(o.at(worked).worked, 11u);
    EXPECT_EQ(o.at(worked).reg, 3u);
    EXPECT_EQ(o.worked(first, 11), worked);
    EXPECT_EQ(o.worked(worked, 12), worked);
    EXPECT_NE(o.worked(first, 12), worked);
    EXPECT_EQ(o.worked(0, 12), 0u);
}

TEST(CheckParts, ElementsOfAShape) {
    const Shape line{0, 4, {10}, 10};
    EXPECT_EQ(line.rows(), 1u);
    EXPECT_FALSE(line.has_rows());
    EXPECT_EQ(line.element(0), "[0]");
    EXPECT_EQ(line.element(39), "[9] byte 3");
    EXPECT_EQ(line.element(40), "");
    const Shape rows{0, 2, {3, 5}, 8};
    EXPECT_EQ(rows.rows(), 3u);
    EXPECT_TRUE(rows.has_rows());
    EXPECT_EQ(rows.row_bytes(), 10u);
    EXPECT_EQ(rows.stride_bytes(), 16u);
    EXPECT_EQ(rows.element(0), "[0][0]");
    EXPECT_EQ(rows.element(9), "[0][4] byte 1");
    EXPECT_EQ(rows.element(10), "[0][5]");  // between two rows
    EXPECT_EQ(rows.element(14), "[0][7]");
    EXPECT_EQ(rows.element(16), "[1][0]");
    EXPECT_EQ(rows.element(47), "[2][7] byte 1");
    EXPECT_EQ(rows.element(48), "");
    const Shape planes{0, 1, {2, 3, 4, 5}, 6};
    EXPECT_EQ(planes.rows(), 24u);
    for (uint64_t at = 0; at < 24 * 6; ++at) {
        const uint64_t row = at / 6;
        EXPECT_EQ(planes.element(at),
                  "[" + std::to_string(row / 12) + "][" + std::to_string(row / 4 % 3) + "][" +
                      std::to_string(row % 4) + "][" + std::to_string(at % 6) + "]");
    }
    EXPECT_EQ(planes.element(24 * 6), "");
}

TEST(CheckParts, ObjectsAtAddresses) {
    const isa::Program program = program_of(
        ".global .align 8 .b8 counters[16];\n.const .align 4 .b32 fixed = 3;\n"
        ".shared .align 16 .b8 tile[64];\n.extern .shared .align 16 .b8 rest[];\n",
        ".local .align 8 .b8 own[24]; .reg .b64 %d; .reg .b32 %r;\n"
        "mov.u64 %d, counters; mov.u64 %d, tile; mov.u64 %d, rest; mov.u64 %d, own;\n"
        "ld.const.u32 %r, [fixed];");
    std::vector<uint8_t> a(100), b(50);
    warp::Launch launch;
    launch.dynamic_shared = 32;
    launch.buffers = {{"B", 0x20000, b}, {"A", 0x10000, a}};
    const Objects objects(program, launch, {{0x10010, 4, {2, 5}, 8}});
    const auto said = [&](Space space, uint64_t address) {
        const Object o = objects.at(space, address);
        if (o.name.empty()) return std::string("none");
        EXPECT_EQ(o.space, space);
        EXPECT_EQ(address, o.begin + o.offset);
        return o.name + "+" + std::to_string(o.offset) + (o.element.empty() ? "" : " " + o.element);
    };
    EXPECT_EQ(said(Space::global, 0xffff), "none");
    EXPECT_EQ(said(Space::global, 0x10000), "A+0");
    EXPECT_EQ(said(Space::global, 0x1000f), "A+15");
    EXPECT_EQ(said(Space::global, 0x10010), "A+16 A[0][0]");
    EXPECT_EQ(said(Space::global, 0x10010 + 40), "A+56 A[1][2]");
    EXPECT_EQ(said(Space::global, 0x10010 + 64), "A+80");  // behind its rows
    EXPECT_EQ(said(Space::global, 0x10063), "A+99");
    EXPECT_EQ(said(Space::global, 0x10064), "none");
    EXPECT_EQ(said(Space::global, 0x20031), "B+49");
    EXPECT_EQ(said(Space::global, 0x20032), "none");
    EXPECT_EQ(said(Space::global, isa::module_global_base), "counters+0");
    EXPECT_EQ(said(Space::global, isa::module_global_base + 15), "counters+15");
    EXPECT_EQ(said(Space::global, isa::module_global_base + 16), "none");
    const uint64_t shared = program.shared_begin;
    EXPECT_EQ(said(Space::shared, shared - 1), "none");
    EXPECT_EQ(said(Space::shared, shared), "tile+0");
    EXPECT_EQ(said(Space::shared, shared + 63), "tile+63");
    EXPECT_EQ(said(Space::shared, shared + 64), "rest+0");
    EXPECT_EQ(said(Space::shared, shared + 95), "rest+31");
    EXPECT_EQ(said(Space::shared, shared + 96), "none");
    EXPECT_EQ(said(Space::const_, 0x10000), "none");
    EXPECT_EQ(said(Space::local, 23), "own+23");
    EXPECT_EQ(said(Space::local, 24), "none");
    std::string names;
    for (const Object& o : objects.of(Space::global)) names += o.name + " ";
    EXPECT_EQ(names, "A B counters ");
    names.clear();
    for (const Object& o : objects.of(Space::shared)) names += o.name + " ";
    EXPECT_EQ(names, "tile rest ");
    // Without a variable of its own dynamic shared memory has no name.
    const isa::Program plain = program_of("", "");
    EXPECT_EQ(Objects(plain, launch).at(Space::shared, plain.shared_begin).name,
              "dynamic shared memory");
}

TEST(CheckParts, FindingsThatAreOne) {
    const auto finding = [](uint32_t here, std::optional<uint32_t> other, uint64_t count,
                            const char* message) {
        Finding f;
        f.kind = "kind";
        f.here.operation = here;
        if (other) f.other.emplace().operation = *other;
        f.count = count;
        f.message = message;
        return f;
    };
    Collection a, b;
    EXPECT_TRUE(a.empty());
    EXPECT_FALSE(a.again("kind", 5, 3));
    a.add(finding(5, 3, 1, "first"));
    EXPECT_FALSE(a.empty());
    EXPECT_TRUE(a.again("kind", 5, 3));
    EXPECT_TRUE(a.again("kind", 5, 3, 10));
    EXPECT_FALSE(a.again("other", 5, 3));
    EXPECT_FALSE(a.again("kind", 5, std::nullopt));
    EXPECT_FALSE(a.again("kind", 6, 3));
    a.add(finding(5, 3, 100, "again"));
    a.add(finding(2, std::nullopt, 1, "without"));
    b.add(finding(5, 3, 1000, "later"));
    b.add(finding(9, 1, 4, "last"));
    a.take(b);
    std::string all;
    for (const Finding& f : a.list()) all += f.message + " " + std::to_string(f.count) + "\n";
    EXPECT_EQ(all, "without 1\nfirst 1112\nlast 4\n");
}

// Of single lanes of single warps: up to when their accesses came before.
bool comes_before(const Times& t, uint32_t warp, uint32_t time, uint32_t lane) {
    const auto at = std::ranges::find(t.partly, warp, &Times::Partly::warp);
    if (at == t.partly.end()) return time <= t.last[warp];
    return time <= at->whole || (time <= t.last[warp] && (at->lanes >> lane & 1) != 0);
}

TEST(CheckParts, TimesUpToWhichAccessesCameBefore) {
    std::mt19937 random(11);
    constexpr std::array<uint32_t, 4> lanes{0x1, 0x3, 0x80000000, 0x80000001};
    constexpr uint32_t warps = 3, times = 5;
    const auto any = [&] {
        Times t;
        for (uint32_t w = 0; w < warps; ++w) {
            t.last[w] = static_cast<uint32_t>(random() % times);
            if (t.last[w] != 0 && random() % 2 == 0)
                t.partly.push_back({w, static_cast<uint32_t>(random() % t.last[w]),
                                    lanes[random() % lanes.size()]});
        }
        return t;
    };
    size_t less = 0, more = 0;
    for (int round = 0; round < 4000; ++round) {
        const Times a = any(), b = any();
        bool is_at_most = true;
        Times both = a;
        both.raise(b);
        for (uint32_t w = 0; w < warps; ++w) {
            EXPECT_EQ(both.last[w], std::max(a.last[w], b.last[w]));
            const Times::Partly of = both.of(w);
            EXPECT_EQ(of.whole, std::max(a.of(w).whole, b.of(w).whole));
            for (uint32_t lane = 0; lane < 32; ++lane) {
                bool beyond = false;  // behind what comes before in whole
                for (uint32_t time = 0; time <= times; ++time) {
                    const bool in_a = comes_before(a, w, time, lane),
                               in_b = comes_before(b, w, time, lane);
                    is_at_most = is_at_most && (!in_a || in_b);
                    beyond = beyond || (time > of.whole && (in_a || in_b));
                }
                for (uint32_t time = 0; time <= times; ++time)
                    EXPECT_EQ(comes_before(both, w, time, lane),
                              time <= of.whole || (beyond && time <= both.last[w]));
            }
        }
        ASSERT_EQ(a.is_at_most(b), is_at_most) << round;
        EXPECT_TRUE(a.is_at_most(both));
        EXPECT_TRUE(b.is_at_most(both));
        (is_at_most ? less : more) += 1;
    }
    EXPECT_GT(less, 100u);
    EXPECT_GT(more, 100u);
}

TEST(CheckParts, WordsOfAShadow) {
    Shadow shadow(2 * sizeof(Shadow::Page));
    Word* const word = shadow.at(1000);
    ASSERT_NE(word, nullptr);
    EXPECT_EQ(shadow.at(1003), word);
    EXPECT_EQ(shadow.at(1004), word + 1);
    EXPECT_EQ(shadow.at(996), word - 1);
    EXPECT_FALSE(shadow.is_full());
    // A page has 128 words: the second, and a third for which there is no room.
    EXPECT_NE(shadow.at(1024), nullptr);
    EXPECT_EQ(shadow.pages().size(), 2u);
    EXPECT_EQ(shadow.at(1024 + 512), nullptr);
    EXPECT_TRUE(shadow.is_full());
    EXPECT_EQ(shadow.at(1000), word);
    // What was known of four bytes is known of each.
    word->writer = 7;
    word->readers = 9;
    word->value = 0x44332211;
    word->writer_lane = 3;
    word->flags = Word::has_value | Word::wrote_weakly;
    std::array<Word, 4>& bytes = shadow.bytes_of(*word, 1000);
    EXPECT_NE(word->flags & Word::split, 0);
    for (uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(bytes[i].writer, 7u);
        EXPECT_EQ(bytes[i].readers, 9u);
        EXPECT_EQ(bytes[i].value, 0x11u * (i + 1));
        EXPECT_EQ(bytes[i].writer_lane, 3);
        EXPECT_EQ(bytes[i].flags, Word::has_value | Word::wrote_weakly);
    }
    EXPECT_EQ(&shadow.bytes_of(*word, 1000), &bytes);
    const uint32_t place = word->writer;
    bytes[2].flags |= Word::read_strongly;
    shadow.join(*word, 1000);
    EXPECT_EQ(word->flags, Word::wrote_weakly | Word::read_strongly);
    EXPECT_EQ(word->writer, 0u);
    EXPECT_EQ(word->readers, 0u);
    EXPECT_EQ(word->value, 0u);
    shadow.join(*word, 1000);
    EXPECT_EQ(word->flags, Word::wrote_weakly | Word::read_strongly);
    // The place of one that was joined serves another.
    Word* const other = shadow.at(1024);
    shadow.bytes_of(*other, 1024);
    EXPECT_EQ(other->writer, place);
    shadow.bytes_of(*word, 1000);
    EXPECT_NE(word->writer, place);
}

// What lies under a strong write lies under each of its bytes, and of several under the whole.
TEST(CheckParts, WeakWritesUnderAStrongOne) {
    Shadow shadow(1 << 20);
    Word* const word = shadow.at(1000);
    const auto under = [&](uint64_t address) { return int{shadow.weak_under(address).lane}; };
    shadow.weak_under(1000) = {5, 7};
    word->flags = Word::over_weak | Word::wrote_strongly;
    std::array<Word, 4>& bytes = shadow.bytes_of(*word, 1000);
    for (uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(under(1000 + i), 7);
        EXPECT_EQ(shadow.weak_under(1000 + i).writer, 5u);
        EXPECT_EQ(bytes[i].flags, Word::over_weak | Word::wrote_strongly);
    }
    // It stays under bytes 1 and 3, each by itself.
    bytes[0].flags = bytes[2].flags = Word::wrote_weakly;
    shadow.weak_under(1001) = {6, 11};
    shadow.weak_under(1003) = {8, 13};
    EXPECT_EQ(under(1002), 7);
    shadow.join(*word, 1000);
    EXPECT_NE(word->flags & Word::over_weak, 0);
    EXPECT_EQ(under(1000), 11);
    // Of a word that has none nothing is said.
    Word* const other = shadow.at(2000);
    other->flags = Word::wrote_weakly;
    shadow.bytes_of(*other, 2000);
    shadow.join(*other, 2000);
    EXPECT_EQ(shadow.weak_under(2000).writer, 0u);
}

TEST(CheckParts, AccessorsOfAShadow) {
    Shadow shadow(1 << 20);
    Accessor a;
    a.cta = 1;
    a.time = 2;
    a.operation = 3;
    a.warp = 4;
    EXPECT_EQ(shadow.add_writer(a), 1u);
    EXPECT_EQ(shadow.add_writer(a), 2u);
    EXPECT_EQ(shadow.writer(2), a);
    const uint32_t one = shadow.chain(a, 0);
    EXPECT_EQ(one, 1u);
    EXPECT_EQ(shadow.chain(a, 0), one);
    const auto is_other = [&](auto change) {
        Accessor b = a;
        change(b);
        const uint32_t made = shadow.chain(b, 0);
        EXPECT_NE(made, one);
        EXPECT_EQ(shadow.reader(made).who, b);
        EXPECT_EQ(shadow.chain(b, 0), made);
    };
    is_other([](Accessor& b) { b.cta = 2; });
    is_other([](Accessor& b) { b.time = 3; });
    is_other([](Accessor& b) { b.operation = 4; });
    is_other([](Accessor& b) { b.warp = 5; });
    is_other([](Accessor& b) { b.strong = true; });
    const uint32_t two = shadow.chain(a, one);
    EXPECT_NE(two, one);
    EXPECT_EQ(shadow.reader(two).next, one);
    EXPECT_EQ(shadow.reader(one).next, 0u);
}

}  // namespace
}  // namespace lockwarp::check
