"""Measuring an index, and checking what it holds."""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Self

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.embedding.contextual_vectors import sentence_key
from langchain_sentence_window.errors import IncompleteWindowError, IndexNotFoundError, SentenceWindowError
from langchain_sentence_window.ranking.names import FIRST_LINES, keys_in

from .database import Database
from .files import DATABASE_FILE, WORDS_FOLDER, size_of
from .reading import RowReader
from .records import keys_of_source, read_metadata, row_checksum, shared_checksum
from .tables import EMBEDDED, ONE_OF, RESTORE, WITH_SECTIONS, Snapshot, as_text, damaged, json_list
from .vectors import damage_of
from .words import checksums_in, recorded_words


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The contents and the size of a store.

    Attributes:
        documents: The number of source documents.
        sentences: The number of documents in the store; a retriever adds one for each sentence.
        bytes: Bytes on disk by part: ``database``, ``vectors`` (the saved FAISS index) and ``lexical``. Empty for a
            store in memory.
        index: The index that was asked for: ``auto``, ``exact`` or ``codes``.
        index_in_use: The index that is searched now, or that the next search makes: ``exact``, ``codes``, or
            ``codes in 1,024 clusters``.
        index_to_come: The index that is being made in the background; ``None`` if none is.
        neighbor_weights: The weights of a sentence and its neighbors in each vector.
        tombstones: The number of deleted vectors that still take up memory in the FAISS index.
        generation: The number of writes so far.
        staged_texts: The number of texts from interrupted calls whose vectors are kept for a retry.
    """

    documents: int
    sentences: int
    bytes: Mapping[str, int]
    index: str
    index_in_use: str
    index_to_come: str | None
    neighbor_weights: tuple[float, ...]
    tombstones: int
    generation: int
    staged_texts: int


def bytes_by_part(folder: Path | None) -> dict[str, int]:
    """Return the bytes on disk of each part of a store, or an empty dict for a store in memory."""
    if folder is None:
        return {}
    parts = {"database": "sentences.*", "vectors": "vectors.*", "lexical": f"{WORDS_FOLDER}/*"}
    return {part: sum(map(size_of, folder.glob(pattern))) for part, pattern in parts.items()}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check of an index.

    Attributes:
        problems: One sentence for each problem, with what to do about it; empty for a sound index.
        notes: Findings that need no action, such as a damaged cache that the next search rebuilds.
        documents: The number of documents; 0 if the database can't be read.
        sentences: The number of sentences, likewise.
        checked: The parts that were checked: ``database``, ``documents``, and, if they exist, ``vectors``, ``words``,
            ``settings`` and ``ranking``.
    """

    problems: tuple[str, ...] = ()
    documents: int = 0
    sentences: int = 0
    checked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def with_part(self, name: str, problems: Iterable[str]) -> Self:
        """Return the result with the problems of one more part."""
        return replace(self, problems=(*self.problems, *problems), checked=(*self.checked, name))

    def __str__(self) -> str:
        """Return a report, with a line for each problem."""
        counts = f"{_format_count(self.documents, 'document')}, {_format_count(self.sentences, 'sentence')}"
        heading = f"{_format_count(len(self.problems), 'problem')}:"
        lines = [heading, *(f"- {each}" for each in self.problems), counts]
        if self.is_sound:
            lines = [f"no problems in {counts}"]
        return "\n".join([*lines, *(f"note: {each}" for each in self.notes), f"checked: {', '.join(self.checked)}"])


