// SPDX-License-Identifier: Apache-2.0
// atom and red, against their definitions in the PTX manual.
#include <bit>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/exec/support.hpp"

namespace lockwarp::exec {

namespace {

// One operation on elements of `bits` bits: what memory holds afterwards.
struct Row {
    const char* text;  // as in the instruction: "add.u32"
    unsigned bits;
    std::function<uint64_t(uint64_t old, uint64_t b, uint64_t c)> after;
    bool red = true;  // there is a red too
};

int64_t extended(uint64_t value, unsigned bits) {
    return bits == 64 ? static_cast<int64_t>(value) : static_cast<int32_t>(value);
}

double f16_sum(uint64_t a, uint64_t b) {
    return value_of_f16(static_cast<uint16_t>(a)) + value_of_f16(static_cast<uint16_t>(b));
}

// bf16 is the upper half of f32; the sum of two is exact in double for the operands below.
uint64_t bf16_sum(uint64_t a, uint64_t b) {
    const double sum =
        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(a & 0xffff) << 16)) +
        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(b & 0xffff) << 16));
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(sum));
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint64_t f32_sum(uint64_t a, uint64_t b) {
    return std::bit_cast<uint32_t>(std::bit_cast<float>(static_cast<uint32_t>(a)) +
                                   std::bit_cast<float>(static_cast<uint32_t>(b)));
}

