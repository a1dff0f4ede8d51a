// SPDX-License-Identifier: Apache-2.0
#include "validate/special.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "emu/num/ieee.hpp"
#include "emu/ptx/parser.hpp"
#include "gpu/special_ptx.hpp"

namespace lockwarp::validate {

namespace {

using gpu::CheckedChunk;
using gpu::CheckedOperand;
using gpu::SpecialForm;
using isa::Type;

constexpr size_t form_count = gpu::special_forms.size();

// Compiled for each form, so that what is known of it is folded into the loop.
template <size_t i>
uint64_t digest_of_form(const num::MufuTables& tables, uint64_t first, uint64_t end) {
    constexpr SpecialForm f = gpu::special_forms[i];
    uint64_t sum = 0;
    for (uint64_t n = first; n < end; ++n) {
        const gpu::Operand x = gpu::operand(f, n);
        sum +=
            gpu::digest_of(n, num::special_function(tables, f.function, f.type, f.ftz, x.a, x.b));
    }
    return sum;
}

using Digest = uint64_t (*)(const num::MufuTables&, uint64_t, uint64_t);

constexpr auto digests = []<size_t... i>(std::index_sequence<i...>) {
    return std::array<Digest, form_count>{digest_of_form<i>...};
}
(std::make_index_sequence<form_count>());

bool same(const SpecialForm& a, const SpecialForm& b) {
    return a.function == b.function && a.type == b.type && a.ftz == b.ftz;
}

// Spelling of an instruction -> the kernel that has it.
void add_entries(const ptx::Function& function, const ptx::Block& block,
                 std::map<std::string, std::string>& entries) {
    for (const ptx::Statement& s : block.body) {
        if (const auto* inner = std::get_if<ptx::Block>(&s.node))
            add_entries(function, *inner, entries);
        const auto* instruction = std::get_if<ptx::Instruction>(&s.node);
        if (instruction == nullptr) continue;
        std::string spelled = instruction->opcode;
        for (const ptx::Modifier& m : instruction->modifiers) spelled += m.text;
        entries.emplace(spelled, function.name);
    }
}

std::map<std::string, std::string> read_entries() {
    std::map<std::string, std::string> entries;
    std::vector<uint16_t> seen;
    for (const SpecialForm& f : gpu::special_forms) {
        if (std::ranges::find(seen, f.target) != seen.end()) continue;
        seen.push_back(f.target);
        const ptx::Parsed parsed = ptx::parse(gpu::special_ptx(f.target));
        for (const auto& item : parsed.module.items)
            if (const auto* function = std::get_if<ptx::Function>(&item);
                function != nullptr && function->is_entry)
                add_entries(*function, function->body, entries);
    }
    return entries;
}

bool stopped(const SpecialOptions& o) {
    return o.stop != nullptr && o.stop->load(std::memory_order_relaxed);
}

struct Range {
    uint64_t first, end;

    uint64_t chunks() const {
        return (end - first + gpu::chunk_operands - 1) / gpu::chunk_operands;
    }
    Range chunk(uint64_t i) const {
        const uint64_t begin = first + i * gpu::chunk_operands;
        return {begin, std::min(end, begin + gpu::chunk_operands)};
    }
};

Range range_of(const SpecialForm& f, const SpecialOptions& o) {
    const uint64_t all = gpu::operand_count(f);
    const uint64_t first = std::min(o.first, all);
    return {first, first + std::min(o.count, all - first)};
}

// The engine's memory, released where it ends.
class Buffer {
  public:
    Buffer(gpu::Engine& engine, uint64_t bytes) : engine_(engine), at_(engine.allocate(bytes)) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (at_ != 0) engine_.release(at_);
    }
    uint64_t address() const { return at_; }

