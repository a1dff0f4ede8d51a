// SPDX-License-Identifier: Apache-2.0
// The commands that show values.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "debug/console.hpp"
#include "debug/fragment.hpp"
#include "debug/origin.hpp"
#include "debug/words.hpp"
#include "emu/ptx/space_name.hpp"
#include "lanes/banks.hpp"
#include "lanes/explain.hpp"
#include "launch/values.hpp"

namespace lockwarp::debug {

using isa::Type;

namespace {

constexpr size_t max_columns = 98;

// "/x %r3" as 'x' and "%r3"; "/f16x2 %r3" as a type.
struct Formatted {
    char format = 0;  // x: hexadecimal alone, d, u, t: decimal, unsigned, binary, l: the lane's
    Type type = Type::none;
    std::string_view rest;
    bool good = true;
};

Formatted formatted(std::string_view arguments) {
    Formatted out;
    out.rest = arguments;
    if (!arguments.starts_with('/')) return out;
    const size_t end = std::min(arguments.find(' '), arguments.size());
    const std::string_view word = arguments.substr(1, end - 1);
    out.rest = trimmed(arguments.substr(end));
    out.type = type_named(word);
    if (out.type == Type::none && word.size() == 1 &&
        std::string_view("xdutl").find(word[0]) != std::string_view::npos)
        out.format = word[0];
    out.good = out.type != Type::none || out.format != 0;
    return out;
}

std::string shown(const Value& v, char format) {
    if (format == 'x') return hex_of(v);
    if (v.type == Type::pred) return text_of(v);
    if (format == 'u') return fmt::format("{}", v.bits);
    if (format == 't') return fmt::format("{:b}", v.bits);
    if (format == 'd') {
        const unsigned width = isa::bits(v.type);
        const uint64_t sign = width < 64 ? uint64_t{1} << (width - 1) : uint64_t{1} << 63;
        return fmt::format("{}", static_cast<int64_t>((v.bits ^ sign) - sign));
    }
    if (isa::row(v.type).kind == isa::Kind::bits) return hex_of(v);
    return fmt::format("{} = {}", hex_of(v), text_of(v));
}

bool names_register(const Expression& e) { return e.text().find('%') != std::string::npos; }

// Whether an expression may have another value in another lane.
bool is_of_lanes(const Expression& e) {
    const std::string& t = e.text();
    return names_register(e) || t.find("lane") != std::string::npos ||
           t.find("tid") != std::string::npos || t.find("local") != std::string::npos;
}

}  // namespace

void Console::print_lanes(const std::string& name, const std::vector<Value>& values,
                          const std::vector<bool>& there, char format) {
    const auto first = static_cast<size_t>(std::ranges::find(there, true) - there.begin());
    if (first == there.size()) return say(name + ": no lane has it");
    bool same = true;
    for (size_t l = 0; l < values.size(); ++l)
        same &= !there[l] || values[l].bits == values[first].bits;
    const std::string type(isa::row(values[first].type).name.substr(1));
    if (same)
        return say(
            fmt::format("{} = {} in all lanes ({})", name, shown(values[first], format), type));
    say(fmt::format("{} ({})", name, type));
    std::vector<std::string> cells;
    size_t width = 0;
    for (size_t l = 0; l < values.size(); ++l) {
        cells.push_back(fmt::format("{:>2}: {}", l, there[l] ? shown(values[l], format) : "-"));
        width = std::max(width, cells[l].size());
    }
    size_t columns = 1;
    for (const size_t n : {8u, 4u, 2u})
        if (columns == 1 && n * (width + 2) <= max_columns + 2) columns = n;
    const size_t rows = values.size() / columns;
    for (size_t r = 0; r < rows; ++r) {
        std::string line;
        for (size_t c = 0; c < columns; ++c)
            line += c + 1 < columns ? fmt::format("{:<{}}  ", cells[r * columns + c], width)
                                    : cells[r * columns + c];
        say(line);
    }
}

void Console::print_matrix(const View::Place& place, const std::string& name) {
    const Shape& s = place.shape;
    const View v = s_.view();
    const unsigned width = isa::bits(s.type) / 8;
    const uint64_t count = s.rows != 0 ? s.rows * s.columns : place.bytes / std::max(width, 1u);
    constexpr uint64_t max_elements = 4096;
    const uint64_t columns = s.rows != 0 ? s.columns : std::min<uint64_t>(count, 8);
    const uint64_t rows = std::min(s.rows != 0 ? s.rows : (count + 7) / 8,
                                   max_elements / std::max<uint64_t>(columns, 1));
    const uint8_t* const at = v.bytes_at(place.space, place.address, place.bytes);
    if (at == nullptr || width == 0 || columns == 0) return wrong(name + " cannot be read now.");
    if (rows * columns * width > place.bytes && s.rows != 0)
        return wrong(fmt::format("{} has {} bytes: too few for {} x {} {}.", name, place.bytes,
                                 s.rows, s.columns, isa::row(s.type).name.substr(1)));
    std::vector<uint64_t> bits(rows * columns, 0);
    for (uint64_t i = 0; i < bits.size() && (i + 1) * width <= place.bytes; ++i)
        std::memcpy(&bits[i], at + i * width, width);
    say(fmt::format(
        "{}: {} {}", name,
        s.rows != 0 ? fmt::format("{} x {}", s.rows, s.columns) : fmt::format("{}", count),
        isa::row(s.type).name.substr(1)));
    out_ += grid_text(s.type, static_cast<unsigned>(rows), static_cast<unsigned>(columns), bits, {},
                      {});
    if (rows * columns < count)
        say(fmt::format("... and {} more elements", count - rows * columns));
}

void Console::print(std::string_view arguments) {
    const Formatted f = formatted(arguments);
    if (!f.good)
        return wrong("Formats are /x, /d, /u, /t, /l (the lane alone) and types, such as /f16x2.");
    launch::Result<Expression> e = Expression::parse(f.rest);
    if (!e) return wrong(e.error().sentence + ".");
    View v = s_.view();
    if (v.memory == nullptr && !needs_warp()) return;
    const std::string name = e->text();
    if (const std::optional<View::Place> place = v.place_of(name);
        place && place->space != ptx::Space::param && v.find(name) == nullptr)
        return print_matrix(*place, name);
    const bool of_lanes = is_of_lanes(*e);
    if (of_lanes && !needs_warp()) return;
    const auto as = [&](Value value) {
        if (f.type == Type::none) return value;
        value.type = f.type;
        const unsigned width = isa::bits(f.type);
        if (width < 64) value.bits &= (uint64_t{1} << width) - 1;
        return value;
    };
    if (!of_lanes || f.format == 'l') {
        const launch::Result<Value> one = e->evaluate(v);
        if (!one) return wrong(one.error().sentence + ".");
        return say(fmt::format("{} = {}", name, shown(as(*one), f.format)));
    }
    const uint64_t threads = s_.launch().block.count() - uint64_t{v.warp->index} * 32;
    std::vector<Value> values(32);
    std::vector<bool> there(32);
    for (v.lane = 0; v.lane < 32 && v.lane < threads; ++v.lane) {
        const launch::Result<Value> one = e->evaluate(v);
        if (!one) return wrong(one.error().sentence + ".");
        values[v.lane] = as(*one);
        there[v.lane] = true;
    }
    print_lanes(name, values, there, f.format);
}

void Console::show_displays() {
    const bool failed = failed_;
    for (const Display& d : displays_) {
        out_ += fmt::format("{}: ", d.id);
        print(d.text);
    }
    failed_ = failed;
}

void Console::display(std::string_view arguments) {
    if (arguments.empty()) return show_displays();
    const Formatted f = formatted(arguments);
    if (!f.good) return wrong("display takes what print takes.");
    if (const launch::Result<Expression> e = Expression::parse(f.rest); !e)
        return wrong(e.error().sentence + ".");
    displays_.push_back({next_display_++, std::string(arguments)});
    if (!s_.has_begun() || s_.is_over() || s_.view().warp == nullptr) return;
    out_ += fmt::format("{}: ", displays_.back().id);
    print(arguments);
}

void Console::undisplay(std::string_view numbers) {
    if (numbers.empty()) displays_.clear();
    for (const std::string_view word : split(numbers)) {
        const std::optional<uint64_t> n = number_of(word);
        if (std::erase_if(displays_, [&](const Display& d) { return n && d.id == *n; }) == 0)
            return wrong(fmt::format("There is no display {}.", printable(word)));
    }
}

// x/16xw ADDRESS, as gdb has it; a type's name in place of format and size.
void Console::examine(std::string_view arguments) {
    uint64_t count = 1;
    char format = 'x';
    Type type = Type::b32;
    if (arguments.starts_with('/')) {
        const size_t end = std::min(arguments.find(' '), arguments.size());
        std::string_view word = arguments.substr(1, end - 1);
        const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
        if (digits != 0) count = number_of(word.substr(0, digits)).value_or(0);
        word.remove_prefix(digits);
        if (const Type named = type_named(word); named != Type::none) {
            type = named;
            format = 0;
        } else {
            for (const char c : word) {
                if (c == 'b' || c == 'h' || c == 'w' || c == 'g')
                    type = c == 'b'   ? Type::b8
                           : c == 'h' ? Type::b16
                           : c == 'w' ? Type::b32
                                      : Type::b64;
                else if (c == 'x' || c == 'd' || c == 'u' || c == 'f')
                    format = c;
                else
                    return wrong(fmt::format("x/{} is no format.", printable(word)));
            }
        }
        arguments = trimmed(arguments.substr(end));
    }
    if (count == 0 || count > 4096) return wrong("x shows 1 to 4096 values.");
    if (format == 'f') {
        type = isa::bits(type) == 64 ? Type::f64 : isa::bits(type) == 16 ? Type::f16 : Type::f32;
        format = 0;
    }
    const View v = s_.view();
    launch::Result<Expression> e = Expression::parse(arguments);
    if (!e) return wrong(e.error().sentence + ".");
    ptx::Space space = ptx::Space::none;
    uint64_t address = 0;
    const launch::Result<Expression::Target> target = e->target(v);
    if (target && target->space != ptx::Space::none) {
        space = target->space;
        address = target->address;
    } else {
        const launch::Result<Value> value = e->evaluate(v);
        if (!value) return wrong(value.error().sentence + ".");
        address = value->bits;
        // Addresses of 32 bits are those of shared memory.
        const bool narrow = target && target->reg != nullptr && isa::bits(target->reg->type) == 32;
        if (narrow)
            space = ptx::Space::shared;
        else
            std::tie(space, address) = View::resolved(address);
    }
    const unsigned bytes = std::max(1u, isa::bits(type) / 8);
    const unsigned per_line = std::max(1u, 16 / bytes);
    for (uint64_t i = 0; i < count; i += per_line) {
        std::string line = fmt::format("{}[{:#x}]", ptx::name_of(space), address + i * bytes);
        const std::string name = v.name_of(space, address + i * bytes);
        if (!name.empty()) line += " <" + name + ">";
        line += ":";
        for (uint64_t j = i; j < std::min<uint64_t>(count, i + per_line); ++j) {
            const uint8_t* const at = v.bytes_at(space, address + j * bytes, bytes);
            if (at == nullptr) {
                say(line);
                return wrong(fmt::format("There is no {} memory at {:#x}.", ptx::name_of(space),
                                         address + j * bytes));
            }
            Value one{type, 0};
            std::memcpy(&one.bits, at, bytes);
            line += "  " + (format == 'x'   ? hex_of(one)
                            : format == 'u' ? fmt::format("{}", one.bits)
                            : format == 'd' ? shown(one, 'd')
                                            : text_of(one));
        }
        say(line);
    }
}

// shared ADDRESS ROWSxCOLUMNS TYPE [swizzle S] [stride BYTES]
void Console::shared(std::string_view arguments) {
    const std::vector<std::string_view> words = split(arguments);
    constexpr std::string_view usage =
        "shared ADDRESS ROWSxCOLUMNS TYPE [swizzle 32|64|128|B,M,S] [stride BYTES]";
    uint64_t rows = 0, columns = 0;
    if (words.size() < 3 || !sizes_of(words[1], rows, columns)) return wrong(std::string(usage));
    const Type type = type_named(words[2]);
    const unsigned bytes = isa::bits(type) / 8;
    if (bytes == 0 || rows * columns > 1 << 16)
        return wrong("A type of whole bytes, and at most 65536 elements.");
    uint64_t stride = columns * bytes;
    std::optional<lanes::Swizzle> swizzle;
    for (size_t i = 3; i + 1 < words.size(); i += 2) {
        const std::optional<uint64_t> n = number_of(words[i + 1]);
        if (words[i] == "stride" && n && *n <= 1 << 20)
            stride = *n;
        else if (words[i] == "swizzle" && n && (*n == 32 || *n == 64 || *n == 128))
            swizzle = lanes::Swizzle{*n == 32 ? 1 : *n == 64 ? 2 : 3, 4, 3};
        else if (words[i] == "swizzle")
            swizzle = lanes::swizzle_named(words[i + 1]);
        else
            return wrong(std::string(usage));
        if (words[i] == "swizzle" && !swizzle) return wrong(std::string(usage));
    }
    if (words.size() % 2 == 0) return wrong(std::string(usage));
    if (!needs_warp()) return;
    const View v = s_.view();
    launch::Result<Expression> e = Expression::parse(words[0]);
    if (!e) return wrong(e.error().sentence + ".");
    const launch::Result<Value> value = e->evaluate(v);
    if (!value) return wrong(value.error().sentence + ".");
    uint64_t base = value->bits;
    if (base >= isa::shared_window) base -= isa::shared_window;
    std::vector<uint64_t> bits(rows * columns, 0);
    for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c) {
            uint64_t address = base + r * stride + c * bytes;
            if (swizzle) address = (*swizzle)(static_cast<uint32_t>(address));
            const uint8_t* const at = v.bytes_at(ptx::Space::shared, address, bytes);
            if (at == nullptr)
                return wrong(fmt::format("There is no shared memory at {:#x} (row {}, column {}).",
                                         address, r, c));
            std::memcpy(&bits[r * columns + c], at, bytes);
        }
    say(fmt::format("shared[{:#x}]: {} x {} {}, {} bytes a row{}", base, rows, columns, words[2],
                    stride, swizzle ? ", swizzle " + lanes::text_of(*swizzle) + " undone" : ""));
    out_ +=
        grid_text(type, static_cast<unsigned>(rows), static_cast<unsigned>(columns), bits, {}, {});
}