// Both halves of a word.
uint64_t twice(const std::function<uint64_t(uint64_t, uint64_t)>& f, uint64_t a, uint64_t b) {
    return (f(a & 0xffff, b & 0xffff) & 0xffff) | f(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}

std::vector<Row> rows() {
    using U = uint64_t;
    std::vector<Row> out;
    for (const unsigned bits : {32u, 64u}) {
        const bool wide = bits == 64;
        out.push_back({wide ? "and.b64" : "and.b32", bits, [](U a, U b, U) { return a & b; }});
        out.push_back({wide ? "or.b64" : "or.b32", bits, [](U a, U b, U) { return a | b; }});
        out.push_back({wide ? "xor.b64" : "xor.b32", bits, [](U a, U b, U) { return a ^ b; }});
        out.push_back({wide ? "add.u64" : "add.u32", bits, [](U a, U b, U) { return a + b; }});
        out.push_back(
            {wide ? "min.u64" : "min.u32", bits, [](U a, U b, U) { return std::min(a, b); }});
        out.push_back(
            {wide ? "max.u64" : "max.u32", bits, [](U a, U b, U) { return std::max(a, b); }});
        out.push_back({wide ? "min.s64" : "min.s32", bits, [bits](U a, U b, U) {
                           return extended(a, bits) < extended(b, bits) ? a : b;
                       }});
        out.push_back({wide ? "max.s64" : "max.s32", bits, [bits](U a, U b, U) {
                           return extended(a, bits) > extended(b, bits) ? a : b;
                       }});
        out.push_back({wide ? "exch.b64" : "exch.b32", bits, [](U, U b, U) { return b; }, false});
        out.push_back({wide ? "cas.b64" : "cas.b32", bits,
                       [](U a, U b, U c) { return a == b ? c : a; }, false});
    }
    out.push_back({"add.s32", 32, [](U a, U b, U) { return a + b; }});
    out.push_back({"inc.u32", 32, [](U a, U b, U) { return a >= b ? 0 : a + 1; }});
    out.push_back({"dec.u32", 32, [](U a, U b, U) { return a == 0 || a > b ? b : a - 1; }});
    out.push_back({"cas.b16", 16, [](U a, U b, U c) { return a == b ? c : a; }, false});
    out.push_back({"add.f32", 32, [](U a, U b, U) { return f32_sum(a, b); }});
    out.push_back({"add.f64", 64, [](U a, U b, U) {
                       return std::bit_cast<U>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
                   }});
    const auto half = [](U a, U b) -> U { return f16_of(f16_sum(a, b)); };
    out.push_back({"add.noftz.f16", 16, [half](U a, U b, U) { return half(a, b); }});
    out.push_back({"add.noftz.f16x2", 32, [half](U a, U b, U) { return twice(half, a, b); }});
    out.push_back({"add.noftz.bf16", 16, [](U a, U b, U) { return bf16_sum(a, b); }});
    out.push_back({"add.noftz.bf16x2", 32, [](U a, U b, U) { return twice(bf16_sum, a, b); }});
    return out;
}

std::string with_space(const std::string& opcode, const std::string& space,
                       const std::string& text) {
    return opcode + space + "." + text;
}

// Element i, b and c of lane l: small floats for floats, else bits among which are equal ones and
// both extremes.
uint64_t value(const Row& row, unsigned which, unsigned lane) {
    const std::string_view text = row.text;
    const unsigned n = lane * 7 + which * 5;
    const double number = (static_cast<int>(n % 23) - 11) * 0.37109375 * (1 << n % 7);
    if (text.ends_with(".f32")) return std::bit_cast<uint32_t>(static_cast<float>(number));
    if (text.ends_with(".f64")) return std::bit_cast<uint64_t>(number * 1.0000000001);
    const uint64_t f16 = f16_of(number);
    const uint64_t bf16 = std::bit_cast<uint32_t>(static_cast<float>((n % 23) - 11.0)) >> 16;
    if (text.ends_with("bf16")) return bf16;
    if (text.ends_with("bf16x2")) return bf16 | (bf16 ^ 0x8000) << 16;
    if (text.ends_with("f16")) return f16;
    if (text.ends_with("f16x2")) return f16 | static_cast<uint64_t>(f16_of(number / 3)) << 16;
    constexpr uint64_t some[]{0, 1, 5, 0x7fffffffffffffff, 0x8000000000000000, ~uint64_t{0}};
    uint64_t bits = lane % 3 == 0   ? some[lane / 3 % 6]
                    : lane % 3 == 1 ? some[(lane / 3 + which) % 6]
                                    : 0x9e3779b97f4a7c15u * (n + 1);
    if (row.bits == 32 && lane % 3 != 2) bits = bits >> 32 | bits;
    return row.bits == 64 ? bits : bits & ((uint64_t{1} << row.bits) - 1);
}

std::string register_of(unsigned bits, unsigned n) {
    return (bits == 16 ? "%h" : bits == 32 ? "%r" : "%rd") + std::to_string(n);
}

// Gives each lane its turn: every third one waits first, once. What a lane is said to leave where
// it is asked is what it leaves, and the same lane is asked about its own memory.
class Turns : public warp::Oracle, public warp::Observer {
  public:
    explicit Turns(bool waits) : waits_(waits) {}
    // With this one asked; the start of the fault that there is to be.
    Outcome run(const isa::Program& program, const Given& given, std::string_view fault = {}) {
        program_ = &program;
        Outcome out;
        out.buffers = given.buffers;
        warp::Launch l;
        l.block = given.block;
        l.max_steps = given.max_steps;
        l.threads = 1;
        l.oracle = this;
        l.observers = {this};
        for (size_t i = 0; i < out.buffers.size(); ++i) {
            append(l.parameters, buffer_address(i));
            l.buffers.push_back({"", buffer_address(i), out.buffers[i]});
        }
        out.result = launch(program, l);
        const std::string found = fault_of(out.result);
        EXPECT_TRUE(fault.empty() ? found.empty() : found.starts_with(fault)) << found;
        return out;
    }
    bool knows(uint32_t) const override { return false; }
    void supply(const warp::Retired&, uint8_t*) override {}
    bool orders(uint32_t operation) const override {
        const isa::Op op = program_->operations[operation].op;
        return op == isa::Op::atom || op == isa::Op::red;
    }
    warp::Turn turn(const warp::Retired&, unsigned lane, const warp::OrderedAccess& all) override {
        ++asked;
        if (waits_ && lane % 3 == 0 && (waited_ >> lane & 1) == 0) {
            waited_ |= 1u << lane;
            return warp::Turn::waits;
        }
        all.after(lane, all.memory[lane], expected_.data());
        return warp::Turn::now;
    }
    void accessed(const warp::Retired&, unsigned lane, const warp::OrderedAccess& all) override {
        const auto bytes = size_t{all.elements} * all.element_bytes;
        EXPECT_GT(bytes, 0u);
        EXPECT_EQ(Bytes(all.memory[lane], all.memory[lane] + bytes),
                  Bytes(expected_.data(), expected_.data() + bytes));
        EXPECT_TRUE((done >> lane & 1) == 0);
        done |= 1u << lane;
    }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        struct Nothing : warp::CtaObserver {
            void retired(const warp::Retired&) override {}
        };
        return std::make_unique<Nothing>();
    }

    uint32_t done = 0;  // lanes
    size_t asked = 0;

  private:
    bool waits_;
    uint32_t waited_ = 0;
    const isa::Program* program_ = nullptr;
    std::array<uint8_t, 32> expected_{};
};

