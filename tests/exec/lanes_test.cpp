// SPDX-License-Identifier: Apache-2.0
// Lane by lane: whose value a shuffle takes, and of which lanes the result is undefined; bytes of
// textures and of tensors that are rounded on their way.
#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "emu/isa/tensor_map.hpp"
#include "emu/isa/texture.hpp"
#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// Of which lanes the result of the last instruction of a family was undefined.
struct Undefined {
    void retired(const warp::Retired& e) {
        if (e.program->operations[e.operation].op == op) lanes = e.undefined;
    }
    isa::Op op = isa::Op::shfl;
    uint32_t lanes = 0;
};

// Of each instruction with undefined lanes: "OPCODE LANES results RESULTS".
struct AllUndefined {
    void retired(const warp::Retired& e) {
        if (e.undefined == 0) return;
        std::ostringstream text;
        text << isa::row(e.program->operations[e.operation].op).name << std::hex << ' '
             << e.undefined << " results " << e.undefined_results;
        said.push_back(text.str());
    }
    std::vector<std::string> said;
};

struct NoOracle : warp::Oracle {
    bool knows(uint32_t) const override { return false; }
    void supply(const warp::Retired&, uint8_t*) override {}
};

struct Shuffled {
    Words values, in_range;
    uint32_t undefined = 0;
};

// shfl.sync.MODE of 100 + lane among the lanes of `mask` alone; the others keep 7.
Shuffled shuffled(const std::string& mode, uint32_t amount, uint32_t clamp, uint32_t mask) {
    const std::string body =
        "mov.u32 %r2, 1; shl.b32 %r2, %r2, %r1; and.b32 %r2, %r2, " + std::to_string(mask) +
        "; setp.ne.u32 %p1, %r2, 0; add.u32 %r3, %r1, 100; mov.u32 %r4, 7; setp.ne.u32 %p2, 0, 0;\n"
        "@%p1 shfl.sync." +
        mode + ".b32 %r4|%p2, %r3, " + std::to_string(amount) + ", " + std::to_string(clamp) +
        ", " + std::to_string(mask) +
        ";\nselp.u32 %r5, 1, 0, %p2; st.global.v4.u32 [%rd3], {%r4, %r5, %r1, %r1};\n";
    Alone<Undefined> undefined;
    Given given;
    given.observers = {&undefined};
    Shuffled out;
    for (const FourWords& words : wide_results_of(body, {}, given)) {
        out.values.push_back(words[0]);
        out.in_range.push_back(words[1]);
    }
    out.undefined = undefined.listener.lanes;
    return out;
}

// Of all that a body's instructions read and nobody wrote.
std::vector<std::string> undefined_of(const std::string& body) {
    Alone<AllUndefined> undefined;
    NoOracle oracle;
    Given given;
    given.observers = {&undefined};
    given.oracle = &oracle;
    given.buffers = {Bytes(16), Bytes(16)};
    run_well(program_of(kernel(body + "ret;"), given.arch), std::move(given));
    return undefined.listener.said;
}

// Of a vector those results of which nobody wrote all bytes, of what follows the first again.
TEST(UndefinedLanes, AreThoseOfOneInstruction) {
    const std::string local = "ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [mine];\n";
    const std::string bits = "fns.b32 %r6, %r1, 40, 1;\n";
    const std::string body =
        ".local .align 16 .b8 mine[16]; setp.lt.u32 %p1, %r1, 4;\n" + bits +
        "st.local.u32 [mine], %r1; @%p1 st.local.u16 [mine+8], %h1;\n" + local + bits +
        "st.local.u32 [mine+4], %r1; st.local.u32 [mine+12], %r1;\n" + local + bits +
        "st.local.u16 [mine+8], %h1; @%p1 st.local.u16 [mine+10], %h1;\n" + local + bits +
        "st.local.u16 [mine+10], %h1;\n" + local + bits;
    const std::string all = "ffffffff results ";
    EXPECT_EQ(
        undefined_of(body),
        (std::vector<std::string>{"fns " + all + "1", "ld " + all + "e", "fns " + all + "1",
                                  "ld " + all + "4", "fns " + all + "1", "ld fffffff0 results 4",
                                  "fns " + all + "1", "fns " + all + "1"}));
}

// Its address stands in the register of its first result.
TEST(UndefinedLanes, OfALoadOverItsOwnAddress) {
    EXPECT_EQ(undefined_of(".local .align 16 .b8 mine[16]; mov.u32 %r2, mine;\n"
                           "ld.local.v2.u32 {%r2, %r3}, [%r2];\n"),
              std::vector<std::string>{"ld ffffffff results 3"});
}