void Console::keep_stop() {
    const View v = s_.view();
    Kept kept;
    kept.launch = s_.launch_index();
    kept.cta.index = v.cta->index;
    kept.cta.shared = v.cta->shared;
    kept.cta.warps.resize(v.cta->warps.size());
    const size_t first = v.warp->index / 4 * 4;
    for (size_t i = first; i < std::min(first + 4, v.cta->warps.size()); ++i) {
        const uint8_t* const at = v.cta->warps[i].registers;
        kept.registers.emplace_back(at, at + v.program().register_bytes);
        kept.cta.warps[i].index = static_cast<uint32_t>(i);
        kept.cta.warps[i].registers = kept.registers.back().data();
    }
    stop_before_ = std::move(last_stop_);
    last_stop_ = std::move(kept);
}

// Empty: another warp was looked at.
std::vector<uint64_t> Console::at_stop_before(const View& view, const FragmentOperand& o) const {
    if (!stop_before_ || stop_before_->launch != s_.launch_index() ||
        stop_before_->cta.index != view.cta->index)
        return {};
    View then = view;
    then.cta = &stop_before_->cta;
    then.warp = &stop_before_->cta.warps[view.warp->index];
    return then.warp->registers == nullptr ? std::vector<uint64_t>() : matrix_of(then, o);
}

