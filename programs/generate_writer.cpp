// SPDX-License-Identifier: Apache-2.0
#include "programs/generate_writer.hpp"

namespace lockwarp::programs {

std::string Writer::destination(unsigned width) {
    std::string name = fresh(width);
    // Under a guard some lanes keep what was there before, which must be the same everywhere.
    if (!guard.empty()) {
        const std::string zero =
            width == 1 ? "mov.pred " + name + ", 0"
                       : "mov.b" + std::to_string(std::max(width, 16u)) + " " + name + ", 0";
        before += "    " + zero + ";\n";
    }
    written.emplace_back(width, name);
    return name;
}

std::string Writer::load(Holds holds, Type type, unsigned width, unsigned held) {
    thread_bytes = (thread_bytes + width / 8 - 1) / (width / 8) * (width / 8);
    loads.push_back({holds, type, held, from, thread_bytes, width});
    const std::string name = fresh(width);
    before += "    ld.global.b" + std::to_string(width) + " " + name + ", [%qin+" +
              std::to_string(thread_bytes) + "];\n";
    thread_bytes += width / 8;
    if (holds == Holds::operand || holds == Holds::fragment) pool(width).push_back(name);
    return name;
}

std::string Writer::source(Holds holds, Type type, unsigned width, unsigned held) {
    const std::vector<std::string>& known = pool(width);
    if (!known.empty() && r.one_in(3)) return known[r.below(known.size())];
    return load(holds, type, width, held);
}

std::string Writer::predicate() {
    if (!predicates.empty() && !r.one_in(4)) return predicates[r.below(predicates.size())];
    const std::string name = fresh(1);
    const std::string value = load(Type::u32);
    before += "    setp.lt.s32 " + name + ", " + value + ", 0;\n";
    predicates.push_back(name);
    return name;
}

std::string Writer::operand_text(const isa::OperandSlot& slot, Type type) {
    const unsigned width = register_width(type);
    switch (slot.slot) {
        case isa::Slot::destination:
        case isa::Slot::wide_destination:
        case isa::Slot::packed_destination:
            return destination(width);
        case isa::Slot::source:
        case isa::Slot::wide_source:
        case isa::Slot::packed_source:
            return source(type);
        case isa::Slot::predicate_written:
            return destination(1);
        case isa::Slot::value_pair: {
            const std::string first = destination(width);
            return first + "|" + destination(1);
        }
        case isa::Slot::predicate_or_pair:
        case isa::Slot::value_or_pair: {
            const bool value = slot.slot == isa::Slot::value_or_pair;
            const std::string first = destination(value ? width : 1);
            return r.one_in(2) ? first : first + "|" + destination(1);
        }
        case isa::Slot::predicate_read:
            return (r.one_in(3) ? "!" : "") + predicate();
        case isa::Slot::constant:
            return std::to_string(r.below(256));
        default:  // not of instructions on values
            return "?";
    }
}

void Writer::scalar(const Choice& choice) {
    const isa::Form& f = *choice.form;
    const isa::Modifiers m = decoded(choice.spelling);
    version = std::max({version, f.ptx, f.also_ptx});
    suffix = std::max(suffix, isa::row(f.op).suffix);
    if (isa::row(f.op).reads_carry) {
        const std::string a = source(Type::u32);
        const std::string b = source(Type::u32);
        before += "    add.cc.u32 " + fresh(32) + ", " + a + ", " + b + ";\n";
    }
    std::string text = choice.spelling;
    if (isa::row(f.op).elements != 0) {
        const VideoOperands v = video_operands(f, m, r.below(uint64_t{1} << 32));
        const std::string a = v.sign[0] + source(Type::u32) + v.select[1];
        const std::string b = v.sign[1] + source(Type::u32) + v.select[2];
        const std::string c = v.third ? ", " + v.sign[2] + source(Type::u32) : "";
        return emit(text + " " + destination(32) + v.select[0] + ", " + a + ", " + b + c);
    }
    for (size_t index = 0; index < f.slots.size(); ++index) {
        const isa::OperandSlot& slot = f.slots[index];
        if (slot.optional) continue;
        const bool mask = needs_the_warp(f.op) && index + 1 == f.slots.size() &&
                          slot.slot == isa::Slot::source && slot.named == Type::u32;
        text += index == 0 ? " " : ", ";
        text += f.op == Op::shfl && index == 2          ? std::to_string(r.below(32))
                : f.op == Op::shfl && index == 3        ? control()
                : mask                                  ? "0xffffffff"
                : index == 2 && converts_amount(choice) ? load(Type::u32)
                                                        : operand_text(slot, isa::type_of(slot, m));
    }
    emit(text);
}

void Writer::emit(const std::string& text) {
    body += before;
    before.clear();
    line(text);
    publish();
}

std::string Writer::module() const {
    std::string out = module_version(options.arch, version) + ".target " +
                      target_of(options.arch, suffix) +
                      "\n.address_size 64\n.visible .entry k(.param .u64 in" +
                      (tensors.empty() ? "" : ", .param .u64 maps, .param .u64 tensors") + ")\n{\n";
    const std::string n = "<" + std::to_string(registers + 1) + ">";
    out += "    .reg .b16 %h" + n + "; .reg .b32 %r" + n + "; .reg .b64 %q" + n +
           "; .reg .pred %p" + n + ";\n";
    out += "    .reg .b32 %rsm, %rlane, %rw; .reg .b64 %qin, %qt;\n";
    out += "    .shared .align 1024 .b8 sm[" + std::to_string(1024 * options.warps) + "];\n";
    out +=
        "    ld.param.u64 %qin, [in]; mov.u32 %rw, %ctaid.x; mov.u32 %rlane, %ntid.x;\n"
        "    mul.lo.u32 %rw, %rw, %rlane; mov.u32 %rlane, %tid.x; add.u32 %rw, %rw, %rlane;\n";
    out +=
        "    mul.wide.u32 %qt, %rw, " + std::to_string(stride()) + "; add.u64 %qin, %qin, %qt;\n";
    out +=
        "    shr.u32 %rw, %rlane, 5; mov.u32 %rsm, sm; mad.lo.u32 %rsm, %rw, 1024, %rsm;\n"
        "    mov.u32 %rlane, %laneid;\n";
    // The warp's kilobyte: 32 bytes a lane, values that differ.
    out += "    mad.lo.u32 %rw, %rlane, 32, %rsm;\n";
    for (int i = 0; i < 8; ++i)
        out += "    mad.lo.u32 %r0, %rw, " +
               std::to_string(2654435761u + static_cast<uint32_t>(i) * 40503u) +
               ", %rlane; st.shared.b32 [%rw+" + std::to_string(4 * i) + "], %r0;\n";
    out += "    bar.warp.sync 0xffffffff;\n";
    // A CTA's shared memory is there until its peers have done with it.
    const std::string end =
        in_cluster ? "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"
                   : "";
    return out + copies_setup() + body + end + "    ret;\n}\n";
}

}  // namespace lockwarp::programs
