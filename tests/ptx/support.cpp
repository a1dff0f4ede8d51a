// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx/support.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "emu/ptx/printer.hpp"

namespace lockwarp::ptx {

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> ptx_files(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> paths;
    if (!std::filesystem::is_directory(directory)) return paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
        if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string messages(const std::vector<Diagnostic>& diagnostics) {
    std::string result;
    for (const Diagnostic& diagnostic : diagnostics) {
        result += std::to_string(diagnostic.place.line) + ':' +
                  std::to_string(diagnostic.place.column) + ": " + diagnostic.message + '\n';
    }
    return result;
}

Module module_of(std::string_view text) {
    Parsed parsed = parse(std::string(header) + std::string(text));
    EXPECT_EQ(messages(parsed.diagnostics), "") << text;
    return std::move(parsed.module);
}

std::vector<Statement> body_of(std::string_view text) {
    const Module module = module_of(".entry k()\n{\n" + std::string(text) + "\n}\n");
    if (module.items.size() != 1 || !std::holds_alternative<Function>(module.items[0])) {
        ADD_FAILURE() << "no function: " << text;
        return {};
    }
    return std::get<Function>(module.items[0]).body.body;
}

Instruction instruction_of(std::string_view text) {
    const std::vector<Statement> body = body_of(text);
    if (body.size() != 1 || !std::holds_alternative<Instruction>(body[0].node)) {
        ADD_FAILURE() << "not one instruction: " << text;
        return {};
    }
    return std::get<Instruction>(body[0].node);
}

std::string errors_of(std::string_view text) {
    return messages(parse(std::string(header) + std::string(text)).diagnostics);
}

void expect_round_trip(const std::string& text, const std::string& what) {
    const Parsed first = parse(text);
    EXPECT_EQ(messages(first.diagnostics), "") << what;
    const std::string printed = print(first.module);
    const Parsed second = parse(printed);
    EXPECT_EQ(messages(second.diagnostics), "") << what << '\n' << printed;
    EXPECT_TRUE(first.module == second.module) << what << '\n' << printed;
    EXPECT_EQ(print(second.module), printed) << what;
}

}  // namespace lockwarp::ptx