// Each lane its own element, or all lanes that of lane 0; in one space, under a guard. Of local
// memory each lane has its own element at either address.
void check(const Row& row, const std::string& space, bool returns, bool same, uint32_t guard,
           Turns* turns = nullptr) {
    const std::string bits = ".b" + std::to_string(row.bits);
    const bool in_shared = space.ends_with("shared");
    const bool in_local = space.ends_with("local");
    const std::string memory = in_shared ? "%rd20" : in_local ? "%rd23" : "%rd21";
    const bool generic = space.starts_with("generic");
    const auto reg = [&](unsigned n) { return register_of(row.bits, n); };
    // 32 bytes a lane: the element, b, c, what was returned.
    const std::string of_memory = in_shared ? ".shared" : in_local ? ".local" : ".global";
    const std::string address = !generic    ? memory
                                : in_shared ? "%rd22"
                                : in_local  ? "%rd24"
                                            : "%rd21";
    const bool cas = std::string_view(row.text).starts_with("cas");
    std::string body = R"(
.shared .align 16 .b8 sm[1024];
.local .align 16 .b8 lo[1024];
mov.u64 %rd20, sm;
mov.u64 %rd23, lo;
mul.wide.u32 %rd9, %r1, 32;
add.u64 %rd10, %rd1, %rd9;
)" + std::string(same ? "mov.u64 %rd9, 0;\n" : "") +
                       R"(add.u64 %rd20, %rd20, %rd9;
