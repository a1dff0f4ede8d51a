// SPDX-License-Identifier: Apache-2.0
// What wmma.load and wmma.store do to memory: which addresses are refused, strides, and what
// listeners hear.
#include <algorithm>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

constexpr std::string_view load_a =
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, "
    "%r17}, ";

std::string loads(const std::string& address_and_stride) {
    return std::string(load_a) + address_and_stride + ";\nret;";
}

Given sized(size_t in) {
    Given given;
    given.buffers = {Bytes(in), Bytes(4096)};
    return given;
}

TEST(Wmma, AddressesAreCheckedAsThoseOfTheMovesAre) {
    // Pairs of f16: four bytes at once, whatever the fragment's size.
    EXPECT_EQ(fault_of_body(loads("[%rd1]"), sized(512)), "");
    EXPECT_EQ(fault_of_body(loads("[%rd1+4], 16"), sized(516)), "");
    EXPECT_NE(fault_of_body(loads("[%rd1+2], 16"), sized(1024)).find("must be a multiple of 4"),
              std::string::npos);
    EXPECT_NE(fault_of_body(loads("[%rd1], 17"), sized(1024)).find("must be a multiple of 4"),
              std::string::npos);
    EXPECT_NE(fault_of_body(loads("[%rd1]"), sized(508)).find("bytes"), std::string::npos);
    // The last line ends before the stride does.
    EXPECT_EQ(fault_of_body(loads("[%rd1], 24"), sized(15 * 48 + 32)), "");
    EXPECT_NE(fault_of_body(loads("[%rd1], 24"), sized(15 * 48 + 28)), "");
    // Elements of eight bits across the lines are moved one by one.
    const std::string bytes =
        "wmma.load.a.sync.aligned.col.m16n16k16.global.s8 {%r10, %r11}, [%rd1+1], 17;\nret;";
    EXPECT_EQ(fault_of_body(bytes, sized(1 + 15 * 17 + 16)), "");
    EXPECT_NE(fault_of_body(bytes, sized(15 * 17 + 16)), "");
    const std::string along =
        "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r10, %r11}, [%rd1], 17;\nret;";
    EXPECT_NE(fault_of_body(along, sized(1024)).find("must be a multiple of 4"), std::string::npos);
    // Pairs of f32 along the lines of the accumulator, and one by one across them.
    const auto c = [](const char* order, const char* at) {
        return std::string("wmma.load.c.sync.aligned.") + order +
               ".m16n16k16.global.f32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, " + at +
               ";\nret;";
    };
    EXPECT_NE(fault_of_body(c("row", "[%rd1+4]"), sized(2048)).find("must be a multiple of 8"),
              std::string::npos);
    EXPECT_EQ(fault_of_body(c("col", "[%rd1+4]"), sized(1028)), "");
    // An address of shared memory is none of global memory.
    EXPECT_NE(fault_of_body(".shared .align 32 .b8 sm[512];\nmov.u64 %rd5, sm;\n"
                            "cvta.shared.u64 %rd5, %rd5;\n" +
                            loads("[%rd5]")),
              "");
}

TEST(Wmma, AStoreIsCheckedBeforeAnythingIsWritten) {
    const std::string store =
        "mov.b32 %r10, 7;\nwmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd4], {%r10, %r10, "
        "%r10, %r10}, %r3;\nret;";
    Given given = sized(16);
    given.buffers[1] = Bytes(512 - 4, 0x11);
    const Outcome outcome =
        run(program_of(kernel("mov.u32 %r3, 16;\n" + store), given.arch), given);
    EXPECT_NE(fault_of(outcome.result), "");
    EXPECT_EQ(outcome.buffers[1], given.buffers[1]);
}

// The stride is unsigned, and every lane's own; 0 makes every line the first.
TEST(Wmma, Strides) {
    Words in(4096);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i);
    const auto first = [&](const std::string& before, const std::string& stride) {
        return results_of(before + std::string(load_a) + "[%rd1], " + stride +
                              ";\nst.global.u32 [%rd2], %r10;\nret;",
                          in);
    };
    for (const std::string stride : {"0", "16", "24", "160"}) {
        const Words got = first("", stride);
        const auto words = static_cast<uint32_t>(std::stoul(stride) / 2);
        for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(got[l], l / 4 * words + l % 4) << stride;
    }
    // Lane by lane: lane l takes 16 + 2 * l.
    const Words own = first("mad.lo.u32 %r3, %r1, 2, 16;\n", "%r3");
    for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(own[l], l / 4 * (8 + l) + l % 4);
    EXPECT_NE(fault_of_body(loads("[%rd1], -16"), sized(4096)), "") << "2^32 - 16, not 16 before";
}

// The moves that listeners hear of.
struct Moves {
    void retired(const warp::Retired& event) {
        if (event.program->operations[event.operation].op != isa::Op::wmma_load) return;
        for (uint32_t i = 0; i < event.access_count; ++i)
            text += (event.accesses[i].store ? "store " : "load ") +
                    std::to_string(event.accesses[i].bytes) + " at " +
                    std::to_string(event.accesses[i].address[1] & 0xffff) + "; ";
    }
    std::string text;
};

TEST(Wmma, ListenersHearOfEveryMove) {
    Alone<Moves> moves;
    Given given = sized(4096);
    given.observers = {&moves};
    run_well(program_of(kernel(loads("[%rd1]")), given.arch), given);
    // Lane 1: columns 2 and 3 of row 0, then of row 8, then 10 and 11 of both.
    EXPECT_EQ(moves.listener.text, "load 4 at 4; load 4 at 260; load 4 at 20; load 4 at 276; ");
    moves.listener.text.clear();
    given = sized(4096);
    given.observers = {&moves};
    run_well(program_of(kernel("wmma.load.a.sync.aligned.col.m32n8k16.global.s8 {%r10, %r11, %r12, "
                               "%r13}, [%rd1];\nret;"),
                        given.arch),
             given);
    EXPECT_EQ(std::ranges::count(moves.listener.text, ';'), 16);
}

}  // namespace

}  // namespace lockwarp::exec
