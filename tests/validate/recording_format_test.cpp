// SPDX-License-Identifier: Apache-2.0
// The bytes of a recording, written once more from the description of the format, and what each
// field may be, up to its edges.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "tests/results.hpp"
#include "validate/recording.hpp"

namespace {

using namespace lockwarp;
using validate::Recording;
using Bytes = std::vector<uint8_t>;

constexpr const char* text =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
    ".reg .b32 %r<3>;\n"
    "mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 7; add.u32 %r2, %r2, 7;\n"
    "add.u32 %r2, %r1, 7; add.u32 %r2, %r1, 7; add.u32 %r2, %r1, 7;\n"
    "add.u32 %r2, %r1, 7; add.u32 %r2, %r1, 7; add.u32 %r2, %r1, 7;\n"
    "ret;\n}\n";

size_t operations() {
    static const size_t n =
        isa::resolve(ptx::parse(text).module, isa::Arch::sm_89, "k").program.operations.size();
    return n;
}

// Two buffers side by side, two warps, two windows.
Recording recording() {
    Recording r;
    r.name = "k.ptx";
    r.ptx = text;
    r.arch = "sm_89";
    r.made_by = "made by hand";
    r.c.module = ptx::parse(text).module;
    r.c.entry = "k";
    r.c.grid = {2, 3, 4};
    r.c.block = {11, 3, 1};
    r.c.dynamic_shared = 0x01020304;
    r.c.parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    r.c.patches = {{0, 1, 0x1122334455667788}, {8, 0, 5}};
    r.c.names = {"A", "B"};
    r.c.bytes = {{1, 2, 3}, {4, 5, 6, 7}};
    r.answer.device = {.name = "GPU",
                       .driver = "580.1",
                       .number = 89,
                       .clock_mhz = 0x55667788,
                       .memory = 0x8877665544332211};
    r.answer.addresses = {0x1000, 0x1003};
    r.answer.ran = {gpu::Outcome::hung, "it did\n\tnot end", gpu::Fault::launch_failed};
    r.answer.outputs = {{1, 2, 4}, {4, 5, 6, 7}};
    r.answer.traced.assign(operations(), false);
    for (const size_t i : {size_t{0}, size_t{3}, size_t{8}, size_t{9}}) r.answer.traced[i] = true;
    for (const uint64_t cta : {5, 6}) {
        validate::Tracks& t = r.answer.tracks.emplace_back();
        t.window = {.first = 2 + cta, .words = 3, .first_cta = cta, .ctas = cta == 5 ? 1u : 18u};
        t.slack = cta - 4;
        const uint64_t length = t.window.words + t.slack;
        t.words.resize(t.window.ctas * 2 * length * 256);
        // Of each warp as many words as its number, up to all of them.
        for (uint64_t warp = 0; warp < t.window.ctas * 2; ++warp)
            for (uint64_t at = 0; at < std::min(warp, length) * 256; at += 3)
                t.words[warp * length * 256 + at] = static_cast<uint8_t>(at + warp + 1);
    }
    return r;
}

struct Out {
    Bytes bytes;
    void number(uint64_t v, int size) {
        for (; size-- > 0; v >>= 8) bytes.push_back(static_cast<uint8_t>(v));
    }
    void text(const std::string& s) {
        number(s.size(), 8);
        bytes.insert(bytes.end(), s.begin(), s.end());
    }
    void list(const Bytes& b) { text({b.begin(), b.end()}); }
};

// As the description at the head of validate/recording.hpp has it.
Bytes described(const Recording& r, int version) {
    Out o;
    for (const std::string& s : {r.name, r.ptx, r.arch, r.made_by, r.c.entry}) o.text(s);
    for (const uint32_t v : {r.c.grid.x, r.c.grid.y, r.c.grid.z, r.c.block.x, r.c.block.y,
                             r.c.block.z, r.c.dynamic_shared})
        o.number(v, 4);
    o.list(r.c.parameters);
    o.number(r.c.patches.size(), 8);
    for (const launch::Patch& p : r.c.patches) {
        o.number(p.at, 4);
        o.number(p.buffer, 8);
        o.number(p.offset, 8);
    }
    o.number(r.c.bytes.size(), 8);
    for (size_t i = 0; i < r.c.bytes.size(); ++i) {
        o.text(r.c.names[i]);
        o.list(r.c.bytes[i]);
    }
    const gpu::Device& d = r.answer.device;
    o.text(d.name);
    o.text(d.driver);
    o.number(d.number, 4);
    o.number(d.clock_mhz, 4);
    o.number(d.memory, 8);
    o.number(r.answer.addresses.size(), 8);
    for (const uint64_t a : r.answer.addresses) o.number(a, 8);
    o.number(static_cast<uint64_t>(r.answer.ran.outcome), 1);
    o.text(r.answer.ran.what);
    o.number(static_cast<uint64_t>(r.answer.ran.fault), 1);
    o.number(r.answer.outputs.size(), 8);
    for (size_t i = 0; i < r.answer.outputs.size(); ++i) {
        Bytes changed = r.answer.outputs[i];
        for (size_t b = 0; b < changed.size(); ++b) changed[b] ^= r.c.bytes[i][b];
        o.list(changed);
    }
    o.number(r.answer.traced.size(), 8);
    Bytes bits((r.answer.traced.size() + 7) / 8);
    for (size_t i = 0; i < r.answer.traced.size(); ++i)
        bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | r.answer.traced[i] << i % 8);
    o.bytes.insert(o.bytes.end(), bits.begin(), bits.end());
    o.number(r.answer.tracks.size(), 8);
    for (const validate::Tracks& t : r.answer.tracks) {
        for (const uint64_t v :
             {t.window.first, t.window.words, t.window.first_cta, t.window.ctas, t.slack})
            o.number(v, 8);
        const uint64_t warps = t.window.ctas * ((r.c.block.count() + 31) / 32);
        const uint64_t length = t.window.words + t.slack;
        std::vector<uint64_t> kept(warps);
        for (uint64_t w = 0; w < warps; ++w)
            for (uint64_t i = 0; i < length * 256; ++i)
                if (t.words[w * length * 256 + i] != 0) kept[w] = i / 256 + 1;
        for (const uint64_t k : kept) o.number(k, 8);
        for (uint64_t plane = 0; plane < 8; ++plane)
            for (uint64_t w = 0; w < warps; ++w)
                for (uint64_t word = 0; word < kept[w] * 32; ++word)
                    o.bytes.push_back(t.words[w * length * 256 + word * 8 + plane]);
    }
    if (version >= 2) {
        o.number(r.c.cooperative, 1);
        o.number(r.answer.orders.size(), 8);
        for (const gpu::Ordered v : r.answer.orders) o.number(static_cast<uint64_t>(v), 1);
    }
    if (version >= 3) o.number(r.answer.optimization, 1);
    if (version >= 4) {
        const warp::Dim3 none{0, 0, 0};
        const warp::Dim3 c = r.c.cluster.value_or(none);
        for (const uint32_t v : {c.x, c.y, c.z}) o.number(v, 4);
        o.number(r.c.non_portable_cluster, 1);
    }
    return o.bytes;
}

