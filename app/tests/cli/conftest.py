"""A small folder of documents, an index of it, and ways to run the command: in this process, or as one of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from typer.testing import CliRunner

from langchain_sentence_window import load_embedding
from langchain_sentence_window.stores import DEFAULT_EMBEDDING
from sentence_window.cli import opened_index
from sentence_window.cli.commands import app
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]

FILES = {
    "docs/policy.md": (
        "# Refunds\n\n## Annual plans\n\nA customer on an annual plan may ask for a refund within 30 days. It"
        " is refused once more than 100 bookings have been taken.\n\n"
        "## Monthly plans\n\nMonthly plans are not refunded.\n\n"
        "| plan | price |\n|---|---|\n| annual | 96 euros |\n| monthly | 9 euros |\n"
    ),
    "docs/backups.md": "# Backups\n\nA backup is made every night. It is kept for 35 days.\n",
    "docs/odd [bold] name.md": (
        "# Odd [red]heading[/red]\n\nA zebra is striped [bold]and bold[/bold] \x1b[2J"
        "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\ and \u202egnp.exe\u202c ends.\n"
    ),
    "docs/東京.txt": "東京の猫は魚を食べる。 The cat of Tōkyō eats fish, as e\u0301te\u0301 ends.\n",
}
VARIABLES = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "SENTENCE_WINDOW_INDEX")
"""Environment variables that the command reads."""


@dataclass(frozen=True)
class Done:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_here(*arguments: object, env: Mapping[str, str] | None = None, typed: str | None = None) -> Done:
    """Run a command in this process."""
    settings = {**dict.fromkeys(VARIABLES), **(env or {})}
    done = CliRunner().invoke(app, list(map(str, arguments)), prog_name="sentence-window", env=settings, input=typed)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which a process finds this package, without variables that the command reads."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "app"))), **more}


INSTALLED = shutil.which("sentence-window", path=str(Path(sys.executable).parent))
COMMAND = (INSTALLED,) if INSTALLED else (sys.executable, "-m", "sentence_window")


def run_process(*arguments: object, cwd: Path, **more: str) -> Done:
    """Run a command as a process."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=environment(**more), capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def filter_of(path: Path) -> str:
    """Return a filter for the document of a file."""
    return json.dumps({"source": str(path)})


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.fixture(scope="session", autouse=True)
def recorded_model(recorded: Embeddings) -> Iterator[None]:
    """Let commands in this process use recorded vectors of all-MiniLM-L6-v2; other processes load the model."""

    def load(name: str | None) -> Embeddings:
        return recorded if name in (None, DEFAULT_EMBEDDING) else load_embedding(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened_index, "load_embedding", load)
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `FILES`, and an index of them that the command made."""
    folder = tmp_path_factory.mktemp("made")
    write_files(folder)
    with chdir(folder):
        done = run_here("index", "docs")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder as the current one; for commands that only read."""
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own with `FILES` and an index of them; for commands that change something."""
    folder = tmp_path / "own"
    write_files(folder)
    monkeypatch.chdir(folder)
    assert run_here("index", "docs").code == 0
    return folder
