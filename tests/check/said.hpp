// SPDX-License-Identifier: Apache-2.0
// What the checks say of a few lines of PTX, each finding as a line of text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "emu/check/check.hpp"
#include "emu/lockwarp.hpp"

namespace lockwarp::check::brief {

struct Of {
    std::string checks = "all";
    uint32_t block = 64;
    uint32_t grid = 1;
    uint32_t cluster = 1;
    std::string outside{};  // declarations before the kernel, on one line
    bool traps = false;     // and so it should
    uint32_t dynamic_shared = 0;
    std::vector<Shape> shapes{};  // of `out` at 0x10000 and `in` at 0x40000
    bool bare = false;            // the body is all that the kernel does
    warp::Heap* heap = nullptr;   // that other launches use too
    warp::Observer* observer = nullptr;
    uint32_t threads = 1;  // of the emulator
};

// The body stands behind registers of these values: %tid.x in %r1, its lane and warp in %r2 and
// %r3; %rd1 `out` and %rd2 `in`, buffers of 64 KiB; %rd3 and %rd4 the thread's words of them; %r5
// the shared array `tile` of 4 KiB, %r6 the thread's word of it, %r7 that of the same lane of warp
// 1 or 0. %r10 and others above, %rd10, %f0 and %p0 are free. Lines count from 1.
inline std::string kernel_of(const std::string& body, const std::string& outside,
                             bool bare = false) {
    const std::string values =
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x;"
        "and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5; mul.wide.u32 %rd5, %r1, 4;"
        "add.u64 %rd3, %rd1, %rd5; add.u64 %rd4, %rd2, %rd5; mov.u32 %r5, tile;"
        "mad.lo.u32 %r6, %r1, 4, %r5; xor.b32 %r8, %r1, 32; mad.lo.u32 %r7, %r8, 4, %r5;";
    return ".version 8.7 .target sm_90a .address_size 64 " + outside +
           " .shared .align 128 .b8 tile[4096];"
           ".visible .entry k(.param .u64 out, .param .u64 in) {"
           ".reg .b16 %h<20>; .reg .b32 %r<60>; .reg .b64 %rd<40>; .reg .f32 %f<40>;"
           ".reg .pred %p<10>;" +
           (bare ? "" : values) + "\n" + body + "\nret; }\n";
}

inline std::string hex(uint64_t v) {
    std::string out;
    for (; v != 0 || out.empty(); v /= 16) out.insert(out.begin(), "0123456789abcdef"[v % 16]);
    return out;
}

// "3 copy-not-awaited 1": at line 3, and the other side at line 1; "~3 ...": a note. Lanes,
// addresses (in shared memory from the array's begin) and counts stand behind where they are asked
// for.
struct Shown {
    bool lanes = false, at = false, count = false, message = false;
};

inline std::vector<std::string> said(const std::string& body, const Of& of = {},
                                     const Shown& shown = {}) {
    const ptx::Parsed parsed = ptx::parse(kernel_of(body, of.outside, of.bare));
    for (const auto& d : parsed.diagnostics) ADD_FAILURE() << d.place.line << ": " << d.message;
    const isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    for (const auto& d : resolved.diagnostics)
        ADD_FAILURE() << d.place.line - 1 << ": " << d.message << "\n" << body;
    const isa::Program& program = resolved.program;
    std::vector<uint8_t> out(1 << 16), in(1 << 16);
    for (size_t i = 0; i < in.size(); i += 4) in[i] = static_cast<uint8_t>(1 + 7 * i / 4);
    warp::Launch launch;
    launch.grid.x = of.grid;
    launch.block.x = of.block;
    if (of.cluster > 1) launch.cluster = warp::Dim3{of.cluster, 1, 1};
    launch.dynamic_shared = of.dynamic_shared;
    launch.max_steps = 100000;
    launch.threads = of.threads;
    launch.buffers = {{"out", 0x10000, out}, {"in", 0x40000, in}};
    launch.parameters.resize(program.parameter_bytes);
    for (size_t i = 0; i < 2; ++i)
        std::memcpy(launch.parameters.data() + 8 * i, &launch.buffers[i].address, 8);
    const Chosen chosen = choose(of.checks);
    EXPECT_EQ(chosen.wrong, "");
    launch.heap = of.heap;
    if (of.observer != nullptr) launch.observers = {of.observer};
    const Checking checking(chosen.rows, program, launch, &parsed.module, {{}, of.shapes});
    const warp::Result result = exec::launch(program, launch);
    EXPECT_FALSE(result.refusal.has_value()) << result.refusal->what;
    EXPECT_EQ(result.trap.has_value(), of.traps)
        << result.trap->place.line - 1 << ": " << result.trap->detail;
    const auto line = [&](const Site& s) {
        return s.operation ? std::to_string(program.operations[*s.operation].place.line - 1)
                           : std::string("-");
    };
    std::vector<std::string> all;
    for (const Found& f : checking.found(result)) {
        const Finding& x = f.finding;
        std::string text = x.severity == Severity::note ? "~" : "";
        text += line(x.here) + " " + std::string(x.kind);
        if (x.other) text += " " + line(*x.other);
        if (shown.lanes) text += ", " + hex(x.here.lanes);
        if (shown.lanes && x.other) text += " " + hex(x.other->lanes);
        if (shown.at && x.space != ptx::Space::none)
            text += ", " + std::to_string(x.bytes) + " at " +
                    std::to_string(x.space == ptx::Space::shared ? x.address - program.shared_begin
                                                                 : x.address);
        if (shown.count && x.count != 1) text += ", " + std::to_string(x.count) + " times";
        if (shown.message) text += ": " + x.message;
        all.push_back(text);
    }
    return all;
}

using Lines = std::vector<std::string>;

struct Row {
    std::string body;
    Lines said;
    uint32_t block = 64;
};

inline void expect_each(const std::string& checks, std::initializer_list<Row> rows,
                        const Shown& shown) {
    for (const Row& row : rows)
        EXPECT_EQ(said(row.body, {.checks = checks, .block = row.block}, shown), row.said)
            << row.body;
}

}  // namespace lockwarp::check::brief
