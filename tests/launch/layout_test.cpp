// SPDX-License-Identifier: Apache-2.0
// Where buffers lie, what an engine is given of a launch file, and what checks are told of it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>

#include "emu/lockwarp.hpp"
#include "launch/described.hpp"
#include "launch/launch_file.hpp"
#include "tests/results.hpp"

namespace lockwarp::launch::layout_test {
namespace {

constexpr uint64_t first = 0x7000000000;
constexpr uint64_t megabyte = 1 << 20;

LaunchFile file_of(const std::string& fields, const std::string& path = "x.json") {
    LaunchFile f;
    EXPECT_EQ(take(parse_launch_file(
                       R"({"schema": "lockwarp-launch/1", "ptx": "k", )" + fields + "}", path),
                   f),
              "")
        << fields;
    return f;
}

LaunchFile buffers(const std::string& list) {
    return file_of(R"("grid": [1], "block": [1], "buffers": {)" + list + "}");
}

std::vector<uint64_t> addresses_of(const std::string& list) {
    Memory m;
    EXPECT_EQ(take(place_buffers(buffers(list)), m), "") << list;
    return m.addresses;
}

std::string sized(const std::string& name, uint64_t bytes, uint64_t address = 0) {
    return "\"" + name + "\": {\"bytes\": " + std::to_string(bytes) +
           (address == 0 ? "" : ", \"address\": " + std::to_string(address)) + "}";
}

// At multiples of a megabyte, at least one behind the end of the one before.
TEST(Placing, OneBehindAnother) {
    using Addresses = std::vector<uint64_t>;
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, megabyte - 1, megabyte, megabyte + 1}) {
        const uint64_t end = first + bytes;
        const uint64_t next = (end + megabyte + megabyte - 1) / megabyte * megabyte;
        EXPECT_EQ(addresses_of(sized("A", bytes) + ", " + sized("B", 8) + ", " + sized("C", 1)),
                  (Addresses{first, next, next + 2 * megabyte}))
            << bytes;
    }
    EXPECT_EQ(addresses_of(""), Addresses{});
    // By their names, not in the order of the file.
    const LaunchFile f = buffers(sized("b", 1) + ", " + sized("a", 2) + ", " + sized("B", 3));
    ASSERT_EQ(f.buffers.size(), 3u);
    EXPECT_EQ(f.buffers[0].name, "B");
    EXPECT_EQ(f.buffers[1].name, "a");
    EXPECT_EQ(f.buffers[2].name, "b");
    EXPECT_EQ(f.find_buffer("a"), &f.buffers[1]);
    EXPECT_EQ(f.find_buffer("c"), nullptr);
}

// The others keep a megabyte away from those that have an address.
TEST(Placing, AroundFixedAddresses) {
    const uint64_t bytes = 4096;
    for (uint64_t fixed = first - 3 * megabyte; fixed <= first + 4 * megabyte;
         fixed += megabyte / 4)
        for (const uint64_t size : {uint64_t{0}, uint64_t{256}, uint64_t{4096}, 2 * megabyte})
            for (const int shift : {-256, 0, 256}) {
                const uint64_t at = fixed + static_cast<uint64_t>(shift);
                const auto is = addresses_of(sized("A", bytes) + ", " + sized("B", bytes) + ", " +
                                             sized("F", size, at));
                ASSERT_EQ(is.size(), 3u);
                EXPECT_EQ(is[2], at);
                const auto apart = [&](uint64_t x, uint64_t y, uint64_t y_bytes) {
                    return x + bytes + megabyte <= y || y + y_bytes + megabyte <= x;
                };
                for (const uint64_t own : {is[0], is[1]}) {
                    EXPECT_TRUE(apart(own, at, size)) << std::hex << own << " " << at;
                    EXPECT_EQ(own % megabyte, 0u);
                    EXPECT_GE(own, first);
                    EXPECT_LE(own, first + 12 * megabyte);
                }
                EXPECT_TRUE(apart(is[0], is[1], bytes));
                if (apart(first, at, size)) {
                    EXPECT_EQ(is[0], first) << "nothing is in its way";
                }
            }
    EXPECT_EQ(addresses_of(sized("A", 0) + ", " + sized("F", 0, first + megabyte))[0], first);
    EXPECT_EQ(addresses_of(sized("A", 256) + ", " + sized("F", 1, first + megabyte + 256))[0],
              first);
    EXPECT_NE(addresses_of(sized("A", 257) + ", " + sized("F", 1, first + megabyte + 256))[0],
              first);
    EXPECT_EQ(addresses_of(sized("A", 1) + ", " + sized("F", 256, first - megabyte - 256))[0],
              first);
    EXPECT_NE(addresses_of(sized("A", 1) + ", " + sized("F", 257, first - megabyte - 256))[0],
              first);
}