def _format_count(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


MAX_PROBLEMS = 20
"""Documents with problems that are listed; the rest are counted."""

_PART_SIZE = 5_000


def check_folder(folder: Path) -> CheckResult:
    """Check an index on disk, even one that can't be opened. No file of it is changed.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    if not (folder / DATABASE_FILE).exists():
        raise IndexNotFoundError(f"there is no index at {str(folder)!r} to check; give the folder of one")
    try:
        database = Database(folder, read_only=True)
    except SentenceWindowError as error:
        return CheckResult().with_part("database", [str(error)])
    try:
        result = check_database(database)
        with database.reading() as snapshot:
            of_words = recorded_words(snapshot)
    except SentenceWindowError:
        return result
    finally:
        database.close()
    notes, is_damaged = list[str](), damage_of(folder)
    if is_damaged is not None:
        result = result.with_part("vectors", [])
    if is_damaged:
        notes.append("the saved FAISS index is damaged; the next search builds it again")
    if (folder / WORDS_FOLDER).exists():
        result = result.with_part("words", [])
        if of_words is None or checksums_in(folder / WORDS_FOLDER) != of_words.files:
            notes.append("the index of words is damaged; the next search builds it again")
    return replace(result, notes=tuple(notes))


def check_database(database: Database) -> CheckResult:
    """Check a database by reading all of it."""
    result = CheckResult()
    try:
        with database.reading() as snapshot:
            if damage := find_damage(snapshot):
                return result.with_part("database", [f"{database.name} is damaged: {damage}; {RESTORE}"])
            (documents,) = snapshot.execute("SELECT count(*) FROM documents").fetchone()
            result = CheckResult((), documents, snapshot.version.sentences, ("database",))
            return result.with_part("documents", _first_problems(sentence_problems(_read_in_row_order(snapshot))))
    except SentenceWindowError as error:
        return result.with_part("database", [str(error)])


def find_damage(snapshot: Snapshot) -> str | None:
    """Read all rows and describe the first damage found; return ``None`` if there is none.

    Ids, and the times at which documents were written, have no checksums.
    """
    try:
        return next(_damage(snapshot), None)
    except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError) as error:
        return str(error)


def _damage(snapshot: Snapshot) -> Iterator[str]:
    (first,) = snapshot.execute("PRAGMA integrity_check(1)").fetchone()
    if first != "ok":
        yield first
    for table, (sql, checksum_of) in _CHECKS.items():
        for row, *fields, checksum in snapshot.execute(sql):
            if checksum_of(*fields) != checksum:
                yield f"row {row} of the {table} isn't as it was written"
    for fault, sql in _FAULTS.items():
        for (row,) in snapshot.execute(sql):
            yield f"row {row} of the {fault}"
    yield from _lost_names(snapshot)
    (count,) = snapshot.execute("SELECT count(*) FROM sentences").fetchone()
    if count != snapshot.version.sentences:
        yield f"it has {count} sentences instead of {snapshot.version.sentences}"


def _lost_names(snapshot: Snapshot) -> Iterator[str]:
    for key, metadata in snapshot.execute("SELECT source_key, metadata FROM sources"):
        names = keys_of_source(read_metadata([metadata])[0])
        found = snapshot.execute("SELECT key FROM names WHERE source_key = ?", [key])
        # One is enough, as another release of Unicode may find others.
        if names and names.isdisjoint(name for (name,) in found):
            yield f"row {key} of the sources lacks the keys of its names"
    for row, text in snapshot.execute(_WITHOUT_NAMES):
        if keys_in(as_text(text)):
            yield f"row {row} of the sentences lacks the keys of its names"


_CHECKS: Mapping[str, tuple[str, Callable[..., int]]] = {
    "sentences": ("SELECT row, start_index, end_index, text, own, checksum FROM sentences", row_checksum),
    "texts to embed": (f"SELECT row, {EMBEDDED}, text_key FROM {WITH_SECTIONS}", zlib.crc32),
    "vectors": (
        "SELECT row, vector, text_key, vectors.checksum FROM vectors JOIN sentences USING (row)",
        zlib.crc32,
    ),
    "sources": ("SELECT source_key, metadata, checksum FROM sources", shared_checksum),
    "sections": ("SELECT section_key, metadata, checksum FROM sections", shared_checksum),
}
"""The rows of each table with the fields that their checksums cover."""

# Where a table is empty, even NULL isn't in it.
_FAULTS = {
    f"sentences lacks its {what}": f"SELECT row FROM sentences WHERE {key} IS NOT NULL "
    f"AND {key} NOT IN (SELECT {key} FROM {table})"
    for what, key, table in (
        ("vector", "row", "vectors"),
        ("document", "document", "documents"),
        ("source", "source_key", "sources"),
        ("section", "section_key", "sections"),
    )
}
_FAULTS |= {
    "vectors is of another length than the others": "SELECT row FROM vectors WHERE length(vector) != "
    "2 * (SELECT value FROM facts WHERE name = 'dimension')",
    "sentences is after the last that a write recorded": "SELECT row FROM sentences WHERE row > "
    "(SELECT last_row FROM writes ORDER BY generation DESC LIMIT 1)",
}

_WITHOUT_NAMES = (
    f"SELECT row, text FROM sentences WHERE source_key IS NOT NULL AND start_index < {FIRST_LINES} "
    "AND row NOT IN (SELECT row FROM first_lines)"
)
_KEYS = "SELECT row, doc_id, sentence_index, section FROM sentences JOIN documents USING (document)"


def _read_in_row_order(snapshot: Snapshot) -> Iterator[Document]:
    """Yield the stored sentences in the order of their rows."""
    rows = [row for (row,) in snapshot.execute("SELECT row FROM sentences WHERE document IS NOT NULL ORDER BY row")]
    for start in range(0, len(rows), _PART_SIZE):
        part = rows[start : start + _PART_SIZE]
        read = RowReader(snapshot).documents(part)
        for row, *key in snapshot.execute(f"{_KEYS} WHERE row {ONE_OF} ORDER BY row", [json_list(part)]):
            if sentence_key(read[row].metadata) != tuple(key):
                raise damaged("sentences at the places that are in their metadata")
            yield read[row]


def _first_problems(problems: Iterable[str]) -> list[str]:
    """Return the first problems, and the number of the others."""
    found = iter(problems)
    listed = list(islice(found, MAX_PROBLEMS))
    others = sum(1 for _ in found)
    return [*listed, *([f"{others:,} other documents have problems like these"] if others else [])]


_AGAIN = "add the document again"


def sentence_problems(documents: Iterable[Document]) -> Iterator[str]:
    """Yield a problem for each document whose sentences aren't as the splitter writes them.

    Args:
        documents: Sentence Documents, each document's together and by index. Others are passed over.
    """
    of_documents = (each for each in documents if DOC_ID in each.metadata)
    for doc_id, sentences in groupby(of_documents, key=lambda each: each.metadata[DOC_ID]):
        try:
            problem = _problem_of(map(read_sentence, sentences))
        except IncompleteWindowError as error:
            problem = str(error)
        if problem:
            yield f"document {shown(doc_id)}: {problem}"


def _problem_of(sentences: Iterable[StoredSentence]) -> str | None:
    """Return the first problem of a document; ``None`` if there is none."""
    last: StoredSentence | None = None
    for each in sentences:
        expected = 0 if last is None else last.index + 1
        if each.index != expected:
            return f"it lacks {_sentence_range(expected, each.index - 1)}; {_AGAIN}"
        if len(each.text) != each.end - each.start:
            return f"sentence {each.index} isn't as long as its place in the source; {_AGAIN}"
        if last is not None and each.start != last.end + len(last.separator):
            return f"sentence {each.index} doesn't begin where sentence {last.index} and its white space end; {_AGAIN}"
        if not _sentence_follows(last, each):
            return f"the section of sentence {each.index} isn't that of the sentences before it; {_AGAIN}"
        last = each
    if last is not None and last.section_end > last.index + 1:
        return f"it lacks {_sentence_range(last.index + 1, last.section_end - 1)} at its end; {_AGAIN}"
    return None


def _sentence_follows(last: StoredSentence | None, each: StoredSentence) -> bool:
    """Return whether a sentence is in the section of the one before it, or begins the next one."""
    if last is None or each.index == last.section_end:
        return each.section_start == each.index
    return (each.section_start, each.section_end) == (last.section_start, last.section_end)


def _sentence_range(first: int, last: int) -> str:
    return f"sentence {first}" if first >= last else f"sentences {first} to {last}"
