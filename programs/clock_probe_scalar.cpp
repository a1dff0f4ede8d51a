// SPDX-License-Identifier: Apache-2.0
// Probes of instructions on registers, and of barriers.
#include <array>

#include "programs/clock_probe_parts.hpp"

namespace lockwarp::programs {

namespace {

// A step of a chain. In the text $x is the chain's register, $w its second one, and where the step
// has that the two change places after each step; $y and $z are operands and $g a predicate, others
// in every second step: steps with the same operands could be folded into one. $t, $u, $p, $h, $k,
// $d: the chain's own twice 32 bits, predicate, twice 16 bits, 64 bits. Instructions end with ';'.
struct Step {
    std::string_view key;
    std::string_view text;
    unsigned width = 32;  // of $x, $w, $y, $z
    uint16_t target = 0;
    unsigned steps = 512;
    bool alone = false;  // it has no registers, so no chains
};

constexpr auto steps = std::to_array<Step>({
    {"add.s32", "add.s32 $x, $x, $w"},
    {"sub.s32", "sub.s32 $x, $x, $w"},
    {"mul.lo.u32", "mul.lo.u32 $x, $x, $y"},
    {"mad.lo.u32", "mad.lo.u32 $x, $x, $y, $z"},
    {"mul.wide.u32", "mov.b64 {$t, $u}, $x;mul.wide.u32 $x, $t, $u", 64},
    {"add.s64", "add.s64 $x, $x, $w", 64},
    {"shl.b32", "shl.b32 $x, $x, $y"},
    {"shr.u32", "shr.u32 $x, $x, $y"},
    {"shf.l.wrap.b32", "shf.l.wrap.b32 $x, $x, $y, $z"},
    {"lop3.b32", "lop3.b32 $x, $x, $y, $z, 0x96"},
    {"prmt.b32", "prmt.b32 $x, $x, $y, $z"},
    // Two of the same minimum are folded into one of three operands.
    {"min.s32+max.u32", "min.s32 $t, $x, $y;max.u32 $x, $t, $z", 32, 0, 256},
    {"setp.lt.s32+selp.b32", "setp.lt.s32 $p, $x, $y;selp.b32 $x, $z, $y, $p"},
    {"selp.b32", "selp.b32 $x, $y, $x, $g"},
    {"popc.b32", "popc.b32 $x, $x"},
    {"clz.b32", "clz.b32 $x, $x"},
    {"brev.b32", "brev.b32 $x, $x"},
    {"bfe.u32", "bfe.u32 $x, $x, $y, $z", 32, 0, 128},
    {"dp4a.u32.u32", "dp4a.u32.u32 $x, $x, $y, $z"},
    {"fma.rn.f32", "fma.rn.f32 $x, $x, $y, $z"},
    {"add.rn.f32", "add.rn.f32 $x, $x, $y"},
    {"mul.rn.f32", "mul.rn.f32 $x, $x, $y"},
    {"min.f32", "min.f32 $x, $x, $y"},
    {"setp.lt.f32+selp.b32", "setp.lt.f32 $p, $x, $y;selp.b32 $x, $z, $y, $p"},
    {"fma.rn.f16x2", "fma.rn.f16x2 $x, $x, $y, $z"},
    {"add.rn.f16x2", "add.rn.f16x2 $x, $x, $y"},
    {"mul.rn.f16x2", "mul.rn.f16x2 $x, $x, $y"},
    {"fma.rn.bf16x2", "fma.rn.bf16x2 $x, $x, $y, $z", 32, 80},
    {"add.rn.bf16x2", "add.rn.bf16x2 $x, $x, $y", 32, 90},
    {"fma.rn.f64", "fma.rn.f64 $x, $x, $y, $z", 64, 0, 256},
    {"add.rn.f64", "add.rn.f64 $x, $x, $y", 64, 0, 256},
    {"mul.rn.f64", "mul.rn.f64 $x, $x, $y", 64, 0, 256},
    {"cvt.rn.f16x2.f32", "cvt.rn.f16x2.f32 $x, $x, $y", 32, 80},
    {"cvt.rn.bf16x2.f32", "cvt.rn.bf16x2.f32 $x, $x, $y", 32, 80},
    {"cvt.f32.f16", "mov.b32 {$h, $k}, $x;cvt.f32.f16 $x, $h"},
    {"cvt.rni.s32.f32", "cvt.rni.s32.f32 $x, $x", 32, 0, 256},
    {"cvt.rn.f32.s32", "cvt.rn.f32.s32 $x, $x", 32, 0, 256},
    {"cvt.rn.f32.u32", "cvt.rn.f32.u32 $x, $x", 32, 0, 256},
    {"cvt.f64.f32", "cvt.f64.f32 $d, $x;mov.b64 {$t, $x}, $d", 32, 0, 256},
    {"cvt.rn.f32.f64", "cvt.rn.f32.f64 $t, $x;mov.b64 $x, {$t, $t}", 64, 0, 256},
    {"ex2.approx.ftz.f32", "ex2.approx.ftz.f32 $x, $x", 32, 0, 256},
    {"lg2.approx.ftz.f32", "lg2.approx.ftz.f32 $x, $x", 32, 0, 256},
    // The reciprocal of a reciprocal is folded away.
    {"rcp.approx.ftz.f32+add.rn.ftz.f32", "rcp.approx.ftz.f32 $t, $x;add.rn.ftz.f32 $x, $t, $y", 32,
     0, 256},
    {"rsqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32 $x, $x", 32, 0, 256},
    {"sqrt.approx.ftz.f32", "sqrt.approx.ftz.f32 $x, $x", 32, 0, 256},
    {"sin.approx.ftz.f32", "sin.approx.ftz.f32 $x, $x", 32, 0, 256},
    {"cos.approx.ftz.f32", "cos.approx.ftz.f32 $x, $x", 32, 0, 256},
    {"tanh.approx.f32", "tanh.approx.f32 $x, $x", 32, 75, 256},
    {"div.full.f32", "div.full.f32 $x, $y, $x", 32, 0, 64},
    {"shfl.sync.bfly.b32", "shfl.sync.bfly.b32 $x, $x, 1, 31, 0xffffffff"},
    {"shfl.sync.idx.b32", "shfl.sync.idx.b32 $x, $x, $y, 31, 0xffffffff"},
    {"setp.ne.s32+vote.sync.ballot.b32",
     "setp.ne.s32 $p, $x, $y;vote.sync.ballot.b32 $x, $p, 0xffffffff", 32, 0, 256},
    {"redux.sync.add.s32", "redux.sync.add.s32 $x, $x, 0xffffffff", 32, 80, 128},
    {"match.any.sync.b32", "match.any.sync.b32 $x, $x, 0xffffffff", 32, 70, 64},
    {"movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 $x, $x", 32, 75},
    {"bar.sync", "bar.sync 0", 32, 0, 256, true},
    {"bar.warp.sync", "bar.warp.sync 0xffffffff", 32, 0, 256, true},
    {"membar.cta", "membar.cta", 32, 0, 64, true},
    {"fence.acq_rel.cta", "fence.acq_rel.cta", 32, 0, 64, true},
    {"membar.gl", "membar.gl", 32, 0, 64, true},
});

struct Chain {
    std::string x, w, t, u, p, h, k, d;
};

std::string filled(std::string_view text, const Chain& c, const std::string& y,
                   const std::string& z, const std::string& g, bool swapped) {
    const auto name = [&](char letter) -> const std::string& {
        switch (letter) {
            case 'x':
                return swapped ? c.w : c.x;
            case 'w':
                return swapped ? c.x : c.w;
            case 'y':
                return y;
            case 'z':
                return z;
            case 'g':
                return g;
            case 't':
                return c.t;
            case 'u':
                return c.u;
            case 'p':
                return c.p;
            case 'h':
                return c.h;
            case 'k':
                return c.k;
            default:
                return c.d;
        }
    };
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ';')
            out += ";\n";
        else if (text[i] == '$')
            out += name(text[++i]);
        else
            out += text[i];
    }
    return out;
}

