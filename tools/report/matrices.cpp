// SPDX-License-Identifier: Apache-2.0
#include "tools/report/matrices.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <Eigen/Dense>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "launch/values.hpp"

namespace lockwarp::tools {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> out{""};
    for (const char c : text)
        if (c == separator)
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

// "16x8": positive numbers of at most 2^32.
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

std::string buffer_names(const Buffers& buffers) {
    std::string out;
    for (const auto& [name, bytes] : buffers) out += (out.empty() ? "" : ", ") + name;
    return out;
}

// A matrix of a buffer: the buffer must hold all of it.
launch::Result<void> check(const std::string& option, const std::string& name, isa::Type type,
                           uint64_t rows, uint64_t columns, const Buffers& buffers) {
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

// Decimals that show every value; -1, the shortest exact text, where four lose too much.
int decimals_for(std::span<const uint8_t> bytes, isa::Type type, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const double v = std::fabs(launch::value_of(type, launch::element(bytes, type, i)));
        if (std::isfinite(v) && v != 0 && (v < 0.001 || v >= 1e7)) return -1;
    }
    return 4;
}

Eigen::MatrixXd matrix(std::span<const uint8_t> bytes, isa::Type type, uint64_t rows,
                       uint64_t columns) {
    Eigen::MatrixXd out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    for (uint64_t i = 0; i < rows; ++i)
        for (uint64_t j = 0; j < columns; ++j)
            out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
                launch::value_of(type, launch::element(bytes, type, i * columns + j));
    return out;
}

// Of the terminal; 100 where stdout is none.
size_t terminal_columns() {
    winsize size{};
    const bool known = ::isatty(STDOUT_FILENO) != 0 &&
                       ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return known ? size.ws_col : 100;
}

// The distance between neighbouring values of the type at a magnitude.
double ulp_at(isa::Type type, double value) {
    const uint64_t bits = launch::bits_of(type, std::fabs(value));
    return launch::value_of(type, bits + 1) - launch::value_of(type, bits);
}

}  // namespace

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

launch::Result<ProductRequest> parse_product(const std::string& text) {
    ProductRequest out;
    const std::string form = "--product " + text +
                             ": D=A*B:MxNxK:AB_TYPE:D_TYPE is expected (A' for A stored K x M, "
                             "B' for B stored N x K)";
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() != 4) return launch::failure(form);
    const size_t equals = parts[0].find('=');
    const size_t star = parts[0].find('*');
    if (equals == std::string::npos || star == std::string::npos || star < equals)
        return launch::failure(form);
    out.d = parts[0].substr(0, equals);
    out.a = parts[0].substr(equals + 1, star - equals - 1);
    out.b = parts[0].substr(star + 1);
    out.a_transposed = out.a.ends_with('\'');
    if (out.a_transposed) out.a.pop_back();
    out.b_transposed = out.b.ends_with('\'');
    if (out.b_transposed) out.b.pop_back();
    out.type_ab = launch::value_type(parts[2]);
    out.type_d = launch::value_type(parts[3]);
    if (!parse_sizes(parts[1], {&out.m, &out.n, &out.k}) || out.type_ab == isa::Type::none ||
        out.type_d == isa::Type::none)
        return launch::failure(form);
    return out;
}

launch::Result<void> check_print(const PrintRequest& q, const Buffers& buffers) {
    return check("--print", q.buffer, q.type, q.rows, q.columns, buffers);
}

launch::Result<void> check_product(const ProductRequest& q, const Buffers& buffers) {
    for (launch::Result<void> held : {check("--product", q.a, q.type_ab, q.m, q.k, buffers),
                                      check("--product", q.b, q.type_ab, q.n, q.k, buffers),
                                      check("--product", q.d, q.type_d, q.m, q.n, buffers)})
        if (!held) return held;
    return {};
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

void product_report(const ProductRequest& q, const Buffers& before, const Buffers& after,
                    std::string& out) {
    const auto factor = [&](const std::string& name, uint64_t rows, uint64_t columns,
                            bool transposed) -> Eigen::MatrixXd {
        if (!transposed) return matrix(before.at(name), q.type_ab, rows, columns);
        return matrix(before.at(name), q.type_ab, columns, rows).transpose();
    };
    const Eigen::MatrixXd a = factor(q.a, q.m, q.k, q.a_transposed);
    const Eigen::MatrixXd b = factor(q.b, q.k, q.n, q.b_transposed);
    const Eigen::MatrixXd exact = a * b;
    const Eigen::MatrixXd d = matrix(after.at(q.d), q.type_d, q.m, q.n);
    Eigen::Index row = 0;
    Eigen::Index column = 0;
    double worst = -1;
    uint64_t not_numbers = 0;
    for (Eigen::Index i = 0; i < d.rows(); ++i)
        for (Eigen::Index j = 0; j < d.cols(); ++j) {
            const double deviation = std::fabs(d(i, j) - exact(i, j));
            if (!std::isfinite(deviation)) {
                ++not_numbers;
            } else if (deviation > worst) {
                worst = deviation;
                row = i;
                column = j;
            }
        }
    const std::string name =
        q.d + " = " + q.a + (q.a_transposed ? "'" : "") + "*" + q.b + (q.b_transposed ? "'" : "");
    if (worst < 0) {
        out += fmt::format("{}: no element is a finite number\n", name);
        return;
    }
    out += fmt::format(
        "{}: largest deviation from the exact product {:.6g} ({:.3f} ulp of {}) at {}[{}][{}]:\n"
        "  {:.10g}, exact {:.10g}\n",
        name, worst, worst / ulp_at(q.type_d, exact(row, column)),
        isa::row(q.type_d).name.substr(1), q.d, row, column, d(row, column), exact(row, column));
    if (not_numbers != 0)
        out += fmt::format("  {} elements are not finite and are left out\n", not_numbers);
}

}  // namespace lockwarp::tools