// frag OPERAND [LINE]
void Console::frag(std::string_view arguments) {
    if (!needs_warp()) return;
    const View v = s_.view();
    const std::vector<std::string_view> words = split(arguments);
    std::optional<Fragments> f;
    if (words.size() > 1) {
        const std::optional<uint64_t> line = number_of(words[1]);
        uint32_t found = 0;
        const std::vector<uint32_t> at =
            line && *line <= UINT32_MAX ? s_.listing().at_line(static_cast<uint32_t>(*line), found)
                                        : std::vector<uint32_t>();
        if (!at.empty() && found == *line) f = fragments_at(s_.listing(), at[0]);
        if (!f || s_.listing().line_of(f->operation) != found)
            return wrong(
                fmt::format("Line {} has no instruction with fragments.", printable(words[1])));
    } else {
        f = fragments_at(s_.listing(), v.pc);
        // A result is that of the instruction before, where that has one: this has not run yet.
        if (f && f->operation == v.pc && !words.empty() && words[0] == "D" && v.pc != 0) {
            const std::optional<Fragments> before = fragments_at(s_.listing(), v.pc - 1);
            if (before && before->operation + 1 == v.pc && before->find("D") != nullptr) f = before;
        }
    }
    if (!f) return wrong("The function has no instruction with fragments.");
    std::string names;
    for (const FragmentOperand& o : f->operands)
        names += (names.empty() ? "" : ", ") + o.layout.name;
    std::string_view wanted = words.empty() ? std::string_view() : words[0];
    if (wanted.empty() && f->operands.size() == 1) wanted = f->operands[0].layout.name;
    const FragmentOperand* const o = f->find(wanted);
    if (o == nullptr)
        return wrong(
            fmt::format("{}, line {}, has {}.", f->key, s_.listing().line_of(f->operation), names));
    // Before the instruction its result is what the registers held.
    if (f->operation == v.pc && o->layout.name == "D")
        say("It has not run yet: D is what its registers hold now.");
    std::optional<Should> should;
    if (Expected* const expected = s_.expected())
        should = expected->of(v, s_.launch_index(), *f, *o);
    out_ += fragment_text(v, *f, *o, at_stop_before(v, *o), should);
}

