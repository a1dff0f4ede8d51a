// SPDX-License-Identifier: Apache-2.0
// Accesses to shared memory against a plain count of words and banks: who collides, in how many
// wavefronts, and which padding or swizzle is the first that helps.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <set>

#include "lanes/banks.hpp"

namespace lockwarp::lanes {
namespace {

struct Kind {
    std::string name;
    unsigned bytes, lanes, per_phase;
};
const std::vector<Kind> kinds{{"ld.shared.b8", 1, 32, 32},      {"st.shared.u16", 2, 32, 32},
                              {"ld.shared.f32", 4, 32, 32},     {"ld.shared.v2.b16", 4, 32, 32},
                              {"st.shared.b64", 8, 32, 16},     {"ld.shared.v2.f32", 8, 32, 16},
                              {"ld.shared.v4.b32", 16, 32, 8},  {"st.shared.v2.u64", 16, 32, 8},
                              {"ld.shared.b128", 16, 32, 8},    {"ldmatrix.x1", 16, 8, 8},
                              {"ldmatrix.x2.trans", 16, 16, 8}, {"ldmatrix.x4", 16, 32, 8},
                              {"stmatrix.x4.trans", 16, 32, 8}};

Access access(const std::string& name) {
    std::string error;
    const auto a = access_named(name, error);
    EXPECT_TRUE(a) << error;
    return a.value_or(Access{});
}

uint32_t swizzled(uint32_t x, int bits, int base, int shift) {
    for (int b = 0; b < bits; ++b) x ^= (x >> (base + shift + b) & 1u) << (base + b);
    return x;
}

struct Model {
    const Kind& kind;
    std::vector<uint32_t> all;

