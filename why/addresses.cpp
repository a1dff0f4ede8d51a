// SPDX-License-Identifier: Apache-2.0
// What may be wrong where an operand goes through memory: rows, lanes, swizzles, .trans, offsets
// and stages.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "why/address_edit.hpp"
#include "why/hypothesis.hpp"

namespace lockwarp::why {

namespace {

std::string letter(Role role) { return role == Role::a ? "A" : role == Role::b ? "B" : "D"; }

// Instructions that are changed together, and what they are called.
struct Lines {
    std::vector<const Touch*> of;
    Role role = Role::none;
    std::string what;  // "the ldmatrix", "the loads", "the stores"
    std::vector<ptx::Place> places(const Scene& s) const {
        std::vector<ptx::Place> out;
        for (const Touch* t : of) out.push_back(s.program.operations[t->operation].place);
        return out;
    }
};

bool is_ldmatrix(const Scene& s, const Touch& t) {
    return s.program.operations[t.operation].op == isa::Op::ldmatrix;
}

template <class Which>
Lines lines_where(const Scene& s, Role role, const std::string& what, const Which& which) {
    Lines out{{}, role, what};
    for (const Touch& t : s.touches)
        if (t.role == role && which(t)) out.of.push_back(&t);
    return out;
}

// Loads of the operand from shared memory into fragments.
Lines fragment_loads(const Scene& s, Role role) {
    Lines out = lines_where(s, role, "loads", [](const Touch& t) {
        return !t.store && t.feeds && t.space == ptx::Space::shared;
    });
    if (!out.of.empty() && is_ldmatrix(s, *out.of[0])) out.what = "ldmatrix";
    return out;
}
// Stores of its tile to shared memory.
Lines tile_stores(const Scene& s, Role role) {
    Lines out = lines_where(
        s, role, "stores", [](const Touch& t) { return t.store && t.space == ptx::Space::shared; });
    if (!out.of.empty() && s.program.operations[out.of[0]->operation].op == isa::Op::cp_async)
        out.what = "cp.async";
    return out;
}
// Loads from global memory, and D's stores there.
Lines global_loads(const Scene& s, Role role) {
    return lines_where(s, role, "loads",
                       [](const Touch& t) { return !t.store && t.space == ptx::Space::global; });
}
Lines result_stores(const Scene& s) {
    return lines_where(s, Role::d, "stores",
                       [](const Touch& t) { return t.store && t.space == ptx::Space::global; });
}

// All together; a few of them each alone.
std::vector<Lines> parts_of(const Lines& all) {
    constexpr size_t max_single = 8;
    std::vector<Lines> out;
    if (all.of.empty()) return out;
    out.push_back(all);
    if (all.of.size() > 1 && all.of.size() <= max_single)
        for (const Touch* t : all.of) out.push_back({{t}, all.role, all.what});
    return out;
}

void add(const Scene& s, const Lines& lines, const Rewrite& rewrite, std::string words,
         unsigned cost, std::vector<Candidate>& out) {
    Candidate c;
    for (const Touch* t : lines.of)
        if (!rewrite_address(s, t->operation, rewrite, c.patch)) return;
    c.places = lines.places(s);
    c.words = std::move(words);
    c.cost = cost + (lines.of.size() > 1 ? 0 : 1);
    c.operands_only = lines.role != Role::d;
    out.push_back(std::move(c));
}

// Whether this operand does not come as it should, as far as that is known.
bool suspect(const Scene& s, Role role) {
    const double share = role == Role::a ? s.natural.a : s.natural.b;
    return share < 0.999;
}

constexpr std::array both_roles{Role::a, Role::b};

}  // namespace

void try_trans(const Scene& s, std::vector<Candidate>& out) {
    for (const Role role : both_roles) {
        if (!suspect(s, role)) continue;
        for (const Lines& lines : parts_of(lines_where(s, role, "ldmatrix", [&](const Touch& t) {
                 return t.feeds && is_ldmatrix(s, t);
             }))) {
            Candidate c;
            bool had = false;
            for (const Touch* t : lines.of) {
                const ptx::Instruction* const was = s.instruction(t->operation);
                if (was == nullptr) continue;
                Edit e{was->place, {*was}};
                std::vector<ptx::Modifier>& m = e.becomes[0].modifiers;
                const auto trans = std::ranges::find(m, ".trans", &ptx::Modifier::text);
                had = trans != m.end();
                if (had) {
                    m.erase(trans);
                } else {
                    const auto space = std::ranges::find_if(
                        m, [](const ptx::Modifier& x) { return x.text.starts_with(".shared"); });
                    m.insert(space, ptx::Modifier{".trans", {}});
                }
                c.patch.edits.push_back(std::move(e));
            }
            c.places = lines.places(s);
            c.words = "ldmatrix of " + letter(role) + " at " + lines_text(c.places) +
                      (had ? " has .trans, and must not have it" : " lacks .trans");
            c.cost = lines.of.size() > 1 ? 1 : 2;
            c.operands_only = true;
            out.push_back(std::move(c));
        }
    }
}

void try_ldmatrix_rows(const Scene& s, std::vector<Candidate>& out) {
    struct Formula {
        std::string_view code;  // row in %u, half in %v
        std::string_view words;
        unsigned matrices;  // least
    };
    static constexpr std::array formulas{
        Formula{"and.b32 %u, %lane, 15; shr.u32 %v, %lane, 4;", "row lane%16, half lane/16", 4},
        Formula{"and.b32 %u, %lane, 7; shr.u32 %v, %lane, 4; mad.lo.s32 %u, %v, 8, %u; shr.u32 "
                "%v, %lane, 3; and.b32 %v, %v, 1;",
                "row lane%8 + lane/16*8, half lane/8%2", 4},
        Formula{"and.b32 %u, %lane, 7; shr.u32 %v, %lane, 3;", "row lane%8, half lane/8", 4},
        Formula{"mov.u32 %u, %lane; mov.u32 %v, 0;", "row lane, half 0", 4},
        Formula{"and.b32 %u, %lane, 7; shr.u32 %v, %lane, 3; and.b32 %v, %v, 1;",
                "row lane%8, half lane/8%2", 2},
        Formula{"and.b32 %u, %lane, 15; mov.u32 %v, 0;", "row lane%16, half 0", 2},
        Formula{"and.b32 %u, %lane, 7; mov.u32 %v, 0;", "row lane%8", 1},
    };
    for (const Role role : both_roles) {
        if (!suspect(s, role)) continue;
        for (const Lines& lines : parts_of(lines_where(s, role, "ldmatrix", [&](const Touch& t) {
                 return t.feeds && is_ldmatrix(s, t);
             }))) {
            // Distances that lanes next to each other have may be the rows'.
            std::set<uint64_t> pitches;
            const Touch& t = *lines.of[0];
            for (unsigned l = 0; l + 1 < 16; ++l) {
                const uint64_t step = t.address[l + 1] - t.address[l];
                if (step != 0 && step < 4096) pitches.insert(step);
                if (step != 0 && step < 4096 && step % 2 == 0) pitches.insert(step / 2);
            }
            std::erase_if(pitches, [](uint64_t p) { return p < 16 || p % 16 != 0; });
            const unsigned matrices = s.program.operations[t.operation].mod.matrices;
            for (const uint64_t pitch : pitches)
                for (const Formula& f : formulas)
                    if (f.matrices <= matrices)
                        add(s, lines, rows_of(std::string(f.code), pitch),
                            "the row addresses of ldmatrix of " + letter(role) + " at " +
                                lines_text(lines.places(s)) +
                                " are wrong: " + std::string(f.words) + " is right (rows " +
                                std::to_string(pitch) + " bytes apart)",
                            3, out);
        }
    }
}

void try_lanes(const Scene& s, std::vector<Candidate>& out) {
    struct Lanes {
        std::string_view code;  // the right lane in %u
        std::string_view words;
    };
    static constexpr std::array lanes{
        Lanes{"xor.b32 %u, %lane, 1;", "the lanes of each quad are exchanged: lane^1"},
        Lanes{"xor.b32 %u, %lane, 2;", "the lanes of each quad are exchanged: lane^2"},
        Lanes{"xor.b32 %u, %lane, 3;", "the lanes of each quad are exchanged: lane^3"},
        Lanes{"xor.b32 %u, %lane, 4;", "the quads are exchanged: lane^4"},
        Lanes{"xor.b32 %u, %lane, 8;", "the quads are exchanged: lane^8"},
        Lanes{"xor.b32 %u, %lane, 16;", "the quads are exchanged: lane^16"},
        Lanes{"shl.b32 %u, %lane, 2; and.b32 %u, %u, 28; shr.u32 %t, %lane, 3; add.s32 %u, %u, "
              "%t;",
              "lane%8 and lane/8 are exchanged for lane/4 and lane%4"},
        Lanes{"shl.b32 %u, %lane, 3; and.b32 %u, %u, 24; shr.u32 %t, %lane, 2; add.s32 %u, %u, "
              "%t;",
              "lane/4 and lane%4 are exchanged for lane%8 and lane/8"},
        Lanes{"and.b32 %u, %lane, 7; shr.u32 %t, %lane, 4; shl.b32 %t, %t, 3; add.s32 %u, %u, %t; "
              "shr.u32 %t, %lane, 3; and.b32 %t, %t, 1; shl.b32 %t, %t, 4; add.s32 %u, %u, %t;",
              "lanes 8 to 15 and 16 to 23 are exchanged"},
    };
    const auto try_all = [&](const Lines& all) {
        for (const Lines& lines : parts_of(all)) {
            if (lines.of[0]->lanes != UINT32_MAX) continue;
            for (const Lanes& l : lanes)
                add(s, lines, of_lane(std::string(l.code)),
                    "the lanes' addresses of the " + lines.what + " of " + letter(lines.role) +
                        " at " + lines_text(lines.places(s)) + ": " + std::string(l.words),
                    4, out);
            if (all.of.size() > 4) break;
        }
    };
    for (const Role role : both_roles) {
        if (!suspect(s, role)) continue;
        try_all(fragment_loads(s, role));
        try_all(lines_where(s, role, "loads", [](const Touch& t) {
            return !t.store && t.feeds && t.space == ptx::Space::global;
        }));
    }
    if (s.natural.d < 0.999) try_all(result_stores(s));
}

void try_swizzles(const Scene& s, std::vector<Candidate>& out) {
    for (const Role role : both_roles) {
        if (!suspect(s, role)) continue;
        const Lines loads = fragment_loads(s, role), stores = tile_stores(s, role);
        if (loads.of.empty() || stores.of.empty()) continue;
        // The unit is what a lane moves; rows of 16-byte units are what ldmatrix reads.
        std::vector<unsigned> units{4};
        if (loads.what != "ldmatrix") units = {4, 3, 2};
        for (const unsigned unit : units)
            for (unsigned bits = 1; bits <= 3; ++bits)
                for (unsigned shift = bits; shift <= bits + 3 && shift <= 6; ++shift) {
                    const std::string pattern =
                        std::to_string(16U << bits) + " bytes: address bits " +
                        std::to_string(unit + shift) + " to " +
                        std::to_string(unit + shift + bits - 1) + " into " + std::to_string(unit) +
                        " to " + std::to_string(unit + bits - 1);
                    // Lanes that read rows at an equal distance do not swizzle.
                    const Touch& t = *loads.of[0];
                    bool even = true;
                    for (unsigned l = 2; l < 8; ++l)
                        even =
                            even && t.address[l] - t.address[l - 1] == t.address[1] - t.address[0];
                    const std::string with = even ? "the " + stores.what : "the " + loads.what;
                    const std::string without = even ? "the " + loads.what : "the " + stores.what;
                    const Lines& lacks = even ? loads : stores;
                    const std::string words = "the swizzle of " + letter(role) +
                                              "'s tile is missing at " + without + " of " +
                                              lines_text(lacks.places(s)) + " and not at " + with +
                                              " (" + pattern + ")";
                    add(s, loads, swizzled(bits, unit, shift), words, 2, out);
                    add(s, stores, swizzled(bits, unit, shift), words, 2, out);
                }
    }
}

namespace {

// Bits of an address, from `base` on, XORed with those `shift` above.
struct Swizzle {
    unsigned bits, base, shift;
    uint64_t of(uint64_t address) const {
        return address ^ (address >> shift & ((uint64_t{1} << bits) - 1) << base);
    }
    Rewrite rewrite() const { return swizzled(bits, base, shift); }
    std::string text() const {
        return std::to_string(uint64_t{1} << (base + bits)) + " bytes: address bits " +
               std::to_string(base + shift) + " to " + std::to_string(base + shift + bits - 1) +
               " into " + std::to_string(base) + " to " + std::to_string(base + bits - 1);
    }
};

// Of 16-byte units, as ldmatrix reads them.
std::vector<Swizzle> swizzles() {
    std::vector<Swizzle> out;
    for (unsigned bits = 1; bits <= 3; ++bits)
        for (unsigned shift = bits; shift <= bits + 3 && shift <= 6; ++shift)
            out.push_back({bits, 4, shift});
    return out;
}

// Whether lanes read rows at an equal distance, apart from that swizzle.
bool is_even(const Touch& t, const Swizzle& without) {
    const auto row = [&](unsigned lane) { return without.of(t.address[lane]); };
    for (unsigned lane = 2; lane < 8; ++lane)
        if (row(lane) - row(lane - 1) != row(1) - row(0)) return false;
    return true;
}

}  // namespace

// The same swizzle missing for A and for B: what one change cannot mend.
void try_swizzles_of_both(const Scene& s, std::vector<Candidate>& out) {
    if (!suspect(s, Role::a) || !suspect(s, Role::b)) return;
    using Find = Lines(const Scene&, Role);
    for (Find* const find : {&fragment_loads, &tile_stores}) {
        Lines lines = find(s, Role::a);
        const Lines of_b = find(s, Role::b);
        if (lines.of.empty() || of_b.of.empty() || lines.what != of_b.what) continue;
        for (const Touch* t : of_b.of)
            if (std::ranges::find(lines.of, t) == lines.of.end()) lines.of.push_back(t);
        const std::string other = find == &fragment_loads ? tile_stores(s, Role::a).what
                                                          : fragment_loads(s, Role::a).what;
        for (const Swizzle& swizzle : swizzles())
            add(s, lines, swizzle.rewrite(),
                "the swizzle of A's and B's tiles is missing at the " + lines.what + " of " +
                    lines_text(lines.places(s)) + " and not at the " + other + " (" +
                    swizzle.text() + ")",
                2, out);
    }
}

// Loads that undo another swizzle than the stores do.
void try_other_swizzles(const Scene& s, std::vector<Candidate>& out) {
    const auto try_lines = [&](const Lines& lines, const std::string& letters) {
        if (lines.of.empty() || lines.what != "ldmatrix") return;
        for (const Swizzle& is : swizzles()) {
            if (!is_even(*lines.of[0], is) || is_even(*lines.of[0], {0, 4, 1})) continue;
            for (const Swizzle& right : swizzles()) {
                if (right.bits == is.bits && right.shift == is.shift) continue;
                Rewrite both = is.rewrite();
                // The first one's result goes on.
                both.code += " mov.u32 %u, %y; " + std::string("shr.u32 %t, %u, ") +
                             std::to_string(right.shift) + "; and.b32 %t, %t, " +
                             std::to_string(((uint64_t{1} << right.bits) - 1) << right.base) +
                             "; xor.b32 %y, %u, %t;";
                add(s, lines, both,
                    "ldmatrix of " + letters + " at " + lines_text(lines.places(s)) +
                        " undoes another swizzle than its tile has: " + right.text() +
                        " is right, and it has " + is.text(),
                    3, out);
            }
        }
    };
    Lines both = fragment_loads(s, Role::a);
    if (!suspect(s, Role::a) || !suspect(s, Role::b)) both.of.clear();
    for (const Role role : both_roles)
        if (suspect(s, role)) try_lines(fragment_loads(s, role), letter(role));
    if (both.of.empty()) return;
    for (const Touch* t : fragment_loads(s, Role::b).of)
        if (std::ranges::find(both.of, t) == both.of.end()) both.of.push_back(t);
    try_lines(both, "A and B");
}

void try_offsets(const Scene& s, std::vector<Candidate>& out) {
    for (const Role role : both_roles) {
        if (suspect(s, role) || !(role == Role::a ? s.a_is_off : s.b_is_off)) continue;
        for (const Lines& lines :
             {fragment_loads(s, role), tile_stores(s, role), global_loads(s, role)}) {
            if (lines.of.empty()) continue;
            for (int64_t bytes = 16; bytes <= 16384; bytes *= 2)
                for (const int64_t by : {-bytes, bytes})
                    add(s, lines, moved_by(by),
                        "the addresses of the " + lines.what + " of " + letter(role) + " at " +
                            lines_text(lines.places(s)) + " are " + std::to_string(bytes) +
                            " bytes too " + (by < 0 ? "high" : "low"),
                        3, out);
        }
    }
    const Lines stores = result_stores(s);
    if (stores.of.empty() || s.natural.d < 0.999 || !s.d_is_off) return;
    const int64_t width = isa::bits(s.subject.type) / 8;
    const int64_t row = width * static_cast<int64_t>(s.subject.columns);
    std::set<int64_t> tried;
    for (const int64_t rows : {1, 8, 16, 32, 64})
        for (const int64_t unit : {width, row})
            for (const int64_t by : {-rows * unit, rows * unit})
                if (tried.insert(by).second)
                    add(s, stores, moved_by(by),
                        "the addresses of the stores of D at " + lines_text(stores.places(s)) +
                            " are " + std::to_string(by < 0 ? -by : by) + " bytes too " +
                            (by < 0 ? "high" : "low") + " (" + std::to_string(rows) +
                            (unit == row ? " rows)" : " columns)"),
                        3, out);
}

namespace {

// How large stages may be, and how many there are then: the distances between the places where an
// operand's tiles are stored, which lie evenly.
std::map<uint64_t, uint64_t> stage_sizes(const Lines& stores) {
    constexpr uint64_t least = 256, most = 8;
    std::set<uint64_t> places;
    for (const Touch* t : stores.of)
        places.insert(t->first_addresses.begin(), t->first_addresses.end());
    std::map<uint64_t, uint64_t> out;
    for (const uint64_t a : places)
        for (const uint64_t b : places) {
            if (b < a + least) continue;
            const uint64_t extent = *places.rbegin() - *places.begin();
            const uint64_t stages = extent / (b - a) + 1;
            if (stages >= 2 && stages <= most) out.emplace(b - a, stages);
        }
    return out;
}

uint64_t lowest(const Lines& lines) {
    return std::ranges::min(lines.of, {}, &Touch::lowest)->lowest;
}

}  // namespace

void try_stages(const Scene& s, std::vector<Candidate>& out) {
    // Both operands are behind together, or one of them is.
    if (!s.k_is_missing && !s.k_is_twice && !s.a_is_off && !s.b_is_off) return;
    for (const std::vector<Role>& roles :
         {std::vector{Role::a, Role::b}, std::vector{Role::a}, std::vector{Role::b}}) {
        std::vector<Lines> loads, stores;
        std::map<uint64_t, uint64_t> sizes;
        for (const Role role : roles) {
            loads.push_back(fragment_loads(s, role));
            stores.push_back(tile_stores(s, role));
            if (loads.back().of.empty() || stores.back().of.empty() || suspect(s, role)) return;
            sizes.merge(stage_sizes(stores.back()));
        }
        for (const auto& [bytes, stages] : sizes) {
            for (uint64_t further = 1; further < stages; ++further)
                for (const std::vector<Lines>* side : {&loads, &stores}) {
                    Candidate c;
                    bool good = true;
                    std::string letters;
                    for (size_t i = 0; i < roles.size(); ++i) {
                        const uint64_t first = std::min(lowest(loads[i]), lowest(stores[i]));
                        letters += (letters.empty() ? "" : " and ") + letter(roles[i]);
                        for (const Touch* t : (*side)[i].of) {
                            good = good && rewrite_address(
                                               s, t->operation,
                                               next_stage(first, bytes, stages, further), c.patch);
                            c.places.push_back(s.program.operations[t->operation].place);
                        }
                    }
                    if (!good) continue;
                    const uint64_t ahead = stages - further;
                    c.words = "the " + (*side)[0].what + " of " + letters + " at " +
                              lines_text(c.places) + " use the buffer of stage s+" +
                              std::to_string(ahead) + " where that of s is right (" +
                              std::to_string(stages) + " stages of " + std::to_string(bytes) +
                              " bytes): a stale or another tile's";
                    c.cost = 4 + static_cast<unsigned>(further) + (side == &stores ? 3 : 0);
                    c.operands_only = true;
                    out.push_back(std::move(c));
                }
        }
    }
}

void try_swizzled_rows(const Scene& s, std::vector<Candidate>& out) {
    struct Formula {
        std::string_view code;  // row in %u, half in %v
        std::string_view words;
        unsigned matrices;
    };
    static constexpr std::array formulas{
        Formula{"and.b32 %u, %lane, 15; shr.u32 %v, %lane, 4;", "row lane%16, half lane/16", 4},
        Formula{"and.b32 %u, %lane, 7; shr.u32 %v, %lane, 4; mad.lo.s32 %u, %v, 8, %u; shr.u32 "
                "%v, %lane, 3; and.b32 %v, %v, 1;",
                "row lane%8 + lane/16*8, half lane/8%2", 4},
        Formula{"and.b32 %u, %lane, 7; shr.u32 %v, %lane, 3; and.b32 %v, %v, 1;",
                "row lane%8, half lane/8%2", 2},
        Formula{"and.b32 %u, %lane, 15; mov.u32 %v, 0;", "row lane%16, half 0", 2},
    };
    for (const Role role : both_roles) {
        if (!suspect(s, role)) continue;
        const Lines lines = lines_where(
            s, role, "ldmatrix", [&](const Touch& t) { return t.feeds && is_ldmatrix(s, t); });
        if (lines.of.empty()) continue;
        const unsigned matrices = s.program.operations[lines.of[0]->operation].mod.matrices;
        for (const uint64_t pitch : {32, 64, 128, 256})
            for (unsigned bits = 1; bits <= 3; ++bits)
                for (unsigned shift = bits; shift <= 4; ++shift)
                    for (const Formula& f : formulas)
                        if (f.matrices == matrices)
                            add(s, lines, swizzled_rows_of(std::string(f.code), pitch, bits, shift),
                                "the row addresses of ldmatrix of " + letter(role) + " at " +
                                    lines_text(lines.places(s)) +
                                    " are wrong: " + std::string(f.words) + " is right (rows " +
                                    std::to_string(pitch) + " bytes apart, swizzled)",
                                4, out);
    }
}

}  // namespace lockwarp::why
