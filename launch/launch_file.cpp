// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_file.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launch/values.hpp"

namespace lockwarp::launch {

namespace {

using Json = nlohmann::json;

constexpr uint64_t max_launch_bytes = uint64_t{1} << 28;
constexpr std::string_view schema = "lockwarp-launch/1";

// Reads fields and remembers the first thing that is wrong.
struct Reader {
    std::string path;
    std::optional<std::string> wrong;
    std::vector<std::string>& warnings;

    void fail(const std::string& field, const std::string& expected) {
        if (!wrong) wrong = path + ": field '" + field + "': " + expected;
    }

    static std::string seen(const Json& j) {
        std::string text = j.dump(-1, ' ', true, Json::error_handler_t::replace);
        if (text.size() > 40) text = text.substr(0, 37) + "...";
        return text;
    }

    // Fields that are not known get a warning: the user may have misspelt one.
    void known(const Json& object, const std::string& where,
               std::initializer_list<std::string_view> names) {
        for (const auto& [key, value] : object.items())
            if (std::ranges::find(names, key) == names.end())
                warnings.push_back(path + ": unknown field '" + where + key + "' is ignored");
    }

    uint64_t integer(const Json& j, const std::string& field, uint64_t most) {
        if (j.is_number_unsigned() && j.get<uint64_t>() <= most) return j.get<uint64_t>();
        fail(field,
             "a whole number from 0 to " + std::to_string(most) + " is expected, not " + seen(j));
        return 0;
    }

    double number(const Json& j, const std::string& field) {
        if (j.is_number()) return j.get<double>();
        fail(field, "a number is expected, not " + seen(j));
        return 0;
    }

    std::string text(const Json& j, const std::string& field) {
        if (j.is_string()) return j.get<std::string>();
        fail(field, "a text is expected, not " + seen(j));
        return {};
    }

    std::string hex(const Json& j, const std::string& field) {
        const std::optional<std::string> bytes = bytes_of_hex(text(j, field));
        if (!bytes) fail(field, "an even number of hexadecimal digits is expected");
        return bytes.value_or("");
    }

    isa::Type type(const Json& j, const std::string& field) {
        const std::string name = text(j, field);
        const isa::Type t = value_type(name);
        if (t == isa::Type::none)
            fail(field, "'" + name + "' is not a type; one of " + value_type_names());
        return t;
    }

    warp::Dim3 dims(const Json& j, const std::string& field) {
        warp::Dim3 d;
        if (!j.is_array() || j.empty() || j.size() > 3) {
            fail(field, "[x, y, z] is expected, not " + seen(j));
            return d;
        }
        std::array<uint32_t*, 3> at{&d.x, &d.y, &d.z};
        for (size_t i = 0; i < j.size(); ++i)
            *at[i] = static_cast<uint32_t>(integer(j[i], field, UINT32_MAX));
        return d;
    }
};

void read_random(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!j.is_object()) return r.fail(field, "an object is expected");
    r.known(j, field + ".", {"type", "distribution", "seed", "min", "max", "mean", "stddev"});
    if (!j.contains("type")) return r.fail(field + ".type", "is missing");
    init.type = r.type(j["type"], field + ".type");
    if (isa::is_float(init.type)) {
        init.low = -1;
    } else {
        const unsigned width = isa::bits(init.type);
        const bool is_signed = isa::is_signed(init.type);
        init.low = is_signed ? -std::ldexp(1, static_cast<int>(width) - 1) : 0;
        init.high = std::ldexp(1, static_cast<int>(width) - (is_signed ? 1 : 0)) - 1;
        init.deviation = init.high / 4;
    }
    if (j.contains("distribution")) {
        const std::string name = r.text(j["distribution"], field + ".distribution");
        if (name == "normal")
            init.distribution = Distribution::normal;
        else if (name != "uniform")
            r.fail(field + ".distribution",
                   "'uniform' or 'normal' is expected, not '" + name + "'");
    }
    if (j.contains("seed")) init.seed = r.integer(j["seed"], field + ".seed", UINT64_MAX);
    if (j.contains("min")) init.low = r.number(j["min"], field + ".min");
    if (j.contains("max")) init.high = r.number(j["max"], field + ".max");
    if (j.contains("mean")) init.mean = r.number(j["mean"], field + ".mean");
    if (j.contains("stddev")) init.deviation = r.number(j["stddev"], field + ".stddev");
    if (!(init.low <= init.high)) r.fail(field + ".min", "is above max");
}

void read_sequence(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!j.is_object()) return r.fail(field, "an object is expected");
    r.known(j, field + ".", {"type", "start", "step", "divide"});
    if (!j.contains("type")) return r.fail(field + ".type", "is missing");
    init.type = r.type(j["type"], field + ".type");
    if (j.contains("start")) init.start = r.number(j["start"], field + ".start");
    if (j.contains("step")) init.step = r.number(j["step"], field + ".step");
    if (j.contains("divide")) init.divide = r.number(j["divide"], field + ".divide");
}

