// SPDX-License-Identifier: Apache-2.0
// What launch files are told, to the letter and with the place: every check, at its edge.
#include <gtest/gtest.h>

#include <algorithm>

#include "launch/launch_file.hpp"
#include "launch/values.hpp"
#include "tests/launch/messages.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch::messages_test {
namespace {

constexpr const char* head =
    R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1], "block": [1], )";

std::string types() { return value_type_names(); }

TEST(LaunchMessages, TopLevel) {
    expect_all(
        "",
        {
            {R"(^[])", "an object is expected, not []"},
            {R"(^{"ptx": "k", "grid": [1], "block": [1]})", "field 'schema': is missing"},
            {R"(^{"schema": "lockwarp-launch/1", "grid": [1], "block": [1]})",
             "field 'ptx': is missing"},
            {R"(^{"schema": "lockwarp-launch/1", "ptx": "k", "block": [1]})",
             "field 'grid': is missing"},
            {R"(^{"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1]})",
             "field 'block': is missing"},
            {R"({"schema": ^"lockwarp-launch/0", "ptx": "k", "grid": [1], "block": [1]})",
             "field 'schema': \"lockwarp-launch/1\" is expected, not \"lockwarp-launch/0\""},
            {R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1], "block": [1]})", ""},
            {R"({"schema": "lockwarp-launch/1", "launches": [{"ptx": "k", "grid": [1], "block": [1]}]})",
             ""},
            {R"({"schema": "lockwarp-launch/1", "launches": [^{"grid": [1], "block": [1]}]})",
             "field 'launches[0].ptx': is missing"},
            {R"({"schema": "lockwarp-launch/1", "ptx": "k",
  "launches": [{"grid": [1], "block": [1]}]})",
             ""},
            {R"({"schema": "lockwarp-launch/1", "ptx": "k", "launches": [{"grid": [1], "block": [1]}, )"
             R"(^{"grid": [1]}]})",
             "field 'launches[1].block': is missing"},
        },
        "");
}

TEST(LaunchMessages, Kernels) {
    const std::string dims = "[x, y, z] is expected, not ";
    const std::string number = "a whole number from 0 to 4294967295 is expected, not ";
    expect_all(R"({"schema": "lockwarp-launch/1", "ptx": "k", "block": [1], "grid": )",
               {
                   {"[4294967295, 0, 7]", ""},
                   {"^[]", "field 'grid': " + dims + "[]"},
                   {"^[1, 2, 3, 4]", "field 'grid': " + dims + "[1, 2, 3, 4]"},
                   {"^5", "field 'grid': " + dims + "5"},
                   {"[1, ^4294967296]", "field 'grid': " + number + "4294967296"},
                   {"[1, 1, ^1.0]", "field 'grid': " + number + "1.0"},
                   {"[^\"1\"]", "field 'grid': " + number + "\"1\""},
                   {"[^-1]", "field 'grid': " + number + "-1"},
               },
               "}");
    expect_all(
        head,
        {
            {R"("dynamic_shared": 1073741824)", ""},
            {R"("dynamic_shared": ^1073741825)",
             "field 'dynamic_shared': a whole number from 0 to 1073741824 is expected, not "
             "1073741825"},
            {R"("cluster": ^{})", "field 'cluster': " + dims + "{}"},
            {R"("cooperative": ^0)", "field 'cooperative': true or false is expected, not 0"},
            {R"("non_portable_cluster": ^null)",
             "field 'non_portable_cluster': true or false is expected, not null"},
            {R"("entry": ^{"a": 1})", "field 'entry': a text is expected, not {\"a\": 1}"},
            {R"("arch": ^["sm_80"])", "field 'arch': a text is expected, not [\"sm_80\"]"},
            {R"("functions": ^[])",
             "field 'functions': an object of addresses by the names of functions is expected"},
            {R"("functions": {"f g": ^16})",
             "field 'functions.f g': a name of letters, digits, '_' and '$' is expected"},
            {R"("functions": {"f": 16, "g": ^"0x10"})",
             "field 'functions.g': another function has this address"},
            {R"("launches": [{"functions": {"f": ^-8}}])",
             "field 'launches[0].functions.f': a whole number from 0 to 18446744073709551615 is "
             "expected, not -8"},
            {R"("args": ^{})", "field 'args': a list is expected"},
            {R"("launches": ^{})", "field 'launches': a list of launches is expected"},
            {R"("launches": ^[])", "field 'launches': a list of launches is expected"},
            {R"("launches": [{}, ^5])", "field 'launches[1]': an object is expected, not 5"},
            {R"("launches": [{"cluster": ^1}])", "field 'launches[0].cluster': " + dims + "1"},
            {R"("launches": [{}, {"dynamic_shared": ^-2}])",
             "field 'launches[1].dynamic_shared': a whole number from 0 to 1073741824 is expected, "
             "not "
             "-2"},
            {R"("launches": [{"cooperative": ^"yes"}])",
             "field 'launches[0].cooperative': true or false is expected, not \"yes\""},
            {R"("launches": [{"args": [^[]]}])",
             "field 'launches[0].args[0]': an object such as {\"buffer\": \"A\"} or {\"s32\": 5} "
             "is "
             "expected"},
            {R"("launches": [{^"schema": 1}])",
             "field 'launches[0].schema': is not known; known here: ptx, entry, grid, block, "
             "dynamic_shared, cluster, non_portable_cluster, cooperative, variables, "
             "functions, args"},
        },
        "}");
    std::string many = "{}";
    for (int i = 1; i < 10000; ++i) many += ",{}";
    expect(std::string(head) + "\"launches\": [" + many + "]}", "");
    expect(std::string(head) + "\"launches\": ^[{}," + many + "]}",
           "field 'launches': a list of launches is expected");
}