// What stackrestore frees and alloca takes again is as if nobody had written it.
TEST(UndefinedLanes, OfBytesThatWereAnothersBefore) {
    const std::string store = "st.local.u32 [%rd6], %r1;\n";
    const std::string load = "ld.local.u32 %r2, [%rd6];\n";
    const std::string take = "alloca.u64 %rd6, %rd7;\n";
    EXPECT_EQ(undefined_of("mov.u64 %rd7, 16; stacksave.u64 %rd5;\n" + take + store + load +
                           "stackrestore.u64 %rd5;\n" + take + load + store + load),
              std::vector<std::string>{"ld ffffffff results 1"});
}

// PTX manual, "shfl.sync": the source lane by mode, segment and clamp.
TEST(Shuffle, EveryLaneTakesFromItsSource) {
    for (const uint32_t mask : {0xffffffffu, 0x0000ffffu, 0xfffffffeu, 0x7fffffffu, 0x80000001u})
        for (const uint32_t segment : {0u, 16u, 24u, 28u, 30u, 31u})
            for (const uint32_t amount : {0u, 1u, 2u, 15u, 16u, 17u, 31u})
                for (const std::string mode : {"up", "down", "bfly", "idx"}) {
                    const uint32_t clamp = mode == "up" ? 0 : 31;
                    const Shuffled s = shuffled(mode, amount, segment << 8 | clamp, mask);
                    ASSERT_EQ(s.values.size(), 32u);
                    uint32_t undefined = 0;
                    for (uint32_t l = 0; l < 32; ++l) {
                        if ((mask >> l & 1) == 0) {
                            ASSERT_EQ(s.values[l], 7u);
                            continue;
                        }
                        const auto first = static_cast<int>(l & segment);
                        const auto last = static_cast<int>((l & segment) | (31 & ~segment));
                        const auto lane = static_cast<int>(l), by = static_cast<int>(amount);
                        const int from = mode == "up"     ? lane - by
                                         : mode == "down" ? lane + by
                                         : mode == "bfly"
                                             ? lane ^ by
                                             : first | (by & static_cast<int>(~segment));
                        const bool good = mode == "up" ? from >= first : from <= last;
                        const auto source = static_cast<uint32_t>(good ? from : lane);
                        const bool gives = (mask >> source & 1) != 0;
                        if (!gives) undefined |= 1u << l;
                        if (gives) {
                            ASSERT_EQ(s.values[l], 100 + source)
                                << mode << " " << amount << " " << segment << " lane " << l;
                        }
                        ASSERT_EQ(s.in_range[l], good) << mode << " " << amount << " lane " << l;
                    }
                    ASSERT_EQ(s.undefined, undefined) << mode << " " << amount << " " << mask;
                }
}

// A load by a map of TFLOAT32 rounds to nearest even with 10 bits of fraction; TFLOAT32_FTZ and the
// others as their names say.
TEST(TensorValues, OfTf32AreRounded) {
    const std::pair<uint32_t, uint32_t> rows[] = {
        {0x00000000, 0x00000000}, {0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000},
        {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000}, {0x3f802000, 0x3f802000},
        {0x3f802fff, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3f803001, 0x3f804000},
        {0x3fffffff, 0x40000000}, {0x3fffefff, 0x3fffe000}, {0x7f7fffff, 0x7f800000},
        {0xbf801000, 0xbf800000}, {0xbf803000, 0xbf804000}, {0xff7ff000, 0xff800000},
        {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0x7f800001, 0x7fffe000},
        {0x7fc00000, 0x7fffe000}, {0xffc12345, 0x7fffe000}, {0x00001000, 0x00000000},
        {0x00003000, 0x00004000}, {0x80000fff, 0x80000000}, {0x007fffff, 0x00800000},
    };
    isa::TensorMap m;
    m.type = isa::TensorType::tf32;
    m.rank = 1;
    m.address = buffer_address(0);
    m.dim[0] = std::size(rows);
    m.box[0] = 24;
    ASSERT_EQ(std::size(rows), 24u);
    ASSERT_TRUE(isa::refusals(m).empty());
    Given given;
    given.arch = isa::Arch::sm_90;
    given.buffers = {Bytes(512), Bytes(128)};
    for (size_t i = 0; i < std::size(rows); ++i)
        std::memcpy(given.buffers[0].data() + 4 * i, &rows[i].first, 4);
    const isa::TensorMapBytes map = isa::encode(m);
    std::ranges::copy(map, given.buffers[0].begin() + 256);
    std::string text = kernel(
        "mov.u32 %r2, tile; mov.u32 %r3, 0; add.u64 %rd5, %rd1, 256; setp.ne.u32 %p1, %r1, 0;\n"
        "@%p1 bra issued; mbarrier.init.shared.b64 [bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 96; fence.proxy.async;\n"
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], "
        "[%rd5, {%r3}], [bar];\n"
        "issued: bar.sync 0; wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
        "@!%p2 bra wait; shl.b32 %r4, %r1, 2; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n"
        "st.global.u32 [%rd2], %r5;\n",
        ".shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;", "sm_90");
    text.replace(text.find(".version 8.0"), 12, ".version 8.6");
    const Outcome out = run_well(program_of(text, given.arch), given);
    const Words words = words_of(out.buffers[1]);
    for (size_t i = 0; i < std::size(rows); ++i)
        EXPECT_EQ(words[i], rows[i].second) << std::hex << rows[i].first;
}

