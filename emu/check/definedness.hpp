// SPDX-License-Identifier: Apache-2.0
// Which bytes of a CTA's registers and memory have no defined value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "emu/check/described.hpp"
#include "emu/check/differences.hpp"
#include "emu/warp/observer.hpp"

namespace lockwarp::check {

inline constexpr uint32_t no_register = UINT32_MAX;
inline constexpr uint32_t no_operation = UINT32_MAX;

// Where an undefined value comes from.
struct Origin {
    enum Kind : uint8_t { of_register, of_shared, of_local, of_global, of_lane } kind = of_register;
    uint32_t reg = no_register;      // into Program::registers
    uint64_t address = 0;            // of the first such byte
    uint32_t read = no_operation;    // who read it first; of_lane: the shuffle
    uint32_t worked = no_operation;  // the first instruction that computed with it
};

// Origins by number; 0: there is none.
class Origins {
  public:
    uint32_t add(const Origin& o);
    // The same, and `operation` computed with it, unless another did before.
    uint32_t worked(uint32_t number, uint32_t operation);
    const Origin& at(uint32_t number) const { return all_[number]; }
    MadeUp made_up;

  private:
    using Key = std::tuple<Origin::Kind, uint32_t, uint32_t, uint32_t>;
    std::vector<Origin> all_{1};
    std::map<Key, uint32_t> numbers_;
};

// Of a register: by byte, the lanes in which that byte is undefined. A predicate has one byte.
using LanesByByte = std::array<uint32_t, 8>;

// Lists that all CTAs share.
class Registers {
  public:
    explicit Registers(const isa::Program& program);
    // no_register: a constant, a special register or a sink.
    uint32_t at(isa::Ref ref) const;
    uint32_t in_pool(uint32_t place) const { return pool_[place]; }
    uint32_t bytes(uint32_t reg) const { return bytes_[reg]; }
    size_t size() const { return bytes_.size(); }

  private:
    std::unordered_map<isa::Ref, uint32_t> of_ref_;
    std::vector<uint32_t> pool_;   // by place in Program::pool
    std::vector<uint32_t> bytes_;  // by register: 1 to 8
};

// The registers of one warp.
struct WarpRegisters {
    std::vector<LanesByByte> undefined;
    std::vector<uint32_t> any;     // by register: lanes with an undefined byte
    std::vector<uint32_t> origin;  // of what is undefined, of the last write
    RegisterDifferences differences;

    void begin(const Registers& all, bool defined = false);
    void define(uint32_t reg, uint32_t lanes);
    // What a write leaves in some lanes.
    void set(uint32_t reg, uint32_t bytes, const LanesByByte& to, uint32_t lanes, uint32_t from);
    // Byte by byte; of no_register nothing is undefined.
    LanesByByte get(uint32_t reg) const;
};

// A range of memory of which each byte is defined or not.
class Defined {
  public:
    Defined(uint64_t begin, uint64_t bytes, bool defined = false)
        : begin_(begin), undefined_(bytes, defined ? 0 : 1), left_(defined ? 0 : bytes) {}
    bool any() const { return left_ != 0; }
    bool has(uint64_t address) const { return address - begin_ < undefined_.size(); }
    // Of [address, address + bytes) what lies in it becomes undefined.
    void forget(uint64_t address, uint64_t bytes);
    std::vector<Range> undefined() const;
    // Of up to 32 bytes, by bits, those that are undefined.
    uint32_t get(uint64_t address, uint32_t bytes) const;
    void set(uint64_t address, uint32_t bytes, uint32_t undefined);
    // What the undefined byte holds comes from there; 0: nobody stored it.
    uint32_t origin(uint64_t address) const;
    void set_origin(uint64_t address, uint32_t bytes, uint32_t origin);
    // As in MemoryDifferences, which a change of the bytes is told to.
    MemoryDifferences differences;

  private:
    uint64_t begin_;
    std::vector<uint8_t> undefined_;
    uint64_t left_;                                   // undefined bytes
    std::unordered_map<uint64_t, uint32_t> origins_;  // by word
};

}  // namespace lockwarp::check