TEST(Placing, FixedOnesMustNotOverlap) {
    const auto problem = [](const std::string& list) {
        Memory m;
        return take(place_buffers(buffers(list)), m);
    };
    EXPECT_EQ(problem(sized("A", 256, 4096) + ", " + sized("B", 256, 4352)), "");
    EXPECT_EQ(problem(sized("A", 256, 4352) + ", " + sized("B", 256, 4096)), "");
    for (const std::string& list : {sized("A", 257, 4096) + ", " + sized("B", 1, 4352),
                                    sized("A", 1, 4352) + ", " + sized("B", 257, 4096),
                                    sized("A", 1, 4096) + ", " + sized("B", 1, 4096)}) {
        const std::string why = problem(list);
        EXPECT_TRUE(why.starts_with("x.json:1:")) << why;
        EXPECT_TRUE(why.ends_with(": field 'buffers.B.address': it overlaps buffer 'A'")) << why;
    }
    const std::string third =
        problem(sized("A", 9, 4096) + ", " + sized("B", 9, 8192) + ", " + sized("C", 9, 8192));
    EXPECT_TRUE(third.ends_with("field 'buffers.C.address': it overlaps buffer 'B'")) << third;
    // A case is refused too: its addresses are asked of a driver.
    LaunchFile f = buffers(sized("A", 1, 4096) + ", " + sized("B", 1, 4096));
    ptx::Parsed parsed =
        ptx::parse(".version 7.0\n.target sm_80\n.address_size 64\n.entry k() {}\n");
    const isa::Program program = isa::resolve(parsed.module, isa::Arch::sm_80, "k").program;
    Case c;
    EXPECT_TRUE(take(make_case(f, parsed.module, program), c).ends_with("overlaps buffer 'A'"));
}

constexpr const char* kernels = R"(.version 7.8
.target sm_90
.address_size 64
.entry one(.param .u32 n, .param .u64 a, .param .align 8 .b8 s[24]) { ret; }
.entry two(.param .u8 c, .param .align 64 .b8 m[128]) { ret; }
)";

const std::string launches = R"("cooperative": true, "buffers": {
    "A": {"bytes": 4096, "pointers": {"8": {"buffer": "B", "offset": 3}, "16": "A"}},
    "B": {"bytes": 512, "init": {"fill": 7}, "address": "0x7100000000", "tensorMaps": {"128": "m"}}},
  "tensorMaps": {"m": {"tensorDataType": "FLOAT32", "tensorRank": 1, "boxDim": [8],
    "globalAddress": {"buffer": "A", "offset": 32}, "globalDim": [16]}},
  "launches": [
    {"entry": "one", "grid": [2, 3, 4], "block": [5, 6, 7], "dynamic_shared": 99,
     "args": [{"u32": 5}, {"buffer": "B", "offset": 9},
              {"bytes": "0102030405060708000000000000000000000000000000ff",
               "pointers": {"8": "A", "16": {"buffer": "B", "offset": 1}}}]},
    {"entry": "two", "grid": [8], "block": [9], "cluster": [4, 2, 1], "non_portable_cluster": true,
     "cooperative": false, "args": [{"u8": 3}, {"tensorMap": "m"}]}])";

uint64_t word(std::span<const uint8_t> bytes, size_t at) {
    uint64_t out = 0;
    if (at + 8 <= bytes.size()) std::memcpy(&out, bytes.data() + at, 8);
    return out;
}

std::array<uint32_t, 3> dims(const warp::Dim3& d) { return {d.x, d.y, d.z}; }

isa::Program program_of(const ptx::Module& module, const std::string& entry) {
    isa::Resolved r = isa::resolve(module, isa::Arch::sm_90, entry);
    EXPECT_TRUE(r.diagnostics.empty());
    return std::move(r.program);
}

isa::TensorMap map_at(std::span<const uint8_t> bytes, size_t at) {
    const std::span<const uint8_t, isa::tensor_map_bytes> span(bytes.data() + at,
                                                               isa::tensor_map_bytes);
    return isa::decode_tensor_map(span).value_or(isa::TensorMap{});
}

