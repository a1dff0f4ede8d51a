// SPDX-License-Identifier: Apache-2.0
// Recordings: what is written is read again, bit for bit; what is not a recording is refused.
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <cstring>
#include <functional>
#include <random>

#include "emu/lockwarp.hpp"
#include "launch/input.hpp"
#include "tests/results.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/recording.hpp"

namespace lockwarp::recording_test {
namespace {

using validate::Recording;
using Bytes = std::vector<uint8_t>;

constexpr const char* small_ptx =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n"
    ".reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 7;\n"
    "st.global.u32 [%rd1], %r2; ret;\n}\n";

// A recording of the text on the emulator.
Recording recorded(const std::string& ptx, const std::string& entry, uint32_t threads,
                   std::vector<Bytes> buffers, uint32_t ctas = 1) {
    Recording r;
    r.name = "k.ptx";
    r.ptx = ptx;
    r.arch = "sm_90";
    r.made_by = "lockwarp test";
    r.c.module = ptx::parse(ptx).module;
    r.c.entry = entry;
    r.c.grid = {ctas, 1, 1};
    r.c.block = {threads, 1, 1};
    for (size_t i = 0; i < buffers.size(); ++i) {
        r.c.patches.push_back({static_cast<uint32_t>(8 * i), i, 0});
        r.c.names.push_back("buffer" + std::to_string(i));
    }
    r.c.parameters.resize(8 * buffers.size());
    r.c.bytes = std::move(buffers);
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report report = run_lockstep(r.c, isa::Arch::sm_90, engine, {}, &r.answer);
    EXPECT_EQ(report.problem, "");
    EXPECT_FALSE(report.first.has_value());
    return r;
}

Recording small() { return recorded(small_ptx, "k", 1, {Bytes(4)}); }

Recording of_kernel(const std::string& launch_file, const validate::Options& options = {}) {
    auto loaded = launch::load({LOCKWARP_SOURCE_DIR "/gpu/kernels/" + launch_file}, "sm_90");
    Recording r;
    if (!loaded) {
        ADD_FAILURE() << loaded.error().sentence;
        return r;
    }
    auto& [in, arch, program] = *loaded;
    r.name = "kernel.ptx";
    r.ptx = in.source;
    r.arch = "sm_90";
    EXPECT_EQ(take(launch::make_case(in.launch, in.module, program), r.c), "");
    validate::EmulatorEngine engine(isa::Arch::sm_90);
    const validate::Report report = run_lockstep(r.c, isa::Arch::sm_90, engine, options, &r.answer);
    EXPECT_EQ(report.problem, "");
    EXPECT_FALSE(report.first.has_value());
    return r;
}

std::string problem_of(const Bytes& file) {
    Recording out;
    return take(validate::read_recording(file), out);
}

std::string problem_of(const Recording& r) { return problem_of(validate::write_recording(r)); }

void expect_equal(const Recording& a, const Recording& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.ptx, b.ptx);
    EXPECT_EQ(a.arch, b.arch);
    EXPECT_EQ(a.made_by, b.made_by);
    EXPECT_EQ(a.c.module.items, b.c.module.items);
    EXPECT_EQ(a.c.entry, b.c.entry);
    const auto dims = [](const launch::Case& c) {
        return std::array{c.grid.x,  c.grid.y,  c.grid.z,        c.block.x,
                          c.block.y, c.block.z, c.dynamic_shared};
    };
    EXPECT_EQ(dims(a.c), dims(b.c));
    EXPECT_EQ(a.c.parameters, b.c.parameters);
    ASSERT_EQ(a.c.patches.size(), b.c.patches.size());
    for (size_t i = 0; i < a.c.patches.size(); ++i) {
        EXPECT_EQ(a.c.patches[i].at, b.c.patches[i].at);
        EXPECT_EQ(a.c.patches[i].buffer, b.c.patches[i].buffer);
        EXPECT_EQ(a.c.patches[i].offset, b.c.patches[i].offset);
    }
    EXPECT_EQ(a.c.names, b.c.names);
    EXPECT_EQ(a.c.bytes, b.c.bytes);
    EXPECT_EQ(a.answer.device.name, b.answer.device.name);
    EXPECT_EQ(a.answer.device.driver, b.answer.device.driver);
    EXPECT_EQ(a.answer.device.number, b.answer.device.number);
    EXPECT_EQ(a.answer.device.clock_mhz, b.answer.device.clock_mhz);
    EXPECT_EQ(a.answer.device.memory, b.answer.device.memory);
    EXPECT_EQ(a.answer.addresses, b.answer.addresses);
    EXPECT_EQ(a.answer.ran.outcome, b.answer.ran.outcome);
    EXPECT_EQ(a.answer.ran.what, b.answer.ran.what);
    EXPECT_EQ(a.answer.ran.fault, b.answer.ran.fault);
    EXPECT_EQ(a.answer.outputs, b.answer.outputs);
    EXPECT_EQ(a.answer.traced, b.answer.traced);
    EXPECT_EQ(a.answer.orders, b.answer.orders);
    EXPECT_EQ(a.c.cooperative, b.c.cooperative);
    EXPECT_EQ(a.answer.optimization, b.answer.optimization);
    ASSERT_EQ(a.answer.tracks.size(), b.answer.tracks.size());
    for (size_t i = 0; i < a.answer.tracks.size(); ++i) {
        const validate::Tracks &x = a.answer.tracks[i], &y = b.answer.tracks[i];
        EXPECT_EQ(x.window.first, y.window.first);
        EXPECT_EQ(x.window.words, y.window.words);
        EXPECT_EQ(x.window.first_cta, y.window.first_cta);
        EXPECT_EQ(x.window.ctas, y.window.ctas);
        EXPECT_EQ(x.slack, y.slack);
        EXPECT_TRUE(x.words == y.words);
    }
}

// No two fields alike, none zero.
Recording every_field() {
    Recording r;
    r.name = "a file.ptx";
    r.ptx = small_ptx;
    r.arch = "sm_89";
    r.made_by = "lockwarp 0.0.1";
    r.c.module = ptx::parse(small_ptx).module;
    r.c.entry = "k";
    r.c.grid = {2, 3, 4};
    r.c.block = {40, 5, 2};
    r.c.dynamic_shared = 0x12345678;
    r.c.parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    r.c.patches = {{4, 1, 0x8877665544332211}, {1, 0, 16}};
    r.c.names = {"A", "", "long name \xc3\xa9"};
    r.c.bytes = {{1, 2, 3, 255}, {}, Bytes(300, 0xaa)};
    gpu::Device& d = r.answer.device;
    d.name = "NVIDIA H200";
    d.driver = "580.159.04";
    d.number = 90;
    d.clock_mhz = 1980;
    d.memory = 0x2300000001;
    r.answer.addresses = {0x7f0000000000, 0xffffffffffff0000, 0x700};
    r.answer.ran = {gpu::Outcome::faulted, "an illegal address,\n\ttwo lines",
                    gpu::Fault::address_space};
    r.answer.outputs = {{1, 2, 3, 254}, {}, Bytes(300, 0xab)};
    r.answer.traced =
        gpu::Traced(isa::resolve(r.c.module, isa::Arch::sm_89, "k").program.operations.size());
    r.answer.traced[1] = r.answer.traced[2] = true;
    r.answer.optimization = 2;
    std::mt19937_64 random(1);
    for (const auto& [first_cta, ctas] : {std::pair<uint64_t, uint64_t>{0, 3}, {23, 1}}) {
        validate::Tracks& t = r.answer.tracks.emplace_back();
        t.window = {5 + first_cta, 7 + ctas, first_cta, ctas};
        t.slack = 2 + ctas;
        constexpr uint64_t warps = 13;
        t.words.resize(gpu::trace_bytes(t.window, t.slack, warps));
        // Each warp's track full, empty, or of some length, with zeros in between.
        const uint64_t track = t.words.size() / warps / ctas;
        for (uint64_t w = 0; w < ctas * warps; ++w)
            for (uint64_t i = 0; i < track * w / (ctas * warps - 1); ++i)
                if (random() % 3 != 0) t.words[w * track + i] = static_cast<uint8_t>(random());
        t.words.back() = 9;
    }
    return r;
}

TEST(Recording, EveryFieldComesBack) {
    const Recording r = every_field();
    const Bytes file = validate::write_recording(r);
    Recording back;
    ASSERT_EQ(take(validate::read_recording(file), back), "");
    expect_equal(r, back);
    EXPECT_EQ(validate::write_recording(back), file);
    // Into one that was read before: nothing of it stays.
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(small())), back), "");
    expect_equal(small(), back);
}

