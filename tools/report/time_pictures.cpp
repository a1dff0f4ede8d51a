// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/source_text.hpp"
#include "tools/report/time_report.hpp"

namespace lockwarp::tools {

namespace {

using json = nlohmann::ordered_json;
using timing::Pipe;
using timing::Stall;

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

json stalls_json(const std::array<uint64_t, static_cast<size_t>(Stall::count_)>& stalls) {
    json out = json::object();
    for (size_t s = 0; s < stalls.size(); ++s)
        if (stalls[s] != 0) out[std::string(timing::text_of(static_cast<Stall>(s)))] = stalls[s];
    return out;
}

std::string dumped(const json& j, int indent) {
    return j.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string time_json(const Timed& t) {
    const timing::Report& r = t.report;
    json out = {{"schema", "lockwarp-time/1"},
                {"entry", t.program->entry},
                {"arch", isa::row(r.machine->arch).name},
                {"product", r.machine->name},
                {"cta_cycles", r.cta_cycles},
                {"grid_cycles", r.sm_cycles},
                {"microseconds", microseconds(r)},
                {"clock_cycles", r.clock_cycles},
                {"ctas", r.grid_ctas},
                {"sm_ctas", r.sm_ctas},
                {"simulated_ctas", r.simulated},
                {"cut", r.cut},
                {"resident_ctas", r.residency.ctas},
                {"limit", timing::text_of(r.residency.limit)},
                {"registers", r.residency.registers},
                {"instructions", r.retired},
                {"issued", r.issued},
                {"products", r.products},
                {"tensor_share", r.tensor_share}};
    json pipes = json::object();
    for (size_t p = 1; p < r.use.size(); ++p)
        pipes[std::string(timing::text_of(static_cast<Pipe>(p)))] = r.use[p];
    out["pipes"] = pipes;
    out["stalls"] = stalls_json(r.stalls);
    json operations = json::array();
    for (uint32_t i = 0; i < r.operations.size(); ++i) {
        const timing::OperationReport& o = r.operations[i];
        if (o.issues == 0) continue;
        const timing::Lowered& m = t.lowering.operations[i];
        operations.push_back({{"line", t.program->operations[i].place.line},
                              {"issues", o.issues},
                              {"machine", m.issue},
                              {"pipe", timing::text_of(m.pipe)},
                              {"evidence", timing::text_of(m.how)},
                              {"wavefronts", o.wavefronts},
                              {"least_wavefronts", o.ideal},
                              {"sectors", o.sectors},
                              {"stalls", stalls_json(o.stalls)}});
        const std::string source =
            launch::short_place(ptx::places_of(t.sources, t.program->operations[i].place));
        if (!source.empty()) operations.back()["source"] = source;
    }
    out["operations"] = operations;
    return dumped(out, 1);
}

std::string trace_json(const Timed& t) {
    json events = json::array();
    for (const timing::Event& e : t.report.events) {
        const isa::Operation& o = t.program->operations[e.operation];
        const std::string where = "line " + std::to_string(o.place.line);
        if (e.issue > e.waits)
            events.push_back({{"name", timing::text_of(e.stall)},
                              {"cat", "stall"},
                              {"ph", "X"},
                              {"ts", e.waits},
                              {"dur", e.issue - e.waits},
                              {"pid", e.cta},
                              {"tid", e.warp},
                              {"args", {{"before", where}}}});
        events.push_back({{"name", where},
                          {"cat", timing::text_of(t.lowering.operations[e.operation].pipe)},
                          {"ph", "X"},
                          {"ts", e.issue},
                          {"dur", 1},
                          {"pid", e.cta},
                          {"tid", e.warp},
                          {"args", {{"line", o.place.line}, {"result_after", e.done - e.issue}}}});
    }
    return dumped({{"traceEvents", events},
                   {"displayTimeUnit", "ns"},
                   {"otherData", {{"unit", "a microsecond here is a cycle"}}}},
                  -1);
}

std::string use_svg(const Timed& t) {
    constexpr int width = 900, height = 320, left = 50, top = 40;
    constexpr std::array<const char*, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#000000", "#999999"};
    constexpr std::array<const char*, 4> dashes{"", "6 3", "2 3", "8 3 2 3"};
    const timing::Report& r = t.report;
    std::string body;
    size_t drawn = 0;
    for (size_t p = 1; p < r.use.size(); ++p) {
        if (r.use[p] < 0.005) continue;
        const std::vector<double>& values = r.use_over_time[p];
        std::string points;
        for (size_t i = 0; i < values.size(); ++i)
            points += fmt::format(
                "{:.1f},{:.1f} ",
                left + (static_cast<double>(i) + 0.5) * width / static_cast<double>(values.size()),
                top + height * (1 - std::min(1.0, values[i])));
        const char* const colour = colours[drawn % colours.size()];
        body += fmt::format(
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\" "
            "points=\"{}\"/><text x=\"{}\" y=\"{}\" fill=\"{}\">{} {:.0f}%</text>",
            colour, dashes[drawn / 2 % dashes.size()], points, left + width + 10,
            top + 16 + 18 * drawn, colour, timing::text_of(static_cast<Pipe>(p)), 100 * r.use[p]);
        ++drawn;
    }
    for (int tick = 0; tick <= 4; ++tick)
        body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}%</text>", left - 6,
                            top + height - tick * height / 4 + 4, 25 * tick);
    const uint64_t span =
        r.bucket_cycles * (r.use_over_time[1].empty() ? 1 : r.use_over_time[1].size());
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\"><title>{2}: use of the pipes over time</title>"
        "<style>text{{font:13px sans-serif}}</style><rect width=\"{0}\" height=\"{1}\" "
        "fill=\"#fff\"/><text x=\"{3}\" y=\"24\">{2} on {4}: use of the pipes, of one SM</text>"
        "<rect x=\"{3}\" y=\"{5}\" width=\"{6}\" height=\"{7}\" fill=\"none\" stroke=\"#333\"/>{8}"
        "<text x=\"{3}\" y=\"{9}\">cycle 0</text><text x=\"{10}\" y=\"{9}\" "
        "text-anchor=\"end\">cycle {11}</text></svg>\n",
        left + width + 140, top + height + 40, escaped(t.program->entry), left, r.machine->name,
        top, width, height, body, top + height + 20, left + width, span);
}

