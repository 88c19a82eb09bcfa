"""Terminals, and what stands for one: a pipe or a file."""

from typing import NoReturn

from rich.console import Console


class _PlainConsole(Console):
    """A console that takes text as it is, and doesn't end the program by itself."""

    def on_broken_pipe(self) -> NoReturn:
        """Say that the reader is gone."""
        raise BrokenPipeError


def plain_console(*, is_error: bool = False) -> Console:
    """Return the console of stdout, or of stderr."""
    return _PlainConsole(markup=False, highlight=False, emoji=False, stderr=is_error)