    std::map<unsigned, std::set<uint32_t>> words(unsigned phase) const {
        std::map<unsigned, std::set<uint32_t>> out;
        for (unsigned l = 0; l < kind.per_phase; ++l)
            for (unsigned b = 0; b < kind.bytes; ++b) {
                const uint32_t word = (all[phase * kind.per_phase + l] + b) / 4;
                out[word % 32].insert(word);
            }
        return out;
    }
    unsigned wavefronts(unsigned phase) const {
        size_t most = 1;
        for (const auto& [bank, set] : words(phase)) most = std::max(most, set.size());
        return static_cast<unsigned>(most);
    }
    unsigned wavefronts() const {
        unsigned sum = 0;
        for (unsigned p = 0; p < kind.lanes / kind.per_phase; ++p) sum += wavefronts(p);
        return sum;
    }
    std::vector<unsigned> lanes_on(unsigned phase, unsigned bank) const {
        std::vector<unsigned> out;
        for (unsigned l = 0; l < kind.per_phase; ++l) {
            const unsigned lane = phase * kind.per_phase + l;
            bool wants = false;
            for (unsigned b = 0; b < kind.bytes; ++b) wants |= (all[lane] + b) / 4 % 32 == bank;
            if (wants) out.push_back(lane);
        }
        return out;
    }
    bool is_aligned() const {
        for (const uint32_t a : all)
            if (a % kind.bytes != 0) return false;
        return true;
    }
};

// The address of a lane by stride: for matrices rows of 16 bytes of a tile 16 rows high.
std::vector<uint32_t> strided(const Kind& k, uint32_t stride) {
    std::vector<uint32_t> out;
    for (unsigned lane = 0; lane < k.lanes; ++lane) {
        const unsigned high = k.lanes == 32 ? 16 : 8;
        out.push_back(k.name.find("matrix") == std::string::npos
                          ? lane * stride
                          : lane % high * stride + lane / high * 16);
    }
    return out;
}

std::string joined(const std::vector<unsigned>& list) {
    std::string out;
    for (const unsigned n : list) out += (out.empty() ? "" : " ") + std::to_string(n);
    return out;
}

// What stands in the table of a phase: banks that the same lanes want are said once.
std::string collisions_text(const Model& m, unsigned phase) {
    if (m.wavefronts(phase) == 1) return "-";
    std::map<std::vector<unsigned>, std::vector<unsigned>> by_lanes;
    for (const auto& [bank, set] : m.words(phase))
        if (set.size() == m.wavefronts(phase)) by_lanes[m.lanes_on(phase, bank)].push_back(bank);
    std::string out;
    for (const auto& [lanes, banks] : by_lanes) {
        const bool run = banks.back() - banks[0] == banks.size() - 1;
        out += (out.empty() ? "lanes " : "; lanes ") + joined(lanes) + " on bank" +
               (banks.size() == 1 ? " " + joined(banks)
                : run ? "s " + std::to_string(banks[0]) + " to " + std::to_string(banks.back())
                      : "s " + joined(banks));
    }
    return out;
}

std::string plural(unsigned n, const std::string& word) {
    return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

void compare(const Kind& k, const Pattern& p, const Model& m) {
    const Access a = access(k.name);
    SCOPED_TRACE(k.name + " " + p.expression + " " + std::to_string(p.stride));
    std::string error;
    if (!m.is_aligned()) {
        EXPECT_TRUE(addresses(a, p, error).empty());
        const Answer wrong = banks(a, p);
        EXPECT_EQ(wrong.error, error);
        EXPECT_NE(error.find("is not a multiple of " + std::to_string(k.bytes) + "; " + k.name +
                             " traps (misaligned address)"),
                  std::string::npos)
            << error;
        return;
    }
    ASSERT_EQ(addresses(a, p, error), m.all) << error;
    EXPECT_EQ(wavefronts(a, m.all), m.wavefronts());
    const unsigned least = k.lanes / k.per_phase;
    EXPECT_EQ(least_wavefronts(a), least);
    const Answer answer = banks(a, p);
    EXPECT_EQ(answer.data["access"], k.name);
    EXPECT_EQ(answer.data["wavefronts"], m.wavefronts());
    EXPECT_EQ(answer.data["least"], least);
    EXPECT_EQ(answer.data["addresses"].get<std::vector<uint32_t>>(), m.all);
    ASSERT_EQ(answer.data["phases"].size(), least);
    ASSERT_EQ(answer.grids.size(), 1u);
    ASSERT_EQ(answer.grids[0].rows.size(), least);
    const std::vector<Phase> each = phases(a, m.all);
    ASSERT_EQ(each.size(), least);
    unsigned worst = 1;
    for (unsigned n = 0; n < least; ++n) {
        const unsigned first = n * k.per_phase;
        worst = std::max(worst, m.wavefronts(n));
        EXPECT_EQ(each[n].first_lane, first);
        EXPECT_EQ(each[n].lanes, k.per_phase);
        EXPECT_EQ(each[n].wavefronts, m.wavefronts(n));
        const auto& data = answer.data["phases"][n];
        EXPECT_EQ(data["lanes"][0], first);
        EXPECT_EQ(data["lanes"][1], first + k.per_phase - 1);
        EXPECT_EQ(data["wavefronts"], m.wavefronts(n));
        size_t at = 0;
        if (m.wavefronts(n) > 1)
            for (const auto& [bank, set] : m.words(n)) {
                if (set.size() != m.wavefronts(n)) continue;
                ASSERT_LT(at, each[n].collisions.size());
                EXPECT_EQ(each[n].collisions[at].bank, bank);
                EXPECT_EQ(each[n].collisions[at].lanes, m.lanes_on(n, bank));
                EXPECT_EQ(data["collisions"][at]["bank"], bank);
                EXPECT_EQ(data["collisions"][at++]["lanes"], m.lanes_on(n, bank));
            }
        EXPECT_EQ(each[n].collisions.size(), at);
        EXPECT_EQ(data["collisions"].size(), at);
        EXPECT_EQ(answer.grids[0].rows[n],
                  (std::vector<std::string>{
                      std::to_string(n),
                      std::to_string(first) + " to " + std::to_string(first + k.per_phase - 1),
                      std::to_string(m.wavefronts(n)), collisions_text(m, n)}));
    }
    EXPECT_EQ(answer.line,
              k.name + ": " +
                  (worst == 1 ? plural(m.wavefronts(), "wavefront") + ", no conflict"
                              : std::to_string(m.wavefronts()) + " wavefronts instead of " +
                                    std::to_string(least) + ", up to " + std::to_string(worst) +
                                    "-way conflicts"));
}

// The first padding of up to 256 bytes and the first swizzle that leave no conflict.
void compare_repair(const Kind& k, uint32_t stride, const Model& m) {
    const Answer answer = banks(access(k.name), {"", stride, {}, 1});
    const unsigned least = k.lanes / k.per_phase;
    if (!answer.error.empty()) return;
    SCOPED_TRACE(k.name + " " + std::to_string(stride));
    std::vector<std::string> notes;
    if (m.wavefronts() > least) {
        for (uint32_t extra = k.bytes; extra <= 256; extra += k.bytes) {
            const Model padded{k, strided(k, stride + extra)};
            if (!padded.is_aligned() || padded.wavefronts() != least) continue;
            notes.push_back("without a conflict: stride " + std::to_string(stride + extra) + " (" +
                            std::to_string(extra) + " bytes of padding)");
            EXPECT_EQ(answer.data["padded_stride"], stride + extra);
            break;
        }
        EXPECT_EQ(answer.data.contains("padded_stride"), !notes.empty());
        std::vector<std::array<int, 3>> tried{{1, 4, 3}, {2, 4, 3}};
        for (int shift = 3; shift <= 8; ++shift) tried.push_back({3, 4, shift});
        bool found = false;
        for (const auto& [bits, base, shift] : tried) {
            Model other = m;
            for (uint32_t& x : other.all) x = swizzled(x, bits, base, shift);
            if (found || !other.is_aligned() || other.wavefronts() != least) continue;
            found = true;
            EXPECT_EQ(answer.data["swizzle"], (nlohmann::ordered_json{bits, base, shift}));
            notes.push_back("without a conflict: Swizzle<" + std::to_string(bits) + ",4," +
                            std::to_string(shift) + "> of the byte address");
        }
        EXPECT_EQ(answer.data.contains("swizzle"), found);
        if (notes.empty())
            notes.emplace_back("no padding up to 256 bytes and no Swizzle<B,4,S> removes all");
    }
    EXPECT_EQ(answer.notes, notes);
}

// Also strides at which a lane's bytes are not aligned.
uint32_t step_of(const Kind& k) {
    return k.bytes == 16 ? 8 : k.bytes == 2 ? 6 : k.bytes == 1 ? 5 : k.bytes;
}

TEST(BanksModel, EveryStride) {
    size_t conflicts = 0;
    for (const Kind& k : kinds)
        for (uint32_t stride = 0; stride <= 272; stride += step_of(k)) {
            const Model m{k, strided(k, stride)};
            compare(k, {"", stride, {}, 1}, m);
            compare_repair(k, stride, m);
            if (m.is_aligned()) conflicts += m.wavefronts() > k.lanes / k.per_phase;
        }
    EXPECT_GT(conflicts, 100u);
    for (const Kind& k : kinds)
        for (const uint32_t stride : {384u, 512u, 1024u, 2048u, 4096u}) {
            const Model m{k, strided(k, stride)};
            compare(k, {"", stride, {}, 1}, m);
            compare_repair(k, stride, m);
        }
}

TEST(BanksModel, ExpressionsAndSwizzles) {
    struct Row {
        const char* text;
        uint32_t (*address)(uint32_t lane, uint32_t stride);
    };
    const Row rows[] = {
        {"(lane%8)*128 + (lane/8)*16",
         [](uint32_t l, uint32_t) { return l % 8 * 128 + l / 8 * 16; }},
        {"lane/4*stride + lane%4*16",
         [](uint32_t l, uint32_t s) { return l / 4 * s + l % 4 * 16; }},
        {"(lane^1)*16", [](uint32_t l, uint32_t) { return (l ^ 1) * 16; }},
        {"lane/16*16", [](uint32_t l, uint32_t) { return l / 16 * 16; }},
        {"lane*lane*16", [](uint32_t l, uint32_t) { return l * l * 16; }},
        {"256-lane%2*128", [](uint32_t l, uint32_t) { return 256 - l % 2 * 128; }},
    };
    for (const Kind& k : kinds)
        for (const Row& row : rows)
            for (const int bits : {0, 1, 2, 3})
                for (const unsigned unit : {1u, 2u, 4u}) {
                    Model m{k, {}};
                    for (unsigned lane = 0; lane < k.lanes; ++lane) {
                        const uint32_t x = row.address(lane, 96);
                        m.all.push_back(swizzled(x / unit, bits, 4, 3) * unit + x % unit);
                    }
                    Pattern p{row.text, 96, {}, unit};
                    if (bits != 0) p.swizzle = Swizzle{bits, 4, 3};
                    if (bits == 0 && unit != 1) continue;
                    compare(k, p, m);
                }
}

// A swizzle of elements leaves the bytes within each where they are.
TEST(BanksModel, BytesOfSwizzledElements) {
    const Access a = access("ld.shared.b8");
    for (const unsigned unit : {1u, 2u, 4u, 16u}) {
        std::string error;
        Pattern p{"lane*7", 0, Swizzle{2, 0, 2}, unit};
        std::vector<uint32_t> expected;
        for (uint32_t x = 0; x < 32 * 7; x += 7)
            expected.push_back(swizzled(x / unit, 2, 0, 2) * unit + x % unit);
        EXPECT_EQ(addresses(a, p, error), expected) << unit << error;
    }
}

TEST(BanksModel, AccessesByTheirNames) {
    struct Row {
        const char *name, *is;
        unsigned bytes, lanes, per_phase, matrices;
        bool store, trans;
    };
    const Row rows[] = {
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16", "ldmatrix.x2", 16, 16, 8, 2, false, false},
        {"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", "ldmatrix.x1.trans", 16, 8, 8, 1, false,
         true},
        {"stmatrix.x4", "stmatrix.x4", 16, 32, 8, 4, true, false},
        {"stmatrix.trans.x2", "stmatrix.x2.trans", 16, 16, 8, 2, true, true},
        {"st.shared.v2.b64", "st.shared.v2.b64", 16, 32, 8, 0, true, false},
        {"ld.u8", "ld.u8", 1, 32, 32, 0, false, false},
        {"ld.shared.v4.s8", "ld.shared.v4.s8", 4, 32, 32, 0, false, false},
        {"ld.volatile.shared.v2.f64", "ld.volatile.shared.v2.f64", 16, 32, 8, 0, false, false},
        {"st.shared.v4.f16", "st.shared.v4.f16", 8, 32, 16, 0, true, false},
    };
    for (const Row& row : rows) {
        const Access a = access(row.name);
        EXPECT_EQ(a.name, row.is);
        EXPECT_EQ(a.bytes, row.bytes) << row.name;
        EXPECT_EQ(a.lanes, row.lanes) << row.name;
        EXPECT_EQ(a.per_phase, row.per_phase) << row.name;
        EXPECT_EQ(a.matrices(), row.matrices) << row.name;
        EXPECT_EQ(a.matrix, row.matrices != 0) << row.name;
        EXPECT_EQ(a.store, row.store) << row.name;
        EXPECT_EQ(a.trans, row.trans) << row.name;
    }
    const std::string there_are =
        "' to shared memory; there are ldmatrix.x1, .x2, .x4, stmatrix likewise, both with .trans, "
        "and ld.shared and st.shared of 8 to 128 bits, as in ld.shared.v4.b32";
    for (const std::string name :
         {"", "x", "ldmatrix", "ldmatrix.x3", "stmatrix.trans", "ld", "ld.shared", "ld.shared.pred",
          "ld.shared.v4.b64", "ld.shared.v2.b128", "ld.shared.b4", "st.v4", "lds.b32", "b32.ld"}) {
        std::string error;
        EXPECT_FALSE(access_named(name, error)) << name;
        EXPECT_EQ(error, "no access '" + name + there_are);
    }
    std::string error;
    EXPECT_TRUE(access_named("ld." + std::string(91, 'a') + ".b32", error)) << "98 characters";
    EXPECT_TRUE(access_named("ld." + std::string(92, 'a') + ".b32", error)) << "99";
    EXPECT_FALSE(access_named("ld." + std::string(93, 'a') + ".b32", error)) << "100";
    EXPECT_FALSE(access_named(std::string(200, 'a'), error));
    EXPECT_EQ(error, "no access '" + std::string(100, 'a') + there_are);
}

// Which lanes a row's elements go to: in place pairs of one lane, transposed one half of eight.
TEST(BanksModel, RowsOfMatrices) {
    for (const char* base : {"ldmatrix", "stmatrix"})
        for (const unsigned matrices : {1u, 2u, 4u})
            for (const bool trans : {false, true}) {
                const std::string name =
                    std::string(base) + ".x" + std::to_string(matrices) + (trans ? ".trans" : "");
                const Answer a = matrix_rows(access(name), {"lane*32", 0, {}, 1});
                EXPECT_EQ(a.data["access"], name);
                EXPECT_EQ(a.data["wavefronts"], 2 * matrices) << "rows 4 apart are in one bank";
                ASSERT_EQ(a.data["rows"].size(), 8 * matrices);
                ASSERT_EQ(a.grids[0].rows.size(), 8 * matrices);
                for (unsigned lane = 0; lane < 8 * matrices; ++lane) {
                    const unsigned row = lane % 8;
                    std::vector<unsigned> lanes;
                    for (unsigned l = 0; l < 32; ++l)
                        if (trans ? l % 4 == row / 2 : l / 4 == row) lanes.push_back(l);
                    const bool low = row % 2 == 0;
                    const auto& is = a.data["rows"][lane];
                    EXPECT_EQ(is["lane"], lane);
                    EXPECT_EQ(is["address"], 32 * lane);
                    EXPECT_EQ(is["matrix"], lane / 8);
                    EXPECT_EQ(is["register"], lane / 8);
                    EXPECT_EQ(is["row"], row);
                    EXPECT_EQ(is["lanes"], lanes);
                    EXPECT_EQ(is["bits"][0], trans && low ? 15 : 31);
                    EXPECT_EQ(is["bits"][1], trans && !low ? 16 : 0);
                    std::array<char, 8> hex{};
                    std::snprintf(hex.data(), hex.size(), "0x%x", 32 * lane);
                    EXPECT_EQ(
                        a.grids[0].rows[lane],
                        (std::vector<std::string>{
                            std::to_string(lane), hex.data(),
                            "row " + std::to_string(row) + " of matrix " + std::to_string(lane / 8),
                            "r" + std::to_string(lane / 8) +
                                (!trans ? ""
                                 : low  ? "[15:0]"
                                        : "[31:16]") +
                                " of lanes " + joined(lanes)}));
                }
                const bool warns = std::string(base) == "ldmatrix" && matrices < 4;
                EXPECT_EQ(a.notes.size(), size_t{warns} + size_t{trans}) << name;
            }
}

}  // namespace
}  // namespace lockwarp::lanes