void add_chains(ProbeList& list, const Step& s, unsigned chains) {
    const std::string key =
        std::string(s.key) + (s.alone ? "" : " chains" + std::to_string(chains));
    if (!list.wants(key)) return;
    ProbeWriter w(key, s.steps, {1, 4, 8, 16, 32});
    const bool swaps = s.text.find("$w") != std::string_view::npos;
    std::array<std::string, 4> y;
    std::array<std::string, 2> g;
    std::vector<Chain> all(s.alone ? 0 : chains);
    if (!s.alone) {
        for (std::string& name : y) name = w.zero(s.width);
        for (std::string& name : g) {
            name = w.fresh(1);
            w.setup("setp.ne.u32 " + name + ", " + w.zero(32) + ", %r0");
        }
    }
    for (Chain& c : all)
        c = {w.zero(s.width), w.zero(s.width), w.fresh(32), w.fresh(32),
             w.fresh(1),      w.fresh(16),     w.fresh(16), w.fresh(64)};
    for (unsigned i = 0; i < s.steps; ++i) {
        const bool odd = i / chains % 2 == 1;
        w.line(s.alone ? std::string(s.text)
                       : filled(s.text, all[i % chains], odd ? y[2] : y[0], odd ? y[3] : y[1],
                                odd ? g[1] : g[0], odd && swaps));
    }
    for (const Chain& c : all) {
        w.result(c.x, s.width);
        w.result(c.w, s.width);
    }
    list.add(w);
}

// The first half of the warps alone at a barrier.
void add_half_barrier(ProbeList& list) {
    const std::string key = "bar.sync half";
    if (!list.wants(key)) return;
    constexpr unsigned count = 256;
    ProbeWriter w(key, count, {4, 8, 16, 32});
    const std::string half = w.fresh(32);
    const std::string first = w.fresh(1);
    w.setup("shr.u32 " + half + ", %r4, 1");
    w.setup("setp.lt.u32 " + first + ", %r1, " + half);
    w.only_where(first);
    for (unsigned i = 0; i < count; ++i) w.line("bar.sync 1, " + half);
    list.add(w);
}

}  // namespace

void add_scalar_probes(ProbeList& list) {
    for (const Step& s : steps)
        if (list.has(s.target))
            for (const unsigned chains : {1u, 4u})
                if (!s.alone || chains == 1) add_chains(list, s, chains);
    add_half_barrier(list);
}

}  // namespace lockwarp::programs
