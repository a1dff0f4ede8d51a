// SPDX-License-Identifier: Apache-2.0
#include "programs/suite_parts.hpp"

namespace lockwarp::programs {

namespace {

using isa::Op;
using ptx::Space;

std::string barrier_of(const Spelled& s) { return s.mod.space == Space::shared ? "[mb]" : "[%q4]"; }

}  // namespace

// One barrier, made anew for each instruction. Where it is asked, all have arrived: CTA barriers
// stand between, so that the answer does not depend on time.
void write_mbarriers(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    const unsigned threads = w.threads();
    w.declare(".shared .align 8 .b64 mb[2]");
    w.begin("mov.u64 %q4, mb");
    w.begin("cvta.shared.u64 %q4, %q4");
    w.begin("setp.eq.u32 %u3, %rtid, 0");
    w.begin("mov.b64 %x64_0, 0");
    const auto begin = [&](const std::string& make, unsigned count) {
        w.line("bar.sync 0");
        w.line("@%u3 " + make + ", " + std::to_string(count));
        w.line("bar.sync 0");
    };
    const auto ask = [&](unsigned parity) {
        w.line("bar.sync 0");
        w.line("mbarrier.test_wait.parity.shared.b64 %x1_0, [mb], " + std::to_string(parity));
        // A warp that goes on must not arrive before another has asked.
        w.line("bar.sync 0");
    };
    const std::string one = "@%u3 mbarrier.arrive.shared.b64 _, [mb]";
    for (const Spelled& s : spellings) {
        const std::string at = barrier_of(s);
        const std::string to = has(s, "shared::cluster") ? " _, " : " %x64_0, ";
        const std::string make = "mbarrier.init.shared.b64 [mb]";
        switch (s.form->op) {
            case Op::mbarrier_init:
                begin(s.text + " " + at, threads);
                w.line("mbarrier.arrive.shared.b64 _, [mb]");
                ask(0);
                ask(1);
                break;
            case Op::mbarrier_inval:
                begin(make, 1);
                w.line("@%u3 " + s.text + " " + at);
                break;
            case Op::mbarrier_expect:
                begin(make, 1);
                w.line(s.text + " " + at + ", 16");
                w.line("bar.sync 0");
                w.line(one);
                ask(0);
                w.line("mbarrier.complete_tx.shared.b64 [mb], 16");
                ask(0);
                break;
            case Op::mbarrier_complete:
                begin(make, 1);
                w.line("@%u3 mbarrier.arrive.expect_tx.shared.b64 _, [mb], " +
                       std::to_string(24 * threads));
                w.line("bar.sync 0");
                w.line(s.text + " " + at + ", 24");
                ask(0);
                break;
            case Op::mbarrier_arrive:
            case Op::mbarrier_drop: {
                const bool drop = s.form->op == Op::mbarrier_drop;
                // One arrival more than the instruction's, so that it neither ends the phase where
                // it must not nor leaves the barrier without any.
                begin(make, threads + 1);
                const bool needs = s.mod.no_complete || s.mod.expect;
                w.line(s.text + to + at + (s.mod.expect ? ", 16" : needs ? ", 1" : ""));
                ask(0);
                w.line(one);
                ask(0);
                if (s.mod.expect) {
                    w.line("mbarrier.complete_tx.shared.b64 [mb], 16");
                    ask(0);
                }
                if (drop) {
                    w.line(one);
                    ask(1);
                }
                break;
            }
            case Op::mbarrier_wait:
                begin(make, threads);
                w.line("mbarrier.arrive.shared.b64 %x64_0, [mb]");
                w.line("bar.sync 0");
                w.line(s.text + " %x1_0, " + at + (s.mod.parity ? ", 0" : ", %x64_0"));
                if (s.mod.parity) w.line(s.text + " %x1_0, " + at + ", 1");
                if (has(s, "try_wait"))
                    w.line(s.text + " %x1_0, " + at + (s.mod.parity ? ", 0" : ", %x64_0") +
                           ", 1000");
                break;
            default:  // pending_count
                begin(make, threads);
                w.line("mbarrier.arrive.shared.b64 %x64_0, [mb]");
                w.line(s.text + " %x32_0, %x64_0");
                w.line(s.text + " %x32_0, " + w.input(isa::Type::b64, Role::word));
                break;
        }
    }
}

// The operands are the same in all lanes: the assembler computes a policy once for the warp.
void write_policies(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    w.begin("mov.u32 %t1, %ntid.x");
    w.begin("ld.param.u64 %q4, [mem]");
    for (const Spelled& s : spellings) {
        const std::string to = s.text + " %x64_0";
        switch (s.form->op) {
            case Op::policy_fraction:
                w.line(to);
                w.line(to + ", 0.5");
                w.line(to + ", 1.0");
                for (const char* const share : {"0f3a000000", "0f3c23d70a", "0f3cf5c28f"}) {
                    w.line("cvt.rn.f32.u32 %t2, %t1");
                    w.line(std::string("mul.rn.f32 %t2, %t2, ") + share);
                    w.line(to + ", %t2");
                }
                break;
            case Op::policy_range:
                w.line(to + ", [%q4], 4096, 8192");
                w.line("shl.b32 %t2, %t1, 4");
                w.line("mul.lo.u32 %t3, %t1, 100003");
                w.line(to + ", [%q4+64], %t2, %t3");
                w.line(to + ", [%q4], %t3, %t3");
                break;
            default:
                w.line(to + ", 0x12f0000000000000");
                w.line(to + ", %x64_0");
                break;
        }
    }
}

void write_hints(SuiteWriter& w, const std::vector<Spelled>& spellings) {
    for (const Spelled& s : spellings) {
        w.line(s.text + (s.form->slots.empty() ? "" : " 5"));
        w.line("add.u32 %x32_0, %rtid, 1");
    }
}

}  // namespace lockwarp::programs