// What versions beyond the first are for, each by itself and together.
struct Version {
    int number;
    std::function<void(Recording&)> change;
};
std::vector<Version> versions() {
    const auto orders = [](Recording& r, gpu::Ordered last) {
        r.answer.orders.assign(operations(), gpu::Ordered::none);
        r.answer.orders[1] = gpu::Ordered::load;
        r.answer.orders.back() = last;
    };
    return {{1, [](Recording&) {}},
            {2, [](Recording& r) { r.c.cooperative = true; }},
            {2, [=](Recording& r) { orders(r, gpu::Ordered::block); }},
            {3, [=](Recording& r) { orders(r, gpu::Ordered::result); }},
            {3, [](Recording& r) { r.answer.optimization = 0; }},
            {3, [](Recording& r) { r.answer.optimization = 3; }},
            {4,
             [](Recording& r) {
                 r.c.cluster = warp::Dim3{2, 3, 1};
             }},
            {4, [](Recording& r) { r.c.non_portable_cluster = true; }},
            {4, [=](Recording& r) {
                 orders(r, gpu::Ordered::result);
                 r.answer.optimization = 1;
                 r.c.cluster = warp::Dim3{1, 3, 2};
                 r.c.cooperative = r.c.non_portable_cluster = true;
             }}};
}

