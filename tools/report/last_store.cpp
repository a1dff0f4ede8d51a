// SPDX-License-Identifier: Apache-2.0
#include "tools/report/last_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "launch/source_text.hpp"

namespace lockwarp::tools {

namespace {

struct OfCta : warp::CtaObserver {
    explicit OfCta(const std::vector<uint64_t>& a) : addresses(a), stores(a.size()) {}

    void retired(const warp::Retired& e) override {
        for (uint32_t k = 0; k < e.access_count; ++k) {
            const warp::Access& access = e.accesses[k];
            if (!access.store || access.space != ptx::Space::global) continue;
            for (uint32_t rest = access.lanes; rest != 0; rest &= rest - 1)
                look(e, access, k, static_cast<uint32_t>(std::countr_zero(rest)));
        }
    }
    void look(const warp::Retired& e, const warp::Access& access, uint32_t k, uint32_t lane) {
        for (size_t i = 0; i < addresses.size(); ++i) {
            const uint64_t byte = addresses[i] - access.address[lane];
            if (byte >= access.bytes_of_lane[lane]) continue;
            stores[i] =
                Store{0, e.operation, e.cta, e.warp, lane, e.step, static_cast<uint32_t>(byte), k};
        }
    }

    const std::vector<uint64_t>& addresses;
    std::vector<std::optional<Store>> stores;
};

// The register whose value a store put there; empty where it is none that has a name.
std::string register_of(const isa::Program& program, const Store& s) {
    const isa::Operation& o = program.operations[s.operation];
    const isa::VectorRef data = o.vector[0];
    const uint32_t width = isa::bits(o.mod.type[0]) / 8;
    if (data.count == 0 || width == 0) return {};
    // wmma.store accesses memory in the order of its registers.
    const uint32_t element = s.access + s.byte / width;
    if (element >= data.count) return {};
    const isa::Ref ref = program.pool[data.first + element];
    const auto found = std::ranges::find(program.registers, ref, &isa::Register::ref);
    return found == program.registers.end() ? std::string() : found->name;
}

}  // namespace

std::unique_ptr<warp::CtaObserver> LastStores::begin(const warp::CtaPlace&) {
    return std::make_unique<OfCta>(addresses_);
}

void LastStores::take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) {
    const auto& found = static_cast<const OfCta&>(*cta).stores;
    for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i]) continue;
        stores_[i] = found[i];
        stores_[i]->launch = launch_;
    }
}

std::string store_text(const launch::Input& in, const isa::Program& program, const Store& s) {
    const isa::Operation& o = program.operations[s.operation];
    const std::string from = register_of(program, s);
    std::string out =
        fmt::format("  last written by lane {} of warp {} of CTA ({},{},{}), step {}{}: {}:{}\n",
                    s.lane, s.warp, s.cta[0], s.cta[1], s.cta[2], s.step,
                    from.empty() ? "" : ", from " + from, launch::named_ptx(in), o.place.line);
    return out + launch::source_text(ptx::places_of(ptx::source_map(in.module), o.place));
}

}  // namespace lockwarp::tools
