// SPDX-License-Identifier: Apache-2.0
// What the observers of a cluster's CTAs share: they are called on one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "emu/warp/observer.hpp"

namespace lockwarp::check {

// Makes one T for each cluster, when its first CTA begins. of() may be called by several threads;
// the CTAs of a cluster begin one after another.
template <class T>
class OfCluster {
  public:
    std::shared_ptr<T> of(const warp::CtaPlace& cta) {
        if (cta.cluster_ctas == 1) return std::make_shared<T>();
        const std::lock_guard guard(lock_);
        std::shared_ptr<T>& made = all_[cta.cluster];
        if (made == nullptr) made = std::make_shared<T>();
        std::shared_ptr<T> out = made;
        if (cta.rank + 1 == cta.cluster_ctas) all_.erase(cta.cluster);
        return out;
    }

  private:
    std::mutex lock_;
    std::map<uint64_t, std::shared_ptr<T>> all_;
};

// An address in shared memory and the CTA that it is of, as one number.
constexpr uint64_t place_in_cluster(uint32_t rank, uint64_t address) {
    return uint64_t{rank} << isa::rank_bit | address;
}
inline uint64_t place_in_cluster(const warp::Access& a, uint32_t lane) {
    return place_in_cluster(a.rank[lane], a.address[lane]);
}

}  // namespace lockwarp::check
