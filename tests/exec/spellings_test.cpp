// SPDX-License-Identifier: Apache-2.0
// Each spelling of Hopper's instructions that kernels have, and each that the functions of
// <cuda/ptx> emit, runs by itself to the end: with either schedule, to the same memory. What each
// one computes: the tests of its family.
#include <algorithm>
#include <fstream>

#include "emu/exec/schedule.hpp"
#include "emu/isa/forms.hpp"
#include "emu/isa/tensor_map.hpp"
#include "emu/isa/warpgroup.hpp"
#include "tests/exec/support.hpp"
#include "tests/isa/instances.hpp"

namespace lockwarp::exec {

namespace {

constexpr uint32_t map_bytes = isa::tensor_map_bytes;
constexpr uint32_t data_bytes = 4096;
constexpr unsigned of_im2col = 5;  // maps: tiles of one to five dimensions, then im2col

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

void replace_last(std::string& text, std::string_view what, std::string_view by) {
    text.replace(text.rfind(what), what.size(), by);
}

// A tensor of u32 with a box of 16 bytes: every reduction knows the type.
isa::TensorMap map_of(unsigned rank, bool im2col) {
    isa::TensorMap m{
        .type = isa::TensorType::u32, .rank = rank, .address = buffer_address(0), .im2col = im2col};
    for (unsigned i = 0; i < rank; ++i) {
        m.dim[i] = 4;
        if (i > 0) m.stride[i - 1] = 16u << (2 * (i - 1));
    }
    m.box[0] = m.channels = 4;
    return m;
}

Bytes maps() {
    Bytes out;
    for (const bool im2col : {false, true})
        for (unsigned rank = im2col ? 3 : 1; rank <= isa::max_tensor_rank; ++rank) {
            const isa::TensorMap m = map_of(rank, im2col);
            EXPECT_TRUE(isa::refusals(m).empty()) << rank << im2col;
            const isa::TensorMapBytes bytes = isa::encode(m);
            out.insert(out.end(), bytes.begin(), bytes.end());
        }
    return out;
}

bool is_about_a_map(std::string_view spelling) {
    return has(spelling, ".tensor.") || has(spelling, "tensormap");
}

// The number of the map that a spelling needs.
unsigned map_for(std::string_view spelling) {
    const size_t at = spelling.find("d.", spelling.find(".tensor."));
    if (!has(spelling, ".tensor.")) return 4;
    const auto rank = static_cast<unsigned>(spelling[at - 1] - '0');
    return has(spelling, ".im2col") ? of_im2col + rank - 3 : rank - 1;
}

// Of wgmma.mma_async; `how`: A in registers, A or B transposed.
std::string product(const std::string& spelling, std::string_view how) {
    const size_t shape = spelling.find(".m64n") + 5;
    const auto n = static_cast<unsigned>(std::stoul(spelling.substr(shape)));
    const bool sparse = has(spelling, ".sp.");
    std::vector<std::string> types;
    for (const ptx::Modifier& m :
         isa::modifiers_of(std::string_view(spelling).substr(spelling.find('.', shape))))
        types.push_back(m.text);
    const bool halves = types[1] == ".f16" || types[1] == ".bf16";
    const bool is_float = types[0] != ".s32";
    const unsigned d_registers = n / (types[0] == ".f16" ? 4 : 2);
    std::string text = spelling + " {";
    for (unsigned i = 0; i < d_registers; ++i)
        text += (i == 0 ? "%product" : ", %product") + std::to_string(i);
    const bool in_registers = how == "a-registers";
    text += in_registers ? "}, {%b32_1, %b32_2, %b32_3, %b32_4}" : "}, %descriptor";
    text += ", %descriptor";
    if (sparse) text += ", %metadata, 0";
    text += ", 1";
    if (is_float) text += ", 1, 1";
    if (halves && !in_registers) text += how == "a-transposed" ? ", 1" : ", 0";
    if (halves) text += how == "b-transposed" ? ", 1" : ", 0";
    return text + ";";
}

// The instruction with operands that it can run with; empty, and a failure: no form has it.
std::string instruction(const std::string& spelling, std::string_view how) {
    if (has(spelling, "wgmma.mma_async")) return product(spelling, how);
    ptx::Instruction i;
    const size_t dot = std::min(spelling.find('.'), spelling.size());
    i.opcode = spelling.substr(0, dot);
    i.modifiers = isa::modifiers_of(std::string_view(spelling).substr(dot));
    const isa::FoundForm found = isa::find_form(i);
    EXPECT_NE(found.form, nullptr) << spelling;
    if (found.form == nullptr) return {};
    std::string modifiers;
    for (const ptx::Modifier& m : found.modifiers.empty() ? i.modifiers : found.modifiers)
        modifiers += m.text;
    std::string text = isa::instance(*found.form, modifiers);
    const bool barrier = i.opcode == "mbarrier" || has(spelling, "async.mbarrier.arrive");
    if (barrier || has(spelling, "mbarrier::complete_tx")) {
        replace_last(text, has(text, "[sh]") ? "[sh]" : "[%u64_39]", "[bar]");
        if (has(text, "[%u64_39]") && !has(spelling, ".global"))
            replace_last(text, "[%u64_39]", "[sh]");
    }
    // From one place in shared memory to another.
    if (has(text, "[sh], [sh]")) replace_last(text, "[sh]", "[sh+256]");
    return text;
}

// Fills the registers that the instruction may take: addresses, sizes, counts, a cluster's mask.
std::string registers(const std::string& spelling) {
    const bool waits = has(spelling, "_wait.");
    std::string text =
        ".reg .pred %one, %more; .reg .b32 %product<128>, %metadata, %place;"
        " .reg .b64 %descriptor, %fill;\n"
        ".shared .align 8 .b64 bar;\n"
        "ld.param.u64 %u64_39, [pa" +
        (is_about_a_map(spelling)
             ? "+8]; add.u64 %u64_39, %u64_39, " + std::to_string(map_bytes * map_for(spelling))
             : std::string("]")) +
        ";\nmov.b32 %metadata, 0x44444444;\nmov.u32 %place, sh; shr.u32 %place, "
        "%place, 4; cvt.u64.u32 %descriptor, %place;\n";
    for (unsigned i = 1; i < 39; ++i) {
        const std::string n = std::to_string(i);
        text += "mov.u32 %u32_" + n + ", " +
                (has(spelling, ".noComplete") ? "1"
                 : has(spelling, "elect")     ? "0xffffffff"
                                              : "16") +
                "; mov.b32 %b32_" + n + ", " + (waits ? "1" : "0") + "; mov.u16 %u16_" + n +
                ", 1; mov.b64 %b64_" + n + ", " + (waits ? "0x8000000000000000" : "0x1000") + ";\n";
    }
    return text;
}

std::string module_of(const std::string& spelling, std::string_view how) {
    std::string text = instruction(spelling, how);
    if (text.empty()) return {};
    const bool together = has(spelling, ".aligned") || has(spelling, ".sync");
    if (!together) text.insert(0, "@%one ");
    std::string before =
        "setp.eq.u32 %one, %u32_0, 0;\n@%one mbarrier.init.shared.b64 [bar], 1000;\n"
        "bar.sync 0;\n";
    // A tensor map in shared memory, and addresses in its place otherwise.
    if (has(spelling, "tensormap") && has(spelling, "shared::cta"))
        for (unsigned i = 0; i < map_bytes; i += 8)
            before += "ld.global.u64 %fill, [%u64_39+" + std::to_string(i) +
                      "]; st.shared.u64 [sh+" + std::to_string(i) + "], %fill;\n";
    if (has(spelling, "barrier.cluster.wait")) before += "barrier.cluster.arrive;\n";
    if (has(spelling, "wgmma")) before += "wgmma.fence.sync.aligned;\n";
    return isa::module_with({registers(spelling), "mov.u32 %u32_0, %tid.x;", before, text},
                            "sm_90a", "9.0");
}

struct Ended {
    std::string fault;  // "" where nothing went wrong
    std::vector<Bytes> memory;
};

Ended run_alone(const isa::Program& program, const Schedule& schedule) {
    Ended out;
    out.memory = {Bytes(data_bytes), maps()};
    for (uint32_t i = 0; i < data_bytes; ++i) out.memory[0][i] = static_cast<uint8_t>(i * 37 >> 3);
    warp::Launch l;
    l.block.x = isa::warpgroup_lanes;
    l.cluster = warp::Dim3{};
    l.max_steps = 1'000'000;
    l.threads = 1;
    for (size_t i = 0; i < out.memory.size(); ++i) {
        append(l.parameters, buffer_address(i));
        l.buffers.push_back(
            {std::string(1, static_cast<char>('A' + i)), buffer_address(i), out.memory[i]});
    }
    l.parameters.resize(64);
    out.fault = fault_of(launch(program, l, schedule));
    return out;
}

// Those that end otherwise, and how.
std::string end_of(std::string_view spelling) {
    if (spelling == "trap") return "trap instruction";
    if (spelling.starts_with("multimem.ld_reduce"))
        return "address out of bounds: not memory that several GPUs share";
    return "";
}

size_t run_each(const std::string& file) {
    std::ifstream lines(LOCKWARP_SOURCE_DIR "/tests/" + file);
    size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const size_t space = line.find(' ');
        const std::string spelling = line.substr(0, space);
        const std::string how = space == std::string::npos ? "" : line.substr(space + 1);
        const std::string module = module_of(spelling, how);
        if (module.empty()) continue;
        const std::string said = diagnostics_of(module, isa::Arch::sm_90);
        EXPECT_EQ(said, "") << line;
        if (!said.empty()) continue;
        const isa::Program program = program_of(module, isa::Arch::sm_90);
        const Ended early = run_alone(program, {});
        const Ended late = run_alone(program, {.late = true});
        EXPECT_EQ(early.memory, late.memory) << line;
        EXPECT_EQ(early.fault, late.fault) << line;
        const std::string end = end_of(spelling);
        EXPECT_TRUE(end.empty() ? early.fault.empty() : early.fault.starts_with(end))
            << line << ": " << early.fault;
        ++count;
    }
    return count;
}

TEST(HopperSpellings, OfKernelsRun) { EXPECT_GT(run_each("exec/data/hopper_spellings.txt"), 180u); }

TEST(HopperSpellings, OfCudaPtxRun) { EXPECT_GT(run_each("isa/data/cuda_ptx.txt"), 1000u); }

}  // namespace

}  // namespace lockwarp::exec
