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

// Lanes whose guard is false go on behind it.
Around before_end(const ptx::Instruction& i, uint32_t index, const std::string& end) {
    if (i.guard.name.empty()) return {end, ""};
    const std::string label = "lw_on_" + std::to_string(index);
    return {(i.guard.negated ? "@" : "@!") + i.guard.name + " bra " + label + ";\n" + end,
            label + ":\n"};
}

// Whether a thread that comes to the instruction ends: by itself, or by a branch to the end. The
// latter may leave lanes of its warp behind, and must not wait for them there.
bool ends(const isa::Program& program, uint32_t at, bool in_entry) {
    const isa::Operation& o = program.operations[at];
    if (o.op == isa::Op::bra)
        return !program.operations[o.target].guarded &&
               program.operations[o.target].op != isa::Op::bra && ends(program, o.target, in_entry);
    return o.op == isa::Op::exit || (o.op == isa::Op::ret && in_entry);
}

void become_exit(ptx::Instruction& i) {
    i.opcode = "exit";
    i.modifiers.clear();
    i.operands.clear();
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
    std::erase_if(copy.target, [](const ptx::Modifier& t) { return t.text == "debug"; });
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
        const Instrument around = [&](uint32_t at, const ptx::Instruction& i) {
            if (!ends(program, at, is_entry)) return Around{};
            if (!is_entry) early = true;
            return before_end(i, at, end);
        };
        uint32_t index = f.first;
        each_instruction(function.body, [&](ptx::Instruction& i) {
            const uint32_t at = index++;
            if (program.operations[at].op == isa::Op::bra && ends(program, at, is_entry))
                become_exit(i);
        });
        index = f.first;
        put_around(function.body, around, index);
        if (is_entry) insert_last(function.body, end);
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
