// SPDX-License-Identifier: Apache-2.0
#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using isa::Type;

// Lanes that part, meet again, loop each as often as it likes, and skip under a guard.
void branches(SuiteWriter& w, const std::string& a, const std::string& b) {
    w.predicate(3);
    w.line("@%u0 bra else_part");
    w.line("add.u32 %x32_0, " + a + ", " + b);
    w.line("@!%u1 bra inner");
    w.line("xor.b32 %x32_0, %x32_0, %rlane");
    w.label("inner");
    w.line("mul.lo.u32 %x32_1, %x32_0, 3");
    w.line("bra joined");
    w.label("else_part");
    w.line("sub.u32 %x32_1, " + a + ", " + b);
    w.label("joined");
    w.line("add.u32 %x32_2, %x32_0, %x32_1");
    w.line("and.b32 %t2, " + a + ", 7");
    w.label("loop");
    w.line("mad.lo.u32 %x32_0, %x32_0, 5, %t2");
    w.line("setp.eq.u32 %x1_0, %t2, 3");
    w.line("@%x1_0 add.u32 %x32_0, %x32_0, 1000");
    w.line("@%x1_0 bra odd_exit");
    w.line("sub.u32 %t2, %t2, 1");
    w.line("setp.gt.s32 %x1_0, %t2, 0");
    w.line("@%x1_0 bra loop");
    w.label("odd_exit");
    w.line("xor.b32 %x32_1, %x32_1, %x32_0");
    for (const char* const guard : {"@%u2 ", "@!%u2 "}) {
        const std::string g = guard;
        w.line(g + "add.u32 %x32_3, " + a + ", 1");
        w.line(g + "ld.global.b32 %x32_4, [%qmem]");
        w.line(g + "st.global.b32 [%qmem+4], %x32_3");
        w.line(g + "setp.lt.u32 %x1_1, " + a + ", " + b);
        w.line(g + "mov.b64 {%x32_5, %x32_6}, " + w.input(Type::b64, Role::a));
    }
    // An instruction that writes its own guard.
    w.line("@%x1_1 setp.lt.u32 %x1_1, " + a + ", 65536");
    w.line("@!%x1_1 add.u32 %x32_2, %x32_2, 7");
    w.line("ld.global.b32 %x32_0, [%qmem+4]");
}

}  // namespace

void write_flow(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    const std::string a = w.input(Type::b32, Role::a);
    const std::string b = w.input(Type::b32, Role::b);
    if (spellings[0].form->op == Op::bra) branches(w, a, b);
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        w.line("add.u32 %x32_0, " + a + ", " + std::to_string(n));
        w.line("st.global.b32 [%qmem], %x32_0");
        const std::string label = "over" + std::to_string(n);
        switch (s.form->op) {
            case Op::bra:
                w.line(s.text + " " + label);
                w.line("add.u32 %x32_0, %x32_0, 1");
                w.label(label);
                break;
            case Op::brx:  // uniform: every lane by the same index
                w.line("and.b32 %t2, " + (s.mod.uniform ? std::string("%rwarp") : a) + ", 3");
                w.line(label + "t: .branchtargets " + label + ", " + label + "b, " + label + ", " +
                       label + "c");
                w.line(s.text + " %t2, " + label + "t");
                w.label(label + "b");
                w.line("add.u32 %x32_0, %x32_0, 1");
                w.label(label + "c");
                w.line("add.u32 %x32_0, %x32_0, 2");
                w.label(label);
                break;
            case Op::nanosleep:
                w.line(s.text + " 20");
                break;
            default:  // ret, exit: by lane, and by warp where it has to be uniform
                if (s.mod.uniform) {
                    w.line("setp.gt.u32 %u3, %rwarp, 3");
                    w.line("@%u3 " + s.text);
                } else {
                    w.line("@" + w.predicate(n % 3) + " " + s.text);
                }
                break;
        }
        w.line("sub.u32 %x32_1, %x32_0, " + b);
        w.line("st.global.b32 [%qmem+8], %x32_1");
        ++n;
    }
}

void write_barriers(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    const std::string all = std::to_string(w.threads());
    w.declare(".shared .align 16 .b8 sm[" + std::to_string(w.threads() * 4) + "]");
    w.begin("mov.u32 %t6, sm");
    w.begin("mad.lo.u32 %t7, %rtid, 4, %t6");
    w.begin("setp.lt.u32 %u3, %rwarp, " + std::to_string(w.threads() / 64));
    unsigned n = 0;
    // Each thread writes a word, waits, and reads another thread's.
    const auto exchange = [&](const std::string& wait, const std::string& other) {
        w.line("mad.lo.u32 %x32_1, %rtid, 2654435761, " + std::to_string(n * 77777 + 1));
        w.line("st.shared.b32 [%t7], %x32_1");
        w.line(wait);
        w.line(other);
        w.line("mad.lo.u32 %t2, %t2, 4, %t6");
        w.line("ld.shared.b32 %x32_0, [%t2]");
        w.line("bar.sync 0");
        ++n;
    };
    const std::string far =
        "add.u32 %t2, %rtid, 97; and.b32 %t2, %t2, " + std::to_string(w.threads() - 1);
    for (const Spelled& s : spellings) {
        if (s.form->op == Op::cluster_arrive) {  // who arrives at a cluster's barrier waits there
            exchange(s.text, "barrier.cluster.wait; " + far);
        } else if (s.form->op == Op::cluster_wait) {
            exchange("barrier.cluster.arrive; " + s.text, far);
        } else if (s.form->op == Op::bar_warp) {
            exchange(s.text + " 0xffffffff", "xor.b32 %t2, %rtid, 21");
        } else if (s.mod.arrive) {
            // The lower half of the CTA writes and goes on; the upper half waits for it.
            const std::string lower = "lower" + std::to_string(n);
            const std::string met = "met" + std::to_string(n);
            w.line("mad.lo.u32 %x32_1, %rtid, 40503, " + std::to_string(n));
            w.line("st.shared.b32 [%t7], %x32_1");
            w.line("@%u3 bra " + lower);
            w.line("barrier.sync 3, " + all);
            w.line("sub.u32 %t2, %t7, " + std::to_string(w.threads() * 2));
            w.line("ld.shared.b32 %x32_0, [%t2]");
            w.line("bra " + met);
            w.label(lower);
            w.line(s.text + " 3, " + all);
            w.label(met);
            w.line("bar.sync 0");
            ++n;
        } else {
            const bool counts = s.mod.type[0] == isa::Type::u32;
            const bool value = s.form->op == Op::bar_red;
            const std::string to = !value ? "" : counts ? "%x32_2, " : "%x1_0, ";
            const std::string of = value ? ", " + w.predicate(n % 3) : "";
            exchange(s.text + " " + to + "1" + of, far);
            exchange(s.text + " " + to + "2, " + all + of, far);
        }
    }
}

void write_fences(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    unsigned n = 0;
    for (const Spelled& s : spellings) {
        w.line("mad.lo.u32 %x32_1, %rtid, 40503, " + std::to_string(n++));
        w.line("st.global.b32 [%qmem], %x32_1");
        w.line(s.text);
        w.line("ld.global.b32 %x32_0, [%qmem]");
    }
}

}  // namespace lockwarp::programs
