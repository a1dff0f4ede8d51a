# SPDX-License-Identifier: Apache-2.0
"""Where faults can be put into a C++ file, and the file with all of them in it.

Each fault is guarded by its number (mutant.hpp), so that one build holds all that were chosen and a
run of a test chooses one. Lines stay where they are.
"""

from dataclasses import dataclass

import tree_sitter
import tree_sitter_cpp

LANGUAGE = tree_sitter.Language(tree_sitter_cpp.language())

# Operator: its function in mutant.hpp, and what the fault makes of it.
BINARY = {
    "<": ("less", "<="), "<=": ("less_equal", "<"), ">": ("greater", ">="),
    ">=": ("greater_equal", ">"), "==": ("equal", "!="), "!=": ("unequal", "=="),
    "+": ("plus", "-"), "-": ("minus", "+"), "*": ("times", "+"), "/": ("over", "*"),
    "%": ("remainder", "/"), "&": ("bits_and", "|"), "|": ("bits_or", "&"),
    "^": ("bits_xor", "|"), "<<": ("shift_left", ">>"), ">>": ("shift_right", "<<"),
}
ASSIGNMENT = {
    "+=": ("add_to", "-="), "-=": ("take_from", "+="), "*=": ("multiply", "+="),
    "|=": ("or_into", "&="), "&=": ("and_into", "|="), "^=": ("xor_into", "|="),
    "<<=": ("shift_up", ">>="), ">>=": ("shift_down", "<<="),
}
LOGICAL = {"&&": "&&", "||": "||", "and": "&&", "or": "||"}
ALWAYS = -1  # the number of a fault that is there whenever its code runs, in the compiler too
# What the compiler evaluates, where no fault could be chosen at run time.
CONSTANT = {
    "template_argument_list", "template_parameter_list", "enumerator", "static_assert_declaration",
    "bitfield_clause", "requires_clause", "concept_definition", "noexcept", "alignas_qualifier",
    "decltype", "sizeof_expression", "preproc_include", "preproc_def", "preproc_call",
    "preproc_function_def", "attribute_declaration", "explicit_function_specifier", "using_declaration",
    "type_descriptor", "string_literal", "char_literal", "comment", "friend_declaration",
}
# Conditions of these kinds have faults of their own inside.
MADE_OF_PARTS = {"binary_expression", "unary_expression", "true", "false", "number_literal"}


@dataclass
class Fault:
    number: int
    file: str
    line: int  # from 1
    what: str  # "< -> <=", "statement left out"
    code: str  # its text on one line; by hand: the line that it stands in
    begin: int  # that text's bytes in the file
    end: int
    around: tuple[str, str]  # its line's text, its function's name
    compiled: bool  # its function is one that the compiler may evaluate

    def place(self) -> tuple[int, int, str]:
        """What tells it from all others of its file."""
        return self.begin, self.end, self.what


