// SPDX-License-Identifier: Apache-2.0
// Arguments to fill in, made from types that are put together here: each kind, and layouts that the
// fields of a struct cannot have.
#include "launch/argument_maker.hpp"

#include <gtest/gtest.h>

namespace lockwarp::launch {
namespace {

using ptx::DebugKind;
using ptx::DebugMember;
using ptx::DebugType;
using ptx::no_type;

struct Source {
    ptx::DebugInfo info;

    uint32_t add(DebugKind kind, const std::string& name, uint64_t bytes, uint32_t target = no_type,
                 uint64_t count = 0) {
        info.types.push_back({kind, name, bytes, target, count, {}});
        return static_cast<uint32_t>(info.types.size() - 1);
    }
    uint32_t pointer(uint32_t target) { return add(DebugKind::pointer, "", 8, target); }
    uint32_t constant(uint32_t target) { return add(DebugKind::constant, "", 0, target); }
    uint32_t array(uint32_t target, uint64_t count) {
        return add(DebugKind::array, "", 0, target, count);
    }
    uint32_t structure(const std::string& name, uint64_t bytes, std::vector<DebugMember> members,
                       DebugKind kind = DebugKind::structure) {
        const uint32_t out = add(kind, name, bytes);
        info.types[out].members = std::move(members);
        return out;
    }
    uint32_t signed_of(uint64_t bytes, const std::string& name) {
        return add(DebugKind::signed_, name, bytes);
    }

