// SPDX-License-Identifier: Apache-2.0
#include "emu/check/check.hpp"

#include "emu/check/products.hpp"
#include "emu/check/registers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockwarp::check {

namespace {

using enum Severity;

constexpr std::array race_kinds{
    KindRow{"read-after-write", error, "a load of what others store, with nothing between"},
    KindRow{"write-after-read", error, "a store to what others load, with nothing between"},
    KindRow{"write-after-write", error, "a store to where others store, with nothing between"},
    KindRow{"lanes-disagree", error,
            "a store by which lanes of a warp leave different values in one place"},
    KindRow{"incomplete", note, "more memory than there was room to follow"},
};
constexpr std::array<Make, 1> race_shared_makes{shared_races};
constexpr std::array<Make, 1> race_global_makes{global_races};

constexpr std::array uninitialised_kinds{
    KindRow{"stored", error, "undefined values, or what was computed with them, in global memory"},
    KindRow{"branched-on", error, "guards of branches and of accesses to memory"},
    KindRow{"address", error, "addresses"},
    KindRow{"operand", error, "operands of barriers and indirect branches"},
    KindRow{"metadata", error, "metadata of a sparse A by which the product is undefined"},
    KindRow{"metadata-zero", note, "such metadata of zeros: of zeros of A it changes nothing"},
};
constexpr std::array<Make, 1> uninitialised_makes{sparse_metadata};
constexpr std::array<MakeDescribed, 1> uninitialised_described{uninitialised};

constexpr std::array sync_kinds{
    KindRow{"deadlock", error,
            "barriers, masks or mbarriers that wait for threads that never come"},
    KindRow{"diverged", error, "an `.aligned` instruction that a part of the warp meets"},
    KindRow{"bad-barrier", error, "a barrier or a count of threads that there is not"},
    KindRow{"barrier-count", error, "a phase of a barrier in which threads give different counts"},
    KindRow{"barrier-after-exit", error,
            "a barrier of the whole CTA that opens for a part of it, because the others have "
            "exited; a note where all parts meet it at one place"},
    KindRow{"barrier-parted", note,
            "a phase of a barrier of the whole CTA that warps meet at different places"},
    KindRow{"barrier-left", note, "arrivals at a barrier that never opens"},
    KindRow{"bad-mask", error, "a membermask without the executing lane"},
    KindRow{"mask-absent", note, "a membermask that names lanes that are not there"},
    KindRow{"shfl-source", error,
            "values that `shfl` takes from lanes that do not take part, where they matter"},
    KindRow{"copy-not-awaited", error,
            "reads of what a `cp.async` may still be bringing: its thread has not waited for it"},
    KindRow{"copy-no-barrier", error,
            "reads of what a `cp.async` brought by a warp that met no barrier since the copying "
            "thread's wait"},
    KindRow{"copy-too-early", error,
            "a `cp.async` into what another warp may still read: no barrier between"},
    KindRow{"copy-overwritten", error,
            "stores and copies to where a `cp.async` may still be writing"},
    KindRow{"copy-source-changed", error, "stores to where a `cp.async` may still be reading"},
    KindRow{"copy-pending", note, "a `cp.async` that its thread has not waited for at its exit"},
    KindRow{"bad-arrival", error,
            "more arrivals at an mbarrier than its phase lacks, or counts out of range"},
    KindRow{"mbarrier-not-made", error, "uses of an mbarrier that no thread has made"},
    KindRow{"mbarrier-too-early", error,
            "uses of an mbarrier by warps that met no barrier since another made it"},
    KindRow{"mbarrier-incomplete", error,
            "an mbarrier that more arrivals are counted for than come: no phase ends; a note where "
            "one did, of it or of another of that count"},
    KindRow{
        "mbarrier-bytes", error,
        "an mbarrier whose phase is told of other bytes (`expect_tx`) than copies bring; a note "
        "where they bring none"},
    KindRow{"product-not-awaited", note,
            "registers of a `wgmma` that are touched before the warp has waited for it"},
    KindRow{"register-pool", error,
            "`setmaxnreg.inc` of more registers than the CTA's warps leave each other"},
    KindRow{"proxy-fence", error,
            "bulk copies from shared memory that threads stored to, with no `fence.proxy.async` "
            "between"},
    KindRow{"peer-ended", error,
            "uses of a peer's shared memory that nothing orders before the end of its CTA"},
};
constexpr std::array<Make, 8> sync_makes{copies_in_flight,     barrier_misuse, lane_exchange,
                                         mbarrier_misuse,      proxy_fences,   ended_peers,
                                         products_not_awaited, register_pool};

constexpr std::array memory_kinds{
    KindRow{"beyond-variable", error,
            "accesses whose address was made from one variable and that touch another"},
    KindRow{"aligned-by-luck", note,
            "accesses wider than the alignment that their variable is declared with"},
    KindRow{"beyond-row", error,
            "stores that leave a row of a buffer for the next, which has its own; a note of loads, "
            "and of what lies between two rows"},
    KindRow{"use-after-free", error, "accesses of a block that `free` has given back"},
    KindRow{"beyond-block", error, "accesses of the heap outside of what `malloc` was asked for"},
    KindRow{"leak", note, "blocks of `malloc` that no `free` gives back"},
    KindRow{"local-atomic", error, "`atom` and `red` that change local memory"},
    KindRow{"beyond-shared", error,
            "accesses behind the launch's shared memory, in the unit in which it is given out",
            false, "beyond-variable"},
    KindRow{"out-of-bounds", error, "accesses that no buffer or variable holds"},
    KindRow{"misaligned", error, "addresses that are not a multiple of the access's size"},
    KindRow{"wrong-space", error, "an address outside the state space that the instruction names"},
    KindRow{"read-only", error, "stores to .const or .param memory"},
    KindRow{"stack", error, "calls too deep, or too much local memory"},
    KindRow{"illegal", error, "operands for which the machine has no such instruction"},
};

constexpr std::array<Make, 3> memory_makes{heap_blocks, local_atomics, beyond_shared};
constexpr std::array<MakeNamed, 1> memory_named{variable_bounds};
constexpr std::array<MakeDescribed, 1> memory_described{row_bounds};

constexpr std::array performance_kinds{
    KindRow{"bank-conflict", note,
            "accesses of shared memory that banks serve one after another, with the padding or the "
            "swizzle that removes it"},
    KindRow{"uncoalesced", note, "accesses of global memory that move more sectors than they need"},
    KindRow{"divergent-branch", note, "branches behind which lanes are idle"},
    KindRow{"scalar-fragment", note, "loads of shared memory that one `ldmatrix` replaces"},
    KindRow{"local-in-loop", note, "local memory that is accessed again and again"},
    KindRow{"unused-shared", note, "bytes of shared memory that no thread accesses", true},
};
constexpr std::array<Make, 2> performance_makes{slow_accesses, unused_shared};

constexpr std::array trap_kinds{
    KindRow{"trap", error, "the trap instruction, and failed assertions"},
    KindRow{"breakpoint", error, "the brkpt instruction"},
    KindRow{"step-limit", error, "a warp that retires more instructions than the limit"},
};

constexpr std::array order_kinds{
    KindRow{"result", error, "a result that depends on the order of warps and CTAs (`--orders`)"},
    KindRow{"schedule", error,
            "a result that depends on when asynchronous copies and products are done: where they "
            "are issued, or where somebody waits for them"},
};

constexpr std::array mapping_kinds{
    KindRow{"explained", error,
            "a result that is not as the launch file expects, and the change to the program that "
            "makes all of it right"},
    KindRow{"unexplained", error,
            "a result that is not as the launch file expects, where no change that is tried makes "
            "it right"},
};

constexpr std::array rows{
    CheckRow{"race-shared", "accesses of shared memory by warps or lanes that nothing orders",
             race_kinds, race_shared_makes},
    CheckRow{"race-global", "accesses of global memory by CTAs, warps or lanes that nothing orders",
             race_kinds, race_global_makes},
    CheckRow{"uninitialised",
             "values that nothing defined, where they matter",
             uninitialised_kinds,
             uninitialised_makes,
             {},
             uninitialised_described},
    CheckRow{"sync", "barriers, masks and asynchronous copies that do not synchronise", sync_kinds,
             sync_makes},
    CheckRow{"memory", "accesses outside what they are meant for", memory_kinds, memory_makes,
             memory_named, memory_described},
    CheckRow{"performance", "what makes the kernel slow", performance_kinds, performance_makes},
    CheckRow{"order",
             "results that depend on the order of warps and CTAs (with --orders), or on when "
             "asynchronous instructions do their work",
             order_kinds,
             {}},
    CheckRow{
        "mapping", "results that are not as the launch file expects, and why", mapping_kinds, {}},
    CheckRow{"trap", "a run that the program itself ends", trap_kinds, {}},
};

constexpr const KindRow* kind_of(const CheckRow& row, std::string_view kind) {
    for (const KindRow& k : row.kinds)
        if (k.kind == kind) return &k;
    return nullptr;
}

constexpr bool names_differ() {
    for (size_t i = 0; i < rows.size(); ++i) {
        for (size_t k = 0; k < i; ++k)
            if (rows[i].name == rows[k].name) return false;
        for (const KindRow& k : rows[i].kinds)
            if (kind_of(rows[i], k.kind) != &k) return false;
    }
    return true;
}
static_assert(names_differ());

}  // namespace

