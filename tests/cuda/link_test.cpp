// SPDX-License-Identifier: Apache-2.0
// Several modules of PTX as one.
#include "driver.hpp"

namespace lockwarp::test {
namespace {

using Linking = Cuda;

const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n";

// k(x) stores twice(20) + count + own, of which another module has all but `own`.
const std::string user = head + R"(
.extern .func (.param .b32 r) twice(.param .b32 a);
.extern .global .align 4 .u32 count;
.global .align 4 .u32 own = 1;
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r<4>; .reg .b64 %p<2>;
 ld.param.u64 %p0, [x];
 mov.u32 %r0, 20;
 {
 .param .b32 a; .param .b32 r;
 st.param.b32 [a], %r0;
 call.uni (r), twice, (a);
 ld.param.b32 %r1, [r];
 }
 ld.global.u32 %r2, [count];
 add.u32 %r1, %r1, %r2;
 ld.global.u32 %r2, [own];
 add.u32 %r1, %r1, %r2;
 st.global.u32 [%p0], %r1;
 ret;
}
)";

// It has a variable `own` too, which is another.
const std::string definer = head + R"(
.visible .global .align 4 .u32 count = 2;
.global .align 4 .u32 own = 7000;
.visible .func (.param .b32 r) twice(.param .b32 a)
{
 .reg .b32 %r<3>;
 ld.param.b32 %r0, [a];
 ld.global.u32 %r1, [own];
 add.u32 %r0, %r0, %r0;
 mad.lo.u32 %r0, %r1, 0, %r0;
 st.param.b32 [r], %r0;
 ret;
}
)";

const auto create = entry<int(unsigned, const int*, void**, Handle*)>("cuLinkCreate");
const auto add =
    entry<int(Handle, int, const void*, size_t, const char*, unsigned, const int*, void**)>(
        "cuLinkAddData");
const auto complete = entry<int(Handle, void**, size_t*)>("cuLinkComplete");
const auto end = entry<int(Handle)>("cuLinkDestroy");

// What linking the texts gives, and the module that comes of it.
int link(const std::vector<std::string>& texts, Handle& module, std::string& log) {
    Handle linking = nullptr;
    char errors[1000] = "";
    const int keys[] = {5, 6};
    void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
    EXPECT_EQ(create(2, keys, values, &linking), success);
    for (const std::string& text : texts)
        EXPECT_EQ(add(linking, 1, text.c_str(), text.size() + 1, "", 0, nullptr, nullptr), success);
    void* image = nullptr;
    size_t size = 0;
    const int result = complete(linking, &image, &size);
    log = errors;
    if (result == success) {
        EXPECT_EQ(cuModuleLoadData(&module, image), success);
    }
    EXPECT_EQ(end(linking), success);
    return result;
}

TEST_F(Linking, GivesEachModuleWhatTheOthersDefine) {
    const Address x = allocate(4);
    for (const std::vector<std::string>& texts :
         {std::vector{user, definer}, std::vector{definer, user}}) {
        Handle module = nullptr;
        std::string log;
        ASSERT_EQ(link(texts, module, log), success) << log;
        ASSERT_EQ(run(function(module, "k"), x), success);
        EXPECT_EQ(read<uint32_t>(x, 1)[0], 43u);
        Address count = 0;
        size_t bytes = 0;
        EXPECT_EQ(cuModuleGetGlobal(&count, &bytes, module, "count"), success);
        EXPECT_EQ(bytes, 4u);
        EXPECT_EQ(cuModuleUnload(module), success);
    }
}

TEST_F(Linking, TakesOneOfSeveralWeakDefinitions) {
    const std::string weak = head + ".weak .global .align 4 .u32 count = 5;\n";
    for (const std::vector<std::string>& texts :
         {std::vector{weak, user, definer}, std::vector{user, definer, weak, weak}}) {
        Handle module = nullptr;
        std::string log;
        ASSERT_EQ(link(texts, module, log), success) << log;
        const Address x = allocate(4);
        ASSERT_EQ(run(function(module, "k"), x), success);
        EXPECT_EQ(read<uint32_t>(x, 1)[0], 43u);
    }
}

// As an H100 with driver 580 answers: what is no PTX is not added.
TEST_F(Linking, AddsNothingThatIsNoPtx) {
    Handle linking = nullptr;
    ASSERT_EQ(create(0, nullptr, nullptr, &linking), success);
    EXPECT_EQ(add(linking, 1, "no PTX", 7, "", 0, nullptr, nullptr), invalid_image);
    for (const std::string& text : {user, definer})
        EXPECT_EQ(add(linking, 1, text.c_str(), text.size() + 1, "", 0, nullptr, nullptr), success);
    void* image = nullptr;
    size_t size = 0;
    EXPECT_EQ(complete(linking, &image, &size), success);
    EXPECT_EQ(end(linking), success);
}

TEST_F(Linking, SaysWhatIsDefinedTwiceOrNowhere) {
    Handle module = nullptr;
    std::string log;
    EXPECT_EQ(link({user, definer, definer}, module, log), invalid_ptx);
    EXPECT_NE(log.find("is defined in two modules"), std::string::npos) << log;
    // As an H100's driver has it, of one text too.
    constexpr int invalid_source = 300;
    for (const std::vector<std::string>& texts : {std::vector{user, head}, std::vector{user}}) {
        EXPECT_EQ(link(texts, module, log), invalid_source);
        EXPECT_NE(log.find("Unresolved extern variable 'count'"), std::string::npos) << log;
    }
    EXPECT_EQ(link({user, head + "no PTX"}, module, log), invalid_ptx);
    EXPECT_NE(log.find("PTX:4"), std::string::npos) << log;
    const std::string other_space = head + ".visible .const .align 4 .u32 count = 2;\n";
    EXPECT_EQ(link({user, other_space}, module, log), invalid_ptx);
    EXPECT_NE(log.find("state space"), std::string::npos) << log;
}

