// Calls and returns. Lanes that call together get a frame and meet again where they return to,
// as lanes that parted at a branch do.
#include <algorithm>
#include <cstring>

#include "emu/exec/cta.hpp"
#include "emu/exec/system_calls.hpp"

namespace lockwarp::exec {

using isa::Passed;
using warp::Frame;
using warp::no_index;
using warp::Path;
using warp::Reconvergence;
using warp::TrapKind;
using warp::Warp;

namespace {

// Of all calls of a warp that have not returned: registers that they keep.
constexpr uint64_t most_saved_bytes = uint64_t{1} << 26;
constexpr uint64_t least_frame = 16;

// Narrower values stand in 32 bits.
size_t lane_bytes(uint8_t width) { return std::max<size_t>(width, 32) / 8; }

size_t slot_bytes(uint8_t width) { return width == 1 ? 4 : 32 * lane_bytes(width); }

// In order, one lane after the other.
template <class F>
void for_each_lane(uint32_t lanes, F f) {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(__builtin_ctz(lanes)));
}

uint8_t* local_of(Warp& w, unsigned lane, uint32_t address) {
    return w.local.data() + size_t{lane} * w.local_stride + address;
}

// A value of at most 8 bytes in a register's lane, which is zero-extended to 32 bits.
uint64_t register_lane(const Context& c, const Passed& p, unsigned lane) {
    const size_t width = p.bytes == 8 ? 8 : 4;
    uint64_t value = 0;
    std::memcpy(&value, c.registers + p.ref + lane * width, width);
    return value;
}

void set_register_lane(const Context& c, const Passed& p, unsigned lane, uint64_t value) {
    const size_t width = p.bytes == 8 ? 8 : 4;
    std::memcpy(c.registers + p.ref + lane * width, &value, width);
}

// What one side of a call passes, and where its frame begins.
struct Side {
    const Passed& place;
    uint32_t base;
};

// The first 8 of `bytes` bytes of a value in memory.
void set_local(Warp& w, unsigned lane, const Side& to, uint64_t value, uint32_t bytes) {
    const auto size = std::min<uint32_t>(bytes, sizeof value);
    std::memcpy(local_of(w, lane, to.base + to.place.offset), &value, size);
    mark_local(w, lane, to.base + to.place.offset, size);
}

void copy_value(Context& c, Warp& w, unsigned lane, const Side& from, const Side& to) {
    const uint32_t bytes = std::min(from.place.bytes, to.place.bytes);
    uint64_t value = 0;
    if (from.place.ref == isa::no_ref && to.place.ref == isa::no_ref) {
        std::memmove(local_of(w, lane, to.base + to.place.offset),
                     local_of(w, lane, from.base + from.place.offset), bytes);
        if (w.tracks_local) {
            uint8_t* const written = w.local_written.data() + size_t{lane} * w.local_stride;
            std::memmove(written + to.base + to.place.offset,
                         written + from.base + from.place.offset, bytes);
        }
        return;
    }
    if (from.place.ref == isa::no_ref)
        std::memcpy(&value, local_of(w, lane, from.base + from.place.offset),
                    std::min<size_t>(bytes, sizeof value));
    else
        value = register_lane(c, from.place, lane);
    if (to.place.ref == isa::no_ref)
        set_local(w, lane, to, value, bytes);
    else
        set_register_lane(c, to.place, lane, value);
}

uint32_t base_of(const Warp& w, uint32_t frame, unsigned lane) {
    return frame == no_index ? 0 : w.frames[frame].base[lane];
}

void save_registers(const Context& c, const isa::Function& f, std::vector<uint8_t>& out) {
    for (const isa::OwnSlot& s : f.own)
        out.insert(out.end(), c.registers + s.ref, c.registers + s.ref + slot_bytes(s.width));
}

void restore_registers(Context& c, const isa::Function& f, const std::vector<uint8_t>& saved,
                       uint32_t lanes) {
    const uint8_t* at = saved.data();
    for (const isa::OwnSlot& s : f.own) {
        if (s.width == 1) {
            uint32_t value = 0;
            std::memcpy(&value, at, sizeof value);
            write_predicate(c, s.ref, value, lanes);
        } else {
            const size_t bytes = lane_bytes(s.width);
            for_each_lane(lanes, [&](unsigned l) {
                std::memcpy(c.registers + s.ref + l * bytes, at + l * bytes, bytes);
            });
        }
        at += slot_bytes(s.width);
    }
}

}  // namespace