void read_init(Reader& r, const Json& j, const std::string& field, Init& init) {
    if (!j.is_object() || j.size() != 1)
        return r.fail(field,
                      "one of {\"file\"}, {\"hex\"}, {\"fill\"}, {\"random\"}, {\"sequence\"} "
                      "is expected");
    const std::string key = j.begin().key();
    const Json& value = j.begin().value();
    const std::string at = field + "." + key;
    if (key == "file") {
        init.kind = InitKind::file;
        init.file = r.text(value, at);
    } else if (key == "hex") {
        init.kind = InitKind::hex;
        init.hex = r.hex(value, at);
        if (init.hex.empty()) r.fail(at, "at least one byte is expected");
    } else if (key == "fill") {
        init.fill = static_cast<uint8_t>(r.integer(value, at, 255));
    } else if (key == "random") {
        init.kind = InitKind::random;
        read_random(r, value, at, init);
    } else if (key == "sequence") {
        init.kind = InitKind::sequence;
        read_sequence(r, value, at, init);
    } else {
        r.fail(field, "'" + key + "' is not file, hex, fill, random or sequence");
    }
}

// A scalar of a type: a number, or a text with its bits ("0x7fc00001") or "nan", "inf", "-inf".
uint64_t read_scalar(Reader& r, const Json& j, isa::Type type, const std::string& field) {
    const unsigned width = isa::bits(type);
    if (j.is_string()) {
        const std::string s = j.get<std::string>();
        if (isa::is_float(type)) {
            if (s == "nan") return bits_of(type, std::nan(""));
            if (s == "inf") return bits_of(type, HUGE_VAL);
            if (s == "-inf") return bits_of(type, -HUGE_VAL);
        }
        if (s.starts_with("0x") && s.size() > 2 && s.size() <= 2 + width / 4 &&
            s.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos)
            return std::stoull(s.substr(2), nullptr, 16);
        r.fail(field, "a number, or a text of at most " + std::to_string(width / 4) +
                          " hexadecimal digits after 0x, is expected, not " + Reader::seen(j));
        return 0;
    }
    if (isa::is_float(type)) return bits_of(type, r.number(j, field));
    const bool is_signed = isa::is_signed(type);
    const uint64_t most = is_signed ? (uint64_t{1} << (width - 1)) - 1 : UINT64_MAX >> (64 - width);
    if (is_signed && j.is_number_integer() && !j.is_number_unsigned()) {
        const auto value = j.get<int64_t>();
        if (value >= -static_cast<int64_t>(most) - 1)
            return static_cast<uint64_t>(value) & (UINT64_MAX >> (64 - width));
    } else if (j.is_number_unsigned() && j.get<uint64_t>() <= most) {
        return j.get<uint64_t>();
    }
    r.fail(field, "a whole number of type " + std::string(isa::row(type).name.substr(1)) +
                      " is expected, not " + Reader::seen(j));
    return 0;
}

