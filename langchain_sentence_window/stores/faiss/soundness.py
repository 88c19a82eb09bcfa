"""Measures an index, and checks everything that it holds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.embedding.vectors import mix_neighbors
from langchain_sentence_window.errors import IncompleteWindowError, IndexNotFoundError, SentenceWindowError, StoreError

from .conversion import texts_with_headings, to_documents
from .database.database import Database
from .database.database_file import HEAD_FILE, SEAL_FILE, DatabaseFile, read_head, read_seal
from .database.database_opening import holds_index
from .database.reads import vectors_in_order
from .database.schema import Changes
from .database.snapshot import Snapshot
from .database.store_files import (
    DATABASE_FILE,
    LEXICAL_FOLDER,
    VECTOR_FILES,
    is_intact,
    seal_of,
    seals_in,
    size_of,
    vector_files,
)
from .dense.dense_cache import VECTORS_FACT
from .dense.dense_index import DenseIndex, file_name, load_index
from .dense.fine_vectors import DamagedRecordError
from .lexical_index import LexicalSearcher, copied_index, recorded_index


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The contents and the size of a store.

    Attributes:
        documents: The number of source documents.
        sentences: The number of documents in the store; a retriever adds one for each sentence.
        bytes: Bytes on disk by part: ``database``, ``vectors`` (the saved FAISS index) and ``lexical``. Empty for a
            store in memory.
        index: The index that was asked for: a name for FAISS's index factory, or ``auto``.
        index_in_use: The name of the index that is searched now, or that the next search makes.
        index_reason: Why it is this one, as a clause.
        index_to_come: The name of the index that is being made in the background; ``None`` if none is.
        neighbor_weights: The weights of a sentence and its neighbors in each vector.
        tombstones: The number of deleted vectors that still take up memory in the FAISS index.
        rebuild_saves: Bytes of memory that rebuilding the FAISS index would free.
        generation: The number of writes so far.
        staged_texts: The number of texts from interrupted calls whose vectors are kept for a retry.
    """

    documents: int
    sentences: int
    bytes: Mapping[str, int]
    index: str
    index_in_use: str
    index_reason: str
    index_to_come: str | None
    neighbor_weights: tuple[float, ...]
    tombstones: int
    rebuild_saves: int
    generation: int
    staged_texts: int


def bytes_by_part(folder: Path | None) -> dict[str, int]:
    """Return the bytes on disk of each part of a store, or an empty dict for a store in memory."""
    if folder is None:
        return {}
    parts = {"database": "sentences.*", "vectors": VECTOR_FILES, "lexical": f"{LEXICAL_FOLDER}/*"}
    return {part: _bytes_of(folder, pattern) for part, pattern in parts.items()}


def _bytes_of(folder: Path, pattern: str) -> int:
    try:
        return sum(map(size_of, folder.glob(pattern)))
    except OSError:
        return 0  # the folder disappears meanwhile


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check of an index.

    Attributes:
        problems: One sentence for each problem, with what to do about it; empty for a sound index.
        documents: The number of documents; 0 if the database can't be read.
        sentences: The number of sentences, likewise.
        checked: The parts that were checked: ``files``, ``database``, ``documents``, and, if they exist, ``vectors``,
            ``words``, ``settings`` and ``ranking``.
    """

    problems: tuple[str, ...] = ()
    documents: int = 0
    sentences: int = 0
    checked: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold."""
        return {
            "problems": list(self.problems),
            "documents": self.documents,
            "sentences": self.sentences,
            "checked": list(self.checked),
        }

    def with_part(self, name: str, problems: Iterable[str]) -> Self:
        """Return the result with the problems of one more part."""
        return replace(self, problems=(*self.problems, *problems), checked=(*self.checked, name))

    def __str__(self) -> str:
        """Return a report, with a line for each problem."""
        counts = f"{_number(self.documents, 'document')}, {_number(self.sentences, 'sentence')}"
        lines = [f"no problems in {counts}"]
        if self.problems:
            found = f"{_number(len(self.problems), 'problem')}:"
            lines = [found, *(f"- {each}" for each in self.problems), counts]
        return "\n".join([*lines, f"checked: {', '.join(self.checked)}"])


