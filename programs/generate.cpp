// SPDX-License-Identifier: Apache-2.0
#include "programs/generate.hpp"

#include <algorithm>
#include <cstring>

#include "emu/lockwarp.hpp"
#include "programs/generate_writer.hpp"

namespace lockwarp::programs {

const Choice& Writer::draw(const std::vector<std::vector<Choice>>& families) {
    const std::vector<Choice>& family = families[r.below(families.size())];
    return family[r.below(family.size())];
}

bool Writer::loses_guard(const Choice& choice) {
    return choice.form->op == Op::testp || choice.spelling.starts_with("vadd4.u32.u32.u32.add") ||
           choice.spelling.starts_with("vsub4.u32.u32.u32.add") ||
           (choice.form->op == Op::set && (choice.spelling.find("f16.") != std::string::npos ||
                                           choice.spelling.find("f16x2.") != std::string::npos));
}

bool Writer::converts_amount(const Choice& choice) {
    return (choice.form->op == Op::shl || choice.form->op == Op::shr) &&
           choice.spelling.ends_with("64");
}

void Writer::one(const Choice& choice) {
    from = static_cast<OperandClass>(r.below(static_cast<uint64_t>(OperandClass::count_)));
    if (choice.mma != nullptr) return mma(*choice.mma);
    if (choice.wmma != nullptr) return wmma(*choice.wmma);
    if (choice.warpgroup != nullptr) return warpgroup(*choice.warpgroup, choice.sparse);
    if (choice.goes_on) return copy(choice);
    if (choice.form->op == Op::wmma_load || choice.form->op == Op::wmma_store)
        return wmma_move(choice);
    if (choice.matrix_move) return matrix_move(choice);
    const bool warp = needs_the_warp(choice.form->op);
    if (!warp && r.one_in(6) && !loses_guard(choice)) {
        const std::string p = predicate();
        body += before;
        before.clear();
        guard = (r.one_in(2) ? "@" : "@!") + p + " ";
    }
    scalar(choice);
    guard.clear();
}

void Writer::branch(const std::vector<std::vector<Choice>>& families) {
    std::vector<Choice> plain;
    for (int i = 0; i < 40 && plain.size() < 3; ++i) {
        const Choice& c = draw(families);
        if (c.form != nullptr && !c.matrix_move && !c.goes_on && !needs_the_warp(c.form->op))
            plain.push_back(c);
    }
    const std::string p = predicate();
    body += before;
    before.clear();
    const std::string label = "L" + std::to_string(++labels);
    unguarded("@" + p + " bra " + label);
    // Registers of the branch are loaded, written and read in it alone.
    const std::vector<std::string> k16 = b16;
    const std::vector<std::string> k32 = b32;
    const std::vector<std::string> k64 = b64;
    const std::vector<std::string> kp = predicates;
    for (const Choice& c : plain) scalar(c);
    b16 = k16;
    b32 = k32;
    b64 = k64;
    predicates = kp;
    body += label + ":\n";
}

namespace {

uint64_t value_of(const Load& l, launch::Random& r) {
    switch (l.holds) {
        case Holds::fragment:
            return fragment_register(l.type, l.held, l.from, r);
        case Holds::metadata:
            return metadata_register(l.type, r);
        case Holds::factors:
            return scale_register(l.type, l.from, r);
        case Holds::operand:
            break;
    }
    return register_operand(l.type, l.from, r);
}

// Each thread's operands, thread by thread.
std::vector<uint8_t> input_bytes(const Writer& w, uint64_t threads, uint64_t seed) {
    std::vector<uint8_t> out(threads * w.stride() + spare_bytes);
    launch::Random r{launch::splitmix64(seed, 1), 0};
    for (uint64_t t = 0; t < threads; ++t)
        for (const Load& l : w.loads) {
            const uint64_t value = value_of(l, r);
            std::memcpy(out.data() + t * w.stride() + l.offset, &value, l.width / 8);
        }
    return out;
}

}  // namespace

std::vector<std::string> generated_instructions(isa::Arch arch) {
    std::vector<std::string> out;
    for (const Choice& c : choices(arch)) out.push_back(c.spelling);
    return out;
}

launch::Result<Generated> generate(const GenerateOptions& options) {
    std::vector<Choice> all = choices(options.arch);
    // Large accumulators leave no registers for what else a program has.
    const unsigned most = options.warps % 4 != 0 ? 0 : options.only.empty() ? 32 : 128;
    std::erase_if(all, [&](const Choice& c) {
        return c.warpgroup != nullptr && isa::registers_of_d(*c.warpgroup) > most;
    });
    if (!options.only.empty())
        std::erase_if(all, [&](const Choice& c) {
            const std::string& key = c.spelling;
            return std::ranges::none_of(options.only, [&](const std::string& name) {
                return key == name || key.starts_with(name + ".");
            });
        });
    if (all.empty()) return launch::failure("nothing of that name can be generated");
    std::vector<std::vector<Choice>> families(static_cast<size_t>(Op::count_));
    for (const Choice& c : all)
        families[static_cast<size_t>(c.mma != nullptr         ? Op::mma
                                     : c.wmma != nullptr      ? Op::wmma_mma
                                     : c.warpgroup != nullptr ? Op::wgmma_mma
                                                              : c.form->op)]
            .push_back(c);
    std::erase_if(families, [](const auto& f) { return f.empty(); });
    std::vector<std::vector<Choice>> matrices;
    std::ranges::copy_if(families, std::back_inserter(matrices), [](const auto& f) {
        return f[0].mma != nullptr || f[0].wmma != nullptr || f[0].warpgroup != nullptr ||
               f[0].matrix_move;
    });
    Generated out;
    Writer w(options);
    for (unsigned i = 0; i < options.instructions; ++i) {
        if (w.r.one_in(12) && matrices.size() < families.size())
            w.branch(families);
        else
            w.one(w.draw(!matrices.empty() && w.r.one_in(3) ? matrices : families));
    }
    out.ptx = w.module();
    ptx::Parsed parsed = ptx::parse(out.ptx);
    out.c.module = std::move(parsed.module);
    out.c.entry = "k";
    out.c.grid = {options.ctas, 1, 1};
    out.c.block = {options.warps * 32, 1, 1};
    out.c.parameters.resize(8);
    out.c.patches = {{0, 0, 0}};
    out.c.names = {"in"};
    out.c.bytes = {input_bytes(w, uint64_t{options.ctas} * options.warps * 32, options.seed)};
    w.add_tensors(out.c);
    return out;
}

}  // namespace lockwarp::programs
