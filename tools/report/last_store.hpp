// SPDX-License-Identifier: Apache-2.0
// Where a byte of global memory was last written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/warp/observer.hpp"
#include "launch/input.hpp"

namespace lockwarp::tools {

struct Store {
    size_t launch = 0;  // of the launch file
    uint32_t operation = 0;
    std::array<uint32_t, 3> cta{};
    uint32_t warp = 0, lane = 0;
    uint64_t step = 0;
    uint32_t byte = 0;    // of what the lane stored
    uint32_t access = 0;  // of the instruction's accesses
};

// Listens to launches, and follows some bytes. Of CTAs that write the same byte the last in the
// grid's order counts.
class LastStores : public warp::Observer {
  public:
    explicit LastStores(size_t bytes) : stores_(bytes) {}
    // Before each launch: where the bytes are in it; UINT64_MAX: it has none of them.
    void begin_launch(size_t number, std::vector<uint64_t> addresses) {
        launch_ = number;
        addresses_ = std::move(addresses);
    }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override;
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override;
    const std::vector<std::optional<Store>>& stores() const { return stores_; }

  private:
    std::vector<uint64_t> addresses_;
    std::vector<std::optional<Store>> stores_;  // of each byte
    size_t launch_ = 0;
};

// "  last written by lane 3 of warp 0 of CTA (1,0,0), step 52, from %f7: kernel.ptx:80", and the
// lines of its source.
std::string store_text(const launch::Input& in, const isa::Program& program, const Store& s);

}  // namespace lockwarp::tools
