// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of launch files, held against every launch file of the repository and against
// what the reader takes.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "launch/launch_file.hpp"
#include "launch/values.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json parsed(const std::string& path) {
    const Result<std::string> text = read_text(path, uint64_t{1} << 28);
    return text ? Json::parse(*text, nullptr, false) : Json();
}

// What a keyword of JSON Schema 2020-12 demands; those that the schema uses, any other throws.
struct Validator {
    const Json& root;

    bool has_type(const Json& v, const std::string& name) const {
        if (name == "object") return v.is_object();
        if (name == "array") return v.is_array();
        if (name == "string") return v.is_string();
        if (name == "boolean") return v.is_boolean();
        if (name == "integer") return v.is_number_integer();
        if (name == "number") return v.is_number();
        throw std::runtime_error("type " + name);
    }
    bool members(const Json& s, const Json& v) const {
        for (const auto& [key, value] : v.items()) {
            bool known = false;
            if (s.contains("properties") && s["properties"].contains(key)) {
                known = true;
                if (!valid(s["properties"][key], value)) return false;
            }
            const Json none = Json::object();
            const Json& patterns = s.contains("patternProperties") ? s["patternProperties"] : none;
            for (const auto& [pattern, inner] : patterns.items())
                if (std::regex_search(key, std::regex(pattern))) {
                    known = true;
                    if (!valid(inner, value)) return false;
                }
            if (!known && s.contains("additionalProperties") &&
                !valid(s["additionalProperties"], value))
                return false;
            if (s.contains("propertyNames") && !valid(s["propertyNames"], key)) return false;
        }
        return true;
    }
    bool demands(const std::string& word, const Json& what, const Json& s, const Json& v) const {
        if (word == "$ref")
            return valid(root.at(Json::json_pointer(what.get<std::string>().substr(1))), v);
        if (word == "const") return v == what;
        if (word == "enum") return std::ranges::find(what, v) != what.end();
        if (word == "anyOf")
            return std::ranges::any_of(what, [&](const Json& one) { return valid(one, v); });
        if (word == "type" && what.is_array())
            return std::ranges::any_of(what, [&](const Json& t) { return has_type(v, t); });
        if (word == "type") return has_type(v, what);
        if (word == "minimum") return !v.is_number() || v >= what;
        if (word == "maximum") return !v.is_number() || v <= what;
        if (word == "minItems") return !v.is_array() || v.size() >= what.get<size_t>();
        if (word == "maxItems") return !v.is_array() || v.size() <= what.get<size_t>();
        if (word == "maxLength") return !v.is_string() || v.get<std::string>().size() <= what;
        if (word == "pattern")
            return !v.is_string() ||
                   std::regex_search(v.get<std::string>(), std::regex(what.get<std::string>()));
        if (word == "required")
            return !v.is_object() ||
                   std::ranges::all_of(what, [&](const Json& n) { return v.contains(n); });
        if (word == "items")
            return !v.is_array() ||
                   std::ranges::all_of(v, [&](const Json& one) { return valid(what, one); });
        if (word == "properties" || word == "additionalProperties" || word == "propertyNames" ||
            word == "patternProperties")
            return !v.is_object() || members(s, v);
        if (word.starts_with("$") || word == "title") return true;
        throw std::runtime_error("keyword " + word);
    }
    bool valid(const Json& s, const Json& v) const {
        if (s.is_boolean()) return s.get<bool>();
        for (const auto& [word, what] : s.items())
            if (!demands(word, what, s, v)) return false;
        return true;
    }
};

const Json& schema() {
    static const Json s = parsed(LOCKWARP_SOURCE_DIR "/launch/launch.schema.json");
    return s;
}

bool valid(const Json& v) { return Validator{schema()}.valid(schema(), v); }

