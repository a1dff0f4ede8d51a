#include "validate/fuzz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "emu/lockwarp.hpp"
#include "gpu/trace.hpp"

namespace lockwarp::validate {

namespace {

std::string spelling(const ptx::Instruction& i) {
    std::string out = i.opcode;
    for (const ptx::Modifier& m : i.modifiers) out += m.text;
    return out;
}

constexpr uint32_t warp_lanes = 32;

// One warp runs one instruction on given registers; each register has one 64-bit word a lane.
struct OneInstruction {
    Case c;
    std::string ptx;
    size_t inputs = 0;
};

bool isolable(const isa::Operation& o) {
    return o.op != isa::Op::ldmatrix && o.op != isa::Op::stmatrix && o.op != isa::Op::ld;
}

OneInstruction one_instruction(const Report& report, const ptx::Instruction& original,
                               const std::string& target) {
    const Difference& d = *report.first;
    const isa::Operation& o = report.program.operations[d.operation];
    ptx::Instruction i = original;
    i.guard = {};
    OneInstruction out;
    std::string registers;
    const auto declare = [&](const isa::Register& r) {
        const std::string text =
            "    .reg " + std::string(isa::row(r.type).name) + " " + r.name + ";\n";
        if (registers.find(text) == std::string::npos) registers += text;
    };
    for (uint32_t k = 0; k < uint32_t{o.written} + o.read; ++k)
        declare(report.program.registers[report.program.uses[o.first_use + k]]);
    std::string loads;
    std::vector<uint8_t> bytes;
    for (const Difference::Input& input : d.inputs) {
        if (!original.guard.name.empty() && input.name == original.guard.name) continue;
        const size_t at = bytes.size();
        bytes.resize(at + warp_lanes * 8);
        std::memcpy(bytes.data() + at, input.lanes.data(), warp_lanes * 8);
        const std::string place = "[%lane_at+" + std::to_string(at) + "]";
        if (input.type == isa::Type::pred)
            loads += "    ld.global.b32 %word, " + place + "; setp.ne.u32 " + input.name +
                     ", %word, 0;\n";
        else
            loads += "    ld.global.b" + std::to_string(isa::bits(input.type)) + " " + input.name +
                     ", " + place + ";\n";
        ++out.inputs;
    }
    out.ptx = ".version 8.0\n.target " + target +
              "\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n" + registers +
              "    .reg .b32 %word; .reg .b64 %lane_at, %base;\n"
              "    ld.param.u64 %base, [in]; mov.u32 %word, %laneid;\n"
              "    mul.wide.u32 %lane_at, %word, 8; add.u64 %lane_at, %lane_at, %base;\n" +
              loads + "    " + ptx::print(i) + "\n    ret;\n}\n";
    out.c.module = ptx::parse(out.ptx).module;
    out.c.entry = "k";
    out.c.block = {warp_lanes, 1, 1};
    out.c.parameters.resize(8);
    out.c.patches = {{0, 0, 0}};
    out.c.names = {"in"};
    bytes.resize(bytes.size() + 8);
    out.c.bytes = {bytes};
    return out;
}

// Makes the case smaller while it still differs: lanes to zero, then bits.
void shrink(OneInstruction& one, const std::function<bool(const Case&)>& differs) {
    std::vector<uint8_t>& bytes = one.c.bytes[0];
    const auto try_word = [&](size_t at, uint64_t value) {
        uint64_t old;
        std::memcpy(&old, bytes.data() + at, 8);
        if (old == value) return false;
        std::memcpy(bytes.data() + at, &value, 8);
        if (differs(one.c)) return true;
        std::memcpy(bytes.data() + at, &old, 8);
        return false;
    };
    for (size_t lane = 0; lane < warp_lanes; ++lane) {
        const std::vector<uint8_t> before = bytes;
        for (size_t k = 0; k < one.inputs; ++k)
            std::memset(bytes.data() + (k * warp_lanes + lane) * 8, 0, 8);
        if (!differs(one.c)) bytes = before;
    }
    for (size_t word = 0; word < one.inputs * warp_lanes; ++word) try_word(word * 8, 0);
    for (size_t word = 0; word < one.inputs * warp_lanes; ++word)
        for (unsigned bit = 0; bit < 64; ++bit) {
            uint64_t value;
            std::memcpy(&value, bytes.data() + word * 8, 8);
            if (value >> bit & 1) try_word(word * 8, value & ~(uint64_t{1} << bit));
        }
}

std::string launch_json(const Case& c, const std::string& arch) {
    std::string hex;
    for (const uint8_t b : c.bytes[0]) hex += fmt::format("{:02x}", b);
    return fmt::format(
        "{{\n  \"schema\": \"lockwarp-launch/1\",\n  \"ptx\": \"case.ptx\",\n  \"arch\": \"{}\",\n"
        "  \"grid\": [{}, 1, 1], \"block\": [{}, 1, 1],\n"
        "  \"buffers\": {{\"in\": {{\"bytes\": {}, \"init\": {{\"hex\": \"{}\"}}}}}},\n"
        "  \"args\": [{{\"buffer\": \"in\"}}],\n  \"outputs\": [\"in\"]\n}}\n",
        arch, c.grid.x, c.block.x, c.bytes[0].size(), hex);
}

}  // namespace

FuzzReport fuzz(const FuzzOptions& options, isa::Arch arch, gpu::Engine& engine) {
    FuzzReport out;
    std::map<std::string, uint64_t> compared;
    const std::string target{isa::row(arch).name};
    Options how;
    how.threads = options.threads;
    for (uint64_t n = 0; n < options.cases; ++n) {
        if (options.enough && options.enough()) break;
        GenerateOptions g = options.generate;
        g.seed += n;
        g.arch = arch;
        const Generated program = generate(g);
        if (!program.problem.empty()) {
            out.problem = program.problem;
            break;
        }
        const Report r = run_lockstep(program.c, arch, engine, how);
        if (!r.diagnostics.empty() || !r.problem.empty()) {
            out.problem =
                fmt::format("seed {}: {}", g.seed,
                            r.problem.empty() ? r.diagnostics[0].message + ", line " +
                                                    std::to_string(r.diagnostics[0].place.line)
                                              : r.problem);
            break;
        }
        ++out.cases;
        out.values += r.counts.values;
        out.memory_bytes += r.counts.memory_bytes;
        out.different += r.counts.different;
        const std::vector<const ptx::Instruction*> all =
            gpu::instructions_of(program.c.module, program.c.entry);
        const uint64_t threads = program.c.grid.count() * program.c.block.count();
        for (size_t i = 0; i < all.size(); ++i)
            compared[spelling(*all[i])] += r.program.operations[i].written * threads;
        if (!r.first) continue;
        const Difference& d = *r.first;
        Found f;
        f.seed = g.seed;
        f.instruction = spelling(*all[d.operation]);
        if (out.found.size() >= options.most_found) break;
        if (std::ranges::find(out.found, f.instruction, &Found::instruction) != out.found.end())
            continue;
        f.ptx = program.ptx;
        f.json = launch_json(program.c, target);
        f.report = text_report(r, engine.device(), "case.ptx");
        if (d.kind == DifferenceKind::value && isolable(r.program.operations[d.operation])) {
            OneInstruction one = one_instruction(r, *all[d.operation], target);
            const auto differs = [&](const Case& c) {
                const Report again = run_lockstep(c, arch, engine, how);
                return again.first.has_value() && again.first->kind == DifferenceKind::value;
            };
            if (differs(one.c)) {
                shrink(one, differs);
                f.isolated = true;
                f.ptx = one.ptx;
                f.json = launch_json(one.c, target);
                f.report = text_report(run_lockstep(one.c, arch, engine, how), engine.device(),
                                       "case.ptx");
            }
        }
        out.found.push_back(std::move(f));
    }
    out.instructions.assign(compared.begin(), compared.end());
    if (out.problem.empty() && out.values == 0) out.problem = "nothing was compared";
    return out;
}

}  // namespace lockwarp::validate
