// SPDX-License-Identifier: Apache-2.0
#include "lanes/banks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "emu/isa/elements.hpp"
#include "emu/timing/wavefronts.hpp"
#include "lanes/expression.hpp"

namespace lockwarp::lanes {

namespace {

using json = nlohmann::ordered_json;

constexpr unsigned bank_count = timing::banks;
constexpr unsigned bank_bytes = timing::bank_bytes;
constexpr unsigned row_bytes = 16;

std::string lane_list(const std::vector<unsigned>& lanes) {
    std::string out;
    for (const unsigned l : lanes) out += (out.empty() ? "" : " ") + std::to_string(l);
    return out;
}

// The pattern in words: what address a lane has.
std::string pattern_text(const Access& a, const Pattern& p) {
    std::string out = p.expression.empty() ? usual_expression(a) : p.expression;
    if (out.find("stride") != std::string::npos) out += fmt::format(" with stride {}", p.stride);
    if (p.swizzle)
        out += fmt::format(", {}{}", text_of(*p.swizzle),
                           p.unit == 1 ? " of bytes" : fmt::format(" of {}-byte elements", p.unit));
    return out;
}

// Swizzles of 16-byte chunks, as tensor copies have them.
constexpr std::array<Swizzle, 3> usual_swizzles{{{1, 4, 3}, {2, 4, 3}, {3, 4, 3}}};

struct Repair {
    std::optional<uint32_t> stride;
    std::optional<Swizzle> swizzle;  // of bytes, in place of the one that is there
};

// The nearest stride above, and the smallest swizzle, that take the fewest wavefronts.
Repair repair(const Access& a, const Pattern& p) {
    Repair out;
    std::string error;
    const auto is_least = [&](const Pattern& tried) {
        const std::vector<uint32_t> all = addresses(a, tried, error);
        return !all.empty() && wavefronts(a, all) == least_wavefronts(a);
    };
    const bool strided =
        (p.expression.empty() ? usual_expression(a) : p.expression).find("stride") !=
        std::string::npos;
    Pattern padded = p;
    padded.swizzle.reset();
    for (unsigned extra = a.bytes; strided && !out.stride && extra <= 256; extra += a.bytes) {
        padded.stride = p.stride + extra;
        if (is_least(padded)) out.stride = padded.stride;
    }
    Pattern swizzled = p;
    swizzled.unit = 1;
    for (const Swizzle& s : usual_swizzles) {
        swizzled.swizzle = s;
        if (!out.swizzle && is_least(swizzled)) out.swizzle = s;
    }
    // Rows of more than 128 bytes have their number in higher bits.
    for (int shift = 4; shift <= 8 && !out.swizzle; ++shift) {
        swizzled.swizzle = Swizzle{3, 4, shift};
        if (is_least(swizzled)) out.swizzle = swizzled.swizzle;
    }
    return out;
}

// The lanes that want each word of each bank, in the phase that begins with a lane.
using BankWords = std::array<std::map<uint32_t, std::set<unsigned>>, bank_count>;
BankWords words_of(const Access& a, const std::vector<uint32_t>& all, unsigned first) {
    BankWords words;
    for (unsigned lane = first; lane < first + a.per_phase; ++lane)
        for (uint32_t w = all[lane] / bank_bytes; w <= (all[lane] + a.bytes - 1) / bank_bytes; ++w)
            words[w % bank_count][w].insert(lane);
    return words;
}

// Phases as rows, banks as columns: which lanes want a bank, and in how many words.
std::string bank_picture(const Access& a, const std::vector<uint32_t>& all) {
    constexpr unsigned cell = 30;
    constexpr unsigned left = 70;
    constexpr unsigned top = 30;
    std::string body;
    const auto text = [&](unsigned x, unsigned y, const std::string& words) {
        body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", x, y, escaped(words));
    };
    for (unsigned b = 0; b < bank_count; ++b)
        text(left + b * cell + cell / 2, top - 6, std::to_string(b));
    text(left / 2, top - 6, "bank");
    unsigned y = top;
    for (unsigned first = 0; first < a.lanes; first += a.per_phase) {
        const BankWords words = words_of(a, all, first);
        size_t most = 1;
        for (const auto& bank : words) most = std::max(most, bank.size());
        const unsigned height = 12 * static_cast<unsigned>(most) + 4;
        text(left / 2, y + 12, fmt::format("T{} to T{}", first, first + a.per_phase - 1));
        for (unsigned b = 0; b < bank_count; ++b) {
            const size_t count = words[b].size();
            body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                                left + b * cell, y, cell, height,
                                count == 0   ? "#fff"
                                : count == 1 ? "#cfe6f7"
                                             : "#e69f00");
            unsigned line = 0;
            for (const auto& [word, lanes] : words[b])
                text(left + b * cell + cell / 2, y + 12 * ++line,
                     lanes.size() == 1 ? fmt::format("T{}", *lanes.begin())
                                       : fmt::format("{} T", lanes.size()));
        }
        y += height + 8;
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\"><title>{2}: lanes of each bank, by phase</title>"
        "<style>rect{{stroke:#333;stroke-width:.6}}text{{font:9px sans-serif;text-anchor:middle}}"
        "</style><rect width=\"{0}\" height=\"{1}\" fill=\"#fff\" stroke=\"none\"/>{3}</svg>",
        left + bank_count * cell + 20, y + 20, escaped(a.name), body);
}

json phases_json(const std::vector<Phase>& all) {
    json list = json::array();
    for (const Phase& p : all) {
        json collisions = json::array();
        for (const Collision& c : p.collisions)
            collisions.push_back({{"bank", c.bank}, {"lanes", c.lanes}});
        list.push_back({{"lanes", {p.first_lane, p.first_lane + p.lanes - 1}},
                        {"wavefronts", p.wavefronts},
                        {"collisions", collisions}});
    }
    return list;
}

}  // namespace

