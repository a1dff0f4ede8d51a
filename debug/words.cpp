// SPDX-License-Identifier: Apache-2.0
#include "debug/words.hpp"

#include <algorithm>
#include <charconv>

namespace lockwarp::debug {

namespace {
constexpr std::string_view blanks = " \t\r\n";
}

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> out;
    for (size_t at = text.find_first_not_of(blanks); at < text.size();
         at = text.find_first_not_of(blanks, at)) {
        const size_t end = std::min(text.find_first_of(blanks, at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

std::optional<uint64_t> number_of(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    uint64_t out = 0;
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), out, hex ? 16 : 10);
    if (problem != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return out;
}

bool sizes_of(std::string_view text, uint64_t& rows, uint64_t& columns) {
    constexpr uint64_t max_size = uint64_t{1} << 32;
    const size_t x = text.find('x');
    if (x == std::string_view::npos || text.starts_with("0x")) return false;
    const std::optional<uint64_t> r = number_of(text.substr(0, x));
    const std::optional<uint64_t> c = number_of(text.substr(x + 1));
    if (!r || !c || *r == 0 || *c == 0 || *r > max_size || *c > max_size) return false;
    rows = *r;
    columns = *c;
    return true;
}

std::optional<uint64_t> cta_index(std::string_view text, const warp::Dim3& grid) {
    if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
    std::vector<uint64_t> n;
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::optional<uint64_t> one = number_of(trimmed(text.substr(at, comma - at)));
        if (!one || n.size() == 3) return std::nullopt;
        n.push_back(*one);
        at = comma + 1;
    }
    if (n.size() == 1) return n[0] < grid.count() ? std::optional(n[0]) : std::nullopt;
    n.resize(3);
    if (n[0] >= grid.x || n[1] >= grid.y || n[2] >= grid.z) return std::nullopt;
    return (n[2] * grid.y + n[1]) * grid.x + n[0];
}

std::string printable(std::string_view text, bool lines) {
    std::string out(text);
    for (char& c : out)
        if ((static_cast<unsigned char>(c) < 32 || c == 127) && !(lines && c == '\n')) c = '.';
    return out;
}

std::string lanes_text(uint32_t lanes) {
    if (lanes == UINT32_MAX) return "all lanes";
    std::string out;
    for (uint32_t i = 0; i < 32;) {
        if ((lanes >> i & 1) == 0) {
            ++i;
            continue;
        }
        uint32_t end = i + 1;
        while (end < 32 && (lanes >> end & 1) != 0) ++end;
        out += (out.empty() ? "" : ", ") + std::to_string(i);
        if (end - i > 1) out += "-" + std::to_string(end - 1);
        i = end;
    }
    return out.empty() ? "no lane"
                       : (out.find_first_of(",-") == std::string::npos ? "lane " : "lanes ") + out;
}

}  // namespace lockwarp::debug
