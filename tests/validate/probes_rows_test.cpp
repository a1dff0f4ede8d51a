// SPDX-License-Identifier: Apache-2.0
// How a row of a machine's clocks is measured, what is written of it and what rows say: beside an
// engine that is made up here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/results.hpp"
#include "validate/probes.hpp"

namespace {

using namespace lockwarp;
using gpu::Outcome;
using validate::ProbeMemory;
using validate::Probes;

// Gives these cycles by run and warp; says what it was asked.
class Clock : public gpu::Engine {
  public:
    std::vector<std::vector<uint64_t>> runs;
    gpu::Ran ends{};
    uint64_t room = UINT64_MAX;
    bool clears = true, reads = true;
    std::string said;
    gpu::Job job;

    const gpu::Device& device() const override { return device_; }
    uint64_t allocate(uint64_t bytes) override {
        said += "allocate " + std::to_string(bytes) + "\n";
        return bytes > room ? 0 : next_ += 0x1000;
    }
    void release(uint64_t address) override { said += "release " + std::to_string(address) + "\n"; }
    launch::Result<void> write(uint64_t, std::span<const uint8_t>) override { return {}; }
    launch::Result<void> clear(uint64_t address, uint64_t bytes) override {
        said += "clear " + std::to_string(address) + " " + std::to_string(bytes) + "\n";
        if (!clears) return launch::failure("not cleared");
        return {};
    }
    launch::Result<void> read(uint64_t address, std::span<uint8_t> bytes) override {
        said += "read " + std::to_string(address) + " " + std::to_string(bytes.size()) + "\n";
        if (!reads) return launch::failure("not read");
        std::memcpy(bytes.data(), runs.at(ran_ - 1).data(), bytes.size());
        return {};
    }
    gpu::Ran run(const gpu::Job& j) override {
        said += "run\n";
        job = j;
        text_ = j.ptx;
        entry_ = j.entry;
        job.ptx = text_;
        job.entry = entry_;
        ++ran_;
        return ends;
    }

