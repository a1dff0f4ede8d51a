// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"
#include "launch/described.hpp"
#include "launch/variables.hpp"
#include "tools/commands/fidelity_command.hpp"
#include "tools/progress.hpp"
#include "tools/report/expectation.hpp"
#include "tools/report/failure.hpp"
#include "tools/report/findings.hpp"
#include "tools/report/last_store.hpp"
#include "tools/report/products.hpp"
#include "tools/report/report.hpp"
#include "validate/lockstep.hpp"
#include "validate/orders.hpp"

namespace lockwarp::tools {

namespace {

using Checks = std::optional<check::Checking>;
using validate::Verdict;

// Everything of one launch file's run.
struct Session {
    const RunOptions& options;
    const Requests& requests;
    unsigned threads;
    bool alone;
    std::vector<launch::Loaded> steps;
    launch::State state;
    check::Described described;                // the buffers, before the next launch
    std::vector<std::vector<uint8_t>> before;  // the buffers at first
    std::map<std::string, std::vector<uint8_t>>
        variables;      // after the run, those that are asked for
    std::string notes;  // that come last
    FileRun out;

    const launch::LaunchFile& file() const { return steps.front().in.launch; }
};

Buffers views(const launch::LaunchFile& file, const std::vector<std::vector<uint8_t>>& bytes) {
    Buffers out;
    for (size_t i = 0; i < file.buffers.size(); ++i) out[file.buffers[i].name] = bytes[i];
    return out;
}

// Buffers and the variables that are asked for, as they are now.
Buffers all_views(Session& s) {
    for (auto& [name, bytes] : s.variables)
        for (const launch::Loaded& step : s.steps)
            if (std::vector<uint8_t> now =
                    launch::variable_bytes(s.state, step.in, step.program, name);
                !now.empty())
                bytes = std::move(now);
    Buffers out = views(s.file(), s.state.memory.bytes);
    for (const auto& [name, bytes] : s.variables) out.emplace(name, bytes);
    return out;
}

std::string statistics(const warp::Statistics& s, double seconds) {
    return fmt::format(
        "instructions     {:>18}   retired by warps\n"
        "lane operations  {:>18}   {:.3g} a second\n"
        "products         {:>18}   multiply-adds of matrix instructions, {:.3g} a second\n"
        "CTAs, warps      {:>18}   {} warps\n"
        "seconds          {:>18.3f}\n",
        validate::grouped(s.instructions), validate::grouped(s.lane_operations),
        static_cast<double>(s.lane_operations) / seconds, validate::grouped(s.products),
        static_cast<double>(s.products) / seconds, validate::grouped(s.ctas),
        validate::grouped(s.warps), seconds);
}

// Names that are no buffer must be variables of a module.
launch::Result<void> find_variables(Session& s) {
    const launch::LaunchFile& file = s.file();
    const auto add = [&](const std::string& name, ptx::Place place,
                         const std::string& field) -> launch::Result<void> {
        if (file.find_buffer(name) != nullptr) return {};
        for (const launch::Loaded& step : s.steps)
            if (!launch::variable_bytes(s.state, step.in, step.program, name).empty()) {
                s.variables[name];
                return {};
            }
        return launch::failure(file.at(place) + "field '" + field +
                               "': there is no buffer or variable '" + name + "'");
    };
    for (const auto& [place, name] : file.outputs)
        if (launch::Result<void> found = add(name, place, "outputs"); !found) return found;
    for (size_t i = 0; i < file.expectations.size(); ++i) {
        const launch::Expectation& e = file.expectations[i];
        if (launch::Result<void> found = add(e.name, e.place, "expect[" + std::to_string(i) + "]");
            !found)
            return found;
    }
    // Of --print: whether it is one shows when the request is checked.
    for (const PrintRequest& p : s.requests.prints) (void)add(p.buffer, {}, "");
    return {};
}

// Whatever can be wrong with a request is said before the run, not after it.
launch::Result<void> check_requests(Session& s, const std::string& out) {
    const Buffers buffers = all_views(s);
    for (const PrintRequest& p : s.requests.prints)
        if (launch::Result<void> held = check_print(p, buffers); !held) return held;
    for (const launch::Expectation& p : s.requests.products)
        if (launch::Result<void> held = check_product("--product", *p.product, buffers); !held)
            return held;
    for (const launch::Expectation& e : s.file().expectations)
        if (launch::Result<void> held = check_fit(s.file(), e, buffers); !held) return held;
    if (!out.empty()) return launch::make_folder(out);
    return {};
}

// One launch on the state.
warp::Result run_step(Session& s, const launch::Loaded& step, launch::State& state,
                      warp::Observer* observer, Checks* checks) {
    launch::Result<warp::Launch> made =
        launch::make_launch(step.in.launch, step.in.kernel(), step.program, state.memory);
    warp::Result result;
    if (!made) {
        result.refusal = {made.error().sentence};
        return result;
    }
    warp::Launch& launch = *made;
    std::vector<uint8_t> variables = launch::variables_before(state, step.in, step.program);
    launch.variables = &variables;
    launch.stop = &interrupt_flag();
    warp::TurnOrder order;
    if (s.options.order) {
        order.seed = *s.options.order;
        launch.order = &order;
    }
    launch.threads = s.threads;
    launch.fold_constants = s.options.optimization != 0;
    if (s.options.max_steps != 0) launch.max_steps = s.options.max_steps;
    if (observer != nullptr) launch.observers.push_back(observer);
    if (checks != nullptr)
        checks->emplace(s.requests.checks, step.program, launch, &step.in.module, s.described);
    std::atomic<uint64_t> ended{0}, retired{0};
    launch.progress = &ended;
    launch.retired = &retired;
    std::optional<Progress> progress;
    if (s.alone) progress.emplace(ended, launch.grid.count(), retired);
    const exec::Schedule schedule{s.options.async == "late"};
    result = exec::launch(step.program, launch, schedule);
    launch::keep_variables(state, step.in, step.program, variables);
    if (checks != nullptr) s.described = (*checks)->described();
    return result;
}

void say_wrong(Session& s, const std::string& text) {
    s.out.text += text;
    s.out.wrong += text;
    s.out.status = differs_or_trapped;
}

// What the checks found.
void add_findings(Session& s, const launch::Loaded& step, const Checks& checks,
                  const warp::Result& result) {
    const std::vector<check::Found> all = checks->found(result);
    const std::string text = findings_report(step.in, step.program, all);
    if (errors_of(all) != 0)
        say_wrong(s, text);
    else
        s.out.text += text;
}

void add(warp::Statistics& sum, const warp::Statistics& more) {
    sum.instructions += more.instructions;
    sum.lane_operations += more.lane_operations;
    sum.products += more.products;
    sum.ctas += more.ctas;
    sum.warps += more.warps;
}

// All launches in their order. false: one did not end well.
bool run_steps(Session& s, warp::Statistics& sum, double& seconds) {
    for (const launch::Loaded& step : s.steps) {
        Checks checks;
        const auto begin = std::chrono::steady_clock::now();
        const warp::Result result = run_step(s, step, s.state, nullptr, &checks);
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (result.refusal) {
            const std::string& what = result.refusal->what;
            const bool placed = what.starts_with(s.file().path + ":");
            s.out.refused = launch::failure(placed ? what : s.file().path + ": " + what).value();
            return false;
        }
        add(sum, result.statistics);
        if (result.trap && result.trap->kind == warp::TrapKind::stopped) {
            s.out.text +=
                stopped_report(step.in, step.program, result, step.in.kernel().grid.count());
            s.out.status = interrupted;
            return false;
        }
        if (result.trap) {
            say_wrong(s, trap_report(step.in, step.program, *result.trap));
            s.out.text += printed_report(result);
            s.out.result.file = launch::named_ptx(step.in);
            s.out.result.line = result.trap->place.line;
            return false;
        }
        add_findings(s, step, checks, result);
        s.out.text +=
            fmt::format("done: {} on {}, {} CTA{}, {} instructions\n", step.program.entry,
                        isa::row(step.arch).name, validate::grouped(result.statistics.ctas),
                        result.statistics.ctas == 1 ? "" : "s",
                        validate::grouped(result.statistics.instructions));
        s.out.text += printed_report(result);
        s.notes += validate::folded_text(step.program, result.folded, step.in.ptx_path);
        launch::keep_if_named(step.in, s.notes);
    }
    return true;
}

// Where a worst element lies in a launch; UINT64_MAX: it has none. Of a variable each module has
// its own, and the last launch that has it is the one that was looked at.
uint64_t address_in(const Session& s, const launch::Loaded& step, const Checked& c) {
    if (const launch::BufferField* const b = s.file().find_buffer(c.name))
        return s.state.memory.addresses[static_cast<size_t>(b - s.file().buffers.data())] + c.at;
    const auto last = std::find_if(s.steps.rbegin(), s.steps.rend(), [&](const auto& other) {
        return launch::find_variable(other.program, c.name) != nullptr;
    });
    const isa::Placed* const v = launch::find_variable(step.program, c.name);
    if (v == nullptr || v->space != ptx::Space::global || last->in.path != step.in.path)
        return UINT64_MAX;
    return v->address + c.at;
}

// Runs everything once more and says where each worst element was last written.
std::vector<std::string> written_where(Session& s, const std::vector<Checked>& wrong) {
    launch::State again{{s.before, s.state.memory.addresses}, {}};
    LastStores stores(wrong.size());
    for (size_t i = 0; i < s.steps.size(); ++i) {
        std::vector<uint64_t> addresses;
        for (const Checked& c : wrong) addresses.push_back(address_in(s, s.steps[i], c));
        stores.begin_launch(i, std::move(addresses));
        const warp::Result result = run_step(s, s.steps[i], again, &stores, nullptr);
        if (result.trap || result.refusal) return std::vector<std::string>(wrong.size());
    }
    std::vector<std::string> out;
    for (size_t i = 0; i < wrong.size(); ++i) {
        const std::optional<Store>& found = stores.stores()[i];
        if (!found)
            out.emplace_back("  nothing has written it\n");
        else
            out.push_back(
                store_text(s.steps[found->launch].in, s.steps[found->launch].program, *found));
    }
    return out;
}

// Holds the buffers against what the file expects.
void check_expectations(Session& s, const Buffers& before, const Buffers& after) {
    std::vector<Checked> wrong;
    std::vector<std::string> right;
    for (const launch::Expectation& e : s.file().expectations) {
        const launch::Result<Checked> checked = check_expectation(s.file(), e, before, after);
        if (!checked) {
            s.out.refused = checked.error();
            return;
        }
        s.out.result.counts.values += checked->values;
        s.out.result.counts.different += checked->different;
        if (checked->different == 0)
            right.push_back(checked_text(*checked));
        else
            wrong.push_back(*checked);
    }
    if (!wrong.empty()) {
        const std::vector<std::string> where = written_where(s, wrong);
        for (size_t i = 0; i < wrong.size(); ++i) say_wrong(s, checked_text(wrong[i]) + where[i]);
    }
    for (const std::string& text : right) s.out.text += text;
}

launch::Result<void> write_outputs(Session& s, const std::string& folder, const Buffers& after) {
    if (launch::Result<void> made = launch::make_folder(folder); !made) return made;
    launch::Outputs outputs;
    for (const auto& [place, name] : s.file().outputs) {
        const std::string path = (std::filesystem::path(folder) / (name + ".bin")).string();
        if (launch::Result<void> added = outputs.add(path, after.at(name)); !added) return added;
    }
    return outputs.commit();
}

void report(Session& s, const std::string& out, const warp::Statistics& sum, double seconds) {
    const Buffers after = all_views(s);
    const Buffers before = views(s.file(), s.before);
    std::string& text = s.out.text;
    for (const PrintRequest& p : s.requests.prints) print_matrix(p, after, text);
    const bool as_expected = s.out.status == done;
    for (const launch::Expectation& p : s.requests.products)
        if (std::string one; product_report(p, before, after, one))
            text += one;
        else
            say_wrong(s, one);
    check_expectations(s, before, after);
    if (as_expected && s.out.status == differs_or_trapped)
        text += fmt::format("ask why: lockwarp why {}{}\n", s.out.result.name,
                            s.requests.products.empty() ? "" : " --product ...");
    if (s.options.stats) text += statistics(sum, seconds);
    text += s.notes;
    std::string last;
    for (const launch::Loaded& step : s.steps) {
        const std::string note = fidelity_note(step.program, step.in.module);
        if (note != last) text += note;
        last = note;
    }
    if (!out.empty() && !s.out.refused)
        if (const auto written = write_outputs(s, out, after); !written)
            s.out.refused = written.error();
}

// --orders
void try_orders(Session& s, const launch::State& first) {
    const validate::OrdersResult r = validate::try_orders(s.steps, first, s.options.orders,
                                                          {s.options.max_steps, &interrupt_flag()});
    if (r.stopped) {
        s.out.status = interrupted;
        return;
    }
    if (r.pair)
        say_wrong(s, validate::orders_text(s.steps, r));
    else
        s.out.text += fmt::format("orders: {} others give the same result\n", r.orders);
}

void run_session(Session& s, const std::vector<std::string>& files, const std::string& out) {
    launch::Result<std::vector<launch::Loaded>> loaded =
        launch::load_all(files, s.options.arch, s.options.nvcc);
    const auto refuse_with = [&](launch::Error why) { s.out.refused = std::move(why); };
    if (!loaded) return refuse_with(std::move(loaded.error()));
    s.steps = std::move(*loaded);
    s.out.expectations = s.file().expectations.size();
    for (const launch::Loaded& step : s.steps)
        if (auto held = launch::lay_out(step.in.launch, step.in.kernel(), step.program); !held)
            return refuse_with(std::move(held.error()));
    launch::Result<launch::State> state = launch::make_state(s.file());
    if (!state) return refuse_with(std::move(state.error()));
    s.state = std::move(*state);
    s.described = launch::described(s.file(), s.state.memory);
    if (launch::Result<void> found = find_variables(s); !found)
        return refuse_with(std::move(found.error()));
    if (launch::Result<void> held = check_requests(s, out); !held)
        return refuse_with(std::move(held.error()));
    if (s.out.expectations != 0 || !s.requests.products.empty())
        s.before = s.state.memory.bytes;
    else
        s.before.resize(s.file().buffers.size());
    const std::optional<launch::State> first =
        s.options.orders != 0 ? std::optional(s.state) : std::nullopt;
    warp::Statistics sum;
    double seconds = 0;
    const bool ended = run_steps(s, sum, seconds);
    // Where it was interrupted the first of the orders is too, at once.
    if (first && !s.out.refused) try_orders(s, *first);
    if (ended) return report(s, out, sum, seconds);
    if (s.options.stats && s.out.status == differs_or_trapped)
        s.out.text += statistics(sum, seconds);
}

}  // namespace

FileRun run_file(const RunOptions& options, const Requests& requests,
                 const std::vector<std::string>& files, unsigned threads, bool alone,
                 const std::string& out) {
    const auto begin = std::chrono::steady_clock::now();
    Session s{options, requests, threads, alone, {}, {}, {}, {}, {}, {}, {}};
    s.out.result.name = files.back();
    run_session(s, files, out);
    if (s.out.refused) {
        s.out.status = wrong_input;
        s.out.result.verdict = Verdict::failed;
        s.out.result.text = text_of(*s.out.refused);
    } else if (s.out.status != done) {
        s.out.result.verdict = Verdict::differs;
        s.out.result.text = s.out.wrong;
    }
    s.out.result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(s.out);
}

}  // namespace lockwarp::tools
