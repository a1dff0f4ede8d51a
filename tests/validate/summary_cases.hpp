// SPDX-License-Identifier: Apache-2.0
// Summaries made for tests.
#pragma once

#include <string>

#include "validate/summary.hpp"

namespace lockwarp::validate {

inline gpu::Device device_named(const std::string& name) {
    return {name, "580.1", 90, 1980, uint64_t{1} << 37};
}

inline Summary empty_summary(const std::string& command) {
    Summary s;
    s.command = command;
    return s;
}

// `values` registers compared and one byte of memory; a quarter of a second. One that differs does
// so in one value.
inline CaseResult case_of(const std::string& name, Verdict v, uint64_t values) {
    CaseResult r;
    r.name = name;
    r.verdict = v;
    r.counts.values = values;
    r.counts.memory_bytes = 1;
    r.seconds = 0.25;
    if (v == Verdict::identical) return r;
    r.text = "DIFFERS  " + name + ".ptx:7\n  second line\n";
    r.file = name + ".ptx";
    r.line = 7;
    r.instruction = "add.s32";
    if (v == Verdict::differs) r.counts.different = 1;
    return r;
}

// Three cases, of which one differs.
inline Summary three_cases() {
    Summary s = empty_summary("validate");
    s.devices = {{"NVIDIA H200", "580.159.04", 90, 1980, 150'000'000'000}};
    add(s, case_of("k2.json", Verdict::identical, 1000), true);
    add(s, case_of("k10.json", Verdict::differs, 500), true);
    add(s, case_of("k1.json", Verdict::identical, UINT64_MAX / 2), true);
    s.instructions["mma.sync"].values = 77;
    s.instructions["add.s32"].values = 5;
    s.instructions["add.s32"].different = 1;
    return s;
}

}  // namespace lockwarp::validate
