#include "launch/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/isa/types.hpp"
#include "emu/ptx/parser.hpp"

namespace lockwarp::launch {

namespace {

// What stands in the text from a variable's name to behind its initialiser, and what shall.
struct Splice {
    size_t begin = 0;
    size_t end = 0;
    std::string text;
};

// "_ZL4taps" and "_ZN2ns4tapsE" are the variable "taps".
bool is_named(const std::string& mangled, const std::string& name) {
    if (mangled == name) return true;
    if (!mangled.starts_with("_Z")) return false;
    const std::string last = std::to_string(name.size()) + name;
    const std::string_view whole =
        std::string_view(mangled).substr(0, mangled.size() - (mangled.ends_with('E') ? 1 : 0));
    if (!whole.ends_with(last)) return false;
    const char before = whole[whole.size() - last.size() - 1];
    return before < '0' || before > '9';
}

std::vector<const ptx::Variable*> settable(const ptx::Module& module) {
    std::vector<const ptx::Variable*> out;
    for (const auto& item : module.items)
        if (const auto* v = std::get_if<ptx::Variable>(&item);
            v != nullptr && (v->space == ptx::Space::const_ || v->space == ptx::Space::global) &&
            v->linking != ptx::Linking::extern_)
            out.push_back(v);
    return out;
}

std::string names_of(const std::vector<const ptx::Variable*>& variables) {
    constexpr size_t shown = 8;
    std::string out;
    for (size_t i = 0; i < variables.size() && i < shown; ++i)
        out += (i == 0 ? "" : ", ") + variables[i]->name;
    return out + (variables.size() > shown ? ", ..." : "");
}

// Bytes of one element; 0 where its elements cannot be written out.
unsigned element_bytes(const ptx::Variable& v) {
    return v.vector == 1 ? isa::bits(isa::type_named(v.type)) / 8 : 0;
}

// Elements, in the order of memory; 0: not stated, or more than a launch could have.
uint64_t elements(const ptx::Variable& v) {
    constexpr uint64_t most = uint64_t{1} << 28;
    constexpr size_t most_dims = 8;
    if (v.dims.size() > most_dims) return 0;
    uint64_t count = 1;
    for (const uint64_t d : v.dims) {
        if (d == 0 || count > most / d) return 0;
        count *= d;
    }
    return count;
}

// One element as PTX writes it: f32 and f64 by their bits.
std::string element(std::string_view type, const uint8_t* bytes, unsigned width) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, width);
    if (type == ".f32") return fmt::format("0f{:08X}", value);
    if (type == ".f64") return fmt::format("0d{:016X}", value);
    return std::to_string(value);
}

// "{1, 2}", with a pair of braces for each dimension.
std::string initialiser(const ptx::Variable& v, const std::vector<uint8_t>& bytes, size_t dimension,
                        size_t& at, unsigned width) {
    if (dimension == v.dims.size()) {
        at += width;
        return element(v.type, bytes.data() + at - width, width);
    }
    std::string out = "{";
    for (uint64_t i = 0; i < v.dims[dimension]; ++i) {
        if (i != 0) out += ", ";
        out += initialiser(v, bytes, dimension + 1, at, width);
    }
    return out + "}";
}

size_t offset_of(const std::string& text, ptx::Place place) {
    size_t at = 0;
    for (uint32_t line = 1; line < place.line; ++line) at = text.find('\n', at) + 1;
    return at + place.column - 1;
}

// Behind the declaration that has its name at `at`: where "," or ";" stands.
size_t declaration_end(const std::string& text, size_t at) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
        if (depth == 0 && (c == ',' || c == ';')) break;
    }
    return at;
}

Problem make_splice(const LaunchFile& file, const BufferField& field, const ptx::Module& module,
                    const std::string& ptx, Splice& out) {
    const std::string where = file.path + ": field 'variables." + field.name + "': ";
    const std::vector<const ptx::Variable*> all = settable(module);
    std::vector<const ptx::Variable*> found;
    for (const ptx::Variable* v : all)
        if (is_named(v->name, field.name)) found.push_back(v);
    for (const ptx::Variable* v : all)
        if (v->name == field.name) found = {v};
    if (found.empty())
        return where + (all.empty() ? "the module has no .const or .global variables"
                                    : "the module has no such variable; it has " + names_of(all));
    if (found.size() > 1) return where + "may be " + names_of(found);
    const ptx::Variable& v = *found[0];
    const unsigned width = element_bytes(v);
    const uint64_t count = elements(v);
    if (width == 0 || count == 0) return where + "a variable of this type cannot be set";
    BufferField whole = field;
    if (whole.bytes == 0) whole.bytes = count * width;
    if (whole.bytes != count * width)
        return where + fmt::format("it has {} bytes, not {}", count * width, whole.bytes);
    std::vector<uint8_t> bytes;
    if (Problem why = initial_bytes(file, whole, bytes, "variables"); !why.empty()) return why;

    out.begin = offset_of(ptx, v.place);
    out.end = declaration_end(ptx, out.begin);
    const std::string_view declared(ptx.data() + out.begin, out.end - out.begin);
    size_t at = 0;
    const std::string value = initialiser(v, bytes, 0, at, width);
    // What comes behind stays in its line.
    const auto lines = static_cast<size_t>(std::ranges::count(declared, '\n'));
    const std::string_view name = declared.substr(0, declared.find('='));
    const auto kept = static_cast<size_t>(std::ranges::count(name, '\n'));
    out.text = std::string(name) + " = " + value + std::string(lines - kept, '\n');
    return {};
}

}  // namespace

Problem set_variables(const LaunchFile& file, std::string& ptx) {
    if (file.variables.empty()) return {};
    const ptx::Parsed parsed = ptx::parse(ptx);
    if (!parsed.diagnostics.empty()) return {};
    std::vector<Splice> splices;
    for (const BufferField& field : file.variables)
        if (Problem why = make_splice(file, field, parsed.module, ptx, splices.emplace_back());
            !why.empty())
            return why;
    std::ranges::sort(splices, std::ranges::greater(), &Splice::begin);
    for (size_t i = 0; i + 1 < splices.size(); ++i)
        if (splices[i].begin == splices[i + 1].begin)
            return file.path + ": field 'variables': two of them name one variable";
    for (const Splice& s : splices) ptx.replace(s.begin, s.end - s.begin, s.text);
    return {};
}

}  // namespace lockwarp::launch