TEST(Recording, WithoutRegistersOrMemory) {
    Recording r = every_field();
    r.answer.tracks.clear();
    r.answer.traced.clear();
    Recording back;
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(r)), back), "");
    expect_equal(r, back);
    r.answer.outputs.clear();
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(r)), back), "");
    expect_equal(r, back);
}

// What a recording needs has the lowest version that has it, so that older programs read it.
TEST(Recording, HasTheVersionOfWhatItNeeds) {
    Recording r = every_field();
    EXPECT_EQ(validate::write_recording(r)[3], 3);
    r.answer.optimization = 4;
    EXPECT_EQ(validate::write_recording(r)[3], 1);
    r.answer.orders.assign(r.answer.traced.size(), gpu::Ordered::load);
    EXPECT_EQ(validate::write_recording(r)[3], 2);
    r.answer.orders[0] = gpu::Ordered::result;
    EXPECT_EQ(validate::write_recording(r)[3], 3);
    Recording back;
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(r)), back), "");
    expect_equal(r, back);
}

// The values of functions of constants are the instructions' there, not the assembler's.
TEST(Recording, KeepsTheOptimizationThatItWasMadeAt) {
    validate::Options options;
    options.optimization = 0;
    const Recording r = of_kernel("constants.json", options);
    Recording back;
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(r)), back), "");
    const validate::Report same = replay(back.c, isa::Arch::sm_90, back.answer, {});
    EXPECT_EQ(same.problem, "");
    EXPECT_FALSE(same.first.has_value());
    back.answer.optimization = 4;
    EXPECT_TRUE(replay(back.c, isa::Arch::sm_90, back.answer, {}).first.has_value());
}

