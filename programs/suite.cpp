// SPDX-License-Identifier: Apache-2.0
#include "programs/suite.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;

constexpr std::string_view ends = "ends the kernel with a fault";
constexpr std::string_view machines = "gives or needs an address that is the machine's choice";
constexpr std::string_view wide = "NVIDIA's assembler wants sm_100 or higher";
constexpr std::string_view undefined = "leaves memory undefined";
constexpr std::string_view tensors = "needs a tensor map";
constexpr std::string_view read_only = "a kernel's parameters cannot be written";
constexpr std::string_view called =
    "calls functions beside the entry: recordings of kernels have them";
constexpr std::string_view functions = "a parameter of a function, and there are none";

constexpr auto unsuited_rows = std::to_array<Unsuited>({
    {"trap", "", "", ends},
    {"brkpt", "", "", ends},
    {"cvta.", "", ".global", machines},
    {"call", "", "", called},
    {"alloca.", "", "", machines},
    {"stacksave.", "", "", machines},
    {"stackrestore.", "", "", machines},
    {"ldmatrix.", "", ".shared", machines},
    {"stmatrix.", "", ".shared", machines},
    {"ld.", ".v4.b64", ".L2::evict", wide, true},
    {"ld.", ".v4.u64", ".L2::evict", wide, true},
    {"ld.", ".v4.s64", ".L2::evict", wide, true},
    {"ld.", ".v4.f64", ".L2::evict", wide, true},
    {"st.", ".v4.b64", ".L2::evict", wide, true},
    {"st.", ".v4.u64", ".L2::evict", wide, true},
    {"st.", ".v4.s64", ".L2::evict", wide, true},
    {"st.", ".v4.f64", ".L2::evict", wide, true},
    {"ld.", ".v4.b128", "", wide, true},
    {"ld.", ".v2.b128", "", wide, true},
    {"st.", ".v4.b128", "", wide, true},
    {"st.", ".v2.b128", "", wide, true},
    {"ldu.", ".v4.b64", "", wide, true},
    {"ldu.", ".v4.u64", "", wide, true},
    {"ldu.", ".v4.s64", "", wide, true},
    {"ldu.", ".v4.f64", "", wide, true},
    {"ldu.", ".v4.b128", "", wide, true},
    {"ldu.", ".v2.b128", "", wide, true},
    {"mov.v4.b64", "", "", wide, true},
    {"mov.v4.u64", "", "", wide, true},
    {"mov.v4.s64", "", "", wide, true},
    {"mov.v4.f64", "", "", wide, true},
    {"discard", "", "", undefined},
    {"prefetch.", ".tensormap", "", tensors},
    {"fence.proxy.tensormap", "", "", tensors},
    {"st.param", "", "", read_only, true},
    {"ld.param::func", "", "", functions, true},
});

// Of the optional parts of instructions on memory, those that go with each other; the others stand
// alone.
bool is_joined(const isa::ModifierGroup& group) {
    constexpr auto sets =
        std::to_array<std::string_view>({"ldspace", "stspace", "strongspace", "shared", "vec"});
    return isa::is_one_of(sets, group.set) || isa::is_one_of(group.alternatives, ".trans");
}

// As expansions() has it: without the optional parts, and with each alone. And with every subset of
// them; of instructions on memory every subset of joined parts.
std::vector<std::string> all_modifiers(const isa::Form& f) {
    std::vector<std::string> out = isa::expansions(f);
    const auto any = [](const isa::ModifierGroup&) { return true; };
    for (std::string& text : isa::expansions_of_subsets(f, isa::on_values(f.op) ? any : is_joined))
        out.push_back(std::move(text));
    return out;
}

std::vector<Spelled> spellings_of(std::string_view opcode, isa::Arch arch) {
    std::vector<Spelled> out;
    std::set<std::string> seen;
    for (const isa::Form& f : isa::forms()) {
        const uint16_t family = isa::row(f.op).family;
        if (f.opcode != opcode || !isa::has(arch, f.target) || f.op == Op::wmma_mma ||
            (family != 0 && family != isa::row(arch).family))
            continue;
        for (const std::string& modifiers : all_modifiers(f)) {
            std::string text = std::string(f.opcode) + modifiers;
            if (unsuited_because(text) != nullptr || !isa::has(arch, least_target(f, text)) ||
                !seen.insert(text).second)
                continue;
            const isa::Modifiers m = decoded(text);
            out.push_back({&f, std::move(text), m});
        }
    }
    return out;
}

