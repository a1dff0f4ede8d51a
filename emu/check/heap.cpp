// SPDX-License-Identifier: Apache-2.0
// Blocks of malloc: accesses outside of them, and those that no free gives back. CUDA C++
// programming guide, "Dynamic Global Memory Allocation and Operations": they live until a later
// kernel frees them, so that the latter is a note.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "emu/check/check.hpp"

namespace lockwarp::check {

namespace {

struct Block {
    uint64_t bytes;  // that were asked for
    Site made;
    std::optional<Site> freed;
};

// All CTAs of a launch, one after another or in turns on one thread.
struct Heap {
    uint64_t begin, end;            // addresses
    std::map<uint64_t, Block> all;  // by address; of freed ones those that no later one overlaps
    uint64_t made = 0, freed = 0;
    Site first;
    Collection found;

    void take(uint64_t address, const Block& block);
    void access(const Site& here, const warp::Access& a, unsigned lane,
                const isa::Program& program);
};

void Heap::take(uint64_t address, const Block& block) {
    if (made++ == 0) first = block.made;
    // At least a byte, so that each has an address of its own.
    const uint64_t behind = address + std::max<uint64_t>(block.bytes, 1);
    auto at = all.lower_bound(address);
    if (at != all.begin() && std::prev(at)->first + std::prev(at)->second.bytes > address) --at;
    while (at != all.end() && at->first < behind) at = all.erase(at);
    all.insert_or_assign(address, block);
}

void Heap::access(const Site& here, const warp::Access& a, unsigned lane,
                  const isa::Program& program) {
    const uint64_t address = a.address[lane], bytes = a.bytes_of_lane[lane];
    if (address < begin || address >= end) return;
    const auto line_of = [&](const Site& s) {
        return "line " + std::to_string(program.operations[*s.operation].place.line);
    };
    const auto above = all.upper_bound(address);
    const Block* const block = above == all.begin() ? nullptr : &std::prev(above)->second;
    const uint64_t from = block == nullptr ? begin : std::prev(above)->first;
    const bool within = block != nullptr && address - from + bytes <= block->bytes;
    if (within && !block->freed) return;
    Finding f;
    f.here = here;
    f.space = ptx::Space::global;
    f.address = address;
    f.bytes = static_cast<uint32_t>(bytes);
    const std::string what = a.store ? "stores to " : "loads from ";
    if (block != nullptr && block->freed && address - from < std::max<uint64_t>(block->bytes, 1)) {
        f.kind = "use-after-free";
        f.other = block->freed;
        f.message = what + "a block that " + line_of(*block->freed) + " has freed";
        f.hint = "malloc at " + line_of(block->made) + " gave it: free comes behind its last use";
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
        if (!e.frees) return heap_.take(e.address, {e.bytes, here, std::nullopt});
        ++heap_.freed;
        if (const auto at = heap_.all.find(e.address); at != heap_.all.end())
            at->second.freed = here;
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
    }
    // Blocks may be those of other CTAs.
    bool wants_one_thread() const override { return true; }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return std::make_unique<OfCta>(program_, cta.id, heap_);
    }
    std::vector<Finding> findings() const override {
        std::vector<Finding> out = heap_.found.list();
        if (heap_.made <= heap_.freed) return out;
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
    const bool any = std::ranges::any_of(
        program.calls, [](const isa::Call& c) { return c.system == isa::System::malloc; });
    return any ? std::make_unique<HeapUses>(program, launch) : nullptr;
}

}  // namespace lockwarp::check
