"""Source code: a text as comments, docstrings, signatures and runs of statements.

Marks mean other things in code than in prose: a line with ``#`` is a comment, not a heading. Code is recognized by the
suffix of its file, by what its loader says, or by its text, if that is unmistakable.

A line says too little to be searched, so a unit takes the place of a sentence: a function with the comment and the
decorators above it. A long one is cut between its statements, comments and docstrings, and what comes after its
signature is led in by it. Short functions that follow each other are one unit. A method is a function, and one inside
another isn't. A section is a run of whole functions.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from langchain_sentence_window._primitives import Span

from .blocks import CODE, LINE, Block, trim

UNIT_CHARS = 800
"""The most characters of a unit, which ends at the end of a line. A comment may be longer. See the benchmarks page."""

SHORT_CHARS = 500
"""The most characters of several functions that are one unit."""

SECTION_CHARS = 4_000
"""The most characters of a section of several functions."""

MAX_SIGNATURE_LINES = 30
"""Lines of a signature; a longer one ends after its first."""

MAX_PARSED_CHARS = 100_000
"""Characters of a text that are tried as Python, if nothing else says that it is code."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """Marks of a programming language by which its files are cut.

    Attributes:
        line_comments: What begins a comment that ends with its line.
        block_comments: What begins and what ends a comment of several lines, or a docstring.
        signature: Matches a line from its first character that isn't white space, if it begins a function, a class or
            the like; ``None`` for a language without them. Its group ``holder`` says that functions in it are sections
            too.
        is_indented: Whether a signature ends with a colon.
    """

    line_comments: tuple[str, ...]
    block_comments: tuple[tuple[str, str], ...] = ()
    signature: "re.Pattern[str] | None" = None
    is_indented: bool = False


_QUOTES = ('"""', "'''")
_DOCSTRINGS = tuple((prefix + quotes, quotes) for quotes in _QUOTES for prefix in ("", "r", "R", "u", "U", "f", "b"))
_PYTHON = re.compile(r"(?:async[ \t]+def|def|(?P<holder>class))[ \t]+\w")
_NO_STATEMENT = r"(?![^\r\n]*;[ \t]*\Z)"
_WORDS = r"(?:(?:[a-z_]+(?:\([\w:., ]{0,40}\))?|@\w+)[ \t]+){0,6}"
_BRACES = re.compile(
    rf"{_NO_STATEMENT}(?:{_WORDS}(?:(?P<holder>class|interface|trait|impl|object|module|namespace|extension|mod|record"
    r"|contract|service)\b[ \t]*[\w<'&]"
    r"|(?:function\b\*?|(?:func|fn|fun|def|struct|enum|union|type|message|constructor|actor|protocol)\b)[ \t]*[\w(<]"
    r"|(?:const|let|var)[ \t]+\w+[ \t]*=[ \t]*(?:async[ \t]*)?(?:function\b|(?:\([^()\n]{0,200}\)|\w+)[ \t]*=>))"
    # "static int load(char *path) {", and a method of JavaScript
    r"|(?!(?:if|for|while|switch|catch|return|else|do|try|with|using|new|throw|await|foreach|match|unless|until)\b)"
    r"(?:(?:[\w:<>,\[\].*&?~@]++[ \t]++){0,6}?[*&]*~?\w++[ \t]*\([^;{}]{0,200}\)[^;={}()]{0,100}\{(?:[^{}]{0,200}\})?\Z"
    r"|(?:[\w:<>,\[\].*&?~@]++[ \t]++){1,6}?[*&]*~?\w++[ \t]*\([^;{}()]{0,200},?\Z))"
)
_RUBY = re.compile(
    r"(?:(?P<holder>class|module|defmodule|defimpl|defprotocol)|defp?|defmacrop?|sub|function)[ \t]+[\w:.]"
)
_SHELL = re.compile(r"(?:function[ \t]+[\w:.-]+|[\w:.-]+[ \t]*\(\))")
_SQL = re.compile(r"create\b[ \t]+(?:or[ \t]+replace[ \t]+)?[a-z]+[ \t]", re.IGNORECASE)
_LUA = re.compile(r"(?:local[ \t]+)?function[ \t]+\w|\w+[ \t]*::[ \t]|\w[\w.]*[ \t]*<-[ \t]*function\b")
_C_COMMENTS = (("/*", "*/"),)