std::span<const CheckRow> checks() { return rows; }

const CheckRow* check_named(std::string_view name) {
    const auto row = std::ranges::find(rows, name, &CheckRow::name);
    return row == rows.end() ? nullptr : &*row;
}

Chosen choose(std::string_view names) {
    Chosen out;
    std::vector<std::string_view> words;
    for (size_t begin = 0; begin < names.size();) {
        const size_t end = std::min(names.find(',', begin), names.size());
        if (end != begin) words.push_back(names.substr(begin, end - begin));
        begin = end + 1;
    }
    for (const std::string_view word : words) {
        if (word == "all" || check_named(word) != nullptr) continue;
        out.wrong = "there is no check \"" + std::string(word) + "\"; there are all";
        for (const CheckRow& row : rows) out.wrong += ", " + std::string(row.name);
        return out;
    }
    for (const CheckRow& row : rows)
        if (std::ranges::any_of(words, [&](auto w) { return w == "all" || w == row.name; }))
            out.rows.push_back(&row);
    return out;
}

Checking::Checking(std::span<const CheckRow* const> chosen, const isa::Program& program,
                   warp::Launch& launch, const ptx::Module* module, const Described& described)
    : program_(program), described_(described), objects_(program, launch, described.shapes) {
    for (const CheckRow* row : chosen) {
        for (const Make make : row->make) listen(row, make(program, launch), launch);
        for (const MakeDescribed make : row->make_described)
            listen(row, make(program, launch, described_), launch);
        if (module == nullptr) continue;
        for (const MakeNamed make : row->make_named)
            listen(row, make(program, launch, *module), launch);
    }
}

