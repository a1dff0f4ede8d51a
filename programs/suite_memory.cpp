// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using isa::Type;
using ptx::Space;

// 32 bytes for each thread in shared memory, at [%t1], and in local memory, at [lo], that begin as
// those of the buffer do; 64 constant ones at [co].
void declare_spaces(SuiteWriter& w) {
    w.declare(".shared .align 16 .b8 sm[" + std::to_string(w.threads() * 32) + "]");
    w.declare(".local .align 16 .b8 lo[32]");
    std::string bytes;
    for (unsigned i = 0; i < 64; ++i) bytes += (i == 0 ? "" : ", ") + std::to_string(i * 37 % 251);
    w.declare_constant(".const .align 16 .b8 co[64] = {" + bytes + "}");
    w.begin("mov.u32 %t1, sm");
    w.begin("mad.lo.u32 %t1, %rtid, 32, %t1");
    for (const char* const at : {"+0]", "+16]"}) {
        w.begin(std::string("ld.global.v2.b64 {%q1, %q2}, [%qmem") + at);
        w.begin(std::string("st.shared.v2.b64 [%t1") + at + ", {%q1, %q2}");
        w.begin(std::string("st.local.v2.b64 [lo") + at + ", {%q1, %q2}");
    }
    // A cache policy: evict first.
    w.begin("mov.b64 %q3, 0x12f0000000000000");
}

std::string address(Space space, unsigned offset) {
    std::string base = "%qmem";
    if (space == Space::shared) base = "%t1";
    if (space == Space::local) base = "lo";
    if (space == Space::const_) base = "co";
    if (space == Space::param) base = "pa";
    return "[" + base + "+" + std::to_string(offset) + "]";
}

std::string_view space_name(Space space) {
    return space == Space::shared ? ".shared" : space == Space::local ? ".local" : ".global";
}

// One register or a vector of them.
std::string registers(SuiteWriter& w, unsigned width, unsigned count) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < count; ++i) names.push_back(w.result(width, i));
    return count == 1 ? names[0] : braced(names);
}

// 256 bits, all of a thread's own memory, into registers of their type.
bool is_whole(const Spelled& s) { return s.mod.vec * isa::bits(s.mod.type[0]) == 256; }

std::string vector_name(unsigned count) { return count == 1 ? "" : ".v" + std::to_string(count); }

}  // namespace

void write_ld(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        const Type type = s.mod.type[0];
        if (type == Type::b128) {
            w.line(s.text + " %x128_0, " + address(s.mod.space, n++ % 3 == 2 ? 16 : 0) +
                   (has(s, "cache_hint") ? ", %q3" : ""));
            w.line("mov.b128 {%x64_0, %x64_1}, %x128_0");
            continue;
        }
        unsigned width = register_width(type);
        // The value is extended to a wider register.
        if (!isa::is_float(type) && n % 2 == 1 && !is_whole(s))
            width = n % 4 == 1 ? std::max(width, 32u) : 64;
        w.line(s.text + " " + registers(w, width, s.mod.vec) + ", " +
               address(s.mod.space, n % 3 == 2 && !is_whole(s) ? 16 : 0) +
               (has(s, "cache_hint") ? ", %q3" : ""));
        ++n;
    }
}

void write_st(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    constexpr std::array roles{Role::a, Role::b, Role::c, Role::word};
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        const unsigned width = isa::bits(s.mod.type[0]);
        if (width == 128) {
            const std::string at = address(s.mod.space, n % 2 * 16);
            w.line("mov.b128 %x128_1, {" + w.input(Type::b64, roles[n % 4]) + ", " +
                   w.input(Type::b64, roles[(n + 1) % 4]) + "}");
            w.line(s.text + " " + at + ", %x128_1" + (has(s, "cache_hint") ? ", %q3" : ""));
            w.line("ld" + std::string(space_name(s.mod.space)) + ".v2.b64 {%x64_0, %x64_1}, " + at);
            ++n;
            continue;
        }
        const Type bits = width == 64 ? Type::b64 : width == 32 ? Type::b32 : Type::b16;
        // Another value than the one before, which may still lie there.
        std::vector<std::string> names;
        for (unsigned i = 0; i < s.mod.vec; ++i)
            names.push_back(w.input(bits, roles[(n + i) % roles.size()]));
        const std::string at = address(s.mod.space, is_whole(s) ? 0 : n % 2 * 16);
        w.line(s.text + " " + at + ", " + (names.size() == 1 ? names[0] : braced(names)) +
               (has(s, "cache_hint") ? ", %q3" : ""));
        w.line("ld" + std::string(space_name(s.mod.space)) + vector_name(s.mod.vec) + ".b" +
               std::to_string(width) + " " + registers(w, std::max(width, 16u), s.mod.vec) + ", " +
               at);
        ++n;
    }
}

