"""Links that open a source at the place of a passage."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import find_citations
from tests.answering.golden import rows

PAGE = "https://x.org/a"


@pytest.mark.parametrize(("source", "text", "metadata", "expected"), rows("links"))
def test_an_address_opens_at_the_place(
    source: str, text: str, metadata: dict[str, object], expected: str | None
) -> None:
    assert url(Document(page_content=text, metadata={"source": source, **metadata})) == expected


def url(document: Document) -> str | None:
    (citation,) = find_citations("So [1].", [document])
    return citation.url


@given(st.text(max_size=4_000), st.sampled_from([PAGE, f"{PAGE}?b=c#d", "file:///c/d.txt"]))
def test_a_link_never_changes_where_it_leads(text: str, source: str) -> None:
    found = url(Document(page_content=text, metadata={"source": source}))
    assert found is not None
    assert len(found) <= 2_000
    one, other = urlsplit(found), urlsplit(source)
    assert one[:4] == other[:4]
    assert one.fragment.startswith(other.fragment)
    words = "".join(unquote(one.fragment.partition("text=")[2]).replace(",", "").split())
    assert len(words) <= len(text) * 3
