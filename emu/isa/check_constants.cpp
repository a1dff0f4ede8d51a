// SPDX-License-Identifier: Apache-2.0
// Constants among an instruction's operands that the assembler looks at.
#include <bit>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

std::string unexpected_value(size_t n, std::string_view instruction, uint64_t value,
                             std::string_view expected) {
    return "Argument " + std::to_string(n) + " of instruction '" + std::string(instruction) +
           "': unexpected value '" + std::to_string(value) + "', expected to be " +
           std::string(expected);
}

// Of mma the assembler prints the value with a sign, an int64_t.
template <class T>
std::string out_of_range(size_t n, std::string_view instruction, T value, uint64_t most) {
    return "Argument " + std::to_string(n) + " of instruction '" + std::string(instruction) +
           "': value '" + std::to_string(value) + "' out of range, expected to be in range [0.." +
           std::to_string(most) + "]";
}

// How the assembler calls a sparse mma where it speaks of its constants.
std::string_view product_name(const MmaVariant& v) {
    const bool packed = v.kind == MmaKind::mxf4 || v.kind == MmaKind::mxf4nvf4;
    const bool sparse = v.sparse && (packed || !is_float(v.a) || bits(v.a) >= 16);
    return sparse ? "Sparse mma" : "mma";
}

// The selector of metadata; empty: it is right. The assembler counts fragments and the rest of the
// operands apart, in one form. It lets 2 and 3 pass for f16 operands with k of 32 and an f32
// result; what they would mean is nowhere said.
std::string selector_refusal(const Operation& o) {
    const MmaVariant& v = *o.mma;
    const uint64_t most = 4 / metadata_lanes(v) - 1;
    if (o.immediate <= most) return {};
    if (is_float(v.a) && bits(v.a) <= 8)
        return unexpected_value(5, product_name(v), static_cast<uint32_t>(o.immediate), "0");
    return out_of_range(6, product_name(v), static_cast<int64_t>(o.immediate), most);
}

// Operand `n`, {byte-id, thread-id} of the factors of A or of B; empty: it is right.
std::string scale_refusal(const MmaVariant& v, bool of_a, size_t n, const ptx::Operand& ids) {
    // What a register holds is seen when it is read.
    const auto value = [&](size_t at) {
        return ids.items[at].kind == ptx::OperandKind::integer ? ids.items[at].bits : 0;
    };
    const uint64_t byte = value(0);
    const uint64_t thread = value(1);
    const uint64_t max_byte = 4u - v.scales;
    if (v.scales == 1 && byte > max_byte)
        return out_of_range(n, product_name(v), static_cast<int64_t>(byte), max_byte);
    if (byte > max_byte || byte % v.scales != 0)
        return unexpected_value(n, product_name(v), byte, v.scales == 2 ? "0 or 2" : "0");
    const uint64_t max_thread = of_a ? 1 : 3;
    return thread <= max_thread
               ? ""
               : out_of_range(n, product_name(v), static_cast<int64_t>(thread), max_thread);
}

// Looks at the constants of one instruction.
struct ConstantChecks {
    Resolver& r;
    const ptx::Instruction& i;
    Operation& o;
    bool good = true;

    void refuse(const ptx::Operand& p, std::string message) {
        if (good) r.error(p.place, std::move(message));
        good = false;
    }

    void unexpected(size_t n, uint64_t value, std::string_view expected) {
        refuse(i.operands[n], unexpected_value(n, i.opcode, value, expected));
    }

    // Operand `n` where it is a literal.
    const ptx::Operand* constant(size_t n) const {
        const bool is = n < i.operands.size() && (i.operands[n].kind == ptx::OperandKind::integer ||
                                                  i.operands[n].kind == ptx::OperandKind::f32 ||
                                                  i.operands[n].kind == ptx::OperandKind::f64);
        return is ? &i.operands[n] : nullptr;
    }

    void barrier(size_t first) {
        const ptx::Operand* const id = constant(first);
        const bool counted = o.operands > 2 * first + 1;
        const ptx::Operand* const count = counted ? constant(first + 1) : nullptr;
        if (id != nullptr && id->bits > 15)
            refuse(*id, "Barrier number '" + std::to_string(id->bits) +
                            "' out of range, expected to be in range [0..15]");
        if (count != nullptr && count->bits % 32 != 0)
            refuse(*count,
                   "Number of threads participating in barrier must be in multiple of warp size");
        if (count == nullptr || count->bits != 0) return;
        if (o.mod.arrive)
            refuse(*count, "Instruction '" + i.opcode +
                               ".arrive' requires a non-zero thread count argument");
        // 0 stands for all threads.
        for (size_t n = first + 1; n + 1 < o.operands; ++n) o.r[n] = o.r[n + 1];
        o.r[--o.operands] = no_ref;
        o.negated_sources = static_cast<uint8_t>(o.negated_sources >> first);
    }

    void mma() {
        if (o.mod.sparse)
            if (std::string why = selector_refusal(o); !why.empty())
                refuse(i.operands[5], std::move(why));
        for (size_t n = 0; n < 2 && o.mma->scales != 0; ++n) {
            const size_t at = (o.mod.sparse ? 7 : 5) + 2 * n;
            const std::vector<ptx::Operand>& ids = i.operands[at].items;
            std::string why = scale_refusal(*o.mma, n == 0, at, i.operands[at]);
            if (!why.empty()) refuse(i.operands[at], std::move(why));
            o.scale_ids[2 * n] = static_cast<uint8_t>(ids[0].bits);
            o.scale_ids[2 * n + 1] = static_cast<uint8_t>(ids[1].bits);
        }
    }