// Each lane has its own address, so that the order of the lanes does not matter. What memory holds
// afterwards is loaded again.
void write_atomics(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        const Type type = s.mod.type[0];
        const unsigned width = isa::bits(type);
        if (width == 128) {
            const std::string at = address(s.mod.space, n % 2 * 16);
            const auto pair = [&](const char* name, Role low, Role high) {
                w.line(std::string("mov.b128 ") + name + ", {" + w.input(Type::b64, low) + ", " +
                       w.input(Type::b64, high) + "}");
            };
            pair("%x128_0", Role::a, Role::b);
            pair("%x128_1", n % 4 < 2 ? Role::a : Role::b, Role::b);
            pair("%x128_2", Role::c, Role::a);
            w.line("st" + std::string(space_name(s.mod.space)) + ".b128 " + at + ", %x128_0");
            w.line(s.text + " %x128_3, " + at + ", %x128_1" +
                   (s.mod.reduce == isa::Reduce::cas ? ", %x128_2" : "") +
                   (has(s, "cache_hint") ? ", %q3" : ""));
            w.line("ld" + std::string(space_name(s.mod.space)) + ".v2.b64 {%x64_0, %x64_1}, " + at);
            ++n;
            continue;
        }
        const auto inputs = [&](Role role) {
            std::vector<std::string> names;
            for (unsigned i = 0; i < s.mod.vec; ++i) names.push_back(w.input(type, role, i % 2));
            return names.size() == 1 ? names[0] : braced(names);
        };
        const std::string at = address(s.mod.space, n % 2 * 16);
        // An .f16 and a .v8 of it are stored and loaded in parts that ld and st have.
        const unsigned words = width * s.mod.vec / 32;
        const std::string_view space = space_name(s.mod.space);
        if (s.mod.vec == 1)
            w.line("st" + std::string(space) + ".b" + std::to_string(width) + " " + at + ", " +
                   inputs(Role::a));
        // The value that cas expects is there in every other.
        std::string line = s.text + " ";
        if (s.form->op == Op::atom) line += registers(w, width, s.mod.vec) + ", ";
        line += at + ", ";
        if (s.mod.reduce == isa::Reduce::cas)
            line += inputs(n % 4 < 2 ? Role::a : Role::b) + ", " + inputs(Role::c);
        else
            line += inputs(Role::b);
        w.line(line + (has(s, "cache_hint") ? ", %q3" : ""));
        const unsigned part = width * s.mod.vec < 32 ? width : 32;
        const unsigned parts = std::max(words, 1u);
        w.line("ld" + std::string(space) + vector_name(parts) + ".b" + std::to_string(part) + " " +
               registers(w, part, parts) + ", " + at);
        ++n;
    }
}