class Writer:
    def __init__(self, file: str, source: bytes, first: int, dropped: set[int], wanted,
                 by_hand: list[tuple[str, str]]):
        self.file = file
        self.source = source
        self.lines = source.decode().split("\n")
        self.next = first
        self.dropped = dropped  # lines that take no fault: it would not compile
        self.wanted = wanted  # the places of those to put; None: all
        self.by_hand = by_hand  # code, and the fault that is to stand in its place
        self.faults: list[Fault] = []

    def fault(self, node, what: str, shown: str | None = None) -> int | None:
        """shown: what it is shown by; None: its text."""
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        if any(line in self.dropped for line in range(first, last + 1)):
            return None
        if self.wanted is not None and (node.start_byte, node.end_byte, what) not in self.wanted:
            return None
        code = " ".join((shown or self.plain(node)).split())
        self.faults.append(Fault(self.next, self.file, first, what, code, node.start_byte,
                                 node.end_byte, (self.line_of(node), function_of(node)),
                                 is_compiled(node, self.source)))
        self.next += 1
        return self.next - 1

    def plain(self, node) -> str:
        return self.source[node.start_byte:node.end_byte].decode()

    def line_of(self, node) -> str:
        return " ".join(self.lines[node.start_point[0]].split())

    def inside(self, node) -> str:
        """The node with faults in its children."""
        out, at = [], node.start_byte
        for child in node.children:
            out.append(self.source[at:child.start_byte].decode())
            out.append(self.write(child))
            at = child.end_byte
        out.append(self.source[at:node.end_byte].decode())
        return "".join(out)

    def between(self, left, right) -> str:
        """What stands between two nodes but the operator: line ends, so that lines stay."""
        return "\n" * (right.start_point[0] - left.end_point[0])

    def write(self, node) -> str:
        kind = node.type
        if kind in CONSTANT or is_constant(node, self.source):
            return self.plain(node)
        text = self.written(node)
        code = " ".join(self.plain(node).split()) if self.by_hand and node.is_named else ""
        for wanted, fault in self.by_hand:
            if code == wanted and node.type.endswith("expression"):
                number = self.fault(node, f"{fault} in its place", self.line_of(node))
                if number is not None:
                    text = (f"(::lockwarp_mutant::on({number}) ? static_cast<decltype({code})>({fault})"
                            f" : ({text}))")
        return text

    def written(self, node) -> str:
        kind = node.type
        method = getattr(self, "of_" + kind, None)
        text = method(node) if method is not None else None
        return self.inside(node) if text is None else text

    # Expressions.

    def of_binary_expression(self, node) -> str | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator").type
        if operator in LOGICAL:
            return self.logical(node, left, right, LOGICAL[operator])
        if operator not in BINARY or is_text(left) or is_text(right):
            return None
        name, wrong = BINARY[operator]
        number = self.fault(node, f"{operator} -> {wrong}")
        if number is None:
            return None
        return (f"::lockwarp_mutant::{name}({number}, {self.write(left)},"
                f"{self.between(left, right)} {self.write(right)})")

    def logical(self, node, left, right, operator: str) -> str | None:
        """Each side left out."""
        neutral = "true" if operator == "&&" else "false"
        parts = []
        for side in (left, right):
            number = self.fault(node, f"{neutral} in place of {one_line(self.plain(side))}")
            text = self.write(side)
            if number is None:
                parts.append(text)
            elif operator == "&&":
                parts.append(f"(::lockwarp_mutant::on({number}) || ({text}))")
            else:
                parts.append(f"(!::lockwarp_mutant::on({number}) && ({text}))")
        return f"({parts[0]}{self.between(left, right)} {operator} {parts[1]})"

    def of_unary_expression(self, node) -> str | None:
        operator = node.child_by_field_name("operator").type
        argument = node.child_by_field_name("argument")
        if operator == "!":
            number = self.fault(node, "! left out")
            if number is None:
                return None
            return f"::lockwarp_mutant::flipped({number}, !({self.write(argument)}))"
        if operator in ("-", "~") and argument.type != "number_literal":
            number = self.fault(node, f"{operator} left out")
            if number is None:
                return None
            name = "negative" if operator == "-" else "complement"
            return f"::lockwarp_mutant::{name}({number}, {self.write(argument)})"
        return None

    def of_number_literal(self, node) -> str | None:
        text = self.plain(node)
        if "." in text or (("e" in text or "E" in text) and not text.lower().startswith("0x")):
            return None
        number = self.fault(node, f"{text} + 1")
        return None if number is None else f"::lockwarp_mutant::number({number}, {text})"

    def flip(self, node, of) -> str | None:
        number = self.fault(node, f"not {one_line(self.plain(node))}")
        if number is None:
            return None
        return f"::lockwarp_mutant::flipped({number}, static_cast<bool>({of(node)}))"

    def of_true(self, node) -> str | None:
        return self.flip(node, self.plain)

    of_false = of_true

    def of_conditional_expression(self, node) -> str | None:
        condition = node.child_by_field_name("condition")
        if stripped(condition).type in MADE_OF_PARTS:
            return None
        text = self.flip(condition, self.inside)
        if text is None:
            return None
        rest_at = condition.end_byte
        out = [text]
        for child in node.children:
            if child.start_byte < rest_at:
                continue
            out.append(self.source[rest_at:child.start_byte].decode())
            out.append(self.write(child))
            rest_at = child.end_byte
        return "".join(out)

    # Statements.

    def of_condition_clause(self, node) -> str | None:
        value = node.child_by_field_name("value")
        if node.parent.type == "switch_statement":
            return None
        if value is None or len(node.named_children) != 1 or value.type in (
                "declaration", "condition_declaration") or stripped(value).type in MADE_OF_PARTS:
            return None
        text = self.flip(value, self.inside)
        return None if text is None else "(" + text + ")"

    def of_if_statement(self, node) -> str | None:
        if any(child.type == "constexpr" for child in node.children):
            condition = node.child_by_field_name("condition")
            out, at = [], node.start_byte
            for child in node.children:
                out.append(self.source[at:child.start_byte].decode())
                out.append(self.plain(child) if child == condition else self.write(child))
                at = child.end_byte
            return "".join(out)
        return None

    def of_return_statement(self, node) -> str | None:
        values = [child for child in node.named_children if child.type != "comment"]
        if not values:
            return self.left_out(node)
        value = values[0]
        if stripped(value).type in MADE_OF_PARTS or not returns_bool(node, self.source):
            return None
        text = self.flip(value, self.inside)
        return None if text is None else f"return {text};"

    def left_out(self, node) -> str | None:
        number = self.fault(node, "statement left out")
        if number is None:
            return None
        return f"{{ if (!::lockwarp_mutant::on({number})) {{ {self.inside(node)} }} }}"

    of_break_statement = left_out
    of_continue_statement = left_out

    def of_expression_statement(self, node) -> str | None:
        if not node.named_children:
            return None
        expression = node.named_children[0]
        if expression.type == "assignment_expression":
            operator = expression.child_by_field_name("operator").type
            if operator in ASSIGNMENT:
                return self.compound(node, expression, *ASSIGNMENT[operator], operator)
            return self.left_out(node)
        if expression.type in ("call_expression", "update_expression"):
            return self.left_out(node)
        return None

    def compound(self, node, expression, name: str, wrong: str, operator: str) -> str | None:
        left = expression.child_by_field_name("left")
        right = expression.child_by_field_name("right")
        number = self.fault(expression, f"{operator} -> {wrong}")
        if number is None:
            return None
        gap = self.between(left, right)
        return (f"::lockwarp_mutant::{name}({number}, {self.write(left)},"
                f"{gap} {self.write(right)});")


