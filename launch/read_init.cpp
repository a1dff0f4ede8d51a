// SPDX-License-Identifier: Apache-2.0
// "init" of buffers and variables, and the same of what is expected.
#include <algorithm>
#include <cmath>

#include "launch/reader.hpp"
#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

constexpr const char* kinds =
    "one of {\"file\"}, {\"files\"}, {\"hex\"}, {\"fill\"}, {\"zeros\"}, {\"values\"}, "
    "{\"random\"}, {\"sequence\"} is expected, or \"zeros\", or of a buffer \"undefined\"";

const Json* type_of(Reader& r, const Json& j, const std::string& field, Init& init) {
    const Json* const type = j.find("type");
    if (type == nullptr)
        r.fail(j, field + ".type", "is missing");
    else
        init.type = r.type(*type, field + ".type");
    return r.wrong ? nullptr : type;
}

void read_random(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!r.object(j, field, {"type", "distribution", "seed", "min", "max", "mean", "stddev"}) ||
        type_of(r, j, field, init) == nullptr)
        return;
    if (isa::is_float(init.type)) {
        init.low = -1;
    } else {
        const unsigned width = isa::bits(init.type);
        const bool is_signed = isa::is_signed(init.type);
        init.low = is_signed ? -std::ldexp(1, static_cast<int>(width) - 1) : 0;
        init.high = std::ldexp(1, static_cast<int>(width) - (is_signed ? 1 : 0)) - 1;
        init.deviation = init.high / 4;
    }
    if (const Json* v = j.find("distribution")) {
        const std::string name = r.text(*v, field + ".distribution");
        if (name == "normal")
            init.distribution = Distribution::normal;
        else if (name != "uniform")
            r.fail(*v, field + ".distribution",
                   "'uniform' or 'normal' is expected, not '" + name + "'");
    }
    if (const Json* v = j.find("seed")) init.seed = r.integer(*v, field + ".seed", UINT64_MAX);
    if (const Json* v = j.find("min")) init.low = r.number(*v, field + ".min");
    if (const Json* v = j.find("max")) init.high = r.number(*v, field + ".max");
    if (const Json* v = j.find("mean")) init.mean = r.number(*v, field + ".mean");
    if (const Json* v = j.find("stddev")) init.deviation = r.number(*v, field + ".stddev");
    if (!(init.low <= init.high)) {
        const Json* const min = j.find("min");
        r.fail(min != nullptr ? *min : j, field + ".min", "is above max");
    }
}

void read_sequence(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!r.object(j, field, {"type", "start", "step", "divide"}) ||
        type_of(r, j, field, init) == nullptr)
        return;
    if (const Json* v = j.find("start")) init.start = r.number(*v, field + ".start");
    if (const Json* v = j.find("step")) init.step = r.number(*v, field + ".step");
    if (const Json* v = j.find("divide")) {
        init.divide = r.number(*v, field + ".divide");
        if (init.divide == 0) r.fail(*v, field + ".divide", "a number other than 0 is expected");
    }
}

// Elements of a type, repeated to fill; kept as their bytes.
void read_values(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!j.is(JsonKind::object) || Reader::members(j) != 1)
        return r.fail(j, field, "an object such as {\"f32\": [1, 2.5]} is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& name = j.keys()[i].name;
        if (name == "comment") continue;
        const Json& list = j.items()[i];
        const std::string at = field + "." + name;
        init.type = value_type(name);
        if (init.type == isa::Type::none)
            return r.fail(j, field, "'" + name + "' is not a type; one of " + value_type_names());
        if (!list.is(JsonKind::list) || list.items().empty())
            return r.fail(list, at, "a list of at least one number is expected");
        for (size_t k = 0; k < list.items().size(); ++k) {
            const uint64_t bits =
                r.scalar(list.items()[k], init.type, at + "[" + std::to_string(k) + "]");
            init.hex.append(reinterpret_cast<const char*>(&bits), isa::bits(init.type) / 8);
        }
    }
}

void read_files(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!j.is(JsonKind::object) || j.keys().empty())
        return r.fail(j, field, "an object {\"byte offset\": \"file\"} is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& key = j.keys()[i].name;
        const Json& value = j.items()[i];
        const std::string at = field + "." + key;
        init.files.push_back({r.place(value), r.offset_key(value, key, at), r.text(value, at)});
    }
    std::ranges::sort(init.files, {}, &FilePart::at);
}

}  // namespace

void read_init(Reader& r, const Json& j, const std::string& field, Init& init) {
    init.place = r.place(j);
    if (j.is(JsonKind::text) && j.text() == "zeros") return;
    if (!j.is(JsonKind::object) || Reader::members(j) != 1) return r.fail(j, field, kinds);
    size_t member = 0;
    while (j.keys()[member].name == "comment") ++member;
    const std::string& key = j.keys()[member].name;
    const Json& value = j.items()[member];
    const std::string at = field + "." + key;
    if (key == "file") {
        init.kind = InitKind::file;
        init.file = r.text(value, at);
    } else if (key == "files") {
        init.kind = InitKind::files;
        read_files(r, value, at, init);
    } else if (key == "hex") {
        init.kind = InitKind::hex;
        init.hex = r.hex(value, at);
        if (init.hex.empty()) r.fail(value, at, "at least one byte is expected");
    } else if (key == "fill") {
        init.fill = static_cast<uint8_t>(r.integer(value, at, 255));
    } else if (key == "zeros") {
        if (!r.truth(value, at)) r.fail(value, at, "true is expected");
    } else if (key == "values") {
        init.kind = InitKind::values;
        read_values(r, value, at, init);
    } else if (key == "random") {
        init.kind = InitKind::random;
        read_random(r, value, at, init);
    } else if (key == "sequence") {
        init.kind = InitKind::sequence;
        read_sequence(r, value, at, init);
    } else {
        r.object(j, field,
                 {"file", "files", "hex", "fill", "zeros", "values", "random", "sequence"});
    }
}

}  // namespace lockwarp::launch
