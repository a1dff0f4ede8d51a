// SPDX-License-Identifier: Apache-2.0
// Launches, memory and traps by the C face.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "tests/engine/support.hpp"

namespace lockwarp::engine {
namespace {

// p0[thread] = thread + p1
const std::string add_text = kernel_text(R"(
mov.u32 %r0, %ctaid.x;
mov.u32 %r1, %ntid.x;
mov.u32 %r2, %tid.x;
mad.lo.u32 %r3, %r0, %r1, %r2;
mul.wide.u32 %rd0, %r3, 4;
add.u64 %rd1, %p0, %rd0;
cvt.u32.u64 %r4, %p1;
add.u32 %r5, %r3, %r4;
st.global.u32 [%rd1], %r5;)",
                                         2);

struct Loaded {
    Context context = make_context();
    Module module;
    const lockwarp_kernel* kernel = nullptr;
    explicit Loaded(const std::string& text) {
        Given<Module> given = load(context, text);
        EXPECT_EQ(given.message, "");
        module = std::move(given.value);
        const auto found = kernel_of(module);
        EXPECT_EQ(found.message, "");
        kernel = found.value;
    }
};

TEST(Launch, WritesRegisteredMemoryAtItsOwnAddress) {
    const Loaded l(add_text);
    std::vector<uint32_t> out(256);
    ASSERT_EQ(add(l.context, out.data(), 4 * out.size(), "out"), LOCKWARP_OK);
    Options o({address_of(out.data()), 100});
    o.grid[0] = 4;
    o.block[0] = 64;
    const auto given = run(l.kernel, o);
    ASSERT_EQ(given.status, LOCKWARP_OK) << given.message;
    for (uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i + 100);
    lockwarp_statistics s{};
    s.struct_size = sizeof s;
    ASSERT_EQ(lockwarp_result_statistics(given.value.get(), &s), LOCKWARP_OK);
    EXPECT_EQ(s.ctas, 4u);
    EXPECT_EQ(s.warps, 8u);
    EXPECT_EQ(s.instructions % 8, 0u);
    EXPECT_EQ(s.lane_operations, 32 * s.instructions);
    ASSERT_EQ(lockwarp_unregister(l.context.get(), out.data(), 4 * out.size()), LOCKWARP_OK);
    EXPECT_EQ(lockwarp_unregister(l.context.get(), out.data(), 4 * out.size()), LOCKWARP_NOT_FOUND);
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_TRAPPED);
}

TEST(Launch, NamesTheRangeThatATrapIsNextTo) {
    const Loaded l(add_text);
    std::array<uint32_t, 40> out{};
    Options o({address_of(out.data()), 0});
    o.grid[0] = 2;
    const lockwarp_range range{out.data(), 0, sizeof out, "result"};
    o.ranges = &range;
    o.range_count = 1;
    const auto given = run(l.kernel, o);
    ASSERT_EQ(given.status, LOCKWARP_TRAPPED);
    const lockwarp_trap t = trap_of(given.value);
    EXPECT_EQ(t.kind, LOCKWARP_TRAP_OUT_OF_BOUNDS);
    EXPECT_STREQ(t.name, "address out of bounds");
    EXPECT_STREQ(t.range, "result");
    EXPECT_EQ(t.range_offset, 160);
    EXPECT_EQ(t.range_size, 160u);
    EXPECT_TRUE(t.has_address);
    EXPECT_EQ(t.address, address_of(out.data() + out.size()));
    EXPECT_STREQ(t.space, "global");
    EXPECT_EQ(t.cta[0], 1u);
    EXPECT_EQ(t.lane, 8);
    EXPECT_EQ(t.thread[0], 8u);
    EXPECT_EQ(t.line, 22u);
    EXPECT_STREQ(t.instruction, "st.global.u32 [%rd1], %r5;");
    EXPECT_NE(given.message.find("buffer 'result' (160 bytes)"), std::string::npos);
    EXPECT_NE(given.message.find("test.ptx:22:1 in kernel"), std::string::npos);
}

