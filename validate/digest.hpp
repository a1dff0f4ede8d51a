// Listens to the emulator and keeps, for each lane, a digest of all that it wrote.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "emu/warp/observer.hpp"
#include "validate/comparator.hpp"

namespace lockwarp::validate {

class Digests : public warp::Observer {
  public:
    // Of the CTAs [first_cta, first_cta + ctas).
    Digests(const Plan& plan, uint64_t first_cta, uint64_t ctas);
    ~Digests() override;

    void retired(const warp::Retired& event) override;
    void cta_ended(uint64_t cta_index) override;

    // One word a lane, as gpu::digest_kernel leaves them.
    const std::vector<uint64_t>& words() const { return words_; }
    // Values by operation.
    const std::vector<uint64_t>& values() const { return values_; }

  private:
    struct WarpState {
        alignas(64) std::array<uint32_t, 32> first{};
        alignas(64) std::array<uint32_t, 32> second{};
    };
    struct CtaState {
        std::vector<WarpState> warps;
        std::vector<uint64_t> values;
    };

    const Plan& plan_;
    uint64_t first_cta_;
    std::vector<std::unique_ptr<CtaState>> states_;
    std::vector<uint64_t> words_;
    std::vector<uint64_t> values_;
    std::mutex lock_;
};

}  // namespace lockwarp::validate