TEST(LaunchMessages, Buffers) {
    const std::string name = "a name of letters, digits, '_', '-' and '.' is expected";
    const std::string hundred(100, 'n');
    expect_all(
        std::string(head) + R"("buffers": )",
        {
            {"^5", "field 'buffers': an object of buffers by name is expected"},
            {R"({"comment": "text"})", ""},
            {R"({"comment": {"bytes": 1}})", ""},
            {R"({"a.b-c_9": {"bytes": 1}})", ""},
            {R"({".a": ^{"bytes": 1}})", "field 'buffers..a': " + name},
            {R"({"a$": ^{"bytes": 1}})", "field 'buffers.a$': " + name},
            {R"({"a b": ^{"bytes": 1}})", "field 'buffers.a b': " + name},
            {"{\"" + hundred + "\": {\"bytes\": 1}}", ""},
            {"{\"" + hundred + "n\": ^{\"bytes\": 1}}",
             "field 'buffers." + hundred + "n': " + name},
            {R"({"A": ^[1]})", "field 'buffers.A': an object is expected, not [1]"},
            {R"({"A": ^{"init": {"fill": 1}}})", "field 'buffers.A.bytes': is missing"},
            {R"({"A": {"bytes": ^17592186044417}})",
             "field 'buffers.A.bytes': a whole number from 0 to 17592186044416 is expected, not "
             "17592186044417"},
            {R"({"A": {"bytes": 17592186044416}})", ""},
            {R"({"A": {"zeros": 17592186044416}})", ""},
            {R"({"A": {"zeros": ^17592186044417}})",
             "field 'buffers.A.zeros': a whole number from 0 to 17592186044416 is expected, not "
             "17592186044417"},
            {R"({"A": {"zeros": ^8, "bytes": 8}})",
             "field 'buffers.A.zeros': stands for bytes and init"},
            {R"({"A": {"zeros": ^8, "init": "zeros"}})",
             "field 'buffers.A.zeros': stands for bytes and init"},
            {R"({"A": {"bytes": 8, "init": ^"none"}})",
             "field 'buffers.A.init': one of {\"file\"}, {\"files\"}, {\"hex\"}, {\"fill\"}, "
             "{\"zeros\"}, {\"values\"}, {\"random\"}, {\"sequence\"} is expected, or \"zeros\", "
             "or of "
             "a buffer \"undefined\""},
            {R"({"A": {"bytes": 8, "init": "undefined", "pointers": ^{}}})",
             "field 'buffers.A.pointers': an undefined buffer holds no addresses"},
            {R"({"A": {"bytes": 8, "init": "undefined", "tensorMaps": ^{}}})",
             "field 'buffers.A.tensorMaps': an undefined buffer holds no tensor maps"},
            {R"({"A": {"bytes": 8, "pointers": ^5}})",
             "field 'buffers.A.pointers': an object {\"byte offset\": \"buffer\"} is expected"},
            {R"({"A": {"bytes": 8, "pointers": {"comment": 5, "0": "A"}}})", ""},
            {R"({"A": {"bytes": 8, "pointers": {"1": ^"A"}}})",
             "field 'buffers.A.pointers.1': 8 bytes there do not fit 8"},
            {R"({"A": {"bytes": 7, "pointers": {"0": ^"A"}}})",
             "field 'buffers.A.pointers.0': 8 bytes there do not fit 7"},
            {R"({"A": {"bytes": 7, "pointers": {"8": ^"A"}}})",
             "field 'buffers.A.pointers.8': 8 bytes there do not fit 7"},
            {R"({"A": {"bytes": 8, "pointers": {"0x0": ^"A"}}})",
             "field 'buffers.A.pointers.0x0': the key must be a byte offset"},
            {R"({"A": {"bytes": 8, "pointers": {"": ^"A"}}})",
             "field 'buffers.A.pointers.': the key must be a byte offset"},
            {R"({"A": {"bytes": 8, "pointers": {"17592186044417": ^"A"}}})",
             "field 'buffers.A.pointers.17592186044417': the key must be a byte offset"},
            {R"({"A": {"bytes": 8, "pointers": {"17592186044416": ^"A"}}})",
             "field 'buffers.A.pointers.17592186044416': 8 bytes there do not fit 8"},
            {R"({"A": {"bytes": 8, "pointers": {"0": {"buffer": "A", "offset": 8}}}})", ""},
            {R"({"A": {"bytes": 8, "pointers": {"0": ^{"buffer": "A", "offset": 9}}}})",
             "field 'buffers.A.pointers.offset': 9 is past buffer 'A' of 8 bytes"},
            {R"({"A": {"bytes": 8, "pointers": {"0": ^"B"}}, "Bb": {"bytes": 1}})",
             "field 'buffers.A.pointers': there is no buffer 'B'; did you mean 'Bb'?"},
            {R"({"A": {"bytes": 8, "pointers": {"0": {"buffer": "A", ^"of": 9}}}})",
             "field 'buffers.A.pointers.0.of': is not known; known here: buffer, offset"},
            {R"({"A": {"bytes": 8, "pointers": {"0": {"buffer": "A", "offset": ^"9"}}}})",
             "field 'buffers.A.pointers.0.offset': a whole number from 0 to 18446744073709551615 "
             "is "
             "expected, not \"9\""},
            {R"({"A": {"bytes": 8, "pointers": {"0": {"buffer": ^5}}}})",
             "field 'buffers.A.pointers.0.buffer': a text is expected, not 5"},
            {R"({"A": {"bytes": 8, "pointers": {"0": ^{"bufer": "A"}}}})",
             "field 'buffers.A.pointers.0': a text is expected, not {\"bufer\": \"A\"}"},
        },
        "}");
}

