// SPDX-License-Identifier: Apache-2.0
// The arguments and buffers of a launch file to fill in.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emu/isa/operation.hpp"
#include "emu/ptx/debug_info.hpp"
#include "launch/parameter_uses.hpp"

namespace lockwarp::launch {

using Ordered = nlohmann::ordered_json;

// What is known of one parameter of a kernel.
struct KnownParameter {
    const isa::Parameter& placed;
    const ptx::Variable& declared;
    size_t index = 0;
    std::string name;                    // of its argument
    std::string type;                    // as the source has it; empty: not known
    uint32_t debug_type = ptx::no_type;  // no_type: there is no debug information
    std::vector<ReadField> fields;
    std::vector<TensorMapUse> maps;
    bool only_stored = false;  // a pointer that the kernel does nothing with but store through
};

// Makes one launch file. Kernels whose pointers have the same name and type in the source share a
// buffer.
class ArgumentMaker {
  public:
    explicit ArgumentMaker(const ptx::DebugInfo& info) : info_(info) {}

    // The next argument belongs to this kernel; its name is put before those of buffers that it
    // cannot share.
    void begin_kernel(const std::string& name);
    Ordered argument(const KnownParameter& p);

    Ordered buffers = Ordered::object();
    Ordered outputs = Ordered::array();

  private:
    struct Number {
        std::string type;  // "f16"; empty: it is no number
        uint64_t count = 1;
        uint64_t width = 0;  // of one, in bytes
    };
    // A struct that is being written.
    struct Fields {
        Ordered list = Ordered::array();
        uint64_t next = 0;       // where the next field goes
        uint64_t alignment = 1;  // of the struct
        bool fits = true;        // each field is where the source has it
    };

    std::string add_buffer(const std::string& name, uint32_t pointee, const std::string& type,
                           int depth = 0);
    std::string free_name(const std::string& name, uint32_t pointee);
    Ordered initial(uint32_t pointee);
    Number number_of(uint32_t type) const;
    bool points_to_data(uint32_t type) const;

    Ordered scalar(const KnownParameter& p);
    Ordered read_structure(const KnownParameter& p);
    Ordered value(const KnownParameter& p, uint32_t type, uint64_t at, const std::string& name,
                  int depth, uint64_t& alignment);
    Ordered structure(const KnownParameter& p, uint32_t type, uint64_t at, const std::string& name,
                      int depth, uint64_t& alignment);
    void add_member(Fields& out, const KnownParameter& p, const ptx::DebugMember& m, uint64_t at,
                    uint64_t end, const std::string& name, int depth);
    size_t add_bit_fields(Fields& out, const ptx::DebugType& t, size_t first);
    void add_array(Fields& out, const KnownParameter& p, uint32_t type, uint64_t member,
                   uint64_t at, const std::string& name, int depth);
    static void place(Fields& out, uint64_t at, uint64_t bytes, uint64_t alignment, Ordered field);

    const ptx::DebugInfo& info_;
    std::string kernel_;
    size_t kernel_number_ = 0;
    size_t field_count_ = 0;
    uint64_t seed_ = 0;
    struct Known {
        size_t kernel;
        std::string type;  // empty: not known
    };
    std::map<std::string, Known, std::less<>> known_;
};

}  // namespace lockwarp::launch
