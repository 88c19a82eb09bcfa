"""The entry point of ``sentence-window``, which needs nothing but Python to say what is missing."""

import sys
from importlib.util import find_spec

from .output import MISSING_EXTRA


def main() -> int:
    """Run the command with the arguments of the process.

    Returns:
        The exit code, unless the process exits before.
    """
    if find_spec("typer") is None:
        sys.stderr.write(
            'typer is not installed; install the command with: pip install "langchain-sentence-window[cli]"\n'
        )
        return MISSING_EXTRA
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal of another encoding shows "?" instead of failing
    from .commands import app

    app(prog_name="sentence-window")
    return 0
