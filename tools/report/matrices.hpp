// SPDX-License-Identifier: Apache-2.0
// Buffers as matrices, printed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emu/isa/types.hpp"
#include "launch/result.hpp"

namespace lockwarp::tools {

// What stands between separators: of a text without one, the text.
std::vector<std::string> split(const std::string& text, char separator);

// "--print BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex]"
struct PrintRequest {
    std::string buffer;
    isa::Type type = isa::Type::none;
    uint64_t rows = 0, columns = 0;
    int decimals = -1;  // -1: chosen by the values
    bool hex = false;
};

[[nodiscard]] launch::Result<PrintRequest> parse_print(const std::string& text);

using Buffers = std::map<std::string, std::span<const uint8_t>>;

// Whether the buffer is there and holds the matrix.
[[nodiscard]] launch::Result<void> check_print(const PrintRequest& request, const Buffers& buffers);

// A matrix of a buffer: the buffer must hold all of it. `option`: what a message begins with.
[[nodiscard]] launch::Result<void> check_matrix(const std::string& option, const std::string& name,
                                                isa::Type type, uint64_t rows, uint64_t columns,
                                                const Buffers& buffers);

// "16x8": positive numbers of at most 2^32. false: not of that form.
bool parse_sizes(const std::string& text, std::initializer_list<uint64_t*> out);

// Rows of elements, appended to `out`; for a request that was checked.
void print_matrix(const PrintRequest& request, const Buffers& buffers, std::string& out);

}  // namespace lockwarp::tools
