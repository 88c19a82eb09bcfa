"""The examples with other stores, as programs."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(program: str, argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / program), argument],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def assert_places_are_true(output: str) -> int:
    """Check that each printed place holds the text printed below it; count them."""
    lines = output.splitlines()
    places = [number for number, line in enumerate(lines) if ".md:" in line]
    for number in places:
        name, _, offsets = lines[number].partition(":")
        start, end = map(int, offsets.split("-"))
        source = (EXAMPLES / "documents" / name).read_text(encoding="utf-8")
        shown = lines[number + 1].strip()
        assert source[start:end].startswith(shown)
    return len(places)


def test_postgres(postgres_url: str) -> None:
    done = run("postgres.py", postgres_url)
    assert done.returncode == 0, done.stderr
    assert assert_places_are_true(done.stdout) == 4
    desk, operations = done.stdout.split("operations: ")
    assert "within 30 days of the first payment" in desk
    assert "state of the last nightly merge" in operations


def test_qdrant_in_a_folder(tmp_path: Path) -> None:
    done = run("qdrant.py", str(tmp_path / "qdrant"))
    assert done.returncode == 0, done.stderr
    assert assert_places_are_true(done.stdout) == 2
    assert "within 30 days of the first payment" in done.stdout