TEST(LaunchMessages, AddressesOfBuffers) {
    const auto range = [](const std::string& is) {
        return "field 'buffers.A.address': a multiple of 256 is expected, such as "
               "\"0x7000000000\", with all of the buffer below 0x700000000000 or from "
               "0x7e1000000000 to 0x7fffffffffff, not " +
               is;
    };
    struct Row {
        const char *bytes, *address;
        bool good;
    };
    const Row rows[] = {{"256", "256", true},
                        {"256", "\"0x100\"", true},
                        {"256", "0", false},
                        {"256", "255", false},
                        {"256", "257", false},
                        {"256", "384", false},
                        {"256", "\"0x6fffffffff00\"", true},
                        {"257", "\"0x6fffffffff00\"", false},
                        {"0", "\"0x700000000000\"", false},
                        {"1", "\"0x7e0fffffff00\"", false},
                        {"1", "\"0x7e1000000000\"", true},
                        {"256", "\"0x7fffffffff00\"", true},
                        {"257", "\"0x7fffffffff00\"", false},
                        {"0", "\"0x800000000000\"", false},
                        {"1", "\"0xffffffffffffff00\"", false},
                        {"17592186044416", "256", true}};
    for (const Row& row : rows)
        expect(std::string(head) + R"("buffers": {"A": {"bytes": )" + row.bytes +
                   ", \"address\": " + (row.good ? "" : "^") + row.address + "}}}",
               range(row.address));
    expect_all(std::string(head) + R"("buffers": {"A": {"bytes": 1, "address": )",
               {
                   {"^-256",
                    "field 'buffers.A.address': a whole number from 0 to 18446744073709551615 is "
                    "expected, not -256"},
                   {"^true",
                    "field 'buffers.A.address': a whole number from 0 to 18446744073709551615 is "
                    "expected, not true"},
                   {"^\"256\"",
                    "field 'buffers.A.address': a number, or a text of at most 16 hexadecimal "
                    "digits after 0x, is expected, not \"256\""},
               },
               "}}}");
}