TEST(Launch, TrapsOfOtherKindsAreValuesToo) {
    const Loaded l(add_text);
    std::array<uint32_t, 64> out{};
    ASSERT_EQ(add(l.context, out.data(), sizeof out, "out"), LOCKWARP_OK);
    const auto misaligned = run(l.kernel, Options({address_of(out.data()) + 2, 0}));
    EXPECT_EQ(misaligned.status, LOCKWARP_TRAPPED);
    EXPECT_EQ(trap_of(misaligned.value).kind, LOCKWARP_TRAP_MISALIGNED);
    Options limited({address_of(out.data()), 0});
    limited.max_steps = 3;
    const auto limit = run(l.kernel, limited);
    EXPECT_EQ(trap_of(limit.value).kind, LOCKWARP_TRAP_STEP_LIMIT);
    EXPECT_EQ(trap_of(limit.value).lane, -1);
    EXPECT_EQ(run(l.kernel, Options({address_of(out.data()), 0})).status, LOCKWARP_OK);
    lockwarp_trap none{};
    none.struct_size = sizeof none;
    const auto good = run(l.kernel, Options({address_of(out.data()), 0}));
    EXPECT_EQ(lockwarp_result_trap(good.value.get(), &none), LOCKWARP_NOT_FOUND);
}

// By the address that the emulator has, and by one that the launch gives besides, as a GPU's.
TEST(Launch, CallsFunctionsByAddressesThatItIsGiven) {
    const Loaded l(R"(.version 7.0
.target sm_80
.address_size 64
.func (.param .b32 r) one() { st.param.b32 [r], 1; ret; }
.func (.param .b32 r) two() { st.param.b32 [r], 2; ret; }
.global .b64 table[2] = {one, two};
.entry k(.param .u64 out, .param .u64 f)
{
 .reg .b32 %r; .reg .b64 %rd<2>;
 .param .b32 given;
 ld.param.u64 %rd0, [out];
 ld.param.u64 %rd1, [f];
 P: .callprototype (.param .b32 _) _ ();
 call (given), %rd1, (), P;
 ld.param.b32 %r, [given];
 st.global.u32 [%rd0], %r;
 ret;
}
)");
    lockwarp_variable table{};
    table.struct_size = sizeof table;
    ASSERT_EQ(lockwarp_module_variable(l.module.get(), "table", &table, nullptr), LOCKWARP_OK);
    std::array<uint64_t, 2> own{};
    std::memcpy(own.data(), table.bytes, sizeof own);
    EXPECT_STREQ(lockwarp_kernel_function_at(l.kernel, own[0]), "one");
    EXPECT_STREQ(lockwarp_kernel_function_at(l.kernel, own[1]), "two");
    for (const uint64_t no : {own[0] - 16, own[0] + 8, own[1] + 16, uint64_t{0}, uint64_t{16}})
        EXPECT_EQ(lockwarp_kernel_function_at(l.kernel, no), nullptr) << no;
    EXPECT_EQ(lockwarp_kernel_function_at(nullptr, own[0]), nullptr);
    uint32_t out = 0;
    ASSERT_EQ(add(l.context, &out, sizeof out, "out"), LOCKWARP_OK);
    const std::array<lockwarp_function_address, 3> given{
        {{8, own[1]}, {16, own[0]}, {24, own[1] + 16}}};  // the last is no function's
    const auto called = [&](uint64_t address, size_t known) {
        Options o({address_of(&out), address});
        o.functions = given.data();
        o.function_count = known;
        out = 0;
        return run(l.kernel, o).status == LOCKWARP_OK ? out : 0;
    };
    EXPECT_EQ(called(own[0], 3), 1u);
    EXPECT_EQ(called(own[1], 0), 2u);
    EXPECT_EQ(called(8, 3), 2u);
    EXPECT_EQ(called(16, 3), 1u);
    EXPECT_EQ(called(16, 1), 0u);
    EXPECT_EQ(called(24, 3), 0u);
    EXPECT_EQ(called(9, 3), 0u);
    Options none({address_of(&out), 8});
    none.function_count = 1;
    EXPECT_EQ(run(l.kernel, none).message, "lockwarp_launch: functions is NULL");
    const lockwarp_function_address wrong{8, own[0] + 4};
    none.functions = &wrong;
    EXPECT_EQ(run(l.kernel, none).message, "lockwarp_launch: functions has an address of none");
}

