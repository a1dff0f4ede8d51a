// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "emu/timing/machine.hpp"
#include "lanes/formula.hpp"
#include "lanes/instruction.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"
#include "python/core/names.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

nb::dict operand_object(const lanes::Operand& o) {
    nb::dict d;
    d["name"] = o.name;
    d["type"] = std::string(isa::row(o.type).name.substr(isa::row(o.type).name.empty() ? 0 : 1));
    d["rows"] = o.rows;
    d["columns"] = o.columns;
    d["parts"] = o.parts;
    d["lanes"] = o.lanes;
    d["values"] = o.values;
    d["registers"] = o.registers;
    d["register_bits"] = o.register_bits;
    d["cute"] = o.elements.rows == 0 ? "" : lanes::text_of(o.elements.layout);
    nb::list held;
    for (const lanes::Held& h : o.held)
        held.append(nb::make_tuple(h.lane, h.value, h.row, h.column, h.part, h.reg, h.low, h.high));
    d["held"] = held;
    nb::list formulas;
    const lanes::Formulas all = lanes::formulas(o);
    for (const auto* of : {&all.forward, &all.backward})
        for (const lanes::Formula& f : *of) formulas.append(lanes::text_of(f, o));
    d["formulas"] = formulas;
    return d;
}

nb::dict instruction(const std::string& name, const std::string& arch) {
    const lanes::Instruction i = instruction_named(name, arch);
    nb::dict d;
    d["key"] = i.key;
    d["cute"] = i.cute;
    d["ptx"] = i.ptx;
    d["shape"] = nb::make_tuple(i.m, i.n, i.k);
    d["arch"] = std::string(isa::row(i.arch).name);
    d["target"] = i.target;
    nb::list operands;
    for (const lanes::Operand& o : i.operands) operands.append(operand_object(o));
    d["operands"] = operands;
    return d;
}

// What the rows of an architecture and of its first product say.
nb::dict machine(const std::string& name) {
    const std::optional<isa::Arch> found = arch_of(name);
    if (!found) throw Failure("which architecture?");
    const isa::Arch arch = *found;
    const timing::Machine* const t = timing::machine_of(arch);
    nb::dict d;
    d["shared_max"] = isa::row(arch).shared_max;
    d["product"] = std::string(isa::row(arch).product);
    d["sms"] = t == nullptr ? nb::none() : nb::object(nb::int_(t->sms));
    d["mhz"] = t == nullptr ? nb::none() : nb::object(nb::int_(t->mhz));
    return d;
}

}  // namespace

void bind_lanes(nb::module_& m) {
    m.def("instruction", instruction);
    m.def("instructions", [](const std::string& arch) {
        std::vector<std::string> out;
        for (const lanes::Instruction& i : lanes::all_instructions(arch_of(arch)))
            out.push_back(i.key);
        return out;
    });
    m.def("archs", [] {
        nb::list out;
        for (const isa::ArchRow& a : isa::arch_rows)
            out.append(nb::make_tuple(std::string(a.name), std::string(a.product)));
        return out;
    });
    m.def("machine", machine);
}

}  // namespace lockwarp::python