TEST(Recording, ReplaysAsItWasCompared) {
    Recording r = of_kernel("gemm_sm80_zfill.json");
    const Bytes file = validate::write_recording(r);
    Recording back;
    ASSERT_EQ(take(validate::read_recording(file), back), "");
    const validate::Report report = replay(back.c, isa::Arch::sm_90, back.answer, {});
    EXPECT_EQ(report.problem, "");
    EXPECT_FALSE(report.first.has_value());
    EXPECT_GT(report.counts.values, 100000u);
    EXPECT_GT(report.counts.memory_bytes, 10000u);
    // About a byte a value.
    EXPECT_LT(file.size(), report.counts.values);
    // One bit of the first result of lane 0.
    validate::Tracks& tracks = r.answer.tracks[0];
    tracks.words[256] ^= 1;
    ASSERT_EQ(take(validate::read_recording(validate::write_recording(r)), back), "");
    const validate::Report other = replay(back.c, isa::Arch::sm_90, back.answer, {});
    ASSERT_TRUE(other.first.has_value());
    EXPECT_EQ(other.first->emulated ^ other.first->other, 1u);
}

TEST(Recording, EveryFlippedBitIsRefused) {
    Bytes file = validate::write_recording(small());
    ASSERT_EQ(problem_of(file), "");
    for (size_t i = 0; i < file.size() * 8; ++i) {
        const auto bit = static_cast<uint8_t>(1u << (i % 8));
        file[i / 8] ^= bit;
        EXPECT_NE(problem_of(file), "") << "bit " << i % 8 << " of byte " << i / 8;
        file[i / 8] ^= bit;
    }
    for (size_t i = 36; i < file.size(); ++i) {
        file[i] ^= 0x5a;
        EXPECT_EQ(problem_of(file), "damaged (checksum)") << i;
        file[i] ^= 0x5a;
    }
}

TEST(Recording, EveryPrefixIsRefused) {
    const Bytes file = validate::write_recording(small());
    for (size_t n = 0; n < file.size(); ++n)
        EXPECT_EQ(problem_of(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n))),
                  n < 4 ? "not a Lockwarp recording" : "cut off");
    Bytes longer = file;
    longer.push_back(0);
    EXPECT_EQ(problem_of(longer), "damaged (bytes after its end)");
}

TEST(Recording, OtherFilesAreRefused) {
    EXPECT_EQ(problem_of(Bytes{}), "not a Lockwarp recording");
    const std::string text = "{\"schema\": \"lockwarp-launch/1\"}";
    EXPECT_EQ(problem_of(Bytes(text.begin(), text.end())), "not a Lockwarp recording");
    Bytes newer = validate::write_recording(small());
    newer[3] = 5;
    EXPECT_EQ(problem_of(newer), "made by a newer Lockwarp (format 5; this one reads 4)");
    newer.resize(4);
    EXPECT_EQ(problem_of(newer), "made by a newer Lockwarp (format 5; this one reads 4)");
}

