// SPDX-License-Identifier: Apache-2.0
// Names that are near, names of kernels and variables, places in sources, numbers as text: each
// against a plain definition or a table of its edges.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "emu/lockwarp.hpp"
#include "launch/entry.hpp"
#include "launch/json.hpp"
#include "launch/nearest.hpp"
#include "launch/source_text.hpp"
#include "launch/values.hpp"
#include "launch/variables.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch::words_test {
namespace {

// Insert, remove, replace, or exchange two neighbours, of which none is changed again.
size_t edits(std::string_view a, std::string_view b) {
    static std::map<std::pair<std::string, std::string>, size_t> known;
    if (a.empty() || b.empty()) return a.size() + b.size();
    const auto key = std::pair(std::string(a), std::string(b));
    if (const auto found = known.find(key); found != known.end()) return found->second;
    const std::string_view x = a.substr(1), y = b.substr(1);
    size_t least = std::min({edits(x, b) + 1, edits(a, y) + 1, edits(x, y) + (a[0] != b[0])});
    if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
        least = std::min(least, edits(a.substr(2), b.substr(2)) + 1);
    return known[key] = least;
}

TEST(NearestWords, AreTheFirstWithTheFewestEdits) {
    std::mt19937 random(1);
    size_t found = 0;
    for (int round = 0; round < 3000; ++round) {
        const auto word = [&] {
            std::string out;
            for (unsigned n = random() % 8; n > 0; --n)
                out += static_cast<char>('a' + random() % 3);
            return out;
        };
        const std::string asked = word();
        const std::array<std::string, 3> texts{word(), word(), word()};
        const std::vector<std::string_view> words(texts.begin(), texts.end());
        std::string is;
        size_t least = SIZE_MAX;
        for (const std::string& w : texts) {
            const size_t n = edits(asked, w);
            const size_t longest = std::max(asked.size(), w.size());
            if (n > std::max<size_t>(1, longest / 3) || n >= w.size() || n >= least) continue;
            is = w;
            least = n;
        }
        EXPECT_EQ(nearest(asked, words), is) << asked << ": " << texts[0] << " " << texts[1];
        EXPECT_EQ(suggestion(asked, words), is.empty() ? "" : "; did you mean '" + is + "'?");
        found += !is.empty();
    }
    EXPECT_GT(found, 400u);
    const std::string longest(64, 'a');
    const std::string near = longest.substr(1) + "b";
    EXPECT_EQ(nearest(longest, std::vector<std::string_view>{near}), near);
    EXPECT_EQ(nearest(longest + "a", std::vector<std::string_view>{near}), "");
    EXPECT_EQ(nearest(near, std::vector<std::string_view>{longest + "a"}), "");
    // A word that is part of a text ends where it ends: with the x before it, "xa" and "bax" would
    // be one edit nearer.
    const std::string_view text = "xab";
    EXPECT_EQ(nearest(text.substr(1, 1), std::vector<std::string_view>{"bax"}), "");
    EXPECT_EQ(nearest(text.substr(1, 1), std::vector<std::string_view>{"ab"}), "ab");
}

ptx::Module module_of(const std::vector<std::string>& names) {
    std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
    for (const std::string& n : names) text += ".entry " + n + "() { ret; }\n";
    return ptx::parse(text).module;
}

std::string entry(const std::vector<std::string>& names, const std::string& text) {
    const Result<std::string> name = find_entry(module_of(names), text);
    return name ? *name : "! " + name.error().sentence;
}

TEST(EntryNames, TheirOwnBeforeWordsBeforeParts) {
    EXPECT_EQ(entry({"ab", "abc", "xab"}, "ab"), "ab") << "its own name";
    EXPECT_EQ(entry({"_Z1fi", "f_f"}, "f"), "_Z1fi") << "its function's";
    EXPECT_EQ(entry({"a_b", "_Z3a_bv", "a_bb"}, "a_b"), "a_b");
    EXPECT_EQ(entry({"_Z1fIiEvT_", "_Z1fIfEvT_"}, "f<int>"), "_Z1fIiEvT_") << "a word of it";
    EXPECT_EQ(entry({"_Z1fIiEvT_", "_Z1fIfEvT_"}, "f"),
              "! 'f' may be void f<int>(int); void f<float>(float)");
    EXPECT_EQ(entry({"_Z1fIiEvT_", "_Z1gIfEvT_"}, "IfEv"), "_Z1gIfEvT_") << "a part as it is";
    EXPECT_EQ(entry({"_Z3foov", "_Z3barv"}, "oo("), "_Z3foov") << "a part of the demangled";
    // The word of one, the part of another; and the part of both.
    EXPECT_EQ(entry({"_Z1gPf", "_Z1hP3fff"}, "f"), "! 'f' may be g(float*); h(fff*)");
    EXPECT_EQ(entry({"_Z1gP1q", "_Z1hP3qqq"}, "q"), "_Z1gP1q");
    EXPECT_EQ(entry({"x1", "y2"}, "k"), "! the module has no kernel 'k'; it has x1; y2");
    EXPECT_EQ(entry({"scale", "y2"}, "sclae"),
              "! the module has no kernel 'sclae'; it has scale; y2; did you mean 'scale'?");
    EXPECT_EQ(entry({"x1", "y2"}, "a\x1b"), "! the module has no kernel 'a?'; it has x1; y2");
    EXPECT_EQ(entry({"x1", "y2"}, ""), "! the module has several kernels: name one: x1; y2");
    std::vector<std::string> many;
    std::string listed;
    for (int i = 0; i < 20; ++i) {
        many.push_back("k" + std::to_string(i));
        listed += (i == 0 ? "k" : "; k") + std::to_string(i);
    }
    EXPECT_EQ(entry(many, ""), "! the module has several kernels: name one: " + listed);
    many.emplace_back("k20");
    EXPECT_EQ(entry(many, ""),
              "! the module has several kernels: name one: " + listed + "; and 1 more");
}

TEST(EntryNames, OnlyKernelsWithABody) {
    const ptx::Module m = ptx::parse(R"(.version 7.0
.target sm_80
.address_size 64
.func f() { ret; }
.entry later();
.entry k() { ret; }
)")
                              .module;
    ASSERT_EQ(entries(m).size(), 1u);
    EXPECT_EQ(entries(m)[0]->name, "k");
    EXPECT_EQ(*find_entry(m, ""), "k");
    EXPECT_FALSE(find_entry(m, "later"));
}

TEST(EntryNames, WithoutTemplatesAndNamespaces) {
    const std::pair<const char*, const char*> rows[] = {
        {"f(int)", "f"},
        {"void f<int>(int)", "f"},
        {"void n::m::f<a<b>, (c)1>(d<e>*)", "f"},
        {"(anonymous namespace)::f()", "f"},
        {"void n::(anonymous namespace)::f<(anonymous namespace)::t>(int)", "f"},
        {"f", "f"},
        {"", ""},
        {"a::b", "b"},
        {"std::enable_if<(1>0), void>::type g<h>(x)", "g"},
    };
    for (const auto& [name, base] : rows) EXPECT_EQ(base_name(name), base) << name;
    EXPECT_EQ(demangled("_Z5scalePfi"), "scale(float*, int)");
    EXPECT_EQ(demangled("scale"), "scale");
    EXPECT_EQ(demangled("i"), "i") << "no type's code";
    EXPECT_EQ(demangled("_Z"), "_Z");
}

TEST(VariableNames, MangledOrNot) {
    struct Row {
        const char *mangled, *name;
        bool is;
    };
    const Row rows[] = {{"taps", "taps", true},
                        {"_ZL4taps", "taps", true},
                        {"_Z4taps", "taps", true},
                        {"_ZN2ns4tapsE", "taps", true},
                        {"_ZN2ns4tapsE", "ns", false},
                        {"_ZN2ns4tapsE", "_ZN2ns4tapsE", true},
                        {"_ZL4taps", "aps", false},
                        {"ZL4taps", "taps", false},
                        {"4taps", "taps", false},
                        {"_ZL5staps", "taps", false},
                        {"_ZN9x4tapsE", "taps", false},
                        {"_ZN14tapsE", "taps", false},
                        {"_ZL4tapsE", "taps", false},
                        {"_ZN2ns5tapsEE", "tapsE", true},
                        {"_ZL14fourteen_4taps", "taps", false},
                        {"_ZL14fourteen_4taps", "fourteen_4taps", true},
                        {"_ZZ6kernelPfE4taps", "taps", true},
                        {"_ZN12_GLOBAL__N_14tapsE", "taps", true}};
    for (const Row& row : rows)
        EXPECT_EQ(names_variable(row.mangled, row.name), row.is) << row.mangled << " " << row.name;
}

constexpr const char* variables = R"(.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 _ZL4same = 7;
.const .align 4 .u32 _ZN1n4sameE = 8;
.shared .align 4 .u32 tile[2];
.extern .global .u32 other;
.global .v4 .f32 vector[3];
.global .texref texture;
.global .u16 a1; .global .u16 a2; .global .u16 a3; .global .u16 a4; .global .u16 a5;
.global .u16 a6;
.entry k() { ret; }
)";

