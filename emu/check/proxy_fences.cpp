// SPDX-License-Identifier: Apache-2.0
// Bulk copies from shared memory that threads stored to, without a proxy fence. PTX manual, "Async
// proxy": stores of threads and what a bulk copy reads are ordered by fence.proxy.async. Any such
// fence since the store is taken for the one that is meant, so that what is found is wrong.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

using isa::Op;
using ptx::Space;

constexpr uint64_t word_bytes = 4;

class OfCta : public warp::CtaObserver {
  public:
    OfCta(const isa::Program& program, const warp::CtaPlace& place, uint64_t bytes)
        : program_(program), place_(place), stored_(bytes / word_bytes + 1) {}
    void bulk(const warp::BulkEvent& e) override;
    void retired(const warp::Retired& e) override;

    Collection found;

  private:
    void look(const warp::BulkEvent& e, const warp::BulkRange& r);
    uint64_t word_of(uint64_t address) const {
        return (address - program_.shared_begin) / word_bytes;
    }

    const isa::Program& program_;
    warp::CtaPlace place_;
    std::vector<uint32_t> stored_;  // by word: 1 + the operation that stored it; 0: a fence came
    bool any_stored_ = false;
};

void OfCta::look(const warp::BulkEvent& e, const warp::BulkRange& r) {
    for (uint64_t at = r.address; at < r.address + r.bytes; at += word_bytes) {
        const uint64_t word = word_of(at);
        if (word >= stored_.size() || stored_[word] == 0) continue;
        const uint32_t by = stored_[word] - 1;
        if (found.again("proxy-fence", e.operation, by)) return;
        Finding f;
        f.kind = "proxy-fence";
        f.here = {e.operation, place_.id, e.who.warp, 1u << r.lane, 0};
        f.other = Site{by, place_.id, 0, 0, 0};
        f.space = Space::shared;
        f.address = at;
        f.bytes = word_bytes;
        f.message = "copies what line " + std::to_string(program_.operations[by].place.line) +
                    " stores, with no fence.proxy.async between: the copy may not see it";
        f.hint =
            "fence.proxy.async.shared::cta by the threads that store, then a barrier, then the "
            "copy";
        return found.add(std::move(f));
    }
}

void OfCta::bulk(const warp::BulkEvent& e) {
    for (const warp::BulkRange& r : e.ranges)
        if (r.space == Space::shared && !r.store && r.cta == place_.rank) look(e, r);
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    const bool is_proxy_fence = o.op == Op::fence && o.mod.scope == isa::MemoryScope::none;
    if (is_proxy_fence && any_stored_ && e.executed != 0) {
        std::ranges::fill(stored_, 0u);
        any_stored_ = false;
    }
    const isa::Memory memory = isa::row(o.op).memory;
    if (memory != isa::Memory::store && memory != isa::Memory::update) return;
    for (const warp::Access& a : std::span(e.accesses, e.access_count)) {
        if (a.space != Space::shared || !a.store) continue;
        for (uint32_t rest = a.own(); rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
            const uint64_t end = a.address[lane] + a.bytes_of_lane[lane];
            any_stored_ = true;
            for (uint64_t at = a.address[lane]; at < end; at += word_bytes)
                if (const uint64_t word = word_of(at); word < stored_.size())
                    stored_[word] = e.operation + 1;
        }
    }
}

class ProxyFences : public Check {
  public:
    ProxyFences(const isa::Program& program, const warp::Launch& launch)
        : program_(program), bytes_(uint64_t{program.shared_static} + launch.dynamic_shared) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& place) override {
        return std::make_unique<OfCta>(program_, place, bytes_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    uint64_t bytes_;
    Collection found_;
};

// Copies that read shared memory.
constexpr std::array readers{Op::bulk_send,        Op::bulk_store,   Op::bulk_reduce,
                             Op::bulk_send_reduce, Op::tensor_store, Op::tensor_reduce};

}  // namespace

std::unique_ptr<Check> proxy_fences(const isa::Program& program, const warp::Launch& launch) {
    const bool any = std::ranges::any_of(program.operations, [](const isa::Operation& o) {
        return std::ranges::find(readers, o.op) != readers.end();
    });
    return any ? std::make_unique<ProxyFences>(program, launch) : nullptr;
}

}  // namespace lockwarp::check
