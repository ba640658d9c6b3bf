"""What a person reads in a Python file, as Markdown with the same numbers of lines."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

# Arguments whose strings are help texts of commands and descriptions of fields.
HELP = ("description", "epilog", "help")
DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|mypy:|ruff:|pragma:|fmt:|!|-\*-|pyright:)|#:?\s*$")
LITERAL = re.compile(r"[A-Za-z]*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
SECTION = re.compile(r"(?:Args|Raises|Returns|Yields|Attributes):")

Block = list[tuple[int, str]]


def comments_of(source: str) -> str:
    """Return docstrings and comments of a Python file, each on its line; the lines of code are empty."""
    return _to_markdown(source, [*_docstrings(source), *_comments(source)])


def help_of(source: str) -> str:
    """Return help texts, descriptions and messages of errors, each on its line; the other lines are empty."""
    lines = source.splitlines()
    nodes = list(ast.walk(ast.parse(source)))
    helps = [_help(one.value, lines) for one in nodes if isinstance(one, ast.keyword) and one.arg in HELP]
    raised = [argument for one in nodes if isinstance(one, ast.Raise) for argument in _arguments(one.exc)]
    messages = [_sentences(_help(one, lines)) for one in raised]
    return _to_markdown(source, [block for block in [*helps, *messages] if block])


def _to_markdown(source: str, blocks: list[Block]) -> str:
    lines = [""] * (source.count("\n") + 2)
    for block in sorted(blocks, key=lambda block: block[0][0]):
        first = block[0][0]
        # Else Markdown joins texts of two lines of code to one paragraph.
        separator = "- " if lines[first - 1] and not block[0][1].startswith(("- ", "* ")) else ""
        for number, text in block:
            lines[number] = (separator if number == first else "") + text
    return "\n".join(lines[1:])


def _docstrings(source: str) -> Iterator[Block]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        # Each of these may have a docstring.
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False):
            yield _docstring(node.body[0], lines)


def _docstring(statement: ast.stmt, lines: list[str]) -> Block:
    number, end = statement.lineno, statement.end_lineno or statement.lineno
    text = lines[number - 1 : end]
    text[0] = re.sub(r'^[rR]?"""', "", text[0].lstrip())
    text[-1] = text[-1].removesuffix('"""')
    indents = [len(line) - len(line.lstrip()) for line in text[1:] if line.strip()]
    indent = min(indents, default=0)
    text[1:] = [line[indent:] for line in text[1:]]
    return list(enumerate(_without_sections(text), number))


def _without_sections(text: list[str]) -> Iterator[str]:
    """Write the entries of sections such as ``Args:`` as items of a list."""
    within = False
    for line in text:
        if SECTION.fullmatch(line):
            within = True
            yield ""
        elif within and re.match(r" {4}\S", line):
            yield f"- {line.strip()}"
        elif within and line.startswith(" "):
            yield f"  {line.strip()}"
        else:
            within = within and not line.strip()
            yield line


def _sentences(message: Block) -> Block:
    """Write the parts of a message between semicolons as sentences: what happened, and what to do."""
    found: Block = []
    for number, text in message:
        begins = bool(found) and found[-1][1].endswith(". ")
        written = re.sub(r"; (\S?)", lambda part: f". {part[1].upper()}", text)
        found.append((number, written[:1].upper() + written[1:] if begins else written))
    return found


def _arguments(error: ast.expr | None) -> list[ast.expr]:
    return error.args if isinstance(error, ast.Call) else []


def _help(value: ast.expr, lines: list[str]) -> Block:
    """Return the strings of a value, with ``X`` for each part that the program puts in."""
    if not isinstance(value, ast.Constant | ast.JoinedStr):
        return []
    found = []
    for number in range(value.lineno, (value.end_lineno or value.lineno) + 1):
        start = value.col_offset if number == value.lineno else 0
        end = value.end_col_offset if number == value.end_lineno else None
        parts = LITERAL.findall(lines[number - 1].encode()[start:end].decode())
        text = "".join(str(ast.literal_eval(part)) for part in parts)
        found.append((number, re.sub(r"\{[^}]*\}", "X", text).replace("\n", " ")))
    return found


def _comments(source: str) -> Iterator[Block]:
    """Yield comments; those on lines of their own below each other are one text."""
    block: Block = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or DIRECTIVE.match(token.string):
            continue
        number, column = token.start
        alone = not token.line[:column].strip()
        if block and not (alone and block[-1][0] == number - 1):
            yield block
            block = []
        block.append((number, re.sub(r"^#:?\s*", "", token.string).split("  # ")[0]))
        if not alone:
            yield block
            block = []
    if block:
        yield block
