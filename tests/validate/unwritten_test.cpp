// SPDX-License-Identifier: Apache-2.0
// What a kernel reads though nothing wrote it: by the program alone, and as instructions retire.
#include "validate/unwritten.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "validate/treatment.hpp"

namespace lockwarp::unwritten_test {
namespace {

using validate::MayBeUnwritten;
using Names = std::set<std::string>;
using Results = std::array<uint32_t, 32>;

isa::Program program_of(const std::string& text) {
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message << "\n" << text;
    isa::Resolved resolved = isa::resolve(parsed.module, isa::Arch::sm_90, "k");
    EXPECT_TRUE(resolved.diagnostics.empty())
        << resolved.diagnostics[0].place.line << ": " << resolved.diagnostics[0].message << "\n"
        << text;
    return std::move(resolved.program);
}

std::string kernel(const std::string& body, const std::string& outside = "") {
    return ".version 8.3\n.target sm_90\n.address_size 64\n" + outside +
           ".visible .entry k(.param .u64 out)\n{\n"
           ".reg .b64 %rd<8>; .reg .b32 %r<90>; .reg .pred %p<4>; .reg .b128 %q<4>;\n" +
           body + "ret;\n}\n";
}

// The registers that some path reads first, and the lines ending in //* that read one of them.
void expect_unwritten(const std::string& text, const Names& expected, uint64_t shared = 0) {
    const isa::Program program = program_of(text);
    const MayBeUnwritten may = validate::may_be_unwritten(program, shared);
    Names names;
    std::set<uint32_t> places;
    for (size_t i = 0; i < may.place.size(); ++i) {
        if (may.place[i] == MayBeUnwritten::none) continue;
        names.insert(program.registers[i].name);
        EXPECT_LT(may.place[i], may.registers);
        EXPECT_TRUE(places.insert(may.place[i]).second) << "two have one place";
    }
    EXPECT_EQ(names, expected) << text;
    EXPECT_EQ(places.size(), may.registers);
    std::vector<std::string> lines{""};
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    for (size_t i = 0; i < may.reads.size(); ++i) {
        const std::string& line = lines.at(program.operations[i].place.line);
        EXPECT_EQ(may.reads[i], line.ends_with("//*")) << line << "\n" << text;
    }
}

TEST(Unwritten, RegistersThatAreReadFirst) {
    expect_unwritten(kernel("mov.u32 %r1, 1;\n"
                            "add.u32 %r2, %r1, 1;\n"
                            "add.u32 %r3, %r4, %r2; //*\n"
                            "mov.u32 %r4, 2;\n"
                            "add.u32 %r5, %r4, 1; //*\n"
                            "add.u32 %r3, %r3, 1;\n"
                            "add.u32 %r6, %r6, 1; //*\n"
                            "st.global.u32 [%rd1], %r7;\n"),
                     {"%r4", "%r6", "%r7", "%rd1"});
    expect_unwritten(kernel("mov.u32 %r1, 1;\nadd.u32 %r1, %r1, 1;\n"), {});
}

// A write under a guard may not happen.
TEST(Unwritten, WritesUnderAGuard) {
    expect_unwritten(kernel("mov.u32 %r1, %tid.x;\n"
                            "setp.eq.u32 %p1, %r1, 3;\n"
                            "@%p1 mov.u32 %r2, 1;\n"
                            "add.u32 %r3, %r2, 1; //*\n"
                            "@%p1 mov.u32 %r4, 1;\n"
                            "@!%p1 mov.u32 %r4, 1;\n"
                            "mov.u32 %r4, 2;\n"
                            "add.u32 %r5, %r4, 1;\n"),
                     {"%r2"});
}

TEST(Unwritten, OnPaths) {
    const std::string begin = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 3;\n";
    // Both sides write r2, one r3.
    expect_unwritten(kernel(begin + "@%p1 bra ELSE;\n"
                                    "mov.u32 %r2, 1;\nmov.u32 %r3, 1;\n"
                                    "bra JOIN;\n"
                                    "ELSE:\n"
                                    "mov.u32 %r2, 2;\n"
                                    "JOIN:\n"
                                    "add.u32 %r4, %r2, 1;\n"
                                    "add.u32 %r5, %r3, 1; //*\n"),
                     {"%r3"});
    // The second round has what the first wrote; r6 is read in the first.
    expect_unwritten(kernel(begin + "mov.u32 %r5, 0;\n"
                                    "L:\n"
                                    "add.u32 %r7, %r6, 1; //*\n"
                                    "mov.u32 %r6, 1;\n"
                                    "mov.u32 %r2, 1;\n"
                                    "add.u32 %r5, %r5, %r2;\n"
                                    "setp.lt.u32 %p1, %r5, 3;\n"
                                    "@%p1 bra L;\n"
                                    "add.u32 %r3, %r2, 1;\n"),
                     {"%r6"});
    // Lanes that leave do not come to what follows; those whose guard is false do.
    expect_unwritten(kernel(begin + "@%p1 bra WRITES;\n"
                                    "exit;\n"
                                    "WRITES:\nmov.u32 %r2, 1;\n"
                                    "add.u32 %r3, %r2, 1;\n"),
                     {});
    expect_unwritten(kernel(begin + "@%p1 bra WRITES;\n"
                                    "bra READS;\n"
                                    "WRITES:\nmov.u32 %r2, 1;\n"
                                    "@%p1 exit;\n"
                                    "READS:\nadd.u32 %r3, %r2, 1; //*\n"),
                     {"%r2"});
    expect_unwritten(kernel(begin + "@%p1 bra SKIPS;\n"
                                    "mov.u32 %r2, 1;\n"
                                    "SKIPS:\n"
                                    "@%p1 exit;\n"
                                    "add.u32 %r3, %r2, 1; //*\n"),
                     {"%r2"});
    // By a table of branches: one of its targets does not write r2.
    for (const bool writes : {false, true})
        expect_unwritten(kernel(begin +
                                "mov.u32 %r9, 1;\n"
                                "table: .branchtargets A, B, C;\n"
                                "brx.idx %r9, table;\n"
                                "A:\nmov.u32 %r2, 1;\nbra JOIN;\n"
                                "B:\nmov.u32 %r2, 1;\nbra JOIN;\n"
                                "C:\nmov.u32 %r" +
                                (writes ? "2" : "8") +
                                ", 1;\n"
                                "JOIN:\nadd.u32 %r3, %r2, 1;" +
                                (writes ? "\n" : " //*\n")),
                         writes ? Names{} : Names{"%r2"});
}

// More registers than a word of a set has bits.
TEST(Unwritten, OfManyRegisters) {
    for (const int unwritten : {0, 1, 31, 32, 62, 63, 64, 65, 79}) {
        std::string body;
        for (int i = 0; i < 80; ++i)
            if (i != unwritten) body += "mov.u32 %r" + std::to_string(i) + ", 1;\n";
        for (int i = 0; i < 80; ++i)
            body += "add.u32 %r80, %r" + std::to_string(i) + ", 1;" +
                    (i == unwritten ? " //*\n" : "\n");
        expect_unwritten(kernel(body), {"%r" + std::to_string(unwritten)});
    }
}

TEST(Unwritten, OfFunctions) {
    const std::string function =
        ".func (.reg .b32 %z) f(.reg .b32 %x)\n{\n.reg .b32 %s<4>;\n"
        "add.u32 %s1, %x, 1;\n"
        "add.u32 %s2, %s3, 1; //*\n"
        "mov.u32 %z, %s1;\nret;\n}\n";
    expect_unwritten(kernel("mov.u32 %r1, 1;\ncall (%r2), f, (%r1);\nadd.u32 %r3, %r2, 1;\n"
                            "add.u32 %r4, %r5, 1; //*\n",
                            function),
                     {"%s3", "%r5"});
}

TEST(Unwritten, InstructionsThatReadMemory) {
    const std::string body =
        "ld.param.u64 %rd1, [out];\n"
        "mov.u32 %r1, 2048;\n"
        "ld.shared.u32 %r2, [%r1]; //*\n"
        "ld.u32 %r2, [%rd1]; //*\n"
        "ld.global.u32 %r2, [%rd1]; //*\n"
        "atom.shared.add.u32 %r2, [%r1], 1; //*\n"
        "red.shared.add.u32 [%r1], 1;\n"
        "st.shared.u32 [%r1], %r2;\n"
        "add.u32 %r3, %r2, 1;\n";
    std::string unmarked = body;
    for (size_t at; (at = unmarked.find(" //*")) != std::string::npos;) unmarked.erase(at, 4);
    // ld.param reads no shared memory, and is an instruction that reads memory all the same.
    std::string marked = body;
    marked.insert(marked.find('\n'), " //*");
    expect_unwritten(kernel(".shared .align 8 .b8 tile[64];\n" + marked), {}, 0);
    expect_unwritten(kernel(marked), {}, 1);
    expect_unwritten(kernel(unmarked), {}, 0);
}

// One event of a warp.
struct Event {
    const isa::Program& program;
    warp::Retired e{};
    std::vector<warp::Access> accesses;