TEST(RecordingFormat, IsAsItIsDescribed) {
    for (const Version& version : versions()) {
        Recording r = recording();
        version.change(r);
        const Bytes body = validate::detail::body_of(r);
        EXPECT_TRUE(body == described(r, version.number)) << version.number;
        const Bytes file = validate::write_recording(r);
        ASSERT_GT(file.size(), 36u);
        EXPECT_EQ(file[3], version.number);
        Recording back;
        ASSERT_EQ(take(validate::read_recording(file), back), "") << version.number;
        EXPECT_TRUE(validate::detail::body_of(back) == body);
        EXPECT_EQ(back.c.cooperative, r.c.cooperative);
        EXPECT_EQ(back.c.cluster.has_value(), r.c.cluster.has_value());
        EXPECT_EQ(back.c.non_portable_cluster, r.c.non_portable_cluster);
        EXPECT_EQ(back.answer.optimization, r.answer.optimization);
        EXPECT_EQ(back.answer.orders, r.answer.orders);
        for (size_t i = 0; i < r.answer.tracks.size(); ++i)
            EXPECT_TRUE(back.answer.tracks[i].words == r.answer.tracks[i].words);
    }
}

uint64_t fnv(const uint8_t* p, size_t n) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 0x100000001b3;
    return h;
}

uint64_t number_at(const Bytes& file, size_t at) {
    uint64_t v = 0;
    for (size_t i = 8; i-- > 0;) v = v << 8 | file[at + i];
    return v;
}

TEST(RecordingFormat, HeadsTheFrameWithSizesAndChecksums) {
    const Bytes body(1000, 7);
    const Bytes file = validate::detail::seal(body, 3, 2);
    ASSERT_GT(file.size(), 36u);
    EXPECT_EQ(std::memcmp(file.data(), "LWR\2", 4), 0);
    EXPECT_EQ(number_at(file, 4), file.size() - 36);
    EXPECT_EQ(number_at(file, 12), body.size());
    EXPECT_EQ(number_at(file, 20), fnv(file.data() + 36, file.size() - 36));
    EXPECT_EQ(number_at(file, 28), fnv(file.data(), 28));
    Bytes out;
    ASSERT_EQ(take(validate::detail::unseal(file), out), "");
    EXPECT_EQ(out, body);
    // Each number of the head, with right checksums over it.
    const auto with = [&](size_t at, uint64_t v) {
        Bytes changed = file;
        std::memcpy(changed.data() + at, &v, 8);
        const uint64_t sum = fnv(changed.data(), 28);
        std::memcpy(changed.data() + 28, &sum, 8);
        return take(validate::detail::unseal(changed), out);
    };
    const uint64_t frame = file.size() - 36;
    EXPECT_EQ(with(4, frame), "");
    EXPECT_EQ(with(4, frame + 1), "cut off");
    EXPECT_EQ(with(4, frame - 1), "damaged (bytes after its end)");
    EXPECT_EQ(with(20, 0), "damaged (checksum)");
    EXPECT_EQ(with(12, 999), "damaged (its size is not what it says)");
    // A frame that is whole and whose content is not what it says, and two frames.
    const auto of_frame = [&](Bytes content, uint64_t says) {
        Bytes changed(file.begin(), file.begin() + 36);
        changed.insert(changed.end(), content.begin(), content.end());
        const uint64_t size = content.size(), sum = fnv(content.data(), content.size());
        std::memcpy(changed.data() + 4, &size, 8);
        std::memcpy(changed.data() + 12, &says, 8);
        std::memcpy(changed.data() + 20, &sum, 8);
        const uint64_t head = fnv(changed.data(), 28);
        std::memcpy(changed.data() + 28, &head, 8);
        return take(validate::detail::unseal(changed), out);
    };
    const Bytes right(file.begin() + 36, file.end());
    EXPECT_EQ(of_frame(right, 1000), "");
    Bytes two = right;
    two.insert(two.end(), right.begin(), right.end());
    EXPECT_EQ(of_frame(two, 1000), "damaged (its size is not what it says)");
    Bytes wrong = right;
    wrong.back() ^= 0xff;
    const std::string said = of_frame(wrong, 1000);
    EXPECT_TRUE(said.starts_with("damaged") || out != body) << said;
    EXPECT_EQ(of_frame({}, 0), "damaged (its size is not what it says)");
    EXPECT_EQ(of_frame(Bytes(20, 3), 1000), "damaged (its size is not what it says)");
}

