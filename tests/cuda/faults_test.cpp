// SPDX-License-Identifier: Apache-2.0
// What goes wrong: wrong arguments, memory that is not there, kernels' own faults.
#include <cstring>

#include "driver.hpp"

namespace lockwarp::test {
namespace {

using Faults = Cuda;

TEST_F(Faults, OfMemoryAreErrors) {
    Address a = 0;
    EXPECT_EQ(cuMemAlloc(nullptr, 16), invalid_value);
    EXPECT_EQ(cuMemAlloc(&a, 0), invalid_value);
    EXPECT_EQ(cuMemAlloc(&a, size_t{1} << 50), out_of_memory);
    ASSERT_EQ(cuMemAlloc(&a, 64), success);
    const uint32_t word = 1;
    EXPECT_EQ(cuMemcpyHtoD(a + 60, &word, 4), success);
    EXPECT_EQ(cuMemcpyHtoD(a + 61, &word, 4), invalid_value);
    EXPECT_EQ(cuMemcpyHtoD(0, &word, 4), invalid_value);
    EXPECT_EQ(cuMemcpyHtoD(a, nullptr, 4), invalid_value);
    EXPECT_EQ(cuMemcpyDtoD(a, a + 8, 57), invalid_value);
    EXPECT_EQ(cuMemsetD32(a + 2, 0, 1), invalid_value);
    EXPECT_EQ(cuMemsetD32(a, 0, 17), invalid_value);
    EXPECT_EQ(cuMemFree(a + 4), invalid_value);
    EXPECT_EQ(cuMemFree(a), success);
    EXPECT_EQ(cuMemFree(a), invalid_value);
    EXPECT_EQ(cuMemFree(0), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
}

// Compilers read a whole vector where its first element is one of the buffer's.
TEST_F(Faults, AVectorMayReachPastTheEndAndNothingElse) {
    const Address x = allocate(44);
    const std::string use = " st.global.u32 [%p0], %r0;";
    EXPECT_EQ(run(kernel(" ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%p0+32];" + use), x), success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(kernel(" ld.global.u32 %r0, [%p0+64];" + use), x), success);
    EXPECT_EQ(cuCtxSynchronize(), illegal_address);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("past the end"), std::string::npos);
}

// As on an H100, whose assembler leaves it out.
TEST_F(Faults, ALoadThatNothingNeedsHasNone) {
    const Address x = allocate(64);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(kernel(" mov.u64 %p1, 0; ld.global.u32 %r0, [%p1]; st.global.u32 [%p0], 7;"), x),
              success);
    EXPECT_EQ(cuCtxSynchronize(), success);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    uint32_t word = 0;
    EXPECT_EQ(cuMemcpyDtoH(&word, x, sizeof word), success);
    EXPECT_EQ(word, 7u);
}

TEST_F(Faults, TheDevicesMemoryIsCounted) {
    const auto info = entry<int(size_t*, size_t*)>("cuMemGetInfo");
    size_t before = 0, total = 0, after = 0;
    ASSERT_EQ(info(&before, &total), success);
    EXPECT_LE(before, total);
    // Not touched, and so not taken of the machine.
    Address big = 0;
    ASSERT_EQ(cuMemAlloc(&big, size_t{4} << 30), success);
    ASSERT_EQ(info(&after, &total), success);
    EXPECT_EQ(before - after, size_t{4} << 30);
    Address more = 0;
    EXPECT_EQ(cuMemAlloc(&more, total - (size_t{4} << 30) + 1), out_of_memory);
    EXPECT_EQ(cuMemFree(big), success);
    ASSERT_EQ(info(&after, &total), success);
    EXPECT_EQ(before, after);
}

TEST_F(Faults, OfHandlesAreErrors) {
    const Handle f = kernel("");
    int here = 0;
    Handle stale = nullptr, out = nullptr;
    Address x = 0;
    for (const Handle wrong : {Handle(nullptr), Handle(&here)}) {
        EXPECT_EQ(cuModuleUnload(wrong), invalid_handle);
        EXPECT_EQ(cuModuleGetFunction(&out, wrong, "k"), invalid_handle);
        EXPECT_EQ(run(wrong, x), invalid_handle);
    }
    const Handle module = load(kernel_ptx(""));
    stale = function(module, "k");
    EXPECT_EQ(cuModuleGetFunction(&out, module, "nothing"), not_found);
    EXPECT_EQ(cuModuleGetFunction(nullptr, module, "k"), invalid_value);
    ASSERT_EQ(cuModuleUnload(module), success);
    EXPECT_EQ(run(stale, x), invalid_handle);
    void* parameters[] = {&x};
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, &here, parameters, nullptr), invalid_handle);
    EXPECT_EQ(cuCtxSetCurrent(&here), invalid_context);
    EXPECT_EQ(cuCtxDestroy(&here), invalid_context);
}