TEST(VariableNames, AreSoughtAmongThoseThatCanBeSet) {
    const auto set = [](const std::string& list, ptx::Module& module) {
        LaunchFile f;
        EXPECT_EQ(take(parse_launch_file(R"({"schema": "lockwarp-launch/1", "ptx": "k",
            "grid": [1], "block": [1], "variables": {)" +
                                             list + "}}",
                                         "x.json"),
                       f),
                  "");
        const Result<void> done = set_variables(f, f.launches[0], module);
        const std::string why = done ? "" : done.error().sentence;
        return why.substr(std::min(why.size(), why.find("field ")));
    };
    ptx::Module m = ptx::parse(variables).module;
    const ptx::Module before = m;
    const auto with = [](const std::string& name, const std::string& more = "") {
        return "\"" + name + "\": {" + more + R"("init": {"fill": 3}})";
    };
    EXPECT_EQ(set(with("same"), m), "field 'variables.same': may be _ZL4same, _ZN1n4sameE");
    for (const char* name : {"tile", "other", "nothing"})
        EXPECT_EQ(set(with(name), m),
                  "field 'variables." + std::string(name) +
                      "': the module has no such variable; it has _ZL4same, _ZN1n4sameE, vector, "
                      "texture, a1, a2, a3, a4, ...");
    EXPECT_EQ(set(with("texture"), m),
              "field 'variables.texture': a variable of this type cannot be set");
    EXPECT_EQ(set(with("vector", "\"bytes\": 47, "), m),
              "field 'variables.vector': it has 48 bytes, not 47");
    EXPECT_EQ(set(with("a1") + ", " + with("a2") + ", " + with("vector", "\"bytes\": 9, "), m),
              "field 'variables.vector': it has 48 bytes, not 9");
    EXPECT_EQ(m, before) << "all or none";
    EXPECT_EQ(
        set(with("vector", "\"bytes\": 48, ") + ", " + with("_ZL4same") + ", " + with("a6"), m),
        "");
    const isa::Program p = isa::resolve(m, isa::Arch::sm_80, "k").program;
    size_t found = 0;
    for (const isa::Placed& v : p.variables) {
        if (v.space != ptx::Space::global) continue;
        const std::vector<uint8_t> bytes(
            p.global_image.begin() + static_cast<long>(v.address - isa::module_global_base),
            p.global_image.begin() +
                static_cast<long>(v.address - isa::module_global_base + v.bytes));
        const bool is_set = v.name == "vector" || v.name == "_ZL4same" || v.name == "a6";
        if (is_set) {
            EXPECT_EQ(bytes, std::vector<uint8_t>(v.name == "vector" ? 48
                                                  : v.name == "a6"   ? 2
                                                                     : 4,
                                                  3));
            EXPECT_EQ(v.address % (v.name == "vector" ? 16 : v.name == "a6" ? 2 : 4), 0u);
            ++found;
        }
    }
    EXPECT_EQ(found, 3u);
    EXPECT_EQ(find_variable(p, "same"), nullptr) << "two of them";
    EXPECT_EQ(find_variable(p, "tile"), nullptr);
    ASSERT_NE(find_variable(p, "_ZN1n4sameE"), nullptr);
    EXPECT_EQ(find_variable(p, "_ZN1n4sameE")->space, ptx::Space::const_);
    ASSERT_NE(find_variable(p, "vector"), nullptr);
    EXPECT_EQ(find_variable(p, "vector")->bytes, 48u);
}

