// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using isa::Type;

constexpr unsigned shared_bytes = 4096;  // of each warp

std::vector<std::string> results(SuiteWriter& w, const FragmentRegisters& f) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < f.count; ++i) names.push_back(w.result(f.width, i));
    return names;
}

std::vector<std::string> rotated(std::vector<std::string> names, size_t by) {
    std::rotate(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(by % names.size()),
                names.end());
    return names;
}

}  // namespace

void write_wmma(SuiteWriter& w, const std::vector<const isa::WmmaVariant*>& variants) {
    const isa::WmmaVariant& first = *variants[0];
    const auto inputs = [&](char which, Type element, unsigned base) {
        std::vector<std::string> names;
        for (unsigned i = 0; i < wmma_registers(w.arch(), first, which).count; ++i)
            names.push_back(w.input(element, Role::fragment, base + i));
        return names;
    };
    const std::vector<std::string> a = inputs('a', first.ab, 0);
    const std::vector<std::string> b = inputs('b', first.ab, 100);
    const std::vector<std::string> c = inputs('c', first.c, 200);
    const std::vector<std::string> d = results(w, wmma_registers(w.arch(), first, 'd'));
    size_t n = 0;
    const auto product = [&](const std::string& text, const std::vector<std::string>& from) {
        w.line(text + " " + braced(d) + ", " + braced(rotated(a, n)) + ", " +
               braced(rotated(b, n / 2)) + ", " + braced(from));
        ++n;
    };
    for (const isa::WmmaVariant* v : variants) {
        product(wmma_spelling(*v, false), c);
        if (v->satfinite) product(wmma_spelling(*v, true), n % 4 == 1 ? d : c);
        if (v->ab == Type::f64)
            for (const char* const rounding : {".rn", ".rz", ".rm", ".rp"})
                product(wmma_spelling(*v, false, rounding), rounding[2] == 'z' ? d : c);
    }
    // One more that goes on from a result.
    if (first.c == first.d) product(wmma_spelling(first, false), d);
}

// Matrices of the warp's kilobyte of the buffer `mem`, and of four in shared memory, whose lines
// may lie further apart.
void write_wmma_moves(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    w.declare(".shared .align 128 .b8 sm[" + std::to_string(w.threads() / 32 * shared_bytes) + "]");
    w.begin("mul.wide.u32 %q5, %rlane, 32");
    w.begin("sub.s64 %q5, %qmem, %q5");
    w.begin("mov.u32 %t3, sm");
    w.begin("mad.lo.u32 %t3, %rwarp, " + std::to_string(shared_bytes) + ", %t3");
    w.begin("mad.lo.u32 %t4, %rlane, 32, %t3");
    for (unsigned at = 0; at < 32; at += 16) {
        w.begin("ld.global.v2.b64 {%q1, %q2}, [%qmem+" + std::to_string(at) + "]");
        for (unsigned part = 0; part < shared_bytes; part += 1024)
            w.begin("st.shared.v2.b64 [%t4+" + std::to_string(part + at) + "], {%q1, %q2}");
    }
    w.begin("bar.warp.sync 0xffffffff");
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        if (s.form->op == Op::wmma_mma) continue;
        const isa::WmmaFragment& f = *moved_fragment(w.arch(), s.mod);
        const Lines lines = lines_of(f, s.mod.order[0]);
        const bool load = s.form->op == Op::wmma_load;
        const bool shared = s.mod.space == ptx::Space::shared;
        const std::string base = shared ? "%t3" : "%q5";
        // Without a stride; with the same; with a larger one where there is room for it.
        const unsigned room = (shared ? shared_bytes : 1024) * 8 / f.part.bits;
        const unsigned unit = 256 / f.part.bits;
        unsigned wide = (lines.elements + unit - 1) / unit * unit + unit * (1 + n % 2);
        if (wide * lines.count > room) wide = lines.elements;
        std::string stride;
        switch (n % 3) {
            case 0:
                break;
            case 1:
                stride = ", " + std::to_string(wide);
                break;
            default:
                w.line("mov.u32 %t5, " + std::to_string(wide));
                stride = ", %t5";
                break;
        }
        const FragmentRegisters registers = wmma_registers(f, s.mod.type[0]);
        if (load) {
            w.line(s.text + " " + braced(results(w, registers)) + ", [" + base + "]" + stride);
            ++n;
            continue;
        }
        std::vector<std::string> names;
        constexpr std::array roles{Role::a, Role::b, Role::c, Role::word};
        const Type bits = registers.width == 64 ? Type::b64 : Type::b32;
        for (unsigned i = 0; i < registers.count; ++i)
            names.push_back(w.input(bits, roles[(i + n) % 4], i / 4));
        w.line(s.text + " [" + base + "], " + braced(names) + stride);
        w.line("bar.warp.sync 0xffffffff");
        const std::string space = shared ? "ld.shared" : "ld.global";
        const std::string own = shared ? "%t4" : "%qmem";
        for (unsigned at = 0; at < 32; at += 16)
            w.line(space + ".v4.b32 {" + w.result(32, 0) + ", " + w.result(32, 1) + ", " +
                   w.result(32, 2) + ", " + w.result(32, 3) + "}, [" + own + "+" +
                   std::to_string(at) + "]");
        w.line("bar.warp.sync 0xffffffff");
        ++n;
    }
}

}  // namespace lockwarp::programs
