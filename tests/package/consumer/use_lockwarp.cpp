// SPDX-License-Identifier: Apache-2.0
// lockwarp::lockwarp: runs a launch file, and asks which lane holds an element.
#include <cstdio>
#include <lockwarp/lockwarp.hpp>

using namespace lockwarp;

int main(int count, char** words) {
    if (count != 2) return 2;
    const launch::Result<launch::Loaded> loaded = launch::load({words[1]}, "sm_90");
    if (!loaded) return 2;
    const isa::Program& program = loaded->program;
    const launch::Result<launch::Prepared> prepared = launch::prepare(loaded->in.launch, program);
    if (!prepared) return 2;
    const warp::Result result = exec::launch(program, prepared->launch);
    if (result.refusal || result.trap) return 1;

    const lanes::Found found = lanes::find("m16n8k16.f32.f16", isa::Arch::sm_90);
    if (!found.instruction) return 2;
    const lanes::Answer answer = lanes::where(*found.instruction, "A", 3, 7);
    std::printf("%s: %s\n", program.entry.c_str(), answer.line.c_str());
    return 0;
}
