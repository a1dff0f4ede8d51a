// SPDX-License-Identifier: Apache-2.0
// Reading the protocol's arguments, whatever is in them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "launch/result.hpp"

namespace lockwarp::debug {

inline constexpr uint64_t max_warps = 32;  // of a CTA

// Why a request is refused.
struct Refused {
    std::string text;
};

inline std::string text_in(const nlohmann::json& j, const char* field) {
    return j.is_object() && j.contains(field) && j[field].is_string() ? j[field].get<std::string>()
                                                                      : std::string();
}

inline int64_t number_in(const nlohmann::json& j, const char* field, int64_t usual) {
    return j.is_object() && j.contains(field) && j[field].is_number_integer()
               ? j[field].get<int64_t>()
               : usual;
}

inline nlohmann::json list_in(const nlohmann::json& j, const char* field) {
    return j.is_object() && j.contains(field) && j[field].is_array() ? j[field]
                                                                     : nlohmann::json::array();
}

inline std::string sentence_of(const launch::Error& e) {
    if (!e.sentence.empty()) return e.sentence;
    return e.diagnostics.empty() ? "the PTX is wrong"
                                 : e.path + ":" + std::to_string(e.diagnostics[0].place.line) +
                                       ": " + e.diagnostics[0].message;
}

// "0xc", the number of an operation, and an offset in instructions; none: there is no such
// operation.
std::optional<uint32_t> operation_in(const std::string& reference, int64_t offset, size_t count);

// Without what is no UTF-8.
std::string valid_text(const std::string& text);

std::string base64(const uint8_t* bytes, size_t count);

}  // namespace lockwarp::debug
