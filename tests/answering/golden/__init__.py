"""Tables of expected results, a JSON array per line."""

import json
from pathlib import Path
from typing import Any


def rows(name: str) -> list[Any]:
    """Return the lines of a table."""
    return [json.loads(line) for line in (Path(__file__).parent / f"{name}.jsonl").read_text("utf-8").splitlines()]
