// SPDX-License-Identifier: Apache-2.0
#include "lanes/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lockwarp::lanes {

namespace {

struct Operator {
    std::string_view text;
    int level;  // higher binds tighter
};
constexpr auto operators = std::to_array<Operator>({{"<<", 4},
                                                    {">>", 4},
                                                    {"|", 1},
                                                    {"^", 2},
                                                    {"&", 3},
                                                    {"+", 5},
                                                    {"-", 5},
                                                    {"*", 6},
                                                    {"/", 6},
                                                    {"%", 6}});

class Reader {
  public:
    Reader(std::string_view text, uint32_t lane, uint32_t stride)
        : whole(text), lane_number(lane), stride_bytes(stride) {}

    std::optional<uint32_t> all(std::string& error) {
        const int64_t value = sum(1);
        if (at != whole.size()) fail("an operator");
        if (problem.empty() && (value < 0 || value > UINT32_MAX))
            problem = fmt::format("'{}' is {}: not a number of 32 bits", whole, value);
        if (problem.empty()) return static_cast<uint32_t>(value);
        error = problem;
        return std::nullopt;
    }

  private:
    void skip() { at = std::min(whole.find_first_not_of(" \t", at), whole.size()); }

    // Of all that is wrong the first is told, and nothing is read behind it.
    int64_t fail(std::string_view wanted) {
        if (problem.empty())
            problem = fmt::format("'{}': {} should stand at character {}", whole, wanted, at + 1);
        at = whole.size();
        return {};
    }

    const Operator* next_operator() {
        skip();
        for (const Operator& o : operators)
            if (whole.substr(at).starts_with(o.text)) return &o;
        return nullptr;
    }

    // What an operator makes of two values; the values of a shift and a division are not negative.
    // Operands are within 32 bits and a sign.
    int64_t applied(std::string_view op, int64_t left, int64_t right) {
        const bool is_shift = op == "<<" || op == ">>";
        if ((is_shift || op == "/" || op == "%") && (left < 0 || right < 0))
            return fail("no negative value");
        if (is_shift && right > 31) return fail("a shift by at most 31");
        switch (op[0]) {
            case '<':
                return left << right;
            case '>':
                return left >> right;
            case '|':
                return left | right;
            case '^':
                return left ^ right;
            case '&':
                return left & right;
            case '+':
                return left + right;
            case '-':
                return left - right;
            case '*': {
                int64_t product = INT64_MAX;  // where it has over 64 bits
                return __builtin_mul_overflow(left, right, &product) ? INT64_MAX : product;
            }
            default:
                if (right == 0) return fail("a number other than 0");
                return op[0] == '/' ? left / right : left % right;
        }
    }

    int64_t sum(int level) {
        int64_t left = one();
        for (const Operator* o = next_operator(); o != nullptr && o->level >= level;
             o = next_operator()) {
            at += o->text.size();
            left = applied(o->text, left, sum(o->level + 1));
            if (std::abs(left) > UINT32_MAX) left = fail("a value of 32 bits");
        }
        return left;
    }

    int64_t one() {
        skip();
        if (++depth > 100) fail("something less deep");
        if (at >= whole.size()) return fail("lane, stride or a number");
        if (whole[at] == '(') {
            ++at;
            const int64_t value = sum(1);
            if (whole.substr(at).starts_with(')'))
                ++at;
            else
                fail("')'");
            return value;
        }
        for (const auto& [name, value] : {std::pair(std::string_view("lane"), lane_number),
                                          std::pair(std::string_view("stride"), stride_bytes)})
            if (whole.substr(at).starts_with(name)) {
                at += name.size();
                return value;
            }
        return number();
    }

    int64_t number() {
        const size_t begin = at;
        unsigned base = 10;
        if (whole.substr(at).starts_with("0x")) {
            base = 16;
            at += 2;
        }
        uint64_t value = 0;
        const size_t digits = at;
        for (; at < whole.size(); ++at) {
            const size_t digit = std::string_view("0123456789abcdef").find(whole[at]);
            if (digit >= base) break;
            value = value * base + digit;
            if (value > UINT32_MAX) break;
        }
        if (at == digits || value > UINT32_MAX) {
            at = begin;
            return fail("lane, stride or a number of 32 bits");
        }
        return static_cast<int64_t>(value);
    }

    std::string_view whole;
    uint32_t lane_number, stride_bytes;
    size_t at = 0;
    int depth = 0;
    std::string problem;
};

}  // namespace

std::optional<uint32_t> evaluate(std::string_view text, uint32_t lane, uint32_t stride,
                                 std::string& error) {
    constexpr size_t longest = 400;
    if (text.size() > longest) {
        error = fmt::format("an expression of {} characters is too long", text.size());
        return std::nullopt;
    }
    return Reader(text, lane, stride).all(error);
}

}  // namespace lockwarp::lanes