isa::TensorMap expected_map(uint64_t address) {
    isa::TensorMap m{.type = isa::TensorType::f32, .rank = 1, .address = address};
    m.dim[0] = 16;
    m.box[0] = 8;
    return m;
}

TEST(MakeLaunch, HasEverythingOfTheFile) {
    const LaunchFile f = file_of(launches);
    const ptx::Module module = ptx::parse(kernels).module;
    Memory memory;
    ASSERT_EQ(take(place_buffers(f), memory), "");
    const uint64_t a = memory.addresses[0], b = memory.addresses[1];
    EXPECT_EQ(b, 0x7100000000u);
    EXPECT_EQ(word(memory.bytes[0], 8), b + 3);
    EXPECT_EQ(word(memory.bytes[0], 16), a);
    EXPECT_EQ(word(memory.bytes[0], 0), 0u);
    EXPECT_EQ(word(memory.bytes[0], 24), 0u);
    EXPECT_EQ(map_at(memory.bytes[1], 128), expected_map(a + 32));
    EXPECT_EQ(memory.bytes[1][127], 7);
    EXPECT_EQ(memory.bytes[1][256], 7);

    warp::Launch l;
    ASSERT_EQ(take(make_launch(f, f.launches[0], program_of(module, "one"), memory), l), "");
    EXPECT_EQ(dims(l.grid), (std::array<uint32_t, 3>{2, 3, 4}));
    EXPECT_EQ(dims(l.block), (std::array<uint32_t, 3>{5, 6, 7}));
    EXPECT_EQ(l.dynamic_shared, 99u);
    EXPECT_FALSE(l.cluster || l.non_portable_cluster);
    EXPECT_TRUE(l.cooperative);
    ASSERT_EQ(l.buffers.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(l.buffers[i].name, f.buffers[i].name);
        EXPECT_EQ(l.buffers[i].address, memory.addresses[i]);
        EXPECT_EQ(l.buffers[i].bytes.data(), memory.bytes[i].data()) << "in place";
        EXPECT_EQ(l.buffers[i].bytes.size(), memory.bytes[i].size());
    }
    ASSERT_EQ(l.parameters.size(), 40u);
    EXPECT_EQ(word(l.parameters, 0), 5u);
    EXPECT_EQ(word(l.parameters, 8), b + 9);
    EXPECT_EQ(word(l.parameters, 16), 0x0807060504030201u);
    EXPECT_EQ(word(l.parameters, 24), a);
    EXPECT_EQ(word(l.parameters, 32), b + 1);

    warp::Launch second;
    ASSERT_EQ(take(make_launch(f, f.launches[1], program_of(module, "two"), memory), second), "");
    ASSERT_TRUE(second.cluster);
    EXPECT_EQ(dims(*second.cluster), (std::array<uint32_t, 3>{4, 2, 1}));
    EXPECT_TRUE(second.non_portable_cluster);
    EXPECT_FALSE(second.cooperative);
    EXPECT_EQ(second.dynamic_shared, 0u);
    ASSERT_EQ(second.parameters.size(), 192u);
    EXPECT_EQ(second.parameters[0], 3);
    EXPECT_EQ(map_at(second.parameters, 64), expected_map(a + 32));
}