    Event(const isa::Program& p, uint32_t operation, uint32_t executed, uint32_t of_warp = 0)
        : program(p) {
        e.program = &p;
        e.operation = operation;
        e.executed = e.active = executed;
        e.warp = of_warp;
    }
    // Each lane of `lanes` its own bytes, one lane's behind the other's.
    Event& with(ptx::Space space, bool store, uint64_t address, uint8_t bytes, uint32_t lanes) {
        warp::Access& a = accesses.emplace_back();
        a.space = space;
        a.store = store;
        a.lanes = lanes;
        a.bytes = bytes;
        for (uint32_t l = 0; l < 32; ++l) {
            a.address[l] = address + l * bytes;
            a.bytes_of_lane[l] = bytes;
        }
        return *this;
    }
    const warp::Retired& retired() {
        e.accesses = accesses.data();
        e.access_count = static_cast<uint32_t>(accesses.size());
        return e;
    }
};

constexpr uint64_t shared_bytes = 256;

struct Bench {
    explicit Bench(const std::string& body) : Bench(program_of(kernel(body))) {}
    explicit Bench(isa::Program of)
        : program(std::move(of)),
          may(validate::may_be_unwritten(program, shared_bytes)),
          written(may, 2) {}
    isa::Program program;
    MayBeUnwritten may;
    validate::Written written;
    uint64_t begin() const { return may.shared_begin; }
    uint64_t end() const { return may.shared_begin + shared_bytes; }
    Results unknown(Event event) {
        Results out;
        out.fill(0xdead);
        any = written.unknown(event.retired(), out);
        return out;
    }
    bool any = false;
};

Results same(uint32_t lanes, uint32_t results) {
    Results out{};
    for (uint32_t l = 0; l < 32; ++l) out[l] = (lanes >> l & 1) != 0 ? results : 0;
    return out;
}

TEST(Unwritten, BytesOfSharedMemory) {
    Bench b("mov.u32 %r1, 1;\n");
    EXPECT_EQ(b.may.shared_bytes, shared_bytes);
    const uint64_t begin = b.begin(), end = b.end();
    EXPECT_FALSE(b.written.is_written(begin, 1));
    EXPECT_FALSE(b.written.is_written(begin, shared_bytes));
    EXPECT_FALSE(b.written.is_written(end - 1, 1));
    // What is not the kernel's own is not unwritten.
    EXPECT_TRUE(b.written.is_written(begin - 1, 1));
    EXPECT_TRUE(b.written.is_written(begin - 1, 2));
    EXPECT_TRUE(b.written.is_written(end, 1));
    EXPECT_TRUE(b.written.is_written(end - 1, 2));
    b.written.mark(begin - 1, 2);
    b.written.mark(end - 1, 2);
    b.written.mark(end, 1);
    EXPECT_FALSE(b.written.is_written(begin, 1));
    EXPECT_FALSE(b.written.is_written(end - 1, 1));
    b.written.mark(begin + 4, 4);
    EXPECT_TRUE(b.written.is_written(begin + 4, 4));
    EXPECT_FALSE(b.written.is_written(begin + 3, 2));
    EXPECT_FALSE(b.written.is_written(begin + 4, 5));
    EXPECT_FALSE(b.written.is_written(begin + 3, 1));
    EXPECT_FALSE(b.written.is_written(begin + 8, 1));
    b.written.mark(begin, 1);
    b.written.mark(end - 1, 1);
    EXPECT_TRUE(b.written.is_written(begin, 1));
    EXPECT_TRUE(b.written.is_written(end - 1, 1));
    EXPECT_FALSE(b.written.is_written(begin, 2));
    b.written.mark(begin, shared_bytes);
    EXPECT_TRUE(b.written.is_written(begin, shared_bytes));
}

// 0: add r1 = r2, 1: r2 = ..., 2: reads r3, 3: a vote of all lanes.
constexpr const char* registers =
    "add.u32 %r1, %r2, %r3;\n"
    "mov.u32 %r2, 7;\n"
    "mov.u32 %r3, 7;\n"
    "shfl.sync.idx.b32 %r4|%p1, %r2, 0, 31, -1;\n"
    "mov.u32 %r5, 1;\n";

TEST(Unwritten, RegistersOfLanes) {
    Bench b(registers);
    EXPECT_EQ(b.may.registers, 2u);
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff}), same(0xffffffff, 1));
    EXPECT_TRUE(b.any);
    EXPECT_EQ(b.unknown({b.program, 0, 0x80000001}), same(0x80000001, 1));
    EXPECT_EQ(b.unknown({b.program, 4, 0xffffffff}), same(0, 0));
    EXPECT_FALSE(b.any);
    b.written.note(Event(b.program, 1, 0x0000ffff).retired());
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff}), same(0xffffffff, 1));
    b.written.note(Event(b.program, 2, 0x7fffffff).retired());
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff}), same(0xffff0000, 1));
    EXPECT_EQ(b.unknown({b.program, 0, 0x00010001}), same(0x00010000, 1));
    // Another warp has registers of its own.
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff, 1}), same(0xffffffff, 1));
    // What other lanes bring: both results of all.
    EXPECT_EQ(b.unknown({b.program, 3, 0xffffffff}), same(0xffffffff, 3));
    EXPECT_EQ(b.unknown({b.program, 3, 0x00030000}), same(0x00030000, 3));
    EXPECT_EQ(b.unknown({b.program, 3, 0x0000ffff}), same(0, 0));
    EXPECT_FALSE(b.any);
    b.written.note(Event(b.program, 1, 0xffff0000).retired());
    b.written.note(Event(b.program, 2, 0x80000000).retired());
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff}), same(0, 0));
    EXPECT_FALSE(b.any);
    b.written.note(Event(b.program, 1, 0xffffffff, 1).retired());
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff, 1}), same(0xffffffff, 1));
    b.written.note(Event(b.program, 2, 0xffffffff, 1).retired());
    EXPECT_EQ(b.unknown({b.program, 0, 0xffffffff, 1}), same(0, 0));
}