// The first module's k loads *(*p + 4) by a variable q whose initial value is p's address; p's own
// is that of a table which only its module sees, and in `both` p names q and q names p.
TEST_F(Linking, HasInitialValuesThatNameWhatAnotherModuleDefines) {
    const std::string first = head + R"(
.extern .global .align 8 .u64 p[1];
.visible .global .align 8 .u64 q[1] = {generic(p)};
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r; .reg .b64 %p<3>;
 ld.param.u64 %p0, [x];
 ld.global.u64 %p1, [q];
 ld.u64 %p1, [%p1];
 ld.u32 %r, [%p1+4];
 st.global.u32 [%p0], %r;
 ret;
}
)";
    const std::string table = head + ".global .align 4 .u32 table[2] = {7, 9};\n" +
                              ".visible .global .align 8 .u64 p[1] = {generic(table)};\n";
    const std::string weak = head + ".weak .global .align 8 .u64 p[1];\n";
    for (const std::vector<std::string>& texts :
         {std::vector{first, table}, std::vector{table, first}, std::vector{weak, first, table}}) {
        Handle module = nullptr;
        std::string log;
        ASSERT_EQ(link(texts, module, log), success) << log;
        const Address x = allocate(4);
        ASSERT_EQ(run(function(module, "k"), x), success);
        EXPECT_EQ(read<uint32_t>(x, 1)[0], 9u);
        EXPECT_EQ(cuModuleUnload(module), success);
    }
    // p names q, and q names p: 4 bytes behind q is the upper half of p's address.
    const std::string both = head + ".extern .global .align 8 .u64 q[1];\n" +
                             ".visible .global .align 8 .u64 p[1] = {generic(q)};\n";
    Handle module = nullptr;
    std::string log;
    ASSERT_EQ(link({first, both}, module, log), success) << log;
    const Address x = allocate(4);
    ASSERT_EQ(run(function(module, "k"), x), success);
    Address p = 0;
    size_t bytes = 0;
    ASSERT_EQ(cuModuleGetGlobal(&p, &bytes, module, "p"), success);
    EXPECT_EQ(read<uint32_t>(x, 1)[0], static_cast<uint32_t>(p >> 32));
}

// Each CTA adds one, and after the barrier stores what all have added.
TEST_F(Linking, KnowsBarriersOfTheGridOfTheDevicesRuntime) {
    const std::string text = head + R"(
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r<4>; .reg .b64 %p<4>; .reg .pred %q;
 .param .b32 scope; .param .b64 handle; .param .b32 flags; .param .b32 result;
 ld.param.u64 %p0, [x];
 mov.u32 %r0, %tid.x;
 mov.u32 %r1, %ctaid.x;
 setp.eq.u32 %q, %r0, 0;
 @%q red.global.add.u32 [%p0], 1;
 st.param.b32 [scope], 1;
 call.uni (handle), cudaCGGetIntrinsicHandle, (scope);
 ld.param.b64 %p1, [handle];
 st.param.b64 [handle], %p1;
 st.param.b32 [flags], 0;
 call.uni (result), cudaCGSynchronize, (handle, flags);
 ld.param.b32 %r2, [result];
 ld.volatile.global.u32 %r3, [%p0];
 mul.lo.u32 %r2, %r2, 100;
 add.u32 %r3, %r3, %r2;
 mad.wide.u32 %p2, %r1, 4, %p0;
 @%q st.global.u32 [%p2+4], %r3;
 ret;
}
)";
    Handle linking = nullptr, module = nullptr;
    ASSERT_EQ(create(0, nullptr, nullptr, &linking), success);
    EXPECT_EQ(add(linking, 1, text.c_str(), text.size() + 1, "", 0, nullptr, nullptr), success);
    EXPECT_EQ(add(linking, 4, "!<arch>", 8, "/lib/libcudadevrt.a", 0, nullptr, nullptr), success);
    EXPECT_EQ(add(linking, 4, "!<arch>", 8, "/lib/libother.a", 0, nullptr, nullptr),
              no_binary_for_gpu);
    void* image = nullptr;
    ASSERT_EQ(complete(linking, &image, nullptr), success);
    ASSERT_EQ(cuModuleLoadData(&module, image), success);
    EXPECT_EQ(end(linking), success);
    const auto cooperative =
        entry<int(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  Handle, void**)>("cuLaunchCooperativeKernel");
    for (const unsigned ctas : {1u, 5u}) {
        Address x = allocate(4 * (ctas + 1));
        void* parameters[] = {&x};
        ASSERT_EQ(cooperative(function(module, "k"), ctas, 1, 1, 64, 1, 1, 0, nullptr, parameters),
                  success);
        EXPECT_EQ(read<uint32_t>(x, ctas + 1), std::vector<uint32_t>(ctas + 1, ctas));
    }
    // Without a cooperative launch there is no handle, and the barrier gives 999, as on an H200.
    const Address x = allocate(8);
    ASSERT_EQ(run(function(module, "k"), x), success);
    EXPECT_EQ(read<uint32_t>(x, 2)[1], 99901u);
}

}  // namespace
}  // namespace lockwarp::test
