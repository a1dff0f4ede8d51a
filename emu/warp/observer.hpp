// What timing, traces and checkers hear of a run.
#pragma once

#include <array>
#include <cstdint>

#include "emu/isa/operation.hpp"
#include "emu/ptx/tree.hpp"

namespace lockwarp::warp {

// The memory that one instruction of one warp touched: for each lane of `lanes` the address in its
// state space (generic addresses are resolved) and `bytes` bytes. cp.async has two: first the
// global source, then the shared destination; atom too: a load, then a store; wmma.load and
// wmma.store up to 16, in the order of the registers.
struct Access {
    ptx::Space space = ptx::Space::none;
    bool store = false;
    uint32_t bytes = 0;
    uint32_t lanes = 0;
    std::array<uint64_t, 32> address{};
};

// One retired instruction. A place in a run is (CTA, warp, step).
struct Retired {
    const isa::Program* program;
    uint32_t operation;  // index into Program::operations
    std::array<uint32_t, 3> cta;
    uint64_t cta_index;  // x fastest
    uint32_t warp;
    uint64_t step;             // instructions this warp retired before this one
    uint32_t active;           // lanes that reached it
    uint32_t executed;         // lanes whose guard was true
    const uint8_t* registers;  // the warp's register file after the instruction; slots by isa::Ref
    const Access* accesses;
    uint32_t access_count;
    // Lanes of `executed` whose results another machine may have otherwise: the manual leaves them
    // undefined, or it is a NaN whose payload NVIDIA's compiler does not always keep.
    uint32_t undefined;
    uint32_t undefined_results;  // bit n: of these lanes result n, in Operation's order
};

// Called for each instruction in the order of one CTA. CTAs run in parallel: calls of different
// CTAs may overlap, those of one CTA never do. A listener cannot change the run.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void retired(const Retired& event) = 0;
    // After a CTA's last instruction, also where it trapped.
    virtual void cta_ended(uint64_t cta_index) { (void)cta_index; }
};

// Gives what a run cannot know by itself: values that depend on time, place or order, and those
// that the manual leaves undefined. Called before the observer hears of the instruction.
class Oracle {
  public:
    virtual ~Oracle() = default;
    // Whether it is to be asked after this operation. Where lanes are undefined it always is.
    virtual bool knows(uint32_t operation) const = 0;
    // May change, in the lanes that executed it, the registers that the instruction wrote.
    virtual void supply(const Retired& event, uint8_t* registers) = 0;
    // Of an operation it knows, which tests whether something has come (mbarrier.test_wait): the
    // lanes for which it had. A lane that finds that it has not waits here until it has.
    virtual uint32_t went_on(const Retired& event) const {
        (void)event;
        return 0;
    }
};

}  // namespace lockwarp::warp
