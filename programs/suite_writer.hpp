// SPDX-License-Identifier: Apache-2.0
// Writes one program of the suite: inputs loaded once and shared by all its instructions, results
// in few registers that are written over and over. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "launch/random.hpp"
#include "programs/program_writer.hpp"
#include "programs/suite.hpp"

namespace lockwarp::programs {

// What an input holds, thread by thread.
enum class Role : uint8_t {
    a,  // the first operand of an instruction; lane by lane of every class
    b,  // the second: of every class beside every class, and equal, next to, or the negated first
    c,  // the third; of floating-point types also the negated product of the others, or beside it
    count,     // a number of bits: small, about the widths, and beyond all of them
    word,      // any bits
    fragment,  // elements of a matrix; each warp has a class
    metadata,  // of a sparse matrix; the type is that of its elements
    factors,   // of scale, of a matrix
};

// A kernel of one CTA.
class SuiteWriter {
  public:
    // threads: a multiple of 32, up to 1024; or fewer than 32.
    SuiteWriter(std::string name, isa::Arch arch, uint32_t threads);

    // The register of an input, loaded where the program begins. Inputs of one role differ by
    // index. held: the bits that hold an element of a fragment.
    std::string input(isa::Type type, Role role, unsigned index = 0, unsigned held = 0);
    // A register for results, written by many instructions; 0 before. Up to 8 of each width.
    static std::string result(unsigned width, unsigned index = 0);
    // A predicate read: random by lane, n in 0..3.
    std::string predicate(unsigned n);

    void line(const std::string& instruction) { body_ += "    " + instruction + ";\n"; }
    void label(const std::string& name) { body_ += name + ":\n"; }
    void declare(const std::string& text) { declarations_ += "    " + text + ";\n"; }
    void declare_constant(const std::string& text) { module_ += text + ";\n"; }
    // Before the body, after %tid and the buffers' addresses are there.
    void begin(const std::string& instruction) { begin_ += "    " + instruction + ";\n"; }

    // Registers of every program: %rtid, %rlane, %rwarp; %qmem: 32 bytes of each thread in the
    // buffer `mem`; the parameter `pa`: 64 bytes. Spare: %t0 to %t7 (32 bits), %q0 to %q7.
    SuiteProgram finish();

    uint32_t threads() const { return threads_; }
    isa::Arch arch() const { return arch_; }
    // The module's .target ends with this.
    void target(isa::Suffix suffix) { suffix_ = suffix; }
    isa::Suffix target() const { return suffix_; }

  private:
    struct Input {
        isa::Type type;
        Role role;
        unsigned index;
        unsigned held;
        uint32_t offset;  // in the warp's part of the buffer
        std::string name;
    };
    uint64_t value(const Input& input, uint32_t thread) const;
    std::vector<uint8_t> input_bytes() const;
    std::string module() const;

    std::string name_;
    isa::Arch arch_;
    isa::Suffix suffix_ = isa::Suffix::none;
    uint32_t threads_;
    uint64_t seed_;
    uint32_t stride_ = 0;  // bytes of a warp's part of the buffer
    std::vector<Input> inputs_;
    unsigned predicates_ = 0;
    std::string module_, declarations_, begin_, loads_, body_;
};

}  // namespace lockwarp::programs
