"""Parts of a window as Documents."""

import copy

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.documents.window_runs import parts_of_window
from tests.answering.windows import PAGED, PAGES, source_slice, window, windows


@given(windows(), st.data())
def test_a_slice_says_where_it_stands(whole: Document, data: st.DataObject) -> None:
    before = copy.deepcopy(whole)
    low = data.draw(st.integers(0, len(whole.page_content) - 1))
    high = data.draw(st.integers(low + 1, len(whole.page_content)))
    part = window_slice(whole, low, high)
    assert whole == before
    assert part.page_content == whole.page_content[low:high]
    metadata = part.metadata
    assert source_slice(metadata["doc_id"], metadata["start_index"], metadata["end_index"]) == part.page_content
    assert not metadata.keys() & {"hits", "sentences", "window_id"}
    for start, end in metadata.get("sentence_spans", []):
        assert metadata["start_index"] <= start < end <= metadata["end_index"]
    for each in parts_of_window(metadata) or ():
        own = PAGES[int(each.identity["page"])][each.start : each.end]
        start = each.source_start - metadata["start_index"]
        assert part.page_content[start : start + len(own)] == own != ""
        assert each.identity["page"] in metadata["pages"]


def test_a_slice_is_on_its_own_pages() -> None:
    whole = window(PAGED, 1, 4)
    assert whole.metadata["pages"] == [0, 1]
    low = whole.page_content.index("A seat")
    part = window_slice(whole, low, low + 6)
    assert (part.metadata["pages"], part.metadata["page_labels"]) == ([1], ["ii"])
    assert window_slice(whole, 0, 9).metadata["pages"] == [0]
    shortened = Document("A seat.", metadata={**whole.metadata, "pages": [4], "page_labels": ["v"]})
    assert window_slice(shortened, 0, 6).metadata.items() >= {"pages": [4], "page_labels": ["v"]}.items()
    assert window_slice(shortened, 0, 6).metadata.keys().isdisjoint({"start_index", "parts"})