// What lanes give each other: where nothing wrote it in one lane, all results of all are unknown.
TEST(Unwritten, LanesThatAreMixed) {
    for (const auto& [instruction, results] :
         std::initializer_list<std::pair<const char*, uint32_t>>{
             {"redux.sync.add.s32 %r1, %r9, -1;\n", 1},
             {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r9;\n", 1},
             {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r9}, {%r9}, "
              "{%r9, %r9};\n",
              3},
             {"wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2}, "
              "{%r9, %r9, %r9, %r9}, 0, 1, 1, 1, 0;\n",
              3}}) {
        std::string text = kernel("mov.u32 %r1, 7;\nmov.u32 %r2, 7;\n" + std::string(instruction) +
                                  "mov.u32 %r9, 7;\n");
        text.replace(text.find("sm_90"), 5, "sm_90a");
        Bench b(program_of(text));
        b.written.note(Event(b.program, 3, 0xfffffffe).retired());
        EXPECT_EQ(b.unknown({b.program, 2, 0xffffffff}), same(0xffffffff, results)) << instruction;
        b.written.note(Event(b.program, 3, 1).retired());
        EXPECT_EQ(b.unknown({b.program, 2, 0xffffffff}), same(0, 0)) << instruction;
    }
}

TEST(Unwritten, LoadsOfSharedMemory) {
    Bench b(
        "ld.shared.u32 %r1, [%r9];\n"
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r9];\n"
        "ld.shared.v4.u32 {_, %r2, _, %r4}, [%r9];\n"
        "st.shared.u32 [%r9], %r9;\n"
        "mov.u32 %r9, 1;\n");
    const uint64_t begin = b.begin();
    // Its address is known.
    b.written.note(Event(b.program, 4, 0xffffffff).retired());
    const auto load = [&](uint32_t operation, uint64_t address, uint8_t bytes, uint32_t lanes) {
        return b.unknown(Event(b.program, operation, lanes)
                             .with(ptx::Space::shared, false, address, bytes, lanes));
    };
    EXPECT_EQ(load(0, begin, 4, 0xffffffff), same(0xffffffff, 1));
    EXPECT_TRUE(b.any);
    EXPECT_EQ(load(0, b.end(), 4, 0xffffffff), same(0, 0));
    EXPECT_FALSE(b.any);
    // Of global memory, and a store, nothing is asked.
    EXPECT_EQ(b.unknown(Event(b.program, 0, 1).with(ptx::Space::global, false, begin, 4, 1)),
              same(0, 0));
    EXPECT_EQ(b.unknown(Event(b.program, 0, 1).with(ptx::Space::shared, true, begin, 4, 1)),
              same(0, 0));
    EXPECT_FALSE(b.any);
    // Words 1, 2 and 6 are there.
    b.written.mark(begin + 4, 8);
    b.written.mark(begin + 24, 4);
    EXPECT_EQ(load(0, begin, 4, 0xff), same(0xff & ~0b01000110, 1));
    EXPECT_EQ(load(1, begin, 16, 3), (Results{0b1001, 0b1011}));
    EXPECT_EQ(load(2, begin, 16, 3), (Results{0b10, 0b11}));
    EXPECT_TRUE(b.any);
    // Of a word that is there in part.
    b.written.mark(begin + 12, 3);
    EXPECT_EQ(load(1, begin, 16, 1), (Results{0b1001}));
    b.written.mark(begin + 15, 1);
    EXPECT_EQ(load(1, begin, 16, 1), (Results{0b0001}));
    // Remote lanes read another CTA's.
    Event remote = Event(b.program, 0, 3).with(ptx::Space::shared, false, begin, 4, 3);
    remote.accesses[0].remote = 1;
    EXPECT_EQ(b.unknown(remote), same(0, 0));
    remote.accesses[0].remote = 2;
    EXPECT_EQ(b.unknown(remote), same(1, 1));
}