cvta.shared.u64 %rd22, %rd20;
add.u64 %rd21, %rd1, %rd9;
add.u64 %rd23, %rd23, %rd9;
cvta.local.u64 %rd24, %rd23;
)";
    body += "ld.global" + bits + " " + reg(11) + ", [%rd10];\n";
    body += "ld.global" + bits + " " + reg(12) + ", [%rd10+8];\n";
    body += "ld.global" + bits + " " + reg(13) + ", [%rd10+16];\n";
    body += "ld.global" + bits + " " + reg(14) + ", [%rd10+24];\n";
    if (in_shared) {
        body += "setp.eq.u32 %p2, %r1, 0;\n";
        body +=
            std::string(same ? "@%p2 " : "") + "st.shared" + bits + " [%rd20], " + reg(11) + ";\n";
    }
    if (in_local) body += "st.local" + bits + " [%rd23], " + reg(11) + ";\n";
    body += "mov.u32 %r20, " + std::to_string(guard) +
            ";\nshr.u32 %r20, %r20, %r1;\nand.b32 %r20, %r20, 1;\nsetp.ne.u32 %p1, %r20, 0;\n";
    body += "@%p1 " + with_space(returns ? "atom" : "red", generic ? "" : of_memory, row.text) +
            " " + (returns ? reg(14) + ", " : "") + "[" + address + "], " + reg(12) +
            (cas ? ", " + reg(13) : "") + ";\n";
    body += "st.global" + bits + " [%rd10+24], " + reg(14) + ";\n";
    body += "ld" + of_memory + bits + " " + reg(15) + ", [" + memory + "];\n";
    body += "bar.warp.sync 0xffffffff;\nst.global" + bits + " [%rd10], " + reg(15) + ";\n";
    Given given;
    given.arch = isa::Arch::sm_90;
    Bytes bytes(1024);
    uint64_t expected[32];
    uint64_t returned[32];
    for (unsigned l = 0; l < 32; ++l) {
        for (unsigned i = 0; i < 3; ++i) {
            const uint64_t v = value(row, i, l);
            std::memcpy(&bytes[l * 32 + i * 8], &v, row.bits / 8);
        }
        expected[l] = value(row, 0, l);
        returned[l] = 0;
    }
    const uint64_t keep = row.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << row.bits) - 1;
    for (unsigned l = 0; l < 32; ++l) {
        if ((guard >> l & 1) == 0) continue;
        uint64_t& at = expected[same && !in_local ? 0 : l];
        if (returns) returned[l] = at;
        // As an H100 does, by the driver's compiler: it adds the words of two halves.
        const bool words = in_local && std::string_view(row.text).ends_with("16x2");
        at = (words ? at + value(row, 1, l) : row.after(at, value(row, 1, l), value(row, 2, l))) &
             keep;
    }
    given.buffers = {bytes, Bytes(16)};
    const std::string text = kernel(body, "", "sm_90");
    const isa::Program program = program_of(text, given.arch);
    const Outcome o = turns == nullptr ? run_well(program, given) : turns->run(program, given);
    for (unsigned l = 0; l < 32; ++l) {
        uint64_t now = 0;
        uint64_t old = 0;
        std::memcpy(&now, &o.buffers[0][l * 32], row.bits / 8);
        std::memcpy(&old, &o.buffers[0][l * 32 + 24], row.bits / 8);
        ASSERT_EQ(now, expected[same && !in_local ? 0 : l])
            << row.text << " " << space << " lane " << l;
        ASSERT_EQ(old, returned[l]) << row.text << " " << space << " lane " << l;
    }
}

TEST(Atomic, EveryOperationInEverySpace) {
    for (const Row& row : rows())
        for (const char* space :
             {".global", ".shared", "generic global", "generic shared", "generic local"})
            for (const bool returns : {true, false})
                for (const bool same : {false, true})
                    for (const uint32_t guard : {0xffffffffu, 0x80a51001u, 0x00000010u}) {
                        if (!returns && !row.red) continue;
                        check(row, space, returns, same, guard);
                    }
}

TEST(Atomic, LaneByLaneAsAnOracleOrdersThem) {
    for (const Row& row : rows())
        for (const char* space : {".global", ".shared", "generic global", "generic shared"})
            for (const bool returns : {true, false}) {
                if (!returns && !row.red) continue;
                constexpr uint32_t guard = 0x80a51009;
                Turns at_once(false), later(true);
                check(row, space, returns, true, guard, &at_once);
                check(row, space, returns, false, guard, &later);
                EXPECT_EQ(at_once.done, guard) << row.text;
                EXPECT_EQ(at_once.asked, 8u) << row.text;
                EXPECT_EQ(later.done, guard) << row.text;
                EXPECT_EQ(later.asked, 8u + 5) << row.text << ": lanes 0, 3, 12, 18 and 21 wait";
            }
}

// Behind a lane that faults none is asked, and its own access is none that was done. A lane that
// has no memory comes first.
TEST(Atomic, NoLaneHasItsTurnBehindATrap) {
    struct Case {
        const char* address;  // lane 5's: past its own
        const char* fault;
        uint32_t done;
        size_t asked;
    };
    for (const Case& row : {Case{"2", "misaligned address", 0x1f, 6},
                            Case{"0x1000", "address out of bounds", 0, 0}}) {
        const isa::Program program =
            program_of(kernel("setp.eq.u32 %p1, %r1, 5; @%p1 add.u64 %rd2, %rd2, " +
                              std::string(row.address) + ";\nred.global.add.u32 [%rd2], 3;"),
                       isa::Arch::sm_80);
        Given given;
        given.buffers = {Bytes(4), Bytes(256)};
        Turns turns(false);
        const Words after = words_of(turns.run(program, given, row.fault).buffers[1]);
        EXPECT_EQ(turns.done, row.done) << row.fault;
        EXPECT_EQ(turns.asked, row.asked) << row.fault;
        for (unsigned lane = 0; lane < 32; ++lane)
            EXPECT_EQ(after[lane], (row.done >> lane & 1) * 3) << row.fault << ' ' << lane;
    }
}