TEST(LaunchMessages, ShapesOfBuffers) {
    const std::string dims =
        "field 'buffers.A.shape': the sizes of one to 8 dimensions are "
        "expected, the outermost first, not ";
    expect_all(
        std::string(head) + R"("buffers": {"A": {)",
        {
            {R"("type": "f16", "shape": [1, 1, 1, 1, 1, 1, 1, 1])", ""},
            {R"("type": "f16", "shape": ^[1, 1, 1, 1, 1, 1, 1, 1, 1])",
             dims + "[1, 1, 1, 1, 1, 1, 1, 1, 1]"},
            {R"("type": "f16", "shape": ^[])", dims + "[]"},
            {R"("type": "f16", "shape": ^4)", dims + "4"},
            {R"("type": "f16", "shape": [2, ^0])", "field 'buffers.A.shape': is 0"},
            {R"("type": "f16", "shape": [2, ^-1])",
             "field 'buffers.A.shape': a whole number from 0 to 17592186044416 is expected, not "
             "-1"},
            {R"("type": "f16", "shape": [^17592186044417])",
             "field 'buffers.A.shape': a whole number from 0 to 17592186044416 is expected, not "
             "17592186044417"},
            {R"("type": "u8", "shape": [1, 17592186044416])", ""},
            {R"("type": "u8", "shape": ^[3, 17592186044416])",
             "field 'buffers.A.shape': is larger than 16 TB"},
            {R"("type": "u8", "shape": ^[17592186044416, 17592186044416, 2])",
             "field 'buffers.A.shape': is larger than 16 TB"},
            {R"("type": "f16", "shape": [2, 3], "stride": 3)", ""},
            {R"("type": "f16", "shape": [2, 3], "stride": ^2)",
             "field 'buffers.A.stride': at least the 3 elements of a row are expected"},
            {R"("type": "f16", "shape": [2, 3], "stride": ^"3")",
             "field 'buffers.A.stride': a whole number from 0 to 17592186044416 is expected, not "
             "\"3\""},
            {R"("bytes": 12, "type": "f16", "shape": [2, 3])", ""},
            {R"("bytes": 11, "type": "f16", "shape": ^[2, 3])",
             "field 'buffers.A.shape': has 12 bytes, the buffer 11"},
            {R"("bytes": 13, "type": "f16", "shape": ^[2, 3], "stride": 4)",
             "field 'buffers.A.shape': has 14 bytes, the buffer 13"},
            {R"("bytes": 8, "type": ^"f15")",
             "field 'buffers.A.type': 'f15' is not a type; one of " + types()},
            {R"("bytes": 8, "stride": ^3)", "field 'buffers.A.stride': stands beside shape"},
        },
        "}}}");
    expect(std::string(head) + R"("buffers": {"A": ^{"shape": [2]}}})",
           "field 'buffers.A.type': is missing beside shape");
    expect(std::string(head) + R"("buffers": {"A": ^{"type": "f16"}}})",
           "field 'buffers.A.bytes': is missing");
}

