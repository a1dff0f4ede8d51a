// SPDX-License-Identifier: Apache-2.0
#include "why/subject.hpp"

#include <cmath>

#include "launch/values.hpp"

namespace lockwarp::why {

bool is_right(isa::Type type, uint64_t bits, const Wanted& wanted) {
    if (bits == wanted.bits) return true;
    if (wanted.by_bits) return false;
    const double value = launch::value_of(type, bits);
    if (std::isnan(value) || std::isnan(wanted.value))
        return std::isnan(value) && std::isnan(wanted.value);
    return value == wanted.value || std::fabs(value - wanted.value) <= wanted.slack;
}

size_t Subject::buffer_named(const std::string& name) const {
    const std::vector<launch::BufferField>& all = file().buffers;
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i].name == name) return i;
    return SIZE_MAX;
}

namespace {

// One launch; false: it did not end well.
bool run_step(const Subject& s, size_t step, launch::State& state, const Change& change,
              Outcome& out) {
    const launch::Loaded& loaded = (*s.steps)[step];
    const bool changed = step == s.step;
    const isa::Program& program =
        changed && change.program != nullptr ? *change.program : loaded.program;
    launch::Result<warp::Launch> launch =
        launch::make_launch(loaded.in.launch, loaded.in.kernel(), program, state.memory);
    if (!launch) return false;
    std::vector<uint8_t> variables = launch::variables_before(state, loaded.in, program);
    launch->variables = &variables;
    launch->stop = s.stop;
    launch->max_steps = change.max_steps;
    if (changed) {
        if (change.observer != nullptr) launch->observers.push_back(change.observer);
        launch->oracle = change.oracle;
        launch->first_cta = change.first_cta;
        launch->ctas = change.ctas;
        // What listens is no more than one thread's.
        if (change.ctas == 1 || change.observer != nullptr) launch->threads = 1;
    }
    const warp::Result result = exec::launch(program, *launch);
    out.instructions += result.statistics.instructions;
    if (result.refusal || result.trap) return false;
    launch::keep_variables(state, loaded.in, program, variables);
    return true;
}

}  // namespace

Outcome run(const Subject& subject, const Change& change) {
    Outcome out;
    launch::State state = subject.begin;
    if (change.before != nullptr) state.memory.bytes = *change.before;
    out.ended = true;
    for (size_t i = 0; i < subject.steps->size() && out.ended; ++i)
        out.ended = run_step(subject, i, state, change, out);
    out.after = std::move(state.memory.bytes);
    return out;
}

uint64_t element(const Subject& subject, const Bytes& bytes, uint64_t index) {
    const std::span<const uint8_t> whole = bytes[subject.buffer];
    return launch::element(whole.subspan(subject.offset), subject.type, index);
}

uint64_t count_right(const Subject& subject, const Bytes& after,
                     const std::vector<Wanted>& wanted) {
    uint64_t right = 0;
    for (uint64_t i = 0; i < wanted.size(); ++i)
        right += is_right(subject.type, element(subject, after, i), wanted[i]) ? 1 : 0;
    return right;
}

}  // namespace lockwarp::why
