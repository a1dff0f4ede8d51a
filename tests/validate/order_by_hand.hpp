// SPDX-License-Identifier: Apache-2.0
// Tracks written by hand, and lanes that ask the order that they tell (validate/order.hpp).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emu/lockwarp.hpp"
#include "validate/order.hpp"

namespace lockwarp::order_by_hand {

using ptx::Space;
using validate::Order;
using Answer = Order::Answer;

inline constexpr const char* accesses = R"(.version 8.8
.target sm_100
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
ld.relaxed.gpu.global.u32 %r1, [%rd1];
ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd1];
ld.relaxed.gpu.global.v8.b32 {%r1, _, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
ld.global.u32 %r6, [%rd1];
atom.global.add.u32 %r3, [%rd1], 1;
red.global.add.u32 [%rd1], 1;
atom.shared.add.u32 %r4, [%r9], 1;
atom.add.u32 %r5, [%rd1], 1;
ld.volatile.u32 %r7, [%rd1];
st.relaxed.gpu.global.u32 [%rd1], %r6;
atom.global.v2.f32.add {_, %f1}, [%rd1], {%f2, %f3};
ld.relaxed.gpu.global.u64 %rd2, [%rd1];
{ .param .b64 bytes; .param .b64 block;
st.param.b64 [bytes], %rd3;
call.uni (block), malloc, (bytes);
ld.param.b64 %rd2, [block]; }
ret;
}
)";
enum Operation : uint32_t {
    look,
    look_pair,
    look_eight,
    weak,
    add,
    red,
    add_shared,
    add_generic,
    look_generic,
    store,
    add_pair,
    look_wide
};

inline constexpr uint64_t window = 64;  // words of a track
inline constexpr uint64_t slack = 16;
inline constexpr uint64_t base = 0x1000000;  // of global memory

// A record of a thread's track.
struct Told {
    uint64_t thread = 0;
    uint32_t operation = 0;
    uint64_t at = 0;
    uint64_t address = 0;
    Space space = Space::global;
    uint64_t cta = 0;  // whose shared memory it is
};

struct Access : warp::OrderedAccess {
    void after(unsigned, const uint8_t* before, uint8_t* out) const override {
        std::memcpy(out, before, 4);
        out[0] = static_cast<uint8_t>(before[0] + adds);
    }
    uint8_t adds = 1;
};