TEST(Launch, RefusesWhatCannotBegin) {
    const Loaded l(add_text);
    const auto few = run(l.kernel, Options({1}));
    EXPECT_EQ(few.status, LOCKWARP_INVALID_ARGUMENT);
    EXPECT_EQ(few.message, "8 bytes of parameters: kernel has 16");
    Options large({0, 0});
    large.block[0] = 2048;
    const auto block = run(l.kernel, large);
    EXPECT_EQ(block.status, LOCKWARP_REFUSED);
    EXPECT_EQ(block.value, nullptr);
    Options flags({0, 0});
    flags.flags = 1u << 31;
    EXPECT_EQ(run(l.kernel, flags).status, LOCKWARP_INVALID_ARGUMENT);
    EXPECT_EQ(lockwarp_launch(l.kernel, nullptr, nullptr, nullptr), LOCKWARP_INVALID_ARGUMENT);
}

// Without an end, and always with something new: or else it would be found to be a deadlock.
const std::string endless_text = kernel_text(
    "again: ld.global.u32 %r0, [%p0];\nadd.u32 %r0, %r0, 1;\nst.global.u32 [%p0], %r0;\n"
    "bra again;");

// p1[0] = the word at p0, by a copy that nobody waits for.
const std::string unwaited_text = kernel_text(R"(
.shared .align 4 .b32 here;
mov.u32 %r0, 7;
st.shared.u32 [here], %r0;
mov.u32 %r1, here;
cp.async.ca.shared.global [%r1], [%p0], 4;
ld.shared.u32 %r2, [here];
st.global.u32 [%p1], %r2;)",
                                              2);

TEST(Launch, ALateCopyIsThereWhereSomebodyWaits) {
    const Loaded l(unwaited_text);
    const uint32_t in = 5;
    uint32_t out = 0;
    ASSERT_EQ(add(l.context, const_cast<uint32_t*>(&in), sizeof in, "in"), LOCKWARP_OK);
    ASSERT_EQ(add(l.context, &out, sizeof out, "out"), LOCKWARP_OK);
    Options o({address_of(&in), address_of(&out)});
    ASSERT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    EXPECT_EQ(out, 5u);
    o.flags = LOCKWARP_ASYNC_LATE;
    ASSERT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    EXPECT_EQ(out, 7u);
    o.poll = [](void*) { return 0; };
    out = 0;
    ASSERT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    EXPECT_EQ(out, 7u);
    o.flags = LOCKWARP_LEAVE_OUT_LOADS << 1;
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_INVALID_ARGUMENT);
}

TEST(Launch, ALoadThatNothingNeedsIsLeftOutWhereTheLaunchSaysSo) {
    const Loaded l(kernel_text("ld.global.u32 %r1, [0];\nst.global.u32 [%p0], 7;"));
    uint32_t out = 0;
    ASSERT_EQ(add(l.context, &out, sizeof out, "out"), LOCKWARP_OK);
    Options o({address_of(&out)});
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_TRAPPED);
    EXPECT_EQ(out, 0u);
    o.flags = LOCKWARP_LEAVE_OUT_LOADS;
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    EXPECT_EQ(out, 7u);
}

TEST(Launch, StopsOnRequest) {
    const Loaded l(endless_text);
    uint32_t count = 0;
    ASSERT_EQ(add(l.context, &count, sizeof count, "count"), LOCKWARP_OK);
    lockwarp_stop* made = nullptr;
    ASSERT_EQ(lockwarp_stop_create(&made), LOCKWARP_OK);
    const Stop stop(made);
    Options o({address_of(&count)});
    o.stop = stop.get();
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        lockwarp_stop_request(stop.get());
    });
    const auto given = run(l.kernel, o);
    later.join();
    EXPECT_EQ(given.status, LOCKWARP_STOPPED);
    EXPECT_EQ(trap_of(given.value).kind, LOCKWARP_TRAP_STOPPED);
}

