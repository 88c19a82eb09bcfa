"""`Output`: what a command writes to a terminal, to a pipe, or as JSON; its exit codes; and printable text.

Nothing in the text of a document moves the cursor, opens a link or turns the direction of a line.
"""

import dataclasses
import json
import math
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from sentence_window.cli.options import TOKEN_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


NOTHING = 1
"""The exit code if nothing was found, or a check failed."""

USAGE = 2
"""The exit code if the command, or a value in it, is invalid."""

MISSING_EXTRA = 3
"""The exit code if a library for a model isn't installed."""

FAILED = 4
"""The exit code if an index, a file, a model or the network failed."""

STRONG, WEAK, MARKED = "bold", "dim", "bold underline"
_GAP = "  "
_MIN_COLUMNS = 20
"""The fewest columns that text is wrapped to."""

_MIN_CELL = 8
"""The fewest columns that a cell of a table is cut to."""


@contextmanager
def above_bars(stream: Any = None) -> Iterator[None]:
    """Clear progress bars while the block writes to a stream, and draw them again below; ``None`` for stderr."""
    bars = sys.modules.get("tqdm")  # before it is imported, there are no bars
    if bars is None:
        yield
        return
    with bars.tqdm.external_write_mode(sys.stderr if stream is None else stream):
        yield


class Output:
    """Writes results to stdout, and everything else to stderr.

    On a terminal, text is wrapped to its width and styled. In a pipe or a file it is plain. With JSON, stdout holds one
    JSON document, or one on each line for a command that keeps running.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        """Write to the streams of the process.

        Args:
            as_json: Whether to write the result as JSON alone.
            quiet: Whether to leave out notes and progress.
        """
        self.as_json = as_json
        self._quiet = quiet
        self._out, self._err = _plain_console(is_error=False), _plain_console(is_error=True)
        self._at = time.perf_counter()

    @property
    def is_styled(self) -> bool:
        """Whether text can be bold or underlined."""
        return self._out.color_system is not None

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown on stderr."""
        return self._err.is_terminal and not self._quiet

    def line(self, text: "str | Text" = "", *, indent: int = 0) -> None:
        """Write text of a result, wrapped on a terminal; control characters are left out."""
        if self.as_json:
            return
        styled = text_of(text) if isinstance(text, str) else text
        columns = self._columns
        if columns is None:
            lines = styled.split("\n", allow_blank=True)
        else:
            lines = styled.wrap(self._out, max(_MIN_COLUMNS, columns - indent), overflow="fold")
        for line in lines or [text_of("")]:
            line.rstrip()
            self._print(self._out, text_of(" " * indent) + line if line.plain else line)

    def table(self, columns: Mapping[str, Sequence[str]], *, numbers: Container[str], cut: str) -> None:
        """Write a table.

        Args:
            columns: The cells of each column, by its title.
            numbers: The titles of columns that are aligned on the right.
            cut: The title of the column that is cut where a terminal is too narrow.
        """
        if self.as_json:
            return
        table = {title: [text_of(one_line(cell)) for cell in [title, *cells]] for title, cells in columns.items()}
        widths = {title: max(cell.cell_len for cell in cells) for title, cells in table.items()}
        if self._columns is not None and cut in widths:
            excess = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - self._columns
            widths[cut] = min(widths[cut], max(_MIN_CELL, widths[cut] - excess))
        for number, row in enumerate(zip(*table.values(), strict=True)):
            for cell, (title, width) in zip(row, widths.items(), strict=True):
                cell.truncate(width, overflow="ellipsis")
                cell.align("right" if title in numbers else "left", width)
            line = text_of(_GAP).join(row)
            line.rstrip()
            line.stylize(STRONG if number == 0 else "")
            self._print(self._out, line)

    def facts(self, facts: Mapping[str, str]) -> None:
        """Write names and values, one pair on each line."""
        widest = max(map(len, facts))
        for name, value in facts.items():
            self.line(text_of(f"{name.ljust(widest)}{_GAP}", style=WEAK) + text_of(value))

    def document(self, value: Any, *, on_one_line: bool = False) -> None:
        """Write the result as JSON, if JSON was requested."""
        if self.as_json:
            text = json.dumps(_plain(value), ensure_ascii=False, indent=None if on_one_line else 2)
            with above_bars():
                sys.stdout.write(f"{text.translate(_JSON_ESCAPES)}\n")
                sys.stdout.flush()

    def piece(self, text: str) -> None:
        """Write a piece of an answer as it arrives; nothing with JSON."""
        if not self.as_json:
            sys.stdout.write(printable(text))
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write a note to stderr, unless the command is quiet."""
        if not self._quiet:
            self._print(self._err, text_of(one_line(text), style=WEAK))

    def complain(self, text: str) -> None:
        """Write a problem to stderr."""
        self._print(self._err, text_of(one_line(in_commands(text))))

    def end_without(self, text: str) -> NoReturn:
        """Say that nothing was found, or that a check failed, and end the command."""
        self.complain(text)
        raise typer.Exit(NOTHING)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a text on a terminal while the block runs."""
        if not self.shows_progress:
            yield
            return
        from tqdm import tqdm

        with tqdm(desc=one_line(text), bar_format="{desc}", file=sys.stderr, leave=False, dynamic_ncols=True):
            yield

    def elapsed(self) -> str:
        """Return the time since the last call, or since the start."""
        before, self._at = self._at, time.perf_counter()
        return f"{self._at - before:,.2f} s"

    @property
    def _columns(self) -> int | None:
        """The width of the terminal; ``None`` if stdout isn't one."""
        return self._out.width if self._out.is_terminal else None

    def _print(self, console: "Console", text: "Text") -> None:
        with above_bars():
            console.print(text, soft_wrap=True)


