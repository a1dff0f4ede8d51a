// SPDX-License-Identifier: Apache-2.0
// Who tests the comparator? An engine that answers as a GPU would, and lies in one place: one bit
// of one register of one lane at one step. Each lie is found where it was told, by words, by
// digests and from a recording; the truth is never a difference.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "emu/isa/resolver.hpp"
#include "emu/lockwarp.hpp"
#include "emu/ptx/printer.hpp"
#include "gpu/trace.hpp"
#include "tests/validate/lies_kernel.hpp"
#include "validate/emulator_engine.hpp"
#include "validate/lockstep.hpp"
#include "validate/recording.hpp"

namespace lockwarp::lies_test {
namespace {

using lies::case_of;
using lies::ctas;
using lies::widths;
using validate::DifferenceKind;

constexpr isa::Arch arch = isa::Arch::sm_90;

// An execution of an instruction by a lane: the count-th of this operation, from 0.
struct Where {
    uint64_t cta = 0;
    uint32_t warp = 0;
    uint32_t operation = 0;
    uint32_t lane = 0;
    uint64_t count = 0;
};

struct Lie {
    Where where;
    uint32_t reg = 0;  // of the registers written
    uint64_t flipped = 0;
};

// Operations of the kernel by those of the module that an engine is given: the same instructions in
// the same order, among others.
std::vector<uint32_t> originals(const launch::Case& c, const ptx::Module& module,
                                const isa::Program& program) {
    const ptx::Module written = gpu::with_explicit_rounding(c.module);
    const isa::Resolved resolved = isa::resolve(written, arch, c.entry);
    std::vector<std::string> wanted;
    for (const ptx::Instruction* i : gpu::instructions_of(written, resolved.program))
        wanted.push_back(i == nullptr ? "" : ptx::print(*i));
    std::vector<uint32_t> out;
    uint32_t next = 0;
    for (const ptx::Instruction* i : gpu::instructions_of(module, program)) {
        const std::string text = i == nullptr ? "" : ptx::print(*i);
        const bool is_it = next < wanted.size() && text == wanted[next];
        out.push_back(is_it ? next++ : UINT32_MAX);
    }
    EXPECT_EQ(next, wanted.size()) << "an instruction is not as it was";
    return out;
}

class Liar : public validate::EmulatorEngine, public warp::Oracle, public warp::Observer {
  public:
    Liar(const launch::Case& c, std::optional<Lie> lie)
        : EmulatorEngine(arch, false, 1), case_(c), lie_(lie) {}
    uint32_t told = 0;

  protected:
    void prepare(const ptx::Module& module, const isa::Program& program,
                 warp::Launch& launch) override {
        if (!lie_) return;
        originals_ = originals(case_, module, program);
        count_ = 0;
        launch.oracle = this;
        launch.observers = {this};
    }

  private:
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace& cta) override {
        return cta.index == lie_->where.cta ? std::make_unique<warp::CtaObserver>() : nullptr;
    }
    bool knows(uint32_t operation) const override {
        return originals_[operation] == lie_->where.operation;
    }
    void supply(const warp::Retired& e, uint8_t* registers) override {
        const Where& w = lie_->where;
        if (!knows(e.operation) || e.warp != w.warp || (e.executed >> w.lane & 1) == 0) return;
        if (count_++ != w.count) return;
        ++told;
        const isa::Operation& o = e.program->operations[e.operation];
        const isa::Register& r = e.program->registers[e.program->uses[o.first_use + lie_->reg]];
        const bool is_predicate = r.type == isa::Type::pred;
        const size_t bytes = is_predicate || isa::bits(r.type) != 64 ? 4 : 8;
        uint8_t* const at = registers + r.ref + (is_predicate ? 0 : w.lane * bytes);
        uint64_t value = 0;
        std::memcpy(&value, at, bytes);
        value ^= is_predicate ? uint64_t{1} << w.lane : lie_->flipped;
        std::memcpy(at, &value, bytes);
    }

