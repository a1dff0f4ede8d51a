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

AddCommand add_run, add_exec, add_check, add_why, add_debug, add_dap, add_trace, add_diff, add_init,
    add_time, add_capture, add_validate, add_fuzz, add_record, add_replay, add_special,
    add_calibrate, add_measure, add_fidelity, add_list, add_arch, add_report;
AddCommand add_info, add_where, add_what, add_table, add_layout, add_compat, add_explorer,
    add_explain, add_equiv, add_banks, add_ldmatrix, add_stmatrix, add_movmatrix, add_swizzle,
    add_descriptor, add_tensormap, add_completion;

struct Command {
    AddCommand* add;
    std::string_view group = {};     // its heading in --help; empty: the first one
    std::string_view examples = {};  // lines for the end of its --help
    std::string_view exits = {};     // its exit statuses
};

inline constexpr std::string_view about_lanes =
    "Which lane holds which element, and why the bits are so";

inline constexpr std::string_view exits_of_answers = "Exit status: 0 done; 2 wrong usage or input.";
inline constexpr std::string_view exits_of_runs =
    "Exit status: 0 done; 1 the program trapped, or a check found something; 2 wrong usage or\n"
    "input; 130 interrupted.";
inline constexpr std::string_view exits_of_checks =
    "Exit status: 0 no error was found (notes may be); 1 an error; 2 wrong usage or input;\n"
    "130 interrupted.";
inline constexpr std::string_view exits_of_comparisons =
    "Exit status: 0 identical; 1 a difference; 2 wrong usage or input, or something could not be\n"
    "compared; 77 a GPU is needed and there is none; 130 interrupted.";
inline constexpr std::string_view exits_of_reports =
    "Exit status: as that of the runs: 0 identical; 1 a difference; 2 a case could not be "
    "compared,\n"
    "or a report not read; 77 they were skipped.";
inline constexpr std::string_view exits_of_validate =
    "Exit status: 0 identical, or identical at --optimize 0; 1 a difference, or both sides fault;\n"
    "2 wrong usage or input, or something could not be compared; 77 a GPU is needed and there is\n"
    "none; 130 interrupted.";
inline constexpr std::string_view exits_of_measurements =
    "Exit status: 0 done; 1 nothing was measured; 2 wrong usage or input, or a kernel was not\n"
    "measured; 77 there is no GPU; 130 interrupted.";

