// SPDX-License-Identifier: Apache-2.0
// The emulator in a GPU's place: its memory, and what of a job reaches the run.
#include "validate/emulator_engine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace lockwarp::validate {
namespace {

using gpu::Outcome;

TEST(EmulatorEngine, HasTheNameOfItsArchitecture) {
    const EmulatorEngine fast(isa::Arch::sm_80), plain(isa::Arch::sm_90, true);
    EXPECT_EQ(fast.device().name, "the emulator as sm_80");
    EXPECT_EQ(fast.device().number, 80u);
    EXPECT_EQ(plain.device().name, "plain arithmetic of sm_90");
    EXPECT_EQ(plain.device().number, 90u);
}

TEST(EmulatorEngine, AllocationsLieApart) {
    EmulatorEngine engine(isa::Arch::sm_80);
    uint64_t end = 0;
    for (const uint64_t bytes : {1u, 511u, 512u, 513u, 5u << 20, 0u, 7u}) {
        const uint64_t address = engine.allocate(bytes);
        EXPECT_EQ(address % 512, 0u);
        if (end != 0) {
            EXPECT_GE(address, end + (1 << 20)) << "what is beyond a buffer is no other one";
        }
        end = address + bytes;
    }
}

TEST(EmulatorEngine, AnAddressIsGivenOnce) {
    struct Row {
        int64_t at;
        uint64_t bytes;
        bool given;
    };
    for (const Row& row : std::initializer_list<Row>{{-10, 10, true},
                                                     {-10, 11, false},
                                                     {-10, 1000, false},
                                                     {0, 1, false},
                                                     {50, 1, false},
                                                     {99, 1, false},
                                                     {100, 1, true},
                                                     {100, 100, true},
                                                     {100, 101, false},
                                                     {150, 50, true},
                                                     {299, 1, false},
                                                     {300, 1, true}}) {
        EmulatorEngine engine(isa::Arch::sm_80);
        constexpr uint64_t base = uint64_t{1} << 33;
        EXPECT_TRUE(engine.allocate_at(base, 100));
        EXPECT_TRUE(engine.allocate_at(base + 200, 100));
        const uint64_t at = base + static_cast<uint64_t>(row.at);
        EXPECT_EQ(engine.allocate_at(at, row.bytes), row.given) << row.at << " " << row.bytes;
        if (row.given) engine.release(at);
        engine.release(base);
        engine.release(base + 200);
        EXPECT_TRUE(engine.allocate_at(base - 10, 500)) << row.at;
    }
}

TEST(EmulatorEngine, KeepsWhatIsWritten) {
    EmulatorEngine engine(isa::Arch::sm_80);
    const uint64_t first = engine.allocate(8), second = engine.allocate(8);
    const auto bytes_at = [&](uint64_t address, size_t count) {
        std::vector<uint8_t> out(count, 0xee);
        EXPECT_TRUE(engine.read(address, out).has_value());
        return out;
    };
    using Bytes = std::vector<uint8_t>;
    EXPECT_EQ(bytes_at(first, 8), Bytes(8));
    EXPECT_TRUE(engine.write(first, Bytes{1, 2, 3, 4, 5, 6, 7, 8}).has_value());
    EXPECT_TRUE(engine.write(second + 2, Bytes{9, 9}).has_value());
    EXPECT_TRUE(engine.write(second, {}).has_value());
    EXPECT_TRUE(engine.clear(first + 1, 3).has_value());
    EXPECT_TRUE(engine.clear(first, 0).has_value());
    EXPECT_EQ(bytes_at(first, 8), (Bytes{1, 0, 0, 0, 5, 6, 7, 8}));
    EXPECT_EQ(bytes_at(first + 7, 1), Bytes{8});
    EXPECT_EQ(bytes_at(second, 8), (Bytes{0, 0, 9, 9, 0, 0, 0, 0}));
    EXPECT_EQ(bytes_at(second, 0), Bytes());
}

std::string kernel(const std::string& body) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".extern .shared .align 16 .b8 more[];\n"
           ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<8>; .reg .b64 %d<3>; "
           ".reg .pred %p<2>;\nld.param.u64 %d1, [out];\n" +
           body + "\nret;\n}\n";
}

