"""The names of the documents in a store; see `langchain_sentence_window.ranking.names`.

The tables ``names`` and ``first_lines`` hold the keys of names, so that a question reads only the documents that it may
name, however many there are.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.ranking.names import MAX_SHARED, DocumentNames, name_keys

from .reading import are_in
from .records import read_metadata, read_shared
from .tables import ONE_OF, Snapshot, Version

Owners = list[tuple[int, int]]
"""Documents that have a key, each with a source in whose metadata the name is."""


class NameIndex:
    """Finds documents by the keys of their names."""

    def __init__(self) -> None:
        """Start empty."""
        # The owners of each key where other metadata holds names, too. Replaced as a whole, so it needs no lock.
        self._of_metadata: tuple[Version, Sequence[str], dict[str, Owners]] | None = None

    def document_names(
        self, snapshot: Snapshot, keys: Sequence[str], metadata_keys: Sequence[str], allowed: Rows | None
    ) -> DocumentNames:
        """Return the names of the documents that have one of the keys.

        Args:
            snapshot: The state of the database.
            keys: Keys of names. One that more than `MAX_SHARED` documents have is ignored, and so is one that is in the
                first lines of documents in more sentences.
            metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
            allowed: The rows that a filter allows, in order; ``None`` for all. A name counts if an allowed row has it.
        """
        if metadata_keys:
            known = self._owners_by_key(snapshot, metadata_keys)
            owners = [known.get(key, []) for key in keys]
        else:
            owners = snapshot.lists(_EACH_OWNER if allowed is None else _EACH_SOURCE, keys)
        if allowed is not None:
            sources = _allowed(snapshot, {source for of_key in owners for _, source in of_key}, allowed)
            owners = [[each for each in of_key if each[1] in sources] for of_key in owners]
        few = filter(lambda documents: len(documents) <= MAX_SHARED, map(dict, owners))
        sources = {source for documents in few for source in documents.values()}
        metadata = read_shared(snapshot, "sources", sources)
        names: dict[str, list[str]] = {}
        for source, doc_id in snapshot.lists(_DOC_IDS, sources) if sources else ():
            names.setdefault(doc_id, []).extend(names_in(metadata[source], metadata_keys))
        return DocumentNames(names, _in_first_lines(snapshot, keys, allowed))

    def _owners_by_key(self, snapshot: Snapshot, metadata_keys: Sequence[str]) -> dict[str, Owners]:
        kept = self._of_metadata
        if kept is None or kept[:2] != (snapshot.version, metadata_keys):
            owners: dict[str, Owners] = {}
            for document, source, text in snapshot.execute("SELECT document, source_key, metadata FROM sources"):
                (metadata,) = read_metadata([text])
                for key in {key for name in names_in(metadata, metadata_keys) for key in name_keys(name)}:
                    owners.setdefault(key, []).append((document, source))
            kept = self._of_metadata = snapshot.version, metadata_keys, owners
        return kept[2]


def _in_first_lines(snapshot: Snapshot, keys: Sequence[str], allowed: Rows | None) -> dict[str, set[str]]:
    """Return those of some keys that are in the first lines of documents, by ``doc_id``."""
    found: dict[str, set[str]] = {}
    limit = MAX_SHARED + 1 if allowed is None else -1
    for key, lines in zip(keys, snapshot.lists(_LINES.format(limit), keys), strict=True):
        if allowed is not None:
            lines = list(compress(lines, are_in(np.array([row for row, _ in lines], dtype=np.int64), allowed)))
        for _, doc_id in lines if len(lines) <= MAX_SHARED else ():
            found.setdefault(doc_id, set()).add(key)
    return found


def _allowed(snapshot: Snapshot, sources: set[int], allowed: Rows) -> set[int]:
    """Return those of some sources that have an allowed row."""
    if len(allowed) < len(sources):  # a name that many documents share, under a filter that allows few
        return {source for _, source in snapshot.lists(f"{_ROWS} row {ONE_OF}", allowed.tolist())}
    rows = snapshot.lists(f"{_ROWS} source_key {ONE_OF}", sources)
    is_allowed = are_in(np.array([row for row, _ in rows], dtype=np.int64), allowed)
    return {source for (_, source), may in zip(rows, is_allowed.tolist(), strict=True) if may}


_OWNERS = """
    SELECT json_group_array(json((SELECT json_group_array(json_array(document, source)) FROM (
        SELECT document, min(source_key) AS source FROM names WHERE key = value GROUP BY {} LIMIT {}
    )))) FROM json_each(?)
"""
_EACH_OWNER = _OWNERS.format("document", MAX_SHARED + 1)  # so many show that there are too many
_EACH_SOURCE = _OWNERS.format("document, source_key", -1)
_LINES = """
    SELECT json_group_array(json((SELECT json_group_array(json_array(row, doc_id)) FROM (
        SELECT row, doc_id FROM first_lines JOIN sentences USING (row) JOIN documents USING (document)
        WHERE key = value LIMIT {}
    )))) FROM json_each(?)
"""
_ROWS = "SELECT json_group_array(json_array(row, source_key)) FROM sentences WHERE"
_DOC_IDS = f"""
    SELECT json_group_array(json_array(source_key, doc_id))
    FROM sources JOIN documents USING (document) WHERE source_key {ONE_OF}
"""