TEST(VariableNames, AsLargeAsALaunchMayHave) {
    LaunchFile f;
    for (const auto& [count, said] :
         {std::pair("268435456", "it has 268435456 bytes, not 1"),
          std::pair("268435457", "a variable of this type cannot be set"),
          std::pair("1][1][1][1][1][1][1][2", "it has 2 bytes, not 1"),
          std::pair("1][1][1][1][1][1][1][1][2", "a variable of this type cannot be set")}) {
        ptx::Module m = ptx::parse(".version 7.0\n.target sm_80\n.address_size 64\n.global .b8 v[" +
                                   std::string(count) + "];\n")
                            .module;
        ASSERT_EQ(take(parse_launch_file(R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1],
            "block": [1], "variables": {"v": {"bytes": 1, "init": {"fill": 3}}}})",
                                         "x.json"),
                       f),
                  "");
        EXPECT_TRUE(sentence_of(set_variables(f, f.launches[0], m)).ends_with(said)) << count;
    }
}

TEST(Places, OfSources) {
    const std::filesystem::path here = std::filesystem::current_path();
    EXPECT_EQ(shown_file(""), "a file without a name");
    EXPECT_EQ(shown_file("a/b.cu"), "a/b.cu");
    EXPECT_EQ(shown_file((here / "c" / "d.cu").string()), "c/d.cu");
    EXPECT_EQ(shown_file((here.parent_path() / "d.cu").string()),
              (here.parent_path() / "d.cu").string());
    EXPECT_EQ(shown_file("a\x1f\x7f\tb~"), "a...b~");
    using P = ptx::SourcePlace;
    const auto place = [](const std::string& file, uint32_t line, uint32_t column = 0,
                          const std::string& function = "") {
        P p;
        p.file = file;
        p.line = line;
        p.column = column;
        p.function = function;
        return p;
    };
    EXPECT_EQ(own_place({}), nullptr);
    EXPECT_EQ(short_place({}), "");
    EXPECT_EQ(source_text({}), "");
    const std::pair<const char*, bool> headers[] = {
        {"/usr/local/cuda/include/x.h", true},
        {"/usr/local/cuda-13.0/targets/x86_64-linux/include/cccl/y.h", true},
        {"/opt/cuda-9/include/x.h", true},
        {"/opt/cuda-0/include/x.h", true},
        {"/v/site-packages/nvidia/cuda_runtime/include/x.h", true},
        {"/v/nvidia/cublas/include/x.h", true},
        {"/home/cuda-x/include/x.h", false},
        {"/home/cuda-:/include/x.h", false},
        {"/home/cuda-/include/x.h", false},
        {"/home/me/include/x.h", false},
        {"/home/me/include/usr/local/cuda/x.h", false},
        {"/home/me/include/cuda-12/x.h", false},
        {"/usr/local/cuda/x.h", false},
        {"/nvidia/other/include/x.h", false},
    };
    for (const auto& [file, is_toolkits] : headers) {
        const std::vector<P> places{place(file, 3), place("k.cu", 0), place("k.cu", 5)};
        EXPECT_EQ(own_place(places), &places[is_toolkits ? 2 : 0]) << file;
        EXPECT_EQ(short_place(places), is_toolkits ? "k.cu:5" : std::string(file) + ":3");
    }
    const std::vector<P> only{place("/usr/local/cuda/include/x.h", 3), place("k.cu", 0)};
    EXPECT_EQ(own_place(only), only.data());
}

