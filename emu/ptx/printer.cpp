// SPDX-License-Identifier: Apache-2.0
#include "emu/ptx/printer.hpp"

#include <limits>
#include <string_view>

namespace lockwarp::ptx {
namespace {

void append_hex(std::string& out, uint64_t bits, int digits) {
    for (int i = digits - 1; i >= 0; --i) out += "0123456789ABCDEF"[bits >> (4 * i) & 15];
}

void append_offset(std::string& out, int64_t offset) {
    if (offset == 0) return;
    // The form "a+-4" is the only one for a negative offset that NVIDIA's assembler reads.
    out += '+';
    out += std::to_string(offset);
}

void append_integer(std::string& out, uint64_t bits, bool is_unsigned) {
    const auto value = static_cast<int64_t>(bits);
    if (is_unsigned) {
        out += std::to_string(bits);
        out += 'U';
    } else if (value == std::numeric_limits<int64_t>::min()) {
        // No literal of type .s64 has this value's magnitude.
        out += "(.s64)9223372036854775808";
    } else {
        out += std::to_string(value);
    }
}

template <typename Item, typename Append>
void append_joined(std::string& out, const std::vector<Item>& items, Append append) {
    bool is_first = true;
    for (const Item& item : items) {
        if (!is_first) out += ", ";
        is_first = false;
        append(item);
    }
}

void append_operand(std::string& out, const Operand& operand);

void append_operands(std::string& out, const std::vector<Operand>& operands) {
    append_joined(out, operands, [&](const Operand& item) { append_operand(out, item); });
}

void append_address(std::string& out, const Operand& operand) {
    out += '[';
    bool is_base = true;
    for (const Operand& item : operand.items) {
        if (!is_base) out += ", ";
        append_operand(out, item);
        if (is_base) append_offset(out, operand.offset);
        is_base = false;
    }
    out += ']';
}

void append_operand(std::string& out, const Operand& operand) {
    switch (operand.kind) {
        case OperandKind::name:
            out += operand.text;
            append_offset(out, operand.offset);
            break;
        case OperandKind::integer:
            append_integer(out, operand.bits, operand.is_unsigned);
            break;
        case OperandKind::f32:
            out += "0f";
            append_hex(out, operand.bits, 8);
            break;
        case OperandKind::f64:
            out += "0d";
            append_hex(out, operand.bits, 16);
            break;
        case OperandKind::address:
            append_address(out, operand);
            break;
        case OperandKind::vector:
            out += '{';
            append_operands(out, operand.items);
            out += '}';
            break;
        case OperandKind::list:
            out += '(';
            append_operands(out, operand.items);
            out += ')';
            break;
        case OperandKind::pair:
            append_operand(out, operand.items[0]);
            out += '|';
            append_operand(out, operand.items[1]);
            break;
        case OperandKind::negated:
            out += '!';
            append_operand(out, operand.items[0]);
            break;
        case OperandKind::minus:
            out += '-';
            append_operand(out, operand.items[0]);
            break;
        case OperandKind::element:
            out += operand.text;  // parse() leaves none
            break;
        case OperandKind::sink:
            out += '_';
            break;
    }
}

void append_instruction(std::string& out, const Instruction& instruction) {
    if (!instruction.guard.name.empty()) {
        out += instruction.guard.negated ? "@!" : "@";
        out += instruction.guard.name;
        out += ' ';
    }
    out += instruction.opcode;
    for (const Modifier& modifier : instruction.modifiers) out += modifier.text;
    if (!instruction.operands.empty()) out += ' ';
    append_operands(out, instruction.operands);
    out += ';';
}

std::string_view space_text(Space space) {
    switch (space) {
        case Space::none:
            return "";
        case Space::reg:
            return ".reg";
        case Space::sreg:
            return ".sreg";
        case Space::const_:
            return ".const";
        case Space::global:
            return ".global";
        case Space::local:
            return ".local";
        case Space::param:
            return ".param";
        case Space::shared:
            return ".shared";
        case Space::tex:
            return ".tex";
    }
    return "";
}

std::string_view linking_text(Linking linking) {
    switch (linking) {
        case Linking::none:
            return "";
        case Linking::extern_:
            return ".extern ";
        case Linking::visible:
            return ".visible ";
        case Linking::weak:
            return ".weak ";
        case Linking::common:
            return ".common ";
    }
    return "";
}

void append_initializer(std::string& out, const Initializer& initializer) {
    if (!initializer.field.empty()) {
        out += initializer.field;
        out += " = ";
    }
    switch (initializer.kind) {
        case InitializerKind::list:
            out += '{';
            append_joined(out, initializer.items,
                          [&](const Initializer& item) { append_initializer(out, item); });
            out += '}';
            break;
        case InitializerKind::bytes:
            out += '{';
            for (size_t i = 0; i < initializer.text.size(); ++i) {
                if (i != 0) out += ", ";
                out += std::to_string(static_cast<unsigned char>(initializer.text[i]));
            }
            out += '}';
            break;
        // The type of an initial value is not in the tree, so that its sign does not matter.
        case InitializerKind::integer:
            out += std::to_string(static_cast<int64_t>(initializer.bits));
            break;
        case InitializerKind::f32:
            out += "0f";
            append_hex(out, initializer.bits, 8);
            break;
        case InitializerKind::f64:
            out += "0d";
            append_hex(out, initializer.bits, 16);
            break;
        case InitializerKind::address:
            if (initializer.mask != 0) {
                out += "0x";
                append_hex(out, initializer.mask, 16);
                out += '(';
            }
            if (initializer.generic) out += "generic(";
            out += initializer.text;
            if (initializer.generic) out += ')';
            append_offset(out, initializer.offset);
            if (initializer.mask != 0) out += ')';
            break;
    }
}

// A declaration without its ';', or a parameter.
void append_variable(std::string& out, const Variable& variable) {
    out += linking_text(variable.linking);
    out += space_text(variable.space);
    if (!variable.attributes.empty()) {
        out += " .attribute(";
        append_joined(out, variable.attributes, [&](const Modifier& item) { out += item.text; });
        out += ')';
    }
    if (variable.alignment != 0) out += " .align " + std::to_string(variable.alignment);
    if (variable.vector != 1) out += " .v" + std::to_string(variable.vector);
    out += ' ';
    out += variable.type;
    if (variable.is_pointer) {
        out += " .ptr";
        if (variable.pointer_space != Space::none) {
            out += ' ';
            out += space_text(variable.pointer_space);
        }
        if (variable.pointer_alignment != 0)
            out += " .align " + std::to_string(variable.pointer_alignment);
    }
    out += ' ';
    out += variable.name;
    if (variable.range != 0) out += '<' + std::to_string(variable.range) + '>';
    for (const uint64_t size : variable.dims)
        out += size == 0 ? "[]" : '[' + std::to_string(size) + ']';
    if (!variable.initializer.empty()) {
        out += " = ";
        append_initializer(out, variable.initializer.front());
    }
}

void append_parameters(std::string& out, const std::vector<Variable>& parameters, size_t first,
                       size_t last) {
    out += '(';
    for (size_t i = first; i < last; ++i) {
        if (i != first) out += ", ";
        append_variable(out, parameters[i]);
    }
    out += ')';
}

void append_prototype(std::string& out, const Directive& directive) {
    out += ' ';
    append_parameters(out, directive.parameters, 0, directive.result_count);
    out += ' ';
    append_operand(out, directive.operands[1]);
    out += ' ';
    append_parameters(out, directive.parameters, directive.result_count,
                      directive.parameters.size());
    for (size_t i = 3; i < directive.operands.size(); ++i) {
        out += ' ';
        append_operand(out, directive.operands[i]);
    }
    out += ';';
}

// .file and .loc separate only some operands by commas, and have no ';'.
void append_spaced(std::string& out, const Directive& directive, size_t first_comma,
                   size_t second_comma) {
    for (size_t i = 0; i < directive.operands.size(); ++i) {
        out += i == first_comma || i == second_comma ? ", " : " ";
        append_operand(out, directive.operands[i]);
    }
}

void append_directive(std::string& out, const Directive& directive) {
    if (!directive.label.empty()) out += directive.label + ": ";
    out += directive.name;
    if (directive.name == ".callprototype") return append_prototype(out, directive);
    if (directive.name == ".file") return append_spaced(out, directive, 2, 3);
    if (directive.name == ".loc") return append_spaced(out, directive, 3, 5);
    if (directive.name == ".section") {
        for (const Operand& part : directive.operands) out += ' ' + part.text;
        return;
    }
    if (!directive.operands.empty()) out += ' ';
    append_operands(out, directive.operands);
    out += ';';
}

void append_line_start(std::string& out, int depth) {
    out.append(static_cast<size_t>(depth) * 4, ' ');
}

void append_block(std::string& out, const Block& block, int depth) {
    append_line_start(out, depth);
    out += "{\n";
    for (const Statement& statement : block.body) {
        if (const auto* inner = std::get_if<Block>(&statement.node)) {
            append_block(out, *inner, depth + 1);
            continue;
        }
        if (const auto* label = std::get_if<Label>(&statement.node)) {
            append_line_start(out, depth);
            out += label->name + ":\n";
            continue;
        }
        append_line_start(out, depth + 1);
        if (const auto* instruction = std::get_if<Instruction>(&statement.node)) {
            append_instruction(out, *instruction);
        } else if (const auto* variable = std::get_if<Variable>(&statement.node)) {
            append_variable(out, *variable);
            out += ';';
        } else {
            append_directive(out, std::get<Directive>(statement.node));
        }
        out += '\n';
    }
    append_line_start(out, depth);
    out += "}\n";
}

// A directive behind the parameters of a function: without ';', except .pragma.
void append_function_directive(std::string& out, const Directive& directive) {
    if (directive.name == ".attribute") return;
    out += '\n' + directive.name;
    if (!directive.operands.empty()) out += ' ';
    append_operands(out, directive.operands);
    if (directive.name == ".pragma") out += ';';
}

void append_function(std::string& out, const Function& function) {
    out += linking_text(function.linking);
    out += function.is_entry ? ".entry" : ".func";
    for (const Directive& directive : function.directives) {
        if (directive.name != ".attribute") continue;
        out += " .attribute(";
        append_operands(out, directive.operands);
        out += ')';
    }
    if (!function.results.empty()) {
        out += ' ';
        append_parameters(out, function.results, 0, function.results.size());
    }
    out += ' ';
    out += function.name;
    append_parameters(out, function.parameters, 0, function.parameters.size());
    for (const Directive& directive : function.directives)
        append_function_directive(out, directive);
    if (function.noreturn) out += "\n.noreturn";
    if (!function.has_body) {
        out += ";\n";
        return;
    }
    out += '\n';
    append_block(out, function.body, 0);
}

}  // namespace

std::string print(const Instruction& instruction) {
    std::string out;
    append_instruction(out, instruction);
    return out;
}

std::string print(const Module& module) {
    std::string out = ".version " + std::to_string(module.version_major) + '.' +
                      std::to_string(module.version_minor) + "\n.target ";
    append_joined(out, module.target, [&](const Modifier& item) { out += item.text; });
    out += "\n.address_size " + std::to_string(module.address_size) + '\n';
    for (const auto& item : module.items) {
        out += '\n';
        if (const auto* function = std::get_if<Function>(&item)) {
            append_function(out, *function);
        } else if (const auto* variable = std::get_if<Variable>(&item)) {
            append_variable(out, *variable);
            out += ";\n";
        } else {
            append_directive(out, std::get<Directive>(item));
            out += '\n';
        }
    }
    return out;
}

}  // namespace lockwarp::ptx