TEST_F(Faults, WithoutAContextAreErrors) {
    ASSERT_EQ(cuCtxSetCurrent(nullptr), success);
    Handle now = context;
    ASSERT_EQ(cuCtxGetCurrent(&now), success);
    EXPECT_EQ(now, nullptr);
    Address a = 0;
    EXPECT_EQ(cuMemAlloc(&a, 16), invalid_context);
    EXPECT_EQ(cuCtxSynchronize(), invalid_context);
    ASSERT_EQ(cuCtxSetCurrent(context), success);
    EXPECT_EQ(cuMemAlloc(&a, 16), success);
}

TEST_F(Faults, OfAKernelStay) {
    struct Case {
        const char* body;
        int result;
        const char* text;
    };
    const Case cases[] = {
        {" st.global.u32 [%p0+64], %r0;", illegal_address,
         "past the end of buffer 'device memory "},
        {" mov.u64 %p1, 0; ld.global.u32 %r0, [%p1]; st.global.u32 [%p0], %r0;", illegal_address,
         "address out of bounds"},
        {" ld.global.u32 %r0, [%p0+2]; st.global.u32 [%p0], %r0;", misaligned_address,
         "misaligned address"},
        {" trap;", launch_failed, "trap"},
    };
    for (const Case& c : cases) {
        Handle own = nullptr, other = nullptr;
        ASSERT_EQ(cuCtxCreate(&other, 0, 0), success);
        ASSERT_EQ(cuCtxCreate(&own, 0, 0), success);
        const Handle f = kernel(c.body);
        const Address x = allocate(64);
        testing::internal::CaptureStderr();
        EXPECT_EQ(run(f, x), success);  // comes to light later, as on a GPU
        EXPECT_EQ(cuCtxSynchronize(), c.result) << c.body;
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_NE(said.find(c.text), std::string::npos) << said;
        EXPECT_NE(said.find("\n  at PTX:8:"), std::string::npos) << said;
        EXPECT_NE(said.find("lane 0"), std::string::npos) << said;
        Address more = 0;
        EXPECT_EQ(cuMemAlloc(&more, 4), c.result);
        EXPECT_EQ(run(f, x), c.result);
        EXPECT_EQ(cuCtxSynchronize(), c.result);
        // Every other context has it too, as on an H100; but not one that is made later.
        ASSERT_EQ(cuCtxSetCurrent(other), success);
        EXPECT_EQ(cuMemAlloc(&more, 4), c.result);
        EXPECT_EQ(cuCtxDestroy(other), success);
        ASSERT_EQ(cuCtxSetCurrent(own), success);
        EXPECT_EQ(cuCtxDestroy(own), success);
        EXPECT_EQ(cuCtxDestroy(context), success);
        ASSERT_EQ(cuCtxCreate(&context, 0, 0), success);
        EXPECT_EQ(cuMemAlloc(&more, 4), success);
    }
}

// A weak load need not see what the host writes after the launch: it does where the kernel begins
// later.
TEST_F(Faults, AWaitForTheHostSaysWhatToDo) {
    const Handle f = kernel(
        " .reg .pred %q;\nL: ld.global.u32 %r0, [%p0];"
        " setp.eq.u32 %q, %r0, 0; @%q bra L;");
    const auto says = [&](Address x) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(run(f, x), success);
        EXPECT_EQ(cuCtxSynchronize(), launch_timeout);
        EXPECT_EQ(cuCtxDestroy(context), success);
        EXPECT_EQ(cuCtxCreate(&context, 0, 0), success);
        return testing::internal::GetCapturedStderr();
    };
    const auto host_memory = entry<int(void**, size_t)>("cuMemAllocHost");
    void* host = nullptr;
    ASSERT_EQ(host_memory(&host, 64), success);
    std::memset(host, 0, 64);
    EXPECT_NE(says(reinterpret_cast<Address>(host)).find("\n  where the host writes there"),
              std::string::npos);
}

TEST_F(Faults, AWaitForDeviceMemoryIsADeadlock) {
    const Handle f = kernel(
        " .reg .pred %q;\nL: ld.volatile.global.u32 %r0, [%p0];"
        " setp.eq.u32 %q, %r0, 0; @%q bra L;");
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(f, allocate(64)), success);
    EXPECT_EQ(cuCtxSynchronize(), launch_timeout);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("deadlock"), std::string::npos) << said;
    EXPECT_EQ(said.find("where the host writes"), std::string::npos) << said;
}