  private:
    gpu::Engine& engine_;
    uint64_t at_;
};

template <class Item>
std::span<uint8_t> bytes_of(std::vector<Item>& items) {
    return {reinterpret_cast<uint8_t*>(items.data()), items.size() * sizeof(Item)};
}

// The kernel over a range, `kept` operands of it one by one.
launch::Result<void> check(gpu::Engine& engine, const SpecialForm& form, uint32_t optimization,
                           Range range, std::vector<CheckedChunk>& chunks,
                           std::vector<CheckedOperand>& operands) {
    const std::string entry = special_entry(form);
    if (entry.empty()) return launch::failure("no kernel has this instruction");
    chunks.assign(range.chunks(), {});
    const Buffer chunk_buffer(engine, bytes_of(chunks).size());
    const Buffer operand_buffer(engine, bytes_of(operands).size());
    if (chunk_buffer.address() == 0 || operand_buffer.address() == 0)
        return launch::failure("no memory on the GPU");
    gpu::Job job;
    job.ptx = gpu::special_ptx(form.target);
    job.entry = entry;
    job.grid = {static_cast<uint32_t>(chunks.size()), 1, 1};
    job.block = {gpu::check_threads, 1, 1};
    job.optimization = optimization;
    for (const uint64_t word : {range.first, range.end, chunk_buffer.address(),
                                uint64_t{operands.size()}, operand_buffer.address()})
        for (int i = 0; i < 8; ++i) job.parameters.push_back(static_cast<uint8_t>(word >> (8 * i)));
    // What the kernel does not write must not look like a result.
    if (launch::Result<void> ok = engine.clear(chunk_buffer.address(), bytes_of(chunks).size());
        !ok)
        return ok;
    if (const gpu::Ran ran = engine.run(job); ran.outcome != gpu::Outcome::done)
        return launch::failure(ran.what.empty() ? "the kernel did not end" : ran.what);
    if (launch::Result<void> ok = engine.read(chunk_buffer.address(), bytes_of(chunks)); !ok)
        return ok;
    if (operands.empty()) return {};
    return engine.read(operand_buffer.address(), bytes_of(operands));
}

// The model here, chunk by chunk, on all cores.
std::vector<uint64_t> host_digests(const SpecialForm& form, Range range, const SpecialOptions& o) {
    std::vector<uint64_t> out(range.chunks());
    std::atomic<uint64_t> next{0};
    const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
    const uint64_t threads = std::min<uint64_t>(o.threads != 0 ? o.threads : cores, out.size());
    std::vector<std::jthread> running;
    for (uint64_t t = 0; t < threads; ++t)
        running.emplace_back([&] {
            for (uint64_t i = next++; i < out.size() && !stopped(o); i = next++) {
                const Range r = range.chunk(i);
                out[i] = special_digest(form, *o.tables, r.first, r.end);
                if (o.done != nullptr) o.done->fetch_add(r.end - r.first);
            }
        });
    return out;
}

// The first differing operands of a chunk, fetched one by one.
launch::Result<void> look_into(gpu::Engine& engine, Range chunk, const SpecialOptions& o,
                               SpecialReport& report) {
    const SpecialForm& f = report.form;
    std::vector<CheckedChunk> chunks;
    std::vector<CheckedOperand> operands(chunk.end - chunk.first);
    if (launch::Result<void> ok = check(engine, f, o.optimization, chunk, chunks, operands); !ok)
        return ok;
    for (size_t i = 0; i < operands.size() && report.shown.size() < o.max_shown; ++i) {
        const gpu::Operand x = gpu::operand(f, chunk.first + i);
        const uint64_t host = num::special_function(*o.tables, f.function, f.type, f.ftz, x.a, x.b);
        if (operands[i].instruction != host || operands[i].instruction != operands[i].model)
            report.shown.push_back(
                {chunk.first + i, x, operands[i].instruction, operands[i].model, host});
    }
    return {};
}

std::string half_value(Type type, uint64_t bits) {
    const auto wide = static_cast<uint32_t>(num::convert(type, Type::f32, bits, num::Rounding::rn));
    return fmt::format("{:.9g}", std::bit_cast<float>(wide));
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

std::string special_entry(const SpecialForm& form) {
    static const std::map<std::string, std::string> entries = read_entries();
    const auto found = entries.find(std::string(gpu::spelling(form).view()));
    return found == entries.end() ? std::string() : found->second;
}

uint64_t special_digest(const SpecialForm& form, const num::MufuTables& tables, uint64_t first,
                        uint64_t end) {
    for (size_t i = 0; i < form_count; ++i)
        if (same(gpu::special_forms[i], form)) return digests[i](tables, first, end);
    return 0;
}

uint64_t swept_operands(const SpecialForm& form, const SpecialOptions& options) {
    const Range range = range_of(form, options);
    return range.end - range.first;
}

std::vector<SpecialReport> sweep_special(const SpecialForm& form,
                                         std::span<gpu::Engine* const> engines,
                                         const SpecialOptions& options) {
    const Range range = range_of(form, options);
    std::vector<SpecialReport> reports(engines.size());
    std::vector<std::vector<CheckedChunk>> found(engines.size());
    for (size_t e = 0; e < engines.size(); ++e) {
        SpecialReport& r = reports[e];
        r.form = form;
        r.name = gpu::spelling(form).view();
        if (range.first == range.end) r.problem = "there are no such operands";
        if (!r.problem.empty() || stopped(options)) continue;
        const auto begin = Clock::now();
        std::vector<CheckedOperand> none;
        if (const launch::Result<void> ok =
                check(*engines[e], form, options.optimization, range, found[e], none);
            !ok)
            r.problem = ok.error().sentence;
        r.gpu_seconds = seconds_since(begin);
    }
    if (range.first == range.end || stopped(options)) return reports;
    const auto begin = Clock::now();
    const std::vector<uint64_t> host = host_digests(form, range, options);
    const double host_seconds = seconds_since(begin);
    if (stopped(options)) return reports;
    for (size_t e = 0; e < engines.size(); ++e) {
        SpecialReport& r = reports[e];
        r.host_seconds = host_seconds;
        if (!r.problem.empty()) continue;
        r.operands = range.end - range.first;
        r.chunks = range.chunks();
        for (uint64_t i = 0; i < r.chunks && r.problem.empty() && !stopped(options); ++i) {
            const bool differs = host[i] != found[e][i].digest;
            r.different_on_gpu += found[e][i].different;
            r.different_chunks += differs;
            if ((differs || found[e][i].different != 0) && r.shown.size() < options.max_shown)
                if (const launch::Result<void> ok =
                        look_into(*engines[e], range.chunk(i), options, r);
                    !ok)
                    r.problem = ok.error().sentence;
        }
    }
    return reports;
}

std::string special_value(Type type, uint64_t bits) {
    std::string out = fmt::format("0x{:0{}x} (", bits, isa::bits(type) / 4);
    switch (type) {
        case Type::f32:
            out += fmt::format("{:.9g}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
            break;
        case Type::f64:
            out += fmt::format("{:.17g}", std::bit_cast<double>(bits));
            break;
        case Type::f16x2:
        case Type::bf16x2: {
            const Type element = type == Type::f16x2 ? Type::f16 : Type::bf16;
            out += half_value(element, bits & 0xffff) + ", " + half_value(element, bits >> 16);
            break;
        }
        default:
            out += half_value(type, bits);
    }
    return out + ")";
}

std::string special_operand(const SpecialForm& form, const gpu::Operand& x) {
    std::string out = special_value(form.type, x.a);
    if (gpu::is_quotient(form)) out += " / " + special_value(form.type, x.b);
    return out;
}

}  // namespace lockwarp::validate