TEST(Recording, SizesThatAreNotTrueAreRefused) {
    // A frame that is longer decompressed than the header says, and one that is shorter.
    const Bytes a = validate::detail::seal(Bytes(1000, 1)),
                b = validate::detail::seal(Bytes(900, 1));
    const auto fnv = [](const uint8_t* p, size_t n) {
        uint64_t h = 0xcbf29ce484222325;
        for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 0x100000001b3;
        return h;
    };
    for (const uint64_t says : {uint64_t{900}, uint64_t{1001}, uint64_t{0}, uint64_t{1} << 30,
                                uint64_t{1} << 40, UINT64_MAX}) {
        Bytes file = a;
        std::memcpy(file.data() + 12, &says, 8);
        const uint64_t sum = fnv(file.data(), 28);
        std::memcpy(file.data() + 28, &sum, 8);
        EXPECT_EQ(problem_of(file), "damaged (its size is not what it says)") << says;
    }
    Bytes out;
    EXPECT_EQ(take(validate::detail::unseal(b), out), "");
    EXPECT_EQ(out, Bytes(900, 1));
}

// What the fields say and cannot be.
TEST(Recording, WhatDoesNotBelongTogetherIsRefused) {
    using Change = std::function<void(Recording&)>;
    const std::pair<Change, const char*> rows[] = {
        {[](Recording& r) { r.name = "../k.ptx"; }, "its name has a folder"},
        {[](Recording& r) { r.name = "\033[2J"; }, "a name with control characters"},
        {[](Recording& r) { r.answer.device.name = "a\nb"; }, "a name with control characters"},
        {[](Recording& r) { r.c.names[0] = "\x7f"; }, "a name with control characters"},
        {[](Recording& r) { r.answer.ran.what = "\033[2J"; }, "a name with control characters"},
        {[](Recording& r) { r.arch = "sm_12"; }, "recorded on a machine that is not modelled"},
        {[](Recording& r) { r.ptx += "}"; }, "its PTX is refused: line "},
        {[](Recording& r) { r.c.entry = "other"; }, "its PTX is refused: line "},
        {[](Recording& r) { r.c.grid.y = 0; }, "a grid that cannot be"},
        {[](Recording& r) {
             r.c.grid = {1, 1, 65536};
         },
         "a grid that cannot be"},
        {[](Recording& r) { r.c.grid.x = 0x80000000; }, "a grid that cannot be"},
        {[](Recording& r) { r.c.block.z = 0, r.answer.tracks.clear(); }, "a block that cannot be"},
        {[](Recording& r) { r.c.block.x = 1025, r.answer.tracks.clear(); },
         "a block that cannot be"},
        {[](Recording& r) { r.c.patches[0].at = 1; }, "an address outside the parameters"},
        {[](Recording& r) { r.c.patches[0].at = UINT32_MAX; }, "an address outside the parameters"},
        {[](Recording& r) { r.c.patches[0].buffer = 1; }, "an address outside the parameters"},
        {[](Recording& r) { r.c.parameters.resize(7); }, "an address outside the parameters"},
        {[](Recording& r) { r.answer.addresses.clear(); }, "not as many addresses as buffers"},
        {[](Recording& r) { r.answer.addresses[0] = UINT64_MAX - 3; }, "buffers that overlap"},
        {[](Recording& r) {
             r.c.bytes.push_back(Bytes(8));
             r.c.names.push_back("second");
             r.answer.addresses.push_back(r.answer.addresses[0] + 3);
             r.answer.outputs.push_back(Bytes(8));
         },
         "buffers that overlap"},
        {[](Recording& r) { r.answer.outputs.push_back({}); }, "its buffers afterwards are not"},
        {[](Recording& r) { r.answer.outputs[0].push_back(0); }, "a buffer afterwards has another"},
        {[](Recording& r) { r.answer.traced.push_back(true); }, "its tracks are of another"},
        {[](Recording& r) { r.answer.ran.outcome = static_cast<gpu::Outcome>(4); }, "an outcome"},
        {[](Recording& r) { r.answer.ran.fault = static_cast<gpu::Fault>(6); }, "an outcome"},
        {[](Recording& r) { r.answer.tracks[0].window.first_cta = 1; }, "a window of its tracks"},
        {[](Recording& r) { r.answer.tracks[0].window.first = UINT64_MAX; }, "a window of its"},
    };
    for (const auto& [change, expected] : rows) {
        Recording r = small();
        change(r);
        EXPECT_TRUE(problem_of(r).starts_with(std::string("not right: ") + expected))
            << expected << ": " << problem_of(r);
    }
}

