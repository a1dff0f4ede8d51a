// SPDX-License-Identifier: Apache-2.0
#include "gpu/trace.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/num/digest.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/instrument.hpp"

namespace lockwarp::gpu {

namespace {

using isa::Type;

// Half of a register of 128 bits, into %lw_v.
std::string half_of(const isa::Register& reg) {
    return std::string("mov.b128 {") + (reg.half == 1 ? "%lw_v, _" : "_, %lw_v") + "}, " +
           reg.name + ";\n";
}

// One word of a record from a register; `at`: "[%lw_d+768], ". The buffer was zeros before.
std::string store_word(const isa::Register& reg, const std::string& at) {
    if (reg.half != 0) return half_of(reg) + "st.global.u64 " + at + "%lw_v;\n";
    if (reg.type == Type::pred)
        return "selp.u32 %lw_e, 1, 0, " + reg.name + "; st.global.u32 " + at + "%lw_e;\n";
    return "st.global.b" + std::to_string(isa::bits(reg.type)) + " " + at + reg.name + ";\n";
}

constexpr uint64_t word_stride = 8 * 32;

constexpr const char* store_digest = "@%lw_q st.global.v2.b32 [%lw_p], {%lw_h, %lw_k};\n";

// The instruction may write its own guard: the copy says which lanes ran it.
std::string copied_guard(const ptx::Instruction& i) {
    if (i.guard.name.empty()) return {};
    return std::string(i.guard.negated ? "not.pred" : "mov.pred") + " %lw_g, " + i.guard.name +
           ";\n";
}

// Leaves the records. Those of instructions that stand one behind another, without a guard or a
// branch between them, are a segment: one look at the window for all of them, and one step of the
// thread's place. Stores have no guard, which NVIDIA's compiler would take many times as long for:
// what lies outside of the window goes to a sink.
class Recorder {
  public:
    Recorder(const isa::Program& program, const Traced& traced, const Orders& orders)
        : program_(program), traced_(traced), orders_(orders) {}

    Around record(uint32_t index, const ptx::Instruction& i) {
        const isa::Operation& o = program_.operations[index];
        Around r;
        const isa::Flow flow = isa::row(o.op).flow;
        if (flow != isa::Flow::next && flow != isa::Flow::wait) r.before = end_segment();
        if (!traced_[index]) return r;
        const Ordered ordered = orders_.empty() ? Ordered::none : orders_[index];
        const bool guarded = !i.guard.name.empty();
        const uint64_t words = record_words(o, ordered);
        if (guarded || words_ + words > max_segment_words) r.before += end_segment();
        const std::string guard = guarded ? "@%lw_g " : "";
        r.before += copied_guard(i);
        if (ordered == Ordered::change) {
            r.before += before_change(program_, o, guard);
            r.after = after_change(guard);
        }
        if (ordered == Ordered::result) r.after = after_result(guard);
        if (words_ == 0) r.after += begin_segment(guarded);
        const auto at = [&](uint64_t word) {
            return "[%lw_d+" + std::to_string((words_ + word) * word_stride) + "], ";
        };
        r.after += "st.global.u32 " + at(0) + std::to_string(index + 1) + ";\n";
        for (uint32_t w = 0; w < o.written; ++w)
            r.after += store_word(program_.registers[program_.uses[o.first_use + w]], at(w + 1));
        if (ordered == Ordered::change)
            r.after += stored_change(program_, o, words_ + 1u + o.written);
        if (ordered == Ordered::result) r.after += stored_result(words_ + 1u + o.written);
        words_ += words;
        longest_ = std::max(longest_, words_);
        if (guarded) r.after += end_segment(guard);
        return r;
    }

    std::string end_segment(const std::string& guard = {}) {
        if (words_ == 0) return {};
        const uint64_t bytes = std::exchange(words_, 0) * word_stride;
        return guard + "add.u64 %lw_p, %lw_p, " + std::to_string(bytes) + ";\n";
    }

    uint64_t longest() const { return longest_; }

  private:
    // More does not make compiling faster.
    static constexpr uint64_t max_segment_words = 64;

