// SPDX-License-Identifier: Apache-2.0
// Texts that are cut off, damaged, deeply nested or huge: the parser must end soon, without a
// crash, and with a tree that can be printed.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <filesystem>
#include <random>

#include "emu/ptx/printer.hpp"
#include "tests/cpu_time.hpp"
#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

std::string sample(std::string_view name) {
    return read_file(std::filesystem::path(LOCKWARP_SOURCE_DIR) / "tests/ptx/data" / name);
}

// Parses, and holds every parse to what it promises whatever the text is. A text without
// diagnostics is also printed and read again.
Parsed checked_parse(const std::string& text) {
    Parsed parsed = parse(text);
    EXPECT_LE(parsed.diagnostics.size(), max_diagnostics);
    uint32_t line = 0;
    for (const Diagnostic& diagnostic : parsed.diagnostics) {
        EXPECT_GE(diagnostic.place.line, std::max(line, 1U));
        EXPECT_GE(diagnostic.place.column, 1U);
        EXPECT_FALSE(diagnostic.message.empty());
        EXPECT_LT(diagnostic.message.size() + diagnostic.hint.size(), 500U);
        line = diagnostic.place.line;
    }
    if (parsed.diagnostics.empty()) {
        const Parsed again = parse(print(parsed.module));
        EXPECT_EQ(messages(again.diagnostics), "") << text;
        EXPECT_TRUE(again.module == parsed.module) << text;
    }
    return parsed;
}

std::string repeated(std::string_view text, size_t count) {
    std::string result;
    result.reserve(text.size() * count);
    for (size_t i = 0; i < count; ++i) result += text;
    return result;
}

TEST(Hostile, EveryCutOffFunctionIsReported) {
    const std::string text = sample("lineinfo.ptx");
    const size_t entry = text.find(".visible .entry");
    const size_t closing = text.find("\n}\n", entry) + 1;
    ASSERT_NE(entry, std::string::npos);
    ASSERT_GT(closing, entry);
    for (size_t size = 0; size <= text.size(); ++size) {
        const Parsed parsed = checked_parse(text.substr(0, size));
        const bool is_in_function = size > entry && size <= closing;
        if (is_in_function) {
            EXPECT_FALSE(parsed.diagnostics.empty()) << text.substr(0, size);
        }
    }
    const size_t target = text.find(".target") + 7;
    for (size_t size = 0; size <= target; ++size)
        EXPECT_FALSE(parse(text.substr(0, size)).diagnostics.empty()) << size;
    EXPECT_TRUE(parse(text).diagnostics.empty());
}

// A random change of the text: a byte, a cut, or one word lost, doubled or exchanged.
std::string mutated(std::string text, std::mt19937& random) {
    const auto below = [&](size_t limit) { return limit == 0 ? 0 : random() % limit; };
    const auto word = [&] {
        const size_t begin = text.find_first_not_of(" \t\n,;", below(text.size()));
        if (begin == std::string::npos) return std::pair<size_t, size_t>{0, 0};
        const size_t end = text.find_first_of(" \t\n,;.()[]{}", begin + 1);
        return std::pair{begin, std::min(end, text.size()) - begin};
    };
    constexpr std::string_view bytes = "\0\xFF{}()[]<>;:,.@!|%+-\"'/*#09aZ_$ \n";
    switch (below(6)) {
        case 0:
            text[below(text.size())] = static_cast<char>(random());
            break;
        case 1:
            text[below(text.size())] = bytes[below(bytes.size())];
            break;
        case 2:
            text.resize(below(text.size()));
            break;
        case 3: {
            const auto [begin, size] = word();
            text.erase(begin, size);
            break;
        }
        case 4: {
            const auto [begin, size] = word();
            text.insert(begin, text.substr(begin, size));
            break;
        }
        default: {
            const auto [from, from_size] = word();
            const std::string piece = text.substr(from, from_size);
            const auto [begin, size] = word();
            text.replace(begin, size, piece);
            break;
        }
    }
    return text;
}

TEST(Hostile, RandomChanges) {
    std::mt19937 random(20240917);
    size_t broken = 0;
    const double start = cpu_seconds();
    for (const std::string_view name : {"calls.ptx", "debug.ptx", "lineinfo.ptx"}) {
        const std::string text = sample(name);
        for (int i = 0; i < 2000; ++i) {
            std::string changed = mutated(text, random);
            for (size_t more = random() % 4; more != 0 && !changed.empty(); --more)
                changed = mutated(std::move(changed), random);
            if (!checked_parse(changed).diagnostics.empty()) ++broken;
        }
    }
    const double elapsed = cpu_seconds() - start;
    EXPECT_GT(broken, 1000U);
    EXPECT_LT(elapsed, 60.0);
}

TEST(Hostile, RandomBytes) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string text(i % 2 == 0 ? header : "");
        for (size_t size = random() % 300; size != 0; --size) text += static_cast<char>(random());
        checked_parse(text);
    }
}

