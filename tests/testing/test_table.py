"""The table of stores that the suite makes."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.testing import SentenceWindowStoreTests

class TestMemory(SentenceWindowStoreTests):
    store_name = "In memory"

    @pytest.fixture
    def make_store(self):
        return InMemoryVectorStore

    def tenant_filter(self, tenant):
        return lambda document: document.metadata["tenant"] == tenant

class WithoutIds(InMemoryVectorStore):
    def get_by_ids(self, ids, /):
        raise NotImplementedError

    async def aget_by_ids(self, ids, /):
        raise NotImplementedError

class TestUnasked(TestMemory):
    store_name = ""

class TestWithoutIds(SentenceWindowStoreTests):
    has_filters = False
    tested_on = "a toy"

    @pytest.fixture
    def make_store(self):
        return WithoutIds

def test_of_another_kind():
    pass
"""


def table_of(folder: Path, suite: str, tests: str) -> tuple[int, list[list[str]]]:
    """Run tests of a suite; return the exit status, and the rows of the table."""
    (folder / "test_suite.py").write_text(suite, encoding="utf-8")
    table = folder / "table.md"
    given = ["-p", "langchain_sentence_window.testing.table", "--store-table", str(table), "-k", tests]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *given]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    lines = table.read_text(encoding="utf-8").splitlines()
    return done.returncode, [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.slow
def test_each_suite_makes_a_row_of_what_it_found(tmp_path: Path) -> None:
    status, rows = table_of(tmp_path, SUITE, "(can_do and not Unasked) or test_a_hole or another")
    head, _, memory, unasked, without = rows
    assert status == 1  # the second suite should have had a splitter with inline windows
    assert (memory[:3], without[:3]) == (
        ["In memory", "the store itself", "3 of 3"],
        ["WithoutIds", "a toy", "0 of 3"],
    )
    told = [dict(zip(head[3:], row[3:], strict=True)) for row in (memory, without)]
    assert told[0] == {
        "filters": "yes",
        "fetches by id": "yes",
        "also within a filter": "yes",
        "lists documents": "yes",
        "searches by words": "no",
        "one transaction a document": "no",
        "metadata beside single values": "lists, dicts, null, large numbers",
    }
    assert list(told[1].values())[:6] == ["no", "no", "no", "yes", "no", "no"]
    assert unasked == ["Unasked", "the store itself", "2 of 2", *["?"] * 7]
