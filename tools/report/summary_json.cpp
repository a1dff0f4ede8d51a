// SPDX-License-Identifier: Apache-2.0
#include "tools/report/summary_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "launch/files.hpp"
#include "lockwarp/version.hpp"
#include "tools/report/summary_text.hpp"

namespace lockwarp::tools {

using validate::CaseResult;
using validate::Counts;
using validate::Summary;
using validate::Verdict;

namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr std::string_view schema = "lockwarp-report/1";
constexpr uint64_t max_report_bytes = uint64_t{1} << 25;
constexpr size_t max_field_text = size_t{1} << 20;

struct CountRow {
    std::string_view name;
    uint64_t Counts::*field;
    bool later = false;  // reports of earlier versions lack it
};

constexpr auto count_rows = std::to_array<CountRow>({
    {"values", &Counts::values},
    {"different", &Counts::different},
    {"masked", &Counts::masked},
    {"never_written", &Counts::unwritten, true},
    {"taken", &Counts::taken},
    {"address_instructions", &Counts::places, true},
    {"memory_bytes", &Counts::memory_bytes},
    {"memory_different", &Counts::memory_different},
    {"faults", &Counts::faults},
});

constexpr auto commands =
    std::to_array<std::string_view>({"run", "validate", "replay", "fuzz", "special"});
constexpr auto verdicts = std::to_array({Verdict::identical, Verdict::differs, Verdict::failed});

Ordered json_of(const Counts& c) {
    Ordered j = Ordered::object();
    for (const CountRow& row : count_rows) j[std::string(row.name)] = c.*row.field;
    return j;
}

// JSON has no infinities.
double finite(double seconds) { return std::isfinite(seconds) && seconds >= 0 ? seconds : 0; }

Ordered json_of(const ptx::SourcePlace& p) {
    Ordered j;
    j["file"] = p.file;
    j["line"] = p.line;
    if (p.column != 0) j["column"] = p.column;
    if (!p.function.empty()) j["function"] = p.function;
    return j;
}

Ordered json_of(const CaseResult& r) {
    Ordered j;
    j["name"] = r.name;
    j["verdict"] = validate::name_of(r.verdict);
    j["seconds"] = finite(r.seconds);
    j["counts"] = json_of(r.counts);
    if (!r.text.empty()) j["text"] = r.text;
    if (!r.file.empty()) j["file"] = r.file;
    if (r.line != 0) j["line"] = r.line;
    for (const ptx::SourcePlace& p : r.source) j["source"].push_back(json_of(p));
    if (!r.instruction.empty()) j["instruction"] = r.instruction;
    if (!r.compiler.empty()) j["compiler"] = r.compiler;
    return j;
}

Ordered json_of(const gpu::Device& d) {
    Ordered j;
    j["name"] = d.name;
    j["driver"] = d.driver;
    j["number"] = d.number;
    j["clock_mhz"] = d.clock_mhz;
    j["memory"] = d.memory;
    return j;
}

// Reads fields and remembers the first thing that is wrong. What an object lacks is null.
struct Reader {
    std::string path;
    std::optional<std::string> wrong;
    const Json null{};

    void fail(const std::string& field, const std::string& what) {
        if (!wrong) wrong = path + ": field '" + clean_line(field) + "': " + what;
    }

    static std::string seen(const Json& j) {
        if (j.is_null()) return "missing";
        if (j.is_structured()) return j.is_array() ? "an array" : "an object";
        return cut(clean_line(j.dump(-1, ' ', true, Json::error_handler_t::replace)), 40);
    }

    void expected(const std::string& field, const std::string& what, const Json& j) {
        fail(field, j.is_null() ? "is missing" : what + " is expected, not " + seen(j));
    }

    const Json& at(const Json& object, const char* key) const {
        const auto found = object.find(key);
        return found == object.end() ? null : *found;
    }

    bool is_object(const Json& j, const std::string& field) {
        if (!j.is_object()) expected(field, "an object", j);
        return j.is_object();
    }

    bool is_array(const Json& j, const std::string& field) {
        if (!j.is_array()) expected(field, "an array", j);
        return j.is_array();
    }

    uint64_t integer(const Json& j, const std::string& field, uint64_t most = UINT64_MAX) {
        if (j.is_number_unsigned() && j.get<uint64_t>() <= most) return j.get<uint64_t>();
        expected(field, "a whole number from 0 to " + std::to_string(most), j);
        return 0;
    }

    double seconds(const Json& j, const std::string& field) {
        if (j.is_number() && j.get<double>() >= 0) return j.get<double>();
        expected(field, "a number of seconds", j);
        return 0;
    }

