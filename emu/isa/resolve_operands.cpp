// The operands of an instruction, and everything the assembler would refuse in them.
#include <algorithm>
#include <bit>

#include "emu/isa/resolver.hpp"

namespace lockwarp::isa {

namespace {

// May a register of type `reg` stand where the instruction has type `type`? PTX manual, "Operand
// Size Exceeding Instruction-Type Size" and "Type Information for Instructions and Operands".
bool compatible(Type reg, Type type, bool relaxed) {
    if (reg == Type::pred || type == Type::pred) return reg == type;
    // Two slots: it does not stand for a narrower one.
    if (reg == Type::b128) return type == Type::b128;
    const unsigned have = bits(reg);
    const unsigned want = std::max(bits(type), 8u);
    if (relaxed ? have < want : have != want) return false;
    const Kind a = row(reg).kind;
    const Kind b = row(type).kind;
    if (a == Kind::bits || b == Kind::bits) return true;
    if (a == Kind::floating || b == Kind::floating) return reg == type;
    return true;
}

// What a register of a wmma fragment must be declared as.
Type wmma_register(Type element) {
    switch (element) {
        case Type::f16:
            return Type::f16x2;
        case Type::bf16:
            return Type::bf16x2;
        case Type::s8:
        case Type::u8:
            return Type::s32;
        case Type::s4:
        case Type::u4:
        case Type::b1:
            return Type::b32;
        default:
            return element;
    }
}

// Decodes the operands of one instruction into `o`.
struct OperandDecoder {
    Resolver& r;
    const ptx::Instruction& i;
    const Spelling& s;
    Operation& o;
    size_t vectors = 0;
    size_t addresses = 0;
    size_t scale_id = 0;  // of Operation::scale_refs
    std::vector<uint32_t> written;
    std::vector<uint32_t> read;
    bool failed = false;

    void mismatch(ptx::Place place, std::string hint = {}) {
        if (!failed)
            r.error(place, "Arguments mismatch for instruction '" + name_of(i) + "'",
                    std::move(hint));
        failed = true;
    }
    void unexpected(const ptx::Operand& p, const std::string& value, const std::string& expected) {
        if (failed) return;
        const auto at = static_cast<size_t>(&p - i.operands.data());
        r.error(p.place, "Argument " + std::to_string(at) + " of instruction '" + i.opcode +
                             "': unexpected value '" + value + "', expected to be " + expected);
        failed = true;
    }
    void unknown(ptx::Place place, const std::string& name) {
        r.error(place, "Unknown symbol '" + name + "'");
        failed = true;
    }

    Type type_of(std::string_view token) const { return operand_type(token, s.mod); }

    void push(Ref ref) { o.r[o.operands++] = ref; }

    // Instructions that write a result for nothing else.
    bool no_sink() const { return r.version < row(o.op).discard_version; }

    // A register by name, checked against a type. no_ref after an error.
    Ref named(const ptx::Operand& p, Type type, bool relaxed, bool writes) {
        const Symbol symbol = r.find(p.text);
        if (symbol.kind == SymbolKind::none) {
            unknown(p.place, p.text);
            return no_ref;
        }
        if (symbol.kind != SymbolKind::reg || p.offset != 0) {
            mismatch(p.place);
            return no_ref;
        }
        if (!compatible(symbol.type, type, relaxed)) {
            mismatch(p.place, "'" + p.text + "' is a " + std::string(row(symbol.type).name) +
                                  " register, the instruction has " + std::string(row(type).name));
            return no_ref;
        }
        (writes ? written : read).push_back(symbol.index);
        if (symbol.type == Type::b128) (writes ? written : read).push_back(symbol.index + 1);
        if (relaxed)
            (writes ? o.register_bits : o.source_bits) = static_cast<uint8_t>(bits(symbol.type));
        return r.register_ref(symbol.index);
    }

    const SpecialRow* special(std::string_view name) const {
        const auto rows = special_rows();
        const auto found = std::ranges::find(rows, name, &SpecialRow::name);
        return found == rows.end() ? nullptr : &*found;
    }

