"""Data files of words: sections, each below its name in brackets, with comments behind ``#``."""

import functools
import re
from collections.abc import Mapping, Sequence
from importlib import resources

_SECTION = re.compile(r"\[(\w+)\][ \t]*(?:#.*)?")


@functools.cache
def read_lines(package: str, path: str) -> Mapping[str, Sequence[str]]:
    """Read the lines of each section of a data file, as they are written.

    Args:
        package: The package that holds the file.
        path: Its path inside the package.
    """
    lines: dict[str, list[str]] = {}
    section: list[str] = []
    for line in resources.files(package).joinpath(path).read_text(encoding="utf-8").splitlines():
        if match := _SECTION.fullmatch(line):
            section = lines.setdefault(match[1], [])
        elif line.strip() and not line.startswith("# "):
            section.append(line)
    return lines


@functools.cache
def read_words(package: str, path: str) -> Mapping[str, Sequence[str]]:
    """Read the words of each section of a data file; an underscore in a word represents a space."""
    words: dict[str, list[str]] = {}
    for name, lines in read_lines(package, path).items():
        text = " ".join(line.partition("#")[0] for line in lines)
        words[name] = [word.replace("_", " ") for word in text.split()]
    return words