TEST(LaunchMessages, VariablesAndOutputs) {
    const std::string name = "a name of letters, digits, '_', '-' and '.' is expected";
    const std::string longest(4096, 'v');
    expect_all(
        head,
        {
            {R"("variables": ^[])",
             "field 'variables': an object of variables by name is expected"},
            {R"("variables": {"a$b": {"init": {"fill": 1}}})", ""},
            {R"("variables": {"a/b": ^{"init": {"fill": 1}}})", "field 'variables.a/b': " + name},
            {R"("variables": {"v": ^{"bytes": 4}})", "field 'variables.v.init': is missing"},
            {R"("variables": {"v": {"bytes": ^"4", "init": {"fill": 1}}})",
             "field 'variables.v.bytes': a whole number from 0 to 17592186044416 is expected, not "
             "\"4\""},
            {R"("variables": {"v": {^"zeros": 4}})",
             "field 'variables.v.zeros': is not known; known here: bytes, init"},
            {R"("variables": {"v": {"init": {"fill": ^-1}}})",
             "field 'variables.v.init.fill': a whole number from 0 to 255 is expected, not -1"},
            {R"("variables": {"v": ^5})", "field 'variables.v': an object is expected, not 5"},
            {R"("launches": [{"variables": {"v/": ^{"init": {"fill": 1}}}}])",
             "field 'launches[0].variables.v/': " + name},
            {"\"variables\": {\"" + longest + "\": {\"init\": {\"fill\": 1}}}", ""},
            {R"("outputs": ^{})", "field 'outputs': a list of buffers and variables is expected"},
            {R"("outputs": ["a", "b$", ^"a/b"])",
             "field 'outputs': a name of a buffer or a variable is expected"},
            {R"("outputs": [^""])",
             "field 'outputs': a name of a buffer or a variable is expected"},
            {R"("outputs": ["a", "b", ^"a"])", "field 'outputs': 'a' is there twice"},
            {R"("outputs": ["a", ^null])", "field 'outputs': a text is expected, not null"},
            {"\"outputs\": [\"" + longest + "\"]", ""},
            {"\"outputs\": [^\"" + longest + "v\"]",
             "field 'outputs': a name of a buffer or a variable is expected"},
        },
        "}");
}

