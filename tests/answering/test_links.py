"""Links that open a source at the place of a passage."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import find_citations
from langchain_sentence_window.answering.links import link_to
from langchain_sentence_window.answering.locations import MAX_ADDRESS_CHARS

PAGE = "https://x.org/a"
LINES: dict[str, object] = {"lines": [3, 5], "start_index": 0}


@pytest.mark.parametrize(
    ("source", "text", "metadata", "expected"),
    [
        (PAGE, "A card, with - a & limit.", {}, f"{PAGE}#:~:text=A%20card%2C%20with%20%2D%20a%20%26%20limit."),
        (PAGE, "One two three four five six seven eight nine ten eleven.", {}, None),
        (f"{PAGE}#fees", "It **is** [due](b.md).", {}, f"{PAGE}#fees:~:text=It%20is%20due."),
        (f"{PAGE}#:~:text=b", "A card.", {}, f"{PAGE}#:~:text=b"),
        (PAGE, "# Fees\n\n- They are due.", {}, f"{PAGE}#:~:text=Fees,They%20are%20due."),
        (PAGE, "***", {}, PAGE),
        ("https://x.org/a.PDF", "A card.", {"pages": [3, 4]}, "https://x.org/a.PDF#page=4"),
        ("https://x.org/a.pdf", "A card.", {}, "https://x.org/a.pdf"),
        ("https://x.org/a.mp4", "A card.", {"times": [72.0, 79.5]}, "https://x.org/a.mp4#t=72,79.5"),
        ("file:///c/a.html", "A card.", {}, "file:///c/a.html#:~:text=A%20card."),
        ("file:///c/a.md", "A card.", LINES, "file:///c/a.md#L3-L5"),
        (
            "https://github.com/o/r/blob/main/a.py",
            "A card.",
            LINES,
            "https://github.com/o/r/blob/main/a.py?plain=1#L3-L5",
        ),
        ("https://gitlab.com/o/r/-/blob/main/a.md", "A card.", LINES, "https://gitlab.com/o/r/-/blob/main/a.md#L3-5"),
        (
            "https://x.org/o/r/src/branch/main/a.md",
            "A.",
            LINES | {"lines": [3, 3]},
            "https://x.org/o/r/src/branch/main/a.md#L3",
        ),
        (
            "https://x.org/o/r/src/branch/main/a.md#fees",
            "A.",
            LINES,
            "https://x.org/o/r/src/branch/main/a.md#fees:~:text=A.",
        ),
        ("https://x.org/a.md", "A card.", LINES, "https://x.org/a.md#:~:text=A%20card."),
        ("file:///c/a.md", "A card.", {"lines": [5, 3], "start_index": 0}, "file:///c/a.md#:~:text=A%20card."),
        ("docs/a.md", "A card.", {}, "none"),
        ("javascript:alert(1)", "A card.", {}, "none"),
    ],
)
def test_an_address_opens_at_the_place(
    source: str, text: str, metadata: dict[str, object], expected: str | None
) -> None:
    whole = f"{PAGE}#:~:text=One%20two%20three%20four%20five,seven%20eight%20nine%20ten%20eleven."
    document = Document(page_content=text, metadata={"source": source, **metadata})
    assert (link_to(document, text) or "none") == (whole if expected is None else expected)
    (citation,) = find_citations("So [1].", [document])
    assert citation.url == link_to(document)


@given(st.text(max_size=4_000), st.sampled_from([PAGE, f"{PAGE}?b=c#d", "file:///c/d.txt"]))
def test_a_link_never_changes_where_it_leads(text: str, source: str) -> None:
    found = link_to(Document(page_content=text, metadata={"source": source}))
    assert found is not None
    assert len(found) <= MAX_ADDRESS_CHARS
    one, other = urlsplit(found), urlsplit(source)
    assert one[:4] == other[:4]
    assert one.fragment.startswith(other.fragment)
    words = "".join(unquote(one.fragment.partition("text=")[2]).replace(",", "").split())
    assert len(words) <= len(text) * 3
