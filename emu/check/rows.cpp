// SPDX-License-Identifier: Apache-2.0
// Accesses that leave a row of a buffer for the next one, inside the buffer, where nothing traps.
//
// Which row an access means is not written anywhere: C[3][64] of rows of 64 elements is C[4][0].
// What is taken for one row are the lanes of an instruction that lie one after another at one
// distance, below the length of a row, and a lane's accesses by it one after another at one
// distance: they mean the row in which they begin. A kernel that takes the matrix for a flat array
// leaves rows all the time. It is told apart by this: where the same instruction goes through the
// next row too, from within that row, and comes to the same elements, the rows are what it means.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "emu/check/check.hpp"
#include "emu/warp/memory.hpp"

namespace lockwarp::check {

namespace {

using ptx::Space;

constexpr size_t max_followed = size_t{1} << 20;  // instructions times rows

// Bytes of a row, [begin, end); empty at first.
struct Columns {
    uint64_t begin = UINT64_MAX, end = 0;
    void add(uint64_t from, uint64_t to) {
        begin = std::min(begin, from);
        end = std::max(end, to);
    }
    bool empty() const { return begin >= end; }
};

// What one instruction did in one row: for this row, and on its way out of an earlier one.
struct RowUse {
    Columns own, others;
    Site site;             // of the first that came from an earlier row
    uint64_t meant = 0;    // that row
    uint64_t address = 0;  // of what it touched here
    uint32_t bytes = 0;
    uint64_t count = 0;
};

// What lies between two rows.
struct PaddingUse {
    Site site;
    uint64_t row = 0, address = 0;
    uint32_t bytes = 0;
    uint64_t count = 0;
};

struct Uses {
    using Key = std::pair<uint32_t, uint64_t>;  // instruction, shape << 40 | row
    std::map<Key, RowUse> rows;
    std::map<Key, PaddingUse> padding;  // row 0 of the shape: one for each instruction
    void take(const Uses& later);
};

uint64_t key_of(size_t shape, uint64_t row) { return uint64_t{shape} << 40 | row; }

void Uses::take(const Uses& later) {
    for (const auto& [key, use] : later.rows) {
        if (rows.size() >= max_followed && !rows.contains(key)) continue;
        RowUse& all = rows[key];
        if (all.count == 0) {
            const Columns own = all.own;
            const Columns others = all.others;
            all = use;
            all.own.add(own.begin, own.end);
            all.others.add(others.begin, others.end);
            continue;
        }
        all.own.add(use.own.begin, use.own.end);
        all.others.add(use.others.begin, use.others.end);
        all.count += use.count;
    }
    for (const auto& [key, use] : later.padding) {
        const auto [at, is_new] = padding.try_emplace(key, use);
        if (!is_new) at->second.count += use.count;
    }
}

class OfCta : public warp::CtaObserver {
  public:
    explicit OfCta(const std::vector<Shape>& shapes) : shapes_(shapes) {}
    void retired(const warp::Retired& e) override;

    Uses uses;

  private:
    // A lane's accesses by one instruction.
    struct Walk {
        size_t shape = SIZE_MAX;
        uint64_t address = 0;
        uint64_t step = 0;  // 0: not known yet
        uint64_t row = 0;   // that they mean
    };
    using Walks = std::array<Walk, 32>;
    // Lanes one after another.
    struct Run {
        size_t shape = SIZE_MAX;
        uint64_t address = 0;  // of the lane before
        uint64_t step = 0;
        uint64_t row = 0;
    };

    size_t shape_at(uint64_t address);
    void look(const warp::Retired& e, const warp::Access& a);
    uint64_t row_meant(Walk& walk, Run& run, size_t shape, uint64_t address) const;
    void put(const warp::Retired& e, size_t shape, uint32_t lane, uint64_t meant, uint64_t address,
             uint64_t bytes);

