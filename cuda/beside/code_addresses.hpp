// SPDX-License-Identifier: Apache-2.0
// Addresses of functions in memory: a GPU has its own, and the emulator its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "cuda/driver_api.hpp"
#include "lockwarp.h"

namespace lockwarp::beside {

using cuda::Address;

// Of one module. Which function a GPU's address is, is learnt from the variables that begin with
// addresses of functions, tables of virtual functions among them, and from what kernels store.
class CodeAddresses {
  public:
    // A variable at that address of the GPU: its bytes there, and those that the emulator's begins
    // with.
    void learn(Address at, std::span<const uint8_t> gpu, std::span<const uint8_t> emulator);

    // What a launch left in the same place. A function that nothing is known of lies where the
    // GPU says, if that may be an address and is no other function's; `emulator` has that then.
    void learn_left(std::span<const uint8_t> gpu, std::span<uint8_t> emulator);

    bool empty() const { return emulators_.empty(); }
    // Whether it is an address of the GPU's that was learnt.
    bool knows(Address gpu) const { return emulators_.contains(gpu); }
    // The words of bytes that lie at that address of the GPU; at: a multiple of 8, 0 where they
    // lie in none of its memory.
    void to_emulator(Address at, std::span<uint8_t> bytes) const;
    void to_gpu(std::span<uint8_t> bytes) const;
    // Those that may be any number elsewhere, and so stay as they are but where the GPU has them
    // from the beginning.
    std::vector<lockwarp_function_address> small() const;

  private:
    std::map<uint64_t, uint64_t> emulators_, gpus_;  // by the other's
    std::set<Address> places_;                       // where the GPU has one from the beginning
};

}  // namespace lockwarp::beside
