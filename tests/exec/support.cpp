// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/support.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace lockwarp::exec {

namespace {

std::string text_of(const std::vector<ptx::Diagnostic>& diagnostics) {
    std::string text;
    for (const ptx::Diagnostic& d : diagnostics)
        text += std::to_string(d.place.line) + ": " + d.message +
                (d.hint.empty() ? "" : " (" + d.hint + ")") + "\n";
    return text;
}

}  // namespace

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

isa::Program program_of(std::string_view text, isa::Arch arch, std::string_view entry) {
    const std::string wrong = diagnostics_of(text, arch, entry);
    if (!wrong.empty()) throw std::runtime_error(wrong + std::string(text));
    return isa::resolve(ptx::parse(text).module, arch, entry).program;
}

std::string diagnostics_of(std::string_view text, isa::Arch arch, std::string_view entry) {
    const ptx::Parsed parsed = ptx::parse(text);
    if (!parsed.diagnostics.empty()) return text_of(parsed.diagnostics);
    return text_of(isa::resolve(parsed.module, arch, entry).diagnostics);
}

Outcome run(const isa::Program& program, Given given) {
    Outcome outcome;
    outcome.buffers = std::move(given.buffers);
    warp::Launch l;
    l.grid = given.grid;
    l.block = given.block;
    l.dynamic_shared = given.dynamic_shared;
    l.max_steps = given.max_steps;
    l.threads = given.threads;
    l.cluster = given.cluster;
    l.non_portable_cluster = given.non_portable_cluster;
    l.cooperative = given.cooperative;
    l.order = given.order;
    l.fold_constants = given.fold_constants;
    l.leave_out_loads = given.leave_out_loads;
    for (size_t i = 0; i < outcome.buffers.size(); ++i) {
        append(l.parameters, buffer_address(i) + given.offset);
        l.buffers.push_back(
            {std::string(1, static_cast<char>('A' + i)), buffer_address(i), outcome.buffers[i]});
    }
    l.parameters.insert(l.parameters.end(), given.arguments.begin(), given.arguments.end());
    l.observers = given.observers;
    l.oracle = given.oracle;
    outcome.result = launch(program, l, given.schedule);
    return outcome;
}

Outcome run_well(const isa::Program& program, Given given) {
    Outcome outcome = run(program, std::move(given));
    EXPECT_EQ(fault_of(outcome.result), "");
    return outcome;
}

std::string fault_of(const warp::Result& result) {
    if (result.refusal) return "refused: " + result.refusal->what;
    if (!result.trap) return {};
    const warp::Trap& t = *result.trap;
    std::ostringstream out;
    out << warp::trap_name(t.kind) << ": " << t.detail << " at line " << t.place.line << ", CTA ("
        << t.cta[0] << "," << t.cta[1] << "," << t.cta[2] << "), warp " << t.warp;
    if (t.has_lane) out << ", lane " << t.lane;
    if (t.has_address) out << ", address 0x" << std::hex << t.address << std::dec;
    out << ", step " << t.step;
    return out.str();
}

std::string kernel(std::string_view body, std::string_view outside, std::string_view target) {
    return ".version 8.0\n.target " + std::string(target) + "\n.address_size 64\n" +
           std::string(outside) + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %rd<64>;
.reg .f32 %f<32>; .reg .f64 %fd<32>;
.reg .b32 %t<2>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd4, [out];
mov.u32 %r1, %tid.x;
mov.u32 %t0, %ctaid.x;
mov.u32 %t1, %ntid.x;
mad.lo.u32 %r0, %t0, %t1, %r1;
mul.wide.u32 %rd2, %r0, 4;
add.u64 %rd2, %rd2, %rd4;
mul.wide.u32 %rd3, %r0, 16;
add.u64 %rd3, %rd3, %rd4;
)" + std::string(body) +
           "\n}\n";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

Words results_of_text(std::string_view text, Words in, Given given) {
    given.buffers = {bytes_of(in), Bytes(given.grid.count() * given.block.count() * 4, 0xee)};
    const isa::Program program = program_of(text, given.arch);
    return words_of(run_well(program, std::move(given)).buffers[1]);
}

std::string stored(std::string_view body, std::string_view reg) {
    return std::string(body) + "\nst.global.u32 [%rd2], " + std::string(reg) + ";\nret;\n";
}

std::vector<FourWords> wide_results_of(std::string_view body, Words in, Given given) {
    const size_t threads = given.grid.count() * given.block.count();
    given.buffers = {bytes_of(in), Bytes(threads * 16, 0xee)};
    const isa::Program program = program_of(kernel(body), given.arch);
    const Words words = words_of(run_well(program, std::move(given)).buffers[1]);
    std::vector<FourWords> out(threads);
    for (size_t i = 0; i < words.size(); ++i) out[i / 4][i % 4] = words[i];
    return out;
}

Words results_of(std::string_view body, Words in, Given given) {
    return results_of_text(kernel(body), std::move(in), std::move(given));
}

std::string fault_of_body(std::string_view body, Given given, std::string_view outside) {
    if (given.buffers.empty()) given.buffers = {Bytes(256), Bytes(4096)};
    const isa::Program program = program_of(kernel(body, outside), given.arch);
    return fault_of(run(program, std::move(given)).result);
}

Bytes bytes_of(const Words& words) {
    Bytes bytes(words.size() * 4);
    if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

Words words_of(const Bytes& bytes) {
    Words words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

unsigned test_scale() {
    const char* const text = std::getenv("LOCKWARP_TEST_SCALE");
    const long value = text == nullptr ? 1 : std::strtol(text, nullptr, 10);
    return static_cast<unsigned>(std::clamp(value, 1L, 100000L));
}

std::string test_name(std::string_view key) {
    std::string name{key};
    for (char& c : name)
        if (c == '.' || c == ':') c = '_';
    return name;
}

double value_of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 0x3ff;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

uint16_t f16_of(double value) {
    const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return 0x7fff;
    if (magnitude >= 65520) return sign | 0x7c00;
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    // The unit in the last place: 2^-24 for subnormals. nearbyint rounds ties to even.
    const int unit = std::max(exponent - 11, -24);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
    // Steps of 1024 to 2047 are normal numbers; a carry to 2048 goes on into the exponent.
    const int bits = magnitude == 0 ? 0 : (unit + 24) * 1024 + steps;
    return static_cast<uint16_t>(sign | bits);
}

}  // namespace lockwarp::exec
