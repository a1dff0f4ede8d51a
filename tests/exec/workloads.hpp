// SPDX-License-Identifier: Apache-2.0
// What the tests of the kernels in gpu/kernels share: each kernel as nvcc made it three times, on
// two machines, with typed buffers.
#pragma once

#include <cstring>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

// One PTX file of a kernel, run as one machine.
struct Build {
    std::string file;  // without ".ptx"
    isa::Arch arch;
};
void PrintTo(const Build& build, std::ostream* out);

// NAME, NAME_O0 (not optimized) and NAME_G (for a debugger), each on sm_80 and on sm_90.
std::vector<Build> builds_of(const std::string& name);

// triton_NAME on the machine it was made for, sm_80 and sm_90.
std::vector<Build> triton_builds_of(const std::string& name);

// "softmax_O0_on_sm_90".
std::string name_of(const testing::TestParamInfo<Build>& tested);

// True where the compiler did optimize: the others retire ten times as many instructions.
bool optimized(const Build& build);

isa::Program program_of(const Build& build, std::string_view entry);

template <class T>
Bytes bytes_from(const std::vector<T>& values) {
    Bytes out(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
}

template <class T>
std::vector<T> values_in(const Bytes& bytes) {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
}

// Matrices of f16, row-major, by their values.
Bytes f16_bytes(const std::vector<double>& values);
std::vector<double> f16_values(const Bytes& bytes);

// `count` values of the normal distribution, rounded to f32 and to f16.
std::vector<float> normal_f32(size_t count, uint32_t seed, float deviation = 1);
std::vector<double> normal_f16(size_t count, uint32_t seed);

// `count` integers from -limit to limit.
std::vector<double> integers(size_t count, uint32_t seed, int limit);

// A bound on what a product of f16 with sums in f32 is off, relative to the sum of its terms'
// magnitudes: each block of at least four products truncates at most five terms and its sum, all
// below twice those magnitudes, to 23 bits. Each of `parts` ends a block early.
double product_error(size_t terms, size_t parts = 1);

}  // namespace lockwarp::exec
