"""`merge_windows`: the windows of several calls, each passage once.

Windows of one document are walked through in order of position. Each joins the first group that reaches it and that it
agrees with. Usually there is one such group. Only where two versions of a document were searched, or two ways of
cutting it into sentences, do several lie side by side.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.documents.equal_passages import unite_equal
from langchain_sentence_window.documents.joined_windows import agree, joined
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, START_INDEX
from langchain_sentence_window.documents.window_runs import RunHit, WindowRun, is_rising, read_run
from langchain_sentence_window.errors import InvalidInputError


def merge_windows(windows: Iterable[Document]) -> list[Document]:
    """Merge the windows of several queries, so that each passage comes once, with all its hits.

    Windows that overlap become one: with the text from the first sentence to the last, every sentence that was hit
    once, with its best score, and the best ``relevance_score``. So do windows of a section that follow each other.
    Windows of equal text in different places come once, the best, with the
    places of the others in ``also_in``.

    Scores of different queries can't be compared. A window therefore stands where the first of those that it was made
    of stood. Merging merged windows changes nothing.

    Windows are left apart if they can't be of the same text, as when a document changed between two queries. Other
    Documents pass in their place, equal ones once; so do windows whose text was shortened or rewritten.

    Args:
        windows: The windows that retrievers returned, one list after the other or fused, best first.

    Returns:
        The windows and other Documents, best first. What was merged is new; what was given isn't changed.

    Raises:
        InvalidInputError: ``windows`` isn't a list of Documents.
    """
    given = _checked(windows)
    merged = _merged(given)
    while len(merged) < len(given):  # a joined window may agree with one that none of its own did
        given, merged = merged, _merged(merged)
    return unite_equal(merged)


def _checked(windows: object) -> list[Document]:
    """Return the elements of an iterable of Documents as a list."""
    if isinstance(windows, Document):  # it is an iterable, of its fields
        raise InvalidInputError("windows is a single Document; give a list of them: [window]")
    found: list[Document] = []
    for position, each in enumerate(checked_list("windows", windows)):
        if not isinstance(each, Document):
            cure = "one list of Documents, not lists in it" if isinstance(each, list | tuple) else "a Document"
            raise InvalidInputError(f"windows[{position}] is {shown(each)}; give {cure}, as a retriever returns")
        if not isinstance(each.page_content, str) or not isinstance(each.metadata, dict):
            raise InvalidInputError(
                f"windows[{position}] has {shown(each.page_content)} as its page_content and {shown(each.metadata)} as "
                "its metadata; they must be a string and a dict"
            )
        found.append(each)
    return found


def _merged(documents: Sequence[Document]) -> list[Document]:
    """Join windows that overlap, and leave out Documents that come again."""
    runs: dict[str, list[WindowRun]] = {}
    others: dict[str, list[Document]] = {}
    placed: list[tuple[int, Document]] = []
    for rank, document in enumerate(documents):
        run = read_run(document, rank)
        if run is not None:
            runs.setdefault(run.doc_id, []).append(run)
            continue
        alike = others.setdefault(document.page_content, [])
        if not any(_is_same(document, each) for each in alike):
            alike.append(document)
            placed.append((rank, document))
    for of_document in runs.values():
        for group in _groups(of_document):
            document = group.runs[0].document if len(group.runs) == 1 else joined(group.runs)
            placed.append((min(run.rank for run in group.runs), document))
    return [document for _, document in sorted(placed, key=lambda pair: pair[0])]


def _is_same(one: Document, other: Document) -> bool:
    """Return whether two Documents of equal text that aren't windows are the same."""
    places = [[each.metadata.get(key) for key in (DOC_ID, START_INDEX, END_INDEX)] for each in (one, other)]
    try:
        is_placed = places[0][0] is not None and bool(places[0] == places[1])
        return is_placed or (one.id is not None and one.id == other.id) or bool(one.metadata == other.metadata)
    except Exception:  # noqa: BLE001 - metadata may hold arrays, which can't be compared so
        return False


class _Group:
    """Windows of one document that become one, in order of position."""

    def __init__(self, run: WindowRun) -> None:
        self.runs = [run]
        self.reach = run
        """The window that ends last. It holds all text of the group from the start of the next window on."""
        self._hits = list(run.hits)

    def takes(self, run: WindowRun) -> bool:
        """Add a window that begins no earlier than all others if it agrees with them; return whether it does."""
        if not agree(self.reach, run):
            return False
        at = bisect_left(self._hits, run.first, key=lambda hit: hit.index)
        hits = self._hits[at:]
        known = {(hit.index, hit.start, hit.end) for hit in hits}
        hits += [hit for hit in run.hits if (hit.index, hit.start, hit.end) not in known]
        hits.sort(key=_index)
        if not is_rising([*self._hits[max(0, at - 1) : at], *hits]):
            return False
        self._hits[at:] = hits
        self.runs.append(run)
        if run.reach() > self.reach.reach():
            self.reach = run
        return True


def _groups(runs: Iterable[WindowRun]) -> list[_Group]:
    groups: list[_Group] = []
    reaching: list[_Group] = []
    for run in sorted(runs, key=lambda run: (run.start, run.end, run.rank)):
        reaching = [group for group in reaching if (group.reach.next_start or group.reach.end) >= run.start]
        if not any(group.takes(run) for group in reaching):
            reaching.append(_Group(run))
            groups.append(reaching[-1])
    return groups


def _index(hit: RunHit) -> int:
    return hit.index
