"""The exit codes of commands, and the errors that lead to them."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from langchain_sentence_window.cli.main import MISSING_EXTRA
from langchain_sentence_window.cli.output import above_bars
from langchain_sentence_window.cli.plain_text import one_line
from langchain_sentence_window.errors import (
    InvalidInputError,
    MissingExtraError,
    SentenceWindowError,
    SentenceWindowWarning,
)

NOTHING = 1
"""Nothing was found, or a check failed."""

USAGE = 2
"""The command, or a value that was given to it, can't be used."""

FAILED = 4
"""An index, a file, a model or the network failed."""

INTERRUPTED = 130
"""Ctrl-C."""

DEBUG = "SENTENCE_WINDOW_DEBUG"
"""The variable of the environment that asks for tracebacks."""


class Commands(TyperGroup):
    """All commands; turns errors into a line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _errors_told(), _warnings_told():
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader has seen enough. What is left must not fail when Python flushes it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except MissingExtraError as error:
        raise _told(str(error), MISSING_EXTRA) from error
    except InvalidInputError as error:
        raise _told(str(error), USAGE) from error
    except SentenceWindowError as error:
        raise _told(str(error), FAILED) from error
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except ImportError as error:
        raise _told(str(error), MISSING_EXTRA) from error
    except Exception as error:  # a model, a provider or the file system may raise anything
        raise _told(f"{type(error).__name__}: {error}", FAILED) from error


def _told(message: str, code: int) -> typer.Exit:
    """Write an error to stderr, and return what ends the command with an exit code."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    sys.stderr.write(f"Error: {one_line(message)}\n")
    return typer.Exit(code)


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Write this package's warnings to stderr, each once, and leave out those that libraries mean for programmers."""
    stderr = sys.stderr  # what libraries write while a model is loaded is left out, but not these

    def show(message: Warning | str, *_: object, **__: object) -> None:
        with above_bars(stderr):
            stderr.write(f"Warning: {one_line(str(message))}\n")

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", SentenceWindowWarning)
        warnings.showwarning = show
        yield
