"""`Output`: what a command writes, to a terminal, a pipe or as JSON; its tables, plain text, and exit codes.

Nothing in the text of a document moves the cursor, opens a link or turns the direction of a line.
"""

import dataclasses
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


NOTHING = 1
"""The exit code if nothing was found, or a check failed."""

USAGE = 2
"""The exit code if the command, or a value that was given to it, can't be used."""

MISSING_EXTRA = 3
"""The exit code if an extra isn't installed."""

FAILED = 4
"""The exit code if an index, a file, a model or the network failed."""

STRONG, WEAK, MARKED = "bold", "dim", "bold underline"
_NARROWEST = 20
"""The fewest columns that a text is wrapped to."""


@contextmanager
def above_bars(stream: Any = None) -> Iterator[None]:
    """Clear the bars of progress that are drawn on a terminal, and draw them again below what the block writes.

    Args:
        stream: The stream that the block writes to; ``None`` for stderr.
    """
    bars = sys.modules.get("tqdm")  # nothing is drawn before it is imported
    if bars is None:
        yield
        return
    with bars.tqdm.external_write_mode(sys.stderr if stream is None else stream):
        yield


class Output:
    """Writes results to stdout, and all else to stderr.

    On a terminal, text is wrapped to its width and styled. In a pipe or a file it is plain. As JSON, stdout holds one
    JSON document, or one on each line for a command that goes on.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        """Write to the streams of the process.

        Args:
            as_json: Whether the result is written as JSON alone.
            quiet: Whether notes and progress are left out.
        """
        self.as_json = as_json
        self._quiet = quiet
        self._out, self._err = plain_console(), plain_console(is_error=True)
        self._at = time.perf_counter()

    @property
    def is_styled(self) -> bool:
        """Whether text can be bold or underlined."""
        return self._out.color_system is not None

    @property
    def columns(self) -> int | None:
        """The width of the terminal; ``None`` if there is none."""
        return max(_NARROWEST, self._out.width) if self._out.is_terminal else None

    @property
    def shows_progress(self) -> bool:
        """Whether someone sees progress on stderr."""
        return self._err.is_terminal and not self._err.is_dumb_terminal and not self._quiet

    def line(self, text: "str | Text" = "", *, indent: int = 0) -> None:
        """Write text of a result, wrapped on a terminal; control characters are left out."""
        if self.as_json:
            return
        styled = text_of(text) if isinstance(text, str) else text
        for line in self._wrapped(styled, indent):
            line.rstrip()
            self._print(self._out, text_of(" " * indent) + line if line.plain else line)

    def table(self, lines: Sequence[str]) -> None:
        """Write the lines of a table, the first of which holds titles; see `laid_out`."""
        if self.as_json:
            return
        for number, line in enumerate(lines):
            self._print(self._out, text_of(line, style=STRONG if number == 0 else ""))

    def facts(self, facts: Mapping[str, str]) -> None:
        """Write names and values, one pair on each line."""
        widest = max(map(len, facts), default=0)
        for name, value in facts.items():
            self.line(text_of(f"{name.ljust(widest)}  ", style=WEAK) + text_of(value))

    def document(self, value: Any, *, on_one_line: bool = False) -> None:
        """Write the result as JSON, if it was asked for."""
        if self.as_json:
            text = json.dumps(plain(value), ensure_ascii=False, indent=None if on_one_line else 2)
            with above_bars():
                sys.stdout.write(f"{escaped(text)}\n")
                sys.stdout.flush()

    def piece(self, text: str) -> None:
        """Write a piece of an answer as it comes; nothing if the result is JSON."""
        if not self.as_json:
            sys.stdout.write(printable(text))
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write to stderr what isn't part of the result, unless it is to be quiet."""
        if not self._quiet:
            self._print(self._err, text_of(one_line(text), style=WEAK))

    def complain(self, text: str) -> None:
        """Write to stderr what someone must see."""
        self._print(self._err, text_of(one_line(in_commands(text))))

    def end_without(self, text: str) -> NoReturn:
        """Say that nothing was found, or that a check failed, and end the command."""
        import typer  # on use, as one is told without it how it is installed

        self.complain(text)
        raise typer.Exit(NOTHING)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Say on a terminal what is waited for, until it is there."""
        if not self.shows_progress:
            yield
            return
        from tqdm import tqdm

        with tqdm(
            desc=one_line(text), bar_format="{desc}", file=sys.stderr, leave=False, dynamic_ncols=True, disable=False
        ):
            yield

    def elapsed(self) -> str:
        """Return the time since the last call, or since the beginning."""
        before, self._at = self._at, time.perf_counter()
        seconds = self._at - before
        return f"{1000 * seconds:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"

    def _print(self, console: "Console", text: "Text") -> None:
        with above_bars():
            console.print(text, soft_wrap=True)

    def _wrapped(self, text: "Text", indent: int) -> Iterator["Text"]:
        columns = self.columns
        if columns is None:
            yield from text.split("\n", allow_blank=True)
            return
        yield from text.wrap(self._out, max(_NARROWEST, columns - indent), overflow="fold") or [text_of("")]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that aren't finite as null, other things as their text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def counted(count: int, what: str) -> str:
    """Return a number with what it counts, such as ``1 window`` or ``2 windows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def text_of(text: str, style: str = "") -> "Text":
    """Return a text for a terminal, in which nothing is interpreted."""
    from rich.text import Text

    return Text(printable(text), style=style)


