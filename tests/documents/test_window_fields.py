"""Fields of windows: each has a row, and is documented."""

import re
from pathlib import Path

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever, merge_windows
from langchain_sentence_window.documents.keys import WINDOW_KEYS
from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.documents.window_fields import FIELDS
from tests.toys import WordEmbeddings

ROOT = Path(__file__).parents[2]


def test_each_value_of_a_window_has_a_row() -> None:
    source = Document(page_content="- A card:\n  - A seat.\n  - A trial.\n", metadata={"source": "a.pdf", "page": 0})
    retriever = SentenceWindowRetriever.from_documents([source], WordEmbeddings(), window=0, k=2, lexical_weight=0)
    windows = retriever.invoke("seat trial")
    [merged] = merge_windows(windows)
    for made in (*windows, merged, window_slice(merged, 0, 4)):
        assert made.metadata.keys() - {"source", "page"} <= {field.key for field in FIELDS} == WINDOW_KEYS


def test_the_documentation_lists_every_field() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = page.partition("A window has the metadata of its document, and these keys:")[2].partition("\n\n| key")[2]
    listed = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.partition("\n\n")[0].splitlines()[2:]))
    assert sorted(listed) == sorted(WINDOW_KEYS)
