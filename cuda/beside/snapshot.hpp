// SPDX-License-Identifier: Apache-2.0
// The memory of a GPU that a launch may reach, copied to the host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cuda/beside/kernels.hpp"

namespace lockwarp::beside {

using cuda::Address;

struct Range {
    uint64_t size = 0;
    std::vector<uint8_t> bytes;  // and up to 31 that follow them
};

struct Variable {
    Address address = 0;
    lockwarp_variable of{};      // the emulator's
    std::vector<uint8_t> bytes;  // the GPU's
    size_t index = 0;            // in the module
};

struct Snapshot {
    std::map<Address, Range> ranges;  // by their first bytes
    std::vector<Variable> variables;  // of the kernel's module
    uint64_t bytes = 0;
    // Something in it looks like an address of what malloc gives, and is of no memory that the
    // driver knows.
    bool may_lead_to_blocks = false;

    // Whether the same bytes lie in the same places.
    bool same(const Snapshot& other) const;
    // Addresses of the module's functions become the emulator's, and the GPU's again.
    void to_emulator(const CodeAddresses& code);
    void to_gpu(const CodeAddresses& code);
    // What a launch left by the emulator becomes what the GPU has in the same place where both are
    // the address of one variable of the module, or of a function of which the GPU's was not known
    // until now.
    void take_addresses(const Snapshot& gpu, CodeAddresses& code);
};

// What parameters, variables and the numbers in the module's text lead to: whatever may be an
// address of the GPU's memory does.
// nullopt: it is more than `limit` bytes, or cannot be read; and why.
std::optional<Snapshot> take(const Kernel& kernel, Function* handle,
                             const std::vector<uint8_t>& parameters, uint64_t limit,
                             std::string& why);
// The same memory again. false: it cannot be read.
bool take_again(Snapshot& snapshot);

}  // namespace lockwarp::beside
