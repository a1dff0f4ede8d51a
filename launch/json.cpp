// SPDX-License-Identifier: Apache-2.0
#include "launch/json.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

namespace lockwarp::launch {

namespace {

constexpr size_t max_depth = 64;
constexpr size_t max_name = 200;  // of a name in a message
constexpr const char* not_json = "not JSON from here on";

// The text as the JSON library reads it, which tells how far it has come: one byte past a number,
// and to the end of anything else.
struct Reading {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at;
    uint32_t* read;

    reference operator*() const { return *at; }
    Reading& operator++() {
        ++at;
        ++*read;
        return *this;
    }
    Reading operator++(int) {
        const Reading before = *this;
        ++*this;
        return before;
    }
    bool operator==(const Reading& other) const { return at == other.at; }
    bool operator!=(const Reading& other) const { return at != other.at; }
};

// Makes the tree of the events of the JSON library.
struct Builder : nlohmann::json_sax<nlohmann::json> {
    explicit Builder(Document& d) : document(d) {}

    bool null() override { return put(JsonKind::null); }
    bool boolean(bool value) override {
        return put(JsonKind::boolean, [&](Json& j) { j.natural = value ? 1 : 0; });
    }
    bool number_integer(int64_t value) override {
        return put(JsonKind::negative, [&](Json& j) { j.negative = value; });
    }
    bool number_unsigned(uint64_t value) override {
        return put(JsonKind::natural, [&](Json& j) { j.natural = value; });
    }
    bool number_float(double value, const std::string& digits) override {
        if (digits.find_first_not_of("-0123456789") == std::string::npos) {
            begin_token();
            return fail(token, "a whole number of more than 64 bits");
        }
        return put(JsonKind::real, [&](Json& j) { j.real = value; });
    }
    bool string(std::string& value) override {
        return put(JsonKind::text, [&](Json& j) {
            j.inner = std::make_unique<Json::Inner>();
            j.inner->text = std::move(value);
        });
    }
    bool binary(nlohmann::json::binary_t&) override { return false; }
    bool start_object(size_t) override { return open(JsonKind::object); }
    bool start_array(size_t) override { return open(JsonKind::list); }
    bool key(std::string& name) override {
        begin_token();
        opened.back().inner->keys.push_back({std::move(name), token});
        done = read;
        return true;
    }
    bool end_array() override { return close(); }
    bool end_object() override {
        const std::vector<Json::Key>& keys = opened.back().inner->keys;
        std::vector<size_t> order(keys.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, {},
                                 [&](size_t i) { return std::string_view(keys[i].name); });
        const auto twice = std::ranges::adjacent_find(
            order, [&](size_t a, size_t b) { return keys[a].name == keys[b].name; });
        if (twice != order.end()) {
            const Json::Key& first = keys[*twice];
            const Json::Key& second = keys[*std::next(twice)];
            return fail(second.begin, "'" + shown(first.name.substr(0, max_name)) +
                                          "' stands twice in one object, first on line " +
                                          std::to_string(document.place(first.begin).line));
        }
        return close();
    }
    bool parse_error(size_t position, const std::string&,
                     const nlohmann::detail::exception& e) override {
        if (dynamic_cast<const nlohmann::detail::out_of_range*>(&e) != nullptr) {
            begin_token();
            return fail(token, "a number beyond the largest f64");
        }
        return fail(static_cast<uint32_t>(position == 0 ? 0 : position - 1), not_json);
    }

    bool fail(uint32_t byte, const std::string& why) {
        const auto size = static_cast<uint32_t>(document.text.size());
        if (!wrong) wrong = document.at(std::min(byte, size)) + why;
        return false;
    }
    // Where the token begins that was just read: behind the last one are spaces, ',' and ':' alone.
    void begin_token() {
        const size_t found = document.text.find_first_not_of(" \t\r\n,:", done);
        token = static_cast<uint32_t>(std::min(found, document.text.size()));
    }
    template <class Fill>
    bool put(JsonKind kind, Fill fill) {
        begin_token();
        Json value;
        value.kind = kind;
        value.begin = token;
        const bool number = value.is_number();
        const size_t end =
            number ? document.text.find_first_not_of("+-.0123456789eE", token) : read;
        value.end = static_cast<uint32_t>(std::min(end, document.text.size()));
        fill(value);
        return place(std::move(value));
    }
    bool put(JsonKind kind) {
        return put(kind, [](Json&) {});
    }
    bool open(JsonKind kind) {
        begin_token();
        if (opened.size() == max_depth) return fail(token, "nested too deeply");
        Json value;
        value.kind = kind;
        value.begin = token;
        value.inner = std::make_unique<Json::Inner>();
        opened.push_back(std::move(value));
        done = read;
        return true;
    }
    bool close() {
        Json value = std::move(opened.back());
        opened.pop_back();
        value.end = read;
        return place(std::move(value));
    }
    bool place(Json value) {
        done = read;
        if (opened.empty())
            document.root = std::move(value);
        else
            opened.back().inner->items.push_back(std::move(value));
        return true;
    }

    Document& document;
    uint32_t read = 0;   // bytes that the library has read
    uint32_t done = 0;   // as it was after the last token
    uint32_t token = 0;  // where the present token begins
    std::vector<Json> opened;
    std::optional<std::string> wrong;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
    const auto found = std::ranges::find(inner->keys, name, &Key::name);
    if (found == inner->keys.end()) return nullptr;
    return &inner->items[static_cast<size_t>(found - inner->keys.begin())];
}

ptx::Place Document::place(uint32_t byte) const {
    const auto after = std::ranges::upper_bound(lines, byte);
    const auto line = static_cast<uint32_t>(after - lines.begin());
    return {line, byte - lines[line - 1] + 1};
}

std::string Document::at(uint32_t byte) const { return launch::at(path, place(byte)); }

std::string at(const std::string& path, ptx::Place place) {
    if (place.line == 0) return path + ": ";
    return path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

std::string shown(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        // The control characters of Latin-1, in UTF-8: U+0080 to U+009F.
        const bool second =
            c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        out += c < 0x20 || c == 0x7f || second ? '?' : text[i];
        i += second ? 1 : 0;
    }
    return out;
}

Result<Document> parse_json(std::string text, const std::string& path) {
    Document out;
    out.path = path;
    out.text = std::move(text);
    out.lines.push_back(0);
    for (size_t i = 0; i < out.text.size(); ++i)
        if (out.text[i] == '\n') out.lines.push_back(static_cast<uint32_t>(i + 1));
    Builder builder(out);
    const char* const begin = out.text.data();
    const bool good = nlohmann::json::sax_parse(
        Reading{begin, &builder.read}, Reading{begin + out.text.size(), &builder.read}, &builder);
    // A NUL is the end of the text to the library.
    if (const size_t nul = out.text.find('\0'); good && nul != std::string::npos)
        builder.fail(static_cast<uint32_t>(nul), not_json);
    if (builder.wrong) return failure(*builder.wrong);
    if (!good) return failure(path + ": not JSON");
    return out;
}

}  // namespace lockwarp::launch