TEST(Hostile, DeepNesting) {
    const std::string_view openers[] = {
        "{",     "{{",         "mov {",   "mov a, (",   "mov a, -",     "mov a, !~",
        "mov [", "mov a|{",    "call (",  "mov a, 1?",  "mov a, 1?1:",  "mov (.s64)",
        "a: {",  "ld [a, {b|", "call ((", ".b32 x = {", "mov a, 1+2*(", ".callprototype (",
    };
    for (const std::string_view opener : openers) {
        for (const std::string_view context : {".entry k() {", ".global .b32 x = {", ""}) {
            const size_t space = opener.find_last_of(' ') + 1;
            const std::string text = std::string(header) + std::string(context) +
                                     std::string(opener) + repeated(opener.substr(space), 100000);
            EXPECT_FALSE(checked_parse(text).diagnostics.empty()) << opener;
        }
    }
    EXPECT_FALSE(errors_of(".global .b32 x = " + repeated("{", 100000)).empty());
    EXPECT_FALSE(errors_of(".entry k() { mov a" + repeated("|{b", 100000)).empty());
}

TEST(Hostile, NestingUpToTheLimitIsRead) {
    EXPECT_EQ(errors_of(".entry k() {" + repeated("{", 150) + repeated("}", 150) + "}"), "");
    EXPECT_EQ(errors_of(".global .b32 x = " + repeated("{", 150) + repeated("}", 150) + ";"), "");
    EXPECT_EQ(
        errors_of(".entry k() { mov a, " + repeated("(", 80) + "1" + repeated(")", 80) + "; }"),
        "");
    EXPECT_EQ(errors_of(".entry k() {" + repeated("{", 201) + repeated("}", 201) + "}"),
              "4:213: blocks are nested deeper than 200 levels\n");
    EXPECT_EQ(errors_of(".entry k() { mov a, " + repeated("-", 300) + "1; ret; }"),
              "4:219: nested deeper than 200 levels\n");
}

// The time for a text grows with its length, not with its square. At the length used a quadratic
// step would take minutes.
TEST(Hostile, LongTextsTakeLinearTime) {
    const struct {
        std::string_view before;
        std::string_view unit;
        std::string_view after;
    } cases[] = {
        {".entry k() {", "mov.b32 a, b;\n", "}"},
        {".entry k() {", "a;", "}"},
        {".entry k() {", "{}", "}"},
        {".entry k() {", "L:", "}"},
        {".entry k() {", ";", "}"},
        {".entry k() { mov ", "a,", "a; }"},
        {".entry k() { mov", ".a", "; }"},
        {".entry k() { mov a, ", "1+", "1; }"},
        {".entry k() { mov a, b", "+1", "; }"},
        {".entry k() { mov {", "a,", "b}; }"},
        {".entry k() { .reg .b32 ", "a,", "b; }"},
        {".global .b32 x = {", "1,", "1};"},
        {".global .b32 x", "[1]", ";"},
        {".global .attribute(", ".a,", ".b) .b32 x;"},
        {".func f(", ".param .b32 a,", ".param .b32 b);"},
        {".global .b32 ", "a", ";"},
        {".global .b32 x = ", "9", ";"},
        {".global .f64 x = 0.", "9", ";"},
        {"", "# line\n", ""},
        {"", "/**/", ""},
        {"", "/*\n", ""},
        {"/*", "/* *", "/"},
        {"", "\n", ""},
        {"", " ", ""},
        {"", "\t#", ""},
        {"", "\"", ""},
        {"", "}", ""},
        {"", "{", ""},
        {"", ".1", ""},
        {"", ".entry k(", ""},
        {"", ".entry k() {", ""},
        {"", ".section .d {", ""},
        {"", ".visible ", ""},
        {"", ".version 9.0 ", ""},
        {"", "@@dwarf", ""},
        {"", "@@", ""},
        {"", std::string_view("\0", 1), ""},
        {"", "\xFF", ""},
    };
    for (const auto& c : cases) {
        const std::string text = std::string(header) + std::string(c.before) +
                                 repeated(c.unit, 1000000 / c.unit.size()) + std::string(c.after);
        const double start = cpu_seconds();
        const Parsed parsed = parse(text);
        const double elapsed = cpu_seconds() - start;
        EXPECT_LT(elapsed, 5.0) << c.before << c.unit;
        EXPECT_LE(parsed.diagnostics.size(), max_diagnostics);
    }
}

TEST(Hostile, NulBytesDoNotEndTheText) {
    const std::string text = std::string(header) + std::string(".global .b32 x;\0 }", 18);
    EXPECT_EQ(messages(parse(text).diagnostics),
              "4:16: unexpected character '\\x00'\n4:18: unexpected '}' outside of functions\n");
}

// Pages that nobody touches.
TEST(Hostile, ATextLongerThanAGibibyteIsNotRead) {
    const size_t bytes = longest_text + 1;
    void* const at =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    const Parsed parsed = parse({static_cast<const char*>(at), bytes});
    EXPECT_EQ(munmap(at, bytes), 0);
    EXPECT_EQ(messages(parsed.diagnostics), "1:1: the text is longer than 1 GiB\n");
    ASSERT_EQ(parsed.diagnostics.size(), 1u);
    EXPECT_EQ(parsed.diagnostics[0].place.length, 1u);
    EXPECT_TRUE(parsed.module.items.empty());
}

}  // namespace
}  // namespace lockwarp::ptx