TEST(Places, WithTheLinesOfTheirSources) {
    const std::string path = testing::TempDir() + "places.cu";
    std::ofstream(path) << "first\n\t  second\x01 \r\n \t\n" + std::string(200, 'x') + "\nlast";
    const auto at = [&](uint32_t line, uint32_t column = 0, const std::string& function = "") {
        ptx::SourcePlace p;
        p.file = path;
        p.line = line;
        p.column = column;
        p.function = function;
        return p;
    };
    const std::string file = shown_file(path);
    EXPECT_EQ(source_text({at(1)}), "  " + file + ":1\n    first\n");
    EXPECT_EQ(source_text({at(2, 7)}), "  " + file + ":2:7\n    second.\n");
    EXPECT_EQ(source_text({at(3)}), "  " + file + ":3\n") << "a blank line";
    EXPECT_EQ(source_text({at(5)}), "  " + file + ":5\n    last\n");
    EXPECT_EQ(source_text({at(6)}), "  " + file + ":6\n");
    EXPECT_EQ(source_text({at(4)}), "  " + file + ":4\n    " + std::string(93, 'x') + "...\n");
    EXPECT_EQ(source_text({at(4)}, 204), "  " + file + ":4\n    " + std::string(200, 'x') + "\n");
    EXPECT_EQ(source_text({at(4)}, 203),
              "  " + file + ":4\n    " + std::string(196, 'x') + "...\n");
    EXPECT_EQ(source_text({at(1, 2, "_Z1fi"), at(2, 3, "g"), at(3)}),
              "  " + file + ":1:2 in f(int)\n    first\n  inlined at " + file + ":2:3 in g\n" +
                  "  inlined at " + file + ":3\n");
    ptx::SourcePlace gone = at(1);
    gone.file = testing::TempDir();
    EXPECT_EQ(source_text({gone}), "  " + shown_file(gone.file) + ":1\n") << "a folder";
    gone.file = "no/such.cu";
    EXPECT_EQ(source_text({gone}), "  no/such.cu:1\n");
    std::ofstream(path) << "first" << std::string(16 << 20, ' ');
    EXPECT_EQ(source_text({at(1)}), "  " + file + ":1\n") << "too large for a source";
    std::filesystem::remove(path);
}

