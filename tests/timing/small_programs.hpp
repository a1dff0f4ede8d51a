// SPDX-License-Identifier: Apache-2.0
// Small programs and when each of their instructions issues.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emu/lockwarp.hpp"
#include "emu/timing/timing.hpp"

namespace lockwarp::small_programs {

using timing::Report;

struct Timed {
    isa::Program program;
    timing::Lowering lowering;
    Report report;
};

struct How {
    uint32_t ctas = 1, threads = 32, dynamic_shared = 0;
    timing::Options options{.events = 10000};
    uint64_t stride = 132, max_items = 1'000'000;
    bool cold = false;
    uint32_t cluster = 0;
    const char* machine = "sm_90";
    const char* directives = "";     // of the kernel
    const char* outside = "";        // declarations before it
    size_t bytes = 65536;            // of the buffer
    std::vector<uint8_t> content{};  // its first bytes
};

// A kernel with a buffer of 64 KiB of zeros at %d0, 4 KiB of shared memory at s, and %r0 to %r3 in
// registers.
inline Timed timed(const std::string& body, const How& how = {}) {
    const timing::Machine& machine = *timing::machine_named(how.machine);
    const ptx::Parsed parsed =
        ptx::parse(".version 8.0\n.target " + std::string(isa::row(machine.arch).name) +
                   (machine.arch == isa::Arch::sm_90 ? "a" : "") + "\n.address_size 64\n" +
                   how.outside + "\n.visible .entry k(.param .u64 p)" + how.directives +
                   "\n{\n"
                   ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<20>; .reg .pred %p<4>;\n"
                   ".shared .align 16 .b8 s[4096];\nld.param.u64 %d0, [p];\n" +
                   body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.diagnostics.empty()) << body;
    isa::Resolved r = isa::resolve(parsed.module, machine.arch, "k");
    EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message << body;
    Timed out{std::move(r.program), {}, {}};
    out.lowering = timing::lower(out.program, machine);
    timing::Listener listener(out.lowering, how.stride, how.max_items, how.cold);
    std::vector<uint8_t> buffer = how.content;
    buffer.resize(how.bytes);
    warp::Launch l;
    l.grid = {how.ctas, 1, 1};
    l.block = {how.threads, 1, 1};
    if (how.cluster != 0) l.cluster = {how.cluster, 1, 1};
    l.dynamic_shared = how.dynamic_shared;
    const uint64_t address = 0x10000000;
    l.parameters.resize(8);
    std::memcpy(l.parameters.data(), &address, 8);
    l.buffers.push_back({"p", address, buffer});
    l.observers = {&listener};
    l.threads = 1;
    const warp::Result result = exec::launch(out.program, l);
    EXPECT_FALSE(result.refusal || result.trap) << body;
    out.report = timing::simulate(out.lowering, l, listener, how.options);
    out.lowering.program = nullptr;
    return out;
}

// "OPCODE ISSUE-DONE", of warps other than the first with "WARP:" before it, and behind it the
// reason of a wait of more than no cycles.
inline std::string timeline(const Timed& run) {
    std::string out;
    for (const timing::Event& e : run.report.events) {
        const isa::Operation& o = run.program.operations[e.operation];
        out += (out.empty() ? "" : ", ") + (e.warp != 0 ? std::to_string(e.warp) + ":" : "") +
               std::string(isa::row(o.op).name) + " " + std::to_string(e.issue) + "-" +
               std::to_string(e.done);
        if (e.issue > e.waits) out += " " + std::string(timing::text_of(e.stall));
    }
    return out;
}

}  // namespace lockwarp::small_programs