TEST(MakeCase, HasEverythingOfTheFile) {
    const LaunchFile f = file_of(launches);
    ptx::Module module = ptx::parse(kernels).module;
    const isa::Program program = program_of(module, "two");
    Case c;
    ASSERT_EQ(take(make_case(f, f.launches[1], module, program, {{1, 2}, {3}}), c), "");
    EXPECT_EQ(c.entry, "two");
    EXPECT_FALSE(c.module.items.empty());
    EXPECT_TRUE(module.items.empty()) << "moved from";
    EXPECT_EQ(dims(c.grid), (std::array<uint32_t, 3>{8, 1, 1}));
    EXPECT_EQ(dims(c.block), (std::array<uint32_t, 3>{9, 1, 1}));
    EXPECT_EQ(c.dynamic_shared, 0u);
    ASSERT_TRUE(c.cluster);
    EXPECT_EQ(dims(*c.cluster), (std::array<uint32_t, 3>{4, 2, 1}));
    EXPECT_TRUE(c.non_portable_cluster);
    EXPECT_FALSE(c.cooperative);
    EXPECT_EQ(c.names, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(c.bytes, (std::vector<std::vector<uint8_t>>{{1, 2}, {3}}));
    EXPECT_EQ(c.fixed, (std::vector<uint64_t>{0, 0x7100000000}));
    ASSERT_EQ(c.maps.size(), 1u);
    EXPECT_EQ(c.maps[0].name, "m");
    EXPECT_EQ(c.maps[0].map, expected_map(0));
    EXPECT_EQ(c.maps[0].buffer, 0u);
    EXPECT_EQ(c.maps[0].offset, 32u);
    ASSERT_EQ(c.patches.size(), 1u);
    EXPECT_EQ(c.patches[0].at, 64u);
    EXPECT_EQ(c.patches[0].buffer, 0u);
    EXPECT_EQ(c.patches[0].offset, 32u);
    const auto patches = [](const std::vector<BufferPatch>& list) {
        std::vector<std::array<uint64_t, 4>> out;
        for (const BufferPatch& p : list) out.push_back({p.in, p.at, p.buffer, p.offset});
        return out;
    };
    using Four = std::array<uint64_t, 4>;
    EXPECT_EQ(patches(c.buffer_patches),
              (std::vector<Four>{Four{0, 8, 1, 3}, Four{0, 16, 0, 0}, Four{1, 128, 0, 32}}));
    std::vector<std::vector<uint8_t>> bytes{std::vector<uint8_t>(24), std::vector<uint8_t>(136)};
    patch_buffers(c.buffer_patches, {0x1000, 0x2000}, bytes);
    EXPECT_EQ(word(bytes[0], 8), 0x2003u);
    EXPECT_EQ(word(bytes[0], 16), 0x1000u);
    EXPECT_EQ(word(bytes[1], 128), 0x1020u);

    module = ptx::parse(kernels).module;
    const isa::Program one = program_of(module, "one");
    Case whole;
    ASSERT_EQ(take(make_case(f, module, one), whole), "");
    EXPECT_EQ(dims(whole.block), (std::array<uint32_t, 3>{5, 6, 7}));
    EXPECT_EQ(whole.dynamic_shared, 99u);
    EXPECT_FALSE(whole.cluster || whole.non_portable_cluster);
    EXPECT_TRUE(whole.cooperative);
    ASSERT_EQ(whole.patches.size(), 3u);
    EXPECT_EQ(whole.patches[1].at, 24u);
    EXPECT_EQ(whole.patches[2].at, 32u);
    EXPECT_EQ(whole.patches[2].buffer, 1u);
    EXPECT_EQ(whole.patches[2].offset, 1u);
    EXPECT_EQ(whole.parameters.size(), 40u);
    ASSERT_EQ(whole.bytes.size(), 2u);
    EXPECT_EQ(whole.bytes[1].size(), 512u);
    EXPECT_EQ(whole.bytes[1][5], 7);
}

TEST(MakeLaunch, SaysWhichArgumentDoesNotFit) {
    const ptx::Module module = ptx::parse(kernels).module;
    const isa::Program one = program_of(module, "one");
    const auto problem = [&](const std::string& args) {
        const LaunchFile f = file_of(R"("grid": [1], "block": [1], "buffers": {"A": {"bytes": 8}},
            "launches": [{}, {"args": [)" +
                                     args + "]}]");
        Memory memory;
        EXPECT_EQ(take(place_buffers(f), memory), "");
        warp::Launch l;
        const std::string why = take(make_launch(f, f.launches[1], one, memory), l);
        ptx::Module copy = module;
        Case c;
        EXPECT_EQ(take(make_case(f, f.launches[1], copy, one, {}), c), why);
        const size_t field = why.find("field ");
        return field == std::string::npos ? why : why.substr(field);
    };
    EXPECT_EQ(problem(""),
              "field 'launches[1].args': 0 given, the kernel one has 3; missing: n (4 "
              "bytes), a (8 bytes), s (24 bytes)");
    EXPECT_EQ(problem(R"({"u32": 1}, {"u64": 1}, {"u64": [1, 2, 3]}, {"u32": 4})"),
              "field 'launches[1].args': 4 given, the kernel one has 3");
    EXPECT_EQ(problem(R"({"u32": 1}, {"u32": 1}, {"u64": [1, 2, 3]})"),
              "field 'launches[1].args[1]': u32 has 4 bytes, parameter 'a' (.u64) has 8");
    EXPECT_EQ(problem(R"({"u32": 1}, {"u64": 1}, {"struct": [{"u64": [1, 2, 3]}, {"u8": 1}]})"),
              "field 'launches[1].args[2]': struct has 32 bytes, parameter 's' (.b8) has 24");
    EXPECT_EQ(problem(R"({"u32": 1}, {"u64": 1}, {"u64": [1, 2, 3]})"), "");
}

TEST(Described, ElementsOfBuffers) {
    struct Row {
        const char *buffer, *expect;
        uint64_t address;  // of the first element, behind the buffer's begin; 1: none
        uint32_t bytes;
        std::vector<uint64_t> sizes;
        uint64_t stride;
    };
    const Row rows[] = {
        {R"("bytes": 64)", "", 1, 0, {}, 0},
        {R"("bytes": 64, "type": "f32")", "", 0, 4, {16}, 16},
        {R"("bytes": 66, "type": "f32")", "", 0, 4, {16}, 16},
        {R"("bytes": 3, "type": "f32")", "", 1, 0, {}, 0},
        {R"("type": "f16", "shape": [2, 3])", "", 0, 2, {2, 3}, 3},
        {R"("type": "f16", "shape": [2, 3], "stride": 9)", "", 0, 2, {2, 3}, 9},
        {R"("bytes": 64, "init": {"values": {"u16": [1]}})", "", 0, 2, {32}, 32},
        {R"("bytes": 64, "init": {"sequence": {"type": "f64"}})", "", 0, 8, {8}, 8},
        {R"("bytes": 64)", R"({"buffer": "b", "is": "zeros"})", 1, 0, {}, 0},
        {R"("bytes": 64)",
         R"({"buffer": "b", "is": "zeros", "type": "u16", "offset": 10})",
         10,
         2,
         {27},
         27},
        {R"("bytes": 64)",
         R"({"buffer": "b", "is": "zeros", "type": "u16", "offset": 62})",
         62,
         2,
         {1},
         1},
        {R"("bytes": 64)",
         R"({"buffer": "b", "is": "zeros", "type": "u16", "offset": 64})",
         1,
         0,
         {},
         0},
        {R"("bytes": 64)",
         R"({"buffer": "b", "is": "zeros", "type": "u16", "offset": 100})",
         1,
         0,
         {},
         0},
        {R"("bytes": 64, "type": "f32")",
         R"({"buffer": "b", "is": "zeros", "type": "u16", "offset": 10})",
         0,
         4,
         {16},
         16},
        {R"("bytes": 64)", R"({"buffer": "A", "is": "zeros", "type": "u16"})", 1, 0, {}, 0},
        {R"("bytes": 64, "type": "u8", "shape": [64])",
         R"({"product": "b = A*A", "shape": [2, 3, 4], "types": {"A": "f16", "D": "f32"}})",
         0,
         1,
         {64},
         64},
        {R"("bytes": 64)",
         R"({"product": "b = A*A", "shape": [2, 3, 4], "types": {"A": "f16", "D": "f32"}})",
         0,
         4,
         {2, 3},
         3},
        {R"("bytes": 64)",
         R"({"product": "A = b*A", "shape": [2, 3, 4], "types": {"A": "f16", "D": "f32"}})",
         0,
         2,
         {2, 4},
         4},
        {R"("bytes": 64)",
         R"({"product": "A = b'*A", "shape": [2, 3, 4], "types": {"A": "f16", "D": "f32"}})",
         0,
         2,
         {4, 2},
         2},
        {R"("bytes": 64)",
         R"({"product": "A = A*b", "shape": [2, 3, 4], "types": {"A": "f16", "B": "s8", "D": "f32"}})",
         0,
         1,
         {4, 3},
         3},
        {R"("bytes": 64)",
         R"({"product": "A = A*b'", "shape": [2, 3, 4], "types": {"A": "f16", "B": "s8", "D": "f32"}})",
         0,
         1,
         {3, 4},
         4},
        {R"("bytes": 64)",
         R"({"product": "A = A*A + b", "shape": [2, 3, 4], "types": {"A": "f16", "C": "f64", "D": "f32"}})",
         0,
         8,
         {2, 3},
         3},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(std::string(row.buffer) + row.expect);
        const LaunchFile f = file_of(std::string(R"("grid": [1], "block": [1],
            "buffers": {"A": {"bytes": 64}, "b": {)") +
                                     row.buffer + R"(}}, "expect": [)" + row.expect + "]");
        const check::Described d = described(f, {{}, {0x10000, 0x20000}});
        EXPECT_TRUE(d.undefined.empty());
        std::vector<check::Shape> own;
        for (const check::Shape& s : d.shapes)
            if (s.address >= 0x20000) own.push_back(s);
        ASSERT_EQ(own.size(), row.address == 1 ? 0u : 1u);
        if (own.empty()) continue;
        EXPECT_EQ(own[0].address, 0x20000 + row.address);
        EXPECT_EQ(own[0].bytes, row.bytes);
        EXPECT_EQ(own[0].sizes, row.sizes);
        EXPECT_EQ(own[0].stride, row.stride);
    }
    const LaunchFile f = buffers(R"("A": {"bytes": 3}, "B": {"bytes": 5, "init": "undefined"})");
    const check::Described d = described(f, {{}, {0x10000, 0x20000}});
    ASSERT_EQ(d.undefined.size(), 1u);
    EXPECT_EQ(d.undefined[0].address, 0x20000u);
    EXPECT_EQ(d.undefined[0].bytes, 5u);
}

// Files of a folder: what buffers begin with, and why they cannot.
TEST(InitFiles, AreReadBesideTheLaunchFile) {
    const std::string folder = testing::TempDir();
    std::ofstream(folder + "four.bin", std::ios::binary) << "abcd";
    std::ofstream(folder + "none.bin", std::ios::binary);
    const auto begun = [&](const std::string& init) {
        const LaunchFile f = file_of(R"("grid": [1], "block": [1], "buffers": {"A": )" + init + "}",
                                     folder + "x.json");
        std::vector<uint8_t> out;
        const std::string why = take(initial_bytes(f, f.buffers[0]), out);
        const size_t field = why.find("field ");
        return why.empty()                  ? std::string(out.begin(), out.end())
               : field == std::string::npos ? why
                                            : why.substr(field);
    };
    const std::string file = "field 'buffers.A.init.file': ";
    EXPECT_EQ(begun(R"({"bytes": 4, "init": {"file": "four.bin"}})"), "abcd");
    EXPECT_EQ(begun(R"({"bytes": 4, "init": {"file": ")" + folder + R"(four.bin"}})"), "abcd");
    EXPECT_EQ(begun(R"({"bytes": 5, "init": {"file": "four.bin"}})"),
              file + "four.bin has 4 bytes, the buffer 5");
    EXPECT_EQ(begun(R"({"bytes": 3, "init": {"file": "four.bin"}})"),
              file + "four.bin has 4 bytes, the buffer 3");
    EXPECT_EQ(begun(R"({"bytes": 0, "init": {"file": "none.bin"}})"), "");
    const std::string zero(1, '\0');
    EXPECT_EQ(begun(R"({"bytes": 10, "init": {"files": {"5": "four.bin", "1": "four.bin"}}})"),
              zero + "abcdabcd" + zero);
    EXPECT_EQ(begun(R"({"bytes": 4, "init": {"files": {"0": "four.bin", "4": "none.bin"}}})"),
              "abcd");
    const std::string files = "field 'buffers.A.init.files.";
    EXPECT_EQ(begun(R"({"bytes": 10, "init": {"files": {"4": "four.bin", "1": "four.bin"}}})"),
              files + "4': it overlaps the file before it");
    EXPECT_EQ(begun(R"({"bytes": 10, "init": {"files": {"7": "four.bin"}}})"),
              files + "7': four.bin has 4 bytes and ends behind byte 10");
    EXPECT_EQ(begun(R"({"bytes": 10, "init": {"files": {"11": "none.bin"}}})"),
              files + "11': none.bin has 0 bytes and ends behind byte 10");
    EXPECT_EQ(begun(R"({"bytes": 4, "init": {"files": {"0": "not.bin"}}})"),
              files + "0': " + folder + "not.bin: No such file or directory");
    EXPECT_EQ(begun(R"({"bytes": 6, "init": {"sequence": {"type": "u32"}}})"),
              "field 'buffers.A.bytes': 6 is not a multiple of 4, the bytes of u32");
    const LaunchFile f = buffers(sized("A", uint64_t{1} << 44));
    Memory m;
    EXPECT_EQ(take(place_buffers(f), m),
              "x.json: the buffers have 17592186044416 bytes, more than "
              "this machine");
}

}  // namespace
}  // namespace lockwarp::launch::layout_test
