// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/operands.hpp"

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

std::vector<uint64_t> edge_numbers() {
    std::vector<uint64_t> out;
    for (const uint64_t n : {0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 255}) {
        out.push_back(n);
        out.push_back(~n);
    }
    for (const unsigned bit : {15u, 16u, 23u, 24u, 30u, 31u, 32u, 47u, 62u, 63u})
        for (const uint64_t n : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1}) {
            out.push_back(n);
            out.push_back(~n);
        }
    for (const uint64_t n : {0x7fff8000ffff0001u, 0x80007fff0001ffffu, 0x123456789abcdef0u})
        out.push_back(n);
    return out;
}

std::vector<Triple> triples() {
    const std::vector<uint64_t> edges = edge_numbers();
    std::vector<Triple> out;
    for (size_t i = 0; i < edges.size(); ++i)
        for (size_t j = 0; j < edges.size(); ++j)
            for (const size_t k : {i, j, (7 * i + 13 * j) % edges.size()})
                out.push_back({edges[i], edges[j], edges[k]});
    std::mt19937_64 random(11);
    for (int i = 0; i < 2000; ++i) out.push_back({random(), random(), random()});
    return out;
}

std::vector<uint64_t> answers(std::string_view body, const std::vector<Triple>& given,
                              isa::Arch arch) {
    std::string text = kernel(
        "mul.wide.u32 %rd5, %r0, 24;\nadd.u64 %rd5, %rd5, %rd1;\nmov.u64 %rd20, 0;\n"
        "ld.global.u64 %rd10, [%rd5];\nld.global.u64 %rd11, [%rd5+8];\n"
        "ld.global.u64 %rd12, [%rd5+16];\n"
        "cvt.u32.u64 %r10, %rd10;\ncvt.u32.u64 %r11, %rd11;\ncvt.u32.u64 %r12, %rd12;\n" +
            std::string(body) + "\nst.global.u64 [%rd3], %rd20;\n",
        {}, isa::row(arch).name);
    text.replace(0, text.find('\n'), ".version 9.0");
    Given launch;
    launch.arch = arch;
    launch.block.x = 128;
    launch.grid.x = static_cast<uint32_t>((given.size() + 127) / 128);
    std::vector<Triple> padded = given;
    padded.resize(size_t{launch.grid.x} * 128);
    Bytes in;
    for (const Triple& t : padded)
        for (const uint64_t n : t) append(in, n);
    launch.buffers = {in, Bytes(padded.size() * 16, 0xee)};
    const Words out = words_of(run_well(program_of(text, arch), std::move(launch)).buffers[1]);
    std::vector<uint64_t> values;
    for (size_t i = 0; i < given.size(); ++i)
        values.push_back(out[4 * i] | uint64_t{out[4 * i + 1]} << 32);
    return values;
}

}  // namespace lockwarp::exec