// The manual, atom: add.f32 in global memory flushes subnormals, in shared memory not; f64 and
// .noftz never do. NaN as add gives it.
TEST(Atomic, SubnormalsAndNans) {
    const auto run = [](const std::string& add, uint64_t a, uint64_t b, bool shared, bool generic) {
        const bool wide = add.ends_with("f64");
        const std::string r = wide ? "%rd" : add.ends_with("16") ? "%h" : "%r";
        const std::string bits = wide ? ".b64" : add.ends_with("16") ? ".b16" : ".b32";
        const std::string at = shared ? "sm" : "%rd1";
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 1;
        Bytes in(16);
        std::memcpy(in.data(), &a, 8);
        std::memcpy(in.data() + 8, &b, 8);
        given.buffers = {in, Bytes(16)};
        const std::string space = generic ? "" : shared ? ".shared" : ".global";
        const std::string body =
            ".shared .align 8 .b8 sm[8];\nmov.u64 %rd20, sm;\ncvta.shared.u64 %rd21, %rd20;\n"
            "ld.global" +
            bits + " " + r + "8, [%rd1];\nld.global" + bits + " " + r + "9, [%rd1+8];\n" +
            (shared ? "st.shared" + bits + " [sm], " + r + "8;\n" : "") + "red" + space + ".add" +
            add + " [" + (generic && shared ? "%rd21" : at) + "], " + r + "9;\nld" +
            (shared ? ".shared" : ".global") + bits + " " + r + "10, [" + at + "];\nst.global" +
            bits + " [%rd4], " + r + "10;\n";
        const Outcome o = run_well(program_of(kernel(body, "", "sm_90"), given.arch), given);
        uint64_t out = 0;
        std::memcpy(&out, o.buffers[1].data(), wide ? 8 : bits == ".b16" ? 2 : 4);
        return out;
    };
    for (const bool generic : {false, true}) {
        EXPECT_EQ(run(".f32", 0x00000001, 0x00000001, false, generic), 0u);
        EXPECT_EQ(run(".f32", 0x80000001, 0x80000003, false, generic), 0x80000000u);
        EXPECT_EQ(run(".f32", 0x00800000, 0x80800001, false, generic), 0x80000000u);
        EXPECT_EQ(run(".f32", 0x00000001, 0x00000001, true, generic), 2u);
        EXPECT_EQ(run(".f32", 0x80000001, 0x80000003, true, generic), 0x80000004u);
        EXPECT_EQ(run(".f32", 0x00800000, 0x80800001, true, generic), 0x80000001u);
        for (const bool shared : {false, true}) {
            EXPECT_EQ(run(".f32", 0x7f800001, 0x3f800000, shared, generic), 0x7fffffffu);
            EXPECT_EQ(run(".f32", 0x7f800000, 0xff800000, shared, generic), 0x7fffffffu);
            EXPECT_EQ(run(".f64", 1, 2, shared, generic), 3u);
            EXPECT_EQ(run(".noftz.f16", 1, 2, shared, generic), 3u);
            EXPECT_EQ(run(".noftz.f16", 0x7c01, 2, shared, generic), 0x7fffu);
            EXPECT_EQ(run(".noftz.bf16", 1, 2, shared, generic), 3u);
        }
    }
}

