// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/explorer_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lanes/explain.hpp"
#include "lanes/explorer.hpp"
#include "lanes/instruction.hpp"
#include "launch/files.hpp"
#include "lockwarp/version.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/run_command.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/report_options.hpp"

namespace lockwarp::tools {

namespace {

using json = nlohmann::ordered_json;

// What each instruction's dot product is shown with. A and B from k = 0 on, then zeros.
struct Example {
    std::string_view name;
    std::string_view a, b;  // empty: random
    std::string_view c;
    bool repeated = false;  // a and b for every k
};
constexpr std::array<Example, 3> examples{
    {{"random values", "", "", ""},
     {"small terms beside 2^16 and -2^16", "256,0.015625,-256,0.015625",
      "256,0.015625,256,0.015625", "0"},
     {"products of 2^-12 beside C = 2^12", "0.015625", "0.015625", "4096", true}}};

std::string repeated_to(const Example& e, std::string_view text, unsigned k) {
    if (text.empty()) return "";
    std::string out(text);
    for (auto n = static_cast<unsigned>(std::ranges::count(text, ',')) + 1; n < k; ++n)
        out += fmt::format(",{}", e.repeated ? text : "0");
    return out;
}

// Dense products of one type, not too long to be read.
bool shown(const lanes::Instruction& i) {
    constexpr unsigned most = 32;
    if (i.k == 0 || i.k > most || i.wgmma != nullptr) return false;
    const isa::Type a = i.operands[0].type;
    const bool common = a == isa::Type::f16 || a == isa::Type::bf16 || a == isa::Type::tf32 ||
                        a == isa::Type::f64 || a == isa::Type::e4m3 || a == isa::Type::e5m2 ||
                        a == isa::Type::s8;
    if (!common || i.operands[1].type != a || i.operands[2].type != i.operands[3].type)
        return false;
    return i.mma == nullptr || (!i.mma->sparse && i.mma->scales == 0);
}

// One dot product on one architecture, as explain writes it; null where it cannot.
json trace(const lanes::Instruction& i, isa::Arch arch, const Example& e) {
    const launch::Result<lanes::Product> product = lanes::product_of(i, arch);
    if (!product) return nullptr;
    const lanes::Product& p = *product;
    const lanes::InputTexts texts{
        .a = repeated_to(e, e.a, p.k), .b = repeated_to(e, e.b, p.k), .c = std::string(e.c)};
    const launch::Result<lanes::DotInputs> inputs = lanes::read_inputs(i, 0, 0, texts);
    if (!inputs) return nullptr;
    const lanes::Answer a = explain({p}, 0, 0, *inputs);
    if (!a.error.empty()) return nullptr;
    json grids = json::array();
    for (const lanes::Grid& g : a.grids)  // of the title the lines that name no architecture
        grids.push_back({{"title", g.title.substr(g.title.rfind('\n') + 1)},
                         {"header", g.header},
                         {"rows", g.rows}});
    const json& result = a.data["results"][0];
    return {{"rule", result["rule"]},
            {"result", result["result"]},
            {"value", result["value"]},
            {"c", a.data["c"]},
            {"grids", grids}};
}

json traces() {
    json texts = json::array();
    json of = json::object();
    std::map<std::string, size_t> known;
    for (const lanes::Instruction& listed : lanes::all_instructions(std::nullopt)) {
        if (!shown(listed)) continue;
        std::vector<std::pair<isa::Arch, lanes::Instruction>> machines;
        for (const isa::ArchRow& a : isa::arch_rows)
            if (lanes::Found found = lanes::make(listed.key, a.arch); found.instruction)
                machines.emplace_back(a.arch, std::move(*found.instruction));
        json list = json::array();
        for (const Example& e : examples) {
            json archs = json::object();
            for (const auto& [arch, instruction] : machines) {
                const json one = trace(instruction, arch, e);
                if (one.is_null()) continue;
                const auto [at, added] = known.try_emplace(one.dump(), texts.size());
                if (added) texts.push_back(one);
                archs[std::string(isa::row(arch).name)] = at->second;
            }
            if (!archs.empty()) list.push_back({{"name", e.name}, {"archs", archs}});
        }
        if (!list.empty()) of[listed.key] = list;
    }
    return {{"texts", texts}, {"of", of}};
}

}  // namespace

void add_explorer(CLI::App& app, int& status) {
    const auto shared = std::make_shared<ExplorerCommand>();
    ExplorerCommand& o = *shared;
    CLI::App* explorer = app.add_subcommand(
        "explorer", "Write a page to explore all instructions in a browser; it needs no network");
    explorer->add_option("--out", o.out, "the file to write (default: lanes.html)")
        ->type_name("FILE");
    explorer->callback([shared, &status] { status = explorer_command(*shared); });
}

int explorer_command(const ExplorerCommand& o) {
    // Before the seconds that the page takes.
    if (const launch::Result<void> held = check_output(o.out); !held) return refuse(held.error());
    const std::string page = lanes::explorer_page(version, traces());
    if (const launch::Result<void> written = launch::write_text(o.out, page); !written)
        return refuse(written.error());
    fmt::print("{}: {:.1f} MB, {} instructions\n", o.out, static_cast<double>(page.size()) / 1e6,
               lanes::all_keys().size());
    return done;
}

}  // namespace lockwarp::tools
