"""Python code in a process of its own, which is forked from an interpreter that has imported what all such code needs.

That takes half the time of starting one. Of this package nothing is imported before, as it keeps a process that was
forked from one that used it apart from others.
"""

import atexit
import os
import sys
import tempfile
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired, run
from typing import Any

from tests.patience import PATIENCE

SHARED = ["faiss", "hypothesis", "langchain_core.retrievers", "langchain_core.vectorstores", "orjson", "tantivy"]
IS_SHARED = sys.platform == "linux" and "forkserver" in get_all_start_methods()


def run_code(code: str, *arguments: object, timeout: float = PATIENCE) -> CompletedProcess[str]:
    """Run code as ``python -c`` does, until it ends.

    Raises:
        TimeoutExpired: It takes longer than ``timeout`` seconds.
    """
    given = [*map(str, arguments)]
    command = [sys.executable, "-c", code, *given]
    if not IS_SHARED:
        return run(command, capture_output=True, text=True, check=False, timeout=timeout)
    context = get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = context.Process(target=_run, args=(code, given, files, dict(os.environ)))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutExpired(command, timeout)
        stdout, stderr = (file.read_text() if file.exists() else "" for file in files)
        return CompletedProcess(command, process.exitcode, stdout, stderr)


def _run(code: str, arguments: list[str], files: list[Path], environment: dict[str, str]) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), number)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(code, "<string>", "exec"), names)  # noqa: S102
    finally:
        atexit._run_exitfuncs()