// Vectors: each element by itself. A destination may be among the operands.
TEST(Atomic, Vectors) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 1;
    const auto run = [&](const std::string& body, const Words& in) {
        Given g = given;
        g.buffers = {bytes_of(in), Bytes(32)};
        std::string text = kernel(body, "", "sm_90");
        text.replace(text.find("8.0"), 3, "8.1");
        const Outcome o = run_well(program_of(text, g.arch), g);
        return std::pair(words_of(o.buffers[0]), words_of(o.buffers[1]));
    };
    const auto bits = [](float f) { return std::bit_cast<uint32_t>(f); };
    const auto [f32, old] =
        run(R"(
ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1+16];
atom.global.add.v4.f32 {%r3, %r2, %r5, %r4}, [%rd1], {%r2, %r3, %r4, %r5};
st.global.v4.b32 [%rd4], {%r3, %r2, %r5, %r4};
)",
            {bits(1), bits(2), bits(3), bits(4), bits(10), bits(20), bits(30), 1});
    EXPECT_EQ(f32, (Words{bits(11), bits(22), bits(33), bits(4), bits(10), bits(20), bits(30), 1}));
    EXPECT_EQ(old, (Words{bits(1), bits(2), bits(3), bits(4), 0, 0, 0, 0}));
    // 0x3c00 is 1 in f16, 0x4000 is 2, 0x4200 is 3, 0xc000 is -2.
    EXPECT_EQ(run(R"(
mov.b16 %h1, 0x4000; mov.b16 %h2, 0xc000;
red.global.max.noftz.v8.f16 [%rd1], {%h1, %h1, %h2, %h2, %h1, %h1, %h2, %h1};
)",
                  {0x42003c00, 0x3c00c200, 0x7e00c000, 0x00000000})
                  .first,
              (Words{0x42004000, 0x3c00c000, 0x40004000, 0x40000000}));
    EXPECT_EQ(run(R"(
mov.b32 %r2, 0x3c004000;
red.relaxed.gpu.add.noftz.v2.f16x2 [%rd1], {%r2, %r2};
)",
                  {0x3c003c00, 0x00000000})
                  .first,
              (Words{0x40004200, 0x3c004000}));
}

TEST(Atomic, Traps) {
    const auto fault = [](const std::string& body) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.block.x = 1;
        given.buffers = {Bytes(256), Bytes(256)};
        std::string text = kernel(body, ".const .align 8 .b8 co[8];", "sm_90");
        text.replace(text.find("8.0"), 3, "8.1");
        const std::string all = fault_of(exec::run(program_of(text, given.arch), given).result);
        return all.substr(0, all.find(" at line"));
    };
    EXPECT_EQ(fault("atom.global.add.u32 %r2, [%rd1+2], 1;\n"),
              "misaligned address: must be a multiple of 4");
    EXPECT_EQ(fault("red.global.add.u64 [%rd1+4], 1;\n"),
              "misaligned address: must be a multiple of 8");
    EXPECT_EQ(fault("atom.cas.b16 %h1, [%rd1+1], %h2, %h3;\n"),
              "misaligned address: must be a multiple of 2");
    EXPECT_EQ(fault("red.global.add.v4.f32 [%rd1+8], {%f1, %f1, %f1, %f1};\n"),
              "misaligned address: must be a multiple of 16");
    EXPECT_EQ(fault("red.global.add.noftz.v8.f16 [%rd1+8], {%h1,%h1,%h1,%h1,%h1,%h1,%h1,%h1};\n"),
              "misaligned address: must be a multiple of 16");
    EXPECT_NE(fault("red.global.add.u32 [%rd1+256], 1;\n").find("out of bounds"),
              std::string::npos);
    EXPECT_NE(fault("mov.u64 %rd2, co;\ncvta.const.u64 %rd2, %rd2;\nred.add.u32 [%rd2], 1;\n")
                  .find(".const memory cannot be written"),
              std::string::npos);
    EXPECT_NE(
        fault(".shared .align 16 .b8 sm[16];\nmov.u64 %rd2, sm;\ncvta.shared.u64 %rd2, %rd2;\n"
              "red.add.v2.f32 [%rd2], {%f1, %f1};\n")
            .find(".global"),
        std::string::npos);
}