def _number(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


MAX_PROBLEMS = 20
"""Documents with problems that are listed; the rest are counted."""

T = TypeVar("T")

_RESTORE = "restore the index from a backup with FaissStore.restore(), or index the documents again at another path"
_ATTEMPTS = 2


def check_folder(folder: Path) -> CheckResult:
    """Check an index on disk, also one that can't be opened. No file of it is changed.

    Raises:
        IndexNotFoundError: There is no index in the folder.
    """
    if not holds_index(folder):
        raise IndexNotFoundError(f"there is no index at {str(folder)!r} to check; give the folder of one")
    result = CheckResult()
    try:
        database = Database(folder / DATABASE_FILE, read_only=True)
    except StoreError as error:
        return result.with_part("files", _file_problems(folder)).with_part("database", [str(error)])
    try:
        result = _checked(database, result.with_part("files", _file_problems(folder)))
        if "documents" in result.checked:
            if vector_files(folder):
                result = result.with_part("vectors", _of_cache(database, folder, vector_problems))
            if (folder / LEXICAL_FOLDER).exists():
                result = result.with_part("words", _of_cache(database, folder / LEXICAL_FOLDER, word_problems))
    finally:
        database.close()
    return result


def check_memory(database: Database) -> CheckResult:
    """Check a database in memory."""
    return _checked(database, CheckResult())


def _checked(database: Database, result: CheckResult) -> CheckResult:
    """Add what is found in a database, all of which is read."""

    def work(snapshot: Snapshot) -> CheckResult:
        damage = snapshot.find_damage()
        if damage:
            return result.with_part("database", [f"{database.name} is damaged: {damage}; {_RESTORE}"])
        counts = CheckResult(
            result.problems, snapshot.count_documents(), snapshot.state.sentences, (*result.checked, "database")
        )
        documents = (each for records in snapshot.records_in_order() for each in to_documents(records))
        return counts.with_part("documents", _first(sentence_problems(documents)))

    try:
        return database.read(work)
    except SentenceWindowError as error:
        return result.with_part("database", [str(error)])


def _first(problems: Iterable[str]) -> list[str]:
    """Return the first problems, and the number of the others."""
    found = iter(problems)
    listed = list(islice(found, MAX_PROBLEMS))
    others = sum(1 for _ in found)
    return [*listed, *([f"{others:,} other documents have problems like these"] if others else [])]


def _of_cache(database: Database, path: Path, find: Callable[[Snapshot, Path], Iterator[str]]) -> list[str]:
    """Return what is wrong with a cache, which another process may replace while it is looked at."""
    problems: list[str] = []
    for _ in range(_ATTEMPTS):
        try:
            problems = database.read(lambda snapshot: list(find(snapshot, path)))
        except SentenceWindowError as error:
            problems = [str(error)]
        if not problems:
            break
    return problems


def _file_problems(folder: Path) -> list[str]:
    """Return what the small files beside the database tell, and what is wrong with them."""
    problems = list[str]()
    file, sealed = DatabaseFile(folder / DATABASE_FILE, read_only=True), read_seal(folder)
    try:
        # Every write removes the seal first.
        if sealed is not None and not file.is_sealed() and read_seal(folder) == sealed:
            problems.append(
                f"{str(folder / DATABASE_FILE)!r} isn't as it was when it was closed; restore the index from a backup, "
                f"or delete {SEAL_FILE!r} beside it if nothing else is wrong"
            )
    except OSError as error:
        problems.append(f"{str(folder / DATABASE_FILE)!r} can't be read: {error}; make it readable")
    finally:
        file.release()
    if (folder / SEAL_FILE).exists() and read_seal(folder) is None and (folder / SEAL_FILE).exists():
        problems.append(f"{str(folder / SEAL_FILE)!r} is damaged; delete it, so that closing the index writes it again")
    if (folder / HEAD_FILE).exists() and read_head(folder) is None and (folder / HEAD_FILE).exists():
        problems.append(
            f"{str(folder / HEAD_FILE)!r} is damaged, so it can't tell whether writes were lost; delete it, and the "
            "next write makes it again"
        )
    return problems


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
            return f"it lacks {_named(expected, each.index - 1)}; {_AGAIN}"
        if len(each.text) != each.end - each.start:
            return f"sentence {each.index} isn't as long as its place in the source; {_AGAIN}"
        if last is not None and each.start != last.end + len(last.separator):
            return f"sentence {each.index} doesn't begin where sentence {last.index} and its white space end; {_AGAIN}"
        if not _follows(last, each):
            return f"the section of sentence {each.index} isn't that of the sentences before it; {_AGAIN}"
        last = each
    if last is not None and last.section_end > last.index + 1:
        return f"it lacks {_named(last.index + 1, last.section_end - 1)} at its end; {_AGAIN}"
    return None


def _follows(last: StoredSentence | None, each: StoredSentence) -> bool:
    """Return whether a sentence is in the section of the one before it, or begins the next one."""
    if last is None or each.index == last.section_end:
        return each.section_start == each.index
    return (each.section_start, each.section_end) == (last.section_start, last.section_end)


def _named(first: int, last: int) -> str:
    return f"sentence {first}" if first >= last else f"sentences {first} to {last}"


MIN_COSINE = 0.9
"""The lowest cosine of a vector as the index has it and as the database has it. Codes of 6 bits keep 0.99 and more;
two sentences whose vectors are closer than this can't be told apart."""

_REBUILT = "delete it; it is built again from the database at the next search"


def vector_problems(snapshot: Snapshot, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a saved FAISS index; nothing if it is only behind the database, or isn't there."""
    saved = snapshot.fact(VECTORS_FACT)
    file = folder / ("" if saved is None else file_name(saved))
    if saved is None or not file.exists():
        return
    if not is_intact(seal_of(file), saved["seal"]):
        yield f"{str(file)!r} isn't as it was written, or saving it was interrupted; {_REBUILT}"
        return
    changes = snapshot.changes_since(saved["generation"], saved["token"])
    if changes is None:
        return  # too far behind to be used
    index = load_index(folder, saved, mapped=False)
    if index is None and saved.get("records"):
        yield f"the records of {str(file)!r} are missing, or aren't as they were written; {_REBUILT}"
    if index is None or index.dimension != snapshot.fact("dimension"):
        return  # of another release of FAISS, or of vectors that are all gone
    if not np.array_equal(np.sort(index.live_rows), _rows_at(snapshot, changes)):
        yield f"{str(file)!r} doesn't hold the sentences that the database held when it was saved; {_REBUILT}"
        return
    try:
        are_alike = _are_alike(snapshot, index, changes, saved["weights"])
    except DamagedRecordError as error:
        yield str(error)
        return
    if not are_alike:
        yield f"{str(file)!r} holds other vectors than the database; {_REBUILT}"


def _rows_at(snapshot: Snapshot, changes: Changes) -> Rows:
    """Return the rows that the database held before some changes, in order."""
    now = snapshot.rows((f"row <= {changes.last_row:d}", []))
    removed = changes.removed[changes.removed <= changes.last_row]
    return np.union1d(now, removed)


def _are_alike(snapshot: Snapshot, index: DenseIndex, changes: Changes, weights: Sequence[float]) -> bool:
    """Return whether the index holds the database's vectors, of documents that weren't changed since."""
    changed = np.array(sorted(changes.documents), dtype=np.int64)
    for rows, vectors, positions in vectors_in_order(snapshot.execute, ("1", [])):
        kept = (rows <= changes.last_row) & ~np.isin(positions.documents, changed)
        expected = mix_neighbors(vectors, positions, weights)[kept]
        if kept.any() and _lowest_cosine(index.decoded(rows[kept]), expected) < MIN_COSINE:
            return False
    return True


def _lowest_cosine(found: Vectors, expected: Vectors) -> float:
    cosines = np.einsum("ij,ij->i", found, expected)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    told = np.linalg.norm(expected, axis=1) > 0  # vectors that cancel each other out have no direction
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(cosines / lengths)[told].min(initial=1.0))


MAX_COMPARED = 1_000
"""The most sentences whose words are looked up, spread evenly over the index."""

_REBUILT_BY_WORDS = "delete it; it is built again from the database at the next search by words"


def word_problems(snapshot: Snapshot, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a lexical index; nothing if it is only behind the database, or isn't there."""
    kept = recorded_index(snapshot)
    if kept is None or not kept["files"] or not folder.exists():
        return
    if not is_intact(seals_in(folder), kept["files"]):
        yield f"{str(folder)!r} isn't as it was written, or writing it was interrupted; {_REBUILT_BY_WORDS}"
        return
    changes = snapshot.changes_since(kept["generation"], kept["token"])
    index = None if changes is None else copied_index(folder, kept["files"])
    if index is None or changes is None:
        return  # too far behind to be used, or changed just now
    searcher = index.searcher()
    known = _rows_at(snapshot, changes)
    if not np.array_equal(np.sort(searcher.all_rows()), known):
        yield (
            f"{str(folder)!r} doesn't hold the sentences that the database held when it was written; "
            f"{_REBUILT_BY_WORDS}"
        )
        return
    now = np.setdiff1d(known, changes.removed)
    if not _has_words(searcher, snapshot.texts_after(0), now[:: len(now) // MAX_COMPARED + 1].tolist()):
        yield f"{str(folder)!r} holds other words than the database; {_REBUILT_BY_WORDS}"


def _has_words(searcher: LexicalSearcher, texts: Iterable[tuple[int, str, str]], rows: Iterable[int]) -> bool:
    """Return whether the index has all words of some rows."""
    wanted = set(rows)
    return all(
        searcher.has_words(row, text) for row, text in texts_with_headings(each for each in texts if each[0] in wanted)
    )