// As nvcc has assert(): it prints, and the error has a number of its own.
TEST_F(Faults, OfAssertionsHaveTheirOwnNumber) {
    const std::string ptx = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 what[6] = {110, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 func[2] = {107, 0};
.visible .entry k(.param .u64 x)
{
 .reg .b64 %p<4>; .reg .b32 %r<2>;
 mov.u64 %p0, what; cvta.global.u64 %p0, %p0;
 mov.u64 %p1, file; cvta.global.u64 %p1, %p1;
 mov.u64 %p2, func; cvta.global.u64 %p2, %p2;
 mov.u32 %r0, 7;
 mov.u64 %p3, 1;
 {
 .param .b64 p0; st.param.b64 [p0], %p0;
 .param .b64 p1; st.param.b64 [p1], %p1;
 .param .b32 p2; st.param.b32 [p2], %r0;
 .param .b64 p3; st.param.b64 [p3], %p2;
 .param .b64 p4; st.param.b64 [p4], %p3;
 call.uni __assertfail, (p0, p1, p2, p3, p4);
 }
 ret;
}
)";
    const Handle f = function(load(ptx), "k");
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(f, 0), success);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("a.cu:7: k: assertion `n > 0' failed"), std::string::npos) << said;
    EXPECT_EQ(cuCtxSynchronize(), assertion_failed);
    // The fixture's own context ends in error; it can be ended all the same.
}

TEST_F(Faults, AKernelThatIsNotExecutedLeavesTheOthers) {
    const std::string good = kernel_ptx("");
    const std::string other =
        ".visible .entry other()\n{ .reg .b64 %t; .reg .b32 %r; sured.b.add.2d.u32.trap [%t, "
        "{%r, %r}], %r; ret; }\n";
    Handle module = nullptr, function = nullptr;
    testing::internal::CaptureStderr();
    ASSERT_EQ(cuModuleLoadData(&module, (good + other).c_str()), success);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(cuModuleGetFunction(&function, module, "k"), success);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleGetFunction(&function, module, "other"), invalid_ptx);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("'sured.b.add.2d.u32.trap' is not executed yet"), std::string::npos)
        << said;
    // What a GPU would not take either is refused with the module.
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadData(&module, (good + other + "nonsense").c_str()), invalid_ptx);
    const std::string wrong = ".visible .entry wrong()\n{ ad.s32 %r0, %r1, %r2; sured; ret; }\n";
    EXPECT_EQ(cuModuleLoadData(&module, (good + wrong).c_str()), invalid_ptx);
    testing::internal::GetCapturedStderr();
}

TEST_F(Faults, OfPtxAreInTheCallersLog) {
    const std::string wrong = kernel_ptx(" ad.s32 %r0, %r1, %r2;\n mov.u32 %r9, 1;");
    char log[4096] = "", small[8] = "";
    constexpr int error_log = 5, error_log_bytes = 6;
    const int keys[] = {error_log, error_log_bytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    Handle module = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadDataEx(&module, wrong.c_str(), 2, keys, values), invalid_ptx);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_NE(std::string(log).find("\n  ad.s32 %r0, %r1, %r2;\n"), std::string::npos) << log;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1]), std::string(log).size() + 1);
    // A log that is too short is cut, with a zero at its end.
    void* short_values[] = {small, reinterpret_cast<void*>(sizeof small)};
    EXPECT_EQ(cuModuleLoadDataEx(&module, wrong.c_str(), 2, keys, short_values), invalid_ptx);
    EXPECT_EQ(std::string(small).size(), 7u);
    // Without a log it is on stderr.
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadData(&module, wrong.c_str()), invalid_ptx);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("lockwarp: "), std::string::npos);
    EXPECT_EQ(cuModuleLoadData(&module, nullptr), invalid_value);
    EXPECT_EQ(cuModuleLoadDataEx(&module, wrong.c_str(), 1, nullptr, nullptr), invalid_value);
}

TEST_F(Faults, OfFunctionsThatAreNotThereAreSaidOnce) {
    const auto missing = entry<int(void*)>("cuMipmappedArrayDestroy");
    testing::internal::CaptureStderr();
    EXPECT_EQ(missing(nullptr), not_supported);
    EXPECT_EQ(missing(nullptr), not_supported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "lockwarp: cuMipmappedArrayDestroy is not supported\n");
    const void* table = this;
    const auto private_table = entry<int(const void**, const void*)>("cuGetExportTable");
    testing::internal::CaptureStderr();
    EXPECT_EQ(private_table(&table, "an identifier...."), not_supported);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("private tables"), std::string::npos);
    EXPECT_EQ(table, nullptr);
}

}  // namespace
}  // namespace lockwarp::test