void Checking::listen(const CheckRow* row, std::unique_ptr<Check> check, warp::Launch& launch) {
    if (check == nullptr) return;
    launch.observers.push_back(check.get());
    listeners_.push_back({row, std::move(check)});
}

Described Checking::described() const {
    Described out = described_;
    for (const Listener& l : listeners_) l.check->describe(out);
    return out;
}

Found Checking::placed(const CheckRow* row, Finding finding) const {
    Object object;
    if (finding.space != ptx::Space::none) object = objects_.at(finding.space, finding.address);
    return {row, std::move(finding), std::move(object)};
}

std::vector<Found> Checking::found(const warp::Result& result) const {
    std::vector<Found> out;
    for (const Listener& l : listeners_)
        for (Finding& f : l.check->findings()) {
            const KindRow* const kind = kind_of(*l.row, f.kind);
            if (kind == nullptr || (kind->of_whole_run && result.trap)) continue;
            out.push_back(placed(l.row, std::move(f)));
        }
    std::erase_if(out, [&, all = out](const Found& f) {
        const KindRow& kind = *kind_of(*f.check, f.finding.kind);
        return std::ranges::any_of(all, [&](const Found& other) {
            return other.check == f.check && other.finding.kind == kind.says_more &&
                   other.finding.here.operation == f.finding.here.operation;
        });
    });
    std::ranges::stable_sort(out, {}, [](const Found& f) { return f.finding.severity; });
    return out;
}

std::optional<Found> Checking::found(const warp::Trap& trap) const {
    const TrapRow& row = trap_row(trap, program_);
    const CheckRow* const check = check_named(row.check);
    if (check == nullptr) return std::nullopt;
    return placed(check, finding_of(trap, row.kind));
}

}  // namespace lockwarp::check