// The assembler refuses these.
TEST(Atomic, Refused) {
    const auto refused = [](const std::string& line) {
        std::string text = kernel(line + "\n", "", "sm_90");
        text.replace(text.find("8.0"), 3, "8.1");
        return !diagnostics_of(text, isa::Arch::sm_90).empty();
    };
    EXPECT_FALSE(refused("atom.global.add.u32 _, [%rd1], 1;"));
    for (const char* line :
         {"atom.add.s64 %rd2, [%rd1], 1;", "atom.global.add.f16 %h1, [%rd1], %h2;",
          "red.acquire.gpu.global.add.u32 [%rd1], 1;", "red.global.exch.b32 [%rd1], 1;",
          "atom.local.add.u32 %r2, [%rd1], 1;", "atom.global.inc.u64 %rd2, [%rd1], 1;",
          "atom.shared.add.L2::cache_hint.u32 %r2, [%rd1], 1, %rd9;",
          "atom.shared.add.v2.f32 {%f1, %f2}, [%rd1], {%f3, %f4};",
          "atom.global.add.u32 %rd2, [%rd1], 1;", "atom.global.min.f32 %f1, [%rd1], %f2;",
          "red.global.add.v8.f32 [%rd1], {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};"})
        EXPECT_TRUE(refused(line)) << line;
}

// Many CTAs on all cores, one counter: nothing is lost, and no two threads get the same number.
TEST(Atomic, SumsAreRightWithAnyNumberOfThreads) {
    const std::string body = R"(
mov.u32 %r10, 0;
LOOP:
atom.global.add.u32 %r2, [%rd1], 1;
red.global.add.u64 [%rd1+8], 3;
red.global.add.noftz.f16 [%rd1+16], %h1;
red.global.max.u32 [%rd1+20], %r2;
mul.wide.u32 %rd9, %r2, 4;
add.u64 %rd9, %rd4, %rd9;
red.global.add.u32 [%rd9], 1;
add.u32 %r10, %r10, 1;
setp.lt.u32 %p1, %r10, 8;
@%p1 bra LOOP;
)";
    const unsigned cores = std::max(2u, std::thread::hardware_concurrency());
    for (const unsigned threads : {1u, cores, 4 * cores}) {
        Given given;
        given.arch = isa::Arch::sm_90;
        given.grid.x = 128;
        given.block.x = 64;
        given.threads = threads;
        const uint32_t all = 128 * 64 * 8;
        given.buffers = {Bytes(32), Bytes(size_t{all} * 4)};
        const Outcome o = run_well(program_of(kernel(body), given.arch), given);
        const Words counters = words_of(o.buffers[0]);
        EXPECT_EQ(counters[0], all);
        EXPECT_EQ(counters[2], all * 3);
        EXPECT_EQ(counters[4], 0u);
        EXPECT_EQ(counters[5], all - 1);
        EXPECT_EQ(words_of(o.buffers[1]), Words(all, 1));
    }
}

// A lock that lanes of one warp take in turn: the holder goes on while the others spin.
TEST(Atomic, ALockAmongTheLanesOfAWarp) {
    Given given;
    given.arch = isa::Arch::sm_90;
    given.block.x = 64;
    given.buffers = {Bytes(8), Bytes(256)};
    const Outcome o = run_well(program_of(kernel(R"(
TRY:
atom.acquire.gpu.global.cas.b32 %r2, [%rd1], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra TRY;
ld.global.u32 %r3, [%rd1+4];
add.u32 %r3, %r3, 1;
st.global.u32 [%rd1+4], %r3;
atom.release.gpu.global.exch.b32 %r4, [%rd1], 0;
st.global.u32 [%rd2], %r4;
)"),
                                          given.arch),
                               given);
    EXPECT_EQ(words_of(o.buffers[0]), (Words{0, 64}));
    EXPECT_EQ(words_of(o.buffers[1]), Words(64, 1));
}

