// SPDX-License-Identifier: Apache-2.0
#include "programs/clock_probe.hpp"

#include <algorithm>

#include "programs/clock_probe_parts.hpp"

namespace lockwarp::programs {

namespace {

bool part_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

}  // namespace

bool starts_with_words(const std::string& key, const std::string& beginning) {
    return key.starts_with(beginning) &&
           (key.size() == beginning.size() || !part_of_word(key[beginning.size()]) ||
            (!beginning.empty() && !part_of_word(beginning.back())));
}

ProbeWriter::ProbeWriter(std::string key, unsigned instructions, std::vector<unsigned> warps) {
    probe_.key = std::move(key);
    probe_.entry = "probe";
    probe_.instructions = instructions;
    probe_.warps = std::move(warps);
    probe_.bytes = probe_bytes;
}

std::string ProbeWriter::fresh(unsigned width) {
    const std::string name = (width == 1    ? "%p"
                              : width == 16 ? "%h"
                              : width == 32 ? "%x"
                                            : "%d") +
                             std::to_string(registers_++);
    declared_ += width == 1 ? ".reg .pred " + name + ";\n"
                            : ".reg .b" + std::to_string(width) + " " + name + ";\n";
    return name;
}

std::string ProbeWriter::zero(unsigned width) {
    const std::string name = fresh(width);
    setup("ld.global.b" + std::to_string(width) + " " + name + ", [%q3+" +
          std::to_string(zeros_++ * 8192) + "]");
    return name;
}

std::string ProbeWriter::shared(unsigned bytes, unsigned cleared) {
    declared_ += ".shared .align 128 .b8 sm[" + std::to_string(bytes) + "];\n";
    const std::string address = fresh(32);
    const std::string at = fresh(32);
    const std::string to = fresh(32);
    const std::string more = fresh(1);
    setup("mov.u32 " + address + ", sm");
    setup("shl.b32 " + at + ", %r1, 2");
    setup_ += "CLEAR:\n";
    setup("add.u32 " + to + ", " + address + ", " + at);
    setup("st.shared.b32 [" + to + "], %r0");
    setup("mad.lo.u32 " + at + ", %r4, 4, " + at);
    setup("setp.lt.u32 " + more + ", " + at + ", " + std::to_string(cleared));
    setup("@" + more + " bra CLEAR");
    return address;
}

void ProbeWriter::asks(uint16_t version, isa::Suffix suffix) {
    version_ = std::max(version_, version);
    if (suffix != isa::Suffix::none) suffix_ = suffix;
}

void ProbeWriter::cold(uint64_t bytes) {
    probe_.cold = true;
    probe_.bytes = bytes;
    measurements_ = 1;
}

Probe ProbeWriter::finish(isa::Arch arch) const {
    Probe out = probe_;
    const unsigned threads = 32 * *std::ranges::max_element(out.warps);
    std::string& t = out.ptx;
    t = module_version(arch, version_) + ".target " + target_of(arch, suffix_) +
        "\n.address_size 64\n" + module_ + ".visible .entry " + out.entry +
        "(.param .u64 out)\n.maxntid " + std::to_string(threads) + ", 1, 1\n.minnctapersm 1\n{\n";
    t += ".reg .pred %t<4>;\n.reg .b32 %r<8>;\n.reg .b64 %q<8>;\n" + declared_;
    t += "ld.param.u64 %q0, [out];\n"
         "mov.u32 %r1, %tid.x;\n"
         "and.b32 %r2, %r1, 31;\n"
         "shr.u32 %r3, %r1, 5;\n"
         "mov.u32 %r4, %ntid.x;\n"
         "add.u64 %q4, %q0, " +
         std::to_string(probe_scratch) +
         ";\n"
         "mul.wide.u32 %q3, %r1, 8;\n"
         "add.u64 %q3, %q0, %q3;\n"
         "add.u64 %q3, %q3, " +
         std::to_string(probe_zeros) +
         ";\n"
         "ld.global.b32 %r0, [%q3];\n"
         "mov.u32 %r5, %r0;\n";
    t += setup_;
    t += "AGAIN:\nbar.sync 0;\n";
    t += "mov.u64 %q1, %clock64;\n";
    if (!where_.empty()) t += "@!" + where_ + " bra PAST;\n";
    t += measured_;
    if (!where_.empty()) t += "PAST:\n";
    t += "mov.u64 %q2, %clock64;\n" + after_;
    if (measurements_ > 1)
        t += "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %t1, %r5, " + std::to_string(measurements_) +
             ";\n@%t1 bra AGAIN;\n";
    t += "sub.u64 %q2, %q2, %q1;\n"
         "mul.wide.u32 %q1, %r3, 8;\n"
         "add.u64 %q1, %q0, %q1;\n"
         "setp.eq.u32 %t2, %r2, 0;\n"
         "@%t2 st.global.u64 [%q1], %q2;\n"
         "mul.wide.u32 %q1, %r1, 8;\n"
         "add.u64 %q1, %q0, %q1;\n";
    uint64_t at = probe_results;
    for (const Result& r : results_) {
        t += "st.global.b" + std::to_string(r.width) + " [%q1+" + std::to_string(at) + "], " +
             r.name + ";\n";
        at += probe_result_step;
    }
    t += "ret;\n}\n";
    return out;
}

bool ProbeList::wants(const std::string& key) const {
    return only.empty() || std::ranges::any_of(only, [&](const std::string& beginning) {
               return starts_with_words(key, beginning);
           });
}

std::vector<Probe> clock_probes(isa::Arch arch, const std::vector<std::string>& only) {
    ProbeList list{arch, only, {}};
    add_matrix_probes(list);
    add_shared_probes(list);
    add_scalar_probes(list);
    add_global_probes(list);
    add_pair_probes(list);
    add_async_probes(list);
    return std::move(list.probes);
}

}  // namespace lockwarp::programs
