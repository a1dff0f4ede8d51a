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

TEST_F(Linking, SaysWhatIsDefinedTwiceOrNowhere) {
    Handle module = nullptr;
    std::string log;
    EXPECT_EQ(link({user, definer, definer}, module, log), invalid_ptx);
    EXPECT_NE(log.find("is defined in two modules"), std::string::npos) << log;
    EXPECT_EQ(link({user, head}, module, log), invalid_ptx);
    EXPECT_NE(log.find("Unresolved extern"), std::string::npos) << log;
    EXPECT_EQ(link({user, "no PTX"}, module, log), invalid_ptx);
    EXPECT_NE(log.find("PTX:1"), std::string::npos) << log;
    const std::string other_space = head + ".visible .const .align 4 .u32 count = 2;\n";
    EXPECT_EQ(link({user, other_space}, module, log), invalid_ptx);
    EXPECT_NE(log.find("state space"), std::string::npos) << log;
}

}  // namespace
}  // namespace lockwarp::test