TEST(Schema, EveryLaunchFileOfTheRepository) {
    size_t count = 0;
    for (const char* folder : {"/gpu", "/tests", "/examples"})
        for (const auto& entry :
             fs::recursive_directory_iterator(LOCKWARP_SOURCE_DIR + std::string(folder))) {
            if (entry.path().extension() != ".json") continue;
            const Json j = parsed(entry.path().string());
            if (!j.is_object() || j.value("schema", Json()) != "lockwarp-launch/1") continue;
            ++count;
            EXPECT_TRUE(valid(j)) << entry.path();
            LaunchFile file;
            EXPECT_EQ(take(read_launch_file(entry.path().string()), file), "");
        }
    EXPECT_GE(count, 190u);
}

TEST(Schema, HasTheTypes) {
    std::vector<std::string> names;
    for (const std::string_view name : value_types()) names.emplace_back(name);
    EXPECT_EQ(schema()["$defs"]["type"]["enum"].get<std::vector<std::string>>(), names);
    for (const std::string& name : names)
        EXPECT_TRUE(Validator{schema()}.valid(schema()["$defs"]["argument"], Json{{name, 1}}))
            << name;
}

// What the reader takes and what it does not.
TEST(Schema, AgreesWithTheReader) {
    const std::string top =
        R"({"schema": "lockwarp-launch/1", "ptx": "k", "grid": [1], "block": [1],
        "buffers": {"A": {"bytes": 64, "init": "zeros"}}, )";
    const struct {
        const char* rest;
        bool good;
    } cases[] = {
        {R"("comment": {"any": 1}})", true},
        {R"("tensorMaps": {"a": {"tensorDataType": "FLOAT16", "tensorRank": 2, "globalAddress": "A",
         "globalDim": [8, 2], "globalStrides": [16], "boxDim": [8, 1]}},
         "args": [{"tensorMap": "a"}, {"struct": [{"tensorMap": "a"}]}]})",
         true},
        {R"("tensorMaps": {"a": {"tensorDataType": "FLOAT16", "tensorRank": 6, "globalAddress": "A",
         "globalDim": [8, 2], "globalStrides": [16], "boxDim": [8, 1]}}})",
         false},
        {R"("tensorMaps": {"a": {"tensorDataType": "HALF", "tensorRank": 1, "globalAddress": "A",
         "globalDim": [8], "boxDim": [8]}}})",
         false},
        {R"("tensorMaps": {"a": {"tensorDataType": "FLOAT16", "tensorRank": 1, "globalAddress": "A",
         "globalDim": [8], "boxDim": [8], "strides": [2]}}})",
         false},
        {R"("args": [{"struct": [{"s32": [1, 2]}, {"pad": 4}, {"struct": []}], "align": 8}]})",
         true},
        {R"("args": [{"pointer": "A", "offset": 8}, {"bytes": "00ff"}, {"f16": "0x3c00"}]})", true},
        {R"("launches": [{"entry": "e", "args": [], "variables": {"v": {"init": {"fill": 1}}}}]})",
         true},
        {R"("expect": [{"buffer": "A", "type": "f32", "is": {"values": {"f32": [1]}}, "ulp": 1}]})",
         true},
        {R"("expect": [{"product": "A = A*A'", "shape": [1, 1, 1], "types": {"A": "f16", "D": "f32"}}]})",
         true},
        {R"("gird": [1]})", false},
        {R"("args": [{"s33": 1}]})", false},
        {R"("args": [{"bytes": "0"}]})", false},
        {R"("args": [{"struct": [{"s23": 1}]}]})", false},
        {R"("launches": []})", false},
        {R"("launches": [{"gird": [1]}]})", false},
        {R"("outputs": ["../A"]})", false},
        {R"("variables": {"v": {}}})", false},
        {R"("expect": [{"buffer": "A", "is": "zeros", "ulp": -1}]})", false},
        {R"("expect": [{"buffer": "A", "is": "ones"}]})", false},
        {R"("arch": 80})", false},
    };
    for (const auto& c : cases) {
        LaunchFile file;
        EXPECT_EQ(take(parse_launch_file(top + c.rest, "x.json"), file).empty(), c.good) << c.rest;
        EXPECT_EQ(valid(Json::parse(top + c.rest)), c.good) << c.rest;
    }
}

}  // namespace
}  // namespace lockwarp::launch