// Every value of the small types, there and back; what is between is the nearest.
TEST(NumbersAsBits, ThereAndBack) {
    using isa::Type;
    for (const Type t : {Type::e4m3, Type::e5m2, Type::f16, Type::bf16})
        for (uint64_t bits = 0; bits < uint64_t{1} << isa::bits(t);
             bits += isa::bits(t) == 8 ? 1 : 37) {
            const double v = value_of(t, bits);
            if (std::isnan(v)) {
                EXPECT_EQ(text_of(t, bits, -1), "nan");
                continue;
            }
            EXPECT_EQ(bits_of(t, v), bits);
            const std::string text = text_of(t, bits, -1);
            if (std::isinf(v))
                EXPECT_EQ(text, v < 0 ? "-inf" : "inf");
            else
                EXPECT_EQ(bits_of(t, std::stod(text)), bits) << text;
        }
    struct Row {
        Type type;
        double value;
        uint64_t bits;
        const char* text;
    };
    const Row rows[] = {{Type::s8, 127.4, 0x7f, "127"},
                        {Type::s8, 128, 0x7f, "127"},
                        {Type::s8, -128.4, 0x80, "-128"},
                        {Type::s8, -129, 0x80, "-128"},
                        {Type::s8, -0.5, 0, "0"},
                        {Type::s8, 1.5, 2, "2"},
                        {Type::u8, 254.5, 254, "254"},
                        {Type::u8, 255.5, 255, "255"},
                        {Type::u8, -3, 0, "0"},
                        {Type::b8, 200, 200, "0xc8"},
                        {Type::s16, -32769, 0x8000, "-32768"},
                        {Type::u16, 65536, 0xffff, "65535"},
                        {Type::s32, -1, 0xffffffff, "-1"},
                        {Type::u32, 4294967296.0, 0xffffffff, "4294967295"},
                        {Type::s64, -1, UINT64_MAX, "-1"},
                        {Type::s64, 1e30, INT64_MAX, "9223372036854775807"},
                        {Type::u64, 1e30, UINT64_MAX, "18446744073709551615"},
                        {Type::f32, 0.1, 0x3dcccccd, "0.1"},
                        {Type::f64, 0.1, 0x3fb999999999999a, "0.1"},
                        {Type::f32, 16777217, 0x4b800000, "16777216"},
                        {Type::f64, -0.0, uint64_t{1} << 63, "-0"}};
    for (const Row& row : rows) {
        EXPECT_EQ(bits_of(row.type, row.value), row.bits) << row.value;
        EXPECT_EQ(text_of(row.type, row.bits, -1), row.text);
    }
    EXPECT_EQ(value_of(Type::s8, 0xff), -1);
    EXPECT_EQ(value_of(Type::s64, UINT64_MAX), -1);
    EXPECT_EQ(value_of(Type::u32, 0xffffffff), 4294967295.0);
    EXPECT_EQ(value_of(Type::s32, 0x80000000), -2147483648.0);
    EXPECT_EQ(text_of(Type::f64, 0x3ff8000000000000, 0), "2");
    EXPECT_EQ(text_of(Type::f64, 0x3ff8000000000000, 2), "1.50");
    EXPECT_EQ(text_of(Type::f32, 0x7fc00000, 2), "nan");
    EXPECT_EQ(text_of(Type::s32, 5, 2), "5");
    EXPECT_EQ(hex_of(Type::b16, 0xabc), "0x0abc");
    std::vector<uint8_t> bytes(12, 0xee);
    set_element(bytes, Type::u32, 1, 0x04030201);
    EXPECT_EQ(bytes,
              (std::vector<uint8_t>{0xee, 0xee, 0xee, 0xee, 1, 2, 3, 4, 0xee, 0xee, 0xee, 0xee}));
    EXPECT_EQ(element(bytes, Type::u32, 1), 0x04030201u);
    EXPECT_EQ(element(bytes, Type::u16, 3), 0x0403u);
    EXPECT_EQ(element(bytes, Type::u8, 7), 4u);
    EXPECT_EQ(value_type_names(),
              "b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, "
              "bf16, tf32, f32, f64, e4m3, e5m2");
}