void read_argument(Reader& r, const Json& j, const std::string& field, Argument& out) {
    if (!j.is_object() || j.empty())
        return r.fail(field, "an object such as {\"buffer\": \"A\"} or {\"s32\": 5} is expected");
    if (j.contains("buffer")) {
        r.known(j, field + ".", {"buffer", "offset"});
        Pointer p;
        p.buffer = r.text(j["buffer"], field + ".buffer");
        if (j.contains("offset")) p.offset = r.integer(j["offset"], field + ".offset", UINT64_MAX);
        out.type = "buffer";
        out.bytes.assign(8, 0);
        out.pointers.push_back(p);
        return;
    }
    if (j.contains("bytes")) {
        r.known(j, field + ".", {"bytes", "pointers"});
        const std::string bytes = r.hex(j["bytes"], field + ".bytes");
        out.type = "bytes";
        out.bytes.assign(bytes.begin(), bytes.end());
        if (!j.contains("pointers")) return;
        if (!j["pointers"].is_object())
            return r.fail(field + ".pointers",
                          "an object {\"byte offset\": \"buffer\"} is expected");
        for (const auto& [key, value] : j["pointers"].items()) {
            const std::string at = field + ".pointers." + key;
            Pointer p;
            if (key.empty() || key.size() > 9 ||
                key.find_first_not_of("0123456789") != std::string::npos)
                return r.fail(at, "the key must be a byte offset");
            p.at = std::stoull(key);
            if (p.at + 8 > out.bytes.size())
                return r.fail(at, "8 bytes there do not fit " + std::to_string(out.bytes.size()));
            if (value.is_object() && value.contains("buffer")) {
                p.buffer = r.text(value["buffer"], at + ".buffer");
                if (value.contains("offset"))
                    p.offset = r.integer(value["offset"], at + ".offset", UINT64_MAX);
            } else {
                p.buffer = r.text(value, at);
            }
            out.pointers.push_back(p);
        }
        return;
    }
    const std::string key = j.begin().key();
    const isa::Type type = value_type(key);
    if (type == isa::Type::none || j.size() != 1)
        return r.fail(field, "'" + key + "' is not buffer, bytes or one of " + value_type_names());
    const uint64_t bits = read_scalar(r, j.begin().value(), type, field + "." + key);
    out.type = key;
    out.bytes.resize(isa::bits(type) / 8);
    std::memcpy(out.bytes.data(), &bits, out.bytes.size());
}

// Names of buffers become names of files.
bool good_name(const std::string& name) {
    return !name.empty() && name.size() <= 100 && name[0] != '.' &&
           std::ranges::all_of(name, [](unsigned char c) {
               return std::isalnum(c) || c == '_' || c == '-' || c == '.';
           });
}

// Buffers, or variables of the module, whose bytes need not be stated.
void read_buffers(Reader& r, const Json& j, const std::string& within,
                  std::vector<BufferField>& out) {
    const bool sized = within == "buffers";
    if (!j.is_object()) return r.fail(within, "an object of " + within + " by name is expected");
    for (const auto& [name, value] : j.items()) {
        const std::string field = within + "." + name;
        if (!good_name(name))
            return r.fail(field, "a name of letters, digits, '_', '-' and '.' is expected");
        if (!value.is_object()) return r.fail(field, "an object is expected");
        r.known(value, field + ".", {"bytes", "init"});
        BufferField b;
        b.name = name;
        if (sized && !value.contains("bytes")) return r.fail(field + ".bytes", "is missing");
        if (value.contains("bytes"))
            b.bytes = r.integer(value["bytes"], field + ".bytes", uint64_t{1} << 44);
        if (!sized && !value.contains("init")) return r.fail(field + ".init", "is missing");
        if (value.contains("init")) read_init(r, value["init"], field + ".init", b.init);
        out.push_back(std::move(b));
    }
}

const BufferField* find_buffer(const LaunchFile& file, const std::string& name) {
    const auto found = std::ranges::find(file.buffers, name, &BufferField::name);
    return found == file.buffers.end() ? nullptr : &*found;
}

void check_names(Reader& r, const LaunchFile& file) {
    for (size_t i = 0; i < file.arguments.size(); ++i)
        for (const Pointer& p : file.arguments[i].pointers) {
            const BufferField* b = find_buffer(file, p.buffer);
            const std::string field = "args[" + std::to_string(i) + "]";
            if (b == nullptr)
                r.fail(field, "there is no buffer '" + p.buffer + "'");
            else if (p.offset > b->bytes)
                r.fail(field + ".offset", std::to_string(p.offset) + " is past buffer '" +
                                              p.buffer + "' of " + std::to_string(b->bytes) +
                                              " bytes");
        }
    for (const std::string& name : file.outputs)
        if (find_buffer(file, name) == nullptr)
            r.fail("outputs", "there is no buffer '" + name + "'");
}

