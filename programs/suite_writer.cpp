// SPDX-License-Identifier: Apache-2.0
#include "programs/suite_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "emu/num/ieee.hpp"
#include "programs/operands.hpp"

namespace lockwarp::programs {

namespace {

using isa::Type;

constexpr unsigned results_of_a_width = 8;
constexpr std::array<unsigned, 4> widths{1, 16, 32, 64};
constexpr uint32_t out_bytes = 32;  // of each thread
constexpr uint32_t mem_bytes = 32;

// Types that share their inputs.
Type shared_type(Type t) {
    if (t == Type::tf32) return Type::f32;
    if (isa::is_float(t)) return t;
    switch (isa::bits(t)) {
        case 8:
            return Type::b8;
        case 16:
            return Type::b16;
        case 64:
            return Type::b64;
        default:
            return Type::b32;
    }
}

OperandClass class_number(uint32_t n) {
    return static_cast<OperandClass>(n % static_cast<uint32_t>(OperandClass::count_));
}

// Three operands that belong together: number i of a type with one element.
std::array<uint64_t, 3> element_triple(Type t, uint32_t i, launch::Random& r) {
    const unsigned width = isa::bits(t);
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t a = operand(t, class_number(i), r);
    uint64_t b = operand(t, class_number(i / 8), r);
    uint64_t c = operand(t, class_number(i + i / 8), r);
    const uint64_t negated = isa::is_float(t) ? a ^ sign : 0 - a;
    if (i / 64 % 4 == 1) {
        const std::array<uint64_t, 4> beside{a, a + 1, a - 1, negated};
        b = beside[i / 8 % 4] & mask;
    }
    if (i / 64 % 4 >= 2 && isa::is_float(t))
        c = (num::mul(t, a, b, isa::Rounding::rn) ^ sign) + (i / 64 % 4 - 2);
    return {a, b, c & mask};
}

std::array<uint64_t, 3> triple(Type t, uint32_t i, launch::Random& r) {
    if (t == Type::b8) {
        // Instructions on 8 bits read a part of a wider register.
        std::array<uint64_t, 3> out = element_triple(Type::b8, i, r);
        for (uint64_t& value : out) value |= r.below(256) << 8;
        return out;
    }
    const Type element = isa::element_of(t);
    if (element == t || !isa::is_float(t)) return element_triple(t, i, r);
    std::array<uint64_t, 3> out = element_triple(element, i, r);
    const std::array<uint64_t, 3> high = element_triple(element, i * 5 + 64, r);
    for (size_t k = 0; k < out.size(); ++k) out[k] |= high[k] << isa::bits(element);
    return out;
}

uint64_t count_of_bits(launch::Random& r) {
    constexpr auto edges = std::to_array<uint32_t>(
        {0, 1, 7, 8, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 1u << 31});
    switch (r.below(4)) {
        case 0:
            return edges[r.below(edges.size())];
        case 1:
            return r.next() & 0xffffffff;
        default:
            return r.below(70);
    }
}

uint64_t hash(std::string_view text) {
    uint64_t h = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return h;
}

// Registers of 32 bits, or 64 for f64.
bool of_matrix(Role role) {
    return role == Role::fragment || role == Role::metadata || role == Role::factors;
}

}  // namespace

SuiteWriter::SuiteWriter(std::string name, isa::Arch arch, uint32_t threads)
    : name_(std::move(name)), arch_(arch), threads_(threads), seed_(hash(name_)) {}

std::string SuiteWriter::input(Type type, Role role, unsigned index, unsigned held) {
    const bool matrix = of_matrix(role);
    const Type t = matrix ? type : shared_type(type);
    for (const Input& i : inputs_)
        if (i.type == t && i.role == role && i.index == index) return i.name;
    const unsigned width = matrix && isa::bits(t) < 32 ? 32 : register_width(t);
    // The lanes of a warp side by side, so that an input and its track are the same bytes.
    const std::string name = "%i" + std::to_string(inputs_.size()) + "_" + std::to_string(width);
    inputs_.push_back({t, role, index, held, stride_, name});
    declare(".reg .b" + std::to_string(width) + " " + name);
    loads_ += "    ld.global.b" + std::to_string(width) + " " + name + ", [%qin" +
              std::to_string(width) + "+" + std::to_string(stride_) + "];\n";
    stride_ += 32 * width / 8;
    return name;
}

std::string SuiteWriter::result(unsigned width, unsigned index) {
    return "%x" + std::to_string(std::max(width, width == 1 ? 1u : 16u)) + "_" +
           std::to_string(index);
}

std::string SuiteWriter::predicate(unsigned n) {
    for (; predicates_ <= n; ++predicates_)
        loads_ += "    and.b32 %t0, " + input(Type::b32, Role::word, 1000) + ", " +
                  std::to_string(uint64_t{1} << (7 * predicates_)) + "; setp.ne.u32 %u" +
                  std::to_string(predicates_) + ", %t0, 0;\n";
    return "%u" + std::to_string(n);
}

uint64_t SuiteWriter::value(const Input& input, uint32_t thread) const {
    // The three operands of a type come from one stream.
    const uint64_t kind =
        input.role <= Role::c
            ? 0
            : uint64_t{1} + static_cast<uint64_t>(input.role) * 4096 + input.index;
    launch::Random r{
        launch::splitmix64(launch::splitmix64(seed_ + kind, static_cast<uint64_t>(input.type) + 1),
                           uint64_t{thread} + 1),
        0};
    switch (input.role) {
        case Role::count:
            return count_of_bits(r);
        case Role::word:
            return r.next();
        case Role::fragment:
            return fragment_register(input.type, input.held, class_number(thread / 32), r);
        case Role::metadata:
            return metadata_register(input.type, r);
        case Role::factors:
            return scale_register(input.type, class_number(thread / 32), r);
        default:
            return triple(input.type, thread, r)[static_cast<size_t>(input.role)];
    }
}

std::vector<uint8_t> SuiteWriter::input_bytes() const {
    const uint32_t warps = (threads_ + 31) / 32;
    std::vector<uint8_t> out(size_t{warps} * stride_ + 16);
    for (const Input& i : inputs_) {
        const bool matrix = of_matrix(i.role);
        const size_t bytes = matrix && isa::bits(i.type) < 32 ? 4 : register_width(i.type) / 8;
        for (uint32_t t = 0; t < threads_; ++t) {
            const uint64_t v = value(i, t);
            std::memcpy(out.data() + size_t{t / 32} * stride_ + i.offset + t % 32 * bytes, &v,
                        bytes);
        }
    }
    return out;
}

std::string SuiteWriter::module() const {
    std::string out = ".version 9.0\n.target " + target_of(arch_, suffix_) +
                      "\n.address_size 64\n" + module_ +
                      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 mem,\n"
                      "                  .param .align 16 .b8 pa[64])\n.maxntid " +
                      std::to_string(threads_) + ", 1, 1\n{\n" + declarations_;
    out +=
        "    .reg .b32 %rtid, %rlane, %rwarp, %t<8>; .reg .b64 %qin, %qout, %qmem, %q<8>;\n"
        "    .reg .b64 %qin16, %qin32, %qin64; .reg .pred %u<4>;\n"
        "    .reg .b128 %x128_<4>;\n"
        "    .reg .pred %x1_<8>; .reg .b16 %x16_<8>; .reg .b32 %x32_<8>; .reg .b64 %x64_<8>;\n"
        "    ld.param.u64 %qin, [in]; ld.param.u64 %qout, [out]; ld.param.u64 %qmem, [mem];\n"
        "    mov.u32 %rtid, %tid.x; mov.u32 %rlane, %laneid; shr.u32 %rwarp, %rtid, 5;\n";
    out +=
        "    mul.wide.u32 %q0, %rwarp, " + std::to_string(stride_) + "; add.u64 %qin, %qin, %q0;\n";
    for (const unsigned width : {16u, 32u, 64u})
        out += "    mul.wide.u32 %q0, %rlane, " + std::to_string(width / 8) + "; add.u64 %qin" +
               std::to_string(width) + ", %qin, %q0;\n";
    out += "    mul.wide.u32 %q0, %rtid, " + std::to_string(out_bytes) +
           "; add.u64 %qout, %qout, %q0; add.u64 %qmem, %qmem, %q0;\n";
    const auto used = [&](const std::string& name) {
        return body_.find(name) != std::string::npos;
    };
    for (const unsigned width : widths)
        for (unsigned i = 0; i < results_of_a_width; ++i) {
            const std::string name = result(width, i);
            if (!used(name)) continue;
            out += "    mov." + (width == 1 ? "pred " : "b" + std::to_string(width) + " ") + name +
                   ", 0;\n";
        }
    out += loads_ + begin_ + body_;
    // The last results, so that memory shows them too.
    uint32_t at = 0;
    for (const unsigned width : {64u, 32u, 16u})
        if (used(result(width))) {
            out += "    st.global.b" + std::to_string(width) + " [%qout+" + std::to_string(at) +
                   "], " + result(width) + ";\n";
            at += width / 8;
        }
    if (used(result(1))) out += "    selp.u32 %t0, 1, 2, %x1_0; st.global.u32 [%qout+16], %t0;\n";
    out += "    st.global.u32 [%qout+20], %rtid;\n";
    return out + "    ret;\n}\n";
}

SuiteProgram SuiteWriter::finish() {
    SuiteProgram out;
    out.name = name_;
    out.ptx = module();
    ptx::Parsed parsed = ptx::parse(out.ptx);
    out.c.module = std::move(parsed.module);
    out.c.entry = "k";
    out.c.grid = {1, 1, 1};
    out.c.block = {threads_, 1, 1};
    launch::Random r{seed_, 0};
    const auto bytes = [&](size_t n) {
        std::vector<uint8_t> v(n);
        for (uint8_t& b : v) b = static_cast<uint8_t>(r.next());
        return v;
    };
    out.c.parameters = std::vector<uint8_t>(32);
    const std::vector<uint8_t> pa = bytes(64);
    out.c.parameters.insert(out.c.parameters.end(), pa.begin(), pa.end());
    out.c.patches = {{0, 0, 0}, {8, 1, 0}, {16, 2, 0}};
    out.c.names = {"in", "out", "mem"};
    const bool uses_mem = (begin_ + body_).find("%qmem") != std::string::npos;
    out.c.bytes = {input_bytes(), std::vector<uint8_t>(size_t{threads_} * out_bytes),
                   uses_mem ? bytes(size_t{threads_} * mem_bytes) : std::vector<uint8_t>(16)};
    return out;
}

}  // namespace lockwarp::programs