def one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:37] + "..."


def stripped(node):
    while node.type == "parenthesized_expression" and len(node.named_children) == 1:
        node = node.named_children[0]
    return node


def is_text(node) -> bool:
    """Of a chain of + and <<: whether a string stands in it."""
    if node.type in ("string_literal", "concatenated_string", "raw_string_literal"):
        return True
    if node.type == "binary_expression":
        return any(is_text(node.child_by_field_name(side)) for side in ("left", "right"))
    if node.type == "call_expression":
        return b"to_string" in node.text or b"str(" in node.text
    return False


def has_word(node, words: set[str], source: bytes) -> bool:
    return any(child.type in ("storage_class_specifier", "type_qualifier", "constexpr", "consteval",
                              "constinit")
               and source[child.start_byte:child.end_byte].decode() in words
               for child in node.children)


def is_in_function(node) -> bool:
    while node is not None and node.type not in ("function_definition", "lambda_expression"):
        node = node.parent
    return node is not None


def is_compiled(node, source: bytes) -> bool:
    while node is not None:
        if node.type == "function_definition" and has_word(node, {"constexpr", "consteval"}, source):
            return True
        node = node.parent
    return False


def function_of(node) -> str:
    """The name that its function is defined by; "" where it stands in none."""
    while node is not None and node.type != "function_definition":
        node = node.parent
    while node is not None and node.type not in ("identifier", "field_identifier",
                                                 "qualified_identifier", "operator_name"):
        node = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if child.type == "function_declarator"), None)
    return node.text.decode() if node is not None else ""


def names_anything(declaration) -> bool:
    """Whether another name than the declared one stands in its initialiser."""
    values = [child.child_by_field_name("value") for child in declaration.named_children
              if child.type == "init_declarator"]
    waiting = [value for value in values if value is not None]
    while waiting:
        node = waiting.pop()
        if node.type in ("identifier", "field_expression", "call_expression"):
            return True
        waiting += node.named_children
    return False


def is_constant(node, source: bytes) -> bool:
    # Variables of a namespace and static ones have their first values from the compiler, where it
    # can; so have constants made of numbers alone.
    if node.type == "declaration":
        return has_word(node, {"constexpr", "constinit", "static"}, source) or \
            not is_in_function(node) or \
            (has_word(node, {"const"}, source) and not names_anything(node))
    if node.type == "field_declaration":
        return has_word(node, {"constexpr", "static"}, source)
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "case_statement" and parent.child_by_field_name("value") == node:
        return True
    return parent.type in ("array_declarator", "abstract_array_declarator") and \
        parent.child_by_field_name("size") == node


def returns_bool(node, source: bytes) -> bool:
    at = node.parent
    while at is not None and at.type not in ("function_definition", "lambda_expression"):
        at = at.parent
    if at is None or at.type == "lambda_expression":
        return False
    kind = at.child_by_field_name("type")
    declarator = at.child_by_field_name("declarator")
    return kind is not None and source[kind.start_byte:kind.end_byte] == b"bool" and \
        declarator is not None and declarator.type == "function_declarator"


def with_faults(file: str, source: bytes, first: int, dropped: set[int],
                wanted: set[tuple[int, int, str]] | None = None,
                by_hand: list[tuple[str, str]] = []) -> tuple[str, list[Fault]]:
    """The file with the faults of the places `wanted`, or all, numbered from `first`, none on the
    lines `dropped`; those of `by_hand` among them."""
    tree = tree_sitter.Parser(LANGUAGE).parse(source)
    writer = Writer(file, source, first, dropped, wanted, by_hand)
    text = source[:tree.root_node.start_byte].decode() + writer.inside(tree.root_node)
    return text + source[tree.root_node.end_byte:].decode(), writer.faults