    void copy() {
        const bool global = i.modifiers[1].text == ".cg";
        const uint64_t size = o.immediate;
        if (size != 16 && (global || (size != 4 && size != 8)))
            unexpected(2, size, global ? "16" : "4 or 8 or 16");
        if (const ptx::Operand* p = constant(3); p && p->bits > size)
            refuse(*p, out_of_range(3, "cp.async", p->bits, size));
    }

    // The size of a bulk copy, operand `n`.
    void bulk_size(size_t n) {
        constexpr uint64_t most = 1048560;
        const ptx::Operand* const p = constant(n);
        if (p == nullptr) return;
        const auto size = static_cast<int64_t>(p->bits);
        if (size % 16 != 0)
            refuse(*p, unexpected_value(n, name_of(i), p->bits, "multiple of 16"));
        else if (p->bits > most)
            refuse(*p, out_of_range(n, name_of(i), size, most));
    }

    void registers() {
        const auto count = static_cast<int64_t>(o.immediate);
        const std::string words = "Argument 1 of instruction '" + name_of(i) + "': ";
        const std::string value = "value '" + std::to_string(count) + "'";
        if (count % 8 != 0)
            refuse(i.operands[0], words + "unexpected " + value + ", expected to be multiple of 8");
        else if (count < 24 || count > 256)
            refuse(i.operands[0],
                   words + value + " out of range, expected to be in range [24..256]");
    }

    // Operand 1 of tensormap.replace where it is a constant.
    void map_field() {
        struct Range {
            TensormapField field;
            std::string_view name;
            uint64_t most;
        };
        constexpr auto ranges = std::to_array<Range>({
            {TensormapField::box_dim, "box_dim", 4},
            {TensormapField::global_dim, "global_dim", 4},
            {TensormapField::global_stride, "global_stride", 4},
            {TensormapField::element_stride, "element_stride", 4},
            {TensormapField::elemtype, "elemtype", 12},
            {TensormapField::interleave_layout, "interleave_layout", 2},
            {TensormapField::swizzle_mode, "swizzle_mode", 3},
            {TensormapField::fill_mode, "fill_mode", 1},
        });
        for (const Range& range : ranges)
            if (range.field == o.mod.field && o.immediate > range.most)
                refuse(i.operands[1], "Argument 1 of instruction 'tensormap.replace': value '" +
                                          std::to_string(static_cast<int64_t>(o.immediate)) +
                                          "' expected to be in range [0.." +
                                          std::to_string(range.most) + "] when ." +
                                          std::string(range.name) + " modifier is used.");
    }

    // The selector of a sparse wgmma's metadata.
    void warpgroup_selector() {
        const WarpgroupTypes& t = *o.warpgroup->types;
        const uint64_t most = bits(t.a) > 8 ? 1 : 0;
        if (!o.mod.sparse || o.immediate <= most) return;
        refuse(i.operands[4], "Argument 4 of instruction '" + name_of(t, true) +
                                  "': unexpected value '" +
                                  std::to_string(static_cast<int64_t>(o.immediate)) +
                                  "', expected to be " + (most == 1 ? "0 or 1" : "0"));
    }

    void fraction() {
        const ptx::Operand* p = constant(1);
        if (p == nullptr) return;
        double share = std::bit_cast<double>(p->bits);
        if (p->kind == ptx::OperandKind::f32)
            share = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(p->bits)));
        if (!(share > 0 && share <= 1))
            refuse(*p, "Argument 2 of instruction 'createpolicy.fractional': value '" +
                           std::to_string(share) +
                           "' out of range, expected to be in range (0.000000 .. 1.000000]");
    }

    void range() {
        if (const ptx::Operand* a = constant(2), *b = constant(3); a && b && a->bits > b->bits)
            refuse(*a, "Argument 3 of instruction 'createpolicy.range': value '" +
                           std::to_string(a->bits) + "' must be less than or equal to the value '" +
                           std::to_string(b->bits) + "' of argument 4");
    }

    void event() {
        const uint64_t most = i.modifiers.empty() ? 15 : 65535;
        if (i.opcode == "pmevent" && o.immediate > most)
            refuse(i.operands[0], out_of_range(0, "pmevent", o.immediate, most));
    }

    void all() {
        switch (o.op) {
            case Op::bar:
                return barrier(0);
            case Op::bar_red:
                return barrier(1);
            case Op::mma:
                return mma();
            case Op::mbarrier_wait:
                if (const ptx::Operand* p = constant(2); p && o.mod.parity && p->bits > 1)
                    unexpected(2, p->bits, "0 or 1");
                return;
            case Op::cp_async:
                return copy();
            case Op::bulk_load:
            case Op::bulk_send:
            case Op::bulk_store:
            case Op::bulk_reduce:
            case Op::bulk_send_reduce:
                return bulk_size(2);
            case Op::bulk_prefetch:
                return bulk_size(1);
            case Op::set_max_registers:
                return registers();
            case Op::tensormap_replace:
                return map_field();
            case Op::wgmma_mma:
                return warpgroup_selector();
            case Op::wgmma_wait:
                if (static_cast<int64_t>(o.immediate) < 0)
                    refuse(i.operands[0],
                           "Argument 0 of instruction 'wgmma.wait_group': unexpected value '" +
                               std::to_string(static_cast<int64_t>(o.immediate)) +
                               "', expected to be non-negative integer");
                return;
            case Op::policy_fraction:
                return fraction();
            case Op::policy_range:
                return range();
            case Op::hint:
                return event();
            default:
                return;
        }
    }
};

}  // namespace

bool check_constants(Resolver& r, const ptx::Instruction& i, Operation& o) {
    ConstantChecks checks{r, i, o};
    checks.all();
    return checks.good;
}

}  // namespace lockwarp::isa