TEST(Unwritten, StoresToSharedAndGlobalMemory) {
    Bench b(
        "st.shared.u32 [%r9], %r8;\n"
        "st.global.u32 [%rd1], %r8;\n"
        "atom.shared.add.u32 %r1, [%r9], 1;\n"
        "atom.shared.exch.b32 %r1, [%r9], 1;\n"
        "mov.u32 %r9, 1;\n"
        "mov.u64 %rd1, 1;\n"
        "mov.u32 %r8, 1;\n"
        "st.shared.u32 [%r9], 1;\n"
        "ld.shared.u32 %r1, [%r9];\n");
    const uint64_t begin = b.begin();
    b.written.note(Event(b.program, 4, 0xffffffff).retired());
    b.written.note(Event(b.program, 5, 0xffffffff).retired());
    const auto note = [&](uint32_t operation, ptx::Space space, uint64_t address, uint32_t lanes) {
        b.written.note(Event(b.program, operation, lanes)
                           .with(space, operation != 8, address, 4, lanes)
                           .retired());
    };
    const auto words = [&] {
        std::string out;
        for (uint64_t at = begin; at < begin + 32; at += 4)
            out += b.written.is_written(at, 4) ? '1' : '0';
        return out;
    };
    // A register that nothing wrote makes nothing known.
    note(0, ptx::Space::shared, begin, 0xff);
    EXPECT_EQ(words(), "00000000");
    note(1, ptx::Space::global, 4096, 0x80000001);
    ASSERT_EQ(b.written.unknown_global().size(), 2u);
    EXPECT_EQ(b.written.unknown_global()[0], (validate::Bytes{4096, 4}));
    EXPECT_EQ(b.written.unknown_global()[1], (validate::Bytes{4096 + 31 * 4, 4}));
    b.written.note(Event(b.program, 6, 0b11).retired());
    note(0, ptx::Space::shared, begin, 0b110);  // lane 2's is unknown
    EXPECT_EQ(words(), "01000000");
    note(1, ptx::Space::global, 8192, 0b111);
    ASSERT_EQ(b.written.unknown_global().size(), 3u);
    EXPECT_EQ(b.written.unknown_global()[2], (validate::Bytes{8192 + 8, 4}));
    note(7, ptx::Space::shared, begin, 0b1000);
    EXPECT_EQ(words(), "01010000");
    note(8, ptx::Space::shared, begin, 0xff);  // a load
    note(7, ptx::Space::global, begin, 0xff);
    EXPECT_EQ(words(), "01010000");
    EXPECT_EQ(b.written.unknown_global().size(), 3u);
    // A sum with what is unknown is unknown; an exchange leaves what it brought.
    note(2, ptx::Space::shared, begin, 0b11);
    EXPECT_EQ(words(), "01010000");
    note(3, ptx::Space::shared, begin, 0b110000);
    EXPECT_EQ(words(), "01011100");
    note(2, ptx::Space::shared, begin, 0b110000);
    EXPECT_EQ(words(), "01011100");
    // What a peer of the cluster has is not this CTA's.
    Event remote = Event(b.program, 7, 0b11000000).with(ptx::Space::shared, true, begin, 4, 0xc0);
    remote.accesses[0].remote = 0b01000000;
    b.written.note(remote.retired());
    EXPECT_EQ(words(), "01011101");
}