// One permit: the lanes wait with pauses that the clock measures, as libcu++'s semaphores do.
TEST(Atomic, LanesThatWaitWithAnEyeOnTheClock) {
    Given given;
    given.block.x = 64;
    given.buffers = {bytes_of(Words{1, 0}), Bytes(256)};
    const Outcome o = run_well(program_of(kernel(R"(
mov.u64 %rd5, %globaltimer;
TRY:
ld.relaxed.cta.global.u32 %r2, [%rd1];
setp.ne.u32 %p1, %r2, 0;
@%p1 bra TAKE;
mov.u64 %rd6, %globaltimer;
sub.u64 %rd7, %rd6, %rd5;
bra.uni TRY;
TAKE:
atom.acquire.cta.global.cas.b32 %r3, [%rd1], 1, 0;
setp.ne.u32 %p2, %r3, 1;
@%p2 bra TRY;
ld.global.u32 %r4, [%rd1+4];
add.u32 %r4, %r4, 1;
st.global.u32 [%rd1+4], %r4;
atom.release.cta.global.exch.b32 %r5, [%rd1], 1;
st.global.u32 [%rd2], %r5;
)"),
                                          given.arch),
                               given);
    EXPECT_EQ(words_of(o.buffers[0]), (Words{1, 64}));
    EXPECT_EQ(words_of(o.buffers[1]), Words(64, 0));
}

// Nobody can end it but the clock: the others wait where they meet.
TEST(Atomic, APauseByTheClockAlone) {
    const Words out = results_of(R"(
setp.ne.u32 %p1, %r1, 3;
@%p1 bra MEET;
mov.u64 %rd5, %clock64;
PAUSE:
mov.u64 %rd6, %clock64;
sub.u64 %rd7, %rd6, %rd5;
setp.lt.u64 %p2, %rd7, 200000;
@%p2 bra PAUSE;
MEET:
activemask.b32 %r2;
st.global.u32 [%rd2], %r2;
)",
                                 {}, {});
    EXPECT_EQ(out, Words(32, 0xffffffff));
}

// It looks at memory that nobody writes, sleeps between, and gives up by the clock after a second:
// what it sleeps counts, so that this is not taken for a deadlock.
TEST(Atomic, AWaitThatSleepsAndGivesUpByTheClock) {
    for (const std::string clock : {"globaltimer", "clock64"}) {
        const Words out = results_of("mov.u64 %rd5, %" + clock + R"(;
LOOK:
ld.acquire.gpu.global.u32 %r2, [%rd1];
setp.ne.u32 %p1, %r2, 0;
@%p1 bra DONE;
nanosleep.u32 4000000000;
mov.u64 %rd6, %)" + clock + R"(;
sub.u64 %rd7, %rd6, %rd5;
setp.lt.u64 %p2, %rd7, 1000000000;
@%p2 bra LOOK;
DONE:
div.u64 %rd7, %rd7, 1000000;
cvt.u32.u64 %r2, %rd7;
st.global.u32 [%rd2], %r2;
)",
                                     Words(32, 0), {});
        EXPECT_EQ(out, Words(32, 1000)) << clock;
    }
}

struct Accesses {
    void retired(const warp::Retired& e) {
        const isa::Op op = e.program->operations[e.operation].op;
        if (op != isa::Op::atom && op != isa::Op::red) return;
        for (uint32_t i = 0; i < e.access_count; ++i)
            text += (e.accesses[i].store ? "store " : "load ") +
                    std::to_string(e.accesses[i].bytes) + " ";
        text += "; ";
    }
    std::string text;
};

TEST(Atomic, ObserversHearOfALoadAndAStore) {
    Alone<Accesses> accesses;
    Given given;
    given.block.x = 1;
    given.observers = {&accesses};
    given.buffers = {Bytes(16), Bytes(16)};
    run_well(program_of(kernel("atom.global.add.u32 %r2, [%rd1], 1;\n"
                               "red.global.add.u64 [%rd1], 1;\n"),
                        given.arch),
             given);
    EXPECT_EQ(accesses.listener.text, "load 4 store 4 ; store 8 ; ");
}

}  // namespace

}  // namespace lockwarp::exec