std::string scatter_svg(const std::vector<Point>& points, const std::string& title) {
    constexpr double size = 520, left = 70, top = 50;
    double least = 1e300, most = 1;
    for (const Point& p : points) {
        least = std::min({least, p.predicted, p.measured});
        most = std::max({most, p.predicted, p.measured});
    }
    least = std::max(1.0, least / 1.3);
    most *= 1.3;
    const auto place = [&](double v) {
        return size * std::log(std::max(v, least) / least) / std::log(most / least);
    };
    std::string body;
    for (const double off : {1.0, 1.15, 1 / 1.15})
        body += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#999\"{}/>",
            left, top + size - place(least * off), left + size, top + size - place(most * off),
            off == 1.0 ? "" : " stroke-dasharray=\"4 4\"");
    for (const Point& p : points)
        body += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#0072b2\" fill-opacity=\".7\">"
            "<title>{}: {:.0f} measured, {:.0f} predicted</title></circle>",
            left + place(p.measured), top + size - place(p.predicted), escaped(p.name), p.measured,
            p.predicted);
    for (double tick = 1; tick < most; tick *= 10)
        for (const double m : {1.0, 2.0, 5.0}) {
            if (tick * m < least || tick * m > most) continue;
            body += fmt::format(
                "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>"
                "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>",
                left + place(tick * m), top + size + 18, tick * m, left - 6,
                top + size - place(tick * m) + 4, tick * m);
        }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 640\" width=\"640\" "
        "height=\"640\" role=\"img\"><title>{0}</title><style>text{{font:12px sans-serif}}</style>"
        "<rect width=\"640\" height=\"640\" fill=\"#fff\"/><text x=\"{1}\" y=\"28\">{0}</text>"
        "<clipPath id=\"c\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{3}\"/></clipPath>"
        "<rect x=\"{1}\" y=\"{2}\" width=\"{3}\" height=\"{3}\" fill=\"none\" stroke=\"#333\"/>{4}"
        "<text x=\"{1}\" y=\"{5}\">measured cycles; dashed: 15% off</text>"
        "<text x=\"8\" y=\"44\">predicted</text></svg>\n",
        escaped(title), left, top, size, body, top + size + 40);
}

}  // namespace lockwarp::tools
