"""The grammars of light markup, read from ``grammars.txt``: patterns, and rules for what begins at a line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase, digits, punctuation
from typing import NamedTuple

from langchain_sentence_window.splitting.word_lists import read_lines, read_words

PACKAGE, DATA_FILE = "sentence_window.files.markup", "grammars.txt"


@dataclass(slots=True)
class Region:
    """A span of text that is one block.

    Attributes:
        start: Its first code point.
        end: One past its last code point.
        kind: The kind of the block.
        rank: The markup of a heading; the level is the position of its rank among all ranks of the text.
        is_header: See `langchain_sentence_window.splitting.blocks.Block`.
    """

    start: int
    end: int
    kind: str
    rank: str = ""
    is_header: bool | None = None


class Scan(NamedTuple):
    """A text in which the commands of LaTeX have been read; the text itself for other formats.

    Attributes:
        text: The text at its original length, with blanks in place of markup. Newlines replace commands that separate
            paragraphs, and the newline after a comment inside a paragraph is blank.
        regions: The blocks found so far, by their start.
        depths: Positions from which the nesting depth of lists changes, each with the new depth.
    """

    text: str
    regions: dict[int, Region]
    depths: list[tuple[int, int]]


class Rule(NamedTuple):
    """A rule for markup at the beginning of a line.

    Attributes:
        kind: ``skip`` for markup that separates paragraphs, ``glue`` for markup that doesn't, ``text`` for a paragraph,
            ``title`` for a paragraph of one line, ``item`` for a list item, ``marker`` for an item whose marker is left
            out, ``table``, or the kind of a block.
        pattern: Matches from the first character of the line that isn't white space. Only its group ``text``, and the
            marker of an item, are text.
        close: Matches the line that closes a region; ``indent`` closes it at the first line that isn't indented more.
        is_flush: Whether it must begin in the first column.
        is_first: Whether it applies only where a paragraph may begin.
    """

    kind: str
    pattern: "re.Pattern[str]"
    close: str = ""
    is_flush: bool = False
    is_first: bool = False


class Grammar(NamedTuple):
    """The patterns and rules of a format.

    Attributes:
        name: The name of the format.
        sign: Matches somewhere in any text that uses the format's markup.
        rules: By the first character of a line, in lower case; rules for any character are under `ANY`.
        shielded: Matches inline markup in which no sentence ends.
        dropped: Matches inline markup that is left out.
        unmarked: Matches markup that is left out of headings.
        title: Matches the declaration of the document's title.
    """

    name: str
    sign: "re.Pattern[str]"
    rules: Mapping[str, tuple[Rule, ...]]
    shielded: "re.Pattern[str]"
    dropped: "re.Pattern[str]"
    unmarked: "re.Pattern[str]"
    title: "re.Pattern[str]"


ANY = "any"
_MACRO = re.compile(r"@([a-z_]+)@")
_CHARACTERS = {ANY: "", "punct": punctuation}


@lru_cache
def grammar_of(name: str) -> Grammar:
    """Read the grammar of a format from the data file, whose comments explain it."""
    sections = read_lines(PACKAGE, DATA_FILE)
    patterns = dict(line.split("  ", 1) for line in sections[f"{name}_patterns"])
    inline = {key: re.compile(_expanded(pattern)) for key, pattern in patterns.items()}
    never = re.compile("(?!)")
    rules: list[tuple[str, Rule]] = []
    for line in sections[name]:
        kind, characters, options, pattern = line.split("  ", 3)
        flags, _, close = options.partition("close=")
        rule = Rule(
            kind, re.compile(_expanded(pattern), re.IGNORECASE), _expanded(close), "flush" in flags, "first" in flags
        )
        expanded = characters.replace("0-9", digits).replace("a-z", ascii_lowercase)
        rules.append((_CHARACTERS.get(characters, expanded), rule))
    by_character = {
        char: tuple(rule for chars, rule in rules if not chars or char in chars)
        for char in {char for chars, _ in rules for char in chars}
    }
    by_character[ANY] = tuple(rule for chars, rule in rules if not chars)
    return Grammar(
        name,
        inline["sign"],
        by_character,
        shielded=inline.get("shielded", never),
        dropped=inline.get("dropped", never),
        unmarked=inline.get("unmarked", never),
        title=inline.get("title", never),
    )


def _expanded(pattern: str) -> str:
    """Replace the names of other patterns and word lists in a pattern; ``@mark@`` is replaced when a rule matches."""
    patterns = dict(line.split("  ", 1) for line in read_lines(PACKAGE, DATA_FILE)["patterns"])

    def named(match: "re.Match[str]") -> str:
        name = match[1]
        if name == "mark":
            return match[0]
        words = "|".join(read_words(PACKAGE, DATA_FILE)[name]) if name not in patterns else ""
        return f"(?:{words})" if words else _expanded(patterns[name])

    return _MACRO.sub(named, pattern)