    const launch::Case& case_;
    std::optional<Lie> lie_;
    std::vector<uint32_t> originals_;
    uint64_t count_ = 0;
};

// Of registers with these names addresses are made: a lie in one may end in a fault.
bool is_address(const std::string& name) {
    return name.starts_with("%a") || name.starts_with("%b");
}

// An instruction of a warp that wrote registers, as the emulator has it.
struct Event {
    uint64_t cta;
    uint32_t warp, operation;
    uint64_t step;
    uint32_t executed;
    std::vector<uint64_t> counts;  // earlier executions of the operation, by lane
};

struct Listener : warp::Observer {
    struct OfCta : warp::CtaObserver {
        void retired(const warp::Retired& e) override {
            const isa::Operation& o = e.program->operations[e.operation];
            std::vector<uint64_t>& counts = executions[{e.warp, e.operation}];
            counts.resize(32);
            if (o.written != 0 && e.executed != 0)
                events.push_back({e.cta_index, e.warp, e.operation, e.step, e.executed, counts});
            for (uint32_t l = 0; l < 32; ++l) counts[l] += e.executed >> l & 1;
        }
        std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> executions;
        std::vector<Event> events;
    };
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>();
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> cta) override {
        for (Event& e : static_cast<OfCta&>(*cta).events) events.push_back(std::move(e));
    }
    std::vector<Event> events;
};

std::vector<Event> events_of(const launch::Case& c, const isa::Program& program) {
    warp::Launch launch;
    launch.grid = c.grid;
    launch.block = c.block;
    launch.threads = 1;
    std::vector<uint8_t> bytes = c.bytes[0];
    constexpr uint64_t address = uint64_t{1} << 40;
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &address, 8);
    launch.buffers = {{"out", address, bytes}};
    Listener listener;
    launch.observers = {&listener};
    const warp::Result result = exec::launch(program, launch);
    EXPECT_FALSE(result.trap.has_value()) << result.trap->detail;
    return listener.events;
}

enum class By : uint8_t { words, digests, recording };
std::ostream& operator<<(std::ostream& out, By by) {
    return out << (by == By::words ? "words" : by == By::digests ? "digests" : "recording");
}

// What is said beside the engine.
validate::Report compared(const launch::Case& c, gpu::Engine& engine, By by, uint64_t trace_bytes) {
    validate::Options options;
    options.registers =
        by == By::digests ? validate::Registers::digests : validate::Registers::words;
    options.trace_bytes = trace_bytes;
    options.threads = 1;
    if (by != By::recording) return run_lockstep(c, arch, engine, options);
    validate::Answer answer;
    run_lockstep(c, arch, engine, options, &answer);
    return replay(c, arch, answer, options);
}

struct Told {
    size_t lies = 0;
    std::set<uint32_t> lanes, bits, operations;
    std::set<uint64_t> places;  // CTA and warp
};

void tell(const launch::Case& c, const isa::Program& program, const Event& e, uint32_t lane,
          uint32_t reg, unsigned bit, By by, uint64_t trace_bytes, Told& all) {
    const isa::Operation& o = program.operations[e.operation];
    const isa::Register& r = program.registers[program.uses[o.first_use + reg]];
    const uint64_t flipped = r.type == isa::Type::pred ? 1 : uint64_t{1} << bit;
    Liar liar(c, Lie{{e.cta, e.warp, e.operation, lane, e.counts[lane]}, reg, flipped});
    const validate::Report report = compared(c, liar, by, trace_bytes);
    const std::string where = "line " + std::to_string(o.place.line) + ", CTA " +
                              std::to_string(e.cta) + ", warp " + std::to_string(e.warp) +
                              ", step " + std::to_string(e.step) + ", lane " +
                              std::to_string(lane) + ", bit " + std::to_string(bit);
    ASSERT_GE(liar.told, 1u) << where;
    ASSERT_EQ(report.problem, "") << where;
    ASSERT_TRUE(report.first.has_value()) << where << " is not found by " << by;
    const validate::Difference& d = *report.first;
    if (is_address(r.name) && d.kind == DifferenceKind::fault) return;
    EXPECT_EQ(d.kind, DifferenceKind::value) << where;
    EXPECT_EQ(d.operation, e.operation) << where << " by " << by;
    EXPECT_EQ(d.cta_index, e.cta) << where;
    EXPECT_EQ(d.warp, e.warp) << where;
    EXPECT_EQ(d.step, e.step) << where;
    EXPECT_EQ(d.lane, lane) << where;
    EXPECT_EQ(d.reg, reg) << where;
    EXPECT_EQ(d.emulated ^ d.other, flipped) << where;
    ++all.lies;
    all.lanes.insert(lane);
    all.bits.insert(isa::bits(r.type) * 64 + bit);
    all.operations.insert(e.operation);
    all.places.insert(e.cta * 2 + e.warp);
}

class Lies : public testing::TestWithParam<std::tuple<By, uint64_t>> {};