TEST(JsonText, PlacesOfValues) {
    const std::string text =
        "{\"a\": [1, -2, 3.5e1,\n true , null], \"b\":{\"\\u0041\": \"x\\ny\"},\n\n  \"c\" : "
        "false}";
    Document d;
    ASSERT_EQ(take(parse_json(text, "p"), d), "");
    const auto piece = [&](const Json& j) { return text.substr(j.begin, j.end - j.begin); };
    EXPECT_EQ(piece(d.root), text);
    ASSERT_TRUE(d.root.is(JsonKind::object));
    const Json& a = *d.root.find("a");
    ASSERT_TRUE(a.is(JsonKind::list));
    EXPECT_EQ(piece(a), "[1, -2, 3.5e1,\n true , null]");
    ASSERT_EQ(a.items().size(), 5u);
    const char* pieces[] = {"1", "-2", "3.5e1", "true", "null"};
    const JsonKind kinds[] = {JsonKind::natural, JsonKind::negative, JsonKind::real,
                              JsonKind::boolean, JsonKind::null};
    for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(piece(a.items()[i]), pieces[i]);
        EXPECT_EQ(a.items()[i].kind, kinds[i]);
        EXPECT_EQ(a.items()[i].is_number(), i < 3);
    }
    EXPECT_EQ(a.items()[0].number(), 1);
    EXPECT_EQ(a.items()[1].number(), -2);
    EXPECT_EQ(a.items()[2].number(), 35);
    EXPECT_EQ(a.items()[3].natural, 1u);
    EXPECT_EQ(d.root.find("c")->natural, 0u);
    EXPECT_EQ(d.root.find("d"), nullptr);
    const Json& b = *d.root.find("b");
    EXPECT_EQ(b.keys()[0].name, "A");
    EXPECT_EQ(b.items()[0].text(), "x\ny");
    EXPECT_EQ(piece(b.items()[0]), "\"x\\ny\"");
    EXPECT_EQ(d.at(d.root.keys()[0].begin), "p:1:2: ");
    EXPECT_EQ(d.at(a.items()[3].begin), "p:2:2: ");
    EXPECT_EQ(d.at(d.root.keys()[2].begin), "p:4:3: ");
    EXPECT_EQ(at("p", {0, 7}), "p: ");
    EXPECT_EQ(at("p", {3, 7}), "p:3:7: ");
}

