// SPDX-License-Identifier: Apache-2.0
// The subcommands as rows, in the order of --help. A new one is a file X_command.cpp that defines
// add_X, and here its declaration and its row.
#pragma once

#include <array>
#include <string_view>

namespace CLI {
class App;
}

namespace lockwarp::tools {

// Adds one subcommand with its options to the app; when the command line names it, parsing runs it
// and sets `status`, the program's exit status.
using AddCommand = void(CLI::App& app, int& status);

AddCommand add_run, add_time, add_validate, add_fuzz, add_record, add_replay, add_special,
    add_calibrate, add_measure, add_fidelity, add_list, add_arch, add_report;
AddCommand add_info, add_where, add_what, add_table, add_layout, add_compat, add_explorer,
    add_explain, add_equiv, add_banks, add_ldmatrix, add_stmatrix, add_movmatrix, add_swizzle,
    add_descriptor, add_completion;

struct Command {
    AddCommand* add;
    std::string_view group = {};  // its heading in --help; empty: the first one
};

inline constexpr std::string_view about_lanes =
    "Which lane holds which element, and why the bits are so";

inline constexpr std::array commands{
    Command{add_run},
    Command{add_time},
    Command{add_validate},
    Command{add_fuzz},
    Command{add_record},
    Command{add_replay},
    Command{add_special},
    Command{add_calibrate},
    Command{add_measure},
    Command{add_fidelity},
    Command{add_list},
    Command{add_arch},
    Command{add_report},
    Command{add_info, about_lanes},
    Command{add_where, about_lanes},
    Command{add_what, about_lanes},
    Command{add_table, about_lanes},
    Command{add_layout, about_lanes},
    Command{add_compat, about_lanes},
    Command{add_explorer, about_lanes},
    Command{add_explain, about_lanes},
    Command{add_equiv, about_lanes},
    Command{add_banks, about_lanes},
    Command{add_ldmatrix, about_lanes},
    Command{add_stmatrix, about_lanes},
    Command{add_movmatrix, about_lanes},
    Command{add_swizzle, about_lanes},
    Command{add_descriptor, about_lanes},
    Command{add_completion},  // --help does not list it
};

}  // namespace lockwarp::tools