TEST_P(Lies, AreFoundWhereTheyWereTold) {
    const auto& [by, trace_bytes] = GetParam();
    const launch::Case c = case_of(widths);
    const isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
    ASSERT_TRUE(resolved.diagnostics.empty()) << resolved.diagnostics[0].message;
    const std::vector<Event> events = events_of(c, resolved.program);
    Liar honest(c, std::nullopt);
    const validate::Report truth = compared(c, honest, by, trace_bytes);
    ASSERT_EQ(truth.problem, "");
    ASSERT_FALSE(truth.first.has_value()) << text_report(truth, honest.device(), "k.ptx");
    if (by == By::words && trace_bytes < 1 << 20) {
        EXPECT_GT(truth.windows, uint64_t{ctas});
    }
    Told all;
    uint32_t turn = static_cast<uint32_t>(by) * 11 + static_cast<uint32_t>(trace_bytes);
    for (const Event& e : events) {
        const validate::Counts& known = truth.by_operation[e.operation];
        if (known.masked + known.taken + known.unwritten + known.places != 0) continue;
        const isa::Operation& o = resolved.program.operations[e.operation];
        for (uint32_t reg = 0; reg < o.written; ++reg) {
            turn += 7;
            uint32_t lane = turn % 32;
            while ((e.executed >> lane & 1) == 0) lane = (lane + 1) % 32;
            const isa::Register& r =
                resolved.program.registers[resolved.program.uses[o.first_use + reg]];
            const unsigned width = r.type == isa::Type::pred ? 1 : isa::bits(r.type);
            tell(c, resolved.program, e, lane, reg, turn * 5 % std::min(width, 64u), by,
                 trace_bytes, all);
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_GT(all.lies, 300u);
    EXPECT_EQ(all.lanes.size(), 32u);
    EXPECT_GT(all.bits.size(), 64u);
    EXPECT_GT(all.operations.size(), 30u);
    EXPECT_EQ(all.places.size(), size_t{ctas} * 2);
}

// Tracks that fit whole, and in several windows.
INSTANTIATE_TEST_SUITE_P(Comparator, Lies,
                         testing::Combine(testing::Values(By::words, By::digests, By::recording),
                                          testing::Values(uint64_t{1} << 30, uint64_t{280} << 10)),
                         [](const testing::TestParamInfo<Lies::ParamType>& p) {
                             return testing::PrintToString(std::get<0>(p.param)) + "_in_" +
                                    std::to_string(std::get<1>(p.param) >> 10) + "_KiB";
                         });

// Each lane and each bit of one register, and of a predicate.
TEST(LiesOfOneRegister, EveryLaneAndEveryBit) {
    const launch::Case c = case_of(widths);
    const isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
    const std::vector<Event> events = events_of(c, resolved.program);
    Told all;
    std::set<std::string> wanted{"setp.lt.u32", "mad.lo.u16", "fma.rn.f64", "not.b32"};
    const std::vector<const ptx::Instruction*> text =
        gpu::instructions_of(c.module, resolved.program);
    for (const Event& e : events) {
        if (e.cta != 1 || wanted.erase(isa::spelled(*text[e.operation])) == 0) continue;
        const isa::Operation& o = resolved.program.operations[e.operation];
        const isa::Register& r = resolved.program.registers[resolved.program.uses[o.first_use]];
        const unsigned width = r.type == isa::Type::pred ? 1 : isa::bits(r.type);
        for (uint32_t i = 0; i < std::max(32u, width); ++i) {
            const uint32_t lane = i % 32;
            if ((e.executed >> lane & 1) == 0) continue;
            tell(c, resolved.program, e, lane, 0, i % width, By::words, uint64_t{1} << 30, all);
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_TRUE(wanted.empty()) << *wanted.begin();
    EXPECT_GT(all.lies, 130u);
}

// Of a predicate that is set in one lane alone, or in all others.
TEST(LiesOfAPredicate, AreFoundInEachLane) {
    for (const std::string compare : {"eq", "ne"})
        for (uint32_t lane = 0; lane < 32; ++lane) {
            const launch::Case c =
                case_of(".reg .pred %p<2>; .reg .b32 %r<2>;\nmov.u32 %r1, %laneid;\nsetp." +
                        compare + ".u32 %p1, %r1, " + std::to_string(lane) + ";\nret;");
            const isa::Resolved resolved = isa::resolve(c.module, arch, c.entry);
            const std::vector<Event> events = events_of(c, resolved.program);
            Told all;
            for (const uint32_t other : {lane, (lane + 9) % 32})
                tell(c, resolved.program, events.at(1), other, 0, 0, By::words, uint64_t{1} << 30,
                     all);
            EXPECT_EQ(all.lies, 2u);
        }
}

}  // namespace
}  // namespace lockwarp::lies_test