    std::string text(const Json& j, const std::string& field) {
        if (j.is_string() && j.get_ref<const std::string&>().size() <= max_field_text)
            return j.get<std::string>();
        expected(field, "a text of at most " + std::to_string(max_field_text) + " bytes", j);
        return {};
    }

    std::string optional_text(const Json& j, const std::string& field) {
        return j.is_null() ? std::string() : text(j, field);
    }

    Counts counts(const Json& j, const std::string& field) {
        Counts out;
        if (!is_object(j, field)) return out;
        for (const CountRow& row : count_rows)
            if (!row.later || j.contains(row.name))
                out.*row.field =
                    integer(at(j, row.name.data()), field + "." + std::string(row.name));
        if (out.different > out.values) fail(field + ".different", "is above 'values'");
        if (out.memory_different > out.memory_bytes)
            fail(field + ".memory_different", "is above 'memory_bytes'");
        return out;
    }

    gpu::Device device(const Json& j, const std::string& field) {
        gpu::Device out;
        if (!is_object(j, field)) return out;
        out.name = text(at(j, "name"), field + ".name");
        out.driver = text(at(j, "driver"), field + ".driver");
        out.number = static_cast<uint32_t>(integer(at(j, "number"), field + ".number", UINT32_MAX));
        out.clock_mhz =
            static_cast<uint32_t>(integer(at(j, "clock_mhz"), field + ".clock_mhz", UINT32_MAX));
        out.memory = integer(at(j, "memory"), field + ".memory");
        return out;
    }

    Verdict verdict(const Json& j, const std::string& field) {
        const std::string name = text(j, field);
        for (const Verdict v : verdicts)
            if (validate::name_of(v) == name) return v;
        expected(field, "identical, differs or failed", j);
        return Verdict::failed;
    }

    ptx::SourcePlace source_place(const Json& one, const std::string& field) {
        const Json& column = at(one, "column");
        return {text(at(one, "file"), field + ".file"),
                static_cast<uint32_t>(integer(at(one, "line"), field + ".line", UINT32_MAX)),
                column.is_null()
                    ? 0
                    : static_cast<uint32_t>(integer(column, field + ".column", UINT32_MAX)),
                optional_text(at(one, "function"), field + ".function")};
    }

    std::vector<ptx::SourcePlace> source(const Json& j, const std::string& field) {
        std::vector<ptx::SourcePlace> out;
        if (j.is_null() || !is_array(j, field)) return out;
        for (const Json& one : j)
            if (is_object(one, field)) out.push_back(source_place(one, field));
        return out;
    }

    CaseResult result(const Json& j, const std::string& field) {
        CaseResult out;
        if (!is_object(j, field)) return out;
        out.name = text(at(j, "name"), field + ".name");
        if (out.name.empty()) fail(field + ".name", "is empty");
        out.verdict = verdict(at(j, "verdict"), field + ".verdict");
        out.seconds = seconds(at(j, "seconds"), field + ".seconds");
        out.counts = counts(at(j, "counts"), field + ".counts");
        if (out.verdict == Verdict::identical && different(out.counts))
            fail(field + ".verdict", "is identical, but the counts have differences");
        if (out.verdict == Verdict::identical && !compared(out.counts))
            fail(field + ".verdict", "is identical, but nothing was compared");
        out.text = optional_text(at(j, "text"), field + ".text");
        out.file = optional_text(at(j, "file"), field + ".file");
        if (const Json& line = at(j, "line"); !line.is_null())
            out.line = static_cast<uint32_t>(integer(line, field + ".line", UINT32_MAX));
        out.source = source(at(j, "source"), field + ".source");
        out.instruction = optional_text(at(j, "instruction"), field + ".instruction");
        out.compiler = optional_text(at(j, "compiler"), field + ".compiler");
        return out;
    }