TEST(Recording, TracksOfAnotherSizeAreNotWritten) {
    Recording r = small();
    r.answer.tracks[0].words.pop_back();
    EXPECT_TRUE(validate::write_recording(r).empty());
}

// Windows whose products overflow, or are larger than is read, by the numbers in the file.
TEST(Recording, WindowsThatAreTooLargeAreRefused) {
    const Recording r = small();
    const Bytes body = validate::detail::body_of(r);
    // The body ends with one window: five numbers, the only warp's count, its words.
    const Bytes& track = r.answer.tracks[0].words;
    size_t end = track.size();
    while (end != 0 && track[end - 1] == 0) --end;
    const size_t kept = (end + 255) / 256;
    ASSERT_GT(body.size(), kept * 256 + 48);
    const size_t at = body.size() - kept * 256 - 48;
    uint64_t words = 0;
    std::memcpy(&words, body.data() + at + 8, 8);
    ASSERT_EQ(words, r.answer.tracks[0].window.words);
    uint64_t count = 0;
    std::memcpy(&count, body.data() + at + 40, 8);
    ASSERT_EQ(count, kept);
    // 0 first, 1 words, 2 first CTA, 3 CTAs, 4 slack, 5 kept
    for (const size_t field : {0, 1, 2, 3, 4, 5})
        for (const uint64_t value :
             {uint64_t{1} << 23, uint64_t{1} << 41, uint64_t{1} << 56, uint64_t{1} << 63,
              UINT64_MAX, UINT64_MAX - words + 1, uint64_t{1} << 58}) {
            if (field == 0 && value <= uint64_t{1} << 40) continue;
            Bytes changed = body;
            std::memcpy(changed.data() + at + field * 8, &value, 8);
            Recording out;
            EXPECT_NE(take(validate::detail::parse_body(changed), out), "")
                << field << " " << value;
        }
}

// The most memory that the process had so far.
long peak_kib() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

// Bodies with right checksums and wrong bytes: refused, or replayed to some end.
TEST(Recording, MutatedBodies) {
    std::string two = small_ptx;
    two.insert(two.find(')'), ", .param .u64 in");
    const Recording r = recorded(two, "k", 33, {Bytes(4), Bytes(16, 3)}, 2);
    const Bytes body = validate::detail::body_of(r);
    std::mt19937_64 random(20);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    // Half of the changes after the PTX, where the numbers are.
    const size_t ptx_end = 8 + r.name.size() + 8 + r.ptx.size();
    validate::Options how;
    how.max_steps = 1000;
    how.threads = 1;
    size_t accepted = 0, different = 0;
    const long before = peak_kib();
    for (int i = 0; i < 20000; ++i) {
        Bytes changed = body;
        for (size_t n = 1 + below(3); n != 0; --n) {
            const size_t least = below(2) == 0 ? 0 : std::min(ptx_end, changed.size() - 1);
            const size_t at = least + below(changed.size() - least);
            switch (below(5)) {
                case 0:
                    changed[at] ^= static_cast<uint8_t>(1u << below(8));
                    break;
                case 1:
                    changed[at] = static_cast<uint8_t>(random());
                    break;
                case 2: {  // a number where one may be
                    const uint64_t v =
                        below(2) == 0 ? random() >> below(64) : ~uint64_t{0} << below(64);
                    std::memcpy(changed.data() + at, &v, std::min<size_t>(8, changed.size() - at));
                    break;
                }
                case 3:
                    changed.resize(std::max<size_t>(at, 1));
                    break;
                default:
                    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), below(40),
                                   static_cast<uint8_t>(random()));
            }
        }
        Recording out;
        const Bytes file = validate::detail::seal(changed, 1);
        if (!take(validate::read_recording(file), out).empty()) continue;
        ++accepted;
        if (out.c.grid.count() > 64) continue;
        const validate::Report report = replay(out.c, *isa::arch_named(out.arch), out.answer, how);
        different += report.first.has_value();
    }
    EXPECT_GT(accepted, 200u);
    EXPECT_GT(different, 20u);
    EXPECT_LT(peak_kib() - before, 5 << 18) << "more than 1.25 GiB";
}

}  // namespace
}  // namespace lockwarp::recording_test