TEST(LaunchMessages, Arguments) {
    const std::string none = "an object such as {\"buffer\": \"A\"} or {\"s32\": 5} is expected";
    const auto unknown = [](const std::string& key) {
        return "'" + key + "' is not buffer, bytes, struct, tensorMap or one of " + types();
    };
    const auto whole = [](const std::string& field, const std::string& type,
                          const std::string& is) {
        return "field 'args[0]." + field + "': a whole number of type " + type +
               " is expected, not " + is;
    };
    expect_all(
        std::string(head) + R"("buffers": {"A": {"bytes": 64}}, "args": [)",
        {
            {"^5", "field 'args[0]': " + none},
            {"^{}", "field 'args[0]': " + none},
            {R"(^{"comment": "s32"})", "field 'args[0]': " + none},
            {R"({"comment": "a", "s32": 1})", ""},
            {R"(^{"s33": 1})", "field 'args[0]': " + unknown("s33") + "; did you mean 's32'?"},
            {R"(^{"bufer": "A"})",
             "field 'args[0]': " + unknown("bufer") + "; did you mean 'buffer'?"},
            {R"(^{"xxxxx": "A"})", "field 'args[0]': " + unknown("xxxxx")},
            {R"(^{"comment": 1, "f32": 1, "f64": 1})", "field 'args[0]': 'f32' has to stand alone"},
            {R"({"buffer": "A", "offset": 64})", ""},
            {R"({"buffer": "A"}, ^{"buffer": "A", "offset": 65})",
             "field 'args[1].offset': 65 is past buffer 'A' of 64 bytes"},
            {R"(^{"pointer": "B"})", "field 'args[0]': there is no buffer 'B'"},
            {R"(^{"pointer": "long"})", "field 'args[0]': there is no buffer 'long'"},
            {R"({"buffer": ^5})", "field 'args[0].buffer': a text is expected, not 5"},
            {R"({"buffer": "A", ^"s32": 5})",
             "field 'args[0].s32': is not known; known here: buffer, offset"},
            {R"({"bytes": ^"0"})",
             "field 'args[0].bytes': an even number of hexadecimal digits is "
             "expected"},
            {R"({"bytes": ^5})", "field 'args[0].bytes': a text is expected, not 5"},
            {R"({"bytes": "00", ^"offset": 5})",
             "field 'args[0].offset': is not known; known here: bytes, pointers, tensorMaps"},
            {R"({"bytes": "0000000000000000", "pointers": {"1": ^"A"}})",
             "field 'args[0].pointers.1': 8 bytes there do not fit 8"},
            {R"({"bytes": "00", "tensorMaps": ^5})",
             "field 'args[0].tensorMaps': an object {\"byte offset\": \"tensor map\"} is expected"},
            {R"({"tensorMap": ^5})", "field 'args[0].tensorMap': a text is expected, not 5"},
            {R"({"tensorMap": ^"m"})", "field 'args[0].tensorMap': there is no tensor map 'm'"},
            {R"({"tensorMap": "m", ^"s32": 5})",
             "field 'args[0].s32': is not known; known here: tensorMap"},
            {R"({"s32": ^[]})", "field 'args[0].s32': at least one number is expected"},
            {R"({"s32": [1, ^"x"]})",
             "field 'args[0].s32[1]': a number, or a text of at most 8 "
             "hexadecimal digits after 0x, is expected, not \"x\""},
            {R"({"s8": -128}, {"s8": 127}, {"u8": 0}, {"u8": 255})", ""},
            {R"({"s8": ^-129})", whole("s8", "s8", "-129")},
            {R"({"s8": ^128})", whole("s8", "s8", "128")},
            {R"({"u8": ^256})", whole("u8", "u8", "256")},
            {R"({"u8": ^-1})", whole("u8", "u8", "-1")},
            {R"({"b16": ^65536})", whole("b16", "b16", "65536")},
            {R"({"s64": -9223372036854775808}, {"s64": 9223372036854775807})", ""},
            {R"({"s64": ^9223372036854775808})", whole("s64", "s64", "9223372036854775808")},
            {R"({"s32": ^true})", whole("s32", "s32", "true")},
            {R"({"s32": ^1.0})", whole("s32", "s32", "1.0")},
            {R"({"s32": ^null})", whole("s32", "s32", "null")},
            {R"({"s32": "0x12345678"}, {"s32": "0xABCDEFab"})", ""},
            {R"({"s32": ^"0x123456789"})",
             "field 'args[0].s32': a number, or a text of at most 8 "
             "hexadecimal digits after 0x, is expected, not "
             "\"0x123456789\""},
            {R"({"u8": ^"0x"})",
             "field 'args[0].u8': a number, or a text of at most 2 hexadecimal "
             "digits after 0x, is expected, not \"0x\""},
            {R"({"u16": ^"0x12g4"})",
             "field 'args[0].u16': a number, or a text of at most 4 "
             "hexadecimal digits after 0x, is expected, not \"0x12g4\""},
            {R"({"u32": ^"nan"})",
             "field 'args[0].u32': a number, or a text of at most 8 hexadecimal "
             "digits after 0x, is expected, not \"nan\""},
            {R"({"f32": "nan"}, {"f32": "inf"}, {"f16": "-inf"}, {"f16": 65504}, {"f16": -65504})",
             ""},
            {R"({"f16": ^65520})",
             "field 'args[0].f16': a number that f16 has, or \"inf\", is expected, not 65520"},
            {R"({"f16": ^-65520})",
             "field 'args[0].f16': a number that f16 has, or \"inf\", is expected, not -65520"},
            {R"({"f32": ^"-nan"})",
             "field 'args[0].f32': a number, or a text of at most 8 hexadecimal "
             "digits after 0x, is expected, not \"-nan\""},
            {R"({"f32": ^false})", "field 'args[0].f32': a number is expected, not false"},
        },
        "]}");
}

TEST(LaunchMessages, Structs) {
    expect_all(std::string(head) + R"("args": [)",
               {
                   {R"({"struct": ^{}})", "field 'args[0].struct': a list of fields is expected"},
                   {R"({"struct": [], ^"alignn": 4})",
                    "field 'args[0].alignn': is not known; did you mean "
                    "'align'?"},
                   {R"({"struct": [{"pad": 65536}]})", ""},
                   {R"({"struct": [{"pad": ^65537}]})",
                    "field 'args[0].struct[0].pad': a whole number from 0 to 65536 is expected, "
                    "not 65537"},
                   {R"({"struct": [{"pad": 65536}, ^{"u8": 1}]})",
                    "field 'args[0].struct[1]': more bytes than the parameters of a kernel have"},
                   {R"({"struct": [{"pad": 4, ^"s32": 1}]})",
                    "field 'args[0].struct[0].s32': is not known; known here: pad"},
                   {R"({"struct": [{"struct": [^7]}]})",
                    "field 'args[0].struct[0].struct[0]': an object such as {\"buffer\": \"A\"} or "
                    "{\"s32\": "
                    "5} is expected"},
                   {R"({"struct": [], "align": 256})", ""},
                   {R"({"struct": [], "align": 1})", ""},
                   {R"({"struct": [], "align": ^257})",
                    "field 'args[0].align': a whole number from 0 to 256 is expected, not 257"},
                   {R"({"struct": [], "align": ^0})",
                    "field 'args[0].align': a power of two is expected, not "
                    "0"},
                   {R"({"struct": [], "align": ^12})",
                    "field 'args[0].align': a power of two is expected, not 12"},
                   {R"({"struct": [], "align": ^"8"})",
                    "field 'args[0].align': a whole number from 0 to 256 is expected, not \"8\""},
               },
               "]}");
}

