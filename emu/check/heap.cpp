// SPDX-License-Identifier: Apache-2.0
// Blocks of malloc: accesses outside of them, and those that no free gives back. CUDA C++
// programming guide, "Dynamic Global Memory Allocation and Operations": they live until a later
// kernel frees them, so that the latter is a note, and nothing where the heap outlives the launch.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/warp/heap.hpp"

namespace lockwarp::check {

namespace {

struct Block {
    uint64_t bytes = 0;        // that were asked for
    std::optional<Site> made;  // nullopt: by another launch
    bool is_freed = false;
    std::optional<Site> freed;  // as above
};

// All CTAs of a launch, one after another or in turns on one thread.
struct Heap {
    uint64_t begin = 0, end = 0;          // addresses
    const warp::Heap* lasting = nullptr;  // what other launches left, or nullptr
    std::map<uint64_t, Block> all;  // by address; of freed ones those that no later one overlaps
    uint64_t made = 0, freed = 0;
    Site first;
    Collection found;

    void take(uint64_t address, const Block& block);
    void release(uint64_t address, const Site& here);
    // As warp::Heap::block_before.
    std::optional<std::pair<uint64_t, Block>> block_before(uint64_t address, uint64_t bytes) const;
    void access(const Site& here, const warp::Access& a, unsigned lane,
                const isa::Program& program);
};

void Heap::take(uint64_t address, const Block& block) {
    if (made++ == 0) first = *block.made;
    const uint64_t behind = address + block.bytes;  // malloc gives no block of no bytes
    auto at = all.lower_bound(address);
    if (at != all.begin() && std::prev(at)->first + std::prev(at)->second.bytes > address) --at;
    while (at != all.end() && at->first < behind) at = all.erase(at);
    all.insert_or_assign(address, block);
}

void Heap::release(uint64_t address, const Site& here) {
    ++freed;
    Block& block = all[address];
    if (!block.made)  // another launch's
        if (const auto other = lasting != nullptr ? lasting->block_before(address) : std::nullopt)
            block.bytes = other->bytes;
    block.is_freed = true;
    block.freed = here;
}

std::optional<std::pair<uint64_t, Block>> Heap::block_before(uint64_t address,
                                                             uint64_t bytes) const {
    std::optional<std::pair<uint64_t, Block>> own;
    if (const auto above = all.upper_bound(address); above != all.begin()) own = *std::prev(above);
    const auto within = [&](uint64_t from, uint64_t size) {
        return address - from < size && size - (address - from) >= bytes;
    };
    if (lasting == nullptr ||
        (own && !own->second.is_freed && within(own->first, own->second.bytes)))
        return own;
    const std::optional<warp::Heap::Block> other = lasting->block_before(address);
    if (!other || (own && own->first == other->address && own->second.is_freed == other->freed))
        return own;
    return std::pair(other->address, Block{other->bytes, std::nullopt, other->freed, std::nullopt});
}

void Heap::access(const Site& here, const warp::Access& a, unsigned lane,
                  const isa::Program& program) {
    const uint64_t address = a.address[lane], bytes = a.bytes_of_lane[lane];
    if (address < begin || address >= end) return;
    const auto line_of = [&](const std::optional<Site>& s) {
        return s ? "line " + std::to_string(program.operations[*s->operation].place.line)
                 : std::string("another launch");
    };
    const auto at = block_before(address, bytes);
    const Block* const block = at ? &at->second : nullptr;
    const uint64_t from = at ? at->first : begin;
    const bool within = block != nullptr && address - from + bytes <= block->bytes;
    if (within && !block->is_freed) return;
    Finding f;
    f.here = here;
    f.space = ptx::Space::global;
    f.address = address;
    f.bytes = static_cast<uint32_t>(bytes);
    const std::string what = a.store ? "stores to " : "loads from ";
    if (block != nullptr && block->is_freed && address - from < block->bytes) {
        f.kind = "use-after-free";
        f.other = block->freed;
        f.message = what + "a block that " + line_of(block->freed) + " has freed";
        if (block->made) f.hint = "malloc at " + line_of(block->made) + " gave it: ";
        f.hint += "free comes behind its last use";
    } else {
        f.kind = "beyond-block";
        if (block != nullptr) f.other = block->made;
        f.message = block == nullptr
                        ? what + "memory of malloc's that no block holds"
                        : what + std::to_string(address - from + bytes - block->bytes) +
                              " bytes past the " + std::to_string(block->bytes) + " that " +
                              line_of(block->made) + " asked for";
    }
    if (!found.again(f.kind, f.here.operation, f.other ? f.other->operation : std::nullopt))
        found.add(std::move(f));
}

struct OfCta : warp::CtaObserver {
    OfCta(const isa::Program& p, const std::array<uint32_t, 3>& id, Heap& h)
        : program(p), cta(id), heap_(h) {}
    void heap(const warp::HeapEvent& e) override {
        const Site here{e.operation, cta, e.warp, 1u << e.lane, 0};
        if (e.frees) return heap_.release(e.address, here);
        heap_.take(e.address, {e.bytes, here, false, std::nullopt});
    }
    void retired(const warp::Retired& e) override {
        for (uint32_t i = 0; i < e.access_count; ++i) {
            const warp::Access& a = e.accesses[i];
            if (a.space != ptx::Space::global) continue;
            for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
                const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
                heap_.access({e.operation, e.cta, e.warp, 1u << lane, e.step}, a, lane, program);
            }
        }
    }

    const isa::Program& program;
    std::array<uint32_t, 3> cta;
    Heap& heap_;
};

class HeapUses : public Check {
  public:
    HeapUses(const isa::Program& program, const warp::Launch& launch) : program_(program) {
        heap_.begin = launch.heap_address != 0 ? launch.heap_address : isa::heap_base;
        heap_.end = heap_.begin + launch.heap_bytes;
        heap_.lasting = launch.heap;
    }
    // Blocks may be those of other CTAs.
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return std::make_unique<OfCta>(program_, cta.id, heap_);
    }
    std::vector<Finding> findings() const override {
        std::vector<Finding> out = heap_.found.list();
        if (heap_.lasting != nullptr || heap_.made <= heap_.freed) return out;
        Finding f;
        f.kind = "leak";
        f.severity = Severity::note;
        f.here = heap_.first;
        f.count = heap_.made - heap_.freed;
        f.message = std::to_string(heap_.made) + " calls of malloc, " +
                    std::to_string(heap_.freed) + " of free: " + std::to_string(f.count) +
                    " blocks are left";
        f.hint = "free them, here or in a later kernel";
        out.push_back(std::move(f));
        return out;
    }

  private:
    const isa::Program& program_;
    Heap heap_{};
};

}  // namespace

std::unique_ptr<Check> heap_blocks(const isa::Program& program, const warp::Launch& launch) {
    const bool any = launch.heap != nullptr || std::ranges::any_of(program.calls, [](auto& c) {
                         return isa::uses_heap(c.system);
                     });
    return any ? std::make_unique<HeapUses>(program, launch) : nullptr;
}

}  // namespace lockwarp::check
