// SPDX-License-Identifier: Apache-2.0
#include "tools/report/shown.hpp"
#include "lanes/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockwarp::tools {

namespace {

std::string_view line_of(std::string_view source, uint32_t line) {
    size_t begin = 0;
    for (uint32_t i = 1; i < line; ++i) {
        begin = source.find('\n', begin);
        if (begin == std::string_view::npos) return {};
        ++begin;
    }
    return source.substr(begin, std::min(source.find('\n', begin), source.size()) - begin);
}

}  // namespace

std::string marked(std::string_view source, ptx::Place place) {
    if (place.line == 0) return {};
    const std::string_view whole = line_of(source, place.line);
    const std::string number = std::to_string(place.line);
    const size_t room = lanes::line_columns - number.size() - 6;
    const size_t at = place.column == 0 ? 0 : place.column - 1;
    const size_t first = at > room * 3 / 4 ? at - room / 2 : 0;
    if (first > whole.size()) return {};
    std::string text(whole.substr(first, room));
    for (char& c : text)
        if (c == '\t')
            c = ' ';
        else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
            c = '.';
    std::string under(at - first, ' ');
    const size_t length =
        std::min<size_t>(std::max(place.length, 1u), room - std::min(room - 1, at - first));
    under.push_back('^');
    under.append(length - 1, '~');
    return fmt::format("  {} | {}\n  {} | {}\n", number, text, std::string(number.size(), ' '),
                       under);
}

std::string folded(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t room = lanes::line_columns - 2;
        size_t end = text.size();
        if (end > room) {
            end = text.rfind(' ', room);
            if (end == std::string_view::npos || end == 0) end = room;
        }
        out += fmt::format("  {}\n", text.substr(0, end));
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
    }
    return out;
}

}  // namespace lockwarp::tools