uint32_t Swizzle::operator()(uint32_t x) const {
    const uint32_t ones = bits == 0 ? 0 : (uint32_t{1} << bits) - 1;
    if (shift >= 0) return x ^ ((x & (ones << (base + shift))) >> shift);
    return x ^ ((x & (ones << base)) << -shift);
}

std::optional<Swizzle> swizzle_named(std::string_view text) {
    if (text.starts_with("Swizzle")) text.remove_prefix(7);
    if (text.starts_with('<') && text.ends_with('>')) text = text.substr(1, text.size() - 2);
    std::array<int, 3> numbers{};
    size_t at = 0;
    for (size_t i = 0; i < 3; ++i) {
        const bool minus = text.substr(at).starts_with('-');
        if (minus) ++at;
        size_t digits = 0;
        for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && digits < 3; ++at, ++digits)
            numbers[i] = numbers[i] * 10 + (text[at] - '0');
        if (digits == 0) return std::nullopt;
        if (minus) numbers[i] = -numbers[i];
        while (text.substr(at).starts_with(' ')) ++at;
        if (i < 2) {
            if (!text.substr(at).starts_with(',')) return std::nullopt;
            ++at;
            while (text.substr(at).starts_with(' ')) ++at;
        }
    }
    const Swizzle s{numbers[0], numbers[1], numbers[2]};
    const int highest = s.base + s.bits + std::abs(s.shift);
    // CuTe asks for |S| >= B: the bits must not overlap.
    if (at != text.size() || s.bits < 0 || s.base < 0 || highest > 32 || std::abs(s.shift) < s.bits)
        return std::nullopt;
    return s;
}

std::string text_of(const Swizzle& s) {
    return fmt::format("Swizzle<{},{},{}>", s.bits, s.base, s.shift);
}

