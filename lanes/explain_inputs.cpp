// SPDX-License-Identifier: Apache-2.0
// The inputs of a dot product, as text, as JSON or at random.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "lanes/explain.hpp"
#include "lanes/explain_parts.hpp"
#include "launch/files.hpp"
#include "launch/values.hpp"

namespace lockwarp::lanes {

using isa::Type;

uint64_t next_random(uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t random_value(Type type, uint64_t& state) {
    const uint64_t r = next_random(state);
    if (!isa::is_float(type)) return r & ((uint64_t{1} << isa::bits(type)) - 1);
    const double fraction = 1.0 + static_cast<double>(r >> 20 & 0xffff) / 65536.0;
    const int exponent = static_cast<int>(r >> 8 & 7) - 4;
    return launch::bits_of(
        type, (r & 1) != 0 ? -std::ldexp(fraction, exponent) : std::ldexp(fraction, exponent));
}

namespace {

using json = nlohmann::ordered_json;

// Element bits of one number of the text; nullopt: it is none.
std::optional<uint64_t> bits_of_text(Type type, std::string_view text) {
    const unsigned width = isa::bits(type);
    if (text.starts_with("0x") || text.starts_with("0X")) {
        uint64_t bits = 0;
        const auto [end, problem] =
            std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
        if (problem != std::errc() || end != text.data() + text.size() || text.size() == 2)
            return std::nullopt;
        if (width < 64 && bits >> width != 0) return std::nullopt;
        return bits;
    }
    double value = 0;
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), value);
    // Also where no double is near enough: 1e400 is written inf, or as the bits that are meant.
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return launch::bits_of(type, value);
}

struct Numbers {
    std::vector<uint64_t> bits;
    bool by_lane = false;
};

launch::Result<Numbers> read_numbers(const char* name, Type type, std::string text) {
    Numbers out;
    if (text.starts_with("lanes:")) {
        out.by_lane = true;
        text.erase(0, 6);
    }
    constexpr size_t most = 1 << 20;
    if (text.size() > most)
        return launch::failure(fmt::format("--{}: more than {} characters", name, most));
    for (size_t at = 0; at < text.size();) {
        const size_t begin = text.find_first_not_of(", \t\n", at);
        if (begin == std::string::npos) break;
        const size_t end = std::min(text.find_first_of(", \t\n", begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        const auto bits = bits_of_text(type, word);
        if (!bits)
            return launch::failure(
                fmt::format("--{}: '{}' is not a value of {} (a number, or its bits as 0x...)",
                            name, word.substr(0, 60), isa::row(type).name.substr(1)));
        out.bits.push_back(*bits);
        at = end;
    }
    return out;
}

// The numbers of JSON: a list of lists, a list, or one.
launch::Result<void> read_json(const char* name, Type type, const json& j, Numbers& out) {
    if (j.is_array()) {
        for (const json& one : j)
            if (launch::Result<void> read = read_json(name, type, one, out); !read) return read;
        return {};
    }
    if (!j.is_number() && !j.is_string())
        return launch::failure(
            fmt::format("\"{}\" holds numbers, bits as \"0x3c00\", or lists of these", name));
    const auto bits = j.is_string() ? bits_of_text(type, j.get<std::string>())
                                    : std::optional(launch::bits_of(type, j.get<double>()));
    if (!bits)
        return launch::failure(fmt::format("\"{}\": {} is no {}", name, j.dump().substr(0, 60),
                                           isa::row(type).name.substr(1)));
    out.bits.push_back(*bits);
    return {};
}

// The value of element (row, column) where every lane holds the same fragment.
uint64_t lane_value(const Operand& o, const Numbers& n, unsigned row, unsigned column) {
    return n.bits[owners(o, row, column)[0].value];
}

}  // namespace

launch::Result<DotInputs> read_inputs(const Instruction& i, unsigned row, unsigned column,
                                      const InputTexts& texts) {
    const Operand& a = *operand_named(i, "A");
    const Operand& b = *operand_named(i, "B");
    const Operand& c = *operand_named(i, "C");
    if (row >= i.m || column >= i.n)
        return launch::failure(fmt::format("D of {} is {} x {}: rows 0 to {}, columns 0 to {}",
                                           i.key, i.m, i.n, i.m - 1, i.n - 1));
    Numbers na;
    Numbers nb;
    Numbers nc;
    for (const auto& [name, type, text, numbers] :
         {std::tuple("a", a.type, &texts.a, &na), std::tuple("b", b.type, &texts.b, &nb),
          std::tuple("c", c.type, &texts.c, &nc)}) {
        launch::Result<Numbers> read = read_numbers(name, type, *text);
        if (!read) return launch::failure(read);
        *numbers = std::move(*read);
    }
    if (!texts.file.empty()) {
        constexpr uint64_t most = 16 << 20;
        launch::Result<std::string> text = launch::read_text(texts.file, most);
        if (!text) return launch::failure(text);
        const json j = json::parse(*text, nullptr, false);
        if (!j.is_object())
            return launch::failure(fmt::format(
                "{}: it should be {{\"A\": [...], \"B\": [...], \"C\": [...]}}", texts.file));
        for (const auto& [key, type, numbers] :
             {std::tuple("A", a.type, &na), std::tuple("B", b.type, &nb),
              std::tuple("C", c.type, &nc)})
            if (j.contains(key) && numbers->bits.empty())
                if (const launch::Result<void> read = read_json(key, type, j[key], *numbers); !read)
                    return launch::failure(
                        fmt::format("{}: {}", texts.file, read.error().sentence));
    }
    uint64_t state = texts.seed;
    const auto take = [&](const char* name, const Operand& o, const Numbers& n, unsigned count,
                          auto&& place, std::vector<uint64_t>& bits) -> launch::Result<void> {
        const size_t given = n.bits.size();
        const size_t all = size_t{o.rows} * o.columns;
        if (given == 0) {
            for (unsigned k = 0; k < count; ++k) bits.push_back(random_value(o.type, state));
            return {};
        }
        if (n.by_lane && given != o.values)
            return launch::failure(
                fmt::format("--{} lanes: takes the {} values of a lane's fragment; {} were given",
                            name, o.values, given));
        if (!n.by_lane && given != count && given != all)
            return launch::failure(
                fmt::format("--{} takes {} value{}, all {} of {} row by row, or lanes: and the {} "
                            "of each lane's fragment; {} were given",
                            name, count, count == 1 ? "" : "s", all, o.name, o.values, given));
        for (unsigned k = 0; k < count; ++k) {
            const auto [r, col] = place(k);
            bits.push_back(n.by_lane        ? lane_value(o, n, r, col)
                           : given == count ? n.bits[k]
                                            : n.bits[r * o.columns + col]);
        }
        return {};
    };
    DotInputs out;
    std::vector<uint64_t> one;
    const auto at_a = [&](unsigned k) { return std::pair(row, k); };
    const auto at_b = [&](unsigned k) { return std::pair(k, column); };
    const auto at_c = [&](unsigned) { return std::pair(row, column); };
    launch::Result<void> taken = take("a", a, na, i.k, at_a, out.a);
    if (taken) taken = take("b", b, nb, i.k, at_b, out.b);
    if (taken) taken = take("c", c, nc, 1, at_c, one);
    if (!taken) return launch::failure(taken);
    out.c = one[0];
    return out;
}

}  // namespace lockwarp::lanes