void read_top(Reader& r, const Json& j, LaunchFile& out) {
    if (!j.is_object()) return r.fail("", "an object is expected");
    r.known(j, "",
            {"schema", "ptx", "entry", "arch", "grid", "block", "dynamic_shared", "cooperative",
             "buffers", "variables", "args", "outputs"});
    for (const char* name : {"schema", "ptx", "grid", "block"})
        if (!j.contains(name)) return r.fail(name, "is missing");
    if (r.text(j["schema"], "schema") != schema)
        return r.fail("schema", "\"" + std::string(schema) + "\" is expected, not " +
                                    Reader::seen(j["schema"]));
    out.ptx = r.text(j["ptx"], "ptx");
    if (j.contains("entry")) out.entry = r.text(j["entry"], "entry");
    if (j.contains("arch")) out.arch = r.text(j["arch"], "arch");
    out.grid = r.dims(j["grid"], "grid");
    out.block = r.dims(j["block"], "block");
    if (j.contains("dynamic_shared"))
        out.dynamic_shared =
            static_cast<uint32_t>(r.integer(j["dynamic_shared"], "dynamic_shared", 1u << 30));
    if (j.contains("cooperative")) {
        if (j["cooperative"].is_boolean())
            out.cooperative = j["cooperative"].get<bool>();
        else
            r.fail("cooperative",
                   "true or false is expected, not " + Reader::seen(j["cooperative"]));
    }
    if (j.contains("buffers")) read_buffers(r, j["buffers"], "buffers", out.buffers);
    if (j.contains("variables")) read_buffers(r, j["variables"], "variables", out.variables);
    if (j.contains("args")) {
        if (!j["args"].is_array()) return r.fail("args", "a list is expected");
        for (size_t i = 0; i < j["args"].size(); ++i)
            read_argument(r, j["args"][i], "args[" + std::to_string(i) + "]",
                          out.arguments.emplace_back());
    }
    if (j.contains("outputs")) {
        if (!j["outputs"].is_array()) return r.fail("outputs", "a list of buffers is expected");
        for (const Json& name : j["outputs"]) out.outputs.push_back(r.text(name, "outputs"));
    }
    check_names(r, out);
}

// "path:line:column" of a byte of the text.
std::string place_of(const std::string& text, const std::string& path, size_t byte) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    const size_t start = byte == 0 ? std::string::npos : text.rfind('\n', byte - 1);
    const size_t column = start == std::string::npos ? byte + 1 : byte - start;
    return path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

// Where brackets first nest deeper than a launch file ever does; the JSON library recurses on them.
size_t too_deep(const std::string& text) {
    constexpr int deepest = 64;
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest) return i;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return std::string::npos;
}

}  // namespace

Result<LaunchFile> parse_launch_file(const std::string& text, const std::string& path) {
    LaunchFile out;
    out.path = path;
    out.folder = std::filesystem::path(path).parent_path().string();
    if (const size_t at = too_deep(text); at != std::string::npos)
        return failure(place_of(text, path, at) + ": nested too deeply");
    Json j;
    try {
        j = Json::parse(text);
    } catch (const Json::parse_error& e) {
        const size_t byte = std::min(e.byte == 0 ? 0 : e.byte - 1, text.size());
        return failure(place_of(text, path, byte) + ": not JSON from here on");
    } catch (const Json::out_of_range&) {
        return failure(path + ": a number is beyond the largest f64");
    }
    Reader r{path, {}, out.warnings};
    read_top(r, j, out);
    if (r.wrong) return failure(*r.wrong);
    return out;
}

Result<LaunchFile> read_launch_file(const std::string& path) {
    Result<std::string> text = read_text(path, max_launch_bytes);
    if (!text) return failure(text);
    return parse_launch_file(*text, path);
}

