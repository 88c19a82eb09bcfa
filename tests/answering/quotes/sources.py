"""Windows that the tests quote from."""

from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window import verify_quotes


def window(text: str, doc_id: str = "a", start: int = 0, **metadata: Any) -> Document:
    place = {"doc_id": doc_id, "start_index": start, "end_index": start + len(text)}
    return Document(text, metadata={"source": f"{doc_id}.md", **place, **metadata})


def verdict(quote: str, *texts: str, cited: str = "") -> str:
    """The verdict on a quotation in an answer, with sources of the texts."""
    windows = [window(text, f"doc{number}") for number, text in enumerate(texts)]
    marks = next(each for each in ("“{}”", "«{}»", "「{}」") if not set(each) & set(quote))
    (found,) = verify_quotes(f"It says {marks.format(quote)}{cited}.", windows)
    return found.verdict
