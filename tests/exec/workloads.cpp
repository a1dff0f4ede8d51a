// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/workloads.hpp"

#include <cmath>

namespace lockwarp::exec {

using isa::Arch;

void PrintTo(const Build& build, std::ostream* out) {
    *out << build.file << " on " << isa::row(build.arch).name;
}

std::vector<Build> builds_of(const std::string& name) {
    std::vector<Build> out;
    for (const Arch arch : {Arch::sm_80, Arch::sm_90})
        for (const char* variant : {"", "_O0", "_G"})
            out.push_back({name + variant + ".sm_80", arch});
    return out;
}

std::vector<Build> triton_builds_of(const std::string& name) {
    return {{"triton_" + name + ".sm_80", Arch::sm_80}, {"triton_" + name + ".sm_90", Arch::sm_90}};
}

std::string name_of(const testing::TestParamInfo<Build>& tested) {
    const Build& b = tested.param;
    return b.file.substr(0, b.file.find('.')) + "_on_" + std::string(isa::row(b.arch).name);
}

bool optimized(const Build& build) {
    return build.file.find("_O0.") == std::string::npos &&
           build.file.find("_G.") == std::string::npos;
}

isa::Program program_of(const Build& build, std::string_view entry) {
    return program_of(read_text(LOCKWARP_SOURCE_DIR "/gpu/kernels/" + build.file + ".ptx"),
                      build.arch, entry);
}

Bytes f16_bytes(const std::vector<double>& values) {
    Bytes out;
    for (const double v : values) append(out, f16_of(v));
    return out;
}

std::vector<double> f16_values(const Bytes& bytes) {
    std::vector<double> out;
    for (const uint16_t bits : values_in<uint16_t>(bytes)) out.push_back(value_of_f16(bits));
    return out;
}

std::vector<float> normal_f32(size_t count, uint32_t seed, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> out(count);
    for (float& v : out) v = normal(random);
    return out;
}

std::vector<double> normal_f16(size_t count, uint32_t seed) {
    std::vector<double> out;
    for (const float v : normal_f32(count, seed)) out.push_back(value_of_f16(f16_of(v)));
    return out;
}

std::vector<double> integers(size_t count, uint32_t seed, int limit) {
    std::mt19937 random(seed);
    std::vector<double> out(count);
    for (double& v : out) v = static_cast<int>(random() % (2 * limit + 1)) - limit;
    return out;
}

double product_error(size_t terms, size_t parts) {
    return static_cast<double>(terms / 4 + parts) * std::ldexp(12, -23);
}

}  // namespace lockwarp::exec
