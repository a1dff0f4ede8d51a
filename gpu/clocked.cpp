// SPDX-License-Identifier: Apache-2.0
#include "gpu/clocked.hpp"

#include <algorithm>
#include <cstring>

#include "emu/ptx/printer.hpp"
#include "gpu/instrument.hpp"

namespace lockwarp::gpu {

namespace {

// %lw_p: the thread's slot in the buffer at %lw_p.
constexpr const char* slot = R"(
mov.u32 %lw_x, %ctaid.z; mov.u32 %lw_y, %nctaid.y; mov.u32 %lw_z, %ctaid.y;
mad.lo.u32 %lw_x, %lw_x, %lw_y, %lw_z;
mov.u32 %lw_y, %nctaid.x; mov.u32 %lw_z, %ctaid.x;
mad.lo.u32 %lw_x, %lw_x, %lw_y, %lw_z;
mov.u32 %lw_y, %ntid.z; mov.u32 %lw_z, %tid.z;
mad.lo.u32 %lw_x, %lw_x, %lw_y, %lw_z;
mov.u32 %lw_y, %ntid.y; mov.u32 %lw_z, %tid.y;
mad.lo.u32 %lw_x, %lw_x, %lw_y, %lw_z;
mov.u32 %lw_y, %ntid.x; mov.u32 %lw_z, %tid.x;
mad.lo.u32 %lw_x, %lw_x, %lw_y, %lw_z;
mad.wide.u32 %lw_p, %lw_x, 32, %lw_p;
)";
static_assert(slot_bytes == 32);

constexpr const char* scratch = ".reg .b64 %lw_p, %lw_e; .reg .b32 %lw_x, %lw_y, %lw_z;\n";
constexpr const char* read_begin = ".reg .b64 %lw_c; mov.u64 %lw_c, %clock64;\n";
constexpr const char* read_end = "mov.u64 %lw_e, %clock64;\n";
constexpr const char* parameter = "lw_clocks";
constexpr const char* from_parameter = "ld.param.u64 %lw_p, [lw_clocks];\n";
constexpr const char* store_place =
    "mov.u32 %lw_x, %smid; add.u32 %lw_x, %lw_x, 1; cvt.u64.u32 %lw_e, %lw_x;\n"
    "st.global.u64 [%lw_p+16], %lw_e;\n";

// For exits of functions, which have no parameters of the entry and not its registers: the entry
// leaves the buffer's address in a variable, and its first clock in the slot, when it begins.
constexpr const char* variable = "lw_clocks_address";
constexpr const char* from_variable = "ld.global.u64 %lw_p, [lw_clocks_address];\n";

std::string block(const std::string& text) { return std::string("{\n") + scratch + text + "}\n"; }

std::string end_of_entry() {
    return block(std::string(read_end) + from_parameter + slot +
                 "st.global.v2.u64 [%lw_p], {%lw_c, %lw_e};\n" + store_place);
}

std::string end_in_function() {
    return block(std::string(read_end) + from_variable + slot +
                 "st.global.u64 [%lw_p+8], %lw_e;\n" + store_place);
}

std::string early_begin() {
    return block(std::string(from_parameter) + "st.global.u64 [lw_clocks_address], %lw_p;\n" +
                 slot + "st.global.u64 [%lw_p], %lw_c;\n");
}

// Lanes whose guard is false are not at their end.
std::string before_end(const ptx::Guard& guard, uint32_t index, const std::string& end) {
    if (guard.name.empty()) return end;
    const std::string label = "lw_on_" + std::to_string(index);
    return (guard.negated ? "@" : "@!") + guard.name + " bra " + label + ";\n" + end + label +
           ":\n";
}

// A branch by which some lanes of a warp end early. They store their clocks before it, for at the
// end they would wait for the others, and go to an exit that does nothing else.
bool ends_early(const isa::Program& program, const isa::Operation& o, bool in_entry) {
    if (isa::row(o.op).flow != isa::Flow::branch || !o.guarded) return false;
    const isa::Operation& target = program.operations[o.target];
    return !target.guarded && ends_thread(target, in_entry);
}

constexpr const char* gone = "lw_gone";
constexpr const char* exit_of_gone = "bra lw_begin;\nlw_gone: exit;\nlw_begin:\n";

// Whether a thread may come to the end of the function's text.
bool falls_off(const isa::Program& program, const isa::Function& f) {
    const uint32_t last = f.end - 1;  // stands in no text
    for (uint32_t i = f.first; i < last; ++i)
        if (isa::row(program.operations[i].op).flow == isa::Flow::branch &&
            program.operations[i].target == last)
            return true;
    if (std::ranges::find(program.branch_targets, last) != program.branch_targets.end())
        return true;
    if (last == f.first) return true;
    const isa::Operation& o = program.operations[last - 1];
    return o.guarded || !(ends_thread(o, true) || isa::is_branch(o.op));
}

ptx::Variable variable_of(ptx::Space space, const char* name) {
    ptx::Variable v;
    v.space = space;
    v.type = ".u64";
    v.name = name;
    return v;
}

ptx::Module as_compiled(const ptx::Module& module, const isa::Program& program) {
    ptx::Module copy = entry_alone(module, program);
    drop_debug_information(copy);
    return copy;
}

}  // namespace

std::string plain_kernel(const ptx::Module& module, const isa::Program& program) {
    return ptx::print(as_compiled(module, program));
}

std::string clocked_kernel(const ptx::Module& module, const isa::Program& program) {
    ptx::Module copy = as_compiled(module, program);
    bool early = false;
    for (const isa::Function& f : program.functions) {
        ptx::Function& function = *find_function(copy, f.name);
        const bool is_entry = f.first == 0;
        const std::string end = is_entry ? end_of_entry() : end_in_function();
        bool has_gone = false;
        uint32_t index = f.first;
        each_instruction(function.body, [&](ptx::Instruction& i) {
            if (!ends_early(program, program.operations[index++], is_entry)) return;
            i.operands[0].text = gone;
            has_gone = true;
        });
        index = f.first;
        put_around(
            function.body,
            [&](uint32_t at, const ptx::Instruction& i) {
                const isa::Operation& o = program.operations[at];
                if (!ends_thread(o, is_entry) && !ends_early(program, o, is_entry)) return Around{};
                if (!is_entry) early = true;
                return Around{before_end(i.guard, at, end), ""};
            },
            index);
        if (is_entry && falls_off(program, f)) insert_last(function.body, end);
        if (has_gone) insert_first(function.body, exit_of_gone);
    }
    ptx::Function& entry = *find_function(copy, program.functions[0].name);
    entry.parameters.push_back(variable_of(ptx::Space::param, parameter));
    insert_first(entry.body, read_begin + (early ? early_begin() : std::string()));
    if (early) copy.items.insert(copy.items.begin(), variable_of(ptx::Space::global, variable));
    return ptx::print(copy);
}

std::vector<uint8_t> clocked_parameters(const std::vector<uint8_t>& parameters, uint64_t buffer) {
    std::vector<uint8_t> out = parameters;
    const size_t at = (out.size() + 7) / 8 * 8;
    out.resize(at + sizeof buffer);
    std::memcpy(out.data() + at, &buffer, sizeof buffer);
    return out;
}

std::vector<Clocked> clocked_slots(std::span<const uint8_t> bytes) {
    std::vector<Clocked> out(bytes.size() / slot_bytes);
    std::memcpy(out.data(), bytes.data(), out.size() * slot_bytes);
    return out;
}

}  // namespace lockwarp::gpu
