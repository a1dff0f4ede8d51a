// SPDX-License-Identifier: Apache-2.0
// Instructions by the names that people write.
#include <fmt/format.h>

#include <algorithm>

#include "emu/isa/nearest.hpp"
#include "lanes/instruction.hpp"

namespace lockwarp::lanes {

namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
    Words out;
    while (!text.empty()) {
        const size_t dot = std::min(text.find('.'), text.size());
        if (dot != 0) out.emplace_back(text.substr(0, dot));
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return out;
}

// Words that every instruction of a family has, or that say nothing of the operands' places.
bool says_nothing(std::string_view w) {
    constexpr auto words = std::to_array<std::string_view>(
        {"sync", "aligned", "mma_async", "m8n8", "shared", "shared::cta", "b16", "satfinite"});
    return std::ranges::find(words, w) != words.end();
}

Words meaning(std::string_view text) {
    Words words = split(text);
    std::erase_if(words, says_nothing);
    return words;
}

bool subsequence(const Words& part, const Words& whole) {
    size_t at = 0;
    for (const std::string& w : whole)
        if (at < part.size() && part[at] == w) ++at;
    return at == part.size();
}

// Words that have to be written for an instruction to be meant: without them "m16n8k32.f32.f16"
// would be the dense and the sparse one.
bool has_to_be_written(std::string_view w) {
    return w == "sp" || w == "sp::ordered_metadata" || w == "wmma" || w == "wgmma" ||
           w == "trans" || w == "popc" || w.starts_with("kind::");
}

Words without_orders(Words words) {
    std::erase_if(words, [](const std::string& w) { return w == "row" || w == "col"; });
    return words;
}

// Of "m16n8k32.s32.s8" those whose operands have no types but s32 and s8; all where none is so.
std::vector<std::string> without_unwritten_types(const std::vector<std::string>& keys,
                                                 const Words& asked) {
    std::vector<std::string> out;
    for (const std::string& key : keys)
        if (std::ranges::all_of(meaning(key), [&](const std::string& w) {
                return isa::type_named("." + w) == isa::Type::none ||
                       std::ranges::find(asked, w) != asked.end();
            }))
            out.push_back(key);
    return out.empty() ? keys : out;
}

struct Spelled {
    std::string key;
    Words words, ptx;
    bool fixed_orders;  // .row.col is the only order
};

const std::vector<Spelled>& spellings() {
    static const std::vector<Spelled> all = [] {
        std::vector<Spelled> out;
        for (const Instruction& i : all_instructions(std::nullopt)) {
            const bool chooses =
                i.key.find(".row") != std::string::npos || i.key.find(".col") != std::string::npos;
            out.push_back({i.key, meaning(i.key), meaning(i.ptx), !chooses});
        }
        return out;
    }();
    return all;
}

std::string listed(const std::vector<std::string>& keys) {
    std::string out;
    constexpr size_t most = 8;
    for (size_t i = 0; i < std::min(keys.size(), most); ++i) out += "\n  " + keys[i];
    if (keys.size() > most)
        out += fmt::format("\n  and {} more (lockwarp info)", keys.size() - most);
    return out;
}

std::string joined(const Words& words) {
    std::string out;
    for (const std::string& w : words) out += (out.empty() ? "" : ".") + w;
    return out;
}

// The nearest names to one that is none, without what a mnemonic has around it.
std::string suggestion(std::string_view name) {
    constexpr size_t longest = 120;  // of a name that is worth comparing
    if (name.size() > longest) return "";
    const Words words = meaning(name);
    const std::string asked = joined(words);
    std::vector<std::pair<size_t, std::string>> near;
    for (const Spelled& s : spellings()) {
        // As many words as were written, with and without the family's.
        size_t far = isa::edit_distance(asked, joined(s.words));
        for (size_t from = 0; from < 2; ++from) {
            const size_t to = std::min(s.words.size(), from + words.size());
            if (from < to)
                far = std::min(far, isa::edit_distance(
                                        asked, joined({s.words.begin() + static_cast<long>(from),
                                                       s.words.begin() + static_cast<long>(to)})));
        }
        near.emplace_back(far, s.key);
    }
    std::ranges::stable_sort(near, {}, &std::pair<size_t, std::string>::first);
    std::vector<std::string> keys;
    for (size_t i = 0; i < 3 && i < near.size() && near[i].first * 2 <= asked.size(); ++i)
        keys.push_back(near[i].second);
    return keys.empty() ? "; lockwarp info lists them" : "; the nearest:" + listed(keys);
}

// CuTe's name of one operation: what it says, or an empty key.
struct Cute {
    std::string key;
    bool is_cute = false;
};

std::string type_word(std::string_view w) {
    if (w == "U1") return "b1";
    std::string out(w);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// "F32F16F16F32" -> f32 f16 f16 f32; empty where there is anything else.
std::vector<std::string> type_words(std::string_view text) {
    constexpr auto known = std::to_array<std::string_view>(
        {"E4M3", "E5M2", "TF32", "BF16", "F16", "F32", "F64", "S32", "S8", "U8", "S4", "U4", "U1"});
    std::vector<std::string> out;
    while (!text.empty()) {
        const auto found =
            std::ranges::find_if(known, [&](std::string_view w) { return text.starts_with(w); });
        if (found == known.end()) return {};
        out.push_back(type_word(*found));
        text.remove_prefix(found->size());
    }
    return out;
}

std::vector<std::string> parted(std::string_view text, char at) {
    std::vector<std::string> out{""};
    for (const char c : text)
        if (c == at)
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

// "16x8x16" -> m16n8k16; empty where it is none.
std::string shape_word(const std::string& text) {
    const std::vector<std::string> numbers = parted(text, 'x');
    for (const std::string& n : numbers)
        if (n.empty() || n.find_first_not_of("0123456789") != std::string::npos) return "";
    return numbers.size() == 3 ? fmt::format("m{}n{}k{}", numbers[0], numbers[1], numbers[2]) : "";
}

// "SM75", "U32x4", "LDSM", "N"
std::string copy_key(const std::vector<std::string>& words) {
    const bool trans = words[3] == "T";
    const bool load = words[2] == "LDSM";
    const std::string prefix = trans ? "U16x" : "U32x";
    const int count = words[1].back() - '0';
    if ((!trans && words[3] != "N") || (!load && words[2] != "STSM") ||
        words[0] != (load ? "SM75" : "SM90") || !words[1].starts_with(prefix) ||
        words[1].size() != prefix.size() + 1 || (trans && count % 2 != 0))
        return "";
    return fmt::format("{}.x{}{}", load ? "ldmatrix" : "stmatrix", trans ? count / 2 : count,
                       trans ? ".trans" : "");
}

// "SM90", "64x128x16", "F16F16F16", "SS" and after it "TN", "SATURATE"
std::string warpgroup_key(const std::vector<std::string>& words, const std::string& shape) {
    const std::vector<std::string> types = type_words(words[2]);
    if (types.size() != 3) return "";
    for (size_t n = 4; n < words.size(); ++n)
        if (words[n] != "TN" && words[n] != "SATURATE") return "";
    return fmt::format("wgmma.{}.{}.{}.{}{}", shape, types[0], types[1], types[2],
                       types[1] == "b1" ? ".and.popc" : "");
}

// Products of complex<double>, and on SM80 with Gauss's three real ones: CuTe's layouts of them are
// those of the real operation, whose values are complex then (cute/atom/mma_traits_sm80.hpp,
// _sm90).
bool is_complex(const std::vector<std::string>& words, std::string_view shape) {
    const bool is_first = shape == "m8n8k4";
    return words[0] == (is_first ? "SM80" : "SM90") &&
           (words[2] == "C64C64C64C64" || (is_first && words[2] == "GC64C64C64GC64"));
}

// "SM80", "16x8x16", "F32F16F16F32", "TN" and after it "SATURATE", "XORPOPC" or "ANDPOPC"
std::string mma_key(const std::vector<std::string>& words, const std::string& shape) {
    if (words.size() == 4 && words[3] == "TN" && is_complex(words, shape))
        return fmt::format("mma.{}.f64.f64.f64.f64", shape);
    const std::vector<std::string> types = type_words(words[2]);
    const std::string& orders = words[3];
    const bool is_order = orders == "TN" || orders == "NT" || orders == "NN" || orders == "TT";
    const bool volta = words[0] == "SM70";
    if (types.size() != 4 || !is_order || (!volta && orders != "TN") || words.size() > 5) return "";
    std::string key = "mma." + shape;
    if (volta)
        key += fmt::format(".{}.{}", orders[0] == 'T' ? "row" : "col",
                           orders[1] == 'N' ? "col" : "row");
    for (const std::string& t : types) key += "." + t;
    if (words.size() == 5) {
        if (words[4] == "XORPOPC")
            key += ".xor.popc";
        else if (words[4] == "ANDPOPC")
            key += ".and.popc";
        else if (words[4] != "SATURATE")
            return "";
    }
    return key;
}

Cute from_cute(const std::string& name) {
    if (name == "SM75_U32x1_MOVM_T") return {"movmatrix.trans", true};
    if (!name.starts_with("SM") || name.find('_') == std::string::npos) return {};
    const std::vector<std::string> words = parted(name, '_');
    if (words.size() < 4) return {"", true};
    if (words.size() == 4 && words[1].starts_with("U")) return {copy_key(words), true};
    const std::string shape = shape_word(words[1]);
    if (shape.empty()) return {"", true};
    const bool warpgroup = words[3] == "SS" || words[3] == "RS";
    if (warpgroup && (words[0] == "SM90" || words[0] == "SM90::GMMA::MMA"))
        return {warpgroup_key(words, shape), true};
    return {mma_key(words, shape), true};
}

}  // namespace

Found find(std::string_view name, std::optional<isa::Arch> arch) {
    constexpr size_t longest_name = 200;
    if (name.size() > longest_name)
        return {std::nullopt, fmt::format("a name of {} characters is none", name.size())};
    if (const Cute cute = from_cute(std::string(name)); cute.is_cute) {
        Found out;
        if (!cute.key.empty()) out = make(cute.key, arch);
        if (!out.instruction && out.error.empty()) out.error = "no such operation";
        if (!out.instruction && out.error.starts_with("no "))
            out.error = fmt::format("no CuTe operation '{}'{}", name,
                                    cute.key.empty() ? "" : suggestion(cute.key));
        return out;
    }
    const Words asked = meaning(name);
    if (asked.empty()) return {std::nullopt, fmt::format("'{}' names no instruction", name)};
    std::vector<std::string> exact;
    std::vector<std::string> near;
    const Words unordered = without_orders(asked);
    for (const Spelled& s : spellings()) {
        const Words& mine = s.fixed_orders ? unordered : asked;
        if (mine == s.words || mine == without_orders(s.ptx) || asked == s.ptx)
            exact.push_back(s.key);
        if (!subsequence(mine, s.words) && !subsequence(mine, s.ptx)) continue;
        const bool meant = std::ranges::all_of(s.words, [&](const std::string& w) {
            return !has_to_be_written(w) || std::ranges::find(asked, w) != asked.end() ||
                   (w == "trans" && s.words[0] == "movmatrix");
        });
        if (meant) near.push_back(s.key);
    }
    if (!exact.empty()) near = exact;
    // Of orders that are not written, the one that every other mma has.
    if (unordered == asked) {
        std::vector<std::string> usual;
        for (const std::string& key : near)
            if (key.find(".row.col.") != std::string::npos) usual.push_back(key);
        if (!usual.empty()) near = usual;
    }
    near = without_unwritten_types(near, asked);
    if (near.size() == 1) return make(near[0], arch);
    if (near.empty())
        return {std::nullopt, fmt::format("no instruction '{}'{}", name, suggestion(name))};
    return {std::nullopt,
            fmt::format("'{}' fits {} instructions:{}", name, near.size(), listed(near))};
}

}  // namespace lockwarp::lanes
