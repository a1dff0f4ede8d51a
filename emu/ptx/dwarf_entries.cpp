// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/dwarf_entries.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace lockwarp::ptx {

namespace {

constexpr size_t max_entries = 1'000'000;
constexpr size_t max_attributes = 16'000'000;  // of all entries, and of all abbreviations

// Bytes that are read one after another. Past the end everything is 0 and `bad` is set.
struct Cursor {
    std::string_view bytes;
    uint64_t at = 0;
    bool bad = false;

    bool ended() const { return bad || at >= bytes.size(); }

    std::string_view take(uint64_t n) {
        if (bad || n > bytes.size() - at) {
            bad = true;
            return {};
        }
        const std::string_view out = bytes.substr(at, n);
        at += n;
        return out;
    }

    uint64_t fixed(uint64_t width) {
        uint64_t value = 0;
        unsigned shift = 0;
        for (const char c : take(width)) {
            if (shift < 64) value |= uint64_t{static_cast<uint8_t>(c)} << shift;
            shift += 8;
        }
        return value;
    }

    // LEB128; what does not fit in 64 bits is cut off.
    uint64_t leb(bool is_signed = false) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint64_t byte = 0;
        do {
            byte = fixed(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            shift += 7;
        } while ((byte & 0x80) != 0 && !bad);
        if (is_signed && (byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
        return value;
    }

    std::string_view text() {
        const size_t end = bad ? std::string_view::npos : bytes.find('\0', at);
        if (end == std::string_view::npos) {
            bad = true;
            return {};
        }
        const std::string_view out = bytes.substr(at, end - at);
        at = end + 1;
        return out;
    }
};

// How the value of a form is stored (DWARF 5, section 7.5.6, "Form Encodings").
enum class Stored : uint8_t {
    fixed,    // `width` bytes
    address,  // of the unit's address size
    offset,   // 4 bytes, or 8 in the 64-bit format
    uleb,
    sleb,
    text,   // bytes up to a 0
    block,  // a length of `width` bytes, then so many; width 0: the length is a ULEB128
    none,   // nothing: the form says it
    in_abbreviation,
    indirect,  // the form itself stands before the value
};
// What the value is.
enum class Means : uint8_t { number, reference, global_reference, string, line_string, other };

struct FormRow {
    uint16_t form;
    Stored stored;
    uint8_t width;
    Means means;
};
constexpr std::array form_rows{
    FormRow{0x01, Stored::address, 0, Means::other},            // addr
    FormRow{0x03, Stored::block, 2, Means::other},              // block2
    FormRow{0x04, Stored::block, 4, Means::other},              // block4
    FormRow{0x05, Stored::fixed, 2, Means::number},             // data2
    FormRow{0x06, Stored::fixed, 4, Means::number},             // data4
    FormRow{0x07, Stored::fixed, 8, Means::number},             // data8
    FormRow{0x08, Stored::text, 0, Means::string},              // string
    FormRow{0x09, Stored::block, 0, Means::other},              // block
    FormRow{0x0a, Stored::block, 1, Means::other},              // block1
    FormRow{0x0b, Stored::fixed, 1, Means::number},             // data1
    FormRow{0x0c, Stored::fixed, 1, Means::number},             // flag
    FormRow{0x0d, Stored::sleb, 0, Means::number},              // sdata
    FormRow{0x0e, Stored::offset, 0, Means::string},            // strp
    FormRow{0x0f, Stored::uleb, 0, Means::number},              // udata
    FormRow{0x10, Stored::offset, 0, Means::global_reference},  // ref_addr
    FormRow{0x11, Stored::fixed, 1, Means::reference},          // ref1
    FormRow{0x12, Stored::fixed, 2, Means::reference},          // ref2
    FormRow{0x13, Stored::fixed, 4, Means::reference},          // ref4
    FormRow{0x14, Stored::fixed, 8, Means::reference},          // ref8
    FormRow{0x15, Stored::uleb, 0, Means::reference},           // ref_udata
    FormRow{0x16, Stored::indirect, 0, Means::other},           // indirect
    FormRow{0x17, Stored::offset, 0, Means::other},             // sec_offset
    FormRow{0x18, Stored::block, 0, Means::other},              // exprloc
    FormRow{0x19, Stored::none, 0, Means::number},              // flag_present
    FormRow{0x1a, Stored::uleb, 0, Means::other},               // strx
    FormRow{0x1b, Stored::uleb, 0, Means::other},               // addrx
    FormRow{0x1c, Stored::fixed, 4, Means::other},              // ref_sup4
    FormRow{0x1d, Stored::offset, 0, Means::other},             // strp_sup
    FormRow{0x1e, Stored::fixed, 16, Means::other},             // data16
    FormRow{0x1f, Stored::offset, 0, Means::line_string},       // line_strp
    FormRow{0x20, Stored::fixed, 8, Means::other},              // ref_sig8
    FormRow{0x21, Stored::in_abbreviation, 0, Means::number},   // implicit_const
    FormRow{0x22, Stored::uleb, 0, Means::other},               // loclistx
    FormRow{0x23, Stored::uleb, 0, Means::other},               // rnglistx
    FormRow{0x24, Stored::fixed, 8, Means::other},              // ref_sup8
    FormRow{0x25, Stored::fixed, 1, Means::other},              // strx1
    FormRow{0x26, Stored::fixed, 2, Means::other},              // strx2
    FormRow{0x27, Stored::fixed, 3, Means::other},              // strx3
    FormRow{0x28, Stored::fixed, 4, Means::other},              // strx4
    FormRow{0x29, Stored::fixed, 1, Means::other},              // addrx1
    FormRow{0x2a, Stored::fixed, 2, Means::other},              // addrx2
    FormRow{0x2b, Stored::fixed, 3, Means::other},              // addrx3
    FormRow{0x2c, Stored::fixed, 4, Means::other},              // addrx4
};
constexpr uint64_t implicit_const = 0x21;

struct Attribute {
    uint64_t name;
    uint64_t form;
    uint64_t constant;  // of implicit_const
};
struct Abbreviation {
    uint64_t tag = 0;
    bool has_children = false;
    std::vector<Attribute> attributes;
};
using Abbreviations = std::unordered_map<uint64_t, Abbreviation>;  // by code

struct Value {
    uint64_t number = no_offset;  // a reference: an offset in .debug_info
    std::string_view text;        // of a string, the bytes of a block
    uint64_t at = 0;              // where those bytes stand
};

constexpr std::array listed_tags{DwarfTag::array_type,       DwarfTag::class_type,
                                 DwarfTag::enumeration_type, DwarfTag::formal_parameter,
                                 DwarfTag::member,           DwarfTag::pointer_type,
                                 DwarfTag::reference_type,   DwarfTag::structure_type,
                                 DwarfTag::subroutine_type,  DwarfTag::typedef_,
                                 DwarfTag::union_type,       DwarfTag::inheritance,
                                 DwarfTag::subrange_type,    DwarfTag::ptr_to_member_type,
                                 DwarfTag::base_type,        DwarfTag::const_type,
                                 DwarfTag::subprogram,       DwarfTag::variable,
                                 DwarfTag::volatile_type,    DwarfTag::restrict_type,
                                 DwarfTag::unspecified_type, DwarfTag::rvalue_reference_type};

struct Unit {
    uint64_t begin = 0;  // references count from there
    uint64_t end = 0;
    uint64_t address_bytes = 8;
    uint64_t offset_bytes = 4;
    const Abbreviations* abbreviations = nullptr;
};

struct Reader {
    const Section* info = nullptr;
    std::string_view abbrev, strings, line_strings;
    std::map<uint64_t, Abbreviations> tables{};  // by offset
    size_t attributes_read = 0;
    std::vector<DwarfEntry> out{};

    bool exhausted() const { return attributes_read > max_attributes || out.size() >= max_entries; }
};

const Abbreviations& abbreviations_at(Reader& r, uint64_t offset) {
    const auto [found, is_new] = r.tables.try_emplace(offset);
    if (!is_new) return found->second;
    Cursor c{r.abbrev, offset, offset > r.abbrev.size()};
    while (!c.ended() && !r.exhausted()) {
        const uint64_t code = c.leb();
        if (code == 0) break;
        Abbreviation a;
        a.tag = c.leb();
        a.has_children = c.fixed(1) != 0;
        while (!c.bad && !r.exhausted()) {
            Attribute one{c.leb(), c.leb(), 0};
            if (one.form == implicit_const) one.constant = c.leb(true);
            if (one.name == 0 && one.form == 0) break;
            a.attributes.push_back(one);
            ++r.attributes_read;
        }
        ++r.attributes_read;
        if (!c.bad) found->second.emplace(code, std::move(a));
    }
    return found->second;
}

std::string_view text_at(std::string_view section, uint64_t offset) {
    if (offset >= section.size()) return {};
    const std::string_view rest = section.substr(offset);
    return rest.substr(0, std::min(rest.size(), rest.find('\0')));
}

uint64_t stored_number(Cursor& c, const Unit& u, const FormRow& form, const Attribute& a) {
    switch (form.stored) {
        case Stored::fixed:
            return c.fixed(form.width);
        case Stored::address:
            return c.fixed(u.address_bytes);
        case Stored::offset:
            return c.fixed(u.offset_bytes);
        case Stored::uleb:
            return c.leb();
        case Stored::sleb:
            return c.leb(true);
        case Stored::none:
            return 1;
        case Stored::in_abbreviation:
            return a.constant;
        case Stored::block:
            return form.width == 0 ? c.leb() : c.fixed(form.width);
        case Stored::text:
        case Stored::indirect:
            break;
    }
    return 0;
}

Value read_value(const Reader& r, Cursor& c, const Unit& u, Attribute a) {
    const auto row = [&] { return std::ranges::find(form_rows, a.form, &FormRow::form); };
    auto form = row();
    if (form != form_rows.end() && form->stored == Stored::indirect) {
        a.form = c.leb();
        form = row();
    }
    Value out;
    if (form == form_rows.end() || form->stored == Stored::indirect) {
        c.bad = true;
        return out;
    }
    if (form->stored == Stored::text) {
        out.text = c.text();
        return out;
    }
    const uint64_t number = stored_number(c, u, *form, a);
    if (form->stored == Stored::block) {
        out.at = c.at;
        out.text = c.take(number);
        return out;
    }
    switch (form->means) {
        case Means::number:
        case Means::global_reference:
            out.number = number;
            break;
        case Means::reference:
            out.number = u.begin + number;
            break;
        case Means::string:
            out.text = text_at(r.strings, number);
            break;
        case Means::line_string:
            out.text = text_at(r.line_strings, number);
            break;
        case Means::other:
            break;
    }
    return out;
}

// A member's offset: a number, or a block "plus n".
uint64_t member_offset(const Value& v) {
    constexpr uint64_t op_plus_uconst = 0x23;
    constexpr uint64_t op_constu = 0x10;
    if (v.text.empty()) return v.number;
    Cursor c{v.text};
    const uint64_t op = c.fixed(1);
    const uint64_t offset = c.leb();
    return (op == op_plus_uconst || op == op_constu) && !c.bad ? offset : no_offset;
}

// The variable whose address a location is.
std::string_view symbol_of(const Reader& r, const Value& v) {
    constexpr char op_addr = 0x03;
    if (v.text.empty() || v.text[0] != op_addr) return {};
    const auto found = r.info->symbols.find(v.at + 1);
    return found == r.info->symbols.end() ? std::string_view() : std::string_view(found->second);
}

void set_attribute(const Reader& r, DwarfEntry& e, uint64_t name, const Value& v) {
    switch (name) {
        case 0x02:
            e.symbol = symbol_of(r, v);
            break;
        case 0x03:
            e.name = v.text;
            break;
        case 0x0b:
            e.bytes = v.number == no_offset ? 0 : v.number;
            break;
        case 0x0d:
            e.has_bit_size = true;
            break;
        case 0x2f:
            e.upper_bound = v.number;
            break;
        case 0x31:
        case 0x47:
            e.origin = v.number;
            break;
        case 0x37:
            e.count = v.number;
            break;
        case 0x38:
            e.location = member_offset(v);
            break;
        case 0x3c:
            if (v.number != 0) e.is_declaration = true;
            break;
        case 0x3e:
            e.encoding = v.number;
            break;
        case 0x49:
            e.type = v.number;
            break;
        case 0x6e:
        case 0x2007:
            e.linkage_name = v.text;
            break;
        default:
            break;  // not asked for
    }
}

void read_entries(Reader& r, Cursor& c, const Unit& u) {
    std::vector<uint32_t> parents;  // of each level; no_parent: an entry that is not listed
    while (!c.ended() && c.at < u.end && !r.exhausted()) {
        DwarfEntry e;
        e.at = c.at;
        const uint64_t code = c.leb();
        if (code == 0) {
            if (!parents.empty()) parents.pop_back();
            continue;
        }
        const auto found = u.abbreviations->find(code);
        if (found == u.abbreviations->end()) return;
        const Abbreviation& a = found->second;
        for (const Attribute& attribute : a.attributes) {
            set_attribute(r, e, attribute.name, read_value(r, c, u, attribute));
            if (c.bad || ++r.attributes_read > max_attributes) return;
        }
        e.tag = static_cast<DwarfTag>(std::min<uint64_t>(a.tag, UINT16_MAX));
        e.parent = parents.empty() ? no_parent : parents.back();
        const bool is_listed = std::ranges::find(listed_tags, e.tag) != listed_tags.end();
        if (a.has_children)
            parents.push_back(is_listed ? static_cast<uint32_t>(r.out.size()) : no_parent);
        if (is_listed) r.out.push_back(e);
    }
}

// The header of a unit (DWARF 5, section 7.5.1.1), and its entries. False: nothing can follow.
bool read_unit(Reader& r, Cursor& c) {
    constexpr uint64_t long_format = 0xffffffff;
    constexpr uint64_t type_unit = 2;
    constexpr uint64_t skeleton = 4;
    constexpr uint64_t split_compile = 5;
    constexpr uint64_t split_type = 6;
    Unit u;
    u.begin = c.at;
    uint64_t length = c.fixed(4);
    if (length == long_format) {
        u.offset_bytes = 8;
        length = c.fixed(8);
    }
    u.end = c.at + std::min<uint64_t>(length, c.bytes.size() - std::min(c.at, c.bytes.size()));
    const uint64_t version = c.fixed(2);
    if (version < 2 || version > 5 || c.bad) return false;
    uint64_t abbreviations = 0;
    if (version >= 5) {
        const uint64_t kind = c.fixed(1);
        u.address_bytes = c.fixed(1);
        abbreviations = c.fixed(u.offset_bytes);
        if (kind == skeleton || kind == split_compile) c.take(8);
        if (kind == type_unit || kind == split_type) c.take(8 + u.offset_bytes);
    } else {
        abbreviations = c.fixed(u.offset_bytes);
        u.address_bytes = c.fixed(1);
    }
    if (c.bad || u.address_bytes > 8) return false;
    u.abbreviations = &abbreviations_at(r, abbreviations);
    Cursor entries{c.bytes.substr(0, u.end), c.at, c.at > u.end};
    read_entries(r, entries, u);
    c.at = std::max(c.at, u.end);
    return true;
}

}  // namespace

std::vector<DwarfEntry> dwarf_entries(const std::map<std::string, Section, std::less<>>& sections) {
    const auto bytes_of = [&](std::string_view name) {
        const auto found = sections.find(name);
        return found == sections.end() ? std::string_view() : std::string_view(found->second.bytes);
    };
    const auto info = sections.find(std::string_view(".debug_info"));
    if (info == sections.end()) return {};
    Reader r{&info->second, bytes_of(".debug_abbrev"), bytes_of(".debug_str"),
             bytes_of(".debug_line_str")};
    Cursor c{info->second.bytes};
    while (!c.ended() && read_unit(r, c)) {
    }
    return std::move(r.out);
}

}  // namespace lockwarp::ptx