void Console::explain(std::string_view arguments) {
    if (!needs_warp()) return;
    const View v = s_.view();
    const std::optional<Fragments> f = fragments_at(s_.listing(), v.pc);
    if (!f || !f->instruction)
        return wrong("No product is here, before this or next in the function.");
    uint64_t row = 0, column = 0;
    const size_t open = arguments.find('[');
    const size_t middle = arguments.find("][");
    const auto part = [&](size_t from, size_t to) {
        return number_of(arguments.substr(from, to - from));
    };
    const bool formed =
        arguments.starts_with("D[") && middle != std::string_view::npos && arguments.ends_with(']');
    const std::optional<uint64_t> r = formed ? part(open + 1, middle) : std::nullopt;
    const std::optional<uint64_t> c =
        formed ? part(middle + 2, arguments.size() - 1) : std::nullopt;
    if (!r || !c) return wrong("explain D[ROW][COLUMN]");
    row = *r;
    column = *c;
    const launch::Result<lanes::Product> product =
        lanes::product_of(*f->instruction, s_.listing().arch());
    if (!product) return wrong(product.error().sentence + ".");
    const FragmentOperand* const a = f->find("A");
    const FragmentOperand* const b = f->find("B");
    const FragmentOperand* const acc = f->find("C");
    if (a == nullptr || b == nullptr || acc == nullptr || a->layout.parts != 1)
        return wrong(f->key + " cannot be explained here.");
    if (row >= acc->layout.rows || column >= acc->layout.columns)
        return wrong(
            fmt::format("D of {} is {} x {}.", f->key, acc->layout.rows, acc->layout.columns));
    if (f->operation != v.pc)
        say(fmt::format("The registers of line {} as they are now, after it has run:",
                        s_.listing().line_of(f->operation)));
    const std::vector<uint64_t> ma = matrix_of(v, *a), mb = matrix_of(v, *b),
                                mc = matrix_of(v, *acc);
    lanes::DotInputs in;
    for (unsigned k = 0; k < a->layout.columns; ++k) {
        in.a.push_back(ma[row * a->layout.columns + k]);
        in.b.push_back(mb[size_t{k} * b->layout.columns + column]);
    }
    in.c = mc[row * acc->layout.columns + column];
    const lanes::Answer answer =
        lanes::explain({*product}, static_cast<unsigned>(row), static_cast<unsigned>(column), in);
    if (const std::optional<std::string> text = lanes::render(answer, lanes::Format::text))
        out_ += *text;
    else
        wrong(answer.error);
}