    static std::string begin_segment(bool guarded) {
        return std::string("sub.u64 %lw_v, %lw_p, %lw_b; setp.lt.u64 %lw_q, %lw_v, %lw_n;\n") +
               (guarded ? "and.pred %lw_q, %lw_q, %lw_g;\n" : "") +
               "selp.b64 %lw_d, %lw_p, %lw_z, %lw_q;\n";
    }

    const isa::Program& program_;
    const Traced& traced_;
    const Orders& orders_;
    uint64_t words_ = 0;  // of the segment's records so far
    uint64_t longest_ = 0;
};

// Mixes one 32-bit word, in %lw_x, into the thread's digest (emu/num/digest.hpp).
std::string mix(const std::string& guard, uint32_t salt) {
    const auto state = [&](const char* h, size_t which) {
        return guard + "xor.b32 " + h + ", " + h + ", %lw_x;\n" + guard + "mul.lo.u32 " + h + ", " +
               h + ", " + std::to_string(num::digest_multiplier[which]) + ";\n" + guard +
               "shr.u32 %lw_y, " + h + ", " + std::to_string(num::digest_shift[which]) + ";\n" +
               guard + "xor.b32 " + h + ", " + h + ", %lw_y;\n";
    };
    return "xor.b32 %lw_x, %lw_x, " + std::to_string(salt) + ";\n" + state("%lw_h", 0) +
           "shf.l.wrap.b32 %lw_x, %lw_x, %lw_x, " + std::to_string(num::digest_turn) + ";\n" +
           state("%lw_k", 1);
}

// Mixes what an instruction wrote into the digest; before a thread ends, stores it.
Around digest_of(const isa::Program& program, const Traced& traced, uint32_t index,
                 const ptx::Instruction& i) {
    const isa::Operation& o = program.operations[index];
    Around r;
    const std::string guard = i.guard.name.empty() ? "" : "@%lw_g ";
    const bool in_entry = index < program.functions[0].end;
    if (ends_thread(o, in_entry)) {
        r.before = copied_guard(i) + "setp.ne.u64 %lw_q, %lw_n, 0;\n";
        if (!guard.empty()) r.before += "and.pred %lw_q, %lw_q, %lw_g;\n";
        r.before += store_digest;
        return r;
    }
    if (!traced[index]) return r;
    r.before = copied_guard(i);
    uint32_t word = 0;
    const auto put = [&](const std::string& text) {
        r.after += text + mix(guard, num::digest_salt(index + 1, word++));
    };
    for (uint32_t w = 0; w < o.written; ++w) {
        const isa::Register& reg = program.registers[program.uses[o.first_use + w]];
        const unsigned width = isa::bits(reg.type);
        if (reg.type == Type::pred) {
            put("selp.u32 %lw_x, 1, 0, " + reg.name + ";\n");
        } else if (width == 64) {
            const std::string from = reg.half == 0 ? reg.name : "%lw_v";
            put((reg.half == 0 ? "" : half_of(reg)) + "mov.b64 {%lw_x, %lw_z}, " + from + ";\n");
            put("mov.b64 {%lw_z, %lw_x}, " + from + ";\n");
        } else if (width == 32) {
            put("mov.b32 %lw_x, " + reg.name + ";\n");
        } else if (width == 8) {
            put("cvt.u32.u8 %lw_x, " + reg.name + ";\n");
        } else {
            put("mov.b32 %lw_x, {" + reg.name + ", %lw_o};\n");
        }
    }
    return r;
}

// %lw_p: where this thread's next record goes; %lw_b, %lw_n: begin and bytes of the part of its
// track that is stored. Threads of CTAs that are not watched get no bytes. The window's first word
// is subtracted from the place, so that earlier records fall outside.
constexpr const char* prologue = R"(
.reg .b64 %lw_p, %lw_b, %lw_n, %lw_v, %lw_w;
.reg .b32 %lw_t, %lw_u, %lw_l;
.reg .pred %lw_q, %lw_g;
mov.u32 %lw_t, %tid.z; mov.u32 %lw_u, %ntid.y; mov.u32 %lw_l, %tid.y;
mad.lo.u32 %lw_t, %lw_t, %lw_u, %lw_l;
mov.u32 %lw_u, %ntid.x; mov.u32 %lw_l, %tid.x;
mad.lo.u32 %lw_t, %lw_t, %lw_u, %lw_l;
and.b32 %lw_l, %lw_t, 31;
shr.u32 %lw_t, %lw_t, 5;
cvt.u64.u32 %lw_p, %lw_l; shl.b64 %lw_p, %lw_p, 3;
mov.u32 %lw_l, %ctaid.z; mov.u32 %lw_u, %nctaid.y;
mul.wide.u32 %lw_v, %lw_l, %lw_u;
mov.u32 %lw_l, %ctaid.y; cvt.u64.u32 %lw_w, %lw_l; add.u64 %lw_v, %lw_v, %lw_w;
mov.u32 %lw_l, %nctaid.x; cvt.u64.u32 %lw_w, %lw_l; mul.lo.u64 %lw_v, %lw_v, %lw_w;
mov.u32 %lw_l, %ctaid.x; cvt.u64.u32 %lw_w, %lw_l; add.u64 %lw_v, %lw_v, %lw_w;
ld.param.u64 %lw_w, [lw_first_cta]; sub.u64 %lw_v, %lw_v, %lw_w;
ld.param.u64 %lw_w, [lw_ctas]; setp.ge.u64 %lw_g, %lw_v, %lw_w;
mov.u32 %lw_l, %ntid.x; mov.u32 %lw_u, %ntid.y; mul.lo.u32 %lw_l, %lw_l, %lw_u;
mov.u32 %lw_u, %ntid.z; mul.lo.u32 %lw_l, %lw_l, %lw_u;
add.u32 %lw_l, %lw_l, 31; shr.u32 %lw_l, %lw_l, 5; cvt.u64.u32 %lw_w, %lw_l;
mul.lo.u64 %lw_v, %lw_v, %lw_w;
cvt.u64.u32 %lw_w, %lw_t; add.u64 %lw_v, %lw_v, %lw_w;
ld.param.u64 %lw_w, [lw_track]; mul.lo.u64 %lw_v, %lw_v, %lw_w; add.u64 %lw_p, %lw_p, %lw_v;
ld.param.u64 %lw_w, [lw_buffer]; add.u64 %lw_p, %lw_p, %lw_w;
mov.u64 %lw_b, %lw_p;
ld.param.u64 %lw_n, [lw_window];
selp.u64 %lw_n, 0, %lw_n, %lw_g;
ld.param.u64 %lw_w, [lw_skip]; sub.u64 %lw_p, %lw_p, %lw_w;
)";

// Of a kernel that leaves records. %lw_z: this thread's sink. A segment that begins up to its
// length before the window may reach into it.
constexpr const char* sink_prologue = R"(
mov.u32 %lw_u, %ctaid.x; add.u32 %lw_t, %lw_t, %lw_u; and.b32 %lw_t, %lw_t, 63;
cvt.u64.u32 %lw_v, %lw_t; ld.param.u64 %lw_w, [lw_longest];
sub.u64 %lw_b, %lw_b, %lw_w; mul.lo.u64 %lw_v, %lw_v, %lw_w;
mov.u32 %lw_l, %laneid; mul.wide.u32 %lw_w, %lw_l, 8; add.u64 %lw_v, %lw_v, %lw_w;
ld.param.u64 %lw_w, [lw_sink]; add.u64 %lw_z, %lw_v, %lw_w;
)";
constexpr uint64_t sinks = 64;
constexpr const char* record_registers = ".reg .b64 %lw_d, %lw_z; .reg .b32 %lw_e;\n";