struct Maker {
    Op op;  // of the opcode's first row
    void (*write)(SuiteWriter&, const std::vector<Spelled>&);
    uint32_t threads;
};

// What is not here works on values.
constexpr auto makers = std::to_array<Maker>({
    {Op::ld, write_ld, 16},
    {Op::st, write_st, 16},
    {Op::atom, write_atomics, 16},
    {Op::red, write_atomics, 16},
    {Op::cvta, write_addresses, 32},
    {Op::isspacep, write_addresses, 32},
    {Op::prefetch, write_addresses, 32},
    {Op::cp_async, write_cp, 32},
    {Op::ldmatrix, write_matrix_moves, 128},
    {Op::stmatrix, write_matrix_moves, 128},
    {Op::shfl, write_warp, 256},
    {Op::vote, write_warp, 256},
    {Op::match, write_warp, 256},
    {Op::redux, write_warp, 256},
    {Op::redux_float, write_warp, 256},
    {Op::elect, write_warp, 256},
    {Op::movmatrix, write_warp, 256},
    {Op::activemask, write_warp, 32},
    {Op::bra, write_flow, 256},
    {Op::brx, write_flow, 256},
    {Op::ret, write_flow, 256},
    {Op::exit, write_flow, 256},
    {Op::nanosleep, write_flow, 32},
    {Op::bar, write_barriers, 256},
    {Op::fence, write_fences, 32},
    {Op::mbarrier_init, write_mbarriers, 128},
    {Op::policy_fraction, write_policies, 32},
    {Op::hint, write_hints, 32},
    {Op::wmma_load, write_wmma_moves, 32},
});

// What has no program of its own.
struct Without {
    Op op;
    std::string_view why;
};
constexpr std::string_view of_its_opcode = "stands in its opcode's program";
constexpr std::string_view of_its_shape = "stands in its shape's program";
constexpr std::string_view of_warpgroups = "four warps do it together, on shared memory";

constexpr std::string_view asynchronous = "it goes on while others run";

constexpr auto without = std::to_array<Without>({
    {Op::policy_range, of_its_opcode},
    {Op::policy_convert, of_its_opcode},
    {Op::call, called},
    {Op::alloca_, machines},
    {Op::stacksave, machines},
    {Op::stackrestore, machines},
    {Op::trap, ends},
    {Op::brkpt, ends},
    {Op::bar_red, of_its_opcode},
    {Op::bar_warp, of_its_opcode},
    {Op::cp_async_commit, of_its_opcode},
    {Op::cp_async_wait, of_its_opcode},
    {Op::cp_async_wait_all, of_its_opcode},
    {Op::bulk_load, asynchronous},
    {Op::bulk_send, asynchronous},
    {Op::bulk_store, asynchronous},
    {Op::bulk_reduce, asynchronous},
    {Op::bulk_send_reduce, asynchronous},
    {Op::bulk_prefetch, asynchronous},
    {Op::bulk_commit, asynchronous},
    {Op::bulk_wait, asynchronous},
    {Op::tensor_load, asynchronous},
    {Op::tensor_store, asynchronous},
    {Op::tensor_reduce, asynchronous},
    {Op::tensor_prefetch, asynchronous},
    {Op::tensormap_replace, asynchronous},
    {Op::tensormap_copy, asynchronous},
    {Op::launch_cancel, asynchronous},
    {Op::launch_canceled, asynchronous},
    {Op::launch_first, asynchronous},
    {Op::async_store, asynchronous},
    {Op::async_reduce, asynchronous},
    {Op::multimem_load, asynchronous},
    {Op::multimem_store, asynchronous},
    {Op::multimem_reduce, asynchronous},
    {Op::set_max_registers, asynchronous},
    {Op::cluster_arrive, of_its_opcode},
    {Op::cluster_wait, of_its_opcode},
    {Op::mbarrier_inval, of_its_opcode},
    {Op::mbarrier_expect, of_its_opcode},
    {Op::mbarrier_complete, of_its_opcode},
    {Op::mbarrier_arrive, of_its_opcode},
    {Op::mbarrier_drop, of_its_opcode},
    {Op::mbarrier_wait, of_its_opcode},
    {Op::mbarrier_pending, of_its_opcode},
    {Op::mbarrier_copies, of_its_opcode},
    {Op::mma, of_its_shape},
    {Op::wmma_store, of_its_opcode},
    {Op::wmma_mma, of_its_shape},
    {Op::wgmma_mma, of_warpgroups},
    {Op::wgmma_fence, of_warpgroups},
    {Op::wgmma_commit, of_warpgroups},
    {Op::wgmma_wait, of_warpgroups},
});

