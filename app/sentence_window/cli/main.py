"""The entry point of ``sentence-window``."""

import sys


def main() -> int:
    """Run the command with the arguments of the process.

    Returns:
        The exit code, unless the process exits before.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal of another encoding shows "?" instead of failing
    from sentence_window.cli.commands import app

    app(prog_name="sentence-window")
    return 0
