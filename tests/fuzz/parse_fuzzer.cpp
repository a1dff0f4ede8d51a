// SPDX-License-Identifier: Apache-2.0
// Any bytes to the PTX parser: it ends with few diagnostics in the order of their places, or with a
// tree whose text parses to the same tree; its debug information is read.
#include "emu/ptx/debug_info.hpp"
#include "emu/ptx/parser.hpp"
#include "emu/ptx/printer.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lockwarp;
    const ptx::Parsed parsed = ptx::parse(text_of(data, size));
    must(parsed.diagnostics.size() <= ptx::max_diagnostics, "few diagnostics");
    uint32_t line = 1;
    for (const ptx::Diagnostic& d : parsed.diagnostics) {
        must(d.place.line >= line && d.place.column >= 1, "diagnostics in order");
        must(!d.message.empty() && d.message.size() + d.hint.size() < 500, "short messages");
        line = d.place.line;
    }
    const ptx::DebugInfo info = ptx::debug_info(parsed.module);
    for (uint32_t type = 0; type < info.types.size() && type < 1000; ++type)
        must(info.spelled(type).size() < 100 * (size + 100), "short names of types");
    const std::string printed = ptx::print(parsed.module);
    if (!parsed.diagnostics.empty()) return 0;
    const ptx::Parsed again = ptx::parse(printed);
    must(again.diagnostics.empty() && again.module == parsed.module,
         "the printed tree is the same");
    return 0;
}