def _plain_console(*, is_error: bool) -> "Console":
    """Return the console of stdout or stderr, which interprets nothing, and doesn't end the program by itself."""
    from rich.console import Console  # imported here, as help and completion must be quick

    class PlainConsole(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return PlainConsole(markup=False, highlight=False, emoji=False, stderr=is_error)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that aren't finite as null, values of other types as their text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # The document of a citation or a quote is among the windows.
        names = [field.name for field in dataclasses.fields(value) if field.name != "document"]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return str(value)


_COMMANDS_FOR_PYTHON = {
    "FaissStore.restore()": "sentence-window restore BACKUP",
    ", or load it with PDFLoader(path, password=...)": "",
    "open it with read_only=True, or let this user write": "let this user write",
    ", or open the store with read_only=True, and search again": ", and search again",
    "e.g. names=['search.example.com']": "such as --name search.example.com",
    "e.g. token=secrets.token_urlsafe(), or listen on host='127.0.0.1' alone": (
        f"in the variable {TOKEN_VARIABLE} or by --token, or listen on --host 127.0.0.1 alone"
    ),
}
"""Python in messages, and how the command says the same."""


def in_commands(message: str) -> str:
    """Return a message with options and commands in place of Python."""
    for python, command in _COMMANDS_FOR_PYTHON.items():
        message = message.replace(python, command)
    return message


def counted(count: int, what: str) -> str:
    """Return a number with what it counts, such as ``1 window`` or ``2 windows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def text_of(text: str, style: str = "") -> "Text":
    """Return text for a terminal, which interprets nothing in it."""
    from rich.text import Text

    return Text(printable(text), style=style)


_LINE_ENDS = "\n\r\x0b\x0c\x85\u2028\u2029"
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that show the text after them in another order."""

_INVISIBLE = (*range(0x206A, 0x2070), *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))
_TABLE: dict[int, str | None] = {
    **dict.fromkeys((*_CONTROLS, *_DIRECTIONS, *_INVISIBLE)),
    **dict.fromkeys(map(ord, _LINE_ENDS), "\n"),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    ord("\t"): "    ",
}

# JSON itself escapes the controls below.
_JSON_ESCAPES = {code: json.dumps(chr(code))[1:-1] for code in _TABLE if code > ord("~")}


def printable(text: str) -> str:
    """Return a text without control characters, with plain line ends, and spaces for tabs.

    Without its first character, the rest of an escape sequence is shown as text. Lone surrogates become U+FFFD.
    """
    return text.replace("\r\n", "\n").translate(_TABLE)


def one_line(text: str) -> str:
    """Return a printable text on one line, with single spaces."""
    return " ".join(printable(text).split())
