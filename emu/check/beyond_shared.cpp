// SPDX-License-Identifier: Apache-2.0
// Accesses behind a launch's own shared memory that are no fault, because they lie in the last of
// the units in which shared memory is given out (isa::ArchRow::shared_unit). An H100 (driver
// 580.159.04) has there what an earlier CTA left.
#include "emu/check/check.hpp"
#include "emu/isa/specials.hpp"

namespace lockwarp::check {

namespace {

struct OfCta : warp::CtaObserver {
    OfCta(const warp::CtaPlace& p, uint64_t e) : place(p), end(e) {}
    void retired(const warp::Retired& e) override;
    void bulk(const warp::BulkEvent& e) override;
    void add(const Site& here, bool store, uint64_t address, uint32_t bytes);

    warp::CtaPlace place;
    uint64_t end;  // address behind the last byte
    Collection found;
};

void OfCta::add(const Site& here, bool store, uint64_t address, uint32_t bytes) {
    if (found.again("beyond-shared", here.operation, std::nullopt)) return;
    Finding f;
    f.kind = "beyond-shared";
    f.here = here;
    f.space = ptx::Space::shared;
    f.address = address;
    f.bytes = bytes;
    f.message = std::string(store ? "writes" : "reads") +
                " behind the shared memory that the launch asks for";
    f.hint =
        "a GPU lets it pass, as it gives out shared memory in larger units; what lies there is an "
        "earlier CTA's, or nobody's: ask for more, or stay inside";
    found.add(std::move(f));
}

void OfCta::retired(const warp::Retired& e) {
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space != ptx::Space::shared) continue;
        uint32_t beyond = 0;
        for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
            beyond |= uint32_t{a.address[lane] + a.bytes_of_lane[lane] > end} << lane;
        }
        if (beyond == 0) continue;
        const auto lane = static_cast<unsigned>(__builtin_ctz(beyond));
        add({e.operation, e.cta, e.warp, beyond, e.step}, a.store, a.address[lane],
            a.bytes_of_lane[lane]);
    }
}

void OfCta::bulk(const warp::BulkEvent& e) {
    for (const warp::BulkRange& r : e.ranges)
        if (r.space == ptx::Space::shared && r.address + r.bytes > end)
            add({e.operation, place.id, e.who.warp, uint32_t{1} << r.lane, 0}, r.store, r.address,
                static_cast<uint32_t>(r.bytes));
}

class BeyondShared : public Check {
  public:
    explicit BeyondShared(uint64_t end) : end_(end) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(place, end_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    uint64_t end_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> beyond_shared(const isa::Program& program, const warp::Launch& launch) {
    const uint64_t bytes = uint64_t{program.shared_static} + launch.dynamic_shared;
    if (bytes == isa::in_shared_units(program.arch, bytes)) return nullptr;
    // The driver's own memory, where cooperative groups meet, lies behind the program's.
    if (isa::reads(program, isa::Special::reserved_begin)) return nullptr;
    return std::make_unique<BeyondShared>(program.shared_begin + bytes);
}

}  // namespace lockwarp::check