constexpr auto parameter_names =
    std::to_array<const char*>({"lw_buffer", "lw_first_cta", "lw_ctas", "lw_track", "lw_window",
                                "lw_skip", "lw_longest", "lw_sink"});

}  // namespace

std::vector<const ptx::Instruction*> instructions_of(const ptx::Module& module,
                                                     const isa::Program& program) {
    std::vector<const ptx::Instruction*> out(program.operations.size(), nullptr);
    for (const isa::Function& f : program.functions) {
        size_t at = f.first;
        each_instruction(find_function(module, f.name)->body, [&](const ptx::Instruction& i) {
            if (at < f.end) out[at++] = &i;
        });
    }
    return out;
}

Traced choose_traced(const isa::Program& program, const std::vector<std::string>& opcodes,
                     const ptx::Module& module) {
    Traced traced(program.operations.size(), false);
    const std::vector<const ptx::Instruction*> all = instructions_of(module, program);
    for (size_t i = 0; i < all.size(); ++i)
        traced[i] =
            all[i] != nullptr && program.operations[i].written != 0 &&
            (opcodes.empty() || std::ranges::find(opcodes, all[i]->opcode) != opcodes.end());
    return traced;
}

uint64_t slack_of(const TracedKernel& kernel, const TraceWindow& window) {
    return window.first == 0 ? kernel.longest : 2 * kernel.longest;
}