    validate::Seeds seeds(const Json& j, const std::string& field) {
        validate::Seeds out;
        if (!is_object(j, field)) return out;
        out.first = integer(at(j, "first"), field + ".first");
        out.count = integer(at(j, "count"), field + ".count", UINT64_MAX - out.first);
        return out;
    }
};

std::string indexed(const char* field, size_t i) { return fmt::format("{}[{}]", field, i); }

// What the parts say together.
void check_sums(Reader& r, const Summary& s) {
    const bool every = s.command != "fuzz";
    if (s.results.size() > s.cases || (every && s.results.size() != s.cases))
        r.fail("cases", fmt::format("is {}, but there are {} results", s.cases, s.results.size()));
    for (const CountRow& row : count_rows) {
        uint64_t sum = 0;
        for (const CaseResult& c : s.results)
            sum = c.counts.*row.field > UINT64_MAX - sum ? UINT64_MAX : sum + c.counts.*row.field;
        const uint64_t total = s.counts.*row.field;
        if (every ? sum != total : sum > total)
            r.fail("counts." + std::string(row.name),
                   fmt::format("is {}, the results have {}", total, sum));
    }
    uint64_t seeds = 0;
    for (const validate::Seeds& range : s.seeds) seeds += range.count;
    if (!s.seeds.empty() && seeds != s.cases)
        r.fail("seeds", fmt::format("are {}, the cases {}", seeds, s.cases));
}

Summary summary_of(Reader& r, const Json& j) {
    Summary out;
    if (!j.is_object()) {
        r.wrong = r.path + ": a JSON object is expected, not " + Reader::seen(j);
        return out;
    }
    const std::string version = r.text(r.at(j, "schema"), "schema");
    if (version != schema) r.expected("schema", "'" + std::string(schema) + "'", r.at(j, "schema"));
    if (r.wrong) return out;
    out.command = r.text(r.at(j, "command"), "command");
    if (std::ranges::find(commands, out.command) == commands.end())
        r.expected("command", "run, validate, replay, fuzz or special", r.at(j, "command"));
    out.skipped = r.optional_text(r.at(j, "skipped"), "skipped");
    out.cases = r.integer(r.at(j, "cases"), "cases");
    if (!out.skipped.empty() && out.cases != 0) r.fail("skipped", "is there, but there are cases");
    out.seconds = r.seconds(r.at(j, "seconds"), "seconds");
    out.counts = r.counts(r.at(j, "counts"), "counts");
    if (const Json& all = r.at(j, "devices"); r.is_array(all, "devices"))
        for (size_t i = 0; i < all.size(); ++i)
            out.devices.push_back(r.device(all[i], indexed("devices", i)));
    if (const Json& all = r.at(j, "instructions"); r.is_object(all, "instructions"))
        for (const auto& [spelling, counts] : all.items())
            out.instructions[spelling] = r.counts(counts, "instructions." + cut(spelling, 60));
    if (const Json& all = r.at(j, "results"); r.is_array(all, "results"))
        for (size_t i = 0; i < all.size(); ++i)
            out.results.push_back(r.result(all[i], indexed("results", i)));
    if (const Json& all = r.at(j, "seeds"); !all.is_null() && r.is_array(all, "seeds"))
        for (size_t i = 0; i < all.size(); ++i)
            out.seeds.push_back(r.seeds(all[i], indexed("seeds", i)));
    if (!r.wrong) check_sums(r, out);
    return out;
}

}  // namespace

std::string summary_json(const Summary& s) {
    Ordered j;
    j["schema"] = schema;
    j["version"] = version;
    j["command"] = s.command;
    j["verdict"] = s.skipped.empty() ? validate::name_of(validate::verdict(s)) : "skipped";
    if (!s.skipped.empty()) j["skipped"] = s.skipped;
    j["cases"] = s.cases;
    j["seconds"] = finite(s.seconds);
    j["counts"] = json_of(s.counts);
    j["devices"] = Ordered::array();
    for (const gpu::Device& d : s.devices) j["devices"].push_back(json_of(d));
    for (const validate::Seeds& range : s.seeds)
        j["seeds"].push_back(Ordered{{"first", range.first}, {"count", range.count}});
    j["results"] = Ordered::array();
    for (const CaseResult& r : s.results) j["results"].push_back(json_of(r));
    j["instructions"] = Ordered::object();
    for (const auto& [spelling, counts] : s.instructions)
        j["instructions"][spelling] = json_of(counts);
    return j.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

launch::Result<Summary> parse_summary(const std::string& text, const std::string& path) {
    Reader r{path, {}};
    const Json j = Json::parse(text, nullptr, false);
    if (j.is_discarded()) return launch::failure(path + ": not JSON");
    Summary read = summary_of(r, j);
    if (r.wrong) return launch::failure(*r.wrong);
    // Ordered and checked as every merged report is.
    Summary whole;
    if (std::string why = validate::merge(whole, read); !why.empty())
        return launch::failure(path + ": field 'results': a case twice: " + clean_line(why));
    return whole;
}

launch::Result<Summary> read_summary(const std::string& path) {
    launch::Result<std::string> text = launch::read_text(path, max_report_bytes);
    if (!text) return launch::failure(text);
    return parse_summary(*text, path);
}

}  // namespace lockwarp::tools
