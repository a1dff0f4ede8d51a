// SPDX-License-Identifier: Apache-2.0
// Runs a kernel that calls the device's runtime, with somebody who answers what it asks.
#pragma once

#include <cstring>

#include "emu/warp/device_answers.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

// Each answer is told apart from the others.
struct Answers : warp::DeviceAnswers {
    bool has_launch(const warp::DeviceLaunch& l) override { return l.block.x != 100; }
    std::string error_text(int error, bool is_name) override {
        return (is_name ? "name " : "text ") + std::to_string(error);
    }
    Answer limit(int limit) override { return word(limit + 1000); }
    Answer device_attribute(int attribute, int device) override {
        if (device != 0) return {101, {}};
        return {0, Bytes{static_cast<uint8_t>(attribute), 1, 2, 3}};
    }
    Answer function_attributes(const std::string& kernel) override {
        Answer out{0, Bytes(40, 9)};
        out.bytes[0] = static_cast<uint8_t>(kernel.size());
        out.bytes[39] = 1;
        return out;
    }
    Answer resident_ctas(const std::string& kernel, int threads, uint64_t dynamic) override {
        Answer out{threads == 0 ? 1u : 0u, Bytes(4)};
        out.bytes[0] = static_cast<uint8_t>(kernel.size() + threads + dynamic);
        return out;
    }
    static Answer word(uint64_t value) {
        Answer out{0, Bytes(8)};
        std::memcpy(out.bytes.data(), &value, 8);
        return out;
    }
};

// Words of the parameter, `out`: 32 bytes for each thread.
struct Ran {
    warp::Result result;
    Words errors;
};

inline Ran run_of(const std::string& text, uint32_t ctas, uint32_t threads,
                  bool is_looked_at = true) {
    const isa::Program program = program_of(text, isa::Arch::sm_90, "parent");
    Answers answers;
    Bytes out(std::max<size_t>(size_t{ctas} * threads * 32, 64), 0xee);
    warp::Launch l;
    l.grid.x = ctas;
    l.block.x = threads;
    if (is_looked_at) l.device = &answers;
    l.buffers = {{"out", buffer_address(1), out}};
    append(l.parameters, buffer_address(1));
    warp::Result result = launch(program, l);
    return {std::move(result), words_of(out)};
}

}  // namespace lockwarp::exec
