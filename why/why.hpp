// SPDX-License-Identifier: Apache-2.0
// Why a matrix is not what it should be: which elements are wrong and how, and what in the program
// or the data explains it. A hypothesis explains an element where the changed program, run on the
// emulator, gives what is expected there.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "why/error_map.hpp"
#include "why/hypothesis.hpp"
#include "why/subject.hpp"

namespace lockwarp::why {

// One change, or two together.
struct Explanation {
    std::vector<Candidate> parts;
    uint64_t explained = 0;  // wrong elements that are right with it
    uint64_t broken = 0;     // right ones that are wrong with it
    double likely = 0;       // the share of right products then, and how ordinary the mapping is
    enum class Fresh : uint8_t { not_tried, right, wrong } fresh = Fresh::not_tried;
    bool all(uint64_t wrong) const {
        return explained == wrong && broken == 0 && fresh != Fresh::wrong;
    }
};

struct Answer {
    ErrorMap map;
    bool trapped = false;                   // the program, as it is
    std::vector<Explanation> explanations;  // the best first
    std::vector<std::string> measured;      // what the mapping shows, in sentences
    std::string reservation;                // what the data cannot tell; may be empty
    uint64_t tried = 0;                     // changed programs and data that were run
    bool out_of_time = false;
};

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::chrono::milliseconds usual_time{200'000};  // all is slower
#else
inline constexpr std::chrono::milliseconds usual_time{10'000};
#endif

struct Limits {
    std::chrono::milliseconds time = usual_time;
    bool pairs = true;  // two changes together, where none explains all alone
};

[[nodiscard]] launch::Result<Answer> ask(const Subject& subject, const Limits& limits);

}  // namespace lockwarp::why