// A frame for lanes of a path that call a function: their arguments, and its variables as zeros.
// no_index: a trap.
uint32_t CtaRunner::enter(Warp& w, const Path& p, const Operation& o, uint32_t function,
                          uint32_t lanes, uint32_t meeting) {
    const isa::Program& program = *code_.program;
    const isa::Function& f = program.functions[function];
    const isa::Call& call = program.calls[o.target];
    const uint64_t bytes = std::max<uint64_t>(f.frame_bytes, least_frame);
    uint64_t top = 0;
    for_each_lane(lanes, [&](unsigned l) { top = std::max<uint64_t>(top, w.top[l] + bytes + 15); });
    if (top > isa::most_local_bytes || w.saved_bytes > most_saved_bytes) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
        set_trap(context_, o, TrapKind::stack,
                 "function '" + f.name + "' needs " + std::to_string(bytes) +
                     " bytes; the thread's calls have " + std::to_string(w.top[lane]) + " of " +
                     std::to_string(isa::most_local_bytes),
                 lane, 0, ptx::Space::none);
        context_.trap->has_address = false;
        return no_index;
    }
    reserve_local(w, static_cast<uint32_t>(top));
    if (w.free_frames.empty()) {
        w.free_frames.push_back(static_cast<uint32_t>(w.frames.size()));
        w.frames.emplace_back();
    }
    const uint32_t index = w.free_frames.back();
    w.free_frames.pop_back();
    Frame& frame = w.frames[index];
    frame.function = function;
    frame.call = static_cast<uint32_t>(&o - program.operations.data());
    frame.caller = p.frame;
    frame.meeting = meeting;
    frame.lanes = lanes;
    frame.saved.clear();
    const uint32_t caller = p.frame == no_index ? 0 : w.frames[p.frame].function;
    if (call.recursive) save_registers(context_, program.functions[caller], frame.saved);
    w.saved_bytes += frame.saved.size();
    // Arguments first, all of them: a register of the caller may be one of the function's own.
    std::vector<std::array<uint64_t, 32>> in_registers(call.arguments.size());
    for_each_lane(lanes, [&](unsigned l) {
        frame.before[l] = w.top[l];
        frame.base[l] = (w.top[l] + 15) / 16 * 16;
        w.top[l] = frame.base[l] + static_cast<uint32_t>(bytes);
        clear_local(w, l, frame.base[l], static_cast<uint32_t>(bytes));
        for (size_t k = 0; k < call.arguments.size(); ++k) {
            const Passed& to = f.parameters[k];
            if (to.ref == isa::no_ref) {
                copy_value(context_, w, l, {call.arguments[k], base_of(w, p.frame, l)},
                           {to, frame.base[l]});
            } else if (call.arguments[k].ref != isa::no_ref) {
                in_registers[k][l] = register_lane(context_, call.arguments[k], l);
            } else {
                std::memcpy(&in_registers[k][l],
                            local_of(w, l, base_of(w, p.frame, l) + call.arguments[k].offset),
                            std::min<size_t>(call.arguments[k].bytes, 8));
            }
        }
    });
    for (size_t k = 0; k < call.arguments.size(); ++k)
        if (f.parameters[k].ref != isa::no_ref)
            for_each_lane(lanes, [&](unsigned l) {
                set_register_lane(context_, f.parameters[k], l, in_registers[k][l]);
            });
    for (const isa::FrameSlot& s : f.frame_slots)
        for_each_lane(lanes, [&](unsigned l) {
            const uint64_t address = frame.base[l] + s.offset;
            std::memcpy(w.registers + s.ref + l * lane_bytes(s.width), &address,
                        lane_bytes(s.width));
        });
    return index;
}

// true: the path goes on where it is.
bool CtaRunner::call(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    const isa::Call& c = code_.program->calls[o.target];
    Path& p = w.paths[path];
    if (c.system != isa::System::none) {
        std::array<uint32_t, 32> bases;
        for (unsigned l = 0; l < 32; ++l) bases[l] = base_of(w, p.frame, l);
        run_system_call(context_, o, c, mask, bases);
        ++p.pc;
        return true;
    }
    if (c.pointer != isa::no_ref) return call_by_pointer(w, path, o, mask);
    const Way way{c.function, mask};
    return call_functions(w, path, o, std::span(&way, 1));
}

bool CtaRunner::call_by_pointer(Warp& w, size_t path, const Operation& o, uint32_t mask) {
    const isa::Program& program = *code_.program;
    const isa::Call& c = program.calls[o.target];
    const auto* pointers = slot<uint64_t>(context_, c.pointer);
    std::vector<Way> ways;
    for (uint32_t rest = mask; rest != 0;) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
        const uint64_t offset = pointers[lane] - isa::code_window;
        const uint64_t index = offset / isa::code_stride;
        const bool is_function =
            offset % isa::code_stride == 0 && index != 0 && index < program.functions.size();
        const auto fits = [](const std::vector<Passed>& given, const std::vector<Passed>& taken) {
            return std::ranges::equal(given, taken, {}, &Passed::bytes, &Passed::bytes);
        };
        std::string wrong;
        if (!is_function)
            wrong = "is no function";
        else if (const isa::Function& f = program.functions[index];
                 !fits(c.arguments, f.parameters) || !fits(c.results, f.results))
            wrong = "is function '" + f.name + "', which takes or returns something else";
        if (!wrong.empty()) {
            set_trap(context_, o, TrapKind::bad_mask, "the called address " + wrong, lane,
                     pointers[lane], ptx::Space::none);
            return true;
        }
        uint32_t same = 0;
        for_each_lane(rest,
                      [&](unsigned l) { same |= uint32_t{pointers[l] == pointers[lane]} << l; });
        ways.push_back({static_cast<uint32_t>(index), same});
        rest &= ~same;
    }
    return call_functions(w, path, o, ways);
}

