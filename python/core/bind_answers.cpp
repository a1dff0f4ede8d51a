// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lanes/answer.hpp"
#include "lanes/banks.hpp"
#include "lanes/explain.hpp"
#include "lanes/questions.hpp"
#include "python/core/bindings.hpp"
#include "python/core/failure.hpp"
#include "python/core/names.hpp"

namespace lockwarp::python {

namespace nb = nanobind;

namespace {

// (the answer in one line, text, HTML, JSON)
nb::tuple answer_object(const lanes::Answer& a) {
    if (!a.error.empty()) throw Failure(a.error);
    return nb::make_tuple(a.line, lanes::render(a, lanes::Format::text).value_or(""),
                          lanes::render(a, lanes::Format::html).value_or(""),
                          lanes::render(a, lanes::Format::json).value_or(""));
}

nb::tuple explain(const std::string& name, unsigned row, unsigned column, const std::string& archs,
                  const std::string& a, const std::string& b, const std::string& c, uint64_t seed) {
    const bool one = !archs.empty() && archs.find(',') == std::string::npos && archs != "all";
    const lanes::Instruction i = instruction_named(name, one ? archs : "");
    std::vector<lanes::Product> products;
    for (const isa::Arch arch : archs_of(archs, i.target, i.arch))
        products.push_back(taken(lanes::product_of(i, arch)));
    const lanes::InputTexts texts{a, b, c, {}, seed};
    const lanes::DotInputs inputs = taken(lanes::read_inputs(i, row, column, texts));
    lanes::Answer out = lanes::explain(products, row, column, inputs);
    if (a.empty() && b.empty() && c.empty())
        out.notes.push_back(
            fmt::format("No values were given: these are random, of seed {}.", seed));
    return answer_object(out);
}

nb::tuple equivalent(const std::string& x, const std::string& y, const std::string& archs,
                     uint64_t tries) {
    const auto own = [](const std::string& name) { return name.find('@') != std::string::npos; };
    const lanes::Instruction first = instruction_named(x, "");
    const lanes::Instruction second = instruction_named(y, "");
    std::vector<std::pair<isa::Arch, isa::Arch>> on;
    if (own(x) || own(y) || archs.empty())
        on.emplace_back(first.arch, own(y) || !own(x) ? second.arch : first.arch);
    else
        for (const isa::Arch arch :
             archs_of(archs, std::max(first.target, second.target), isa::default_arch))
            on.emplace_back(arch, arch);
    std::vector<std::pair<lanes::Product, lanes::Product>> pairs;
    for (const auto& [of_x, of_y] : on)
        pairs.emplace_back(taken(lanes::product_of(first, of_x)),
                           taken(lanes::product_of(second, of_y)));
    return answer_object(lanes::equivalent(pairs, tries));
}

nb::tuple banks(const std::string& name, const std::string& address, std::optional<uint32_t> stride,
                const std::string& swizzle, unsigned unit) {
    std::string error;
    const auto access = lanes::access_named(name, error);
    if (!access) throw Failure(error);
    lanes::Pattern p;
    p.expression = address;
    p.stride = stride.value_or(access->bytes);
    p.unit = unit;
    if (!swizzle.empty()) {
        p.swizzle = lanes::swizzle_named(swizzle);
        if (!p.swizzle)
            throw Failure(
                fmt::format("no swizzle '{}'; one is B,M,S with B and M from 0 and |S| "
                            "at least B, as 3,4,3",
                            swizzle.substr(0, 100)));
    }
    return answer_object(lanes::banks(*access, p));
}

nb::tuple info(const std::string& name, const std::string& arch) {
    return answer_object(lanes::info(instruction_named(name, arch)));
}

nb::tuple compatible(const std::string& from, const std::string& x, const std::string& to,
                     const std::string& y, const std::string& arch) {
    return answer_object(
        lanes::compatible(instruction_named(x, arch), from, instruction_named(y, arch), to));
}

}  // namespace

void bind_answers(nb::module_& m) {
    m.def("explain", explain);
    m.def("equiv", equivalent);
    m.def("banks", banks);
    m.def("info", info);
    m.def("compat", compatible);
}

}  // namespace lockwarp::python