// Each element that a lookup takes lies in a buffer to its last byte, or it is a trap.
TEST(TextureBytes, LieInTheirBuffer) {
    for (const uint8_t channels : {uint8_t{1}, uint8_t{2}, uint8_t{4}})
        for (const uint8_t bits : {uint8_t{8}, uint8_t{16}, uint8_t{32}}) {
            const uint32_t each = channels * bits / 8u;
            isa::Texture t;
            t.address = buffer_address(0) + 128;
            t.width = 8;
            t.height = 1;
            t.pitch = 8 * each;
            t.slice = t.pitch;
            t.bits = bits;
            t.channels = channels;
            t.kind = isa::TexelKind::unsigned_integer;
            t.elements = true;
            const isa::TextureBytes object = isa::encode(t);
            for (const uint32_t missing : {0u, 1u}) {
                Given given;
                given.buffers = {Bytes(128 + 8 * each - missing), Bytes(4096)};
                std::ranges::copy(object, given.buffers[0].begin());
                const std::string fault = fault_of(
                    run(program_of(kernel("and.b32 %r2, %r1, 7; tex.1d.v4.u32.s32 {%r4, %r5, %r6, "
                                          "%r7}, [%rd1, {%r2}];\n"),
                                   given.arch),
                        given)
                        .result);
                if (missing == 0) {
                    EXPECT_EQ(fault, "") << each;
                } else {
                    EXPECT_TRUE(fault.starts_with("address out of bounds: " + std::to_string(each) +
                                                  " bytes"))
                        << fault;
                    EXPECT_NE(fault.find(", lane 7,"), std::string::npos) << fault;
                }
            }
        }
}

// Threads that have exited are in nobody's answer, whatever their registers held.
TEST(Collectives, LeaveOutThreadsThatHaveExited) {
    // Lanes 0 to 15 go on. Of those the odd ones have the predicate; of the others all.
    const std::string body =
        "and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0; setp.gt.u32 %p2, %r1, 15; or.pred %p1, %p1, "
        "%p2;\nshr.u32 %r3, %r1, 2; setp.lt.u32 %p3, %r1, 16; setp.ge.u32 %p4, %r1, 16;\n"
        "@%p2 exit;\n"
        "vote.sync.ballot.b32 %r4, %p1, -1;\n"
        "vote.sync.all.pred %p5, %p3, -1; vote.sync.any.pred %p6, %p4, -1;\n"
        "vote.sync.uni.pred %p7, %p3, -1; vote.sync.uni.pred %p8, %p1, -1;\n"
        "match.any.sync.b32 %r5, %r3, -1; mov.u32 %r6, 5; match.all.sync.b32 %r7|%p9, %r6, -1;\n"
        "redux.sync.add.s32 %r8, %r1, -1; redux.sync.max.u32 %r9, %r1, -1; activemask.b32 %r10;\n"
        "selp.u32 %r11, 1, 0, %p5; selp.u32 %r12, 2, 0, %p6; selp.u32 %r13, 4, 0, %p7;\n"
        "selp.u32 %r14, 8, 0, %p8; selp.u32 %r15, 16, 0, %p9; or.b32 %r11, %r11, %r12;\n"
        "or.b32 %r11, %r11, %r13; or.b32 %r11, %r11, %r14; or.b32 %r11, %r11, %r15;\n"
        "shl.b32 %r8, %r8, 8; or.b32 %r8, %r8, %r9; shl.b32 %r11, %r11, 16; or.b32 %r11, %r11, "
        "%r10;\nshl.b32 %r7, %r7, 16; or.b32 %r5, %r5, %r7;\n"
        "st.global.v4.u32 [%rd3], {%r4, %r5, %r8, %r11};\n";
    const std::vector<FourWords> out = wide_results_of(body);
    ASSERT_EQ(out.size(), 32u);
    for (uint32_t l = 0; l < 32; ++l) {
        const uint32_t same = 0xfu << (l / 4 * 4);
        const FourWords expected =
            l < 16
                ? FourWords{0xaaaa, 0xffff0000 | same, 120 << 8 | 15, (1 | 4 | 16) << 16 | 0xffff}
                : FourWords{0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee};
        EXPECT_EQ(out[l], expected) << l;
    }
}

