// SPDX-License-Identifier: Apache-2.0
#include "tests/isa/support.hpp"

namespace lockwarp::isa {

std::string messages(const std::vector<ptx::Diagnostic>& diagnostics) {
    std::string out;
    for (const ptx::Diagnostic& d : diagnostics) {
        out +=
            std::to_string(d.place.line) + ':' + std::to_string(d.place.column) + ": " + d.message;
        if (!d.hint.empty()) out += " (" + d.hint + ")";
        out += '\n';
    }
    return out;
}

Resolved resolved(const std::string& text, Arch arch, std::string_view entry) {
    const ptx::Parsed parsed = ptx::parse(text);
    EXPECT_EQ(messages(parsed.diagnostics), "") << text.substr(0, 2000);
    return resolve(parsed.module, arch, entry);
}

std::string module_of(std::string_view body, std::string_view target, std::string_view version,
                      std::string_view outside) {
    std::string text = ".version ";
    text += version;
    text += "\n.target ";
    text += target;
    text += "\n.address_size 64\n";
    text += outside;
    text += "\n.entry k() {\n";
    text += body;
    return text + "\n}\n";
}

Program program_of(std::string_view body, std::string_view outside) {
    Resolved r = resolved(module_of(body, "sm_90", "9.0", outside), Arch::sm_90);
    EXPECT_EQ(messages(r.diagnostics), "") << body.substr(0, 2000);
    return std::move(r.program);
}

std::string errors_of(std::string_view body, std::string_view outside) {
    return messages(resolved(module_of(body, "sm_90", "9.0", outside), Arch::sm_90).diagnostics);
}

const Operation& first_of(const Program& program, Op op) {
    static const Operation none;
    for (const Operation& o : program.operations)
        if (o.op == op) return o;
    ADD_FAILURE() << "no operation of family " << static_cast<int>(op);
    return none;
}

}  // namespace lockwarp::isa
