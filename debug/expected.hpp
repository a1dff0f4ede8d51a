// SPDX-License-Identifier: Apache-2.0
// What the operands of a matrix instruction should be, where the launch file says of which product
// its result is: the tile of A and B that belongs to the elements of D in which the sums are
// stored. Which those are is measured (why/mapping.hpp), and not guessed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debug/fragment.hpp"
#include "why/mapping.hpp"

namespace lockwarp::debug {

// The product as a question, for the launches of a session; an error: the launch file expects none.
using SubjectOf =
    std::function<launch::Result<why::Subject>(const std::vector<launch::Loaded>& launches)>;

class Expected {
  public:
    // launches must outlive it. stop: ends the runs that measure; may be nullptr.
    Expected(const SubjectOf& subject, const std::vector<launch::Loaded>& launches,
             const std::atomic<bool>* stop);
    // Why nothing is known; empty: something may be.
    const std::string& problem() const { return problem_; }

    // An operand of the instruction at hand: of A, B and C before the warp runs it, of D behind it.
    // nullopt: what it should be is not known there.
    std::optional<Should> of(const View& view, size_t launch, const Fragments& f,
                             const FragmentOperand& o);

  private:
    struct Cta;
    const Cta* measured(uint64_t cta);

    std::string problem_;
    std::optional<why::Subject> subject_;
    const std::atomic<bool>* stop_;
    why::ProbeData data_;
    std::map<uint64_t, std::shared_ptr<const Cta>> ctas_;
};

}  // namespace lockwarp::debug