Result<Parameters> lay_out(const LaunchFile& file, const isa::Program& program) {
    if (file.arguments.size() != program.parameters.size())
        return failure(file.path + ": field 'args': " + std::to_string(file.arguments.size()) +
                       " given, the kernel " + program.entry + " has " +
                       std::to_string(program.parameters.size()));
    Parameters out;
    out.bytes.assign(program.parameter_bytes, 0);
    for (size_t i = 0; i < file.arguments.size(); ++i) {
        const Argument& a = file.arguments[i];
        const isa::Parameter& p = program.parameters[i];
        if (a.bytes.size() != p.bytes)
            return failure(file.path + ": field 'args[" + std::to_string(i) + "]': " + a.type +
                           " has " + std::to_string(a.bytes.size()) + " bytes, parameter '" +
                           p.name + "' (" + std::string(isa::row(p.type).name) + ") has " +
                           std::to_string(p.bytes));
        std::memcpy(out.bytes.data() + p.offset, a.bytes.data(), a.bytes.size());
        for (const Pointer& pointer : a.pointers) {
            const auto found = std::ranges::find(file.buffers, pointer.buffer, &BufferField::name);
            out.patches.push_back({static_cast<uint32_t>(p.offset + pointer.at),
                                   static_cast<size_t>(found - file.buffers.begin()),
                                   pointer.offset});
        }
    }
    return out;
}

Result<std::vector<std::vector<uint8_t>>> make_buffers(const LaunchFile& file) {
    uint64_t total = 0;
    for (const BufferField& b : file.buffers) total += b.bytes;
    struct sysinfo machine {};
    ::sysinfo(&machine);
    if (total > uint64_t{machine.totalram} * machine.mem_unit)
        return failure(file.path + ": the buffers have " + std::to_string(total) +
                       " bytes, more than this machine");
    std::vector<std::vector<uint8_t>> out;
    for (const BufferField& b : file.buffers) {
        Result<std::vector<uint8_t>> bytes = initial_bytes(file, b);
        if (!bytes) return failure(bytes);
        out.push_back(std::move(*bytes));
    }
    return out;
}

Result<Case> make_case(const LaunchFile& file, ptx::Module& module, const isa::Program& program) {
    Result<Parameters> parameters = lay_out(file, program);
    if (!parameters) return failure(parameters);
    Result<std::vector<std::vector<uint8_t>>> buffers = make_buffers(file);
    if (!buffers) return failure(buffers);
    Case out;
    out.bytes = std::move(*buffers);
    for (const BufferField& b : file.buffers) out.names.push_back(b.name);
    out.module = std::move(module);
    out.entry = program.entry;
    out.grid = file.grid;
    out.block = file.block;
    out.dynamic_shared = file.dynamic_shared;
    out.cooperative = file.cooperative;
    out.parameters = std::move(parameters->bytes);
    out.patches = std::move(parameters->patches);
    return out;
}

Result<Prepared> prepare(const LaunchFile& file, const isa::Program& program) {
    // Buffers lie in the order of their names, far enough apart that a small overrun hits none.
    constexpr uint64_t first_address = uint64_t{0x70} << 32;
    constexpr uint64_t gap = uint64_t{1} << 20;
    Result<Parameters> parameters = lay_out(file, program);
    if (!parameters) return failure(parameters);
    Result<std::vector<std::vector<uint8_t>>> buffers = make_buffers(file);
    if (!buffers) return failure(buffers);
    Prepared out;
    out.storage = std::move(*buffers);
    uint64_t next = first_address;
    for (size_t i = 0; i < file.buffers.size(); ++i) {
        out.launch.buffers.push_back({file.buffers[i].name, next, out.storage[i]});
        next = (next + file.buffers[i].bytes + 2 * gap - 1) / gap * gap;
    }
    for (const Patch& p : parameters->patches) {
        const uint64_t value = out.launch.buffers[p.buffer].address + p.offset;
        std::memcpy(parameters->bytes.data() + p.at, &value, sizeof value);
    }
    out.launch.parameters = std::move(parameters->bytes);
    out.launch.grid = file.grid;
    out.launch.block = file.block;
    out.launch.dynamic_shared = file.dynamic_shared;
    out.launch.cooperative = file.cooperative;
    return out;
}

}  // namespace lockwarp::launch