    Ref destination(const ptx::Operand& p, Type type, bool relaxed) {
        if (p.kind == ptx::OperandKind::sink && no_sink()) {
            if (!failed)
                r.error(p.place, "Result discard mode is not allowed for instruction '" + i.opcode +
                                     (row(o.op).step == StepKind::reduction ? ".red'" : "'"));
            failed = true;
        }
        if (p.kind == ptx::OperandKind::sink)
            return type == Type::pred ? scratch_predicate : scratch_register;
        if (p.kind != ptx::OperandKind::name) {
            mismatch(p.place);
            return no_ref;
        }
        return named(p, type, relaxed, true);
    }

    // A literal as the bits of `type`; PTX manual, "Constants": a decimal floating-point literal is
    // f64 and converts to the instruction's type.
    Ref literal(const ptx::Operand& p, Type type) {
        const unsigned width = std::max(bits(type), 32u);
        uint64_t value = p.bits;
        const bool is_bits = row(type).kind == Kind::bits;
        switch (p.kind) {
            case ptx::OperandKind::integer:
                if (type == Type::f32 || type == Type::f64) mismatch(p.place);
                if (bits(type) < 64) value &= (uint64_t{1} << bits(type)) - 1;
                break;
            case ptx::OperandKind::f32:
                if (type == Type::f64)
                    value = std::bit_cast<uint64_t>(
                        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value))));
                else if (type != Type::f32 && !(is_bits && width == bits(type)))
                    mismatch(p.place);
                break;
            default:
                if (type == Type::f32)
                    value =
                        std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
                else if (type != Type::f64 && type != Type::b64)
                    mismatch(p.place);
        }
        o.source_bits = static_cast<uint8_t>(width);
        return r.constant(width, value);
    }

    Ref source(const ptx::Operand& p, Type type, bool relaxed) {
        switch (p.kind) {
            case ptx::OperandKind::name: {
                const SpecialRow* row_found = special(p.text);
                if (row_found == nullptr) return named(p, type, relaxed, false);
                if ((o.op != Op::mov && o.op != Op::cvt) || is_float(type)) {
                    r.error(p.place, "Special register argument not allowed for instruction '" +
                                         i.opcode + "'");
                    failed = true;
                    return no_ref;
                }
                if (const std::string why = special_unsupported(*row_found); !why.empty()) {
                    r.error(p.place, why);
                    failed = true;
                    return no_ref;
                }
                const bool low_half = o.op == Op::mov && bits(row_found->type) == 32 &&
                                      (type == Type::b16 || type == Type::u16);
                if (!low_half && !compatible(row_found->type, type, relaxed)) mismatch(p.place);
                o.source_bits = static_cast<uint8_t>(bits(row_found->type));
                o.reads_clock = row_found->special >= Special::clock &&
                                row_found->special <= Special::globaltimer_hi;
                return r.special(*row_found);
            }
            case ptx::OperandKind::integer:
            case ptx::OperandKind::f32:
            case ptx::OperandKind::f64:
                return literal(p, type);
            default:
                mismatch(p.place);
                return no_ref;
        }
    }

    // Why there is no such special register on this target; its vector has the name.
    std::string special_unsupported(const SpecialRow& which) const {
        return unsupported(r, which.name.substr(0, which.name.find('.')), which.target, which.ptx);
    }

    // A predicate operand, "p" or "!p" or a constant; the negation goes into a slot of its own.
    Ref predicate(const ptx::Operand& p, bool& negated) {
        negated = p.kind == ptx::OperandKind::negated;
        const ptx::Operand& inner = negated ? p.items[0] : p;
        if (inner.kind == ptx::OperandKind::integer) return r.constant(1, inner.bits != 0);
        if (inner.kind != ptx::OperandKind::name) {
            mismatch(p.place);
            return no_ref;
        }
        if (const SpecialRow* row_found = special(inner.text); row_found && o.op == Op::mov) {
            if (const std::string why = special_unsupported(*row_found); !why.empty()) {
                r.error(p.place, why);
                failed = true;
            } else if (row_found->type != Type::pred) {
                mismatch(p.place);
            }
            return r.special(*row_found);
        }
        return named(inner, Type::pred, false, false);
    }

    void vector(const ptx::Operand& p, Type type, unsigned count, bool relaxed, bool writes) {
        VectorRef& v = o.vector[vectors++];
        v.first = static_cast<uint32_t>(r.program.pool.size());
        v.count = count;
        const auto one = [&](const ptx::Operand& e) {
            const Ref ref = writes ? destination(e, type, relaxed) : source(e, type, relaxed);
            r.program.pool.push_back(ref);
        };
        if (p.kind == ptx::OperandKind::vector) {
            if (p.items.size() != count) {
                if (!failed)
                    r.error(p.place,
                            "Argument vector size mismatch for instruction '" + name_of(i) + "'",
                            std::to_string(count) + " expected, " + std::to_string(p.items.size()) +
                                " given");
                failed = true;
                return;
            }
            for (const ptx::Operand& e : p.items) one(e);
            return;
        }
        const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
        if (symbol.kind == SymbolKind::reg_vector) {
            if (symbol.count != count || !compatible(symbol.type, type, relaxed)) mismatch(p.place);
            for (uint32_t k = 0; k < count && !failed; ++k) {
                (writes ? written : read).push_back(symbol.index + k);
                r.program.pool.push_back(r.register_ref(symbol.index + k));
            }
            return;
        }
        if (count != 1) {
            mismatch(p.place, "a vector of " + std::to_string(count) + " is expected");
            return;
        }
        one(p);
    }

    bool wmma() const { return row(o.op).wmma; }
    static bool no_wmma_space(ptx::Space space) {
        return space == ptx::Space::const_ || space == ptx::Space::param;
    }

    void address(const ptx::Operand& p, ptx::Space& space) {
        Address& a = o.address[addresses++];
        if (p.kind != ptx::OperandKind::address || p.items.size() != 1) {
            mismatch(p.place);
            return;
        }
        a.offset = p.offset;
        const ptx::Operand& base = p.items[0];
        if (base.kind == ptx::OperandKind::integer) {
            a.offset += static_cast<int64_t>(base.bits);
            return;
        }
        const Symbol symbol = base.kind == ptx::OperandKind::name ? r.find(base.text) : Symbol{};
        switch (symbol.kind) {
            case SymbolKind::none:
                unknown(base.place, base.text);
                break;
            case SymbolKind::reg:
                if (is_float(symbol.type) || bits(symbol.type) < 32) {
                    r.error(base.place, "Illegal to use symbol '" + base.text + "' of type " +
                                            std::string(row(symbol.type).name) +
                                            " as address operand. Use integer or bit only.");
                    failed = true;
                    break;
                }
                read.push_back(symbol.index);
                a.base = r.register_ref(symbol.index);
                a.wide = bits(symbol.type) == 64;
                break;
            case SymbolKind::variable: {
                const Placed& v = r.program.variables[symbol.index];
                a.offset += base.offset + static_cast<int64_t>(v.address);
                if (space == ptx::Space::none && !(wmma() && no_wmma_space(v.space)))
                    space = v.space;
                if (o.op == Op::st && v.space == ptx::Space::param && v.read_only && !failed) {
                    r.error(base.place,
                            "Illegal to write to function input parameter '" + base.text + "'");
                    failed = true;
                }
                if (space != v.space && !failed) {
                    r.error(
                        base.place,
                        "State space mismatch between instruction and address in instruction '" +
                            name_of(i) + "'");
                    failed = true;
                }
                if (v.in_frame) {
                    space = ptx::Space::local;
                    if (r.function != 0) a.base = r.frame_constant(32, 0);
                }
                break;
            }
            default:
                mismatch(base.place);
        }
        // In a function .param is what calls pass; only an entry has the launch's parameters.
        if (space == ptx::Space::param && r.function != 0) space = ptx::Space::local;
    }

    bool is_predicate(const ptx::Operand& p) {
        if (p.kind == ptx::OperandKind::negated) return true;
        const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
        return symbol.kind == SymbolKind::reg && symbol.type == Type::pred;
    }

    // What mov and cvta read besides registers and literals: an address in its state space.
    Ref address_constant(const ptx::Operand& p, Type type) {
        const Symbol symbol = r.find(p.text);
        if (symbol.kind == SymbolKind::function && bits(type) == 64)
            return r.constant(64, code_window + code_stride * symbol.index);
        if (symbol.kind != SymbolKind::variable) return source(p, type, false);
        if (bits(type) < 32) mismatch(p.place);
        const Placed& v = r.program.variables[symbol.index];
        const uint64_t value = v.address + static_cast<uint64_t>(p.offset);
        const unsigned width = bits(type) == 64 ? 64 : 32;
        return v.in_frame ? r.frame_constant(width, value) : r.constant(width, value);
    }

    // mov: one value, or a vector on either side that packs or unpacks it.
    void mov(const ptx::Operand& p, bool writes) {
        const Type type = s.mod.type[0];
        if (s.mod.vec > 1) {
            vectors = writes ? 0 : 1;
            if (p.kind == ptx::OperandKind::name && special(p.text + ".x") != nullptr)
                special_vector(p, type);
            else
                vector(p, type, s.mod.vec, false, writes);
            push(no_ref);
            return;
        }
        if (p.kind == ptx::OperandKind::vector) {
            const size_t count = p.items.size();
            const unsigned width = count == 0 ? 0 : bits(type) / static_cast<unsigned>(count);
            const Type element = width == 64          ? Type::b64
                                 : width == 32        ? Type::b32
                                 : type == Type::b128 ? Type::none
                                 : width == 16        ? Type::b16
                                 : width == 8         ? Type::b8
                                                      : Type::none;
            if (count < 2 || element == Type::none || row(type).kind != Kind::bits) {
                mismatch(p.place, "a vector packs the value of a .b32, .b64 or .b128 mov");
                return;
            }
            // The position tells the executor which side is the vector.
            vectors = writes ? 0 : 1;
            vector(p, element, static_cast<unsigned>(count), false, writes);
            push(no_ref);
            return;
        }
        if (writes)
            push(destination(p, type, false));
        else if (p.kind == ptx::OperandKind::name && special(p.text) == nullptr)
            push(address_constant(p, type));
        else
            push(source(p, type, false));
    }

    // "%tid" stands for {%tid.x, %tid.y, %tid.z, %tid.w}.
    void special_vector(const ptx::Operand& p, Type type) {
        if (s.mod.vec != 4) {
            mismatch(p.place, "a special register's vector has 4 elements");
            return;
        }
        ptx::Operand all;
        all.kind = ptx::OperandKind::vector;
        all.place = p.place;
        for (const char* const component : {".x", ".y", ".z", ".w"}) {
            ptx::Operand one;
            one.kind = ptx::OperandKind::name;
            one.text = p.text + component;
            one.place = p.place;
            all.items.push_back(std::move(one));
        }
        vector(all, type, 4, false, false);
    }

    void fragment_operand(const ptx::Operand& p, char which) {
        const MmaVariant& v = *s.mma;
        const Type type = which == 'd' ? v.d : which == 'a' ? v.a : which == 'b' ? v.b : v.c;
        const FragmentId id = which == 'd'   ? v.fragment_d
                              : which == 'a' ? v.fragment_a
                              : which == 'b' ? v.fragment_b
                                             : v.fragment_c;
        // The assembler asks only for the width.
        vector(p, type == Type::f64 ? Type::b64 : Type::b32, registers_of(fragment(id), type),
               false, which == 'd');
    }

    // The fragment of wmma.load or wmma.store (which: 0), or one of wmma.mma.
    void wmma_operand(const ptx::Operand& p, char which) {
        const Modifiers& m = s.mod;
        const WmmaFragment* f = s.wmma_fragment;
        Type type = m.type[0];
        if (which != 0) {
            const WmmaVariant& v = *s.wmma;
            const bool product = which == 'a' || which == 'b';
            type = which == 'd' ? v.d : which == 'c' ? v.c : v.ab;
            f = find_wmma_fragment(r.program.arch, v.m, v.n, v.k,
                                   which == 'a'   ? WmmaOperand::a
                                   : which == 'b' ? WmmaOperand::b
                                                  : WmmaOperand::accumulator,
                                   type, product && which == 'b' ? v.b_order : v.a_order);
        }
        const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
        if (p.kind != ptx::OperandKind::vector && symbol.kind != SymbolKind::reg_vector) {
            if (!failed)
                r.error(p.place,
                        "Vector expected for argument " + std::to_string(&p - i.operands.data()));
            failed = true;
            return;
        }
        vector(p, wmma_register(type), registers_of(f->part, type), false,
               row(o.op).memory == Memory::load || which == 'd');
    }

    // {byte-id, thread-id}; check_constants looks at constants.
    void scale_ids(const ptx::Operand& p) {
        if (p.kind != ptx::OperandKind::vector) {
            if (!failed)
                r.error(p.place,
                        "Vector expected for argument " + std::to_string(&p - i.operands.data()));
            failed = true;
            return;
        }
        if (p.items.size() != 2) {
            if (!failed)
                r.error(p.place, "Argument vector size mismatch for instruction '" + i.opcode + "'",
                        "{byte-id, thread-id} is expected");
            failed = true;
            return;
        }
        for (const ptx::Operand& id : p.items) {
            if (id.kind == ptx::OperandKind::name)
                o.scale_refs[scale_id] = source(id, Type::u16, false);
            else if (id.kind != ptx::OperandKind::integer)
                mismatch(id.place, "a constant or a 16-bit register is expected");
            ++scale_id;
        }
    }

    // The labels of a .branchtargets directive.
    void targets(const ptx::Operand& p) {
        const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
        if (symbol.kind != SymbolKind::targets) {
            unknown(p.place, p.text);
            return;
        }
        const ptx::Directive& table = *r.tables[symbol.index];
        o.target = static_cast<uint32_t>(r.branch_labels.size());
        o.immediate = table.operands.size();
        for (const ptx::Operand& target : table.operands) {
            const Symbol label = r.find(target.text);
            if (label.kind != SymbolKind::label) {
                unknown(target.place, target.text);
                return;
            }
            r.branch_labels.push_back(label.index);
        }
    }

    void one(std::string_view token, const ptx::Operand& p) {
        const std::string_view role = token.substr(0, token.find(':'));
        bool negated = false;
        if (role == "D") {
            push(destination(p, type_of(token), false));
        } else if (role == "S" && o.op == Op::cp_async && is_predicate(p)) {
            push(no_ref);
            push(predicate(p, negated));
            if (negated) o.negated_sources |= 2;
            if (r.version < 75 && !failed)
                r.error(p.place,
                        "Feature 'ignore-src on cp.async' requires PTX ISA .version 7.5 or later");
        } else if (role == "S") {
            push(source(p, type_of(token), false));
        } else if (role == "d" || role == "s") {
            const bool atomic = o.op == Op::atom || o.op == Op::red;
            if (o.op == Op::ld || o.op == Op::st || atomic)
                vector(p, type_of(token), s.mod.vec, !atomic, role == "d");
            else
                push(role == "d" ? destination(p, type_of(token), true)
                                 : source(p, type_of(token), true));
        } else if (role == "P") {
            push(destination(p, Type::pred, false));
        } else if (role == "PP" || role == "DP" || role == "DE") {
            const bool pair = p.kind == ptx::OperandKind::pair;
            const bool named_second = pair && p.items[1].kind != ptx::OperandKind::sink;
            if (role == "DE" && !named_second && !failed) {
                r.error(p.place, "Predicate output expected for instruction '" + i.opcode + "'");
                failed = true;
            }
            const Type first = role == "PP" ? Type::pred : type_of(token);
            push(destination(pair ? p.items[0] : p, first, false));
            push(pair ? destination(p.items[1], Type::pred, false) : scratch_predicate);
        } else if (role == "Q") {
            push(predicate(p, negated));
            if (negated) o.negated_sources |= static_cast<uint8_t>(1u << (o.operands - 1));
        } else if (role == "V" || role == "M") {
            if (o.op == Op::cvta || o.op == Op::mapa || o.op == Op::getctarank)
                push(p.kind == ptx::OperandKind::name ? address_constant(p, s.mod.type[0])
                                                      : source(p, s.mod.type[0], false));
            else
                mov(p, role == "V");
        } else if (role == "A") {
            address(p, o.mod.space);
        } else if (role == "AG" || role == "AS") {
            ptx::Space space = role == "AG" ? ptx::Space::global : ptx::Space::shared;
            address(p, space);
        } else if (role == "H") {
            source(p, Type::b64, false);
        } else if (role == "I") {
            if (p.kind != ptx::OperandKind::integer) mismatch(p.place, "a constant is expected");
            o.immediate = p.bits;
            if (token.size() > role.size() && std::to_string(p.bits) != token.substr(2))
                unexpected(p, std::to_string(p.bits), std::string(token.substr(2)));
            if (o.op == Op::alloca_ && !failed && !std::has_single_bit(p.bits)) {
                r.error(p.place, "Alignment must be a power of two");
                failed = true;
            } else if (o.op == Op::alloca_ && !failed && p.bits > uint64_t{1} << 23) {
                r.error(p.place, "Alignment value too large, exceeds 2^23");
                failed = true;
            }
        } else if (role == "X") {
            if (p.kind != ptx::OperandKind::sink && !failed) {
                r.error(p.place, "Sink '_' is expected as a destination operand for instruction '" +
                                     i.opcode + "' with '.shared::cluster'");
                failed = true;
            }
            push(scratch_register);
        } else if (role == "L") {
            const Symbol symbol = p.kind == ptx::OperandKind::name ? r.find(p.text) : Symbol{};
            if (symbol.kind == SymbolKind::label)
                r.branches.emplace_back(static_cast<uint32_t>(r.program.operations.size()),
                                        symbol.index);
            else
                unknown(p.place, p.text);
        } else if (role == "T") {
            targets(p);
        } else if (role == "G") {
            const bool braced = p.kind == ptx::OperandKind::vector && p.items.size() == 1;
            const ptx::Operand& factors = braced ? p.items[0] : p;
            if (factors.kind == ptx::OperandKind::name)
                push(source(factors, Type::b32, false));
            else
                mismatch(p.place, "a register is expected");
        } else if (role == "K") {
            scale_ids(p);
        } else if (role == "N") {
            vector(p, Type::b32, s.mod.matrices, false, row(o.op).memory == Memory::load);
        } else if (role[0] == 'W') {
            wmma_operand(p, role.size() > 1 ? role[1] : '\0');
        } else {
            fragment_operand(p, role[1]);
        }
    }

    // How many operands of a pattern must be there. The last one of an instruction with
    // .L2::cache_hint is the policy.
    static size_t required(std::string_view rest, bool cache_hint) {
        size_t count = 0;
        while (!rest.empty()) {
            const size_t space = std::min(rest.find(' '), rest.size());
            const std::string_view token = rest.substr(0, space);
            rest.remove_prefix(std::min(space + 1, rest.size()));
            count += token == "H" ? cache_hint : !token.starts_with('{');
        }
        return count;
    }

    // What the row leaves to be looked at once all operands are there.
    void finish() {
        // The wait of a cluster of one CTA.
        if (o.op == Op::bar && o.operands == 0) push(r.constant(32, 0));
        if (!failed) failed = !check_constants(r, i, o);
        const bool counted = (o.op == Op::mbarrier_arrive || o.op == Op::mbarrier_drop) &&
                             o.operands == 2 && !o.mod.no_complete && !o.mod.expect;
        if (!counted || failed) return;
        const std::string feature = i.opcode + i.modifiers[0].text +
                                    " with count argument and without '.noComplete' modifier";
        const std::string why = unsupported(r, "Feature '" + feature + "'", 90, 78);
        if (!why.empty()) r.error(i.place, why);
    }

    void all() {
        if (row(s.form->op).flow == Flow::call) {
            decode_call(r, i, o, read);
            return;
        }
        std::string_view rest = s.form->operands;
        size_t given = 0;
        const bool cache_hint = std::ranges::find(i.modifiers, ".L2::cache_hint",
                                                  &ptx::Modifier::text) != i.modifiers.end();
        while (!rest.empty()) {
            const size_t space = rest.find(' ');
            std::string_view token = rest.substr(0, space);
            rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
            const bool optional = token.starts_with('{');
            if (optional) token = token.substr(1, token.size() - 2);
            if (token == "H" && !cache_hint) continue;
            // An optional operand is left out where those behind it take all that is left.
            const size_t left = i.operands.size() - given;
            if (optional && left <= required(rest, cache_hint)) continue;
            if (left == 0) {
                mismatch(i.place, "operands: " + std::string(s.form->operands));
                return;
            }
            one(token, i.operands[given++]);
        }
        if (given < i.operands.size()) mismatch(i.operands[given].place, "too many operands");
    }
};

}  // namespace