void Console::origin(std::string_view arguments) {
    if (arguments.empty()) return backtrace({});
    if (!needs_warp()) return;
    launch::Result<Expression> e = Expression::parse(arguments);
    if (!e) return wrong(e.error().sentence + ".");
    const launch::Result<std::string> text = origin_text(s_, *e);
    if (!text) return wrong(text.error().sentence + ".");
    out_ += printable(*text, true);
}

void Console::shape(std::string_view arguments) {
    const std::vector<std::string_view> words = split(arguments);
    if (words.size() < 2 || words.size() > 3) return wrong("shape BUFFER TYPE [ROWSxCOLUMNS]");
    const View v = s_.view();
    const std::optional<View::Place> place = v.place_of(words[0]);
    Shape shape{type_named(words[1]), 0, 0};
    if (!place)
        return wrong(fmt::format("There is no buffer or variable {}.", printable(words[0])));
    const unsigned bytes = isa::bits(shape.type) / 8;
    if (bytes == 0) return wrong(fmt::format("{} is no type of whole bytes.", printable(words[1])));
    if (words.size() == 3 && !sizes_of(words[2], shape.rows, shape.columns))
        return wrong("Sizes are as 16x8.");
    if (shape.rows != 0 &&
        (shape.rows > place->bytes || shape.rows * shape.columns > place->bytes / bytes))
        return wrong(fmt::format("{} has {} bytes.", printable(words[0]), place->bytes));
    s_.shapes()[std::string(words[0])] = shape;
}

}  // namespace lockwarp::debug