// Each way's lanes call the function of that index; other lanes of the path go round the call.
bool CtaRunner::call_functions(Warp& w, size_t path, const Operation& o,
                               std::span<const Way> ways) {
    const Path caller = w.paths[path];
    Reconvergence m;
    m.at = no_index;
    m.resume = caller.pc + 1;
    m.expected = caller.lanes;
    m.parent = caller.within;
    m.frame = caller.frame;
    m.arrived = caller.lanes;
    for (const Way& way : ways) m.arrived &= ~way.lanes;
    const uint32_t meeting = meet(w, m);
    bool first = true;
    for (const Way& way : ways) {
        Path p = caller;
        p.lanes = way.lanes;
        p.within = meeting;
        p.frame = enter(w, caller, o, way.pc, way.lanes, meeting);
        if (p.frame == no_index) return true;
        p.pc = code_.program->functions[way.pc].first;
        if (first)
            w.paths[path] = p;
        else
            w.paths.push_back(p);
        first = false;
    }
    return ways.size() == 1;
}

// Lanes are in the frame no longer; it is free when none is.
void CtaRunner::leave(Warp& w, uint32_t index, uint32_t lanes) {
    Frame& frame = w.frames[index];
    if ((frame.lanes & lanes) == 0) return;
    frame.lanes &= ~lanes;
    if (frame.lanes != 0) return;
    w.saved_bytes -= frame.saved.size();
    w.free_frames.push_back(index);
}

// The calls that a trap happened in.
void CtaRunner::name_calls(const Warp& w, uint32_t frame) {
    constexpr size_t most = 64;
    std::vector<uint32_t>& calls = context_.trap->calls;
    for (; frame != no_index && calls.size() < most; frame = w.frames[frame].caller)
        calls.push_back(w.frames[frame].call);
}

// Lanes return from their frame's function: they have its results, and wait for the others that
// were called with them.
void CtaRunner::return_lanes(Warp& w, size_t path, uint32_t lanes) {
    const isa::Program& program = *code_.program;
    Path& p = w.paths[path];
    Frame& frame = w.frames[p.frame];
    const isa::Function& f = program.functions[frame.function];
    const isa::Call& call = program.calls[program.operations[frame.call].target];
    // Results first, where they are in registers: restoring may overwrite those.
    std::vector<std::array<uint64_t, 32>> in_registers(f.results.size());
    for (size_t k = 0; k < f.results.size(); ++k)
        if (f.results[k].ref != isa::no_ref)
            for_each_lane(lanes, [&](unsigned l) {
                in_registers[k][l] = register_lane(context_, f.results[k], l);
            });
    if (!frame.saved.empty()) {
        const uint32_t caller = frame.caller == no_index ? 0 : w.frames[frame.caller].function;
        restore_registers(context_, program.functions[caller], frame.saved, lanes);
    }
    for (size_t k = 0; k < f.results.size(); ++k)
        for_each_lane(lanes, [&](unsigned l) {
            const Side to{call.results[k], base_of(w, frame.caller, l)};
            if (f.results[k].ref == isa::no_ref)
                copy_value(context_, w, l, {f.results[k], frame.base[l]}, to);
            else if (to.place.ref != isa::no_ref)
                set_register_lane(context_, to.place, l, in_registers[k][l]);
            else
                set_local(w, l, to, in_registers[k][l], to.place.bytes);
        });
    for_each_lane(lanes, [&](unsigned l) { w.top[l] = frame.before[l]; });
    const uint32_t meeting = frame.meeting;
    leave(w, p.frame, lanes);
    uint32_t inner = p.within;
    p.lanes &= ~lanes;
    if (p.lanes == 0) w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(path));
    // Where lanes parted inside the function nobody waits for these any more.
    while (inner != meeting && inner != no_index) {
        const uint32_t outer = w.meetings[inner].parent;
        w.meetings[inner].expected &= ~lanes;
        settle(w, inner);
        inner = outer;
    }
    w.meetings[meeting].arrived |= lanes;
    settle(w, meeting);
}

}  // namespace lockwarp::exec
