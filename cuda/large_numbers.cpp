// SPDX-License-Identifier: Apache-2.0
#include "cuda/large_numbers.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace lockwarp::cuda {

std::vector<uint64_t> large_numbers(std::string_view text) {
    const auto part_of_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
               c == '%' || c == '.';
    };
    std::vector<uint64_t> out;
    for (auto at = text.begin(); at != text.end();) {
        const auto word = std::find_if(at, text.end(), part_of_word);
        at = std::find_if_not(word, text.end(), part_of_word);
        // Integer constants: decimal, hexadecimal, octal, binary; U behind them.
        std::string_view digits(word, at);
        if (digits.size() < 10 || digits[0] < '0' || digits[0] > '9') continue;
        int base = 10;
        if (digits[0] == '0') {
            base = digits[1] == 'x' || digits[1] == 'X'   ? 16
                   : digits[1] == 'b' || digits[1] == 'B' ? 2
                                                          : 8;
            digits.remove_prefix(base == 8 ? 1 : 2);
        }
        if (digits.back() == 'U') digits.remove_suffix(1);
        uint64_t n = 0;
        const auto [end, error] = std::from_chars(&*digits.begin(), digits.end(), n, base);
        if (error == std::errc() && end == digits.end() && n >> 32 != 0) out.push_back(n);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace lockwarp::cuda
