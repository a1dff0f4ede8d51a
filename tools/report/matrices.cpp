// SPDX-License-Identifier: Apache-2.0
#include "tools/report/matrices.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "launch/values.hpp"

namespace lockwarp::tools {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> out{""};
    for (const char c : text)
        if (c == separator)
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

namespace {

std::string buffer_names(const Buffers& buffers) {
    std::string out;
    for (const auto& [name, bytes] : buffers) out += (out.empty() ? "" : ", ") + name;
    return out;
}

// Decimals that show every value; -1, the shortest exact text, where four lose too much.
int decimals_for(std::span<const uint8_t> bytes, isa::Type type, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const double v = std::fabs(launch::value_of(type, launch::element(bytes, type, i)));
        if (std::isfinite(v) && v != 0 && (v < 0.001 || v >= 1e7)) return -1;
    }
    return 4;
}

// Of the terminal; 100 where stdout is none.
size_t terminal_columns() {
    winsize size{};
    const bool known = ::isatty(STDOUT_FILENO) != 0 &&
                       ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return known ? size.ws_col : 100;
}

}  // namespace

bool parse_sizes(const std::string& text, std::initializer_list<uint64_t*> out) {
    const std::vector<std::string> parts = split(text, 'x');
    if (parts.size() != out.size()) return false;
    size_t i = 0;
    for (uint64_t* size : out) {
        const std::string& p = parts[i++];
        const auto [end, bad] = std::from_chars(p.data(), p.data() + p.size(), *size);
        if (bad != std::errc() || end != p.data() + p.size() || *size == 0 ||
            *size > (uint64_t{1} << 32))
            return false;
    }
    return true;
}

launch::Result<void> check_matrix(const std::string& option, const std::string& name,
                                  isa::Type type, uint64_t rows, uint64_t columns,
                                  const Buffers& buffers) {
    const auto found = buffers.find(name);
    if (found == buffers.end())
        return launch::failure(option + ": there is no buffer '" + name +
                               "'; buffers: " + buffer_names(buffers));
    const uint64_t width = isa::bits(type) / 8;
    if (rows > found->second.size() / width / columns)
        return launch::failure(fmt::format("{}: buffer '{}' has {} bytes, {}x{} of {} need {}",
                                           option, name, found->second.size(), rows, columns,
                                           isa::row(type).name.substr(1), rows * columns * width));
    return {};
}

launch::Result<PrintRequest> parse_print(const std::string& text) {
    PrintRequest out;
    const std::string form =
        "--print " + text + ": BUFFER:TYPE:ROWSxCOLS[:DECIMALS|:hex] is expected";
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() < 3 || parts.size() > 4) return launch::failure(form);
    out.buffer = parts[0];
    out.type = launch::value_type(parts[1]);
    if (out.type == isa::Type::none)
        return launch::failure("--print " + text + ": '" + parts[1] + "' is not a type; one of " +
                               launch::value_type_names());
    if (!parse_sizes(parts[2], {&out.rows, &out.columns})) return launch::failure(form);
    if (parts.size() == 3) return out;
    if (parts[3] == "hex") {
        out.hex = true;
    } else {
        const std::string& p = parts[3];
        const auto [end, bad] = std::from_chars(p.data(), p.data() + p.size(), out.decimals);
        if (bad != std::errc() || end != p.data() + p.size() || out.decimals < 0 ||
            out.decimals > 60)
            return launch::failure(form);
    }
    return out;
}

launch::Result<void> check_print(const PrintRequest& q, const Buffers& buffers) {
    return check_matrix("--print", q.buffer, q.type, q.rows, q.columns, buffers);
}

// Row and column numbers, columns under each other, in blocks of as many columns as fit.
void print_matrix(const PrintRequest& q, const Buffers& buffers, std::string& out) {
    const std::span<const uint8_t> bytes = buffers.at(q.buffer);
    const int decimals =
        q.decimals >= 0 ? q.decimals : decimals_for(bytes, q.type, q.rows * q.columns);
    const auto text = [&](uint64_t row, uint64_t column) {
        const uint64_t bits = launch::element(bytes, q.type, row * q.columns + column);
        return q.hex ? launch::hex_of(q.type, bits) : launch::text_of(q.type, bits, decimals);
    };
    size_t width = std::to_string(q.columns - 1).size();
    for (uint64_t i = 0; i < q.rows; ++i)
        for (uint64_t j = 0; j < q.columns; ++j) width = std::max(width, text(i, j).size());
    const size_t label = std::to_string(q.rows - 1).size();
    const size_t room = std::max(terminal_columns(), label + 1 + width) - label;
    const uint64_t columns = std::max<uint64_t>(1, room / (width + 1));
    for (uint64_t first = 0; first < q.columns; first += columns) {
        const uint64_t end = std::min(first + columns, q.columns);
        if (first != 0) out += '\n';
        out.append(label, ' ');
        for (uint64_t j = first; j < end; ++j) out += fmt::format(" {:>{}}", j, width);
        out += '\n';
        for (uint64_t i = 0; i < q.rows; ++i) {
            out += fmt::format("{:>{}}", i, label);
            for (uint64_t j = first; j < end; ++j) out += fmt::format(" {:>{}}", text(i, j), width);
            out += '\n';
        }
    }
}

}  // namespace lockwarp::tools
