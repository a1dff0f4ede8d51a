// SPDX-License-Identifier: Apache-2.0
// Each construct of the language with the tree expected of it.
#include "emu/ptx/parser.hpp"

#include <gtest/gtest.h>

#include "emu/ptx/printer.hpp"
#include "tests/ptx/support.hpp"

namespace lockwarp::ptx {
namespace {

Operand name(std::string text, int64_t offset = 0) {
    Operand operand;
    operand.kind = OperandKind::name;
    operand.text = std::move(text);
    operand.offset = offset;
    return operand;
}

Operand integer(uint64_t bits, bool is_unsigned = false) {
    Operand operand;
    operand.kind = OperandKind::integer;
    operand.bits = bits;
    operand.is_unsigned = is_unsigned;
    return operand;
}

Operand floating(OperandKind kind, uint64_t bits) {
    Operand operand;
    operand.kind = kind;
    operand.bits = bits;
    return operand;
}

Operand with_items(OperandKind kind, std::vector<Operand> items, int64_t offset = 0) {
    Operand operand;
    operand.kind = kind;
    operand.items = std::move(items);
    operand.offset = offset;
    return operand;
}

Operand address(Operand base, int64_t offset = 0) {
    return with_items(OperandKind::address, {std::move(base)}, offset);
}
Operand vector(std::vector<Operand> items) {
    return with_items(OperandKind::vector, std::move(items));
}
Operand list(std::vector<Operand> items) { return with_items(OperandKind::list, std::move(items)); }
Operand pair(Operand a, Operand b) {
    return with_items(OperandKind::pair, {std::move(a), std::move(b)});
}
Operand negated(Operand item) { return with_items(OperandKind::negated, {std::move(item)}); }
Operand minus(Operand item) { return with_items(OperandKind::minus, {std::move(item)}); }
Operand sink() { return {}; }

Instruction instruction(std::string opcode, std::vector<std::string> modifiers,
                        std::vector<Operand> operands, Guard guard = {}) {
    Instruction result;
    result.guard = std::move(guard);
    result.opcode = std::move(opcode);
    for (std::string& modifier : modifiers) result.modifiers.push_back({std::move(modifier), {}});
    result.operands = std::move(operands);
    return result;
}

Variable variable(Space space, std::string type, std::string variable_name) {
    Variable result;
    result.space = space;
    result.type = std::move(type);
    result.name = std::move(variable_name);
    return result;
}

Directive directive(std::string directive_name, std::vector<Operand> operands,
                    std::string label = {}) {
    Directive result;
    result.name = std::move(directive_name);
    result.operands = std::move(operands);
    result.label = std::move(label);
    return result;
}

Initializer scalar(InitializerKind kind, uint64_t bits) {
    Initializer result;
    result.kind = kind;
    result.bits = bits;
    return result;
}
Initializer integer_value(uint64_t bits) { return scalar(InitializerKind::integer, bits); }
Initializer list_value(std::vector<Initializer> items) {
    Initializer result;
    result.items = std::move(items);
    return result;
}
Initializer address_value(std::string text, int64_t offset = 0, bool generic = false,
                          uint64_t mask = 0) {
    Initializer result;
    result.kind = InitializerKind::address;
    result.text = std::move(text);
    result.offset = offset;
    result.generic = generic;
    result.mask = mask;
    return result;
}

// The only item of the module, which must be a T.
template <typename T>
T item_of(std::string_view text) {
    const Module module = module_of(text);
    if (module.items.size() != 1 || !std::holds_alternative<T>(module.items[0])) {
        ADD_FAILURE() << "not one item of the expected kind: " << text;
        return {};
    }
    return std::get<T>(module.items[0]);
}

std::vector<Variable> variables_of(std::string_view text) {
    std::vector<Variable> result;
    for (const auto& item : module_of(text).items) result.push_back(std::get<Variable>(item));
    return result;
}

std::vector<uint32_t> numbers(Place place) { return {place.line, place.column, place.length}; }

TEST(Parser, Header) {
    const Parsed parsed = parse(".version 8.4\n.target sm_80, debug\n.address_size 32\n");
    EXPECT_EQ(messages(parsed.diagnostics), "");
    EXPECT_EQ(parsed.module.version_major, 8U);
    EXPECT_EQ(parsed.module.version_minor, 4U);
    EXPECT_EQ(parsed.module.target,
              (std::vector<Modifier>{Modifier{"sm_80", {}}, Modifier{"debug", {}}}));
    EXPECT_EQ(parsed.module.address_size, 32U);
    EXPECT_TRUE(parsed.module.items.empty());
    EXPECT_EQ(numbers(parsed.module.version_place), (std::vector<uint32_t>{1, 10, 3}));
}

TEST(Parser, AddressSizeIsOptional) {
    const Parsed parsed = parse(".version 9.0 .target sm_90a .entry k() { ret; }");
    EXPECT_EQ(messages(parsed.diagnostics), "");
    EXPECT_EQ(parsed.module.address_size, 64U);
    EXPECT_EQ(parsed.module.items.size(), 1U);
}

TEST(Parser, OperandForms) {
    const Operand r1 = name("%r1");
    const Operand rd1 = name("%rd1");
    const struct {
        std::string_view text;
        Operand expected;
    } cases[] = {
        {"%r1", r1},
        {"%tid.x", name("%tid.x")},
        {"%tid .x", name("%tid.x")},
        {"v.y", name("v.y")},
        {"%r2.b0", name("%r2.b0")},
        {"table+4", name("table", 4)},
        {"table-4", name("table", -4)},
        {"table+-4", name("table", -4)},
        {"table+4*2-1", name("table", 7)},
        {"_", sink()},
        {"7", integer(7)},
        {"-1", integer(~uint64_t{0})},
        {"0xFFFFFFFFFFFFFFFF", integer(~uint64_t{0}, true)},
        {"5U", integer(5, true)},
        {"0f3F800000", floating(OperandKind::f32, 0x3F800000)},
        {"0d3FF0000000000000", floating(OperandKind::f64, 0x3FF0000000000000)},
        {"1.5", floating(OperandKind::f64, 0x3FF8000000000000)},
        {"[%rd1]", address(rd1)},
        {"[%rd1+4]", address(rd1, 4)},
        {"[%rd1-4]", address(rd1, -4)},
        {"[%rd1+-4]", address(rd1, -4)},
        {"[%rd1+0]", address(rd1)},
        {"[%rd1+4-8]", address(rd1, -4)},
        {"[%rd1+4*2]", address(rd1, 8)},
        {"[%rd1+(4+4)]", address(rd1, 8)},
        {"[64]", address(integer(64))},
        {"[0x40+4]", address(integer(0x44))},
        {"[buffer]", address(name("buffer"))},
        {"[buffer+16]", address(name("buffer"), 16)},
        {"[map, {%r1, 3}]",
         with_items(OperandKind::address, {name("map"), vector({r1, integer(3)})})},
        {"[map+8, s, {%r1}]",
         with_items(OperandKind::address, {name("map"), name("s"), vector({r1})}, 8)},
        {"{%r1, _, 4, 0f00000000}",
         vector({r1, sink(), integer(4), floating(OperandKind::f32, 0)})},
        {"%p1|%p2", pair(name("%p1"), name("%p2"))},
        {"_|%p2", pair(sink(), name("%p2"))},
        {"%p1|_", pair(name("%p1"), sink())},
        {"{%r1, %rd1}|%p2", pair(vector({r1, rd1}), name("%p2"))},
        {"!%p1", negated(name("%p1"))},
        {"-%r1.b0", minus(name("%r1.b0"))},
        {"1|2", integer(3)},
        {"(3+4)*2", integer(14)},
        {"WARP_SZ", integer(32)},
        {"!WARP_SZ", integer(0)},
    };
    for (const auto& c : cases) {
        const std::string text = "foo " + std::string(c.text) + ";";
        const Instruction parsed = instruction_of(text);
        EXPECT_EQ(parsed, instruction("foo", {}, {c.expected})) << c.text;
        EXPECT_EQ(instruction_of(print(parsed)), parsed) << c.text;
    }
}

TEST(Parser, InstructionWithModifiersAndVectors) {
    EXPECT_EQ(
        instruction_of("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
                       "{%f0, %f1}, {%r0}, {%r1}, {%f0, %f1};"),
        instruction(
            "mma", {".sync", ".aligned", ".m8n8k4", ".row", ".col", ".f32", ".f16", ".f16", ".f32"},
            {vector({name("%f0"), name("%f1")}), vector({name("%r0")}), vector({name("%r1")}),
             vector({name("%f0"), name("%f1")})}));
    EXPECT_EQ(instruction_of("ret;"), instruction("ret", {}, {}));
    EXPECT_EQ(instruction_of("bar.sync 0;"), instruction("bar", {".sync"}, {integer(0)}));
    EXPECT_EQ(instruction_of("setp.lt.and.s32 %p1|_, %r1, -5, !%p2;"),
              instruction("setp", {".lt", ".and", ".s32"},
                          {pair(name("%p1"), sink()), name("%r1"), integer(uint64_t{0} - 5),
                           negated(name("%p2"))}));
    EXPECT_EQ(instruction_of("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                             "complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [bar+8];"),
              instruction("cp",
                          {".async", ".bulk", ".tensor", ".2d", ".shared::cluster", ".global",
                           ".tile", ".mbarrier::complete_tx::bytes"},
                          {address(name("%r1")),
                           with_items(OperandKind::address,
                                      {name("%rd1"), vector({name("%r2"), name("%r3")})}),
                           address(name("bar"), 8)}));
}

TEST(Parser, Guards) {
    EXPECT_EQ(instruction_of("@%p1 bra L;"),
              instruction("bra", {}, {name("L")}, {"%p1", false, {}}));
    EXPECT_EQ(instruction_of("@!%p1 bra L;"),
              instruction("bra", {}, {name("L")}, {"%p1", true, {}}));
    EXPECT_EQ(instruction_of("@ ! %p1 ret;"), instruction("ret", {}, {}, {"%p1", true, {}}));
}

TEST(Parser, Calls) {
    const Operand f = name("f");
    EXPECT_EQ(instruction_of("call f;"), instruction("call", {}, {f}));
    EXPECT_EQ(instruction_of("call f, ();"), instruction("call", {}, {f, list({})}));
    EXPECT_EQ(instruction_of("call.uni (r), f, (a, 1+2, 0f3F800000);"),
              instruction("call", {".uni"},
                          {list({name("r")}), f,
                           list({name("a"), integer(3), floating(OperandKind::f32, 0x3F800000)})}));
    EXPECT_EQ(instruction_of("call (r), %rd1, ((1+2)*2), proto;"),
              instruction("call", {},
                          {list({name("r")}), name("%rd1"), list({integer(6)}), name("proto")}));
}

TEST(Parser, Places) {
    const std::vector<Statement> body = body_of("  @!%p1 ld.f32 %f1, [%rd1+4];");
    ASSERT_EQ(body.size(), 1U);
    const Instruction& load = std::get<Instruction>(body[0].node);
    EXPECT_EQ(numbers(load.guard.place), (std::vector<uint32_t>{6, 3, 5}));
    EXPECT_EQ(numbers(load.place), (std::vector<uint32_t>{6, 9, 2}));
    ASSERT_EQ(load.modifiers.size(), 1U);
    EXPECT_EQ(numbers(load.modifiers[0].place), (std::vector<uint32_t>{6, 11, 4}));
    ASSERT_EQ(load.operands.size(), 2U);
    EXPECT_EQ(numbers(load.operands[0].place), (std::vector<uint32_t>{6, 16, 3}));
    EXPECT_EQ(numbers(load.operands[1].place), (std::vector<uint32_t>{6, 21, 8}));
    EXPECT_EQ(numbers(load.operands[1].items[0].place), (std::vector<uint32_t>{6, 22, 6}));
    const Function function = item_of<Function>(".entry k()\n{\n}\n");
    EXPECT_EQ(numbers(function.place), (std::vector<uint32_t>{4, 8, 1}));
    EXPECT_EQ(numbers(function.body.place), (std::vector<uint32_t>{5, 1, 1}));
    EXPECT_EQ(numbers(function.body.end), (std::vector<uint32_t>{6, 1, 1}));
}

TEST(Parser, RegisterDeclarations) {
    const std::vector<Statement> body =
        body_of(".reg .pred p, q; .reg .b32 %r<16>, s; .reg .v4 .f32 v; .reg .b128 %q;");
    Variable range = variable(Space::reg, ".b32", "%r");
    range.range = 16;
    Variable vector4 = variable(Space::reg, ".f32", "v");
    vector4.vector = 4;
    const Variable expected[] = {variable(Space::reg, ".pred", "p"),
                                 variable(Space::reg, ".pred", "q"),
                                 range,
                                 variable(Space::reg, ".b32", "s"),
                                 vector4,
                                 variable(Space::reg, ".b128", "%q")};
    ASSERT_EQ(body.size(), std::size(expected));
    for (size_t i = 0; i < body.size(); ++i)
        EXPECT_EQ(std::get<Variable>(body[i].node), expected[i]) << i;
}

TEST(Parser, ARangeOfOtherVariablesIsThatMany) {
    const std::vector<Statement> body = body_of(".param .u64 %P<2>, q; .shared .v2 .f32 s<12>;");
    ASSERT_EQ(body.size(), 15u);
    const std::string_view names[] = {"%P0", "%P1", "q", "s0"};
    for (size_t i = 0; i < std::size(names); ++i) {
        const Variable& v = std::get<Variable>(body[i].node);
        EXPECT_EQ(v.name, names[i]);
        EXPECT_EQ(v.space, i < 3 ? Space::param : Space::shared);
        EXPECT_EQ(v.vector, i < 3 ? 1u : 2u);
        EXPECT_EQ(v.range, 0u);
    }
    EXPECT_EQ(std::get<Variable>(body[14].node).name, "s11");
    EXPECT_EQ(item_of<Variable>(".global .u32 g<1>;"), variable(Space::global, ".u32", "g0"));
}

TEST(Parser, VariableDeclarations) {
    Variable expected = variable(Space::shared, ".b8", "tile");
    expected.linking = Linking::extern_;
    expected.alignment = 16;
    expected.dims = {0};
    EXPECT_EQ(item_of<Variable>(".extern .shared .align 16 .b8 tile[];"), expected);
    EXPECT_EQ(item_of<Variable>(".extern .align 16 .shared .b8 tile[];"), expected);

    expected = variable(Space::global, ".u32", "m");
    expected.linking = Linking::visible;
    expected.attributes = {{".managed", {}}, {".unified(19, 95)", {}}};
    expected.dims = {4, 8};
    EXPECT_EQ(item_of<Variable>(".visible .global .attribute(.managed, .unified(19,0x5F)) .u32 "
                                "m[4][8];"),
              expected);

    const Linking linkings[] = {Linking::weak, Linking::common, Linking::none};
    const std::string_view texts[] = {".weak .const .f64 c;", ".common .global .f64 c;",
                                      ".local .f64 c;"};
    const Space spaces[] = {Space::const_, Space::global, Space::local};
    for (size_t i = 0; i < std::size(texts); ++i) {
        expected = variable(spaces[i], ".f64", "c");
        expected.linking = linkings[i];
        EXPECT_EQ(item_of<Variable>(texts[i]), expected);
    }
}

TEST(Parser, Initializers) {
    const uint64_t minus_one = ~uint64_t{0};
    const struct {
        std::string_view text;
        Initializer expected;
    } cases[] = {
        {"5", integer_value(5)},
        {"-1", integer_value(minus_one)},
        {"1+2*3", integer_value(7)},
        {"1.5", scalar(InitializerKind::f64, 0x3FF8000000000000)},
        {"0f3F800000", scalar(InitializerKind::f32, 0x3F800000)},
        {"0d3FF0000000000000", scalar(InitializerKind::f64, 0x3FF0000000000000)},
        {"f", address_value("f")},
        {"f+4", address_value("f", 4)},
        {"f+-4", address_value("f", -4)},
        {"generic(f)", address_value("f", 0, true)},
        {"generic(f)+8", address_value("f", 8, true)},
        {"0xFF00(f)", address_value("f", 0, false, 0xFF00)},
        {"0xFF(f+4)", address_value("f", 4, false, 0xFF)},
        {"0xFF(generic(f)+4)", address_value("f", 4, true, 0xFF)},
        {"{}", list_value({})},
        {"{1, {2, f}, {}}",
         list_value({integer_value(1), list_value({integer_value(2), address_value("f")}),
                     list_value({})})},
    };
    for (const auto& c : cases) {
        const std::string text = ".global .b64 a = " + std::string(c.text) + ";";
        Variable expected = variable(Space::global, ".b64", "a");
        expected.initializer = {c.expected};
        EXPECT_EQ(item_of<Variable>(text), expected) << c.text;
        expect_round_trip(std::string(header) + text, text);
    }
}

TEST(Parser, SamplerFields) {
    Initializer mode = address_value("nearest");
    mode.field = "filter_mode";
    Initializer coordinates = integer_value(1);
    coordinates.field = "force_unnormalized_coords";
    Variable expected = variable(Space::global, ".samplerref", "s");
    expected.initializer = {list_value({mode, coordinates})};
    const std::string text =
        ".global .samplerref s = {filter_mode = nearest, force_unnormalized_coords = 1};";
    EXPECT_EQ(item_of<Variable>(text), expected);
    expect_round_trip(std::string(header) + text, text);
}

TEST(Parser, SeveralVariablesInOneStatement) {
    Variable a = variable(Space::global, ".u32", "a");
    a.initializer = {integer_value(1)};
    Variable b = variable(Space::global, ".u32", "b");
    b.dims = {2};
    b.initializer = {list_value({integer_value(1), integer_value(2)})};
    EXPECT_EQ(variables_of(".global .u32 a = 1, b[2] = {1, 2}, c;"),
              (std::vector<Variable>{a, b, variable(Space::global, ".u32", "c")}));
}

TEST(Parser, KernelParameters) {
    Variable a = variable(Space::param, ".u64", "a");
    a.is_pointer = true;
    Variable b = a;
    b.name = "b";
    b.pointer_space = Space::global;
    b.pointer_alignment = 16;
    Variable c = a;
    c.name = "c";
    c.pointer_alignment = 1;
    Variable d = variable(Space::param, ".b8", "d");
    d.alignment = 8;
    d.dims = {32};
    Function expected;
    expected.linking = Linking::visible;
    expected.is_entry = true;
    expected.name = "k";
    expected.parameters = {a, b, c, d};
    expected.has_body = true;
    EXPECT_EQ(item_of<Function>(".visible .entry k(.param .u64 .ptr a, .param .u64 .ptr .global "
                                ".align 16 b, .param .u64 .ptr .align 1 c, .param .align 8 .b8 "
                                "d[32]) { }"),
              expected);
}

TEST(Parser, FunctionsAndDeclarations) {
    Function expected;
    expected.name = "f";
    EXPECT_EQ(item_of<Function>(".func f;"), expected);
    EXPECT_EQ(item_of<Function>(".func f();"), expected);
    expected.noreturn = true;
    EXPECT_EQ(item_of<Function>(".func f() .noreturn;"), expected);
    expected.noreturn = false;
    expected.linking = Linking::extern_;
    expected.results = {variable(Space::param, ".b32", "r")};
    Variable array = variable(Space::param, ".b8", "b");
    array.dims = {0};
    expected.parameters = {variable(Space::reg, ".u32", "a"), array};
    EXPECT_EQ(item_of<Function>(".extern .func (.param .b32 r) f (.reg .u32 a, .param .b8 b[])\n;"),
              expected);
    expected.directives = {directive(".attribute", {name(".unified(171, 205)")})};
    EXPECT_EQ(item_of<Function>(".extern .func .attribute(.unified(0xAB, 0xCD)) (.param .b32 r) "
                                "f(.reg .u32 a, .param .b8 b[]);"),
              expected);
}

TEST(Parser, PerformanceDirectives) {
    const std::string text =
        ".entry k() .maxntid 128, 2, 1 .reqntid 4,4 .minnctapersm 2 .maxnreg 64 .maxnctapersm 3 "
        ".reqnctapercluster 2, 1 .explicitcluster .maxclusterrank 8 .blocksareclusters "
        ".pragma \"nounroll\"; { }";
    const Function function = item_of<Function>(text);
    EXPECT_EQ(
        function.directives,
        (std::vector<Directive>{
            directive(".maxntid", {integer(128), integer(2), integer(1)}),
            directive(".reqntid", {integer(4), integer(4)}),
            directive(".minnctapersm", {integer(2)}), directive(".maxnreg", {integer(64)}),
            directive(".maxnctapersm", {integer(3)}),
            directive(".reqnctapercluster", {integer(2), integer(1)}),
            directive(".explicitcluster", {}), directive(".maxclusterrank", {integer(8)}),
            directive(".blocksareclusters", {}), directive(".pragma", {name("\"nounroll\"")})}));
    expect_round_trip(std::string(header) + text, text);
}

TEST(Parser, ModuleDirectives) {
    EXPECT_EQ(item_of<Directive>(".file 1 \"a b.cu\""),
              directive(".file", {integer(1), name("\"a b.cu\"")}));
    EXPECT_EQ(item_of<Directive>(".file 1 \"a.cu\", 12, 34"),
              directive(".file", {integer(1), name("\"a.cu\""), integer(12), integer(34)}));
    EXPECT_EQ(item_of<Directive>(".alias f, g;"), directive(".alias", {name("f"), name("g")}));
    EXPECT_EQ(item_of<Directive>(".pragma \"a\", \"b\";"),
              directive(".pragma", {name("\"a\""), name("\"b\"")}));
}

TEST(Parser, RangesOfLabels) {
    const std::vector<Statement> body =
        body_of("A: L0: L1: B: ret; T: .branchtargets A, L<2>, B; U: .branchtargets L<1>;");
    ASSERT_EQ(body.size(), 7U);
    EXPECT_EQ(std::get<Directive>(body[5].node),
              directive(".branchtargets", {name("A"), name("L0"), name("L1"), name("B")}, "T"));
    EXPECT_EQ(std::get<Directive>(body[6].node), directive(".branchtargets", {name("L0")}, "U"));
}

// As ptxas 13.0 has it: an array without a size has as many elements, or rows, as values stand for.
TEST(Parser, ArraysAreSizedByTheirValues) {
    const auto dims = [](const char* text) { return item_of<Variable>(text).dims; };
    using Dims = std::vector<uint64_t>;
    EXPECT_EQ(dims(".global .u32 a[] = {1, 2, 3};"), Dims{3});
    EXPECT_EQ(dims(".const .u8 a[] = {};"), Dims{0});
    EXPECT_EQ(dims(".global .u32 a[][2] = {{1}, {3, 4}, {5}};"), (Dims{3, 2}));
    EXPECT_EQ(dims(".global .u32 a[4] = {1};"), Dims{4});
    EXPECT_EQ(dims(".extern .shared .b8 a[];"), Dims{0});
}

TEST(Parser, LocWithInlining) {
    const std::vector<Statement> body =
        body_of(".loc 1 20 3\n.loc 1 2 3, function_name $L__info+4, inlined_at 1 30 5\n");
    ASSERT_EQ(body.size(), 2U);
    EXPECT_EQ(std::get<Directive>(body[0].node),
              directive(".loc", {integer(1), integer(20), integer(3)}));
    EXPECT_EQ(std::get<Directive>(body[1].node),
              directive(".loc", {integer(1), integer(2), integer(3), name("function_name"),
                                 name("$L__info", 4), name("inlined_at"), integer(1), integer(30),
                                 integer(5)}));
}

TEST(Parser, LabelsAndLabelledDirectives) {
    const std::vector<Statement> body = body_of(
        "A: B: ret; T: .branchtargets A, B; C: .calltargets f; P: .callprototype (.param .b32 _) _ "
        "(.param .align 8 .b8 x[16], .param .b64 _) .noreturn; Q: .callprototype _; D:");
    ASSERT_EQ(body.size(), 8U);
    EXPECT_EQ(std::get<Label>(body[0].node).name, "A");
    EXPECT_EQ(std::get<Label>(body[1].node).name, "B");
    EXPECT_EQ(std::get<Directive>(body[3].node),
              directive(".branchtargets", {name("A"), name("B")}, "T"));
    EXPECT_EQ(std::get<Directive>(body[4].node), directive(".calltargets", {name("f")}, "C"));
    const auto columns = [&](size_t statement) {
        std::vector<uint32_t> out;
        for (const Operand& o : std::get<Directive>(body[statement].node).operands)
            out.push_back(o.place.column);
        return out;
    };
    EXPECT_EQ(columns(3), (std::vector<uint32_t>{30, 33}));
    EXPECT_EQ(columns(4), std::vector<uint32_t>{52});
    Directive prototype = directive(
        ".callprototype",
        {list({name("_")}), name("_"), list({name("x"), name("_")}), name(".noreturn")}, "P");
    Variable x = variable(Space::param, ".b8", "x");
    x.alignment = 8;
    x.dims = {16};
    prototype.parameters = {variable(Space::param, ".b32", "_"), x,
                            variable(Space::param, ".b64", "_")};
    prototype.result_count = 1;
    EXPECT_EQ(std::get<Directive>(body[5].node), prototype);
    EXPECT_EQ(std::get<Directive>(body[6].node),
              directive(".callprototype", {list({}), name("_"), list({})}, "Q"));
    EXPECT_EQ(std::get<Label>(body[7].node).name, "D");
}

TEST(Parser, ScopedBlocks) {
    const std::vector<Statement> body =
        body_of("{ .reg .b32 t; L: { L: ret; } } ; { } .pragma \"nounroll\";");
    ASSERT_EQ(body.size(), 3U);
    const Block& outer = std::get<Block>(body[0].node);
    ASSERT_EQ(outer.body.size(), 3U);
    EXPECT_EQ(std::get<Variable>(outer.body[0].node), variable(Space::reg, ".b32", "t"));
    EXPECT_EQ(std::get<Label>(outer.body[1].node).name, "L");
    const Block& inner = std::get<Block>(outer.body[2].node);
    ASSERT_EQ(inner.body.size(), 2U);
    EXPECT_EQ(std::get<Instruction>(inner.body[1].node), instruction("ret", {}, {}));
    EXPECT_TRUE(std::get<Block>(body[1].node).body.empty());
    EXPECT_EQ(std::get<Directive>(body[2].node), directive(".pragma", {name("\"nounroll\"")}));
}

// With the labels that .loc names; only @@DWARF lines and lines that begin with # are passed over.
TEST(Parser, DebugSectionsAreKept) {
    const Module module = module_of(
        "@@DWARF .byte 0\n.section .debug_str\n{\n.b8 1,2 // }\n.b32 .debug_str+4\nL:.b64 L\n}\n"
        ".section .debug_loc { }\n.global .b32 x;\n# 1 \"a.cu\"\n");
    ASSERT_EQ(module.items.size(), 3U);
    EXPECT_EQ(std::get<Directive>(module.items[0]),
              directive(".section", {name(".debug_str"),
                                     name("{\n.b8 1,2 // }\n.b32 .debug_str+4\nL:.b64 L\n}")}));
    EXPECT_EQ(std::get<Directive>(module.items[1]),
              directive(".section", {name(".debug_loc"), name("{ }")}));
    EXPECT_EQ(std::get<Variable>(module.items[2]), variable(Space::global, ".b32", "x"));
}

TEST(Parser, TreesThatDifferAreNotEqual) {
    EXPECT_NE(instruction_of("a %r1, 4;"), instruction_of("a %r1, 4U;"));
    EXPECT_NE(instruction_of("a [%r1+4];"), instruction_of("a [%r1+8];"));
    EXPECT_NE(instruction_of("a.b;"), instruction_of("a.c;"));
    EXPECT_NE(module_of(".entry k() { { ret; } }"), module_of(".entry k() { { exit; } }"));
    EXPECT_EQ(module_of(".entry k() { ret; }"), module_of("\n\n.entry k() {\n ret; }"));
}

TEST(Printer, Instructions) {
    const std::string_view texts[] = {
        "ret;",
        "@!%p1 bra $L__BB0_1;",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%f0, %f1}, {%f2}, {%f3}, {%f0, %f1};",
        "ld.global.v2.f32 {%f1, _}, [%rd1+-8];",
        "setp.eq.u32 %p1|%p2, %r1, 5U, !%p3;",
        "mov.f32 %f1, 0f3F800000;",
        "mov.f64 %fd1, 0dBFF0000000000000;",
        "mov.u32 %r1, %tid.x;",
        "mov.u64 %rd1, table+16;",
        "mov.b64 %rd1, (.s64)9223372036854775808;",
        "call.uni (retval0), f, (param0, -3);",
        "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [texture, {%r1, %r2}];",
    };
    for (const std::string_view text : texts) EXPECT_EQ(print(instruction_of(text)), text);
}

TEST(Printer, Parameters) {
    for (const std::string text : {".param .u64 .ptr .global .align 16 a", ".param .u64 .ptr b",
                                   ".param .align 8 .b8 c[32]"})
        EXPECT_NE(print(module_of(".entry k(" + text + ") { ret; }")).find(text), std::string::npos)
            << text;
}

TEST(Printer, Prototypes) {
    for (const std::string text : {"P: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;",
                                   "P: .callprototype () _ ();"})
        EXPECT_NE(print(module_of(".entry k() { " + text + " ret; }")).find(text),
                  std::string::npos)
            << print(module_of(".entry k() { " + text + " ret; }"));
}

}  // namespace
}  // namespace lockwarp::ptx
