// SPDX-License-Identifier: Apache-2.0
#include "gpu/instrument.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "emu/ptx/parser.hpp"

namespace lockwarp::gpu {

bool ends_thread(const isa::Operation& o, bool in_entry) {
    const isa::Flow flow = isa::row(o.op).flow;
    return flow == isa::Flow::exit || (flow == isa::Flow::ret && in_entry);
}

std::vector<ptx::Statement> statements(const std::string& text) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_70\n.address_size 64\n.entry k()\n{\n" + text + "\n}\n");
    return std::move(std::get<ptx::Function>(parsed.module.items[0]).body.body);
}

void put_around(ptx::Block& block, const Instrument& instrument, uint32_t& index,
                const Edge& edge) {
    std::vector<ptx::Statement> out;
    const auto put = [&](const std::string& text) {
        if (!text.empty()) std::ranges::move(statements(text), std::back_inserter(out));
    };
    for (ptx::Statement& s : block.body) {
        auto* const inner = std::get_if<ptx::Block>(&s.node);
        if (edge && (inner != nullptr || std::holds_alternative<ptx::Label>(s.node))) put(edge());
        if (inner != nullptr) put_around(*inner, instrument, index, edge);
        const auto* i = std::get_if<ptx::Instruction>(&s.node);
        const Around around = i == nullptr ? Around{} : instrument(index++, *i);
        put(around.before);
        out.push_back(std::move(s));
        put(around.after);
    }
    if (edge) put(edge());
    block.body = std::move(out);
}

namespace {

void collect_names(const ptx::Operand& operand, std::vector<std::string>& out) {
    // Without a component: "%v.x" is a part of what "%v" names.
    if (operand.kind == ptx::OperandKind::name)
        out.push_back(operand.text.substr(0, operand.text.find('.')));
    for (const ptx::Operand& item : operand.items) collect_names(item, out);
}

bool is_parameter_store(const ptx::Instruction& i) {
    return i.opcode == "st" && !i.modifiers.empty() && i.modifiers[0].text.starts_with(".param");
}

// The instructions that a parameter store cannot pass, beside those that change its source.
bool leaves(const ptx::Instruction& i) {
    constexpr auto opcodes =
        std::to_array<std::string_view>({"bra", "brx", "call", "ret", "exit", "trap"});
    return std::ranges::find(opcodes, i.opcode) != opcodes.end();
}

// What an instruction may write is among its first operand's names.
bool may_write(const ptx::Instruction& i, const std::vector<std::string>& registers) {
    if (i.operands.empty()) return false;
    std::vector<std::string> names;
    collect_names(i.operands[0], names);
    return std::ranges::any_of(names, [&](const std::string& name) {
        return std::ranges::find(registers, name) != registers.end();
    });
}

}  // namespace

void gather_parameter_stores(ptx::Block& block) {
    std::vector<ptx::Statement> out;
    std::vector<ptx::Statement> held;    // stores on their way down
    std::vector<std::string> registers;  // that they read
    const auto put_held = [&] {
        std::ranges::move(held, std::back_inserter(out));
        held.clear();
        registers.clear();
    };
    for (ptx::Statement& s : block.body) {
        const auto* const i = std::get_if<ptx::Instruction>(&s.node);
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) gather_parameter_stores(*inner);
        if (i != nullptr && is_parameter_store(*i)) {
            registers.push_back(i->guard.name);
            for (const ptx::Operand& operand : i->operands) collect_names(operand, registers);
            held.push_back(std::move(s));
            continue;
        }
        const bool passes = i != nullptr ? !leaves(*i) && !may_write(*i, registers)
                                         : std::holds_alternative<ptx::Variable>(s.node) ||
                                               std::holds_alternative<ptx::Directive>(s.node);
        if (!passes) put_held();
        out.push_back(std::move(s));
    }
    put_held();
    block.body = std::move(out);
}

void insert_first(ptx::Block& block, const std::string& text) {
    std::vector<ptx::Statement> first = statements(text);
    block.body.insert(block.body.begin(), std::make_move_iterator(first.begin()),
                      std::make_move_iterator(first.end()));
}

void insert_last(ptx::Block& block, const std::string& text) {
    for (ptx::Statement& s : statements(text)) block.body.push_back(std::move(s));
}

namespace {

void drop_lines(ptx::Block& block) {
    std::erase_if(block.body, [](ptx::Statement& s) {
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) drop_lines(*inner);
        const auto* const d = std::get_if<ptx::Directive>(&s.node);
        return d != nullptr && d->name == ".loc";
    });
}

}  // namespace

void drop_debug_information(ptx::Module& module) {
    constexpr auto names = std::to_array<std::string_view>({".loc", ".file", ".section"});
    std::erase_if(module.target, [](const ptx::Modifier& t) { return t.text == "debug"; });
    std::erase_if(module.items, [&](const auto& item) {
        const auto* const d = std::get_if<ptx::Directive>(&item);
        return d != nullptr && std::ranges::find(names, d->name) != names.end();
    });
    for (auto& item : module.items)
        if (auto* f = std::get_if<ptx::Function>(&item)) drop_lines(f->body);
}

ptx::Module entry_alone(const ptx::Module& module, const isa::Program& program) {
    ptx::Module copy = module;
    std::erase_if(copy.items, [&](const auto& item) {
        const auto* f = std::get_if<ptx::Function>(&item);
        return f != nullptr && find_function(module, f->name) != nullptr &&
               std::ranges::find(program.functions, f->name, &isa::Function::name) ==
                   program.functions.end();
    });
    return copy;
}

}  // namespace lockwarp::gpu
