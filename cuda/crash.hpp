// SPDX-License-Identifier: Apache-2.0
// Where the emulator itself fails in a launch, by a signal or an exception: a line that says where,
// and a launch file that shows it. A signal of the program's own code goes where it would have
// gone.
#pragma once

#include "cuda/state.hpp"

namespace lockwarp::cuda {

class Record;

// A launch that is under way while the object lives. The first one of a process puts handlers of
// signals before those that are there.
class UnderWay {
  public:
    UnderWay(const Function& of, const LaunchShape& with, const std::vector<uint8_t>& values);
    ~UnderWay();
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

    const Function& function;
    const LaunchShape& shape;
    const std::vector<uint8_t>& parameters;
    const uint64_t number;     // of the process's launches, from 1
    Record* record = nullptr;  // where the launch is recorded: memory as it was before it

  private:
    size_t slot_;
};

// Of an exception in a launch, which has ended.
void report_exception(const UnderWay& launch, const std::string& what);
// Of a signal, in a process of its own: it may take any time, and never returns.
struct Fault {
    int signal;
    uintptr_t address;  // that was touched
    uintptr_t offset;   // in libcuda.so.1
};
[[noreturn]] void report_fault(const Fault& fault);
// Those under way now.
std::vector<const UnderWay*> launches_under_way();

}  // namespace lockwarp::cuda
