// SPDX-License-Identifier: Apache-2.0
// Probes of what Hopper does beside its warps: bulk copies, mbarriers, wgmma; and of the fences
// between.
#include <algorithm>
#include <array>

#include "programs/clock_probe_parts.hpp"

namespace lockwarp::programs {

namespace {

constexpr unsigned repeats = 16;  // of each probe
constexpr uint16_t version = 80;

// Each waits for all that the one before it left.
struct Line {
    const char* key;
    const char* text;  // %q4: global memory; %sm: shared memory
    bool by_one;       // one lane runs it, else all
};
constexpr std::array lines{
    Line{"fence.acq_rel.cluster", "fence.acq_rel.cluster", false},
    Line{"fence.acq_rel.gpu", "fence.acq_rel.gpu", false},
    Line{"st.global>fence.acq_rel.gpu", "st.global.b32 [%q4], %r0;\nfence.acq_rel.gpu", false},
    Line{"fence.proxy.async", "fence.proxy.async", false},
    Line{"st.global>fence.proxy.async", "st.global.b32 [%q4], %r0;\nfence.proxy.async", false},
    Line{"st.shared>fence.proxy.async", "st.shared.b32 [%sm], %r0;\nfence.proxy.async", false},
    Line{"fence.proxy.async.shared::cta", "fence.proxy.async.shared::cta", false},
    Line{"st.shared>fence.proxy.async.shared::cta",
         "st.shared.b32 [%sm], %r0;\nfence.proxy.async.shared::cta", false},
    Line{"fence.mbarrier_init.release.cluster", "fence.mbarrier_init.release.cluster", false},
    Line{"barrier.cluster.arrive.relaxed>barrier.cluster.wait",
         "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned", false},
    Line{"barrier.cluster.arrive>barrier.cluster.wait",
         "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned", false},
    Line{"cp.async.bulk.commit_group>wait_group",
         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0", true},
};

// For the phase of `parity`, turned over.
std::string wait(const std::string& parity, unsigned i) {
    const std::string label = "WAIT" + std::to_string(i);
    return label + ": mbarrier.try_wait.parity.shared.b64 %done, [%bar], " + parity +
           ";\n@!%done bra " + label + ";\nxor.b32 " + parity + ", " + parity + ", 1";
}

struct Begun {
    ProbeWriter w;
    std::string parity;
};

Begun begin(const std::string& key, unsigned warps, unsigned shared_bytes, bool by_one) {
    Begun b{ProbeWriter(key, repeats, {warps}), ""};
    ProbeWriter& w = b.w;
    w.asks(version, isa::Suffix::none);
    const std::string sm = w.shared(std::max(shared_bytes, 4096u), 4096);
    w.setup(".reg .b32 %sm, %bar;\n.reg .pred %done, %one;\n.shared .b64 barrier");
    w.setup("mov.u32 %sm, " + sm + ";\nmov.u32 %bar, barrier");
    w.setup("setp.eq.u32 %one, %r1, 0");
    b.parity = w.zero(32);
    w.setup("@%one mbarrier.init.shared.b64 [%bar], 1;\nfence.proxy.async");
    if (by_one) w.only_where("%one");
    w.result(b.parity, 32);
    return b;
}

void add_line(ProbeList& list, const Line& l) {
    if (!list.wants(l.key)) return;
    Begun b = begin(l.key, 1, 4096, l.by_one);
    for (unsigned i = 0; i < repeats; ++i) b.w.line(l.text);
    list.add(b.w);
}

void add_phases(ProbeList& list) {
    const std::string key = "mbarrier.arrive>mbarrier.try_wait";
    if (!list.wants(key)) return;
    Begun b = begin(key, 1, 4096, true);
    for (unsigned i = 0; i < repeats; ++i)
        b.w.line("mbarrier.arrive.shared.b64 _, [%bar];\n" + wait(b.parity, i));
    list.add(b.w);
}

void add_bulk(ProbeList& list, unsigned bytes) {
    const std::string size = std::to_string(bytes);
    if (const std::string key = "cp.async.bulk.shared::cluster.global bytes" + size;
        list.wants(key)) {
        Begun b = begin(key, 1, bytes, true);
        for (unsigned i = 0; i < repeats; ++i)
            b.w.line("mbarrier.arrive.expect_tx.shared.b64 _, [%bar], " + size +
                     ";\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sm], "
                     "[%q4], " +
                     size + ", [%bar];\n" + wait(b.parity, i));
        list.add(b.w);
    }
    if (const std::string key = "cp.async.bulk.global.shared::cta bytes" + size; list.wants(key)) {
        Begun b = begin(key, 1, bytes, true);
        for (unsigned i = 0; i < repeats; ++i)
            b.w.line("cp.async.bulk.global.shared::cta.bulk_group [%q4], [%sm], " + size +
                     ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0");
        list.add(b.w);
    }
}

// Groups of products, each waited for; both operands are zeros of shared memory.
void add_products(ProbeList& list, unsigned n, unsigned products) {
    const std::string shape = "m64n" + std::to_string(n) + "k16";
    const std::string key = "wgmma." + shape + ".f32.f16.f16 group" + std::to_string(products);
    if (!list.wants(key)) return;
    Begun b = begin(key, 4, 32768, false);
    ProbeWriter& w = b.w;
    w.asks(version, isa::Suffix::a);
    std::string d;
    for (unsigned i = 0; i < n / 2; ++i) {
        const std::string name = "%d_" + std::to_string(i);
        w.setup(".reg .f32 " + name + ";\nmov.b32 " + name + ", 0");
        d += (i != 0 ? ", " : "") + name;
    }
    w.setup(".reg .b64 %ops;\ncvt.u64.u32 %ops, %sm;\nshr.b64 %ops, %ops, 4");
    w.setup("or.b64 %ops, %ops, 0x4000004000010000");  // rows of 128 bytes, swizzled
    for (unsigned i = 0; i < repeats; ++i) {
        w.line("wgmma.fence.sync.aligned");
        for (unsigned k = 0; k < products; ++k)
            w.line("wgmma.mma_async.sync.aligned." + shape + ".f32.f16.f16 {" + d +
                   "}, %ops, %ops, 1, 1, 1, 0, 0");
        w.line("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0");
    }
    w.result("%d_0", 32);
    list.add(w);
}

}  // namespace

void add_async_probes(ProbeList& list) {
    if (!list.has(90)) return;
    for (const Line& l : lines) add_line(list, l);
    add_phases(list);
    for (const unsigned bytes : {16u, 1024u, 8192u, 32768u}) add_bulk(list, bytes);
    if (list.arch != isa::Arch::sm_90) return;
    for (const unsigned n : {64u, 128u, 256u})
        for (const unsigned products : {1u, 4u}) add_products(list, n, products);
}

}  // namespace lockwarp::programs