_FAMILIES: tuple[tuple[Syntax, str, str], ...] = (  # with suffixes, and names of languages and types of content
    (Syntax(("#",), _DOCSTRINGS, _PYTHON, is_indented=True), "py pyi pyw pyx", "python python3 py"),
    (
        Syntax(("//",), _C_COMMENTS, _BRACES),
        "js mjs cjs jsx ts mts cts tsx java c h cc cpp cxx hh hpp hxx cs go rs swift kt kts scala dart proto groovy"
        " gradle sol zig css scss less cu",
        "js javascript jsx ts typescript tsx java c cpp csharp go rust swift kotlin scala dart proto sol css",
    ),
    (Syntax(("//", "#"), _C_COMMENTS, _BRACES), "php", "php"),
    (Syntax(("#",), (("=begin", "=end"),), _RUBY), "rb ex exs pl pm jl rake gemspec", "ruby elixir perl julia"),
    (Syntax(("#",), (("<#", "#>"),), _SHELL), "sh bash zsh ksh fish bats ps1 psm1", "shell bash powershell"),
    (Syntax(("#",), (), _LUA), "r R", "r"),
    (Syntax(("#",)), "yaml yml toml cfg conf properties env mk cmake dockerfile nix tcl awk gd", "yaml toml makefile"),
    (Syntax(("#", "//"), _C_COMMENTS), "tf tfvars hcl", "hcl terraform"),
    (Syntax((";", "#")), "ini", "ini"),
    (Syntax(("--",), _C_COMMENTS, _SQL), "sql", "sql"),
    (Syntax(("--",), (("--[[", "]]"), ("{-", "-}")), _LUA), "lua hs elm", "lua haskell"),
    (Syntax((";",)), "el lisp clj cljs scm rkt", "lisp clojure scheme"),
    (Syntax(("%",)), "erl hrl", "erlang"),
    (Syntax(("'",)), "vb bas vbs", "visualbasic6"),
)
_BY_SUFFIX = {suffix: syntax for syntax, suffixes, _ in _FAMILIES for suffix in suffixes.split()}
_BY_LANGUAGE = {name: syntax for syntax, _, names in _FAMILIES for name in names.split()}
_FILES = {"makefile": "mk", "gnumakefile": "mk", "dockerfile": "mk", "gemfile": "rb", "rakefile": "rb", ".env": "env"}
_OF_REPOSITORY = re.compile(
    r"(?:file|s3|gs|abfss?|hdfs)://|https?://(?:raw\.|api\.github\.|[^/]+/.*?/(?:blob|raw|src|contents|-)/)"
)
"""Addresses whose suffix is that of a file, unlike those of pages."""


def name_of_file(source: str) -> str:
    """Return the name of a file in lower case, by its path or its address; empty for the address of a page."""
    if "://" in source:  # a page may be about Node.js
        source = re.split(r"[?#]", source, maxsplit=1)[0]
        if not _OF_REPOSITORY.match(source):
            return ""
    return re.split(r"[/\\]", source)[-1].lower()


def syntax_of_source(source: str) -> Syntax | None:
    """Detect the syntax of a file by its name.

    Args:
        source: Its path or its address.
    """
    name = name_of_file(source)
    suffix = _FILES.get(name, name.rpartition(".")[2] if "." in name.lstrip(".") else "")
    return _BY_SUFFIX.get(suffix)


def syntax_of_language(language: str) -> Syntax | None:
    """Return the syntax of a programming language by its name in loaders, such as ``python``."""
    return _BY_LANGUAGE.get(language.strip().lower())


