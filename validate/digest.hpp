// SPDX-License-Identifier: Apache-2.0
// Listens to the emulator and keeps, for each lane, a digest of all that it wrote.
#pragma once

#include <memory>
#include <vector>

#include "emu/warp/observer.hpp"
#include "validate/comparator.hpp"

namespace lockwarp::validate {

class Digests : public warp::Observer {
  public:
    // Of the CTAs [first_cta, first_cta + ctas).
    Digests(const Plan& plan, uint64_t first_cta, uint64_t ctas);

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override;
    void take(const warp::CtaPlace& cta, std::unique_ptr<warp::CtaObserver> listener) override;

    // One word a lane, as gpu::digest_kernel leaves them.
    const std::vector<uint64_t>& words() const { return words_; }
    // Values by operation.
    const std::vector<uint64_t>& values() const { return values_; }

  private:
    const Plan& plan_;
    uint64_t first_cta_;
    std::vector<uint64_t> words_;
    std::vector<uint64_t> values_;
};

}  // namespace lockwarp::validate