// An f64 result keeps the bits of a NaN, of which one is the compiler's choice; of a minimum or
// maximum of one register it makes a move, which keeps those of any type.
TEST(Nans, AreUndefinedWhereTwoOfThemDiffer) {
    const struct {
        std::string type, reg;
        uint64_t nan, other, one;
    } types[] = {
        {"f32", "%f", 0x7fc00001, 0xffc00002, 0x3f800000},
        {"f64", "%fd", 0x7ff8000000000001, 0xfff8000000000002, 0x3ff0000000000000},
        {"f16", "%h", 0x7e01, 0xfe02, 0x3c00},
    };
    const struct {
        std::string text;
        isa::Op op;
        bool three;
    } instructions[] = {
        {"add.rn", isa::Op::add, false}, {"sub.rn", isa::Op::sub, false},
        {"mul.rn", isa::Op::mul, false}, {"min", isa::Op::min, false},
        {"max", isa::Op::max, false},    {"fma.rn", isa::Op::fma, true},
    };
    for (const auto& t : types)
        for (const auto& i : instructions) {
            // Lane by lane each of three values for each of three operands.
            const std::array<uint64_t, 3> values{t.nan, t.other, t.one};
            const size_t bytes = t.type == "f64" ? 8 : t.type == "f32" ? 4 : 2;
            Given given;
            given.buffers = {Bytes(3 * 32 * bytes), Bytes(4096)};
            uint32_t expected = 0, same_register = 0;
            for (size_t l = 0; l < 27; ++l) {
                const std::array<size_t, 3> which{l % 3, l / 3 % 3, l / 9};
                for (size_t n = 0; n < 3; ++n)
                    std::memcpy(given.buffers[0].data() + (n * 32 + l) * bytes, &values[which[n]],
                                bytes);
                bool first = false, second = false;
                for (size_t n = 0; n < (i.three ? 3u : 2u); ++n) {
                    first |= which[n] == 0;
                    second |= which[n] == 1;
                }
                if (first && second && t.type == "f64") expected |= 1u << l;
                if (which[0] != 2) same_register |= 1u << l;
            }
            const auto undefined = [&](const std::string& operands) {
                Alone<Undefined> heard;
                heard.listener.op = i.op;
                Given g = given;
                g.observers = {&heard};
                const std::string each = std::to_string(bytes);
                std::string body =
                    "mul.wide.u32 %rd5, %r1, " + each + "; add.u64 %rd5, %rd5, %rd1;\n";
                for (int n = 0; n < 3; ++n)
                    body += "ld.global.b" + std::to_string(8 * bytes) + " " + t.reg +
                            std::to_string(n + 1) + ", [%rd5+" +
                            std::to_string(static_cast<size_t>(n) * 32 * bytes) + "];\n";
                body += i.text + "." + t.type + " " + t.reg + "5, " + operands + ";\n";
                body += "st.global.b" + std::to_string(8 * bytes) + " [%rd3], " + t.reg + "5;\n";
                run_well(program_of(kernel(body), g.arch), std::move(g));
                return heard.listener.lanes;
            };
            const std::string three = i.three ? ", " + t.reg + "3" : "";
            EXPECT_EQ(undefined(t.reg + "1, " + t.reg + "2" + three), expected)
                << i.text << "." << t.type;
            const bool extremum = i.op == isa::Op::min || i.op == isa::Op::max;
            if (i.three) continue;
            EXPECT_EQ(undefined(t.reg + "1, " + t.reg + "1"), extremum ? same_register : 0)
                << i.text << "." << t.type;
        }
}

