// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <vector>

#include "emu/isa/operation.hpp"
#include "launch/nearest.hpp"
#include "launch/reader.hpp"

namespace lockwarp::launch {

namespace {

constexpr uint64_t max_launch_bytes = uint64_t{1} << 28;
constexpr size_t max_launches = 10000;
constexpr uint64_t address_alignment = 256;  // of what cudaMalloc gives
// Between them lie the heap, the module's variables and windows of the generic address space; above
// those are the addresses that drivers give on Linux, and captured launches have.
struct AddressRange {
    uint64_t begin, end;
};
constexpr std::array<AddressRange, 2> buffer_addresses{{
    {address_alignment, uint64_t{0x70} << 40},
    {uint64_t{0x7e10} << 32, uint64_t{1} << 47},
}};
static_assert(buffer_addresses[0].end <= isa::heap_base);
static_assert(isa::const_window + isa::window_bytes <= buffer_addresses[1].begin);
constexpr std::string_view schema = "lockwarp-launch/1";

// Names of buffers become names of files.
// A variable's name is PTX's, which C++ makes long.
bool good_name(const std::string& name, bool of_variable = false) {
    const size_t max_name = of_variable ? 4096 : 100;
    return !name.empty() && name.size() <= max_name && name[0] != '.' &&
           std::ranges::all_of(name, [&](unsigned char c) {
               return std::isalnum(c) || c == '_' || c == '-' || c == '.' ||
                      (of_variable && c == '$');
           });
}

void read_address(Reader& r, const Json& j, const std::string& field, BufferField& b) {
    uint64_t value = 0;
    if (j.is(JsonKind::text))
        value = r.scalar(j, isa::Type::u64, field);
    else
        value = r.integer(j, field, UINT64_MAX);
    const bool is_free = std::ranges::any_of(buffer_addresses, [&](const AddressRange& range) {
        return value >= range.begin && value < range.end && b.bytes <= range.end - value;
    });
    if (value % address_alignment != 0 || !is_free)
        r.fail(j, field,
               "a multiple of 256 is expected, such as \"0x7000000000\", with all of the buffer "
               "below 0x700000000000 or from 0x7e1000000000 to 0x7fffffffffff, not " +
                   r.seen(j));
    b.address = value;
}

void read_buffer(Reader& r, const Json& j, const std::string& field, BufferField& b) {
    if (!r.object(j, field,
                  {"bytes", "zeros", "init", "pointers", "tensorMaps", "address", "shape", "type",
                   "stride"}))
        return;
    const Json* const bytes = j.find("bytes");
    const Json* const zeros = j.find("zeros");
    const Json* const init = j.find("init");
    if (zeros != nullptr && (bytes != nullptr || init != nullptr))
        return r.fail(*zeros, field + ".zeros", "stands for bytes and init");
    const uint64_t of_shape = read_shape(r, j, field, b);
    if (r.wrong) return;
    if (zeros == nullptr && bytes == nullptr && of_shape == 0)
        return r.fail(j, field + ".bytes", "is missing");
    b.bytes = zeros != nullptr   ? r.bytes(*zeros, field + ".zeros")
              : bytes != nullptr ? r.bytes(*bytes, field + ".bytes")
                                 : of_shape;
    if (of_shape > b.bytes)
        return r.fail(
            *j.find("shape"), field + ".shape",
            "has " + std::to_string(of_shape) + " bytes, the buffer " + std::to_string(b.bytes));
    const bool undefined =
        init != nullptr && init->is(JsonKind::text) && init->text() == "undefined";
    if (undefined)
        b.init.kind = InitKind::undefined;
    else if (init != nullptr)
        read_init(r, *init, field + ".init", b.init);
    if (const Json* v = j.find("pointers")) {
        if (undefined)
            return r.fail(*v, field + ".pointers", "an undefined buffer holds no addresses");
        read_pointers(r, *v, field + ".pointers", b.bytes, b.pointers);
    }
    if (const Json* v = j.find("tensorMaps")) {
        if (undefined)
            return r.fail(*v, field + ".tensorMaps", "an undefined buffer holds no tensor maps");
        read_placed_maps(r, *v, field + ".tensorMaps", b.bytes, {}, b.maps, b.pointers);
    }
    if (const Json* v = j.find("address")) read_address(r, *v, field + ".address", b);
}

// A variable has the bytes that the module gives it; they need not be stated.
void read_variable(Reader& r, const Json& j, const std::string& field, BufferField& b) {
    if (!r.object(j, field, {"bytes", "init"})) return;
    if (const Json* v = j.find("bytes")) b.bytes = r.bytes(*v, field + ".bytes");
    const Json* const init = j.find("init");
    if (init == nullptr) return r.fail(j, field + ".init", "is missing");
    read_init(r, *init, field + ".init", b.init);
}

void read_named(Reader& r, const Json& j, const std::string& within,
                void (*read)(Reader&, const Json&, const std::string&, BufferField&),
                std::vector<BufferField>& out) {
    if (!j.is(JsonKind::object))
        return r.fail(j, within, "an object of " + within + " by name is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& name = j.keys()[i].name;
        const Json& value = j.items()[i];
        if (name == "comment" && value.is(JsonKind::text)) continue;
        const std::string field = within + "." + name;
        if (!good_name(name, within.ends_with("variables")))
            return r.fail(value, field, "a name of letters, digits, '_', '-' and '.' is expected");
        BufferField b;
        b.place = r.place(value);
        b.name = name;
        read(r, value, field, b);
        out.push_back(std::move(b));
    }
    // Buffers lie in this order.
    std::ranges::sort(out, {}, &BufferField::name);
}

void read_functions(Reader& r, const Json& j, const std::string& within,
                    std::vector<FunctionField>& out) {
    out.clear();
    if (!j.is(JsonKind::object))
        return r.fail(j, within, "an object of addresses by the names of functions is expected");
    for (size_t i = 0; i < j.keys().size(); ++i) {
        const std::string& name = j.keys()[i].name;
        const Json& value = j.items()[i];
        if (name == "comment" && value.is(JsonKind::text)) continue;
        const std::string field = within + "." + name;
        if (!good_name(name, true))
            return r.fail(value, field, "a name of letters, digits, '_' and '$' is expected");
        const uint64_t address = value.is(JsonKind::text) ? r.scalar(value, isa::Type::u64, field)
                                                          : r.integer(value, field, UINT64_MAX);
        if (std::ranges::find(out, address, &FunctionField::address) != out.end())
            return r.fail(value, field, "another function has this address");
        out.push_back({r.place(value), name, address});
    }
}

// The fields of one launch, over those that `k` has already.
void read_kernel(Reader& r, const Json& j, const std::string& within, Kernel& k) {
    const std::string prefix = within.empty() ? "" : within + ".";
    if (const Json* v = j.find("ptx")) {
        k.ptx = r.text(*v, prefix + "ptx");
        k.ptx_place = r.place(*v);
    }
    if (const Json* v = j.find("entry")) {
        k.entry = r.text(*v, prefix + "entry");
        k.entry_place = r.place(*v);
    }
    if (const Json* v = j.find("grid")) k.grid = r.dims(*v, prefix + "grid");
    if (const Json* v = j.find("block")) k.block = r.dims(*v, prefix + "block");
    if (const Json* v = j.find("dynamic_shared"))
        k.dynamic_shared =
            static_cast<uint32_t>(r.integer(*v, prefix + "dynamic_shared", 1u << 30));
    if (const Json* v = j.find("cluster")) k.cluster = r.dims(*v, prefix + "cluster");
    if (const Json* v = j.find("non_portable_cluster"))
        k.non_portable_cluster = r.truth(*v, prefix + "non_portable_cluster");
    if (const Json* v = j.find("cooperative")) k.cooperative = r.truth(*v, prefix + "cooperative");
    if (const Json* v = j.find("variables"))
        read_named(r, *v, prefix + "variables", read_variable, k.variables);
    if (const Json* v = j.find("functions"))
        read_functions(r, *v, prefix + "functions", k.functions);
    const Json* const args = j.find("args");
    if (args == nullptr) return;
    k.arguments.clear();
    if (!args->is(JsonKind::list)) return r.fail(*args, prefix + "args", "a list is expected");
    for (size_t i = 0; i < args->items().size(); ++i)
        read_argument(r, args->items()[i], prefix + "args[" + std::to_string(i) + "]",
                      k.arguments.emplace_back());
}

void need(Reader& r, const Json& j, const Json* other, const std::string& within,
          std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (j.find(name) == nullptr && (other == nullptr || other->find(name) == nullptr))
            r.fail(j, within + name, "is missing");
}

// A module is loaded before its first launch; what is set at the top is set then. What a launch
// sets stays for those of the same module after it.
void inherit_variables(const Kernel& base, const std::vector<Kernel>& earlier, Kernel& k) {
    const auto last = std::find_if(earlier.rbegin(), earlier.rend(),
                                   [&](const Kernel& e) { return e.ptx == k.ptx; });
    const bool first = last == earlier.rend();
    for (BufferField v : first ? base.variables : last->variables) {
        if (std::ranges::find(k.variables, v.name, &BufferField::name) != k.variables.end())
            continue;
        v.inherited = !first;
        k.variables.push_back(std::move(v));
    }
}

void read_launches(Reader& r, const Json& top, const Json& list, const Kernel& base,
                   LaunchFile& out) {
    if (!list.is(JsonKind::list) || list.items().empty() || list.items().size() > max_launches)
        return r.fail(list, "launches", "a list of launches is expected");
    for (size_t i = 0; i < list.items().size(); ++i) {
        const Json& j = list.items()[i];
        const std::string field = "launches[" + std::to_string(i) + "]";
        if (!r.object(j, field,
                      {"ptx", "entry", "grid", "block", "dynamic_shared", "cluster",
                       "non_portable_cluster", "cooperative", "variables", "functions", "args"}))
            return;
        need(r, j, &top, field + ".", {"ptx", "grid", "block"});
        Kernel k = base;
        k.variables.clear();
        k.place = r.place(j);
        read_kernel(r, j, field, k);
        inherit_variables(base, out.launches, k);
        out.launches.push_back(std::move(k));
    }
}

void check_pointers(Reader& r, const LaunchFile& file, const std::vector<Pointer>& pointers,
                    const std::string& field) {
    for (const Pointer& p : pointers) {
        const BufferField* b = file.find_buffer(p.buffer);
        if (r.wrong || (b != nullptr && p.offset <= b->bytes)) continue;
        std::vector<std::string_view> names;
        for (const BufferField& known : file.buffers) names.push_back(known.name);
        const std::string where = file.at(p.place) + "field '" + field;
        r.wrong = b == nullptr
                      ? where + "': there is no buffer '" + shown(p.buffer) + "'" +
                            suggestion(p.buffer, names)
                      : where + ".offset': " + std::to_string(p.offset) + " is past buffer '" +
                            p.buffer + "' of " + std::to_string(b->bytes) + " bytes";
    }
}

void check_names(Reader& r, const LaunchFile& file) {
    for (const TensorMapField& m : file.tensor_maps)
        check_pointers(r, file, {{m.place, 0, m.buffer, m.offset}},
                       "tensorMaps." + m.name + ".globalAddress");
    for (const BufferField& b : file.buffers)
        check_pointers(r, file, b.pointers, "buffers." + b.name + ".pointers");
    for (size_t k = 0; k < file.launches.size(); ++k) {
        const std::string within =
            file.launches[k].place.line != 0 ? "launches[" + std::to_string(k) + "]." : "";
        for (size_t i = 0; i < file.launches[k].arguments.size(); ++i)
            check_pointers(r, file, file.launches[k].arguments[i].pointers,
                           within + "args[" + std::to_string(i) + "]");
    }
}

void read_outputs(Reader& r, const Json& j, LaunchFile& out) {
    if (!j.is(JsonKind::list))
        return r.fail(j, "outputs", "a list of buffers and variables is expected");
    for (const Json& item : j.items()) {
        const std::string name = r.text(item, "outputs");
        if (!good_name(name, true))
            r.fail(item, "outputs", "a name of a buffer or a variable is expected");
        if (std::ranges::find(out.outputs, name, &Output::name) != out.outputs.end())
            r.fail(item, "outputs", "'" + name + "' is there twice");
        out.outputs.push_back({r.place(item), name});
    }
}

void read_top(Reader& r, const Json& j, LaunchFile& out) {
    if (!r.object(j, "",
                  {"schema", "ptx", "entry", "arch", "grid", "block", "dynamic_shared", "cluster",
                   "non_portable_cluster", "cooperative", "tensorMaps", "buffers", "variables",
                   "functions", "args", "launches", "outputs", "expect"}))
        return;
    const Json* const launches = j.find("launches");
    need(r, j, nullptr, "", {"schema"});
    if (launches == nullptr) need(r, j, nullptr, "", {"ptx", "grid", "block"});
    if (r.wrong) return;
    const Json& version = *j.find("schema");
    if (r.text(version, "schema") != schema)
        r.fail(version, "schema",
               "\"" + std::string(schema) + "\" is expected, not " + r.seen(version));
    if (const Json* v = j.find("arch")) {
        out.arch = r.text(*v, "arch");
        out.arch_place = r.place(*v);
    }
    if (const Json* v = j.find("tensorMaps")) read_tensor_maps(r, *v);
    if (const Json* v = j.find("buffers")) read_named(r, *v, "buffers", read_buffer, out.buffers);
    Kernel base;
    read_kernel(r, j, "", base);
    if (launches != nullptr)
        read_launches(r, j, *launches, base, out);
    else
        out.launches.push_back(std::move(base));
    if (const Json* v = j.find("outputs")) read_outputs(r, *v, out);
    if (const Json* v = j.find("expect")) read_expectations(r, *v, out);
    out.tensor_maps = std::move(r.tensor_maps);
    check_names(r, out);
}

}  // namespace

const BufferField* LaunchFile::find_buffer(std::string_view name) const {
    const auto found = std::ranges::find(buffers, name, &BufferField::name);
    return found == buffers.end() ? nullptr : &*found;
}

std::string LaunchFile::field(const Kernel& kernel, std::string_view name) const {
    const auto k = static_cast<size_t>(&kernel - launches.data());
    const bool listed = k < launches.size() && kernel.place.line != 0;
    return (listed ? "launches[" + std::to_string(k) + "]." : std::string()) + std::string(name);
}

Result<LaunchFile> parse_launch_file(const std::string& text, const std::string& path) {
    LaunchFile out;
    out.path = path;
    out.folder = std::filesystem::path(path).parent_path().string();
    const Result<Document> document = parse_json(text, path);
    if (!document) return tl::unexpected(document.error());
    Reader r{*document, {}};
    read_top(r, document->root, out);
    if (r.wrong) return failure(*r.wrong);
    return out;
}

Result<LaunchFile> read_launch_file(const std::string& path) {
    Result<std::string> text = read_text(path, max_launch_bytes);
    if (!text) return failure(text);
    return parse_launch_file(*text, path);
}

}  // namespace lockwarp::launch