// Blocks of one byte over and over, as long as a block may be: 4 bytes of a frame for 128 KiB.
Bytes sealed_blocks(uint64_t count, uint64_t says) {
    Out frame;
    frame.number(0xfd2fb528, 4);
    frame.number(0xc0, 1);  // the content's size has 8 bytes
    frame.number(0x38, 1);  // a window of 128 KiB
    frame.number(says, 8);
    for (uint64_t i = 0; i < count; ++i) {
        frame.number((128 << 10) << 3 | 1 << 1 | (i + 1 == count ? 1 : 0), 3);
        frame.number(7, 1);
    }
    Out file;
    file.number(0x0252574c, 4);  // "LWR", 2
    file.number(frame.bytes.size(), 8);
    file.number(says, 8);
    file.number(fnv(frame.bytes.data(), frame.bytes.size()), 8);
    file.number(fnv(file.bytes.data(), file.bytes.size()), 8);
    file.bytes.insert(file.bytes.end(), frame.bytes.begin(), frame.bytes.end());
    return file.bytes;
}

// Nothing is made ready for a body that is larger than one may be, or than its frame can hold.
TEST(RecordingFormat, SizesOfBodies) {
    constexpr uint64_t block = 128 << 10, most = validate::max_recorded / block;
    Bytes out;
    const auto said = [&](uint64_t count, uint64_t says) {
        return take(validate::detail::unseal(sealed_blocks(count, says)), out);
    };
    EXPECT_EQ(said(8, 8 * block), "");
    EXPECT_EQ(out, Bytes(8 * block, 7));
    const char* const wrong_size = "damaged (its size is not what it says)";
    EXPECT_EQ(said(most + 1, (most + 1) * block), wrong_size);
    // What is no block of a frame of 46 bytes: 14, and of its checksum none.
    EXPECT_EQ(said(8, 12 * block - 1), "damaged (its frame)");
    EXPECT_EQ(said(8, 12 * block), wrong_size);
}

TEST(RecordingFormat, VersionsThatAreRead) {
    Bytes file = validate::detail::seal(Bytes(10, 1));
    const auto said = [&](uint8_t version) {
        file[3] = version;
        const uint64_t sum = fnv(file.data(), 28);
        std::memcpy(file.data() + 28, &sum, 8);
        Bytes out;
        return take(validate::detail::unseal(file), out);
    };
    EXPECT_EQ(said(0), "not a Lockwarp recording");
    for (const int v : {1, 2, 3, 4}) EXPECT_EQ(said(static_cast<uint8_t>(v)), "");
    for (const unsigned v : {5u, 6u, 255u})
        EXPECT_EQ(said(static_cast<uint8_t>(v)),
                  "made by a newer Lockwarp (format " + std::to_string(v) + "; this one reads 4)");
    for (const size_t letter : {0, 1, 2}) {
        Bytes other = file;
        other[letter] ^= 0x20;
        Bytes out;
        EXPECT_EQ(take(validate::detail::unseal(other), out), "not a Lockwarp recording");
    }
}

std::string said_of(const Bytes& body) {
    Recording out;
    return take(validate::detail::parse_body(body), out);
}

std::string said_of(const Recording& r) { return said_of(validate::detail::body_of(r)); }

