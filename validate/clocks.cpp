// SPDX-License-Identifier: Apache-2.0
#include "validate/clocks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

namespace lockwarp::validate {

namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr std::string_view schema = "lockwarp-clocks/1";
constexpr size_t max_text = 4096;
constexpr size_t max_points = 100000;

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 != 0) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// From the first begin to the last end.
struct Extent {
    uint64_t begin = UINT64_MAX, end = 0;
    double cycles() const { return static_cast<double>(end - begin); }
    void take(uint64_t from, uint64_t to) {
        begin = std::min(begin, from);
        end = std::max(end, to);
    }
};

// The most of them at a time.
uint64_t max_at_once(const std::vector<Extent>& all) {
    std::vector<std::pair<uint64_t, int>> changes;
    for (const Extent& e : all) {
        changes.emplace_back(e.begin, 1);
        changes.emplace_back(e.end, -1);
    }
    std::ranges::sort(changes);
    int now = 0;
    int most = 1;
    for (const auto& [when, change] : changes) most = std::max(most, now += change);
    return static_cast<uint64_t>(most);
}

}  // namespace

launch::Result<RunClocks> run_clocks(std::span<const gpu::Clocked> slots, uint64_t threads) {
    RunClocks out;
    if (threads == 0 || slots.empty() || slots.size() % threads != 0)
        return launch::failure("no threads");
    std::map<uint64_t, std::vector<Extent>> places;
    for (size_t first = 0; first < slots.size(); first += threads) {
        const uint64_t place = slots[first].place;
        Extent cta;
        for (const gpu::Clocked& s : slots.subspan(first, threads)) {
            if (s.place == 0) return launch::failure("a thread has not stored its clocks");
            if (s.place != place) return launch::failure("a CTA moved to another multiprocessor");
            if (s.end < s.begin) return launch::failure("a clock ran backwards");
            cta.take(s.begin, s.end);
        }
        out.ctas.push_back(cta.cycles());
        places[place].push_back(cta);
    }
    for (const auto& [place, ctas] : places)
        out.sm_ctas = std::max<uint64_t>(out.sm_ctas, ctas.size());
    std::vector<double> cycles;
    for (const auto& [place, ctas] : places) {
        if (ctas.size() != out.sm_ctas) continue;
        out.resident = std::max(out.resident, max_at_once(ctas));
        Extent sm;
        for (const Extent& cta : ctas) sm.take(cta.begin, cta.end);
        cycles.push_back(sm.cycles());
    }
    out.sm_cycles = median(std::move(cycles));
    return out;
}

void take_medians(std::span<const RunClocks> runs, ClockPoint& point) {
    point.first = runs[0].sm_cycles;
    const std::span<const RunClocks> warm = runs.subspan(1);
    point.runs = warm.size();
    std::vector<double> ctas;
    std::map<uint64_t, std::vector<double>> by_count;  // sm_cycles by sm_ctas
    for (const RunClocks& r : warm) {
        ctas.insert(ctas.end(), r.ctas.begin(), r.ctas.end());
        by_count[r.sm_ctas].push_back(r.sm_cycles);
    }
    point.cta_cycles = median(std::move(ctas));
    const auto usual = std::ranges::max_element(
        by_count, {}, [](const auto& entry) { return entry.second.size(); });
    point.sm_ctas = usual->first;
    point.resident = 0;
    for (const RunClocks& r : warm)
        if (r.sm_ctas == point.sm_ctas) point.resident = std::max(point.resident, r.resident);
    point.sm_cycles = median(usual->second);
    const auto [least, most] = std::ranges::minmax_element(usual->second);
    point.spread = point.sm_cycles == 0 ? 0 : (*most - *least) / point.sm_cycles;
}

namespace {

struct TextRow {
    const char* name;
    std::string ClockPoint::*field;
};
constexpr auto text_rows = std::to_array<TextRow>({
    {"launch", &ClockPoint::launch},
    {"name", &ClockPoint::name},
});

struct CountRow {
    const char* name;
    uint64_t ClockPoint::*field;
};
constexpr auto count_rows = std::to_array<CountRow>({
    {"ctas", &ClockPoint::ctas},
    {"warps", &ClockPoint::warps},
    {"sm_ctas", &ClockPoint::sm_ctas},
    {"resident", &ClockPoint::resident},
    {"runs", &ClockPoint::runs},
});

struct NumberRow {
    const char* name;
    double ClockPoint::*field;
};
constexpr auto number_rows = std::to_array<NumberRow>({
    {"cta_cycles", &ClockPoint::cta_cycles},
    {"sm_cycles", &ClockPoint::sm_cycles},
    {"first", &ClockPoint::first},
    {"spread", &ClockPoint::spread},
});

// Reads fields and remembers the first thing that is wrong.
struct Reader {
    std::optional<std::string> wrong;
    const Json null{};