// Which results are taken from the GPU: those of what reads a register that depends on time or
// place, between braces too.
TEST(Taken, IsWhatReadsTimeOrPlace) {
    const std::pair<const char*, bool> rows[] = {
        {"mov.u32 %r1, %clock;", true},
        {"mov.u32 %r1, %smid;", true},
        {"mov.u32 %r1, %tid.x;", false},
        {"cvt.u64.u32 %rd1, %clock;", true},
        {"mov.b64 %rd1, {%r1, %clock};", true},
        {"mov.b64 %rd1, {%globaltimer_lo, %r1};", true},
        {"mov.b64 %rd1, {%r1, %tid.x};", false},
        {"mov.b64 {%r1, %r2}, %rd1;", false},
        {"st.global.v2.u32 [%rd1], {%r1, %smid};", true},
    };
    std::string body;
    for (const auto& [text, taken] : rows) body += std::string(text) + "\n";
    const isa::Program program = program_of(kernel(body));
    const std::vector<std::string_view> why = validate::taken_because(program);
    ASSERT_EQ(why.size(), program.operations.size());
    size_t n = 0;
    for (const auto& [text, taken] : rows) EXPECT_EQ(!why[n++].empty(), taken) << text;
}

}  // namespace
}  // namespace lockwarp::unwritten_test
