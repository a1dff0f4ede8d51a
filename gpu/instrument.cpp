#include "gpu/instrument.hpp"

#include <algorithm>
#include <iterator>

#include "emu/ptx/parser.hpp"

namespace lockwarp::gpu {

std::vector<ptx::Statement> statements(const std::string& text) {
    ptx::Parsed parsed = ptx::parse(
        ".version 7.0\n.target sm_70\n.address_size 64\n.entry k()\n{\n" + text + "\n}\n");
    return std::move(std::get<ptx::Function>(parsed.module.items[0]).body.body);
}

void put_around(ptx::Block& block, const Instrument& instrument, uint32_t& index) {
    std::vector<ptx::Statement> out;
    for (ptx::Statement& s : block.body) {
        if (auto* inner = std::get_if<ptx::Block>(&s.node)) {
            put_around(*inner, instrument, index);
            out.push_back(std::move(s));
            continue;
        }
        const auto* i = std::get_if<ptx::Instruction>(&s.node);
        const Around around = i == nullptr ? Around{} : instrument(index++, *i);
        if (!around.before.empty())
            for (ptx::Statement& b : statements(around.before)) out.push_back(std::move(b));
        out.push_back(std::move(s));
        if (!around.after.empty())
            for (ptx::Statement& a : statements(around.after)) out.push_back(std::move(a));
    }
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
