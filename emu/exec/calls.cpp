// SPDX-License-Identifier: Apache-2.0
// call, ret. Lanes that call together meet again where they return to, as lanes that parted at a
// branch do.
#include <algorithm>

#include "emu/exec/call_stack.hpp"
#include "emu/exec/control.hpp"
#include "emu/exec/reconvergence.hpp"
#include "emu/exec/system_calls.hpp"
#include "emu/isa/function_address.hpp"

namespace lockwarp::exec {

using warp::no_index;
using warp::Path;
using warp::Reconvergence;
using warp::TrapKind;
using warp::Warp;

namespace {

// The program's function at an address; 0: none.
uint32_t function_at(const Context& c, uint64_t address) {
    if (const std::optional<uint32_t> number = isa::function_number(address))
        if (const uint32_t index = isa::function_index(*c.program, *number); index != 0)
            return index;
    const std::vector<warp::FunctionAddress>& others = c.launch->functions;
    const auto found = std::ranges::find(others, address, &warp::FunctionAddress::address);
    return found == others.end() ? 0 : isa::function_index(*c.program, found->number);
}

// What is wrong with calling the address; empty: `index` is the function's.
std::string not_callable(const Context& context, const isa::Call& c, uint64_t address,
                         uint32_t& index) {
    index = function_at(context, address);
    if (index == 0) return "is no function";
    const auto fits = [](const std::vector<isa::Passed>& given,
                         const std::vector<isa::Passed>& taken) {
        return std::ranges::equal(given, taken, {}, &isa::Passed::bytes, &isa::Passed::bytes);
    };
    const isa::Function& f = context.program->functions[index];
    if (fits(c.arguments, f.parameters) && fits(c.results, f.results)) return {};
    return "is function '" + f.name + "', which takes or returns something else";
}

// Each way's lanes call the function of that index; other lanes of the path go round the call.
bool call_functions(Context& c, size_t path, const Operation& o, std::span<const Way> ways) {
    Warp& w = *c.warp;
    const Path caller = w.paths[path];
    Reconvergence m;
    m.at = no_index;
    m.resume = caller.pc + 1;
    m.expected = caller.lanes;
    m.parent = caller.within;
    m.frame = caller.frame;
    m.arrived = caller.lanes;
    for (const Way& way : ways) m.arrived &= ~way.lanes;
    const uint32_t meeting = add_meeting(w, m);
    bool first = true;
    for (const Way& way : ways) {
        Path p = caller;
        p.lanes = way.lanes;
        p.within = meeting;
        p.frame = enter(c, caller, o, way.pc, way.lanes, meeting);
        if (p.frame == no_index) return true;
        p.pc = c.program->functions[way.pc].first;
        if (first)
            w.paths[path] = p;
        else
            w.paths.push_back(p);
        first = false;
    }
    return ways.size() == 1;
}

bool call_by_pointer(Context& c, size_t path, const Operation& o, uint32_t mask) {
    const isa::Call& called = c.program->calls[o.target];
    const auto* pointers = slot<uint64_t>(c, called.pointer);
    std::vector<Way> ways;
    for (uint32_t rest = mask; rest != 0;) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        uint32_t index = 0;
        if (const std::string why = not_callable(c, called, pointers[lane], index); !why.empty()) {
            set_trap(c, o, TrapKind::bad_mask, "the called address " + why, lane, pointers[lane],
                     ptx::Space::none);
            return true;
        }
        uint32_t same = 0;
        for (uint32_t l = rest; l != 0; l &= l - 1)
            if (const auto other = static_cast<unsigned>(__builtin_ctz(l));
                pointers[other] == pointers[lane])
                same |= 1u << other;
        ways.push_back({index, same});
        rest &= ~same;
    }
    return call_functions(c, path, o, ways);
}

}  // namespace

bool call(Context& c, size_t path, const Operation& o, uint32_t mask) {
    const isa::Call& called = c.program->calls[o.target];
    Warp& w = *c.warp;
    Path& p = w.paths[path];
    if (called.system != isa::System::none) {
        std::array<uint32_t, 32> bases;
        for (unsigned l = 0; l < 32; ++l) bases[l] = frame_base(w, p.frame, l);
        run_system_call(c, o, called, mask, bases);
        ++p.pc;
        return true;
    }
    if (called.pointer != isa::no_ref) return call_by_pointer(c, path, o, mask);
    const Way way{called.function, mask};
    return call_functions(c, path, o, std::span(&way, 1));
}

// The lanes wait for the others that were called with them.
void return_lanes(Context& c, size_t path, uint32_t lanes) {
    Warp& w = *c.warp;
    const uint32_t frame = w.paths[path].frame;
    const uint32_t meeting = w.calls.frames[frame].meeting;
    uint32_t inner = w.paths[path].within;
    leave(c, frame, lanes);
    remove_lanes(w, path, lanes);
    // Where lanes parted inside the function nobody waits for these any more.
    while (inner != meeting && inner != no_index) {
        const uint32_t outer = w.meetings[inner].parent;
        w.meetings[inner].expected &= ~lanes;
        settle(c, w, inner);
        inner = outer;
    }
    w.meetings[meeting].arrived |= lanes;
    settle(c, w, meeting);
}

}  // namespace lockwarp::exec
