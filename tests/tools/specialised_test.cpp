// SPDX-License-Identifier: Apache-2.0
// Mistakes in a warp-specialised product: tests/faults/specialised/faults.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/process.hpp"

namespace lockwarp::tools {
namespace {

using nlohmann::json;

const std::string folder_of_faults = LOCKWARP_SOURCE_DIR "/tests/faults/specialised/";

std::string text_of(const std::string& name) {
    std::ifstream file(folder_of_faults + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// The first line that has the text; 0: none.
int line_with(const std::string& text, const std::string& part) {
    const size_t at = text.find(part);
    if (part.empty() || at == std::string::npos) return 0;
    return static_cast<int>(1 +
                            std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

json checked(const std::string& ptx, int status) {
    const Folder folder;
    folder.write("gemm.ptx", ptx);
    folder.write("gemm.json", text_of("gemm.json"));
    const Ended e = run_here(folder, {"check", "gemm.json", "--format", "json", "--check",
                                      "race-shared,sync,memory,trap,order"});
    EXPECT_EQ(e.status, status) << e.out << e.err;
    const json report = json::parse(e.out, nullptr, false);
    return report.is_object() ? report.at("findings") : json::array();
}

TEST(Specialised, TheRightOneHasNoFinding) {
    const json found = checked(text_of("gemm.ptx"), 0);
    EXPECT_TRUE(found.empty()) << found.dump(1);
}

TEST(Specialised, EachMistakeIsNamedWithTheLineOfEachSide) {
    const json faults = json::parse(text_of("faults.json")).at("faults");
    ASSERT_GE(faults.size(), 13u);
    for (const json& fault : faults) {
        const std::string name = fault.at("name");
        SCOPED_TRACE(name);
        std::string ptx = text_of("gemm.ptx");
        for (const json& t : fault.at("texts")) {
            const std::string right = t.at(0), wrong = t.at(1);
            size_t count = 0;
            for (size_t at = ptx.find(right); at != std::string::npos;
                 at = ptx.find(right, at + wrong.size()))
                ptx.replace(at, right.size(), wrong), ++count;
            ASSERT_GE(count, 1u) << right;
        }
        const bool is_error = std::ranges::any_of(fault.at("found"),
                                                  [](const json& f) { return f.at(0) == "error"; });
        const json found = checked(ptx, is_error ? 1 : 0);
        for (const json& f : fault.at("found")) {
            const std::string what = f.at(1), at = f.at(2), side = f.at(3);
            const int here = line_with(ptx, at), other = line_with(ptx, side);
            ASSERT_NE(here, 0) << at;
            ASSERT_TRUE(side.empty() || other != 0) << side;
            EXPECT_TRUE(std::ranges::any_of(
                found,
                [&](const json& one) {
                    return one.at("severity") == f.at(0) &&
                           one.at("check").get<std::string>() + "/" +
                                   one.at("kind").get<std::string>() ==
                               what &&
                           one.value("ptx_line", 0) == here &&
                           (other == 0 ||
                            one.value("other", json::object()).value("ptx_line", 0) == other);
                }))
                << what << " at line " << here << " and " << other << "\n"
                << found.dump(1);
        }
    }
}

TEST(Specialised, DeadlocksAreFoundWithinASecond) {
    for (const auto& [right, wrong] :
         {std::pair{"[%r24], 12288;", "[%r24], 12304;"}, std::pair{"[empty], 2;", "[empty], 3;"}}) {
        std::string ptx = text_of("gemm.ptx");
        ptx.replace(ptx.find(right), std::string(right).size(), wrong);
        const Folder folder;
        folder.write("gemm.ptx", ptx);
        folder.write("gemm.json", text_of("gemm.json"));
        const auto begin = std::chrono::steady_clock::now();
        const Ended e = run_here(folder, {"run", "gemm.json"});
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        EXPECT_EQ(e.status, 1) << e.out << e.err;
        EXPECT_NE((e.out + e.err).find("waits for the mbarrier at"), std::string::npos)
            << e.out << e.err;
        EXPECT_LT(seconds, 1.0);
    }
}

}  // namespace
}  // namespace lockwarp::tools