// NVIDIA's compiler may make a move of such a conversion, which keeps a NaN's bits.
TEST(Nans, AreUndefinedWhereTheyAreConvertedToTheirOwnType) {
    const struct {
        std::string text;
        bool to_itself;
    } rows[] = {
        {"cvt.f32.f32 %f5, %f1", true},      {"cvt.rni.f32.f32 %f5, %f1", true},
        {"cvt.f64.f64 %fd5, %fd1", true},    {"cvt.rzi.f64.f64 %fd5, %fd1", true},
        {"cvt.f64.f32 %fd5, %f1", false},    {"cvt.rn.f32.f64 %f5, %fd1", false},
        {"cvt.rni.s32.f32 %r5, %f1", false}, {"cvt.rn.f32.s32 %f5, %r2", false},
    };
    for (const auto& row : rows) {
        Alone<Undefined> heard;
        heard.listener.op = isa::Op::cvt;
        Given given;
        given.observers = {&heard};
        given.buffers = {Bytes(16), Bytes(16)};
        const std::string body =
            "setp.lt.u32 %p1, %r1, 5; selp.b32 %r2, 0xffc00002, 0x3fc00000, %p1; mov.b32 %f1, "
            "%r2;\n"
            "selp.b64 %rd5, 0x7ff8000000000001, 0x3ff8000000000000, %p1; mov.b64 %fd1, %rd5;\n" +
            row.text + ";\n";
        run_well(program_of(kernel(body + "ret;"), given.arch), std::move(given));
        EXPECT_EQ(heard.listener.lanes, row.to_itself ? 0x1fu : 0u) << row.text;
    }
}

// Elements of 8 to 64 bits, one, two or four of them, at each thread's place and nowhere else.
TEST(SurfaceBytes, AreTheElementsInTheirOrder) {
    for (const unsigned bits : {8u, 16u, 32u, 64u})
        for (const unsigned count : {1u, 2u, 4u}) {
            const uint32_t each = bits / 8, size = each * count;
            if (size > 16) continue;
            isa::Texture t;
            t.address = buffer_address(0) + 128;
            t.width = 32 * size;
            t.height = 2;
            t.pitch = 32 * size + 16;
            t.slice = 2 * t.pitch;
            t.bits = 8;
            t.kind = isa::TexelKind::unsigned_integer;
            t.is_surface = true;
            Given given;
            given.buffers = {Bytes(128 + 2 * t.pitch, 0xcc), Bytes(32 * 16, 0xee)};
            std::ranges::copy(isa::encode(t), given.buffers[0].begin());
            const std::string vec = count == 1 ? "" : ".v" + std::to_string(count);
            const std::string wide = bits == 64 ? "%rd" : "%r";
            std::string body = "mul.lo.u32 %r8, %r1, " + std::to_string(size) +
                               "; mov.u32 %r9, 1; mul.lo.u32 %r10, %r1, 5;\n";
            std::string elements;
            for (unsigned i = 0; i < count; ++i) {
                const std::string reg = wide + std::to_string(20 + i);
                body += "add.u32 %r11, %r10, " + std::to_string(40 * i + 1) + ";\n" +
                        (bits == 64 ? "cvt.u64.u32 " : "mov.u32 ") + reg + ", %r11;\n";
                elements += (i == 0 ? "" : ", ") + reg;
            }
            const std::string form = ".b.2d" + vec + ".b" + std::to_string(bits) + ".trap ";
            body += "sust" + form + "[%rd1, {%r8, %r9}], {" + elements + "};\n";
            std::string read;
            for (unsigned i = 0; i < count; ++i)
                read += (i == 0 ? "" : ", ") + wide + std::to_string(30 + i);
            body += "suld" + form + "{" + read + "}, [%rd1, {%r8, %r9}];\n";
            for (unsigned i = 0; i < count; ++i)
                body += "st.global.b" + std::to_string(bits) + " [%rd3+" +
                        std::to_string(i * each) + "], " + wide + std::to_string(30 + i) + ";\n";
            const Outcome out = run_well(program_of(kernel(body), given.arch), given);
            Bytes row(2 * t.pitch, 0xcc), expected(32 * 16, 0xee);
            for (uint32_t l = 0; l < 32; ++l)
                for (unsigned i = 0; i < count; ++i) {
                    const uint64_t value = 5 * l + 40 * i + 1;
                    std::memcpy(row.data() + t.pitch + l * size + i * each, &value, each);
                    std::memcpy(expected.data() + l * 16 + i * each, &value, each);
                }
            EXPECT_TRUE(std::equal(row.begin(), row.end(), out.buffers[0].begin() + 128)) << form;
            EXPECT_EQ(out.buffers[1], expected) << form;
        }
}

}  // namespace

}  // namespace lockwarp::exec
