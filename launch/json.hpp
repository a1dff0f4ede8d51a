// SPDX-License-Identifier: Apache-2.0
// JSON as a tree that knows where in the text each value and name stands, for messages with a line
// and a column. nlohmann-json reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/ptx/tree.hpp"
#include "launch/result.hpp"

namespace lockwarp::launch {

enum class JsonKind : uint8_t { null, boolean, natural, negative, real, text, list, object };

struct Json {
    JsonKind kind = JsonKind::null;
    uint32_t begin = 0, end = 0;  // bytes of the text
    union {
        uint64_t natural = 0;  // a whole number from 0 to 2^64 - 1; of a boolean 1 or 0
        int64_t negative;
        double real;
    };

    struct Key {
        std::string name;
        uint32_t begin = 0;
    };
    struct Inner {
        std::string text;
        std::vector<Key> keys;    // of an object's items
        std::vector<Json> items;  // of a list or an object, in the order of the text
    };
    std::unique_ptr<Inner> inner;  // of a text, a list, an object

    bool is(JsonKind k) const { return kind == k; }
    bool is_number() const {
        return is(JsonKind::natural) || is(JsonKind::negative) || is(JsonKind::real);
    }
    double number() const {
        if (is(JsonKind::natural)) return static_cast<double>(natural);
        return is(JsonKind::negative) ? static_cast<double>(negative) : real;
    }
    const std::string& text() const { return inner->text; }
    const std::vector<Key>& keys() const { return inner->keys; }
    const std::vector<Json>& items() const { return inner->items; }
    // An object's member; nullptr where there is none.
    const Json* find(std::string_view name) const;
};

struct Document {
    std::string path;  // for messages
    std::string text;
    std::vector<uint32_t> lines;  // where each begins
    Json root;

    ptx::Place place(uint32_t byte) const;
    // "path:line:column: "
    std::string at(uint32_t byte) const;
};

// Errors, with their place: what is no JSON, a name twice in one object, a whole number that has
// more than 64 bits, a number beyond the largest f64, brackets deeper than 64.
[[nodiscard]] Result<Document> parse_json(std::string text, const std::string& path);

// "path:line:column: " of a place; without a place "path: ".
std::string at(const std::string& path, ptx::Place place);

// A text as messages show it: what a terminal would obey becomes '?'.
std::string shown(std::string_view text);

}  // namespace lockwarp::launch
