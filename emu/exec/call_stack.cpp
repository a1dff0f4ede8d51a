// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/call_stack.hpp"

#include <algorithm>
#include <cstring>

#include "emu/exec/watch.hpp"

namespace lockwarp::exec {

using isa::Passed;
using warp::Frame;
using warp::no_index;
using warp::Path;
using warp::TrapKind;
using warp::Warp;

namespace {

// Of all calls of a warp that have not returned: registers that they keep.
constexpr uint64_t max_saved_bytes = uint64_t{1} << 26;
constexpr uint64_t least_frame = 16;

constexpr uint32_t aligned(uint32_t value, uint32_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

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
void set_local(Context& c, unsigned lane, const Side& to, uint64_t value, uint32_t bytes) {
    const auto size = std::min<uint32_t>(bytes, sizeof value);
    Warp& w = *c.warp;
    note_local(c, lane, to.base + to.place.offset, size);
    std::memcpy(local_of(w, lane, to.base + to.place.offset), &value, size);
    mark_local(w, lane, to.base + to.place.offset, size);
}

void copy_value(Context& c, Warp& w, unsigned lane, const Side& from, const Side& to) {
    const uint32_t bytes = std::min(from.place.bytes, to.place.bytes);
    uint64_t value = 0;
    if (from.place.ref == isa::no_ref && to.place.ref == isa::no_ref) {
        note_local(c, lane, to.base + to.place.offset, bytes);
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
        set_local(c, lane, to, value, bytes);
    else
        set_register_lane(c, to.place, lane, value);
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

// The function that frame `index` is of; the entry where there is none.
uint32_t function_of(const Warp& w, uint32_t index) {
    return index == no_index ? 0 : w.calls.frames[index].function;
}

// false: a trap, since the lanes' local memory ends before `bytes` more.
bool has_room(Context& c, const Operation& o, const isa::Function& f, uint32_t lanes,
              uint64_t bytes) {
    Warp& w = *c.warp;
    uint64_t top = 0;
    for_each_lane(lanes, [&](unsigned l) {
        top = std::max<uint64_t>(top, w.top[l] + bytes + f.frame_alignment - 1);
    });
    if (top > isa::max_local_bytes || w.calls.saved_bytes > max_saved_bytes) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
        set_trap(c, o, TrapKind::stack,
                 "function '" + f.name + "' needs " + std::to_string(bytes) +
                     " bytes; the thread's calls have " + std::to_string(w.top[lane]) + " of " +
                     std::to_string(isa::max_local_bytes),
                 lane, 0, ptx::Space::none);
        c.trap->has_address = false;
        return false;
    }
    reserve_local(w, static_cast<uint32_t>(top));
    return true;
}

// A place for a frame.
uint32_t new_frame(warp::CallStack& s) {
    if (s.free.empty()) {
        s.free.push_back(static_cast<uint32_t>(s.frames.size()));
        s.frames.emplace_back();
    }
    const uint32_t index = s.free.back();
    s.free.pop_back();
    return index;
}

// The frame's variables as zeros, and the arguments: read all of them before any is written to a
// register, since a register of the caller may be one of the function's own.
void pass_arguments(Context& c, Frame& frame, const isa::Call& call, const isa::Function& f,
                    uint64_t bytes) {
    Warp& w = *c.warp;
    std::vector<std::array<uint64_t, 32>> in_registers(call.arguments.size());
    for_each_lane(frame.lanes, [&](unsigned l) {
        frame.before[l] = w.top[l];
        frame.base[l] = aligned(w.top[l], f.frame_alignment);
        w.top[l] = frame.base[l] + static_cast<uint32_t>(bytes);
        note_local(c, l, frame.base[l], bytes);
        clear_local(w, l, frame.base[l], static_cast<uint32_t>(bytes));
        const uint32_t base = frame_base(w, frame.caller, l);
        for (size_t k = 0; k < call.arguments.size(); ++k) {
            const Passed& from = call.arguments[k];
            if (f.parameters[k].ref == isa::no_ref)
                copy_value(c, w, l, {from, base}, {f.parameters[k], frame.base[l]});
            else if (from.ref != isa::no_ref)
                in_registers[k][l] = register_lane(c, from, l);
            else
                std::memcpy(&in_registers[k][l], local_of(w, l, base + from.offset),
                            std::min<size_t>(from.bytes, 8));
        }
    });
    for (size_t k = 0; k < call.arguments.size(); ++k)
        if (f.parameters[k].ref != isa::no_ref)
            for_each_lane(frame.lanes, [&](unsigned l) {
                set_register_lane(c, f.parameters[k], l, in_registers[k][l]);
            });
}

}  // namespace

uint32_t frame_base(const Warp& w, uint32_t frame, unsigned lane) {
    return frame == no_index ? 0 : w.calls.frames[frame].base[lane];
}

uint32_t enter(Context& c, const Path& caller, const Operation& o, uint32_t function,
               uint32_t lanes, uint32_t meeting) {
    const isa::Program& program = *c.program;
    const isa::Function& f = program.functions[function];
    const isa::Call& call = program.calls[o.target];
    Warp& w = *c.warp;
    const uint64_t bytes = std::max<uint64_t>(f.frame_bytes, least_frame);
    if (!has_room(c, o, f, lanes, bytes)) return no_index;
    const uint32_t index = new_frame(w.calls);
    Frame& frame = w.calls.frames[index];
    frame.function = function;
    frame.call = static_cast<uint32_t>(&o - program.operations.data());
    frame.caller = caller.frame;
    frame.meeting = meeting;
    frame.lanes = lanes;
    frame.number = w.calls.entered++;
    frame.saved.clear();
    c.files->enter(w.index, function);
    if (call.recursive)
        save_registers(c, program.functions[function_of(w, caller.frame)], frame.saved);
    w.calls.saved_bytes += frame.saved.size();
    pass_arguments(c, frame, call, f, bytes);
    for (const isa::FrameSlot& s : f.frame_slots)
        for_each_lane(lanes, [&](unsigned l) {
            const uint64_t address = frame.base[l] + s.offset;
            std::memcpy(w.registers + s.ref + l * lane_bytes(s.width), &address,
                        lane_bytes(s.width));
        });
    return index;
}

void leave(Context& c, uint32_t index, uint32_t lanes) {
    const isa::Program& program = *c.program;
    Warp& w = *c.warp;
    const Frame& frame = w.calls.frames[index];
    const isa::Function& f = program.functions[frame.function];
    const isa::Call& call = program.calls[program.operations[frame.call].target];
    // Results first, where they are in registers: restoring may overwrite those.
    std::vector<std::array<uint64_t, 32>> in_registers(f.results.size());
    for (size_t k = 0; k < f.results.size(); ++k)
        if (f.results[k].ref != isa::no_ref)
            for_each_lane(
                lanes, [&](unsigned l) { in_registers[k][l] = register_lane(c, f.results[k], l); });
    if (!frame.saved.empty())
        restore_registers(c, program.functions[function_of(w, frame.caller)], frame.saved, lanes);
    for (size_t k = 0; k < f.results.size(); ++k)
        for_each_lane(lanes, [&](unsigned l) {
            const Side to{call.results[k], frame_base(w, frame.caller, l)};
            if (f.results[k].ref == isa::no_ref)
                copy_value(c, w, l, {f.results[k], frame.base[l]}, to);
            else if (to.place.ref != isa::no_ref)
                set_register_lane(c, to.place, l, in_registers[k][l]);
            else
                set_local(c, l, to, in_registers[k][l], to.place.bytes);
        });
    for_each_lane(lanes, [&](unsigned l) { w.top[l] = frame.before[l]; });
    drop(w.calls, index, lanes);
}

void drop(warp::CallStack& s, uint32_t index, uint32_t lanes) {
    Frame& frame = s.frames[index];
    if ((frame.lanes & lanes) == 0) return;
    frame.lanes &= ~lanes;
    if (frame.lanes != 0) return;
    s.saved_bytes -= frame.saved.size();
    s.free.push_back(index);
}

std::vector<uint32_t> calls_of(const warp::CallStack& s, uint32_t frame) {
    constexpr size_t most = 64;
    std::vector<uint32_t> calls;
    for (; frame != no_index && calls.size() < most; frame = s.frames[frame].caller)
        calls.push_back(s.frames[frame].call);
    return calls;
}

}  // namespace lockwarp::exec