static_assert(std::ranges::all_of(isa::op_rows,
                                  [](const isa::OpRow& r) {
                                      const bool made =
                                          std::ranges::count(makers, r.op, &Maker::op) != 0;
                                      const bool none =
                                          std::ranges::count(without, r.op, &Without::op) != 0;
                                      return made + none + r.of_objects +
                                                 (!made && isa::on_values(r.op)) ==
                                             1;
                                  }),
              "each opcode works on values, or by objects, or has a maker, or a reason why not");

constexpr uint32_t value_threads = 512;

// The key without the orders.
std::string wmma_program(const isa::WmmaVariant& v) {
    std::string name(v.key);
    const std::string shape =
        "m" + std::to_string(v.m) + "n" + std::to_string(v.n) + "k" + std::to_string(v.k);
    const size_t at = name.find(shape) + shape.size();
    return name.erase(at, std::string_view(".row.col").size());
}

}  // namespace

std::span<const Unsuited> unsuited() { return unsuited_rows; }

const Unsuited* unsuited_because(std::string_view spelling) {
    for (const Unsuited& u : unsuited_rows)
        if (spelling.starts_with(u.begins) &&
            (u.has.empty() || spelling.find(u.has) != std::string_view::npos) &&
            (u.lacks.empty() || spelling.find(u.lacks) == std::string_view::npos))
            return &u;
    return nullptr;
}

bool is_in_no_program(isa::Op op) {
    const auto* const row = std::ranges::find(without, op, &Without::op);
    return isa::row(op).of_objects || (row != without.end() && row->why == asynchronous);
}

std::vector<SuiteProgram> suite(isa::Arch arch) {
    std::vector<SuiteProgram> out;
    for (const isa::MmaVariant& v : isa::mma_variants()) {
        if (!isa::has(arch, v.target)) continue;
        SuiteWriter w(std::string(v.key), arch, 256);
        write_mma(w, v);
        out.push_back(w.finish());
    }
    // Variants that differ in the order of A and B stand together, under the name that they share.
    std::map<std::string, std::vector<const isa::WmmaVariant*>> products;
    for (const isa::WmmaVariant& v : isa::wmma_variants())
        if (isa::has(arch, v.target)) products[wmma_program(v)].push_back(&v);
    for (const auto& [name, variants] : products) {
        SuiteWriter w(name, arch, 256);
        write_wmma(w, variants);
        out.push_back(w.finish());
    }
    std::map<std::string_view, Op> opcodes;
    for (const isa::Form& f : isa::forms())
        if (f.op != Op::mma && f.opcode != "wgmma") opcodes.try_emplace(f.opcode, f.op);
    for (const auto& [opcode, op] : opcodes) {
        std::vector<Spelled> spellings = spellings_of(opcode, arch);
        std::erase_if(spellings, [](const Spelled& s) { return is_in_no_program(s.form->op); });
        if (spellings.empty()) continue;
        const auto* const maker = std::ranges::find(makers, op, &Maker::op);
        const bool values = maker == makers.end();
        SuiteWriter w(std::string(opcode), arch, values ? value_threads : maker->threads);
        for (const Spelled& s : spellings)
            w.target(std::max(w.target(), isa::row(s.form->op).suffix));
        (values ? write_values : maker->write)(w, spellings);
        out.push_back(w.finish());
    }
    return out;
}

}  // namespace lockwarp::programs
