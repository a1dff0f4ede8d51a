// SPDX-License-Identifier: Apache-2.0
#include "validate/racing_store.hpp"

#include <bit>

namespace lockwarp::validate {

namespace {

// What a lane's load reads; bytes 0: not found.
struct Loaded {
    ptx::Space space = ptx::Space::none;
    uint64_t address = 0, bytes = 0;
};

class FindsLoad : public warp::Observer {
  public:
    explicit FindsLoad(const Difference& d) : d_(d) {}
    Loaded loaded;

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        if (cta.index != d_.cta_index) return nullptr;
        return std::make_unique<OfCta>(d_, loaded);
    }

  private:
    struct OfCta : warp::CtaObserver {
        OfCta(const Difference& difference, Loaded& out) : d(difference), loaded(out) {}
        void retired(const warp::Retired& e) override {
            if (e.warp != d.warp || e.step != d.step || e.operation != d.operation) return;
            for (uint32_t i = 0; i < e.access_count; ++i) {
                const warp::Access& a = e.accesses[i];
                if (!a.store && (a.own() >> d.lane & 1) != 0)
                    loaded = {a.space, a.address[d.lane], a.bytes_of_lane[d.lane]};
            }
        }
        const Difference& d;
        Loaded& loaded;
    };

    const Difference& d_;
};

class FindsStore : public warp::Observer {
  public:
    FindsStore(const Difference& d, const Loaded& loaded) : d_(d), loaded_(loaded) {}
    std::optional<RacingStore> found;

    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        // Shared memory of another CTA of the cluster is not looked at.
        if (loaded_.space == ptx::Space::shared && cta.index != d_.cta_index) return nullptr;
        return std::make_unique<OfCta>(d_, loaded_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
        if (!found) found = static_cast<OfCta&>(*cta).found;
    }

  private:
    struct OfCta : warp::CtaObserver {
        OfCta(const Difference& difference, const Loaded& of) : d(difference), loaded(of) {}
        void retired(const warp::Retired& e) override {
            if (found || (e.cta_index == d.cta_index && e.warp == d.warp)) return;
            for (uint32_t i = 0; i < e.access_count; ++i)
                if (e.accesses[i].store && e.accesses[i].space == loaded.space &&
                    reaches(e.accesses[i]))
                    found = {e.operation, e.cta, e.warp};
        }
        bool reaches(const warp::Access& a) const {
            for (uint32_t lanes = a.own(); lanes != 0; lanes &= lanes - 1) {
                const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
                const uint64_t at = a.address[lane];
                if (at < loaded.address + loaded.bytes &&
                    loaded.address < at + a.bytes_of_lane[lane])
                    return true;
            }
            return false;
        }
        const Difference& d;
        const Loaded& loaded;
        std::optional<RacingStore> found;
    };

    const Difference& d_;
    const Loaded& loaded_;
};

}  // namespace

std::optional<RacingStore> racing_store(const isa::Program& program, const Difference& difference,
                                        const Listen& run) {
    if ((difference.kind != DifferenceKind::value && difference.kind != DifferenceKind::order) ||
        program.operations[difference.operation].op != isa::Op::ld)
        return std::nullopt;
    FindsLoad load(difference);
    run(load);
    const ptx::Space space = load.loaded.space;
    if (space != ptx::Space::global && space != ptx::Space::shared) return std::nullopt;
    FindsStore store(difference, load.loaded);
    run(store);
    return store.found;
}

}  // namespace lockwarp::validate
