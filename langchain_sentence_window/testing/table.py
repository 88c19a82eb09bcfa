"""A plugin of pytest that writes a table of stores: how many tests of the suite each passes, and what it can do.

    pytest -p langchain_sentence_window.testing.table --store-table stores.md tests/live_stores

Each subclass of `SentenceWindowStoreTests` that ran makes a row.
"""

from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from .suite import ABILITIES, SentenceWindowStoreTests

_COLUMNS = {
    "filters": "filters",
    "fetches": "fetches by id",
    "fetches_within": "also within a filter",
    "lists": "lists documents",
    "searches_words": "searches by words",
    "in_one_transaction": "one transaction a document",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--store-table", metavar="FILE", help="write what each vector store can do to a Markdown file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a table, if one is wanted."""
    file = config.getoption("--store-table")
    if file:
        config.pluginmanager.register(_StoreTable(Path(file)))


class _StoreTable:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: dict[type[SentenceWindowStoreTests], Counter[str]] = {}
        self._abilities: dict[type[SentenceWindowStoreTests], Mapping[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Note how a test of the suite ended, and what it found out."""
        report: Any = yield
        suite = getattr(item, "cls", None)
        if isinstance(suite, type) and issubclass(suite, SentenceWindowStoreTests):
            ended = report.when == "call" or report.outcome != "passed"
            self._outcomes.setdefault(suite, Counter())[report.outcome] += ended
            told = dict(report.user_properties)
            if ABILITIES in told:
                self._abilities[suite] = told[ABILITIES]
        return report

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._file.write_text(self._markdown(), encoding="utf-8")

    def _markdown(self) -> str:
        head = ["store", "tested on", "tests passed", *_COLUMNS.values(), "metadata beside single values"]
        rows = [self._row(suite, outcomes) for suite, outcomes in self._outcomes.items()]
        return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"

    def _row(self, suite: type[SentenceWindowStoreTests], outcomes: Counter[str]) -> list[str]:
        found = self._abilities.get(suite, {})
        told = [("yes" if found[name] else "no") if name in found else "?" for name in _COLUMNS]
        passed = f"{outcomes['passed']} of {outcomes['passed'] + outcomes['failed']}"
        name = suite.store_name or suite.__name__.removeprefix("Test")
        return [name, suite.tested_on, passed, *told, str(found.get("metadata", "?")) or "none"]