// Every body that ends early is refused, but where it ends as an older version's does.
TEST(RecordingFormat, ABodyThatEndsEarly) {
    for (const Version& version : versions()) {
        Recording r = recording();
        version.change(r);
        const Bytes body = validate::detail::body_of(r);
        const size_t tracks_end = described(r, 1).size();
        Recording without = r;
        without.answer.tracks.clear();
        const size_t tracks_begin = described(without, 1).size();
        size_t accepted = 0;
        for (size_t n = 0; n < body.size(); ++n) {
            // What the versions share, of two of them; within the tracks some places are enough.
            if (n + 10 < tracks_end && version.number != 1 && !r.c.cooperative) continue;
            if (n > tracks_begin + 700 && n + 700 < tracks_end && n % 211 != 0) continue;
            const std::string said =
                said_of(Bytes(body.begin(), body.begin() + static_cast<int>(n)));
            const bool older = n == tracks_end ||
                               (version.number > 2 && n == described(r, 2).size()) ||
                               (version.number > 3 && n == described(r, 3).size());
            if (older) {
                EXPECT_EQ(said, "") << n;
                ++accepted;
            } else if (n >= tracks_begin && n < tracks_end) {
                EXPECT_TRUE(said == "not right: a field ends early" ||
                            said ==
                                "not right: a window of its tracks is larger than what is in "
                                "it can be")
                    << n << ": " << said;
            } else {
                EXPECT_EQ(said, "not right: a field ends early") << n;
            }
        }
        EXPECT_EQ(accepted, static_cast<size_t>(version.number - 1));
        Bytes longer = body;
        longer.push_back(9);
        EXPECT_NE(said_of(longer), "") << version.number;
        if (version.number == 4) {
            EXPECT_EQ(said_of(longer), "not right: bytes after its last field");
        }
    }
}

struct Row {
    std::function<void(Recording&)> change;
    const char* said;  // "": it is accepted
};

void expect_said(std::initializer_list<Row> rows) {
    int number = 0;
    for (const Row& row : rows) {
        Recording r = recording();
        row.change(r);
        const std::string wanted = row.said[0] == 0 ? "" : std::string("not right: ") + row.said;
        const std::string said = said_of(r);
        EXPECT_EQ(said.substr(0, wanted.empty() ? said.size() : wanted.size()), wanted)
            << "row " << number << ": " << said;
        ++number;
    }
}

TEST(RecordingFormat, GridsAndBlocksThatCanBe) {
    const char* const grid = "a grid that cannot be";
    const char* const block = "a block that cannot be";
    const auto of = [](warp::Dim3 g, warp::Dim3 b, const char* said) {
        return Row{[=](Recording& r) {
                       r.c.grid = g;
                       r.c.block = b;
                       r.answer.tracks.clear();
                   },
                   said};
    };
    const warp::Dim3 one{1, 1, 1};
    expect_said({of({0x7fffffff, 1, 1}, one, ""),
                 of({0x80000000, 1, 1}, one, grid),
                 of({1, 65535, 1}, one, ""),
                 of({1, 65536, 1}, one, grid),
                 of({1, 1, 65535}, one, ""),
                 of({1, 1, 65536}, one, grid),
                 of({0, 1, 1}, one, grid),
                 of({1, 0, 1}, one, grid),
                 of({1, 1, 0}, one, grid),
                 of({0x7fffffff, 65535, 65535}, one, ""),
                 of(one, {1024, 1, 1}, ""),
                 of(one, {1, 1024, 1}, ""),
                 of(one, {1, 1, 1024}, ""),
                 of(one, {1025, 1, 1}, block),
                 of(one, {1, 1025, 1}, block),
                 of(one, {1, 1, 1025}, block),
                 of(one, {32, 32, 1}, ""),
                 of(one, {32, 33, 1}, block),
                 of(one, {2, 513, 1}, block),
                 of(one, {0, 1, 1}, block),
                 of(one, {1, 0, 1}, block),
                 of(one, {1, 1, 0}, block),
                 of(one, {0x80000000, 0x80000001, 2}, block),
                 of(one, {0x80000001, 2, 0x80000000}, block)});
}

TEST(RecordingFormat, NamesAreShownAsTheyAre) {
    const char* const control = "a name with control characters";
    const auto each = [&](const std::string& s, const char* line, const char* lines) {
        expect_said({{[=](Recording& r) { r.name = s; }, line},
                     {[=](Recording& r) { r.made_by = s; }, line},
                     {[=](Recording& r) { r.answer.device.name = s; }, line},
                     {[=](Recording& r) { r.answer.device.driver = s; }, line},
                     {[=](Recording& r) { r.c.names[0] = s; }, line},
                     {[=](Recording& r) { r.c.names[1] = s; }, line},
                     {[=](Recording& r) { r.answer.ran.what = s; }, lines}});
    };
    for (const char* good : {" ", "~", "\x80", "\xff", ""}) each(good, "", "");
    for (const char* bad : {"\x1f", "a\x7f", "\x01", "\r", "\b"}) each(bad, control, control);
    each(std::string(1, '\0'), control, control);
    each("a\nb", control, "");
    each("\t", control, "");
    expect_said({{[](Recording& r) { r.name = "a/b"; }, "its name has a folder"},
                 {[](Recording& r) { r.c.names[0] = "a/b"; }, ""}});
}