  private:
    gpu::Device device_;
    uint64_t next_ = 0;
    size_t ran_ = 0;
    std::string text_, entry_;
};

programs::Probe probe(uint64_t bytes, uint64_t instructions) {
    programs::Probe p;
    p.key = "key";
    p.ptx = "text";
    p.entry = "entry";
    p.bytes = bytes;
    p.instructions = static_cast<decltype(p.instructions)>(instructions);
    return p;
}

// Of the slowest warp, in the fastest run.
TEST(ProbeRows, AreTheSlowestWarpsOfTheFastestRun) {
    Clock engine;
    engine.runs = {{90, 100, 95}, {70, 80, 60}, {1, 2, 81}};
    ProbeMemory memory;
    double cycles = 0;
    ASSERT_EQ(take(validate::measure(engine, probe(500, 16), 3, 3, 2, memory), cycles), "");
    EXPECT_EQ(cycles, 80.0 / 16);
    EXPECT_EQ(engine.said,
              "allocate 500\n"
              "clear 4096 500\nrun\nread 4096 24\n"
              "clear 4096 500\nrun\nread 4096 24\n"
              "clear 4096 500\nrun\nread 4096 24\n");
    EXPECT_EQ(engine.job.ptx, "text");
    EXPECT_EQ(engine.job.entry, "entry");
    EXPECT_EQ(engine.job.block.x, 96u);
    EXPECT_EQ(engine.job.block.count(), 96u);
    EXPECT_EQ(engine.job.grid.count(), 1u);
    EXPECT_EQ(engine.job.optimization, 2u);
    EXPECT_EQ(engine.job.parameters, (std::vector<uint8_t>{0, 16, 0, 0, 0, 0, 0, 0}));
    // The memory serves the next one, unless that needs more.
    engine.runs.assign(10, {7});
    engine.said.clear();
    ASSERT_EQ(take(validate::measure(engine, probe(500, 2), 1, 1, 4, memory), cycles), "");
    EXPECT_EQ(cycles, 3.5);
    EXPECT_EQ(engine.said, "clear 4096 500\nrun\nread 4096 8\n");
    engine.said.clear();
    ASSERT_EQ(take(validate::measure(engine, probe(501, 2), 1, 1, 4, memory), cycles), "");
    EXPECT_EQ(engine.said, "release 4096\nallocate 501\nclear 8192 501\nrun\nread 8192 8\n");
    EXPECT_EQ(memory.address, 8192u);
    EXPECT_EQ(memory.bytes, 501u);
}

TEST(ProbeRows, WhatTheEngineRefuses) {
    double cycles = 0;
    const auto said = [&](auto change, ProbeMemory& memory, Clock& engine) {
        engine.runs = {{5}};
        change(engine);
        return take(validate::measure(engine, probe(64, 1), 1, 1, 4, memory), cycles);
    };
    {
        Clock engine;
        ProbeMemory memory;
        EXPECT_EQ(said([](Clock& e) { e.room = 63; }, memory, engine), "no memory for 64 bytes");
        EXPECT_EQ(memory.bytes, 0u);
        EXPECT_EQ(engine.said, "allocate 64\n");
    }
    {
        Clock engine;
        ProbeMemory memory;
        EXPECT_EQ(said([](Clock& e) { e.clears = false; }, memory, engine), "not cleared");
    }
    {
        Clock engine;
        ProbeMemory memory;
        EXPECT_EQ(said([](Clock& e) { e.reads = false; }, memory, engine), "not read");
    }
    {
        Clock engine;
        ProbeMemory memory;
        const auto refuses = [](Clock& e) { e.ends = {Outcome::refused, "not so"}; };
        EXPECT_EQ(said(refuses, memory, engine), "not so");
        EXPECT_EQ(memory.bytes, 64u);  // it is still there
        EXPECT_EQ(engine.said, "allocate 64\nclear 4096 64\nrun\n");
    }
    for (const Outcome outcome : {Outcome::faulted, Outcome::hung, Outcome::uncompiled})
        for (const char* what : {"it was lost", ""}) {
            Clock engine;
            ProbeMemory memory;
            EXPECT_EQ(said(
                          [&](Clock& e) {
                              e.ends = {outcome, what};
                          },
                          memory, engine),
                      what[0] == 0 ? "the kernel did not end" : what);
            EXPECT_EQ(memory.bytes, 0u);
            EXPECT_EQ(memory.address, 0u);
            EXPECT_EQ(engine.said, "allocate 64\nclear 4096 64\nrun\nrelease 4096\n");
        }
}

Probes example() {
    Probes p;
    p.version = "0.1.0";
    p.date = "2026-11-21";
    p.device = {"GPU", "580.1", 90, 1980, 1000};
    p.rows["a chains1"] = {{1, 25.1026}, {16, 2}};
    p.rows["b"] = {};
    return p;
}

TEST(ProbeRows, TheFileWhole) {
    EXPECT_EQ(validate::probes_json(example()),
              "{\n"
              " \"schema\": \"lockwarp-probes/1\",\n"
              " \"version\": \"0.1.0\",\n"
              " \"date\": \"2026-11-21\",\n"
              " \"device\": {\n"
              "  \"name\": \"GPU\",\n"
              "  \"driver\": \"580.1\",\n"
              "  \"number\": 90,\n"
              "  \"clock_mhz\": 1980,\n"
              "  \"memory\": 1000\n"
              " },\n"
              " \"rows\": {\n"
              "  \"a chains1\": {\n"
              "   \"1\": 25.103,\n"
              "   \"16\": 2.0\n"
              "  },\n"
              "  \"b\": {}\n"
              " }\n"
              "}\n");
}

TEST(ProbeRows, EachRefusal) {
    const std::string text = validate::probes_json(example());
    const std::string rows = "field 'rows': an object is expected";
    const std::string device =
        "field 'device': name, driver, number, clock_mhz and memory are expected";
    const std::string warps = "row 'a chains1': a number of warps from 1 to 32 is expected";
    const std::string cycles = "row 'a chains1': a number of cycles is expected";
    const std::string no_json = "it is not JSON of this schema";
    const auto said = [](const std::string& json) {
        Probes p;
        return take(validate::read_probes(json), p);
    };
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        const size_t at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return said(changed.replace(at, from.size(), to));
    };
    EXPECT_EQ(said(text), "");
    EXPECT_EQ(with("lockwarp-probes/1", "lockwarp-probes/2"),
              "its schema is not lockwarp-probes/1");
    EXPECT_EQ(with("\"lockwarp-probes/1\"", "1"), "its schema is not lockwarp-probes/1");
    EXPECT_EQ(with("\"version\"", "\"x\""), "field 'version': a text is expected");
    EXPECT_EQ(with("\"0.1.0\"", "3"), "field 'version': a text is expected");
    EXPECT_EQ(with("\"date\"", "\"x\""), "field 'date': a text is expected");
    for (const char* key : {"name", "driver", "number", "clock_mhz", "memory", "device"})
        EXPECT_EQ(with("\"" + std::string(key) + "\"", "\"x\""), device) << key;
    EXPECT_EQ(with("\"GPU\"", "7"), device);
    EXPECT_EQ(with("90", "\"90\""), device);
    EXPECT_EQ(with("90", "-90"), device);
    EXPECT_EQ(with("90", "4294967295"), "");
    EXPECT_EQ(with("90", "4294967296"), device);
    EXPECT_EQ(with("1980", "1980.5"), device);
    EXPECT_EQ(with("1000", "18446744073709551615"), "");
    EXPECT_EQ(with("\"rows\"", "\"x\""), rows);
    EXPECT_EQ(with("{}", "[]"), "row 'b': an object is expected");
    EXPECT_EQ(with("\"16\"", "\"32\""), "");
    EXPECT_EQ(with("\"16\"", "\"33\""), warps);
    EXPECT_EQ(with("\"16\"", "\"0\""), warps);
    EXPECT_EQ(with("\"16\"", "\"016\""), warps);
    EXPECT_EQ(with("\"16\"", "\"16 \""), warps);
    EXPECT_EQ(with("\"16\"", "\"\""), warps);
    EXPECT_EQ(with("\"16\"", "\"-1\""), warps);
    EXPECT_EQ(with("2.0", "0"), "");
    EXPECT_EQ(with("2.0", "-0.5"), cycles);
    EXPECT_EQ(with("2.0", "true"), cycles);
    EXPECT_EQ(with("\"b\"", "\"\""), "a row's key is empty or too long");
    EXPECT_EQ(with("\"b\"", "\"" + std::string(4096, 'b') + "\""), "");
    EXPECT_EQ(with("\"b\"", "\"" + std::string(4097, 'b') + "\""),
              "a row's key is empty or too long");
    EXPECT_EQ(with("{}", "3").find("row 'b'"), 0u);
    // A long key is cut in what is said of it.
    EXPECT_EQ(with("\"b\": {}", "\"" + std::string(101, 'b') + "\": 1"),
              "row '" + std::string(100, 'b') + "': an object is expected");
    EXPECT_EQ(with("\"GPU\"", "\"" + std::string(4096, 'G') + "\""), "");
    EXPECT_EQ(with("\"GPU\"", "\"" + std::string(4097, 'G') + "\""), device);
    // As deep as 64, and deeper.
    const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
    EXPECT_EQ(with("\"version\"", "\"more\": " + nested(63) + ", \"version\""), "");
    EXPECT_EQ(with("\"version\"", "\"more\": " + nested(64) + ", \"version\""), no_json);
    EXPECT_EQ(with("\"version\"", "\"more\": [" + nested(40) + "," + nested(62) + "], \"version\""),
              "");
    for (const char* other : {"", "1", "[]", "{", "{}x", "null"}) EXPECT_EQ(said(other), no_json);
    EXPECT_EQ(said("{}"), "its schema is not lockwarp-probes/1");
    EXPECT_EQ(said(std::string((1 << 25) + 1, ' ')), "the file is too large");
    EXPECT_EQ(said(std::string(1 << 25, ' ')), no_json);
}

