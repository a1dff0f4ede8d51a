// SPDX-License-Identifier: Apache-2.0
// Kernels by any part of their names that is theirs alone.
#include "launch/entry.hpp"

#include <gtest/gtest.h>

#include "emu/lockwarp.hpp"
#include "launch/nearest.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

constexpr const char* scale = "_Z5scalePfi";
constexpr const char* scale_more = "_ZN2ns10scale_moreIfLi4EEEvPT_";
constexpr const char* scale_half = "_ZN2ns10scale_moreI6__halfLi8EEEvPT_";

ptx::Module module_of(const std::vector<std::string>& names) {
    std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
    for (const std::string& n : names) text += ".entry " + n + "() { ret; }\n";
    ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty());
    return std::move(parsed.module);
}

std::string found(const ptx::Module& module, const std::string& text) {
    const Result<std::string> name = find_entry(module, text);
    return name ? *name : "! " + name.error().sentence;
}

TEST(Entry, AnyPartOfTheNameThatIsItsAlone) {
    const ptx::Module m = module_of({scale, scale_more, scale_half, "plain"});
    for (const char* name : {scale, scale_more, scale_half, "plain"})
        EXPECT_EQ(found(m, name), name);
    EXPECT_EQ(found(m, "scale"), scale);
    EXPECT_EQ(found(m, "scale(float*, int)"), scale);
    EXPECT_EQ(found(m, "<float, 4>"), scale_more);
    EXPECT_EQ(found(m, "ns::scale_more<__half"), scale_half);
    EXPECT_EQ(found(m, "half"), scale_half);
    EXPECT_EQ(found(m, "lain"), "plain");
    EXPECT_EQ(found(m, "scale_more"),
              "! 'scale_more' may be void ns::scale_more<float, 4>(float*); "
              "void ns::scale_more<__half, 8>(__half*)");
    EXPECT_TRUE(found(m, "plian").starts_with("! the module has no kernel 'plian'; it has scale("));
    EXPECT_TRUE(found(m, "plian").ends_with("; did you mean 'plain'?"));
    EXPECT_TRUE(found(m, "").starts_with("! the module has several kernels: name one: scale("));
    EXPECT_EQ(found(module_of({scale}), ""), scale);
    EXPECT_EQ(found(module_of({}), "k"), "! the module has no kernel");
}

// A letter before a word makes it another one, and what follows does not.
TEST(Entry, AWordIsNotThePartOfAnother) {
    EXPECT_EQ(found(module_of({"_Z1fi", "_Z2xfi"}), "f"), "_Z1fi");
    EXPECT_EQ(found(module_of({"_Z2xfi", "_Z1fi"}), "f(int)"), "_Z1fi");
    EXPECT_EQ(found(module_of({"_Z1fi", "_Z2fxi"}), "f"), "_Z1fi");
    EXPECT_EQ(found(module_of({"a_f", "f_a"}), "_f"), "a_f");
    EXPECT_EQ(found(module_of({"ab", "abc"}), "bc"), "abc");
    // What begins with no letter may stand behind one.
    EXPECT_EQ(found(module_of({"_Z1fIfEvT_", "_Z1gI6floatxEvT_"}), "<float"), "_Z1fIfEvT_");
}

TEST(Entry, BaseNames) {
    EXPECT_EQ(base_name("scale(float*, int)"), "scale");
    EXPECT_EQ(base_name("void ns::scale<float, (int)4>(float*)"), "scale");
    EXPECT_EQ(base_name("void (anonymous namespace)::f<a<b> >(int)"), "f");
    EXPECT_EQ(base_name("plain"), "plain");
    EXPECT_EQ(demangled("_ZNotMangled"), "_ZNotMangled");
}

TEST(Nearest, IsTheWordThatWasMeant) {
    const std::vector<std::string_view> words{"grid", "block", "entry", "args"};
    EXPECT_EQ(nearest("gird", words), "grid");
    EXPECT_EQ(nearest("blok", words), "block");
    EXPECT_EQ(nearest("arg", words), "args");
    EXPECT_EQ(nearest("xyz", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest(std::string(100000, 'g'), words), "");
    EXPECT_EQ(suggestion("gird", words), "; did you mean 'grid'?");
    EXPECT_EQ(suggestion("xyz", words), "");
}

}  // namespace
}  // namespace lockwarp::launch
