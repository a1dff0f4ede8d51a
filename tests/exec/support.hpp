// SPDX-License-Identifier: Apache-2.0
// What the tests of the executor share: a PTX text parsed, resolved and launched with buffers.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "emu/exec/schedule.hpp"
#include "emu/lockwarp.hpp"
#include "tests/print.hpp"

namespace lockwarp::exec {

using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

// What a program is launched with. Buffer i lies at buffer_address(i) and is named "A" + i; the
// buffers' addresses are the first parameters, `arguments` follows them.
struct Given {
    isa::Arch arch = isa::Arch::sm_80;
    warp::Dim3 grid{};
    warp::Dim3 block{32, 1, 1};
    uint32_t dynamic_shared = 0;
    std::vector<Bytes> buffers;
    uint64_t offset = 0;  // from a buffer's first byte to the address that is its parameter
    Bytes arguments;
    uint64_t max_steps = 10'000'000;  // a program that never ends fails its test
    unsigned threads = 1;
    std::optional<warp::Dim3> cluster = {};
    bool non_portable_cluster = false;
    bool cooperative = false;
    const warp::TurnOrder* order = nullptr;
    bool fold_constants = true;
    bool leave_out_loads = false;
    std::vector<warp::Observer*> observers;
    warp::Oracle* oracle = nullptr;
    Schedule schedule = {};
};

struct Outcome {
    warp::Result result;
    std::vector<Bytes> buffers;  // after the run
};

constexpr uint64_t buffer_address(size_t i) { return 0x10000000 * (i + 1); }

// An observer of one listener, which hears all CTAs of a launch on one thread.
template <class T>
struct Alone : warp::Observer {
    struct OfCta : warp::CtaObserver {
        explicit OfCta(T& l) : all(l) {}
        void retired(const warp::Retired& e) override { all.retired(e); }
        T& all;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(listener);
    }
    T listener{};
};

std::string read_text(const std::string& path);

// The program of a module that must be right: throws, which fails the test, where it is not.
isa::Program program_of(std::string_view text, isa::Arch arch, std::string_view entry = {});

// Every diagnostic of the parser and the resolver, each with a newline.
std::string diagnostics_of(std::string_view text, isa::Arch arch, std::string_view entry = {});

Outcome run(const isa::Program& program, Given given);

// As run, of a program that must come to its end.
Outcome run_well(const isa::Program& program, Given given);

// "KIND: detail at line L, CTA (x,y,z), warp W, lane N, address A, step S", without the parts that
// the trap does not have; "" where there is none. A refusal reads "refused: WHAT".
std::string fault_of(const warp::Result& result);

// A module whose kernel has parameters "in" and "out". Before `body`:
//   %p<32> .pred, %h<32> .b16, %r<64> .b32, %rd<64> .b64, %f<32> .f32, %fd<32> .f64;
//   %r1 = thread within a one-dimensional CTA, %r0 = thread within a one-dimensional grid,
//   %rd1 = in, %rd2 = out + 4 * %r0, %rd3 = out + 16 * %r0, %rd4 = out.
// The body's first line is line first_body_line. `outside` stands before the entry, on one line.
inline constexpr uint32_t first_body_line = 20;
std::string kernel(std::string_view body, std::string_view outside = {},
                   std::string_view target = "sm_80");

// The text with `by` wherever `what` stood.
std::string replaced(std::string text, const std::string& what, const std::string& by);

// The body, and behind it the register's store at [%rd2] and the end.
std::string stored(std::string_view body, std::string_view reg);

// f(lane) of each lane.
template <class F>
Words by_lane(F f, uint32_t lanes = 32) {
    Words out;
    for (uint32_t lane = 0; lane < lanes; ++lane) out.push_back(f(lane));
    return out;
}

// What each thread of the launch stores at [%rd2], for kernel(body) with `in` as input.
Words results_of(std::string_view body, Words in = {}, Given given = {});
Words results_of_text(std::string_view text, Words in = {}, Given given = {});

// What each thread stores at [%rd3]: four words.
using FourWords = std::array<uint32_t, 4>;
std::vector<FourWords> wide_results_of(std::string_view body, Words in = {}, Given given = {});

// The trap of kernel(body, outside), as fault_of writes it.
std::string fault_of_body(std::string_view body, Given given = {}, std::string_view outside = {});

Bytes bytes_of(const Words& words);
Words words_of(const Bytes& bytes);
template <class T>
void append(Bytes& bytes, T value) {
    const auto* at = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), at, at + sizeof value);
}

// LOCKWARP_TEST_SCALE: how many times the ordinary number of random operands; 1 where it is not
// set.
unsigned test_scale();

// A variant's key as the name of a test.
std::string test_name(std::string_view key);

// f16 by its definition (IEEE 754 binary16), apart from the project's own conversions.
double value_of_f16(uint16_t bits);
uint16_t f16_of(double value);

}  // namespace lockwarp::exec
