"""Python code in a process of its own, which is forked from an interpreter that has imported what all such code needs.

That takes a tenth of the work of starting one where a model is loaded, and half of it elsewhere. Of this package
nothing is imported before, as it keeps a process that was forked from one that used it apart from others.
"""

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from io import TextIOWrapper
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import Any, cast

from tests.patience import PATIENCE

SHARED = [
    *("faiss", "hypothesis", "langchain_core.retrievers", "langchain_core.vectorstores", "orjson", "tantivy"),
    *("langchain_huggingface", "langchain_openai", "sentence_transformers"),
]
IS_SHARED = sys.platform == "linux" and "forkserver" in get_all_start_methods()


def run_code(code: str, *arguments: object, timeout: float = PATIENCE) -> CompletedProcess[str]:
    """Run code as ``python -c`` does, until it ends; see `run_python`."""
    return run_python("-c", code, *arguments, timeout=timeout)


def run_python(
    *arguments: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = PATIENCE,
    spawns: bool = False,
) -> CompletedProcess[str]:
    """Run ``python`` with arguments, which are ``-c CODE``, ``-m MODULE`` or a file, and what these are given.

    Args:
        arguments: Those of ``python``.
        cwd: The folder in which it runs; ``None`` for the present one.
        env: Its environment; ``None`` for the present one.
        timeout: Seconds.
        spawns: Whether it spawns further processes. These look for its main module, so it can't be forked.

    Raises:
        TimeoutExpired: It takes longer than ``timeout`` seconds.
    """
    given = [*map(str, arguments)]
    command, environment = [sys.executable, *given], dict(os.environ if env is None else env)
    if spawns or not IS_SHARED:
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=timeout
        )
    context = get_context("forkserver")
    context.set_forkserver_preload(SHARED)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        process = context.Process(target=_run, args=(given, files, cwd or Path.cwd(), environment))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutExpired(command, timeout)
        stdout, stderr = (file.read_text(encoding="utf-8") if file.exists() else "" for file in files)
        return CompletedProcess(command, process.exitcode, stdout, stderr)


def _run(given: list[str], files: list[Path], folder: Path, environment: dict[str, str]) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    encoding = environment.get("PYTHONIOENCODING") or "utf-8"
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        cast("TextIOWrapper", stream).reconfigure(encoding=encoding, errors=errors)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    try:
        match given:
            case ["-c", code, *arguments]:
                sys.argv = ["-c", *arguments]
                names: dict[str, Any] = {"__name__": "__main__"}
                exec(compile(code, "<string>", "exec"), names)  # noqa: S102
            case ["-m", module, *arguments]:
                sys.argv = [module, *arguments]
                sys.path.insert(0, str(folder))
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case [program, *arguments]:
                sys.argv = [program, *arguments]
                sys.path.insert(0, str(Path(program).parent))
                runpy.run_path(program, run_name="__main__")
    finally:
        atexit._run_exitfuncs()