uint64_t bytes_before(const TracedKernel& kernel) {
    return (kernel.tickets ? ticket_bytes : 0) + sinks * kernel.longest * word_stride;
}

std::vector<uint8_t> trace_parameters(const std::vector<uint8_t>& parameters, uint64_t buffer,
                                      const TraceWindow& window, const TracedKernel& kernel) {
    std::vector<uint8_t> out = parameters;
    out.resize((out.size() + 7) / 8 * 8);
    const uint64_t longest = kernel.longest * word_stride;
    const std::array<uint64_t, parameter_names.size()> values{
        buffer,
        window.first_cta,
        window.ctas,
        (window.words + slack_of(kernel, window)) * word_stride,
        window.words * word_stride + longest,
        window.first * word_stride,
        longest,
        buffer - sinks * longest};
    for (const uint64_t v : values) {
        const size_t at = out.size();
        out.resize(at + sizeof v);
        std::memcpy(out.data() + at, &v, sizeof v);
    }
    return out;
}

uint64_t trace_bytes(const TraceWindow& window, uint64_t slack, uint64_t warps) {
    return window.ctas * warps * (window.words + slack) * word_stride;
}

ptx::Module with_explicit_rounding(ptx::Module module) {
    constexpr auto opcodes = std::to_array<std::string_view>({"add", "sub", "mul", "mad"});
    constexpr auto types =
        std::to_array<std::string_view>({".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64"});
    constexpr auto roundings = std::to_array<std::string_view>({".rn", ".rz", ".rm", ".rp"});
    drop_debug_information(module);
    for (auto& item : module.items) {
        auto* f = std::get_if<ptx::Function>(&item);
        if (f == nullptr) continue;
        each_instruction(f->body, [&](ptx::Instruction& i) {
            const auto has = [&](const auto& names) {
                return std::ranges::any_of(i.modifiers, [&](const ptx::Modifier& m) {
                    return std::ranges::find(names, m.text) != names.end();
                });
            };
            if (std::ranges::find(opcodes, i.opcode) == opcodes.end() || !has(types) ||
                has(roundings))
                return;
            i.modifiers.insert(i.modifiers.begin(), ptx::Modifier{".rn", i.place});
        });
    }
    return module;
}