void Resolver::decode(const ptx::Instruction& instruction) {
    Spelling& s = spellings.try_emplace(spelled(instruction)).first->second;
    if (s.uses++ == 0) s = spell(*this, instruction), s.uses = 1;
    if (!s.error.empty()) {
        if (!s.reported) {
            s.reported = true;
            s.diagnostic = diagnostics.size();
            error(s.wrong_modifier < 0
                      ? instruction.place
                      : instruction.modifiers[static_cast<size_t>(s.wrong_modifier)].place,
                  s.error, s.hint);
        } else {
            diagnostics[s.diagnostic].hint = s.hint + (s.hint.empty() ? "" : "; ") + "occurs " +
                                             std::to_string(s.uses) + " times, first here";
        }
        return;
    }
    Operation o;
    o.op = s.form->op;
    o.mod = s.mod;
    o.mma = s.mma;
    o.wmma = s.wmma;
    o.wmma_fragment = s.wmma_fragment;
    o.place = instruction.place;
    OperandDecoder decoder{*this, instruction, s, o, 0, 0, 0, {}, {}, false};
    if (!instruction.guard.name.empty()) {
        ptx::Operand guard;
        guard.kind = ptx::OperandKind::name;
        guard.text = instruction.guard.name;
        guard.place = instruction.guard.place;
        o.guarded = true;
        o.guard_negated = instruction.guard.negated;
        o.guard = decoder.named(guard, Type::pred, false, false);
    }
    decoder.all();
    decoder.finish();
    if (uses_carry(o) && program.carry == no_ref) program.carry = allocate(1);
    o.aligned_barrier =
        row(o.op).flow == Flow::wait && (instruction.opcode == "bar" || o.mod.aligned);
    if (row(o.op).flow == Flow::branch && !o.guarded) o.mod.uniform = true;
    o.first_use = static_cast<uint32_t>(program.uses.size());
    o.written = static_cast<uint16_t>(decoder.written.size());
    o.read = static_cast<uint16_t>(decoder.read.size());
    program.uses.insert(program.uses.end(), decoder.written.begin(), decoder.written.end());
    program.uses.insert(program.uses.end(), decoder.read.begin(), decoder.read.end());
    program.operations.push_back(o);
}

}  // namespace lockwarp::isa
