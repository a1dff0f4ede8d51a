// SPDX-License-Identifier: Apache-2.0
// Checks: listeners that look for what is wrong in a program while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/check/described.hpp"
#include "emu/check/finding.hpp"
#include "emu/check/objects.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::check {

// An observer that says what it found. It is good for one launch.
class Check : public warp::Observer {
  public:
    // After the run; an empty list: nothing.
    virtual std::vector<Finding> findings() const = 0;
    // After the run: changes what is known of the memory to what it is now.
    virtual void describe(Described&) const {}
};

// A check whose listener, OfCta, knows the program alone and has what it found in `found`.
template <class OfCta>
class OfProgram : public Check {
  public:
    explicit OfProgram(const isa::Program& program) : program_(program) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    Collection found_;
};

// nullptr: there is nothing to hear of this launch.
using Make = std::unique_ptr<Check> (*)(const isa::Program& program, const warp::Launch& launch);

// The same of a check that reads the names in the module.
using MakeNamed = std::unique_ptr<Check> (*)(const isa::Program& program,
                                             const warp::Launch& launch, const ptx::Module& module);

// The same of a check that asks what is known of the buffers.
using MakeDescribed = std::unique_ptr<Check> (*)(const isa::Program& program,
                                                 const warp::Launch& launch,
                                                 const Described& described);

// What a check can find.
struct KindRow {
    std::string_view kind;
    Severity severity;          // as a rule; a finding has its own
    std::string_view finds;     // "a barrier that ..."
    bool of_whole_run = false;  // it says nothing of a run that trapped
    // A kind of the same check that says more of the same instruction: this one is left out then.
    std::string_view says_more = {};
};

// To add a check: a row, its kinds, and the functions that make its listeners.
struct CheckRow {
    std::string_view name;   // as users name it
    std::string_view finds;  // what it looks for
    std::span<const KindRow> kinds;
    std::span<const Make> make;  // none: traps alone
    std::span<const MakeNamed> make_named = {};
    std::span<const MakeDescribed> make_described = {};
};

std::span<const CheckRow> checks();

// The row of a name, or nullptr.
const CheckRow* check_named(std::string_view name);

// "all", or names with commas, in the order of the table.
struct Chosen {
    std::vector<const CheckRow*> rows;
    std::string wrong;  // a sentence; empty: nothing is
};
Chosen choose(std::string_view names);

struct Found {
    const CheckRow* check;
    Finding finding;
    Object object;  // that its address is in
};

// The checks of one launch: made before it, asked after it.
class Checking {
  public:
    // Adds the listeners to launch.observers; this must outlive the run. module: that of the
    // program; without it what asks for names is not looked for.
    Checking(std::span<const CheckRow* const> rows, const isa::Program& program,
             warp::Launch& launch, const ptx::Module* module = nullptr,
             const Described& described = {});
    // What is known of the memory after the run, for the launch that follows.
    Described described() const;
    // Without the trap. Errors first, in the order of the checks and of the program.
    std::vector<Found> found(const warp::Result& result) const;
    // A trap as what a check found; nothing where it is no fault of the program's (stopped).
    std::optional<Found> found(const warp::Trap& trap) const;

  private:
    void listen(const CheckRow* row, std::unique_ptr<Check> check, warp::Launch& launch);
    Found placed(const CheckRow* row, Finding finding) const;

    struct Listener {
        const CheckRow* row;
        std::unique_ptr<Check> check;
    };
    const isa::Program& program_;
    Described described_;
    Objects objects_;
    std::vector<Listener> listeners_;
};

// uninitialised.cpp: values that nothing defined.
std::unique_ptr<Check> uninitialised(const isa::Program& program, const warp::Launch& launch,
                                     const Described& described);

// rows.cpp: accesses that leave a row of a buffer for the next one.
std::unique_ptr<Check> row_bounds(const isa::Program& program, const warp::Launch& launch,
                                  const Described& described);

// traps.cpp: the check and the kind of a trap; of one trap several rows may tell apart what
// trapped.
struct TrapRow {
    warp::TrapKind trap;
    std::string_view check, kind;
    bool (*is)(const isa::Operation& o) = nullptr;  // nullptr: any operation
};
std::span<const TrapRow> trap_rows();
const TrapRow& trap_row(const warp::Trap& trap, const isa::Program& program);
Finding finding_of(const warp::Trap& trap, std::string_view kind);

// in_flight.cpp: shared memory that a cp.async may still be writing.
std::unique_ptr<Check> copies_in_flight(const isa::Program& program, const warp::Launch& launch);

// barriers.cpp: barriers of the CTA that a part of it meets, or at which counts differ.
std::unique_ptr<Check> barrier_misuse(const isa::Program& program, const warp::Launch& launch);

// lane_exchange.cpp: membermasks, and what shfl takes from lanes that do not take part.
std::unique_ptr<Check> lane_exchange(const isa::Program& program, const warp::Launch& launch);

// phases.cpp: mbarriers.
std::unique_ptr<Check> mbarrier_misuse(const isa::Program& program, const warp::Launch& launch);

// peers.cpp: shared memory of a CTA that may have ended.
std::unique_ptr<Check> ended_peers(const isa::Program& program, const warp::Launch& launch);

// proxy_fences.cpp: bulk copies of what threads stored, without a fence between.
std::unique_ptr<Check> proxy_fences(const isa::Program& program, const warp::Launch& launch);

// variables.cpp: accesses that leave the variable that their address was made from.
std::unique_ptr<Check> variable_bounds(const isa::Program& program, const warp::Launch& launch,
                                       const ptx::Module& module);

// heap.cpp: accesses outside of malloc's blocks, and blocks that nobody frees.
std::unique_ptr<Check> heap_blocks(const isa::Program& program, const warp::Launch& launch);

// metadata.cpp: metadata of a sparse A that names no two places of a group.
std::unique_ptr<Check> sparse_metadata(const isa::Program& program, const warp::Launch& launch);

// beyond_shared.cpp: accesses behind the shared memory of the launch that are no fault.
std::unique_ptr<Check> beyond_shared(const isa::Program& program, const warp::Launch& launch);
// local_atomics.cpp: atom and red that change local memory.
std::unique_ptr<Check> local_atomics(const isa::Program& program, const warp::Launch& launch);

// emu/timing/performance.cpp: bank conflicts and the like.
std::unique_ptr<Check> slow_accesses(const isa::Program& program, const warp::Launch& launch);

// unused_shared.cpp: bytes of shared memory that no thread ever accessed.
std::unique_ptr<Check> unused_shared(const isa::Program& program, const warp::Launch& launch);

// races.cpp: accesses of shared or global memory that nothing orders.
std::unique_ptr<Check> shared_races(const isa::Program& program, const warp::Launch& launch);
std::unique_ptr<Check> global_races(const isa::Program& program, const warp::Launch& launch);

}  // namespace lockwarp::check
