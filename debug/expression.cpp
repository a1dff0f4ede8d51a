// SPDX-License-Identifier: Apache-2.0
#include "debug/expression.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "emu/ptx/space_name.hpp"
#include "launch/values.hpp"

namespace lockwarp::debug {

using isa::Type;

enum class NodeKind : uint8_t { number, name, element, unary, binary };

// The operators of two operands, by precedence.
struct BinaryRow {
    std::string_view text;
    int precedence;
};
constexpr std::array binary_rows{
    BinaryRow{"||", 1}, BinaryRow{"&&", 2}, BinaryRow{"==", 6}, BinaryRow{"!=", 6},
    BinaryRow{"<<", 8}, BinaryRow{">>", 8}, BinaryRow{"<=", 7}, BinaryRow{">=", 7},
    BinaryRow{"<", 7},  BinaryRow{">", 7},  BinaryRow{"|", 3},  BinaryRow{"^", 4},
    BinaryRow{"&", 5},  BinaryRow{"+", 9},  BinaryRow{"-", 9},  BinaryRow{"*", 10},
    BinaryRow{"/", 10}, BinaryRow{"%", 10},
};

struct Node {
    NodeKind kind = NodeKind::number;
    std::string text;  // a name, or an operator
    Value value;       // a number
    std::vector<std::shared_ptr<const Node>> items;
};

using NodePtr = std::shared_ptr<const Node>;

bool is_true(const Value& v) {
    if (isa::is_float(v.type) && isa::row(v.type).lanes == 1)
        return launch::value_of(v.type, v.bits) != 0;
    return v.bits != 0;
}

namespace {

constexpr size_t max_text = 2048;
constexpr int max_depth = 64;

bool begins_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%' || c == '$';
}
bool in_name(char c) {
    return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

struct Parser {
    std::string_view text;
    size_t at = 0;
    int depth = 0;
    std::string error = {};

    void skip() {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    }
    bool take(std::string_view what) {
        skip();
        if (!text.substr(at).starts_with(what)) return false;
        at += what.size();
        return true;
    }
    NodePtr wrong(std::string what) {
        if (error.empty()) error = std::move(what);
        return nullptr;
    }

    NodePtr number() {
        const char* const begin = text.data() + at;
        const char* const end = text.data() + text.size();
        Node n;
        if (text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X")) {
            const auto [stop, problem] = std::from_chars(begin + 2, end, n.value.bits, 16);
            if (problem != std::errc() || stop == begin + 2) return wrong("no number after 0x");
            at += static_cast<size_t>(stop - begin);
            n.value.type = Type::s64;
            return std::make_shared<Node>(n);
        }
        int64_t whole = 0;
        const auto [stop, problem] = std::from_chars(begin, end, whole);
        const bool fraction = stop != end && (*stop == '.' || *stop == 'e' || *stop == 'E');
        if (problem == std::errc() && !fraction) {
            n.value = {Type::s64, static_cast<uint64_t>(whole)};
            at += static_cast<size_t>(stop - begin);
            return std::make_shared<Node>(n);
        }
        double real = 0;
        const auto [real_stop, real_problem] = std::from_chars(begin, end, real);
        if (real_problem != std::errc()) return wrong("a number that is too large");
        at += static_cast<size_t>(real_stop - begin);
        n.value = {Type::f64, std::bit_cast<uint64_t>(real)};
        return std::make_shared<Node>(n);
    }

    NodePtr primary() {
        skip();
        if (at >= text.size()) return wrong("an operand is missing at the end");
        const char c = text[at];
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
        if (take("(")) {
            NodePtr inner = binary(1);
            if (inner != nullptr && !take(")")) return wrong("')' is missing");
            return inner;
        }
        if (!begins_name(c))
            return wrong(fmt::format("an operand was expected at '{}'", text.substr(at, 20)));
        Node n;
        n.kind = NodeKind::name;
        const size_t begin = at;
        while (at < text.size() && in_name(text[at])) ++at;
        n.text = std::string(text.substr(begin, at - begin));
        while (take("[")) {
            n.kind = NodeKind::element;
            NodePtr index = binary(1);
            if (index == nullptr) return nullptr;
            if (!take("]")) return wrong("']' is missing");
            n.items.push_back(std::move(index));
        }
        return std::make_shared<Node>(std::move(n));
    }

    NodePtr unary() {
        if (++depth > max_depth) return wrong("the expression nests too deep");
        NodePtr out;
        skip();
        const char c = at < text.size() ? text[at] : ' ';
        if (c == '-' || c == '!' || c == '~' || c == '+') {
            ++at;
            Node n;
            n.kind = NodeKind::unary;
            n.text = c;
            NodePtr operand = unary();
            if (operand != nullptr) {
                n.items.push_back(std::move(operand));
                out = std::make_shared<Node>(std::move(n));
            }
        } else {
            out = primary();
        }
        --depth;
        return out;
    }

    const BinaryRow* next_operator() {
        skip();
        for (const BinaryRow& row : binary_rows)
            if (text.substr(at).starts_with(row.text)) return &row;
        return nullptr;
    }

    NodePtr binary(int least) {
        if (++depth > max_depth) return wrong("the expression nests too deep");
        NodePtr left = unary();
        while (left != nullptr) {
            const BinaryRow* const row = next_operator();
            if (row == nullptr || row->precedence < least) break;
            at += row->text.size();
            Node n;
            n.kind = NodeKind::binary;
            n.text = std::string(row->text);
            NodePtr right = binary(row->precedence + 1);
            if (right == nullptr) return nullptr;
            n.items = {std::move(left), std::move(right)};
            left = std::make_shared<Node>(std::move(n));
        }
        --depth;
        return left;
    }
};

bool is_real(const Value& v) { return isa::is_float(v.type) && isa::row(v.type).lanes == 1; }

double real_of(const Value& v) {
    return is_real(v) || isa::is_signed(v.type) ? launch::value_of(v.type, v.bits)
                                                : static_cast<double>(v.bits);
}

int64_t whole_of(const Value& v) {
    const unsigned width = isa::bits(v.type);
    if (isa::is_signed(v.type) && width < 64) {
        const unsigned shift = 64 - width;
        return static_cast<int64_t>(v.bits << shift) >> shift;
    }
    return static_cast<int64_t>(v.bits);
}

Value real(double d) { return {Type::f64, std::bit_cast<uint64_t>(d)}; }
Value whole(uint64_t bits) { return {Type::s64, bits}; }
Value truth(bool b) { return {Type::s64, b ? 1u : 0u}; }

template <class T>
std::optional<bool> compared(std::string_view op, T a, T b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    return std::nullopt;
}

launch::Result<Value> of_reals(std::string_view op, double a, double b) {
    if (const auto c = compared(op, a, b)) return truth(*c);
    if (op == "+") return real(a + b);
    if (op == "-") return real(a - b);
    if (op == "*") return real(a * b);
    if (op == "/") return real(a / b);
    return launch::failure(fmt::format("'{}' takes integers", op));
}

launch::Result<Value> of_wholes(std::string_view op, int64_t a, int64_t b) {
    if (const auto c = compared(op, a, b)) return truth(*c);
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if (op == "+") return whole(x + y);
    if (op == "-") return whole(x - y);
    if (op == "*") return whole(x * y);
    if (op == "&") return whole(x & y);
    if (op == "|") return whole(x | y);
    if (op == "^") return whole(x ^ y);
    if (op == "<<") return whole(y < 64 ? x << y : 0);
    if (op == ">>") return whole(y < 64 ? x >> y : 0);
    if (b == 0) return launch::failure("a division by zero");
    if (b == -1) return whole(op == "/" ? 0 - x : 0);
    return whole(static_cast<uint64_t>(op == "/" ? a / b : a % b));
}

// "%r3.f32" as "%r3" and f32; a name without a type's name at its end has none.
std::pair<std::string_view, Type> parted(std::string_view name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return {name, Type::none};
    const Type t = type_named(name.substr(dot + 1));
    return t == Type::none ? std::pair(name, Type::none) : std::pair(name.substr(0, dot), t);
}

using Target = Expression::Target;

ptx::Space space_named(std::string_view name) {
    for (const ptx::Space s : {ptx::Space::global, ptx::Space::shared, ptx::Space::local,
                               ptx::Space::param, ptx::Space::const_})
        if (ptx::name_of(s) == name) return s;
    return ptx::Space::none;
}

launch::Result<Value> value_of(const Node& n, const View& view);

launch::Result<uint64_t> index_of(const Node& n, const View& view) {
    launch::Result<Value> v = value_of(n, view);
    if (!v) return launch::failure(v);
    if (is_real(*v)) return launch::failure("an index is an integer");
    return static_cast<uint64_t>(whole_of(*v));
}

// "shared[0x40]": an address; "D[3][5]": an element.
launch::Result<Target> element_of(const Node& n, const View& view) {
    auto [name, type] = parted(n.text);
    std::vector<uint64_t> at;
    for (const NodePtr& item : n.items) {
        launch::Result<uint64_t> i = index_of(*item, view);
        if (!i) return launch::failure(i);
        at.push_back(*i);
    }
    Target t;
    if (const ptx::Space space = space_named(name);
        space != ptx::Space::none || name == "generic") {
        if (at.size() != 1) return launch::failure(fmt::format("{} takes one address", name));
        t.type = type == Type::none ? Type::b32 : type;
        std::tie(t.space, t.address) =
            space == ptx::Space::none ? View::resolved(at[0]) : std::pair(space, at[0]);
        t.bytes = (isa::bits(t.type) + 7) / 8;
        return t;
    }
    std::optional<View::Place> place = view.place_of(name);
    if (!place) {
        place = view.place_of(n.text);
        if (!place)
            return launch::failure(fmt::format("there is no buffer or variable '{}'", name));
    }
    t.type = type == Type::none ? place->shape.type : type;
    t.space = place->space;
    t.bytes = (isa::bits(t.type) + 7) / 8;
    uint64_t index = at[0];
    if (at.size() == 2) {
        const Shape& s = place->shape;
        if (s.rows == 0)
            return launch::failure(fmt::format(
                "how many columns {} has is not known: shape {} TYPE ROWSxCOLUMNS", name, name));
        if (at[0] >= s.rows || at[1] >= s.columns)
            return launch::failure(
                fmt::format("{} has {} rows and {} columns", name, s.rows, s.columns));
        index = at[0] * s.columns + at[1];
    } else if (at.size() != 1) {
        return launch::failure("one index, or a row and a column");
    }
    if (t.bytes == 0 || index >= place->bytes / t.bytes)
        return launch::failure(fmt::format("{} has {} elements of {}", name,
                                           t.bytes == 0 ? 0 : place->bytes / t.bytes,
                                           isa::row(t.type).name.substr(1)));
    t.address = place->address + index * t.bytes;
    return t;
}

launch::Result<Target> name_target(const Node& n, const View& view) {
    Target t;
    auto [name, type] = parted(n.text);
    t.reg = view.find(n.text);
    if (t.reg == nullptr) t.reg = view.find(name);
    if (t.reg == nullptr)
        return launch::failure(
            fmt::format("there is no register, buffer or variable '{}' here", n.text));
    t.type = type == Type::none ? view.value_of(*t.reg, 0).type : type;
    return t;
}

launch::Result<Value> value_of_name(const Node& n, const View& view) {
    if (view.warp == nullptr) return launch::failure("nothing runs");
    if (const auto special = view.special(n.text)) return Value{Type::s64, *special};
    if (const std::optional<View::Place> place = view.place_of(n.text);
        place && view.find(n.text) == nullptr) {
        if (place->space != ptx::Space::param) return Value{Type::u64, place->address};
        uint64_t bits = 0;
        const uint8_t* const at = view.bytes_at(place->space, place->address, place->bytes);
        if (at != nullptr) std::memcpy(&bits, at, std::min<uint64_t>(place->bytes, 8));
        return Value{place->shape.type == Type::b8 ? Type::u64 : place->shape.type, bits};
    }
    launch::Result<Target> t = name_target(n, view);
    if (!t) return launch::failure(t);
    Value v = view.value_of(*t->reg, view.lane);
    const Type as = isa::row(v.type).kind == isa::Kind::bits && t->type == v.type
                        ? view.used_as(*t->reg)
                        : t->type;
    const unsigned width = isa::bits(as);
    v.type = as;
    if (width < 64) v.bits &= (uint64_t{1} << width) - 1;
    return v;
}

launch::Result<Value> value_of(const Node& n, const View& view) {
    switch (n.kind) {
        case NodeKind::number:
            return n.value;
        case NodeKind::name:
            return value_of_name(n, view);
        case NodeKind::element: {
            launch::Result<Target> t = element_of(n, view);
            if (!t) return launch::failure(t);
            const uint8_t* const at = view.bytes_at(t->space, t->address, t->bytes);
            if (at == nullptr)
                return launch::failure(fmt::format("there is no {} memory at {:#x}",
                                                   ptx::name_of(t->space), t->address));
            uint64_t bits = 0;
            std::memcpy(&bits, at, t->bytes);
            return Value{t->type, bits};
        }
        case NodeKind::unary: {
            launch::Result<Value> v = value_of(*n.items[0], view);
            if (!v) return v;
            if (n.text == "!") return truth(!is_true(*v));
            if (n.text == "~") return whole(~static_cast<uint64_t>(whole_of(*v)));
            if (n.text == "+") return v;
            return is_real(*v) ? real(-real_of(*v))
                               : whole(0 - static_cast<uint64_t>(whole_of(*v)));
        }
        case NodeKind::binary: {
            launch::Result<Value> a = value_of(*n.items[0], view);
            if (!a) return a;
            if (n.text == "&&" && !is_true(*a)) return truth(false);
            if (n.text == "||" && is_true(*a)) return truth(true);
            launch::Result<Value> b = value_of(*n.items[1], view);
            if (!b) return b;
            if (n.text == "&&" || n.text == "||") return truth(is_true(*b));
            if (is_real(*a) || is_real(*b)) return of_reals(n.text, real_of(*a), real_of(*b));
            return of_wholes(n.text, whole_of(*a), whole_of(*b));
        }
    }
    return launch::failure("no expression");
}

}  // namespace

launch::Result<Expression> Expression::parse(std::string_view text) {
    if (text.size() > max_text) return launch::failure("the expression is too long");
    Parser p{text};
    NodePtr root = p.binary(1);
    p.skip();
    if (root != nullptr && p.at != text.size())
        root = p.wrong(fmt::format("'{}' is left over", text.substr(p.at, 20)));
    if (root == nullptr) return launch::failure(p.error);
    Expression out;
    out.text_ = std::string(text);
    out.root_ = std::move(root);
    return out;
}

launch::Result<Value> Expression::evaluate(const View& view) const {
    return value_of(*root_, view);
}

launch::Result<Target> Expression::target(const View& view) const {
    if (root_->kind == NodeKind::element) return element_of(*root_, view);
    if (root_->kind == NodeKind::name) {
        if (const std::optional<View::Place> place = view.place_of(root_->text);
            place && view.find(root_->text) == nullptr)
            return Target{place->space, place->address, place->bytes, place->shape.type, nullptr};
        return name_target(*root_, view);
    }
    return launch::failure("a register or an element of memory is to be named");
}

}  // namespace lockwarp::debug