std::optional<Access> access_named(std::string_view name, std::string& error) {
    Access a;
    std::vector<std::string> words;
    for (size_t at = 0; at <= name.size() && name.size() < 100;) {
        const size_t dot = std::min(name.find('.', at), name.size());
        words.emplace_back(name.substr(at, dot - at));
        at = dot + 1;
    }
    const auto has = [&](std::string_view w) { return std::ranges::find(words, w) != words.end(); };
    const bool load = !words.empty() && words[0] == "ld";
    const bool store = !words.empty() && words[0] == "st";
    a.matrix = !words.empty() && (words[0] == "ldmatrix" || words[0] == "stmatrix");
    a.store = store || (a.matrix && words[0] == "stmatrix");
    if (a.matrix) {
        const unsigned matrices = has("x1") ? 1 : has("x2") ? 2 : has("x4") ? 4 : 0;
        if (matrices != 0) {
            a.trans = has("trans");
            a.name = fmt::format("{}.x{}{}", words[0], matrices, a.trans ? ".trans" : "");
            a.bytes = row_bytes;
            a.lanes = 8 * matrices;
            a.per_phase = 8;
            return a;
        }
    } else if (load || store) {
        unsigned bits = 0;
        for (const std::string& w : words) {
            const isa::Type t = isa::type_named("." + w);
            if (t != isa::Type::none && isa::bits(t) >= 8) bits = isa::bits(t);
        }
        const unsigned count = has("v4") ? 4 : has("v2") ? 2 : 1;
        a.bytes = bits / 8 * count;
        if (bits != 0 && a.bytes <= 16) {
            a.name = name;
            a.per_phase = timing::phase_lanes(a.bytes);
            return a;
        }
    }
    error = fmt::format(
        "no access '{}' to shared memory; there are ldmatrix.x1, .x2, .x4, "
        "stmatrix likewise, both with .trans, and ld.shared and st.shared of 8 to "
        "128 bits, as in ld.shared.v4.b32",
        name.substr(0, 100));
    return std::nullopt;
}

std::vector<Phase> phases(const Access& a, const std::vector<uint32_t>& all) {
    std::vector<Phase> out;
    for (unsigned first = 0; first < a.lanes; first += a.per_phase) {
        const BankWords words = words_of(a, all, first);
        Phase p{first, a.per_phase, 1, {}};
        for (const auto& bank : words)
            p.wavefronts = std::max(p.wavefronts, static_cast<unsigned>(bank.size()));
        if (p.wavefronts > 1)
            for (unsigned b = 0; b < bank_count; ++b) {
                if (words[b].size() != p.wavefronts) continue;
                Collision c{b, {}};
                std::set<unsigned> lanes;
                for (const auto& [word, who] : words[b]) lanes.insert(who.begin(), who.end());
                c.lanes.assign(lanes.begin(), lanes.end());
                p.collisions.push_back(std::move(c));
            }
        out.push_back(std::move(p));
    }
    return out;
}

unsigned wavefronts(const Access& a, const std::vector<uint32_t>& all) {
    unsigned sum = 0;
    for (const Phase& p : phases(a, all)) sum += p.wavefronts;
    return sum;
}

unsigned least_wavefronts(const Access& a) { return a.lanes / a.per_phase; }

std::string usual_expression(const Access& a) {
    if (!a.matrix) return "lane*stride";
    switch (a.matrices()) {
        case 1:
            return "(lane%8)*stride";
        case 2:
            return "(lane%8)*stride + lane/8*16";
        default:
            return "(lane%16)*stride + lane/16*16";
    }
}

std::vector<uint32_t> addresses(const Access& a, const Pattern& p, std::string& error) {
    std::vector<uint32_t> out;
    const std::string text = p.expression.empty() ? usual_expression(a) : p.expression;
    for (unsigned lane = 0; lane < a.lanes; ++lane) {
        const auto value = evaluate(text, lane, p.stride, error);
        if (!value) return {};
        uint32_t address = *value;
        if (p.swizzle) address = (*p.swizzle)(address / p.unit) * p.unit + address % p.unit;
        if (address % a.bytes != 0) {
            error = fmt::format(
                "lane {}: address {} is not a multiple of {}; {} traps (misaligned "
                "address)",
                lane, address, a.bytes, a.name);
            return {};
        }
        if (address > (1u << 30)) {
            error = fmt::format("lane {}: address {} is beyond any shared memory", lane, address);
            return {};
        }
        out.push_back(address);
    }
    return out;
}

