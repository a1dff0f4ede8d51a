// SPDX-License-Identifier: Apache-2.0
// How a number, or a rule of the arithmetic, is known: one scale for every table.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockwarp::isa {

// From the best known to the least.
enum class Evidence : uint8_t {
    measured,    // by this project's own probes, on the GPU that the row names
    replayed,    // equal to published results of that hardware, which were replayed
    assembler,   // read from the code, or the schedule, that NVIDIA's assembler writes
    literature,  // a manual's, a data sheet's or a publication's
    derived,     // from what is known of related instructions or architectures
    guessed,     // nothing is known of it
};

struct EvidenceWords {
    Evidence evidence;
    std::string_view word;
    std::string_view brief;  // for the columns of a table
};

inline constexpr auto evidence_words = std::to_array<EvidenceWords>({
    {Evidence::measured, "measured", "meas."},
    {Evidence::replayed, "replayed", "repl."},
    {Evidence::assembler, "assembler", "asm."},
    {Evidence::literature, "literature", "lit."},
    {Evidence::derived, "derived", "der."},
    {Evidence::guessed, "guessed", "guess"},
});
static_assert(
    [] {
        for (size_t i = 0; i < evidence_words.size(); ++i)
            if (static_cast<size_t>(evidence_words[i].evidence) != i) return false;
        return evidence_words.back().evidence == Evidence::guessed;
    }(),
    "evidence_words has a row for each Evidence, in its order");

constexpr std::string_view text_of(Evidence e) {
    return evidence_words[static_cast<size_t>(e)].word;
}
constexpr std::string_view brief(Evidence e) {
    return evidence_words[static_cast<size_t>(e)].brief;
}

}  // namespace lockwarp::isa