inline constexpr std::array commands{
    Command{
        add_run,
        {},
        "  lockwarp run kernel.json --print D:f16:16x8\n"
        "  lockwarp run kernel.json --arch sm_90 --out results --stats\n"
        "  lockwarp run kernel.cu kernel.json             compiled by nvcc, where there is one\n"
        "  lockwarp run kernel.json --check               every check\n"
        "  lockwarp run *.json --junit lockwarp.xml       as tests: each holds what it expects\n",
        exits_of_runs},
    Command{add_check,
            {},
            "  lockwarp check kernel.json                     every check\n"
            "  lockwarp check *.json --format sarif --output lockwarp.sarif\n"
            "  lockwarp check kernel.json --check sync,memory --suppress known.txt\n",
            exits_of_checks},
    Command{add_why,
            {},
            "  lockwarp why kernel.json                       the launch file expects a result\n"
            "  lockwarp why kernel.json --product \"D=A*B':16x8x16:f16:f32\" --svg errors.svg\n",
            "Exit status: 0 all is as expected; 1 it is not; 2 wrong usage or input; 130 "
            "interrupted."},
    Command{add_exec,
            {},
            "  lockwarp exec -- ./program                     of CUDA's runtime or the driver API\n"
            "  lockwarp exec --arch sm_90 -- python3 script.py\n"
            "  lockwarp exec --check --junit checks.xml -- ./tests\n",
            "Exit status: the program's own; where that is 0, 1 where --check found something; 2 "
            "wrong\n"
            "usage, or a program that cannot be run."},
    Command{add_debug,
            {},
            "  lockwarp debug kernel.json                     a session; help lists its commands\n"
            "  lockwarp debug kernel.json --batch --ex \"b mma\" --ex run --ex \"frag A\"\n"
            "  lockwarp debug kernel.json --batch --ex run    where it traps, if it does\n",
            "Exit status: 0 done; 1 with --batch: the run trapped; 2 wrong usage or input."},
    Command{add_dap,
            {},
            "  lockwarp dap                                   as an editor starts it\n"
            "  lockwarp dap --port 0                          for one client of this machine\n",
            "Exit status: 0 done; 2 wrong usage, or the port cannot be had."},
    Command{add_trace,
            {},
            "  lockwarp trace kernel.json --instruction mma --warp 0 --lane 0,1\n"
            "  lockwarp trace kernel.json --line 40-80 --cta 1,0,0 --output trace.tsv\n",
            "Exit status: 0 done; 1 the program trapped; 2 wrong usage or input, or no row; 130\n"
            "interrupted."},
    Command{
        add_diff,
        {},
        "  lockwarp diff before.json after.json           the first register that differs\n"
        "  lockwarp diff kernel.json --arch sm_80,sm_90   of one program on two architectures\n",
        "Exit status: 0 identical; 1 a difference; 2 wrong usage or input; 130 interrupted."},
    Command{add_init,
            {},
            "  lockwarp init kernel.ptx > kernel.json         a launch file to fill in\n"
            "  lockwarp init kernels.ptx \"gemm<float\"        any part of the kernel's name\n"
            "  lockwarp init kernel.json                      what it lacks\n",
            "Exit status: 0 done; 1 the launch file lacks something; 2 wrong usage or input."},
    Command{add_time,
            {},
            "  lockwarp time kernel.json                      as the launch file's architecture\n"
            "  lockwarp time kernel.json --arch H200 --lines  what each line costs\n"
            "  lockwarp time --compare before.json after.json\n",
            exits_of_runs},
    Command{
        add_capture,
        {},
        "  lockwarp capture --out launches -- ./program\n"
        "  lockwarp capture --out launches --kernel gemm -- python3 script.py\n",
        "Exit status: the program's own; where that is 0, 2 where no launch was captured, or of "
        "wrong\n"
        "usage; 77 a GPU is needed and there is none."},
    Command{add_validate,
            {},
            "  lockwarp validate kernel.json                  every register of every lane\n"
            "  lockwarp validate *.json --gpus all --junit lockwarp.xml\n"
            "  lockwarp validate kernel.json --lines 40-80    after these lines of the PTX alone\n"
            "  lockwarp validate -- ./program                 memory after each of its launches\n",
            exits_of_validate},
    Command{
        add_fuzz,
        {},
        "  lockwarp fuzz --cases 200                      random programs, every instruction\n"
        "  lockwarp fuzz --only mma,ldmatrix --time 600\n"
        "  lockwarp fuzz --plain                          without a GPU: fast paths, plain ones\n",
        exits_of_comparisons},
    Command{
        add_record,
        {},
        "  lockwarp record kernel.json --out kernel.lwr\n"
        "  lockwarp record --suite --out recordings       every spelling of every instruction\n",
        exits_of_comparisons},
    Command{add_replay,
            {},
            "  lockwarp replay kernel.lwr\n"
            "  lockwarp replay tests/golden --junit lockwarp.xml\n",
            exits_of_comparisons},
    Command{
        add_special,
        {},
        "  lockwarp special                               every form, every operand\n"
        "  lockwarp special ex2 tanh.approx.f32           these alone\n"
        "  lockwarp special --emulator --count 1000       without a GPU: nvcc's code, emulated\n",
        exits_of_comparisons},
    Command{add_calibrate,
            {},
            "  lockwarp calibrate --out h200.json             all of them, in about ten minutes\n"
            "  lockwarp calibrate --only mma.m16n8k16,ldmatrix --warps 1,8\n"
            "  lockwarp calibrate --list --only ld.shared     the keys, without a GPU\n",
            exits_of_measurements},
    Command{add_measure,
            {},
            "  lockwarp measure kernel.json --runs 20\n"
            "  lockwarp measure *.json --out clocks.json\n",
            exits_of_measurements},
    Command{add_fidelity, {}, "  lockwarp fidelity --arch sm_90\n", exits_of_answers},
    Command{add_list, {}, "  lockwarp list --arch sm_80\n", exits_of_answers},
    Command{add_arch, {}, "  lockwarp arch sm_90\n", exits_of_answers},
    Command{add_report,
            {},
            "  lockwarp report merge shard-1.json shard-2.json\n"
            "  lockwarp report show merged.json\n",
            exits_of_reports},
    Command{add_info, about_lanes, "  lockwarp info m16n8k16.f32.f16\n", exits_of_answers},
    Command{
        add_where, about_lanes,
        "  lockwarp where m16n8k16.f32.f16 A 3 7          which lane and register hold A[3][7]\n",
        exits_of_answers},
    Command{add_what, about_lanes,
            "  lockwarp what m16n8k16.f32.f16 A --lane 13     what lane 13 holds of A\n",
            exits_of_answers},
    Command{add_table, about_lanes, "  lockwarp table m16n8k16.f32.f16 C --by lane --format csv\n",
            exits_of_answers},
    Command{add_layout, about_lanes,
            "  lockwarp layout SM80_16x8x16_F32F16F16F32_TN --cute\n"
            "  lockwarp layout wmma.m16n16k16.f32.f16.f16.f32 --diff sm_70 sm_80\n",
            exits_of_answers},
    Command{add_compat, about_lanes, "  lockwarp compat C:m16n8k16.f32.f16 A:m16n8k16.f32.f16\n",
            exits_of_answers},
    Command{add_explorer, about_lanes, "  lockwarp explorer --out lanes.html\n", exits_of_answers},
    Command{add_explain, about_lanes,
            "  lockwarp explain m16n8k8.f32.bf16 D 0 0 --a lanes:2,1,1,1 --b lanes:1,1 --c 0\n"
            "  lockwarp explain m16n8k16.f32.f16 D 3 5 --arch all --in operands.json\n",
            exits_of_answers},
    Command{add_equiv, about_lanes,
            "  lockwarp equiv m16n8k8.f32.f16 m16n8k16.f32.f16 --arch sm_80,sm_90\n"
            "  lockwarp equiv m16n8k16.f32.f16@sm_80 m16n8k16.f32.f16@sm_86\n",
            exits_of_answers},
    Command{add_banks, about_lanes,
            "  lockwarp banks ldmatrix.x4 --stride 80\n"
            "  lockwarp banks ldmatrix.x4.trans --stride 128 --swizzle 3,3,4 --of b16\n",
            exits_of_answers},
    Command{add_ldmatrix, about_lanes, "  lockwarp ldmatrix x4 --trans\n", exits_of_answers},
    Command{add_stmatrix, about_lanes, "  lockwarp stmatrix x2 --trans\n", exits_of_answers},
    Command{add_movmatrix, about_lanes, "  lockwarp movmatrix\n", exits_of_answers},
    Command{add_swizzle, about_lanes, "  lockwarp swizzle 3,4,3 0x80 0x100\n", exits_of_answers},
    Command{add_descriptor, about_lanes, "  lockwarp descriptor decode 0x4000004000010000\n",
            exits_of_answers},
    Command{add_tensormap, about_lanes,
            "  lockwarp tensormap gpu/kernels/tma_gemm.json --name a --byte 272\n",
            exits_of_answers},
    Command{add_completion},  // --help does not list it
};

}  // namespace lockwarp::tools