TEST(LaunchMessages, Inits) {
    const std::string kinds =
        "one of {\"file\"}, {\"files\"}, {\"hex\"}, {\"fill\"}, {\"zeros\"}, {\"values\"}, "
        "{\"random\"}, {\"sequence\"} is expected, or \"zeros\", or of a buffer \"undefined\"";
    const auto in = [](const std::string& field, const std::string& message) {
        return "field 'buffers.A.init" + field + "': " + message;
    };
    const std::string a_number = "a number is expected, not ";
    expect_all(
        std::string(head) + R"("buffers": {"A": {"bytes": 8, "init": )",
        {
            {"\"zeros\"", ""},
            {"^\"zero\"", in("", kinds)},
            {"^[]", in("", kinds)},
            {"^{}", in("", kinds)},
            {R"(^{"comment": "x"})", in("", kinds)},
            {R"({"comment": "x", "fill": 3})", ""},
            {R"(^{"fill": 1, "zeros": true})", in("", kinds)},
            {R"({^"fil": 1})", in(".fil", "is not known; did you mean 'file'?")},
            {R"({"fill": 255})", ""},
            {R"({"fill": ^256})", in(".fill", "a whole number from 0 to 255 is expected, not 256")},
            {R"({"zeros": true})", ""},
            {R"({"zeros": ^false})", in(".zeros", "true is expected")},
            {R"({"zeros": ^1})", in(".zeros", "true or false is expected, not 1")},
            {R"({"hex": ^""})", in(".hex", "at least one byte is expected")},
            {R"({"hex": ^"123"})", in(".hex", "an even number of hexadecimal digits is expected")},
            {R"({"file": ^[]})", in(".file", "a text is expected, not []")},
            {R"({"files": ^5})", in(".files", "an object {\"byte offset\": \"file\"} is expected")},
            {R"({"files": ^{}})",
             in(".files", "an object {\"byte offset\": \"file\"} is expected")},
            {R"({"files": {"8": "a", "-1": ^"b"}})",
             in(".files.-1", "the key must be a byte offset")},
            {R"({"files": {"8": ^5}})", in(".files.8", "a text is expected, not 5")},
            {R"({"values": ^{}})",
             in(".values", "an object such as {\"f32\": [1, 2.5]} is expected")},
            {R"({"values": ^[]})",
             in(".values", "an object such as {\"f32\": [1, 2.5]} is expected")},
            {R"({"values": ^{"f32": [1], "f64": [1]}})",
             in(".values", "an object such as {\"f32\": [1, 2.5]} is expected")},
            {R"({"values": {"comment": 5, "f32": [1]}})", ""},
            {R"({"values": ^{"q": [1]}})", in(".values", "'q' is not a type; one of " + types())},
            {R"({"values": {"f32": ^[]}})",
             in(".values.f32", "a list of at least one number is expected")},
            {R"({"values": {"f32": ^1}})",
             in(".values.f32", "a list of at least one number is expected")},
            {R"({"values": {"u8": [0, 255, ^256]}})",
             in(".values.u8[2]", "a whole number of type u8 is expected, not 256")},
            {R"({"random": ^{}})", in(".random.type", "is missing")},
            {R"({"random": {"type": ^5}})", in(".random.type", "a text is expected, not 5")},
            {R"({"random": {"type": ^"f"}})",
             in(".random.type", "'f' is not a type; one of " + types())},
            {R"({"random": {"type": "f32", "distribution": "uniform"}})", ""},
            {R"({"random": {"type": "f32", "distribution": ^"even"}})",
             in(".random.distribution", "'uniform' or 'normal' is expected, not 'even'")},
            {R"({"random": {"type": "f32", "seed": ^1.5}})",
             in(".random.seed",
                "a whole number from 0 to 18446744073709551615 is expected, not 1.5")},
            {R"({"random": {"type": "f32", "seed": 18446744073709551615}})", ""},
            {R"({"random": {"type": "f32", "min": ^null}})", in(".random.min", a_number + "null")},
            {R"({"random": {"type": "f32", "max": ^"1"}})", in(".random.max", a_number + "\"1\"")},
            {R"({"random": {"type": "f32", "mean": ^[]}})", in(".random.mean", a_number + "[]")},
            {R"({"random": {"type": "f32", "stddev": ^{}}})",
             in(".random.stddev", a_number + "{}")},
            {R"({"random": {"type": "f32", "min": 1, "max": 1}})", ""},
            {R"({"random": {"type": "f32", "min": ^1.5, "max": 1}})",
             in(".random.min", "is above max")},
            {R"({"random": {"type": "f32", "min": 1}})", ""},
            {R"({"random": ^{"type": "f32", "max": -1.5}})", in(".random.min", "is above max")},
            {R"({"random": ^{"type": "u8", "max": -1}})", in(".random.min", "is above max")},
            {R"({"random": {"type": "s8", "max": -128}})", ""},
            {R"({"random": ^{"type": "s8", "max": -129}})", in(".random.min", "is above max")},
            {R"({"random": {"type": "u8", "min": 255}})", ""},
            {R"({"random": {"type": "u8", "min": ^256}})", in(".random.min", "is above max")},
            {R"({"random": {"type": "s8", "min": 127}})", ""},
            {R"({"random": {"type": "s8", "min": ^128}})", in(".random.min", "is above max")},
            {R"({"random": {"type": "f32", ^"sed": 1}})",
             in(".random.sed", "is not known; did you mean 'seed'?")},
            {R"({"sequence": ^{}})", in(".sequence.type", "is missing")},
            {R"({"sequence": {"type": "f32", "start": ^true}})",
             in(".sequence.start", a_number + "true")},
            {R"({"sequence": {"type": "f32", "step": ^"1"}})",
             in(".sequence.step", a_number + "\"1\"")},
            {R"({"sequence": {"type": "f32", "divide": ^"1"}})",
             in(".sequence.divide", a_number + "\"1\"")},
            {R"({"sequence": {"type": "f32", "divide": ^-0.0}})",
             in(".sequence.divide", "a number other than 0 is expected")},
            {R"({"sequence": {"type": "f32", ^"end": 1}})",
             in(".sequence.end", "is not known; known here: type, start, step, divide")},
        },
        "}}}");
}