Answer banks(const Access& a, const Pattern& p) {
    std::string error;
    const std::vector<uint32_t> all = addresses(a, p, error);
    if (all.empty()) return wrong(error);
    Answer out;
    const std::vector<Phase> list = phases(a, all);
    const unsigned taken = wavefronts(a, all);
    const unsigned least = least_wavefronts(a);
    unsigned worst = 1;
    for (const Phase& ph : list) worst = std::max(worst, ph.wavefronts);
    out.line = worst == 1 ? fmt::format("{}: {} wavefront{}, no conflict", a.name, taken,
                                        taken == 1 ? "" : "s")
                          : fmt::format("{}: {} wavefronts instead of {}, up to {}-way conflicts",
                                        a.name, taken, least, worst);
    out.svg = [a, all] { return bank_picture(a, all); };
    out.lines.push_back("address of a lane: " + pattern_text(a, p));
    out.data = {{"access", a.name},
                {"wavefronts", taken},
                {"least", least},
                {"addresses", all},
                {"phases", phases_json(list)}};
    Grid g;
    g.header = {"phase", "lanes", "wavefronts", "collisions"};
    for (size_t i = 0; i < list.size(); ++i) {
        const Phase& ph = list[i];
        std::string text;
        // Banks that the same lanes want are said once.
        std::map<std::vector<unsigned>, std::vector<unsigned>> by_lanes;
        for (const Collision& c : ph.collisions) by_lanes[c.lanes].push_back(c.bank);
        for (const auto& [lanes, banks_of] : by_lanes) {
            const bool run = banks_of.back() - banks_of.front() + 1 == banks_of.size();
            text += fmt::format("{}lanes {} on bank{}", text.empty() ? "" : "; ", lane_list(lanes),
                                banks_of.size() == 1 ? fmt::format(" {}", banks_of[0])
                                : run ? fmt::format("s {} to {}", banks_of.front(), banks_of.back())
                                      : "s " + lane_list(banks_of));
        }
        g.rows.push_back({std::to_string(i),
                          fmt::format("{} to {}", ph.first_lane, ph.first_lane + ph.lanes - 1),
                          std::to_string(ph.wavefronts), text.empty() ? "-" : text});
    }
    out.grids.push_back(std::move(g));
    if (taken > least) {
        const Repair r = repair(a, p);
        if (r.stride) {
            out.notes.push_back(fmt::format("without a conflict: stride {} ({} bytes of padding)",
                                            *r.stride, *r.stride - p.stride));
            out.data["padded_stride"] = *r.stride;
        }
        if (r.swizzle) {
            out.notes.push_back(
                fmt::format("without a conflict: {} of the byte address{}", text_of(*r.swizzle),
                            p.swizzle ? fmt::format(" in place of {}", text_of(*p.swizzle)) : ""));
            out.data["swizzle"] = {r.swizzle->bits, r.swizzle->base, r.swizzle->shift};
        }
        if (!r.stride && !r.swizzle)
            out.notes.emplace_back("no padding up to 256 bytes and no Swizzle<B,4,S> removes all");
    }
    return out;
}

Answer matrix_rows(const Access& a, const Pattern& p) {
    if (!a.matrix) return wrong(fmt::format("{} moves no matrices", a.name));
    std::string error;
    const std::vector<uint32_t> all = addresses(a, p, error);
    if (all.empty()) return wrong(error);
    Answer out;
    const bool load = !a.store;
    const unsigned taken = wavefronts(a, all);
    out.line = fmt::format("{}: lane 8j+r gives the address of row r of matrix j; {} wavefront{}",
                           a.name, taken, taken == 1 ? "" : "s");
    out.lines.push_back("address of a lane: " + pattern_text(a, p));
    Grid g;
    g.header = {"lane", "address", "row", load ? "goes to" : "comes from"};
    json rows = json::array();
    const isa::Elements plain = isa::moved_elements(1);
    const isa::Elements elements = a.trans ? isa::transposed(plain) : plain;
    for (unsigned lane = 0; lane < a.lanes; ++lane) {
        const unsigned matrix = lane / 8;
        const unsigned row = lane % 8;
        std::vector<unsigned> who;
        std::set<unsigned> halves;
        for (const isa::Element e : elements) {
            if (e.row != row) continue;
            if (who.empty() || who.back() != e.lane) who.push_back(e.lane);
            halves.insert(e.value);
        }
        const std::string bits = halves.size() == 2     ? ""
                                 : *halves.begin() == 0 ? "[15:0]"
                                                        : "[31:16]";
        g.rows.push_back({std::to_string(lane), fmt::format("0x{:x}", all[lane]),
                          fmt::format("row {} of matrix {}", row, matrix),
                          fmt::format("r{}{} of lanes {}", matrix, bits, lane_list(who))});
        rows.push_back({{"lane", lane},
                        {"address", all[lane]},
                        {"matrix", matrix},
                        {"row", row},
                        {"register", matrix},
                        {"bits", halves.size() == 2     ? json{31, 0}
                                 : *halves.begin() == 0 ? json{15, 0}
                                                        : json{31, 16}},
                        {"lanes", who}});
    }
    out.svg = [a, all] { return bank_picture(a, all); };
    out.data = {{"access", a.name}, {"wavefronts", taken}, {"rows", rows}};
    out.grids.push_back(std::move(g));
    if (a.lanes < 32 && load)
        out.notes.push_back(fmt::format(
            "Lanes {} to 31 give no row. On sm_75 their addresses are read all the same and must "
            "be valid, or the kernel traps; later architectures ignore them. Let every lane give a "
            "valid address: (lane%{}).",
            a.lanes, a.lanes));
    if (a.trans)
        out.notes.emplace_back(
            "Transposed are elements of 16 bits. Bytes stay in pairs, and 4-byte elements come "
            "apart in halves: .trans transposes neither.");
    return out;
}

