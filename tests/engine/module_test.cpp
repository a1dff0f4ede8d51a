// SPDX-License-Identifier: Apache-2.0
// Modules by the C face: errors, kernels, variables.
#include <gtest/gtest.h>

#include "tests/engine/support.hpp"

namespace lockwarp::engine::module_test {
namespace {

TEST(Modules, SayWhereTextIsWrong) {
    const Context context = make_context();
    const auto given =
        load(context, ".version 7.0\n.target sm_80\n.address_size 64\n.entry k( {\n");
    EXPECT_EQ(given.status, LOCKWARP_BAD_PTX);
    EXPECT_EQ(given.value, nullptr);
    ASSERT_FALSE(given.diagnostics.empty());
    EXPECT_EQ(given.diagnostics[0].line, 4u);
    EXPECT_TRUE(given.message.starts_with("test.ptx:4:")) << given.message;
    EXPECT_EQ(lockwarp_error_status(given.error.get()), LOCKWARP_BAD_PTX);
}

TEST(Modules, SayWhatOfABodyCannotRun) {
    const Context context = make_context();
    const auto module = load(context, kernel_text("add.u32 %r0, %r1;\nmov.u32 %nothing, 1;"));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    EXPECT_EQ(kernel.status, LOCKWARP_BAD_PTX);
    EXPECT_EQ(kernel.value, nullptr);
    EXPECT_EQ(kernel.diagnostics.size(), 2u) << kernel.message;
}

TEST(Modules, SayWhatIsWrongAndWhatIsOnlyNotExecuted) {
    const Context context = make_context();
    const auto module = load(context, kernel_text("istypep.texref %q0, %rd0;\n"
                                                  "istypep.texref %q1, %rd0;\n"
                                                  "mov.u32 %nothing, 1;"));
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    EXPECT_EQ(kernel.status, LOCKWARP_BAD_PTX);
    ASSERT_EQ(kernel.diagnostics.size(), 2u) << kernel.message;
    EXPECT_EQ(kernel.diagnostics[0].not_executed, 1u);
    EXPECT_EQ(kernel.diagnostics[1].not_executed, 0u);
}

TEST(Modules, NameTheKernelsThatThereAre) {
    const Context context = make_context();
    const auto module = load(context,
                             ".version 7.0\n.target sm_80\n.address_size 64\n"
                             ".entry _Z5scalePf(.param .u64 p) { ret; }\n"
                             ".entry other() { ret; }\n");
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    ASSERT_EQ(lockwarp_module_kernels(module.value.get()), 2u);
    EXPECT_STREQ(lockwarp_module_kernel_name(module.value.get(), 1), "other");
    EXPECT_EQ(lockwarp_module_kernel_name(module.value.get(), 2), nullptr);
    const auto missing = kernel_of(module.value, "scales");
    EXPECT_EQ(missing.status, LOCKWARP_NOT_FOUND);
    EXPECT_NE(missing.message.find("_Z5scalePf, other"), std::string::npos) << missing.message;
    EXPECT_EQ(kernel_of(module.value).status, LOCKWARP_NOT_FOUND);
    const auto plain = kernel_of(module.value, "scale");
    ASSERT_EQ(plain.status, LOCKWARP_OK);
    EXPECT_EQ(plain.value, kernel_of(module.value, "_Z5scalePf").value);
}

TEST(Modules, DescribeAKernelsParameters) {
    const Context context = make_context("sm_90");
    const auto module = load(context,
                             ".version 7.0\n.target sm_80\n.address_size 64\n"
                             ".entry k(.param .u64 .ptr .global .align 16 a, .param .f32 b,\n"
                             ".param .align 8 .b8 c[20]) .maxntid 64, 2, 1\n{ .shared .b32 s[8];\n"
                             ".reg .b32 %r; ld.shared.b32 %r, [s]; ret; }\n");
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    EXPECT_STREQ(lockwarp_module_arch(module.value.get()), "sm_90");
    const auto kernel = kernel_of(module.value);
    ASSERT_EQ(kernel.status, LOCKWARP_OK) << kernel.message;
    lockwarp_kernel_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(lockwarp_kernel_get_info(kernel.value, &info), LOCKWARP_OK);
    EXPECT_STREQ(info.name, "k");
    EXPECT_EQ(info.parameters, 3u);
    EXPECT_EQ(info.parameter_bytes, 36u);
    EXPECT_EQ(info.shared_static, 32u);
    EXPECT_EQ(info.max_threads, 128u);
    EXPECT_EQ(info.required_block[0], 0u);
    struct Row {
        const char* name;
        const char* type;
        uint32_t offset, size, alignment;
        int32_t is_array, is_pointer;
        const char* space;
    };
    const Row rows[] = {{"a", "u64", 0, 8, 8, 0, 1, "global"},
                        {"b", "f32", 8, 4, 4, 0, 0, ""},
                        {"c", "b8", 16, 20, 8, 1, 0, ""}};
    for (size_t i = 0; i < 3; ++i) {
        lockwarp_parameter p{};
        p.struct_size = sizeof p;
        ASSERT_EQ(lockwarp_kernel_parameter(kernel.value, i, &p), LOCKWARP_OK);
        EXPECT_STREQ(p.name, rows[i].name);
        EXPECT_STREQ(p.type, rows[i].type);
        EXPECT_EQ(p.offset, rows[i].offset);
        EXPECT_EQ(p.size, rows[i].size);
        EXPECT_EQ(p.alignment, rows[i].alignment);
        EXPECT_EQ(p.is_array, rows[i].is_array);
        EXPECT_EQ(p.is_pointer, rows[i].is_pointer);
        EXPECT_STREQ(p.pointer_space, rows[i].space);
    }
    lockwarp_parameter p{};
    p.struct_size = sizeof p;
    EXPECT_EQ(lockwarp_kernel_parameter(kernel.value, 3, &p), LOCKWARP_NOT_FOUND);
}

TEST(Modules, TakeTheArchitectureThatIsNamed) {
    const std::string text = kernel_text("", 0);
    EXPECT_STREQ(lockwarp_module_arch(load(make_context(), text).value.get()), "sm_80");
    EXPECT_STREQ(lockwarp_module_arch(load(make_context("sm_90"), text).value.get()), "sm_90");
    EXPECT_STREQ(lockwarp_module_arch(load(make_context("sm_90"), text, "sm_86").value.get()),
                 "sm_86");
    const auto wrong = load(make_context(), text, "sm_81");
    EXPECT_EQ(wrong.status, LOCKWARP_NOT_FOUND);
    EXPECT_NE(wrong.message.find("sm_90"), std::string::npos);
    lockwarp_context* none = nullptr;
    lockwarp_context_options options{sizeof options, "gfx90a"};
    EXPECT_EQ(lockwarp_context_create(&options, &none, nullptr), LOCKWARP_NOT_FOUND);
    EXPECT_EQ(none, nullptr);
}

lockwarp_variable variable_of(const Module& module, const char* name) {
    lockwarp_variable v{};
    v.struct_size = sizeof v;
    EXPECT_EQ(lockwarp_module_variable(module.get(), name, &v, nullptr), LOCKWARP_OK) << name;
    return v;
}

// counter += factor, and p0 = the counter's address
const std::string counter_text = kernel_text(R"(
ld.const.u32 %r0, [factor];
ld.global.u32 %r1, [counter];
add.u32 %r2, %r1, %r0;
st.global.u32 [counter], %r2;
mov.u64 %rd0, counter;
st.global.u64 [%p0], %rd0;)",
                                             1,
                                             ".const .u32 factor = 3;\n.global .u32 before = 1;\n"
                                             ".global .u32 counter = 10;\n"
                                             ".global .u64 where = counter;\n");

TEST(Variables, KeepTheirValuesBetweenLaunches) {
    const Context context = make_context();
    const auto module = load(context, counter_text);
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    const auto kernel = kernel_of(module.value);
    uint64_t address = 0;
    ASSERT_EQ(add(context, &address, 8, "address"), LOCKWARP_OK);
    const lockwarp_variable counter = variable_of(module.value, "counter");
    auto* const value = static_cast<uint32_t*>(counter.bytes);
    EXPECT_EQ(counter.size, 4u);
    EXPECT_EQ(*value, 10u);
    const Options o({address_of(&address)});
    ASSERT_EQ(run(kernel.value, o).status, LOCKWARP_OK);
    EXPECT_EQ(*value, 13u);
    EXPECT_EQ(address, counter.address);
    EXPECT_EQ(address, address_of(value));
    // What is initialised with an address has the same one.
    EXPECT_EQ(*static_cast<uint64_t*>(variable_of(module.value, "where").bytes), address);
    const lockwarp_variable factor = variable_of(module.value, "factor");
    EXPECT_STREQ(factor.space, "const");
    *static_cast<uint32_t*>(factor.bytes) = 1000;
    ASSERT_EQ(run(kernel.value, o).status, LOCKWARP_OK);
    EXPECT_EQ(*value, 1013u);
    EXPECT_EQ(lockwarp_module_variables(module.value.get()), 4u);
    lockwarp_variable v{};
    v.struct_size = sizeof v;
    EXPECT_EQ(lockwarp_module_variable(module.value.get(), "kounter", &v, nullptr),
              LOCKWARP_NOT_FOUND);
}

TEST(Variables, OfTwoModulesAreApartAndReachableByPointers) {
    const Context context = make_context();
    const auto first = load(context, counter_text);
    auto second = load(context, counter_text);
    const lockwarp_variable one = variable_of(first.value, "counter");
    const lockwarp_variable two = variable_of(second.value, "counter");
    EXPECT_NE(one.address, two.address);
    // A kernel of the first module writes what it is given: a variable of the second.
    const auto kernel = kernel_of(first.value);
    const lockwarp_variable target = variable_of(second.value, "where");
    ASSERT_EQ(run(kernel.value, Options({target.address})).status, LOCKWARP_OK);
    EXPECT_EQ(*static_cast<uint64_t*>(target.bytes), one.address);
    EXPECT_EQ(*static_cast<uint32_t*>(one.bytes), 13u);
    EXPECT_EQ(*static_cast<uint32_t*>(two.bytes), 10u);
    // With the second module its memory goes.
    const uint64_t gone = target.address;
    second.value = nullptr;
    EXPECT_EQ(run(kernel.value, Options({gone})).status, LOCKWARP_TRAPPED);
}

TEST(Variables, HoldFunctionsThatEveryKernelOfTheModuleMeans) {
    // `keep` stores a function's address, which `use` calls; the two reach functions in another
    // order.
    const std::string text = R"(.version 7.0
.target sm_80
.address_size 64
.global .u64 kept;
.func (.reg .u32 %d) one() { mov.u32 %d, 111; ret; }
.func (.reg .u32 %d) two() { mov.u32 %d, 222; ret; }
.entry keep() { .reg .b64 %a; mov.u64 %a, two; st.global.u64 [kept], %a; ret; }
.entry use(.param .u64 p) {
    .reg .b64 %a, %f; .reg .b32 %v, %w;
    call (%w), one, ();
    ld.global.u64 %f, [kept];
    mov.u64 %a, two;
    prototype: .callprototype (.reg .u32 _) _ ();
    call (%v), %f, (), prototype;
    ld.param.u64 %a, [p];
    st.global.u32 [%a], %v;
    ret;
}
)";
    const Context context = make_context();
    const auto module = load(context, text);
    ASSERT_EQ(module.status, LOCKWARP_OK) << module.message;
    uint32_t out = 0;
    ASSERT_EQ(add(context, &out, 4, "out"), LOCKWARP_OK);
    const auto keep = kernel_of(module.value, "keep");
    ASSERT_EQ(keep.status, LOCKWARP_OK) << keep.message;
    const auto use = kernel_of(module.value, "use");
    ASSERT_EQ(use.status, LOCKWARP_OK) << use.message;
    ASSERT_EQ(run(keep.value, Options()).status, LOCKWARP_OK);
    const auto given = run(use.value, Options({address_of(&out)}));
    ASSERT_EQ(given.status, LOCKWARP_OK) << given.message;
    EXPECT_EQ(out, 222u);
}

TEST(Handles, MayBeDestroyedInAnyOrder) {
    Context context = make_context();
    const auto module = load(context, counter_text);
    context = nullptr;
    const auto kernel = kernel_of(module.value);
    uint64_t address = 0;
    Options o({address_of(&address)});
    const lockwarp_range range{&address, 0, 8, nullptr};
    o.ranges = &range;
    o.range_count = 1;
    EXPECT_EQ(run(kernel.value, o).status, LOCKWARP_OK);
    lockwarp_context_destroy(nullptr);
    lockwarp_module_destroy(nullptr);
    lockwarp_result_destroy(nullptr);
    lockwarp_error_destroy(nullptr);
}

}  // namespace
}  // namespace lockwarp::engine::module_test
