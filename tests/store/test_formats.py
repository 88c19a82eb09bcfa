"""An index that another version of the package wrote is refused, and stays as it was.

The file in ``formats`` was written by the last version with format 8, with two documents of a few sentences.
"""

from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import IndexMismatchError
from langchain_sentence_window.stores import check_index
from tests.store.folders import files_of
from tests.toys import WordEmbeddings


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The folder of an index of format 8, which has other tables."""
    ZipFile(Path(__file__).with_name("formats") / "format-8.zip").extractall(tmp_path / "index")
    return tmp_path / "index"


CALLS: dict[str, Callable[[Path], object]] = {
    "open": lambda folder: FaissStore.open(folder, WordEmbeddings()),
    "open to read": lambda folder: FaissStore.open(folder, WordEmbeddings(), read_only=True),
    "add": lambda folder: FaissStore.from_texts(["card"], WordEmbeddings(), path=folder),
    "restore": lambda folder: FaissStore.restore(folder, folder.with_name("restored")),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_index_of_an_earlier_format_is_refused_with_what_to_do(
    earlier: Path, call: Callable[[Path], object]
) -> None:
    before = files_of(earlier)
    with pytest.raises(IndexMismatchError, match=r"has format 8, and .* earlier version wrote it.*index the documents"):
        call(earlier)
    assert "an earlier version wrote it" in str(check_index(earlier).problems)
    after = files_of(earlier)
    assert {name: after[name] for name in before} == before


def test_a_backup_replaces_an_index_of_an_earlier_format(earlier: Path, tmp_path: Path) -> None:
    with FaissStore.from_texts(["card"], WordEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    FaissStore.restore(tmp_path / "backup", earlier)
    with FaissStore.open(earlier, WordEmbeddings()) as store:
        assert [each.page_content for each in store.similarity_search("card")] == ["card"]