// The words that a kernel leaves.
struct Job {
    gpu::Job job{"", "k", {1, 1, 1}, {32, 1, 1}, 0, {}};
    EmulatorEngine engine{isa::Arch::sm_90};
    gpu::Ran ran;

    std::vector<uint32_t> words(const std::string& body) {
        const uint64_t out = engine.allocate(32);
        const std::string ptx = kernel(body);
        std::vector<uint8_t> parameters(8);
        std::memcpy(parameters.data(), &out, 8);
        job.ptx = ptx;
        job.parameters = parameters;
        ran = engine.run(job);
        std::vector<uint32_t> words(8);
        EXPECT_TRUE(engine.read(out, {reinterpret_cast<uint8_t*>(words.data()), 32}).has_value());
        return words;
    }
};

TEST(EmulatorEngine, RunsTheJobAsItIs) {
    Job job;
    job.job.grid = {4, 3, 2};
    job.job.block = {16, 2, 3};
    job.job.dynamic_shared = 48;
    job.job.cluster = warp::Dim3{2, 1, 1};
    job.engine.fill_unwritten(0xa5);
    EXPECT_EQ(job.words("mov.u32 %r1, %nctaid.x; st.global.u32 [%d1], %r1;\n"
                        "mov.u32 %r1, %nctaid.z; st.global.u32 [%d1+4], %r1;\n"
                        "mov.u32 %r1, %ntid.y; st.global.u32 [%d1+8], %r1;\n"
                        "mov.u32 %r1, %dynamic_smem_size; st.global.u32 [%d1+12], %r1;\n"
                        "mov.u32 %r1, %cluster_nctaid.x; st.global.u32 [%d1+16], %r1;\n"
                        "ld.shared.u32 %r1, [more]; st.global.u32 [%d1+20], %r1;"),
              (std::vector<uint32_t>{4, 2, 2, 48, 2, 0xa5a5a5a5, 0, 0}));
    EXPECT_EQ(job.ran.outcome, Outcome::done);
    EXPECT_EQ(job.ran.what, "");
}

TEST(EmulatorEngine, SaysWhyItDoesNotRun) {
    Job job;
    job.words("nonsense;");
    EXPECT_EQ(job.ran.outcome, Outcome::refused);
    EXPECT_NE(job.ran.what, "");
    const std::string not_parsed = job.ran.what;
    job.words("mov.u32 %r1, %r99;");
    EXPECT_EQ(job.ran.outcome, Outcome::refused);
    EXPECT_NE(job.ran.what, "");
    EXPECT_NE(job.ran.what, not_parsed);
    // 16 CTAs in a cluster are not portable.
    Job cluster;
    cluster.job.grid = {16, 1, 1};
    cluster.job.cluster = warp::Dim3{16, 1, 1};
    cluster.words("");
    EXPECT_EQ(cluster.ran.outcome, Outcome::refused);
    EXPECT_NE(cluster.ran.what.find("cluster"), std::string::npos) << cluster.ran.what;
    cluster.job.non_portable_cluster = true;
    cluster.words("");
    EXPECT_EQ(cluster.ran.outcome, Outcome::done) << cluster.ran.what;
    Job faulty;
    faulty.words("st.global.u32 [%d1+4096], 1;");
    EXPECT_EQ(faulty.ran.outcome, Outcome::faulted);
    EXPECT_EQ(faulty.ran.fault, gpu::Fault::illegal_address);
    EXPECT_TRUE(faulty.ran.what.starts_with(
        std::string(warp::trap_name(warp::TrapKind::out_of_bounds)) + ": "))
        << faulty.ran.what;
}

// Of eight warps the first has the longest way to its store: it is the last one where they take
// turns.
TEST(EmulatorEngine, TakesTurns) {
    for (const auto& [turn, last] : {std::pair(0u, 7u), std::pair(1u, 0u)}) {
        Job job;
        job.job.block = {256, 1, 1};
        job.engine.take_turns(turn);
        EXPECT_EQ(job.words("mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; sub.u32 %r2, 9, %r1;\n"
                            "L: sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;\n"
                            "atom.global.exch.b32 %r2, [%d1], %r1;")[0],
                  last)
            << turn;
    }
}

}  // namespace
}  // namespace lockwarp::validate
