"""The commands of ``sentence-window``, in the order in which help lists them."""

from importlib import import_module
from typing import Annotated

import typer

from langchain_sentence_window.cli import asking, keeping, looking, making, measuring, serving
from langchain_sentence_window.cli.exit_codes import Commands

_HELP = """Search your documents for sentences, and read the windows around them.

Begin with: sentence-window index PATHS, then: sentence-window ask "QUESTION".

Exit codes: 0 done; 1 nothing was found, or a check failed; 2 the command can't be used as it was given; 3 an extra
isn't installed; 4 an index, a file, a model or the network failed; 130 Ctrl-C.
"""

app = typer.Typer(
    cls=Commands,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    making.index,
    making.sync,
    asking.ask,
    asking.explain,
    asking.why,
    looking.ls,
    looking.show,
    looking.rm,
    looking.stats,
    keeping.check,
    keeping.backup,
    keeping.restore,
    measuring.evaluate,
    measuring.sweep,
    measuring.fit,
    serving.serve,
    serving.mcp,
    keeping.config,
):
    # A number below 0 is a sentence that isn't there, and no option.
    app.command(context_settings={"ignore_unknown_options": _command is asking.why})(_command)


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