    const std::vector<Shape>& shapes_;
    size_t recent_ = 0;
    std::unordered_map<uint64_t, Walks> walks_;  // by instruction and warp
};

// SIZE_MAX: in none.
size_t OfCta::shape_at(uint64_t address) {
    const auto has = [&](const Shape& s) {
        return address >= s.address && address - s.address < s.rows() * s.stride_bytes();
    };
    if (has(shapes_[recent_])) return recent_;
    const auto at = std::ranges::find_if(shapes_, has);
    if (at == shapes_.end()) return SIZE_MAX;
    return recent_ = static_cast<size_t>(at - shapes_.begin());
}

uint64_t OfCta::row_meant(Walk& walk, Run& run, size_t shape, uint64_t address) const {
    const Shape& s = shapes_[shape];
    const uint64_t here = (address - s.address) / s.stride_bytes();
    const auto goes_on = [&](const auto& before) {
        const uint64_t step = address - before.address;  // huge: backwards
        return before.shape == shape && step != 0 && step < s.row_bytes() &&
               (before.step == 0 || before.step == step);
    };
    const bool in_run = goes_on(run);
    const bool in_walk = walk.shape == shape && goes_on(walk);
    uint64_t meant = here;
    if (in_run)
        meant = run.row;
    else if (in_walk)
        meant = walk.row;
    run = {shape, address, in_run ? address - run.address : 0, meant};
    walk = {shape, address, in_walk ? address - walk.address : 0, meant};
    return meant;
}

// [address, address + bytes) was accessed for a row: what of it lies in that one, behind its end,
// and in the next ones.
void OfCta::put(const warp::Retired& e, size_t shape, uint32_t lane, uint64_t meant,
                uint64_t address, uint64_t bytes) {
    const Shape& s = shapes_[shape];
    const uint64_t end = std::min(address + bytes, s.address + s.rows() * s.stride_bytes());
    for (uint64_t at = address; at < end;) {
        const uint64_t row = (at - s.address) / s.stride_bytes();
        const uint64_t column = (at - s.address) % s.stride_bytes();
        const bool is_padding = column >= s.row_bytes();
        const uint64_t next =
            std::min(end, at - column + (is_padding ? s.stride_bytes() : s.row_bytes()));
        const Site site{e.operation, e.cta, e.warp, 1u << lane, e.step};
        const auto touched = static_cast<uint32_t>(next - at);
        if (is_padding) {
            PaddingUse& use = uses.padding[{e.operation, key_of(shape, 0)}];
            if (use.count++ == 0) use = {site, row, at, touched, 1};
        } else if (uses.rows.size() < max_followed) {
            RowUse& use = uses.rows[{e.operation, key_of(shape, row)}];
            if (row == meant) {
                use.own.add(column, column + touched);
            } else {
                use.others.add(column, column + touched);
                if (use.count++ == 0) {
                    use.site = site;
                    use.meant = meant;
                    use.address = at;
                    use.bytes = touched;
                }
            }
        }
        at = next;
    }
}

void OfCta::look(const warp::Retired& e, const warp::Access& a) {
    Walks& walks = walks_[uint64_t{e.operation} << 32 | e.warp];
    Run run;
    // Neighbours that mean the same row are put together.
    uint64_t begin = 0, end = 0, meant = 0;
    size_t shape = SIZE_MAX;
    uint32_t first = 0;
    const auto put_all = [&] {
        if (shape != SIZE_MAX) put(e, shape, first, meant, begin, end - begin);
        shape = SIZE_MAX;
    };
    for (uint32_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        const uint64_t address = a.address[lane];
        const size_t in = shape_at(address);
        if (in == SIZE_MAX) {
            put_all();
            run.shape = SIZE_MAX;
            walks[lane].shape = SIZE_MAX;
            continue;
        }
        const uint64_t row = row_meant(walks[lane], run, in, address);
        const Shape& s = shapes_[in];
        const bool leaves =
            address + a.bytes_of_lane[lane] > s.address + row * s.stride_bytes() + s.row_bytes();
        if (in != shape || row != meant || address != end || leaves) {
            put_all();
            shape = in, meant = row, begin = address, first = lane;
        }
        end = address + a.bytes_of_lane[lane];
        if (leaves) put_all();
    }
    put_all();
}

void OfCta::retired(const warp::Retired& e) {
    // What an update reads it writes too.
    const bool updates =
        isa::row(e.program->operations[e.operation].op).memory == isa::Memory::update;
    for (const warp::Access& a : std::span(e.accesses, e.access_count))
        if (a.space == Space::global && a.lanes != 0 && (a.store || !updates)) look(e, a);
}

class Rows : public Check {
  public:
    Rows(const isa::Program& program, std::vector<Shape> shapes, std::vector<std::string> names)
        : program_(program), shapes_(std::move(shapes)), names_(std::move(names)) {}
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(shapes_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        uses_.take(static_cast<const OfCta&>(*listener).uses);
    }
    std::vector<Finding> findings() const override;