TEST(RecordingFormat, AddressesAndPatches) {
    const char* const outside = "an address outside the parameters, or of no buffer";
    const char* const overlap = "buffers that overlap";
    const auto patch = [](uint32_t at, size_t buffer, const char* said) {
        return Row{[=](Recording& r) { r.c.patches[1] = {at, buffer, 0}; }, said};
    };
    const auto placed = [](std::vector<uint64_t> at, const char* said) {
        return Row{[=](Recording& r) { r.answer.addresses = at; }, said};
    };
    expect_said({patch(8, 1, ""),
                 patch(9, 1, outside),
                 patch(0, 2, outside),
                 patch(0, 1, ""),
                 patch(UINT32_MAX, 0, outside),
                 patch(0, SIZE_MAX, outside),
                 {[](Recording& r) {
                      r.c.parameters.resize(7);
                      r.c.patches.resize(1);
                  },
                  outside},
                 {[](Recording& r) {
                      r.c.parameters.resize(8);
                      r.c.patches.resize(1);
                  },
                  ""},
                 {[](Recording& r) {
                      r.c.parameters.clear();
                      r.c.patches.clear();
                  },
                  ""}});
    // A has 3 bytes, B 4.
    expect_said({placed({0x1000, 0x1003}, ""), placed({0x1000, 0x1002}, overlap),
                 placed({0x1004, 0x1000}, ""), placed({0x1003, 0x1000}, overlap),
                 placed({0x1000, 0x1000}, overlap), placed({0, UINT64_MAX - 4}, ""),
                 placed({0, UINT64_MAX - 3}, overlap), placed({UINT64_MAX - 3, 0}, ""),
                 placed({UINT64_MAX - 2, 0}, overlap),
                 placed({0x1000}, "not as many addresses as buffers"),
                 placed({0x1000, 0x2000, 0x3000}, "not as many addresses as buffers")});
    // Where one begins an empty one may be.
    expect_said({{[](Recording& r) {
                      r.c.bytes[1] = r.answer.outputs[1] = {};
                      r.answer.addresses = {0x1000, 0x1000};
                  },
                  ""},
                 {[](Recording& r) {
                      r.c.bytes[1] = r.answer.outputs[1] = {};
                      r.answer.addresses = {0x1000, 0x1001};
                  },
                  overlap}});
}

TEST(RecordingFormat, WhatAnEngineGave) {
    expect_said({
        {[](Recording& r) { r.answer.ran.outcome = gpu::Outcome::done; }, ""},
        {[](Recording& r) { r.answer.ran.outcome = gpu::Outcome::uncompiled; },
         "an outcome that this version does not know"},
        {[](Recording& r) { r.answer.ran.fault = gpu::Fault::none; }, ""},
        {[](Recording& r) { r.answer.ran.fault = static_cast<gpu::Fault>(6); },
         "an outcome that this version does not know"},
        {[](Recording& r) { r.answer.outputs.clear(); }, ""},
        {[](Recording& r) { r.answer.outputs.pop_back(); },
         "its buffers afterwards are not as many as before"},
        {[](Recording& r) { r.answer.outputs[1].pop_back(); },
         "a buffer afterwards has another size"},
        {[](Recording& r) { r.answer.outputs[0].clear(); }, "a buffer afterwards has another size"},
        {[](Recording& r) { r.answer.traced.pop_back(); }, "its tracks are of another program"},
        {[](Recording& r) { r.answer.traced.push_back(false); },
         "its tracks are of another program"},
        {[](Recording& r) { r.answer.traced.clear(); }, ""},
        {[](Recording& r) { r.arch = "sm_79"; }, "recorded on a machine that is not modelled"},
        {[](Recording& r) { r.arch = "sm_70"; }, "its PTX is refused: line "},
        {[](Recording& r) { r.c.entry = "j"; }, "its PTX is refused: line "},
        {[](Recording& r) { r.ptx.resize(r.ptx.size() - 2); }, "its PTX is refused: line "},
        {[](Recording& r) { r.answer.orders.assign(operations() - 1, gpu::Ordered::load); },
         "its order is of another program"},
        {[](Recording& r) { r.answer.orders.assign(operations(), static_cast<gpu::Ordered>(7)); },
         "an order that this version does not know"},
        {[](Recording& r) { r.answer.optimization = 5; }, "an optimization that there is not"},
        {[](Recording& r) { r.answer.optimization = 255; }, "an optimization that there is not"},
    });
    // Numbers that are yes or no: the last byte of a body of each version.
    Recording r = recording();
    r.c.cooperative = true;
    Bytes body = validate::detail::body_of(r);
    body[body.size() - 9] = 2;
    EXPECT_EQ(said_of(body), "not right: a launch that this version does not know");
    r.c.non_portable_cluster = true;
    body = validate::detail::body_of(r);
    body.back() = 2;
    EXPECT_EQ(said_of(body), "not right: a cluster that this version does not know");
    // Bits of operations that there are not.
    r = recording();
    r.answer.tracks.clear();
    ASSERT_NE(operations() % 8, 0u);
    body = validate::detail::body_of(r);
    body[body.size() - 9] |= static_cast<uint8_t>(1u << operations() % 8);
    EXPECT_EQ(said_of(body), "not right: more operations than it says");
    body[body.size() - 9] ^= static_cast<uint8_t>(1u << operations() % 8 | 0x80);
    EXPECT_EQ(said_of(body), "not right: more operations than it says");
}

