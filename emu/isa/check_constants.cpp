// Constants among an instruction's operands that the assembler looks at.
#include <bit>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

bool check_constants(Resolver& r, const ptx::Instruction& i, Operation& o) {
    bool good = true;
    const auto refuse = [&](const ptx::Operand& p, std::string message) {
        if (good) r.error(p.place, std::move(message));
        good = false;
    };
    const auto unexpected = [&](size_t n, uint64_t value, const std::string& expected) {
        refuse(i.operands[n], "Argument " + std::to_string(n) + " of instruction '" + i.opcode +
                                  "': unexpected value '" + std::to_string(value) +
                                  "', expected to be " + expected);
    };
    const auto constant = [&](size_t n) -> const ptx::Operand* {
        const bool is = n < i.operands.size() && (i.operands[n].kind == ptx::OperandKind::integer ||
                                                  i.operands[n].kind == ptx::OperandKind::f32 ||
                                                  i.operands[n].kind == ptx::OperandKind::f64);
        return is ? &i.operands[n] : nullptr;
    };
    switch (o.op) {
        case Op::bar:
        case Op::bar_red: {
            const size_t first = o.op == Op::bar_red ? 1 : 0;
            const ptx::Operand* const id = constant(first);
            const bool counted = o.operands > 2 * first + 1;
            const ptx::Operand* const count = counted ? constant(first + 1) : nullptr;
            if (id != nullptr && id->bits > 15)
                refuse(*id, "Barrier number '" + std::to_string(id->bits) +
                                "' out of range, expected to be in range [0..15]");
            if (count != nullptr && count->bits % 32 != 0)
                refuse(*count,
                       "Number of threads participating in barrier must be in multiple of "
                       "warp size");
            if (count == nullptr || count->bits != 0) break;
            if (o.mod.arrive)
                refuse(*count, "Instruction '" + i.opcode +
                                   ".arrive' requires a non-zero thread count argument");
            // 0 stands for all threads.
            for (size_t n = first + 1; n + 1 < o.operands; ++n) o.r[n] = o.r[n + 1];
            o.r[--o.operands] = no_ref;
            o.negated_sources = static_cast<uint8_t>(o.negated_sources >> first);
            break;
        }
        case Op::mma: {
            if (!o.mod.sparse) break;
            // The assembler counts fragments and the rest of the operands apart. It lets 2 and 3
            // pass for f16 operands with k of 32 and an f32 result; what they would mean is nowhere
            // said.
            const uint64_t most = 4 / metadata_lanes(*o.mma) - 1;
            if (o.immediate <= most) break;
            const auto value = static_cast<int64_t>(o.immediate);
            if (bits(o.mma->a) == 8 && is_float(o.mma->a))
                unexpected(5, static_cast<uint32_t>(value), "0");
            else
                refuse(i.operands[5], "Argument 6 of instruction 'Sparse mma': value '" +
                                          std::to_string(value) +
                                          "' out of range, expected to be in range [0.." +
                                          std::to_string(most) + "]");
            break;
        }
        case Op::mbarrier_wait:
            if (const ptx::Operand* p = constant(2); p && o.mod.parity && p->bits > 1)
                unexpected(2, p->bits, "0 or 1");
            break;
        case Op::cp_async: {
            const bool global = i.modifiers[1].text == ".cg";
            const uint64_t size = o.immediate;
            if (size != 16 && (global || (size != 4 && size != 8)))
                unexpected(2, size, global ? "16" : "4 or 8 or 16");
            if (const ptx::Operand* p = constant(3); p && p->bits > size)
                refuse(*p, "Argument 3 of instruction 'cp.async': value '" +
                               std::to_string(p->bits) +
                               "' out of range, expected to be in range [0.." +
                               std::to_string(size) + "]");
            break;
        }
        case Op::policy_fraction:
            if (const ptx::Operand* p = constant(1)) {
                double share = std::bit_cast<double>(p->bits);
                if (p->kind == ptx::OperandKind::f32)
                    share =
                        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(p->bits)));
                if (!(share > 0 && share <= 1))
                    refuse(*p, "Argument 2 of instruction 'createpolicy.fractional': value '" +
                                   std::to_string(share) +
                                   "' out of range, expected to be in range (0.000000 .. "
                                   "1.000000]");
            }
            break;
        case Op::policy_range:
            if (const ptx::Operand* a = constant(2), *b = constant(3); a && b && a->bits > b->bits)
                refuse(*a, "Argument 3 of instruction 'createpolicy.range': value '" +
                               std::to_string(a->bits) +
                               "' must be less than or equal to the value '" +
                               std::to_string(b->bits) + "' of argument 4");
            break;
        case Op::hint:
            if (const uint64_t most = i.modifiers.empty() ? 15 : 65535;
                i.opcode == "pmevent" && o.immediate > most)
                refuse(i.operands[0], "Argument 0 of instruction 'pmevent': value '" +
                                          std::to_string(o.immediate) +
                                          "' out of range, expected to be in range [0.." +
                                          std::to_string(most) + "]");
            break;
        default:
            break;
    }
    return good;
}

}  // namespace lockwarp::isa
