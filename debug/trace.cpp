// SPDX-License-Identifier: Apache-2.0
#include "debug/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "debug/view.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/space_name.hpp"
#include "launch/state.hpp"

namespace lockwarp::debug {

namespace {

struct Wanted {
    bool whole = false;
    std::vector<const isa::Register*> registers;
    std::vector<isa::Type> types;  // that they are shown in
    std::string text;              // of the instruction
};

struct Tracer : warp::Observer {
    Tracer(const Listing& l, size_t n, const TraceFilter& f,
           const std::function<void(const std::string&)>& w)
        : listing(l), launch(n), filter(f), write(w) {
        const isa::Program& p = l.program();
        View view;
        view.listing = &l;
        for (uint32_t i = 0; i < p.operations.size(); ++i) wanted.push_back(wanted_of(view, i));
    }

    Wanted wanted_of(View& view, uint32_t operation) const {
        const isa::Program& p = listing.program();
        const uint32_t line = listing.line_of(operation);
        const std::string opcode = listing.opcode_of(operation);
        Wanted out;
        const bool of_line =
            filter.lines.empty() || std::ranges::any_of(filter.lines, [&](const auto& range) {
                return line >= range.first && line <= range.second;
            });
        const bool of_opcode =
            filter.instructions.empty() ||
            std::ranges::any_of(filter.instructions, [&](const std::string& name) {
                return opcode == name || opcode.starts_with(name + ".");
            });
        if (!of_line || !of_opcode) return out;
        view.pc = operation;
        const isa::Operation& o = p.operations[operation];
        for (uint32_t i = 0; i < o.written; ++i) {
            const isa::Register& r = p.registers[p.uses[o.first_use + i]];
            if (!filter.registers.empty() && !filter.registers.contains(r.name)) continue;
            out.registers.push_back(&r);
            out.types.push_back(view.used_as(r));
        }
        out.whole = filter.registers.empty() || !out.registers.empty();
        out.text = listing.text_of(operation);
        return out;
    }

    struct Listener : warp::CtaObserver {
        Listener(Tracer& t, const warp::CtaPlace& p) : tracer(t), place(p) {}
        void retired(const warp::Retired& e) override { tracer.row(e); }
        Tracer& tracer;
        warp::CtaPlace place;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        if (!filter.ctas.empty() && !filter.ctas.contains(cta.index)) return nullptr;
        return std::make_unique<Listener>(*this, cta);
    }

    void row(const warp::Retired& e) {
        const Wanted& w = wanted[e.operation];
        if (!w.whole || (!filter.warps.empty() && !filter.warps.contains(e.warp))) return;
        std::string out;
        warp::Warp of;
        of.registers = const_cast<uint8_t*>(e.registers);
        View view;
        view.listing = &listing;
        view.warp = &of;
        for (uint32_t rest = e.executed; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
            if (!filter.lanes.empty() && !filter.lanes.contains(lane)) continue;
            const std::string head =
                fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", launch, e.cta_index, e.warp, e.step,
                            listing.line_of(e.operation), lane, w.text);
            bool any = false;
            const auto add = [&](const std::string& rest_of_row) {
                any = true;
                if (rows++ < filter.max_rows) out += head + "\t" + rest_of_row + "\n";
            };
            for (size_t i = 0; i < w.registers.size(); ++i) {
                Value v = view.value_of(*w.registers[i], lane);
                if (isa::bits(w.types[i]) <= isa::bits(v.type)) v.type = w.types[i];
                add(fmt::format("{}\t{}\t{}", w.registers[i]->name, hex_of(v), text_of(v)));
            }
            for (uint32_t k = 0; k < e.access_count && filter.registers.empty(); ++k)
                if ((e.accesses[k].lanes >> lane & 1) != 0)
                    add(fmt::format("[{} {}]\t{:#x}\t{} bytes", ptx::name_of(e.accesses[k].space),
                                    e.accesses[k].store ? "store" : "load",
                                    e.accesses[k].address[lane],
                                    e.accesses[k].bytes_of_lane[lane]));
            if (!any) add("\t\t");
        }
        if (!out.empty()) write(out);
    }

    const Listing& listing;
    size_t launch;
    const TraceFilter& filter;
    const std::function<void(const std::string&)>& write;
    std::vector<Wanted> wanted;
    uint64_t rows = 0;
};

}  // namespace

launch::Result<uint64_t> trace(const std::vector<launch::Loaded>& launches,
                               const TraceFilter& filter, const std::atomic<bool>* stop,
                               const std::function<void(const std::string& rows)>& write) {
    launch::Result<launch::State> state = launch::make_state(launches.front().in.launch);
    if (!state) return launch::failure(state);
    uint64_t rows = 0;
    for (size_t i = 0; i < launches.size(); ++i) {
        const launch::Loaded& l = launches[i];
        launch::Result<warp::Launch> config =
            launch::make_launch(l.in.launch, l.in.kernel(), l.program, state->memory);
        if (!config) return launch::failure(config);
        std::vector<uint8_t> variables = launch::variables_before(*state, l.in, l.program);
        const Listing listing(l);
        Tracer tracer(listing, i, filter, write);
        tracer.rows = rows;
        config->variables = &variables;
        config->stop = stop;
        config->threads = 1;
        config->observers.push_back(&tracer);
        const warp::Result result = exec::launch(l.program, *config);
        if (result.refusal) return launch::failure(result.refusal->what);
        rows = tracer.rows;
        if (result.trap)
            return launch::failure(fmt::format("{} at {}:{}; the rows up to there are written",
                                               warp::trap_name(result.trap->kind), listing.file(),
                                               result.trap->place.line));
        launch::keep_variables(*state, l.in, l.program, variables);
    }
    return std::min(rows, filter.max_rows);
}

}  // namespace lockwarp::debug
