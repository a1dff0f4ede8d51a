// SPDX-License-Identifier: Apache-2.0
// Any PTX that parses, resolved for each of its first entries: a program, or diagnostics.
#include "emu/isa/resolve.hpp"
#include "emu/ptx/parser.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    const std::string_view text = text_of(data, size);
    const ptx::Parsed parsed = ptx::parse(text);
    if (!parsed.diagnostics.empty()) return 0;
    const isa::Arch arch = arch_of_input(text);
    std::vector<std::string> names = isa::entries(parsed.module);
    names.resize(std::min<size_t>(names.size(), 4));
    names.emplace_back();
    for (const std::string& name : names) {
        const isa::Resolved resolved = isa::resolve(parsed.module, arch, name);
        for (const ptx::Diagnostic& d : resolved.diagnostics) {
            must(!d.message.empty(), "a diagnostic says something");
            must(d.message.size() + d.hint.size() < 2000, "short messages");
        }
        if (resolved.diagnostics.empty())
            must(!resolved.program.operations.empty(), "a program ends");
    }
    return 0;
}