namespace {

// The trace's registers that functions change, and those that they only read. A thread keeps them
// in its local memory, at the generic address %lw_s, while it goes from one function to another.
struct Carried {
    const char* reg;
    const char* type;
    unsigned offset;
    bool changes;
    enum class Of : uint8_t { all, digests, records, orders } of;
};

constexpr auto carried = std::to_array<Carried>({
    {"%lw_p", "b64", 0, true, Carried::Of::all},
    {"%lw_b", "b64", 8, false, Carried::Of::all},
    {"%lw_n", "b64", 16, false, Carried::Of::all},
    {"%lw_h", "b32", 24, true, Carried::Of::digests},
    {"%lw_k", "b32", 28, true, Carried::Of::digests},
    {"%lw_z", "b64", 24, false, Carried::Of::records},
    {"%lw_c", "b64", 32, false, Carried::Of::orders},
});
constexpr const char* memory_bytes = "80";  // for either parity of the lane

// Not the same in all lanes, so that NVIDIA's compiler does not carry it in a uniform register from
// function to function (ptxas 13.0 for sm_90 did): lanes may be apart there, whatever nvcc's
// `call.uni` says.
constexpr const char* state_address =
    "mov.u64 %lw_s, lw_memory; cvta.local.u64 %lw_s, %lw_s;\n"
    "mov.u32 %lw_l, %laneid; and.b32 %lw_l, %lw_l, 1; mad.wide.u32 %lw_s, %lw_l, 40, %lw_s;\n";

constexpr const char* state_parameter = "lw_state";
constexpr const char* state_argument = "lw_argument";

// What an instrumented kernel keeps: a digest, or records.
struct Keeps {
    bool digest = false;
    bool order = false;
};

bool is_kept(const Carried& c, Keeps keeps, bool all) {
    if (!all && !c.changes) return false;
    switch (c.of) {
        case Carried::Of::all:
            return true;
        case Carried::Of::digests:
            return keeps.digest;
        case Carried::Of::records:
            return !keeps.digest;
        case Carried::Of::orders:
            return keeps.order;
    }
    return false;
}

std::string store_state(Keeps keeps, bool all) {
    std::string out;
    for (const Carried& c : carried)
        if (is_kept(c, keeps, all))
            out += std::string("st.") + c.type + " [%lw_s+" + std::to_string(c.offset) + "], " +
                   c.reg + ";\n";
    return out;
}

std::string load_state(Keeps keeps, bool all) {
    std::string out;
    for (const Carried& c : carried)
        if (is_kept(c, keeps, all))
            out += std::string("ld.") + c.type + " " + c.reg + ", [%lw_s+" +
                   std::to_string(c.offset) + "];\n";
    return out;
}

constexpr const char* digest_registers =
    ".reg .b32 %lw_h, %lw_k, %lw_x, %lw_y, %lw_z; .reg .b16 %lw_o;\n";

ptx::Operand name_operand(const char* name) {
    ptx::Operand p;
    p.kind = ptx::OperandKind::name;
    p.text = name;
    return p;
}

ptx::Variable state_variable(const char* name) {
    ptx::Variable v;
    v.space = ptx::Space::param;
    v.type = ".b64";
    v.name = name;
    return v;
}

bool calls_function(const isa::Program& program, const isa::Operation& o) {
    return isa::row(o.op).flow == isa::Flow::call &&
           program.calls[o.target].system == isa::System::none;
}

// Gives the call one argument more: where the thread's state is.
void add_argument(ptx::Instruction& call) {
    auto target = call.operands.begin();
    if (target->kind == ptx::OperandKind::list) ++target;
    auto arguments = std::ranges::find(target + 1, call.operands.end(), ptx::OperandKind::list,
                                       &ptx::Operand::kind);
    if (arguments == call.operands.end()) {
        ptx::Operand list;
        list.kind = ptx::OperandKind::list;
        arguments = call.operands.insert(target + 1, std::move(list));
    }
    arguments->items.push_back(name_operand(state_argument));
}

// The function that a name stands for (".alias name, function;").
std::string_view aliasee(const ptx::Module& module, std::string_view name) {
    for (const auto& item : module.items)
        if (const auto* d = std::get_if<ptx::Directive>(&item);
            d && d->name == ".alias" && d->operands[0].text == name)
            return d->operands[1].text;
    return name;
}

// Prototypes have that parameter too.
void add_to_prototypes(ptx::Block& block) {
    for (ptx::Statement& s : block.body) {
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) add_to_prototypes(*inner);
        if (auto* d = std::get_if<ptx::Directive>(&s.node); d && d->name == ".callprototype") {
            d->parameters.push_back(state_variable("_"));
            d->operands[2].items.push_back(name_operand("_"));
        }
    }
}

