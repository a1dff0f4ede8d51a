// Made by: lockwarp fidelity --from tests/golden
#include <array>

#include "validate/fidelity.hpp"

namespace lockwarp::validate {

namespace {

// clang-format off
constexpr std::array<RecordedRow, 0> rows{};
// clang-format on

}  // namespace

std::span<const RecordedRow> recorded_rows() { return rows; }

}  // namespace lockwarp::validate