_SHEBANG = re.compile(r"\ufeff?#![ \t]*/(?:\S*/)?(?P<name>[a-z]+)[\d.]*(?:[ \t]+(?:-S[ \t]+)?(?P<of_env>[a-z]+))?")
_LINE_OF_BRACES = re.compile(
    r".*(?:(?P<open>\{)|(?P<close>[}\])][;,)\]}]*)|[;,(\[=&|+?:<>\\])(?:[ \t]*//.*)?\Z"
    r"|[}@#:]|[\w.\[\]*]+ :?= |(?:import|package|using|use|return|const|let|var|val|case|break|continue)\b"
)
_COMMENTS_OF_BRACES = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_LOOKED_AT = 20_000  # characters
_MIN_LINES, _MIN_SHARE = 4, 0.7


def _has_braces(text: str) -> bool:
    """Return whether lines of a text open and close blocks as in C, Java or Rust, and most others are of code, too."""
    if "{" not in text or "```" in text or text.lstrip()[:1] in {"{", "[", "<", "\\"}:  # JSON, pages and LaTeX
        return False
    plain = _COMMENTS_OF_BRACES.sub("", text[:_LOOKED_AT])
    lines = [line for each in plain.splitlines() if (line := each.strip())]
    found = [_LINE_OF_BRACES.match(line) for line in lines if not line.startswith("//")]
    matches = [match for match in found if match]
    has_blocks = all(any(match[name] for match in matches) for name in ("open", "close"))
    return len(lines) >= _MIN_LINES and has_blocks and len(matches) >= _MIN_SHARE * len(found)


_SHELLS = frozenset({"sh", "bash", "zsh", "ksh", "dash", "fish"})
_LINE_OF_PYTHON = re.compile(r"\n(?:(?:async )?def \w+\(|class \w+[(:]|(?:from [\w.]+ )?import \w)")
_MIN_LINES_OF_PYTHON = 2
_COMMENT_OF_PYTHON = re.compile(r"""\n(?:#(?![^ \t\n])|\"{3}|'{3})""")
_WARNED = (
    (re.compile(r"\\(?:N\{[^{}\n]*\}|(?=[{}])|[^{}\n])"), "?"),
    (re.compile(r"(?<!\w)(\d\w*?)(?=(?:and|else|for|i[fns]|not|or)\b)"), r"\1 "),
    (re.compile(r"\breturn\b"), "yield"),
    (re.compile(r"\b(?:break|continue)\b"), "pass"),
)
"""What Python warns of when it parses code, and what is as valid there: escapes that it doesn't know, numbers that
touch a word, and statements that leave a ``finally``. Whether warnings are shown is a setting of the whole process, so
there must be none. A ``?`` is valid in texts and comments only, as the escapes are."""


def syntax_of_text(text: str) -> Syntax | None:
    """Detect the syntax of a text that is unmistakably code.

    A first line such as ``#!/bin/sh`` does, a text that is Python from beginning to end and defines or imports
    something, and one whose lines open and close blocks with braces. Python is asked first, as its dicts and sets have
    braces, too, and no language of braces parses as Python but for a single literal.
    """
    if match := _SHEBANG.match(text):
        name = match["of_env"] if match["name"] == "env" else match["name"]
        known = "shell" if name in _SHELLS else {"node": "js"}.get(name or "", name or "")
        return _BY_LANGUAGE.get(known, _BY_LANGUAGE["shell"])
    has_braces = _has_braces(text)
    if _is_python(text, has_braces=has_braces):
        return _BY_LANGUAGE["python"]
    return _BY_LANGUAGE["java"] if has_braces else None