TEST(JsonText, ThatIsNone) {
    const auto problem = [](const std::string& text) {
        Document d;
        return take(parse_json(text, "p"), d);
    };
    const std::string deepest = std::string(64, '[') + std::string(64, ']');
    EXPECT_EQ(problem(deepest), "");
    EXPECT_EQ(problem("[" + deepest + "]"), "p:1:65: nested too deeply");
    EXPECT_EQ(problem("[[], [[]],\n" + std::string(64, '[')), "p:2:64: nested too deeply");
    EXPECT_EQ(problem("[18446744073709551615, -9223372036854775808]"), "");
    EXPECT_EQ(problem("[1, 18446744073709551616]"), "p:1:5: a whole number of more than 64 bits");
    EXPECT_EQ(problem("[1,\n -9223372036854775809]"), "p:2:2: a whole number of more than 64 bits");
    EXPECT_EQ(problem("[18446744073709551616.0]"), "");
    EXPECT_EQ(problem("[1e308, -1e309]"), "p:1:9: a number beyond the largest f64");
    EXPECT_EQ(problem("{\"a\": 1, \"b\": 2,\n\"c\": {\"b\": 3}}"), "");
    EXPECT_EQ(problem("{\"a\": 1,\n\"b\": 2,\n  \"a\": 2}"),
              "p:3:3: 'a' stands twice in one object, first on line 1");
    EXPECT_EQ(problem("{\"a\": 1} x"), "p:1:10: not JSON from here on");
    EXPECT_EQ(problem("{\"a\": 1"), "p:1:8: not JSON from here on");
    EXPECT_EQ(problem("{'a': 1}"), "p:1:2: not JSON from here on");
    const std::string nul(1, '\0');
    EXPECT_EQ(problem("{\"a\": 1}" + nul), "p:1:9: not JSON from here on");
    EXPECT_EQ(problem("{\"a\": 1}\n" + nul + "{}"), "p:2:1: not JSON from here on");
    EXPECT_EQ(problem("{\"a\": " + nul + "}"), "p:1:7: not JSON from here on");
    EXPECT_EQ(problem("{\"a" + nul + "\": 1}"), "p:1:4: not JSON from here on");
    EXPECT_EQ(shown("a\x1b\x7f\xc2\x85"
                    "b\xc2\xa0\xc3\xa9\n"),
              "a???b\xc2\xa0\xc3\xa9?");
    EXPECT_EQ(shown("\xc2"), "\xc2");
    EXPECT_EQ(shown("a\xc2\x9f"), "a?");
    EXPECT_EQ(shown("a\xc2\xa0"), "a\xc2\xa0");
    EXPECT_EQ(shown(std::string_view("a\xc2\x9f").substr(0, 2)), "a\xc2");
    EXPECT_EQ(shown("\x20\x1f"), " ?");
}

}  // namespace
}  // namespace lockwarp::launch::words_test