  private:
    // "C[3][64]": of a row, by the byte in it.
    std::string element(size_t shape, uint64_t row, uint64_t column) const;
    Finding left(uint32_t operation, size_t shape, uint64_t row, const RowUse& use) const;
    bool stores(uint32_t operation) const {
        const isa::Memory memory = isa::row(program_.operations[operation].op).memory;
        return memory == isa::Memory::store || memory == isa::Memory::update;
    }

    const isa::Program& program_;
    std::vector<Shape> shapes_;
    std::vector<std::string> names_;  // of the buffers, by shape
    Uses uses_;
};

std::string Rows::element(size_t shape, uint64_t row, uint64_t column) const {
    const Shape& s = shapes_[shape];
    const std::string first = s.element(row * s.stride_bytes());  // "[3][0]"
    return names_[shape] + first.substr(0, first.rfind('[')) + "[" +
           std::to_string(column / s.bytes) + "]";
}

Finding Rows::left(uint32_t operation, size_t shape, uint64_t row, const RowUse& use) const {
    const Shape& s = shapes_[shape];
    const uint64_t column = use.address - s.address - use.meant * s.stride_bytes();
    const bool is_store = stores(operation);
    Finding f;
    f.kind = "beyond-row";
    f.severity = is_store ? Severity::error : Severity::note;
    f.here = use.site;
    f.space = Space::global;
    f.address = use.address;
    f.bytes = use.bytes;
    f.count = use.count;
    const char* const does = is_store ? "stores" : "reads";
    f.message = std::string(does) + " " + element(shape, use.meant, column) + ": the row has " +
                std::to_string(s.sizes.back()) + ", that is " +
                element(shape, row, use.address - s.address - row * s.stride_bytes()) +
                ", which this line " + does + " for its own row too";
    f.hint = "keep the column below " + std::to_string(s.sizes.back());
    return f;
}

std::vector<Finding> Rows::findings() const {
    Collection out;
    for (const auto& [key, use] : uses_.rows) {
        if (use.count == 0 || use.own.begin >= use.others.end || use.others.begin >= use.own.end)
            continue;
        if (out.again("beyond-row", key.first, std::nullopt, use.count)) continue;
        out.add(left(key.first, key.second >> 40, key.second & ((uint64_t{1} << 40) - 1), use));
    }
    for (const auto& [key, use] : uses_.padding) {
        if (out.again("beyond-row", key.first, std::nullopt, use.count)) continue;
        const size_t shape = key.second >> 40;
        const Shape& s = shapes_[shape];
        const uint64_t column = use.address - s.address - use.row * s.stride_bytes();
        Finding f;
        f.kind = "beyond-row";
        f.severity = Severity::note;
        f.here = use.site;
        f.space = Space::global;
        f.address = use.address;
        f.bytes = use.bytes;
        f.count = use.count;
        f.message = std::string(stores(key.first) ? "stores " : "reads ") +
                    element(shape, use.row, column) + ": the row has " +
                    std::to_string(s.sizes.back()) + ", and what follows is no part of the matrix";
        out.add(std::move(f));
    }
    return out.list();
}

}  // namespace

std::unique_ptr<Check> row_bounds(const isa::Program& program, const warp::Launch& launch,
                                  const Described& described) {
    std::vector<Shape> shapes;
    std::vector<std::string> names;
    const std::vector<const warp::Buffer*> buffers = warp::buffers_of(launch);
    for (const Shape& s : described.shapes) {
        if (!s.has_rows()) continue;
        const auto holds = [&](const warp::Buffer* b) {
            return s.address >= b->address && s.address - b->address < b->bytes.size();
        };
        const auto buffer = std::ranges::find_if(buffers, holds);
        if (buffer == buffers.end()) continue;
        shapes.push_back(s);
        names.push_back((*buffer)->name);
    }
    if (shapes.empty()) return nullptr;
    return std::make_unique<Rows>(program, std::move(shapes), std::move(names));
}

}  // namespace lockwarp::check
