"""Check the lexical index against the database that it was made from."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from langchain_sentence_window.stores.faiss.damaged_cache import is_intact
from langchain_sentence_window.stores.faiss.database.checksums import seals_in
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.lexical.cache import copied_index, recorded_index
from langchain_sentence_window.stores.faiss.lexical.index import LexicalSearcher
from langchain_sentence_window.stores.faiss.lexical.texts import texts_with_headings

MAX_COMPARED = 1_000
"""The most sentences whose words are looked up, spread evenly over the index."""

_REBUILT = "delete it; it is built again from the database at the next search by words"


def word_problems(snapshot: Snapshot, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a lexical index; nothing if it is only behind the database, or isn't there."""
    kept = recorded_index(snapshot)
    if kept is None or not kept["files"] or not folder.exists():
        return
    if not is_intact(seals_in(folder), kept["files"]):
        yield f"{str(folder)!r} isn't as it was written, or writing it was interrupted; {_REBUILT}"
        return
    changes = snapshot.changes_since(kept["generation"], kept["token"])
    index = None if changes is None else copied_index(folder, kept["files"])
    if index is None or changes is None:
        return  # too far behind to be used, or changed just now
    searcher, now = index.searcher(), snapshot.rows((f"row <= {changes.last_row:d}", []))
    removed = changes.removed[changes.removed <= changes.last_row]
    if not np.array_equal(np.sort(searcher.all_rows()), np.union1d(now, removed)):
        yield f"{str(folder)!r} doesn't hold the sentences that the database held when it was written; {_REBUILT}"
    elif not _has_words(searcher, snapshot.texts_after(0), np.sort(now)[:: len(now) // MAX_COMPARED + 1].tolist()):
        yield f"{str(folder)!r} holds other words than the database; {_REBUILT}"


def _has_words(searcher: LexicalSearcher, texts: Iterable[tuple[int, str, str]], rows: Iterable[int]) -> bool:
    """Return whether the index has all words of some rows."""
    wanted = set(rows)
    return all(
        searcher.has_words(row, text) for row, text in texts_with_headings(each for each in texts if each[0] in wanted)
    )