    void fail(const std::string& field, const std::string& expected) {
        if (!wrong) wrong = "field '" + field + "': " + expected + " is expected";
    }

    const Json& at(const Json& j, const char* name) const {
        const auto found = j.is_object() ? j.find(name) : j.end();
        return found == j.end() ? null : *found;
    }

    std::string text(const Json& object, const char* name, const std::string& where) {
        const Json& j = at(object, name);
        if (j.is_string()) {
            const auto& value = j.get_ref<const std::string&>();
            if (value.size() <= max_text && std::ranges::none_of(value, [](char c) {
                    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                }))
                return value;
        }
        fail(where + name, "a line of text");
        return {};
    }

    uint64_t count(const Json& object, const char* name, const std::string& where, uint64_t most) {
        const Json& j = at(object, name);
        if (j.is_number_unsigned() && j.get<uint64_t>() <= most) return j.get<uint64_t>();
        fail(where + name, "a whole number from 0 to " + std::to_string(most));
        return 0;
    }

    double number(const Json& object, const char* name, const std::string& where) {
        const Json& j = at(object, name);
        if (j.is_number() && j.get<double>() >= 0) return j.get<double>();
        fail(where + name, "a number that is not negative");
        return 0;
    }
};

bool is_date(const std::string& text) {
    constexpr std::string_view form = "dddd-dd-dd";
    return std::ranges::equal(
        text, form, [](char c, char f) { return f == 'd' ? c >= '0' && c <= '9' : c == f; });
}

}  // namespace

std::string clocks_json(const Clocks& clocks) {
    Ordered j;
    j["schema"] = schema;
    j["version"] = clocks.version;
    j["date"] = clocks.date;
    j["device"] = {{"name", clocks.device},
                   {"arch", clocks.arch},
                   {"driver", clocks.driver},
                   {"mhz", clocks.mhz}};
    j["points"] = Ordered::array();
    for (const ClockPoint& p : clocks.points) {
        Ordered point;
        for (const TextRow& row : text_rows) point[row.name] = p.*row.field;
        for (const CountRow& row : count_rows) point[row.name] = p.*row.field;
        for (const NumberRow& row : number_rows) point[row.name] = p.*row.field;
        j["points"].push_back(std::move(point));
    }
    return j.dump(1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

launch::Result<Clocks> read_clocks(std::string_view text) {
    Clocks out;
    const Json j = Json::parse(text, nullptr, false);
    if (!j.is_object()) return launch::failure("not JSON with one object");
    Reader r;
    if (r.text(j, "schema", "") != schema)
        return launch::failure("field 'schema': " + std::string(schema) + " is expected");
    out.version = r.text(j, "version", "");
    out.date = r.text(j, "date", "");
    if (!is_date(out.date)) r.fail("date", "YYYY-MM-DD");
    const Json& device = r.at(j, "device");
    out.device = r.text(device, "name", "device.");
    out.arch = r.text(device, "arch", "device.");
    out.driver = r.text(device, "driver", "device.");
    out.mhz = static_cast<uint32_t>(r.count(device, "mhz", "device.", UINT32_MAX));
    const Json& points = r.at(j, "points");
    if (!points.is_array() || points.size() > max_points)
        r.fail("points", "an array of at most " + std::to_string(max_points));
    for (size_t i = 0; !r.wrong && i < points.size(); ++i) {
        const std::string where = "points[" + std::to_string(i) + "].";
        ClockPoint& p = out.points.emplace_back();
        for (const TextRow& row : text_rows) p.*row.field = r.text(points[i], row.name, where);
        for (const CountRow& row : count_rows)
            p.*row.field = r.count(points[i], row.name, where, UINT64_MAX);
        for (const NumberRow& row : number_rows)
            p.*row.field = r.number(points[i], row.name, where);
    }
    if (r.wrong) return launch::failure(*r.wrong);
    return out;
}

}  // namespace lockwarp::validate