// The module with an entry that runs `begin` first and has the trace's parameters. Functions that
// the entry may call are instrumented as it is.
std::string instrumented(const ptx::Module& module, const isa::Program& program,
                         const Instrument& instrument, const Edge& edge, const std::string& begin,
                         const std::string& end, Keeps keeps) {
    // The calls of other entries would not fit any more.
    ptx::Module copy = entry_alone(module, program);
    const bool has_functions = program.functions.size() > 1;
    const std::string argument = std::string(".param .b64 ") + state_argument + ";\n";
    for (const isa::Function& f : program.functions) {
        ptx::Function& function = *find_function(copy, f.name);
        const bool is_entry = f.first == 0;
        uint32_t index = f.first;
        each_instruction(function.body, [&](ptx::Instruction& i) {
            if (calls_function(program, program.operations[index++])) add_argument(i);
        });
        add_to_prototypes(function.body);
        const Instrument around = [&](uint32_t at, const ptx::Instruction& i) {
            Around r = instrument(at, i);
            const isa::Operation& o = program.operations[at];
            // What it writes is there once it has been waited for.
            if (isa::row(o.op).matrix == isa::Matrix::warpgroup && !r.after.empty()) {
                r.before += "wgmma.fence.sync.aligned;\n";
                r.after =
                    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n" + r.after;
            }
            if (calls_function(program, o)) {
                r.before +=
                    store_state(keeps, false) + "st.param.b64 [" + state_argument + "], %lw_s;\n";
                r.after += load_state(keeps, false);
            }
            if (isa::row(o.op).flow == isa::Flow::ret && !is_entry)
                r.before += store_state(keeps, false);
            return r;
        };
        index = f.first;
        put_around(function.body, around, index, edge);
        gather_parameter_stores(function.body);
        if (is_entry) {
            std::string first = begin;
            if (has_functions)
                first += std::string(".reg .b64 %lw_s; .local .align 8 .b8 lw_memory[") +
                         memory_bytes + "];\n" + argument + state_address +
                         store_state(keeps, true);
            insert_first(function.body, first);
            insert_last(function.body, end);
            for (const char* parameter : parameter_names) {
                function.parameters.push_back(state_variable(parameter));
                function.parameters.back().type = ".u64";
            }
            continue;
        }
        insert_first(function.body, std::string(".reg .b64 %lw_p, %lw_b, %lw_n, %lw_v, %lw_s;\n"
                                                ".reg .pred %lw_q, %lw_g;\n") +
                                        (keeps.digest ? digest_registers : record_registers) +
                                        (keeps.order ? order_declarations : "") + argument +
                                        "ld.param.b64 %lw_s, [" + state_parameter + "];\n" +
                                        load_state(keeps, true) +
                                        (keeps.digest ? "mov.b16 %lw_o, 0;\n" : ""));
        insert_last(function.body, store_state(keeps, false));
    }
    // Declarations too, and those of aliases.
    for (auto& item : copy.items)
        if (auto* f = std::get_if<ptx::Function>(&item); f && !f->is_entry)
            for (size_t i = 1; i < program.functions.size(); ++i)
                if (aliasee(module, f->name) == program.functions[i].name)
                    f->parameters.push_back(state_variable(state_parameter));
    return ptx::print(copy);
}

}  // namespace

TracedKernel trace_kernel(const ptx::Module& module, const isa::Program& program,
                          const Traced& traced, const Orders& orders) {
    TracedKernel out;
    out.tickets = !orders.empty();
    ptx::Module copy = module;
    for (const isa::Function& f : program.functions) {
        uint32_t index = f.first;
        each_instruction(find_function(copy, f.name)->body, [&](ptx::Instruction& i) {
            if (!orders.empty() && orders[index] == Ordered::change)
                with_old_values(i, program.operations[index]);
            ++index;
        });
    }
    Recorder recorder(program, traced, orders);
    out.ptx = instrumented(
        copy, program,
        [&](uint32_t index, const ptx::Instruction& i) { return recorder.record(index, i); },
        [&] { return recorder.end_segment(); },
        std::string(prologue) + record_registers + sink_prologue +
            (out.tickets ? std::string(order_declarations) + order_prologue : ""),
        "", {.order = out.tickets});
    out.longest = recorder.longest();
    return out;
}

std::string digest_kernel(const ptx::Module& module, const isa::Program& program,
                          const Traced& traced) {
    return instrumented(module, program,
                        [&](uint32_t index, const ptx::Instruction& i) {
                            return digest_of(program, traced, index, i);
                        },
                        {},
                        std::string(prologue) + digest_registers +
                            "mov.b32 %lw_h, 0; mov.b32 %lw_k, 0; mov.b16 %lw_o, 0;\n",
                        std::string("setp.ne.u64 %lw_q, %lw_n, 0;\n") + store_digest,
                        {.digest = true});
}

}  // namespace lockwarp::gpu
