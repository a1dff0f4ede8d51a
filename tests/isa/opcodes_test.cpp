// The rows of the opcodes beside those of the forms.
#include "emu/isa/opcodes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "emu/isa/forms.hpp"

namespace lockwarp::isa {
namespace {

// A form's opcode and what it must be written with, up to the first choice.
std::string spelled(const Form& form) {
    std::string out(form.opcode);
    std::string_view rest = form.syntax;
    while (!rest.empty() && rest[0] != '<') {
        if (rest[0] == '{') {
            rest.remove_prefix(rest.find('}') + 1);
            continue;
        }
        const size_t end = std::min(rest.find_first_of(".{<|", 1), rest.size());
        out += rest.substr(0, end);
        if (end < rest.size() && rest[end] == '|') break;
        rest.remove_prefix(end);
    }
    return out;
}

TEST(Opcodes, EachIsWrittenAsItsRowSays) {
    for (const OpRow& r : op_rows) {
        bool found = false;
        for (const Form& form : forms())
            found |= form.op == r.op && (spelled(form) + ".").starts_with(r.name) &&
                     std::string_view(".").find((spelled(form) + ".")[r.name.size()]) == 0;
        EXPECT_TRUE(found) << r.name;
    }
}

// What decides how a warp comes to it is the opcode, not a modifier that may be left out.
TEST(Opcodes, StepsAreThoseOfTheirForms) {
    for (const Form& form : forms()) {
        const OpRow& r = row(form.op);
        const std::string text = std::string(form.opcode) + std::string(form.syntax);
        const bool aligned = text.find(".sync.aligned") != std::string::npos;
        const size_t at = text.find(".sync");
        const bool sync = at != std::string::npos && text.compare(at, 6, ".sync_") != 0;
        EXPECT_EQ(aligned, r.step == StepKind::aligned) << text;
        if (r.step == StepKind::collective) EXPECT_TRUE(sync) << text;
        if (r.step == StepKind::plain) EXPECT_FALSE(sync) << text;
    }
}

// "d, a" of a chain of values: no address, no label, no fragment among its operands.
TEST(Opcodes, ValuesHaveNoAddressesAndOthersHaveAReason) {
    for (const Form& form : forms()) {
        const bool plain = form.operands.find_first_of("ALTCNWF") == std::string_view::npos;
        if (on_values(form.op)) EXPECT_TRUE(plain) << form.opcode << form.syntax;
        if (row(form.op).memory != Memory::none)
            EXPECT_NE(form.operands.find('A'), std::string_view::npos) << form.opcode;
    }
}

}  // namespace
}  // namespace lockwarp::isa