def plain_console(*, is_error: bool = False) -> "Console":
    """Return the console of stdout, or of stderr, which takes text as it is and doesn't end the program by itself."""
    # Imported here, as help and completion must be quick.
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> NoReturn:
            """Say that the reader is gone."""
            raise BrokenPipeError

    return PlainConsole(markup=False, highlight=False, emoji=False, stderr=is_error)


Cut = Callable[[str, int], str]
"""Takes a text and a number of columns, and returns the text cut to them."""

_GAP = "  "
_NARROWEST_CELL = 8
"""The fewest columns that a cell is cut to."""


def laid_out(
    rows: Sequence[Sequence[str]],
    numbers: frozenset[int],
    shrink: Sequence[int],
    columns: int | None = None,
    cuts: Mapping[int, Cut] = MappingProxyType({}),
) -> list[str]:
    """Return the lines of a table.

    Args:
        rows: The cells by rows, all of one length and each on one line.
        numbers: The columns that are aligned on the right.
        shrink: The columns that are cut where the table is too wide, the first one first.
        columns: The width of the terminal; ``None`` cuts nothing.
        cuts: Cut the cells of a column in another way than `shortened`. What they return may be wider than asked for.
    """
    table = [[" ".join(printable(cell).split("\n")) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    for column in shrink if columns is not None else ():
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - (columns or 0)
        widths[column] = max(min(_NARROWEST_CELL, widths[column]), widths[column] - max(0, excess))
        for row in table:
            if _width(row[column]) > widths[column]:
                row[column] = cuts.get(column, shortened)(row[column], widths[column])
    return [
        _GAP.join(_cell(cell, widths[i], is_number=i in numbers) for i, cell in enumerate(row)).rstrip()
        for row in table
    ]


def shortened(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, the last of them an ellipsis if it was cut."""
    from rich.cells import set_cell_size

    return text if _width(text) <= width else set_cell_size(text, max(0, width - 1)).rstrip() + CUT


def ending(text: str, width: int) -> str:
    """Return a text that takes at most so many columns, the first of them an ellipsis if it was cut."""
    if _width(text) <= width:
        return text
    start = len(text)
    while start and _width(text[start - 1 :]) < width:
        start -= 1
    return CUT + text[start:].lstrip()


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _cell(text: str, width: int, *, is_number: bool) -> str:
    padding = " " * (width - _width(text))
    return padding + text if is_number else text + padding


_IN_COMMANDS = {
    "FaissStore.restore()": "sentence-window restore BACKUP",
    ", or load it with PDFLoader(path, password=...)": "",
    "open it with read_only=True, or let this user write": "let this user write",
    ", or open the store with read_only=True, and search again": ", and search again",
}
"""Python in messages of the library, and the words of the command for it."""


def in_commands(message: str) -> str:
    """Return a message of the library with commands in place of what it says in Python."""
    for python, command in _IN_COMMANDS.items():
        message = message.replace(python, command)
    return message


CUT = "…"
"""Stands for what is left out of a text."""

_REPLACEMENT = "\ufffd"
_LINE_ENDS = "\x0b\x0c\x85\u2028\u2029"
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that show the text after them in another order than it stands."""

_ESCAPE = re.compile(
    r"""\\(?:[abfnrtv'"\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})""", re.ASCII
)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_INVISIBLE = (*range(0x206A, 0x2070), *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))
_TABLE: dict[int, str | None] = {
    **dict.fromkeys((*_CONTROLS, *_INVISIBLE, *map(ord, _DIRECTIONS))),
    **dict.fromkeys(map(ord, _LINE_ENDS), "\n"),
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),
    ord("\t"): "    ",
    ord("\n"): "\n",
    ord("\r"): "\n",
}


def printable(text: str) -> str:
    """Return a text without control characters, with plain line ends, and spaces for tabs.

    Escape sequences lose what makes them one, so the rest of them is shown. Lone surrogates become U+FFFD.
    """
    return text.replace("\r\n", "\n").translate(_TABLE)


def one_line(text: str) -> str:
    """Return a printable text on one line, with single spaces."""
    return " ".join(printable(text).split())


def visibly_escaped(text: str) -> str:
    r"""Return a text on one line in which escapes such as ``\n`` stand for what can't be printed."""
    if "\n" not in text and "\t" not in text and printable(text) == text:
        return text
    return "".join(
        each if printable(each) == each and each not in "\n\t\\" else each.encode("unicode_escape").decode()
        for each in text
    )


def unescaped(text: str) -> str:
    """Return a text without the escapes that a message, JSON or `visibly_escaped` writes."""
    plain = _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), text)
    # JSON writes two escapes for some characters.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def escaped(document: str) -> str:
    """Escape what a terminal would interpret in a JSON document; it says the same as before."""
    return document.translate(_ESCAPES)


# JSON escapes the controls below itself.
_ESCAPES = {code: json.dumps(chr(code))[1:-1] for code in _TABLE if code > ord("~")}