TEST(RecordingFormat, WindowsOfTracks) {
    const char* const grid = "a window of its tracks has CTAs that the grid has not";
    const char* const large = "a window of its tracks is larger than what is in it can be";
    const auto window = [](std::function<void(validate::Tracks&)> change, const char* said) {
        return Row{[=](Recording& r) {
                       validate::Tracks& t = r.answer.tracks[0];
                       r.answer.tracks.resize(1);
                       change(t);
                       t.words.resize(t.window.ctas * 2 * (t.window.words + t.slack) * 256);
                   },
                   said};
    };
    using validate::Tracks;
    expect_said({window([](Tracks& t) { t.window.first_cta = 23; }, ""),
                 window([](Tracks& t) { t.window.first_cta = 24; }, grid),
                 window([](Tracks& t) { t.window.first_cta = UINT64_MAX; }, grid),
                 window([](Tracks& t) { t.window.first_cta = 22, t.window.ctas = 2; }, ""),
                 window([](Tracks& t) { t.window.first_cta = 23, t.window.ctas = 2; }, grid),
                 window([](Tracks& t) { t.window.first_cta = 0, t.window.ctas = 24; }, ""),
                 window([](Tracks& t) { t.window.first_cta = 0, t.window.ctas = 25; }, grid),
                 window([](Tracks& t) { t.window.ctas = 0; }, grid),
                 window([](Tracks& t) { t.window.first = uint64_t{1} << 40; }, ""),
                 window([](Tracks& t) { t.window.first = (uint64_t{1} << 40) + 1; }, large),
                 window([](Tracks& t) { t.window.words = 0; }, ""),
                 window([](Tracks& t) { t.slack = 0; }, "")});
    // A warp's count that is more than its window has.
    Recording r = recording();
    r.answer.tracks.resize(1);
    std::ranges::fill(r.answer.tracks[0].words, 0);
    Bytes body = validate::detail::body_of(r);
    EXPECT_EQ(said_of(body), "");
    body[body.size() - 8] = 5;  // of 3 + 1 words
    EXPECT_EQ(said_of(body), "not right: a track is longer than its window");
    body[body.size() - 8] = 4;
    EXPECT_EQ(said_of(body), "not right: a field ends early");
    body.insert(body.end(), 4 * 256, 1);
    EXPECT_EQ(said_of(body), "");
}

// More than is written of one recording is not read.
TEST(RecordingFormat, TracksThatAreTooLargeAreNotWritten) {
    Recording r = recording();
    EXPECT_FALSE(validate::write_recording(r).empty());
    r.answer.tracks[1].words.push_back(0);
    EXPECT_TRUE(validate::write_recording(r).empty());
    r = recording();
    ++r.answer.tracks[0].slack;
    EXPECT_TRUE(validate::write_recording(r).empty());
}

}  // namespace
