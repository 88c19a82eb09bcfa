"""`Output`: what a command writes, to a terminal, a pipe or as JSON; and the exit codes that it ends with."""

import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langchain_sentence_window.apps.cli.plain_text import escaped, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


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
        # Imported here, as help and completion must be quick.
        from langchain_sentence_window.apps.cli.terminal import plain_console

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

    def table(
        self,
        rows: Sequence[Sequence[str]],
        *,
        numbers: frozenset[int],
        shrink: Sequence[int],
        cuts: Mapping[int, Callable[[str, int], str]],
    ) -> None:
        """Write rows in columns, the first of which holds titles; see `tables.laid_out`."""
        if self.as_json:
            return
        from langchain_sentence_window.apps.cli.terminal import laid_out

        for number, line in enumerate(laid_out(rows, numbers, shrink, self.columns, cuts)):
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
        self._print(self._err, text_of(one_line(text)))

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


NOTHING = 1
"""Nothing was found, or a check failed."""

USAGE = 2
"""The command, or a value that was given to it, can't be used."""

FAILED = 4
"""An index, a file, a model or the network failed."""

INTERRUPTED = 130
"""Ctrl-C."""


MISSING_EXTRA = 3
"""The exit code if an extra isn't installed."""
