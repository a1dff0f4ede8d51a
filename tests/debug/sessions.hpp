// SPDX-License-Identifier: Apache-2.0
// Sessions of the tests: a launch file of gpu/kernels, or one written here, and its console.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "debug/console.hpp"
#include "tests/tools/process.hpp"

namespace lockwarp::debug {

class Sessions {
  public:
    // gpu/kernels/NAME.json
    explicit Sessions(const std::string& name) { open(LOCKWARP_SOURCE_DIR "/gpu/kernels/" + name); }
    // A kernel `k` of the body on a grid and blocks, with a buffer `out` of 4096 bytes of zeros
    // whose address is its parameter, and registers %p<8>, %r<16>, %f<8>, %rd<8>. Before: what
    // stands before the kernel.
    Sessions(const std::string& body, unsigned ctas, unsigned threads,
             const std::string& before = "");
    // These files, k.ptx and k.json.
    static Sessions of_launch(const std::string& ptx, const std::string& json);

    // What the command prints.
    std::string operator()(const std::string& command) { return console->execute(command); }
    // The same, which must have this in it.
    std::string expect(const std::string& command, const std::string& part);

    std::unique_ptr<tools::Folder> folder;
    std::unique_ptr<Session> session;
    std::unique_ptr<Console> console;

  private:
    Sessions() = default;
    void open(const std::string& path);
};

}  // namespace lockwarp::debug
