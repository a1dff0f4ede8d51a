// SPDX-License-Identifier: Apache-2.0
// One self-contained page with every instruction in it: elements, lanes and registers to choose,
// and what belongs together lit up. The page holds tables made here and works out no layout itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockwarp::lanes {

// What the page is made from: every instruction on every architecture that has it, what they share
// stored once.
nlohmann::ordered_json explorer_data(std::string_view version);

// The page: HTML, style, program and data in one text that loads nothing. `traces`: dot products
// step by step, {"texts": [...], "of": {key: [{"name", "c", "archs": {arch: text}}]}}.
std::string explorer_page(std::string_view version, const nlohmann::ordered_json& traces);

// The page without data, as lanes/explorer.html has it.
std::string_view explorer_template();

}  // namespace lockwarp::lanes