TEST(LaunchMessages, WhatIsShownIsCut) {
    const std::string e = "\xc3\xa9";  // two bytes
    const auto shown = [&](const std::string& text, const std::string& is) {
        expect(std::string(head) + "\"arch\": ^[\"" + text + "\"]}",
               "field 'arch': a text is expected, not " + is);
    };
    shown(std::string(36, 'a'), "[\"" + std::string(36, 'a') + "\"]");
    shown(std::string(37, 'a'), "[\"" + std::string(35, 'a') + "...");
    std::string many;
    for (int i = 0; i < 30; ++i) many += e;
    shown(many, "[\"" + many.substr(0, 34) + "...");
    shown("a" + many, "[\"a" + many.substr(0, 34) + "...");
    const std::string name(1200, 'q');
    expect(std::string(head) + "^\"" + name + "\": 1}",
           "field '" + name.substr(0, 1000) +
               "...': is not known; known here: schema, ptx, entry, arch, grid, block, "
               "dynamic_shared, cluster, non_portable_cluster, cooperative, tensorMaps, buffers, "
               "variables, functions, args, launches, outputs, expect");
    expect(std::string(head) + "\"" + name + "\": 1, ^\"" + name + "\": 2}",
           "'" + name.substr(0, 200) + "' stands twice in one object, first on line 1");
}

}  // namespace
}  // namespace lockwarp::launch::messages_test