    uint32_t c = signed_of(1, "char"), s = signed_of(2, "short"), i = signed_of(4, "int");
    uint32_t u = add(DebugKind::unsigned_, "unsigned int", 4);
    uint32_t u8 = add(DebugKind::unsigned_, "unsigned char", 1);
    uint32_t f = add(DebugKind::floating, "float", 4), d = add(DebugKind::floating, "double", 8);
    uint32_t half = structure("__half", 2, {});
    uint32_t half2 = structure("__half2", 4, {});
};

struct Made {
    Ordered argument, buffers, outputs;
};

Made made(const Source& source, uint32_t type, std::vector<ReadField> fields = {},
          std::vector<TensorMapUse> maps = {}, bool only_stored = false) {
    ArgumentMaker maker(source.info);
    maker.begin_kernel("k");
    const auto bytes = static_cast<uint32_t>(source.info.size_of(type));
    const isa::Parameter placed{"k_param_0", isa::Type::b8, 0, bytes, 8, true};
    const ptx::Variable declared;
    const KnownParameter p{placed,          declared,   0, "p", "", type, std::move(fields),
                           std::move(maps), only_stored};
    Made out{maker.argument(p), {}, {}};
    out.buffers = std::move(maker.buffers);
    out.outputs = std::move(maker.outputs);
    return out;
}

std::string text(const Source& source, uint32_t type, std::vector<ReadField> fields = {}) {
    return made(source, type, std::move(fields)).argument.dump();
}

std::string zeros(size_t bytes) { return std::string(2 * bytes, '0'); }

std::string commented(const std::string& field, const std::string& comment) {
    return "{" + field + R"(,"comment":")" + comment + "\"}";
}

std::string list(const std::vector<std::string>& fields) {
    std::string out = R"({"struct":[)";
    for (size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + fields[i];
    return out + "]}";
}

TEST(ArgumentMaker, Numbers) {
    Source x;
    const auto kind = [&](DebugKind k, uint64_t bytes) { return x.add(k, "name", bytes); };
    for (const uint64_t bytes : {1, 2, 4, 8}) {
        const std::string bits = std::to_string(8 * bytes);
        EXPECT_EQ(text(x, kind(DebugKind::signed_, bytes)), "{\"s" + bits + "\":0}");
        EXPECT_EQ(text(x, kind(DebugKind::enumeration, bytes)), "{\"s" + bits + "\":0}");
        EXPECT_EQ(text(x, kind(DebugKind::unsigned_, bytes)), "{\"u" + bits + "\":0}");
        EXPECT_EQ(text(x, kind(DebugKind::boolean, bytes)), "{\"u" + bits + "\":0}");
        if (bytes != 1) {
            EXPECT_EQ(text(x, kind(DebugKind::floating, bytes)), "{\"f" + bits + "\":0}");
        }
    }
    for (const auto& [k, bytes] :
         {std::pair(DebugKind::floating, 1u), std::pair(DebugKind::floating, 16u),
          std::pair(DebugKind::signed_, 3u), std::pair(DebugKind::unsigned_, 16u)})
        EXPECT_EQ(text(x, kind(k, bytes)), commented(R"("bytes":")" + zeros(bytes) + '"', "name"));
    EXPECT_EQ(text(x, x.add(DebugKind::alias, "t", 0, x.i)), R"({"s32":0})");
    EXPECT_EQ(text(x, x.constant(x.add(DebugKind::alias, "t", 0, x.f))), R"({"f32":0})");
    const std::pair<const char*, const char*> named[] = {{"__half", "f16"},
                                                         {"__nv_bfloat16", "bf16"},
                                                         {"__nv_fp8_e4m3", "e4m3"},
                                                         {"__nv_fp8_e5m2", "e5m2"}};
    for (const auto& [name, type] : named) {
        const uint64_t bytes = std::string(type).starts_with("e") ? 1 : 2;
        EXPECT_EQ(text(x, x.structure(name, bytes, {})), "{\"" + std::string(type) + "\":0}");
        EXPECT_EQ(text(x, x.structure(name, 8, {})), R"({"struct":[{"pad":8}]})") << "another size";
    }
    EXPECT_EQ(text(x, x.half2), R"({"f16":[0,0]})");
    EXPECT_EQ(text(x, x.structure("__nv_bfloat162", 4, {})), R"({"bf16":[0,0]})");
    EXPECT_EQ(text(x, x.structure("__half2", 5, {})), R"({"struct":[{"pad":5}]})");
}

TEST(ArgumentMaker, Structs) {
    Source x;
    const auto is = [&](uint64_t bytes, std::vector<DebugMember> members) {
        return text(x, x.structure("S", bytes, std::move(members)));
    };
    const std::string c = commented(R"("s8":0)", "c"), i = commented(R"("s32":0)", "i"),
                      d = commented(R"("f64":0)", "d");
    EXPECT_EQ(is(16, {{"c", 0, x.c}, {"i", 4, x.i}, {"d", 8, x.d}}), list({c, i, d}));
    EXPECT_EQ(is(8, {{"i", 0, x.i}, {"c", 4, x.c}}), list({i, c})) << "filled up as C++ does";
    EXPECT_EQ(is(16, {{"i", 0, x.i}}), list({i, R"({"pad":12})"})) << "alignas(16)";
    EXPECT_EQ(is(16, {{"i", 12, x.i}}), list({R"({"pad":12})", i}));
    EXPECT_EQ(is(24, {{"i", 4, x.i}, {"d", 16, x.d}}),
              list({R"({"pad":4})", i, R"({"pad":8})", d}));
    EXPECT_EQ(is(5, {{"c", 0, x.c}, {"i", 1, x.i}}),
              list({c, commented(R"("bytes":"00000000")", "i")}))
        << "packed";
    const std::string whole = R"({"bytes":")";
    EXPECT_EQ(is(8, {{"i", 0, x.i}, {"u", 2, x.u}}), whole + zeros(8) + "\"}") << "overlap";
    EXPECT_EQ(is(8, {{"i", 4, x.i}, {"u", 0, x.u}}), whole + zeros(8) + "\"}");
    EXPECT_EQ(is(8, {{"i", 0, x.i}, {"u", 5, x.u}}), whole + zeros(8) + "\"}") << "past the end";
    EXPECT_EQ(is(8, {{"i", 9, x.c}}), whole + zeros(8) + "\"}");
    EXPECT_EQ(is(8, {{"i", 0, x.i}, {"c", 8, x.c}}), whole + zeros(8) + "\"}");
    EXPECT_EQ(is(8, {{"q", 0, no_type}}), whole + zeros(8) + "\"}");
    EXPECT_EQ(is(6, {{"i", 0, x.i}}), whole + zeros(6) + "\"}") << "no size of C++";
    EXPECT_EQ(is(1, {}), R"({"struct":[]})");
    EXPECT_EQ(is(2, {}), R"({"struct":[{"pad":2}]})");
    EXPECT_EQ(is(8, {{"d", 0, x.d}}), list({d}));
}

TEST(ArgumentMaker, StructsInStructsAndBases) {
    Source x;
    const uint32_t inner = x.structure("Inner", 4, {{"i", 0, x.i}});
    const uint32_t nameless = x.structure("", 4, {{"u", 0, x.u}});
    const uint32_t none = x.structure("None", 1, {});
    const uint32_t odd = x.structure("Odd", 2, {});
    DebugMember base{"", 0, inner, true, false};
    const std::string own = R"("struct":[{"s32":0,"comment":"i"}])";
    EXPECT_EQ(text(x, x.structure("S", 12, {base, {"a", 4, inner}, {"b", 8, nameless}})),
              list({commented(own, "base Inner"), commented(own, "a: Inner"),
                    commented(R"("struct":[{"u32":0,"comment":"u"}])", "b")}));
    // At its own alignment, with nothing written between.
    EXPECT_EQ(
        text(x, x.structure("S", 16,
                            {{"c", 0, x.c}, {"a", 8, x.structure("Wide", 8, {{"d", 0, x.d}})}})),
        list({commented(R"("s8":0)", "c"),
              commented(R"("struct":[{"f64":0,"comment":"d"}])", "a: Wide")}));
    DebugMember empty{"", 0, none, true, false}, odd_base{"", 0, odd, true, false};
    const DebugMember byte{"", 0, x.structure("Byte", 1, {{"c", 0, x.c}}), true, false};
    EXPECT_EQ(text(x, x.structure("S", 1, {byte})),
              list({commented(R"("struct":[{"s8":0,"comment":"c"}])", "base Byte")}));
    EXPECT_EQ(text(x, x.structure("S", 4, {empty, {"i", 0, x.i}})),
              list({commented(R"("s32":0)", "i")}))
        << "an empty base takes no room";
    EXPECT_EQ(text(x, x.structure("S", 2, {odd_base})),
              list({commented(R"("struct":[{"pad":2}])", "base Odd")}));
    EXPECT_EQ(text(x, x.structure("S", 8, {{"n", 0, none}, {"i", 4, x.i}})),
              list({commented(R"("struct":[])", "n: None"), commented(R"("s32":0)", "i")}))
        << "an empty member takes a byte";
    // What is of bytes alone stands anywhere.
    const uint32_t overlaps = x.structure("Overlaps", 8, {{"i", 0, x.i}, {"u", 2, x.u}});
    EXPECT_EQ(text(x, x.structure("S", 9, {{"c", 0, x.c}, {"o", 1, overlaps}})),
              list({commented(R"("s8":0)", "c"),
                    commented("\"bytes\":\"" + zeros(8) + "\"", "o: Overlaps")}));
    // As deep as eight.
    uint32_t deep = x.structure("L9", 4, {{"i", 0, x.i}});
    std::string is = commented(R"("bytes":"00000000")", "m: L9; L9");
    for (int level = 8; level >= 0; --level) {
        deep = x.structure("L" + std::to_string(level), 4, {{"m", 0, deep}});
        const std::string fields = "\"struct\":[" + is + "]";
        is = level == 0 ? "{" + fields + "}" : commented(fields, "m: L" + std::to_string(level));
    }
    EXPECT_EQ(text(x, deep), is);
}

TEST(ArgumentMaker, BitFields) {
    Source x;
    const auto bits = [&](const std::string& name, uint64_t at, uint32_t type) {
        return DebugMember{name, at, type, false, true};
    };
    const auto is = [&](uint64_t bytes, std::vector<DebugMember> members) {
        return text(x, x.structure("S", bytes, std::move(members)));
    };
    EXPECT_EQ(is(4, {bits("a", 0, x.u), bits("b", 0, x.u)}),
              list({commented(R"("u32":0)", "bit fields a, b")}));
    EXPECT_EQ(is(4, {bits("a", 0, x.u), {"s", 2, x.s}}),
              list({commented(R"("u16":0)", "bit fields a"), commented(R"("s16":0)", "s")}));
    EXPECT_EQ(is(4, {bits("a", 0, x.u), {"c", 3, x.c}}),
              list({commented(R"("u8":[0,0,0])", "bit fields a"), commented(R"("s8":0)", "c")}));
    EXPECT_EQ(is(4, {bits("a", 0, x.u8), {"c", 3, x.c}}),
              list({commented(R"("u8":0)", "bit fields a"), R"({"pad":2})",
                    commented(R"("s8":0)", "c")}));
    EXPECT_EQ(is(8, {{"i", 0, x.i}, bits("a", 4, x.u), bits("b", 4, x.u)}),
              list({commented(R"("s32":0)", "i"), commented(R"("u32":0)", "bit fields a, b")}));
    EXPECT_EQ(is(8, {bits("a", 0, x.u), bits("b", 4, x.u)}),
              list({commented(R"("u64":0)", "bit fields a, b")}));
    EXPECT_EQ(is(6, {{"s", 0, x.s}, bits("a", 2, x.u)}),
              list({commented(R"("s16":0)", "s"), commented(R"("u8":[0,0,0,0])", "bit fields a")}));
    EXPECT_EQ(is(4, {bits("a", 0, x.u), {"i", 0, x.i}}), R"({"bytes":"00000000"})");
    EXPECT_EQ(
        is(8, {bits("a", 0, x.array(x.u, 5)), {"c", 7, x.c}}),
        list({commented(R"("u8":[0,0,0,0,0,0,0])", "bit fields a"), commented(R"("s8":0)", "c")}));
    EXPECT_EQ(is(20, {bits("a", 0, x.array(x.u, 4)), {"i", 16, x.i}}),
              list({commented(R"("u8":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0])", "bit fields a"),
                    commented(R"("s32":0)", "i")}));
    EXPECT_EQ(is(20, {bits("a", 0, x.array(x.u, 5))}), "{\"bytes\":\"" + zeros(20) + "\"}");
}

TEST(ArgumentMaker, Arrays) {
    Source x;
    const auto is = [&](uint64_t bytes, uint32_t type, std::vector<uint64_t> read = {}) {
        std::vector<ReadField> fields;
        for (const uint64_t at : read) fields.push_back({at, isa::Type::u32, 1, false});
        return text(x, x.structure("S", bytes, {{"a", 0, type}}), fields);
    };
    EXPECT_EQ(is(12, x.array(x.i, 3)), list({commented(R"("s32":[0,0,0])", "a")}));
    EXPECT_EQ(is(4, x.array(x.i, 1)), list({commented(R"("s32":[0])", "a")}));
    EXPECT_EQ(is(24, x.array(x.array(x.i, 3), 2)),
              list({commented(R"("s32":[0,0,0,0,0,0])", "a")}));
    const std::string sixteen = "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]";
    EXPECT_EQ(is(64, x.array(x.i, 16)), list({commented(R"("s32":)" + sixteen, "a")}));
    EXPECT_EQ(is(32, x.array(x.half2, 8)), list({commented(R"("f16":)" + sixteen, "a")}));
    std::vector<std::string> nine;
    for (int n = 0; n < 9; ++n)
        nine.push_back(commented(R"("f16":[0,0])", "a[" + std::to_string(n) + "]"));
    EXPECT_EQ(is(36, x.array(x.half2, 9)), list(nine));
    // Of a long one what the code reads.
    const auto pad = [](int bytes, const std::string& of) {
        return commented("\"pad\":" + std::to_string(bytes), of + ": int");
    };
    const uint32_t seventeen = x.array(x.i, 17);
    const auto element = [](int n) {
        return commented(R"("s32":0)", "a[" + std::to_string(n) + "]");
    };
    EXPECT_EQ(is(68, seventeen), list({pad(68, "a[0] to a[16]")}));
    EXPECT_EQ(is(68, seventeen, {12}),
              list({pad(12, "a[0] to a[2]"), element(3), pad(52, "a[4] to a[16]")}));
    EXPECT_EQ(is(68, seventeen, {3, 8}),
              list({element(0), pad(4, "a[1]"), element(2), pad(56, "a[3] to a[16]")}));
    EXPECT_EQ(is(68, seventeen, {64}), list({pad(64, "a[0] to a[15]"), element(16)}));
    EXPECT_EQ(is(68, seventeen, {68}), list({pad(68, "a[0] to a[16]")}));
    // Behind another member, whose bytes are not the array's.
    EXPECT_EQ(
        text(x, x.structure("S", 72, {{"i", 0, x.i}, {"a", 4, seventeen}}),
             {{0, isa::Type::u32, 1, false}, {8, isa::Type::u32, 1, false}}),
        list({commented(R"("s32":0)", "i"), pad(4, "a[0]"), element(1), pad(60, "a[2] to a[16]")}));
    const uint32_t pair = x.structure("Pair", 8, {{"i", 0, x.i}, {"f", 4, x.f}});
    const std::string own = R"("struct":[{"s32":0,"comment":"i"},{"f32":0,"comment":"f"}])";
    EXPECT_EQ(is(16, x.array(pair, 2)), list({commented(own, "a[0]"), commented(own, "a[1]")}));
    const Made pointers = made(x, x.structure("S", 16, {{"a", 0, x.array(x.pointer(x.f), 2)}}));
    EXPECT_EQ(pointers.argument.dump(), list({commented(R"("pointer":"a0")", "a[0]"),
                                              commented(R"("pointer":"a1")", "a[1]")}));
    EXPECT_EQ(pointers.outputs, (Ordered{"a0", "a1"}));
    EXPECT_EQ(text(x, x.structure("S", 4, {{"z", 0, x.array(x.i, 0)}, {"i", 0, x.i}})),
              list({commented(R"("s32":0)", "i")}))
        << "of no elements";
}

TEST(ArgumentMaker, Unions) {
    Source x;
    const auto either = [&](uint64_t bytes, std::vector<DebugMember> members) {
        return x.structure("Either", bytes, std::move(members), DebugKind::union_);
    };
    EXPECT_EQ(text(x, either(4, {{"f", 0, x.f}, {"i", 0, x.i}})),
              commented(R"("f32":0)", "a union, as its f"))
        << "the first of the largest";
    EXPECT_EQ(text(x, either(8, {{"f", 0, x.f}, {"d", 0, x.d}})),
              commented(R"("f64":0)", "a union, as its d"));
    const std::string bytes = R"("bytes":"0000000000000000")";
    EXPECT_EQ(text(x, either(8, {{"f", 0, x.f}})), commented(bytes, "Either")) << "none has it all";
    EXPECT_EQ(text(x, either(8, {{"a", 0, x.array(x.f, 2)}})), commented(bytes, "Either"));
    EXPECT_EQ(text(x, either(8, {})), commented(bytes, "Either"));
    EXPECT_EQ(text(x, x.structure("S", 4, {{"e", 0, either(4, {{"f", 0, x.f}})}})),
              list({commented(R"("f32":0)", "e; a union, as its f")}));
    const Made pointer = made(x, either(8, {{"p", 0, x.pointer(x.f)}, {"d", 0, x.d}}));
    EXPECT_EQ(pointer.argument.dump(), commented(R"("buffer":"p")", "a union, as its p"));
}

// Unions in unions as deep as eight, and as many fields of one kernel as a thousand.
TEST(ArgumentMaker, HasLimits) {
    Source x;
    uint32_t deep = x.structure("S", 4, {{"i", 0, x.i}});
    std::string words = "S";
    for (int level = 0; level < 9; ++level) {
        deep = x.structure("U", 4, {{"m", 0, deep}}, DebugKind::union_);
        words = "a union, as its m; " + words;
    }
    EXPECT_EQ(text(x, deep), commented(R"("bytes":"00000000")", words));
    EXPECT_EQ(
        text(x, x.info.types[deep].members[0].type),
        commented(R"("struct":[{"s32":0,"comment":"i"}])", words.substr(19, words.size() - 22)))
        << "one less";
    std::vector<DebugMember> members;
    const uint32_t f = x.pointer(x.f);
    for (uint64_t i = 0; i < 1000; ++i) members.push_back({"m" + std::to_string(i), 8 * i, f});
    const Ordered fields = made(x, x.structure("Many", 8000, members)).argument["struct"];
    ASSERT_EQ(fields.size(), 1000u);
    EXPECT_EQ(fields[998].dump(), R"({"pointer":"m998","comment":"m998"})");
    EXPECT_EQ(fields[999].dump(), R"({"bytes":"0000000000000000","comment":"m999; float*"})");
}

TEST(ArgumentMaker, Pointers) {
    Source x;
    const auto buffer = [&](uint32_t target, bool only_stored = false) {
        const Made m = made(x, x.pointer(target), {}, {}, only_stored);
        EXPECT_EQ(m.argument.dump(), R"({"buffer":"p"})");
        EXPECT_EQ(m.buffers.size(), 1u);
        return m.buffers["p"].dump() + (m.outputs.empty() ? "" : " out");
    };
    const auto is = [](const std::string& init, const std::string& type) {
        return R"({"bytes":0,"init":)" + init + R"(,"comment":"fill in the bytes of this )" + type +
               "\"}";
    };
    const std::string zero = R"({"fill":0})";
    EXPECT_EQ(buffer(x.f), is(zero, "float*") + " out");
    EXPECT_EQ(buffer(x.f, true), is("\"undefined\"", "float*") + " out");
    EXPECT_EQ(buffer(no_type), is(zero, "void*") + " out");
    EXPECT_EQ(buffer(x.constant(x.f)), is(R"({"random":{"type":"f32","seed":1}})", "const float*"));
    EXPECT_EQ(buffer(x.constant(x.half)),
              is(R"({"random":{"type":"f16","seed":1}})", "const __half*"));
    EXPECT_EQ(buffer(x.constant(x.half2)),
              is(R"({"random":{"type":"f16","seed":1}})", "const __half2*"));
    EXPECT_EQ(buffer(x.constant(x.u8)), is(R"({"values":{"u8":[0]}})", "const unsigned char*"));
    const uint32_t s = x.structure("S", 4, {{"i", 0, x.i}});
    EXPECT_EQ(buffer(x.constant(s)), is(zero, "const S*"));
    // Of code, which has no type's name.
    EXPECT_EQ(text(x, x.pointer(x.add(DebugKind::unknown, "", 0))), R"({"u64":0})");
    EXPECT_EQ(buffer(x.add(DebugKind::unknown, "T", 0)).substr(0, 10), R"({"bytes":0)");
    // Pointers to pointers, as far as three.
    const Made two = made(x, x.pointer(x.pointer(x.constant(x.f))), {}, {}, true);
    EXPECT_EQ(two.buffers.dump(),
              R"({"p":{"bytes":8,"pointers":{"0":"p0"},)"
              R"("comment":"an array of pointers, const float**: add the others"},)"
              R"("p0":)" +
                  is(R"({"random":{"type":"f32","seed":1}})", "const float*") + "}");
    EXPECT_TRUE(two.outputs.empty());
    uint32_t many = x.f;
    for (int n = 0; n < 5; ++n) many = x.pointer(many);
    const Made five = made(x, many);
    EXPECT_EQ(five.buffers.size(), 4u);
    EXPECT_EQ(five.buffers["p00"]["pointers"]["0"], "p000");
    EXPECT_EQ(five.buffers["p000"].dump(), is(zero, "float**"));
    EXPECT_EQ(five.outputs, Ordered({"p000"}));
    EXPECT_EQ(made(x, x.pointer(x.pointer(x.add(DebugKind::unknown, "", 0)))).buffers.size(), 1u);
}

TEST(ArgumentMaker, BuffersThatKernelsShare) {
    Source x;
    ArgumentMaker maker(x.info);
    const auto add = [&](const std::string& name, uint32_t type, const std::string& words = "") {
        const isa::Parameter placed{"q", isa::Type::u64, 0, 8, 8, false};
        const ptx::Variable declared;
        return maker.argument({placed, declared, 0, name, words, type, {}, {}, false})["buffer"]
            .get<std::string>();
    };
    const uint32_t f = x.pointer(x.f), i = x.pointer(x.i), read = x.pointer(x.constant(x.f));
    maker.begin_kernel("one");
    EXPECT_EQ(add("a", f), "a");
    EXPECT_EQ(add("a", f), "one_a") << "two of one kernel are two";
    EXPECT_EQ(add("a", f), "one_a2");
    EXPECT_EQ(add("b", i), "b");
    EXPECT_EQ(maker.outputs, (Ordered{"a", "one_a", "one_a2", "b"}));
    maker.begin_kernel("two");
    EXPECT_EQ(add("a", read), "a") << "what the first writes";
    EXPECT_EQ(add("b", i), "b");
    EXPECT_EQ(add("b", i), "two_b");
    maker.begin_kernel("three");
    EXPECT_EQ(add("a", i), "three_a");
    EXPECT_EQ(add("c", no_type, "float*"), "c");
    maker.begin_kernel("four");
    EXPECT_EQ(add("c", no_type, "float*"), "four_c") << "of no known type nothing is shared";
    EXPECT_EQ(add("d", no_type, "float const*"), "d");
    EXPECT_EQ(maker.outputs, (Ordered{"one_a", "one_a2", "b", "two_b", "three_a", "c", "four_c"}))
        << "without what lies between two kernels";
}

TEST(ArgumentMaker, TensorMaps) {
    Source x;
    const uint32_t map = x.structure("CUtensorMap_st", 128, {{"opaque", 0, x.array(x.d, 16)}});
    const uint32_t other = x.structure("Other", 128, {{"opaque", 0, x.array(x.d, 16)}});
    const uint32_t two = x.structure("Two", 256, {{"m", 0, map}, {"o", 128, other}});
    const std::string words = R"(a tensor map: {\"tensorMap\": NAME} of tensorMaps in its place)";
    const std::string bytes = "\"bytes\":\"" + zeros(128) + '"';
    EXPECT_EQ(text(x, map), commented(bytes, words));
    EXPECT_EQ(text(x, other),
              list({commented(R"("f64":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0])", "opaque")}));
    const TensorMapUse load{"p", 128, "cp.x", 2, ".tile", {7, 1}};
    const TensorMapUse fetch{"p", 128, "prefetch", 0, "", {9, 1}};
    EXPECT_EQ(made(x, two, {}, {load, fetch}).argument.dump(),
              list({commented(bytes, "m: CUtensorMap_st; " + words),
                    commented(bytes, "o: Other; " + words +
                                         "; cp.x (2 dimensions, tile) at line 7; prefetch at line "
                                         "9")}));
}

}  // namespace
}  // namespace lockwarp::launch