// CTAs of two warps, with tracks that tell what the test says.
class Hand {
  public:
    explicit Hand(uint64_t ctas = 4, uint64_t first_cta = 0, uint64_t with_slack = slack) {
        ptx::Parsed parsed = ptx::parse(accesses);
        EXPECT_TRUE(parsed.diagnostics.empty());
        isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_100, "k");
        EXPECT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
        program_ = std::move(resolved.program);
        plan.program = &program_;
        plan.orders = gpu::choose_ordered(program_, parsed.module);
        plan.warps = 2;
        plan.clusters.grid = {static_cast<uint32_t>(first_cta + ctas), 1, 1};
        tracks.window = {0, window, first_cta, ctas};
        tracks.slack = with_slack;
        tracks.words.resize(ctas * plan.warps * (window + with_slack) * 32 * 8);
        ends_.resize(ctas * plan.warps * 32);
        shared.resize(ctas);
    }

    uint64_t* word(uint64_t thread, uint64_t at) {
        return reinterpret_cast<uint64_t*>(tracks.words.data()) +
               (thread / 32 * (window + tracks.slack) + at) * 32 + thread % 32;
    }
    Told tell(uint64_t thread, uint32_t operation, const std::vector<uint64_t>& words,
              uint64_t address, Space space = Space::global) {
        const Told t{thread, operation, ends_[thread], address, space, cta_of(thread)};
        *word(thread, t.at) = operation + 1;
        for (size_t i = 0; i < words.size(); ++i) *word(thread, t.at + 1 + i) = words[i];
        ends_[thread] += 1 + words.size();
        return t;
    }
    // An addition, and its two tickets.
    Told change(uint64_t thread, uint64_t saw, uint64_t before, uint64_t after,
                uint64_t address = base, uint32_t operation = add) {
        const uint64_t tickets = after << 32 | before;
        if (operation == red) return tell(thread, operation, {tickets, address, saw}, address);
        return tell(thread, operation, {saw, tickets, address}, address);
    }
    void took_block(uint64_t thread, uint64_t address, uint64_t ticket) {
        for (uint32_t i = 0; i < plan.orders.size(); ++i)
            if (plan.orders[i] == gpu::Ordered::result) tell(thread, i, {address, ticket}, 0);
    }
    uint64_t cta_of(uint64_t thread) const { return tracks.window.first_cta + thread / 64; }

    // Of a lane that is at a record.
    template <class F>
    auto asked(const Told& t, F f) {
        const isa::Operation& o = program_.operations[t.operation];
        const auto lane = static_cast<unsigned>(t.thread % 32);
        Access access;
        access.adds = adds;
        access.elements = o.vector[0].count;
        access.element_bytes = t.operation == look_wide ? 8 : 4;
        access.space[lane] = t.space;
        access.address[lane] = t.address;
        access.cta[lane] = t.cta;
        access.memory[lane] = memory(t.address, t.space, t.cta);
        warp::Retired e{};
        e.program = &program_;
        e.operation = t.operation;
        e.cta_index = cta_of(t.thread);
        e.warp = static_cast<uint32_t>(t.thread / 32 % plan.warps);
        e.active = e.executed = 1u << lane;
        return f(Order::Asked{e, lane, t.thread, word(t.thread, t.at), t.at, access});
    }
    Answer ask(const Told& t) {
        return asked(t, [&](const Order::Asked& a) { return order().ask(a); });
    }
    // Does an access that goes on now.
    void access(const Told& t) {
        asked(t, [&](const Order::Asked& a) {
            if (plan.ordered(t.operation) == gpu::Ordered::change)
                *memory(t.address, t.space, t.cta) += adds;
            order().accessed(a);
        });
    }
    bool goes(const Told& t) {
        if (ask(t) != Answer::now) return false;
        access(t);
        return true;
    }
    // A store of a thread that the order does not follow.
    void put(uint64_t address, uint32_t value, uint8_t bytes = 4, Space space = Space::global,
             uint64_t cta = 0) {
        std::memcpy(memory(address, space, cta), &value, std::min<size_t>(bytes, sizeof value));
        stored(address, bytes, space, cta);
    }
    // What is heard of one.
    void stored(uint64_t address, uint8_t bytes, Space space = Space::global, uint64_t cta = 0) {
        warp::Access a;
        a.space = space;
        a.store = true;
        a.lanes = 1u << 7;
        a.address[7] = address;
        a.bytes_of_lane[7] = bytes;
        a.bytes = bytes;
        warp::Retired e{};
        e.program = &program_;
        e.cta_index = cta;
        e.executed = e.active = a.lanes;
        e.accesses = &a;
        e.access_count = 1;
        order().retired(e);
    }
    uint8_t* memory(uint64_t address, Space space = Space::global, uint64_t cta = 0) {
        return space == Space::shared ? shared.at(cta - tracks.window.first_cta).data() + address
                                      : global.data() + (address - base);
    }
    Order& order() {
        if (!order_)
            order_ = std::make_unique<Order>(plan, tracks, [&](uint64_t address, uint32_t bytes) {
                before_bytes = bytes;
                return has_before ? before_run.data() + (address - base) : nullptr;
            });
        return *order_;
    }

    validate::Plan plan;
    validate::Tracks tracks;
    std::array<uint8_t, 4096> global{}, before_run{};
    std::vector<std::array<uint8_t, 256>> shared;
    bool has_before = false;
    uint32_t before_bytes = 0;
    uint8_t adds = 1;

  private:
    isa::Program program_;
    std::vector<uint64_t> ends_;  // words of each thread's track
    std::unique_ptr<Order> order_;
};

}  // namespace lockwarp::order_by_hand