Answer explain_swizzle(const Swizzle& s, const std::vector<uint32_t>& indices) {
    Answer out;
    const int from = s.shift >= 0 ? s.base + s.shift : s.base;
    const int to = s.shift >= 0 ? s.base : s.base - s.shift;
    const auto range = [&](int low) {
        return s.bits == 1 ? fmt::format("bit {}", low)
                           : fmt::format("bits {} to {}", low, low + s.bits - 1);
    };
    out.line = s.bits == 0 ? fmt::format("{}: the identity", text_of(s))
                           : fmt::format("{}: {} ^= {}", text_of(s), range(to), range(from));
    out.data = {{"swizzle", {s.bits, s.base, s.shift}}, {"from_bit", from}, {"to_bit", to}};
    if (s.bits > 0) {
        const uint32_t mask = ((uint32_t{1} << s.bits) - 1) << from;
        out.lines.push_back(s.shift >= 0
                                ? fmt::format("y = x ^ ((x & 0x{:x}) >> {})", mask, s.shift)
                                : fmt::format("y = x ^ ((x & 0x{:x}) << {})", mask, -s.shift));
        Grid g;
        g.title = "Bit by bit:";
        g.header = {"bit of y", "is"};
        for (int bit = std::max(from, to) + s.bits - 1; bit >= 0; --bit)
            g.rows.push_back(
                {std::to_string(bit), bit >= to && bit < to + s.bits
                                          ? fmt::format("x[{}] ^ x[{}]", bit, bit - to + from)
                                          : fmt::format("x[{}]", bit)});
        out.grids.push_back(std::move(g));
        // Where it is small, the whole: which chunk of 2^base lies at which place in each row.
        if (s.shift >= s.bits && s.bits <= 3) {
            Grid whole;
            const int columns = 1 << s.bits;
            whole.title = fmt::format(
                "Chunks of {} in rows of {}: where chunk c of row r of x goes:", 1u << s.base,
                uint64_t{1} << (s.base + s.shift));
            whole.header.emplace_back("row");
            for (int c = 0; c < columns; ++c) whole.header.push_back(fmt::format("c{}", c));
            for (uint32_t r = 0; r < static_cast<uint32_t>(columns); ++r) {
                std::vector<std::string> row{std::to_string(r)};
                for (uint32_t c = 0; c < static_cast<uint32_t>(columns); ++c)
                    row.push_back(
                        std::to_string((s((r << (s.base + s.shift)) | (c << s.base)) >> s.base) &
                                       static_cast<uint32_t>(columns - 1)));
                whole.rows.push_back(std::move(row));
            }
            out.grids.push_back(std::move(whole));
        }
    }
    if (!indices.empty()) {
        Grid g;
        g.header = {"x", "y", "x in bits", "y in bits"};
        json list = json::array();
        const int width = std::max(std::max(from, to) + s.bits, 8);
        for (const uint32_t x : indices) {
            g.rows.push_back({fmt::format("{} 0x{:x}", x, x), fmt::format("{} 0x{:x}", s(x), s(x)),
                              fmt::format("{:0{}b}", x, width),
                              fmt::format("{:0{}b}", s(x), width)});
            list.push_back({{"x", x}, {"y", s(x)}});
        }
        out.data["values"] = list;
        out.grids.push_back(std::move(g));
    }
    out.notes.emplace_back(
        "The unit is that of the index: Swizzle<3,4,3> of bytes and Swizzle<3,3,3> of 16-bit "
        "elements are the same, chunks of 16 bytes in rows of 128.");
    return out;
}

}  // namespace lockwarp::lanes