def _is_python(text: str, *, has_braces: bool) -> bool:
    plain = "\n" + text[: MAX_PARSED_CHARS + 1].replace("\r\n", "\n").replace("\r", "\n")
    lines = [match.start() for match in _LINE_OF_PYTHON.finditer(plain)]
    if len(text) > MAX_PARSED_CHARS:  # as far as its last definition, which may be cut
        plain = plain[: lines.pop()] if lines else ""
    # Prose may begin a line with "import", and parse if it is a word; a literal with braces may be of JavaScript.
    if len(lines) < (1 if has_braces else _MIN_LINES_OF_PYTHON) and not (
        has_braces and _COMMENT_OF_PYTHON.search(plain)
    ):
        return False
    for warned, new in _WARNED:
        plain = warned.sub(new, plain)
    try:
        ast.parse(plain.removeprefix("\n\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_STATEMENTS, _COMMENT, _TEXT, _SIGNATURE = "statements", "comment", "text", "signature"
_CLOSER = re.compile(r"[)\]}{]|(?:end|fi|done|esac)\b")
_MAX_SIGNATURE_CHARS = 400


@dataclass(frozen=True, slots=True)
class _Run:
    """Lines that belong together.

    Attributes:
        first: The number of the first line.
        end: One past the number of the last one.
        kind: Whether they are statements, a comment, another text such as a docstring, or a signature.
        indent: The indent of the first line.
        is_holder: Of a signature, whether functions in it are sections.
        is_decorator: Whether the first line is a decorator or an attribute.
    """

    first: int
    end: int
    kind: str
    indent: int = 0
    is_holder: bool = False
    is_decorator: bool = False


def code_sections(text: str, syntax: Syntax, start: int, end: int) -> Iterator[tuple[list[Block], list[int | None]]]:
    """Cut code into sections, which are functions that follow each other.

    Args:
        text: The text of a file, or a part of one.
        syntax: Its syntax.
        start: Where the code begins.
        end: One past its last code point.

    Yields:
        The units of a section in order, and for each of them the position of the one that leads it in; ``None`` if it
        begins a function. Between all of them is nothing but white space.
    """
    lines = [match[0] for match in LINE.finditer(text, start, end)]
    starts = list(accumulate(map(len, lines), initial=start))

    def chars(first: int, end: int) -> int:
        return starts[end] - starts[first]

    sections: list[tuple[list[Span], list[int | None]]] = []
    is_short = False  # whether the last unit is one or several whole functions
    for runs, signature in _functions(lines, syntax):
        units, lead = _join_runs(runs, signature, chars)
        spans, leads = sections[-1] if sections else ([], [])
        if is_short and len(units) == 1 and chars(spans[-1][0], units[0][1]) <= SHORT_CHARS:
            spans[-1] = (spans[-1][0], units[0][1])
            continue
        if not spans or chars(spans[0][0], units[-1][1]) > SECTION_CHARS:
            spans, leads = [], []
            sections.append((spans, leads))
        low = len(spans)
        leads += [low + lead if lead is not None and lead < number else None for number in range(len(units))]
        spans += units
        is_short = len(units) == 1
    for spans, leads in sections:
        yield [Block(*trim(text, starts[first], starts[end]), CODE) for first, end in spans], leads


def _join_runs(
    runs: Sequence["_Run"], signature: int | None, chars: Callable[[int, int], int]
) -> tuple[list[Span], int | None]:
    """Join runs of a function to units of lines; return them and the position of the one with the signature."""
    units: list[Span] = []
    lead: int | None = None
    begun = 0  # the number of the run that begins the last unit
    for number, run in enumerate(runs):
        if units and chars(units[-1][0], run.end) <= UNIT_CHARS:
            units[-1] = (units[-1][0], run.end)
        else:
            above = _above(runs, number, signature, run.first)
            if units and begun < above < number:
                units[-1] = (units[-1][0], runs[above - 1].end)
                begun = above
            else:
                begun = number
            units.append((runs[begun].first, run.end))
        if number == signature:
            lead = len(units) - 1
    return units, lead


def _functions(lines: Sequence[str], syntax: Syntax) -> Iterator[tuple[list["_Run"], int | None]]:
    """Yield the runs of each function, or of what is between two, and the position of its signature."""
    runs: list[_Run] = []
    signature: int | None = None
    for run in _statement_runs(lines, syntax):
        head = None if signature is None else runs[signature]
        is_inner = head is not None and run.indent > head.indent
        begins = run.kind == _SIGNATURE and not (is_inner and head and not head.is_holder)
        if begins or (run.kind == _STATEMENTS and head is not None and not is_inner):
            above = _above(runs, len(runs), signature, run.first)
            # The first line of a class isn't left alone.
            if above and not (is_inner and signature is not None and above == signature + 1):
                yield runs[:above], signature
                runs, signature = runs[above:], None
        if begins:
            signature = len(runs)
        runs.append(run)
    if runs:
        yield runs, signature


def _above(runs: Sequence[_Run], at: int, signature: int | None, first: int) -> int:
    """Return how many of ``at`` runs come before the comments and decorators directly above a line."""
    while at and at - 1 != signature and runs[at - 1].end == first:
        if runs[at - 1].kind != _COMMENT and not runs[at - 1].is_decorator:
            break
        at, first = at - 1, runs[at - 1].first
    return at


def _statement_runs(lines: Sequence[str], syntax: Syntax) -> list[_Run]:
    """Part lines of code into comments, signatures and runs of statements."""
    reader = _CodeReader(lines, syntax)
    runs: list[_Run] = []
    at, chars = 0, 0
    is_open = False  # whether the last run is statements that may continue
    while at < len(lines):
        line, indent = lines[at].strip(), _indent(lines[at])
        found = reader.read(at) if line else None
        is_decorator = line.startswith(("@", "#[", "[")) and not line.startswith("[[")
        if is_open:
            fits = chars + len(line) <= UNIT_CHARS // 2 and (runs[-1].is_decorator or not is_decorator)
            # A bracket that closes belongs to what it closes.
            is_inside = indent >= runs[-1].indent or _CLOSER.match(line) is not None
            is_open = line != "" and not found and fits and is_inside
        if found:
            runs.append(found)
        elif is_open:
            runs[-1] = replace(runs[-1], end=at + 1)
        elif line:
            indent += bool(_CLOSER.match(line))
            runs.append(_Run(at, at + 1, _STATEMENTS, indent, is_decorator=is_decorator))
            is_open, chars = True, 0
        chars += len(line)
        at = found.end if found else at + 1
    return runs


class _CodeReader:
    """Finds the comments, texts and signatures that begin at a line."""

    def __init__(self, lines: Sequence[str], syntax: Syntax) -> None:
        self.lines, self.syntax = lines, syntax
        self._unclosed: set[str] = set()  # what closes nothing below the line that was read last

    def read(self, at: int) -> _Run | None:
        line, indent = self.lines[at].strip().removeprefix("\ufeff"), _indent(self.lines[at])
        for begin, close in self.syntax.block_comments:
            if line.startswith(begin):
                is_text = close in _QUOTES
                return _Run(at, self._closed(at, line[len(begin) :], close), _TEXT if is_text else _COMMENT, indent)
        if self._is_comment(line):
            end = at + 1
            while end < len(self.lines) and self._is_comment(self.lines[end].strip()):
                end += 1
            return _Run(at, end, _COMMENT, indent)
        quotes = _QUOTES if self.syntax.is_indented else ()
        if opened := next((each for each in quotes if line.count(each) % 2), ""):  # a text that is a value
            return _Run(at, self._closed(at, "", opened), _STATEMENTS, indent)
        match = self._signature(at, line) if self.syntax.signature else None
        if match is None:
            return None
        return _Run(at, self._signature_end(at), _SIGNATURE, indent, bool(match.groupdict().get("holder")))

    def _is_comment(self, line: str) -> bool:
        return line.startswith(self.syntax.line_comments) and not line.startswith(("#[", "#!["))

    def _signature(self, at: int, line: str) -> "re.Match[str] | None":
        if len(line) > _MAX_SIGNATURE_CHARS or self.syntax.signature is None:
            return None
        if at + 1 < len(self.lines) and self.lines[at + 1].strip() == "{" and not line.endswith("{"):
            line += " {"
        return self.syntax.signature.match(line)

    def _closed(self, at: int, rest: str, close: str) -> int:
        """Return one past the line that closes what begins at a line; what isn't closed ends at a blank line."""
        end = at + 1
        if close in rest:
            return end
        while close not in self._unclosed and end < len(self.lines):
            end += 1
            if close in self.lines[end - 1]:
                return end
        self._unclosed.add(close)
        return next(
            (number for number in range(at + 1, len(self.lines)) if not self.lines[number].strip()), len(self.lines)
        )

    def _signature_end(self, at: int) -> int:
        depth = 0
        for number in range(at, min(len(self.lines), at + MAX_SIGNATURE_LINES)):
            line = self.lines[number]
            depth += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
            if depth <= 0:
                return number + 1
        return at + 1


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
