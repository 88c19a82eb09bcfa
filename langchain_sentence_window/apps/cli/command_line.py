"""The commands of ``sentence-window``, in the order in which help lists them, and the exit codes of their errors."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from langchain_sentence_window.apps.cli.index_commands import (
    backup,
    check,
    config,
    index,
    ls,
    restore,
    rm,
    show,
    stats,
    sync,
)
from langchain_sentence_window.apps.cli.output import FAILED, MISSING_EXTRA, USAGE, above_bars, one_line
from langchain_sentence_window.apps.cli.query_commands import ask, evaluate, explain, fit, mcp, serve, sweep, why
from langchain_sentence_window.errors import (
    InvalidInputError,
    SentenceWindowError,
    SentenceWindowWarning,
)

_HELP = """Search your documents for sentences, and read the windows around them.

Begin with: sentence-window index PATHS, then: sentence-window ask "QUESTION".

Exit codes: 0 done; 1 nothing was found, or a check failed; 2 the command can't be used as it was given; 3 an extra
isn't installed; 4 an index, a file, a model or the network failed; 130 Ctrl-C.
"""


class Commands(TyperGroup):
    """All commands; turns errors into a line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with _error_exits(), _warning_lines():
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done


app = typer.Typer(
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    index,
    sync,
    ask,
    explain,
    why,
    ls,
    show,
    rm,
    stats,
    check,
    backup,
    restore,
    evaluate,
    sweep,
    fit,
    serve,
    mcp,
    config,
):
    # A number below 0 is a sentence that isn't there, and no option.
    app.command(context_settings={"ignore_unknown_options": _command is why})(_command)


def _show_version(*, is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(import_module("langchain_sentence_window").__version__)
        raise typer.Exit


@app.callback()
def _all(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda given: _show_version(is_wanted=given), is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Take what is said before the command."""


_CODES = {ImportError: MISSING_EXTRA, InvalidInputError: USAGE}

DEBUG = "SENTENCE_WINDOW_DEBUG"
"""The variable of the environment that asks for tracebacks."""


@contextmanager
def _error_exits() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader has seen enough. What is left must not fail when Python flushes it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except Exception as error:  # a model, a provider or the file system may raise anything
        is_known = isinstance(error, SentenceWindowError | ImportError)
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), FAILED)
        raise _exit(str(error) if is_known else f"{type(error).__name__}: {error}", code) from error


def _exit(message: str, code: int) -> typer.Exit:
    """Write an error to stderr, and return what ends the command with an exit code."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    sys.stderr.write(f"Error: {one_line(message)}\n")
    return typer.Exit(code)


@contextmanager
def _warning_lines() -> Iterator[None]:
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
