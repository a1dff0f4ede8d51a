// SPDX-License-Identifier: Apache-2.0
// What a question is answered with, and the forms it can be written in.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockwarp::lanes {

inline constexpr size_t line_columns = 100;  // of what is printed

struct Grid {
    std::string title;  // empty: none
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    bool wraps = false;  // may be written in blocks of columns, each with the first column
};

struct Answer {
    std::string line;                // the answer in one line
    std::vector<std::string> lines;  // what else there is to say before the grids
    std::vector<Grid> grids;
    std::vector<std::string> notes;  // and after them
    nlohmann::ordered_json data;
    std::function<std::string()> svg;  // a picture, drawn where it is wanted; empty: of the text
    std::string error;  // wrong input, and what would be right; all else is empty then
};

inline Answer wrong(std::string message) {
    Answer a;
    a.error = std::move(message);
    return a;
}

enum class Format : uint8_t { text, markdown, csv, json, svg, html };

inline constexpr std::string_view format_names = "text, markdown, csv, json, svg, html";
std::optional<Format> format_named(std::string_view name);

// nullopt: the input was wrong, and there is no answer.
std::optional<std::string> render(const Answer& a, Format format);

// Text that stands in HTML, SVG or XML.
std::string escaped(std::string_view text);

}  // namespace lockwarp::lanes