TEST(Launch, PollsOnTheCallersThread) {
    const Loaded l(endless_text);
    uint32_t count = 0;
    ASSERT_EQ(add(l.context, &count, sizeof count, "count"), LOCKWARP_OK);
    struct Asked {
        std::thread::id thread;
        int times = 0;
    } asked;
    Options o({address_of(&count)});
    o.poll_milliseconds = 2;
    o.poll_user = &asked;
    o.poll = [](void* user) {
        auto* a = static_cast<Asked*>(user);
        a->thread = std::this_thread::get_id();
        return ++a->times == 3 ? 1 : 0;
    };
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_STOPPED);
    EXPECT_EQ(asked.times, 3);
    EXPECT_EQ(asked.thread, std::this_thread::get_id());
}

TEST(Launch, RunsFromSeveralThreadsAtATime) {
    const Loaded l(add_text);
    constexpr size_t threads = 4;
    std::vector<std::vector<uint32_t>> out(threads, std::vector<uint32_t>(1024));
    std::vector<std::thread> all;
    std::array<int, threads> failed{};
    for (size_t n = 0; n < threads; ++n)
        all.emplace_back([&, n] {
            for (uint64_t round = 0; round < 20; ++round) {
                const lockwarp_range range{out[n].data(), 0, 4 * out[n].size(), "mine"};
                Options o({address_of(out[n].data()), 1000 * n + round});
                o.grid[0] = 32;
                o.ranges = &range;
                o.range_count = 1;
                failed[n] += run(l.kernel, o).status != LOCKWARP_OK;
                for (size_t i = 0; i < out[n].size(); ++i)
                    failed[n] += out[n][i] != i + 1000 * n + round;
            }
        });
    for (std::thread& t : all) t.join();
    EXPECT_EQ(failed, (std::array<int, threads>{}));
}

TEST(Memory, RangesThatTouchOrOverlapAreOne) {
    // Each thread stores 8 bytes that lie in two ranges.
    const Loaded l(
        kernel_text("mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd0, %r0, 8;\n"
                    "add.u64 %rd1, %p0, %rd0;\nst.global.u64 [%rd1], %rd0;"));
    alignas(8) std::array<uint8_t, 256> bytes{};
    ASSERT_EQ(add(l.context, bytes.data(), 100, "first"), LOCKWARP_OK);
    ASSERT_EQ(add(l.context, bytes.data() + 100, 60, "second"), LOCKWARP_OK);
    ASSERT_EQ(add(l.context, bytes.data() + 120, 136, "third"), LOCKWARP_OK);
    ASSERT_EQ(add(l.context, bytes.data() + 130, 4, "inside"), LOCKWARP_OK);
    const auto given = run(l.kernel, Options({address_of(bytes.data())}));
    EXPECT_EQ(given.status, LOCKWARP_OK) << given.message;
    for (uint64_t i = 0; i < 32; ++i) {
        uint64_t value = 0;
        std::memcpy(&value, bytes.data() + 8 * i, 8);
        EXPECT_EQ(value, 8 * i);
    }
}

TEST(Memory, ATrapNamesTheRangeAndNotTheOthersThatTouchIt) {
    const Loaded l(add_text);
    std::array<uint32_t, 48> words{};
    ASSERT_EQ(add(l.context, words.data(), 64, "first"), LOCKWARP_OK);
    ASSERT_EQ(add(l.context, words.data() + 16, 64, "second"), LOCKWARP_OK);
    const auto given = run(l.kernel, Options({address_of(words.data() + 8), 0}));
    ASSERT_EQ(given.status, LOCKWARP_TRAPPED);
    const lockwarp_trap t = trap_of(given.value);
    EXPECT_EQ(t.lane, 24);
    EXPECT_STREQ(t.range, "second");
    EXPECT_EQ(t.range_offset, 64);
    EXPECT_EQ(t.range_size, 64u);
}

TEST(Memory, IsRefusedWhereThereIsNone) {
    const Context context = make_context();
    void* out = &out;
    lockwarp_error* raw = nullptr;
    EXPECT_EQ(lockwarp_allocate(context.get(), UINT64_MAX, "all", &out, &raw),
              LOCKWARP_OUT_OF_MEMORY);
    const Error error(raw);
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(lockwarp_error_status(raw), LOCKWARP_OUT_OF_MEMORY);
    EXPECT_STREQ(lockwarp_error_message(raw), "out of memory");
}