TEST(ProbeRows, LatencyAndIntervalOfEachKindOfRow) {
    const auto of = [](const std::string& key, const validate::ProbeRow& row) {
        Probes p;
        p.rows[key] = row;
        const auto all = validate::summarize(p);
        EXPECT_EQ(all.size(), 1u);
        const auto& [name, s] = *all.begin();
        return name + " " + std::to_string(s.latency) + " " + std::to_string(s.interval);
    };
    const std::string none = "-1.000000";
    // One warp of one chain waits for itself.
    EXPECT_EQ(of("x chains1", {{1, 20}}), "x 20.000000 " + none);
    EXPECT_EQ(of("x chains2", {{1, 20}}), "x " + none + " " + none);
    EXPECT_EQ(of("x chains11", {{1, 20}}), "x " + none + " " + none);
    EXPECT_EQ(of("x y chains1", {{1, 20}}), "x y 20.000000 " + none);
    EXPECT_EQ(of("x latency", {{1, 20}, {8, 40}}), "x 20.000000 " + none);
    EXPECT_EQ(of("x throughput", {{1, 20}, {4, 8}}), "x " + none + " 8.000000");
    EXPECT_EQ(of("x y", {{1, 20}}), "x y 20.000000 " + none);
    // Of 8 warps and more two or more share a sub-core; of 4 each has its own.
    EXPECT_EQ(of("x throughput", {{4, 8}, {8, 18}}), "x " + none + " 9.000000");
    EXPECT_EQ(of("x throughput", {{4, 8}, {7, 3}}), "x " + none + " 3.000000");
    EXPECT_EQ(of("x throughput", {{3, 1}, {4, 8}}), "x " + none + " 8.000000");
    EXPECT_EQ(of("x throughput", {{8, 18}, {16, 40}, {32, 64}}), "x " + none + " 8.000000");
    EXPECT_EQ(of("x throughput", {{8, 18}, {16, 32}, {32, 80}}), "x " + none + " 8.000000");
    EXPECT_EQ(of("x throughput", {{7, 1}, {8, 18}}), "x " + none + " 9.000000");
    EXPECT_EQ(of("x throughput", {{8, 0}}), "x " + none + " 0.000000");
    EXPECT_EQ(of("x throughput", {}), "x " + none + " " + none);
    // Rows of one instruction are put together: the least interval of all.
    Probes p;
    p.rows["x chains1"] = {{1, 20}, {8, 10}};
    p.rows["x chains4"] = {{1, 5}, {8, 6}};
    p.rows["x throughput"] = {{8, 8}};
    const auto all = validate::summarize(p);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.at("x").latency, 20);
    EXPECT_EQ(all.at("x").interval, 3);
}

}  // namespace