void write_cp(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    w.declare(".shared .align 8 .b64 mb[2]");
    w.begin("mov.u64 %q4, mb");
    w.begin("cvta.shared.u64 %q4, %q4");
    unsigned n = 0;
    const auto copy = [&](const Spelled& s, unsigned size, const std::string& source_size) {
        const std::string hint = has(s, "cache_hint") ? ", %q3" : "";
        w.line(s.text + " [%t1], [%qmem+" + std::to_string(n % 2 * 16) + "], " +
               std::to_string(size) + source_size + hint);
        if (n++ % 3 == 0) {
            w.line("cp.async.wait_all");
        } else {
            w.line("cp.async.commit_group");
            w.line("cp.async.wait_group 0");
        }
        const unsigned words = size / 4;
        w.line("ld.shared" + vector_name(words) + ".b32 " + registers(w, 32, words) + ", [%t1]");
    };
    for (const Spelled& s : spellings) {
        if (s.form->op == Op::mbarrier_copies) {
            w.line("bar.warp.sync 0xffffffff");
            w.line("setp.eq.u32 %u3, %rlane, 0");
            w.line("@%u3 mbarrier.init.shared.b64 [mb], 32");
            w.line("bar.warp.sync 0xffffffff");
            w.line("cp.async.ca.shared.global [%t1], [%qmem], 16");
            w.line(s.text + (s.mod.space == Space::shared ? " [mb]" : " [%q4]"));
            if (!s.mod.no_increment) w.line("mbarrier.arrive.shared.b64 _, [mb]");
            w.line("cp.async.wait_all");
            w.line("nanosleep.u32 2000");
            w.line("bar.warp.sync 0xffffffff");
            w.line("mbarrier.test_wait.parity.shared.b64 %x1_0, [mb], 0");
            continue;
        }
        if (s.form->op != Op::cp_async) continue;
        for (const unsigned size : {4u, 8u, 16u}) {
            if (size != 16 && has(s, ".cg")) continue;
            copy(s, size, "");
            // What is left of the destination is filled with zeros.
            w.line("and.b32 %t2, %rlane, " + std::to_string(size - 1));
            copy(s, size, ", %t2");
        }
    }
}

// Each warp has a kilobyte: 64 rows of 16 bytes, taken in an order that differs each time.
void write_matrix_moves(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    w.begin("mov.u32 %t3, sm");
    w.begin("mad.lo.u32 %t3, %rwarp, 1024, %t3");
    w.begin("bar.warp.sync 0xffffffff");
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        const unsigned matrices = s.mod.matrices;
        for (unsigned repeat = 0; repeat < 2; ++repeat, ++n) {
            const bool load = s.form->op == Op::ldmatrix;
            w.line("mad.lo.u32 %t4, %rlane, 5, " + std::to_string(n * 3 + 1));
            w.line("and.b32 %t4, %t4, " + std::string(load ? "63" : "31"));
            w.line("mad.lo.u32 %t4, %t4, 16, %t3");
            if (load) {
                w.line(s.text + " " + braced([&] {
                           std::vector<std::string> names;
                           for (unsigned i = 0; i < matrices; ++i) names.push_back(w.result(32, i));
                           return names;
                       }()) +
                       ", [%t4]");
                continue;
            }
            std::vector<std::string> names;
            constexpr std::array roles{Role::a, Role::b, Role::c, Role::word};
            for (unsigned i = 0; i < matrices; ++i)
                names.push_back(w.input(Type::b32, roles[(i + n) % roles.size()]));
            w.line(s.text + " [%t4], " + braced(names));
            w.line("bar.warp.sync 0xffffffff");
            w.line("mad.lo.u32 %t5, %rlane, 16, %t3");
            w.line("ld.shared.v4.b32 " + registers(w, 32, 4) + ", [%t5]");
            w.line("bar.warp.sync 0xffffffff");
        }
    }
}

void write_addresses(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    declare_spaces(w);
    for (const Spelled& s : spellings) {
        switch (s.form->op) {
            case Op::cvta:
                w.line(s.text + " " + w.result(64) + ", %qmem");
                break;
            case Op::isspacep:
                w.line(s.text + " " + w.result(1) + ", %qmem");
                break;
            default:  // prefetch
                if (has(s, "applypriority")) {
                    w.line("and.b64 %q4, %qmem, -128");
                    w.line(s.text + " [%q4], 128");
                } else {
                    w.line(s.text + " " + address(s.mod.space, 0));
                }
                w.line("ld" + std::string(space_name(s.mod.space)) + ".b32 " + w.result(32) + ", " +
                       address(s.mod.space, 0));
                break;
        }
    }
}

}  // namespace lockwarp::programs
