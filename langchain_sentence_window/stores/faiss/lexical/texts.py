"""The text of a sentence in the lexical index: its heading path, then its own text.

A sentence often doesn't say what it is about, and its headings do. Both are one text, so a word of a heading counts as
one of the sentence.
"""

from collections.abc import Iterable, Iterator

from langchain_sentence_window.documents.keys import HEADING
from langchain_sentence_window.embedding.situating import fitted_headings
from langchain_sentence_window.stores.faiss.conversion import read_metadata

_HEADING_IN_JSON = f'"{HEADING}"'


def with_heading(heading: object, text: str) -> str:
    """Put a heading path before a text, cut as it is when the sentence is embedded.

    Args:
        heading: The heading path; anything but a string that isn't empty stands for none.
        text: The text of the sentence.
    """
    return f"{fitted_headings(heading)}\n{text}" if isinstance(heading, str) and heading else text


def texts_with_headings(rows: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str]]:
    """Yield rows with the texts to index.

    Args:
        rows: ``(row, text, metadata of its section as JSON)``; see `Snapshot.texts_after`.
    """
    last, before = "", ""
    for row, text, section in rows:
        if section != last:
            last, before = section, with_heading(_heading_in(section), "")
        yield row, before + text


def _heading_in(section_metadata: str) -> object:
    if _HEADING_IN_JSON not in section_metadata:
        return None
    (metadata,) = read_metadata([section_metadata])
    return metadata.get(HEADING)