// A CTA of 64 threads passes words through dynamic shared memory; a part of the grid runs alone.
TEST(Launch, HasDynamicSharedMemoryAndPartsOfGrids) {
    const Loaded l(kernel_text(R"(
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
shl.b32 %r2, %r0, 2;
mov.u32 %r3, words;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r0;
bar.sync 0;
sub.u32 %r5, 252, %r2;
add.u32 %r6, %r3, %r5;
ld.shared.u32 %r7, [%r6];
mad.lo.u32 %r8, %r1, 64, %r0;
mul.wide.u32 %rd0, %r8, 4;
add.u64 %rd1, %p0, %rd0;
st.global.u32 [%rd1], %r7;)",
                               1, ".extern .shared .align 16 .b8 words[];"));
    std::vector<uint32_t> out(4 * 64, 99);
    ASSERT_EQ(add(l.context, out.data(), 4 * out.size(), "out"), LOCKWARP_OK);
    Options o({address_of(out.data())});
    o.grid[0] = 4;
    o.block[0] = 64;
    o.first_cta = 1;
    o.ctas = 2;
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_TRAPPED);  // no shared memory
    o.dynamic_shared = 256;
    ASSERT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    for (uint32_t i = 0; i < out.size(); ++i) {
        const uint32_t cta = i / 64;
        EXPECT_EQ(out[i], cta == 1 || cta == 2 ? 63 - i % 64 : 99) << i;
    }
    o.dynamic_shared = 1 << 20;
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_REFUSED);
}

TEST(Memory, OneAddressHasOneByte) {
    const Loaded l(add_text);
    std::array<uint32_t, 64> a{}, b{};
    const std::array<lockwarp_range, 2> ranges{
        {{a.data(), 0x10000, sizeof a, "a"}, {b.data(), 0x10080, sizeof b, "b"}}};
    Options o({0x10000, 7});
    o.ranges = ranges.data();
    o.range_count = 2;
    const auto wrong = run(l.kernel, o);
    EXPECT_EQ(wrong.status, LOCKWARP_INVALID_ARGUMENT);
    EXPECT_NE(wrong.message.find("'a' and 'b'"), std::string::npos) << wrong.message;
    o.range_count = 1;
    EXPECT_EQ(run(l.kernel, o).status, LOCKWARP_OK);
    EXPECT_EQ(a[31], 38u);
}

TEST(Memory, RefusesAddressesThatMeanSomethingElse) {
    const Context context = make_context();
    std::array<uint8_t, 64> bytes{};
    for (const uint64_t address : {uint64_t{0x7e0000000000}, uint64_t{0x7dfffffffff0},
                                   uint64_t{0x7b0000000000}, UINT64_MAX - 8}) {
        const lockwarp_range range{bytes.data(), address, sizeof bytes, "here"};
        EXPECT_EQ(lockwarp_register(context.get(), &range, nullptr), LOCKWARP_INVALID_ARGUMENT);
    }
    const lockwarp_range none{nullptr, 0, 8, nullptr};
    EXPECT_EQ(lockwarp_register(context.get(), &none, nullptr), LOCKWARP_INVALID_ARGUMENT);
    const lockwarp_range empty{nullptr, 0, 0, nullptr};
    EXPECT_EQ(lockwarp_register(context.get(), &empty, nullptr), LOCKWARP_OK);
}

TEST(Memory, IsAllocatedByTheContext) {
    const Loaded l(add_text);
    void* out = nullptr;
    ASSERT_EQ(lockwarp_allocate(l.context.get(), 128, "out", &out, nullptr), LOCKWARP_OK);
    EXPECT_EQ(address_of(out) % 256, 0u);
    EXPECT_EQ(run(l.kernel, Options({address_of(out), 5})).status, LOCKWARP_OK);
    EXPECT_EQ(static_cast<uint32_t*>(out)[31], 36u);
    EXPECT_EQ(lockwarp_free(l.context.get(), out), LOCKWARP_OK);
    EXPECT_EQ(lockwarp_free(l.context.get(), out), LOCKWARP_NOT_FOUND);
    EXPECT_EQ(lockwarp_free(l.context.get(), nullptr), LOCKWARP_OK);
}

}  // namespace
}  // namespace lockwarp::engine
