// SPDX-License-Identifier: Apache-2.0
// What for_lanes asks of its bodies, that nothing is carried from lane to lane, is not seen by the
// compiler, nor by a run where it happens not to matter: the sources are read instead.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace lockwarp {
namespace {

// The text of each call of for_lanes.
std::vector<std::string> bodies(const std::string& text) {
    std::vector<std::string> out;
    const std::string call = "for_lanes(mask";
    for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
        size_t end = at + std::string("for_lanes(").size();
        for (int depth = 1; depth > 0 && end < text.size(); ++end)
            depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
        out.push_back(text.substr(at, end - at));
    }
    return out;
}

// A name that a body changes and has not declared: "some" of "some |= 1u << l". Elements of arrays
// are a lane's own.
std::string carried(const std::string& body) {
    static const std::regex change(R"(([A-Za-z_][\w.]*)\s*([|+&^-]?=)(?!=))");
    for (std::sregex_iterator i(body.begin(), body.end(), change), end; i != end; ++i) {
        const std::string name = (*i)[1];
        const std::regex declared(R"((^|[({;\s])(const\s+)?[A-Za-z_][\w:<>]*[&*]?\s+)" + name +
                                  R"(\s*(=(?!=)|;|\{))");
        const std::string before = body.substr(0, static_cast<size_t>(i->position() + i->length()));
        if (!std::regex_search(before, declared)) return name;
    }
    return "";
}

TEST(ForLanes, TheCheckSeesWhatIsCarried) {
    EXPECT_EQ(carried("for_lanes(mask, [&](unsigned l) { some |= uint32_t{d[l] != 0} << l; })"),
              "some");
    EXPECT_EQ(carried("for_lanes(mask, [&](unsigned l) { d[l] = 1; c.undefined |= 1u << l; })"),
              "c.undefined");
    EXPECT_EQ(carried("for_lanes(mask, [&](unsigned l) { uint32_t x = a[l]; x |= 1; d[l] = x; })"),
              "");
    EXPECT_EQ(carried("for_lanes(mask, [&](unsigned l) { if (a[l] == 0) d[l] += b[l]; })"), "");
}

TEST(ForLanes, BodiesCarryNothingFromLaneToLane) {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(LOCKWARP_SOURCE_DIR "/emu/exec")) {
        if (file.path().extension() != ".cpp") continue;
        std::ifstream in(file.path());
        std::stringstream text;
        text << in.rdbuf();
        for (const std::string& body : bodies(text.str())) {
            ++count;
            EXPECT_EQ(carried(body), "") << file.path() << "\n" << body;
        }
    }
    EXPECT_GT(count, 40u);
}

}  // namespace
}  // namespace lockwarp
